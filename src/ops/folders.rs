//! Folders that a person's own settings name: each becomes a session when it has changed and then
//! lain still.
//!
//! Whether it has changed is decided by its content, as `snapshot` does it; how long it has lain
//! still is told by the dates of its files and folders against the clock handed in. So nothing has
//! to be remembered between two sweeps.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::Duration;
use serde::Serialize;

use crate::base::clock::{self, Timestamp};
use crate::base::files::FoundFile;
use crate::error::Result;
use crate::model::ids::SessionId;
use crate::model::session::Skipped;
use crate::ops::snapshot::{self, Request};
use crate::ops::sweep::Sweep;
use crate::store::Store;

/// A folder to keep.
#[derive(Debug, Clone)]
pub struct Folder {
    pub path: PathBuf,
    /// What it is about, in the person's words.
    pub objective: Option<String>,
    /// It is kept when nothing in it has changed for this long.
    pub idle: Duration,
}

/// What became of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    pub path: PathBuf,
    pub status: Status,
    /// The session that holds it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it will have lain still for long enough.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "stamped")]
    pub due: Option<Timestamp>,
    /// Why nothing can come of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is a session now.
    Kept,
    /// It would be one, were this no rehearsal.
    Planned,
    /// A session holds it as it is, or it was forgotten as it is.
    Unchanged,
    /// It changed just now.
    Waiting,
    /// There is nothing to keep.
    Missing,
}

/// A time that lies farther ahead than this comes from a clock that was wrong, and holds nobody up.
const FARTHEST_AHEAD: Duration = Duration::days(1);

/// Keeps the folders that have changed and lain still since. What cannot be kept of them is named
/// in `skipped`.
pub fn keep_idle(
    store: &Store,
    sweep: &Sweep<'_>,
    skipped: &mut Vec<Skipped>,
) -> Result<Vec<Looked>> {
    sweep.folders.iter().map(|folder| keep(Some(store), sweep, folder, false, skipped)).collect()
}

/// Says what [`keep_idle`] would do, and does nothing.
pub fn rehearse(store: Option<&Store>, sweep: &Sweep<'_>) -> Result<Vec<Looked>> {
    sweep.folders.iter().map(|folder| keep(store, sweep, folder, true, &mut Vec::new())).collect()
}

fn keep(
    store: Option<&Store>,
    sweep: &Sweep<'_>,
    folder: &Folder,
    dry_run: bool,
    skipped: &mut Vec<Skipped>,
) -> Result<Looked> {
    let looked = |status| Looked {
        path: folder.path.clone(),
        status,
        session: None,
        due: None,
        warning: None,
    };
    let missing = |why: &str| Looked { warning: Some(why.to_string()), ..looked(Status::Missing) };
    if !folder.path.is_absolute() {
        return Ok(missing("its path has to begin with `/` or `~/`"));
    }
    let Ok(path) = fs::canonicalize(&folder.path) else {
        return Ok(missing("there is no such folder"));
    };
    if !path.is_dir() {
        return Ok(missing("it is no folder"));
    }
    if let Some(setting) = snapshot::left_out_by(&sweep.pages.exclude, &path) {
        return Ok(missing(&format!("it is left out by the setting `{setting}`")));
    }
    let memory = store.map(|store| store.layout().root().to_path_buf()).unwrap_or_default();
    let (found, _) = snapshot::list(&path, &memory, &sweep.pages.exclude);
    if found.is_empty() {
        return Ok(missing("it holds no file"));
    }
    if let Some(session) =
        store.and_then(|store| snapshot::known(store, &path, &snapshot::looks(&found)))
    {
        return Ok(Looked { session, ..looked(Status::Unchanged) });
    }
    let due = last_change(&path, &found, sweep.now).map(|at| at + folder.idle);
    if let Some(due) = due.filter(|due| *due > sweep.now) {
        return Ok(Looked { due: Some(due), ..looked(Status::Waiting) });
    }
    let (Some(store), false) = (store, dry_run) else { return Ok(looked(Status::Planned)) };
    let request = Request {
        folder: path,
        objective: folder.objective.clone(),
        motto: None,
        status: None,
        device: sweep.device.clone(),
        now: sweep.now,
        zone: sweep.zone,
        exclude: &sweep.pages.exclude,
        cleaner: &sweep.pages.cleaner,
        dry_run: false,
    };
    let report = snapshot::snapshot(store, &request)?;
    if !report.unchanged {
        skipped.extend(report.skipped);
    }
    let status = if report.unchanged { Status::Unchanged } else { Status::Kept };
    Ok(Looked { session: report.session, ..looked(status) })
}

/// When something in a folder last changed. A file that went is told by the folder in which it lay.
fn last_change(root: &Path, found: &[FoundFile], now: Timestamp) -> Option<Timestamp> {
    let of_files = found.iter().filter_map(|file| file.metadata.modified().ok());
    let folders: BTreeSet<&Path> = found
        .iter()
        .flat_map(|file| {
            file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(root))
        })
        .collect();
    let of_folders =
        folders.into_iter().filter_map(|folder| fs::metadata(folder).ok()?.modified().ok());
    of_files.chain(of_folders).map(Timestamp::from).filter(|at| *at <= now + FARTHEST_AHEAD).max()
}

fn stamped<S: serde::Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.map(clock::stamp).unwrap_or_default())
}
