//! Lessons: what was learnt about how things are, in the words of whoever explained it; where the
//! session shows it, with the symptom before it and the fix behind it.

use super::Line;
use super::own::{Talk, Turn};
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::change::speaks;
use crate::distill::cured;
use crate::distill::errors::Met;
use crate::distill::remarks::Statement;
use crate::distill::replies;
use crate::model::digest::Origin;

/// How many a page has, and one of many prompts.
const MOST: usize = 4;
const MOST_OF_MANY: usize = 6;
/// What is left of a sentence has at least so many words.
const FEWEST_WORDS: usize = 6;
/// How many prompts bring room for one lesson more.
const PROMPTS_FOR_MORE: usize = 8;
/// How many signs a lesson needs; a page with fewer lessons than [`FEW`] takes those with one.
const SIGNS: u32 = 2;
const FEW: usize = 4;
/// What a form of a command counts that was refused and then worked: both were seen.
const USAGE_SIGNS: u32 = 3;

/// How many lessons a page has: a long session teaches more than a short one.
pub fn most(talk: &Talk<'_>) -> usize {
    let prompts = talk.turns.iter().filter(|turn| !turn.said.is_empty()).count();
    (MOST + prompts / PROMPTS_FOR_MORE).min(MOST_OF_MANY)
}

/// What was learnt, the surest first.
pub fn lessons(talk: &Talk<'_>) -> Vec<Line> {
    let mut found: Vec<(u32, usize, Line)> = Vec::new();
    for (at, turn) in talk.turns.iter().enumerate() {
        let trouble = speaks_of_trouble(&turn.said);
        let refused = talk.turns.get(at + 1).is_some_and(|next| refuses(&next.part.prompt));
        let holds = |statement: &&Statement| {
            (!statement.is_last || !(refused || describes_change(turn, statement)))
                && !says_what_is_new(turn, &statement.text)
        };
        let statements: Vec<Statement> = turn
            .part
            .remarks
            .statements
            .iter()
            .filter(holds)
            .filter_map(|statement| {
                let text = of_nobody(&statement.text)?;
                // What lost a sentence says less than what did not.
                let is_cut = text.len() < statement.text.len();
                let signs = statement.signs.saturating_sub(u32::from(is_cut));
                Some(Statement { text, signs, ..statement.clone() })
            })
            .collect();
        let mut symptom = pasted_error(turn).filter(|_| !refused);
        // The surest statement explains what the person pasted; of equals the first.
        let surest = statements.iter().map(|statement| statement.signs).max();
        for statement in &statements {
            let mut signs = statement.signs + u32::from(trouble);
            let mut text = with_fix(turn, statement);
            if Some(statement.signs) == surest
                && let Some(error) = symptom.take_if(|error| is_about(&text, error))
            {
                (signs, text) = (signs + 1, with_symptom(error, text));
            }
            found.push((signs, at, Line::new(text, turn.part.episode, Origin::Assistant)));
        }
        if let Some(error) = symptom
            && let Some(cause) = cause_in(&turn.part.last_reply)
        {
            let text = with_symptom(error, cause);
            found.push((SIGNS, at, Line::new(text, turn.part.episode, Origin::Assistant)));
        }
        for usage in &turn.part.remarks.usages.found {
            let line = Line::new(usage.lesson(), turn.part.episode, Origin::Tool);
            found.push((USAGE_SIGNS, at, line));
        }
    }
    found.sort_by_key(|(signs, at, _)| std::cmp::Reverse((*signs, *at)));
    let sure = found.iter().filter(|(signs, ..)| *signs >= SIGNS).count();
    let kept = if sure >= FEW { sure } else { FEW.min(found.len()) };
    found.truncate(kept);
    found.into_iter().filter(|(signs, ..)| *signs > 0).map(|(_, _, line)| line).collect()
}

/// A lesson that stays true: what the session mended is said as the cause that was.
pub fn as_it_is_now(mut line: Line, outcomes: &[String]) -> Line {
    if cured::is_cured(&line.text, line.episode, outcomes) {
        line.text = format!("{}{}", line.text.trim_end_matches('.'), cured::FIXED);
    }
    line
}

