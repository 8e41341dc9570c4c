//! Keyed state of typed operators: keys and values of a program's own Rust types.

mod value;

pub use value::ValueState;
