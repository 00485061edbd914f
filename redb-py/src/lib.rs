//! Python binding of redb. The module is documented in `redb.pyi` and the README.

mod bounds;
mod convert;
mod database;
mod definition;
mod errors;
mod gate;
mod handle;
#[cfg(test)]
mod interop;
mod kind;
mod multimap;
mod options;
mod owner;
mod pair;
mod query;
mod range;
mod read;
mod reading;
mod readonly;
mod savepoint;
mod schema;
mod stats;
mod table;
mod typename;
mod write;
mod writing;

use pyo3::prelude::*;

/// An embedded key-value store: one file, one writer beside any number of readers, all changes or none.
#[pymodule]
mod redb {
    #[pymodule_export]
    use crate::database::{Builder, Database};
    #[pymodule_export]
    use crate::definition::{MultimapTableDefinition, TableDefinition};
    #[pymodule_export]
    use crate::multimap::{MultimapTable, ReadOnlyMultimapTable, ReadableMultimapTable};
    #[pymodule_export]
    use crate::options::ConcurrencyMode;
    #[pymodule_export]
    use crate::range::Range;
    #[pymodule_export]
    use crate::read::ReadTransaction;
    #[pymodule_export]
    use crate::readonly::ReadOnlyDatabase;
    #[pymodule_export]
    use crate::savepoint::Savepoint;
    #[pymodule_export]
    use crate::stats::{CacheStats, DatabaseStats, TableStats};
    #[pymodule_export]
    use crate::table::{ReadOnlyTable, ReadableTable, Table};
    #[pymodule_export]
    use crate::write::{Durability, WriteTransaction};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic becomes an exception with its text; nothing else is to reach the terminal.
        std::panic::set_hook(Box::new(|_| {}));
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::owner::watch_forks(module.py())?;
        crate::errors::register(module)
    }
}
