//! Gathering: lines of the memory's own files and of digests that may go onto the page, each with
//! its source.
//!
//! Everything here becomes a line that states something and cannot be taken for an instruction of
//! ours or of the person: in one line, without markup, and without what a tool printed.

use std::collections::HashSet;
use std::path::Path;

use chrono::{Days, NaiveDate};

use super::page::{Line, Section};
use super::stale::EvidenceChecker;
use crate::base::clock::Timestamp;
use crate::base::{files, markdown, text};
use crate::distill::words;
use crate::error::Result;
use crate::index::Index;
use crate::model::digest::{Digest, Origin, Outcome, State, Trigger, Worth};
use crate::model::ids::SessionId;
use crate::model::trust::Trust;
use crate::query::Query;
use crate::store::Store;
use crate::store::core::memory as memory_page;

/// The heading above what MEMORY.md says.
pub const KNOWN: &str = "What is known";
/// How long a line may be, in characters.
const LONGEST_LINE: usize = 280;
/// How much of a file is looked at.
const LONGEST_FILE: u64 = 256 << 10;
/// How many lines of a day's raw log replace its summary where there is none.
const RAW_LINES: usize = 80;
/// How many sessions of a project are shown.
const SESSIONS: usize = 5;
/// How many outcomes of each.
const OUTCOMES: usize = 3;
/// How many sessions may answer a prompt, and how many triggers of each.
const HITS: usize = 5;
const TRIGGERS: usize = 2;

/// How much the words of a prompt have to weigh for a session to answer it surely: two words that
/// are not common.
const STRONG: f32 = 1.4;
/// And how near to the best one it has to come.
const NEAR_THE_BEST: f64 = 0.6;

/// The page that an agent always loads.
pub fn memory(store: &Store, projects: &[String]) -> Section {
    let path = store.layout().memory_page();
    let mut lines = prose(store, &path, memory_page::is_knowledge);
    if let Some(page) = read(&path) {
        let others = memory_page::of_other_projects(&page, projects);
        lines.retain(|line| {
            !others.iter().any(|number| line.source.ends_with(&format!(":{number}")))
        });
    }
    for line in &mut lines {
        let bare = memory_page::without_link(&line.text);
        if bare.len() < line.text.len() {
            line.text = format!("{bare}”");
        }
    }
    Section { heading: KNOWN.into(), lines, share: 30, last_first: false }
}

/// Today and yesterday: their summaries, else the last lines of the page that an older tool kept,
/// else of what was said.
pub fn days(store: &Store, today: NaiveDate, own: Option<&SessionId>) -> Vec<Section> {
    let days = [
        Some((today, "Today")),
        today.checked_sub_days(Days::new(1)).map(|day| (day, "Yesterday")),
    ];
    let sections = days.into_iter().flatten().map(|(day, name)| {
        let share = if name == "Today" { 20 } else { 10 };
        let heading = format!("{name}, {day}");
        let lines = prose(store, &store.layout().summary(day), |_| true);
        if !lines.is_empty() {
            return Section { heading, lines, share, last_first: false };
        }
        let mut lines = prose(store, &store.layout().old_day(day), |_| true);
        if !lines.is_empty() {
            lines.drain(..lines.len().saturating_sub(RAW_LINES));
            return Section { heading, lines, share, last_first: true };
        }
        let mark = own.map(|own| format!("({own})"));
        let said = |line: &str| {
            // What tools printed is left out; what this session said, it knows.
            let kind = line.split(['[', ']']).nth(3).unwrap_or_default();
            matches!(kind, "user" | "main_agent")
                && mark.as_deref().is_none_or(|mark| !line.contains(mark))
        };
        let mut lines = prose(store, &store.layout().day(day), said);
        lines.drain(..lines.len().saturating_sub(RAW_LINES));
        Section { heading, lines, share, last_first: true }
    });
    sections.filter(|section| !section.lines.is_empty()).collect()
}

