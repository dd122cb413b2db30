//! Exposure: what git has, or would take, of what has to stay on this device.
//!
//! Raw is not redacted, and `.memtree` is this device's own. Git is asked itself, since what it
//! leaves out is decided by many files, some of which arrive by `git pull`. The memory may be a
//! part of a bigger repository.

use std::collections::HashMap;

use serde::Serialize;

use crate::base::files::{self, Stamp};
use crate::base::git::{Git, Repository};
use crate::base::shell::quoted;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::digest::SnapshotShape;
use crate::model::ids::SessionId;
use crate::store::guards::GitState;
use crate::store::layout;

/// What git has, or would take, of what has to stay here; paths are relative to the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GitExposure {
    /// Files that it tracks or that are staged.
    pub tracked: Vec<String>,
    /// Folders that the next `git add` would take.
    pub not_ignored: Vec<String>,
}

/// What is known of sessions, for whoever asks about many files.
#[derive(Debug, Default)]
pub(super) struct KnownSessions {
    pub(super) folders: HashMap<String, bool>,
    pub(super) carried: HashMap<String, bool>,
    pub(super) sends_raw: Option<bool>,
}

impl Memory {
    /// Asks git what it has, or would take, of what has to stay here; `None` where the memory is in
    /// no working tree of git.
    pub fn git_exposure(&self) -> Result<Option<GitExposure>> {
        if self.repository().is_none() {
            return Ok(None);
        }
        let cannot = || "cannot ask git what it has of this memory".to_string();
        let not_ignored = self.not_ignored().map_err(|why| Error::new(cannot()).because(why))?;
        let tracked = self.tracked_raw().map_err(|why| Error::new(cannot()).because(why))?;
        Ok(Some(GitExposure { tracked, not_ignored }))
    }

    /// Stops where git has raw, or this device's own files. Git is asked only if its index has
    /// changed since it last had none.
    pub(crate) fn refuse_tracked_raw(&self) -> Result<()> {
        let Some(repository) = self.repository() else { return Ok(()) };
        let Ok(metadata) = files::metadata(repository.index()) else { return Ok(()) };
        let index = Some(Stamp::of(&metadata));
        let file = GitState::file(self.layout());
        let state = file.load();
        let with_raw = self.sends_raw();
        if state.harmless_index == index && state.harmless_with_raw == with_raw {
            return Ok(());
        }
        // Where git is not to be asked, nobody can have staged anything with it right now.
        let Ok(tracked) = self.tracked_raw() else { return Ok(()) };
        if !tracked.is_empty() {
            return Err(self.tracked_error(&tracked));
        }
        let state = GitState { harmless_index: index, harmless_with_raw: with_raw, ..state };
        file.save(&state).context(|| self.store().cannot_write()).map(drop)
    }

    /// What is said where git has raw: how many files, what that means, and the commands that mend
    /// it.
    pub(crate) fn tracked_error(&self, tracked: &[String]) -> Error {
        let first = tracked.first().map_or("", String::as_str);
        Error::new(format!(
            "git has {} of this memory that must stay on this device, such as `{first}`",
            if tracked.len() == 1 { "1 file".into() } else { format!("{} files", tracked.len()) }
        ))
        .because("raw is not redacted; it would go wherever this repository is pushed")
        .hint(self.untracking(tracked))
    }

    /// The commands that take files out of git and leave them on the disk.
    pub(crate) fn untracking(&self, tracked: &[String]) -> String {
        let mut folders: Vec<String> = tracked.iter().map(|path| exposed_folder(path)).collect();
        folders.sort();
        folders.dedup();
        if folders.len() > MOST_NAMED {
            folders.retain(|folder| !folder.ends_with(layout::RAW));
            folders.push(layout::ALL_RAW.to_string());
        }
        let names = folders.iter().map(|folder| quoted(folder)).collect::<Vec<_>>().join(" ");
        let git = format!("git -C {}", quoted(&self.root().display().to_string()));
        format!(
            "`{git} rm -r -q --cached --ignore-unmatch -- {names}` takes it out of git and leaves it here; then \
             `{git} commit -m \"memory: raw stays here\"`. What was pushed before is still in the history there"
        )
    }

    pub(super) fn repository(&self) -> Option<Repository> {
        let root = std::fs::canonicalize(self.root()).ok()?;
        Repository::containing(&root)
    }

    /// Git, as the person has it.
    pub(super) fn git(&self) -> Git<'_> {
        let environment = self.environment();
        Git {
            path: environment.variable("PATH").unwrap_or_default(),
            home: &environment.places.home,
        }
    }

    /// The files that git has and that must stay here.
    fn tracked_raw(&self) -> Result<Vec<String>, String> {
        let mut tracked = self.git().tracked(self.root(), layout::TO_ASK_GIT_ABOUT)?;
        let mut known = KnownSessions::default();
        tracked.retain(|path| self.stays_here(path, &mut known));
        self.without_sent_elsewhere(tracked)
    }

    /// The folders that git would take. A name in each of them is asked about: git leaves out what
    /// is not there, too.
    fn not_ignored(&self) -> Result<Vec<String>, String> {
        let layout = self.layout();
        let mut folders = vec![layout.own()];
        for id in self.store().session_ids().unwrap_or_default() {
            let snapshot = layout.snapshot(&id);
            match self.is_folder(&id.to_string()) {
                true => folders.push(snapshot),
                false => folders.push(snapshot.join(layout::RAW)),
            }
        }
        folders.retain(|folder| files::is_dir(folder));
        let probe = |folder: &std::path::PathBuf| format!("{}/probe", layout.shown(folder));
        let probes: Vec<String> = folders.iter().map(probe).collect();
        if probes.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = self.git().ignored(self.root(), &probes)?;
        let ignored: std::collections::HashSet<String> = ignored.into_iter().collect();
        let taken = probes.into_iter().filter(|probe| !ignored.contains(probe));
        Ok(taken.map(|probe| probe.trim_end_matches("/probe").to_string()).collect())
    }

    pub(super) fn is_folder(&self, session: &str) -> bool {
        let id: Option<SessionId> = session.parse().ok();
        let digest = id.and_then(|id| self.store().digest(&id).ok().flatten());
        digest.is_some_and(|digest| digest.content.shape() == SnapshotShape::Folder)
    }
}

/// So many folders are named one by one in a command.
const MOST_NAMED: usize = 8;

/// The folder that is taken out of git for the sake of a file.
fn exposed_folder(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        // This device's own.
        [first, ..] if first.starts_with('.') => (*first).to_string(),
        [sessions, session, snapshot, raw, _, ..] if *raw == layout::RAW => {
            [*sessions, *session, *snapshot, *raw].join("/")
        }
        [sessions, session, snapshot, _, ..] => [*sessions, *session, *snapshot].join("/"),
        [first, ..] => (*first).to_string(),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_taken_out_whole() {
        let check = |path: &str, expect: &str| assert_eq!(exposed_folder(path), expect);
        check(".memtree/cache/index/x", ".memtree");
        check("sessions/SES1_a_SP1C1/snapshot/raw/x/y", "sessions/SES1_a_SP1C1/snapshot/raw");
        check("sessions/SES1_a_SP1C1/snapshot/notes.md", "sessions/SES1_a_SP1C1/snapshot");
    }
}
