//! The types a key or a value can have, in redb's own encoding, so that Rust programs read the same files.

use std::cmp::Ordering;

use redb::{Key, TypeName, Value};

use crate::typename::tuple_name;

/// redb implements its traits for tuples of up to twelve elements.
pub const MAX_TUPLE: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Unit,
    Bool,
    U8,
    U16,
    U32,
    U64,
    U128,
    I8,
    I16,
    I32,
    I64,
    I128,
    Bytes,
    Str,
    Tuple(Box<TupleKind>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleKind {
    pub items: Vec<Kind>,
    /// The width of the whole when every element has a fixed one.
    pub width: Option<usize>,
}

/// Runs `$body` with `$T` as the native type of a scalar kind.
macro_rules! with_native {
    ($kind:expr, $T:ident => $body:expr, tuple $t:ident => $tuple:expr) => {
        match $kind {
            Kind::Unit => {
                type $T = ();
                $body
            }
            Kind::Bool => {
                type $T = bool;
                $body
            }
            Kind::U8 => {
                type $T = u8;
                $body
            }
            Kind::U16 => {
                type $T = u16;
                $body
            }
            Kind::U32 => {
                type $T = u32;
                $body
            }
            Kind::U64 => {
                type $T = u64;
                $body
            }
            Kind::U128 => {
                type $T = u128;
                $body
            }
            Kind::I8 => {
                type $T = i8;
                $body
            }
            Kind::I16 => {
                type $T = i16;
                $body
            }
            Kind::I32 => {
                type $T = i32;
                $body
            }
            Kind::I64 => {
                type $T = i64;
                $body
            }
            Kind::I128 => {
                type $T = i128;
                $body
            }
            Kind::Bytes => {
                type $T = &'static [u8];
                $body
            }
            Kind::Str => {
                type $T = &'static str;
                $body
            }
            Kind::Tuple($t) => $tuple,
        }
    };
}

impl Kind {
    pub fn tuple(items: Vec<Kind>) -> Kind {
        let width = items.iter().map(Kind::width).sum();
        Kind::Tuple(Box::new(TupleKind { items, width }))
    }

    pub fn scalar(name: &str) -> Option<Kind> {
        Some(match name {
            "()" => Kind::Unit,
            "bool" => Kind::Bool,
            "u8" => Kind::U8,
            "u16" => Kind::U16,
            "u32" => Kind::U32,
            "u64" => Kind::U64,
            "u128" => Kind::U128,
            "i8" => Kind::I8,
            "i16" => Kind::I16,
            "i32" => Kind::I32,
            "i64" | "int" => Kind::I64,
            "i128" => Kind::I128,
            "bytes" | "&[u8]" => Kind::Bytes,
            "str" | "&str" => Kind::Str,
            _ => return None,
        })
    }

    /// Bytes of every encoded value, or `None` where they differ in length.
    pub fn width(&self) -> Option<usize> {
        with_native!(self, T => <T as Value>::fixed_width(), tuple t => t.width)
    }

    /// The name redb stores with the table.
    pub fn type_name(&self) -> TypeName {
        with_native!(self, T => <T as Value>::type_name(), tuple t => {
            tuple_name(t.items.iter().map(|item| (item.type_name(), item.width())).collect())
        })
    }

    pub fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        with_native!(self, T => <T as Key>::compare(left, right), tuple t => t.compare(left, right))
    }
}

impl TupleKind {
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        let damaged = "a stored tuple is damaged";
        let (left, right) = (self.split(left).expect(damaged), self.split(right).expect(damaged));
        let pairs = self.items.iter().zip(left.zip(right));
        pairs
            .map(|(item, (left, right))| item.compare(left, right))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// The encoded elements, or `None` when the encoding is damaged.
    pub fn split<'a>(&self, data: &'a [u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
        let last = self.items.len() - 1;
        let mut lengths = [0; MAX_TUPLE];
        let mut body = data;
        for (length, item) in lengths.iter_mut().zip(&self.items[..last]) {
            *length = match item.width() {
                Some(width) => width,
                None => decode_length(&mut body)?,
            };
        }
        lengths[last] = body.len().checked_sub(lengths[..last].iter().sum())?;
        Some(lengths.into_iter().take(last + 1).map(move |length| {
            let (element, rest) = body.split_at(length);
            body = rest;
            element
        }))
    }
}

/// redb's variable-length encoding of a length: one byte, or a marker and two or four bytes.
pub fn encode_length(length: usize, out: &mut Vec<u8>) {
    if length < 254 {
        out.push(length as u8);
    } else if let Ok(short) = u16::try_from(length) {
        out.push(254);
        out.extend_from_slice(&short.to_le_bytes());
    } else {
        out.push(255);
        out.extend_from_slice(&(length as u32).to_le_bytes());
    }
}

/// Takes a length off the front of `data`.
fn decode_length(data: &mut &[u8]) -> Option<usize> {
    Some(match data.split_off_first()? {
        254 => usize::from(u16::from_le_bytes(*data.split_off(..2)?.first_chunk()?)),
        255 => u32::from_le_bytes(*data.split_off(..4)?.first_chunk()?) as usize,
        &short => usize::from(short),
    })
}
