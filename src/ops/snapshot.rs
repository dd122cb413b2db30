//! A session from any folder: all of it is copied, in its own shape, hashed, and digested.
//!
//! A folder has no log to grow, so each state of it is a session of its own: the same content is
//! never copied twice, and a changed folder does not overwrite what was kept of it before. Its
//! episodes are its parts (`episodic/`); where it has none, its files are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use gray_matter::Matter;
use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::files::{self, FoundFile as Found, Stamp};
use crate::base::text;
use crate::base::zone::Zone;
use crate::distill::agent_state::{self, AgentState};
use crate::distill::clean::Cleaner;
use crate::distill::digest::{self, FolderFacts, SnapshotParts};
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::error::{Context, Error, Result};
use crate::model::digest::{Content, Digest, Outcome, State};
use crate::model::exclude::Exclude;
use crate::model::ids::{Device, EpisodeId, SessionId};
use crate::model::session::Skipped;
use crate::ops::commit;
use crate::store::layout::Layout;
use crate::store::snapshots::{self, SnapshotWriter};
use crate::store::tombstones::Tombstones;
use crate::store::{Store, documents, layout};

/// What to make a session of, and what the person says of it.
pub struct Request<'r> {
    pub folder: PathBuf,
    /// What of it is left out.
    pub exclude: &'r Exclude,
    pub objective: Option<String>,
    pub motto: Option<String>,
    pub status: Option<Outcome>,
    pub device: Device,
    pub now: Timestamp,
    /// The time zone of the days, to finish what a killed sweep left.
    pub zone: Zone,
    pub cleaner: &'r Cleaner,
    pub dry_run: bool,
}

impl Request<'_> {
    /// Whether a file's name tells a secret: then no page may repeat it.
    fn has_secret(&self, name: &str) -> bool {
        !self.cleaner.redactor().find(name).is_empty()
    }

    /// The link of a digest to a file of the snapshot; to all of it, where the name may not be
    /// told.
    fn link_to(&self, name: &str) -> String {
        layout::from_digest(if self.has_secret(name) { "" } else { name })
    }
}

/// What was done.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The session that holds this state of the folder; none in a dry run that would make one.
    pub session: Option<SessionId>,
    pub path: Option<String>,
    pub files: u64,
    pub bytes: u64,
    /// Whether the folder was kept already, just as it is.
    pub unchanged: bool,
    /// Whether just this was forgotten, and so is not kept again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    pub skipped: Vec<Skipped>,
}

/// The flavor of such sessions.
pub const FLAVOR: &str = "folder";
/// A file with state values is no bigger than this.
const MOST_STATE: u64 = 1 << 20;
/// How much of a file is read for its words.
const READ_FOR_WORDS: u64 = 16 << 10;

