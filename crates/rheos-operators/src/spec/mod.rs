//! What the planner says to each operator, as data. Columns are named by position in the operator's input.

pub mod aggregate;
pub mod calc;
pub mod changes;
pub mod constraints;
pub mod join;
pub mod local_aggregate;
pub mod lookup;
pub mod over;
pub mod pattern;
pub mod processing_time;
pub mod rank;
pub mod window;

pub use aggregate::{AggregateCall, GroupAggregateSpec};
pub use calc::{CalcSpec, ExpandSpec, ValuesSpec, WatermarkExprSpec};
pub use changes::{ChangelogNormalizeSpec, RelationToStreamSpec, StreamMode, UpsertMaterializeSpec};
pub use constraints::ConstraintSpec;
pub use join::{Interval, IntervalJoinSpec, JoinKind, JoinSide, JoinSpec, TemporalJoinSpec, WindowJoinSpec};
pub use local_aggregate::LocalAggregateSpec;
pub use lookup::{LOOKUP_OPTIONS, LOOKUP_TIMEOUT_MS, LookupCache, LookupJoinSpec};
pub use over::{Frame, OverCall, OverSpec};
pub use pattern::{AfterMatch, MatchExprs, MatchReference, MatchSpec, PatternElement, UnnestSpec, Unnesting};
pub use processing_time::ProcessingTimeSpec;
pub use rank::{DeduplicateSpec, LimitSpec, RankSpec, SortKey, WindowRankSpec};
pub use window::{WindowAggregateSpec, WindowProperty, WindowSpec, WindowTableSpec, Windowing};
