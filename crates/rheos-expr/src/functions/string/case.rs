//! Letters: their number, their case, their order.

use std::sync::Arc;

use arrow::array::{Array, Int32Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{collect, result, texts, write_texts};

/// The bytes of the values, without what a slice leaves out.
fn value_bytes(array: &StringArray) -> &[u8] {
    let offsets = array.value_offsets();
    &array.value_data()[offsets[0] as usize..offsets[array.len()] as usize]
}

pub(super) fn char_length(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    let array = text.array();
    if value_bytes(array).is_ascii() {
        let lengths: ScalarBuffer<i32> = array.value_offsets().windows(2).map(|w| w[1] - w[0]).collect();
        return Ok(result(call, Arc::new(Int32Array::new(lengths, array.nulls().cloned()))));
    }
    collect::<Int32Array, _>(call, |row| Some(text.get(row)?.chars().count() as i32))
}

pub(super) fn lower(call: &Call<'_>) -> Result<Value> {
    change_case(call, <[u8]>::make_ascii_lowercase, str::to_lowercase)
}

pub(super) fn upper(call: &Call<'_>) -> Result<Value> {
    change_case(call, <[u8]>::make_ascii_uppercase, str::to_uppercase)
}

/// ASCII keeps its length, so a whole column changes at once; in a mixed one each row is looked at.
fn change_case(call: &Call<'_>, ascii: fn(&mut [u8]), unicode: fn(&str) -> String) -> Result<Value> {
    let array = texts(call, 0)?.array();
    let bytes = value_bytes(array);
    if !bytes.is_ascii() {
        return write_texts(call, |row, out| {
            let text = if array.is_null(row) { return None } else { array.value(row) };
            out.push_str(&unicode(text));
            Some(())
        });
    }
    let mut changed = bytes.to_vec();
    ascii(&mut changed);
    let offsets = array.value_offsets();
    let offsets = match offsets[0] {
        0 => array.offsets().clone(),
        first => OffsetBuffer::new(offsets.iter().map(|o| o - first).collect()),
    };
    Ok(result(call, Arc::new(StringArray::try_new(offsets, Buffer::from_vec(changed), array.nulls().cloned())?)))
}

/// Words are runs of ASCII letters and digits, as in Flink.
pub(super) fn initcap(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        let mut inside = false;
        for c in text.get(row)?.chars() {
            out.push(if inside { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() });
            inside = c.is_ascii_alphanumeric();
        }
        Some(())
    })
}

pub(super) fn reverse(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        out.extend(text.get(row)?.chars().rev());
        Some(())
    })
}
