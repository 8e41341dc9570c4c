//! A watched folder: each file once, whatever happens between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::{BoxFuture, pending};
use rheos_core::env::Clock;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceReader, Split, assign_splits};

use super::*;

/// A clock that is moved by hand, and on which whoever sleeps waits for ever.
struct StillClock(AtomicI64);

impl Clock for StillClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        self.now_ms() as u64 * 1_000_000
    }

    fn sleep_ms(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }
}

/// A folder with readers of it.
struct Watch {
    dir: TempDir,
    table: TableSpec,
    clock: Arc<StillClock>,
    readers: Vec<Box<dyn SourceReader>>,
    read: BTreeMap<String, usize>,
}

impl Watch {
    fn new(format: &str) -> Watch {
        let dir = TempDir::new().unwrap();
        let mut table = numbers(dir.path().to_str().unwrap(), format);
        table.options.insert("source.monitor-interval".into(), "1 s".into());
        assert!(!Files.describe(&table).unwrap().bounded);
        let clock = Arc::new(StillClock(AtomicI64::new(0)));
        Watch { dir, table, clock, readers: Vec::new(), read: BTreeMap::new() }
    }

    /// Goes on from a snapshot, or from the beginning, with so many readers.
    fn start(&mut self, splits: Vec<Split>, parallelism: usize) {
        let assigned = assign_splits(splits, parallelism).into_iter().enumerate();
        let reader = |(i, splits): (usize, Vec<Split>)| {
            let mut context: OperatorContext = context(i, parallelism);
            context.env.clock = self.clock.clone();
            Files.reader(&self.table, splits, &context).unwrap()
        };
        self.readers = assigned.map(reader).collect();
    }

    fn snapshot(&self) -> Vec<Split> {
        self.readers.iter().flat_map(|reader| reader.positions().unwrap()).collect()
    }

    /// Takes one batch of a reader, if it has any.
    fn step(&mut self, reader: usize, max_rows: usize) -> bool {
        match self.readers[reader].next(max_rows).now_or_never() {
            Some(event) => match event.unwrap() {
                SourceEvent::Rows { batch: Batch::Columns(batch), split } => {
                    assert!(self.readers[reader].is_polled(split));
                    for line in lines(&self.table.schema, &batch) {
                        *self.read.entry(line[3..].to_string()).or_default() += 1;
                    }
                    true
                }
                SourceEvent::Drained => {
                    assert!(self.readers[reader].drained().unwrap().iter().all(|drained| *drained));
                    true
                }
                other => panic!("{other:?}"),
            },
            None => false,
        }
    }

    /// Reads all that is there.
    fn drain(&mut self) {
        for reader in 0..self.readers.len() {
            while self.step(reader, 2) {}
            assert!(self.readers[reader].drained().unwrap().iter().all(|drained| *drained));
        }
    }

    fn add(&self, name: &str, from: i32, to: i32) {
        write(&self.dir.path().join(name), &(from..to).map(|i| format!("{i}\n")).collect::<String>());
    }

    fn assert_once(&self, count: i32) {
        let expected: BTreeMap<String, usize> = (0..count).map(|i| (i.to_string(), 1)).collect();
        assert_eq!(self.read, expected);
    }
}

#[test]
fn each_file_is_read_once_when_the_folder_is_listed_again() {
    let mut watch = Watch::new("csv");
    watch.add("a.csv", 0, 5);
    watch.add(".hidden.csv", 90, 95);
    watch.start(Files.splits(&watch.table, 3).unwrap(), 3);
    watch.drain();
    watch.assert_once(5);
    watch.add("sub/b.csv", 5, 9);
    watch.drain();
    watch.assert_once(5);
    watch.clock.0.store(1000, Ordering::Relaxed);
    watch.drain();
    watch.assert_once(9);
    // What has been read is not looked at again.
    watch.add("a.csv", 0, 50);
    fs::remove_file(watch.dir.path().join("sub/b.csv")).unwrap();
    watch.clock.0.store(9000, Ordering::Relaxed);
    watch.drain();
    watch.add("sub/b.csv", 70, 80);
    watch.clock.0.store(19_000, Ordering::Relaxed);
    watch.drain();
    watch.assert_once(9);
}

