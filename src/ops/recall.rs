//! Recall: from a reference or a query straight to the raw part behind it.
//!
//! `SES3_laptop_SP1C2#EP_004`, `SES3_laptop_SP1C2` (its digest), `2` (the best trigger of the last
//! search's second hit), `2#EP_003`, a path within the memory, or any other text, which is searched
//! for. A reference only ever leads into the folder of its session.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::context::note_recall;
use super::named_page::named_page;
use super::search::{self, SearchRequest};
use crate::base::git::LfsPointer;
use crate::base::setters::setters;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::capture::folder;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::digest::{Digest, Origin, SnapshotShape, Trigger};
use crate::model::hit::Hit;
use crate::model::ids::{EpisodeId, SessionId};
use crate::query::Query;
use crate::store::Store;
use crate::store::digest::parse_trigger;
use crate::store::layout;

/// Among how many hits a trigger is looked for that was named word for word.
const HITS: usize = 10;
/// How many sessions are listed that a shortened id may mean.
const MOST_MEANT: usize = 20;
/// With so many tokens left, a line that is longer is begun.
const WORTH_BEGINNING: usize = 16;

/// What to recall.
#[derive(Debug, Clone, Default)]
pub struct RecallRequest {
    /// The reference or query, as typed.
    pub what: String,
    /// The same question in other words, where it is one.
    pub also: Vec<String>,
    /// How many episodes before and after it to add.
    pub around: u32,
    /// Whether to give the original records rather than the readable page.
    pub raw: bool,
    /// At most so many tokens.
    pub budget: Option<usize>,
    /// Whether nothing at all may be written, not even the cache.
    pub dry_run: bool,
}

setters!(RecallRequest {
    what: String,
    also: Vec<String>,
    around: u32,
    raw: bool,
    budget: Option<usize>,
    dry_run: bool,
});

impl RecallRequest {
    /// Recalls a reference (`SES1_desk_SP1C1#EP_002`), a hit of the last search (`1`) or a query.
    pub fn of(what: impl Into<String>) -> RecallRequest {
        RecallRequest::default().what(what)
    }
}

impl From<&Hit> for RecallRequest {
    /// The part behind a hit: what its best trigger points to, or its digest.
    fn from(hit: &Hit) -> RecallRequest {
        let session = &hit.session;
        RecallRequest::of(match hit.triggers.first() {
            Some(trigger) => format!("{session}#{}", trigger.episode),
            None => session.to_string(),
        })
    }
}

/// What was recalled.
#[derive(Debug, Serialize)]
pub struct RecallReport {
    /// The full reference, which recalls the same again.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The session; none where it is a page that is no session's.
    pub session: Option<SessionId>,
    pub episode: Option<String>,
    /// The file that the text is from, relative to the memory.
    pub path: String,
    pub text: String,
    /// Who said what the trigger says, where one is known.
    pub origin: Option<Origin>,
    /// Whether the part itself is no more here, and the text is what the digest still says of it.
    pub evicted: bool,
    /// Whether it was searched for and is only a guess.
    pub weak: bool,
}

/// What a reference means.
#[derive(Debug, PartialEq)]
struct Target {
    session: SessionId,
    part: Part,
    /// Whether it is only a guess.
    weak: bool,
}

/// The part of a session that is meant.
#[derive(Debug, PartialEq)]
enum Part {
    Digest,
    Episode(EpisodeId),
    /// Any other file, by its path within the session's folder.
    File(PathBuf),
}

impl Memory {
    /// Opens the part of the memory that a reference or a query names.
    pub fn recall(&self, request: impl Into<RecallRequest>) -> Result<RecallReport> {
        let (store, request) = (self.store(), &request.into());
        if let Some(page) = self.recalled_page(request)? {
            return Ok(page);
        }
        let Target { session, part, weak } = target(self, request)?;
        if !files::is_dir(store.layout().session(&session)) {
            return Err(Error::not_found(format!("there is no session `{session}`"))
                .hint("`memtree search` finds sessions by their words"));
        }
        // A digest that cannot be parsed hides no episode.
        let digest = store.digest(&session).ok().flatten();
        let parts = SessionParts { store, session, digest };
        let report = match &part {
            Part::Digest if request.raw => parts.raw(None)?,
            Part::Digest => parts.digest_page()?,
            Part::Episode(episode) => parts.episode(*episode, request)?,
            Part::File(within)
                if within.starts_with(layout::from_digest(layout::RAW)) && !request.raw =>
            {
                return Err(Error::usage(format!("`{}` is raw: it is not redacted", request.what))
                    .hint("`memtree recall --raw` shows it; `memtree recall SESSION` its pages"));
            }
            Part::File(within) => parts.file(within)?,
        };
        let text = match request.budget {
            Some(budget) => within_budget(&report.text, budget),
            None => report.text,
        };
        if !request.dry_run {
            note_recall(store, self.now(), &report.reference);
        }
        Ok(RecallReport { text, weak, ..report })
    }

