//! `Savepoint`.

use pyo3::prelude::*;

/// A state of the database that a write transaction can go back to.
#[pyclass(frozen, module = "redb")]
pub struct Savepoint(pub redb::Savepoint);

impl Savepoint {
    pub fn new(savepoint: redb::Savepoint) -> Savepoint {
        Savepoint(savepoint)
    }
}
