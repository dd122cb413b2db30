//! A folder as a source: all of it is copied, in its own shape, hashed, and digested.
//!
//! A folder has no log to grow, so each state of it is a session of its own: the same content is
//! never copied twice, and a changed folder does not overwrite what was kept of it before. Its
//! episodes are its parts (`episodic/`); where it has none, its files are. One that a person's own
//! settings name is kept when it has changed and then lain still; that is judged by the dates of
//! its files and folders against the clock handed in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use chrono::Duration;
use gray_matter::Matter;
use serde::{Deserialize, Serialize};

use super::commit;
use super::known::Known;
use super::sources::unreadable;
use super::stage::{self, Draft, SNAPSHOT, StagedSession};
use super::{CaptureSettings, PageSettings};
use crate::base::clock::{self, Timestamp};
use crate::base::files::{self, FoundFile, Stamp};
use crate::base::text;
use crate::distill::agent_state::{self, AgentState};
use crate::distill::digest::{self, FileFacts, FolderFacts, SnapshotParts};
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::folder_turns;
use crate::distill::steps::{Step, StepKind};
use crate::error::{Context, Result};
use crate::model::digest::{Content, FOLDER, Outcome, SnapshotShape};
use crate::model::exclude::Exclude;
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::session::{Position, Skipped, Source};
use crate::store::layout;
use crate::store::layout::Layout;
use crate::store::local::StateFile;
use crate::store::snapshots::SnapshotWriter;
use crate::store::tombstones::Tombstones;

/// A folder that is kept whenever it has changed and lain still.
#[derive(Debug, Clone)]
pub struct Folder {
    pub path: PathBuf,
    /// What it is about, in the person's words.
    pub objective: Option<String>,
    /// It is kept when nothing in it has changed for this long.
    pub idle: Duration,
}

/// What a person says of a folder.
#[derive(Debug, Clone, Default)]
pub struct FolderNotes {
    pub objective: Option<String>,
    pub motto: Option<String>,
    pub status: Option<Outcome>,
}

/// What became of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FolderReport {
    pub path: PathBuf,
    pub status: FolderStatus,
    /// The session that holds it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it will have lain still for long enough.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "stamped")]
    pub due: Option<Timestamp>,
    /// Why nothing can come of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FolderStatus {
    /// It is a session now.
    Kept,
    /// It is to be one.
    Planned,
    /// A session holds it as it is, or it was forgotten as it is.
    Unchanged,
    /// It changed just now.
    Waiting,
    /// There is nothing to keep.
    Missing,
}

/// The files of a folder as they are now.
pub struct Listing {
    folder: PathBuf,
    files: Vec<FoundFile>,
    /// Links, and what cannot be looked at.
    pub skipped: Vec<Skipped>,
    /// How it looks, as one hash.
    looks: String,
}

/// A time that lies farther ahead than this comes from a clock that was wrong, and holds nobody up.
const FARTHEST_AHEAD: Duration = Duration::days(1);
/// A file with state values is no bigger than this.
const MOST_STATE: u64 = 1 << 20;
/// How much of a file is read for its words.
const READ_FOR_WORDS: u64 = 16 << 10;

/// Says what is to be done about a folder that the settings name, with its files where it is to be
/// kept.
pub fn plan(settings: &CaptureSettings<'_>, folder: &Folder) -> (FolderReport, Option<Listing>) {
    let report = |status| FolderReport {
        path: folder.path.clone(),
        status,
        session: None,
        due: None,
        warning: None,
    };
    let missing = |why: &str| {
        let warning = Some(why.to_string());
        (FolderReport { warning, ..report(FolderStatus::Missing) }, None)
    };
    if !folder.path.is_absolute() {
        return missing("its path has to begin with `/` or `~/`");
    }
    let Ok(path) = fs::canonicalize(&folder.path) else {
        return missing("there is no such folder");
    };
    if !files::is_dir(&path) {
        return missing("it is no folder");
    }
    let exclude = &settings.pages.exclude;
    if let Some(setting) = left_out_by(exclude, &path) {
        return missing(&format!("it is left out by the setting `{setting}`"));
    }
    let listing = Listing::of(path, settings.store.layout().root(), exclude);
    if listing.files.is_empty() {
        return missing("it holds no file");
    }
    if let Some(session) = listing.known(settings.store.layout()) {
        return (FolderReport { session, ..report(FolderStatus::Unchanged) }, None);
    }
    let due = listing.last_change(settings.now).map(|at| at + folder.idle);
    if let Some(due) = due.filter(|due| *due > settings.now) {
        return (FolderReport { due: Some(due), ..report(FolderStatus::Waiting) }, None);
    }
    (report(FolderStatus::Planned), Some(listing))
}

