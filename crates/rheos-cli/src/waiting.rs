//! Why a query has not shown a row yet: the question that an empty screen asks.

use rheos::{JobMetrics, OperatorReport};
use rheos_core::time::{MAX_WATERMARK, TimestampMs};

use crate::figures::{count, moment};
use crate::progress::{Progress, is_sink, is_source, watermark_of};

/// The reason, as far as the tasks' numbers tell.
pub(crate) fn reason(metrics: &JobMetrics) -> String {
    let progress = Progress::of(metrics);
    if progress.rows_in == 0 {
        return match progress.bad_records {
            0 => "no rows read yet".into(),
            bad => format!("no rows read yet, {} skipped", count(bad, "bad record")),
        };
    }
    if let Some(windows) = open_windows(metrics) {
        return windows;
    }
    if let Some(dropping) = first_that_drops_all(metrics) {
        return dropping;
    }
    if progress.late_rows > 0 {
        return format!("{} read, {} dropped", count(progress.rows_in, "row"), count(progress.late_rows, "late row"));
    }
    if progress.state_rows > 0 {
        return format!(
            "{} read, {} kept in state, nothing to show yet",
            count(progress.rows_in, "row"),
            count(progress.state_rows, "row")
        );
    }
    format!("{} read, nothing to show yet", count(progress.rows_in, "row"))
}

/// `3 windows are open, the first closes at 12:00:10; the watermark is at 12:00:03`. Told of the operator furthest towards the
/// sources: later ones wait for it.
fn open_windows(metrics: &JobMetrics) -> Option<String> {
    let has_windows = |o: &&OperatorReport| o.open_windows > 0;
    let node = metrics.tasks.iter().flat_map(|t| &t.operators).filter(has_windows).map(|o| o.node).min()?;
    let mut windows = 0;
    let mut next_close_ms = TimestampMs::MAX;
    let mut watermark_ms = None::<TimestampMs>;
    let mut unknown = false;
    for task in &metrics.tasks {
        for operator in task.operators.iter().filter(|o| o.node == node) {
            windows += u64::try_from(operator.open_windows).unwrap_or(0);
            next_close_ms = next_close_ms.min(operator.next_close_ms);
            match watermark_of(task) {
                Some(at) => watermark_ms = Some(watermark_ms.map_or(at, |w| w.min(at))),
                None => unknown = true,
            }
        }
    }
    let verb = if windows == 1 { "is" } else { "are" };
    let mut text = format!("{} {verb} open", count(windows, "window"));
    // The watermark closes a window one millisecond before its end.
    let closes = (next_close_ms != TimestampMs::MAX).then(|| moment(next_close_ms + 1));
    let reached = watermark_ms.filter(|at| !unknown && *at != MAX_WATERMARK).map(moment);
    // Moments of one day are told by their times.
    let is_one_day = matches!((&closes, &reached), (Some(a), Some(b)) if a.split(' ').next() == b.split(' ').next());
    let short = |moment: &str| if is_one_day { moment.split(' ').next_back().unwrap_or_default().to_string() } else { moment.to_string() };
    if let Some(closes) = &closes {
        text.push_str(&format!(", the first closes at {}", short(closes)));
    }
    text.push_str(&match (watermark_ms, &reached) {
        (_, Some(reached)) => format!("; the watermark is at {}", short(reached)),
        (Some(MAX_WATERMARK), None) if !unknown => "; all input is read".to_string(),
        _ => "; there is no watermark yet".to_string(),
    });
    Some(text)
}

/// The operator nearest to the sources that rows go into and none come out of, unless it keeps them.
fn first_that_drops_all(metrics: &JobMetrics) -> Option<String> {
    let mut nodes: Vec<(usize, &str, u64, u64, i64)> = Vec::new();
    for operator in metrics.tasks.iter().flat_map(|t| &t.operators).filter(|o| !is_source(&o.name) && !is_sink(&o.name)) {
        match nodes.iter_mut().find(|n| n.0 == operator.node) {
            Some(node) => {
                node.2 += operator.rows_in;
                node.3 += operator.rows_out;
                node.4 += operator.state_rows;
            }
            None => nodes.push((operator.node, &operator.name, operator.rows_in, operator.rows_out, operator.state_rows)),
        }
    }
    nodes.sort_unstable();
    let dropping = nodes.into_iter().find(|(_, _, rows_in, rows_out, state)| *rows_in > 0 && *rows_out == 0 && *state == 0);
    let (_, name, rows_in, ..) = dropping?;
    Some(match name {
        "Calc" => format!("all {} filtered out so far", count(rows_in, "row")),
        "Join" | "WindowJoin" => format!("no match among {} so far", count(rows_in, "row")),
        name => format!("{} went into {name}, none has come out so far", count(rows_in, "row")),
    })
}

#[cfg(test)]
mod tests {
    use rheos_core::time::MIN_WATERMARK;

    use super::*;
    use crate::progress::tests::{operator, task};

    fn why(watermark_ms: TimestampMs, operators: Vec<OperatorReport>) -> String {
        let operators = operators.into_iter().enumerate().map(|(node, o)| OperatorReport { node, ..o }).collect();
        reason(&JobMetrics { tasks: vec![task(watermark_ms, operators)] })
    }

    #[test]
    fn silence_of_the_source_comes_first() {
        assert_eq!(why(0, vec![operator("Source", 0, 0), operator("Sink", 0, 0)]), "no rows read yet");
        let skipping = OperatorReport { bad_records: 2, ..operator("Source", 0, 0) };
        assert_eq!(why(0, vec![skipping]), "no rows read yet, 2 bad records skipped");
    }

    #[test]
    fn open_windows_say_when_they_close_and_how_far_time_is() {
        let windows = |open_windows, next_close_ms| OperatorReport { open_windows, next_close_ms, ..operator("WindowAggregate", 9, 0) };
        assert_eq!(
            why(43_203_000, vec![operator("Source", 0, 9), windows(3, 43_209_999), windows(1, 99_999)]),
            "3 windows are open, the first closes at 12:00:10; the watermark is at 12:00:03"
        );
        let another_day = why(-1, vec![operator("Source", 0, 9), windows(1, 9_999)]);
        assert!(another_day.ends_with("closes at 1970-01-01 00:00:10; the watermark is at 1969-12-31 23:59:59.999"), "{another_day}");
        let none = why(MIN_WATERMARK, vec![operator("Source", 0, 9), windows(1, 9_999)]);
        assert_eq!(none, "1 window is open, the first closes at 1970-01-01 00:00:10; there is no watermark yet");
    }

    #[test]
    fn a_filter_that_nothing_passes_is_named() {
        let calc = operator("Calc", 1200, 0);
        assert_eq!(why(0, vec![operator("Source", 0, 1200), calc, operator("Sink", 0, 0)]), "all 1,200 rows filtered out so far");
    }

    #[test]
    fn rows_in_state_are_not_dropped() {
        let join = OperatorReport { state_rows: 7, ..operator("Join", 7, 0) };
        assert_eq!(why(0, vec![operator("Source", 0, 7), join]), "7 rows read, 7 rows kept in state, nothing to show yet");
    }
}
