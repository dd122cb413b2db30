//! Intent: what was wanted of a session, as its objective, its motto and the person's own words.

use std::collections::HashSet;

use super::key_outcomes::says_commit;
use super::title;
use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::commands::Commit;
use crate::distill::errors::Met;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::{prompts, replies, words};
use crate::model::digest::{Claim, ClaimKind, Origin};

/// How many words an objective has at most.
const MOST_WORDS: usize = 60;
/// How long it is at most, and one sentence of it.
const LONGEST: usize = 390;
const LONGEST_SENTENCE: usize = 200;
/// The title of a longer session is a list of its subjects, which no sentence can begin with.
const MANY_PROMPTS: usize = 12;
/// A later wish brings something new where it has so many words that were not said before.
const NEW_WORDS: usize = 4;

/// What was wanted of the whole session, in a few sentences: what a plan is for, or what the agent
/// understood, or the person's first wishes; and what later prompts brought that is new.
pub fn objective(facts: &Facts, title: &str) -> String {
    let parts: Vec<&EpisodeFacts> =
        facts.own_parts().filter(|part| !part.prompt.is_empty()).collect();
    let mut aim = Aim::default();
    let plan = parts.iter().find_map(|part| Some((part.episode, prompts::plan(&part.prompt)?)));
    let first = parts.iter().position(|part| !prompts::wishes(&part.prompt).is_empty());
    match (plan, first) {
        (Some((_, plan)), _) => {
            aim.add(&plan.title);
            whole_wishes(plan.goal).iter().take(2).for_each(|sentence| aim.add(sentence));
        }
        (None, Some(at)) => {
            let part = parts[at];
            aim.add_if_new(&part.understood, 0);
            let few = if part.understood.is_empty() { 3 } else { 1 };
            let mut wishes = whole_wishes(prompts::wishes(&part.prompt));
            if wishes.iter().any(|wish| words::telling(wish).len() >= 2) {
                wishes.retain(|wish| words::telling(wish).len() >= 2);
            }
            for wish in wishes.iter().take(few) {
                aim.add_if_new(wish, if aim.is_empty() { 0 } else { 2 });
            }
            let pasted = part.errors.iter().find(|error| error.met == Met::Pasted);
            if let Some(error) = pasted {
                aim.add_if_new(&error.sample, 3);
            }
        }
        (None, None) => return plain_objective(facts, title),
    }
    // The title may name what the person only pointed at.
    let new = words::telling(title).iter().filter(|word| !aim.has(word)).count();
    if new >= 2 && parts.len() <= MANY_PROMPTS {
        aim.put_first(title);
    }
    let later = parts.iter().skip(first.map_or(0, |at| at + 1));
    let brief = later.filter(|part| part.prompt.split_whitespace().count() <= 80);
    let mut wishes: Vec<String> = brief
        .flat_map(|part| match part.understood.is_empty() {
            true => whole_wishes(prompts::wishes(&part.prompt)),
            false => vec![part.understood.clone()],
        })
        .filter(|wish| words::telling(wish).len() >= 3)
        .collect();
    let most = if parts.len() > 8 { 3 } else { 2 };
    for _ in 0..most {
        // The wish that brings most that is new, for its length.
        let newest = wishes
            .iter()
            .enumerate()
            .map(|(at, wish)| (aim.news(wish), at))
            .filter(|(news, _)| *news >= NEW_WORDS)
            .max_by_key(|(news, at)| (*news, std::cmp::Reverse(*at)));
        let Some((_, at)) = newest else { break };
        aim.add(&wishes.remove(at));
    }
    aim.shown()
}

/// Sentences of which each says something whole: what breaks off goes on in the next one, and falls
/// where nothing follows. Behind any other colon stood a paste, perhaps, which nobody said.
fn whole_wishes(sentences: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::with_capacity(sentences.len());
    for sentence in &sentences {
        // A label says what the next sentence is, not what is wanted.
        whole.pop_if(|last| last.ends_with(':') && last.split_whitespace().count() < 3);
        match whole.last_mut().filter(|last| is_stump(last)) {
            Some(last) => *last = format!("{last} {sentence}"),
            None => whole.push(sentence.clone()),
        }
    }
    if whole.len() > 1 {
        whole.pop_if(|last| is_stump(last));
    }
    whole
}

