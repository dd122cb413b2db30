//! A static regex: a regular expression that is fixed in the program, compiled when first used.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Regex, RegexSet};

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
        let compile = || Regex::new(&made_fast(self.pattern));
        self.compiled.get_or_init(|| compile().expect("a fixed pattern is valid"))
    }
}

/// Fixed patterns that are asked together, made fast like a [`StaticRegex`].
pub fn set<const N: usize>(patterns: [&'static str; N]) -> RegexSet {
    RegexSet::new(patterns.map(made_fast)).expect("a test makes every pattern")
}

/// The pattern in a form that compiles and runs faster. Where it names only ASCII words, the
/// boundaries of Unicode cost a slower engine; the hundreds of ranges of its `\w` cost more to
/// compile than all else together, so the blocks in which its letters stand have to do. Both cases
/// of a letter are in them, so that they need not be folded.
fn made_fast(pattern: &str) -> String {
    // Marks such as ✓ stand beside no boundary that counts; letters do.
    let has_letters = pattern.chars().any(|c| !c.is_ascii() && c.is_alphanumeric());
    let has_unicode = !pattern.contains("-u");
    let mut fast = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let (part, after) = match char {
            '\\' => rest.split_at(1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
            '[' => rest.split_at(end_of_class(rest)),
            other => rest.split_at(other.len_utf8()),
        };
        match part {
            r"\w" if has_unicode => fast.extend(["(?-i:[", LETTERS, "])"]),
            r"\W" if has_unicode => fast.extend(["(?-i:[^", LETTERS, "])"]),
            r"\b" if !has_letters => fast.push_str(r"(?-u:\b)"),
            class if has_unicode && char == '[' && class.contains(r"\w") => {
                fast.extend(["(?-i:", &class.replace(r"\w", LETTERS), ")"]);
            }
            other => fast.push_str(other),
        }
        rest = after;
    }
    fast
}

/// Where a class ends that begins the text: behind its first bracket that is not escaped.
fn end_of_class(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b']' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 1)
}

/// Where the letters and digits of all scripts stand, for the inside of a class.
const LETTERS: &str = concat!(
    r"0-9A-Z_a-z\u{aa}\u{b5}\u{ba}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1fff}\u{2c00}-\u{2dff}",
    r"\u{3005}-\u{3007}\u{3041}-\u{d7ff}\u{f900}-\u{fdff}\u{fe70}-\u{fefc}\u{ff10}-\u{ff19}",
    r"\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}\u{ff66}-\u{ffdc}\u{10000}-\u{1cfff}\u{20000}-\u{3ffff}",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_script_count_as_words() {
        let word = StaticRegex::new(r"^\w+$");
        for text in ["naïve", "größer", "привет", "日本語", "한국어", "x_1", "עברית", "हिन्दी"]
        {
            assert!(word.is_match(text), "{text}");
        }
        let other = StaticRegex::new(r"(?i)^[^\w-]+\W$");
        for text in ["— “", "…!", "🎉 ", "、。", "→»"] {
            assert!(other.is_match(text), "{text}");
        }
    }

    #[test]
    fn classes_escapes_and_boundaries_keep_their_meaning() {
        assert!(StaticRegex::new(r"\[\w\]\\w").is_match(r"[x]\w"));
        assert!(StaticRegex::new(r"\bfix\b").is_match("a fix."));
        assert!(StaticRegex::new(r"(?i-u)^\w+$").is_match("Plain"));
        assert!(StaticRegex::new(r"^[\w./-]+$").is_match("src/main.rs"));
    }
}