/// The setting by which a folder is never kept.
pub fn left_out_by(exclude: &Exclude, folder: &Path) -> Option<&'static str> {
    let cwd = folder.to_string_lossy();
    let is_excluded =
        exclude.has_session(digest::project_name(None, Some(&cwd)).as_deref(), Some(&cwd));
    is_excluded
        .then(|| if exclude.has_path(folder) { "exclude.folders" } else { "exclude.projects" })
}

/// Makes a session of a folder, unless one holds it already, or just this was forgotten; returns
/// the session that holds it, and whether that is new. Only for whoever holds the sweep's lock.
pub fn keep(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    tombstones: &Tombstones,
    listing: &mut Listing,
    notes: &FolderNotes,
) -> Result<(Option<SessionId>, bool)> {
    let layout = settings.store.layout();
    let cannot = || settings.store.cannot_write();
    let staged = stage(settings, listing, notes)?;
    let source_id = staged.source.source_id();
    let before = known.session(&source_id).map(|known| known.id.clone());
    let is_new = before.is_none() && !tombstones.has_source(&source_id);
    let session = if is_new {
        let captured = commit::commit_all(settings, known, vec![staged], |_, _| {})?;
        captured.into_iter().next().map(|captured| captured.session)
    } else {
        // Only its dates changed, or somebody wanted this to be gone.
        files::remove_folder(&staged.folder).context(cannot)?;
        before
    };
    let memo = FolderMemo { session: session.clone(), looks: listing.looks.clone() };
    FolderMemo::file(layout, &listing.folder).save(&memo).context(cannot)?;
    Ok((session, is_new))
}

/// Copies a folder and notes what its digest will say. What cannot be read is named in the
/// listing.
fn stage(
    settings: &CaptureSettings<'_>,
    listing: &mut Listing,
    notes: &FolderNotes,
) -> Result<StagedSession> {
    let pages = &settings.pages;
    let layout = settings.store.layout();
    let cannot = || settings.store.cannot_write();
    let staged = layout.staging().join(format!("folder-{}", key(&listing.folder)));
    files::remove_folder(&staged).context(cannot)?;
    let mut writer = SnapshotWriter::create(&staged.join(SNAPSHOT)).context(cannot)?;
    let mut facts = Facts::default();
    let mut links: BTreeMap<u32, String> = BTreeMap::new();
    let numbers = part_numbers(&listing.files);
    let (mut state, mut beside) = (None, Vec::new());
    let has_episodes = listing.files.iter().any(is_episode);
    for (file, number) in listing.files.iter().zip(numbers) {
        let name = snapshot_name(&file.relative);
        let copy = match (writer.copy(&file.path, &name), files::open(&file.path)) {
            (Ok(copy), _) => copy,
            // Gone since we looked, or not ours to read: the others still are.
            (Err(_), Err(reason)) => {
                listing.skipped.push(unreadable(&file.path, reason.to_string()));
                continue;
            }
            (Err(err), Ok(_)) => {
                return Err(err).context(|| format!("cannot copy `{}`", file.path.display()));
            }
        };
        if state.is_none() && holds_state(file) {
            state = files::read_to_string(&copy).ok().and_then(|text| agent_state::state_in(&text));
        }
        let Some(number) = number else { continue };
        links.insert(number, link_to(pages, &name));
        let (title, words) = read_for_words(&copy, &file.relative);
        let (title, words) = (pages.cleaner.string(title), pages.cleaner.string(words));
        if is_beside(file) && has_episodes {
            beside.push(FileFacts { number, name: title, text: words });
        } else if !(is_episode(file) && take_turns(&mut facts, number, &copy, pages)) {
            facts.parts.push(EpisodeFacts::of_text(number, &title, &words));
        }
        facts.merge_when_many();
    }
    let snapshot = stage::finish_snapshot(writer, SnapshotShape::Folder, pages).context(cannot)?;
    let name = text::slug(&folder_name(&listing.folder), 40);
    let native_id = format!("{name}-{}", &snapshot.manifest_sha256[..12]);
    facts.finish();
    let known = KnownOfFolder { facts, links, state, beside };
    let content = content(pages, listing, notes, known);
    let ended = content.ended;
    // Nobody spoke in it, so it has no lines for the days.
    stage::create_day_lines(&staged).context(cannot)?;
    Draft { content, snapshot, ended: true }.write(&staged).context(cannot)?;
    let source = Source { flavor: FOLDER, native_id, files: Vec::new(), origin: None };
    Ok(StagedSession {
        source,
        folder: staged,
        ended,
        skipped: Vec::new(),
        skipped_total: 0,
        redactions: 0,
        as_new: false,
    })
}

