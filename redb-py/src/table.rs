//! Tables with one value for each key: reading (`ReadableTable`, `ReadOnlyTable`) and writing (`Table`).

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bounds::Bounds;
use crate::convert::{decode, encode};
use crate::errors::{Outcome, detached};
use crate::handle::{Handle, Query};
use crate::pair::{BATCH, Pair, copy, decode_pair, in_batches};
use crate::query::{Chunk, Contains, First, Get, Last, Len, Stats};
use crate::range::Range;
use crate::schema::Schema;
use crate::stats::TableStats;
use crate::writing::Plain;

/// What tables of both kinds of transaction have in common.
#[pyclass(frozen, subclass, module = "redb")]
pub struct ReadableTable {
    handle: Handle,
    #[pyo3(get)]
    name: String,
    schema: &'static Schema,
}

impl ReadableTable {
    fn ask<Q: Query<Answer: Send> + Send>(&self, py: Python<'_>, query: Q) -> PyResult<Q::Answer> {
        Ok(detached(py, || self.handle.ask(query))?)
    }

    fn change<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Plain<'_>) -> Outcome<T> + Send) -> PyResult<T> {
        Ok(detached(py, || self.handle.writer()?.with_plain(self.handle.slot, true, work))?)
    }

    /// Takes the next pairs off the front of `bounds`.
    fn next_batch(&self, py: Python<'_>, bounds: &mut Bounds) -> PyResult<Vec<Pair>> {
        Ok(detached(py, || {
            if bounds.is_empty(self.schema) {
                return Ok(Vec::new());
            }
            let pairs = self.handle.ask(Chunk { bounds, reverse: false, limit: BATCH })?;
            if let Some((last, _)) = pairs.last() {
                bounds.advance(self.schema, last, false)?;
            }
            Ok(pairs)
        })?)
    }

    fn pair<'py>(&self, py: Python<'py>, pair: Option<Pair>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        pair.map(|pair| decode_pair(py, self.schema, &pair)).transpose()
    }

    fn value<'py>(&self, py: Python<'py>, value: Option<Vec<u8>>) -> PyResult<Option<Bound<'py, PyAny>>> {
        value.map(|value| decode(py, &self.schema.value, &value)).transpose()
    }
}

#[pymethods]
impl ReadableTable {
    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = encode(&self.schema.key, key)?;
        let value = self.ask(py, Get(&key))?;
        Ok(self.value(py, value)?.or(default))
    }

    /// Pairs in the order of their keys, from `start` to `end`; None leaves an end open.
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
        Ok(Range::new(self.handle.clone(), self.schema, false, bounds, reverse))
    }

    /// The pair with the smallest key.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let pair = self.ask(py, First)?;
        self.pair(py, pair)
    }

    /// The pair with the largest key.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let pair = self.ask(py, Last)?;
        self.pair(py, pair)
    }

    /// Pages and bytes of this table.
    fn stats(&self, py: Python<'_>) -> PyResult<TableStats> {
        self.ask(py, Stats)
    }

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

/// A table of a read transaction.
#[pyclass(frozen, extends = ReadableTable, module = "redb")]
pub struct ReadOnlyTable;

impl ReadOnlyTable {
    pub fn new(py: Python<'_>, handle: Handle, name: &str, schema: &'static Schema) -> PyResult<Py<ReadOnlyTable>> {
        let base = ReadableTable { handle, name: name.to_owned(), schema };
        Py::new(py, PyClassInitializer::from(base).add_subclass(ReadOnlyTable))
    }
}

/// A table of a write transaction.
#[pyclass(frozen, extends = ReadableTable, module = "redb")]
pub struct Table;

impl Table {
    pub fn new(py: Python<'_>, handle: Handle, name: &str, schema: &'static Schema) -> PyResult<Py<Table>> {
        let base = ReadableTable { handle, name: name.to_owned(), schema };
        Py::new(py, PyClassInitializer::from(base).add_subclass(Table))
    }
}

fn insert_all(table: &mut Plain<'_>, pairs: &[Pair]) -> Outcome<()> {
    for (key, value) in pairs {
        table.insert(key.as_slice(), value.as_slice())?;
    }
    Ok(())
}

