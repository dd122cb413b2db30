//! The recorder: takes a session's events one by one and writes its pages, its facts and the lines
//! of its days as they come.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use super::PageSettings;
use super::found::{Around, Found};
use super::vitals::vitals;
use crate::adapters::{Adapter, children};
use crate::base::clock::Timestamp;
use crate::base::{markdown, text};
use crate::distill::day::{self, SubagentState};
use crate::distill::digest::{self, SnapshotParts};
use crate::distill::episodes::EpisodePage;
use crate::distill::facts::Facts;
use crate::distill::stated::stated;
use crate::distill::steps::{Joiner, Step, StepKind};
use crate::error::{Error, Result};
use crate::model::context;
use crate::model::day::DayLine;
use crate::model::digest::{ClaimKind, Content};
use crate::model::ids::EpisodeId;
use crate::model::session::{Event, EventKind, EventSink, Head, Log, Skipped, Source};
use crate::store::layout;
use crate::store::snapshots::{SnapshotFile, SnapshotWriter};

/// A session as its log has it, once its pages are written.
pub struct RenderedSession {
    pub content: Content,
    /// Where the session worked, as the log says it.
    pub cwd: Option<String>,
    /// Whether the log says that the session was ended.
    pub ended: bool,
    /// The records that could not be read: the first of each file, and how many there are.
    pub skipped: Vec<Skipped>,
    pub skipped_total: u64,
    /// How many secrets were redacted.
    pub redactions: u64,
}

/// Why a session could not be rendered.
pub enum RenderError {
    /// It could not be read.
    Log(String),
    /// A page could not be written.
    Page(io::Error),
}

/// Reads a log, writes its readable parts beside the raw that is there already, and hands over the
/// lines of its days.
pub fn render(
    adapter: &dyn Adapter,
    log: &Log,
    writer: SnapshotWriter,
    pages: &PageSettings<'_>,
    around: Around<'_>,
    day_line: &mut dyn FnMut(&DayLine) -> io::Result<()>,
) -> Result<(SnapshotWriter, RenderedSession), RenderError> {
    let mut recorder = Recorder {
        writer,
        pages,
        joiner: Joiner::default(),
        facts: Facts::default(),
        open: None,
        sensory: 0,
        log,
        skipped: None,
        last_at: None,
        untimed: Vec::new(),
        redactions: 0,
        answers: HashMap::new(),
        day_line,
        failed: None,
    };
    let read = children::read(adapter, log, &mut recorder);
    if let Some(err) = recorder.failed {
        return Err(RenderError::Page(err));
    }
    let mut head = read.map_err(|err| RenderError::Log(err.to_string()))?;
    let found = around.complete(adapter, &mut head);
    let cwd = head.cwd.clone();
    let (writer, rendered) =
        recorder.finish(adapter.name(), log, head, found).map_err(RenderError::Page)?;
    Ok((writer, RenderedSession { cwd, ..rendered }))
}

/// Takes a session's events and writes its pages as they come.
struct Recorder<'p> {
    writer: SnapshotWriter,
    pages: &'p PageSettings<'p>,
    joiner: Joiner,
    facts: Facts,
    open: Option<OpenEpisode>,
    sensory: u64,
    log: &'p Log,
    /// Where the records that could not be read are named, once there are any.
    skipped: Option<SnapshotFile>,
    /// When the last message that has a time was said.
    last_at: Option<Timestamp>,
    /// Lines of messages before the first that has a time.
    untimed: Vec<DayLine>,
    /// How many secrets were redacted.
    redactions: u64,
    /// By subagent: what it said last.
    answers: HashMap<String, String>,
    day_line: &'p mut dyn FnMut(&DayLine) -> io::Result<()>,
    /// The write that failed, as opposed to a failure to read the log.
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
/// How many messages without a time wait for the first one that has one.
const MOST_UNTIMED: usize = 10_000;

impl EventSink for Recorder<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        let holds_ours =
            matches!(&event.kind, EventKind::Prompt(text) if text.contains(context::OPEN));
        let event = self.pages.cleaner.event(event, &mut self.redactions);
        if holds_ours && matches!(&event.kind, EventKind::Prompt(text) if text.trim().is_empty()) {
            // Nobody asked anything: memtree itself gave the agent its memory.
            return Ok(());
        }
        let mut steps = Vec::new();
        self.joiner.take(event, |step| steps.push(step));
        for mut step in steps {
            // A subagent is named by its file, which may be called anything.
            if let Some(agent) = &mut step.agent {
                *agent = self.pages.cleaner.string(std::mem::take(agent));
            }
            if let Err(err) = self.step(step) {
                self.failed = Some(err);
                return Err(Error::new("cannot write a page"));
            }
        }
        Ok(())
    }

    fn skipped(&mut self, skipped: &Skipped) {
        let written = self.name_skipped(skipped);
        if let Err(err) = written {
            self.failed.get_or_insert(err);
        }
    }
}

