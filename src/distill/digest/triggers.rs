//! Triggers: when to open a part of a session, in a topic, a sentence and a few keys.
//!
//! People read them, so there are only so many: where a session has more parts, neighbours share a
//! trigger. What search needs of every part stands in the Index.

use std::collections::HashSet;

use super::index::{self, Spread};
use super::key_outcomes::says_commit;
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::{prompts, replies, words};
use crate::model::digest::{Claim, ClaimKind, MOST_TERMS, Origin, Trigger};
use crate::model::ids::EpisodeId;

/// How many triggers a page has at most, of a session and of a folder, whose parts are files.
const MOST_TRIGGERS: usize = 16;
const MOST_OF_FILES: usize = 40;
/// How many characters a topic and a sentence have.
const TOPIC_CHARS: usize = 90;
const SENTENCE_CHARS: usize = 160;
/// What the reference of a trigger costs in tokens.
const REFERENCE_TOKENS: usize = 24;
/// How many tokens a page may have above its Index: fewer than is promised, since they are
/// estimated.
const PAGE_TOKENS: usize = 3600;
/// What every page has: the keys of its front matter, a manifest, headings.
const FIXED_TOKENS: usize = 500;
/// A trigger keeps so many keys, however long the page.
const FEWEST_KEYS: usize = 3;

/// What the page says elsewhere of an episode.
#[derive(Debug, Default)]
pub struct Said {
    lessons: Vec<(u32, String)>,
    outcomes: Vec<(u32, String)>,
}

impl Said {
    /// What a page's claims and outcomes say.
    pub fn of(claims: &[Claim], outcomes: &[String]) -> Said {
        let lessons = claims
            .iter()
            .filter(|claim| claim.kind == ClaimKind::Lesson && claim.origin == Origin::Assistant);
        let outcome = |line: &String| {
            let (said, place) = line.strip_suffix(')')?.rsplit_once(" (EP_")?;
            Some((place.parse().ok()?, said.to_string()))
        };
        Said {
            lessons: lessons.map(|claim| (claim.episode.0, claim.text.clone())).collect(),
            outcomes: outcomes.iter().filter_map(outcome).collect(),
        }
    }

    /// The first of some lines that is about a part.
    fn about<'s>(lines: &'s [(u32, String)], part: &EpisodeFacts) -> Option<&'s str> {
        let episodes = part.episode..=part.last_episode;
        let line = lines.iter().find(|(episode, _)| episodes.contains(episode));
        line.map(|(_, said)| said.as_str())
    }
}

/// The triggers of a session; `elsewhere` is how many tokens the page has besides them.
pub fn triggers(facts: &Facts, said: &Said, elsewhere: usize) -> Vec<Trigger> {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let most = if facts.spoken == 0 { MOST_OF_FILES } else { MOST_TRIGGERS };
    let groups = grouped(&parts, most.min(parts.len()));
    let answered = |part: &EpisodeFacts| {
        let before = facts.parts.iter().rev().find(|before| before.last_episode < part.episode);
        before
            .and_then(|before| replies::open_item(&before.last_reply))
            .filter(|_| facts.tool_calls > 0)
    };
    let groups = once_each(groups, |group| headline(group, said, &answered));
    let spread = Spread::of(groups.iter().map(|(_, group)| group.as_slice()));
    let mut triggers: Vec<Trigger> = Vec::with_capacity(groups.len());
    let mut topics = HashSet::new();
    for (trigger, group) in &groups {
        let mut trigger = trigger.clone();
        let mut said = HashSet::new();
        add_words(&trigger.topic, &mut said);
        add_words(&trigger.sentence, &mut said);
        trigger.keys = sorted(spread.terms(group, MOST_TERMS, &mut said), group);
        // A topic of its own: two alike are told apart by what sets them apart.
        if !topics.insert(trigger.topic.to_lowercase()) && !trigger.keys.is_empty() {
            let apart = trigger.keys[..trigger.keys.len().min(3)].join(" ");
            trigger.topic = text::one_line(&format!("{} ({apart})", trigger.topic), TOPIC_CHARS);
            topics.insert(trigger.topic.to_lowercase());
        }
        triggers.push(trigger);
    }
    fit(&mut triggers, PAGE_TOKENS.saturating_sub(FIXED_TOKENS + elsewhere));
    triggers
}

