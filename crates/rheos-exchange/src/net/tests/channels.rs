//! Channels between two processes while the connection is well.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::noop_waker;
use rheos_core::element::{Barrier, Element};
use rheos_core::time::Watermark;

use super::{Pair, limits, numbers, rows, runtime, show, until};
use crate::limits::Parcel;
use crate::{Disconnected, SendError, Sender};

fn admits(sender: &mut Sender, element: Element) -> bool {
    let mut slot = Some(Parcel::from(element));
    sender.try_send(&mut slot).unwrap();
    slot.is_none()
}

#[test]
fn elements_arrive_in_order_in_both_directions() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.token = Some("secret".into())).await;
        for (mut senders, mut inbox) in [pair.forward(1, 1, limits(1 << 20)), pair.backward(1, 1, limits(1 << 20))] {
            let mut sender = senders.remove(0);
            let sent =
                vec![rows(0..3), Element::Watermark(Watermark::At(3)), Element::Barrier(Barrier::aligned(1)), rows(3..9), Element::End];
            for element in &sent {
                sender.send(element.clone()).await.unwrap();
            }
            for element in &sent {
                assert_eq!(show(&inbox.next().await.unwrap().element), show(element));
            }
            until(|| pair.one.buffered_bytes() + pair.two.buffered_bytes() == 0).await;
        }
        assert_eq!(pair.proxy.connections(), 1, "one connection for both directions");
    });
}

#[test]
fn a_channel_without_credit_waits_alone_and_memory_has_a_bound() {
    runtime().block_on(async {
        const CHANNELS: usize = 64;
        let pair = Pair::new(|_| {}).await;
        let limit = 20_000;
        let (senders, mut inbox) = pair.forward(1, CHANNELS, limits(limit));
        inbox.hold_back(0);
        let largest = 30_000;
        let tasks: Vec<_> = senders
            .into_iter()
            .map(|mut sender| {
                tokio::spawn(async move {
                    for n in 0..40 {
                        sender.send(rows(n * 100..n * 100 + 100 * (n % 3 + 1))).await.unwrap();
                    }
                    sender.send(Element::End).await.unwrap();
                })
            })
            .collect();
        let mut ended = 0;
        while ended < CHANNELS - 1 {
            let received = inbox.next().await.unwrap();
            assert_ne!(received.channel, 0, "it is held back");
            ended += usize::from(matches!(received.element, Element::End));
            assert!(pair.one.buffered_bytes() <= CHANNELS * (limit + largest));
        }
        assert!(!tasks[0].is_finished(), "it has no credit");
        until(|| pair.one.buffered_bytes() <= limit + largest).await;
        inbox.poll_all();
        let mut batches = 0;
        loop {
            match inbox.next().await.unwrap().element {
                Element::End => break,
                batch => batches += usize::from(!numbers(&batch).is_empty()),
            }
        }
        assert_eq!(batches, 40);
    });
}

#[test]
fn an_empty_channel_admits_any_batch_and_a_sender_is_woken_by_what_is_taken() {
    runtime().block_on(async {
        let pair = Pair::new(|_| {}).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1000));
        let sender = &mut senders[0];
        assert!(admits(sender, rows(0..1000)), "larger than the limit");
        assert!(!admits(sender, rows(0..1)));
        assert!(!admits(sender, Element::Watermark(Watermark::At(1))), "everything takes credit");
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut slot = Some(Parcel::from(rows([7])));
        assert!(sender.poll_send(&mut slot, &mut context).is_pending());
        assert_eq!(numbers(&inbox.next().await.unwrap().element).len(), 1000);
        std::future::poll_fn(|context| sender.poll_send(&mut slot, context)).await.unwrap();
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [7]);
        assert_eq!(sender.poll_send(&mut None, &mut context), Poll::Ready(Ok(())));
    });
}

#[test]
fn batches_that_take_several_frames_leave_as_credit_comes() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.max_frame_bytes = 4096).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(6000));
        let mut sender = senders.remove(0);
        let task = tokio::spawn(async move {
            sender.send(rows(0..3000)).await.unwrap();
            sender.send(Element::End).await.unwrap();
        });
        let mut seen = Vec::new();
        loop {
            assert!(pair.one.buffered_bytes() <= 6000 + 2 * 4096);
            match inbox.next().await.unwrap().element {
                Element::End => break,
                batch => seen.extend(numbers(&batch)),
            }
        }
        assert_eq!(seen, (0..3000).collect::<Vec<_>>());
        task.await.unwrap();
    });
}

#[test]
fn a_barrier_needs_no_credit_and_overtakes_in_the_other_process() {
    runtime().block_on(async {
        let pair = Pair::new(|_| {}).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1000));
        let sender = &mut senders[0];
        assert!(admits(sender, rows(0..500)));
        let barrier = Barrier { overtake_from_ms: Some(0), ..Barrier::aligned(4) };
        sender.send_now(barrier).unwrap();
        let known = 0;
        std::future::poll_fn(|context| inbox.poll_barriers(known, context)).await;
        assert_eq!(inbox.queued_barriers(), [(0, barrier)]);
        let copies = inbox.overtake(0, 4);
        assert_eq!(copies.iter().map(|b| b.num_rows()).collect::<Vec<_>>(), [500]);
        assert_eq!(numbers(&inbox.next().await.unwrap().element).len(), 500);
        // The credit of the barrier came back too: a full limit fits.
        until(|| pair.one.buffered_bytes() == 0).await;
        sender.send(rows(0..5)).await.unwrap();
        assert_eq!(numbers(&inbox.next().await.unwrap().element).len(), 5);
    });
}

#[test]
fn whoever_is_gone_is_missed_at_the_other_end() {
    runtime().block_on(async {
        let pair = Pair::new(|_| {}).await;
        let (mut senders, mut inbox) = pair.forward(1, 2, limits(1 << 20));
        senders[0].send(rows([1])).await.unwrap();
        drop(senders.remove(0));
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [1], "what was sent arrives");
        assert_eq!(inbox.next().await.unwrap_err(), Disconnected { channel: 0 });
        drop(inbox);
        let mut n = 0;
        let error = loop {
            if let Err(e) = senders[0].send(rows([n])).await {
                break e;
            }
            n += 1;
            tokio::task::yield_now().await;
        };
        assert_eq!(error, SendError::Disconnected);
        assert_eq!(pair.one.buffered_bytes(), 0);
    });
}

#[test]
fn a_closed_deployment_is_forgotten_and_its_frames_are_dropped() {
    runtime().block_on(async {
        let pair = Pair::new(|_| {}).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1 << 20));
        let (mut others, mut other_inbox) = pair.forward(2, 1, limits(1 << 20));
        pair.two.close(1);
        assert!(inbox.next().await.is_err());
        senders[0].send(rows([1])).await.unwrap();
        others[0].send(rows([2])).await.unwrap();
        assert_eq!(numbers(&other_inbox.next().await.unwrap().element), [2]);
        pair.one.close(1);
        assert_eq!(senders[0].send(rows([3])).await, Err(SendError::Disconnected));
        let sender = Arc::new(senders.remove(0));
        drop(sender);
    });
}
