//! The file in which Codex keeps the titles of all sessions.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::adapters::jsonl::{Line, Lines};
use crate::adapters::shared::{Shared, SharedSession};
use crate::adapters::wire::{Text, wire_types};
use crate::base::files;
use crate::model::session::Role;

/// Its name, below the home of Codex.
pub const FILE: &str = "session_index.jsonl";

wire_types! {
    struct WireTitle<'a> {
        id: Text<'a>,
        thread_name: Text<'a>,
    }
}

/// The lines of the titles' file, by the session that they name.
#[derive(Default)]
pub struct Titles(BTreeMap<String, Vec<u8>>);

impl Titles {
    /// Reads the file.
    pub fn open(file: &Path) -> io::Result<Titles> {
        let mut titles = Titles::default();
        let mut lines = Lines::open(file)?;
        while let Some((_, line)) = lines.next()? {
            // A line that cannot be read is no session's; a title is no loss.
            if let Line::Bytes { bytes, .. } = line
                && let Ok(title) = serde_json::from_slice::<WireTitle>(bytes)
                && let Some(id) = title.id.some()
            {
                let lines = titles.0.entry(id.to_string()).or_default();
                lines.extend_from_slice(bytes);
                lines.push(b'\n');
            }
        }
        Ok(titles)
    }
}

impl Shared for Titles {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let sessions = self.0.iter().map(|(id, lines)| SharedSession {
            native_id: id.clone(),
            revision: files::sha256_hex(lines)[..16].to_string(),
            role: Role::Attachment,
            lineage: None,
            parent: None,
        });
        Ok(sessions.collect())
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.0.get(native_id).map_or(&[], Vec::as_slice))
    }
}

/// The last title in a file of one session's lines.
pub fn last(path: &Path) -> Option<String> {
    let lines = files::read(path).ok()?;
    let titles = lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<WireTitle>(line).ok());
    titles.filter_map(|title| title.thread_name.owned()).next_back()
}
