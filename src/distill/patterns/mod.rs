//! Patterns: what goes wrong or right again and again, from what digests count.
//!
//! A digest becomes an [`Observed`]; sessions that are no real work are left out; the rest give
//! [signals](signals), which are [put together](cluster) by polarity, kind and locus. The same
//! sessions always give the same candidates.

pub mod cluster;
pub mod fixes;
pub mod loci;
pub mod measure;
pub mod named;
pub mod signals;
pub mod similar;

use crate::base::clock::Timestamp;
use crate::model::digest::{Claim, ClaimKind, Digest, ErrorFact, Origin, Outcome, Worth};
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::pattern::{Candidate, Thresholds};
use crate::model::signals::Signals;

/// What of a session counts here.
#[derive(Debug, Clone)]
pub struct Observed {
    pub session: SessionId,
    pub flavor: String,
    pub project: Option<String>,
    pub domain: Option<String>,
    /// Where it worked.
    pub cwd: Option<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub tokens: u64,
    pub status: Outcome,
    pub worth: Worth,
    pub signals: Signals,
    /// Errors as they were printed: also those that were pasted or that no failed call had.
    pub printed: Vec<ErrorFact>,
    /// What was learnt, whoever said it: also what the calls themselves show.
    pub learnt: Vec<Claim>,
    /// What was learnt, as it was said.
    pub lessons: Vec<(EpisodeId, String)>,
    /// What the person wants from now on, in their words.
    pub wishes: Vec<(EpisodeId, String)>,
    /// Commands that checked the work and passed.
    pub checks: Vec<String>,
    /// What was asked first.
    pub prompt: String,
}

impl Observed {
    /// What a digest says.
    pub fn of(digest: Digest) -> Observed {
        let content = digest.content;
        let said = |kind: ClaimKind, origin: Origin| {
            let claims = content.stated.iter();
            let chosen = claims.filter(move |claim| claim.kind == kind && claim.origin == origin);
            chosen.map(|claim| (claim.episode, claim.text.clone()))
        };
        let checks = content.stated.iter().flat_map(|claim| claim.checks());
        let learnt = content.stated.iter().filter(|claim| claim.kind == ClaimKind::Lesson);
        Observed {
            session: digest.session,
            learnt: learnt.cloned().collect(),
            lessons: said(ClaimKind::Lesson, Origin::Assistant).collect(),
            wishes: said(ClaimKind::Standing, Origin::User).collect(),
            checks: checks.map(str::to_string).collect(),
            flavor: content.flavor,
            project: content.project,
            domain: content.domain,
            cwd: content.cwd,
            started: content.started,
            ended: content.ended,
            tokens: content.tokens_in + content.tokens_out,
            status: content.status,
            worth: content.worth,
            signals: content.signals,
            printed: content.errors,
            prompt: content.objective,
        }
    }

    /// How many calls there were, of all tools.
    pub fn calls(&self) -> u64 {
        self.signals.tools.values().sum()
    }

    /// Whether it is real work of which something can be learnt.
    pub fn is_real_work(&self, thresholds: &Thresholds) -> bool {
        const TRIVIAL: &[&str] = &[
            "say hello",
            "hello",
            "[request interrupted",
            "return only this json",
            "ping",
            "ok",
            "<system-reminder>",
        ];
        let prompt = self.prompt.trim().to_lowercase();
        let substantive: u64 = self
            .signals
            .tools
            .iter()
            .filter(|(tool, _)| signals::Bucket::of(tool).is_substantive())
            .map(|(_, count)| count)
            .sum();
        self.worth == Worth::Full
            && self.project.is_some()
            && self.signals.events.values().sum::<u64>() >= thresholds.min_events
            && substantive >= thresholds.min_substantive
            && prompt.chars().count() >= thresholds.min_prompt_chars
            && !TRIVIAL.iter().any(|start| prompt.starts_with(start))
    }
}

/// The sessions that are real work, in the order in which they ended.
pub fn real_work<'s>(sessions: &'s [Observed], thresholds: &Thresholds) -> Vec<&'s Observed> {
    let mut real: Vec<&Observed> =
        sessions.iter().filter(|session| session.is_real_work(thresholds)).collect();
    real.sort_by(|a, b| (a.ended, &a.session).cmp(&(b.ended, &b.session)));
    real
}

/// The patterns that sessions show, the weightiest first.
pub fn detect(sessions: &[Observed], thresholds: &Thresholds) -> Vec<Candidate> {
    let real = real_work(sessions, thresholds);
    let found = signals::of_all(&real, thresholds);
    cluster::candidates(&real, found, thresholds)
}
