//! Checks before anything leaves: secrets, and what has to stay on this device, in what would be
//! committed and in every commit that was not pushed yet.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::shell::quoted;
use crate::base::text;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::ops::git_exposure::KnownSessions;

use super::outgoing::{Outgoing, Place};
use super::state::SyncState;

/// Something that must not leave this device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Exposed {
    /// The file, relative to the memory.
    pub path: String,
    pub line: usize,
    /// The rule that found it; its value is not repeated.
    pub rule: String,
    /// The commit that holds it, where it is in one.
    pub commit: Option<String>,
}

impl Exposed {
    fn shown(&self) -> String {
        let Exposed { path, line, rule, commit } = self;
        let within = commit.as_ref().map(|commit| format!(" (commit {commit})"));
        format!("{path}:{line}: {rule}{}", within.unwrap_or_default())
    }
}

/// So many are named.
const MOST_NAMED: usize = 10;
/// So much of a text is searched at once for secrets of several lines.
const WINDOW: usize = 1 << 16;
/// Of a longer line only the beginning is looked at: no page of ours has one.
const LONGEST_LINE: usize = 4 << 20;
/// A longer file is no page.
const LONGEST_FILE: u64 = 64 << 20;
/// A longer file beside the memory is no code.
const LONGEST_CODE: u64 = 8 << 20;
/// Where a secret stands that is in no file.
const MESSAGE: &str = "the commit's message";
/// What to do about a link, or another repository.
pub(super) const NOT_A_FILE: &str = "put the file itself there, or keep it out of the memory: move it, or name it in \
     `.git/info/exclude`; then sync again";

fn cannot_look(why: String) -> Error {
    Error::new("cannot look into what was not pushed yet").because(why)
}

impl Memory {
    /// Stops where a secret, raw or this device's own would leave: in what has changed, and in the
    /// commits that the remote does not have.
    pub(super) fn refuse_leaks(
        &self,
        changed: &BTreeSet<String>,
        remote: Option<&str>,
    ) -> Result<()> {
        self.refuse_raw(changed)?;
        self.refuse_odd(&self.odd_files(changed), NOT_A_FILE)?;
        let mut found = self.exposed_files(changed)?;
        found.extend(self.exposed_commits(&Outgoing::of_head(remote, None))?);
        if found.is_empty() { Ok(()) } else { Err(self.leak(found)) }
    }

    /// Does the same for the commits since one that was looked at.
    pub(super) fn refuse_new_leaks(&self, remote: &str, looked: Option<&str>) -> Result<()> {
        let found = self.exposed_commits(&Outgoing::of_head(Some(remote), looked))?;
        if found.is_empty() { Ok(()) } else { Err(self.leak(found)) }
    }

    /// Does so for what git is about to push, as it says to its hook.
    pub(super) fn refuse_pushed_leaks(&self, remote: &str, said: &str) -> Result<()> {
        let found = self.exposed_commits(&self.known_here(Outgoing::of_hook(remote, said)))?;
        if found.is_empty() { Ok(()) } else { Err(self.leak(found)) }
    }