#[test]
fn a_restore_at_any_parallelism_reads_no_row_twice_and_misses_none() {
    for steps in 0..12 {
        let mut watch = Watch::new("csv");
        let count = 40;
        for i in 0..count / 4 {
            watch.add(&format!("f{i}.csv"), 4 * i, 4 * i + 4);
        }
        watch.start(Files.splits(&watch.table, 3).unwrap(), 3);
        for step in 0..steps {
            watch.step(step % 3, 1 + step % 2);
        }
        let snapshot = watch.snapshot();
        assert_eq!(snapshot.len(), 128);
        for parallelism in [1, 2, 5, 200] {
            let before = watch.read.clone();
            watch.start(snapshot.clone(), parallelism);
            // Some readers have no bucket where there are more than those.
            watch.readers.truncate(128);
            watch.drain();
            watch.assert_once(count);
            watch.read = before;
        }
    }
}

#[test]
fn what_was_there_before_is_passed_over_from_the_end_on() {
    let mut watch = Watch::new("csv");
    watch.add("old.csv", 90, 95);
    watch.start(Files.end_splits(&watch.table, 2, &context(0, 1).env).unwrap(), 2);
    watch.add("new.csv", 0, 3);
    watch.drain();
    watch.assert_once(3);
}

#[test]
fn a_file_that_waits_is_told_from_a_bucket_that_is_empty() {
    let mut watch = Watch::new("csv");
    for i in 0..20 {
        watch.add(&format!("f{i}.csv"), i, i + 1);
    }
    watch.start(Files.splits(&watch.table, 1).unwrap(), 1);
    let waiting = |watch: &Watch| watch.readers[0].drained().unwrap().iter().filter(|drained| !**drained).count();
    assert_eq!(waiting(&watch), 0, "nothing is known yet");
    assert!(watch.step(0, 10));
    let first = waiting(&watch);
    assert!(first > 10, "{first}");
    let polled = (0..128).filter(|i| watch.readers[0].is_polled(*i)).count();
    assert_eq!(polled, 128 - first + 1, "the empty ones, and the one that is read");
    watch.drain();
    assert_eq!(waiting(&watch), 0);
}

#[test]
fn watched_and_unwatched_snapshots_are_told_apart() {
    let mut watch = Watch::new("csv");
    watch.add("a.csv", 0, 3);
    let unwatched = numbers(watch.dir.path().to_str().unwrap(), "csv");
    let buckets = Files.splits(&watch.table, 1).unwrap();
    let e = Files.reader(&unwatched, buckets, &context(0, 1)).err().unwrap().to_string();
    assert!(e.contains("it needs 'source.monitor-interval'"), "{e}");
    let files = Files.splits(&unwatched, 1).unwrap();
    let e = Files.reader(&watch.table, files, &context(0, 1)).err().unwrap().to_string();
    assert!(e.contains("leave out 'source.monitor-interval'"), "{e}");
    watch.table.options.insert("path".into(), format!("{}/a.csv", watch.dir.path().display()));
    assert!(Files.describe(&watch.table).unwrap_err().to_string().contains("is a file"));
    watch.table.options.insert("path".into(), format!("{}/*/none-yet-*.csv", watch.dir.path().display()));
    Files.describe(&watch.table).unwrap();
}

#[test]
fn patterns_and_partitions_are_watched_too() {
    let mut watch = Watch::new("csv");
    let folder = watch.dir.path().display().to_string();
    watch.table.options.insert("path".into(), format!("{folder}/*/n-*.csv"));
    watch.add("x/n-1.csv", 0, 2);
    watch.add("x/m-1.csv", 50, 52);
    watch.start(Files.splits(&watch.table, 2).unwrap(), 2);
    watch.drain();
    watch.add("y/n-1.csv", 2, 4);
    watch.start(watch.snapshot(), 1);
    watch.drain();
    watch.assert_once(4);

    let mut watch = Watch::new("csv");
    watch.table.schema.fields.push(rheos_core::schema::Field::new("day", T::STRING.nullable()));
    watch.table.partition_keys = vec![1];
    watch.add("day=a/n.csv", 0, 1);
    watch.start(Files.splits(&watch.table, 2).unwrap(), 2);
    watch.drain();
    watch.add("day=b/n.csv", 1, 2);
    watch.clock.0.store(1000, Ordering::Relaxed);
    watch.drain();
    assert_eq!(watch.read.into_keys().collect::<Vec<_>>(), ["0|a", "1|b"]);
}
