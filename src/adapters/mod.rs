//! Every agent writes its own log dialect; an adapter turns one log into a session's events.
//!
//! Adding an agent is one file here, one entry in [`ALL`], and fixtures. Adapters only read: they
//! say which session a file belongs to ([`Adapter::identify`], judged by content) and hand over its
//! events ([`Adapter::read`]). Where many sessions share one file, it is opened ([`shared`]) and
//! each session's own part written out of it. Copying, hashing and writing are done elsewhere, the
//! same way for all.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::files;
use crate::error::Result;
use crate::model::session::{EventSink, Head, Log, LogFile, Role, Skipped, Source};

use hooks::HookSpec;
use shared::{Scratch, Shared, SharedFile};
use sqlite::Schema;

mod aider;
mod claude;
mod codex;
mod copilot;
mod cursor;
pub mod eventlog;
mod gemini;
mod goose;
mod grok;
pub mod hooks;
pub mod jsonl;
mod opencode;
mod pi;
mod qwen;
pub mod rows;
pub mod shared;
mod sqlite;
pub mod tools;
pub mod transcript;
mod wire;

/// Every adapter, in the order in which they are asked to recognize a log.
pub const ALL: &[&dyn Adapter] = &[
    &codex::Codex,
    &copilot::Copilot,
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
    /// agent's.
    fn identify(&self, file: &Path) -> std::io::Result<Option<Identity>>;

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
    /// A bad line becomes a [`Skipped`]; only an unusable log is an error.
    fn read(&self, log: &Log, events: &mut dyn EventSink) -> Result<Head>;

    /// How it calls us, where it has hooks.
    fn hooks(&self) -> Option<HookSpec> {
        None
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The agent's own id of the session; untrusted, and never used as a path.
    pub native_id: String,
    /// What the file holds.
    pub role: Role,
    /// The conversation's first record. Two files with the same one are the same conversation,
    /// although their ids differ: some agents copy the whole history into a new file on resume.
    pub lineage: Option<String>,
}

impl Identity {
    /// A file of the conversation itself.
    pub fn main(native_id: impl Into<String>, lineage: Option<String>) -> Identity {
        Identity { native_id: native_id.into(), role: Role::Main, lineage }
    }

    /// Another file of a session, or one without a lineage.
    pub fn beside(native_id: impl Into<String>, role: Role) -> Identity {
        Identity { native_id: native_id.into(), role, lineage: None }
    }
}

/// Finds an adapter by its name.
pub fn named(name: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|adapter| adapter.name() == name)
}

/// Asks every adapter in turn whether a file is its own.
pub fn recognize(file: &Path) -> std::io::Result<Option<(&'static dyn Adapter, Identity)>> {
    for adapter in ALL {
        if let Some(identity) = adapter.identify(file)? {
            return Ok(Some((*adapter, identity)));
        }
    }
    Ok(None)
}

/// Asks every adapter in turn whether many of its sessions lie in a file, and opens it.
pub fn open_shared(file: &Path, scratch: &Scratch) -> std::io::Result<Option<SharedFile>> {
    if let Some(database) = sqlite::Database::open(file, scratch)? {
        return sqlite::recognize(database);
    }
    for adapter in ALL {
        if let Some(shared) = adapter.share(file)? {
            return Ok(Some((*adapter, shared)));
        }
    }
    Ok(None)
}

/// A file with what it is, as [`gather`] takes it.
#[derive(Debug, Clone)]
pub struct Identified {
    /// Where the file is.
    pub path: PathBuf,
    /// Which agent's it is.
    pub flavor: &'static str,
    /// How long it is.
    pub size: u64,
    /// What it is to its session.
    pub identity: Identity,
    /// Whether other sessions lie in it too.
    pub shared: bool,
}

