//! `Savepoint`.

use pyo3::prelude::*;

use crate::errors::{Class, Failure, Outcome};
use crate::owner::Owner;

/// A state of the database that a write transaction can go back to.
#[pyclass(frozen, module = "redb")]
pub struct Savepoint {
    savepoint: Option<redb::Savepoint>,
    owner: Owner,
}

impl Savepoint {
    pub fn new(savepoint: redb::Savepoint, owner: Owner) -> Savepoint {
        Savepoint { savepoint: Some(savepoint), owner }
    }

    pub fn get(&self) -> Outcome<&redb::Savepoint> {
        self.owner.check()?;
        self.savepoint.as_ref().ok_or_else(|| Failure::new(Class::InvalidSavepoint, "the savepoint was released"))
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        self.owner.release(self.savepoint.take());
    }
}
