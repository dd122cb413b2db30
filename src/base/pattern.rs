//! A pattern: a regular expression that is fixed in the program and compiled when it is first used.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

/// A fixed regular expression; it dereferences to the compiled [`Regex`].
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// Names a pattern without compiling it, so that it can stand in a `static`.
    pub const fn new(source: &'static str) -> Pattern {
        Pattern { source, compiled: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.source).expect("a fixed pattern is valid"))
    }
}
