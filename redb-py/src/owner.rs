//! The process that opened a file. A child made by `fork` has a copy of everything, and must touch none of it.

use pyo3::prelude::*;

use crate::errors::{Class, Failure, Outcome, caught};

#[derive(Clone, Copy)]
pub struct Owner(u32);

impl Owner {
    pub fn this_process() -> Owner {
        Owner(std::process::id())
    }

    pub fn check(self) -> Outcome<()> {
        if self.0 == std::process::id() {
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
