//! The decision sink: a program of the person's own that gets every decision as a line of JSON.
//! What it does not take waits in a queue and is sent again, in order.

use serde_json::json;

use super::inbox::InboxItem;
use crate::base::files;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::models;
use crate::store::pattern::reviews::Decision;

impl Memory {
    /// Puts a decision into the queue, where a program wants to know.
    pub(super) fn queue_decision(&self, item: &InboxItem, decision: &Decision) -> Result<()> {
        if self.settings().review.sink.is_empty() {
            return Ok(());
        }
        let line = json!({
            "title": item.title,
            "item": decision.item,
            "action": decision.action,
            "rationale": decision.why,
            "evidence": item.evidence,
            "decided_by": decision.device,
            "at": decision.at,
        });
        files::append_locked(&self.layout().decisions_queue(), &line.to_string())
            .context(|| self.store().cannot_write())
    }

    /// Sends what is queued, in order, until one is not taken; returns how many are left.
    pub(super) fn flush_decisions(&self) -> Result<usize> {
        let (words, path) = (&self.settings().review.sink, self.layout().decisions_queue());
        let text = files::if_exists(files::read_to_string(&path));
        let text = text.context(|| "cannot read the queue of decisions".into())?;
        let Some(text) = text.filter(|_| !words.is_empty()) else { return Ok(0) };
        let mut left: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let before = left.len();
        while let Some(line) = left.first() {
            if models::hand_over(words, &self.environment().places.home, line).is_err() {
                break;
            }
            left.remove(0);
        }
        if left.len() < before {
            let rest: String = left.iter().map(|line| format!("{line}\n")).collect();
            files::write_atomic(&path, rest.as_bytes()).context(|| self.store().cannot_write())?;
        }
        Ok(left.len())
    }
}
