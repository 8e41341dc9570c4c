//! Conversions between types.
