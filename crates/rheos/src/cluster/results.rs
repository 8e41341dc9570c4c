//! The sink that brings a query's rows to whoever asks the coordinator: by files in the job's folder.
//!
//! Rows are stored under a name that nobody looks at (`results/staged/`) and named by tokens; a commit gives them a name that tells
//! their order (`results/visible/EPOCH-NUMBER`). So each row is there once, whatever dies, and waits for its reader outside of any
//! memory. Who reads says after which name to go on, and what he has read is deleted: a commit that is repeated later brings back
//! only what he has passed.

use std::sync::Arc;

use rheos_coordinator::VISIBLE_RESULTS;
use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Committer, Sink, SinkDescription, SinkFactory};
use rheos_core::storage::Storage;
use rheos_core::time::TimestampMs;
use rheos_core::{Batch, ColumnBatch, Error, Result, batch_bytes};
use rheos_worker::system_env;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

/// The connector's name; the dollar sign keeps it out of SQL.
pub(crate) const CONNECTOR: &str = "$results";

/// Where rows are that are not visible.
const STAGED: &str = "results/staged/";

/// At how many bytes rows are stored without waiting for a snapshot.
const CHUNK_BYTES: usize = 8 << 20;

/// The connector for a job with this folder.
pub(crate) fn connector(storage: Arc<dyn Storage>, runtime: Handle) -> ConnectorInfo {
    let sink = Some(Arc::new(Results { storage, runtime }) as Arc<dyn SinkFactory>);
    ConnectorInfo {
        name: CONNECTOR,
        doc: "internal: a query's result in a cluster",
        options: vec![],
        takes_format: false,
        source: None,
        sink,
    }
}

#[derive(Clone)]
struct Results {
    storage: Arc<dyn Storage>,
    runtime: Handle,
}

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
struct Staged {
    file: String,
    /// The position among those of its epoch.
    number: u64,
}

impl Results {
    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(work)
    }
}

impl SinkFactory for Results {
    fn describe(&self, _table: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, _table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>> {
        let uid = context.subtask.uid.clone();
        Ok(Box::new(Writer { results: self.clone(), uid, rows: Vec::new(), bytes: 0, staged: Vec::new(), number: 0 }))
    }

    fn clean_up(&self, _table: &TableSpec, _uid: &str, _job: &str, until_ms: TimestampMs) -> Result<()> {
        self.wait(async {
            for stored in self.storage.list(STAGED).await? {
                let staged_ms = stored.name.strip_prefix(STAGED).and_then(|name| i64::from_str_radix(name.split('-').next()?, 16).ok());
                if staged_ms.is_none_or(|at| at <= until_ms) {
                    self.storage.delete(&stored.name).await?;
                }
            }
            Ok(())
        })
    }

    fn committer(&self, _table: &TableSpec) -> Result<Option<Box<dyn Committer>>> {
        Ok(Some(Box::new(self.clone())))
    }
}

impl Committer for Results {
    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        for token in tokens {
            let Staged { file, number } = serde_json::from_value(token.payload.clone())?;
            let visible = format!("{VISIBLE_RESULTS}{:020}-{number:06}", token.epoch);
            self.wait(async {
                // What is not there any more was committed before.
                let Some(rows) = self.storage.get(&file).await? else { return Ok(()) };
                self.storage.put_if_absent(&visible, rows).await?;
                self.storage.delete(&file).await
            })?;
        }
        Ok(())
    }

    fn abort(&mut self, tokens: &[CommitToken]) -> Result<()> {
        for token in tokens {
            let Staged { file, .. } = serde_json::from_value(token.payload.clone())?;
            self.wait(self.storage.delete(&file))?;
        }
        Ok(())
    }
}

struct Writer {
    results: Results,
    uid: String,
    rows: Vec<ColumnBatch>,
    bytes: usize,
    /// What is stored and in no token.
    staged: Vec<Staged>,
    number: u64,
}

impl Writer {
    fn stage(&mut self) -> Result<()> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let env = system_env();
        let file = format!("{STAGED}{:016x}-{:016x}", env.clock.now_ms(), env.random.next_u64());
        self.results.wait(self.results.storage.put(&file, batch_bytes::encode(&rows)?))?;
        self.staged.push(Staged { file, number: self.number });
        self.number += 1;
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        self.bytes += batch.retained_bytes();
        self.rows.push(batch);
        if self.bytes >= CHUNK_BYTES { self.stage() } else { Ok(()) }
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        self.stage()?;
        let token = |staged: Staged| {
            let payload = serde_json::to_value(&staged).map_err(|e| Error::bug(e.to_string()))?;
            Ok(CommitToken { sink: self.uid.clone(), epoch, payload })
        };
        std::mem::take(&mut self.staged).into_iter().map(token).collect()
    }

    fn close(&mut self) {
        for Staged { file, .. } in self.staged.drain(..) {
            if let Err(error) = self.results.runtime.block_on(self.results.storage.delete(&file)) {
                tracing::warn!(%error, "rows that nobody will see stay stored");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::registry::Registry;

    use super::*;

    #[test]
    fn rows_are_visible_once_and_in_order_however_often_they_are_committed() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let storage = {
            let _entered = runtime.enter();
            rheos_storage::open(folder.path().to_str().unwrap(), &Default::default()).unwrap()
        };
        let results = Results { storage: Arc::clone(&storage), runtime: runtime.handle().clone() };
        Registry::new().add_connector(connector(Arc::clone(&storage), runtime.handle().clone()));
        let mut writer = Writer { results: results.clone(), uid: "sink".into(), rows: Vec::new(), bytes: 0, staged: Vec::new(), number: 0 };
        let batch = |n: i64| {
            let column: arrow::array::ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![n]));
            Batch::Columns(ColumnBatch::inserts(arrow::array::RecordBatch::try_from_iter([("n", column)]).unwrap()))
        };
        let mut committer = results.clone();
        let mut tokens = Vec::new();
        for epoch in 1..=3 {
            writer.write(batch(epoch as i64)).unwrap();
            tokens.extend(writer.prepare(epoch).unwrap());
        }
        assert_eq!(writer.prepare(4).unwrap(), []);
        committer.commit(&tokens[..2]).unwrap();
        committer.commit(&tokens[..2]).unwrap();
        committer.abort(&tokens[2..]).unwrap();
        let names = runtime.block_on(storage.list("results/")).unwrap();
        let names: Vec<&str> = names.iter().map(|stored| stored.name.as_str()).collect();
        assert_eq!(names, ["results/visible/00000000000000000001-000000", "results/visible/00000000000000000002-000001"]);
    }
}
