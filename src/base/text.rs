//! Text is whatever people, agents and tools wrote, in any script.
//!
//! Here are the words of a text, cut the same way for the index and for a query, and the small
//! services built on them: slugs, excerpts, sentences, token estimates and text that is safe to print.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

/// The longest word in bytes; long enough for a SHA-256 in hexadecimal.
pub const LONGEST_WORD: usize = 64;

/// One word of a text, as the index keeps it and as a query asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'t> {
    /// The word in lower case, with Latin accents folded away.
    pub text: Cow<'t, str>,
    /// Where it begins in the original, in bytes.
    pub start: usize,
    /// Where it ends in the original, in bytes.
    pub end: usize,
    /// Its place among the words; an identifier shares the place of its first part.
    pub position: usize,
    /// Tells a word that a person would type from a part of an identifier and from a character pair.
    pub whole: bool,
}

/// Calls `each` with every word of a text, in order of position.
///
/// - An identifier or path is given whole and in parts: `src/HashMap.rs` also as `hashmap.rs`,
///   `hashmap`, `src`, `hash`, `map` and `rs`. Characters around it (`--dry-run`, `#12`, `.git`) fall away.
/// - `don't` is `dont`, `user's` is `user`, `l'index` is `l` and `index`; `Café` is `cafe`.
/// - Chinese and Japanese come as words of the dictionary and as character pairs, Korean as written and
///   as syllable pairs, so that any stretch is found however the dictionary cut it. A query should
///   therefore rank by its words rather than require each of them.
pub fn each_word<'t>(text: &'t str, each: impl FnMut(Word<'t>)) {
    let bytes = text.as_bytes();
    let mut words = Words { text, position: 0, each };
    let mut at = 0;
    while at < bytes.len() {
        let class = class(bytes[at]);
        if class & ALPHANUMERIC != 0 {
            at = words.chunk(at);
        } else if class != WIDE {
            at += 1;
        } else {
            let first = char_at(text, at);
            at = match script(first) {
                Script::None | Script::Mark => at + first.len_utf8(),
                Script::Spaced => words.chunk(at),
                Script::Hangul => words.hangul(at),
                Script::Ideographic => words.ideographic(at),
                Script::Unspaced => words.unspaced(at),
            };
        }
    }
}

/// Returns the words of a text as [`each_word`] gives them.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, |word| words.push(word.text.into_owned()));
    words
}

/// Returns a lower-case, hyphenated name of at most `max` bytes that is safe as part of a file name.
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
            Some(hyphen) if hyphen * 2 >= max && !slug[short.len()..].starts_with('-') => &short[..hyphen],
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

/// Returns the stretch of a text with the densest cluster of the terms, on one line of at most
/// `max_chars` characters, with `…` where it was cut.
pub fn excerpt(text: &str, terms: &[String], max_chars: usize) -> String {
    let Some((from, to)) = densest(text, terms, max_chars) else {
        return one_line(text, max_chars);
    };
    let found = text[from..to].chars().count();
    let spare = max_chars.saturating_sub(found + 2);
    // What follows a hit usually explains it better than what comes before.
    let mut start = back(text, from, spare / 3);
    if start > 0
        && let Some(space) = text[start..from].find(char::is_whitespace)
    {
        start += space;
    }
    if max_chars == 0 || text[..start].trim().is_empty() {
        return one_line(&text[start..], max_chars);
    }
    format!("…{}", one_line(&text[start..], max_chars - 1))
}

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
            let says_something = sentence.chars().any(|c| !c.is_ascii_punctuation() && !c.is_whitespace());
            if says_something && !sentence.starts_with("```") {
                return Some(sentence);
            }
        }
    })
}

/// Estimates how many tokens a language model would count.
///
/// Each character adds to the sum: a Latin letter or the first of some spaces 0.26, a digit 0.45, other
/// ASCII 0.6, a letter of two bytes (Cyrillic, accents) 0.5, one of three (Chinese, Thai) 1, an emoji 2.
/// English prose comes to about 3.7 characters a token, code to about 3.2.
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

