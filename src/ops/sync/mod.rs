//! Sync: the memory travels by git, without a conflict, a loss or a leak.
//!
//! What would leave is looked through first. Then the memory alone is committed, what is new there
//! is fetched and merged, pages are joined by section, what is generated is made anew, what changed
//! is verified, and the branch is pushed. History is never rewritten, and nothing outside of the
//! memory is touched.

mod checks;
mod copies;
mod episodes;
mod hook;
mod merge_file;
mod merges;
mod outgoing;
mod raw;
mod rebuild;
mod register;
mod remote;
mod state;
mod versions;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::base::files;
use crate::base::git::{GitWork, Pushed, Repository};
use crate::base::setters::setters;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::ignored::{IgnoredPage, PATHS_AT_ONCE};
use crate::store::guards;
use crate::store::layout::Layout;

pub use checks::Exposed;
pub use hook::InstalledHook;
pub use merge_file::{MergeFileReport, MergeFileRequest, merge_file};
pub use merges::SettledMerges;
pub use raw::RawAmount;
pub use register::Registered;
pub use versions::PageVersion;

use remote::{Remote, Unreached, fetch, push};
use state::SyncState;

const CANNOT_COMMIT: &str = "cannot commit the memory";
const LOOKING: &str = "looking for secrets in what would leave";
/// How often a push is tried again after somebody else was faster.
const TRIES: usize = 8;

/// What to sync with, and how.
pub struct SyncRequest<'a> {
    /// The remote, where it is not that of the branch.
    pub remote: Option<String>,
    /// The message of the commit, where it is not to be made from what changed.
    pub message: Option<String>,
    /// Whether all of the memory is verified, rather than what changed since the last time.
    pub full: bool,
    /// Whether it only says what would be done.
    pub dry_run: bool,
    /// Whether somebody is there whom git may ask for a password.
    pub may_ask: bool,
    /// This program, as git is to call it.
    pub program: PathBuf,
    /// Is told of each step.
    progress: &'a dyn Fn(&str),
    /// Is told how much the first push sends, in bytes, before it does.
    first_push: &'a dyn Fn(u64),
}

setters!(SyncRequest<'_> {
    remote: Option<String>,
    message: Option<String>,
    full: bool,
    dry_run: bool,
    may_ask: bool,
    program: PathBuf,
});

impl Default for SyncRequest<'_> {
    fn default() -> Self {
        SyncRequest {
            remote: None,
            message: None,
            full: false,
            dry_run: false,
            may_ask: false,
            program: PathBuf::new(),
            progress: &|_| {},
            first_push: &|_| {},
        }
    }
}

impl<'a> SyncRequest<'a> {
    /// Sets who is told of each step.
    pub fn progress(self, progress: &'a dyn Fn(&str)) -> Self {
        SyncRequest { progress, ..self }
    }

    /// Sets who is told how much the first push sends.
    pub fn first_push(self, first_push: &'a dyn Fn(u64)) -> Self {
        SyncRequest { first_push, ..self }
    }
}

/// What a sync did.
#[derive(Debug, Default, Serialize)]
pub struct SyncReport {
    pub remote: Option<String>,
    pub branch: String,
    /// The branch there, where a remote is known.
    pub there: Option<String>,
    /// The files that were committed, or would be, relative to the memory.
    pub committed: Vec<String>,
    /// The message that they were committed with.
    pub message: Option<String>,
    /// The person's own commits, outside of the memory, that went with it or would: the short name
    /// and the subject of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// How many files came from the remote.
    pub received: usize,
    /// How many files went because they went there.
    pub removed: usize,
    /// Own digests that went there although nobody forgot them, and are here again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// The pages that a rule from outside of the memory would have left out, each with that rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredPage>,
    /// The pages that two devices had changed.
    pub joined: Vec<String>,
    /// Sections that two people changed: the other version of each is in the page's notes.
    pub other_versions: usize,
    /// The raw among what was committed, or would be: it is not redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawAmount>,
    pub pushed: bool,
    /// How much is sent the first time, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_push_bytes: Option<u64>,
    /// Why the remote could not be reached; what is committed goes with the next sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offline: Option<String>,
    pub dry_run: bool,
}

