//! `--catalog FILE`: the tables, views and settings of sessions, kept as SQL.
//!
//! 1. [`change`] says what a statement that has succeeded changes.
//! 2. [`entries`] is the file's text, statement by statement, and what a change makes of it.
//! 3. [`mod@file`] reads it, loads it into a session, and replaces it as a whole.

mod change;
mod entries;
mod file;

pub(crate) use change::Change;
pub(crate) use file::{CatalogFile, Kept};
