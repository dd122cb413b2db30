//! Seals: how each page looked when it was last known to be whole, so that damage can be told from
//! a person's edit.
//!
//! They are a cache of this device. Without them a page is only known to be damaged by what it
//! says of itself. Forgetting clears them with the cache: no hash outlives what is forgotten.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::day::summary;
use super::layout::{self, Layout};
use super::local::StateFile;
use super::{authored, core};
use crate::base::files::{self, Stamp};
use crate::base::front_matter::Document;
use crate::model::day::{Line, LineKind};
use crate::model::ids::SessionId;
use crate::model::knowledge::Kind;

/// How a page looked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seal {
    stamp: Stamp,
    sha256: String,
    /// A hash of its last line.
    tail: String,
    /// Whether nobody had written into it, so that it can be made again as it was.
    pub ours: bool,
    /// All of it, where nothing else says the same and it says nothing of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What is wrong with a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    Missing,
    Empty,
    Zeroed,
    /// It ends in the middle of a line.
    Cut,
    /// Its last lines are not there; a person may have taken them out.
    Shortened,
    /// A page that is made by programs alone has as many letters as it had, and others.
    Changed,
    /// It is another page.
    Other(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Missing => formatter.write_str("is gone"),
            Damage::Empty => formatter.write_str("is empty"),
            Damage::Zeroed => formatter.write_str("holds zero bytes, which no page does"),
            Damage::Cut => formatter.write_str("was cut off in the middle of a line"),
            Damage::Shortened => {
                formatter.write_str("has lost its end: it was cut off, or somebody took it out")
            }
            Damage::Changed => formatter.write_str("is not as it was written"),
            Damage::Other(name) => write!(formatter, "holds what belongs into `{name}`"),
        }
    }
}

/// A page with what is wrong with it.
#[derive(Debug, Clone)]
pub struct DamagedPage {
    /// Its path in the memory.
    pub name: String,
    pub path: PathBuf,
    pub damage: Damage,
    pub seal: Option<Seal>,
}

impl DamagedPage {
    /// Whether it can be made again without a word of anybody's being lost.
    pub fn is_ours(&self) -> bool {
        match &self.seal {
            _ if self.damage == Damage::Shortened => false,
            // People write into patterns: what they leave in the middle of a line may be theirs.
            Some(_) if layout::is_pattern_file(&self.name) => {
                matches!(self.damage, Damage::Empty | Damage::Zeroed)
            }
            Some(seal) => seal.ours || seal.text.is_some(),
            // Nothing is left in it.
            None => matches!(self.damage, Damage::Empty | Damage::Zeroed),
        }
    }
}

/// All seals, by the pages' paths in the memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Seals {
    pages: BTreeMap<String, Seal>,
}

impl Seals {
    /// Where they are kept.
    pub fn file(layout: &Layout) -> StateFile<Seals> {
        StateFile::cache(layout.seals())
    }

    /// The pages that are damaged. Those that look as they did are not read, unless `all` are.
    pub fn damaged(&self, layout: &Layout, all: bool) -> io::Result<Vec<DamagedPage>> {
        let mut there: BTreeMap<String, (PathBuf, Option<Stamp>)> = pages(layout)
            .into_iter()
            .map(|(name, path, stamp)| (name, (path, Some(stamp))))
            .collect();
        for name in self.pages.keys() {
            there.entry(name.clone()).or_insert_with(|| (layout.root().join(name), None));
        }
        let mut damaged = Vec::new();
        for (name, (path, stamp)) in there {
            let seal = self.pages.get(&name);
            if !all && seal.is_some_and(|seal| Some(seal.stamp) == stamp) {
                continue;
            }
            let page = if stamp.is_some() { files::if_exists(files::read(&path))? } else { None };
            if let Some(damage) = self.damage(layout, &name, page.as_deref()) {
                damaged.push(DamagedPage { name, path, damage, seal: seal.cloned() });
            }
        }
        Ok(damaged)
    }

