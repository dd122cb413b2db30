//! Hits: what a person gets of a document that was found, read from the digest itself.
//!
//! Only the few best are read, so the index need not hold what the tree already says, and a hit is never staler
//! than the file it points to.

use std::collections::HashMap;

use super::matches::Wanted;
use super::notes::{self, Note, Section};
use super::page::Page;
use super::rank;
use super::words::folded;
use crate::base::files;
use crate::base::{clock, markdown, text};
use crate::model::digest::Trigger;
use crate::model::ids::SessionId;
use crate::model::query::{Hit, HitTrigger, NoteHit};
use crate::store::layout::Layout;

/// How long an excerpt is, in characters.
const EXCERPT: usize = 220;
/// How many matching triggers a hit shows.
const MOST_TRIGGERS: usize = 3;
/// How much more a word counts in a trigger's sentence than among its keys, to choose between triggers.
const SAID: f32 = 0.5;
/// How many words a reason names.
pub const MOST_WORDS: usize = 6;

/// The words of a query, to find them again in a text.
pub struct Finder<'p> {
    /// Each word with its place in `wanted`.
    places: HashMap<&'p str, Vec<usize>>,
    wanted: &'p [Wanted],
}

/// What of a query a text has.
#[derive(Debug, Default)]
struct Trace {
    weight: f32,
    /// The words as the text has them, in its order, each once.
    words: Vec<String>,
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
    /// Adds the counts of another text.
    pub fn add(&mut self, other: &Counted) {
        self.length += other.length;
        self.times.iter_mut().zip(&other.times).for_each(|(sum, times)| *sum += times);
    }

    /// Adds one for each word that another text has.
    pub fn add_presence(&mut self, other: &Counted) {
        self.times.iter_mut().zip(&other.times).for_each(|(sum, times)| *sum += u32::from(*times > 0));
    }
}