/// Whether a sentence breaks off before what it is about: "the goal is to:".
fn is_stump(sentence: &str) -> bool {
    const LEADING: &[&str] = &[
        "a", "an", "and", "are", "as", "at", "by", "for", "from", "in", "into", "is", "like", "of",
        "on", "or", "the", "to", "was", "were", "with",
    ];
    let Some(said) = sentence.strip_suffix([':', '：']) else { return false };
    let last = said.split_whitespace().next_back().unwrap_or_default().to_lowercase();
    LEADING.contains(&last.as_str())
}

/// The sentences of an objective, and the words that they have.
#[derive(Default)]
struct Aim {
    sentences: Vec<String>,
    words: HashSet<String>,
}

impl Aim {
    fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    fn news(&self, sentence: &str) -> usize {
        words::telling(sentence).iter().filter(|word| !self.has(word)).count()
    }

    fn add(&mut self, sentence: &str) {
        let at = self.sentences.len();
        self.put(at, sentence);
    }

    fn add_if_new(&mut self, sentence: &str, new: usize) {
        if !sentence.is_empty() && self.news(sentence) >= new && !self.repeats(sentence) {
            self.add(sentence);
        }
    }

    fn put_first(&mut self, sentence: &str) {
        if !self.repeats(sentence) && !self.holds_one(sentence) {
            self.put(0, sentence);
        }
    }

    /// Whether most of what a sentence says stands in another one.
    fn repeats(&self, sentence: &str) -> bool {
        self.shares(sentence, |both, _, new| new >= 2 && both * 5 >= new * 3)
    }

    /// Whether a title says no more than a sentence of the person's with a name before it.
    fn holds_one(&self, title: &str) -> bool {
        self.shares(title, |both, known, _| known >= 2 && both == known)
    }

    /// Whether this is so of a sentence that is there: how many telling words both have, how many
    /// it has, and how many the other one has.
    fn shares(&self, sentence: &str, so: impl Fn(usize, usize, usize) -> bool) -> bool {
        let telling = words::telling(sentence);
        self.sentences.iter().any(|known| {
            let known = words::telling(known);
            let both = known.iter().filter(|word| telling.contains(*word)).count();
            so(both, known.len(), telling.len())
        })
    }

    fn put(&mut self, at: usize, sentence: &str) {
        let sentence = text::clause(&markdown::strip_marks(sentence), LONGEST_SENTENCE);
        if !sentence.is_empty() {
            self.words.extend(words::telling(&sentence));
            self.sentences.insert(at, text::capitalized(&sentence));
        }
    }

    /// As many whole sentences as there is room for.
    fn shown(&self) -> String {
        let mut shown = String::new();
        let mut count = 0;
        for sentence in &self.sentences {
            let words = sentence.split_whitespace().count();
            let chars = shown.chars().count() + sentence.chars().count() + 2;
            if !shown.is_empty() && (count + words > MOST_WORDS || chars > LONGEST) {
                continue;
            }
            count += words;
            let end = if sentence.ends_with(['.', '!', '?', '…', '。', '？', '！', '`']) {
                ""
            } else {
                "."
            };
            let gap = if shown.is_empty() { "" } else { " " };
            shown = format!("{shown}{gap}{}{end}", sentence.trim_end_matches([',', ';', ':', ' ']));
        }
        shown
    }
}

/// Where no prompt says anything by itself: the title, or what there is.
fn plain_objective(facts: &Facts, title: &str) -> String {
    let request = leading_prompt(facts).map(|prompt| prompts::request(prompt, 140, true));
    let template = leading_prompt(facts).is_some_and(prompts::is_template);
    match request.filter(|request| !template && !request.is_empty()) {
        Some(request) => request,
        None => title.to_string(),
    }
}

