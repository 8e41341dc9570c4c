//! SUM, SUM0 and AVG: a total and a count. Integers wrap in their own type, decimals have 38 digits, floats add up as f64.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

use rheos_core::error::Result;
use rheos_core::text::pow10;
use rheos_core::types::TypeKind;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};
use super::function::Function;

/// The native type of a total of `T`.
type TotalOf<T> = <<T as Summand>::Total as ArrowPrimitiveType>::Native;

/// A type that can be summed, and how.
pub(super) trait Summand: ArrowPrimitiveType {
    /// The Arrow type that carries a total.
    type Total: ArrowPrimitiveType;
    fn widen(value: Self::Native) -> TotalOf<Self>;
    fn add(total: TotalOf<Self>, value: TotalOf<Self>) -> TotalOf<Self>;
    fn subtract(total: TotalOf<Self>, value: TotalOf<Self>) -> TotalOf<Self>;
    /// The total as a result; `None` where it does not fit.
    fn total(total: TotalOf<Self>) -> Option<Self::Native>;
    /// The average, with `scale_up` more digits after the point; `None` where it does not fit.
    fn average(total: TotalOf<Self>, count: i64, scale_up: u8) -> Option<Self::Native>;
}

macro_rules! integer {
    ($($t:ty => $native:ty),*) => {$(
        impl Summand for $t {
            type Total = Int64Type;

            #[inline]
            fn widen(value: $native) -> i64 {
                i64::from(value)
            }

            #[inline]
            fn add(total: i64, value: i64) -> i64 {
                total.wrapping_add(value)
            }

            #[inline]
            fn subtract(total: i64, value: i64) -> i64 {
                total.wrapping_sub(value)
            }

            #[inline]
            fn total(total: i64) -> Option<$native> {
                Some(total as $native)
            }

            #[inline]
            fn average(total: i64, count: i64, _: u8) -> Option<$native> {
                Some(total.wrapping_div(count) as $native)
            }
        }
    )*};
}

integer!(Int8Type => i8, Int16Type => i16, Int32Type => i32, Int64Type => i64);

macro_rules! float {
    ($($t:ty => $native:ty),*) => {$(
        impl Summand for $t {
            type Total = Float64Type;

            #[inline]
            fn widen(value: $native) -> f64 {
                f64::from(value)
            }

            #[inline]
            fn add(total: f64, value: f64) -> f64 {
                total + value
            }

            #[inline]
            fn subtract(total: f64, value: f64) -> f64 {
                total - value
            }

            #[inline]
            fn total(total: f64) -> Option<$native> {
                Some(total as $native)
            }

            #[inline]
            fn average(total: f64, count: i64, _: u8) -> Option<$native> {
                Some((total / count as f64) as $native)
            }
        }
    )*};
}

float!(Float32Type => f32, Float64Type => f64);

impl Summand for Decimal128Type {
    type Total = Decimal128Type;

    #[inline]
    fn widen(value: i128) -> i128 {
        value
    }

    #[inline]
    fn add(total: i128, value: i128) -> i128 {
        total.wrapping_add(value)
    }

    #[inline]
    fn subtract(total: i128, value: i128) -> i128 {
        total.wrapping_sub(value)
    }

    fn total(total: i128) -> Option<i128> {
        (total.unsigned_abs() < pow10(38).unsigned_abs()).then_some(total)
    }

    /// Rounded half up: the whole part is scaled, and the remainder, smaller than the count, is divided with the digits.
    fn average(total: i128, count: i64, scale_up: u8) -> Option<i128> {
        let (count, factor) = (i128::from(count), pow10(scale_up));
        let (whole, rest) = (total / count, (total % count) * factor);
        let (digits, rest) = (rest / count, rest % count);
        let round = if rest.unsigned_abs() * 2 >= count.unsigned_abs() { total.signum() } else { 0 };
        Self::total(whole.checked_mul(factor)?.checked_add(digits + round)?)
    }
}

pub(super) struct Sum<T: Summand> {
    groups: Vec<Group<TotalOf<T>>>,
    /// Digits after the point of the argument; 0 for what is no decimal.
    scale: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group<V> {
    total: V,
    /// How many values are in it.
    count: i64,
}

impl<T: Summand> Sum<T> {
    pub(super) fn new(ty: &DataType) -> Self {
        let scale = if let DataType::Decimal128(_, scale) = ty { *scale as u8 } else { 0 };
        Sum { groups: Vec::new(), scale }
    }
}

impl<T: Summand> Accumulator for Sum<T> {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, Group::default());
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let column = args[0].as_primitive::<T>();
        let values = column.values();
        rows.for_each(column.nulls(), |slot, row, sign| {
            let group = &mut self.groups[slot];
            let value = T::widen(values[row]);
            group.total = if sign > 0 { T::add(group.total, value) } else { T::subtract(group.total, value) };
            group.count += sign;
            if group.count == 0 {
                // Nothing is left: neither is what floats lost on the way.
                *group = Group::default();
            }
        });
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            let added = self.groups[*f as usize];
            let group = &mut self.groups[*t as usize];
            group.total = T::add(group.total, added.total);
            group.count += added.count;
        }
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        let scale_up = if let TypeKind::Decimal(_, scale) = finish.ty.kind { scale.saturating_sub(self.scale) } else { 0 };
        let array: PrimitiveArray<T> = match finish.function {
            Function::Count => return Ok(Arc::new(Int64Array::from_iter_values(groups.map(|g| g.count)))),
            Function::Avg => groups.map(|g| if g.count > 0 { T::average(g.total, g.count, scale_up) } else { None }).collect(),
            Function::Sum0 => groups.map(|g| T::total(g.total)).collect(),
            _ => groups.map(|g| if g.count > 0 { T::total(g.total) } else { None }).collect(),
        };
        Ok(Arc::new(array.with_data_type(finish.ty.to_arrow())))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = Group::default());
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![T::Total::DATA_TYPE, DataType::Int64]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        let totals = PrimitiveArray::<T::Total>::from_iter_values(groups.clone().map(|g| g.total));
        Ok(vec![Arc::new(totals), Arc::new(Int64Array::from_iter_values(groups.map(|g| g.count)))])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let totals = columns[0].as_primitive::<T::Total>().values();
        let counts = columns[1].as_primitive::<Int64Type>().values();
        for ((slot, total), count) in slots.iter().zip(totals).zip(counts) {
            self.groups[*slot as usize] = Group { total: *total, count: *count };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_averages_round_half_up_and_do_not_overflow_on_the_way() {
        assert_eq!(Decimal128Type::average(-540, 4, 4), Some(-1_350_000));
        assert_eq!(Decimal128Type::average(2, 3, 6), Some(666_667));
        assert_eq!(Decimal128Type::average(-1, 2, 0), Some(-1));
        assert_eq!(Decimal128Type::average(pow10(37) * 9, 9_000_000, 6), Some(pow10(37)));
        assert_eq!(Decimal128Type::average(pow10(37), 1, 6), None);
    }
}
