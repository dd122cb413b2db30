//! The index of sessions: `sessions/INDEX.md` with the last ones, and a page for each month.
//!
//! It is made from digests alone. A month's page is made again when a digest of it is newer than
//! the page, came or went, or when git has joined two versions of the page line by line. Lines that
//! a person wrote into it stay, at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::Store;
use super::layout::{self, Layout};
use crate::base::files::{self, Merge, Stamp};
use crate::base::markdown::inline;
use crate::base::text;
use crate::model::digest::{Digest, Worth};
use crate::model::ids::SessionId;

/// How many sessions `INDEX.md` shows.
const LAST: usize = 50;
/// How the line begins that names the sessions that are only counted.
const COUNTED: &str = "<!-- memtree: not listed: ";
const COUNTED_END: &str = " -->";
const NOT_LISTED: &str = " not worth remembering";
const BETWEEN: &str = " · ";

/// A session as the index shows it.
#[derive(Debug, Clone)]
pub struct IndexEntry {
    pub session: SessionId,
    /// The day on which it ended; empty where that is not known.
    pub date: String,
    pub digest: Digest,
}

impl IndexEntry {
    /// Reads what the index says of a session; `None` where its digest is gone or damaged.
    pub fn read(store: &Store, id: &SessionId) -> Option<IndexEntry> {
        let digest = store.digest(id).ok().flatten()?;
        let date = match digest.content.date.as_str() {
            // Pages of format 1 have none.
            "" => digest.content.ended.map(|at| at.format("%Y-%m-%d").to_string()),
            date => Some(date.to_string()),
        };
        Some(IndexEntry { session: id.clone(), date: date.unwrap_or_default(), digest })
    }

    fn month(&self) -> String {
        match self.date.get(..7) {
            Some(month) if is_month(month) => month.to_string(),
            _ => layout::UNDATED.to_string(),
        }
    }

    fn is_listed(&self) -> bool {
        self.digest.content.worth == Worth::Full
    }

    /// Its line; `is_alone` is whether no other session of the day has its title.
    fn line(&self, is_alone: bool) -> String {
        let content = &self.digest.content;
        let part = |value: &str, most| inline(&text::one_line(value, most).replace(BETWEEN, " - "));
        let or_dash = |value: String| if value.is_empty() { "–".to_string() } else { value };
        let title = or_dash(part(&content.title, 160));
        let parts = [
            or_dash(self.date.clone()),
            or_dash(part(content.project.as_deref().unwrap_or_default(), 60)),
            if is_alone { title } else { format!("{title} ({})", self.told_apart()) },
            content.status.to_string(),
            format!("[{}]({})", self.session, layout::from_index_to_digest(&self.session)),
        ];
        format!("- {}\n", parts.join(BETWEEN))
    }

    /// What tells it apart from another of the same title: the agent, and when it began.
    fn told_apart(&self) -> String {
        let content = &self.digest.content;
        let began = content.started.or(content.ended);
        let began = began.map(|at| at.format(", %H:%MZ").to_string()).unwrap_or_default();
        inline(&format!("{}{began}", content.flavor))
    }
}

/// The lines of sessions in their order; those of equal titles on one day say which is which.
fn lines(entries: &[IndexEntry]) -> String {
    let title = |one: &IndexEntry| one.digest.content.title.to_lowercase();
    let mut titles: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for one in entries.iter().filter(|one| one.is_listed()) {
        *titles.entry((&one.date, title(one))).or_default() += 1;
    }
    let listed = entries.iter().filter(|one| one.is_listed());
    listed.map(|one| one.line(titles[&(one.date.as_str(), title(one))] <= 1)).collect()
}

/// The order of the index: newest first.
pub fn sort(entries: &mut [IndexEntry]) {
    entries.sort_by(|a, b| {
        let key = |one: &IndexEntry| (one.date.clone(), one.digest.content.ended);
        key(b).cmp(&key(a)).then_with(|| b.session.cmp(&a.session))
    });
}

