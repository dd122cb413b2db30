//! Hits: what a person gets of a document that was found, read from the digest itself.
//!
//! Only the few best are read, so the index need not hold what the tree already says, and a hit is
//! never staler than the file it points to.

use std::borrow::Cow;
use std::collections::HashMap;

use super::matches::Wanted;
use super::notes::{self, Note, Section};
use super::page::Page;
use super::rank;
use crate::base::files;
use crate::base::{clock, markdown, text};
use crate::model::digest::Trigger;
use crate::model::hit::{Hit, HitTrigger, NoteHit};
use crate::model::ids::SessionId;
use crate::query::terms::stem;
use crate::store::layout::Layout;

/// How long an excerpt is, in characters.
const EXCERPT: usize = 220;
/// How many matching triggers a hit shows.
const MOST_TRIGGERS: usize = 3;
/// How much more a word counts in a trigger's sentence than among its keys, to choose between
/// triggers.
const SAID: f32 = 0.5;
/// How many words a reason names.
pub const MOST_WORDS: usize = 6;

/// The words of a query, to find them again in a text.
pub struct Finder<'p> {
    /// Each word with its place in `wanted`.
    places: HashMap<&'p str, Vec<usize>>,
    /// Which bytes a wanted word begins with: most words of a text are none by their first letter
    /// already.
    beginnings: [bool; 256],
    wanted: &'p [Wanted],
}

/// What of a query a text has, or several together.
#[derive(Debug, Clone)]
struct Seen<'t> {
    counted: Counted,
    /// The words as the texts have them, in their order, each once; and which wanted ones each is.
    words: Vec<(Cow<'t, str>, &'t [usize])>,
}

/// The same, summed up.
#[derive(Debug, Default)]
struct Trace {
    weight: f32,
    /// The words as the text has them, in its order, each once.
    words: Vec<String>,
}

/// What of a query a trigger has: in its topic, its sentence, and with its keys in all.
struct SeenTrigger<'t> {
    trigger: &'t Trigger,
    topic: Seen<'t>,
    sentence: Seen<'t>,
    all: Seen<'t>,
}

/// How well the best part of a page fits.
#[derive(Debug, Default, Clone, Copy)]
pub struct Closest {
    pub score: f32,
    /// The weight of the words that it has.
    pub weight: f32,
}

/// How often each wanted word stands in a text, and how many words that has.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    pub times: Vec<u32>,
    length: u32,
}

impl Counted {
    /// Makes it the counts of a text of so many words, none of which is wanted.
    pub fn clear(&mut self, length: u32) {
        self.times.fill(0);
        self.length = length;
    }

    /// Adds the counts of another text.
    pub fn add(&mut self, other: &Counted) {
        self.length += other.length;
        self.times.iter_mut().zip(&other.times).for_each(|(sum, times)| *sum += times);
    }

    /// Adds one for each word that another text has.
    pub fn add_presence(&mut self, other: &Counted) {
        self.times
            .iter_mut()
            .zip(&other.times)
            .for_each(|(sum, times)| *sum += u32::from(*times > 0));
    }
}

