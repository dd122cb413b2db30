//! Words as the index keeps them: cut by [`text::each_word`], with the endings of English words folded away.
//!
//! The same cut and fold serve the index and the query, so that what is written is what is found. Word forms
//! (`locks`, `locked`, `locking`) share one entry; identifiers and other scripts stay as they are.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::rank;
pub use crate::base::forms::folded;
use crate::base::{common_words, text};

/// Words that a question is made of, whatever it asks for.
const QUESTION_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before",
    "being", "but", "by", "can", "cant", "could", "did", "didnt", "do", "does", "doesnt", "dont", "ever", "for",
    "from", "had", "has", "have", "he", "her", "here", "his", "how", "i", "if", "im", "in", "into", "is", "isnt", "it",
    "its", "ive", "just", "me", "my", "no", "not", "of", "on", "or", "our", "out", "over", "she", "should", "so",
    "some", "than", "that", "thats", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "us", "was", "we", "were", "weve", "what", "whats", "when", "where", "which", "while", "who", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// Tells a word that says nothing about what is asked.
pub fn is_question_word(word: &str) -> bool {
    QUESTION_WORDS.binary_search(&word).is_ok()
}

/// How much a word of a query tells, in lower case as it was typed: less the commoner it is in any text.
pub fn told(typed: &str) -> f32 {
    match common_words::place(typed) {
        Some(place) if place < common_words::NOTHING_TOLD => rank::COMMONEST,
        Some(place) if place < common_words::EVERYDAY => rank::EVERYDAY,
        _ => 1.0,
    }
}

/// Gives each word of a text as the index keeps it, with its place, and whether it is the smallest unit there.
///
/// Every larger word (`src/day.rs`) is made of units (`src`, `day`, `rs`), which stand at consecutive places; a
/// unit covers one place, so a text is covered where its units are.
pub fn units_and_wholes(text: &str) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    // How far the units before the present place reach, and those at it.
    let (mut reached, mut reach) = (0, 0);
    text::each_word(text, |word| {
        match words.last_mut() {
            // Of the words at one place the last one given is the smallest.
            Some(before) if before.position == word.position => before.unit = false,
            _ => reached = reach,
        }
        reach = word.end;
        words.push(QueryWord {
            text: folded(&word.text).to_string(),
            position: word.position,
            // The last character of a Chinese word stands alone too, though the pair before it has it.
            unit: word.end > reached,
            typed: word.text.into_owned(),
        });
    });
    words
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryWord {
    /// As the index keeps it.
    pub text: String,
    /// As it was typed, in lower case.
    pub typed: String,
    pub position: usize,
    /// Whether it is the smallest word at its place.
    pub unit: bool,
}

/// All words that are one slip away: a letter too few, too many, wrong, or two swapped.
pub fn slips(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let alphabet: Vec<char> = match letters.iter().find(|letter| !letter.is_ascii()) {
        None => ('a'..='z').chain('0'..='9').collect(),
        Some('\u{370}'..='\u{3ff}') => ('α'..='ω').collect(),
        Some('\u{400}'..='\u{4ff}') => ('а'..='я').collect(),
        // Other alphabets are too large to try; a letter too many or two swapped are still found.
        Some(_) => Vec::new(),
    };
    let mut slips = Vec::with_capacity(letters.len() * (2 * alphabet.len() + 2));
    let joined = |parts: [&[char]; 3]| parts.concat().iter().collect::<String>();
    for at in 0..=letters.len() {
        let (before, after) = letters.split_at(at);
        for letter in &alphabet {
            slips.push(joined([before, &[*letter], after]));
        }
        let Some((first, rest)) = after.split_first() else { break };
        slips.push(joined([before, &[], rest]));
        for letter in alphabet.iter().filter(|letter| *letter != first) {
            slips.push(joined([before, &[*letter], rest]));
        }
        if let Some((second, rest)) = rest.split_first() {
            slips.push(joined([before, &[*second, *first], rest]));
        }
    }
    slips.sort_unstable();
    slips.dedup();
    slips
}