/// The person's words beyond the objective: the first request where the objective says something
/// else, and what was asked for after it. A session of one prompt keeps its request.
pub fn core_intent(facts: &Facts, objective: &str) -> String {
    let Some(leading) = leading_prompt(facts) else { return String::new() };
    let most = if facts.is_talk() { 160 } else { 240 };
    let first = text::phrase(&prompts::request(leading, 400, true), most);
    let aim = words::telling(objective);
    // Most of what somebody says stands in the objective where three of five words do.
    let is_new = |said: &str| {
        let telling = words::telling(said);
        let known = telling.iter().filter(|word| aim.contains(word)).count();
        known * 5 < telling.len() * 3
    };
    // What somebody only wants to know is no wish for the work.
    let later = facts.own_parts().filter(|part| {
        part.prompt != leading
            && prompts::is_specific(&part.prompt)
            && (facts.is_talk() || !prompts::asks_to_know(&part.prompt))
    });
    let mut wishes: Vec<String> = Vec::new();
    for part in later {
        let plan = prompts::plan(&part.prompt).map(|plan| plan.title);
        let mut said = plan.into_iter().chain(prompts::wishes(&part.prompt));
        let says = |wish: &String| words::telling(wish).len() >= 3 && !prompts::opens_as_chat(wish);
        let wish = said.find(says);
        let Some(wish) = wish.map(|wish| text::phrase(&wish, 100)) else { continue };
        if is_new(&wish) && !wish.ends_with('…') && !wishes.contains(&wish) {
            wishes.push(wish);
        }
    }
    // The beginning of what came later, and where it ended.
    let shown: Vec<&str> = match wishes.as_slice() {
        [one, two, .., last] => vec![one, two, last],
        some => some.iter().map(String::as_str).collect(),
    };
    let shown = if facts.is_talk() { &shown[..shown.len().min(2)] } else { &shown[..] };
    match (shown.is_empty(), is_new(&first)) {
        (true, _) => first,
        (false, true) => format!("{first} Then: {}", shown.join("; ")),
        (false, false) => format!("Then: {}", shown.join("; ")),
    }
}

/// The prompt that says what a session is about: the first that does, rather than a "continue"
/// before it.
pub fn leading_prompt(facts: &Facts) -> Option<&str> {
    let prompts = || facts.parts.iter().filter(|part| !part.prompt.is_empty() && !part.rewound);
    let own = || prompts().filter(|part| !part.inherited);
    let first = own()
        .find(|part| prompts::is_specific(&part.prompt))
        .or_else(|| prompts().find(|part| prompts::is_specific(&part.prompt)));
    let command = facts.first_command.as_deref();
    let longest = || {
        prompts().max_by_key(|part| (part.prompt.chars().count(), std::cmp::Reverse(part.episode)))
    };
    first
        .map(|part| part.prompt.as_str())
        .or(command)
        .or_else(|| longest().map(|part| part.prompt.as_str()))
}

/// A short saying from the session itself that is whole and no title again: what was decided or
/// learnt, a point of what was committed, what came of it; and only then the title.
pub fn motto(
    facts: &Facts,
    title: &str,
    objective: &str,
    outcomes: &[String],
    stated: &[Claim],
) -> String {
    let known: HashSet<String> = words::telling(title).into_iter().collect();
    // Half of the title's words are the title again.
    let is_news = |said: &String| {
        let telling = words::telling(said);
        let shared = telling.iter().filter(|word| known.contains(*word)).count();
        telling.len() >= 3 && shared * 2 <= known.len()
    };
    let saying = |said: &str| {
        let decision = said.strip_prefix("Decision: ").map(text::capitalized);
        let said = decision.unwrap_or_else(|| said.to_string());
        let said = markdown::strip_marks(replies::without_cheer(&said));
        let whole = whole_sentence(&said)?;
        let is_short = whole.chars().count() >= 16 && is_news(&whole) && !leans(&whole);
        is_short.then_some(whole)
    };
    let claims = |kind: ClaimKind| {
        let claims = stated.iter().filter(move |claim| claim.kind == kind);
        claims.filter(|claim| claim.origin != Origin::Tool).map(|claim| claim.text.as_str())
    };
    let parts = || facts.own_parts();
    let said = |kind: ClaimKind| {
        let said = parts().flat_map(|part| &part.statements);
        said.filter(move |stated| stated.kind == kind).map(|stated| stated.text.as_str())
    };
    // That two branches were merged says nothing of either.
    let commits: Vec<&Commit> = parts()
        .flat_map(|part| &part.commits)
        .filter(|commit| !commit.undone && !commit.message.starts_with("Merge "))
        .collect();
    let points = || commits.iter().rev().flat_map(|commit| &commit.points).map(String::as_str);
    let subjects = || commits.iter().rev().map(|commit| commit.message.as_str());
    let came = || outcomes.iter().map(|line| line.rsplit_once(" (EP_").map_or(&**line, |l| l.0));
    let fallback = || match title.is_empty() || title.ends_with('…') {
        true => text::phrase(objective, LONGEST_MOTTO),
        false => title.to_string(),
    };
    let chosen = claims(ClaimKind::Decision).find_map(saying);
    let chosen = chosen.or_else(|| claims(ClaimKind::Lesson).find_map(saying));
    let chosen = chosen.or_else(|| said(ClaimKind::Decision).find_map(saying));
    let chosen = chosen.or_else(|| points().find_map(saying));
    let chosen = chosen.or_else(|| subjects().map(title::without_kind).find_map(|s| saying(&s)));
    let chosen = chosen.or_else(|| said(ClaimKind::Lesson).find_map(saying));
    let chosen = chosen.or_else(|| came().find_map(saying));
    chosen.unwrap_or_else(fallback)
}

