//! Triggers: when to open a part of a session, in a topic, a sentence and a few keys.
//!
//! People read them, so there are only so many: where a session has more parts, neighbours share a
//! trigger. What search needs of every part stands in the Index.

use std::borrow::Cow;
use std::collections::HashSet;

use super::index::{self, Spread};
use super::key_outcomes::says_commit;
use super::title;
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

/// How long the line of a trigger may be, besides its reference.
const LINE_CHARS: usize = 310;
/// How many plain words are among the keys of a trigger: identifiers and names of errors are what
/// somebody searches for who needs the part.
const MOST_PLAIN_KEYS: usize = 4;

/// What the page says elsewhere of an episode.
#[derive(Debug, Default)]
pub struct Said {
    lessons: Vec<(u32, String)>,
    outcomes: Vec<(u32, String)>,
    /// The telling words of each line above the triggers.
    above: Vec<Vec<String>>,
}

impl Said {
    /// What a page's claims and outcomes say, and its title and objective.
    pub fn of(claims: &[Claim], outcomes: &[String], heading: &[&str]) -> Said {
        let lessons = claims
            .iter()
            .filter(|claim| claim.kind == ClaimKind::Lesson && claim.origin == Origin::Assistant);
        let outcome = |line: &String| {
            let (said, place) = line.strip_suffix(')')?.rsplit_once(" (EP_")?;
            Some((place.parse().ok()?, said.to_string()))
        };
        let stated = claims.iter().map(|claim| claim.text.as_str());
        let lines = outcomes.iter().map(String::as_str).chain(stated);
        let above = lines.chain(heading.iter().copied()).map(words::telling);
        Said {
            lessons: lessons.map(|claim| (claim.episode.0, claim.text.clone())).collect(),
            outcomes: outcomes.iter().filter_map(outcome).collect(),
            above: above.filter(|line| !line.is_empty()).collect(),
        }
    }

