//! What a write transaction, its tables and their iterators share: the open tables, and the lock around them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self_cell::self_cell;

use crate::errors::{Class, Failure, Outcome, caught, finished};
use crate::gate::Lease;
use crate::owner::Owner;
use crate::schema::{AnyKey, AnyValue, Schema, same_table, within};

pub type Plain<'a> = redb::Table<'a, AnyKey, AnyValue>;
pub type Multi<'a> = redb::MultimapTable<'a, AnyKey, AnyValue>;

self_cell!(
    struct OpenPlain {
        owner: Arc<redb::WriteTransaction>,
        #[not_covariant]
        dependent: Plain,
    }
);

self_cell!(
    struct OpenMulti {
        owner: Arc<redb::WriteTransaction>,
        #[not_covariant]
        dependent: Multi,
    }
);

enum Open {
    Plain(OpenPlain),
    Multi(OpenMulti),
}

/// One table; closed for a moment whenever redb wants the transaction for itself.
struct Slot {
    name: String,
    schema: &'static Schema,
    multimap: bool,
    gone: bool,
    version: Arc<AtomicU64>,
    open: Option<Open>,
}

impl Slot {
    fn close(&mut self) {
        within(self.schema, || self.open = None);
    }

    fn opened(&mut self, transaction: &Arc<redb::WriteTransaction>) -> Outcome<&mut Open> {
        if self.gone {
            let message = format!("the table {:?} was deleted, renamed or rolled back; open it again", self.name);
            return Err(Failure::new(Class::TableClosed, message));
        }
        if self.open.is_none() {
            self.open = Some(open(transaction.clone(), &self.name, self.multimap)?);
        }
        self.open.as_mut().ok_or_else(finished)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.close();
    }
}

fn open(transaction: Arc<redb::WriteTransaction>, name: &str, multimap: bool) -> Outcome<Open> {
    if multimap {
        let definition = redb::MultimapTableDefinition::new(name);
        let table = OpenMulti::try_new(transaction, |transaction| transaction.open_multimap_table(definition))?;
        return Ok(Open::Multi(table));
    }
    let definition = redb::TableDefinition::new(name);
    Ok(Open::Plain(OpenPlain::try_new(transaction, |transaction| transaction.open_table(definition))?))
}

struct State {
    slots: Vec<Slot>,
    transaction: Option<Arc<redb::WriteTransaction>>,
    lease: Option<Lease>,
    /// A panic went through redb while it changed something: never commit that.
    broken: bool,
}

/// A write transaction shared by its Python object, its tables and their iterators.
pub struct Writing {
    state: Mutex<State>,
    pub owner: Owner,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // In this order: tables, the transaction (aborting it), the right to write.
        let held = (std::mem::take(&mut state.slots), state.transaction.take(), state.lease.take());
        if held.1.is_some() {
            self.owner.release(held);
        }
    }
}

impl State {
    fn transaction(&self) -> Outcome<&Arc<redb::WriteTransaction>> {
        self.transaction.as_ref().ok_or_else(finished)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name && !slot.gone)
    }

    /// Remembers a panic; the transaction can then only be aborted.
    fn watch<T>(&mut self, result: Outcome<T>) -> Outcome<T> {
        self.broken |= result.as_ref().is_err_and(Failure::panicked);
        result
    }
}

impl Writing {
    pub fn new(transaction: redb::WriteTransaction, lease: Lease, owner: Owner) -> Writing {
        let transaction = Some(Arc::new(transaction));
        let state = State { slots: Vec::new(), transaction, lease: Some(lease), broken: false };
        Writing { state: Mutex::new(state), owner }
    }

    /// In a forked child the lock may be held by a thread that does not exist there.
    fn lock(&self) -> Outcome<MutexGuard<'_, State>> {
        self.owner.check()?;
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn is_finished(&self) -> Outcome<bool> {
        Ok(self.lock()?.transaction.is_none())
    }

