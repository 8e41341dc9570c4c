//! What a table can know of the file that a row is from.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use arrow::datatypes::DataType;
use rheos_core::connector::MetadataInfo;
use rheos_core::types::TypeKind;
use rheos_core::{Error, Result};

/// A key of METADATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileMetadata {
    Path,
    Name,
    Size,
    ModificationTime,
}

impl FileMetadata {
    const ALL: [FileMetadata; 4] = [FileMetadata::Path, FileMetadata::Name, FileMetadata::Size, FileMetadata::ModificationTime];

    /// What it is.
    pub(super) fn info(self) -> MetadataInfo {
        let (key, kind, doc) = match self {
            FileMetadata::Path => ("file.path", TypeKind::STRING, "the path of the file, as the table's path leads to it"),
            FileMetadata::Name => ("file.name", TypeKind::STRING, "the name of the file"),
            FileMetadata::Size => ("file.size", TypeKind::BigInt, "the bytes of the file, packed as it is"),
            FileMetadata::ModificationTime => ("file.modification-time", TypeKind::TimestampLtz(3), "when the file was changed last"),
        };
        MetadataInfo { key, ty: kind.not_null(), doc }
    }

    /// The key of that name.
    pub(super) fn of(key: &str) -> Option<FileMetadata> {
        Self::ALL.into_iter().find(|m| m.info().key == key)
    }

    /// All that there are.
    pub(super) fn infos() -> Vec<MetadataInfo> {
        Self::ALL.into_iter().map(FileMetadata::info).collect()
    }

    /// Its one value for a file.
    pub(super) fn value(self, file: &str) -> Result<ArrayRef> {
        let known = || std::fs::metadata(file).map_err(|e| Error::restart(format!("file '{file}': {e}")).caused_by(e));
        Ok(match self {
            FileMetadata::Path => Arc::new(StringArray::from(vec![file])),
            FileMetadata::Name => Arc::new(StringArray::from(vec![file.rsplit('/').next().unwrap_or(file)])),
            FileMetadata::Size => Arc::new(Int64Array::from(vec![known()?.len() as i64])),
            FileMetadata::ModificationTime => {
                let changed = known()?.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                let DataType::Timestamp(_, zone) = self.info().ty.to_arrow() else { return Err(Error::bug("a time that is no timestamp")) };
                let ms = changed.map_or(0, |since| since.as_millis() as i64);
                Arc::new(TimestampMillisecondArray::from(vec![ms]).with_timezone_opt(zone))
            }
        })
    }
}
