//! Tokens: the words of a document as the index takes them, cut and counted once.
//!
//! The parts of a digest (each trigger with its keys, the summary) lie one after the other, so that
//! a part is a stretch of positions. Where each ends is stored with the document: a search then
//! knows from the posting lists alone how often a word stands in which part, and reads no page.
//!
//! tantivy has pre-tokenized text too, but one heap string for each token, and it writes them into
//! the document as JSON and parses that again before they are indexed. One packed string costs a
//! fraction of it, and says in a byte how often a word counts.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::base::text;
use crate::query::terms::stem;

/// The greatest number of times that a word may count.
const MOST_TIMES: u8 = 8;
/// A word is preceded by two control characters, as none is part of a word: how often it counts,
/// and how many positions it stands after the word before it, on top of this one.
const SAME_PLACE: u8 = 0x10;
/// The farthest that a word may stand after the one before it; what lies farther apart is moved
/// together.
const FARTHEST: usize = 15;
/// How far apart two texts lie at least, so that no phrase runs from one into the other.
const GAP: usize = 2;

/// What a part of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A trigger, an error, or a section of another page.
    Trigger = 0,
    /// A line of the summary. All of them, and the title, are scored together too.
    Summary = 1,
    Title = 2,
}

/// The tokens of a document, in the making.
#[derive(Debug, Default)]
pub struct TokenBuffer {
    words: String,
    /// The position of the last word, and the first one that is free.
    last: usize,
    next: usize,
    /// Where the parts end, in bytes.
    parts: Vec<u8>,
}

impl TokenBuffer {
    /// Adds a part, of texts with how often their words count. Parts come before whatever belongs
    /// to none.
    pub fn push_part<'t>(
        &mut self,
        kind: PartKind,
        texts: impl IntoIterator<Item = (&'t str, usize)>,
    ) {
        let mut length = 0;
        let mut runs: Vec<Run> = Vec::new();
        for (text, times) in texts {
            let begin = self.next;
            length += self.push_text(text, times);
            let positions = (self.next - begin) as u32;
            let times = u32::from(clamped(times));
            match runs.last_mut() {
                Some(run) if run.times == times => run.positions += positions,
                _ => runs.push(Run { positions, times }),
            }
        }
        runs.retain(|run| run.positions > 0);
        for number in [kind as u32, length, runs.len() as u32] {
            write_number(number, &mut self.parts);
        }
        for run in runs {
            write_number(run.positions, &mut self.parts);
            write_number(run.times, &mut self.parts);
        }
    }

    /// The words in the form that [`BufferTokenizer`] takes apart, and where the parts end.
    pub fn finish(self) -> (String, Vec<u8>) {
        (self.words, self.parts)
    }

    /// Adds a text whose words count so many times, and returns how many a person would type. What
    /// is added by itself belongs to no part.
    pub fn push_text(&mut self, text: &str, times: usize) -> u32 {
        let mut whole = 0;
        let (begin, mark) = (self.next, char::from(clamped(times)));
        text::each_word(text, |word| {
            whole += u32::from(word.whole);
            let step = (begin + word.position).saturating_sub(self.last).min(FARTHEST);
            self.last += step;
            self.next = self.last + GAP;
            self.words.push(mark);
            self.words.push(char::from(SAME_PLACE + step as u8));
            self.words.push_str(stem(&word.text));
        });
        whole
    }
}

fn clamped(times: usize) -> u8 {
    u8::try_from(times).unwrap_or(u8::MAX).clamp(1, MOST_TIMES)
}

/// A stretch of positions whose words count equally often.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    positions: u32,
    times: u32,
}

/// The parts of one document, as they were stored with it.
#[derive(Debug, Default)]
pub struct Parts {
    /// How many words each part has that a person would type.
    pub lengths: Vec<u32>,
    pub kinds: Vec<PartKind>,
    /// Which part each run belongs to, where it ends, and how often its words count.
    runs: Vec<(usize, u32, u32)>,
}

impl Parts {
    /// Reads the parts of a document; what is damaged has none.
    pub fn read(&mut self, mut bytes: &[u8]) {
        self.clear();
        if self.read_all(&mut bytes).is_none() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.lengths.clear();
        self.kinds.clear();
        self.runs.clear();
    }

    fn read_all(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let mut end = 0u32;
        while !bytes.is_empty() {
            let part = self.lengths.len();
            self.kinds.push(match read_number(bytes)? {
                0 => PartKind::Trigger,
                1 => PartKind::Summary,
                2 => PartKind::Title,
                _ => return None,
            });
            self.lengths.push(read_number(bytes)?);
            for _ in 0..read_number(bytes)? {
                end = end.checked_add(read_number(bytes)?)?;
                self.runs.push((part, end, read_number(bytes)?.max(1)));
            }
        }
        Some(())
    }

