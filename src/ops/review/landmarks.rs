//! Landmarks in the inbox: what cores remember and nobody has confirmed, and what is contested.

use super::inbox::{Evidence, InboxItem, ItemKind};
use crate::base::files;
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::core::{Landmark, LandmarkState};
use crate::store::authored;
use crate::store::core::{self, lines};
use crate::store::pattern::reviews::Reviews;

/// How many landmarks are asked about at once: a minute a day is enough.
const MOST: usize = 20;

impl Memory {
    /// The landmarks that wait, contested ones first, then those that rest on most.
    pub(super) fn landmark_items(&self, reviews: &Reviews) -> Vec<InboxItem> {
        let layout = self.layout();
        let decided = reviews.in_force();
        let mut waiting: Vec<Landmark> = Vec::new();
        for id in core::core_ids(&layout.cores()) {
            let Ok(text) = files::read_to_string(layout.core(&id)) else { continue };
            let landmarks = core::parse_core(&text).landmarks.into_iter();
            waiting.extend(landmarks.filter(|one| {
                !one.reviewed
                    && !one.is_forgotten()
                    && !decided.contains_key(one.id.to_string().as_str())
                    && match one.state {
                        LandmarkState::Contested => true,
                        LandmarkState::Hypothesis => one.sessions() > 1,
                        _ => false,
                    }
            }));
        }
        let weight = |one: &Landmark| {
            let contested = one.state == LandmarkState::Contested;
            (!contested, std::cmp::Reverse((one.sessions(), one.confidence)), one.id.to_string())
        };
        waiting.sort_by_key(weight);
        waiting.dedup_by(|a, b| a.id == b.id);
        waiting.into_iter().take(MOST).map(|one| item(&one)).collect()
    }

    /// Notes on every core that has it what a person says of a landmark.
    pub(super) fn set_landmark(&self, item: &InboxItem, holds: bool) -> Result<()> {
        let layout = self.layout();
        let state = if holds { LandmarkState::Confirmed } else { LandmarkState::Rejected };
        let ends = format!(" ^{}", item.id);
        let mut found = false;
        for id in core::core_ids(&layout.cores()) {
            let path = layout.core(&id);
            let has = files::read_to_string(&path).is_ok_and(|text| text.contains(&ends));
            if !has {
                continue;
            }
            found = true;
            let cannot = || format!("cannot write `{}`", layout.shown(&path));
            let edit = |now: Option<&str>| now.map(|text| with_state(text, &item.id, state));
            authored::replace(layout, &path, edit).context(cannot)?;
        }
        match found {
            true => Ok(()),
            false => Err(Error::not_found(format!("no core has the landmark `{}`", item.id))),
        }
    }
}

/// A core's page with the state that a person gave a landmark.
fn with_state(text: &str, id: &str, state: LandmarkState) -> String {
    let line = |line: &str| {
        let body = line.trim_end_matches(['\r', '\n']);
        let known =
            lines::parse_landmark(body, None).filter(|one| one.landmark.id.to_string() == id);
        match known {
            // The rest of the line stays as it is: only what was decided changes.
            Some(one) => {
                let old = format!(" | {} ", one.landmark.state);
                let new = format!(" | {state} (reviewed) ");
                line.replacen(&old, &new, 1)
            }
            None => line.to_string(),
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn item(one: &Landmark) -> InboxItem {
    let state = one.state.to_string();
    let because = match one.state {
        LandmarkState::Contested => "sessions disagree on it".to_string(),
        _ => format!("{} sessions say it, and nobody has confirmed it", one.sessions()),
    };
    let places = one.supports.iter().map(|it| format!("{}#{}", it.session, it.episode));
    let supports = one.supports.iter().map(|it| Evidence::of_place(&it.session, Some(it.episode)));
    let project = one.project.as_deref().unwrap_or("no project");
    InboxItem {
        id: one.id.to_string(),
        kind: ItemKind::Landmark,
        title: one.text.clone(),
        because,
        advice: Vec::new(),
        evidence: places.collect(),
        sightings: supports.collect(),
        warnings: Vec::new(),
        adds: vec![format!("core: {} of {project}, now {state}, becomes confirmed", one.kind)],
        state: "waiting",
        proposed: None,
        facts: None,
        candidate: None,
        evidence_fingerprint: files::sha256_hex(one.text.as_bytes())[..12].to_string(),
        text_hash: String::new(),
    }
}
