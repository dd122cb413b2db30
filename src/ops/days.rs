//! Days and their summaries: which of them need one, and writing it.
//!
//! A summary says in its front matter which raw lines it covers. A day whose lines have changed
//! since is pending; once the day is over, a summary that covers it is final, until a late line
//! opens the day again. None of this is remembered anywhere else: what lies in the cache only saves
//! looking.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chrono::NaiveDate;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::files::{self, Batch, FileLock, Merge, Stamp};
use crate::base::zone::Zone;
use crate::distill::day::DayReader;
use crate::error::{Context, Result};
use crate::model::day::{LineKind, Note};
use crate::model::ids::SessionId;
use crate::ops::day_status::TakenIn;
use crate::store::day;
use crate::store::day::summary::{self, Notes};
use crate::store::local::StateFile;
use crate::store::{Store, layout::Layout};

/// How many summaries are written with one sync.
const BATCH: usize = 64;

/// What was done about days.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Summarized {
    /// The days whose summaries were written.
    pub days: Vec<NaiveDate>,
    /// Those of them that were over by then.
    pub finalized: Vec<NaiveDate>,
}

/// Which day it is.
pub fn today(now: Timestamp, zone: Zone) -> NaiveDate {
    now.with_timezone(&zone).date_naive()
}

/// How the files of all days look, in order: tells a sweep that nothing has changed there.
pub fn stamps(layout: &Layout) -> Vec<(String, Stamp)> {
    let mut stamps = Vec::new();
    for folder in [layout.days(), layout.summaries()] {
        for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
            if let (Ok(metadata), Ok(name)) = (entry.metadata(), entry.file_name().into_string())
                && !files::is_temporary(name.as_ref())
            {
                stamps.push((layout.shown(&folder.join(name)), Stamp::of(&metadata)));
            }
        }
    }
    stamps.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    stamps
}

/// The days before today whose summaries do not cover them, in order.
pub fn pending(store: &Store, today: NaiveDate) -> io::Result<Vec<NaiveDate>> {
    let layout = store.layout();
    let settled = CoveredDays::file(layout).load();
    let mut pending = Vec::new();
    for day in day::all(layout)? {
        if day < today && !settled.holds(layout, day) && !is_covered(layout, day)? {
            pending.push(day);
        }
    }
    Ok(pending)
}

/// What there is to count of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DayCounters {
    pub day: NaiveDate,
    /// Messages of a person that came since its summary was written.
    pub messages_since_last_summary: u64,
    /// Whether it is over and its summary covers it.
    pub finalized: bool,
    /// How many summaries another tool had written of it, where one kept these days before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_summaries: Option<u64>,
}

/// Counts what days have beyond their summaries, in order.
pub fn counters(store: &Store, today: NaiveDate) -> io::Result<Vec<DayCounters>> {
    let layout = store.layout();
    let settled = CoveredDays::file(layout).load();
    let earlier = TakenIn::load(layout);
    let mut counters = Vec::new();
    for day in day::all(layout)? {
        let is_covered = settled.holds(layout, day) || is_covered(layout, day)?;
        let mut messages = 0;
        if !is_covered {
            day::read(layout, day, |line| messages += u64::from(line.kind == LineKind::User))?;
            let summary = files::if_exists(files::read_to_string(layout.summary(day)))?;
            messages -= summary.map_or(0, |text| summary::messages(&text)).min(messages);
        }
        let earlier = earlier.of(day);
        if let Some(earlier) = earlier.filter(|_| !is_covered) {
            messages = messages.max(earlier.messages_since_last_summary);
        }
        counters.push(DayCounters {
            day,
            messages_since_last_summary: messages,
            finalized: is_covered && day < today,
            earlier_summaries: earlier.map(|earlier| earlier.summaries),
        });
    }
    Ok(counters)
}

/// Which days are brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Those that are not over yet.
    Today,
}

/// Brings days' summaries up to date, and says which earlier days are final now.
pub fn settle(store: &Store, now: Timestamp, zone: Zone, scope: Scope) -> Result<Summarized> {
    let layout = store.layout();
    let cannot = || format!("cannot write the summaries of `{}`", layout.root().display());
    let _lock = lock(layout).context(cannot)?;
    let mut settled = CoveredDays::file(layout).load();
    let all = day::all(layout).context(cannot)?;
    let mut due = Vec::new();
    for day in &all {
        if (scope == Scope::Today && *day < today(now, zone)) || settled.holds(layout, *day) {
            continue;
        }
        // Looked at before it is read: what changes meanwhile is noticed the next time.
        let before = DayStamps::of(layout, *day);
        if is_covered(layout, *day).context(cannot)? {
            settled.remember(*day, before);
        } else {
            due.push(*day);
        }
    }
    let summarized = write(layout, store, &due, now, zone, &mut settled)?;
    settled.keep(&all);
    settled.save(layout).context(cannot)?;
    Ok(summarized)
}

