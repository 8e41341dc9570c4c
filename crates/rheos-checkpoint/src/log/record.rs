//! The records of the log, and the names of things under the job's folder.

use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::manifest::{JobInfo, Manifest};

/// The folder of records.
pub const LOG: &str = "log/";
/// The folder of data files.
pub const FILES: &str = "files/";

/// The name of the record at a position.
pub fn record_name(position: u64) -> String {
    format!("{LOG}{position:020}.json")
}

/// The position of the record with this name; `None` if it is not the name of a record.
pub fn record_position(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(LOG)?.strip_suffix(".json")?;
    (digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// The name of a data file that is written under a generation. `rest` must be unique in it.
pub fn file_name(generation: u64, rest: &str) -> String {
    format!("{FILES}{generation}-{rest}")
}

/// The generation under which a data file was written; `None` if it is not the name of a data file.
pub fn file_generation(name: &str) -> Option<u64> {
    name.strip_prefix(FILES)?.split_once('-')?.0.parse().ok()
}

/// What stands in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A coordinator takes the job over.
    Claim(Claim),
    /// A snapshot is complete.
    Manifest(Box<Manifest>),
    /// A manifest that is no longer retained stood here, and its place must stay taken; or one shall never come here, of which it was not
    /// known whether it would.
    Retired {
        /// Its generation.
        generation: u64,
        /// Its epoch; one that no manifest has where none stood here.
        epoch: u64,
    },
}

/// A coordinator takes the job over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The position of this record.
    pub generation: u64,
    /// The job.
    pub job: JobInfo,
    /// When.
    pub at_ms: TimestampMs,
    /// A random number by which a coordinator knows its own claim again.
    pub nonce: u64,
    /// Where it starts from.
    pub start: StartKind,
}

/// Where a coordinator starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    /// Without state: what stands below the claim counts no more.
    Fresh,
    /// From the latest manifest below it.
    Latest,
    /// From a manifest that somebody chose, which follows as the first record of the generation.
    From,
}

impl Record {
    /// Its JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::bug("a record of the log cannot be written as JSON").caused_by(e))
    }

    /// The JSON of the record of a manifest.
    pub fn encode_manifest(manifest: &Manifest) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(tag = "record", rename_all = "snake_case")]
        enum Borrowed<'a> {
            Manifest(&'a Manifest),
        }
        serde_json::to_vec(&Borrowed::Manifest(manifest))
            .map_err(|e| Error::bug(format!("the manifest of epoch {} cannot be written as JSON", manifest.epoch)).caused_by(e))
    }

    /// Reads a record; `name` is the file's, for the error.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Record> {
        let mut value: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("'{name}' is not JSON: {e}")))?;
        if value["record"] == "manifest" {
            if let Some(fields) = value.as_object_mut() {
                fields.remove("record");
            }
            return Manifest::from_value(name, value).map(|m| Record::Manifest(Box::new(m)));
        }
        serde_json::from_value(value).map_err(|e| Error::corrupt(format!("'{name}' is no record of a log: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_positions_belong_together() {
        assert_eq!(record_name(7), "log/00000000000000000007.json");
        assert_eq!(record_position(&record_name(u64::MAX)), Some(u64::MAX));
        for other in ["log/7.json", "log/0000000000000000000x.json", "files/00000000000000000007.json", "log/00000000000000000007"] {
            assert_eq!(record_position(other), None, "{other}");
        }
        assert_eq!(file_generation(&file_name(12, "3-0-count.seg")), Some(12));
        assert_eq!(file_generation("files/x-1"), None);
    }

    #[test]
    fn a_claim_survives_the_way_through_json() {
        let job = JobInfo { id: "j".into(), name: "job".into() };
        let claim = Record::Claim(Claim { generation: 3, job, at_ms: 5, nonce: u64::MAX, start: StartKind::Latest });
        let json = claim.encode().unwrap();
        assert!(String::from_utf8_lossy(&json).starts_with(r#"{"record":"claim","generation":3,"#));
        assert_eq!(Record::decode("r", &json).unwrap(), claim);
    }

    #[test]
    fn what_is_no_record_is_told_as_such() {
        let error = Record::decode("log/1", br#"{"record":"poem"}"#).unwrap_err().to_string();
        assert!(error.starts_with("'log/1' is no record of a log: unknown variant `poem`"), "{error}");
    }
}
