//! Tombstones: what was forgotten, by id and hash alone, so that no sweep and no sync brings it
//! back.
//!
//! `forgotten.md` is synced. A session has a line with its id and the hash of the agent's own id; a
//! log of which only a text was forgotten has a line without an id. Nothing here tells what was
//! said.
//!
//! A line that this device did not write is a claim: whoever may push can write one, and the hash
//! can be computed. What was forgotten here, or was decided here about a claim, is noted below
//! `.memtree/local`; every other line only says what another device wants.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::layout::Layout;
use super::local::StateFile;
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::model::ids::{Device, SessionId};
use crate::model::trust::Trust;

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
    /// What is gone: forgotten here, in quarantine, or named by another device and not there.
    sessions: HashSet<SessionId>,
    /// Hashes, as [`source_hash`] makes them: of what was forgotten here or is in quarantine.
    sources: HashSet<String>,
    /// What was forgotten here, of `sessions`.
    carried: HashSet<SessionId>,
    /// What is in quarantine, of `sessions`.
    quarantined: HashSet<SessionId>,
    /// What other devices want to be gone.
    claims: Vec<Claim>,
    /// Whether a text was forgotten that no log held.
    text: bool,
}

/// A line of the list that another device wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub sessions: Vec<SessionId>,
    /// Hashes, as [`source_hash`] makes them.
    sources: Vec<String>,
    /// Who says that they wrote it.
    pub by: Option<Device>,
}

impl Claim {
    /// Whether it is about a source.
    pub fn is_about(&self, source_id: &str) -> bool {
        self.sources.contains(&source_hash(source_id))
    }
}

/// Which ids and hashes of the list were decided on here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Forgotten here, by a trusted device, or when their quarantine was over.
    carried: BTreeSet<String>,
    /// Let in again.
    undone: BTreeSet<String>,
    /// Those of the former whose line was in the list: it may have lost them since.
    #[serde(default)]
    listed: BTreeSet<String>,
}

impl Decided {
    fn file(layout: &Layout) -> StateFile<Decided> {
        StateFile::local(layout.own_tombstones())
    }

    /// Notes what is known where nothing was noted yet: nothing, or all of the list, where this
    /// device has carried it out before.
    pub fn begin(layout: &Layout, all: bool) -> io::Result<()> {
        let text = files::if_exists(files::read_to_string(layout.forgotten()))?.unwrap_or_default();
        let words = all.then(|| words(&text).into_iter().map(str::to_ascii_lowercase));
        let carried = words.into_iter().flatten().collect();
        Decided::file(layout).save(&Decided { carried, ..Decided::default() }).map(drop)
    }

    /// Notes that sessions and sources are forgotten here.
    pub fn carry(
        layout: &Layout,
        sessions: &[SessionId],
        source_ids: impl IntoIterator<Item = String>,
    ) -> io::Result<()> {
        Decided::change(
            layout,
            |decided, words| {
                decided.undone.retain(|word| !words.contains(word));
                decided.carried.extend(words);
            },
            sessions,
            source_ids,
        )
    }

    /// Notes that what others want to be gone stays.
    pub fn undo(layout: &Layout, session: &SessionId, source_id: &str) -> io::Result<()> {
        Decided::change(
            layout,
            |decided, words| {
                decided.carried.retain(|word| !words.contains(word));
                decided.undone.extend(words);
            },
            std::slice::from_ref(session),
            [source_id.to_string()],
        )
    }

    fn change(
        layout: &Layout,
        change: impl FnOnce(&mut Decided, BTreeSet<String>),
        sessions: &[SessionId],
        source_ids: impl IntoIterator<Item = String>,
    ) -> io::Result<()> {
        let file = Decided::file(layout);
        let mut decided = file.load();
        let ids = sessions.iter().map(|session| session.to_string().to_ascii_lowercase());
        let hashes = source_ids.into_iter().map(|source_id| source_hash(&source_id));
        change(&mut decided, ids.chain(hashes).collect());
        file.save(&decided).map(drop)
    }
}

/// A session that another device's tombstone took out of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    pub source_id: String,
    pub title: String,
    /// Who says that they forgot it.
    pub by: Option<Device>,
    pub since: Timestamp,
    /// Whether only a text of it was forgotten: then its page stays, and only what was captured
    /// lies here.
    #[serde(default)]
    pub text_only: bool,
    /// Whether nothing else in the tree tells of it any more.
    #[serde(default)]
    pub cleaned: bool,
    /// The pages that lost lines by it: their path in the memory, and their hash afterwards. What
    /// they were lies beside it, in this order.
    #[serde(default)]
    pub pages: Vec<(String, String)>,
}

/// What lies in quarantine.
pub type Quarantine = BTreeMap<SessionId, Quarantined>;

/// Where that is noted.
pub fn quarantine_file(layout: &Layout) -> StateFile<Quarantine> {
    StateFile::local(layout.quarantine_list())
}

/// The ids and hashes in a text, whatever stands around them.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    let is_hash =
        |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    words.filter(|word| is_hash(word) || word.parse::<SessionId>().is_ok()).collect()
}

