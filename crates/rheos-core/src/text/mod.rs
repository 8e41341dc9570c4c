//! Scalar values as text and back: what formats, casts and printed results agree on.
//!
//! Writers append to a `String` and never fail; parsers give `None` for what is not a value. Nothing here trims: callers
//! that accept surrounding blanks trim first.

mod ascii;
pub mod calendar;
mod number;
mod temporal;
mod value;

pub use number::{
    parse_boolean, parse_decimal, parse_double, parse_float, parse_integer, pow10, rescale, write_decimal, write_double, write_float,
    write_integer,
};
pub use temporal::{parse_date, parse_time, parse_timestamp, parse_timestamp_iso, write_date, write_time, write_timestamp};
pub use value::{write_nested_value, write_value};

#[cfg(test)]
mod tests;
