//! Pinning: a session is kept from eviction.

use serde::Serialize;

use crate::base::files;
use crate::base::front_matter::Document;
use crate::base::setters::setters;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::recall;
use crate::store::{Store, authored, digest};

/// Which sessions to pin, or not any longer.
#[derive(Debug, Clone, Default)]
pub struct PinRequest {
    /// By their ids, their paths, or their places among the last search's hits.
    pub sessions: Vec<String>,
    /// Whether they may go again.
    pub remove: bool,
    /// Whether it only says what would be done.
    pub dry_run: bool,
}

setters!(PinRequest { sessions: Vec<String>, remove: bool, dry_run: bool });

/// What was done.
#[derive(Debug, Serialize)]
pub struct PinReport {
    pub sessions: Vec<PinnedSession>,
}

/// One session.
#[derive(Debug, Serialize)]
pub struct PinnedSession {
    pub session: SessionId,
    pub pinned: bool,
    /// Whether it was not so before.
    pub changed: bool,
}

impl Memory {
    /// Keeps sessions from eviction, or no longer.
    pub fn pin(&self, request: PinRequest) -> Result<PinReport> {
        let (store, pinned) = (self.store(), !request.remove);
        let mut sessions = Vec::new();
        for reference in &request.sessions {
            let session = recall::session_named(store, reference)?;
            if !files::is_file(store.layout().digest(&session)) {
                return Err(Error::not_found(format!("there is no session `{session}`"))
                    .hint("`memtree search` shows what there is"));
            }
            let changed = !request.dry_run && pin(store, &session, pinned)?;
            sessions.push(PinnedSession { session, pinned, changed });
        }
        Ok(PinReport { sessions })
    }
}

/// Keeps a session from eviction, or no longer; returns whether that changed anything.
fn pin(store: &Store, session: &SessionId, pinned: bool) -> Result<bool> {
    let layout = store.layout();
    let path = layout.digest(session);
    let cannot = || format!("cannot pin `{session}`");
    store.refuse_links(Some(session))?;
    let _lock = store.lock()?;
    let text = files::read_to_string(&path).context(cannot)?;
    if digest::is_pinned(&text) == pinned {
        return Ok(false);
    }
    // What may go by now is for the next sweep to find out.
    files::remove_file(&layout.sweep_fingerprint()).context(cannot)?;
    let pin = |text: &str| {
        let mut document = Document::parse(text);
        match pinned {
            _ if digest::is_pinned(text) == pinned => {}
            true => drop(document.set_raw(digest::PINNED, "true")),
            false => drop(document.remove(digest::PINNED)),
        }
        document.into_text()
    };
    authored::replace(layout, &path, |now| now.map(pin)).context(cannot)
}
