//! Concept pages: of all that was said of a topic, what is quoted, and where.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::sentences::{Action, Sentence, Transcript};
use super::topics::{Class, Topic};
use crate::base::{markdown, text};
use crate::distill::day::is_noise;
use crate::distill::words;
use crate::model::ids::SessionId;
use crate::model::knowledge::{About, Concept, Details, Quote, QuoteSource, SourceDay};

const KEY_POINTS: usize = 5;
/// With fewer, there is no page.
pub const FEWEST_POINTS: usize = 3;
const CORE_QUOTES: usize = 2;
/// How many parts the details have, and how many quotes each.
const MOST_DETAILS: usize = 8;
const FEWEST_DETAILS: usize = 2;
const QUOTES_EACH: usize = 3;
const MOST_ALIASES: usize = 6;
/// Two sentences with more words in common than this say the same.
const ALIKE: f32 = 0.6;

/// The pages on topics, without their relations.
pub fn concepts(
    transcript: &Transcript,
    topics: &[Topic],
    sessions: &BTreeMap<SessionId, About>,
) -> Vec<Concept> {
    topics.iter().map(|topic| concept(transcript, topic, sessions)).collect()
}

fn concept(
    transcript: &Transcript,
    topic: &Topic,
    sessions: &BTreeMap<SessionId, About>,
) -> Concept {
    let title = title(topic);
    let ranked = ranked(transcript, topic);
    let core: Vec<usize> =
        ranked.iter().copied().take(if ranked.len() >= 7 { CORE_QUOTES } else { 1 }).collect();
    // Where little was transcript, the best of it is a key point too.
    let spare = ranked.len() > FEWEST_POINTS;
    let mut points: Vec<usize> =
        ranked.iter().copied().filter(|at| !spare || !core.contains(at)).take(KEY_POINTS).collect();
    points.sort_unstable();
    let used: HashSet<usize> = core.iter().chain(&points).copied().collect();
    let details = details(transcript, topic, &ranked, &used, sessions);
    let quotes = |sentences: &[usize]| {
        sentences.iter().map(|at| quote(&transcript[*at])).collect::<Vec<Quote>>()
    };
    let sources = sources(topic.sentences.iter().map(|at| &transcript[*at].place));
    Concept {
        name: topic.name.clone(),
        aliases: topic
            .forms
            .iter()
            .filter(|form| **form != title)
            .take(MOST_ALIASES)
            .cloned()
            .collect(),
        tags: tags(transcript, topic, sessions),
        where_met: where_met(transcript, topic, &title, &sources, sessions),
        title,
        core: quotes(&core),
        key_points: quotes(&points),
        details,
        related: Vec::new(),
        sources,
    }
}

/// The commonest form; words begin with a capital, symbols stay as they are.
fn title(topic: &Topic) -> String {
    let form = topic.forms.first().cloned().unwrap_or_else(|| topic.name.slug().to_string());
    match topic.class {
        Class::Word | Class::Phrase => {
            let mut letters = form.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect())
                .unwrap_or(form)
        }
        _ => form,
    }
}

pub fn quote(sentence: &Sentence) -> Quote {
    Quote { text: sentence.text.clone(), origin: sentence.origin, place: sentence.place.clone() }
}

/// The sentences on a topic that are worth quoting, the best first, none of which only
/// repeats another.
fn ranked(transcript: &Transcript, topic: &Topic) -> Vec<usize> {
    let mut scored: Vec<(f32, usize)> = topic
        .sentences
        .iter()
        .filter(|at| transcript[**at].worth > 0.0)
        .map(|at| (transcript[*at].worth + defines(&transcript[*at].text, topic), *at))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // What follows a sentence that names the topic says more of it, but ranks below all that name
    // it.
    let named: Vec<usize> = scored.iter().map(|(_, at)| *at).collect();
    let going_on =
        named.iter().filter_map(|at| transcript.next(*at)).filter(|at| !named.contains(at));
    let mut kept: Vec<(usize, HashSet<String>)> = Vec::new();
    for at in named.iter().copied().chain(going_on) {
        // Beyond what a page can show, nothing needs to be compared.
        if kept.len() >= MOST_DETAILS * QUOTES_EACH + KEY_POINTS + CORE_QUOTES {
            break;
        }
        let words = words::stems(&transcript[at].text, |word| word.whole);
        if !kept.iter().any(|(_, other)| alike(&words, other)) {
            kept.push((at, words));
        }
    }
    kept.into_iter().map(|(at, _)| at).collect()
}

