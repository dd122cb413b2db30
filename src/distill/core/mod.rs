//! A core from eight digests: what recurs across them, what the person stated, what was decided and
//! kept or reversed.
//!
//! Four steps: clean (what is not worth remembering, and what is said twice, goes), summarize
//! (claims become landmarks), index (each gets its name, its project, its state) and relate (which
//! session follows which, and what they share). A pure function of the eight, so any device that
//! holds them writes the same page.

mod gist;
mod history;
mod recurring;
mod relations;
pub mod sphere;

use std::sync::LazyLock;

use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::text;
use crate::model::core::{
    Core, Domain, Kind, Landmark, LandmarkId, LandmarkState, Member, Membership, Superseded,
    Support,
};
use crate::model::digest::{Claim, ClaimKind, Digest, Origin, Outcome, Worth};
use crate::model::ids::{CoreId, SessionId};

pub use gist::Gist;
pub use history::with_history;

/// Which version of the rules made a core.
pub const MADE_BY: &str = "extractive/1";

const LONGEST_SENTENCE: usize = 240;

/// What is there of a session when its core is made.
#[derive(Debug, Clone)]
pub enum Source {
    Digest(Box<Digest>),
    Forgotten,
}

/// Consolidates the eight sessions of a core.
pub fn core(id: &CoreId, mut sources: Vec<(SessionId, Source)>) -> Core {
    for (_, source) in &mut sources {
        if let Source::Digest(digest) = source {
            digest.content.project = digest.content.project.as_deref().and_then(heading);
        }
    }
    let members = sources.iter().map(|(session, source)| member(session, source)).collect();
    let mut digests: Vec<&Digest> = sources
        .iter()
        .filter_map(|(_, source)| match source {
            Source::Digest(digest) if digest.content.worth == Worth::Full => Some(&**digest),
            _ => None,
        })
        .collect();
    // What was said later counts as later, whenever it was captured.
    digests.sort_by_key(|digest| (digest.content.ended, digest.session.clone()));
    let mut drafts = stated(&digests);
    for draft in &mut drafts {
        meet_again(draft, &digests);
    }
    drafts.extend(recurring::drafts(&digests));
    let (landmarks, superseded) = settle(drafts, &digests);
    let relations = relations::relations(&digests, &landmarks, &superseded);
    Core { id: id.clone(), members, landmarks, superseded, relations }
}

fn member(session: &SessionId, source: &Source) -> Member {
    let what = match source {
        Source::Forgotten => Membership::Forgotten,
        Source::Digest(digest) if digest.content.worth == Worth::None => Membership::NotWorth,
        Source::Digest(digest) => Membership::Remembered {
            title: sentence(&digest.content.title, 100),
            project: project(digest),
            status: digest.content.status.to_string(),
            ended: digest.content.ended,
        },
    };
    Member { session: session.clone(), what }
}

/// A landmark in the making.
#[derive(Debug, Clone)]
struct Draft {
    kind: Kind,
    domain: Domain,
    project: Option<String>,
    text: String,
    gist: Gist,
    supports: Vec<Support>,
    /// When it was last said.
    last: Option<Timestamp>,
}

/// A sentence as it stands on a page: one line, redacted, and without the mark that parts a line's
/// fields.
fn sentence(said: &str, longest: usize) -> String {
    // The digest was redacted when it was written; a person may have added to it.
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
    text::one_line(&REDACTOR.redact(said), longest).replace('|', "¦")
}

/// The name of a project as it stands in a heading.
fn heading(project: &str) -> Option<String> {
    let name = crate::base::markdown::heading(&sentence(project, 80));
    (!name.is_empty()).then_some(name)
}

fn project(digest: &Digest) -> Option<String> {
    digest.content.project.clone()
}

// --- What was stated ---

/// The claims of all sessions, those that say the same as one.
fn stated(digests: &[&Digest]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for digest in digests {
        for claim in digest.content.stated.iter().filter(|claim| !claim.is_check()) {
            let draft = draft(digest, claim);
            let same = drafts.iter_mut().find(|known| {
                known.kind == draft.kind
                    && known.project == draft.project
                    && known.gist.says_the_same(&draft.gist)
            });
            match same {
                Some(known) => {
                    known.supports.extend(draft.supports);
                    known.last = known.last.max(draft.last);
                    // The person's own rule, whoever said it first.
                    known.domain = known.domain.min(draft.domain);
                }
                None => drafts.push(draft),
            }
        }
    }
    drafts
}

fn draft(digest: &Digest, claim: &Claim) -> Draft {
    let (kind, domain) = match (claim.kind, claim.origin) {
        (ClaimKind::Standing, Origin::User) => (Kind::Belief, Domain::Safety),
        (ClaimKind::Standing, _) => (Kind::Habit, Domain::Identity),
        (ClaimKind::Decision, _) => (Kind::Decision, Domain::Knowledge),
        (ClaimKind::Lesson | ClaimKind::Open, _) => (Kind::Knowledge, Domain::Knowledge),
    };
    let text = sentence(&claim.text, LONGEST_SENTENCE);
    Draft {
        kind,
        domain,
        project: project(digest),
        gist: Gist::of(&text),
        supports: vec![Support {
            session: digest.session.clone(),
            episode: claim.episode,
            said_by: Some(claim.origin),
            evidence: claim.text.clone(),
        }],
        last: digest.content.ended,
        text,
    }
}

