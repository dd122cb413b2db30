//! What days and the core say in answer to a question: the times that it names, and whether it asks
//! for what was wanted, decided, done or left open.

use std::collections::HashMap;

use chrono::NaiveDate;

use super::Citation;
use crate::base::markdown::plain;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::digest::ClaimKind;
use crate::model::ids::SessionId;
use crate::ops::days;
use crate::query::dates::NamedTimes;
use crate::query::terms::stem;
use crate::store::core::memory;
use crate::store::day;
use crate::store::day::summary;

/// How many days tell what is still open, and how many lines an answer has.
const RECENT_DAYS: usize = 14;
const MOST_LINES: usize = 12;

/// Whether a line, of a session of a project, has to do with something.
type IsAbout<'q> = dyn Fn(&str, Option<&str>) -> bool + 'q;

/// A question about days.
#[derive(Debug, PartialEq, Eq)]
pub struct AskedDays {
    times: NamedTimes,
    /// The part of a day's summary that answers it, by the name of its block.
    part: &'static str,
}

impl AskedDays {
    /// What a question asks of days; `None` where it is about something else.
    pub fn of(question: &str) -> Option<AskedDays> {
        static OPEN: StaticRegex = StaticRegex::new(
            r"(?i)\b(still|left) open\b|\bopen (ends?|points?|items?|questions?)\b|\b(unfinished|outstanding|pending)\b|\bleft to do\b|\bto-?do\b",
        );
        static DECIDED: StaticRegex = StaticRegex::new(r"(?i)\bdeci(de|ded|sions?)\b");
        static DONE: StaticRegex =
            StaticRegex::new(r"(?i)\b(done|finish(ed)?|achieved?|accomplish(ed)?|change[ds]?)\b");
        static WANTED: StaticRegex = StaticRegex::new(r"(?i)\b(want(ed)?|asked for|goals?)\b");
        let part = if OPEN.is_match(question) {
            "open"
        } else if DECIDED.is_match(question) {
            "decided"
        } else if DONE.is_match(question) {
            "done"
        } else if WANTED.is_match(question) {
            "wanted"
        } else {
            summary::SHORT
        };
        let times = NamedTimes::of(question);
        (!times.times.is_empty() || part == "open").then_some(AskedDays { times, part })
    }

    /// The words of a question that say when and of which kind, rather than about what.
    pub fn is_said_by(&self, word: &str) -> bool {
        const KINDS: &[&str] = &[
            "open", "still", "left", "unfinished", "outstanding", "pending", "todo", "decide",
            "decided", "decision", "decisions", "done", "finish", "finished", "wanted", "want",
            "goal", "goals", "change", "changed", "ends", "items", "points",
        ];
        let is_time = |part: &str| self.times.words.iter().any(|time| time == part);
        // `2026-02-21` is one word, of parts that say when.
        KINDS.contains(&word) || is_time(word) || word.split('-').all(is_time)
    }

    /// What the days say, the latest first, with the pages that were read. `is_about` says whether
    /// a line of a session of this project has to do with the rest of the question; `None` where
    /// there is no rest.
    pub fn answer(
        &self,
        memory: &Memory,
        is_about: Option<&IsAbout<'_>>,
    ) -> Result<(Vec<Citation>, Vec<String>)> {
        let layout = memory.layout();
        let cannot = || "cannot read the days".to_string();
        let today = days::today(memory.now(), memory.zone()?);
        let mut all = day::all(layout).context(cannot)?;
        all.retain(|day| layout.summary(*day).is_file());
        let is_meant = |day: &NaiveDate| self.times.names_day(*day, today);
        let is_dated = !self.times.times.is_empty();
        if is_dated {
            all.retain(is_meant);
        }
        let mut projects = Projects::of_memory(memory);
        let (mut cited, mut consulted) = (Vec::new(), Vec::new());
        for day in all.into_iter().rev() {
            if !is_dated && (consulted.len() >= RECENT_DAYS || cited.len() >= MOST_LINES) {
                break;
            }
            let page = files::read_to_string(layout.summary(day)).context(cannot)?;
            let shown = layout.shown(&layout.summary(day));
            let before = cited.len();
            for line in summary::lines_of(&page, self.part) {
                let project = is_about.and_then(|_| projects.of(&line));
                let fits = is_about.is_none_or(|fits| fits(&line, project.as_deref()));
                if cited.len() < MOST_LINES && fits {
                    cited.push(citation(&line, day, &shown));
                }
            }
            // Days without a word on a project are not days of it.
            if is_dated || is_about.is_none() || cited.len() > before {
                consulted.push(shown);
            }
        }
        Ok((cited, consulted))
    }
}

/// The projects of the sessions that lines of days come from.
pub struct Projects<'m> {
    memory: &'m Memory,
    known: HashMap<SessionId, Option<String>>,
}