/// Writes the summaries of some days again, whether they need it or not, with what a flush has to
/// add.
pub fn rewrite(
    store: &Store,
    which: &[NaiveDate],
    added: &BTreeMap<NaiveDate, Vec<(String, Note)>>,
    now: Timestamp,
    zone: Zone,
) -> Result<Summarized> {
    let layout = store.layout();
    let cannot = || format!("cannot write the summaries of `{}`", layout.root().display());
    let _lock = lock(layout).context(cannot)?;
    let mut summarized = Summarized::default();
    let mut pending = Vec::new();
    for day in which {
        let path = layout.summary(*day);
        let was_covered = is_covered(layout, *day).context(cannot)?;
        let none = Vec::new();
        let added = added.get(day).unwrap_or(&none);
        let merge = || -> Merge<'_> { Box::new(|now| text(store, *day, added, &[], now)) };
        if (was_covered || !added.is_empty())
            && files::replace(&layout.replacing(), &path, merge()).context(cannot)?
        {
            summarized.days.push(*day);
        }
        if !was_covered {
            pending.push(*day);
        }
    }
    let mut settled = CoveredDays::file(layout).load();
    let written = write(layout, store, &pending, now, zone, &mut settled)?;
    settled.save(layout).context(cannot)?;
    summarized.days.extend(written.days);
    summarized.days.sort_unstable();
    summarized.days.dedup();
    summarized.finalized = written.finalized;
    Ok(summarized)
}

/// Writes the summaries of some days again as if some sessions had never been; what a person wrote
/// there stays. Those of days on which nothing else was said go. Returns which days changed.
pub fn rewrite_without(
    store: &Store,
    which: &[NaiveDate],
    gone: &[SessionId],
) -> Result<Vec<NaiveDate>> {
    let layout = store.layout();
    let cannot = || format!("cannot write the summaries of `{}`", layout.root().display());
    let _lock = lock(layout).context(cannot)?;
    let mut changed = Vec::new();
    for day in which {
        let path = layout.summary(*day);
        let page = files::read_to_string(&path).context(cannot)?;
        if !summary::is_from_us(&page) {
            continue;
        }
        let is_changed =
            if summary::is_ours(&page) && day::is_silent(layout, *day).context(cannot)? {
                files::remove_file(&path).map(|()| true)
            } else {
                let merge: Merge<'_> = Box::new(|now| text(store, *day, &[], gone, now));
                files::replace(&layout.replacing(), &path, merge)
            };
        changed.extend(is_changed.context(cannot)?.then_some(*day));
    }
    Ok(changed)
}

/// Writes the summaries of days that need one, many with one sync. Whoever asked learns which of
/// them are over; no day's log is, since a report of ours is nothing that happened on a day.
fn write(
    layout: &Layout,
    store: &Store,
    due: &[NaiveDate],
    now: Timestamp,
    zone: Zone,
    settled: &mut CoveredDays,
) -> Result<Summarized> {
    let cannot = || format!("cannot write the summaries of `{}`", layout.root().display());
    let finalized: Vec<NaiveDate> =
        due.iter().copied().filter(|day| *day < today(now, zone)).collect();
    for chunk in due.chunks(BATCH) {
        let made: Vec<io::Result<MadeSummary>> = chunk
            .par_iter()
            .map(|day| {
                let looks = DayStamps::of(layout, *day);
                let read = files::if_exists(files::read(layout.summary(*day)))?;
                Ok(MadeSummary {
                    day: *day,
                    looks,
                    new: text(store, *day, &[], &[], read.as_deref())?,
                    read,
                })
            })
            .collect();
        let mut batch = Batch::of_pages(&layout.replacing());
        let mut looked = Vec::new();
        for one in made {
            let MadeSummary { day, looks, read, new } = one.context(cannot)?;
            if let Some(new) = new {
                let merge: Merge<'_> = Box::new(move |now| text(store, day, &[], &[], now));
                batch.replace(&layout.summary(day), read, new, merge).context(cannot)?;
            }
            looked.push((day, looks));
        }
        batch.commit().context(cannot)?;
        for (day, looks) in looked {
            settled.remember(day, DayStamps { summary: stamp(&layout.summary(day)), ..looks });
        }
    }
    Ok(Summarized { days: due.to_vec(), finalized })
}

