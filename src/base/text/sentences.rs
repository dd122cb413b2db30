//! A sentence is what stands between two full stops, or in a heading or a list item of its own.
//!
//! Here sentences are found in any script, with Markdown around them and abbreviations within.

use super::{cut, one_line};

/// Returns the first sentence on one line of at most `max_chars` characters.
pub fn first_sentence(text: &str, max_chars: usize) -> String {
    one_line(sentences(text).next().unwrap_or(text), max_chars)
}

/// Returns the sentences of a text, without the Markdown markers before them.
///
/// A sentence ends at the full stop of its script, at an empty line, and where a heading or a list
/// item begins or ends; not at `e.g.`, `v2.1` or `file.rs`.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (begun, heading) = without_markers(rest);
            if begun.is_empty() {
                return None;
            }
            let end = sentence_end(begun, heading);
            rest = &begun[end..];
            let sentence = begun[..end].trim();
            // A rule, a fence or a lone bracket says nothing.
            let says_something =
                sentence.chars().any(|c| !c.is_ascii_punctuation() && !c.is_whitespace());
            if says_something && !sentence.starts_with("```") {
                return Some(sentence);
            }
        }
    })
}

/// Returns the beginning of a text on one line of at most `max_chars` characters, which ends where
/// a clause does: not within code or brackets, and not on a word that wants another (`to the`).
/// Only where there is no such place it is cut between two words, with `…`.
pub fn clause(text: &str, max_chars: usize) -> String {
    let line = one_line(text, usize::MAX);
    let Some((end, _)) = line.char_indices().nth(max_chars) else { return line };
    let head = &line[..end];
    let ends = ["; ", ". ", "。", "；", " — ", " – ", ": ", ", ", "，", " ("];
    let places = ends.iter().flat_map(|mark| head.match_indices(mark));
    let whole = |at: usize| {
        let head = &head[..at];
        head.matches('`').count().is_multiple_of(2)
            && head.matches('(').count() <= head.matches(')').count()
            && head.matches('"').count().is_multiple_of(2)
            && !wants_another(head)
    };
    // `name: value` is one thing.
    let is_value = |at: usize, mark: &str| {
        let word = head[..at].rsplit(' ').next().unwrap_or_default();
        mark == ": " && word.contains(['_', '.', '/', '`', '('])
    };
    let at = places
        .filter(|(at, mark)| !is_value(*at, mark))
        .map(|(at, _)| at)
        .filter(|at| head[..*at].chars().count() * 2 > max_chars && whole(*at))
        .max();
    match at {
        Some(at) => head[..at].trim_end_matches([',', ';', ':', ' ']).to_string(),
        None => without_loose_end(&one_line(&line, max_chars)),
    }
}

/// Returns the beginning of a text on one line of at most `max_chars` characters that ends where a
/// clause does; `None` where there is no such place.
pub fn whole_clause(text: &str, max_chars: usize) -> Option<String> {
    let text = text.trim().trim_end_matches(['.', '!', ':', ';', ' ']);
    Some(clause(text, max_chars)).filter(|clause| !clause.is_empty() && !clause.contains('…'))
}

/// Returns the beginning of a text on one line of at most `max_chars` characters that ends where a
/// clause does, or else before a word that begins a phrase (`to`, `because`); it is cut with `…`
/// only where there is no such place either.
pub fn phrase(text: &str, max_chars: usize) -> String {
    const BEGINS: &[&str] = &[
        "to", "for", "in", "on", "with", "and", "but", "so", "that", "which", "from", "because",
        "when", "where", "if", "as", "by", "at", "into", "or", "since", "while", "of",
    ];
    let cut = clause(text, max_chars);
    if !cut.trim_end_matches('`').ends_with('…') {
        return cut;
    }
    let head = cut.trim_end_matches(['…', '`', ' ']);
    let mut begins = head.match_indices(' ').map(|(at, _)| at).filter(|at| {
        let next = head[at + 1..].split(' ').next().unwrap_or_default();
        let is_closed = |mark| head[..*at].matches(mark).count().is_multiple_of(2);
        BEGINS.contains(&next.to_lowercase().as_str())
            && at * 2 > head.len()
            && !wants_another(&head[..*at])
            && is_closed('`')
            && is_closed('"')
    });
    begins
        .next_back()
        .map_or(cut.clone(), |at| head[..at].trim_end_matches([',', ':', ' ']).to_string())
}

/// Whether a line ends on a word that wants another one: "the test verifies that".
pub fn wants_another(line: &str) -> bool {
    let last = line.rsplit(' ').next().unwrap_or_default();
    WANTING.contains(&last.to_lowercase().as_str())
}

/// Words that want another one behind them.
const WANTING: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "with", "at", "by", "from", "as",
    "is", "are", "was", "that", "which", "when", "into", "its", "not", "be", "so", "if", "we", "i",
    "this", "these", "how", "why", "what", "where", "then", "than", "via", "per",
];

