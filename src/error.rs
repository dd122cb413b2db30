//! What failed, because of what, and what to do next.
//!
//! Every error that a person may see is built as `Error::new("cannot …").because(err).hint("…")`;
//! the entry points print its parts on lines of their own, or as JSON.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// The result of everything that may fail on a person's behalf.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause: a lower error, or a sentence.
type Cause = Box<dyn StdError + Send + Sync>;

/// A failure in three parts: what was being done, why it failed, what to do next.
#[derive(Debug)]
pub struct Error {
    what: String,
    causes: Vec<Cause>,
    hint: Option<String>,
    kind: Option<ErrorKind>,
}

/// What sort of failure it is, for callers that choose by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call was wrong (exit code 2).
    Usage,
    /// What was named does not exist: a memory, a session, a page.
    NotFound,
    /// The disk, a file or another program failed.
    Io,
    /// Anything else.
    Other,
}

impl Error {
    /// Names what could not be done, and to which thing.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), causes: Vec::new(), hint: None, kind: None }
    }

    /// Marks a wrong call (exit code 2) rather than a failure (exit code 1).
    pub fn usage(what: impl Into<String>) -> Error {
        Error { kind: Some(ErrorKind::Usage), ..Error::new(what) }
    }

    /// Says that what was named does not exist.
    pub fn not_found(what: impl Into<String>) -> Error {
        Error { kind: Some(ErrorKind::NotFound), ..Error::new(what) }
    }

    /// Adds a cause; the first one is the [`source`](StdError::source).
    pub fn because(mut self, cause: impl Into<Cause>) -> Error {
        self.causes.push(cause.into());
        self
    }

    /// Says what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// What was being done.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The causes as text, nearest first.
    pub fn causes(&self) -> Vec<String> {
        self.causes.iter().map(|cause| cause.to_string()).collect()
    }

    /// The next step, where there is one.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        let is_io = |cause: &Cause| cause.is::<io::Error>();
        self.kind.unwrap_or(match self.causes.iter().any(is_io) {
            true => ErrorKind::Io,
            false => ErrorKind::Other,
        })
    }

    /// The exit code that this error asks for.
    pub fn exit_code(&self) -> u8 {
        if self.kind() == ErrorKind::Usage { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for cause in &self.causes {
            write!(f, "\n  because: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.causes.first().map(|cause| &**cause as &(dyn StdError + 'static))
    }
}

/// Turns a lower error into an [`Error`] that says what was being done.
pub trait Context<T> {
    /// Names what failed; the lower error becomes the cause.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Cause>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|err| Error::new(what()).because(err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stays_an_error_and_decides_the_kind() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = Err::<(), _>(full()).context(|| "cannot write".into()).unwrap_err();
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
        assert_eq!((error.kind(), error.exit_code()), (ErrorKind::Io, 1));
        let error = Error::new("cannot sweep").because("the moon is full").hint("wait");
        assert_eq!(error.to_string(), "cannot sweep\n  because: the moon is full\n\nhint: wait");
        assert_eq!((error.kind(), error.exit_code()), (ErrorKind::Other, 1));
        assert_eq!(Error::usage("no such flag").exit_code(), 2);
    }
}