    /// Whether a line above says most of what a sentence says.
    fn has(&self, sentence: &str) -> bool {
        let telling = words::telling(sentence);
        let shared = |line: &Vec<String>| telling.iter().filter(|word| line.contains(word)).count();
        !telling.is_empty() && self.above.iter().any(|line| shared(line) * 5 >= telling.len() * 3)
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
        trigger.keys = sorted(keys(&spread, group, said), group);
        // A topic of its own: two alike are told apart by what sets them apart.
        if !topics.insert(trigger.topic.to_lowercase()) && !trigger.keys.is_empty() {
            let apart = trigger.keys[..trigger.keys.len().min(2)].join(", ");
            trigger.topic = format!("{} ({apart})", trigger.topic);
            topics.insert(trigger.topic.to_lowercase());
        }
        fit_line(&mut trigger);
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

/// The keys of a group: identifiers, and a few plain words that are no everyday ones.
fn keys(spread: &Spread<'_>, group: &[&EpisodeFacts], mut said: HashSet<String>) -> Vec<String> {
    let mut keys = spread.terms(group, 2 * MOST_TERMS, &mut said);
    keys.retain(|key| !is_everyday(key));
    let mut plain = 0;
    keys.retain(|key| {
        plain += usize::from(!index::is_identifier(key));
        index::is_identifier(key) || plain <= MOST_PLAIN_KEYS
    });
    keys.truncate(MOST_TERMS);
    keys
}

/// Whether a word is one of shells, of git or of how agents speak of their work, which leads to
/// every part alike.
fn is_everyday(key: &str) -> bool {
    const EVERYDAY: &str = "eof grep sed awk cat echo head tail find ls cd mkdir rm cp mv xargs curl \
        git diff stash rebase checkout status oneline log branch worktree staged unstaged untracked \
        insertions deletions lint fmt format build run running ran tests passed passing failed \
        failing fail done ready start started next understand understood understanding continue \
        continued proceed approach request requested include includes included including ensure \
        ensures confirm confirmed verify verified verification update updated updates create created \
        add added adding additions remove removed fix fixed handle handles keep keeps show shows \
        work works working complete completed completes successfully implement implemented \
        implementation summary details information current currently existing specific additional \
        relevant important correct correctly clear clearly useful helpful comprehensive explain \
        e.g i.e etc https http redacted true false null none yes okay only both";
    words::is_in(EVERYDAY, key)
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

/// Drops the last keys of a trigger whose line is longer than people read.
fn fit_line(trigger: &mut Trigger) {
    let chars = |said: &String| said.chars().count();
    let said = chars(&trigger.topic) + chars(&trigger.sentence);
    while trigger.keys.len() > FEWEST_KEYS
        && said + trigger.keys.iter().map(|key| chars(key) + 2).sum::<usize>() > LINE_CHARS
    {
        trigger.keys.pop();
    }
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
    let topic = |part: &EpisodeFacts| topic(part, said, answered, TOPIC_CHARS);
    let sentences = group
        .iter()
        .filter_map(|part| Some((part, best_sentence(part, said, &topic(part), SENTENCE_CHARS)?)));
    // Of equals the first counts, which `max_by_key` would not give.
    let lead = sentences.reduce(|best, next| if next.1.0 > best.1.0 { next } else { best });
    let (part, sentence, origin) = match lead {
        Some((part, (_, sentence, origin))) => (*part, sentence, origin),
        None => (group[0], asked_besides(group[0], &topic(group[0])), Origin::User),
    };
    Trigger {
        topic: topic(part),
        sentence,
        episode: EpisodeId(part.episode),
        path: String::new(),
        origin,
        keys: Vec::new(),
    }
}

/// What a prompt asks for besides what the label says; the whole of it where that is all.
fn asked_besides(part: &EpisodeFacts, topic: &str) -> String {
    let label = words::telling(topic);
    let is_more = |wish: &String| {
        words::telling(wish).iter().filter(|word| !label.contains(word)).count() >= 2
    };
    let more: Vec<String> =
        prompts::wishes(&part.prompt).into_iter().skip(1).filter(is_more).take(2).collect();
    let asked = match more.is_empty() {
        true => prompts::request(&part.prompt, SENTENCE_CHARS, true),
        false => text::clause(&more.join(". "), SENTENCE_CHARS),
    };
    if asked.is_empty() { topic.to_string() } else { asked }
}

/// What a part is about, in a few words that are whole: the work first (what was committed), then
/// what was wanted where the prompt says it by itself, what came of it, and only then the prompt
/// as it was typed, with the question that it answers.
fn topic(
    part: &EpisodeFacts,
    said: &Said,
    answered: &dyn Fn(&EpisodeFacts) -> Option<String>,
    most_chars: usize,
) -> String {
    let whole = |label: &str| text::whole_clause(label, most_chars);
    let came = || Said::about(&said.outcomes, part).and_then(whole);
    let done = || {
        let headline = replies::headline(&part.last_reply)?;
        let said = without_line_numbers(&headline);
        whole(&said).filter(|said| !prompts::opens_as_chat(said) && !replies::is_narration(said))
    };
    let worded = || {
        let said = text::one_line(&markdown::strip_marks(&worded(&part.last_reply)), 400);
        Some(text::phrase(&said, most_chars)).filter(|said| !said.is_empty())
    };
    committed(part, most_chars)
        .or_else(|| wanted(part, most_chars))
        .or_else(came)
        .or_else(done)
        .or_else(|| asked(part, answered, most_chars))
        .or_else(worded)
        .unwrap_or_else(|| "Work".into())
}

/// What was committed last, with the file where the subject names nothing of the code.
fn committed(part: &EpisodeFacts, most_chars: usize) -> Option<String> {
    let subjects = part.commits.iter().rev().map(|commit| title::without_kind(&commit.message));
    let telling =
        |subject: &String| words::telling(subject).len() >= 2 && !subject.starts_with("Merge ");
    let label = text::whole_clause(&subjects.into_iter().find(telling)?, most_chars)?;
    let file = part.edited.first().map(|file| text::file_name(&file.path));
    let is_named = label.contains(['`', '.', '/', '_']);
    Some(match file.filter(|file| label.chars().count() + file.len() + 3 <= most_chars) {
        Some(file) if !is_named => format!("{label} ({file})"),
        _ => label,
    })
}

/// The first wish of a prompt that says by itself what is wanted, where it is whole.
fn wanted(part: &EpisodeFacts, most_chars: usize) -> Option<String> {
    if let Some(plan) = prompts::plan(&part.prompt) {
        return text::whole_clause(&plan.title, most_chars);
    }
    let wishes = prompts::wishes(&part.prompt);
    let wishes = wishes.iter().take(3).map(|wish| title::without_question(wish));
    let says = |wish: &&str| words::telling(wish).len() >= 3 && !prompts::opens_as_chat(wish);
    wishes.filter(says).find_map(|wish| text::whole_clause(wish, most_chars))
}

/// A prompt as it was typed. “continue” and “commit” say nothing; the question before does.
fn asked(
    part: &EpisodeFacts,
    answered: &dyn Fn(&EpisodeFacts) -> Option<String>,
    most_chars: usize,
) -> Option<String> {
    let said = prompts::request(&part.prompt, 400, true);
    if said.is_empty() || said.chars().count() < 3 && answered(part).is_none() {
        return None;
    }
    let question = (!prompts::is_specific(&part.prompt)).then(|| answered(part)).flatten();
    let said = match question {
        Some(question) => format!("{} ← {question}", said.trim_end_matches(['.', '!'])),
        None => title::without_question(&said).to_string(),
    };
    Some(text::phrase(&said, most_chars)).filter(|said| said.contains(char::is_alphabetic))
}

/// A reply without its fences, rules and tables, which say nothing where they are one line.
fn worded(reply: &str) -> String {
    let is_drawn = |line: &str| line.starts_with("```") || line.starts_with('|');
    let is_worded =
        |line: &&str| !is_drawn(line.trim_start()) && line.contains(char::is_alphanumeric);
    reply.lines().filter(is_worded).collect::<Vec<_>>().join("\n")
}

/// The sentence that says most of a part, with its rank: a lesson, a decision, how the agent closed,
/// an error, what was changed; and only then what the page says already.
fn best_sentence(
    part: &EpisodeFacts,
    said: &Said,
    topic: &str,
    most_chars: usize,
) -> Option<(u8, String, Origin)> {
    let label = words::telling(topic);
    // What stands in the label is said already, as what stands above on the page is.
    let is_label = |sentence: &str| {
        let telling = words::telling(sentence);
        telling.iter().filter(|word| label.contains(word)).count() * 5 >= telling.len() * 4
    };
    let is_news = |sentence: &str| {
        !is_label(sentence) && !said.has(sentence) && !narrates(done(sentence).as_ref())
    };
    let line = |sentence: &str| {
        let sentence = markdown::strip_marks(sentence);
        let decision = sentence.strip_prefix("Decision: ").map(text::capitalized);
        let sentence = decision.unwrap_or_else(|| sentence.trim_start_matches("// ").to_string());
        text::phrase(&done(replies::without_cheer(&sentence)), most_chars)
    };
    for (rank, kind) in [(4, ClaimKind::Lesson), (3, ClaimKind::Decision)] {
        let stated = part.statements.iter().find(|stated| {
            stated.kind == kind && stated.origin == Origin::Assistant && is_news(&stated.text)
        });
        if let Some(stated) = stated {
            return Some((rank, line(&stated.text), stated.origin));
        }
    }
    let closing = |is_said: &dyn Fn(&str) -> bool| {
        replies::closing_sentence_except(&part.last_reply, |said| {
            says_nothing(said) || is_said(said)
        })
        .filter(|said| said.chars().count() >= 16 && words::sentence_weight(said) >= 0.5)
    };
    if let Some(closing) = closing(&|said| !is_news(said)).filter(|said| !narrates(&done(said))) {
        return Some((2, line(&closing), Origin::Assistant));
    }
    // That all checks passed is better than an error on the way there.
    let passes = |said: &String| replies::says_it_passed(said) && !says_commit(said);
    if let Some(passed) = replies::closing_sentence(&part.last_reply).filter(passes) {
        return Some((2, line(&passed), Origin::Assistant));
    }
    if let Some(changed) = changed(part) {
        return Some((1, changed, Origin::Tool));
    }
    if let Some(fault) = part.errors.first() {
        let error = text::one_line(&fault.sample.replace('`', "'"), most_chars);
        return Some((1, format!("met `{error}`"), Origin::Tool));
    }
    let known = Said::about(&said.lessons, part).or_else(|| Said::about(&said.outcomes, part));
    let known = known.map(str::to_string).filter(|known| !is_label(known));
    match known.or_else(|| closing(&is_label).filter(|said| !narrates(&done(said)))) {
        Some(again) => Some((0, line(&again), Origin::Assistant)),
        None => ran(part).map(|ran| (0, ran, Origin::Tool)),
    }
}

/// What an agent did, without the agent: "I've updated the lock" is "Updated the lock".
fn done(sentence: &str) -> Cow<'_, str> {
    static DID: StaticRegex = StaticRegex::new(
        r"^I(?:['’]ve| have)? (?:also )?(?:successfully )?((?:\w+ed|made|wrote|ran|built|kept|set|put)\b)",
    );
    match DID.captures(sentence).and_then(|found| found.get(1)) {
        Some(verb) => text::capitalized(&sentence[verb.start()..]).into(),
        None => sentence.into(),
    }
}

/// Whether a sentence speaks of the agent rather than of the work.
fn narrates(sentence: &str) -> bool {
    sentence.starts_with("I ")
        || sentence.starts_with("I'")
        || sentence.starts_with("I’")
        || replies::is_narration(sentence)
}

/// A label without the number of a line, which the next edit moves.
fn without_line_numbers(said: &str) -> Cow<'_, str> {
    static NUMBER: StaticRegex = StaticRegex::new(r"(\.\w{1,5}):\d+(?:[-–]\d+)?\b");
    NUMBER.replace_all(said, "$1")
}

/// Whether a sentence says nothing of what was done: that checks passed is said of every part, that
/// something goes on or went through of none.
fn says_nothing(said: &str) -> bool {
    static STATE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:no\b.{0,40}\byet\b|still (?:running|waiting)|ready when\b|(?:the )?(?:commit|push)(?: has)? (?:succeeded|went through|(?:was )?successful)|the (?:branch|commit) is pushed|(?:ah|oh|hmm+|well)\b|(?:verifying|checking|running|looking|waiting)\b|committed as `?[0-9a-f]{7,40}`?\W*$)",
    );
    STATE.is_match(said) || (replies::says_it_passed(said) && !says_commit(said))
}

