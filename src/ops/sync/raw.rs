//! Raw travels where the person themself wants it: that of this device's sessions from agents'
//! logs, as it is, with all else of their snapshots. It is not redacted, so each memory and remote
//! has to be agreed to. Never that of folders.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Sync;
use super::remote::Remote;
use super::state::SyncState;
use crate::base::files;
use crate::base::git::Ended;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::git_exposure::KnownSessions;
use crate::settings::RawSync;
use crate::store::{guards, layout};

/// How much raw there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RawAmount {
    pub files: usize,
    pub bytes: u64,
}

impl Memory {
    /// Whether raw leaves this memory: the person set it, and agreed to a place.
    pub(in crate::ops) fn sends_raw(&self) -> bool {
        self.wants_raw() && !SyncState::file(self.layout()).load().raw_to.is_empty()
    }

    fn wants_raw(&self) -> bool {
        self.settings().sync.raw != RawSync::Decided(false)
    }

    /// How much raw would go to a remote to which nobody has agreed yet; `None` where nothing is to
    /// be agreed to.
    pub fn raw_to_agree_to(&self, remote: Option<&str>) -> Result<Option<RawAmount>> {
        let Some(repository) = self.repository().filter(|_| self.wants_raw()) else {
            return Ok(None);
        };
        let remote = self.remote(&repository, remote)?;
        let agreed = SyncState::file(self.layout()).load().raw_to;
        match agreed.contains(&self.address(remote.as_ref())) {
            true => Ok(None),
            false => self.raw_amount().map(Some),
        }
    }

    /// Notes that the person wants raw to go to a remote.
    pub fn agree_to_raw(&self, remote: Option<&str>) -> Result<()> {
        let Some(repository) = self.repository() else { return Ok(()) };
        let remote = self.remote(&repository, remote)?;
        let file = SyncState::file(self.layout());
        let mut state = file.load();
        state.raw_to.insert(self.address(remote.as_ref()));
        file.save(&state).map(drop).context(|| self.store().cannot_write())
    }

    /// Stops where raw that git has would go to a place to which nobody has agreed.
    pub(super) fn refuse_new_place(&self, remote: Option<&Remote>) -> Result<()> {
        let agreed = SyncState::file(self.layout()).load().raw_to;
        if !self.sends_raw() || agreed.contains(&self.address(remote)) {
            return Ok(());
        }
        let name = remote.map_or("", |remote| remote.name.as_str());
        Err(Error::new(format!("nothing was pushed: raw would go to `{name}` for the first time"))
            .because("raw is not redacted: it holds whatever the logs held, secrets included")
            .hint("`memtree sync` asks in a terminal; `memtree sync --yes` agrees"))
    }

    /// The hash of the address to which a remote is pushed; it may hold a password.
    fn address(&self, remote: Option<&Remote>) -> String {
        let address = remote.map(|remote| {
            let asked = ["remote", "get-url", "--push", "--all", "--", &remote.name];
            self.git().answer(self.root(), &asked).unwrap_or_default()
        });
        files::sha256_hex(address.unwrap_or_default().as_bytes())
    }

    /// All raw of this device that would travel.
    fn raw_amount(&self) -> Result<RawAmount> {
        let ids = self.store().session_ids().context(|| "cannot list the sessions".into())?;
        let mut amount = RawAmount::default();
        for id in ids.iter().filter(|id| self.carries(id)) {
            for found in files::walk_files(&self.layout().snapshot(id).join(layout::RAW)).flatten()
            {
                if found.relative != std::path::Path::new(layout::GITIGNORE) {
                    amount.files += 1;
                    amount.bytes += found.metadata.len();
                }
            }
        }
        Ok(amount)
    }

    /// How much of some files is raw, by their paths in the memory.
    pub(super) fn raw_among(&self, paths: &[String]) -> Option<RawAmount> {
        let mut amount = RawAmount::default();
        for path in paths.iter().filter(|path| layout::is_raw(path.as_ref())) {
            if let Ok(metadata) = files::symlink_metadata(self.root().join(path)) {
                amount.files += 1;
                amount.bytes += metadata.len();
            }
        }
        (amount.files > 0).then_some(amount)
    }

    /// Whether a file has to stay on this device.
    pub(in crate::ops) fn stays_here(&self, path: &str, known: &mut KnownSessions) -> bool {
        let folders = std::cell::RefCell::new(&mut known.folders);
        let stays = layout::stays_here(path, |session| {
            let mut folders = folders.borrow_mut();
            *folders.entry(session.to_string()).or_insert_with(|| self.is_folder(session))
        });
        stays && !self.is_sent_raw(path, known)
    }

    /// Whether a file that comes from a remote would take the place of what only this device writes.
    pub(super) fn is_kept_from_git(&self, path: &str) -> bool {
        let is_ours = |session: SessionId| session.device == *self.device();
        layout::is_own_path(path)
            || (layout::is_raw(path.as_ref())
                && layout::session_of(path).is_some_and(is_ours)
                && !self.sends_raw())
    }

