//! A session: one conversation with one agent, as a stream of events.
//!
//! A [`Source`] is where the agent keeps it, a [`Log`] the files to read it from, an [`Event`] one
//! thing that happened in it. No log is ever held whole: adapters hand events over one by one to an
//! [`EventSink`] and give back a [`Head`] with what is known of the session as a whole.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::evidence::FileState;
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::error::Result;

/// An agent's own log on disk; never modified by us.
#[derive(Debug, Clone)]
pub struct Source {
    /// Which agent, such as `claude`.
    pub flavor: &'static str,
    /// The agent's own id of the session.
    pub native_id: String,
    /// The files that hold it, the main one first.
    pub files: Vec<LogFile>,
    /// The session that it was forked from, by the agent's own id, where only both logs together
    /// show it.
    pub origin: Option<String>,
}

impl Source {
    /// The id that ties a digest to the agent's own session: `claude:<uuid>`.
    pub fn source_id(&self) -> String {
        Source::id(self.flavor, &self.native_id)
    }

    /// The ids of the subagents' own sessions that are read as parts of this one.
    pub fn children(&self) -> BTreeSet<String> {
        let children = self.files.iter().filter_map(|file| file.child.as_deref());
        children.map(|child| Source::id(self.flavor, child)).collect()
    }

    /// The same, of an agent and its own id.
    pub fn id(flavor: &str, native_id: &str) -> String {
        format!("{flavor}:{}", Source::shown_id(native_id))
    }

    /// An agent's own id of a session as pages may show it: one that holds a secret is known by its
    /// hash.
    pub fn shown_id(native_id: &str) -> Cow<'_, str> {
        static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
        // Nearly all are UUIDs or short numbers, and need no look.
        let is_plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        if native_id.len() < 16
            || native_id.bytes().all(is_plain)
            || REDACTOR.find(native_id).is_empty()
        {
            return native_id.into();
        }
        format!("redacted-{}", &files::sha256_hex(native_id.as_bytes())[..16]).into()
    }

    /// The name of one of its files as lists may show it. A file is mostly called after its
    /// session, so both are shown alike.
    pub fn shown_name(name: &Path) -> PathBuf {
        let shown = |part: &OsStr| match part.to_str().map(Path::new) {
            // What is no text is no key either.
            None => part.to_os_string(),
            Some(part) => {
                let stem = part.file_stem().and_then(OsStr::to_str).unwrap_or_default();
                match Source::shown_id(stem) {
                    Cow::Borrowed(_) => part.as_os_str().to_os_string(),
                    Cow::Owned(stem) => {
                        let ending = part.extension().and_then(OsStr::to_str);
                        ending.map_or(stem.clone(), |ending| format!("{stem}.{ending}")).into()
                    }
                }
            }
        };
        name.components().map(|part| shown(part.as_os_str())).collect()
    }
}

/// One file of a session.
#[derive(Debug, Clone)]
pub struct LogFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called in `snapshot/raw/`: relative, with safe components only.
    pub name: PathBuf,
    /// What it holds.
    pub role: Role,
    /// The session's id within a file that many sessions share; then only its own part is meant.
    pub within: Option<String>,
    /// The subagent's own session whose file it is, where that has a log of its own: what it holds
    /// is said of that one.
    pub child: Option<String>,
}

/// What a file of a session holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The conversation itself, or a resumed part of it.
    Main,
    /// A subagent's own conversation.
    Subagent(String),
    /// Something that belongs to the session and is kept, but not read.
    Attachment,
}

/// The files to read a session from: the agent's own, or our copy of them.
#[derive(Debug, Clone)]
pub struct Log {
    /// The agent's own id of the session.
    pub native_id: String,
    /// The files, the main one first.
    pub files: Vec<LogFile>,
}

/// Takes the events of a session, in the order of the log.
pub trait EventSink {
    /// Takes one event; an error (a full disk, say) ends the reading.
    fn event(&mut self, event: Event<'_>) -> Result<()>;

    /// Takes one record that could not be read. A log may have a million of them, so they are not
    /// held: the [`Head`] has the first of each file and their number.
    fn skipped(&mut self, skipped: &Skipped) {
        let _ = skipped;
    }
}

/// One thing that happened in a session.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// When, where the log says so.
    pub at: Option<Timestamp>,
    /// The file (its position in [`Log::files`]) and line (from 1) where it stands.
    pub position: Position,
    /// The subagent in which it happened; `None` is the main conversation.
    pub agent: Option<&'a str>,
    /// Whether it is a copy of another session's record (a fork's beginning).
    pub inherited: bool,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// Where in the log an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Position in [`Log::files`].
    pub file: u32,
    /// Line number, from 1; for logs without lines the record's number.
    pub line: u64,
}

