//! Before a tool runs: what was decided on the file that is about to be edited, or what came of the
//! command that is about to run. Silent unless it is sure.
//!
//! A decision is on a file where it names it, or where it was taken in a part of a session that
//! changed this file and no other. A lesson is on a command where it has it word for word.

use std::path::{Path, PathBuf};

use super::asking::Asking;
use super::lines::{DigestLines, day_of, plain, quoted};
use super::page::{Line, Section};
use super::stale::EvidenceChecker;
use crate::base::text;
use crate::error::Result;
use crate::index::Index;
use crate::model::digest::{Claim, ClaimKind, Digest, Worth};
use crate::model::evidence::Proof;
use crate::model::ids::EpisodeId;
use crate::model::signals::CorrectionKind;
use crate::query::{FilterKey, Query};
use crate::store::Store;

/// The heading above the lines.
const HEADING: &str = "What bears on this call";
/// How many sessions are looked at, and how many lines are worth an agent's attention.
const HITS: usize = 8;
const LINES: usize = 2;
/// How much of a command is looked at, and how little says nothing.
const LONGEST_COMMAND: usize = 400;
const SHORTEST_COMMAND: usize = 8;

/// What an agent is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    Edit(PathBuf),
    Run(String),
}

/// What is asked before a call.
pub struct CallSearch<'a> {
    pub store: &'a Store,
    pub index: &'a Index<'a>,
    pub folder: &'a Path,
    pub asking: &'a Asking<'a>,
    pub checker: &'a EvidenceChecker,
}

impl CallSearch<'_> {
    /// The lines that surely bear on a call.
    pub fn run(&self, call: &ToolCall) -> Result<Section> {
        let mut lines = match call {
            ToolCall::Edit(path) => self.on_file(path)?,
            ToolCall::Run(command) => self.on_command(command)?,
        };
        lines.truncate(LINES);
        Ok(Section { heading: HEADING.into(), lines, share: 100, last_first: false })
    }

    fn on_file(&self, path: &Path) -> Result<Vec<Line>> {
        let relative = path.strip_prefix(self.folder).unwrap_or(path);
        let name = text::one_line(&relative.to_string_lossy().replace('\\', "/"), 300);
        if name.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = Query::default();
        query.filter(FilterKey::File, &name)?;
        let mut lines = Vec::new();
        for digest in self.found(query)? {
            let of = self.of(&digest);
            let decided = |claim: &&Claim| {
                claim.kind == ClaimKind::Decision
                    && (names_file(&claim.text, &name)
                        || is_only_file(&digest, claim.episode, &name))
            };
            for claim in digest.content.stated.iter().filter(decided) {
                let why = format!("a decision on `{}`", plain(&name));
                lines.extend(of.claim(claim).map(|line| attributed(line, &digest, why)));
            }
            let reverted = digest.content.signals.corrections.iter().find(|one| {
                one.kind == CorrectionKind::Reverted && is_only_file(&digest, one.episode, &name)
            });
            if let Some(reverted) = reverted {
                let asked = digest.content.triggers.iter();
                let asked = asked.filter(|trigger| trigger.episode == reverted.episode);
                let topic = asked.map(|trigger| quoted(&trigger.topic)).next();
                let on = topic.map(|topic| format!(", on {topic}")).unwrap_or_default();
                let text = format!("work on {} was taken back{on}", plain(&name));
                let line = of.line(text, Some(reverted.episode));
                lines.push(attributed(line, &digest, format!("a reversal of `{}`", plain(&name))));
            }
        }
        Ok(lines)
    }

    fn on_command(&self, command: &str) -> Result<Vec<Line>> {
        let Some(command) = bare_command(command) else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for digest in self.found(Query::of_words(&command))? {
            let of = self.of(&digest);
            let learnt = |claim: &&Claim| {
                matches!(claim.kind, ClaimKind::Lesson | ClaimKind::Open)
                    && has_command(&claim.text, &command)
            };
            for claim in digest.content.stated.iter().filter(learnt) {
                let why = format!("`{}` came to this before", plain(&command));
                let Some(mut line) = of.claim(claim) else { continue };
                if let Some(solved) = solved(&digest, claim.episode) {
                    line.text.push_str(&solved);
                }
                lines.push(attributed(line, &digest, why));
            }
        }
        Ok(lines)
    }

    /// The sessions of this project that a query finds and that may be passed on.
    fn found(&self, mut query: Query) -> Result<Vec<Digest>> {
        if self.asking.projects.is_empty() {
            return Ok(Vec::new());
        }
        for project in self.asking.projects {
            query.filter(FilterKey::Project, project)?;
        }
        let hits = self.index.search(&query, self.asking.now, HITS)?.hits;
        let digests = hits.iter().filter_map(|hit| self.store.digest(&hit.session).ok().flatten());
        let worthy =
            |digest: &Digest| digest.content.worth == Worth::Full && !self.asking.is(digest);
        Ok(digests.filter(worthy).collect())
    }

    fn of<'d>(&'d self, digest: &'d Digest) -> DigestLines<'d> {
        DigestLines { digest, trust: self.asking.trust, checker: self.checker }
    }
}