/// The files that a part changed.
fn changed(part: &EpisodeFacts) -> Option<String> {
    let names: Vec<&str> =
        part.edited.iter().take(3).map(|file| text::file_name(&file.path)).collect();
    (!names.is_empty()).then(|| format!("changed {}", text::one_line(&names.join(", "), 100)))
}

/// The last command of a part that has no reply.
fn ran(part: &EpisodeFacts) -> Option<String> {
    let command = part.commands.last()?;
    Some(format!("ran `{}`", text::one_line(&command.replace('`', "'"), 90)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::commands::Commit;

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
        assert_eq!(topic(&part, &Said::default(), &|_| None, 60), "REVIEW COMPLETE All is well.");
        part.last_reply = "Open tides:\n\n| # | Title |\n|---|---|\n| 1 | Quay |\n\nTwo.".into();
        assert_eq!(topic(&part, &Said::default(), &|_| None, 60), "Open tides: Two.");
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
        let said = || Said::of(&[], &outcome, &[]);
        let reply = "The harbour log waits for the tide of the morning.";
        assert_eq!(sentences(part(reply), &said()), [reply]);
        let nothing = "Let me look at the harbour log:";
        assert_eq!(sentences(part(nothing), &said()), ["The log takes its lock first"]);
        let other = ["Something of another part (EP_002)".to_string()];
        assert_eq!(sentences(part(nothing), &Said::of(&[], &other, &[])), ["lock the harbour log"]);
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

    fn label(part: &EpisodeFacts) -> String {
        topic(part, &Said::default(), &|_| None, TOPIC_CHARS)
    }

    #[test]
    fn a_label_is_the_work_or_a_wish_that_says_it() {
        let mut part = replied(
            1,
            "are they still being painted?",
            "Painted the boats of the pilot in harbour blue.",
        );
        let of_prompt = |said: &str| label(&replied(1, said, ""));
        assert_eq!(label(&part), "Painted the boats of the pilot in harbour blue");
        part.edited = vec![crate::model::session::FileChange::of("src/quay.rs".into())];
        let commit = |message: &str| Commit { message: message.into(), ..Commit::default() };
        part.commits = vec![commit("fix(quay): lock before the tide"), commit("Merge branch 'a'")];
        assert_eq!(label(&part), "lock before the tide (quay.rs)");
        assert_eq!(
            of_prompt("can you update the harbour in all the right places to 1.25.6"),
            "update the harbour in all the right places to 1.25.6",
            "a wish behind a courtesy is a label"
        );
        let long = "paint the boats of the pilot and of the whole harbour watch in the blue that the \
            town has chosen for its festival";
        let cut = of_prompt(long);
        assert!(!cut.ends_with('…') && long.starts_with(&cut), "{cut}");
        assert_eq!(
            label(&replied(1, "7", "The log takes its lock first.")),
            "The log takes its lock first."
        );
    }

    #[test]
    fn a_sentence_says_what_stands_nowhere_else_on_the_page() {
        let reply =
            "The log of the harbour takes its lock first. Boats of the pilot wait at the quay.";
        let part = || vec![replied(1, "lock the harbour log", reply)];
        let outcome = ["The log of the harbour takes its lock first (EP_001)".to_string()];
        let said = Said::of(&[], &outcome, &[]);
        assert_eq!(sentences(part(), &said), ["Boats of the pilot wait at the quay."]);
        let reply = "I've painted every boat of the pilot in blue.";
        let part = vec![replied(1, "lock the harbour log", reply)];
        assert_eq!(sentences(part, &Said::default()), ["Painted every boat of the pilot in blue."]);
    }

    #[test]
    fn keys_are_names_and_few_plain_words() {
        let words =
            "git eof understood lint quay.rs tide_lock harbour pilot anchor lantern mooring";
        let mut part = EpisodeFacts::of_prompt(1, "paint the boats of the morning");
        part.words = words.split(' ').map(|word| (word.to_string(), 2.0)).collect();
        let facts = Facts { parts: vec![part], spoken: 50, ..Facts::default() };
        let keys = &triggers(&facts, &Said::default(), 0)[0].keys;
        assert!(keys[..2].iter().all(|key| index::is_identifier(key)), "{keys:?}");
        assert!(keys.iter().all(|key| !is_everyday(key)), "{keys:?}");
        assert!(keys.len() <= 2 + MOST_PLAIN_KEYS, "{keys:?}");
    }
}
