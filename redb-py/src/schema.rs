//! One Rust key type and one value type for all tables.
//!
//! redb asks a *type* for its width, name and order. Here the types are chosen at run time, so the two types
//! below ask the schema that the calling thread works with: every call into redb runs inside [`within`].
//! redb calls its types only from the thread that called it, and each call concerns one table.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use redb::{Key, TypeName, Value};

use crate::errors::{Class, Failure, Outcome};
use crate::kind::Kind;

#[derive(Debug)]
pub struct Schema {
    pub key: Kind,
    pub value: Kind,
    key_name: TypeName,
    value_name: TypeName,
}

type Known = Mutex<HashMap<(Kind, Kind), &'static Schema>>;
static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

thread_local! {
    static CURRENT: Cell<Option<&'static Schema>> = const { Cell::new(None) };
}

impl Schema {
    /// The one schema of this pair of types; it lives as long as the process, as types do.
    pub fn of(key: Kind, value: Kind) -> &'static Schema {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((key, value)).or_insert_with_key(|(key, value)| {
            let (key_name, value_name) = (key.type_name(), value.type_name());
            let (key, value) = (key.clone(), value.clone());
            Box::leak(Box::new(Schema { key, value, key_name, value_name }))
        })
    }

    fn current() -> &'static Schema {
        CURRENT.get().expect("a table is only touched within its schema")
    }
}

/// Runs `work` with `schema` as the meaning of [`AnyKey`] and [`AnyValue`] on this thread.
pub fn within<T>(schema: &'static Schema, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<&'static Schema>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _restore = Restore(CURRENT.replace(Some(schema)));
    work()
}

/// Whether a table that is open already is the one that is asked for.
pub fn same_table(
    open_multimap: bool,
    open_schema: &'static Schema,
    name: &str,
    multimap: bool,
    schema: &'static Schema,
) -> Outcome<()> {
    let class = match (open_multimap, multimap) {
        (true, false) => Class::TableIsMultimap,
        (false, true) => Class::TableIsNotMultimap,
        _ if std::ptr::eq(open_schema, schema) => return Ok(()),
        _ => Class::TableTypeMismatch,
    };
    Err(Failure::new(class, format!("the table {name:?} is open in this transaction with another definition")))
}

#[derive(Debug)]
pub struct AnyKey;

#[derive(Debug)]
pub struct AnyValue;

macro_rules! implement {
    ($type:ident, $kind:ident, $name:ident) => {
        impl Value for $type {
            type SelfType<'a> = &'a [u8];
            type AsBytes<'a> = &'a [u8];

            fn fixed_width() -> Option<usize> {
                Schema::current().$kind.width()
            }

            fn from_bytes<'a>(data: &'a [u8]) -> &'a [u8]
            where
                Self: 'a,
            {
                data
            }

            fn as_bytes<'a, 'b: 'a>(value: &'a &'b [u8]) -> &'a [u8]
            where
                Self: 'b,
            {
                value
            }

            fn type_name() -> TypeName {
                Schema::current().$name.clone()
            }
        }

        impl Key for $type {
            fn compare(left: &[u8], right: &[u8]) -> Ordering {
                Schema::current().$kind.compare(left, right)
            }

            fn separator<'a>(left: &'a [u8], right: &'a [u8]) -> Cow<'a, [u8]> {
                match Schema::current().$kind {
                    Kind::Bytes => <&[u8] as Key>::separator(left, right),
                    Kind::Str => <&str as Key>::separator(left, right),
                    _ => Cow::Borrowed(left),
                }
            }
        }
    };
}

implement!(AnyKey, key, key_name);
implement!(AnyValue, value, value_name);
