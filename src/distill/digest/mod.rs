//! A digest from the facts of a session: what was wanted, what came of it, and how it went.
//!
//! Deterministic and without a model: the objective is the person's own words, outcomes are what
//! tests, commits and files show, and every part of the session gets its trigger.

mod claims;
mod errors_met;
mod evidence;
mod folder;
mod git;
mod index;
mod intent;
mod key_outcomes;
mod outcome;
mod paths;
mod title;
mod triggers;
mod worth;

use std::collections::BTreeMap;

use crate::base::stem::stem;
use crate::base::{markdown, text};
use crate::distill::facts::Facts;
use crate::distill::{cost, signals, words};
use crate::model::digest::{Claim, Content, IndexLine, MOST_TERMS};
use crate::model::ids::EpisodeId;
use crate::model::session::{BegunBy, Head, ModelUsage, Source};
use crate::model::signals::{Signals, Solved};

pub use folder::{FileFacts, FolderFacts, folder_content};
pub use paths::{project_name, without_home};

/// Which summarizer this is; a newer one rewrites what an older one wrote.
pub const MADE_BY: &str = "extractive/2";

/// How many files or commits a page lists.
const MOST_LISTED: usize = 24;

/// What a snapshot holds besides its episodes, as far as the digest says it.
#[derive(Debug, Default)]
pub struct SnapshotParts {
    /// Entries under `snapshot/sensory/`.
    pub sensory: u64,
    /// The page with the session's numbers, relative to the digest; empty where there is none.
    pub vitals: String,
}

/// What the digest of a session says.
pub fn content(flavor: &str, facts: &Facts, head: &Head, parts: SnapshotParts) -> Content {
    let cwd = head.cwd.as_deref();
    let project = project_name(head.remote.as_deref(), cwd);
    let git = git::Git::of(facts);
    let title = title::title(facts, head, &git, project.as_deref());
    let files = files(facts, cwd);
    let status = outcome::outcome(facts);
    let code = |said: &str| markdown::tags_as_code(said).into_owned();
    let key_outcomes = key_outcomes::key_outcomes(facts, head, &git, &files, &title);
    let key_outcomes: Vec<String> = key_outcomes.iter().map(|line| code(line)).collect();
    let title = title::of_work(title, facts, &key_outcomes, project.as_deref());
    let objective = code(&intent::objective(facts, &title));
    let core_intent = code(&intent::core_intent(facts, &objective));
    let mut stated = claims::claims(facts, head, &key_outcomes);
    stated.iter_mut().for_each(|claim| claim.text = code(&claim.text));
    let motto = code(&intent::motto(facts, &title, &objective, &key_outcomes, &stated));
    let evidence = evidence::evidence(facts, cwd);
    let prose = [&title, &objective, &motto, &core_intent].into_iter().chain(&key_outcomes);
    let elsewhere = tokens(&stated, &files, prose);
    let said = triggers::Said::of(&stated, &key_outcomes, &[&title, &objective, &motto]);
    let mut triggers = triggers::triggers(facts, &said, elsewhere);
    for trigger in &mut triggers {
        trigger.topic = code(&trigger.topic);
        trigger.sentence = code(&trigger.sentence);
    }
    let index = index::index(facts, &triggers);
    let tags = tags(facts, &title, &objective);
    let sum = |count: fn(&ModelUsage) -> u64| head.usage.iter().map(count).sum();
    let first_and_last = facts.parts.first().zip(facts.parts.last());
    let parent = |is: fn(BegunBy) -> bool| {
        let parent = head.parent.as_deref().filter(|id| is(head.begun_by) && names_session(id))?;
        Some(Source::id(flavor, &text::one_line(parent, 100)))
    };
    Content {
        flavor: flavor.to_string(),
        status,
        worth: worth::worth(facts, head.begun_by, cwd),
        arc: outcome::arc(facts, status),
        stated,
        triggers,
        index,
        errors: errors_met::errors_met(facts),
        part_of: parent(BegunBy::is_machine),
        continues: parent(BegunBy::is_person),
        project,
        domain: None,
        cwd: cwd.map(|cwd| paths::without_home(&text::one_line(cwd, 300))),
        branch: head.branch.as_deref().map(|branch| text::one_line(branch, 100)),
        commits: unique(
            facts.commits().map(|commit| text::cut(&commit.hash, 12).to_string()).take(MOST_LISTED),
        ),
        models: unique(head.usage.iter().map(|usage| text::one_line(&usage.model, 60))),
        started: facts.started,
        ended: facts.ended,
        episodes: first_and_last
            .map(|(first, last)| (EpisodeId(first.episode), EpisodeId(last.last_episode))),
        own_episodes: String::new(),
        turns: facts.prompts,
        tokens_in: sum(|usage| usage.input),
        tokens_out: sum(|usage| usage.output),
        tokens_cache: sum(|usage| usage.cache_read + usage.cache_write),
        cost_usd: cost::cost_usd(&head.usage),
        files,
        evidence,
        signals: signals(facts),
        tags,
        date: String::new(),
        vitals: parts.vitals,
        sensory: parts.sensory,
        made_by: MADE_BY.into(),
        title,
        objective,
        motto,
        core_intent,
        key_outcomes,
    }
}

