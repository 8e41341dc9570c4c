//! What a snapshot says of a typed state beside its rows.

use arrow::datatypes::DataType;
use rheos_core::snapshot::{ListKind, OperatorSnapshot};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::codec::{self, ENCODING};
use super::scope::Scope;
use super::ttl::TimeDomain;

/// The first bytes of a header: what it is, and how it and the rows are encoded.
const MAGIC: [u8; 5] = [b'R', b'H', b'K', b'S', ENCODING];

/// What rows are. The numbers are in snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Value,
    List,
    Map,
    Reducing,
    Aggregating,
    Timers,
}

/// What the rows of a state look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    pub(super) type_name: &'static str,
}

impl Shape {
    /// How many columns of bytes a row has: its key, a map key where there is one, its value.
    pub(super) fn parts(self) -> usize {
        match self.kind {
            Kind::Value | Kind::Reducing | Kind::Aggregating => 2,
            Kind::List | Kind::Map | Kind::Timers => 3,
        }
    }

    /// The types of all columns.
    pub(super) fn types(self, has_time: bool) -> Vec<DataType> {
        let mut types = vec![DataType::UInt64];
        types.resize(1 + self.parts(), DataType::LargeBinary);
        types.extend(has_time.then_some(DataType::Int64));
        types
    }
}

/// One instance's word on its state, kept as an item of a union list of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Of which clock the times are at which rows were last used; rows have none where there is no TTL.
    pub(super) clock: Option<TimeDomain>,
    /// The time by which entries expired, and the first that was known.
    pub(super) now_ms: TimestampMs,
    pub(super) first_ms: TimestampMs,
    /// The name of the state's type, for messages.
    pub(super) type_name: String,
}

impl Header {
    pub(super) fn put(&self, scope: &Scope, into: &mut OperatorSnapshot) -> Result<()> {
        let mut encoded = Vec::new();
        codec::encode(self, &mut encoded)?;
        into.put_list(scope.name(), ListKind::Union, [MAGIC.as_slice(), &encoded].concat());
        Ok(())
    }

    /// What the instances said, as one: time is where the hindmost of them is. `None` where the snapshot knows no such state.
    pub(super) fn of_all(scope: &Scope, kind: Kind, from: &OperatorSnapshot) -> Result<Option<Header>> {
        let mut all: Option<Header> = None;
        for item in from.list(scope.name()) {
            let said = Self::from_item(item)?;
            if said.kind != kind {
                return Err(Error::config(format!("it was written as {}, and cannot become {kind:?} state", said.type_name)));
            }
            all = Some(match all {
                None => said,
                Some(other) if other.clock != said.clock => {
                    return Err(Error::corrupt("its instances wrote times of different clocks"));
                }
                Some(other) => Header { now_ms: other.now_ms.min(said.now_ms), first_ms: other.first_ms.min(said.first_ms), ..other },
            });
        }
        Ok(all)
    }

    fn from_item(item: &[u8]) -> Result<Header> {
        match item.split_at_checked(MAGIC.len()) {
            Some((magic, rest)) if magic == MAGIC => codec::decode(rest),
            Some(([magic @ .., encoding], _)) if *magic == MAGIC[..4] => {
                Err(Error::config(format!("it was written in encoding {encoding}; this Rheos reads encoding {ENCODING}")))
            }
            _ => Err(Error::config("it was written as an operator's list, and cannot become keyed state")),
        }
    }
}
