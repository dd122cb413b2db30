//! This device: the name it goes by in the memory, what it captured itself, and which others it has
//! seen.
//!
//! All of it lies below `.memtree/local` and is bound to this machine and to this folder. While the
//! machine id or the inode of `.memtree` is the one that was noted, the name stays: a host was
//! renamed, or a container got another machine for the same volume. Where both differ the folder
//! was copied from elsewhere, and what it says that “this device” did or accepted was done
//! elsewhere.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::{self, Layout};
use super::local::StateFile;
use crate::base::files;
use crate::model::ids::{Device, SessionId};
use crate::model::trust::OwnSessions;

/// What the machine says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Machine<'a> {
    /// The name that it would get.
    pub name: &'a Device,
    /// Whether the person gave that name.
    pub is_named: bool,
    /// A hash that only this machine has.
    pub id: &'a str,
}

/// Who this device is, as it was noted when it was last here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub name: Device,
    machine: String,
    inode: u64,
    /// Where the memory was.
    root: PathBuf,
    /// The names that it had before.
    #[serde(default)]
    pub former: BTreeSet<Device>,
    /// The name that the folder had where it was copied from.
    #[serde(default)]
    pub copied_from: Option<Device>,
    /// The folder that it was copied from on this machine, and the inode there.
    #[serde(default)]
    copy_of: Option<(PathBuf, u64)>,
}

/// Who this device is now, and how it came to be that.
#[derive(Debug, Clone)]
pub struct Recognized {
    pub identity: Identity,
    /// Whether `.memtree/local` holds what this device itself noted.
    pub is_known: bool,
    /// Whether this device has written here before, with a program that noted nothing of this.
    pub is_upgrade: bool,
}

impl Identity {
    fn file(layout: &Layout) -> StateFile<Identity> {
        StateFile::local(layout.device())
    }

    /// Notes who this device is, where that has changed.
    pub fn save(&self, layout: &Layout) -> io::Result<()> {
        files::create_private_dir(&layout.own())?;
        let inode = inode(&layout.own());
        Identity::file(layout).save(&Identity { inode, ..self.clone() }).map(drop)
    }

    /// Where the memory of which this one is a copy still lies, under the same name.
    pub fn twin(&self) -> Option<&Path> {
        let (root, there) = self.copy_of.as_ref()?;
        (inode(&Layout::new(root).own()) == *there).then_some(root)
    }

    /// All names that it has or had.
    pub fn names(&self) -> impl Iterator<Item = &Device> {
        std::iter::once(&self.name).chain(&self.former)
    }
}

/// Says who this device is in a memory.
pub fn recognize(layout: &Layout, machine: Machine<'_>) -> Recognized {
    let now = Identity {
        name: machine.name.clone(),
        machine: machine.id.to_string(),
        inode: inode(&layout.own()),
        root: layout.root().to_path_buf(),
        former: BTreeSet::new(),
        copied_from: None,
        copy_of: None,
    };
    let before = Identity::file(layout).read();
    let is_upgrade = before.is_none() && has_written(layout);
    Recognized { is_upgrade, ..compared(before, now, machine.is_named) }
}

/// Whether a sweep of this device left its cursors or its lock here. Those that git brought along
/// prove nothing.
fn has_written(layout: &Layout) -> bool {
    (files::is_file(layout.cursors()) || files::is_file(layout.sweep_lock()))
        && !Tracked::of(layout).may_hold(layout::OWN)
}

/// What git tracks where a memory lies, as far as a look at its index tells without asking git.
#[derive(Debug, Default)]
pub struct Tracked {
    index: Vec<u8>,
}

impl Tracked {
    /// Reads the index of the repository around a memory, if there is one.
    pub fn of(layout: &Layout) -> Tracked {
        let indexes = layout.root().ancestors().map(|folder| {
            let beside = Layout::new(folder);
            // In a second work tree, a file says where the repository is.
            let elsewhere = files::read_to_string(beside.git()).ok();
            let named = elsewhere.as_deref().and_then(|text| text.strip_prefix("gitdir: "));
            match named {
                Some(named) => folder.join(named.trim_end()).join("index"),
                None => beside.git_index(),
            }
        });
        let index = indexes.into_iter().find_map(|index| files::read(index).ok());
        Tracked { index: index.unwrap_or_default() }
    }

    /// Whether the index may name something with this in its path. Indexes of version 4 shorten
    /// paths, so they may name anything.
    pub fn may_hold(&self, path: &str) -> bool {
        const VERSION: std::ops::Range<usize> = 4..8;
        self.index.get(VERSION) == Some(&4_u32.to_be_bytes())
            || memchr::memmem::find(&self.index, path.as_bytes()).is_some()
    }
}

