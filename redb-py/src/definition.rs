//! `TableDefinition` and `MultimapTableDefinition`: a name and the types of keys and values.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::convert::{name, parse_kind};
use crate::errors::{Class, Failure, Outcome};
use crate::schema::Schema;

macro_rules! definition {
    ($type:ident, $label:literal, $doc:literal) => {
        #[doc = $doc]
        #[pyclass(frozen, module = "redb")]
        pub struct $type {
            #[pyo3(get)]
            pub name: String,
            pub schema: &'static Schema,
        }

        #[pymethods]
        impl $type {
            #[new]
            #[pyo3(signature = (name, key, value))]
            fn new(name: String, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<Self> {
                let schema = Schema::of(parse_kind(key)?, parse_kind(value)?);
                Ok($type { name: checked_name(name)?, schema })
            }

            /// The type of the keys, in this module's words: `"(bytes, u32)"`.
            #[getter]
            fn key(&self) -> String {
                name(&self.schema.key)
            }

            /// The type of the values.
            #[getter]
            fn value(&self) -> String {
                name(&self.schema.value)
            }

            fn __repr__(&self) -> String {
                format!("{}({:?}, key={}, value={})", $label, self.name, self.key(), self.value())
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                let other = other.cast::<$type>().map(|other| other.get());
                other.is_ok_and(|other| self.name == other.name && std::ptr::eq(self.schema, other.schema))
            }

            fn __hash__(&self) -> u64 {
                let mut hasher = DefaultHasher::new();
                (&self.name, std::ptr::from_ref(self.schema)).hash(&mut hasher);
                hasher.finish()
            }

            /// Lets annotations name the Python types: `TableDefinition[bytes, int]`.
            #[classmethod]
            fn __class_getitem__<'py>(
                class: &Bound<'py, PyType>,
                item: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                class.py().import("types")?.getattr("GenericAlias")?.call1((class, item))
            }
        }
    };
}

definition!(TableDefinition, "TableDefinition", "Name and types of a table with one value for each key.");
definition!(
    MultimapTableDefinition,
    "MultimapTableDefinition",
    "Name and types of a table with a sorted set of values for each key."
);

fn checked_name(name: String) -> Outcome<String> {
    if name.is_empty() {
        return Err(Failure::new(Class::InvalidValue, "the name of a table cannot be empty"));
    }
    Ok(name)
}

/// The name in a definition of either kind, or a name given as it is.
pub fn table_name(table: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(definition) = table.cast::<TableDefinition>() {
        return Ok(definition.get().name.clone());
    }
    if let Ok(definition) = table.cast::<MultimapTableDefinition>() {
        return Ok(definition.get().name.clone());
    }
    match table.cast::<PyString>() {
        Ok(name) => Ok(checked_name(name.to_str()?.to_owned())?),
        Err(_) => Err(Failure::new(Class::InvalidType, "expected a definition or the name of a table").into()),
    }
}
