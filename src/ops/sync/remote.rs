//! The remote: where the memory is pushed to, what came from there, and why it could not be
//! reached.

use crate::base::git::{GitWork, Pushed, Repository};
use crate::error::{Error, Result};
use crate::memory::Memory;

/// Where a branch is fetched from and pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// The branch here.
    pub branch: String,
    /// The branch there.
    pub there: String,
    /// Whether git knows already that they belong together.
    pub is_upstream: bool,
}

impl Remote {
    /// The commit that was last seen there, as git names it.
    pub fn tracking(&self) -> String {
        format!("refs/remotes/{}/{}", self.name, self.there)
    }
}

impl Memory {
    /// The remote of the branch that is checked out; `None` where there is none.
    pub(super) fn remote(
        &self,
        repository: &Repository,
        named: Option<&str>,
    ) -> Result<Option<Remote>> {
        let branch = repository.branch().ok_or_else(|| {
            Error::new("no branch is checked out")
                .because("HEAD is detached: what is committed now belongs to no branch")
                .hint("`git switch main`, or `git switch --create NAME` to keep what was committed")
        })?;
        let known = self.git().answer(self.root(), &["remote"]).unwrap_or_default();
        let known: Vec<&str> = known.lines().collect();
        if let Some(named) = named.filter(|named| !known.contains(named)) {
            return Err(Error::usage(format!("there is no remote `{named}`"))
                .hint("`git remote -v` lists them; `git remote add NAME URL` adds one"));
        }
        let said = |key: &str| {
            let key = format!("branch.{branch}.{key}");
            let said = self.git().answer(self.root(), &["config", "--get", &key]).ok()?;
            Some(said.trim_end().to_string())
        };
        let upstream = said("remote").filter(|name| known.contains(&name.as_str()));
        let name = match (named, &upstream, known.as_slice()) {
            (Some(named), ..) => named.to_string(),
            (None, Some(upstream), _) => upstream.clone(),
            (None, None, known) if known.contains(&"origin") => "origin".to_string(),
            (None, None, [only]) => (*only).to_string(),
            (None, None, []) => return Ok(None),
            _ => {
                return Err(Error::usage("several remotes are known, and none is this branch's")
                    .hint(format!("name one: `memtree sync --remote {}`", known[0])));
            }
        };
        // An option of git's must not be made of a name that somebody chose.
        if name.starts_with('-') || branch.starts_with('-') {
            return Err(Error::usage(format!("`{name}` is no name of a remote that can be used")));
        }
        let is_upstream = upstream.as_deref() == Some(&name);
        let there = said("merge").filter(|_| is_upstream);
        let there = there.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_string));
        Ok(Some(Remote {
            name,
            there: there.unwrap_or_else(|| branch.clone()),
            branch,
            is_upstream,
        }))
    }
}

/// Why the remote has nothing new for us, and got nothing from us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// It is out of reach now; the next time will do.
    Offline(String),
    /// It has nothing yet.
    Empty,
}

/// Asks the remote for what is new.
pub fn fetch(work: &GitWork<'_>, remote: &Remote) -> Result<Option<Unreached>> {
    let cannot = || format!("cannot fetch from `{}`", remote.name);
    let refs = format!("+refs/heads/{}:{}", remote.there, remote.tracking());
    let asked = ["fetch", "--quiet", "--no-recurse-submodules", "--", &remote.name, &refs];
    let ended = work.run(&asked).map_err(|why| Error::new(cannot()).because(why))?;
    if ended.is_good() {
        return Ok(None);
    }
    if ended.err.contains("couldn't find remote ref") {
        return Ok(Some(Unreached::Empty));
    }
    if ended.is_offline() {
        return Ok(Some(Unreached::Offline(ended.complaint())));
    }
    Err(Error::new(cannot()).because(ended.complaint()).hint(
        "try `git fetch` in the memory: where that works, so does `memtree sync`. Your own git and \
         credentials are used",
    ))
}

/// Sends the branch.
pub fn push(work: &GitWork<'_>, remote: &Remote) -> Result<Pushed> {
    let cannot = || format!("cannot push to `{}`", remote.name);
    let refs = format!("refs/heads/{}:refs/heads/{}", remote.branch, remote.there);
    let mut asked = vec!["push", "--quiet", "--no-recurse-submodules"];
    if !remote.is_upstream {
        asked.push("--set-upstream");
    }
    asked.extend(["--", &remote.name, &refs]);
    let ended = work.run(&asked).map_err(|why| Error::new(cannot()).because(why))?;
    ended.pushed().map_err(|complaint| {
        Error::new(cannot())
            .because(complaint)
            .hint("everything is committed here; when `git push` works again, run `memtree sync`")
    })
}
