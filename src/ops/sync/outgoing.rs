//! What a push would send: the commits that a remote does not have, what they say, and every
//! version of a file in them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::memory::Memory;

/// So much of what git holds is read at once.
const BYTES_AT_ONCE: u64 = 24 << 20;
/// The mode of a link, and that of another repository, as git writes them.
const LINK: &str = "120000";
const REPOSITORY: &str = "160000";

const HEAD: &str = "HEAD";

/// What a push sends, as git's revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// What is pushed.
    pub tips: Vec<String>,
    /// What the remote has already, or was looked through.
    pub known: Vec<String>,
}

/// Where in the repository it is looked: the memory may be a part of a bigger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Memory,
    Beside,
}

impl Outgoing {
    /// What a push of the branch that is checked out sends.
    pub fn of_head(remote: Option<&str>, looked: Option<&str>) -> Outgoing {
        let known = remote.map(|remote| format!("--remotes={remote}"));
        Outgoing {
            tips: vec![HEAD.to_string()],
            known: known.into_iter().chain(looked.map(str::to_string)).collect(),
        }
    }

    /// What git says to the hook `pre-push`: a line `<ref> <commit> <ref there> <commit there>` for
    /// each that is pushed. The end of a branch sends nothing.
    pub fn of_hook(remote: &str, said: &str) -> Outgoing {
        let is_commit =
            |name: &&str| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_nothing = |name: &str| name.bytes().all(|digit| digit == b'0');
        let fields = |at: usize| {
            let named = said.lines().filter_map(move |line| line.split_whitespace().nth(at));
            let named = named.filter(is_commit).filter(|name| !is_nothing(name));
            named.map(str::to_string).collect::<Vec<_>>()
        };
        let mut known = fields(3);
        if !remote.is_empty() {
            known.push(format!("--remotes={remote}"));
        }
        Outgoing { tips: fields(1), known }
    }

    fn range(&self) -> Vec<&str> {
        let tips = self.tips.iter().map(String::as_str);
        tips.chain(["--not"]).chain(self.known.iter().map(String::as_str)).collect()
    }
}

impl Place {
    fn paths(self) -> &'static [&'static str] {
        match self {
            Place::Memory => &["--", "."],
            Place::Beside => &["--", ":(top)", ":(exclude)."],
        }
    }
}

/// What is no file of its own: links, and other repositories.
pub fn odd_kind(mode: &str) -> Option<&'static str> {
    match mode {
        LINK => Some("a link"),
        REPOSITORY => Some("a repository of its own"),
        _ => None,
    }
}

impl Memory {
    /// The same without what this clone does not have.
    pub(super) fn known_here(&self, mut outgoing: Outgoing) -> Outgoing {
        let (git, root) = (self.git(), self.root());
        outgoing.known.retain(|it| it.starts_with('-') || git.commit(root, it).is_some());
        outgoing
    }

    /// Every version of a file that a push would send, with its path: within the memory, or in the
    /// repository.
    pub(super) fn outgoing_versions(
        &self,
        outgoing: &Outgoing,
        place: Place,
    ) -> Result<BTreeMap<String, String>, String> {
        let (git, root) = (self.git(), self.root());
        let prefix = git.answer(root, &["rev-parse", "--show-prefix"])?;
        let prefix = prefix.trim_end_matches('\n');
        if place == Place::Beside && prefix.is_empty() {
            return Ok(BTreeMap::new());
        }
        let stripped = if place == Place::Memory { prefix } else { "" };
        // Without the whole history a branch that was merged and had come to nothing is left out.
        let asked = ["rev-list", "--objects", "--full-history"];
        let asked = [&asked[..], &outgoing.range(), place.paths()].concat();
        let answer = git.answer(root, &asked)?;
        let version = |line: &str| {
            let (name, path) = line.split_once(' ')?;
            let path = path.strip_prefix(stripped).filter(|path| !path.is_empty())?;
            Some((name.to_string(), path.to_string()))
        };
        Ok(answer.lines().filter_map(version).collect())
    }

    /// The commits that a push would send and that change files beside the memory, newest first.
    pub(super) fn outgoing_beside(&self, outgoing: &Outgoing) -> Result<Vec<String>, String> {
        let prefix = self.git().answer(self.root(), &["rev-parse", "--show-prefix"])?;
        if prefix.trim_end_matches('\n').is_empty() {
            return Ok(Vec::new());
        }
        let asked = ["log", "--no-merges", "--format=%h %s"];
        let asked = [&asked[..], &outgoing.range(), Place::Beside.paths()].concat();
        Ok(self.git().answer(self.root(), &asked)?.lines().map(str::to_string).collect())
    }

    /// What the commits say that a push would send, with their short names.
    pub(super) fn outgoing_messages(
        &self,
        outgoing: &Outgoing,
    ) -> Result<Vec<(String, String)>, String> {
        let asked = [&["log", "-z", "--format=%h%n%B"][..], &outgoing.range(), &["--"]].concat();
        let answer = self.git().answer(self.root(), &asked)?;
        let message = |said: &str| {
            let (name, message) = said.split_once('\n')?;
            Some((name.to_string(), message.to_string()))
        };
        Ok(answer.split('\0').filter_map(message).collect())
    }

