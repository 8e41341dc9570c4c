//! Which state answers which function.

use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};

use super::accumulator::Accumulator;
use super::bag::Bag;
use super::collect::Collect;
use super::count::Count;
use super::ends::{First, Last, Single};
use super::extreme::{BooleanExtreme, BytesExtreme, Extreme};
use super::moments::{FloatMoments, IntegerMoments};
use super::ordered::{Ordered, OrderedBytes, OrderedNumber};
use super::percentile::Percentile;
use super::sum::Sum;

/// The functions, under their canonical names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    ArrayAgg,
    ArrayAggIgnoreNulls,
    Avg,
    Collect,
    Count,
    First,
    JsonArrayAbsent,
    JsonArrayNull,
    JsonObjectAbsent,
    JsonObjectNull,
    Last,
    ListAgg,
    Max,
    Min,
    Percentile,
    Single,
    StddevPop,
    StddevSamp,
    Sum,
    Sum0,
    VarPop,
    VarSamp,
}

impl Function {
    /// The function of a canonical name.
    pub(crate) fn of(name: &str) -> Result<Function> {
        Ok(match name {
            "ARRAY_AGG" => Function::ArrayAgg,
            "ARRAY_AGG_IGNORE_NULLS" => Function::ArrayAggIgnoreNulls,
            "AVG" => Function::Avg,
            "COLLECT" => Function::Collect,
            "COUNT" => Function::Count,
            "FIRST_VALUE" => Function::First,
            "JSON_ARRAYAGG_ABSENT_ON_NULL" => Function::JsonArrayAbsent,
            "JSON_ARRAYAGG_NULL_ON_NULL" => Function::JsonArrayNull,
            "JSON_OBJECTAGG_ABSENT_ON_NULL" => Function::JsonObjectAbsent,
            "JSON_OBJECTAGG_NULL_ON_NULL" => Function::JsonObjectNull,
            "LAST_VALUE" => Function::Last,
            "LISTAGG" => Function::ListAgg,
            "MAX" => Function::Max,
            "MIN" => Function::Min,
            "PERCENTILE" => Function::Percentile,
            "SINGLE_VALUE" => Function::Single,
            "STDDEV_POP" => Function::StddevPop,
            "STDDEV_SAMP" => Function::StddevSamp,
            "SUM" => Function::Sum,
            "SUM0" => Function::Sum0,
            "VAR_POP" => Function::VarPop,
            "VAR_SAMP" => Function::VarSamp,
            other => return Err(Error::bug(format!("no aggregate function '{other}' in this binary"))),
        })
    }

    /// Whether equal values that come again change nothing, so that DISTINCT says nothing new.
    pub(crate) fn ignores_duplicates(self) -> bool {
        matches!(self, Function::Min | Function::Max | Function::First | Function::Single)
    }
}

/// The kinds of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    Count,
    Sum,
    Moments,
    Min,
    Max,
    /// All values in order, with their counts.
    Ordered,
    First,
    Last,
    Single,
    /// All rows in order of arrival, but for those where this argument is NULL.
    Bag {
        required: Option<usize>,
    },
    Collect,
    Percentile,
}

impl StateKind {
    /// The state that answers `function`, where rows may be taken back or not.
    pub(crate) fn of(function: Function, retracts: bool) -> StateKind {
        match function {
            Function::Count => StateKind::Count,
            Function::Sum | Function::Sum0 | Function::Avg => StateKind::Sum,
            Function::StddevPop | Function::StddevSamp | Function::VarPop | Function::VarSamp => StateKind::Moments,
            Function::Min | Function::Max if retracts => StateKind::Ordered,
            Function::Min => StateKind::Min,
            Function::Max => StateKind::Max,
            Function::First | Function::Last if retracts => StateKind::Bag { required: Some(0) },
            Function::First => StateKind::First,
            Function::Last => StateKind::Last,
            Function::Single => StateKind::Single,
            Function::ListAgg | Function::ArrayAggIgnoreNulls | Function::JsonArrayAbsent => StateKind::Bag { required: Some(0) },
            Function::JsonObjectAbsent => StateKind::Bag { required: Some(1) },
            Function::ArrayAgg | Function::JsonArrayNull | Function::JsonObjectNull => StateKind::Bag { required: None },
            Function::Collect => StateKind::Collect,
            Function::Percentile => StateKind::Percentile,
        }
    }

