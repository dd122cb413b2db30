//! Knowledge: pages on concepts, on what connects them, and on questions that were asked.
//!
//! Everything here is as it stands on the pages; `store/knowledge.rs` writes and reads them.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use chrono::NaiveDate;

use super::digest::{Origin, Outcome};
use super::ids::{EpisodeId, SessionId};
use crate::base::{files, text};

/// The longest name of a page, in bytes.
const LONGEST_SLUG: usize = 72;

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Concept,
    Connection,
    Question,
}

impl Kind {
    /// All of them, in the order of the index.
    pub const ALL: [Kind; 3] = [Kind::Concept, Kind::Connection, Kind::Question];

    /// The folder of these pages, which is the first part of a link to one.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Concept => "concepts",
            Kind::Connection => "connections",
            Kind::Question => "qa",
        }
    }
}

/// The name of a page as links have it: `concepts/full-jitter`. It never leads anywhere but into
/// its folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageName {
    pub kind: Kind,
    slug: String,
}

impl PageName {
    /// The name of the page on something.
    pub fn new(kind: Kind, title: &str) -> PageName {
        PageName { kind, slug: text::slug(title, LONGEST_SLUG) }
    }

    /// The part of the name behind the folder.
    pub fn slug(&self) -> &str {
        &self.slug
    }
}

impl fmt::Display for PageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.folder(), self.slug)
    }
}

impl FromStr for PageName {
    type Err = String;

    /// Reads what stands in a link; a person may have named the page as they liked, but not so that
    /// it leads out.
    fn from_str(target: &str) -> Result<PageName, String> {
        safe_target(target)?;
        let within = target.strip_prefix("knowledge/").unwrap_or(target);
        let within = within.strip_suffix(".md").unwrap_or(within);
        Kind::ALL
            .into_iter()
            .find_map(|kind| {
                let slug = within.strip_prefix(kind.folder())?.strip_prefix('/')?;
                let plain = !slug.is_empty() && !slug.contains('/') && !slug.starts_with('.');
                plain.then(|| PageName { kind, slug: slug.to_string() })
            })
            .ok_or_else(|| {
                format!(
                    "`{}` is not a page such as concepts/file-locking",
                    text::one_line(target, 80)
                )
            })
    }
}

/// Refuses the target of a link that could lead out of the memory.
pub fn safe_target(target: &str) -> Result<(), String> {
    let reason = if target.trim().is_empty() {
        "it is empty"
    } else if target.contains('\0') {
        "it holds a NUL"
    } else if target.contains('\\') {
        "it holds a backslash"
    } else if target.starts_with(['/', '~']) || target.as_bytes().get(1) == Some(&b':') {
        "it is absolute"
    } else if files::safe_relative(Path::new(target)).is_none() {
        "it leads out of the memory"
    } else {
        return Ok(());
    };
    Err(reason.into())
}

/// Somebody's own words, and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub text: String,
    pub origin: Origin,
    pub place: QuoteSource,
}

/// Where something was said: enough to recall it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuoteSource {
    pub day: NaiveDate,
    /// Missing for what a person wrote into the day.
    pub session: Option<SessionId>,
    pub episode: Option<EpisodeId>,
}

/// What is known of a session whose words are quoted.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub title: String,
    pub project: Option<String>,
    pub status: Option<Outcome>,
    pub tags: Vec<String>,
}

/// A day that a page rests on, with the sessions of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceDay {
    pub day: NaiveDate,
    pub sessions: Vec<SessionId>,
}

/// The page on a concept.
#[derive(Debug, Clone, PartialEq)]
pub struct Concept {
    pub name: PageName,
    pub title: String,
    pub aliases: Vec<String>,
    pub tags: Vec<String>,
    /// What it is, in some sentences: where it comes up, then the best that was said of it.
    pub where_met: String,
    pub core: Vec<Quote>,
    pub key_points: Vec<Quote>,
    pub details: Vec<Details>,
    pub related: Vec<Relation>,
    pub sources: Vec<SourceDay>,
}

impl Concept {
    /// Everything that is quoted on the page, in order.
    pub fn quotes(&self) -> Vec<&Quote> {
        let details = self.details.iter().flat_map(|details| &details.quotes);
        self.core.iter().chain(&self.key_points).chain(details).collect()
    }
}

/// What one session or one part of it has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// What it was about, ending in a colon.
    pub lead: String,
    pub quotes: Vec<Quote>,
    /// What was done, such as the files that were changed.
    pub actions: Vec<String>,
}

/// A page that has to do with another, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub name: PageName,
    pub why: String,
}

/// The page on what connects two concepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    pub name: PageName,
    pub title: String,
    pub connects: [PageName; 2],
    pub connection: String,
    pub insight: Option<Quote>,
    pub evidence: Vec<Quote>,
    pub related: Vec<PageName>,
    pub sources: Vec<SourceDay>,
}

/// The page on a question that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub question: String,
    /// The pages and digests that were read for the answer.
    pub consulted: Vec<String>,
    pub filed: String,
    /// The answer, line by line, with its citations.
    pub answer: Vec<String>,
    pub follow_up: Vec<PageName>,
    pub made_by: String,
}

/// A sentence of a model's, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub text: String,
    pub sources: Vec<QuoteSource>,
}

/// All pages that days make.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Knowledge {
    pub concepts: Vec<Concept>,
    pub connections: Vec<Connection>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_links_have_them() {
        let jitter = PageName::new(Kind::Concept, "Full jitter");
        assert_eq!(jitter.to_string(), "concepts/full-jitter");
        for link in
            ["concepts/full-jitter", "knowledge/concepts/full-jitter", "concepts/full-jitter.md"]
        {
            assert_eq!(link.parse(), Ok(jitter.clone()), "{link}");
        }
    }

    #[test]
    fn no_name_leads_out() {
        for link in [
            "", " ", "/concepts/x", "concepts/../../x", "../concepts/x", "concepts/a\0b",
            "concepts/", "~/x", "C:/x",
        ] {
            assert!(link.parse::<PageName>().is_err(), "{link:?}");
        }
        for link in ["concepts/a/b", "concepts/.hidden", "concepts\\x", "other/x"] {
            assert!(link.parse::<PageName>().is_err(), "{link:?}");
        }
    }
}
