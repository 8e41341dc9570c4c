//! Operators over event time that are to follow the clock.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `processing-time`: an operator over event time that follows the clock of its subtask. Its time columns (TIMESTAMP_LTZ(3)) are set to
/// when rows come; watermarks are made of the clock, those of the inputs count for nothing until the end, which ends processing
/// time too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessingTimeSpec {
    /// For each input port its time column.
    pub times: Vec<usize>,
    /// Whether rows are to be worked off as they come, so that each batch has a time of its own; else time goes on between batches,
    /// as for windows.
    pub at_once: bool,
    /// The kind of the operator.
    pub kind: String,
    /// Its specification.
    pub spec: Value,
}
