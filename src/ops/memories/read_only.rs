//! What the memory tool shows and nobody writes through it: `core/` and `digests/<month>/`.

use crate::base::files;
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::model::memory_path::MemoryPath;
use crate::ops::pages::PageRef;
use crate::store::layout::{self, Layout};

/// The folders of `/memories` that are not the agent's.
pub const FOLDERS: [&str; 2] = [CORE, DIGESTS];
const CORE: &str = "core";
const DIGESTS: &str = "digests";
const MEMORY: &str = "MEMORY.md";

/// One line of a list: its path below the folder, and how large it is.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub size: u64,
    pub is_folder: bool,
}

/// Whether a path is one of these folders, or in one.
pub fn is_below(at: &MemoryPath) -> bool {
    at.names().first().is_some_and(|first| FOLDERS.contains(&first.as_str()))
}

/// What is in a folder of these, or the folders themselves where it is the root; `None` where the
/// path is no folder of these.
pub fn entries(memory: &Memory, at: &MemoryPath, depth: usize) -> Option<Vec<Entry>> {
    let layout = memory.layout();
    let names: Vec<&str> = at.names().iter().map(String::as_str).collect();
    let below = |before: &str, entries: Vec<Entry>| {
        let named = entries.into_iter();
        named.map(|entry| Entry { name: format!("{before}/{}", entry.name), ..entry }).collect()
    };
    match names[..] {
        [] => {
            let mut all: Vec<Entry> = Vec::new();
            let folders = [
                (CORE, layout.cores(), core(layout)),
                (DIGESTS, layout.sessions(), months(layout)),
            ];
            for (name, folder, inside) in folders {
                if !inside.is_empty() {
                    let size = files::metadata(folder).map_or(0, |found| found.len());
                    all.push(Entry { name: name.into(), size, is_folder: true });
                    all.extend::<Vec<Entry>>(below(name, inside));
                }
            }
            Some(all)
        }
        [CORE] => Some(core(layout)),
        [DIGESTS] => {
            let mut all = Vec::new();
            for month in months(layout) {
                let inside = digests(layout, &month.name);
                if depth > 1 {
                    all.extend::<Vec<Entry>>(below(&month.name, inside));
                }
                all.push(month);
            }
            Some(all)
        }
        [DIGESTS, month] => Some(digests(layout, month)).filter(|inside| !inside.is_empty()),
        _ => None,
    }
}

/// The page that a path names, if there is one.
pub fn page(memory: &Memory, at: &MemoryPath) -> Option<String> {
    let names: Vec<&str> = at.names().iter().map(String::as_str).collect();
    let page = match names[..] {
        [CORE, MEMORY] => Some(PageRef::Memory),
        [CORE, name] => {
            let core = || layout::core_named(name).map(PageRef::Core);
            layout::sphere_named(name).map(PageRef::Sphere).or_else(core)
        }
        [DIGESTS, month, name] => {
            let session = name.strip_suffix(layout::DIGEST_SUFFIX).and_then(|id| id.parse().ok());
            let listed = |id: &SessionId| sessions(memory.layout(), month).contains(id);
            session.filter(listed).map(PageRef::Session)
        }
        _ => None,
    };
    memory.page(&page?).ok()
}

fn core(layout: &Layout) -> Vec<Entry> {
    let is_page = |name: &str| {
        name == MEMORY || layout::core_named(name).is_some() || layout::sphere_named(name).is_some()
    };
    let mut entries = Vec::new();
    for entry in files::read_dir(layout.cores()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let found = files::symlink_metadata(entry.path()).ok().filter(|found| found.is_file());
        if let Some(found) = found.filter(|_| is_page(&name)) {
            entries.push(Entry { name, size: found.len(), is_folder: false });
        }
    }
    entries
}

/// The months that have sessions, by the pages of the index.
fn months(layout: &Layout) -> Vec<Entry> {
    let entries = files::read_dir(layout.sessions()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let months = names.filter_map(|name| layout::month_of_session_index(&name).map(str::to_string));
    let entry = |name: String| {
        let page = files::metadata(layout.session_index_of(&name));
        Entry { name, size: page.map_or(0, |found| found.len()), is_folder: true }
    };
    months.map(entry).collect()
}

/// The sessions of a month, as its page of the index lists them.
fn sessions(layout: &Layout, month: &str) -> Vec<SessionId> {
    let is_month = months(layout).iter().any(|known| known.name == month);
    let page = is_month.then(|| files::read_to_string(layout.session_index_of(month)).ok());
    let page = page.flatten().unwrap_or_default();
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut ids: Vec<SessionId> = links.filter_map(layout::linked_digest).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn digests(layout: &Layout, month: &str) -> Vec<Entry> {
    let listed = sessions(layout, month).into_iter();
    let entry = |id: SessionId| {
        let found = files::symlink_metadata(layout.digest(&id)).ok()?;
        let name = format!("{id}{}", layout::DIGEST_SUFFIX);
        Some(Entry { name, size: found.len(), is_folder: false })
    };
    listed.filter_map(entry).collect()
}
