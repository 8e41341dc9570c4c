//! Starting: list, claim, list again, read the records below the claim, and decide where the job starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::barrier::CheckpointKind;
use crate::coordinator::completion::WriteFor;
use crate::coordinator::deletion::JobLog;
use crate::coordinator::requests::{Purpose, Request, TRIES};
use crate::coordinator::{JobEnd, JobMaster, Phase, Start, StorageOp, StorageOutcome};
use crate::log::{Appender, Claim, LOG, Listing, LogContents, Record, Retained, StartKind, record_name};
use crate::manifest::Manifest;

/// How far the start has come.
pub(super) enum Starting {
    Listing,
    Claiming(Claim),
    Reading(Reading),
    /// The manifest that the job starts from is written as the first of the generation.
    Rebasing,
}

pub(super) struct Reading {
    claim: Claim,
    records: BTreeMap<u64, Record>,
    unreadable: BTreeMap<u64, String>,
    left: usize,
}

impl JobMaster {
    pub(super) fn start(&mut self) {
        if self.is_durable() {
            self.phase = Phase::Starting(Starting::Listing);
            self.requests.make(Purpose::ListForClaim, StorageOp::List(LOG.into()), &mut self.actions);
        } else {
            let from = if let Start::From(m) = &self.config.start {
                Some(Arc::new(Manifest { borrowed: true, ..m.as_ref().clone() }))
            } else {
                None
            };
            self.epoch = from.as_ref().map_or(0, |m| m.epoch);
            self.begin(from);
        }
    }

    pub(super) fn starting_done(&mut self, request: Request, outcome: StorageOutcome) {
        let Phase::Starting(starting) = &mut self.phase else { return };
        match (request.purpose.clone(), starting, outcome) {
            (Purpose::ListForClaim, _, StorageOutcome::Names(names)) => {
                let position = Listing::of(names.iter().map(String::as_str)).next_position();
                let start = match self.config.start {
                    Start::Fresh => StartKind::Fresh,
                    Start::Latest => StartKind::Latest,
                    Start::From(_) => StartKind::From,
                };
                let (job, nonce) = (self.config.job.clone(), self.config.nonce);
                self.claim(Claim { generation: position, job, at_ms: self.now_ms, nonce, start }, 0);
            }
            (Purpose::PutClaim, Starting::Claiming(claim), StorageOutcome::Done) => {
                let claim = claim.clone();
                self.claimed(claim);
            }
            // Taken, perhaps by ourselves; or not known.
            (Purpose::PutClaim, Starting::Claiming(claim), StorageOutcome::AlreadyExists | StorageOutcome::Failed(_)) => {
                let look =
                    Request { purpose: Purpose::LookAtClaim, op: StorageOp::Get(record_name(claim.generation)), tries: request.tries };
                self.requests.repeat(look, self.now_ms);
            }
            (Purpose::LookAtClaim, Starting::Claiming(claim), StorageOutcome::Content(bytes)) => {
                let claim = claim.clone();
                if Record::decode("claim", &bytes).is_ok_and(|r| matches!(r, Record::Claim(c) if c.nonce == claim.nonce)) {
                    self.claimed(claim);
                } else {
                    self.phase = Phase::Starting(Starting::Listing);
                    let list = Request { purpose: Purpose::ListForClaim, op: StorageOp::List(LOG.into()), tries: request.tries };
                    self.repeat_or_fail(list, "the job cannot be claimed: others claim it too");
                }
            }
            (Purpose::LookAtClaim, Starting::Claiming(claim), StorageOutcome::NotFound) => {
                let claim = claim.clone();
                self.claim(claim, request.tries);
            }
            (Purpose::ListAfterClaim, Starting::Claiming(claim), StorageOutcome::Names(names)) => {
                let claim = claim.clone();
                let listing = Listing::of(names.iter().map(String::as_str));
                if listing.highest() == Some(claim.generation) { self.read(claim, &listing) } else { self.fence() }
            }
            (Purpose::ReadRecord(position), Starting::Reading(reading), StorageOutcome::Content(bytes)) => {
                match Record::decode(&record_name(position), &bytes) {
                    Ok(record) => drop(reading.records.insert(position, record)),
                    Err(e) => drop(reading.unreadable.insert(position, e.to_string())),
                }
                reading.left -= 1;
                self.read_all();
            }
            // The coordinator before us has deleted it meanwhile.
            (Purpose::ReadRecord(_), Starting::Reading(reading), StorageOutcome::NotFound) => {
                reading.left -= 1;
                self.read_all();
            }
            (_, _, StorageOutcome::Failed(reason)) => self.repeat_or_fail(request, &format!("the log cannot be read: {reason}")),
            _ => {}
        }
    }