    /// Gives for each part that has some of the positions how many; they come in order, a word that
    /// counts several times as often.
    pub fn count(&self, positions: &[u32], mut each: impl FnMut(usize, u32)) {
        let mut positions = positions.iter().peekable();
        for (part, end, times) in &self.runs {
            let mut there = 0;
            while positions.next_if(|position| *position < end).is_some() {
                there += 1;
            }
            if there > 0 {
                each(*part, there / times);
            }
            if positions.peek().is_none() {
                return;
            }
        }
    }
}

/// Writes a number in as few bytes as it needs, seven bits in each.
fn write_number(mut number: u32, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Takes a buffer apart for the index.
#[derive(Debug, Clone, Default)]
pub struct BufferTokenizer;

impl Tokenizer for BufferTokenizer {
    type TokenStream<'a> = BufferedTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> BufferedTokens<'a> {
        BufferedTokens { rest: text, again: 0, token: Token { position: 0, ..Token::default() } }
    }
}

/// The tokens of one buffer, handed to the index.
pub struct BufferedTokens<'a> {
    rest: &'a str,
    /// How often the present word is still to be given.
    again: u8,
    token: Token,
}

impl TokenStream for BufferedTokens<'_> {
    fn advance(&mut self) -> bool {
        if self.again > 0 {
            self.again -= 1;
            return true;
        }
        let [times, step, word @ ..] = self.rest.as_bytes() else { return false };
        let length = word.iter().position(|byte| *byte < b' ').unwrap_or(word.len());
        self.token.text.clear();
        self.token.text.push_str(&self.rest[2..2 + length]);
        self.token.position += usize::from(step.saturating_sub(SAME_PLACE));
        self.again = times.saturating_sub(1);
        self.rest = &self.rest[2 + length..];
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &str) -> Vec<(String, usize)> {
        let mut given = Vec::new();
        let mut tokenizer = BufferTokenizer;
        let mut stream = tokenizer.token_stream(words);
        while stream.advance() {
            given.push((stream.token().text.clone(), stream.token().position));
        }
        given
    }

    #[test]
    fn words_count_several_times_at_one_place_and_texts_lie_apart() {
        let mut tokens = TokenBuffer::default();
        tokens.push_text("two locks", 3);
        tokens.push_text("", 1);
        tokens.push_text("plain", 1);
        tokens.push_text("huge src/day.rs", 1000);
        let given = given(&tokens.finish().0);
        let count = |word: &str, position: usize| {
            given.iter().filter(|one| **one == (word.to_string(), position)).count()
        };
        assert_eq!(
            (count("two", 0), count("lock", 1), count("plain", 3), count("hug", 5)),
            (3, 3, 1, 8)
        );
        assert_eq!(
            (count("src/day.rs", 6), count("src", 6), count("day", 7), count("rs", 8)),
            (8, 8, 8, 8)
        );
    }

    #[test]
    fn a_buffer_has_the_words_of_its_texts() {
        for text in [
            "LockIng the 数据库锁 in src/HashMap.rs",
            "don't ฐานข้อมูล v2.1.0 데이터베이스",
            "",
            " \u{1}\u{1f} x",
        ] {
            let mut tokens = TokenBuffer::default();
            tokens.push_text(text, 1);
            let mut expected = Vec::new();
            text::each_word(text, |word| {
                expected.push((stem(&word.text).to_string(), word.position))
            });
            assert_eq!(given(&tokens.finish().0), expected, "{text}");
        }
    }

    #[test]
    fn the_words_of_each_part_are_counted() {
        let mut tokens = TokenBuffer::default();
        tokens.push_part(
            PartKind::Trigger,
            [("lock the lock", 1), ("LockIng", 4), ("locks", 2), ("", 3)],
        );
        tokens.push_part(PartKind::Summary, []);
        tokens.push_part(PartKind::Title, [("nothing", 1), ("locked", 1)]);
        tokens.push_text("lock", 1);
        let (words, bytes) = tokens.finish();
        let positions: Vec<u32> = given(&words)
            .into_iter()
            .filter(|(word, _)| word == "lock")
            .map(|(_, position)| position as u32)
            .collect();
        let mut parts = Parts::default();
        parts.read(&bytes);
        assert_eq!(parts.lengths, [5, 0, 2]);
        assert_eq!(parts.kinds, [PartKind::Trigger, PartKind::Summary, PartKind::Title]);
        let mut counted = [0; 3];
        parts.count(&positions, |part, times| counted[part] += times);
        // `LockIng` is the word and its first part, both of one form.
        assert_eq!(counted, [5, 0, 1]);
    }

    #[test]
    fn damaged_parts_are_none() {
        let mut parts = Parts::default();
        for bytes in [&[0xff; 9][..], &[0, 1, 9, 1, 1], &[9, 1, 1, 1, 1], &[200]] {
            parts.read(bytes);
            assert!(parts.lengths.is_empty() && parts.runs.is_empty());
        }
        let mut bytes = Vec::new();
        [0, 127, 128, u32::MAX].into_iter().for_each(|number| write_number(number, &mut bytes));
        let mut rest = bytes.as_slice();
        assert_eq!(
            [0; 4].map(|_| read_number(&mut rest)),
            [Some(0), Some(127), Some(128), Some(u32::MAX)]
        );
    }
}
