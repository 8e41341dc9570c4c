//! Measures the exchange: in a process, between two processes over loopback, and beside a plain copy of the same bytes.
//!
//! `cargo run --release -p rheos-exchange --example exchange`. It starts itself as the receiving process. Prints rows and bytes a
//! second, and bytes for each second of processor time of both processes; then what 63 channels carry beside one that is stalled.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // it is a program that prints, and nothing depends on it

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use futures_util::future::BoxFuture;
use rheos_core::Batch;
use rheos_core::batch::ColumnBatch;
use rheos_core::element::Element;
use rheos_core::env::{Clock, system_monotonic_ns, system_now_ms};
use rheos_core::time::TimestampMs;
use rheos_exchange::net::{ChannelId, Network, NetworkOptions, Peer};
use rheos_exchange::{ChannelLimits, Inbox, Sender};

const ROWS: i64 = 4096;
/// How long each measurement runs, in milliseconds.
const RUN_MS: u64 = 3000;
/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
const LIMITS: ChannelLimits = ChannelLimits { bytes: 4 << 20, rows: usize::MAX };

struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> TimestampMs {
        system_now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        system_monotonic_ns()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// Bids as Nexmark has them.
fn bids() -> ColumnBatch {
    let text = |name| Field::new(name, DataType::Utf8, true);
    let number = |name| Field::new(name, DataType::Int64, true);
    let time = Field::new("date_time", DataType::Timestamp(TimeUnit::Millisecond, None), true);
    let fields = vec![number("auction"), number("bidder"), number("price"), text("channel"), text("url"), time, text("extra")];
    let mixed = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let letters = |i: i64| (0..100).map(|n| char::from(b'a' + (mixed(i * 100 + n) as u64 >> 33) as u8 % 26)).collect::<String>();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| 1000 + mixed(i).rem_euclid(500)))),
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| 1000 + mixed(i + 7).rem_euclid(5000)))),
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| mixed(i + 9).rem_euclid(100_000_000)))),
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| ["Google", "Facebook", "Baidu", "Apple"][i as usize % 4]))),
        Arc::new(StringArray::from_iter_values(
            (0..ROWS).map(|i| format!("https://www.nexmark.com/item.htm?query=1&channel_id={}", mixed(i) as u32)),
        )),
        Arc::new(TimestampMillisecondArray::from_iter_values((0..ROWS).map(|i| 1_700_000_000_000 + i))),
        Arc::new(StringArray::from_iter_values((0..ROWS).map(letters))),
    ];
    ColumnBatch::inserts(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap())
}

/// The bytes of a batch's rows.
fn batch_bytes(batch: &ColumnBatch) -> usize {
    batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap()).sum()
}

/// Processor time of a process so far, in seconds.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / TICKS_PER_SECOND
}

fn seconds() -> f64 {
    system_monotonic_ns() as f64 / 1e9
}

fn print(what: &str, batches: u64, bytes_each: usize, wall: f64, processor: f64) {
    let bytes = batches as f64 * bytes_each as f64;
    println!(
        "{what:<28} {:>8.2} M rows/s  {:>7.3} GB/s  {:>7.3} GB per second of processor time",
        batches as f64 * ROWS as f64 / wall / 1e6,
        bytes / wall / 1e9,
        bytes / processor / 1e9,
    );
}

async fn send_until(mut sender: Sender, batch: ColumnBatch, end: f64) {
    while seconds() < end {
        sender.send(Element::Batch(Batch::Columns(batch.clone()))).await.unwrap();
    }
    sender.send(Element::End).await.unwrap();
}

fn id(channel: usize) -> ChannelId {
    ChannelId { deployment: 1, edge: 0, sender: channel as u32, receiver: 0 }
}

async fn network(own_id: u64, compress: bool) -> Network {
    let options = NetworkOptions { compress, ..NetworkOptions::new(own_id) };
    Network::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options, Arc::new(SystemClock)).await.unwrap()
}

