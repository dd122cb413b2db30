//! To redact is to replace a secret by the name of the rule that found it, such as
//! `[redacted:npm-token]`.
//!
//! [`RULES`] is the table of secrets: name, pattern, example. One pass over the text looks for the
//! literal anchors of all rules at once, and only where an anchor stands is its pattern tried; a
//! second pass looks at long runs of letters and digits, for secrets that nothing announces but the
//! words before them.

mod anchors;
mod entropy;
mod placeholders;
mod rules;
mod validators;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::text::cut;

pub use rules::{RULES, Rule};

use anchors::Anchors;
use entropy::{LONGEST_RUN, each_long_run, is_announced, looks_random};
use rules::PRIVATE_KEY;
use validators::Candidate;

/// Finds secrets by the built-in rules and by a person's own.
pub struct Redactor {
    anchors: Anchors,
    /// The patterns, made when first needed: most programs meet few kinds of secrets.
    patterns: Vec<OnceLock<Regex>>,
    custom: Vec<(String, Regex)>,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// Makes a redactor with the built-in rules.
    pub fn new() -> Self {
        let mut anchors = Anchors::default();
        anchors.add(PRIVATE_OPEN, PRIVATE);
        anchors.add(MARKER, MARKED);
        for (index, rule) in RULES.iter().enumerate() {
            for anchor in rule.anchors {
                anchors.add(anchor, index);
            }
        }
        Self {
            anchors,
            patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
            custom: Vec::new(),
        }
    }

    /// Makes a redactor with the built-in rules and a person's own, each a name and a regular
    /// expression.
    pub fn with_rules(custom: &[(String, String)]) -> Result<Self, String> {
        let mut redactor = Self::new();
        for (name, pattern) in custom {
            let regex = Regex::new(pattern).map_err(|error| {
                format!("the redaction rule `{name}` is no valid pattern: {error}")
            })?;
            let is_plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(format!(
                    "the redaction rule `{name}` needs a name of letters, digits and hyphens"
                ));
            }
            redactor.custom.push((name.clone(), regex));
        }
        Ok(redactor)
    }

    /// Returns the text with every secret replaced by `[redacted:rule]`; borrowed when there is
    /// none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        // What stood glued to a secret can be seen once that is gone; so it is looked for until
        // none is left, and to redact twice changes nothing. A person's pattern may never have
        // enough.
        for _ in 0..8 {
            let found = self.find(&clean);
            if found.is_empty() {
                break;
            }
            clean = Cow::Owned(replaced(&clean, &found));
        }
        clean
    }

    /// Returns where each secret begins and ends, and the name of its rule, in order and apart.
    pub fn find(&self, text: &str) -> Vec<(usize, usize, &str)> {
        let mut found: Vec<Match> = Vec::new();
        let mut markers: Vec<Range<usize>> = Vec::new();
        self.find_anchored(text, &mut found, &mut markers);
        each_long_run(text, |run| self.look_at_run(text, run, &mut found));
        for (index, (_, regex)) in self.custom.iter().enumerate() {
            for captures in regex.captures_iter(text) {
                let rule = RULES.len() + index;
                let range = secret_of(&captures, 0);
                found.push(Match { rule, range });
            }
        }
        // What was redacted before stays as it is.
        found.retain(|found| {
            let within = |marker: &Range<usize>| {
                marker.start <= found.range.start && found.range.end <= marker.end
            };
            !found.range.is_empty() && !markers.iter().any(within)
        });
        self.apart(found)
    }

    fn find_anchored(&self, text: &str, found: &mut Vec<Match>, markers: &mut Vec<Range<usize>>) {
        let mut skip_to = 0;
        self.anchors.each(text, |start, rule| {
            if start < skip_to {
                return;
            }
            let range = match rule {
                PRIVATE => private_end(text, start).map(|end| start..end),
                MARKED => {
                    let length = cut(&text[start..], 128).find(']');
                    markers.extend(length.map(|length| start..start + length + 1));
                    None
                }
                _ => self.try_rule(text, rule, start),
            };
            let Some(range) = range else {
                return;
            };
            // Nothing is to be found within a private span or a block, and it may be long.
            if rule == PRIVATE || range.len() > LINE {
                skip_to = range.end;
            }
            found.push(Match { rule, range });
        });
    }

    fn look_at_run(&self, text: &str, run: Range<usize>, found: &mut Vec<Match>) {
        // A token may also be a part of a path; longer runs with slashes are data.
        let slashes = text[run.clone()].match_indices('/').map(|(at, _)| run.start + at + 1);
        let starts = slashes.take(if run.len() <= LONGEST_RUN { LONGEST_RUN } else { 0 });
        for start in [run.start].into_iter().chain(starts) {
            for (rule, _) in RULES.iter().enumerate().filter(|(_, rule)| rule.anchors.is_empty()) {
                if let Some(range) = self.try_rule(text, rule, start) {
                    found.push(Match { rule, range });
                    return;
                }
            }
        }
        if looks_random(&text[run.clone()]) && is_announced(text, &run) {
            let padding = text[run.end..].bytes().take_while(|&byte| byte == b'=').count();
            let range = run.start..run.end + padding;
            found.push(Match { rule: ENTROPY, range });
        }
    }

    fn try_rule(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        let Rule { pattern, validator, .. } = RULES[rule];
        let regex = self.patterns[rule].get_or_init(|| {
            Regex::new(&format!(r"\A(?:{pattern})"))
                .expect("a test makes every pattern of the table")
        });
        let longest = if rule == PRIVATE_KEY { 16 * LINE } else { LINE };
        let window = cut(&text[start..], longest);
        let captures = regex.captures(window)?;
        let range = secret_of(&captures, start);
        let candidate = Candidate { text, start, range: range.clone() };
        validator(&candidate).then_some(range)
    }

    /// Orders what was found, joins what overlaps, and names it; the more specific name wins.
    fn apart(&self, mut found: Vec<Match>) -> Vec<(usize, usize, &str)> {
        found.sort_by_key(|found| (found.range.start, found.rule));
        let mut apart: Vec<(usize, usize, &str)> = Vec::new();
        for Match { rule, range } in found {
            match apart.last_mut() {
                Some((_, end, _)) if range.start < *end => *end = range.end.max(*end),
                _ => apart.push((range.start, range.end, self.name(rule))),
            }
        }
        apart
    }

    fn name(&self, rule: usize) -> &str {
        match rule {
            PRIVATE => "private",
            ENTROPY => "high-entropy",
            _ if rule < RULES.len() => RULES[rule].name,
            _ => &self.custom[rule - RULES.len()].0,
        }
    }
}

