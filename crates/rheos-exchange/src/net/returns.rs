//! What a receiving channel reports to its sender: what it has received, and what its inbox has taken.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::control::Progress;
use super::encode::Frame;
use super::header::FrameKind;
use super::link::Link;
use super::peer::ChannelId;

/// What the inbox, the connection that reads and the connection that writes share of a channel.
#[derive(Debug)]
pub(crate) struct Returns {
    pub(crate) id: ChannelId,
    pub(crate) limit: u64,
    link: Weak<Link>,
    /// The number of the next frame.
    expected: AtomicU64,
    /// What was taken out, and what of it the sender knows, in bytes of credit.
    consumed: AtomicU64,
    reported: AtomicU64,
    closed: AtomicBool,
    is_queued: AtomicBool,
}

impl Returns {
    pub(crate) fn new(id: ChannelId, limit: usize, link: Weak<Link>) -> Self {
        Returns {
            id,
            limit: limit as u64,
            link,
            expected: AtomicU64::new(0),
            consumed: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            is_queued: AtomicBool::new(false),
        }
    }

    /// The number of the next frame.
    pub(crate) fn expected(&self) -> u64 {
        self.expected.load(Ordering::Acquire)
    }

    /// The next frame has come.
    pub(crate) fn advance(&self) {
        self.expected.fetch_add(1, Ordering::AcqRel);
    }

    /// What was taken out so far, in bytes of credit.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Acquire)
    }

    /// Counts what never comes into the inbox.
    pub(crate) fn pass_over(&self, bytes: u64) {
        self.consumed.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts what the inbox took; says whether it is time to tell the sender.
    pub(crate) fn take(&self, bytes: usize, is_empty: bool) -> bool {
        let consumed = self.consumed.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64;
        is_empty || consumed.wrapping_sub(self.reported.load(Ordering::Acquire)) >= self.limit / 8
    }

    /// Has the sender told.
    pub(crate) fn report(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel)
            && let Some(link) = self.link.upgrade()
        {
            link.queue_report(Arc::clone(self));
        }
    }

    /// The inbox is gone.
    pub(crate) fn close(self: &Arc<Self>) {
        self.closed.store(true, Ordering::Release);
        self.report();
    }

    /// What there is to tell.
    pub(crate) fn frame(&self) -> Frame {
        self.is_queued.store(false, Ordering::Release);
        if self.closed.load(Ordering::Acquire) {
            return Frame::unsequenced(FrameKind::Closed, self.id, 0, &[]);
        }
        let Progress { expected, consumed, .. } = self.progress();
        self.reported.store(consumed, Ordering::Release);
        Frame::unsequenced(FrameKind::Consumed, self.id, expected, &consumed.to_le_bytes())
    }

    /// How far the channel is.
    pub(crate) fn progress(&self) -> Progress {
        // Consumed first: what is consumed was received.
        let consumed = self.consumed.load(Ordering::Acquire);
        let expected = self.expected.load(Ordering::Acquire);
        Progress { channel: self.id, expected, consumed, closed: self.closed.load(Ordering::Acquire) }
    }

    /// The link begins anew with nothing queued.
    pub(crate) fn unqueue(&self) {
        self.is_queued.store(false, Ordering::Release);
    }
}
