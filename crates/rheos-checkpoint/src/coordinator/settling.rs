//! Settling: before anything goes back to the latest snapshot it is decided which one that is. A manifest whose writing failed may be in
//! the log, or still come. So its place is taken: either it is there, or a record that says that it never will be.
//!
//! Looking at the place would not be enough. A region that goes back to the snapshot before, while the manifest is still to come, gives
//! its rows once more; the manifest, once there, would promise those that it gave the first time.

use rheos_core::element::Epoch;

use crate::coordinator::requests::{Purpose, Request, TRIES};
use crate::coordinator::tokens::TokenSet;
use crate::coordinator::{JobMaster, StorageOp, StorageOutcome};
use crate::log::{Appended, Occupant, Record};

/// Manifests of which it is not known whether they are, or will be, in the log. All of them were written to the one next position.
#[derive(Default)]
pub(super) struct Unsettled {
    /// What they promise.
    pub(super) tokens: TokenSet,
    /// The epoch of the record that is to take their place, which no manifest has, and how often it was written.
    barred: Option<(Epoch, u32)>,
}

impl JobMaster {
    /// Whether it is known which snapshot is the latest; has it found out if not.
    pub(super) fn settle(&mut self) -> bool {
        let Some(unsettled) = &mut self.unsettled else { return true };
        if unsettled.barred.is_none() {
            self.epoch += 1;
            unsettled.barred = Some((self.epoch, 0));
            self.put_retired();
        }
        false
    }

    fn put_retired(&mut self) {
        let Some((epoch, tries)) = self.unsettled.as_ref().and_then(|u| u.barred) else { return };
        let Some(log) = &self.log else { return };
        match (Record::Retired { generation: log.appender.generation(), epoch }).encode() {
            Err(e) => self.fail_for_good(e.to_string()),
            Ok(bytes) => {
                let op = StorageOp::PutIfAbsent(log.appender.name(), bytes);
                match tries {
                    0 => self.requests.make(Purpose::PutRetired, op, &mut self.actions),
                    tries => self.requests.repeat(Request { purpose: Purpose::PutRetired, op, tries }, self.now_ms),
                }
            }
        }
    }

    pub(super) fn settle_done(&mut self, request: Request, outcome: StorageOutcome) {
        let Some(log) = &mut self.log else { return };
        let Some(Unsettled { barred: Some((epoch, tries)), .. }) = &mut self.unsettled else { return };
        let occupant = match (&request.purpose, outcome) {
            (Purpose::PutRetired, StorageOutcome::Done) => return self.barred(),
            (Purpose::PutRetired, outcome) => {
                log.contested |= matches!(outcome, StorageOutcome::Failed(_));
                let look = StorageOp::Get(log.appender.name());
                return self.requests.make(Purpose::LookAtRetired, look, &mut self.actions);
            }
            (_, StorageOutcome::Content(bytes)) => Record::decode("record", &bytes).map_or(Occupant::Unreadable, Occupant::Record),
            (_, StorageOutcome::NotFound) => Occupant::Nothing,
            (_, other) => return self.repeat_or_fail(request, &format!("the log cannot be read: {other:?}")),
        };
        // A successor leaves such a record too, but with the epoch of the manifest that was there.
        let ours = Record::Retired { generation: log.appender.generation(), epoch: *epoch };
        if occupant == Occupant::Record(ours) {
            return self.barred();
        }
        match log.appender.look(occupant, 0) {
            Appended::Earlier(manifest) => self.adopt(*manifest),
            Appended::Fenced => self.fence(),
            Appended::Absent | Appended::Done => {
                *tries += 1;
                if *tries < TRIES { self.put_retired() } else { self.fail_for_good("the log cannot be written".into()) }
            }
        }
    }

    /// The place is taken: nothing of what was unsettled will ever be complete.
    fn barred(&mut self) {
        if let Some(log) = &mut self.log {
            log.appender.created();
            log.contested = false;
        }
        self.unsettled = None;
    }
}