/// Makes a session of a folder.
pub fn snapshot(store: &Store, request: &Request<'_>) -> Result<Report> {
    let layout = store.layout();
    let cannot = || format!("cannot write to the memory `{}`", layout.root().display());
    let folder = fs::canonicalize(&request.folder)
        .context(|| format!("cannot read the folder `{}`", request.folder.display()))?;
    if !folder.is_dir() {
        return Err(Error::usage(format!("`{}` is not a folder", folder.display())));
    }
    let (found, mut skipped) = list(&folder, layout.root(), request.exclude);
    if found.is_empty() {
        return Err(Error::usage(format!("there is nothing to keep in `{}`", folder.display()))
            .because("it holds no file outside of the memory itself"));
    }
    let looks = looks(&found);
    let bytes = found.iter().map(|file| file.metadata.len()).sum();
    let files_count = found.len() as u64;
    let memo = memo_of(layout, &folder);
    let unchanged = |session: Option<SessionId>| Report {
        path: session.as_ref().map(|session| layout.shown(&layout.digest(session))),
        forgotten: session.is_none(),
        session,
        files: files_count,
        bytes,
        unchanged: true,
        skipped: Vec::new(),
    };
    if let Some(session) = known(store, &folder, &looks) {
        return Ok(unchanged(session));
    }
    if request.dry_run {
        let (session, path, files) = (None, None, files_count);
        return Ok(Report {
            session,
            path,
            files,
            bytes,
            unchanged: false,
            forgotten: false,
            skipped,
        });
    }
    store.refuse_links(None)?;
    let _lock = files::lock_exclusive(&layout.sweep_lock()).context(cannot)?;
    // The id that we are about to take may belong to a session that a killed sweep left half in
    // place.
    commit::finish_earlier_sweep(store, request.zone)?;
    commit::remove_leftovers(store).context(cannot)?;
    let staged = layout.staging().join("folder");
    files::remove_folder(&staged).context(cannot)?;
    let mut writer = SnapshotWriter::create(&commit::snapshot_of(&staged)).context(cannot)?;
    let mut facts = Facts::default();
    let mut links: BTreeMap<u32, String> = BTreeMap::new();
    let numbers = part_numbers(&found);
    let mut state = None;
    for (file, number) in found.iter().zip(numbers) {
        let name = snapshot_name(&file.relative);
        let copy = match (writer.copy(&file.path, &name), File::open(&file.path)) {
            (Ok(copy), _) => copy,
            // Gone since we looked, or not ours to read: the others still are.
            (Err(_), Err(reason)) => {
                skipped.push(Skipped {
                    path: file.path.clone(),
                    line: 0,
                    reason: reason.to_string(),
                });
                continue;
            }
            (Err(err), Ok(_)) => {
                return Err(err).context(|| format!("cannot copy `{}`", file.path.display()));
            }
        };
        if state.is_none() && holds_state(file) {
            state = fs::read_to_string(&copy).ok().and_then(|text| agent_state::state_in(&text));
        }
        if let Some(number) = number {
            let (title, words) = read_for_words(&copy, &file.relative);
            let (title, words) = (request.cleaner.string(title), request.cleaner.string(words));
            facts.parts.push(EpisodeFacts::of_text(number, &title, &words));
            links.insert(number, request.link_to(&name));
            facts.merge_when_many();
        }
    }
    let tells_secret = writer.hashes().keys().any(|name| request.has_secret(name));
    let mut kept = writer.finish_listing(|_| true).context(cannot)?;
    if tells_secret {
        kept = snapshots::without_names(kept);
    }
    let source_id = format!(
        "{FLAVOR}:{}-{}",
        text::slug(&folder_name(&folder), 40),
        &kept.manifest_sha256[..12]
    );
    let forgotten = Tombstones::load(layout).context(|| "cannot read what was forgotten".into())?;
    let before = find_by_source(store, &source_id)?;
    if before.is_some() || forgotten.has_source(&source_id) {
        // Only its dates changed, or somebody wanted this to be gone.
        files::remove_folder(&staged).context(cannot)?;
        Memo { session: before.clone(), looks }.save(&memo).context(cannot)?;
        return Ok(unchanged(before));
    }
    let taken = store.session_ids().context(cannot)?.into_iter();
    let taken = taken.filter(|id| layout.digest(id).is_file() || layout.snapshot(id).exists());
    let session =
        SessionId::new(request.device.clone(), store.next_ordinal(&request.device, taken));
    store.refuse_links(Some(&session))?;
    let digest = Digest {
        session: session.clone(),
        source_id,
        captured: request.now,
        state: State::Closed,
        content: content(request, &folder, &found, &facts, links, state),
        snapshot: kept,
    };
    // A kill in between leaves a note by which whoever comes next writes the digest.
    let text = documents::digest_text(&digest);
    commit::replace(store, &session, &staged, &text, &digest.snapshot.manifest_sha256)?;
    files::remove_folder(&layout.staging()).context(cannot)?;
    let path = layout.digest(&session);
    Memo { session: Some(session.clone()), looks }.save(&memo).context(cannot)?;
    crate::index::refresh(store)?;
    Ok(Report {
        path: Some(layout.shown(&path)),
        session: Some(session),
        files: files_count,
        bytes,
        unchanged: false,
        forgotten: false,
        skipped,
    })
}

/// The setting by which a folder is never kept.
pub fn left_out_by(exclude: &Exclude, folder: &Path) -> Option<&'static str> {
    let cwd = folder.to_string_lossy();
    let is_excluded =
        exclude.has_session(digest::project_name(None, Some(&cwd)).as_deref(), Some(&cwd));
    is_excluded
        .then(|| if exclude.has_path(folder) { "exclude.folders" } else { "exclude.projects" })
}

/// What became of a folder that looks as it did when it was last kept: the session that holds it,
/// or none where it was forgotten.
pub(super) fn known(store: &Store, folder: &Path, looks: &str) -> Option<Option<SessionId>> {
    let memo = Memo::load(&memo_of(store.layout(), folder)).filter(|memo| memo.looks == looks)?;
    let is_there = |session: &SessionId| store.layout().digest(session).is_file();
    memo.session.as_ref().is_none_or(is_there).then_some(memo.session)
}

/// Where it is remembered how a folder looked.
fn memo_of(layout: &Layout, folder: &Path) -> PathBuf {
    layout.folder_memo(&files::sha256_hex(folder.to_string_lossy().as_bytes())[..16])
}

/// The files of a folder; links are not followed, and the memory itself and what is excluded are
/// left out.
pub(super) fn list(folder: &Path, memory: &Path, exclude: &Exclude) -> (Vec<Found>, Vec<Skipped>) {
    let memory = fs::canonicalize(memory).unwrap_or_else(|_| memory.to_path_buf());
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let mut skip = |path: PathBuf, reason: String| skipped.push(Skipped { path, line: 0, reason });
    for item in files::walk_files(folder) {
        match item {
            Err(trouble) => skip(trouble.path, trouble.reason),
            Ok(file) if file.path.starts_with(&memory) => {}
            Ok(file) => match &file.link {
                Some(target) => skip(
                    file.path.clone(),
                    format!("a link to `{}`, which is not followed", target.display()),
                ),
                None if exclude.has_path(&file.path) => {}
                None => found.push(file),
            },
        }
    }
    (found, skipped)
}

