//! Patterns as documents: candidates that wait, the catalog, decisions, and what is live where.

pub mod active;
pub mod block;
pub mod candidate;
pub mod catalog;
pub mod proposals;
pub mod reviews;

use super::authored::{self, Order, Rules, Unit};
use super::layout;
use crate::base::text;
use crate::model::ids::SessionId;
use crate::model::pattern::Sighting;

/// The sections that agents will read.
pub const PROBLEM: &str = "## Problem";
pub const WHAT_TO_DO: &str = "## What to do";
const EVIDENCE: &str = "## Evidence";

/// Pages that several devices may write: the same evidence gives the same bytes, and a person's
/// words stay.
pub static RULES: Rules = Rules {
    split: authored::headed_parts,
    unit: Unit::Line,
    order: Order::AsFound,
    measured: |key| {
        [
            "schema", "id", "key", "status", "ready", "version", "frequency", "sessions",
            "evidence", "cross_flavor", "not_in",
        ]
        .contains(&key)
    },
};

/// The text below a heading, without it.
fn section<'b>(body: &'b str, heading: &str) -> Option<&'b str> {
    let sections = authored::sections(body).into_iter();
    let mut found = sections.filter_map(|section| section.trim_start().strip_prefix(heading));
    found.find(|rest| rest.is_empty() || rest.starts_with(['\n', '\r', ' '])).map(str::trim)
}

/// The points below a heading; text without points is one.
fn points(body: &str, heading: &str) -> Vec<String> {
    let Some(text) = section(body, heading) else { return Vec::new() };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.map(|line| line.strip_prefix("- ").unwrap_or(line).trim().to_string());
    lines.filter(|line| line != NOTHING).collect()
}

/// Stands where nobody knows what to do yet.
const NOTHING: &str = "(nobody has said yet)";

/// A place as a link to its session.
fn link(session: &SessionId, place: &str) -> String {
    format!("[{place}]({})", layout::from_pattern_to_digest(session))
}

/// Where it showed, one line each.
fn evidence_lines(evidence: &[Sighting]) -> String {
    let line = |one: &Sighting| {
        let times = if one.times > 1 { format!(", {} times", one.times) } else { String::new() };
        let project = one.project.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
        let detail = text::one_line(&one.detail, 160);
        let detail = if detail.is_empty() { detail } else { format!(": {}", quoted(&detail)) };
        let (place, flavor) = (link(&one.session, &one.place()), &one.flavor);
        format!("- {place} {}{times}{detail}\n", said(&format!("{flavor}{project}")))
    };
    evidence.iter().map(line).collect()
}

/// Words of a log as part of a page.
fn said(words: &str) -> String {
    super::knowledge::said(words)
}

/// Words of a log as a quotation: they are what was said, not what is to be done.
fn quoted(words: &str) -> String {
    crate::base::markdown::code(words)
}