fn remove_all(table: &mut Plain<'_>, keys: &[Vec<u8>]) -> Outcome<usize> {
    let mut removed = 0;
    for key in keys {
        removed += usize::from(table.remove(key.as_slice())?.is_some());
    }
    Ok(removed)
}

#[pymethods]
impl Table {
    /// Sets the value of a key; returns the old one.
    fn insert<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let (key, value) = (encode(&table.schema.key, key)?, encode(&table.schema.value, value)?);
        let old = table
            .change(py, |table| Ok(table.insert(key.as_slice(), value.as_slice())?.map(|old| old.value().to_vec())))?;
        table.value(py, old)
    }

    /// Sets the values of many keys; returns how many pairs there were.
    fn insert_many(slf: &Bound<'_, Self>, pairs: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, table) = (slf.py(), slf.as_super().get());
        in_batches(table.schema, pairs, |batch| table.change(py, |table| insert_all(table, batch)))
    }

    /// Removes a key; returns its value, or None when there was no such key.
    fn remove<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let key = encode(&table.schema.key, key)?;
        let old = table.change(py, |table| Ok(table.remove(key.as_slice())?.map(|old| old.value().to_vec())))?;
        table.value(py, old)
    }

    /// Removes and returns the pair with the smallest key.
    fn pop_first<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let pair = table.change(py, |table| Ok(table.pop_first()?.map(copy)))?;
        table.pair(py, pair)
    }

    /// Removes and returns the pair with the largest key.
    fn pop_last<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let pair = table.change(py, |table| Ok(table.pop_last()?.map(copy)))?;
        table.pair(py, pair)
    }

    /// Removes the pairs of a range and returns them in order.
    #[pyo3(signature = (start=None, end=None, *, include_start=true, include_end=false))]
    fn drain<'py>(
        slf: &Bound<'py, Self>,
        start: Option<&Bound<'py, PyAny>>,
        end: Option<&Bound<'py, PyAny>>,
        include_start: bool,
        include_end: bool,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let bounds = Bounds::new(table.schema, start, end, include_start, include_end)?;
        if bounds.is_empty(table.schema) {
            return Ok(Vec::new());
        }
        let pairs = table.change(py, |table| {
            let drained = table.extract_from_if::<&[u8], _>(bounds.as_refs(), |_, _| true)?;
            drained.map(|entry| Ok(copy(entry?))).collect::<Outcome<Vec<Pair>>>()
        })?;
        pairs.iter().map(|pair| decode_pair(py, table.schema, pair)).collect()
    }

    /// Removes the pairs of a range without reading them into memory; returns how many there were.
    #[pyo3(signature = (start=None, end=None, *, include_start=true, include_end=false))]
    fn remove_range(
        slf: &Bound<'_, Self>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        include_start: bool,
        include_end: bool,
    ) -> PyResult<usize> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let bounds = Bounds::new(table.schema, start, end, include_start, include_end)?;
        if bounds.is_empty(table.schema) {
            return Ok(0);
        }
        table.change(py, |table| {
            let mut removed = 0;
            table.retain_in::<&[u8], _>(bounds.as_refs(), |_, _| {
                removed += 1;
                false
            })?;
            Ok(removed)
        })
    }

    /// Keeps the pairs of a range for which `keep(key, value)` is true; returns how many were removed.
    #[pyo3(signature = (keep, start=None, end=None, *, include_start=true, include_end=false))]
    fn retain(
        slf: &Bound<'_, Self>,
        keep: &Bound<'_, PyAny>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        include_start: bool,
        include_end: bool,
    ) -> PyResult<usize> {
        let (py, table) = (slf.py(), slf.as_super().get());
        let mut bounds = Bounds::new(table.schema, start, end, include_start, include_end)?;
        let mut removed = 0;
        // In batches, so that `keep` runs while nothing is locked and may itself use the table.
        loop {
            let pairs = table.next_batch(py, &mut bounds)?;
            if pairs.is_empty() {
                break;
            }
            let mut unwanted = Vec::new();
            for pair in pairs {
                if !keep.call1(decode_pair(py, table.schema, &pair)?)?.is_truthy()? {
                    unwanted.push(pair.0);
                }
            }
            if !unwanted.is_empty() {
                removed += table.change(py, |table| remove_all(table, &unwanted))?;
            }
        }
        Ok(removed)
    }
}
