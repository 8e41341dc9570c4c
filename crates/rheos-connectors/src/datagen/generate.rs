//! Makes the values of a column from random numbers, one for each row.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Decimal128Array, ListArray, MapArray, NullArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use rheos_core::env::unit_of;
use rheos_core::text::calendar::{MS_PER_DAY, convert_unit};
use rheos_core::text::pow10;
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};
use rheos_core::{Error, Result};

/// How the values of a column, or of a part of one, are made.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    pub(super) ty: LogicalType,
    pub(super) null_rate: f64,
    pub(super) what: What,
}

/// What is made.
#[derive(Debug, Clone)]
pub(super) enum What {
    Null,
    Boolean,
    Integer { min: i64, max: i64 },
    Double { min: f64, max: f64 },
    Decimal { min: i128, max: i128 },
    Text { length: u32, varying: bool },
    Bytes { length: u32, varying: bool },
    Date,
    Time,
    Timestamp { max_past_ms: u64 },
    Array { length: u32, item: Box<Generator> },
    Map { length: u32, key: Box<Generator>, value: Box<Generator> },
    Row(Vec<Generator>),
    Sequence { start: i64 },
}

/// What a value is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The row's number.
    pub(super) row: u64,
    /// The row's moment.
    pub(super) at_ms: i64,
    /// A number that nothing is known of.
    pub(super) random: u64,
}

/// The finalizer of SplitMix64: every bit of the result depends on every bit of the number.
pub(super) fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Origin {
    /// The origin of part `part` of the value.
    fn part(self, part: u64) -> Origin {
        Origin { random: mix(self.random ^ mix(part)), ..self }
    }

    /// A number from 0 up to but without 1.
    fn unit(self) -> f64 {
        unit_of(mix(self.random))
    }

    /// A number from `min` to `max`.
    fn between(self, min: i64, max: i64) -> i64 {
        let span = u128::from(max.abs_diff(min)) + 1;
        min.wrapping_add(((u128::from(mix(self.random)) * span) >> 64) as i64)
    }

    /// A number of up to 38 digits from `min` to `max`.
    fn decimal_between(self, min: i128, max: i128) -> i128 {
        let random = (u128::from(mix(self.random)) << 64) | u128::from(mix(!self.random));
        min.wrapping_add((random % (max.abs_diff(min) + 1)) as i128)
    }

    fn length(self, length: u32, varying: bool) -> usize {
        if varying && length > 0 { self.between(1, i64::from(length)) as usize } else { length as usize }
    }
}

impl Generator {
    /// The same without NULLs.
    pub(super) fn without_nulls(mut self) -> Self {
        self.null_rate = 0.0;
        self
    }

    /// About how many bytes a value takes.
    pub(super) fn value_bytes(&self) -> u64 {
        match &self.what {
            What::Text { length, .. } | What::Bytes { length, .. } => 4 + u64::from(*length),
            What::Array { length, item } => u64::from(*length).saturating_mul(item.value_bytes()).saturating_add(4),
            What::Map { length, key, value } => {
                u64::from(*length).saturating_mul(key.value_bytes().saturating_add(value.value_bytes())).saturating_add(4)
            }
            What::Row(fields) => fields.iter().fold(0, |sum: u64, f| sum.saturating_add(f.value_bytes())),
            _ => 8,
        }
    }