    /// The page that a path names, or a hit of the last search that is no session.
    fn recalled_page(&self, request: &RecallRequest) -> Result<Option<RecallReport>> {
        let (store, what) = (self.store(), request.what.trim());
        let hit = what.parse::<usize>().ok().and_then(|number| {
            let last = search::last_search(store)?;
            last.hits.into_iter().nth(number.checked_sub(1)?)
        });
        let name = match &hit {
            Some(hit) if hit.session.is_none() => hit.path.as_str(),
            _ => what,
        };
        let Some(page) = named_page(store, name)? else { return Ok(None) };
        Ok(Some(RecallReport {
            reference: page.reference,
            session: None,
            episode: None,
            path: page.path,
            text: match request.budget {
                Some(budget) => within_budget(&page.text, budget),
                None => page.text,
            },
            origin: None,
            evicted: false,
            weak: false,
        }))
    }
}

// --- What is meant ---

fn target(memory: &Memory, request: &RecallRequest) -> Result<Target> {
    let store = memory.store();
    let what = request.what.trim();
    if what.is_empty() {
        return Err(Error::usage("there is nothing to recall").hint(
            "name a session (`SES3_laptop_SP1C2#EP_004`), a hit of the last search (`2`), \
                 or say what to find",
        ));
    }
    // Whoever types a path by heart writes `SES3_laptop_SP1C2/EP_004`.
    let by_path = || what.split_once('/').filter(|(_, rest)| rest.parse::<EpisodeId>().is_ok());
    if what.parse::<EpisodeId>().is_ok() {
        // Every session has such a part: whichever was meant, a search would not know.
        return Err(Error::usage(format!("`{what}` is a part of which session?"))
            .because("every session has parts of such names")
            .hint(format!(
                "write `SES3_laptop_SP1C2#{what}`, or `1#{what}` for the last search's first hit"
            )));
    }
    let (name, episode) = match what.split_once('#').or_else(by_path) {
        Some((name, episode)) => (name, Some(episode)),
        None => (what, None),
    };
    let part = |episode: Option<&str>| match episode {
        None => Ok(Part::Digest),
        Some(episode) => episode
            .parse()
            .map(Part::Episode)
            .map_err(|reason| Error::usage(format!("cannot recall `{what}`")).because(reason)),
    };
    if let Ok(session) = name.parse() {
        return Ok(Target { session, part: part(episode)?, weak: false });
    }
    if let Some(sessions) = short_name(store, name) {
        return match sessions.as_slice() {
            [only] => Ok(Target { session: only.clone(), part: part(episode)?, weak: false }),
            several => Err(ambiguous(store, name, several)),
        };
    }
    if looks_like_id(name) {
        // Whoever names a session does not want another one that is somehow like it.
        return Err(Error::not_found(format!("there is no session `{name}`"))
            .because(
                "a session id is like SES3_laptop_SP1C2: \
                 eight sessions make a core, eight cores a sphere",
            )
            .hint("`memtree search` finds sessions by their words"));
    }
    if let Ok(number) = name.parse::<usize>() {
        let (session, best) = numbered(store, number)?;
        let episode = episode.map(str::to_string).or(best);
        return Ok(Target { session, part: part(episode.as_deref())?, weak: false });
    }
    if let Some(target) = from_path(store, what).or_else(|| by_source(store, what)) {
        return Ok(target);
    }
    searched(memory, request, what)
}

