//! Text is whatever people, agents and tools wrote, in any script.
//!
//! Here are the words of a text, cut the same way for the index and for a query, and the small
//! services built on them: slugs, excerpts, sentences, token estimates and text that is safe to
//! print.

mod diff;
mod excerpts;
mod fingerprints;
mod injection;
mod merge;
mod nearest;
mod scripts;
mod sentences;
mod words;

use std::borrow::Cow;

pub use diff::diff;
pub use excerpts::excerpt;
pub use fingerprints::{each_fingerprint, each_run};
pub use injection::{
    is_injection, is_order, is_standing_order, speaks_for_person, without_sentences,
    without_speaker_marks,
};
pub use merge::{merge3, union};
pub use nearest::nearest;
pub use sentences::{clause, first_sentence, phrase, sentences, wants_another, whole_clause};
pub use words::{Word, each_word, words};

use scripts::{Script, char_at, fold_into, script};

/// Returns a lower-case, hyphenated name of at most `max` bytes that is safe as part of a file
/// name.
pub fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    let mut gap = false;
    for character in text.chars() {
        if script(character) == Script::None {
            // An apostrophe joins, so that `don't` stays one word.
            gap |= !matches!(character, '\'' | '’');
            continue;
        }
        if gap && !slug.is_empty() {
            slug.push('-');
        }
        gap = false;
        fold_into(character, &mut slug);
        if slug.len() > max {
            break;
        }
    }
    if slug.len() > max {
        let short = cut(&slug, max);
        let short = match short.rfind('-') {
            // Half a word is worse than one word less, unless little would remain.
            Some(hyphen) if hyphen * 2 >= max && !slug[short.len()..].starts_with('-') => {
                &short[..hyphen]
            }
            _ => short,
        };
        slug.truncate(short.len());
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        return cut("untitled", max.max(1)).to_string();
    }
    if RESERVED_NAMES.contains(&slug) {
        return format!("{slug}_");
    }
    slug.to_string()
}

/// Names that Windows keeps for devices.
const RESERVED_NAMES: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Returns a text on one line of at most `max_chars` characters, cut at a word boundary with `…`.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for character in text.chars() {
        if character.is_whitespace() {
            gap = count > 0;
            continue;
        }
        if is_hidden(character) {
            continue;
        }
        count += 1 + usize::from(gap);
        if count > max_chars {
            return shortened(&line, max_chars, gap);
        }
        if gap {
            line.push(' ');
            gap = false;
        }
        line.push(character);
    }
    line
}

/// Returns a list with how many more there are: `a, b and 3 more`.
pub fn and_more(list: &str, more: usize) -> String {
    if more > 0 { format!("{list} and {more} more") } else { list.to_string() }
}

/// Returns a count with its noun: `1 session`, `2 sessions`.
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Returns a text that begins with a capital, unless its first word is a name of code.
pub fn capitalized(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_name = first.contains(['_', '.', '/', '(', '`', '@'])
        || first.chars().skip(1).any(char::is_uppercase);
    let mut letters = text.chars();
    match letters.next() {
        Some(letter) if !is_name => letter.to_uppercase().chain(letters).collect(),
        _ => text.to_string(),
    }
}

/// Returns the last name of a path, however its parts are separated.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Shortens a full line so that `…` fits, at a space unless that would cost more than half.
fn shortened(line: &str, max_chars: usize, at_word_end: bool) -> String {
    if max_chars == 0 {
        return String::new();
    }
    let fits = line.chars().count() < max_chars;
    let mut end = match fits {
        true => line.len(),
        false => back(line, line.len(), 1),
    };
    let at_word_end = at_word_end && fits || line[end..].starts_with(' ');
    if !at_word_end {
        match line[..end].rfind(' ') {
            Some(space) if space * 2 >= end => end = space,
            // No space near: keep at least a sign together with its letter.
            _ => {
                while end > 0 && script(char_at(line, end)) == Script::Mark {
                    end = back(line, end, 1);
                }
            }
        }
    }
    let kept = line[..end].trim_end_matches([' ', ',', ';', ':', '(', '…']);
    format!("{kept}…")
}

/// Returns the byte place `chars` characters before `at`.
fn back(text: &str, at: usize, chars: usize) -> usize {
    match chars {
        0 => at,
        _ => {
            let mut indices = text[..at].char_indices().rev();
            indices.nth(chars - 1).map_or(0, |(index, _)| index)
        }
    }
}

/// Estimates how many tokens a language model would count.
///
/// Each character adds to the sum: a Latin letter or the first of some spaces 0.26, a digit 0.45,
/// other ASCII 0.6, a letter of two bytes (Cyrillic, accents) 0.5, one of three (Chinese, Thai) 1,
/// an emoji 2. English prose comes to about 3.7 characters a token, code to about 3.2.
pub fn tokens(text: &str) -> usize {
    let mut hundredths = 0usize;
    let mut before = 0;
    for &byte in text.as_bytes() {
        let again = byte == b' ' && before == b' ';
        hundredths += usize::from(TOKEN_WEIGHTS[byte as usize]) * usize::from(!again);
        before = byte;
    }
    hundredths.div_ceil(100)
}

static TOKEN_WEIGHTS: [u8; 256] = token_weights();

const fn token_weights() -> [u8; 256] {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        weights[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b' ' => 26,
            b'0'..=b'9' => 45,
            0..=0x7f => 60,
            // The rest of a character whose first byte has counted.
            0x80..=0xbf => 0,
            0xc0..=0xdf => 50,
            0xe0..=0xef => 100,
            0xf0.. => 200,
        };
        byte += 1;
    }
    weights
}

