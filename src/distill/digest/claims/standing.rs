//! Standing lines: what holds from now on. The person's rules and facts, what a hook or a linter
//! asks for, and the commands that check the work here.

use super::Line;
use super::own::{Talk, Turn};
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::commands;
use crate::distill::facts::Facts;
use crate::distill::remarks::Demand;
use crate::model::digest::{Claim, Origin};

/// How many a page has, besides the line of checks.
pub const MOST: usize = 3;
/// How many commands the line of checks names.
const MOST_CHECKS: usize = 6;

/// By which rule something stands, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// The person says that it holds beyond this moment.
    Stated,
    /// A hook refused a commit and said what it wants.
    Hook,
    /// The person stopped the agent and said what not to do.
    Stopped,
    /// The person complains in the form of a question.
    Complaint,
    /// A linter forbids something.
    Linter,
}

/// What holds from now on, the surest first.
pub fn standing(talk: &Talk<'_>) -> Vec<Line> {
    let mut found: Vec<(Rule, Line)> = Vec::new();
    for turn in &talk.turns {
        let episode = turn.part.episode;
        for (rule, said) in of_person(turn) {
            found.push((rule, Line::new(said, episode, Origin::User)));
        }
        for demand in &turn.part.remarks.demands {
            let (rule, said) = match demand {
                Demand::Hook(said) => (Rule::Hook, format!("The commit hook asks: {said}")),
                Demand::Linter(said) => (Rule::Linter, format!("The linter says: {said}")),
            };
            found.push((rule, Line::new(said, episode, Origin::Tool)));
        }
    }
    found.sort_by_key(|(rule, line)| (*rule, std::cmp::Reverse(line.episode)));
    found.into_iter().map(|(_, line)| line).collect()
}

/// The person's sentences that hold beyond the moment.
fn of_person(turn: &Turn<'_>) -> Vec<(Rule, String)> {
    let said = turn.said.as_str();
    let words = said.split_whitespace().count();
    let mut found = Vec::new();
    for sentence in text::sentences(said) {
        let length = sentence.split_whitespace().count();
        if !(4..=50).contains(&length) {
            continue;
        }
        if holds(sentence) {
            found.push((Rule::Stated, sentence.to_string()));
        } else if complains(sentence) && length <= 40 {
            // A short question needs what stands around it.
            let whole = length <= 8 && words <= 40;
            found.push((Rule::Complaint, if whole { said.into() } else { sentence.into() }));
        }
    }
    if found.is_empty() && turn.stopped && (4..=30).contains(&words) && forbids(said) {
        found.push((Rule::Stopped, said.to_string()));
    }
    found
}

/// Whether a sentence of the person's says that it holds beyond this moment.
fn holds(sentence: &str) -> bool {
    static HOLDS: StaticRegex = StaticRegex::new(
        r"(?xi-u)\b(?:
            next\ time | from\ now\ on | going\ forward | as\ a\ rule | by\ convention
          | i\ no\ longer | we\ no\ longer\ use
          | (?:do\ not|don't|dont)\ (?:ever\ )?(?:forget\ to|stash|push|commit|touch)\b
          | do\ not\ \w+\ any(?:thing)?
          | make\ sure\ (?:all|that\ all|every|you|to\ always)
          | every\ time | each\ time | whenever
          | public\ repo | to\ live\ in | lowest\ common
          | i\ (?:greatly\ |always\ |never\ |really\ )?(?:value|prefer)\b
          | i\ (?:always|never)\ (?:want|use|like|push|commit|write|run|need|do|work|merge)
          | (?:should|must|please|and|you|we)\ (?:always|never)
          | before\ (?:making|any|starting|committing|pushing|you\ (?:make|change|commit|start|push))
          | commit\ first | as\ you\ go | after\ (?:each|every)
          | let\ me\ know\ at\ the\ end | stop\ (?:using|doing) | must\ not
          | our\ (?:convention|policy|rule)s?
          )\b
          | (?i-u)^(?:please\ |and\ |but\ |also,?\ |no,?\ |ok,?\ )*(?:always|never)\ \w
          | (?i-u)\b(?:do\ not|don't|dont|never|no)\b[\w\s,/-]{3,80}\b(?:unless|without\ (?:asking|my|permission))\b",
    );
    // About one thing now.
    static MOMENT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:this (?:line|button|one|file|test|time|once)|for now|screenshot|so (?:that )?we don't forget)\b",
    );
    !sentence.ends_with('?') && HOLDS.is_match(sentence) && !MOMENT.is_match(sentence)
}