/// Returns the known word that was probably meant, or none when all are too far away.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let mut best = None;
    for candidate in known {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        let limit = (word.len().max(letters.len()) / 3).max(1);
        let distance = edit_distance(&word, &letters);
        // A single letter is one edit away from every other.
        if distance > limit || distance >= letters.len() {
            continue;
        }
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
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

// --- Words ---

const LOWER: u16 = 1;
const UPPER: u16 = 2;
const DIGIT: u16 = 4;
const ALPHANUMERIC: u16 = LOWER | UPPER | DIGIT;
const SLASH: u16 = 8;
/// A dot, or a colon where it is doubled.
const DOT: u16 = 16;
const HYPHEN: u16 = 32;
const UNDERSCORE: u16 = 64;
const JOINER: u16 = SLASH | DOT | HYPHEN | UNDERSCORE;
const APOSTROPHE: u16 = 128;
/// A byte of a character outside ASCII.
const WIDE: u16 = 256;

static CLASSES: [u16; 256] = classes();

const fn classes() -> [u16; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'/' => SLASH,
            b'.' | b':' => DOT,
            b'-' => HYPHEN,
            b'_' => UNDERSCORE,
            b'\'' => APOSTROPHE,
            0x80.. => WIDE,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

fn class(byte: u8) -> u16 {
    CLASSES[byte as usize]
}

/// How a character takes part in words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Not at all: punctuation, symbols, spaces.
    None,
    /// As a sign on the character before it.
    Mark,
    /// As a letter of a script with spaces between words.
    Spaced,
    Hangul,
    /// Chinese characters and Japanese syllables, which stand without spaces.
    Ideographic,
    /// Thai, Lao, Burmese and Khmer, which also stand without spaces.
    Unspaced,
}

fn script(character: char) -> Script {
    match character {
        '\0'..='\x7f' if character.is_ascii_alphanumeric() => Script::Spaced,
        '\0'..='\x7f' => Script::None,
        // Dashes, quotes, arrows, boxes and emoji: frequent in logs, so decided early.
        '\u{200c}' | '\u{200d}' => Script::Mark,
        '\u{2000}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => Script::None,
        '\u{ac00}'..='\u{d7a3}' => Script::Hangul,
        '\u{3005}'
        | '\u{3007}'
        | '\u{3041}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{312f}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}' => Script::Ideographic,
        '\u{e3f}' | '\u{e4f}' | '\u{e5a}' | '\u{e5b}' | '\u{104a}' | '\u{104b}' => Script::None,
        '\u{17d4}'..='\u{17db}' => Script::None,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' => Script::Unspaced,
        _ if character.is_alphanumeric() => Script::Spaced,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{6d6}'..='\u{6ed}'
        | '\u{900}'..='\u{963}'
        | '\u{966}'..='\u{df3}'
        | '\u{f71}'..='\u{f84}'
        | '\u{fe20}'..='\u{fe2f}' => Script::Mark,
        _ => Script::None,
    }
}

/// How compounds come apart, from the outside in.
const LEVELS: [u16; 4] = [SLASH, DOT, HYPHEN, UNDERSCORE];

struct Words<'t, Each> {
    text: &'t str,
    position: usize,
    each: Each,
}

