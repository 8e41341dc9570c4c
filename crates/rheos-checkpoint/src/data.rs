//! Handles on bytes that a manifest refers to: inside it, or in a file that never changes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rheos_core::key_group::KeyGroup;
pub use rheos_core::snapshot::SegmentKind;
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes that JSON holds as base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        STANDARD.encode(bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        STANDARD.decode(&text).map(Bytes).map_err(|e| format!("not base64: {e}"))
    }
}

/// Where bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataHandle {
    /// In the manifest itself.
    Inline {
        /// The bytes.
        bytes: Bytes,
    },
    /// In a file, written once and never changed.
    File {
        /// Its name under the job's folder.
        name: String,
        /// How long it is.
        bytes: u64,
        /// The XXH3-128 hash of its content, in hex.
        hash: String,
    },
}

impl DataHandle {
    /// Bytes in the manifest itself.
    pub fn inline(bytes: Vec<u8>) -> Self {
        DataHandle::Inline { bytes: Bytes(bytes) }
    }

    /// The handle of a file with this content.
    pub fn file(name: impl Into<String>, content: &[u8]) -> Self {
        DataHandle::File { name: name.into(), bytes: content.len() as u64, hash: content_hash(content) }
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        match self {
            DataHandle::Inline { bytes } => bytes.0.len() as u64,
            DataHandle::File { bytes, .. } => *bytes,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file's name, if it is a file.
    pub fn file_name(&self) -> Option<&str> {
        match self {
            DataHandle::Inline { .. } => None,
            DataHandle::File { name, .. } => Some(name),
        }
    }

    /// Checks what was read from the file against length and hash. Inline bytes are always right.
    pub fn verify(&self, content: &[u8]) -> Result<()> {
        let DataHandle::File { name, bytes, hash } = self else { return Ok(()) };
        if content.len() as u64 != *bytes {
            return Err(Error::corrupt(format!("file '{name}' has {} bytes, the manifest says {bytes}", content.len())));
        }
        let found = content_hash(content);
        if found != *hash {
            return Err(Error::corrupt(format!("file '{name}' has the hash {found}, the manifest says {hash}")));
        }
        Ok(())
    }
}

/// The hash by which the content of files is known: XXH3-128, seed 0, as 32 hex digits.
pub fn content_hash(content: &[u8]) -> String {
    format!("{:032x}", xxh3_128(content))
}

/// A piece of one keyed state: a base, or a delta over what stands before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentHandle {
    /// What it is.
    pub kind: SegmentKind,
    /// How many rows are in it.
    pub rows: u64,
    /// How many keys it removes.
    pub removed: u64,
    /// Its key groups in the order in which they lie in the file, with their rows.
    pub key_groups: Vec<(KeyGroup, u32)>,
    /// Its bytes.
    pub data: DataHandle,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These values are in manifests: a change of them makes every file look damaged.
    #[test]
    fn the_content_hash_is_pinned() {
        assert_eq!(content_hash(b""), "99aa06d3014798d86001c324468d497f");
        assert_eq!(content_hash(b"rheos").len(), 32);
    }

    #[test]
    fn a_damaged_file_is_told_from_a_good_one() {
        let handle = DataHandle::file("files/1-a", b"content");
        handle.verify(b"content").unwrap();
        assert!(handle.verify(b"contents").unwrap_err().to_string().contains("has 8 bytes, the manifest says 7"));
        assert!(handle.verify(b"c0ntent").unwrap_err().to_string().contains("has the hash"));
    }

    #[test]
    fn bytes_are_base64_in_json() {
        let json = serde_json::to_string(&DataHandle::inline(vec![0, 255])).unwrap();
        assert_eq!(json, r#"{"inline":{"bytes":"AP8="}}"#);
        assert_eq!(serde_json::from_str::<DataHandle>(&json).unwrap(), DataHandle::inline(vec![0, 255]));
        assert!(serde_json::from_str::<Bytes>("\"*\"").unwrap_err().to_string().contains("not base64"));
    }
}
