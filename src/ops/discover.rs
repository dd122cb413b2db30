//! Discovering: which files there are, whose they are, and which of them make up a session.

use std::collections::hash_map::{Entry, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::shared::{Beside, SharedFiles};
use crate::adapters::{self, Identified};
use crate::base::files::{self, Stamp};
use crate::error::{Error, Result};
use crate::model::session::{Skipped, Source};
use crate::ops::cursors::{Cursors, KnownFile, SharedCursor};
use crate::ops::sweep::{Report, Sweep};

/// Lists the files below the roots as they are now. What `own` holds is what we wrote ourselves.
pub(super) fn walk(
    sweep: &Sweep<'_>,
    own: &Path,
    report: &mut Report,
) -> Result<Vec<(PathBuf, Stamp)>> {
    let mut walked = Vec::new();
    let own = &fs::canonicalize(own).unwrap_or_else(|_| own.to_path_buf());
    for root in &sweep.roots {
        if !root.path.exists() {
            if root.named {
                return Err(Error::new(format!("cannot find the logs `{}`", root.path.display()))
                    .because("there is no such file or folder")
                    .hint("check the path after `--source`"));
            }
            continue;
        }
        // One place has one name here, however it was spelled: a file must not be met twice.
        let folder = fs::canonicalize(&root.path).unwrap_or_else(|_| root.path.clone());
        let holds_own = own.starts_with(&folder);
        for found in files::walk_files(&folder) {
            let found = match found {
                Ok(found) => found,
                Err(trouble) => {
                    report.skipped.push(Skipped {
                        path: trouble.path,
                        line: 0,
                        reason: trouble.reason,
                    });
                    continue;
                }
            };
            // A link may lead anywhere; the file it leads to is found where it is.
            if found.link.is_some()
                || root.glob.as_ref().is_some_and(|glob| !glob.matches_path(&found.relative))
            {
                continue;
            }
            if (holds_own && found.path.starts_with(own))
                || sweep.pages.exclude.has_path(&found.path)
            {
                continue;
            }
            walked.push((found.path, Stamp::of(&found.metadata)));
        }
    }
    Ok(walked)
}

/// What was found below the roots.
pub(super) struct Discovery<'w> {
    pub(super) sources: Vec<Source>,
    pub(super) files: HashMap<&'w OsStr, Seen>,
    /// Whether any file is shared among sessions.
    pub(super) has_shared: bool,
}

/// A file as it is now.
pub(super) struct Seen {
    pub(super) stamp: Stamp,
    /// Whether it looks as it did when it was last captured, or found to be no log.
    pub(super) same: bool,
    pub(super) known: Option<KnownFile>,
}

/// Tells whose the files are, and puts those of each session together.
pub(super) fn discover<'w>(
    sweep: &Sweep<'_>,
    walked: &'w [(PathBuf, Stamp)],
    shared: &SharedFiles,
    cursors: &mut Cursors,
    report: &mut Report,
) -> Discovery<'w> {
    let mut seen: HashMap<&OsStr, Seen> = HashMap::with_capacity(walked.len());
    let mut identified = Vec::with_capacity(walked.len());
    let mut listed = Vec::new();
    for (path, stamp) in walked {
        // Roots may overlap.
        let Entry::Vacant(place) = seen.entry(path.as_os_str()) else { continue };
        let cursor = cursors.unchanged(path, stamp);
        let same = cursor.is_some();
        let looked = match cursor {
            Some(cursor)
                if cursor
                    .shared
                    .as_ref()
                    .is_none_or(|shared| shared.beside == Beside::of(path)) =>
            {
                Ok((cursor.known.clone(), cursor.shared.clone()))
            }
            _ => look_into(path, shared, cursors.shared(path)),
        };
        let (known, sessions) = match looked {
            Ok(looked) => looked,
            Err(err) => {
                report.skipped.push(Skipped {
                    path: path.clone(),
                    line: 0,
                    reason: err.to_string(),
                });
                continue;
            }
        };
        let (flavor, identities, is_shared) = match (&known, sessions) {
            (Some(known), _) => (adapters::named(&known.flavor), vec![known.identity()], false),
            (None, Some(sessions)) => {
                let of_file =
                    (adapters::named(&sessions.flavor), sessions.identities().collect(), true);
                listed.push((path, stamp, sessions));
                of_file
            }
            (None, None) => {
                if !same {
                    cursors.remember(path.clone(), *stamp, None);
                }
                (None, Vec::new(), false)
            }
        };
        place.insert(Seen { stamp: *stamp, same, known });
        let Some(flavor) = flavor.map(|adapter| adapter.name()) else { continue };
        let is_named = |names: &[String]| names.iter().any(|name| name == flavor);
        if (!sweep.only.is_empty() && !is_named(&sweep.only)) || is_named(&sweep.except) {
            continue;
        }
        identified.extend(identities.into_iter().map(|identity| Identified {
            path: path.clone(),
            flavor,
            size: stamp.size,
            identity,
            shared: is_shared,
        }));
    }
    let (sources, clashes) =
        adapters::gather(identified, |flavor, lineage| cursors.owner(flavor, lineage).cloned());
    // Once they are captured, a clash is known and no news.
    report.skipped.extend(
        clashes
            .into_iter()
            .filter(|clash| seen.get(clash.path.as_os_str()).is_none_or(|file| !file.same)),
    );
    let has_shared = !listed.is_empty();
    for (path, stamp, sessions) in listed {
        let same = cursors
            .unchanged(path, stamp)
            .is_some_and(|cursor| cursor.shared.as_ref() == Some(&sessions));
        if !same {
            cursors.remember_shared(path.clone(), *stamp, sessions);
        }
    }
    Discovery { sources, files: seen, has_shared }
}

/// Says what a file is: one session's, or shared among many. `before` is what was known of it as a
/// shared one.
fn look_into(
    path: &Path,
    shared: &SharedFiles,
    before: Option<&SharedCursor>,
) -> io::Result<(Option<KnownFile>, Option<SharedCursor>)> {
    if let Some((adapter, identity)) = adapters::recognize(path)? {
        return Ok((Some(KnownFile::new(adapter.name(), &identity)), None));
    }
    let beside = Beside::of(path);
    let sessions = shared
        .list(path)?
        .map(|(adapter, found)| SharedCursor::new(adapter.name(), beside, found, before));
    Ok((None, sessions))
}
