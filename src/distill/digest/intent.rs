//! Intent: what was wanted of a session, as its title, its objective, its motto and the person's own
//! words.

use super::key_outcomes::says_commit;
use crate::base::{markdown, text};
use crate::distill::facts::Facts;
use crate::distill::{prompts, replies, words};
use crate::model::digest::ClaimKind;

/// The title that a session gets where nobody gave it one.
pub fn title(facts: &Facts) -> String {
    leading_prompt(facts).map(|prompt| prompts::request(prompt, 80, false)).unwrap_or_default()
}

/// What was wanted, in a sentence or two.
pub fn objective(facts: &Facts) -> String {
    let most_chars = if facts.is_talk() { 80 } else { 140 };
    leading_prompt(facts)
        .map(|prompt| prompts::request(prompt, most_chars, !facts.is_talk()))
        .unwrap_or_default()
}

/// The person's words: the first request, and what was asked for after it.
pub fn core_intent(facts: &Facts) -> String {
    let Some(leading) = leading_prompt(facts) else { return String::new() };
    let first = prompts::request(leading, if facts.is_talk() { 160 } else { 240 }, true);
    let later: Vec<String> = facts
        .own_parts()
        .filter(|part| part.prompt != leading && prompts::is_specific(&part.prompt))
        .map(|part| prompts::request(&part.prompt, 70, false))
        .filter(|request| request.chars().count() > 24)
        .collect();
    // The beginning of what came later, and where it ended.
    let shown: Vec<&str> = match later.as_slice() {
        [one, two, .., last] => vec![one, two, last],
        some => some.iter().map(String::as_str).collect(),
    };
    let shown = if facts.is_talk() { &shown[..shown.len().min(2)] } else { &shown[..] };
    if shown.is_empty() { first } else { format!("{first} Then: {}", shown.join("; ")) }
}

/// The prompt that says what a session is about: the first that does, rather than a "continue"
/// before it.
pub fn leading_prompt(facts: &Facts) -> Option<&str> {
    let prompts = || facts.parts.iter().filter(|part| !part.prompt.is_empty() && !part.rewound);
    let own = || prompts().filter(|part| !part.inherited);
    let first = own()
        .find(|part| prompts::is_specific(&part.prompt))
        .or_else(|| prompts().find(|part| prompts::is_specific(&part.prompt)));
    let command = facts.first_command.as_deref();
    let longest = || {
        prompts().max_by_key(|part| (part.prompt.chars().count(), std::cmp::Reverse(part.episode)))
    };
    first
        .map(|part| part.prompt.as_str())
        .or(command)
        .or_else(|| longest().map(|part| part.prompt.as_str()))
}

/// A short saying from the session itself: what was learnt, what was decided and why, what was
/// committed last, how it closed; and only then what was wanted.
pub fn motto(facts: &Facts, objective: &str) -> String {
    let is_short = |sentence: &String| (24..=110).contains(&sentence.chars().count());
    let parts = || facts.own_parts();
    let best = |kind: ClaimKind| {
        parts()
            .flat_map(|part| &part.statements)
            .filter(|stated| stated.kind == kind && is_short(&stated.text))
            .map(|stated| (words::sentence_weight(&stated.text), stated.text.clone()))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, sentence)| sentence)
    };
    let commit =
        || parts().flat_map(|part| &part.commits).last().map(|commit| commit.message.clone());
    let closing = || {
        let last = parts().rev().find(|part| !part.last_reply.is_empty())?;
        let closing = replies::closing_sentence_except(&last.last_reply, says_commit)?;
        let closing = Some(closing).filter(|closing| !replies::is_narration(closing))?;
        (!facts.is_talk() && closing.chars().count() >= 16).then_some(closing)
    };
    let long =
        || parts().flat_map(|part| &part.statements).map(|stated| stated.text.clone()).next();
    let said = best(ClaimKind::Lesson)
        .or_else(|| best(ClaimKind::Decision))
        .or_else(commit)
        .or_else(long)
        .or_else(closing);
    let said = said.unwrap_or_else(|| objective.to_string());
    text::one_line(&markdown::strip_marks(&said), 110)
}