impl Listing {
    /// Lists the files of a folder; links are not followed, and the memory itself and what is
    /// excluded are left out.
    pub fn of(folder: PathBuf, memory: &Path, exclude: &Exclude) -> Listing {
        let memory = fs::canonicalize(memory).unwrap_or_else(|_| memory.to_path_buf());
        let (mut found, mut skipped) = (Vec::new(), Vec::new());
        for item in files::walk_files(&folder) {
            match item {
                Err(trouble) => skipped.push(unreadable(trouble.path, trouble.reason)),
                Ok(file) if file.path.starts_with(&memory) => {}
                Ok(file) => match &file.link {
                    Some(target) => {
                        let to = target.display();
                        let reason = format!("a link to `{to}`, which is not followed");
                        skipped.push(unreadable(file.path, reason));
                    }
                    None if exclude.has_path(&file.path) => {}
                    None => found.push(file),
                },
            }
        }
        Listing { looks: looks(&found), folder, files: found, skipped }
    }

    /// How many files there are.
    pub fn count(&self) -> u64 {
        self.files.len() as u64
    }

    /// How many bytes they have.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.metadata.len()).sum()
    }

    /// What became of the folder where it looks as it did when it was last kept: the session that
    /// holds it, or none where it was forgotten.
    pub fn known(&self, layout: &Layout) -> Option<Option<SessionId>> {
        let memo = FolderMemo::file(layout, &self.folder).read();
        let memo = memo.filter(|memo| memo.looks == self.looks)?;
        let is_there = |session: &SessionId| files::is_file(layout.digest(session));
        memo.session.as_ref().is_none_or(is_there).then_some(memo.session)
    }

    /// When something last changed. A file that went shows in the date of the folder in which it
    /// lay.
    fn last_change(&self, now: Timestamp) -> Option<Timestamp> {
        let of_files = self.files.iter().filter_map(|file| file.metadata.modified().ok());
        let folders: BTreeSet<&Path> = self
            .files
            .iter()
            .flat_map(|file| {
                file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.folder))
            })
            .collect();
        let of_folders =
            folders.into_iter().filter_map(|folder| files::metadata(folder).ok()?.modified().ok());
        of_files
            .chain(of_folders)
            .map(Timestamp::from)
            .filter(|at| *at <= now + FARTHEST_AHEAD)
            .max()
    }
}

