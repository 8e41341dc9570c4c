//! SQL's types as Flink names them, and the Arrow type that carries each.

use std::fmt;

use arrow::datatypes::{DataType, Field as ArrowField, Fields, IntervalUnit, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::schema::Field;

/// The length that `STRING` and `BYTES` stand for.
pub const MAX_LENGTH: u32 = i32::MAX as u32;
/// The largest precision of a DECIMAL.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// A type with its nullability, as a column or an expression has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogicalType {
    /// What values it has.
    pub kind: TypeKind,
    /// Whether NULL is one of them.
    pub nullable: bool,
}

/// The types of Flink SQL. Lengths count characters (or bytes), precisions count digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    /// The type of a bare NULL.
    Null,
    /// BOOLEAN
    Boolean,
    /// TINYINT, 8 bits
    TinyInt,
    /// SMALLINT, 16 bits
    SmallInt,
    /// INT, 32 bits
    Int,
    /// BIGINT, 64 bits
    BigInt,
    /// FLOAT, 32 bits
    Float,
    /// DOUBLE, 64 bits
    Double,
    /// DECIMAL(precision, scale)
    Decimal(u8, u8),
    /// CHAR(n), padded
    Char(u32),
    /// VARCHAR(n); STRING is VARCHAR(2147483647)
    Varchar(u32),
    /// BINARY(n)
    Binary(u32),
    /// VARBINARY(n); BYTES is VARBINARY(2147483647)
    Varbinary(u32),
    /// DATE, days since the epoch
    Date,
    /// TIME(p); milliseconds of the day, whatever the precision says
    Time(u8),
    /// TIMESTAMP(p), no zone: p <= 3 in milliseconds, p <= 6 in microseconds, else nanoseconds
    Timestamp(u8),
    /// TIMESTAMP_LTZ(p), an instant; the units are those of TIMESTAMP
    TimestampLtz(u8),
    /// INTERVAL YEAR TO MONTH, in months
    IntervalYearMonth,
    /// INTERVAL DAY TO SECOND, in milliseconds
    IntervalDayTime,
    /// ARRAY of an element type
    Array(Box<LogicalType>),
    /// MULTISET of an element type: elements with their counts
    Multiset(Box<LogicalType>),
    /// MAP from a key type to a value type
    Map(Box<LogicalType>, Box<LogicalType>),
    /// ROW of named fields
    Row(Vec<Field>),
}

impl TypeKind {
    /// STRING.
    pub const STRING: TypeKind = TypeKind::Varchar(MAX_LENGTH);
    /// BYTES.
    pub const BYTES: TypeKind = TypeKind::Varbinary(MAX_LENGTH);

    /// This kind, NULL allowed.
    pub fn nullable(self) -> LogicalType {
        LogicalType { kind: self, nullable: true }
    }

    /// This kind, NULL not allowed.
    pub fn not_null(self) -> LogicalType {
        LogicalType { kind: self, nullable: false }
    }

    /// This kind with nullability given.
    pub fn with_nullable(self, nullable: bool) -> LogicalType {
        LogicalType { kind: self, nullable }
    }

    /// TINYINT, SMALLINT, INT or BIGINT.
    pub fn is_integer(&self) -> bool {
        matches!(self, TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt)
    }

    /// An integer or a DECIMAL.
    pub fn is_exact_numeric(&self) -> bool {
        self.is_integer() || matches!(self, TypeKind::Decimal(..))
    }

    /// FLOAT or DOUBLE.
    pub fn is_approximate(&self) -> bool {
        matches!(self, TypeKind::Float | TypeKind::Double)
    }

    /// Any number.
    pub fn is_numeric(&self) -> bool {
        self.is_exact_numeric() || self.is_approximate()
    }

    /// CHAR or VARCHAR.
    pub fn is_character(&self) -> bool {
        matches!(self, TypeKind::Char(_) | TypeKind::Varchar(_))
    }

    /// BINARY or VARBINARY.
    pub fn is_binary(&self) -> bool {
        matches!(self, TypeKind::Binary(_) | TypeKind::Varbinary(_))
    }

