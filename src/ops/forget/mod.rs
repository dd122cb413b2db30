//! Forgetting: a session or a text goes from everywhere, a tombstone keeps it from coming back, and a scan of all
//! that is left proves that it is gone.
//!
//! The tombstones are written first, the traces elsewhere go next, and the session's own folder goes last: as long as
//! it is there, a tombstone without effect is seen, and the next sweep finishes what was begun. The same happens where
//! a sync brings along the tombstones of another device, or brings back what they forbid.

mod pattern;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::base::files::{self, Found, Stamp};
use crate::base::front_matter::Document;
use crate::error::{Context, Error, Result};
use crate::model::ids::{Device, SessionId};
use crate::ops::{commit, consolidate, search, snapshot};
use crate::store::layout::Layout;
use crate::store::snapshots::{SnapshotWriter, parse_manifest_line};
use crate::store::tombstones::{self, Tombstone, Tombstones};
use crate::store::{Store, layout};

pub use pattern::Pattern;
use traces::Traces;

/// What to forget.
#[derive(Debug)]
pub enum What {
    /// One session, by its id, its digest's path, its source's id or the number of a hit of the last search.
    Session(String),
    /// Every session of a project.
    Project(String),
    /// Every session that ended before a day.
    Before(NaiveDate),
    /// A text, wherever it stands.
    Text(Pattern),
}

/// What will go.
#[derive(Debug, Serialize)]
pub struct Plan {
    pub sessions: Vec<PlannedSession>,
    /// The other files that lose lines or go, by their path in the memory.
    pub files: Vec<String>,
    #[serde(skip)]
    day: NaiveDate,
    #[serde(skip)]
    text: Option<Pattern>,
}

/// One session that will go, or lose a text.
#[derive(Debug, Serialize)]
pub struct PlannedSession {
    pub session: SessionId,
    pub title: String,
    pub project: Option<String>,
    pub ended: Option<String>,
    /// How much room its folder takes.
    pub bytes: u64,
    /// Whether its log will not be captured again: always, but where a text stands only in what we or a person wrote.
    pub log_stays_out: bool,
    #[serde(skip)]
    source_id: Option<String>,
}

/// What went, and the proof.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The sessions that are gone, or have lost a text.
    pub sessions: Vec<SessionId>,
    /// The other files that lost lines or went.
    pub files: Vec<String>,
    /// How much was looked through afterwards.
    pub scanned_files: u64,
    pub scanned_bytes: u64,
    /// Where something of it still stands.
    pub left: Vec<String>,
    /// What to run to take it out of git's history too; empty where the memory is in no repository.
    pub git: Vec<String>,
}

impl Plan {
    /// Whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.files.is_empty()
    }

    /// Whether only a text goes, and sessions stay without it.
    pub fn is_text(&self) -> bool {
        self.text.is_some()
    }
}

/// Finds what would go; changes nothing.
pub fn plan(store: &Store, what: What, day: NaiveDate) -> Result<Plan> {
    let cannot = || "cannot look through the memory".to_string();
    let (sessions, text) = match what {
        What::Session(name) => (vec![named(store, &name)?], None),
        What::Project(project) => (chosen(store, |digest| digest.content.project.as_deref() == Some(&project))?, None),
        What::Before(before) => {
            (chosen(store, |digest| digest.content.ended.is_some_and(|ended| ended.date_naive() < before))?, None)
        }
        What::Text(pattern) => {
            let mut holding = Vec::new();
            for session in store.session_ids().context(cannot)? {
                if holds_text(&store.layout().session(&session), &pattern).context(cannot)? {
                    holding.push(session);
                }
            }
            (holding, Some(pattern))
        }
    };
    let elsewhere = match &text {
        Some(pattern) => pages_with(store, |page, name| pattern.is_in(page) || pattern.is_in(name)),
        None => {
            let traces = Traces::of(store, &sessions).context(cannot)?;
            pages_with(store, |page, name| traces.are_in(name) || traces.removed(page).is_some())
        }
    };
    let files = elsewhere.context(cannot)?.iter().map(|path| store.layout().shown(path)).collect();
    let mut sessions: Vec<PlannedSession> = sessions.into_iter().map(|id| planned(store, id)).collect();
    if let Some(pattern) = &text {
        for planned in &mut sessions {
            let raw = store.layout().snapshot(&planned.session).join(layout::RAW);
            // Where raw is not here, its log may well hold the text.
            planned.log_stays_out = !raw.exists() || holds_text(&raw, pattern).context(cannot)?;
        }
    }
    Ok(Plan { sessions, files, day, text })
}

