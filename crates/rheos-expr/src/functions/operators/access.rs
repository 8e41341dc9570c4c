//! Fields of rows, elements of arrays, values of maps.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::{nullif, take};
use arrow::datatypes::Int32Type;

use rheos_core::error::{Error, Result};
use rheos_core::schema::Field;
use rheos_core::types::TypeKind;

use super::super::comparison::{Comparison, compare};
use crate::build::is_implicitly_castable;
use crate::function::{Arg, Call, Signature, Value};
use crate::functions::kernel::{lists, maps, numbers, result, rows_to_compute, structs, texts};
use crate::functions::signature::count;

/// FIELD(row, position from 0), the position a constant.
pub(super) fn resolve_field(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let TypeKind::Row(fields) = args[0].kind() else {
        return Err(format!("{} has no fields", args[0].kind()));
    };
    let field = args[1].int().and_then(|i| fields.get(usize::try_from(i).ok()?)).ok_or("no such field")?;
    let nullable = field.ty.nullable || args[0].ty().nullable;
    Ok(Signature { args: vec![args[0].ty().clone(), args[1].ty().clone()], result: field.ty.clone().with_nullable(nullable) })
}

pub(super) fn field(call: &Call<'_>) -> Result<Value> {
    let index = numbers::<Int32Type>(call, 1)?.get(0).and_then(|i| usize::try_from(i).ok());
    field_at(call, index)
}

/// The field at a position from 0.
fn field_at(call: &Call<'_>, index: Option<usize>) -> Result<Value> {
    let (row, constant) = structs(call, 0)?;
    let field = index.and_then(|i| row.columns().get(i)).ok_or_else(|| Error::bug("a field that its row does not have"))?;
    let field = match row.nulls() {
        Some(nulls) if nulls.null_count() > 0 => nullif(field.as_ref(), &BooleanArray::new(!nulls.inner(), None))?,
        _ => field.clone(),
    };
    Ok(if constant { Value::Constant(field) } else { Value::Column(field) })
}

pub(super) fn resolve_item(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let (collection, index) = (args[0].ty(), args[1].ty());
    match &collection.kind {
        TypeKind::Array(element) => {
            if !index.kind.is_integer() && index.kind != TypeKind::Null {
                return Err(format!("the position in an ARRAY must be an integer, got {}", index.kind));
            }
            if args[1].int().is_some_and(|i| i < 1) {
                return Err("positions in an ARRAY start at 1".into());
            }
            let args = vec![collection.clone(), TypeKind::Int.with_nullable(index.nullable)];
            Ok(Signature { args, result: element.as_ref().clone().with_nullable(true) })
        }
        TypeKind::Map(key, value) => {
            let same_text = key.kind.is_character() && index.kind.is_character();
            if !same_text && !is_implicitly_castable(&index.kind, &key.kind) {
                return Err(format!("the keys of the MAP are {}, got {}", key.kind, index.kind));
            }
            let index = if same_text { index.clone() } else { key.kind.clone().with_nullable(index.nullable) };
            Ok(Signature { args: vec![collection.clone(), index], result: value.as_ref().clone().with_nullable(true) })
        }
        TypeKind::Row(fields) => {
            let place = match (args[1].text(), args[1].int()) {
                (Some(name), _) => named(fields, name),
                (_, Some(position)) => position.checked_sub(1).and_then(|i| usize::try_from(i).ok()),
                _ => return Err("the field of a ROW must be a constant, its name or its position from 1".into()),
            };
            let field = place.and_then(|i| fields.get(i)).ok_or_else(|| {
                let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                format!("no such field in the ROW; it has {}", names.join(", "))
            })?;
            let index = if index.kind.is_integer() { TypeKind::Int.not_null() } else { index.clone() };
            let result = field.ty.clone().with_nullable(field.ty.nullable || collection.nullable);
            Ok(Signature { args: vec![collection.clone(), index], result })
        }
        other => Err(format!("{other} has no elements")),
    }
}

