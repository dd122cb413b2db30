//! A digest: the one page of a session that people, grep and RAG tools read.
//!
//! Everything here is as it stands on the page; `store/digest/` writes and reads it.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::ids::{Device, EpisodeId, SessionId};
use super::signals::Signals;
use super::words::words;
use crate::base::clock::Timestamp;

/// The page of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Its id in the memory.
    pub session: SessionId,
    /// The agent's own id, `claude:<uuid>`.
    pub source_id: String,
    /// The device that goes on with it, where it is not the one that began it.
    #[serde(default)]
    pub adopted_by: Option<Device>,
    /// When it was captured, or last grew.
    pub captured: Timestamp,
    /// Whether it may still grow.
    pub state: State,
    /// What the distiller wrote.
    pub content: Content,
    /// What is kept of it.
    pub snapshot: Snapshot,
}

#[cfg(test)]
impl Digest {
    /// A digest of which only its content counts.
    pub fn of_content(session: &str, content: Content) -> Digest {
        Digest {
            session: session.parse().expect("an id of a session"),
            source_id: format!("claude:{session}"),
            adopted_by: None,
            captured: crate::base::clock::from_millis(0).expect("a time"),
            state: State::Closed,
            content,
            snapshot: Snapshot::default(),
        }
    }
}

/// What the distiller says of a session; a function of the session alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub flavor: String,
    pub title: String,
    pub status: Outcome,
    pub worth: Worth,
    pub objective: String,
    pub motto: String,
    pub core_intent: String,
    /// What came of it, the headline first, each with its episode: `PR #754 is merged (EP_006)`.
    pub key_outcomes: Vec<String>,
    pub arc: String,
    /// The few sentences worth carrying on: what cores are made from.
    pub stated: Vec<Claim>,
    pub triggers: Vec<Trigger>,
    /// For search: the terms that set each part apart, a line for every part.
    pub index: Vec<IndexLine>,
    /// Every distinct error that was met and mattered.
    pub errors: Vec<ErrorFact>,
    /// The session that this one belongs to, where both were captured.
    pub part_of: Option<String>,
    /// The session that this one was forked or resumed from, where it is another.
    pub continues: Option<String>,
    pub project: Option<String>,
    pub domain: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub commits: Vec<String>,
    pub models: Vec<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// First and last episode.
    pub episodes: Option<(EpisodeId, EpisodeId)>,
    /// The range in the session's own names for its episodes, where it has some: `EVA_EP01 –
    /// EVA_EP09`.
    pub own_episodes: String,
    pub turns: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub tokens_cache: u64,
    pub cost_usd: Option<f64>,
    pub files: Vec<String>,
    /// What the claims of the page can be checked against.
    pub evidence: Vec<Evidence>,
    /// What the pattern loop counts.
    pub signals: Signals,
    pub tags: Vec<String>,
    /// The day on which it ended, in the memory's time zone.
    pub date: String,
    /// The page with the session's numbers, relative to the digest; empty where there is none.
    pub vitals: String,
    /// Entries under `snapshot/sensory/`.
    pub sensory: u64,
    /// Which summarizer wrote the prose, and which version of it.
    pub made_by: String,
}

/// The flavor of a session that was made of a folder.
pub const FOLDER: &str = "folder";

/// How the files of a snapshot lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SnapshotShape {
    /// An agent's logs below `raw/`, and beside them the pages that were made of them.
    Log,
    /// A folder in its own shape: raw throughout.
    Folder,
}

impl Content {
    /// How the session's snapshot lies.
    pub fn shape(&self) -> SnapshotShape {
        if self.flavor == FOLDER { SnapshotShape::Folder } else { SnapshotShape::Log }
    }

    /// How the objective of a folder begins that says nothing of itself.
    pub const ONLY_KEPT: &'static str = "Keep the folder ";

    /// Whether the page says what its session was about: of a folder in which nobody speaks only a
    /// person can say it, or a model.
    pub fn is_summarized(&self) -> bool {
        self.shape() == SnapshotShape::Log
            || self.turns > 0
            || self.key_outcomes.len() > 1
            || !self.objective.starts_with(Content::ONLY_KEPT)
    }

