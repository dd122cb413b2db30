//! What is consolidated: cores of eight sessions, spheres of eight cores, and the landmarks in
//! them.
//!
//! A landmark is one thing worth remembering, in one sentence, with how sure it is and what it
//! rests on. It is never deleted: it is superseded, with a link to what replaced it and the reason.

use std::fmt;
use std::str::FromStr;

use chrono::NaiveDate;

use super::digest::Origin;
use super::ids::{CoreId, EpisodeId, SessionId, SphereId};
use crate::base::clock::Timestamp;
use crate::base::files::sha256_hex;

/// Eight sessions, consolidated.
#[derive(Debug, Clone, PartialEq)]
pub struct Core {
    pub id: CoreId,
    /// All eight, in order.
    pub members: Vec<Member>,
    /// What holds, those of one project together.
    pub landmarks: Vec<Landmark>,
    /// What held once.
    pub superseded: Vec<Superseded>,
    /// How the sessions hang together.
    pub relations: Vec<Relation>,
    /// What its sessions left to do, the latest first within a project.
    pub open: Vec<OpenEnd>,
}

/// What a session left to do. It belongs to its session, so it is no landmark: a later one may have
/// done it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenEnd {
    pub project: Option<String>,
    pub text: String,
    pub session: SessionId,
    pub episode: EpisodeId,
    pub on: Option<NaiveDate>,
}

/// One of the eight sessions of a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub session: SessionId,
    pub what: Membership,
}

/// What a session brings to its core.
#[derive(Debug, Clone, PartialEq)]
pub enum Membership {
    /// A digest.
    Remembered {
        title: String,
        project: Option<String>,
        status: String,
        ended: Option<Timestamp>,
        /// The headline of what came of it; empty where nothing did.
        outcome: String,
    },
    /// Nothing: it was not worth remembering.
    NotWorth,
    /// Nothing any more.
    Forgotten,
}

/// One thing that a core remembers.
#[derive(Debug, Clone, PartialEq)]
pub struct Landmark {
    pub id: LandmarkId,
    pub kind: Kind,
    pub domain: Domain,
    pub state: LandmarkState,
    /// How sure it is, in percent.
    pub confidence: u8,
    pub project: Option<String>,
    /// One sentence.
    pub text: String,
    /// What it rests on, oldest first.
    pub supports: Vec<Support>,
    /// The day on which it was last said or met.
    pub on: Option<NaiveDate>,
    /// Whether a person marked it to stay.
    pub pinned: bool,
    /// Whether its state is a person's, given in a review: then it stays.
    pub reviewed: bool,
}

/// The project of what a person said of themselves: it holds in all of them.
pub const EVERYWHERE: &str = "Everywhere";

impl Landmark {
    /// How many sessions say it; where it was only met again, that is no word for it.
    pub fn sessions(&self) -> usize {
        let said = self.supports.iter().filter(|support| support.said_by.is_some());
        let mut sessions: Vec<&SessionId> = said.map(|support| &support.session).collect();
        sessions.sort();
        sessions.dedup();
        sessions.len()
    }
}

/// What stands in the place of a sentence that was forgotten.
const FORGOTTEN: &str = "(forgotten)";

impl Landmark {
    /// Whether a person put other words in the place of ours: a landmark's name is made from its
    /// words.
    pub fn is_own_wording(&self) -> bool {
        self.text != FORGOTTEN
            && LandmarkId::new(self.kind, self.project.as_deref(), &self.text) != self.id
    }

    /// Whether only its name is left.
    pub fn is_forgotten(&self) -> bool {
        self.text == FORGOTTEN
    }

    /// The same without a word of what it said.
    pub fn forgotten(&self) -> Landmark {
        Landmark {
            text: FORGOTTEN.into(),
            kind: Kind::Knowledge,
            domain: Domain::Meta,
            state: LandmarkState::Deprecated,
            confidence: 0,
            project: None,
            supports: Vec::new(),
            on: None,
            pinned: false,
            reviewed: false,
            ..self.clone()
        }
    }
}

/// Where a landmark comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Support {
    pub session: SessionId,
    pub episode: EpisodeId,
    /// Who said it there; `None` where it was not said again, but met again.
    pub said_by: Option<Origin>,
    /// The words by which it is found in the raw log. They are in the digest, so a core does not
    /// repeat them.
    pub evidence: String,
}

impl Support {
    /// Whether something of both was said in one episode: who speaks on says no other thing.
    pub fn meet(some: &[Support], others: &[Support]) -> bool {
        let said = |support: &&Support| support.said_by.is_some();
        some.iter().filter(said).any(|one| {
            let same =
                |other: &Support| other.session == one.session && other.episode == one.episode;
            others.iter().filter(said).any(same)
        })
    }
}

/// A landmark that holds no more.
#[derive(Debug, Clone, PartialEq)]
pub struct Superseded {
    pub landmark: Landmark,
    /// What replaced it, if something did.
    pub by: Option<LandmarkId>,
    pub why: String,
}

