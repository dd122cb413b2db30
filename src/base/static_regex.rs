//! A static regex: a regular expression that is fixed in the program, compiled when first used.

use std::borrow::Cow;
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
        let compile = || Regex::new(&with_fast_boundaries(self.pattern));
        self.compiled.get_or_init(|| compile().expect("a fixed pattern is valid"))
    }
}

/// The pattern with `\b` between ASCII words where it names no others: beside other letters, the
/// boundaries of Unicode cost a slower engine.
fn with_fast_boundaries(pattern: &str) -> Cow<'_, str> {
    match pattern.is_ascii() && !pattern.contains(r"\\") {
        true => pattern.replace(r"\b", r"(?-u:\b)").into(),
        false => pattern.into(),
    }
}
