//! A word is what the index keeps and a query asks for: in lower case, without accents, with its
//! place.
//!
//! Letters and digits make words; marks such as `/`, `.`, `-` and `_` join them into identifiers
//! and paths, which come whole and in parts. Scripts without spaces are cut by a dictionary and
//! into pairs.

use std::borrow::Cow;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::cut;
use super::scripts::{Script, char_at, fold_into, script};

/// The longest word in bytes; long enough for a SHA-256 in hexadecimal.
pub const LONGEST_WORD: usize = 64;

/// One word of a text, as the index keeps it and as a query asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'t> {
    /// The word in lower case, with Latin accents stem away.
    pub text: Cow<'t, str>,
    /// Where it begins in the original, in bytes.
    pub start: usize,
    /// Where it ends in the original, in bytes.
    pub end: usize,
    /// Its place among the words; an identifier shares the place of its first part.
    pub position: usize,
    /// Whether it is a word that a person would type, not a part of an identifier or a character
    /// pair.
    pub whole: bool,
}

/// Calls `each` with every word of a text, in order of position.
///
/// - An identifier or path is given whole and in parts: `src/HashMap.rs` also as `hashmap.rs`,
///   `hashmap`, `src`, `hash`, `map` and `rs`. Characters around it (`--dry-run`, `#12`, `.git`)
///   fall away.
/// - `don't` is `dont`, `user's` is `user`, `l'index` is `l` and `index`; `Café` is `cafe`.
/// - Chinese and Japanese come as words of the dictionary and as character pairs, Korean as written
///   and as syllable pairs, so that any stretch is found however the dictionary cut it. A query
///   should therefore rank by its words rather than require each of them.
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
            // A name within a path is a name that a person would type; the words of a name are
            // parts.
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

    /// Gives a Korean word as written, and its pairs of syllables, since particles are glued to
    /// nouns.
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

    /// Gives each word where it begins and each pair of neighbours; every character counts one
    /// position.
    fn words_and_pairs(
        &mut self,
        start: usize,
        end: usize,
        mut word_ends: impl Iterator<Item = usize>,
    ) {
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

/// Returns where the next word begins, if the joiners at `at` join it to the word before, and which
/// they are.
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
    let joins =
        next & ALPHANUMERIC != 0 || (next == WIDE && script(char_at(text, end)) == Script::Spaced);
    joins.then_some((end, joiners))
}

/// Returns the length of the rest of a contraction: `t` of `don't`, `ll` of `we'll`; zero if it is
/// none.
fn contraction(after: &[u8]) -> usize {
    let letters = after.iter().take(3).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let next = after.get(letters).copied().unwrap_or(b' ');
    let goes_on = class(next) & (ALPHANUMERIC | APOSTROPHE | WIDE) != 0 || next == b'_';
    if letters <= 2 && !goes_on { letters } else { 0 }
}

/// Whether a capital begins a new word: `hash|Map`, `HTTP|Response`, `utf8|String`, but not
/// `URLs`.
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
        let expected = [
            ("use", 0, true),
            ("HashMap", 1, true),
            ("Hash", 1, false),
            ("Map", 2, false),
            ("now", 3, true),
        ];
        assert_eq!(seen, expected);
    }
}