impl<'t, Each: FnMut(Word<'t>)> Words<'t, Each> {
    /// Gives the words of a run of letters, digits and joiners, and returns where it ends.
    #[inline]
    fn chunk(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut seen = 0;
        let mut end = start;
        let mut apostrophe = 0;
        while end < bytes.len() {
            let class = class(bytes[end]);
            if class & ALPHANUMERIC != 0 {
                seen |= class;
                end += 1;
            } else if class & JOINER != 0 {
                let Some((next, joiners)) = joined(self.text, end) else {
                    break;
                };
                seen |= joiners;
                end = next;
            } else if class == WIDE {
                let character = char_at(self.text, end);
                if !matches!(script(character), Script::Spaced | Script::Mark) {
                    apostrophe = if character == '’' { 3 } else { 0 };
                    break;
                }
                seen |= WIDE;
                end += character.len_utf8();
            } else {
                apostrophe = usize::from(class == APOSTROPHE);
                break;
            }
        }
        let tail = match apostrophe {
            0 => 0,
            _ => contraction(&bytes[end + apostrophe..]),
        };
        if tail == 0 {
            self.split(start, end, seen);
            return end;
        }
        let tail_start = end + apostrophe;
        let tail_end = tail_start + tail;
        let tail = &self.text[tail_start..tail_end];
        if tail.eq_ignore_ascii_case("s") || seen & (JOINER | DIGIT | WIDE) != 0 {
            self.split(start, end, seen);
        } else {
            let joined = [&self.text[start..end], tail].concat().to_ascii_lowercase();
            self.give(Cow::Owned(joined), start, tail_end, true);
            self.position += 1;
        }
        tail_end
    }

    #[inline]
    fn split(&mut self, start: usize, end: usize, seen: u16) {
        if seen & !(LOWER | DIGIT) == 0 && end - start <= LONGEST_WORD {
            self.give(Cow::Borrowed(&self.text[start..end]), start, end, true);
            self.position += 1;
        } else if seen & JOINER == 0 {
            self.identifier(start, end, seen, true);
        } else {
            self.levels(start, end, &LEVELS, seen, true);
        }
    }

    /// Gives a compound and its parts: a path's names, a name's segments, their words.
    fn levels(&mut self, start: usize, end: usize, levels: &[u16], seen: u16, whole: bool) {
        let bytes = self.text.as_bytes();
        let (mut start, mut end) = (start, end);
        while start < end && class(bytes[start]) & JOINER != 0 {
            start += 1;
        }
        while start < end && class(bytes[end - 1]) & JOINER != 0 {
            end -= 1;
        }
        if start == end {
            return;
        }
        let Some((&joiner, deeper)) = levels.split_first() else {
            return self.identifier(start, end, seen, whole);
        };
        let next_joiner = |from: usize| {
            let found = bytes[from..end].iter().position(|&b| class(b) == joiner);
            found.map_or(end, |offset| from + offset)
        };
        let mut piece_end = match seen & joiner {
            0 => end,
            _ => next_joiner(start),
        };
        if piece_end == end {
            return self.levels(start, end, deeper, seen, whole);
        }
        if end - start <= LONGEST_WORD {
            self.give_lower(start, end, seen, true);
            // `v2.1.0` is also asked for as `2.1.0`.
            let is_version = bytes[start] | 0x20 == b'v' && bytes[start + 1].is_ascii_digit();
            if joiner == DOT && is_version {
                self.give_lower(start + 1, end, seen, true);
            }
        }
        let mut piece_start = start;
        loop {
            // A name within a path is a name that a person would type; the words of a name are parts.
            self.levels(piece_start, piece_end, deeper, seen, joiner == SLASH);
            if piece_end == end {
                return;
            }
            piece_start = piece_end + 1;
            piece_end = next_joiner(piece_start);
        }
    }

    /// Gives a run of letters and digits, and the words that its capitals mark.
    fn identifier(&mut self, start: usize, end: usize, seen: u16, whole: bool) {
        let bytes = &self.text.as_bytes()[start..end];
        let begins_part = |&at: &usize| begins_part(bytes, at);
        let parts = match seen & UPPER {
            0 => 1,
            _ => 1 + (1..bytes.len()).filter(begins_part).count(),
        };
        // A hash or key in Base64 has capitals anywhere; its splinters are no words.
        if parts == 1 || (bytes.len() >= 16 && parts * 3 > bytes.len()) {
            self.give_lower(start, end, seen, whole);
            self.position += 1;
            return;
        }
        if bytes.len() <= LONGEST_WORD {
            self.give_lower(start, end, seen, true);
        }
        let mut from = 0;
        for to in (1..bytes.len()).filter(begins_part).chain([bytes.len()]) {
            self.give_lower(start + from, start + to, seen, false);
            self.position += 1;
            from = to;
        }
    }

    /// Gives a Korean word as written, and its pairs of syllables, since particles are glued to nouns.
    fn hangul(&mut self, start: usize) -> usize {
        let end = self.run_end(start, Script::Hangul);
        self.words_and_pairs(start, end, std::iter::once(end));
        end
    }

    /// Gives the words of a Chinese or Japanese run and its pairs of characters.
    fn ideographic(&mut self, start: usize) -> usize {
        let end = self.run_end(start, Script::Ideographic);
        let breaks = segmenter().segment_str(&self.text[start..end]);
        let word_ends = breaks.filter(|&end| end > 0).map(|end| start + end);
        self.words_and_pairs(start, end, word_ends);
        end
    }

    /// Gives each word where it begins and each pair of neighbours; every character counts one position.
    fn words_and_pairs(&mut self, start: usize, end: usize, mut word_ends: impl Iterator<Item = usize>) {
        let text = self.text;
        let mut word_start = start;
        let mut from = start;
        while from < end {
            let to = from + char_at(text, from).len_utf8();
            let mut word_end = None;
            if from == word_start {
                word_end = word_ends.next();
                word_start = word_end.unwrap_or(end);
                let word = cut(&text[from..word_start], LONGEST_WORD);
                self.give(Cow::Borrowed(word), from, from + word.len(), true);
            }
            if to < end {
                let pair_end = to + char_at(text, to).len_utf8();
                if word_end != Some(pair_end) {
                    self.give(Cow::Borrowed(&text[from..pair_end]), from, pair_end, false);
                }
            }
            self.position += 1;
            from = to;
        }
    }

    /// Gives the words of a run in Thai, Lao, Burmese or Khmer.
    fn unspaced(&mut self, start: usize) -> usize {
        let end = self.run_end(start, Script::Unspaced);
        let mut from = start;
        for to in segmenter().segment_str(&self.text[start..end]) {
            let to = start + to;
            if to > from {
                let word = cut(&self.text[from..to], LONGEST_WORD);
                self.give(Cow::Borrowed(word), from, from + word.len(), true);
                self.position += 1;
            }
            from = to;
        }
        end
    }

    fn run_end(&self, start: usize, kind: Script) -> usize {
        let run = &self.text[start..];
        let end = run.find(|c| {
            let script = script(c);
            script != kind && script != Script::Mark
        });
        start + end.unwrap_or(run.len())
    }

    fn give_lower(&mut self, start: usize, end: usize, seen: u16, whole: bool) {
        let text = cut(&self.text[start..end], LONGEST_WORD);
        let lower = match seen & (UPPER | WIDE) {
            0 => Cow::Borrowed(text),
            _ => lower(text),
        };
        self.give(lower, start, start + text.len(), whole);
    }

    #[inline]
    fn give(&mut self, text: Cow<'t, str>, start: usize, end: usize, whole: bool) {
        (self.each)(Word { text, start, end, position: self.position, whole });
    }
}

