//! Channels, inboxes and outboxes together, polled by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::noop_waker;
use proptest::prelude::*;
use rheos_core::element::{Barrier, Element};
use rheos_core::error::Result;
use rheos_core::key_group::KeySelector;
use rheos_core::metrics::TaskMetrics;
use rheos_core::rows::RowBatch;
use rheos_core::time::Watermark;
use rheos_core::{Batch, Error};

use crate::limits::Parcel;
use crate::{ChannelLimits, CoalesceLimits, Disconnected, Inbox, OutEdge, Outbox, Partitioner, Received, SendError, Sender};

/// 8 bytes a row.
fn rows(values: impl IntoIterator<Item = u64>) -> Element {
    Element::Batch(batch(values))
}

fn batch(values: impl IntoIterator<Item = u64>) -> Batch {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.shrink_to_fit();
    RowBatch::new(values).into()
}

fn show(element: &Element) -> String {
    match element {
        Element::Batch(b) => format!("{:?}", b.clone().into_rows().unwrap().downcast::<u64>().unwrap()),
        Element::Watermark(w) => format!("{w:?}"),
        Element::Barrier(b) => format!("Barrier({})", b.epoch),
        Element::End => "End".into(),
    }
}

fn shown(inbox: &mut Inbox) -> Vec<String> {
    std::iter::from_fn(|| inbox.try_next().unwrap()).map(|r| format!("{}: {}", r.channel, show(&r.element))).collect()
}

