//! STDDEV and VARIANCE. Over floats and decimals by mean and squared distance from it (Welford 1962; merged as in Chan,
//! Golub, LeVeque 1979), over integers by sums of values and of squares with integer division, as Flink computes them.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float32Array, Float64Array, Int64Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_core::text::pow10;
use rheos_core::types::TypeKind;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};
use super::function::Function;

/// By what the squared distance is divided; `None` where the function has no value.
fn divisor(function: Function, count: i64) -> Option<i64> {
    let divisor = if matches!(function, Function::StddevSamp | Function::VarSamp) { count - 1 } else { count };
    (divisor > 0).then_some(divisor)
}

fn is_deviation(function: Function) -> bool {
    matches!(function, Function::StddevPop | Function::StddevSamp)
}

#[derive(Debug, Default)]
pub(super) struct FloatMoments {
    groups: Vec<Spread>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    count: i64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    fn remove(&mut self, value: f64) {
        if self.count <= 1 {
            *self = Spread { count: self.count - 1, ..Spread::default() };
            return;
        }
        self.count -= 1;
        let distance = value - self.mean;
        self.mean -= distance / self.count as f64;
        self.squares = (self.squares - distance * (value - self.mean)).max(0.0);
    }

    fn merge(&mut self, other: Spread) {
        let (a, b) = (self.count as f64, other.count as f64);
        if other.count <= 0 || self.count <= 0 {
            if self.count <= 0 {
                *self = Spread { count: self.count + other.count, ..other };
            } else {
                self.count += other.count;
            }
            return;
        }
        let distance = other.mean - self.mean;
        self.count += other.count;
        self.mean += distance * b / (a + b);
        self.squares += other.squares + distance * distance * a * b / (a + b);
    }
}

impl Accumulator for FloatMoments {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, Spread::default());
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let groups = &mut self.groups;
        let mut take = |slot: usize, value: f64, sign: i64| {
            if sign > 0 { groups[slot].add(value) } else { groups[slot].remove(value) }
        };
        match args[0].data_type() {
            DataType::Float32 => {
                let column = args[0].as_primitive::<Float32Type>();
                rows.for_each(column.nulls(), |slot, row, sign| take(slot, f64::from(column.value(row)), sign));
            }
            DataType::Float64 => {
                let column = args[0].as_primitive::<Float64Type>();
                rows.for_each(column.nulls(), |slot, row, sign| take(slot, column.value(row), sign));
            }
            DataType::Decimal128(_, scale) => {
                let (column, one) = (args[0].as_primitive::<Decimal128Type>(), pow10(*scale as u8) as f64);
                rows.for_each(column.nulls(), |slot, row, sign| take(slot, column.value(row) as f64 / one, sign));
            }
            other => return Err(Error::bug(format!("no variance of {other}"))),
        }
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            let added = self.groups[*f as usize];
            self.groups[*t as usize].merge(added);
        }
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let results = slots.iter().map(|s| {
            let group = &self.groups[*s as usize];
            let variance = group.squares / divisor(finish.function, group.count)? as f64;
            Some(if is_deviation(finish.function) { variance.sqrt() } else { variance })
        });
        Ok(match finish.ty.kind {
            TypeKind::Float => Arc::new(results.map(|r| r.map(|r| r as f32)).collect::<Float32Array>()),
            TypeKind::Decimal(precision, scale) => {
                let (one, limit) = (pow10(scale) as f64, pow10(precision));
                let unscaled = results.map(|r| r.map(|r| (r * one).round() as i128).filter(|v| v.abs() < limit));
                Arc::new(unscaled.collect::<Decimal128Array>().with_precision_and_scale(precision, scale as i8)?)
            }
            _ => Arc::new(results.collect::<Float64Array>()),
        })
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = Spread::default());
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Int64, DataType::Float64, DataType::Float64]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        Ok(vec![
            Arc::new(Int64Array::from_iter_values(groups.clone().map(|g| g.count))),
            Arc::new(Float64Array::from_iter_values(groups.clone().map(|g| g.mean))),
            Arc::new(Float64Array::from_iter_values(groups.map(|g| g.squares))),
        ])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let counts = columns[0].as_primitive::<Int64Type>();
        let (means, squares) = (columns[1].as_primitive::<Float64Type>(), columns[2].as_primitive::<Float64Type>());
        for (i, slot) in slots.iter().enumerate() {
            self.groups[*slot as usize] = Spread { count: counts.value(i), mean: means.value(i), squares: squares.value(i) };
        }
        Ok(())
    }
}

pub(super) struct IntegerMoments<T> {
    groups: Vec<Sums>,
    ty: PhantomData<fn() -> T>,
}

impl<T> Default for IntegerMoments<T> {
    fn default() -> Self {
        IntegerMoments { groups: Vec::new(), ty: PhantomData }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum: i128,
    squares: i128,
}

impl<T: ArrowPrimitiveType> Accumulator for IntegerMoments<T>
where
    T::Native: Into<i64> + TryFrom<i64>,
{
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, Sums::default());
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let column = args[0].as_primitive::<T>();
        rows.for_each(column.nulls(), |slot, row, sign| {
            let (value, sign) = (i128::from(column.value(row).into()), (sign, i128::from(sign)));
            let group = &mut self.groups[slot];
            group.count += sign.0;
            group.sum = group.sum.wrapping_add(sign.1 * value);
            group.squares = group.squares.wrapping_add(sign.1 * value * value);
        });
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            let added = self.groups[*f as usize];
            let group = &mut self.groups[*t as usize];
            group.count += added.count;
            group.sum = group.sum.wrapping_add(added.sum);
            group.squares = group.squares.wrapping_add(added.squares);
        }
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let results = slots.iter().map(|s| {
            let group = &self.groups[*s as usize];
            let divisor = i128::from(divisor(finish.function, group.count)?);
            // Where the square of the sum does not fit, the quotient is near enough by way of the mean.
            let square = group.sum.checked_mul(group.sum).map(|square| square / i128::from(group.count));
            let square = square.unwrap_or_else(|| (group.sum as f64 / group.count as f64 * group.sum as f64) as i128);
            let variance = group.squares.saturating_sub(square) / divisor;
            let result = if is_deviation(finish.function) { (variance as f64).sqrt() as i64 } else { i64::try_from(variance).ok()? };
            T::Native::try_from(result).ok()
        });
        Ok(Arc::new(results.collect::<PrimitiveArray<T>>()))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = Sums::default());
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Int64, Decimal128Type::DATA_TYPE, Decimal128Type::DATA_TYPE]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        Ok(vec![
            Arc::new(Int64Array::from_iter_values(groups.clone().map(|g| g.count))),
            Arc::new(Decimal128Array::from_iter_values(groups.clone().map(|g| g.sum))),
            Arc::new(Decimal128Array::from_iter_values(groups.map(|g| g.squares))),
        ])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let counts = columns[0].as_primitive::<Int64Type>();
        let (sums, squares) = (columns[1].as_primitive::<Decimal128Type>(), columns[2].as_primitive::<Decimal128Type>());
        for (i, slot) in slots.iter().enumerate() {
            self.groups[*slot as usize] = Sums { count: counts.value(i), sum: sums.value(i), squares: squares.value(i) };
        }
        Ok(())
    }
}
