//! Key outcomes: what came of a session, line by line, each with its episode.

use crate::base::text;
use crate::distill::commands::Commit;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::{replies, words};
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// How many commits, pull requests, solved errors and files are listed.
const MOST_COMMITS: usize = 4;
const MOST_OPENED: usize = 3;
const MOST_SOLVED: usize = 2;
const MOST_FILES: usize = 4;

/// How the agent closed, what was changed, what passed, what was committed or opened, which errors
/// were solved by what, and what is still open.
pub fn key_outcomes(facts: &Facts, head: &Head, files: &[String]) -> Vec<String> {
    let parts: Vec<&EpisodeFacts> = facts.own_parts().collect();
    let mut outcomes: Vec<String> = closing(facts, &parts).into_iter().collect();
    let changed = parts.iter().rev().find(|part| !part.edited.is_empty() && !files.is_empty());
    outcomes.extend(changed.map(|last| {
        let (shown, more) = files.split_at(files.len().min(MOST_FILES));
        at(format!("changed {}", text::and_more(&shown.join(", "), more.len())), last)
    }));
    outcomes.extend(tests(&parts));
    outcomes.extend(commits(&parts));
    add_opened(&mut outcomes, &parts, head);
    let solved = each(&parts, |part| &part.solved).take(MOST_SOLVED).map(|(part, solved)| {
        let error = text::one_line(&solved.error.replace('`', "'"), 90);
        at(format!("`{error}` solved by {}", solved.by), part)
    });
    outcomes.extend(solved);
    if let Some(part) = parts.last().filter(|_| !facts.is_talk())
        && let Some(open) = replies::open_item(&part.last_reply)
        && !outcomes.first().is_some_and(|closing| closing.starts_with(open.trim_end_matches('.')))
    {
        outcomes.push(at(format!("open: {}", open.trim_end_matches('.')), part));
    }
    outcomes
}

/// Whether a sentence only says that something was committed: git says which.
pub fn says_commit(sentence: &str) -> bool {
    let start = sentence.trim_start_matches(['✅', ' ']);
    ["Committed", "Commit ", "Commit:", "Pushed commit"]
        .iter()
        .any(|beginning| start.starts_with(beginning))
}

/// How the agent closed, unless that says little beside what was done.
fn closing(facts: &Facts, parts: &[&EpisodeFacts]) -> Option<String> {
    let part = parts.iter().rev().find(|part| !part.last_reply.is_empty())?;
    let said = replies::closing_sentence_except(&part.last_reply, says_commit)?;
    let said = said.trim_end_matches('.');
    if facts.tool_calls > 0 && words::sentence_weight(said) < 1.0 {
        return None;
    }
    let stopped =
        matches!(part.signals.last(), Some(Signal::Work | Signal::Interrupted | Signal::Error));
    let said = if stopped { format!("it stopped after: {said}") } else { said.to_string() };
    Some(if facts.is_talk() { said } else { at(said, part) })
}

/// The last test run, and how many failed before it.
fn tests(parts: &[&EpisodeFacts]) -> Option<String> {
    let mut runs = each(parts, |part| &part.tests).rev();
    let (part, last) = runs.next()?;
    let failed = runs.filter(|(_, run)| !run.passed).count();
    let mut line = String::from(if last.passed { "tests passed" } else { "tests failed" });
    if last.passed && failed > 0 {
        line.push_str(&format!(" after {}", text::counted(failed, "failing run")));
    }
    if !last.summary.is_empty() {
        line.push_str(&format!(": {}", last.summary));
    }
    Some(at(line, part))
}

/// The latest commits, which say what it came to, and how many there were before.
fn commits(parts: &[&EpisodeFacts]) -> Vec<String> {
    let mut commits: Vec<(&EpisodeFacts, &Commit)> = Vec::new();
    for (part, commit) in each(parts, |part| &part.commits) {
        if !commits.iter().any(|(_, known)| known.hash == commit.hash) {
            commits.push((part, commit));
        }
    }
    let earlier = commits.len().saturating_sub(MOST_COMMITS);
    let latest = commits[earlier..].iter().map(|(part, commit)| {
        at(format!("committed {} {}", text::cut(&commit.hash, 12), commit.message), part)
    });
    latest.chain((earlier > 0).then(|| format!("{earlier} earlier commits"))).collect()
}

/// Adds the pull requests that were opened, by a command or as the log says.
fn add_opened(outcomes: &mut Vec<String>, parts: &[&EpisodeFacts], head: &Head) {
    let opened = each(parts, |part| &part.opened).map(|(part, url)| (url, Some(part)));
    let mut added: Vec<&str> = Vec::new();
    for (url, part) in opened.chain(head.pull_requests.iter().map(|url| (url, None))) {
        let is_listed = outcomes.iter().any(|outcome| outcome.contains(url.as_str()));
        if added.len() < MOST_OPENED && !is_listed && !added.contains(&url.as_str()) {
            added.push(url);
            let opened = format!("opened {}", text::one_line(url, 120));
            outcomes.push(part.map_or(opened.clone(), |part| at(opened, part)));
        }
    }
}

/// Every item of a list that each part has, with its part.
fn each<'p, T: 'p>(
    parts: &[&'p EpisodeFacts],
    list: fn(&EpisodeFacts) -> &Vec<T>,
) -> impl DoubleEndedIterator<Item = (&'p EpisodeFacts, &'p T)> {
    parts.iter().flat_map(move |part| list(part).iter().map(move |item| (*part, item)))
}

/// An outcome with the episode that it comes from.
fn at(outcome: String, part: &EpisodeFacts) -> String {
    format!("{outcome} ({})", EpisodeId(part.last_episode))
}
