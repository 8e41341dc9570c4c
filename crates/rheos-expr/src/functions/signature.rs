//! Building blocks for resolving calls: what arguments must be, what they are cast to, what comes out.
//!
//! ```text
//! |args| signature(args, &[Param::Text, Param::Kind(TypeKind::Int)], &[Param::Kind(TypeKind::Int)], TypeKind::STRING)
//! ```

use rheos_core::types::{LogicalType, TypeKind};

use crate::build::is_implicitly_castable;
use crate::function::{Arg, Signature};

/// What an argument may be. A NULL without a type may stand for any.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param {
    /// Anything, taken as it is.
    Any,
    /// CHAR or VARCHAR, taken as it is.
    Text,
    /// BINARY or VARBINARY, taken as it is.
    Bytes,
    /// A number, taken as it is.
    Number,
    /// TINYINT to BIGINT, taken as it is.
    Integer,
    /// An ARRAY, taken as it is.
    Array,
    /// A MAP, taken as it is.
    Map,
    /// What can implicitly be cast to this: an INT where a DOUBLE is asked for.
    Kind(TypeKind),
    /// A constant text, for units and other keywords.
    Keyword,
}

impl Param {
    fn describe(&self) -> String {
        match self {
            Param::Any => "any value".into(),
            Param::Text => "a text (CHAR or VARCHAR)".into(),
            Param::Bytes => "bytes (BINARY or VARBINARY)".into(),
            Param::Number => "a number".into(),
            Param::Integer => "an integer".into(),
            Param::Array => "an ARRAY".into(),
            Param::Map => "a MAP".into(),
            Param::Kind(kind) => kind.to_string(),
            Param::Keyword => "a constant keyword".into(),
        }
    }

    /// The type that an argument is cast to, `None` if it may not be one.
    fn accept(&self, arg: &Arg<'_>) -> Option<LogicalType> {
        let kind = arg.kind();
        let as_it_is = |fits: bool, if_null: TypeKind| match kind {
            TypeKind::Null => Some(if_null.nullable()),
            _ => fits.then(|| arg.ty().clone()),
        };
        match self {
            Param::Any => Some(arg.ty().clone()),
            Param::Text => as_it_is(kind.is_character(), TypeKind::STRING),
            Param::Bytes => as_it_is(kind.is_binary(), TypeKind::BYTES),
            Param::Number => as_it_is(kind.is_numeric(), TypeKind::Int),
            Param::Integer => as_it_is(kind.is_integer(), TypeKind::Int),
            Param::Array => as_it_is(matches!(kind, TypeKind::Array(_)), TypeKind::Array(Box::new(TypeKind::Null.nullable()))),
            Param::Map => as_it_is(matches!(kind, TypeKind::Map(..)), {
                TypeKind::Map(Box::new(TypeKind::STRING.nullable()), Box::new(TypeKind::Null.nullable()))
            }),
            Param::Kind(to) => is_implicitly_castable(kind, to).then(|| to.clone().with_nullable(arg.ty().nullable)),
            Param::Keyword => arg.text().map(|_| arg.ty().clone()),
        }
    }
}

/// Checks the arguments one by one and gives a result that is NULL-able if an argument is.
pub(crate) fn signature(args: &[Arg<'_>], required: &[Param], optional: &[Param], result: TypeKind) -> Result<Signature, String> {
    count(args, required.len(), required.len() + optional.len())?;
    let types = args.iter().zip(required.iter().chain(optional)).enumerate().map(|(i, (arg, param))| accept(i, arg, param));
    let args = types.collect::<Result<Vec<_>, _>>()?;
    let nullable = any_nullable(&args);
    Ok(Signature { args, result: result.with_nullable(nullable) })
}

/// Checks any number of arguments, `min` at least, of one kind.
pub(crate) fn variadic(args: &[Arg<'_>], min: usize, param: &Param, result: TypeKind) -> Result<Signature, String> {
    count(args, min, usize::MAX)?;
    let args = args.iter().enumerate().map(|(i, arg)| accept(i, arg, param)).collect::<Result<Vec<_>, _>>()?;
    let nullable = any_nullable(&args);
    Ok(Signature { args, result: result.with_nullable(nullable) })
}

/// The type that argument `index` is cast to, or what it should have been.
pub(crate) fn accept(index: usize, arg: &Arg<'_>, param: &Param) -> Result<LogicalType, String> {
    param.accept(arg).ok_or_else(|| format!("argument {} must be {}, got {}", index + 1, param.describe(), arg.kind()))
}

/// Checks how many arguments there are.
pub(crate) fn count(args: &[Arg<'_>], min: usize, max: usize) -> Result<(), String> {
    if (min..=max).contains(&args.len()) {
        return Ok(());
    }
    let arguments = |n: usize| if n == 1 { "1 argument".to_string() } else { format!("{n} arguments") };
    Err(match max {
        _ if min == max => format!("takes {}, got {}", arguments(min), args.len()),
        usize::MAX => format!("takes at least {}, got {}", arguments(min), args.len()),
        _ => format!("takes {min} to {}, got {}", arguments(max), args.len()),
    })
}

/// Whether one of the types has NULL among its values.
pub(crate) fn any_nullable(types: &[LogicalType]) -> bool {
    types.iter().any(|ty| ty.nullable)
}
