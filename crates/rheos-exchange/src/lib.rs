//! Elements between tasks: bounded channels, merged by the receiver, chosen by the sender's partitioners.
//!
//! A row on its way:
//! 1. The sending task gives a batch to its [`Outbox`], where each outgoing edge's [`Partitioner`] says which channel gets
//!    which rows; small pieces are joined ([`CoalesceLimits`]) while the task is busy.
//! 2. What is ready is sent through the [`Sender`] of its channel, which admits it when the receiver has room
//!    ([`ChannelLimits`], counted in retained bytes and in rows). Waiting for room is backpressure.
//! 3. The receiving task takes it from its [`Inbox`], which merges many channels fairly. A channel that is not polled is one
//!    under backpressure: alignment needs no other mechanism.
//!
//! Watermarks, barriers and the end go to every channel of every edge, after the rows that came before them. The order
//! within a channel is kept. In debug builds each channel is checked against [`rheos_core::grammar`].
//!
//! A channel to another process has the same two ends; what is between them is the module [`net`].
//!
//! This crate knows no operator and no task.

mod channel;
mod coalesce;
mod inbox;
mod limits;
pub mod net;
mod outbox;
mod partition;
mod readiness;
mod send_error;

pub use channel::Sender;
pub use inbox::{Disconnected, Inbox, Received};
pub use limits::{ChannelLimits, CoalesceLimits};
pub use outbox::{OutEdge, Outbox, Overtaken};
pub use partition::Partitioner;
pub use send_error::SendError;

#[cfg(test)]
mod tests;
