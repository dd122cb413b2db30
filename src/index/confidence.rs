//! Confidence: how likely a hit is what was asked for, from what it has of the question.

use crate::model::hit::HitEvidence;

/// What a document has of a question, in the weight of the question's words.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// What its best part has.
    pub part: f32,
    /// What all of it has.
    pub page: f32,
    /// The weight of all that was asked for, and of a word that only one document has.
    pub asked: f32,
    pub rare_word: f32,
    /// How many parts it has.
    pub parts: usize,
    /// The share of the question's names that it lacks.
    pub names_lacking: f32,
}

/// Below it, a hit is only a guess. Of questions that nothing answers, fewer than 1 in 20 get a hit
/// above it, on projects that it was not chosen on.
pub const CONFIDENT: f32 = 0.67;
/// How much the share of a question's weight counts that the best part has, and that the whole page
/// has, which says less the more parts there are; and how much is asked, in words that only one
/// document has: half of many words is more than half of two. Fitted by logistic regression on
/// questions about real sessions, half of them asked of a memory without the project they are
/// about; `benches/confidence.py` fits and judges by project.
const BY_PART: f32 = 9.9;
const BY_PAGE: f32 = 9.7;
const BY_ASKED: f32 = 2.7;
const AGAINST: f32 = 10.0;
/// More words than that say no more of how sure a hit is.
const MOST_ASKED: f32 = 12.0;
/// Up to so many parts a page is short.
const FEW_PARTS: f32 = 4.0;

impl Evidence {
    /// Its shares, as they are shown.
    pub fn shown(&self) -> HitEvidence {
        let share = |weight: f32| {
            let share = weight / self.asked.max(f32::MIN_POSITIVE);
            f64::from((share.clamp(0.0, 1.0) * 1000.0).round()) / 1000.0
        };
        HitEvidence {
            part: share(self.part),
            page: share(self.page),
            asked: f64::from((self.asked_words() * 100.0).round()) / 100.0,
            parts: self.parts,
        }
    }

    /// How many words are asked for, counted in words that only one document has: at least one.
    fn asked_words(&self) -> f32 {
        (self.asked / self.rare_word.max(f32::MIN_POSITIVE)).clamp(1.0, MOST_ASKED)
    }

    /// How likely it is what was asked for, from 0 to 1. Where nothing was asked in words, whatever
    /// the filters let through is.
    pub fn confidence(&self) -> f32 {
        if self.asked <= 0.0 {
            return 1.0;
        }
        let (part, page) = (self.part / self.asked, self.page / self.asked);
        let page = page / (1.0 + (self.parts as f32 / FEW_PARTS).max(1.0).ln());
        let asked = self.asked_words().ln();
        let evidence = BY_PART * part + BY_PAGE * page + BY_ASKED * asked - AGAINST;
        let confidence = 1.0 / (1.0 + (-evidence).exp());
        // Who asks for a name is not served by a page that has everything but it.
        match self.names_lacking > 0.0 {
            true => guess(confidence),
            false => confidence,
        }
    }
}

/// A confidence that is no more than a guess's, in the same order.
pub fn guess(confidence: f32) -> f32 {
    (confidence * CONFIDENT).min(CONFIDENT - 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_the_question_gives_more_confidence() {
        let has = |part: f32| Evidence {
            part,
            page: part,
            asked: 10.0,
            rare_word: 5.0,
            ..Evidence::default()
        };
        let steps: Vec<f32> = (0..=10).map(|part| has(part as f32).confidence()).collect();
        assert!(steps.is_sorted() && steps[0] < 0.05 && steps[10] > 0.95, "{steps:?}");
        let lacking = Evidence { names_lacking: 0.5, ..has(10.0) };
        assert!(lacking.confidence() < CONFIDENT);
        assert_eq!(Evidence::default().confidence(), 1.0);
        // A long session has some words of anything, and of few words half is little.
        let long = Evidence { parts: 100, ..has(6.0) };
        assert!(long.confidence() < has(6.0).confidence());
        let few = Evidence { rare_word: 10.0, ..has(6.0) };
        assert!(few.confidence() < has(6.0).confidence());
        // One word, however common, is all that was asked for.
        let one = Evidence { part: 0.5, page: 0.5, asked: 0.5, rare_word: 4.6, ..long };
        assert!(one.confidence() > CONFIDENT, "{}", one.confidence());
        assert!(guess(1.0) < CONFIDENT && guess(0.2) < guess(0.4));
    }
}
