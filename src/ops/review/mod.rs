//! Review: the one place where a person says yes or no.
//!
//! The engine knows no screen: it hands over one item after the other and is told what to do. The
//! inbox holds what agents propose, candidates, patterns of the catalog that nobody here approved
//! as they stand, patterns that measurements speak against, and landmarks of cores that wait or are
//! contested.

mod inbox;
mod landmarks;
mod promotion;
mod proposals;
mod sink;
mod versions;

use serde::Serialize;

pub use inbox::{AgentsView, Inbox, InboxItem, ItemKind};
pub use proposals::{InstructionRequest, ProposeRequest};

use crate::base::{files, text};
use crate::distill::patterns::{self, Observed};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::model::pattern::{Candidate, Pattern, PatternId, PatternStatus};
use crate::ops::detect::{CandidateState, DetectRequest};
use crate::ops::distribute;
use crate::store::authored;
use crate::store::pattern::candidate;
use crate::store::pattern::catalog::{self, Upserted};
pub use crate::store::pattern::reviews::Action;
use crate::store::pattern::reviews::{self, Decision};

/// What a person says of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Yes, and why.
    Approve(String),
    /// No, and why.
    Reject(String),
    /// Not now: nothing is recorded.
    Discuss,
    /// Yes, in other words: what to do.
    Edit(String),
    /// The last decision does not count.
    Undo,
    /// Enough for today.
    Stop,
}

/// What a review did.
#[derive(Debug, Default, Serialize)]
pub struct ReviewReport {
    pub decided: Vec<Decided>,
    /// How many items wait after it.
    pub left: usize,
    /// What could not be read, as `path: reason`.
    pub damaged: Vec<String>,
    /// Decisions that the person's own program has not taken yet.
    pub queued: usize,
}

/// One decision.
#[derive(Debug, Clone, Serialize)]
pub struct Decided {
    pub item: String,
    pub action: Action,
    /// What became of the page in the catalog.
    pub catalog: Option<Upserted>,
    /// What a person should know of it.
    pub warnings: Vec<String>,
}

impl Decided {
    /// Warns of what keeps an approved pattern from agents.
    fn warn_of(&mut self, pattern: &Pattern) {
        let Some(reason) = distribute::refusal(pattern) else { return };
        let how = match pattern.resolutions.is_empty() {
            true => "approve it again with `--advice TEXT`",
            false => "say it otherwise with `--advice TEXT`",
        };
        self.warnings.retain(|known| *known != reason);
        self.warnings.push(format!("{reason}, so no agent gets it: {how}"));
    }
}

impl Memory {
    /// Goes through the inbox; `decide` says what to do with each item.
    pub fn review(&self, decide: &mut dyn FnMut(&InboxItem) -> Reply) -> Result<ReviewReport> {
        let mut inbox = self.inbox()?;
        let mut report =
            ReviewReport { damaged: std::mem::take(&mut inbox.damaged), ..ReviewReport::default() };
        let mut at = 0;
        while let Some(item) = inbox.items.get(at) {
            match decide(item) {
                Reply::Approve(why) => report.decided.push(self.approve(item, &why, None, false)?),
                Reply::Edit(advice) => {
                    report.decided.push(self.approve(item, "", Some(&advice), false)?);
                }
                Reply::Reject(why) => report.decided.push(self.reject(item, &why)?),
                Reply::Discuss => {}
                Reply::Stop => break,
                Reply::Undo => {
                    if let Some(undone) = self.undo()? {
                        let before =
                            inbox.items[..at].iter().rposition(|one| one.id == undone.item);
                        report.decided.push(undone);
                        at = before.unwrap_or(at);
                    }
                    continue;
                }
            }
            at += 1;
        }
        self.detect(DetectRequest::default())?;
        report.left = self.inbox()?.items.len();
        report.queued = self.flush_decisions()?;
        Ok(report)
    }