/// Groups with their triggers; what was asked before in the same words, and came to the same or to
/// nothing, joins the later one.
fn once_each<'p>(
    groups: Vec<Vec<&'p EpisodeFacts>>,
    headline: impl Fn(&[&'p EpisodeFacts]) -> Trigger,
) -> Vec<(Trigger, Vec<&'p EpisodeFacts>)> {
    let mut kept: Vec<(Trigger, Vec<&EpisodeFacts>)> = Vec::with_capacity(groups.len());
    for group in groups {
        let trigger = headline(&group);
        let twin = kept.iter().position(|(known, _)| {
            known.topic.eq_ignore_ascii_case(&trigger.topic)
                && (known.sentence == trigger.sentence || known.origin == Origin::User)
        });
        let mut all = twin.map(|at| kept.remove(at).1).unwrap_or_default();
        all.extend(group);
        kept.push((trigger, all));
    }
    kept
}

/// Keys with the names of errors and identifiers first; else the heaviest is first.
fn sorted(mut keys: Vec<String>, group: &[&EpisodeFacts]) -> Vec<String> {
    let errors = group.iter().flat_map(|part| &part.errors);
    let mut in_errors = HashSet::new();
    errors.for_each(|error| add_words(&error.sample, &mut in_errors));
    keys.sort_by_key(|key| match index::is_identifier(key) {
        _ if in_errors.contains(crate::base::stem::stem(key)) && words::weight(key) >= 1.0 => 0,
        true => 1,
        false => 2,
    });
    keys
}

fn add_words(line: &str, said: &mut HashSet<String>) {
    said.extend(words::stems(line, |_| true));
}

/// Drops the lightest keys, and then sentences' ends, until the triggers have no more tokens than a
/// page may have: words of code are longer than those of prose.
fn fit(triggers: &mut [Trigger], most: usize) {
    let tokens = |trigger: &Trigger| {
        let said = [&trigger.topic, &trigger.sentence].map(|said| text::tokens(said));
        let keys: usize = trigger.keys.iter().map(|key| text::tokens(key) + 1).sum();
        said.iter().sum::<usize>() + keys + REFERENCE_TOKENS
    };
    while triggers.iter().map(tokens).sum::<usize>() > most {
        let longest = triggers.iter().map(|trigger| trigger.keys.len()).max().unwrap_or(0);
        if longest <= FEWEST_KEYS {
            break;
        }
        for trigger in triggers.iter_mut().filter(|trigger| trigger.keys.len() == longest) {
            trigger.keys.truncate(longest - 1);
        }
    }
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
    said: &Said,
    answered: &dyn Fn(&EpisodeFacts) -> Option<String>,
) -> Trigger {
    let topic = |part: &EpisodeFacts| topic(part, answered, TOPIC_CHARS);
    let sentences =
        group.iter().filter_map(|part| Some((part, best_sentence(part, said, SENTENCE_CHARS)?)));
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
            let asked = prompts::request(&group[0].prompt, SENTENCE_CHARS, true);
            Trigger {
                sentence: if asked.is_empty() { topic.clone() } else { asked },
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
    if !asked.is_empty() && !prompts::is_specific(&part.prompt) {
        let said = asked.trim_end_matches(['.', '!']);
        // “continue” and “commit” say nothing; the question before or what came of it does.
        let topic = answered(part).map(|question| format!("{said} ← {question}"));
        let topic = topic.or_else(|| Some(format!("{said}: {}", came_of(part)?)));
        if let Some(topic) = topic {
            asked = text::one_line(&topic, most_chars);
        }
    }
    let topic = if asked.is_empty() {
        text::one_line(&markdown::strip_marks(&worded(&part.last_reply)), most_chars)
    } else {
        asked
    };
    if topic.is_empty() { "Work".into() } else { topic }
}

/// What a part came to, in a line: what was committed last, else what the agent says it did.
fn came_of(part: &EpisodeFacts) -> Option<String> {
    let subject = part.commits.last().map(|commit| commit.message.clone());
    let subject = subject.filter(|subject| !subject.is_empty());
    subject.or_else(|| replies::headline(&part.last_reply))
}

/// A reply without its fences, rules and tables, which say nothing where they are one line.
fn worded(reply: &str) -> String {
    let is_drawn = |line: &str| line.starts_with("```") || line.starts_with('|');
    let is_worded =
        |line: &&str| !is_drawn(line.trim_start()) && line.contains(char::is_alphanumeric);
    reply.lines().filter(is_worded).collect::<Vec<_>>().join("\n")
}

/// The sentence that says most of a part, with its rank: a lesson, a decision, how the agent closed,
/// what the page says of it, an error.
fn best_sentence(
    part: &EpisodeFacts,
    said: &Said,
    most_chars: usize,
) -> Option<(u8, String, Origin)> {
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
    let closing = replies::closing_sentence_except(&part.last_reply, says_nothing)
        .filter(|closing| closing.chars().count() >= 16 && words::sentence_weight(closing) >= 0.5);
    // What stands on the page already finds nothing new, so the agent's own words come first.
    let known = || Said::about(&said.lessons, part).or_else(|| Said::about(&said.outcomes, part));
    // That all checks passed is better than an error on the way there.
    let passes = |said: &String| replies::says_it_passed(said) && !says_commit(said);
    let passed = || replies::closing_sentence(&part.last_reply).filter(passes);
    let statement = closing.or_else(|| known().map(str::to_string)).or_else(passed);
    if let Some(statement) = statement {
        return Some((2, text::one_line(&statement, most_chars), Origin::Assistant));
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

/// Whether a sentence says nothing of what was done: that checks passed is said of every part, that
/// something goes on or went through of none.
fn says_nothing(said: &str) -> bool {
    static STATE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:no\b.{0,40}\byet\b|still (?:running|waiting)|ready when\b|(?:the )?(?:commit|push)(?: has)? (?:succeeded|went through|was successful)|committed as `?[0-9a-f]{7,40}`?\W*$)",
    );
    STATE.is_match(said) || (replies::says_it_passed(said) && !says_commit(said))
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
        part.last_reply = "Open tides:\n\n| # | Title |\n|---|---|\n| 1 | Quay |\n\nTwo.".into();
        assert_eq!(topic(&part, &|_| None, 60), "Open tides: Two.");
    }

    #[test]
    fn every_part_is_covered_and_none_is_dropped() {
        for count in [1, 2, 7, 40, 300] {
            let facts = facts(count);
            let triggers = triggers(&facts, &Said::default(), 0);
            assert!(!triggers.is_empty() && triggers.len() <= count);
            let episodes: Vec<u32> = triggers.iter().map(|trigger| trigger.episode.0).collect();
            assert!(episodes.windows(2).all(|pair| pair[0] < pair[1]), "{episodes:?}");
        }
    }
    fn replied(episode: u32, prompt: &str, reply: &str) -> EpisodeFacts {
        let mut part = EpisodeFacts::of_prompt(episode, prompt);
        part.last_reply = reply.into();
        part
    }

    fn sentences(parts: Vec<EpisodeFacts>, said: &Said) -> Vec<String> {
        let facts = Facts { parts, spoken: 50, ..Facts::default() };
        triggers(&facts, said, 0).into_iter().map(|trigger| trigger.sentence).collect()
    }

    #[test]
    fn where_the_agent_says_nothing_the_page_does() {
        let part = |reply: &str| vec![replied(1, "lock the harbour log", reply)];
        let outcome = ["The log takes its lock first (EP_001)".to_string()];
        let said = || Said::of(&[], &outcome);
        let reply = "The harbour log waits for the tide of the morning.";
        assert_eq!(sentences(part(reply), &said()), [reply]);
        let nothing = "Let me look at the harbour log:";
        assert_eq!(sentences(part(nothing), &said()), ["The log takes its lock first"]);
        let other = ["Something of another part (EP_002)".to_string()];
        assert_eq!(sentences(part(nothing), &Said::of(&[], &other)), ["lock the harbour log"]);
    }

    #[test]
    fn what_goes_on_or_went_through_is_no_sentence() {
        let asked = "lock the harbour log";
        for reply in [
            "Let me look at how the lock of the harbour is taken:",
            "Now I understand the tides.",
            "No tide of the evening yet.",
            "Committed as `1a2b3c4`.",
            "Commit succeeded on the harbour branch.",
            "Ready when you are: say which tide comes first.",
        ] {
            let part = vec![replied(1, asked, reply)];
            assert_eq!(sentences(part, &Said::default()), [asked], "{reply}");
        }
    }

    #[test]
    fn the_same_asked_twice_is_told_once() {
        let asked = "lock the harbour log";
        let (one, two) = ("The pier lock comes first now.", "The quay lock comes first now.");
        let parts = |first: &str, last: &str| {
            let between = replied(2, "paint the boats of the pilot", "Painted the boats in blue.");
            vec![replied(1, asked, first), between, replied(3, asked, last)]
        };
        assert_eq!(sentences(parts(one, one), &Said::default()).len(), 2);
        assert_eq!(sentences(parts("", one), &Said::default()).len(), 2);
        assert_eq!(sentences(parts(one, two), &Said::default()).len(), 3);
    }
}
