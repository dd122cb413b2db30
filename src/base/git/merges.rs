//! Merges: what git had to join, from whose versions, and what it made of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::Git;

/// A file that both sides of a merge had changed, by the names of its versions in git; `None` where
/// a side has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergedFile {
    /// Its path below the folder that was asked about.
    pub path: String,
    pub base: Option<String>,
    pub sides: [Option<String>; 2],
    /// What git made of it; `None` where it left that to the person.
    pub left: Option<String>,
}

/// How many merges are looked at, where nobody has looked before.
const MOST_MERGES: &str = "--max-count=64";
/// So many versions are read at once.
const AT_ONCE: usize = 256;

impl Git<'_> {
    /// The files below a folder that a merge, rebase or cherry-pick under way leaves to the person.
    pub fn unmerged(&self, folder: &Path) -> Result<Vec<MergedFile>, String> {
        let answer = self.answer(folder, &["ls-files", "-u", "-z", "--", "."])?;
        let mut found: BTreeMap<String, MergedFile> = BTreeMap::new();
        for line in answer.split('\0').filter(|line| !line.is_empty()) {
            let Some((about, path)) = line.split_once('\t') else { continue };
            let words: Vec<&str> = about.split(' ').collect();
            let [mode, name, stage] = words.as_slice() else { continue };
            if !is_file(mode) {
                continue;
            }
            let file = found.entry(path.to_string()).or_default();
            file.path = path.to_string();
            let name = Some(name.to_string());
            match *stage {
                "1" => file.base = name,
                "2" => file.sides[0] = name,
                "3" => file.sides[1] = name,
                _ => {}
            }
        }
        Ok(found.into_values().collect())
    }

    /// The files below a folder that two commits have both changed since what they come from, and
    /// what a third made of them: a commit, or nothing for what is staged.
    pub fn both_changed(
        &self,
        folder: &Path,
        sides: [&str; 2],
        merged: Option<&str>,
    ) -> Result<Vec<MergedFile>, String> {
        let base = self.merge_base(folder, sides)?;
        // Without a common commit everything is new on both sides.
        let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let base = base.as_deref().unwrap_or(empty);
        let mut other = self.changes(folder, base, sides[1])?;
        let one = self.changes(folder, base, sides[0])?;
        other.retain(|path, _| one.contains_key(path));
        if other.is_empty() {
            return Ok(Vec::new());
        }
        let left = match merged {
            Some(commit) => self.changes(folder, base, commit)?,
            None => self.raw_changes(folder, &["diff-index", "--cached"], &[base])?,
        };
        let file = |(path, (base, theirs)): (String, Change)| {
            let ours = one.get(&path).and_then(|(_, ours)| ours.clone());
            let left = left.get(&path).map_or(base.clone(), |(_, left)| left.clone());
            MergedFile { path, base, sides: [ours, theirs], left }
        };
        Ok(other.into_iter().map(file).collect())
    }

    /// The merges between two commits, oldest first, each with its parents.
    pub fn merges(
        &self,
        folder: &Path,
        since: Option<&str>,
        until: &str,
    ) -> Result<Vec<(String, [String; 2])>, String> {
        let not = since.map(|since| format!("^{since}"));
        let mut arguments =
            vec!["rev-list", "--merges", "--parents", "--topo-order", MOST_MERGES, until];
        arguments.extend(not.as_deref());
        arguments.push("--");
        let answer = self.answer(folder, &arguments)?;
        let merge = |line: &str| {
            let mut names = line.split(' ').map(str::to_string);
            Some((names.next()?, [names.next()?, names.next()?]))
        };
        let mut merges: Vec<_> = answer.lines().filter_map(merge).collect();
        merges.reverse();
        Ok(merges)
    }

    /// The paths below a folder that differ between two commits.
    pub fn changed_paths(
        &self,
        folder: &Path,
        from: &str,
        to: &str,
    ) -> Result<Vec<String>, String> {
        Ok(self.changes(folder, from, to)?.into_keys().collect())
    }

    /// Those of them that are gone in the second.
    pub fn removed_paths(
        &self,
        folder: &Path,
        from: &str,
        to: &str,
    ) -> Result<Vec<String>, String> {
        let changes = self.changes(folder, from, to)?.into_iter();
        Ok(changes.filter(|(_, (_, new))| new.is_none()).map(|(path, _)| path).collect())
    }

    /// What two commits come from.
    pub fn merge_base(&self, folder: &Path, sides: [&str; 2]) -> Result<Option<String>, String> {
        let (code, answer) = self.ask(folder, &["merge-base", sides[0], sides[1]], Vec::new())?;
        let base = String::from_utf8_lossy(&answer).trim().to_string();
        Ok((code == 0 && !base.is_empty()).then_some(base))
    }

    /// Whether a commit leads to another.
    pub fn is_ancestor(&self, folder: &Path, older: &str, newer: &str) -> bool {
        let asked = self.ask(folder, &["merge-base", "--is-ancestor", older, newer], Vec::new());
        asked.is_ok_and(|(code, _)| code == 0)
    }

    /// The full name of what a word stands for, if there is such a commit.
    pub fn commit(&self, folder: &Path, word: &str) -> Option<String> {
        let peeled = format!("{word}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled];
        let answer = self.answer(folder, &asked).ok()?;
        Some(answer.trim().to_string()).filter(|name| !name.is_empty())
    }

    /// The commit on which the last rebase put its commits.
    pub fn rebased_onto(&self, folder: &Path) -> Option<String> {
        let asked =
            ["log", "-g", "-1", "--format=%H", "--grep-reflog=^rebase.*(start)", "HEAD", "--"];
        let answer = self.answer(folder, &asked).ok()?;
        Some(answer.trim().to_string()).filter(|name| !name.is_empty())
    }

    /// What versions of files hold, by their names in git. One that is too long, or not there, is
    /// left out.
    pub fn contents(
        &self,
        folder: &Path,
        names: &[&str],
    ) -> Result<HashMap<String, Vec<u8>>, String> {
        let mut contents = HashMap::new();
        for names in names.chunks(AT_ONCE) {
            let asked = names.join("\n") + "\n";
            let (code, answer) =
                self.ask(folder, &["cat-file", "--batch", "--buffer"], asked.into_bytes())?;
            if code != 0 {
                return Err(super::query::failed(code));
            }
            super::query::read_objects(answer.as_slice(), |name, kind, object| {
                if let Some(object) = object.filter(|_| kind == "blob") {
                    contents.insert(name.to_string(), object.to_vec());
                }
            })
            .map_err(|err| format!("`git` gave no answer that could be used: {err}"))?;
        }
        Ok(contents)
    }

    /// How long those of some objects are that are files' contents, by their names.
    pub fn sizes(&self, folder: &Path, names: &[&str]) -> Result<HashMap<String, u64>, String> {
        let mut sizes = HashMap::new();
        for names in names.chunks(1 << 14) {
            let asked = names.join("\n") + "\n";
            let (code, answer) =
                self.ask(folder, &["cat-file", "--batch-check", "--buffer"], asked.into_bytes())?;
            if code != 0 {
                return Err(super::query::failed(code));
            }
            sizes.extend(String::from_utf8_lossy(&answer).lines().filter_map(|line| {
                let mut words = line.split(' ');
                let (name, kind) = (words.next()?, words.next()?);
                let size = words.next()?.parse().ok()?;
                (kind == "blob").then(|| (name.to_string(), size))
            }));
        }
        Ok(sizes)
    }

    fn changes(
        &self,
        folder: &Path,
        from: &str,
        to: &str,
    ) -> Result<BTreeMap<String, Change>, String> {
        self.raw_changes(folder, &["diff-tree", "-r"], &[from, to])
    }

    fn raw_changes(
        &self,
        folder: &Path,
        command: &[&str],
        commits: &[&str],
    ) -> Result<BTreeMap<String, Change>, String> {
        let options = ["-z", "--raw", "--no-renames", "--no-abbrev", "--relative"];
        let arguments = [command, &options, commits, &["--", "."]].concat();
        let answer = self.answer(folder, &arguments)?;
        let mut fields = answer.split('\0');
        let mut changes = BTreeMap::new();
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let words: Vec<&str> = about.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, ..] = words.as_slice() else { continue };
            if [old_mode, new_mode].iter().all(|mode| is_file(mode)) {
                changes.insert(path.to_string(), (name(old), name(new)));
            }
        }
        Ok(changes)
    }
}

/// The names of a file's versions before and after.
type Change = (Option<String>, Option<String>);

/// Whether a mode is a plain file's, or that of nothing: links and whole repositories are no pages.
fn is_file(mode: &str) -> bool {
    mode.starts_with("100") || mode.bytes().all(|digit| digit == b'0')
}

/// The name of a version; that of nothing is all zeros.
fn name(word: &str) -> Option<String> {
    (!word.bytes().all(|digit| digit == b'0')).then(|| word.to_string())
}
