//! Publishing: the person's folder of the team's repository has the digests of the projects that
//! they share, and nothing else.
//!
//! Each device puts there what it captured itself, and takes out only its own; so what two devices
//! of a person publish never meets in one file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::base::files;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::{Device, Person, SessionId};
use crate::ops::sync::Exposed;
use crate::store::Store;

/// What the person's folder has after a publishing, of this device's.
#[derive(Debug, Default)]
pub struct Published {
    pub sessions: usize,
    /// How many were there and are not any more.
    pub withdrawn: usize,
}

impl Memory {
    /// Makes the person's folder in the working tree what it should be. An error where a secret
    /// would leave: then nothing may be committed.
    pub(super) fn publish_shared(&self, own: &Person) -> Result<Published> {
        let there = Store::at(&self.layout().team_folder(own));
        let cannot = || "cannot write to the team's repository".to_string();
        let names: BTreeSet<&Device> = self.recognized().identity.names().collect();
        let shared = self.shared_sessions(&names)?;
        let forgotten = self.store().forgotten();
        let mut published = Published { sessions: shared.len(), withdrawn: 0 };
        for id in there.session_ids().context(cannot)? {
            let is_ours = names.contains(&id.device) || forgotten.contains(&id);
            if is_ours && !shared.contains(&id) {
                files::remove_folder(&there.layout().session(&id)).context(cannot)?;
                published.withdrawn += 1;
            }
        }
        let mut secrets = Vec::new();
        for id in &shared {
            secrets.extend(self.publish_session(&there, id)?);
        }
        if secrets.is_empty() { Ok(published) } else { Err(self.leak(secrets)) }
    }

    /// The devices that have sessions in the person's own folder and are neither this one nor
    /// trusted.
    pub(super) fn namesakes(&self) -> Result<Vec<Device>> {
        let Some(own) = self.own_name()?.filter(|_| !self.settings().team.repository.is_empty())
        else {
            return Ok(Vec::new());
        };
        let there = Store::at(&self.layout().team_folder(&own));
        let names: BTreeSet<&Device> = self.recognized().identity.names().collect();
        let trust = &self.settings().devices.trust;
        let is_other = |device: &Device| {
            !names.contains(device) && !trust.iter().any(|name| name == device.as_str())
        };
        let sessions = there.session_ids().unwrap_or_default().into_iter();
        let others: BTreeSet<Device> =
            sessions.map(|id| id.device).filter(|device| is_other(device)).collect();
        Ok(others.into_iter().collect())
    }

    /// Puts a session there as it is here; returns the secrets in it.
    fn publish_session(&self, there: &Store, id: &SessionId) -> Result<Vec<Exposed>> {
        let cannot = || format!("cannot share the session `{id}`");
        let mut parts = BTreeSet::from([self.within(&self.layout().digest(id))]);
        for folder in self.travelling_folders(id) {
            for found in files::walk_files(&folder) {
                parts.insert(self.within(&found.context(cannot)?.path));
            }
        }
        let root = there.layout().root();
        let folder = there.layout().session(id);
        if files::is_dir(&folder) {
            for found in files::walk_files(&folder) {
                let path = found.context(cannot)?.path;
                if !path.strip_prefix(root).is_ok_and(|within| parts.contains(within)) {
                    files::remove_file(&path).context(cannot)?;
                }
            }
        }
        let mut secrets = Vec::new();
        for part in &parts {
            let bytes = files::read(self.root().join(part)).context(cannot)?;
            if files::read(root.join(part)).is_ok_and(|known| known == bytes) {
                continue;
            }
            secrets
                .extend(self.exposed_text(&self.layout().shown(&self.root().join(part)), &bytes)?);
            files::write_unsynced(&root.join(part), &bytes).context(cannot)?;
        }
        Ok(secrets)
    }

    /// The sessions captured here that others may have: those of projects that the person named. A
    /// page that cannot be read does not say whose project it is.
    fn shared_sessions(&self, names: &BTreeSet<&Device>) -> Result<BTreeSet<SessionId>> {
        let share = &self.settings().team.share;
        if share.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut ids = self.store().session_ids().context(|| "cannot list the sessions".into())?;
        ids.retain(|id| names.contains(&id.device));
        let is_shared = |id: &SessionId| {
            let project = self.store().digest(id).ok().flatten()?.content.project?;
            share.contains(&project).then_some(())
        };
        Ok(ids.into_iter().filter(|id| is_shared(id).is_some()).collect())
    }

    fn within(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root()).unwrap_or(path).to_path_buf()
    }

    /// The name under which this device publishes.
    pub(super) fn publishes_as(&self) -> Result<Option<Person>> {
        let name = self.own_name()?;
        if name.is_none() && !self.settings().team.share.is_empty() {
            return Err(Error::usage("`team.share` names projects, but not whose they are").hint(
                "`memtree config team.name NAME` names your folder in the team's repository",
            ));
        }
        Ok(name)
    }
}
