//! A pattern: a problem or a success that comes up again and again, across sessions, agents and
//! projects.
//!
//! It begins as a [`Candidate`], which is what the digests say and nothing else. Once a person has
//! said yes it is a [`Pattern`] of the catalog, with words that are theirs from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ids::{EpisodeId, SessionId};
use super::words::words;
use crate::base::clock::Timestamp;
use crate::base::{files, text};

/// The name of a pattern: the same on every device that finds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PatternId(String);

/// How long a name is at most, and how much of it comes from the locus.
const LONGEST_ID: usize = 80;
const LONGEST_SLUG: usize = 44;

impl PatternId {
    /// The name of what is recognized by a key.
    pub fn of_key(key: &PatternKey) -> PatternId {
        let ascii: String = text::slug(&key.locus, LONGEST_SLUG)
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect();
        let slug: Vec<&str> = ascii.split('-').filter(|part| !part.is_empty()).collect();
        let hash = files::sha256_hex(key.to_string().as_bytes());
        let kind = key.kind.to_string().replace('_', "-");
        PatternId([kind.as_str(), &slug.join("-"), &hash[..6]].join("-").replace("--", "-"))
    }

    /// The name as it stands in file names.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PatternId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PatternId {
    type Err = String;

    fn from_str(text: &str) -> Result<PatternId, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = (1..=LONGEST_ID).contains(&text.len())
            && text.chars().all(fits)
            && !text.starts_with('-')
            && !text.ends_with('-');
        match is_name {
            true => Ok(PatternId(text.to_string())),
            false => Err(format!("`{text}` is no name of a pattern")),
        }
    }
}

impl From<PatternId> for String {
    fn from(id: PatternId) -> String {
        id.0
    }
}

impl TryFrom<String> for PatternId {
    type Error = String;

    fn try_from(text: String) -> Result<PatternId, String> {
        text.parse()
    }
}

/// Whether it is to be avoided or to be done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Polarity {
    Problem,
    Success,
}

words!(Polarity { Problem = "problem", Success = "success" });

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// The person stopped, refused, objected or asked again.
    Correction,
    /// The person asked for the same thing in several sessions.
    SaidAgain,
    /// The same error in several sessions.
    RecurringError,
    /// One error many times in one session.
    RepeatedErrors,
    /// The same call again and again after it failed.
    RetryStorm,
    /// Far more tokens than other sessions take.
    BudgetOverrun,
    /// Nothing came of it.
    Abandoned,
    /// Much of the work was keeping lists and asking for tools.
    InfraOverhead,
    /// The descriptions of tools were loaded again and again.
    SchemaThrash,
    /// One tool was called over and over.
    ToolThrash,
    /// A check that passed, session after session.
    CleanPass,
    /// An error that went away, and by what.
    ErrorThenRecovery,
    /// A standing instruction of the person's, as an agent took it down.
    Instruction,
}

words!(SignalKind {
    Correction = "correction",
    SaidAgain = "said_again",
    RecurringError = "recurring_error",
    RepeatedErrors = "repeated_errors",
    RetryStorm = "retry_storm",
    BudgetOverrun = "budget_overrun",
    Abandoned = "abandoned",
    InfraOverhead = "infra_overhead",
    SchemaThrash = "schema_thrash",
    ToolThrash = "tool_thrash",
    CleanPass = "clean_pass",
    ErrorThenRecovery = "error_then_recovery",
    Instruction = "instruction",
});

/// What makes two signals the same pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PatternKey {
    pub polarity: Polarity,
    #[serde(rename = "type")]
    pub kind: SignalKind,
    /// Where it shows: an error's fingerprint, a tool, a command, a project.
    pub locus: String,
}

impl fmt::Display for PatternKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.polarity, self.kind, self.locus)
    }
}

impl FromStr for PatternKey {
    type Err = String;

    fn from_str(text: &str) -> Result<PatternKey, String> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().ok_or_else(|| format!("`{text}` is no key of a pattern"));
        Ok(PatternKey {
            polarity: next()?.parse()?,
            kind: next()?.parse()?,
            locus: next()?.to_string(),
        })
    }
}

/// A place in a session where a pattern showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sighting {
    pub session: SessionId,
    pub episode: Option<EpisodeId>,
    pub flavor: String,
    pub project: Option<String>,
    /// How often it came there.
    pub times: u64,
    /// What was said or printed, in one line; empty where the locus says it.
    pub detail: String,
}

