//! The inbox: what waits for a person, each item with why it is there and what it would add where.

use serde::Serialize;

use crate::base::files;
use crate::distill::patterns::similar;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::pattern::{Candidate, Pattern, PatternId, PatternKey, PatternStatus, Sighting};
use crate::ops::detect::{DetectRequest, Found};
use crate::ops::distribute;
use crate::store::pattern::candidate;
use crate::store::pattern::catalog::Catalog;
use crate::store::pattern::reviews::{Action, Reviews};

/// What waits.
#[derive(Debug, Default, Serialize)]
pub struct Inbox {
    #[serde(rename = "candidates")]
    pub items: Vec<InboxItem>,
    /// What could not be read, as `path: reason`.
    pub damaged: Vec<String>,
}

/// What kind of thing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A pattern that was approved and does not help.
    Retire,
    /// A section that was edited on two devices.
    Version,
    /// A pattern of the catalog that nobody here approved as it stands.
    Changed,
    /// An instruction of the person's that an agent took down.
    Standing,
    Candidate,
    /// What a core remembers and nobody has confirmed.
    Landmark,
}

impl ItemKind {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            ItemKind::Retire => "retire",
            ItemKind::Version => "version",
            ItemKind::Changed => "changed",
            ItemKind::Standing => "standing",
            ItemKind::Candidate => "candidate",
            ItemKind::Landmark => "landmark",
        }
    }
}

/// One thing that waits.
#[derive(Debug, Clone, Serialize)]
pub struct InboxItem {
    pub id: String,
    pub kind: ItemKind,
    pub title: String,
    /// Why it is here.
    pub because: String,
    /// What to do about it, as far as that is known.
    pub advice: Vec<String>,
    /// Where it shows, one line each, as people read it.
    #[serde(skip)]
    pub evidence: Vec<String>,
    /// The same as `detect` has it.
    #[serde(rename = "evidence")]
    pub sightings: Vec<Evidence>,
    /// Bloat, and what a person should know.
    pub warnings: Vec<String>,
    /// What a yes would add, and where.
    pub adds: Vec<String>,
    pub state: &'static str,
    /// How an agent would decide, where one said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<AgentsView>,
    /// What `detect` says of it.
    #[serde(flatten)]
    pub facts: Option<Facts>,
    #[serde(skip)]
    pub candidate: Option<Candidate>,
    #[serde(skip)]
    pub evidence_fingerprint: String,
    #[serde(skip)]
    pub text_hash: String,
}

/// A place where an item shows: what of it is known.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Evidence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// What was said or printed there.
    pub detail: String,
}

impl Evidence {
    /// As a candidate has it.
    pub(super) fn of_sightings(seen: &[Sighting]) -> Vec<Evidence> {
        let one = |seen: &Sighting| Evidence {
            session: Some(seen.session.clone()),
            episode: seen.episode,
            flavor: Some(seen.flavor.clone()),
            project: seen.project.clone(),
            times: Some(seen.times),
            detail: seen.detail.clone(),
        };
        seen.iter().map(one).collect()
    }

    /// Lines of which no session is known.
    pub(super) fn of_lines(lines: &[String]) -> Vec<Evidence> {
        let one = |line: &String| Evidence { detail: line.clone(), ..Evidence::default() };
        lines.iter().map(one).collect()
    }

    /// A session, and an episode of it.
    pub(super) fn of_place(session: &SessionId, episode: Option<EpisodeId>) -> Evidence {
        Evidence { session: Some(session.clone()), episode, ..Evidence::default() }
    }
}

/// How an agent would decide on an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentsView {
    pub action: Action,
    pub why: String,
    pub by: String,
    pub at: String,
}

/// What `detect` says of a candidate, in its names.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub key: PatternKey,
    pub frequency: u64,
    pub sessions: Vec<SessionId>,
    pub flavors: Vec<String>,
    pub cross_flavor: bool,
}

impl Facts {
    fn of_pattern(one: &Pattern) -> Facts {
        let flavors = one.scope.flavors.clone();
        Facts {
            key: one.key.clone(),
            frequency: one.provenance.frequency,
            sessions: one.provenance.sessions.clone(),
            cross_flavor: flavors.len() > 1,
            flavors,
        }
    }

    fn of(one: &Candidate) -> Facts {
        let Candidate { key, frequency, sessions, flavors, cross_flavor, .. } = one.clone();
        Facts { key, frequency, sessions, flavors, cross_flavor }
    }
}

/// How an item is called that would retire a pattern.
const RETIRE: &str = "retire:";

impl InboxItem {
    /// The pattern that it is about.
    pub fn pattern_id(&self) -> Option<PatternId> {
        self.id.strip_prefix(RETIRE).unwrap_or(&self.id).parse().ok()
    }
}

