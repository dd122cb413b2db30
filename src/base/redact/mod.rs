//! To redact is to replace a secret by the name of the rule that found it, such as
//! `[redacted:npm-token]`.
//!
//! [`RULES`] is the table of secrets: name, pattern, example; [`READERS`] has those that take more
//! than a pattern, such as command lines and sentences. One pass over the text looks for the
//! literal anchors of them all at once, and only where an anchor stands is its pattern tried; a
//! second pass looks at long runs of letters and digits, for secrets that nothing announces but the
//! words before them, and a third at long numbers. Text that is put together or encoded is looked
//! at once more as it would be read.

mod anchors;
mod command_lines;
mod entropy;
mod numbers;
mod phrases;
mod placeholders;
mod readers;
mod rules;
mod shape;
mod spoken;
mod validators;
mod views;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::text::cut;

pub use readers::READERS;
pub use rules::RULES;

use anchors::Anchors;
use entropy::{LONGEST_RUN, each_long_run, is_announced, looks_random, run_start};
use numbers::each_card;
use rules::PRIVATE_KEY;
use validators::{Candidate, is_mixed};
use views::{View, base64_decoded, each_joined};

/// Finds secrets by the built-in rules and by a person's own.
pub struct Redactor {
    anchors: Anchors,
    /// The patterns, made when first needed: most programs meet few kinds of secrets.
    patterns: Vec<OnceLock<Regex>>,
    /// The rules that are tried at each long run.
    unanchored: Vec<usize>,
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
        for (index, reader) in READERS.iter().enumerate() {
            for anchor in reader.anchors {
                anchors.add(anchor, RULES.len() + index);
            }
        }
        Self {
            anchors,
            patterns: RULES.iter().map(|_| OnceLock::new()).collect(),
            unanchored: (0..RULES.len()).filter(|rule| RULES[*rule].anchors.is_empty()).collect(),
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
        self.redact_counted(text, &mut 0)
    }

