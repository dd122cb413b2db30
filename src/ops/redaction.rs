//! With which rules the pages of a memory were redacted: a newer program knows more secrets, and
//! what it wrote earlier may hold some of them.

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::store::local::StateFile;

/// What is remembered of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedactionState {
    /// The rules with which everything was written, or which the person was told of.
    rules: String,
    /// Whether there are pages that were written with earlier ones.
    older: bool,
}

impl RedactionState {
    fn file(memory: &Memory) -> StateFile<RedactionState> {
        StateFile::local(memory.layout().redaction())
    }
}

/// Notes the present rules after a sweep that captured so many sessions; says how many were
/// captured with earlier ones, the first time that there are such.
pub fn note_sweep(memory: &Memory, captured: usize) -> Result<Option<usize>> {
    let (file, rules) = (RedactionState::file(memory), memory.redactor()?.version());
    let before = file.load();
    if before.rules == rules {
        return Ok(None);
    }
    let sessions = memory.store().session_ids().context(|| "cannot list the sessions".into())?;
    let own = sessions.iter().filter(|id| id.device == *memory.device()).count();
    let earlier = own.saturating_sub(captured);
    file.save(&RedactionState { rules, older: before.older || earlier > 0 })
        .context(|| memory.store().cannot_write())?;
    Ok((earlier > 0).then_some(earlier))
}

/// Whether there are pages that were written with earlier rules.
pub fn has_older(memory: &Memory) -> bool {
    RedactionState::file(memory).load().older
}

/// Notes that every page was written with the present rules.
pub fn note_all_written(memory: &Memory) -> Result<()> {
    let state = RedactionState { rules: memory.redactor()?.version(), older: false };
    RedactionState::file(memory).save(&state).map(drop).context(|| memory.store().cannot_write())
}
