//! The one position at which a coordinator may append, and what it means when that is taken.

use rheos_core::element::Epoch;

use crate::log::record::{Record, record_name};
use crate::manifest::Manifest;

/// The end of the log as one coordinator knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appender {
    generation: u64,
    next: u64,
}

/// What stands at the position at which a coordinator wants to append.
#[derive(Debug, Clone, PartialEq)]
pub enum Occupant {
    /// Nothing.
    Nothing,
    /// A record that can be read.
    Record(Record),
    /// Something that cannot be read: not ours.
    Unreadable,
}

/// What is known after looking at the position.
#[derive(Debug, Clone, PartialEq)]
pub enum Appended {
    /// The record is there; the position has moved on.
    Done,
    /// It is not there, and the position is free.
    Absent,
    /// An earlier manifest of ours is there, whose reply was lost for good; the position has moved on, append again.
    Earlier(Box<Manifest>),
    /// Somebody else has claimed the job.
    Fenced,
}

impl Appender {
    /// For the coordinator whose claim is at `generation`.
    pub fn new(generation: u64) -> Self {
        Appender { generation, next: generation + 1 }
    }

    /// The position of the claim.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Where the next record goes.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The name of the next record.
    pub fn name(&self) -> String {
        record_name(self.next)
    }

    /// The record was created.
    pub fn created(&mut self) {
        self.next += 1;
    }

    /// The position turned out to be taken, or the reply was lost: decides by what stands there whether the manifest of
    /// `epoch` was appended.
    pub fn look(&mut self, occupant: Occupant, epoch: Epoch) -> Appended {
        match occupant {
            Occupant::Nothing => Appended::Absent,
            Occupant::Record(Record::Manifest(m)) if m.generation == self.generation => {
                self.next += 1;
                if m.epoch == epoch { Appended::Done } else { Appended::Earlier(m) }
            }
            Occupant::Record(_) | Occupant::Unreadable => Appended::Fenced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::manifest;

    #[test]
    fn what_stands_at_the_position_decides() {
        let mut appender = Appender::new(3);
        assert_eq!(appender.name(), record_name(4));
        assert_eq!(appender.look(Occupant::Nothing, 1), Appended::Absent);
        let ours = |epoch| Occupant::Record(Record::Manifest(Box::new(manifest(3, epoch))));
        assert_eq!(appender.look(ours(1), 1), Appended::Done);
        assert!(matches!(appender.look(ours(2), 3), Appended::Earlier(m) if m.epoch == 2));
        assert_eq!(appender.position(), 6);
        assert_eq!(appender.look(Occupant::Record(Record::Manifest(Box::new(manifest(4, 3)))), 3), Appended::Fenced);
        assert_eq!(appender.look(Occupant::Record(Record::Retired { generation: 3, epoch: 3 }), 3), Appended::Fenced);
        assert_eq!(appender.look(Occupant::Unreadable, 3), Appended::Fenced);
    }
}
