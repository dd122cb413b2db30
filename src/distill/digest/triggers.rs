//! Triggers: for every part of a session, when to open it, and the words that set it apart.
//!
//! The words are chosen from the session alone, this part against the others, and from a table of
//! common words that ships with the program. A page has so many words; where a session has more
//! parts than that allows, neighbours share a trigger, and none is dropped.

use std::collections::{HashMap, HashSet};

use crate::base::stem::stem;
use crate::base::{markdown, text};
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::{prompts, replies, words};
use crate::model::digest::{ClaimKind, Origin, Trigger};
use crate::model::ids::EpisodeId;

/// How many triggers a page has at most.
const MOST_TRIGGERS: usize = 40;
/// What a trigger costs besides its keys, in words: topic, sentence, reference.
const TRIGGER_COST: usize = 24;

/// What the reference of a trigger costs, and how many tokens all triggers may have.
const REFERENCE_TOKENS: usize = 24;
const MOST_TOKENS: usize = 2900;
/// How many tokens a page may have: fewer than is promised, since they are estimated.
const PAGE_TOKENS: usize = 3850;
/// What every page has: the keys of its front matter, their hashes, a manifest, headings.
const FIXED_TOKENS: usize = 620;
/// A trigger has at least so many keys, also where its sentence says them already.
const FEWEST_KEYS: usize = 3;

/// How many words a page's triggers have, and how they are spread.
#[derive(Debug, PartialEq)]
struct Budget {
    triggers: usize,
    keys: usize,
    topic_chars: usize,
    sentence_chars: usize,
}

impl Budget {
    /// A conversation is found by what was said, so its page keeps a share of its words; one that
    /// used tools has more to say than was spoken in it.
    fn of(facts: &Facts, parts: usize) -> Budget {
        let said = facts.spoken as usize;
        let (words, keys_each, topic_chars, sentence_chars) = match facts.tool_calls {
            // Nobody spoke: the parts are files, and each gets a trigger while they fit.
            0 if said == 0 => ((40 * parts).min(1600), 12, 90, 140),
            0 => (conversation_words(said), 40, 56, 80),
            _ => ((100 * parts + said / 4).clamp(160, 1500), 24, 90, 140),
        };
        let triggers = (words / (TRIGGER_COST + keys_each)).clamp(1, parts.clamp(1, MOST_TRIGGERS));
        Budget {
            triggers,
            keys: words.saturating_sub(triggers * TRIGGER_COST).max(8 * triggers),
            topic_chars,
            sentence_chars,
        }
    }
}

/// How many words the triggers of a conversation may have: most of what a short one has to say, and
/// so much of a long one that its whole page is a fiftieth of it.
fn conversation_words(said: usize) -> usize {
    const REST_OF_THE_PAGE: usize = 240;
    match said {
        0..=700 => said * 37 / 100,
        701..=20_000 => 259 - (said - 700) * 99 / 19_300,
        _ => (said / 50).saturating_sub(REST_OF_THE_PAGE).clamp(160, 1200),
    }
}

/// The triggers of a session; `prose` is what the page says elsewhere, and need not be said again,
/// and `elsewhere` how many tokens the page has besides them.
pub fn triggers(facts: &Facts, prose: &[&str], elsewhere: usize) -> Vec<Trigger> {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !is_empty(part)).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let budget = Budget::of(facts, parts.len());
    let groups = grouped(&parts, budget.triggers);
    let mut in_groups: HashMap<&str, f32> = HashMap::new();
    for group in &groups {
        let words: HashSet<&str> =
            group.iter().flat_map(|part| &part.words).map(|(word, _)| word.as_str()).collect();
        for word in words {
            *in_groups.entry(word).or_default() += 1.0;
        }
    }
    let answered = |part: &EpisodeFacts| {
        let before = facts.parts.iter().rev().find(|before| before.last_episode < part.episode);
        before
            .and_then(|before| replies::open_item(&before.last_reply))
            .filter(|_| facts.tool_calls > 0)
    };
    let mut triggers: Vec<Trigger> =
        groups.iter().map(|group| headline(group, &budget, &answered)).collect();
    let mut said_once = HashSet::new();
    for line in prose {
        add_words(line, &mut said_once);
    }
    // Each group gets its share of the keys by how much it has to say; none goes without.
    let weights: Vec<f32> = groups
        .iter()
        .map(|group| group.iter().map(|part| part.words.len() as f32).sum::<f32>().max(1.0))
        .collect();
    let all: f32 = weights.iter().sum();
    for ((trigger, group), weight) in triggers.iter_mut().zip(&groups).zip(weights) {
        let keys = ((budget.keys as f32 * weight / all) as usize).max(8);
        // A search asks for the part that fits best, so each trigger has its own words, said
        // elsewhere or not; only in a conversation, where space is scarce, once on the page is
        // enough.
        let mut own = HashSet::new();
        let said = if facts.tool_calls == 0 { &mut said_once } else { &mut own };
        add_words(&trigger.topic, said);
        add_words(&trigger.sentence, said);
        trigger.keys = keys_of(group, &in_groups, groups.len() as f32, keys, said);
    }
    fit(&mut triggers, PAGE_TOKENS.saturating_sub(FIXED_TOKENS + elsewhere).min(MOST_TOKENS));
    triggers
}

