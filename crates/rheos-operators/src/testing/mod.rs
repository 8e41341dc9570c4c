//! For tests: random changelogs, tables that they describe, and several instances of an operator driven as one.

mod changelog;
mod instances;
mod table;

pub(crate) use changelog::{Changelog, Dice};
pub(crate) use instances::Instances;
pub(crate) use table::{Change, Row, Table, Value, batch, changes_of, fold};
