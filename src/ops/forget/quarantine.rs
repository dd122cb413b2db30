//! Quarantine: what another device's tombstone takes out of the tree lies below `.memtree/local`
//! for thirty days, where it can be restored.
//!
//! A tombstone that came by `git pull` may be forged: its hash can be computed by whoever may read
//! the memory. So nothing goes for good by it, unless its device is trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use chrono::Duration;
use serde::Serialize;

use super::pages::pages_with;
use super::traces::Traces;
use super::{Request, chosen, purge};
use crate::adapters;
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::capture::known::source_id_in_vitals;
use crate::capture::raw;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::day::DayLine;
use crate::model::ids::{Device, SessionId};
use crate::ops::{consolidate, days, retain};
use crate::store::Store;
use crate::store::day::DayLines;
use crate::store::layout::Layout;
use crate::store::tombstones::{
    Claim, Decided, Quarantine, Quarantined, Tombstones, quarantine_file,
};

/// How many days it lies there.
const DAYS: i64 = 30;
/// The page as it was, where only a text was forgotten.
const PAGE: &str = "digest.md";
/// What was captured, in that case.
const SNAPSHOT: &str = "snapshot";

/// What went into quarantine.
#[derive(Debug, Clone, Serialize)]
pub struct QuarantineEntry {
    pub session: SessionId,
    pub title: String,
    /// Who says that they forgot it.
    pub by: Option<Device>,
    /// When it is deleted.
    pub until: String,
    /// The command that brings it back.
    pub undo: String,
}

impl QuarantineEntry {
    fn of(session: &SessionId, entry: &Quarantined) -> QuarantineEntry {
        QuarantineEntry {
            session: session.clone(),
            title: entry.title.clone(),
            by: entry.by.clone(),
            until: clock::stamp(entry.since + Duration::days(DAYS)),
            undo: format!("memtree forget --undo {session}"),
        }
    }
}

impl Memory {
    /// What lies in quarantine.
    pub fn quarantine(&self) -> Vec<QuarantineEntry> {
        let all = quarantine_file(self.layout()).load();
        all.iter().map(|(session, entry)| QuarantineEntry::of(session, entry)).collect()
    }

    /// Brings a session back from quarantine, by its id or its source's.
    pub fn undo_forget(&self, reference: &str) -> Result<QuarantineEntry> {
        let _lock = self.store().lock()?;
        let mut all = quarantine_file(self.layout()).load();
        let session = in_quarantine(&all, reference)?;
        let entry = all.remove(&session).expect("it was just found");
        restore(self, &session, &entry)?;
        let cannot = || self.store().cannot_write();
        Decided::undo(self.layout(), &session, &entry.source_id).context(cannot)?;
        quarantine_file(self.layout()).save(&all).context(cannot)?;
        restore_pages(self.layout(), &session, &entry).context(cannot)?;
        write_days(self, &session, &entry)?;
        consolidate::run(self.store(), self.device())?;
        crate::index::refresh(self.store())?;
        Ok(QuarantineEntry::of(&session, &entry))
    }

    /// Deletes what lies in quarantine: one session, or all.
    pub fn end_quarantine(&self, reference: Option<&str>) -> Result<Vec<QuarantineEntry>> {
        let _lock = self.store().lock()?;
        let all = quarantine_file(self.layout()).load();
        let chosen = reference.map(|reference| in_quarantine(&all, reference)).transpose()?;
        let is_chosen = |session: &SessionId| chosen.as_ref().is_none_or(|one| one == session);
        let ended = end(self.store(), all, |session, _| is_chosen(session))?;
        Ok(ended.iter().map(|(session, entry)| QuarantineEntry::of(session, entry)).collect())
    }
}

fn in_quarantine(all: &Quarantine, reference: &str) -> Result<SessionId> {
    let is_it = |(session, entry): &(&SessionId, &Quarantined)| {
        session.to_string() == reference || entry.source_id == reference
    };
    all.iter().find(is_it).map(|(session, _)| session.clone()).ok_or_else(|| {
        let names: Vec<String> = all.keys().map(SessionId::to_string).collect();
        let error = Error::usage(format!("`{reference}` is not in quarantine"));
        match names.is_empty() {
            true => error.hint("nothing is in quarantine now"),
            false => error.hint(format!("there are {}", names.join(", "))),
        }
    })
}

/// The source of a session that is there.
pub fn source_of(store: &Store, session: &SessionId) -> Option<String> {
    let digest = store.digest(session).ok().flatten().map(|digest| digest.source_id);
    digest.or_else(|| source_id_in_vitals(store, session))
}

