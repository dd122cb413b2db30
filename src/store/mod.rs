//! The Markdown tree, in and out: the files are the truth, everything else is made from them.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::base::files::{self, FileLock, Stamp};
use crate::error::{Context, Error, Result};
use crate::model::digest::Digest;
use crate::model::ids::{Device, SessionId};
use crate::model::knowledge::Kind;

pub mod authored;
pub mod core;
pub mod day;
pub mod device;
pub mod digest;
pub mod guards;
pub mod knowledge;
pub mod layout;
pub mod local;
pub mod merge;
pub mod pattern;
pub mod seals;
pub mod session_index;
pub mod snapshots;
pub mod tombstones;

use layout::Layout;
use tombstones::Tombstones;

/// An open memory.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
}

/// A log of a session in two events for each turn, `sessions/<id>.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLog {
    pub path: PathBuf,
    /// The session of this memory that it repeats; none where an older tool wrote it.
    pub session: Option<SessionId>,
}

/// The files of a new memory, and what they say.
fn templates(layout: &Layout) -> [(PathBuf, &'static str); 4] {
    [
        (layout.readme(), include_str!("../../templates/memory-readme.md")),
        (layout.gitignore(), include_str!("../../templates/gitignore")),
        (layout.gitattributes(), include_str!("../../templates/gitattributes")),
        // Last, because its presence says that all the others are there.
        (layout.settings(), crate::settings::TEMPLATE),
    ]
}

impl Store {
    /// Opens the memory in a folder; its settings file makes it one.
    pub fn open(root: &Path) -> Result<Store> {
        let store = Store::at(root);
        let settings = store.layout.settings();
        if files::is_file(&settings) {
            store.refuse_own_link()?;
            return Ok(store);
        }
        if files::symlink_metadata(&settings).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(refused_link(&settings));
        }
        Err(Error::not_found(format!("there is no memory in `{}`", root.display()))
            .because(if files::exists(root) {
                "it has no `memtree.toml`"
            } else {
                "the folder does not exist"
            })
            .hint(format!(
                "make one with `memtree --store {} init`, or name another with `--store`",
                root.display()
            )))
    }

    /// The memory that is, or would be, in a folder: for who only reads.
    pub fn at(root: &Path) -> Store {
        Store { layout: Layout::new(root) }
    }

    /// Somebody else's memory, which is only read: what this device keeps of it lies in `own`.
    pub fn of_other(root: &Path, own: PathBuf) -> Store {
        Store { layout: Layout::of_other(root, own) }
    }

    /// Makes a memory in a folder, keeping whatever is there; says which files it wrote.
    pub fn init(root: &Path) -> Result<(Store, Vec<String>)> {
        let layout = Layout::new(root);
        let cannot = |err: io::Error| {
            Error::new(format!("cannot make a memory in `{}`", root.display()))
                .because(err)
                .hint("check that the folder above it is there and yours, or name another place with `--store`")
        };
        files::create_folder(root).map_err(cannot)?;
        Store::at(root).refuse_own_link()?;
        let mut wrote = Vec::new();
        for (path, text) in templates(&layout) {
            if !files::exists(&path) {
                files::write_atomic(&path, text.as_bytes()).map_err(cannot)?;
                wrote.push(layout.shown(&path));
            }
        }
        Ok((Store { layout }, wrote))
    }

    /// The paths of this memory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The ids of all sessions that have a folder, in order; whether they have a digest is another
    /// matter.
    pub fn session_ids(&self) -> io::Result<Vec<SessionId>> {
        let mut ids = Vec::new();
        let entries = files::if_exists(files::read_dir(self.layout.sessions()))?;
        for entry in entries.into_iter().flatten() {
            if let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
                ids.push(id);
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// The sessions that have a digest, in order, and how it looks.
    pub fn digest_stamps(&self) -> Result<Vec<(SessionId, Stamp)>> {
        let ids = self.session_ids().context(|| "cannot list the sessions".into())?;
        Ok(ids
            .into_par_iter()
            .with_min_len(256)
            .filter_map(|id| self.digest_stamp(&id).map(|stamp| (id, stamp)))
            .collect())
    }

    /// How a session's digest looks. A link could lead anywhere, so only a plain file is a digest.
    pub fn digest_stamp(&self, id: &SessionId) -> Option<Stamp> {
        let metadata = files::symlink_metadata(self.layout.digest(id)).ok()?;
        metadata.is_file().then(|| Stamp::of(&metadata))
    }

    /// The contexts that wait in the inbox for a model, in order.
    pub fn inbox(&self) -> Vec<PathBuf> {
        let entries = files::read_dir(self.layout.inbox()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
        paths.sort();
        paths
    }

    /// The event logs in the memory, in order: those of its sessions, and those that older tools
    /// left.
    pub fn event_logs(&self) -> io::Result<Vec<EventLog>> {
        let mut logs = Vec::new();
        let entries = files::if_exists(files::read_dir(self.layout.sessions()))?;
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            let name = entry.file_name();
            // There may be very many sessions, so nothing more is asked about these.
            let Some(stem) =
                name.to_str().and_then(|name| name.strip_suffix(layout::EVENT_LOG_SUFFIX))
            else {
                continue;
            };
            if entry.file_type()?.is_file() {
                logs.push(EventLog { path: entry.path(), session: stem.parse().ok() });
            }
        }
        logs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(logs)
    }

    /// Refuses links where we are about to write: one that came by `git pull` could lead anywhere.
    pub fn refuse_links(&self, session: Option<&SessionId>) -> Result<()> {
        let layout = &self.layout;
        let folders = [
            layout.sessions(),
            layout.daily(),
            layout.days(),
            layout.cores(),
            layout.own(),
            layout.knowledge(),
            layout.memories(),
            layout.patterns(),
            layout.candidates(),
            layout.catalog(),
            layout.pattern_history(),
            layout.proposals(),
        ];
        let knowledge = Kind::ALL.map(|kind| layout.knowledge_of(kind));
        for folder in
            folders.into_iter().chain(knowledge).chain(session.map(|id| layout.session(id)))
        {
            if files::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(refused_link(&folder));
            }
        }
        Ok(())
    }

    /// Refuses a memory whose own folder is a link: everything that this device keeps to itself
    /// would be somewhere else.
    pub fn refuse_own_link(&self) -> Result<()> {
        let own = self.layout.own();
        match files::symlink_metadata(&own) {
            Ok(metadata) if metadata.is_symlink() => Err(refused_link(&own)),
            _ => Ok(()),
        }
    }

    /// The hashes of what was captured of a session, by name: its snapshot's own manifest names
    /// every file; the digest only a few, but also after eviction.
    pub fn captured_hashes(&self, digest: &Digest) -> HashMap<String, String> {
        let path = self.layout.snapshot(&digest.session).join(layout::MANIFEST);
        let whole = files::read_to_string(path).unwrap_or_default();
        let lines = whole.lines().chain(digest.snapshot.manifest.iter().map(String::as_str));
        let lines = lines.filter_map(snapshots::parse_manifest_line);
        lines.map(|(sha256, name)| (name, sha256.to_string())).collect()
    }

    /// Waits until nobody else writes to the memory, for whoever is about to.
    pub fn lock(&self) -> Result<FileLock> {
        self.refuse_links(None)?;
        files::lock_exclusive(&self.layout.sweep_lock()).context(|| self.cannot_write())
    }

    /// What is said where the memory cannot be written.
    pub fn cannot_write(&self) -> String {
        format!("cannot write to the memory `{}`", self.layout.root().display())
    }

    /// Writes a digest around what a person wrote into the one that is there.
    pub fn write_digest(&self, digest: &Digest) -> io::Result<bool> {
        let path = self.layout.digest(&digest.session);
        authored::replace(&self.layout, &path, |now| Some(digest::text_now(now, digest)))
    }

    /// Reads a session's digest; `None` where there is none.
    pub fn digest(&self, id: &SessionId) -> Result<Option<Digest>> {
        let path = self.layout.digest(id);
        let cannot = || format!("cannot read the digest `{}`", self.layout.shown(&path));
        let text = files::if_exists(files::read_to_string(&path)).context(cannot)?;
        text.map(|text| digest::parse(&text)).transpose().context(cannot)
    }

    /// How much room digests, days and all that is made of them take.
    pub fn distilled_bytes(&self) -> u64 {
        let layout = &self.layout;
        let size = |path: PathBuf| files::metadata(path).map_or(0, |metadata| metadata.len());
        let digests: u64 =
            self.session_ids().unwrap_or_default().iter().map(|id| size(layout.digest(id))).sum();
        let below = |folder: PathBuf| match files::exists(&folder) {
            true => files::walk_files(&folder).flatten().map(|file| file.metadata.len()).sum(),
            false => 0,
        };
        digests + layout.distilled().into_iter().map(below).sum::<u64>()
    }

    /// The sessions that were forgotten.
    pub fn forgotten(&self) -> BTreeSet<SessionId> {
        Tombstones::load(&self.layout).unwrap_or_default().sessions().cloned().collect()
    }

    /// The running number that the next session of a device gets: after all that are there, and all
    /// that were forgotten.
    pub fn next_ordinal<'i>(
        &self,
        device: &Device,
        taken: impl Iterator<Item = &'i SessionId>,
    ) -> u32 {
        let next = |id: &SessionId| (id.device == *device).then_some(id.ordinal + 1);
        let taken = taken.filter_map(next).max();
        taken.max(self.forgotten().iter().filter_map(next).max()).unwrap_or(0)
    }
}

fn refused_link(path: &Path) -> Error {
    Error::new(format!("`{}` is a link, and no link below a memory is followed", path.display()))
        .hint("put the real file or folder in its place, or make the memory itself a link")
}
