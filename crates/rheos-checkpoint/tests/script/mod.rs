//! The interpreter of scripts.

mod config;
mod show;

use std::collections::{BTreeMap, VecDeque};

use rheos_checkpoint::coordinator::{Action, CommitError, Event, JobMaster, Start, StorageOp, StorageOutcome, Subtask};
use rheos_checkpoint::log::{Claim, Listing, Record, StartKind, record_name};
use rheos_checkpoint::{DataHandle, OperatorPart, PartStats, SegmentHandle, SegmentKind, SubtaskId, SubtaskPart, SubtaskState};
use rheos_core::sink::CommitToken;

/// Runs a script and gives it back with what came out.
pub(super) fn run(text: &str) -> String {
    let mut script = Script::default();
    let mut out = String::new();
    for line in text.lines().filter(|l| !l.starts_with("  ")) {
        out.push_str(line);
        out.push('\n');
        if !line.is_empty() && !line.starts_with('#') {
            script.line(line);
            script.shown.drain(..).for_each(|s| out.push_str(&format!("  {s}\n")));
        }
    }
    out
}

#[derive(Default)]
struct Script {
    config: config::Settings,
    subtasks: Vec<Subtask>,
    master: Option<JobMaster>,
    now_ms: i64,
    store: BTreeMap<String, Vec<u8>>,
    /// What happens to the next writes.
    faults: VecDeque<Fault>,
    /// Requests that storage keeps for later.
    kept: Vec<(u64, StorageOp)>,
    /// Requests that take effect later, when nobody waits for their outcome.
    late: Vec<StorageOp>,
    shown: Vec<String>,
    masters: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Lose,
    Fail,
    Late,
    Keep,
}

