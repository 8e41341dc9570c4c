//! Tests of operators.
