//! A candidate's page: what was seen, in a few lines that a person can judge, and where.

use super::{EVIDENCE, NOTHING, PROBLEM, RULES, WHAT_TO_DO, evidence_lines, points, section};
use crate::base::front_matter::{self, Document};
use crate::base::{clock, text};
use crate::model::pattern::{Candidate, Fix, PatternId};
use crate::store::authored::Page;
use crate::store::pattern::{quoted, said};

const SCHEMA: &str = "memtree/candidate/1";
const DONE: &str = "## What was done about it";
/// Before the title of what more than one agent shows.
pub const CROSS_FLAVOR: &str = "[CROSS-FLAVOR]";

/// The page of a candidate.
pub fn page(candidate: &Candidate) -> Page {
    let Candidate { id, key, title, flavors, projects, .. } = candidate;
    let entries = vec![
        ("schema", SCHEMA.to_string()),
        ("id", id.to_string()),
        ("title", front_matter::scalar(title)),
        ("key", front_matter::scalar(&key.to_string())),
        ("frequency", candidate.frequency.to_string()),
        ("sessions", candidate.sessions.len().to_string()),
        ("flavors", front_matter::list(flavors)),
        ("projects", front_matter::list(projects)),
        ("cross_flavor", candidate.cross_flavor.to_string()),
        ("evidence", front_matter::scalar(&candidate.evidence_fingerprint())),
    ];
    let advice = match candidate.advice.as_str() {
        "" => NOTHING.to_string(),
        advice => said(advice),
    };
    let fixes: String = candidate.resolved_by.iter().map(fix_line).collect();
    let fixes = if fixes.is_empty() { fixes } else { format!("\n{DONE}\n\n{fixes}") };
    Page {
        rules: &RULES,
        entries,
        body: [
            format!("# {}\n\n{}\n\n", said(title), summary(candidate)),
            format!("{PROBLEM}\n\n{}.\n\n", said(title)),
            format!("{WHAT_TO_DO}\n\n- {advice}\n\n"),
            format!("{EVIDENCE}\n\n{}", evidence_lines(&candidate.evidence)),
            fixes,
        ]
        .concat(),
    }
}

/// How often, by whom and where, in one line.
pub fn summary(candidate: &Candidate) -> String {
    let Candidate { frequency, sessions, flavors, projects, cost_impact, .. } = candidate;
    let cross = if candidate.cross_flavor { format!("{CROSS_FLAVOR} ") } else { String::new() };
    let mut projects = projects.clone();
    let more = projects.len().saturating_sub(5);
    projects.truncate(5);
    let projects = text::and_more(&projects.join(", "), more);
    let last = candidate.last_seen.map(|at| format!("; last {}", &clock::stamp(at)[..10]));
    let cost = match cost_impact {
        0 => String::new(),
        tokens => format!("; about {} tokens", rounded(*tokens)),
    };
    let times = if *frequency == 1 { "time" } else { "times" };
    said(&format!(
        "{cross}{frequency} {times} in {} ({}; {projects}){}{cost}.",
        text::counted(sessions.len(), "session"),
        flavors.join(", "),
        last.unwrap_or_default(),
    ))
}

/// A number of tokens as people say it.
fn rounded(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

fn fix_line(fix: &Fix) -> String {
    let held = match &fix.came_back_in {
        None => "held".to_string(),
        Some(session) => format!("came back in {session}"),
    };
    let what = match (fix.by.as_str(), fix.lesson.as_str()) {
        ("", lesson) => format!("“{}”", said(lesson)),
        (by, "") => said(by),
        (by, lesson) => format!("{}: “{}”", said(by), said(lesson)),
    };
    let session = fix.place.split('#').next().and_then(|name| name.parse().ok());
    let place = match session {
        Some(session) => super::link(&session, &fix.place),
        None => quoted(&fix.place),
    };
    format!("- {held}: {what} ({}, {place})\n", said(&fix.flavor))
}

/// What a page says that a person may have changed: its title, the problem, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    pub title: String,
    pub problem: String,
    pub resolutions: Vec<String>,
}

/// Reads a candidate's page, with the fingerprint of its evidence.
pub fn parse(text: &str) -> Option<(PatternId, Wording)> {
    let document = Document::parse(text);
    if document.get_str("schema").as_deref() != Some(SCHEMA) {
        return None;
    }
    Some((document.get_str("id")?.parse().ok()?, wording(&document)))
}

/// The words of a page, of a candidate or of the catalog.
pub(super) fn wording(document: &Document) -> Wording {
    let problem = section(document.body(), PROBLEM).unwrap_or_default();
    Wording {
        title: text::one_line(&document.get_str("title").unwrap_or_default(), 300),
        problem: text::one_line(problem, 600),
        resolutions: points(document.body(), WHAT_TO_DO),
    }
}