/// Brings the index up to date with the digests that are there, each with how its file looks.
pub fn update(store: &Store, digests: &[(SessionId, Stamp)]) -> io::Result<()> {
    let layout = store.layout();
    let mut months = MonthPage::read_all(layout)?;
    if digests.is_empty() && months.is_empty() && !files::exists(layout.session_index()) {
        return Ok(());
    }
    let there: BTreeMap<&SessionId, &Stamp> = digests.iter().map(|(id, at)| (id, at)).collect();
    let mut dirty: BTreeSet<String> = BTreeSet::new();
    let mut known: BTreeMap<SessionId, String> = BTreeMap::new();
    for (month, page) in &mut months {
        let newer = |id: &SessionId| there.get(id).is_none_or(|at| at.mtime_ns >= page.written);
        if !page.in_order || page.sessions.iter().any(newer) {
            dirty.insert(month.clone());
        }
        page.sessions.retain(|id| there.contains_key(id));
        known.extend(page.sessions.iter().map(|id| (id.clone(), month.clone())));
    }
    // What is new, or may have changed, says itself to which month it belongs.
    let looked: Vec<&SessionId> = digests
        .iter()
        .map(|(id, _)| id)
        .filter(|id| known.get(id).is_none_or(|month| dirty.contains(month)))
        .collect();
    let entries: Vec<IndexEntry> =
        looked.into_par_iter().filter_map(|id| IndexEntry::read(store, id)).collect();
    let mut by_month: BTreeMap<String, Vec<IndexEntry>> = BTreeMap::new();
    for entry in entries {
        let month = entry.month();
        if known.get(&entry.session) != Some(&month) && dirty.insert(month.clone()) {
            // A session came to a month that is as it was: the others of it are needed too.
            let others = months.get(&month).map(|page| page.sessions.clone()).unwrap_or_default();
            let others = others.into_iter().filter(|id| *id != entry.session);
            let read = others.filter_map(|id| IndexEntry::read(store, &id));
            by_month.entry(month.clone()).or_default().extend(read);
        }
        by_month.entry(month).or_default().push(entry);
    }
    for month in dirty {
        write_month(layout, &month, by_month.remove(&month).unwrap_or_default())?;
    }
    write_front(store)
}

fn write_month(layout: &Layout, month: &str, mut entries: Vec<IndexEntry>) -> io::Result<()> {
    let path = layout.session_index_of(month);
    let now = files::if_exists(files::read(&path))?.unwrap_or_default();
    if entries.is_empty() && written_by_hand(&now).is_empty() {
        return files::remove_file(&path);
    }
    sort(&mut entries);
    let listed = lines(&entries);
    let mut text = format!("# Sessions of {month}\n\n[All months](INDEX.md)\n\n{listed}");
    let counted: Vec<String> =
        entries.iter().filter(|one| !one.is_listed()).map(|one| one.session.to_string()).collect();
    if !counted.is_empty() {
        let sessions = text::counted(counted.len(), "session");
        let ids = counted.join(" ");
        text.push_str(&format!("\n{sessions}{NOT_LISTED}\n{COUNTED}{ids}{COUNTED_END}\n"));
    }
    // Also where it says the same: it is to be newer than its digests.
    if write(layout, &path, &text)? { Ok(()) } else { files::touch(&path) }
}

/// Writes a page of the index around what a person wrote into it; returns whether it changed.
fn write(layout: &Layout, path: &Path, text: &str) -> io::Result<bool> {
    let merge: Merge<'_> = Box::new(|now| {
        let theirs = written_by_hand(now.unwrap_or_default());
        let gap = if theirs.is_empty() { "" } else { "\n" };
        Ok(Some(format!("{text}{gap}{theirs}").into_bytes()))
    });
    files::replace(&layout.replacing(), path, merge)
}

/// The lines of a page of the index that are not ours, and no traces of a merge.
fn written_by_hand(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let is_ours = |line: &str| {
        let is_month = || {
            let month = line.strip_prefix("- [").and_then(|rest| rest.split_once("](INDEX-"));
            month.is_some_and(|(_, rest)| rest.contains(".md): "))
        };
        let is_marked = ["<<<<<<<", "=======", ">>>>>>>", COUNTED, "# Sessions", "## The last "]
            .iter()
            .any(|mark| line.starts_with(mark));
        line.trim().is_empty()
            || is_marked
            || line.starts_with("[All months](")
            || line.ends_with(NOT_LISTED)
            || listed_session(line).is_some()
            || is_month()
    };
    page.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n")).collect()
}

/// Writes `INDEX.md`: every month, and the last sessions.
fn write_front(store: &Store) -> io::Result<()> {
    let layout = store.layout();
    let months = MonthPage::read_all(layout)?;
    let mut text = String::from("# Sessions\n\n");
    let mut last = String::new();
    let mut shown = 0;
    for (month, page) in months.iter().rev() {
        let listed = text::counted(page.lines.len(), "session");
        let name = layout::session_index_name(month);
        text.push_str(&format!("- [{month}]({name}): {listed}"));
        if page.counted > 0 {
            text.push_str(&format!(", {}{NOT_LISTED}", page.counted));
        }
        text.push('\n');
        for line in page.lines.iter().take(LAST - shown) {
            last.push_str(&format!("{line}\n"));
            shown += 1;
        }
    }
    if shown > 0 {
        text.push_str(&format!("\n## The last {shown}\n\n{last}"));
    }
    write(layout, &layout.session_index(), &text).map(drop)
}

