//! The first phase of an aggregation in two.

use arrow::datatypes::{DataType, TimeUnit};
use rheos_state::SlotColumns;
use serde::{Deserialize, Serialize};

use rheos_core::schema::{Field, Schema};
use rheos_core::types::{LogicalType, TypeKind};

use super::aggregate::AggregateCall;
use super::window::WindowSpec;
use crate::aggregate::AggregateSet;

/// `local-aggregate`: of each batch, for each key (and slice of event time) the state of the aggregates over its rows. Its input takes no
/// row back.
///
/// Output columns: the keys, the row time of one of the rows where there are slices, then the states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocalAggregateSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The key columns.
    pub keys: Vec<usize>,
    /// The column of the row time, and the windows whose slices tell rows of a key apart.
    pub slices: Option<(usize, WindowSpec)>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// The columns of the output.
    pub output: Schema,
}

impl LocalAggregateSpec {
    /// The first phase of these aggregates; `None` where they have none: it would be as large as what it is of (DISTINCT, lists), or the
    /// order of rows matters.
    pub fn of(input: Schema, keys: Vec<usize>, slices: Option<(usize, WindowSpec)>, aggregates: &[AggregateCall]) -> Option<Self> {
        let has_state = |call: &AggregateCall| match call.function.as_str() {
            "COUNT" | "SUM" | "SUM0" | "AVG" => !call.distinct,
            "MIN" | "MAX" => true,
            _ => false,
        };
        if matches!(slices, Some((_, WindowSpec::Session { .. }))) || !aggregates.iter().all(has_state) {
            return None;
        }
        let kept = keys.iter().copied().chain(slices.map(|(time, _)| time));
        let mut fields: Vec<Field> = kept.map(|column| input.fields[column].clone()).collect();
        for (i, ty) in AggregateSet::new(aggregates, false).ok()?.types().iter().enumerate() {
            fields.push(Field::new(format!("$state{i}"), logical(ty)?));
        }
        Some(LocalAggregateSpec { input, keys, slices, aggregates: aggregates.to_vec(), output: Schema::new(fields) })
    }

    /// Whether the result is the same to the last digit as without it: floating-point sums depend on their order.
    pub fn is_exact(&self) -> bool {
        let sums_floats = |call: &AggregateCall| {
            let is_sum = matches!(call.function.as_str(), "SUM" | "SUM0" | "AVG");
            is_sum && call.arg_types.iter().any(|ty| matches!(ty.kind, TypeKind::Float | TypeKind::Double))
        };
        !self.aggregates.iter().any(sums_floats)
    }
}

/// The type that has this form in memory.
fn logical(ty: &DataType) -> Option<LogicalType> {
    let kind = match ty {
        DataType::Boolean => TypeKind::Boolean,
        DataType::Int8 => TypeKind::TinyInt,
        DataType::Int16 => TypeKind::SmallInt,
        DataType::Int32 => TypeKind::Int,
        DataType::Int64 => TypeKind::BigInt,
        DataType::Float32 => TypeKind::Float,
        DataType::Float64 => TypeKind::Double,
        DataType::Decimal128(precision, scale) => TypeKind::Decimal(*precision, u8::try_from(*scale).ok()?),
        DataType::Utf8 => TypeKind::STRING,
        DataType::Date32 => TypeKind::Date,
        DataType::Timestamp(TimeUnit::Millisecond, None) => TypeKind::Timestamp(3),
        DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => TypeKind::TimestampLtz(3),
        _ => return None,
    };
    let logical = kind.nullable();
    (logical.to_arrow() == *ty).then_some(logical)
}