fn add_words(line: &str, said: &mut HashSet<String>) {
    said.extend(words::stems(line, |_| true));
}

/// Drops the lightest keys until the triggers have no more tokens than a page may have: words of
/// code are longer than those of prose.
fn fit(triggers: &mut [Trigger], most: usize) {
    let tokens = |trigger: &Trigger| {
        let said = [&trigger.topic, &trigger.sentence]
            .map(|said| text::tokens(said))
            .iter()
            .sum::<usize>();
        said + trigger.keys.iter().map(|key| text::tokens(key) + 1).sum::<usize>()
            + REFERENCE_TOKENS
    };
    while triggers.iter().map(tokens).sum::<usize>() > most {
        let longest = triggers.iter().map(|trigger| trigger.keys.len()).max().unwrap_or(0);
        if longest <= 4 {
            break;
        }
        for trigger in triggers.iter_mut().filter(|trigger| trigger.keys.len() == longest) {
            trigger.keys.truncate(longest - 1);
        }
    }
}

fn is_empty(part: &EpisodeFacts) -> bool {
    part.prompt.is_empty() && part.words.is_empty() && part.last_reply.is_empty()
}

/// Neighbouring parts together, each group with about the same number of words.
fn grouped<'p>(parts: &[&'p EpisodeFacts], most: usize) -> Vec<Vec<&'p EpisodeFacts>> {
    let weight = |part: &EpisodeFacts| part.words.len() as f32 + 4.0;
    let each = parts.iter().map(|part| weight(part)).sum::<f32>() / most as f32;
    let mut groups: Vec<Vec<&EpisodeFacts>> = Vec::new();
    let mut filled = 0.0;
    for part in parts {
        // A new group begins where the one before has its share.
        if groups.is_empty()
            || (filled >= each * groups.len() as f32 - 0.5 * weight(part) && groups.len() < most)
        {
            groups.push(Vec::new());
        }
        filled += weight(part);
        groups.last_mut().expect("a group was just put there").push(part);
    }
    groups
}

/// A trigger without its keys: it leads to the part of the group whose sentence says
/// most.
fn headline(
    group: &[&EpisodeFacts],
    budget: &Budget,
    answered: &dyn Fn(&EpisodeFacts) -> Option<String>,
) -> Trigger {
    let topic = |part: &EpisodeFacts| topic(part, answered, budget.topic_chars);
    let sentences =
        group.iter().filter_map(|part| Some((part, best_sentence(part, budget.sentence_chars)?)));
    // Of equals the first counts, which `max_by_key` would not give.
    let lead = sentences.reduce(|best, next| if next.1.0 > best.1.0 { next } else { best });
    match lead {
        Some((part, (_, sentence, origin))) => Trigger {
            topic: topic(part),
            sentence,
            episode: EpisodeId(part.episode),
            path: String::new(),
            origin,
            keys: Vec::new(),
        },
        None => {
            let topic = topic(group[0]);
            let episode = EpisodeId(group[0].episode);
            Trigger {
                sentence: topic.clone(),
                topic,
                episode,
                path: String::new(),
                origin: Origin::User,
                keys: Vec::new(),
            }
        }
    }
}

/// What a part is about, in a few words. A prompt that says nothing by itself gets the
/// question that it answers.
fn topic(
    part: &EpisodeFacts,
    answered: &dyn Fn(&EpisodeFacts) -> Option<String>,
    most_chars: usize,
) -> String {
    let mut asked = prompts::request(&part.prompt, most_chars, true);
    if !asked.is_empty()
        && !prompts::is_specific(&part.prompt)
        && let Some(question) = answered(part)
    {
        asked = text::one_line(
            &format!("{} ← {question}", asked.trim_end_matches(['.', '!'])),
            most_chars,
        );
    }
    let topic = if asked.is_empty() {
        text::one_line(&markdown::strip_marks(&worded(&part.last_reply)), most_chars)
    } else {
        asked
    };
    if topic.is_empty() { "Work".into() } else { topic }
}

