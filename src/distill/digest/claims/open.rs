//! Open ends: what the session left to do. What git and the tools show comes first; then what the
//! agent named as deferred, and what the person put off. A closing offer is none.

use super::Line;
use super::own::Talk;
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::digest::paths::shown_path;
use crate::distill::facts::{Document, Facts};
use crate::distill::remarks::straight;
use crate::distill::work_tree::{LastCommit, WorkTree};
use crate::distill::{lists, replies};
use crate::model::digest::Origin;
use crate::model::session::Head;

/// How many a page has.
pub const MOST: usize = 4;
/// How many files a line names.
const MOST_FILES: usize = 4;
/// How many things of the agent's list a line names.
const MOST_TODOS: usize = 3;
/// How many prompts from the end still count as the end.
const LATE: usize = 6;

/// What was left to do, the surest first.
pub fn open(facts: &Facts, talk: &Talk<'_>, head: &Head) -> Vec<Line> {
    let last = facts.parts.last().map_or(0, |part| part.last_episode);
    let mut lines: Vec<Line> = of_tree(&facts.work_tree, head)
        .into_iter()
        .map(|text| Line::new(text, last, Origin::Tool))
        .collect();
    for (document, episode) in written_todos(facts, head) {
        lines.push(Line::new(document, episode, Origin::Tool));
    }
    let spoken: Vec<_> = talk.turns.iter().filter(|turn| !turn.said.is_empty()).collect();
    if let Some(turn) = talk.turns.last() {
        let listed = listed_as_open(&turn.part.last_reply);
        for said in listed.into_iter().chain(deferred(&turn.part.last_reply)).take(2) {
            lines.push(Line::new(said, turn.part.episode, Origin::Assistant));
        }
    }
    for turn in spoken.iter().rev().take(LATE) {
        for said in text::sentences(&turn.said).filter(|said| puts_off(said)).take(1) {
            lines.push(Line::new(said, turn.part.episode, Origin::User));
        }
    }
    lines
}

/// The things to do that were written down as files: `docs/todos/retry.md`.
fn written_todos(facts: &Facts, head: &Head) -> Vec<(String, u32)> {
    static PLACE: StaticRegex = StaticRegex::new(r"(?i)(?:^|/)(?:todos?|backlog|pending|issues)/");
    static DONE: StaticRegex = StaticRegex::new(r"(?i)/(?:done|closed|archived?|completed)/");
    let written = facts
        .own_parts()
        .flat_map(|part| part.written.iter().map(move |document| (document, part.last_episode)));
    let todos = written
        .filter(|(document, _)| PLACE.is_match(&document.path) && !DONE.is_match(&document.path));
    let line = |(document, episode): (&Document, u32)| {
        let path = markdown::code(&shown_path(&document.path, head.cwd.as_deref()));
        let text = match document.heading.is_empty() {
            true => format!("Todo in {path}"),
            false => format!("Todo in {path}: {}", document.heading),
        };
        (text, episode)
    };
    todos.map(line).take(2).collect()
}

/// What git and the tools show.
fn of_tree(tree: &WorkTree, head: &Head) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(call) = &tree.cut_off {
        lines.push(format!("The log ends at {}, which has no answer", markdown::code(call)));
    }
    let branch = [tree.branch.as_str(), head.branch.as_deref().unwrap_or_default()]
        .into_iter()
        .find(|branch| !branch.is_empty() && *branch != "HEAD");
    let on = branch.map(|branch| format!(" on branch {}", text::one_line(branch, 80)));
    let on = on.unwrap_or_default();
    let in_git = tree.uses_git || head.branch.is_some();
    if !tree.changed.is_empty() && in_git {
        let cwd = head.cwd.as_deref();
        let names: Vec<String> =
            tree.changed.iter().rev().map(|path| named_path(path, cwd)).collect();
        lines.push(format!(
            "Changes{on} are not committed: {}",
            markdown::code_list(&names, MOST_FILES)
        ));
    }
    // On the main branch nobody waits for a push: whoever works there pushes when they like.
    let own_branch =
        branch.is_some_and(|name| !matches!(name, "main" | "master" | "develop" | "dev" | "trunk"));
    let waiting = |commit: &&LastCommit| !commit.pushed && own_branch && !commit.hash.is_empty();
    if let Some(commit) = tree.commit.as_ref().filter(waiting) {
        let subject = commit.subject.trim_end_matches('.');
        let subject = if subject.is_empty() { String::new() } else { format!(": {subject}") };
        lines.push(format!("Commit {}{on} is not pushed{subject}", commit.hash));
    }
    let opened = head.pull_requests.last().filter(|_| !tree.merged);
    let opened = opened.map(|url| url.rsplit('/').next().unwrap_or(url));
    if let Some(number) = tree.pulls.last().map(String::as_str).or(opened) {
        lines.push(format!("PR #{number}{on} is not merged yet"));
    }
    if let Some((command, error)) = &tree.failing {
        let error = text::one_line(error, 160);
        lines.push(format!("The last command failed: {}: {error}", markdown::code(command)));
    }
    let left = tree.todo.left(tree.cut_off.is_some());
    if !left.is_empty() {
        let shown = left[..left.len().min(MOST_TODOS)].join("; ");
        let more = left.len().saturating_sub(MOST_TODOS);
        lines.push(format!("Not done on the agent's list: {}", text::and_more(&shown, more)));
    }
    if tree.unverified > 1 {
        lines.push(format!("{} commits were made with --no-verify", tree.unverified));
    }
    lines
}

