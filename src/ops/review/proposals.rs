//! What agents put into the inbox: how they would decide on something that waits, and standing
//! instructions that they took down. The person sees them first, and decides.

use std::collections::BTreeMap;

use super::inbox::{AgentsView, Evidence, Inbox, InboxItem, ItemKind, bloat};
use super::promotion;
use crate::base::setters::setters;
use crate::base::text;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::model::pattern::{Candidate, PatternId, PatternKey, Polarity, Sighting, SignalKind};
use crate::ops::distribute;
use crate::store::pattern::catalog::Catalog;
use crate::store::pattern::proposals::{self, Proposal, Proposed};
use crate::store::pattern::reviews::{self, Action, Reviews};

/// How many instructions may wait: nobody reads more, and an agent that goes on and on is stopped.
const MOST_INSTRUCTIONS: usize = 50;
/// The longest instruction and the longest reason, in characters.
const LONGEST_INSTRUCTION: usize = 300;
const LONGEST_REASON: usize = 400;
const LONGEST_NAME: usize = 40;

/// A decision that an agent proposes.
#[derive(Debug, Clone)]
pub struct ProposeRequest {
    /// The item, by its name or the beginning of it.
    pub item: String,
    /// Yes or no.
    pub action: Action,
    pub why: String,
    /// The program through which the agent speaks.
    pub by: String,
}

/// A standing instruction of the person's, as an agent took it down.
#[derive(Debug, Clone, Default)]
pub struct InstructionRequest {
    pub text: String,
    /// The project that it is for; all where there is none.
    pub project: Option<String>,
    /// Where the person said it.
    pub session: Option<SessionId>,
    /// The program through which the agent speaks.
    pub by: String,
}

setters!(InstructionRequest {
    text: String,
    project: Option<String>,
    session: Option<SessionId>,
    by: String,
});

impl Memory {
    /// Records how an agent would decide on something that waits; returns the item as it stands in
    /// the inbox now. Nothing is decided by it.
    pub fn propose(&self, request: ProposeRequest) -> Result<InboxItem> {
        if !matches!(request.action, Action::Approve | Action::Reject) {
            return Err(Error::usage("only a yes or a no can be proposed"));
        }
        let why = self.fit_reason(&request.why)?;
        let inbox = self.inbox()?;
        let name = self.full_name(&inbox, request.item.trim())?;
        let item = inbox.items.iter().find(|item| item.id == name);
        let item = item.ok_or_else(|| Error::not_found("nothing waits under this name"))?;
        let same = item
            .proposed
            .as_ref()
            .is_some_and(|view| view.action == request.action && view.why == why);
        if !same {
            let what = Proposed::Decision {
                item: name.clone(),
                action: request.action,
                why,
                evidence: item.evidence_fingerprint.clone(),
            };
            self.add_proposal(what, &request.by)?;
        }
        let found = self.inbox()?.items.into_iter().find(|item| item.id == name);
        found.ok_or_else(|| Error::not_found(format!("`{name}` does not wait any more")))
    }

    /// Puts an instruction into the inbox, where it waits for the person's yes; returns its name.
    pub fn note_instruction(&self, request: InstructionRequest) -> Result<PatternId> {
        let said = text::one_line(&request.text, LONGEST_INSTRUCTION);
        let refused = |reason: &str, hint: &str| {
            Err(Error::usage("this is not noted")
                .because(reason.to_string())
                .hint(hint.to_string()))
        };
        if request.text.trim().chars().count() > LONGEST_INSTRUCTION {
            return refused("it is too long", "one rule in one sentence");
        }
        let id = PatternId::of_key(&instruction_key(&said));
        let (known, _) = self.proposals()?;
        let noted = instructions(&known);
        if noted.contains_key(&id) {
            return Ok(id);
        }
        let reviews = self.reviews()?;
        let decided = reviews.in_force();
        let waiting = noted.keys().filter(|id| !decided.contains_key(id.as_str())).count();
        if waiting >= MOST_INSTRUCTIONS {
            return refused(
                "too many instructions wait for the person already",
                "ask the person to run `memtree review`",
            );
        }
        let project = request.project.map(|project| text::one_line(&project, 80));
        let project = project.filter(|project| !project.is_empty());
        let what = Proposed::Instruction { text: said, project, session: request.session };
        self.add_proposal(what, &request.by)?;
        Ok(id)
    }

    fn add_proposal(&self, what: Proposed, by: &str) -> Result<()> {
        let by = match text::one_line(&text::printable(by), LONGEST_NAME) {
            by if by.is_empty() => "an agent".to_string(),
            by => by,
        };
        let proposal = Proposal { at: reviews::stamp(self.now()), by, what };
        self.store().refuse_links(None)?;
        proposals::append(self.layout(), &proposal).context(|| self.store().cannot_write())
    }

    fn fit_reason(&self, typed: &str) -> Result<String> {
        let why = text::one_line(&text::printable(typed), LONGEST_REASON);
        let wrong = |reason: &str, hint: &str| {
            Err(Error::usage("this is not proposed")
                .because(reason.to_string())
                .hint(hint.to_string()))
        };
        if why.is_empty() {
            return wrong("it has no reason", "say in `reason` what in the evidence speaks for it");
        }
        if text::speaks_for_person(&why) {
            return wrong(
                "the reason gives orders, or speaks in the person's name",
                "say what the evidence shows; the person decides",
            );
        }
        Ok(self.redactor()?.redact(&why).into_owned())
    }

