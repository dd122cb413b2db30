//! Merging, and what follows from it: pages are joined, what is generated is made anew, and what
//! changed is verified.

use std::collections::BTreeMap;

use super::state::SyncState;
use super::{Remote, Sync, SyncReport};
use crate::base::shell::quoted;
use crate::base::{files, text};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::Device;
use crate::ops::days::{self, Scope};
use crate::ops::verify::VerifyRequest;
use crate::ops::{consolidate, forget};
use crate::store::authored::OtherVersion;
use crate::store::layout::{self, PageKind};
use crate::store::{digest, merge};

impl Sync<'_> {
    /// Takes in what the remote has.
    pub(super) fn merge(&self, remote: &Remote, report: &mut SyncReport) -> Result<()> {
        let (git, root) = (self.memory.git(), self.memory.root());
        let Some(theirs) = git.commit(root, &remote.tracking()) else { return Ok(()) };
        let Some(ours) = self.repository.head() else {
            // Nothing was ever committed here.
            return Ok(());
        };
        self.refuse_rewritten(remote, [&ours, &theirs])?;
        if git.is_ancestor(root, &theirs, &ours) {
            return Ok(());
        }
        self.refuse_planted(remote, [&ours, &theirs])?;
        (self.request.progress)("merging");
        let _lock = self.memory.store().lock()?;
        // What was written since the commit, and would be in the way.
        self.commit_locked(report)?;
        let ours = self.repository.head().unwrap_or(ours);
        let is_behind = git.is_ancestor(root, &ours, &theirs);
        match is_behind {
            true => self.go_forward(remote, &theirs)?,
            false => {
                self.refuse_namesakes([&ours, &theirs])?;
                self.merge_both(remote, &theirs, report)?;
            }
        }
        let head = self.repository.head().unwrap_or_default();
        let came = git.changed_paths(root, &ours, &head).map_err(cannot_ask)?;
        let removed = git.removed_paths(root, &ours, &head).map_err(cannot_ask)?;
        let restored = self.restore_own(&ours, &removed)?;
        report.received += came.len() - removed.len();
        report.removed += removed.len() - restored.len();
        report.restored.extend(restored);
        self.memory.guard_received(&came)?;
        self.settle(report)?;
        self.memory.rebuild_generated()?;
        self.commit_locked(report)
    }

    /// Brings back the pages of this device's sessions that are gone there although nobody forgot
    /// them: a tidy-up, maybe, and no decision on what this device remembers.
    fn restore_own(&self, ours: &str, removed: &[String]) -> Result<Vec<String>> {
        let forgotten = self.memory.store().forgotten();
        let claimed = files::read_to_string(self.memory.layout().forgotten()).unwrap_or_default();
        let is_lost = |path: &&String| {
            let session = layout::session_of(path).filter(|id| id.device == *self.memory.device());
            session.is_some_and(|id| {
                let name = id.to_string();
                let is_claimed = claimed.split_whitespace().any(|word| word == name);
                !forgotten.contains(&id) && !is_claimed
            })
        };
        let lost: Vec<String> = removed.iter().filter(is_lost).cloned().collect();
        let paths: Vec<String> = lost.iter().map(|path| format!(":(literal){path}")).collect();
        for paths in paths.chunks(super::PATHS_AT_ONCE) {
            let mut asked = vec!["checkout", "--quiet", ours, "--"];
            asked.extend(paths.iter().map(String::as_str));
            self.git(CANNOT_MERGE, &asked)?;
        }
        Ok(lost)
    }

    /// Takes in what goes on from what is here.
    fn go_forward(&self, remote: &Remote, theirs: &str) -> Result<()> {
        let ended = self.work().run(&["merge", "--quiet", "--ff-only", theirs]);
        let ended = ended.map_err(|why| Error::new(CANNOT_MERGE).because(why))?;
        if ended.is_good() {
            return Ok(());
        }
        let hint = why_not_merged(&ended.err, remote);
        Err(Error::new(CANNOT_MERGE).because(ended.complaint()).hint(hint))
    }

    /// Merges two lines of work.
    fn merge_both(&self, remote: &Remote, theirs: &str, report: &mut SyncReport) -> Result<()> {
        let message = format!(
            "--message=memory: join what {} has with what {} has",
            remote.name,
            self.memory.device()
        );
        let asked = ["merge", "--quiet", "--no-commit", "--no-ff", &message, theirs];
        let ended = self.work().run(&asked).map_err(|why| Error::new(CANNOT_MERGE).because(why))?;
        if self.repository.merging().is_none() {
            let hint = why_not_merged(&ended.err, remote);
            return Err(Error::new(CANNOT_MERGE).because(ended.complaint()).hint(hint));
        }
        let settled = self.settle(report).and_then(|()| self.memory.rebuild_generated());
        if let Err(err) = settled.and_then(|()| self.end_merge()) {
            let _ = self.work().run(&["merge", "--abort"]);
            return Err(err);
        }
        Ok(())
    }

    /// Joins what git merged line by line.
    pub(super) fn settle(&self, report: &mut SyncReport) -> Result<()> {
        let settled = self.memory.settle_locked(&self.repository)?;
        if let Some(path) = settled.left.first() {
            return Err(Error::new(CANNOT_MERGE)
                .because(format!("`{path}` was changed on two devices, and cannot be joined"))
                .hint(BY_HAND));
        }
        report.joined.extend(settled.joined.into_iter().chain(settled.to_add));
        report.joined.sort();
        report.joined.dedup();
        Ok(())
    }

    /// Stages the memory and ends a merge, unless something outside of the memory is in conflict.
    pub(super) fn end_merge(&self) -> Result<()> {
        self.add_all(CANNOT_MERGE)?;
        let unmerged = self.git(CANNOT_MERGE, &["diff", "--name-only", "-z", "--diff-filter=U"])?;
        if let Some(path) = unmerged.split('\0').find(|path| !path.is_empty()) {
            return Err(Error::new(CANNOT_MERGE)
                .because(format!(
                    "`{path}`, which is outside of the memory, was changed on both sides"
                ))
                .hint(BY_HAND));
        }
        self.git(CANNOT_MERGE, &["commit", "--quiet", "--no-edit"]).map(drop)
    }

    /// Stops where the remote has what no memtree sends: this device's own notes, raw over the raw
    /// that is here, links, other repositories. Git would write them over what it ignores.
    fn refuse_planted(&self, remote: &Remote, sides: [&str; 2]) -> Result<()> {
        let asked = ["diff-tree", "-r", "-z", "--no-renames", "--relative", sides[0], sides[1]];
        let asked = [&asked[..], &["--", "."]].concat();
        let came = self.memory.git().answer(self.memory.root(), &asked).map_err(cannot_ask)?;
        let mut fields = came.split('\0');
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let mode = change.split(' ').nth(1).unwrap_or_default();
            let is_odd = matches!(mode, "120000" | "160000");
            if !is_odd && (mode == "000000" || !self.memory.is_kept_from_git(path)) {
                continue;
            }
            let (name, there) = (&remote.name, &remote.there);
            return Err(Error::new(CANNOT_MERGE)
                .because(format!("`{name}` has `{path}`, which no memtree sends"))
                .hint(format!(
                    "nothing was merged. `git log {name}/{there} -- {}` says who put it there; it has to go \
                     from there first",
                    quoted(path)
                )));
        }
        Ok(())
    }

    /// Stops where one id means two sessions: joined, their pages would be neither's.
    fn refuse_namesakes(&self, sides: [&str; 2]) -> Result<()> {
        let apart = self.memory.sessions_apart(sides)?;
        let Some(first) = apart.first() else { return Ok(()) };
        Err(Error::new(CANNOT_MERGE)
            .because(format!(
                "{}, such as `{first}`, are others there: another device is called `{}`, too",
                text::counted(apart.len(), "session"),
                first.device
            ))
            .hint(
                "nothing was merged. Clone the remote into another folder and sweep there with \
                 another name in MEMTREE_DEVICE: sessions whose logs are here get ids of their own",
            ))
    }

    /// Stops where what was seen at the remote is there no more: whoever took it away may have had
    /// a reason, and a merge or a push would bring it back.
    fn refuse_rewritten(&self, remote: &Remote, [ours, theirs]: [&str; 2]) -> Result<()> {
        let (git, root) = (self.memory.git(), self.memory.root());
        let state = SyncState::file(self.memory.layout()).load();
        let seen = state.seen.get(&remote.tracking());
        let Some(seen) = seen.and_then(|seen| git.commit(root, seen)) else { return Ok(()) };
        if git.is_ancestor(root, &seen, theirs) {
            return Ok(());
        }
        // Nothing of what was taken away is here: the person took it away, or follows those who did.
        let kept = git.merge_base(root, [&seen, ours]).map_err(cannot_ask)?;
        if kept.is_none_or(|kept| git.is_ancestor(root, &kept, theirs)) {
            return Ok(());
        }
        let was_set_back = git.is_ancestor(root, theirs, &seen);
        // What came in its place was merged here, and that was the person's decision.
        if !was_set_back && git.is_ancestor(root, theirs, ours) {
            return Ok(());
        }
        let (name, there) = (&remote.name, &remote.there);
        let bring_back = match was_set_back {
            true if remote.branch == *there => format!("git push {name} {there}"),
            true => format!("git push {name} {}:{there}", remote.branch),
            false => format!("git merge {name}/{there}"),
        };
        Err(Error::new(format!("`{name}` was rewritten: commits that were there are gone"))
            .because("somebody force-pushed, maybe to take something out; a merge would bring it back")
            .hint(format!(
                "to keep theirs and put yours on top: `git rebase --onto {name}/{there} {}`; to bring it all \
                 back: `{bring_back}`; then sync again",
                &seen[..10]
            )))
    }
}

