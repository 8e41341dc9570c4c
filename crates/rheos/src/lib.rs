//! The assembly.