    /// Withdraws patterns of the catalog by name; the next distribution takes them out.
    pub fn retire(&self, names: &[String], why: &str) -> Result<ReviewReport> {
        let catalog = self.catalog()?;
        let items: Vec<InboxItem> = names
            .iter()
            .map(|name| {
                let id = inbox::named_in(&catalog, name)?;
                Ok(inbox::retire_item(&self.pattern_or_error(&id)?, "you asked for it"))
            })
            .collect::<Result<_>>()?;
        let mut report = ReviewReport { damaged: catalog.damaged, ..ReviewReport::default() };
        for item in &items {
            report.decided.push(self.approve(item, why, None, false)?);
        }
        report.left = self.inbox()?.items.len();
        report.queued = self.flush_decisions()?;
        Ok(report)
    }

    /// Decides on items by name.
    pub fn decide(&self, chosen: &[(String, Reply)]) -> Result<ReviewReport> {
        let (known, catalog) = (self.inbox()?, self.catalog()?);
        let (mut names, mut again) = (Vec::new(), Vec::new());
        for (name, reply) in chosen {
            match (self.full_name(&known, name), reply) {
                (Ok(name), reply) => names.push((name, reply.clone())),
                (Err(err), Reply::Edit(advice)) => {
                    // What was approved already may be said in other words.
                    let Ok(id) = inbox::named_in(&catalog, name) else { return Err(err) };
                    again.push((inbox::to_say_again(&self.pattern_or_error(&id)?), advice));
                }
                (Err(err), _) => return Err(err),
            }
        }
        let said: Vec<Decided> = again
            .iter()
            .map(|(item, advice)| self.approve(item, "", Some(advice), false))
            .collect::<Result<_>>()?;
        let mut report = self.review(&mut |item| {
            let found = names.iter().find(|(name, _)| *name == item.id);
            found.map_or(Reply::Discuss, |(_, reply)| reply.clone())
        })?;
        report.decided.splice(0..0, said);
        Ok(report)
    }

    /// The name of the item that a person means, by its beginning.
    fn full_name(&self, inbox: &Inbox, name: &str) -> Result<String> {
        let fits: Vec<&InboxItem> =
            inbox.items.iter().filter(|item| item.id.starts_with(name)).collect();
        match fits.as_slice() {
            [] => Err(Error::not_found(format!("nothing waits under the name `{name}`"))
                .hint("`memtree review --list` shows what waits")),
            [one] => Ok(one.id.clone()),
            several => match several.iter().find(|item| item.id == name) {
                Some(one) => Ok(one.id.clone()),
                None => Err(Error::usage(format!("`{name}` could be several items"))
                    .hint("write more of the name")),
            },
        }
    }

    /// Takes in what passes the gate, as provisional: nothing of it is distributed without a
    /// person's yes. What does not say what to do does not pass.
    pub fn auto_approve(&self) -> Result<ReviewReport> {
        let gate = self.settings().review.clone();
        let mut inbox = self.inbox()?;
        let mut report =
            ReviewReport { damaged: std::mem::take(&mut inbox.damaged), ..ReviewReport::default() };
        for item in &inbox.items {
            let Some(candidate) =
                item.candidate.as_ref().filter(|_| item.kind == ItemKind::Candidate)
            else {
                continue;
            };
            let passes = candidate.frequency >= gate.min_frequency
                && candidate.sessions.len() >= gate.min_sessions
                && candidate.cost_impact >= gate.min_cost
                && !item.advice.is_empty();
            if passes {
                report.decided.push(self.approve(item, "the gate", None, true)?);
            }
        }
        self.detect(DetectRequest::default())?;
        report.left = self.inbox()?.items.len();
        report.queued = self.flush_decisions()?;
        Ok(report)
    }

