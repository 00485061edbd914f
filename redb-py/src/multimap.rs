//! Tables with a sorted set of values for each key.

use pyo3::prelude::*;

use crate::bounds::Bounds;
use crate::convert::{decode, encode};
use crate::errors::{Outcome, detached};
use crate::handle::{Handle, MultiQuery};
use crate::pair::{Pair, in_batches};
use crate::query::{Contains, Get, Len, Stats};
use crate::range::Range;
use crate::schema::Schema;
use crate::stats::TableStats;
use crate::writing::Multi;

/// What multimap tables of both kinds of transaction have in common.
#[pyclass(frozen, subclass, module = "redb")]
pub struct ReadableMultimapTable {
    handle: Handle,
    #[pyo3(get)]
    name: String,
    schema: &'static Schema,
}

impl ReadableMultimapTable {
    fn ask<Q: MultiQuery<Answer: Send> + Send>(&self, py: Python<'_>, query: Q) -> PyResult<Q::Answer> {
        Ok(detached(py, || self.handle.ask_multi(query))?)
    }

    fn change<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Multi<'_>) -> Outcome<T> + Send) -> PyResult<T> {
        Ok(detached(py, || self.handle.writer()?.with_multi(self.handle.slot, true, work))?)
    }

    fn values<'py>(&self, py: Python<'py>, values: &[Vec<u8>]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        values.iter().map(|value| decode(py, &self.schema.value, value)).collect()
    }
}

#[pymethods]
impl ReadableMultimapTable {
    /// All values of a key, in order; none for an unknown key.
    fn get<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let key = encode(&self.schema.key, key)?;
        let values = self.ask(py, Get(&key))?;
        self.values(py, &values)
    }

    /// One pair for each value, in the order of keys and then of values; None leaves an end open.
    #[pyo3(signature = (start=None, end=None, *, include_start=true, include_end=false, reverse=false))]
    fn range(
        &self,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        include_start: bool,
        include_end: bool,
        reverse: bool,
    ) -> PyResult<Range> {
        let bounds = Bounds::new(self.schema, start, end, include_start, include_end)?;
        Ok(Range::new(self.handle.clone(), self.schema, true, bounds, reverse))
    }

    /// Pages and bytes of this table.
    fn stats(&self, py: Python<'_>) -> PyResult<TableStats> {
        self.ask(py, Stats)
    }

    /// The number of values, over all keys.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.ask(py, Len)? as usize)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = encode(&self.schema.key, key)?;
        self.ask(py, Contains(&key))
    }

    fn __iter__(&self) -> PyResult<Range> {
        self.range(None, None, true, false, false)
    }
}

/// A multimap table of a read transaction.
#[pyclass(frozen, extends = ReadableMultimapTable, module = "redb")]
pub struct ReadOnlyMultimapTable;

impl ReadOnlyMultimapTable {
    pub fn new(py: Python<'_>, handle: Handle, name: &str, schema: &'static Schema) -> PyResult<Py<Self>> {
        let base = ReadableMultimapTable { handle, name: name.to_owned(), schema };
        Py::new(py, PyClassInitializer::from(base).add_subclass(ReadOnlyMultimapTable))
    }
}

/// A multimap table of a write transaction.
#[pyclass(frozen, extends = ReadableMultimapTable, module = "redb")]
pub struct MultimapTable;

impl MultimapTable {
    pub fn new(py: Python<'_>, handle: Handle, name: &str, schema: &'static Schema) -> PyResult<Py<Self>> {
        let base = ReadableMultimapTable { handle, name: name.to_owned(), schema };
        Py::new(py, PyClassInitializer::from(base).add_subclass(MultimapTable))
    }
}

fn insert_all(table: &mut Multi<'_>, pairs: &[Pair]) -> Outcome<()> {
    for (key, value) in pairs {
        table.insert(key.as_slice(), value.as_slice())?;
    }
    Ok(())
}

#[pymethods]
impl MultimapTable {
    /// Adds a value to a key; true if it was there already.
    fn insert(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let (key, value) = (encode(&table.schema.key, key)?, encode(&table.schema.value, value)?);
        table.change(py, |table| Ok(table.insert(key.as_slice(), value.as_slice())?))
    }

    /// Adds many values; returns how many pairs there were.
    fn insert_many(slf: &Bound<'_, Self>, pairs: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, table) = (slf.py(), slf.as_super().get());
        in_batches(table.schema, pairs, |batch| table.change(py, |table| insert_all(table, batch)))
    }

    /// Removes one value of a key; true if it was there.
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let (key, value) = (encode(&table.schema.key, key)?, encode(&table.schema.value, value)?);
        table.change(py, |table| Ok(table.remove(key.as_slice(), value.as_slice())?))
    }

    /// Removes a key; returns its values in order.
    fn remove_all<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let key = encode(&table.schema.key, key)?;
        let values = table.change(py, |table| {
            let removed = table.remove_all(key.as_slice())?;
            removed.map(|value| Ok(value?.value().to_vec())).collect::<Outcome<Vec<_>>>()
        })?;
        table.values(py, &values)
    }
}
