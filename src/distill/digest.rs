//! A digest from the facts of a session: what was wanted, what came of it, and how it went.
//!
//! Deterministic and without a model: the objective is the person's own words, outcomes are what
//! tests, commits and files show, and every part of the session gets its trigger.

use crate::base::text;
use crate::distill::facts::Facts;
use crate::distill::{cost, evidence, note, outcome, stated, triggers, worth};
use crate::model::digest::Content;
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// Which summarizer this is; a newer one rewrites what an older one wrote.
pub const MADE_BY: &str = "extractive/1";

/// How many files or commits a page lists.
const MOST_LISTED: usize = 24;

/// What the digest of a session says.
pub fn content(flavor: &str, facts: &Facts, head: &Head, sensory: u64) -> Content {
    let files = files(facts, head.cwd.as_deref());
    let sum =
        |count: fn(&crate::model::session::ModelUsage) -> u64| head.usage.iter().map(count).sum();
    let title = head
        .title
        .as_deref()
        .map(|title| text::one_line(title, 100))
        .filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| note::title(facts));
    let status = outcome::outcome(facts);
    let objective = note::objective(facts);
    let motto = note::motto(facts, &objective);
    let core_intent = note::core_intent(facts);
    let key_outcomes = note::key_outcomes(facts, head, &files);
    let told: Vec<&str> = [&title, &objective, &motto, &core_intent]
        .into_iter()
        .chain(&key_outcomes)
        .map(String::as_str)
        .collect();
    let stated = stated::claims(facts);
    let evidence = evidence::evidence(facts, head.cwd.as_deref());
    // Paths and hashes are in the front matter, and what is told stands there and in the body.
    let claimed: usize = stated.iter().map(|claim| text::tokens(&claim.text) + 30).sum();
    let listed =
        files.iter().map(|file| text::tokens(file) + 2).sum::<usize>() + 42 * evidence.len();
    let elsewhere =
        listed + claimed + told.iter().map(|line| text::tokens(line) * 3 / 2).sum::<usize>();
    Content {
        flavor: flavor.to_string(),
        triggers: triggers::triggers(facts, &told, elsewhere),
        title,
        status,
        worth: worth::worth(facts),
        motto,
        core_intent,
        key_outcomes,
        arc: note::arc(facts, status),
        stated,
        project: project(head),
        domain: None,
        cwd: head.cwd.as_deref().map(|cwd| homely(&text::one_line(cwd, 300))),
        branch: head.branch.as_deref().map(|branch| text::one_line(branch, 100)),
        commits: unique(
            facts.commits().map(|commit| text::cut(&commit.hash, 12).to_string()).take(MOST_LISTED),
        ),
        models: unique(head.usage.iter().map(|usage| text::one_line(&usage.model, 60))),
        started: facts.started,
        ended: facts.ended,
        episodes: facts.parts.first().map(|first| {
            (
                EpisodeId(first.episode),
                EpisodeId(facts.parts.last().map_or(0, |last| last.last_episode)),
            )
        }),
        own_episodes: String::new(),
        turns: facts.prompts,
        tokens_in: sum(|usage| usage.input),
        tokens_out: sum(|usage| usage.output),
        tokens_cache: sum(|usage| usage.cache_read + usage.cache_write),
        cost_usd: cost::cost_usd(&head.usage),
        files,
        evidence: evidence::evidence(facts, head.cwd.as_deref()),
        tags: Vec::new(),
        vitals: String::new(),
        sensory,
        made_by: MADE_BY.into(),
        objective,
    }
}

/// The files that were changed, relative to the session's folder where they lie in it.
fn files(facts: &Facts, cwd: Option<&str>) -> Vec<String> {
    let paths = facts
        .parts
        .iter()
        .filter(|part| !part.inherited && !part.rewound)
        .flat_map(|part| &part.edited);
    let mut files = unique(paths.map(|file| shown_path(&file.path, cwd)));
    files.truncate(MOST_LISTED);
    files
}

/// A path as a page shows it: relative to the session's folder where it lies in it.
pub fn shown_path(path: &str, cwd: Option<&str>) -> String {
    let path = text::one_line(path, 200);
    let relative =
        cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/').map(str::to_string));
    homely(&relative.unwrap_or(path))
}

fn project(head: &Head) -> Option<String> {
    project_name(head.remote.as_deref(), head.cwd.as_deref())
}

/// What a project is called: by its git remote or its folder, so that worktrees agree.
pub fn project_name(remote: Option<&str>, cwd: Option<&str>) -> Option<String> {
    let from_remote = remote.and_then(|remote| {
        let name =
            remote.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next()?;
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