/// A reply without its fences and rules, which say nothing.
fn worded(reply: &str) -> String {
    let is_worded =
        |line: &&str| !line.trim_start().starts_with("```") && line.contains(char::is_alphanumeric);
    reply.lines().filter(is_worded).collect::<Vec<_>>().join("\n")
}

/// The sentence that says most of a part, with its rank: a lesson, a decision, how the
/// agent closed, an error.
fn best_sentence(part: &EpisodeFacts, most_chars: usize) -> Option<(u8, String, Origin)> {
    let stated = |kind: ClaimKind| {
        part.statements
            .iter()
            .find(|stated| stated.kind == kind && stated.origin == Origin::Assistant)
    };
    for (rank, kind) in [(4, ClaimKind::Lesson), (3, ClaimKind::Decision)] {
        if let Some(stated) = stated(kind) {
            return Some((
                rank,
                text::one_line(&markdown::strip_marks(&stated.text), most_chars),
                stated.origin,
            ));
        }
    }
    let closing = replies::closing_sentence(&part.last_reply)
        .filter(|closing| words::sentence_weight(closing) >= 0.5);
    if let Some(closing) = closing {
        return Some((2, text::one_line(&closing, most_chars), Origin::Assistant));
    }
    let Some(fault) = part.errors.first() else {
        return action(part).map(|action| (0, action, Origin::Tool));
    };
    Some((
        1,
        format!("met `{}`", text::one_line(&fault.sample.replace('`', "'"), most_chars)),
        Origin::Tool,
    ))
}

/// What was done in a part without a reply.
fn action(part: &EpisodeFacts) -> Option<String> {
    if !part.edited.is_empty() {
        let names: Vec<&str> =
            part.edited.iter().take(3).map(|file| text::file_name(&file.path)).collect();
        return Some(format!("changed {}", text::one_line(&names.join(", "), 100)));
    }
    let command = part.commands.last()?;
    Some(format!("ran `{}`", text::one_line(&command.replace('`', "'"), 90)))
}

/// The words that set a group of parts apart from the rest of the session and are not said yet.
fn keys_of(
    group: &[&EpisodeFacts],
    in_groups: &HashMap<&str, f32>,
    groups: f32,
    most: usize,
    said: &mut HashSet<String>,
) -> Vec<String> {
    let mut scores: HashMap<&str, f32> = HashMap::new();
    for part in group {
        for (word, weight) in &part.words {
            *scores.entry(word).or_default() += weight;
        }
    }
    let mut ranked: Vec<(&str, f32)> = scores
        .into_iter()
        .map(|(word, weight)| {
            (word, weight * (1.0 + groups / in_groups.get(word).copied().unwrap_or(1.0)).ln())
        })
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut keys: Vec<(String, f32)> = Vec::new();
    for (word, score) in &ranked {
        if keys.len() >= most {
            break;
        }
        // Once is enough, in whatever form; `day.rs` also finds `day`.
        if !said.insert(stem(word).to_string()) {
            continue;
        }
        if word.contains(['.', '_', '-', ':']) {
            add_words(word, said);
        }
        keys.push((word.to_string(), score / words::weight(word)));
    }
    // A trigger whose sentence says it all still ends in the words that it is looked for by.
    for (word, score) in &ranked {
        if keys.len() < FEWEST_KEYS.min(most) && !keys.iter().any(|(key, _)| key == word) {
            keys.push((word.to_string(), score / words::weight(word)));
        }
    }
    // What was said most comes first; how rare a word is counts when searching.
    keys.sort_by(|a, b| b.1.total_cmp(&a.1));
    keys.into_iter().map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(parts: usize) -> Facts {
        let parts = (1..=parts as u32).map(|n| {
            EpisodeFacts::of_text(n, &format!("Topic{n} zebra{n}"), &format!("apple{n} orchid{n}"))
        });
        Facts { parts: parts.collect(), spoken: 50, ..Facts::default() }
    }

    #[test]
    fn fences_and_rules_are_no_topic() {
        let mut part = EpisodeFacts::default();
        part.last_reply = "```\n━━━━━━\n REVIEW COMPLETE\n------\n```\nAll is well.".into();
        assert_eq!(topic(&part, &|_| None, 60), "REVIEW COMPLETE All is well.");
    }

    #[test]
    fn every_part_is_covered_and_none_is_dropped() {
        for count in [1, 2, 7, 40, 300] {
            let facts = facts(count);
            let triggers = triggers(&facts, &[], 0);
            assert!(!triggers.is_empty() && triggers.len() <= count);
            let episodes: Vec<u32> = triggers.iter().map(|trigger| trigger.episode.0).collect();
            assert!(episodes.windows(2).all(|pair| pair[0] < pair[1]), "{episodes:?}");
        }
    }
}
