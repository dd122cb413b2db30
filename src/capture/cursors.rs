//! Cursors: what each source file was when it was last looked at, so that an unchanged sweep is a
//! walk.
//!
//! They are only a cache. Without them files are looked into and compared with the digests'
//! manifests, and the answer is the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::Identity;
use crate::adapters::shared::{Beside, SharedSession};
use crate::base::clock::Timestamp;
use crate::base::files::Stamp;
use crate::model::ids::{Device, SessionId};
use crate::model::session::Source;
use crate::store::local::StateFile;

/// All that is remembered between sweeps.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cursors {
    version: String,
    /// By source path.
    files: HashMap<String, FileCursor>,
    /// By session id.
    sessions: HashMap<SessionId, SessionCursor>,
    /// The id under which a conversation was captured, by agent and lineage.
    #[serde(default)]
    lineages: HashMap<String, String>,
    /// The sessions that are left out, by the agents' own ids, with the settings that say so.
    #[serde(default)]
    excluded: HashMap<String, String>,
    /// Whether anything is to be written.
    #[serde(skip)]
    changed: bool,
}

/// One source file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileCursor {
    /// How it looked when it was last captured, or found to be no log.
    pub stamp: Stamp,
    /// Whose it is; `None` for a file that is no log.
    pub known: Option<KnownFile>,
    /// The sessions in it, where many share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedCursor>,
}

/// A file that many sessions share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCursor {
    pub flavor: String,
    /// How the files beside it looked that belong to it.
    pub beside: Beside,
    /// By the agent's own id.
    pub sessions: BTreeMap<String, SharedPart>,
}

/// What one session has in a shared file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPart {
    pub session: SharedSession,
    /// Whether the memory holds this revision.
    pub captured: bool,
}

/// What a file is to its session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KnownFile {
    pub flavor: String,
    pub identity: Identity,
}

/// One session of the tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionCursor {
    pub source_id: String,
    /// When it counts as over, if it is still open.
    pub open_until: Option<Timestamp>,
    /// The disk use of its snapshot on this device, if it is this device's own.
    pub bytes: u64,
    /// When it was captured or last grew, while its raw is here and may be evicted.
    pub raw_since: Option<Timestamp>,
}

/// Changes whenever adapters may see files in another way than before.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/7");

impl Cursors {
    /// Reads the cursors; a missing, older or damaged file is an empty one.
    pub fn load(path: &Path) -> Cursors {
        Cursors::read(path).unwrap_or_default()
    }

    /// Whether the file can be read, and is of this version.
    pub fn is_readable(path: &Path) -> bool {
        Cursors::read(path).is_some()
    }

    fn read(path: &Path) -> Option<Cursors> {
        Cursors::file(path).read().filter(|cursors| cursors.version == VERSION)
    }

    fn file(path: &Path) -> StateFile<Cursors> {
        StateFile::cache(path.to_path_buf())
    }

