//! A TCP proxy that cuts connections, swallows what they carry, or takes none.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

#[derive(Default)]
struct Mood {
    down: AtomicBool,
    silent: AtomicBool,
    connections: AtomicUsize,
    /// Cuts each connection after so many bytes; 0: never.
    cut_after: AtomicUsize,
    open: Mutex<Vec<AbortHandle>>,
}

pub(super) struct Proxy {
    address: SocketAddr,
    mood: Arc<Mood>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(super) async fn new(target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mood = Arc::new(Mood::default());
        let task = tokio::spawn(accept(listener, target, Arc::clone(&mood)));
        Proxy { address, mood, task }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were made.
    pub(super) fn connections(&self) -> usize {
        self.mood.connections.load(Ordering::SeqCst)
    }

    /// Cuts what is open.
    pub(super) fn cut(&self) {
        self.mood.open.lock().unwrap().drain(..).for_each(|c| c.abort());
    }

    /// From now on each connection is cut after about so many bytes.
    pub(super) fn cut_after(&self, bytes: usize) {
        self.mood.cut_after.store(bytes, Ordering::SeqCst);
    }

    /// Whether new connections are closed at once.
    pub(super) fn set_down(&self, down: bool) {
        self.mood.down.store(down, Ordering::SeqCst);
    }

    /// Whether bytes are taken and never arrive.
    pub(super) fn set_silent(&self, silent: bool) {
        self.mood.silent.store(silent, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, mood: Arc<Mood>) {
    while let Ok((client, _)) = listener.accept().await {
        if mood.down.load(Ordering::SeqCst) {
            continue;
        }
        mood.connections.fetch_add(1, Ordering::SeqCst);
        let task = tokio::spawn(carry(client, target, Arc::clone(&mood)));
        mood.open.lock().unwrap().push(task.abort_handle());
    }
}

async fn carry(client: TcpStream, target: SocketAddr, mood: Arc<Mood>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, &mood) => {}
        () = copy(from_server, to_client, &mood) => {}
    }
}

async fn copy(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, mood: &Mood) {
    let mut buffer = vec![0; 8 << 10];
    let mut carried = 0;
    while let Ok(n) = from.read(&mut buffer).await {
        if n == 0 {
            return;
        }
        let limit = mood.cut_after.load(Ordering::SeqCst);
        carried += n;
        if limit > 0 && carried > limit {
            // A part of a frame still arrives.
            let _ = to.write_all(&buffer[..n / 2]).await;
            return;
        }
        if mood.silent.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}
