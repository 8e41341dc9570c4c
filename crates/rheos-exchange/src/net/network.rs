//! A process's part of the data plane: its links to all others.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rheos_core::env::Clock;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::TaskMetrics;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::control::Hello;
use super::dial::keep_connected;
use super::encode::Encoder;
use super::incoming::InChannel;
use super::link::Link;
use super::listen::accept_all;
use super::options::NetworkOptions;
use super::outgoing::OutChannel;
use super::peer::{ChannelId, LinkFailure, Peer};
use super::remote_sender::RemoteSender;
use crate::channel::Sender;
use crate::limits::ChannelLimits;

/// A process's part of the data plane. It ends when its last clone is dropped: then all links have failed.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

/// What the tasks of links have of the network.
pub(crate) struct Shared {
    pub(crate) options: NetworkOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) runtime: Handle,
    local_address: SocketAddr,
    links: Mutex<HashMap<u64, Arc<Link>>>,
    next_link: AtomicU64,
    failures: mpsc::UnboundedSender<LinkFailure>,
    unread_failures: Mutex<Option<mpsc::UnboundedReceiver<LinkFailure>>>,
    listening: Mutex<Option<AbortHandle>>,
}

impl Network {
    /// Listens on an address and serves links on the current runtime. The clock must be able to wait on that runtime.
    pub async fn bind(listen: SocketAddr, options: NetworkOptions, clock: Arc<dyn Clock>) -> Result<Network> {
        if options.own_id == 0 {
            return Err(Error::bug("0 is no number of a process"));
        }
        let listener =
            TcpListener::bind(listen).await.map_err(|e| Error::config(format!("cannot listen on {listen}: {e}")).caused_by(e))?;
        let (failures, unread) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            options,
            clock,
            runtime: Handle::current(),
            local_address: listener.local_addr()?,
            links: Mutex::default(),
            next_link: AtomicU64::new(1),
            failures,
            unread_failures: Mutex::new(Some(unread)),
            listening: Mutex::default(),
        });
        let task = shared.runtime.spawn(accept_all(listener, Arc::downgrade(&shared)));
        *lock(&shared.listening) = Some(task.abort_handle());
        Ok(Network { shared })
    }

    /// Where it listens.
    pub fn local_address(&self) -> SocketAddr {
        self.shared.local_address
    }

    /// The sending end of a channel to another process, which must have the receiving end (with the same limits) before the first
    /// element is sent. Elements are encoded on the thread that sends; the time is counted in `metrics`.
    pub fn sender(&self, peer: &Peer, channel: ChannelId, limits: ChannelLimits, metrics: Arc<TaskMetrics>) -> Sender {
        let shared = &self.shared;
        let encoder = Encoder::new(shared.options.max_payload_bytes(), shared.options.compress);
        let outgoing = Arc::new(OutChannel::new(channel, limits.bytes));
        let link = shared.with_link(peer, |link| link.add_outgoing(&outgoing));
        Sender::remote(RemoteSender::new(outgoing, link, encoder, metrics, Arc::clone(&shared.clock)))
    }

    /// The receiving end of a channel from another process: what comes is put into the inbox of `into`.
    pub fn receive(&self, peer: &Peer, channel: ChannelId, limits: ChannelLimits, into: Sender) -> Result<()> {
        let link = self.shared.link(peer);
        let incoming = Arc::new(InChannel::new(channel, limits.bytes, Arc::downgrade(&link), into)?);
        link.add_incoming(&incoming).map_err(|reason| Error::restart(format!("the link to process {} has just failed: {reason}", peer.id)))
    }

    /// Forgets the channels of a deployment: their senders and inboxes find them disconnected. Frames that still come for them
    /// are dropped.
    pub fn close(&self, deployment: u64) {
        let links: Vec<_> = lock(&self.shared.links).values().cloned().collect();
        links.iter().for_each(|link| link.close(deployment));
    }

    /// Links that fail, as they do. To be taken once: `None` after that.
    pub fn failures(&self) -> Option<mpsc::UnboundedReceiver<LinkFailure>> {
        lock(&self.shared.unread_failures).take()
    }

    /// The bytes of frames that were admitted and not yet received by the other ends.
    pub fn buffered_bytes(&self) -> usize {
        let links: Vec<_> = lock(&self.shared.links).values().cloned().collect();
        links.iter().map(|link| link.buffered_bytes()).sum()
    }
}

impl Shared {
    /// The link to a process, with something done to it before it can fail.
    fn with_link(self: &Arc<Self>, peer: &Peer, mut add: impl FnMut(&Link) -> Result<(), String>) -> Arc<Link> {
        loop {
            let link = self.link(peer);
            match add(&link) {
                Ok(()) => return link,
                // Whoever let it fail may not have come to remove it.
                Err(_) => self.remove(&link),
            }
        }
    }

    /// The link to a process. The smaller of the two dials, when it has a link for the first time.
    fn link(self: &Arc<Self>, peer: &Peer) -> Arc<Link> {
        let mut links = lock(&self.links);
        if let Some(link) = links.get(&peer.id) {
            return Arc::clone(link);
        }
        let link = self.new_link(peer.id);
        links.insert(peer.id, Arc::clone(&link));
        if self.options.own_id < peer.id {
            let (weak, dialed, address) = (Arc::downgrade(self), Arc::clone(&link), peer.address.clone());
            let (options, clock) = (self.options.clone(), Arc::clone(&self.clock));
            let task = self.runtime.spawn(async move {
                let reason = keep_connected(&dialed, &address, &options, &*clock).await;
                if let Some(shared) = weak.upgrade() {
                    shared.fail(&dialed, &reason);
                }
            });
            link.set_task(task.abort_handle());
        }
        link
    }

    fn new_link(&self, peer: u64) -> Arc<Link> {
        Arc::new(Link::new(peer, self.next_link.fetch_add(1, Ordering::Relaxed)))
    }

    /// The link that a process wants which has dialed.
    pub(crate) fn answering(self: &Arc<Self>, hello: &Hello) -> Result<Arc<Link>> {
        let gone = || Error::config("this process has given the link up");
        let known = lock(&self.links).get(&hello.from).cloned();
        if let Some(link) = known {
            let is_that = hello.peer_link == 0 || hello.peer_link == link.number;
            let theirs = link.peer_link();
            if is_that && (theirs == 0 || theirs == hello.link) {
                return Ok(link);
            }
            if hello.peer_link != 0 {
                return Err(gone());
            }
            self.fail(&link, "the process at the other end has begun anew");
        } else if hello.peer_link != 0 {
            return Err(gone());
        }
        let mut links = lock(&self.links);
        Ok(Arc::clone(links.entry(hello.from).or_insert_with(|| self.new_link(hello.from))))
    }

    /// The link cannot go on.
    pub(crate) fn fail(&self, link: &Arc<Link>, reason: &str) {
        self.remove(link);
        if let Some(deployments) = link.fail(reason) {
            tracing::warn!(peer = link.peer, "a link of the data plane has failed: {reason}");
            // Nobody may want to know.
            let _ = self.failures.send(LinkFailure { peer: link.peer, deployments, reason: reason.to_owned() });
        }
    }

    fn remove(&self, link: &Arc<Link>) {
        let mut links = lock(&self.links);
        if links.get(&link.peer).is_some_and(|known| Arc::ptr_eq(known, link)) {
            links.remove(&link.peer);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(listening) = lock(&self.listening).take() {
            listening.abort();
        }
        for (_, link) in lock(&self.links).drain() {
            link.fail("the network of this process has ended");
        }
    }
}

/// Nothing that holds such a lock can panic half-way through a change, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
