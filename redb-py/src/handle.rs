//! A table of a read or a write transaction, as the reading methods see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::{ReadableMultimapTable, ReadableTable};

use crate::errors::{Outcome, finished};
use crate::reading::Reading;
use crate::schema::{AnyKey, AnyValue};
use crate::writing::Writing;

enum Transaction {
    Reading(Arc<Reading>),
    Writing(Arc<Writing>),
}

/// Keeps the transaction alive.
pub struct Handle {
    transaction: Transaction,
    pub slot: usize,
    version: Arc<AtomicU64>,
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        let transaction = match &self.transaction {
            Transaction::Reading(reading) => Transaction::Reading(reading.clone()),
            Transaction::Writing(writing) => Transaction::Writing(writing.clone()),
        };
        Handle { transaction, slot: self.slot, version: self.version.clone() }
    }
}

/// A question to a table of either transaction.
pub trait Query {
    type Answer;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<Self::Answer>;
}

/// A question to a multimap table of either transaction.
pub trait MultiQuery {
    type Answer;
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<Self::Answer>;
}

impl Handle {
    pub fn reading(reading: Arc<Reading>, slot: usize, version: Arc<AtomicU64>) -> Handle {
        Handle { transaction: Transaction::Reading(reading), slot, version }
    }

    pub fn writing(writing: Arc<Writing>, slot: usize, version: Arc<AtomicU64>) -> Handle {
        Handle { transaction: Transaction::Writing(writing), slot, version }
    }

    /// The write transaction; a table that has methods to write was made by one.
    pub fn writer(&self) -> Outcome<&Writing> {
        match &self.transaction {
            Transaction::Writing(writing) => Ok(writing),
            Transaction::Reading(_) => Err(finished()),
        }
    }

    pub fn can_change(&self) -> bool {
        matches!(self.transaction, Transaction::Writing(_))
    }

    /// How often the table was changed.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub fn ask<Q: Query>(&self, query: Q) -> Outcome<Q::Answer> {
        match &self.transaction {
            Transaction::Reading(reading) => reading.with_plain(self.slot, |table| query.ask(table)),
            Transaction::Writing(writing) => writing.with_plain(self.slot, false, |table| query.ask(&*table)),
        }
    }

    pub fn ask_multi<Q: MultiQuery>(&self, query: Q) -> Outcome<Q::Answer> {
        match &self.transaction {
            Transaction::Reading(reading) => reading.with_multi(self.slot, |table| query.ask(table)),
            Transaction::Writing(writing) => writing.with_multi(self.slot, false, |table| query.ask(&*table)),
        }
    }
}
