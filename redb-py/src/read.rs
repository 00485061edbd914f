//! `ReadTransaction`: one state of the database, for as long as it is open.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use pyo3::prelude::*;

use crate::definition::{MultimapTableDefinition, TableDefinition};
use crate::errors::detached;
use crate::handle::Handle;
use crate::multimap::ReadOnlyMultimapTable;
use crate::owner::Owner;
use crate::reading::Reading;
use crate::table::ReadOnlyTable;

/// A view of the last commit; closes at the end of its `with` block.
#[pyclass(frozen, module = "redb")]
pub struct ReadTransaction {
    reading: Arc<Reading>,
}

impl ReadTransaction {
    pub fn new(transaction: redb::ReadTransaction, owner: Owner) -> ReadTransaction {
        ReadTransaction { reading: Arc::new(Reading::new(transaction, owner)) }
    }

    fn handle(&self, slot: usize) -> Handle {
        // Nothing changes a read transaction, so the count of its changes stays 0.
        Handle::reading(self.reading.clone(), slot, Arc::new(AtomicU64::new(0)))
    }
}

#[pymethods]
impl ReadTransaction {
    /// Opens a table that exists.
    fn open_table(&self, py: Python<'_>, definition: &Bound<'_, TableDefinition>) -> PyResult<Py<ReadOnlyTable>> {
        let TableDefinition { name, schema } = definition.get();
        let slot = detached(py, || self.reading.open(name, schema, false))?;
        ReadOnlyTable::new(py, self.handle(slot), name, schema)
    }

    /// Opens a multimap table that exists.
    fn open_multimap_table(
        &self,
        py: Python<'_>,
        definition: &Bound<'_, MultimapTableDefinition>,
    ) -> PyResult<Py<ReadOnlyMultimapTable>> {
        let MultimapTableDefinition { name, schema } = definition.get();
        let slot = detached(py, || self.reading.open(name, schema, true))?;
        ReadOnlyMultimapTable::new(py, self.handle(slot), name, schema)
    }

    /// Names of the tables.
    fn list_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::TableHandle;
        let list = |transaction: &redb::ReadTransaction| {
            Ok(transaction.list_tables()?.map(|table| table.name().to_owned()).collect())
        };
        Ok(detached(py, || self.reading.with_transaction(list))?)
    }

    /// Names of the multimap tables.
    fn list_multimap_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::MultimapTableHandle;
        let list = |transaction: &redb::ReadTransaction| {
            Ok(transaction.list_multimap_tables()?.map(|table| table.name().to_owned()).collect())
        };
        Ok(detached(py, || self.reading.with_transaction(list))?)
    }

    /// Ends the transaction; its tables and iterators cannot be used any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(detached(py, || self.reading.close())?)
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
        let _ = (kind, error, traceback);
        self.close(py)
    }
}
