//! Taking connections, from the end that listens.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use rheos_core::error::{Error, Result};
use tokio::net::{TcpListener, TcpStream};

use super::connection::{Ended, run};
use super::control::{Hello, is_equal};
use super::handshake::{receive_hello, refuse, send_hello};
use super::link::Link;
use super::network::Shared;

/// How long to wait where no connection can be taken, as when there are too many files open.
const WAIT_MS: u64 = 100;

/// Takes connections for as long as the network is there.
pub(crate) async fn accept_all(listener: TcpListener, shared: Weak<Shared>) {
    loop {
        let accepted = listener.accept().await;
        let Some(strong) = shared.upgrade() else { return };
        match accepted {
            Ok((stream, from)) => drop(strong.runtime.spawn(greet(stream, from, shared.clone()))),
            Err(e) => {
                tracing::warn!("no connection could be taken: {e}");
                let sleep = strong.clock.sleep_ms(WAIT_MS);
                drop(strong);
                sleep.await;
            }
        }
    }
}

/// Hears who is there, within the time that a connection may be lost, and has the link served.
async fn greet(mut stream: TcpStream, from: SocketAddr, shared: Weak<Shared>) {
    let Some(strong) = shared.upgrade() else { return };
    let greeted = tokio::select! {
        greeted = hear(&mut stream, &strong) => greeted,
        () = strong.clock.sleep_ms(strong.options.reconnect_timeout_ms) => Err(Error::restart("no hello")),
    };
    match greeted {
        Ok((link, hello)) => {
            let task = strong.runtime.spawn(serve(stream, Arc::clone(&link), hello.link, shared));
            link.set_task(task.abort_handle());
        }
        Err(e) => {
            tracing::error!(%from, "a connection of the data plane was refused: {e}");
            let why = e.to_string();
            tokio::select! {
                () = refuse(&mut stream, &why) => {}
                () = strong.clock.sleep_ms(WAIT_MS) => {}
            }
        }
    }
}

/// The link that the other end wants; it has been answered.
async fn hear(stream: &mut TcpStream, shared: &Arc<Shared>) -> Result<(Arc<Link>, Hello)> {
    stream.set_nodelay(true)?;
    let hello = receive_hello(stream).await?;
    let token = shared.options.token.clone().unwrap_or_default();
    let own = shared.options.own_id;
    if !is_equal(&hello.token, &token) {
        return Err(Error::config("the token is wrong"));
    }
    if hello.to != own || hello.from >= own {
        return Err(Error::config(format!("process {} dials process {}, and this is {own}; the smaller one dials", hello.from, hello.to)));
    }
    let link = shared.answering(&hello)?;
    let answer = Hello { from: own, to: hello.from, link: link.number, peer_link: hello.link, token };
    send_hello(stream, &answer).await?;
    Ok((link, hello))
}

/// Serves the connection, and then waits for the other end to dial again.
async fn serve(stream: TcpStream, link: Arc<Link>, peer_link: u64, shared: Weak<Shared>) {
    let Some(strong) = shared.upgrade() else { return };
    let (options, clock) = (strong.options.clone(), Arc::clone(&strong.clock));
    drop(strong);
    let reason = match run(stream, &link, peer_link, &options, &*clock).await {
        Ended::Failed(e) => e.to_string(),
        Ended::Lost(why) => {
            clock.sleep_ms(options.reconnect_timeout_ms).await;
            format!("process {} did not dial again for {} ms: {why}", link.peer, options.reconnect_timeout_ms)
        }
    };
    // Whoever dials again ends this task.
    if let Some(strong) = shared.upgrade() {
        strong.fail(&link, &reason);
    }
}
