//! Tells a receiver which of its channels have something, so that it looks at no other.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::task::AtomicWaker;

const BITS: usize = u64::BITS as usize;

/// One bit for each channel of an inbox, and the task that waits for any of them. A channel's bit changes only under that
/// channel's lock, so it always agrees with the channel.
#[derive(Debug)]
pub(crate) struct Readiness {
    bits: Box<[AtomicU64]>,
    /// How many barriers wait in the channels, and how many ever came.
    barriers: AtomicU64,
    barriers_come: AtomicU64,
    receiver: AtomicWaker,
}

impl Readiness {
    pub(crate) fn new(channels: usize) -> Self {
        let bits = (0..channels.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect();
        Readiness { bits, barriers: AtomicU64::new(0), barriers_come: AtomicU64::new(0), receiver: AtomicWaker::new() }
    }

    pub(crate) fn set(&self, channel: usize) {
        self.bits[channel / BITS].fetch_or(1 << (channel % BITS), Ordering::Release);
    }

    pub(crate) fn clear(&self, channel: usize) {
        self.bits[channel / BITS].fetch_and(!(1 << (channel % BITS)), Ordering::Release);
    }

    /// Counts barriers in, or out again.
    pub(crate) fn count_barriers(&self, come: u64, gone: u64) {
        self.barriers.fetch_add(come.wrapping_sub(gone), Ordering::AcqRel);
        self.barriers_come.fetch_add(come, Ordering::AcqRel);
    }

    /// How many barriers wait.
    pub(crate) fn barriers(&self) -> u64 {
        self.barriers.load(Ordering::Acquire)
    }

    /// How many barriers ever came.
    pub(crate) fn barriers_come(&self) -> u64 {
        self.barriers_come.load(Ordering::Acquire)
    }

    pub(crate) fn wake(&self) {
        self.receiver.wake();
    }

    pub(crate) fn register(&self, waker: &std::task::Waker) {
        self.receiver.register(waker);
    }

    /// The first channel from `start` on, going around, that is ready and among `polled`.
    pub(crate) fn next(&self, start: usize, polled: &ChannelSet) -> Option<usize> {
        let words = self.bits.len();
        let first = start / BITS;
        let from_start = u64::MAX << (start % BITS);
        for step in 0..=words {
            let word = (first + step) % words.max(1);
            let mask = match step {
                0 => from_start,
                s if s == words => !from_start,
                _ => u64::MAX,
            };
            let ready = self.bits.get(word)?.load(Ordering::Acquire) & polled.0[word] & mask;
            if ready != 0 {
                return Some(word * BITS + ready.trailing_zeros() as usize);
            }
        }
        None
    }
}

/// A set of channels of an inbox.
#[derive(Debug, Clone)]
pub(crate) struct ChannelSet(Box<[u64]>);

impl ChannelSet {
    pub(crate) fn all(channels: usize) -> Self {
        let mut set = ChannelSet(vec![0; channels.div_ceil(BITS)].into());
        (0..channels).for_each(|c| set.insert(c));
        set
    }

    pub(crate) fn insert(&mut self, channel: usize) {
        self.0[channel / BITS] |= 1 << (channel % BITS);
    }

    pub(crate) fn remove(&mut self, channel: usize) {
        self.0[channel / BITS] &= !(1 << (channel % BITS));
    }

    pub(crate) fn union(&mut self, other: &ChannelSet) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_channels_are_found_around_the_circle_and_only_among_the_polled() {
        let readiness = Readiness::new(130);
        let mut polled = ChannelSet::all(130);
        for channel in [3, 64, 129] {
            readiness.set(channel);
        }
        let order: Vec<Option<usize>> = [0, 4, 65, 129].iter().map(|start| readiness.next(*start, &polled)).collect();
        assert_eq!(order, [Some(3), Some(64), Some(129), Some(129)]);
        polled.remove(64);
        readiness.clear(129);
        assert_eq!(readiness.next(4, &polled), Some(3), "past the end to the beginning of the same word");
        polled.remove(3);
        assert_eq!(readiness.next(4, &polled), None);
    }
}
