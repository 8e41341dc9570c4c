//! RAND and RAND_INTEGER. With a seed the numbers are those of `java.util.Random`, as Flink's are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, Float64Array, Int32Array};
use arrow::datatypes::Int64Type;

use rheos_core::error::{Error, Result};
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr, Literal};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{Rows, numbers};

/// The linear congruential generator that `java.util.Random` documents.
struct JavaRandom(u64);

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = (1 << 48) - 1;

impl JavaRandom {
    fn new(seed: i64) -> Self {
        JavaRandom((seed as u64 ^ MULTIPLIER) & MASK)
    }

    fn next(&mut self, bits: u32) -> i32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        (self.0 >> (48 - bits)) as i32
    }

    fn next_double(&mut self) -> f64 {
        let high = (self.next(26) as u64) << 27;
        (high + self.next(27) as u64) as f64 / (1u64 << 53) as f64
    }

    fn next_below(&mut self, bound: i32) -> i32 {
        if bound.count_ones() == 1 {
            return ((i64::from(bound) * i64::from(self.next(31))) >> 31) as i32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // Leaves out the last, incomplete run of values.
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
        }
    }
}

fn column(array: ArrayRef) -> Value {
    Value::Column(array)
}

/// A constant seed begins one sequence for all rows; a seed by row begins one for each row.
fn constant_seed(args: &[Expr], index: usize) -> Option<i64> {
    match args.get(index)?.literal() {
        Some(Literal::Int(seed)) => Some(*seed),
        _ => None,
    }
}

pub(super) fn prepare_rand(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(seed) = constant_seed(args, 0) else { return Ok(None) };
    let state = AtomicU64::new(JavaRandom::new(seed).0);
    Ok(Some(Box::new(move |call| {
        let mut random = JavaRandom(state.load(Ordering::Relaxed));
        let array: Float64Array = (0..call.rows).map(|_| Some(random.next_double())).collect();
        state.store(random.0, Ordering::Relaxed);
        Ok(column(Arc::new(array)))
    })))
}

pub(super) fn rand(call: &Call<'_>) -> Result<Value> {
    let array: Float64Array = if call.args.is_empty() {
        let random = &call.env()?.random;
        (0..call.rows).map(|_| Some(random.next_unit())).collect()
    } else {
        let seed = numbers::<Int64Type>(call, 0)?;
        (0..call.rows).map(|row| Some(JavaRandom::new(seed.get(row)?).next_double())).collect()
    };
    Ok(column(Arc::new(array)))
}

fn bound_of(bound: i64) -> Result<i32> {
    let legal = i32::try_from(bound).ok().filter(|b| *b > 0);
    legal.ok_or_else(|| Error::input(format!("RAND_INTEGER: the bound must be positive and an INT, got {bound}")))
}

pub(super) fn prepare_rand_integer(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(seed) = (args.len() == 2).then(|| constant_seed(args, 0)).flatten() else { return Ok(None) };
    let state = AtomicU64::new(JavaRandom::new(seed).0);
    Ok(Some(Box::new(move |call| {
        let bound = numbers::<Int64Type>(call, 1)?;
        let mut random = JavaRandom(state.load(Ordering::Relaxed));
        let values = (0..call.rows).map(|row| bound.get(row).map(|b| Ok(random.next_below(bound_of(b)?))).transpose());
        let array = values.collect::<Result<Int32Array>>()?;
        state.store(random.0, Ordering::Relaxed);
        Ok(column(Arc::new(array)))
    })))
}

pub(super) fn rand_integer(call: &Call<'_>) -> Result<Value> {
    let seed: Option<Rows<'_, _>> = (call.args.len() == 2).then(|| numbers::<Int64Type>(call, 0)).transpose()?;
    let bound = numbers::<Int64Type>(call, call.args.len() - 1)?;
    let values = (0..call.rows).map(|row| {
        let Some(bound) = bound.get(row) else { return Ok(None) };
        let bound = bound_of(bound)?;
        match &seed {
            Some(seed) => Ok(seed.get(row).map(|seed| JavaRandom::new(seed).next_below(bound))),
            None => Ok(Some((call.env()?.random.next_u64() % u64::from(bound.unsigned_abs())) as i32)),
        }
    });
    Ok(column(Arc::new(values.collect::<Result<Int32Array>>()?)))
}
