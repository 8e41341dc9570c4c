//! The command line of a program: names and meanings are those of `rheos run`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rheos_core::{Error, Result};

use crate::checkpointing::{DIR, INTERVAL};
use crate::start::StartFrom;

/// What a program understands.
pub(super) const USAGE: &str = "\
usage: run --output DIR [--checkpoint-dir DIR] [--checkpoint-interval DURATION] [--restore [latest|PATH]] [--fresh]
           [-p N] [--set KEY=VALUE]... [--var NAME=VALUE]...
       torture [--kills N] [--seed S] [--interval DURATION] [--recovery precise|rollback|gap] [--no-faults] [--keep DIR]
           [-p N] [--set KEY=VALUE]... [--var NAME=VALUE]...";

/// What somebody wants of a program that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The folder to write to.
    pub output: PathBuf,
    /// How many subtasks an operator is to run as; at least 1.
    pub parallelism: usize,
    /// What the program is told besides, by name.
    pub variables: BTreeMap<String, String>,
    /// Settings of the session, weakest first.
    pub(super) settings: Vec<(String, String)>,
    pub(super) from: StartFrom,
    pub(super) faults: Option<String>,
    /// Whether a torture has started it.
    pub(super) is_tortured: bool,
}

impl Arguments {
    /// Reads what stands behind `run`.
    pub fn parse(arguments: &[String]) -> Result<Arguments> {
        let mut parsed = Arguments { parallelism: 1, ..Arguments::default() };
        let mut line = Line::new(arguments);
        while let Some(flag) = line.next() {
            match flag {
                "--output" => parsed.output = line.value(flag)?.into(),
                "--checkpoint-dir" => parsed.settings.push((DIR.into(), line.value(flag)?)),
                "--checkpoint-interval" => parsed.settings.push((INTERVAL.into(), line.value(flag)?)),
                "--fresh" => parsed.from = StartFrom::Fresh,
                "--restore" => {
                    parsed.from = match line.optional_value() {
                        None | Some("latest") => StartFrom::Latest,
                        Some(place) => StartFrom::Snapshot(place.into()),
                    };
                }
                "--storage-faults" => parsed.faults = Some(line.value(flag)?),
                "--tortured" => parsed.is_tortured = true,
                _ if parsed.takes_common(flag, &mut line)? => {}
                _ => return Err(unknown(flag)),
            }
        }
        if parsed.output.as_os_str().is_empty() {
            return Err(Error::config(format!("--output names the folder to write to\n{USAGE}")));
        }
        Ok(parsed)
    }

    /// Whether it is an argument that both verbs take.
    pub(super) fn takes_common(&mut self, flag: &str, line: &mut Line<'_>) -> Result<bool> {
        match flag {
            "-p" | "--parallelism" => {
                let text = line.value(flag)?;
                let wrong = || Error::config(format!("{flag} is '{text}', which is no number from 1 to 1024"));
                self.parallelism = text.parse().ok().filter(|n| (1..=1024).contains(n)).ok_or_else(wrong)?;
            }
            "--set" => self.settings.push(line.pair(flag)?),
            "--var" => self.variables.extend([line.pair(flag)?]),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A number that the program is told by this name, or what holds without.
    pub fn number(&self, name: &str, default: u64) -> Result<u64> {
        let Some(text) = self.variables.get(name) else { return Ok(default) };
        text.parse().map_err(|_| Error::config(format!("--var {name}={text} is no whole number")))
    }
}

pub(super) fn unknown(flag: &str) -> Error {
    Error::config(format!("'{flag}' is not understood\n{USAGE}"))
}

/// The rest of a command line.
pub(super) struct Line<'a>(std::iter::Peekable<std::slice::Iter<'a, String>>);

impl<'a> Line<'a> {
    pub(super) fn new(arguments: &'a [String]) -> Self {
        Line(arguments.iter().peekable())
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        self.0.next().map(String::as_str)
    }

    pub(super) fn value(&mut self, flag: &str) -> Result<String> {
        self.0.next().cloned().ok_or_else(|| Error::config(format!("{flag} wants a value behind it\n{USAGE}")))
    }

    fn optional_value(&mut self) -> Option<&'a str> {
        self.0.next_if(|next| !next.starts_with('-')).map(String::as_str)
    }

    fn pair(&mut self, flag: &str) -> Result<(String, String)> {
        let text = self.value(flag)?;
        let (key, value) = text.split_once('=').ok_or_else(|| Error::config(format!("{flag} {text}: write it as name=value")))?;
        Ok((key.trim().into(), value.trim().into()))
    }
}
