//! Hits: what a person gets of a document that was found, read from the digest itself.
//!
//! Only the few best are read, so the index need not hold what the tree already says, and a hit is never staler
//! than the file it points to.

use std::collections::HashMap;

use super::matches::Plan;
use super::page::Page;
use super::rank;
use super::words::folded;
use crate::base::files;
use crate::base::{clock, text};
use crate::model::digest::Trigger;
use crate::model::ids::SessionId;
use crate::model::query::{Hit, HitTrigger};
use crate::store::layout::Layout;

/// How long an excerpt is, in characters.
const EXCERPT: usize = 220;
/// How many matching triggers a hit shows.
const MOST_TRIGGERS: usize = 3;
/// How much more a word counts in a trigger's sentence than among its keys, to choose between triggers.
const SAID: f32 = 0.5;
/// How many words a reason names.
const MOST_WORDS: usize = 6;

/// The words of a query, to find them again in a text.
pub struct Finder<'p> {
    weights: HashMap<&'p str, f32>,
    /// The words in a fixed order.
    order: Vec<&'p str>,
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

impl<'p> Finder<'p> {
    pub fn new(plan: &'p Plan) -> Finder<'p> {
        let mut order: Vec<&str> = plan.wanted.iter().map(|wanted| wanted.word.as_str()).collect();
        let weights: HashMap<&str, f32> =
            plan.wanted.iter().map(|wanted| (wanted.word.as_str(), wanted.weight)).collect();
        order.sort_unstable();
        order.dedup();
        Finder { weights, order }
    }

    fn trace(&self, texts: &[&str]) -> Trace {
        let mut trace = Trace::default();
        let mut seen = std::collections::HashSet::new();
        for text in texts {
            text::each_word(text, |word| {
                if let Some((known, weight)) = self.weights.get_key_value(folded(&word.text)) {
                    if seen.insert(*known) {
                        trace.weight += weight;
                    }
                    if !trace.words.iter().any(|there| *there == word.text) {
                        trace.words.push(word.text.into_owned());
                    }
                }
            });
        }
        trace
    }

    /// The score of the part of a page that fits best, and the share of the query's weight that it covers.
    pub fn closest_part(&self, page: &Page) -> Closest {
        let triggers = page.triggers.iter().map(|trigger| self.part_score(&texts_of(trigger)));
        let summary: Vec<&str> =
            [&page.title].into_iter().chain(&page.passages).chain(&page.files).map(String::as_str).collect();
        let parts = triggers.chain([self.part_score(&summary)]);
        parts.fold(Closest::default(), |best, part| if part.score > best.score { part } else { best })
    }

    fn part_score(&self, texts: &[&str]) -> Closest {
        let mut times: HashMap<&str, u32> = HashMap::new();
        let mut length = 0;
        for text in texts {
            text::each_word(text, |word| {
                length += u32::from(word.whole);
                if let Some((known, _)) = self.weights.get_key_value(folded(&word.text)) {
                    *times.entry(known).or_default() += 1;
                }
            });
        }
        // In a fixed order, so that the sum is the same each time.
        let mut closest = Closest::default();
        for word in &self.order {
            if let Some(times) = times.get(word) {
                closest.score += self.weights[word] * rank::presence_in_part(*times, length);
                closest.weight += self.weights[word];
            }
        }
        closest
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
            words,
        }
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
            None if self.weights.is_empty() => "filters".into(),
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