/// What the last sessions of a project did, and what they left open.
pub fn project(
    store: &Store,
    projects: &[String],
    index: Option<&Index>,
    asking: &AskingSession,
    checker: &EvidenceChecker,
) -> Section {
    let mut digests = match index {
        Some(index) => projects
            .iter()
            .flat_map(|project| index.latest(project, 4 * SESSIONS).unwrap_or_default())
            .filter_map(|session| store.digest(&session).ok().flatten())
            .collect(),
        None => newest(store),
    };
    let is_here = |name: &String| projects.iter().any(|project| project.eq_ignore_ascii_case(name));
    digests.retain(|digest| digest.content.project.as_ref().is_some_and(is_here));
    digests.retain(|digest| digest.content.worth == Worth::Full && !asking.is(digest));
    digests.sort_by(|a, b| (b.content.ended, &b.session).cmp(&(a.content.ended, &a.session)));
    // The same job again, such as a check that runs every hour, is shown once.
    let mut shown = HashSet::new();
    digests.retain(|digest| shown.insert((digest.content.title.clone(), digest.content.status)));
    digests.truncate(SESSIONS);
    let lines =
        digests.iter().flat_map(|digest| session_lines(digest, checker, &asking.trust)).collect();
    let heading = match projects.first() {
        Some(project) => format!("Last sessions of {}", markdown::heading(project)),
        None => "Last sessions".into(),
    };
    Section { heading, lines, share: 30, last_first: false }
}

/// The digests of the highest numbers: what can be shown where there is no index.
fn newest(store: &Store) -> Vec<Digest> {
    const LOOKED_AT: usize = 40;
    let mut ids = store.session_ids().unwrap_or_default();
    ids.sort_by_key(|id| std::cmp::Reverse(id.ordinal));
    ids.truncate(LOOKED_AT);
    ids.iter().filter_map(|id| store.digest(id).ok().flatten()).collect()
}

fn session_lines(digest: &Digest, checker: &EvidenceChecker, trust: &Trust) -> Vec<Line> {
    let content = &digest.content;
    let is_own = trust.of_session(&digest.session).speaks_for_person();
    let speaker = match is_own {
        true => "assistant said".to_string(),
        false => format!("on {} somebody wrote", plain(digest.session.device.as_str())),
    };
    let when = content.ended.map(|at| format!("{}, ", at.format("%Y-%m-%d"))).unwrap_or_default();
    let status =
        if digest.state == State::Open { "still open".into() } else { content.status.to_string() };
    let mut lines = vec![Line::new(
        format!("{when}{}, {status}: {}", content.flavor, quoted(&content.title)),
        digest.session.to_string(),
    )];
    let says_something = |outcome: &&String| outcome.contains(char::is_alphanumeric);
    let (open, done): (Vec<&String>, Vec<&String>) = content
        .key_outcomes
        .iter()
        .filter(says_something)
        .partition(|outcome| outcome.starts_with("open: "));
    // What was left open is shown, however much was done.
    for outcome in done.into_iter().take(OUTCOMES).chain(open) {
        // Nobody but the person orders, permits or promises in their name.
        if text::speaks_for_person(outcome) || (!is_own && text::is_order(outcome)) {
            continue;
        }
        let (outcome, episode) = split_episode(outcome);
        let source = episode.map_or_else(
            || digest.session.to_string(),
            |episode| format!("{}#{episode}", digest.session),
        );
        let stale = episode
            .and_then(|episode| checker.stale_reason(digest, episode.parse().ok()?))
            .map(|why| plain(&why));
        lines.push(Line { below: true, stale, ..Line::new(attributed(outcome, &speaker), source) });
    }
    let unfinished =
        digest.state == State::Open || matches!(content.status, Outcome::Abandoned | Outcome::Fail);
    if let Some(last) = content.triggers.last().filter(|_| unfinished) {
        let source = format!("{}#{}", digest.session, last.episode);
        lines.push(Line {
            below: true,
            ..Line::new(format!("left open: {}", quoted(&last.topic)), source)
        });
    }
    lines
}

