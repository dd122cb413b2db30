//! What the last sessions of a project did, decided and left open.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use super::asking::Asking;
use super::lines::{DigestLines, day_of, quoted};
use super::page::{Line, Section};
use super::stale::EvidenceChecker;
use crate::base::{markdown, text};
use crate::index::Index;
use crate::model::digest::{ClaimKind, Digest, Outcome, Worth};
use crate::model::ids::SessionId;
use crate::store::Store;

/// How many sessions of a project are shown.
const SESSIONS: usize = 5;
/// How many decisions, outcomes, lessons and loose ends of each.
const DECISIONS: usize = 2;
const OUTCOMES: usize = 2;
const LESSONS: usize = 1;
const OPEN: usize = 2;
/// How many loose ends of all of them stand together.
const MOST_OPEN: usize = 4;

/// Makes the lines that tell of sessions.
pub struct SessionLines<'a> {
    pub store: &'a Store,
    pub asking: &'a Asking<'a>,
    pub checker: &'a EvidenceChecker,
}

impl SessionLines<'_> {
    /// What the last sessions of the project left open, those sessions, and which they are.
    pub fn last(&self, index: Option<&Index>) -> ([Section; 2], BTreeSet<SessionId>) {
        let projects = self.asking.projects;
        let mut digests: Vec<Digest> = match index {
            Some(index) => projects
                .iter()
                .flat_map(|project| index.latest(project, 4 * SESSIONS).unwrap_or_default())
                .filter_map(|session| self.store.digest(&session).ok().flatten())
                .collect(),
            None => newest(self.store),
        };
        digests.retain(|digest| self.asking.is_here(digest.content.project.as_deref()));
        digests.retain(|digest| digest.content.worth == Worth::Full && !self.asking.is(digest));
        digests.sort_by(in_order);
        digests.dedup_by(|a, b| a.session == b.session);
        // The same job again, such as a check that runs every hour, is shown once.
        let mut titles = HashSet::new();
        let alike: BTreeSet<SessionId> =
            digests.iter().map(|digest| digest.session.clone()).collect();
        digests
            .retain(|digest| titles.insert((digest.content.title.clone(), digest.content.status)));
        let dropped = alike.iter().filter(|id| digests.iter().all(|one| one.session != **id));
        let mut shown: BTreeSet<SessionId> = dropped.cloned().collect();
        // What came to nothing says least to whoever goes on.
        digests.sort_by_key(came_to_nothing);
        digests.truncate(SESSIONS);
        shown.extend(digests.iter().map(|digest| digest.session.clone()));
        let open = digests.iter().flat_map(|digest| self.open(digest)).take(MOST_OPEN).collect();
        let open =
            Section { heading: "Left open".into(), lines: open, share: 10, last_first: false };
        let lines = digests.iter().flat_map(|digest| self.lines(digest)).collect();
        let heading = match projects.first() {
            Some(project) => format!("Last sessions of {}", markdown::heading(project)),
            None => "Last sessions".into(),
        };
        ([open, Section { heading, lines, share: 30, last_first: false }], shown)
    }

    /// What a session states as open, with its day.
    fn open(&self, digest: &Digest) -> Vec<Line> {
        let of = DigestLines { digest, trust: self.asking.trust, checker: self.checker };
        let stated = digest.content.stated.iter().filter(|claim| claim.kind == ClaimKind::Open);
        let lines = stated.filter_map(|claim| of.claim(claim)).take(OPEN);
        lines
            .map(|line| Line { text: format!("{}{}", day_of(digest), line.text), ..line })
            .collect()
    }

    /// One session: what it was, what was decided, what came of it, what was learnt and left open.
    pub fn lines(&self, digest: &Digest) -> Vec<Line> {
        let content = &digest.content;
        let of = DigestLines { digest, trust: self.asking.trust, checker: self.checker };
        let going_on = self.asking.is_going_on(self.store, digest);
        let status = if going_on { "going on now".into() } else { content.status.to_string() };
        // Titles are the agent's words, or those of a commit, a file, a page that was read.
        let is_order = text::is_standing_order(&content.title)
            || (!of.is_own() && text::is_order(&content.title));
        let title = match is_order {
            true => "a session".to_string(),
            false => quoted(&content.title),
        };
        let head = format!("{}{}, {status}: {title}", day_of(digest), content.flavor);
        let claims = |kind: ClaimKind, most: usize| {
            let claims = content.stated.iter().filter(move |claim| claim.kind == kind);
            claims.filter_map(|claim| of.claim(claim)).take(most)
        };
        let (open, done): (Vec<&String>, Vec<&String>) =
            content.key_outcomes.iter().partition(|outcome| outcome.starts_with("open: "));
        let outcomes = |list: Vec<&String>, most: usize| -> Vec<Line> {
            list.into_iter().filter_map(|outcome| of.outcome(outcome)).take(most).collect()
        };
        let mut below: Vec<Line> = claims(ClaimKind::Decision, DECISIONS).collect();
        let room = OUTCOMES + usize::from(below.is_empty());
        below.extend(outcomes(done, room));
        below.extend(claims(ClaimKind::Lesson, LESSONS));
        let open = outcomes(open, OPEN).into_iter().chain(claims(ClaimKind::Open, OPEN));
        below.extend(open.take(OPEN));
        let stopped = matches!(content.status, Outcome::Abandoned | Outcome::Fail);
        if let Some(last) = content.triggers.last().filter(|_| stopped || going_on) {
            let asked = format!("last asked: {}", quoted(&last.topic));
            below.push(Line::new(asked, format!("{}#{}", digest.session, last.episode)));
        }
        let head = Line::new(head, digest.session.to_string());
        let below = below.into_iter().map(|line| Line { below: true, ..line });
        [head].into_iter().chain(below).collect()
    }
}

