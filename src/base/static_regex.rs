//! A static regex: a regular expression that is fixed in the program, compiled when first used.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

/// A fixed regular expression; it dereferences to the compiled [`Regex`].
#[derive(Debug)]
pub struct StaticRegex {
    pattern: &'static str,
    compiled: OnceLock<Regex>,
}

impl StaticRegex {
    /// Takes a pattern without compiling it, so that it can stand in a `static`.
    pub const fn new(pattern: &'static str) -> StaticRegex {
        StaticRegex { pattern, compiled: OnceLock::new() }
    }
}

impl Deref for StaticRegex {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.pattern).expect("a fixed pattern is valid"))
    }
}