impl<'p> Finder<'p> {
    /// Finds words that are looked for; those of one group lie together.
    pub fn new(wanted: &'p [Wanted]) -> Finder<'p> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, wanted) in wanted.iter().enumerate() {
            places.entry(&wanted.word).or_default().push(at);
        }
        Finder { places, wanted }
    }

    /// The counts of an empty text.
    pub fn nothing(&self) -> Counted {
        Counted { times: vec![0; self.wanted.len()], length: 0 }
    }

    /// Adds the words of a text to counts.
    pub fn count(&self, value: &str, counted: &mut Counted) {
        text::each_word(value, |word| {
            counted.length += u32::from(word.whole);
            if let Some(places) = self.places.get(folded(&word.text)) {
                places.iter().for_each(|at| counted.times[*at] += 1);
            }
        });
    }

    fn trace(&self, texts: &[&str]) -> Trace {
        let mut found: Vec<(String, &[usize])> = Vec::new();
        let mut times = vec![0; self.wanted.len()];
        for text in texts {
            text::each_word(text, |word| {
                if let Some(places) = self.places.get(folded(&word.text)) {
                    places.iter().for_each(|at| times[*at] += 1);
                    if !found.iter().any(|(there, _)| *there == word.text) {
                        found.push((word.text.into_owned(), places));
                    }
                }
            });
        }
        // A word that only stands for another is no reason where that other one is there itself.
        let best_of_group = |at: &usize| {
            let (group, weight) = (self.wanted[*at].group, self.wanted[*at].weight);
            let others = self.wanted.iter().zip(&times).filter(|(wanted, times)| wanted.group == group && **times > 0);
            others.into_iter().all(|(wanted, _)| wanted.weight <= weight)
        };
        found.retain(|(_, places)| places.iter().any(best_of_group));
        Trace { weight: self.weighed(&times), words: found.into_iter().map(|(word, _)| word).collect() }
    }

    /// The score of the part of a page that fits best, and the share of the query's weight that it covers.
    pub fn closest_part(&self, page: &Page) -> Closest {
        let triggers = page.triggers.iter().map(|trigger| self.part_score(&texts_of(trigger)));
        let summary: Vec<&str> =
            [&page.title].into_iter().chain(&page.passages).chain(&page.files).map(String::as_str).collect();
        let parts = triggers.chain([self.part_score(&summary)]);
        parts.fold(Closest::default(), |best, part| if part.score > best.score { part } else { best })
    }

    /// How well a part of a page fits: a trigger, the summary, or a section.
    pub fn part_score(&self, texts: &[&str]) -> Closest {
        let mut counted = self.nothing();
        texts.iter().for_each(|text| self.count(text, &mut counted));
        let present = |at: usize| rank::presence_in_part(counted.times[at], counted.length);
        self.summed(|at, wanted| (wanted.weight * present(at), wanted.weight))
    }

    /// How well a trigger fits.
    pub fn trigger_score(&self, trigger: &Trigger) -> f32 {
        self.part_score(&texts_of(trigger)).score
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
        self.trace(&[value]).words
    }

    fn weighed(&self, times: &[u32]) -> f32 {
        self.summed(|at, wanted| (if times[at] > 0 { wanted.weight } else { 0.0 }, wanted.weight)).weight
    }

    /// The best word of each group, each with its score and weight, summed up in the order of the query.
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
        let mut triggers: Vec<(Trace, &Trigger)> =
            page.triggers.iter().map(|trigger| (self.trace(&texts_of(trigger)), trigger)).collect();
        triggers.retain(|(trace, _)| trace.weight > 0.0);
        // The same score that ranked the page; what a trigger says in a sentence leads to its part more surely
        // than a key. The order of the page breaks ties: the sort is stable.
        triggers.sort_by_cached_key(|(_, trigger)| {
            let said = self.trace(&[&trigger.topic, &trigger.sentence]).weight;
            std::cmp::Reverse(((self.part_score(&texts_of(trigger)).score + SAID * said) * 1e4) as i64)
        });
        let (reason, excerpt, words) = self.explained(&page, triggers.first());
        Hit {
            rank: 0,
            score: 0.0,
            weak: false,
            triggers: triggers
                .iter()
                .take(MOST_TRIGGERS)
                .map(|(_, trigger)| HitTrigger {
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
    pub fn note_hit(&self, path: &str, note: &Note, section: &Section, score: f64, weak: bool) -> Option<NoteHit> {
        let words = self.words_of(&format!("{}\n{}\n{}", note.title, section.heading, section.text));
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
            reason: if shown.is_empty() { "filters".into() } else { format!("section: {}", shown.join(", ")) },
            words,
        })
    }

    /// Why a page was found, the part of it that shows it best, and the words in it that match.
    fn explained(&self, page: &Page, trigger: Option<&(Trace, &Trigger)>) -> (String, String, Vec<String>) {
        let texts = |list: &'_ [String]| self.trace(&list.iter().map(String::as_str).collect::<Vec<_>>());
        let places = [
            ("title", self.trace(&[&page.title])),
            ("summary", texts(&page.passages)),
            ("files", texts(&page.files)),
            ("tags", texts(&page.tags)),
            ("names", texts(&page.names)),
        ];
        let mut words: Vec<String> = trigger.map(|(trace, _)| trace.words.clone()).unwrap_or_default();
        for word in places.iter().flat_map(|(_, trace)| &trace.words) {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        let mut best: Option<(String, &Trace)> =
            trigger.map(|(trace, trigger)| (format!("trigger “{}”", trigger.topic), trace));
        for (name, trace) in &places {
            if trace.weight > best.as_ref().map_or(0.0, |(_, best)| best.weight) {
                best = Some((name.to_string(), trace));
            }
        }
        let reason = match best {
            Some((place, trace)) => {
                let shown: Vec<&str> = trace.words.iter().take(MOST_WORDS).map(String::as_str).collect();
                format!("{place}: {}", shown.join(", "))
            }
            None if self.wanted.is_empty() => "filters".into(),
            None => "its names".into(),
        };
        (reason, self.excerpt(page, &words), words)
    }

    /// The most telling stretch: of a trigger's sentence, a passage, or else a trigger's keys.
    fn excerpt(&self, page: &Page, words: &[String]) -> String {
        let mut best: Option<(f32, String)> = None;
        let mut consider = |text: &str, weight: f32| {
            if weight > best.as_ref().map_or(0.0, |(most, _)| *most) {
                best = Some((weight, text::excerpt(text, words, EXCERPT)));
            }
        };
        for trigger in &page.triggers {
            consider(&trigger.sentence, self.trace(&[&trigger.sentence]).weight);
        }
        for passage in &page.passages {
            consider(passage, self.trace(&[passage]).weight);
        }
        if let Some((_, excerpt)) = best {
            return excerpt;
        }
        let keys = page.triggers.iter().map(|trigger| trigger.keys.join(", "));
        let telling = keys.map(|keys| (self.trace(&[&keys]).weight, keys)).max_by(|a, b| a.0.total_cmp(&b.0));
        match telling {
            Some((weight, keys)) if weight > 0.0 => text::excerpt(&keys, words, EXCERPT),
            _ => text::one_line(page.passages.first().unwrap_or(&page.title), EXCERPT),
        }
    }
}

/// All that a trigger says.
fn texts_of(trigger: &Trigger) -> Vec<&str> {
    [&trigger.topic, &trigger.sentence].into_iter().chain(&trigger.keys).map(String::as_str).collect()
}