impl Memory {
    /// What waits for a person: first what agents put there, then what does harm, then what is new,
    /// the weightiest first.
    pub fn inbox(&self) -> Result<Inbox> {
        let found = self.detect(DetectRequest::default().dry_run(true))?;
        let (reviews, catalog) = (self.reviews()?, self.catalog()?);
        let mut inbox = Inbox { damaged: found.damaged, ..Inbox::default() };
        inbox.damaged.extend(catalog.damaged.iter().cloned());
        inbox.damaged.extend(reviews.damaged.iter().cloned());
        inbox.items.extend(self.retirements(&reviews, &catalog)?);
        inbox.items.extend(self.version_items()?);
        inbox.items.extend(changed(&reviews, &catalog));
        let is_listed = |id: &PatternId| catalog.get(id).is_some();
        let new = found.candidates.iter().filter(|one| one.state.waits());
        let new = new.filter(|one| !is_listed(&one.candidate.id));
        inbox.items.extend(new.map(|one| self.candidate_item(one, &reviews, &catalog)));
        inbox.items.extend(self.landmark_items(&reviews));
        self.add_proposals(&mut inbox, &reviews, &catalog)?;
        Ok(inbox)
    }

    fn candidate_item(&self, found: &Found, reviews: &Reviews, catalog: &Catalog) -> InboxItem {
        let one = &found.candidate;
        // A person may have put it better on the page.
        let page = files::read_to_string(self.layout().candidate(&one.id)).ok();
        let words = page.as_deref().and_then(candidate::parse).map(|(_, words)| words);
        let advice = match &words {
            Some(words) => words.resolutions.clone(),
            None => Some(one.advice.clone()).filter(|it| !it.is_empty()).into_iter().collect(),
        };
        let decided = reviews.in_force().get(one.id.as_str()).map(|decision| decision.action);
        let because = match decided {
            Some(Action::Reject) => "rejected before, and its evidence has changed",
            _ => "new",
        };
        let title = words.map_or_else(|| one.title.clone(), |words| words.title);
        let mut adds: Vec<String> =
            one.flavors.iter().map(|flavor| distribute::target_of(flavor).to_string()).collect();
        adds.sort();
        adds.dedup();
        let lesson = advice.first().map_or("(what to do is missing: [e]dit)", String::as_str);
        let adds = adds.iter().map(|file| format!("{file}: + **{title}.** {lesson}")).collect();
        InboxItem {
            id: one.id.to_string(),
            kind: ItemKind::Candidate,
            because: because.into(),
            evidence: evidence_lines(one),
            sightings: Evidence::of_sightings(&one.evidence),
            warnings: bloat(one, &title, catalog),
            adds,
            title,
            advice,
            state: "waiting",
            proposed: None,
            evidence_fingerprint: one.evidence_fingerprint(),
            text_hash: String::new(),
            facts: Some(Facts::of(one)),
            candidate: Some(one.clone()),
        }
    }

    /// Patterns that measurements speak against.
    fn retirements(&self, reviews: &Reviews, catalog: &Catalog) -> Result<Vec<InboxItem>> {
        let live = crate::store::pattern::active::load(self.layout()).unwrap_or_default();
        if !live.iter().any(|stretch| stretch.live) {
            return Ok(Vec::new());
        }
        let measured = self.measure_patterns(None)?;
        let in_force = reviews.in_force();
        let mut items = Vec::new();
        for one in measured.iter().filter(|one| one.proposes_retirement()) {
            let live = |pattern: &&Pattern| pattern.status != PatternStatus::Retired;
            let Some(pattern) = catalog.get(&one.pattern).filter(live) else { continue };
            let id = format!("{RETIRE}{}", pattern.id);
            let evidence = one.fingerprint();
            let is_kept = in_force.get(id.as_str()).is_some_and(|it| it.evidence == evidence);
            let is_approved = in_force
                .get(pattern.id.as_str())
                .is_some_and(|decision| decision.action == Action::Approve);
            if is_kept || !is_approved {
                continue;
            }
            items.push(InboxItem {
                sightings: Evidence::of_lines(&one.lines()),
                evidence: one.lines(),
                evidence_fingerprint: evidence,
                ..retire_item(pattern, &one.why_retire())
            });
        }
        Ok(items)
    }
}

/// The name of the pattern that a person means, by its beginning.
pub(super) fn named_in(catalog: &Catalog, name: &str) -> Result<PatternId> {
    let name = name.strip_prefix(RETIRE).unwrap_or(name);
    let live = catalog.patterns.iter().filter(|one| one.status != PatternStatus::Retired);
    let fits: Vec<&Pattern> = live.filter(|one| one.id.as_str().starts_with(name)).collect();
    let exact = fits.iter().find(|one| one.id.as_str() == name);
    match (exact, fits.as_slice()) {
        (Some(one), _) | (None, [one]) => Ok(one.id.clone()),
        (None, []) => Err(Error::not_found(format!("no pattern in use has the name `{name}`"))
            .hint("`patterns/catalog` has a page for each")),
        (None, _) => Err(Error::usage(format!("`{name}` could be several patterns"))
            .hint("write more of the name")),
    }
}

