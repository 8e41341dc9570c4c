//! `lookup-join`: rows with what a table says of their key when they come. Keeps no state: what it knows of the table is a cache
//! ([`known`]), which is filled anew after a restart.
//!
//! A batch whose keys are not all known waits for the answer ([`load`]) before anything follows it, so that rows, watermarks and
//! barriers keep their order. A cache of the whole table is read again in the background, piece by piece between other calls;
//! until that is complete the old one serves.

mod known;
mod load;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::lookup::LookupReader;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::source::SourceFactory;
use rheos_core::time::TimestampMs;
use rheos_expr::program::CalcProgram;
use rheos_state::{NO_SLOT, Slot};

use self::known::{Known, distinct};
use crate::join::{Assembly, Condition, Cursor, MAX_STEPS, collect, retain};
use crate::read_spec;
use crate::row_store::NO_ROW;
use crate::spec::{JoinKind, LookupCache, LookupJoinSpec};

/// How often the table that is read in the background goes on, in milliseconds, where no call comes.
const GO_ON_MS: TimestampMs = 10;
/// After how many milliseconds reading the table again is tried again.
const TRY_AGAIN_MS: TimestampMs = 1_000;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_reading_operator("lookup-join", |registry, spec| {
        let spec: LookupJoinSpec = read_spec(spec)?;
        let source = registry.connector(&spec.table.connector).and_then(|connector| connector.source.clone());
        let source = source.ok_or_else(|| Error::bug(format!("no source '{}' in this binary", spec.table.connector)))?;
        Ok(Box::new(LookupJoin::new(spec, source)?))
    });
}

struct LookupJoin {
    spec: LookupJoinSpec,
    output: SchemaRef,
    right: CalcProgram,
    right_schema: SchemaRef,
    condition: Option<Condition>,
    source: Arc<dyn SourceFactory>,
    /// Where the table is asked for single rows.
    reader: Option<Arc<dyn LookupReader>>,
    /// `None` until the whole table has been read, where it is.
    known: Option<Known>,
    asking: Option<BoxFuture<'static, Result<Answer>>>,
    answer: Option<Result<Answer>>,
    reload: Reload,
    work: Option<Work>,
    context: Option<OperatorContext>,
}

/// What was asked for.
enum Answer {
    Table(Vec<ColumnBatch>),
    Rows { keys: RecordBatch, rows: RecordBatch },
}

/// The reading again of the whole table.
#[derive(Default)]
struct Reload {
    /// When something is to be done for it.
    due_ms: Option<TimestampMs>,
    reading: Option<BoxFuture<'static, Result<Vec<ColumnBatch>>>>,
    failures: u32,
}

/// A batch that is being joined.
struct Work {
    batch: ColumnBatch,
    /// Whether the table was asked for what this batch needs.
    asked: bool,
    /// The key of each row, once all are known.
    keys: Option<Vec<Slot>>,
    cursor: Cursor,
    /// How many matches of the row at the cursor were seen so far.
    matches: u32,
}

impl LookupJoin {
    fn new(spec: LookupJoinSpec, source: Arc<dyn SourceFactory>) -> Result<Self> {
        if !matches!(spec.kind, JoinKind::Inner | JoinKind::Left) {
            return Err(Error::bug(format!("a lookup join of kind {:?}", spec.kind)));
        }
        let condition = spec.condition.as_ref().map(|c| Condition::compile(c, spec.left.len(), &spec.config)).transpose()?;
        let right = CalcProgram::compile(spec.right.condition.as_ref(), &spec.right.projections, &spec.right.config)?;
        let mut join = LookupJoin {
            output: spec.output.to_arrow(),
            right,
            right_schema: spec.right.output.to_arrow(),
            condition,
            source,
            reader: None,
            known: None,
            asking: None,
            answer: None,
            reload: Reload::default(),
            work: None,
            context: None,
            spec,
        };
        if !matches!(join.spec.cache, LookupCache::Full { .. }) {
            join.known = Some(join.nothing_known()?);
        }
        Ok(join)
    }

    fn nothing_known(&self) -> Result<Known> {
        let types: Vec<DataType> = self.right_schema.fields().iter().map(|f| f.data_type().clone()).collect();
        Known::new(&types, &self.spec.right_keys)
    }

    fn context(&self) -> Result<&OperatorContext> {
        self.context.as_ref().ok_or_else(|| Error::bug("a lookup join that was not opened"))
    }

    fn now_ms(&self) -> Result<TimestampMs> {
        Ok(self.context()?.env.clock.now_ms())
    }

    /// The whole table with what the query makes of it.
    fn known_table(&mut self, table: Vec<ColumnBatch>) -> Result<Known> {
        let mut known = self.nothing_known()?;
        for batch in table {
            if let Some(rows) = self.right.evaluate(&batch, &self.right_schema)? {
                known.add_rows(rows.records(), false)?;
            }
        }
        Ok(known)
    }

