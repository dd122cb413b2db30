//! Compile: pages of knowledge from the days that have changed since they were last compiled.
//!
//! The log of the knowledge says which days were compiled, by hash, so nothing but the tree is
//! asked what is left to do. Pages are a function of the days: whoever compiles the same days
//! writes the same bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::time::Instant;

use chrono::NaiveDate;
use serde::Serialize;

use crate::base::files::{self, Batch};
use crate::base::markdown::strip_marks;
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::distill::day::as_said;
use crate::distill::knowledge::{self, Day, Line, wording};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::day::{self, LineKind};
use crate::model::digest::{Digest, Worth};
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::knowledge::{About, Concept, Kind, Knowledge, PageName, SourceDay};
use crate::models::{Alias, Answer, Models, Prompt};
use crate::store::Store;
use crate::store::authored::{self, Page};
use crate::store::day as day_logs;
use crate::store::knowledge::{self as documents, ModelSummary};

/// How many digits of a day's hash are remembered.
const HASH_DIGITS: usize = 16;

/// What to compile.
#[derive(Debug, Clone, Default)]
pub struct CompileRequest {
    pub days: DaySelection,
    /// Whether nothing is written.
    pub dry_run: bool,
}

setters!(CompileRequest { days: DaySelection, dry_run: bool });

/// Which days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DaySelection {
    /// Those that changed since they were compiled.
    #[default]
    Changed,
    All,
    /// These, changed or not.
    Named(Vec<NaiveDate>),
}

/// What was compiled.
#[derive(Debug, Default, Serialize)]
pub struct CompileReport {
    pub compiled: Vec<CompiledDay>,
    /// How many days are as they were when they were compiled.
    pub unchanged: usize,
    pub created: Vec<String>,
    pub updated: Vec<String>,
    /// Days that stay to be done, and why.
    pub pending: Vec<PendingDay>,
    pub took_ms: u64,
}

/// A day that was compiled.
#[derive(Debug, Serialize)]
pub struct CompiledDay {
    pub day: NaiveDate,
    pub hash: String,
    pub created: Vec<String>,
    pub updated: Vec<String>,
}

/// A day that could not be compiled.
#[derive(Debug, Serialize)]
pub struct PendingDay {
    pub day: NaiveDate,
    pub reason: String,
}

impl Memory {
    /// Compiles days into pages of knowledge.
    pub fn compile(&self, request: CompileRequest) -> Result<CompileReport> {
        let (redactor, models) = (self.redactor()?, self.models()?);
        let max_log_chars = self.settings().max_log_chars;
        let CompileRequest { days, dry_run } = request;
        compile(self.store(), &Compilation { days, redactor, models, max_log_chars, dry_run })
    }
}

/// A request with what it takes to carry it out.
struct Compilation<'a> {
    days: DaySelection,
    redactor: &'a Redactor,
    /// Who words the pages better, if a model is configured.
    models: &'a Models,
    /// How much of a day a model is given at once, in characters.
    max_log_chars: usize,
    dry_run: bool,
}

/// A day as it was read.
struct ReadDay {
    hash: String,
    /// The time of its last line.
    last: String,
    day: Day,
}

/// The days that knowledge is made of.
#[derive(Default)]
struct DaysRead {
    days: BTreeMap<NaiveDate, ReadDay>,
    /// Those of them that are to be compiled.
    due: BTreeSet<NaiveDate>,
    unchanged: usize,
    unreadable: Vec<PendingDay>,
}

/// The hashes of each day as it was compiled.
type CompiledHashes = BTreeMap<NaiveDate, BTreeSet<String>>;