/// Forgets, and looks whether anything is left.
pub fn forget(store: &Store, plan: &Plan, device: &Device) -> Result<Report> {
    let layout = store.layout();
    let cannot = || format!("cannot forget in `{}`", layout.root().display());
    store.refuse_links(None)?;
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    let stones: Vec<Tombstone> = plan
        .sessions
        .iter()
        .map(|planned| Tombstone {
            session: plan.text.is_none().then(|| planned.session.clone()),
            source_id: planned.source_id.clone().filter(|_| planned.log_stays_out),
            on: plan.day,
        })
        .filter(|stone| stone.session.is_some() || stone.source_id.is_some())
        .collect();
    tombstones::add(layout, &stones).context(cannot)?;
    let sessions: Vec<SessionId> = plan.sessions.iter().map(|planned| planned.session.clone()).collect();
    let mut report = Report { sessions: sessions.clone(), git: git_commands(store, plan), ..Report::default() };
    match &plan.text {
        Some(pattern) => {
            for session in &sessions {
                without_text(store, session, pattern, plan.day)?;
            }
            let removed = |page: &str| pattern.is_in(page).then(|| pattern.removed(page).into_owned());
            report.files = clean_pages(store, |_| true, |name| pattern.is_in(name), removed).context(cannot)?;
            clear_cache(store).context(cannot)?;
            consolidate::run(store, device, false)?;
            prove(store, &mut report, |path, name| Ok(pattern.is_in(name) || pattern.is_in_file(path)?))?;
        }
        None => {
            let traces = Traces::of(store, &sessions).context(cannot)?;
            report.files = purge(store, &sessions, &traces).context(cannot)?;
            // A core lists all its eight sessions, this one as forgotten; what it said of it is gone.
            consolidate::run(store, device, false)?;
            let traces = traces.without_ids();
            prove(store, &mut report, |path, name| {
                // Other sessions may well have said the same; the tombstones name the ids.
                if is_apart(layout, path) || path.starts_with(layout.sessions()) {
                    return Ok(false);
                }
                if traces.are_in(name) {
                    return Ok(true);
                }
                let page = fs::read(path)?;
                Ok(String::from_utf8_lossy(&page).lines().any(|line| traces.are_in(line)))
            })?;
        }
    }
    Ok(report)
}

/// Does what tombstones ask for and was not done: a forget that was killed, or one that a sync brought along; and
/// takes out the lines that a merge of days brought back. The caller holds the sweep's lock.
pub fn finish(store: &Store, tombstones: &Tombstones) -> Result<()> {
    if tombstones.is_empty() {
        return Ok(());
    }
    let cannot = || "cannot finish forgetting".to_string();
    let back: Vec<SessionId> =
        tombstones.sessions().filter(|session| store.layout().session(session).exists()).cloned().collect();
    if !back.is_empty() {
        let traces = Traces::of(store, &back).context(cannot)?;
        purge(store, &back, &traces).context(cannot)?;
    }
    clean_days(store, tombstones).context(cannot)
}

/// How days looked when they held no line of a forgotten session.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct CleanDays {
    tombstones: Vec<String>,
    days: BTreeMap<String, Stamp>,
}

