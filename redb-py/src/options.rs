//! `ConcurrencyMode`, and with it all that may be said of how a file is opened.

use pyo3::prelude::*;

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

#[derive(Default)]
pub struct Options {
    pub cache_size: Option<usize>,
    pub mode: ConcurrencyMode,
    pub check: bool,
    pub on_repair: Option<Py<PyAny>>,
}

impl Options {
    /// A copy for where the GIL is not held.
    pub fn copy(&self, py: Python<'_>) -> Options {
        let on_repair = self.on_repair.as_ref().map(|callback| callback.clone_ref(py));
        Options { cache_size: self.cache_size, mode: self.mode, check: self.check, on_repair }
    }

    pub fn builder(self) -> redb::Builder {
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
