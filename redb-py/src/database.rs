//! `Database`, the one writer of a file, and `Builder`, which opens one.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyAny;
use pyo3::{PyTraverseError, PyVisit};
use redb::ReadableDatabase;

use crate::errors::{Class, Failure, Outcome, closed, detached};
use crate::gate::{Gate, timed_out};
use crate::options::{ConcurrencyMode, Options};
use crate::owner::Owner;
use crate::read::ReadTransaction;
use crate::readonly::ReadOnlyDatabase;
use crate::stats::{CacheStats, DatabaseStats};
use crate::write::WriteTransaction;

/// Pause between two looks at a write lock that another process holds.
const PROCESS_POLL: Duration = Duration::from_millis(5);

/// An open database file: any number of readers beside one writer.
#[pyclass(frozen, module = "redb")]
pub struct Database {
    store: RwLock<Option<redb::Database>>,
    gate: Arc<Gate>,
    owner: Owner,
}

impl Database {
    pub fn new(database: redb::Database) -> Database {
        Database { store: RwLock::new(Some(database)), gate: Arc::default(), owner: Owner::this_process() }
    }

    fn with<T>(&self, work: impl FnOnce(&redb::Database) -> Outcome<T>) -> Outcome<T> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        work(store.as_ref().ok_or_else(closed)?)
    }

    /// Runs `work` alone: no transaction writes, and none begins meanwhile.
    fn alone<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<redb::Database>) -> Outcome<T> + Send,
    ) -> PyResult<T> {
        self.owner.check()?;
        Ok(detached(py, || {
            let _lease = self.gate.try_enter()?;
            work(&mut self.store.write().unwrap_or_else(PoisonError::into_inner))
        })?)
    }
}

#[pymethods]
impl Database {
    /// Opens the file, or makes a new database where there is none.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        Builder::default().create(py, path)
    }

    /// Opens a database that exists.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        Builder::default().open(py, path)
    }

    /// Options of the opening, as a chain: `Database.builder().set_cache_size(n).create(path)`.
    #[staticmethod]
    fn builder() -> Builder {
        Builder::default()
    }

    /// Begins the write transaction; waits while another one is open, at most `timeout` seconds.
    #[pyo3(signature = (*, timeout=None))]
    fn begin_write(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<WriteTransaction> {
        self.owner.check()?;
        let deadline = timeout.map(deadline_after).transpose()?.flatten();
        let lease = self.gate.enter(py, deadline)?;
        loop {
            if let Some(transaction) = detached(py, || self.with(try_write))? {
                return Ok(WriteTransaction::new(transaction, lease, self.owner));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(timed_out().into());
            }
            py.detach(|| std::thread::sleep(PROCESS_POLL));
            py.check_signals()?;
        }
    }

    /// Begins a read transaction: a view of the last commit that later ones do not change.
    fn begin_read(&self, py: Python<'_>) -> PyResult<ReadTransaction> {
        self.owner.check()?;
        let transaction = detached(py, || self.with(|database| Ok(database.begin_read()?)))?;
        Ok(ReadTransaction::new(transaction, self.owner))
    }

    /// Makes the file as small as its contents allow; true if that moved anything.
    fn compact(&self, py: Python<'_>) -> PyResult<bool> {
        self.alone(py, |store| Ok(store.as_mut().ok_or_else(closed)?.compact()?))
    }

    /// Verifies every checksum; true if all was well, false if the file was damaged and is repaired.
    fn check_integrity(&self, py: Python<'_>) -> PyResult<bool> {
        self.alone(py, |store| Ok(store.as_mut().ok_or_else(closed)?.check_integrity()?))
    }

    /// Pages and bytes of the file as of the last commit; begins (and aborts) a write transaction.
    #[pyo3(signature = (*, timeout=None))]
    fn stats(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<DatabaseStats> {
        let transaction = self.begin_write(py, timeout)?;
        let stats = transaction.stats(py)?;
        transaction.abort(py)?;
        Ok(stats)
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

    /// Releases the file. Read transactions that are open end; an open write transaction is an error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.alone(py, |store| match store.take() {
            Some(database) => Ok(database.close()?),
            None => Ok(()),
        })
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
        if kind.is_none() {
            return self.close(py);
        }
        // The error that ended the block matters more than a transaction that it left open: redb then closes the
        // file when that one goes.
        self.owner.check()?;
        let store = py.detach(|| self.store.write().unwrap_or_else(PoisonError::into_inner).take());
        self.owner.release(store);
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<redb.Database {}>", if self.closed(py) { "closed" } else { "open" })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let store = self.store.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.owner.release(store);
    }
}

/// Options of opening a database; each setter returns the builder.
#[pyclass(module = "redb")]
#[derive(Default)]
pub struct Builder(Options);

#[pymethods]
impl Builder {
    #[new]
    fn new() -> Builder {
        Builder::default()
    }

    /// A callback may be a method of what holds the builder.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0.on_repair)
    }

    fn __clear__(&mut self) {
        self.0.on_repair = None;
    }

    /// Memory for the page cache in bytes; 1 GiB unless set.
    fn set_cache_size(mut slf: PyRefMut<'_, Self>, size: usize) -> PyRefMut<'_, Self> {
        slf.0.cache_size = Some(size);
        slf
    }

    /// How other processes may use the file meanwhile.
    fn set_concurrency_mode(mut slf: PyRefMut<'_, Self>, mode: ConcurrencyMode) -> PyRefMut<'_, Self> {
        slf.0.mode = mode;
        slf
    }

    /// Verify the whole file at every opening, so that a damaged one is found at once.
    fn set_check_integrity_on_open(mut slf: PyRefMut<'_, Self>, enabled: bool) -> PyRefMut<'_, Self> {
        slf.0.check = enabled;
        slf
    }

    /// Calls `callback(progress)`, with 0.0 to 1.0, during a repair; it stops the repair by returning False.
    fn set_repair_callback<'py>(
        mut slf: PyRefMut<'py, Self>,
        callback: Bound<'py, PyAny>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        if !callback.is_callable() {
            return Err(Failure::new(Class::InvalidType, "the repair callback cannot be called").into());
        }
        slf.0.on_repair = Some(callback.unbind());
        Ok(slf)
    }

    /// Opens the file, or makes a new database where there is none.
    fn create(&self, py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        let options = self.0.copy(py);
        Ok(Database::new(detached(py, || Ok(options.builder().create(path)?))?))
    }

    /// Opens a database that exists.
    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        let options = self.0.copy(py);
        Ok(Database::new(detached(py, || Ok(options.builder().open(path)?))?))
    }

    /// Opens a database that exists, without ever writing to it.
    fn open_read_only(&self, py: Python<'_>, path: PathBuf) -> PyResult<ReadOnlyDatabase> {
        let options = self.0.copy(py);
        Ok(ReadOnlyDatabase::new(detached(py, || Ok(options.builder().open_read_only(path)?))?))
    }
}

/// The moment `seconds` from now; `None` when that is never.
fn deadline_after(seconds: f64) -> PyResult<Option<Instant>> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(Failure::new(Class::InvalidValue, "a timeout is a number of seconds, 0 or more").into());
    }
    let wait = Duration::try_from_secs_f64(seconds).ok();
    Ok(wait.and_then(|wait| Instant::now().checked_add(wait)))
}

/// `None` where another process writes: redb would wait for it, deaf to signals.
fn try_write(database: &redb::Database) -> Outcome<Option<redb::WriteTransaction>> {
    match database.try_begin_write() {
        Err(redb::TransactionError::WouldBlock) => Ok(None),
        result => Ok(Some(result?)),
    }
}
