//! Flushing: what was said in a session gets into its day's summary before the agent forgets it.
//!
//! The lines of a day come from the sweep of the session, so a flush sweeps it first. Then the
//! summary is written from the lines. Where a model is configured, it is also asked about the
//! latest turns that no note covers yet; what it says becomes a note in the session's section. A
//! hash of the turns, not a clock, identifies a duplicate. A context is kept in the inbox before a
//! model is asked, and leaves it when its note stands in the summary: whatever happens in between,
//! a later flush or sweep finds it there.

mod context;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use chrono::{Days, Duration, NaiveDate};
use serde::Serialize;

use crate::adapters;
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::zone::Zone;
use crate::capture::cursors::Cursors;
use crate::capture::sources::Root;
use crate::error::{Context as _, Result};
use crate::memory::Memory;
use crate::model::day::{LineKind, Note};
use crate::model::digest::Worth;
use crate::model::ids::SessionId;
use crate::model::words::words;
use crate::models::check::Material;
use crate::models::reply::{self, RefusedLine};
use crate::models::{Alias, Answer, Models, Prompt};
use crate::ops::days::{self, Scope, Summarized};
use crate::ops::sweep::{SweepReport, SweepRequest};
use crate::ops::turns;
use crate::store::day::Entry;
use crate::store::layout::Layout;
use crate::store::{self, Store, day::summary, local};

pub use context::Context;
use context::Utterance;
pub use state::{Compiled, State};

/// What a model is asked at a flush.
const FLUSH: Prompt = Prompt {
    task: "flush",
    text: include_str!("../../../templates/prompts/flush.md"),
    reply_tokens: 500,
};

/// With fewer turns than this there is nothing to save before a compaction.
const FEWEST_BEFORE_COMPACTION: usize = 5;

/// Why a session is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its context will be compacted.
    Precompact,
    /// It ended.
    End,
    /// It had thirty turns since the last time.
    Interval,
    /// It was cleared, and goes on empty.
    Reset,
    /// Nothing was said for a while.
    Idle,
}

words!(Reason {
    Precompact = "precompact",
    End = "end",
    Interval = "interval",
    Reset = "reset",
    Idle = "idle",
});

/// What to flush.
#[derive(Debug, Clone, Default)]
pub enum FlushRequest {
    /// What is due: sessions that fell silent or went on for thirty turns, whatever waits in the
    /// inbox, and the days that need a summary.
    #[default]
    Due,
    /// The same for `memtree watch`, which settles past days less often than today.
    Watch(Scope),
    /// Only what an earlier flush could not do.
    Retry,
    /// A context that somebody else extracted from a session.
    Context { text: String, session: String },
    /// A session whose log an agent names, with the agent's own id of it. It is swept first.
    Transcript { log: PathBuf, session: String, reason: Reason },
    /// A session of which only the agent is known, and the agent's own id of it. The agent is swept
    /// first.
    Agent { agent: String, session: String, reason: Reason },
}

impl Memory {
    /// Summarizes what was said into its day.
    pub fn flush(&self, request: FlushRequest) -> Result<FlushReport> {
        let (store, flush) = (self.store(), &Flush::of(self)?);
        match request {
            FlushRequest::Due => due(store, flush, Scope::All),
            FlushRequest::Watch(scope) => due(store, flush, scope),
            FlushRequest::Retry if store.inbox().is_empty() => Ok(FlushReport::default()),
            FlushRequest::Retry => run(store, Vec::new(), flush),
            FlushRequest::Context { text, session } => handed_in(store, &text, &session, flush),
            FlushRequest::Transcript { log, session, reason } => {
                let sweep = SweepRequest::default().roots(roots(log));
                let swept = self.sweep(sweep)?;
                transcript(self, swept, true, &session, reason, flush)
            }
            FlushRequest::Agent { agent, session, reason } => {
                // An agent may have hooks that we know and logs that we do not.
                let only = adapters::named(&agent).map(|_| agent).into_iter().collect();
                let swept = self.sweep(SweepRequest::default().only(only))?;
                transcript(self, swept, false, &session, reason, flush)
            }
        }
    }
}

/// A session's log, and the folder beside it in which its subagents have theirs.
fn roots(log: PathBuf) -> Vec<Root> {
    let beside = log.with_extension("");
    let beside = (beside != log && files::is_dir(&beside)).then_some(beside);
    let paths = [Some(log), beside].into_iter().flatten();
    paths.map(|path| Root { path, glob: None, named: false }).collect()
}

/// What a flush works with.
pub struct Flush<'f> {
    now: Timestamp,
    zone: Zone,
    /// After so long without a word a session counts as idle.
    idle: Duration,
    models: &'f Models,
    redactor: &'f Redactor,
}

