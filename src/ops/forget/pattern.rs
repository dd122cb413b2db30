//! The text to forget, found in every form that it takes in a memory: in Markdown, in quotes over
//! several lines, in slugs and file names, and escaped in the agents' JSON.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use regex::bytes::Regex;

use crate::base::files;
use crate::error::{Error, Result};

/// What takes the place of a forgotten text.
pub const FORGOTTEN: &str = "[forgotten]";

/// The shortest text that can be forgotten, in letters and digits: a shorter one occurs in every
/// other line.
const SHORTEST: usize = 4;
/// The longest, in characters.
const LONGEST: usize = 2_000;
/// How much of a file is looked at in one piece. Two pieces share [`OVERLAP`], so that no match
/// falls between them.
const PIECE: usize = 1 << 20;
const OVERLAP: usize = 64 << 10;

/// A text to forget, in every form it may take.
#[derive(Debug)]
pub struct TextPattern {
    regex: Regex,
}

impl TextPattern {
    /// Understands a text: case does not matter, nor does how much space is between its words.
    pub fn new(text: &str) -> Result<TextPattern> {
        let text = text.trim();
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < SHORTEST {
            return Err(Error::usage("this text is too short to be forgotten")
                .because(format!(
                    "it has {letters} letters and digits, and would take half of the memory with it"
                ))
                .hint(format!("give at least {SHORTEST}, or name a session")));
        }
        if text.chars().count() > LONGEST {
            return Err(Error::usage("this text is too long to be looked for")
                .because(format!("it has more than {LONGEST} characters"))
                .hint("give a sentence of it, or name the session"));
        }
        let mut pattern = String::from("(?i)");
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            word.chars().for_each(|letter| pattern.push_str(&forms(letter)));
            if words.peek().is_some() {
                pattern.push_str(r"(?:[\s\-_>]|\\[nrt])+");
            }
        }
        let regex = regex::bytes::RegexBuilder::new(&pattern).size_limit(64 << 20).build();
        regex
            .map(|regex| TextPattern { regex })
            .map_err(|err| Error::usage("cannot look for this text").because(err))
    }

    /// Whether a text holds it.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// How often a text holds it.
    pub fn count(&self, text: &str) -> usize {
        self.regex.find_iter(text.as_bytes()).count()
    }

    /// The text without it.
    pub fn removed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.regex.replace_all(text.as_bytes(), FORGOTTEN.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole characters were matched and whole characters put in their place.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Whether a file holds it; only a piece of the file is in memory at a time.
    pub fn is_in_file(&self, path: &Path) -> io::Result<bool> {
        let mut file = files::open(path)?;
        let mut piece = Vec::with_capacity(PIECE + OVERLAP);
        loop {
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
            if self.regex.is_match(&piece) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            piece.drain(..piece.len().saturating_sub(OVERLAP));
        }
    }
}

/// The forms of one character: itself, behind backslashes, as JSON or HTML escape it, or dropped
/// where headings drop it.
fn forms(letter: char) -> String {
    let plain = regex::escape(&letter.to_string());
    if letter.is_ascii_alphanumeric() {
        return plain;
    }
    let mut units = [0u16; 2];
    let escaped: String =
        letter.encode_utf16(&mut units).iter().map(|unit| format!(r"\\+u{unit:04x}")).collect();
    let entity = match letter {
        '<' => "|&lt;",
        '>' => "|&gt;",
        '&' => "|&amp;",
        '"' => "|&quot;",
        _ => "",
    };
    let droppable =
        if matches!(letter, '#' | '`' | '<' | '>' | '[' | ']' | '*' | '_') { "?" } else { "" };
    format!(r"(?:\\*{plain}|{escaped}{entity}){droppable}")
}

/// A page without the lines that stand in it a second time with a text forgotten: a merge with a
/// device that had not forgotten it brings them back. `None` where there are none.
pub fn without_originals(page: &str) -> Option<String> {
    let forgotten: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.contains(FORGOTTEN))
        .map(|line| line.split(FORGOTTEN).collect())
        .collect();
    if forgotten.is_empty() {
        return None;
    }
    let is_original =
        |line: &str| !line.contains(FORGOTTEN) && forgotten.iter().any(|parts| fits(line, parts));
    let kept: String =
        page.split_inclusive('\n').filter(|line| !is_original(line.trim_end())).collect();
    (kept.len() < page.len()).then_some(kept)
}

