//! One tree of exceptions, and the way every failure of redb (a panic too) into it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

macro_rules! tree {
    ($($name:ident ($($base:tt)+) $doc:literal)+) => {
        /// The exception classes, each named as in Python.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Class { $($name),+ }

        const CLASSES: &[(Class, &str, &str, Base)] = &[
            $((Class::$name, stringify!($name), $doc, tree!(@base $($base)+))),+
        ];
    };
    (@base Exception) => { Base::Exception };
    (@base $parent:ident) => { Base::Parent(Class::$parent) };
    (@base $parent:ident + TypeError) => { Base::Also(Class::$parent, Builtin::Type) };
    (@base $parent:ident + ValueError) => { Base::Also(Class::$parent, Builtin::Value) };
}

#[derive(Clone, Copy)]
enum Base {
    Exception,
    Parent(Class),
    Also(Class, Builtin),
}

#[derive(Clone, Copy)]
enum Builtin {
    Type,
    Value,
}

tree! {
    RedbError (Exception) "Base of every error that this module raises."
    StorageError (RedbError) "The file cannot be read or written; `errno` has the system's number or None. After a failed write the database must be opened again."
    ValueTooLarge (StorageError) "A key or value is larger than redb can store (3 GiB)."
    Corrupted (RedbError) "The file is damaged."
    NotADatabase (Corrupted) "The file is not a redb database, or is cut off within its header."
    UpgradeRequired (RedbError) "The file has a format that this version of redb does not read."
    RepairAborted (RedbError) "The repair callback stopped the repair."
    DatabaseAlreadyOpen (RedbError) "The file is open elsewhere, in this process or another."
    DatabaseClosed (RedbError) "The database was closed, or belongs to the process that this one was forked from."
    LockPoisoned (RedbError) "An earlier failure left the database unusable; open it again."
    TransactionError (RedbError) "Base of the errors of transactions."
    TransactionFinished (TransactionError) "The transaction was committed, aborted or closed."
    TransactionInProgress (TransactionError) "Another transaction is in the way."
    TransactionTimeout (TransactionInProgress) "The write transaction was not free within the timeout."
    TransactionPoisoned (TransactionError) "An operation failed half-way, so the transaction was rolled back."
    DurabilityError (TransactionError) "This durability is not possible here."
    TableError (RedbError) "Base of the errors of tables."
    TableDoesNotExist (TableError) "No table has this name."
    TableExists (TableError) "A table has this name already."
    TableAlreadyOpen (TableError) "The table is open already, in a way that excludes this."
    TableClosed (TableError) "The table was deleted, renamed or rolled back since it was opened; open it again."
    TableTypeMismatch (TableError) "The table has other types than its definition says."
    TableIsMultimap (TableError) "The table is a multimap table."
    TableIsNotMultimap (TableError) "The table is not a multimap table."
    SavepointError (RedbError) "Base of the errors of savepoints."
    InvalidSavepoint (SavepointError) "The savepoint is of another database, was deleted, or the transaction has changes already."
    SavepointExists (SavepointError) "A savepoint is in the way."
    InvalidType (RedbError + TypeError) "A key or value is not of the table's type, or no type has this name."
    InvalidValue (RedbError + ValueError) "A key or value is outside of the range of its type."
}

static TYPES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

fn types(py: Python<'_>) -> PyResult<&Vec<Py<PyType>>> {
    TYPES.get_or_try_init(py, || {
        let mut made: Vec<Py<PyType>> = Vec::with_capacity(CLASSES.len());
        for (_, name, doc, base) in CLASSES {
            let body = PyDict::new(py);
            body.set_item("__module__", "redb")?;
            body.set_item("__doc__", doc)?;
            let class = py.get_type::<PyType>().call1((*name, bases(py, *base, &made)?, body))?;
            made.push(class.cast_into::<PyType>()?.unbind());
        }
        Ok(made)
    })
}

fn bases<'py>(py: Python<'py>, base: Base, made: &[Py<PyType>]) -> PyResult<Bound<'py, PyTuple>> {
    let parent = |class: Class| made[class as usize].bind(py).clone();
    match base {
        Base::Exception => PyTuple::new(py, [py.get_type::<PyException>()]),
        Base::Parent(class) => PyTuple::new(py, [parent(class)]),
        Base::Also(class, Builtin::Type) => PyTuple::new(py, [parent(class), py.get_type::<PyTypeError>()]),
        Base::Also(class, Builtin::Value) => PyTuple::new(py, [parent(class), py.get_type::<PyValueError>()]),
    }
}

