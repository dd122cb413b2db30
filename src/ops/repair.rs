//! Repair: what is missing, empty, zeroed or cut, and into which nobody had written, is made again
//! from what it derives from.
//!
//! Days come from the raw of sessions, summaries from days, knowledge from both, cores from
//! digests, digests and readable pages from raw, raw from the log where that is still there. What a
//! person may have done stays as it is until they say so (`doctor --fix --yes`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use chrono::NaiveDate;

use crate::adapters;
use crate::adapters::shared::SharedFiles;
use crate::base::files::{self, Stamp};
use crate::capture::CaptureSettings;
use crate::capture::found::Around;
use crate::capture::known::Known;
use crate::capture::{commit, raw, stage};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::day::DayLine;
use crate::model::digest::{Digest, SnapshotShape, Worth};
use crate::model::ids::SessionId;
use crate::model::session::Source;
use crate::ops::{compile, days};
use crate::store::day::{DayLines, Difference};
use crate::store::layout::{self, Layout};
use crate::store::seals::{self, Damage, DamagedPage, Seals};
use crate::store::snapshots::{self, parse_manifest_line};
use crate::store::{Store, authored, digest, guards, session_index};

/// So many sessions are looked at by a sweep that has nothing else to do.
const A_FEW: usize = 16;
/// So many by any other.
const MANY: usize = 512;

/// How much is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What nobody had written into.
    Ours,
    /// All that can be, since the person said so.
    All,
}

/// When a sweep last looked at everything, in nanoseconds since 1970; `None` where none did.
fn looked(layout: &Layout) -> Option<i64> {
    files::symlink_metadata(layout.looked()).ok().map(|found| Stamp::of(&found).mtime_ns)
}

/// Notes that everything was looked at, and how pages look.
pub fn remember(layout: &Layout) -> io::Result<()> {
    let mut seals = Seals::file(layout).load();
    if seals.renew(layout)? {
        Seals::file(layout).save(&seals)?;
    }
    files::write_unsynced(&layout.looked(), b"")
}

/// Whether some snapshot was changed since a sweep last looked: a few of them are asked, others by
/// the next.
pub fn is_suspicious(store: &Store, ids: &[SessionId], turn: usize) -> bool {
    let Some(since) = looked(store.layout()) else { return false };
    let few = ids.len().min(A_FEW);
    let chosen = (0..few).map(|at| &ids[(turn.wrapping_mul(few) + at) % ids.len()]);
    let layout = store.layout();
    chosen.into_iter().any(|id| match files::exists(layout.snapshot(id)) {
        true => is_changed(&layout.snapshot(id), since) || is_newer(&layout.session(id), since),
        // It was removed since then.
        false => is_newer(&layout.session(id), since),
    })
}

fn is_newer(path: &Path, since: i64) -> bool {
    files::symlink_metadata(path).map_or(true, |found| Stamp::of(&found).ctime_ns > since)
}

/// Whether a folder, or anything in it, was changed after a time. One that is not there was.
fn is_changed(folder: &Path, since: i64) -> bool {
    is_newer(folder, since)
        || files::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => is_changed(&entry.path(), since),
                false => is_newer(&entry.path(), since),
            }
        })
}

// --- Pages ---

/// Makes damaged pages and digests again; returns which.
pub fn pages(
    memory: &Memory,
    digests: &[(SessionId, Stamp)],
    extent: Extent,
) -> Result<Vec<String>> {
    let (store, layout) = (memory.store(), memory.layout());
    let cannot = || "cannot make damaged pages again".to_string();
    let settings = memory.capture_settings()?;
    let mut made = broken_digests(&settings, digests, extent)?;
    let seals = Seals::file(layout).load();
    let mut damaged = seals.damaged(layout, extent == Extent::All).context(cannot)?;
    damaged.retain(|page| extent == Extent::All || page.is_ours());
    let mut days: BTreeSet<NaiveDate> = lost_days(store, &seals, digests)?;
    let mut summaries = BTreeSet::new();
    let mut has_knowledge = false;
    for page in &damaged {
        set_aside(layout, page).context(cannot)?;
        if let Some(text) = seals::template(layout, &page.path) {
            authored::replace(layout, &page.path, |now| now.is_none().then(|| text.to_string()))
                .context(cannot)?;
        } else if page.path == layout.forgotten() || layout::is_pattern_file(&page.name) {
            restore_list(layout, page).context(cannot)?;
        } else if page.path.starts_with(layout.days()) {
            days.extend(date_of(&page.path));
        } else if page.path.starts_with(layout.summaries()) {
            summaries.extend(date_of(&page.path));
        } else if page.path == layout.knowledge_log() {
            restore_log(store, page).context(cannot)?;
        } else if page.path.starts_with(layout.knowledge()) {
            has_knowledge = true;
        }
        made.push(page.name.clone());
    }
    made.extend(days.iter().map(|day| layout.shown(&layout.day(*day))));
    write_days(&settings, &days)?;
    summaries.extend(days.iter().filter(|day| !files::exists(layout.summary(**day))));
    if !summaries.is_empty() {
        let which: Vec<NaiveDate> = summaries.into_iter().collect();
        days::rewrite(store, &which, &BTreeMap::new(), settings.now, settings.zone)?;
    }
    if has_knowledge {
        let _lock = files::lock_exclusive(&layout.knowledge_lock()).context(cannot)?;
        compile::rebuild_from_days(store, memory.redactor()?)?;
        store.write_index().context(cannot)?;
    }
    if damaged.iter().any(|page| page.path.parent() == Some(&layout.sessions())) {
        session_index::update(store, digests).context(cannot)?;
    }
    accept_made(layout, &damaged).context(cannot)?;
    made.sort();
    made.dedup();
    Ok(made)
}

