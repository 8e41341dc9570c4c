//! Grouping without windows, and the aggregate calls that all grouping operators share.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;
use rheos_core::types::{LogicalType, TypeKind};

mod resolve;

pub use resolve::{Resolved, is_aggregate, names, resolve};

/// One aggregate of a grouping: `SUM(DISTINCT price) FILTER (WHERE ...)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateCall {
    /// Canonical name, upper case; `COUNT` without arguments is COUNT(*).
    pub function: String,
    /// The argument columns, already of the types that the function takes.
    pub args: Vec<usize>,
    /// The types of those columns.
    pub arg_types: Vec<LogicalType>,
    /// A BOOLEAN column: only rows where it is true count.
    pub filter: Option<usize>,
    /// Whether equal values count once.
    pub distinct: bool,
    /// The type of the result.
    pub ty: LogicalType,
}

impl AggregateCall {
    /// COUNT(*), of all rows or of those where column `filter` is true.
    pub fn count_rows(filter: Option<usize>) -> Self {
        let (args, arg_types, ty) = (vec![], vec![], TypeKind::BigInt.not_null());
        AggregateCall { function: "COUNT".into(), args, arg_types, filter, distinct: false, ty }
    }
}

/// `group-aggregate`: GROUP BY over an unbounded input; the result is updated as rows come.
///
/// Its second input takes states of the aggregates, as a [`super::LocalAggregateSpec`] of the same keys gives them.
///
/// Output columns: the keys, then the aggregates. At most one change (or -U, +U pair) for a key and input batch; a group
/// whose rows are all gone is deleted. Without keys there is one group, which exists once a row has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupAggregateSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The key columns.
    pub keys: Vec<usize>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// Whether the input takes rows back.
    pub input_retracts: bool,
    /// Whether -U is to be put out; otherwise +U alone replaces by key.
    pub emit_update_before: bool,
    /// How long a key that nothing comes for is kept, in milliseconds; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
    /// The columns of the output.
    pub output: Schema,
}
