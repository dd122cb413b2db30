//! Worth: whether a session is worth remembering, or was empty, a greeting, a health check or
//! memtree's own.

use crate::base::static_regex::StaticRegex;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::prompts;
use crate::model::calls;
use crate::model::digest::Worth;

/// More calls than these, and something was done after all.
const FEW_CALLS: u64 = 3;
/// A health check is answered in this many words at most.
const SHORT_ANSWER: usize = 8;

/// Whether a session is worth remembering: something was asked or done beyond a greeting.
pub fn worth(facts: &Facts) -> Worth {
    let mut prompts = facts
        .parts
        .iter()
        .map(|part| part.prompt.as_str())
        .filter(|prompt| !prompt.is_empty())
        .peekable();
    if prompts.peek().is_some() && prompts.all(calls::is_ours) {
        // memtree asked a model, and the model kept a log of it.
        return Worth::None;
    }
    let changed =
        facts.parts.iter().any(|part| !part.edited.is_empty() || !part.commits.is_empty());
    if changed || facts.tool_calls > FEW_CALLS {
        return Worth::Full;
    }
    let asked: Vec<&EpisodeFacts> =
        facts.parts.iter().filter(|part| !part.prompt.is_empty()).collect();
    let small =
        asked.iter().all(|part| prompts::is_small_talk(&part.prompt) || is_health_check(part));
    match asked.is_empty() {
        // Nobody asked for anything, but a command such as `/init` may have set the agent to work.
        true if facts.tool_calls > 0 || facts.spoken > 40 => Worth::Full,
        true => Worth::None,
        false if small => Worth::None,
        false => Worth::Full,
    }
}

/// Whether a part only tried whether the agent answers: `Reply with exactly OK`, `What is 2+2?`.
fn is_health_check(part: &EpisodeFacts) -> bool {
    static TRIAL: StaticRegex = StaticRegex::new(
        r"(?ix)^(?:please\s+)?(?:just\s+|only\s+)?(?:
                (?:reply|respond|answer|say|return|output|print|echo|write)\b[^?]{0,40}?
                    (?:\bexact(?:ly)?\b|\bonly\b|\bnothing\s+else\b|\b(?:ok|okay|pong|ready|hello|hi|pass|yes)\b)
              | (?:what(?:'s|\s+is)|compute|calculate)\s+\d+\s*[-+*x×/]\s*\d+
              | are\s+you\s+(?:there|working|alive|ready|online) | can\s+you\s+hear\s+me | is\s+this\s+(?:thing\s+)?(?:on|working)
            )",
    );
    let asked = prompts::own_words(&part.prompt);
    let (asked, answered) = (asked.trim(), part.last_reply.split_whitespace().count());
    let Some(trial) = TRIAL.find(asked) else { return false };
    // A prompt that names something, or asks on after the trial, wants to know it.
    let names_something = asked.contains(['/', '\\', '`', '_']) && part.replies > 0;
    let rest = asked[trial.end()..].trim_start_matches(['?', ' ']);
    let asks_on = rest.contains('?');
    asked.split_whitespace().count() <= 30
        && answered <= SHORT_ANSWER
        && !names_something
        && !asks_on
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worth_of(prompt: &str, reply: &str) -> Worth {
        let mut part = EpisodeFacts::of_text(1, "", "");
        (part.prompt, part.last_reply) = (prompt.into(), reply.into());
        part.replies = u64::from(!reply.is_empty());
        worth(&Facts { parts: vec![part], prompts: 1, ..Facts::default() })
    }

    #[test]
    fn a_greeting_or_a_health_check_is_not_worth_remembering() {
        for (prompt, reply) in [
            ("Hi!", "Hello! What can I do for you?"),
            ("good morning claude", "Good morning."),
            ("Thank you so much", "You are welcome."),
            ("ping", "pong"),
            ("Reply with exactly OK. Do not inspect or edit files.", "OK"),
            ("[[ ## user_query ## ]]\nReply with the exact marker RUNNER_READY.", ""),
            (
                "@[System]:\nRespond with exactly PASS. No punctuation.\n\n@[User]:\nReturn the required token.",
                "PASS",
            ),
            ("What is 2+2?", "2 + 2 is **4**."),
            ("are you there?", "Yes."),
        ] {
            assert_eq!(worth_of(prompt, reply), Worth::None, "{prompt}");
        }
    }

    #[test]
    fn a_short_question_is_worth_remembering() {
        for (prompt, reply) in [
            ("Answer only yes or no: does the cache expire?", "Yes."),
            ("What does average_item_price do? One sentence.", "It calculates the mean price."),
            ("Reply with the name of the function in `src/orders.py` only", "average_item_price"),
            ("commit", "Committed."),
            ("Read src/orders.py. Reply with only its first line.", ""),
            ("What is 3306 used for?", "MySQL's port."),
        ] {
            assert_eq!(worth_of(prompt, reply), Worth::Full, "{prompt}");
        }
    }
}
