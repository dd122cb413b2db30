//! What is in a folder of the memory tool, two levels deep.

use std::path::Path;

use super::read_only::{self, Entry};
use crate::base::files;
use crate::error::Result;
use crate::memory::Memory;
use crate::model::memory_path::MemoryPath;

/// How deep it is looked.
const DEPTH: usize = 2;
/// How many lines are shown: nobody reads more, and a model pays for them.
const MOST: usize = 1_000;

/// What is in a folder, as the model is told; `None` where the path is none.
pub fn of(memory: &Memory, path: &str, at: &MemoryPath) -> Result<Option<String>> {
    let mut entries = Vec::new();
    let folder = memory.layout().memories_file(at);
    let own = files::symlink_metadata(&folder).ok().filter(|found| found.is_dir());
    if own.is_some() && !at.is_hidden() && !read_only::is_below(at) {
        collect(&folder, "", 1, &mut entries);
    }
    let shown = read_only::entries(memory, at, DEPTH);
    if own.is_none() && shown.is_none() && !at.is_root() || at.is_hidden() {
        return Ok(None);
    }
    entries.retain(|entry: &Entry| {
        let first = entry.name.split('/').next().unwrap_or_default();
        !(at.is_root() && read_only::FOLDERS.contains(&first))
    });
    entries.extend(shown.into_iter().flatten());
    // As a walk comes by: a folder, then what is in it.
    entries.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    let path = path.trim_end_matches('/');
    let size = own.map_or(0, |found| found.len());
    let mut lines = vec![
        format!(
            "Here're the files and directories up to {DEPTH} levels deep in {path}, excluding hidden items:"
        ),
        format!("{}\t{path}", shown_size(size)),
    ];
    let left = entries.len().saturating_sub(MOST);
    lines.extend(entries.iter().take(MOST).map(|entry| {
        let end = if entry.is_folder { "/" } else { "" };
        format!("{}\t{path}/{}{end}", shown_size(entry.size), entry.name)
    }));
    if left > 0 {
        lines.push(format!("({left} more are not shown; view a folder of them)"));
    }
    Ok(Some(lines.join("\n")))
}

fn collect(folder: &Path, before: &str, depth: usize, entries: &mut Vec<Entry>) {
    for entry in files::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(found) = files::symlink_metadata(entry.path()) else { continue };
        if name.starts_with('.') || name.contains(char::is_control) {
            continue;
        }
        let name = format!("{before}{name}");
        if found.is_file() {
            entries.push(Entry { name, size: found.len(), is_folder: false });
        } else if found.is_dir() {
            if depth < DEPTH {
                collect(&entry.path(), &format!("{name}/"), depth + 1, entries);
            }
            entries.push(Entry { name, size: found.len(), is_folder: true });
        }
    }
}

/// A size as the contract writes it: `512B`, `1.5K`, `2M`.
fn shown_size(bytes: u64) -> String {
    let unit = (u64::BITS - bytes.leading_zeros()).saturating_sub(1) / 10;
    let unit = unit.min(3);
    let size = bytes as f64 / (1u64 << (10 * unit)) as f64;
    let letter = ["B", "K", "M", "G"][unit as usize];
    match size.fract() == 0.0 {
        true => format!("{size}{letter}"),
        false => format!("{size:.1}{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_contract() {
        for (bytes, shown) in [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1536, "1.5K"),
            (4096, "4K"),
            (1 << 20, "1M"),
            ((1 << 20) + (1 << 19), "1.5M"),
            (5 << 30, "5G"),
            (3 << 40, "3072G"),
        ] {
            assert_eq!(shown_size(bytes), shown);
        }
    }
}
