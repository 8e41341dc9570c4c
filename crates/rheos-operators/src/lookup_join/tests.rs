//! Lookup joins over a table in memory that counts what it is asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::array::{AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use rheos_core::changelog::{ChangelogMode, RowKind};
use rheos_core::connector::TableSpec;
use rheos_core::lookup::LookupFactory;
use rheos_core::schema::{Field, Schema as Columns};
use rheos_core::source::{SourceDescription, SourceEvent, SourceReader, Split};
use rheos_core::testing::{OperatorHarness, changes};
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use super::*;
use crate::spec::CalcSpec;
use crate::testing::{Row, Value, batch};

/// A table of names by id, and what happened to it.
#[derive(Default)]
struct Names {
    rows: Mutex<Vec<(Option<i64>, &'static str)>>,
    asked: Mutex<Vec<Vec<i64>>>,
    /// How often it was read whole.
    reads: AtomicU32,
    /// How many of the next lookups and readings fail.
    failures: AtomicU32,
}

impl Names {
    fn of(rows: &[(i64, &'static str)]) -> Arc<Names> {
        Arc::new(Names { rows: Mutex::new(rows.iter().map(|(id, name)| (Some(*id), *name)).collect()), ..Names::default() })
    }

    fn records(&self, wanted: impl Fn(Option<i64>) -> bool) -> Result<RecordBatch> {
        let left = self.failures.load(Ordering::Relaxed);
        if left > 0 {
            self.failures.store(left - 1, Ordering::Relaxed);
            return Err(Error::retry("the table is busy"));
        }
        let rows: Vec<_> = self.rows.lock().unwrap().iter().copied().filter(|(id, _)| wanted(*id)).collect();
        let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| *id).collect::<Int64Array>());
        let names: ArrayRef = Arc::new(rows.iter().map(|(_, name)| Some(*name)).collect::<StringArray>());
        Ok(RecordBatch::try_new(columns(["id", "name"]).to_arrow(), vec![ids, names])?)
    }

    fn asked(&self) -> Vec<Vec<i64>> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// As the source of a connector.
struct Source(Arc<Names>);

impl SourceFactory for Source {
    fn describe(&self, _: &TableSpec) -> Result<SourceDescription> {
        Ok(SourceDescription { changelog: ChangelogMode::InsertOnly, bounded: true, predicates_applied: vec![] })
    }

    fn splits(&self, _: &TableSpec, _: usize) -> Result<Vec<Split>> {
        Ok(vec![])
    }

    fn reader(&self, _: &TableSpec, _: Vec<Split>, _: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Whole(Some(self.0.records(|_| true)?))))
    }

    fn lookup(&self) -> Option<&dyn LookupFactory> {
        Some(self)
    }
}

impl LookupFactory for Source {
    fn check(&self, _: &TableSpec, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn reader(&self, _: &TableSpec, _: &[usize], _: &OperatorContext) -> Result<Arc<dyn LookupReader>> {
        Ok(Arc::new(Source(Arc::clone(&self.0))))
    }
}

impl LookupReader for Source {
    fn lookup(&self, keys: RecordBatch) -> BoxFuture<'static, Result<RecordBatch>> {
        let mut ids: Vec<i64> = keys.column(0).as_primitive::<Int64Type>().values().to_vec();
        let found = self.0.records(|id| id.is_some_and(|id| ids.contains(&id)));
        ids.sort_unstable();
        self.0.asked.lock().unwrap().push(ids);
        Box::pin(std::future::ready(found))
    }
}

struct Whole(Option<RecordBatch>);

impl SourceReader for Whole {
    fn next(&mut self, _: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        let event = match self.0.take() {
            Some(records) => SourceEvent::Rows { split: 0, batch: ColumnBatch::inserts(records).into() },
            None => SourceEvent::End,
        };
        Box::pin(std::future::ready(Ok(event)))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(vec![])
    }
}

fn columns(names: [&str; 2]) -> Columns {
    Columns::new(vec![Field::new(names[0], TypeKind::BigInt.nullable()), Field::new(names[1], TypeKind::STRING.nullable())])
}

