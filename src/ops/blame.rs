//! Blame: from a line of memory to the sessions and the raw bytes behind it; from a source file to
//! the sessions that touched it.

use std::collections::BTreeSet;
use std::fs::{self};
use std::io::{self, BufRead, BufReader};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use rayon::prelude::*;
use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::core::{Landmark, LandmarkId};
use crate::model::digest::{Digest, Origin};
use crate::model::ids::{CoreId, EpisodeId, SessionId};
use crate::ops::consolidate;
use crate::ops::recall::lines_named;
use crate::store::core::{self, lines};
use crate::store::{Store, digest, layout};

/// What to trace back.
#[derive(Debug, Clone, Default)]
pub struct BlameRequest {
    /// A file of the memory, or a source file; relative to the current folder or to the memory.
    pub file: PathBuf,
    /// One line of it; all where nothing is said.
    pub line: Option<usize>,
}

impl BlameRequest {
    /// `FILE:LINE` in two; a name that only looks like it is left whole.
    pub fn of(what: &Path) -> BlameRequest {
        let text = what.to_string_lossy();
        match text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) if !files::exists(what) => {
                BlameRequest { file: PathBuf::from(file), line: Some(line) }
            }
            _ => BlameRequest { file: what.to_path_buf(), line: None },
        }
    }
}

setters!(BlameRequest { file: PathBuf, line: Option<usize> });

/// What stands behind a file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum BlameReport {
    /// It is a file of the memory.
    Memory { lines: Vec<LineBlame> },
    /// It is a source file.
    Source(FileBlame),
}

impl Memory {
    /// Leads from a line of the memory to what is behind it, or from a source file to the sessions
    /// that touched it.
    pub fn blame(&self, request: BlameRequest) -> Result<BlameReport> {
        let (store, environment) = (self.store(), self.environment());
        let here = &environment.current_dir;
        Ok(match memory_file(store, &request.file, here) {
            Some(path) => BlameReport::Memory { lines: blame_lines(store, &path, request.line)? },
            None => BlameReport::Source(blame_file(
                store,
                &request.file,
                here,
                &environment.places.home,
            )?),
        })
    }
}

/// What a line of the memory rests on.
#[derive(Debug, Serialize)]
pub struct LineBlame {
    /// The file, relative to the memory.
    pub path: String,
    pub line: usize,
    pub text: String,
    /// The core that holds it, where it is a landmark.
    pub core: Option<CoreLine>,
    pub sources: Vec<LineSource>,
}

/// Where a landmark stands.
#[derive(Debug, Serialize)]
pub struct CoreLine {
    pub path: String,
    pub line: usize,
    pub landmark: String,
}

/// One place that a line rests on.
#[derive(Debug, Serialize)]
pub struct LineSource {
    pub session: SessionId,
    /// Empty where the line names only the session.
    pub episode: String,
    pub said_by: Option<Origin>,
    pub digest: String,
    /// The episode's page, where it is here.
    pub page: Option<String>,
    /// The words that were looked for in the raw log; empty where none are known.
    pub evidence: String,
    /// The raw bytes that hold them.
    pub raw: Option<RawBytes>,
}

/// A stretch of a raw file.
#[derive(Debug, Serialize)]
pub struct RawBytes {
    pub path: String,
    pub line: u64,
    /// From the file's first byte on.
    pub start: u64,
    pub end: u64,
    /// What stands there, redacted.
    pub quote: String,
}

/// The sessions that touched a source file, newest first.
#[derive(Debug, Serialize)]
pub struct FileBlame {
    pub file: String,
    pub sessions: Vec<FileSession>,
}

/// A session that touched a file.
#[derive(Debug, Serialize)]
pub struct FileSession {
    pub session: SessionId,
    pub title: String,
    pub project: Option<String>,
    pub status: String,
    pub ended: Option<Timestamp>,
    pub path: String,
    /// The triggers that name the file.
    pub triggers: Vec<NamingTrigger>,
}

/// A trigger that names a file.
#[derive(Debug, Serialize)]
pub struct NamingTrigger {
    pub topic: String,
    pub sentence: String,
    pub episode: String,
}

// --- Lines of memory ---