    /// Makes the state, for arguments of these types.
    pub(crate) fn accumulator(self, args: &[DataType]) -> Result<Box<dyn Accumulator>> {
        let arg = || args.first().ok_or_else(|| Error::bug(format!("an aggregate of kind {self:?} without an argument")));
        Ok(match self {
            StateKind::Count => Box::new(Count::default()),
            StateKind::Sum => sum(arg()?)?,
            StateKind::Moments => match arg()? {
                DataType::Int8 => Box::new(IntegerMoments::<Int8Type>::default()),
                DataType::Int16 => Box::new(IntegerMoments::<Int16Type>::default()),
                DataType::Int32 => Box::new(IntegerMoments::<Int32Type>::default()),
                DataType::Int64 => Box::new(IntegerMoments::<Int64Type>::default()),
                _ => Box::new(FloatMoments::default()),
            },
            StateKind::Min => extreme::<false>(arg()?)?,
            StateKind::Max => extreme::<true>(arg()?)?,
            StateKind::Ordered => ordered(arg()?)?,
            StateKind::First => Box::new(First::new(arg()?)?),
            StateKind::Last => Box::new(Last::new(arg()?)?),
            StateKind::Single => Box::new(Single::new(arg()?)?),
            StateKind::Bag { required } => Box::new(Bag::new(args, required)?),
            StateKind::Collect => Box::new(Collect::new(arg()?)?),
            StateKind::Percentile => Box::new(Percentile::new(args)?),
        })
    }
}

fn sum(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match ty {
        DataType::Int8 => Box::new(Sum::<Int8Type>::new(ty)),
        DataType::Int16 => Box::new(Sum::<Int16Type>::new(ty)),
        DataType::Int32 => Box::new(Sum::<Int32Type>::new(ty)),
        DataType::Int64 => Box::new(Sum::<Int64Type>::new(ty)),
        DataType::Float32 => Box::new(Sum::<Float32Type>::new(ty)),
        DataType::Float64 => Box::new(Sum::<Float64Type>::new(ty)),
        DataType::Decimal128(..) => Box::new(Sum::<Decimal128Type>::new(ty)),
        other => return Err(Error::bug(format!("no sum of {other}"))),
    })
}

/// Calls `$make!(T)` with the Arrow type that a comparable primitive type is read as.
macro_rules! by_primitive {
    ($ty:expr, $make:ident) => {
        match $ty {
            DataType::Int8 => $make!(Int8Type),
            DataType::Int16 => $make!(Int16Type),
            DataType::Int32 => $make!(Int32Type),
            DataType::Int64 => $make!(Int64Type),
            DataType::Float32 => $make!(Float32Type),
            DataType::Float64 => $make!(Float64Type),
            DataType::Decimal128(..) => $make!(Decimal128Type),
            DataType::Date32 => $make!(Date32Type),
            DataType::Time32(TimeUnit::Millisecond) => $make!(Time32MillisecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => $make!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $make!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $make!(TimestampNanosecondType),
            DataType::Interval(_) => $make!(IntervalYearMonthType),
            DataType::Duration(_) => $make!(DurationMillisecondType),
            other => return Err(Error::bug(format!("values of {other} have no order"))),
        }
    };
}

fn extreme<const MAX: bool>(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    macro_rules! make {
        ($t:ty) => {
            Box::new(Extreme::<$t, MAX>::new(ty))
        };
    }
    Ok(match ty {
        DataType::Boolean => Box::new(BooleanExtreme::<MAX>::default()),
        DataType::Utf8 | DataType::Binary => Box::new(BytesExtreme::<MAX>::new(ty)),
        ty => by_primitive!(ty, make),
    })
}

fn ordered(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    macro_rules! make {
        ($t:ty) => {
            Box::new(Ordered::<OrderedNumber<$t>>::new(ty))
        };
    }
    Ok(match ty {
        DataType::Boolean => Box::new(Ordered::<bool>::new(ty)),
        DataType::Utf8 | DataType::Binary => Box::new(Ordered::<OrderedBytes>::new(ty)),
        ty => by_primitive!(ty, make),
    })
}
