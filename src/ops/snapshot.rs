//! A session from any folder, when a person asks for it.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::base::files;
use crate::base::setters::setters;
use crate::capture::commit;
use crate::capture::folder::{self, FolderNotes, Listing};
use crate::capture::known::Known;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::model::session::Skipped;
use crate::ops::{consolidate, digest};
use crate::store::tombstones::Tombstones;

/// What to make a session of, and what the person says of it.
#[derive(Debug, Clone, Default)]
pub struct SnapshotRequest {
    pub folder: PathBuf,
    /// What it was about, a short saying for it, and how it went.
    pub notes: FolderNotes,
    /// Whether it only says what would be done.
    pub dry_run: bool,
}

setters!(SnapshotRequest { folder: PathBuf, notes: FolderNotes, dry_run: bool });

impl SnapshotRequest {
    /// A folder.
    pub fn of(folder: impl Into<PathBuf>) -> SnapshotRequest {
        SnapshotRequest::default().folder(folder)
    }
}

/// What was done.
#[derive(Debug, Serialize)]
pub struct SnapshotReport {
    /// The session that holds this state of the folder; none in a dry run that would make one.
    pub session: Option<SessionId>,
    pub path: Option<String>,
    pub files: u64,
    pub bytes: u64,
    /// Whether the folder was kept already, just as it is.
    pub unchanged: bool,
    /// Whether just this was forgotten, and so is not kept again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    pub skipped: Vec<Skipped>,
}

impl Memory {
    /// Makes a session of a folder.
    pub fn snapshot(&self, request: SnapshotRequest) -> Result<SnapshotReport> {
        let (store, layout) = (self.store(), self.layout());
        let cannot = || store.cannot_write();
        let settings = self.capture_settings()?;
        let mut listing = self.listing(&request)?;
        let kept = match listing.known(layout) {
            Some(session) => Some((session, false)),
            None if request.dry_run => None,
            None => {
                let _lock = store.lock()?;
                // The id that we are about to take may belong to a session that a killed sweep
                // left half in place.
                commit::finish_earlier_sweep(store, settings.zone)?;
                commit::remove_leftovers(store).context(cannot)?;
                let tombstones = Tombstones::load(layout);
                let tombstones = tombstones.context(|| "cannot read what was forgotten".into())?;
                let mut known = Known::load(&settings, store.digest_stamps()?);
                let notes = &request.notes;
                let kept = folder::keep(&settings, &mut known, &tombstones, &mut listing, notes)?;
                files::remove_folder(&layout.staging()).context(cannot)?;
                known.cursors.save(&layout.cursors()).context(cannot)?;
                // It may be the eighth session of a core, and it belongs into the index of
                // sessions.
                consolidate::run(store, self.device())?;
                digest::note_waiting(self, kept.0.iter())?;
                Some(kept)
            }
        };
        let (session, is_new) = kept.unwrap_or((None, true));
        if session.is_some() && is_new {
            crate::index::refresh(store)?;
            self.improve_digests(&|_, _| {})?;
        }
        Ok(SnapshotReport {
            path: session.as_ref().map(|session| layout.shown(&layout.digest(session))),
            files: listing.count(),
            bytes: listing.bytes(),
            unchanged: !is_new,
            forgotten: !is_new && session.is_none(),
            session,
            skipped: if is_new { listing.skipped } else { Vec::new() },
        })
    }

    /// The files to keep; without any there is nothing to do.
    fn listing(&self, request: &SnapshotRequest) -> Result<Listing> {
        let named = request.folder.display();
        let folder = fs::canonicalize(&request.folder);
        let exclude = self.exclude();
        let path = folder.as_ref().unwrap_or(&request.folder);
        if let Some(setting) = folder::left_out_by(&exclude, path) {
            return Err(Error::new(format!("`{named}` is left out by the setting `{setting}`"))
                .hint("take it out of the setting, if it is to be kept after all"));
        }
        let folder = folder.context(|| format!("cannot read the folder `{named}`"))?;
        if !files::is_dir(&folder) {
            return Err(Error::usage(format!("`{}` is not a folder", folder.display())));
        }
        let what = format!("there is nothing to keep in `{}`", folder.display());
        let listing = Listing::of(folder, self.root(), &exclude);
        if listing.count() == 0 {
            return Err(Error::usage(what).because("it holds no file outside of the memory itself"));
        }
        Ok(listing)
    }
}