/// A statement without what somebody says of themselves: without the sentences that do, and
/// without "so we cannot see it" behind the others. "I branched off `quay`" is what was done.
fn of_nobody(said: &str) -> Option<String> {
    static SO_WE: StaticRegex = StaticRegex::new(
        r"(?:,|;| -| —)? (?:so|which means|because|since) (?:that )?(?:I|[Ww]e|[Yy]ou)\b[^.]*(?:\.|$)",
    );
    static I_DID: StaticRegex = StaticRegex::new(r"^I ([a-z]+ed )");
    if !text::sentences(said).any(speaks_of_self) {
        return Some(said.to_string());
    }
    let plain = |sentence: &str| {
        let sentence = SO_WE.replace(sentence, ".");
        let sentence = text::capitalized(&I_DID.replace(&sentence, "$1"));
        let says =
            !speaks_of_self(&sentence) && sentence.split_whitespace().count() >= FEWEST_WORDS;
        says.then_some(sentence)
    };
    let kept: Vec<String> = text::sentences(said).filter_map(plain).collect();
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// Whether somebody speaks of themselves, or tells another what to do. "When you push" is said of
/// everybody.
fn speaks_of_self(sentence: &str) -> bool {
    static EVERYBODY: StaticRegex = StaticRegex::new(r"([^,;.\s]+ )[Yy]ou\b");
    speaks(&EVERYBODY.replace_all(sentence, "$1_"))
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
    static CHANGED: StaticRegex = StaticRegex::new(
        r"(?i)(?:—|–|-|--) (?:now |also )?(?:already )?(?:changed|added|updated|removed|fixed|replaced|moved|renamed)\b",
    );
    let is_item = LABEL.is_match(&statement.text) || CHANGED.is_match(&statement.text);
    // What goes on about the same thing is no item either.
    static GOES_ON: StaticRegex = StaticRegex::new(r"\. (?:It|They|These|Both) ");
    let explains =
        statement.text.to_lowercase().contains("cause") || GOES_ON.is_match(&statement.text);
    !turn.part.edited.is_empty() && is_item && !explains
}

/// Whether a statement of an episode that changed files says how something is from now on: "`append`
/// now takes the lock". That is the change, not what was learnt, unless it says when it is so.
fn says_what_is_new(turn: &Turn<'_>, said: &str) -> bool {
    static NEW: StaticRegex =
        StaticRegex::new(r"(?i)\bnow (?:(?:also|only|always|\w+ly) )*\w+s?\b|\bno longer\b");
    static WHEN: StaticRegex = StaticRegex::new(r"(?i)\b(?:when|if|only|unless|because|since)\b");
    let first = said.split(". ").next().unwrap_or(said);
    !turn.part.edited.is_empty() && NEW.is_match(first) && !WHEN.is_match(first)
}

/// The error that a person pasted.
fn pasted_error<'t>(turn: &Turn<'t>) -> Option<&'t str> {
    let pasted = turn.part.errors.iter().find(|error| error.met == Met::Pasted);
    pasted.map(|error| error.sample.as_str())
}

/// Whether a sentence names something of an error.
fn is_about(said: &str, error: &str) -> bool {
    !super::telling_words(said).is_disjoint(&super::telling_words(error))
}

/// An explanation with the error before it that it explains, unless it names that itself.
fn with_symptom(error: &str, said: String) -> String {
    let words = super::telling_words(error);
    let named = super::telling_words(&said).intersection(&words).count();
    match said.contains(" → ") || named * 2 > words.len() || error.len() + said.len() > 360 {
        true => said,
        false => format!("{} → {said}", text::one_line(error, 140)),
    }
}

/// The sentence of an answer that says why something failed.
fn cause_in(reply: &str) -> Option<String> {
    static CAUSE: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:because|caused by|root cause|comes from|due to|turns out|(?:issue|problem|reason|cause|culprit|error|failure) (?:is|was)|happens (?:when|since))\b",
    );
    let is_cause = |sentence: &String| {
        (40..=320).contains(&sentence.len()) && CAUSE.is_match(sentence) && !sentence.ends_with('?')
    };
    let (prose, _) = replies::split_code(reply);
    let sentences = text::sentences(&prose);
    let mut plain = sentences.map(|sentence| text::one_line(&markdown::strip_marks(sentence), 400));
    plain.find(is_cause)
}