/// Whether the element was admitted at once.
fn admits(sender: &mut Sender, element: Element) -> bool {
    let mut slot = Some(Parcel::from(element));
    sender.try_send(&mut slot).unwrap();
    slot.is_none()
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn counting_waker() -> (Waker, Arc<Woken>) {
    let woken = Arc::new(Woken::default());
    (Waker::from(Arc::clone(&woken)), woken)
}

fn next(inbox: &mut Inbox) -> Option<Received> {
    inbox.try_next().unwrap()
}

fn inbox(channels: usize, limits: ChannelLimits) -> (Inbox, Vec<Sender>, Arc<TaskMetrics>) {
    let metrics = Arc::new(TaskMetrics::default());
    let (inbox, senders) = Inbox::new(vec![0; channels], limits, Arc::clone(&metrics));
    (inbox, senders, metrics)
}

#[test]
fn a_channel_is_full_at_its_bytes_or_rows_and_admits_any_one_element_when_empty() {
    let (mut inbox, mut senders, metrics) = inbox(1, ChannelLimits { bytes: 80, rows: 5 });
    let sender = &mut senders[0];
    assert!(admits(sender, rows(0..100)), "an empty channel");
    assert!(!admits(sender, rows(0..1)), "800 bytes are there");
    assert_eq!(metrics.queued_bytes.get(), 800);
    assert!(next(&mut inbox).is_some());
    assert!(admits(sender, rows(0..4)));
    assert!(admits(sender, Element::Watermark(Watermark::At(1))));
    assert!(!admits(sender, Element::Watermark(Watermark::At(2))), "five rows are there");
    assert_eq!(shown(&mut inbox), ["0: [0, 1, 2, 3]", "0: At(1)"]);
    assert_eq!(metrics.queued_bytes.get(), 0);
}

#[test]
fn a_sender_that_waits_is_woken_when_there_is_room() {
    let (mut inbox, mut senders, _) = inbox(1, ChannelLimits { bytes: 24, rows: 100 });
    let (waker, woken) = counting_waker();
    let mut context = Context::from_waker(&waker);
    assert!(admits(&mut senders[0], rows(0..1)));
    assert!(admits(&mut senders[0], rows(1..3)));
    let mut slot = Some(Parcel::from(rows(3..5)));
    assert!(senders[0].poll_send(&mut slot, &mut context).is_pending());
    next(&mut inbox);
    assert_eq!(woken.count(), 0, "there is no room for two rows yet");
    next(&mut inbox);
    assert_eq!(woken.count(), 1);
    assert!(senders[0].poll_send(&mut slot, &mut context).is_ready());
    assert_eq!(shown(&mut inbox), ["0: [3, 4]"]);
}

#[test]
fn channels_take_turns_and_one_that_is_held_back_keeps_its_elements() {
    let (mut inbox, mut senders, _) = inbox(3, ChannelLimits::default());
    for (i, sender) in senders.iter_mut().enumerate() {
        for n in 0..2 {
            assert!(admits(sender, rows([i as u64 * 10 + n])));
        }
    }
    inbox.hold_back(1);
    assert_eq!(shown(&mut inbox), ["0: [0]", "2: [20]", "0: [1]", "2: [21]"]);
    inbox.poll_all();
    assert_eq!(shown(&mut inbox), ["1: [10]", "1: [11]"]);
}

#[test]
fn a_receiver_that_waits_is_woken_by_the_first_element_of_any_channel() {
    let (mut inbox, mut senders, _) = inbox(2, ChannelLimits::default());
    let (waker, woken) = counting_waker();
    let mut context = Context::from_waker(&waker);
    assert!(inbox.poll_next(&mut context).is_pending());
    assert!(admits(&mut senders[1], rows([7])));
    assert!(admits(&mut senders[1], rows([8])));
    assert_eq!(woken.count(), 1);
    assert!(inbox.poll_next(&mut context).is_ready());
}

#[test]
fn a_vanished_peer_is_told_from_an_end() {
    let (mut inbox, mut senders, _) = inbox(2, ChannelLimits::default());
    assert!(admits(&mut senders[0], Element::End));
    drop(senders.remove(0));
    assert_eq!(shown(&mut inbox), ["0: End"]);
    assert_eq!(inbox.open_channels(), 1);
    assert!(admits(&mut senders[0], rows([1])));
    drop(senders);
    assert_eq!(show(&next(&mut inbox).unwrap().element), "[1]", "what was sent arrives");
    assert_eq!(inbox.try_next().unwrap_err(), Disconnected { channel: 1 });

    let (inbox, mut senders, _) = self::inbox(1, ChannelLimits::default());
    drop(inbox);
    assert_eq!(senders[0].try_send(&mut Some(Parcel::from(Element::End))), Err(SendError::Disconnected));
}

#[cfg(debug_assertions)]
#[test]
fn elements_out_of_order_are_refused() {
    let (_inbox, mut senders, _) = inbox(1, ChannelLimits::default());
    assert!(admits(&mut senders[0], Element::Watermark(Watermark::At(2))));
    let refused = senders[0].try_send(&mut Some(Parcel::from(Element::Watermark(Watermark::At(2)))));
    assert_eq!(refused, Err(SendError::Illegal("watermark 2 after 2".into())));
}

/// The key is the value.
struct Identity;

impl KeySelector for Identity {
    fn hashes(&mut self, batch: &Batch, hashes: &mut Vec<u64>) -> Result<()> {
        hashes.clear();
        match batch {
            Batch::Rows(b) => hashes.extend(b.downcast_ref::<u64>().unwrap().iter().map(|v| (v % 100).wrapping_mul(0x9E37_79B9_7F4A_7C15))),
            Batch::Columns(_) => return Err(Error::bug("typed rows expected")),
        }
        Ok(())
    }
}

fn outbox(partitioner: Partitioner, channels: usize, coalesce_rows: usize) -> (Outbox, Inbox, Arc<TaskMetrics>) {
    let (inbox, senders, _) = inbox(channels, ChannelLimits { bytes: usize::MAX, rows: usize::MAX });
    let metrics = Arc::new(TaskMetrics::default());
    let limits = CoalesceLimits { rows: coalesce_rows, ..CoalesceLimits::default() };
    (Outbox::new(vec![OutEdge::new(partitioner, senders, true).unwrap()], limits, Arc::clone(&metrics)), inbox, metrics)
}

#[test]
fn small_pieces_are_joined_and_leave_before_the_watermark_that_follows_them() {
    let (mut outbox, mut inbox, metrics) = outbox(Partitioner::Forward, 1, 4);
    outbox.push(batch([1])).unwrap();
    outbox.push(batch([2])).unwrap();
    assert!(outbox.try_send().unwrap());
    assert_eq!(shown(&mut inbox), [""; 0], "the task is busy");
    outbox.push(batch([3, 4])).unwrap();
    outbox.push(batch([5])).unwrap();
    outbox.watermark(Watermark::At(9)).unwrap();
    outbox.push(batch([6])).unwrap();
    outbox.flush().unwrap();
    outbox.barrier(Barrier::aligned(1)).unwrap();
    outbox.end().unwrap();
    assert!(outbox.try_send().unwrap());
    assert_eq!(shown(&mut inbox), ["0: [1, 2]", "0: [3, 4]", "0: [5]", "0: At(9)", "0: [6]", "0: Barrier(1)", "0: End"]);
    assert_eq!(metrics.rows_out.get(), 6);
    assert!(metrics.bytes_out.get() >= 48);
}

#[test]
fn rebalance_takes_turns_and_broadcast_goes_everywhere() {
    let (mut outbox, mut inbox, _) = self::outbox(Partitioner::rebalance(1, 2), 2, 2);
    (0..3).for_each(|v| outbox.push(batch([v])).unwrap());
    outbox.end().unwrap();
    assert!(outbox.try_send().unwrap());
    assert_eq!(shown(&mut inbox), ["0: [1]", "1: [0]", "0: End", "1: [2]", "1: End"]);

    let (mut outbox, mut inbox, _) = self::outbox(Partitioner::Broadcast, 2, 2);
    outbox.push(batch([7, 8])).unwrap();
    assert!(outbox.try_send().unwrap());
    assert_eq!(shown(&mut inbox), ["0: [7, 8]", "1: [7, 8]"]);
}

#[test]
fn a_full_channel_keeps_no_other_from_being_served() {
    let (mut inbox, mut senders, _) = inbox(2, ChannelLimits { bytes: 8, rows: 1 });
    assert!(admits(&mut senders[0], rows([1])));
    let edge = OutEdge::new(Partitioner::Broadcast, senders, false).unwrap();
    let mut outbox = Outbox::new(vec![edge], CoalesceLimits { rows: 1, bytes: 1 }, Arc::default());
    outbox.push(batch([2])).unwrap();
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    assert_eq!(outbox.poll_send(&mut context), Poll::Pending);
    assert_eq!(shown(&mut inbox), ["0: [1]", "1: [2]"]);
    assert_eq!(outbox.poll_send(&mut context), Poll::Ready(Ok(())));
    assert_eq!(shown(&mut inbox), ["0: [2]"]);
}

proptest! {
    /// Values are numbered by key (their remainder) as they are sent; each key must arrive in that order, on one channel.
    #[test]
    fn each_key_goes_to_one_subtask_in_order(
        sizes in prop::collection::vec(1usize..60, 1..30),
        channels in 1usize..9,
        coalesce_rows in 1usize..64,
        watermark_every in 1usize..8,
    ) {
        let (mut outbox, mut inbox, _) = outbox(Partitioner::hash(Box::new(Identity), rheos_core::routing::RoutingTable::contiguous(128, channels)), channels, coalesce_rows);
        let mut sent = 0u64;
        for (i, size) in sizes.iter().enumerate() {
            outbox.push(batch((sent..sent + *size as u64).map(|n| n * 100 + (n * n) % 97))).unwrap();
            sent += *size as u64;
            if i % watermark_every == 0 {
                outbox.watermark(Watermark::At(sent as i64)).unwrap();
            }
            prop_assert!(outbox.try_send().unwrap());
        }
        outbox.end().unwrap();
        prop_assert!(outbox.try_send().unwrap());

        let mut owner: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        let mut arrived = 0;
        let mut watermark = vec![0; channels];
        while let Some(Received { channel, element, .. }) = next(&mut inbox) {
            match element {
                Element::Batch(b) => for value in b.into_rows().unwrap().downcast::<u64>().unwrap() {
                    arrived += 1;
                    prop_assert!(value / 100 >= watermark[channel], "a row was overtaken by its watermark");
                    let (seen_on, last) = *owner.get(&(value % 100)).unwrap_or(&(channel, 0));
                    prop_assert_eq!(seen_on, channel);
                    prop_assert!(value >= last);
                    owner.insert(value % 100, (channel, value));
                },
                Element::Watermark(Watermark::At(at)) => watermark[channel] = at as u64,
                _ => {}
            }
        }
        prop_assert_eq!(arrived, sent);
    }
}

#[test]
fn a_barrier_overtakes_rows_on_both_sides_and_hands_out_copies() {
    let limits = ChannelLimits { rows: 3, ..ChannelLimits::default() };
    let metrics = Arc::new(TaskMetrics::default());
    let (mut inbox, senders) = Inbox::new(vec![0], limits, Arc::clone(&metrics));
    let edge = OutEdge::new(Partitioner::rebalance(0, 1), senders, true).unwrap();
    let mut outbox = Outbox::new(vec![edge], CoalesceLimits { rows: 1, ..CoalesceLimits::default() }, metrics);
    for rows in [[1u64, 2], [3, 4], [5, 6]] {
        outbox.push(RowBatch::new(rows.to_vec()).into()).unwrap();
    }
    assert!(!outbox.try_send().unwrap(), "there is room for one batch");
    let barrier = Barrier { overtake_from_ms: Some(0), ..Barrier::aligned(7) };
    outbox.barrier(barrier).unwrap();
    assert_eq!(inbox.queued_barriers(), []);
    let known = inbox.barriers_come();

    let rows =
        |batches: &[Batch]| -> Vec<Vec<u64>> { batches.iter().map(|b| b.clone().into_rows().unwrap().downcast().unwrap()).collect() };
    let out = outbox.overtake(barrier).unwrap();
    assert_eq!(out.iter().map(|o| (o.edge, o.channel, rows(&o.rows))).collect::<Vec<_>>(), [(0, 0, vec![vec![3, 4], vec![5, 6]])]);
    assert!(outbox.overtake(barrier).unwrap().is_empty(), "it has left");
    assert_eq!(inbox.barriers_come(), known + 1);
    assert_eq!(inbox.queued_barriers(), [(0, barrier)]);
    assert_eq!(rows(&inbox.overtake(0, 7)), [[1, 2]]);
    assert_eq!(inbox.queued_barriers(), []);

    // The rows themselves go their way.
    let mut seen = Vec::new();
    while seen.len() < 3 {
        outbox.try_send().unwrap();
        let Element::Batch(batch) = inbox.try_next().unwrap().unwrap().element else { panic!("rows only") };
        seen.extend(rows(&[batch]));
    }
    assert_eq!(seen, [[1, 2], [3, 4], [5, 6]]);
}

#[test]
fn a_sender_that_waits_behind_a_barrier_hears_that_it_was_overtaken() {
    let limits = ChannelLimits { rows: 4, ..ChannelLimits::default() };
    let (mut inbox, mut senders) = Inbox::new(vec![0], limits, Arc::default());
    let count = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let mut slot = Some(Parcel::from(Element::Barrier(Barrier::aligned(1))));
    assert!(senders[0].poll_send(&mut slot, &mut context).is_ready());
    let mut slot = Some(Parcel::from(rows(0..5)));
    assert!(senders[0].poll_send(&mut slot, &mut context).is_pending(), "it is too large beside anything");
    assert!(inbox.overtake(0, 1).is_empty());
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(senders[0].poll_send(&mut slot, &mut context).is_ready());
}
