//! Settling merges: pages that git joined without knowing what a page is are joined by section.
//!
//! Every command that writes asks first whether git has merged since the last time. It takes both
//! versions and what they come from out of git: the index's stages while a merge or rebase waits
//! for the person, the parents of each merge afterwards. What a person decided, and what somebody
//! has written since, stays. Only `sync` stages and commits.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use crate::base::git::{MergedFile, Repository};
use crate::base::shell::quoted;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::store::guards::GitState;
use crate::store::layout::{self, PageKind};
use crate::store::{authored, digest, merge};

/// What was put right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SettledMerges {
    /// The pages that were joined by section, relative to the memory.
    pub joined: Vec<String>,
    /// Those that git still holds to be in conflict until they are staged.
    pub to_add: Vec<String>,
    /// Files in conflict that are no text.
    pub left: Vec<String>,
}

impl SettledMerges {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.to_add.is_empty() && self.left.is_empty()
    }
}

impl Memory {
    /// Puts right what git has merged since the last time.
    pub(crate) fn settle_merges(&self) -> Result<SettledMerges> {
        let Some(repository) = self.repository() else { return Ok(SettledMerges::default()) };
        let file = GitState::file(self.layout());
        let (state, head) = (file.load(), repository.head());
        let waits = repository.merging().is_some() || repository.unfinished().is_some();
        if head.is_none() || (!waits && state.settled == head) {
            return Ok(SettledMerges::default());
        }
        // Where git cannot be asked, nobody has merged with it either.
        if self.git().answer(self.root(), &["rev-parse", "--git-dir"]).is_err() {
            return Ok(SettledMerges::default());
        }
        let _lock = self.store().lock()?;
        self.settle_locked(&repository)
    }

    /// Does the same for who holds the lock.
    pub(super) fn settle_locked(&self, repository: &Repository) -> Result<SettledMerges> {
        let mut settled = SettledMerges::default();
        let Some(head) = repository.head() else { return Ok(settled) };
        if repository.merging().is_some() || repository.unfinished().is_some() {
            self.settle_waiting(repository, &head, &mut settled)?;
            return Ok(settled);
        }
        let file = GitState::file(self.layout());
        let state = file.load();
        if state.settled.as_deref() != Some(&head) {
            self.settle_done(state.settled.as_deref(), &head, &mut settled)?;
            // Other notes of it may have changed meanwhile.
            let state = GitState { settled: Some(head), ..file.load() };
            file.save(&state).context(|| self.store().cannot_write())?;
        }
        Ok(settled)
    }

    /// What waits for the person: files in conflict, and what git merged beside them.
    fn settle_waiting(
        &self,
        repository: &Repository,
        head: &str,
        settled: &mut SettledMerges,
    ) -> Result<()> {
        let (git, root) = (self.git(), self.root());
        let unmerged = git.unmerged(root).map_err(cannot_ask)?;
        let versions = self.versions(&unmerged)?;
        let apart = sessions_apart(&unmerged, &versions);
        for file in &unmerged {
            match Versions::of(file, &versions).filter(|found| !is_below(&apart, found.path)) {
                Some(found) => {
                    self.settle(&found, true, settled)?;
                    settled.to_add.push(file.path.clone());
                }
                None => settled.left.push(file.path.clone()),
            }
        }
        let Some(theirs) = repository.merging() else { return Ok(()) };
        let mut both = git.both_changed(root, [head, &theirs], None).map_err(cannot_ask)?;
        both.retain(|file| unmerged.iter().all(|other| other.path != file.path));
        self.settle_all(&both, settled)
    }

    /// What was merged, or put on another commit, since the last time.
    fn settle_done(
        &self,
        since: Option<&str>,
        head: &str,
        settled: &mut SettledMerges,
    ) -> Result<()> {
        let (git, root) = (self.git(), self.root());
        // A commit that git has thrown away says nothing.
        let since = since.and_then(|since| git.commit(root, since));
        let since = since.as_deref();
        for (commit, parents) in git.merges(root, since, head).map_err(cannot_ask)? {
            let parents = parents.each_ref().map(String::as_str);
            let mut both = git.both_changed(root, parents, Some(&commit)).map_err(cannot_ask)?;
            if both.is_empty() {
                continue;
            }
            // Whoever has written there since has seen it.
            let later = git.changed_paths(root, &commit, head).map_err(cannot_ask)?;
            both.retain(|file| !later.contains(&file.path));
            self.settle_all(&both, settled)?;
        }
        let Some(since) = since.filter(|since| !git.is_ancestor(root, since, head)) else {
            return Ok(());
        };
        // The commits that were there were put on others: a rebase.
        let tip = git.commit(root, "ORIG_HEAD").filter(|tip| git.is_ancestor(root, since, tip));
        let tip = tip.unwrap_or_else(|| since.to_string());
        let onto = git.rebased_onto(root).filter(|onto| git.is_ancestor(root, onto, head));
        if let Some(onto) = onto {
            let both = git.both_changed(root, [&onto, &tip], Some(head)).map_err(cannot_ask)?;
            self.settle_all(&both, settled)?;
        }
        Ok(())
    }

