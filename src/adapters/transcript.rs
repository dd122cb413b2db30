//! What all dialects share: a session being read, record by record, into events.
//!
//! An adapter is its wire types and a [`Dialect`], which takes one record at a time and says what
//! happened to the [`Transcript`]. That knows the circumstances of the record ([`RecordContext`]),
//! hands the events on, and keeps the books of the session's [`Head`]: what was read, ignored,
//! skipped, inherited and used.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use serde::Deserialize;

use super::jsonl::{self, Line, Lines};
use super::tools;
use super::wire::{Content, Count, Text};
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::text;
use crate::error::{Context, Result};
use crate::model::session::{
    Action, Actor, Call, CallResult, Event, EventKind, EventSink, Head, Log, ModelUsage, Position,
    Role, Skipped,
};

/// How one agent writes its records.
pub trait Dialect {
    /// A record, exactly as the agent writes it.
    type Record<'a>: Deserialize<'a>;

    /// Takes one record and says what happened in it.
    fn record(&mut self, record: Self::Record<'_>, out: &mut Transcript) -> Result<()>;

    /// Takes one record as it stands in the log. The inner error says that it is not of the shape
    /// that the agent writes.
    fn json(&mut self, json: &[u8], out: &mut Transcript) -> Result<serde_json::Result<()>> {
        match serde_json::from_slice(json) {
            Ok(record) => {
                out.head.records += 1;
                self.record(record, out).map(Ok)
            }
            Err(err) => Ok(Err(err)),
        }
    }
}

/// The circumstances of the record that is being read.
#[derive(Debug, Clone)]
pub struct RecordContext<'t> {
    /// When it was written, where the log says so.
    pub at: Option<Timestamp>,
    /// Where it stands.
    pub position: Position,
    /// The subagent whose it is.
    pub agent: Option<Cow<'t, str>>,
    /// Whether it is a copy of another session's record.
    pub inherited: bool,
    /// Its place in the tree of records, where records name the one that they go on from.
    branch: Option<Branch>,
}

#[derive(Debug, Clone, Copy)]
struct Branch {
    record: Option<u64>,
    /// The episode of the record that it goes on from.
    parent: Option<u32>,
    /// How many prompts there were before it.
    prompts: u32,
}

/// A session that is being read: its log, the record at hand, and what is known so far.
pub struct Transcript<'t> {
    /// The files that are read.
    pub log: &'t Log,
    /// What is known of the session.
    pub head: Head,
    /// The record at hand.
    pub context: RecordContext<'t>,
    /// When the session began: the time of the first event, where the log's records have none.
    pub began: Option<Timestamp>,
    /// How many prompts there were.
    pub prompts: u32,
    events: &'t mut dyn EventSink,
    /// By record: its episode.
    episodes: HashMap<u64, u32>,
    /// The keys of messages that may come again.
    seen: HashSet<u64>,
}

