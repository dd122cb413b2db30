//! Exchange with the team: what others have is fetched, what the person shares is pushed.
//!
//! What was fetched is a copy, which is set to what the other side has. The team's repository gets
//! commits that touch the person's own folder alone, made anew on top of whatever is there; so
//! there is nothing to merge.

use serde::Serialize;
use std::path::Path;

use super::publish::Published;
use super::{Place, TeamState};
use crate::base::files;
use crate::base::git::{GitWork, Pushed};
use crate::base::setters::setters;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::{Device, Person};

/// How often a push is tried again after somebody else was faster.
const TRIES: usize = 8;
/// Where the other side's branch is noted.
const THERE: &str = "refs/remotes/team/there";
/// Settings of the copies: what others chose is written as it is, and no link is made.
const OF_COPIES: &[(&str, &str)] =
    &[("core.symlinks", "false"), ("core.autocrlf", "false"), ("core.fileMode", "false")];

/// How to sync with the team.
#[derive(Debug, Clone, Default)]
pub struct TeamSyncRequest {
    /// Whether somebody is there whom git may ask for a password.
    pub may_ask: bool,
}

setters!(TeamSyncRequest { may_ask: bool });

/// What a sync with the team did.
#[derive(Debug, Default, Serialize)]
pub struct TeamSyncReport {
    /// Whose memories are here now.
    pub people: Vec<Person>,
    /// How many of this device's sessions others may have.
    pub shared: usize,
    /// How many were taken back.
    pub withdrawn: usize,
    /// Who was removed from the team's repository.
    pub removed: Vec<Person>,
    pub pushed: bool,
    /// Who could not be reached, and why; what is here stays.
    pub offline: Vec<String>,
    /// Who has left, and has a folder there again; it is not read.
    pub back: Vec<Person>,
    /// Devices with sessions in the person's own folder that they do not trust: somebody else may
    /// have the same name.
    pub namesakes: Vec<Device>,
}

/// What became of the person's own part.
#[derive(Debug, Default)]
pub struct Exchanged {
    pub published: Published,
    pub removed: Vec<Person>,
    pub pushed: bool,
    pub offline: Option<String>,
}

impl Memory {
    /// Fetches the team's memories, and pushes what the person shares into their folder.
    pub fn sync_team(&self, request: &TeamSyncRequest) -> Result<TeamSyncReport> {
        let team = &self.settings().team;
        if team.repository.is_empty() && team.people.is_empty() {
            return Err(Error::usage("your settings name no team").hint(
                "`memtree config team.repository ADDRESS`, or `[team.people]` in ~/.config/memtree/config.toml",
            ));
        }
        let _lock = self.lock_team()?;
        let mut report = TeamSyncReport::default();
        for one in self.named_colleagues()? {
            let Place::Address(address) = &one.place else { continue };
            let copy = Copy { memory: self, folder: &one.root, address, may_ask: request.may_ask };
            match copy.fetch()? {
                Fetched::Offline(why) => report.offline.push(format!("{}: {why}", one.name)),
                Fetched::Branch(_) => {}
            }
        }
        if !team.repository.is_empty() {
            let done = self.exchange_with_team(request.may_ask)?;
            report.offline.extend(done.offline.map(|why| format!("the team's repository: {why}")));
            (report.shared, report.withdrawn) = (done.published.sessions, done.published.withdrawn);
            (report.removed, report.pushed) = (done.removed, done.pushed);
        }
        let left = TeamState::file(self.layout()).load().left;
        report.back = self.folders_of_people();
        report.back.retain(|name| left.contains(name));
        report.namesakes = self.namesakes()?;
        let people = self.colleagues()?.into_iter();
        report.people = people.filter(|one| files::is_dir(&one.root)).map(|one| one.name).collect();
        Ok(report)
    }

    /// One exchange at a time.
    pub(super) fn lock_team(&self) -> Result<files::FileLock> {
        files::lock_exclusive(&self.layout().team_lock()).context(|| self.store().cannot_write())
    }