/// The file that is a given part of a folder's snapshot.
pub fn part(snapshot: &Path, episode: EpisodeId) -> Option<PathBuf> {
    let mut found: Vec<FoundFile> = files::walk_files(snapshot).flatten().collect();
    found.retain(|file| file.relative != Path::new(layout::MANIFEST));
    let numbers = part_numbers(&found);
    let at = numbers.iter().position(|number| *number == Some(episode.0))?;
    Some(found.swap_remove(at).path)
}

/// What was said in the episodes of a folder's snapshot, clean, as a model is shown it.
pub fn conversations(snapshot: &Path, pages: &PageSettings<'_>) -> Vec<(EpisodeId, String)> {
    let mut found: Vec<FoundFile> = files::walk_files(snapshot).flatten().collect();
    found.retain(|file| file.relative != Path::new(layout::MANIFEST));
    let numbers = part_numbers(&found);
    let numbered = found.iter().zip(numbers).filter_map(|(file, number)| Some((file, number?)));
    let mut said: Vec<(EpisodeId, String)> = numbered
        .filter_map(|(file, number)| {
            let turns = folder_turns::turns(&read_whole(&file.path)?);
            let turn = |turn: &folder_turns::Turn| {
                let who = if turn.by_person { "User" } else { "Assistant" };
                format!("**{who}:** {}", turn.text.trim())
            };
            let text = turns.iter().map(turn).collect::<Vec<_>>().join("\n\n");
            (!text.is_empty()).then(|| (EpisodeId(number), pages.cleaner.string(text)))
        })
        .collect();
    said.sort_by_key(|(id, _)| *id);
    said
}

/// Which files are parts, and their numbers: the episodes where there are any, and after them what
/// lies beside them; else all files.
fn part_numbers(found: &[FoundFile]) -> Vec<Option<u32>> {
    let has_episodes = found.iter().any(is_episode);
    let mut last = 0;
    let mut numbers: Vec<Option<u32>> = Vec::with_capacity(found.len());
    for file in found {
        numbers.push((has_episodes == is_episode(file)).then(|| {
            last = episode_number(file).filter(|number| *number > last).unwrap_or(last + 1);
            last
        }));
    }
    let beside = numbers.iter_mut().zip(found);
    for (number, _) in beside.filter(|(number, file)| number.is_none() && is_beside(file)) {
        last += 1;
        *number = Some(last);
    }
    numbers
}

/// What a file is called in the snapshot: as it is, but for a manifest of its own, and names that
/// are not UTF-8.
fn snapshot_name(relative: &Path) -> String {
    let parts = relative.components().map(|part| match part.as_os_str().to_str() {
        Some(name) => name.to_string(),
        // The hash tells apart what looks the same once it can be written.
        None => {
            let name = part.as_os_str();
            format!(
                "{}-{}",
                name.to_string_lossy(),
                &files::sha256_hex(name.as_encoded_bytes())[..8]
            )
        }
    });
    let name = parts.collect::<Vec<_>>().join("/");
    if name.starts_with(layout::MANIFEST) { format!("{name}.source") } else { name }
}

fn is_episode(file: &FoundFile) -> bool {
    file.relative.components().rev().skip(1).any(|part| part.as_os_str() == "episodic")
}

/// The number in a name such as `EVA_EP12.json`.
fn episode_number(file: &FoundFile) -> Option<u32> {
    let stem = file.relative.file_stem()?.to_str()?;
    let (_, digits) = stem.rsplit_once("EP")?;
    digits.trim_start_matches('_').parse().ok()
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "folder".into(), |name| name.to_string_lossy().into_owned())
}