/// A month's page as it is there.
#[derive(Debug, Default)]
struct MonthPage {
    /// All of its sessions, listed or only counted.
    sessions: Vec<SessionId>,
    lines: Vec<String>,
    counted: usize,
    /// Whether it is as we write it, rather than two versions joined.
    in_order: bool,
    /// When it was written, in nanoseconds since 1970.
    written: i64,
}

impl MonthPage {
    /// The pages that are there, by month.
    fn read_all(layout: &Layout) -> io::Result<BTreeMap<String, MonthPage>> {
        let mut pages = BTreeMap::new();
        for entry in files::if_exists(files::read_dir(layout.sessions()))?.into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name();
            if files::is_temporary(&name) && entry.file_type()?.is_file() {
                remove_leftover(layout, &entry.path())?;
                continue;
            }
            let Some(month) = name.to_str().and_then(layout::month_of_session_index) else {
                continue;
            };
            let metadata = files::metadata(entry.path())?;
            if metadata.is_file() {
                let page = MonthPage::read(&entry.path(), &Stamp::of(&metadata));
                pages.insert(month.to_string(), page);
            }
        }
        Ok(pages)
    }

    fn read(path: &Path, stamp: &Stamp) -> MonthPage {
        let text = files::read_to_string(path).unwrap_or_default();
        let mut page =
            MonthPage { written: stamp.mtime_ns, in_order: true, ..MonthPage::default() };
        let mut counts = 0;
        for line in text.lines() {
            if let Some(id) = listed_session(line) {
                let before = page.lines.last().map(|before| before.get(..12));
                page.in_order &= before.is_none_or(|before| before >= line.get(..12));
                page.sessions.push(id);
                page.lines.push(line.to_string());
            } else if let Some(ids) = line.strip_prefix(COUNTED) {
                let ids = ids.trim_end_matches(COUNTED_END).split(' ');
                let ids: Vec<SessionId> = ids.filter_map(|id| id.parse().ok()).collect();
                counts += 1;
                page.counted = ids.len();
                page.sessions.extend(ids);
            } else if line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>") {
                page.in_order = false;
            }
        }
        let different: BTreeSet<&SessionId> = page.sessions.iter().collect();
        page.in_order &= different.len() == page.sessions.len() && counts <= 1;
        page
    }
}

/// Removes what a kill left of a page: nobody else writes here, unless it may hold what a person
/// saved.
fn remove_leftover(layout: &Layout, path: &Path) -> io::Result<()> {
    if layout.replacing().noted().contains(path) { Ok(()) } else { files::remove_file(path) }
}

/// The session that a line of the index leads to.
fn listed_session(line: &str) -> Option<SessionId> {
    let (_, link) = line.strip_prefix("- ")?.rsplit_once(&format!("{BETWEEN}["))?;
    link.split_once("](")?.0.parse().ok()
}

fn is_month(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() == 7
        && bytes[4] == b'-'
        && bytes.iter().enumerate().all(|(at, byte)| at == 4 || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;
    use crate::model::digest::Content;

    fn entry(session: &str, title: &str, started: &str) -> IndexEntry {
        let content = Content {
            flavor: "codex".into(),
            title: title.into(),
            started: clock::parse(started),
            ..Content::default()
        };
        let digest = Digest::of_content(session, content);
        IndexEntry { session: digest.session.clone(), date: started[..10].into(), digest }
    }

    #[test]
    fn equal_titles_of_a_day_are_told_apart() {
        let entries = [
            entry("SES1_desk_SP1C1", "Sort the archive", "2026-11-15T08:20:00Z"),
            entry("SES2_desk_SP1C1", "Sort the archive", "2026-11-15T09:30:00Z"),
            entry("SES3_desk_SP1C1", "Sort the archive", "2026-11-16T09:30:00Z"),
        ];
        let lines = lines(&entries);
        let lines: Vec<&str> = lines.lines().collect();
        assert!(lines[0].contains("Sort the archive (codex, 08:20Z) · "), "{lines:?}");
        assert!(lines[1].contains("Sort the archive (codex, 09:30Z) · "), "{lines:?}");
        assert!(lines[2].contains("Sort the archive · "), "{lines:?}");
        assert!(lines.iter().all(|line| listed_session(line).is_some()), "{lines:?}");
    }
}
