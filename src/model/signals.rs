//! Signals: what the pattern loop counts in a session. They stand in the digest, since snapshots
//! are evicted and do not travel.
//!
//! One line for each kind or event: `tools: Bash 12, Edit 3`, `tests: EP_003 failed, EP_004
//! passed`, `error: EP_004 2 times in Bash, solved in EP_005 by changing src/lock.rs: cannot open
//! <path>`, `correction: EP_005 refused Bash git push: not yet, please`. A line that is not
//! understood is left out.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ids::EpisodeId;
use super::words::words;

/// How often things happened, by name.
pub type Histogram = BTreeMap<String, u64>;

/// What is counted in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signals {
    /// Calls by tool.
    pub tools: Histogram,
    /// Events by kind, in the names that all agents share.
    pub events: Histogram,
    /// Calls that failed, by tool.
    pub failed: Histogram,
    /// The same call again after it failed, by tool.
    pub retries: Histogram,
    /// Runs of tests, in order.
    pub tests: Vec<TestRun>,
    /// Errors, each once.
    pub errors: Vec<MetError>,
    /// Where the person stepped in.
    pub corrections: Vec<Correction>,
    /// How often the agent's context was summarized to go on.
    pub compactions: u64,
}

/// A run of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    pub episode: EpisodeId,
    pub passed: bool,
}

/// An error by what is the same each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetError {
    /// Without paths, numbers, ids and addresses.
    pub fingerprint: String,
    /// Where it was met first.
    pub episode: EpisodeId,
    pub times: u64,
    /// The tool that failed with it first; empty in digests of earlier versions.
    #[serde(default)]
    pub tool: String,
    /// Where it went away, and by what.
    pub solved: Option<Solved>,
}

/// How an error went away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solved {
    pub episode: EpisodeId,
    /// What was done before the same command worked; empty where that is not known.
    pub by: String,
}

/// A place where the person stepped in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    pub episode: EpisodeId,
    pub kind: CorrectionKind,
    /// The call that was stopped or refused: `Bash git push`.
    #[serde(default)]
    pub call: String,
    /// What the person said, in one line.
    #[serde(default)]
    pub said: String,
}

/// How a person steps in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CorrectionKind {
    /// The agent was stopped.
    Interrupted,
    /// A call was not allowed.
    Refused,
    /// "No, …", "that is wrong", "still failing".
    Objected,
    /// Work was taken back.
    Reverted,
    /// The same was asked again.
    Repeated,
}

words!(CorrectionKind {
    Interrupted = "interrupted",
    Refused = "refused",
    Objected = "objected",
    Reverted = "reverted",
    Repeated = "repeated",
});

const PASSED: &str = "passed";
const FAILED: &str = "failed";
const TIMES: &str = " times";
const IN: &str = " in ";
const SOLVED_IN: &str = ", solved in ";
const BY: &str = " by ";

