//! The nouns of Rheos, in the order in which a row meets them.
//!
//! 1. A [`source::SourceReader`] hands over [`batch::Batch`]es of one split; the worker derives [`time::Watermark`]s.
//! 2. Batches, watermarks, barriers and the end travel as [`element::Element`]s, in the order that [`grammar`] allows.
//! 3. [`operator::Operator`]s consume elements and emit through a bounded [`collector::Collector`].
//! 4. Between tasks, rows are routed by [`key_group`]; [`snapshot::OperatorSnapshot`] holds state by the same groups.
//! 5. A [`sink::Sink`] writes what comes out, and a [`sink::Committer`] makes it visible.
//! 6. [`storage::Storage`] keeps what must outlive the process.
//!
//! Everything that a process must be given rather than take (clock, randomness) comes through [`env::Env`]; everything
//! that is chosen by name (connectors, operators) through [`registry::Registry`].
//!
//! This crate knows nothing of threads, sockets, SQL or files.

pub mod batch;
pub mod batch_bytes;
pub mod changelog;
pub mod collector;
pub mod connector;
pub mod element;
pub mod env;
pub mod error;
pub mod grammar;
pub mod key_group;
pub mod lookup;
pub mod metrics;
pub mod operator;
pub mod registry;
pub mod routing;
pub mod rows;
pub mod schema;
pub mod sink;
pub mod snapshot;
pub mod source;
pub mod storage;
pub mod testing;
pub mod text;
pub mod time;
pub mod types;

pub use batch::{Batch, ColumnBatch};
pub use error::{Error, ErrorKind, Result};
