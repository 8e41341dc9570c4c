//! The rows of a result that are worth showing: bounded, whatever the result's size.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rheos::{ColumnBatch, Result, ResultInfo, RowKind, Schema};
use rheos_core::text::write_value;

use crate::figures::count;

/// How many rows of a table that is updated are kept to be shown.
const KEPT_ROWS: usize = 10_000;
/// How many of the latest rows of a result that only grows are kept.
const LATEST_ROWS: usize = 500;

/// A row's cells as text.
pub(crate) type Cells = Vec<String>;

/// What of a result is kept to be shown.
#[derive(Debug)]
pub(crate) struct ShownRows {
    schema: Schema,
    content: Content,
    total: i64,
    touched: bool,
}

#[derive(Debug)]
enum Content {
    /// A result that only grows: its first rows for the end, its latest for now. They become text when they are shown.
    Growing { first: Vec<ColumnBatch>, first_rows: usize, first_limit: usize, latest: VecDeque<ColumnBatch>, latest_rows: usize },
    /// A result that is updated, in the order in which its rows have appeared.
    Updated { key: Option<Vec<usize>>, places: HashMap<String, u64>, rows: BTreeMap<u64, Entry>, next_place: u64 },
}

#[derive(Debug)]
struct Entry {
    cells: Cells,
    /// How often the row is there; below zero where its removal came before it.
    copies: i64,
}

impl ShownRows {
    /// Of a result that ends, the first `first_limit` rows are kept.
    pub(crate) fn new(info: &ResultInfo, first_limit: usize) -> Self {
        let content = if info.changelog.is_insert_only() {
            Content::Growing { first: vec![], first_rows: 0, first_limit, latest: VecDeque::new(), latest_rows: 0 }
        } else {
            Content::Updated { key: info.upsert_key.clone(), places: HashMap::new(), rows: BTreeMap::new(), next_place: 0 }
        };
        ShownRows { schema: info.schema.clone(), content, total: 0, touched: false }
    }

