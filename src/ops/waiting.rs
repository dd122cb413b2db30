//! Which sessions wait for a model: this device's own list, `.memtree/local/queue/digests.json`.
//!
//! It spares reading every digest at each sweep. Where it is lost, the digests' `made_by` tells the
//! same.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::model::ids::SessionId;
use crate::store::layout::Layout;
use crate::store::local::StateFile;

/// The sessions that wait, with how often each was asked about in vain.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct DigestQueue {
    sessions: BTreeMap<SessionId, u32>,
}

/// After so many sweeps a question that finds no answer is given up, until its session grows or
/// somebody asks.
const MOST_TIMES: u32 = 3;

impl DigestQueue {
    /// Where the list lies.
    pub fn file(layout: &Layout) -> StateFile<DigestQueue> {
        StateFile::local(layout.waiting())
    }

    /// Changes the list. Only who holds the sweep's lock does it.
    pub fn change(layout: &Layout, change: impl FnOnce(&mut DigestQueue)) -> io::Result<()> {
        let mut waiting = DigestQueue::file(layout).load();
        change(&mut waiting);
        DigestQueue::file(layout).save(&waiting).map(drop)
    }

    /// Forgets the list: without a model nobody waits.
    pub fn forget(layout: &Layout) -> io::Result<()> {
        let file = DigestQueue::file(layout);
        if file.is_saved() { file.remove() } else { Ok(()) }
    }

    /// The sessions, in order.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &SessionId> {
        self.sessions.keys()
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Keeps only some of them.
    pub fn retain(&mut self, keep: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|id, _| keep(id));
    }

    /// Lets sessions wait, as if they had never been asked about.
    pub fn add<'s>(&mut self, sessions: impl Iterator<Item = &'s SessionId>) {
        self.sessions.extend(sessions.map(|id| (id.clone(), 0)));
    }

    /// A session has its answer.
    pub fn done(&mut self, id: &SessionId) {
        self.sessions.remove(id);
    }

    /// A session has no answer; `at_fault` says that others might have had one.
    pub fn unanswered(&mut self, id: &SessionId, at_fault: bool) {
        let times = self.sessions.entry(id.clone()).or_default();
        *times += u32::from(at_fault);
        if *times >= MOST_TIMES {
            self.sessions.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_an_answer_is_given_up_at_last() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let ids: Vec<SessionId> =
            ["SES1_desk_SP1C1", "SES2_desk_SP1C1"].iter().map(|id| id.parse().unwrap()).collect();
        assert!(!DigestQueue::file(&layout).is_saved());
        DigestQueue::change(&layout, |all| all.add(ids.iter())).unwrap();
        for _ in 0..5 {
            DigestQueue::change(&layout, |all| all.unanswered(&ids[0], false)).unwrap();
        }
        assert_eq!(DigestQueue::file(&layout).load().len(), 2);
        for left in [2, 2, 1] {
            DigestQueue::change(&layout, |all| all.unanswered(&ids[0], true)).unwrap();
            assert_eq!(DigestQueue::file(&layout).load().len(), left);
        }
        DigestQueue::change(&layout, |all| all.done(&ids[1])).unwrap();
        assert!(
            DigestQueue::file(&layout).is_saved()
                && DigestQueue::file(&layout).load().sessions().next().is_none()
        );
        DigestQueue::forget(&layout).unwrap();
        DigestQueue::forget(&layout).unwrap();
        assert!(!DigestQueue::file(&layout).is_saved());
    }
}
