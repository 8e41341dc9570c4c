//! Measures how fast a file is decoded: `cargo run --release --example decode -- FILE FORMAT 'a BIGINT, r.b STRING' [ROUNDS]`.
//!
//! The columns say what is built; those with a point lie within a row of the table.

use std::io::Write;
use std::sync::Arc;

use rheos_connectors::format::Format;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::env::system_monotonic_ns;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;
use rheos_core::{Error, Result};

fn kind(name: &str) -> Result<TypeKind> {
    Ok(match name {
        "BOOLEAN" => TypeKind::Boolean,
        "INT" => TypeKind::Int,
        "BIGINT" => TypeKind::BigInt,
        "DOUBLE" => TypeKind::Double,
        "STRING" => TypeKind::STRING,
        "DECIMAL" => TypeKind::Decimal(10, 2),
        "TIMESTAMP" => TypeKind::Timestamp(3),
        other => return Err(Error::config(format!("'{other}' is no type that this example knows"))),
    })
}

/// A table of the named columns, and a projection that takes them all.
fn table(format: &str, columns: &str) -> Result<TableSpec> {
    let mut fields: Vec<Field> = Vec::new();
    let mut projection = Vec::new();
    for column in columns.split(',') {
        let (path, ty) = column.trim().split_once(' ').ok_or_else(|| Error::config(format!("'{column}' is no name and type")))?;
        let ty = kind(ty)?.nullable();
        let (name, inner) = path.split_once('.').map_or((path, None), |(name, inner)| (name, Some(inner)));
        let at = fields.iter().position(|f| f.name == name).unwrap_or(fields.len());
        if at == fields.len() {
            fields.push(Field::new(name, if inner.is_some() { TypeKind::Row(vec![]).nullable() } else { ty.clone() }));
        }
        let mut steps = Vec::new();
        if let (Some(inner), TypeKind::Row(row)) = (inner, &mut fields[at].ty.kind) {
            steps.push(row.len());
            row.push(Field::new(inner, ty));
        }
        projection.push(ColumnPath { column: at, fields: steps });
    }
    Ok(TableSpec {
        name: "t".into(),
        connector: "filesystem".into(),
        schema: Schema::new(fields),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: [("format".to_string(), format.to_string()), (format!("{format}.on-error"), "skip".to_string())].into(),
        projection: Some(projection),
        predicates: vec![],
        alternatives: vec![],
    })
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, format, columns, rest @ ..] = arguments.as_slice() else {
        return Err(Error::config("usage: decode FILE FORMAT COLUMNS [ROUNDS]"));
    };
    let table = table(format, columns)?;
    let input = std::fs::read(file)?;
    let rounds: u32 = rest.first().map_or(Ok(5), |r| r.parse().map_err(|_| Error::config(format!("'{r}' is no number of rounds"))))?;
    for _ in 0..rounds {
        let metrics = Arc::new(OperatorMetrics::default());
        let mut decoder = Format::of(&table)?.decoder(&table, metrics.clone());
        let (mut at, mut rows) = (0, 0);
        let started_ns = system_monotonic_ns();
        while at < input.len() {
            at += decoder.decode(&input[at..], true, 8192)?;
            rows += decoder.finish()?.map_or(0, |b| b.num_rows());
        }
        let elapsed_ns = (system_monotonic_ns() - started_ns).max(1);
        let (mb_per_second, ns_per_row) = (input.len() as f64 * 1e3 / elapsed_ns as f64, elapsed_ns as f64 / f64::from(rows.max(1) as u32));
        let bad = metrics.bad_records.get();
        writeln!(std::io::stdout(), "{rows} rows, {bad} bad records: {mb_per_second:.0} MB/s, {ns_per_row:.0} ns a row")?;
    }
    Ok(())
}