/// What a query leads to: the trigger that it is, word for word, or else the best trigger of the
/// best hit.
fn searched(memory: &Memory, request: &RecallRequest, what: &str) -> Result<Target> {
    let store = memory.store();
    let line = parse_trigger(what);
    let topic = match &line {
        Some(trigger) => trigger.topic.as_str(),
        None => what.strip_prefix('[').and_then(|what| what.strip_suffix(']')).unwrap_or(what),
    };
    // What stands in a trigger are words, whatever signs are among them.
    let query = if topic == what { Query::parse(what)? } else { Query::of_words(topic) };
    let search = SearchRequest::default()
        .query(query)
        .also(request.also.clone())
        .limit(HITS)
        .unnumbered(true)
        .dry_run(request.dry_run);
    let answer = memory.search(search)?;
    for hit in &answer.hits {
        let triggers =
            store.digest(&hit.session).ok().flatten().map(|digest| digest.content.triggers);
        let is_it = |trigger: &&Trigger| {
            trigger.topic == topic
                && line.as_ref().is_none_or(|line| line.episode == trigger.episode)
        };
        if let Some(trigger) = triggers.iter().flatten().find(is_it) {
            let part = Part::Episode(trigger.episode);
            return Ok(Target { session: hit.session.clone(), part, weak: false });
        }
    }
    let Some(hit) = answer.hits.into_iter().next() else {
        let error =
            Error::new(format!("nothing in this memory answers `{}`", text::one_line(what, 80)));
        return Err(error.hint("`memtree search` with fewer or other words shows what there is"));
    };
    if hit.weak && names_a_place(what) {
        // Whoever names a place wants what is there, or to know that nothing is.
        return Err(Error::not_found(format!("`{}` names nothing here", text::one_line(what, 80)))
            .hint("`memtree search` finds sessions by their words"));
    }
    let part = hit.triggers.first().map_or(Part::Digest, |trigger| Part::Episode(trigger.episode));
    Ok(Target { session: hit.session, part, weak: hit.weak })
}

/// Whether what was asked for is a path, an address or a reference rather than words.
fn names_a_place(what: &str) -> bool {
    static PLACE: StaticRegex = StaticRegex::new(
        r"^(?:[A-Za-z][\w+.-]*://\S|\.{0,2}/|~/|\S*\.\./|\S+/\S+$|\S*#\S+$|[A-Z]{2,}\d*_\S+$|SES\d+$)",
    );
    PLACE.is_match(what)
}

/// The sessions that a shortened id may mean: `SES1`, `SES1_laptop`.
fn short_name(store: &Store, name: &str) -> Option<Vec<SessionId>> {
    let digits = name.strip_prefix("SES")?;
    digits.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    let begins = |id: &SessionId| {
        id.to_string().strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
    };
    let mut known = store.session_ids().ok()?;
    known.retain(begins);
    (!known.is_empty()).then_some(known)
}

/// The error that lists what a shortened id may mean.
fn ambiguous(store: &Store, name: &str, sessions: &[SessionId]) -> Error {
    let line = |session: &SessionId| {
        let digest = store.digest(session).ok().flatten();
        let title = digest.map(|digest| digest.content.title).unwrap_or_default();
        format!("{session}: {}", text::one_line(&title, 80))
    };
    let mut lines: Vec<String> = sessions.iter().take(MOST_MEANT).map(line).collect();
    if sessions.len() > MOST_MEANT {
        lines.push(format!("and {} more", sessions.len() - MOST_MEANT));
    }
    Error::usage(format!("`{name}` may mean {} sessions", sessions.len()))
        .because(lines.join("\n"))
        .hint(format!("name one in full: `memtree recall {}`", sessions[0]))
}

/// Tells what is meant as the id of a session, right or wrong.
fn looks_like_id(name: &str) -> bool {
    let rest = name.strip_prefix("SES").or_else(|| name.strip_prefix("ses"));
    let place = rest.and_then(|rest| rest.strip_prefix(|first: char| first.is_ascii_digit()));
    place.is_some_and(|rest| rest.contains('_') && !rest.contains(char::is_whitespace))
}

/// The session that a reference names: its id, a hit of the last search, or a path within the
/// memory.
pub fn session_named(store: &Store, what: &str) -> Result<SessionId> {
    let what = what.trim();
    let name = what.split('#').next().unwrap_or(what);
    if let Ok(session) = name.parse() {
        return Ok(session);
    }
    if let Ok(number) = name.parse::<usize>() {
        return numbered(store, number).map(|(session, _)| session);
    }
    from_path(store, what).map(|target| target.session).ok_or_else(|| {
        Error::not_found(format!("`{}` names no session", text::one_line(what, 80))).hint(
            "name it by its id (`SES3_laptop_SP1C2`), by its number in the last search, \
                 or by its path",
        )
    })
}

