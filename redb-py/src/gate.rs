//! The queue in front of redb's one write transaction.
//!
//! redb would block in `begin_write`, deaf to signals, and for ever when the same thread holds the transaction.
//! Here the wait has a timeout, lets signals through, and a thread that would wait for itself gets an error.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::{Class, Failure, Outcome};

/// How often a waiting thread looks for signals (Ctrl-C).
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Gate {
    writer: Mutex<Option<ThreadId>>,
    free: Condvar,
}

/// The right to write; dropping it lets the next one in.
pub struct Lease(Arc<Gate>);

impl Drop for Lease {
    fn drop(&mut self) {
        *self.0.lock() = None;
        self.0.free.notify_one();
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn try_enter(self: &Arc<Self>) -> Outcome<Lease> {
        let mut writer = self.lock();
        if writer.is_some() {
            return Err(in_progress("a write transaction is in progress"));
        }
        *writer = Some(std::thread::current().id());
        Ok(Lease(self.clone()))
    }

    /// Waits until no one writes, at most until `deadline`.
    pub fn enter(self: &Arc<Self>, py: Python<'_>, deadline: Option<Instant>) -> PyResult<Lease> {
        if *self.lock() == Some(std::thread::current().id()) {
            return Err(in_progress("this thread has a write transaction already; commit or abort it first").into());
        }
        loop {
            if let Some(lease) = py.detach(|| self.wait(deadline)) {
                return Ok(lease);
            }
            py.check_signals()?;
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(timed_out().into());
            }
        }
    }

    /// Waits for a while, without the GIL.
    fn wait(self: &Arc<Self>, deadline: Option<Instant>) -> Option<Lease> {
        let left = deadline.map_or(SIGNAL_CHECK, |deadline| deadline.saturating_duration_since(Instant::now()));
        let waited = self.free.wait_timeout_while(self.lock(), left.min(SIGNAL_CHECK), |writer| writer.is_some());
        let (mut writer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if writer.is_some() {
            return None;
        }
        *writer = Some(std::thread::current().id());
        Some(Lease(self.clone()))
    }
}

fn in_progress(message: &str) -> Failure {
    Failure::new(Class::TransactionInProgress, message)
}

pub fn timed_out() -> Failure {
    Failure::new(Class::TransactionTimeout, "the write transaction was not free within the timeout")
}
