//! Columns under construction: they grow by one value at a time, and can be cut back where a record turns out bad.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, BooleanBufferBuilder, Decimal128Array, ListArray, MapArray, NullArray,
    PrimitiveArray, StringArray, StructArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute;
use arrow::datatypes::{
    DataType, Date32Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};
use rheos_core::{Error, Result};

use super::names::Names;

/// A column that grows.
#[derive(Debug)]
pub(crate) struct Column {
    pub(super) kind: TypeKind,
    pub(super) values: Values,
    /// Absent as long as no value is NULL.
    validity: Option<BooleanBufferBuilder>,
    len: usize,
}

/// The values, by how they are kept.
#[derive(Debug)]
pub(super) enum Values {
    Null,
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>),
    Bytes { offsets: Vec<i32>, bytes: Vec<u8> },
    Array { offsets: Vec<i32>, item: Box<Column> },
    Map { offsets: Vec<i32>, key: Box<Column>, value: Box<Column> },
    Row { names: Names, fields: Vec<Column> },
}

impl Column {
    pub(crate) fn new(ty: &LogicalType) -> Self {
        let values = match &ty.kind {
            TypeKind::Null => Values::Null,
            TypeKind::Boolean => Values::Boolean(BooleanBufferBuilder::new(0)),
            TypeKind::TinyInt => Values::Int8(Vec::new()),
            TypeKind::SmallInt => Values::Int16(Vec::new()),
            TypeKind::Int | TypeKind::Date | TypeKind::Time(_) | TypeKind::IntervalYearMonth => Values::Int32(Vec::new()),
            TypeKind::BigInt | TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) | TypeKind::IntervalDayTime => Values::Int64(Vec::new()),
            TypeKind::Float => Values::Float32(Vec::new()),
            TypeKind::Double => Values::Float64(Vec::new()),
            TypeKind::Decimal(..) => Values::Decimal(Vec::new()),
            TypeKind::Char(_) | TypeKind::Varchar(_) | TypeKind::Binary(_) | TypeKind::Varbinary(_) => {
                Values::Bytes { offsets: vec![0], bytes: Vec::new() }
            }
            TypeKind::Array(item) => Values::Array { offsets: vec![0], item: Box::new(Column::new(item)) },
            TypeKind::Multiset(element) => {
                let count = Column::new(&TypeKind::Int.not_null());
                Values::Map { offsets: vec![0], key: Box::new(Column::new(element)), value: Box::new(count) }
            }
            TypeKind::Map(key, value) => {
                Values::Map { offsets: vec![0], key: Box::new(Column::new(key)), value: Box::new(Column::new(value)) }
            }
            TypeKind::Row(fields) => Values::Row {
                names: Names::new(fields.iter().map(|f| f.name.as_str())),
                fields: fields.iter().map(|f| Column::new(&f.ty)).collect(),
            },
        };
        Column { kind: ty.kind.clone(), values, validity: None, len: 0 }
    }

    pub(crate) fn kind(&self) -> &TypeKind {
        &self.kind
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Drops all values from `len` on, and what was begun of the next one.
    pub(crate) fn truncate(&mut self, len: usize) {
        let len = len.min(self.len);
        if let Some(validity) = &mut self.validity {
            validity.truncate(len);
        }
        self.len = len;
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(v) => v.truncate(len),
            Values::Int8(v) => v.truncate(len),
            Values::Int16(v) => v.truncate(len),
            Values::Int32(v) => v.truncate(len),
            Values::Int64(v) => v.truncate(len),
            Values::Float32(v) => v.truncate(len),
            Values::Float64(v) => v.truncate(len),
            Values::Decimal(v) => v.truncate(len),
            Values::Bytes { offsets, bytes } => {
                offsets.truncate(len + 1);
                bytes.truncate(offsets[len] as usize);
            }
            Values::Array { offsets, item } => {
                offsets.truncate(len + 1);
                item.truncate(offsets[len] as usize);
            }
            Values::Map { offsets, key, value } => {
                offsets.truncate(len + 1);
                key.truncate(offsets[len] as usize);
                value.truncate(offsets[len] as usize);
            }
            Values::Row { fields, .. } => fields.iter_mut().for_each(|f| f.truncate(len)),
        }
    }

    /// Adds NULL, in the place of what was begun of the next value.
    pub(crate) fn push_null(&mut self) {
        if matches!(self.values, Values::Bytes { .. } | Values::Array { .. } | Values::Map { .. } | Values::Row { .. }) {
            self.truncate(self.len);
        }
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(v) => v.append(false),
            Values::Int8(v) => v.push(0),
            Values::Int16(v) => v.push(0),
            Values::Int32(v) => v.push(0),
            Values::Int64(v) => v.push(0),
            Values::Float32(v) => v.push(0.0),
            Values::Float64(v) => v.push(0.0),
            Values::Decimal(v) => v.push(0),
            Values::Bytes { offsets, .. } | Values::Array { offsets, .. } | Values::Map { offsets, .. } => {
                offsets.push(offsets.last().copied().unwrap_or(0));
            }
            Values::Row { fields, .. } => fields.iter_mut().for_each(Column::push_null),
        }
        let len = self.len;
        let validity = self.validity.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(len + 64);
            bits.append_n(len, true);
            bits
        });
        validity.append(false);
        self.len += 1;
    }

    /// Notes that the value that was just added to `values` is there.
    #[inline]
    pub(super) fn pushed(&mut self) {
        if let Some(validity) = &mut self.validity {
            validity.append(true);
        }
        self.len += 1;
    }

    /// Adds a text, or bytes, to a column of such.
    #[inline]
    pub(crate) fn push_bytes(&mut self, value: &[u8]) {
        if let Values::Bytes { bytes, .. } = &mut self.values {
            bytes.extend_from_slice(value);
        }
        self.close_bytes();
    }

    /// Adds a number, or NULL, to a column of BIGINT or of timestamps in their unit.
    pub(super) fn push_int(&mut self, value: Option<i64>) {
        match (value, &mut self.values) {
            (Some(value), Values::Int64(v)) => {
                v.push(value);
                self.pushed();
            }
            _ => self.push_null(),
        }
    }

    /// Adds a map, or NULL, to a column of MAP<STRING, STRING>.
    pub(super) fn push_texts<'t>(&mut self, entries: Option<impl Iterator<Item = (&'t str, Option<String>)>>) {
        let (Some(entries), Values::Map { key, value, .. }) = (entries, &mut self.values) else { return self.push_null() };
        for (name, text) in entries {
            key.push_bytes(name.as_bytes());
            match text {
                Some(text) => value.push_bytes(text.as_bytes()),
                None => value.push_null(),
            }
        }
        self.close_nested();
    }

    /// Adds what was written behind the last text as the next text.
    #[inline]
    pub(super) fn close_bytes(&mut self) {
        if let Values::Bytes { offsets, bytes } = &mut self.values {
            offsets.push(bytes.len() as i32);
        }
        self.pushed();
    }

    /// Adds what was put behind the last array, map or row as the next one; fields of a row that were left out are NULL.
    pub(super) fn close_nested(&mut self) {
        match &mut self.values {
            Values::Array { offsets, item } => offsets.push(item.len() as i32),
            Values::Map { offsets, key, .. } => offsets.push(key.len() as i32),
            Values::Row { fields, .. } => {
                fields.iter_mut().filter(|f| f.len() == self.len).for_each(Column::push_null);
            }
            _ => {}
        }
        self.pushed();
    }

    /// The values so far as an array of exactly the type's Arrow type; starts anew.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.validity.take().map(|mut bits| NullBuffer::new(bits.finish()));
        let len = std::mem::take(&mut self.len);
        let data_type = self.kind.to_arrow();
        Ok(match (&mut self.values, &self.kind) {
            (Values::Null, _) => Arc::new(NullArray::new(len)),
            (Values::Boolean(v), _) => Arc::new(BooleanArray::new(finish_bits(v), nulls)),
            (Values::Int8(v), _) => primitive::<Int8Type>(v, nulls)?,
            (Values::Int16(v), _) => primitive::<Int16Type>(v, nulls)?,
            (Values::Int32(v), TypeKind::Date) => primitive::<Date32Type>(v, nulls)?,
            (Values::Int32(v), TypeKind::Time(_)) => primitive::<Time32MillisecondType>(v, nulls)?,
            (Values::Int32(v), TypeKind::IntervalYearMonth) => primitive::<IntervalYearMonthType>(v, nulls)?,
            (Values::Int32(v), _) => primitive::<Int32Type>(v, nulls)?,
            (Values::Int64(v), TypeKind::IntervalDayTime) => primitive::<DurationMillisecondType>(v, nulls)?,
            (Values::Int64(v), TypeKind::Timestamp(p)) => timestamps(v, nulls, timestamp_unit(*p), false)?,
            (Values::Int64(v), TypeKind::TimestampLtz(p)) => timestamps(v, nulls, timestamp_unit(*p), true)?,
            (Values::Int64(v), _) => primitive::<Int64Type>(v, nulls)?,
            (Values::Float32(v), _) => primitive::<Float32Type>(v, nulls)?,
            (Values::Float64(v), _) => primitive::<Float64Type>(v, nulls)?,
            (Values::Decimal(v), TypeKind::Decimal(p, s)) => {
                Arc::new(Decimal128Array::try_new(take(v), nulls)?.with_precision_and_scale(*p, *s as i8)?)
            }
            (Values::Bytes { offsets, bytes }, kind) => {
                let offsets = take_offsets(offsets);
                let bytes = Buffer::from_vec(std::mem::replace(bytes, Vec::with_capacity(bytes.len())));
                if kind.is_character() {
                    Arc::new(StringArray::try_new(offsets, bytes, nulls)?)
                } else {
                    Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?)
                }
            }
            (Values::Array { offsets, item }, _) => match data_type {
                DataType::List(field) => Arc::new(ListArray::try_new(field, take_offsets(offsets), item.finish()?, nulls)?),
                other => return Err(Error::bug(format!("an array cannot be carried by {other}"))),
            },
            (Values::Map { offsets, key, value }, _) => {
                let offsets = take_offsets(offsets);
                let (offsets, keys, values) = last_of_each_key(offsets, key.finish()?, value.finish()?)?;
                map(data_type, offsets, keys, values, nulls)?
            }
            (Values::Row { fields, .. }, _) => match data_type {
                DataType::Struct(types) if types.is_empty() => Arc::new(StructArray::new_empty_fields(len, nulls)),
                DataType::Struct(types) => {
                    let arrays = fields.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
                    Arc::new(StructArray::try_new(types, arrays, nulls)?)
                }
                other => return Err(Error::bug(format!("a row cannot be carried by {other}"))),
            },
            (_, kind) => return Err(Error::bug(format!("a column of {kind} holds values of another type"))),
        })
    }
}