fn spec(kind: JoinKind, cache: LookupCache) -> LookupJoinSpec {
    let (left, table) = (columns(["k", "t"]), columns(["id", "name"]));
    let all = (0..2).map(|c| Expr::column(c, table.fields[c].ty.clone())).collect();
    LookupJoinSpec {
        kind,
        output: Columns::new([left.fields.clone(), table.fields.clone()].concat()),
        left,
        left_keys: vec![0],
        right: CalcSpec { condition: None, projections: all, output: table.clone(), config: EvalConfig::default() },
        table: TableSpec {
            name: "names".into(),
            connector: "fake".into(),
            schema: table,
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options: Default::default(),
            projection: None,
            predicates: vec![],
            alternatives: vec![],
        },
        right_keys: vec![0],
        asked_by: vec![0],
        condition: None,
        cache,
        max_retries: 2,
        timeout_ms: 0,
        config: EvalConfig::default(),
    }
}

fn open(names: &Arc<Names>, spec: LookupJoinSpec) -> OperatorHarness {
    let join = LookupJoin::new(spec, Arc::new(Source(Arc::clone(names)))).unwrap();
    OperatorHarness::open(Box::new(join)).unwrap()
}

fn rows(keys: &[Option<i64>]) -> Batch {
    let row = |k: &Option<i64>| -> Row { vec![k.map_or(Value::Null, Value::Int), Value::Text("x".into())] };
    batch(&columns(["k", "t"]), &keys.iter().map(|k| (RowKind::Insert, row(k))).collect::<Vec<_>>())
}

fn keys(of: &[i64]) -> Batch {
    rows(&of.iter().map(|k| Some(*k)).collect::<Vec<_>>())
}

const PARTIAL: LookupCache =
    LookupCache::Partial { max_keys: Some(10), expire_after_write_ms: None, expire_after_access_ms: None, cache_missing: true };

#[test]
fn without_a_cache_each_key_of_a_batch_is_asked_for_once() {
    let names = Names::of(&[(1, "one"), (2, "two"), (2, "zwei")]);
    let mut join = open(&names, spec(JoinKind::Inner, LookupCache::None));
    let out = join.push(rows(&[Some(2), Some(1), Some(3), Some(2), None])).unwrap();
    let mut found = changes(&out);
    found.sort();
    assert_eq!(found, ["+I 1|x|1|one", "+I 2|x|2|two", "+I 2|x|2|two", "+I 2|x|2|zwei", "+I 2|x|2|zwei"]);
    join.push(keys(&[1])).unwrap();
    assert_eq!(names.asked(), [vec![1, 2, 3], vec![1]]);
    assert_eq!(join.metrics().state_rows.get(), 0);
}

#[test]
fn a_left_join_keeps_rows_that_nothing_is_found_for() {
    let names = Names::of(&[(1, "one"), (2, "two")]);
    let mut spec = spec(JoinKind::Left, LookupCache::None);
    let (name, text) = (Expr::column(3, TypeKind::STRING.nullable()), build::literal_text("one"));
    spec.condition = Some(build::call("=", vec![name, text]).unwrap());
    let out = open(&names, spec).push(rows(&[Some(1), Some(2), None, Some(3)])).unwrap();
    assert_eq!(changes(&out), ["+I 1|x|1|one", "+I 2|x|NULL|NULL", "+I NULL|x|NULL|NULL", "+I 3|x|NULL|NULL"]);
}

#[test]
fn changes_keep_their_kinds() {
    let names = Names::of(&[(1, "one")]);
    let mut join = open(&names, spec(JoinKind::Inner, LookupCache::None));
    let row = || vec![Value::Int(1), Value::Text("x".into())];
    let changed = batch(&columns(["k", "t"]), &[(RowKind::UpdateBefore, row()), (RowKind::UpdateAfter, row()), (RowKind::Delete, row())]);
    assert_eq!(changes(&join.push(changed).unwrap()), ["-U 1|x|1|one", "+U 1|x|1|one", "-D 1|x|1|one"]);
}

#[test]
fn many_matches_come_as_the_collector_has_room() {
    let many: Vec<(i64, &str)> = (0..100).map(|_| (1, "n")).collect();
    let names = Names::of(&many);
    let mut join = open(&names, spec(JoinKind::Left, LookupCache::None)).with_collector_rows(7);
    let out = join.push(keys(&[1, 2, 1])).unwrap();
    assert_eq!(out.iter().map(Batch::num_rows).sum::<usize>(), 201);
    assert!(join.resumed() > 20);
}

