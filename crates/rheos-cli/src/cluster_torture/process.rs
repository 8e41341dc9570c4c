//! A process of the cluster: started, killed, stopped, looked after, and gone with whoever has it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::failure::Failure;

/// A signal that a process cannot refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Stand still.
    Stop,
    /// Go on.
    Continue,
}

/// One process and its successors of the same name, which share a log.
pub(super) struct Process {
    name: String,
    log: PathBuf,
    child: Option<Child>,
    starts: u64,
    keeps_environment: bool,
}

impl Process {
    /// One that does not run yet. All that it ever says goes to `log`.
    pub(super) fn new(name: String, log: PathBuf) -> Process {
        Process { name, log, child: None, starts: 0, keeps_environment: false }
    }

    /// With this process's environment; otherwise it has little more of that than where programs lie.
    pub(super) fn with_environment(mut self) -> Process {
        self.keeps_environment = true;
        self
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where everything lies that it said.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Whether it runs, or stands still.
    pub(super) fn is_up(&self) -> bool {
        self.child.is_some()
    }

    /// Starts it, if it does not run.
    pub(super) fn start(&mut self, command: Command) -> Result<(), Failure> {
        if self.is_up() {
            return Ok(());
        }
        self.starts += 1;
        let said = self.open_log().map_err(|e| Failure::wrong(format!("'{}' cannot be written: {e}", self.log.display())))?;
        let mut command = dying_with_this_thread(command);
        if !self.keeps_environment {
            scrub(&mut command);
        }
        // A group of its own: Ctrl-C is for the torture alone, which ends its processes itself.
        let spawned = command.process_group(0).stdin(Stdio::null()).stdout(said.0).stderr(said.1).spawn();
        self.child = Some(spawned.map_err(|e| Failure::wrong(format!("{} cannot be started: {e}", self.name)))?);
        Ok(())
    }

    fn open_log(&self) -> std::io::Result<(File, File)> {
        let mut log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        writeln!(log, "--- start {} of {}", self.starts, self.name)?;
        Ok((log.try_clone()?, log))
    }

    /// kill -9, and its end awaited. Does nothing where it does not run.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // One that has ended by itself this very moment is as dead.
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Sends a signal. Does nothing where it does not run.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let Some(child) = &self.child else { return Ok(()) };
        let name = if signal == Signal::Stop { "STOP" } else { "CONT" };
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).stderr(Stdio::null()).status();
        status.map(drop).map_err(|e| Failure::wrong(format!("'sh' cannot be run: {e}")))
    }

    /// How it has ended, if it has ended by itself since the last look.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        self.child = None;
        Some(status)
    }

    /// The end of its log.
    pub(super) fn last_words(&self, lines: usize) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].iter().map(|line| format!("  {line}\n")).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command, run so that the kernel kills it when this thread is gone without having dropped anything; where there is `setpriv`.
fn dying_with_this_thread(command: Command) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("setpriv").exists()) {
        return command;
    }
    let mut dying = Command::new("setpriv");
    dying.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    dying
}

/// Takes this process's environment away but for where programs lie and what is logged.
fn scrub(command: &mut Command) {
    command.env_clear();
    let kept = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"];
    command.envs(kept.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    command.env("RHEOS_LOG", std::env::var_os("RHEOS_LOG").unwrap_or_else(|| "info".into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, dir: &Path) -> Process {
        Process::new(name.into(), dir.join(format!("{name}.log")))
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// The letter of its state in /proc: T stands still.
    fn state(process: &Process) -> String {
        let id = process.child.as_ref().unwrap().id();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim().chars().take(1).collect()
    }

    #[test]
    fn successors_share_a_log_and_an_end_is_seen_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = process("it", dir.path());
        for _ in 0..2 {
            process.start(sh("echo hello; exit 3")).unwrap();
            let ended = loop {
                match process.ended() {
                    Some(status) => break status,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!((ended.code(), process.ended().is_none(), process.is_up()), (Some(3), true, false));
        }
        assert_eq!(process.last_words(3), "  hello\n  --- start 2 of it\n  hello\n");
    }

    #[test]
    fn it_stands_still_goes_on_and_is_gone_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = process("it", dir.path());
        process.start(sh("while :; do sleep 1; done")).unwrap();
        process.signal(Signal::Stop).unwrap();
        while state(&process) != "T" {
            std::thread::yield_now();
        }
        process.signal(Signal::Continue).unwrap();
        while state(&process) == "T" {
            std::thread::yield_now();
        }
        process.signal(Signal::Stop).unwrap();
        let id = process.child.as_ref().unwrap().id();
        drop(process);
        assert!(!Path::new("/proc").join(id.to_string()).exists());
    }
}
