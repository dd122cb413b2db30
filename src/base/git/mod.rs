//! What the files of a git repository say, read as they are: no program is run, nothing is
//! written. Only where git's own answer counts, it is asked itself: see [`Git`].

use crate::base::files;
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use objects::{Hash, Objects, hash, hex};

mod lfs;
mod merges;
mod objects;
mod query;
mod work;

pub use lfs::LfsPointer;
pub use merges::MergedFile;
pub use query::Git;
pub use work::{Ended, GitWork, Pushed, SYNCING};

/// A working tree and the place where git keeps what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The top folder of the working tree.
    pub root: PathBuf,
    /// `.git`, or what a worktree's `.git` file names: its own HEAD is there.
    own: PathBuf,
    /// Where the objects, branches and settings are, which all worktrees share.
    common: PathBuf,
}

impl Repository {
    /// The repository that a folder lies in.
    pub fn containing(folder: &Path) -> Option<Repository> {
        folder.ancestors().find_map(Repository::at)
    }

    fn at(root: &Path) -> Option<Repository> {
        let dot_git = root.join(".git");
        let own = if files::is_dir(&dot_git) {
            dot_git
        } else {
            let text = read_small(&dot_git)?;
            // A submodule's is `../.git/modules/…`, which leads out of the folder on purpose.
            let own = root.join(text.strip_prefix("gitdir:")?.trim());
            fs::canonicalize(&own).unwrap_or(own)
        };
        let common = match read_small(&own.join("commondir")) {
            Some(text) => own.join(text.trim()),
            None => own.clone(),
        };
        files::is_file(own.join("HEAD")).then(|| Repository {
            root: root.to_path_buf(),
            own,
            common,
        })
    }

    /// The list of what git tracks and what is staged; none before the first `git add`.
    pub fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    /// The commit that is checked out, by its name; `None` before the first one, or where the files
    /// do not say.
    pub fn head(&self) -> Option<String> {
        let head = read_small(&self.own.join("HEAD"))?;
        let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
            return hash(&head).map(|hash| hex(&hash));
        };
        if let Some(loose) = read_small(&self.common.join(name)) {
            return hash(&loose).map(|hash| hex(&hash));
        }
        let packed = read_small(&self.common.join("packed-refs"))?;
        let line =
            packed.lines().find(|line| line.split_once(' ').is_some_and(|(_, it)| it == name));
        line.and_then(|line| hash(line.split(' ').next()?)).map(|hash| hex(&hash))
    }

    /// The branch that is checked out.
    pub fn branch(&self) -> Option<String> {
        let head = read_small(&self.own.join("HEAD"))?;
        head.strip_prefix("ref:")?.trim().strip_prefix("refs/heads/").map(str::to_string)
    }

    /// The commit that a merge under way brings in.
    pub fn merging(&self) -> Option<String> {
        let names = read_small(&self.own.join("MERGE_HEAD"))?;
        hash(names.lines().next()?).map(|hash| hex(&hash))
    }

    /// What git is in the middle of, where it is not a merge.
    pub fn unfinished(&self) -> Option<&'static str> {
        let names = [
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
        ];
        let found = names.iter().find(|(file, _)| files::exists(self.own.join(file)));
        found.map(|(_, what)| *what)
    }

    /// The working tree that a worktree belongs to; for any other, its own root.
    pub fn main_root(&self) -> PathBuf {
        let common = fs::canonicalize(&self.common).unwrap_or_else(|_| self.common.clone());
        match common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git")) {
            Some(root) => root.to_path_buf(),
            None => self.root.clone(),
        }
    }

    /// The address of the remote `origin`, else of the first one.
    pub fn remote(&self) -> Option<String> {
        let text = read_small(&self.common.join("config"))?;
        let (mut section, mut first, mut origin) = (String::new(), None, None);
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']').to_string();
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            if key.trim() != "url" || !section.starts_with("remote ") {
                continue;
            }
            let value = value.trim().trim_matches('"').to_string();
            if section == "remote \"origin\"" {
                origin.get_or_insert(value);
            } else {
                first.get_or_insert(value);
            }
        }
        origin.or(first)
    }
}

/// The commits that a repository's branches lead to, walked from their tips only as far as it
/// takes.
pub struct History {
    objects: Objects,
    known: HashSet<Hash>,
    waiting: VecDeque<Hash>,
    /// How many more commits may be read.
    left: usize,
    /// Whether the walk came to a commit that is not to be read.
    torn: bool,
}

impl Repository {
    /// The history of everything that a branch, a tag or HEAD leads to; at most so many commits of
    /// it are read.
    pub fn history(&self, most: usize) -> History {
        let mut waiting = VecDeque::new();
        if let Some(head) = read_small(&self.own.join("HEAD")) {
            match head.strip_prefix("ref:") {
                Some(name) => waiting.extend(
                    read_small(&self.common.join(name.trim())).and_then(|text| hash(&text)),
                ),
                None => waiting.extend(hash(&head)),
            }
        }
        let refs = walkdir::WalkDir::new(self.common.join("refs")).sort_by_file_name().max_open(8);
        for entry in
            refs.into_iter().flatten().filter(|entry| entry.file_type().is_file()).take(2000)
        {
            waiting.extend(read_small(entry.path()).and_then(|text| hash(&text)));
        }
        let packed = read_small(&self.common.join("packed-refs")).unwrap_or_default();
        // `^` is the commit that the tag above it stands for.
        let tips = packed.lines().filter_map(|line| line.trim_start_matches('^').split(' ').next());
        waiting.extend(tips.filter_map(hash));
        let torn = files::exists(self.common.join("shallow"));
        let known = waiting.iter().copied().collect();
        History {
            objects: Objects::open(self.common.join("objects")),
            known,
            waiting,
            left: most,
            torn,
        }
    }
}