fn finish_bits(bits: &mut BooleanBufferBuilder) -> BooleanBuffer {
    bits.finish()
}

fn take<T: arrow::datatypes::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    let capacity = values.len();
    ScalarBuffer::from(std::mem::replace(values, Vec::with_capacity(capacity)))
}

fn take_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut fresh = Vec::with_capacity(offsets.len());
    fresh.push(0);
    OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, fresh)))
}

fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(take(values), nulls)?))
}

fn timestamps(values: &mut Vec<i64>, nulls: Option<NullBuffer>, unit: TimeUnit, utc: bool) -> Result<ArrayRef> {
    let values = take(values);
    let zone: Option<Arc<str>> = utc.then(|| Arc::from("UTC"));
    Ok(match unit {
        TimeUnit::Microsecond => Arc::new(PrimitiveArray::<TimestampMicrosecondType>::try_new(values, nulls)?.with_timezone_opt(zone)),
        TimeUnit::Nanosecond => Arc::new(PrimitiveArray::<TimestampNanosecondType>::try_new(values, nulls)?.with_timezone_opt(zone)),
        _ => Arc::new(PrimitiveArray::<TimestampMillisecondType>::try_new(values, nulls)?.with_timezone_opt(zone)),
    })
}

fn map(data_type: DataType, offsets: OffsetBuffer<i32>, keys: ArrayRef, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let DataType::Map(field, sorted) = data_type else {
        return Err(Error::bug(format!("a map cannot be carried by {data_type}")));
    };
    let DataType::Struct(types) = field.data_type() else {
        return Err(Error::bug(format!("map entries cannot be carried by {}", field.data_type())));
    };
    let entries = StructArray::try_new(types.clone(), vec![keys, values], None)?;
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls, sorted)?))
}

