//! `ReadTransaction`: one state of the database, for as long as it is open.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::prelude::*;

use crate::definition::{MultimapTableDefinition, TableDefinition};
use crate::errors::{Class, Failure, Outcome, caught, detached};
use crate::handle::Handle;
use crate::multimap::ReadOnlyMultimapTable;
use crate::owner::Owner;
use crate::schema::{AnyKey, AnyValue, Schema, within};
use crate::slots::{finished, same_table};
use crate::table::ReadOnlyTable;

pub type Plain = redb::ReadOnlyTable<AnyKey, AnyValue>;
pub type Multi = redb::ReadOnlyMultimapTable<AnyKey, AnyValue>;

enum Open {
    Plain(Plain),
    Multi(Multi),
}

struct Slot {
    name: String,
    schema: &'static Schema,
    open: Open,
}

struct State {
    slots: Vec<Slot>,
    transaction: redb::ReadTransaction,
}

/// A read transaction shared by its Python object, its tables and their iterators.
pub struct Reading {
    state: RwLock<Option<State>>,
    owner: Owner,
}

impl Reading {
    fn open(&self, name: &str, schema: &'static Schema, multimap: bool) -> Outcome<usize> {
        self.owner.check()?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = state.as_mut().ok_or_else(finished)?;
        if let Some(index) = state.slots.iter().position(|slot| slot.name == name) {
            let slot = &state.slots[index];
            same_table(matches!(slot.open, Open::Multi(_)), slot.schema, name, multimap, schema)?;
            return Ok(index);
        }
        let open = within(schema, || open(&state.transaction, name, multimap))?;
        state.slots.push(Slot { name: name.to_owned(), schema, open });
        Ok(state.slots.len() - 1)
    }

    fn with_slot<T>(&self, index: usize, work: impl FnOnce(&Open) -> Outcome<T>) -> Outcome<T> {
        self.owner.check()?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let slot = &state.as_ref().ok_or_else(finished)?.slots[index];
        caught(|| within(slot.schema, || work(&slot.open)))
    }

    pub fn with_plain<T>(&self, index: usize, work: impl FnOnce(&Plain) -> Outcome<T>) -> Outcome<T> {
        self.with_slot(index, |open| match open {
            Open::Plain(table) => work(table),
            Open::Multi(_) => Err(Failure::new(Class::TableIsMultimap, "the table is a multimap table")),
        })
    }

    pub fn with_multi<T>(&self, index: usize, work: impl FnOnce(&Multi) -> Outcome<T>) -> Outcome<T> {
        self.with_slot(index, |open| match open {
            Open::Multi(table) => work(table),
            Open::Plain(_) => Err(Failure::new(Class::TableIsNotMultimap, "the table is not a multimap table")),
        })
    }

    fn with_transaction<T>(&self, work: impl FnOnce(&redb::ReadTransaction) -> Outcome<T>) -> Outcome<T> {
        self.owner.check()?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        caught(|| work(&state.as_ref().ok_or_else(finished)?.transaction))
    }

    fn close(&self) -> Outcome<()> {
        self.owner.check()?;
        let state = self.state.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(state);
        Ok(())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.owner.release(self.state.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn open(transaction: &redb::ReadTransaction, name: &str, multimap: bool) -> Outcome<Open> {
    Ok(if multimap {
        Open::Multi(transaction.open_multimap_table(redb::MultimapTableDefinition::new(name))?)
    } else {
        Open::Plain(transaction.open_table(redb::TableDefinition::new(name))?)
    })
}

/// A view of the last commit; closes at the end of its `with` block.
#[pyclass(frozen, module = "redb")]
pub struct ReadTransaction {
    reading: Arc<Reading>,
}

impl ReadTransaction {
    pub fn new(transaction: redb::ReadTransaction, owner: Owner) -> ReadTransaction {
        let state = State { slots: Vec::new(), transaction };
        ReadTransaction { reading: Arc::new(Reading { state: RwLock::new(Some(state)), owner }) }
    }

    fn handle(&self, slot: usize) -> Handle {
        // Nothing changes a read transaction, so the count of its changes stays 0.
        Handle::reading(self.reading.clone(), slot, Arc::new(AtomicU64::new(0)))
    }
}

#[pymethods]
impl ReadTransaction {
    /// Opens a table that exists.
    fn open_table(&self, py: Python<'_>, definition: &Bound<'_, TableDefinition>) -> PyResult<Py<ReadOnlyTable>> {
        let TableDefinition { name, schema } = definition.get();
        let slot = detached(py, || self.reading.open(name, schema, false))?;
        ReadOnlyTable::new(py, self.handle(slot), name, schema)
    }

    /// Opens a multimap table that exists.
    fn open_multimap_table(
        &self,
        py: Python<'_>,
        definition: &Bound<'_, MultimapTableDefinition>,
    ) -> PyResult<Py<ReadOnlyMultimapTable>> {
        let MultimapTableDefinition { name, schema } = definition.get();
        let slot = detached(py, || self.reading.open(name, schema, true))?;
        ReadOnlyMultimapTable::new(py, self.handle(slot), name, schema)
    }

    /// Names of the tables.
    fn list_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::TableHandle;
        let list = |transaction: &redb::ReadTransaction| {
            Ok(transaction.list_tables()?.map(|table| table.name().to_owned()).collect())
        };
        Ok(detached(py, || self.reading.with_transaction(list))?)
    }

    /// Names of the multimap tables.
    fn list_multimap_tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        use redb::MultimapTableHandle;
        let list = |transaction: &redb::ReadTransaction| {
            Ok(transaction.list_multimap_tables()?.map(|table| table.name().to_owned()).collect())
        };
        Ok(detached(py, || self.reading.with_transaction(list))?)
    }

    /// Ends the transaction; its tables and iterators cannot be used any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(detached(py, || self.reading.close())?)
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
}
