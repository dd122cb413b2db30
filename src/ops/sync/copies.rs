//! Conflict copies: what Syncthing, Dropbox, iCloud, OneDrive and their like leave beside a page
//! that two devices changed.

use std::path::{Path, PathBuf};

use crate::base::files;
use crate::base::front_matter::Document;
use crate::base::static_regex::StaticRegex;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::ops::repair;
use crate::store::layout::{self, PageKind};
use crate::store::{authored, merge};

/// A page, and another version of it beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictCopy {
    /// Both relative to the memory.
    pub page: String,
    pub copy: String,
}

/// What the tools put between a file's name and its end.
static MARKS: StaticRegex = StaticRegex::new(
    r"(?x)^(.+?)(?:
        \.sync-conflict-\d{8}-\d{6}-[A-Z0-9]+      # Syncthing
        | \ \([^)]*conflicted\ copy[^)]*\)           # Dropbox, Nextcloud
        | [_\ ]conflict[-_\ ]?[\w-]*                 # ownCloud, pCloud, Seafile
        | \ \(SFConflict[^)]*\)                      # Seafile
        | \ \d{1,2}                                  # iCloud
        | \ \(\d{1,2}\)                              # Google Drive
        | -[A-Za-z][A-Za-z0-9-]{2,14}                # OneDrive: the computer's name
    )(\.md|\.jsonl|\.toml)$",
);

/// The name of the file that a name may be a copy of.
fn original(name: &str) -> Option<String> {
    let found = MARKS.captures(name)?;
    Some(format!("{}{}", &found[1], &found[2]))
}

/// Whether two files are versions of one page: `shadow-branch.md` is a page of its own, and no copy
/// of `shadow.md` from a computer called `branch`. Versions have the same heading, or none.
fn is_same(page: &Path, copy: &Path) -> bool {
    let heading = |path: &Path| {
        let page = Document::parse(&files::read_to_string(path).ok()?);
        Some(page.body().lines().find(|line| line.starts_with("# ")).map(str::to_string))
    };
    match (heading(page), heading(copy)) {
        (Some(page), Some(copy)) => page == copy,
        _ => false,
    }
}

impl Memory {
    /// The copies that lie beside pages, in order.
    pub(crate) fn conflict_copies(&self) -> Vec<ConflictCopy> {
        let layout = self.layout();
        let apart = [layout.own(), layout.git()];
        let mut found = Vec::new();
        for file in files::walk_files(layout.root()).flatten() {
            let path = layout.shown(&file.path);
            let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |it| it);
            if file.link.is_some() || apart.iter().any(|apart| file.path.starts_with(apart)) {
                continue;
            }
            let Some(original) = original(name) else { continue };
            let page = if folder.is_empty() { original } else { format!("{folder}/{original}") };
            let is_page = |path: &str| {
                !matches!(layout::page_kind(path), PageKind::Other | PageKind::Snapshot)
            };
            // A name that can only be a page's own is no copy.
            let is_own = matches!(
                layout::page_kind(&path),
                PageKind::Digest | PageKind::Core | PageKind::Sphere | PageKind::Generated
            );
            let there = layout.of_page(&page).filter(|page| files::is_file(page));
            if is_page(&page) && !is_own && there.is_some_and(|there| is_same(&there, &file.path)) {
                found.push(ConflictCopy { page, copy: path });
            }
        }
        found.sort();
        found
    }

    /// Joins a copy into its page by section; the copy itself is put aside below `.memtree`.
    pub(crate) fn join_copy(&self, found: &ConflictCopy) -> Result<()> {
        let cannot = || format!("cannot join `{}` into its page", found.copy);
        let layout = self.layout();
        let path = |of: &str| -> PathBuf { layout.of_page(of).unwrap_or_default() };
        let (page, copy) = (path(&found.page), path(&found.copy));
        let text = files::read_to_string(&copy).context(cannot)?;
        let kind = layout::page_kind(&found.page);
        authored::replace(layout, &page, |now| Some(merge::joined(kind, None, [now?, &text])))
            .context(cannot)?;
        repair::move_aside(layout, &copy).context(cannot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_known_by_their_names() {
        let page = "2026-11-15.md";
        for copy in [
            "2026-11-15.sync-conflict-20261115-120301-ABCDEFG.md",
            "2026-11-15 (Ada's conflicted copy 2026-11-15).md",
            "2026-11-15 (conflicted copy 2026-11-15 120301).md",
            "2026-11-15 2.md",
            "2026-11-15 (1).md",
            "2026-11-15-DESKTOP-7F3A.md",
            "2026-11-15_conflict-20261115.md",
        ] {
            assert_eq!(original(copy).as_deref(), Some(page), "{copy}");
        }
        for other in [page, "MEMORY.md", "CORE_lap-7f3a_SP1C1.md", "2026-11-15.txt"] {
            assert_ne!(original(other).as_deref(), Some(page), "{other}");
        }
    }
}
