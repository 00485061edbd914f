//! The two ends of a range of keys.

use std::cmp::Ordering;
use std::ops::Bound;

use pyo3::{PyAny, PyResult};

use crate::convert::encode;
use crate::errors::{Class, Failure, Outcome};
use crate::schema::Schema;

#[derive(Clone)]
pub struct Bounds {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl Bounds {
    /// `None` leaves an end open.
    pub fn new(
        schema: &Schema,
        start: Option<&pyo3::Bound<'_, PyAny>>,
        end: Option<&pyo3::Bound<'_, PyAny>>,
        include_start: bool,
        include_end: bool,
    ) -> PyResult<Bounds> {
        Ok(Bounds { lower: one_end(schema, start, include_start)?, upper: one_end(schema, end, include_end)? })
    }

    pub fn as_refs(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }

    /// Whether no key can lie between the ends; redb is not asked about those.
    pub fn is_empty(&self, schema: &Schema) -> bool {
        use Bound::{Excluded, Included};
        let (Included(lower) | Excluded(lower)) = &self.lower else { return false };
        let (Included(upper) | Excluded(upper)) = &self.upper else { return false };
        let both_included = matches!((&self.lower, &self.upper), (Included(_), Included(_)));
        match schema.key.compare(lower, upper) {
            Ordering::Less => false,
            Ordering::Equal => !both_included,
            Ordering::Greater => true,
        }
    }

    fn near_end(&mut self, reverse: bool) -> &mut Bound<Vec<u8>> {
        if reverse { &mut self.upper } else { &mut self.lower }
    }

    /// Leaves out everything up to `key`, seen in the direction of travel. In a damaged table `key` may lie
    /// behind; to go on from there could go on for ever.
    pub fn advance(&mut self, schema: &Schema, key: &[u8], reverse: bool) -> Outcome<()> {
        let end = self.near_end(reverse);
        let moved = |old: &[u8]| {
            let ordering = schema.key.compare(key, old);
            if reverse { ordering.reverse() } else { ordering }
        };
        let ahead = match end {
            Bound::Unbounded => true,
            Bound::Included(old) => moved(old).is_ge(),
            Bound::Excluded(old) => moved(old).is_gt(),
        };
        if !ahead {
            return Err(Failure::new(Class::Corrupted, "the keys of the table are out of order"));
        }
        *end = Bound::Excluded(key.to_vec());
        Ok(())
    }

    /// Goes back to `key`.
    pub fn return_to(&mut self, key: &[u8], reverse: bool, included: bool) {
        let key = key.to_vec();
        *self.near_end(reverse) = if included { Bound::Included(key) } else { Bound::Excluded(key) };
    }
}

fn one_end(schema: &Schema, key: Option<&pyo3::Bound<'_, PyAny>>, include: bool) -> PyResult<Bound<Vec<u8>>> {
    Ok(match key {
        None => Bound::Unbounded,
        Some(key) if include => Bound::Included(encode(&schema.key, key)?),
        Some(key) => Bound::Excluded(encode(&schema.key, key)?),
    })
}