/// How an error that was met in a part went away, as the end of a line.
fn solved(digest: &Digest, episode: EpisodeId) -> Option<String> {
    let errors = digest.content.signals.errors.iter();
    let solved = errors.filter(|error| error.episode == episode).find_map(|e| e.solved.as_ref())?;
    let by = match solved.by.is_empty() {
        true => String::new(),
        false => format!(" by {}", quoted(&solved.by)),
    };
    Some(format!("; solved in {}{by}", solved.episode))
}

fn attributed(line: Line, digest: &Digest, why: String) -> Line {
    Line { text: format!("{}{}", day_of(digest), line.text), why: Some(why), ..line }
}

/// Whether a text names a file: by its path or its name.
fn names_file(value: &str, path: &str) -> bool {
    let name = text::file_name(path).to_lowercase();
    let mut found = false;
    text::each_word(value, |word| found |= word.text == name);
    found && name.contains('.')
}

/// Whether a part of a session changed this file and no other.
fn is_only_file(digest: &Digest, episode: EpisodeId, path: &str) -> bool {
    let proofs = digest.content.evidence.iter().filter(|one| one.episode == episode);
    let mut changed = proofs.filter_map(|one| match &one.proof {
        Proof::File { path, .. } => Some(path.as_str()),
        Proof::Commit(_) => None,
    });
    let same = |changed: &str| changed == path || path.ends_with(&format!("/{changed}"));
    changed.next().is_some_and(same) && changed.next().is_none()
}

/// A command without what surrounds it: the folder that it goes into, variables, pipes. `None`
/// where too little is left to know it again.
fn bare_command(command: &str) -> Option<String> {
    let line = text::cut(command, LONGEST_COMMAND).lines().find(|line| !line.trim().is_empty())?;
    let last = line.rsplit("&&").map(str::trim).find(|part| !part.is_empty())?;
    let last = last.split(['|', ';', '>', '<']).next().unwrap_or(last);
    let words: Vec<&str> = last
        .split_whitespace()
        .skip_while(|word| word.contains('=') && !word.starts_with('-'))
        .collect();
    let bare = words.join(" ");
    (words.len() > 1 && bare.len() >= SHORTEST_COMMAND).then_some(bare)
}

/// Whether a text has a command word for word, and not as the beginning of another word.
fn has_command(value: &str, command: &str) -> bool {
    value.match_indices(command).any(|(at, _)| {
        let (before, after) = (&value[..at], &value[at + command.len()..]);
        // Between marks it is all of the command; what goes on is another one.
        if before.ends_with('`') {
            return after.starts_with('`');
        }
        let word = |letter: char| letter.is_alphanumeric() || letter == '-';
        !before.ends_with(word) && !after.starts_with(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_without_what_surrounds_it() {
        for (typed, bare) in [
            ("cd /x && RUST_LOG=debug cargo test --lib | tail -3", Some("cargo test --lib")),
            ("git push origin main", Some("git push origin main")),
            ("\n  npm run build > log.txt", Some("npm run build")),
            ("ls", None),
            ("cat x", None),
            ("", None),
            ("&& && |", None),
            ("\0\0\0", None),
        ] {
            assert_eq!(bare_command(typed).as_deref(), bare, "{typed}");
        }
        assert!(bare_command(&"x ".repeat(1 << 20)).is_some_and(|bare| bare.len() <= 400));
        assert!(has_command("`cargo test --lib` fails", "cargo test --lib"));
        assert!(!has_command("cargo test --library fails", "cargo test --lib"));
        assert!(!has_command("`cargo test --lib` fails", "cargo test"));
        assert!(names_file("keep `src/day_lock.rs` as it is", "src/store/day_lock.rs"));
        assert!(!names_file("keep the day lock as it is", "src/store/day_lock.rs"));
    }
}
