//! Every agent writes its own log dialect; an adapter turns one log into a session's events.
//!
//! Adding an agent is one file here, one entry in [`ALL`], and fixtures. Adapters only read: they
//! say which session a file belongs to ([`Adapter::identify`], judged by content) and hand over its
//! events ([`Adapter::read`]). Where many sessions share one file, it is opened ([`shared`]) and
//! each session's own part written out of it. Copying, hashing and writing are done elsewhere, the
//! same way for all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::text;
use crate::error::{Error, Result};
use crate::model::session::{EventSink, Head, Log, Role};

pub use gather::{Identified, gather, put_in_order};
use schema::Schema;
use shared::{Scratch, Shared, SharedFile};

mod aider;
mod antigravity;
mod blocks;
pub mod children;
mod claude;
mod cline;
mod codex;
mod continue_dev;
mod copilot;
mod crush;
mod cursor;
mod cursor_editor;
pub mod day_status;
mod droid;
mod dsh;
mod editors;
pub mod eventlog;
mod functions;
mod gather;
mod gemini;
mod goose;
mod grok;
mod hermes;
pub mod hooks;
pub mod jsonl;
mod kilo;
mod kimi;
mod kiro;
pub mod launch;
pub mod native;
pub mod noise;
mod omp;
mod openclaw;
mod opencode;
mod pi;
mod qwen;
mod roo;
pub mod rows;
mod schema;
pub mod servers;
pub mod shared;
mod sqlite;
mod tags;
pub mod tools;
pub mod transcript;
mod vibe;
mod vscode;
mod wire;
mod zed;

/// Every adapter, in the order in which they are asked to recognize a log.
pub const ALL: &[&dyn Adapter] = &[
    &codex::Codex,
    &vibe::Vibe,
    &continue_dev::Continue,
    &kiro::Kiro,
    &dsh::Dsh,
    &hermes::Hermes,
    &crush::Crush,
    &zed::Zed,
    &vscode::VsCode,
    &copilot::Copilot,
    &droid::Droid,
    &roo::Roo,
    &kilo::Kilo,
    &cline::Cline,
    &kimi::Kimi,
    &antigravity::Antigravity,
    &omp::OhMyPi,
    &openclaw::OpenClaw,
    &pi::Pi,
    &claude::Claude,
    &qwen::Qwen,
    &gemini::Gemini,
    &opencode::OpenCode,
    &cursor::Cursor,
    &grok::Grok,
    &goose::Goose,
    &aider::Aider,
    &eventlog::EventLog,
];

/// What we know of one agent.
pub trait Adapter: Sync {
    /// The name that users type and that files carry, such as `claude`.
    fn name(&self) -> &'static str;

    /// Where this agent keeps its logs, from its environment and the home directory.
    fn roots(&self, places: &Places) -> Vec<PathBuf>;

    /// The session to which a file belongs, judged by its content; `None` if it is not this
    /// agent's. Where all of its sessions lie in databases, only what was written out of one is.
    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        rows::identify(file, self.name())
    }

    /// The same of a file that was captured as this agent's: what its place says of it is not kept.
    fn identify_kept(&self, file: &Path) -> std::io::Result<Option<Identity>> {
        self.identify(file)
    }

    /// What its database holds, where it keeps its sessions in one.
    fn schema(&self) -> Option<&'static Schema> {
        None
    }

    /// Opens a file in which many of its sessions lie and that is no database; `None` where it is
    /// no such file.
    fn share(&self, _file: &Path) -> std::io::Result<Option<Box<dyn Shared>>> {
        Ok(None)
    }

    /// When this agent deletes its own logs, where it does.
    fn deletion(&self, _places: &Places) -> Option<Deletion> {
        None
    }

    /// Reads one session and hands its events over one by one, so that no log is ever held whole.
    /// A bad line is named in [`Head::skipped`]; only an unusable log is an error.
    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head>;

    /// The folder in which the session of a log worked, from what the agent keeps around the log.
    /// It is asked for once, when the session is first captured and its log does not say.
    fn folder_of(&self, _log: &Path) -> Option<String> {
        None
    }

    /// The file in a project from which this agent takes instructions.
    fn instructions(&self) -> &'static str {
        "AGENTS.md"
    }
}