/// A summary as it was read, and as it is to be.
struct MadeSummary {
    day: NaiveDate,
    looks: DayStamps,
    read: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

/// The text of a day's summary as it should be without some sessions, around the one that is there;
/// `None` where there is nothing to say.
fn text(
    store: &Store,
    day: NaiveDate,
    added: &[(String, Note)],
    gone: &[SessionId],
    existing: Option<&[u8]>,
) -> io::Result<Option<Vec<u8>>> {
    let layout = store.layout();
    let existing = existing.map(std::str::from_utf8).transpose();
    let existing = existing.map_err(|err| io::Error::new(io::ErrorKind::InvalidData, err))?;
    let mut notes = existing.map(summary::notes).unwrap_or_default();
    let is_gone = |session: &str| gone.iter().any(|gone| gone.to_string() == session);
    notes.retain(|session, _| !is_gone(session));
    for (session, note) in added {
        add_note(&mut notes, session, note.clone());
    }
    let mut reader = DayReader::of(day);
    let contents = day::read(layout, day, |line| reader.take(line))?;
    if !contents.anything && notes.is_empty() && existing.is_none() {
        return Ok(None);
    }
    let digest = |session: &str| {
        store.digest(&session.parse().ok().filter(|_| !is_gone(session))?).ok().flatten()
    };
    let covered = |session: &str| {
        let notes = notes.get(session).map(Vec::as_slice).unwrap_or_default();
        notes
            .iter()
            .filter(|note| note.by_model)
            .map(|note| (note.from.clone(), note.until.clone()))
            .collect()
    };
    let mut summary = reader.finish(contents.sha256, digest, covered);
    summary.has_raw = files::is_file(layout.day(day));
    summary.has_older_page = files::is_file(layout.old_day(day));
    Ok(Some(summary::text(day, &summary, &notes, existing).into_bytes()))
}

/// Adds a note to its session's, in the order of time. A model's words take the place of ours on
/// the same context.
fn add_note(notes: &mut Notes, session: &str, note: Note) {
    let notes = notes.entry(session.to_string()).or_default();
    match notes.iter_mut().find(|known| known.id == note.id) {
        // It is the same context, which keeps the time at which it came first.
        Some(known) if note.by_model && !known.by_model => {
            *known = Note { from: known.from.clone(), until: known.until.clone(), ..note };
        }
        Some(_) => {}
        None => notes.push(note),
    }
    notes.sort_by(|a, b| (&a.from, &a.until, &a.id).cmp(&(&b.from, &b.until, &b.id)));
}

/// Whether a day's summary covers all its lines, or there is nothing to say.
fn is_covered(layout: &Layout, day: NaiveDate) -> io::Result<bool> {
    match files::if_exists(files::read_to_string(layout.summary(day)))? {
        None => day::is_silent(layout, day),
        Some(text) => Ok(summary::covers(&text) == Some(day::read(layout, day, |_| ())?.sha256)),
    }
}

/// Waits until nobody else writes summaries.
fn lock(layout: &Layout) -> io::Result<FileLock> {
    files::lock_exclusive(&layout.days_lock())
}

/// How the files of a day look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct DayStamps {
    raw: Option<Stamp>,
    summary: Option<Stamp>,
}

impl DayStamps {
    fn of(layout: &Layout, day: NaiveDate) -> DayStamps {
        DayStamps { raw: stamp(&layout.day(day)), summary: stamp(&layout.summary(day)) }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    files::symlink_metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

/// The days whose summaries covered them when they looked so.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CoveredDays {
    days: BTreeMap<NaiveDate, DayStamps>,
    #[serde(skip)]
    changed: bool,
}

impl CoveredDays {
    fn file(layout: &Layout) -> StateFile<CoveredDays> {
        StateFile::cache(layout.settled_days())
    }

    fn holds(&self, layout: &Layout, day: NaiveDate) -> bool {
        self.days.get(&day).is_some_and(|then| *then == DayStamps::of(layout, day))
    }

    fn remember(&mut self, day: NaiveDate, looks: DayStamps) {
        self.changed |= self.days.insert(day, looks) != Some(looks);
    }

    fn keep(&mut self, days: &[NaiveDate]) {
        let before = self.days.len();
        self.days.retain(|day, _| days.binary_search(day).is_ok());
        self.changed |= self.days.len() != before;
    }

    fn save(&self, layout: &Layout) -> io::Result<()> {
        if self.changed { CoveredDays::file(layout).save(self).map(drop) } else { Ok(()) }
    }
}
