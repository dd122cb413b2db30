//! Standing lines: what holds from now on. The person's rules and facts, what a hook or a linter
//! asks for, and the commands that check the work here.

use super::Line;
use super::own::{self, Talk, Turn};
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::commands;
use crate::distill::digest::paths::shown_path;
use crate::distill::facts::Facts;
use crate::distill::remarks::Demand;
use crate::model::digest::{Claim, Origin};
use crate::model::session::Head;

/// How many a page has, besides the line of checks.
pub const MOST: usize = 3;
/// How many documents the line of plans and notes names.
const MOST_NOTES: usize = 4;
/// How many commands the line of checks names.
const MOST_CHECKS: usize = 6;

/// A prompt of so many sentences is a task with steps.
const STEPS_OF_A_TASK: usize = 3;

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
    let first = talk.turns.iter().find(|turn| turn.first && !turn.said.is_empty());
    let first = first.map_or("", |turn| turn.said.as_str());
    for turn in &talk.turns {
        let episode = turn.part.episode;
        // The first prompt with its steps, or the same again.
        let is_first = turn.first || turn.said == first;
        let has_steps = text::sentences(&turn.said).count() >= STEPS_OF_A_TASK;
        for (rule, said) in of_person(turn) {
            let of_task = is_first && has_steps && is_step(&said);
            // What a task rules out is ruled out for the task.
            let in_task = is_first || has_steps || !forbids(&said);
            if of_task || (in_task && rule == Rule::Stated && is_limit(&said)) {
                continue;
            }
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
        if holds(sentence) || own::is_fact(sentence) {
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

/// Whether a sentence says when something is to be done: in a task that is one of its steps.
fn is_step(sentence: &str) -> bool {
    static STEP: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:after (?:each|every)|before (?:you )?start(?:ing)?|as you go)\b",
    );
    static RULE: StaticRegex =
        StaticRegex::new(r"(?i-u)\b(?:always|never|next time|from now on|don't|do not)\b");
    STEP.is_match(sentence) && !RULE.is_match(sentence)
}

/// Whether a sentence rules something out and does not say that it is for more than the moment:
/// "do not use any tools" is a limit of a task, "never use any tools" is not.
fn is_limit(sentence: &str) -> bool {
    RULES_OUT.is_match(sentence) && !HOLDS.is_match(sentence)
}

/// What is not to be done, without a word of time.
static RULES_OUT: StaticRegex = StaticRegex::new(
    r"(?xi-u)\b(?:do\ not|don't|dont)\ (?:(?:stash|push|commit|touch)\b|\w+\ any(?:thing)?\b)
      | \b(?:do\ not|don't|dont|no)\b[\w\s,/-]{3,80}\bwithout\ (?:asking|my|permission)\b",
);

/// Words that say that something holds beyond this moment.
static HOLDS: StaticRegex = StaticRegex::new(
    r"(?xi-u)\b(?:
        next\ time | from\ now\ on | going\ forward | as\ a\ rule | by\ convention
      | i\ no\ longer | we\ no\ longer\ use
      | (?:do\ not|don't|dont)\ (?:forget\ to|ever)
      | make\ sure\ (?:all|that\ all|every|you|to\ always)
      | every\ time | each\ time | whenever
      | public\ repo | to\ live\ in | lowest\ common
      | i\ (?:greatly\ |always\ |never\ |really\ )?(?:value|prefer)\b
      | i\ (?:always|never)\ (?:want|use|like|push|commit|write|run|need|do|work|merge)
      | (?:should|must|please|and|you|we)\ (?:always|never)
      | before\ (?:making|any|starting|committing|pushing|you\ (?:make|change|commit|start|push))
      | commit\ first | as\ you\ go | after\ (?:each|every)
      | (?:put|capture|save|store|keep|document|write|record)\b[\w\s,/'.-]{2,60}\bin\ (?:the\ |our\ )?[\w./-]+\ (?:directory|folder)
      | let\ me\ know\ at\ the\ end | stop\ (?:using|doing) | must\ not
      | our\ (?:convention|policy|rule)s?
      )\b
      | (?i-u)^(?:please\ |and\ |but\ |also,?\ |no,?\ |ok,?\ )*(?:(?:always|never)\ |in\ (?:the\ )?future,?\ )\w
      | (?i-u)\b(?:(?:do\ not|don't|dont|never|no)\b[\w\s,/-]{3,80}\bunless|never\b[\w\s,/-]{3,80}\bwithout\ (?:asking|my|permission))\b",
);

/// Whether a sentence of the person's says that it holds beyond this moment, or rules something
/// out.
fn holds(sentence: &str) -> bool {
    // About one thing now.
    static MOMENT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:this (?:line|button|one|file|test|time|once)|for now|screenshot|so (?:that )?we don't forget)\b",
    );
    let holds = HOLDS.is_match(sentence) || RULES_OUT.is_match(sentence);
    !sentence.ends_with('?') && holds && !MOMENT.is_match(sentence)
}

/// Whether a person complains in the form of a question: "why are you still using tabs?".
fn complains(sentence: &str) -> bool {
    static WHY: StaticRegex = StaticRegex::new(
        r"(?i-u)\bwhy (?:are|do|did|would) (?:you|we)\b(?u:[^?]{3,120})\b(?:rather than|instead of)\b|\bwhy (?:are|do|did|would) (?:you|we) (?:still|keep|even|again|always|not)\b|\bwhy are you (?:us|runn|writ|add|creat|ask|edit|do|chang)\w*ing\b",
    );
    WHY.is_match(sentence)
}

/// Whether a person rules something out.
fn forbids(said: &str) -> bool {
    static FORBIDS: StaticRegex =
        StaticRegex::new(r"(?i-u)^(?:please |no,? |ok,? )*(?:do not|don't|dont|never)\b");
    !said.ends_with('?') && FORBIDS.is_match(said)
}

/// Where the session keeps plans, todos and notes of the project: a folder that is named for them,
/// in which documents were changed. `Plans and notes are kept in `docs/plans`: …`.
pub fn notes(facts: &Facts, head: &Head) -> Option<Line> {
    static PLACE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:[\w.-]+/){0,2}?(\.?(?:planning|plans?|specs?|todos?|backlog|roadmaps?|adrs?|rfcs?|decisions|designs?|[\w-]*-docs|notes|memory-bank|tasks))/",
    );
    let mut folders: Vec<(String, Vec<String>, u32)> = Vec::new();
    for part in facts.own_parts() {
        for document in &part.written {
            let path = shown_path(&document.path, head.cwd.as_deref());
            let Some(place) = PLACE.find(&path).filter(|_| !path.starts_with(['~', '/'])) else {
                continue;
            };
            let folder = place.as_str().trim_end_matches('/').to_string();
            let name = undated(&path[place.end()..]);
            // A folder that holds nothing but dated documents says little.
            if name.is_empty() {
                continue;
            }
            match folders.iter_mut().find(|(known, ..)| *known == folder) {
                Some((_, names, episode)) => {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                    *episode = part.episode;
                }
                None => folders.push((folder, vec![name], part.episode)),
            }
        }
    }
    let (folder, names, episode) = folders.into_iter().max_by_key(|(_, names, _)| names.len())?;
    let folder = markdown::code(&format!("{folder}/"));
    let names = markdown::code_list(&names, MOST_NOTES);
    Some(Line::new(format!("{}{folder}: {names}", Claim::NOTES), episode, Origin::Tool))
}

/// A document's name; of one that has a date or a number in its name, which is one of many, the
/// folder in which such documents lie.
fn undated(path: &str) -> String {
    static NUMBERED: StaticRegex = StaticRegex::new(r"^\d");
    let name = text::file_name(path);
    match NUMBERED.is_match(name) {
        true => path[..path.len() - name.len()].to_string(),
        false => path.to_string(),
    }
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
            "I'm on Debian 12 here.",
            "I use Bun for all scripts.",
            "put what we found about the lock in the docs/notes directory",
        ] {
            assert_eq!(lines(&[rule]), [rule]);
        }
    }

    #[test]
    fn a_question_that_names_the_better_way_stands() {
        let asked = "why did you write to the day log directly rather than through the lock?";
        assert_eq!(lines(&["lock the day log", asked]), [asked]);
        assert!(complains(asked) && !complains("why did you lock the day log first?"));
    }

    #[test]
    fn documents_in_a_folder_for_plans_show_where_plans_are_kept() {
        let document = |path: &str| crate::distill::facts::Document {
            path: path.into(),
            heading: String::new(),
        };
        let noted = |paths: &[&str]| {
            let mut facts = facts(&["plan the lock"]);
            facts.parts[0].written = paths.iter().copied().map(document).collect();
            let head = Head { cwd: Some("/x".into()), ..Head::default() };
            notes(&facts, &head).map(|line| line.text)
        };
        assert_eq!(
            noted(&["/x/.planning/STATE.md", "/x/.planning/todos/2026-02-21-lock.md"]).as_deref(),
            Some("Plans and notes are kept in `.planning/`: `STATE.md`, `todos/`")
        );
        assert_eq!(
            noted(&["/x/docs/plans/2026-02-21-lock.md"]),
            None,
            "one dated plan is no place"
        );
        assert_eq!(noted(&["/x/src/plan.rs", "/x/README.md"]), None);
        assert_eq!(noted(&["/y/plans/lock.md"]), None, "another folder is not the project's");
    }

    #[test]
    fn a_wish_for_the_moment_does_not_stand() {
        for errand in [
            "Add a test for the parser.",
            "Should we always use bun?",
            "i don't want any padding around this button",
            "it never works for me",
            "I run Bun here and it fails with an error",
            "I'm on the second page of the log",
            "write it down so we don't forget to do it",
            "never mind",
            "skip this test this time, before making a new one",
        ] {
            assert!(lines(&[errand]).is_empty(), "{errand}: {:?}", lines(&[errand]));
        }
    }

    #[test]
    fn a_step_of_the_first_task_does_not_stand() {
        let step = "After each tide, tell me what you saw.";
        let task = format!("Read the harbour log. {step} Then write a page.");
        assert!(lines(&[&task]).is_empty());
        assert!(lines(&[&task, "go on", &task]).is_empty());
        assert_eq!(lines(&["lock the harbour log", &task]), [step]);
        assert_eq!(lines(&[step]), [step]);
    }

    #[test]
    fn what_a_task_rules_out_is_ruled_out_for_the_task() {
        for limit in [
            "Do NOT explore the harbour and do NOT ask any questions of the pilot.",
            "do not use any boats, just answer.",
            "Fix the lock and don't push before I have seen it.",
            "Walk to the pier without asking me anything, and do NOT run any further rounds.",
        ] {
            assert!(lines(&[limit]).is_empty(), "{limit}");
            let task = format!("Read the harbour log. {limit} Then write a page.");
            assert!(lines(&["lock the harbour log", &task]).is_empty(), "{task}");
        }
        let limit = "Say what you saw and do not ask any further questions";
        assert!(lines(&["lock the harbour log", limit]).is_empty());
        for rule in [
            "In future do not use any boats without a light.",
            "do not move any boat unless I ask for it",
            "don't ever touch any of the nets",
        ] {
            assert_eq!(lines(&[rule]), [rule]);
        }
        // Said in between, it corrects how the agent works.
        let said = "do not stash anything, read the logs you need";
        assert_eq!(lines(&["lock the harbour log", said]), [said]);
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