impl Signals {
    /// The lines that say it.
    pub fn lines(&self) -> Vec<String> {
        let histograms = [
            ("tools", &self.tools),
            ("events", &self.events),
            ("failed", &self.failed),
            ("retries", &self.retries),
        ];
        let histograms = histograms.into_iter().filter(|(_, counts)| !counts.is_empty());
        let mut lines: Vec<String> =
            histograms.map(|(name, counts)| format!("{name}: {}", counted(counts))).collect();
        if !self.tests.is_empty() {
            let runs = self
                .tests
                .iter()
                .map(|run| format!("{} {}", run.episode, if run.passed { PASSED } else { FAILED }));
            lines.push(format!("tests: {}", runs.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.errors.iter().map(MetError::line));
        let corrections = self.corrections.iter();
        lines.extend(corrections.map(Correction::line));
        if self.compactions > 0 {
            lines.push(format!("compactions: {}", self.compactions));
        }
        lines
    }

    /// What lines say.
    pub fn of_lines(lines: &[String]) -> Signals {
        let mut signals = Signals::default();
        for (name, value) in lines.iter().filter_map(|line| line.split_once(": ")) {
            match name {
                "tools" => signals.tools = histogram(value),
                "events" => signals.events = histogram(value),
                "failed" => signals.failed = histogram(value),
                "retries" => signals.retries = histogram(value),
                "tests" => signals.tests = value.split(", ").filter_map(test_run).collect(),
                "error" => signals.errors.extend(MetError::of_line(value)),
                "correction" => signals.corrections.extend(Correction::of_line(value)),
                "compactions" => signals.compactions = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        signals
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Signals::default()
    }
}

/// A name as it stands in a histogram.
pub fn histogram_name(name: &str) -> String {
    name.replace([',', ':'], "_").split_whitespace().collect::<Vec<_>>().join("_")
}

fn counted(counts: &Histogram) -> String {
    let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn histogram(value: &str) -> Histogram {
    let one = |item: &str| {
        let (name, count) = item.rsplit_once(' ')?;
        Some((name.to_string(), count.parse().ok()?))
    };
    value.split(", ").filter_map(one).collect()
}

fn test_run(item: &str) -> Option<TestRun> {
    let (episode, verdict) = item.split_once(' ')?;
    Some(TestRun { episode: episode.parse().ok()?, passed: verdict == PASSED })
}

impl Correction {
    fn line(&self) -> String {
        let Correction { episode, kind, call, said } = self;
        let call = if call.is_empty() { String::new() } else { format!(" {}", plain(call)) };
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        format!("correction: {episode} {kind}{call}{said}")
    }

    fn of_line(value: &str) -> Option<Correction> {
        let (facts, said) = value.split_once(": ").unwrap_or((value, ""));
        let mut words = facts.splitn(3, ' ');
        Some(Correction {
            episode: words.next()?.parse().ok()?,
            kind: CorrectionKind::from_str(words.next()?).ok()?,
            call: words.next().unwrap_or_default().to_string(),
            said: said.to_string(),
        })
    }
}

/// Words in which nothing ends the part of a line that they stand in.
fn plain(words: &str) -> String {
    words.replace(": ", " ")
}

impl MetError {
    fn line(&self) -> String {
        let MetError { fingerprint, episode, times, tool, solved } = self;
        let tool = if tool.is_empty() { String::new() } else { format!("{IN}{tool}") };
        let solved = solved.as_ref().map(|Solved { episode, by }| {
            let by = plain(by);
            let by = if by.is_empty() { String::new() } else { format!("{BY}{by}") };
            format!("{SOLVED_IN}{episode}{by}")
        });
        format!(
            "error: {episode} {times}{TIMES}{tool}{}: {fingerprint}",
            solved.unwrap_or_default()
        )
    }

    fn of_line(value: &str) -> Option<MetError> {
        let (facts, fingerprint) = value.split_once(": ")?;
        let (met, solved) = match facts.split_once(SOLVED_IN) {
            Some((met, solved)) => (met, Some(solved)),
            None => (facts, None),
        };
        let (episode, met) = met.split_once(' ')?;
        let (times, tool) = met.split_once(IN).unwrap_or((met, ""));
        let solved = solved.map(|solved| {
            let (episode, by) = solved.split_once(BY).unwrap_or((solved, ""));
            Some(Solved { episode: episode.parse().ok()?, by: by.to_string() })
        });
        Some(MetError {
            fingerprint: fingerprint.to_string(),
            episode: episode.parse().ok()?,
            times: times.strip_suffix(TIMES)?.parse().ok()?,
            tool: tool.to_string(),
            solved: solved.flatten(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back_as_they_were_meant() {
        let lines = [
            "tools: Bash 12, mcp__git__log 3",
            "events: assistant_msg 4, edit 1",
            "failed: Bash 2",
            "retries: Bash 1",
            "tests: EP_003 failed, EP_004 passed",
            "error: EP_003 2 times, solved in EP_004 by changing src/lock.rs: error: cannot open <path>",
            "error: EP_003 1 times in Bash, solved in EP_005: no such table: <id>",
            "error: EP_004 1 times: refused",
            "correction: EP_002 interrupted",
            "correction: EP_003 refused Bash git push: not yet: first the tests",
            "correction: EP_004 objected: no, use the other one",
            "compactions: 2",
        ];
        let lines = lines.map(str::to_string);
        let signals = Signals::of_lines(&lines);
        assert_eq!(signals.errors[0].solved.as_ref().unwrap().by, "changing src/lock.rs");
        assert_eq!(
            (signals.errors[1].tool.as_str(), signals.errors[2].tool.as_str()),
            ("Bash", "")
        );
        assert_eq!(signals.corrections[1].call, "Bash git push");
        assert_eq!(signals.corrections[1].said, "not yet: first the tests");
        assert_eq!(signals.lines(), lines);
        assert_eq!(Signals::of_lines(&["nonsense".into(), "error: x".into()]), Signals::default());
    }
}
