//! Each session's snapshot and digest, against each other; and, read again, against its raw.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;

use super::days::{Expected, ExpectedLines};
use super::{Findings, Step};
use crate::adapters;
use crate::base::files::{self, FoundFile};
use crate::base::git::LfsPointer;
use crate::capture::CaptureSettings;
use crate::capture::raw;
use crate::capture::recorder::RenderError;
use crate::error::{Context, Result};
use crate::model::day::DayLine;
use crate::model::digest::{Content, Digest, SnapshotShape, Worth};
use crate::model::ids::{EpisodeId, SessionId};
use crate::store::day::{DayLines, Difference};
use crate::store::guards::{self, GitState};
use crate::store::snapshots::parse_manifest_line;
use crate::store::{Store, digest, layout};

/// Checks every session; also says which of them must have lines in the days.
pub fn check(settings: &CaptureSettings<'_>, ids: &[SessionId]) -> (Findings, Expected) {
    let store = settings.store;
    let forgotten = store.forgotten();
    let has_guards = GitState::file(store.layout()).load().has_guards;
    let check = |id: &SessionId| {
        let is_guarded = has_guards && id.device == *settings.device;
        Check { is_guarded, ..Check::new(store, id) }.run(settings, forgotten.contains(id))
    };
    let checked: Vec<(Findings, Option<ExpectedLines>)> = ids.par_iter().map(check).collect();
    let (mut findings, mut expected) = (Findings::default(), Expected::new());
    for (id, (one, began)) in ids.iter().zip(checked) {
        findings.add(one);
        expected.extend(began.map(|lines| (id.clone(), lines)));
    }
    (findings, expected)
}

/// How the notes begin that name what a person may have taken out.
pub const NO_SECTION: &str = "has no section on";
pub const LACKS: &str = "lacks";

/// What a `.gitignore` does that is gone or was changed.
pub const UNGUARDED: &str = "does not keep raw out of git";

/// The check of one session.
struct Check<'s> {
    store: &'s Store,
    id: &'s SessionId,
    /// Whether this device gave it what keeps raw out of git.
    is_guarded: bool,
    found: Findings,
}

