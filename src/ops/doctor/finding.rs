//! A finding: one thing that is wrong or worth knowing, what it means, and how to fix it.

use serde::Serialize;

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The check that found it.
    pub check: &'static str,
    pub level: Level,
    /// What is so, with the path where there is one.
    pub what: String,
    /// What that means for the person.
    pub means: String,
    /// How to fix it; empty where nothing has to be done.
    pub fix: String,
    /// Whether it has been fixed now.
    pub fixed: bool,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Note,
    /// It will get in the way.
    Warning,
    /// Something is broken or in danger.
    Error,
}

/// What one check found.
pub struct Findings {
    check: &'static str,
    pub found: Vec<Finding>,
}

impl Findings {
    /// Nothing was found yet.
    pub fn of(check: &'static str) -> Findings {
        Findings { check, found: Vec::new() }
    }

    pub fn note(&mut self, what: impl Into<String>, means: &str, fix: impl Into<String>) {
        self.add(Level::Note, what, means, fix);
    }

    pub fn warning(&mut self, what: impl Into<String>, means: &str, fix: impl Into<String>) {
        self.add(Level::Warning, what, means, fix);
    }

    pub fn error(&mut self, what: impl Into<String>, means: &str, fix: impl Into<String>) {
        self.add(Level::Error, what, means, fix);
    }

    /// Something that was fixed on the spot.
    pub fn fixed(&mut self, what: impl Into<String>, means: &str, how: &str) {
        self.add(Level::Warning, what, means, how);
        self.found.last_mut().expect("it was just added").fixed = true;
    }

    pub fn add(
        &mut self,
        level: Level,
        what: impl Into<String>,
        means: &str,
        fix: impl Into<String>,
    ) {
        let (what, means, fix) = (what.into(), means.to_string(), fix.into());
        self.found.push(Finding { check: self.check, level, what, means, fix, fixed: false });
    }
}