impl<'m> Projects<'m> {
    /// None is known yet.
    pub fn of_memory(memory: &'m Memory) -> Projects<'m> {
        Projects { memory, known: HashMap::new() }
    }

    /// Gives citations of sessions their projects.
    pub fn name(&mut self, cited: &mut [Citation]) {
        for cited in cited.iter_mut().filter(|cited| cited.project.is_empty()) {
            let project = cited.reference.as_ref().and_then(|reference| self.of(reference));
            cited.project = project.unwrap_or_default();
        }
    }

    fn of(&mut self, line: &str) -> Option<String> {
        let session: SessionId = session_in(line)?.parse().ok()?;
        let store = self.memory.store();
        let project = self.known.entry(session.clone()).or_insert_with(|| {
            store.digest(&session).ok().flatten().and_then(|digest| digest.content.project)
        });
        project.clone()
    }
}

/// The session whose line it is.
fn session_in(line: &str) -> Option<&str> {
    static SESSION: StaticRegex = StaticRegex::new(r"SES\d+_[A-Za-z0-9-]+_SP\d+C\d+");
    SESSION.find(line).map(|found| found.as_str())
}

/// A line of a day's summary: our own words, so it is not quoted.
fn citation(line: &str, day: NaiveDate, page: &str) -> Citation {
    let session = session_in(line);
    let reference = session.filter(|id| id.parse::<SessionId>().is_ok()).map(str::to_string);
    let said = match &reference {
        Some(id) => line.trim_end().trim_end_matches(&format!("({id})")).trim_end(),
        None => line,
    };
    let said = plain(&crate::store::knowledge::links::without_links(said));
    Citation {
        text: format!("{day}: {}", text::one_line(&said, 400)),
        page: page.trim_end_matches(".md").to_string(),
        reference,
        ..Citation::default()
    }
}

/// The lines of `core/MEMORY.md`: what is confirmed.
pub fn from_core(memory: &Memory) -> Result<Vec<Citation>> {
    let layout = memory.layout();
    let path = layout.memory_page();
    let page = files::if_exists(files::read_to_string(&path))
        .context(|| format!("cannot read `{}`", layout.shown(&path)))?;
    let page = page.unwrap_or_default();
    let is_persons = memory.trust().of_shared().speaks_for_person();
    let mut project = "";
    let mut cited = Vec::new();
    for line in page.lines().filter(|line| memory::is_knowledge(line)) {
        if let Some(name) = line.strip_prefix("## ") {
            project = name;
        } else if let Some(said) = line.strip_prefix("- ") {
            let text = plain(memory::without_link(said));
            // A device that nobody trusts writes here, too.
            if !is_persons && text::is_standing_order(&text) {
                continue;
            }
            let about = if memory::is_checks(&text) { CHECKS } else { Default::default() };
            cited.push(Citation {
                about: about.into(),
                project: project.into(),
                standing: memory::is_rule(line),
                text,
                page: "core/MEMORY".into(),
                ..Citation::default()
            });
        }
    }
    Ok(cited)
}

/// What people ask for whom the line of commands answers.
const CHECKS: &str = "test tests run running lint build check checks command commands project";

/// The kind of claims that a question asks for: what was decided, whenever that was, or what the
/// person wants done always.
pub fn asked_kind(question: &str) -> Option<ClaimKind> {
    static DECIDED: StaticRegex = StaticRegex::new(
        r"(?i)\bdecided\b|\bdid (?:we|you|i|they) (?:decide|choose|agree)\b|\b(?:the|our|which|what) decisions?\b",
    );
    static STANDING: StaticRegex = StaticRegex::new(concat!(
        r"(?i)\b(?:want|wish|like|prefer|ask|insist|expect)\w*\b.*\b(?:always|never|every time|from now on)\b",
        r"|\b(?:always|never)\b.*\b(?:want|prefer|insist|expect)\w*\b",
        r"|\bstanding (?:rules?|instructions?|orders?|wish(?:es)?)\b",
        r"|\b(?:what|which)(?: are)? (?:the|our|my|your|their) (?:rules|preferences|conventions)\b",
    ));
    if DECIDED.is_match(question) {
        return Some(ClaimKind::Decision);
    }
    STANDING.is_match(question).then_some(ClaimKind::Standing)
}

/// Whether a term of a question says which kind of claims it asks for, rather than about what.
pub fn says_kind(kind: ClaimKind, term: &str) -> bool {
    const STANDING: &str = "always never every time want wanted wish like prefer preferences insist \
        expect ask user person rules standing instructions orders conventions done now";
    let words = if kind == ClaimKind::Standing { STANDING } else { "" };
    words.split_whitespace().any(|word| stem(word) == term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_which_days_and_which_part_of_them() {
        let part = |question: &str| AskedDays::of(question).map(|asked| asked.part);
        assert_eq!(part("What is still open?"), Some("open"));
        assert_eq!(part("What did we decide yesterday?"), Some("decided"));
        assert_eq!(part("what was done last week"), Some("done"));
        assert_eq!(part("What happened yesterday?"), Some(summary::SHORT));
        assert_eq!(part("Why full jitter?"), None);
        assert_eq!(part("How do we decide on an index?"), None, "no time is named");
        let asked = AskedDays::of("What was decided on 2026-11-15?").unwrap();
        assert!(asked.is_said_by("2026-11-15") && !asked.is_said_by("2026-11-16"));
    }

    #[test]
    fn who_asks_for_a_decision_speaks_of_one_that_was_made() {
        let kind = |question: &str| asked_kind(question);
        assert_eq!(kind("What did we decide about the header?"), Some(ClaimKind::Decision));
        assert_eq!(kind("what was decided about `open_page`"), Some(ClaimKind::Decision));
        assert_eq!(kind("How do we decide on an index?"), None);
    }

    #[test]
    fn who_asks_for_rules_says_whose() {
        for asks in [
            "what did the user want always done in tide?",
            "what should I never do, what does she expect",
            "which are the conventions of the harbour?",
        ] {
            assert_eq!(asked_kind(asks), Some(ClaimKind::Standing), "{asks}");
        }
        for other in ["why does the tide test always fail?", "what are rules of a lock?"] {
            assert_eq!(asked_kind(other), None, "{other}");
        }
    }
}
