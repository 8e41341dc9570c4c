//! What a program says of a state before it has one.

use std::fmt;
use std::marker::PhantomData;

use super::ttl::Ttl;

/// The name of a state of type `S` (such as `ValueState<String, u64>`), by which it is found in snapshots, and how long its
/// entries live. The names of an operator's states differ from each other.
///
/// ```
/// use rheos_state::typed::{MapState, StateDescriptor, TimeDomain, Ttl};
///
/// let prices: StateDescriptor<MapState<u64, String, f64>> =
///     StateDescriptor::new("prices").with_ttl(Ttl::new(60_000, TimeDomain::EventTime));
/// assert_eq!(prices.name(), "prices");
/// ```
pub struct StateDescriptor<S> {
    name: String,
    ttl: Option<Ttl>,
    state: PhantomData<fn() -> S>,
}

/// A state whose entries can expire.
pub trait Expiring {}

impl<S> StateDescriptor<S> {
    /// The state `name`, kept until it is removed.
    pub fn new(name: impl Into<String>) -> Self {
        StateDescriptor { name: name.into(), ttl: None, state: PhantomData }
    }

    /// The state's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long its entries live, where that is not forever.
    pub fn ttl(&self) -> Option<Ttl> {
        self.ttl
    }
}

impl<S: Expiring> StateDescriptor<S> {
    /// The same, with entries that expire.
    pub fn with_ttl(mut self, ttl: Ttl) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

impl<S> Clone for StateDescriptor<S> {
    fn clone(&self) -> Self {
        StateDescriptor { name: self.name.clone(), ttl: self.ttl, state: PhantomData }
    }
}

impl<S> fmt::Debug for StateDescriptor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateDescriptor").field("name", &self.name).field("ttl", &self.ttl).finish()
    }
}
