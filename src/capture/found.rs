//! What is found around a log and does not stand in it: where its session worked, the repository's
//! remote, the session that it was forked from.
//!
//! It is looked for once, when the session is first captured, and kept in its vitals. From then on
//! it is a part of the session and never asked for again: pages stay a function of what is kept.

use std::path::{Component, Path};

use serde::Serialize;

use crate::adapters::Adapter;
use crate::base::front_matter::Document;
use crate::base::git::Repository;
use crate::base::{files, text};
use crate::distill::digest::without_home;
use crate::model::session::{Head, Role, Source};
use crate::store::layout;

/// What was found around a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The folder, with the home directory as `~`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The git remote of that folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The session of the same agent that the log is a fork of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

impl Found {
    /// All that it says.
    pub fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.cwd, &mut self.remote, &mut self.forked_from].into_iter().flatten()
    }
}

/// Where to take it from.
pub enum Around<'s> {
    /// From a snapshot that has it; `None` where that was written before anything was looked for.
    Kept(Option<Found>),
    /// From what lies around the logs.
    Look(&'s Source),
}

impl<'s> Around<'s> {
    /// What a snapshot keeps, else what lies around the logs of its session.
    pub fn of(snapshot: Option<&Path>, source: &'s Source) -> Around<'s> {
        match snapshot.and_then(kept) {
            Some(found) => Around::Kept(Some(found)),
            None => Around::Look(source),
        }
    }

    /// What a snapshot keeps, and nothing else.
    pub fn kept(snapshot: &Path) -> Around<'s> {
        Around::Kept(kept(snapshot))
    }

    /// Adds what was found to what the log says, which comes first.
    pub fn complete(self, adapter: &dyn Adapter, head: &mut Head) -> Option<Found> {
        let found = match self {
            Around::Kept(found) => found,
            Around::Look(source) => Some(look(adapter, source, head)),
        };
        let known = found.clone().unwrap_or_default();
        head.cwd = head.cwd.take().or(known.cwd);
        head.remote = head.remote.take().or(known.remote);
        head.parent = head.parent.take().or(known.forked_from);
        found
    }
}

/// Looks around the logs of a session for what they do not say.
fn look(adapter: &dyn Adapter, source: &Source, head: &Head) -> Found {
    let short = |value: String| text::one_line(&value, 300);
    let mut main = source.files.iter().filter(|file| file.role == Role::Main);
    let folder = match head.cwd {
        Some(_) => None,
        None => main.find_map(|file| adapter.folder_of(&file.path)).map(short),
    };
    let cwd = head.cwd.as_deref().or(folder.as_deref());
    let remote = match head.remote {
        Some(_) => None,
        None => cwd.and_then(remote_of).map(short).filter(|remote| !remote.is_empty()),
    };
    let forked_from = source.origin.clone().filter(|_| head.parent.is_none()).map(short);
    Found { cwd: folder.as_deref().map(without_home), remote, forked_from }
}

/// The remote of the repository that a folder lies in. The folder comes from a log: only a plain
/// absolute path is followed, and of what it leads to only small regular files are read, as text.
fn remote_of(cwd: &str) -> Option<String> {
    let folder = Path::new(cwd);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::RootDir);
    let plain = folder.is_absolute() && cwd.len() <= 1000 && folder.components().all(is_plain);
    plain.then(|| Repository::containing(folder)?.remote())?
}

/// What the vitals of a snapshot keep; `None` where they were written before anything was looked
/// for.
fn kept(snapshot: &Path) -> Option<Found> {
    let vitals = files::read_at_most(snapshot.join(layout::VITALS), 1 << 20).ok()?;
    let vitals = String::from_utf8(vitals).ok()?;
    let mut lines = vitals.lines().skip_while(|line| !line.starts_with("found:"));
    let first = lines.next()?;
    let entries = lines.map_while(|line| line.strip_prefix("  "));
    let entries: String = entries.map(|line| format!("{line}\n")).collect();
    let document = Document::parse(&format!("---\n{entries}---\n"));
    let entry = |name| document.get_str(name).filter(|_| first == "found:");
    Some(Found { cwd: entry("cwd"), remote: entry("remote"), forked_from: entry("forked_from") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_found_is_kept_in_vitals_and_read_back() {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join(layout::VITALS);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let write = |text: &str| fs::write(&path, text).unwrap();
        assert_eq!(kept(desk.path()), None);
        write("source_id: claude:1\nrecords: 3\n");
        assert_eq!(kept(desk.path()), None);
        for found in [
            Found::default(),
            Found {
                cwd: Some("~/code/a b: c".into()),
                remote: Some("git@example.org:team/zubot.git".into()),
                forked_from: Some("'#1".into()),
            },
        ] {
            #[derive(Serialize)]
            struct Page<'f> {
                a: u32,
                found: &'f Found,
                b: u32,
            }
            let page = Page { a: 1, found: &found, b: 2 };
            write(&serde_yaml::to_string(&page).unwrap());
            assert_eq!(kept(desk.path()), Some(found));
        }
    }

    #[test]
    fn the_remote_is_read_from_plain_folders_only() {
        let desk = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(desk.path()).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let config =
            "[include]\n\tpath = /dev/zero\n[remote \"origin\"]\n\turl = https://example.org/a/b\n";
        fs::write(root.join(".git/config"), config).unwrap();
        let shown = root.to_string_lossy().into_owned();
        assert_eq!(remote_of(&shown).as_deref(), Some("https://example.org/a/b"));
        assert_eq!(
            remote_of(&format!("{shown}/src/gone")).as_deref(),
            Some("https://example.org/a/b")
        );
        assert_eq!(remote_of(&format!("{shown}/x/..")), None);
        assert_eq!((remote_of("."), remote_of(""), remote_of("~/x")), (None, None, None));
    }
}