    /// Whether a file is raw that leaves because the person wants it.
    pub(super) fn is_sent_raw(&self, path: &str, known: &mut KnownSessions) -> bool {
        if !layout::is_raw(path.as_ref())
            || !*known.sends_raw.get_or_insert_with(|| self.sends_raw())
        {
            return false;
        }
        let Some(id) = layout::session_of_snapshot(path) else { return false };
        *known.carried.entry(id.to_string()).or_insert_with(|| self.carries(&id))
    }

    /// Takes out of the files that git has and that would have to stay here those that another
    /// device sent: its raw, as a remote has it.
    pub(in crate::ops) fn without_sent_elsewhere(
        &self,
        mut tracked: Vec<String>,
    ) -> Result<Vec<String>, String> {
        let is_foreign = |path: &String| {
            let session = layout::session_of_snapshot(path);
            layout::is_raw(path.as_ref())
                && session.is_some_and(|id| {
                    id.device != *self.device() && !self.is_folder(&id.to_string())
                })
        };
        if !tracked.iter().any(is_foreign) {
            return Ok(tracked);
        }
        let listed = ["for-each-ref", "--format=%(objectname)", "refs/remotes"];
        let tips: BTreeSet<String> =
            self.git().answer(self.root(), &listed)?.lines().map(str::to_string).collect();
        for tip in tips {
            let options = ["diff", "--cached", "--name-only", "-z", "--relative", "--no-renames"];
            let asked = [&options[..], &[tip.as_str(), "--", layout::ALL_RAW]].concat();
            let other = self.git().answer(self.root(), &asked)?;
            let other: BTreeSet<&str> = other.split('\0').collect();
            tracked.retain(|path| !is_foreign(path) || other.contains(path.as_str()));
        }
        Ok(tracked)
    }

    /// Closes what came of other devices' raw to other people of this machine, and to git.
    pub(super) fn guard_received(&self, came: &[String]) -> Result<()> {
        let came = came.iter().filter(|path| layout::is_raw(path.as_ref()));
        let sessions: BTreeSet<SessionId> =
            came.filter_map(|path| layout::session_of_snapshot(path)).collect();
        if sessions.is_empty() {
            return Ok(());
        }
        let folders = sessions.iter().map(|id| self.layout().snapshot(id));
        for folder in folders.filter(|folder| files::is_dir(folder)) {
            files::make_private(&folder).context(|| self.store().cannot_write())?;
        }
        guards::write_missing(self.store(), true).context(|| self.store().cannot_write()).map(drop)
    }
}

impl Sync<'_> {
    /// Whether raw goes through Git LFS from here.
    fn has_lfs(&self) -> bool {
        self.memory.settings().sync.raw == RawSync::Decided(true) && self.memory.sends_raw()
    }

    /// Stops where raw is to go through Git LFS and that is not there, or where it would go is said
    /// by a file that came from elsewhere.
    pub(super) fn check_lfs(&self) -> Result<()> {
        if !self.has_lfs() {
            return Ok(());
        }
        let is_good = |arguments: &[&str]| self.work().run(arguments).is_ok_and(|it| it.is_good());
        let otherwise = "or `memtree config sync.raw plain` for ordinary files of git, or `false` to keep raw here";
        if !is_good(&["lfs", "version"]) {
            return Err(Error::new("cannot send raw: Git LFS is not installed")
                .because("`sync.raw` is true, and `git lfs` does not answer")
                .hint(format!("install `git-lfs`, then `git lfs install`; {otherwise}")));
        }
        if !is_good(&["config", "--get", "filter.lfs.clean"]) {
            return Err(Error::new("cannot send raw: git does not know Git LFS yet")
                .because("its settings name no filter `lfs`, so git would take raw itself")
                .hint(format!("`git lfs install` once; {otherwise}")));
        }
        self.refuse_lfs_config()
    }

    /// `.lfsconfig` travels, and says where Git LFS sends files.
    fn refuse_lfs_config(&self) -> Result<()> {
        let asked = ["ls-files", "--", ":(top).lfsconfig"];
        let is_tracked = self.git("cannot ask git about `.lfsconfig`", &asked)?;
        if is_tracked.is_empty() && !files::exists(self.repository.root.join(".lfsconfig")) {
            return Ok(());
        }
        Err(Error::new("cannot send raw: there is a `.lfsconfig`")
            .because("it comes with the repository and would choose where raw is sent")
            .hint("say it yourself with `git config lfs.url`, and `git rm .lfsconfig`; then sync again"))
    }

    /// Sends raw ahead of the commits that name it; the hook of Git LFS may not be there.
    pub(super) fn push_raw(&self, remote: &Remote) -> Result<Option<Ended>> {
        if !self.has_lfs() {
            return Ok(None);
        }
        self.refuse_lfs_config()?;
        (self.request.progress)(&format!("sending raw to {} by Git LFS", remote.name));
        let cannot = || format!("cannot send raw to `{}` by Git LFS", remote.name);
        let asked = ["lfs", "push", &remote.name, &remote.branch];
        let ended = self.work().run(&asked).map_err(|why| Error::new(cannot()).because(why))?;
        match ended.is_good() {
            true => Ok(None),
            false if ended.is_offline() => Ok(Some(ended)),
            false => Err(Error::new(cannot()).because(ended.complaint()).hint(
                "everything is committed here; where the remote has no Git LFS, `memtree config sync.raw plain` \
                 sends raw as ordinary files of git",
            )),
        }
    }
}