impl<'s> Check<'s> {
    fn new(store: &'s Store, id: &'s SessionId) -> Check<'s> {
        Check { store, id, is_guarded: false, found: Findings::default() }
    }

    fn run(
        mut self,
        settings: &CaptureSettings<'_>,
        is_forgotten: bool,
    ) -> (Findings, Option<ExpectedLines>) {
        let (layout, device) = (self.store.layout(), settings.device);
        if is_forgotten {
            // Another device's tombstone arrived, or a `forget` was stopped.
            self.note(
                Step::Digest,
                &layout.session(self.id),
                "is forgotten; the next sweep removes what is left of it",
            );
            return (self.found, None);
        }
        let path = layout.digest(self.id);
        let snapshot = layout.snapshot(self.id);
        let digest = match self.store.digest(self.id) {
            Ok(Some(digest)) => digest,
            Ok(None) if files::exists(&snapshot) => {
                self.gap(Step::Digest, &path, "there is a snapshot but no digest");
                return (self.found, None);
            }
            // An empty folder, as git leaves it behind.
            Ok(None) => return (self.found, None),
            Err(err) => {
                self.gap(
                    Step::Digest,
                    &path,
                    &format!("cannot be read: {}", err.causes().join(": ")),
                );
                return (self.found, None);
            }
        };
        self.digest(&path, &digest);
        self.lines(settings, &path);
        // Of another device's session only the readable parts may have come along.
        let is_elsewhere = self.id.device != *device && !files::exists(snapshot.join(layout::RAW));
        if files::exists(&snapshot) && !is_elsewhere {
            self.snapshot(&snapshot, &digest);
            self.guards(&digest);
        } else if digest.snapshot.evicted.is_some() {
            self.found.evicted = 1;
        } else if self.id.device != *device {
            self.found.elsewhere = 1;
        } else {
            let reason = "the digest says `snapshot: present`, but there is none";
            self.gap(Step::Raw, &snapshot, reason);
        }
        let began = self.began(&digest);
        (self.found, began)
    }

    /// Checks that raw keeps itself out of git.
    fn guards(&mut self, digest: &Digest) {
        let layout = self.store.layout();
        if self.is_guarded {
            for path in guards::missing_of(layout, self.id, digest.content.shape()) {
                self.gap(Step::Raw, &path, UNGUARDED);
            }
        }
    }

    /// Checks a digest by itself.
    fn digest(&mut self, path: &Path, digest: &Digest) {
        let amount = self.found.amount(Step::Digest);
        (amount.sessions, amount.files) = (1, 1);
        amount.bytes = files::metadata(path).map_or(0, |metadata| metadata.len());
        if digest.session != *self.id {
            let reason = format!("says that it is the digest of {}", digest.session);
            self.gap(Step::Digest, path, &reason);
        }
        self.sections(path);
        let unreadable =
            digest.snapshot.manifest.iter().any(|line| parse_manifest_line(line).is_none());
        if unreadable || digest.snapshot.manifest_sha256.len() != 64 {
            let reason = "its manifest is damaged, so what was captured cannot be proved";
            self.gap(Step::Digest, path, reason);
        }
    }

    /// What a session must have left in the days.
    fn began(&self, digest: &Digest) -> Option<ExpectedLines> {
        let content = &digest.content;
        // What was said in a folder is raw, and stays out of the days.
        let leaves_lines = content.worth == Worth::Full
            && content.turns > 0
            && content.shape() == SnapshotShape::Log;
        // A person may call a session worth remembering that we did not; it has no lines then.
        let ours = || {
            let text =
                files::read_to_string(self.store.layout().digest(self.id)).unwrap_or_default();
            digest::is_as_we_wrote(&text, "worth")
        };
        let began = content.started.filter(|_| leaves_lines && ours())?;
        Some(ExpectedLines { began, turns: content.turns })
    }

    /// Tells a page that was cut off from one out of which a person took something.
    fn sections(&mut self, path: &Path) {
        let text = files::read_to_string(path).unwrap_or_default();
        if text.contains('\0') {
            return self.gap(Step::Digest, path, "holds zero bytes, which no page does");
        }
        let missing = digest::missing_sections(&text);
        let reason = format!("{NO_SECTION} {} any more", missing.join(", "));
        if !missing.is_empty() && !text.ends_with('\n') {
            let reason = format!("{reason}, and ends in the middle of a line: it was cut off");
            return self.gap(Step::Digest, path, &reason);
        }
        if digest::is_cut(&text) {
            return self.gap(Step::Digest, path, "was cut off: its end is missing");
        }
        if missing.is_empty() {
            return;
        }
        self.note(Step::Digest, path, &reason);
    }

    /// Names the lines of a digest that its raw gives and that are no longer there: a person may
    /// have taken them out. Raw is read only where a section is not as it was written.
    fn lines(&mut self, settings: &CaptureSettings<'_>, path: &Path) {
        let text = files::read_to_string(path).unwrap_or_default();
        if digest::lacks_machine_facts(&text) {
            // Whoever takes out the section before it takes it along.
            if !digest::missing_sections(&text).is_empty() {
                return;
            }
            let reason = format!("{LACKS} what machines need: its last comment");
            return self.note(Step::Digest, path, &reason);
        }
        if !digest::is_changed(&text) {
            return;
        }
        let Some(again) = raw::page_again(settings, self.id, &text) else { return };
        let lacking = digest::lines_lacking(&text, &again);
        if let Some(first) = lacking.first() {
            let short = crate::base::text::one_line(first, 100);
            let count = lacking.len();
            let reason = format!("{LACKS} {count} of the lines that raw gives, such as `{short}`");
            self.note(Step::Digest, path, &reason);
        }
    }

    /// Checks the files of a snapshot against its manifest, and the manifest against the digest.
    fn snapshot(&mut self, snapshot: &Path, digest: &Digest) {
        let manifest = snapshot.join(layout::MANIFEST);
        let text = match files::read_to_string(&manifest) {
            Ok(text) => text,
            Err(err) => return self.gap(Step::Raw, &manifest, &format!("cannot be read: {err}")),
        };
        if files::sha256_hex(text.as_bytes()) != digest.snapshot.manifest_sha256 {
            self.gap(Step::Digest, &manifest, "is not the manifest whose hash the digest has");
        }
        let mut listed: BTreeMap<String, &str> = BTreeMap::new();
        for line in text.lines() {
            match parse_manifest_line(line) {
                Some((sha256, name)) => drop(listed.insert(name, sha256)),
                None => self.gap(Step::Raw, &manifest, "has a line that is none of a manifest"),
            }
        }
        for line in &digest.snapshot.manifest {
            let Some((sha256, name)) = parse_manifest_line(line) else { continue };
            if name != layout::MANIFEST && listed.get(&name).copied() != Some(sha256) {
                self.gap(
                    Step::Digest,
                    &snapshot.join(&name),
                    "the digest's manifest and the snapshot's differ",
                );
            }
        }
        // A page that lacks what only machines need says nothing of numbers.
        if ![listed.len() as u64, 0].contains(&digest.snapshot.files) {
            let said = format!(
                "lists {} files, but the digest says {}",
                listed.len(),
                digest.snapshot.files
            );
            self.gap(Step::Digest, &manifest, &said);
        }
        self.files(snapshot, digest, &listed);
        self.episodes(snapshot, digest, &listed);
    }

    /// Checks that each listed file is there and as it was, and that no other is.
    fn files(&mut self, snapshot: &Path, digest: &Digest, listed: &BTreeMap<String, &str>) {
        let shape = digest.content.shape();
        let mut there = BTreeSet::new();
        let mut bytes = 0;
        for file in files::walk_files(snapshot) {
            let file = match file {
                Ok(file) => file,
                Err(trouble) => {
                    self.gap(Step::Raw, &trouble.path, &trouble.reason);
                    continue;
                }
            };
            let name = layout::shown_relative(&file.relative);
            if name == layout::MANIFEST {
                continue;
            }
            let step = if layout::is_raw_file(&name, shape) { Step::Raw } else { Step::Readable };
            let Some(sha256) = listed.get(&name) else {
                if layout::is_guard(&name, shape) && file.link.is_none() {
                    continue;
                }
                self.gap(step, &file.path, "is not in the manifest");
                continue;
            };
            bytes += self.file(step, &file, sha256);
            there.insert(name);
        }
        let evicted = digest.snapshot.evicted.is_some();
        let is_heavy = |name: &String| layout::is_heavy(name, shape);
        let keeps_pages = there.iter().any(|name| !is_heavy(name));
        if evicted && there.iter().any(is_heavy) {
            self.note(
                Step::Raw,
                snapshot,
                "evicted, but some of its raw is still here; the next sweep removes it",
            );
        }
        self.found.evicted = usize::from(evicted);
        for name in listed.keys().filter(|name| !there.contains(*name)) {
            if evicted && (is_heavy(name) || !keeps_pages) {
                continue;
            }
            let step = if layout::is_raw_file(name, shape) { Step::Raw } else { Step::Readable };
            self.gap(step, &snapshot.join(name), "is gone");
        }
        if !evicted && there.len() == listed.len() && ![bytes, 0].contains(&digest.snapshot.bytes) {
            let said =
                format!("holds {bytes} bytes, but the digest says {}", digest.snapshot.bytes);
            self.gap(Step::Digest, snapshot, &said);
        }
    }

    /// Checks that a file is what the manifest says; returns how many bytes it has.
    fn file(&mut self, step: Step, file: &FoundFile, sha256: &str) -> u64 {
        let amount = self.found.amount(step);
        amount.sessions = 1;
        amount.files += 1;
        if file.link.is_some() {
            self.gap(step, &file.path, "is a link");
            return 0;
        }
        let (length, now) = match files::hash_file(&file.path) {
            Ok(hashed) => hashed,
            Err(err) => {
                self.gap(step, &file.path, &format!("cannot be read: {err}"));
                return 0;
            }
        };
        self.found.amount(step).bytes += length;
        if now != sha256
            && let Some(pointer) = LfsPointer::at(&file.path).filter(|it| it.sha256 == sha256)
        {
            self.note(step, &file.path, "is with Git LFS, and not here: `git lfs pull`");
            return pointer.bytes;
        }
        if now != sha256 {
            let reason = "is not what the manifest says: it was changed or damaged";
            self.gap(step, &file.path, reason);
        }
        length
    }

    /// Checks that every episode that the digest counts has its page.
    fn episodes(&mut self, snapshot: &Path, digest: &Digest, listed: &BTreeMap<String, &str>) {
        let Some((first, last)) = digest.content.episodes else { return };
        if digest.content.shape() == SnapshotShape::Folder {
            return;
        }
        for number in first.0..=last.0 {
            let page = layout::episode(EpisodeId(number));
            if !listed.contains_key(&page) {
                self.gap(
                    Step::Readable,
                    &snapshot.join(page),
                    "the digest counts this episode, the manifest does not",
                );
            }
        }
    }

    fn gap(&mut self, step: Step, path: &Path, reason: &str) {
        self.found.gap(step, Some(self.id), self.store.layout().shown(path), reason);
    }

    fn note(&mut self, step: Step, path: &Path, reason: &str) {
        self.found.note(step, Some(self.id), self.store.layout().shown(path), reason);
    }
}

