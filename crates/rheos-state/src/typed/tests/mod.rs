//! Each state against a plain model, through snapshots and restores at other parallelisms.

mod expiry;
mod fixtures;
mod lists;
mod maps;
mod refused;
mod timers;
mod values;
