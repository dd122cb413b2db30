//! A watcher reports changes at or below some paths, also at ones that are not there yet.

use crate::base::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches until it is dropped.
pub struct Watcher {
    _watcher: Option<RecommendedWatcher>,
    /// What cannot be watched, and why.
    pub errors: Vec<String>,
}

impl Watcher {
    /// Calls back on every change at or below the paths, but not below `ignored`. A path that is
    /// not there yet is awaited in the nearest folder above it; once it is there, a new watcher has
    /// to be made.
    pub fn new(
        paths: &[PathBuf],
        ignored: &Path,
        changed: impl Fn() + Send + Clone + 'static,
    ) -> Watcher {
        let mut folders = folders_to_watch(paths);
        loop {
            let watcher = Watcher::of(&folders, paths, ignored, changed.clone());
            // What appeared before we watched for it would go unnoticed.
            let now = folders_to_watch(paths);
            if now == folders {
                return watcher;
            }
            folders = now;
        }
    }

    fn of(
        folders: &BTreeMap<PathBuf, RecursiveMode>,
        paths: &[PathBuf],
        ignored: &Path,
        changed: impl Fn() + Send + 'static,
    ) -> Watcher {
        // Some systems report the path that a link leads to.
        let paths: Vec<PathBuf> =
            paths.iter().flat_map(|path| [path.clone(), real(path)]).collect();
        let ignored = [ignored.to_path_buf(), real(ignored)];
        let on_event = move |event: notify::Result<Event>| {
            if event.map_or(true, |event| concerns(&event, &paths, &ignored)) {
                changed();
            }
        };
        let mut watcher = match RecommendedWatcher::new(
            on_event,
            Config::default().with_follow_symlinks(false),
        ) {
            Ok(watcher) => watcher,
            Err(err) => return Watcher { _watcher: None, errors: vec![reason(err)] },
        };
        let mut errors = Vec::new();
        for (folder, mode) in folders {
            if let Err(err) = watcher.watch(folder, *mode) {
                errors.push(format!("`{}`: {}", folder.display(), reason(err)));
            }
        }
        Watcher { _watcher: Some(watcher), errors }
    }
}

/// The folders to watch, and whether with all below them.
fn folders_to_watch(paths: &[PathBuf]) -> BTreeMap<PathBuf, RecursiveMode> {
    let mut folders = BTreeMap::new();
    for path in paths {
        let path = real(path);
        let Some(folder) = path.ancestors().find(|folder| files::is_dir(folder)) else { continue };
        if folder == path {
            folders.insert(path, RecursiveMode::Recursive);
        } else {
            folders.entry(folder.to_path_buf()).or_insert(RecursiveMode::NonRecursive);
        }
    }
    let whole: Vec<PathBuf> = folders
        .iter()
        .filter(|(_, mode)| **mode == RecursiveMode::Recursive)
        .map(|(path, _)| path.clone())
        .collect();
    folders.retain(|folder, _| {
        !whole.iter().any(|above| folder != above && folder.starts_with(above))
    });
    folders
}

/// Whether an event means that something may have changed there.
fn concerns(event: &Event, paths: &[PathBuf], ignored: &[PathBuf]) -> bool {
    // That a file was opened or read is no change; we do so ourselves.
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    // The system lost count: anything may have happened.
    if event.need_rescan() || event.paths.is_empty() {
        return true;
    }
    event.paths.iter().any(|changed| {
        let is_there =
            paths.iter().any(|path| changed.starts_with(path) || path.starts_with(changed));
        is_there && !ignored.iter().any(|folder| changed.starts_with(folder))
    })
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn reason(err: notify::Error) -> String {
    match err.kind {
        notify::ErrorKind::Io(err) => err.to_string(),
        notify::ErrorKind::MaxFilesWatch => {
            "the system watches no more folders (fs.inotify.max_user_watches)".into()
        }
        _ => err.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, CreateKind, Flag};
    use std::fs;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_missing_path_is_awaited_in_the_folder_above_it() {
        let desk = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(desk.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let check = |paths: &[&str], expect: &[(&str, RecursiveMode)]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
            let expect = expect.iter().map(|(path, mode)| (root.join(path), *mode)).collect();
            assert_eq!(folders_to_watch(&paths), expect, "{paths:?}");
        };
        use RecursiveMode::{NonRecursive, Recursive};
        check(&["a"], &[("a", Recursive)]);
        check(&["x/y/z", "x/w"], &[("", NonRecursive)]);
        check(&["file"], &[("", NonRecursive)]);
        // What lies in a watched folder is seen anyway, and no folder is watched less than somebody
        // wants.
        check(&["a/x", "a", "a/b"], &[("a", Recursive)]);
        check(&["a/b/x", "a/c"], &[("a/b", NonRecursive), ("a", NonRecursive)]);
    }

    #[test]
    fn only_changes_of_what_is_watched_count() {
        let check = |event: Event, expect: bool| {
            let concerned = concerns(&event, &["/home/logs".into()], &["/home/logs/memory".into()]);
            assert_eq!(concerned, expect, "{event:?}");
        };
        let created =
            |path: &str| Event::new(EventKind::Create(CreateKind::Any)).add_path(path.into());
        check(created("/home/logs/one.jsonl"), true);
        check(created("/home"), true);
        check(created("/home/logs-of-others"), false);
        check(created("/home/logs/memory/.memtree/local/staging"), false);
        check(
            Event::new(EventKind::Access(AccessKind::Any)).add_path("/home/logs/one.jsonl".into()),
            false,
        );
        check(Event::new(EventKind::Other).set_flag(Flag::Rescan), true);
    }

    #[test]
    fn a_path_that_appears_is_noticed() {
        let desk = tempfile::tempdir().unwrap();
        let (sender, news) = mpsc::channel();
        let wanted = [desk.path().join("agent/logs")];
        let watcher = Watcher::new(&wanted, &desk.path().join("memory"), move || {
            sender.send(()).unwrap_or_default()
        });
        assert!(watcher.errors.is_empty(), "{:?}", watcher.errors);
        fs::create_dir_all(&wanted[0]).unwrap();
        news.recv_timeout(Duration::from_secs(30)).unwrap();
    }
}
