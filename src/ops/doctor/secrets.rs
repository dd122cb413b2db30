//! An audit of redaction: every file of the tree is looked through for secrets once more.
//!
//! Derived text must hold none. Raw may: it is the agents' own, private and never synced; there it
//! is only counted.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::Doctor;
use super::finding::Findings;
use crate::base::files;
use crate::base::redact::Redactor;
use crate::error::{Context, Result};
use crate::model::digest::SnapshotShape;
use crate::model::ids::SessionId;
use crate::store::layout;

/// Of a longer line only the beginning is looked at: no page of ours has one.
const LONGEST_LINE: u64 = 4 << 20;

pub fn check(doctor: &Doctor<'_>, redactor: &Redactor, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let (git, cache) = (layout.git(), layout.cache());
    let mut raw_files = 0;
    // A folder's snapshot is raw throughout.
    let sessions = doctor.store.session_ids().context(|| "cannot list the sessions".into())?;
    let is_folder = |id: &SessionId| {
        let digest = doctor.store.digest(id).ok().flatten();
        digest.is_some_and(|digest| digest.content.shape() == SnapshotShape::Folder)
    };
    let folders: Vec<PathBuf> =
        sessions.iter().filter(|id| is_folder(id)).map(|id| layout.snapshot(id)).collect();
    for found in files::walk_files(layout.root()).flatten() {
        if found.link.is_some() || found.path.starts_with(&git) || found.path.starts_with(&cache) {
            continue;
        }
        let shown = layout.shown(&found.path);
        let is_raw = layout::is_raw(&found.relative)
            || folders.iter().any(|folder| found.path.starts_with(folder));
        let mut secrets = Vec::new();
        let name = found.relative.to_string_lossy().into_owned();
        if let Some((.., rule)) = redactor.find(&name).first() {
            secrets.push(format!("{rule} in the name"));
        }
        each_line(&found.path, |number, line| {
            secrets.extend(
                redactor.find(line).into_iter().map(|(.., rule)| format!("{number}: {rule}")),
            );
        })
        .context(|| format!("cannot look into `{shown}`"))?;
        if secrets.is_empty() {
            continue;
        }
        if is_raw {
            raw_files += 1;
            continue;
        }
        for secret in secrets {
            let means = "it would be synced and shown; its value is not repeated here";
            let fix = "remove it there, or `memtree forget --text`; then change the secret, for it may have been seen";
            findings.error(format!("{shown}:{secret}"), means, fix);
        }
    }
    if raw_files > 0 {
        let what = format!("{raw_files} raw files hold secrets, as the agents wrote them");
        findings.note(what, "raw is private to you and never synced", "");
    }
    Ok(())
}

fn each_line(path: &Path, mut each: impl FnMut(usize, &str)) -> io::Result<()> {
    let mut reader = BufReader::new(files::open(path)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        each(number, &String::from_utf8_lossy(&line));
    }
    Ok(())
}
