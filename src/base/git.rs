//! What the files of a git repository tell, read as they lie: no program is run, nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

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
    pub fn around(folder: &Path) -> Option<Repository> {
        folder.ancestors().find_map(Repository::at)
    }

    fn at(root: &Path) -> Option<Repository> {
        let dot_git = root.join(".git");
        let own = if dot_git.is_dir() {
            dot_git
        } else {
            let text = read_small(&dot_git)?;
            root.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common = match read_small(&own.join("commondir")) {
            Some(text) => own.join(text.trim()),
            None => own.clone(),
        };
        own.join("HEAD").is_file().then(|| Repository { root: root.to_path_buf(), own, common })
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

/// A small file of git's, as text; whatever is not there or absurdly long says nothing.
fn read_small(path: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    if fs::metadata(path).ok()?.len() > MOST {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
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
        let repository = Repository::around(&root.join("src/deep")).unwrap();
        assert_eq!((repository.root.as_path(), repository.main_root()), (root.as_path(), root.clone()));
        assert_eq!(repository.remote().as_deref(), Some("git@example.org:team/zubot.git"));
        assert_eq!(Repository::around(desk.path()), None);

        let worktree = root.parent().unwrap().join("zubot-fix");
        write(&worktree.join(".git"), &format!("gitdir: {}/.git/worktrees/zubot-fix\n", root.display()));
        write(&root.join(".git/worktrees/zubot-fix/HEAD"), "ref: refs/heads/fix\n");
        write(&root.join(".git/worktrees/zubot-fix/commondir"), "../..\n");
        let repository = Repository::around(&worktree).unwrap();
        assert_eq!((repository.root.as_path(), repository.main_root()), (worktree.as_path(), root.clone()));
        assert!(repository.remote().unwrap().ends_with("zubot.git"));
    }
}
