//! Literals of SQL with their types.

use sqlparser::ast::{DataType, DateTimeField, Expr as Ast, Interval, Spanned, TypedString, UnaryOperator, Value};

use rheos_core::text;
use rheos_core::types::{MAX_DECIMAL_PRECISION, TypeKind, timestamp_unit};
use rheos_expr::{Expr, Literal, build};

use crate::error::{SqlError, SqlResult};

/// A literal as SQL types it: 1 is INT, 1.5 is DECIMAL(2, 1), 1e0 is DOUBLE, 'abc' is CHAR(3).
pub(super) fn bind_value(value: &Value) -> SqlResult<Expr> {
    Ok(match value {
        Value::Number(text, _) => number(text)?,
        Value::SingleQuotedString(s) => text_literal(s),
        Value::Boolean(b) => build::literal_bool(*b),
        Value::Null => build::typed_null(TypeKind::Null),
        Value::HexStringLiteral(hex) => {
            let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok()).collect();
            let bytes = bytes.ok_or_else(|| SqlError::new(format!("'{hex}' is no hexadecimal text of whole bytes")))?;
            let ty = TypeKind::Binary(bytes.len() as u32).not_null();
            Expr::Literal { value: Literal::Bytes(bytes), ty }
        }
        other => return Err(SqlError::new(format!("the literal {other} is not supported"))),
    })
}

/// A text as SQL types it.
pub(super) fn text_literal(s: &str) -> Expr {
    Expr::Literal { value: Literal::Text(s.to_string()), ty: TypeKind::Char(s.chars().count() as u32).not_null() }
}

fn number(text: &str) -> SqlResult<Expr> {
    if text.contains(['e', 'E']) {
        let value: f64 = text.parse().map_err(|_| SqlError::new(format!("'{text}' is no number")))?;
        return Ok(Expr::Literal { value: Literal::Float(value.to_bits()), ty: TypeKind::Double.not_null() });
    }
    if let Ok(value) = text.parse::<i64>() {
        return Ok(build::literal_int(value));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unscaled = format!("{whole}{fraction}");
    let digits = unscaled.trim_start_matches('0').len().max(1).max(fraction.len());
    if digits > MAX_DECIMAL_PRECISION as usize || !unscaled.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SqlError::new(format!("the number {text} has more than {MAX_DECIMAL_PRECISION} digits")));
    }
    let unscaled = unscaled.trim_start_matches('0');
    let unscaled = if unscaled.is_empty() { "0" } else { unscaled };
    let ty = TypeKind::Decimal(digits as u8, fraction.len() as u8).not_null();
    Ok(Expr::Literal { value: Literal::Decimal(unscaled.to_string()), ty })
}

/// `DATE '...'`, `TIME '...'`, `TIMESTAMP '...'`.
pub(super) fn bind_typed_string(node: &TypedString) -> SqlResult<Expr> {
    let Value::SingleQuotedString(s) = &node.value.value else {
        return Err(SqlError::new("a text in quotes is expected").or_at(node.value.span));
    };
    let digits = s.rsplit_once('.').map_or(0, |(_, f)| f.trim().len().min(9)) as u8;
    let wrong = |what: &str, example: &str| {
        SqlError::new(format!("'{s}' is no {what}")).or_at(node.value.span).hint(Some(format!("write for example {example}")))
    };
    let (value, kind) = match &node.data_type {
        DataType::Date => (text::parse_date(s).map(i64::from).ok_or_else(|| wrong("date", "DATE '2024-02-29'"))?, TypeKind::Date),
        DataType::Time(..) => (text::parse_time(s).map(i64::from).ok_or_else(|| wrong("time", "TIME '12:34:56'"))?, TypeKind::Time(digits)),
        DataType::Timestamp(..) | DataType::Datetime(_) => {
            let unit = timestamp_unit(digits);
            let value = text::parse_timestamp(s, unit).ok_or_else(|| wrong("timestamp", "TIMESTAMP '2024-02-29 12:34:56.789'"))?;
            (value, TypeKind::Timestamp(digits))
        }
        other => return Err(SqlError::new(format!("a literal of type {other} is not supported"))),
    };
    Ok(Expr::Literal { value: Literal::Int(value), ty: kind.not_null() })
}

