//! The link to one other process: its channels, and what waits to be written. It outlives connections.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use rheos_core::error::{Error, Result};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::control::{Progress, decode_consumed};
use super::encode::Frame;
use super::header::{FrameKind, Header};
use super::incoming::InChannel;
use super::outgoing::OutChannel;
use super::peer::ChannelId;
use super::returns::Returns;

/// How much is written at once, in bytes and in frames.
const WRITE_BYTES: usize = 1 << 20;
const WRITE_FRAMES: usize = 64;

/// A link. Locks are taken in this order: the link's channels, one channel, the link's queue.
#[derive(Debug)]
pub(crate) struct Link {
    /// The process at the other end.
    pub(crate) peer: u64,
    /// Unique in this process, so that the other end knows a link that it has lost from one made anew.
    pub(crate) number: u64,
    state: Mutex<LinkState>,
    queue: Mutex<Queue>,
    /// Wakes the connection that writes.
    pub(crate) wake: Notify,
}

#[derive(Debug, Default)]
struct LinkState {
    outgoing: HashMap<ChannelId, Arc<OutChannel>>,
    incoming: HashMap<ChannelId, Arc<InChannel>>,
    /// The number that the other end gave the link, once known.
    peer_link: u64,
    /// The connection, by its number; each supersedes those before.
    generation: u64,
    /// What serves the connection, or makes it.
    task: Option<AbortHandle>,
    failed: Option<String>,
}

#[derive(Debug, Default)]
struct Queue {
    generation: u64,
    /// Channels that have frames, in turn.
    ready: VecDeque<Arc<OutChannel>>,
    /// Channels that have something to report.
    reports: VecDeque<Arc<Returns>>,
    ping: bool,
}

impl Link {
    pub(crate) fn new(peer: u64, number: u64) -> Self {
        Link { peer, number, state: Mutex::default(), queue: Mutex::default(), wake: Notify::new() }
    }

    /// Adds a channel that sends; an error says why the link has failed.
    pub(crate) fn add_outgoing(&self, channel: &Arc<OutChannel>) -> Result<(), String> {
        let mut state = self.lock();
        match &state.failed {
            Some(reason) => Err(reason.clone()),
            None => {
                state.outgoing.insert(channel.id, Arc::clone(channel));
                Ok(())
            }
        }
    }

    /// Adds a channel that receives; an error says why the link has failed.
    pub(crate) fn add_incoming(&self, channel: &Arc<InChannel>) -> Result<(), String> {
        let mut state = self.lock();
        match &state.failed {
            Some(reason) => Err(reason.clone()),
            None => {
                state.incoming.insert(channel.returns.id, Arc::clone(channel));
                Ok(())
            }
        }
    }

    /// Forgets a channel that has nothing more to send.
    pub(crate) fn forget(&self, channel: &Arc<OutChannel>) {
        let mut state = self.lock();
        if state.outgoing.get(&channel.id).is_some_and(|known| Arc::ptr_eq(known, channel)) {
            state.outgoing.remove(&channel.id);
        }
    }

    /// Forgets a deployment's channels.
    pub(crate) fn close(&self, deployment: u64) {
        let mut state = self.lock();
        let outgoing: Vec<_> = state.outgoing.extract_if(|id, _| id.deployment == deployment).collect();
        let incoming: Vec<_> = state.incoming.extract_if(|id, _| id.deployment == deployment).collect();
        drop(state);
        outgoing.iter().for_each(|(_, channel)| channel.disconnect());
        incoming.iter().for_each(|(_, channel)| channel.disconnect());
    }

    /// Disconnects all channels for ever. Returns their deployments, unless it was done before.
    pub(crate) fn fail(&self, reason: &str) -> Option<Vec<u64>> {
        let mut state = self.lock();
        if state.failed.is_some() {
            return None;
        }
        state.failed = Some(reason.to_owned());
        let (outgoing, incoming) = (std::mem::take(&mut state.outgoing), std::mem::take(&mut state.incoming));
        let task = state.task.take();
        drop(state);
        outgoing.values().for_each(|channel| channel.disconnect());
        incoming.values().for_each(|channel| channel.disconnect());
        let mut deployments: Vec<u64> = outgoing.keys().chain(incoming.keys()).map(|id| id.deployment).collect();
        deployments.sort_unstable();
        deployments.dedup();
        if let Some(task) = task {
            task.abort();
        }
        Some(deployments)
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        let outgoing: Vec<_> = self.lock().outgoing.values().cloned().collect();
        outgoing.iter().map(|channel| channel.buffered_bytes()).sum()
    }

    /// The number that the other end gave the link; 0 where it is not known yet.
    pub(crate) fn peer_link(&self) -> u64 {
        self.lock().peer_link
    }

