//! What is in the files: records one after the other, or Parquet.

use rheos_core::Result;
use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::TableSpec;

use crate::format::{Format, parquet};

/// The format of a table's files, with its options.
#[derive(Debug, Clone)]
pub(super) enum FileFormat {
    Text(Format),
    Parquet(parquet::Options),
}

impl FileFormat {
    /// The format that a table names, its options checked, and its types too.
    pub(super) fn of(table: &TableSpec) -> Result<FileFormat> {
        if table.option("format") != Some("parquet") {
            return Format::of(table).map(FileFormat::Text);
        }
        parquet::check_types(&table.schema).map_err(|e| e.context(format!("table '{}'", table.name)))?;
        parquet::Options::of(table).map(FileFormat::Parquet)
    }

    /// The kinds of changes that it carries.
    pub(super) fn changelog(&self) -> ChangelogMode {
        match self {
            FileFormat::Text(format) => format.changelog(),
            FileFormat::Parquet(_) => ChangelogMode::InsertOnly,
        }
    }

    /// How the names of its files end, without the dot.
    pub(super) fn file_extension(&self) -> &'static str {
        match self {
            FileFormat::Text(format) => format.file_extension(),
            FileFormat::Parquet(_) => "parquet",
        }
    }
}