/// Whether a person complains in the form of a question: "why are you still using tabs?".
fn complains(sentence: &str) -> bool {
    static WHY: StaticRegex = StaticRegex::new(
        r"(?i-u)\bwhy (?:are|do|did|would) (?:you|we) (?:still|keep|even|again|always|not)\b|\bwhy are you (?:us|runn|writ|add|creat|ask|edit|do|chang)\w*ing\b",
    );
    WHY.is_match(sentence)
}

/// Whether a person rules something out.
fn forbids(said: &str) -> bool {
    static FORBIDS: StaticRegex =
        StaticRegex::new(r"(?i-u)^(?:please |no,? |ok,? )*(?:do not|don't|dont|never)\b");
    !said.ends_with('?') && FORBIDS.is_match(said)
}

/// The commands that checked the work and passed, as one line: `Checks that passed here: …`.
pub fn checks(facts: &Facts) -> Option<Line> {
    let mut passed: Vec<(String, u32)> = Vec::new();
    for part in facts.own_parts() {
        for check in &part.checks {
            let check = commands::general_check(check);
            if !passed.iter().any(|(known, _)| *known == check) {
                passed.push((check, part.episode));
            }
        }
    }
    // What is short is general; a longer one that begins the same adds nothing.
    passed.sort_by_key(|(check, _)| check.split_whitespace().count());
    let mut kept: Vec<(String, u32)> = Vec::new();
    for (check, episode) in passed {
        let covered = kept.iter().any(|(known, _)| check.starts_with(&format!("{known} ")));
        if !covered && kept.len() < MOST_CHECKS {
            kept.push((check, episode));
        }
    }
    let episode = kept.iter().map(|(_, episode)| *episode).max()?;
    let names: Vec<String> = kept.into_iter().map(|(check, _)| check).collect();
    let list = markdown::code_list(&names, MOST_CHECKS);
    Some(Line::new(format!("{}{list}", Claim::CHECKS), episode, Origin::Tool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::facts::EpisodeFacts;

    fn facts(prompts: &[&str]) -> Facts {
        let part = |(at, prompt): (usize, &&str)| EpisodeFacts::of_prompt(at as u32 + 1, prompt);
        Facts { parts: prompts.iter().enumerate().map(part).collect(), ..Facts::default() }
    }

    fn lines(prompts: &[&str]) -> Vec<String> {
        let facts = facts(prompts);
        standing(&Talk::of(&facts)).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn what_holds_beyond_the_moment_stands() {
        for rule in [
            "Never push to main without asking.",
            "always run the linter before you commit",
            "From now on use bun for scripts.",
            "Don't touch the migrations unless I say so.",
            "next time ask before you delete a branch",
            "i no longer use tmux for this",
            "dont forget to pull before a new branch",
            "commit first so that the answer can name the hash",
            "before making changes, switch to main and pull",
            "we must never name the customer, this is a public repo",
            "update the changelog as you go",
        ] {
            assert_eq!(lines(&[rule]), [rule]);
        }
    }

    #[test]
    fn a_wish_for_the_moment_does_not_stand() {
        for errand in [
            "Add a test for the parser.",
            "Should we always use bun?",
            "i don't want any padding around this button",
            "it never works for me",
            "write it down so we don't forget to do it",
            "never mind",
            "skip this test this time, before making a new one",
        ] {
            assert!(lines(&[errand]).is_empty(), "{errand}: {:?}", lines(&[errand]));
        }
    }

    #[test]
    fn a_complaint_in_the_form_of_a_question_stands() {
        assert_eq!(lines(&["why are you still using vale?"]), ["why are you still using vale?"]);
        assert!(lines(&["why is the cache empty?"]).is_empty());
        assert!(lines(&["why do you think it is slow?"]).is_empty());
    }

    #[test]
    fn what_was_said_on_stopping_the_agent_stands() {
        let mut facts = facts(&["fix it", "do not rewrite the whole file"]);
        assert!(standing(&Talk::of(&facts)).is_empty());
        facts.parts[0].remarks.stopped = true;
        assert_eq!(standing(&Talk::of(&facts))[0].text, "do not rewrite the whole file");
    }

    #[test]
    fn checks_are_one_line() {
        let mut facts = facts(&["fix it", "and that"]);
        assert_eq!(checks(&facts), None);
        facts.parts[0].checks = vec!["just lint".into()];
        facts.parts[1].checks =
            vec!["just test".into(), "just test --fast".into(), "just lint".into()];
        let line = checks(&facts).unwrap();
        assert_eq!(line.text, "Checks that passed here: `just lint`, `just test`");
        assert_eq!((line.episode.0, line.origin), (2, Origin::Tool));
    }
}
