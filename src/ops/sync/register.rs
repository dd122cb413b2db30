//! The merge driver: git is told, in this clone's own settings, to join pages by `memtree
//! merge-file`.
//!
//! `.gitattributes` names the driver and travels; which program that is says each clone itself, so
//! a pulled file can run nothing.

use std::path::Path;

use serde::Serialize;

use crate::base::files;
use crate::base::shell::quoted;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::settings::RawSync;
use crate::store::authored;
use crate::store::layout::{self, MERGE_DRIVER};

/// What was changed so that git joins pages by section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// Whether the driver was named in the clone's settings.
    pub driver: bool,
    /// Whether `.gitattributes` was brought up to date.
    pub attributes: bool,
}

impl Memory {
    /// Tells git how to join pages, where it does not know yet. `program` is this one, as git is to
    /// call it.
    pub fn register_merge_driver(&self, program: &Path) -> Result<Registered> {
        let mut registered = Registered { attributes: self.write_attributes()?, driver: false };
        if self.repository().is_none() || self.has_merge_driver(program) {
            return Ok(registered);
        }
        for (key, value) in
            // A name without a command stops git.
            [("driver", driver(program)), ("name", "memtree: join by section".to_string())]
        {
            let key = format!("merge.{MERGE_DRIVER}.{key}");
            let set = ["config", "--local", "--replace-all", &key, &value];
            self.git().answer(self.root(), &set).map_err(|why| {
                Error::new("cannot tell git how pages are joined").because(why).hint(
                    "see that this repository's `.git/config` can be written; until then the next \
                     memtree command puts right what git merges",
                )
            })?;
        }
        registered.driver = true;
        Ok(registered)
    }

    /// Whether git calls this program to join pages.
    pub(crate) fn has_merge_driver(&self, program: &Path) -> bool {
        let key = format!("merge.{MERGE_DRIVER}.driver");
        let said = self.git().answer(self.root(), &["config", "--local", "--get", &key]);
        said.is_ok_and(|said| said.trim_end() == driver(program))
    }

    /// Whether the memory's repository knows another one.
    pub(crate) fn has_remote(&self) -> bool {
        self.repository().is_some_and(|repository| repository.remote().is_some())
    }

    /// Whether `.gitattributes` says how each kind of file is joined.
    pub(crate) fn has_attributes(&self) -> bool {
        let text = files::read_to_string(self.layout().gitattributes()).unwrap_or_default();
        with_attributes(&text, self.settings().sync.raw, false).is_none()
    }

    /// What git would do otherwise than it has to, for a file of each kind: git's last rule that
    /// fits counts, and rules stand in several files. Nothing where git cannot be asked.
    pub(crate) fn attributes_undone(&self) -> Vec<String> {
        if self.repository().is_none() {
            return Vec::new();
        }
        let paths = layout::JOINED_SAMPLES.iter().map(|(path, _)| *path);
        let asked: Vec<&str> =
            ["check-attr", "-z", "merge", "eol", "--"].into_iter().chain(paths).collect();
        let answer = self.git().answer(self.root(), &asked).unwrap_or_default();
        let fields: Vec<&str> = answer.split('\0').collect();
        let is_wrong = |path: &str, attribute: &str, value: &str| {
            let needed = layout::JOINED_SAMPLES.iter().find(|(sample, _)| *sample == path);
            match attribute {
                "merge" => needed.is_some_and(|(_, needed)| *needed != value),
                _ => value == "crlf",
            }
        };
        let wrong = fields.chunks_exact(3).filter(|it| is_wrong(it[0], it[1], it[2]));
        wrong.map(|it| format!("{}={} for `{}`", it[1], it[2], it[0])).collect()
    }

    /// Brings `.gitattributes` up to date; says whether that changed it.
    pub(crate) fn write_attributes(&self) -> Result<bool> {
        let path = self.layout().gitattributes();
        let raw = self.settings().sync.raw;
        let undone = self.attributes_undone().iter().any(|one| one.starts_with("merge="));
        let new = |now: Option<&str>| with_attributes(now.unwrap_or_default(), raw, undone);
        authored::replace(self.layout(), &path, new).context(|| self.store().cannot_write())
    }
}

