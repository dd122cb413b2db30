//! The file in which Codex keeps the titles of all sessions.

use std::io;
use std::path::Path;

use crate::adapters::jsonl::{Line, Lines};
use crate::adapters::shared::SessionList;
use crate::adapters::wire::{Text, wire_types};
use crate::base::files;

/// Its name, below the home of Codex.
pub const FILE: &str = "session_index.jsonl";

wire_types! {
    struct WireTitle<'a> {
        id: Text<'a>,
        thread_name: Text<'a>,
    }
}

/// Reads the file: the lines that name each session.
pub fn list(file: &Path) -> io::Result<SessionList> {
    let mut titles = SessionList::default();
    let mut lines = Lines::open(file)?;
    while let Some((_, line)) = lines.next()? {
        // A line that cannot be read is no session's; a title is no loss.
        if let Line::Bytes { bytes, .. } = line
            && let Ok(title) = serde_json::from_slice::<WireTitle>(bytes)
            && let Some(id) = title.id.some()
        {
            titles.add(id, bytes);
            titles.add(id, b"\n");
        }
    }
    Ok(titles)
}

/// The last title in a file of one session's lines.
pub fn last(path: &Path) -> Option<String> {
    let lines = files::read(path).ok()?;
    let titles = lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<WireTitle>(line).ok());
    titles.filter_map(|title| title.thread_name.owned()).next_back()
}