/// An outcome without the episode that it ends in, `(EP_004)`.
fn split_episode(outcome: &str) -> (&str, Option<&str>) {
    match outcome.trim_end().strip_suffix(')').and_then(|rest| rest.rsplit_once(" (EP_")) {
        Some((before, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let end = outcome.trim_end().len() - 1;
            (before, Some(&outcome[end - digits.len() - "EP_".len()..end]))
        }
        _ => (outcome, None),
    }
}

/// An outcome in quotes, with whose words it is in: the agent's, but for what was counted.
fn attributed(outcome: &str, speaker: &str) -> String {
    let outcome = without_output(outcome);
    if let Some(open) = outcome.strip_prefix("open: ") {
        return format!("open: {}", quoted(open));
    }
    for counted in ["changed ", "tests ", "committed ", "opened ", "pull request "] {
        if let Some(rest) = outcome.strip_prefix(counted) {
            return format!("{counted}{}", quoted(rest));
        }
    }
    format!("{speaker} {}", quoted(&outcome))
}

/// An outcome of a test run without what the tests printed.
fn without_output(outcome: &str) -> String {
    match outcome.split_once(" (") {
        Some((what, _)) if what.starts_with("tests ") => what.to_string(),
        _ => outcome.to_string(),
    }
}

/// The triggers that answer a prompt best; with `strong`, only those that surely do.
pub fn prompted(
    store: &Store,
    index: &Index,
    prompt: &str,
    now: Timestamp,
    request: &super::ContextRequest,
    asking: &AskingSession,
    checker: &EvidenceChecker,
) -> Result<Section> {
    let trust = &asking.trust;
    let query = Query::of_words(prompt);
    let mut lines = Vec::new();
    if !query.is_empty() {
        let found = index.search(&query, now, HITS + 1)?;
        let least = found.hits.first().map_or(0.0, |best| NEAR_THE_BEST * best.score);
        for hit in found
            .hits
            .into_iter()
            .filter(|hit| !hit.weak && !asking.is_source(&hit.source_id))
            .take(HITS)
        {
            if request.strong_only && (weight_of(&hit.words) < STRONG || hit.score < least) {
                continue;
            }
            let digest = store.digest(&hit.session).ok().flatten();
            let Some(digest) = digest.filter(|digest| digest.content.worth == Worth::Full) else {
                continue;
            };
            let spoken =
                hit.triggers.iter().filter(|trigger| trigger.origin != Origin::Tool).take(TRIGGERS);
            for found in spoken {
                let said = |trigger: &&Trigger| {
                    trigger.episode == found.episode && trigger.topic == found.topic
                };
                let Some(trigger) = digest.content.triggers.iter().find(said) else { continue };
                let is_persons = trigger.origin == Origin::User
                    && trust.of_session(&digest.session).speaks_for_person();
                if !is_persons && text::speaks_for_person(&trigger.sentence) {
                    continue;
                }
                let line = trigger_line(&digest, trigger, checker, trust);
                if !lines.iter().any(|there: &Line| there.text == line.text) {
                    lines.push(line);
                }
            }
        }
    }
    Ok(Section { heading: "What bears on this prompt".into(), lines, share: 40, last_first: false })
}

/// How much the words weigh by which a session was found: “yes, do it” is in many a session.
fn weight_of(words: &[String]) -> f32 {
    words.iter().map(|word| words::weight(&word.to_lowercase())).sum()
}

fn trigger_line(
    digest: &Digest,
    trigger: &Trigger,
    checker: &EvidenceChecker,
    trust: &Trust,
) -> Line {
    let when =
        digest.content.ended.map(|at| format!("{}, ", at.format("%Y-%m-%d"))).unwrap_or_default();
    let (asked, said) = (quoted(&trigger.topic), quoted(&trigger.sentence));
    let device = &digest.session.device;
    let whose = match trust.of_session(&digest.session).speaks_for_person() {
        true => format!("{} said", trigger.origin),
        false => format!("on {} somebody wrote", plain(device.as_str())),
    };
    let text = format!("{when}{}: on {asked}, {whose} {said}", project_of(digest));
    let stale = checker.stale_reason(digest, trigger.episode).map(|why| plain(&why));
    Line { stale, ..Line::new(text, format!("{}#{}", digest.session, trigger.episode)) }
}

fn project_of(digest: &Digest) -> String {
    plain(digest.content.project.as_deref().unwrap_or(&digest.content.flavor))
}

/// Which session asks: its own digest is nothing new to it.
#[derive(Debug, Default)]
pub struct AskingSession {
    /// As the agent calls it; digests have `<flavor>:` before it.
    pub session: Option<String>,
    /// Its id in this memory, where it has one already.
    pub id: Option<SessionId>,
    /// Whose words count as its person's.
    pub trust: Trust,
}

impl AskingSession {
    fn is(&self, digest: &Digest) -> bool {
        self.id.as_ref() == Some(&digest.session) || self.is_source(&digest.source_id)
    }

    fn is_source(&self, source_id: &str) -> bool {
        let native = source_id.split_once(':').map_or(source_id, |(_, native)| native);
        self.session.as_deref() == Some(native)
    }
}

// --- Lines of files ---

/// The lines of a page that say something, each with the innermost heading above it.
fn prose(store: &Store, path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Line> {
    let Some(page) = read(path) else { return Vec::new() };
    let shown = store.layout().shown(path);
    let (mut lines, mut under, mut fenced, mut matter) = (Vec::new(), String::new(), false, false);
    for (number, raw) in page.lines().enumerate() {
        let line = raw.trim();
        if line == "---" && (number == 0 || matter) {
            matter = number == 0;
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let formal =
            line.is_empty() || line.starts_with("<!--") || line.starts_with("|--") || line == "---";
        if matter || fenced || formal {
            continue;
        }
        if let Some(heading) = heading(line) {
            // The page's own title says nothing of its lines.
            under = if line.starts_with("# ") { String::new() } else { heading };
            continue;
        }
        if !wanted(line) {
            continue;
        }
        let said = line.trim_start_matches(['-', '*', '>', '+']).trim_start();
        if plain(said).is_empty() {
            continue;
        }
        let said = if under.is_empty() {
            quoted(said)
        } else {
            format!("{}: {}", plain(&under), quoted(said))
        };
        lines.push(Line::new(said, format!("{shown}:{}", number + 1)));
    }
    lines
}

/// A heading's words: `## Decisions`, or `**Decisions**` alone on its line.
fn heading(line: &str) -> Option<String> {
    let bold =
        line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let bold = bold.filter(|words| !words.contains("**"));
    let marked = line.trim_start_matches('#');
    let marked = (marked.len() < line.len() && marked.starts_with(' ')).then_some(marked);
    Some(marked.or(bold)?.trim().trim_end_matches(':').to_string())
}

fn read(path: &Path) -> Option<String> {
    // A link could lead out of the memory.
    if !files::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let bytes = files::read_at_most(path, LONGEST_FILE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Words of the memory as one line without markup that acts.
fn plain(words: &str) -> String {
    markdown::inline(&text::one_line(&markdown::plain(words), LONGEST_LINE))
}

/// Words as a quotation.
fn quoted(words: &str) -> String {
    format!("“{}”", plain(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::digest;

    fn lines(outcomes: &str) -> Vec<String> {
        let text = format!(
            "---\nschema: memtree/digest/1\nsession: SES1_desk_SP1C1\nsource_id: \"claude:1\"\nflavor: claude\ntitle: T\n\
             status: success\nworth: full\n---\n# Session Digest: SES1_desk_SP1C1\n\n\
             ## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: i\n- **Key Outcomes**: {outcomes}\n"
        );
        let checker = EvidenceChecker::new(Path::new("/nowhere"), Path::new("/nowhere"), &[], true);
        let digest = digest::parse(&text).unwrap();
        let trust = Trust::new([], Default::default(), [digest.session.device.clone()], []);
        session_lines(&digest, &checker, &trust).iter().map(Line::shown).collect()
    }

    #[test]
    fn what_was_left_open_is_shown_however_much_was_done() {
        let shown = lines(
            "one (EP_001); two (EP_002); three (EP_003); four (EP_004); open: push it? (EP_005)",
        );
        assert_eq!(shown.len(), 1 + OUTCOMES + 1, "{shown:?}");
        assert_eq!(shown[1], "  - assistant said “one” (SES1_desk_SP1C1#EP_001)\n");
        assert_eq!(shown[4], "  - open: “push it?” (SES1_desk_SP1C1#EP_005)\n");
    }

    #[test]
    fn an_outcome_that_says_nothing_is_no_line() {
        assert_eq!(lines("–").len(), 1);
    }
}
