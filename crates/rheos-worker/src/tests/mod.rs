//! Whole jobs on a runtime: typed rows through sources, keyed operators and sinks.

mod fixtures;

mod backpressure;
mod barriers;
mod ends;
mod more;
mod overtaking;
mod restoring;
mod typed;
mod watermarks;