    /// The same; adds to `count` how many there were.
    pub fn redact_counted<'t>(&self, text: &'t str, count: &mut u64) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        // What stood glued to a secret can be seen once that is gone; so it is looked for until
        // none is left, and to redact twice changes nothing. A person's pattern may never have
        // enough.
        for _ in 0..8 {
            let found = self.find(&clean);
            if found.is_empty() {
                break;
            }
            *count += found.len() as u64;
            clean = Cow::Owned(replaced(&clean, &found));
        }
        clean
    }

    /// A name for the rules: where it differs, pages that were written with other rules may hold
    /// what is a secret by these.
    pub fn version(&self) -> String {
        let mut all = String::new();
        for rule in RULES {
            all.push_str(rule.name);
            all.push_str(rule.pattern);
            rule.anchors.iter().for_each(|anchor| all.push_str(anchor));
        }
        for reader in READERS {
            all.push_str(reader.name);
            reader.anchors.iter().for_each(|anchor| all.push_str(anchor));
        }
        for (name, regex) in &self.custom {
            all.push_str(name);
            all.push_str(regex.as_str());
        }
        // What is decided by code rather than by the tables.
        format!("{CODE_VERSION}-{:016x}", fingerprint(all.as_bytes()))
    }

    /// Returns where each secret begins and ends, and the name of its rule, in order and apart.
    pub fn find(&self, text: &str) -> Vec<(usize, usize, &str)> {
        let mut found: Vec<Match> = Vec::new();
        let mut markers: Vec<Range<usize>> = Vec::new();
        self.find_anchored(text, &mut found, &mut markers);
        each_long_run(text, |run| self.look_at_run(text, run, &mut found));
        each_card(text, |range| found.push(Match { rule: CARD, range }));
        each_joined(text, |view| self.look_at_view(view, &mut found));
        for (index, (_, regex)) in self.custom.iter().enumerate() {
            for captures in regex.captures_iter(text) {
                let rule = RULES.len() + READERS.len() + index;
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

    /// Returns the random-looking runs that nothing announces: ids and hashes mostly, and perhaps a
    /// secret.
    pub fn doubtful(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.find(text);
        let mut doubtful = Vec::new();
        each_long_run(text, |run| {
            let known = found.iter().any(|(start, end, _)| *start < run.end && run.start < *end);
            if !known && run.len() >= 32 && looks_random(&text[run.clone()]) {
                doubtful.push(run);
            }
        });
        doubtful
    }

    fn find_anchored(&self, text: &str, found: &mut Vec<Match>, markers: &mut Vec<Range<usize>>) {
        let mut skip_to = 0;
        self.anchors.each(text, |start, rule| {
            if start < skip_to {
                return;
            }
            if let Some(reader) = rule.checked_sub(RULES.len()).and_then(|at| READERS.get(at)) {
                (reader.read)(text, start, &mut |range| found.push(Match { rule, range }));
                return;
            }
            let range = match rule {
                PRIVATE => private_end(text, start).map(|end| start..end),
                MARKED => {
                    let length = cut(&text[start..], 128).find(']');
                    markers.extend(length.map(|length| start..start + length + 1));
                    None
                }
                _ => {
                    let plain = self.try_rule(text, rule, start);
                    let marked = self.try_marked(text, rule, start);
                    let longer = [plain, marked].into_iter().flatten().max_by_key(|at| at.end);
                    longer.or_else(|| self.try_cut(text, rule, start))
                }
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
            for &rule in &self.unanchored {
                if let Some(range) = self.try_rule(text, rule, start) {
                    found.push(Match { rule, range });
                    return;
                }
            }
        }
        let padding = text[run.end..].bytes().take_while(|&byte| byte == b'=').count();
        let range = run.start..run.end + padding;
        if looks_random(&text[run.clone()]) && is_announced(text, &run) {
            found.push(Match { rule: ENTROPY, range });
        } else if self.is_encoded(&text[run.clone()]) {
            found.push(Match { rule: ENCODED, range });
        } else if run.len() <= LONGEST_RUN && text[run.clone()].contains('/') {
            // In a path one part may be it.
            let mut at = run.start;
            for part in text[run].split('/') {
                if part.len() >= 24 && self.is_encoded(part) {
                    found.push(Match { rule: ENCODED, range: at..at + part.len() });
                }
                at += part.len() + 1;
            }
        }
    }

    /// Whether a run is a secret in Base64.
    fn is_encoded(&self, run: &str) -> bool {
        base64_decoded(run).is_some_and(|inner| self.has_token(&inner))
    }

    /// Looks at strings as they are put together.
    fn look_at_view(&self, view: &View, found: &mut Vec<Match>) {
        let mut inner = Vec::new();
        self.find_anchored(&view.text, &mut inner, &mut Vec::new());
        each_long_run(&view.text, |run| {
            // Only what its own beginning gives away: the words before it may be another string's.
            for &rule in &self.unanchored {
                if let Some(range) = self.try_rule(&view.text, rule, run.start) {
                    inner.push(Match { rule, range });
                }
            }
        });
        let mapped = |one: Match| Some(Match { rule: one.rule, range: view.mapped(&one.range)? });
        found.extend(inner.into_iter().filter_map(mapped));
    }

    /// Whether one of the rules finds a secret in a text that was decoded.
    fn has_token(&self, text: &str) -> bool {
        let mut found = false;
        self.anchors.each(text, |start, rule| {
            found = found || rule < RULES.len() && self.try_rule(text, rule, start).is_some();
        });
        found
    }

    /// Tries a rule at lines of a diff or a quotation, without their marks.
    fn try_marked(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        let views::Marked { view, start } = views::unmarked(text, start, longest(rule))?;
        view.placed(&self.try_rule(&view.text, rule, start)?)
    }

    /// Tries a rule at a token that a line's end or quotes have cut in two.
    fn try_cut(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        if !RULES[rule].can_be_cut() {
            return None;
        }
        let view = views::uncut(text, start)?;
        let range = self.match_rule(&view.text, rule, 0)?;
        let candidate = Candidate { text, start, range: start..start };
        let mapped = view.mapped(&range)?;
        (is_mixed(&view.text[range]) && validators::token(&candidate)).then_some(mapped)
    }

    fn try_rule(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        let range = self.match_rule(text, rule, start)?;
        let candidate = Candidate { text, start, range: range.clone() };
        if !(RULES[rule].validator)(&candidate) {
            return None;
        }
        // Of a key in Base64 the anchor stands within.
        let begins =
            if RULES[rule].is_whole_run() { run_start(text, range.start) } else { range.start };
        Some(begins..range.end)
    }

    fn match_rule(&self, text: &str, rule: usize, start: usize) -> Option<Range<usize>> {
        let pattern = RULES[rule].pattern;
        let regex = self.patterns[rule].get_or_init(|| {
            Regex::new(&format!(r"\A(?:{pattern})"))
                .expect("a test makes every pattern of the table")
        });
        let longest = longest(rule);
        // A short piece is enough mostly, and costs less; most places fail at the first bytes.
        let is_long = RULES[rule].is_long();
        let mut window = cut(&text[start..], if is_long { longest } else { SHORT });
        let end = regex.find(window)?.end();
        if !is_long && end + 1 >= window.len() {
            // It may go on.
            window = cut(&text[start..], longest);
        }
        let captures = regex.captures(window)?;
        Some(secret_of(&captures, start))
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
            ENCODED => "encoded-secret",
            CARD => "card-number",
            _ if rule < RULES.len() => RULES[rule].name,
            _ if rule < RULES.len() + READERS.len() => READERS[rule - RULES.len()].name,
            _ => &self.custom[rule - RULES.len() - READERS.len()].0,
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

/// Is raised where validators or readers find something that they did not find before.
const CODE_VERSION: u32 = 4;

/// A hash that is the same everywhere.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// How far from its anchor a rule looks, in bytes.
fn longest(rule: usize) -> usize {
    if rule == PRIVATE_KEY { 16 * LINE } else { LINE }
}

/// How far from its anchor a secret is looked for at first, in bytes.
const SHORT: usize = 384;
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
/// Stands for the rule of secrets in Base64.
const ENCODED: usize = usize::MAX - 3;
/// Stands for the rule of card numbers.
const CARD: usize = usize::MAX - 4;

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

    #[test]
    fn a_secret_in_lines_of_a_diff_or_a_quotation_is_found() {
        let redactor = Redactor::new();
        let secret = ["Blau7", "Walkran"].concat();
        for mark in ["+ ", "  + ", "- ", "> ", "| "] {
            let text = format!("{mark}- name: DB_PASSWORD\n{mark}  value: {secret}\n{mark}end\n");
            let clean = redactor.redact(&text);
            assert!(!clean.contains(&secret), "{clean}");
            assert!(clean.contains("DB_PASSWORD") && clean.ends_with(&format!("{mark}end\n")));
        }
    }
}