/// Returns a text that a terminal shows as it is: control characters, overrides of the writing
/// direction and invisible characters are spelled out, such as `␛` or `\u{9b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unprintable) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    for character in text[first..].chars() {
        if !is_unprintable(character) {
            shown.push(character);
            continue;
        }
        let picture = match character {
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(character)),
            '\x7f' => Some('␡'),
            _ => None,
        };
        match picture {
            Some(picture) => shown.push(picture),
            None => shown.extend(character.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// The same for a terminal, where also the marks are shown that pages keep for scripts which need
/// them: U+200E, U+200F, U+061C and what else is invisible.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    let is_mark = |character: char| !character.is_ascii() && is_invisible(character);
    if !text.contains(is_mark) {
        return printable(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        // A joiner between two letters or emoji is a part of them.
        let joins = matches!(character, '\u{200c}' | '\u{200d}')
            && before.is_some_and(|before: char| !before.is_ascii() && !is_invisible(before))
            && characters.peek().is_some_and(|next| !next.is_ascii() && !is_invisible(*next));
        match is_mark(character) && !joins {
            true => shown.extend(character.escape_unicode()),
            false => shown.push(character),
        }
        before = Some(character);
    }
    printable(&shown).into_owned().into()
}

/// Whether a character takes no space and may order or hide its neighbours.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_unprintable(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        _ => is_hidden(character),
    }
}

/// Whether a character is a control character or hides or reorders text, tags included.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'
                | '\u{feff}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the beginning of a text in at most `max_bytes` bytes, cut between two characters.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        fn check(input: &str, max: usize, expected: &str) {
            assert_eq!(slug(input, max), expected, "slug of {input:?}");
        }
        let long = "Make appends to the day log safe!";
        check(long, 80, "make-appends-to-the-day-log-safe");
        check(long, 20, "make-appends-to-the");
        check("Make appends", 6, "make");
        check("  Don't / panic: Café ", 80, "dont-panic-cafe");
        check("../../etc/passwd", 80, "etc-passwd");
        check("日本語のメモ", 80, "日本語のメモ");
        check("日本語のメモ", 7, "日本");
        check("📦!?", 80, "untitled");
        check("", 80, "untitled");
        check("CON", 80, "con_");
        check("Antidisestablishmentarianism", 8, "antidise");
    }

    #[test]
    fn lines() {
        fn check(input: &str, max: usize, expected: &str) {
            assert_eq!(one_line(input, max), expected, "line of {input:?}");
            assert!(one_line(input, max).chars().count() <= max);
        }
        check("  a\n\tb \u{1b}[31mc\u{202e} ", 80, "a b [31mc");
        check("one two three", 13, "one two three");
        check("one two three", 12, "one two…");
        check("one two, three", 10, "one two…");
        check("one two three", 8, "one two…");
        check("onetwothree", 5, "onet…");
        check("日本語のメモ", 4, "日本語…");
        check("abc", 1, "…");
        check("abc", 0, "");
        check("", 5, "");
    }

    #[test]
    fn token_estimates() {
        fn check(input: &str, low: usize, high: usize) {
            let estimate = tokens(input);
            assert!((low..=high).contains(&estimate), "{estimate} for {input:?}");
        }
        check("", 0, 0);
        check("a", 1, 1);
        check("The quick brown fox jumps over the lazy dog.", 9, 13);
        check("日本語のメモ", 6, 6);
        check("fn main() { let x: u32 = 41 + 1; }", 11, 17);
        check(&" ".repeat(80), 1, 1);
    }

    #[test]
    fn printing() {
        fn check(input: &str, expected: &str) {
            assert_eq!(printable(input), expected);
        }
        check("a\tb\n日本 é", "a\tb\n日本 é");
        check("\u{1b}[31m\0\r\u{7f}", "␛[31m␀␍␡");
        check("x\u{9b}y\u{202e}z", "x\\u{9b}y\\u{202e}z");
        check("\u{200b}\u{feff}", "\\u{200b}\\u{feff}");
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
        assert_eq!(printable("a\u{200f}b\u{61c}"), "a\u{200f}b\u{61c}");
        assert_eq!(for_terminal("a\u{200f}b\u{61c}\u{1b}"), "a\\u{200f}b\\u{61c}␛");
        assert_eq!(for_terminal("\u{2060}x\u{ad}\u{e0041}"), "\\u{2060}x\\u{ad}\\u{e0041}");
        assert_eq!(for_terminal("👩\u{200d}🚀 می\u{200c}خواهم"), "👩\u{200d}🚀 می\u{200c}خواهم");
        assert_eq!(for_terminal("a\u{200d}b"), "a\\u{200d}b");
        assert!(matches!(for_terminal("plain é"), Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("é", 0), "");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        #[test]
        fn any_text_has_words_in_its_range(text in "[\\PC\\n'’_./:-]{0,80}") {
            let mut position = 0;
            each_word(&text, |word| {
                assert!(word.start < word.end && text.get(word.start..word.end).is_some());
                assert!(word.position >= position);
                position = word.position;
            });
            for max in [0, 1, 7, 40] {
                assert!(one_line(&text, max).chars().count() <= max);
                assert!(excerpt(&text, &["a".to_string()], max).chars().count() <= max);
            }
            assert!(!slug(&text, 20).is_empty());
            assert_eq!(printable(&printable(&text)), printable(&text));
            sentences(&text).for_each(drop);
        }
    }
}