    /// Takes an item in.
    fn approve(
        &self,
        item: &InboxItem,
        why: &str,
        advice: Option<&str>,
        auto: bool,
    ) -> Result<Decided> {
        let cannot = || self.store().cannot_write();
        let layout = self.layout();
        let _lock = files::lock_exclusive(&layout.patterns_lock()).context(cannot)?;
        match item.kind {
            ItemKind::Version => {
                self.set_version(item, true)?;
                self.record(item, &item.id, Action::Approve, why, "", auto)
            }
            ItemKind::Landmark => {
                self.set_landmark(item, true)?;
                self.record(item, &item.id, Action::Approve, why, "", auto)
            }
            ItemKind::Retire => {
                let id = item.pattern_id().ok_or_else(|| Error::new("the item has no pattern"))?;
                let mut pattern = self.pattern_or_error(&id)?;
                pattern.status = PatternStatus::Retired;
                let wrote = catalog::upsert(layout, &mut pattern, &[]).context(cannot)?;
                let decided = self.record(item, id.as_str(), Action::Retire, why, "", auto)?;
                Ok(Decided { catalog: Some(wrote), ..decided })
            }
            ItemKind::Candidate | ItemKind::Changed | ItemKind::Standing => {
                let mut pattern = match &item.candidate {
                    Some(candidate) if item.kind != ItemKind::Changed => {
                        self.pattern_of(candidate)?
                    }
                    _ => {
                        let id = item.pattern_id();
                        let id = id.ok_or_else(|| Error::new("the item has no pattern"))?;
                        self.pattern_or_error(&id)?
                    }
                };
                if let Some(advice) = advice.map(|advice| text::one_line(advice, 300)) {
                    pattern.resolutions = vec![advice];
                    // A person's words take the place of ours on the page, too.
                    files::remove_file(&layout.pattern(&pattern.id)).context(cannot)?;
                }
                pattern.ready = !pattern.resolutions.is_empty();
                pattern.status =
                    if auto { PatternStatus::Provisional } else { PatternStatus::Approved };
                let gate = &self.settings().review;
                if let Some(candidate) = item.candidate.as_ref().filter(|_| auto) {
                    pattern.ready &= candidate.frequency >= gate.ready_frequency
                        && (candidate.cross_flavor || !gate.ready_cross_flavor);
                }
                let evidence = item.candidate.as_ref().map(|one| one.evidence.as_slice());
                let wrote = catalog::upsert(layout, &mut pattern, evidence.unwrap_or_default())
                    .context(cannot)?;
                // What stands there now is what was said yes to.
                let now = self.pattern_or_error(&pattern.id)?;
                let text = now.text_hash();
                let mut decided =
                    self.record(item, pattern.id.as_str(), Action::Approve, why, &text, auto)?;
                files::remove_file(&layout.candidate(&pattern.id)).context(cannot)?;
                decided.warn_of(&now);
                Ok(Decided { catalog: Some(wrote), ..decided })
            }
        }
    }

    /// Turns an item down.
    fn reject(&self, item: &InboxItem, why: &str) -> Result<Decided> {
        let cannot = || self.store().cannot_write();
        let _lock = files::lock_exclusive(&self.layout().patterns_lock()).context(cannot)?;
        if item.kind == ItemKind::Landmark {
            self.set_landmark(item, false)?;
        }
        if item.kind == ItemKind::Version {
            self.set_version(item, false)?;
        }
        if item.kind == ItemKind::Candidate
            && let Some(id) = item.pattern_id()
        {
            let path = self.layout().candidate(&id);
            if files::read_to_string(&path).is_ok_and(|text| authored::is_ours(&text)) {
                files::remove_file(&path).context(cannot)?;
            }
        }
        self.record(item, &item.id, Action::Reject, why, &item.text_hash, false)
    }

    /// Takes the last decision of this device back; none where there is none.
    pub fn undo(&self) -> Result<Option<Decided>> {
        let cannot = || self.store().cannot_write();
        let _lock = files::lock_exclusive(&self.layout().patterns_lock()).context(cannot)?;
        let reviews = self.reviews()?;
        let Some(last) = reviews.last_own().cloned() else { return Ok(None) };
        let decision = Decision {
            at: reviews::stamp(self.now()),
            action: Action::Undo,
            why: String::new(),
            ..last.clone()
        };
        reviews::append(self.layout(), &decision).context(cannot)?;
        if let (Ok(id), Action::Retire) = (last.item.parse::<PatternId>(), last.action) {
            self.bring_back(&id)?;
        }
        if let (Ok(id), Action::Approve) = (last.item.parse::<PatternId>(), last.action) {
            let path = self.layout().pattern(&id);
            let still = self.reviews()?.in_force().contains_key(last.item.as_str());
            let is_ours = files::read_to_string(&path).is_ok_and(|text| authored::is_ours(&text));
            if !still && is_ours {
                files::remove_file(&path).context(cannot)?;
            }
        }
        let warnings = Vec::new();
        Ok(Some(Decided { item: last.item, action: Action::Undo, catalog: None, warnings }))
    }

