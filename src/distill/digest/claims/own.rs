//! The person's own words: what of a prompt a person typed for this session, rather than a
//! template, a plan, a paste or a program.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::prompts;
use crate::distill::remarks::straight;

/// Longer prompts are plans, templates and pastes.
const LONGEST: usize = 180;

/// A session as a talk: its episodes, each with what the person typed.
pub struct Talk<'f> {
    pub turns: Vec<Turn<'f>>,
}

/// One episode of a talk.
pub struct Turn<'f> {
    pub part: &'f EpisodeFacts,
    /// What the person typed, with straight apostrophes; empty where the words are not theirs, or
    /// they took them back.
    pub said: String,
    /// Whether it is the first prompt of the session: what is asked, not what is decided.
    pub first: bool,
    /// Whether the person stopped the agent right before.
    pub stopped: bool,
}

impl<'f> Talk<'f> {
    /// The talk of a session.
    pub fn of(facts: &'f Facts) -> Talk<'f> {
        let parts: Vec<&EpisodeFacts> = facts.own_parts().collect();
        let mut turns = Vec::with_capacity(parts.len());
        let mut first = true;
        for (at, part) in parts.iter().enumerate() {
            let next = parts[at + 1..].iter().find(|next| !next.prompt.is_empty());
            let void =
                next.is_some_and(|next| takes_back(&next.prompt)) || takes_back(&part.prompt);
            let said = if void { String::new() } else { own_words(&part.prompt) };
            let stopped = at > 0 && parts[at - 1].remarks.stopped;
            turns.push(Turn { part, said, first, stopped });
            first &= part.prompt.is_empty();
        }
        Talk { turns }
    }

    /// The turns in which the person said something, each with what the agent had said before.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = (&Turn<'f>, &str)> {
        self.turns.iter().enumerate().filter(|(_, turn)| !turn.said.is_empty()).map(|(at, turn)| {
            let before =
                self.turns[..at].iter().rev().map(|turn| turn.part.remarks.closing.as_str());
            (turn, before.into_iter().find(|said| !said.is_empty()).unwrap_or_default())
        })
    }
}

/// What a person typed; empty where it is not a person's.
pub fn own_words(prompt: &str) -> String {
    static TEMPLATE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:please )?(?:implement|execute) the following plan|the following is the|you are (?:a|an|the|now) |<|caveat:|this session is being continued|operation stopped by hook|stop hook|\[request interrupted|reply with (?:the )?exact|#|base directory for this skill|perform a |your task|context:|---)",
    );
    static PASTED: StaticRegex = StaticRegex::new(
        r"(?m)Traceback|FAILURES|^\s*at \S+ ?\(|npm ERR|❯|➜|^\s*\$ |^\s*\d+ \||^\s*(?:---|\+\+\+) |\berror TS\d|^\s*error[:\[]|^\S+:\d+:\d+|https?://\S+/(?:actions|runs)/|^\s*\|.*\|\s*$|^#+ ",
    );
    // What somebody else wrote of the change: what to think over.
    static REVIEW: StaticRegex = StaticRegex::new(r"(?i)\bconsider (?:adding|using)\b");
    static SPEAKS: StaticRegex = StaticRegex::new(r"(?i)\b(?:i|we|you)\b");
    let own = prompts::own_words(prompt);
    let own = own.trim();
    let is_own = !own.is_empty()
        && own.split_whitespace().count() <= LONGEST
        && !own.contains("```")
        && own.matches("\n\n").count() <= 6
        && !TEMPLATE.is_match(text::cut(own, 80))
        && !PASTED.is_match(own)
        && (!REVIEW.is_match(own) || SPEAKS.is_match(own));
    if is_own { straight(own).into_owned() } else { String::new() }
}

/// Whether a person says with what they work: "I'm on Debian 12", "I use Bun".
pub fn is_fact(said: &str) -> bool {
    static WORKS: StaticRegex = StaticRegex::new(
        r"(?-u)^(?i:(?:so|also|and|btw|fyi),? )?(?i:i'm|i am|we're|we are) (?i:on|using|running) (?:[A-Z]|\w+ ?\d)|^(?i:(?:also|btw|fyi),? )?(?i:i|we) (?i:use|run|work with) (?:[A-Z]\w|`)",
    );
    // What went wrong with it is told of the day.
    static REPORT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:error|fail\w*|broken?|but (?:it|i|the|that)|doesn't|get(?:s|ting)?|got)\b|\?$",
    );
    let first = text::sentences(said).next().unwrap_or_default();
    WORKS.is_match(first) && !REPORT.is_match(first)
}

/// Whether a prompt says that another one, or itself, was a mistake.
fn takes_back(prompt: &str) -> bool {
    static VOID: StaticRegex = StaticRegex::new(
        r"(?i)\bwrong (?:chat|window|session|terminal)\b|^(?:sorry,? )?ignore (?:that|this|my)\b",
    );
    VOID.is_match(text::cut(prompt, 120))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_a_plan_a_paste_is_not_the_persons() {
        for prompt in [
            "Implement the following plan:\n\n# Plan: one lock",
            "You are a reviewer. Be certain.",
            "The following is the agent history that you have to judge.",
            "<command-name>/review</command-name>",
            "Operation stopped by hook: tests are missing",
            "it says\nerror: no such file\n",
            "see\n```\nlet x = 1;\n```",
            "# Fix the lock\n\nFirst do this.",
            "src/day.rs:12:5 unused variable",
            "The tide is read twice in lines 12-19. Consider using one lock.",
        ] {
            assert_eq!(own_words(prompt), "", "{prompt}");
        }
        let said = "we should consider using one lock for both";
        assert_eq!(own_words(said), said);
        assert_eq!(own_words("no, don’t lock the header"), "no, don't lock the header");
        assert_eq!(own_words("is it so? [1 image(s)]"), "is it so?");
    }

    #[test]
    fn what_was_meant_for_another_chat_counts_for_nothing() {
        let part = EpisodeFacts::of_prompt;
        let parts = vec![
            part(1, "fix the lock"),
            part(2, "we should rename the branch instead"),
            part(3, "sorry wrong chat"),
            part(4, "we should use one lock"),
        ];
        let facts = Facts { parts, ..Facts::default() };
        let talk = Talk::of(&facts);
        let said: Vec<&str> = talk.turns.iter().map(|turn| turn.said.as_str()).collect();
        assert_eq!(said, ["fix the lock", "", "", "we should use one lock"]);
        assert!(talk.turns[0].first && !talk.turns[1].first);
    }
}