/// The file of the memory that is meant, if one is: `core/MEMORY.md`, from the memory or from where
/// the person is.
///
/// A file beside the person is that file. And a name without a folder, such as `README.md`, means
/// one of their project's, though the memory has one too.
fn memory_file(store: &Store, named: &Path, here: &Path) -> Option<PathBuf> {
    let root = fs::canonicalize(store.layout().root()).ok()?;
    let beside = here.join(named);
    let path = if files::is_file(&beside) {
        beside
    } else {
        let relative =
            files::safe_relative(named).filter(|relative| relative.components().count() > 1)?;
        Some(root.join(relative)).filter(|path| files::is_file(path))?
    };
    let inside = fs::canonicalize(&path).is_ok_and(|path| path.starts_with(&root));
    // Shown as a part of the memory, however it was named.
    inside.then(|| {
        fs::canonicalize(&path)
            .ok()?
            .strip_prefix(&root)
            .ok()
            .map(|path| store.layout().root().join(path))
    })?
}

/// Blames one line of a file of the memory, or every line that has something behind it.
fn blame_lines(store: &Store, path: &Path, line: Option<usize>) -> Result<Vec<LineBlame>> {
    let shown = store.layout().shown(path);
    let page = files::read_to_string(path).context(|| format!("cannot read `{shown}`"))?;
    let count = page.lines().count();
    if let Some(line) = line.filter(|line| *line == 0 || *line > count) {
        return Err(Error::usage(format!("`{shown}` has no line {line}"))
            .because(format!("it has {count}")));
    }
    let mut blamed = Vec::new();
    for (at, said) in
        page.lines().enumerate().filter(|(at, _)| line.is_none_or(|line| line == at + 1))
    {
        if let Some(one) = blame_line(store, path, said, at + 1)? {
            blamed.push(one);
        }
    }
    if blamed.is_empty() {
        let what = line.map_or_else(|| format!("`{shown}`"), |line| format!("`{shown}:{line}`"));
        return Err(Error::new(format!("nothing stands behind {what}"))
            .because("no line there is a landmark, a trigger or a decision, or names a session")
            .hint("name a line of core/MEMORY.md, of a core or of a digest"));
    }
    Ok(blamed)
}

fn blame_line(store: &Store, path: &Path, said: &str, number: usize) -> Result<Option<LineBlame>> {
    let layout = store.layout();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut one = LineBlame {
        path: layout.shown(path),
        line: number,
        text: text::one_line(said, 400),
        core: None,
        sources: Vec::new(),
    };
    let in_cores = path.parent().is_some_and(|folder| folder.ends_with("core"));
    if let Some(digest) =
        name.strip_suffix(layout::DIGEST_SUFFIX).and_then(|id| id.parse::<SessionId>().ok())
    {
        let claim =
            digest::parse_claim(said).map(|claim| (claim.episode, claim.origin, claim.text));
        let trigger = digest::parse_trigger(said)
            .map(|trigger| (trigger.episode, trigger.origin, trigger.sentence));
        let Some((episode, origin, evidence)) = claim.or(trigger) else { return Ok(None) };
        one.sources.push(line_source(store, &digest, episode, Some(origin), evidence)?);
        return Ok(Some(one));
    }
    if path.starts_with(layout.patterns()) {
        for (session, episode, evidence) in pattern_evidence(said) {
            one.sources.push(line_source(store, &session, episode, None, evidence)?);
        }
        return Ok((!one.sources.is_empty()).then_some(one));
    }
    if !in_cores {
        for (session, episode) in named_sessions(said) {
            one.sources.push(match episode {
                Some(episode) => line_source(store, &session, episode, None, String::new())?,
                None => LineSource::of_session(store, session),
            });
        }
        return Ok((!one.sources.is_empty()).then_some(one));
    }
    let targets: Vec<(CoreId, LandmarkId)> = match layout::core_named(name) {
        Some(core) => said
            .rsplit_once(" ^")
            .and_then(|(_, id)| lines::id_in(id))
            .map(|id| (core, id))
            .into_iter()
            .collect(),
        None => lines::cores_in(said),
    };
    for (core, id) in targets {
        let page = files::read_to_string(layout.core(&core)).unwrap_or_default();
        let mark = format!("^{id}");
        let at = page.lines().position(|line| {
            line.trim_end().trim_end_matches(lines::PIN).trim_end().ends_with(&mark)
        });
        if one.core.is_none() {
            let line = at.map_or(0, |at| at + 1);
            one.core = Some(CoreLine {
                path: layout.shown(&layout.core(&core)),
                line,
                landmark: id.to_string(),
            });
        }
        for support in supports(store, &core, &id, &page) {
            let (session, episode, who, evidence) = support;
            one.sources.push(line_source(store, &session, episode, who, evidence)?);
        }
    }
    Ok((one.core.is_some()).then_some(one))
}

