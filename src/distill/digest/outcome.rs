//! Outcome: how a session went and what came of it, from its evidence.
//!
//! A later passing run outweighs an earlier failure, an interrupted run is not an abandonment, and a
//! question that was answered is a success.

use crate::base::text;
use crate::distill::commands::Commit;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::test_runs::Verdict;
use crate::distill::{prompts, replies, words};
use crate::model::digest::Outcome;
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// How many commits, pull requests and solved errors are listed.
const MOST_COMMITS: usize = 4;
const MOST_OPENED: usize = 3;
const MOST_SOLVED: usize = 2;
/// So many files are named.
const MOST_FILES: usize = 4;

/// How a session went.
pub fn outcome(facts: &Facts) -> Outcome {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.rewound).collect();
    let replies = parts.iter().map(|part| part.replies).sum::<u64>();
    if facts.prompts == 0 && replies == 0 {
        return Outcome::Unknown;
    }
    if replies == 0 && facts.tool_calls == 0 {
        return Outcome::Abandoned;
    }
    // A prompt that was stopped before anything came of it, and a word of thanks, take nothing
    // back.
    let counts = |part: &&&EpisodeFacts| {
        part.signals.iter().any(|signal| *signal != Signal::Interrupted) || asks(part)
    };
    let Some(last) = parts.iter().rev().find(counts) else { return Outcome::Unknown };
    // What the latest part that changed or tested something came to; talk after it changes nothing.
    let worked =
        parts.iter().rev().find(|part| !part.edited.is_empty() || part.last_test().is_some());
    let tests_fail = worked.is_some_and(|part| part.last_test() == Some(false));
    // Where nothing was changed, a failing test is a finding, not a failure.
    let changed = parts.iter().any(|part| !part.edited.is_empty() || !part.commits.is_empty());
    match last.signals.last() {
        Some(Signal::Broken | Signal::GaveUp | Signal::Test(false)) => Outcome::Fail,
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) if tests_fail && changed => {
            Outcome::Fail
        }
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) => Outcome::Success,
        // Nothing worked, and nobody said a word about it.
        Some(Signal::Error) if tests_fail || last.failed_calls == last.tool_calls => Outcome::Fail,
        _ if last.last_test() == Some(false) => Outcome::Fail,
        // The log stops in the middle, but what was wanted had been done by then.
        Some(Signal::Interrupted | Signal::Work) if last.is_proved() => Outcome::Success,
        // The log stops in the middle, or at a question that nobody took up.
        _ => Outcome::Unknown,
    }
}

/// Whether the prompt of a part wants an answer.
fn asks(part: &EpisodeFacts) -> bool {
    part.signals.is_empty() && !part.prompt.is_empty() && !prompts::is_small_talk(&part.prompt)
}

impl EpisodeFacts {
    /// Whether the last test run of the part passed; a commit after a failing one means that it was
    /// known and accepted.
    fn last_test(&self) -> Option<bool> {
        self.signals.iter().rev().find_map(|signal| match signal {
            Signal::Test(passed) => Some(*passed),
            Signal::Commit => Some(true),
            _ => None,
        })
    }

    /// Whether the part's last signal that proves anything is a passing test or a commit.
    fn is_proved(&self) -> bool {
        let last = self
            .signals
            .iter()
            .rev()
            .find(|signal| !matches!(signal, Signal::Work | Signal::Interrupted));
        matches!(last, Some(Signal::Test(true) | Signal::Commit))
    }
}

