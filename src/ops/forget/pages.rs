//! The pages of a memory that may mention what is to be forgotten, and how they lose it.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::files::{self, FoundFile, Replacing};
use crate::store::Store;
use crate::store::layout::{self, Layout};

/// The pages that are neither a session's own nor a cache, and not the list of tombstones.
fn pages(store: &Store) -> impl Iterator<Item = FoundFile> {
    let layout = store.layout().clone();
    files::walk_files(layout.root()).flatten().filter(move |found| {
        // What is in quarantine is whole, or it could not be restored.
        let [cache, quarantine] = [layout.cache(), layout.quarantine()];
        let others = [layout.sessions(), cache, quarantine, layout.git(), layout.locks()];
        let lists = [layout.own_tombstones(), layout.quarantine_list(), layout.acquaintance()];
        let is_other = others.iter().any(|other| found.path.starts_with(other));
        found.link.is_none()
            && !is_static(&layout, &found.path)
            && !lists.contains(&found.path)
            && (!is_other
                || layout.is_event_log(&found.path)
                || layout.is_session_index(&found.path))
    })
}

/// Whether a file says what the memory is, and nothing of what is in it.
pub fn is_static(layout: &Layout, path: &Path) -> bool {
    let apart = [
        layout.forgotten(),
        layout.settings(),
        layout.readme(),
        layout.gitignore(),
        layout.gitattributes(),
    ];
    apart.iter().any(|apart| apart == path)
}

pub fn pages_with(store: &Store, is_one: impl Fn(&str, &str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut with = Vec::new();
    for found in pages(store) {
        let page = files::read(&found.path)?;
        if is_one(&String::from_utf8_lossy(&page), &found.relative.to_string_lossy()) {
            with.push(found.path);
        }
    }
    Ok(with)
}

/// Removes the files whose name gives it away, and the lines that do from the others. Returns which
/// they were.
pub fn clean_pages(
    store: &Store,
    is_ours: impl Fn(&str) -> bool,
    is_named: impl Fn(&str) -> bool,
    cleaned: impl Fn(&Path, &str) -> Option<String>,
) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    for found in pages(store)
        .filter(|found| is_ours(&layout::shown_relative(&found.relative)))
        .collect::<Vec<_>>()
    {
        if is_named(&found.relative.to_string_lossy()) {
            files::remove_file(&found.path)?;
            changed.push(store.layout().shown(&found.path));
            continue;
        }
        if clean_page(&store.layout().replacing(), &found.path, |page| cleaned(&found.path, page))?
        {
            changed.push(store.layout().shown(&found.path));
        }
    }
    Ok(changed)
}

/// Removes the lines that give it away from one page; returns whether there were any.
pub fn clean_page(
    replacing: &Replacing,
    path: &Path,
    cleaned: impl Fn(&str) -> Option<String>,
) -> io::Result<bool> {
    files::update_locked(replacing, path, |now| {
        Ok(std::str::from_utf8(now).ok().and_then(&cleaned).map(String::into_bytes))
    })
}
