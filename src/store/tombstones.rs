//! Tombstones: what was forgotten, by id and hash alone, so that no sweep and no sync brings it
//! back.
//!
//! `forgotten.md` is synced. A session has a line with its id and the hash of the agent's own id; a
//! log of which only a text was forgotten has a line without an id. Nothing here tells what was
//! said.

use std::collections::HashSet;
use std::io;

use chrono::NaiveDate;

use super::layout::Layout;
use crate::base::files;
use crate::model::ids::SessionId;

/// What stands above the list.
const HEADER: &str = "\
# Forgotten

What was removed from this memory for good: ids and hashes, nothing of what it said. No sweep and no sync brings it
back while its line is here; take a line away to let its log in again.

";

/// How the line for a text begins that no log held.
const TEXT: &str = "- a text";

/// What a memory has forgotten.
#[derive(Debug, Default)]
pub struct Tombstones {
    sessions: HashSet<SessionId>,
    /// Hashes, as [`source_hash`] makes them.
    sources: HashSet<String>,
    /// Whether a text was forgotten that no log held.
    text: bool,
}

/// One line of the list.
#[derive(Debug, Clone)]
pub struct Tombstone {
    /// The session that is gone; `None` where only a text of it is.
    pub session: Option<SessionId>,
    /// The agent's own id, of which only the hash is written; `None` where nobody knew it.
    pub source_id: Option<String>,
    pub on: NaiveDate,
}

impl Tombstones {
    /// Reads the list. Whatever a person or a merge did to its lines, ids and hashes are found in
    /// them.
    pub fn load(layout: &Layout) -> io::Result<Tombstones> {
        let text = files::if_exists(files::read_to_string(layout.forgotten()))?;
        Ok(Tombstones::parse(&text.unwrap_or_default()))
    }

    fn parse(text: &str) -> Tombstones {
        let mut tombstones = Tombstones {
            text: text.lines().any(|line| line.starts_with(TEXT)),
            ..Tombstones::default()
        };
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')) {
            if let Ok(session) = word.parse() {
                tombstones.sessions.insert(session);
            } else if word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                tombstones.sources.insert(word.to_ascii_lowercase());
            }
        }
        tombstones
    }

    /// The sessions that are gone for good.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.sessions.iter()
    }

    /// Whether this session is gone for good.
    pub fn has_session(&self, session: &SessionId) -> bool {
        self.sessions.contains(session)
    }

    /// Whether nothing is to be captured from this source again.
    pub fn has_source(&self, source_id: &str) -> bool {
        !self.sources.is_empty() && self.sources.contains(&source_hash(source_id))
    }

    /// All of them in order, one line for each id and each hash.
    pub fn lines(&self) -> Vec<String> {
        let ids = self.sessions.iter().map(SessionId::to_string);
        let text = self.text.then(|| TEXT.to_string());
        let mut lines: Vec<String> = ids.chain(self.sources.iter().cloned()).chain(text).collect();
        lines.sort();
        lines
    }

    /// Whether nothing was ever forgotten.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.sources.is_empty() && !self.text
    }
}

impl Tombstone {
    /// The line for a text that no log held.
    pub fn of_text(on: NaiveDate) -> Tombstone {
        Tombstone { session: None, source_id: None, on }
    }
}

/// Adds lines to the list; those that are there already are not repeated.
pub fn add(layout: &Layout, new: &[Tombstone]) -> io::Result<()> {
    let changed = files::update_locked(&layout.replacing(), &layout.forgotten(), |now| {
        let before = String::from_utf8_lossy(now);
        // One of whom no more is known by now has its line already.
        let known = Tombstones::parse(&before);
        let is_news = |stone: &&Tombstone| {
            stone.source_id.is_some()
                || !stone.session.as_ref().is_some_and(|session| known.has_session(session))
        };
        let mut missing: Vec<String> = new.iter().filter(is_news).map(line).collect();
        // The day does not matter: what is gone is gone.
        let key = |line: &str| {
            line.rsplit_once(" on ").map_or(line.to_string(), |(key, _)| key.to_string())
        };
        let there: HashSet<String> = before.lines().map(key).collect();
        missing.retain(|line| !there.contains(&key(line)));
        if missing.is_empty() {
            return Ok(None);
        }
        let mut text = if before.is_empty() { HEADER.to_string() } else { before.to_string() };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        missing.iter().for_each(|line| text.extend([line, "\n"]));
        Ok(Some(text.into_bytes()))
    });
    changed.map(drop)
}

fn line(tombstone: &Tombstone) -> String {
    let mut line = match (&tombstone.session, &tombstone.source_id) {
        (None, None) => TEXT.to_string(),
        _ => "-".to_string(),
    };
    if let Some(session) = &tombstone.session {
        line.push_str(&format!(" {session}"));
    }
    if let Some(source_id) = &tombstone.source_id {
        line.push_str(&format!(" source {}", source_hash(source_id)));
    }
    line + &format!(" on {}", tombstone.on)
}

/// The hash under which a source is remembered: of its id and a word of ours, so that no other list
/// has the same one.
fn source_hash(source_id: &str) -> String {
    files::sha256_hex(format!("memtree/forgotten/{source_id}").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_tombstone_holds_and_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        assert!(Tombstones::load(&layout).unwrap().is_empty());
        let session: SessionId = "SES3_laptop_SP1C2".parse().unwrap();
        let on = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
        let whole = Tombstone {
            session: Some(session.clone()),
            source_id: Some("claude:my-id".into()),
            on,
        };
        let text = Tombstone { session: None, source_id: Some("codex:other".into()), on };
        add(&layout, &[whole.clone(), text.clone()]).unwrap();
        let written = fs::read_to_string(layout.forgotten()).unwrap();
        add(&layout, &[text, Tombstone { on: on.succ_opt().unwrap(), ..whole }]).unwrap();
        assert_eq!(fs::read_to_string(layout.forgotten()).unwrap(), written);
        assert!(!written.contains("my-id") && !written.contains("other"), "{written}");
        let tombstones = Tombstones::load(&layout).unwrap();
        assert!(tombstones.has_session(&session) && tombstones.has_source("claude:my-id"));
        assert!(tombstones.has_source("codex:other") && !tombstones.has_source("codex:my-id"));
        assert_eq!(tombstones.sessions().count(), 1);
    }
}
