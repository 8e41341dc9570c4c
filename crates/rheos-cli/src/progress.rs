//! How far a job has come, in a few numbers out of all that its tasks measure.

use rheos::{JobMetrics, TaskReport};
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs};

use crate::figures::{count, magnitude, moment, seconds};

/// The job as a whole at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Rows that the sources gave.
    pub(crate) rows_in: u64,
    /// Rows that reached the sinks.
    pub(crate) rows_out: u64,
    /// Event time at the sinks; `None` before anything is known of it.
    pub(crate) watermark_ms: Option<TimestampMs>,
    /// Rows and entries in state.
    pub(crate) state_rows: u64,
    /// Rows that were dropped because they came too late.
    pub(crate) late_rows: u64,
    /// Records that could not be read.
    pub(crate) bad_records: u64,
}

impl Progress {
    /// The numbers of all tasks together.
    pub(crate) fn of(metrics: &JobMetrics) -> Progress {
        let mut progress = Progress::default();
        let mut watermark: Option<TimestampMs> = None;
        for task in &metrics.tasks {
            for operator in &task.operators {
                if is_source(&operator.name) {
                    progress.rows_in += operator.rows_out;
                }
                if is_sink(&operator.name) {
                    progress.rows_out += operator.rows_in;
                    watermark = Some(watermark.map_or(task.watermark_ms, |w| w.min(task.watermark_ms)));
                }
                progress.state_rows += u64::try_from(operator.state_rows).unwrap_or(0);
                progress.late_rows += operator.late_rows;
                progress.bad_records += operator.bad_records;
            }
        }
        progress.watermark_ms = watermark.filter(|w| *w != MIN_WATERMARK);
        progress
    }

    /// The status line: `in 2.4M (240k/s) · out 35 (7/s) · watermark 2015-07-15 00:00:10 · state 512 rows · 4.0 s`.
    pub(crate) fn status(&self, (rate_in, rate_out): (f64, f64), elapsed_ns: u64) -> String {
        let mut parts = vec![
            format!("in {} ({}/s)", magnitude(self.rows_in as f64), magnitude(rate_in)),
            format!("out {} ({}/s)", magnitude(self.rows_out as f64), magnitude(rate_out)),
        ];
        match self.watermark_ms {
            Some(MAX_WATERMARK) => parts.push("all input read".into()),
            Some(at) => parts.push(format!("watermark {}", moment(at - at.rem_euclid(1000)))),
            None => {}
        }
        if self.state_rows > 0 {
            parts.push(format!("state {}", count(self.state_rows, "row")));
        }
        if self.late_rows > 0 {
            parts.push(count(self.late_rows, "late row"));
        }
        if self.bad_records > 0 {
            parts.push(count(self.bad_records, "bad record"));
        }
        parts.push(seconds(elapsed_ns));
        parts.join(" · ")
    }
}

/// Rows a second, over the last second or so.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Earlier moments with rows in and out, the oldest first.
    past: std::collections::VecDeque<(u64, u64, u64)>,
}

/// Over how many looks the rates are taken.
const LOOKS: usize = 6;

impl Rates {
    /// The rates in and out up to now.
    pub(crate) fn update(&mut self, progress: &Progress, now_ns: u64) -> (f64, f64) {
        self.past.push_back((now_ns, progress.rows_in, progress.rows_out));
        if self.past.len() > LOOKS {
            self.past.pop_front();
        }
        let Some((then_ns, rows_in, rows_out)) = self.past.front().copied() else { return (0.0, 0.0) };
        let seconds = now_ns.saturating_sub(then_ns) as f64 / 1e9;
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        // Tasks that have gone, and those of a job that has restarted, take their counts with them.
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        (rate(progress.rows_in, rows_in), rate(progress.rows_out, rows_out))
    }
}

/// Whether a node of that name reads a table.
pub(crate) fn is_source(name: &str) -> bool {
    name.starts_with("Source")
}

/// Whether a node of that name writes a table.
pub(crate) fn is_sink(name: &str) -> bool {
    name.starts_with("Sink")
}

/// The watermark of a task, where there is one.
pub(crate) fn watermark_of(task: &TaskReport) -> Option<TimestampMs> {
    Some(task.watermark_ms).filter(|w| *w != MIN_WATERMARK)
}

#[cfg(test)]
pub(crate) mod tests {
    use rheos::OperatorReport;

    use super::*;

    /// A task of these operators.
    pub(crate) fn task(watermark_ms: TimestampMs, operators: Vec<OperatorReport>) -> TaskReport {
        TaskReport {
            task: 0,
            name: String::new(),
            index: 0,
            deserialize_ns: 0,
            process_ns: 0,
            serialize_ns: 0,
            wait_input_ns: 0,
            wait_output_ns: 0,
            rows_in: 0,
            rows_out: 0,
            bytes_in: 0,
            bytes_out: 0,
            queued_bytes: 0,
            queue_capacity_bytes: 0,
            watermark_ms,
            operators,
        }
    }

    /// An operator through which so many rows have passed.
    pub(crate) fn operator(name: &str, rows_in: u64, rows_out: u64) -> OperatorReport {
        OperatorReport {
            node: 0,
            uid: String::new(),
            name: name.into(),
            process_ns: 0,
            rows_in,
            rows_out,
            late_rows: 0,
            bad_records: 0,
            state_rows: 0,
            open_windows: 0,
            next_close_ms: TimestampMs::MAX,
        }
    }

    #[test]
    fn rows_are_counted_where_they_enter_and_leave() {
        let source = task(50_000, vec![operator("Source", 0, 10), operator("Calc", 10, 8)]);
        let sink = |watermark| task(watermark, vec![operator("GroupAggregate", 4, 3), operator("Sink", 3, 0)]);
        let progress = Progress::of(&JobMetrics { tasks: vec![source, sink(40_000), sink(30_000)] });
        assert_eq!(progress, Progress { rows_in: 10, rows_out: 6, watermark_ms: Some(30_000), ..Progress::default() });
    }

    #[test]
    fn the_status_tells_only_what_there_is() {
        let mut progress = Progress { rows_in: 2_400_000, rows_out: 35, ..Progress::default() };
        assert_eq!(progress.status((240_000.0, 7.0), 4_000_000_000), "in 2.40M (240k/s) · out 35 (7/s) · 4.00 s");
        progress.watermark_ms = Some(1_436_918_410_250);
        progress.late_rows = 1;
        let status = progress.status((0.0, 0.0), 0);
        assert!(status.contains("watermark 2015-07-15 00:00:10 · 1 late row"), "{status}");
    }

    #[test]
    fn rates_forget_the_distant_past() {
        let mut rates = Rates::default();
        let at = |rows_in| Progress { rows_in, ..Progress::default() };
        assert_eq!(rates.update(&at(0), 0), (0.0, 0.0));
        for second in 1..=10 {
            rates.update(&at(0), second * 1_000_000_000);
        }
        assert_eq!(rates.update(&at(500), 11_000_000_000), (100.0, 0.0));
        assert_eq!(rates.update(&at(0), 12_000_000_000), (0.0, 0.0), "the tasks have gone");
    }
}
