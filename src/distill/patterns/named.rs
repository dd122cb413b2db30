//! Whether a text speaks of an error: it has the codes of the error (`E404`, `TS2322`), what the
//! error quotes, and most of its telling words.

use crate::base::static_regex::StaticRegex;
use crate::distill::{errors, words};

/// Of the words of an error, this share has to be in what speaks of it, and at least so many.
const SHARE: (usize, usize) = (3, 4);
const FEWEST: usize = 3;

/// An error as it is recognized in other texts.
#[derive(Debug, Clone)]
pub struct Named {
    /// In lower case.
    codes: Vec<String>,
    /// What stands between quotation marks: `unrecognized subcommand 'bell'`. In lower case.
    quoted: Vec<String>,
    words: Vec<String>,
    /// Whether it has the name of an error: `ImportError`, `EWOULDBLOCK`.
    has_name: bool,
}

impl Named {
    /// What is looked for, given a line as it was printed.
    pub fn of(line: &str) -> Named {
        let words = words::telling(&errors::fingerprint(line));
        Named { codes: codes(line), quoted: quoted(line), words, has_name: has_name(line) }
    }

    /// Whether a text speaks of it.
    pub fn is_in(&self, text: &str) -> bool {
        let has_codes = self.codes.iter().all(|code| codes(text).contains(code));
        let lower = text.to_lowercase();
        let has_quoted = self.quoted.iter().all(|word| lower.contains(word));
        if !has_codes || !has_quoted || (self.codes.is_empty() && self.words.is_empty()) {
            return false;
        }
        let telling = words::telling(&errors::fingerprint(text));
        let shared = self.words.iter().filter(|word| telling.contains(word)).count();
        match self.words.len() {
            // One word alone is met in sentences that speak of no error at all.
            0 | 1 if self.codes.is_empty() && self.quoted.is_empty() && !self.has_name => false,
            all @ 0..FEWEST => shared == all,
            all => shared >= FEWEST && shared * SHARE.1 >= SHARE.0 * all,
        }
    }
}

/// The codes of an error, in lower case. A fingerprint forgets their numbers.
fn codes(line: &str) -> Vec<String> {
    static CODE: StaticRegex = StaticRegex::new(r"\b[A-Za-z]{1,6}-?[0-9]{3,6}\b");
    let found = CODE.find_iter(line).map(|code| code.as_str());
    // A word with a number is a code where it is written in capitals.
    let codes = found.filter(|code| !code.bytes().any(|byte| byte.is_ascii_lowercase()));
    codes.map(str::to_ascii_lowercase).collect()
}

/// Whether a line has the name of an error: a word in capitals, or one that says so at its end.
fn has_name(line: &str) -> bool {
    static NAME: StaticRegex = StaticRegex::new(
        r"\b(?:[A-Z][A-Z_]{3,}|[A-Z][A-Za-z]*[a-z](?:Error|Exception|Fault|Panic|Timeout))\b",
    );
    const MARKS: &[&str] = &["ERROR", "FATAL", "WARN", "WARNING", "FAIL", "FAILED", "PANIC"];
    NAME.find_iter(line).any(|name| !MARKS.contains(&name.as_str()))
}

/// The names that an error quotes; paths and numbers differ from time to time.
fn quoted(line: &str) -> Vec<String> {
    static QUOTED: StaticRegex = StaticRegex::new(r#"['"`‘“]([A-Za-z][\w.:@-]{1,40})['"`’”]"#);
    let found = QUOTED.captures_iter(line).map(|quoted| quoted[1].to_lowercase());
    found.filter(|name| !name.bytes().any(|byte| byte.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_speaks_of_an_error_by_its_code_and_its_words() {
        let is_in = |line: &str, text: &str| Named::of(line).is_in(text);
        assert!(is_in("E404", "npm error code E404 404 No match found for version 9.9.9"));
        assert!(!is_in("E404", "npm error code E403 403 Forbidden"));
        assert!(!is_in("E404", "404 lighthouses were counted"));
        let type_error = "src/a.ts(3,5): error TS2322: Type 'Tide' is not assignable to 'Day'";
        assert!(is_in("TS2322", type_error));
        assert!(!is_in("error TS2345: Type 'Tide' is not assignable to 'Day'", type_error));
        let lesson =
            "`wrap bell run` fails (error: unrecognized subcommand 'bell') → `bell run` works";
        assert!(is_in("error: unrecognized subcommand 'bell'", lesson));
        assert!(!is_in("error: unrecognized subcommand 'horn'", lesson));
        assert!(!is_in("error: unrecognized subcommand 'bell'", "Ring the bell before noon"));
        assert!(!is_in("...", lesson));
        // One everyday word is no error; the name of one is.
        assert!(!is_in("never happened 9981", "it happened again at noon"));
        assert!(is_in("EWOULDBLOCK", "the lock is held: EWOULDBLOCK, so wait"));
    }
}