/// The kinds of things that happen in a session.
#[derive(Debug, Clone)]
pub enum EventKind<'a> {
    /// The person said something: a new episode begins.
    Prompt(Cow<'a, str>),
    /// The person took back the latest episodes and goes on from an earlier one.
    Rewind {
        /// The number of prompts that still stand: the conversation goes on after that episode.
        kept: u32,
    },
    /// The person stepped in: interrupted, refused a tool, answered a question.
    Intervention(Cow<'a, str>),
    /// The agent said something.
    Reply(Cow<'a, str>),
    /// The agent thought aloud.
    Thinking(Cow<'a, str>),
    /// The agent used a tool.
    Call(Call<'a>),
    /// A tool answered.
    Result(CallResult<'a>),
    /// The agent's own summary of what came before, made when its context was full.
    Compaction(Cow<'a, str>),
    /// Something about the session rather than in it: a model error, a change of mode.
    Lifecycle(Cow<'a, str>),
    /// The agent's turn is over.
    Completion,
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// Joins it to its answer.
    pub id: Cow<'a, str>,
    /// The tool's name as the agent calls it.
    pub tool: Cow<'a, str>,
    /// What it was asked to do.
    pub action: Action,
    /// Who made it.
    pub by: Actor,
}

/// Who made a call: only what the agent does counts as its work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Actor {
    /// The agent, by one of its tools.
    #[default]
    Agent,
    /// The person, beside the agent: `! ls`.
    Person,
    /// The agent's program, by itself: it applies and commits what the model wrote.
    Program,
}

/// What a tool was asked to do, said the same way for every agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Run a command.
    Shell { command: String },
    /// Change or create files.
    Edit { files: Vec<FileChange>, text: String },
    /// Read a file.
    Read { path: String },
    /// Search files or the web.
    Search { query: String },
    /// Hand a task to a subagent.
    Delegate { task: String },
    /// Keep a list of things to do.
    Plan { text: String },
    /// Ask the person.
    Ask { question: String },
    /// Make a commit, by a tool that tells its hash.
    Commit { hash: String, message: String },
    /// Anything else, with its input as compact JSON.
    Other { input: String },
}

/// A file that a tool was asked to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path as the agent writes it.
    pub path: String,
    /// What it is like afterwards, where the call says so.
    pub state: FileState,
}

impl FileChange {
    /// A file of which only the path is known.
    pub fn of(path: String) -> FileChange {
        FileChange { path, state: FileState::Unknown }
    }
}

/// A tool's answer.
#[derive(Debug, Clone, Default)]
pub struct CallResult<'a> {
    /// The id of the call it answers.
    pub id: Cow<'a, str>,
    /// What the tool printed, without images.
    pub text: Cow<'a, str>,
    /// Whether the agent's log says that the call failed.
    pub failed: bool,
    /// The exit code, where the log says so.
    pub exit_code: Option<i32>,
    /// Images and other attachments that were left out of the text.
    pub images: u32,
    /// What the changed file is like now, where the answer says so.
    pub state: FileState,
}

/// What is known of a session as a whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Head {
    /// The title that the agent or the person gave it.
    pub title: Option<String>,
    /// Whether the log says that the person gave it that title.
    pub titled_by_person: bool,
    /// The folder in which it began.
    pub cwd: Option<String>,
    /// The git branch it last was on.
    pub branch: Option<String>,
    /// The git remote, where the log says so.
    pub remote: Option<String>,
    /// The commit it began at, where the log says so.
    pub head_commit: Option<String>,
    /// The models that answered, in order of appearance, with what they used.
    pub usage: Vec<ModelUsage>,
    /// The agent program's version.
    pub version: Option<String>,
    /// The session it was forked from, continues or was started by, by the agent's own id.
    pub parent: Option<String>,
    /// Who began it.
    pub begun_by: BegunBy,
    /// Pull requests opened in it.
    pub pull_requests: Vec<String>,
    /// Whether the log says that the session was ended (rather than just stopping).
    pub ended: bool,
    /// Records read, with those that are copies of another session's.
    pub records: u64,
    /// Copies of another session's records.
    pub inherited: u64,
    /// Records that are known noise or of an unknown kind, by kind.
    pub ignored: BTreeMap<String, u64>,
    /// Records that could not be read: the first of each file.
    pub skipped: Vec<Skipped>,
    /// How many there are in all.
    pub skipped_total: u64,
}

/// How many of the records that could not be read are shown of each file.
pub const MOST_SKIPPED_SHOWN: usize = 20;

impl Head {
    /// Counts a record that could not be read, and keeps it if it is among the first of its file.
    pub fn skip(&mut self, skipped: Skipped) {
        self.skipped_total += 1;
        let of_file = self.skipped.iter().rev().take_while(|one| one.path == skipped.path).count();
        if of_file < MOST_SKIPPED_SHOWN {
            self.skipped.push(skipped);
        }
    }
}

/// Who began a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BegunBy {
    /// A person, or a script in their name.
    #[default]
    Person,
    /// An agent that handed a task to it: it is a subagent.
    Agent,
    /// The agent's program, for its own ends: to approve a call, to sum up a context.
    Program,
}

impl BegunBy {
    /// Whether a person began it.
    pub fn is_person(self) -> bool {
        self == BegunBy::Person
    }

    /// Whether another session did, or the agent's program.
    pub fn is_machine(self) -> bool {
        !self.is_person()
    }
}

/// The tokens that one model used in a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The model's name as the agent writes it.
    pub model: String,
    /// Fresh input tokens.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// What the log itself says that it cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// A record that could not be read: shown as `path:line: reason`, kept with the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The file, as the agent has it.
    pub path: PathBuf,
    /// The line, from 1; 0 where the whole file is meant.
    pub line: u64,
    /// Why.
    pub reason: String,
}