    fn settle_all(&self, files: &[MergedFile], settled: &mut SettledMerges) -> Result<()> {
        let versions = self.versions(files)?;
        let apart = sessions_apart(files, &versions);
        for file in files.iter().filter(|file| !is_below(&apart, &file.path)) {
            if let Some(found) = Versions::of(file, &versions) {
                self.settle(&found, false, settled)?;
            }
        }
        Ok(())
    }

    /// The sessions whose id means one session here and another there.
    pub(super) fn sessions_apart(&self, sides: [&str; 2]) -> Result<Vec<SessionId>> {
        let mut both = self.git().both_changed(self.root(), sides, None).map_err(cannot_ask)?;
        both.retain(|file| layout::page_kind(&file.path) == PageKind::Digest);
        Ok(sessions_apart(&both, &self.versions(&both)?))
    }

    fn versions(&self, files: &[MergedFile]) -> Result<HashMap<String, Vec<u8>>> {
        let names = files.iter().flat_map(|file| {
            let sides = file.sides.iter().flatten();
            sides.chain(&file.base).chain(&file.left).map(String::as_str)
        });
        let names: BTreeSet<&str> = names.collect();
        let names: Vec<&str> = names.into_iter().collect();
        self.git().contents(self.root(), &names).map_err(cannot_ask)
    }

    /// Writes one page as it should have been merged, around what was written into it since.
    fn settle(
        &self,
        found: &Versions<'_>,
        in_conflict: bool,
        settled: &mut SettledMerges,
    ) -> Result<()> {
        let kind = layout::page_kind(found.path);
        let [one, other] = &found.sides;
        let joined = match (one, other) {
            (Some(one), Some(other)) => merge::joined(kind, found.base, [one, other]),
            // One side removed it. Whether it is to go, the tombstones say.
            (Some(there), None) | (None, Some(there)) => there.to_string(),
            (None, None) => return Ok(()),
        };
        if kind == PageKind::Generated && !in_conflict {
            return Ok(());
        }
        let is_list = matches!(kind, PageKind::Day | PageKind::Lines | PageKind::Entries);
        let path = self.layout().of_page(found.path);
        let Some(path) = path else { return Ok(()) };
        let sides = [one.unwrap_or(""), other.unwrap_or("")];
        let changed = authored::replace(self.layout(), &path, |now| {
            let now = now.map(|now| now.replace("\r\n", "\n"));
            match (&now, found.left) {
                (None, _) => in_conflict.then(|| joined.clone()),
                (Some(now), None) if in_conflict => {
                    let decided = !merge::has_markers(now) && !merge::is_mixed(now, sides);
                    let is_side = sides.contains(&now.as_str());
                    (!decided || is_side || is_list).then(|| joined.clone())
                }
                (Some(_), None) => None,
                (Some(_), Some(left)) if !merge::is_mixed(left, sides) => None,
                (Some(now), Some(left)) if now == left => Some(joined.clone()),
                (Some(now), Some(left)) => Some(merge::joined(kind, Some(left), [&joined, now])),
            }
        })
        .context(|| self.store().cannot_write())?;
        if changed {
            settled.joined.push(found.path.to_string());
        }
        Ok(())
    }

    /// The command that is left to do after pages in conflict were joined.
    pub(crate) fn add_command(&self, paths: &[String]) -> String {
        let names: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
        format!("git -C {} add -- {}", quoted(&self.root().display().to_string()), names.join(" "))
    }
}

/// The sessions of whose digests the two sides are of different sessions.
fn sessions_apart(files: &[MergedFile], versions: &HashMap<String, Vec<u8>>) -> Vec<SessionId> {
    let is_apart = |found: &Versions<'_>| match found.sides {
        [Some(one), Some(other)] => !digest::is_one_session([one, other]),
        _ => false,
    };
    let digests = files.iter().filter(|file| layout::page_kind(&file.path) == PageKind::Digest);
    let found = digests.filter_map(|file| Versions::of(file, versions)).filter(is_apart);
    found.filter_map(|found| layout::session_of(found.path)).collect()
}

fn is_below(sessions: &[SessionId], path: &str) -> bool {
    layout::session_of(path).is_some_and(|session| sessions.contains(&session))
}

fn cannot_ask(why: String) -> Error {
    Error::new("cannot look at what git has merged").because(why)
}

/// The versions of one file, as texts.
struct Versions<'v> {
    path: &'v str,
    base: Option<&'v str>,
    sides: [Option<&'v str>; 2],
    left: Option<&'v str>,
}

impl<'v> Versions<'v> {
    /// `None` where one of them is no text, or too long.
    fn of(file: &'v MergedFile, contents: &'v HashMap<String, Vec<u8>>) -> Option<Versions<'v>> {
        let text = |name: &Option<String>| match name {
            None => Some(None),
            Some(name) => Some(Some(std::str::from_utf8(contents.get(name)?).ok()?)),
        };
        let [one, other] = &file.sides;
        Some(Versions {
            path: &file.path,
            base: text(&file.base)?,
            sides: [text(one)?, text(other)?],
            left: text(&file.left)?,
        })
    }
}