/// What a person says yes to in order to withdraw a pattern.
pub(super) fn retire_item(pattern: &Pattern, because: &str) -> InboxItem {
    InboxItem {
        id: format!("{RETIRE}{}", pattern.id),
        kind: ItemKind::Retire,
        title: pattern.name.clone(),
        because: because.to_string(),
        advice: pattern.resolutions.clone(),
        evidence: Vec::new(),
        sightings: Vec::new(),
        warnings: Vec::new(),
        adds: vec!["yes takes it out of every file at the next `distribute --apply`".into()],
        state: "approved",
        proposed: None,
        facts: Some(Facts::of_pattern(pattern)),
        candidate: None,
        evidence_fingerprint: String::new(),
        text_hash: pattern.text_hash(),
    }
}

/// Patterns of the catalog that nobody here approved as they stand.
fn changed(reviews: &Reviews, catalog: &Catalog) -> Vec<InboxItem> {
    let (in_force, elsewhere) = (reviews.in_force(), reviews.elsewhere());
    let mut items = Vec::new();
    // A page that says it is retired is, whoever wrote that.
    let live = |pattern: &&Pattern| pattern.status != PatternStatus::Retired;
    for pattern in catalog.patterns.iter().filter(live) {
        let hash = pattern.text_hash();
        let because = match in_force.get(pattern.id.as_str()) {
            Some(decision) if decision.action == Action::Retire => continue,
            Some(decision) if decision.text == hash && decision.action == Action::Reject => {
                continue;
            }
            Some(decision) if decision.text == hash && !decision.auto => continue,
            Some(decision) if decision.text == hash => "taken in by the gate".to_string(),
            Some(_) => "its page was changed after the decision".to_string(),
            None => match elsewhere.get(pattern.id.as_str()) {
                Some(decision) => {
                    format!("decided on {}, which is not trusted here", decision.device)
                }
                None => "in the catalog, and nobody here has approved it".to_string(),
            },
        };
        items.push(changed_item(pattern, because, hash));
    }
    items
}

fn changed_item(pattern: &Pattern, because: String, hash: String) -> InboxItem {
    let sessions = || pattern.provenance.sessions.iter().rev().take(5);
    let warnings = distribute::refusal(pattern).into_iter().collect();
    InboxItem {
        id: pattern.id.to_string(),
        kind: ItemKind::Changed,
        title: pattern.name.clone(),
        because,
        advice: pattern.resolutions.clone(),
        evidence: sessions().map(|id| id.to_string()).collect(),
        sightings: sessions().map(|id| Evidence::of_place(id, None)).collect(),
        warnings,
        adds: pattern.hints.iter().map(|hint| format!("{}: the lesson", hint.target)).collect(),
        state: "waiting",
        proposed: None,
        facts: Some(Facts::of_pattern(pattern)),
        candidate: None,
        evidence_fingerprint: pattern.provenance.evidence.clone(),
        text_hash: hash,
    }
}

/// A pattern that was approved, to approve it in other words.
pub(super) fn to_say_again(pattern: &Pattern) -> InboxItem {
    changed_item(pattern, "you say it in other words".into(), pattern.text_hash())
}

fn evidence_lines(one: &Candidate) -> Vec<String> {
    let mut lines = vec![candidate::summary(one)];
    for seen in one.evidence.iter().take(4) {
        let detail =
            if seen.detail.is_empty() { String::new() } else { format!(": {}", seen.detail) };
        let project = seen.project.as_deref().unwrap_or("–");
        lines.push(format!("{} ({}, {project}){detail}", seen.place(), seen.flavor));
    }
    for fix in &one.resolved_by {
        let what = if fix.lesson.is_empty() { &fix.by } else { &fix.lesson };
        let held = if fix.held() { "held" } else { "came back" };
        lines.push(format!("{held}: {what} ({}, {})", fix.flavor, fix.place));
    }
    lines
}

/// What the catalog has already: the same, or nearly.
pub(super) fn bloat(one: &Candidate, title: &str, catalog: &Catalog) -> Vec<String> {
    let mut warnings = Vec::new();
    for pattern in catalog.patterns.iter().filter(|pattern| pattern.id != one.id) {
        let same_key = pattern.key.kind == one.key.kind && pattern.key.locus == one.key.locus;
        if pattern.name == title || pattern.key == one.key {
            warnings.push(format!("the catalog has the same: {}", pattern.id));
        } else if same_key || similar::is_nearly(&pattern.name, title) {
            warnings.push(format!("the catalog has nearly the same: {}", pattern.id));
        }
    }
    warnings
}
