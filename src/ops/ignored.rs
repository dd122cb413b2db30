//! Pages that git would leave out by a rule from outside of the memory: a bigger repository's
//! `.gitignore`, or the person's own for all repositories. Nobody meant the memory by it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::text;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::store::layout::{self, PageKind};

/// So many paths are named to git at once.
pub const PATHS_AT_ONCE: usize = 500;

/// A page of ours that a rule leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IgnoredPage {
    /// The page, relative to the memory.
    pub path: String,
    /// The rule, and where it stands.
    pub rule: String,
}

impl Memory {
    /// The pages that git would leave out, but for what the memory's own rules name.
    pub fn ignored_pages(&self) -> Result<Vec<IgnoredPage>> {
        if self.repository().is_none() {
            return Ok(Vec::new());
        }
        let cannot =
            |why: String| Error::new("cannot ask git which pages it leaves out").because(why);
        let paths = self.ignored_paths().map_err(cannot)?;
        let pages = paths.into_iter().filter(|path| is_own_page(path));
        let pages: Vec<String> = pages.collect();
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        self.rules_of(&pages).map_err(cannot)
    }

    /// All that git leaves out and that is neither this device's own nor a snapshot.
    fn ignored_paths(&self) -> Result<Vec<String>, String> {
        let (git, root) = (self.git(), self.root());
        let asked = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
        // A folder that is left out whole is one entry, however much lies in it.
        let listed = git.answer(root, &[&asked[..], &["--directory", "--", "."]].concat())?;
        let is_expected = |path: &&str| {
            path.is_empty() || layout::is_own_path(path) || layout::is_left_out_by_us(path)
        };
        let listed: Vec<&str> = listed.split('\0').filter(|path| !is_expected(path)).collect();
        let (folders, mut paths): (Vec<&str>, Vec<&str>) =
            listed.into_iter().partition(|path| path.ends_with('/'));
        let mut within = String::new();
        for folders in folders.chunks(PATHS_AT_ONCE) {
            within.push_str(&git.answer(root, &[&asked[..], &["--"], folders].concat())?);
        }
        paths.extend(within.split('\0').filter(|path| !is_expected(path)));
        Ok(paths.into_iter().map(str::to_string).collect())
    }

    /// The rules that leave pages out, where they stand outside of the memory.
    fn rules_of(&self, pages: &[String]) -> Result<Vec<IgnoredPage>, String> {
        let prefix = self.git().answer(self.root(), &["rev-parse", "--show-prefix"])?;
        let prefix = prefix.trim_end_matches('\n');
        let mut found = Vec::new();
        for [file, line, pattern, path] in self.git().ignore_rules(self.root(), pages)? {
            let is_within = file.strip_prefix(prefix).is_some_and(|name| {
                name.rsplit('/').next() == Some(layout::GITIGNORE) && !name.starts_with(['/', '~'])
            });
            // What the person says of this clone alone is meant.
            let is_meant = is_within || file.ends_with("info/exclude");
            if !is_meant {
                let rule = format!("`{pattern}` in {file}:{line}");
                found.push(IgnoredPage { path, rule });
            }
        }
        Ok(found)
    }
}

/// Whether a file is one that memtree writes, or a person beside it: not what a program leaves
/// anywhere.
fn is_own_page(path: &str) -> bool {
    !matches!(layout::page_kind(path), PageKind::Other | PageKind::Snapshot)
}

/// What is said of pages that rules leave out: for each rule the first page and how many more.
pub fn shown(pages: &[IgnoredPage]) -> Vec<String> {
    let mut by_rule: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for IgnoredPage { path, rule } in pages {
        by_rule.entry(rule).or_default().push(path);
    }
    let said = |(rule, paths): (&str, Vec<&str>)| {
        let more = match paths.len() - 1 {
            0 => String::new(),
            more => format!(" and {} more", text::counted(more, "page")),
        };
        format!("`{}`{more} ({rule})", paths[0])
    };
    by_rule.into_iter().map(said).collect()
}
