//! What days and the core say in answer to a question: the times that it names, and whether it asks
//! for what was wanted, decided, done or left open.

use chrono::NaiveDate;

use super::Citation;
use crate::base::markdown::plain;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::ids::SessionId;
use crate::ops::days;
use crate::query::dates::NamedTimes;
use crate::store::core::memory;
use crate::store::day;
use crate::store::day::summary;

/// How many days are looked at for what is still open, and how many lines an answer has.
const RECENT_DAYS: usize = 14;
const MOST_LINES: usize = 12;

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
        KINDS.contains(&word) || self.times.words.iter().any(|time| time == word)
    }

    /// What the days say, the latest first, with the pages that were read. `is_about` says whether
    /// a line has to do with the rest of the question.
    pub fn answer(
        &self,
        memory: &Memory,
        is_about: impl Fn(&str) -> bool,
    ) -> Result<(Vec<Citation>, Vec<String>)> {
        let layout = memory.layout();
        let cannot = || "cannot read the days".to_string();
        let today = days::today(memory.now(), memory.zone()?);
        let mut all = day::all(layout).context(cannot)?;
        all.retain(|day| layout.summary(*day).is_file());
        let is_meant = |day: &NaiveDate| self.times.names_day(*day, today);
        match self.times.times.is_empty() {
            true => drop(all.drain(..all.len().saturating_sub(RECENT_DAYS))),
            false => all.retain(is_meant),
        }
        let (mut cited, mut consulted) = (Vec::new(), Vec::new());
        for day in all.into_iter().rev() {
            let page = files::read_to_string(layout.summary(day)).context(cannot)?;
            let shown = layout.shown(&layout.summary(day));
            for line in summary::lines_of(&page, self.part) {
                if cited.len() < MOST_LINES && is_about(&line) {
                    cited.push(citation(&line, day, &shown));
                }
            }
            consulted.push(shown);
        }
        Ok((cited, consulted))
    }
}

/// A line of a day's summary: our own words, so it is not quoted.
fn citation(line: &str, day: NaiveDate, page: &str) -> Citation {
    static SESSION: StaticRegex = StaticRegex::new(r"SES\d+_[A-Za-z0-9-]+_SP\d+C\d+");
    let session = SESSION.find(line).map(|found| found.as_str());
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
        origin: None,
        quoted: false,
    }
}

/// The lines of `core/MEMORY.md`: what is confirmed.
pub fn from_core(memory: &Memory) -> Result<Vec<Citation>> {
    let layout = memory.layout();
    let path = layout.memory_page();
    let page = files::if_exists(files::read_to_string(&path))
        .context(|| format!("cannot read `{}`", layout.shown(&path)))?;
    let page = page.unwrap_or_default();
    let lines = page.lines().filter(|line| line.starts_with("- ") && memory::is_knowledge(line));
    let cited = lines.map(|line| Citation {
        text: plain(memory::without_link(line.trim_start_matches("- "))),
        page: "core/MEMORY".into(),
        reference: None,
        origin: None,
        quoted: false,
    });
    Ok(cited.collect())
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
    }
}