/// Forgets how pages looked that were just made again; they are sealed as they are now.
fn accept_made(layout: &Layout, damaged: &[DamagedPage]) -> io::Result<()> {
    let made: Vec<&DamagedPage> = damaged.iter().filter(|page| is_there(&page.path)).collect();
    if made.is_empty() {
        return Ok(());
    }
    let mut seals = Seals::file(layout).load();
    made.iter().for_each(|page| seals.accept(&page.name));
    seals.renew(layout)?;
    Seals::file(layout).save(&seals).map(drop)
}

fn date_of(path: &Path) -> Option<NaiveDate> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Takes a damaged page out of the way. What is left in it is kept: it may hold somebody's words.
fn set_aside(layout: &Layout, page: &DamagedPage) -> io::Result<()> {
    match page.damage {
        // Who has just emptied it may still write to it: whoever makes it again looks after that.
        Damage::Missing | Damage::Empty => Ok(()),
        _ => move_aside(layout, &page.path),
    }
}

/// Removes a file without a letter in it, and keeps any other beside the memory.
pub fn move_aside(layout: &Layout, path: &Path) -> io::Result<()> {
    if files::read(path)?.iter().all(|byte| *byte == 0) {
        return files::remove_file(path);
    }
    let aside = layout.damaged(&layout.shown(path));
    files::create_private_dir(aside.parent().unwrap_or(layout.root()))?;
    files::rename(path, &aside)
}

