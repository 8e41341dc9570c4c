//! Files as tables: reads a file, a folder or a pattern of files, and writes part files that appear only when whole.

mod committer;
mod compression;
mod file_metadata;
mod folder;
mod format;
mod glob;
mod hive;
mod input;
mod names;
mod part;
mod partitions;
mod path;
mod reading;
mod sink;
mod source;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;

use rheos_core::connector::{ConnectorInfo, OptionInfo};

/// The connector.
pub fn connector() -> ConnectorInfo {
    let closed = "Accepted for Flink's sake: part files are closed at every snapshot and at the end of the input anyway.";
    ConnectorInfo {
        name: "filesystem",
        doc: "Local files: a file, all files of a folder, or a pattern such as data/*/part-*.csv; names that end in .gz, .zst or .zstd are unpacked.",
        options: vec![
            OptionInfo::required("path", "The file, folder or pattern (*, ?, **) to read, or the folder to write to."),
            OptionInfo::optional("source.path.regex-pattern", "none", "Reads only files whose whole path matches this regular expression."),
            OptionInfo::optional(
                "source.monitor-interval",
                "none",
                "Watches the folder for ever: lists it so often, and reads each new file once.",
            ),
            OptionInfo::optional("partition.default-name", hive::DEFAULT_NAME, "The folder of a partition column's NULL or empty text."),
            OptionInfo::optional("sink.rolling-policy.file-size", "128 MB", "A part file is closed when it has reached this size."),
            OptionInfo::optional("sink.rolling-policy.rollover-interval", "none", closed),
            OptionInfo::optional("sink.rolling-policy.check-interval", "none", closed),
            OptionInfo::optional("compression", "none", "'gzip' or 'zstd': part files of text are compressed, and named .gz or .zst."),
        ],
        takes_format: true,
        source: Some(Arc::new(source::Files)),
        sink: Some(Arc::new(sink::PartFiles)),
    }
}
