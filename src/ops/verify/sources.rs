//! The agents' own logs, as they are now, against what was kept of them.

use std::collections::HashSet;
use std::fs;

use rayon::prelude::*;

use super::{Findings, Step};
use crate::adapters::shared::SharedFiles;
use crate::base::files;
use crate::error::{Context, Result};
use crate::model::session::{LogFile, Source};
use crate::ops::cursors::Cursors;
use crate::ops::discover::{self, Discovery};
use crate::ops::sweep::{self, Report, Sweep, Tree};
use crate::store::snapshots::parse_manifest_line;
use crate::store::tombstones::Tombstones;
use crate::store::{Store, layout};

/// Finds the logs as a sweep would, and looks for the hash of each file in its session's manifest.
pub fn check(store: &Store, sweep: &Sweep<'_>) -> Result<Findings> {
    // What is learnt here is thrown away: only a sweep remembers.
    let mut cursors = Cursors::load(&store.layout().cursors());
    let tree = Tree::load(store, sweep::digested(store)?, &mut cursors, sweep);
    let shared = SharedFiles::with_temporary_copies();
    let mut report = Report::default();
    let walked = discover::walk(sweep, store.layout().root(), &mut report)?;
    let mut found = discover::discover(sweep, &walked, &shared, &mut cursors, &mut report);
    let tombstones =
        Tombstones::load(store.layout()).context(|| "cannot read what was forgotten".into())?;
    found.sources.retain(|source| {
        let source_id = source.source_id();
        !tombstones.has_source(&source_id)
            && !cursors.is_excluded(&source_id, &sweep.pages.exclude.key())
    });
    let checked: Vec<Findings> = found
        .sources
        .par_iter()
        .map(|source| check_one(store, &tree, &found, &shared, source))
        .collect();
    let mut findings = Findings::default();
    checked.into_iter().for_each(|one| findings.add(one));
    for skipped in report.skipped {
        findings.note(Step::Source, None, skipped.path.to_string_lossy(), skipped.reason);
    }
    Ok(findings)
}

fn check_one(
    store: &Store,
    tree: &Tree,
    found: &Discovery<'_>,
    shared: &SharedFiles,
    source: &Source,
) -> Findings {
    let mut findings = Findings::default();
    let main = source.files[0].path.to_string_lossy();
    let Some(known) = tree.sessions.get(&source.source_id()) else {
        findings.note(Step::Source, None, main, "not swept yet");
        return findings;
    };
    // Where the digest cannot be read, its own check says so.
    let Ok(Some(digest)) = store.digest(&known.id) else { return findings };
    let whole = fs::read_to_string(store.layout().snapshot(&known.id).join(layout::MANIFEST))
        .unwrap_or_default();
    let lists_all = !whole.is_empty()
        || digest.snapshot.manifest.iter().any(|line| !line.ends_with(layout::MANIFEST));
    if !lists_all {
        // Too many files for the digest's list, and the list itself is with the snapshot, on
        // another device.
        return findings;
    }
    let lines = whole.lines().chain(digest.snapshot.manifest.iter().map(String::as_str));
    let kept: HashSet<&str> =
        lines.filter_map(parse_manifest_line).map(|(sha256, _)| sha256).collect();
    findings.amount(Step::Source).sessions += 1;
    for file in &source.files {
        let path = file.path.to_string_lossy();
        let (bytes, sha256) = match hash(shared, file) {
            Ok(hashed) => hashed,
            Err(err) => {
                findings.note(
                    Step::Source,
                    Some(&known.id),
                    path,
                    format!("cannot be read: {err}"),
                );
                continue;
            }
        };
        let amount = findings.amount(Step::Source);
        amount.files += 1;
        amount.bytes += bytes;
        if kept.contains(sha256.as_str()) {
            continue;
        }
        let same = file.within.is_none()
            && found.files.get(file.path.as_os_str()).is_some_and(|now| now.same);
        if same {
            let reason =
                "looks as it did when it was swept, but its hash is not in the session's manifest";
            findings.gap(Step::Source, Some(&known.id), path, reason);
        } else {
            findings.note(
                Step::Source,
                Some(&known.id),
                path,
                "changed since the last sweep; not swept yet",
            );
        }
    }
    findings
}

/// The length and hash of what a session has in a file.
fn hash(shared: &SharedFiles, file: &LogFile) -> std::io::Result<(u64, String)> {
    match &file.within {
        Some(id) => {
            let mut hasher = files::HashingWriter::new(std::io::sink());
            shared.extract(&file.path, id, &mut hasher)?;
            let (_, hashed) = hasher.finish();
            Ok((hashed.bytes, hashed.sha256))
        }
        None => files::hash_file(&file.path),
    }
}
