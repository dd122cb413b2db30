//! Capturing one session: its files are copied and hashed, then read from our own copy, and its
//! pages are written beside them. All of it happens under a temporary name; `sweep` puts it in
//! place.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::shared::SharedFiles;
use crate::adapters::{Adapter, Identity, rows};
use crate::base::clock::{self, Timestamp};
use crate::base::{files, markdown, text};
use crate::distill::clean::Cleaner;
use crate::distill::day;
use crate::distill::digest::{self, SnapshotParts};
use crate::distill::episodes::EpisodePage;
use crate::distill::facts::Facts;
use crate::distill::steps::{Joiner, Step, StepKind};
use crate::error::{Context, Error, Result};
use crate::model::context;
use crate::model::day::DayLine;
use crate::model::digest::{ClaimKind, Content, Snapshot};
use crate::model::exclude::Exclude;
use crate::model::ids::EpisodeId;
use crate::model::session::{
    Event, EventKind, EventSink, Head, Log, LogFile, ModelUsage, Role, Skipped, Source,
};
use crate::store::layout;
use crate::store::snapshots::{self, SnapshotFile, SnapshotWriter, parse_manifest_line};

/// A session that was captured under a temporary name.
pub struct Prepared {
    /// The folder with the snapshot, the draft and the day's lines.
    pub staged: PathBuf,
    /// What the session's place in the order is told by.
    pub ended: Option<Timestamp>,
    /// The records that could not be read.
    pub skipped: Vec<Skipped>,
}

/// What the digest of a prepared session will say; kept on disk until its turn comes, so that
/// memory does not grow with the number of sessions.
#[derive(Debug, Serialize, Deserialize)]
pub struct Draft {
    pub content: Content,
    pub snapshot: Snapshot,
    /// Whether the log says that the session was ended.
    pub ended: bool,
}

/// Why a session could not be captured.
pub enum Trouble {
    /// Its log could not be read; the others can.
    Source(Skipped),
    /// The person wants it left out.
    Excluded,
    /// The memory could not be written; nothing else will be either.
    Store(Error),
}

/// How pages are written.
pub struct Pages {
    pub cleaner: Cleaner,
    pub inline_lines: usize,
    /// Which sessions get none.
    pub exclude: Exclude,
}

impl Prepared {
    /// Where the snapshot waits.
    pub fn snapshot(&self) -> PathBuf {
        self.staged.join(SNAPSHOT)
    }

    /// Reads what the digest will say.
    pub fn draft(&self) -> Result<Draft> {
        let path = self.staged.join(DRAFT);
        let cannot = || format!("cannot read back `{}`", path.display());
        serde_json::from_slice(&fs::read(&path).context(cannot)?).context(cannot)
    }
}

/// Reads a staged session's lines for the days, one by one.
pub fn day_lines(staged: &Path) -> Result<impl Iterator<Item = DayLine> + use<>> {
    let path = staged.join(DAY_LINES);
    let file = File::open(&path).context(|| format!("cannot read back `{}`", path.display()))?;
    let lines = io::BufRead::lines(io::BufReader::new(file)).map_while(|line| line.ok());
    Ok(lines.filter_map(|line| serde_json::from_str(&line).ok()))
}

const SNAPSHOT: &str = "snapshot";
/// How the folder within raw begins that keeps an earlier version of a file.
const EARLIER: &str = "earlier-";
const DRAFT: &str = "draft.json";
const DAY_LINES: &str = "day.jsonl";

