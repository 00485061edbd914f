//! What a read transaction, its tables and their iterators share: the open tables.

use std::sync::{PoisonError, RwLock};

use crate::errors::{Class, Failure, Outcome, caught, finished};
use crate::owner::Owner;
use crate::schema::{AnyKey, AnyValue, Schema, same_table, within};

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
    pub fn new(transaction: redb::ReadTransaction, owner: Owner) -> Reading {
        Reading { state: RwLock::new(Some(State { slots: Vec::new(), transaction })), owner }
    }

    pub fn open(&self, name: &str, schema: &'static Schema, multimap: bool) -> Outcome<usize> {
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

    pub fn with_transaction<T>(&self, work: impl FnOnce(&redb::ReadTransaction) -> Outcome<T>) -> Outcome<T> {
        self.owner.check()?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        caught(|| work(&state.as_ref().ok_or_else(finished)?.transaction))
    }

    pub fn close(&self) -> Outcome<()> {
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
