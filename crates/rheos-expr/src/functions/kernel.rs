//! Building blocks for computing columns: arguments read by row, results collected, constants handled once.
//!
//! ```text
//! fn left(call: &Call<'_>) -> Result<Value> {
//!     let (text, length) = (texts(call, 0)?, numbers::<Int32Type>(call, 1)?);
//!     collect::<StringArray, _>(call, |row| Some(prefix(text.get(row)?, length.get(row)?)))
//! }
//! ```
//!
//! If every argument is a constant the result is computed for one row and is a constant. A function whose result differs
//! by row for equal arguments (RAND) asks [`Call::rows`] itself.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray,
    StringArray, StringBuilder, StructArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};

/// An argument's values by row; a constant gives the same for every row.
#[derive(Debug)]
pub(crate) struct Rows<'a, A> {
    array: &'a A,
    constant: bool,
}

impl<A> Clone for Rows<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Rows<'_, A> {}

impl<'a, A: Array> Rows<'a, A>
where
    &'a A: ArrayAccessor,
{
    /// The value of a row, `None` for NULL.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<<&'a A as ArrayAccessor>::Item> {
        let row = if self.constant { 0 } else { row };
        if self.array.is_null(row) { None } else { Some(self.array.value(row)) }
    }

    /// The array: of one value if the argument is a constant.
    pub(crate) fn array(&self) -> &'a A {
        self.array
    }
}

fn rows<'a, A: Array + 'static>(call: &Call<'a>, index: usize) -> Result<Rows<'a, A>> {
    let value = argument(call, index)?;
    let array = value.array().as_any().downcast_ref::<A>().ok_or_else(|| unexpected(value.array().data_type(), index))?;
    Ok(Rows { array, constant: value.is_constant() })
}

fn unexpected(ty: &DataType, index: usize) -> Error {
    Error::bug(format!("argument {} of a function is of type {ty}, which it was not resolved for", index + 1))
}

/// An argument, whatever its type.
pub(crate) fn argument<'a>(call: &Call<'a>, index: usize) -> Result<&'a Value> {
    call.args.get(index).ok_or_else(|| Error::bug(format!("a function is evaluated without its argument {}", index + 1)))
}

/// An argument of type CHAR or VARCHAR.
pub(crate) fn texts<'a>(call: &Call<'a>, index: usize) -> Result<Rows<'a, StringArray>> {
    rows(call, index)
}

/// An argument of type BINARY or VARBINARY.
pub(crate) fn bytes<'a>(call: &Call<'a>, index: usize) -> Result<Rows<'a, BinaryArray>> {
    rows(call, index)
}

/// An argument of type BOOLEAN.
pub(crate) fn booleans<'a>(call: &Call<'a>, index: usize) -> Result<Rows<'a, BooleanArray>> {
    rows(call, index)
}

/// An argument that is carried by a primitive Arrow type: numbers, dates, times, intervals.
pub(crate) fn numbers<'a, T: ArrowPrimitiveType>(call: &Call<'a>, index: usize) -> Result<Rows<'a, PrimitiveArray<T>>> {
    rows(call, index)
}

/// An argument of type ARRAY.
pub(crate) fn lists<'a>(call: &Call<'a>, index: usize) -> Result<Rows<'a, ListArray>> {
    rows(call, index)
}

/// An argument of type MAP or MULTISET.
pub(crate) fn maps<'a>(call: &Call<'a>, index: usize) -> Result<Rows<'a, MapArray>> {
    rows(call, index)
}

/// An argument of type ROW, with whether it is a constant.
pub(crate) fn structs<'a>(call: &Call<'a>, index: usize) -> Result<(&'a StructArray, bool)> {
    let value = argument(call, index)?;
    let array = value.array().as_struct_opt().ok_or_else(|| unexpected(value.array().data_type(), index))?;
    Ok((array, value.is_constant()))
}

/// How many rows must be computed: one if all arguments are constants.
pub(crate) fn rows_to_compute(call: &Call<'_>) -> usize {
    if call.args.iter().all(Value::is_constant) { 1 } else { call.rows }
}

/// The result: a constant if all arguments are.
pub(crate) fn result(call: &Call<'_>, array: ArrayRef) -> Value {
    if call.args.iter().all(Value::is_constant) { Value::Constant(array) } else { Value::Column(array) }
}

