//! The narrow waist of Rheos: what every front end produces and every worker runs.
//!
//! [`JobGraph`] says what is to be done: nodes joined by edges, each edge with its way of partitioning. [`TaskGraph`]
//! says how: nodes that can be chained become one task, run as several subtasks.
//!
//! Everything here is data that crosses process boundaries and is stored with snapshots. It knows no operator: a node
//! carries the name of its kind and a specification that only the operator's own crate can read.

mod job;
mod task;

pub use job::{Edge, JobGraph, KeySpec, Node, NodeId, NodeKind, Partitioning, WatermarkSpec};
pub use task::{TaskEdge, TaskGraph, TaskId, TaskSpec};
