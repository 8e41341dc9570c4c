//! Constants as a query writes them, with the types that Flink gives them.

use rheos_core::text;
use rheos_core::types::{MAX_DECIMAL_PRECISION, TypeKind, timestamp_unit};

use crate::expr::{Expr, Literal};

fn constant(value: Literal, kind: TypeKind) -> Expr {
    Expr::Literal { value, ty: kind.not_null() }
}

/// NULL without a type.
pub fn literal_null() -> Expr {
    typed_null(TypeKind::Null)
}

/// NULL of a type.
pub fn typed_null(kind: TypeKind) -> Expr {
    Expr::Literal { value: Literal::Null, ty: kind.nullable() }
}

/// TRUE or FALSE.
pub fn literal_bool(value: bool) -> Expr {
    constant(Literal::Bool(value), TypeKind::Boolean)
}

/// A BIGINT.
pub fn literal_bigint(value: i64) -> Expr {
    constant(Literal::Int(value), TypeKind::BigInt)
}

/// An integer: INT if it fits, else BIGINT.
pub fn literal_int(value: i64) -> Expr {
    let kind = if i32::try_from(value).is_ok() { TypeKind::Int } else { TypeKind::BigInt };
    constant(Literal::Int(value), kind)
}

/// A decimal as written: `7.0` is DECIMAL(2, 1), `0.908` is DECIMAL(3, 3).
pub fn literal_decimal(number: &str) -> Result<Expr, String> {
    let digits = number.trim_start_matches(['-', '+']);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let too_long = || format!("the number {number} has more than {MAX_DECIMAL_PRECISION} digits");
    let scale = u8::try_from(fraction.len()).map_err(|_| too_long())?;
    let precision = whole.trim_start_matches('0').len().saturating_add(fraction.len()).max(1);
    let precision = u8::try_from(precision).ok().filter(|p| *p <= MAX_DECIMAL_PRECISION).ok_or_else(too_long)?;
    let value = text::parse_decimal(number, precision, scale).ok_or_else(|| format!("'{number}' is not a number"))?;
    Ok(constant(Literal::Decimal(value.to_string()), TypeKind::Decimal(precision, scale)))
}

/// A number as a query writes it: `7` is an integer, `7.0` a DECIMAL, `7E0` a DOUBLE.
pub fn literal_number(number: &str) -> Result<Expr, String> {
    if number.contains(['e', 'E']) {
        return text::parse_double(number).map(literal_double).ok_or_else(|| format!("'{number}' is not a number"));
    }
    match number.parse() {
        Ok(value) => Ok(literal_int(value)),
        Err(_) => literal_decimal(number),
    }
}

/// A DOUBLE.
pub fn literal_double(value: f64) -> Expr {
    constant(Literal::Float(value.to_bits()), TypeKind::Double)
}

/// A text: CHAR of its length.
pub fn literal_text(value: impl Into<String>) -> Expr {
    let value = value.into();
    let length = value.chars().count() as u32;
    constant(Literal::Text(value), TypeKind::Char(length))
}

/// Bytes: BINARY of their length.
pub fn literal_bytes(value: Vec<u8>) -> Expr {
    let length = value.len() as u32;
    constant(Literal::Bytes(value), TypeKind::Binary(length))
}

/// DATE 'yyyy-mm-dd'.
pub fn literal_date(date: &str) -> Result<Expr, String> {
    let days = text::parse_date(date).ok_or_else(|| format!("'{date}' is not a date like '2024-02-29'"))?;
    Ok(constant(Literal::Int(i64::from(days)), TypeKind::Date))
}

/// TIME 'hh:mm:ss', with as many fraction digits as are written.
pub fn literal_time(time: &str) -> Result<Expr, String> {
    let ms = text::parse_time(time).ok_or_else(|| format!("'{time}' is not a time like '09:05:00'"))?;
    Ok(constant(Literal::Int(i64::from(ms)), TypeKind::Time(fraction_digits(time))))
}

/// TIMESTAMP 'yyyy-mm-dd hh:mm:ss', with as many fraction digits as are written.
pub fn literal_timestamp(timestamp: &str) -> Result<Expr, String> {
    let precision = fraction_digits(timestamp);
    let value = text::parse_timestamp(timestamp, timestamp_unit(precision))
        .ok_or_else(|| format!("'{timestamp}' is not a timestamp like '2024-02-29 09:05:00'"))?;
    Ok(constant(Literal::Int(value), TypeKind::Timestamp(precision)))
}

fn fraction_digits(text: &str) -> u8 {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(9) as u8)
}

/// INTERVAL YEAR TO MONTH of so many months.
pub fn literal_interval_months(months: i64) -> Expr {
    constant(Literal::Int(months), TypeKind::IntervalYearMonth)
}

/// INTERVAL DAY TO SECOND of so many milliseconds.
pub fn literal_interval_ms(ms: i64) -> Expr {
    constant(Literal::Int(ms), TypeKind::IntervalDayTime)
}
