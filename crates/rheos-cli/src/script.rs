//! SQL texts as they were given: read, variables replaced, and errors shown in them.

use std::io::Read;
use std::path::Path;

use rheos::SqlError;

use crate::args::ScriptArgs;
use crate::failure::Failure;
use crate::variables::{Missing, substitute};

/// A text of SQL and what to call it in errors.
#[derive(Debug)]
pub(crate) struct Script {
    label: String,
    text: String,
}

impl Script {
    /// All scripts of a command line: the files, then what `-e` gave.
    pub(crate) fn read_all(args: &ScriptArgs) -> Result<Vec<Script>, Failure> {
        let files = args.files.iter().map(|path| Script::read(path, &args.variables));
        let executes = args.execute.iter().map(|sql| Script::given("-e", sql.clone(), &args.variables));
        files.chain(executes).collect()
    }

    /// The script of a file; '-' is standard input.
    pub(crate) fn read(path: &Path, variables: &[(String, String)]) -> Result<Script, Failure> {
        Script::given(&label(path), read(path)?, variables)
    }

    /// A text with variables, which have their values here or in the environment.
    pub(crate) fn given(label: &str, text: String, variables: &[(String, String)]) -> Result<Script, Failure> {
        let value_of = |name: &str| {
            let given = variables.iter().rev().find(|(n, _)| n == name);
            given.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
        };
        Script::new(label.into(), text, value_of)
    }

    /// A text in which nothing is replaced.
    pub(crate) fn plain(label: String, text: String) -> Script {
        Script { label, text }
    }

    fn new(label: String, text: String, value_of: impl Fn(&str) -> Option<String>) -> Result<Script, Failure> {
        match substitute(&text, value_of) {
            Ok(text) => Ok(Script { label, text }),
            Err(Missing { name, offset }) => {
                let hint = format!("give it with --var {name}=... or set it in the environment; ${{{name}:-text}} has a default");
                let error = SqlError::new(format!("the variable '{name}' has no value")).hint(Some(hint));
                let error = at_offset(error, &text, offset);
                Err(Script { label, text }.wrong(&error))
            }
        }
    }

    /// The SQL.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// An error in this text, with the line that it points at.
    pub(crate) fn wrong(&self, error: &SqlError) -> Failure {
        Failure::Wrong(error.render(&self.text, &self.label))
    }
}

/// The error at a place that is given in bytes.
pub(crate) fn at_offset(mut error: SqlError, text: &str, offset: usize) -> SqlError {
    let before = &text[..offset];
    error.place.line = before.matches('\n').count() as u64 + 1;
    error.place.column = before.chars().rev().take_while(|c| *c != '\n').count() as u64 + 1;
    error
}

fn label(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map(drop)
    };
    read.map_err(|e| Failure::wrong(format!("'{}' cannot be read: {e}", path.display())))?;
    String::from_utf8(bytes).map_err(|_| Failure::wrong(format!("'{}' is not a text in UTF-8", path.display())))
}