    fn absorb(&mut self, answer: Answer) -> Result<()> {
        let now_ms = self.now_ms()?;
        match answer {
            Answer::Table(table) => {
                self.known = Some(self.known_table(table)?);
                if let LookupCache::Full { reload_ms: Some(interval_ms) } = self.spec.cache {
                    self.reload.due_ms = Some(now_ms.saturating_add_unsigned(interval_ms));
                }
            }
            Answer::Rows { keys, rows } => {
                let rows = self.right.evaluate(&ColumnBatch::inserts(rows), &self.right_schema)?;
                let Some(known) = &mut self.known else { return Ok(()) };
                known.add_keys(keys.columns(), keys.num_rows(), now_ms)?;
                if let Some(rows) = rows {
                    known.add_rows(rows.records(), true)?;
                }
            }
        }
        self.report();
        Ok(())
    }

    /// The key of each row of a batch; `None` where that has to be waited for.
    fn find(&mut self, work: &mut Work) -> Result<Option<Vec<Slot>>> {
        match self.answer.take() {
            Some(answer) => {
                let of_table = format!("looking up '{}'", self.spec.table.name);
                self.absorb(answer.map_err(|e| e.context(of_table))?)?;
            }
            None if self.asking.is_some() => return Ok(None),
            None => {}
        }
        let (now_ms, columns, rows) = (self.now_ms()?, work.batch.columns(), work.batch.num_rows());
        let Some(known) = &mut self.known else {
            let reading = load::read_all(Arc::clone(&self.source), self.spec.table.clone(), self.context()?.clone());
            self.asking = Some(Box::pin(reading.map(|table| table.map(Answer::Table))));
            return Ok(None);
        };
        let mut keys = known.find(&self.spec.left_keys, columns, rows)?;
        if matches!(self.spec.cache, LookupCache::Full { .. }) {
            return Ok(Some(keys));
        }
        if !work.asked {
            if let LookupCache::Partial { expire_after_write_ms, expire_after_access_ms, .. } = self.spec.cache {
                let before = |ms: Option<u64>| ms.map_or(TimestampMs::MIN, |ms| now_ms.saturating_sub_unsigned(ms));
                let (fetched, asked) = (before(expire_after_write_ms), before(expire_after_access_ms));
                let expired = unique(keys.iter().copied().filter(|key| *key != NO_SLOT && known.is_expired(*key, fetched, asked)));
                if !expired.is_empty() {
                    known.forget(&expired)?;
                    keys = known.find(&self.spec.left_keys, columns, rows)?;
                }
            }
            let of_rows: Vec<ArrayRef> = self.spec.left_keys.iter().map(|k| columns[*k].clone()).collect();
            let nulls = of_rows.iter().fold(None, |nulls, k| NullBuffer::union(nulls.as_ref(), k.logical_nulls().as_ref()));
            let has_key = |row: &u32| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row as usize));
            let missing: Vec<u32> = (0..rows as u32).filter(|row| keys[*row as usize] == NO_SLOT).filter(has_key).collect();
            if !missing.is_empty() {
                let missing = distinct(&of_rows, &missing)?;
                self.asking = Some(self.ask(missing)?);
                work.asked = true;
                return Ok(None);
            }
        }
        known.touch(&keys, now_ms);
        Ok(Some(keys))
    }

    fn ask(&self, keys: Vec<ArrayRef>) -> Result<BoxFuture<'static, Result<Answer>>> {
        let reader = self.reader.clone().ok_or_else(|| Error::bug("a lookup join without a reader"))?;
        let table = &self.spec.table.schema.to_arrow();
        let fields: Vec<_> = self.spec.asked_by.iter().map(|column| table.fields()[*column].clone()).collect();
        let keys = RecordBatch::try_new(Arc::new(Schema::new(fields)), keys)?;
        let asked = load::ask(reader, keys.clone(), self.spec.max_retries, self.spec.timeout_ms, self.context()?.env.clone());
        Ok(Box::pin(asked.map(|rows| rows.map(|rows| Answer::Rows { keys, rows }))))
    }

    /// Pairs the next rows of the batch, about `room` of them, and returns what is to be put out.
    fn step(&mut self, work: &mut Work, room: usize) -> Result<Option<ColumnBatch>> {
        let (Some(known), Some(keys)) = (&mut self.known, &work.keys) else { return Ok(None) };
        let first_row = work.cursor.row;
        let is_left = self.spec.kind == JoinKind::Left;
        let mut pairs = collect(&mut work.cursor, keys, &known.lists, room, usize::from(is_left), |_| false);
        if let Some(condition) = &mut self.condition {
            retain(condition, &mut pairs, 0, work.batch.columns(), &mut known.rows)?;
        }
        let mut rows = Assembly::default();
        let is_changelog = work.batch.kinds().is_some();
        let mut put = |row: u32, partner: u32| match is_changelog {
            true => rows.push(row, partner, work.batch.kind(row as usize)),
            false => rows.insert(row, partner),
        };
        let mut pair = 0;
        // The row at the cursor may have had some of its pairs; it ends in a later step.
        for row in first_row..=work.cursor.row.min(keys.len().saturating_sub(1)) {
            while pairs.own.get(pair) == Some(&(row as u32)) {
                put(row as u32, pairs.other[pair]);
                pair += 1;
                work.matches += 1;
            }
            if row < work.cursor.row && std::mem::take(&mut work.matches) == 0 && is_left {
                put(row as u32, NO_ROW);
            }
        }
        if rows.len() == 0 {
            return Ok(None);
        }
        rows.build(&self.output, 0, work.batch.columns(), &mut known.rows, false).map(Some)
    }

    /// Forgets what the cache is not to keep.
    fn settle(&mut self, work: &Work) -> Result<()> {
        let fresh = (self.spec.cache == LookupCache::None).then(|| self.nothing_known()).transpose()?;
        let Some(known) = &mut self.known else { return Ok(()) };
        match self.spec.cache {
            LookupCache::Full { .. } => return Ok(()),
            LookupCache::None => self.known = fresh,
            LookupCache::Partial { max_keys, cache_missing, .. } => {
                if !cache_missing && work.asked {
                    let without_rows = known.without_rows();
                    known.forget(&without_rows)?;
                }
                if let Some(max_keys) = max_keys.map(|max| max as usize).filter(|max| known.keys() > *max) {
                    // A tenth at a time: finding the oldest costs a look at all.
                    let mut oldest = known.by_age();
                    oldest.truncate(known.keys() - (max_keys - max_keys / 10));
                    known.forget(&oldest)?;
                }
            }
        }
        self.report();
        Ok(())
    }

    fn report(&self) {
        if let (Some(known), Some(context)) = (&self.known, &self.context) {
            context.metrics.state_rows.set(known.rows.len() as i64);
        }
    }

    /// Goes on with reading the table again, if it is time.
    fn go_on_reloading(&mut self) -> Result<()> {
        let now_ms = self.now_ms()?;
        let LookupCache::Full { reload_ms: Some(interval_ms) } = self.spec.cache else { return Ok(()) };
        if self.reload.due_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return Ok(());
        }
        let mut reading = match self.reload.reading.take() {
            Some(reading) => reading,
            None => load::read_all(Arc::clone(&self.source), self.spec.table.clone(), self.context()?.clone()),
        };
        match (&mut reading).now_or_never() {
            None => {
                self.reload.reading = Some(reading);
                self.reload.due_ms = Some(now_ms + GO_ON_MS);
            }
            Some(Ok(table)) => {
                self.known = Some(self.known_table(table)?);
                self.reload.failures = 0;
                self.reload.due_ms = Some(now_ms.saturating_add_unsigned(interval_ms));
                self.report();
            }
            Some(Err(e)) if self.reload.failures >= self.spec.max_retries => {
                return Err(e.context(format!("reading '{}' again", self.spec.table.name)));
            }
            Some(Err(_)) => {
                self.reload.failures += 1;
                self.reload.due_ms = Some(now_ms + TRY_AGAIN_MS);
            }
        }
        Ok(())
    }
}

