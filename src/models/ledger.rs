//! The ledger: one line of JSON for each call of a model, in `.memtree/local/ledger.jsonl`.
//!
//! It holds what was asked of whom and what it cost, never a word of what was said. A day's sums
//! are made from it, and so is the answer to whether another call fits under the day's cap.

use std::io;
use std::path::Path;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::files;

/// One call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    /// The day on whose account it goes.
    pub day: NaiveDate,
    /// What it was for: the name of the prompt.
    pub task: String,
    /// Who was asked: `openai:low`.
    pub by: String,
    /// The model's name in the settings.
    pub model: String,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// What it cost in US dollars; 0 where no price is known.
    pub usd: f64,
    /// Whether the tokens are our estimate, because the model did not count them.
    pub estimated: bool,
    pub ms: u64,
    /// `text`, `nothing`, or `failed: ` and the reason.
    pub result: String,
}

/// What one day's calls came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DaySpending {
    pub calls: usize,
    pub failed: usize,
    pub tokens: u64,
    pub usd: f64,
}

/// Books a call.
pub fn book(path: &Path, entry: &Entry) -> io::Result<()> {
    files::append_locked(path, &serde_json::to_string(entry)?)
}

/// Sums up what some tasks came to on a day; a line that cannot be read counts for nothing.
pub fn spent(
    path: &Path,
    day: NaiveDate,
    counts: impl Fn(&str) -> bool,
) -> io::Result<DaySpending> {
    let text = files::if_exists(files::read_to_string(path))?.unwrap_or_default();
    // The newest stand last, and days follow each other, but for a clock that was set back.
    let entries = text.lines().rev().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
    let mut spent = DaySpending::default();
    let of_day = entries.take_while(|entry| entry.day >= day).filter(|entry| entry.day == day);
    for entry in of_day.filter(|entry| counts(&entry.task)) {
        spent.calls += 1;
        spent.failed += usize::from(entry.result.starts_with("failed"));
        spent.tokens += entry.tokens_in + entry.tokens_out;
        spent.usd += entry.usd;
    }
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::base::clock;

    #[test]
    fn a_day_is_summed_up_from_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local/ledger.jsonl");
        let entry = |at: &str, tokens_in, usd, result: &str| Entry {
            at: clock::parse(at).unwrap(),
            day: at[..10].parse().unwrap(),
            task: "digest".into(),
            by: "openai:low".into(),
            model: "small".into(),
            tokens_in,
            tokens_out: 10,
            usd,
            estimated: false,
            ms: 5,
            result: result.into(),
        };
        let day = "2026-11-15".parse().unwrap();
        assert_eq!(spent(&path, day, |_| true).unwrap(), DaySpending::default());
        book(&path, &entry("2026-11-14T10:00:00Z", 1000, 1.0, "text")).unwrap();
        book(&path, &entry("2026-11-15T10:00:00Z", 100, 0.5, "text")).unwrap();
        book(&path, &entry("2026-11-15T10:00:01Z", 0, 0.0, "failed: no answer")).unwrap();
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| io::Write::write_all(&mut file, b"{\"torn\n"))
            .unwrap();
        book(&path, &entry("2026-11-15T10:00:02Z", 100, 0.25, "nothing")).unwrap();
        assert_eq!(
            spent(&path, day, |_| true).unwrap(),
            DaySpending { calls: 3, failed: 1, tokens: 230, usd: 0.75 }
        );
        assert_eq!(spent(&path, "2026-11-16".parse().unwrap(), |_| true).unwrap().calls, 0);
    }
}
