//! What a sink's table declares of its columns.

use serde::{Deserialize, Serialize};

/// `constraint-enforcer`: its input, without the rows that a table must not be given. The output has the same columns. Rows that are left
/// out are counted as bad records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintSpec {
    /// The table's name, for errors.
    pub table: String,
    /// The names of its columns.
    pub names: Vec<String>,
    /// The columns that must not be NULL.
    pub not_null: Vec<usize>,
    /// Whether a row with NULL there is left out, whatever kind of change it is; else it is an error.
    pub drops: bool,
    /// The columns of texts or bytes whose length is checked, with the greatest length allowed (in characters; in bytes).
    pub lengths: Vec<(usize, usize)>,
}