/// `INTERVAL '10' SECOND`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 02:03:04.005' DAY TO SECOND`.
pub(super) fn bind_interval(node: &Interval) -> SqlResult<Expr> {
    let (sign, value) = match node.value.as_ref() {
        Ast::UnaryOp { op: UnaryOperator::Minus, expr } => (-1, expr.as_ref()),
        other => (1, other),
    };
    let text = match value {
        Ast::Value(v) => match &v.value {
            Value::SingleQuotedString(s) => s.clone(),
            Value::Number(n, _) => n.clone(),
            _ => return Err(SqlError::at(value, "an interval is written INTERVAL '10' SECOND")),
        },
        _ => return Err(SqlError::at(value, "an interval is written INTERVAL '10' SECOND")),
    };
    let place = value.span();
    let leading =
        node.leading_field.as_ref().ok_or_else(|| SqlError::new("an interval needs a unit: INTERVAL '10' SECOND").or_at(place))?;
    let first = Unit::of(leading).ok_or_else(|| SqlError::new(format!("an interval has no unit {leading}")).or_at(place))?;
    let last = match &node.last_field {
        None => first,
        Some(f) => Unit::of(f).ok_or_else(|| SqlError::new(format!("an interval has no unit {f}")).or_at(place))?,
    };
    let wrong = || SqlError::new(format!("'{text}' is no interval from {first:?} to {last:?}").to_lowercase()).or_at(place);
    let trimmed = text.trim();
    let (sign, body) = match trimmed.strip_prefix('-') {
        Some(rest) => (-sign, rest),
        None => (sign, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let amount = parse_fields(body, first, last).ok_or_else(wrong)?;
    if first <= Unit::Month && i32::try_from(amount).is_err() {
        return Err(SqlError::new(format!("an interval of '{text}' {first:?} is too long").to_lowercase()).or_at(place));
    }
    let kind = if first <= Unit::Month { TypeKind::IntervalYearMonth } else { TypeKind::IntervalDayTime };
    Ok(Expr::Literal { value: Literal::Int(sign * amount), ty: kind.not_null() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    const ALL: [Unit; 7] = [Unit::Year, Unit::Month, Unit::Week, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second];

    fn of(field: &DateTimeField) -> Option<Unit> {
        let name = field.to_string().to_uppercase();
        let name = name.strip_suffix('S').unwrap_or(&name);
        Unit::ALL.into_iter().find(|u| format!("{u:?}").to_uppercase() == name)
    }

    /// In months for the first two, in milliseconds for the others.
    fn size(self) -> i64 {
        match self {
            Unit::Year => 12,
            Unit::Month => 1,
            Unit::Week => 7 * 86_400_000,
            Unit::Day => 86_400_000,
            Unit::Hour => 3_600_000,
            Unit::Minute => 60_000,
            Unit::Second => 1_000,
        }
    }
}

/// The fields from `first` to `last`, separated by `-`, a space or `:`; seconds may have a fraction.
fn parse_fields(text: &str, first: Unit, last: Unit) -> Option<i64> {
    let units: Vec<Unit> =
        Unit::ALL.into_iter().filter(|u| (first..=last).contains(u) && (*u != Unit::Week || first == Unit::Week)).collect();
    let fields: Vec<&str> = text.split(['-', ' ', ':']).collect();
    if fields.len() != units.len() {
        return None;
    }
    let mut total = 0i64;
    for (unit, field) in units.iter().zip(fields) {
        if *unit == Unit::Second {
            let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
            let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
            total = total.checked_add(whole.parse::<i64>().ok()?.checked_mul(1_000)?)?.checked_add(millis.parse().ok()?)?;
        } else {
            total = total.checked_add(field.parse::<i64>().ok()?.checked_mul(unit.size())?)?;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_types_of_their_digits() {
        let ty = |s: &str| number(s).unwrap().ty().to_string();
        assert_eq!(ty("7"), "INT NOT NULL");
        assert_eq!(ty("99999999999"), "BIGINT NOT NULL");
        assert_eq!(ty("7.0"), "DECIMAL(2, 1) NOT NULL");
        assert_eq!(ty("0.908"), "DECIMAL(3, 3) NOT NULL");
        assert_eq!(ty("1.5E0"), "DOUBLE NOT NULL");
        assert_eq!(ty("99999999999999999999"), "DECIMAL(20, 0) NOT NULL");
    }

    #[test]
    fn intervals_are_summed_over_their_fields() {
        assert_eq!(parse_fields("1 02:03:04.005", Unit::Day, Unit::Second), Some(93_784_005));
        assert_eq!(parse_fields("1-2", Unit::Year, Unit::Month), Some(14));
        assert_eq!(parse_fields("90", Unit::Second, Unit::Second), Some(90_000));
        assert_eq!(parse_fields("x", Unit::Second, Unit::Second), None);
    }
}