/// The receiving process: tells where it listens, and for each measurement how many batches came.
async fn receive(channels: usize, stalled: bool) {
    let network = network(2, false).await;
    let (mut inbox, locals) = Inbox::new(vec![0; channels], LIMITS, Arc::default());
    let peer = Peer { id: 1, address: String::new() };
    for (channel, local) in locals.into_iter().enumerate() {
        network.receive(&peer, id(channel), LIMITS, local).unwrap();
    }
    if stalled {
        inbox.hold_back(0);
    }
    println!("{}", network.local_address());
    let mut batches = 0u64;
    while inbox.open_channels() > usize::from(stalled) {
        if let Element::Batch(_) = inbox.next().await.unwrap().element {
            batches += 1;
        }
    }
    println!("{batches}");
    // Until the other end has measured.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

struct Receiver {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Receiver {
    fn start(channels: usize, stalled: bool) -> Receiver {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["receive", &channels.to_string(), &stalled.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Receiver { child, stdin, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

/// Batches, seconds and processor seconds of sending to another process.
async fn between_processes(channels: usize, stalled: bool, compress: bool, batch: &ColumnBatch) -> (u64, f64, f64) {
    let mut receiver = Receiver::start(channels, stalled);
    let network = network(1, compress).await;
    let peer = Peer { id: 2, address: receiver.line() };
    let (own, other) = (std::process::id(), receiver.child.id());
    let senders: Vec<Sender> = (0..channels).map(|i| network.sender(&peer, id(i), LIMITS, Arc::default())).collect();
    let (start, processor) = (seconds(), processor_seconds(own) + processor_seconds(other));
    let tasks: Vec<_> =
        senders.into_iter().map(|sender| tokio::spawn(send_until(sender, batch.clone(), start + RUN_MS as f64 / 1e3))).collect();
    let mut tasks = tasks.into_iter();
    let held_back = if stalled { tasks.next() } else { None };
    for task in tasks {
        task.await.unwrap();
    }
    let batches = receiver.line().parse().unwrap();
    let measured = (batches, seconds() - start, processor_seconds(own) + processor_seconds(other) - processor);
    if let Some(task) = held_back {
        task.abort();
    }
    receiver.stdin.write_all(b"\n").unwrap();
    receiver.child.wait().unwrap();
    measured
}

async fn in_a_process(batch: &ColumnBatch) -> (u64, f64, f64) {
    let (mut inbox, mut senders) = Inbox::new(vec![0], LIMITS, Arc::default());
    let own = std::process::id();
    let (start, processor) = (seconds(), processor_seconds(own));
    tokio::spawn(send_until(senders.remove(0), batch.clone(), start + RUN_MS as f64 / 1e3));
    let mut batches = 0;
    while !matches!(inbox.next().await.unwrap().element, Element::End) {
        batches += 1;
    }
    (batches, seconds() - start, processor_seconds(own) - processor)
}

fn copied(batch: &ColumnBatch) -> (u64, f64, f64) {
    let bytes = batch_bytes(batch);
    let (from, mut to) = (vec![1u8; bytes], vec![0u8; bytes]);
    let own = std::process::id();
    let (start, processor) = (seconds(), processor_seconds(own));
    let mut batches = 0;
    while seconds() < start + RUN_MS as f64 / 1e3 {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        batches += 1;
    }
    (batches, seconds() - start, processor_seconds(own) - processor)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, receive, channels, stalled] = arguments.as_slice()
        && receive == "receive"
    {
        return self::receive(channels.parse().unwrap(), stalled.parse().unwrap()).await;
    }
    let batch = bids();
    let bytes = batch_bytes(&batch);
    println!("batches of {ROWS} bids, {bytes} bytes");
    let show = |what: &str, (batches, wall, processor)| print(what, batches, bytes, wall, processor);
    show("copied in memory", copied(&batch));
    show("in a process", in_a_process(&batch).await);
    show("between processes", between_processes(1, false, false, &batch).await);
    show("between processes, LZ4", between_processes(1, false, true, &batch).await);
    let all = between_processes(64, false, false, &batch).await;
    let one_stalled = between_processes(64, true, false, &batch).await;
    show("64 channels", all);
    show("64 channels, one stalled", one_stalled);
    let ratio = (one_stalled.0 as f64 / one_stalled.1) / (all.0 as f64 / all.1);
    println!("the other 63 carry {ratio:.3} of what all 64 do");
}