/// Reading the log.
impl<'t> Transcript<'t> {
    /// Begins to read a session.
    pub fn new(log: &'t Log, events: &'t mut dyn EventSink) -> Transcript<'t> {
        Transcript {
            log,
            head: Head::default(),
            context: RecordContext::new(Position { file: 0, line: 0 }),
            began: None,
            prompts: 0,
            events,
            episodes: HashMap::new(),
            seen: HashSet::new(),
        }
    }

    /// Reads the whole conversation, all its files in order.
    ///
    /// Where there are several, the later ones may be copies of the earlier: a record that was
    /// already read is left out.
    pub fn read_log(&mut self, dialect: &mut impl Dialect) -> Result<()> {
        self.read_parts(dialect, self.main_files())
    }

    /// The same, of these files, in this order.
    pub fn read_parts(&mut self, dialect: &mut impl Dialect, files: Vec<usize>) -> Result<()> {
        let mut read = (files.len() > 1).then(HashSet::new);
        for file in files {
            self.read_lines(dialect, file, read.as_mut())?;
        }
        Ok(())
    }

    /// Reads one file, whatever may have been read before.
    pub fn read_file(&mut self, dialect: &mut impl Dialect, file: usize) -> Result<()> {
        self.read_lines(dialect, file, None)
    }

    /// The files of the conversation itself.
    pub fn main_files(&self) -> Vec<usize> {
        self.files(|role| *role == Role::Main)
    }

    /// The files of subagents.
    pub fn subagent_files(&self) -> Vec<usize> {
        self.files(|role| matches!(role, Role::Subagent(_)))
    }

    fn files(&self, is_wanted: impl Fn(&Role) -> bool) -> Vec<usize> {
        let files = self.log.files.iter().enumerate();
        files.filter(|(_, file)| is_wanted(&file.role)).map(|(at, _)| at).collect()
    }

    /// Reads the lines of one file; `read` are the records of the files before it.
    ///
    /// A bad line is named in [`Head::skipped`], and nothing else is lost.
    fn read_lines(
        &mut self,
        dialect: &mut impl Dialect,
        file: usize,
        mut read: Option<&mut HashSet<u64>>,
    ) -> Result<()> {
        let path = &self.log.files[file].path;
        let cannot_read = || format!("cannot read the log `{}`", path.display());
        let mut lines = Lines::new(jsonl::open(path).context(cannot_read)?);
        let mut fresh = Vec::new();
        // A subagent's log may be read in the midst of a record of the main one.
        let outer = self.context.clone();
        loop {
            let (number, line) = match lines.next() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                // What was unpacked before the damage is as good as ever.
                Err(err) if jsonl::is_packed(path) => {
                    self.skip(file, lines.number() + 1, format!("cut short: {err}"));
                    break;
                }
                Err(err) => return Err(err).context(cannot_read),
            };
            let Line::Bytes { bytes, last } = line else {
                self.skip(file, number, jsonl::TOO_LONG);
                continue;
            };
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(read) = &mut read {
                let key = hash(bytes);
                if read.contains(&key) {
                    self.head.records += 1;
                    self.ignore("repeated record")?;
                    continue;
                }
                fresh.push(key);
            }
            self.read_line(dialect, bytes, last, Position { file: file as u32, line: number })?;
        }
        self.context = outer;
        if let Some(read) = read {
            read.extend(fresh);
        }
        Ok(())
    }

    fn read_line(
        &mut self,
        dialect: &mut impl Dialect,
        bytes: &[u8],
        last: bool,
        position: Position,
    ) -> Result<()> {
        let Err(err) = self.read_record(dialect, bytes, position)? else { return Ok(()) };
        let salvage = jsonl::salvage(bytes, last);
        let mut reason = salvage.reason;
        for record in &salvage.records {
            if self.read_record(dialect, record.as_bytes(), position)?.is_err() {
                // The record is whole, but not of the shape that the agent writes.
                reason = unexpected_shape(&err);
            }
        }
        self.skip(position.file as usize, position.line, reason);
        Ok(())
    }

    /// Reads one record; the inner error says that it is not of the shape that the agent writes.
    pub fn read_record(
        &mut self,
        dialect: &mut impl Dialect,
        json: &[u8],
        position: Position,
    ) -> Result<serde_json::Result<()>> {
        self.go_to(position);
        let read = dialect.json(json, self)?;
        self.end_record();
        Ok(read)
    }

    /// Begins another record, of which only the position is known.
    pub fn go_to(&mut self, position: Position) {
        self.context = RecordContext::new(position);
        if let Role::Subagent(agent) = &self.log.files[position.file as usize].role {
            self.context.agent = Some(Cow::Borrowed(agent));
        }
    }

    /// Reads a file that is one JSON document; one that is too long to be held is named as skipped.
    pub fn read_document(&mut self, file: usize) -> Result<Option<Vec<u8>>> {
        let path = &self.log.files[file].path;
        let cannot_read = || format!("cannot read the log `{}`", path.display());
        let document = files::open(path).context(cannot_read)?;
        let mut bytes = Vec::new();
        document.take(jsonl::LONGEST_DOCUMENT + 1).read_to_end(&mut bytes).context(cannot_read)?;
        if bytes.len() as u64 > jsonl::LONGEST_DOCUMENT {
            self.skip(file, 0, "a document longer than 64 MB");
            return Ok(None);
        }
        Ok(Some(bytes))
    }

    /// Parses a whole document; one that is none is named as skipped.
    pub fn parse_document<'a, T: Deserialize<'a>>(
        &mut self,
        file: usize,
        json: &'a [u8],
    ) -> Option<T> {
        serde_json::from_slice(json)
            .map_err(|err| self.skip(file, 0, format!("not a whole document: {err}")))
            .ok()
    }

    /// Parses what stands within the record at hand; what is of another shape is named as skipped.
    pub fn parse<'a, T: Deserialize<'a>>(&mut self, json: &'a str) -> Option<T> {
        let Position { file, line } = self.context.position;
        serde_json::from_str(json)
            .map_err(|err| self.skip(file as usize, line, unexpected_shape(&err)))
            .ok()
    }
}