/// Captures a session into `staged`, a folder that does not exist yet. `previous` is the snapshot
/// that is there already, where the session has grown.
pub fn prepare(
    adapter: &dyn Adapter,
    source: &Source,
    shared: &SharedFiles,
    previous: Option<&Path>,
    staged: &Path,
    pages: &Pages,
) -> Result<Prepared, Trouble> {
    let cannot_write = |err: io::Error| Trouble::Store(cannot_write_to(staged, err));
    let mut writer = SnapshotWriter::create(&staged.join(SNAPSHOT)).map_err(cannot_write)?;
    let mut copies = Vec::new();
    for file in &source.files {
        let name = format!("{}/{}", layout::RAW, layout::shown_relative(&file.name));
        let unreadable = |err: io::Error| {
            Trouble::Source(Skipped { path: file.path.clone(), line: 0, reason: err.to_string() })
        };
        let path = match &file.within {
            Some(id) => {
                let mut out =
                    Watched { file: writer.file(&name).map_err(cannot_write)?, failed: false };
                shared.extract(&file.path, id, &mut out).map_err(|err| match out.failed {
                    true => cannot_write(err),
                    false => unreadable(err),
                })?;
                writer.close(out.file).map_err(cannot_write)?;
                staged.join(SNAPSHOT).join(&name)
            }
            None => writer.copy(&file.path, &name).map_err(|err| match File::open(&file.path) {
                Err(err) => unreadable(err),
                Ok(_) => cannot_write(err),
            })?,
        };
        copies.push(LogFile { path, within: None, ..file.clone() });
    }
    if let Some(previous) = previous {
        carry_over(adapter, previous, &mut writer, &mut copies).map_err(cannot_write)?;
    }
    let log = Log { native_id: source.native_id.clone(), files: copies };
    let mut day_lines =
        BufWriter::new(files::create_new(&staged.join(DAY_LINES)).map_err(cannot_write)?);
    let mut write_line = |line: &DayLine| {
        serde_json::to_writer(&mut day_lines, line)?;
        day_lines.write_all(b"\n")
    };
    let told = tell(adapter, &log, source.flavor, writer, pages, &mut write_line);
    let (writer, mut told) = told.map_err(|trouble| match trouble {
        Untold::Log(reason) => {
            Trouble::Source(Skipped { path: source.files[0].path.clone(), line: 0, reason })
        }
        Untold::Page(err) => cannot_write(err),
    })?;
    if pages.exclude.has_session(told.content.project.as_deref(), told.cwd.as_deref()) {
        // Only a whole log tells where its session worked. What was copied to read it goes at once.
        files::remove_folder(staged).map_err(cannot_write)?;
        return Err(Trouble::Excluded);
    }
    let draft = || -> io::Result<Draft> {
        day_lines.flush()?;
        let redactor = pages.cleaner.redactor();
        let tells_secret = writer.hashes().keys().any(|name| !redactor.find(name).is_empty());
        let snapshot = writer.finish()?;
        let snapshot = if tells_secret { snapshots::without_names(snapshot) } else { snapshot };
        let draft = Draft { content: told.content, snapshot, ended: told.ended };
        files::write_plain(&staged.join(DRAFT), &serde_json::to_vec(&draft)?)?;
        Ok(draft)
    };
    let draft = draft().map_err(cannot_write)?;
    // The copies' names mean nothing to the person: tell the agent's own files.
    for skipped in &mut told.skipped {
        let copy = log.files.iter().position(|file| file.path == skipped.path);
        if let Some(original) =
            copy.and_then(|at| source.files.iter().find(|file| file.name == log.files[at].name))
        {
            skipped.path = original.path.clone();
        }
    }
    Ok(Prepared { staged: staged.to_path_buf(), ended: draft.content.ended, skipped: told.skipped })
}

/// What a log tells, once its pages are written.
pub struct Told {
    pub content: Content,
    /// Where the session worked, as the log says it.
    pub cwd: Option<String>,
    /// Whether the log says that the session was ended.
    pub ended: bool,
    /// The records that could not be read.
    pub skipped: Vec<Skipped>,
}

/// Why a log could not be told.
pub enum Untold {
    /// It could not be read.
    Log(String),
    /// A page could not be written.
    Page(io::Error),
}

