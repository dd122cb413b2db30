//! What the pattern loop counts, while a session streams by: calls that failed, the same call
//! again, errors, runs of tests, and where the person stepped in.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::steps::{Step, StepKind, ToolCall};
use crate::distill::test_runs;
use crate::distill::{commands, errors, prompts};
use crate::model::ids::EpisodeId;
use crate::model::session::{Action, Actor};
use crate::model::signals::{
    Correction, CorrectionKind, Histogram, MetError, Signals, Solved, TestRun, histogram_name,
};

/// How many errors, test runs, corrections and names of tools are kept.
const MOST_LISTED: usize = 24;
/// Longer prompts are pasted; who objects says so at once.
const LONGEST_OBJECTION: usize = 400;

/// How much is kept of what the person said when they stepped in.
const LONGEST_SAID: usize = 160;

/// Counts while a session streams by.
#[derive(Debug, Default)]
pub struct SignalCounter {
    signals: Signals,
    /// The last call, if it failed: the same one again is a retry.
    failed_call: Option<String>,
    last_prompt: String,
    /// The last call: what an interruption stopped.
    last_call: String,
    /// Whether the next prompt says why the agent was stopped.
    waits_for_reason: bool,
}

impl SignalCounter {
    /// Takes the next step of an episode.
    pub fn take(&mut self, step: &Step, episode: u32) {
        if step.inherited {
            return;
        }
        let episode = EpisodeId(episode);
        match &step.kind {
            StepKind::Prompt(said) if step.agent.is_none() => self.take_prompt(said, episode),
            StepKind::Intervention(_) => {
                let stopped = self.last_call.clone();
                self.correct(CorrectionKind::Interrupted, episode, &stopped, "");
            }
            StepKind::Rewind(_) => self.correct(CorrectionKind::Reverted, episode, "", ""),
            StepKind::ToolCall(call) => self.take_call(call, episode),
            _ => {}
        }
    }

    /// What was counted, with the errors that went away: what was printed, where and by what.
    pub fn finish<'f>(&self, solved: impl Iterator<Item = (&'f str, Solved)>) -> Signals {
        let mut signals = self.signals.clone();
        for (printed, solved) in solved {
            let fingerprint = errors::fingerprint(printed);
            let known = signals.errors.iter_mut().find(|known| known.fingerprint == fingerprint);
            if let Some(error) = known {
                error.solved = Some(solved);
            }
        }
        signals
    }

    fn correct(&mut self, kind: CorrectionKind, episode: EpisodeId, call: &str, said: &str) {
        let said = text::one_line(said, LONGEST_SAID);
        let stops = matches!(kind, CorrectionKind::Interrupted | CorrectionKind::Refused);
        self.waits_for_reason = stops && said.is_empty();
        let last = self.signals.corrections.last();
        let is_known = last.is_some_and(|last| last.kind == kind && last.episode == episode);
        if self.signals.corrections.len() < MOST_LISTED && !is_known {
            self.signals.corrections.push(Correction { episode, kind, call: call.into(), said });
        }
    }

    /// What the person says right after they stopped the agent is why.
    fn take_reason(&mut self, said: &str) {
        let waits = std::mem::take(&mut self.waits_for_reason);
        let is_reason = said.len() <= LONGEST_OBJECTION && !prompts::is_small_talk(said);
        if let Some(last) = self.signals.corrections.last_mut().filter(|_| waits && is_reason) {
            last.said = text::one_line(said, LONGEST_SAID);
        }
    }

    fn take_prompt(&mut self, said: &str, episode: EpisodeId) {
        static OBJECTS: StaticRegex = StaticRegex::new(
            r"(?xi)^\s*(
                (no|nope|nah)\b\s*[,.!—–-]\s*\w | no\s+(that|this|it|you|the|not|don't)\b | (that|this|it)('s|\s+is)\s+(not|wrong|still)\b
              | (that|this|it)\s+(does\ not|doesn't|didn't|did\ not|isn't|still)\b | still\s+(not|fail|broken|the\ same|get|see)
              | wrong\b | not\s+what\s+i\b | why\s+(did|are|would)\s+you\b | stop\b | wait\b | you\s+(broke|missed|forgot|didn't|should\ have)\b
              | i\s+(said|asked|told)\b
            )",
        );
        static REVERTS: StaticRegex = StaticRegex::new(
            r"(?i)^\s*(please\s+|can you\s+|ok,?\s+|no,?\s+|actually,?\s+)*(revert|undo|roll\s?back|put (it|that|this) back|go back to)\b",
        );
        self.take_reason(said);
        let asked = text::one_line(said, 2000).to_lowercase();
        if !asked.is_empty() && asked == self.last_prompt {
            self.correct(CorrectionKind::Repeated, episode, "", said);
        } else if said.len() <= LONGEST_OBJECTION && REVERTS.is_match(said) {
            self.correct(CorrectionKind::Reverted, episode, "", said);
        } else if said.len() <= LONGEST_OBJECTION && OBJECTS.is_match(said) {
            self.correct(CorrectionKind::Objected, episode, "", said);
        }
        self.last_prompt = asked;
    }

    fn take_call(&mut self, call: &ToolCall, episode: EpisodeId) {
        if call.by == Actor::Person {
            return;
        }
        let tool = histogram_name(&text::one_line(&call.tool, 60));
        let failed = call.failed();
        self.last_call = named(call, &tool);
        self.waits_for_reason = false;
        if !tool.is_empty() && (failed || self.failed_call.is_some()) {
            let input = input(call);
            if self.failed_call.as_ref() == Some(&input) {
                count(&mut self.signals.retries, &tool);
            }
            self.failed_call = failed.then_some(input);
        }
        let Some(answer) = &call.answer else { return };
        if failed && errors::is_refusal(&answer.text) {
            let refused = self.last_call.clone();
            return self.correct(CorrectionKind::Refused, episode, &refused, "");
        }
        if failed && !tool.is_empty() {
            count(&mut self.signals.failed, &tool);
        }
        let verdict = test_runs::verdict(call);
        if let Some(verdict) = &verdict {
            if self.signals.tests.len() >= MOST_LISTED {
                self.signals.tests.remove(0);
            }
            self.signals.tests.push(TestRun { episode, passed: verdict.passed });
        }
        let failed = failed || verdict.is_some_and(|verdict| !verdict.passed);
        // What a file holds is no error, whatever it says.
        let is_dump = matches!(call.action, Action::Read { .. });
        if failed
            && !is_dump
            && let Some(error) = errors::find(&answer.text)
        {
            self.add_error(error.fingerprint, tool, episode);
        }
    }

    fn add_error(&mut self, fingerprint: String, tool: String, episode: EpisodeId) {
        // The body of an answer, or a stretch of data, is not what went wrong.
        if fingerprint.starts_with(['{', '[', '"', '<', '|']) || fingerprint.len() < 8 {
            return;
        }
        let errors = &mut self.signals.errors;
        let is_full = errors.len() >= MOST_LISTED;
        match errors.iter_mut().find(|known| known.fingerprint == fingerprint) {
            Some(known) => known.times += 1,
            None if is_full => {}
            None => errors.push(MetError { fingerprint, episode, times: 1, tool, solved: None }),
        }
    }
}

