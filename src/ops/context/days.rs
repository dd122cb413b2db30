//! Today and yesterday: what the project's sessions did that is not on the page yet, what somebody
//! wrote into the day, and how many sessions other projects had.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{Days, NaiveDate};

use super::asking::Asking;
use super::lines::{plain, quoted};
use super::page::{Line, Section};
use super::sessions::{SessionLines, in_order};
use crate::base::{files, text};
use crate::model::digest::{Digest, Worth};
use crate::model::ids::SessionId;
use crate::store::Store;
use crate::store::day::summary;

/// How much of a file is looked at.
const LONGEST_FILE: u64 = 256 << 10;
/// How many lines of a day's raw log replace its summary where there is none.
const RAW_LINES: usize = 80;
/// How many sessions of a day are looked at; beyond, they are counted as other projects'.
const MOST_SESSIONS: usize = 60;
/// How many of the project's sessions of a day are shown beside the last ones.
const SHOWN: usize = 5;
/// Parts of a summary that are made from sessions: their digests say it better.
const MADE_OF_SESSIONS: &[&str] = &[
    "In short", "What was wanted", "What was decided", "What was done", "What was left open",
    "Sessions",
];

/// The sections of today and yesterday; `shown` are the sessions that are on the page already.
pub fn days(
    store: &Store,
    today: NaiveDate,
    sessions: &SessionLines<'_>,
    shown: &BTreeSet<SessionId>,
) -> Vec<Section> {
    let days = [
        Some((today, "Today")),
        today.checked_sub_days(Days::new(1)).map(|day| (day, "Yesterday")),
    ];
    let mut shown = shown.clone();
    let mut sections = Vec::new();
    for (day, name) in days.into_iter().flatten() {
        let share = if name == "Today" { 20 } else { 10 };
        let (lines, last_first) = lines_of(store, day, sessions, &mut shown);
        let heading = format!("{name}, {day}");
        sections.push(Section { heading, lines, share, last_first });
    }
    sections.retain(|section| !section.lines.is_empty());
    sections
}

/// The lines of one day, and whether its last ones matter most.
fn lines_of(
    store: &Store,
    day: NaiveDate,
    sessions: &SessionLines<'_>,
    shown: &mut BTreeSet<SessionId>,
) -> (Vec<Line>, bool) {
    let layout = store.layout();
    let path = layout.summary(day);
    if let Some(page) = read(&path) {
        let source = layout.shown(&path);
        let known = DaySessions::of(store, &page);
        let mut lines = match summary::is_from_us(&page) {
            true => known.lines(sessions, shown),
            false => Vec::new(),
        };
        lines.extend(prose(&page, &source, |under, line| {
            let ours = summary::is_from_us(&page) && is_made_of_sessions(under, line);
            !ours && known.is_here(line, sessions.asking)
        }));
        // How many there were elsewhere is of use only beside what was done here.
        if !lines.is_empty() || !shown.is_empty() {
            lines.extend(known.others(sessions.asking, &source));
        }
        // A summary of ours that has nothing for this project is an answer too.
        if !lines.is_empty() || summary::is_from_us(&page) {
            return (lines, false);
        }
    }
    let old = layout.old_day(day);
    if let Some(page) = read(&old) {
        let known = DaySessions::of(store, &page);
        let here = |_: &[Heading], line: &str| known.is_here(line, sessions.asking);
        let mut lines = prose(&page, &layout.shown(&old), here);
        if !lines.is_empty() {
            lines.drain(..lines.len().saturating_sub(RAW_LINES));
            return (lines, true);
        }
    }
    let raw = layout.day(day);
    let Some(page) = read(&raw) else { return (Vec::new(), false) };
    let known = DaySessions::of(store, &page);
    let said = |_: &[Heading], line: &str| {
        // What tools printed is left out.
        let kind = line.split(['[', ']']).nth(3).unwrap_or_default();
        matches!(kind, "user" | "main_agent")
            && known.is_here(line, sessions.asking)
            && ids_in(line).all(|id| !shown.contains(&id))
    };
    let mut lines = prose(&page, &layout.shown(&raw), said);
    lines.drain(..lines.len().saturating_sub(RAW_LINES));
    (lines, true)
}

/// Whether a line stands in a part of a summary that we make from sessions.
fn is_made_of_sessions(under: &[Heading], line: &str) -> bool {
    let Some(part) = under.first() else { return true };
    // What somebody wrote into the day by hand is of no session.
    let by_hand = line.ends_with("(-)");
    MADE_OF_SESSIONS.contains(&part.words.as_str())
        && !by_hand
        && !line.ends_with(summary::BY_MODEL)
}

/// The sessions that a day's page names.
struct DaySessions {
    digests: BTreeMap<SessionId, Digest>,
    /// All that are named, in the order of the page.
    named: Vec<SessionId>,
}