    /// Writes the cursors, if there is anything new in them.
    pub fn save(&mut self, path: &Path) -> std::io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        self.version = VERSION.into();
        self.changed = false;
        Cursors::file(path).save(self).map(drop)
    }

    /// What is remembered of a file that looks the same as then.
    pub fn unchanged(&self, path: &Path, stamp: &Stamp) -> Option<&FileCursor> {
        self.files.get(path.to_str()?).filter(|cursor| cursor.stamp == *stamp)
    }

    /// Remembers a file. A path that is not UTF-8 is not remembered, and looked into each time.
    pub fn remember(&mut self, path: PathBuf, stamp: Stamp, known: Option<KnownFile>) {
        if let Ok(path) = path.into_os_string().into_string() {
            self.files.insert(path, FileCursor { stamp, known, shared: None });
            self.changed = true;
        }
    }

    /// What is remembered of a shared file, however it looks now.
    pub fn shared(&self, path: &Path) -> Option<&SharedCursor> {
        self.files.get(path.to_str()?)?.shared.as_ref()
    }

    /// Remembers a shared file and the sessions in it.
    pub fn remember_shared(&mut self, path: PathBuf, stamp: Stamp, shared: SharedCursor) {
        if let Ok(path) = path.into_os_string().into_string() {
            self.files.insert(path, FileCursor { stamp, known: None, shared: Some(shared) });
            self.changed = true;
        }
    }

    /// Whether the memory holds what a session has in a shared file.
    pub fn holds(&self, path: &Path, native_id: &str) -> bool {
        self.shared(path)
            .and_then(|shared| shared.sessions.get(native_id))
            .is_some_and(|part| part.captured)
    }

    /// Remembers that the memory holds what a session has in a shared file.
    pub fn remember_part(&mut self, path: &Path, native_id: &str) {
        let shared = path.to_str().and_then(|path| self.files.get_mut(path)?.shared.as_mut());
        if let Some(part) = shared.and_then(|shared| shared.sessions.get_mut(native_id))
            && !part.captured
        {
            part.captured = true;
            self.changed = true;
        }
    }

    /// The id under which a conversation was captured before.
    pub fn owner(&self, flavor: &str, lineage: &str) -> Option<&String> {
        self.lineages.get(&format!("{flavor}:{lineage}"))
    }

    /// Remembers under which id a conversation was captured; the first one counts.
    pub fn remember_owner(&mut self, flavor: &str, lineage: &str, native_id: &str) {
        if self.owner(flavor, lineage).is_none() {
            self.lineages.insert(format!("{flavor}:{lineage}"), native_id.to_string());
            self.changed = true;
        }
    }

    /// Whether a session was left out under these settings.
    pub fn is_excluded(&self, source_id: &str, settings: &str) -> bool {
        self.excluded.get(source_id).is_some_and(|then| then == settings)
    }

    /// Remembers that a session is left out under these settings.
    pub fn remember_excluded(&mut self, source_id: String, settings: String) {
        self.excluded.insert(source_id, settings);
        self.changed = true;
    }

    /// What is remembered of a session of the tree.
    pub fn session(&self, id: &SessionId) -> Option<&SessionCursor> {
        self.sessions.get(id)
    }

    /// The session that has this id with its agent.
    pub fn with_native_id(&self, native_id: &str) -> Option<SessionId> {
        let native_id = Source::shown_id(native_id);
        let is_it = |cursor: &SessionCursor| {
            cursor.source_id.split_once(':').is_some_and(|(_, id)| id == native_id)
        };
        self.sessions.iter().find(|(_, cursor)| is_it(cursor)).map(|(id, _)| id.clone())
    }

    /// Remembers a session of the tree.
    pub fn remember_session(&mut self, id: &SessionId, cursor: SessionCursor) {
        self.sessions.insert(id.clone(), cursor);
        self.changed = true;
    }

    /// Forgets the sessions that the tree does not hold.
    pub fn keep_sessions(&mut self, is_there: impl Fn(&SessionId) -> bool) {
        let before = self.sessions.len();
        self.sessions.retain(|id, _| is_there(id));
        self.changed |= self.sessions.len() < before;
    }

    /// The disk use of all snapshots.
    pub fn bytes(&self) -> u64 {
        self.sessions.values().map(|cursor| cursor.bytes).sum()
    }

    /// The sources of this device's sessions whose raw is here.
    pub fn sources_with_raw(&self) -> HashSet<&str> {
        let own = self.sessions.values().filter(|cursor| cursor.raw_since.is_some());
        own.map(|cursor| cursor.source_id.as_str()).collect()
    }

    /// Since when there is raw, oldest first.
    pub fn raw_since(&self) -> impl Iterator<Item = Timestamp> {
        self.sessions.values().filter_map(|cursor| cursor.raw_since)
    }

    /// The sessions that are open and should not be any more.
    pub fn due(&self, now: Timestamp) -> Vec<SessionId> {
        let over = |cursor: &SessionCursor| cursor.open_until.is_some_and(|until| until <= now);
        self.sessions.iter().filter(|(_, cursor)| over(cursor)).map(|(id, _)| id.clone()).collect()
    }

    /// When the first open session that is written here will be over.
    pub fn next_due(&self, device: &Device) -> Option<Timestamp> {
        let is_here = |id: &SessionId, cursor: &SessionCursor| {
            id.device == *device || cursor.raw_since.is_some()
        };
        let here = self.sessions.iter().filter(|(id, cursor)| is_here(id, cursor));
        here.filter_map(|(_, cursor)| cursor.open_until).min()
    }
}

impl SharedCursor {
    /// The sessions that were found in a file; `before` says which of them the memory holds
    /// already.
    pub fn new(
        flavor: &str,
        beside: Beside,
        found: Vec<SharedSession>,
        before: Option<&SharedCursor>,
    ) -> SharedCursor {
        let sessions = found.into_iter().map(|session| {
            let part = before.and_then(|before| before.sessions.get(&session.native_id));
            let is_same =
                |part: &SharedPart| part.captured && part.session.revision == session.revision;
            let captured = part.is_some_and(is_same);
            (session.native_id.clone(), SharedPart { session, captured })
        });
        SharedCursor { flavor: flavor.to_string(), beside, sessions: sessions.collect() }
    }

    /// What the file is to each session in it.
    pub fn identities(&self) -> impl Iterator<Item = Identity> {
        self.sessions.values().map(|SharedPart { session, .. }| Identity {
            lineage: session.lineage.clone(),
            parent: session.parent.clone(),
            ..Identity::beside(session.native_id.as_str(), session.role.clone())
        })
    }
}