/// Keeping the books.
impl Transcript<'_> {
    /// Names what could not be read.
    pub fn skip(&mut self, file: usize, line: u64, reason: impl Into<String>) {
        let path = self.log.files[file].path.clone();
        let skipped = Skipped { path, line, reason: reason.into() };
        self.events.skipped(&skipped);
        self.head.skip(skipped);
    }

    /// Names a format that is newer than the last one that its reader knows; what is alike in it
    /// is read.
    pub fn note_newer_format(&mut self, file: usize, line: u64, format: u64, known: u64) {
        if format > known {
            let reason = format!("written in format {format}, which is newer than {known}");
            self.skip(file, line, reason);
        }
    }

    /// The same, of the record at hand.
    pub fn note_newer_record(&mut self, format: u64, known: u64) {
        let Position { file, line } = self.context.position;
        self.note_newer_format(file as usize, line, format, known);
    }

    /// Names what another reading of the same log could not read.
    pub fn skip_again(&mut self, skipped: Skipped) {
        self.events.skipped(&skipped);
        self.head.skip(skipped);
    }

    /// Counts a record that is known noise or of an unknown kind. It is always `Ok`, so that it can
    /// stand where an event would.
    pub fn ignore(&mut self, kind: &str) -> Result<()> {
        if let Some(count) = self.head.ignored.get_mut(kind) {
            *count += 1;
            return Ok(());
        }
        // The kinds come from the log: their number is bounded, and so is their length.
        let kind = text::one_line(kind, 60);
        let is_known = self.head.ignored.len() < 200 || self.head.ignored.contains_key(&kind);
        let kind = if is_known { kind } else { "other".into() };
        *self.head.ignored.entry(kind).or_default() += 1;
        Ok(())
    }

    /// Marks the record at hand as a copy of another session's.
    pub fn inherit(&mut self) {
        self.context.inherited = true;
        self.head.inherited += 1;
    }

    /// Whether a message with this key was read before; then it is ignored.
    pub fn is_repeated(&mut self, key: u64) -> Result<bool> {
        let is_new = self.seen.insert(key);
        if !is_new {
            self.ignore("message told again")?;
        }
        Ok(!is_new)
    }

    /// Says from which record the one at hand goes on. A prompt that does not go on from the latest
    /// episode takes back those after its own.
    pub fn follow(&mut self, record: &Text, parent: &Text) {
        let parent = parent.some().and_then(|parent| self.episodes.get(&hash(parent)).copied());
        let record = record.some().map(hash);
        self.context.branch = Some(Branch { record, parent, prompts: self.prompts });
    }

    fn end_record(&mut self) {
        if let Some(Branch { record: Some(record), parent, prompts }) = self.context.branch {
            // A prompt opens an episode; everything else belongs to that of its parent.
            let opened = self.prompts > prompts;
            let episode = if opened { self.prompts } else { parent.unwrap_or(prompts) };
            self.episodes.insert(record, episode);
        }
    }

    /// What a model used in the session so far; none yet where it is new.
    pub fn usage(&mut self, model: &str) -> &mut ModelUsage {
        let at = self.usage_index(model);
        &mut self.head.usage[at]
    }

    /// Where a model stands in [`Head::usage`].
    pub fn usage_index(&mut self, model: &str) -> usize {
        let usage = &mut self.head.usage;
        usage.iter().position(|known| known.model == model).unwrap_or_else(|| {
            usage.push(ModelUsage { model: model.to_string(), ..ModelUsage::default() });
            usage.len() - 1
        })
    }

    /// Adds what a model used.
    pub fn count(&mut self, model: &str, used: Tokens) {
        used.add_to(self.usage(model));
    }
}

