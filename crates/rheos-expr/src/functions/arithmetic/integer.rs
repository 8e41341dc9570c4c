//! Division of integers: truncated towards zero, an error where the divisor is zero.

use arrow::array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{DataType, Int8Type, Int16Type, Int32Type, Int64Type};

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{combine_numbers, numbers};

/// The integer operations that std has for each type but under no trait.
trait Integer: Copy + Eq + Default {
    fn quotient(self, divisor: Self) -> Self;
    fn remainder(self, divisor: Self) -> Self;
    fn widen(self) -> i64;
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Integer for $t {
            #[inline]
            fn quotient(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_div(divisor) }
            }

            #[inline]
            fn remainder(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_rem(divisor) }
            }

            #[inline]
            fn widen(self) -> i64 {
                i64::from(self)
            }
        }
    )*};
}

integer!(i8 i16 i32);

/// Most numbers are small, and a division of 32 bits takes a fraction of the time of one of 64.
impl Integer for i64 {
    #[inline]
    fn quotient(self, divisor: Self) -> Self {
        match (u32::try_from(self), u32::try_from(divisor)) {
            (_, Ok(0)) => 0,
            (Ok(a), Ok(b)) => i64::from(a / b),
            _ => self.wrapping_div(divisor),
        }
    }

    #[inline]
    fn remainder(self, divisor: Self) -> Self {
        match (u32::try_from(self), u32::try_from(divisor)) {
            (_, Ok(0)) => 0,
            (Ok(a), Ok(b)) => i64::from(a % b),
            _ => self.wrapping_rem(divisor),
        }
    }

    #[inline]
    fn widen(self) -> i64 {
        self
    }
}

/// a / b of one integer type.
pub(super) fn divide(call: &Call<'_>) -> Result<Value> {
    match call.args[0].array().data_type() {
        DataType::Int8 => quotients::<Int8Type>(call),
        DataType::Int16 => quotients::<Int16Type>(call),
        DataType::Int32 => quotients::<Int32Type>(call),
        _ => quotients::<Int64Type>(call),
    }
}

/// a MOD b of one integer type; the result is of the type that the divisor had, which every remainder fits.
pub(super) fn remainder(call: &Call<'_>) -> Result<Value> {
    match call.args[0].array().data_type() {
        DataType::Int8 => remainders::<Int8Type>(call),
        DataType::Int16 => remainders::<Int16Type>(call),
        DataType::Int32 => remainders::<Int32Type>(call),
        _ => remainders::<Int64Type>(call),
    }
}

fn quotients<T: ArrowPrimitiveType<Native: Integer>>(call: &Call<'_>) -> Result<Value> {
    refuse_zero::<T>(call)?;
    combine_numbers::<T, T, T>(call, |a, b| a.quotient(b))
}

fn remainders<T: ArrowPrimitiveType<Native: Integer>>(call: &Call<'_>) -> Result<Value> {
    refuse_zero::<T>(call)?;
    match call.result.to_arrow() {
        DataType::Int8 => combine_numbers::<T, T, Int8Type>(call, |a, b| a.remainder(b).widen() as i8),
        DataType::Int16 => combine_numbers::<T, T, Int16Type>(call, |a, b| a.remainder(b).widen() as i16),
        DataType::Int32 => combine_numbers::<T, T, Int32Type>(call, |a, b| a.remainder(b).widen() as i32),
        _ => combine_numbers::<T, T, Int64Type>(call, |a, b| a.remainder(b).widen()),
    }
}

/// Fails if a number that is not NULL is divided by zero.
fn refuse_zero<T: ArrowPrimitiveType<Native: Integer>>(call: &Call<'_>) -> Result<()> {
    let (dividends, divisors) = (numbers::<T>(call, 0)?, numbers::<T>(call, 1)?);
    let zero = T::Native::default();
    let candidates: &PrimitiveArray<T> = divisors.array();
    if !candidates.values().contains(&zero) {
        return Ok(());
    }
    // A constant divisor meets every dividend, a constant dividend every divisor.
    let rows = candidates.len().max(dividends.array().len());
    let fails = (0..rows).any(|row| divisors.get(row) == Some(zero) && dividends.get(row).is_some());
    if fails { Err(Error::input("division by zero")) } else { Ok(()) }
}