/// So many sessions are read again before their days are compared.
const AT_ONCE: usize = 16;

/// Reads the raw of every session again, and compares what it says with what was written.
pub fn check_again(settings: &CaptureSettings<'_>, ids: &[SessionId]) -> Result<Findings> {
    let store = settings.store;
    let mut findings = Findings::default();
    for some in ids.chunks(AT_ONCE) {
        let read: Vec<(Findings, DayLines)> = some
            .par_iter()
            .map(|id| {
                let mut check = Check::new(store, id);
                let lines = check.again(settings).unwrap_or_default();
                (check.found, lines)
            })
            .collect();
        let mut lines = DayLines::default();
        for (found, of_session) in read {
            findings.add(found);
            lines.join(of_session);
        }
        let layout = store.layout();
        let compared = lines.compare(layout, |day, line, difference| {
            let path = layout.shown(&layout.day(day));
            let session = crate::store::day::session_of(line);
            let session = session.as_ref();
            let short = crate::base::text::one_line(line, 100);
            match difference {
                Difference::Missing => {
                    findings.gap(Step::Day, session, path, format!("has no line `{short}`"))
                }
                Difference::TooOften => {
                    findings.gap(Step::Day, session, path, format!("has twice `{short}`"))
                }
                Difference::OtherWords => findings.note(
                    Step::Day,
                    session,
                    path,
                    format!("says in other words `{short}`"),
                ),
            }
        });
        findings.amount(Step::Again).lines += compared.context(|| "cannot read the days".into())?;
    }
    Ok(findings)
}

