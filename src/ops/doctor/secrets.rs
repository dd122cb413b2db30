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
use crate::capture::again;
use crate::capture::known::Known;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::SnapshotShape;
use crate::model::ids::SessionId;
use crate::ops::redaction;
use crate::store::layout;

/// How many doubtful lines are shown.
const MOST_DOUBTS: usize = 20;
/// Of a longer line only the beginning is looked at: no page of ours has one.
const LONGEST_LINE: u64 = 4 << 20;

/// Looks for secrets; with `fix`, writes the pages that hold some again.
pub fn check(doctor: &Doctor<'_>, redactor: &Redactor, findings: &mut Findings) -> Result<()> {
    if doctor.fix {
        write_again(doctor, redactor, findings)?;
    } else if redaction::has_older(doctor.memory) {
        findings.note(
            "some sessions were captured with rules that knew fewer secrets",
            "what is a secret by the present rules may stand in their pages",
            "memtree doctor --secrets --fix",
        );
    }
    look(doctor, redactor, findings)
}

/// Writes sessions whose pages hold secrets again from their raw with the present rules, and takes
/// the secrets out of all other pages, line by line. A person's edits stay.
fn write_again(doctor: &Doctor<'_>, redactor: &Redactor, findings: &mut Findings) -> Result<()> {
    let (store, layout) = (doctor.store, doctor.store.layout());
    let settings = doctor.memory.capture_settings()?;
    let _lock = store.lock()?;
    let mut known = Known::load(&settings, store.digest_stamps()?);
    for session in redact_sessions(doctor.memory, &mut known)? {
        let what = format!("{session} held what is a secret by the present rules");
        findings.fixed(what, "its pages were written again from its raw", "");
    }
    known.cursors.save(&layout.cursors()).context(|| store.cannot_write())?;
    let mut cleaned = 0;
    for found in files::walk_files(layout.root()).flatten() {
        // A snapshot's pages have their hashes; those without raw are named below.
        let apart = [layout.git(), layout.cache(), layout.locks(), layout.settings()];
        let is_apart = apart.iter().any(|apart| found.path.starts_with(apart))
            || layout::is_raw(&found.relative)
            || layout::shown_relative(&found.relative).contains("/snapshot/");
        if found.link.is_some() || is_apart {
            continue;
        }
        let Ok(page) = files::read_to_string(&found.path) else { continue };
        let clean: String =
            page.split_inclusive('\n').map(|line| redactor.redact(line).into_owned()).collect();
        if clean != page {
            files::write_atomic(&found.path, clean.as_bytes()).context(|| store.cannot_write())?;
            cleaned += 1;
        }
    }
    if cleaned > 0 {
        let what = format!("{cleaned} other pages held what is a secret by the present rules");
        findings.fixed(what, "it was redacted where it stood", "");
    }
    redaction::note_all_written(doctor.memory)
}

/// Writes this device's sessions whose pages hold a secret again from their raw, and says which;
/// the lock is held.
pub fn redact_sessions(memory: &Memory, known: &mut Known) -> Result<Vec<SessionId>> {
    let (layout, redactor) = (memory.layout(), memory.redactor()?);
    let settings = memory.capture_settings()?;
    let sessions = memory.store().session_ids().context(|| "cannot list the sessions".into())?;
    let mut written = Vec::new();
    for session in sessions.into_iter().filter(|id| id.device == *settings.device) {
        let raw = layout.snapshot(&session).join(layout::RAW);
        if files::is_dir(&raw)
            && has_secret(&layout.session(&session), redactor)?
            && again::capture_again(&settings, known, &session)?
        {
            written.push(session);
        }
    }
    Ok(written)
}

/// Whether one of the derived pages below a session's folder holds a secret.
fn has_secret(folder: &Path, redactor: &Redactor) -> Result<bool> {
    for found in files::walk_files(folder).flatten() {
        if found.link.is_some() || layout::shown_relative(&found.relative).contains("snapshot/raw/")
        {
            continue;
        }
        let mut holds = false;
        each_line(&found.path, |_, line| holds = holds || !redactor.find(line).is_empty())
            .context(|| format!("cannot look into `{}`", found.path.display()))?;
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}

fn look(doctor: &Doctor<'_>, redactor: &Redactor, findings: &mut Findings) -> Result<()> {
    let layout = doctor.store.layout();
    let (git, cache) = (layout.git(), layout.cache());
    let mut raw_files = 0;
    let mut doubtful = Vec::new();
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
        let mut doubts = Vec::new();
        let name = found.relative.to_string_lossy().into_owned();
        if let Some((.., rule)) = redactor.find(&name).first() {
            secrets.push(format!("{rule} in the name"));
        }
        each_line(&found.path, |number, line| {
            secrets.extend(
                redactor.find(line).into_iter().map(|(.., rule)| format!("{number}: {rule}")),
            );
            if !is_raw && doubts.len() < MOST_DOUBTS {
                doubts.extend(redactor.doubtful(line).into_iter().map(|run| (number, run.len())));
            }
        })
        .context(|| format!("cannot look into `{shown}`"))?;
        if !is_raw {
            secrets.extend(of_several_lines(redactor, &found.path));
        }
        for (number, length) in doubts {
            doubtful.push(format!("{shown}:{number}: {length} random characters"));
        }
        if secrets.is_empty() {
            continue;
        }
        if is_raw {
            raw_files += 1;
            continue;
        }
        for secret in secrets {
            let means = "it would be synced and shown; its value is not repeated here";
            let fix = "`memtree doctor --secrets --fix` writes it again; what no rule of ours knows gets one under \
                       `[[redact.rules]]` in your own configuration (`memtree config`); then change the secret, for it \
                       may have been seen";
            findings.error(format!("{shown}:{secret}"), means, fix);
        }
    }
    for line in doubtful.iter().take(MOST_DOUBTS) {
        let fix = "if it is one: `[[redact.rules]]` with a `name` and a `pattern` in your own configuration, then \
                   `memtree doctor --secrets --fix`";
        findings.note(
            line,
            "no rule knows it (high-entropy, not announced); an id or a hash mostly",
            fix,
        );
    }
    if raw_files > 0 {
        let what = format!("{raw_files} raw files hold secrets, as the agents wrote them");
        findings.note(what, "raw is private to you and never synced", "");
    }
    Ok(())
}

/// The secrets that go on over a line's end, such as private keys.
fn of_several_lines(redactor: &Redactor, path: &Path) -> Vec<String> {
    let bytes = files::read_at_most(path, LONGEST_LINE).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let found = redactor.find(&text).into_iter();
    let found = found.filter(|(start, end, _)| text[*start..*end].contains('\n'));
    let number = |start: usize| text[..start].matches('\n').count() + 1;
    found.map(|(start, _, rule)| format!("{}: {rule}", number(start))).collect()
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
