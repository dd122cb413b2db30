//! Who asks for the page: the agent's session, its project, and whose words count for it.

use chrono::Duration;

use super::injected::Injected;
use crate::base::clock::Timestamp;
use crate::model::digest::{Digest, State};
use crate::model::trust::Trust;
use crate::store::Store;

/// Which session asks, and from where.
pub struct Asking<'a> {
    /// As the agent calls it; digests have `<flavor>:` before it.
    pub session: Option<&'a str>,
    /// What its project may be called in digests, the likeliest first.
    pub projects: &'a [String],
    /// Whose words count as its person's.
    pub trust: &'a Trust,
    pub now: Timestamp,
    /// How long a session is silent before it counts as over.
    pub open_for: Duration,
}

impl Asking<'_> {
    /// Whether a digest is of the session that asks: that is nothing new to it.
    pub fn is(&self, digest: &Digest) -> bool {
        self.is_source(&digest.source_id)
    }

    pub fn is_source(&self, source_id: &str) -> bool {
        self.session.is_some_and(|session| session == native(source_id))
    }

    /// Whether a project is the one that is worked on.
    pub fn is_here(&self, project: Option<&str>) -> bool {
        project.is_some_and(|name| self.projects.iter().any(|own| own.eq_ignore_ascii_case(name)))
    }

    /// Whether a session goes on at this moment. What its page said when it was written lapses by
    /// the clock, and an agent that said that it ended it is believed at once.
    pub fn is_going_on(&self, store: &Store, digest: &Digest) -> bool {
        let Some(last) = digest.content.ended.filter(|_| digest.state == State::Open) else {
            return false;
        };
        last + self.open_for > self.now
            && Injected::load(store, native(&digest.source_id))
                .ended()
                .is_none_or(|ended| ended < last)
    }
}

/// The agent's own id of a session.
fn native(source_id: &str) -> &str {
    source_id.split_once(':').map_or(source_id, |(_, native)| native)
}