/// How long a motto may be.
const LONGEST_MOTTO: usize = 110;

/// A text that is short, or its first sentence or part that is; never a clause that wants the rest.
fn whole_sentence(said: &str) -> Option<String> {
    let first = text::sentences(said).next()?;
    let part = first.split("; ").next()?;
    // What was chosen is whole without its reason, unless it is a clause that goes on behind it.
    let reasons = [", because ", " because ", ", since ", ", so that "];
    let goes_on = ["When ", "If ", "Since ", "While ", "As ", "Because ", "Once "];
    let reason = reasons.iter().filter_map(|word| part.find(word)).min();
    let reason = reason.filter(|_| !goes_on.iter().any(|word| part.starts_with(word)));
    let choice = reason.map_or(part, |at| &part[..at]);
    let line = |said: &str| text::one_line(said.trim_end_matches(['.', '!', ' ']), usize::MAX);
    let mut whole = [said, first, part, choice].into_iter().map(line);
    let closed = |said: &String| {
        let even = |mark| said.matches(mark).count().is_multiple_of(2);
        even('`') && even('"') && said.matches('(').count() == said.matches(')').count()
    };
    whole.find(|said| said.chars().count() <= LONGEST_MOTTO && closed(said))
}

/// Whether a sentence is no saying by itself: it asks, leans on one before it, tells what somebody
/// is doing, lists files, or names a line of a file that the next edit moves.
fn leans(said: &str) -> bool {
    static LEANS: StaticRegex = StaticRegex::new(concat!(
        r"(?i)^(?:the (?:\w+ )?(?:issue|problem|bug|error|failure|cause|fix|change|reason)\b|this\b|that\b|these\b|those\b|it\b|its\b|they\b|so\b|but\b|and\b|also\b|then\b|yes\b|yeah\b|no\b|ok\b|okay\b|ah\b|oh\b|wait\b|i\b|i['’]|let['’]?s\b|you\b|maybe\b|is\b|are\b|do\b|does\b|did\b|can\b|could\b|would\b|should\b|what\b|how\b|why\b|which\b|where\b|if\b|\d+[.)]|updated?\b|changed\b|ran\b|tests?\b|edit \d|in `|the (?:file|output|comment|plan|lint)\b)",
        r"|^\S+\.\w+:|^\w+Error:|\.\w{1,5}:\d+|\blines? \d+|^['\x22]?`[^`]+`['\x22]?\s*(?:[—–:-]|changes?\b)|[?？:,]$|https?://|[{(]$|…",
    ));
    LEANS.is_match(said)
        || replies::is_narration(said)
        || replies::announces(said)
        || replies::says_it_passed(said)
        || says_commit(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(title: &str, prompts: &[&str]) -> String {
        let part = |(at, said): (usize, &&str)| EpisodeFacts::of_prompt(at as u32 + 1, said);
        let parts = prompts.iter().enumerate().map(part).collect();
        objective(&Facts { parts, ..Facts::default() }, title)
    }

    #[test]
    fn a_sentence_that_leads_to_another_goes_on_in_it() {
        assert_eq!(
            aim("", &["Write the header anew, best with words like:\n\n- the tide of the harbour"]),
            "Write the header anew, best with words like: the tide of the harbour."
        );
        assert_eq!(
            aim(
                "",
                &[
                    "# Plan: Lock the harbour log\n\n## Goal\n\nTwo writers lose tides. On quays it then fails with:\n```\nx\n```"
                ]
            ),
            "Lock the harbour log. Two writers lose tides."
        );
    }

    #[test]
    fn nothing_is_said_twice() {
        let wish = "lock the harbour log before the header of it";
        assert_eq!(
            aim("Lock the harbour log (quay.rs, pier.rs)", &[wish]),
            "Lock the harbour log before the header of it."
        );
        assert_eq!(
            aim("Lock the harbour log (quay.rs, pier.rs)", &["do what the pilot said about boats"]),
            "Lock the harbour log (quay.rs, pier.rs). Do what the pilot said about boats."
        );
    }

    #[test]
    fn a_longer_sentence_may_say_a_short_one_again() {
        let mut aim = Aim::default();
        aim.add("Lock the harbour");
        aim.add_if_new("lock the harbour, then paint the pier and the quay", 0);
        aim.add_if_new("lock harbour", 0);
        assert_eq!(aim.sentences.len(), 2);
    }

    #[test]
    fn a_label_is_no_wish() {
        assert_eq!(
            aim("", &["Harbour notes: \n\nlock the log of the pier before the tide"]),
            "Lock the log of the pier before the tide."
        );
    }

    #[test]
    fn the_title_again_is_no_motto() {
        let mut part = EpisodeFacts::of_prompt(1, "lock the harbour log");
        part.edited = vec![crate::model::session::FileChange::of("quay.rs".into())];
        part.last_reply = "You may want to run `tide lock` now. All tests pass.".into();
        let commit = Commit { message: "fix: lock the harbour log".into(), ..Commit::default() };
        part.commits = vec![commit];
        let facts = Facts { parts: vec![part], tool_calls: 1, ..Facts::default() };
        let title = "Lock the harbour log";
        let outcomes = ["Lock the harbour log (1a2b) (EP_001)", "Boats wait at the quay (EP_001)"]
            .map(String::from);
        assert_eq!(motto(&facts, title, title, &outcomes, &[]), "Boats wait at the quay");
        assert_eq!(motto(&facts, title, title, &outcomes[..1], &[]), title);
    }

    #[test]
    fn what_was_pasted_or_said_again_is_no_later_wish() {
        let prompts = [
            "lock the log of the harbour before the tide",
            "➜ quay git:(main) cargo run --release -- tide of the pier",
            "lock the log of the harbour before the tide",
            "paint the boats of the pilot in blue and white",
        ];
        let part = |(at, said): (usize, &&str)| EpisodeFacts::of_prompt(at as u32 + 1, said);
        let parts = prompts.iter().enumerate().map(part).collect();
        assert_eq!(
            core_intent(&Facts { parts, tool_calls: 1, ..Facts::default() }, ""),
            "lock the log of the harbour before the tide Then: paint the boats of the pilot in blue and white"
        );
    }

    #[test]
    fn what_the_objective_says_is_not_said_again() {
        let prompts = [
            "lock the log of the harbour before the tide",
            "also paint the boats of the pilot in blue and white",
            "why is the quay of the pier so far from the town?",
        ];
        let part = |(at, said): (usize, &&str)| EpisodeFacts::of_prompt(at as u32 + 1, said);
        let parts = prompts.iter().enumerate().map(part).collect();
        let facts = Facts { parts, tool_calls: 1, ..Facts::default() };
        let aim = "Lock the log of the harbour before the tide.";
        let later = "Then: paint the boats of the pilot in blue and white";
        assert_eq!(core_intent(&facts, aim), later);
        let alone = vec![EpisodeFacts::of_prompt(1, prompts[0])];
        let only = Facts { parts: alone, tool_calls: 1, ..Facts::default() };
        assert_eq!(core_intent(&only, aim), prompts[0], "a session of one prompt keeps it");
    }

    #[test]
    fn a_motto_is_whole_and_leans_on_nothing() {
        let claim = |text: &str| Claim {
            kind: ClaimKind::Lesson,
            text: text.into(),
            episode: crate::model::ids::EpisodeId(1),
            origin: Origin::Assistant,
        };
        let facts = Facts { parts: vec![EpisodeFacts::of_prompt(1, "x")], ..Facts::default() };
        let said = |text: &str| motto(&facts, "Lock the log", "", &[], &[claim(text)]);
        let kept = "Two writers of one harbour never see the same tide";
        assert_eq!(said(kept), kept);
        for leaning in [
            "The issue is in the `Harbour()` function of the quay",
            "Boats wait for the tide in `quay.rs:56-67`",
            "Could the pilot wait for the tide of the evening?",
            "When the harbour of the pilot is closed because of a storm that nobody of the watch had seen before noon, boats wait",
        ] {
            assert_eq!(said(leaning), "Lock the log", "{leaning}");
        }
    }

    #[test]
    fn a_merge_is_no_motto() {
        let mut part = EpisodeFacts::of_prompt(1, "lock the harbour log");
        let commit = |message: &str| Commit { message: message.into(), ..Commit::default() };
        part.commits = vec![commit("lock it before the tide"), commit("Merge branch 'quay'")];
        let facts = Facts { parts: vec![part], ..Facts::default() };
        assert_eq!(motto(&facts, "", "x", &[], &[]), "lock it before the tide");
    }
}
