//! Row by row: filter and projection, several copies of a row, constant rows, watermark expressions.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;
use rheos_expr::{EvalConfig, Expr};

/// `calc`: keeps the rows where the condition is true and computes the projections of those. Stateless; kinds are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalcSpec {
    /// Which rows stay; `None` keeps all.
    pub condition: Option<Expr>,
    /// The output columns.
    pub projections: Vec<Expr>,
    /// Names and types of the output columns.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// `expand`: puts out each row once for each list of projections (GROUPING SETS). Stateless; kinds are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpandSpec {
    /// One list of output columns for each copy.
    pub projections: Vec<Vec<Expr>>,
    /// Names and types of the output columns.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// `values`: for each input row (of no columns) puts out constant rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValuesSpec {
    /// The rows; each expression reads no column.
    pub rows: Vec<Vec<Expr>>,
    /// Names and types of the output columns.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// The watermark generator `expression`: the watermark of a row is this expression over the source's columns, a TIMESTAMP
/// or TIMESTAMP_LTZ, in whole milliseconds (rounded down).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatermarkExprSpec {
    /// The expression.
    pub expr: Expr,
    /// What evaluation depends on.
    pub config: EvalConfig,
}
