//! Detect: what goes wrong or right again and again, from the digests alone.
//!
//! Candidates that wait for a decision are pages below `patterns/candidates`. What was approved is
//! in the catalog, what was rejected is in `reviews.jsonl`; it comes back when its evidence
//! changes.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::setters::setters;
use crate::distill::patterns::{self, Observed};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::pattern::{Candidate, PatternId, PatternStatus, Thresholds};
use crate::ops::distribute;
use crate::store::authored;
use crate::store::pattern::candidate;
use crate::store::pattern::catalog::{self, Catalog};
use crate::store::pattern::reviews::{Action, Reviews};

/// What to look through.
#[derive(Debug, Clone, Default)]
pub struct DetectRequest {
    /// Instead of the setting.
    pub min_frequency: Option<u64>,
    /// Only sessions that ended since.
    pub since: Option<Timestamp>,
    /// Only sessions of a project.
    pub project: Option<String>,
    /// Whether nothing is written.
    pub dry_run: bool,
}

setters!(DetectRequest {
    min_frequency: Option<u64>,
    since: Option<Timestamp>,
    project: Option<String>,
    dry_run: bool,
});

impl DetectRequest {
    /// Whether it looks through everything, so that its answer is that of the whole memory.
    fn is_whole(&self) -> bool {
        self.min_frequency.is_none() && self.since.is_none() && self.project.is_none()
    }
}

/// What was found.
#[derive(Debug, Default, Serialize)]
pub struct DetectReport {
    /// The weightiest first.
    pub candidates: Vec<Found>,
    pub sessions: SessionCounts,
    /// The pages that were written or taken away, relative to the memory.
    pub changed: Vec<String>,
    /// What could not be read, as `path: reason`.
    pub damaged: Vec<String>,
}

/// How many sessions were looked through.
#[derive(Debug, Default, Serialize)]
pub struct SessionCounts {
    pub read: usize,
    /// Those that are real work.
    pub used: usize,
}

/// A candidate, and what was decided about it.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    #[serde(flatten)]
    pub candidate: Candidate,
    pub state: CandidateState,
}

/// What was decided about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidateState {
    Waiting,
    /// It is in the catalog.
    Approved,
    Rejected,
    Retired,
}

impl CandidateState {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            CandidateState::Waiting => "waiting",
            CandidateState::Approved => "approved",
            CandidateState::Rejected => "rejected",
            CandidateState::Retired => "retired",
        }
    }
}

impl Memory {
    /// Finds patterns, and writes a page for each that waits for a decision.
    pub fn detect(&self, request: DetectRequest) -> Result<DetectReport> {
        let whole = request.is_whole();
        let observed = self.observed()?;
        distribute::named(&observed.sessions, request.project.as_deref())?;
        let mut report = DetectReport { damaged: observed.damaged, ..DetectReport::default() };
        let mut thresholds = self.thresholds();
        thresholds.min_frequency = request.min_frequency.unwrap_or(thresholds.min_frequency);
        let chosen: Vec<Observed> = observed
            .sessions
            .into_iter()
            .filter(|session| request.since.is_none_or(|since| session.ended >= Some(since)))
            .filter(|session| request.project.is_none() || session.project == request.project)
            .collect();
        report.sessions.read = chosen.len();
        report.sessions.used = chosen.iter().filter(|one| one.is_real_work(&thresholds)).count();
        let candidates = patterns::detect(&chosen, &thresholds);
        report.candidates = self.with_states(candidates)?;
        if whole && !request.dry_run {
            report.changed = self.write_candidates(&report.candidates)?;
        }
        Ok(report)
    }

    /// From when on something is a pattern.
    pub(crate) fn thresholds(&self) -> Thresholds {
        let set = self.settings().detect.clone();
        Thresholds {
            retries: set.retries.max(1),
            failures: set.failures.max(1),
            schema_loads: set.schema_loads.max(1),
            ..set
        }
    }