/// A path within the session's folder, or the last two names of another.
fn named_path(path: &str, cwd: Option<&str>) -> String {
    let shown = shown_path(path, cwd);
    if !shown.starts_with(['/', '~']) && !shown.contains(':') {
        return shown;
    }
    let names: Vec<&str> = path.split(['/', '\\']).filter(|name| !name.is_empty()).collect();
    names[names.len().saturating_sub(2)..].join("/")
}

/// The points of a last reply that stand under a heading which says that they are not done.
fn listed_as_open(reply: &str) -> Vec<String> {
    static OPEN: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:deferred|not (?:yet )?(?:done|fixed|changed|addressed|included|covered|verified|implemented|tested)|remaining|left (?:open|to do|out|for later|undone)|still (?:open|to do|missing|needed|pending)|follow-?ups?|out of scope|known (?:limitations?|issues?|gaps?)|to-?do|open (?:questions?|items?|points?|ends?|issues?)|skipped|unresolved|blocked|not (?:run|committed|pushed|merged))\b",
    );
    // What was open and is no more.
    static DONE: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:resolved|fixed|closed|done|completed|addressed|no)\b");
    let is_open = |heading: &str| {
        let rest = OPEN.replace(heading, "");
        OPEN.is_match(heading) && !DONE.is_match(&rest) && heading.split_whitespace().count() <= 8
    };
    lists::points(&straight(reply))
        .into_iter()
        .filter(|point| is_open(&point.heading) && !point.text.ends_with('?'))
        .filter(|point| (3..=60).contains(&point.text.split_whitespace().count()))
        .map(|point| point.text)
        .collect()
}

/// The sentences of a last reply that name something as not done.
fn deferred(reply: &str) -> Vec<String> {
    static DEFERS: StaticRegex = StaticRegex::new(
        r"(?xi-u)\b(?:
            (?:intentionally\ |deliberately\ )?deferred | left\ (?:out|for\ later|open|undecided)
          | not\ (?:yet\ )?(?:implemented|committed|pushed|merged|deployed|migrated|wired|covered|tested\ yet)
          | not\ yet | still\ (?:needs?|to\ (?:do|be)|missing|open|pending|running)
          | remains?\ (?:open|to\ be|unfixed|undecided) | open\ question | follow-?up\ (?:pr|issue|work|task)
          | (?:after|once)\ (?:this|it|that|the\ \w+)\ (?:lands|merges|is\ merged|is\ published|ships)
          | (?:tests?|suite|checks?|build|lint)\ (?:\w+\ )?(?:was|were|is|are)\ not\ run | (?:did\ not|didn't|haven't|have\ not)\ (?:run|test|tested|verif\w+|push\w*|commit\w*)
          | (?:couldn't|could\ not|unable\ to)\ (?:run|verify|test|push|publish|deploy|reproduce) | not\ (?:been\ )?(?:verified|run\ yet) | untested
          | pre-?existing\ (?:\w+\ ){0,2}(?:failures?|errors?|issues?|bugs?|warnings?)
          | you'll\ (?:still\ )?need\ to | needs?\ to\ be\ (?:run|done|merged|pushed|published|added|decided)
          )\b",
    );
    static OFFERS: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:resolved|removed|fixed|done|want me to|should i|shall i|would you like|do you want|let me know|if you (?:want|like|prefer))\b",
    );
    let reply = straight(reply);
    text::sentences(&replies::split_code(&reply).0)
        .map(|said| text::one_line(&markdown::strip_marks(said), 300))
        .filter(|said| (5..=50).contains(&said.split_whitespace().count()))
        .filter(|said| !said.ends_with(['?', ':']) && !said.contains('|'))
        .filter(|said| DEFERS.is_match(said) && !OFFERS.is_match(said))
        .collect()
}

