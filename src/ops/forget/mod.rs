//! Forgetting: a session or a text goes from everywhere, a tombstone keeps it from coming back, and
//! a scan of all that is left proves that it is gone.
//!
//! The tombstones of sessions are written first, the traces elsewhere go next, and the session's
//! own folder goes last: as long as it is there, a tombstone without effect is seen, and the next
//! sweep finishes what was begun. The same happens where a sync brings along the tombstones of
//! another device, or brings back what they forbid. A text is not kept anywhere, so after a
//! kill only the same request again can finish it.

mod finish;
mod history;
mod knowledge;
mod pages;
mod pattern;
pub mod quarantine;
mod spelling;
mod text;
mod traces;

use std::io;
use std::path::Path;

use chrono::NaiveDate;
use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::front_matter::Document;
use crate::base::redact::Redactor;
use crate::capture::commit;
use crate::capture::cursors::Cursors;
use crate::capture::known::source_id_in_vitals;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::{Device, Person, SessionId};
use crate::model::trust::Trust;
use crate::ops::retain::{self, Retention};
use crate::ops::waiting::DigestQueue;
use crate::ops::{consolidate, days, search};
use crate::store::Store;
use crate::store::day::{self, summary};
use crate::store::layout::{self, Layout};
use crate::store::tombstones::{self, Tombstone, quarantine_file};

pub use finish::finish;
pub use history::GitObjects;
use pages::{clean_pages, is_static, pages_with};
pub use pattern::TextPattern;
use traces::Traces;

/// The settings by which it forgets.
pub struct Request<'a> {
    pub device: &'a Device,
    pub now: Timestamp,
    pub zone: crate::base::zone::Zone,
    /// For the pages that are written again.
    pub redactor: &'a Redactor,
    /// Whose tombstones count here.
    pub trust: Trust,
}

impl<'a> Request<'a> {
    /// By those of a memory.
    pub fn of(memory: &'a Memory) -> Result<Request<'a>> {
        Ok(Request {
            device: memory.device(),
            now: memory.now(),
            zone: memory.zone()?,
            redactor: memory.redactor()?,
            trust: memory.trust(),
        })
    }
}

/// What to forget.
#[derive(Debug)]
pub struct ForgetRequest {
    pub target: Target,
}

impl ForgetRequest {
    /// Names what is to be forgotten.
    pub fn of(target: Target) -> ForgetRequest {
        ForgetRequest { target }
    }
}

/// What is meant: sessions, or a text.
#[derive(Debug)]
pub enum Target {
    /// One session, by its id, its digest's path, its source's id or the number of a hit of the
    /// last search.
    Session(String),
    /// Every session of a project.
    Project(String),
    /// Every session that ended before a day.
    Before(NaiveDate),
    /// A text, wherever it stands.
    Text(TextPattern),
}

/// What will go.
#[derive(Debug, Serialize)]
pub struct ForgetPlan {
    pub sessions: Vec<PlannedSession>,
    /// The other files that lose lines or go, by their path in the memory.
    pub files: Vec<String>,
    #[serde(skip)]
    day: NaiveDate,
    #[serde(skip)]
    text: Option<TextPattern>,
}

/// One session that will go, or lose a text.
#[derive(Debug, Serialize)]
pub struct PlannedSession {
    pub session: SessionId,
    pub title: String,
    pub project: Option<String>,
    pub ended: Option<String>,
    /// The disk use of its folder.
    pub bytes: u64,
    /// Whether its log will not be captured again: always, but where a text stands only in what we
    /// or a person wrote.
    pub log_stays_out: bool,
    #[serde(skip)]
    source_id: Option<String>,
}

/// What went, and the proof.
#[derive(Debug, Default, Serialize)]
pub struct ForgetReport {
    /// The sessions that are gone, or have lost a text.
    pub sessions: Vec<SessionId>,
    /// The other files that lost lines or went.
    pub files: Vec<String>,
    /// Where it was looked for, and how.
    pub searched: Vec<&'static str>,
    /// How much was looked through afterwards.
    pub scanned_files: u64,
    pub scanned_bytes: u64,
    /// Where something of it still stands, as `path:line`, or the path where its name does.
    pub left: Vec<String>,
    /// The sessions in quarantine that still hold it.
    pub quarantine: Vec<SessionId>,
    /// How many of them were shared with a team, and go from there with the next `sync --team`.
    #[serde(skip_serializing_if = "is_zero")]
    pub shared: usize,
    /// What git's objects hold of it; `None` where the memory is in no repository.
    pub git_objects: Option<GitObjects>,
    /// What to run to take it out of git's history too; empty where that has nothing of it.
    pub git: Vec<String>,
}

impl Memory {
    /// Finds what would go; changes nothing.
    pub fn plan_forget(&self, request: ForgetRequest) -> Result<ForgetPlan> {
        let day = self.now().with_timezone(&self.zone()?).date_naive();
        plan(self.store(), request.target, day)
    }