impl Script {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<u64>().unwrap_or_else(|_| panic!("{line}: '{}' is no number", words[i]));
        let rest = |i: usize| words.get(i..).unwrap_or(&[]).join(" ");
        match words[0] {
            "config" => self.config.set(&words[1..]),
            "subtasks" => self.subtasks = words[1..].iter().map(|w| subtask(w)).collect(),
            "new" => {
                self.masters += 1;
                let mut config = self.config.config(self.masters);
                if words.get(1) == Some(&"from") {
                    let name = record_name(number(2));
                    let Ok(Record::Manifest(manifest)) = Record::decode(&name, &self.store[&name]) else { panic!("{line}: no manifest") };
                    config.start = Start::From(manifest);
                }
                self.master = Some(JobMaster::new(config, self.subtasks.clone()));
                self.event(Event::Tick);
            }
            "at" => {
                self.now_ms = number(1) as i64;
                self.event(Event::Tick);
            }
            "deployed" => self.event(Event::Deployed { attempt: number(1) }),
            "ack" => self.event(Event::Ack { attempt: number(1), epoch: number(2), part: part(words[3], &words[4..]) }),
            // The epoch is the last one whose barrier it has passed on.
            "ended" => self.event(Event::Ended { attempt: number(1), after: number(2), part: part(words[3], &words[4..]) }),
            "declined" => {
                let subtask = subtask(words[3]).id;
                self.event(Event::Declined { attempt: number(1), epoch: number(2), subtask, reason: rest(4) });
            }
            "failed" => self.event(Event::Failed { attempt: number(1), message: rest(2), restartable: true }),
            "broken" => self.event(Event::Failed { attempt: number(1), message: rest(2), restartable: false }),
            "stopped" => self.event(Event::Stopped { attempt: number(1) }),
            "committed" => self.event(Event::CommitDone { commit: number(1), outcome: Ok(()) }),
            "uncommitted" => {
                let error = CommitError { message: rest(2), restartable: true };
                self.event(Event::CommitDone { commit: number(1), outcome: Err(error) });
            }
            "savepoint" => self.event(Event::SavepointRequested),
            "stop" => self.event(Event::StopRequested { savepoint: words.get(1) == Some(&"savepoint") }),
            "wakeup" => {
                let at = self.master.as_ref().and_then(JobMaster::next_wakeup_ms);
                self.shown.push(at.map_or("none".into(), |ms| ms.to_string()));
            }
            "store" => {
                let names: Vec<String> = self.store.iter().map(|(name, bytes)| show::stored(name, bytes)).collect();
                self.shown.extend(names);
            }
            "lose" => self.faults.push_back(Fault::Lose),
            "late" => self.faults.push_back(Fault::Late),
            "fail" => self.faults.push_back(Fault::Fail),
            "keep" => self.faults.push_back(Fault::Keep),
            "release" => {
                let late = std::mem::take(&mut self.late);
                late.iter().for_each(|request| drop(self.effect(request)));
                let kept = std::mem::take(&mut self.kept);
                kept.into_iter().for_each(|(op, request)| self.apply(op, request));
            }
            "refuse" => {
                let kept = std::mem::take(&mut self.kept);
                let outcome = || StorageOutcome::Failed("storage is away".into());
                kept.into_iter().for_each(|(op, _)| self.event(Event::Storage { op, outcome: outcome() }));
            }
            "file" => drop(self.store.insert(words[1].into(), vec![0])),
            "damage" => drop(self.store.insert(record_name(number(1)), b"{".to_vec())),
            "rival" => {
                let generation = Listing::of(self.store.keys().map(String::as_str)).next_position();
                let job = self.config.config(0).job;
                let claim = Claim { generation, job, at_ms: self.now_ms, nonce: 0, start: StartKind::Latest };
                self.store.insert(record_name(generation), Record::Claim(claim).encode().unwrap());
            }
            other => panic!("'{other}' is no command"),
        }
    }

    fn event(&mut self, event: Event) {
        let actions = self.master.as_mut().expect("'new' comes first").handle(self.now_ms, event);
        for action in actions {
            match action {
                Action::Storage { op, request } => self.request(op, request),
                other => self.shown.push(show::action(&other)),
            }
        }
    }

    fn request(&mut self, op: u64, request: StorageOp) {
        let writes = matches!(request, StorageOp::PutIfAbsent(..) | StorageOp::Replace(..) | StorageOp::Delete(_));
        match if writes { self.faults.pop_front() } else { None } {
            None => self.apply(op, request),
            Some(Fault::Keep) => {
                self.shown.push(format!("{}: kept", show::request(&request)));
                self.kept.push((op, request));
            }
            Some(fault) => {
                self.shown.push(format!("{}: no reply", show::request(&request)));
                if fault == Fault::Lose {
                    self.effect(&request);
                }
                if fault == Fault::Late {
                    self.late.push(request);
                }
                self.event(Event::Storage { op, outcome: StorageOutcome::Failed("storage is away".into()) });
            }
        }
    }

    fn apply(&mut self, op: u64, request: StorageOp) {
        let outcome = self.effect(&request);
        if !matches!(request, StorageOp::List(_) | StorageOp::Get(_)) {
            let taken = if outcome == StorageOutcome::AlreadyExists { ": taken" } else { "" };
            self.shown.push(format!("{}{taken}", show::request(&request)));
        }
        self.event(Event::Storage { op, outcome });
    }

    fn effect(&mut self, request: &StorageOp) -> StorageOutcome {
        match request {
            StorageOp::List(prefix) => {
                StorageOutcome::Names(self.store.keys().filter(|name| name.starts_with(prefix.as_str())).cloned().collect())
            }
            StorageOp::Get(name) => self.store.get(name).map_or(StorageOutcome::NotFound, |b| StorageOutcome::Content(b.clone())),
            StorageOp::PutIfAbsent(name, _) if self.store.contains_key(name) => StorageOutcome::AlreadyExists,
            StorageOp::PutIfAbsent(name, bytes) | StorageOp::Replace(name, bytes) => {
                self.store.insert(name.clone(), bytes.clone());
                StorageOutcome::Done
            }
            StorageOp::Delete(name) => {
                self.store.remove(name);
                StorageOutcome::Done
            }
        }
    }
}

/// `2/0`, with a star if it is a source, and with its region if that is not 0: `2/0*@1`.
fn subtask(text: &str) -> Subtask {
    let (text, region) = text.split_once('@').unwrap_or((text, "0"));
    let (task, index) = text.trim_end_matches('*').split_once('/').expect("task/index");
    let id = SubtaskId { task: task.parse().unwrap(), index: index.parse().unwrap() };
    Subtask { id, source: text.ends_with('*'), region: region.parse().unwrap() }
}

/// Words are tokens (`sink@epoch`) and files (`+name`).
fn part(id: &str, words: &[&str]) -> SubtaskPart {
    let id = subtask(id).id;
    let (files, tokens): (Vec<&str>, Vec<&str>) = words.iter().partition(|w| w.starts_with('+'));
    let token = |word: &&str| {
        let (sink, epoch) = word.split_once('@').expect("sink@epoch");
        CommitToken { sink: sink.into(), epoch: epoch.parse().unwrap(), payload: serde_json::Value::Null }
    };
    let segment = |file: &&str| SegmentHandle {
        kind: SegmentKind::Base,
        rows: 1,
        removed: 0,
        key_groups: Vec::new(),
        data: DataHandle::file(&file[1..], file.as_bytes()),
    };
    let mut state = SubtaskState::default();
    if !files.is_empty() {
        state.keyed.insert("state".into(), files.iter().map(segment).collect());
    }
    let operator = OperatorPart { uid: format!("op{}", id.task), name: "Op".into(), parallelism: 1, state };
    SubtaskPart { subtask: id, operators: vec![operator], tokens: tokens.iter().map(token).collect(), stats: PartStats::default() }
}