/// Reads a log, writes its readable parts beside the raw that is there already, and hands over the
/// lines of its days.
pub fn tell(
    adapter: &dyn Adapter,
    log: &Log,
    flavor: &'static str,
    writer: SnapshotWriter,
    pages: &Pages,
    day_line: &mut dyn FnMut(&DayLine) -> io::Result<()>,
) -> Result<(SnapshotWriter, Told), Untold> {
    let mut recorder = Recorder {
        writer,
        pages,
        joiner: Joiner::default(),
        facts: Facts::default(),
        episode: 0,
        open: None,
        sensory: 0,
        day_line,
        failed: None,
    };
    let read = adapter.read(log, &mut recorder);
    if let Some(err) = recorder.failed {
        return Err(Untold::Page(err));
    }
    let head = read.map_err(|err| Untold::Log(err.to_string()))?;
    let cwd = head.cwd.clone();
    let (writer, told) = recorder.finish(flavor, log, head).map_err(Untold::Page)?;
    Ok((writer, Told { cwd, ..told }))
}

/// The log of a session that was captured, as it lies in its snapshot, in the order in which it was
/// read then.
pub fn raw_log(adapter: &dyn Adapter, snapshot: &Path, native_id: &str) -> io::Result<Log> {
    // Where two conversations claimed the same id, the second got a mark.
    let claimed = native_id.split('~').next().unwrap_or(native_id);
    let mut files = Vec::new();
    let mut claims_id = false;
    for found in files::walk_files(&snapshot.join(layout::RAW)) {
        let found = found.map_err(io::Error::other)?;
        let identity = adapter.identify(&found.path)?;
        claims_id |= identity.as_ref().is_some_and(|identity| identity.native_id == claimed);
        files.push((found, identity));
    }
    let role = |found: &files::FoundFile, identity: Option<Identity>| match identity {
        // A subagent whose main log was gone, told by a folder that is not kept.
        Some(Identity { native_id, role: Role::Main, .. })
            // An id that is the name of our own folder stood in for none.
            if !claims_id && native_id != layout::RAW =>
        {
            Role::Subagent(native_id)
        }
        Some(identity) => identity.role,
        // Taken out of a shared file, and called after the session.
        None if found.relative.file_stem() == Some(files::safe_name(native_id, 100).as_ref()) => Role::Main,
        None => Role::Attachment,
    };
    let mut ranked = Vec::new();
    for (found, identity) in files {
        let role = role(&found, identity);
        // The main conversation first: what was carried over from earlier captures, then shorter
        // files before longer.
        let rank = match &role {
            Role::Main if found.relative.to_string_lossy().starts_with(EARLIER) => (0, 0),
            Role::Main => (1, found.metadata.len()),
            _ => (2, 0),
        };
        ranked.push((rank, LogFile { path: found.path, name: found.relative, role, within: None }));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(Log {
        native_id: native_id.to_string(),
        files: ranked.into_iter().map(|(_, file)| file).collect(),
    })
}

/// A file that remembers whether writing to it failed, to tell that from trouble with what is read.
struct Watched {
    file: SnapshotFile,
    failed: bool,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.failed = true)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}

fn cannot_write_to(staged: &Path, err: io::Error) -> Error {
    let full = err.kind() == io::ErrorKind::StorageFull;
    let error =
        Error::new(format!("cannot write to the memory (`{}`)", staged.display())).because(err);
    if full {
        error.hint("make room on the disk and sweep again; what was there before is untouched")
    } else {
        error.hint("check the folder's owner and permissions, then sweep again")
    }
}