    /// Forgets what was planned, and proves that it is gone. Where nothing of it is in the tree, it
    /// only looks through git's history.
    pub fn forget(&self, plan: &ForgetPlan) -> Result<ForgetReport> {
        let shared = self.withdraw(plan)?;
        let mut report = match plan.is_empty() {
            true => ForgetReport::default(),
            false => forget(self.store(), plan, &Request::of(self)?)?,
        };
        report.shared = shared;
        report.git_objects = history::search(self.store(), &self.git(), plan)?;
        let found =
            report.git_objects.as_ref().filter(|it| it.holding > 0 || it.incomplete.is_some());
        if let Some(found) = found {
            report.git = history::commands(self.store(), plan, found);
        }
        Ok(report)
    }

    /// Takes sessions out of what was shared with a team, on this device; the next `sync --team`
    /// does so for everybody. One that only loses a text is shared again without it.
    fn withdraw(&self, plan: &ForgetPlan) -> Result<usize> {
        let Ok(name) = self.settings().team.name.parse::<Person>() else { return Ok(0) };
        let there = Layout::new(self.layout().team_folder(&name));
        let folders = plan.sessions.iter().map(|planned| there.session(&planned.session));
        let mut withdrawn = 0;
        for folder in folders.filter(|folder| files::is_dir(folder)) {
            files::remove_folder(&folder).context(|| self.store().cannot_write())?;
            withdrawn += 1;
        }
        Ok(withdrawn)
    }
}

impl ForgetPlan {
    /// Whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.files.is_empty()
    }