/// The session that a word in small letters is the id of.
fn session_of_key(key: &str) -> Option<SessionId> {
    let (ordinal, rest) = key.split_once('_')?;
    let (device, place) = rest.rsplit_once('_')?;
    format!("{}_{device}_{}", ordinal.to_uppercase(), place.to_uppercase()).parse().ok()
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
        let text = files::if_exists(files::read_to_string(layout.forgotten()))?.unwrap_or_default();
        let decided = Decided::file(layout).load();
        let mut tombstones = Tombstones::parse(&text, &decided);
        tombstones.add_listed(&decided);
        for (session, entry) in quarantine_file(layout).load() {
            tombstones.sources.insert(source_hash(&entry.source_id));
            if !entry.text_only {
                tombstones.sessions.insert(session.clone());
                tombstones.quarantined.insert(session);
            }
        }
        // What is not there cannot be taken away: its id is taken, and nobody looks for it.
        let claimed = tombstones.claims.iter().flat_map(|claim| &claim.sessions);
        let gone: Vec<SessionId> =
            claimed.filter(|session| !files::exists(layout.session(session))).cloned().collect();
        tombstones.sessions.extend(gone);
        Ok(tombstones)
    }

    fn parse(text: &str, decided: &Decided) -> Tombstones {
        let mut tombstones = Tombstones {
            text: text.lines().any(|line| line.starts_with(TEXT)),
            ..Tombstones::default()
        };
        for line in text.lines() {
            let by = line.rsplit_once(" by ").map(|(_, name)| Device::new(name.trim()));
            let mut claim = Claim { sessions: Vec::new(), sources: Vec::new(), by };
            for word in words(line) {
                let key = word.to_ascii_lowercase();
                let counts = decided.carried.contains(&key);
                match word.parse::<SessionId>() {
                    Ok(session) if counts => {
                        tombstones.carried.insert(session.clone());
                        tombstones.sessions.insert(session);
                    }
                    Err(_) if counts => drop(tombstones.sources.insert(key)),
                    _ if decided.undone.contains(&key) => {}
                    Ok(session) => claim.sessions.push(session),
                    Err(_) => claim.sources.push(key),
                }
            }
            if !claim.sessions.is_empty() || !claim.sources.is_empty() {
                tombstones.claims.push(claim);
            }
        }
        tombstones
    }

    /// Adds what was decided here and what the list has lost, by a merge or a bad disk: nobody but
    /// `forget --undo` brings back what was forgotten.
    fn add_listed(&mut self, decided: &Decided) {
        let counts = |key: &&String| decided.carried.contains(*key);
        for key in decided.listed.iter().filter(counts) {
            match session_of_key(key) {
                Some(session) => {
                    self.carried.insert(session.clone());
                    self.sessions.insert(session);
                }
                None => drop(self.sources.insert(key.clone())),
            }
        }
    }

    /// Carries out what trusted devices forgot: their lines count here as if they were written
    /// here, where the source is the one that they mean. Says whether there was any.
    pub fn accept_trusted(
        &self,
        layout: &Layout,
        trust: &Trust,
        source_of: impl Fn(&SessionId) -> Option<String>,
    ) -> io::Result<bool> {
        let is_trusted =
            |claim: &&Claim| claim.by.as_ref().is_some_and(|device| trust.is_trusted(device));
        let (mut sessions, mut hashes) = (Vec::new(), Vec::new());
        for claim in self.claims.iter().filter(is_trusted) {
            let is_meant = |session: &&SessionId| {
                source_of(session).is_none_or(|source_id| claim.is_about(&source_id))
            };
            sessions.extend(claim.sessions.iter().filter(is_meant).cloned());
            hashes.extend(claim.sources.iter().cloned());
        }
        if sessions.is_empty() && hashes.is_empty() {
            return Ok(false);
        }
        let file = Decided::file(layout);
        let mut decided = file.load();
        let ids = sessions.iter().map(|session| session.to_string().to_ascii_lowercase());
        decided.carried.extend(ids.chain(hashes));
        file.save(&decided)
    }

    /// What other devices want to be gone, and nobody decided about here.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The sessions that were forgotten here, or are to be as if they were.
    pub fn carried(&self) -> impl Iterator<Item = &SessionId> {
        self.carried.iter()
    }

    /// The sessions in quarantine.
    pub fn quarantined(&self) -> impl Iterator<Item = &SessionId> {
        self.quarantined.iter()
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
        let claims = self.claims.iter().flat_map(|claim| {
            let ids = claim.sessions.iter().map(|session| format!("claimed {session}"));
            ids.chain(claim.sources.iter().map(|hash| format!("claimed {hash}")))
        });
        let own = ids.chain(self.sources.iter().cloned()).chain(text);
        let mut lines: Vec<String> = own.chain(claims).collect();
        lines.sort();
        lines
    }

    /// Whether nothing was ever forgotten.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.sources.is_empty() && !self.text && self.claims.is_empty()
    }
}

impl Tombstone {
    /// The line for a text that no log held.
    pub fn of_text(on: NaiveDate) -> Tombstone {
        Tombstone { session: None, source_id: None, on }
    }
}

