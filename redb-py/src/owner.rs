//! The process that opened a file. A child made by `fork` has a copy of everything, and must touch none of it.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};

use crate::errors::{Class, Failure, Outcome, caught};

/// How many forks lie between this process and the one that loaded the module.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Has Python count the forks.
pub fn watch_forks(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(()); // a system without fork
    }
    let count = PyCFunction::new_closure(py, None, None, |_, _| {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    })?;
    let hooks = PyDict::new(py);
    hooks.set_item("after_in_child", count)?;
    os.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}

#[derive(Clone, Copy)]
pub struct Owner(u64);

impl Owner {
    pub fn this_process() -> Owner {
        Owner(GENERATION.load(Ordering::Relaxed))
    }

    pub fn check(self) -> Outcome<()> {
        if self.0 == GENERATION.load(Ordering::Relaxed) {
            return Ok(());
        }
        let message = "the database was opened before this process was forked; open it in the process that uses it";
        Err(Failure::new(Class::DatabaseClosed, message))
    }

    /// Drops `held` without the GIL, since that may write; in a forked child it is left to the parent.
    pub fn release<T: Send>(self, held: T) {
        if self.check().is_err() {
            return std::mem::forget(held);
        }
        let mut held = Some(held);
        let mut drop_held = || {
            let held = held.take();
            // A destructor has no one to tell about a failure.
            let _ = caught(|| {
                drop(held);
                Ok(())
            });
        };
        if Python::try_attach(|py| py.detach(&mut drop_held)).is_none() {
            drop_held(); // the interpreter is shutting down
        }
    }
}
