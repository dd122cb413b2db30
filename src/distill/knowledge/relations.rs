//! Relations: which concepts belong together, by how often they are named together.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::sentences::Transcript;
use super::topics::Topic;
use crate::base::text;
use crate::model::knowledge::{Concept, Connection, Relation};

const MOST_RELATED: usize = 6;
const FEWEST_RELATED: usize = 2;

/// Puts the pages of each concept's neighbours on it, and it on theirs.
pub fn relate(
    transcript: &Transcript,
    topics: &[Topic],
    connections: &[Connection],
    concepts: &mut [Concept],
) {
    let together = co_occurrences(transcript, topics);
    for (one, other) in related_pairs(transcript, topics, &together) {
        let why = why(together.get(&(one, other)).copied().unwrap_or_default());
        for (from, to) in [(one, other), (other, one)] {
            let name = topics[to].name.clone();
            concepts[from].related.push(Relation { name, why: why.clone() });
        }
    }
    for connection in connections {
        for name in &connection.connects {
            if let Ok(at) = concepts.binary_search_by(|concept| concept.name.cmp(name)) {
                let why = "what connects the two".to_string();
                concepts[at].related.push(Relation { name: connection.name.clone(), why });
            }
        }
    }
}

/// How often two topics are named together.
#[derive(Debug, Clone, Copy, Default)]
struct CoOccurrence {
    sentences: u32,
    exchanges: u32,
    sessions: u32,
}

/// Two topics, the one with the lower number first.
type Pair = (usize, usize);

fn co_occurrences(transcript: &Transcript, topics: &[Topic]) -> HashMap<Pair, CoOccurrence> {
    let mut counts: HashMap<Pair, CoOccurrence> = HashMap::new();
    each_pair(topics, Some, |pair| counts.entry(pair).or_default().sentences += 1);
    let exchange = |at: usize| Some(transcript[at].exchange);
    each_pair(topics, exchange, |pair| counts.entry(pair).or_default().exchanges += 1);
    let session = |at: usize| transcript[at].place.session.as_ref();
    each_pair(topics, session, |pair| counts.entry(pair).or_default().sessions += 1);
    counts
}

/// The pairs that are put on each other's pages.
fn related_pairs(
    transcript: &Transcript,
    topics: &[Topic],
    together: &HashMap<Pair, CoOccurrence>,
) -> BTreeSet<Pair> {
    let exchanges = |topic: &Topic| {
        topic.sentences.iter().map(|at| transcript[*at].exchange).collect::<HashSet<_>>().len()
    };
    let spread: Vec<f32> = topics.iter().map(|topic| exchanges(topic) as f32).collect();
    let mut near: Vec<Vec<(f32, usize)>> = vec![Vec::new(); topics.len()];
    for (&(one, other), count) in together {
        let weight =
            3.0 * count.sentences as f32 + count.exchanges as f32 + 0.2 * count.sessions as f32;
        // What goes with everything says little about one.
        near[one].push((weight / (4.0 + spread[other]).sqrt(), other));
        near[other].push((weight / (4.0 + spread[one]).sqrt(), one));
    }
    let mut pairs = BTreeSet::new();
    for (one, near) in near.iter_mut().enumerate() {
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let known = near.iter().map(|(_, other)| *other).take(MOST_RELATED);
        // Every page leads somewhere, also one that has nothing in common with another.
        let others = (0..topics.len())
            .filter(|other| *other != one && !near.iter().any(|(_, known)| known == other));
        let others = others.take(FEWEST_RELATED.saturating_sub(near.len()));
        pairs.extend(known.chain(others).map(|other| (one.min(other), one.max(other))));
    }
    pairs
}

/// Names every pair of topics that share a thing, once for each thing.
fn each_pair<K: std::hash::Hash + Eq>(
    topics: &[Topic],
    thing: impl Fn(usize) -> Option<K>,
    mut pair: impl FnMut((usize, usize)),
) {
    let mut holders: HashMap<K, Vec<usize>> = HashMap::new();
    for (topic, it) in topics.iter().enumerate() {
        for thing in it.sentences.iter().filter_map(|at| thing(*at)) {
            let holders = holders.entry(thing).or_default();
            // The sentences of one topic come one after the other.
            if holders.last() != Some(&topic) {
                holders.push(topic);
            }
        }
    }
    for holders in holders.values() {
        for (place, one) in holders.iter().enumerate() {
            holders[place + 1..].iter().for_each(|other| pair((*one, *other)));
        }
    }
}

fn why(together: CoOccurrence) -> String {
    let counted = |count: u32, thing: &str| text::counted(count as usize, thing);
    match together {
        CoOccurrence { sentences: 0, exchanges: 0, sessions: 0 } => "from the same memory".into(),
        CoOccurrence { sentences: 0, exchanges: 0, sessions } => {
            format!("{} in common", counted(sessions, "session"))
        }
        CoOccurrence { sentences: 0, exchanges, .. } => {
            format!("{} in common", counted(exchanges, "exchange"))
        }
        CoOccurrence { sentences, .. } => {
            format!("named together in {}", counted(sentences, "sentence"))
        }
    }
}
