//! Guards keep what is not redacted out of git for good: a `.gitignore` in every folder of it.
//!
//! The memory's own `.gitignore` says the same, but it is synced, so somebody else can change it. A
//! guard leaves out itself, too, and so never arrives by `git pull`; and git heeds it before those
//! of the folders above. It is in no manifest. A folder's snapshot is a copy, byte for byte, so its
//! guard lies beside it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Store;
use super::layout::{self, Layout};
use super::local::StateFile;
use crate::base::files::{self, Stamp};
use crate::model::digest::SnapshotShape;
use crate::model::ids::SessionId;

/// What stands in a guard.
pub const LEAVE_ALL_OUT: &str = "# Written by memtree: nothing here is ever to be in git.\n*\n";
/// The line that leaves out the snapshot beside it.
pub const LEAVE_SNAPSHOT_OUT: &str = "/snapshot/";

/// What is known of git and this memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GitState {
    /// Whether every session that was here once has its guards; later ones are born with them.
    #[serde(default)]
    pub has_guards: bool,
    /// How git's index looked when it held nothing that is to stay here.
    #[serde(default)]
    pub harmless_index: Option<Stamp>,
    /// Whether raw was among what may leave then.
    #[serde(default)]
    pub harmless_with_raw: bool,
    /// The commit up to which what git merged was put right.
    #[serde(default)]
    pub settled: Option<String>,
}

impl GitState {
    /// The file that holds it.
    pub fn file(layout: &Layout) -> StateFile<GitState> {
        StateFile::local(layout.git_state())
    }
}

/// Writes the guards of a memory that was made without them; looks only once.
pub fn write_once(store: &Store) -> io::Result<()> {
    let file = GitState::file(store.layout());
    let mut state = file.load();
    if !state.has_guards {
        write_missing(store, true)?;
        state.has_guards = true;
        file.save(&state)?;
    }
    Ok(())
}

/// Writes the guard of this device's own files, where it is missing.
pub fn guard_own(layout: &Layout) -> io::Result<()> {
    match has_own(layout) && !lacks_guard(layout.own()) {
        true => Ok(()),
        false => write_guard(&layout.own().join(layout::GITIGNORE)),
    }
}

/// Whether the guard of this device's own files is there: without it, what only reads keeps
/// nothing.
pub fn has_own(layout: &Layout) -> bool {
    files::is_file(layout.own().join(layout::GITIGNORE))
}

/// Writes every guard that is missing, or only counts them.
pub fn write_missing(store: &Store, write: bool) -> io::Result<usize> {
    let layout = store.layout();
    let mut missing = 0;
    if lacks_guard(layout.own()) {
        missing += 1;
        if write {
            write_guard(&layout.own().join(layout::GITIGNORE))?;
        }
    }
    for id in store.session_ids()? {
        let lacking = missing_of(layout, &id, shape(store, &id));
        missing += lacking.len();
        if write {
            write_of(layout, &id, &lacking)?;
        }
    }
    Ok(missing)
}

/// The guards that one session lacks.
pub fn missing_of(layout: &Layout, id: &SessionId, shape: SnapshotShape) -> Vec<PathBuf> {
    let snapshot = layout.snapshot(id);
    match shape {
        _ if !files::is_dir(&snapshot) => Vec::new(),
        SnapshotShape::Folder => {
            with_line(layout, id).map(|_| layout.session_gitignore(id)).into_iter().collect()
        }
        SnapshotShape::Log => {
            let folders = [layout::RAW, layout::SENSORY].map(|folder| snapshot.join(folder));
            let lacking = folders.into_iter().filter(|folder| lacks_guard(folder));
            lacking.map(|folder| folder.join(layout::GITIGNORE)).collect()
        }
    }
}

/// Writes the guards that one session lacks.
pub fn write_of(layout: &Layout, id: &SessionId, lacking: &[PathBuf]) -> io::Result<()> {
    for path in lacking {
        match *path == layout.session_gitignore(id) {
            true => {
                let text = with_line(layout, id).unwrap_or_default();
                files::write_atomic(path, text.as_bytes())?;
            }
            false => write_guard(path)?,
        }
    }
    Ok(())
}

/// Whether a folder is there and does not say of itself that it is left out.
fn lacks_guard(folder: impl AsRef<Path>) -> bool {
    let folder = folder.as_ref();
    let is_guarded =
        || files::read(folder.join(layout::GITIGNORE)).is_ok_and(|text| is_guard(&text));
    files::is_dir(folder) && !is_guarded()
}

/// Whether a file says that all beside it is left out, and takes nothing of that back.
fn is_guard(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.lines().any(|line| line.trim_end() == "*")
        && !text.lines().any(|line| line.starts_with('!'))
}

fn shape(store: &Store, id: &SessionId) -> SnapshotShape {
    let digest = store.digest(id).ok().flatten();
    digest.map_or(SnapshotShape::Log, |digest| digest.content.shape())
}

fn write_guard(path: &Path) -> io::Result<()> {
    files::remove_file(path)?;
    files::create_new_private(path)?.write_all(LEAVE_ALL_OUT.as_bytes())
}

/// What the `.gitignore` beside a folder's snapshot has to say, where it does not say so yet.
pub fn with_line(layout: &Layout, id: &SessionId) -> Option<String> {
    let text = files::read_to_string(layout.session_gitignore(id)).unwrap_or_default();
    // The last line that fits counts, so one that takes it back is answered.
    let last = text.lines().map(str::trim_end).rfind(|line| line.contains("snapshot"));
    if last == Some(LEAVE_SNAPSHOT_OUT) {
        return None;
    }
    let ends = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{ends}{LEAVE_SNAPSHOT_OUT}\n"))
}