/// Takes in what other devices want to be gone, where the hash is that of its source; and what a
/// sync brought back of what lies there.
pub fn take_in_claimed(
    store: &Store,
    tombstones: &Tombstones,
    request: &Request<'_>,
) -> Result<Vec<QuarantineEntry>> {
    let layout = store.layout();
    let is_there = |session: &&SessionId| files::exists(layout.session(session));
    let mut going: Vec<(SessionId, &Claim, bool)> = Vec::new();
    for claim in tombstones.claims() {
        let is_meant = |session: &&SessionId| {
            source_of(store, session).is_some_and(|source_id| claim.is_about(&source_id))
        };
        let meant = claim.sessions.iter().filter(is_there).filter(is_meant);
        going.extend(meant.map(|session| (session.clone(), claim, false)));
    }
    let texts: Vec<&Claim> =
        tombstones.claims().iter().filter(|claim| claim.sessions.is_empty()).collect();
    if !texts.is_empty() {
        for session in chosen(store, |digest| {
            digest.snapshot.evicted.is_none()
                && texts.iter().any(|claim| claim.is_about(&digest.source_id))
        })? {
            let source_id = source_of(store, &session).unwrap_or_default();
            let claim = texts.iter().find(|claim| claim.is_about(&source_id));
            if let Some(claim) = claim.filter(|_| files::exists(layout.snapshot(&session))) {
                going.push((session, claim, true));
            }
        }
    }
    let back: Vec<SessionId> = tombstones.quarantined().filter(is_there).cloned().collect();
    take_in(store, going, &back, request)
}

/// Notes what goes, moves it, and takes what tells of it out of everything else. A kill at any
/// point is finished by the next sweep.
fn take_in(
    store: &Store,
    going: Vec<(SessionId, &Claim, bool)>,
    back: &[SessionId],
    request: &Request<'_>,
) -> Result<Vec<QuarantineEntry>> {
    let layout = store.layout();
    let cannot = || format!("cannot put into quarantine in `{}`", layout.root().display());
    let mut all = quarantine_file(layout).load();
    let unclean = |all: &Quarantine| -> Vec<SessionId> {
        let unclean = all.iter().filter(|(_, entry)| !entry.cleaned && !entry.text_only);
        unclean.map(|(session, _)| session.clone()).collect()
    };
    let mut taken = Vec::new();
    for (session, claim, text_only) in going {
        let digest = store.digest(&session).ok().flatten();
        let entry = Quarantined {
            source_id: source_of(store, &session).unwrap_or_default(),
            title: digest.map(|digest| digest.content.title).unwrap_or_default(),
            by: claim.by.clone(),
            since: request.now,
            text_only,
            cleaned: text_only,
            pages: Vec::new(),
        };
        taken.push(QuarantineEntry::of(&session, &entry));
        all.insert(session, entry);
    }
    let dirty: Vec<SessionId> = unclean(&all).into_iter().chain(back.iter().cloned()).collect();
    if taken.is_empty() && dirty.is_empty() {
        return Ok(taken);
    }
    let traces = Traces::of(store, &dirty).context(cannot)?;
    quarantine_file(layout).save(&all).context(cannot)?;
    files::create_private_dir(&layout.quarantine()).context(cannot)?;
    for entry in &taken {
        take_one(store, &entry.session, all[&entry.session].text_only, request.now)?;
    }
    let pages = copy_pages(store, &taken, &traces).context(cannot)?;
    purge(store, &dirty, &traces, request.redactor)?;
    let after = |path: &PathBuf| {
        let hash = files::read(path).map(|bytes| files::sha256_hex(&bytes)).unwrap_or_default();
        (layout.shown(path), hash)
    };
    let pages: Vec<(String, String)> = pages.iter().map(after).collect();
    taken.iter().for_each(|entry| {
        all.entry(entry.session.clone()).and_modify(|one| one.pages = pages.clone());
    });
    all.values_mut().for_each(|entry| entry.cleaned = true);
    quarantine_file(layout).save(&all).context(cannot)?;
    consolidate::run(store, request.device)?;
    Ok(taken)
}

/// Copies the pages that are about to lose lines, for each session that goes.
fn copy_pages(
    store: &Store,
    taken: &[QuarantineEntry],
    traces: &Traces,
) -> io::Result<Vec<PathBuf>> {
    let layout = store.layout();
    let local = layout.local();
    let mut pages =
        pages_with(store, |page, name| traces.are_in(name) || traces.removed(page).is_some())?;
    pages.retain(|page| !page.starts_with(&local));
    for (number, page) in pages.iter().enumerate() {
        let bytes = files::read(page)?;
        for entry in taken {
            files::write_atomic(&layout.quarantined_page(&entry.session, number), &bytes)?;
        }
    }
    Ok(pages)
}

