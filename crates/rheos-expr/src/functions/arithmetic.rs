//! Arithmetic on numbers, dates, times and intervals, with the result types of Flink.

mod decimal;
mod integer;
pub(crate) mod precision;
mod temporal;
#[cfg(test)]
mod tests;

use arrow::compute::kernels::numeric;

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::kernel::result;
use super::signature::{count, signature};
use crate::build::common_type;
use crate::expr::{Expr, Literal};
use crate::function::{Arg, Call, Function, Signature, Value};

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("+", "a + b", |args| resolve(Operator::Add, args), |call| eval(Operator::Add, call)).cheap(),
    Function::new("-", "a - b", resolve_minus, eval_minus).aliases(&["NEGATE"]).cheap(),
    Function::new("*", "a * b", |args| resolve(Operator::Multiply, args), |call| eval(Operator::Multiply, call)).cheap(),
    Function::new("/", "a / b", |args| resolve(Operator::Divide, args), |call| eval(Operator::Divide, call)),
    Function::new("MOD", "MOD(dividend, divisor)", |args| resolve(Operator::Remainder, args), |call| eval(Operator::Remainder, call))
        .aliases(&["%"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

fn resolve(operator: Operator, args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    // A bare NULL is of the other side's type; of two, an INT.
    let or_other = |one: &Arg<'_>, other: &Arg<'_>| match (one.kind(), other.kind()) {
        (TypeKind::Null, TypeKind::Null) => TypeKind::Int.nullable(),
        (TypeKind::Null, _) => other.ty().clone().with_nullable(true),
        _ => one.ty().clone(),
    };
    let (a, b) = (or_other(&args[0], &args[1]), or_other(&args[1], &args[0]));
    let found = if a.kind.is_numeric() && b.kind.is_numeric() { numbers(operator, &a, &b) } else { temporal::resolve(operator, &a, &b) };
    found.ok_or_else(|| format!("cannot be applied to {} and {}", args[0].kind(), args[1].kind()))
}

/// Integers stay of the wider type, FLOAT and DOUBLE win, and decimals grow as [`precision`] says. An integer beside a
/// decimal is not cast: the kernel takes both.
fn numbers(operator: Operator, a: &LogicalType, b: &LogicalType) -> Option<Signature> {
    let nullable = a.nullable || b.nullable;
    let common = common_type(&[a.clone(), b.clone()])?;
    let (args, result) = if let TypeKind::Decimal(..) = common.kind {
        let (of_a, of_b) = (a.kind.as_decimal()?, b.kind.as_decimal()?);
        let digits = match operator {
            Operator::Add | Operator::Subtract => precision::of_sum(of_a, of_b),
            Operator::Multiply => precision::of_product(of_a, of_b),
            Operator::Divide => precision::of_quotient(of_a, of_b),
            Operator::Remainder => precision::of_remainder(of_a, of_b),
        };
        // A remainder of whole numbers is of the divisor's type, which every one fits.
        let of_divisor = operator == Operator::Remainder && of_a.1 == 0 && of_b.1 == 0;
        let result = if of_divisor { b.kind.clone() } else { TypeKind::Decimal(digits.precision, digits.scale) };
        (vec![a.clone(), b.clone()], result)
    } else {
        let cast = common.kind.clone();
        let args = vec![cast.clone().with_nullable(a.nullable), cast.clone().with_nullable(b.nullable)];
        let of_divisor = operator == Operator::Remainder && cast.is_integer();
        (args, if of_divisor { b.kind.clone() } else { cast })
    };
    Some(Signature { args, result: result.with_nullable(nullable) })
}

fn eval(operator: Operator, call: &Call<'_>) -> Result<Value> {
    let [a, b] = call.args else {
        return Err(Error::bug("an arithmetic operator without its two arguments"));
    };
    let has_decimal = call.arg_types.iter().any(|ty| matches!(ty.kind, TypeKind::Decimal(..)));
    match &call.result.kind {
        TypeKind::Decimal(..) => decimal::eval(operator, call),
        kind if kind.is_integer() && has_decimal => decimal_to_integer(operator, call),
        kind if !kind.is_numeric() => temporal::eval(operator, call),
        kind => Ok(match operator {
            Operator::Add => result(call, numeric::add_wrapping(a, b)?),
            Operator::Subtract => result(call, numeric::sub_wrapping(a, b)?),
            Operator::Multiply => result(call, numeric::mul_wrapping(a, b)?),
            Operator::Divide if kind.is_approximate() => result(call, numeric::div(a, b)?),
            Operator::Remainder if kind.is_approximate() => result(call, numeric::rem(a, b)?),
            Operator::Divide => integer::divide(call)?,
            Operator::Remainder => integer::remainder(call)?,
        }),
    }
}

/// Computed on decimals, given as the integer type that the result fits.
fn decimal_to_integer(operator: Operator, call: &Call<'_>) -> Result<Value> {
    let digits = call.result.kind.as_decimal().ok_or_else(|| Error::bug(format!("an integer of type {}", call.result)))?;
    let decimal = TypeKind::Decimal(digits.0, digits.1).with_nullable(call.result.nullable);
    let value = decimal::eval(operator, &Call { result: &decimal, ..*call })?;
    Ok(result(call, arrow::compute::cast(value.array(), &call.result.to_arrow())?))
}

fn resolve_minus(args: &[Arg<'_>]) -> Result<Signature, String> {
    match args {
        [only] => {
            let kind = if *only.kind() == TypeKind::Null { TypeKind::Int } else { only.kind().clone() };
            if !kind.is_numeric() && !kind.is_interval() {
                return Err(format!("cannot be applied to {kind}"));
            }
            signature(args, &[super::signature::Param::Kind(kind.clone())], &[], kind)
        }
        _ => resolve(Operator::Subtract, args),
    }
}

fn eval_minus(call: &Call<'_>) -> Result<Value> {
    match call.args {
        [only] => Ok(result(call, numeric::neg_wrapping(only.array().as_ref())?)),
        _ => eval(Operator::Subtract, call),
    }
}

/// Whether this is a division that cannot fail: by a constant other than zero, or of floating-point numbers.
pub(super) fn is_cheap_division(name: &str, args: &[Expr]) -> bool {
    let [dividend, divisor] = args else { return false };
    let approximate = dividend.ty().kind.is_approximate() || divisor.ty().kind.is_approximate();
    let by_nonzero = match divisor.literal() {
        Some(Literal::Int(v)) => *v != 0,
        Some(Literal::Decimal(digits)) => digits.bytes().any(|b| (b'1'..=b'9').contains(&b)),
        _ => false,
    };
    matches!(name, "/" | "MOD") && (approximate || by_nonzero)
}