/// The sessions of this memory that a line of any other page names, each once.
fn named_sessions(line: &str) -> Vec<(SessionId, Option<EpisodeId>)> {
    static NAMED: StaticRegex =
        StaticRegex::new(r"(SES\d+_[A-Za-z0-9-]+_SP\d+C\d+)(?:_DIGEST)?(?:#(EP_\d+))?");
    let mut found: Vec<(SessionId, Option<EpisodeId>)> = Vec::new();
    for named in NAMED.captures_iter(line) {
        let Ok(session) = named[1].parse::<SessionId>() else { continue };
        let episode = named.get(2).and_then(|episode| episode.as_str().parse().ok());
        match found.iter_mut().find(|(known, _)| *known == session) {
            Some((_, known)) => *known = known.or(episode),
            None => found.push((session, episode)),
        }
    }
    found
}

impl LineSource {
    /// A session of which no more is said than its name.
    fn of_session(store: &Store, session: SessionId) -> LineSource {
        LineSource {
            digest: store.layout().shown(&store.layout().digest(&session)),
            session,
            episode: String::new(),
            said_by: None,
            page: None,
            evidence: String::new(),
            raw: None,
        }
    }

    /// The place, as `recall` takes it.
    pub fn place(&self) -> String {
        match self.episode.as_str() {
            "" => self.session.to_string(),
            episode => format!("{}#{episode}", self.session),
        }
    }
}

/// The places that a line of a pattern leads to, with the words that it quotes from there.
fn pattern_evidence(line: &str) -> Vec<(SessionId, EpisodeId, String)> {
    static PLACE: StaticRegex =
        StaticRegex::new(r"\[(SES\d+_[A-Za-z0-9-]+_SP\d+C\d+)#(EP_\d+)\]\(");
    let quoted = line.split('`').nth(1).unwrap_or_default().replace('_', " ");
    let places = PLACE
        .captures_iter(line)
        .filter_map(|found| Some((found[1].parse().ok()?, found[2].parse().ok()?, quoted.clone())));
    places.collect()
}

/// What a landmark rests on, with the words to look for: as the digests say it now, else as the
/// page says it.
fn supports(
    store: &Store,
    core: &CoreId,
    id: &LandmarkId,
    page: &str,
) -> Vec<(SessionId, EpisodeId, Option<Origin>, String)> {
    let known = |landmark: &&Landmark| landmark.id == *id;
    let now = consolidate::core_now(store, core);
    let made = now.as_ref().and_then(|core| {
        core.landmarks.iter().find(known).or(core
            .superseded
            .iter()
            .map(|old| &old.landmark)
            .find(known))
    });
    let written = core::parse_core(page);
    let read = || {
        written.landmarks.iter().find(known).or(written
            .superseded
            .iter()
            .map(|old| &old.landmark)
            .find(known))
    };
    let Some(landmark) = made.or_else(read) else { return Vec::new() };
    let words = |evidence: &String| {
        if evidence.is_empty() { landmark.text.clone() } else { evidence.clone() }
    };
    let each = landmark.supports.iter();
    each.map(|one| (one.session.clone(), one.episode, one.said_by, words(&one.evidence))).collect()
}

fn line_source(
    store: &Store,
    session: &SessionId,
    episode: EpisodeId,
    said_by: Option<Origin>,
    evidence: String,
) -> Result<LineSource> {
    let layout = store.layout();
    let page = layout.session(session).join(layout::from_digest(&layout::episode(episode)));
    let own = files::read_to_string(&page).map(|page| lines_named(&page)).unwrap_or_default();
    let range = own.iter().min().copied().zip(own.iter().max().copied());
    Ok(LineSource {
        session: session.clone(),
        episode: episode.to_string(),
        said_by,
        digest: layout.shown(&layout.digest(session)),
        page: files::is_file(&page).then(|| layout.shown(&page)),
        raw: find(store, session, &evidence, range)?,
        evidence,
    })
}

// --- The raw bytes ---