/// Returns where the next word begins, if the joiners at `at` join it to the word before, and which they are.
fn joined(text: &str, at: usize) -> Option<(usize, u16)> {
    let bytes = text.as_bytes();
    let mut end = at;
    let mut marks = 0;
    let mut joiners = 0;
    while end < bytes.len() && class(bytes[end]) & JOINER != 0 {
        joiners |= class(bytes[end]);
        if bytes[end] == b':' {
            // One colon separates, two are a path in code.
            if bytes.get(end + 1) != Some(&b':') {
                return None;
            }
            end += 1;
        }
        // Underscores pile up in names; of the others one joins, or two before a hidden file.
        if bytes[end] != b'_' {
            marks += 1;
            if marks > 1 && bytes[end - 1..=end] != *b"/." {
                return None;
            }
        }
        end += 1;
        if end - at > 4 {
            return None;
        }
    }
    let next = class(*bytes.get(end)?);
    let joins = next & ALPHANUMERIC != 0 || (next == WIDE && script(char_at(text, end)) == Script::Spaced);
    joins.then_some((end, joiners))
}

/// Returns the length of the rest of a contraction: `t` of `don't`, `ll` of `we'll`; zero if it is none.
fn contraction(after: &[u8]) -> usize {
    let letters = after.iter().take(3).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let next = after.get(letters).copied().unwrap_or(b' ');
    let goes_on = class(next) & (ALPHANUMERIC | APOSTROPHE | WIDE) != 0 || next == b'_';
    if letters <= 2 && !goes_on { letters } else { 0 }
}