    /// Fetches the team's repository, changes the person's own part of it, and pushes that.
    pub(super) fn exchange_with_team(&self, may_ask: bool) -> Result<Exchanged> {
        let folder = self.layout().team_repository();
        let address = self.team_address();
        let copy = Copy { memory: self, folder: &folder, address: &address, may_ask };
        let name = self.publishes_as()?;
        self.redact_episodes()?;
        for _ in 0..TRIES {
            let branch = match copy.fetch()? {
                Fetched::Branch(branch) => branch,
                Fetched::Offline(why) => {
                    return Ok(Exchanged { offline: Some(why), ..Exchanged::default() });
                }
            };
            let mut done = Exchanged::default();
            if let Some(name) = &name {
                done.published = self.publish_shared(name)?;
            }
            let state = TeamState::file(self.layout());
            done.removed = state.load().leaving;
            for person in &done.removed {
                let cannot = || format!("cannot remove `{person}`");
                files::if_exists(files::remove_folder(&self.layout().team_folder(person)))
                    .context(cannot)?;
            }
            let about = name.as_ref().map_or("memory", Person::as_str);
            if copy.commit(&message(about, &done))? {
                match copy.push(&branch)? {
                    Pushed::Done => done.pushed = true,
                    Pushed::Raced => continue,
                    Pushed::Offline(why) => return Ok(Exchanged { offline: Some(why), ..done }),
                }
            }
            if !done.removed.is_empty() {
                let rest = TeamState { leaving: Vec::new(), ..state.load() };
                state.save(&rest).context(|| self.store().cannot_write())?;
            }
            return Ok(done);
        }
        Err(Error::new("cannot push to the team's repository")
            .because("somebody else was faster each time")
            .hint("run `memtree sync --team` again"))
    }

    /// The address of the team's repository; a path without a beginning counts from the memory.
    pub(super) fn team_address(&self) -> String {
        let named = &self.settings().team.repository;
        match super::is_address(named) {
            true => named.clone(),
            false => self.root().join(self.environment().expand(named)).display().to_string(),
        }
    }
}

fn message(name: &str, done: &Exchanged) -> String {
    let removed: Vec<&str> = done.removed.iter().map(Person::as_str).collect();
    match removed.is_empty() {
        true => format!("{name}: {} sessions are shared", done.published.sessions),
        false => format!("{name}: {} left", removed.join(", ")),
    }
}

/// What a fetch came to.
enum Fetched {
    /// The branch there; the copy is as that is, or empty where nothing is there yet.
    Branch(String),
    Offline(String),
}

/// A copy of a repository, in which nobody works.
struct Copy<'m> {
    memory: &'m Memory,
    folder: &'m Path,
    address: &'m str,
    may_ask: bool,
}