/// A sentence that begins with the topic says what it is.
fn defines(sentence: &str, topic: &Topic) -> f32 {
    const SAYS_WHAT: &[&str] = &[
        "is", "are", "was", "means", "lets", "keeps", "makes", "has", "gives", "takes", "returns",
        "does", "needs",
    ];
    let lower = sentence.to_lowercase();
    let after = topic.forms.iter().find_map(|form| {
        let at = lower.find(&form.to_lowercase()).filter(|at| *at <= 12)?;
        lower.get(at + form.len()..)
    });
    match after {
        Some(rest) => {
            let mut next =
                rest.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
            if next.next().is_some_and(|word| SAYS_WHAT.contains(&word)) { 0.5 } else { 0.2 }
        }
        None => 0.0,
    }
}

fn alike(one: &HashSet<String>, other: &HashSet<String>) -> bool {
    let shared = one.intersection(other).count() as f32;
    shared / (one.len().min(other.len()).max(1) as f32) > ALIKE
}

/// Where a topic comes up, in a sentence of ours.
fn where_met(
    transcript: &Transcript,
    topic: &Topic,
    title: &str,
    sources: &[SourceDay],
    sessions: &BTreeMap<SessionId, About>,
) -> String {
    let of: BTreeSet<&SessionId> = sources.iter().flat_map(|source| &source.sessions).collect();
    let projects: BTreeSet<&str> =
        of.iter().filter_map(|session| sessions.get(session)?.project.as_deref()).collect();
    let count = match of.len() {
        0 => "the notes of a day".to_string(),
        1 => "one session".to_string(),
        many => format!("{many} sessions"),
    };
    let exchanges: HashSet<usize> =
        topic.sentences.iter().map(|at| transcript[*at].exchange).collect();
    let within = match projects.iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        _ if topic.class == Class::Project => String::new(),
        [one] => format!(" of {one}"),
        [one, two] => format!(" of {one} and {two}"),
        [one, two, ..] => format!(" of {} projects, {one} and {two} among them", projects.len()),
    };
    let (first, last) = (sources.first().map(|it| it.day), sources.last().map(|it| it.day));
    let when = match (first, last) {
        (Some(first), Some(last)) if first != last => format!("between {first} and {last}"),
        (Some(first), _) => format!("on {first}"),
        _ => String::new(),
    };
    let exchanges = match exchanges.len() {
        1 => "in one exchange".to_string(),
        many => format!("in {many} exchanges"),
    };
    match topic.class {
        Class::Project => format!("{title} is a project on which {count} worked {when}."),
        _ => format!("{title} came up in {count}{within}, {exchanges}, {when}."),
    }
}

fn tags(
    transcript: &Transcript,
    topic: &Topic,
    sessions: &BTreeMap<SessionId, About>,
) -> Vec<String> {
    let mut tags: BTreeSet<String> = BTreeSet::new();
    for session in topic.sentences.iter().filter_map(|at| transcript[*at].place.session.as_ref()) {
        let project = sessions.get(session).and_then(|about| about.project.as_deref());
        tags.extend(project.map(|project| text::slug(project, 40)));
    }
    let class = match topic.class {
        Class::Error => Some("error"),
        Class::File => Some("file"),
        Class::Symbol => Some("symbol"),
        Class::Project => Some("project"),
        _ => None,
    };
    class.map(str::to_string).into_iter().chain(tags).collect()
}

/// The days and sessions that some places are in.
pub fn sources<'p>(places: impl Iterator<Item = &'p QuoteSource>) -> Vec<SourceDay> {
    let mut days: BTreeMap<chrono::NaiveDate, BTreeSet<SessionId>> = BTreeMap::new();
    for place in places {
        days.entry(place.day).or_default().extend(place.session.clone());
    }
    days.into_iter()
        .map(|(day, sessions)| SourceDay { day, sessions: sessions.into_iter().collect() })
        .collect()
}

