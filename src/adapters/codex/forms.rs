//! In which forms a log has what was said: as events, as items, or both.

use memchr::memmem;

use crate::adapters::jsonl::{self, Line, Lines};
use crate::error::{Context, Result};
use crate::model::session::{Log, Role};

/// Whether a log has events with prompts, and items with replies. Both stand near its beginning, so
/// this look ahead is short where it matters.
pub fn of_messages(log: &Log) -> Result<(bool, bool)> {
    let finder = |mark: &'static str| memmem::Finder::new(mark.as_bytes());
    let (events, items) = (finder("\"user_message\""), finder("\"assistant\""));
    let turn_items = finder("\"UserMessage\"");
    let (mut prompts, mut replies) = (false, false);
    for file in log.files.iter().filter(|file| file.role == Role::Main) {
        let cannot_read = || format!("cannot read the log `{}`", file.path.display());
        let mut lines = Lines::new(jsonl::open(&file.path).context(cannot_read)?);
        // A fault is named when the log is read in earnest.
        while let (false, Ok(Some((_, line)))) = (prompts && replies, lines.next()) {
            if let Line::Bytes { bytes, .. } = line {
                prompts |= events.find(bytes).or(turn_items.find(bytes)).is_some();
                replies |= items.find(bytes).is_some();
            }
        }
    }
    Ok((prompts, replies))
}