/// Compiles days into pages.
fn compile(store: &Store, request: &Compilation<'_>) -> Result<CompileReport> {
    let started = Instant::now();
    store.refuse_links(None)?;
    let _lock = match request.dry_run {
        true => None,
        false => Some(
            files::lock_exclusive(&store.layout().knowledge_lock())
                .context(|| "cannot lock the knowledge".into())?,
        ),
    };
    let compiled = store.compiled().context(|| "cannot read the log of the knowledge".into())?;
    let mut sessions = Sessions::new(store);
    let read = read_days(store, request, &compiled, &mut sessions)?;
    let mut report = CompileReport {
        unchanged: read.unchanged,
        pending: read.unreadable,
        ..CompileReport::default()
    };
    if !read.due.is_empty() {
        let there = store.page_names().context(|| "cannot list the pages of knowledge".into())?;
        let mut failed: BTreeMap<NaiveDate, String> = BTreeMap::new();
        let mut wanted = kept_for_a_reason(store, &there)?;
        if request.models.is_enabled() && !request.dry_run {
            wanted.extend(named_by_model(store, &read.due, request, &mut failed)?);
        }
        let days: Vec<Day> = read.days.values().map(|read| read.day.clone()).collect();
        let made = knowledge::knowledge(&days, &sessions.about, &wanted);
        let changed = write(store, &made, &sessions.about, &read.due, request, &mut failed)?;
        if !request.dry_run && failed.is_empty() {
            remove_unwanted(store, &there, &made)?;
        }
        let (updated, created): (Vec<&PageName>, Vec<&PageName>) =
            changed.iter().partition(|name| there.contains(name));
        (report.created, report.updated) = (shown(created), shown(updated));
        for day in read.due {
            // A day is done when all of it is: what a model could not word is tried again.
            if let Some(reason) = failed.remove(&day) {
                report.pending.push(PendingDay { day, reason });
                continue;
            }
            let (created, updated) = of_day(&made, day, &there, &changed);
            let read = &read.days[&day];
            if !request.dry_run && !is_compiled(&compiled, day, &read.hash) {
                log_compiled(store, read, &created, &updated)?;
            }
            let (hash, created, updated) = (read.hash.clone(), shown(&created), shown(&updated));
            report.compiled.push(CompiledDay { day, hash, created, updated });
        }
        if !request.dry_run {
            store.write_index().context(|| "cannot write the index of the knowledge".into())?;
        }
    }
    report.took_ms = started.elapsed().as_millis() as u64;
    Ok(report)
}

/// The pages that stay whatever the days say now: a person wrote into them, or a model did.
fn kept_for_a_reason(store: &Store, there: &BTreeSet<PageName>) -> Result<BTreeSet<PageName>> {
    let mut kept = BTreeSet::new();
    for name in there {
        let text = store.page_text(name).context(|| "cannot read a page of knowledge".into())?;
        let text = text.unwrap_or_default();
        if !authored::is_ours(&text) || text.contains(documents::MODEL_SUMMARY) {
            kept.insert(name.clone());
        }
    }
    Ok(kept)
}

/// Removes the pages of ours that the days would not make any more: better topics took their place.
fn remove_unwanted(store: &Store, there: &BTreeSet<PageName>, made: &Knowledge) -> Result<()> {
    let cannot = || "cannot remove a page of knowledge".to_string();
    let concepts = made.concepts.iter().map(|concept| &concept.name);
    let names: BTreeSet<&PageName> =
        concepts.chain(made.connections.iter().map(|connection| &connection.name)).collect();
    let kept = kept_for_a_reason(store, there)?;
    let is_unwanted = |name: &&PageName| {
        name.kind != Kind::Question && !names.contains(*name) && !kept.contains(*name)
    };
    let gone: BTreeSet<PageName> = there.iter().filter(is_unwanted).cloned().collect();
    for name in &gone {
        files::remove_file(&store.layout().page(name)).context(cannot)?;
    }
    if !gone.is_empty() {
        store.without_pages_in_log(&gone).context(cannot)?;
        // Nobody's words are changed for it; what a person wrote keeps its link, and `lint` names
        // it.
        for name in store.page_names().context(cannot)?.difference(&kept) {
            store.without_links_to(name, &gone).context(cannot)?;
        }
    }
    Ok(())
}

fn shown<'n>(names: impl IntoIterator<Item = &'n PageName>) -> Vec<String> {
    names.into_iter().map(PageName::to_string).collect()
}

fn is_compiled(compiled: &CompiledHashes, day: NaiveDate, hash: &str) -> bool {
    compiled.get(&day).is_some_and(|hashes| hashes.contains(hash))
}

fn log_compiled(
    store: &Store,
    read: &ReadDay,
    created: &BTreeSet<PageName>,
    updated: &BTreeSet<PageName>,
) -> Result<()> {
    let entry = documents::compile_entry(read.day.day, &read.last, &read.hash, created, updated);
    store.log_knowledge(&entry).context(|| "cannot write the log of the knowledge".into())
}

