//! A digest from the facts of a session: what was wanted, what came of it, and how it went.
//!
//! Deterministic and without a model: the objective is the person's own words, outcomes are what tests,
//! commits and files show, and every part of the session gets its trigger.

use crate::base::text;
use crate::distill::facts::{Facts, Part, Signal};
use crate::distill::{cost, outcome, stated, triggers, worth};
use crate::model::digest::{Content, Outcome};
use crate::model::evidence::{Evidence, FileState, Proof, SHOWN_DIGITS};
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// Which summarizer this is; a newer one rewrites what an older one wrote.
pub const MADE_BY: &str = "extractive/1";

/// How many files or commits a page lists.
const MOST_LISTED: usize = 24;
/// How much evidence a page lists.
const MOST_EVIDENCE: usize = 12;

/// What the digest of a session says.
pub fn content(flavor: &str, facts: &Facts, head: &Head, sensory: u64) -> Content {
    let spoken: Vec<&Part> = facts.parts.iter().filter(|part| !part.prompt.is_empty()).collect();
    let own: Vec<&Part> = spoken.iter().copied().filter(|part| !part.inherited).collect();
    let first = own.iter().find(|part| !part.rewound).or(own.first()).or(spoken.first());
    let wanted = first.map_or_else(|| facts.first_command.clone().unwrap_or_default(), |part| part.prompt.clone());
    let objective = text::first_sentence(&wanted, 120);
    let status = outcome::outcome(facts);
    let title = head.title.as_deref().map(|title| text::one_line(title, 100)).filter(|title| !title.is_empty());
    let files = files(facts, head.cwd.as_deref());
    let sum = |count: fn(&crate::model::session::ModelUsage) -> u64| head.usage.iter().map(count).sum();
    let title = title.unwrap_or_else(|| text::first_sentence(&wanted, 80));
    let motto = motto(facts, &objective);
    let core_intent = core_intent(&wanted, &own);
    let key_outcomes = key_outcomes(facts, head, &files);
    let evidence = evidence(facts, head.cwd.as_deref());
    let told: Vec<&str> =
        [&title, &objective, &motto, &core_intent].into_iter().chain(&key_outcomes).map(String::as_str).collect();
    // Paths and hashes are in the front matter, and what is told stands there and in the body.
    let listed = files.iter().map(|file| text::tokens(file) + 2).sum::<usize>() + 42 * evidence.len();
    let elsewhere = listed + told.iter().map(|line| text::tokens(line) * 3 / 2).sum::<usize>();
    Content {
        flavor: flavor.to_string(),
        triggers: triggers::triggers(facts, &told, elsewhere),
        title,
        status,
        worth: worth::worth(facts),
        motto,
        core_intent,
        key_outcomes,
        arc: arc(facts, status),
        stated: stated::claims(facts),
        project: project(head),
        domain: None,
        cwd: head.cwd.as_deref().map(|cwd| homely(&text::one_line(cwd, 300))),
        branch: head.branch.as_deref().map(|branch| text::one_line(branch, 100)),
        commits: unique(facts.commits().map(|commit| text::cut(&commit.hash, 12).to_string()).take(MOST_LISTED)),
        models: unique(head.usage.iter().map(|usage| text::one_line(&usage.model, 60))),
        started: facts.started,
        ended: facts.ended,
        episodes: facts
            .parts
            .first()
            .map(|first| (EpisodeId(first.episode), EpisodeId(facts.parts.last().map_or(0, |last| last.last_episode)))),
        turns: facts.prompts,
        tokens_in: sum(|usage| usage.input),
        tokens_out: sum(|usage| usage.output),
        tokens_cache: sum(|usage| usage.cache_read + usage.cache_write),
        cost_usd: cost::cost_usd(&head.usage),
        files,
        evidence,
        tags: Vec::new(),
        vitals: String::new(),
        sensory,
        made_by: MADE_BY.into(),
        objective,
    }
}

/// The person's words: the first wish, and what was asked for after it.
fn core_intent(wanted: &str, own: &[&Part]) -> String {
    let first = text::one_line(wanted, 200);
    let later: Vec<String> = own
        .iter()
        .skip(1)
        .filter(|part| !part.rewound)
        .map(|part| text::first_sentence(&part.prompt, 70))
        .filter(|sentence| sentence.chars().count() > 30)
        .take(2)
        .collect();
    if later.is_empty() { first } else { format!("{first} Then: {}", later.join("; ")) }
}

/// What was changed, what passed, what was committed, and how the agent closed.
fn key_outcomes(facts: &Facts, head: &Head, files: &[String]) -> Vec<String> {
    let mut outcomes = Vec::new();
    if let Some(closing) = facts.parts.iter().rev().find(|part| !part.rewound && !part.last_reply.is_empty()) {
        outcomes.extend(triggers::closing_sentence(closing).map(|closing| closing.trim_end_matches('.').to_string()));
    }
    if !files.is_empty() {
        let names: Vec<&str> = files.iter().take(4).map(String::as_str).collect();
        let more = if files.len() > 4 { format!(" and {} more", files.len() - 4) } else { String::new() };
        outcomes.push(format!("changed {}{more}", names.join(", ")));
    }
    let tests: Vec<&outcome::Verdict> = facts.parts.iter().flat_map(|part| &part.tests).collect();
    if let Some(last) = tests.last() {
        let verdict = if last.passed { "tests passed" } else { "tests failed" };
        outcomes.push(if last.summary.is_empty() { verdict.into() } else { format!("{verdict} ({})", last.summary) });
    }
    for commit in facts.commits().take(3) {
        outcomes.push(format!("committed {} {}", text::cut(&commit.hash, 12), commit.message));
    }
    for url in head.pull_requests.iter().take(2) {
        outcomes.push(format!("opened {}", text::one_line(url, 120)));
    }
    outcomes
}