    /// One value for each origin.
    pub(super) fn generate(&self, origins: &[Origin]) -> Result<ArrayRef> {
        let is_null = |o: &Origin| self.null_rate > 0.0 && o.part(u64::MAX).unit() < self.null_rate;
        let nulls = (self.null_rate > 0.0).then(|| NullBuffer::from_iter(origins.iter().map(|o| !is_null(o))));
        let kind = &self.ty.kind;
        Ok(match &self.what {
            What::Null => Arc::new(NullArray::new(origins.len())),
            What::Boolean => Arc::new(BooleanArray::new(origins.iter().map(|o| mix(o.random) & 1 == 1).collect(), nulls)),
            What::Integer { min, max } => integers(kind, origins.iter().map(|o| o.between(*min, *max)), nulls)?,
            What::Sequence { start } => sequence(kind, origins.iter().map(|o| start.wrapping_add(o.row as i64)), nulls)?,
            What::Double { min, max } => doubles(kind, origins.iter().map(|o| min * (1.0 - o.unit()) + max * o.unit()), nulls),
            What::Decimal { min, max } => decimals(kind, origins.iter().map(|o| o.decimal_between(*min, *max)), nulls)?,
            What::Text { length, varying } => texts(origins, *length, *varying, nulls)?,
            What::Bytes { length, varying } => bytes(origins, *length, *varying, nulls)?,
            What::Date => primitive::<Date32Type>(origins.iter().map(|o| o.at_ms.div_euclid(MS_PER_DAY) as i32), nulls),
            What::Time => primitive::<Time32MillisecondType>(origins.iter().map(|o| o.at_ms.rem_euclid(MS_PER_DAY) as i32), nulls),
            What::Timestamp { max_past_ms } => {
                let past = i64::try_from(*max_past_ms).unwrap_or(i64::MAX);
                timestamps(kind, origins.iter().map(|o| o.at_ms.saturating_sub(o.between(0, past))), nulls)?
            }
            What::Array { length, item } => match kind.to_arrow() {
                DataType::List(field) => {
                    let items = item.generate(&elements(origins, *length))?;
                    Arc::new(ListArray::try_new(field, offsets(origins.len(), *length), items, nulls)?)
                }
                other => return Err(Error::bug(format!("an array cannot be carried by {other}"))),
            },
            What::Map { length, key, value } => {
                let DataType::Map(field, sorted) = kind.to_arrow() else {
                    return Err(Error::bug(format!("{kind} cannot be made")));
                };
                let DataType::Struct(types) = field.data_type() else {
                    return Err(Error::bug(format!("{kind} cannot be made")));
                };
                let elements = elements(origins, *length);
                let values: Vec<Origin> = elements.iter().map(|o| o.part(1)).collect();
                let entries = StructArray::try_new(types.clone(), vec![key.generate(&elements)?, value.generate(&values)?], None)?;
                Arc::new(MapArray::try_new(field, offsets(origins.len(), *length), entries, nulls, sorted)?)
            }
            What::Row(fields) => match kind.to_arrow() {
                DataType::Struct(types) if types.is_empty() => Arc::new(StructArray::new_empty_fields(origins.len(), nulls)),
                DataType::Struct(types) => {
                    let part = |(i, f): (usize, &Generator)| f.generate(&origins.iter().map(|o| o.part(i as u64)).collect::<Vec<_>>());
                    let columns = fields.iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
                    Arc::new(StructArray::try_new(types, columns, nulls)?)
                }
                other => return Err(Error::bug(format!("a row cannot be carried by {other}"))),
            },
        })
    }
}

/// The origins of the elements of collections of a length.
fn elements(origins: &[Origin], length: u32) -> Vec<Origin> {
    origins.iter().flat_map(|o| (0..length).map(|i| o.part(2 + u64::from(i)))).collect()
}

fn offsets(collections: usize, length: u32) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths(std::iter::repeat_n(length as usize, collections))
}

fn primitive<T: ArrowPrimitiveType>(values: impl Iterator<Item = T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.collect(), nulls))
}

fn integers(kind: &TypeKind, values: impl Iterator<Item = i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match kind {
        TypeKind::TinyInt => primitive::<Int8Type>(values.map(|v| v as i8), nulls),
        TypeKind::SmallInt => primitive::<Int16Type>(values.map(|v| v as i16), nulls),
        TypeKind::Int => primitive::<Int32Type>(values.map(|v| v as i32), nulls),
        TypeKind::IntervalYearMonth => primitive::<IntervalYearMonthType>(values.map(|v| v as i32), nulls),
        TypeKind::BigInt => primitive::<Int64Type>(values, nulls),
        TypeKind::IntervalDayTime => primitive::<DurationMillisecondType>(values, nulls),
        other => return Err(Error::bug(format!("{other} is no integer"))),
    })
}