/// Adds lines to the list in the name of this device; those that are there already are not
/// repeated.
pub fn add(layout: &Layout, new: &[Tombstone], by: &Device) -> io::Result<()> {
    let sessions: Vec<SessionId> = new.iter().filter_map(|stone| stone.session.clone()).collect();
    Decided::carry(layout, &sessions, new.iter().filter_map(|stone| stone.source_id.clone()))?;
    let changed = files::update_locked(&layout.replacing(), &layout.forgotten(), |now| {
        let before = String::from_utf8_lossy(now);
        // One of whom no more is known by now has its line already.
        let known: HashSet<&str> = words(&before).into_iter().collect();
        let is_news = |stone: &&Tombstone| {
            stone.source_id.is_some()
                || !stone
                    .session
                    .as_ref()
                    .is_some_and(|session| known.contains(session.to_string().as_str()))
        };
        let mut missing: Vec<String> =
            new.iter().filter(is_news).map(|stone| line(stone, by)).collect();
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
    changed?;
    let file = Decided::file(layout);
    let mut decided = file.load();
    let source_ids = new.iter().filter_map(|stone| stone.source_id.as_deref());
    decided.listed.extend(source_ids.map(source_hash));
    decided.listed.extend(sessions.iter().map(|id| id.to_string().to_ascii_lowercase()));
    file.save(&decided).map(drop)
}

fn line(tombstone: &Tombstone, by: &Device) -> String {
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
    line + &format!(" on {} by {by}", tombstone.on)
}

/// The hash under which a source is remembered: of its id and a word of ours, so that no other list
/// has the same one.
fn source_hash(source_id: &str) -> String {
    files::sha256_hex(format!("memtree/forgotten/{source_id}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_holds_and_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (layout, desk) = (Layout::new(folder.path()), Device::new("desk"));
        assert!(Tombstones::load(&layout).unwrap().is_empty());
        let session: SessionId = "SES3_laptop_SP1C2".parse().unwrap();
        let on = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
        let whole = Tombstone {
            session: Some(session.clone()),
            source_id: Some("claude:my-id".into()),
            on,
        };
        let text = Tombstone { session: None, source_id: Some("codex:other".into()), on };
        add(&layout, &[whole.clone(), text.clone()], &desk).unwrap();
        let written = files::read_to_string(layout.forgotten()).unwrap();
        add(&layout, &[text, Tombstone { on: on.succ_opt().unwrap(), ..whole }], &desk).unwrap();
        assert_eq!(files::read_to_string(layout.forgotten()).unwrap(), written);
        assert!(!written.contains("my-id") && !written.contains("other"), "{written}");
        let tombstones = Tombstones::load(&layout).unwrap();
        assert!(tombstones.has_session(&session) && tombstones.has_source("claude:my-id"));
        assert!(tombstones.has_source("codex:other") && !tombstones.has_source("codex:my-id"));
        assert_eq!(tombstones.sessions().count(), 1);
        assert!(tombstones.claims().is_empty() && written.contains(" on 2026-11-16 by desk\n"));
    }

    #[test]
    fn a_line_that_was_not_written_here_is_a_claim() {
        let folder = tempfile::tempdir().unwrap();
        let (layout, on) =
            (Layout::new(folder.path()), NaiveDate::from_ymd_opt(2026, 11, 16).unwrap());
        let [here, away]: [SessionId; 2] =
            ["SES1_desk_SP1C1", "SES2_desk_SP1C1"].map(|id| id.parse().unwrap());
        files::create_folder(&layout.session(&here)).unwrap();
        let stone = |session: &SessionId| Tombstone {
            session: Some(session.clone()),
            source_id: Some(format!("claude:{session}")),
            on,
        };
        let lap = Device::new("lap");
        add(&layout, &[stone(&here), stone(&away)], &lap).unwrap();
        // As if it had come from elsewhere.
        Decided::begin(&layout, false).unwrap();
        let load = || Tombstones::load(&layout).unwrap();
        let tombstones = load();
        assert!(!tombstones.has_session(&here) && tombstones.has_session(&away));
        assert!(!tombstones.has_source("claude:SES1_desk_SP1C1"));
        let claim = &tombstones.claims()[0];
        assert!(claim.is_about("claude:SES1_desk_SP1C1") && claim.by == Some(lap.clone()));
        // In its own name nobody can be believed; a trusted one is, about the source that it means.
        let source = |id: &SessionId| (*id == here).then(|| "claude:other".to_string());
        let nobody = Trust::default();
        assert!(!tombstones.accept_trusted(&layout, &nobody, source).unwrap());
        let trust = Trust::new([], Default::default(), [lap], []);
        assert!(tombstones.accept_trusted(&layout, &trust, source).unwrap());
        assert!(!load().has_session(&here) && load().has_source("claude:SES1_desk_SP1C1"));
        Decided::undo(&layout, &here, "claude:SES1_desk_SP1C1").unwrap();
        assert!(!load().has_source("claude:SES1_desk_SP1C1"));
        Decided::begin(&layout, true).unwrap();
        assert!(load().has_session(&here) && load().claims().is_empty());
    }
}
