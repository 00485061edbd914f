//! `ReadOnlyDatabase`: a file that is never written.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use redb::ReadableDatabase;

use crate::errors::{Outcome, closed, detached};
use crate::options::Options;
use crate::owner::Owner;
use crate::read::ReadTransaction;
use crate::stats::CacheStats;

/// A database opened for reading; other processes may read the file too.
#[pyclass(frozen, module = "redb")]
pub struct ReadOnlyDatabase {
    store: RwLock<Option<redb::ReadOnlyDatabase>>,
    owner: Owner,
}

impl ReadOnlyDatabase {
    pub fn new(database: redb::ReadOnlyDatabase) -> ReadOnlyDatabase {
        ReadOnlyDatabase { store: RwLock::new(Some(database)), owner: Owner::this_process() }
    }

    fn with<T>(&self, work: impl FnOnce(&redb::ReadOnlyDatabase) -> Outcome<T>) -> Outcome<T> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        work(store.as_ref().ok_or_else(closed)?)
    }
}

#[pymethods]
impl ReadOnlyDatabase {
    /// Opens a database that exists; one that needs a repair is refused.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<ReadOnlyDatabase> {
        Ok(ReadOnlyDatabase::new(detached(py, || Ok(Options::default().builder().open_read_only(path)?))?))
    }

    /// Begins a read transaction.
    fn begin_read(&self, py: Python<'_>) -> PyResult<ReadTransaction> {
        self.owner.check()?;
        let transaction = detached(py, || self.with(|database| Ok(database.begin_read()?)))?;
        Ok(ReadTransaction::new(transaction, self.owner))
    }

    /// What the page cache holds and did.
    fn cache_stats(&self, py: Python<'_>) -> PyResult<CacheStats> {
        self.owner.check()?;
        Ok(detached(py, || self.with(|database| Ok(CacheStats::new(&database.cache_stats()))))?)
    }

    /// Whether `close` was called, or the process was forked.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.owner.check().is_err() || py.detach(|| self.store.read().unwrap_or_else(PoisonError::into_inner).is_none())
    }

    /// Releases the file; read transactions that are open end.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.owner.check()?;
        Ok(detached(py, || match self.store.write().unwrap_or_else(PoisonError::into_inner).take() {
            Some(database) => Ok(database.close()?),
            None => Ok(()),
        })?)
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

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<redb.ReadOnlyDatabase {}>", if self.closed(py) { "closed" } else { "open" })
    }
}

impl Drop for ReadOnlyDatabase {
    fn drop(&mut self) {
        let store = self.store.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.owner.release(store);
    }
}