/// Writes the pages again that nobody touched since they lost lines.
fn restore_pages(layout: &Layout, session: &SessionId, entry: &Quarantined) -> io::Result<()> {
    for (number, (name, after)) in entry.pages.iter().enumerate() {
        let path = layout.root().join(name);
        let now = files::if_exists(files::read(&path))?;
        let hash = now.map(|bytes| files::sha256_hex(&bytes)).unwrap_or_default();
        if hash == *after {
            let page = files::read(layout.quarantined_page(session, number))?;
            files::write_atomic(&path, &page)?;
        }
    }
    files::remove_folder(&copies(layout, session))
}

/// Where the copies of pages lie.
fn copies(layout: &Layout, session: &SessionId) -> PathBuf {
    let first = layout.quarantined_page(session, 0);
    first.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Moves a session, or only what was captured of it.
fn take_one(store: &Store, session: &SessionId, text_only: bool, now: Timestamp) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot put {session} into quarantine");
    let place = layout.quarantined(session);
    files::remove_folder(&place).context(cannot)?;
    if !text_only {
        return files::rename(&layout.session(session), &place).context(cannot);
    }
    files::create_private_dir(&place).context(cannot)?;
    let page = files::read(layout.digest(session)).context(cannot)?;
    files::write_atomic(&place.join(PAGE), &page).context(cannot)?;
    files::rename(&layout.snapshot(session), &place.join(SNAPSHOT)).context(cannot)?;
    retain::evict_all(store, std::slice::from_ref(session), now)
}

/// Moves it back.
fn restore(memory: &Memory, session: &SessionId, entry: &Quarantined) -> Result<()> {
    let (store, layout) = (memory.store(), memory.layout());
    let cannot = || format!("cannot bring {session} back");
    let place = layout.quarantined(session);
    store.refuse_links(Some(session))?;
    if !entry.text_only {
        // What a sync brought back meanwhile is the page alone; the one that lies here has it all.
        files::remove_folder(&layout.session(session)).context(cannot)?;
        files::create_folder(&layout.sessions()).context(cannot)?;
        return files::rename(&place, &layout.session(session)).context(cannot);
    }
    files::remove_folder(&layout.snapshot(session)).context(cannot)?;
    files::rename(&place.join(SNAPSHOT), &layout.snapshot(session)).context(cannot)?;
    let page = files::read(place.join(PAGE)).context(cannot)?;
    files::write_atomic(&layout.digest(session), &page).context(cannot)?;
    files::remove_folder(&place).context(cannot)
}

/// Writes the lines that a session has in the days again, from its raw, and their summaries: sweeps
/// may have written those since, without it.
fn write_days(memory: &Memory, session: &SessionId, entry: &Quarantined) -> Result<()> {
    let settings = memory.capture_settings()?;
    let (flavor, native_id) = entry.source_id.split_once(':').unwrap_or_default();
    let Some(adapter) = adapters::named(flavor).filter(|_| !entry.text_only) else {
        return Ok(());
    };
    let mut lines = DayLines::default();
    let mut add = |line: &DayLine| {
        lines.add(line, session, settings.zone);
        Ok(())
    };
    let snapshot = memory.layout().snapshot(session);
    let read = raw::read_again(adapter, &snapshot, native_id, &settings.pages, &mut add);
    if let Ok(Some(_)) = read {
        let which = lines.days();
        lines.write(memory.layout()).context(|| format!("cannot write the days of {session}"))?;
        let (now, zone) = (settings.now, settings.zone);
        days::rewrite(memory.store(), &which, &BTreeMap::new(), now, zone)?;
    }
    Ok(())
}

/// Deletes what has been there for long enough; says what.
pub fn end_old(store: &Store, now: Timestamp) -> Result<Vec<SessionId>> {
    let all = quarantine_file(store.layout()).load();
    let is_old = |_: &SessionId, entry: &Quarantined| entry.since + Duration::days(DAYS) <= now;
    Ok(end(store, all, is_old)?.into_keys().collect())
}

/// Deletes what is chosen, for good: from then on its tombstone counts as written here.
fn end(
    store: &Store,
    mut all: Quarantine,
    is_chosen: impl Fn(&SessionId, &Quarantined) -> bool,
) -> Result<Quarantine> {
    let layout = store.layout();
    let cannot = || "cannot end the quarantine".to_string();
    let mut ended = Quarantine::new();
    for (session, entry) in std::mem::take(&mut all) {
        let list = if is_chosen(&session, &entry) { &mut ended } else { &mut all };
        list.insert(session, entry);
    }
    for (session, entry) in &ended {
        let whole = (!entry.text_only).then(|| session.clone());
        let source = Some(entry.source_id.clone());
        Decided::carry(layout, whole.as_slice(), source).context(cannot)?;
        files::remove_folder(&layout.quarantined(session)).context(cannot)?;
        files::remove_folder(&copies(layout, session)).context(cannot)?;
    }
    if !ended.is_empty() {
        quarantine_file(layout).save(&all).context(cannot)?;
    }
    Ok(ended)
}