impl DaySessions {
    fn of(store: &Store, page: &str) -> DaySessions {
        let (mut digests, mut named) = (BTreeMap::new(), Vec::new());
        for id in ids_in(page) {
            if named.contains(&id) {
                continue;
            }
            if named.len() < MOST_SESSIONS
                && let Some(digest) = store.digest(&id).ok().flatten()
            {
                digests.insert(id.clone(), digest);
            }
            named.push(id);
        }
        DaySessions { digests, named }
    }

    /// Whether a line may be of this project: it names no session, or one that is.
    fn is_here(&self, line: &str, asking: &Asking<'_>) -> bool {
        let mut of_others = false;
        for id in ids_in(line) {
            let Some(digest) = self.digests.get(&id) else { continue };
            of_others |= !asking.is_here(digest.content.project.as_deref());
        }
        !of_others
    }

    /// What the project's sessions did that are not shown yet.
    fn lines(&self, sessions: &SessionLines<'_>, shown: &mut BTreeSet<SessionId>) -> Vec<Line> {
        let asking = sessions.asking;
        let mut here: Vec<&Digest> = self
            .digests
            .values()
            .filter(|digest| asking.is_here(digest.content.project.as_deref()))
            // The session that asks is among them: a compaction made it forget what it did.
            .filter(|digest| digest.content.worth == Worth::Full)
            .filter(|digest| !shown.contains(&digest.session))
            .collect();
        here.sort_by(|a, b| in_order(a, b));
        here.truncate(SHOWN);
        shown.extend(here.iter().map(|digest| digest.session.clone()));
        here.into_iter().flat_map(|digest| sessions.lines(digest)).collect()
    }

    /// How many sessions of other projects there were.
    fn others(&self, asking: &Asking<'_>, source: &str) -> Option<Line> {
        let is_other = |id: &&SessionId| {
            self.digests.get(id).is_none_or(|digest| {
                digest.content.worth == Worth::Full
                    && !asking.is_here(digest.content.project.as_deref())
            })
        };
        let count = self.named.iter().filter(is_other).count();
        let what = text::counted(count, "session");
        (count > 0).then(|| Line::new(format!("{what} of other projects"), format!("{source}:1")))
    }
}

/// The sessions that a text names.
fn ids_in(page: &str) -> impl Iterator<Item = SessionId> {
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    let named = words.filter(|word| word.starts_with("SES"));
    named.filter_map(|word| word.strip_suffix("_DIGEST").unwrap_or(word).parse().ok())
}

/// The lines of a page that say something, each with the innermost heading above it; `wanted` is
/// asked with all headings above a line.
pub fn prose(page: &str, source: &str, wanted: impl Fn(&[Heading], &str) -> bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut under: Vec<Heading> = Vec::new();
    let (mut fenced, mut matter) = (false, false);
    for (number, raw) in page.lines().enumerate() {
        let line = raw.trim();
        if line == "---" && (number == 0 || matter) {
            matter = number == 0;
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let formal = line.is_empty()
            || line.starts_with("<!--")
            || line.starts_with("|--")
            || line.starts_with("(yours")
            || line == "---";
        if matter || fenced || formal {
            continue;
        }
        if let Some(heading) = heading(line) {
            while under.pop_if(|above| above.depth >= heading.depth).is_some() {}
            // The page's own title says nothing of its lines.
            if heading.depth > 1 {
                under.push(heading);
            }
            continue;
        }
        let said = line.trim_start_matches(['-', '*', '>', '+']).trim_start();
        if !wanted(&under, line) || plain(said).is_empty() {
            continue;
        }
        let text = match under.last() {
            Some(heading) => format!("{}: {}", plain(&heading.words), quoted(said)),
            None => quoted(said),
        };
        lines.push(Line::new(text, format!("{source}:{}", number + 1)));
    }
    lines
}

/// A heading of a page: `## Decisions`, or `**Decisions**` alone on its line.
pub struct Heading {
    depth: usize,
    pub words: String,
}

fn heading(line: &str) -> Option<Heading> {
    const BOLD: usize = 7;
    let of = |depth, words: &str| {
        Some(Heading { depth, words: words.trim().trim_end_matches(':').to_string() })
    };
    let marked = line.trim_start_matches('#');
    if marked.len() < line.len() && marked.starts_with(' ') {
        return of(line.len() - marked.len(), marked);
    }
    let bold = line.strip_prefix("**")?.trim_end_matches(':').strip_suffix("**")?;
    if bold.contains("**") { None } else { of(BOLD, bold) }
}

/// Reads a page of the memory; a link could lead out of it.
pub fn read(path: &Path) -> Option<String> {
    if !files::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let bytes = files::read_at_most(path, LONGEST_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
