//! From logs to staged sessions: what is where and whose ([`sources`]), what the tree has
//! ([`known`]), a session's copy, pages and facts ([`stage`], [`recorder`], [`folder`]), and how a
//! batch takes its place in the tree ([`commit`]).
//!
//! It works with plain values: a verb puts [`CaptureSettings`] together from its memory.

use std::collections::BTreeMap;

use chrono::Duration;

use crate::base::clock::Timestamp;
use crate::base::zone::Zone;
use crate::distill::clean::Cleaner;
use crate::model::digest::Content;
use crate::model::exclude::Exclude;
use crate::model::ids::{Device, SessionId};
use crate::model::trust::{Standing, Trust};
use crate::store::Store;

pub mod again;
pub mod commit;
pub mod cursors;
pub mod fingerprint;
pub mod folder;
pub mod found;
pub mod held;
pub mod known;
pub mod parts;
pub mod raw;
pub mod recorder;
pub mod rescue;
pub mod sources;
pub mod stage;
mod vitals;

/// What capturing needs to know.
pub struct CaptureSettings<'a> {
    pub store: &'a Store,
    pub device: &'a Device,
    pub now: Timestamp,
    pub zone: Zone,
    /// A session is open while its last event is younger than this.
    pub open_for: Duration,
    /// Whether each session also gets an event log.
    pub event_logs: bool,
    pub pages: PageSettings<'a>,
    /// What was captured here, and whom the person trusts.
    pub trust: Trust,
}

impl CaptureSettings<'_> {
    /// Whether a session is this device's to write: it was captured here, or this device went on
    /// with it, and no other one did since.
    pub fn writes(&self, session: &SessionId, adopted_by: Option<&Device>) -> bool {
        let standing = match adopted_by {
            Some(device) => self.trust.of(device),
            None => self.trust.of_session(session),
        };
        standing == Standing::Own
    }

    /// Whom a session's page names as the one who goes on with it, when this device writes it.
    pub fn adopter(&self, session: &SessionId) -> Option<Device> {
        let was_adopted = || {
            let digest = self.store.digest(session).ok().flatten();
            digest.is_some_and(|digest| digest.adopted_by.is_some())
        };
        (session.device != *self.device || was_adopted()).then(|| self.device.clone())
    }
}

/// How pages are written.
pub struct PageSettings<'a> {
    pub cleaner: &'a Cleaner,
    pub inline_lines: usize,
    /// Which sessions get none.
    pub exclude: Exclude,
    /// Which sessions get none until the person decides.
    pub held_back: Exclude,
    /// Which domain a project belongs to.
    pub domains: &'a BTreeMap<String, String>,
    /// Whose midnight parts the days.
    pub zone: Zone,
}

impl PageSettings<'_> {
    /// The settings that hold sessions back, as one text.
    pub fn held_key(&self) -> String {
        format!("held back:\n{}", self.held_back.key())
    }

    /// The domain of a project.
    fn domain(&self, project: Option<&str>) -> Option<String> {
        self.domains.get(project?).cloned()
    }

    /// What the distiller says, with what only the settings know.
    pub fn settled(&self, content: Content) -> Content {
        let domain = self.domain(content.project.as_deref());
        let day = |at: Timestamp| at.with_timezone(&self.zone).format("%Y-%m-%d").to_string();
        Content { domain, date: content.ended.map(day).unwrap_or_default(), ..content }
    }

    /// Whether a file's name holds a secret: then no page may repeat it.
    pub fn is_secret(&self, name: &str) -> bool {
        !self.cleaner.redactor().find(name).is_empty()
    }
}
