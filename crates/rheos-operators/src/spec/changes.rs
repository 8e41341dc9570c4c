//! Changelogs brought into another form.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;

/// `changelog-normalize`: a changelog whose updates replace by key, without the rows that they replace or with some of them twice,
/// becomes one with all of them. The last row of each key is kept. A change that changes nothing vanishes, as does a deletion of
/// what is not there; what a deletion says beside the key counts for nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangelogNormalizeSpec {
    /// The columns of the input, and of the output.
    pub input: Schema,
    /// The key columns.
    pub keys: Vec<usize>,
    /// Whether -U is to be put out.
    pub emit_update_before: bool,
    /// How long a key that nothing comes for is kept, in milliseconds; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
}

/// `upsert-materialize`: before a sink that replaces rows by a key of its own, which is not the query's: of several rows of one sink
/// key the one that came last is there, and when it goes the one before takes its place. Updates of the input come with -U.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpsertMaterializeSpec {
    /// The columns of the input, and of the output.
    pub input: Schema,
    /// The key columns of the sink.
    pub keys: Vec<usize>,
    /// Whether -U is to be put out.
    pub emit_update_before: bool,
    /// How long a key that nothing comes for is kept, in milliseconds; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
}

/// `relation-to-stream`: CQL's operators from a relation to a stream (Arasu, Babu and Widom, "The CQL Continuous Query Language",
/// 2006). The output is insert-only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationToStreamSpec {
    /// The columns of the input, and of the output. Updates come with -U.
    pub input: Schema,
    /// What of the relation.
    pub mode: StreamMode,
}

/// What of a relation becomes a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamMode {
    /// ISTREAM: the rows that are added.
    Inserted,
    /// DSTREAM: the rows that are removed.
    Removed,
    /// RSTREAM: all rows, at each advance of the watermark by which they have changed. Rows come by hash of all columns.
    Whole,
}
