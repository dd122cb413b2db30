//! Files in which many sessions lie: the databases of some agents, and Aider's history.
//!
//! Such a file is not copied. What one session has in it is written out in a canonical form, so
//! that the same content always gives the same bytes, and that extract is the session's raw. Each
//! session has a revision that changes whenever its part does; an agent at work does not make all
//! its sessions news.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::Adapter;
use crate::base::files::{self, Stamp};
use crate::model::session::Role;

/// One session of a shared file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSession {
    /// The agent's own id of the session; untrusted, and never used as a path.
    pub native_id: String,
    /// Changes whenever the session's part of the file does.
    pub revision: String,
    /// What the part is to its session.
    pub role: Role,
    /// As in [`super::Identity::lineage`].
    pub lineage: Option<String>,
    /// As in [`super::Identity::parent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A file in which many sessions lie, open for reading.
pub trait Shared: Send {
    /// The sessions in it, in a stable order.
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>>;

    /// Writes what one session has in it, in a canonical form.
    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()>;
}

/// A list that an agent keeps of all its sessions: each takes what it says of it as a file beside
/// its log.
#[derive(Default)]
pub struct SessionList(BTreeMap<String, Vec<u8>>);

impl SessionList {
    /// Adds to what the list says of a session.
    pub fn add(&mut self, native_id: &str, bytes: &[u8]) {
        self.0.entry(native_id.to_string()).or_default().extend_from_slice(bytes);
    }

    /// Whether it names no session.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Shared for SessionList {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let sessions = self.0.iter().map(|(id, bytes)| SharedSession {
            native_id: id.clone(),
            revision: files::sha256_hex(bytes)[..16].to_string(),
            role: Role::Attachment,
            lineage: None,
            parent: None,
        });
        Ok(sessions.collect())
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.get(native_id).map_or(&[], Vec::as_slice))
    }
}

/// The shared files of one sweep: each is opened when it is first asked for, and once.
pub struct SharedFiles {
    scratch: Scratch,
    open: Mutex<HashMap<PathBuf, Opened>>,
}

/// An open file and whose it is.
pub type SharedFile = (&'static dyn Adapter, Box<dyn Shared>);

/// A file that was opened; `None` where it is nobody's.
type Opened = Option<(&'static dyn Adapter, Arc<Mutex<Box<dyn Shared>>>)>;

impl SharedFiles {
    /// Keeps what has to be copied for reading in a folder, which is made when it is needed.
    pub fn with_copies_in(folder: PathBuf) -> SharedFiles {
        SharedFiles { scratch: Scratch::Folder(folder), open: Mutex::default() }
    }

    /// Keeps what has to be copied for reading in a temporary folder, which goes away with it.
    pub fn with_temporary_copies() -> SharedFiles {
        SharedFiles { scratch: Scratch::Temporary(OnceLock::new()), open: Mutex::default() }
    }

    /// The agent whose file it is and the sessions in it; `None` where no agent shares it among
    /// sessions.
    pub fn list(
        &self,
        file: &Path,
    ) -> io::Result<Option<(&'static dyn Adapter, Vec<SharedSession>)>> {
        let Some((adapter, shared)) = self.opened(file)? else { return Ok(None) };
        let sessions = shared.lock().unwrap_or_else(PoisonError::into_inner).sessions()?;
        Ok(Some((adapter, sessions)))
    }

    /// Writes what one session has in a file.
    pub fn extract(&self, file: &Path, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        let Some((_, shared)) = self.opened(file)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no agent's file any more"));
        };
        shared.lock().unwrap_or_else(PoisonError::into_inner).extract(native_id, out)
    }

    fn opened(&self, file: &Path) -> io::Result<Opened> {
        // Files are few; that one waits for another to be opened costs nothing.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.get(file) {
            return Ok(opened.clone());
        }
        let opened = super::open_shared(file, &self.scratch)?
            .map(|(adapter, shared)| (adapter, Arc::new(Mutex::new(shared))));
        open.insert(file.to_path_buf(), opened.clone());
        Ok(opened)
    }
}

/// Where copies are kept that have to be made for reading.
pub enum Scratch {
    Folder(PathBuf),
    Temporary(OnceLock<tempfile::TempDir>),
}

impl Scratch {
    /// An empty folder of its own for the copy of a file; nobody else can look into it.
    pub fn folder_for(&self, file: &Path) -> io::Result<PathBuf> {
        let below = match self {
            Scratch::Folder(folder) => folder.clone(),
            Scratch::Temporary(once) => match once.get() {
                Some(folder) => folder.path().to_path_buf(),
                None => {
                    let made = tempfile::Builder::new().prefix("memtree-").tempdir()?;
                    once.get_or_init(|| made).path().to_path_buf()
                }
            },
        };
        let folder = below.join(&files::sha256_hex(file.to_string_lossy().as_bytes())[..16]);
        files::remove_folder(&folder)?;
        files::create_private_dir(&folder)?;
        Ok(folder)
    }
}

/// How the files beside a database look that hold what is not in it yet: its write-ahead log, its
/// journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    pub wal: Option<Stamp>,
    pub journal: Option<Stamp>,
}

impl Beside {
    /// Looks at what lies beside a file.
    pub fn of(file: &Path) -> Beside {
        let stamp = |end: &str| {
            files::symlink_metadata(beside(file, end)).ok().map(|metadata| Stamp::of(&metadata))
        };
        Beside { wal: stamp(WAL), journal: stamp(JOURNAL) }
    }
}

/// How the name of a database's write-ahead log ends.
pub const WAL: &str = "-wal";
/// How the name of a database's rollback journal ends.
pub const JOURNAL: &str = "-journal";

/// The file beside another whose name ends in this way.
pub fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(file.as_os_str());
    name.push(end);
    PathBuf::from(name)
}

/// The first bytes of a file, which show what it is.
pub fn first_bytes(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