    fn damage(&self, layout: &Layout, name: &str, page: Option<&[u8]>) -> Option<Damage> {
        let seal = self.pages.get(name);
        let Some(page) = page else {
            // A candidate that is decided, a pattern that is taken back: their pages go.
            let may_go = layout::is_pattern_file(name) && !is_kept(layout, name);
            return seal.filter(|_| !may_go).map(|_| Damage::Missing);
        };
        let is_derived = name.contains('/');
        if page.is_empty() {
            // A log that is only added to is empty for a moment before its first entry.
            let is_log = layout.root().join(name) == layout.knowledge_log();
            return ((is_derived && !is_log) || seal.is_some_and(|seal| seal.stamp.size > 0))
                .then_some(Damage::Empty);
        }
        if page.contains(&0) {
            return Some(Damage::Zeroed);
        }
        let sha256 = files::sha256_hex(page);
        if seal.is_some_and(|seal| seal.sha256 == sha256) {
            return None;
        }
        // A version of a pattern is a copy of it.
        let may_be_alike = layout::is_pattern_file(name) && !is_kept(layout, name);
        let other = self.pages.iter().find(|(other, seal)| *other != name && seal.sha256 == sha256);
        if let Some((other, _)) = other.filter(|_| !may_be_alike) {
            return Some(Damage::Other(other.clone()));
        }
        let text = String::from_utf8_lossy(page);
        if let Some(other) = other_name(layout, name, &text) {
            return Some(Damage::Other(other));
        }
        if seal.is_some_and(|seal| seal.ours) && has_no_line_of_template(layout, name, &text) {
            return Some(Damage::Other("another file".into()));
        }
        // Whoever writes a line into it makes it longer or shorter.
        let is_made =
            is_listing(layout, name) || layout.root().join(name) == layout.knowledge_index();
        if is_made && seal.is_some_and(|seal| seal.stamp.size == page.len() as u64) {
            return Some(Damage::Changed);
        }
        let seal = seal.filter(|seal| (page.len() as u64) < seal.stamp.size)?;
        if !text.ends_with('\n') {
            return Some(Damage::Cut);
        }
        // Settings and lists get shorter as people like them, and a page that has all that was
        // written into it is whole.
        let is_list = is_listing(layout, name) || layout::is_pattern_file(name);
        let may_shrink = !is_derived || is_list || authored::is_complete(&text);
        let lost = text.lines().all(|line| hash(line) != seal.tail);
        (!may_shrink && lost).then_some(Damage::Shortened)
    }

    /// Seals the pages that have changed and are whole; those that are damaged keep their seals.
    /// Says whether anything is new.
    pub fn renew(&mut self, layout: &Layout) -> io::Result<bool> {
        let before = self.clone();
        for (name, path, stamp) in pages(layout) {
            if self.pages.get(&name).is_some_and(|seal| seal.stamp == stamp) {
                continue;
            }
            let Some(page) = files::if_exists(files::read(&path))? else { continue };
            // What a run finds changed it has made anew before; what it wrote since looks the same.
            let damage = self.damage(layout, &name, Some(&page));
            let is_whole = damage.is_none_or(|damage| damage == Damage::Changed);
            if is_whole && !page.is_empty() {
                self.pages.insert(name.clone(), seal(layout, &name, stamp, &page));
            }
        }
        Ok(*self != before)
    }

    /// Forgets a page: what became of it is accepted.
    pub fn accept(&mut self, name: &str) {
        self.pages.remove(name);
    }
}

fn hash(line: &str) -> String {
    files::sha256_hex(line.trim_end().as_bytes())[..8].to_string()
}

fn seal(layout: &Layout, name: &str, stamp: Stamp, page: &[u8]) -> Seal {
    let text = String::from_utf8_lossy(page);
    let tail = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_list = layout.root().join(name) == layout.forgotten() || layout::is_pattern_file(name);
    Seal {
        stamp,
        sha256: files::sha256_hex(page),
        tail: hash(tail),
        ours: is_ours(layout, name, &text),
        text: is_list.then(|| text.into_owned()),
    }
}

/// The pages that are sealed, with how they look: all but digests, which bear their own proof.
fn pages(layout: &Layout) -> Vec<(String, PathBuf, Stamp)> {
    let mut pages = others(layout);
    for folder in [layout.days(), layout.summaries()] {
        add_folder(layout, &folder, &mut pages);
    }
    pages
}

/// How the sealed pages look that are no days.
pub fn stamps(layout: &Layout) -> Vec<(String, Stamp)> {
    others(layout).into_iter().map(|(name, _, stamp)| (name, stamp)).collect()
}

fn others(layout: &Layout) -> Vec<(String, PathBuf, Stamp)> {
    let mut pages = Vec::new();
    let alone = [
        layout.settings(),
        layout.readme(),
        layout.gitignore(),
        layout.gitattributes(),
        layout.forgotten(),
    ];
    for path in alone {
        let metadata = files::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file());
        pages.extend(metadata.map(|found| (layout.shown(&path), path, Stamp::of(&found))));
    }
    let kinds = Kind::ALL.map(|kind| layout.knowledge_of(kind));
    let patterns = layout.pattern_folders();
    let folders = [layout.cores(), layout.knowledge(), layout.sessions()];
    for folder in folders.into_iter().chain(kinds).chain(patterns) {
        add_folder(layout, &folder, &mut pages);
    }
    pages.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    pages.dedup_by(|a, b| a.0 == b.0);
    pages
}

/// Whether a file of patterns stays where it is, whatever is decided.
fn is_kept(layout: &Layout, name: &str) -> bool {
    [layout.reviews(), layout.retro(), layout.measurements()].contains(&layout.root().join(name))
}

/// Whether a list for git has not one of the lines that it began with.
fn has_no_line_of_template(layout: &Layout, name: &str, text: &str) -> bool {
    let path = layout.root().join(name);
    let is_rule = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    [layout.gitignore(), layout.gitattributes()].contains(&path)
        && template(layout, &path).is_some_and(|template| {
            !template.lines().filter(is_rule).any(|rule| text.lines().any(|line| line == rule))
        })
}

