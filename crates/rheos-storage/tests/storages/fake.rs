//! A server that gives the same answer to every request: what a real one says only in trouble.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Answers every request with `status` and `body` as long as the process lives.
pub(crate) fn start(status: &'static str, body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            thread::spawn(move || answer(client.unwrap(), status, body));
        }
    });
    address
}

fn answer(client: TcpStream, status: &str, body: &str) {
    let mut requests = BufReader::new(client.try_clone().unwrap());
    let mut client = client;
    let reply = format!("HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    while let Some(length) = head(&mut requests) {
        let is_read = std::io::copy(&mut requests.by_ref().take(length), &mut std::io::sink()).is_ok();
        if !is_read || client.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the lines before a body, and gives the body's length; none at the end of the connection.
fn head(requests: &mut impl BufRead) -> Option<u64> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        match requests.read_line(&mut line) {
            Ok(0) | Err(_) => return None,
            Ok(_) if line.trim().is_empty() => return Some(length),
            Ok(_) => {}
        }
        if let Some((key, value)) = line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().unwrap_or_else(|_| panic!("{key}: {value}"));
        }
    }
}
