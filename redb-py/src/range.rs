//! `Range`: pairs in order, fetched in chunks.
//!
//! Between two chunks nothing of redb is held: the next chunk is found again by the last key. So a table may be
//! changed while it is read in the same transaction, and the iterator shows it as it is at that moment.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, TryLockError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bounds::Bounds;
use crate::errors::{Outcome, detached};
use crate::handle::Handle;
use crate::pair::{Pair, decode_pair};
use crate::query::Chunk;
use crate::schema::Schema;

/// The first chunk is small, for those who want one pair; each further one is four times as large.
const FIRST_CHUNK: usize = 16;
const LARGEST_CHUNK: usize = 1024;

struct State {
    /// What was not fetched yet.
    ahead: Bounds,
    buffer: VecDeque<Pair>,
    chunk: usize,
    /// The table's count of changes when the buffer was filled.
    version: u64,
    /// The pair handed out last, where the table may change under the buffer.
    last: Option<Pair>,
    exhausted: bool,
}

/// Iterator over (key, value) pairs; keeps its transaction alive.
#[pyclass(frozen, module = "redb")]
pub struct Range {
    handle: Handle,
    schema: &'static Schema,
    multimap: bool,
    reverse: bool,
    state: Mutex<State>,
}

impl Range {
    pub fn new(handle: Handle, schema: &'static Schema, multimap: bool, bounds: Bounds, reverse: bool) -> Range {
        let state = State {
            ahead: bounds,
            buffer: VecDeque::new(),
            chunk: FIRST_CHUNK,
            version: handle.version(),
            last: None,
            exhausted: false,
        };
        Range { handle, schema, multimap, reverse, state: Mutex::new(state) }
    }

    /// The next pair, if neither redb nor another thread has to be waited for.
    fn at_hand(&self) -> Option<Pair> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if state.version == self.handle.version() { self.take(&mut state) } else { None }
    }

    fn next(&self) -> Outcome<Option<Pair>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.version != self.handle.version() {
            self.step_back(&mut state);
        }
        if state.buffer.is_empty() && !state.exhausted {
            self.fill(&mut state)?;
        }
        Ok(self.take(&mut state))
    }

    fn take(&self, state: &mut State) -> Option<Pair> {
        let pair = state.buffer.pop_front()?;
        if self.handle.can_change() {
            let value = if self.multimap { pair.1.clone() } else { Vec::new() };
            state.last = Some((pair.0.clone(), value));
        }
        Some(pair)
    }

    /// The table was changed: what is in the buffer may be wrong, so go on from the last pair handed out.
    fn step_back(&self, state: &mut State) {
        state.buffer.clear();
        state.chunk = FIRST_CHUNK;
        if let Some((key, _)) = &state.last {
            state.ahead.return_to(key, self.reverse, self.multimap);
        }
    }

    fn fill(&self, state: &mut State) -> Outcome<()> {
        state.version = self.handle.version();
        let pairs = if state.ahead.is_empty(self.schema) { Vec::new() } else { self.fetch(state)? };
        match pairs.last() {
            Some((key, _)) => state.ahead.advance(self.schema, key, self.reverse)?,
            None => state.exhausted = true,
        }
        state.buffer.extend(pairs);
        self.drop_passed(state);
        state.chunk = LARGEST_CHUNK.min(state.chunk * 4);
        if state.buffer.is_empty() && !state.exhausted {
            return self.fill(state);
        }
        Ok(())
    }

    fn fetch(&self, state: &State) -> Outcome<Vec<Pair>> {
        let chunk = Chunk { bounds: &state.ahead, reverse: self.reverse, limit: state.chunk };
        if self.multimap { self.handle.ask_multi(chunk) } else { self.handle.ask(chunk) }
    }

    /// Leaves out the values of the last key that were handed out before the table was changed.
    fn drop_passed(&self, state: &mut State) {
        let Some((key, value)) = state.last.as_ref().filter(|_| self.multimap) else { return };
        let ahead = if self.reverse { Ordering::Less } else { Ordering::Greater };
        while state.buffer.front().is_some_and(|(k, v)| k == key && self.schema.value.compare(v, value) != ahead) {
            state.buffer.pop_front();
        }
    }
}

#[pymethods]
impl Range {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let pair = match self.at_hand() {
            Some(pair) => Some(pair),
            None => detached(py, || self.next())?,
        };
        pair.map(|pair| decode_pair(py, self.schema, &pair)).transpose()
    }
}
