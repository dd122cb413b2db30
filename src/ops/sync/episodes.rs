//! Episodes travel: the readable, redacted parts of sessions that were made from agents' logs, so
//! that every link of a digest works in a clone. Never those of folders, which are raw throughout.

use std::collections::{BTreeMap, BTreeSet};

use super::state::SyncState;
use crate::base::files;
use crate::capture::known::Known;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::digest::SnapshotShape;
use crate::model::ids::SessionId;
use crate::ops::doctor;
use crate::settings::Episodes;
use crate::store::layout;

impl Memory {
    /// Whether the episodes of this device travel; `None` where nobody has said so yet.
    pub fn syncs_episodes(&self) -> Option<bool> {
        match self.settings().sync.episodes {
            Episodes::Decided(decided) => Some(decided),
            Episodes::OnEachDevice(_) => SyncState::file(self.layout()).load().episodes,
        }
    }

    /// Notes what the person says of it on this device.
    pub fn decide_episodes(&self, travel: bool) -> Result<()> {
        let file = SyncState::file(self.layout());
        let state = SyncState { episodes: Some(travel), ..file.load() };
        file.save(&state).map(drop).context(|| self.store().cannot_write())
    }

    /// How much the episodes are that would travel, in bytes.
    pub fn episodes_bytes(&self) -> Result<u64> {
        let size = |folder: &std::path::PathBuf| -> u64 {
            files::walk_files(folder).flatten().map(|found| found.metadata.len()).sum()
        };
        Ok(self.episode_folders()?.iter().map(size).sum())
    }

    /// Whether the raw of a session is here.
    #[cfg(unix)]
    pub(crate) fn has_raw(&self, id: &SessionId) -> bool {
        files::is_dir(self.layout().snapshot(id).join(layout::RAW))
    }

    /// The folders of this device's sessions that travel, if any do.
    fn episode_folders(&self) -> Result<Vec<std::path::PathBuf>> {
        let layout = self.layout();
        let ids = self.store().session_ids().context(|| "cannot list the sessions".into())?;
        let own = ids.into_iter().filter(|id| self.carries(id));
        let folders =
            own.flat_map(|id| layout::TRAVELS.map(|part| layout.snapshot(&id).join(part)));
        Ok(folders.filter(|folder| files::is_dir(folder)).collect())
    }

    /// Those of one session, where they are to leave at all.
    pub(in crate::ops) fn travelling_folders(&self, id: &SessionId) -> Vec<std::path::PathBuf> {
        if self.syncs_episodes() != Some(true) || !self.carries(id) {
            return Vec::new();
        }
        let folders = layout::TRAVELS.map(|part| self.layout().snapshot(id).join(part));
        folders.into_iter().filter(|folder| files::is_dir(folder)).collect()
    }

    /// Whether a session's readable parts are this device's to send: its digest says that it comes
    /// from a log. A folder's snapshot may have folders of the same names, and is raw all the same.
    pub(super) fn carries(&self, id: &SessionId) -> bool {
        let digest = self.store().digest(id).ok().flatten();
        id.device == *self.device()
            && digest.is_some_and(|digest| digest.content.shape() == SnapshotShape::Log)
    }

    /// Those of them that git does not have yet, by their paths in the memory: of some sessions, or
    /// of all.
    pub(super) fn new_episodes(&self, of: Option<&[SessionId]>) -> Result<BTreeSet<String>> {
        let with_raw = self.sends_raw();
        let has_any = with_raw || self.syncs_episodes() == Some(true);
        if !has_any || of.is_some_and(<[SessionId]>::is_empty) {
            return Ok(BTreeSet::new());
        }
        let layout = self.layout();
        let folders: Vec<String> = match of {
            Some(sessions) if with_raw => {
                sessions.iter().map(|id| layout.snapshot_for_git(id)).collect()
            }
            Some(sessions) => sessions.iter().flat_map(|id| layout.travelling(id)).collect(),
            None if with_raw => vec![layout::SNAPSHOTS_FOR_GIT.to_string()],
            None => layout::EPISODES_FOR_GIT.iter().map(|glob| glob.to_string()).collect(),
        };
        let mut listed = String::new();
        for folders in folders.chunks(super::PATHS_AT_ONCE) {
            let mut asked = vec!["ls-files", "-z", "--others", "--"];
            asked.extend(folders.iter().map(String::as_str));
            listed.push_str(
                &self.git().answer(self.root(), &asked).map_err(|why| {
                    Error::new("cannot ask git which episodes are new").because(why)
                })?,
            );
        }
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut new = BTreeSet::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let session = path.split('/').nth(1).unwrap_or_default();
            let carries = known
                .entry(session)
                .or_insert_with(|| session.parse().is_ok_and(|id| self.carries(&id)));
            if *carries && (!with_raw || layout::travels_with_raw(path)) {
                new.insert(path.to_string());
            }
        }
        Ok(new)
    }

    /// Writes sessions whose pages hold what is a secret by the present rules again, before any of
    /// them leaves with rules that nobody has looked with.
    pub(in crate::ops) fn redact_episodes(&self) -> Result<()> {
        if self.syncs_episodes() != Some(true) && !self.sends_raw() {
            return Ok(());
        }
        let (file, rules) = (SyncState::file(self.layout()), self.redactor()?.version());
        if file.load().episodes_rules == rules {
            return Ok(());
        }
        let settings = self.capture_settings()?;
        let lock = self.store().lock()?;
        let mut known = Known::load(&settings, self.store().digest_stamps()?);
        doctor::redact_sessions(self, &mut known)?;
        known.cursors.save(&self.layout().cursors()).context(|| self.store().cannot_write())?;
        drop(lock);
        let state = SyncState { episodes_rules: rules, ..file.load() };
        file.save(&state).map(drop).context(|| self.store().cannot_write())
    }
}
