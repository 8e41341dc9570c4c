//! What windows give, by counting each row in each of its windows.

use std::collections::BTreeMap;

use rheos_core::time::MIN_WATERMARK;

use super::{Change, Row};
use crate::aggregate::model::expected;
use crate::spec::{AggregateCall, WindowSpec};
use crate::window::slicing::Slicing;

pub(super) fn shown(key: &Row, calls: &[AggregateCall], rows: &[Change], window: (i64, i64)) -> String {
    let time =
        |ms: i64| format!("1970-01-01T00:00:{:02}{}", ms / 1000, if ms % 1000 == 0 { String::new() } else { format!(".{:03}", ms % 1000) });
    let k = key.k.map_or("NULL".into(), |k| k.to_string());
    let mut cells = vec![k, key.g.clone().unwrap_or_else(|| "NULL".into())];
    cells.extend(calls.iter().map(|c| expected(c, rows)));
    cells.extend([time(window.0), time(window.1), time(window.1 - 1)]);
    format!("+I {}", cells.join("|"))
}

type Key = (Option<i64>, Option<String>);

fn key(row: &Row) -> Key {
    (row.k, row.g.clone())
}

/// What aligned windows give after each batch and watermark: for each window the rows that came while it was open.
pub(super) fn model_of(window: WindowSpec, calls: &[AggregateCall], input: &[(Vec<Change>, i64)]) -> Vec<Vec<String>> {
    let slicing = Slicing::new(&window).unwrap();
    let mut open: BTreeMap<(i64, i64), BTreeMap<Key, Vec<Change>>> = BTreeMap::new();
    let mut watermark = MIN_WATERMARK;
    let mut results = Vec::new();
    for (rows, next) in input {
        for (row, sign) in rows {
            let mut ends = slicing.windows_of(slicing.slice_of(row.ts).end);
            while ends.first <= ends.last {
                if ends.first - 1 > watermark {
                    let window = (ends.first, slicing.window(ends.first).start);
                    open.entry(window).or_default().entry(key(row)).or_default().push((row.clone(), *sign));
                }
                ends.first += ends.step_ms;
            }
        }
        watermark = *next;
        let mut lines = Vec::new();
        while let Some(first) = open.first_entry().filter(|e| e.key().0 - 1 <= watermark) {
            let ((end, start), groups) = first.remove_entry();
            for rows in groups.values().filter(|rows| rows.iter().map(|(_, s)| i64::from(*s)).sum::<i64>() > 0) {
                lines.push(shown(&rows[0].0, calls, rows, (start, end)));
            }
        }
        lines.sort();
        results.push(lines);
    }
    results
}

/// Sessions of each key, row by row; also how many rows are late.
pub(super) fn model_of_sessions(gap: i64, calls: &[AggregateCall], input: &[(Vec<Change>, i64)]) -> (Vec<Vec<String>>, i64) {
    type Session = (i64, i64, Vec<Change>);
    let mut sessions: Vec<Session> = Vec::new();
    let (mut watermark, mut late, mut results) = (MIN_WATERMARK, 0, Vec::new());
    for (rows, next) in input {
        for (row, sign) in rows {
            let overlaps = |s: &Session| {
                let within = if *sign > 0 { s.0 <= row.ts + gap && row.ts <= s.1 } else { s.0 <= row.ts && row.ts < s.1 };
                key(&s.2[0].0) == key(row) && within
            };
            let (mut joined, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut sessions).into_iter().partition(overlaps);
            sessions = rest;
            if *sign < 0 {
                match joined.first_mut() {
                    Some(session) => session.2.push((row.clone(), -1)),
                    None => late += 1,
                }
                sessions.extend(joined);
                continue;
            }
            if joined.is_empty() && row.ts + gap - 1 <= watermark {
                late += 1;
                continue;
            }
            let mut session = (row.ts, row.ts + gap, Vec::new());
            for (start, end, rows) in joined {
                session = (session.0.min(start), session.1.max(end), [session.2, rows].concat());
            }
            session.2.push((row.clone(), 1));
            sessions.push(session);
        }
        watermark = *next;
        let (closed, rest): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|s| s.1 - 1 <= watermark);
        sessions = rest;
        let with_rows = closed.iter().filter(|s| s.2.iter().map(|(_, sign)| i64::from(*sign)).sum::<i64>() > 0);
        let mut lines: Vec<String> = with_rows.map(|s| shown(&s.2[0].0, calls, &s.2, (s.0, s.1))).collect();
        lines.sort();
        results.push(lines);
    }
    (results, late)
}