/// Puts the files of one session together: resumed parts by their lineage, subagents and
/// attachments by their session's id. What claims an id without being the same conversation becomes
/// a session of its own, and is named in the second list.
///
/// `owner` gives the id under which a conversation, named by its lineage, was captured before: it
/// keeps that id whatever becomes of its files.
pub fn gather(
    mut found: Vec<Identified>,
    owner: impl Fn(&str, &str) -> Option<String>,
) -> (Vec<Source>, Vec<Skipped>) {
    let owner_of = |file: &Identified| owner(file.flavor, file.identity.lineage.as_deref()?);
    // Where an agent copied a conversation into a new file on resume, the shorter file is the older
    // one; it comes first and gives the session its id, unless the session has one already.
    found.sort_by_cached_key(|file| (owner_of(file).is_none(), file.size, file.path.clone()));
    let mut sources: Vec<Source> = Vec::new();
    let mut skipped = Vec::new();
    let mut by_lineage: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut by_id: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let (main, rest): (Vec<&Identified>, Vec<&Identified>) =
        found.iter().partition(|f| f.identity.role == Role::Main);
    for file in main {
        let (flavor, identity) = (file.flavor, &file.identity);
        let same = identity
            .lineage
            .as_deref()
            .and_then(|lineage| by_lineage.get(&(flavor, lineage)).copied());
        let id = owner_of(file).unwrap_or_else(|| identity.native_id.clone());
        let taken = by_id.get(&(flavor, id.clone())).copied();
        let at = match (same, taken) {
            (Some(at), _) => at,
            (None, None) => {
                sources.push(Source { flavor, native_id: id.clone(), files: Vec::new() });
                sources.len() - 1
            }
            (None, Some(at)) => {
                let first = sources[at].files[0].path.display().to_string();
                skipped.push(Skipped {
                    path: file.path.clone(),
                    line: 0,
                    reason: format!(
                        "claims the session id of `{first}` but is another conversation; kept as a session of its own"
                    ),
                });
                sources.push(Source {
                    flavor,
                    native_id: format!("{}~{}", identity.native_id, short_hash(&own_mark(file))),
                    files: Vec::new(),
                });
                sources.len() - 1
            }
        };
        if let Some(lineage) = identity.lineage.as_deref() {
            by_lineage.entry((flavor, lineage)).or_insert(at);
        }
        by_id.entry((flavor, id)).or_insert(at);
        by_id.entry((flavor, identity.native_id.clone())).or_insert(at);
        sources[at].files.push(log_file(file));
    }
    for file in rest {
        let key = (file.flavor, file.identity.native_id.clone());
        let at = match by_id.get(&key).copied() {
            Some(at) => at,
            // A subagent whose main log is gone is still a conversation worth keeping; a lone
            // attachment is not.
            None if file.identity.role == Role::Attachment => continue,
            None => {
                sources.push(Source {
                    flavor: file.flavor,
                    native_id: file.identity.native_id.clone(),
                    files: Vec::new(),
                });
                by_id.insert(key, sources.len() - 1);
                sources.len() - 1
            }
        };
        sources[at].files.push(log_file(file));
    }
    for source in &mut sources {
        // The main conversation first (shorter files before longer ones), the rest by name.
        source.files.sort_by(|a, b| match (&a.role, &b.role) {
            (Role::Main, Role::Main) => std::cmp::Ordering::Equal,
            (Role::Main, _) => std::cmp::Ordering::Less,
            (_, Role::Main) => std::cmp::Ordering::Greater,
            _ => a.path.cmp(&b.path),
        });
        name_files(&mut source.files);
    }
    (sources, skipped)
}

/// Names the files as they will be called in the snapshot: as they lie around the main one, with
/// safe names.
fn name_files(files: &mut [LogFile]) {
    let base = files
        .first()
        .and_then(|file| file.path.parent())
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let mut taken = std::collections::HashSet::new();
    for file in files {
        let mut name = match (&file.within, &file.role) {
            // What is taken out of a shared file is called after the session.
            (Some(id), Role::Main) => {
                let lines = file.path.extension().is_some_and(|extension| extension == "md");
                let end = if lines { "md" } else { "rows.jsonl" };
                PathBuf::from(format!("{}.{end}", files::safe_name(id, 100)))
            }
            _ => {
                let below =
                    file.path.strip_prefix(&base).ok().or(file.path.file_name().map(Path::new));
                let parts = below.unwrap_or(Path::new("log")).components();
                parts
                    .map(|part| files::safe_name(&part.as_os_str().to_string_lossy(), 120))
                    .collect()
            }
        };
        if !taken.insert(name.clone()) {
            name = Path::new(&taken.len().to_string()).join(name);
            taken.insert(name.clone());
        }
        file.name = name;
    }
}

fn log_file(file: &Identified) -> LogFile {
    LogFile {
        path: file.path.clone(),
        name: PathBuf::new(),
        role: file.identity.role.clone(),
        within: file.shared.then(|| file.identity.native_id.clone()),
    }
}

/// What distinguishes a file from another that claims the same id, on whatever device it lies: how its
/// conversation begins, else its name.
fn own_mark(file: &Identified) -> Cow<'_, str> {
    let name = || file.path.file_name().unwrap_or_default().to_string_lossy();
    file.identity.lineage.as_deref().map_or_else(name, Cow::Borrowed)
}

fn short_hash(mark: &str) -> String {
    files::sha256_hex(mark.as_bytes())[..8].to_string()
}