fn replaced(text: &str, found: &[(usize, usize, &str)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for &(from, to, rule) in found {
        replaced.push_str(&text[end..from]);
        replaced.push_str(MARKER);
        replaced.push_str(rule);
        replaced.push(']');
        end = to;
    }
    replaced.push_str(&text[end..]);
    replaced
}

/// How far from its anchor a secret is looked for, in bytes.
const LINE: usize = 4096;
const MARKER: &str = "[redacted:";
const PRIVATE_OPEN: &str = "<private>";
const PRIVATE_CLOSE: &str = "</private>";
/// Stands for the rule of `<private>` spans, before all others.
const PRIVATE: usize = usize::MAX;
/// Stands for the rule of random-looking runs, after all others.
const ENTROPY: usize = usize::MAX - 1;
/// Stands for what is redacted already.
const MARKED: usize = usize::MAX - 2;

struct Match {
    rule: usize,
    range: Range<usize>,
}

/// Returns the place of the first group that took part, or of the whole match.
fn secret_of(captures: &regex::Captures, offset: usize) -> Range<usize> {
    let group = captures.iter().skip(1).flatten().next();
    let secret = group.or(captures.get(0)).map_or(0..0, |found| found.range());
    secret.start + offset..secret.end + offset
}

/// Returns where a private span ends, at its closing tag or with the text; none for a tag that is
/// only mentioned, in backticks.
fn private_end(text: &str, start: usize) -> Option<usize> {
    let inside = &text[start + PRIVATE_OPEN.len()..];
    if text[..start].ends_with('`') && inside.starts_with('`') {
        return None;
    }
    let is_close = |&(at, _): &(usize, &str)| {
        let tag = inside.as_bytes().get(at..at + PRIVATE_CLOSE.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(PRIVATE_CLOSE.as_bytes()))
    };
    let close = inside.match_indices("</").find(is_close);
    Some(close.map_or(text.len(), |(at, _)| start + PRIVATE_OPEN.len() + at + PRIVATE_CLOSE.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn check(input: &str, expected: &str) {
        let redactor = Redactor::new();
        assert_eq!(redactor.redact(input), expected, "redacting {input:?}");
        assert_eq!(redactor.redact(expected), expected, "redacting twice {input:?}");
    }

    pub(super) fn untouched(input: &str) {
        let redactor = Redactor::new();
        let found = redactor.find(input);
        assert!(found.is_empty(), "{input:?}: {found:?}");
        assert!(matches!(redactor.redact(input), Cow::Borrowed(_)));
    }

    /// A value that looks random, without standing in this file as one.
    pub(super) fn random() -> String {
        ["x7Kq2Wm9Zr4T", "n8Yc1Vd5Lp3Bs6Hf"].concat()
    }

    #[test]
    fn private_spans() {
        check("a <private>b</private> c", "a [redacted:private] c");
        check("a <PRIVATE>b\nc</Private> d", "a [redacted:private] d");
        check("a <private>b c", "a [redacted:private]");
        check("<private>a</private><private>b</private>", "[redacted:private][redacted:private]");
        check("<private>password = 'hunter2'</private>", "[redacted:private]");
        untouched("put it in a `<private>` span");
    }

    #[test]
    fn custom_rules() {
        let rule = |name: &str, pattern: &str| (name.to_string(), pattern.to_string());
        let redactor =
            Redactor::with_rules(&[rule("ticket", r"ACME-(\d+)"), rule("word", "[a-z]+")]);
        let redactor = redactor.expect("both are valid");
        assert_eq!(redactor.redact("ACME-12"), "ACME-[redacted:ticket]");
        let once = redactor.redact("ACME-12 and more").into_owned();
        assert_eq!(redactor.redact(&once), once);
        let error = Redactor::with_rules(&[rule("broken", "(")]).err();
        assert!(error.is_some_and(|error| error.contains("`broken`")));
        assert!(Redactor::with_rules(&[rule("a]b", "x")]).is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        #[test]
        fn redacting_twice_changes_nothing(parts in proptest::collection::vec(0..60usize, 0..8), noise in "\\PC{0,12}") {
            const PIECES: &[&str] = &[
                "password", "=", ": ", "\"", "'", "\\\"", " ", "\n", "token", "secret", "://u:", "@host", "hunter2",
                "Bearer ", "Authorization: ", "<private>", "</private>", "[redacted:x]", "[redacted:", "]", "KEY=",
            ];
            let text: String = parts
                .iter()
                .map(|&part| match PIECES.get(part) {
                    Some(piece) => piece.to_string(),
                    None if part == 59 => noise.clone(),
                    None => RULES[part * 2 % RULES.len()].example.concat(),
                })
                .collect();
            let redactor = Redactor::new();
            let once = redactor.redact(&text).into_owned();
            assert_eq!(redactor.redact(&once), once, "from {text:?}");
        }
    }
}