impl<'p> Finder<'p> {
    /// Finds words that are looked for; those of one group lie together.
    pub fn new(wanted: &'p [Wanted]) -> Finder<'p> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, wanted) in wanted.iter().enumerate() {
            places.entry(&wanted.word).or_default().push(at);
        }
        let mut beginnings = [false; 256];
        places
            .keys()
            .filter_map(|word| word.bytes().next())
            .for_each(|byte| beginnings[usize::from(byte)] = true);
        Finder { places, beginnings, wanted }
    }

    /// Which of the wanted words a word is. Folding takes from its end alone.
    fn places_of(&self, word: &str) -> Option<&[usize]> {
        let begins = word.bytes().next().is_some_and(|byte| self.beginnings[usize::from(byte)]);
        if begins { self.places.get(stem(word)).map(Vec::as_slice) } else { None }
    }

    /// The counts of an empty text.
    pub fn nothing(&self) -> Counted {
        Counted { times: vec![0; self.wanted.len()], length: 0 }
    }

    /// Adds the words of a text to counts.
    pub fn count(&self, value: &str, counted: &mut Counted) {
        text::each_word(value, |word| {
            counted.length += u32::from(word.whole);
            if let Some(places) = self.places_of(&word.text) {
                places.iter().for_each(|at| counted.times[*at] += 1);
            }
        });
    }

    /// Looks for the wanted words in a text.
    fn seen<'t>(&'t self, value: &'t str) -> Seen<'t> {
        let mut seen = Seen { counted: self.nothing(), words: Vec::new() };
        text::each_word(value, |word| {
            seen.counted.length += u32::from(word.whole);
            if let Some(places) = self.places_of(&word.text) {
                places.iter().for_each(|at| seen.counted.times[*at] += 1);
                if !seen.words.iter().any(|(there, _)| *there == word.text) {
                    seen.words.push((word.text, places));
                }
            }
        });
        seen
    }

    /// The same for several texts together.
    fn seen_in<'t>(&'t self, texts: impl IntoIterator<Item = &'t String>) -> Seen<'t> {
        let mut all = Seen { counted: self.nothing(), words: Vec::new() };
        texts.into_iter().for_each(|text| all.add(&self.seen(text)));
        all
    }

    fn trace(&self, seen: &Seen) -> Trace {
        let times = &seen.counted.times;
        // A word that only stands for another is no reason where that other one is there itself.
        let best_of_group = |at: &usize| {
            let (group, weight) = (self.wanted[*at].group, self.wanted[*at].weight);
            let others = self
                .wanted
                .iter()
                .zip(times)
                .filter(|(wanted, times)| wanted.group == group && **times > 0);
            others.into_iter().all(|(wanted, _)| wanted.weight <= weight)
        };
        let words = seen.words.iter().filter(|(_, places)| places.iter().any(best_of_group));
        Trace {
            weight: self.weighed(seen),
            words: words.map(|(word, _)| word.to_string()).collect(),
        }
    }

    /// The words that are looked for.
    pub fn words(&self) -> impl Iterator<Item = &'p str> {
        self.wanted.iter().map(|wanted| wanted.word.as_str())
    }

    /// How well a part of a page fits: a trigger, the summary, or a section.
    pub fn part_score(&self, counted: &Counted) -> Closest {
        let present = |at: usize| rank::presence_in_part(counted.times[at], counted.length);
        self.summed(|at, wanted| (wanted.weight * present(at), wanted.weight))
    }

    /// How well a trigger fits.
    pub fn trigger_score(&self, trigger: &Trigger) -> f32 {
        let mut counted = self.nothing();
        texts_of(trigger).for_each(|text| self.count(text, &mut counted));
        self.part_score(&counted).score
    }

    /// How well a passage fits, by how rare each word is among passages.
    pub fn passage_score(&self, counted: &Counted, rarity: &[f32]) -> f32 {
        let present = |at: usize| rank::presence_in_passage(counted.times[at], counted.length);
        self.summed(|at, wanted| (rarity[at] * wanted.factor * present(at), wanted.weight)).score
    }

    /// How well an episode as a whole fits.
    pub fn episode_score(&self, counted: &Counted, rarity: &[f32]) -> f32 {
        let present = |at: usize| rank::presence(counted.times[at], counted.length);
        self.summed(|at, wanted| (rarity[at] * wanted.factor * present(at), wanted.weight)).score
    }

    /// The words of a text that match.
    pub fn words_of(&self, value: &str) -> Vec<String> {
        self.trace(&self.seen(value)).words
    }

    /// How much of the query is covered where these words are present: the best of each group
    /// counts.
    pub fn covered(&self, present: &[bool]) -> f32 {
        self.summed(|at, wanted| (if present[at] { wanted.covers } else { 0.0 }, wanted.covers))
            .weight
    }

    /// The weight of the words that were seen.
    fn weighed(&self, seen: &Seen) -> f32 {
        let times = &seen.counted.times;
        self.summed(|at, wanted| (if times[at] > 0 { wanted.weight } else { 0.0 }, wanted.weight))
            .weight
    }

    /// The best word of each group, each with its score and weight, summed up in the order of the
    /// query.
    fn summed(&self, each: impl Fn(usize, &Wanted) -> (f32, f32)) -> Closest {
        let mut sum = Closest::default();
        let mut at = 0;
        for group in self.wanted.chunk_by(|a, b| a.group == b.group) {
            let mut best = Closest::default();
            for wanted in group {
                let (score, weight) = each(at, wanted);
                if score > best.score {
                    best = Closest { score, weight };
                }
                at += 1;
            }
            sum.score += best.score;
            sum.weight += best.weight;
        }
        sum
    }

    /// Makes a hit of a page.
    pub fn hit(&self, layout: &Layout, session: SessionId, page: Page) -> Hit {
        let folder = layout.shown(&layout.session(&session));
        let path = layout.shown(&layout.digest(&session));
        let seen: Vec<SeenTrigger> =
            page.triggers.iter().map(|trigger| self.seen_trigger(trigger)).collect();
        let mut triggers: Vec<(Trace, &SeenTrigger)> =
            seen.iter().map(|seen| (self.trace(&seen.all), seen)).collect();
        triggers.retain(|(trace, _)| trace.weight > 0.0);
        // The same score that ranked the page; what a trigger says in a sentence leads to its part
        // more surely than a key. The order of the page breaks ties: the sort is stable.
        triggers.sort_by_cached_key(|(_, seen)| {
            let mut said = seen.topic.clone();
            said.add(&seen.sentence);
            let score = self.part_score(&seen.all.counted).score + SAID * self.weighed(&said);
            std::cmp::Reverse((score * 1e4) as i64)
        });
        let (reason, excerpt, words) = self.explained(&page, triggers.first(), &seen);
        Hit {
            rank: 0,
            score: 0.0,
            weak: false,
            triggers: triggers
                .iter()
                .take(MOST_TRIGGERS)
                .map(|(_, SeenTrigger { trigger, .. })| HitTrigger {
                    topic: trigger.topic.clone(),
                    episode: trigger.episode,
                    path: match files::safe_relative(trigger.path.as_ref()) {
                        Some(_) => format!("{folder}/{}", trigger.path),
                        None => path.clone(),
                    },
                    origin: trigger.origin,
                })
                .collect(),
            session,
            source_id: page.source_id,
            title: page.title,
            status: page.status,
            project: page.project,
            flavor: page.flavor,
            ended: page.ended.map(clock::stamp),
            path,
            excerpt,
            reason,
            passage: None,
            words,
        }
    }

    /// Makes a hit of a section of a page that is no digest.
    pub fn note_hit(
        &self,
        path: &str,
        note: &Note,
        section: &Section,
        score: f64,
        weak: bool,
    ) -> Option<NoteHit> {
        let words =
            self.words_of(&format!("{}\n{}\n{}", note.title, section.heading, section.text));
        let shown: Vec<&str> = words.iter().take(MOST_WORDS).map(String::as_str).collect();
        Some(NoteHit {
            rank: 0,
            score,
            tree: notes::tree_of(path)?,
            title: note.title.clone(),
            heading: section.heading.clone(),
            project: note.project.clone(),
            ended: note.at.map(clock::stamp),
            path: path.to_string(),
            line: section.line,
            excerpt: text::excerpt(&markdown::plain(&section.text), &words, EXCERPT),
            weak,
            reason: if shown.is_empty() {
                "filters".into()
            } else {
                format!("section: {}", shown.join(", "))
            },
            words,
        })
    }

    fn seen_trigger<'t>(&'t self, trigger: &'t Trigger) -> SeenTrigger<'t> {
        let (topic, sentence) = (self.seen(&trigger.topic), self.seen(&trigger.sentence));
        let mut all = topic.clone();
        all.add(&sentence);
        all.add(&self.seen_in(&trigger.keys));
        SeenTrigger { trigger, topic, sentence, all }
    }

    /// Why a page was found, the part of it that shows it best, and the words in it that match.
    fn explained(
        &self,
        page: &Page,
        trigger: Option<&(Trace, &SeenTrigger)>,
        triggers: &[SeenTrigger],
    ) -> (String, String, Vec<String>) {
        let passages: Vec<Seen> = page.passages.iter().map(|passage| self.seen(passage)).collect();
        let mut summary = self.seen("");
        passages.iter().for_each(|passage| summary.add(passage));
        let places = [
            ("title", self.trace(&self.seen(&page.title))),
            ("summary", self.trace(&summary)),
            ("files", self.trace(&self.seen_in(&page.files))),
            ("tags", self.trace(&self.seen_in(&page.tags))),
            ("names", self.trace(&self.seen_in(&page.names))),
        ];
        let mut words: Vec<String> =
            trigger.map(|(trace, _)| trace.words.clone()).unwrap_or_default();
        for word in places.iter().flat_map(|(_, trace)| &trace.words) {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        let mut best: Option<(String, &Trace)> =
            trigger.map(|(trace, seen)| (format!("trigger “{}”", seen.trigger.topic), trace));
        for (name, trace) in &places {
            if trace.weight > best.as_ref().map_or(0.0, |(_, best)| best.weight) {
                best = Some((name.to_string(), trace));
            }
        }
        let reason = match best {
            Some((place, trace)) => {
                let shown: Vec<&str> =
                    trace.words.iter().take(MOST_WORDS).map(String::as_str).collect();
                format!("{place}: {}", shown.join(", "))
            }
            None if self.wanted.is_empty() => "filters".into(),
            None => "its names".into(),
        };
        (reason, self.excerpt(page, &passages, triggers, &words), words)
    }

    /// The most telling stretch: of a trigger's sentence, a passage, or else a trigger's keys.
    fn excerpt(
        &self,
        page: &Page,
        passages: &[Seen],
        triggers: &[SeenTrigger],
        words: &[String],
    ) -> String {
        let sentences = triggers.iter().map(|seen| (&seen.trigger.sentence, &seen.sentence));
        let mut best: Option<(f32, &str)> = None;
        for (text, seen) in sentences.chain(page.passages.iter().zip(passages)) {
            let weight = self.weighed(seen);
            if weight > best.map_or(0.0, |(most, _)| most) {
                best = Some((weight, text));
            }
        }
        if let Some((_, text)) = best {
            return text::excerpt(text, words, EXCERPT);
        }
        let keys = page.triggers.iter().map(|trigger| trigger.keys.join(", "));
        let telling = keys
            .map(|keys| (self.weighed(&self.seen(&keys)), keys))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match telling {
            Some((weight, keys)) if weight > 0.0 => text::excerpt(&keys, words, EXCERPT),
            _ => text::one_line(page.passages.first().unwrap_or(&page.title), EXCERPT),
        }
    }
}

impl<'t> Seen<'t> {
    /// Adds what another text has.
    fn add(&mut self, other: &Seen<'t>) {
        self.counted.add(&other.counted);
        for (word, places) in &other.words {
            if !self.words.iter().any(|(there, _)| there == word) {
                self.words.push((word.clone(), places));
            }
        }
    }
}

/// All that a trigger says.
fn texts_of(trigger: &Trigger) -> impl Iterator<Item = &str> {
    [&trigger.topic, &trigger.sentence].into_iter().chain(&trigger.keys).map(String::as_str)
}