    /// Repeats a request, or fails the job when that was done often enough.
    pub(super) fn repeat_or_fail(&mut self, request: Request, message: &str) {
        if request.tries + 1 < TRIES {
            self.requests.repeat(request, self.now_ms);
        } else {
            self.fail_for_good(message.to_string());
        }
    }

    fn claim(&mut self, claim: Claim, tries: u32) {
        let record = Record::Claim(claim.clone());
        let name = record_name(claim.generation);
        self.phase = Phase::Starting(Starting::Claiming(claim));
        match record.encode() {
            Err(e) => self.fail_for_good(e.to_string()),
            Ok(bytes) if tries == 0 => self.requests.make(Purpose::PutClaim, StorageOp::PutIfAbsent(name, bytes), &mut self.actions),
            Ok(bytes) => {
                let put = Request { purpose: Purpose::PutClaim, op: StorageOp::PutIfAbsent(name, bytes), tries };
                self.repeat_or_fail(put, "the job cannot be claimed: storage does not answer");
            }
        }
    }

    fn claimed(&mut self, claim: Claim) {
        self.phase = Phase::Starting(Starting::Claiming(claim));
        self.requests.make(Purpose::ListAfterClaim, StorageOp::List(LOG.into()), &mut self.actions);
    }

    fn read(&mut self, claim: Claim, listing: &Listing) {
        let below: Vec<u64> = listing.positions.iter().copied().filter(|p| *p < claim.generation).collect();
        for position in &below {
            self.requests.make_in_bulk(Purpose::ReadRecord(*position), StorageOp::Get(record_name(*position)));
        }
        let (records, unreadable) = (BTreeMap::new(), BTreeMap::new());
        self.phase = Phase::Starting(Starting::Reading(Reading { claim, records, unreadable, left: below.len() }));
        self.read_all();
    }

    /// When all records are there: decides where the job starts.
    fn read_all(&mut self) {
        let Phase::Starting(Starting::Reading(reading)) = &mut self.phase else { return };
        if reading.left > 0 {
            return;
        }
        let mut records = std::mem::take(&mut reading.records);
        let unreadable = std::mem::take(&mut reading.unreadable);
        let generation = reading.claim.generation;
        records.insert(generation, Record::Claim(reading.claim.clone()));
        let contents = LogContents::new(records);
        let latest = contents.latest();
        if let (Start::Latest, Some((position, reason))) = (&self.config.start, unreadable.last_key_value())
            && latest.map_or(contents.hidden_below(), |(p, _)| p) < *position
        {
            // To go back to an older one would repeat what the newer one committed.
            self.fail_for_good(format!("the latest record of the log, at {position}, cannot be read: {reason}"));
            return;
        }
        let mut retained = Retained::default();
        for (position, manifest) in contents.manifests() {
            retained.insert(position, manifest, contents.is_before_claim(position));
        }
        self.epoch = contents.highest_epoch();
        let latest = latest.map(|(_, m)| Arc::new(m.clone()));
        // What an unreadable manifest names is not known, so nothing counts as left over.
        self.log = Some(JobLog::new(Appender::new(generation), retained, unreadable.is_empty()));
        match &self.config.start {
            Start::Fresh | Start::Latest => self.begin(latest),
            Start::From(manifest) => {
                let manifest = manifest.as_ref().clone();
                self.rebase(manifest, generation);
            }
        }
    }

    fn rebase(&mut self, manifest: Manifest, generation: u64) {
        self.epoch = self.epoch.max(manifest.epoch) + 1;
        let kind = if manifest.kind == CheckpointKind::Final { CheckpointKind::Final } else { CheckpointKind::Checkpoint };
        self.phase = Phase::Starting(Starting::Rebasing);
        self.write_manifest(Arc::new(Manifest { generation, epoch: self.epoch, kind, borrowed: true, ..manifest }), WriteFor::Start);
    }

    /// The job starts from `latest`; a final snapshot has nothing to go on with.
    pub(super) fn begin(&mut self, latest: Option<Arc<Manifest>>) {
        let over = latest.as_ref().is_some_and(|m| m.kind == CheckpointKind::Final);
        if let Some(manifest) = &latest {
            self.unconfirmed.extend(&manifest.tokens);
        }
        self.latest = latest;
        if over {
            self.end(JobEnd::Finished);
        } else {
            self.phase = Phase::Running;
        }
    }
}