/// The title of a file and the beginning of its text; a file that is no text has only its name.
fn read_for_words(path: &Path, relative: &Path) -> (String, String) {
    let name = relative.to_string_lossy().into_owned();
    let mut bytes = Vec::new();
    let read = files::open(path).and_then(|file| file.take(READ_FOR_WORDS).read_to_end(&mut bytes));
    if read.is_err() || bytes.contains(&0) {
        return (name, String::new());
    }
    let whole = String::from_utf8_lossy(&bytes).into_owned();
    if !name.ends_with(".md") {
        return (name, whole);
    }
    // Other people's notes are only read here, so losing their line ends does not matter.
    let note = Matter::<SafeYaml>::new().parse::<gray_matter::Pod>(&whole);
    let Ok(note) = note else { return (name, whole) };
    let titled =
        note.data.as_ref().and_then(|data| data.as_hashmap().ok()?.get("title")?.as_string().ok());
    let heading = note.content.lines().find_map(|line| line.strip_prefix("# ")).map(str::to_string);
    let title = titled.or(heading).map_or(name.clone(), |title| format!("{title} ({name})"));
    (title, note.content)
}

/// YAML for `gray_matter` that refuses what its own engine expands: our parser has limits.
struct SafeYaml;

impl gray_matter::engine::Engine for SafeYaml {
    fn parse(content: &str) -> Result<gray_matter::Pod, gray_matter::Error> {
        let document =
            crate::base::front_matter::Document::parse(&format!("---\n{content}\n---\n"));
        let mut fields = gray_matter::Pod::new_hash();
        for key in document.keys() {
            if let Some(value) = document.get_str(key) {
                fields.insert(key.to_string(), gray_matter::Pod::String(value))?;
            }
        }
        Ok(fields)
    }
}

/// What was found in the files of a folder.
struct KnownOfFolder {
    facts: Facts,
    links: BTreeMap<u32, String>,
    state: Option<AgentState>,
    beside: Vec<FileFacts>,
}

/// Takes a file as what was said in it; `false` where nobody speaks there.
fn take_turns(facts: &mut Facts, number: u32, path: &Path, pages: &PageSettings<'_>) -> bool {
    let Some(text) = read_whole(path) else { return false };
    let turns = folder_turns::turns(&text);
    let asked = turns.iter().filter(|turn| turn.by_person).map(|turn| turn.text.as_str());
    let asked = asked.collect::<Vec<_>>().join("\n\n");
    let Some(first) = turns.first() else { return false };
    let position = Position { file: 0, line: u64::from(number) };
    let mut take = |at, kind| {
        facts.take(&Step { at, position, agent: None, inherited: false, kind });
    };
    take(first.at, StepKind::Prompt(pages.cleaner.string(asked)));
    for turn in turns.iter().filter(|turn| !turn.by_person) {
        take(turn.at, StepKind::Reply(pages.cleaner.string(turn.text.clone())));
    }
    if let Some(part) = facts.parts.last_mut() {
        (part.episode, part.last_episode) = (number, number);
    }
    true
}

/// The text of a file, unless it is none or too long to be one.
fn read_whole(path: &Path) -> Option<String> {
    let is_short = files::metadata(path).is_ok_and(|metadata| metadata.len() <= MOST_STATE);
    is_short.then(|| files::read_to_string(path).ok()).flatten()
}

/// What the digest of a folder says.
fn content(
    pages: &PageSettings<'_>,
    listing: &Listing,
    notes: &FolderNotes,
    known: KnownOfFolder,
) -> Content {
    let KnownOfFolder { facts, links, state, beside } = known;
    let (folder, found) = (&listing.folder, &listing.files);
    let clean = |text: String| pages.cleaner.string(text);
    let name = clean(folder_name(folder));
    let latest = found.iter().filter_map(|file| file.metadata.modified().ok()).max();
    let is_vitals =
        |file: &&FoundFile| file.relative.file_stem().is_some_and(|stem| stem == "vitals");
    let vitals =
        in_folder(found, "state").find(is_vitals).or_else(|| in_folder(found, "state").next());
    let parts = SnapshotParts {
        sensory: in_folder(found, "sensory").map(sensory_entries).sum(),
        vitals: vitals
            .map(|file| link_to(pages, &snapshot_name(&file.relative)))
            .unwrap_or_default(),
    };
    let folder = FolderFacts {
        name,
        path: clean(folder.display().to_string()),
        objective: notes.objective.clone().map(clean),
        motto: notes.motto.clone().map(clean),
        status: notes.status,
        modified: latest.map(Timestamp::from),
        files: found.len(),
        links,
        own_episodes: clean(own_range(found)),
        state,
        beside,
    };
    pages.settled(digest::folder_content(FOLDER, &facts, folder, parts))
}