/// Finds words in a session's raw files, first of all in the lines of their episode.
fn find(
    store: &Store,
    session: &SessionId,
    evidence: &str,
    range: Option<(u64, u64)>,
) -> Result<Option<RawBytes>> {
    let folder = store.layout().snapshot(session);
    let raw = folder.join(layout::RAW);
    // A snapshot of a folder is raw throughout.
    let folder = if files::is_dir(&raw) { raw } else { folder };
    let wanted = wanted(evidence);
    if wanted.is_empty() || !files::is_dir(&folder) {
        return Ok(None);
    }
    let mut elsewhere = None;
    for found in files::walk_files(&folder).flatten().filter(|found| found.link.is_none()) {
        let shown = store.layout().shown(&found.path);
        let matches = search(&found.path, &wanted).context(|| format!("cannot read `{shown}`"))?;
        for (line, start, end, quote) in matches {
            let inside = range.is_none_or(|(first, last)| (first..=last).contains(&line));
            let here = RawBytes { path: shown.clone(), line, start, end, quote };
            if inside {
                return Ok(Some(here));
            }
            elsewhere.get_or_insert(here);
        }
    }
    Ok(elsewhere)
}

/// The words to look for: the longest stretch of the evidence that nothing was cut out of.
fn wanted(evidence: &str) -> Vec<String> {
    let whole = evidence.trim_end_matches('…');
    let pieces = whole.split("[redacted:").enumerate().map(|(at, piece)| {
        match (at, piece.split_once(']')) {
            (1.., Some((_, rest))) => rest,
            _ => piece,
        }
    });
    let words = pieces.map(|piece| {
        let mut words = Vec::new();
        each_word(piece, |_, _, word| words.push(word));
        words
    });
    words.max_by_key(Vec::len).unwrap_or_default()
}

/// Every first match in a line of a file: its line, its bytes, and what stands there.
fn search(path: &Path, wanted: &[String]) -> io::Result<Vec<(u64, u64, u64, String)>> {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
    const MOST: usize = 64;
    let mut reader = BufReader::new(files::open(path)?);
    let (mut number, mut offset, mut bytes, mut found) = (0u64, 0u64, Vec::new(), Vec::new());
    while found.len() < MOST {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes)?;
        if read == 0 {
            break;
        }
        number += 1;
        if let Ok(line) = std::str::from_utf8(&bytes)
            && let Some((start, end)) = place(line, wanted)
        {
            let quote = text::one_line(&REDACTOR.redact(&line[start..end]), 300);
            found.push((number, offset + start as u64, offset + end as u64, quote));
        }
        offset += read as u64;
    }
    Ok(found)
}

/// Where words stand one after the other in a line.
fn place(line: &str, wanted: &[String]) -> Option<(usize, usize)> {
    let mut words: Vec<(usize, usize, String)> = Vec::new();
    each_word(line, |start, end, word| words.push((start, end, word)));
    let at = words
        .windows(wanted.len())
        .position(|window| window.iter().zip(wanted).all(|((_, _, word), one)| word == one))?;
    Some((words[at].0, words[at + wanted.len() - 1].1))
}