/// How it went, from its signals.
fn arc(facts: &Facts, status: Outcome) -> String {
    let signals: Vec<Signal> = facts.parts.iter().flat_map(|part| part.signals.iter().copied()).collect();
    let failed_tests = signals.iter().filter(|signal| **signal == Signal::Test(false)).count();
    let errors = signals.iter().filter(|signal| **signal == Signal::Error).count();
    let mut arc = vec!["steady".to_string()];
    if failed_tests > 0 {
        arc.push(format!("stuck ({failed_tests} failing test {})", if failed_tests == 1 { "run" } else { "runs" }));
    } else if errors >= 3 {
        arc.push(format!("stuck ({errors} errors)"));
    }
    let stuck = arc.len() > 1;
    match status {
        Outcome::Success if stuck => arc.push("solved".into()),
        Outcome::Fail => arc.push("unsolved".into()),
        Outcome::Abandoned => arc.push("left".into()),
        _ => {}
    }
    if facts.interventions > 0 && !stuck {
        arc.push(format!("interrupted ({})", facts.interventions));
    }
    arc.join(" → ")
}

/// A short saying from the session itself.
fn motto(facts: &Facts, objective: &str) -> String {
    let stated = facts
        .parts
        .iter()
        .flat_map(|part| &part.stated)
        .map(|stated| stated.text.as_str())
        .filter(|sentence| (15..=90).contains(&sentence.chars().count()))
        .min_by_key(|sentence| sentence.len());
    text::one_line(&triggers::plain_words(stated.unwrap_or(objective)), 90)
}

/// The files that were changed, relative to the session's folder where they lie in it.
fn files(facts: &Facts, cwd: Option<&str>) -> Vec<String> {
    let paths = facts.parts.iter().filter(|part| !part.inherited && !part.rewound).flat_map(|part| &part.edited);
    let mut files = unique(paths.map(|file| shown_path(&file.path, cwd)));
    files.truncate(MOST_LISTED);
    files
}

/// A path as a page shows it: relative to the session's folder where it lies in it.
fn shown_path(path: &str, cwd: Option<&str>) -> String {
    let path = text::one_line(path, 200);
    let relative = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/').map(str::to_string));
    homely(&relative.unwrap_or(path))
}

/// What the page's claims can be checked against: the commits and the files as they were left, by episode. Where
/// there are too many, what tells most stays: commits, then files with a hash, then those that came last.
fn evidence(facts: &Facts, cwd: Option<&str>) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for part in facts.parts.iter().filter(|part| !part.inherited && !part.rewound) {
        let episode = EpisodeId(part.episode);
        for file in &part.edited {
            let path = shown_path(&file.path, cwd);
            // The latest state of a file is the one that can be checked.
            found.retain(|known| !matches!(&known.proof, Proof::File { path: before, .. } if *before == path));
            let shown = |digits: &String| text::cut(digits, SHOWN_DIGITS).to_string();
            let state = match &file.state {
                FileState::Sha256(digits) => FileState::Sha256(shown(digits)),
                state => state.clone(),
            };
            found.push(Evidence { episode, proof: Proof::File { path, state } });
        }
        let commits = part.commits.iter().map(|commit| Proof::Commit(text::cut(&commit.hash, 12).to_string()));
        found.extend(commits.map(|proof| Evidence { episode, proof }));
    }
    let weight = |evidence: &Evidence| match &evidence.proof {
        Proof::Commit(_) => 0,
        Proof::File { state: FileState::Sha256(_) | FileState::Deleted, .. } => 1,
        Proof::File { state: FileState::Unknown, .. } => 2,
    };
    let mut kept: Vec<usize> = (0..found.len()).collect();
    kept.sort_by_key(|at| (weight(&found[*at]), usize::MAX - at));
    kept.truncate(MOST_EVIDENCE);
    kept.sort_unstable();
    kept.into_iter().map(|at| found[at].clone()).collect()
}

fn project(head: &Head) -> Option<String> {
    project_name(head.remote.as_deref(), head.cwd.as_deref())
}

/// What a project is called: by its git remote or its folder, so that worktrees agree.
pub fn project_name(remote: Option<&str>, cwd: Option<&str>) -> Option<String> {
    let from_remote = remote.and_then(|remote| {
        let name = remote.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next()?;
        (!name.is_empty()).then(|| name.to_string())
    });
    let name = from_remote.or_else(|| {
        let cwd = cwd?.replace('\\', "/");
        let mut folder = cwd.trim_end_matches('/');
        for mark in ["/.claude/worktrees/", "/.worktrees/", "/worktrees/", "/.git/"] {
            if let Some((before, _)) = folder.split_once(mark) {
                folder = before;
            }
        }
        folder.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_string)
    })?;
    Some(text::one_line(&name, 80)).filter(|name| !name.is_empty() && name != "." && name != "..")
}

/// A path with the home directory, whose name is nobody's business, as `~`.
fn homely(path: &str) -> String {
    for homes in ["/home/", "/Users/"] {
        if let Some(rest) = path.strip_prefix(homes) {
            return match rest.split_once('/') {
                Some((_, below)) => format!("~/{below}"),
                None => "~".into(),
            };
        }
    }
    path.to_string()
}

fn unique(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for item in items {
        if !item.is_empty() && !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}
