//! Python objects to encoded bytes and back.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString, PyTuple};

use crate::errors::{Class, Failure, Outcome};
use crate::kind::{Kind, MAX_TUPLE, TupleKind, encode_length};

/// Deep enough for any table, shallow enough for any stack.
const MAX_DEPTH: usize = 16;

/// Reads a type as a definition names it: `bytes`, `str`, `int`, `bool`, `None`, a name such as `"u32"`, or a
/// tuple of these.
pub fn parse_kind(spec: &Bound<'_, PyAny>) -> PyResult<Kind> {
    parse_nested(spec, 0)
}

fn parse_nested(spec: &Bound<'_, PyAny>, depth: usize) -> PyResult<Kind> {
    if let Ok(items) = spec.cast::<PyTuple>() {
        if items.is_empty() || items.len() > MAX_TUPLE || depth == MAX_DEPTH {
            let message = format!("a tuple type has 1 to {MAX_TUPLE} elements and at most {MAX_DEPTH} levels");
            return Err(Failure::new(Class::InvalidType, message).into());
        }
        let items = items.iter().map(|item| parse_nested(&item, depth + 1));
        return Ok(Kind::tuple(items.collect::<PyResult<_>>()?));
    }
    let name = match spec.cast::<PyString>() {
        Ok(name) => name.to_string(),
        Err(_) if spec.is_none() => "()".to_owned(),
        Err(_) => builtin_name(spec)?,
    };
    Kind::scalar(&name).ok_or_else(|| {
        let message = format!(
            "{name:?} is no type of redb; expected bytes, str, int, bool, None, one of u8 … u128 and i8 … i128 as a \
             string, or a tuple of these"
        );
        Failure::new(Class::InvalidType, message).into()
    })
}

fn builtin_name(spec: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = spec.py();
    let builtins = [
        (py.get_type::<PyBytes>(), "bytes"),
        (py.get_type::<PyString>(), "str"),
        (py.get_type::<PyInt>(), "int"),
        (py.get_type::<PyBool>(), "bool"),
    ];
    let found = builtins.iter().find(|(class, _)| spec.is(class));
    Ok(match found {
        Some((_, name)) => (*name).to_owned(),
        None => spec.repr()?.to_string(),
    })
}

pub fn encode(kind: &Kind, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut out = Vec::new();
    encode_into(kind, object, &mut out)?;
    Ok(out)
}

fn encode_into(kind: &Kind, object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    macro_rules! integer {
        ($T:ty) => {
            out.extend_from_slice(&extract_integer::<$T>(kind, object)?.to_le_bytes())
        };
    }
    match kind {
        Kind::Unit if object.is_none() => {}
        Kind::Unit => return Err(wrong_type(kind, object)),
        Kind::Bool => match object.cast::<PyBool>() {
            Ok(flag) => out.push(u8::from(flag.is_true())),
            Err(_) => return Err(wrong_type(kind, object)),
        },
        Kind::U8 => integer!(u8),
        Kind::U16 => integer!(u16),
        Kind::U32 => integer!(u32),
        Kind::U64 => integer!(u64),
        Kind::U128 => integer!(u128),
        Kind::I8 => integer!(i8),
        Kind::I16 => integer!(i16),
        Kind::I32 => integer!(i32),
        Kind::I64 => integer!(i64),
        Kind::I128 => integer!(i128),
        Kind::Bytes => encode_bytes(kind, object, out)?,
        Kind::Str => match object.cast::<PyString>() {
            Ok(text) => out.extend_from_slice(text.to_str().map_err(|_| not_unicode())?.as_bytes()),
            Err(_) => return Err(wrong_type(kind, object)),
        },
        Kind::Tuple(tuple) => encode_tuple(kind, tuple, object, out)?,
    }
    Ok(())
}

fn encode_bytes(kind: &Kind, object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        out.extend_from_slice(bytes.as_bytes());
        return Ok(());
    }
    let buffer = PyBuffer::<u8>::get(object).map_err(|_| wrong_type(kind, object))?;
    out.extend_from_slice(&buffer.to_vec(object.py())?);
    Ok(())
}

