//! Notices, while a task waits for room, that a barrier wants to overtake what it waits with.

use std::future::poll_fn;

use futures_util::future::select;
use rheos_checkpoint::Alignment;
use rheos_core::env::Clock;
use rheos_core::time::TimestampMs;
use rheos_exchange::Inbox;

use crate::control::Mailbox;

/// Where a barrier may come from.
pub(crate) enum Urgency<'a> {
    /// A source's: from the mailbox.
    Mailbox(&'a mut Mailbox),
    /// From the channels of an inbox.
    Inbox(&'a Inbox, &'a Alignment),
}

impl Urgency<'_> {
    /// Is ready when the time of a barrier has come.
    pub(crate) async fn due(&mut self, clock: &dyn Clock) {
        loop {
            let known = self.barriers_come();
            let at_ms = self.next_ms();
            let change = poll_fn(|context| match self {
                Urgency::Mailbox(mailbox) => mailbox.poll_new(context),
                Urgency::Inbox(inbox, _) => inbox.poll_barriers(known, context),
            });
            match at_ms.map(|at_ms| at_ms.saturating_sub(clock.now_ms())) {
                Some(wait_ms) if wait_ms <= 0 => return,
                Some(wait_ms) => drop(select(change, clock.sleep_ms(wait_ms as u64)).await),
                None => change.await,
            }
        }
    }

    fn barriers_come(&self) -> u64 {
        match self {
            Urgency::Inbox(inbox, _) => inbox.barriers_come(),
            Urgency::Mailbox(_) => 0,
        }
    }

    /// When the next barrier may overtake.
    fn next_ms(&self) -> Option<TimestampMs> {
        match self {
            Urgency::Mailbox(mailbox) => mailbox.triggered().and_then(|barrier| barrier.overtake_from_ms),
            Urgency::Inbox(inbox, alignment) => {
                let queued = inbox.queued_barriers().into_iter();
                let queued = queued.filter(|(channel, barrier)| alignment.awaits(*channel, *barrier));
                queued.filter_map(|(_, barrier)| barrier.overtake_from_ms).chain(alignment.deadline_ms()).min()
            }
        }
    }
}
