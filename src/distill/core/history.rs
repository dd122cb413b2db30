//! History: what a core said before is not lost, and a person's words are kept.

use std::collections::BTreeSet;

use super::{Gist, order};
use crate::model::core::{Core, Landmark, LandmarkState, Superseded};
use crate::model::ids::SessionId;

/// From here on one landmark may stand for another that is gone.
const NEAR: f32 = 0.3;

/// Adds to a core what its page said before. What no longer holds is superseded, with what replaced
/// it and why; of what rested on a forgotten session only the name stays. Both depend on the
/// present alone, not on earlier runs.
pub fn with_history(
    mut core: Core,
    mut written: Vec<Landmark>,
    forgotten: &BTreeSet<SessionId>,
) -> Core {
    // Two versions of a page may have been merged into one; a person's wording counts more than
    // ours.
    written.sort_by(|a, b| {
        (&a.id, !a.is_own_wording(), &a.text).cmp(&(&b.id, !b.is_own_wording(), &b.text))
    });
    for landmark in
        core.landmarks.iter_mut().chain(core.superseded.iter_mut().map(|old| &mut old.landmark))
    {
        let versions = || written.iter().filter(|before| before.id == landmark.id);
        let pinned = versions().any(|before| before.pinned);
        if let Some(own) = versions().find(|before| before.is_own_wording()) {
            landmark.text.clone_from(&own.text);
        }
        if let Some(reviewed) = versions().find(|before| before.reviewed) {
            (landmark.reviewed, landmark.state) = (true, reviewed.state);
        }
        if pinned {
            // A person's mark is a person's word.
            (landmark.pinned, landmark.state) = (true, LandmarkState::Confirmed);
        }
    }
    let (rejected, holding): (Vec<Landmark>, Vec<Landmark>) = std::mem::take(&mut core.landmarks)
        .into_iter()
        .partition(|landmark| landmark.state == LandmarkState::Rejected);
    core.landmarks = holding;
    core.superseded.extend(rejected.into_iter().map(|landmark| Superseded {
        landmark,
        by: None,
        why: "rejected in a review".into(),
    }));
    written.dedup_by(|later, kept| later.id == kept.id && merge(kept, later));
    let known: BTreeSet<_> = core
        .landmarks
        .iter()
        .chain(core.superseded.iter().map(|old| &old.landmark))
        .map(|one| one.id.clone())
        .collect();
    for before in written.into_iter().filter(|before| !known.contains(&before.id)) {
        core.superseded.push(superseded(before, &core.landmarks, forgotten));
    }
    core.landmarks.sort_by(|a, b| order(a).cmp(&order(b)));
    core.superseded.sort_by(|a, b| order(&a.landmark).cmp(&order(&b.landmark)));
    core
}

/// Puts two versions of a landmark together, whichever came first.
fn merge(kept: &mut Landmark, other: &mut Landmark) -> bool {
    kept.supports.append(&mut other.supports);
    kept.supports.sort_by(|a, b| {
        (&a.session, a.episode, a.said_by).cmp(&(&b.session, b.episode, b.said_by))
    });
    kept.supports.dedup_by(|a, b| (&a.session, a.episode) == (&b.session, b.episode));
    kept.confidence = kept.confidence.max(other.confidence);
    kept.domain = kept.domain.min(other.domain);
    kept.pinned |= other.pinned;
    if other.reviewed && !kept.reviewed {
        (kept.reviewed, kept.state) = (true, other.state);
    }
    kept.on = kept.on.max(other.on);
    true
}

fn superseded(before: Landmark, now: &[Landmark], forgotten: &BTreeSet<SessionId>) -> Superseded {
    if before.is_forgotten()
        || before.supports.iter().any(|support| forgotten.contains(&support.session))
    {
        return Superseded {
            landmark: before.forgotten(),
            by: None,
            why: "it rested on a forgotten session".into(),
        };
    }
    let gist = Gist::of(&before.text);
    let nearness = |one: &Landmark| {
        let same_place = one.supports.iter().any(|support| {
            before
                .supports
                .iter()
                .any(|old| (&old.session, old.episode) == (&support.session, support.episode))
        });
        let likeness = Gist::of(&one.text).likeness(&gist);
        let near = likeness >= NEAR || (same_place && one.kind == before.kind);
        near.then_some((likeness * 1000.0) as u32)
    };
    let by = now
        .iter()
        .filter(|one| one.project == before.project)
        .filter_map(|one| Some((nearness(one)?, std::cmp::Reverse(&one.id), one)))
        .max_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)))
        .map(|(_, _, one)| one.id.clone());
    let why = if by.is_some() {
        "its sessions say it otherwise now"
    } else {
        "its sessions no longer say so"
    };
    let mut landmark = Landmark { state: LandmarkState::Deprecated, ..before };
    landmark.supports.sort_by(|a, b| {
        (&a.session, a.episode, a.said_by).cmp(&(&b.session, b.episode, b.said_by))
    });
    Superseded { landmark, by, why: why.into() }
}
