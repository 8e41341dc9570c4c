//! Writes rows to part files, hidden until they are committed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rheos_core::connector::{TableSpec, parse_memory_bytes};
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{Committer, Sink, SinkDescription, SinkFactory};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

use super::committer::Renamer;
use super::compression::Compression;
use super::format::FileFormat;
use super::names::{next_number, prefix_of_sink, remove_leftovers};
use super::part::{Content, Place};
use super::partitions::Partitions;
use super::writer::{Files, PartWriter};
use super::{glob, path};

/// What a part file may grow to.
const DEFAULT_FILE_BYTES: u64 = 128 << 20;

/// The sink.
#[derive(Debug)]
pub(super) struct PartFiles;

impl SinkFactory for PartFiles {
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        let format = FileFormat::of(&Partitions::of(table)?.of_files(table))?;
        Settings::of(table, &format)?;
        Ok(SinkDescription { accepts: format.changelog() })
    }

    fn takes_partitions(&self) -> bool {
        true
    }

    fn writer(&self, table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>> {
        let partitions = Partitions::of(table)?;
        let schema = partitions.of_files(table).schema;
        let format = FileFormat::of(&partitions.of_files(table))?;
        let Settings { folder, suffix, compression, file_bytes } = Settings::of(table, &format)?;
        fs::create_dir_all(&folder).map_err(|e| {
            Error::config(format!("table '{}' cannot make the folder '{}': {e}", table.name, folder.display())).caused_by(e)
        })?;
        let of_sink = prefix_of_sink(&context.subtask.uid, &context.subtask.job);
        // A commit that comes late must never meet a file of another attempt: numbers alone would come again once files are taken away.
        let attempt = match context.subtask.job.as_str() {
            "" => String::new(),
            _ => format!("{:06x}-", context.env.random.next_u64() >> 40),
        };
        let prefix = format!("{of_sink}{}-{attempt}", context.subtask.index);
        let next = next_number(&folder, &prefix)?;
        let (encoder, content) = match format {
            FileFormat::Text(format) => (Some(format.encoder(&schema)?), Content::Text(compression)),
            FileFormat::Parquet(options) => (None, Content::Parquet(schema.clone(), options)),
        };
        let place = Place { folder, prefix, suffix, next };
        Ok(Box::new(PartWriter {
            sink: context.subtask.uid.clone(),
            encoder,
            partitions,
            columns: schema.to_arrow(),
            files: Files { place, content, file_bytes, closed: Vec::new() },
            open: BTreeMap::new(),
            batches: 0,
        }))
    }

    fn clean_up(&self, table: &TableSpec, uid: &str, job: &str, until_ms: TimestampMs) -> Result<()> {
        let settings = Settings::of(table, &FileFormat::of(&Partitions::of(table)?.of_files(table))?)?;
        if !settings.folder.exists() {
            return Ok(());
        }
        remove_leftovers(&settings.folder, &prefix_of_sink(uid, job), until_ms)
    }

    fn committer(&self, _table: &TableSpec) -> Result<Option<Box<dyn Committer>>> {
        Ok(Some(Box::new(Renamer)))
    }
}

/// Where and how part files are written.
struct Settings {
    folder: PathBuf,
    /// How names end.
    suffix: String,
    compression: Compression,
    file_bytes: u64,
}

impl Settings {
    fn of(table: &TableSpec, format: &FileFormat) -> Result<Self> {
        let text = path::local_path(table)?;
        // Tokens outlive this process, which may have another current folder next time.
        let folder = std::path::absolute(text).map_err(|e| Error::config(format!("table '{}' has the path '{text}': {e}", table.name)))?;
        if folder.is_file() || (glob::is_pattern(text) && !folder.exists()) {
            return Err(Error::config(format!("table '{}' cannot write to '{text}': that is no folder", table.name)));
        }
        let key = "compression";
        let compression = Compression::of_option(table, key)?;
        if compression != Compression::None && matches!(format, FileFormat::Parquet(_)) {
            let value = table.option(key).unwrap_or_default();
            let message = format!("table '{}' has '{key}' = '{value}', but Parquet compresses its own pages", table.name);
            return Err(Error::config(format!("{message}; set 'parquet.compression' = '{}'", value.to_ascii_uppercase())));
        }
        let key = "sink.rolling-policy.file-size";
        let file_bytes = match table.option(key) {
            None => DEFAULT_FILE_BYTES,
            Some(size) => parse_memory_bytes(size).map_err(|e| e.context(format!("option '{key}' of table '{}'", table.name)))?,
        };
        let suffix = format!(".{}{}", format.file_extension(), compression.suffix());
        Ok(Settings { folder, suffix, compression, file_bytes: file_bytes.max(1) })
    }
}
