//! Why an element could not be sent.

use std::fmt;

use rheos_core::error::{Error, ErrorKind};

/// Why an element could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// The receiving task is gone: whoever runs the tasks knows why.
    Disconnected,
    /// The element breaks the grammar of channels, as the text says. Found in debug builds only.
    Illegal(String),
    /// The element cannot cross processes, as the text says.
    Unsendable(ErrorKind, String),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Disconnected => f.write_str("the receiving task is gone"),
            SendError::Illegal(rule) => write!(f, "illegal order of elements: {rule}"),
            SendError::Unsendable(_, why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SendError {}

impl From<SendError> for Error {
    fn from(e: SendError) -> Self {
        let kind = match &e {
            SendError::Disconnected => ErrorKind::RestartJob,
            SendError::Illegal(_) => ErrorKind::Bug,
            SendError::Unsendable(kind, _) => *kind,
        };
        Error::new(kind, e.to_string())
    }
}

impl From<Error> for SendError {
    fn from(e: Error) -> Self {
        SendError::Unsendable(e.kind(), e.to_string())
    }
}
