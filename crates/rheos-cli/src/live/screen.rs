//! The part of the terminal that is drawn over and over: the lines below the prompt, no more.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveToColumn, MoveUp, Show};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::Print;
use crossterm::terminal::{self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use crossterm::{execute, queue};

/// Whether the terminal is in a state that must be undone.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Width and height of the terminal.
pub(crate) fn size() -> (u16, u16) {
    match terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => (width, height),
        _ => (80, 24),
    }
}

/// Gives the terminal back as it was; also right where it was never taken.
pub(crate) fn leave_terminal() {
    if ENTERED.swap(false, Ordering::Relaxed) {
        // Nothing can be done about a terminal that is gone.
        drop(terminal::disable_raw_mode());
        drop(execute!(io::stdout(), Show));
    }
}

/// Lines that replace one another in place. The terminal is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    /// How many lines were drawn last, above the cursor.
    lines: u16,
    has_keys: bool,
}

impl Screen {
    /// Takes the terminal. Where its keys cannot be read it is drawn on all the same, and signals end the query.
    pub(crate) fn enter() -> Screen {
        let has_keys = terminal::enable_raw_mode().is_ok();
        ENTERED.store(true, Ordering::Relaxed);
        drop(execute!(io::stdout(), Hide));
        Screen { lines: 0, has_keys }
    }

    /// Draws these lines over those drawn before.
    pub(crate) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate, MoveToColumn(0))?;
        if self.lines > 0 {
            queue!(out, MoveUp(self.lines))?;
        }
        for line in lines {
            // Raw mode wants both, and they do no harm without it.
            queue!(out, Print(line), Clear(ClearType::UntilNewLine), Print("\r\n"))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        out.flush()?;
        self.lines = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        Ok(())
    }

    /// Whether q, Escape, Ctrl-C or Ctrl-D was pressed.
    pub(crate) fn is_end_wanted(&mut self) -> bool {
        while self.has_keys {
            match event::poll(Duration::ZERO).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
                Ok(Some(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    match key.code {
                        KeyCode::Char('q') | KeyCode::Esc => return true,
                        KeyCode::Char('c' | 'd') if control => return true,
                        _ => {}
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => self.has_keys = false,
            }
        }
        false
    }

    /// Gives the terminal back; what was drawn stays.
    pub(crate) fn leave(&mut self) {
        leave_terminal();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave_terminal();
    }
}
