//! SUM, SUM0 and AVG: a total and a count. Integers wrap in their own type, decimals have 38 digits, floats add up as f64.
//!
//! The total of decimals keeps how often it wrapped (its carry): what is too large for now comes back exactly when rows are
//! taken back. Other totals have no carry, and nothing is stored for it.

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
    /// How often a total wrapped, upwards less downwards.
    type Carry: Carry;
    fn widen(value: Self::Native) -> TotalOf<Self>;
    fn add(total: TotalOf<Self>, value: TotalOf<Self>, carry: &mut Self::Carry) -> TotalOf<Self>;
    fn subtract(total: TotalOf<Self>, value: TotalOf<Self>, carry: &mut Self::Carry) -> TotalOf<Self>;
    /// The total as a result; `None` where it does not fit.
    fn total(total: TotalOf<Self>) -> Option<Self::Native>;
    /// The average, with `scale_up` more digits after the point; `None` where it does not fit.
    fn average(total: TotalOf<Self>, count: i64, scale_up: u8) -> Option<Self::Native>;
}

/// What is kept of the wraps of a total.
pub(super) trait Carry: Copy + Default + Send + 'static {
    /// Whether it is kept, and saved.
    const KEPT: bool;
    fn to_wraps(self) -> i64;
    fn from_wraps(wraps: i64) -> Self;
}

impl Carry for () {
    const KEPT: bool = false;

    #[inline]
    fn to_wraps(self) -> i64 {
        0
    }

    #[inline]
    fn from_wraps(_: i64) {}
}

impl Carry for i64 {
    const KEPT: bool = true;

    #[inline]
    fn to_wraps(self) -> i64 {
        self
    }

    #[inline]
    fn from_wraps(wraps: i64) -> i64 {
        wraps
    }
}