/// Takes back what a cut left open: half a code span, and words that want another one.
fn without_loose_end(line: &str) -> String {
    let mut kept = line.trim_end_matches('…');
    for (mark, close) in [('`', '`'), ('(', ')'), ('"', '"')] {
        let open = kept.rfind(mark).filter(|_| {
            if mark == close {
                kept.matches(mark).count() % 2 == 1
            } else {
                kept.matches(mark).count() > kept.matches(close).count()
            }
        });
        if let Some(at) = open.filter(|at| *at * 2 > kept.len()) {
            kept = &kept[..at];
        }
    }
    kept = kept.trim_end();
    while let Some((before, _)) = kept.rsplit_once(' ').filter(|_| wants_another(kept)) {
        kept = before.trim_end();
    }
    let kept = kept.trim_end_matches([',', ';', ':', ' ', '-', '–', '—', '(']);
    // A code span that is longer than the rest is closed rather than lost.
    let tick = if kept.matches('`').count() % 2 == 1 { "`" } else { "" };
    format!("{kept}…{tick}")
}

/// Words before a full stop that does not end the sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "eg", "ie", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "fig", "approx", "z.b",
    "u.a", "d.h", "bzw", "ca", "resp", "p.ej", "incl",
];

/// Words that often end in a full stop of their own; a capital after them begins a new sentence.
const HALF_ABBREVIATIONS: &[&str] = &["etc", "al", "inc", "ltd", "st", "jr", "sr", "no", "usw"];

/// Returns the text behind the markers of headings, lists and quotes, and whether it is a heading.
fn without_markers(text: &str) -> (&str, bool) {
    let mut rest = text.trim_start();
    let mut heading = false;
    loop {
        let hashes = rest.trim_start_matches('#');
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_heading = hashes.len() < rest.len();
        let after = if is_heading {
            hashes
        } else if digits.len() < rest.len() && rest.len() - digits.len() <= 3 {
            digits.strip_prefix(['.', ')']).unwrap_or(rest)
        } else if rest.starts_with("[ ] ") || rest.starts_with("[x] ") {
            &rest[3..]
        } else {
            let markers = ['-', '*', '+', '•', '|', '>'];
            rest.strip_prefix(markers).unwrap_or(rest)
        };
        // A marker is followed by a space: `#12`, `-v`, `**bold**` and `3.5` are text.
        let marks = after.is_empty() || after.starts_with([' ', '\t', '\n']);
        if after.len() == rest.len() || !marks {
            return (rest, heading);
        }
        heading |= is_heading;
        rest = after.trim_start();
    }
}

