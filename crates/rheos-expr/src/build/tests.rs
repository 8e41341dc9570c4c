//! Tests of building expressions.
