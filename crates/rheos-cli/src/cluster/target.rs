//! Jobs that run on a cluster, followed from here.

use std::path::Path;
use std::time::Duration;

use rheos::cluster::{JobState, ResultRows, Submission};
use rheos::{Error, ErrorKind};
use rheos_core::env::system_monotonic_ns;

use super::client::{Blocking, failed};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::form::Form;
use crate::run::write_out;

/// How often a job is looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// For how long a coordinator that cannot be reached is asked again: it may be starting.
const PATIENCE_NS: u64 = 60_000_000_000;

/// A cluster that runs jobs for this command.
pub(crate) struct Target(Blocking);

impl Target {
    pub(crate) fn new(target: Option<&str>, token_file: Option<&Path>) -> Result<Target, Failure> {
        Ok(Target(Blocking::new(target, token_file)?))
    }

    pub(crate) fn over(blocking: Blocking) -> Target {
        Target(blocking)
    }

    /// Hands a script over; gives the ids of its jobs.
    pub(crate) fn submit(&self, submission: &Submission) -> Result<Vec<String>, Failure> {
        match self.0.wait(self.0.client.submit(submission))? {
            Ok(jobs) => Ok(jobs.iter().filter_map(|job| job["id"].as_str().map(str::to_string)).collect()),
            Err(plan) => Err(Failure::wrong(match plan.hint {
                Some(hint) => format!("the coordinator refuses the script: {} ({hint})", plan.message),
                None => format!("the coordinator refuses the script: {}", plan.message),
            })),
        }
    }

    fn one(&self, submission: &Submission) -> Result<String, Failure> {
        let job = self.submit(submission)?.into_iter().next();
        job.ok_or_else(|| Failure::Job(Error::bug("the coordinator took a script and made no job of it")))
    }

    /// Asks, again where the coordinator cannot be reached: it may be starting.
    fn ask<T>(&self, question: impl AsyncFn() -> rheos::Result<T>) -> Result<T, Failure> {
        let start_ns = system_monotonic_ns();
        loop {
            match self.0.runtime.block_on(question()) {
                Err(error) if error.kind() == ErrorKind::Retry && system_monotonic_ns() - start_ns < PATIENCE_NS => {
                    std::thread::sleep(PAUSE);
                }
                answered => return answered.map_err(failed),
            }
        }
    }

    /// Waits for the end of a job. Somebody who does not want to wait leaves it running.
    pub(crate) fn wait(&self, id: &str, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut waits_for = None;
        loop {
            let state = JobState::of(&self.ask(async || self.0.client.job(id).await)?);
            if state.has_ended() {
                return ended(id, &state);
            }
            if interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
            if state.detail.is_some() && state.detail != waits_for {
                waits_for.clone_from(&state.detail);
                eprintln!("job {id} is {}: {}", state.state, state.detail.unwrap_or_default());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Runs an INSERT to its end. Whoever interrupts it cancels it.
    pub(crate) fn insert(&self, submission: &Submission, interrupt: &Interrupt) -> Result<(), Failure> {
        let id = self.one(submission)?;
        eprintln!("job {id}");
        let waited = self.wait(&id, interrupt);
        if matches!(waited, Err(Failure::Interrupted)) {
            self.cancel(&id);
        }
        waited
    }

    /// Runs a query and shows its rows. Whoever interrupts it cancels it.
    pub(crate) fn query(&self, submission: &Submission, mut form: Form, interrupt: &Interrupt) -> Result<(), Failure> {
        let id = self.one(submission)?;
        eprintln!("job {id}");
        let shown = self.show(&id, &mut form, interrupt);
        if shown.is_err() {
            self.cancel(&id);
        }
        shown?;
        ended(&id, &JobState::of(&self.ask(async || self.0.client.job(&id).await)?))?;
        let mut text = String::new();
        form.end(&mut text).map_err(Failure::Job)?;
        write_out(&text)
    }

    fn show(&self, id: &str, form: &mut Form, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut text = String::new();
        form.begin(&mut text);
        write_out(&text)?;
        let mut after: Option<String> = None;
        loop {
            let asked = self.ask(async || {
                tokio::select! {
                    rows = self.0.client.results(id, after.as_deref()) => rows.map(Some),
                    () = interrupted(interrupt) => Ok(None),
                }
            });
            match asked? {
                None => return Err(Failure::Interrupted),
                Some(ResultRows::End) => return Ok(()),
                Some(ResultRows::NoneYet) => {}
                Some(ResultRows::Rows(batches, next)) => {
                    let mut text = String::new();
                    batches.iter().try_for_each(|batch| form.rows(batch, &mut text)).map_err(Failure::Job)?;
                    write_out(&text)?;
                    after = Some(next);
                }
            }
        }
    }

    fn cancel(&self, id: &str) {
        match self.0.wait(self.0.client.end(id, false)) {
            Ok(_) => eprintln!("job {id} is canceled"),
            Err(Failure::Wrong(_)) => {} // It has ended.
            Err(_) => eprintln!("job {id} could not be canceled: 'rheos job cancel {id}' tries again"),
        }
    }
}

async fn interrupted(interrupt: &Interrupt) {
    while !interrupt.is_requested() {
        tokio::time::sleep(PAUSE / 2).await;
    }
}

fn ended(id: &str, state: &JobState) -> Result<(), Failure> {
    let detail = state.detail.clone().unwrap_or_default();
    match state.state.as_str() {
        "FINISHED" => Ok(()),
        "FAILED" => Err(Failure::Job(Error::restart(format!("job {id} failed: {detail}")))),
        "STOPPED" => {
            eprintln!("job {id} was stopped with {detail}");
            Err(Failure::Interrupted)
        }
        _ => {
            eprintln!("job {id} was canceled");
            Err(Failure::Interrupted)
        }
    }
}
