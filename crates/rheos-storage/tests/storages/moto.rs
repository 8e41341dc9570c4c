//! A private S3 server for tests: moto, started on a port of this machine, stopped at the end.

use std::env;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A running server.
pub(crate) struct Moto {
    process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Moto {
    /// Starts one, or says on stderr why there is none. Where the server must be there (in CI, and where `RHEOS_MOTO_SERVER`
    /// names it) that is a failure.
    pub(crate) fn start() -> Option<Moto> {
        let named = env::var_os("RHEOS_MOTO_SERVER").filter(|v| !v.is_empty());
        let is_required = named.is_some() || env::var_os("CI").is_some_and(|v| !v.is_empty());
        let program = named.map(PathBuf::from).or_else(cached).unwrap_or_else(|| "moto_server".into());
        match Self::launch(&program) {
            Ok(moto) => Some(moto),
            Err(reason) => {
                let reason = format!("no S3 server: '{}' {reason}; tests/setup-s3 installs one", program.display());
                assert!(!is_required, "{reason}");
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    fn launch(program: &PathBuf) -> Result<Moto, String> {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut moto = Moto { process: process.map_err(|e| format!("cannot be started: {e}"))?, address };
        for _ in 0..600 {
            if let Some(status) = moto.process.try_wait().map_err(|e| e.to_string())? {
                return Err(format!("ended at once ({status})"));
            }
            if TcpStream::connect(address).is_ok() {
                return Ok(moto);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err("does not listen".to_string())
    }

    /// Creates a bucket, which is no task of the storage.
    pub(crate) fn create_bucket(&self, name: &str) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!("PUT /{name} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where `tests/setup-s3` puts it.
fn cached() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("rheos-tests/moto/bin/moto_server")).filter(|p| p.exists())
}