    /// Whether only a text goes, and sessions stay without it.
    pub fn is_text(&self) -> bool {
        self.text.is_some()
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Finds what would go; changes nothing.
pub fn plan(store: &Store, what: Target, day: NaiveDate) -> Result<ForgetPlan> {
    let cannot = || "cannot look through the memory".to_string();
    let (sessions, text) = match what {
        Target::Session(name) => (vec![named(store, &name)?], None),
        Target::Project(project) => {
            (chosen(store, |digest| digest.content.project.as_deref() == Some(&project))?, None)
        }
        Target::Before(before) => (
            chosen(store, |digest| {
                digest.content.ended.is_some_and(|ended| ended.date_naive() < before)
            })?,
            None,
        ),
        Target::Text(pattern) => {
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
    let mut sessions: Vec<PlannedSession> =
        sessions.into_iter().map(|id| planned(store, id)).collect();
    if let Some(pattern) = &text {
        for planned in &mut sessions {
            let raw = store.layout().snapshot(&planned.session).join(layout::RAW);
            // Where raw is not here, its log may well hold the text.
            planned.log_stays_out =
                !files::exists(&raw) || holds_text(&raw, pattern).context(cannot)?;
        }
    }
    Ok(ForgetPlan { sessions, files, day, text })
}

/// Forgets, and looks whether anything is left.
pub fn forget(store: &Store, plan: &ForgetPlan, request: &Request<'_>) -> Result<ForgetReport> {
    let layout = store.layout();
    let cannot = || format!("cannot forget in `{}`", layout.root().display());
    store.refuse_links(None)?;
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    // A killed command may have left work of other sessions in the folders that are cleared here,
    // so that is finished first.
    commit::finish_earlier_sweep(store, request.zone)?;
    retain::finish_earlier_eviction(store, &mut Retention::default())?;
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
    if !plan.is_text() {
        tombstones::add(layout, &stones, request.device).context(cannot)?;
    }
    let sessions: Vec<SessionId> =
        plan.sessions.iter().map(|planned| planned.session.clone()).collect();
    let mut report = ForgetReport { sessions: sessions.clone(), ..ForgetReport::default() };
    report.searched = searched(plan.is_text());
    match &plan.text {
        Some(pattern) => forget_text(store, plan, pattern, stones, request, &mut report)?,
        None => forget_sessions(store, &sessions, request, &mut report)?,
    }
    Ok(report)
}

/// Where it is looked for, and how, in words.
fn searched(is_text: bool) -> Vec<&'static str> {
    let how = match is_text {
        true => {
            "by letters and digits: whatever the case, accents, their composition, ASCII spellings \
             such as ue for ü, letters that look alike, punctuation, Markdown marks and JSON escapes"
        }
        false => "by the session's ids and by passages that no other session has",
    };
    vec![
        how,
        "in the names of all files, in pages, keys, slugs, day logs, raw, and below .memtree; the \
         search index is removed and made again",
        "in all objects of the git repository around it, also those that nothing leads to any more; \
         not in other clones, and not in the agent's own logs",
    ]
}

fn forget_text(
    store: &Store,
    plan: &ForgetPlan,
    pattern: &TextPattern,
    stones: Vec<Tombstone>,
    request: &Request<'_>,
    report: &mut ForgetReport,
) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot forget in `{}`", layout.root().display());
    for session in &report.sessions {
        text::without_text(store, session, pattern, plan.day)?;
    }
    let removed = |path: &Path, page: &str| text::page_without(store, path, page, pattern);
    let clean = || clean_pages(store, |_| true, |name| pattern.is_in(name), removed);
    report.files = knowledge::cleaned(store, clean).context(cannot)?;
    let is_changed = |session: &str| report.sessions.iter().any(|id| id.to_string() == session);
    clear_cache(store, is_changed).context(cannot)?;
    // Not before all is done: a sweep that sees such a tombstone beside raw files removes all of
    // them, since it does not name the text. A text that no log held gets a tombstone too, which
    // says only that there was one.
    let stones = if stones.is_empty() { vec![Tombstone::of_text(plan.day)] } else { stones };
    tombstones::add(layout, &stones, request.device).context(cannot)?;
    consolidate::run(store, request.device)?;
    prove(store, report, |path, name| {
        if pattern.is_in(name) {
            return Ok(vec![name.to_string()]);
        }
        if !pattern.is_in_file(path)? {
            return Ok(Vec::new());
        }
        let page = files::read(path)?;
        let lines = (1..).zip(std::str::from_utf8(&page).unwrap_or_default().lines());
        let lines = lines.filter(|(_, line)| pattern.is_in(line)).map(|(number, _)| number);
        Ok(places(name, &lines.collect::<Vec<_>>()))
    })
}

fn forget_sessions(
    store: &Store,
    sessions: &[SessionId],
    request: &Request<'_>,
    report: &mut ForgetReport,
) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot forget in `{}`", layout.root().display());
    let traces = Traces::of(store, sessions).context(cannot)?;
    report.files = purge(store, sessions, &traces, request.redactor)?;
    // A core lists all its eight sessions, this one as forgotten; what it said of it is gone.
    consolidate::run(store, request.device)?;
    let traces = traces.without_ids();
    prove(store, report, |path, name| {
        // Other sessions may well have said the same; the tombstones name the ids.
        if is_static(layout, path) || path.starts_with(layout.sessions()) {
            return Ok(Vec::new());
        }
        if traces.are_in(name) {
            return Ok(vec![name.to_string()]);
        }
        let page = files::read(path)?;
        let page = String::from_utf8_lossy(&page);
        Ok(match without(layout, &traces, path, &page) {
            Some(_) => places(name, &traces.lines_in(&page)),
            None => Vec::new(),
        })
    })
}

// --- What is meant ---

pub(super) fn named(store: &Store, name: &str) -> Result<SessionId> {
    let name = name.trim();
    if name.contains('#') {
        return Err(Error::usage(format!(
            "`{name}` is an episode, and only whole sessions can be forgotten"
        ))
        .hint("forget what it says with `--text`, or the session without the `#`"));
    }
    let stem = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    let id = stem.strip_suffix(layout::DIGEST_SUFFIX).unwrap_or(stem).parse::<SessionId>().ok();
    let id = id.or_else(|| {
        let number = name.parse::<usize>().ok()?.checked_sub(1)?;
        search::last_search(store)?.hits.into_iter().nth(number)?.session
    });
    let found = match id {
        Some(id) => {
            Some(id).filter(|id| files::is_dir(store.layout().session(id)) || was_there(store, id))
        }
        None => chosen(store, |digest| digest.source_id == name)?.into_iter().next(),
    };
    found.ok_or_else(|| {
        Error::not_found(format!("there is no session `{name}`"))
            .hint("`memtree search` finds sessions by their words")
    })
}

/// Whether a session without a folder once was: its number was given, or it left lines in the days.
/// Somebody removed it by hand, and now says that it is to be forgotten.
fn was_there(store: &Store, id: &SessionId) -> bool {
    let ids = store.session_ids().unwrap_or_default();
    ids.iter().any(|other| other.device == id.device && other.ordinal > id.ordinal)
        || day::count(store.layout()).is_ok_and(|counted| counted.by_session.contains_key(id))
}

fn chosen(
    store: &Store,
    choose: impl Fn(&crate::model::digest::Digest) -> bool,
) -> Result<Vec<SessionId>> {
    let mut sessions = store.session_ids().context(|| "cannot list the sessions".into())?;
    // One that cannot be read says nothing of its project or its time; it can be forgotten by its
    // id.
    sessions.retain(|id| {
        store.digest(id).is_ok_and(|digest| digest.is_some_and(|digest| choose(&digest)))
    });
    Ok(sessions)
}

fn planned(store: &Store, session: SessionId) -> PlannedSession {
    let folder = store.layout().session(&session);
    let bytes = files::walk_files(&folder).flatten().map(|file| file.metadata.len()).sum();
    let digest = store.digest(&session).ok().flatten();
    let from_vitals = || source_id_in_vitals(store, &session);
    // Where the folder was removed by hand, the last sweep may still know the log.
    let from_cursors = || {
        let cursors = Cursors::load(&store.layout().cursors());
        cursors.session(&session).map(|cursor| cursor.source_id.clone())
    };
    PlannedSession {
        bytes,
        log_stays_out: true,
        title: digest.as_ref().map(|digest| digest.content.title.clone()).unwrap_or_default(),
        project: digest.as_ref().and_then(|digest| digest.content.project.clone()),
        ended: digest
            .as_ref()
            .and_then(|digest| digest.content.ended.map(crate::base::clock::stamp)),
        source_id: digest.map(|digest| digest.source_id).or_else(from_vitals).or_else(from_cursors),
        session,
    }
}

fn holds_text(folder: &Path, pattern: &TextPattern) -> io::Result<bool> {
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

/// Takes sessions out of everything: first the traces elsewhere, then the caches, then their own
/// folders.
fn purge(
    store: &Store,
    sessions: &[SessionId],
    traces: &Traces,
    redactor: &Redactor,
) -> Result<Vec<String>> {
    let layout = store.layout();
    let cannot = || format!("cannot forget in `{}`", layout.root().display());
    let mut changed = whole_files(store, sessions, traces).context(cannot)?;
    let (cores, learnt) = (layout.shown(&layout.cores()), layout.shown(&layout.knowledge()));
    // Cores are made again, without what rested on a forgotten session.
    let is_below = |name: &str, folder: &str| Path::new(name).starts_with(folder);
    let summaries = layout.shown(&layout.summaries());
    let made_again = [&cores, &learnt, &summaries];
    let is_other = |name: &str| !made_again.iter().any(|folder| is_below(name, folder));
    let days = days_with(store, traces).context(cannot)?;
    let clean = |is_ours: &dyn Fn(&str) -> bool| {
        clean_pages(
            store,
            is_ours,
            |name| traces.are_in(name),
            |path, page| without(layout, traces, path, page),
        )
        .context(cannot)
    };
    changed.extend(clean(&is_other)?);
    // Summaries are written again from the days that are left; what a person wrote there loses the
    // lines that give it away.
    let rewritten = days::rewrite_without(store, &days, sessions)?;
    changed.extend(rewritten.iter().map(|day| layout.shown(&layout.summary(*day))));
    changed.extend(clean(&|name: &str| is_below(name, &summaries))?);
    // Pages of knowledge are written again from the days that are left; then those go that rest on
    // nothing any more.
    changed.extend(knowledge::rewrite(store, traces, redactor)?);
    changed.extend(clean(&|name: &str| is_below(name, &learnt))?);
    changed.sort();
    changed.dedup();
    clear_cache(store, |session| sessions.iter().any(|id| id.to_string() == session))
        .context(cannot)?;
    for session in sessions {
        files::remove_folder(&layout.session(session)).context(cannot)?;
    }
    Ok(changed)
}

/// A page without the lines of sessions; `None` where there are none. What we made of the other
/// sessions' days is theirs.
fn without(layout: &Layout, traces: &Traces, path: &Path, page: &str) -> Option<String> {
    let removed = |text: &str| traces.removed(text);
    match path.starts_with(layout.summaries()) {
        true => summary::edit_others(page, removed),
        false => removed(page),
    }
}

/// The days that tell of the sessions and have a summary.
fn days_with(store: &Store, traces: &Traces) -> io::Result<Vec<NaiveDate>> {
    let layout = store.layout();
    let mut days = Vec::new();
    for day in day::all(layout)? {
        let pages = [layout.summary(day), layout.day(day), layout.old_day(day)];
        let tells = |path| -> io::Result<bool> {
            let page = files::if_exists(files::read(path))?.unwrap_or_default();
            Ok(traces.removed(&String::from_utf8_lossy(&page)).is_some())
        };
        if files::is_file(&pages[0])
            && (tells(&pages[0])? || tells(&pages[1])? || tells(&pages[2])?)
        {
            days.push(day);
        }
    }
    Ok(days)
}

/// Removes what is of these sessions alone: contexts that wait for a model, and their places in its
/// queue.
fn whole_files(store: &Store, sessions: &[SessionId], traces: &Traces) -> io::Result<Vec<String>> {
    let layout = store.layout();
    let mut removed = Vec::new();
    for path in store.inbox() {
        let page = Document::parse(&String::from_utf8_lossy(&files::read(&path)?));
        if page.get_str("session").is_some_and(|session| traces.are_in(&session)) {
            files::remove_file(&path)?;
            removed.push(layout.shown(&path));
        }
    }
    if DigestQueue::file(layout).is_saved() {
        DigestQueue::change(layout, |waiting| waiting.retain(|id| !sessions.contains(id)))?;
    }
    Ok(removed)
}

/// The index, the cursors and reports hold words and names too; they are made again when they are
/// needed. Vectors take long to make, so those of the other sessions stay.
fn clear_cache(store: &Store, is_gone: impl Fn(&str) -> bool) -> io::Result<()> {
    let layout = store.layout();
    crate::index::forget_vectors(layout, is_gone)?;
    let vectors = layout.vectors();
    for entry in files::if_exists(files::read_dir(layout.cache()))?.into_iter().flatten() {
        let path = entry?.path();
        match path != vectors && files::is_dir(&path) {
            true => files::remove_folder(&path)?,
            false if path != vectors => files::remove_file(&path)?,
            false => {}
        }
    }
    files::remove_folder(&store.layout().reports())?;
    files::remove_folder(&store.layout().evicted())?;
    files::remove_folder(&store.layout().staging())
}

// --- Proof ---

/// How many lines of a file are named.
const MOST_LINES: usize = 3;

/// Where in a file something is left; the file where that is in no single line.
fn places(name: &str, lines: &[usize]) -> Vec<String> {
    match lines {
        [] => vec![name.to_string()],
        lines => lines.iter().take(MOST_LINES).map(|line| format!("{name}:{line}")).collect(),
    }
}

/// Looks through every file of the memory, and notes where something is left.
fn prove(
    store: &Store,
    report: &mut ForgetReport,
    holding: impl Fn(&Path, &str) -> io::Result<Vec<String>>,
) -> Result<()> {
    let layout = store.layout();
    let (git, locks, quarantine) = (layout.git(), layout.locks(), layout.quarantine());
    for found in files::walk_files(layout.root()).flatten() {
        if found.link.is_some() || found.path.starts_with(&git) || found.path.starts_with(&locks) {
            continue;
        }
        let name = layout.shown(&found.path);
        report.scanned_files += 1;
        report.scanned_bytes += found.metadata.len();
        let left = holding(&found.path, &name).context(|| format!("cannot look into `{name}`"))?;
        if !left.is_empty() {
            match found.path.strip_prefix(&quarantine).ok().and_then(session_of) {
                Some(session) => report.quarantine.push(session),
                // The list has their titles.
                None if found.path == layout.quarantine_list() => {
                    report.quarantine.extend(quarantine_file(layout).load().into_keys());
                }
                None => report.left.extend(left),
            }
        }
    }
    report.quarantine.sort();
    report.quarantine.dedup();
    Ok(())
}

/// The session of a path in quarantine: `SES1_…/…`, or `SES1_….pages/…`.
fn session_of(below: &Path) -> Option<SessionId> {
    let first = below.components().next()?.as_os_str().to_str()?;
    first.strip_suffix(".pages").unwrap_or(first).parse().ok()
}