/// How an agent deletes its own logs, and what keeps it from doing so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// So many days after a log was last written to.
    pub after_days: u32,
    /// The settings file in which that is said, or could be.
    pub settings: PathBuf,
    /// What to write there.
    pub advice: &'static str,
}

/// Where to look: the home directory and the environment, handed in by an entry point.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The person's home directory.
    pub home: PathBuf,
    /// The environment variables that agents honour, such as `CLAUDE_CONFIG_DIR`.
    pub environment: BTreeMap<String, String>,
}

impl Places {
    /// The folder that an environment variable names, or a folder below the home directory.
    pub fn folder(&self, variable: &str, below_home: &str) -> PathBuf {
        self.variable(variable).map_or_else(|| self.home.join(below_home), PathBuf::from)
    }

    /// What an environment variable says, where it is set.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// What one file is to its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The agent's own id of the session; untrusted, and never used as a path.
    pub native_id: String,
    /// What the file holds.
    pub role: Role,
    /// The conversation's first record. Two files with the same one are the same conversation,
    /// although their ids differ: some agents copy the whole history into a new file on resume.
    pub lineage: Option<String>,
    /// The record that the first one goes on from, where it is not in the same file. A file with
    /// the same id that has it is an earlier part of the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// The first record of a fork that copied its origin's, where it does not name the origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<String>,
    /// The session whose subagent this one is, where each has a log of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

impl Identity {
    /// A file of the conversation itself.
    pub fn main(native_id: impl Into<String>, lineage: Option<String>) -> Identity {
        Identity { lineage, ..Identity::beside(native_id, Role::Main) }
    }

    /// Another file of a session, or one without a lineage.
    pub fn beside(native_id: impl Into<String>, role: Role) -> Identity {
        let native_id = native_id.into();
        Identity { native_id, role, lineage: None, follows: None, forked: None, parent: None }
    }

    /// The same, of a session that another one started as its subagent.
    pub fn started_by(self, parent: Option<String>) -> Identity {
        let parent = parent.filter(|parent| !parent.is_empty() && *parent != self.native_id);
        Identity { parent, ..self }
    }
}

/// Finds an adapter by its name.
pub fn named(name: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|adapter| adapter.name() == name)
}

/// Finds an adapter by its name, or says which names there are.
pub fn known(name: &str) -> Result<&'static dyn Adapter> {
    named(name).ok_or_else(|| {
        let mut names: Vec<&str> = ALL.iter().map(|adapter| adapter.name()).collect();
        names.sort_unstable();
        let error = Error::usage(format!("unknown agent `{name}`; known: {}", names.join(", ")));
        match text::nearest(name, names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

/// Asks every adapter in turn whether a file is its own.
pub fn recognize(file: &Path) -> std::io::Result<Option<(&'static dyn Adapter, Identity)>> {
    for adapter in ALL {
        if let Some(identity) = adapter.identify(file)? {
            return Ok(Some((*adapter, identity)));
        }
    }
    refuse_unreadable(file)?;
    Ok(None)
}

/// Names a log of which nothing can be read: one that somebody saved in UTF-16, which no agent
/// writes, or one that the disk lost and left NUL bytes in its place.
fn refuse_unreadable(file: &Path) -> std::io::Result<()> {
    let is_log = file.extension().is_some_and(|end| end == "jsonl" || end == "json");
    let head = if is_log { shared::first_bytes(file, 512).unwrap_or_default() } else { Vec::new() };
    let reason = match head.as_slice() {
        [] => return Ok(()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "a log in UTF-16: save it as UTF-8 to have it read",
        bytes if bytes.iter().all(|byte| *byte == 0) => {
            "nothing but NUL bytes, at least where it begins: what was written there is lost"
        }
        _ => return Ok(()),
    };
    Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
}

/// Asks every adapter in turn whether many of its sessions lie in a file, and opens it.
pub fn open_shared(file: &Path, scratch: &Scratch) -> std::io::Result<Option<SharedFile>> {
    if let Some(database) = sqlite::Database::open(file, scratch)? {
        return schema::recognize(database);
    }
    if schema::is_called_as_one(file)? {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            "called as an agent's database, but none; it may be damaged",
        ));
    }
    for adapter in ALL {
        if let Some(shared) = adapter.share(file)? {
            return Ok(Some((*adapter, shared)));
        }
    }
    Ok(None)
}
