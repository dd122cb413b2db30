//! Turns: when one was opened, and whether it was read before.
//!
//! `codex migrate-rollouts` writes a rollout anew in the paginated form. What was captured before
//! stays in raw and holds the same turns: of it only those are read that the new one lacks.

use std::collections::{HashMap, HashSet};

use crate::adapters::transcript::hash;

/// The turns that were read, each known by its prompt and how often that was said before.
#[derive(Default)]
pub struct Turns {
    known: HashSet<u64>,
    /// By prompt: how often it came up in the rollout at hand.
    seen: HashMap<u64, u32>,
    /// Whether the rollout at hand was migrated since.
    is_former: bool,
    is_repeated: bool,
}

impl Turns {
    /// Another rollout of the session begins.
    pub fn begin_rollout(&mut self, is_former: bool) {
        self.seen.clear();
        self.is_former = is_former;
        self.is_repeated = is_former;
    }

    /// A turn begins with this prompt; returns whether it was read before.
    pub fn begin(&mut self, prompt: &str) -> bool {
        let count = self.seen.entry(hash(prompt)).or_default();
        *count += 1;
        let is_new = self.known.insert(hash((prompt, *count)));
        self.is_repeated = self.is_former && !is_new;
        self.is_repeated
    }

    /// Whether what stands at this place was read before.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }
}

/// When a turn was opened, in milliseconds since 1970: its id is a UUID of version 7.
pub fn opened(id: &str) -> Option<i64> {
    let hex: String = id.chars().filter(|c| *c != '-').collect();
    (id.len() == 36 && id.as_bytes()[14] == b'7')
        .then(|| i64::from_str_radix(hex.get(..12)?, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_tell_time() {
        assert_eq!(opened("01a1ad1f-db7c-783c-a222-fc04bf907b5b"), Some(0x01a1_ad1f_db7c));
        assert_eq!(opened("turn-1"), None);
        assert_eq!(opened("fa1ac8bf-348e-4b9a-a06d-767050fa1e10"), None);
    }

    #[test]
    fn of_a_former_rollout_only_what_is_lacking_is_read() {
        let mut turns = Turns::default();
        turns.begin_rollout(false);
        assert!(!turns.is_repeated());
        assert!(["go on", "and this", "go on"].iter().all(|prompt| !turns.begin(prompt)));
        turns.begin_rollout(true);
        assert!(turns.is_repeated(), "what comes before the first prompt was read");
        let repeated = ["go on", "and this", "once only", "go on", "go on"];
        let repeated = repeated.map(|prompt| turns.begin(prompt));
        assert_eq!(repeated, [true, true, false, true, false]);
        turns.begin_rollout(false);
        assert!(!turns.begin("go on"), "a revert may say the same again");
    }
}