/// What came of it: how the agent closed, what was changed, what passed, what was committed or
/// opened, which errors were solved by what, and what is still open. Each with its episode.
pub fn key_outcomes(facts: &Facts, head: &Head, files: &[String]) -> Vec<String> {
    let parts: Vec<&EpisodeFacts> =
        facts.parts.iter().filter(|part| !part.rewound && !part.inherited).collect();
    let mut outcomes = Vec::new();
    let closing = parts.iter().rev().find(|part| !part.last_reply.is_empty());
    if let Some((part, said)) = closing.and_then(|part| {
        Some((part, replies::closing_sentence_except(&part.last_reply, says_commit)?))
    }) {
        let said = said.trim_end_matches('.');
        let says_little = facts.tool_calls > 0 && words::sentence_weight(said) < 1.0;
        let stopped =
            matches!(part.signals.last(), Some(Signal::Work | Signal::Interrupted | Signal::Error));
        let said = if stopped { format!("it stopped after: {said}") } else { said.to_string() };
        if !says_little {
            outcomes.push(if facts.is_talk() { said } else { at(said, part) });
        }
    }
    if let Some(last) = parts.iter().rev().find(|part| !part.edited.is_empty() && !files.is_empty())
    {
        let names: Vec<&str> = files.iter().take(MOST_FILES).map(String::as_str).collect();
        let more = files.len().saturating_sub(MOST_FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        outcomes.push(at(format!("changed {}{more}", names.join(", ")), last));
    }
    outcomes.extend(tests(&parts));
    let mut commits: Vec<(&EpisodeFacts, &Commit)> = Vec::new();
    for (part, commit) in
        parts.iter().flat_map(|part| part.commits.iter().map(move |commit| (*part, commit)))
    {
        if !commits.iter().any(|(_, known)| known.hash == commit.hash) {
            commits.push((part, commit));
        }
    }
    // The latest say what it came to.
    let earlier = commits.len().saturating_sub(MOST_COMMITS);
    for (part, commit) in &commits[earlier..] {
        outcomes.push(at(
            format!("committed {} {}", text::cut(&commit.hash, 12), commit.message),
            part,
        ));
    }
    if earlier > 0 {
        outcomes.push(format!("{earlier} earlier commits"));
    }
    let opened =
        parts.iter().flat_map(|part| part.opened.iter().map(move |url| (url, Some(*part))));
    let in_head = head.pull_requests.iter().map(|url| (url, None));
    let mut known: Vec<&str> = Vec::new();
    for (url, part) in opened.chain(in_head) {
        let is_listed = outcomes.iter().any(|outcome| outcome.contains(url.as_str()));
        if known.len() < MOST_OPENED && !is_listed && !known.contains(&url.as_str()) {
            known.push(url);
            let opened = format!("opened {}", text::one_line(url, 120));
            outcomes.push(part.map_or(opened.clone(), |part| at(opened, part)));
        }
    }
    let solved =
        parts.iter().flat_map(|part| part.solved.iter().map(move |solved| (*part, solved)));
    for (part, solved) in solved.take(MOST_SOLVED) {
        outcomes
            .push(at(format!("`{}` solved by {}", quotable(&solved.error, 90), solved.by), part));
    }
    if let Some((part, open)) =
        parts.last().and_then(|part| Some((part, replies::open_item(&part.last_reply)?)))
        && !facts.is_talk()
        && !outcomes.first().is_some_and(|closing| closing.starts_with(open.trim_end_matches('.')))
    {
        outcomes.push(at(format!("open: {}", open.trim_end_matches('.')), part));
    }
    outcomes
}

/// Whether a sentence only says that something was committed: git says which.
pub fn says_commit(sentence: &str) -> bool {
    let start = sentence.trim_start_matches(['✅', ' ']);
    ["Committed", "Commit ", "Commit:", "Pushed commit"]
        .iter()
        .any(|beginning| start.starts_with(beginning))
}

/// The last test run, and how many failed before it.
fn tests(parts: &[&EpisodeFacts]) -> Option<String> {
    let runs: Vec<(&EpisodeFacts, &Verdict)> =
        parts.iter().flat_map(|part| part.tests.iter().map(move |test| (*part, test))).collect();
    let (part, last) = runs.last()?;
    let failed = runs.iter().rev().skip(1).filter(|(_, run)| !run.passed).count();
    let mut line = String::from(if last.passed { "tests passed" } else { "tests failed" });
    if last.passed && failed > 0 {
        line.push_str(&format!(
            " after {failed} failing run{}",
            if failed == 1 { "" } else { "s" }
        ));
    }
    if !last.summary.is_empty() {
        line.push_str(&format!(": {}", last.summary));
    }
    Some(at(line, part))
}

/// A claim with the episode that it comes from.
fn at(claim: String, part: &EpisodeFacts) -> String {
    format!("{claim} ({})", EpisodeId(part.last_episode))
}

/// Text of a tool between backquotes: evidence, whatever it says.
fn quotable(text: &str, most_chars: usize) -> String {
    text::one_line(&text.replace('`', "'"), most_chars)
}

/// How it went, from its signals: steady, stuck and by what, turned by the person, solved or not.
pub fn arc(facts: &Facts, status: Outcome) -> String {
    if facts.is_talk() {
        return match status {
            _ if facts.spoken == 0 => String::new(),
            Outcome::Abandoned => "left unanswered".into(),
            _ => "steady".into(),
        };
    }
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.inherited).collect();
    let count = |part: &EpisodeFacts, wanted: Signal| {
        part.signals.iter().filter(|signal| **signal == wanted).count()
    };
    let mut phases: Vec<String> = Vec::new();
    let is_stuck = |part: &EpisodeFacts| {
        count(part, Signal::Test(false)) > 0 || count(part, Signal::Error) >= 3
    };
    let first = parts.iter().position(|part| is_stuck(part));
    if first != Some(0) {
        phases.push("steady".into());
    }
    if let Some(first) = first {
        let failing: usize = parts.iter().map(|part| count(part, Signal::Test(false))).sum();
        let errors: usize = parts.iter().map(|part| count(part, Signal::Error)).sum();
        let by = match failing {
            0 => format!("{errors} errors"),
            1 => "1 failing test run".into(),
            many => format!("{many} failing test runs"),
        };
        phases.push(format!("stuck ({by}, {})", EpisodeId(parts[first].episode)));
    }
    let turns: Vec<&&EpisodeFacts> =
        parts.iter().filter(|part| part.rewound || count(part, Signal::Interrupted) > 0).collect();
    if let Some(turn) = turns.first() {
        let often = if turns.len() > 1 {
            format!("{} times, first in ", turns.len())
        } else {
            String::new()
        };
        phases.push(format!("turned (the person stepped in, {often}{})", EpisodeId(turn.episode)));
    }
    let last = parts.last().map_or(EpisodeId(0), |part| EpisodeId(part.last_episode));
    match status {
        Outcome::Success if first.is_some() => phases.push("solved".into()),
        Outcome::Success if phases.len() > 1 => phases.push("done".into()),
        Outcome::Success => {
            let failed = facts.failed_calls;
            let calls = if facts.tool_calls == 1 {
                "1 tool call".into()
            } else {
                format!("{} tool calls", facts.tool_calls)
            };
            phases = vec![format!("steady ({calls}, {failed} failed)")];
        }
        Outcome::Fail => phases.push(format!("unsolved ({last})")),
        Outcome::Abandoned => phases.push("left unanswered".into()),
        Outcome::Unknown => phases.push(format!("open end ({last})")),
    }
    phases.join(" → ")
}
