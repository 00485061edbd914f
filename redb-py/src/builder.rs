//! `Builder`: how a file is opened.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::database::Database;
use crate::errors::{Class, Failure, detached};
use crate::readonly::ReadOnlyDatabase;

/// How processes share a file.
#[expect(clippy::enum_variant_names, reason = "the names are redb's")]
#[pyclass(frozen, eq, eq_int, hash, module = "redb", rename_all = "SCREAMING_SNAKE_CASE", from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ConcurrencyMode {
    /// A writer excludes every other process; readers share the file among them.
    #[default]
    ExclusiveWriter,
    /// One process writes, others may read beside it.
    SingleWriter,
    /// Several processes write, one transaction at a time.
    MultiWriter,
}

/// Options of opening a database; each setter returns the builder.
#[pyclass(module = "redb")]
#[derive(Default)]
pub struct Builder {
    cache_size: Option<usize>,
    mode: ConcurrencyMode,
    check: bool,
    on_repair: Option<Py<PyAny>>,
}

/// A plain copy of the options that may go where the GIL is not held.
struct Options {
    cache_size: Option<usize>,
    mode: ConcurrencyMode,
    check: bool,
    on_repair: Option<Py<PyAny>>,
}

impl Options {
    fn builder(self) -> redb::Builder {
        let mut builder = redb::Database::builder();
        builder.set_concurrency_mode(match self.mode {
            ConcurrencyMode::ExclusiveWriter => redb::ConcurrencyMode::ExclusiveWriter,
            ConcurrencyMode::SingleWriter => redb::ConcurrencyMode::SingleWriter,
            ConcurrencyMode::MultiWriter => redb::ConcurrencyMode::MultiWriter,
        });
        builder.set_check_integrity_on_open(self.check);
        if let Some(bytes) = self.cache_size {
            builder.set_cache_size(bytes);
        }
        if let Some(callback) = self.on_repair {
            builder.set_repair_callback(move |session| report(&callback, session));
        }
        builder
    }
}

/// Tells the callback how far the repair is; it stops when the answer is `False` or an exception.
fn report(callback: &Py<PyAny>, session: &mut redb::RepairSession) {
    let goes_on = Python::attach(|py| match callback.call1(py, (session.progress(),)) {
        Ok(answer) => !answer.bind(py).is(pyo3::types::PyBool::new(py, false)),
        Err(error) => {
            error.write_unraisable(py, Some(callback.bind(py)));
            false
        }
    });
    if !goes_on {
        session.abort();
    }
}

impl Builder {
    fn options(&self, py: Python<'_>) -> Options {
        let on_repair = self.on_repair.as_ref().map(|callback| callback.clone_ref(py));
        Options { cache_size: self.cache_size, mode: self.mode, check: self.check, on_repair }
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new() -> Builder {
        Builder::default()
    }

    /// Memory for the page cache in bytes; 1 GiB unless set.
    fn set_cache_size(mut slf: PyRefMut<'_, Self>, size: usize) -> PyRefMut<'_, Self> {
        slf.cache_size = Some(size);
        slf
    }

    /// How other processes may use the file meanwhile.
    fn set_concurrency_mode(mut slf: PyRefMut<'_, Self>, mode: ConcurrencyMode) -> PyRefMut<'_, Self> {
        slf.mode = mode;
        slf
    }

    /// Verify the whole file at every opening, so that a damaged one is found at once.
    fn set_check_integrity_on_open(mut slf: PyRefMut<'_, Self>, enabled: bool) -> PyRefMut<'_, Self> {
        slf.check = enabled;
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
        slf.on_repair = Some(callback.unbind());
        Ok(slf)
    }

    /// Opens the file, or makes a new database where there is none.
    pub fn create(&self, py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        let options = self.options(py);
        Ok(Database::new(detached(py, || Ok(options.builder().create(path)?))?))
    }

    /// Opens a database that exists.
    pub fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<Database> {
        let options = self.options(py);
        Ok(Database::new(detached(py, || Ok(options.builder().open(path)?))?))
    }

    /// Opens a database that exists, without ever writing to it.
    pub fn open_read_only(&self, py: Python<'_>, path: PathBuf) -> PyResult<ReadOnlyDatabase> {
        let options = self.options(py);
        Ok(ReadOnlyDatabase::new(detached(py, || Ok(options.builder().open_read_only(path)?))?))
    }
}