/// Keeps what an earlier capture had and the source has no more: a file that is gone, or one that
/// was rewritten rather than appended to. A log that shrinks must not take memory with it.
fn carry_over(
    adapter: &dyn Adapter,
    previous: &Path,
    writer: &mut SnapshotWriter,
    copies: &mut Vec<LogFile>,
) -> io::Result<()> {
    let manifest = match fs::read_to_string(previous.join(layout::MANIFEST)) {
        Ok(manifest) => manifest,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(err) => return Err(err),
    };
    for (sha256, name) in manifest.lines().filter_map(parse_manifest_line) {
        let Some(raw_name) =
            name.strip_prefix("raw/").map(Path::new).and_then(files::safe_relative)
        else {
            continue;
        };
        let old = previous.join(&name);
        if !old.is_file() {
            continue;
        }
        let same = copies.iter().find(|copy| copy.name == raw_name);
        let kept_as = match same {
            Some(copy) if begins_with(&copy.path, fs::metadata(&old)?.len(), sha256)? => continue,
            Some(copy) if rows::holds_all(&old, &copy.path)? => continue,
            Some(_) => Path::new(&format!("{EARLIER}{}", &sha256[..8])).join(&raw_name),
            None => raw_name,
        };
        let path =
            writer.copy(&old, &format!("{}/{}", layout::RAW, layout::shown_relative(&kept_as)))?;
        let role = adapter.identify(&path)?.map_or(Role::Attachment, |identity| identity.role);
        let earlier = LogFile { path, name: kept_as, role, within: None };
        // What came earlier is read first.
        let at = if earlier.role == Role::Main { 0 } else { copies.len() };
        copies.insert(at, earlier);
    }
    Ok(())
}

/// Whether the first bytes of a file have a given hash: then it only grew.
fn begins_with(path: &Path, bytes: u64, sha256: &str) -> io::Result<bool> {
    use io::Read;
    let file = File::open(path)?;
    if file.metadata()?.len() < bytes {
        return Ok(false);
    }
    let mut hasher = files::HashingWriter::new(io::sink());
    io::copy(&mut file.take(bytes), &mut hasher)?;
    Ok(hasher.finish().1.sha256 == sha256)
}

/// Takes a session's events and writes its pages as they come.
struct Recorder<'p> {
    writer: SnapshotWriter,
    pages: &'p Pages,
    joiner: Joiner,
    facts: Facts,
    episode: u32,
    open: Option<OpenEpisode>,
    sensory: u64,
    day_line: &'p mut dyn FnMut(&DayLine) -> io::Result<()>,
    /// The write that failed, told apart from trouble with the log.
    failed: Option<io::Error>,
}

/// The pages of the episode that is going on.
struct OpenEpisode {
    id: EpisodeId,
    page: EpisodePage,
    file: SnapshotFile,
    sensory: Option<SnapshotFile>,
}

/// Pages are written out when this much has gathered, so that no episode is held whole.
const PAGE_PIECE: usize = 256 << 10;

impl EventSink for Recorder<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        let holds_ours =
            matches!(&event.kind, EventKind::Prompt(text) if text.contains(context::OPEN));
        let event = self.pages.cleaner.event(event);
        if holds_ours && matches!(&event.kind, EventKind::Prompt(text) if text.trim().is_empty()) {
            // Nobody asked anything: memtree itself gave the agent its memory.
            return Ok(());
        }
        let mut steps = Vec::new();
        self.joiner.take(event, |step| steps.push(step));
        for step in steps {
            if let Err(err) = self.step(step) {
                self.failed = Some(err);
                return Err(Error::new("cannot write a page"));
            }
        }
        Ok(())
    }
}

