//! The options of Parquet, and the types that it carries.

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use rheos_core::connector::{FormatInfo, OptionInfo, TableSpec, parse_memory_bytes};
use rheos_core::schema::Schema;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Error, Result};

use crate::format::record::flag;

/// What a row group may take, unless told otherwise: as in Parquet's own library for Java.
const DEFAULT_BLOCK_BYTES: u64 = 128 << 20;

/// How Parquet is written.
#[derive(Debug, Clone)]
pub struct Options {
    /// How pages are compressed.
    pub compression: Compression,
    /// A row group is closed when it has this size.
    pub block_bytes: usize,
}

impl Options {
    /// The options of a table.
    pub(crate) fn of(table: &TableSpec) -> Result<Self> {
        let key = "parquet.compression";
        let compression = match table.option(key).map(str::to_ascii_uppercase).as_deref() {
            None | Some("SNAPPY") => Compression::SNAPPY,
            Some("ZSTD") => Compression::ZSTD(ZstdLevel::default()),
            Some("GZIP") => Compression::GZIP(GzipLevel::default()),
            Some("LZ4_RAW") => Compression::LZ4_RAW,
            Some("UNCOMPRESSED") => Compression::UNCOMPRESSED,
            Some(_) => {
                let (name, value) = (&table.name, table.option(key).unwrap_or_default());
                let message = format!("option '{key}' of table '{name}' is '{value}'");
                return Err(Error::config(format!("{message}; it can be SNAPPY, ZSTD, GZIP, LZ4_RAW or UNCOMPRESSED")));
            }
        };
        let key = "parquet.block.size";
        let block_bytes = match table.option(key) {
            None => DEFAULT_BLOCK_BYTES,
            Some(size) => parse_memory_bytes(size).map_err(|e| e.context(format!("option '{key}' of table '{}'", table.name)))?,
        };
        for (key, only) in [("parquet.utc-timezone", true), ("parquet.write.int64.timestamp", true)] {
            if flag(table, key, only)? != only {
                let message = format!("option '{key}' of table '{}' can only be '{only}'", table.name);
                return Err(Error::config(format!("{message}: timestamps are INT64, and those without a zone are not shifted by one")));
            }
        }
        Ok(Options { compression, block_bytes: usize::try_from(block_bytes).unwrap_or(usize::MAX).max(1) })
    }
}

/// The format as the planner sees it.
pub(crate) fn info() -> FormatInfo {
    let compression = "How pages are compressed: SNAPPY, ZSTD, GZIP, LZ4_RAW or UNCOMPRESSED. Readers find out by themselves.";
    let utc = "Only 'true': TIMESTAMP is written and read as it is, without a shift by a time zone.";
    let int64 = "Only 'true': timestamps are written as INT64 of the unit of their precision. INT96 is read.";
    FormatInfo {
        name: "parquet",
        doc: "Apache Parquet, in files only: of the columns those are read that a query needs, of the row groups and pages those that may match.",
        options: vec![
            OptionInfo::optional("parquet.compression", "SNAPPY", compression),
            OptionInfo::optional("parquet.block.size", "128 MB", "A row group is closed when it has reached this size."),
            OptionInfo::optional("parquet.utc-timezone", "true", utc),
            OptionInfo::optional("parquet.write.int64.timestamp", "true", int64),
        ],
    }
}

/// Refuses what Parquet cannot carry.
pub(crate) fn check_types(schema: &Schema) -> Result<()> {
    schema.fields.iter().try_for_each(|f| check_type(&f.ty).map_err(|e| e.context(format!("column '{}'", f.name))))
}

fn check_type(ty: &LogicalType) -> Result<()> {
    match &ty.kind {
        TypeKind::Null | TypeKind::IntervalYearMonth | TypeKind::IntervalDayTime => {
            Err(Error::config(format!("Parquet cannot carry {}", ty.kind)))
        }
        TypeKind::Row(fields) if fields.is_empty() => Err(Error::config("Parquet cannot carry a ROW without fields")),
        TypeKind::Row(fields) => fields.iter().try_for_each(|f| check_type(&f.ty)),
        TypeKind::Array(element) | TypeKind::Multiset(element) => check_type(element),
        TypeKind::Map(key, value) => check_type(key).and_then(|()| check_type(value)),
        _ => Ok(()),
    }
}