/// Tells whether a capital begins a new word: `hash|Map`, `HTTP|Response`, `utf8|String`, but not `URLs`.
fn begins_part(bytes: &[u8], at: usize) -> bool {
    if !bytes[at].is_ascii_uppercase() {
        return false;
    }
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    if is_lower(at - 1) {
        return true;
    }
    let plural = bytes.get(at + 1) == Some(&b's') && !is_lower(at + 2);
    bytes[at - 1].is_ascii_alphanumeric() && is_lower(at + 1) && !plural
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}

fn segmenter() -> WordSegmenterBorrowed<'static> {
    // The data is compiled in, so this is a few pointers and needs no cache.
    WordSegmenter::new_dictionary(WordBreakInvariantOptions::default())
}

fn lower(text: &str) -> Cow<'_, str> {
    let seen = text.bytes().fold(0, |seen, byte| seen | class(byte));
    if seen & (UPPER | WIDE) == 0 {
        return Cow::Borrowed(text);
    }
    if seen & WIDE == 0 {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let mut lower = String::with_capacity(text.len());
    for character in text.chars() {
        fold_into(character, &mut lower);
    }
    Cow::Owned(lower)
}

/// Adds a character in lower case and without its accent, so that either spelling finds the other.
fn fold_into(character: char, folded: &mut String) {
    if character.is_ascii() {
        folded.push(character.to_ascii_lowercase());
        return;
    }
    for lower in character.to_lowercase() {
        let plain = match lower {
            'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | '\u{1ea0}'..='\u{1eb7}' => "a",
            'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
            'ď' | 'đ' | 'ð' => "d",
            'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | '\u{1eb8}'..='\u{1ec7}' => "e",
            'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
            'ĥ' | 'ħ' => "h",
            'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ǐ' | '\u{1ec8}'..='\u{1ecb}' => "i",
            'ĵ' => "j",
            'ķ' | 'ĸ' => "k",
            'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
            'ñ' | 'ń' | 'ņ' | 'ň' | 'ŋ' => "n",
            'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | 'ǒ' | '\u{1ecc}'..='\u{1ee3}' => "o",
            'ŕ' | 'ŗ' | 'ř' => "r",
            'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
            'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
            'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' | 'ǔ' => "u",
            '\u{1ee4}'..='\u{1ef1}' => "u",
            'ŵ' => "w",
            'ý' | 'ÿ' | 'ŷ' | '\u{1ef2}'..='\u{1ef9}' => "y",
            'ź' | 'ż' | 'ž' => "z",
            'ß' => "ss",
            'æ' => "ae",
            'œ' => "oe",
            'þ' => "th",
            'ά' => "α",
            'έ' => "ε",
            'ή' => "η",
            'ί' | 'ϊ' | 'ΐ' => "ι",
            'ό' => "ο",
            'ύ' | 'ϋ' | 'ΰ' => "υ",
            'ώ' => "ω",
            'ς' => "σ",
            'ё' => "е",
            'й' => "и",
            // Signs that stand apart from their letter, as in file names on macOS, and vowel points.
            '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{652}' => "",
            // Full-width Latin, as East Asian keyboards type it.
            '\u{ff10}'..='\u{ff19}' | '\u{ff41}'..='\u{ff5a}' => {
                folded.extend(char::from_u32(u32::from(lower) - 0xfee0));
                continue;
            }
            _ => {
                folded.push(lower);
                continue;
            }
        };
        folded.push_str(plain);
    }
}

// --- Lines and excerpts ---

/// Names that Windows keeps for devices.
const RESERVED_NAMES: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Shortens a full line to make room for `…`, at a space unless that would cost more than half.
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

