//! Landmarks of many cores put together: for a sphere, and for the page that agents always load.
//!
//! The same rules as within a core, one step up: what says the same is one, with all its sessions
//! behind it; of two that contradict each other the later wins, or both are contested.

use std::collections::{BTreeMap, HashMap};

use super::Gist;
use crate::distill::cured;
use crate::model::core::{Kind, LandmarkState, Merged, Support, Together};

/// Puts landmarks together. The order in which they come does not matter.
pub fn together(mut all: Vec<Merged>) -> Together {
    super::spell_alike(all.iter_mut().filter_map(|one| one.landmark.project.as_mut()));
    all.sort_by(|a, b| (a.last, &a.cores, &a.landmark.id).cmp(&(b.last, &b.cores, &b.landmark.id)));
    let mut groups = Groups::default();
    for one in all {
        groups.add(one);
    }
    let Groups { mut found, gists, .. } = groups;
    let mut together = Together::default();
    found.iter_mut().for_each(confirm);
    let mut by_project: BTreeMap<Option<&String>, Vec<usize>> = BTreeMap::new();
    for (at, one) in found.iter().enumerate() {
        by_project.entry(one.landmark.project.as_ref()).or_default().push(at);
    }
    let supports = |at: usize| found[at].landmark.supports.as_slice();
    let mut replaced_by: HashMap<usize, usize> = HashMap::new();
    let mut contested = Vec::new();
    for places in by_project.values() {
        for (rank, &earlier) in places.iter().enumerate() {
            for &later in places[rank + 1..]
                .iter()
                .filter(|later| gists[**later].contradicts(&gists[earlier]))
                .filter(|later| !Support::meet(supports(**later), supports(earlier)))
            {
                if found[earlier].landmark.domain.latest_wins() {
                    replaced_by.insert(earlier, later);
                } else {
                    contested.extend([earlier, later]);
                }
            }
        }
    }
    for at in contested {
        found[at].landmark.state = LandmarkState::Contested;
    }
    for (at, one) in found.iter().enumerate() {
        match replaced_by.get(&at) {
            Some(by) => {
                let mut old = one.clone();
                old.landmark.state = LandmarkState::Deprecated;
                together.superseded.push((old, found[*by].clone()));
            }
            None => together.landmarks.push(one.clone()),
        }
    }
    together.landmarks.sort_by(|a, b| order(a).cmp(&order(b)));
    together
}

/// The best supported first.
pub fn order(one: &Merged) -> impl Ord + '_ {
    let landmark = &one.landmark;
    let support = std::cmp::Reverse((landmark.pinned, one.sessions, landmark.confidence, one.last));
    // Of what is equally sure, what names more things of code can be looked up.
    let named = std::cmp::Reverse(landmark.text.matches('`').count());
    (support, &landmark.project, landmark.kind, named, &landmark.text)
}

fn confirm(one: &mut Merged) {
    let landmark = &mut one.landmark;
    let enough = landmark.domain.sessions_to_confirm().is_some_and(|needed| one.sessions >= needed);
    let holds = enough && cured::is_lasting(&landmark.text);
    if landmark.state == LandmarkState::Hypothesis && holds {
        landmark.state = LandmarkState::Confirmed;
    }
}

/// Landmarks that say the same, found by the words that they share.
#[derive(Default)]
struct Groups {
    found: Vec<Merged>,
    gists: Vec<Gist>,
    by_word: HashMap<(Option<String>, Kind, String), Vec<usize>>,
}

impl Groups {
    fn add(&mut self, one: Merged) {
        let gist = Gist::of(&one.landmark.text);
        let key = |word: &String| (one.landmark.project.clone(), one.landmark.kind, word.clone());
        let mut near: Vec<usize> = gist
            .words()
            .iter()
            .filter_map(|word| self.by_word.get(&key(word)))
            .flatten()
            .copied()
            .collect();
        near.sort_unstable();
        near.dedup();
        match near.into_iter().find(|at| self.gists[*at].says_the_same(&gist)) {
            Some(at) => absorb(&mut self.found[at], one),
            None => {
                for word in gist.words() {
                    self.by_word.entry(key(word)).or_default().push(self.found.len());
                }
                self.found.push(one);
                self.gists.push(gist);
            }
        }
    }
}

/// Takes in one that says the same.
fn absorb(one: &mut Merged, other: Merged) {
    let (mine, theirs) = (&mut one.landmark, other.landmark);
    mine.pinned |= theirs.pinned;
    mine.domain = mine.domain.min(theirs.domain);
    mine.on = mine.on.max(theirs.on);
    mine.confidence = mine.confidence.max(theirs.confidence).saturating_add(4).min(98);
    mine.state = match (mine.state, theirs.state) {
        (LandmarkState::Contested, _) | (_, LandmarkState::Contested) => LandmarkState::Contested,
        (LandmarkState::Confirmed, _) | (_, LandmarkState::Confirmed) => LandmarkState::Confirmed,
        _ => LandmarkState::Hypothesis,
    };
    if other.sessions > one.sessions && !mine.pinned {
        (mine.id, mine.text) = (theirs.id, theirs.text);
    }
    let held_already =
        other.cores.iter().all(|(core, _)| one.cores.iter().any(|(known, _)| known == core));
    one.sessions =
        if held_already { one.sessions.max(other.sessions) } else { one.sessions + other.sessions };
    one.last = one.last.max(other.last);
    one.cores.extend(other.cores);
    one.cores.sort();
    one.cores.dedup();
}
