//! Languages: people ask in their own, and every language has words that say nothing of what is
//! asked.
//!
//! English has its lists in [`terms`](super::terms) and in the table of common words. Of other
//! languages a short table knows what a question is made of, and what is said of any work:
//! “mach bitte weiter” names nothing that could be looked for.

use std::borrow::Cow;

use memchr::memmem;

use super::terms;
use crate::base::{common_words, text};

/// On each line a language, what its words do, and the words; and comments.
const TABLE: &str = include_str!("../../templates/small-words.txt");
/// How many words of a text tell its language, and how many of them have to be words of it.
const MOST_WORDS: usize = 64;
const FEWEST: usize = 2;
/// The first letter of a script without spaces, or that is cut into pairs: Thai. Those of the
/// others that are in the table follow it.
const FIRST_UNSPACED: char = '\u{e00}';

/// What a small word does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It asks: “warum”.
    Ask,
    /// It joins others: “und”.
    Small,
    /// It is said of any work: “bitte”, “weiter”.
    Talk,
}

/// The language of a text, where it is one of the table and has spaces between its words.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Language(Option<&'static str>);

impl Language {
    /// Recognizes the language that most words of a text are of, if they are more than those of
    /// English.
    pub fn of(text: &str) -> Language {
        let (mut english, mut known) = (0, Vec::<(&str, usize)>::new());
        for word in text::words(text).iter().take(MOST_WORDS) {
            let is_english =
                terms::is_question_word(word) || common_words::everyday_place(word).is_some();
            english += usize::from(is_english);
            let mut last = "";
            for (language, _) in entries(word) {
                if language == last {
                    continue;
                }
                last = language;
                match known.iter_mut().find(|(known, _)| *known == language) {
                    Some((_, count)) => *count += 1,
                    None => known.push((language, 1)),
                }
            }
        }
        let best = known.into_iter().rev().max_by_key(|(_, count)| *count);
        Language(best.filter(|(_, count)| *count >= FEWEST.max(english + 1)).map(|(it, _)| it))
    }

    /// Whether a word, as the index cuts it, says nothing of what a question asks.
    pub fn is_question_word(self, word: &str) -> bool {
        self.has(word, |role| role != Role::Talk)
    }

    /// Whether it says nothing of what a prompt is about.
    pub fn is_everyday(self, word: &str) -> bool {
        self.has(word, |_| true)
    }

    /// Whether it asks.
    pub fn asks(self, word: &str) -> bool {
        self.has(word, |role| role == Role::Ask)
    }

    fn has(self, word: &str, is_wanted: impl Fn(Role) -> bool) -> bool {
        let own = |(language, role): (&str, Role)| self.0 == Some(language) && is_wanted(role);
        self.0.is_some() && entries(word).any(own)
    }
}

/// A text without the phrases that only ask, of languages without spaces.
pub fn without_question_phrases(text: &str) -> Cow<'_, str> {
    without_phrases(text, |role| role != Role::Talk)
}

/// The same without what is said of any work.
pub fn without_everyday_phrases(text: &str) -> Cow<'_, str> {
    without_phrases(text, |_| true)
}

/// Whether a text has a phrase that asks, in a language without spaces.
pub fn has_asking_phrase(text: &str) -> bool {
    matches!(without_phrases(text, |role| role == Role::Ask), Cow::Owned(_))
}

/// Whether a word is written without spaces between its parts.
pub fn is_unspaced(word: &str) -> bool {
    word.contains(|letter| letter >= FIRST_UNSPACED)
}

fn without_phrases(text: &str, is_wanted: impl Fn(Role) -> bool) -> Cow<'_, str> {
    let mut left = Cow::Borrowed(text);
    if !is_unspaced(text) {
        return left;
    }
    let lines = lines().filter(|(_, role, words)| is_wanted(*role) && is_unspaced(words));
    let mut phrases: Vec<&str> = lines.flat_map(|(.., words)| words.split(' ')).collect();
    // Of those that begin alike the longest.
    phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    for phrase in phrases {
        if left.contains(phrase) {
            left = Cow::Owned(left.replace(phrase, " "));
        }
    }
    left
}

fn lines() -> impl Iterator<Item = (&'static str, Role, &'static str)> {
    TABLE.lines().filter_map(line)
}

fn line(line: &'static str) -> Option<(&'static str, Role, &'static str)> {
    let (language, rest) = line.split_once(' ').filter(|(language, _)| *language != "#")?;
    let (role, words) = rest.split_once(' ')?;
    let role = match role {
        "ask" => Role::Ask,
        "small" => Role::Small,
        _ => Role::Talk,
    };
    Some((language, role, words))
}

/// The languages that have a word, and what it does there. The table is looked through as it is: a
/// search asks for a few words only.
fn entries(word: &str) -> impl Iterator<Item = (&'static str, Role)> {
    let found = memmem::find_iter(TABLE.as_bytes(), word.as_bytes());
    let found = found.filter(|at| {
        let after = TABLE.as_bytes().get(at + word.len());
        // The first two words of a line are no words of a language.
        *at > 0 && TABLE.as_bytes()[at - 1] == b' ' && after.is_some_and(u8::is_ascii_whitespace)
    });
    found
        .filter_map(|at| {
            let begin = TABLE[..at].rfind('\n').map_or(0, |end| end + 1);
            let (language, role, words) = line(TABLE[begin..].lines().next()?)?;
            let first = words.as_ptr() as usize - TABLE.as_ptr() as usize;
            (at >= first).then_some((language, role))
        })
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_small_words() {
        let of = |text: &str| Language::of(text).0;
        assert_eq!(of("Warum war die Anmeldung so langsam?"), Some("de"));
        assert_eq!(of("mach bitte weiter"), Some("de"));
        assert_eq!(of("pourquoi la connexion est-elle si lente"), Some("fr"));
        assert_eq!(of("¿por qué falla la prueba de los pedidos?"), Some("es"));
        assert_eq!(of("почему не работает вход"), Some("ru"));
        for english in [
            "why did the build die in the end",
            "what was so slow in die casting",
            "go on, fix the test in src/es/de.rs",
            "no code in the log",
            "warum",
            "",
        ] {
            assert_eq!(of(english), None, "{english}");
        }
        let german = Language::of("wie haben wir das gemacht");
        assert!(german.is_question_word("wir") && german.asks("wie"));
        assert!(!german.is_question_word("gemacht") && german.is_everyday("gemacht"));
        assert!(!german.is_everyday("talk") && !german.is_everyday("de"));
        assert!(!Language::default().is_everyday("wie"));
    }

    #[test]
    fn phrases_are_taken_out_of_languages_without_spaces() {
        assert_eq!(without_question_phrases("优惠券为什么失败").trim(), "优惠券 失败");
        assert_eq!(without_everyday_phrases("再运行一次测试").replace(' ', ""), "再");
        assert!(has_asking_phrase("ทำไมช้า") && !has_asking_phrase("ช้า why"));
        assert!(matches!(without_everyday_phrases("plain words"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_table_has_words_as_the_index_cuts_them() {
        for (language, _, words) in lines() {
            assert_eq!(language.len(), 2);
            for word in words.split(' ').filter(|word| !is_unspaced(word)) {
                assert_eq!(text::words(word), [word], "{language}");
            }
        }
    }
}
