//! Joins.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;
use rheos_expr::{EvalConfig, Expr};

/// Which rows a join puts out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinKind {
    /// Pairs that match.
    Inner,
    /// And left rows without a match.
    Left,
    /// And right rows without a match.
    Right,
    /// And rows of both sides without a match.
    Full,
    /// Left rows with a match, once.
    Semi,
    /// Left rows without a match.
    Anti,
}

/// One input of a join.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JoinSide {
    /// Its columns.
    pub schema: Schema,
    /// Its key columns, as many as on the other side and of the same types. NULL matches nothing.
    pub keys: Vec<usize>,
    /// Whether it takes rows back.
    pub retracts: bool,
    /// Columns that are unique in it, if known.
    pub unique_key: Option<Vec<usize>>,
    /// How long a row is kept, in milliseconds; `None`: for ever. For `join` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
}

/// `join`: both inputs are kept for ever; every change of either side changes the result. Updates of the inputs come with -U.
/// Rows with NULL in their key are not kept.
///
/// Output columns: left then right; SEMI and ANTI: left only. -U with the +U that follows it stay updates where both have
/// the same key and there is no condition, so that they have the same matches; everything else becomes -D and +I. So no -U
/// is without its +U.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JoinSpec {
    /// Which rows.
    pub kind: JoinKind,
    /// Input port 0.
    pub left: JoinSide,
    /// Input port 1.
    pub right: JoinSide,
    /// A condition beside the equal keys, over left's then right's columns.
    pub condition: Option<Expr>,
    /// The columns of the output.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// `window-join`: rows of both sides that carry the same window and keys; a window is joined and forgotten when the
/// watermark reaches its last millisecond. Late rows are dropped. The output is insert-only. Rows come by hash of the keys,
/// or of the window's end where there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowJoinSpec {
    /// Which rows.
    pub kind: JoinKind,
    /// Input port 0; its keys are without the window's columns.
    pub left: JoinSide,
    /// Input port 1.
    pub right: JoinSide,
    /// The column of the window's end on the left.
    pub left_end: usize,
    /// The column of the window's end on the right.
    pub right_end: usize,
    /// A condition beside the equal keys, over left's then right's columns.
    pub condition: Option<Expr>,
    /// The columns of the output.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// `interval-join`: pairs of equal keys where `left time + lower <= right time <= left time + upper`, over insert-only inputs.
/// A row is kept until the watermark says that no partner can come any more; then a row without one is put out alone where the
/// kind asks for it. The output is insert-only; its watermark is held back by the greater of `upper_ms` and `-lower_ms`, so that
/// neither row time is late behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalJoinSpec {
    /// Which rows.
    pub kind: JoinKind,
    /// Input port 0.
    pub left: JoinSide,
    /// Input port 1.
    pub right: JoinSide,
    /// When.
    pub interval: Interval,
    /// A condition beside the equal keys and the interval, over left's then right's columns.
    pub condition: Option<Expr>,
    /// The columns of the output.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// How the row times of two inputs must be to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The column of the row time on the left.
    pub left_time: usize,
    /// The column of the row time on the right.
    pub right_time: usize,
    /// How many milliseconds the right row may be after the left one, at least; negative: before.
    pub lower_ms: i64,
    /// And at most.
    pub upper_ms: i64,
}

/// `temporal-join`: each left row with the version of the right row of its key that was valid at the left row's time: the latest
/// whose time is not after it. Left rows wait until the watermark has passed them. A -D of the right side ends a version at the
/// time that it carries; -U is not needed, and passed over. INNER and LEFT only. Kinds of the left rows are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TemporalJoinSpec {
    /// Which rows.
    pub kind: JoinKind,
    /// Input port 0.
    pub left: JoinSide,
    /// Input port 1, the versions; its keys identify a row.
    pub right: JoinSide,
    /// The column of the row time on the left.
    pub left_time: usize,
    /// The column of the time from which a version is valid.
    pub right_time: usize,
    /// A condition on the pair, over left's then right's columns; a pair that fails it is none.
    pub condition: Option<Expr>,
    /// The columns of the output.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}
