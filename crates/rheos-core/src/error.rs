//! One error type with six kinds, named by what the receiver must do.

use std::fmt;

/// What the receiver of an error must do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Do the same again: the outside world was not ready.
    Retry,
    /// Restart the job from its last snapshot: this attempt cannot go on.
    RestartJob,
    /// Mend the input: a record is not what the table declares.
    FixInput,
    /// Mend the statement, an option or the configuration.
    FixConfig,
    /// Stored data is not what was written: restore from elsewhere.
    Corrupt,
    /// Report a bug: Rheos broke a promise of its own.
    Bug,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Retry => "try again",
            ErrorKind::RestartJob => "restart the job",
            ErrorKind::FixInput => "bad input",
            ErrorKind::FixConfig => "bad configuration",
            ErrorKind::Corrupt => "corrupt data",
            ErrorKind::Bug => "internal error",
        })
    }
}

/// An error: its kind, a lower-case text that names the thing and its value, and what caused it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of anything in Rheos that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), source: None }
    }

    /// The outside world was not ready.
    pub fn retry(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Retry, message)
    }

    /// This attempt of the job cannot go on.
    pub fn restart(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::RestartJob, message)
    }

    /// A record is not what its table declares.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::FixInput, message)
    }

    /// A statement, an option or a setting is wrong.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::FixConfig, message)
    }

    /// Stored data is not what was written.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Rheos broke a promise of its own.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, message)
    }

    /// The same error with its cause attached.
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, told from further out: `context: message`.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }

    /// What the receiver must do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

/// Arrow kernels fail on values (a cast, an overflow): the input is at fault unless the schema itself is.
impl From<arrow::error::ArrowError> for Error {
    fn from(e: arrow::error::ArrowError) -> Self {
        use arrow::error::ArrowError as A;
        let kind = match &e {
            A::DivideByZero | A::ArithmeticOverflow(_) | A::CastError(_) | A::ParseError(_) | A::ComputeError(_) => ErrorKind::FixInput,
            A::IpcError(_) => ErrorKind::Corrupt,
            A::IoError(..) => ErrorKind::RestartJob,
            _ => ErrorKind::Bug,
        };
        let message = match &e {
            A::DivideByZero => "division by zero".to_string(),
            A::ArithmeticOverflow(m) | A::CastError(m) | A::ParseError(m) | A::ComputeError(m) => m.clone(),
            other => other.to_string(),
        };
        Error::new(kind, message).caused_by(e)
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Error::restart(e.to_string()).caused_by(e)
    }
}

impl From<serde_json::Error> for Error {
    fn from(e: serde_json::Error) -> Self {
        Error::corrupt(e.to_string()).caused_by(e)
    }
}