/// The command that git calls: through a shell, so the path is quoted; git quotes what it puts in.
fn driver(program: &Path) -> String {
    format!("{} merge-file %O %A %B %P", quoted(&program.display().to_string()))
}

/// What `.gitattributes` has to say, where it does not say so yet, or where another rule undoes it.
/// What a person added stays.
fn with_attributes(text: &str, raw: RawSync, undone: bool) -> Option<String> {
    // Where raw stays here, another device may have said how its own travels.
    let (of_raw, not): (&[&str], &[&str]) = match raw {
        RawSync::Decided(false) => (&[], &[]),
        RawSync::Decided(true) => (&[layout::KEPT_BY_GIT, layout::RAW_IN_LFS], &[]),
        RawSync::Without(_) => (&[layout::KEPT_BY_GIT], &[layout::RAW_IN_LFS]),
    };
    let needed = || layout::JOINED_BY_GIT.iter().chain(of_raw).copied();
    let is_there = |needed: &str| text.lines().any(|line| line.trim() == needed);
    let is_old = |line: &str| {
        layout::ONCE_JOINED_BY_GIT.contains(&line.trim()) || not.contains(&line.trim())
    };
    let ours = needed().collect::<Vec<_>>().join("\n");
    // What undoes ours from behind them may stand in another file.
    let is_last = text.trim_end().ends_with(&ours);
    if needed().all(is_there) && !text.lines().any(is_old) && (!undone || is_last) {
        return None;
    }
    // Where one is missing all are written, since the last one that fits counts.
    let is_ours = |line: &str| is_old(line) || needed().any(|needed| needed == line.trim());
    let kept: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    let ends = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    Some(format!("{kept}{ends}{ours}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Plain;

    #[test]
    fn attributes_of_earlier_versions_make_way() {
        let template = include_str!("../../../templates/gitattributes");
        let with_attributes = |text: &str| with_attributes(text, RawSync::Decided(false), false);
        assert_eq!(with_attributes(template), None);
        let old = "# mine\n/sessions/*/*_DIGEST.md merge=union\n*.png binary\n/forgotten.md merge=union\n";
        let new = with_attributes(old).unwrap();
        assert!(
            new.starts_with("# mine\n*.png binary\n/sessions/*/*_DIGEST.md merge=memtree\n"),
            "{new}"
        );
        assert_eq!(new.matches("forgotten").count(), 1);
        assert_eq!(with_attributes(&new), None);
        assert_eq!(with_attributes("").unwrap().lines().count(), layout::JOINED_BY_GIT.len());
    }

    #[test]
    fn raw_is_given_to_git_lfs_only_where_that_is_wanted() {
        let template = include_str!("../../../templates/gitattributes");
        let in_lfs = with_attributes(template, RawSync::Decided(true), false).unwrap();
        assert!(in_lfs.ends_with(&format!("{}\n", layout::RAW_IN_LFS)), "{in_lfs}");
        assert_eq!(with_attributes(&in_lfs, RawSync::Decided(true), false), None);
        // A device that keeps its own raw leaves it to those that do not.
        assert_eq!(with_attributes(&in_lfs, RawSync::Decided(false), false), None);
        let plain = with_attributes(&in_lfs, RawSync::Without(Plain::Plain), false).unwrap();
        assert!(!plain.contains("lfs") && plain.ends_with(&format!("{}\n", layout::KEPT_BY_GIT)));
        assert_eq!(with_attributes(&plain, RawSync::Without(Plain::Plain), false), None);
    }

    #[test]
    fn a_rule_that_undoes_ours_is_put_before_them() {
        let template = include_str!("../../../templates/gitattributes");
        let text = format!("{template}*.md merge=union\n");
        assert_eq!(with_attributes(&text, RawSync::Decided(false), false), None);
        let mended = with_attributes(&text, RawSync::Decided(false), true).unwrap();
        assert!(mended.find("*.md merge=union") < mended.find("/core/*.md"), "{mended}");
        // What undoes them from elsewhere is not mended again and again.
        assert_eq!(with_attributes(&mended, RawSync::Decided(false), true), None);
    }

    #[test]
    fn the_driver_s_path_is_one_word_for_a_shell() {
        let driver = driver(Path::new("/opt/my tools/it's"));
        assert_eq!(driver, "'/opt/my tools/it'\\''s' merge-file %O %A %B %P");
    }
}