    /// Gives a pattern the status that it had before it was retired.
    fn bring_back(&self, id: &PatternId) -> Result<()> {
        let mut pattern = self.pattern_or_error(id)?;
        let reviews = self.reviews()?;
        let before = reviews.in_force().get(id.as_str()).copied().cloned();
        let is_approved = before.is_some_and(|it| it.action == Action::Approve && !it.auto);
        pattern.status =
            if is_approved { PatternStatus::Approved } else { PatternStatus::Provisional };
        catalog::upsert(self.layout(), &mut pattern, &[])
            .map(drop)
            .context(|| self.store().cannot_write())
    }

    fn record(
        &self,
        item: &InboxItem,
        name: &str,
        action: Action,
        why: &str,
        text_hash: &str,
        auto: bool,
    ) -> Result<Decided> {
        let why = self.redactor()?.redact(&text::one_line(why, 400)).into_owned();
        let decision = Decision {
            at: reviews::stamp(self.now()),
            device: self.device().to_string(),
            number: 0,
            item: name.to_string(),
            action,
            why,
            evidence: item.evidence_fingerprint.clone(),
            text: text_hash.to_string(),
            auto,
        };
        let cannot = || self.store().cannot_write();
        reviews::append(self.layout(), &decision).context(cannot)?;
        self.queue_decision(item, &decision)?;
        let warnings = item.warnings.clone();
        Ok(Decided { item: item.id.clone(), action, catalog: None, warnings })
    }

    /// A pattern of the catalog.
    pub(crate) fn pattern_or_error(&self, id: &PatternId) -> Result<Pattern> {
        let path = self.layout().pattern(id);
        let cannot = || format!("cannot read the pattern `{}`", self.layout().shown(&path));
        let text = files::read_to_string(&path).context(cannot)?;
        catalog::parse(&text).context(cannot)
    }

    /// A candidate as a pattern: in the words of its page, where a person changed them.
    fn pattern_of(&self, candidate: &Candidate) -> Result<Pattern> {
        let page = files::read_to_string(self.layout().candidate(&candidate.id)).ok();
        let written = page.as_deref().and_then(candidate::parse).map(|(_, words)| words);
        let sessions = self.observed()?.sessions;
        Ok(promotion::pattern(candidate, written, &self.not_in(candidate, &sessions)))
    }

    /// Five sessions of its projects and agents in which it did not show: the same on every device.
    fn not_in(&self, candidate: &Candidate, sessions: &[Observed]) -> Vec<SessionId> {
        let thresholds = self.thresholds();
        let mut free: Vec<(String, &Observed)> = patterns::real_work(sessions, &thresholds)
            .into_iter()
            .filter(|one| candidate.flavors.contains(&one.flavor))
            .filter(|one| !candidate.sessions.contains(&one.session))
            .map(|one| {
                let name = format!("{} {}", candidate.id, one.session);
                (files::sha256_hex(name.as_bytes()), one)
            })
            .collect();
        free.sort_by(|a, b| a.0.cmp(&b.0));
        let mut chosen: Vec<_> =
            free.into_iter().take(5).map(|(_, one)| one.session.clone()).collect();
        chosen.sort();
        chosen
    }

    /// The patterns that a person approved here or on a trusted device, as they stand.
    pub(crate) fn approved_patterns(&self) -> Result<Vec<Pattern>> {
        let (reviews, catalog) = (self.reviews()?, self.catalog()?);
        let in_force = reviews.in_force();
        let is_approved = |pattern: &Pattern| {
            in_force.get(pattern.id.as_str()).is_some_and(|decision| {
                decision.action == Action::Approve
                    && !decision.auto
                    && decision.text == pattern.text_hash()
            })
        };
        // A page that says it is retired is, whoever wrote that.
        let counts = |pattern: &Pattern| pattern.status != PatternStatus::Retired;
        let patterns = catalog.patterns.into_iter();
        Ok(patterns.filter(|pattern| counts(pattern) && is_approved(pattern)).collect())
    }
}

impl CandidateState {
    /// Whether a person is to be asked.
    pub fn waits(self) -> bool {
        self == CandidateState::Waiting
    }
}
