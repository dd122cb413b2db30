//! Rank: how much a digest has to do with a query. Pure arithmetic on counts.
//!
//! A score is the sum, over the words of the query that a digest has, of how rare the word is in
//! this memory times how much of the digest it is (BM25). Three choices make it the same however
//! the cache came about: words count how many *living* digests have them; the length of a digest is
//! weighed against a fixed one, not against the average of the day; and recency is a factor of the
//! date alone, not of the present.

/// How fast more of the same word stops counting.
const SATURATION: f32 = 1.2;
/// How much a long digest has to have more of a word.
const LENGTH_WEIGHT: f32 = 0.4;
/// The length of an ordinary digest, in words as the index counts them (title and keys several
/// times).
const ORDINARY_LENGTH: f32 = 900.0;
/// The same for a part of a digest, and how long an ordinary part is.
const PART_LENGTH_WEIGHT: f32 = 0.75;
const ORDINARY_PART: f32 = 60.0;
/// How much the closest part counts, against the digest as a whole.
const PART: f32 = 0.75;
/// How many of the best digests are looked at part by part.
pub const CLOSER_LOOK: usize = 50;
/// How much more a session of one year later counts: enough to part equals, too little to part
/// others.
const PER_YEAR: f32 = 0.01;
/// The share of a query's weight that a hit has to cover, the mean of its best part and of all of
/// it; below, it is a guess.
const CONFIDENT: f32 = 0.42;
/// How much a hit loses that has none of the names that were asked for.
const NAMES: f32 = 0.2;
/// How much a hit gains that is of the time that was asked for.
const IN_TIME: f32 = 0.8;
/// How much a word counts that is found in the place of a misspelled one.
pub const NEAR_WORD: f32 = 0.6;
/// How much a word counts that means about the same as the one that was asked for.
pub const RELATED: f32 = 0.5;
/// How much a compound (`src/day.rs`) adds to its parts.
pub const COMPOUND: f32 = 0.5;

/// How much a word tells that so many of all digests have.
pub fn rarity(having: u32, of: u32) -> f32 {
    let (having, of) = (having.min(of) as f32, of as f32);
    (1.0 + (of - having + 0.5) / (having + 0.5)).ln()
}

/// How much a word is of a digest, by how often it stands there and how long that is; from 0 to
/// below 2.2.
pub fn presence(times: u32, length: u32) -> f32 {
    saturated(times, LENGTH_WEIGHT, length as f32 / ORDINARY_LENGTH)
}

/// How much a word is of one part of a digest: a trigger with its keys, or the summary.
pub fn presence_in_part(times: u32, length: u32) -> f32 {
    saturated(times, PART_LENGTH_WEIGHT, length as f32 / ORDINARY_PART)
}

/// How much a word is of a passage of an episode, which is longer and more even than a trigger.
pub fn presence_in_passage(times: u32, length: u32) -> f32 {
    const LENGTH_WEIGHT: f32 = 0.5;
    const ORDINARY_PASSAGE: f32 = 120.0;
    saturated(times, LENGTH_WEIGHT, length as f32 / ORDINARY_PASSAGE)
}

fn saturated(times: u32, length_weight: f32, relative_length: f32) -> f32 {
    let times = times as f32;
    let expected = SATURATION * (1.0 - length_weight + length_weight * relative_length);
    times * (SATURATION + 1.0) / (times + expected)
}

/// The score of a session: mostly that of the part which fits best. What a person asks for happened
/// in one place; a session in which the same words are scattered over many is another one.
pub fn together(whole: f32, closest_part: f32) -> f32 {
    (1.0 - PART) * whole + PART * closest_part
}

/// The factor for a hit that lacks a share of the names that were asked for, and is so near to the
/// time.
pub fn as_asked(names_lacked: f32, nearness: f32) -> f32 {
    (1.0 - NAMES * names_lacked) * (1.0 + IN_TIME * nearness)
}

/// Whether a hit is only a guess that covers these shares of the query's weight.
pub fn is_weak(by_part: f32, by_all: f32) -> bool {
    (by_part + by_all) / 2.0 < CONFIDENT
}

/// The factor by which a session counts more for having ended later, in seconds since 1970.
pub fn recency(ended: Option<i64>) -> f32 {
    const YEAR: f32 = 365.25 * 86_400.0;
    // A century from 2000 on; dates outside of it are typing errors.
    let years = ended.map_or(0.0, |seconds| (seconds as f32 / YEAR - 30.0).clamp(0.0, 100.0));
    1.0 + years * PER_YEAR
}

/// A digest with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<Place> {
    pub score: f32,
    pub place: Place,
}

/// Keeps the best so many, and all that score the same as the last of them, in any order.
pub fn best<Place>(mut scored: Vec<Scored<Place>>, most: usize) -> Vec<Scored<Place>> {
    if most == 0 {
        return Vec::new();
    }
    if scored.len() > most {
        let (_, last, _) =
            scored.select_nth_unstable_by(most - 1, |a, b| b.score.total_cmp(&a.score));
        let least = last.score;
        scored.retain(|one| one.score >= least);
    }
    scored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_tell_more() {
        assert!(rarity(1, 1000) > rarity(10, 1000) && rarity(10, 1000) > rarity(900, 1000));
        assert!(rarity(1000, 1000) > 0.0 && rarity(5, 0) > 0.0 && rarity(0, 0).is_finite());
    }

    #[test]
    fn more_of_a_word_counts_ever_less() {
        let step = |times| presence(times + 1, 900) - presence(times, 900);
        assert!(step(0) > step(1) && step(1) > step(5) && step(5) > 0.0);
        assert!(presence(1, 300) > presence(1, 3000));
    }

    #[test]
    fn recency_parts_equals_only() {
        let year = 365 * 86_400;
        let now = 1_794_750_010;
        assert!(recency(Some(now)) > recency(Some(now - year / 12)));
        // Ten years are less than one more rare word out of three.
        assert!(recency(Some(now)) / recency(Some(now - 10 * year)) < 4.0 / 3.0);
        assert!(recency(None) <= recency(Some(0)) && recency(Some(i64::MAX)).is_finite());
    }

    #[test]
    fn equals_of_the_last_are_kept() {
        let scored = [1.0, 3.0, 2.0, 2.0, 2.0, 0.5].map(|score| Scored { score, place: () });
        let mut scores: Vec<f32> = best(scored.to_vec(), 2).iter().map(|one| one.score).collect();
        scores.sort_by(f32::total_cmp);
        assert_eq!(scores, [2.0, 2.0, 2.0, 3.0]);
        assert_eq!(best(scored.to_vec(), 100).len(), 6);
        assert!(best(scored.to_vec(), 0).is_empty());
    }
}
