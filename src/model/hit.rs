//! A hit: what a search gives back, of a session, of one of its episodes, or of another page.

use serde::Serialize;

use super::digest::Origin;
use super::ids::{EpisodeId, SessionId};

/// A session that was found, or one of its episodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    pub rank: usize,
    pub score: f64,
    pub session: SessionId,
    pub source_id: String,
    pub title: String,
    pub status: String,
    pub project: Option<String>,
    pub flavor: String,
    pub ended: Option<String>,
    /// The digest, or the episode's page, relative to the memory.
    pub path: String,
    pub excerpt: String,
    /// Whether it is only a guess: too little of what was asked for is in it.
    pub weak: bool,
    /// How likely it is what was asked for, from 0 to 1.
    pub confidence: f64,
    /// What it was judged by.
    pub evidence: HitEvidence,
    /// The words of the question that it has in no form.
    pub lacks: Vec<String>,
    /// The phrasings of the question that found it.
    pub found_by: Vec<String>,
    /// Whether the session was not found worth remembering (`worth: none`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// The triggers that match, best first.
    pub triggers: Vec<HitTrigger>,
    /// Why it was found: where, and by which words.
    pub reason: String,
    /// Where in the session it is, when the search went deep.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Passage>,
    /// Whose memory it is from, and on which device it was captured, where a team's were searched.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub whose: Option<Whose>,
    /// The words of the digest that match, to be shown as such.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// Whose a [`Hit`] is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Whose {
    /// The person's name in the team; `you` for one's own memory where that has none.
    pub author: String,
    pub device: String,
    /// Whether it is somebody else's: then its paths are not below one's own memory.
    pub others: bool,
}

/// What a [`Hit`] has of the question, as shares of the weight of its words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HitEvidence {
    /// In the part that fits best.
    pub part: f64,
    /// On the whole page.
    pub page: f64,
    /// How much was asked, in words that only one page has; at least one.
    pub asked: f64,
    /// How many parts the page has.
    pub parts: usize,
}

/// Where in a session a [`Hit`] is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    #[serde(serialize_with = "as_shown")]
    pub episode: EpisodeId,
    /// What `recall` takes.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The line of the episode's page, counted from one.
    pub line: usize,
}

/// A section of a page that is no digest, and was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoteHit {
    pub rank: usize,
    pub score: f64,
    #[serde(rename = "in")]
    pub tree: Tree,
    /// The title of the page.
    pub title: String,
    /// The heading above the section.
    pub heading: String,
    pub project: Option<String>,
    /// The day that it is about, or when it was last written.
    pub ended: Option<String>,
    /// The page, relative to the memory.
    pub path: String,
    /// Where the section begins, counted from one.
    pub line: usize,
    pub excerpt: String,
    /// Whether it is only a guess.
    pub weak: bool,
    /// How likely it is what was asked for, from 0 to 1.
    pub confidence: f64,
    /// The phrasings of the question that found it.
    pub found_by: Vec<String>,
    /// Why it was found.
    pub reason: String,
    /// The words that match, to be shown as such.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// A trigger of a [`Hit`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HitTrigger {
    pub topic: String,
    #[serde(serialize_with = "as_shown")]
    pub episode: EpisodeId,
    /// The raw part to open, relative to the memory.
    pub path: String,
    pub origin: Origin,
}

/// A part of the tree that search looks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tree {
    Digests,
    Days,
    Core,
    Knowledge,
    Patterns,
    /// What agents keep through the memory tool.
    Memories,
}

impl Tree {
    /// All but the digests.
    pub const NOTES: [Tree; 5] =
        [Tree::Days, Tree::Core, Tree::Knowledge, Tree::Patterns, Tree::Memories];

    /// The folder of the memory that it is, where it is one.
    pub fn folder(self) -> Option<&'static str> {
        match self {
            Tree::Digests => None,
            Tree::Days => Some("daily"),
            Tree::Core => Some("core"),
            Tree::Knowledge => Some("knowledge"),
            Tree::Patterns => Some("patterns"),
            Tree::Memories => Some("memories"),
        }
    }

    /// Its name, as it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Tree::Digests => "digests",
            Tree::Days => "days",
            Tree::Core => "core",
            Tree::Knowledge => "knowledge",
            Tree::Patterns => "patterns",
            Tree::Memories => "memories",
        }
    }
}

fn as_shown<S: serde::Serializer>(
    episode: &EpisodeId,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(episode)
}