impl Check<'_> {
    /// Reads a session's raw once more; returns its lines for the days.
    fn again(&mut self, settings: &CaptureSettings<'_>) -> Option<DayLines> {
        let snapshot = self.store.layout().snapshot(self.id);
        let raw = snapshot.join(layout::RAW);
        let digest = self.store.digest(self.id).ok().flatten()?;
        let is_here = digest.content.shape() == SnapshotShape::Log
            && digest.snapshot.evicted.is_none()
            && files::exists(&raw);
        if !is_here {
            return None;
        }
        let Some((adapter, (_, native_id))) =
            adapters::named(&digest.content.flavor).zip(digest.source_id.split_once(':'))
        else {
            self.note(Step::Again, &raw, "is of an agent that this program does not know");
            return None;
        };
        let mut lines = DayLines::default();
        let mut add = |line: &DayLine| {
            lines.add(line, self.id, settings.zone);
            Ok(())
        };
        let read = raw::read_again(adapter, &snapshot, native_id, &settings.pages, &mut add);
        let read = match read {
            Ok(read) => read?,
            Err(RenderError::Log(reason)) => {
                self.gap(Step::Again, &raw, &format!("cannot be read any more: {reason}"));
                return None;
            }
            Err(RenderError::Page(err)) => {
                self.gap(Step::Again, &raw, &format!("cannot be told: {err}"));
                return None;
            }
        };
        let files = &read.log.files;
        let amount = self.found.amount(Step::Again);
        (amount.sessions, amount.files) = (1, files.len() as u64);
        amount.bytes =
            files.iter().map(|file| files::metadata(&file.path).map_or(0, |m| m.len())).sum();
        let (then, now) = (&digest.content, &read.session.content);
        if then.episodes != now.episodes || then.turns != now.turns {
            let shown = |content: &Content| match content.episodes {
                Some((first, last)) => format!("{first} - {last} with {} turns", content.turns),
                None => "no episode".into(),
            };
            let reason = format!("tells {}, but the digest says {}", shown(now), shown(then));
            self.gap(Step::Again, &raw, &reason);
        }
        let content = read.session.content.clone();
        self.facts(&digest::text(&Digest { content, ..digest.clone() }));
        self.pages(&snapshot, &read.pages);
        (now.worth == Worth::Full && then.worth == Worth::Full).then_some(lines)
    }

    /// Compares what a digest says of its session with what raw gives.
    fn facts(&mut self, again: &str) {
        let path = self.store.layout().digest(self.id);
        let text = files::read_to_string(&path).unwrap_or_default();
        for (key, given) in digest::facts_differing(&text, again) {
            let reason = format!("does not say `{key}: {}`, as raw does", given.trim());
            self.gap(Step::Again, &path, &reason);
        }
    }

    /// Compares the pages of a snapshot with those that its raw would be written as.
    fn pages(&mut self, snapshot: &Path, pages: &BTreeMap<String, String>) {
        let manifest = files::read_to_string(snapshot.join(layout::MANIFEST)).unwrap_or_default();
        let written: BTreeMap<String, &str> = manifest
            .lines()
            .filter_map(parse_manifest_line)
            .filter(|(_, name)| !layout::is_raw_file(name, SnapshotShape::Log))
            .map(|(sha256, name)| (name, sha256))
            .collect();
        for name in written.keys().filter(|name| !pages.contains_key(*name)) {
            self.gap(Step::Again, &snapshot.join(name), "raw tells of no such page");
        }
        for name in pages.keys().filter(|name| !written.contains_key(*name)) {
            let reason = "raw tells of this page, which is not there";
            self.gap(Step::Again, &snapshot.join(name), reason);
        }
        let differs =
            |(name, now): &(&String, &String)| written.get(*name).is_some_and(|then| then != now);
        let other = pages.iter().filter(differs).count();
        if other > 0 {
            let reason = format!(
                "{other} of its pages would be written in other words by this version and settings"
            );
            self.note(Step::Again, snapshot, &reason);
        }
    }
}