    /// What of the files that have changed is a link, or another repository.
    pub(super) fn odd_files<'p>(
        &self,
        changed: impl IntoIterator<Item = &'p String>,
    ) -> Vec<(String, &'static str)> {
        let odd = |path: &String| {
            let name = path.trim_end_matches('/');
            let metadata = files::symlink_metadata(self.root().join(name)).ok()?;
            let kind = match (metadata.file_type().is_symlink(), metadata.is_dir()) {
                (true, _) => "a link",
                (_, true) => "a repository of its own",
                _ => return None,
            };
            Some((name.to_string(), kind))
        };
        changed.into_iter().filter_map(odd).collect()
    }

    /// Stops where git has raw. What was looked at by the last sync is not looked at again.
    pub(super) fn refuse_tracked(&self) -> Result<()> {
        let (git, root) = (self.git(), self.root());
        let state = SyncState::file(self.layout()).load();
        // Where raw was sent and is not to be any more, all of it is looked at.
        let synced = state.synced.filter(|_| !state.has_raw || self.sends_raw());
        let tracked = match synced.and_then(|synced| git.commit(root, &synced)) {
            Some(synced) => {
                let options =
                    ["diff", "--cached", "--name-only", "-z", "--relative", "--no-renames"];
                git.answer(root, &[&options[..], &[synced.as_str(), "--", "."]].concat())
            }
            None => git.answer(root, &["ls-files", "-z", "--", "."]),
        };
        let tracked = tracked
            .map_err(|why| Error::new("cannot ask git what it has of this memory").because(why))?;
        let mut known = KnownSessions::default();
        let stays = |path: &&str| self.stays_here(path, &mut known);
        let tracked: Vec<String> = tracked.split('\0').filter(stays).map(str::to_string).collect();
        let tracked = self
            .without_sent_elsewhere(tracked)
            .map_err(|why| Error::new("cannot ask git what it has of this memory").because(why))?;
        if tracked.is_empty() { Ok(()) } else { Err(self.tracked_error(&tracked)) }
    }

    /// What must not leave this device, of what has changed.
    pub(super) fn that_stay_here(&self, changed: &BTreeSet<String>) -> Vec<String> {
        let mut known = KnownSessions::default();
        changed.iter().filter(|path| self.stays_here(path, &mut known)).cloned().collect()
    }

    /// Stops where git would take raw.
    pub(super) fn refuse_raw(&self, changed: &BTreeSet<String>) -> Result<()> {
        let stays = self.that_stay_here(changed);
        let Some(first) = stays.first() else { return Ok(()) };
        Err(Error::new(format!("git would take `{first}`, which must stay on this device"))
            .because("raw is not redacted; it would go wherever this repository is pushed")
            .hint("run `memtree doctor --fix`; then take out of `.gitignore`, there and above, what lets it in"))
    }

    /// What stands in files that would be committed.
    fn exposed_files(&self, changed: &BTreeSet<String>) -> Result<Vec<Exposed>> {
        let redactor = self.redactor()?;
        let (mut found, mut known) = (Vec::new(), KnownSessions::default());
        for path in changed {
            // It holds what it holds, as the person was told.
            if self.is_sent_raw(path, &mut known) {
                continue;
            }
            let Some(page) = self.layout().of_page(path) else { continue };
            let Ok(metadata) = files::symlink_metadata(&page) else { continue };
            if !metadata.is_file() {
                continue;
            }
            if metadata.len() > LONGEST_FILE {
                found.push(too_long(path, None));
                continue;
            }
            let bytes = files::read(&page).map_err(|err| {
                Error::new(format!("cannot look for secrets in `{path}`")).because(err)
            })?;
            look(redactor, path, &bytes, None, &mut found);
        }
        Ok(found)
    }

    /// The files of the memory that differ from the last commit, by their paths in it.
    pub(super) fn changed_files(&self) -> Result<BTreeSet<String>> {
        let (git, root) = (self.git(), self.root());
        let cannot = |why: String| Error::new("cannot ask git what has changed").because(why);
        let asked = ["ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", "."];
        let mut changed = git.answer(root, &asked).map_err(cannot)?;
        // Before the first commit all that is staged is new.
        let staged = match git.commit(root, "HEAD") {
            Some(_) => {
                let asked = [
                    "diff", "--cached", "--name-only", "-z", "--relative", "--no-renames", "--",
                    ".",
                ];
                git.answer(root, &asked)
            }
            None => git.answer(root, &["ls-files", "-z", "--", "."]),
        };
        changed.push_str(&staged.map_err(cannot)?);
        let names = changed.split('\0').filter(|name| !name.is_empty());
        let mut names: BTreeSet<String> = names.map(str::to_string).collect();
        names.extend(self.new_episodes(None)?);
        Ok(names)
    }

    /// What stands in commits that the remote does not have, and what they say.
    fn exposed_commits(&self, outgoing: &Outgoing) -> Result<Vec<Exposed>> {
        if outgoing.tips.is_empty() || self.git().commit(self.root(), &outgoing.tips[0]).is_none() {
            return Ok(Vec::new());
        }
        let odd = self.outgoing_odd(outgoing).map_err(cannot_look)?;
        self.refuse_odd(&odd, &self.anew(None))?;
        let versions = self.outgoing_versions(outgoing, Place::Memory).map_err(cannot_look)?;
        let mut known = KnownSessions::default();
        let mut raw = versions.clone();
        raw.retain(|_, path| self.stays_here(path, &mut known));
        let raw = self.paths_of_files(&raw)?;
        let is_looked = |path: &String| !self.is_sent_raw(path, &mut known);
        let mut found = self.exposed_versions(outgoing, &versions, is_looked)?;
        if !raw.is_empty() {
            return Err(self.raw_in_commits(&raw, None));
        }
        found.extend(self.exposed_messages(outgoing)?);
        Ok(found)
    }

    /// The paths of those versions that are files'; folders are versions, too.
    fn paths_of_files(&self, versions: &BTreeMap<String, String>) -> Result<Vec<String>> {
        let names: Vec<&str> = versions.keys().map(String::as_str).collect();
        let sizes = self.git().sizes(self.root(), &names).map_err(cannot_look)?;
        let files = versions.iter().filter(|(name, _)| sizes.contains_key(*name));
        let paths: BTreeSet<&String> = files.map(|(_, path)| path).collect();
        Ok(paths.into_iter().cloned().collect())
    }

    /// The secrets in versions of files, each with a commit that has it.
    fn exposed_versions(
        &self,
        outgoing: &Outgoing,
        versions: &BTreeMap<String, String>,
        mut is_looked: impl FnMut(&String) -> bool,
    ) -> Result<Vec<Exposed>> {
        let names: Vec<&str> = versions
            .iter()
            .filter(|(_, path)| is_looked(path))
            .map(|(name, _)| name.as_str())
            .collect();
        let redactor = self.redactor()?;
        let mut found = Vec::new();
        self.each_content(&names, LONGEST_FILE / 2, |name, content| {
            let path = &versions[name];
            match content {
                Some(content) => look(redactor, path, content, Some(name), &mut found),
                None => found.push(too_long(path, Some(name.to_string()))),
            }
        })
        .map_err(cannot_look)?;
        for exposed in &mut found {
            let name = exposed.commit.take().unwrap_or_default();
            let asked = ["log", "-1", "--format=%h", "--find-object", &name];
            let tips: Vec<&str> = outgoing.tips.iter().map(String::as_str).collect();
            let asked = [&asked[..], &tips, &["--"]].concat();
            let commit = self.git().answer(self.root(), &asked).ok();
            exposed.commit = commit.map(|commit| commit.trim().to_string());
        }
        Ok(found)
    }

    /// The secrets in what commits say.
    fn exposed_messages(&self, outgoing: &Outgoing) -> Result<Vec<Exposed>> {
        let mut found = Vec::new();
        for (commit, message) in self.outgoing_messages(outgoing).map_err(cannot_look)? {
            let at = found.len();
            look(self.redactor()?, MESSAGE, message.as_bytes(), None, &mut found);
            found[at..].iter_mut().for_each(|one| one.commit = Some(commit.clone()));
        }
        Ok(found)
    }

    /// Names the commits beside the memory that a push would send with it, in a bigger repository;
    /// stops where one of them holds a secret.
    pub(super) fn refuse_leaks_beside(&self, remote: &str) -> Result<Vec<String>> {
        let outgoing = Outgoing::of_head(Some(remote), None);
        if self.git().commit(self.root(), "HEAD").is_none() {
            return Ok(Vec::new());
        }
        let commits = self.outgoing_beside(&outgoing).map_err(cannot_look)?;
        if commits.is_empty() {
            return Ok(commits);
        }
        let versions = self.outgoing_versions(&outgoing, Place::Beside).map_err(cannot_look)?;
        let names: Vec<&str> = versions.keys().map(String::as_str).collect();
        let (redactor, mut found) = (self.redactor()?, Vec::new());
        self.each_content(&names, LONGEST_CODE, |name, content| {
            // What is no text is no place where somebody writes a key.
            let text = content.filter(|content| !content[..content.len().min(8000)].contains(&0));
            if let Some(text) = text {
                look(redactor, &versions[name], text, None, &mut found);
            }
        })
        .map_err(cannot_look)?;
        if found.is_empty() { Ok(commits) } else { Err(leak_beside(found, &commits)) }
    }

    fn raw_in_commits(&self, raw: &[String], remote: Option<&str>) -> Error {
        let first = raw.first().map_or("", String::as_str);
        Error::new(format!(
            "nothing was pushed: commits that were not pushed yet hold {} of the files that must stay on this device, such as `{first}`",
            raw.len()
        ))
        .because("raw is not redacted; it would go wherever this repository is pushed")
        .hint(self.anew(remote))
    }

    /// The secrets in a text that is about to leave.
    pub(in crate::ops) fn exposed_text(&self, path: &str, bytes: &[u8]) -> Result<Vec<Exposed>> {
        let mut found = Vec::new();
        look(self.redactor()?, path, bytes, None, &mut found);
        Ok(found)
    }

    /// What is said where secrets would leave.
    pub(in crate::ops) fn leak(&self, mut found: Vec<Exposed>) -> Error {
        found.sort();
        found.dedup();
        let in_commits = found.iter().any(|one| one.commit.is_some());
        let many =
            if found.len() == 1 { "1 secret".into() } else { format!("{} secrets", found.len()) };
        let mut error = Error::new(format!("nothing was pushed: {many} would be"));
        for one in found.iter().take(MOST_NAMED) {
            error = error.because(one.shown());
        }
        if found.len() > MOST_NAMED {
            error = error.because(format!("and {} more", found.len() - MOST_NAMED));
        }
        let mut hint = String::from(
            "`memtree doctor --secrets --fix` redacts them where they stand; change the secrets, for they may have been seen",
        );
        if in_commits {
            hint.push_str(&format!("; then {}", self.anew(None)));
        }
        error.hint(hint)
    }

    /// How commits are made anew without what they hold.
    fn anew(&self, remote: Option<&str>) -> String {
        let git = format!("git -C {}", quoted(&self.root().display().to_string()));
        let onto =
            self.last_pushed(remote).unwrap_or_else(|| "<the last commit that was pushed>".into());
        format!(
            "take it out of the commits that were not pushed: `{git} reset --soft {onto}` keeps every file \
             as it is, and `memtree sync` commits them again"
        )
    }

    /// The last commit that is here and at the remote: one that came to the remote since is not
    /// here, and what it changed would be taken back.
    fn last_pushed(&self, remote: Option<&str>) -> Option<String> {
        let remote = self.remote(&self.repository()?, remote).ok()??;
        let asked = ["merge-base", "HEAD", &remote.tracking()];
        let base = self.git().answer(self.root(), &asked).ok()?;
        Some(base.trim().get(..10)?.to_string())
    }
}

