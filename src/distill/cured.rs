//! Cured states: what a sentence says of the project's own code as it was before a session mended
//! it.
//!
//! "`append` does not take the lock" was true until the same session made `append` take it. Whoever
//! reads the sentence later would look for a fault that is gone.

use std::collections::BTreeSet;

use crate::base::static_regex::StaticRegex;
use crate::distill::change::explains;
use crate::model::ids::EpisodeId;

/// What a line says behind a state that was mended.
pub const FIXED: &str = " → fixed";

/// Whether one of the outcomes, of the same episode or a later one, mends what a sentence says.
pub fn is_cured(said: &str, episode: EpisodeId, outcomes: &[String]) -> bool {
    if !lacks(said) {
        return false;
    }
    let names = names(said);
    outcomes.iter().any(|outcome| {
        let (text, at) = parted(outcome);
        at.is_none_or(|at| at >= episode) && mends(text, &names)
    })
}

/// Whether a line may be remembered as it stands: of what was mended only what says why it went
/// wrong.
pub fn is_lasting(said: &str) -> bool {
    static WHY: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:because|since|so that|which is (?:what|why|how|where))\b");
    said.strip_suffix(FIXED).is_none_or(|said| WHY.is_match(&in_prose(said)))
}

/// Whether an outcome of a later session mends what a sentence says.
pub fn is_cured_later(said: &str, outcomes: &[String]) -> bool {
    is_cured(said, EpisodeId(0), outcomes)
}

/// An outcome, and the episode that stands behind it.
fn parted(outcome: &str) -> (&str, Option<EpisodeId>) {
    let parts = outcome.strip_suffix(')').and_then(|line| line.rsplit_once(" ("));
    match parts.and_then(|(text, episode)| Some((text, episode.parse().ok()?))) {
        Some((text, episode)) => (text, Some(episode)),
        None => (outcome, None),
    }
}

/// Whether a sentence says in the present that the project's own code lacks something or does it
/// wrong.
fn lacks(said: &str) -> bool {
    static LACKS: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:not|\w+n['’]t|never|only|missing|hard-?coded|instead of (?:\w+ly )?\w+ing|lacks?|ignores?)\b",
    );
    // Under which condition something is so is no lack, and "when the lock is not held" is one.
    static WHEN: StaticRegex = StaticRegex::new(
        r"(?i)\bonly (?:if|when|in|for|after|once|where)\b|(?:^|[.,;:] |\b)(?:when|if|where|unless|until)\b[^,;.]*",
    );
    // How it is from now on, or what was made of it.
    static DONE: StaticRegex = StaticRegex::new(
        r"(?i)\bnow\b|\bno longer\b|\byet\b|\bthe fix\b|\b(?:made|moved|resolved|changed|replaced)\b",
    );
    // What another program or a page about it says or demands is so whatever is changed here.
    static FOREIGN: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:docs?|documentation|protocol|spec(?:ification)?|upstream|api) (?:only |now |explicitly )*\w+s?\b|\b(?:requires?|must|expects?)\b",
    );
    // A line that says already what solved it.
    let is_solved = said.contains(" → ");
    let words = in_prose(said);
    !is_solved
        && LACKS.is_match(&WHEN.replace_all(&words, ""))
        && !FOREIGN.is_match(&words)
        && !DONE.is_match(&words)
}

/// Whether an outcome changes one of the things that a sentence names.
fn mends(outcome: &str, of: &BTreeSet<String>) -> bool {
    static CHANGES: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:now|no longer|(?:add|adds|added|exclud(?:e|es|ed)|fix|fixes|fixed|set|sets|call|calls|called|remov(?:e|es|ed)|replac(?:e|es|ed)|pass|passes|passed|handl(?:e|es|ed)|mov(?:e|es|ed)|renam(?:e|es|ed)|switch|switched|chang(?:e|es|ed)|updat(?:e|es|ed)|restor(?:e|es|ed)|rework|reworked|clear|clears|cleared|extract|extracted|guard|guarded|propagat(?:e|es|ed)|wir(?:e|es|ed)|accepts|resolv(?:e|es|ed)))\b",
    );
    CHANGES.is_match(&in_prose(outcome)) && !explains(outcome) && !names(outcome).is_disjoint(of)
}

/// The words of a sentence that do not stand in code.
fn in_prose(said: &str) -> String {
    said.split('`').step_by(2).collect::<Vec<_>>().join("_")
}

/// The names of code in a sentence: a span of one word, or what is written like a name.
fn names(said: &str) -> BTreeSet<String> {
    static NAME: StaticRegex = StaticRegex::new(
        r"`([^`\s]{3,})`|\b([a-z]+[A-Z]\w+|[A-Z]\w*[a-z][A-Z]\w+|\w+_\w+)\b|(--[a-z][\w-]{2,})",
    );
    let found = NAME.captures_iter(said).filter_map(|found| {
        found.get(1).or(found.get(2)).or(found.get(3)).map(|name| name.as_str())
    });
    let bare = |name: &str| {
        let name = name.split('(').next().unwrap_or(name);
        name.rsplit("::").next().unwrap_or(name).trim_matches(['.', '/', '*']).to_lowercase()
    };
    let mut all: BTreeSet<String> = BTreeSet::new();
    for name in found.map(bare) {
        // `logging.WithAgent` is also `WithAgent`; `lock.rs` is no `rs`.
        if let Some((_, last)) = name.rsplit_once('.').filter(|(_, last)| last.len() > 4) {
            all.insert(last.to_string());
        }
        all.insert(name);
    }
    all.retain(|name| name.len() > 3);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cured(said: &str, outcome: &str) -> bool {
        is_cured(said, EpisodeId(2), &[outcome.to_string()])
    }

    #[test]
    fn what_a_session_mended_was_so_before() {
        for (said, outcome) in [
            (
                "The `append_day` function only sets `header`, but does not set `lock`",
                "src/day.rs: `append_day` now sets both `header` and `lock` (EP_002)",
            ),
            (
                "The settings don't exclude `.harbour/` or `.pier/`",
                "PR #12 merged: enable the linter; Excludes `.harbour/` from it (EP_003)",
            ),
            (
                "`WithTide` is never called where the log begins",
                "Added `log.WithTide(day)` calls to all readers (EP_002)",
            ),
            ("The `Pier.tsx` view has a hardcoded `boatName`", "Update boatName (EP_004)"),
        ] {
            assert!(cured(said, outcome), "{said}");
        }
    }

    #[test]
    fn what_nobody_mended_is_still_so() {
        let said = "`append_day` does not take the lock";
        for outcome in [
            "Fixed `read_day` (EP_002)",
            "Fixed `append_day` (EP_001)",
            "`append_day` is the one that writes the header (EP_002)",
            "Both of them are there, and `append_day` does not call the lock (EP_002)",
        ] {
            assert!(!cured(said, outcome), "{outcome}");
        }
        for foreign in [
            "Tide API requires `tide_end` to follow `tide_start`, not the other way round",
            "The Tide docs say that `tide_end` is not for boats",
            "error: no `tide_end` → the clock is not set → solved by changing day.rs",
            "`tide_end` is the time at which the boats leave",
            "`tide_end` is read only when the boats are out",
            "When the clock is not set, `tide_end` is the end of the day",
            "`tide_end` is not set on this pier yet",
            "`tide_end` is now read by the pilot, not by the boat",
        ] {
            assert!(!cured(foreign, "Added `tide_end` to the log (EP_002)"), "{foreign}");
        }
    }
}
