//! Pairs of a key and a value: as redb stores them, and the way from Python and back.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use redb::AccessGuard;

use crate::convert::{decode, encode};
use crate::errors::{Class, Failure};
use crate::schema::{AnyKey, AnyValue, Schema};

/// Pairs that are handed to redb, or asked about, at a time; fewer when they are large.
pub const BATCH: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// An encoded key and an encoded value.
pub type Pair = (Vec<u8>, Vec<u8>);

pub fn copy((key, value): (AccessGuard<'_, AnyKey>, AccessGuard<'_, AnyValue>)) -> Pair {
    (key.value().to_vec(), value.value().to_vec())
}

pub fn decode_pair<'py>(py: Python<'py>, schema: &Schema, (key, value): &Pair) -> PyResult<Bound<'py, PyTuple>> {
    (decode(py, &schema.key, key)?, decode(py, &schema.value, value)?).into_pyobject(py)
}

fn encode_pair(schema: &Schema, pair: &Bound<'_, PyAny>) -> PyResult<Pair> {
    let Ok((key, value)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
        return Err(Failure::new(Class::InvalidType, "expected pairs of a key and a value").into());
    };
    Ok((encode(&schema.key, &key)?, encode(&schema.value, &value)?))
}

/// Takes what an iterable has in batches, the last of which may be empty; returns how many pairs there were.
pub fn in_batches(
    schema: &Schema,
    pairs: &Bound<'_, PyAny>,
    mut take: impl FnMut(&[Pair]) -> PyResult<()>,
) -> PyResult<usize> {
    let (mut batch, mut bytes, mut count) = (Vec::new(), 0, 0);
    for pair in pairs.try_iter()? {
        let pair = encode_pair(schema, &pair?)?;
        bytes += pair.0.len() + pair.1.len();
        batch.push(pair);
        count += 1;
        if batch.len() == BATCH || bytes > BATCH_BYTES {
            take(&batch)?;
            batch.clear();
            bytes = 0;
        }
    }
    take(&batch)?;
    Ok(count)
}