impl<'f> Flush<'f> {
    /// That of a memory.
    pub fn of(memory: &'f Memory) -> Result<Flush<'f>> {
        Ok(Flush {
            now: memory.now(),
            zone: memory.zone()?,
            idle: memory.open_for(),
            models: memory.models()?,
            redactor: memory.redactor()?,
        })
    }
}

/// What a flush did.
#[derive(Debug, Default, Serialize)]
pub struct FlushReport {
    /// Contexts that became notes.
    pub flushed: usize,
    /// Contexts in which nothing was worth saving.
    pub nothing: usize,
    /// Contexts that were flushed before.
    pub duplicates: usize,
    /// Contexts that wait for a model.
    pub kept: usize,
    /// The same by name: what is not summarized yet, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingContext>,
    /// What a model said and the session does not bear out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedLine>,
    #[serde(flatten)]
    pub summaries: Summarized,
}

/// A context that no model has summarized yet.
#[derive(Debug, Serialize)]
pub struct WaitingContext {
    pub session: String,
    pub day: NaiveDate,
    /// The moments that it covers.
    pub from: String,
    pub until: String,
    pub turns: usize,
    pub reason: String,
}

/// Flushes a session that was just swept: writes its days.
fn transcript(
    memory: &Memory,
    swept: SweepReport,
    log_is_named: bool,
    native_id: &str,
    reason: Reason,
    flush: &Flush<'_>,
) -> Result<FlushReport> {
    let store = memory.store();
    let layout = store.layout();
    for skipped in &swept.skipped {
        local::note(
            layout,
            flush.now,
            &format!("flush: {}:{}: {}", skipped.path.display(), skipped.line, skipped.reason),
        );
    }
    let swept_alone = swept.sessions.first().filter(|_| log_is_named);
    let session = swept_alone.map(|swept| swept.session.clone());
    let session = session.or_else(|| Cursors::load(&layout.cursors()).with_native_id(native_id));
    if log_is_named || session.is_some() {
        turns::forget(store, native_id);
    }
    let mut contexts = Vec::new();
    match session {
        // An agent may say that a session has ended in which nothing was said.
        None if !log_is_named => {}
        None => local::note(
            layout,
            flush.now,
            &format!("flush: no session was found in the log of `{native_id}`"),
        ),
        Some(session) => match store.digest(&session)? {
            Some(digest) if digest.content.worth == Worth::None => {
                let at = digest.content.ended.unwrap_or(flush.now);
                say_nothing(layout, at, &session.to_string(), &reason.to_string(), flush.zone)?;
            }
            Some(_) if flush.models.is_enabled() => {
                contexts = of_session(store, &session, reason, flush)?
            }
            _ => {}
        },
    }
    let turns: usize = contexts.iter().map(Context::count).sum();
    if reason == Reason::Precompact && turns < FEWEST_BEFORE_COMPACTION && turns > 0 {
        local::note(
            layout,
            flush.now,
            &format!("flush: only {turns} turns of `{native_id}` before its compaction"),
        );
        contexts.clear();
    }
    let mut flushed = run(store, contexts, flush)?;
    flushed.summaries.days.extend(swept.days.days);
    flushed.summaries.days.sort_unstable();
    flushed.summaries.days.dedup();
    flushed.summaries.finalized.extend(swept.days.finalized);
    Ok(flushed)
}

/// Flushes a context that somebody else extracted from a session.
fn handed_in(store: &Store, text: &str, session: &str, flush: &Flush<'_>) -> Result<FlushReport> {
    let layout = store.layout();
    let clean = flush.redactor.redact(text);
    // A captured session has a name of ours, under which its lines stand.
    let captured = Cursors::load(&layout.cursors()).with_native_id(session);
    let captured =
        captured.or_else(|| session.parse().ok().filter(|id| files::is_file(layout.digest(id))));
    let name = captured.map_or_else(|| files::safe_name(session, 80), |id| id.to_string());
    let contexts = Context::handed_in(&name, &clean, flush.now, flush.zone);
    if contexts.is_empty() {
        local::note(layout, flush.now, &format!("flush: the context of `{session}` is empty"));
    }
    run(store, contexts, flush)
}

/// Flushes what is due: sessions that fell silent or went on for thirty turns, whatever waits in
/// the inbox, and the days in `scope` that need a summary.
fn due(store: &Store, flush: &Flush<'_>, scope: Scope) -> Result<FlushReport> {
    let mut contexts = Vec::new();
    if flush.models.is_enabled() {
        let today = days::today(flush.now, flush.zone);
        let recent: Vec<NaiveDate> =
            [today.checked_sub_days(Days::new(1)), Some(today)].into_iter().flatten().collect();
        let mut sessions = BTreeSet::new();
        for day in &recent {
            let read = store::day::read(store.layout(), *day, |line| {
                sessions.extend(line.session.parse::<SessionId>().ok());
            });
            read.context(|| format!("cannot read the day {day}"))?;
        }
        for session in sessions {
            let found = of_session(store, &session, Reason::Idle, flush)?;
            let count: usize = found.iter().map(Context::count).sum();
            let silent = found.last().is_some_and(|last| last.at + flush.idle <= flush.now);
            if silent || count as u64 >= turns::EVERY {
                contexts.extend(found);
            }
        }
    }
    let mut flushed = run(store, contexts, flush)?;
    let settled = days::settle(store, flush.now, flush.zone, scope)?;
    flushed.summaries.days.extend(settled.days);
    flushed.summaries.finalized.extend(settled.finalized);
    Ok(flushed)
}

/// Asks a model about every session of a day that it has not summarized whole; for `summarize`.
pub fn whole_day(store: &Store, day: NaiveDate, flush: &Flush<'_>) -> Result<FlushReport> {
    let mut contexts = Vec::new();
    if flush.models.is_enabled() {
        let mut sessions = BTreeSet::new();
        store::day::read(store.layout(), day, |line| {
            sessions.extend(line.session.parse::<SessionId>().ok())
        })
        .context(|| format!("cannot read the day {day}"))?;
        for session in sessions {
            contexts.extend(without_note(store, &session, &[day], Reason::Idle, flush)?);
        }
    }
    run(store, contexts, flush)
}

/// The latest turns of a session that no model has summarized yet.
fn of_session(
    store: &Store,
    session: &SessionId,
    reason: Reason,
    flush: &Flush<'_>,
) -> Result<Vec<Context>> {
    let Some(digest) = store.digest(session)? else { return Ok(Vec::new()) };
    let last = digest
        .content
        .ended
        .map_or_else(|| days::today(flush.now, flush.zone), |at| days::today(at, flush.zone));
    // Midnight may be among the latest turns.
    let days: Vec<NaiveDate> =
        [last.checked_sub_days(Days::new(1)), Some(last)].into_iter().flatten().collect();
    without_note(store, session, &days, reason, flush)
}

fn without_note(
    store: &Store,
    session: &SessionId,
    days: &[NaiveDate],
    reason: Reason,
    flush: &Flush<'_>,
) -> Result<Vec<Context>> {
    let layout = store.layout();
    let name = session.to_string();
    let mut said = Vec::new();
    for day in days {
        let summary = files::read_to_string(layout.summary(*day)).unwrap_or_default();
        let notes = summary::notes(&summary).remove(&name).unwrap_or_default();
        let has_note = |time: &str| {
            notes.iter().any(|note| note.by_model && (&*note.from..=&*note.until).contains(&time))
        };
        let read = store::day::read(layout, *day, |line| {
            if line.session == name && !has_note(line.time) {
                said.extend(Utterance::of(line, *day));
            }
        });
        read.context(|| format!("cannot read the day {day}"))?;
    }
    Ok(Context::of(&name, &said, &reason.to_string(), flush.zone))
}

/// Puts contexts into the inbox, and then settles all that is there: the days are written in any
/// case.
fn run(store: &Store, contexts: Vec<Context>, flush: &Flush<'_>) -> Result<FlushReport> {
    let layout = store.layout();
    let cannot = || format!("cannot flush into the memory `{}`", layout.root().display());
    store.refuse_links(None)?;
    // One at a time, so that no context is asked about twice.
    let _lock = files::lock_exclusive(&layout.flush_lock()).context(cannot)?;
    let mut state = State::load(layout, flush.now).context(cannot)?;
    let mut flushed = FlushReport::default();
    let mut days: BTreeSet<NaiveDate> = contexts.iter().map(|context| context.day).collect();
    for context in contexts {
        if state.has(&context.id) || has_note(layout, &context, flush.models) {
            flushed.duplicates += 1;
        } else {
            files::create_private_dir(&layout.inbox()).context(cannot)?;
            let path = layout.inbox_item(&context.id);
            // One that waits there already keeps its time.
            if !files::exists(&path) {
                files::write_atomic(&path, context.to_text().as_bytes()).context(cannot)?;
            }
        }
    }
    let mut notes = NotesByDay::new();
    let mut done = Vec::new();
    for path in store.inbox() {
        let text = files::read_to_string(&path).context(cannot)?;
        let Some(context) = Context::parse(&text) else {
            let what = format!("flush: `{}` is no context; left where it is", path.display());
            local::note(layout, flush.now, &what);
            continue;
        };
        days.insert(context.day);
        if take(layout, &context, flush, &mut flushed, &mut notes)? {
            done.push((path, context.id));
        }
    }
    // In this order: a kill leaves a context in the inbox rather than nowhere.
    let days: Vec<NaiveDate> = days.into_iter().collect();
    flushed.summaries = days::rewrite(store, &days, &notes, flush.now, flush.zone)?;
    for (_, id) in &done {
        state.remember(id, flush.now);
    }
    if !done.is_empty() {
        state.save(layout).context(cannot)?;
    }
    for (path, _) in &done {
        files::remove_file(path).context(cannot)?;
    }
    Ok(flushed)
}

/// The notes that each day gets, with the names of their sessions.
type NotesByDay = BTreeMap<NaiveDate, Vec<(String, Note)>>;

/// Settles one context of the inbox; says whether it is done.
fn take(
    layout: &Layout,
    context: &Context,
    flush: &Flush<'_>,
    flushed: &mut FlushReport,
    notes: &mut NotesByDay,
) -> Result<bool> {
    let settled = settle(layout, context, flush, flushed)
        .context(|| format!("cannot flush into the memory `{}`", layout.root().display()))?;
    let is_done = !matches!(settled, ContextOutcome::Kept(..));
    let note = match settled {
        ContextOutcome::Note(note) => {
            flushed.flushed += 1;
            Some(note)
        }
        ContextOutcome::Lines => None,
        ContextOutcome::Nothing => {
            flushed.nothing += 1;
            say_nothing(layout, context.at, &context.session, &context.reason, flush.zone)?;
            None
        }
        ContextOutcome::Kept(reason, note) => {
            flushed.kept += 1;
            let Context { id, session, .. } = context;
            let what = format!("flush: the context {id} of `{session}` is kept: {reason}");
            local::note(layout, flush.now, &what);
            flushed.waiting.push(WaitingContext {
                session: session.clone(),
                day: context.day,
                from: context.from.clone(),
                until: context.until.clone(),
                turns: context.count(),
                reason,
            });
            note
        }
    };
    if let Some(note) = note {
        notes.entry(context.day).or_default().push((context.session.clone(), note));
    }
    Ok(is_done)
}

/// What became of a context.
enum ContextOutcome {
    Note(Note),
    /// The session's lines say it all, and there is no model to say it better.
    Lines,
    Nothing,
    /// There is no answer now. What can be said without one may stand in for it.
    Kept(String, Option<Note>),
}

fn settle(
    layout: &Layout,
    context: &Context,
    flush: &Flush<'_>,
    flushed: &mut FlushReport,
) -> io::Result<ContextOutcome> {
    let note = |by_model, summary| Note {
        id: context.id.clone(),
        from: context.from.clone(),
        until: context.until.clone(),
        by_model,
        summary,
    };
    let has_lines =
        context.session.parse().is_ok_and(|id: SessionId| files::is_file(layout.digest(&id)));
    // What is not worth a note is not worth a question either.
    if context.is_idle() {
        return Ok(ContextOutcome::Nothing);
    }
    if !flush.models.is_enabled() {
        return Ok(if has_lines {
            ContextOutcome::Lines
        } else {
            ContextOutcome::Note(note(false, context.summary()))
        });
    }
    Ok(match flush.models.ask(Alias::Low, &FLUSH, &context.numbered_turns()) {
        Answer::Text(reply) => {
            let checked = reply::checked(&reply, &Material::of_turns(&context.turns));
            flushed.refused.extend(checked.refused);
            match context::summary_of(checked.kept) {
                // A reply about something else replaces nothing: our own words stay.
                summary if !summary.is_empty() => ContextOutcome::Note(note(true, summary)),
                _ if has_lines => ContextOutcome::Lines,
                _ => ContextOutcome::Note(note(false, context.summary())),
            }
        }
        Answer::Nothing => ContextOutcome::Nothing,
        Answer::Unavailable(reason) => {
            ContextOutcome::Kept(reason, (!has_lines).then(|| note(false, context.summary())))
        }
    })
}

/// Whether the summary has a note on just this context, by a model where there is one.
fn has_note(layout: &Layout, context: &Context, models: &Models) -> bool {
    let summary = files::read_to_string(layout.summary(context.day)).unwrap_or_default();
    let notes = summary::notes(&summary);
    let tells = |note: &Note| note.id == context.id && (note.by_model || !models.is_enabled());
    notes.get(&context.session).is_some_and(|notes| notes.iter().any(tells))
}

/// Says in the day that there was nothing worth saving; once for the same moment.
fn say_nothing(
    layout: &Layout,
    at: Timestamp,
    session: &str,
    reason: &str,
    zone: Zone,
) -> Result<()> {
    let text = format!("flush: nothing worth saving ({reason})");
    Entry { at, kind: LineKind::System, session, text: &text }
        .append_once(layout, zone)
        .map(drop)
        .context(|| "cannot write to the day".into())
}
