//! Figures about files, tables and caches.

use pyo3::prelude::*;

macro_rules! figures {
    ($(#[$doc:meta])* $type:ident from $source:ty { $($(#[$field_doc:meta])* $field:ident: $T:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, module = "redb")]
        pub struct $type {
            $($(#[$field_doc])* $field: $T),+
        }

        impl $type {
            pub fn new(source: &$source) -> $type {
                $type { $($field: source.$field()),+ }
            }
        }

        #[pymethods]
        impl $type {
            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={}", stringify!($field), self.$field)),+];
                format!("{}({})", stringify!($type), fields.join(", "))
            }
        }
    };
}

figures! {
    /// A whole database.
    DatabaseStats from redb::DatabaseStats {
        /// Levels down to the deepest pair, over all tables.
        tree_height: u32,
        allocated_pages: u64,
        leaf_pages: u64,
        branch_pages: u64,
        /// Bytes of keys and values.
        stored_bytes: u64,
        /// Bytes of keys in branch pages and of other overhead.
        metadata_bytes: u64,
        /// Bytes lost within pages.
        fragmented_bytes: u64,
        page_size: usize,
    }
}

figures! {
    /// One table.
    TableStats from redb::TableStats {
        /// Levels down to the deepest pair.
        tree_height: u32,
        leaf_pages: u64,
        branch_pages: u64,
        /// Bytes of keys and values.
        stored_bytes: u64,
        /// Bytes of keys in branch pages and of other overhead.
        metadata_bytes: u64,
        /// Bytes lost within pages.
        fragmented_bytes: u64,
    }
}

figures! {
    /// The page cache of an open database.
    CacheStats from redb::CacheStats {
        evictions: u64,
        read_hits: u64,
        read_misses: u64,
        write_hits: u64,
        write_misses: u64,
        used_bytes: usize,
    }
}