fn in_folder<'f>(
    found: &'f [FoundFile],
    name: &'static str,
) -> impl Iterator<Item = &'f FoundFile> {
    found.iter().filter(move |file| {
        file.relative.components().rev().skip(1).any(|part| part.as_os_str() == name)
    })
}

/// How many entries a file of sensory logs has.
fn sensory_entries(file: &FoundFile) -> u64 {
    read_whole(&file.path).map_or(1, |text| folder_turns::entries(&text))
}

/// Whether a file lies beside the episodes and says what is known, was sensed, or how it was.
fn is_beside(file: &FoundFile) -> bool {
    const BESIDE: &[&str] = &["semantic", "sensory", "state", "semantic_memory", "state_memory"];
    let mut parts = file.relative.components().rev().skip(1);
    parts.any(|part| BESIDE.iter().any(|name| part.as_os_str() == *name))
}

/// Whether a file may hold the state values of an agent.
fn holds_state(file: &FoundFile) -> bool {
    let in_state = file.relative.components().rev().skip(1).any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name == "state" || name.starts_with("state_") || name.ends_with("_state")
    });
    let kind = file.relative.extension().and_then(|extension| extension.to_str());
    in_state && matches!(kind, Some("json" | "yaml" | "yml")) && file.metadata.len() <= MOST_STATE
}

/// The first and the last episode by their own names, where the folder has episodes: `EVA_EP01 –
/// EVA_EP09`.
fn own_range(found: &[FoundFile]) -> String {
    let mut names =
        found.iter().filter(|file| is_episode(file)).filter_map(|file| file.relative.file_stem());
    let first = names.next().map(|name| name.to_string_lossy().into_owned());
    let last = names.next_back().map(|name| name.to_string_lossy().into_owned());
    match (first, last) {
        (Some(first), Some(last)) => format!("{first} – {last}"),
        (first, _) => first.unwrap_or_default(),
    }
}

/// How a folder looks, as one hash: its files' names, which may hold a secret, are kept nowhere but
/// in raw.
fn looks(found: &[FoundFile]) -> String {
    let mut hasher = files::HashingWriter::new(std::io::sink());
    for file in found {
        let name = file.relative.as_os_str().as_encoded_bytes();
        let stamp = Stamp::of(&file.metadata);
        let line = format!(
            "{} {} {} {} {} ",
            name.len(),
            stamp.size,
            stamp.mtime_ns,
            stamp.inode,
            stamp.ctime_ns
        );
        let _ = hasher.write_all(line.as_bytes()).and_then(|()| hasher.write_all(name));
    }
    hasher.finish().1.sha256
}

/// How a folder looked when it was last kept; only a cache.
#[derive(Serialize, Deserialize)]
struct FolderMemo {
    /// None where this state of it was forgotten.
    session: Option<SessionId>,
    looks: String,
}

impl FolderMemo {
    fn file(layout: &Layout, folder: &Path) -> StateFile<FolderMemo> {
        StateFile::cache(layout.folder_memo(&key(folder)))
    }
}

/// A short name for a folder that says nothing of it.
fn key(folder: &Path) -> String {
    files::sha256_hex(folder.to_string_lossy().as_bytes())[..16].to_string()
}

/// The link of a digest to a file of the snapshot; to all of it, where the name is secret.
fn link_to(pages: &PageSettings<'_>, name: &str) -> String {
    layout::from_digest(if pages.is_secret(name) { "" } else { name })
}

fn stamped<S: serde::Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.map(clock::stamp).unwrap_or_default())
}
