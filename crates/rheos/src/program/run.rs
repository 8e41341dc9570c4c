//! Running a program's job.

use std::sync::Arc;

use rheos_coordinator::Observer;
use rheos_core::{Error, Result};

use super::{Arguments, Program};
use crate::torture::Witness;
use crate::{Job, JobEnd, Session, StartOptions};

impl Program {
    /// The job that the arguments mean.
    pub fn job(&self, arguments: &Arguments) -> Result<Job> {
        Job::from_graph((self.graph)(arguments)?, self.registry.clone())
    }

    /// Runs the job to its end.
    pub fn run(&self, arguments: &Arguments) -> Result<()> {
        let mut session = Session::new();
        for (key, value) in &arguments.settings {
            session.set(key, value).map_err(|e| Error::config(e.to_string()))?;
        }
        let options = StartOptions {
            folder: "job-1".into(),
            from: arguments.from.clone(),
            faults: arguments.faults.clone(),
            observer: arguments.is_tortured.then(|| Arc::new(Witness) as Arc<dyn Observer>),
        };
        match session.start_with(self.job(arguments)?, options)?.wait()? {
            JobEnd::Finished => Ok(()),
            JobEnd::Cancelled | JobEnd::Stopped { .. } => Err(Error::restart("the job was stopped before its end")),
        }
    }
}
