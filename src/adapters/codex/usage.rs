//! Tokens, of which rollouts tell the totals again and again.

use super::wire::{WireInfo, WireUsage};

/// The total so far.
#[derive(Default)]
pub struct Totals(Option<WireUsage>);

impl Totals {
    /// What one request used; none where the same total is repeated, as when a rate limit is
    /// refreshed.
    pub fn spent(&mut self, info: &WireInfo) -> Option<WireUsage> {
        if info.total_token_usage.is_some() && info.total_token_usage == self.0 {
            return None;
        }
        // Totals also count requests that were broken off. They may go on from the parent's, so of
        // the first one only the last request is ours.
        let spent = match (self.0, info.total_token_usage, info.last_token_usage) {
            (Some(before), Some(total), _) if total.is_more_than(before) => total.since(before),
            (_, _, Some(last)) => last,
            (_, total, None) => total.unwrap_or_default(),
        };
        self.0 = info.total_token_usage.or(self.0);
        Some(spent)
    }
}
