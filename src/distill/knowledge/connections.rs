//! Connection pages: two concepts that keep meeting, in more than one session.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::pages::{quote, sources};
use super::sayings::Said;
use super::topics::{Class, Topic};
use crate::model::ids::SessionId;
use crate::model::knowledge::{Connection, Kind, PageName};

/// Two concepts are connected if so many sessions name both, and so many sentences say them
/// together.
const FEWEST_SESSIONS: usize = 2;
const FEWEST_SENTENCES: usize = 3;
const MOST_EVIDENCE: usize = 6;

/// The pages on what connects concepts.
pub fn connections(said: &Said, topics: &[Topic], there: &BTreeSet<PageName>) -> Vec<Connection> {
    let mut of_saying: HashMap<usize, Vec<usize>> = HashMap::new();
    for (topic, it) in topics.iter().enumerate() {
        // A project is named wherever it is worked on; that connects nothing.
        if it.class != Class::Project {
            it.sayings.iter().for_each(|at| of_saying.entry(*at).or_default().push(topic));
        }
    }
    let mut pairs: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    let mut sayings: Vec<(&usize, &Vec<usize>)> = of_saying.iter().collect();
    sayings.sort_unstable();
    for (at, named) in sayings {
        for (place, one) in named.iter().enumerate() {
            named[place + 1..]
                .iter()
                .for_each(|other| pairs.entry((*one, *other)).or_default().push(*at));
        }
    }
    let mut connections: Vec<Connection> = pairs
        .into_iter()
        .filter_map(|((one, other), sayings)| {
            connection(said, &topics[one], &topics[other], &sayings, there)
        })
        .collect();
    connections.sort_by(|a, b| a.name.cmp(&b.name));
    connections.dedup_by(|a, b| a.name == b.name);
    connections
}

fn connection(
    said: &Said,
    one: &Topic,
    other: &Topic,
    sayings: &[usize],
    there: &BTreeSet<PageName>,
) -> Option<Connection> {
    let name =
        PageName::new(Kind::Connection, &format!("{} and {}", one.name.slug(), other.name.slug()));
    let sessions: HashSet<&SessionId> =
        sayings.iter().filter_map(|at| said.sayings[*at].place.session.as_ref()).collect();
    let parts =
        |topic: &Topic| topic.name.slug().split('-').map(str::to_string).collect::<HashSet<_>>();
    // `jitter` and `full jitter` meet by their nature.
    let nested = !parts(one).is_disjoint(&parts(other));
    let mut quotable: Vec<usize> =
        sayings.iter().copied().filter(|at| said.sayings[*at].worth > 0.0).collect();
    quotable.sort_by(|a, b| {
        said.sayings[*b].worth.total_cmp(&said.sayings[*a].worth).then_with(|| a.cmp(b))
    });
    let mut texts = HashSet::new();
    quotable.retain(|at| texts.insert(said.sayings[*at].text.as_str()));
    let connected =
        !nested && sessions.len() >= FEWEST_SESSIONS && quotable.len() >= FEWEST_SENTENCES;
    if quotable.is_empty() || (!connected && !there.contains(&name)) {
        return None;
    }
    let (first, second) = (form(one), form(other));
    let insight = said.sayings.get(*quotable.first()?).map(quote);
    let mut evidence: Vec<usize> = quotable.iter().copied().skip(1).take(MOST_EVIDENCE).collect();
    evidence.sort_unstable();
    Some(Connection {
        title: format!("{first} and {second}"),
        connects: [one.name.clone(), other.name.clone()],
        connection: format!(
            "{first} and {second} were named together in {} sentences of {} sessions.",
            sayings.len(),
            sessions.len()
        ),
        insight,
        evidence: evidence.into_iter().map(|at| quote(&said.sayings[at])).collect(),
        related: vec![one.name.clone(), other.name.clone()],
        sources: sources(sayings.iter().map(|at| &said.sayings[*at].place)),
        name,
    })
}

fn form(topic: &Topic) -> String {
    topic.forms.first().cloned().unwrap_or_else(|| topic.name.slug().to_string())
}
