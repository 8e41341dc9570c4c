//! The commands of clusters: processes that serve, jobs handed to them, and what people ask of them.

mod client;
mod job;
mod serve;
mod submit;
mod target;

pub(crate) use job::{job, jobs, workers};
pub(crate) use serve::{cluster, coordinator, worker};
pub(crate) use submit::{submission, submit};
pub(crate) use target::Target;
