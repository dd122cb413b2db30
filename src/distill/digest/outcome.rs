//! Outcome: how a session went, from its signals.
//!
//! The last check and the person's last words decide, not what the agent cheers about. A later
//! passing run outweighs an earlier failure; a question that was answered is a success; where some
//! of it was done and the rest was not, or the log breaks off, it is done in part.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::{prompts, replies};
use crate::model::digest::Outcome;
use crate::model::ids::EpisodeId;

/// How a session went.
pub fn outcome(facts: &Facts) -> Outcome {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.rewound).collect();
    let replies = parts.iter().map(|part| part.replies).sum::<u64>();
    if facts.prompts == 0 && replies == 0 && facts.tool_calls == 0 {
        return Outcome::Unknown;
    }
    if replies == 0 && facts.tool_calls == 0 {
        return Outcome::Abandoned;
    }
    let Some(last) = parts.iter().rev().find(|part| counts(part)) else { return Outcome::Unknown };
    // What the latest part that changed or tested something came to; talk after it changes nothing.
    let worked =
        parts.iter().rev().find(|part| !part.edited.is_empty() || part.last_test().is_some());
    let tests_fail = worked.is_some_and(|part| part.last_test() == Some(false));
    let changed = parts.iter().any(|part| has_changed(part));
    let before = parts.iter().any(|part| part.episode < last.episode && has_changed(part));
    // A first prompt that speaks of trouble says what is wanted.
    let worked_before = parts.iter().any(|part| part.episode < last.episode && part.tool_calls > 0);
    let in_part = if changed { Outcome::Partial } else { Outcome::Fail };
    match last.signals.last() {
        // The model failed, or the agent gave up; what was done before it still is.
        Some(Signal::Broken | Signal::GaveUp) if before || has_delivered(&parts) => {
            Outcome::Partial
        }
        Some(Signal::Broken | Signal::GaveUp) => Outcome::Fail,
        Some(Signal::Test(false)) if before || has_delivered(&parts) => Outcome::Partial,
        Some(Signal::Test(false)) => Outcome::Fail,
        // Where nothing was changed, a failing test is a finding, not a failure.
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) if tests_fail && changed => {
            if before || has_delivered(&parts) {
                Outcome::Partial
            } else {
                Outcome::Fail
            }
        }
        Some(Signal::Reply) if last.undelivered => in_part,
        Some(Signal::Reply) if stays_open(last) && facts.tool_calls > 0 => in_part_or(changed),
        Some(Signal::Reply)
            if changed && worked_before && is_complaint(&last.prompt) && !is_proved_since(last) =>
        {
            Outcome::Partial
        }
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) if !last.cut_off => {
            Outcome::Success
        }
        // Nothing worked, and no reply followed.
        Some(Signal::Error) if last.failed_calls == last.tool_calls && !before => Outcome::Fail,
        // A question that nobody answered takes nothing from what was done before it.
        None if before && prompts::asks_to_know(&last.prompt) => Outcome::Success,
        // The log stops in the middle, but what was wanted had been done by then.
        Some(Signal::Interrupted | Signal::Work) if last.is_proved() && !last.cut_off => {
            Outcome::Success
        }
        // The log stops in the middle of the work, or before it.
        _ if changed || before => Outcome::Partial,
        _ => Outcome::Unknown,
    }
}

/// A prompt that was stopped before anything was done, and a word of thanks, change nothing.
fn counts(part: &EpisodeFacts) -> bool {
    part.signals.iter().any(|signal| *signal != Signal::Interrupted) || asks(part)
}

fn has_changed(part: &EpisodeFacts) -> bool {
    !part.edited.is_empty() || !part.commits.is_empty() || !part.opened.is_empty()
}

/// Whether something was committed or opened: that is done, whatever came after.
fn has_delivered(parts: &[&EpisodeFacts]) -> bool {
    parts.iter().any(|part| !part.commits.is_empty() || !part.opened.is_empty())
}

/// Work that is named as not done: in part where there was any, else the answer is what was wanted.
fn in_part_or(changed: bool) -> Outcome {
    if changed { Outcome::Partial } else { Outcome::Success }
}

/// Whether the agent's last words announce what it does next, or say what is not done.
fn stays_open(part: &EpisodeFacts) -> bool {
    static NEXT: StaticRegex = StaticRegex::new(
        r"(?i)(?:^|[.!:\n]\s*)(?:let me|i['’]ll|i will|now i|now let|i['’]m going to|next,? i)\b[^.!?\n]*[.:…]?\s*$",
    );
    static NOT_DONE: StaticRegex = StaticRegex::new(
        r"(?i)\bstill (?:stale|fail\w*|missing|broken|running|pending|not)\b|\bnot yet (?:been )?(?:committed|pushed|merged|published|done)\b|\bnot (?:been )?(?:published|tested|verified|possible)\b|\bremains? (?:open|to be|uncommitted)|\bwas not able\b|\b(?:i|we) (?:couldn['’]?t|could not|was unable|am unable|have not)\b|\bunable to\b|\bis blocked\b|\bdid not (?:run|work)\b|\buncommitted\b",
    );
    let reply = part.last_reply.trim_end();
    if reply.len() < 500 && NEXT.is_match(reply) && !reply.ends_with('?') {
        return true;
    }
    let from = reply.len().saturating_sub(500);
    let from = (from..reply.len()).find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    let end = &reply[from..];
    // Tests that were broken before, and what was left out on purpose, take nothing from it.
    let on_purpose = [
        "pre-existing", "unrelated", "intentional", "on purpose", "as requested", "untouched",
        "as you asked",
    ];
    NOT_DONE.is_match(end) && !on_purpose.iter().any(|word| end.contains(word))
}