/// Adds every exception class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for class in types(py)? {
        let class = class.bind(py);
        module.add(class.name()?, class)?;
    }
    let storage = types(py)?[Class::StorageError as usize].bind(py);
    storage.setattr("errno", py.None())
}

/// A failure before it becomes a Python exception: made without the GIL.
#[derive(Debug)]
pub struct Failure {
    pub class: Class,
    pub message: String,
    errno: Option<i32>,
    panicked: bool,
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(class: Class, message: impl Into<String>) -> Failure {
        Failure { class, message: message.into(), errno: None, panicked: false }
    }

    /// Whether redb stopped in the middle of something.
    pub fn panicked(&self) -> bool {
        self.panicked
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Failure {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        let message = format!("redb found the file damaged: {text}");
        Failure { panicked: true, ..Failure::new(Class::Corrupted, message) }
    }

    fn of_io(error: &std::io::Error) -> Failure {
        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
        let class = match error.kind() {
            InvalidData => Class::NotADatabase,
            UnexpectedEof => Class::Corrupted,
            _ => Class::StorageError,
        };
        Failure { errno: error.raw_os_error(), ..Failure::new(class, error.to_string()) }
    }
}

pub fn finished() -> Failure {
    Failure::new(Class::TransactionFinished, "the transaction is finished")
}

pub fn closed() -> Failure {
    Failure::new(Class::DatabaseClosed, "the database is closed")
}

/// Runs `work` without the GIL and turns a panic into a failure.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    py.detach(|| caught(work))
}

pub fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(Failure::of_panic(&*payload)))
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| {
            let class = match types(py) {
                Ok(types) => types[failure.class as usize].bind(py).clone(),
                Err(error) => return error,
            };
            let error = PyErr::from_type(class, failure.message);
            if let Some(errno) = failure.errno
                && let Err(other) = error.value(py).setattr("errno", errno)
            {
                return other;
            }
            error
        })
    }
}

impl From<redb::Error> for Failure {
    fn from(error: redb::Error) -> Failure {
        use redb::Error as E;
        let class = match &error {
            E::Io(error) => return Failure::of_io(error),
            E::DatabaseAlreadyOpen | E::LockProtocolMismatch => Class::DatabaseAlreadyOpen,
            E::InvalidSavepoint => Class::InvalidSavepoint,
            E::PersistentSavepointExists | E::EphemeralSavepointExists => Class::SavepointExists,
            E::EphemeralSavepointUnsupported => Class::SavepointError,
            E::ImmediateDurabilityRequired | E::PersistentSavepointModified | E::NonDurableCommitUnsupported => {
                Class::DurabilityError
            }
            E::RepairAborted => Class::RepairAborted,
            E::TransactionInProgress | E::ReadTransactionStillInUse(_) => Class::TransactionInProgress,
            E::TransactionPoisoned => Class::TransactionPoisoned,
            E::Corrupted(_) => Class::Corrupted,
            E::UpgradeRequired(_) => Class::UpgradeRequired,
            E::ValueTooLarge(_) => Class::ValueTooLarge,
            E::TableTypeMismatch { .. } | E::TypeDefinitionChanged { .. } => Class::TableTypeMismatch,
            E::TableIsMultimap(_) => Class::TableIsMultimap,
            E::TableIsNotMultimap(_) => Class::TableIsNotMultimap,
            E::TableDoesNotExist(_) => Class::TableDoesNotExist,
            E::TableExists(_) => Class::TableExists,
            E::TableAlreadyOpen(..) => Class::TableAlreadyOpen,
            E::DatabaseClosed => Class::DatabaseClosed,
            E::LockPoisoned(_) => Class::LockPoisoned,
            _ => Class::StorageError,
        };
        Failure::new(class, error.to_string())
    }
}

macro_rules! from_redb {
    ($($error:ident)+) => {
        $(impl From<redb::$error> for Failure {
            fn from(error: redb::$error) -> Failure {
                redb::Error::from(error).into()
            }
        })+
    };
}

from_redb! {
    StorageError TableError DatabaseError SavepointError CompactionError SetDurabilityError TransactionError CommitError
}