    fn proposals(&self) -> Result<(Vec<Proposal>, Vec<String>)> {
        proposals::load(self.layout()).context(|| "cannot read what agents proposed".into())
    }

    /// Adds what agents put there, and puts it first.
    pub(super) fn add_proposals(
        &self,
        inbox: &mut Inbox,
        reviews: &Reviews,
        catalog: &Catalog,
    ) -> Result<()> {
        let (proposals, damaged) = self.proposals()?;
        inbox.damaged.extend(damaged);
        let decided = reviews.in_force();
        for (id, noted) in instructions(&proposals) {
            if !decided.contains_key(id.as_str()) && catalog.get(&id).is_none() {
                inbox.items.push(instruction_item(&id, &noted, catalog));
            }
        }
        for proposal in &proposals {
            let Proposed::Decision { item, action, why, evidence } = &proposal.what else {
                continue;
            };
            // What was seen has to be what is there.
            let meant = inbox.items.iter_mut().find(|one| one.id == *item);
            if let Some(meant) = meant.filter(|one| one.evidence_fingerprint == *evidence) {
                let Proposal { at, by, .. } = proposal.clone();
                meant.proposed = Some(AgentsView { action: *action, why: why.clone(), by, at });
            }
        }
        let comes_later =
            |item: &InboxItem| item.proposed.is_none() && item.kind != ItemKind::Standing;
        inbox.items.sort_by_key(|item| (comes_later(item), item.proposed.is_none()));
        Ok(())
    }
}

/// What an instruction is recognized by: its words, whatever their case.
fn instruction_key(said: &str) -> PatternKey {
    let locus = said.trim_end_matches(['.', '!']).to_lowercase();
    PatternKey { polarity: Polarity::Success, kind: SignalKind::Instruction, locus }
}

/// The instructions by name, each as it was noted first.
fn instructions(proposals: &[Proposal]) -> BTreeMap<PatternId, Noted<'_>> {
    let mut noted = BTreeMap::new();
    for proposal in proposals {
        if let Proposed::Instruction { text, project, session } = &proposal.what {
            let key = instruction_key(text);
            let id = PatternId::of_key(&key);
            let new =
                Noted { proposal, text, project: project.as_ref(), session: session.as_ref() };
            noted.entry(id).or_insert(new);
        }
    }
    noted
}

/// An instruction that an agent took down.
struct Noted<'p> {
    proposal: &'p Proposal,
    text: &'p str,
    project: Option<&'p String>,
    session: Option<&'p SessionId>,
}

impl Noted<'_> {
    /// The same as something that a person can say yes to.
    fn candidate(&self, id: &PatternId) -> Candidate {
        let (day, by) = (self.proposal.at.split('T').next().unwrap_or_default(), &self.proposal.by);
        let sighting = |session: &SessionId| Sighting {
            session: session.clone(),
            episode: None,
            flavor: by.clone(),
            project: self.project.cloned(),
            times: 1,
            detail: String::new(),
        };
        Candidate {
            id: id.clone(),
            key: instruction_key(self.text),
            title: self.text.trim_end_matches('.').to_string(),
            advice: format!("A standing instruction of the person's, noted on {day}."),
            frequency: 1,
            sessions: self.session.cloned().into_iter().collect(),
            projects: self.project.cloned().into_iter().collect(),
            flavors: Vec::new(),
            cross_flavor: false,
            cost_impact: 0,
            last_seen: None,
            evidence: self.session.map(sighting).into_iter().collect(),
            resolved_by: Vec::new(),
            by_project: BTreeMap::new(),
        }
    }
}

fn instruction_item(id: &PatternId, noted: &Noted<'_>, catalog: &Catalog) -> InboxItem {
    let one = noted.candidate(id);
    let Proposal { at, by, .. } = noted.proposal;
    let day = at.split('T').next().unwrap_or_default();
    let place = match noted.project {
        Some(project) => format!("every session in {project}"),
        None => "every session in every project".to_string(),
    };
    let mut warnings = bloat(&one, &one.title, catalog);
    let pattern = promotion::pattern(&one, None, &[]);
    warnings.extend(
        distribute::refusal(&pattern)
            .map(|reason| format!("it stays out of files of instructions: {reason}")),
    );
    InboxItem {
        id: id.to_string(),
        kind: ItemKind::Standing,
        title: one.title.clone(),
        because: format!(
            "{by} noted on {day} that you said so; until you say yes it is nobody's rule"
        ),
        advice: Vec::new(),
        evidence: one.evidence.iter().map(|seen| seen.place()).collect(),
        sightings: Evidence::of_sightings(&one.evidence),
        warnings,
        adds: vec![format!("the page that agents get at the start of {place}")],
        state: "waiting",
        proposed: None,
        facts: None,
        evidence_fingerprint: one.evidence_fingerprint(),
        text_hash: String::new(),
        candidate: Some(one),
    }
}