/// A hit of the last search: its session and the episode of its best trigger.
fn numbered(store: &Store, number: usize) -> Result<(SessionId, Option<String>)> {
    let last = search::last_search(store).ok_or_else(|| {
        Error::usage(format!("there was no search whose hit {number} could be meant"))
            .hint("search first")
    })?;
    let count = last.hits.len();
    match last.hits.into_iter().nth(number.wrapping_sub(1)) {
        Some(hit) => {
            let episode = hit.episodes.into_iter().next();
            let page = || {
                let path = store.layout().root().join(&hit.path);
                Error::usage(format!(
                    "hit {number} is the page `{}`, with nothing behind it",
                    hit.path
                ))
                .hint(format!("read it as it is: {}", path.display()))
            };
            Ok((hit.session.ok_or_else(page)?, episode))
        }
        None => Err(Error::usage(format!("the last search has no hit {number}"))
            .because(format!("it found {count}"))),
    }
}

/// The session that an agent knows by an id of its own, as `source_id` has it: `claude:0b9c…`.
fn by_source(store: &Store, what: &str) -> Option<Target> {
    let (flavor, id) = what.split_once(':')?;
    if flavor.is_empty() || id.is_empty() || what.contains(char::is_whitespace) {
        return None;
    }
    let mut ids = store.session_ids().ok()?.into_iter();
    let is_it = |id: &SessionId| {
        store.digest(id).ok().flatten().is_some_and(|digest| digest.source_id == what)
    };
    ids.find(is_it).map(|session| Target { session, part: Part::Digest, weak: false })
}

/// A path within the memory, as search and digests show it, or as the shell completes it.
fn from_path(store: &Store, what: &str) -> Option<Target> {
    let layout = store.layout();
    let path = Path::new(what);
    let relative = files::safe_relative(path.strip_prefix(layout.root()).unwrap_or(path))?;
    let within_sessions = layout.root().join(relative);
    let below = within_sessions.strip_prefix(layout.sessions()).ok()?;
    let session: SessionId = below.iter().next()?.to_str()?.parse().ok()?;
    let within = within_sessions.strip_prefix(layout.session(&session)).ok()?;
    let part = if within.as_os_str().is_empty() || within_sessions == layout.digest(&session) {
        Part::Digest
    } else {
        let episode = within.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        match episode.filter(|id| within == Path::new(&layout::from_digest(&layout::episode(*id))))
        {
            Some(episode) => Part::Episode(episode),
            None => Part::File(within.to_path_buf()),
        }
    };
    Some(Target { session, part, weak: false })
}

// --- What it says ---

/// A session, of which parts are read.
struct SessionParts<'m> {
    store: &'m Store,
    session: SessionId,
    digest: Option<Digest>,
}