#[test]
fn a_partial_cache_asks_only_for_what_it_does_not_know() {
    let names = Names::of(&[(1, "one"), (2, "two")]);
    let mut join = open(&names, spec(JoinKind::Inner, PARTIAL));
    join.push(keys(&[1, 9])).unwrap();
    names.rows.lock().unwrap().push((Some(9), "nine"));
    assert_eq!(changes(&join.push(keys(&[1, 2, 9])).unwrap()), ["+I 1|x|1|one", "+I 2|x|2|two"], "that 9 has no row is known");
    assert_eq!(names.asked(), [vec![1, 9], vec![2]]);

    let mut forgetful = PARTIAL;
    if let LookupCache::Partial { cache_missing, .. } = &mut forgetful {
        *cache_missing = false;
    }
    let mut join = open(&names, spec(JoinKind::Inner, forgetful));
    join.push(keys(&[1, 8])).unwrap();
    join.push(keys(&[1, 8])).unwrap();
    assert_eq!(names.asked(), [vec![1, 8], vec![8]]);
}

#[test]
fn entries_expire_and_the_oldest_make_room() {
    let all: Vec<(i64, &str)> = (0..100).map(|id| (id, "n")).collect();
    let names = Names::of(&all);
    let cache =
        LookupCache::Partial { max_keys: Some(10), expire_after_write_ms: Some(100), expire_after_access_ms: None, cache_missing: true };
    let mut join = open(&names, spec(JoinKind::Inner, cache));
    join.push(keys(&[1, 2])).unwrap();
    join.set_clock_ms(50).unwrap();
    names.rows.lock().unwrap()[1].1 = "new";
    assert_eq!(changes(&join.push(keys(&[1])).unwrap()), ["+I 1|x|1|n"]);
    join.set_clock_ms(100).unwrap();
    assert_eq!(changes(&join.push(keys(&[1])).unwrap()), ["+I 1|x|1|new"]);
    names.asked();
    join.set_clock_ms(110).unwrap();
    join.push(keys(&(10..19).collect::<Vec<_>>())).unwrap();
    assert_eq!(join.metrics().state_rows.get(), 9, "the cache was over ten keys: the oldest went, down to nine");
    join.push(keys(&[10, 1, 2])).unwrap();
    assert_eq!(names.asked().last().unwrap(), &[1, 2]);
}

#[test]
fn a_lookup_that_fails_is_tried_again_and_then_tells() {
    let names = Names::of(&[(1, "one")]);
    names.failures.store(2, Ordering::Relaxed);
    let mut join = open(&names, spec(JoinKind::Inner, LookupCache::None));
    assert_eq!(changes(&join.push(keys(&[1])).unwrap()), ["+I 1|x|1|one"]);
    names.failures.store(3, Ordering::Relaxed);
    let error = join.push(keys(&[1])).unwrap_err().to_string();
    assert!(error.contains("looking up 'names'") && error.contains("tried 3 times") && error.contains("busy"), "{error}");
}

#[test]
fn a_full_cache_is_read_once_and_again_after_its_interval() {
    let names = Names::of(&[(1, "one")]);
    names.rows.lock().unwrap().push((None, "nobody"));
    let mut full = spec(JoinKind::Left, LookupCache::Full { reload_ms: Some(1_000) });
    full.right.condition = Some(build::call("<>", vec![full.right.projections[1].clone(), build::literal_text("hidden")]).unwrap());
    let mut join = open(&names, full);
    assert_eq!(changes(&join.push(rows(&[Some(1), Some(2), None])).unwrap()).len(), 3);
    names.rows.lock().unwrap().extend([(Some(2), "two"), (Some(3), "hidden")]);
    assert_eq!(changes(&join.push(keys(&[2])).unwrap()), ["+I 2|x|NULL|NULL"]);
    assert_eq!(names.reads.load(Ordering::Relaxed), 1);
    join.set_clock_ms(1_500).unwrap();
    assert_eq!(changes(&join.push(keys(&[2, 3])).unwrap()), ["+I 2|x|2|two", "+I 3|x|NULL|NULL"]);
    assert_eq!(names.reads.load(Ordering::Relaxed), 2);
    assert_eq!(names.asked(), Vec::<Vec<i64>>::new());

    // While the table cannot be read, what is known of it serves; in the end the job learns of it.
    names.failures.store(2, Ordering::Relaxed);
    join.set_clock_ms(5_000).unwrap();
    assert_eq!(changes(&join.push(keys(&[1])).unwrap()), ["+I 1|x|1|one"]);
    names.failures.store(9, Ordering::Relaxed);
    let error = (6..20).find_map(|s| join.set_clock_ms(s * 1_000).err()).expect("the table stays unreadable").to_string();
    assert!(error.contains("reading 'names' again"), "{error}");
}