/// Computes each row by `f`, `None` for NULL.
pub(crate) fn collect<A, X>(call: &Call<'_>, f: impl FnMut(usize) -> Option<X>) -> Result<Value>
where
    A: Array + FromIterator<Option<X>> + 'static,
{
    let array: A = (0..rows_to_compute(call)).map(f).collect();
    Ok(result(call, Arc::new(array)))
}

/// Computes each row by `f`, which may fail.
pub(crate) fn try_collect<A, X>(call: &Call<'_>, f: impl FnMut(usize) -> Result<Option<X>>) -> Result<Value>
where
    A: Array + FromIterator<Option<X>> + 'static,
{
    let array: A = (0..rows_to_compute(call)).map(f).collect::<Result<A>>()?;
    Ok(result(call, Arc::new(array)))
}

/// Computes each row's number by `f` and gives the column exactly the result's Arrow type (decimals, timestamps).
pub(crate) fn collect_numbers<T: ArrowPrimitiveType>(call: &Call<'_>, f: impl FnMut(usize) -> Option<T::Native>) -> Result<Value> {
    let array: PrimitiveArray<T> = (0..rows_to_compute(call)).map(f).collect();
    Ok(result(call, Arc::new(array.with_data_type(call.result.to_arrow()))))
}

/// Computes each row's text: `f` appends it to an empty text and gives `None` for NULL.
pub(crate) fn write_texts(call: &Call<'_>, mut f: impl FnMut(usize, &mut String) -> Option<()>) -> Result<Value> {
    let rows = rows_to_compute(call);
    let mut builder = StringBuilder::with_capacity(rows, rows * 16);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        builder.append_option(f(row, &mut text).map(|()| &text));
    }
    Ok(result(call, Arc::new(builder.finish())))
}

/// The only value of `array`, `rows` times.
pub(crate) fn repeat(array: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    if rows == 1 {
        return Ok(Arc::clone(array));
    }
    if array.is_null(0) {
        return Ok(arrow::array::new_null_array(array.data_type(), rows));
    }
    Ok(arrow::compute::take(array, &UInt32Array::from(vec![0; rows]), None)?)
}

/// Where `mask` (without NULLs) is true the value of `then`, else that of `otherwise`.
pub(crate) fn select(mask: &BooleanArray, then: &Value, otherwise: &Value) -> Result<ArrayRef> {
    Ok(arrow::compute::kernels::zip::zip(mask, then, otherwise)?)
}

/// Computes a number from those of the first two arguments, NULL where either is. `f` is also called where they are
/// NULL, with any numbers: it may not panic.
pub(crate) fn combine_numbers<A, B, O>(call: &Call<'_>, f: impl Fn(A::Native, B::Native) -> O::Native) -> Result<Value>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let (a, b) = (numbers::<A>(call, 0)?, numbers::<B>(call, 1)?);
    let array: PrimitiveArray<O> = match (a.constant, b.constant) {
        (true, false) if a.array.is_null(0) => PrimitiveArray::new_null(b.array.len()),
        (true, false) => {
            let constant = a.array.value(0);
            b.array.unary(|b| f(constant, b))
        }
        (false, true) if b.array.is_null(0) => PrimitiveArray::new_null(a.array.len()),
        (false, true) => {
            let constant = b.array.value(0);
            a.array.unary(|a| f(a, constant))
        }
        _ => arrow::compute::binary(a.array, b.array, f)?,
    };
    Ok(result(call, Arc::new(array.with_data_type(call.result.to_arrow()))))
}

/// Computes a boolean from the first two arguments' numbers, NULL where either is. `f` is also called where they are NULL.
pub(crate) fn combine_to_booleans<A, B>(call: &Call<'_>, f: impl Fn(A::Native, B::Native) -> bool) -> Result<Value>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
{
    let (a, b) = (numbers::<A>(call, 0)?, numbers::<B>(call, 1)?);
    if (a.constant && a.array.is_null(0)) || (b.constant && b.array.is_null(0)) {
        return Ok(Value::Constant(Arc::new(BooleanArray::new_null(1))));
    }
    let (x, y) = (a.array.values(), b.array.values());
    let bits = match (a.constant, b.constant) {
        (true, false) => BooleanBuffer::collect_bool(y.len(), |i| f(x[0], y[i])),
        (false, true) => BooleanBuffer::collect_bool(x.len(), |i| f(x[i], y[0])),
        _ => BooleanBuffer::collect_bool(x.len().min(y.len()), |i| f(x[i], y[i])),
    };
    let nulls_of = |rows: &dyn Array, constant: bool| if constant { None } else { rows.nulls().cloned() };
    let nulls = NullBuffer::union(nulls_of(a.array, a.constant).as_ref(), nulls_of(b.array, b.constant).as_ref());
    Ok(result(call, Arc::new(BooleanArray::new(bits, nulls))))
}