/// What to do where git did not even begin to merge.
fn why_not_merged(said: &str, Remote { name, there, .. }: &Remote) -> String {
    if said.contains("unrelated histories") {
        return format!(
            "this memory and the one at `{name}` began apart. If they are to become one: `git merge \
             --allow-unrelated-histories {name}/{there}`, then `memtree sync`"
        );
    }
    let is_in_the_way = ["would be overwritten", "index", "local changes"];
    match is_in_the_way.iter().any(|words| said.contains(words)) {
        true => {
            "files outside of the memory are staged or changed, and git does not merge over them: \
                 commit or stash them, then sync again"
                .to_string()
        }
        false => "what is here is committed; nothing was changed by the merge".to_string(),
    }
}

/// So many versions of a page are looked at for one that can be read.
const MOST_VERSIONS: &str = "--max-count=50";
const CANNOT_MERGE: &str = "cannot merge what is new at the remote";
const BY_HAND: &str =
    "nothing was changed: `git merge` it yourself, resolve that file and commit, then sync again";

fn cannot_ask(why: String) -> Error {
    Error::new("cannot ask git what has changed").because(why)
}

impl Memory {
    /// Makes anew what is generated from pages that have changed; the sweep's lock is held.
    pub(super) fn rebuild_generated(&self) -> Result<()> {
        let (store, layout) = (self.store(), self.layout());
        forget::finish(store, &forget::Request::of(self)?)?;
        days::settle(store, self.now(), self.zone()?, Scope::All)?;
        consolidate::run(store, self.device())?;
        if files::exists(layout.knowledge_index())
            && !store.is_index_current().context(|| store.cannot_write())?
        {
            store.write_index().context(|| store.cannot_write())?;
        }
        crate::ops::repair::remember(layout).context(|| store.cannot_write())
    }

