//! Hits: what a person gets of a document that was found, read from the page itself.
//!
//! Only the few best are read, so the index need not hold what the tree already says, and a hit is
//! never staler than the file it points to.

use super::candidates::Candidate;
use super::confidence::{CONFIDENT, Evidence};
use super::digests::{DigestPage, Passage};
use super::matcher::{Matcher, TextMatch};
use super::notes::{self, Note, Section};
use crate::base::{clock, files, markdown, text};
use crate::model::digest::{FOLDER, Origin, Trigger};
use crate::model::hit::{Hit, HitTrigger, NoteHit};
use crate::model::ids::SessionId;
use crate::store::layout::{self, Layout};

/// How long an excerpt is, in characters.
const EXCERPT: usize = 220;
/// How long the topic of a line is that stands for a trigger.
const TOPIC: usize = 100;
/// How many matching triggers a hit shows.
const MOST_TRIGGERS: usize = 3;
/// How much more a word counts in a trigger's sentence than among its keys, to choose between
/// triggers.
const SAID: f32 = 0.5;
/// How many words a reason names.
const MOST_WORDS: usize = 6;

/// A session that answers a query.
pub struct SessionMatch {
    pub score: f32,
    pub confidence: f32,
    pub evidence: Evidence,
    /// Whether it was not found worth remembering.
    pub aside: bool,
    /// The numbers of the phrasings that found it.
    pub found_by: Vec<usize>,
    pub session: SessionId,
    pub page: DigestPage,
}

/// What of a query a trigger has: in its sentence, with its topic, and with its keys in all.
struct TriggerMatch<'t> {
    trigger: &'t Trigger,
    sentence: TextMatch<'t>,
    said: TextMatch<'t>,
    all: TextMatch<'t>,
}

/// A place of a page where something of the query is: how much, and in which words.
struct MatchedPlace {
    name: String,
    weight: f32,
    words: Vec<String>,
}

/// Makes a hit of a session; its rank is given later.
pub fn session_hit(matcher: &Matcher, layout: &Layout, found: &SessionMatch) -> Hit {
    let SessionMatch { session, page, .. } = found;
    let folder = layout.shown(&layout.session(session));
    let path = layout.shown(&layout.digest(session));
    let all: Vec<TriggerMatch> =
        page.triggers.iter().map(|trigger| match_trigger(matcher, trigger)).collect();
    let mut triggers: Vec<&TriggerMatch> =
        all.iter().filter(|one| matcher.weight(&one.all) > 0.0).collect();
    // The same score that ranked the page; what a trigger says in a sentence leads to its part
    // more surely than a key. The order of the page breaks ties: the sort is stable.
    triggers.sort_by_cached_key(|one| {
        let score = matcher.part_score(&one.all.counts).score + SAID * matcher.weight(&one.said);
        std::cmp::Reverse((score * 1e4) as i64)
    });
    let (reason, excerpt, words) = explain(matcher, page, triggers.first().copied(), &all);
    let best = triggers.first().map_or(0.0, |one| matcher.part_score(&one.all.counts).score);
    let shown = triggers.iter().map(|TriggerMatch { trigger, .. }| {
        let inside = files::safe_relative(trigger.path.as_ref()).is_some();
        HitTrigger {
            topic: trigger.topic.clone(),
            episode: trigger.episode,
            path: if inside { format!("{folder}/{}", trigger.path) } else { path.clone() },
            origin: trigger.origin,
        }
    });
    let mut shown: Vec<HitTrigger> = shown.collect();
    if let Some(line) = better_line(matcher, page, best, &folder) {
        // What matched best comes first: `recall` opens the first one.
        match shown.iter().position(|one| one.episode == line.episode) {
            Some(place) => shown[..=place].rotate_right(1),
            None => shown.insert(0, line),
        }
    }
    shown.truncate(MOST_TRIGGERS);
    Hit {
        rank: 0,
        score: rounded(found.score),
        weak: found.confidence < CONFIDENT,
        confidence: hundredths(found.confidence),
        evidence: found.evidence.shown(),
        lacks: Vec::new(),
        found_by: Vec::new(),
        aside: found.aside,
        triggers: shown,
        session: session.clone(),
        source_id: page.source_id.clone(),
        title: page.head.title.clone(),
        status: page.head.status.clone(),
        project: page.head.project.clone(),
        flavor: page.head.flavor.clone(),
        ended: page.head.ended.map(clock::stamp),
        path,
        whose: None,
        excerpt,
        reason,
        passage: None,
        words,
    }
}

/// Makes a hit of a section of a page that is no digest; its rank is given later.
pub fn note_hit(
    matcher: &Matcher,
    note: &Note,
    section: &Section,
    found: &Candidate,
) -> Option<NoteHit> {
    let path = found.name.as_str();
    let confidence = found.evidence.confidence();
    let texts = [&note.head.title, &section.heading, &section.text];
    let words = matcher.words(&matcher.match_texts(texts));
    Some(NoteHit {
        rank: 0,
        score: rounded(found.score),
        tree: notes::tree_of(path)?,
        title: note.head.title.clone(),
        heading: section.heading.clone(),
        project: note.head.project.clone(),
        ended: note.head.ended.map(clock::stamp),
        path: path.to_string(),
        line: section.line,
        excerpt: text::excerpt(&markdown::plain(&section.text), &words, EXCERPT),
        weak: confidence < CONFIDENT,
        confidence: hundredths(confidence),
        found_by: Vec::new(),
        reason: if words.is_empty() { "filters".into() } else { reason("section", &words) },
        words,
    })
}

