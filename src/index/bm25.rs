//! BM25: how much a text has to do with a query. Pure arithmetic on counts.
//!
//! A score is the sum, over the terms of the query that a text has, of how rare the term is (`idf`)
//! times how much of the text it is (`term_frequency`). Three choices make it the same however the
//! cache came about: terms count how many *living* digests have them; the length of a digest is
//! weighed against a fixed one, not against the average of the day; and recency is a factor of the
//! date alone, not of the present.

/// How fast more of the same term stops counting: BM25's k1.
const SATURATION: f32 = 1.2;
/// How much the best part counts, against the digest as a whole.
const PART_SHARE: f32 = 0.6;
/// How much the second best part adds to the best one.
pub const SECOND_PART: f32 = 0.5;
/// How fast the best part of many counts less than the best of few, and how many are few.
const BY_CHANCE: f32 = 0.1;
const FEW_PARTS: f32 = 10.0;
/// How much more a session counts whose title has all that was asked for, and one whose title was
/// asked for as it is.
const TITLE: f32 = 0.3;
const WHOLE_TITLE: f32 = 1.0;
/// The same where the title says all of the question and nothing else.
const EQUAL_TITLE: f32 = 2.0;
const ALL: f32 = 0.999;
/// How much more a page counts that has all words of the query that follow each other close together.
const PAIRS: f32 = 1.0;
/// How many of the best digests are scored once more part by part.
pub const RESCORED: usize = 50;
/// How much more a session of one year later counts: enough to part equals, too little to part
/// others.
const PER_YEAR: f32 = 0.01;
/// How much a hit loses that has none of the names that were asked for.
const NAMES: f32 = 0.2;
/// How much a hit gains that is of the time that was asked for.
const IN_TIME: f32 = 0.8;
/// How much a term counts that is found in the place of a misspelled one.
pub const NEAR_TERM: f32 = 0.6;
/// How much of such a word was asked for: who has all that may be meant by a slip has nearly all.
pub const ASKED_BY_SLIP: f32 = 0.8;
/// How much a term counts that means about the same as the one that was asked for.
pub const SYNONYM: f32 = 0.5;
/// How much the commonest word of a meaning says of how rare the meaning is, against the word that
/// was typed.
const BY_MEANING: f32 = 0.5;
/// How much a compound (`src/day.rs`) adds to its parts.
pub const COMPOUND: f32 = 0.5;

/// How a text's length counts: BM25's b, and the length of an ordinary text of its kind, in words.
#[derive(Debug, Clone, Copy)]
pub struct LengthNorm {
    b: f32,
    ordinary: f32,
}

/// A digest, in words as the index counts them (title and keys several times).
pub const DIGEST: LengthNorm = LengthNorm { b: 0.75, ordinary: 900.0 };
/// A part of a digest: a trigger with its keys, or the summary.
pub const PART: LengthNorm = LengthNorm { b: 0.5, ordinary: 60.0 };
/// A passage of an episode, which is longer and more even than a trigger.
pub const PASSAGE: LengthNorm = LengthNorm { b: 0.5, ordinary: 120.0 };

impl LengthNorm {
    /// Texts of which only the mean length is known.
    pub fn around(mean: f32) -> LengthNorm {
        LengthNorm { b: 0.75, ordinary: mean }
    }
}

/// What a term gives to the score of a text that has it so many times, by its weight: its `idf`
/// and how much it counts in the query.
#[inline]
pub fn bm25(weight: f32, count: f32, length: f32, norm: LengthNorm) -> f32 {
    weight * term_frequency(count, length, norm)
}

/// How much a term says that so many of all texts have.
pub fn idf(having: u32, of: u32) -> f32 {
    let (having, of) = (having.min(of) as f32, of as f32);
    (1.0 + (of - having + 0.5) / (having + 0.5)).ln()
}

/// How much a term says that so many have, where another one that means the same has more: who
/// writes `assistant` asks for something common where every page says `agent`, however rare the
/// word.
pub fn idf_of_meaning(having: u32, commonest: u32, of: u32) -> f32 {
    (1.0 - BY_MEANING) * idf(having, of) + BY_MEANING * idf(commonest.max(having), of)
}

/// How much a term is of a text, by how often it stands there and how long that is; from 0 to below
/// 2.2.
#[inline]
pub fn term_frequency(count: f32, length: f32, norm: LengthNorm) -> f32 {
    let expected = SATURATION * (1.0 - norm.b + norm.b * (length / norm.ordinary));
    count * (SATURATION + 1.0) / (count + expected)
}

/// The factor for the best of so many parts: among many, one fits well by chance.
pub fn of_many(parts: usize) -> f32 {
    1.0 / (1.0 + BY_CHANCE * (parts as f32 / FEW_PARTS).max(1.0).ln())
}

/// The factor for a title that has this share of what was asked for, and all of whose words were.
pub fn by_title(share: f32, whole: bool) -> f32 {
    let whole = match whole {
        // Word for word, it is what was asked for.
        true if share > ALL => EQUAL_TITLE,
        true => WHOLE_TITLE * share * share,
        false => 0.0,
    };
    1.0 + TITLE * share + whole
}

/// The factor for a page that has this share of the words that follow each other in the query close
/// together.
pub fn by_pairs(share: f32) -> f32 {
    1.0 + PAIRS * share
}

/// The score of a session: mostly that of the part which fits best. What a person asks for happened
/// in one place; a session in which the same words are scattered over many is another one.
pub fn whole_and_part(whole: f32, best_part: f32) -> f32 {
    (1.0 - PART_SHARE) * whole + PART_SHARE * best_part
}

/// The factor for a hit that lacks a share of the names that were asked for, and is so near to the
/// time.
pub fn boost(names_lacking: f32, nearness: f32) -> f32 {
    (1.0 - NAMES * names_lacking) * (1.0 + IN_TIME * nearness)
}

/// The factor by which a session counts more for having ended later, in seconds since 1970.
pub fn recency(ended: Option<i64>) -> f32 {
    const YEAR: f32 = 365.25 * 86_400.0;
    // A century from 2000 on; dates outside of it are typing errors.
    let years = ended.map_or(0.0, |seconds| (seconds as f32 / YEAR - 30.0).clamp(0.0, 100.0));
    1.0 + years * PER_YEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_say_more() {
        assert!(idf(1, 1000) > idf(10, 1000) && idf(10, 1000) > idf(900, 1000));
        assert!(idf(1000, 1000) > 0.0 && idf(5, 0) > 0.0 && idf(0, 0).is_finite());
        // A rare word for a common thing says less than a rare thing.
        let rare = idf_of_meaning(2, 2, 1000);
        assert!(rare == idf(2, 1000) && idf_of_meaning(2, 700, 1000) < rare);
        assert!(idf_of_meaning(2, 700, 1000) > idf(700, 1000));
    }

    #[test]
    fn more_of_a_term_counts_ever_less() {
        let frequency = |count, length| term_frequency(count, length, DIGEST);
        let step = |count| frequency(count + 1.0, 900.0) - frequency(count, 900.0);
        assert!(step(0.0) > step(1.0) && step(1.0) > step(5.0) && step(5.0) > 0.0);
        assert!(frequency(1.0, 300.0) > frequency(1.0, 3000.0));
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
}