impl Recorder<'_> {
    fn step(&mut self, step: Step) -> io::Result<()> {
        self.facts.take(&step);
        if let (StepKind::Prompt(prompt), None) = (&step.kind, &step.agent) {
            self.close()?;
            self.episode += 1;
            self.begin(&prompt.clone())?;
        } else if self.open.is_none() {
            if matches!(step.kind, StepKind::Completion) {
                return Ok(());
            }
            self.begin("")?;
        }
        if let Some(line) = day::line(&step, EpisodeId(self.episode)) {
            (self.day_line)(&line)?;
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.page.add(&step);
        if open.page.page.len() + open.page.sensory.len() > PAGE_PIECE {
            open.write_out(&mut self.writer)?;
        }
        Ok(())
    }

    fn begin(&mut self, title: &str) -> io::Result<()> {
        let id = EpisodeId(self.episode);
        self.open = Some(OpenEpisode {
            id,
            page: EpisodePage::new(
                id,
                title,
                self.pages.inline_lines,
                layout::from_episode_to_sensory(id),
            ),
            file: self.writer.file(&layout::episode(id))?,
            sensory: None,
        });
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.write_out(&mut self.writer)?;
        self.sensory += open.page.entries;
        self.writer.close(open.file)?;
        if let Some(sensory) = open.sensory {
            self.writer.close(sensory)?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        flavor: &'static str,
        log: &Log,
        mut head: Head,
    ) -> io::Result<(SnapshotWriter, Told)> {
        let mut rest = Vec::new();
        std::mem::take(&mut self.joiner).finish(|step| rest.push(step));
        for step in rest {
            self.step(step)?;
        }
        self.close()?;
        self.facts.finish();
        // The reason why a line could not be read may quote it.
        let reasons = head.skipped.iter_mut().map(|skipped| &mut skipped.reason);
        let names = [&mut head.title, &mut head.cwd, &mut head.branch, &mut head.remote]
            .into_iter()
            .flatten();
        let others =
            [&mut head.version, &mut head.head_commit, &mut head.parent].into_iter().flatten();
        let models = head.usage.iter_mut().map(|usage| &mut usage.model);
        for text in names.chain(&mut head.pull_requests).chain(reasons).chain(others).chain(models)
        {
            *text = self.pages.cleaner.string(std::mem::take(text));
        }
        let ignored = std::mem::take(&mut head.ignored).into_iter();
        head.ignored =
            ignored.map(|(kind, count)| (self.pages.cleaner.string(kind), count)).collect();
        let parts =
            SnapshotParts { sensory: self.sensory, vitals: layout::from_digest(layout::VITALS) };
        let content = digest::content(flavor, &self.facts, &head, parts);
        if let Some(stated) = stated(&self.facts) {
            self.writer.write(layout::STATED, &stated)?;
        }
        let source_id = Source::id(flavor, &log.native_id);
        self.writer.write(layout::VITALS, &vitals(&source_id, &self.facts, &head, &content))?;
        if !head.skipped.is_empty() {
            self.writer.write(layout::SKIPPED, &skipped_lines(log, &head.skipped))?;
        }
        Ok((self.writer, Told { content, cwd: None, ended: head.ended, skipped: head.skipped }))
    }
}

impl OpenEpisode {
    fn write_out(&mut self, writer: &mut SnapshotWriter) -> io::Result<()> {
        self.file.write_all(self.page.page.as_bytes())?;
        self.page.page.clear();
        if !self.page.sensory.is_empty() {
            if self.sensory.is_none() {
                let mut file = writer.file(&layout::sensory(self.id))?;
                writeln!(file, "# Long outputs of {}\n", self.id)?;
                self.sensory = Some(file);
            }
            if let Some(file) = &mut self.sensory {
                file.write_all(self.page.sensory.as_bytes())?;
            }
            self.page.sensory.clear();
        }
        Ok(())
    }
}

/// The decisions and lessons that were stated, each with its episode.
fn stated(facts: &Facts) -> Option<String> {
    let mut page = String::new();
    for (kind, title) in [(ClaimKind::Decision, "Decisions"), (ClaimKind::Lesson, "Lessons")] {
        let mut lines = String::new();
        for part in &facts.parts {
            let episode = EpisodeId(part.episode);
            for stated in part.statements.iter().filter(|stated| stated.kind == kind) {
                let text = markdown::inline(&stated.text);
                lines.push_str(&format!(
                    "- {text} ({}, [{episode}](../{}))\n",
                    stated.origin,
                    layout::episode(episode)
                ));
            }
        }
        if !lines.is_empty() {
            page.push_str(&format!("\n## {title}\n{lines}"));
        }
    }
    (!page.is_empty()).then(|| format!("# Stated in this session\n{page}"))
}

/// What is known of the session in numbers.
#[derive(Serialize)]
struct Vitals<'a> {
    source_id: String,
    agent_version: Option<String>,
    models: Vec<ModelUsage>,
    cwd: Option<String>,
    branch: Option<String>,
    remote: Option<String>,
    head_commit: Option<String>,
    forked_from: Option<String>,
    pull_requests: Vec<String>,
    started: Option<String>,
    ended: Option<String>,
    seconds: i64,
    outcome: String,
    cost_usd: Option<f64>,
    prompts: u64,
    replies: u64,
    tool_calls: u64,
    failed_calls: u64,
    interventions: u64,
    compactions: u64,
    subagents: Vec<String>,
    tools: BTreeMap<String, u64>,
    events: BTreeMap<&'static str, u64>,
    test_runs: Vec<String>,
    records: u64,
    inherited: u64,
    ignored: &'a BTreeMap<String, u64>,
    skipped: usize,
}

