//! What messages carry, as the types of the engine.

use std::sync::Arc;

use rheos_checkpoint::SubtaskId;
use rheos_checkpoint::coordinator::{Attempt, CommitError, Event, Restore};
use rheos_checkpoint::manifest::Manifest;
use rheos_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::v1;
use crate::v1::attempt_event::Event as Said;
use crate::v1::restore::From as RestoreFrom;

/// Something as JSON.
pub fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Error::bug(format!("a message cannot be written as JSON: {e}")).caused_by(e))
}

/// Something from JSON; `what` is named in the error.
pub fn from_json<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|e| Error::corrupt(format!("a message with {what} that cannot be read: {e}")).caused_by(e))
}

/// What an attempt starts from.
pub fn restore_to(restore: &Restore) -> Result<v1::Restore> {
    let from = match restore {
        Restore::Fresh => RestoreFrom::Fresh(true),
        Restore::EndOfInput => RestoreFrom::EndOfInput(true),
        Restore::From(manifest) => RestoreFrom::ManifestJson(manifest.encode()?),
    };
    Ok(v1::Restore { from: Some(from) })
}

/// The same from a message.
pub fn restore_from(message: Option<v1::Restore>) -> Result<Restore> {
    match message.and_then(|m| m.from) {
        Some(RestoreFrom::Fresh(_)) => Ok(Restore::Fresh),
        Some(RestoreFrom::EndOfInput(_)) => Ok(Restore::EndOfInput),
        Some(RestoreFrom::ManifestJson(json)) => Ok(Restore::From(Arc::new(Manifest::decode("the snapshot to restore", &json)?))),
        None => Err(Error::corrupt("a message without what the attempt starts from")),
    }
}

/// What is told of an attempt; `None` for events that are not a worker's.
pub fn event_to(event: &Event) -> Result<Option<(Attempt, Said)>> {
    Ok(Some(match event {
        Event::Deployed { attempt } => (*attempt, Said::Deployed(v1::Deployed {})),
        Event::Stopped { attempt } => (*attempt, Said::Stopped(v1::Stopped {})),
        Event::Ack { attempt, epoch, part } => (*attempt, Said::Ack(v1::Ack { epoch: *epoch, part_json: to_json(part)? })),
        Event::Ended { attempt, after, part } => (*attempt, Said::Ended(v1::Ended { after: *after, part_json: to_json(part)? })),
        Event::Declined { attempt, epoch, subtask, reason } => {
            let (task, index) = (subtask.task as u32, subtask.index as u32);
            (*attempt, Said::Declined(v1::Declined { epoch: *epoch, task, index, reason: reason.clone() }))
        }
        Event::Failed { attempt, message, restartable } => {
            (*attempt, Said::Failed(v1::Failed { message: message.clone(), restartable: *restartable }))
        }
        _ => return Ok(None),
    }))
}

/// The same from a message.
pub fn event_from(attempt: Attempt, said: Said) -> Result<Event> {
    Ok(match said {
        Said::Deployed(_) => Event::Deployed { attempt },
        Said::Stopped(_) => Event::Stopped { attempt },
        Said::Ack(v1::Ack { epoch, part_json }) => Event::Ack { attempt, epoch, part: from_json("a part of a snapshot", &part_json)? },
        Said::Ended(v1::Ended { after, part_json }) => Event::Ended { attempt, after, part: from_json("a last part", &part_json)? },
        Said::Declined(v1::Declined { epoch, task, index, reason }) => {
            Event::Declined { attempt, epoch, subtask: SubtaskId { task: task as usize, index: index as usize }, reason }
        }
        Said::Failed(v1::Failed { message, restartable }) => Event::Failed { attempt, message, restartable },
    })
}

/// How something failed.
pub fn failure_to(error: &CommitError) -> v1::Failed {
    v1::Failed { message: error.message.clone(), restartable: error.restartable }
}

/// The same from a message.
pub fn failure_from(failed: v1::Failed) -> CommitError {
    CommitError { message: failed.message, restartable: failed.restartable }
}

#[cfg(test)]
mod tests {
    use rheos_checkpoint::{PartStats, SubtaskPart};

    use super::*;

    #[test]
    fn events_survive_the_way() {
        let subtask = SubtaskId { task: 1, index: 2 };
        let part = SubtaskPart { subtask, operators: Vec::new(), tokens: Vec::new(), stats: PartStats::default() };
        let events = [
            Event::Deployed { attempt: 1 },
            Event::Ack { attempt: 1, epoch: 7, part: part.clone() },
            Event::Ended { attempt: 1, after: 3, part },
            Event::Declined { attempt: 1, epoch: 7, subtask, reason: "full".into() },
            Event::Failed { attempt: 1, message: "why".into(), restartable: true },
            Event::Stopped { attempt: 1 },
        ];
        for event in events {
            let (attempt, said) = event_to(&event).unwrap().unwrap();
            assert_eq!(event_from(attempt, said).unwrap(), event);
        }
        assert_eq!(event_to(&Event::Tick).unwrap(), None);
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        assert!(event_from(1, Said::Ack(v1::Ack { epoch: 1, part_json: b"{".to_vec() })).is_err());
        assert!(restore_from(None).is_err() && restore_from(Some(v1::Restore { from: None })).is_err());
    }
}
