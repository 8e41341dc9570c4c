//! Columns of fixed width as raw bytes, whatever their type.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, Float32Array, Float64Array, make_array};
use arrow::buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use rheos_core::error::Result;

/// The bytes of a column's values, from its first row on; what is at NULLs has no meaning.
pub(crate) struct FixedBytes {
    buffer: Buffer,
    start: usize,
}

impl FixedBytes {
    /// The bytes of a column whose values have `width` bytes.
    pub(crate) fn of(array: &dyn Array, width: usize) -> Self {
        let data = array.to_data();
        FixedBytes { start: data.offset() * width, buffer: data.buffers()[0].clone() }
    }

    /// The values' bytes, one after the other.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.buffer.as_slice()[self.start..]
    }
}

/// How many bytes each value of a type has; `None` where that varies, or where values are not whole bytes.
pub(crate) fn width(ty: &DataType) -> Option<usize> {
    ty.primitive_width()
}

/// A column of a fixed-width type from its values' bytes.
pub(crate) fn from_bytes(ty: &DataType, bytes: MutableBuffer, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let data = ArrayData::builder(ty.clone()).len(len).add_buffer(bytes.into()).nulls(nulls).build()?;
    Ok(make_array(data))
}

/// The same keys with one form for equal floats: -0.0 becomes 0.0, every NaN the same. `None` where nothing changes.
pub(crate) fn canonical_floats(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Float32 => {
            let values: Float32Array = array.as_primitive::<Float32Type>().unary(|v| if v.is_nan() { f32::NAN } else { v + 0.0 });
            Some(Arc::new(values))
        }
        DataType::Float64 => {
            let values: Float64Array = array.as_primitive::<Float64Type>().unary(|v| if v.is_nan() { f64::NAN } else { v + 0.0 });
            Some(Arc::new(values))
        }
        _ => None,
    }
}