/// Returns the byte range of the window in which the most and the longest of the terms meet.
fn densest(text: &str, terms: &[String], max_chars: usize) -> Option<(usize, usize)> {
    let mut wanted = HashMap::new();
    for term in terms {
        each_word(term, |word| {
            let next = wanted.len();
            wanted.entry(word.text.into_owned()).or_insert(next);
        });
    }
    // The byte range of each hit, which term it is, and its length.
    let mut hits: Vec<(usize, usize, usize, usize)> = Vec::new();
    each_word(text, |word| {
        if let Some(&term) = wanted.get(word.text.as_ref()) {
            hits.push((word.start, word.end, term, word.text.chars().count()));
        }
    });
    let mut best: Option<(usize, usize, usize)> = None;
    for (first, &(start, ..)) in hits.iter().enumerate() {
        let mut seen = HashSet::new();
        let mut score = 0;
        let mut end = start;
        // Bytes are at least as many as characters, so a window is never too wide.
        for &(_, hit_end, term, length) in hits[first..].iter().take(64) {
            if hit_end > start + max_chars {
                break;
            }
            end = end.max(hit_end);
            score += if seen.insert(term) { 8 + length } else { 1 };
        }
        if best.is_none_or(|(most, ..)| score > most) {
            best = Some((score, start, end));
        }
    }
    best.map(|(_, start, end)| (start, end))
}

// --- Sentences ---

/// Words before a full stop that does not end the sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "eg", "ie", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "fig", "approx", "z.b", "u.a", "d.h", "bzw",
    "ca", "resp", "p.ej", "incl",
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
    for (at, character) in text.char_indices() {
        let after = &text[at + character.len_utf8()..];
        match character {
            '\n' if heading || text.starts_with("```") || begins_block(after) => return at,
            '。' | '！' | '？' | '｡' | '।' | '॥' | '؟' | '۔' | '။' | '។' | '።' => {
                return text.len() - after.trim_start_matches(is_closing).len();
            }
            '.' | '!' | '?' | '…' => {
                let behind = after.trim_start_matches(is_closing);
                let ends = behind.is_empty() || behind.starts_with(char::is_whitespace);
                if ends && !(character == '.' && abbreviates(&text[..at], behind)) {
                    return text.len() - behind.len();
                }
            }
            _ => {}
        }
    }
    text.len()
}

fn is_closing(character: char) -> bool {
    "\"'`)]*_”’»」』）】.!?".contains(character)
}

/// Tells whether a line that follows a line break belongs to another paragraph, item or heading.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '\r']);
    line.is_empty()
        || line.starts_with(['\n', '>', '|'])
        || line.starts_with("```")
        || without_markers(cut(line, 64)).0.len() < cut(line, 64).len()
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

// --- Tokens, printing, nearness ---

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

fn is_unprintable(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        _ => is_hidden(character),
    }
}

/// Tells control characters and those that hide or reorder text, tags for smuggling included.
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