impl Sighting {
    /// The place, as `recall` takes it: `SES3_laptop_SP1C2#EP_004`.
    pub fn place(&self) -> String {
        match self.episode {
            Some(episode) => format!("{}#{episode}", self.session),
            None => self.session.to_string(),
        }
    }
}

/// What was done about an error, and whether it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// What was done: `changing src/lock.rs`.
    pub by: String,
    /// What the session said it had learnt, in its words; empty where it said nothing of it.
    pub lesson: String,
    /// Where the error went away.
    pub place: String,
    pub flavor: String,
    /// The session in which the same error came back in the same project.
    pub came_back_in: Option<SessionId>,
}

impl Fix {
    /// Whether the error did not come back.
    pub fn held(&self) -> bool {
        self.came_back_in.is_none()
    }
}

/// A pattern as the digests show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    pub id: PatternId,
    #[serde(flatten)]
    pub key: PatternKey,
    /// One sentence that a person can judge.
    pub title: String,
    /// What to do about it, where that is known: one sentence.
    pub advice: String,
    /// How often it came, in all sessions together.
    pub frequency: u64,
    pub sessions: Vec<SessionId>,
    pub projects: Vec<String>,
    pub flavors: Vec<String>,
    pub cross_flavor: bool,
    /// About how many tokens went into it.
    pub cost_impact: u64,
    /// When it was last seen.
    pub last_seen: Option<Timestamp>,
    /// The latest places, one for each session.
    pub evidence: Vec<Sighting>,
    /// What each project has of it.
    #[serde(skip)]
    pub by_project: BTreeMap<String, OfProject>,
    /// What was done about it, what held first.
    pub resolved_by: Vec<Fix>,
}

/// What a project has of a candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfProject {
    pub frequency: u64,
    pub sessions: usize,
    /// The latest places, one for each session.
    pub evidence: Vec<Sighting>,
}

impl Candidate {
    /// What a decision rests on: where it changes, the person is asked again.
    pub fn evidence_fingerprint(&self) -> String {
        let sessions: Vec<String> = self.sessions.iter().map(SessionId::to_string).collect();
        let Candidate { frequency, flavors, projects, cross_flavor, .. } = self;
        let of = serde_json::json!([cross_flavor, flavors, frequency, projects, sessions]);
        files::sha256_hex(of.to_string().as_bytes())[..12].to_string()
    }
}

/// How far a pattern has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternStatus {
    /// In the catalog without a person's yes.
    Provisional,
    Approved,
    /// It did not help, or holds no more.
    Retired,
}

words!(PatternStatus {
    Provisional = "provisional",
    Approved = "approved",
    Retired = "retired",
});

/// A pattern of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub id: PatternId,
    pub key: PatternKey,
    pub name: String,
    pub status: PatternStatus,
    /// Whether it says what to do, so that it can be distributed.
    pub ready: bool,
    pub version: Version,
    /// What happens, in a sentence.
    pub problem: String,
    /// What to do, the best first.
    pub resolutions: Vec<String>,
    pub scope: Scope,
    /// What it rests on.
    pub provenance: Provenance,
    /// Where it goes for each agent, and how it should be said there.
    pub hints: Vec<Hint>,
    /// Sessions in which it must not apply.
    pub not_in: Vec<SessionId>,
}

impl Pattern {
    /// What a person says yes to: the words that agents will read, and who will read them. The
    /// evidence may grow without asking again.
    pub fn text_hash(&self) -> String {
        let Pattern { id, key, name, problem, resolutions, scope, hints, .. } = self;
        let hints: Vec<String> = hints.iter().map(Hint::to_string).collect();
        let of = serde_json::json!([id, key, name, problem, resolutions, scope, hints]);
        files::sha256_hex(of.to_string().as_bytes())[..16].to_string()
    }
}

/// Whom a pattern is for; an empty list means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub flavors: Vec<String>,
    pub projects: Vec<String>,
    pub domains: Vec<String>,
}

