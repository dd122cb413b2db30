//! What the tree has: its sessions by the agents' own ids, and what sweeps remember of them.

use std::collections::{HashMap, HashSet};

use super::CaptureSettings;
use super::cursors::{Cursors, SessionCursor};
use crate::base::files::{self, Stamp};
use crate::base::front_matter::Document;
use crate::model::digest::State;
use crate::model::ids::SessionId;
use crate::model::session::Source;
use crate::model::trust::Standing;
use crate::store::{Store, layout, snapshots};

/// The sessions that the tree holds.
#[derive(Default)]
pub struct Known {
    pub cursors: Cursors,
    /// By the agents' own ids.
    sessions: HashMap<String, KnownSession>,
    ids: HashSet<SessionId>,
    /// How much the snapshots take that have no digest, or none that can be read.
    loose_bytes: u64,
    /// The number that the next session gets, once it was asked for.
    next_ordinal: Option<u32>,
}

/// A session of the tree.
pub struct KnownSession {
    pub id: SessionId,
    /// Whether its digest is there.
    pub digested: bool,
    /// Whether it was captured here.
    pub own: bool,
}

impl Known {
    /// Learns which sessions are there: from the cursors, and from the digests that they do not
    /// know.
    pub fn load(settings: &CaptureSettings<'_>, digests: Vec<(SessionId, Stamp)>) -> Known {
        let store = settings.store;
        let mut known =
            Known { cursors: Cursors::load(&store.layout().cursors()), ..Known::default() };
        for (id, _) in digests {
            known.ids.insert(id.clone());
            let source_id = match known.cursors.session(&id) {
                Some(cursor) => cursor.source_id.clone(),
                None => match cursor_of(settings, &id) {
                    Some(cursor) => {
                        let source_id = cursor.source_id.clone();
                        known.cursors.remember_session(&id, cursor);
                        source_id
                    }
                    // Damaged by hand: it keeps its id, but nothing is known of its source.
                    None => {
                        known.loose_bytes += snapshots::bytes(&store.layout().snapshot(&id));
                        continue;
                    }
                },
            };
            let own = settings.trust.of_session(&id) == Standing::Own;
            known.add(source_id, KnownSession { id, digested: true, own });
        }
        let Known { ids, cursors, .. } = &mut known;
        cursors.keep_sessions(|id| ids.contains(id));
        known.add_orphans(settings);
        known
    }

    /// The session that holds a source.
    pub fn session(&self, source_id: &str) -> Option<&KnownSession> {
        self.sessions.get(source_id)
    }

    /// How many of these sources are held by sessions that another device captured.
    pub fn left_to_others(&self, sources: &[Source]) -> usize {
        let is_left = |source: &&Source| {
            self.session(&source.source_id()).is_some_and(|session| self.is_left_to_others(session))
        };
        sources.iter().filter(is_left).count()
    }

    /// Whether a session was captured elsewhere, and nobody went on with it here.
    pub fn is_left_to_others(&self, session: &KnownSession) -> bool {
        let cursor = self.cursors.session(&session.id);
        !session.own && cursor.is_none_or(|cursor| cursor.raw_since.is_none())
    }

    /// Lets a session be captured anew from its log, whatever that looks like.
    pub fn capture_anew(&mut self, source_id: &str) {
        if let Some(session) = self.sessions.get_mut(source_id) {
            session.digested = false;
        }
    }

    /// How much all snapshots take.
    pub fn in_use_bytes(&self) -> u64 {
        self.cursors.bytes() + self.loose_bytes
    }

    /// The id under which a source is committed: its session's, or a new one.
    pub fn id_for(&mut self, source_id: &str, settings: &CaptureSettings<'_>) -> SessionId {
        if let Some(session) = self.sessions.get(source_id) {
            return session.id.clone();
        }
        let (store, device) = (settings.store, settings.device);
        let next = self.next_ordinal.unwrap_or_else(|| store.next_ordinal(device, self.ids.iter()));
        self.next_ordinal = Some(next + 1);
        SessionId::new(device.clone(), next)
    }

    /// A new id for a source, whatever other session claims to hold it.
    pub fn new_id(&mut self, source_id: &str, settings: &CaptureSettings<'_>) -> SessionId {
        self.sessions.remove(source_id);
        self.id_for(source_id, settings)
    }

    /// Notes a session. Where two devices captured the same one, this device's own counts here.
    fn add(&mut self, source_id: String, session: KnownSession) {
        if self.sessions.get(&source_id).is_none_or(|before| !before.own) {
            self.sessions.insert(source_id, session);
        }
    }

    /// Notes the snapshots whose digest somebody removed: their ids are taken, and they get their
    /// digest again.
    fn add_orphans(&mut self, settings: &CaptureSettings<'_>) {
        let store = settings.store;
        for id in store.session_ids().unwrap_or_default() {
            let snapshot = store.layout().snapshot(&id);
            if self.ids.contains(&id) || !files::exists(&snapshot) {
                continue;
            }
            self.loose_bytes += snapshots::bytes(&snapshot);
            let source_id = source_id_in_vitals(store, &id);
            if let Some(source_id) = source_id.filter(|id| !self.sessions.contains_key(id)) {
                let own = settings.trust.of_session(&id) == Standing::Own;
                self.add(source_id, KnownSession { id: id.clone(), digested: false, own });
            }
            self.ids.insert(id);
        }
    }
}

/// What there is to remember of a session, from its digest; `None` where that cannot be read.
fn cursor_of(settings: &CaptureSettings<'_>, id: &SessionId) -> Option<SessionCursor> {
    let digest = settings.store.digest(id).ok().flatten()?;
    let own = settings.writes(id, digest.adopted_by.as_ref());
    let ended = digest.content.ended.unwrap_or_default();
    let snapshot = settings.store.layout().snapshot(id);
    Some(SessionCursor {
        source_id: digest.source_id,
        open_until: (digest.state == State::Open).then(|| ended + settings.open_for),
        bytes: if own { snapshots::bytes(&snapshot) } else { 0 },
        raw_since: (own && digest.snapshot.evicted.is_none()).then_some(digest.captured),
    })
}

/// The id of a session's source, where only its snapshot has it.
pub fn source_id_in_vitals(store: &Store, id: &SessionId) -> Option<String> {
    let path = store.layout().snapshot(id).join(layout::VITALS);
    let vitals = files::read_to_string(path).unwrap_or_default();
    Document::parse(&format!("---\n{vitals}---\n")).get_str("source_id")
}
