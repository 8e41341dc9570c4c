//! Comma-separated values, with Flink's options.

mod decode;
mod encode;
mod options;
#[cfg(test)]
mod tests;

pub use encode::Encoder;
pub use options::Options;

pub(crate) use decode::CsvDecoder;
pub(crate) use options::{check_types, info};
