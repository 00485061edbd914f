//! The questions that tables answer. Answers are copies, so that nothing of redb is held between calls.

use redb::{ReadableMultimapTable, ReadableTable};

use crate::bounds::Bounds;
use crate::errors::Outcome;
use crate::handle::{MultiQuery, Query};
use crate::pair::{Pair, copy};
use crate::schema::{AnyKey, AnyValue};
use crate::stats::TableStats;

/// Ends a chunk of pairs early when they are large.
const CHUNK_BYTES: usize = 1 << 20;

pub struct Get<'a>(pub &'a [u8]);
pub struct Contains<'a>(pub &'a [u8]);
pub struct First;
pub struct Last;
pub struct Len;
pub struct Stats;

/// At most `limit` pairs from the start of a range, or from its end.
pub struct Chunk<'a> {
    pub bounds: &'a Bounds,
    pub reverse: bool,
    pub limit: usize,
}

impl Query for Get<'_> {
    type Answer = Option<Vec<u8>>;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<Self::Answer> {
        Ok(table.get(self.0)?.map(|value| value.value().to_vec()))
    }
}

impl Query for Contains<'_> {
    type Answer = bool;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<bool> {
        Ok(table.get(self.0)?.is_some())
    }
}

impl Query for First {
    type Answer = Option<Pair>;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<Self::Answer> {
        Ok(table.first()?.map(copy))
    }
}

impl Query for Last {
    type Answer = Option<Pair>;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<Self::Answer> {
        Ok(table.last()?.map(copy))
    }
}

impl Query for Len {
    type Answer = u64;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<u64> {
        Ok(table.len()?)
    }
}

impl Query for Stats {
    type Answer = TableStats;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<TableStats> {
        Ok(TableStats::new(&table.stats()?))
    }
}

impl Query for Chunk<'_> {
    type Answer = Vec<Pair>;
    fn ask(self, table: &impl ReadableTable<AnyKey, AnyValue>) -> Outcome<Vec<Pair>> {
        let mut range = table.range::<&[u8]>(self.bounds.as_refs())?;
        let mut pairs = Vec::new();
        let mut bytes = 0;
        while pairs.len() < self.limit && bytes < CHUNK_BYTES {
            let Some(entry) = (if self.reverse { range.next_back() } else { range.next() }) else { break };
            let pair = copy(entry?);
            bytes += pair.0.len() + pair.1.len();
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

impl MultiQuery for Get<'_> {
    type Answer = Vec<Vec<u8>>;
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<Self::Answer> {
        table.get(self.0)?.map(|value| Ok(value?.value().to_vec())).collect()
    }
}

impl MultiQuery for Contains<'_> {
    type Answer = bool;
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<bool> {
        Ok(!table.get(self.0)?.is_empty())
    }
}

impl MultiQuery for Len {
    type Answer = u64;
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<u64> {
        Ok(table.len()?)
    }
}

impl MultiQuery for Stats {
    type Answer = TableStats;
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<TableStats> {
        Ok(TableStats::new(&table.stats()?))
    }
}

impl MultiQuery for Chunk<'_> {
    type Answer = Vec<Pair>;
    /// All values of a key stay together, so that the next chunk begins with another key.
    fn ask(self, table: &impl ReadableMultimapTable<AnyKey, AnyValue>) -> Outcome<Vec<Pair>> {
        let mut range = table.range::<&[u8]>(self.bounds.as_refs())?;
        let mut pairs = Vec::new();
        let mut bytes = 0;
        while pairs.len() < self.limit && bytes < CHUNK_BYTES {
            let Some(entry) = (if self.reverse { range.next_back() } else { range.next() }) else { break };
            let (key, mut values) = entry?;
            while let Some(value) = if self.reverse { values.next_back() } else { values.next() } {
                let pair = (key.value().to_vec(), value?.value().to_vec());
                bytes += pair.0.len() + pair.1.len();
                pairs.push(pair);
            }
        }
        Ok(pairs)
    }
}