    /// Takes changes in.
    pub(crate) fn apply(&mut self, batch: ColumnBatch) -> Result<()> {
        self.touched |= batch.num_rows() > 0;
        self.total += (0..batch.num_rows()).map(|i| batch.kind(i).sign()).sum::<i64>();
        match &mut self.content {
            Content::Growing { first, first_rows, first_limit, latest, latest_rows } => {
                if first_rows < first_limit {
                    let part = batch.slice(0, batch.num_rows().min(*first_limit - *first_rows));
                    *first_rows += part.num_rows();
                    first.push(part);
                }
                *latest_rows += batch.num_rows();
                latest.push_back(batch);
                while let Some(oldest) = latest.front()
                    && *latest_rows - oldest.num_rows() >= LATEST_ROWS
                {
                    *latest_rows -= oldest.num_rows();
                    latest.pop_front();
                }
                Ok(())
            }
            Content::Updated { key, places, rows, next_place } => {
                for row in 0..batch.num_rows() {
                    let kind = batch.kind(row);
                    // The new row of an update takes the old one's place.
                    if key.is_some() && kind == RowKind::UpdateBefore {
                        continue;
                    }
                    let all = || 0..batch.columns().len();
                    let name = match key {
                        Some(key) => line(&self.schema, &batch, row, key.iter().copied())?,
                        None => line(&self.schema, &batch, row, all())?,
                    };
                    let known = places.get(&name).copied();
                    let full = rows.len() >= KEPT_ROWS;
                    match (known.and_then(|place| rows.get_mut(&place)), kind.is_addition()) {
                        (Some(entry), true) if key.is_some() => entry.cells = cells(&self.schema, &batch, row)?,
                        (Some(entry), _) => {
                            entry.copies += kind.sign();
                            if entry.copies == 0
                                && let Some(place) = places.remove(&name)
                            {
                                rows.remove(&place);
                            }
                        }
                        (None, _) if full => {}
                        (None, false) if key.is_some() => {}
                        (None, _) => {
                            places.insert(name, *next_place);
                            rows.insert(*next_place, Entry { cells: cells(&self.schema, &batch, row)?, copies: kind.sign() });
                            *next_place += 1;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether no change has come yet.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.touched
    }

    /// How many rows the result has.
    pub(crate) fn total(&self) -> u64 {
        u64::try_from(self.total).unwrap_or(0)
    }

    /// At most `limit` rows to show now: the latest ones, or the first ones of a table that is updated.
    pub(crate) fn now(&self, limit: usize) -> Result<Vec<Cells>> {
        match &self.content {
            Content::Growing { latest, .. } => {
                let mut shown = Vec::new();
                for batch in latest.iter().rev() {
                    for row in (0..batch.num_rows()).rev().take(limit - shown.len()) {
                        shown.push(cells(&self.schema, batch, row)?);
                    }
                }
                shown.reverse();
                Ok(shown)
            }
            Content::Updated { .. } => self.finally(limit),
        }
    }

    /// At most `limit` rows to show at the end: the first ones.
    pub(crate) fn finally(&self, limit: usize) -> Result<Vec<Cells>> {
        match &self.content {
            Content::Growing { first, .. } => {
                let rows = first.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
                rows.take(limit).map(|(batch, row)| cells(&self.schema, batch, row)).collect()
            }
            Content::Updated { rows, .. } => {
                let copies = |e: &Entry| std::iter::repeat_n(e.cells.clone(), usize::try_from(e.copies).unwrap_or(0).min(limit));
                Ok(rows.values().flat_map(copies).take(limit).collect())
            }
        }
    }

    /// What stands below the rows while the query runs: how many there are, and which of them are seen.
    pub(crate) fn caption(&self, shown: usize) -> String {
        let total = self.total();
        let all = count(total, "row");
        match &self.content {
            _ if shown as u64 >= total => all,
            Content::Growing { .. } => format!("{all}, the latest {}", count(shown as u64, "")),
            Content::Updated { .. } => format!("{all}, the first {}", count(shown as u64, "")),
        }
    }
}

fn cells(schema: &Schema, batch: &ColumnBatch, row: usize) -> Result<Cells> {
    let cell = |i: usize| {
        let mut text = String::new();
        write_value(&mut text, batch.column(i).as_ref(), row, &schema.fields[i].ty)?;
        Ok(if text == "\\N" { "NULL".to_string() } else { text })
    };
    (0..schema.len()).map(cell).collect()
}

fn line(schema: &Schema, batch: &ColumnBatch, row: usize, columns: impl Iterator<Item = usize>) -> Result<String> {
    let mut text = String::new();
    for column in columns {
        write_value(&mut text, batch.column(column).as_ref(), row, &schema.fields[column].ty)?;
        text.push('\t');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use rheos::{Prepared, ResultEvent, Session};

    use super::*;

    /// A query's result as it is shown.
    fn shown(sql: &str, first_limit: usize) -> ShownRows {
        let mut session = Session::new();
        let parsed = session.parse(sql).unwrap();
        let Ok(Prepared::Job(job)) = session.prepare(&parsed[0].statement) else { panic!("a query") };
        let mut shown = ShownRows::new(job.result.as_ref().unwrap(), first_limit);
        let mut running = session.start(job).unwrap();
        while let Some(event) = running.next_result() {
            if let ResultEvent::Rows(batch) = event {
                shown.apply(batch).unwrap();
            }
        }
        running.wait().unwrap();
        shown
    }

    fn texts(rows: Vec<Cells>) -> Vec<String> {
        rows.into_iter().map(|cells| cells.join(" ")).collect()
    }

    #[test]
    fn of_a_result_that_only_grows_the_latest_rows_are_seen_and_the_first_are_left() {
        let numbers: Vec<String> = (0..2_000).map(|n| format!("({n})")).collect();
        let shown = shown(&format!("SELECT n FROM (VALUES {}) AS t (n)", numbers.join(", ")), 3);
        assert_eq!(texts(shown.now(2).unwrap()), ["1998", "1999"]);
        assert_eq!(texts(shown.finally(5).unwrap()), ["0", "1", "2"]);
        assert_eq!((shown.total(), shown.caption(2)), (2_000, "2,000 rows, the latest 2".to_string()));
    }

    #[test]
    fn an_updated_row_keeps_its_place() {
        let first = "SELECT k, v FROM (VALUES ('a', 1), ('b', 2)) AS t (k, v)";
        let second = "SELECT k, v FROM (VALUES ('a', 3)) AS u (k, v)";
        let shown = shown(&format!("SELECT k, SUM(v) AS s FROM ({first} UNION ALL {second}) GROUP BY k"), 100);
        assert_eq!(texts(shown.now(10).unwrap()), ["a 4", "b 2"]);
        assert_eq!((shown.total(), shown.caption(2)), (2, "2 rows".to_string()));
        assert_eq!(shown.caption(1), "2 rows, the first 1");
    }

    #[test]
    fn rows_that_are_gone_are_not_shown() {
        let first = "SELECT v FROM (VALUES (1), (5)) AS t (v)";
        let second = "SELECT v FROM (VALUES (7)) AS u (v)";
        let shown = shown(&format!("SELECT MAX(v) FROM ({first} UNION ALL {second}) HAVING MAX(v) > 5"), 100);
        assert_eq!(texts(shown.now(10).unwrap()), ["7"]);
        assert!(!shown.is_untouched());
    }

    #[test]
    fn nothing_is_known_to_be_nothing() {
        let shown = shown("SELECT v FROM (VALUES (1)) AS t (v) WHERE v > 1", 100);
        assert!(shown.is_untouched());
        assert_eq!(shown.total(), 0);
    }
}