/// Whether a prompt says that what was done does not work.
fn is_complaint(prompt: &str) -> bool {
    static COMPLAINT: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:still (?:fail\w*|broken|not working|doesn['’]?t|does not|the same|get(?:ting)?|see(?:ing)?|wrong)|(?:doesn['’]?t|does not|didn['’]?t|isn['’]?t|not) (?:work(?:ing)?|help|fixed)|same (?:error|issue|problem)|nope|that['’]?s wrong|broke\b)",
    );
    COMPLAINT.is_match(text::cut(&prompts::spoken(prompt), 400))
}

/// Whether a check passed or a commit was made after the person's last words.
fn is_proved_since(part: &EpisodeFacts) -> bool {
    part.signals.iter().any(|signal| matches!(signal, Signal::Test(true) | Signal::Commit))
        || replies::headline(&part.last_reply).is_some() && !part.edited.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::commands::Commit;
    use crate::model::session::FileChange;

    fn part(episode: u32, signals: &[Signal], edited: bool) -> EpisodeFacts {
        let mut part = EpisodeFacts::of_text(episode, "lock the day log", "");
        part.signals = signals.to_vec();
        part.replies = 1;
        part.tool_calls = 2;
        if edited {
            part.edited.push(FileChange::of("src/day.rs".into()));
        }
        part
    }

    fn went(parts: Vec<EpisodeFacts>) -> Outcome {
        let prompts = parts.len() as u64;
        let mut facts = Facts { parts, prompts, ..Facts::default() };
        facts.tool_calls = facts.parts.iter().map(|part| part.tool_calls).sum();
        outcome(&facts)
    }

    #[test]
    fn the_last_check_decides() {
        let (work, reply) = (Signal::Work, Signal::Reply);
        assert_eq!(went(vec![part(1, &[work, Signal::Test(true), reply], true)]), Outcome::Success);
        assert_eq!(went(vec![part(1, &[work, Signal::Test(false), reply], true)]), Outcome::Fail);
        let done = part(1, &[work, Signal::Test(true), reply], true);
        let fails = part(2, &[work, Signal::Test(false), reply], true);
        assert_eq!(went(vec![done, fails]), Outcome::Partial);
        let mut unpushed = part(1, &[work, Signal::Commit, Signal::Error, reply], true);
        unpushed.undelivered = true;
        assert_eq!(went(vec![unpushed]), Outcome::Partial);
    }

    #[test]
    fn a_log_that_breaks_off_was_cut_off() {
        let mut cut = part(1, &[Signal::Reply, Signal::Work], true);
        cut.cut_off = true;
        cut.commits.push(Commit::default());
        assert_eq!(went(vec![cut]), Outcome::Partial);
        assert_eq!(went(vec![part(1, &[Signal::Work], false)]), Outcome::Unknown);
    }

    #[test]
    fn the_agents_last_words_are_weighed() {
        let said = |reply: &str| {
            let mut part = part(1, &[Signal::Work, Signal::Reply], true);
            part.last_reply = reply.into();
            went(vec![part])
        };
        assert_eq!(said("The lock is taken first now."), Outcome::Success);
        assert_eq!(said("Committed as `1a2b3c4`, not pushed."), Outcome::Success);
        assert_eq!(said("Perfect! Now let me run the publish script again:"), Outcome::Partial);
        assert_eq!(
            said("Landed. The tags are still stale until it is dispatched."),
            Outcome::Partial
        );
        assert_eq!(
            said("Fixed. Two pre-existing tests are still failing, unrelated to this."),
            Outcome::Success
        );
    }

    #[test]
    fn a_complaint_needs_a_check() {
        let complaint = |signals: &[Signal]| {
            let mut last = part(2, signals, false);
            last.prompt = "nope, it still fails".into();
            last.last_reply = "I see.".into();
            went(vec![part(1, &[Signal::Reply], true), last])
        };
        assert_eq!(complaint(&[Signal::Work, Signal::Reply]), Outcome::Partial);
        assert_eq!(complaint(&[Signal::Test(true), Signal::Reply]), Outcome::Success);
        let mut first = part(1, &[Signal::Work, Signal::Reply], true);
        first.prompt = "the lock does not work, take it first".into();
        first.last_reply = "I see.".into();
        assert_eq!(went(vec![first]), Outcome::Success);
    }

    #[test]
    fn an_unanswered_question_takes_nothing_away() {
        let mut asked = part(2, &[], false);
        (asked.replies, asked.tool_calls) = (0, 0);
        asked.prompt = "why is the header written twice?".into();
        let done = part(1, &[Signal::Commit, Signal::Reply], true);
        assert_eq!(went(vec![done, asked]), Outcome::Success);
        let mut wanted = part(2, &[], false);
        (wanted.replies, wanted.tool_calls) = (0, 0);
        wanted.prompt = "now write the header under the lock".into();
        assert_eq!(
            went(vec![part(1, &[Signal::Commit, Signal::Reply], true), wanted]),
            Outcome::Partial
        );
    }
}
