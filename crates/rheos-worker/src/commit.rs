//! Makes what the sinks of a job prepared visible, or throws it away.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rheos_core::registry::Registry;
use rheos_core::sink::{CommitToken, Committer};
use rheos_core::{Error, Result};
use rheos_graph::{JobGraph, NodeKind};

use crate::subtask::panic_text;
use crate::wiring::sink_factory;

/// The committers of a job's sinks. They outlive its attempts.
pub struct Committers {
    /// By the sink's uid: its name for people, and who commits for it.
    by_sink: BTreeMap<String, (String, Option<Box<dyn Committer>>)>,
}

impl Committers {
    /// Those that the sinks of the job have.
    pub fn new(job: &JobGraph, registry: &Registry) -> Result<Self> {
        let mut by_sink = BTreeMap::new();
        for node in &job.nodes {
            if let NodeKind::Sink { table } = &node.kind {
                by_sink.insert(node.uid.clone(), (node.name.clone(), sink_factory(registry, table)?.committer(table)?));
            }
        }
        Ok(Committers { by_sink })
    }

    /// Commits, one sink after the other; what was committed before is passed over.
    pub fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        for (sink, tokens) in by_sink(tokens) {
            let (name, committer) = self.by_sink.get_mut(sink).ok_or_else(|| {
                Error::config(format!("the snapshot has output of the sink '{sink}' to be published, which the job no longer has"))
            })?;
            match committer {
                Some(committer) => guarded(|| committer.commit(&tokens)).map_err(|e| e.context(format!("commit of {name}")))?,
                None => return Err(Error::bug(format!("{name} prepared output, but has no committer"))),
            }
        }
        Ok(())
    }

    /// Throws away what was prepared. That this fails is told in the log only: nothing depends on it.
    pub fn abort(&mut self, tokens: &[CommitToken]) {
        for (sink, tokens) in by_sink(tokens) {
            if let Some((name, Some(committer))) = self.by_sink.get_mut(sink)
                && let Err(error) = guarded(|| committer.abort(&tokens))
            {
                tracing::warn!(%error, sink = %name, "prepared output cannot be thrown away");
            }
        }
    }
}

fn by_sink(tokens: &[CommitToken]) -> BTreeMap<&str, Vec<CommitToken>> {
    let mut by_sink: BTreeMap<&str, Vec<CommitToken>> = BTreeMap::new();
    for token in tokens {
        by_sink.entry(&token.sink).or_default().push(token.clone());
    }
    by_sink
}

/// A panic of a committer is its error.
fn guarded(call: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Error::bug(format!("panicked: {}", panic_text(panic.as_ref())))))
}
