//! The job graph: operators with typed edges, as SQL, programs and Python all produce it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::TableSpec;
use rheos_core::key_group::DEFAULT_KEY_GROUPS;
use rheos_core::schema::Schema;

/// The position of a node in [`JobGraph::nodes`].
pub type NodeId = usize;

/// A job: nodes in an order in which every edge goes forward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobGraph {
    /// The job's name for people.
    pub name: String,
    /// How many key groups its keyed state is cut into; fixed for the job's life.
    pub key_groups: u32,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// Edges of other plans of the same job, whose nodes keep the same state: rows that were on their way there in a snapshot go on here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerEdge>,
}

/// An edge that this plan does not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormerEdge {
    /// The id of the node that it came from.
    pub from: String,
    /// The node of this plan that it went to.
    pub to: NodeId,
    /// Which input of `to` it was.
    pub port: usize,
    /// Which subtask gets which row.
    pub partitioning: Partitioning,
}

/// An operator, a source or a sink.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its position in the graph.
    pub id: NodeId,
    /// Its stable id, by which its state is found again.
    pub uid: String,
    /// Its name for people: `GroupAggregate`.
    pub name: String,
    /// What it does, for EXPLAIN: `groupBy=[auction], select=[COUNT(*)]`.
    pub detail: String,
    /// What it is.
    pub kind: NodeKind,
    /// How many subtasks it runs as.
    pub parallelism: usize,
    /// The columns that it puts out; `None` for typed rows and for sinks.
    pub schema: Option<Schema>,
    /// The kinds of changes that it puts out.
    pub changelog: ChangelogMode,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum NodeKind {
    /// Reads a table; the watermarks follow from its rows.
    Source {
        /// The table, with what was pushed into it.
        table: TableSpec,
        /// How watermarks are found; `None` gives none before the end.
        watermark: Option<WatermarkSpec>,
    },
    /// An operator, by the name of its kind in the registry.
    Operator {
        /// The kind.
        kind: String,
        /// What the kind's factory reads.
        spec: Value,
    },
    /// Writes a table.
    Sink {
        /// The table.
        table: TableSpec,
    },
}

/// How a source finds watermarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatermarkSpec {
    /// The kind of generator in the registry.
    pub generator: String,
    /// What the generator's factory reads.
    pub spec: Value,
    /// After how many milliseconds without rows a split counts as idle; `None` means never.
    pub idle_timeout_ms: Option<u64>,
    /// Whether a watermark follows each row that advances it, instead of each batch.
    pub per_row: bool,
}

/// A channel bundle from each subtask of one node to subtasks of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Where rows come from.
    pub from: NodeId,
    /// Where they go.
    pub to: NodeId,
    /// Which input of `to` they are: 0, or 0 for left and 1 for right. Several edges to one port are a union.
    pub port: usize,
    /// Which subtask gets which row.
    pub partitioning: Partitioning,
}

/// Which subtask of the receiving node gets a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Partitioning {
    /// The one of the same index; both sides have the same parallelism.
    Forward,
    /// The one that owns the key group of the row's key.
    Hash(KeySpec),
    /// Batches to each in turn.
    Rebalance,
    /// Every one.
    Broadcast,
}

/// What the key of a row is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KeySpec {
    /// These columns. No columns is the one key that all rows share.
    Columns(Vec<usize>),
    /// Typed rows: a key selector of the registry.
    Typed {
        /// Its kind.
        kind: String,
        /// What its factory reads.
        spec: Value,
    },
}

impl JobGraph {
    /// A graph without nodes.
    pub fn new(name: impl Into<String>) -> Self {
        JobGraph { name: name.into(), key_groups: DEFAULT_KEY_GROUPS, nodes: Vec::new(), edges: Vec::new(), former: Vec::new() }
    }

    /// Adds a node and returns its id; `node.id` is set.
    pub fn add(&mut self, mut node: Node) -> NodeId {
        node.id = self.nodes.len();
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds an edge.
    pub fn connect(&mut self, from: NodeId, to: NodeId, port: usize, partitioning: Partitioning) {
        self.edges.push(Edge { from, to, port, partitioning });
    }

    /// Whether what a snapshot has under an operator's id has a place here: the operator is there, or was only rows on their way.
    pub fn knows(&self, uid: &str) -> bool {
        self.nodes.iter().any(|node| node.uid == uid) || self.former.iter().any(|edge| edge.from == uid)
    }

    /// The edges into a node.
    pub fn inputs(&self, node: NodeId) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |e| e.to == node)
    }

    /// The edges out of a node.
    pub fn outputs(&self, node: NodeId) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |e| e.from == node)
    }
}