impl SessionParts<'_> {
    fn report(&self, episode: Option<EpisodeId>, path: &Path, text: String) -> RecallReport {
        let session = &self.session;
        let trigger = self.triggers().iter().find(|trigger| Some(trigger.episode) == episode);
        RecallReport {
            reference: match episode {
                Some(episode) => format!("{session}#{episode}"),
                None => session.to_string(),
            },
            session: Some(session.clone()),
            episode: episode.map(|episode| episode.to_string()),
            path: self.shown(path),
            text,
            origin: trigger.map(|trigger| trigger.origin),
            evicted: false,
            weak: false,
        }
    }

    fn digest_page(&self) -> Result<RecallReport> {
        let path = self.store.layout().digest(&self.session);
        let text = self.read(&path)?.ok_or_else(|| {
            Error::not_found(format!("`{}` has no digest yet", self.session))
                .hint("`memtree sweep` writes it")
        })?;
        Ok(self.report(None, &path, text))
    }

    fn file(&self, within: &Path) -> Result<RecallReport> {
        let path = self.store.layout().session(&self.session).join(within);
        let shown = self.shown(&path);
        let text = self.read(&path)?.ok_or_else(|| {
            let error = Error::not_found(format!("there is no `{shown}`"));
            let error = match self.lacks(within) {
                true => error.because(format!("it is {}", self.absence().1)),
                false => error,
            };
            error.hint(format!("`memtree recall {}` shows its digest", self.session))
        })?;
        Ok(RecallReport { reference: shown, ..self.report(None, &path, text) })
    }

    fn episode(&self, episode: EpisodeId, request: &RecallRequest) -> Result<RecallReport> {
        let path = self.episode_path(episode);
        let Some(page) = self.read(&path)? else { return self.remains(episode) };
        if request.raw {
            return self.raw(Some(episode));
        }
        let mut pages = Vec::new();
        for number in
            episode.0.saturating_sub(request.around)..=episode.0.saturating_add(request.around)
        {
            if number == episode.0 {
                pages.push(page.clone());
                continue;
            }
            match self.read(&self.episode_path(EpisodeId(number)))? {
                Some(page) => pages.push(page),
                // There is nothing beyond the last.
                None if number > episode.0 => break,
                None => {}
            }
        }
        let mut text = pages.join("\n");
        let long = layout::sensory(episode);
        if page.contains(&format!("]({}", layout::from_episode_to_sensory(episode)))
            && self.lacks(Path::new(&layout::from_digest(&long)))
        {
            let why = self.absence().1;
            text += &format!("\n(The long outputs, `{long}`, are {why}.)\n");
        }
        Ok(self.report(Some(episode), &path, text))
    }

    /// Whether a file of the snapshot is not here because none of its kind is: another device has
    /// it, or it was evicted.
    fn lacks(&self, within: &Path) -> bool {
        let session = self.store.layout().session(&self.session);
        let snapshot = self.store.layout().snapshot(&self.session);
        let kept = if self.is_folder() { snapshot.clone() } else { snapshot.join(layout::RAW) };
        let path = session.join(within);
        path.starts_with(&snapshot) && !files::exists(&path) && !files::is_dir(kept)
    }

    /// Where an episode's page is: where its trigger says, else at its usual place.
    fn episode_path(&self, episode: EpisodeId) -> PathBuf {
        let layout = self.store.layout();
        let own = layout.session(&self.session);
        let trigger = self.triggers().iter().find(|trigger| trigger.episode == episode);
        let linked = trigger.and_then(|trigger| files::safe_relative(trigger.path.as_ref()));
        // A file whose name may not be shown is linked to by its folder.
        if let Some(linked) = linked.map(|linked| own.join(linked)).filter(|it| !files::is_dir(it))
        {
            return linked;
        }
        // The parts of a folder are files of any name.
        let part = if self.is_folder() {
            folder::part(&layout.snapshot(&self.session), episode)
        } else {
            None
        };
        part.unwrap_or_else(|| own.join(layout::from_digest(&layout::episode(episode))))
    }

    /// What the digest still says of an episode that is no more here.
    fn remains(&self, episode: EpisodeId) -> Result<RecallReport> {
        let session = &self.session;
        let path = self.store.layout().digest(session);
        let shown = self.shown(&path);
        let missing = || Error::not_found(format!("`{session}` has no episode {episode}"));
        let digest = self.digest.as_ref().ok_or_else(|| {
            missing().because(format!("neither it nor the digest `{shown}` can be read"))
        })?;
        let content = &digest.content;
        if let Some((first, last)) = content.episodes
            && !(first..=last).contains(&episode)
        {
            return Err(missing().because(format!("it has {first} - {last}")));
        }
        let here = files::is_dir(self.store.layout().snapshot(session).join(layout::EPISODIC));
        if here && digest.snapshot.evicted.is_none() && !self.is_folder() {
            return Err(missing().because("its snapshot is here, and has no such part"));
        }
        let (_, why) = self.absence();
        let mut text = format!(
            "{session}#{episode} is {why}.\nWhat remains is its digest, `{shown}`:\n\n{}\n",
            content.title
        );
        let own: Vec<&Trigger> =
            content.triggers.iter().filter(|trigger| trigger.episode == episode).collect();
        // A trigger may stand for several episodes around it; then the nearest is about this one.
        let nearest =
            content.triggers.iter().min_by_key(|trigger| trigger.episode.0.abs_diff(episode.0));
        for trigger in own.iter().copied().chain(nearest.filter(|_| own.is_empty())) {
            let Trigger { topic, sentence, origin, keys, .. } = trigger;
            text += &format!("- [{topic}] {sentence} ({origin}; keys: {})\n", keys.join(", "));
        }
        for outcome in &content.key_outcomes {
            text += &format!("- outcome: {outcome}\n");
        }
        Ok(RecallReport { evicted: true, ..self.report(Some(episode), &path, text) })
    }

    /// Why something of the snapshot is no more here, with the verb for several things.
    fn absence(&self) -> (&'static str, String) {
        match self.digest.as_ref().and_then(|digest| digest.snapshot.evicted.as_ref()) {
            Some(day) => ("were", format!("evicted on {day}, to stay within the storage budget")),
            None => {
                let device = &self.session.device;
                let why = "not on this device: snapshots stay where they were made";
                ("are", format!("{why}, on `{device}`"))
            }
        }
    }

    fn triggers(&self) -> &[Trigger] {
        self.digest.as_ref().map_or(&[], |digest| &digest.content.triggers)
    }

    /// Whether it is the snapshot of a folder.
    fn is_folder(&self) -> bool {
        self.digest.as_ref().is_some_and(|digest| digest.content.shape() == SnapshotShape::Folder)
    }

    fn shown(&self, path: &Path) -> String {
        self.store.layout().shown(path)
    }

    /// Reads a file of the session; `None` where there is none, an error where a link leads to it.
    fn read(&self, path: &Path) -> Result<Option<String>> {
        let cannot = || format!("cannot read `{}`", self.shown(path));
        match files::read(path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(err)
                if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(err) if files::is_link_error(&err) => {
                Err(Error::new(format!("will not read `{}`", self.shown(path))).because(err))
            }
            Err(err) => Err(err).context(cannot),
        }
    }
}