/// Whether the person puts something off.
fn puts_off(said: &str) -> bool {
    static LATER: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:add (?:a |it to )?\w* ?todo|(?:as|in) a (?:follow-?up|separate pr)|(?:do|use|add|fix|implement\w*|handle|revisit) (?:it |this |that )?(?:at a )?later|later time|another (?:session|pr)|not now)\b",
    );
    (5..=40).contains(&said.split_whitespace().count()) && LATER.is_match(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_shows_is_open() {
        let tree = WorkTree {
            branch: "fix/lock".into(),
            commit: Some(LastCommit {
                hash: "1a2b3c4".into(),
                subject: "lock first".into(),
                pushed: false,
            }),
            changed: vec!["/work/demo/src/day.rs".into()],
            pulls: vec!["12".into()],
            unverified: 2,
            uses_git: true,
            ..WorkTree::default()
        };
        assert_eq!(
            of_tree(&tree, &Head::default()),
            [
                "Changes on branch fix/lock are not committed: `src/day.rs`",
                "Commit 1a2b3c4 on branch fix/lock is not pushed: lock first",
                "PR #12 on branch fix/lock is not merged yet",
                "2 commits were made with --no-verify",
            ]
        );
        let tree =
            WorkTree { uses_git: false, commit: None, pulls: Vec::new(), unverified: 1, ..tree };
        assert!(of_tree(&tree, &Head::default()).is_empty(), "no repository was seen");
        let head =
            Head { branch: Some("main".into()), cwd: Some("/work/demo".into()), ..Head::default() };
        assert_eq!(
            of_tree(&tree, &head),
            ["Changes on branch fix/lock are not committed: `src/day.rs`"]
        );
        let tree = WorkTree { changed: vec!["/work/demo/day.rs".into()], ..tree };
        assert!(of_tree(&tree, &head)[0].ends_with(": `day.rs`"));
    }

    #[test]
    fn a_command_that_fails_in_the_end_is_open() {
        let failing = Some(("npm publish".to_string(), "error: no such tag".to_string()));
        assert_eq!(
            of_tree(&WorkTree { failing, ..WorkTree::default() }, &Head::default()),
            ["The last command failed: `npm publish`: error: no such tag"]
        );
    }

    #[test]
    fn a_log_that_was_cut_off_says_so() {
        let tree = WorkTree { cut_off: Some("git commit -m x".into()), ..WorkTree::default() };
        assert_eq!(
            of_tree(&tree, &Head::default()),
            ["The log ends at `git commit -m x`, which has no answer"]
        );
    }

    #[test]
    fn what_the_agent_defers_is_open_and_an_offer_is_not() {
        assert_eq!(
            deferred(
                "All green. Windows paths are intentionally deferred to the next release. After this lands, run `just publish` once."
            ),
            [
                "Windows paths are intentionally deferred to the next release.",
                "After this lands, run `just publish` once.",
            ]
        );
        assert!(deferred("That resolved the open question about the lock.").is_empty());
        assert!(deferred("Want me to add what is not yet covered by tests?").is_empty());
        assert!(deferred("If you like, I can add what is not yet covered.").is_empty());
        assert!(deferred("Everything is merged and pushed to the main branch.").is_empty());
        for unproved in [
            "The integration tests were not run on Windows.",
            "I could not verify the upload against a real server.",
            "There are two pre-existing lint warnings in the day log.",
        ] {
            assert_eq!(deferred(unproved), [unproved]);
        }
    }

    #[test]
    fn points_under_a_heading_of_what_is_not_done_are_open() {
        let reply = "All done.\n\n### Changed\n- Locked the day log first\n\n### Not done yet\n- The lock on network drives\n- Should it wait longer?\n\n### Open questions, all resolved\n- The name of the lock file";
        assert_eq!(listed_as_open(reply), ["The lock on network drives"]);
    }

    #[test]
    fn a_todo_that_was_written_down_is_open() {
        let mut part = crate::distill::facts::EpisodeFacts::of_prompt(1, "note it for later");
        let document =
            |path: &str, heading: &str| Document { path: path.into(), heading: heading.into() };
        part.written = vec![
            document("/x/docs/todos/retry.md", "Retry when the lock is held"),
            document("/x/docs/todos/done/lock.md", "Lock first"),
            document("/x/docs/guide.md", "Guide"),
        ];
        part.last_episode = 2;
        let facts = Facts { parts: vec![part], ..Facts::default() };
        let head = Head { cwd: Some("/x".into()), ..Head::default() };
        assert_eq!(
            written_todos(&facts, &head),
            [("Todo in `docs/todos/retry.md`: Retry when the lock is held".to_string(), 2)]
        );
    }

    #[test]
    fn what_the_agents_list_leaves_is_open() {
        let mut tree = WorkTree::default();
        let action = crate::model::session::Action::Plan {
            text: "[x] lock first\n[ ] write the header\n[ ] try it on Windows".into(),
        };
        let call = crate::distill::steps::ToolCall {
            id: String::new(),
            tool: "TodoWrite".into(),
            action,
            by: crate::model::session::Actor::Agent,
            answer: None,
        };
        tree.todo.take(&call);
        assert_eq!(
            of_tree(&tree, &Head::default()),
            ["Not done on the agent's list: write the header; try it on Windows"]
        );
    }

    #[test]
    fn what_the_person_puts_off_is_open() {
        assert!(puts_off("i think let's add a todo for the retry"));
        assert!(puts_off("we can handle it later in a separate pr"));
        assert!(!puts_off("see you later then my friend"));
    }
}
