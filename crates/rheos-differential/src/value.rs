//! Types and values of the tables: few of each, so that rows meet.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::dice::Dice;

/// A column's type. The two integers are of one class: they can be compared and added.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Int,
    BigInt,
    Text,
    Bool,
    Double,
    Decimal,
    Date,
    Timestamp,
}

/// All types, the frequent ones more than once.
pub const TYPES: [Type; 11] = [
    Type::Int,
    Type::BigInt,
    Type::BigInt,
    Type::Text,
    Type::Text,
    Type::Bool,
    Type::Double,
    Type::Decimal,
    Type::Date,
    Type::Timestamp,
    Type::BigInt,
];

impl Type {
    /// The type that stands for its class.
    pub fn class(self) -> Type {
        if self == Type::Int { Type::BigInt } else { self }
    }

    /// Its name, in both dialects.
    pub fn sql(self) -> &'static str {
        match self {
            Type::Int => "INT",
            Type::BigInt => "BIGINT",
            Type::Text => "VARCHAR",
            Type::Bool => "BOOLEAN",
            Type::Double => "DOUBLE",
            Type::Decimal => "DECIMAL(10, 2)",
            Type::Date => "DATE",
            Type::Timestamp => "TIMESTAMP(3)",
        }
    }

    /// Its form in memory.
    pub fn arrow(self) -> DataType {
        match self {
            Type::Int => DataType::Int32,
            Type::BigInt => DataType::Int64,
            Type::Text => DataType::Utf8,
            Type::Bool => DataType::Boolean,
            Type::Double => DataType::Float64,
            Type::Decimal => DataType::Decimal128(10, 2),
            Type::Date => DataType::Date32,
            Type::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        }
    }

    /// A random value. Floating-point ones are small halves, so that their sums are exact in any order.
    pub fn value(self, dice: &Dice) -> Value {
        match self {
            Type::Int | Type::BigInt => Value::Int(dice.below(6) as i64 - 1),
            Type::Text => Value::Text(dice.pick(&["", "a", "b", "ab", "Ba", "c d"]).to_string()),
            Type::Bool => Value::Bool(dice.chance(50)),
            Type::Double => Value::Double(dice.below(8) as f64 / 2.0 - 1.0),
            Type::Decimal => Value::Decimal(dice.below(5) as i64 * 75 - 75),
            Type::Date => Value::Date(19_700 + dice.below(4) as i32),
            Type::Timestamp => Value::Timestamp(1_700_000_000_000 + dice.below(4) as i64 * 500),
        }
    }
}

/// A value of a row.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL
    Null,
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// A floating-point number.
    Double(f64),
    /// A decimal, in hundredths.
    Decimal(i64),
    /// A date, in days since 1970.
    Date(i32),
    /// A time, in milliseconds since 1970.
    Timestamp(i64),
}

impl fmt::Display for Value {
    /// As a literal that both dialects read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Text(text) => write!(f, "'{text}'"),
            Value::Bool(b) => f.write_str(if *b { "TRUE" } else { "FALSE" }),
            Value::Double(d) => write!(f, "CAST({d:.1} AS DOUBLE)"),
            Value::Decimal(hundredths) => {
                let sign = if *hundredths < 0 { "-" } else { "" };
                write!(f, "CAST({sign}{}.{:02} AS DECIMAL(10, 2))", hundredths.abs() / 100, hundredths.abs() % 100)
            }
            Value::Date(days) => write!(f, "DATE '{}'", date(*days)),
            Value::Timestamp(ms) => {
                let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
                let (s, ms) = (rest / 1000, rest % 1000);
                write!(f, "TIMESTAMP '{} {:02}:{:02}:{:02}.{ms:03}'", date(days as i32), s / 3600, s / 60 % 60, s % 60)
            }
        }
    }
}

/// A date of the months in which the values lie.
fn date(days: i32) -> String {
    // 19675 is 2023-11-14, the day of the timestamps; 19700 is 2023-12-09.
    match days {
        19_662..=19_691 => format!("2023-11-{:02}", days - 19_661),
        _ => format!("2023-12-{:02}", days - 19_691),
    }
}

/// Values of one column as an array of a type.
pub fn array<'v>(ty: &DataType, values: impl Iterator<Item = &'v Value>) -> Result<ArrayRef> {
    let int = |v: &Value| if let Value::Int(n) = v { Some(*n) } else { None };
    Ok(match ty {
        DataType::Int32 => Arc::new(values.map(|v| int(v).map(|n| n as i32)).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(values.map(int).collect::<Int64Array>()),
        DataType::Utf8 => Arc::new(values.map(|v| if let Value::Text(t) = v { Some(t.as_str()) } else { None }).collect::<StringArray>()),
        DataType::Boolean => Arc::new(values.map(|v| if let Value::Bool(b) = v { Some(*b) } else { None }).collect::<BooleanArray>()),
        DataType::Float64 => Arc::new(values.map(|v| if let Value::Double(d) = v { Some(*d) } else { None }).collect::<Float64Array>()),
        DataType::Decimal128(p, s) => {
            let values = values.map(|v| if let Value::Decimal(h) = v { Some(i128::from(*h)) } else { None });
            Arc::new(values.collect::<Decimal128Array>().with_precision_and_scale(*p, *s)?)
        }
        DataType::Date32 => Arc::new(values.map(|v| if let Value::Date(d) = v { Some(*d) } else { None }).collect::<Date32Array>()),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            let values = values.map(|v| if let Value::Timestamp(ms) = v { Some(*ms) } else { None });
            Arc::new(values.collect::<TimestampMillisecondArray>())
        }
        other => bail!("no value is of {other}"),
    })
}
