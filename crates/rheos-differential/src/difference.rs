//! Whether the two answers to a case agree.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::anyhow;

use crate::answer::{Answer, Oracle, of_rheos};
use crate::case::Case;
use crate::query::Dialect;

/// What came of a case.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Both give these rows, so many.
    Agrees(usize),
    /// Rheos refuses the query.
    Refused(String),
    /// DataFusion refuses it, or fails.
    NoOracle(String),
    /// They differ, or Rheos breaks.
    Differs {
        /// What Rheos says.
        rheos: String,
        /// What DataFusion says.
        datafusion: String,
    },
}

impl Outcome {
    /// Whether something is wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Outcome::Differs { .. })
    }
}

/// Asks both. `told` is what DataFusion is told for the query's SQL: itself, but for a test of the test.
pub fn compare(case: &Case, oracle: &Oracle, told: impl Fn(String) -> String) -> Outcome {
    let (rows, schema) = match of_rheos(&case.tables, &case.query.sql(Dialect::Rheos), case.parallelism) {
        Answer::Rows(rows, schema) => (rows, schema),
        Answer::Refused(reason) => return Outcome::Refused(reason),
        Answer::Broken(what) => return Outcome::Differs { rheos: format!("BROKEN: {what}"), datafusion: "not asked".into() },
    };
    // DataFusion panics now and then: then it has no answer.
    let asked = AssertUnwindSafe(|| oracle.rows(&case.tables, &told(case.query.sql(Dialect::DataFusion)), &schema));
    match catch_unwind(asked).unwrap_or_else(|_| Err(anyhow!("a panic of DataFusion"))) {
        Ok(theirs) if theirs == rows => Outcome::Agrees(rows.len()),
        Ok(theirs) => Outcome::Differs { rheos: rows.join("\n"), datafusion: theirs.join("\n") },
        Err(e) => Outcome::NoOracle(format!("{e:#}")),
    }
}
