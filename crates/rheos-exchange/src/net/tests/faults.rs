//! Connections that are lost, silent or gone.

use std::sync::Arc;

use proptest::prelude::*;
use rheos_core::element::{Barrier, Element};
use rheos_core::time::Watermark;

use super::{Pair, limits, numbers, rows, runtime, show, until};
use crate::net::{ChannelId, LinkFailure};
use crate::{Disconnected, Inbox, SendError};

/// The legal streams of several channels: batches of numbers that rise, watermarks, barriers, an end.
fn streams() -> impl Strategy<Value = Vec<Vec<Element>>> {
    let item = (0usize..10, 1i64..400);
    prop::collection::vec(prop::collection::vec(item, 0..40), 1..5).prop_map(|channels| {
        let stream = |items: Vec<(usize, i64)>| {
            let mut n = 0;
            let elements = items.into_iter().enumerate().map(|(i, (kind, size))| match kind {
                0 => Element::Watermark(Watermark::At(i as i64)),
                1 => Element::Barrier(Barrier::aligned(i as u64)),
                _ => {
                    n += size;
                    rows(n - size..n)
                }
            });
            elements.collect::<Vec<_>>().into_iter().chain([Element::End]).collect()
        };
        channels.into_iter().map(stream).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whenever connections are cut: nothing is lost, nothing comes twice, nothing changes places.
    #[test]
    fn streams_survive_cuts(
        streams in streams(),
        limit in 100usize..30_000,
        cut_after in prop::collection::vec(20_000usize..90_000, 0..4),
        compress in any::<bool>(),
        backward in any::<bool>(),
    ) {
        runtime().block_on(async {
            let pair = Pair::new(|o| { o.compress = compress; o.reconnect_timeout_ms = 60_000; }).await;
            let (senders, mut inbox) = if backward { pair.backward(1, streams.len(), limits(limit)) } else { pair.forward(1, streams.len(), limits(limit)) };
            if let Some(bytes) = cut_after.first() {
                pair.proxy.cut_after(*bytes);
            }
            for (mut sender, stream) in senders.into_iter().zip(streams.clone()) {
                tokio::spawn(async move {
                    for element in stream {
                        sender.send(element).await.unwrap();
                    }
                });
            }
            let mut seen: Vec<Vec<String>> = vec![Vec::new(); streams.len()];
            let mut received = 0;
            while inbox.open_channels() > 0 {
                let next = inbox.next().await.unwrap();
                seen[next.channel].push(show(&next.element));
                received += 1;
                if received % 7 == 3 {
                    pair.proxy.cut();
                    // Later connections live longer, so that it comes to an end.
                    let bytes = cut_after.get(received / 7).copied().unwrap_or(0);
                    pair.proxy.cut_after(bytes);
                }
            }
            for (seen, sent) in seen.iter().zip(&streams) {
                assert_eq!(seen, &sent.iter().map(show).collect::<Vec<_>>());
            }
            until(|| pair.one.buffered_bytes() + pair.two.buffered_bytes() == 0).await;
        });
    }
}

#[test]
fn a_silent_connection_is_lost_and_made_anew() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.reconnect_timeout_ms = 400).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1 << 20));
        senders[0].send(rows([1])).await.unwrap();
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [1]);
        pair.proxy.set_silent(true);
        senders[0].send(rows([2])).await.unwrap();
        let before = pair.proxy.connections();
        until(|| pair.proxy.connections() > before).await;
        pair.proxy.set_silent(false);
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [2]);
    });
}

#[test]
fn an_idle_connection_stays() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.reconnect_timeout_ms = 200).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1 << 20));
        senders[0].send(rows([1])).await.unwrap();
        inbox.next().await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
        senders[0].send(rows([2])).await.unwrap();
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [2]);
        assert_eq!(pair.proxy.connections(), 1);
    });
}

#[test]
fn a_link_that_cannot_be_made_anew_fails_at_both_ends_and_a_new_one_can_be_made() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.reconnect_timeout_ms = 200).await;
        let (mut senders, mut inbox) = pair.forward(7, 1, limits(100));
        let (mut backs, mut back_inbox) = pair.backward(3, 1, limits(100));
        senders[0].send(rows([1])).await.unwrap();
        inbox.next().await.unwrap();
        let (mut of_one, mut of_two) = (pair.one.failures().unwrap(), pair.two.failures().unwrap());
        assert!(pair.one.failures().is_none());
        pair.proxy.set_down(true);
        pair.proxy.cut();
        let LinkFailure { peer, deployments, reason } = of_one.recv().await.unwrap();
        assert_eq!((peer, deployments), (2, vec![3, 7]));
        assert!(reason.contains("no connection to 127.0.0.1"), "{reason}");
        let LinkFailure { peer, deployments, reason } = of_two.recv().await.unwrap();
        assert_eq!((peer, deployments), (1, vec![3, 7]));
        assert!(reason.contains("did not dial again"), "{reason}");
        assert_eq!(senders[0].send(rows([2])).await, Err(SendError::Disconnected));
        assert_eq!(backs[0].send(rows([2])).await, Err(SendError::Disconnected));
        assert_eq!(inbox.next().await.unwrap_err(), Disconnected { channel: 0 });
        assert_eq!(back_inbox.next().await.unwrap_err(), Disconnected { channel: 0 });

        pair.proxy.set_down(false);
        let (mut senders, mut inbox) = pair.forward(8, 1, limits(100));
        senders[0].send(rows([5])).await.unwrap();
        assert_eq!(numbers(&inbox.next().await.unwrap().element), [5]);
    });
}

#[test]
fn an_end_that_has_given_up_tells_the_other() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.reconnect_timeout_ms = 60_000).await;
        let (two, one) = pair.peers();
        let (_inbox, mut locals) = Inbox::new(vec![0], limits(100), Arc::default());
        let id = ChannelId { deployment: 5, edge: 0, sender: 0, receiver: 0 };
        pair.two.receive(&one, id, limits(100), locals.remove(0)).unwrap();
        // The sender was told of another limit, so it seems to exceed its credit.
        let mut sender = pair.one.sender(&two, id, limits(10_000), Arc::default());
        sender.send(rows(0..10)).await.unwrap();
        sender.send(rows(0..10)).await.unwrap();
        let failure = pair.two.failures().unwrap().recv().await.unwrap();
        assert!(failure.reason.contains("exceeds its credit"), "{}", failure.reason);
        let failure = pair.one.failures().unwrap().recv().await.unwrap();
        assert!(failure.reason.contains("has given the link up"), "{}", failure.reason);
        assert_eq!(failure.deployments, [5]);
        assert_eq!(sender.send(rows([2])).await, Err(SendError::Disconnected));
    });
}

#[test]
fn a_network_that_ends_disconnects_its_channels() {
    runtime().block_on(async {
        let pair = Pair::new(|o| o.reconnect_timeout_ms = 60_000).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(100));
        senders[0].send(rows([1])).await.unwrap();
        inbox.next().await.unwrap();
        let Pair { one, two, proxy: _proxy } = pair;
        drop((one, two));
        assert!(inbox.next().await.is_err());
        assert_eq!(senders[0].send(rows([2])).await, Err(SendError::Disconnected));
    });
}
