//! Connection pages: two concepts that keep pair_count, in more than one session.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::pages::{quote, sources};
use super::sentences::Transcript;
use super::topics::{Class, Topic};
use crate::base::static_regex::StaticRegex;
use crate::model::ids::SessionId;
use crate::model::knowledge::{Connection, Kind, PageName};

/// Two concepts are connected if so many sessions name both, and so many sentences say them
/// together.
const FEWEST_SESSIONS: usize = 2;
const FEWEST_SENTENCES: usize = 3;
/// Words that say how one thing has to do with another; without one, two names only meet.
static REASON: StaticRegex = StaticRegex::new(
    r"(?i)\b(because|so that|instead of|rather than|depends? on|needs?|requires?|replaces?|causes?|breaks?|uses?|via|through|over|unless|without|must|otherwise|therefore)\b",
);
const MOST_EVIDENCE: usize = 6;

/// The pages on what connects concepts.
pub fn connections(
    transcript: &Transcript,
    topics: &[Topic],
    there: &BTreeSet<PageName>,
) -> Vec<Connection> {
    let mut by_sentence: HashMap<usize, Vec<usize>> = HashMap::new();
    for (topic, it) in topics.iter().enumerate() {
        // A project is named wherever it is worked on; that connects nothing.
        if it.class != Class::Project {
            it.sentences.iter().for_each(|at| by_sentence.entry(*at).or_default().push(topic));
        }
    }
    let mut pairs: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    let mut sentences: Vec<(&usize, &Vec<usize>)> = by_sentence.iter().collect();
    sentences.sort_unstable();
    for (at, named) in sentences {
        for (place, one) in named.iter().enumerate() {
            named[place + 1..]
                .iter()
                .for_each(|other| pairs.entry((*one, *other)).or_default().push(*at));
        }
    }
    let mut connections: Vec<Connection> = pairs
        .into_iter()
        .filter_map(|((one, other), sentences)| {
            connection(transcript, &topics[one], &topics[other], &sentences, there)
        })
        .collect();
    connections.sort_by(|a, b| a.name.cmp(&b.name));
    connections.dedup_by(|a, b| a.name == b.name);
    connections
}

fn connection(
    transcript: &Transcript,
    one: &Topic,
    other: &Topic,
    sentences: &[usize],
    there: &BTreeSet<PageName>,
) -> Option<Connection> {
    let name =
        PageName::new(Kind::Connection, &format!("{} and {}", one.name.slug(), other.name.slug()));
    let sessions: HashSet<&SessionId> =
        sentences.iter().filter_map(|at| transcript[*at].place.session.as_ref()).collect();
    let parts =
        |topic: &Topic| topic.name.slug().split('-').map(str::to_string).collect::<HashSet<_>>();
    // `jitter` and `full jitter` meet by their nature.
    let nested = !parts(one).is_disjoint(&parts(other));
    let mut quotable: Vec<usize> =
        sentences.iter().copied().filter(|at| transcript[*at].worth > 0.0).collect();
    quotable.sort_by(|a, b| {
        transcript[*b].worth.total_cmp(&transcript[*a].worth).then_with(|| a.cmp(b))
    });
    let mut texts = HashSet::new();
    quotable.retain(|at| texts.insert(transcript[*at].text.as_str()));
    let has_reason = quotable.iter().any(|at| REASON.is_match(&transcript[*at].text));
    let connected = !nested
        && has_reason
        && sessions.len() >= FEWEST_SESSIONS
        && quotable.len() >= FEWEST_SENTENCES;
    if quotable.is_empty() || (!connected && !there.contains(&name)) {
        return None;
    }
    let (first, second) = (form(one), form(other));
    let insight = transcript.sentences.get(*quotable.first()?).map(quote);
    let mut evidence: Vec<usize> = quotable.iter().copied().skip(1).take(MOST_EVIDENCE).collect();
    evidence.sort_unstable();
    Some(Connection {
        title: format!("{first} and {second}"),
        connects: [one.name.clone(), other.name.clone()],
        connection: format!(
            "{first} and {second} were named together in {} sentences of {} sessions.",
            sentences.len(),
            sessions.len()
        ),
        insight,
        evidence: evidence.into_iter().map(|at| quote(&transcript[at])).collect(),
        related: vec![one.name.clone(), other.name.clone()],
        sources: sources(sentences.iter().map(|at| &transcript[*at].place)),
        name,
    })
}

fn form(topic: &Topic) -> String {
    topic.forms.first().cloned().unwrap_or_else(|| topic.name.slug().to_string())
}
