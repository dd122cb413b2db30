//! Lessons: what was learnt about how things are, in the words of whoever explained it; where the
//! session shows it, with the symptom before it and the fix behind it.

use super::Line;
use super::own::{Talk, Turn};
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::remarks::Statement;
use crate::model::digest::Origin;

/// How many a page has.
pub const MOST: usize = 4;
/// How many signs a lesson needs; a page with fewer lessons than [`FEW`] takes those with one.
const SIGNS: u32 = 2;
const FEW: usize = 3;

/// What was learnt, the surest first.
pub fn lessons(talk: &Talk<'_>) -> Vec<Line> {
    let mut found: Vec<(u32, usize, Line)> = Vec::new();
    for (at, turn) in talk.turns.iter().enumerate() {
        let trouble = speaks_of_trouble(&turn.said);
        let refused = talk.turns.get(at + 1).is_some_and(|next| refuses(&next.part.prompt));
        for statement in &turn.part.remarks.statements {
            if statement.is_last && (refused || describes_change(turn, statement)) {
                continue;
            }
            let signs = statement.signs + u32::from(trouble);
            let line = Line::new(with_fix(turn, statement), turn.part.episode, Origin::Assistant);
            found.push((signs, at, line));
        }
    }
    found.sort_by_key(|(signs, at, _)| std::cmp::Reverse((*signs, *at)));
    let sure = found.iter().filter(|(signs, ..)| *signs >= SIGNS).count();
    let kept = if sure >= FEW { sure } else { FEW.min(found.len()) };
    found.truncate(kept);
    found.into_iter().filter(|(signs, ..)| *signs > 0).map(|(_, _, line)| line).collect()
}

/// Whether a prompt speaks of trouble: then its answers explain it.
fn speaks_of_trouble(said: &str) -> bool {
    static TROUBLE: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:why|errors?|fail\w*|broken?|doesn't|not working|issues?|bugs?|wrong|still|wtf|how come|missing|can't|unexpected|weird|strange|crash\w*|problem)\b",
    );
    TROUBLE.is_match(text::cut(said, 600))
}

/// Whether the person says that what was just explained is not so.
fn refuses(prompt: &str) -> bool {
    static NO: StaticRegex = StaticRegex::new(
        r"(?i-u)^\s*(?:no\b|nope|wait\b|that'?s not|not true|wrong\b|still (?:fail|broken|not|the same)|it still)",
    );
    NO.is_match(text::cut(prompt, 80))
}

/// Whether a statement is an item of the closing list of an episode that changed files: `Buttons —
/// larger, instead of small`. That is what was done, not what was learnt.
fn describes_change(turn: &Turn<'_>, statement: &Statement) -> bool {
    static LABEL: StaticRegex = StaticRegex::new(r"^(?:\S+ ){1,6}(?:—|–|-) |^[^.:]{2,50}: ");
    let explains = statement.text.to_lowercase().contains("cause");
    !turn.part.edited.is_empty() && LABEL.is_match(&statement.text) && !explains
}

/// A statement, with the error before it and what solved it behind it, where the same command failed
/// and then passed in the same episode and the statement speaks of that error.
fn with_fix(turn: &Turn<'_>, statement: &Statement) -> String {
    let said = &statement.text;
    let words = super::telling_words(said);
    let solved = turn
        .part
        .solved
        .iter()
        .find(|solved| super::telling_words(&solved.error).intersection(&words).count() >= 2);
    match solved {
        Some(solved) if said.len() + solved.error.len() < 320 => {
            let error = text::one_line(&solved.error, 120);
            format!("{error} → {} → solved by {}", said.trim_end_matches('.'), solved.by)
        }
        _ => said.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::facts::{EpisodeFacts, Facts, SolvedError};

    fn part(episode: u32, prompt: &str, statements: &[(&str, u32)]) -> EpisodeFacts {
        let mut part = EpisodeFacts::of_prompt(episode, prompt);
        part.remarks.statements = statements
            .iter()
            .map(|(text, signs)| Statement { text: text.to_string(), signs: *signs, is_last: true })
            .collect();
        part
    }

    fn learnt(parts: Vec<EpisodeFacts>) -> Vec<String> {
        let facts = Facts { parts, ..Facts::default() };
        lessons(&Talk::of(&facts)).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn an_answer_to_trouble_comes_first() {
        let lock = "`lock()` returns before the header is written.";
        let cache = "`cache()` only reads the first key.";
        let parts = vec![
            part(1, "why is the header missing?", &[(lock, 2)]),
            part(2, "add a cache", &[(cache, 2)]),
        ];
        assert_eq!(learnt(parts), [lock, cache]);
    }

    #[test]
    fn what_the_person_refuses_is_not_learnt() {
        let said = "`lock()` never returns when the file is missing.";
        for next in ["no, that is not it", "it still fails", "nope"] {
            let parts = vec![part(1, "why does it hang?", &[(said, 3)]), part(2, next, &[])];
            assert!(learnt(parts).is_empty(), "{next}");
        }
        let parts = vec![part(1, "why does it hang?", &[(said, 3)]), part(2, "fix it", &[])];
        assert_eq!(learnt(parts), [said]);
    }

    #[test]
    fn an_item_of_the_list_of_changes_is_not_learnt() {
        let said = "Larger buttons — `text-sm` and `font-medium` instead of subtle slate.";
        let mut changed = part(1, "why are the buttons small?", &[(said, 3)]);
        assert_eq!(learnt(vec![part(1, "why are the buttons small?", &[(said, 3)])]).len(), 1);
        changed.edited = vec![crate::model::session::FileChange::of("a.css".into())];
        assert!(learnt(vec![changed]).is_empty());
    }

    #[test]
    fn few_signs_are_enough_only_where_there_is_little() {
        let say = |n: u32| format!("`part_{n}()` does not close number{n}.");
        let few: Vec<String> = (0..4).map(say).collect();
        let few: Vec<(&str, u32)> = few.iter().map(|said| (said.as_str(), 1)).collect();
        assert_eq!(learnt(vec![part(1, "go on", &few)]).len(), FEW);
        assert!(learnt(vec![part(1, "go on", &[("`a` does not close it.", 0)])]).is_empty());
    }

    #[test]
    fn a_check_that_failed_and_passed_gives_symptom_and_fix() {
        let said = "The `exhaustive` linter wants every variant of `AgentKind` in the switch.";
        let mut part = part(1, "fix the lint", &[(said, 2)]);
        part.solved = vec![SolvedError {
            error: "missing cases in switch of type AgentKind (exhaustive)".into(),
            by: "changing parse.go".into(),
        }];
        assert_eq!(
            learnt(vec![part]),
            [
                "missing cases in switch of type AgentKind (exhaustive) → The `exhaustive` linter wants every variant of `AgentKind` in the switch → solved by changing parse.go"
            ]
        );
    }
}