/// Whether a page is there and says anything.
fn is_there(path: &Path) -> bool {
    files::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// Writes the list of what was forgotten as it was, with what others added.
fn restore_list(layout: &Layout, page: &DamagedPage) -> io::Result<()> {
    let Some(text) = page.seal.as_ref().and_then(|seal| seal.text.clone()) else { return Ok(()) };
    let whole = |now: Option<&str>| match now {
        Some(now) => crate::base::text::union(&text, now),
        None => text.clone(),
    };
    authored::replace(layout, &page.path, |now| Some(whole(now))).map(drop)
}

/// Begins the log of the knowledge anew: what it said was compiled is compiled again.
fn restore_log(store: &Store, page: &DamagedPage) -> io::Result<()> {
    match is_there(&page.path) {
        true => Ok(()),
        false => store
            .log_knowledge("## The log was damaged\n\n- What was compiled before is not known."),
    }
}

/// The days that sessions tell of and that are not there, where nothing else is known of them.
fn lost_days(
    store: &Store,
    seals: &Seals,
    digests: &[(SessionId, Stamp)],
) -> Result<BTreeSet<NaiveDate>> {
    if *seals != Seals::default() || digests.len() > MANY {
        return Ok(BTreeSet::new());
    }
    let began = digests.iter().filter_map(|(id, _)| {
        let content = store.digest(id).ok().flatten()?.content;
        content.started.filter(|_| content.worth == Worth::Full && content.turns > 0)
    });
    let days: BTreeSet<NaiveDate> = began.map(|began| began.date_naive()).collect();
    // A day beside it may hold what is dated in another time zone.
    let is_near = |day: &NaiveDate| {
        [day.pred_opt(), Some(*day), day.succ_opt()]
            .into_iter()
            .flatten()
            .any(|near| files::exists(store.layout().day(near)))
    };
    Ok(days.into_iter().filter(|day| !is_near(day)).collect())
}

/// Writes days from the raw of all sessions that may tell of them.
fn write_days(settings: &CaptureSettings<'_>, days: &BTreeSet<NaiveDate>) -> Result<()> {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(()) };
    let store = settings.store;
    let cannot = || "cannot write the days".to_string();
    let mut lines = DayLines::default();
    for id in store.session_ids().context(cannot)? {
        let Ok(Some(digest)) = store.digest(&id) else { continue };
        let (began, ended) = (digest.content.started, digest.content.ended);
        let near = |at: NaiveDate| at.signed_duration_since(*last).num_days() <= 2;
        let touches = began.is_some_and(|at| near(at.date_naive()))
            && ended.is_some_and(|at| first.signed_duration_since(at.date_naive()).num_days() <= 2);
        if touches && let Some(of_session) = day_lines(settings, &digest) {
            lines.join(of_session);
        }
    }
    lines.keep_days(|day| days.contains(&day));
    lines.write(store.layout()).context(cannot)
}

/// The lines that a session's raw tells.
fn day_lines(settings: &CaptureSettings<'_>, digest: &Digest) -> Option<DayLines> {
    if digest.content.worth != Worth::Full || digest.snapshot.evicted.is_some() {
        return None;
    }
    let adapter = adapters::named(&digest.content.flavor)?;
    let (_, native_id) = digest.source_id.split_once(':')?;
    let snapshot = settings.store.layout().snapshot(&digest.session);
    let mut lines = DayLines::default();
    let mut add = |line: &DayLine| {
        lines.add(line, &digest.session, settings.zone);
        Ok(())
    };
    raw::read_again(adapter, &snapshot, native_id, &settings.pages, &mut add).ok()??;
    Some(lines)
}

/// Adds the lines that days lack although the raw of sessions tells them.
fn missing_lines(settings: &CaptureSettings<'_>) -> Result<()> {
    let store = settings.store;
    let cannot = || "cannot write the days".to_string();
    for id in store.session_ids().context(cannot)? {
        let Ok(Some(digest)) = store.digest(&id) else { continue };
        let Some(lines) = day_lines(settings, &digest) else { continue };
        let mut is_missing = false;
        let differs = |_, _: &str, difference| is_missing |= difference == Difference::Missing;
        lines.clone().compare(store.layout(), differs).context(cannot)?;
        if is_missing {
            lines.write(store.layout()).context(cannot)?;
        }
    }
    Ok(())
}

/// Makes everything again that can be, also what a person may have taken out: they asked for it.
pub fn as_asked(memory: &Memory) -> Result<()> {
    let _lock = memory.store().lock()?;
    let digests = memory.store().digest_stamps()?;
    pages(memory, &digests, Extent::All)?;
    missing_lines(&memory.capture_settings()?)
}

/// Accepts what is damaged still and cannot be made again.
pub fn accept(memory: &Memory) -> Result<()> {
    let (layout, cannot) = (memory.layout(), || "cannot write what is known of pages".to_string());
    let _lock = memory.store().lock()?;
    let mut seals = Seals::file(layout).load();
    for page in seals.damaged(layout, true).context(cannot)? {
        if matches!(page.damage, Damage::Missing | Damage::Shortened) {
            seals.accept(&page.name);
        }
    }
    seals.renew(layout).context(cannot)?;
    Seals::file(layout).save(&seals).map(drop).context(cannot)
}

// --- Digests ---

/// Writes the digests of sessions that have none and whose logs are gone too, from their raw;
/// returns which.
pub fn orphans(settings: &CaptureSettings<'_>) -> Result<Vec<String>> {
    let (store, layout) = (settings.store, settings.store.layout());
    let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
    let forgotten = store.forgotten();
    let mut made = Vec::new();
    for id in ids.iter().filter(|id| id.device == *settings.device && !forgotten.contains(id)) {
        let is_orphan = !files::exists(layout.digest(id))
            && files::is_dir(layout.snapshot(id).join(layout::RAW));
        if is_orphan && raw::restore_digest(settings, id)? {
            made.push(layout.shown(&layout.digest(id)));
        }
    }
    Ok(made)
}

/// Writes digests again that are empty, zeroed or cut; returns which.
fn broken_digests(
    settings: &CaptureSettings<'_>,
    digests: &[(SessionId, Stamp)],
    extent: Extent,
) -> Result<Vec<String>> {
    let (store, layout) = (settings.store, settings.store.layout());
    let since = looked(layout).unwrap_or(i64::MAX);
    let mut made = Vec::new();
    let own = digests.iter().filter(|(id, _)| id.device == *settings.device);
    for (id, stamp) in own {
        let is_new = stamp.ctime_ns > since || extent == Extent::All || stamp.size == 0;
        let Some(bytes) = is_new.then(|| files::read(layout.digest(id)).ok()).flatten() else {
            continue;
        };
        if digest_again(settings, id, &bytes, extent)? {
            made.push(store.layout().shown(&layout.digest(id)));
        }
    }
    Ok(made)
}

fn digest_again(
    settings: &CaptureSettings<'_>,
    id: &SessionId,
    bytes: &[u8],
    extent: Extent,
) -> Result<bool> {
    let (store, layout) = (settings.store, settings.store.layout());
    let path = layout.digest(id);
    let cannot = || format!("cannot write `{}`", layout.shown(&path));
    if bytes.is_empty() || bytes.contains(&0) {
        if !files::is_dir(layout.snapshot(id).join(layout::RAW)) {
            return Ok(false);
        }
        if !bytes.is_empty() {
            move_aside(layout, &path).context(cannot)?;
        }
        return raw::restore_digest(settings, id);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    let is_cut = digest::is_cut(text);
    if extent == Extent::All
        && !is_cut
        && let Some(facts) = raw::facts_again(settings, id)
    {
        let merge = |now: Option<&str>| Some(digest::with_machine_facts(now?, &facts));
        authored::replace(layout, &path, merge).context(cannot)?;
        let whole = files::read(&path).context(cannot)?;
        return digest_again(settings, id, &whole, extent);
    }
    let completed = match extent == Extent::All && !is_cut {
        true => completed(settings, id, text)?,
        false => None,
    };
    let text = completed.as_deref().unwrap_or(text);
    let lacks = !digest::missing_sections(text).is_empty();
    // What ends at a line may be a person's doing.
    let is_torn = is_cut
        && !text.ends_with('\n')
        && (digest::lacks_machine_facts(text) || digest::is_ours_as_far_as_it_goes(text));
    if !is_torn && !(extent == Extent::All && (lacks || is_cut)) {
        return Ok(completed.is_some());
    }
    let whole = digest::parse(text).ok().filter(|_| !digest::lacks_machine_facts(text));
    let Some(before) = whole else {
        move_aside(layout, &path).context(cannot)?;
        return raw::restore_digest(settings, id);
    };
    let Some(adapter) = adapters::named(&before.content.flavor) else { return Ok(false) };
    let native_id = before.source_id.split_once(':').map_or("", |(_, id)| id).to_string();
    let (snapshot, mut none) = (layout.snapshot(id), |_: &DayLine| Ok(()));
    let read = raw::read_again(adapter, &snapshot, &native_id, &settings.pages, &mut none);
    let Ok(Some(read)) = read else { return Ok(false) };
    let again = Digest { content: read.session.content, ..before };
    // What is no longer there is written as if it had never been.
    let merge = |now: Option<&str>| {
        let now = now.filter(|now| *now == text)?;
        let known = digest::without_stale_hashes(now);
        Some(match is_torn {
            true => digest::text(&again),
            false => digest::text_over(&known, &again),
        })
    };
    authored::replace(layout, &path, merge).context(cannot)?;
    Ok(store.digest(id).is_ok())
}

/// A digest to which the lines and facts were added that raw gives and that it lacked; `None` where
/// it lacked none.
fn completed(settings: &CaptureSettings<'_>, id: &SessionId, text: &str) -> Result<Option<String>> {
    let path = settings.store.layout().digest(id);
    let Some(again) = raw::page_again(settings, id, text) else { return Ok(None) };
    if digest::with_what_raw_gives(text, &again) == text {
        return Ok(None);
    }
    let cannot = || format!("cannot write `{}`", settings.store.layout().shown(&path));
    let merge = |now: Option<&str>| Some(digest::with_what_raw_gives(now?, &again));
    authored::replace(settings.store.layout(), &path, merge).context(cannot)?;
    files::read_to_string(&path).context(cannot).map(Some)
}

// --- Snapshots ---

/// Makes damaged snapshots again: from their raw where that is whole, else the sweep captures them
/// anew from their logs. Returns which were made.
pub fn snapshots(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    all: bool,
) -> Result<Vec<String>> {
    let (store, layout) = (settings.store, settings.store.layout());
    let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
    let since = if all { i64::MIN } else { looked(layout).unwrap_or(i64::MAX) };
    let mut made = Vec::new();
    let own = ids.iter().filter(|id| id.device == *settings.device);
    for id in own.rev().take(if all { usize::MAX } else { MANY }) {
        let snapshot = layout.snapshot(id);
        let is_changed = is_changed(&snapshot, since);
        if !is_changed && !is_newer(&layout.session(id), since) {
            continue;
        }
        let Ok(Some(digest)) = store.digest(id) else { continue };
        let lacking = guards::missing_of(layout, id, digest.content.shape());
        guards::write_of(layout, id, &lacking)
            .context(|| format!("cannot write to `{}`", layout.shown(&snapshot)))?;
        made.extend(lacking.iter().map(|path| layout.shown(path)));
        if !is_changed {
            continue;
        }
        let state = state_of(&snapshot, &digest);
        if state == SnapshotState::Whole {
            continue;
        }
        if state == SnapshotState::Manifest {
            let again =
                snapshots::manifest_again(&snapshot, digest.content.shape()).unwrap_or_default();
            files::write_atomic(&snapshot.join(layout::MANIFEST), again.as_bytes())
                .context(|| format!("cannot write to `{}`", layout.shown(&snapshot)))?;
        } else if state == SnapshotState::Pages && render_again(settings, known, &digest)? {
            // Written from raw.
        } else {
            known.capture_anew(&digest.source_id);
            continue;
        }
        made.push(layout.shown(&snapshot));
    }
    Ok(made)
}

/// How much of a snapshot is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotState {
    Whole,
    /// All but the manifest.
    Manifest,
    /// Raw, but not all that is made of it.
    Pages,
    /// Not even raw.
    Raw,
}

/// Compares a snapshot with what its digest says.
pub fn state_of(snapshot: &Path, digest: &Digest) -> SnapshotState {
    let shape = digest.content.shape();
    if digest.snapshot.evicted.is_some() {
        return SnapshotState::Whole;
    }
    let is_same = |line: &str| match parse_manifest_line(line) {
        Some((sha256, name)) if name != layout::MANIFEST => {
            files::hash_file(&snapshot.join(&name)).is_ok_and(|(_, now)| now == sha256)
        }
        _ => true,
    };
    let is_raw = |line: &&str| {
        let name = parse_manifest_line(line).map(|(_, name)| name).unwrap_or_default();
        layout::is_raw_file(&name, shape)
    };
    let manifest = files::read_to_string(snapshot.join(layout::MANIFEST)).unwrap_or_default();
    let is_listed = files::sha256_hex(manifest.as_bytes()) == digest.snapshot.manifest_sha256;
    if !is_listed {
        let again = snapshots::manifest_again(snapshot, shape).unwrap_or_default();
        if files::sha256_hex(again.as_bytes()) == digest.snapshot.manifest_sha256 {
            return SnapshotState::Manifest;
        }
    }
    if is_listed && manifest.lines().all(is_same) {
        return SnapshotState::Whole;
    }
    let lines: Vec<&str> = match is_listed {
        true => manifest.lines().collect(),
        false => digest.snapshot.manifest.iter().map(String::as_str).collect(),
    };
    let mut raw = lines.into_iter().filter(is_raw).peekable();
    match shape == SnapshotShape::Log && raw.peek().is_some() && raw.all(is_same) {
        true => SnapshotState::Pages,
        false => SnapshotState::Raw,
    }
}

/// Writes a session's snapshot again from its raw; says whether it could.
fn render_again(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    digest: &Digest,
) -> Result<bool> {
    let layout = settings.store.layout();
    let Some(adapter) = adapters::named(&digest.content.flavor) else { return Ok(false) };
    let native_id = digest.source_id.split_once(':').map_or("", |(_, id)| id);
    let log = raw::raw_log(adapter, &layout.snapshot(&digest.session), native_id);
    let Some(log) = log.ok().filter(|log| !log.files.is_empty()) else { return Ok(false) };
    let source = Source {
        flavor: adapter.name(),
        native_id: native_id.to_string(),
        files: log.files,
        origin: None,
    };
    let around = Around::of(Some(&layout.snapshot(&digest.session)), &source);
    let folder = layout.staging().join(format!("again-{}", digest.session));
    files::remove_folder(&folder).context(|| settings.store.cannot_write())?;
    let shared = SharedFiles::with_temporary_copies();
    let staged = stage::stage(adapter, &source, &shared, None, &folder, &settings.pages, around);
    let Ok(staged) = staged else { return Ok(false) };
    commit::commit_again(settings, known, staged)?;
    Ok(true)
}