/// The file that is a given part of a folder's snapshot.
pub fn part(snapshot: &Path, episode: EpisodeId) -> Option<PathBuf> {
    let mut found: Vec<Found> = files::walk_files(snapshot).flatten().collect();
    found.retain(|file| file.relative != Path::new(layout::MANIFEST));
    let numbers = part_numbers(&found);
    let at = numbers.iter().position(|number| *number == Some(episode.0))?;
    Some(found.swap_remove(at).path)
}

/// Which files are parts, and their numbers: the episodes where there are any, else all files.
fn part_numbers(found: &[Found]) -> Vec<Option<u32>> {
    let has_episodes = found.iter().any(is_episode);
    let mut last = 0;
    let number = |file: &Found| {
        (has_episodes == is_episode(file)).then(|| {
            last = episode_number(file).filter(|number| *number > last).unwrap_or(last + 1);
            last
        })
    };
    found.iter().map(number).collect()
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

fn is_episode(file: &Found) -> bool {
    file.relative.components().rev().skip(1).any(|part| part.as_os_str() == "episodic")
}

/// The number in a name such as `EVA_EP12.json`.
fn episode_number(file: &Found) -> Option<u32> {
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
    let read = File::open(path).and_then(|file| file.take(READ_FOR_WORDS).read_to_end(&mut bytes));
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

fn content(
    request: &Request<'_>,
    folder: &Path,
    found: &[Found],
    facts: &Facts,
    links: BTreeMap<u32, String>,
    state: Option<AgentState>,
) -> Content {
    let clean = |text: String| request.cleaner.string(text);
    let name = clean(folder_name(folder));
    let objective =
        request.objective.clone().unwrap_or_else(|| format!("Keep the folder {name} as it is"));
    let latest = found.iter().filter_map(|file| file.metadata.modified().ok()).max();
    let is_vitals = |file: &&Found| file.relative.file_stem().is_some_and(|stem| stem == "vitals");
    let vitals =
        in_folder(found, "state").find(is_vitals).or_else(|| in_folder(found, "state").next());
    let parts = SnapshotParts {
        sensory: in_folder(found, "sensory").count() as u64,
        vitals: vitals
            .map(|file| request.link_to(&snapshot_name(&file.relative)))
            .unwrap_or_default(),
    };
    let folder = FolderFacts {
        name,
        path: clean(folder.display().to_string()),
        objective: clean(objective),
        motto: request.motto.clone().map(clean),
        status: request.status,
        modified: latest.map(Timestamp::from),
        files: found.len(),
        links,
        own_episodes: clean(own_range(found)),
        state,
    };
    digest::folder_content(FLAVOR, facts, folder, parts)
}

fn in_folder<'f>(found: &'f [Found], name: &'static str) -> impl Iterator<Item = &'f Found> {
    found.iter().filter(move |file| {
        file.relative.components().rev().skip(1).any(|part| part.as_os_str() == name)
    })
}

/// Whether a file may hold the state values of an agent.
fn holds_state(file: &Found) -> bool {
    let in_state = file.relative.components().rev().skip(1).any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name == "state" || name.starts_with("state_") || name.ends_with("_state")
    });
    let kind = file.relative.extension().and_then(|extension| extension.to_str());
    in_state && matches!(kind, Some("json" | "yaml" | "yml")) && file.metadata.len() <= MOST_STATE
}

/// The first and the last episode by their own names, where the folder has episodes: `EVA_EP01 –
/// EVA_EP09`.
fn own_range(found: &[Found]) -> String {
    let mut names =
        found.iter().filter(|file| is_episode(file)).filter_map(|file| file.relative.file_stem());
    let first = names.next().map(|name| name.to_string_lossy().into_owned());
    let last = names.next_back().map(|name| name.to_string_lossy().into_owned());
    match (first, last) {
        (Some(first), Some(last)) => format!("{first} – {last}"),
        (first, _) => first.unwrap_or_default(),
    }
}

fn find_by_source(store: &Store, source_id: &str) -> Result<Option<SessionId>> {
    for id in store.session_ids().context(|| "cannot list the sessions".into())? {
        if store.digest(&id).ok().flatten().is_some_and(|digest| digest.source_id == source_id) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// How a folder looks, as one hash: its files' names, which may tell a secret, are kept nowhere but
/// in raw.
pub(super) fn looks(found: &[Found]) -> String {
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
struct Memo {
    /// None where this state of it was forgotten.
    session: Option<SessionId>,
    looks: String,
}

impl Memo {
    fn load(path: &Path) -> Option<Memo> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn save(&self, path: &Path) -> std::io::Result<()> {
        files::write_atomic(path, &serde_json::to_vec(self)?)
    }
}
