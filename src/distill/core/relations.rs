//! Relations between the sessions of a core: what follows what, and what they share.

use std::collections::BTreeSet;

use super::Gist;
use crate::base::markdown;
use crate::model::core::{How, Kind, Landmark, Relation, Superseded};
use crate::model::digest::Digest;
use crate::model::ids::SessionId;

/// How many files one line names.
const MOST_FILES: usize = 3;

/// The relations between sessions, from the earlier to the later one.
pub fn relations(
    digests: &[&Digest],
    landmarks: &[Landmark],
    superseded: &[Superseded],
) -> Vec<Relation> {
    let mut relations = Vec::new();
    for (at, earlier) in digests.iter().enumerate() {
        for later in &digests[at + 1..] {
            let mut relate = |how: How, what: String| {
                let (from, to) = (earlier.session.clone(), later.session.clone());
                relations.push(Relation { from, to, how, what });
            };
            if let Some(branch) = same_branch(earlier, later) {
                relate(How::Follows, super::sentence(branch, 80));
            }
            if let Some(files) = same_files(earlier, later) {
                relate(How::SameFile, files);
            }
            if let Some(error) = same_error(earlier, later) {
                relate(How::SameError, super::sentence(&error, 120));
            }
        }
    }
    let stated = |landmark: &&Landmark| !matches!(landmark.kind, Kind::Habit | Kind::Relationship);
    for landmark in landmarks.iter().filter(stated) {
        let said: Vec<&SessionId> =
            landmark.supports.iter().map(|support| &support.session).collect();
        for pair in said.windows(2).filter(|pair| pair[0] != pair[1]) {
            let (from, to) = (pair[0].clone(), pair[1].clone());
            relations.push(Relation {
                from,
                to,
                how: How::SameDecision,
                what: super::sentence(&landmark.text, 80),
            });
        }
    }
    for old in superseded {
        let newer =
            old.by.as_ref().and_then(|by| landmarks.iter().find(|landmark| landmark.id == *by));
        if let (Some(from), Some(to)) =
            (old.landmark.supports.last(), newer.and_then(|newer| newer.supports.last()))
        {
            let what = format!("{} by {}", old.landmark.id, newer.expect("it was just found").id);
            let (from, to) = (from.session.clone(), to.session.clone());
            relations.push(Relation { from, to, how: How::Contradicts, what });
        }
    }
    contested(landmarks, &mut relations);
    relations.dedup();
    relations
}

fn contested(landmarks: &[Landmark], relations: &mut Vec<Relation>) {
    let gists: Vec<Gist> = landmarks.iter().map(|landmark| Gist::of(&landmark.text)).collect();
    for (at, one) in landmarks.iter().enumerate() {
        for (other_at, other) in landmarks.iter().enumerate().skip(at + 1) {
            let (Some(from), Some(to)) = (one.supports.first(), other.supports.first()) else {
                continue;
            };
            if one.project == other.project && gists[at].contradicts(&gists[other_at]) {
                let what = format!("{} and {}", one.id, other.id);
                let (from, to) = (from.session.clone(), to.session.clone());
                relations.push(Relation { from, to, how: How::Contradicts, what });
            }
        }
    }
}

/// A branch of their own that both worked on: then the later session goes on where the earlier one
/// stopped.
fn same_branch<'d>(earlier: &'d Digest, later: &Digest) -> Option<&'d str> {
    let branch = earlier.content.branch.as_deref()?;
    let own = !matches!(branch, "main" | "master" | "develop" | "dev" | "HEAD" | "trunk");
    (own && later.content.branch.as_deref() == Some(branch)
        && earlier.content.project == later.content.project)
        .then_some(branch)
}

fn same_files(earlier: &Digest, later: &Digest) -> Option<String> {
    if earlier.content.project != later.content.project {
        return None;
    }
    let before: BTreeSet<&String> = earlier.content.files.iter().collect();
    let both = later.content.files.iter().filter(|file| before.contains(file));
    let both: Vec<String> = both.map(|file| super::sentence(file, 120)).collect();
    (!both.is_empty()).then(|| markdown::code_list(&both, MOST_FILES))
}

/// An error that both met.
fn same_error(earlier: &Digest, later: &Digest) -> Option<String> {
    let errors = |digest: &Digest| -> BTreeSet<String> {
        let content = &digest.content;
        // Pages of format 1 say it in triggers.
        let met = content.triggers.iter().map(|trigger| trigger.sentence.as_str());
        let met = met.filter_map(|said| said.strip_prefix("met `")?.split('`').next());
        let listed = content.errors.iter().map(|error| error.text.as_str());
        listed.chain(met).map(str::to_string).collect()
    };
    let before = errors(earlier);
    errors(later)
        .into_iter()
        .find(|error| before.contains(error))
        .map(|error| markdown::code(&error))
}