    /// Looks at what has changed since a commit, or proves the whole memory; stops at the first
    /// thing that must not be passed on.
    pub(super) fn verify_synced(&self, since: Option<&str>, full: bool) -> Result<()> {
        let (git, root) = (self.git(), self.root());
        let since = since.and_then(|since| git.commit(root, since));
        let changed = match (since, git.commit(root, "HEAD")) {
            (_, None) => Vec::new(),
            (Some(since), Some(head)) => {
                git.changed_paths(root, &since, &head).map_err(cannot_ask)?
            }
            (None, Some(_)) => {
                let listed =
                    git.answer(root, &["ls-files", "-z", "--", "."]).map_err(cannot_ask)?;
                listed.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect()
            }
        };
        let mut wrong: Vec<String> = changed
            .iter()
            .filter_map(|path| Some(format!("`{path}` {}", self.what_is_wrong_with(path)?)))
            .collect();
        if full {
            let gaps = self.verify(VerifyRequest::default())?.gaps;
            wrong.extend(gaps.into_iter().map(|gap| format!("`{}` {}", gap.path, gap.reason)));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let mut error = Error::new("nothing was pushed: the memory is not whole");
        for one in wrong.iter().take(10) {
            error = error.because(one.clone());
        }
        let broken = changed.iter().find(|path| self.what_is_wrong_with(path).is_some());
        let hint = broken.map(|path| self.way_back(path)).unwrap_or_default();
        Err(error.hint(format!(
            "`memtree doctor --fix` mends what can be mended{hint}; then sync again"
        )))
    }

    /// The command that brings back the last version of a page that can be read.
    fn way_back(&self, path: &str) -> String {
        let (git, root) = (self.git(), self.root());
        let literal = format!(":(literal){path}");
        let asked = ["log", MOST_VERSIONS, "--format=%H", "--", &literal];
        let commits = git.answer(root, &asked).unwrap_or_default();
        let is_whole = |commit: &&str| {
            let named = format!("{commit}:./{path}");
            let page = git.answer(root, &["cat-file", "blob", &named]);
            page.is_ok_and(|page| what_is_wrong(path, &page).is_none())
        };
        let git = format!("git -C {}", quoted(&root.display().to_string()));
        match commits.lines().find(is_whole) {
            Some(commit) => format!(
                "; `{git} checkout {} -- {}` brings back its last version that can be read",
                &commit[..10.min(commit.len())],
                quoted(path)
            ),
            None => format!("; where nobody needs it, `{git} rm -- {}` takes it out", quoted(path)),
        }
    }

    /// What is wrong with a page that git carries, by its path.
    fn what_is_wrong_with(&self, path: &str) -> Option<String> {
        let page = files::read_to_string(self.layout().of_page(path)?).ok()?;
        what_is_wrong(path, &page)
    }

    /// How many sections of some pages have another version in the notes.
    pub(super) fn count_other_versions(&self, paths: &[String]) -> usize {
        let pages = paths.iter().filter_map(|path| self.layout().of_page(path));
        pages
            .filter_map(|page| files::read_to_string(page).ok())
            .map(|page| OtherVersion::all(&page).len())
            .sum()
    }
}

fn what_is_wrong(path: &str, page: &str) -> Option<String> {
    let kind = layout::page_kind(path);
    if kind != PageKind::Other && merge::has_markers(page) {
        return Some("holds both sides of a merge".into());
    }
    match kind {
        PageKind::Digest => digest::parse(page).err(),
        _ => None,
    }
}

/// What a commit is about, in words.
pub fn message(paths: &[String], device: &Device) -> String {
    let mut counts: BTreeMap<(u8, &str), usize> = BTreeMap::new();
    for path in paths {
        let what = match layout::page_kind(path) {
            PageKind::Digest => (0, "session"),
            PageKind::Day => (1, "day"),
            PageKind::Core | PageKind::Sphere => (2, "core"),
            PageKind::Knowledge => (3, "page"),
            PageKind::Pattern => (4, "pattern"),
            _ => continue,
        };
        *counts.entry(what).or_default() += 1;
    }
    let parts: Vec<String> =
        counts.iter().map(|((_, thing), count)| text::counted(*count, thing)).collect();
    match parts.is_empty() {
        true => format!("memory: {} of {device}", text::counted(paths.len(), "file")),
        false => format!("memory: {} of {device}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_says_what_it_is_about() {
        let paths = |paths: &[&str]| paths.iter().map(|path| path.to_string()).collect::<Vec<_>>();
        let digest = |id: &str| crate::store::layout::from_index_to_digest(&id.parse().unwrap());
        let sessions = crate::store::layout::Layout::new("")
            .shown(&crate::store::layout::Layout::new("").sessions());
        let one = format!("{sessions}/{}", digest("SES1_a_SP1C1"));
        let two = format!("{sessions}/{}", digest("SES2_a_SP1C1"));
        let core = "core/CORE_a_SP1C1.md";
        let said = message(&paths(&[&one, &two, core, "README.md"]), &Device::new("lap"));
        assert_eq!(said, "memory: 2 sessions, 1 core of lap");
        assert_eq!(message(&paths(&["README.md"]), &Device::new("lap")), "memory: 1 file of lap");
    }
}