/// The words of a text as it stands in a log: what JSON writes as an escape is no part of a word,
/// but for letters.
fn each_word(text: &str, mut each: impl FnMut(usize, usize, String)) {
    let (mut word, mut start, mut end) = (String::new(), 0, 0);
    let mut rest = text.char_indices().peekable();
    while let Some((at, letter)) = rest.next() {
        let (mut letter, mut after) = (letter, at + letter.len_utf8());
        if letter == '\\' {
            let digits = text.get(after + 1..after + 5).filter(|_| text[after..].starts_with('u'));
            let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let skipped = if code.is_some() {
                5
            } else {
                usize::from(rest.peek().is_some_and(|(_, next)| next.is_ascii()))
            };
            for _ in 0..skipped {
                rest.next();
            }
            letter = code.and_then(char::from_u32).unwrap_or(' ');
            after += skipped;
        }
        if letter.is_alphanumeric() {
            if word.is_empty() {
                start = at;
            }
            word.extend(letter.to_lowercase());
            end = after;
        } else if !word.is_empty() {
            each(start, end, std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        each(start, end, word);
    }
}

// --- Source files ---

/// The sessions that changed a file, newest first.
fn blame_file(store: &Store, named: &Path, here: &Path, home: &Path) -> Result<FileBlame> {
    let tolerant = as_here(named);
    let named = tolerant.as_path();
    let absolute = here.join(named);
    let name = named.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
    if name.is_empty() {
        return Err(Error::usage("there is no file to blame")
            .hint("name a source file, or a line of the memory"));
    }
    let lower = name.to_lowercase();
    let ids = store.session_ids().context(|| "cannot list the sessions".into())?;
    let is_gone = !files::exists(&absolute);
    // A name such as `README.md` is in many pages: only what is said of each is kept.
    let found: Vec<(bool, FileSession)> = ids
        .par_iter()
        .filter_map(|id| {
            // Most pages do not name it, and need not be read closely.
            let page = files::read_to_string(store.layout().digest(id))
                .ok()
                .filter(|page| page.to_lowercase().contains(&lower))?;
            let digest = digest::parse(&page).ok()?;
            let touches =
                |same: &dyn Fn(&str) -> bool| digest.content.files.iter().any(|file| same(file));
            let exact = touches(&|file| is_same(file, &digest, named, &absolute, home));
            let fits = exact || is_gone && touches(&|file| is_end_of(file, named));
            fits.then(|| (exact, file_session(store, digest, &name)))
        })
        .collect();
    // The end of a path names the file too, where nothing has it as a whole.
    let by_end = !found.iter().any(|(exact, _)| *exact);
    let of_it = found.into_iter().filter(|(exact, _)| *exact || by_end);
    let mut sessions: Vec<FileSession> = of_it.map(|(_, session)| session).collect();
    sessions.sort_by(|a, b| (b.ended, &b.session).cmp(&(a.ended, &a.session)));
    Ok(FileBlame { file: named.display().to_string(), sessions })
}

/// A path as this system writes it: `C:\\work\\src\\day.rs` and `./src/day.rs` name files too.
fn as_here(named: &Path) -> PathBuf {
    let text = named.to_string_lossy();
    let drive = |text: &str| {
        let bytes = text.as_bytes();
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
    };
    let is_windows = drive(&text) || (!text.contains('/') && text.contains('\\'));
    let text = match is_windows && !files::exists(named) {
        true => text.trim_start_matches("\\\\?\\").replace('\\', "/"),
        false => text.into_owned(),
    };
    let text = if drive(&text) && cfg!(not(windows)) { text[2..].to_string() } else { text };
    Path::new(&text).components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

/// Whether one of two paths is the end of the other, however their letters are written.
fn is_end_of(file: &str, named: &Path) -> bool {
    let parts = |path: &Path| -> Vec<String> {
        let normal = path.components().filter(|part| matches!(part, Component::Normal(_)));
        normal.map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect()
    };
    let (file, named) = (parts(Path::new(file)), parts(named));
    // The path of another machine ends with that within its project, but not with a bare name.
    let from_elsewhere = file.len() > 1 && named.ends_with(&file);
    !named.is_empty() && (file.ends_with(&named) || from_elsewhere)
}

/// Whether a file of a digest is the one that is meant: by its whole path, or by its path within
/// the project.
fn is_same(file: &str, digest: &Digest, named: &Path, absolute: &Path, home: &Path) -> bool {
    let whole = |path: &str| match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => PathBuf::from(path),
    };
    let path = whole(digest.content.cwd.as_deref().unwrap_or_default()).join(whole(file));
    let within_project = !named.is_absolute() && Path::new(file) == named;
    let in_worktree = Path::new(file).is_relative()
        && absolute.ends_with(file)
        && digest
            .content
            .project
            .as_deref()
            .is_some_and(|project| absolute.iter().any(|part| part == project));
    path == absolute || within_project || in_worktree
}

fn file_session(store: &Store, digest: Digest, name: &str) -> FileSession {
    let lower = name.to_lowercase();
    let content = digest.content;
    let mut episodes = BTreeSet::new();
    let triggers = content.triggers.into_iter().filter(|trigger| {
        let words = [&trigger.topic, &trigger.sentence].map(|said| said.to_lowercase());
        trigger.keys.iter().any(|key| key.to_lowercase() == lower)
            || words.iter().any(|said| said.contains(&lower))
    });
    FileSession {
        path: store.layout().shown(&store.layout().digest(&digest.session)),
        session: digest.session,
        title: content.title,
        project: content.project,
        status: content.status.to_string(),
        ended: content.ended,
        triggers: triggers
            .filter(|trigger| episodes.insert(trigger.episode))
            .map(|trigger| NamingTrigger {
                topic: trigger.topic,
                sentence: trigger.sentence,
                episode: trigger.episode.to_string(),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_raw_bytes_however_they_are_written() {
        let line = r#"{"text":"**Decision**: we lock\na sidecar, \u00c4nderung \"now\"","x":1}"#;
        let found =
            |evidence: &str| place(line, &wanted(evidence)).map(|(start, end)| &line[start..end]);
        assert_eq!(found("Decision: we lock a sidecar…"), Some(r"Decision**: we lock\na sidecar"));
        assert_eq!(found("änderung now"), Some(r#"\u00c4nderung \"now"#));
        assert_eq!(found("[redacted:token] sidecar"), Some("sidecar"));
        assert_eq!(found("something else"), None);
    }
}