// --- The original records ---

impl SessionParts<'_> {
    /// The records that an episode was made from, or all of a session's; what is no more here is
    /// said.
    fn raw(&self, episode: Option<EpisodeId>) -> Result<RecallReport> {
        let page = match episode {
            Some(episode) => self.episode_path(episode),
            None => self.store.layout().digest(&self.session),
        };
        if episode.is_some() && self.is_folder() {
            // Such a snapshot is raw throughout.
            let text = self.read(&page)?.unwrap_or_default();
            return Ok(self.report(episode, &page, text));
        }
        let Some(path) = self.main_log() else {
            let (verb, why) = self.absence();
            let shown = self.shown(&page);
            let text = format!(
                "The original records {verb} {why}. What remains is `{shown}`:\n\n{}",
                self.read(&page)?.unwrap_or_default()
            );
            return Ok(RecallReport { evicted: true, ..self.report(episode, &page, text) });
        };
        let (first, last) = match episode {
            None => (1, u64::MAX),
            Some(episode) => self.line_span(episode)?.ok_or_else(|| {
                Error::new(format!("the page of {episode} names no lines of the raw log"))
                    .hint(format!("the whole log is `{}`", self.shown(&path)))
            })?,
        };
        let mut text = self.lines_of(&path, first, last)?;
        if episode.is_some() {
            text += &self.subagents_records(&self.read(&page)?.unwrap_or_default())?;
        }
        Ok(self.report(episode, &path, text))
    }

    /// The first and the last line of the main log that an episode was made from.
    fn line_span(&self, episode: EpisodeId) -> Result<Option<(u64, u64)>> {
        let lines = |episode| -> Result<Vec<u64>> {
            Ok(lines_named(&self.read(&self.episode_path(episode))?.unwrap_or_default()))
        };
        let own = lines(episode)?;
        let (Some(first), Some(last)) = (own.iter().min().copied(), own.iter().max().copied())
        else {
            return Ok(None);
        };
        // Answers to the last calls stand between its last step and the next prompt.
        let next = lines(EpisodeId(episode.0.saturating_add(1)))?.into_iter().min();
        Ok(Some((first, next.filter(|next| *next > last).map_or(last, |next| next - 1))))
    }

    /// The records of the subagents that a page names, each below the name of its file.
    fn subagents_records(&self, page: &str) -> Result<String> {
        let spans = subagents_named(page);
        let mut text = String::new();
        if spans.is_empty() {
            return Ok(text);
        }
        let mut logs: Vec<PathBuf> = self.raw_files().map(|(_, path)| path).collect();
        logs.retain(|log| log.extension().is_some_and(|end| end == "jsonl"));
        logs.sort();
        for (agent, (first, last)) in spans {
            // Files are named after the subagents whose they are; what says nothing of one is not
            // its log.
            let is_its = |log: &&PathBuf| {
                let stem = log.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let before = stem.strip_suffix(agent.as_str());
                before.is_some_and(|start| start.is_empty() || start.ends_with(['-', '_', '.']))
            };
            for log in logs.iter().filter(is_its) {
                let records = self.lines_of(log, first, last)?;
                let shown = self.shown(log);
                text += &format!("==> {shown}, lines {first}-{last} <==\n{records}");
            }
        }
        Ok(text)
    }

    /// The session's own log among its raw files: the one named after it, else the first that is no
    /// subagent's.
    fn main_log(&self) -> Option<PathBuf> {
        let digest = self.digest.as_ref();
        let native = digest.and_then(|digest| Some(digest.source_id.split_once(':')?.1));
        let order = |(depth, path): (usize, PathBuf)| {
            let named = native.is_some_and(|native| path.file_stem() == Some(native.as_ref()));
            (!named, depth, path)
        };
        self.raw_files().map(order).min().map(|(_, _, path)| path)
    }

    /// The raw files, each with how deep it lies.
    fn raw_files(&self) -> impl Iterator<Item = (usize, PathBuf)> {
        let folder = self.store.layout().snapshot(&self.session).join(layout::RAW);
        let files = files::walk_files(&folder)
            .flatten()
            .filter(|found| found.link.is_none() && found.relative != Path::new(layout::GITIGNORE));
        files.map(|found| (found.relative.components().count(), found.path))
    }

    /// The lines of a file from one to another, both counted from 1.
    fn lines_of(&self, path: &Path, first: u64, last: u64) -> Result<String> {
        let cannot = || format!("cannot read `{}`", self.shown(path));
        if LfsPointer::at(path).is_some() {
            return Err(Error::new(cannot())
                .because("it is with Git LFS, and not here")
                .hint("`git lfs pull` in the memory fetches it"));
        }
        let mut reader = BufReader::new(files::open(path).context(cannot)?);
        let (mut text, mut line) = (String::new(), Vec::new());
        for number in 1..=last {
            line.clear();
            if reader.read_until(b'\n', &mut line).context(cannot)? == 0 {
                break;
            }
            if number >= first {
                text.push_str(&String::from_utf8_lossy(&line));
            }
        }
        Ok(text)
    }
}

