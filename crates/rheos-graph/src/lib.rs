//! The narrow waist of Rheos: what every front end produces and every worker runs.
//!
//! [`JobGraph`] says what is to be done: nodes joined by edges, each edge with its way of partitioning. [`TaskGraph`]
//! says how: nodes that can be chained become one task, run as several subtasks. [`Regions`] says which subtasks are connected, and
//! so fail together; [`Placement`] says where each one runs; [`JobMetrics`] is what they tell of themselves.
//!
//! Everything here is data that crosses process boundaries and is stored with snapshots. It knows no operator: a node
//! carries the name of its kind and a specification that only the operator's own crate can read.

mod job;
mod metrics;
mod placement;
mod region;
mod task;

pub use job::{Edge, FormerEdge, JobGraph, KeySpec, Node, NodeId, NodeKind, Partitioning, WatermarkSpec};
pub use metrics::{JobMetrics, OperatorReport, TaskReport};
pub use placement::{Host, Placement};
pub use region::Regions;
pub use task::{TaskEdge, TaskGraph, TaskId, TaskSpec};