    /// Opens a table, or finds it among the open ones; returns its slot and the count of its changes.
    pub fn open(&self, name: &str, schema: &'static Schema, multimap: bool) -> Outcome<(usize, Arc<AtomicU64>)> {
        let mut state = self.lock()?;
        let transaction = state.transaction()?.clone();
        if let Some(index) = state.find(name) {
            let slot = &state.slots[index];
            same_table(slot.multimap, slot.schema, name, multimap, schema)?;
            return Ok((index, slot.version.clone()));
        }
        let result = caught(|| within(schema, || open(transaction, name, multimap)));
        let open = Some(state.watch(result)?);
        let version = Arc::new(AtomicU64::new(0));
        state.slots.push(Slot { name: name.to_owned(), schema, multimap, gone: false, version: version.clone(), open });
        Ok((state.slots.len() - 1, version))
    }

    fn with_slot<T>(&self, index: usize, changes: bool, work: impl FnOnce(&mut Open) -> Outcome<T>) -> Outcome<T> {
        let mut state = self.lock()?;
        let transaction = state.transaction()?.clone();
        let slot = &mut state.slots[index];
        if changes {
            slot.version.fetch_add(1, Ordering::Relaxed);
        }
        let result = caught(|| within(slot.schema, || work(slot.opened(&transaction)?)));
        drop(transaction);
        state.watch(result)
    }

    pub fn with_plain<T>(
        &self,
        index: usize,
        changes: bool,
        work: impl FnOnce(&mut Plain<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        self.with_slot(index, changes, |open| match open {
            Open::Plain(table) => table.with_dependent_mut(|_, table| work(table)),
            Open::Multi(_) => Err(Failure::new(Class::TableIsMultimap, "the table is a multimap table")),
        })
    }

    pub fn with_multi<T>(
        &self,
        index: usize,
        changes: bool,
        work: impl FnOnce(&mut Multi<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        self.with_slot(index, changes, |open| match open {
            Open::Multi(table) => table.with_dependent_mut(|_, table| work(table)),
            Open::Plain(_) => Err(Failure::new(Class::TableIsNotMultimap, "the table is not a multimap table")),
        })
    }

    /// Runs `work` with the transaction, all its tables closed for that long.
    pub fn with_transaction<T>(&self, work: impl FnOnce(&mut redb::WriteTransaction) -> Outcome<T>) -> Outcome<T> {
        let mut state = self.lock()?;
        state.transaction()?;
        let result = caught(|| {
            state.slots.iter_mut().for_each(Slot::close);
            let transaction = state.transaction.as_mut().and_then(Arc::get_mut);
            work(transaction.ok_or_else(finished)?)
        });
        state.watch(result)
    }

    /// Makes the handles of the table of this name invalid, or all of them.
    pub fn forget(&self, name: Option<&str>) -> Outcome<()> {
        let mut state = self.lock()?;
        let named = |slot: &&mut Slot| name.is_none_or(|name| slot.name == name);
        state.slots.iter_mut().filter(named).for_each(|slot| {
            slot.version.fetch_add(1, Ordering::Relaxed);
            slot.gone = true;
        });
        Ok(())
    }

    /// Ends the transaction; whatever the result, the next one may begin.
    pub fn finish(&self, commit: bool) -> Outcome<()> {
        let mut state = self.lock()?;
        let broken = state.broken;
        let slots = std::mem::take(&mut state.slots);
        let transaction = state.transaction.take().ok_or_else(finished)?;
        let lease = state.lease.take();
        let result = caught(|| {
            drop(slots);
            let transaction = Arc::into_inner(transaction).ok_or_else(finished)?;
            match (commit, broken) {
                (false, _) => Ok(transaction.abort()?),
                (true, false) => Ok(transaction.commit()?),
                (true, true) => {
                    Err(Failure::new(Class::TransactionPoisoned, "an operation failed half-way: rolled back"))
                }
            }
        });
        drop(lease);
        result
    }
}
