//! Starts and ends the processes of a cluster, and speaks to them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A coordinator and its workers. They are killed with it.
pub(crate) struct Cluster {
    coordinator: Process,
    workers: Vec<Process>,
    folder: tempfile::TempDir,
    token: Option<String>,
    pub(crate) address: String,
}

/// A process that is killed when it is no longer needed.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Process {
    /// Starts one, and waits for a line on its standard error that contains `word`.
    fn start(command: &mut Command, word: &str) -> (Process, String) {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("rheos starts");
        let mut told = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        let process = Process(child);
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(told.read_line(&mut line).expect("a line") > 0, "it ended before it said '{word}': {all}");
            all.push_str(&line);
            if line.contains(word) {
                // Somebody has to take in what it says.
                std::thread::spawn(move || drop(std::io::copy(&mut told, &mut std::io::sink())));
                return (process, line);
            }
        }
    }
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        Cluster::with(None)
    }

    pub(crate) fn start_with_token(token: &str) -> Cluster {
        Cluster::with(Some(token.to_string()))
    }

    fn with(token: Option<String>) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let (coordinator, address) = start_coordinator(folder.path(), "127.0.0.1:0", token.as_deref());
        Cluster { coordinator, workers: Vec::new(), folder, token, address }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn add_worker(&mut self, slots: u32) {
        let slots = slots.to_string();
        let mut command = command(self.token.as_deref());
        command.args(["worker", "--coordinator", &self.address, "--slots", &slots]);
        self.workers.push(Process::start(&mut command, "serving").0);
    }

    /// Kills the process, as `kill -9` does.
    pub(crate) fn kill_worker(&mut self, index: usize) {
        self.workers.remove(index);
    }

    pub(crate) fn restart_coordinator(&mut self) {
        self.coordinator.0.kill().expect("it can be killed");
        self.coordinator.0.wait().expect("it ends");
        (self.coordinator, self.address) = start_coordinator(self.folder.path(), &self.address, self.token.as_deref());
    }

    /// What a command that succeeds writes to standard output.
    pub(crate) fn rheos(&self, args: &[&str]) -> String {
        let (code, out, told) = self.run(args, self.token.as_deref());
        assert_eq!(code, 0, "{args:?}: {told}");
        out
    }

    /// The exit code of a command that fails, and what it says.
    pub(crate) fn fails(&self, args: &[&str]) -> (i32, String) {
        let (code, _, told) = self.run(args, self.token.as_deref());
        (code, told)
    }

    pub(crate) fn fails_without_token(&self, args: &[&str]) -> (i32, String) {
        let (code, _, told) = self.run(args, None);
        (code, told)
    }

    fn run(&self, args: &[&str], token: Option<&str>) -> (i32, String, String) {
        let mut command = command(token);
        command.args(args).env("RHEOS_TARGET", &self.address);
        if args[0] == "run" {
            command.args(["--target", &self.address]);
        }
        let output = command.output().expect("rheos runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// The answer of the REST interface.
    pub(crate) fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.text(&self.address, path)).expect("JSON")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        let head = format!("POST {path} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
        serde_json::from_str(&self.ask(&self.address, &head, body)).expect("JSON")
    }

    pub(crate) fn text(&self, address: &str, path: &str) -> String {
        self.ask(address, &format!("GET {path} HTTP/1.1\r\n"), "")
    }

    /// HTTP by hand: so that tools other than our own are seen to be served.
    fn ask(&self, address: &str, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let token = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(stream, "{head}host: {address}\r\n{token}connection: close\r\n\r\n{body}").expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer.split_once("\r\n\r\n").expect("a body").1.to_string()
    }
}

fn start_coordinator(folder: &Path, listen: &str, token: Option<&str>) -> (Process, String) {
    let mut command = command(token);
    command.args(["coordinator", "--listen", listen, "--heartbeat-timeout", "5 s", "--dir"]).arg(folder.join("cluster"));
    let (process, line) = Process::start(&mut command, "listening on");
    let address = line.trim_start_matches("listening on ").split(';').next().expect("an address").to_string();
    (process, address)
}

fn command(token: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    command.env_remove("RHEOS_TARGET").env_remove("RHEOS_TOKEN");
    if let Some(token) = token {
        command.env("RHEOS_TOKEN", token);
    }
    command
}

/// Waits until something holds; a minute at most, so that what never comes is a failure and not a hang.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1200 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}