    /// The links and other repositories in the memory that commits bring which a push would send,
    /// and that are still there in what is pushed: with what each is.
    pub(super) fn outgoing_odd(
        &self,
        outgoing: &Outgoing,
    ) -> Result<Vec<(String, &'static str)>, String> {
        let asked =
            ["log", "-m", "--raw", "-z", "--no-renames", "--no-abbrev", "--relative", "--format="];
        let asked = [&asked[..], &outgoing.range(), &["--", "."]].concat();
        let came = odd_among(&self.git().answer(self.root(), &asked)?);
        let mut left = Vec::new();
        for tip in outgoing.tips.iter().filter(|_| !came.is_empty()) {
            if tip == HEAD {
                // What is in the folder now is committed on top of it.
                left.extend(self.odd_files(came.iter().map(|(path, _)| path)));
                continue;
            }
            let paths = came.iter().map(|(path, _)| path.as_str());
            let asked = [&["ls-tree", "-z", tip.as_str(), "--"][..], &paths.collect::<Vec<_>>()];
            let there = self.git().answer(self.root(), &asked.concat()).unwrap_or_default();
            left.extend(there.split('\0').filter_map(|line| {
                let (about, path) = line.split_once('\t')?;
                Some((path.to_string(), odd_kind(about.split(' ').next()?)?))
            }));
        }
        left.sort();
        left.dedup();
        Ok(left)
    }

    /// What versions of files hold, a few at a time; `too_long` are those that are not read.
    pub(super) fn each_content(
        &self,
        names: &[&str],
        longest: u64,
        mut look: impl FnMut(&str, Option<&[u8]>),
    ) -> Result<(), String> {
        let (git, root) = (self.git(), self.root());
        let sizes = git.sizes(root, names)?;
        let (mut waiting, mut bytes) = (Vec::new(), 0);
        let mut read = |waiting: &mut Vec<&str>| -> Result<(), String> {
            let contents = git.contents(root, waiting)?;
            for name in waiting.drain(..) {
                if let Some(content) = contents.get(name) {
                    look(name, Some(content));
                }
            }
            Ok(())
        };
        let mut long = Vec::new();
        for name in names {
            // Folders are objects, too, and have no content here.
            let Some(size) = sizes.get(*name) else { continue };
            if *size > longest {
                long.push(*name);
                continue;
            }
            if bytes + size > BYTES_AT_ONCE && !waiting.is_empty() {
                read(&mut waiting)?;
                bytes = 0;
            }
            waiting.push(*name);
            bytes += size;
        }
        read(&mut waiting)?;
        long.into_iter().for_each(|name| look(name, None));
        Ok(())
    }

    /// Stops where something is no file of its own: another device's memtree would not take it in.
    pub(super) fn refuse_odd(&self, odd: &[(String, &'static str)], how: &str) -> Result<()> {
        let Some((path, kind)) = odd.first() else { return Ok(()) };
        let mut error = Error::new(format!("nothing was pushed: `{path}` is {kind}"));
        for (path, kind) in odd.iter().skip(1).take(9) {
            error = error.because(format!("`{path}` is {kind}"));
        }
        Err(error
            .because("other devices would be stopped by what may lead out of the memory, which no memtree takes in")
            .hint(how.to_string()))
    }
}

/// The links and other repositories among the changes that git lists (`--raw -z`).
pub fn odd_among(listed: &str) -> Vec<(String, &'static str)> {
    let mut fields = listed.split('\0').map(|field| field.trim_start_matches('\n'));
    let mut odd = Vec::new();
    while let Some(field) = fields.next() {
        let Some(about) = field.strip_prefix(':') else { continue };
        let kind = about.split(' ').nth(1).and_then(odd_kind);
        if let (Some(kind), Some(path)) = (kind, fields.next()) {
            odd.push((path.to_string(), kind));
        }
    }
    odd.sort();
    odd.dedup();
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_push_sends_is_what_git_says_to_its_hook() {
        let (one, two, none) = ("1".repeat(40), "2".repeat(40), "0".repeat(40));
        let said = format!(
            "refs/heads/side {one} refs/heads/side {none}\n(delete) {none} refs/heads/old {two}\n"
        );
        let outgoing = Outgoing::of_hook("origin", &said);
        assert_eq!(outgoing.tips, std::slice::from_ref(&one));
        assert_eq!(outgoing.known, [two, "--remotes=origin".to_string()]);
        // No word of it becomes an option of git's.
        assert_eq!(Outgoing::of_hook("", "x --all y --all\n\n").tips, [""; 0]);
        assert_eq!(Outgoing::of_hook("", "").known, [""; 0]);
    }

    #[test]
    fn links_and_other_repositories_are_told_from_files() {
        let zeros = "0".repeat(40);
        let listed = format!(
            ":000000 120000 {zeros} {zeros} A\0AGENTS.md\0:100644 100644 {zeros} {zeros} M\0a.md\0\
             \n:000000 160000 {zeros} {zeros} A\0plugin\0:120000 000000 {zeros} {zeros} D\0old\0"
        );
        let expect = [
            ("AGENTS.md".to_string(), "a link"),
            ("plugin".to_string(), "a repository of its own"),
        ];
        assert_eq!(odd_among(&listed), expect);
    }
}
