//! A query on a terminal: the rows as they are now, and how the job is doing.

mod frame;
mod rows;
mod screen;

use std::time::Duration;

use rheos::{NoMoreResults, ResultEvent, ResultInfo, Running};
use rheos_core::env::system_monotonic_ns;

use crate::failure::Failure;
use crate::figures::{count, seconds};
use crate::progress::{Progress, Rates};
use crate::run::jobs::Stop;
use crate::run::query::{drain, finished};
use crate::waiting;

use frame::Columns;
use rows::ShownRows;
use screen::Screen;

pub(crate) use screen::leave_terminal;

/// The time between two pictures.
pub(crate) const FRAME: Duration = Duration::from_millis(200);
/// How soon a key is noticed.
const KEY_PATIENCE: Duration = Duration::from_millis(20);
/// How many rows are left on the screen when a query has ended.
const FINAL_ROWS: usize = 100;

/// Shows a query until it ends, or until q or Ctrl-C is pressed.
pub(crate) fn show(running: &mut Running, info: &ResultInfo, stop: &Stop<'_>) -> Result<(), Failure> {
    let mut view = View {
        rows: ShownRows::new(info, FINAL_ROWS),
        columns: Columns::new(&info.schema),
        screen: Screen::enter(),
        rates: Rates::default(),
        started_ns: system_monotonic_ns(),
    };
    let followed = view.follow(running, stop);
    if followed.is_err() {
        running.cancel();
        drain(running);
    }
    let end = running.wait();
    let ended = followed.and_then(|()| end.map_err(Failure::Job).and_then(finished));
    match &ended {
        Ok(()) => view.conclude(),
        // What was seen stays to be read, below it the reason for the end.
        Err(_) => view.screen.leave(),
    }
    ended
}

struct View {
    rows: ShownRows,
    columns: Columns,
    screen: Screen,
    rates: Rates,
    started_ns: u64,
}

impl View {
    fn follow(&mut self, running: &mut Running, stop: &Stop<'_>) -> Result<(), Failure> {
        let mut next_frame_ns = 0;
        loop {
            if self.screen.is_end_wanted() {
                stop.interrupt().request();
            }
            if stop.ends_silently(running) {
                self.draw(running)?;
                return Err(Failure::Interrupted);
            }
            match running.next_result_within(KEY_PATIENCE) {
                Ok(Some(ResultEvent::Rows(batch))) => self.rows.apply(batch).map_err(Failure::Job)?,
                Ok(Some(ResultEvent::Watermark(_)) | None) => {}
                Err(NoMoreResults) => return Ok(()),
            }
            let now = system_monotonic_ns();
            if now >= next_frame_ns {
                // A query that ends at once shows its end only.
                if next_frame_ns > 0 {
                    self.draw(running)?;
                }
                next_frame_ns = now + FRAME.as_nanos() as u64;
            }
        }
    }

    fn draw(&mut self, running: &Running) -> Result<(), Failure> {
        let now = system_monotonic_ns();
        let metrics = running.metrics();
        let progress = Progress::of(&metrics);
        let rates = self.rates.update(&progress, now);
        let (width, height) = screen::size();
        let mut status = progress.status(rates, now - self.started_ns);
        status.push_str(" · q ends");
        let lines = if self.rows.is_untouched() {
            vec![frame::dim(&format!("nothing yet: {}", waiting::reason(&metrics)), width), frame::dim(&status, width)]
        } else {
            // The table's head takes two lines, the counts below it two, and the cursor one.
            let shown = self.rows.now(usize::from(height).saturating_sub(5).max(1)).map_err(Failure::Job)?;
            let mut lines = self.columns.draw(&shown, width);
            lines.push(frame::dim(&self.rows.caption(shown.len()), width));
            lines.push(frame::dim(&status, width));
            lines
        };
        self.screen.draw(&lines).map_err(Failure::of_output)
    }

    /// The final table, which stays.
    fn conclude(&mut self) {
        let elapsed = seconds(system_monotonic_ns() - self.started_ns);
        let shown = self.rows.finally(FINAL_ROWS).unwrap_or_default();
        let total = self.rows.total();
        let mut lines = self.columns.draw(&shown, screen::size().0);
        lines.push(match (shown.len() as u64, total) {
            (shown, total) if shown < total => {
                format!("{} of {} in {elapsed}; --output csv or json shows all", count(shown, ""), count(total, "row"))
            }
            (_, total) => format!("{} in {elapsed}", count(total, "row")),
        });
        // The command ends here: where it cannot be drawn there is nothing else to do.
        drop(self.screen.draw(&lines));
        self.screen.leave();
    }
}
