//! Making the connection of a link, again and again, from the end that dials.

use rheos_core::env::Clock;
use rheos_core::error::{Error, Result};
use tokio::net::TcpStream;

use super::connection::{Ended, run};
use super::control::{Hello, is_equal};
use super::handshake::{receive_hello, send_hello};
use super::link::Link;
use super::options::NetworkOptions;

/// How long to wait between attempts, in milliseconds.
const FIRST_WAIT_MS: u64 = 20;
const LONGEST_WAIT_MS: u64 = 500;
/// How many attempts there are at least until a lost link has failed: an answer may be lost too.
const ATTEMPTS: u64 = 4;

/// Keeps the link connected until it fails; returns why.
pub(crate) async fn keep_connected(link: &Link, address: &str, options: &NetworkOptions, clock: &dyn Clock) -> String {
    let timeout_ms = options.reconnect_timeout_ms;
    let mut lost = clock.monotonic_ns();
    let mut wait_ms = FIRST_WAIT_MS;
    let mut last = String::from("never connected");
    loop {
        let left_ms = timeout_ms.saturating_sub((clock.monotonic_ns() - lost) / 1_000_000);
        if left_ms == 0 {
            return format!("no connection to {address} for {timeout_ms} ms: {last}");
        }
        let dialed = tokio::select! {
            dialed = dial(link, address, options) => dialed,
            () = clock.sleep_ms(left_ms.min((timeout_ms / ATTEMPTS).max(1))) => Err(Error::restart("no answer")),
        };
        let ended = match dialed {
            Ok((stream, peer_link)) => {
                wait_ms = FIRST_WAIT_MS;
                let ended = run(stream, link, peer_link, options, clock).await;
                lost = clock.monotonic_ns();
                ended
            }
            Err(e) => e.into(),
        };
        match ended {
            Ended::Failed(e) => return e.to_string(),
            Ended::Lost(why) => last = why,
        }
        tracing::debug!(peer = link.peer, address, "not connected: {last}");
        clock.sleep_ms(wait_ms).await;
        wait_ms = (wait_ms * 2).min(LONGEST_WAIT_MS);
    }
}

/// A connection on which both ends have said who they are, and the number of the link at the other end.
async fn dial(link: &Link, address: &str, options: &NetworkOptions) -> Result<(TcpStream, u64)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let token = options.token.clone().unwrap_or_default();
    let known = link.peer_link();
    let hello = Hello { from: options.own_id, to: link.peer, link: link.number, peer_link: known, token };
    send_hello(&mut stream, &hello).await?;
    let answer = receive_hello(&mut stream).await?;
    if answer.from != link.peer || answer.to != options.own_id || answer.peer_link != link.number {
        return Err(Error::restart(format!("process {} answers for process {}", answer.from, link.peer)));
    }
    if !is_equal(&answer.token, &hello.token) {
        return Err(Error::config("the token of the process at the other end is another"));
    }
    if known != 0 && answer.link != known {
        return Err(Error::config("the process at the other end has given the link up"));
    }
    Ok((stream, answer.link))
}