/// Adds the episodes of the same project that met the same things again: at least two of them by
/// name.
fn meet_again(draft: &mut Draft, digests: &[&Digest]) {
    let things: Vec<&String> = draft.gist.words().iter().filter(|word| is_a_name(word)).collect();
    if things.len() < 2 {
        return;
    }
    for digest in digests.iter().filter(|digest| digest.content.project == draft.project) {
        for trigger in &digest.content.triggers {
            let known = (&digest.session, trigger.episode);
            let met: Vec<&&String> =
                things.iter().filter(|thing| trigger.keys.contains(thing)).collect();
            if met.len() >= 2
                && draft.supports.iter().all(|support| (&support.session, support.episode) != known)
            {
                draft.supports.push(Support {
                    session: digest.session.clone(),
                    episode: trigger.episode,
                    said_by: None,
                    evidence: met[0].to_string(),
                });
            }
        }
    }
}

/// Whether a word is the name of a thing in code, which nobody uses by chance.
fn is_a_name(word: &str) -> bool {
    word.contains(['_', '.', '-', ':']) || word.chars().count() >= 12
}

// --- What holds ---

/// Gives every draft its state; of two that contradict each other the later one wins, or both are
/// contested.
fn settle(mut drafts: Vec<Draft>, digests: &[&Digest]) -> (Vec<Landmark>, Vec<Superseded>) {
    drafts.sort_by(|a, b| (&a.last, &a.text).cmp(&(&b.last, &b.text)));
    let against = |a: &Draft, b: &Draft| a.project == b.project && a.gist.contradicts(&b.gist);
    let mut landmarks: Vec<Landmark> = Vec::new();
    let mut superseded: Vec<Superseded> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let mut landmark = landmark(draft, digests);
        let contested =
            drafts.iter().enumerate().any(|(other, rival)| other != at && against(draft, rival));
        let later = drafts[at + 1..].iter().find(|later| against(draft, later));
        if let Some(later) = later.filter(|_| draft.domain.latest_wins()) {
            landmark.state = LandmarkState::Deprecated;
            let said = later
                .supports
                .last()
                .map(|support| support.session.to_string())
                .unwrap_or_default();
            let by = Some(LandmarkId::new(later.kind, later.project.as_deref(), &later.text));
            superseded.push(Superseded {
                landmark,
                by,
                why: format!("{said} chose otherwise later"),
            });
            continue;
        }
        if contested && !draft.domain.latest_wins() {
            landmark.state = LandmarkState::Contested;
            landmark.confidence = landmark.confidence.min(40);
        }
        landmarks.push(landmark);
    }
    // Two wordings that became one are one.
    landmarks.sort_by(|a, b| order(a).cmp(&order(b)));
    landmarks.dedup_by(|a, b| a.id == b.id);
    superseded.retain(|old| landmarks.iter().all(|landmark| landmark.id != old.landmark.id));
    superseded.sort_by(|a, b| order(&a.landmark).cmp(&order(&b.landmark)));
    superseded.dedup_by(|a, b| a.landmark.id == b.landmark.id);
    (landmarks, superseded)
}

/// By project, then what is surest and best supported first.
pub fn order(landmark: &Landmark) -> impl Ord + '_ {
    let rank = match landmark.state {
        LandmarkState::Confirmed => 0,
        LandmarkState::Contested => 1,
        LandmarkState::Hypothesis => 2,
        LandmarkState::Deprecated => 3,
    };
    let support = std::cmp::Reverse((landmark.sessions(), landmark.confidence));
    (landmark.project.is_none(), &landmark.project, rank, support, landmark.kind, &landmark.text)
}

fn landmark(draft: &Draft, digests: &[&Digest]) -> Landmark {
    let mut landmark = Landmark {
        id: LandmarkId::new(draft.kind, draft.project.as_deref(), &draft.text),
        kind: draft.kind,
        domain: draft.domain,
        state: LandmarkState::Hypothesis,
        confidence: 0,
        project: draft.project.clone(),
        text: draft.text.clone(),
        supports: draft.supports.clone(),
        pinned: false,
    };
    let when = |session: &SessionId| {
        digests
            .iter()
            .find(|digest| digest.session == *session)
            .and_then(|digest| digest.content.ended)
    };
    landmark
        .supports
        .sort_by_key(|support| (when(&support.session), support.session.clone(), support.episode));
    landmark.supports.dedup_by(|a, b| (&a.session, a.episode) == (&b.session, b.episode));
    let by_person = landmark.supports.iter().any(|support| support.said_by == Some(Origin::User));
    let succeeded = landmark.supports.iter().any(|support| {
        digests.iter().any(|d| d.session == support.session && d.content.status == Outcome::Success)
    });
    // A decision of the person's that nobody reversed and that went well was kept.
    let kept = draft.kind == Kind::Decision && by_person && (succeeded || landmark.sessions() > 1);
    let hits = landmark.supports.len();
    if kept || draft.domain.hits_to_confirm().is_some_and(|needed| hits >= needed) {
        landmark.state = LandmarkState::Confirmed;
    }
    landmark.confidence = confidence(&landmark, by_person, succeeded);
    landmark
}

/// How sure a landmark is: by who said it, how often it was met, and whether it went well.
fn confidence(landmark: &Landmark, by_person: bool, succeeded: bool) -> u8 {
    let by_tool = landmark.supports.iter().any(|support| support.said_by == Some(Origin::Tool));
    let base = if by_person {
        70
    } else if by_tool {
        60
    } else {
        45
    };
    let again = (landmark.sessions().saturating_sub(1) * 8).min(28) as u8;
    (base + again + u8::from(succeeded) * 5).min(98)
}