impl Memory {
    /// Commits, fetches, merges and pushes the memory.
    pub fn sync(&self, request: &SyncRequest<'_>) -> Result<SyncReport> {
        let repository = self.repository().ok_or_else(|| self.no_repository())?;
        self.refuse_unfinished(&repository, request.dry_run)?;
        let remote = self.remote(&repository, request.remote.as_deref())?;
        let mut report = SyncReport {
            remote: remote.as_ref().map(|remote| remote.name.clone()),
            branch: repository.branch().unwrap_or_default(),
            there: remote.as_ref().map(|remote| remote.there.clone()),
            dry_run: request.dry_run,
            ..SyncReport::default()
        };
        let sync = Sync { memory: self, request, repository, remote };
        sync.check_lfs()?;
        self.refuse_new_place(sync.remote.as_ref())?;
        if request.dry_run {
            (request.progress)(LOOKING);
            self.refuse_tracked()?;
            let changed = self.changed_files()?;
            self.refuse_leaks(&changed, sync.remote_name())?;
            sync.refuse_message()?;
            if let Some(remote) = sync.remote_name() {
                report.beside = self.refuse_leaks_beside(remote)?;
            }
            report.first_push_bytes = sync.first_push(&changed);
            report.ignored = self.ignored_pages()?;
            report.committed = changed.into_iter().collect();
            report.raw = self.raw_among(&report.committed);
            report.message = sync.message(&report.committed);
            return Ok(report);
        }
        // One sync at a time; a second one waits and then finds everything done.
        let _lock = crate::base::files::lock_exclusive(&self.layout().sync_lock())
            .context(|| self.store().cannot_write())?;
        self.register_merge_driver(&request.program)?;
        self.renew_push_hook(&request.program)?;
        // Whatever a pulled `.gitignore` says, raw and this device's own stay here.
        guards::guard_own(self.layout())
            .and_then(|()| guards::write_once(self.store()))
            .context(|| self.store().cannot_write())?;
        (request.progress)("redacting episodes by the present rules");
        self.redact_episodes()?;
        sync.finish_merge(&mut report)?;
        sync.commit(&mut report)?;
        sync.exchange(&mut report)?;
        Ok(report)
    }

    fn no_repository(&self) -> Error {
        Error::new(format!("the memory `{}` is in no git repository", self.root().display()))
            .hint("`git init` there, and `git remote add origin URL`; then `memtree sync` again")
    }

    /// Stops where git waits for the person. No branch is checked out then, and that is no fault.
    fn refuse_unfinished(&self, repository: &Repository, dry_run: bool) -> Result<()> {
        let Some(what) = repository.unfinished() else { return Ok(()) };
        if !dry_run {
            self.settle_merges()?;
        }
        let joined =
            if dry_run { "`memtree sync` joins the pages" } else { "pages are joined by now" };
        Err(Error::new(format!("git is in the middle of a {what}"))
            .because("what is committed now would become part of it")
            .hint(format!(
                "{joined}: `git add` them, then `git {what} --continue`, or `--abort`; then sync again"
            )))
    }

    /// Git at work in the memory, as the person would run it.
    fn git_work(&self, may_ask: bool) -> GitWork<'_> {
        GitWork {
            git: self.git(),
            folder: self.root(),
            environment: &self.environment().places.environment,
            may_ask,
        }
    }

    /// Looks through what would leave, and does nothing else.
    pub fn check_sync(&self, remote: Option<&str>) -> Result<()> {
        let repository = self.repository().ok_or_else(|| self.no_repository())?;
        let remote = self.remote(&repository, remote).ok().flatten();
        self.refuse_new_place(remote.as_ref())?;
        self.refuse_tracked()?;
        self.refuse_leaks(&self.changed_files()?, remote.as_ref().map(|one| one.name.as_str()))
    }

    /// Looks through what git is about to push to a remote, as git says it to its hook `pre-push`.
    pub fn check_push(&self, remote: &str, said: &str) -> Result<()> {
        let Some(repository) = self.repository() else { return Ok(()) };
        let known = self.remote(&repository, Some(remote)).ok().flatten();
        self.refuse_new_place(known.as_ref())?;
        self.refuse_pushed_leaks(remote, said)
    }
}

/// A sync under way.
struct Sync<'m> {
    memory: &'m Memory,
    request: &'m SyncRequest<'m>,
    repository: Repository,
    remote: Option<Remote>,
}

