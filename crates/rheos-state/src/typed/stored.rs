//! Rows of state out of a snapshot.

use arrow::array::{AsArray, LargeBinaryArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

use super::expiry::{Expiry, UNKNOWN};
use super::header::{Header, Shape};
use super::scope::Scope;
use super::ttl::Ttl;

/// What a snapshot holds of one state, if anything.
pub(super) struct Stored<'a> {
    scope: &'a Scope,
    shape: Shape,
    ttl: Option<Ttl>,
    from: Option<(&'a OperatorSnapshot, Option<Header>)>,
}

/// A row of a snapshot.
pub(super) struct StoredRow<'a> {
    pub(super) hash: u64,
    pub(super) parts: [&'a [u8]; 3],
    /// When it was last used.
    pub(super) used_ms: TimestampMs,
}

impl<'a> Stored<'a> {
    /// Looks the state up. One that is not there is empty: the program is younger than the snapshot.
    pub(super) fn find(scope: &'a Scope, shape: Shape, ttl: Option<Ttl>, restored: Option<&'a OperatorSnapshot>) -> Result<Self> {
        let header = |from| Ok((from, Header::of_all(scope, shape.kind, from)?));
        let from = restored.map(header).transpose().map_err(|e| scope.tell(e))?;
        Ok(Stored { scope, shape, ttl, from })
    }

    fn header(&self) -> Option<&Header> {
        self.from.as_ref().and_then(|(_, header)| header.as_ref())
    }

    /// Whether the stored times are those of the clock that is gone by now.
    fn is_timed(&self) -> bool {
        self.header().is_some_and(|header| header.clock.is_some() && header.clock == self.ttl.map(|ttl| ttl.clock))
    }

    /// By which rows expire: time goes on from where the snapshot was taken.
    pub(super) fn expiry(&self) -> Result<Expiry> {
        let expiry = Expiry::new(self.ttl).map_err(|e| self.scope.tell(e))?;
        Ok(match self.header() {
            Some(header) if self.is_timed() => expiry.since(header.now_ms, header.first_ms),
            _ => expiry,
        })
    }

    /// Gives each row to `take`.
    pub(super) fn each_row(&self, mut take: impl FnMut(StoredRow<'_>) -> Result<()>) -> Result<()> {
        let Some((from, header)) = &self.from else { return Ok(()) };
        let has_time = header.as_ref().is_some_and(|header| header.clock.is_some());
        for batch in from.rows(self.scope.name(), &self.shape.types(has_time))? {
            let Some(header) = header else {
                return Err(self.scope.tell(Error::config("it was not written as typed state")));
            };
            let told = |e: Error| self.scope.tell(e.context(format!("written as {}", header.type_name)));
            let hashes = batch.column(0).as_primitive::<UInt64Type>();
            let parts: Vec<&LargeBinaryArray> = batch.columns()[1..=self.shape.parts()].iter().map(|c| c.as_binary::<i64>()).collect();
            let times = self.is_timed().then(|| batch.column(1 + self.shape.parts()).as_primitive::<Int64Type>());
            for row in 0..batch.num_rows() {
                let hash = hashes.value(row);
                self.scope.check(hash)?;
                let part = |i: usize| parts.get(i).map_or(&[][..], |part| part.value(row));
                let used_ms = times.map_or(UNKNOWN, |times| times.value(row));
                take(StoredRow { hash, parts: [part(0), part(1), part(2)], used_ms }).map_err(told)?;
            }
        }
        Ok(())
    }
}