fn vitals(source_id: &String, facts: &Facts, head: &Head, content: &Content) -> String {
    let runs = facts.parts.iter().flat_map(|part| {
        part.tests.iter().map(|test| {
            let verdict = if test.passed { "passed" } else { "failed" };
            format!("{} {verdict} {}", EpisodeId(part.episode), test.summary).trim_end().to_string()
        })
    });
    // Names come from the log, and whoever opens the page may do so in a terminal.
    let line = |name: &String| text::one_line(name, 300);
    let models =
        head.usage.iter().map(|used| ModelUsage { model: line(&used.model), ..used.clone() });
    let vitals = Vitals {
        source_id: line(source_id),
        agent_version: head.version.as_ref().map(line),
        models: models.collect(),
        cwd: content.cwd.clone(),
        branch: head.branch.as_ref().map(line),
        remote: head.remote.as_ref().map(line),
        head_commit: head.head_commit.as_ref().map(line),
        forked_from: head.parent.as_ref().map(line),
        pull_requests: head.pull_requests.iter().map(line).collect(),
        started: facts.started.map(clock::stamp),
        ended: facts.ended.map(clock::stamp),
        seconds: facts
            .started
            .zip(facts.ended)
            .map_or(0, |(started, ended)| (ended - started).num_seconds()),
        outcome: content.status.to_string(),
        cost_usd: content.cost_usd,
        prompts: facts.prompts,
        replies: facts.parts.iter().filter(|part| !part.inherited).map(|part| part.replies).sum(),
        tool_calls: facts.tool_calls,
        failed_calls: facts.failed_calls,
        interventions: facts.interventions,
        compactions: facts.compactions,
        subagents: facts.subagents.iter().map(line).collect(),
        tools: facts.tools.iter().map(|(tool, count)| (line(tool), *count)).collect(),
        events: facts
            .events
            .iter()
            .map(|(kind, count)| (*kind, *count))
            .chain([("decision", facts.decisions())])
            .collect(),
        test_runs: runs.take(100).collect(),
        records: head.records,
        inherited: head.inherited,
        ignored: &head.ignored,
        skipped: head.skipped.len(),
    };
    serde_yaml::to_string(&vitals).unwrap_or_default()
}

fn skipped_lines(log: &Log, skipped: &[Skipped]) -> String {
    let mut lines = String::new();
    for one in skipped {
        let name = log
            .files
            .iter()
            .find(|file| file.path == one.path)
            .map_or(one.path.as_path(), |file| &file.name);
        lines.push_str(&format!(
            "{}:{}: {}\n",
            layout::shown_relative(name),
            one.line,
            text::one_line(&one.reason, 300)
        ));
    }
    lines
}