impl History {
    /// Whether a commit, by the beginning of its name, is in the history; `None` where that is
    /// not known.
    pub fn has(&mut self, commit: &str) -> Option<bool> {
        let commit = commit.to_ascii_lowercase();
        if commit.len() < 4
            || commit.len() > 40
            || !commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return None;
        }
        if self.known.iter().any(|known| hex(known).starts_with(&commit)) {
            return Some(true);
        }
        if self.objects.any_named(&commit) == Some(false) {
            return if self.torn { None } else { Some(false) };
        }
        while let Some(next) = self.waiting.pop_front() {
            if self.left == 0 {
                self.waiting.push_front(next);
                return None;
            }
            self.left -= 1;
            // A tag's own object is no commit; what it stands for is a tip too.
            for parent in self.objects.parents(&next).unwrap_or_default() {
                if self.known.insert(parent) {
                    self.waiting.push_back(parent);
                    if hex(&parent).starts_with(&commit) {
                        return Some(true);
                    }
                }
            }
        }
        if self.torn { None } else { Some(false) }
    }
}

/// A small file of git's, as text; whatever is not there or absurdly long says nothing.
fn read_small(path: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    if files::metadata(path).ok()?.len() > MOST {
        return None;
    }
    files::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_commit_is_in_the_history_or_not() {
        let desk = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let output = std::process::Command::new("git")
                .args([
                    "-c",
                    "user.name=desk",
                    "-c",
                    "user.email=desk@example.org",
                    "-c",
                    "init.defaultBranch=main",
                ])
                .args(arguments)
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("HOME", desk.path())
                .current_dir(desk.path())
                .output()
                .expect("`git` is there");
            assert!(
                output.status.success(),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap().trim().to_string()
        };
        run(&["init", "-q"]);
        let commits: Vec<String> = (0..30)
            .map(|n| {
                let message =
                    format!("commit {n}\n\n{}", "the same long story again and again. ".repeat(40));
                run(&["commit", "-q", "--allow-empty", "-m", &message]);
                run(&["rev-parse", "HEAD"])
            })
            .collect();
        let repository = Repository::containing(desk.path()).unwrap();
        let check = |when: &str, gone: &[usize]| {
            let mut history = repository.history(1000);
            for (at, commit) in commits.iter().enumerate().rev() {
                assert_eq!(history.has(&commit[..9]), Some(!gone.contains(&at)), "{when}: {at}");
            }
            assert_eq!(history.has("0123456789"), Some(false), "{when}");
            assert_eq!((history.has("main"), history.has("abc")), (None, None));
        };
        check("loose", &[]);
        assert_eq!(repository.history(5).has(&commits[2]), None, "not read so far");
        run(&["branch", "aside"]);
        run(&["reset", "-q", "--hard", &commits[27]]);
        check("on a branch", &[]);
        run(&["branch", "-q", "-D", "aside"]);
        check("reset", &[28, 29]);
        run(&["repack", "-q", "-a", "-d", "--depth=50", "-f"]);
        run(&["pack-refs", "--all"]);
        check("packed", &[28, 29]);
        run(&["reflog", "expire", "--expire=now", "--all"]);
        run(&["gc", "-q", "--prune=now"]);
        check("pruned", &[28, 29]);
    }

    #[test]
    fn a_folder_knows_its_repository() {
        let desk = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(desk.path()).unwrap().join("code/zubot");
        write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        write(
            &root.join(".git/config"),
            "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://example.org/me/fork\n\
             [remote \"origin\"]\n\turl = git@example.org:team/zubot.git\n",
        );
        fs::create_dir_all(root.join("src/deep")).unwrap();
        let repository = Repository::containing(&root.join("src/deep")).unwrap();
        assert_eq!(
            (repository.root.as_path(), repository.main_root()),
            (root.as_path(), root.clone())
        );
        assert_eq!(repository.remote().as_deref(), Some("git@example.org:team/zubot.git"));
        assert_eq!(Repository::containing(desk.path()), None);

        let worktree = root.parent().unwrap().join("zubot-fix");
        write(
            &worktree.join(".git"),
            &format!("gitdir: {}/.git/worktrees/zubot-fix\n", root.display()),
        );
        write(&root.join(".git/worktrees/zubot-fix/HEAD"), "ref: refs/heads/fix\n");
        write(&root.join(".git/worktrees/zubot-fix/commondir"), "../..\n");
        let repository = Repository::containing(&worktree).unwrap();
        assert_eq!(
            (repository.root.as_path(), repository.main_root()),
            (worktree.as_path(), root.clone())
        );
        assert!(repository.remote().unwrap().ends_with("zubot.git"));
    }
}
