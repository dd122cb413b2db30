//! Stated: the decisions and lessons of a session for the page that lists them all, with their
//! episodes: what its digest keeps, and what else decides or teaches something.

use std::collections::HashSet;

use super::facts::Facts;
use super::{replies, words};
use crate::base::static_regex::StaticRegex;
use crate::model::digest::{Claim, ClaimKind, Content};
use crate::model::ids::EpisodeId;

/// What was stated of a kind, in the order of the session, each said once.
pub fn stated(facts: &Facts, content: &Content, kind: ClaimKind) -> Vec<Claim> {
    let kept = content.stated.iter().filter(|claim| claim.kind == kind).cloned();
    let said = facts.parts.iter().flat_map(|part| {
        let of_kind = part.statements.iter().filter(move |stated| stated.kind == kind);
        of_kind.filter(move |stated| says(kind, &stated.text)).map(|stated| Claim {
            kind,
            text: stated.text.clone(),
            episode: EpisodeId(part.episode),
            origin: stated.origin,
        })
    });
    let mut known: Vec<HashSet<String>> = Vec::new();
    let mut stated: Vec<Claim> = Vec::new();
    for claim in kept.chain(said) {
        let telling: HashSet<String> = words::telling(&claim.text).into_iter().collect();
        // The same in a few other words is the same.
        let same = |other: &HashSet<String>| {
            telling.intersection(other).count() * 5 >= telling.len().max(other.len()) * 4
        };
        if !known.iter().any(same) {
            known.push(telling);
            stated.push(claim);
        }
    }
    stated.sort_by_key(|claim| claim.episode.0);
    stated
}

/// Whether a sentence decides or teaches something by itself: it has a word that decides ("instead
/// of" alone is a difference), or names the thing that was learnt.
fn says(kind: ClaimKind, sentence: &str) -> bool {
    static DECIDES: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:decided|chose|chosen|(?:go|going|went) with|opt(?:ed)? for|settled on|agreed|let['’]?s use|prefer(?:red)?|we(?:['’]ll| will| should| must| don['’]t| do not| won['’]t)|should (?:not|be|use|stay|have|go|live)|no need|use \S+ (?:instead|rather))\b|^(?:use|keep|make|call|drop|replace|move|switch|instead)\b",
    );
    // What somebody supposes, or a word of the thing itself (`decision logic`), decides nothing.
    static SUPPOSES: StaticRegex = StaticRegex::new(
        r"(?i)^\W*i (?:bet|guess|assume|suspect)\b|\b(?:decision (?:logic|criteria|heuristic|point|making|semantics|runs)|(?:this|that|it)(?:['’]s| is| was) (?:a|an|the|another|just)\b.{0,40}\bdecision)|^\W*decision (?:logic|criteria)\b|decision[- ]making",
    );
    static TEACHES: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:clearer|straightforward|pushed as|committed as|is simple|next step)\b",
    );
    match kind {
        ClaimKind::Decision => {
            DECIDES.is_match(sentence)
                && !SUPPOSES.is_match(sentence)
                && !replies::is_narration(replies::without_cheer(sentence))
        }
        ClaimKind::Lesson => words::telling(sentence).len() >= 4 && !TEACHES.is_match(sentence),
        ClaimKind::Standing | ClaimKind::Open => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::facts::{EpisodeFacts, Statement};
    use crate::model::digest::Origin;

    #[test]
    fn a_decision_has_a_word_that_decides() {
        for decides in [
            "Let's use the lock of the harbour instead of a sidecar.",
            "We should take the lock before the header is there.",
            "OK, going with one lock for each day.",
            "Keep the lock file beside the log rather than in it.",
        ] {
            assert!(says(ClaimKind::Decision, decides), "{decides}");
        }
        for other in [
            "I bet the harbour is read as \"light\" instead of dark.",
            "This decision runs every time a tide is needed.",
            "Ah, this is a crucial architectural decision.",
            "Decision Logic at the Start of a Tide",
            "Changed the header to a lock instead of a sidecar",
        ] {
            assert!(!says(ClaimKind::Decision, other), "{other}");
        }
    }

    #[test]
    fn a_lesson_names_what_was_learnt() {
        assert!(says(
            ClaimKind::Lesson,
            "The cause is that two writers of a tide share one header."
        ));
        for nothing in ["The issue is becoming clearer.", "The fix is pushed as `1f3c9e2`."] {
            assert!(!says(ClaimKind::Lesson, nothing), "{nothing}");
        }
    }

    #[test]
    fn what_is_stated_again_stands_once() {
        let claim = |text: &str, episode| Claim {
            kind: ClaimKind::Decision,
            text: text.into(),
            episode: EpisodeId(episode),
            origin: Origin::User,
        };
        let lock = "Let's use one lock for each harbour log of the day";
        let content = Content {
            stated: vec![claim(lock, 2), claim("Lanterns of the quay are blue", 1)],
            ..Content::default()
        };
        let mut part = EpisodeFacts::of_prompt(3, "x");
        let text = format!("{lock}, please.");
        part.statements.push(Statement { kind: ClaimKind::Decision, text, origin: Origin::User });
        let facts = Facts { parts: vec![part], ..Facts::default() };
        let said: Vec<u32> = stated(&facts, &content, ClaimKind::Decision)
            .iter()
            .map(|claim| claim.episode.0)
            .collect();
        assert_eq!(said, [1, 2]);
    }
}
