//! Choices between values.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{nullif, prep_null_mask_filter};

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::cast;
use super::comparison::{Comparison, comparable, compare};
use super::kernel::{result, rows_to_compute, select};
use super::signature::{Param, accept, count};
use crate::build::common_type;
use crate::function::{Arg, Call, Function, Signature, Value};

/// What this family has. Programs evaluate IF, COALESCE and IFNULL as CASE.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("COALESCE", "COALESCE(value, otherwise, ...)", resolve_coalesce, as_case),
    Function::new("IFNULL", "IFNULL(value, otherwise)", resolve_ifnull, as_case),
    Function::new("IF", "IF(condition, then, otherwise)", resolve_if, as_case),
    Function::new("NULLIF", "NULLIF(value, null_if_equal)", resolve_nullif, eval_nullif).cheap(),
    Function::new("GREATEST", "GREATEST(value, ...)", resolve_extreme, |call| extreme(call, Comparison::Greater)).cheap(),
    Function::new("LEAST", "LEAST(value, ...)", resolve_extreme, |call| extreme(call, Comparison::Less)).cheap(),
];

fn as_case(_: &Call<'_>) -> Result<Value> {
    Err(Error::bug("a conditional that was not turned into CASE"))
}

fn common(args: &[Arg<'_>]) -> Result<LogicalType, String> {
    let types: Vec<LogicalType> = args.iter().map(|a| a.ty().clone()).collect();
    common_type(&types).ok_or_else(|| {
        let kinds = types.iter().map(|t| t.kind.to_string()).collect::<Vec<_>>();
        format!("the arguments have no common type: {}", kinds.join(", "))
    })
}

fn resolve_coalesce(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let ty = common(args)?;
    let all_nullable = args.iter().all(|a| a.ty().nullable);
    let types = args.iter().map(|a| ty.clone().with_nullable(a.ty().nullable)).collect();
    Ok(Signature { args: types, result: ty.with_nullable(all_nullable) })
}

fn resolve_ifnull(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    resolve_coalesce(args)
}

fn resolve_if(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 3, 3)?;
    let condition = accept(0, &args[0], &Param::Kind(TypeKind::Boolean))?;
    let mut ty = common(&args[1..])?;
    let parts = args[1..].iter().map(|a| ty.clone().with_nullable(a.ty().nullable));
    let types = std::iter::once(condition.clone()).chain(parts).collect();
    ty.nullable |= condition.nullable;
    Ok(Signature { args: types, result: ty })
}

fn resolve_nullif(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let (a, b) = (args[0].ty(), args[1].ty());
    let kind = comparable(a, b).ok_or_else(|| format!("{} and {} cannot be compared", a.kind, b.kind))?;
    let as_it_is = |ty: &LogicalType| ty.kind.is_character() && kind.is_character();
    let side = |ty: &LogicalType| if as_it_is(ty) { ty.clone() } else { kind.clone().with_nullable(ty.nullable) };
    Ok(Signature { args: vec![side(a), side(b)], result: a.clone().with_nullable(true) })
}

/// The first value, as it was before it was made comparable with the second.
fn eval_nullif(call: &Call<'_>) -> Result<Value> {
    let rows = rows_to_compute(call);
    let equal = compare(Comparison::Equal, call)?.into_column(rows)?;
    let equal = equal.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
    let kept = nullif(call.args[0].clone().into_column(rows)?.as_ref(), equal)?;
    let kept = match call.arg_types[0].kind == call.result.kind {
        true => kept,
        false => (cast::conversion(&call.arg_types[0], call.result, false, call.config)?.apply)(&kept)?,
    };
    Ok(result(call, kept))
}

fn resolve_extreme(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let ty = common(args)?;
    if ty.kind.is_nested() {
        return Err(format!("values of {} have no order", ty.kind));
    }
    Ok(Signature { args: args.iter().map(|a| ty.clone().with_nullable(a.ty().nullable)).collect(), result: ty })
}

/// The greatest or least of all arguments; NULL if one of them is.
fn extreme(call: &Call<'_>, better: Comparison) -> Result<Value> {
    let rows = rows_to_compute(call);
    let Some((first, rest)) = call.args.split_first() else {
        return Err(Error::bug("the greatest of nothing"));
    };
    let mut best = first.clone();
    let mut nulls: Option<NullBuffer> = None;
    for arg in call.args {
        if arg.is_constant() && arg.array().is_null(0) {
            return Ok(Value::Constant(new_null_array(&call.result.to_arrow(), 1)));
        }
        nulls = NullBuffer::union(nulls.as_ref(), if arg.is_constant() { None } else { arg.array().nulls() });
    }
    for arg in rest {
        let args = [arg.clone(), best.clone()];
        let is_better = compare(better, &Call { args: &args, ..*call })?.into_column(rows)?;
        let mask = is_better.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
        let mask = if mask.null_count() > 0 { &prep_null_mask_filter(mask) } else { mask };
        let chosen = select(mask, arg, &best)?;
        best = if args.iter().all(Value::is_constant) { Value::Constant(chosen) } else { Value::Column(chosen) };
    }
    let best = best.into_column(rows)?;
    Ok(result(
        call,
        match nulls {
            Some(nulls) => nullif(best.as_ref(), &BooleanArray::new(!nulls.inner(), None))?,
            None => Arc::clone(&best),
        },
    ))
}
