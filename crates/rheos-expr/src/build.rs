//! Builds typed expressions: calls are resolved, arguments cast, types derived, constants folded.
//!
//! Every error is a lower-case text that says what is wrong and what would be right; who calls knows the place in the query.

mod coercion;
mod fold;
mod literal;

use rheos_core::types::{LogicalType, TypeKind};

pub(crate) use coercion::added_length;
pub use coercion::{common_type, is_implicitly_castable, same_kind};
pub use literal::{
    literal_bigint, literal_bool, literal_bytes, literal_date, literal_decimal, literal_double, literal_int, literal_interval_months,
    literal_interval_ms, literal_null, literal_number, literal_text, literal_time, literal_timestamp, typed_null,
};

use crate::expr::{Expr, Literal};
use crate::function::{Arg, Function};
use crate::functions;
use crate::functions::cast;

/// A call of a function or an operator by its name.
pub fn call(name: &str, args: Vec<Expr>) -> Result<Expr, String> {
    let function = functions::find(name).ok_or_else(|| unknown(name))?;
    let resolved: Vec<Arg<'_>> = args.iter().map(|expr| Arg { expr }).collect();
    let signature = (function.resolve)(&resolved).map_err(|reason| explain(function, &reason))?;
    let args = args
        .into_iter()
        .zip(signature.args)
        .map(|(arg, ty)| cast(arg, ty, false).map_err(|reason| explain(function, &reason)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(fold::fold(Expr::Call { function: function.name.to_string(), args, ty: signature.result }))
}

fn explain(function: &Function, reason: &str) -> String {
    if function.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        format!("{}: {reason}; it is written {}", function.name, function.usage)
    } else {
        format!("'{}': {reason}", function.name)
    }
}

fn unknown(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let nearest = functions::names()
        .map(|known| (strsim::jaro_winkler(&upper, known), known))
        .filter(|(likeness, _)| *likeness > 0.82)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
    match nearest {
        Some((_, known)) => format!("there is no function {upper}; did you mean {known}?"),
        None => format!("there is no function {upper}"),
    }
}

/// A conversion; `or_null` makes it a TRY_CAST. The result is NULL-able if the argument is, or for a TRY_CAST; the
/// nullability in `ty` does not count.
pub fn cast(arg: Expr, ty: LogicalType, or_null: bool) -> Result<Expr, String> {
    if same_kind(&arg.ty().kind, &ty.kind) {
        return Ok(arg);
    }
    if arg.literal() == Some(&Literal::Null) {
        return Ok(typed_null(ty.kind));
    }
    cast::check(&arg.ty().kind, &ty.kind)?;
    let nullable = arg.ty().nullable || or_null;
    Ok(fold::fold(Expr::Cast { arg: Box::new(arg), ty: ty.with_nullable(nullable), or_null }))
}

/// CASE WHEN condition THEN result ... ELSE otherwise END. Without ELSE, rows that no condition fits give NULL.
pub fn case(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr, String> {
    let types: Vec<LogicalType> = branches.iter().map(|(_, r)| r).chain(&otherwise).map(|r| r.ty().clone()).collect();
    let mut ty = common_type(&types).ok_or_else(|| format!("CASE: the results have no common type: {}", list(&types)))?;
    ty.nullable |= otherwise.is_none();
    let mut typed = Vec::with_capacity(branches.len());
    for (condition, result) in branches {
        if !matches!(condition.ty().kind, TypeKind::Boolean | TypeKind::Null) {
            return Err(format!("CASE: a condition must be BOOLEAN, got {}", condition.ty().kind));
        }
        let condition = cast(condition, TypeKind::Boolean.nullable(), false)?;
        typed.push((condition, cast(result, ty.clone(), false)?));
    }
    let otherwise = otherwise.map(|o| cast(o, ty.clone(), false).map(Box::new)).transpose()?;
    Ok(fold::fold(Expr::Case { branches: typed, otherwise, ty }))
}

fn list(types: &[LogicalType]) -> String {
    types.iter().map(|t| t.kind.to_string()).collect::<Vec<_>>().join(", ")
}

/// A field of a ROW by its name.
pub fn field(row: Expr, name: &str) -> Result<Expr, String> {
    let TypeKind::Row(fields) = &row.ty().kind else {
        return Err(format!("{} has no fields, so also no '{name}'", row.ty().kind));
    };
    let Some(index) = fields.iter().position(|f| f.name == name) else {
        let names = fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(format!("the row has no field '{name}'; it has {names}"));
    };
    call("FIELD", vec![row, literal_int(index as i64)])
}

/// An element of an ARRAY by its position from 1, or the value of a MAP by its key.
pub fn index(collection: Expr, index: Expr) -> Result<Expr, String> {
    call("ITEM", vec![collection, index])
}

#[cfg(test)]
mod tests;