/// Why something was found: where, and by which words.
pub fn reason(place: &str, words: &[String]) -> String {
    format!("{place}: {}", words[..words.len().min(MOST_WORDS)].join(", "))
}

/// A confidence as it is shown: never rounded up to what is no guess.
fn hundredths(confidence: f32) -> f64 {
    f64::from((confidence * 100.0).floor()) / 100.0
}

/// A score as it is shown: more digits would only differ from machine to machine.
pub fn rounded(score: f32) -> f64 {
    f64::from((score * 1e4).round()) / 1e4
}

/// The decision, lesson or outcome that fits better than the best trigger, as one.
fn better_line(
    matcher: &Matcher,
    page: &DigestPage,
    best_trigger: f32,
    folder: &str,
) -> Option<HitTrigger> {
    if page.head.flavor == FOLDER {
        return None;
    }
    let score =
        |passage: &Passage| matcher.part_score(&matcher.match_texts([&passage.text]).counts).score;
    let lines = page.passages.iter().filter_map(|line| Some((score(line), line.episode?, line)));
    let best = lines.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, episode, line) = Some(best).filter(|(score, ..)| *score > best_trigger)?;
    Some(HitTrigger {
        topic: text::one_line(&line.text, TOPIC),
        episode,
        path: format!("{folder}/{}", layout::from_digest(&layout::episode(episode))),
        origin: line.origin.unwrap_or(Origin::Assistant),
    })
}

fn match_trigger<'t>(matcher: &'t Matcher, trigger: &'t Trigger) -> TriggerMatch<'t> {
    let sentence = matcher.match_texts([&trigger.sentence]);
    let mut said = matcher.match_texts([&trigger.topic]);
    said.add(&sentence);
    let mut all = said.clone();
    all.add(&matcher.match_texts(&trigger.keys));
    TriggerMatch { trigger, sentence, said, all }
}

/// Why a page was found, the part of it that shows it best, and the words in it that match.
fn explain(
    matcher: &Matcher,
    page: &DigestPage,
    trigger: Option<&TriggerMatch>,
    triggers: &[TriggerMatch],
) -> (String, String, Vec<String>) {
    let passages: Vec<TextMatch> =
        page.passages.iter().map(|passage| matcher.match_texts([&passage.text])).collect();
    let mut summary = matcher.match_texts([""; 0]);
    passages.iter().for_each(|passage| summary.add(passage));
    let place = |name: &str, found: &TextMatch| MatchedPlace {
        name: name.to_string(),
        weight: matcher.weight(found),
        words: matcher.words(found),
    };
    let trigger = trigger.map(|one| place(&format!("trigger “{}”", one.trigger.topic), &one.all));
    let places: Vec<MatchedPlace> = trigger
        .into_iter()
        .chain([
            place("title", &matcher.match_texts([&page.head.title])),
            place("summary", &summary),
            place("files", &matcher.match_texts(&page.head.files)),
            place("tags", &matcher.match_texts(&page.head.tags)),
            place("names", &matcher.match_texts(&page.names)),
        ])
        .collect();
    let mut words: Vec<String> = Vec::new();
    for word in places.iter().flat_map(|place| &place.words) {
        if !words.contains(word) {
            words.push(word.clone());
        }
    }
    let mut best: Option<&MatchedPlace> = None;
    for place in &places {
        if place.weight > best.map_or(0.0, |best| best.weight) {
            best = Some(place);
        }
    }
    let reason = match best {
        Some(best) => reason(&best.name, &best.words),
        None if matcher.terms.is_empty() => "filters".into(),
        None => "its names".into(),
    };
    (reason, excerpt(matcher, page, &passages, triggers, &words), words)
}

/// The stretch that says most: of a trigger's sentence or a passage, never a list of keys.
fn excerpt(
    matcher: &Matcher,
    page: &DigestPage,
    passages: &[TextMatch],
    triggers: &[TriggerMatch],
    words: &[String],
) -> String {
    let sentences = triggers.iter().map(|one| (&one.trigger.sentence, &one.sentence));
    let mut best: Option<(f32, &str)> = None;
    let lines = page.passages.iter().map(|passage| &passage.text).zip(passages);
    for (text, found) in sentences.chain(lines) {
        let weight = matcher.weight(found);
        if weight > best.map_or(0.0, |(most, _)| most) {
            best = Some((weight, text));
        }
    }
    if let Some((_, text)) = best {
        return text::excerpt(text, words, EXCERPT);
    }
    // Keys are no sentence: then what the part says whose keys match, or what the page is about.
    let by_keys = triggers.iter().filter(|one| !one.trigger.sentence.is_empty());
    let by_keys = by_keys.map(|one| (matcher.weight(&one.all), &one.trigger.sentence));
    let by_keys = by_keys.filter(|(weight, _)| *weight > 0.0);
    let said = by_keys.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, sentence)| sentence);
    let first = page.passages.first().map(|passage| &passage.text);
    text::one_line(said.or(first).unwrap_or(&page.head.title), EXCERPT)
}
