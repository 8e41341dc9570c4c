//! Tests of arithmetic.
