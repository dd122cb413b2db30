//! Candidates: documents that may be hits, found by one phrasing of a question or by several.
//!
//! Phrasings are joined by adding up what each of them gives a document. That was measured to
//! find more than joining ranks does: a phrasing that has the very words of a session weighs more
//! than one that knows nothing, which ranks cannot tell.

use std::collections::HashMap;

use super::confidence::{CONFIDENT, Evidence};

/// How far down its own ranking a phrasing still counts as one that found a document.
const FOUND: usize = 20;

/// A document that may be a hit, scored by its parts.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub score: f32,
    pub evidence: Evidence,
    /// Whether it is a session that was not found worth remembering.
    pub aside: bool,
    /// The session, or the path of the page.
    pub name: String,
    /// The line that a section begins at.
    pub line: usize,
    /// The numbers of the phrasings that found it.
    pub found_by: Vec<usize>,
}

/// Puts candidates in order, the best first.
pub fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.name, a.line).cmp(&(&b.name, b.line)))
    });
}

/// Puts sessions that were not found worth remembering behind the last of the others that surely
/// answers: however well a check of the tools has the words, it is not what was done.
pub fn put_aside(candidates: &mut [Candidate]) {
    let is_sure = |one: &Candidate| !one.aside && one.evidence.confidence() >= CONFIDENT;
    if let Some(last) = candidates.iter().rposition(is_sure) {
        candidates[..=last].sort_by_key(|one| one.aside);
    }
}

/// Joins what the phrasings of a question found, each in order and with the weight of all that it
/// asks for.
pub fn join(lists: Vec<(Vec<Candidate>, f32)>) -> Vec<Candidate> {
    let asked: f32 = lists.iter().map(|(_, asked)| asked).sum();
    let count = lists.len() as f32;
    let mut joined: Vec<Candidate> = Vec::new();
    let mut places: HashMap<(String, usize), usize> = HashMap::new();
    for (number, (list, _)) in lists.into_iter().enumerate() {
        for (rank, mut one) in list.into_iter().enumerate() {
            one.found_by = if rank < FOUND { vec![number] } else { Vec::new() };
            match places.get(&(one.name.clone(), one.line)) {
                Some(place) => joined[*place].add(one),
                None => {
                    places.insert((one.name.clone(), one.line), joined.len());
                    joined.push(one);
                }
            }
        }
    }
    for one in &mut joined {
        one.evidence.asked = asked;
        one.evidence.rare_word *= count;
    }
    sort(&mut joined);
    joined
}

impl Candidate {
    /// Adds what another phrasing found in the same document.
    fn add(&mut self, other: Candidate) {
        self.score += other.score;
        self.evidence.part += other.evidence.part;
        self.evidence.page += other.evidence.page;
        // A name that one phrasing has and another lacks is there in other words.
        self.evidence.names_lacking = self.evidence.names_lacking.min(other.evidence.names_lacking);
        self.found_by.extend(other.found_by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, score: f32) -> Candidate {
        let evidence = Evidence {
            part: score,
            page: score,
            asked: 10.0,
            rare_word: 5.0,
            ..Evidence::default()
        };
        let (name, found_by) = (name.to_string(), Vec::new());
        Candidate { score, evidence, aside: false, name, line: 0, found_by }
    }

    #[test]
    fn what_several_phrasings_find_comes_first() {
        let joined = join(vec![
            (vec![candidate("a", 5.0), candidate("b", 4.0)], 10.0),
            (vec![candidate("b", 4.0), candidate("c", 1.0)], 10.0),
        ]);
        let found: Vec<(&str, &[usize])> =
            joined.iter().map(|one| (one.name.as_str(), one.found_by.as_slice())).collect();
        assert_eq!(found, [("b", &[0, 1][..]), ("a", &[0]), ("c", &[1])]);
        assert_eq!((joined[0].evidence.part, joined[0].evidence.asked), (8.0, 20.0));
    }

    #[test]
    fn what_was_not_worth_remembering_comes_behind_what_surely_answers() {
        let order = |scores: [(&str, f32, bool); 4]| -> Vec<String> {
            let of = |(name, score, aside)| Candidate { aside, ..candidate(name, score) };
            let mut all: Vec<Candidate> = scores.into_iter().map(of).collect();
            put_aside(&mut all);
            all.into_iter().map(|one| one.name).collect()
        };
        let all = [("x", 9.9, true), ("a", 9.0, false), ("y", 8.0, true), ("b", 1.0, false)];
        assert_eq!(order(all), ["a", "x", "y", "b"]);
        // Where nothing surely answers, a guess is as good as another.
        let all = [("x", 9.9, true), ("a", 2.0, false), ("y", 1.5, true), ("b", 1.0, false)];
        assert_eq!(order(all), ["x", "a", "y", "b"]);
    }

    #[test]
    fn one_phrasing_is_left_as_it_is() {
        let alone = join(vec![(vec![candidate("a", 5.0), candidate("b", 5.0)], 10.0)]);
        let names: Vec<&str> = alone.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, alone[0].evidence.asked), (vec!["a", "b"], 10.0));
        assert!(join(Vec::new()).is_empty());
    }
}