/// Saying what happened.
impl Transcript<'_> {
    /// Hands over an event of the record at hand.
    pub fn emit(&mut self, kind: EventKind<'_>) -> Result<()> {
        let RecordContext { at, position, agent, inherited, .. } = &self.context;
        let at = at.or(self.began.take());
        let agent = agent.as_deref();
        self.events.event(Event { at, position: *position, agent, inherited: *inherited, kind })
    }

    /// The person said something, unless it is blank. A subagent's prompt is the task that it was
    /// handed.
    pub fn prompt(&mut self, words: &str) -> Result<()> {
        let words = words.trim();
        if words.is_empty() {
            return Ok(());
        }
        if self.context.agent.is_some() {
            return self.lifecycle(words);
        }
        let parent = self.context.branch.and_then(|branch| branch.parent);
        if let Some(kept) = parent.filter(|kept| *kept < self.prompts) {
            self.emit(EventKind::Rewind { kept })?;
        }
        self.prompts += 1;
        self.emit(EventKind::Prompt(words.into()))
    }

    /// The agent said something, unless it is blank.
    pub fn reply(&mut self, text: Cow<'_, str>) -> Result<()> {
        if text.trim().is_empty() { Ok(()) } else { self.emit(EventKind::Reply(text)) }
    }

    /// The agent thought aloud, unless it is blank.
    pub fn think(&mut self, text: Cow<'_, str>) -> Result<()> {
        if text.trim().is_empty() { Ok(()) } else { self.emit(EventKind::Thinking(text)) }
    }

    /// The agent used a tool.
    pub fn call(&mut self, id: Cow<'_, str>, tool: Cow<'_, str>, input: &str) -> Result<()> {
        let action = tools::action(&tool, input);
        self.act(id, tool, action)
    }

    /// The agent used a tool to do something that is known.
    pub fn act(&mut self, id: Cow<'_, str>, tool: Cow<'_, str>, action: Action) -> Result<()> {
        self.emit(EventKind::Call(Call { id, tool, action, by: Actor::Agent }))
    }

    /// The agent's program did something by itself that the model had asked for in words.
    pub fn apply(&mut self, id: Cow<'_, str>, tool: Cow<'_, str>, action: Action) -> Result<()> {
        self.emit(EventKind::Call(Call { id, tool, action, by: Actor::Program }))
    }

    /// The person ran a command beside the agent; its output comes with [`Transcript::result`].
    pub fn own_command(&mut self, id: Cow<'_, str>, command: &str) -> Result<()> {
        let action = Action::Shell { command: text::cut(command.trim(), 16_000).to_string() };
        let tool = OWN_COMMAND.into();
        self.emit(EventKind::Call(Call { id, tool, action, by: Actor::Person }))
    }

    /// A tool answered. An exit code other than 0 is a failure, too.
    pub fn result(
        &mut self,
        id: Cow<'_, str>,
        content: Content<'_>,
        failed: bool,
        exit_code: Option<i32>,
    ) -> Result<()> {
        let Content { text, images } = content;
        let failed = failed || exit_code.is_some_and(|code| code != 0);
        let state = Default::default();
        self.emit(EventKind::Result(CallResult { id, text, failed, exit_code, images, state }))
    }

    /// The context was full and was summed up; the log need not have the summary.
    pub fn compaction(&mut self, summary: Option<String>) -> Result<()> {
        match summary {
            Some(summary) => self.emit(EventKind::Compaction(summary.into())),
            None => self.lifecycle("context compacted"),
        }
    }

    /// The person stepped in.
    pub fn intervention<'e>(&mut self, how: impl Into<Cow<'e, str>>) -> Result<()> {
        self.emit(EventKind::Intervention(how.into()))
    }

    /// Something happened to the session rather than in it.
    pub fn lifecycle<'e>(&mut self, what: impl Into<Cow<'e, str>>) -> Result<()> {
        self.emit(EventKind::Lifecycle(what.into()))
    }

    /// The agent's turn is over.
    pub fn completion(&mut self) -> Result<()> {
        self.emit(EventKind::Completion)
    }
}

impl RecordContext<'_> {
    fn new(position: Position) -> RecordContext<'static> {
        RecordContext { at: None, position, agent: None, inherited: false, branch: None }
    }
}

/// The tokens of one request, or of several.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: Option<f64>,
}

/// The tokens of a request, as several agents write them.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WireTokens {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
}

impl From<WireTokens> for Tokens {
    fn from(used: WireTokens) -> Tokens {
        Tokens {
            input: used.input_tokens.0,
            output: used.output_tokens.0,
            cache_read: used.cache_read_tokens.0,
            cache_write: used.cache_write_tokens.0,
            cost_usd: None,
        }
    }
}

impl Tokens {
    /// The same, where the log counts what was cached as input, too.
    pub fn without_cached_input(self) -> Tokens {
        let input = self.input.saturating_sub(self.cache_read + self.cache_write);
        Tokens { input, ..self }
    }

    /// Adds them to what a model used before.
    pub fn add_to(self, usage: &mut ModelUsage) {
        usage.input += self.input;
        usage.output += self.output;
        usage.cache_read += self.cache_read;
        usage.cache_write += self.cache_write;
        if let Some(cost) = self.cost_usd {
            *usage.cost_usd.get_or_insert(0.0) += cost;
        }
    }
}

/// The name of the tool, as it were, by which a person runs commands.
const OWN_COMMAND: &str = "own command";

/// Takes no events, for a first look through a log.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&mut self, _: Event<'_>) -> Result<()> {
        Ok(())
    }
}

/// A person's words with a note of what they sent along.
pub fn attached<'a>(words: &'a str, count: u32, noun: &str) -> Cow<'a, str> {
    match count {
        0 => words.trim().into(),
        _ => format!("{words}\n[{count} {noun}(s)]").trim().to_string().into(),
    }
}

/// The hash by which records and texts are known again.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What is wrong with a record that is whole, but not of the shape that the agent writes.
pub fn unexpected_shape(err: &serde_json::Error) -> String {
    format!("an unexpected shape: {err}")
}