/// The subagents of a page, with the first and the last line of their own logs that it names.
fn subagents_named(page: &str) -> BTreeMap<String, (u64, u64)> {
    let mut spans: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in page.lines() {
        let said = line.strip_prefix("**Subagent ").and_then(|rest| rest.split_once("**"));
        let did = line.strip_prefix("- [").and_then(|rest| rest.split_once(']'));
        let number = line.rsplit_once("line ").and_then(|(_, number)| number.parse::<u64>().ok());
        if let (Some((agent, _)), Some(number)) = (said.or(did), number) {
            let span = spans.entry(agent.to_string()).or_insert((number, number));
            *span = (span.0.min(number), span.1.max(number));
        }
    }
    spans
}

/// The lines of the main log that a page names: `· line 12` at the end of its marks, subagents'
/// aside.
pub(super) fn lines_named(page: &str) -> Vec<u64> {
    page.lines()
        .filter(|line| line.starts_with("**") || line.starts_with("- "))
        .filter(|line| !line.starts_with("**Subagent ") && !line.starts_with("- ["))
        .filter_map(|line| line.rsplit_once("line ").and_then(|(_, number)| number.parse().ok()))
        .collect()
}

// --- Within a budget ---

/// A text cut at a line's end to so many tokens, with a note of how much was left out.
fn within_budget(text: &str, budget: usize) -> String {
    if text::tokens(text) <= budget {
        return text.to_string();
    }
    // The note itself needs some.
    let usable = budget.saturating_sub(24);
    let (mut kept, mut used) = (0, 0);
    let mut begun = String::new();
    for line in text.split_inclusive('\n') {
        let tokens = text::tokens(line);
        if used + tokens > usable {
            // A long line, such as a prompt, is better begun than left out.
            if usable - used >= WORTH_BEGINNING {
                let chars = line.chars().count() * (usable - used - 1) / tokens;
                begun = format!("{}\n", text::one_line(line, chars));
            }
            break;
        }
        used += tokens;
        kept += line.len();
    }
    let rest = &text[kept..];
    let note = format!(
        "[… {} lines left out, about {} tokens]\n",
        rest.lines().count(),
        text::tokens(rest)
    );
    format!("{}{begun}{note}", &text[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_cuts_at_a_line_and_says_so() {
        let text: String = (0..500).map(|n| format!("line {n} of the page\n")).collect();
        let short = within_budget(&text, 100);
        assert!(text::tokens(&short) <= 100, "{}", text::tokens(&short));
        assert!(
            short.starts_with("line 0 of the page\n") && short.contains("lines left out"),
            "{short}"
        );
        assert_eq!(within_budget("short", 100), "short");
        let prompt = format!("# EP_001\n> {}\n", "a long prompt ".repeat(200));
        let short = within_budget(&prompt, 100);
        assert!(
            short.matches("a long prompt").count() > 5 && text::tokens(&short) <= 100,
            "{short}"
        );
        assert!(within_budget(&text, 0).starts_with("[… 500 lines"));
    }

    #[test]
    fn a_path_or_a_reference_is_told_from_words() {
        for place in [
            "../../etc/passwd",
            "/etc/passwd",
            "~/notes.md",
            "src/lock.rs",
            "memtree://session/x",
            "core/MEMORY.md#top",
            "CORE_laptop_SP1C2",
        ] {
            assert!(names_a_place(place), "{place}");
        }
        for words in [
            "quasar telescope zebra migration",
            "read/write locks of the day log",
            "EWOULDBLOCK: lock is held",
            "why #12 failed",
            "the day log",
        ] {
            assert!(!names_a_place(words), "{words}");
        }
    }

    #[test]
    fn the_lines_of_a_page_are_found() {
        let page = "# EP_001 · x\n\n**Prompt** · 2026-11-15T13:40:10Z · line 4\n> a quote · line 99\n\n- `$ ls` → ok · line 7\n\
            **Subagent a** · 10:00:00 · line 1\n- [a] `$ x` → ok · line 2\n**Agent** · 10:00:00 · inherited, line 9\n";
        assert_eq!(lines_named(page), [4, 7, 9]);
        assert_eq!(subagents_named(page), BTreeMap::from([("a".to_string(), (1, 2))]));
    }

    #[test]
    fn paths_lead_into_sessions_only() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let target = |what: &str| from_path(&store, what);
        let id: SessionId = "SES3_laptop_SP1C2".parse().unwrap();
        let part = |what: &str| target(what).map(|target| target.part);
        assert_eq!(
            part("sessions/SES3_laptop_SP1C2/SES3_laptop_SP1C2_DIGEST.md"),
            Some(Part::Digest)
        );
        assert_eq!(
            part("sessions/SES3_laptop_SP1C2/snapshot/episodic/EP_004.md"),
            Some(Part::Episode(EpisodeId(4)))
        );
        assert_eq!(
            part("sessions/SES3_laptop_SP1C2/snapshot/state/vitals.yaml"),
            Some(Part::File("snapshot/state/vitals.yaml".into()))
        );
        let absolute = store.layout().digest(&id);
        assert_eq!(part(absolute.to_str().unwrap()), Some(Part::Digest));
        for outside in [
            "sessions/SES3_laptop_SP1C2/../../memtree.toml",
            "../x",
            "/etc/passwd",
            "memtree.toml",
            "sessions/x/y",
        ] {
            assert_eq!(target(outside), None, "{outside}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_session_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let id: SessionId = "SES3_laptop_SP1C2".parse().unwrap();
        let episodes = store.layout().snapshot(&id).join("episodic");
        std::fs::create_dir_all(&episodes).unwrap();
        std::os::unix::fs::symlink(store.layout().settings(), episodes.join("EP_001.md")).unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        let recall = |what: &str| memory.recall(RecallRequest::of(what));
        let error = recall("SES3_laptop_SP1C2#EP_001").unwrap_err();
        assert!(error.causes()[0].contains("link"), "{error}");
        assert!(recall("SES3_laptop_SP1C2#../x").is_err());
        assert!(recall("SES9_laptop_SP9C9#EP_001").is_err());
        assert!(recall("1").is_err());
    }
}