/// Reads the days that are to be compiled, and those that were.
fn read_days(
    store: &Store,
    request: &Compilation<'_>,
    compiled: &CompiledHashes,
    sessions: &mut Sessions<'_>,
) -> Result<DaysRead> {
    let days = days(store).context(|| "cannot list the days".into())?;
    if let DaySelection::Named(named) = &request.days
        && let Some(missing) = named.iter().find(|day| !days.contains(day))
    {
        return Err(Error::new(format!("there is no day `{missing}` in this memory"))
            .hint("`memtree compile` alone takes all days that have changed"));
    }
    let mut all = DaysRead::default();
    for day in days {
        let unreadable =
            |err: io::Error| PendingDay { day, reason: format!("it cannot be read: {err}") };
        let hash = match day_hash(store, day) {
            Ok(hash) => hash,
            Err(err) => {
                all.unreadable.push(unreadable(err));
                continue;
            }
        };
        let is_due = match &request.days {
            DaySelection::Changed => !is_compiled(compiled, day, &hash),
            DaySelection::All => true,
            DaySelection::Named(named) => named.contains(&day),
        };
        if !is_due && !compiled.contains_key(&day) {
            // Not asked for, and never compiled: no part of the knowledge yet.
            continue;
        }
        match read_day(store, day, hash, request.redactor, sessions) {
            Ok(read) => drop(all.days.insert(day, read)),
            Err(err) => {
                all.unreadable.push(unreadable(err));
                continue;
            }
        }
        if is_due {
            all.due.insert(day);
        } else {
            all.unchanged += 1;
        }
    }
    Ok(all)
}

/// What the days that were compiled tell by now.
pub struct RebuiltKnowledge {
    /// The pages of which they still have something to say.
    pub borne_out: BTreeSet<PageName>,
    /// Those that were written anew.
    pub changed: BTreeSet<PageName>,
}

/// Writes the pages anew from the days that were compiled, as they are now, without a model and
/// without taking in any other day. The caller holds the lock of the knowledge.
pub fn rebuild_from_days(store: &Store, redactor: &Redactor) -> Result<RebuiltKnowledge> {
    let cannot = || "cannot read what was compiled".to_string();
    let models = Models::none();
    let request = Compilation {
        days: DaySelection::Changed,
        redactor,
        models: &models,
        max_log_chars: 0,
        dry_run: false,
    };
    let compiled = store.compiled().context(cannot)?;
    let there = store.page_names().context(cannot)?;
    let mut sessions = Sessions::new(store);
    let mut read: Vec<ReadDay> = Vec::new();
    for day in days(store).context(cannot)?.into_iter().filter(|day| compiled.contains_key(day)) {
        let hash = day_hash(store, day).context(cannot)?;
        read.push(read_day(store, day, hash, redactor, &mut sessions).context(cannot)?);
    }
    let days: Vec<Day> = read.iter().map(|read| read.day.clone()).collect();
    let made = knowledge::knowledge(&days, &sessions.about, &there);
    let changed =
        write(store, &made, &sessions.about, &BTreeSet::new(), &request, &mut BTreeMap::new())?;
    for read in read.iter().filter(|read| !is_compiled(&compiled, read.day.day, &read.hash)) {
        let (_, updated) = of_day(&made, read.day.day, &there, &changed);
        log_compiled(store, read, &BTreeSet::new(), &updated)?;
    }
    let concepts = made.concepts.iter().map(|concept| &concept.name);
    let borne_out = concepts
        .chain(made.connections.iter().map(|connection| &connection.name))
        .cloned()
        .collect();
    Ok(RebuiltKnowledge { borne_out, changed })
}

/// The days that tell something, in order.
pub fn days(store: &Store) -> io::Result<BTreeSet<NaiveDate>> {
    let days = day_logs::all(store.layout())?.into_iter();
    // One that cannot be read may tell something, and whoever reads it says so.
    Ok(days.filter(|day| !day_logs::is_silent(store.layout(), *day).unwrap_or(false)).collect())
}

/// The hash of a day as it is now, as the log remembers it. What memtree itself noted there is
/// nothing to learn from, and changes nothing.
pub fn day_hash(store: &Store, day: NaiveDate) -> io::Result<String> {
    Ok(day_logs::read(store.layout(), day, |_| ())?.sha256[..HASH_DIGITS].to_string())
}

// --- Reading ---

/// What is known of sessions, each read once.
struct Sessions<'s> {
    store: &'s Store,
    about: BTreeMap<SessionId, About>,
    /// The prompts of each, as its triggers show them; nothing for a session not worth remembering.
    prompts: HashMap<SessionId, Option<Vec<(String, EpisodeId)>>>,
}