    /// TIMESTAMP or TIMESTAMP_LTZ.
    pub fn is_timestamp(&self) -> bool {
        matches!(self, TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_))
    }

    /// DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ.
    pub fn is_temporal(&self) -> bool {
        self.is_timestamp() || matches!(self, TypeKind::Date | TypeKind::Time(_))
    }

    /// Either kind of interval.
    pub fn is_interval(&self) -> bool {
        matches!(self, TypeKind::IntervalYearMonth | TypeKind::IntervalDayTime)
    }

    /// ARRAY, MULTISET, MAP or ROW.
    pub fn is_nested(&self) -> bool {
        matches!(self, TypeKind::Array(_) | TypeKind::Multiset(_) | TypeKind::Map(..) | TypeKind::Row(_))
    }

    /// The exact numeric type's digits as DECIMAL(precision, scale): INT is DECIMAL(10, 0).
    pub fn as_decimal(&self) -> Option<(u8, u8)> {
        match self {
            TypeKind::TinyInt => Some((3, 0)),
            TypeKind::SmallInt => Some((5, 0)),
            TypeKind::Int => Some((10, 0)),
            TypeKind::BigInt => Some((19, 0)),
            TypeKind::Decimal(p, s) => Some((*p, *s)),
            _ => None,
        }
    }

    /// The Arrow type that carries values of this kind.
    pub fn to_arrow(&self) -> DataType {
        match self {
            TypeKind::Null => DataType::Null,
            TypeKind::Boolean => DataType::Boolean,
            TypeKind::TinyInt => DataType::Int8,
            TypeKind::SmallInt => DataType::Int16,
            TypeKind::Int => DataType::Int32,
            TypeKind::BigInt => DataType::Int64,
            TypeKind::Float => DataType::Float32,
            TypeKind::Double => DataType::Float64,
            TypeKind::Decimal(p, s) => DataType::Decimal128(*p, *s as i8),
            TypeKind::Char(_) | TypeKind::Varchar(_) => DataType::Utf8,
            TypeKind::Binary(_) | TypeKind::Varbinary(_) => DataType::Binary,
            TypeKind::Date => DataType::Date32,
            TypeKind::Time(_) => DataType::Time32(TimeUnit::Millisecond),
            TypeKind::Timestamp(p) => DataType::Timestamp(timestamp_unit(*p), None),
            TypeKind::TimestampLtz(p) => DataType::Timestamp(timestamp_unit(*p), Some("UTC".into())),
            TypeKind::IntervalYearMonth => DataType::Interval(IntervalUnit::YearMonth),
            TypeKind::IntervalDayTime => DataType::Duration(TimeUnit::Millisecond),
            TypeKind::Array(e) => DataType::List(ArrowField::new("item", e.to_arrow(), true).into()),
            TypeKind::Multiset(e) => map_type(e.to_arrow(), DataType::Int32),
            TypeKind::Map(k, v) => map_type(k.to_arrow(), v.to_arrow()),
            TypeKind::Row(fields) => {
                DataType::Struct(fields.iter().map(|f| ArrowField::new(&f.name, f.ty.to_arrow(), true)).collect::<Fields>())
            }
        }
    }
}

/// The unit in which a timestamp of `precision` fraction digits is kept.
pub fn timestamp_unit(precision: u8) -> TimeUnit {
    match precision {
        0..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn map_type(key: DataType, value: DataType) -> DataType {
    let entries = DataType::Struct(Fields::from(vec![ArrowField::new("key", key, false), ArrowField::new("value", value, true)]));
    DataType::Map(ArrowField::new("entries", entries, false).into(), false)
}

impl LogicalType {
    /// The Arrow type that carries values of this type. Every Arrow field is nullable: NOT NULL is the planner's knowledge.
    pub fn to_arrow(&self) -> DataType {
        self.kind.to_arrow()
    }

    /// The same type with another nullability.
    pub fn with_nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.nullable { "" } else { " NOT NULL" })
    }
}

/// As Flink prints a type in DESCRIBE and EXPLAIN.
impl fmt::Display for TypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeKind::Null => f.write_str("NULL"),
            TypeKind::Boolean => f.write_str("BOOLEAN"),
            TypeKind::TinyInt => f.write_str("TINYINT"),
            TypeKind::SmallInt => f.write_str("SMALLINT"),
            TypeKind::Int => f.write_str("INT"),
            TypeKind::BigInt => f.write_str("BIGINT"),
            TypeKind::Float => f.write_str("FLOAT"),
            TypeKind::Double => f.write_str("DOUBLE"),
            TypeKind::Decimal(p, s) => write!(f, "DECIMAL({p}, {s})"),
            TypeKind::Char(n) => write!(f, "CHAR({n})"),
            TypeKind::Varchar(MAX_LENGTH) => f.write_str("STRING"),
            TypeKind::Varchar(n) => write!(f, "VARCHAR({n})"),
            TypeKind::Binary(n) => write!(f, "BINARY({n})"),
            TypeKind::Varbinary(MAX_LENGTH) => f.write_str("BYTES"),
            TypeKind::Varbinary(n) => write!(f, "VARBINARY({n})"),
            TypeKind::Date => f.write_str("DATE"),
            TypeKind::Time(p) => write!(f, "TIME({p})"),
            TypeKind::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            TypeKind::TimestampLtz(p) => write!(f, "TIMESTAMP({p}) WITH LOCAL TIME ZONE"),
            TypeKind::IntervalYearMonth => f.write_str("INTERVAL YEAR TO MONTH"),
            TypeKind::IntervalDayTime => f.write_str("INTERVAL DAY TO SECOND"),
            TypeKind::Array(e) => write!(f, "ARRAY<{e}>"),
            TypeKind::Multiset(e) => write!(f, "MULTISET<{e}>"),
            TypeKind::Map(k, v) => write!(f, "MAP<{k}, {v}>"),
            TypeKind::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    write!(f, "{}`{}` {}", if i == 0 { "" } else { ", " }, field.name, field.ty)?;
                }
                f.write_str(">")
            }
        }
    }
}