/// A call by its tool and, for a command, what kind of command it is: `Bash git push`.
fn named(call: &ToolCall, tool: &str) -> String {
    let name = match &call.action {
        Action::Shell { command } => format!("{tool} {}", commands::command_kind(command)),
        _ => tool.to_string(),
    };
    text::one_line(&name, 60)
}

/// What a call was asked, as far as the same one again is to be recognized.
fn input(call: &ToolCall) -> String {
    match &call.action {
        Action::Shell { command } => command.clone(),
        action => text::one_line(&format!("{} {action:?}", call.tool), 2000),
    }
}

fn count(histogram: &mut Histogram, name: &str) {
    if histogram.len() < MOST_LISTED || histogram.contains_key(name) {
        *histogram.entry(name.to_string()).or_default() += 1;
    }
}

/// The names that count most.
pub fn most<'n>(counts: impl Iterator<Item = (&'n str, u64)>) -> Histogram {
    let mut counts: Vec<(&str, u64)> = counts.collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let named = counts.into_iter().map(|(name, count)| (histogram_name(name), count));
    named.filter(|(name, _)| !name.is_empty()).take(MOST_LISTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objections_are_told_from_requests() {
        let kinds = |prompts: &[&str]| -> Vec<CorrectionKind> {
            let mut counter = SignalCounter::default();
            prompts.iter().zip(1..).for_each(|(said, at)| counter.take_prompt(said, EpisodeId(at)));
            counter.signals.corrections.iter().map(|one| one.kind).collect()
        };
        for said in [
            "No, use the other one.",
            "that's not what I meant",
            "still failing",
            "why did you delete it?",
        ] {
            assert_eq!(kinds(&[said]), [CorrectionKind::Objected], "{said}");
        }
        assert_eq!(kinds(&["revert that please"]), [CorrectionKind::Reverted]);
        assert_eq!(kinds(&["fix it", "Fix it"]), [CorrectionKind::Repeated]);
        for said in [
            "Add a test for the parser",
            "nothing else",
            "no tests yet, add some",
            "notes on locks",
        ] {
            assert!(kinds(&[said]).is_empty(), "{said}");
        }
    }
}
