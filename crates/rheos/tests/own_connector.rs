//! Connectors of one's own: rows that are found by their key, and metadata that are read and written.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use futures_util::future::BoxFuture;
use rheos::{ChangelogMode, ColumnBatch, ConnectorInfo, Error, FoldedTable, Prepared, Result, ResultEvent, Session};
use rheos_core::Batch;
use rheos_core::connector::{MetadataInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::lookup::{LookupFactory, LookupReader};
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use rheos_core::types::TypeKind;

/// What was asked of the service, and what was sent to it.
#[derive(Default)]
struct Seen {
    asked: Vec<Vec<i64>>,
    sent: Vec<(i64, Option<i64>)>,
}

/// A service that knows the squares of even numbers, and takes messages with the time of their sending.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<Seen>>);

impl Service {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn info(&self) -> ConnectorInfo {
        ConnectorInfo {
            name: "service",
            doc: "a service",
            options: vec![],
            takes_format: false,
            source: Some(Arc::new(self.clone())),
            sink: Some(Arc::new(self.clone())),
        }
    }
}

fn times() -> Vec<MetadataInfo> {
    vec![MetadataInfo { key: "timestamp", ty: TypeKind::TimestampLtz(3).nullable(), doc: "when it was sent" }]
}

impl SourceFactory for Service {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        let predicates_applied = vec![false; table.predicates.len()];
        Ok(SourceDescription { changelog: ChangelogMode::InsertOnly, bounded: false, predicates_applied })
    }

    fn metadata(&self, _: &TableSpec) -> Vec<MetadataInfo> {
        times()
    }

    fn lookup(&self) -> Option<&dyn LookupFactory> {
        Some(self)
    }

    fn splits(&self, _: &TableSpec, _: usize) -> Result<Vec<Split>> {
        Ok(vec![])
    }

    fn reader(&self, _: &TableSpec, _: Vec<Split>, _: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl SourceReader for Nothing {
    fn next(&mut self, _: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        Box::pin(std::future::ready(Ok(SourceEvent::End)))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(vec![])
    }
}

impl LookupFactory for Service {
    fn check(&self, table: &TableSpec, keys: &[usize]) -> Result<()> {
        let names: Vec<&str> = keys.iter().map(|key| table.column(*key).name.as_str()).collect();
        if names == ["n"] { Ok(()) } else { Err(Error::config(format!("rows are found by 'n' only, not by {}", names.join(", ")))) }
    }

    fn reader(&self, table: &TableSpec, _: &[usize], _: &OperatorContext) -> Result<Arc<dyn LookupReader>> {
        Ok(Arc::new(Squares { service: self.clone(), table: table.clone() }))
    }
}

struct Squares {
    service: Service,
    table: TableSpec,
}

impl LookupReader for Squares {
    fn lookup(&self, keys: RecordBatch) -> BoxFuture<'static, Result<RecordBatch>> {
        let keys: Vec<i64> = keys.column(0).as_primitive::<Int64Type>().values().to_vec();
        self.service.seen().asked.push(keys.clone());
        let schema = self.table.output_schema().to_arrow();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let even: Vec<i64> = keys.into_iter().filter(|n| n % 2 == 0).collect();
            let column = |name: &String| -> ArrayRef {
                match name.as_str() {
                    "n" => Arc::new(Int64Array::from(even.clone())),
                    _ => Arc::new(StringArray::from_iter_values(even.iter().map(|n| (n * n).to_string()))),
                }
            };
            let columns = schema.fields().iter().map(|field| column(field.name())).collect();
            Ok(RecordBatch::try_new(schema, columns)?)
        })
    }
}

impl SinkFactory for Service {
    fn describe(&self, _: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::InsertOnly })
    }

    fn metadata(&self, _: &TableSpec) -> Vec<MetadataInfo> {
        times()
    }

    fn writer(&self, _: &TableSpec, _: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(self.clone()))
    }
}

impl Sink for Service {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch: ColumnBatch = batch.into_columns()?;
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let times = batch.columns().get(1).map(|times| times.as_primitive::<TimestampMillisecondType>().clone());
        for row in 0..batch.num_rows() {
            let time = times.as_ref().filter(|t| t.is_valid(row)).map(|t: &TimestampMillisecondArray| t.value(row));
            self.seen().sent.push((numbers.value(row), time));
        }
        Ok(())
    }

    fn prepare(&mut self, _: Epoch) -> Result<Vec<CommitToken>> {
        Ok(vec![])
    }
}