/// Whether a session was left without an outcome and without a word for later.
fn came_to_nothing(digest: &Digest) -> bool {
    let content = &digest.content;
    content.status == Outcome::Abandoned
        && content.stated.is_empty()
        && content.key_outcomes.iter().all(|said| !said.contains(char::is_alphanumeric))
}

/// The order of sessions on the page: the last to end first.
pub fn in_order(a: &Digest, b: &Digest) -> Ordering {
    (b.content.ended, &b.session).cmp(&(a.content.ended, &a.session))
}

/// The digests of the highest numbers: what can be shown where there is no index.
fn newest(store: &Store) -> Vec<Digest> {
    const LOOKED_AT: usize = 40;
    let mut ids = store.session_ids().unwrap_or_default();
    ids.sort_by_key(|id| std::cmp::Reverse(id.ordinal));
    ids.truncate(LOOKED_AT);
    ids.iter().filter_map(|id| store.digest(id).ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::trust::Trust;
    use crate::store::digest;

    fn lines(front: &str, outcomes: &str, now: &str) -> Vec<String> {
        let text = format!(
            "---\nschema: memtree/digest/1\nsession: SES1_desk_SP1C1\nsource_id: \"claude:1\"\nflavor: claude\ntitle: T\n\
             status: success\nworth: full\n{front}---\n# Session Digest: SES1_desk_SP1C1\n\n\
             ## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: i\n- **Key Outcomes**: {outcomes}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let checker = EvidenceChecker::new(Path::new("/nowhere"), Path::new("/nowhere"), &[], true);
        let digest = digest::parse(&text).unwrap();
        let trust = Trust::new([], Default::default(), [digest.session.device.clone()], []);
        let asking = Asking {
            session: None,
            projects: &[],
            trust: &trust,
            now: crate::base::clock::parse(now).unwrap(),
            open_for: chrono::Duration::minutes(30),
        };
        let sessions = SessionLines { store: &store, asking: &asking, checker: &checker };
        sessions.lines(&digest).iter().map(Line::shown).collect()
    }

    #[test]
    fn what_was_left_open_is_shown_however_much_was_done() {
        let shown = lines(
            "",
            "one (EP_001); two (EP_002); three (EP_003); four (EP_004); open: push it? (EP_005)",
            "2026-11-15T12:00:00Z",
        );
        assert_eq!(shown.len(), 1 + OUTCOMES + 1 + 1, "{shown:?}");
        assert_eq!(shown[1], "  - assistant said “one” (SES1_desk_SP1C1#EP_001)\n");
        assert_eq!(shown[4], "  - open: “push it?” (SES1_desk_SP1C1#EP_005)\n");
    }

    #[test]
    fn what_was_left_before_anything_came_of_it_comes_to_nothing() {
        use crate::model::digest::Content;
        let nothing = |status: Outcome, outcomes: &[&str]| {
            let key_outcomes = outcomes.iter().map(|said| said.to_string()).collect();
            let content = Content { status, key_outcomes, ..Content::default() };
            came_to_nothing(&Digest::of_content("SES1_desk_SP1C1", content))
        };
        assert!(nothing(Outcome::Abandoned, &["–"]));
        assert!(!nothing(Outcome::Abandoned, &["the page is written"]));
        assert!(!nothing(Outcome::Fail, &[]));
    }

    #[test]
    fn an_outcome_that_says_nothing_is_no_line() {
        assert_eq!(lines("", "–", "2026-11-15T12:00:00Z").len(), 1);
    }

    #[test]
    fn openness_lapses_by_the_clock() {
        let front = "state: open\nended: 2026-11-15T11:50:00Z\n";
        let at = |now: &str| lines(front, "–", now)[0].clone();
        assert!(at("2026-11-15T12:00:00Z").contains("going on now"));
        let later = at("2026-11-15T12:21:00Z");
        assert!(later.contains("success") && !later.contains("going on"), "{later}");
    }
}
