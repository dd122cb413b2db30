//! Confidence: how likely a hit is what was asked for, from what it has of the question.

use crate::model::hit::HitEvidence;

/// What a document has of a question, in the weight of the question's words.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// What its best part has.
    pub part: f32,
    /// What all of it has.
    pub page: f32,
    /// The weight of all that was asked for.
    pub asked: f32,
    /// The share of the question's names that it lacks.
    pub names_lacking: f32,
}

/// Below it, a hit is only a guess. Of questions that nothing answers, fewer than 1 in 15 get a hit
/// above it, on projects that it was not chosen on.
pub const CONFIDENT: f32 = 0.67;
/// How much the share of a question's weight counts that the best part has, and that the whole page
/// has. Fitted by logistic regression on questions about real sessions, half of them asked of a
/// memory without the project they are about; `benches/confidence.py` fits and judges by project.
const BY_PART: f32 = 7.6;
const BY_PAGE: f32 = 1.8;
const AGAINST: f32 = 4.9;

impl Evidence {
    /// Its shares, as they are shown.
    pub fn shown(&self) -> HitEvidence {
        let share = |weight: f32| {
            let share = weight / self.asked.max(f32::MIN_POSITIVE);
            f64::from((share.clamp(0.0, 1.0) * 1000.0).round()) / 1000.0
        };
        HitEvidence { part: share(self.part), page: share(self.page) }
    }

    /// How likely it is what was asked for, from 0 to 1. Where nothing was asked in words, whatever
    /// the filters let through is.
    pub fn confidence(&self) -> f32 {
        if self.asked <= 0.0 {
            return 1.0;
        }
        let (part, page) = (self.part / self.asked, self.page / self.asked);
        let evidence = BY_PART * part + BY_PAGE * page - AGAINST;
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
        let has = |part: f32| Evidence { part, page: part, asked: 10.0, names_lacking: 0.0 };
        let steps: Vec<f32> = (0..=10).map(|part| has(part as f32).confidence()).collect();
        assert!(steps.is_sorted() && steps[0] < 0.05 && steps[10] > 0.95, "{steps:?}");
        let lacking = Evidence { names_lacking: 0.5, ..has(10.0) };
        assert!(lacking.confidence() < CONFIDENT);
        assert_eq!(Evidence::default().confidence(), 1.0);
        assert!(guess(1.0) < CONFIDENT && guess(0.2) < guess(0.4));
    }
}