impl Recorder<'_> {
    /// Names a record that could not be read in the session's list. The reason may quote it.
    fn name_skipped(&mut self, skipped: &Skipped) -> io::Result<()> {
        let line = self.pages.cleaner.string(skipped_line(self.log, skipped));
        if self.skipped.is_none() {
            self.skipped = Some(self.writer.file(layout::SKIPPED)?);
        }
        match &mut self.skipped {
            Some(file) => file.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }

    /// Hands over a line for its day. A message without a time has the time of the last one that
    /// has one, and those before the first have that one's.
    fn day_line(&mut self, step: &Step, is_first: bool) -> io::Result<()> {
        if let Some(at) = step.at {
            self.last_at = Some(at);
            for line in std::mem::take(&mut self.untimed) {
                (self.day_line)(&DayLine { at, ..line })?;
            }
        }
        let last_reply = step.agent.as_ref().and_then(|agent| self.answers.get(agent));
        let agent = SubagentState { is_first, last_reply: last_reply.map(String::as_str) };
        let at = self.last_at.unwrap_or_default();
        let Some(line) = day::line(step, self.episode(), at, agent) else { return Ok(()) };
        match self.last_at {
            Some(_) => (self.day_line)(&line),
            None if self.untimed.len() < MOST_UNTIMED => {
                self.untimed.push(line);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The episode that is going on; what comes before the first prompt is `EP_000`.
    fn episode(&self) -> EpisodeId {
        EpisodeId(self.facts.parts.last().map_or(0, |part| part.last_episode))
    }

    fn step(&mut self, step: Step) -> io::Result<()> {
        let is_first = match &step.agent {
            Some(agent) => !self.facts.subagents.contains(agent),
            None => false,
        };
        // What is made of the session has no order that is not the person's; its page has it all.
        let without_orders = match &step.kind {
            StepKind::Reply(said) if step.agent.is_none() => {
                match self.facts.without_orders(said) {
                    Cow::Owned(said) => Some(Step { kind: StepKind::Reply(said), ..step.clone() }),
                    Cow::Borrowed(_) => None,
                }
            }
            _ => None,
        };
        let recorded = without_orders.as_ref().unwrap_or(&step);
        self.facts.take(recorded);
        if let (StepKind::Prompt(prompt), None) = (&step.kind, &step.agent) {
            self.close()?;
            self.begin(&prompt.clone())?;
        } else if self.open.is_none() {
            if matches!(step.kind, StepKind::Completion) {
                return Ok(());
            }
            self.begin("")?;
        }
        self.day_line(recorded, is_first)?;
        if let (StepKind::Reply(said), Some(agent)) = (&step.kind, &step.agent) {
            self.answers.insert(agent.clone(), text::cut(said, 2000).to_string());
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.page.add(&step);
        if open.page.page.len() + open.page.sensory.len() > PAGE_PIECE {
            open.write_out(&mut self.writer)?;
        }
        Ok(())
    }

    fn begin(&mut self, title: &str) -> io::Result<()> {
        let id = self.episode();
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
        mut found: Option<Found>,
    ) -> io::Result<(SnapshotWriter, RenderedSession)> {
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
        let around = found.iter_mut().flat_map(Found::texts);
        let others = others.chain(around);
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
        let content = self.pages.settled(content);
        if let Some(stated) = stated_page(&self.facts, &content) {
            self.writer.write(layout::STATED, &stated)?;
        }
        let source_id = Source::id(flavor, &log.native_id);
        self.writer.write(
            layout::VITALS,
            &vitals(&source_id, &self.facts, &head, &content, found.as_ref()),
        )?;
        if let Some(file) = self.skipped.take() {
            self.writer.close(file)?;
        }
        let session = RenderedSession {
            content,
            cwd: None,
            ended: head.ended,
            skipped: head.skipped,
            skipped_total: head.skipped_total,
            redactions: self.redactions,
        };
        Ok((self.writer, session))
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
fn stated_page(facts: &Facts, content: &Content) -> Option<String> {
    let mut page = String::new();
    for (kind, title) in [(ClaimKind::Decision, "Decisions"), (ClaimKind::Lesson, "Lessons")] {
        let lines: String = stated(facts, content, kind)
            .iter()
            .map(|claim| {
                let text = markdown::inline(&claim.text);
                let episode = claim.episode;
                let link = layout::episode(episode);
                format!("- {text} ({}, [{episode}](../{link}))\n", claim.origin)
            })
            .collect();
        if !lines.is_empty() {
            page.push_str(&format!("\n## {title}\n{lines}"));
        }
    }
    (!page.is_empty()).then(|| format!("# Stated in this session\n{page}"))
}

fn skipped_line(log: &Log, one: &Skipped) -> String {
    let name = log
        .files
        .iter()
        .find(|file| file.path == one.path)
        .map_or(one.path.as_path(), |file| &file.name);
    format!("{}:{}: {}\n", layout::shown_relative(name), one.line, text::one_line(&one.reason, 300))
}