/// Whether a page lists sessions.
fn is_listing(layout: &Layout, name: &str) -> bool {
    layout.root().join(name).parent() == Some(&layout.sessions())
}

fn add_folder(layout: &Layout, folder: &Path, pages: &mut Vec<(String, PathBuf, Stamp)>) {
    for entry in files::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Ok(metadata) = entry.metadata()
            && metadata.is_file()
            && path.extension().is_some_and(|end| end == "md" || end == "jsonl")
        {
            pages.push((layout.shown(&path), path, Stamp::of(&metadata)));
        }
    }
}

/// The page that a text says it is, where that is another one.
fn other_name(layout: &Layout, name: &str, text: &str) -> Option<String> {
    let (_, file) = name.rsplit_once('/')?;
    let stem = file.strip_suffix(".md")?;
    let document = Document::parse(text);
    let path = layout.root().join(name);
    let said = match path.parent()? {
        folder if folder == layout.days() => {
            text.lines().next()?.strip_prefix("# Daily Raw ")?.trim().to_string()
        }
        folder if folder == layout.summaries() => document.get_str("day")?,
        folder if folder == layout.cores() => match layout::core_named(file) {
            Some(id) => {
                let said = document.get_str("core_id")?;
                return (said != id.to_string()).then_some(said);
            }
            None => {
                let id = layout::sphere_named(file)?;
                let said = document.get_str("sphere_id")?;
                return (said != id.to_string()).then_some(said);
            }
        },
        _ => return None,
    };
    (said != stem).then(|| name.replace(stem, &said))
}

/// Whether nobody has written into a page.
fn is_ours(layout: &Layout, name: &str, text: &str) -> bool {
    let path = layout.root().join(name);
    if let Some(template) = template(layout, &path) {
        return text == template;
    }
    match path.parent() {
        Some(folder) if folder == layout.days() => {
            text.lines().all(|line| match Line::parse(line) {
                Some(line) => {
                    line.kind == LineKind::System || line.session.parse::<SessionId>().is_ok()
                }
                None => line.trim().is_empty() || line.starts_with("# Daily Raw "),
            })
        }
        Some(folder) if folder == layout.summaries() => summary::is_ours(text),
        _ if path == layout.memory_page() => core::memory::is_ours(text),
        Some(folder) if folder == layout.cores() => core::is_ours(text),
        // What a person writes around the table is theirs; the log is a history.
        _ if path == layout.knowledge_index() => true,
        _ if path == layout.knowledge_log() => true,
        // Whoever writes a line into a list of sessions has it in what is put aside.
        _ if is_listing(layout, name) => true,
        _ => path.starts_with(layout.knowledge()) && authored::is_ours(text),
    }
}

/// What a file says in every new memory.
pub fn template(layout: &Layout, path: &Path) -> Option<&'static str> {
    super::templates(layout).into_iter().find(|(file, _)| file == path).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn damage_is_told_from_an_edit() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let days = ["2026-11-14", "2026-11-15"].map(|day| layout.day(day.parse().unwrap()));
        let text = |day: &str| {
            format!(
                "# Daily Raw {day}\n\n- [10:00:00] [user] (S1) a\n- [11:00:00] [user] (S1) {day}\n"
            )
        };
        fs::create_dir_all(layout.days()).unwrap();
        let whole = ["2026-11-14", "2026-11-15"].map(text);
        let write = |at: usize, text: &str| fs::write(&days[at], text).unwrap();
        (0..2).for_each(|at| write(at, &whole[at]));
        let mut seals = Seals::default();
        assert!(seals.renew(&layout).unwrap() && !seals.renew(&layout).unwrap());
        let check = |page: Option<&str>, expect: Option<Damage>| {
            match page {
                Some(page) => write(0, page),
                None => fs::remove_file(&days[0]).unwrap(),
            }
            let found = seals.damaged(&layout, false).unwrap();
            assert_eq!(found.into_iter().map(|one| one.damage).next(), expect, "{page:?}");
            let mut again = seals.clone();
            again.renew(&layout).unwrap();
            assert_eq!(again == seals, expect.is_some() || page == Some(&whole[0]), "{page:?}");
        };
        check(Some(""), Some(Damage::Empty));
        check(Some("\0\0\0"), Some(Damage::Zeroed));
        check(Some(&whole[0][..whole[0].len() / 2]), Some(Damage::Cut));
        let shorter = "# Daily Raw 2026-11-14\n\n- [10:00:00] [user] (S1) a\n";
        check(Some(shorter), Some(Damage::Shortened));
        check(Some(&whole[1]), Some(Damage::Other("daily/raw/2026-11-15.md".into())));
        check(None, Some(Damage::Missing));
        check(Some(&whole[0].replace("(S1) a", "(S1) b")), None);
        check(Some(&(whole[0].clone() + "- [12:00:00] [user] (me) mine\n")), None);
        check(Some(&whole[0].replace("- [10:00:00] [user] (S1) a\n", "")), None);
    }
}
