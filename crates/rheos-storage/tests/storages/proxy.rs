//! A proxy that can lose things on the way to a server: requests, or replies.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Listens as long as the process lives.
pub(crate) struct Proxy {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    losses: Arc<Losses>,
}

/// How many are still to be lost.
#[derive(Default)]
struct Losses {
    requests: AtomicUsize,
    replies: AtomicUsize,
}

impl Proxy {
    /// Forwards to `server`.
    pub(crate) fn start(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, losses) = (listener.local_addr().unwrap(), Arc::new(Losses::default()));
        let shared = Arc::clone(&losses);
        thread::spawn(move || {
            for client in listener.incoming() {
                forward(client.unwrap(), TcpStream::connect(server).unwrap(), &shared);
            }
        });
        Proxy { address, losses }
    }

    /// Closes the connection of the next `count` requests without passing them on.
    pub(crate) fn lose_requests(&self, count: usize) {
        self.losses.requests.store(count, Ordering::SeqCst);
    }

    /// Passes the next `count` requests on, and closes their connections instead of passing the reply back.
    pub(crate) fn lose_replies(&self, count: usize) {
        self.losses.replies.store(count, Ordering::SeqCst);
    }

    /// How many were not lost yet.
    pub(crate) fn left(&self) -> usize {
        self.losses.requests.load(Ordering::SeqCst) + self.losses.replies.load(Ordering::SeqCst)
    }
}

fn forward(client: TcpStream, server: TcpStream, losses: &Arc<Losses>) {
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let shared = Arc::clone(losses);
    thread::spawn(move || copy(from, to, &shared.requests));
    let shared = Arc::clone(losses);
    thread::spawn(move || copy(server, client, &shared.replies));
}

fn copy(mut from: TcpStream, mut to: TcpStream, to_lose: &AtomicUsize) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let takes_one = |left: usize| left.checked_sub(1);
        if to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, takes_one).is_ok() || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
