//! Mathematical functions.

use rheos_core::types::{MAX_DECIMAL_PRECISION, TypeKind};

use crate::function::{Arg, Function, Signature};

use super::signature::Param::{self, Kind, Number};
use super::signature::{accept, count, signature};
use super::time::round as time_round;

mod digits;
mod random;
mod round;
mod sign;
#[cfg(test)]
mod tests;
mod unary;

const DOUBLE: TypeKind = TypeKind::Double;
const REAL: Param = Kind(TypeKind::Double);
const LONG: Param = Kind(TypeKind::BigInt);

macro_rules! real {
    ($name:literal, $usage:literal, $f:expr) => {
        Function::new($name, $usage, |a| signature(a, &[REAL], &[], DOUBLE), |c| unary::of_double(c, $f)).cheap()
    };
}

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("ABS", "ABS(number)", like_number, sign::abs).cheap(),
    Function::new("SIGN", "SIGN(number)", like_number, sign::sign).cheap(),
    // Rounding, also of moments: FLOOR(value TO unit).
    Function::new("FLOOR", "FLOOR(number) or FLOOR(value TO unit)", resolve_floor, |c| {
        if c.args.len() == 2 { time_round::floor(c) } else { round::floor(c) }
    })
    .cheap()
    .session_dependent(),
    Function::new("CEIL", "CEIL(number) or CEIL(value TO unit)", resolve_floor, |c| {
        if c.args.len() == 2 { time_round::ceil(c) } else { round::ceil(c) }
    })
    .aliases(&["CEILING"])
    .cheap()
    .session_dependent(),
    Function::new("ROUND", "ROUND(number [, digits])", resolve_round, round::round),
    Function::new("TRUNCATE", "TRUNCATE(number [, digits])", resolve_round, round::truncate),
    // Powers and logarithms.
    Function::new("POWER", "POWER(base, exponent)", |a| signature(a, &[REAL, REAL], &[], DOUBLE), |c| unary::of_doubles(c, f64::powf))
        .cheap(),
    real!("SQRT", "SQRT(number)", f64::sqrt),
    real!("EXP", "EXP(number)", f64::exp),
    real!("LN", "LN(number)", f64::ln),
    real!("LOG10", "LOG10(number)", f64::log10),
    real!("LOG2", "LOG2(number)", |x| x.ln() / std::f64::consts::LN_2),
    Function::new(
        "LOG",
        "LOG([base,] number)",
        |a| signature(a, &[REAL], &[REAL], DOUBLE),
        |c| {
            if c.args.len() == 1 { unary::of_double(c, f64::ln) } else { unary::of_doubles(c, |base, x| x.ln() / base.ln()) }
        },
    )
    .cheap(),
    // Angles.
    real!("SIN", "SIN(radians)", f64::sin),
    real!("COS", "COS(radians)", f64::cos),
    real!("TAN", "TAN(radians)", f64::tan),
    real!("COT", "COT(radians)", |x| 1.0 / x.tan()),
    real!("ASIN", "ASIN(number)", f64::asin),
    real!("ACOS", "ACOS(number)", f64::acos),
    real!("ATAN", "ATAN(number)", f64::atan),
    real!("SINH", "SINH(number)", f64::sinh),
    real!("COSH", "COSH(number)", f64::cosh),
    real!("TANH", "TANH(number)", f64::tanh),
    Function::new("ATAN2", "ATAN2(y, x)", |a| signature(a, &[REAL, REAL], &[], DOUBLE), |c| unary::of_doubles(c, f64::atan2)).cheap(),
    real!("DEGREES", "DEGREES(radians)", f64::to_degrees),
    real!("RADIANS", "RADIANS(degrees)", f64::to_radians),
    Function::new("PI", "PI()", |a| signature(a, &[], &[], DOUBLE), |_| unary::constant(std::f64::consts::PI)).cheap(),
    Function::new("E", "E()", |a| signature(a, &[], &[], DOUBLE), |_| unary::constant(std::f64::consts::E)).cheap(),
    // Chance.
    Function::new("RAND", "RAND([seed])", |a| signature(a, &[], &[LONG], DOUBLE), random::rand)
        .prepared(random::prepare_rand)
        .nondeterministic(),
    Function::new("RAND_INTEGER", "RAND_INTEGER([seed,] bound)", |a| signature(a, &[LONG], &[LONG], TypeKind::Int), random::rand_integer)
        .prepared(random::prepare_rand_integer)
        .nondeterministic(),
];

/// The result has the argument's type.
fn like_number(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[Number], &[], DOUBLE)?;
    Ok(Signature { result: s.args[0].clone(), args: s.args })
}

fn resolve_floor(args: &[Arg<'_>]) -> Result<Signature, String> {
    if args.len() == 2 {
        return time_round::resolve(args);
    }
    let s = like_number(args)?;
    let result = match &s.result.kind {
        TypeKind::Decimal(precision, _) => TypeKind::Decimal(*precision, 0).with_nullable(s.result.nullable),
        _ => s.result,
    };
    Ok(Signature { args: s.args, result })
}

/// A decimal keeps only the digits that are asked for, if that is known.
fn resolve_round(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, 2)?;
    let number = accept(0, &args[0], &Number)?;
    let digits = if args.len() == 2 { args[1].int() } else { Some(0) };
    let kind = match (&number.kind, digits) {
        (TypeKind::Decimal(p, s), Some(digits)) => round::decimal_type(*p, *s, digits),
        (kind, _) => kind.clone(),
    };
    let mut types = vec![number];
    if args.len() == 2 {
        types.push(accept(1, &args[1], &LONG)?);
    }
    let nullable = types.iter().any(|ty| ty.nullable);
    debug_assert!(!matches!(kind, TypeKind::Decimal(p, _) if p > MAX_DECIMAL_PRECISION));
    Ok(Signature { args: types, result: kind.with_nullable(nullable) })
}
