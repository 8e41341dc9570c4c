//! Operators that build and take apart values: concatenation, constructors, element and field access.

mod access;
mod construct;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{BinaryArray, StringBuilder};

use rheos_core::error::Result;
use rheos_core::types::TypeKind;

use super::kernel::{bytes, collect, result, rows_to_compute, texts};
use super::signature::{any_nullable, count};
use crate::build::added_length;
use crate::function::{Arg, Call, Function, Signature, Value};

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("||", "a || b", resolve_concatenation, concatenate).cheap(),
    Function::new("ROW", "ROW(value, ...)", construct::resolve_row, construct::row).cheap(),
    Function::new("ARRAY", "ARRAY[element, ...]", construct::resolve_array, construct::array),
    Function::new("MAP", "MAP[key, value, ...]", construct::resolve_map, construct::map),
    Function::new("FIELD", "row.field", access::resolve_field, access::field).cheap(),
    Function::new("ITEM", "array[position], map[key] or row['field']", access::resolve_item, access::item),
];

fn resolve_concatenation(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let joined = match (args[0].kind(), args[1].kind()) {
        (TypeKind::Null, TypeKind::Null) => TypeKind::STRING,
        (TypeKind::Null, other) | (other, TypeKind::Null) if other.is_character() || other.is_binary() => other.clone(),
        (TypeKind::Char(n), TypeKind::Char(m)) => TypeKind::Char(added_length(*n, *m)),
        (TypeKind::Char(n) | TypeKind::Varchar(n), TypeKind::Char(m) | TypeKind::Varchar(m)) => TypeKind::Varchar(added_length(*n, *m)),
        (TypeKind::Binary(n), TypeKind::Binary(m)) => TypeKind::Binary(added_length(*n, *m)),
        (TypeKind::Binary(n) | TypeKind::Varbinary(n), TypeKind::Binary(m) | TypeKind::Varbinary(m)) => {
            TypeKind::Varbinary(added_length(*n, *m))
        }
        (a, b) => return Err(format!("joins texts or bytes, got {a} and {b}; cast what is neither to STRING")),
    };
    let side = |arg: &Arg<'_>| if *arg.kind() == TypeKind::Null { joined.clone().nullable() } else { arg.ty().clone() };
    let args: Vec<_> = args.iter().map(side).collect();
    let nullable = any_nullable(&args);
    Ok(Signature { args, result: joined.with_nullable(nullable) })
}

fn concatenate(call: &Call<'_>) -> Result<Value> {
    if call.result.kind.is_binary() {
        let (a, b) = (bytes(call, 0)?, bytes(call, 1)?);
        return collect::<BinaryArray, _>(call, |row| Some([a.get(row)?, b.get(row)?].concat()));
    }
    let (a, b) = (texts(call, 0)?, texts(call, 1)?);
    let rows = rows_to_compute(call);
    let size = |value: &Value, bytes: usize| if value.is_constant() { bytes * rows } else { bytes };
    let capacity = size(&call.args[0], a.array().value_data().len()) + size(&call.args[1], b.array().value_data().len());
    let mut joined = StringBuilder::with_capacity(rows, capacity);
    for row in 0..rows {
        match a.get(row).zip(b.get(row)) {
            Some((a, b)) => {
                // Writing to a builder of texts never fails, and what is written belongs to the next value.
                let _ = joined.write_str(a);
                joined.append_value(b);
            }
            None => joined.append_null(),
        }
    }
    Ok(result(call, Arc::new(joined.finish())))
}