fn encode_tuple(kind: &Kind, tuple: &TupleKind, object: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<()> {
    let items = object.cast::<PyTuple>().map_err(|_| wrong_type(kind, object))?;
    if items.len() != tuple.items.len() {
        let message = format!("expected {} elements for {}, got {}", tuple.items.len(), name(kind), items.len());
        return Err(Failure::new(Class::InvalidType, message).into());
    }
    let mut body = Vec::new();
    let last = tuple.items.len() - 1;
    for (index, (item, object)) in tuple.items.iter().zip(items.iter()).enumerate() {
        let before = body.len();
        encode_into(item, &object, &mut body)?;
        let length = body.len() - before;
        if u32::try_from(length).is_err() {
            return Err(Failure::new(Class::ValueTooLarge, "an element of a tuple is larger than 4 GiB").into());
        }
        if index < last && item.width().is_none() {
            encode_length(length, out);
        }
    }
    out.extend_from_slice(&body);
    Ok(())
}

fn extract_integer<'a, 'py, T: FromPyObject<'a, 'py>>(kind: &Kind, object: &'a Bound<'py, PyAny>) -> PyResult<T> {
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(wrong_type(kind, object));
    }
    object.extract::<T>().map_err(|_| {
        let number = object.repr().map_or_else(|_| "the number".to_owned(), |text| text.to_string());
        Failure::new(Class::InvalidValue, format!("{number} does not fit into {}", name(kind))).into()
    })
}

fn wrong_type(kind: &Kind, object: &Bound<'_, PyAny>) -> PyErr {
    let given = object.get_type();
    let given = given.name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
    Failure::new(Class::InvalidType, format!("expected {}, got {given}", name(kind))).into()
}

fn not_unicode() -> PyErr {
    Failure::new(Class::InvalidValue, "a lone surrogate cannot be stored as str").into()
}

/// The type as a reader of Python knows it.
pub fn name(kind: &Kind) -> String {
    match kind {
        Kind::Unit => "None".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Str => "str".to_owned(),
        Kind::Tuple(tuple) => {
            let items: Vec<String> = tuple.items.iter().map(name).collect();
            let comma = if items.len() == 1 { "," } else { "" };
            format!("({}{comma})", items.join(", "))
        }
        number => number.type_name().name().to_owned(),
    }
}

pub fn decode<'py>(py: Python<'py>, kind: &Kind, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! integer {
        ($T:ty) => {
            <$T>::from_le_bytes(exact(kind, data)?).into_pyobject(py)?.into_any()
        };
    }
    Ok(match kind {
        Kind::Unit => py.None().into_bound(py),
        Kind::Bool => {
            let [byte] = exact(kind, data)?;
            PyBool::new(py, byte != 0).to_owned().into_any()
        }
        Kind::U8 => integer!(u8),
        Kind::U16 => integer!(u16),
        Kind::U32 => integer!(u32),
        Kind::U64 => integer!(u64),
        Kind::U128 => integer!(u128),
        Kind::I8 => integer!(i8),
        Kind::I16 => integer!(i16),
        Kind::I32 => integer!(i32),
        Kind::I64 => integer!(i64),
        Kind::I128 => integer!(i128),
        Kind::Bytes => PyBytes::new(py, data).into_any(),
        Kind::Str => PyString::new(py, std::str::from_utf8(data).map_err(|_| damaged(kind))?).into_any(),
        Kind::Tuple(tuple) => decode_tuple(py, kind, tuple, data)?,
    })
}

fn decode_tuple<'py>(py: Python<'py>, kind: &Kind, tuple: &TupleKind, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut items = Vec::with_capacity(tuple.items.len());
    for (item, data) in tuple.items.iter().zip(tuple.split(data).ok_or_else(|| damaged(kind))?) {
        items.push(decode(py, item, data)?);
    }
    Ok(PyTuple::new(py, items)?.into_any())
}

fn exact<const N: usize>(kind: &Kind, data: &[u8]) -> Outcome<[u8; N]> {
    data.try_into().map_err(|_| damaged(kind))
}

fn damaged(kind: &Kind) -> Failure {
    Failure::new(Class::Corrupted, format!("the file holds something else than {}", name(kind)))
}