impl Sync<'_> {
    /// Stages such pages all the same; says what left them out.
    fn add_ignored(&self) -> Result<Vec<IgnoredPage>> {
        let pages = self.memory.ignored_pages()?;
        let paths: Vec<String> =
            pages.iter().map(|page| format!(":(literal){}", page.path)).collect();
        for paths in paths.chunks(PATHS_AT_ONCE) {
            let mut asked = vec!["add", "--force", "--"];
            asked.extend(paths.iter().map(String::as_str));
            self.git(CANNOT_COMMIT, &asked)?;
        }
        Ok(pages)
    }

    fn work(&self) -> GitWork<'_> {
        self.memory.git_work(self.request.may_ask)
    }

    /// Runs git; anything but a good end is an error that says what could not be done.
    fn git(&self, what: &str, arguments: &[&str]) -> Result<String> {
        let ended = self.work().run(arguments).map_err(|why| Error::new(what).because(why))?;
        match ended.is_good() {
            true => Ok(ended.out),
            false => Err(Error::new(what)
                .because(ended.complaint())
                .hint("nothing was lost: what was done so far is in your files and commits")),
        }
    }

    /// Ends a merge that was left in the middle, by a person or a kill.
    fn finish_merge(&self, report: &mut SyncReport) -> Result<()> {
        if self.repository.merging().is_none() {
            return Ok(());
        }
        let lock = self.memory.store().lock()?;
        self.settle(report)?;
        self.end_merge()?;
        drop(lock);
        Ok(())
    }

    /// Stages the memory, and the episodes that travel; returns what is staged of it.
    fn stage(&self, what: &str) -> Result<Vec<String>> {
        self.add_all(what)?;
        let mut staged = self.staged(what)?;
        let state = SyncState::file(self.memory.layout()).load();
        let known = if self.memory.sends_raw() { state.has_raw } else { state.has_episodes };
        let mut changed: BTreeSet<SessionId> =
            staged.iter().filter_map(|path| Layout::session_of_digest(path)).collect();
        // Somebody may have committed by hand since.
        let (git, root) = (self.memory.git(), self.memory.root());
        let synced = state.synced.and_then(|synced| git.commit(root, &synced));
        let known = known && synced.is_some();
        if let (Some(synced), Some(head)) = (synced, self.repository.head()) {
            let committed = git.changed_paths(root, &synced, &head);
            let committed = committed.map_err(|why| Error::new(what).because(why))?;
            changed.extend(committed.iter().filter_map(|path| Layout::session_of_digest(path)));
        }
        let changed: Vec<SessionId> = changed.into_iter().collect();
        let episodes = self.memory.new_episodes(known.then_some(changed.as_slice()))?;
        let paths: Vec<String> = episodes.iter().map(|path| format!(":(literal){path}")).collect();
        for paths in paths.chunks(PATHS_AT_ONCE) {
            let mut asked = vec!["add", "--force", "--"];
            asked.extend(paths.iter().map(String::as_str));
            self.git(what, &asked)?;
        }
        staged.extend(episodes);
        Ok(staged)
    }

    /// Stages the memory; what is no file of its own is taken out again, and stops it.
    fn add_all(&self, what: &str) -> Result<()> {
        self.git(what, &["add", "--all", "--", "."])?;
        let listed = match self.repository.head() {
            Some(_) => {
                let asked = ["diff", "--cached", "--raw", "-z", "--relative", "--no-renames"];
                self.git(what, &[&asked[..], &["--", "."]].concat())?
            }
            None => {
                // As git lists changes, so that both are read alike.
                let listed = self.git(what, &["ls-files", "--stage", "-z", "--", "."])?;
                let fields = listed.split('\0').filter_map(|line| line.split_once('\t'));
                fields.map(|(about, path)| format!(":000000 {about}\0{path}\0")).collect()
            }
        };
        let odd = outgoing::odd_among(&listed);
        if odd.is_empty() {
            return Ok(());
        }
        for path in odd.iter().map(|(path, _)| format!(":(literal){path}")) {
            match self.repository.head() {
                Some(_) => self.git(what, &["reset", "--quiet", "HEAD", "--", &path])?,
                None => self.git(what, &["rm", "--quiet", "-r", "--cached", "--", &path])?,
            };
        }
        self.memory.refuse_odd(&odd, checks::NOT_A_FILE)
    }

    /// Stops where the message that the person chose holds a secret.
    fn refuse_message(&self) -> Result<()> {
        let message = self.request.message.as_deref().unwrap_or_default();
        let found = self.memory.exposed_text("--message", message.as_bytes())?;
        if found.is_empty() { Ok(()) } else { Err(self.memory.leak(found)) }
    }

    /// What is staged of the memory, by its paths in it.
    fn staged(&self, what: &str) -> Result<Vec<String>> {
        let asked =
            ["diff", "--cached", "--name-only", "-z", "--relative", "--no-renames", "--", "."];
        let staged = match self.repository.head() {
            Some(_) => self.git(what, &asked)?,
            None => self.git(what, &["ls-files", "-z", "--", "."])?,
        };
        Ok(staged.split('\0').filter(|name| !name.is_empty()).map(str::to_string).collect())
    }

    fn remote_name(&self) -> Option<&str> {
        self.remote.as_ref().map(|remote| remote.name.as_str())
    }

    /// Commits the memory, and nothing beside it, once what would leave was looked through.
    fn commit(&self, report: &mut SyncReport) -> Result<()> {
        let _lock = self.memory.store().lock()?;
        self.refuse_message()?;
        self.memory.refuse_tracked()?;
        self.settle(report)?;
        report.ignored = self.add_ignored()?;
        let staged = self.stage(CANNOT_COMMIT)?;
        (self.request.progress)(LOOKING);
        let changed: BTreeSet<String> = staged.iter().cloned().collect();
        if let Err(why) = self.memory.refuse_raw(&changed) {
            self.unstage(self.memory.that_stay_here(&changed))?;
            return Err(why);
        }
        self.memory.refuse_leaks(&changed, self.remote_name())?;
        self.commit_staged(staged, report)
    }

    /// Takes out of the index what nobody may commit by hand now: git had none of it before.
    fn unstage(&self, paths: Vec<String>) -> Result<()> {
        let paths: Vec<String> = paths.iter().map(|path| format!(":(literal){path}")).collect();
        for paths in paths.chunks(PATHS_AT_ONCE) {
            let mut asked = vec!["rm", "--quiet", "--cached", "--ignore-unmatch", "--"];
            asked.extend(paths.iter().map(String::as_str));
            self.git("cannot take out of git's index what must stay on this device", &asked)?;
        }
        Ok(())
    }

    /// Commits what has come since, while the lock is held.
    fn commit_locked(&self, report: &mut SyncReport) -> Result<()> {
        self.add_all(CANNOT_COMMIT)?;
        self.commit_staged(self.staged(CANNOT_COMMIT)?, report)
    }

    fn commit_staged(&self, staged: Vec<String>, report: &mut SyncReport) -> Result<()> {
        if staged.is_empty() {
            return Ok(());
        }
        (self.request.progress)("committing");
        let message = self.message(&staged).unwrap_or_default();
        let message_argument = format!("--message={message}");
        let mut asked = vec!["commit", "--quiet", &message_argument];
        if self.has_others_staged()? {
            asked.extend(["--", "."]);
        }
        let ended =
            self.work().run(&asked).map_err(|why| Error::new(CANNOT_COMMIT).because(why))?;
        if !ended.is_good() {
            return Err(Error::new(CANNOT_COMMIT).because(ended.complaint()).hint(
                match ended.err.contains("tell me who you are") {
                    true => {
                        "tell git who you are: `git config --global user.name` and `user.email`"
                    }
                    false => {
                        "your own git refused it, or a hook of yours did; what it says is above"
                    }
                },
            ));
        }
        let raw = self.memory.raw_among(&staged);
        report.raw = raw.or(report.raw);
        report.committed.extend(staged);
        report.committed.sort();
        report.committed.dedup();
        report.message.get_or_insert(message);
        Ok(())
    }

    /// Whether files outside of the memory are staged; they stay so.
    fn has_others_staged(&self) -> Result<bool> {
        if self.repository.head().is_none() {
            return Ok(true);
        }
        let others = ["diff", "--cached", "--quiet", "--", ":(top)", ":(exclude)."];
        let ended =
            self.work().run(&others).map_err(|why| Error::new(CANNOT_COMMIT).because(why))?;
        Ok(!ended.is_good())
    }

    /// Fetches, merges and pushes until nobody was faster.
    fn exchange(&self, report: &mut SyncReport) -> Result<()> {
        let Some(remote) = &self.remote else { return self.finish(report) };
        // Up to here all that was not pushed was looked through.
        let looked = self.repository.head();
        for attempt in 0..TRIES {
            (self.request.progress)(&format!("fetching from {}", remote.name));
            match fetch(&self.work(), remote)? {
                Some(Unreached::Offline(why)) => {
                    report.offline = Some(why);
                    return self.finish(report);
                }
                Some(Unreached::Empty) => {
                    report.first_push_bytes = self.size();
                    (self.request.first_push)(report.first_push_bytes.unwrap_or_default());
                }
                None => self.merge(remote, report)?,
            }
            self.finish(report)?;
            self.memory.refuse_new_leaks(&remote.name, looked.as_deref())?;
            if self.is_there(remote) {
                return self.note(remote);
            }
            report.beside = self.memory.refuse_leaks_beside(&remote.name)?;
            if let Some(ended) = self.push_raw(remote)? {
                report.offline = Some(ended.complaint());
                return Ok(());
            }
            (self.request.progress)(&format!("pushing to {}", remote.name));
            match push(&self.work(), remote)? {
                Pushed::Done => {
                    report.pushed = true;
                    return self.note(remote);
                }
                Pushed::Offline(why) => {
                    report.offline = Some(why);
                    return Ok(());
                }
                // Two that were both too late must not meet again.
                Pushed::Raced => std::thread::sleep(std::time::Duration::from_millis(
                    20 * (1 << attempt) + u64::from(std::process::id() % 50),
                )),
            }
        }
        Err(Error::new(format!("cannot push to `{}`", remote.name))
            .because(format!("others were faster {TRIES} times"))
            .hint("everything is committed and merged here; run `memtree sync` again"))
    }

    /// Whether the remote has all that is here.
    fn is_there(&self, remote: &Remote) -> bool {
        let there = self.memory.git().commit(self.memory.root(), &remote.tracking());
        there.is_some() && there == self.repository.head()
    }

    /// Verifies what changed.
    fn finish(&self, report: &mut SyncReport) -> Result<()> {
        (self.request.progress)("verifying what changed");
        let since = SyncState::file(self.memory.layout()).load().synced;
        self.memory.verify_synced(since.as_deref(), self.request.full)?;
        report.other_versions = self.memory.count_other_versions(&report.joined);
        Ok(())
    }

    /// Notes how far this device and the remote are the same.
    fn note(&self, remote: &Remote) -> Result<()> {
        let head = self.repository.head();
        let file = SyncState::file(self.memory.layout());
        let mut state = file.load();
        state.synced = head.clone();
        state.has_raw = self.memory.sends_raw();
        state.has_episodes = self.memory.syncs_episodes() == Some(true) || state.has_raw;
        state.seen.extend(head.map(|head| (remote.tracking(), head)));
        file.save(&state).map(drop).context(|| self.memory.store().cannot_write())
    }

    /// How much the first push would send, where the remote was never reached.
    fn first_push(&self, changed: &BTreeSet<String>) -> Option<u64> {
        let remote = self.remote.as_ref()?;
        if self.memory.git().commit(self.memory.root(), &remote.tracking()).is_some() {
            return None;
        }
        let size = |path: &String| {
            let metadata = files::symlink_metadata(self.memory.root().join(path)).ok()?;
            metadata.is_file().then_some(metadata.len())
        };
        let committed = self.repository.head().and_then(|_| self.size()).unwrap_or_default();
        Some(committed + changed.iter().filter_map(size).sum::<u64>())
    }

    /// How much the memory is, in the last commit.
    fn size(&self) -> Option<u64> {
        let listed = self.work().run(&["ls-tree", "-r", "-l", "-z", "HEAD", "--", "."]).ok()?;
        let size =
            |line: &str| line.split('\t').next()?.split_whitespace().nth(3)?.parse::<u64>().ok();
        Some(listed.out.split('\0').filter_map(size).sum::<u64>())
    }

    /// The message of a commit: what it is about, and where it was made.
    fn message(&self, paths: &[String]) -> Option<String> {
        if let Some(message) = self.request.message.clone().filter(|it| !it.trim().is_empty()) {
            return Some(message);
        }
        (!paths.is_empty()).then(|| rebuild::message(paths, self.memory.device()))
    }
}