/// Takes the lines of forgotten sessions out of the days that have changed since that was last done.
fn clean_days(store: &Store, tombstones: &Tombstones) -> io::Result<()> {
    let layout = store.layout();
    let before: CleanDays =
        fs::read(layout.clean_days()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut now = CleanDays { tombstones: tombstones.lines(), days: BTreeMap::new() };
    let gone: Vec<SessionId> = tombstones.sessions().cloned().collect();
    let traces = Traces::named(&gone);
    let days = files::walk_files(&layout.daily()).flatten().filter(|found| found.link.is_none());
    for found in days.collect::<Vec<_>>() {
        let name = layout::shown_relative(&found.relative);
        let stamp = Stamp::of(&found.metadata);
        if before.tombstones != now.tombstones || before.days.get(&name) != Some(&stamp) {
            clean_page(&found.path, |page| traces.removed(page))?;
        }
        // As it is now: a line that comes later makes it another one.
        now.days.insert(name, Stamp::of(&fs::symlink_metadata(&found.path)?));
    }
    match now == before {
        true => Ok(()),
        false => files::write_if_changed(&layout.clean_days(), &serde_json::to_vec(&now)?).map(drop),
    }
}

// --- What is meant ---

pub(super) fn named(store: &Store, name: &str) -> Result<SessionId> {
    let name = name.trim();
    if name.contains('#') {
        return Err(Error::usage(format!("`{name}` is an episode, and only whole sessions can be forgotten"))
            .hint("forget what it says with `--text`, or the session without the `#`"));
    }
    let stem = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    let id = stem.strip_suffix(layout::DIGEST_SUFFIX).unwrap_or(stem).parse::<SessionId>().ok();
    let id = id.or_else(|| {
        let number = name.parse::<usize>().ok()?.checked_sub(1)?;
        search::last_search(store)?.hits.into_iter().nth(number)?.session
    });
    let found = match id {
        Some(id) => Some(id).filter(|id| store.layout().session(id).is_dir()),
        None => chosen(store, |digest| digest.source_id == name)?.into_iter().next(),
    };
    found.ok_or_else(|| {
        Error::usage(format!("there is no session `{name}`")).hint("`memtree search` finds sessions by their words")
    })
}

fn chosen(store: &Store, choose: impl Fn(&crate::model::digest::Digest) -> bool) -> Result<Vec<SessionId>> {
    let mut sessions = store.session_ids().context(|| "cannot list the sessions".into())?;
    // One that cannot be read says nothing of its project or its time; it can be forgotten by its id.
    sessions.retain(|id| store.digest(id).is_ok_and(|digest| digest.is_some_and(|digest| choose(&digest))));
    Ok(sessions)
}

fn planned(store: &Store, session: SessionId) -> PlannedSession {
    let folder = store.layout().session(&session);
    let bytes = files::walk_files(&folder).flatten().map(|file| file.metadata.len()).sum();
    let digest = store.digest(&session).ok().flatten();
    let vitals = fs::read_to_string(store.layout().snapshot(&session).join(layout::VITALS)).unwrap_or_default();
    let from_vitals = || Document::parse(&format!("---\n{vitals}---\n")).get_str("source_id");
    PlannedSession {
        bytes,
        log_stays_out: true,
        title: digest.as_ref().map(|digest| digest.content.title.clone()).unwrap_or_default(),
        project: digest.as_ref().and_then(|digest| digest.content.project.clone()),
        ended: digest.as_ref().and_then(|digest| digest.content.ended.map(crate::base::clock::stamp)),
        source_id: digest.map(|digest| digest.source_id).or_else(from_vitals),
        session,
    }
}

fn holds_text(folder: &Path, pattern: &Pattern) -> io::Result<bool> {
    for found in files::walk_files(folder).flatten() {
        if pattern.is_in(&found.relative.to_string_lossy())
            || (found.link.is_none() && pattern.is_in_file(&found.path)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

// --- What goes ---

/// The pages that are neither a session's own nor a cache, and not the list of tombstones.
fn pages(store: &Store) -> impl Iterator<Item = Found> {
    let layout = store.layout().clone();
    files::walk_files(layout.root()).flatten().filter(move |found| {
        let others = [layout.sessions(), layout.cache(), layout.git(), layout.locks()];
        let is_other = others.iter().any(|other| found.path.starts_with(other));
        found.link.is_none() && !is_apart(&layout, &found.path) && (!is_other || layout.is_event_log(&found.path))
    })
}

/// Whether a file says what the memory is, and nothing of what is in it.
fn is_apart(layout: &Layout, path: &Path) -> bool {
    let apart = [layout.forgotten(), layout.settings(), layout.readme(), layout.gitignore(), layout.gitattributes()];
    apart.iter().any(|apart| apart == path)
}

fn pages_with(store: &Store, is_one: impl Fn(&str, &str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut with = Vec::new();
    for found in pages(store) {
        let page = fs::read(&found.path)?;
        if is_one(&String::from_utf8_lossy(&page), &found.relative.to_string_lossy()) {
            with.push(found.path);
        }
    }
    Ok(with)
}

/// Removes the files whose name tells, and takes the lines that tell out of the others. Returns which they were.
fn clean_pages(
    store: &Store,
    is_ours: impl Fn(&str) -> bool,
    name_tells: impl Fn(&str) -> bool,
    cleaned: impl Fn(&str) -> Option<String>,
) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    for found in pages(store).filter(|found| is_ours(&layout::shown_relative(&found.relative))).collect::<Vec<_>>() {
        if name_tells(&found.relative.to_string_lossy()) {
            files::remove_file(&found.path)?;
            changed.push(store.layout().shown(&found.path));
            continue;
        }
        if clean_page(&found.path, &cleaned)? {
            changed.push(store.layout().shown(&found.path));
        }
    }
    Ok(changed)
}

/// Takes the lines that tell out of one page; returns whether there were any.
fn clean_page(path: &Path, cleaned: impl Fn(&str) -> Option<String>) -> io::Result<bool> {
    files::update_locked(path, |existing, out| {
        let Ok(page) = io::read_to_string(existing) else { return Ok(false) };
        match cleaned(&page) {
            Some(page) => out.write_all(page.as_bytes()).map(|()| true),
            None => Ok(false),
        }
    })
}

/// Takes sessions out of everything: first the traces elsewhere, then the caches, then their own folders.
fn purge(store: &Store, sessions: &[SessionId], traces: &Traces) -> io::Result<Vec<String>> {
    let cores = store.layout().shown(&store.layout().cores());
    // Cores know themselves what rested on a forgotten session, and are made again without it.
    let is_core = |name: &str| Path::new(name).starts_with(&cores);
    let changed = clean_pages(store, |name| !is_core(name), |name| traces.are_in(name), |page| traces.removed(page))?;
    clear_cache(store)?;
    for session in sessions {
        files::remove_folder(&store.layout().session(session))?;
    }
    Ok(changed)
}

/// The index and the cursors hold words and names too; they are made again when they are needed.
fn clear_cache(store: &Store) -> io::Result<()> {
    files::remove_folder(&store.layout().cache())?;
    files::remove_folder(&store.layout().evicted())?;
    files::remove_folder(&store.layout().staging())
}

/// Makes a session's snapshot and digest again without a text: raw files that hold it go as a whole, pages lose it.
fn without_text(store: &Store, session: &SessionId, pattern: &Pattern, day: NaiveDate) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot take the text out of {session}");
    store.refuse_links(Some(session))?;
    let text = fs::read_to_string(layout.digest(session)).unwrap_or_default();
    let mut digest = Document::parse(&pattern.removed(&text));
    let staged = layout.staging().join(format!("forget-{session}"));
    files::remove_folder(&staged).context(cannot)?;
    let folder = layout.snapshot(session);
    let all_raw = Document::parse(&text).get_str("flavor").as_deref() == Some(snapshot::FLAVOR);
    let is_raw = |name: &str| name.starts_with(layout::RAW) || all_raw;
    let mut removed = BTreeSet::new();
    let mut manifest_sha256 = String::new();
    if folder.is_dir() {
        let mut writer = SnapshotWriter::create(&commit::snapshot_of(&staged)).context(cannot)?;
        for found in files::walk_files(&folder).flatten().filter(|found| found.link.is_none()) {
            let name = layout::shown_relative(&found.relative);
            if name == layout::MANIFEST {
                continue;
            }
            let holds = pattern.is_in(&name) || pattern.is_in_file(&found.path).context(cannot)?;
            match holds {
                false => writer.copy(&found.path, &name).map(drop).context(cannot)?,
                true if is_raw(&name) || pattern.is_in(&name) => drop(removed.insert(name)),
                true => match fs::read_to_string(&found.path) {
                    Ok(page) => writer.write(&name, &pattern.removed(&page)).context(cannot)?,
                    // What is no text cannot lose a part of it.
                    Err(_) => drop(removed.insert(name)),
                },
            }
        }
        let told = writer.finish_listing(is_raw).context(cannot)?;
        digest.set("snapshot_bytes", told.bytes as i64);
        digest.set("snapshot_files", told.files as i64);
        digest.set("manifest_sha256", told.manifest_sha256.as_str());
        manifest_sha256 = told.manifest_sha256;
    }
    // What was captured is proven by its hash as before, though not by a name that tells.
    if let Some(listed) = digest.get_list("manifest") {
        let tells = |line: &String| parse_manifest_line(line).is_some_and(|(_, name)| pattern.is_in(&name));
        let kept: Vec<String> = listed.into_iter().filter(|line| !tells(line)).collect();
        digest.set_block_list("manifest", &kept);
    }
    if removed.iter().any(|name| is_raw(name)) {
        digest.set_raw("snapshot", &format!("evicted {day}"));
    }
    let text = if text.is_empty() { text } else { digest.into_text() };
    commit::replace(store, session, &staged, &text, &manifest_sha256)
}

// --- Proof ---

/// Looks through every file of the memory, and notes where something is left.
fn prove(store: &Store, report: &mut Report, tells: impl Fn(&Path, &str) -> io::Result<bool>) -> Result<()> {
    let layout = store.layout();
    let (git, locks) = (layout.git(), layout.locks());
    for found in files::walk_files(layout.root()).flatten() {
        if found.link.is_some() || found.path.starts_with(&git) || found.path.starts_with(&locks) {
            continue;
        }
        let name = layout.shown(&found.path);
        report.scanned_files += 1;
        report.scanned_bytes += found.metadata.len();
        if tells(&found.path, &name).context(|| format!("cannot look into `{name}`"))? {
            report.left.push(name);
        }
    }
    Ok(())
}

/// What takes the same out of git's history: the files that held it lose their past, and keep their present.
fn git_commands(store: &Store, plan: &Plan) -> Vec<String> {
    let layout = store.layout();
    let root = layout.root();
    let Some(repository) = root.ancestors().find(|folder| folder.join(".git").exists()) else { return Vec::new() };
    let below = root.strip_prefix(repository).unwrap_or(Path::new(""));
    let sessions = plan.sessions.iter().map(|planned| layout.shown(&layout.session(&planned.session)));
    let paths: Vec<String> = sessions
        .chain(plan.files.iter().cloned())
        .map(|path| quoted(&layout::shown_relative(&below.join(path))))
        .collect();
    let repository = quoted(&repository.to_string_lossy());
    let rewrite = format!(
        "git -C {repository} filter-branch --force --index-filter \
         'test \"$GIT_COMMIT\" = \"$MEMTREE_LAST\" || git rm -r -q --cached --ignore-unmatch -- {}' -- --all",
        paths.join(" ").replace('\'', "'\\''")
    );
    vec![
        format!("git -C {repository} add -A && git -C {repository} commit -m 'forget'"),
        format!("export MEMTREE_LAST=$(git -C {repository} rev-parse HEAD)"),
        rewrite,
        format!(
            "git -C {repository} for-each-ref --format='delete %(refname)' refs/original | git -C {repository} update-ref --stdin"
        ),
        format!("git -C {repository} reflog expire --expire=now --all && git -C {repository} gc --prune=now"),
        format!("git -C {repository} push --force --all"),
    ]
}

/// A word for a shell, whatever it holds.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if word.chars().all(plain) { word.to_string() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
