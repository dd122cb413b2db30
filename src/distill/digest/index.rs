//! The Index: for every part of a session the terms that set it apart, for search and RAG tools;
//! nobody needs to read them.
//!
//! Terms are chosen from the session alone, this part against the rest of it, and from a table of
//! common words that ships with the program. How rare a word is in the whole memory counts when
//! searching.

use std::collections::{HashMap, HashSet};

use crate::base::stem::stem;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::words;
use crate::model::digest::{IndexLine, MOST_TERMS, Trigger};
use crate::model::ids::EpisodeId;

/// How many lines a long part has at most.
const MOST_LINES: usize = 5;

/// The lines of a session, one for every part and more for a long one; what a part's trigger says
/// is not said again.
pub fn index(facts: &Facts, triggers: &[Trigger]) -> Vec<IndexLine> {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.is_empty()).collect();
    let spread = Spread::of(parts.chunks(1));
    let line = |part: &&EpisodeFacts| {
        let episode = EpisodeId(part.episode);
        let mut said = HashSet::new();
        for trigger in triggers.iter().filter(|trigger| trigger.episode == episode) {
            let texts = [&trigger.topic, &trigger.sentence].into_iter().chain(&trigger.keys);
            texts.for_each(|text| said.extend(words::stems(text, |_| true)));
        }
        let terms = spread.terms(&[part], terms_of(part), &mut said);
        let lines =
            terms.chunks(MOST_TERMS).map(move |terms| IndexLine { episode, terms: terms.to_vec() });
        lines.collect::<Vec<_>>()
    };
    parts.iter().flat_map(line).collect()
}

/// How many terms a part has: one line, or a fiftieth of its words in several.
fn terms_of(part: &EpisodeFacts) -> usize {
    ((part.size / 50) as usize).clamp(MOST_TERMS, MOST_LINES * MOST_TERMS)
}

/// In how many groups of parts each word stands.
pub struct Spread<'f> {
    groups: f32,
    in_groups: HashMap<&'f str, f32>,
}

impl<'f> Spread<'f> {
    /// Counts the words of groups.
    pub fn of<'g>(groups: impl Iterator<Item = &'g [&'f EpisodeFacts]>) -> Spread<'f>
    where
        'f: 'g,
    {
        let mut spread = Spread { groups: 0.0, in_groups: HashMap::new() };
        for group in groups {
            spread.groups += 1.0;
            let words: HashSet<&str> =
                group.iter().flat_map(|part| &part.words).map(|(word, _)| word.as_str()).collect();
            words.into_iter().for_each(|word| *spread.in_groups.entry(word).or_default() += 1.0);
        }
        spread
    }

    /// The words that set a group apart and are not said yet, what was said most first.
    pub fn terms(
        &self,
        group: &[&EpisodeFacts],
        most: usize,
        said: &mut HashSet<String>,
    ) -> Vec<String> {
        let mut scores: HashMap<&str, f32> = HashMap::new();
        for (word, weight) in group.iter().flat_map(|part| &part.words) {
            *scores.entry(word).or_default() += weight;
        }
        let apart = |word: &str| {
            (1.0 + self.groups / self.in_groups.get(word).copied().unwrap_or(1.0)).ln()
        };
        let mut ranked: Vec<(&str, f32)> =
            scores.into_iter().map(|(word, weight)| (word, weight * apart(word))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut terms: Vec<(&str, f32)> = Vec::new();
        for (word, score) in ranked {
            if terms.len() >= most {
                break;
            }
            // Once is enough, in whatever form; `day.rs` also finds `day`.
            if !said.insert(stem(word).to_string()) {
                continue;
            }
            if is_identifier(word) {
                said.extend(words::stems(word, |_| true));
            }
            terms.push((word, score / words::weight(word)));
        }
        terms.sort_by(|a, b| b.1.total_cmp(&a.1));
        terms.into_iter().map(|(word, _)| word.to_string()).collect()
    }
}

/// Whether a word is the name of something in code.
pub fn is_identifier(word: &str) -> bool {
    word.contains(['.', '_', '-', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_line_of_its_own_terms() {
        let part = |n: u32| {
            let said = format!("shared words orchid{n} zebra{n}");
            EpisodeFacts::of_text(n, &format!("Topic{n}"), &said)
        };
        let facts = Facts { parts: (1..=300).map(part).collect(), ..Facts::default() };
        let lines = index(&facts, &[]);
        assert_eq!(lines.len(), 300);
        for (line, n) in lines.iter().zip(1..) {
            assert_eq!(line.episode, EpisodeId(n));
            assert!(line.terms.len() <= MOST_TERMS);
            assert!(line.terms.contains(&format!("zebra{n}")), "{line:?}");
        }
    }
}
