//! Tests of the connector as a whole, and what they share: a table, a reader, rows as texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures_util::FutureExt;
use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue, TableSpec};
use rheos_core::env::{Env, ManualClock, SplitMix64};
use rheos_core::operator::{OperatorContext, SubtaskInfo};
use rheos_core::routing::KeyGroups;
use rheos_core::schema::{Field, Schema};
use rheos_core::source::{SourceEvent, SourceReader, Split, assign_splits};
use rheos_core::types::TypeKind;

use super::connector;

mod distributions;
mod options;
mod reading;

const PERSON: &str = "id name emailAddress creditCard city state dateTime extra";
const AUCTION: &str = "id itemName description initialBid reserve dateTime expires seller category extra";
const BID: &str = "auction bidder price channel url dateTime extra";

fn row(names: &str) -> TypeKind {
    let kind = |name: &str| match name {
        "dateTime" | "expires" => TypeKind::Timestamp(3),
        "id" | "initialBid" | "reserve" | "seller" | "category" | "auction" | "bidder" | "price" => TypeKind::BigInt,
        _ => TypeKind::STRING,
    };
    TypeKind::Row(names.split(' ').map(|name| Field::new(name, kind(name).nullable())).collect())
}

fn schema() -> Schema {
    let field = |name, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("event_type", TypeKind::Int),
        field("person", row(PERSON)),
        field("auction", row(AUCTION)),
        field("bid", row(BID)),
    ])
}

fn table(options: &[(&str, &str)]) -> TableSpec {
    TableSpec {
        name: "events".into(),
        connector: "nexmark".into(),
        schema: schema(),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<BTreeMap<_, _>>(),
        projection: None,
        predicates: vec![],
        alternatives: vec![],
    }
}

/// Paths such as `bid.price`.
fn project(mut table: TableSpec, paths: &[&str]) -> TableSpec {
    let path = |text: &&str| {
        let mut names = text.split('.');
        let column = table.schema.index_of(names.next().unwrap()).unwrap();
        let TypeKind::Row(fields) = &table.schema.fields[column].ty.kind else { return ColumnPath { column, fields: vec![] } };
        ColumnPath { column, fields: names.map(|n| fields.iter().position(|f| f.name == n).unwrap()).collect() }
    };
    table.projection = Some(paths.iter().map(path).collect());
    table
}

fn only(mut table: TableSpec, comparison: Comparison, kind: i64) -> TableSpec {
    let path = ColumnPath { column: 0, fields: vec![] };
    table.predicates.push(Predicate { path, comparison, value: PredicateValue::Int(kind) });
    table
}

fn context(clock: Arc<ManualClock>) -> OperatorContext {
    let subtask = SubtaskInfo {
        job: String::new(),
        uid: "1".into(),
        name: "events".into(),
        index: 0,
        parallelism: 1,
        key_group_count: 1,
        key_groups: KeyGroups::all(1),
    };
    OperatorContext { subtask, env: Env { clock, random: Arc::new(SplitMix64::new(0)) }, metrics: Arc::default() }
}

fn reader(table: &TableSpec, splits: Vec<Split>) -> Box<dyn SourceReader> {
    connector().source.unwrap().reader(table, splits, &context(Arc::default())).unwrap()
}

fn splits(table: &TableSpec, parallelism: usize) -> Vec<Split> {
    connector().source.unwrap().splits(table, parallelism).unwrap()
}

fn next(reader: &mut dyn SourceReader, max_rows: usize) -> SourceEvent {
    reader.next(max_rows).now_or_never().expect("a manual clock never lets anyone wait").unwrap()
}

fn records(event: SourceEvent) -> Option<RecordBatch> {
    match event {
        SourceEvent::Rows { batch, .. } => Some(batch.into_columns().unwrap().records().clone()),
        _ => None,
    }
}

/// Reads to the end.
fn drain(reader: &mut dyn SourceReader, max_rows: usize) -> Vec<RecordBatch> {
    let mut batches = vec![];
    loop {
        match next(reader, max_rows) {
            SourceEvent::End => return batches,
            event => batches.extend(records(event)),
        }
    }
}

fn read(table: &TableSpec, parallelism: usize, max_rows: usize) -> RecordBatch {
    let assigned = assign_splits(splits(table, parallelism), parallelism);
    let batches: Vec<_> = assigned.into_iter().flat_map(|splits| drain(&mut *reader(table, splits), max_rows)).collect();
    arrow::compute::concat_batches(&table.output_schema().to_arrow(), &batches).unwrap()
}

/// The rows as texts, sorted.
fn rows(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch.columns().iter().map(|c| ArrayFormatter::try_new(c, &options).unwrap()).collect();
    let mut rows: Vec<String> =
        (0..batch.num_rows()).map(|i| columns.iter().map(|c| c.value(i).to_string()).collect::<Vec<_>>().join("|")).collect();
    rows.sort_unstable();
    rows
}