impl Copy<'_> {
    fn work(&self) -> GitWork<'_> {
        GitWork {
            git: self.memory.git(),
            folder: self.folder,
            environment: &self.memory.environment().places.environment,
            may_ask: self.may_ask,
        }
    }

    /// Runs git; `Err` with what it said where the network is to blame.
    fn asked(&self, arguments: &[&str]) -> Result<std::result::Result<String, String>> {
        let cannot = || format!("cannot reach `{}`", self.address);
        let ended = self.work().run(arguments).map_err(|why| Error::new(cannot()).because(why))?;
        match ended.is_good() {
            true => Ok(Ok(ended.out)),
            false if ended.is_offline() => Ok(Err(ended.complaint())),
            false => Err(Error::new(cannot())
                .because(ended.complaint())
                .hint("check the address under `[team]` in ~/.config/memtree/config.toml; your own git and credentials are used")),
        }
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let cannot = || format!("cannot change `{}`", self.folder.display());
        let ended = self.work().run(arguments).map_err(|why| Error::new(cannot()).because(why))?;
        if ended.is_good() {
            Ok(ended.out)
        } else {
            Err(Error::new(cannot()).because(ended.complaint()))
        }
    }

    /// Makes the copy what the other side has, whatever was here: only the last commit is fetched.
    fn fetch(&self) -> Result<Fetched> {
        self.make()?;
        let asked = ["ls-remote", "--symref", "--", self.address, "HEAD", "refs/heads/*"];
        let listed = match self.asked(&asked)? {
            Ok(listed) => listed,
            Err(why) => return Ok(Fetched::Offline(why)),
        };
        let Some(branch) = branch_there(&listed) else {
            // Nothing is there yet, or any more.
            if self.git(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok() {
                files::remove_folder(self.folder).context(|| self.memory.store().cannot_write())?;
                self.make()?;
            }
            return Ok(Fetched::Branch("main".into()));
        };
        let refs = format!("+refs/heads/{branch}:{THERE}");
        let asked = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--depth=1",
            "--",
            self.address,
            &refs,
        ];
        if let Err(why) = self.asked(&asked)? {
            return Ok(Fetched::Offline(why));
        }
        self.git(&["checkout", "--quiet", "--force", "--detach", THERE])?;
        self.git(&["clean", "--quiet", "-ffdx"])?;
        Ok(Fetched::Branch(branch))
    }

    /// An empty repository, where there is none.
    fn make(&self) -> Result<()> {
        let cannot = || self.memory.store().cannot_write();
        if files::is_file(self.folder.join(".git/HEAD")) {
            return Ok(());
        }
        files::create_private_dir(self.folder).context(cannot)?;
        self.git(&["init", "--quiet", "--initial-branch=copy", "."])?;
        for (key, value) in OF_COPIES {
            self.git(&["config", "--local", key, value])?;
        }
        Ok(())
    }

    /// Commits what has changed, if anything has.
    fn commit(&self, message: &str) -> Result<bool> {
        self.git(&["add", "--all", "--force", "--", "."])?;
        if self.git(&["status", "--porcelain"])?.is_empty() {
            return Ok(false);
        }
        self.git(&["commit", "--quiet", "--message", message])?;
        Ok(true)
    }

    fn push(&self, branch: &str) -> Result<Pushed> {
        let cannot = || format!("cannot push to `{}`", self.address);
        let refs = format!("HEAD:refs/heads/{branch}");
        let asked = ["push", "--quiet", "--no-recurse-submodules", "--", self.address, &refs];
        let ended = self.work().run(&asked).map_err(|why| Error::new(cannot()).because(why))?;
        ended.pushed().map_err(|complaint| {
            Error::new(cannot())
                .because(complaint)
                .hint("nothing of yours is lost: the next `memtree sync --team` makes it anew")
        })
    }
}

/// The branch that the other side shows first: HEAD's, else `main`, else the first.
fn branch_there(listed: &str) -> Option<String> {
    let lines = || listed.lines().filter_map(|line| line.split_once('\t'));
    let heads: Vec<&str> =
        lines().filter_map(|(_, name)| name.strip_prefix("refs/heads/")).collect();
    let head = lines()
        .find_map(|(what, name)| what.strip_prefix("ref: refs/heads/").filter(|_| name == "HEAD"));
    let main = || heads.iter().copied().find(|name| *name == "main");
    let known = head.filter(|head| heads.contains(head)).or_else(main);
    known.or(heads.first().copied()).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_the_one_that_is_shown_first() {
        let check = |listed: &str, expect: Option<&str>| {
            assert_eq!(branch_there(listed).as_deref(), expect, "{listed}");
        };
        check("", None);
        check(
            "ref: refs/heads/dev\tHEAD\n1\tHEAD\n1\trefs/heads/dev\n2\trefs/heads/main",
            Some("dev"),
        );
        check("1\trefs/heads/dev\n2\trefs/heads/main", Some("main"));
        check("ref: refs/heads/gone\tHEAD\n1\trefs/heads/dev", Some("dev"));
    }
}