/// How two sessions hang together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub from: SessionId,
    pub to: SessionId,
    pub how: How,
    /// The file, the error, the decision, the branch.
    pub what: String,
}

/// A landmark with the cores that hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// As it is said in the core that says it best; what it rests on stands there.
    pub landmark: Landmark,
    /// How many sessions support it, in all cores together.
    pub sessions: usize,
    /// When it was last said.
    pub last: Option<NaiveDate>,
    /// The cores that hold it, and its name there.
    pub cores: Vec<(CoreId, LandmarkId)>,
}

impl Merged {
    /// A landmark of one core.
    pub fn of(core: &CoreId, last: Option<NaiveDate>, landmark: &Landmark) -> Merged {
        let cores = vec![(core.clone(), landmark.id.clone())];
        // The day of the fact; pages of earlier versions have only that of the core.
        let last = landmark.on.or(last);
        Merged { sessions: landmark.sessions(), last, cores, landmark: landmark.clone() }
    }
}

/// What many cores say together.
#[derive(Debug, Default)]
pub struct Together {
    /// What holds, the best supported first.
    pub landmarks: Vec<Merged>,
    /// What a later core replaced, and what replaced it.
    pub superseded: Vec<(Merged, Merged)>,
}

/// Eight cores, consolidated.
#[derive(Debug)]
pub struct Sphere {
    pub id: SphereId,
    /// Each core with how many sessions of which project it holds, and when the last of them ended.
    pub cores: Vec<(CoreId, Option<NaiveDate>)>,
    /// The projects that it is about.
    pub entities: Vec<Entity>,
    pub together: Together,
}

/// A project, as a sphere knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub name: String,
    pub sessions: usize,
    pub last: Option<NaiveDate>,
}

/// The name of a landmark: made from what it says, so that the same sentence has the same name
/// everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LandmarkId(String);

impl LandmarkId {
    const START: &str = "lm-";
    const DIGITS: usize = 10;

    /// The name of what is said of a project.
    pub fn new(kind: Kind, project: Option<&str>, text: &str) -> LandmarkId {
        let said = format!("{kind}\n{}\n{text}", project.unwrap_or_default());
        LandmarkId(format!(
            "{}{}",
            LandmarkId::START,
            &sha256_hex(said.as_bytes())[..LandmarkId::DIGITS]
        ))
    }
}

impl fmt::Display for LandmarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LandmarkId {
    type Err = String;

    fn from_str(text: &str) -> Result<LandmarkId, String> {
        text.strip_prefix(LandmarkId::START)
            .filter(|digits| digits.len() == LandmarkId::DIGITS)
            .filter(|digits| {
                digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            })
            .map(|_| LandmarkId(text.to_string()))
            .ok_or_else(|| format!("`{text}` is not a landmark such as lm-0123456789"))
    }
}

/// What sort of thing a landmark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A rule that the person stated.
    Belief,
    /// What was chosen, and often over what.
    Decision,
    /// What was learnt.
    Knowledge,
    /// What is done again and again.
    Habit,
    /// Things that go together.
    Relationship,
}

/// How a landmark is governed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// The person's own rules: confirmed by having been said, never overwritten, only contested.
    Safety,
    /// How this person works: confirmed when three sessions show it, contested when it changes.
    Identity,
    /// How things are: confirmed when two sessions say it, or by a fix that held; the latest wins.
    Knowledge,
    /// Holds for its session only.
    Contextual,
    /// About the memory itself.
    Meta,
}

impl Domain {
    /// In how many sessions a landmark has to be said before it is confirmed; `None` where no
    /// number is enough.
    pub fn sessions_to_confirm(self) -> Option<usize> {
        match self {
            Domain::Safety | Domain::Meta => Some(1),
            Domain::Knowledge => Some(2),
            Domain::Identity => Some(3),
            Domain::Contextual => None,
        }
    }

    /// Whether a later word replaces an earlier one, or only contests it.
    pub fn latest_wins(self) -> bool {
        matches!(self, Domain::Knowledge | Domain::Contextual | Domain::Meta)
    }
}

/// How far a landmark is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LandmarkState {
    Hypothesis,
    Confirmed,
    Contested,
    Deprecated,
    /// A person said in a review that it does not hold.
    Rejected,
}

/// What ties two sessions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    Follows,
    SameFile,
    SameError,
    SameDecision,
    Contradicts,
}

super::words::words!(Kind {
    Belief = "belief",
    Decision = "decision",
    Knowledge = "knowledge",
    Habit = "habit",
    Relationship = "relationship",
});
super::words::words!(Domain {
    Safety = "safety",
    Identity = "identity",
    Knowledge = "knowledge",
    Contextual = "contextual",
    Meta = "meta",
});
super::words::words!(LandmarkState {
    Hypothesis = "hypothesis",
    Confirmed = "confirmed",
    Contested = "contested",
    Deprecated = "deprecated",
    Rejected = "rejected",
});
super::words::words!(How {
    Follows = "follows",
    SameFile = "same file",
    SameError = "same error",
    SameDecision = "same decision",
    Contradicts = "contradicts",
});