macro_rules! integer {
    ($($t:ty => $native:ty),*) => {$(
        impl Summand for $t {
            type Total = Int64Type;
            type Carry = ();

            #[inline]
            fn widen(value: $native) -> i64 {
                i64::from(value)
            }

            #[inline]
            fn add(total: i64, value: i64, _: &mut ()) -> i64 {
                total.wrapping_add(value)
            }

            #[inline]
            fn subtract(total: i64, value: i64, _: &mut ()) -> i64 {
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
            type Carry = ();

            #[inline]
            fn widen(value: $native) -> f64 {
                f64::from(value)
            }

            #[inline]
            fn add(total: f64, value: f64, _: &mut ()) -> f64 {
                total + value
            }

            #[inline]
            fn subtract(total: f64, value: f64, _: &mut ()) -> f64 {
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
    type Carry = i64;

    #[inline]
    fn widen(value: i128) -> i128 {
        value
    }

    #[inline]
    fn add(total: i128, value: i128, carry: &mut i64) -> i128 {
        let (sum, wrapped) = total.overflowing_add(value);
        // What wraps, wraps in the direction of the value.
        *carry += i64::from(wrapped) * if value < 0 { -1 } else { 1 };
        sum
    }

    #[inline]
    fn subtract(total: i128, value: i128, carry: &mut i64) -> i128 {
        let (difference, wrapped) = total.overflowing_sub(value);
        *carry -= i64::from(wrapped) * if value < 0 { -1 } else { 1 };
        difference
    }

    fn total(total: i128) -> Option<i128> {
        (total.unsigned_abs() < pow10(38).unsigned_abs()).then_some(total)
    }

    /// Rounded half up: the whole part is scaled, and the remainder, smaller than the count, is divided with the digits.
    fn average(total: i128, count: i64, scale_up: u8) -> Option<i128> {
        let (total, count, factor) = (Self::total(total)?, i128::from(count), pow10(scale_up));
        let (whole, rest) = (total / count, (total % count) * factor);
        let (digits, rest) = (rest / count, rest % count);
        let round = if rest.unsigned_abs() * 2 >= count.unsigned_abs() { total.signum() } else { 0 };
        Self::total(whole.checked_mul(factor)?.checked_add(digits + round)?)
    }
}

pub(super) struct Sum<T: Summand> {
    groups: Vec<Group<TotalOf<T>, T::Carry>>,
    /// Digits after the point of the argument; 0 for what is no decimal.
    scale: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group<V, C> {
    total: V,
    carry: C,
    /// How many values are in it.
    count: i64,
}

impl<V: Copy, C: Carry> Group<V, C> {
    /// The total; `None` where it wrapped.
    #[inline]
    fn exact(&self) -> Option<V> {
        (self.carry.to_wraps() == 0).then_some(self.total)
    }
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
            group.total = match sign > 0 {
                true => T::add(group.total, value, &mut group.carry),
                false => T::subtract(group.total, value, &mut group.carry),
            };
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
            group.carry = T::Carry::from_wraps(group.carry.to_wraps() + added.carry.to_wraps());
            group.total = T::add(group.total, added.total, &mut group.carry);
            group.count += added.count;
        }
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        let scale_up = if let TypeKind::Decimal(_, scale) = finish.ty.kind { scale.saturating_sub(self.scale) } else { 0 };
        let array: PrimitiveArray<T> = match finish.function {
            Function::Count => return Ok(Arc::new(Int64Array::from_iter_values(groups.map(|g| g.count)))),
            Function::Avg => groups.map(|g| g.exact().filter(|_| g.count > 0).and_then(|t| T::average(t, g.count, scale_up))).collect(),
            Function::Sum0 => groups.map(|g| g.exact().and_then(T::total)).collect(),
            _ => groups.map(|g| g.exact().filter(|_| g.count > 0).and_then(T::total)).collect(),
        };
        Ok(Arc::new(array.with_data_type(finish.ty.to_arrow())))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = Group::default());
    }

    fn state_types(&self) -> Vec<DataType> {
        let mut types = vec![T::Total::DATA_TYPE, DataType::Int64];
        types.extend(T::Carry::KEPT.then_some(DataType::Int64));
        types
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let groups = slots.iter().map(|s| self.groups[*s as usize]);
        let totals = PrimitiveArray::<T::Total>::from_iter_values(groups.clone().map(|g| g.total));
        let counts = Int64Array::from_iter_values(groups.clone().map(|g| g.count));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(totals), Arc::new(counts)];
        if T::Carry::KEPT {
            columns.push(Arc::new(Int64Array::from_iter_values(groups.map(|g| g.carry.to_wraps()))));
        }
        Ok(columns)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let totals = columns[0].as_primitive::<T::Total>().values();
        let counts = columns[1].as_primitive::<Int64Type>().values();
        let carries = T::Carry::KEPT.then(|| columns[2].as_primitive::<Int64Type>().values());
        for (i, slot) in slots.iter().enumerate() {
            let carry = T::Carry::from_wraps(carries.map_or(0, |c| c[i]));
            self.groups[*slot as usize] = Group { total: totals[i], carry, count: counts[i] };
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

    /// Of 9.9e37 neither two nor three fit, with either sign; one does.
    #[test]
    fn a_total_that_wraps_is_null_until_enough_is_taken_back() {
        use arrow::array::Decimal128Array;
        let finish = |function| Finish { function, ty: TypeKind::Decimal(38, 0).nullable() };
        let large = pow10(36) * 99;
        let column = |values: Vec<i128>| -> ArrayRef { Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, 0).unwrap()) };
        let result = |sum: &Sum<Decimal128Type>, function, slot| {
            let array = sum.evaluate(&finish(function), &[slot]).unwrap();
            array.is_valid(0).then(|| array.as_primitive::<Decimal128Type>().value(0))
        };
        for sign in [1, -1] {
            let values = column(vec![sign * large, sign * large, sign * large, sign * 7]);
            let mut sum = Sum::<Decimal128Type>::new(values.data_type());
            sum.grow(2);
            sum.update(&Rows { slots: &[0, 0, 1, 1], rows: None, signs: None }, &[&values]).unwrap();
            sum.merge(&[1], &[0]).unwrap();
            for function in [Function::Sum, Function::Sum0, Function::Avg] {
                assert_eq!(result(&sum, function, 0), None);
            }
            let mut restored = Sum::<Decimal128Type>::new(values.data_type());
            restored.grow(1);
            restored.load(&[0], &sum.save(&[0]).unwrap()).unwrap();
            let back = Rows { slots: &[0, 0], rows: None, signs: Some(&[-1, -1]) };
            restored.update(&back, &[&column(vec![sign * large, sign * large])]).unwrap();
            assert_eq!(result(&restored, Function::Sum, 0), Some(sign * (large + 7)));
            assert_eq!(restored.state_types().len(), restored.save(&[0]).unwrap().len());
        }
    }
}
