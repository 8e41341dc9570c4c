//! JSON: an object on each line.

mod encode;
mod object;
mod options;
mod scalar;
#[cfg(test)]
mod tests;
mod value;

pub use encode::Encoder;
pub use options::Options;

pub(crate) use encode::{write_time, write_timestamp};
pub(crate) use object::{JsonReader, no_json, retry_without_control_characters};
pub(crate) use options::{check_types, info};