/// What is said where commits of the person's own, beside the memory, hold secrets.
fn leak_beside(mut found: Vec<Exposed>, commits: &[String]) -> Error {
    found.sort();
    found.dedup();
    let mut error = Error::new(format!(
        "nothing was pushed: {} of yours outside of the memory, which would go with it, {} a secret",
        text::counted(commits.len(), "commit"),
        if commits.len() == 1 { "holds" } else { "hold" },
    ));
    for one in found.iter().take(MOST_NAMED) {
        error = error.because(one.shown());
    }
    for commit in commits.iter().take(MOST_NAMED) {
        error = error.because(format!("commit {commit}"));
    }
    error.hint(
        "the memory is committed. Take the secret out of your commits; or, where it may leave, `git push` them \
         yourself, and sync again",
    )
}

fn too_long(path: &str, commit: Option<String>) -> Exposed {
    let rule = "too long to be looked through for secrets".to_string();
    Exposed { path: path.to_string(), line: 0, rule, commit }
}

fn look(
    redactor: &Redactor,
    path: &str,
    bytes: &[u8],
    version: Option<&str>,
    found: &mut Vec<Exposed>,
) {
    let exposed = |line: usize, rule: &str| Exposed {
        path: path.to_string(),
        line,
        rule: rule.to_string(),
        commit: version.map(str::to_string),
    };
    found.extend(redactor.find(path).first().map(|(.., rule)| exposed(0, rule)));
    let decoded = from_utf16(bytes);
    let bytes = decoded.as_deref().map_or(bytes, str::as_bytes);
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(&line[..line.len().min(LONGEST_LINE)]);
        let secrets = redactor.find(&line);
        found.extend(secrets.iter().map(|(.., rule)| exposed(number + 1, rule)));
    }
    // A private key has many lines, and a token may be cut by a line's end.
    let mut first = 1;
    for window in windows(bytes) {
        let text = String::from_utf8_lossy(window);
        for (start, end, rule) in redactor.find(&text) {
            let line = first + text[..start].matches('\n').count();
            if text[start..end].contains('\n') {
                found.push(exposed(line, rule));
            }
        }
        first +=
            window[..window.len().min(WINDOW / 2)].iter().filter(|byte| **byte == b'\n').count();
    }
}

/// The text of a file that an editor wrote in UTF-16: its first two bytes say so.
fn from_utf16(bytes: &[u8]) -> Option<String> {
    let is_little = match bytes {
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| match is_little {
        true => u16::from_le_bytes([pair[0], pair[1]]),
        false => u16::from_be_bytes([pair[0], pair[1]]),
    });
    Some(char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Stretches of a text, each of which begins in the middle of the one before it.
fn windows(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = bytes.len().saturating_sub(WINDOW / 2).max(1);
    (0..last).step_by(WINDOW / 2).map(move |at| &bytes[at..bytes.len().min(at + WINDOW)])
}
