//! The create that one writer wins: a conditional put, repeated without mistaking one's own object for another's.

use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Attribute, Attributes, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use rheos_core::storage::PutOutcome;
use rheos_core::{Error, ErrorKind, Result};

use super::{Bucket, failure};
use crate::unique::unique;

/// How often a create is tried, and how long the first pause is; each is twice as long as the one before.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The metadata that says which call wrote an object.
const WRITER: &str = "rheos-writer";

impl Bucket {
    /// Creates an object unless it exists.
    pub(super) async fn create(&self, name: &str, bytes: Bytes) -> Result<PutOutcome> {
        self.heeds_conditions.get_or_try_init(|| self.probe()).await?;
        let (key, writer) = (self.key(name)?, unique());
        // Whether an earlier attempt may have stored the object.
        let mut is_unsure = false;
        let mut attempt = 0;
        loop {
            let error = match self.put_new(&key, &writer, bytes.clone()).await {
                Ok(()) => return Ok(PutOutcome::Created),
                Err(object_store::Error::AlreadyExists { source, .. }) => match self.winner(name, &writer, &bytes).await? {
                    Some(true) if is_unsure => return Ok(PutOutcome::Created),
                    Some(_) => return Ok(PutOutcome::Exists),
                    None => Error::retry(format!("{}: '{name}' is being written by another: {source}", self.description)),
                },
                Err(e) => {
                    let error = self.failure("create", name, e);
                    if error.kind() != ErrorKind::Retry {
                        return Err(error);
                    }
                    is_unsure = true;
                    error
                }
            };
            if attempt + 1 == ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(FIRST_PAUSE * 2u32.pow(attempt)).await;
            attempt += 1;
        }
    }

    async fn put_new(&self, key: &Path, writer: &str, bytes: Bytes) -> object_store::Result<()> {
        let attributes = Attributes::from_iter([(Attribute::Metadata(WRITER.into()), writer.to_string())]);
        let options = PutOptions { mode: PutMode::Create, attributes, ..PutOptions::default() };
        self.once.put_opts(key, bytes.into(), options).await.map(|_| ())
    }

    /// Whether the object that exists is the one of this call, by what it says of its writer; by its bytes where a store
    /// keeps no metadata. None where there is no object: S3 answers "conflict" while another write is under way, which may
    /// still fail.
    async fn winner(&self, name: &str, writer: &str, bytes: &Bytes) -> Result<Option<bool>> {
        let key = self.key(name)?;
        let found = async {
            let found = self.repeating.get(&key).await?;
            let by = found.attributes.get(&Attribute::Metadata(WRITER.into())).map(|by| by.as_ref() == writer);
            match by {
                Some(is_mine) => Ok(is_mine),
                None => Ok(found.bytes().await? == bytes),
            }
        };
        match found.await {
            Ok(is_mine) => Ok(Some(is_mine)),
            Err(e) if failure::is_absent(&e) => Ok(None),
            Err(e) => Err(self.failure("read", name, e)),
        }
    }

    /// Makes sure that the store does not ignore the condition, as some that are said to be compatible do: every writer would
    /// be told that he alone has created the object.
    async fn probe(&self) -> Result<()> {
        let name = format!(".probe-{}", unique());
        let key = self.key(&name)?;
        let write = || self.put_new(&key, "", Bytes::from_static(b"probe"));
        let mut outcome = write().await;
        if outcome.is_ok() {
            outcome = write().await;
        }
        let _ = self.repeating.delete(&key).await;
        match outcome {
            Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            Ok(()) => Err(Error::config(format!(
                "{}: this store ignores 'If-None-Match: *' and lets two writers create one object; snapshots need a store that heeds it",
                self.description
            ))),
            Err(e) => Err(self.failure("create", &name, e)),
        }
    }
}