fn compared(before: Option<Identity>, mut now: Identity, is_named: bool) -> Recognized {
    let recognized = |identity, is_known| Recognized { identity, is_known, is_upgrade: false };
    let Some(before) = before else { return recognized(now, false) };
    let same_machine = !now.machine.is_empty() && now.machine == before.machine;
    let same_folder = now.inode != 0 && now.inode == before.inode;
    if !same_machine && !same_folder {
        if !is_named && now.name == before.name {
            now.name = Device::new(&format!("{}-2", before.name));
        }
        now.copied_from = Some(before.name);
        return recognized(now, false);
    }
    let is_copy = !same_folder && now.root != before.root;
    now.copy_of = if is_copy { Some((before.root, before.inode)) } else { before.copy_of };
    now.copied_from = before.copied_from;
    now.former = before.former;
    now.former.insert(before.name.clone());
    if !is_named {
        now.name = before.name;
    }
    now.former.remove(&now.name);
    recognized(now, true)
}

#[cfg(unix)]
fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    files::symlink_metadata(path).map_or(0, |metadata| metadata.ino())
}

/// Elsewhere folders have no number that is easily asked for; the machine decides alone.
#[cfg(not(unix))]
fn inode(_: &Path) -> u64 {
    0
}

/// What this device captured itself, and whom it has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquaintance {
    pub own: OwnSessions,
    /// The devices whose pages were there; those that are new are named once.
    pub seen: BTreeSet<Device>,
    /// Whether the person was told that the folder was copied.
    #[serde(default)]
    pub told_of_copy: bool,
}

impl Acquaintance {
    /// Where it is kept.
    pub fn file(layout: &Layout) -> StateFile<Acquaintance> {
        StateFile::local(layout.acquaintance())
    }

    /// Notes sessions as captured here.
    pub fn note_own<'i>(
        layout: &Layout,
        sessions: impl IntoIterator<Item = &'i SessionId>,
    ) -> io::Result<()> {
        let file = Acquaintance::file(layout);
        let mut known = file.load();
        let news = sessions.into_iter().filter(|session| known.own.insert(session)).count();
        if news > 0 { file.save(&known).map(drop) } else { Ok(()) }
    }

    /// Notes that the person is told of these devices, and of a copy.
    pub fn note_shown(layout: &Layout, seen: BTreeSet<Device>) -> io::Result<()> {
        let file = Acquaintance::file(layout);
        file.save(&Acquaintance { seen, told_of_copy: true, ..file.load() }).map(drop)
    }

    /// What is known where nothing was noted yet: these sessions are its own.
    pub fn of_earlier<'i>(sessions: impl Iterator<Item = &'i SessionId>) -> Acquaintance {
        let mut known = Acquaintance::default();
        for session in sessions {
            known.own.insert(session);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, machine: &str, inode: u64) -> Identity {
        Identity {
            name: Device::new(name),
            machine: machine.into(),
            inode,
            root: "/nowhere/memory".into(),
            former: BTreeSet::new(),
            copied_from: None,
            copy_of: None,
        }
    }

    #[test]
    fn a_name_stays_while_the_machine_or_the_folder_does() {
        let before = || Some(identity("desk-1a2b", "m1", 7));
        for (what, now, named, name, known) in [
            ("nothing changed", identity("desk-1a2b", "m1", 7), false, "desk-1a2b", true),
            ("the host was renamed", identity("tower-1a2b", "m1", 7), false, "desk-1a2b", true),
            ("another container", identity("box-9f9f", "m2", 7), false, "desk-1a2b", true),
            ("restored here", identity("desk-1a2b", "m1", 8), false, "desk-1a2b", true),
            ("copied elsewhere", identity("lap-9f9f", "m2", 8), false, "lap-9f9f", false),
            ("copied to a namesake", identity("desk-1a2b", "m2", 8), false, "desk-1a2b-2", false),
            ("named", identity("chosen", "m1", 7), true, "chosen", true),
            ("copied and named", identity("chosen", "m2", 8), true, "chosen", false),
        ] {
            let recognized = compared(before(), now, named);
            assert_eq!(recognized.identity.name.as_str(), name, "{what}");
            assert_eq!(recognized.is_known, known, "{what}");
            assert_eq!(recognized.identity.copied_from.is_some(), !known, "{what}");
        }
        let chosen = compared(before(), identity("chosen", "m1", 7), true).identity;
        assert!(chosen.names().any(|name| name.as_str() == "desk-1a2b"));
        // A machine or folder of which nothing is known is not the same as another such.
        assert!(!compared(Some(identity("a", "", 0)), identity("a", "", 0), false).is_known);
    }
}