/// A key that comes again in one map replaces what it had: of such entries only the last is kept.
fn last_of_each_key(offsets: OffsetBuffer<i32>, keys: ArrayRef, values: ArrayRef) -> Result<(OffsetBuffer<i32>, ArrayRef, ArrayRef)> {
    let Some(texts) = keys.as_any().downcast_ref::<StringArray>() else {
        return Ok((offsets, keys, values));
    };
    let mut seen = std::collections::HashSet::new();
    let repeats = offsets.windows(2).any(|ends| {
        seen.clear();
        ends[1] - ends[0] > 1 && (ends[0]..ends[1]).any(|i| !seen.insert(texts.value(i as usize)))
    });
    if !repeats {
        return Ok((offsets, keys, values));
    }
    let mut kept: Vec<u32> = Vec::with_capacity(texts.len());
    let mut ends_kept = vec![0i32];
    for ends in offsets.windows(2) {
        seen.clear();
        let start = kept.len();
        kept.extend((ends[0]..ends[1]).rev().filter(|i| seen.insert(texts.value(*i as usize))).map(|i| i as u32));
        kept[start..].reverse();
        ends_kept.push(kept.len() as i32);
    }
    let kept = UInt32Array::from(kept);
    let (keys, values) = (compute::take(&keys, &kept, None)?, compute::take(&values, &kept, None)?);
    Ok((OffsetBuffer::new(ends_kept.into()), keys, values))
}
