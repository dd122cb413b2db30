//! Pairs: words that follow each other in a query, and stand close together in a page.
//!
//! A page that has "wrap key" is more likely meant than one that has the two words in different
//! places. How close they are is counted in the positions that each list keeps anyway.

use super::plan::PlanTerm;

/// How far apart two words may stand to be a pair.
const FARTHEST: u32 = 3;

/// Two words of the query that follow each other.
#[derive(Debug, PartialEq)]
struct Pair {
    /// Their places among the words.
    first: usize,
    second: usize,
    /// What the rarer one of them does not say alone: the weight of the commoner one.
    weight: f32,
}

/// The pairs of a query, and where their words stand in a document.
#[derive(Debug, Default)]
pub struct Pairs {
    pairs: Vec<Pair>,
    /// To which word each term of the query belongs; compounds belong to none.
    words: Vec<Option<usize>>,
    /// Where each word stands, in order.
    places: Vec<Vec<u32>>,
}

impl Pairs {
    /// The pairs of a query's terms, those of one word together.
    pub fn of(terms: &[PlanTerm]) -> Pairs {
        let (mut words, mut weights) = (Vec::with_capacity(terms.len()), Vec::<f32>::new());
        for group in terms.chunk_by(|a, b| a.group == b.group) {
            let weight = group.iter().map(|term| term.covers).fold(0.0, f32::max);
            let word = (weight > 0.0).then_some(weights.len());
            weights.extend(word.map(|_| weight));
            words.extend(group.iter().map(|term| word.filter(|_| term.covers > 0.0)));
        }
        let pair = |(first, weights): (usize, &[f32])| {
            let weight = weights[0].min(weights[1]);
            Pair { first, second: first + 1, weight }
        };
        let pairs: Vec<Pair> = weights.windows(2).enumerate().map(pair).collect();
        let places = vec![Vec::new(); if pairs.is_empty() { 0 } else { weights.len() }];
        Pairs { pairs, words, places }
    }

    /// Begins with another document.
    pub fn clear(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
    }

    /// Adds where a term stands.
    pub fn add(&mut self, term: usize, positions: &[u32]) {
        let places = self.words[term].and_then(|word| self.places.get_mut(word));
        places.into_iter().for_each(|places| places.extend(positions));
    }

    /// How much of the query's pairs the document has, from 0 to 1: neighbours count whole, those
    /// further apart less.
    pub fn share(&mut self) -> f32 {
        self.places.iter_mut().for_each(|places| places.sort_unstable());
        let (mut found, mut asked) = (0.0, 0.0);
        for pair in &self.pairs {
            asked += pair.weight;
            let distance = distance(&self.places[pair.first], &self.places[pair.second]);
            found += distance.map_or(0.0, |distance| pair.weight / distance as f32);
        }
        if asked > 0.0 { found / asked } else { 0.0 }
    }
}

/// How close a position of one list comes to one of another; none where they are too far apart.
fn distance(one: &[u32], other: &[u32]) -> Option<u32> {
    let (mut at, mut closest) = (0, None);
    for position in one {
        while other.get(at).is_some_and(|there| there + FARTHEST < *position) {
            at += 1;
        }
        let near = other[at..].iter().take_while(|there| **there <= position + FARTHEST);
        let nearest = near.map(|there| there.abs_diff(*position)).filter(|far| *far > 0).min();
        closest = closest.into_iter().chain(nearest).min();
    }
    closest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(group: usize, covers: f32) -> PlanTerm {
        PlanTerm { text: String::new(), weight: covers, covers, factor: 1.0, group }
    }

    #[test]
    fn neighbours_count_whole_and_others_less() {
        let mut pairs = Pairs::of(&[term(0, 4.0), term(1, 2.0), term(2, 3.0)]);
        let mut share = |first: &[u32], second: &[u32], third: &[u32]| {
            pairs.clear();
            pairs.add(0, first);
            pairs.add(1, second);
            pairs.add(2, third);
            pairs.share()
        };
        assert_eq!(share(&[10], &[11], &[12]), 1.0);
        assert_eq!(share(&[10, 90], &[92], &[50]), 0.25);
        assert_eq!(share(&[11], &[10], &[]), 0.5);
        assert_eq!((share(&[1], &[5], &[9]), share(&[], &[], &[])), (0.0, 0.0));
    }

    #[test]
    fn compounds_are_left_out_and_one_word_has_no_pair() {
        let mut pairs = Pairs::of(&[term(0, 4.0), term(1, 0.0), term(2, 3.0), term(2, 1.0)]);
        pairs.add(0, &[7]);
        pairs.add(1, &[8]);
        pairs.add(3, &[8]);
        assert_eq!(pairs.share(), 1.0);
        assert_eq!(Pairs::of(&[term(0, 4.0)]).share(), 0.0);
        assert_eq!(Pairs::of(&[]).share(), 0.0);
    }
}