/// What each exchange had to say, in the order of time.
fn details(
    transcript: &Transcript,
    topic: &Topic,
    ranked: &[usize],
    used: &HashSet<usize>,
    sessions: &BTreeMap<SessionId, About>,
) -> Vec<Details> {
    // The exchanges that say most of it.
    let mut weights: HashMap<usize, f32> = HashMap::new();
    for at in &topic.sentences {
        *weights.entry(transcript[*at].exchange).or_default() += 0.1 + transcript[*at].worth;
    }
    let mut best: Vec<(usize, f32)> = weights.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut exchanges: Vec<usize> =
        best.into_iter().take(MOST_DETAILS).map(|(exchange, _)| exchange).collect();
    exchanges.sort_unstable();
    let mut details = Vec::new();
    let mut bare = Vec::new();
    for exchange in exchanges {
        let it = &transcript.exchanges[exchange];
        let mut quotes: Vec<usize> = ranked
            .iter()
            .copied()
            .filter(|at| transcript[*at].exchange == exchange && !used.contains(at))
            .filter(|at| !it.prompt.contains(transcript[*at].text.trim_end_matches('.')))
            .take(QUOTES_EACH)
            .collect();
        quotes.sort_unstable();
        let actions = actions(&it.actions);
        // Files and commands alone say nothing of the topic.
        let has_content = !quotes.is_empty();
        if has_content || !actions.is_empty() || !is_noise(&it.prompt) {
            let quotes = quotes.into_iter().map(|at| quote(&transcript[at])).collect();
            let part = Details { lead: lead(&it.place, &it.prompt, sessions), quotes, actions };
            if has_content { &mut details } else { &mut bare }.push(part);
        }
    }
    // What was only asked or run is shown where there is little else.
    while details.len() < FEWEST_DETAILS && !bare.is_empty() {
        details.push(bare.remove(0));
    }
    details.extend(
        endings(topic, transcript, sessions)
            .into_iter()
            .take(FEWEST_DETAILS.saturating_sub(details.len())),
    );
    details
}

/// How the sessions went in which a topic came up.
fn endings(
    topic: &Topic,
    transcript: &Transcript,
    sessions: &BTreeMap<SessionId, About>,
) -> Vec<Details> {
    let of: BTreeSet<&SessionId> =
        topic.sentences.iter().filter_map(|at| transcript[*at].place.session.as_ref()).collect();
    let endings = of.into_iter().filter_map(|session| {
        let about = sessions.get(session)?;
        let status = about.status?;
        Some(Details {
            lead: format!(
                "The session, “{}”, ended as {status}",
                text::one_line(&about.title, 120)
            ),
            quotes: Vec::new(),
            actions: Vec::new(),
        })
    });
    endings.collect()
}

fn lead(place: &QuoteSource, prompt: &str, sessions: &BTreeMap<SessionId, About>) -> String {
    let about = place.session.as_ref().and_then(|session| sessions.get(session));
    let project = about
        .and_then(|about| about.project.as_deref())
        .map(|name| format!(", {name}"))
        .unwrap_or_default();
    match prompt.is_empty() {
        true => format!("{}{project}", place.day),
        false => format!("{}{project}, when asked “{prompt}”", place.day),
    }
}

fn actions(actions: &[Action]) -> Vec<String> {
    const MOST: usize = 4;
    let mut edited: Vec<String> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for action in actions {
        let (list, said) = match action {
            Action::Edited(path) => (&mut edited, text::file_name(path)),
            Action::Failed(command) => (&mut failed, command.as_str()),
        };
        if !list.iter().any(|known| known == said) {
            list.push(said.to_string());
        }
    }
    let mut lines = Vec::new();
    for (what, list) in [("changed", edited), ("failed", failed)] {
        if !list.is_empty() {
            lines.push(format!("{what} {}", markdown::code_list(&list, MOST)));
        }
    }
    lines
}
