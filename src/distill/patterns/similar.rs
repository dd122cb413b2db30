//! Sentences that ask for the same thing, in whatever words.
//!
//! A sentence joins the first earlier one with which it shares enough of the words that say what it
//! is about, so that later sessions never rename what earlier ones founded.

use std::collections::HashMap;

use crate::distill::words;

/// Of the words of both, this share has to be the same.
const ENOUGH: f64 = 0.5;
/// And at least so many of them.
const FEWEST: usize = 2;

/// Groups of sentences, each with the one that founded it.
#[derive(Debug, Default)]
pub struct Groups {
    founders: Vec<Vec<String>>,
    /// Which founders have a word.
    by_word: HashMap<String, Vec<usize>>,
}

impl Groups {
    /// The number of the group that a sentence belongs to; `None` where it says too little.
    pub fn place(&mut self, sentence: &str) -> Option<usize> {
        let said = words::telling(sentence);
        if said.len() < FEWEST {
            return None;
        }
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for word in &said {
            for founder in self.by_word.get(word).into_iter().flatten() {
                *shared.entry(*founder).or_default() += 1;
            }
        }
        let is_near = |founder: usize, shared: usize| {
            let all = self.founders[founder].len() + said.len() - shared;
            shared >= FEWEST && shared as f64 >= ENOUGH * all as f64
        };
        let near = shared.iter().filter(|(founder, shared)| is_near(**founder, **shared));
        if let Some(first) = near.map(|(founder, _)| *founder).min() {
            return Some(first);
        }
        let number = self.founders.len();
        for word in &said {
            self.by_word.entry(word.clone()).or_default().push(number);
        }
        self.founders.push(said);
        Some(number)
    }

    /// The words of a group's founder, in their order.
    pub fn locus(&self, group: usize) -> String {
        self.founders[group].join(" ")
    }
}

/// Whether two sentences share enough words to be about the same thing.
pub fn is_about(sentence: &str, other: &str) -> bool {
    let (a, b) = (words::telling(sentence), words::telling(other));
    let shared = a.iter().filter(|word| b.contains(word)).count();
    shared >= FEWEST && shared * 3 >= a.len().min(b.len())
}

/// Whether two titles say nearly the same: what they name as code is the same, too.
pub fn is_nearly(title: &str, other: &str) -> bool {
    let named = |title: &str| -> Vec<String> {
        title.split('`').skip(1).step_by(2).map(str::to_string).collect()
    };
    named(title) == named(other) && is_about(title, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_wish_in_other_words_is_one() {
        let mut groups = Groups::default();
        let first = groups.place("Never push to the production registry before review");
        assert_eq!(groups.place("don't push into production registry before a review!"), first);
        assert_ne!(groups.place("use tabs in the Makefile for indentation"), first);
        assert_eq!(groups.place("ok thanks"), None);
        assert!(is_about(
            "lock the daily header first",
            "the header was lost without a daily lock"
        ));
        let check = |project: &str| format!("In `{project}`, `just test` is the check that passes");
        assert!(is_nearly(&check("pier"), "In `pier`, what passes is the check `just test`"));
        assert!(!is_nearly(&check("pier"), &check("quay")));
    }
}