impl Scope {
    /// Whether it reaches an agent in a project.
    pub fn reaches(&self, flavor: &str, project: &str, domain: Option<&str>) -> bool {
        let has = |list: &[String], name: &str| list.is_empty() || list.iter().any(|it| it == name);
        let in_domain = self.domains.is_empty()
            || domain.is_some_and(|domain| self.domains.iter().any(|it| it == domain));
        has(&self.flavors, flavor) && has(&self.projects, project) && in_domain
    }
}

/// What a pattern rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    pub frequency: u64,
    pub sessions: Vec<SessionId>,
    /// The fingerprint of the evidence that was decided on.
    pub evidence: String,
    /// The first place that its page names, as `recall` takes it: `SES3_laptop_SP1C2#EP_004`.
    pub place: Option<String>,
    pub promoted: Option<Timestamp>,
}

/// How a pattern is to be said to one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub flavor: String,
    /// The file that it goes to, such as `CLAUDE.md`.
    pub target: String,
    /// A person's remark, `to refine` at first.
    pub note: String,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.flavor, self.target, self.note)
    }
}

impl FromStr for Hint {
    type Err = String;

    fn from_str(line: &str) -> Result<Hint, String> {
        let wrong = || format!("`{line}` is no hint such as `claude: CLAUDE.md (to refine)`");
        let (flavor, rest) = line.split_once(": ").ok_or_else(wrong)?;
        let (target, note) = match rest.split_once(" (") {
            Some((target, note)) => (target, note.strip_suffix(')').unwrap_or(note)),
            None => (rest, ""),
        };
        Ok(Hint { flavor: flavor.into(), target: target.into(), note: note.into() })
    }
}

/// A version of a pattern: the second number counts changes of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first one.
    pub const FIRST: Version = Version(1, 0, 0);

    /// The one after a change of words.
    pub fn next(self) -> Version {
        Version(self.0, self.1.saturating_add(1), 0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let mut numbers = text.split('.').map(|part| part.parse::<u32>().ok());
        match [numbers.next(), numbers.next(), numbers.next(), numbers.next()] {
            [Some(Some(a)), Some(Some(b)), Some(Some(c)), None] => Ok(Version(a, b, c)),
            _ => Err(format!("`{text}` is no version such as 1.0.0")),
        }
    }
}

/// From when on something counts: the settings of `[detect]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// In how many signals a pattern shows at least.
    pub min_frequency: u64,
    /// Sessions with fewer events, calls that do something, or letters of the first prompt are no
    /// real work.
    pub min_events: u64,
    pub min_substantive: u64,
    pub min_prompt_chars: usize,
    /// So many retries of a tool are a storm, so many failures of it are many.
    pub retries: u64,
    pub failures: u64,
    /// So many calls that only keep house, and this share of all, are too many.
    pub infra_calls: u64,
    pub infra_share: f64,
    /// So many loads of tool descriptions are too many.
    pub schema_loads: u64,
    /// So many calls, and this share of all, make one tool stand out.
    pub thrash_calls: u64,
    pub thrash_share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(locus: &str) -> PatternKey {
        let kind = SignalKind::RecurringError;
        PatternKey { polarity: Polarity::Problem, kind, locus: locus.into() }
    }

    #[test]
    fn names_are_safe_and_the_same_for_the_same_key() {
        for locus in
            ["error: cannot open _", "../../etc/passwd", "", "名前がない", &"x".repeat(500)]
        {
            let id = PatternId::of_key(&key(locus));
            assert_eq!(id, PatternId::of_key(&key(locus)));
            assert_eq!(id.as_str().parse(), Ok(id.clone()), "{id}");
        }
        assert_ne!(PatternId::of_key(&key("a b")), PatternId::of_key(&key("a-b")));
        for bad in ["", "-a", "a/b", "..", "A", "a b", &"x".repeat(81)] {
            assert!(bad.parse::<PatternId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_hints_and_versions_are_read_back() {
        let key = key("error: a/b");
        assert_eq!(key.to_string().parse(), Ok(key));
        let hint = Hint { flavor: "pi".into(), target: "AGENTS.md".into(), note: "short".into() };
        assert_eq!(hint.to_string().parse(), Ok(hint));
        assert_eq!("1.2.0".parse(), Ok(Version(1, 2, 0)));
        assert_eq!(Version(1, 2, 0).next().to_string(), "1.3.0");
        assert!("1.2".parse::<Version>().is_err() && "1.2.3.4".parse::<Version>().is_err());
    }
}
