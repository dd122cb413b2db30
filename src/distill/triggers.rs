//! Triggers: for every part of a session, when to open it, and the words that set it apart.
//!
//! The words are chosen from the session alone, this part against the others, and from a table of
//! common words that ships with the program. Where a session has more parts than a page has room,
//! neighbours are merged; none is dropped.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::base::text;
use crate::distill::facts::{Facts, Part, StatedKind};
use crate::model::digest::{Origin, Trigger};
use crate::model::ids::EpisodeId;

/// How many parts a session keeps apart while it streams by.
const MOST_PARTS: usize = 1024;
/// How many triggers a page has room for.
const MOST_TRIGGERS: usize = 40;
/// How many words end a trigger.
const KEYS: usize = 8;

/// The triggers of a session.
pub fn triggers(facts: &Facts) -> Vec<Trigger> {
    let parts: Vec<&Part> = facts.parts.iter().filter(|part| !is_empty(part)).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let mut in_parts: HashMap<&str, f32> = HashMap::new();
    for part in &parts {
        for (word, _) in &part.words {
            *in_parts.entry(word).or_default() += 1.0;
        }
    }
    let per_trigger = parts.len().div_ceil(MOST_TRIGGERS);
    parts.chunks(per_trigger).map(|group| trigger(group, &in_parts, parts.len() as f32)).collect()
}

fn is_empty(part: &Part) -> bool {
    part.prompt.is_empty() && part.words.is_empty() && part.last_reply.is_empty()
}

fn trigger(group: &[&Part], in_parts: &HashMap<&str, f32>, parts: f32) -> Trigger {
    let first = group[0];
    let (sentence, origin) = group.iter().find_map(|part| telling_sentence(part)).unwrap_or_else(|| {
        (text::first_sentence(&first.prompt, 160), Origin::User)
    });
    let topic = topic(first);
    Trigger {
        sentence: if sentence.is_empty() { topic.clone() } else { sentence },
        topic,
        episode: EpisodeId(first.episode),
        path: String::new(),
        origin,
        keys: keys(group, in_parts, parts),
    }
}

/// What a part is about, in a few words.
fn topic(part: &Part) -> String {
    let from_prompt = text::first_sentence(&part.prompt, 60);
    if !from_prompt.is_empty() {
        return from_prompt;
    }
    let from_reply = text::first_sentence(&part.last_reply, 60);
    if from_reply.is_empty() { "Work".into() } else { from_reply }
}

/// The sentence that tells most of a part: a lesson, a decision, an error, or how the agent closed.
fn telling_sentence(part: &Part) -> Option<(String, Origin)> {
    let stated = |kind: StatedKind| {
        part.stated.iter().find(|stated| stated.kind == kind && stated.origin == Origin::Assistant)
    };
    if let Some(stated) = stated(StatedKind::Lesson).or_else(|| stated(StatedKind::Decision)) {
        return Some((text::one_line(&stated.text, 200), stated.origin));
    }
    let closing = text::first_sentence(&part.last_reply, 200);
    if !closing.is_empty() {
        return Some((closing, Origin::Assistant));
    }
    let fault = part.faults.first()?;
    Some((format!("met `{}`", text::one_line(&fault.sample.replace('`', "'"), 160)), Origin::Tool))
}

/// The words that set a group of parts apart from the rest of the session.
fn keys(group: &[&Part], in_parts: &HashMap<&str, f32>, parts: f32) -> Vec<String> {
    let mut scores: HashMap<&str, f32> = HashMap::new();
    for part in group {
        for (word, weight) in &part.words {
            let rare = (1.0 + parts / in_parts.get(word.as_str()).copied().unwrap_or(1.0)).ln();
            *scores.entry(word).or_default() += weight * rare;
        }
    }
    let mut ranked: Vec<(&str, f32)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut keys: Vec<String> = Vec::new();
    for (word, _) in ranked {
        if keys.len() >= KEYS {
            break;
        }
        // `day.rs` already finds `day`; the whole says more than its parts.
        if keys.iter().any(|key| key.contains(word)) {
            continue;
        }
        keys.retain(|key| !is_part_of(key, word));
        keys.push(word.to_string());
    }
    keys
}

fn is_part_of(key: &str, whole: &str) -> bool {
    whole.len() > key.len() && whole.contains(['_', '/', '.', '-', ':']) && whole.contains(key)
}

/// How much a word may tell: nothing for the commonest, more the rarer its kind is in ordinary prose.
pub fn telling(word: &str) -> f32 {
    static COMMON: LazyLock<HashMap<&'static str, f32>> = LazyLock::new(|| {
        let words: Vec<&str> = include_str!("../../templates/common-words.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::split_whitespace)
            .collect();
        let count = words.len() as f32;
        // The table is ordered from the commonest word on; its last words are nearly as good as any.
        words.iter().enumerate().map(|(rank, word)| (*word, 0.8 * rank as f32 / count)).collect()
    });
    let length = word.chars().count();
    let ascii = word.is_ascii();
    if length > 48 || (ascii && length < 3) {
        return 0.0;
    }
    if let Some(weight) = COMMON.get(word) {
        return if *weight < 0.2 { 0.0 } else { *weight };
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == word.len() {
        // Numbers are typed now and then (ports, issues), but most are noise.
        return if (3..=5).contains(&length) { 0.5 } else { 0.0 };
    }
    if ascii && length >= 20 && digits >= 6 && !word.contains(['/', '.', '_']) {
        return 0.0;
    }
    if word.contains(['_', '.', '/', ':']) { 1.2 } else { 1.0 }
}

/// Merges neighbouring parts where a session has too many to keep apart.
pub fn merge_when_many(parts: &mut Vec<Part>) {
    if parts.len() < MOST_PARTS {
        return;
    }
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len() / 2 + 1);
    for part in parts.drain(..) {
        match merged.last_mut() {
            Some(before) if before.last_episode == before.episode || merged_together(before, &part) => before.absorb(part),
            _ => merged.push(part),
        }
    }
    *parts = merged;
}

fn merged_together(before: &Part, part: &Part) -> bool {
    before.last_episode - before.episode < part.last_episode - part.episode
}

impl Part {
    /// Takes in the part that follows.
    fn absorb(&mut self, next: Part) {
        self.last_episode = next.last_episode;
        self.replies += next.replies;
        if !next.last_reply.is_empty() {
            self.last_reply = next.last_reply;
        }
        self.edited.extend(next.edited);
        self.edited.dedup();
        self.tests.extend(next.tests);
        self.faults.extend(next.faults);
        self.commits.extend(next.commits);
        self.stated.extend(next.stated);
        self.signals.extend(next.signals);
        let excess = self.signals.len().saturating_sub(64);
        self.signals.drain(..excess);
        self.words.extend(next.words);
        self.words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.words.dedup_by(|a, b| a.0 == b.0);
        self.words.truncate(96);
    }
}
