//! Whole jobs on a runtime.
