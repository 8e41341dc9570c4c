//! Reading a table: whole, or the rows of some keys.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use futures_util::future::{BoxFuture, Either, select};
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::TableSpec;
use rheos_core::env::Env;
use rheos_core::error::{Error, ErrorKind, Result};
use rheos_core::lookup::LookupReader;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceEvent, SourceFactory};

/// How many rows are read at a time.
const BATCH_ROWS: usize = 8192;
/// How long to wait before a lookup that failed is tried again, in milliseconds.
const RETRY_AFTER_MS: u64 = 100;

/// Reads all rows of a table that ends. It gives way after each batch.
pub(super) fn read_all(
    source: Arc<dyn SourceFactory>,
    table: TableSpec,
    context: OperatorContext,
) -> BoxFuture<'static, Result<Vec<ColumnBatch>>> {
    Box::pin(async move {
        let splits = source.splits(&table, 1)?;
        let mut reader = source.reader(&table, splits, &context)?;
        let mut rows = Vec::new();
        loop {
            match reader.next(BATCH_ROWS).await? {
                SourceEvent::Rows { batch, .. } => rows.push(batch.into_columns()?),
                SourceEvent::SplitEnd { .. } | SourceEvent::Drained => {}
                SourceEvent::End => return Ok(rows),
            }
            GiveWay(false).await;
        }
    })
}

/// Asks for the rows of some keys, again where that fails for now or takes too long.
pub(super) fn ask(
    reader: Arc<dyn LookupReader>,
    keys: RecordBatch,
    max_retries: u32,
    timeout_ms: u64,
    env: Env,
) -> BoxFuture<'static, Result<RecordBatch>> {
    Box::pin(async move {
        let mut tries = 0;
        loop {
            let answer = match select(reader.lookup(keys.clone()), env.clock.sleep_ms(timeout_ms)).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(Error::restart(format!("no answer to a lookup of {} keys in {timeout_ms} ms", keys.num_rows()))),
            };
            match answer {
                Err(e) if matches!(e.kind(), ErrorKind::Retry | ErrorKind::RestartJob) && tries < max_retries => {
                    tries += 1;
                    env.clock.sleep_ms(RETRY_AFTER_MS << tries.min(6)).await;
                }
                Err(e) if tries > 0 => return Err(e.context(format!("tried {} times", tries + 1))),
                answer => return answer,
            }
        }
    })
}

/// Is ready when it is polled the second time.
struct GiveWay(bool);

impl Future for GiveWay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
