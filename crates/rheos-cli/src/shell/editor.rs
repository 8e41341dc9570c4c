//! The editor of entries: reedline with the shell's prompt, completion, colours and history.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::event::DisableBracketedPaste;
use reedline::{
    ColumnarMenu, Completer, Emacs, KeyCode, KeyModifiers, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion, ValidationResult, Validator,
    default_emacs_keybindings,
};

use super::complete::{Names, complete};
use super::highlight::Colours;
use super::history;
use super::statements::is_complete;
use crate::args::SqlArgs;
use crate::failure::Failure;

const MENU: &str = "completion_menu";

/// Reads entries from the terminal.
pub(super) struct Editor(Reedline);

/// What the user has done.
pub(super) enum Entry {
    /// An entry is complete.
    Text(String),
    /// Ctrl-C: what was written is dropped.
    Cleared,
    /// Ctrl-D: there is no more.
    End,
}

impl Editor {
    /// An editor that completes by these names.
    pub(super) fn new(args: &SqlArgs, names: Arc<Mutex<Names>>) -> Result<Editor, Failure> {
        let with_colours = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let mut keys = default_emacs_keybindings();
        let next = ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, next);
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        let mut editor = Reedline::create()
            .with_ansi_colors(with_colours)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_validator(Box::new(UntilSemicolon))
            .with_completer(Box::new(ByNames(names)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU))))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_highlighter(Box::new(Colours { are_on: with_colours }))
            .use_bracketed_paste(true)
            // As in bash: what begins with a space, such as a secret, is not remembered.
            .with_history_exclusion_prefix(Some(" ".into()));
        if let Some(history) = history::open(args)? {
            editor = editor.with_history(history);
        }
        Ok(Editor(editor))
    }

    /// Reads the next entry.
    pub(super) fn read(&mut self) -> Result<Entry, Failure> {
        match self.0.read_line(&ShellPrompt) {
            Ok(Signal::Success(text)) => {
                // An entry is remembered before it is carried out, whatever becomes of that; a history that cannot be written does
                // not keep anybody from working.
                if let Err(e) = self.0.sync_history() {
                    eprintln!("note: the history cannot be written: {e}");
                }
                Ok(Entry::Text(text))
            }
            Ok(Signal::CtrlD) => Ok(Entry::End),
            Ok(_) => Ok(Entry::Cleared),
            Err(e) => Err(Failure::wrong(format!("the terminal cannot be used for a prompt: {e}; 'rheos sql < FILE.sql' needs none"))),
        }
    }
}

/// Gives the terminal back as it was, also while an entry is being read.
pub(crate) fn leave_terminal() {
    // Nothing can be done about a terminal that is gone.
    drop(crossterm::terminal::disable_raw_mode());
    drop(crossterm::execute!(std::io::stderr(), DisableBracketedPaste));
    eprintln!();
}

struct ShellPrompt;

impl Prompt for ShellPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "rheos".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "    -> ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing has ",
        };
        format!(" ({failing}'{}') ", search.term).into()
    }
}

struct UntilSemicolon;

impl Validator for UntilSemicolon {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_complete(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

struct ByNames(Arc<Mutex<Names>>);

impl Completer for ByNames {
    fn complete(&mut self, text: &str, cursor: usize) -> Vec<Suggestion> {
        // A panic elsewhere does not make names worse.
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let completion = complete(text, cursor, &names);
        let suggestion = |candidate: super::complete::Candidate| Suggestion {
            value: candidate.text,
            description: Some(candidate.what).filter(|what| !what.is_empty()),
            span: Span::new(completion.start, cursor),
            append_whitespace: candidate.with_space,
            ..Suggestion::default()
        };
        completion.candidates.into_iter().map(suggestion).collect()
    }
}
