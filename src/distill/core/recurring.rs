//! What recurs across sessions without being stated: the commands that check the work, the
//! files that change together, the form of commit messages.

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Gist, has_held, project, sentence};
use crate::base::static_regex::StaticRegex;
use crate::distill::commands;
use crate::model::core::{Domain, Kind, Support};
use crate::model::digest::{Digest, Origin};
use crate::model::ids::EpisodeId;

/// How many sessions have to change two files for them to go together, and in which share of those
/// that changed one.
const TOGETHER: usize = 3;
const TOGETHER_SHARE: f32 = 0.6;
/// How many pairs of files a core lists, for each project.
const MOST_PAIRS: usize = 3;
/// How many commits make a habit.
const COMMITS: usize = 3;

/// The landmarks that recurrence makes, but for the commands that check the work.
pub fn drafts(digests: &[&Digest]) -> Vec<Draft> {
    let of_project = |(project, digests): (&Option<String>, &Vec<&Digest>)| {
        let mut drafts = pairs(project, digests);
        drafts.extend(commit_form(project, digests));
        drafts
    };
    by_project(digests).iter().flat_map(of_project).collect()
}

/// The commands that passed.
pub fn checks(digests: &[&Digest]) -> Vec<Draft> {
    by_project(digests).iter().flat_map(|(project, digests)| checks_of(project, digests)).collect()
}

fn by_project<'d>(digests: &[&'d Digest]) -> BTreeMap<Option<String>, Vec<&'d Digest>> {
    let mut projects: BTreeMap<Option<String>, Vec<&Digest>> = BTreeMap::new();
    for digest in digests {
        projects.entry(project(digest)).or_default().push(digest);
    }
    projects
}

fn draft(
    project: &Option<String>,
    kind: Kind,
    domain: Domain,
    text: &str,
    supports: Vec<(&Digest, Support)>,
) -> Draft {
    let text = sentence(text, super::LONGEST_SENTENCE);
    Draft {
        kind,
        domain,
        project: project.clone(),
        gist: Gist::of(&text),
        last: supports.iter().map(|(digest, _)| digest.content.ended).max().flatten(),
        proved: false,
        supports: supports.into_iter().map(|(_, support)| support).collect(),
        text,
    }
}

fn support<'d>(digest: &'d Digest, episode: EpisodeId, evidence: &str) -> (&'d Digest, Support) {
    let session = digest.session.clone();
    (
        digest,
        Support { session, episode, said_by: Some(Origin::Tool), evidence: evidence.to_string() },
    )
}

/// The commands that passed in a project. One session that ended well and with a commit is enough
/// to believe it, else it is a hypothesis: other cores may know more.
fn checks_of(project: &Option<String>, digests: &[&Digest]) -> Vec<Draft> {
    type Use<'d> = (&'d Digest, EpisodeId);
    let mut kinds: BTreeMap<String, Vec<Use<'_>>> = BTreeMap::new();
    for digest in digests {
        for claim in &digest.content.stated {
            for command in claim.checks().iter().filter(|one| !commands::is_of_some_tests(one)) {
                let command = commands::general_check(command);
                kinds.entry(command).or_default().push((digest, claim.episode));
            }
        }
    }
    let mut drafts = Vec::new();
    for (command, uses) in kinds {
        static TESTS: StaticRegex = StaticRegex::new(r"test|jest|rspec|nextest");
        let what = if TESTS.is_match(&command) { "Tests run with" } else { "Checked with" };
        let text = format!("{what} `{command}`");
        let supports =
            uses.iter().map(|(digest, episode)| support(digest, *episode, &command)).collect();
        let proved = uses.iter().any(|(digest, _)| has_held(digest));
        let draft = draft(project, Kind::Habit, Domain::Knowledge, &text, supports);
        drafts.push(Draft { proved, ..draft });
    }
    drafts
}

/// Files that change together, more often than not.
fn pairs(project: &Option<String>, digests: &[&Digest]) -> Vec<Draft> {
    let mut changed: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, digest) in digests.iter().enumerate() {
        for file in &digest.content.files {
            changed.entry(file).or_default().insert(at);
        }
    }
    changed.retain(|_, sessions| sessions.len() >= TOGETHER);
    let files: Vec<(&str, &BTreeSet<usize>)> =
        changed.iter().map(|(file, sessions)| (*file, sessions)).collect();
    let mut pairs = Vec::new();
    for (at, (one, in_one)) in files.iter().enumerate() {
        for (other, in_other) in &files[at + 1..] {
            let both: Vec<usize> = in_one.intersection(in_other).copied().collect();
            let share = both.len() as f32 / in_one.union(in_other).count() as f32;
            if both.len() >= TOGETHER && share >= TOGETHER_SHARE {
                pairs.push((std::cmp::Reverse(both.len()), *one, *other, both));
            }
        }
    }
    pairs.sort();
    pairs.truncate(MOST_PAIRS);
    pairs
        .into_iter()
        .map(|(_, one, other, both)| {
            let supports = both
                .into_iter()
                .map(|at| support(digests[at], where_of(digests[at], one), one))
                .collect();
            let text = format!("`{one}` and `{other}` change together");
            draft(project, Kind::Relationship, Domain::Knowledge, &text, supports)
        })
        .collect()
}

/// The episode whose trigger names a file, else the last one.
fn where_of(digest: &Digest, file: &str) -> EpisodeId {
    let name = file.rsplit('/').next().unwrap_or(file).to_lowercase();
    let triggers = &digest.content.triggers;
    let named = triggers.iter().find(|trigger| trigger.keys.contains(&name));
    named.map(|trigger| trigger.episode).unwrap_or_else(|| last_episode(digest))
}

fn last_episode(digest: &Digest) -> EpisodeId {
    digest.content.episodes.map_or(EpisodeId(1), |(_, last)| last)
}

/// The form of commit messages, where nearly all have it.
fn commit_form(project: &Option<String>, digests: &[&Digest]) -> Option<Draft> {
    static CONVENTIONAL: StaticRegex = StaticRegex::new(
        r"^(feat|fix|docs|chore|refactor|tests?|ci|build|perf|style|revert)(\([^)]+\))?!?: \S",
    );
    let commits: Vec<(&Digest, &str, &str)> = digests
        .iter()
        .flat_map(|digest| {
            let committed = digest
                .content
                .key_outcomes
                .iter()
                .filter_map(|outcome| outcome.strip_prefix("committed "));
            committed
                .filter_map(|line| line.split_once(' '))
                .map(move |(hash, message)| (*digest, hash, message))
        })
        .collect();
    let formed: Vec<_> =
        commits.iter().filter(|(_, _, message)| CONVENTIONAL.is_match(message)).collect();
    if formed.len() < COMMITS || formed.len() * 10 < commits.len() * 8 {
        return None;
    }
    let supports = formed
        .iter()
        .map(|(digest, hash, message)| {
            let named = digest
                .content
                .triggers
                .iter()
                .find(|trigger| trigger.keys.iter().any(|key| key == hash));
            let episode = named.map_or_else(|| last_episode(digest), |trigger| trigger.episode);
            // Where in the session it was made may stand behind the message.
            let message = message.rsplit_once(" (EP_").map_or(*message, |(message, _)| message);
            support(digest, episode, message)
        })
        .collect();
    let text = "Commit messages have the form `type(scope): subject`";
    Some(draft(project, Kind::Habit, Domain::Identity, text, supports))
}