impl Operator for LookupJoin {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        let right = CalcProgram::compile(self.spec.right.condition.as_ref(), &self.spec.right.projections, &self.spec.right.config)?;
        self.right = right.with_env(context.env.clone());
        self.condition = self.condition.take().map(|c| c.with_env(context.env.clone()));
        if self.known.is_some() {
            let factory = self.source.lookup();
            let factory = factory.ok_or_else(|| Error::bug(format!("'{}' cannot be asked for rows", self.spec.table.connector)))?;
            self.reader = Some(factory.reader(&self.spec.table, &self.spec.asked_by, &context)?);
        }
        self.context = Some(context);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.go_on_reloading()?;
        let batch = batch.into_columns()?;
        self.work = Some(Work { batch, asked: false, keys: None, cursor: Cursor::default(), matches: 0 });
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some(mut work) = self.work.take() else { return Ok(Progress::Done) };
        if work.keys.is_none() {
            work.keys = self.find(&mut work)?;
            if work.keys.is_none() {
                self.work = Some(work);
                return Ok(Progress::Wait);
            }
        }
        let first = work.cursor.steps;
        while work.cursor.row < work.batch.num_rows() {
            if out.is_full() || work.cursor.steps - first >= MAX_STEPS {
                self.work = Some(work);
                return Ok(Progress::More);
            }
            if let Some(rows) = self.step(&mut work, out.room())? {
                out.emit(rows);
            }
        }
        self.settle(&work)?;
        Ok(Progress::Done)
    }

    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(asking) = &mut self.asking {
            let answer = ready!(asking.poll_unpin(context));
            (self.asking, self.answer) = (None, Some(answer));
        }
        Poll::Ready(())
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.reload.due_ms
    }

    fn timer(&mut self, _: TimestampMs, _: &mut Collector) -> Result<Progress> {
        self.go_on_reloading()?;
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

/// Each key once.
fn unique(keys: impl Iterator<Item = Slot>) -> Vec<Slot> {
    let mut keys: Vec<Slot> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
