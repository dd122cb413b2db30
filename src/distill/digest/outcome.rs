//! Outcome: how a session went, from its signals.
//!
//! A later passing run outweighs an earlier failure, an interrupted run is not an abandonment, and a
//! question that was answered is a success.

use crate::base::text;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::prompts;
use crate::model::digest::Outcome;
use crate::model::ids::EpisodeId;

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
    // A prompt that was stopped before anything was done, and a word of thanks, change nothing.
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
        // Nothing worked, and no reply followed.
        Some(Signal::Error) if tests_fail || last.failed_calls == last.tool_calls => Outcome::Fail,
        _ if last.last_test() == Some(false) => Outcome::Fail,
        // The log stops in the middle, but what was wanted had been done by then.
        Some(Signal::Interrupted | Signal::Work) if last.is_proved() => Outcome::Success,
        // The log stops in the middle, or at an unanswered question.
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
            some => text::counted(some, "failing test run"),
        };
        phases.push(format!("stuck ({by}, {})", EpisodeId(parts[first].episode)));
    }
    let turns: Vec<&&EpisodeFacts> =
        parts.iter().filter(|part| part.rewound || count(part, Signal::Interrupted) > 0).collect();
    if let Some(turn) = turns.first() {
        let often = match turns.len() {
            1 => String::new(),
            many => format!("{many} times, first in "),
        };
        phases.push(format!("turned (the person stepped in, {often}{})", EpisodeId(turn.episode)));
    }
    let last = parts.last().map_or(EpisodeId(0), |part| EpisodeId(part.last_episode));
    match status {
        Outcome::Success if first.is_some() => phases.push("solved".into()),
        Outcome::Success if phases.len() > 1 => phases.push("done".into()),
        Outcome::Success => {
            let calls = text::counted(facts.tool_calls as usize, "tool call");
            phases = vec![format!("steady ({calls}, {} failed)", facts.failed_calls)];
        }
        Outcome::Partial => phases.push(format!("done in part ({last})")),
        Outcome::Fail => phases.push(format!("unsolved ({last})")),
        Outcome::Abandoned => phases.push("left unanswered".into()),
        Outcome::Unknown => phases.push(format!("open end ({last})")),
    }
    phases.join(" → ")
}
