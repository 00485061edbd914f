//! `WriteTransaction`.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::definition::{MultimapTableDefinition, TableDefinition, table_name};
use crate::errors::{Outcome, detached};
use crate::gate::Lease;
use crate::handle::Handle;
use crate::multimap::MultimapTable;
use crate::owner::Owner;
use crate::savepoint::Savepoint;
use crate::schema::{AnyKey, AnyValue};
use crate::stats::DatabaseStats;
use crate::table::Table;
use crate::writing::Writing;

/// When the changes of a commit are safe.
#[pyclass(frozen, eq, eq_int, hash, module = "redb", rename_all = "SCREAMING_SNAKE_CASE", from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// With a later IMMEDIATE commit; until then a crash may lose them.
    None,
    /// When `commit` returns.
    Immediate,
}

/// All or nothing: commits at the end of its `with` block, aborts on an exception.
#[pyclass(frozen, module = "redb")]
pub struct WriteTransaction {
    writing: Arc<Writing>,
}

type Definition<'a> = redb::TableDefinition<'a, AnyKey, AnyValue>;
type MultiDefinition<'a> = redb::MultimapTableDefinition<'a, AnyKey, AnyValue>;

impl WriteTransaction {
    pub fn new(transaction: redb::WriteTransaction, lease: Lease, owner: Owner) -> WriteTransaction {
        WriteTransaction { writing: Arc::new(Writing::new(transaction, lease, owner)) }
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut redb::WriteTransaction) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        Ok(detached(py, || self.writing.with_transaction(work))?)
    }

    fn finish(&self, py: Python<'_>, commit: bool) -> PyResult<()> {
        Ok(detached(py, || self.writing.finish(commit))?)
    }
}

#[pymethods]
impl WriteTransaction {
    /// Opens a table, making it when there is none of this name.
    fn open_table(&self, py: Python<'_>, definition: &Bound<'_, TableDefinition>) -> PyResult<Py<Table>> {
        let TableDefinition { name, schema } = definition.get();
        let (slot, version) = detached(py, || self.writing.open(name, schema, false))?;
        Table::new(py, Handle::writing(self.writing.clone(), slot, version), name, schema)
    }

    /// Opens a multimap table, making it when there is none of this name.
    fn open_multimap_table(
        &self,
        py: Python<'_>,
        definition: &Bound<'_, MultimapTableDefinition>,
    ) -> PyResult<Py<MultimapTable>> {
        let MultimapTableDefinition { name, schema } = definition.get();
        let (slot, version) = detached(py, || self.writing.open(name, schema, true))?;
        MultimapTable::new(py, Handle::writing(self.writing.clone(), slot, version), name, schema)
    }

    /// Names of the tables.
    fn list_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::TableHandle;
        self.with(py, |transaction| Ok(transaction.list_tables()?.map(|table| table.name().to_owned()).collect()))
    }

    /// Names of the multimap tables.
    fn list_multimap_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::MultimapTableHandle;
        self.with(py, |transaction| {
            Ok(transaction.list_multimap_tables()?.map(|table| table.name().to_owned()).collect())
        })
    }

    /// Deletes a table of either kind, given by definition or name; true if there was one.
    fn delete_table(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<bool> {
        let name = table_name(table)?;
        let existed = self.with(py, |transaction| match transaction.delete_table(Definition::new(&name)) {
            Err(redb::TableError::TableIsMultimap(_)) => {
                Ok(transaction.delete_multimap_table(MultiDefinition::new(&name))?)
            }
            result => Ok(result?),
        })?;
        self.writing.forget(Some(&name))?;
        Ok(existed)
    }

    /// Gives a table of either kind another name.
    fn rename_table(&self, py: Python<'_>, table: &Bound<'_, PyAny>, new_name: &Bound<'_, PyAny>) -> PyResult<()> {
        let (old, new) = (table_name(table)?, table_name(new_name)?);
        self.with(py, |transaction| match transaction.rename_table(Definition::new(&old), Definition::new(&new)) {
            Err(redb::TableError::TableIsMultimap(_)) => {
                Ok(transaction.rename_multimap_table(MultiDefinition::new(&old), MultiDefinition::new(&new))?)
            }
            result => Ok(result?),
        })?;
        self.writing.forget(Some(&old))?;
        Ok(())
    }

    /// IMMEDIATE unless set.
    fn set_durability(&self, py: Python<'_>, durability: Durability) -> PyResult<()> {
        let durability = match durability {
            Durability::None => redb::Durability::None,
            Durability::Immediate => redb::Durability::Immediate,
        };
        self.with(py, |transaction| Ok(transaction.set_durability(durability)?))
    }

    /// Commit with two fsyncs, safe against an attacker who controls what is stored.
    fn set_two_phase_commit(&self, py: Python<'_>, enabled: bool) -> PyResult<()> {
        self.with(py, |transaction| {
            transaction.set_two_phase_commit(enabled);
            Ok(())
        })
    }

    /// Store with the commit what makes opening after a crash fast; commits then cost more.
    fn set_quick_repair(&self, py: Python<'_>, enabled: bool) -> PyResult<()> {
        self.with(py, |transaction| {
            transaction.set_quick_repair(enabled);
            Ok(())
        })
    }

    /// A state to come back to, for as long as the object lives; to be taken before any table is opened.
    fn ephemeral_savepoint(&self, py: Python<'_>) -> PyResult<Savepoint> {
        Ok(Savepoint::new(self.with(py, |transaction| Ok(transaction.ephemeral_savepoint()?))?, self.writing.owner))
    }

    /// A state to come back to that lasts until it is deleted; returns its number.
    fn persistent_savepoint(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |transaction| Ok(transaction.persistent_savepoint()?))
    }

    fn get_persistent_savepoint(&self, py: Python<'_>, number: u64) -> PyResult<Savepoint> {
        Ok(Savepoint::new(
            self.with(py, |transaction| Ok(transaction.get_persistent_savepoint(number)?))?,
            self.writing.owner,
        ))
    }

    /// True if there was a savepoint of this number.
    fn delete_persistent_savepoint(&self, py: Python<'_>, number: u64) -> PyResult<bool> {
        self.with(py, |transaction| Ok(transaction.delete_persistent_savepoint(number)?))
    }

    fn list_persistent_savepoints(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, |transaction| Ok(transaction.list_persistent_savepoints()?.collect()))
    }

    /// Goes back to a savepoint. Tables that are open must be opened again.
    fn restore_savepoint(&self, py: Python<'_>, savepoint: &Savepoint) -> PyResult<()> {
        self.with(py, |transaction| Ok(transaction.restore_savepoint(savepoint.get()?)?))?;
        self.writing.forget(None)?;
        Ok(())
    }

    /// Pages and bytes of the file, with the changes made so far.
    pub fn stats(&self, py: Python<'_>) -> PyResult<DatabaseStats> {
        self.with(py, |transaction| Ok(DatabaseStats::new(&transaction.stats()?)))
    }

    /// Makes the changes visible to new transactions, and safe as the durability says.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.finish(py, true)
    }

    /// Undoes all changes.
    pub fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.finish(py, false)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (error, traceback);
        if detached(py, || self.writing.is_finished())? {
            return Ok(()); // by an explicit commit or abort
        }
        match self.finish(py, kind.is_none()) {
            Err(_) if kind.is_some() => Ok(()), // the error that ended the block matters more
            result => result,
        }
    }
}