/// Counts insertions, deletions, replacements and swaps of neighbours between two words.
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(from != to);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && left[row - 1] == *to && right[column - 1] == *from;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(words(input).join(" "), expected, "words of {input:?}");
    }

    #[test]
    fn words_of_prose() {
        check("The quick, brown FOX.", "the quick brown fox");
        check("don't we'll I'm user's HashMap's", "dont well im user hashmap hash map");
        check("don’t l'index O'Brien 'quoted'", "dont l index o brien quoted");
        check("f'is' b's'", "f is b s");
        check("", "");
        check("...---___'''", "");
        check("Café CAFÉ cafe\u{301} Straße İstanbul", "cafe cafe cafe strasse istanbul");
        check("tiếng Việt", "tieng viet");
        check("Ещё Ёлка", "еще елка");
        check("ΟΔΟΣ οδός", "οδοσ οδοσ");
        check("ＨＴＭＬ５", "html5");
        check("“quoted”—dash→arrow 📦box", "quoted dash arrow box");
    }

    #[test]
    fn words_of_code() {
        check("retry_backoff", "retry_backoff retry backoff");
        check("HashMap", "hashmap hash map");
        check("parseHTTPResponse", "parsehttpresponse parse http response");
        check("userIDs URLs", "userids user ids urls");
        check("src/day.rs", "src/day.rs src day.rs day rs");
        check("foo::bar", "foo::bar foo bar");
        check("a.b.c", "a.b.c a b c");
        check("--dry-run", "dry-run dry run");
        check("v2.1.0 2.1.0", "v2.1.0 2.1.0 v2 1 0 2.1.0 2 1 0");
        check("E0599 utf8 #1234", "e0599 utf8 1234");
        check("user@host.com", "user host.com host com");
        check("file.rs:12:5", "file.rs file rs 12 5");
        check("https://docs.rs/x", "https docs.rs/x docs.rs docs rs x");
        check("~/.config/memtree", "config/memtree config memtree");
        check("/home/me/.config", "home/me/.config home me config");
        check("src/__init__.py", "src/__init__.py src init__.py init py");
        check("__init__.py", "init__.py init py");
        check("src/base/HashMap.rs", "src/base/hashmap.rs src base hashmap.rs hashmap hash map rs");
        check("key:value a:b", "key value a b");
        check("SES3_laptop_SP1C2", "ses3_laptop_sp1c2 ses3 laptop sp1c2");
        check("naïve_count café/menü", "naive_count naive count cafe/menu cafe menu");
        check("01J8XKAVT5ZQ9M4N7P2R3S6T8V", "01j8xkavt5zq9m4n7p2r3s6t8v");
        check("aB3dE5fG7hI9jK1lM3nO5", "ab3de5fg7hi9jk1lm3no5");
        check("0..10 x...y", "0 10 x y");
    }

    #[test]
    fn words_without_spaces() {
        check("ภาษาไทย", "ภาษา ไทย");
        check("파일을 API는", "파일을 파일 일을 api 는");
        check("猫", "猫");
        check("使用retry_backoff函数", "使用 retry_backoff retry backoff 函数");
        // Whatever the dictionary does, each pair of a stretch is there.
        let all = words("東京都庁舎の設計データ");
        for pair in ["東京", "京都", "都庁", "庁舎", "設計", "デー", "ータ"] {
            assert!(all.iter().any(|word| word == pair), "{pair} in {all:?}");
        }
    }

    #[test]
    fn words_that_are_too_long() {
        let hash = "0123456789abcdef".repeat(4);
        check(&hash, &hash);
        check(&format!("{hash}ff"), &hash);
        let path = format!("{}file.rs", "folder/".repeat(10));
        let found = words(&path);
        assert!(found.iter().all(|word| word.len() <= LONGEST_WORD));
        assert!(found.contains(&"file.rs".to_string()));
        let wide = "é".repeat(50);
        assert!(words(&wide)[0].len() <= LONGEST_WORD);
    }

    #[test]
    fn positions_and_ranges_are_those_of_the_original() {
        let text = "use HashMap, now";
        let mut seen = Vec::new();
        each_word(text, |word| {
            seen.push((&text[word.start..word.end], word.position, word.whole));
        });
        let expected =
            [("use", 0, true), ("HashMap", 1, true), ("Hash", 1, false), ("Map", 2, false), ("now", 3, true)];
        assert_eq!(seen, expected);
    }

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
    fn excerpts() {
        let filler = "filler words go on and on without end ".repeat(20);
        let text = format!("{filler}the flock header race lost an append {filler}");
        let terms = ["flock".to_string(), "header race".to_string()];
        let found = excerpt(&text, &terms, 60);
        assert!(found.contains("flock header race"), "{found}");
        assert!(found.starts_with('…') && found.ends_with('…'), "{found}");
        assert!(found.chars().count() <= 60);
        assert_eq!(excerpt("short text", &terms, 60), "short text");
        assert_eq!(excerpt("the flock", &terms, 60), "the flock");
        let text = "説明が続く。".repeat(30) + "ロックの競合が原因だった" + &"続く。".repeat(30);
        let found = excerpt(&text, &["ロック".to_string(), "競合".to_string()], 40);
        assert!(found.contains("ロックの競合"), "{found}");
    }

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
        check("", &[]);
        check("#", &[]);
        let first = first_sentence("- **Fix** the lock. Then rest.", 80);
        assert_eq!(first, "**Fix** the lock.");
        assert_eq!(first_sentence("## A very long heading here", 12), "A very long…");
        assert_eq!(first_sentence("", 12), "");
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
    }

    #[test]
    fn near_words() {
        let known = ["claude", "codex", "gemini", "grok"];
        assert_eq!(nearest("gemni", known), Some("gemini"));
        assert_eq!(nearest("Cluade", known), Some("claude"));
        assert_eq!(nearest("codx", known), Some("codex"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("x", ["y"]), None);
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