/// The tokenizer that the index uses for prose and for paths.
#[derive(Debug, Clone, Default)]
pub struct FoldedWords {
    /// The words of the text at hand, one after the other.
    letters: String,
    /// Where each word ends in `letters`, and its place in the text.
    ends: Vec<(usize, usize)>,
    /// How often each word counts.
    times: usize,
}

/// A text whose words count several times, as the index is given it: cut once, counted so often.
pub fn weighed(text: &str, times: usize) -> String {
    // A control character says how often; none is part of a word.
    let mark = char::from(u8::try_from(times).unwrap_or(u8::MAX).clamp(1, LARGEST_MARK));
    let mut weighed = String::with_capacity(text.len() + 1);
    weighed.push(mark);
    weighed.push_str(text);
    weighed
}

/// The greatest number of times: the last control character before a tab.
const LARGEST_MARK: u8 = 8;

impl Tokenizer for FoldedWords {
    type TokenStream<'a> = FoldedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> FoldedStream<'a> {
        self.letters.clear();
        self.ends.clear();
        self.times = match text.as_bytes() {
            [times @ 1..=LARGEST_MARK, ..] => usize::from(*times),
            _ => 1,
        };
        text::each_word(text, |word| {
            self.letters.push_str(folded(&word.text));
            self.ends.push((self.letters.len(), word.position));
        });
        FoldedStream { words: self, next: 0, again: 0, token: Token::default() }
    }
}

/// The words of one text, handed to the index.
pub struct FoldedStream<'a> {
    words: &'a FoldedWords,
    next: usize,
    /// How often the present word is still to be given.
    again: usize,
    token: Token,
}

impl TokenStream for FoldedStream<'_> {
    fn advance(&mut self) -> bool {
        if self.again > 0 {
            self.again -= 1;
            return true;
        }
        let Some(&(end, position)) = self.words.ends.get(self.next) else { return false };
        let start = if self.next == 0 { 0 } else { self.words.ends[self.next - 1].0 };
        self.next += 1;
        self.token.text.clear();
        self.token.text.push_str(&self.words.letters[start..end]);
        self.token.position = position;
        self.again = self.words.times - 1;
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

    #[test]
    fn units_make_up_what_is_typed() {
        let units = |text: &str| -> Vec<String> {
            units_and_wholes(text).into_iter().filter(|word| word.unit).map(|word| word.typed).collect()
        };
        assert_eq!(units("src/HashMap.rs locks"), ["src", "hash", "map", "rs", "locks"]);
        assert_eq!(units("数据库"), ["数据", "据库"]);
        assert!(units_and_wholes("retry_backoff").iter().any(|word| !word.unit && word.text == "retry_backoff"));
    }

    #[test]
    fn slips_are_one_letter_away() {
        let slips = slips("flock");
        for near in ["flok", "fllock", "folck", "block", "flocks"] {
            assert!(slips.contains(&near.to_string()), "{near}");
        }
        assert!(super::slips("замок").contains(&"замак".to_string()));
        assert!(super::slips("").len() < 100);
    }

    #[test]
    fn weighed_words_count_several_times_at_one_place() {
        let mut tokenizer = FoldedWords::default();
        let mut given = Vec::new();
        for text in [weighed("two locks", 3), "plain".into(), weighed("huge", 1000)] {
            let mut stream = tokenizer.token_stream(&text);
            while stream.advance() {
                given.push((stream.token().text.clone(), stream.token().position));
            }
        }
        let count = |word: &str, place: usize| given.iter().filter(|(text, at)| text == word && *at == place).count();
        assert_eq!((count("two", 0), count("lock", 1), count("plain", 0), count("hug", 0)), (3, 3, 1, 8));
        assert_eq!(given.len(), 15);
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(QUESTION_WORDS.is_sorted());
    }
}