/// Whether a line is these parts with something between each two of them. A line of which nothing
/// else is known is any.
fn fits(line: &str, parts: &[&str]) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let letters: usize =
        parts.iter().map(|part| part.chars().filter(|c| c.is_alphanumeric()).count()).sum();
    let Some(mut rest) = line.strip_prefix(first).and_then(|rest| rest.strip_suffix(*last)) else {
        return false;
    };
    for part in middle {
        match rest.find(*part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    letters >= SHORTEST_FRAME && !rest.is_empty()
}

/// How many letters and digits around a forgotten text identify its line: those of a time and a session
/// are more.
const SHORTEST_FRAME: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_text_is_found_in_all_its_forms() {
        let pattern = TextPattern::new("  Project \"Blue_Bird\" für   Ann ").unwrap();
        for form in [
            "about project \"blue_bird\" für Ann today",
            "> Project \"Blue_Bird\"\n> für Ann",
            r#"{"text":"Project \"Blue_Bird\"\nf\u00fcr Ann"}"#,
            "project \\\"blue\\_bird\\\"\u{a0}für-ann",
        ] {
            assert!(pattern.is_in(form), "{form}");
            assert!(!pattern.is_in(&pattern.removed(form)), "{form}");
        }
        assert!(!pattern.is_in("project bluebird"));
        assert_eq!(pattern.removed("nothing here"), "nothing here");
        assert!(
            TextPattern::new("<b>bold</b> text").unwrap().is_in("&lt;b&gt;bold&lt;/b&gt; text")
        );
        assert!(TextPattern::new("an emoji 🦀 too").unwrap().is_in(r"an emoji \ud83e\udd80 too"));
        assert_eq!(
            TextPattern::new("a.b.c.d (x)").unwrap().removed("A.B.C.D (x) and aXbXc"),
            "[forgotten] and aXbXc"
        );
    }

    #[test]
    fn a_line_that_came_back_goes_where_it_stands_forgotten_too() {
        let forgotten =
            "- [10:00:00] [user] (SES1_a_SP1C1) the code is [forgotten], and [forgotten] too\n";
        let original = "- [10:00:00] [user] (SES1_a_SP1C1) the code is 1234-5678, and 99 too\n";
        let other = "- [10:00:01] [user] (SES1_a_SP1C1) the code is 1234-5678, and 99 too\n";
        let check = |page: &str, expect: Option<&str>| {
            assert_eq!(without_originals(page).as_deref(), expect)
        };
        check(&format!("{original}{forgotten}{other}"), Some(&format!("{forgotten}{other}")));
        check(&format!("{original}{other}"), None);
        check(&format!("{forgotten}{other}"), None);
        // Too little is known of such a line.
        check("- [forgotten]\n- my notes\n", None);
    }

    #[test]
    fn too_short_and_too_long_are_said() {
        assert!(TextPattern::new(" a-b ").is_err());
        assert!(TextPattern::new(&"x".repeat(3_000)).is_err());
        assert!(TextPattern::new(&"a ".repeat(900)).is_ok());
    }

    #[test]
    fn a_match_across_two_pieces_is_found() {
        let pattern = TextPattern::new("needle in the haystack").unwrap();
        for before in [PIECE - 5, PIECE + OVERLAP - 5, 2 * PIECE - 3, 10] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&vec![b'x'; before]).unwrap();
            file.write_all(b" needle in the haystack ").unwrap();
            file.write_all(&vec![b'y'; PIECE]).unwrap();
            assert!(pattern.is_in_file(file.path()).unwrap(), "{before}");
        }
        let mut none = tempfile::NamedTempFile::new().unwrap();
        none.write_all(&vec![b'x'; 3 * PIECE]).unwrap();
        assert!(!pattern.is_in_file(none.path()).unwrap());
    }
}
