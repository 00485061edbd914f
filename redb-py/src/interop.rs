//! Files are the same as those of a Rust program: each side reads the other's tables.

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};

use crate::kind::Kind;
use crate::schema::{AnyKey, AnyValue, Schema, within};

type NativeKey = (&'static [u8], u32, &'static str);
const NATIVE: TableDefinition<NativeKey, (i64, bool)> = TableDefinition::new("t");
const ANY: TableDefinition<AnyKey, AnyValue> = TableDefinition::new("t");

fn schema() -> &'static Schema {
    let key = Kind::tuple(vec![Kind::Bytes, Kind::U32, Kind::Str]);
    Schema::of(key, Kind::tuple(vec![Kind::I64, Kind::Bool]))
}

fn in_memory() -> Database {
    Database::builder().create_with_backend(redb::backends::InMemoryBackend::new()).unwrap()
}

/// In ascending order.
fn keys() -> Vec<(Vec<u8>, u32, String)> {
    let long = vec![7_u8; 300];
    let mut keys = Vec::new();
    for bytes in [b"".as_slice(), &long, b"a", b"ab", b"\xff"] {
        for number in [0, 255, 256, u32::MAX] {
            for text in ["", "zz", "é"] {
                keys.push((bytes.to_vec(), number, text.to_owned()));
            }
        }
    }
    keys
}

fn encoded(key: &(Vec<u8>, u32, String)) -> Vec<u8> {
    <NativeKey as redb::Value>::as_bytes(&(key.0.as_slice(), key.1, key.2.as_str()))
}

#[test]
fn reads_in_order_what_a_rust_program_wrote() {
    let database = in_memory();
    let transaction = database.begin_write().unwrap();
    {
        let mut table = transaction.open_table(NATIVE).unwrap();
        for (number, key) in keys().iter().rev().enumerate() {
            table.insert((key.0.as_slice(), key.1, key.2.as_str()), (-(number as i64), true)).unwrap();
        }
    }
    transaction.commit().unwrap();

    let transaction = database.begin_read().unwrap();
    within(schema(), || {
        let table = transaction.open_table(ANY).unwrap();
        let found: Vec<Vec<u8>> = table.iter().unwrap().map(|entry| entry.unwrap().0.value().to_vec()).collect();
        assert_eq!(found, keys().iter().map(encoded).collect::<Vec<_>>());
        let last = table.get(encoded(&keys()[0]).as_slice()).unwrap().unwrap();
        assert_eq!(last.value(), <(i64, bool) as redb::Value>::as_bytes(&(-59, true)));
    });
}

#[test]
fn writes_what_a_rust_program_reads() {
    let database = in_memory();
    let transaction = database.begin_write().unwrap();
    within(schema(), || {
        let mut table = transaction.open_table(ANY).unwrap();
        for key in keys().iter().rev() {
            let value = <(i64, bool) as redb::Value>::as_bytes(&(i64::from(key.1), false));
            table.insert(encoded(key).as_slice(), value.as_slice()).unwrap();
        }
    });
    transaction.commit().unwrap();

    let table = database.begin_read().unwrap().open_table(NATIVE).unwrap();
    assert_eq!(table.len().unwrap(), 60);
    for key in keys() {
        let value = table.get((key.0.as_slice(), key.1, key.2.as_str())).unwrap().unwrap();
        assert_eq!(value.value(), (i64::from(key.1), false));
    }
}

#[test]
fn refuses_a_table_of_other_types() {
    let database = in_memory();
    let transaction = database.begin_write().unwrap();
    drop(transaction.open_table(NATIVE).unwrap());
    let other = Schema::of(Kind::tuple(vec![Kind::Bytes, Kind::U32]), Kind::Bytes);
    let result = within(other, || transaction.open_table(ANY).map(|_| ()));
    assert!(matches!(result, Err(redb::TableError::TableTypeMismatch { .. })));
}
