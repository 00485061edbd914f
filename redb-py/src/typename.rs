//! Names of tuple types, taken from redb itself: it keeps the constructor of its own type names private,
//! but builds the name of a tuple from its elements' names, and those may come from a placeholder.

use std::cell::RefCell;

use redb::{TypeName, Value};

thread_local! {
    static ELEMENTS: RefCell<Vec<(TypeName, Option<usize>)>> = const { RefCell::new(Vec::new()) };
}

/// Stands for the element at `I` of the tuple whose name is being built.
#[derive(Debug)]
struct Element<const I: usize>;

impl<const I: usize> Value for Element<I> {
    type SelfType<'a> = &'a [u8];
    type AsBytes<'a> = &'a [u8];

    fn fixed_width() -> Option<usize> {
        ELEMENTS.with_borrow(|elements| elements[I].1)
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
        ELEMENTS.with_borrow(|elements| elements[I].0.clone())
    }
}

macro_rules! name_of {
    ($count:expr; $($n:literal => $($i:literal)+),+) => {
        match $count {
            $($n => <($(Element<$i>,)+) as Value>::type_name(),)+
            count => unreachable!("a tuple of {count} elements is refused by the parser"),
        }
    };
}

pub fn tuple_name(elements: Vec<(TypeName, Option<usize>)>) -> TypeName {
    let count = elements.len();
    ELEMENTS.set(elements);
    name_of!(count;
        1 => 0,
        2 => 0 1,
        3 => 0 1 2,
        4 => 0 1 2 3,
        5 => 0 1 2 3 4,
        6 => 0 1 2 3 4 5,
        7 => 0 1 2 3 4 5 6,
        8 => 0 1 2 3 4 5 6 7,
        9 => 0 1 2 3 4 5 6 7 8,
        10 => 0 1 2 3 4 5 6 7 8 9,
        11 => 0 1 2 3 4 5 6 7 8 9 10,
        12 => 0 1 2 3 4 5 6 7 8 9 10 11
    )
}