fn sequence(kind: &TypeKind, values: impl Iterator<Item = i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match kind {
        TypeKind::Float | TypeKind::Double => Ok(doubles(kind, values.map(|v| v as f64), nulls)),
        TypeKind::Decimal(_, scale) => {
            let factor = pow10(*scale);
            decimals(kind, values.map(|v| i128::from(v).saturating_mul(factor)), nulls)
        }
        TypeKind::Char(_) | TypeKind::Varchar(_) => Ok(Arc::new(StringArray::from_iter_values(values.map(|v| v.to_string())))),
        _ => integers(kind, values, nulls),
    }
}

fn doubles(kind: &TypeKind, values: impl Iterator<Item = f64>, nulls: Option<NullBuffer>) -> ArrayRef {
    match kind {
        TypeKind::Float => primitive::<Float32Type>(values.map(|v| v as f32), nulls),
        _ => primitive::<Float64Type>(values, nulls),
    }
}

fn decimals(kind: &TypeKind, values: impl Iterator<Item = i128>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let TypeKind::Decimal(precision, scale) = kind else {
        return Err(Error::bug(format!("{kind} is no DECIMAL")));
    };
    Ok(Arc::new(Decimal128Array::new(values.collect(), nulls).with_precision_and_scale(*precision, *scale as i8)?))
}

fn timestamps(kind: &TypeKind, values: impl Iterator<Item = i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (precision, zone) = match kind {
        TypeKind::Timestamp(precision) => (*precision, None),
        TypeKind::TimestampLtz(precision) => (*precision, Some(Arc::<str>::from("UTC"))),
        other => return Err(Error::bug(format!("{other} is no timestamp"))),
    };
    let unit = timestamp_unit(precision);
    let values = values.map(|ms| convert_unit(ms, TimeUnit::Millisecond, unit).unwrap_or(i64::MAX)).collect();
    Ok(match unit {
        TimeUnit::Microsecond => Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_timezone_opt(zone)),
        TimeUnit::Nanosecond => Arc::new(PrimitiveArray::<TimestampNanosecondType>::new(values, nulls).with_timezone_opt(zone)),
        _ => Arc::new(PrimitiveArray::<TimestampMillisecondType>::new(values, nulls).with_timezone_opt(zone)),
    })
}

/// Hexadecimal digits.
fn texts(origins: &[Origin], length: u32, varying: bool, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(origins.len());
    for origin in origins {
        let end = text.len() + origin.length(length, varying);
        let mut part = 1;
        while text.len() < end {
            let _ = write!(text, "{:016x}", mix(origin.random.wrapping_add(part)));
            part += 1;
        }
        text.truncate(end);
        ends.push(text.len());
    }
    let offsets = OffsetBuffer::from_lengths(lengths(&ends));
    Ok(Arc::new(StringArray::try_new(offsets, text.into_bytes().into(), nulls)?))
}

fn bytes(origins: &[Origin], length: u32, varying: bool, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends = Vec::with_capacity(origins.len());
    for origin in origins {
        let end = bytes.len() + origin.length(length, varying);
        let mut part = 1;
        while bytes.len() < end {
            bytes.extend_from_slice(&mix(origin.random.wrapping_add(part)).to_le_bytes());
            part += 1;
        }
        bytes.truncate(end);
        ends.push(bytes.len());
    }
    Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::from_lengths(lengths(&ends)), bytes.into(), nulls)?))
}

fn lengths(ends: &[usize]) -> impl Iterator<Item = usize> {
    ends.iter().scan(0, |start, end| Some(end - std::mem::replace(start, *end)))
}
