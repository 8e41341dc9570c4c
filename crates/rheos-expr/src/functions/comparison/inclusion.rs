//! IN with a list: true where an element equals the value, NULL where none does but one is NULL, else false.

use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::kernels::boolean::or_kleene;
use arrow::datatypes::{DataType, Int8Type, Int16Type, Int32Type, Int64Type};
use hashbrown::HashSet;

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::{Comparison, as_compared, comparable, compare};
use crate::expr::{EvalConfig, Expr, Literal};
use crate::function::{Arg, Call, Prepared, Signature, Value};
use crate::functions::kernel::{numbers, rows_to_compute, texts};
use crate::functions::signature::{any_nullable, count};
use crate::program::literal::array_of;

/// Up to this many elements are compared one after the other, which is faster than hashing.
const FEW: usize = 8;

pub(super) fn resolve(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, usize::MAX)?;
    let mut common = args[0].ty().clone();
    for arg in &args[1..] {
        let Some(kind) = comparable(&common, arg.ty()) else {
            return Err(format!("{} and {} cannot be compared", args[0].kind(), arg.kind()));
        };
        common = kind.with_nullable(true);
    }
    let args: Vec<LogicalType> = args.iter().map(|arg| as_compared(arg.ty(), &common.kind)).collect();
    let nullable = any_nullable(&args);
    Ok(Signature { args, result: TypeKind::Boolean.with_nullable(nullable) })
}

/// The set of the constants, where all elements are.
pub(super) fn prepare(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some((value, elements)) = args.split_first() else { return Ok(None) };
    let Some(literals) = elements.iter().map(Expr::literal).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let has_null = literals.iter().any(|l| **l == Literal::Null);
    let arrays = elements.iter().zip(&literals).filter(|(_, l)| ***l != Literal::Null);
    let arrays = arrays.map(|(e, l)| array_of(l, e.ty())).collect::<Result<Vec<_>>>()?;
    Ok(match value.ty().to_arrow() {
        DataType::Int8 => Some(integers::<Int8Type>(&arrays, has_null)),
        DataType::Int16 => Some(integers::<Int16Type>(&arrays, has_null)),
        DataType::Int32 => Some(integers::<Int32Type>(&arrays, has_null)),
        DataType::Int64 => Some(integers::<Int64Type>(&arrays, has_null)),
        DataType::Utf8 => Some(strings(&arrays, has_null)),
        _ => None,
    })
}

fn integers<T: ArrowPrimitiveType<Native: Hash + Eq>>(arrays: &[ArrayRef], has_null: bool) -> Prepared {
    let list: Vec<T::Native> = arrays.iter().filter_map(|a| a.as_primitive_opt::<T>()).map(|a| a.value(0)).collect();
    let set: HashSet<T::Native, foldhash::fast::RandomState> = list.iter().copied().collect();
    Box::new(move |call: &Call<'_>| {
        let array = numbers::<T>(call, 0)?.array();
        let values = array.values();
        let hits = if list.len() <= FEW {
            BooleanBuffer::collect_bool(array.len(), |i| list.iter().fold(false, |hit, element| hit | (*element == values[i])))
        } else {
            BooleanBuffer::collect_bool(array.len(), |i| set.contains(&values[i]))
        };
        Ok(found(call, hits, array.nulls(), has_null))
    })
}

fn strings(arrays: &[ArrayRef], has_null: bool) -> Prepared {
    let list: Vec<Box<str>> = arrays.iter().filter_map(|a| a.as_string_opt::<i32>()).map(|a| Box::from(a.value(0))).collect();
    let set: HashSet<Box<str>, foldhash::fast::RandomState> = list.iter().cloned().collect();
    Box::new(move |call: &Call<'_>| {
        let array = texts(call, 0)?.array();
        let hits = if list.len() <= FEW {
            BooleanBuffer::collect_bool(array.len(), |i| {
                let value = array.value(i);
                list.iter().any(|element| **element == *value)
            })
        } else {
            BooleanBuffer::collect_bool(array.len(), |i| set.contains(array.value(i)))
        };
        Ok(found(call, hits, array.nulls(), has_null))
    })
}

/// NULL where the value is, and, if an element is NULL, where no other is equal.
fn found(call: &Call<'_>, hits: BooleanBuffer, nulls: Option<&NullBuffer>, has_null: bool) -> Value {
    let nulls = if has_null { NullBuffer::union(nulls, Some(&NullBuffer::new(hits.clone()))) } else { nulls.cloned() };
    // Only the value decides whether the result is the same for all rows: the list is constant.
    let array: ArrayRef = Arc::new(BooleanArray::new(hits, nulls));
    if call.args[0].is_constant() { Value::Constant(array) } else { Value::Column(array) }
}

/// Without preparation: equal to the first element, or to the second, and so on.
pub(super) fn eval(call: &Call<'_>) -> Result<Value> {
    let (rows, mut result) = (rows_to_compute(call), None::<BooleanArray>);
    for i in 1..call.args.len() {
        let args = [call.args[0].clone(), call.args[i].clone()];
        let types = [call.arg_types[0].clone(), call.arg_types[i].clone()];
        let equal = compare(Comparison::Equal, &Call { args: &args, arg_types: &types, ..*call })?.into_column(rows)?;
        let equal = equal.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
        result = Some(match result {
            Some(before) => or_kleene(&before, equal)?,
            None => equal.clone(),
        });
    }
    let result = result.ok_or_else(|| Error::bug("IN without a list"))?;
    Ok(crate::functions::kernel::result(call, Arc::new(result)))
}