fn sentence_end(text: &str, heading: bool) -> usize {
    let mut from = 0;
    for (at, character) in text.char_indices() {
        if at < from {
            continue;
        }
        let after = &text[at + character.len_utf8()..];
        match character {
            // What stands in code ends nothing.
            '`' => from = at + span_on_line(&text[at..]),
            '\n' if heading || text.starts_with("```") || begins_block(after) => return at,
            '。' | '！' | '？' | '｡' | '।' | '॥' | '؟' | '۔' | '။' | '។' | '።' => {
                return text.len() - after.trim_start_matches(is_closing).len();
            }
            '.' | '!' | '?' | '…' => {
                let behind = after.trim_start_matches(is_closing);
                let ends = behind.is_empty() || behind.starts_with(char::is_whitespace);
                let is_full_stop = || {
                    character != '.'
                        || !(abbreviates(&text[..at], behind) || is_stressed_digits(&text[..at]))
                };
                if ends && is_full_stop() {
                    return text.len() - behind.len();
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// How long the code span is that a text begins with, or its ticks where nothing on the line closes
/// them.
fn span_on_line(text: &str) -> usize {
    let ticks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let run = ticks(text);
    let line = text.lines().next().unwrap_or_default();
    let mut at = run;
    while let Some(found) = line[at..].find('`') {
        let closing = ticks(&line[at + found..]);
        at += found + closing;
        if closing == run {
            return at;
        }
    }
    run
}

fn is_closing(character: char) -> bool {
    "\"'`)]*_”’»」』）】.!?".contains(character)
}

/// Whether a line that follows a line break belongs to another paragraph, item or heading.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '\r']);
    line.is_empty()
        || line.starts_with(['\n', '>', '|'])
        || line.starts_with("```")
        || without_markers(cut(line, 64)).0.len() < cut(line, 64).len()
        || is_stressed_number(line)
}

/// Whether what stands before a full stop is the number of a point: `✅ **2`.
fn is_stressed_digits(before: &str) -> bool {
    let number = before.rsplit("**").next().unwrap_or_default();
    let lead = &before[..before.len() - number.len()];
    (1..=2).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !lead.is_empty()
        && !lead.contains(char::is_alphanumeric)
}

/// Whether a line begins with a number in bold, with or without a picture: `✅ **2. Locks**`.
fn is_stressed_number(line: &str) -> bool {
    let pictured = |c: char| !c.is_alphanumeric() && !c.is_ascii() && !is_closing(c);
    let Some(number) = line.trim_start_matches(pictured).trim_start().strip_prefix("**") else {
        return false;
    };
    let behind = number.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=2).contains(&(number.len() - behind.len())) && behind.starts_with(['.', ')'])
}

fn abbreviates(before: &str, after: &str) -> bool {
    let word_start = before.rfind(|c: char| c.is_whitespace() || "([\"'“".contains(c));
    let word = match word_start {
        Some(at) => before[at..].trim_start_matches(|c: char| !c.is_alphanumeric()),
        None => before,
    };
    let lower = word.to_lowercase();
    let capital_follows = after.trim_start().starts_with(char::is_uppercase);
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    ABBREVIATIONS.contains(&lower.as_str())
        || (HALF_ABBREVIATIONS.contains(&lower.as_str()) && !capital_follows && !after.is_empty())
        || (is_initial && word != "I")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        fn check(input: &str, expected: &[&str]) {
            let found: Vec<_> = sentences(input).collect();
            assert_eq!(found, expected, "sentences of {input:?}");
        }
        check("One. Two! Three?", &["One.", "Two!", "Three?"]);
        check("Use e.g. file.rs or v2.1 here. Done.", &["Use e.g. file.rs or v2.1 here.", "Done."]);
        check(
            "Cats, dogs, etc. Then more. Cats etc. are fine.",
            &["Cats, dogs, etc.", "Then more.", "Cats etc. are fine."],
        );
        check(
            "# Title\nText goes\non here.\n\n- item one\n- item two",
            &["Title", "Text goes\non here.", "item one", "item two"],
        );
        check("> quoted (yes!). \"Said so.\" End", &["quoted (yes!).", "\"Said so.\"", "End"]);
        check("1. First thing\n2. Second thing", &["First thing", "Second thing"]);
        check("これは猫です。元気ですか？はい", &["これは猫です。", "元気ですか？", "はい"]);
        check("यह है। वह है।", &["यह है।", "वह है।"]);
        check("สวัสดีครับ. ลาก่อน", &["สวัสดีครับ.", "ลาก่อน"]);
        check("---\n```rust\nlet x = 1;\n```", &["let x = 1;"]);
        check("By J. Smith. **Bold** start", &["By J. Smith.", "**Bold** start"]);
        check("#12 is fixed", &["#12 is fixed"]);
        check(
            "Send it (with no `! ` before) to me. Then `a. b` goes",
            &["Send it (with no `! ` before) to me.", "Then `a. b` goes"],
        );
        check("One ` tick. And one", &["One ` tick.", "And one"]);
        check(
            "**1. Lock** - taken first ✅\n**2. Header** - later\n🔒 **3. End** - freed",
            &["**1. Lock** - taken first ✅", "**2. Header** - later", "🔒 **3. End** - freed"],
        );
        check("", &[]);
        check("#", &[]);
        let first = first_sentence("- **Fix** the lock. Then rest.", 80);
        assert_eq!(first, "**Fix** the lock.");
        assert_eq!(first_sentence("## A very long heading here", 12), "A very long…");
        assert_eq!(first_sentence("", 12), "");
    }

    #[test]
    fn a_text_is_cut_where_a_clause_ends() {
        for (text, most, expected) in [
            ("Short enough.", 40, "Short enough."),
            ("Take the lock first; then write the header", 30, "Take the lock first"),
            ("Write the header of the file and go on to the", 34, "Write the header of the file…"),
            ("Use `lock_the_day_log(header, x)` here", 30, "Use `lock_the_day_log…`"),
            (
                "Take the lock before the header (see `day.rs`)",
                40,
                "Take the lock before the header",
            ),
            (
                "Say what it means that tide_lock_policy: wait goes",
                42,
                "Say what it means that tide_lock_policy…",
            ),
            ("把日志的写入改为先取锁，然后写标题，再附加内容", 16, "把日志的写入改为先取锁"),
        ] {
            assert_eq!(clause(text, most), expected);
        }
    }

    #[test]
    fn a_label_ends_where_a_clause_or_a_phrase_does() {
        let said = "paint the boats of the pilot because of the tide";
        assert_eq!(whole_clause("lock it first.", 20).as_deref(), Some("lock it first"));
        assert_eq!(whole_clause("lock the log; then paint", 16).as_deref(), Some("lock the log"));
        assert_eq!(whole_clause(said, 40), None);
        assert_eq!(phrase(said, 40), "paint the boats of the pilot");
        assert_eq!(phrase("short", 40), "short");
        assert!(phrase("onelongwordafteranother without-an-end-of-its-own", 30).ends_with('…'));
    }
}
