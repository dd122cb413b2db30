//! Promotion: a candidate as a pattern of the catalog.

use crate::model::ids::SessionId;
use crate::model::pattern::{Candidate, Hint, Pattern, PatternStatus, Provenance, Scope, Version};
use crate::ops::distribute;
use crate::store::pattern::candidate::Wording;

/// A provisional pattern, with a stub of how it is said to each agent.
pub fn pattern(candidate: &Candidate, written: Option<Wording>, not_in: &[SessionId]) -> Pattern {
    let ours = || Wording {
        title: candidate.title.clone(),
        problem: format!("{}.", candidate.title),
        resolutions: vec![candidate.advice.clone()],
    };
    let words = written.filter(|words| !words.title.is_empty()).unwrap_or_else(ours);
    let resolutions = words.resolutions.into_iter().filter(|one| !one.is_empty()).collect();
    let target = |flavor: &String| Hint {
        flavor: flavor.clone(),
        target: distribute::target_of(flavor).to_string(),
        note: "to refine".into(),
    };
    // What one project's check is called is of no use elsewhere; what goes wrong in several
    // projects may go wrong in all.
    let projects =
        if candidate.projects.len() == 1 { candidate.projects.clone() } else { Vec::new() };
    Pattern {
        id: candidate.id.clone(),
        key: candidate.key.clone(),
        name: words.title,
        status: PatternStatus::Provisional,
        ready: false,
        version: Version::FIRST,
        problem: words.problem,
        resolutions,
        scope: Scope { flavors: candidate.flavors.clone(), projects, domains: Vec::new() },
        provenance: Provenance {
            frequency: candidate.frequency,
            sessions: candidate.sessions.clone(),
            evidence: candidate.evidence_fingerprint(),
            place: candidate.evidence.first().map(|seen| seen.place()),
            promoted: None,
        },
        hints: candidate.flavors.iter().map(target).collect(),
        not_in: not_in.to_vec(),
    }
}