    /// The task that serves the link from now on; the one before is ended.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        let mut state = self.lock();
        if state.failed.is_some() {
            task.abort();
        } else if let Some(before) = state.task.replace(task) {
            before.abort();
        }
    }

    /// A new connection to the other end, which calls the link `peer_link`. Returns the connection's number, and how far the
    /// incoming channels are.
    pub(crate) fn connected(&self, peer_link: u64) -> (u64, Vec<Progress>) {
        let mut state = self.lock();
        state.peer_link = peer_link;
        state.generation += 1;
        let mut queue = self.lock_queue();
        queue.generation = state.generation;
        queue.ready.clear();
        queue.reports.clear();
        drop(queue);
        state.incoming.values().for_each(|channel| channel.returns.unqueue());
        (state.generation, state.incoming.values().map(|channel| channel.returns.progress()).collect())
    }

    /// What the other end has received: the outgoing channels go on from there.
    pub(crate) fn resume(&self, generation: u64, all: &[Progress]) -> Result<()> {
        // What was put in meanwhile comes again below.
        self.lock_queue().ready.clear();
        let all: HashMap<ChannelId, &Progress> = all.iter().map(|p| (p.channel, p)).collect();
        let outgoing: Vec<_> = self.lock().outgoing.values().cloned().collect();
        for channel in outgoing {
            let is_queued = match all.get(&channel.id) {
                Some(progress) if progress.closed => None,
                Some(progress) => Some(channel.resume(generation, progress.expected, progress.consumed)?),
                None => channel.resume_unknown(generation)?,
            };
            match is_queued {
                Some(true) => self.queue_frames(channel),
                Some(false) => {}
                None => channel.disconnect(),
            }
        }
        Ok(())
    }

    /// Takes in what came on a connection.
    pub(crate) fn accept(&self, header: &Header, payload: Bytes) -> Result<()> {
        match header.kind {
            FrameKind::Ping => Ok(()),
            FrameKind::Consumed => {
                let consumed = decode_consumed(&payload)?;
                let channel = self.lock().outgoing.get(&header.channel).cloned();
                if let Some(channel) = channel
                    && channel.acknowledge(header.sequence, consumed)?
                {
                    self.forget(&channel);
                }
                Ok(())
            }
            FrameKind::Closed => {
                let channel = self.lock().outgoing.get(&header.channel).cloned();
                channel.into_iter().for_each(|channel| channel.disconnect());
                Ok(())
            }
            kind if kind.is_sequenced() => {
                // Channels that are not known are of deployments that were closed.
                let channel = self.lock().incoming.get(&header.channel).cloned();
                channel.map_or(Ok(()), |channel| channel.accept(header, payload))
            }
            kind => Err(Error::corrupt(format!("{kind:?} in the midst of a connection"))),
        }
        .map_err(|e| e.context(format!("{:?} on {:?}", header.kind, header.channel)))
    }

    pub(crate) fn queue_frames(&self, channel: Arc<OutChannel>) {
        self.lock_queue().ready.push_back(channel);
        self.wake.notify_one();
    }

    pub(crate) fn queue_report(&self, returns: Arc<Returns>) {
        self.lock_queue().reports.push_back(returns);
        self.wake.notify_one();
    }

    pub(crate) fn queue_ping(&self) {
        self.lock_queue().ping = true;
        self.wake.notify_one();
    }

    /// What the connection `generation` is to write next: reports, then a frame of each channel in turn.
    pub(crate) fn next_frames(&self, generation: u64, frames: &mut Vec<Arc<Frame>>) {
        let mut queue = self.lock_queue();
        if queue.generation != generation {
            return;
        }
        if std::mem::take(&mut queue.ping) {
            frames.push(Arc::new(Frame::unsequenced(FrameKind::Ping, ChannelId::NONE, 0, &[])));
        }
        let reports: Vec<Arc<Returns>> = queue.reports.drain(..).collect();
        let mut ready = std::mem::take(&mut queue.ready);
        drop(queue);
        frames.extend(reports.iter().map(|returns| Arc::new(returns.frame())));
        let mut bytes = 0;
        while bytes < WRITE_BYTES
            && frames.len() < WRITE_FRAMES
            && let Some(channel) = ready.pop_front()
        {
            if let Some((frame, more)) = channel.take(generation) {
                bytes += frame.len();
                frames.push(frame);
                if more {
                    ready.push_back(channel);
                }
            }
        }
        // What is left keeps its turn before what came meanwhile.
        let mut queue = self.lock_queue();
        if queue.generation == generation {
            ready.append(&mut queue.ready);
            queue.ready = ready;
        }
    }

    /// Nothing that holds the lock can panic half-way through a change, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