/// Whether an id names a session, rather than saying that somebody took the name out.
fn names_session(id: &str) -> bool {
    let word = id.trim_matches(|c: char| !c.is_alphanumeric());
    !word.is_empty() && !word.eq_ignore_ascii_case("redacted")
}

/// What a page of format 1 says, as today's has it: the words for search move to the Index.
pub fn upgraded_content(mut content: Content) -> Content {
    if content.index.is_empty() {
        for trigger in &mut content.triggers {
            let keys = trigger.keys.len().min(MOST_TERMS);
            let terms = trigger.keys.split_off(keys);
            let lines = match terms.is_empty() {
                // Every part has its line.
                true => vec![trigger.keys.clone()],
                false => terms.chunks(MOST_TERMS).map(<[String]>::to_vec).collect(),
            };
            let episode = trigger.episode;
            content.index.extend(lines.into_iter().map(|terms| IndexLine { episode, terms }));
        }
    }
    content
}

/// How many tokens a page has besides its triggers: paths and hashes are in the front matter, prose
/// stands there and in the body.
fn tokens<'p>(
    stated: &[Claim],
    files: &[String],
    prose: impl Iterator<Item = &'p String>,
) -> usize {
    stated.iter().map(|claim| text::tokens(&claim.text) + 30).sum::<usize>()
        + files.iter().map(|file| text::tokens(file) + 2).sum::<usize>()
        + prose.map(|line| text::tokens(line) * 3 / 2).sum::<usize>()
}

/// The files that were changed, relative to the session's folder where they lie in it.
fn files(facts: &Facts, cwd: Option<&str>) -> Vec<String> {
    let paths = facts.own_parts().flat_map(|part| &part.edited);
    let paths = paths.filter(|file| !paths::is_temporary(&file.path, cwd));
    let mut files = unique(paths.map(|file| paths::shown_path(&file.path, cwd)));
    files.truncate(MOST_LISTED);
    files
}

/// What the pattern loop counts.
fn signals(facts: &Facts) -> Signals {
    let solved = facts.own_parts().flat_map(|part| {
        let episode = EpisodeId(part.last_episode);
        let by = |by: &str| text::one_line(by, 160);
        part.solved.iter().map(move |one| (one.error.as_str(), Solved { episode, by: by(&one.by) }))
    });
    Signals {
        tools: signals::most(facts.tools.iter().map(|(tool, count)| (tool.as_str(), *count))),
        events: signals::most(facts.events.iter().map(|(kind, count)| (*kind, *count))),
        compactions: facts.compactions,
        ..facts.counter.finish(solved)
    }
}

/// How many tags a page has.
const MOST_TAGS: usize = 5;

/// What the session is tagged with: the heaviest of its words that its title or objective has.
fn tags(facts: &Facts, title: &str, objective: &str) -> Vec<String> {
    let named = words::stems(&format!("{title} {objective}"), |word| word.whole);
    let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
    for (word, weight) in facts.own_parts().flat_map(|part| &part.words) {
        *weights.entry(word).or_default() += weight;
    }
    // A tag is letters, digits and dashes, and no number.
    let is_tag = |word: &str| {
        (3..=30).contains(&word.chars().count())
            && words::weight(word) >= 0.8
            && word.starts_with(char::is_alphabetic)
            && word.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter))
    };
    let mut tags: Vec<(&str, f32)> = weights
        .into_iter()
        .filter(|(word, _)| is_tag(word) && named.contains(stem(word)))
        .collect();
    tags.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    // Of the forms of one word, the heaviest.
    let mut stems = Vec::new();
    tags.retain(|(word, _)| {
        let stem = stem(word);
        let is_new = !stems.contains(&stem);
        stems.push(stem);
        is_new
    });
    unique(tags.into_iter().map(|(word, _)| word.to_string()).take(MOST_TAGS))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::facts::EpisodeFacts;

    #[test]
    fn a_name_that_was_taken_out_names_no_session() {
        for id in ["ses_31a4b9127ffeWeR4", "0b9c8d1e-12ab", "tide-2", "20260805_3"] {
            assert!(names_session(id), "{id}");
        }
        for id in ["REDACTED", "[redacted]", "<REDACTED>", "***", ""] {
            assert!(!names_session(id), "{id}");
        }
    }

    #[test]
    fn forms_of_one_word_are_one_tag() {
        let mut part = EpisodeFacts::of_prompt(1, "hooks of the harbour");
        part.words = [("hooks", 3.0), ("hook", 2.0), ("harbour", 2.5)]
            .map(|(word, weight)| (word.to_string(), weight))
            .to_vec();
        let facts = Facts { parts: vec![part], ..Facts::default() };
        assert_eq!(tags(&facts, "hooks of the harbour", ""), ["hooks", "harbour"]);
    }
}