fn named(fields: &[Field], name: &str) -> Option<usize> {
    fields.iter().position(|f| f.name == name)
}

pub(super) fn item(call: &Call<'_>) -> Result<Value> {
    match &call.arg_types[0].kind {
        TypeKind::Array(_) => element(call),
        TypeKind::Row(fields) if call.arg_types[1].kind.is_character() => {
            field_at(call, texts(call, 1)?.get(0).and_then(|name| named(fields, name)))
        }
        TypeKind::Row(_) => {
            let position = numbers::<Int32Type>(call, 1)?.get(0);
            field_at(call, position.and_then(|p| usize::try_from(p - 1).ok()))
        }
        _ => value_of_key(call),
    }
}

/// The element at a position from 1, NULL beyond the ends.
fn element(call: &Call<'_>) -> Result<Value> {
    let (list, positions) = (lists(call, 0)?, numbers::<Int32Type>(call, 1)?);
    let (array, constant) = (list.array(), call.args[0].is_constant());
    let offsets = array.value_offsets();
    let places: UInt32Array = (0..rows_to_compute(call))
        .map(|row| {
            let of_row = if constant { 0 } else { row };
            let (start, end) = (offsets[of_row], offsets[of_row + 1]);
            let position = positions.get(row)?;
            let found = array.is_valid(of_row) && position >= 1 && position <= end - start;
            found.then(|| (start + position - 1) as u32)
        })
        .collect();
    Ok(result(call, take(array.values(), &places, None)?))
}

/// The value of the first entry whose key is equal.
fn value_of_key(call: &Call<'_>) -> Result<Value> {
    let map = maps(call, 0)?;
    let (array, constant) = (map.array(), call.args[0].is_constant());
    let offsets = array.value_offsets();
    let rows = rows_to_compute(call);
    let keys: ArrayRef = array.keys().clone();
    // A constant key is compared with all keys at once; others are laid out beside the keys of their rows first.
    let wanted = match &call.args[1] {
        key @ Value::Constant(_) => key.clone(),
        Value::Column(wanted) if !constant => {
            let mut owners = vec![None; keys.len()];
            for row in 0..rows {
                owners[offsets[row] as usize..offsets[row + 1] as usize].fill(Some(row as u32));
            }
            Value::Column(take(wanted, &UInt32Array::from(owners), None)?)
        }
        Value::Column(wanted) => return of_constant_map(call, &keys, wanted),
    };
    let args = [Value::Column(keys), wanted];
    let equal = compare(Comparison::Equal, &Call { args: &args, ..*call })?.into_column(args[0].array().len())?;
    let equal = equal.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
    let hit = |i: &i32| equal.is_valid(*i as usize) && equal.value(*i as usize);
    let places: UInt32Array = (0..rows)
        .map(|row| if array.is_valid(row) { (offsets[row]..offsets[row + 1]).find(hit).map(|i| i as u32) } else { None })
        .collect();
    Ok(result(call, take(array.values(), &places, None)?))
}

/// One map for all rows, a key for each: the map is searched for each of its keys among the wanted ones.
fn of_constant_map(call: &Call<'_>, keys: &ArrayRef, wanted: &ArrayRef) -> Result<Value> {
    let map = maps(call, 0)?;
    let (start, end) = match map.array().is_valid(0) {
        true => (map.array().value_offsets()[0] as usize, map.array().value_offsets()[1] as usize),
        false => (0, 0),
    };
    let mut places: Vec<Option<u32>> = vec![None; wanted.len()];
    for i in (start..end).rev() {
        let args = [Value::Column(wanted.clone()), Value::Constant(keys.slice(i, 1))];
        let equal = compare(Comparison::Equal, &Call { args: &args, ..*call })?.into_column(wanted.len())?;
        let equal = equal.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
        equal.iter().enumerate().filter(|(_, hit)| *hit == Some(true)).for_each(|(row, _)| places[row] = Some(i as u32));
    }
    Ok(result(call, take(map.array().values(), &UInt32Array::from(places), None)?))
}
