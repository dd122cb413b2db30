//! Terms: the words of a query as the index keeps them, cut by [`text::each_word`] and stemmed.
//!
//! The same cut and stems serve the index and the query, so that what is written is what is found.
//! Word forms (`locks`, `locked`, `locking`) share one entry; identifiers and other scripts stay as
//! they are.

use std::sync::LazyLock;

pub use crate::base::stem::stem;
use crate::base::{common_words, text};

/// Words that a question is made of, whatever it asks for.
const QUESTION_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "but", "by", "can", "cant", "could", "did", "didnt", "do", "does",
    "doesnt", "dont", "ever", "for", "from", "had", "has", "have", "he", "her", "here", "his",
    "how", "i", "if", "im", "in", "into", "is", "isnt", "it", "its", "ive", "just", "me", "my",
    "no", "not", "of", "on", "or", "our", "out", "over", "she", "should", "so", "some", "than",
    "that", "thats", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "us", "was", "we", "were", "weve", "what", "whats", "when", "where", "which", "while",
    "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// How much the commonest words count, which no page has to have, and other everyday words.
const COMMONEST: f32 = 0.2;
const EVERYDAY: f32 = 0.5;

/// The shortest word that may be a misspelled one.
pub const SHORTEST_SLIP: usize = 4;

/// Recognizes a word that says nothing about what is asked.
pub fn is_question_word(word: &str) -> bool {
    QUESTION_WORDS.binary_search(&word).is_ok()
}

/// How much a word of a query counts, in lower case as it was typed: less the commoner it is in any
/// text.
pub fn weight(typed: &str) -> f32 {
    match common_words::everyday_place(typed) {
        Some(place) if place < common_words::STOP_WORDS => COMMONEST,
        Some(_) => EVERYDAY,
        None if is_talk(typed) => EVERYDAY,
        None => 1.0,
    }
}

/// Whether a word is one of everyday talk: few pages have it, and that says nothing of what it
/// says.
fn is_talk(word: &str) -> bool {
    static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let lines = include_str!("../../templates/everyday-words.txt").lines();
        lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
    });
    WORDS.binary_search(&word).is_ok()
}

/// The terms of a text, each with its place, and whether it is the smallest
/// unit there.
///
/// Every larger word (`src/day.rs`) is made of units (`src`, `day`, `rs`), which stand at
/// consecutive places; a unit covers one place, so a text is covered where its units are.
pub fn of(text: &str) -> Vec<QueryTerm> {
    let mut words: Vec<QueryTerm> = Vec::new();
    // How far the units before the present place reach, and those at it.
    let (mut reached, mut reach) = (0, 0);
    text::each_word(text, |word| {
        match words.last_mut() {
            // Of the words at one place the last one given is the smallest.
            Some(before) if before.position == word.position => before.unit = false,
            _ => reached = reach,
        }
        reach = word.end;
        words.push(QueryTerm {
            text: stem(&word.text).to_string(),
            position: word.position,
            // The last character of a Chinese word stands alone too, though the pair before it has
            // it.
            unit: word.end > reached,
            typed: word.text.into_owned(),
        });
    });
    words
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_everyday_talk_are_in_order_and_count_for_less() {
        let lines = include_str!("../../templates/everyday-words.txt").lines();
        let words: Vec<&str> =
            lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect();
        assert!(words.len() > 500 && words.is_sorted());
        assert!(weight("away") < weight("mutex") && weight("the") < weight("away"));
    }

    #[test]
    fn units_make_up_what_is_typed() {
        let units = |text: &str| -> Vec<String> {
            of(text).into_iter().filter(|word| word.unit).map(|word| word.typed).collect()
        };
        assert_eq!(units("src/HashMap.rs locks"), ["src", "hash", "map", "rs", "locks"]);
        assert_eq!(units("数据库"), ["数据", "据库"]);
        assert!(of("retry_backoff").iter().any(|word| !word.unit && word.text == "retry_backoff"));
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
    fn the_list_is_in_order() {
        assert!(QUESTION_WORDS.is_sorted());
    }
}
