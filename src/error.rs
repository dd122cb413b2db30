//! What failed, because of what, and what to do next.
//!
//! Every error that a person may see is built as `Error::new("cannot …").because(err).hint("…")`;
//! the entry points print its parts on lines of their own, or as JSON.

use std::fmt;

/// The result of everything that may fail on a person's behalf.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, told in three parts.
#[derive(Debug)]
pub struct Error {
    what: String,
    because: Vec<String>,
    hint: Option<String>,
    usage: bool,
}

impl Error {
    /// Names what could not be done, and to which thing.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), because: Vec::new(), hint: None, usage: false }
    }

    /// Marks a wrong call (exit code 2) rather than a failure (exit code 1).
    pub fn usage(what: impl Into<String>) -> Error {
        Error { usage: true, ..Error::new(what) }
    }

    /// Adds a cause, and the causes behind it.
    pub fn because(mut self, cause: impl fmt::Display) -> Error {
        self.because.push(cause.to_string());
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

    /// The causes, nearest first.
    pub fn causes(&self) -> &[String] {
        &self.because
    }

    /// The next step, where there is one.
    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The exit code that this error asks for.
    pub fn exit_code(&self) -> u8 {
        if self.usage { 2 } else { 1 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for cause in &self.because {
            write!(f, "\n  because: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Turns a lower error into an [`Error`] that says what was being done.
pub trait Context<T> {
    /// Names what failed; the lower error becomes the cause.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|err| Error::new(what()).because(err))
    }
}