const NUMBERS: &str = "CREATE TABLE numbers (n BIGINT, at AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '2000',
    'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '1999');";

/// The rows of the last query of a script.
fn run(service: &Service, parallelism: &str, script: &str) -> std::result::Result<Vec<String>, String> {
    let mut session = Session::new();
    session.add_connector(service.info());
    session.set("parallelism.default", parallelism).map_err(|e| e.to_string())?;
    let mut lines = Vec::new();
    for parsed in session.parse(&format!("{NUMBERS} {script}")).map_err(|e| e.to_string())? {
        let Prepared::Job(job) = session.prepare(&parsed.statement).map_err(|e| e.to_string())? else { continue };
        let mut folded = job.result.as_ref().map(|info| FoldedTable::new(info.schema.clone()));
        let mut running = session.start(job).map_err(|e| e.to_string())?;
        while let Some(event) = running.next_result() {
            if let (ResultEvent::Rows(batch), Some(folded)) = (event, &mut folded) {
                folded.apply(&batch).map_err(|e| e.to_string())?;
            }
        }
        running.wait().map_err(|e| e.to_string())?;
        if let Some(folded) = folded {
            lines = folded.lines().map_err(|e| e.to_string())?;
        }
    }
    Ok(lines)
}

const SQUARES: &str = "CREATE TABLE squares (square STRING, n BIGINT) WITH ('connector' = 'service'";

#[test]
fn rows_are_found_by_key_at_any_parallelism_with_and_without_a_cache() {
    let cache = "'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '10'";
    for (parallelism, options) in [("1", ""), ("2", ""), ("2", &*format!(", {cache}"))] {
        let service = Service::default();
        let script = format!(
            "{SQUARES}{options}); SELECT COUNT(*) AS n, COUNT(s.square) AS found, SUM(CAST(s.square AS BIGINT)) AS total
             FROM (SELECT n % 50 AS k, at FROM numbers) AS x LEFT JOIN squares FOR SYSTEM_TIME AS OF x.at AS s ON x.k = s.n;"
        );
        let total: i64 = (0..50).filter(|n| n % 2 == 0).map(|n| n * n * 40).sum();
        assert_eq!(run(&service, parallelism, &script).unwrap(), ["n\tfound\ttotal".to_string(), format!("2000\t1000\t{total}")]);
        let asked = std::mem::take(&mut service.seen().asked);
        assert!(asked.iter().all(|keys| keys.len() <= 50), "each key is asked for once in a batch");
    }
}

#[test]
fn how_a_table_can_be_looked_up_is_said_by_its_connector() {
    let script = |on: &str| format!("{SQUARES}); SELECT x.n FROM numbers AS x JOIN squares FOR SYSTEM_TIME AS OF x.at AS s ON {on};");
    let by_square = run(&Service::default(), "1", &script("CAST(x.n AS STRING) = s.square")).unwrap_err();
    assert!(by_square.contains("rows are found by 'n' only, not by square") && by_square.contains("has no end"), "{by_square}");
    let by_expression = run(&Service::default(), "1", &script("x.n = s.n + 1")).unwrap_err();
    assert!(by_expression.contains("compared with an expression"), "{by_expression}");
}

#[test]
fn metadata_that_are_not_virtual_are_written() {
    let service = Service::default();
    let script = "CREATE TABLE messages (sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', n BIGINT, again TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL)
        WITH ('connector' = 'service');
        INSERT INTO messages SELECT TO_TIMESTAMP_LTZ(n * 1000, 3), n FROM numbers WHERE n < 3;
        INSERT INTO messages (n) SELECT n FROM numbers WHERE n = 7;";
    run(&service, "1", script).unwrap();
    let twice = "CREATE TABLE twice (n BIGINT, a TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', `timestamp` TIMESTAMP_LTZ(3) METADATA)
        WITH ('connector' = 'service'); INSERT INTO twice (n) SELECT n FROM numbers;";
    let error = run(&service, "1", twice).unwrap_err();
    assert!(error.contains("metadata 'timestamp' would be written by several columns"), "{error}");
    let mut sent = std::mem::take(&mut service.seen().sent);
    sent.sort_unstable();
    assert_eq!(sent, [(0, Some(0)), (1, Some(1000)), (2, Some(2000)), (7, None)]);
}