    /// What all digests say, as far as they can be read.
    pub(crate) fn observed(&self) -> Result<ObservedSessions> {
        let store = self.store();
        let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
        let read: Vec<_> = ids
            .par_iter()
            .filter_map(|id| match store.digest(id) {
                Ok(digest) => digest.map(|digest| Ok(Observed::of(digest))),
                Err(err) => {
                    let path = self.layout().shown(&self.layout().digest(id));
                    Some(Err(format!("{path}: {}", err.causes().join(": "))))
                }
            })
            .collect();
        let mut all = ObservedSessions::default();
        for one in read {
            match one {
                Ok(session) => all.sessions.push(session),
                Err(damaged) => all.damaged.push(damaged),
            }
        }
        Ok(all)
    }

    /// Candidates with what was decided about them.
    pub(crate) fn with_states(&self, candidates: Vec<Candidate>) -> Result<Vec<Found>> {
        let reviews = self.reviews()?;
        let catalog = self.catalog()?;
        let in_force = reviews.in_force();
        let state = |candidate: &Candidate| {
            let decided = in_force.get(candidate.id.as_str());
            let listed = catalog.get(&candidate.id);
            if listed.is_some_and(|pattern| pattern.status == PatternStatus::Retired) {
                return CandidateState::Retired;
            }
            match decided.map(|decision| decision.action) {
                Some(Action::Approve) if listed.is_some() => CandidateState::Approved,
                Some(Action::Retire) => CandidateState::Retired,
                Some(Action::Reject)
                    if decided
                        .is_some_and(|it| it.evidence == candidate.evidence_fingerprint()) =>
                {
                    CandidateState::Rejected
                }
                _ => CandidateState::Waiting,
            }
        };
        Ok(candidates
            .into_iter()
            .map(|candidate| Found { state: state(&candidate), candidate })
            .collect())
    }

    /// Writes a page for each candidate that waits, where it changed, and takes away those of what
    /// does not wait any more, unless somebody wrote into them.
    pub(crate) fn write_candidates(&self, found: &[Found]) -> Result<Vec<String>> {
        let layout = self.layout();
        let _lock = files::lock_exclusive(&layout.patterns_lock())
            .context(|| self.store().cannot_write())?;
        self.store().refuse_links(None)?;
        let mut changed = Vec::new();
        let mut waiting: BTreeSet<PatternId> = BTreeSet::new();
        let cannot = || "cannot write the candidates".to_string();
        for one in found.iter().filter(|one| one.state == CandidateState::Waiting) {
            let path = layout.candidate(&one.candidate.id);
            let page = candidate::page(&one.candidate);
            let wrote = authored::replace(layout, &path, |now| {
                Some(now.map_or_else(|| page.to_text(), |now| page.over(now)))
            })
            .context(cannot)?;
            if wrote {
                changed.push(layout.shown(&path));
            }
            waiting.insert(one.candidate.id.clone());
        }
        for (path, name) in catalog::pages(&layout.candidates()).context(cannot)? {
            let waits = name.parse().is_ok_and(|id| waiting.contains(&id));
            let is_ours = files::read_to_string(&path).is_ok_and(|text| authored::is_ours(&text));
            if !waits && is_ours {
                files::remove_file(&path).context(cannot)?;
                changed.push(layout.shown(&path));
            }
        }
        Ok(changed)
    }

    /// The decisions, and how much each is worth here.
    pub(crate) fn reviews(&self) -> Result<Reviews> {
        let shown = || format!("cannot read `{}`", self.layout().shown(&self.layout().reviews()));
        Reviews::load(self.layout(), &self.trust()).context(shown)
    }

    /// The catalog.
    pub(crate) fn catalog(&self) -> Result<Catalog> {
        Catalog::load(self.layout()).context(|| "cannot read the catalog of patterns".into())
    }
}

/// All sessions, and the digests that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct ObservedSessions {
    pub sessions: Vec<Observed>,
    pub damaged: Vec<String>,
}
