//! A terminal for tests: a pseudo-terminal with `rheos sql` on the one side, and what a screen would show on the other.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Command, Pty};

/// Size of the screen. Wide enough that nothing that is looked for is wrapped.
const ROWS: NonZero<u16> = NonZero::<u16>::MIN.saturating_add(49);
const COLUMNS: NonZero<u16> = NonZero::<u16>::MIN.saturating_add(139);
/// After how many looks at the screen something that does not come is given up: about a minute.
const LOOKS: usize = 3_000;
/// The question of where the cursor is, which a terminal answers.
const WHERE_IS_THE_CURSOR: &[u8] = b"\x1b[6n";

/// `rheos sql` on a terminal.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts it in a folder, with these arguments and no history but what they name.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Terminal {
        let (pty, pts) = pty_process::blocking::open().expect("a pseudo-terminal");
        pty.resize(Size::new(ROWS.get(), COLUMNS.get())).expect("a size");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RHEOS_")) {
            command = command.env_remove(name);
        }
        command = command.arg("sql").args(args).current_dir(folder).env("NO_COLOR", "1").env("TERM", "xterm-256color");
        command = command.env("XDG_STATE_HOME", folder.join("state"));
        let child = command.spawn(pts).expect("rheos starts");
        let terminal = Terminal { child, pty: Arc::new(pty), screen: Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 1_000))) };
        terminal.show();
        terminal
    }

    /// Shows what comes on the screen from now on, and answers as a terminal does.
    fn show(&self) {
        let (pty, screen) = (Arc::clone(&self.pty), Arc::clone(&self.screen));
        std::thread::spawn(move || {
            let mut last = Vec::new();
            let mut bytes = [0; 4096];
            // The end of the process is an error on Linux.
            while let Ok(n @ 1..) = (&*pty).read(&mut bytes) {
                for byte in &bytes[..n] {
                    let mut screen = screen.lock().expect("the screen");
                    screen.process(&[*byte]);
                    last.push(*byte);
                    if last.ends_with(WHERE_IS_THE_CURSOR) {
                        let (row, column) = screen.screen().cursor_position();
                        write!(&*pty, "\x1b[{};{}R", row + 1, column + 1).expect("an answer");
                        last.clear();
                    }
                }
            }
        });
    }

    /// Presses these keys.
    pub(crate) fn type_keys(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("keys are pressed");
    }

    /// Types a line, and Enter.
    pub(crate) fn enter(&self, line: &str) {
        self.type_keys(&format!("{line}\r"));
    }

    /// What the screen shows.
    pub(crate) fn contents(&self) -> String {
        self.screen.lock().expect("the screen").screen().contents()
    }

    /// Waits until the screen shows what is looked for, and gives all that it shows.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        for _ in 0..LOOKS {
            let contents = self.contents();
            if is_there(&contents) {
                return contents;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the screen does not show {what}, but\n{}", self.contents());
    }

    /// Waits for a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        self.wait_until(text, |contents| contents.contains(text))
    }

    /// Waits until the last line is a prompt with nothing behind it.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self) -> String {
        self.wait_until("a prompt at its end", |contents| contents.trim_end().ends_with("rheos>"))
    }

    /// An empty screen, and a prompt.
    #[track_caller]
    pub(crate) fn clear(&mut self) {
        self.enter("clear");
        self.wait_until("nothing but a prompt", |contents| contents.trim() == "rheos>");
    }

    /// The process's id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return (status, self.contents());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end:\n{}", self.contents());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; one that did not has seen the end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