/// A statement, with the error before it and what solved it behind it, where the same command
/// failed and then passed in the same episode and the statement speaks of that error.
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
    fn a_long_session_teaches_more() {
        let room = |prompts: usize| {
            let parts = (0..prompts).map(|at| part(at as u32 + 1, "lock the day log", &[]));
            let facts = Facts { parts: parts.collect(), ..Facts::default() };
            most(&Talk::of(&facts))
        };
        assert_eq!([room(1), room(8), room(90)], [4, 5, 6]);
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
    fn what_the_session_mended_is_said_as_the_cause() {
        let now = |said: &str, outcome: &str| {
            let line = Line::new(said, 1, Origin::Assistant);
            as_it_is_now(line, &[outcome.to_string()]).text
        };
        let said = "`append_day` does not take the lock.";
        assert_eq!(
            now(said, "`append_day` now takes the lock (EP_001)"),
            "`append_day` does not take the lock → fixed"
        );
        assert_eq!(now(said, "Fixed `read_day` (EP_001)"), said);
    }

    #[test]
    fn an_item_of_the_list_of_changes_is_not_learnt() {
        let said = "Larger buttons — `text-sm` and `font-medium` instead of subtle slate.";
        let mut changed = part(1, "why are the buttons small?", &[(said, 3)]);
        assert_eq!(learnt(vec![part(1, "why are the buttons small?", &[(said, 3)])]).len(), 1);
        changed.edited = vec![crate::model::session::FileChange::of("a.css".into())];
        assert!(learnt(vec![changed]).is_empty());
        let said = "The two wrapper scripts in `bin/` override what is set - Changed to read `.env` only where nothing is";
        let mut changed = part(1, "why is it overridden?", &[(said, 3)]);
        changed.edited = vec![crate::model::session::FileChange::of("a.sh".into())];
        assert!(learnt(vec![changed]).is_empty());
    }

    #[test]
    fn what_somebody_says_of_themselves_is_not_learnt() {
        for said in [
            "`lock()` is what I called twice instead of once.",
            "We only have `tide.rs` for the names of the piers.",
        ] {
            assert!(learnt(vec![part(1, "why does it fail?", &[(said, 3)])]).is_empty(), "{said}");
        }
        let said = "Tides have no hook for `ebb` or `flow`, so we cannot see when one ends.";
        let rest = "Tides have no hook for `ebb` or `flow`.";
        assert_eq!(learnt(vec![part(1, "why does it fail?", &[(said, 3)])]), [rest]);
        let said = "We look at `quay.rs`. The `lock()` call never returns when it is empty.";
        let rest = "The `lock()` call never returns when it is empty.";
        assert_eq!(learnt(vec![part(1, "why does it fail?", &[(said, 3)])]), [rest]);
        let said = "The `lock()` call never returns when you push from a quay.";
        assert_eq!(learnt(vec![part(1, "why does it fail?", &[(said, 3)])]), [said]);
        let quoted = "The linter asks: \"you must not call `lock()` twice\".";
        assert_eq!(learnt(vec![part(1, "why does it fail?", &[(quoted, 3)])]), [quoted]);
    }

    #[test]
    fn how_it_is_from_now_on_is_the_change_and_not_learnt() {
        let edited = |said: &str| {
            let mut part = part(1, "why does it fail?", &[(said, 3)]);
            part.edited = vec![crate::model::session::FileChange::of("a.rs".into())];
            learnt(vec![part])
        };
        for said in [
            "All writers now take `lock()` instead of `flock()`.",
            "`append()` no longer falls back to `quay.rs`.",
        ] {
            assert!(edited(said).is_empty(), "{said}");
            // Where nothing was changed, it is how things are.
            assert_eq!(learnt(vec![part(1, "why does it fail?", &[(said, 3)])]), [said]);
        }
        let when = "`append()` now fails when the lock is held by another.";
        assert_eq!(edited(when), [when]);
    }

    #[test]
    fn what_goes_on_about_a_thing_is_no_item_of_a_list() {
        let said = "`tide()` reads the quay - the near one. It doesn't fall back to the pier.";
        let mut changed = part(1, "why is the tide not read?", &[(said, 3)]);
        changed.edited = vec![crate::model::session::FileChange::of("a.rs".into())];
        assert_eq!(learnt(vec![changed]).len(), 1);
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
    fn what_the_person_pasted_stands_before_its_explanation() {
        let error = |mut part: EpisodeFacts| {
            part.errors = crate::distill::errors::in_prompt(&part.prompt);
            assert_eq!(part.errors.len(), 1);
            part
        };
        let prompt = "CI says:\nImportError: libGL.so.1: cannot open shared object file";
        let said = "`ui/app.py` loads Qt, which needs libGL, and no headless runner has that.";
        let aside = "`tox` does not pass the variable on.";
        let with = error(part(1, prompt, &[(aside, 1), (said, 2)]));
        let joined = format!("ImportError: libGL.so.1: cannot open shared object file → {said}");
        assert_eq!(learnt(vec![with]), [joined, aside.to_string()]);

        let without = || {
            let mut part = error(part(1, prompt, &[]));
            part.last_reply =
                "Fixed.\n\nThe failure was caused by an import of Qt at the top of the module."
                    .into();
            part
        };
        let [line] = learnt(vec![without()]).try_into().unwrap();
        assert!(line.starts_with("ImportError: ") && line.contains(" → The failure was"), "{line}");
        assert!(learnt(vec![without(), part(2, "no, that is not it", &[])]).is_empty());
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
