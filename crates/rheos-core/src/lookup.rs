//! The contract of a table that is looked up: rows found by their keys, without reading the table whole.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures_util::future::BoxFuture;

use crate::connector::TableSpec;
use crate::error::Result;
use crate::operator::OperatorContext;

/// Finds rows of one table by the columns that it was made for.
pub trait LookupReader: Send + Sync {
    /// The rows that have one of these keys, as they are now, with the columns of [`TableSpec::output_schema`]. `keys` has the columns
    /// that the reader was made for, in that order; no key is there twice, and none has a NULL. Rows of other keys are not used.
    ///
    /// The future may be dropped before it is ready. An error that says to restart is tried again.
    fn lookup(&self, keys: RecordBatch) -> BoxFuture<'static, Result<RecordBatch>>;
}

/// Makes readers of a kind of table that can be asked by key.
pub trait LookupFactory: Send + Sync {
    /// Whether rows of the table can be found by these columns (positions in the table's schema), or else an error that says by which
    /// they can. Asks nobody.
    fn check(&self, table: &TableSpec, keys: &[usize]) -> Result<()>;

    /// A reader for these columns.
    fn reader(&self, table: &TableSpec, keys: &[usize], context: &OperatorContext) -> Result<Arc<dyn LookupReader>>;
}
