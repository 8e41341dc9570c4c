//! What the tests of this crate share: tables without a planner, batches as lines, decoding in small pieces.

use std::sync::Arc;

use futures_util::FutureExt;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::env::Env;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{OperatorContext, SubtaskInfo};
use rheos_core::routing::RoutingTable;
use rheos_core::schema::{Field, Schema};
use rheos_core::source::{SourceEvent, SourceReader};
use rheos_core::text;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Batch, Result};

use crate::format::Format;

pub(crate) fn array(item: TypeKind) -> TypeKind {
    TypeKind::Array(Box::new(item.nullable()))
}

pub(crate) fn map(value: TypeKind) -> TypeKind {
    TypeKind::Map(Box::new(TypeKind::STRING.not_null()), Box::new(value.nullable()))
}

pub(crate) fn row(fields: &[(&str, TypeKind)]) -> TypeKind {
    TypeKind::Row(fields.iter().map(|(name, kind)| Field::new(*name, kind.clone().nullable())).collect())
}

pub(crate) fn schema(columns: &[(&str, TypeKind)]) -> Schema {
    Schema::new(columns.iter().map(|(name, kind)| Field::new(*name, kind.clone().nullable())).collect())
}

pub(crate) fn table(columns: &[(&str, TypeKind)], options: &[(&str, &str)]) -> TableSpec {
    TableSpec {
        name: "t".into(),
        connector: "filesystem".into(),
        schema: schema(columns),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        projection: None,
        predicates: vec![],
        alternatives: vec![],
    }
}

/// The paths of a projection, each as column and fields.
pub(crate) fn project(mut table: TableSpec, paths: &[&[usize]]) -> TableSpec {
    table.projection = Some(paths.iter().map(|p| ColumnPath { column: p[0], fields: p[1..].to_vec() }).collect());
    table
}

pub(crate) fn context(index: usize, parallelism: usize) -> OperatorContext {
    OperatorContext {
        subtask: SubtaskInfo {
            job: String::new(),
            uid: "sink-1".into(),
            name: "sink".into(),
            index,
            parallelism,
            key_groups: RoutingTable::contiguous(128, parallelism).groups_of(index),
            key_group_count: 128,
        },
        env: Env::manual(7),
        metrics: Arc::new(OperatorMetrics::default()),
    }
}

/// The rows of a batch, each as `+I 1|x|\N`.
pub(crate) fn lines(schema: &Schema, batch: &ColumnBatch) -> Vec<String> {
    assert_eq!(batch.schema(), schema.to_arrow());
    let types: Vec<&LogicalType> = schema.fields.iter().map(|f| &f.ty).collect();
    let line = |row: usize| {
        let mut line = format!("{} ", batch.kind(row).symbol());
        for (i, (ty, column)) in types.iter().zip(batch.columns()).enumerate() {
            line.push_str(if i > 0 { "|" } else { "" });
            text::write_value(&mut line, column.as_ref(), row, ty).unwrap();
        }
        line
    };
    (0..batch.num_rows()).map(line).collect()
}

/// All rows of an input that comes in pieces of `piece` bytes, and how many records were bad.
pub(crate) fn decode_pieces(table: &TableSpec, input: &[u8], piece: usize) -> Result<(Vec<String>, u64)> {
    let metrics = Arc::new(OperatorMetrics::default());
    let mut decoder = Format::of(table)?.decoder(table, metrics.clone());
    let (mut start, mut end, mut rows) = (0, 0, Vec::new());
    loop {
        end = (end + piece).min(input.len());
        let ended = end == input.len();
        start += decoder.decode(&input[start..end], ended, usize::MAX)?;
        rows.extend(decoder.finish()?.iter().flat_map(|b| lines(&table.output_schema(), b)));
        if ended && start == end {
            return Ok((rows, metrics.bad_records.get()));
        }
    }
}

/// All rows of an input, which must not depend on how it is cut.
pub(crate) fn decode(table: &TableSpec, input: &str) -> Result<Vec<String>> {
    let whole = decode_pieces(table, input.as_bytes(), input.len().max(1))?;
    for piece in [1, 7] {
        assert_eq!(decode_pieces(table, input.as_bytes(), piece)?, whole, "in pieces of {piece} bytes");
    }
    Ok(whole.0)
}

/// What a reader says next; it must have no need to wait.
pub(crate) fn next(reader: &mut dyn SourceReader, max_rows: usize) -> Result<SourceEvent> {
    reader.next(max_rows).now_or_never().expect("the reader waits")
}

/// All rows that a reader has left.
pub(crate) fn read_all(schema: &Schema, reader: &mut dyn SourceReader, max_rows: usize) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    loop {
        match next(reader, max_rows)? {
            SourceEvent::Rows { batch: Batch::Columns(batch), .. } => {
                assert!(batch.num_rows() > 0);
                rows.extend(lines(schema, &batch));
            }
            SourceEvent::Rows { .. } => panic!("typed rows"),
            SourceEvent::SplitEnd { .. } | SourceEvent::Drained => {}
            SourceEvent::End => return Ok(rows),
        }
    }
}
