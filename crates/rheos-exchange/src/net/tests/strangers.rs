//! Whoever connects and does not speak as agreed.

use rheos_core::element::Element;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Pair, bind, channels, limits, numbers, rows, runtime};
use crate::net::control::{Hello, encode_progress};
use crate::net::encode::{Frame, Unnumbered};
use crate::net::handshake::{frame_bytes, receive_hello};
use crate::net::header::FrameKind;
use crate::net::{ChannelId, Network, NetworkOptions, Peer};

async fn listening(token: Option<&str>) -> Network {
    let mut options = NetworkOptions::new(9);
    options.token = token.map(String::from);
    options.reconnect_timeout_ms = 300;
    options.max_frame_bytes = 1 << 16;
    bind(options).await
}

fn hello(token: &str) -> Vec<u8> {
    let hello = Hello { from: 1, to: 9, link: 1, peer_link: 0, token: token.into() };
    frame_bytes(&Frame::unsequenced(FrameKind::Hello, ChannelId::NONE, 0, &hello.encode()))
}

/// What the network answers to these bytes.
async fn answer(network: &Network, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(network.local_address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    receive_hello(&mut stream).await.map_or_else(|e| e.to_string(), |hello| format!("{hello:?}"))
}

#[test]
fn a_wrong_token_or_version_or_garbage_is_refused_with_the_reason() {
    runtime().block_on(async {
        let network = listening(Some("right")).await;
        assert!(answer(&network, &hello("right")).await.starts_with("Hello { from: 9, to: 1"));
        assert!(answer(&network, &hello("wrong")).await.ends_with("the token is wrong"));
        assert!(answer(&network, &hello("")).await.ends_with("the token is wrong"));
        let mut newer = hello("right");
        newer[48 + 4] = 77;
        assert!(answer(&network, &newer).await.contains("version 77 of the data plane, this one version 1"));
        let mut stranger = hello("right");
        stranger[48] = b'X';
        assert!(answer(&network, &stranger).await.contains("does not speak"));
        assert!(answer(&network, &[b'G'; 48]).await.contains("unknown kind"));
        let mut long = hello("right");
        long[0..4].copy_from_slice(&5000u32.to_le_bytes());
        assert!(answer(&network, &long).await.contains("5000 bytes"), "a hello is short");
        let mut late = TcpStream::connect(network.local_address()).await.unwrap();
        assert!(receive_hello(&mut late).await.unwrap_err().to_string().contains("no hello"));
    });
}

#[test]
fn a_dialer_with_a_wrong_token_fails_at_once() {
    runtime().block_on(async {
        let two = listening(Some("right")).await;
        let one = bind(NetworkOptions { token: Some("wrong".into()), ..NetworkOptions::new(1) }).await;
        let mut failures = one.failures().unwrap();
        let peer = |id, network: &Network| Peer { id, address: network.local_address().to_string() };
        let (senders, _inbox) = channels(&one, &peer(9, &two), &two, &peer(1, &one), 4, 1, limits(100));
        let failure = failures.recv().await.unwrap();
        assert_eq!((failure.peer, failure.deployments.as_slice()), (9, &[4][..]));
        assert!(failure.reason.contains("the token is wrong"), "{}", failure.reason);
        drop(senders);
    });
}

/// A connection that has come as far as frames, and the failures of the network.
async fn speaking(network: &Network) -> TcpStream {
    let mut stream = TcpStream::connect(network.local_address()).await.unwrap();
    stream.write_all(&hello("")).await.unwrap();
    receive_hello(&mut stream).await.unwrap();
    let resume = Frame::unsequenced(FrameKind::Resume, ChannelId::NONE, 0, &encode_progress(&[]));
    stream.write_all(&frame_bytes(&resume)).await.unwrap();
    stream
}

#[test]
fn whatever_breaks_the_agreement_fails_the_link_with_the_reason() {
    let id = ChannelId { deployment: 1, edge: 0, sender: 0, receiver: 0 };
    let end = |sequence| frame_bytes(&Unnumbered::new(FrameKind::End, &[]).numbered(id, sequence));
    let watermark = |kind| frame_bytes(&Unnumbered::new(FrameKind::Watermark, &[kind; 9]).numbered(id, 0));
    let schema = |size: usize| frame_bytes(&Unnumbered::new(FrameKind::Schema, &vec![b' '; size]).numbered(id, 0));
    let mut oversized = schema(10);
    oversized[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut long_tail = end(0);
    long_tail[0] = 3;
    let batch = super::codec::wire(&rows(0..10), 1 << 16, false).unwrap();
    let columns_first = batch[batch.len() - 48..].to_vec();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("frame 5 came where 0 was expected", end(5)),
        ("at most 65536 are allowed", oversized),
        ("contradicts itself", long_tail),
        ("a watermark of unknown kind 9", watermark(9)),
        ("a schema cannot be read", schema(20)),
        ("in the midst of a connection", hello("")),
        ("a frame of unknown kind", columns_first),
        ("exceeds its credit", (0..30).flat_map(idle_or_active(id)).collect()),
    ];
    for (reason, bytes) in cases {
        runtime().block_on(async {
            let network = listening(None).await;
            let mut failures = network.failures().unwrap();
            let (_inbox, mut locals) = crate::Inbox::new(vec![0], limits(200), Default::default());
            let peer = Peer { id: 1, address: String::new() };
            network.receive(&peer, id, limits(200), locals.remove(0)).unwrap();
            let mut stream = speaking(&network).await;
            stream.write_all(&bytes).await.unwrap();
            let failure = failures.recv().await.unwrap();
            assert!(failure.reason.contains(reason), "{reason}: {}", failure.reason);
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        });
    }
}

fn idle_or_active(id: ChannelId) -> impl Fn(u64) -> Vec<u8> {
    move |n| {
        let mut bytes = [0; 9];
        bytes[0] = if n % 2 == 0 { 1 } else { 2 };
        frame_bytes(&Unnumbered::new(FrameKind::Watermark, &bytes).numbered(id, n))
    }
}

#[test]
fn strangers_do_not_disturb_those_who_talk() {
    runtime().block_on(async {
        let pair = Pair::new(|_| {}).await;
        let (mut senders, mut inbox) = pair.forward(1, 1, limits(1 << 20));
        for n in 0..20 {
            let mut stream = TcpStream::connect(pair.two.local_address()).await.unwrap();
            stream.write_all(&[n as u8; 100]).await.unwrap();
            senders[0].send(rows([n])).await.unwrap();
            assert_eq!(numbers(&inbox.next().await.unwrap().element), [n]);
        }
        senders[0].send(Element::End).await.unwrap();
        assert!(matches!(inbox.next().await.unwrap().element, Element::End));
    });
}