    /// Whether there are words to find it by.
    pub fn is_indexed(&self) -> bool {
        self.shape() == SnapshotShape::Log || !self.triggers.is_empty()
    }
}

/// What a digest says of its snapshot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The day on which raw was evicted, if it was.
    pub evicted: Option<String>,
    pub bytes: u64,
    pub files: u64,
    /// The hash of `snapshot/MANIFEST.sha256`.
    pub manifest_sha256: String,
    /// The raw files' lines of that manifest.
    pub manifest: Vec<String>,
}

/// A line that says when to open the raw, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    pub topic: String,
    pub sentence: String,
    /// The episode it points to.
    pub episode: EpisodeId,
    /// The link target, relative to the digest; empty means the episode's own page.
    pub path: String,
    pub origin: Origin,
    pub keys: Vec<String>,
}

/// A part of a session as search sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexLine {
    pub episode: EpisodeId,
    /// At most [`MOST_TERMS`], the heaviest first.
    pub terms: Vec<String>,
}

/// How many terms a part has in the Index, and how many keys a trigger.
pub const MOST_TERMS: usize = 12;

/// An error that was met and mattered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFact {
    /// As it was printed, in one line of at most [`LONGEST_ERROR`] characters.
    pub text: String,
    /// Where it was met first.
    pub episode: EpisodeId,
    /// Where it went away, if it did.
    pub solved_in: Option<EpisodeId>,
}

/// How many characters an error has on a page.
pub const LONGEST_ERROR: usize = 200;

/// A sentence of the session that later sessions should know, in the words in which it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub kind: ClaimKind,
    pub text: String,
    /// Where it was said.
    pub episode: EpisodeId,
    pub origin: Origin,
}

/// What a claim claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// What holds from now on: a wish of the person ("never push to main"), a fact of the project,
    /// and with [`Origin::Tool`] a command that checks the work, and passed.
    #[serde(alias = "preference", alias = "check")]
    Standing,
    /// What was chosen, and often over what.
    Decision,
    /// What was learnt: symptom → cause → fix, a limit, a trap.
    #[serde(alias = "fix")]
    Lesson,
    /// What was left to do.
    Open,
}

impl Claim {
    /// How the line of checks begins.
    pub const CHECKS: &'static str = "Checks that passed here: ";

    /// How the line begins that says where plans and notes are kept.
    pub const NOTES: &'static str = "Plans and notes are kept in ";

    /// Whether it names commands that checked the work and passed.
    pub fn is_check(&self) -> bool {
        !self.checks().is_empty()
    }

    /// The commands that checked the work and passed: `` Checks that passed here: `a`, `b` ``, or
    /// as format 1 had it, `` `a` passed ``.
    pub fn checks(&self) -> Vec<&str> {
        let names = self.text.starts_with(Claim::CHECKS) || self.text.ends_with("` passed");
        if !names || self.kind != ClaimKind::Standing || self.origin != Origin::Tool {
            return Vec::new();
        }
        self.text.split('`').skip(1).step_by(2).collect()
    }
}

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    User,
    Assistant,
    Tool,
}

/// How a session went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Success,
    /// Some of it was done, or done but not proved.
    Partial,
    Fail,
    Abandoned,
    #[default]
    Unknown,
}

/// Whether a session may still grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Open,
    Closed,
}

/// Whether a session is worth remembering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    #[default]
    Full,
    None,
}

words!(Origin { User = "user", Assistant = "assistant", Tool = "tool" });
words!(ClaimKind {
    Standing = "standing",
    Decision = "decision",
    Lesson = "lesson",
    Open = "open",
});
words!(Outcome {
    Success = "success",
    Partial = "partial",
    Fail = "fail",
    Abandoned = "abandoned",
    Unknown = "unknown",
});
words!(State { Open = "open", Closed = "closed" });
words!(Worth { Full = "full", None = "none" });
