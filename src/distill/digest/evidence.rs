//! Evidence: what the claims of a page can be checked against later.

use super::paths::shown_path;
use crate::base::text;
use crate::distill::facts::Facts;
use crate::model::evidence::{Evidence, FileState, Proof, SHOWN_DIGITS};
use crate::model::ids::EpisodeId;

/// How much evidence a page lists.
const MOST_EVIDENCE: usize = 12;

/// The commits and the files as they were left, by episode. Where there are too many, what proves
/// most stays: commits, then files with a hash, then those that came last.
pub fn evidence(facts: &Facts, cwd: Option<&str>) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    for part in facts.own_parts() {
        let episode = EpisodeId(part.episode);
        for file in &part.edited {
            let path = shown_path(&file.path, cwd);
            // The latest state of a file is the one that can be checked.
            found.retain(|known| !matches!(&known.proof, Proof::File { path: before, .. } if *before == path));
            let state = match &file.state {
                FileState::Sha256(digits) => {
                    FileState::Sha256(text::cut(digits, SHOWN_DIGITS).to_string())
                }
                state => state.clone(),
            };
            found.push(Evidence { episode, proof: Proof::File { path, state } });
        }
        let commits = part
            .commits
            .iter()
            .filter(|commit| !commit.hash.is_empty())
            .map(|commit| Proof::Commit(text::cut(&commit.hash, 12).to_string()));
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
