//! Tests of comparison.
