//! Rheos, assembled: a session over SQL, and a local cluster in one process.
//!
//! ```no_run
//! use rheos::{Prepared, Session};
//!
//! # fn main() -> rheos::Result<()> {
//! let mut session = Session::new();
//! for parsed in session.parse("SELECT 1 + 1 AS two")? {
//!     if let Prepared::Job(job) = session.prepare(&parsed.statement)? {
//!         let mut running = session.start(job)?;
//!         while let Some(event) = running.next_result() {
//!             println!("{event:?}");
//!         }
//!         running.wait()?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod assembly;
mod checkpointing;
pub mod cluster;
mod collect;
mod fold;
mod functions;
mod local;
pub mod program;
mod relations;
mod running;
mod session;
mod settings;
pub mod snapshots;
mod start;
pub mod torture;

pub use assembly::registry;
pub use collect::ResultEvent;
pub use fold::FoldedTable;
pub use functions::{FunctionInfo, functions};
pub use relations::{RelationInfo, relation_of};
pub use rheos_checkpoint::coordinator::{CheckpointStats, Recovery};
pub use rheos_connectors::format;
pub use rheos_coordinator::{Note, Observer};
pub use rheos_core::changelog::{ChangelogMode, RowKind};
pub use rheos_core::connector::ConnectorInfo;
pub use rheos_core::schema::Schema;
pub use rheos_core::{ColumnBatch, Error, ErrorKind, Result};
pub use rheos_graph::{JobMetrics, OperatorReport, TaskReport};
pub use rheos_sql::parser::{Explain, Parsed, Statement};
pub use rheos_sql::{SqlError, SqlResult};
pub use running::{JobEnd, NoMoreResults, Running};
pub use session::{Job, Prepared, ResultInfo, Session};
pub use start::{StartFrom, StartOptions};
