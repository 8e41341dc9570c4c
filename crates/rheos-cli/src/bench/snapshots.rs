//! Snapshots of a large state: what they cost first and after some keys changed, and how long a restore takes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rheos::{CheckpointStats, Note, Observer, Prepared, Running, Session, StartFrom, StartOptions};
use rheos_core::env::system_monotonic_ns;

use crate::args::SnapshotsArgs;
use crate::failure::Failure;
use crate::figures::{count, table};
use crate::interrupt::Interrupt;
use crate::run::write_out;

/// Tells of every snapshot.
struct Tell(Mutex<Sender<Result<CheckpointStats, String>>>);

impl Observer for Tell {
    fn note(&self, note: Note) {
        let told = match note {
            Note::CheckpointDone { stats, .. } => Ok(stats),
            Note::CheckpointFailed { reason, .. } | Note::Restarting { reason, .. } => Err(reason),
            Note::Running { .. } => return,
        };
        // Whoever measures may have seen enough.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(told);
    }
}

/// Carries `rheos bench snapshots` out.
pub(crate) fn snapshots(args: &SnapshotsArgs) -> Result<(), Failure> {
    if args.keys < 100 || args.interval == 0 {
        return Err(Failure::wrong("it takes at least 100 keys and an interval of a second"));
    }
    if cfg!(debug_assertions) {
        eprintln!("note: this is a debug build; its figures say little (cargo build --release)");
    }
    let interrupt = Interrupt::default();
    interrupt.listen();
    let (sender, told) = channel();
    let tell: Arc<dyn Observer> = Arc::new(Tell(Mutex::new(sender)));
    let mut rows = Vec::new();

    let running = start(args, args.parallelism, StartFrom::Fresh, Some(tell))?;
    let limit = Duration::from_secs(args.interval);
    for what in ["first", "1 % changed"] {
        let stats = next(&told, &running, &interrupt, limit)?;
        if state_rows(&running) < args.keys {
            running.cancel();
            return Err(Failure::wrong(format!("after {} s not all keys were there: give it more with --interval", args.interval)));
        }
        rows.push(vec![
            what.to_string(),
            format!("{:.1}", stats.new_bytes as f64 / 1e6),
            format!("{:.1}", stats.bytes as f64 / 1e6),
            format!("{:.2}", stats.duration_ms as f64 / 1e3),
        ]);
    }
    running.cancel();
    running.wait().map_err(Failure::Job)?;
    drop(running);

    for parallelism in [args.parallelism, 2 * args.parallelism] {
        let start_ns = system_monotonic_ns();
        let running = start(args, parallelism, StartFrom::Latest, None)?;
        while state_rows(&running) < args.keys {
            if interrupt.is_requested() || running.is_done() {
                running.cancel();
                running.wait().map_err(Failure::Job)?;
                return Err(Failure::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let seconds = (system_monotonic_ns() - start_ns) as f64 / 1e9;
        rows.push(vec![format!("restored at parallelism {parallelism}"), "-".into(), "-".into(), format!("{seconds:.2}")]);
        running.cancel();
        running.wait().map_err(Failure::Job)?;
    }
    let header = ["snapshot", "written MB", "state MB", "seconds"].map(String::from);
    write_out(&format!("{} keys\n{}\n", count(args.keys, ""), table(&header, &rows)))
}

fn start(args: &SnapshotsArgs, parallelism: usize, from: StartFrom, observer: Option<Arc<dyn Observer>>) -> Result<Running, Failure> {
    let wrong = |e: rheos::SqlError| Failure::wrong(e.to_string());
    let mut session = Session::new();
    let (interval, parallelism) = (format!("{} s", args.interval), parallelism.to_string());
    let settings = [
        ("execution.checkpointing.dir", args.checkpoint_dir.as_str()),
        ("execution.checkpointing.interval", &interval),
        ("parallelism.default", &parallelism),
    ];
    for (key, value) in settings {
        session.set(key, value).map_err(wrong)?;
    }
    let hundredth = args.keys / 100;
    // Random keys: five draws for each leave fewer than one in a hundred out.
    let rate = (5 * hundredth / args.interval).max(1);
    let last = args.keys - 1;
    let table = |name: &str, more: &str| {
        format!(
            "CREATE TABLE {name} (id BIGINT, payload STRING) WITH ('connector' = 'datagen', 'fields.payload.length' = '150', {more});\n"
        )
    };
    let all =
        format!("'rows-per-second' = '100000000', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{last}'");
    let some = format!("'rows-per-second' = '{rate}', 'fields.id.min' = '0', 'fields.id.max' = '{}'", hundredth - 1);
    let script = format!(
        "{}{}CREATE TABLE nowhere (id BIGINT, n BIGINT, payload STRING) WITH ('connector' = 'blackhole');
         INSERT INTO nowhere SELECT id, COUNT(*), MAX(payload) FROM (SELECT * FROM everybody UNION ALL SELECT * FROM some) GROUP BY id;",
        table("everybody", &all),
        table("some", &some)
    );
    for parsed in session.parse(&script).map_err(wrong)? {
        if let Prepared::Job(job) = session.prepare(&parsed.statement).map_err(wrong)? {
            let options = StartOptions { folder: "bench".into(), from, observer, ..StartOptions::default() };
            return session.start_with(job, options).map_err(Failure::of_start);
        }
    }
    Err(Failure::wrong("a script without a job"))
}

/// The rows that the aggregation keeps.
fn state_rows(running: &Running) -> u64 {
    let metrics = running.metrics();
    let operators = metrics.tasks.iter().flat_map(|t| &t.operators).filter(|o| o.name.contains("GroupAggregate"));
    operators.map(|o| u64::try_from(o.state_rows).unwrap_or(0)).sum()
}

/// Waits for the next snapshot.
fn next(
    told: &Receiver<Result<CheckpointStats, String>>,
    running: &Running,
    interrupt: &Interrupt,
    interval: Duration,
) -> Result<CheckpointStats, Failure> {
    let mut left = interval * 3;
    let step = Duration::from_millis(50);
    loop {
        match told.recv_timeout(step) {
            Ok(Ok(stats)) => return Ok(stats),
            Ok(Err(reason)) => return Err(Failure::wrong(format!("a snapshot failed: {reason}"))),
            Err(_) if interrupt.is_requested() || running.is_done() => {
                running.cancel();
                running.wait().map_err(Failure::Job)?;
                return Err(Failure::Interrupted);
            }
            Err(_) if left.is_zero() => return Err(Failure::wrong("no snapshot came")),
            Err(_) => left = left.saturating_sub(step),
        }
    }
}