impl<'s> Sessions<'s> {
    fn new(store: &'s Store) -> Sessions<'s> {
        Sessions { store, about: BTreeMap::new(), prompts: HashMap::new() }
    }

    /// The prompts of a session; `None` where its lines are to be left out.
    fn prompts(&mut self, id: &SessionId) -> Option<&[(String, EpisodeId)]> {
        if !self.prompts.contains_key(id) {
            // A session whose digest is damaged or not here yet still has its lines.
            let digest = self.store.digest(id).ok().flatten();
            let prompts = match &digest {
                Some(digest) if digest.content.worth == Worth::None => None,
                Some(digest) => Some(prompts(digest)),
                None => Some(Vec::new()),
            };
            if let Some(Digest { content, .. }) = digest {
                let (title, project, status) =
                    (content.title, content.project, Some(content.status));
                self.about.insert(id.clone(), About { title, project, status, tags: content.tags });
            }
            self.prompts.insert(id.clone(), prompts);
        }
        self.prompts[id].as_deref()
    }
}

/// The beginnings of prompts that a digest's triggers show, with their episodes.
fn prompts(digest: &Digest) -> Vec<(String, EpisodeId)> {
    let topics = digest.content.triggers.iter();
    // A topic has left out a greeting, and tells which question a short prompt answers.
    let asked =
        |topic: &str| topic.split(" ← ").next().unwrap_or(topic).trim_end_matches('…').to_string();
    let topics = topics.map(|trigger| (asked(&trigger.topic), trigger.episode));
    topics.filter(|(topic, _)| topic.chars().count() >= 8).collect()
}

fn read_day(
    store: &Store,
    day: NaiveDate,
    hash: String,
    redactor: &Redactor,
    sessions: &mut Sessions<'_>,
) -> io::Result<ReadDay> {
    let bytes = files::read(store.layout().day(day))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = Vec::new();
    let mut last = String::new();
    // The episode in which each session is just then.
    let mut episodes: HashMap<SessionId, Option<EpisodeId>> = HashMap::new();
    for line in text.lines().filter_map(day::Line::parse) {
        last = last.max(line.time.to_string());
        let (said, more) = without_more(line.text);
        let said = redactor.redact(&as_said(said)).into_owned();
        let session: Option<SessionId> = line.session.parse().ok();
        let mut episode = None;
        if let Some(id) = &session {
            let Some(prompts) = sessions.prompts(id) else { continue };
            if line.kind == LineKind::User {
                let prompt = strip_marks(&said);
                let after = episodes.get(id).copied().flatten();
                let found = prompts
                    .iter()
                    .find(|(topic, at)| Some(*at) > after && prompt.contains(topic.as_str()));
                episodes.insert(id.clone(), found.map(|(_, at)| *at));
            }
            episode = more.or(episodes.get(id).copied().flatten());
        }
        lines.push(Line { kind: line.kind, session, episode, text: said });
    }
    Ok(ReadDay { hash, last, day: Day { day, lines } })
}

/// A line's text without the link to the whole of it, and the episode which that leads to.
fn without_more(text: &str) -> (&str, Option<EpisodeId>) {
    match text.rsplit_once(" [more](") {
        Some((said, link)) => {
            let episode = link
                .trim_end_matches(')')
                .rsplit('/')
                .next()
                .and_then(|name| name.strip_suffix(".md"));
            (said, episode.and_then(|name| name.parse().ok()))
        }
        None => (text, None),
    }
}

// --- Writing ---

/// Writes all pages; returns the names of those that changed.
fn write(
    store: &Store,
    made: &Knowledge,
    sessions: &BTreeMap<SessionId, About>,
    due: &BTreeSet<NaiveDate>,
    request: &Compilation<'_>,
    failed: &mut BTreeMap<NaiveDate, String>,
) -> Result<BTreeSet<PageName>> {
    let mut pages: Vec<(&PageName, Page)> = Vec::new();
    for concept in &made.concepts {
        let summary = model_summary(store, concept, due, request, failed)?;
        let page = documents::concept_page(concept, sessions, summary.as_ref());
        pages.push((&concept.name, page));
    }
    for connection in &made.connections {
        pages.push((&connection.name, documents::connection_page(connection, sessions)));
    }
    let mut changed = BTreeSet::new();
    let mut batch = Batch::of_pages(&store.layout().replacing());
    for (name, page) in &pages {
        let cannot = || format!("cannot write the page `{name}`");
        let changes = match request.dry_run {
            true => store.changed_page(name, page).context(cannot)?.is_some(),
            false => {
                let path = store.layout().page(name);
                batch.merge(&path, store.merging_page(page)).context(cannot)?
            }
        };
        if changes {
            changed.insert((*name).clone());
        }
    }
    batch.commit().context(|| "cannot write the pages of knowledge".into())?;
    Ok(changed)
}

// --- Where a model is configured ---

const TOPICS: Prompt = Prompt {
    task: "topics",
    text: include_str!("../../templates/prompts/topics.md"),
    reply_tokens: 120,
};
const CONCEPT: Prompt = Prompt {
    task: "concept",
    text: include_str!("../../templates/prompts/concept.md"),
    reply_tokens: 400,
};

/// The pages that a model would make of days: names that the days really say, in whatever form,
/// become pages too.
fn named_by_model(
    store: &Store,
    due: &BTreeSet<NaiveDate>,
    request: &Compilation<'_>,
    failed: &mut BTreeMap<NaiveDate, String>,
) -> Result<BTreeSet<PageName>> {
    let mut names = BTreeSet::new();
    for day in due {
        let bytes = files::read(store.layout().day(*day))
            .context(|| format!("cannot read the day {day}"))?;
        let text = String::from_utf8_lossy(&bytes);
        for chunk in knowledge::chunks(&text, request.max_log_chars) {
            match request.models.ask(Alias::Low, &TOPICS, &[chunk.to_string()]) {
                Answer::Text(reply) => {
                    let named = wording::names(&reply);
                    names.extend(named.iter().map(|name| PageName::new(Kind::Concept, name)));
                }
                Answer::Nothing => {}
                Answer::Unavailable(reason) => {
                    failed.insert(*day, reason);
                    break;
                }
            }
        }
    }
    Ok(names)
}

/// A model's summary of a concept: the one that is there, while its quotes are the same, else a new
/// one.
fn model_summary(
    store: &Store,
    concept: &Concept,
    due: &BTreeSet<NaiveDate>,
    request: &Compilation<'_>,
    failed: &mut BTreeMap<NaiveDate, String>,
) -> Result<Option<ModelSummary>> {
    let evidence = documents::evidence(concept);
    let existing = store
        .page_text(&concept.name)
        .context(|| format!("cannot read the page `{}`", concept.name))?;
    let earlier = existing.and_then(|text| ModelSummary::earlier(&text, &evidence));
    if earlier.is_some() {
        return Ok(earlier);
    }
    let of_due: Vec<NaiveDate> =
        concept.sources.iter().map(|source| source.day).filter(|day| due.contains(day)).collect();
    if !request.models.is_enabled() || request.dry_run || of_due.is_empty() {
        return Ok(None);
    }
    let quotes = concept.quotes();
    let part = format!(
        "Topic: {}\n\n{}",
        concept.title,
        wording::numbered(quotes.iter().map(|quote| quote.text.as_str()))
    );
    Ok(match request.models.ask(Alias::High, &CONCEPT, &[part]) {
        // What names no source is not taken; the page says what was said without it.
        Answer::Text(reply) => wording::summary(&reply, &quotes).map(|claims| {
            ModelSummary::new(&claims, request.models.made_by(Alias::High), evidence)
        }),
        Answer::Nothing => None,
        Answer::Unavailable(reason) => {
            failed.extend(of_due.into_iter().map(|day| (day, reason.clone())));
            None
        }
    })
}

/// The pages that rest on a day: those that are new, and those that changed.
fn of_day(
    made: &Knowledge,
    day: NaiveDate,
    there: &BTreeSet<PageName>,
    changed: &BTreeSet<PageName>,
) -> (BTreeSet<PageName>, BTreeSet<PageName>) {
    let concepts = made.concepts.iter().map(|concept| (&concept.name, &concept.sources));
    let connections =
        made.connections.iter().map(|connection| (&connection.name, &connection.sources));
    let rests_on = |sources: &[SourceDay]| sources.iter().any(|source| source.day == day);
    let begins = |sources: &[SourceDay]| sources.first().is_some_and(|source| source.day == day);
    let (mut created, mut updated) = (BTreeSet::new(), BTreeSet::new());
    for (name, sources) in concepts
        .chain(connections)
        .filter(|(name, sources)| changed.contains(name) && rests_on(sources))
    {
        let new = !there.contains(name) && begins(sources);
        if new { &mut created } else { &mut updated }.insert(name.clone());
    }
    (created, updated)
}
