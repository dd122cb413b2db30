//! The agents' own logs, as they are now, against what was kept of them.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{Findings, Step};
use crate::capture::CaptureSettings;
use crate::capture::known::Known;
use crate::capture::sources::{Selection, Sources};
use crate::error::Result;
use crate::model::session::Source;
use crate::store::{Store, layout};

/// Finds the logs as a sweep would, and looks for the hash of each file in its session's manifest.
pub fn check(settings: &CaptureSettings<'_>, selection: &Selection) -> Result<Findings> {
    let (found, known) = Sources::scan(settings, selection)?;
    let check = |source: &Source| check_one(settings.store, &known, &found, source);
    let checked: Vec<Findings> = found.sources.par_iter().map(check).collect();
    let mut findings = Findings::default();
    checked.into_iter().for_each(|one| findings.add(one));
    for skipped in found.skipped {
        findings.note(Step::Source, None, skipped.path.to_string_lossy(), skipped.reason);
    }
    Ok(findings)
}

fn check_one(store: &Store, known: &Known, found: &Sources, source: &Source) -> Findings {
    let mut findings = Findings::default();
    let main = source.files[0].path.to_string_lossy();
    let Some(session) = known.session(&source.source_id()) else {
        findings.note(Step::Source, None, main, "not swept yet");
        return findings;
    };
    findings.left_to_others = usize::from(known.is_left_to_others(session));
    // Where the digest cannot be read, its own check says so.
    let Ok(Some(digest)) = store.digest(&session.id) else { return findings };
    let captured = store.captured_hashes(&digest);
    if captured.keys().all(|name| name == layout::MANIFEST) {
        // Too many files for the digest's list, and the list itself is with the snapshot, on
        // another device.
        return findings;
    }
    let kept: HashSet<&str> = captured.values().map(String::as_str).collect();
    findings.amount(Step::Source).sessions += 1;
    for file in &source.files {
        let path = file.path.to_string_lossy();
        let (bytes, sha256) = match found.hash(file) {
            Ok(hashed) => hashed,
            Err(err) => {
                findings.note(
                    Step::Source,
                    Some(&session.id),
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
        if file.within.is_none() && found.is_same(&file.path) {
            let reason =
                "looks as it did when it was swept, but its hash is not in the session's manifest";
            findings.gap(Step::Source, Some(&session.id), path, reason);
        } else {
            findings.note(
                Step::Source,
                Some(&session.id),
                path,
                "changed since the last sweep; not swept yet",
            );
        }
    }
    findings
}
