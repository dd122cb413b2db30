//! The note: what a colleague would write down about a session. What was wanted, what came of it
//! with its episode, what is still open, and how it went.

use crate::base::text;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::triggers::plain_words;
use crate::distill::{intent, outcome, sayings};
use crate::model::digest::Outcome;
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// So many commits, pull requests and solved errors are told.
const MOST_COMMITS: usize = 4;
const MOST_OPENED: usize = 3;
const MOST_SOLVED: usize = 2;
/// So many files are named.
const MOST_FILES: usize = 4;

/// What was wanted, in a sentence or two.
pub fn objective(facts: &Facts) -> String {
    let room = if facts.is_talk() { 80 } else { 140 };
    intent::leading_prompt(facts)
        .map(|prompt| intent::wish(prompt, room, !facts.is_talk()))
        .unwrap_or_default()
}

/// The title that a session gets where nobody gave it one.
pub fn title(facts: &Facts) -> String {
    intent::leading_prompt(facts).map(|prompt| intent::wish(prompt, 80, false)).unwrap_or_default()
}

/// The person's words: the first wish, and what was asked for after it.
pub fn core_intent(facts: &Facts) -> String {
    let Some(leading) = intent::leading_prompt(facts) else { return String::new() };
    let first = intent::wish(leading, if facts.is_talk() { 160 } else { 240 }, true);
    let later: Vec<String> = facts
        .parts
        .iter()
        .filter(|part| {
            !part.rewound
                && !part.inherited
                && part.prompt != leading
                && intent::says_what(&part.prompt)
        })
        .map(|part| intent::wish(&part.prompt, 70, false))
        .filter(|wish| wish.chars().count() > 24)
        .collect();
    // The beginning of what came later, and where it ended.
    let told: Vec<&str> = match later.as_slice() {
        [one, two, .., last] => vec![one, two, last],
        some => some.iter().map(String::as_str).collect(),
    };
    let told = if facts.is_talk() { &told[..told.len().min(2)] } else { &told[..] };
    if told.is_empty() { first } else { format!("{first} Then: {}", told.join("; ")) }
}

/// What came of it: how the agent closed, what was changed, what passed, what was committed or
/// opened, which errors were solved by what, and what is still open. Each with its episode.
pub fn key_outcomes(facts: &Facts, head: &Head, files: &[String]) -> Vec<String> {
    let parts: Vec<&EpisodeFacts> =
        facts.parts.iter().filter(|part| !part.rewound && !part.inherited).collect();
    let mut outcomes = Vec::new();
    let closing = parts.iter().rev().find(|part| !part.last_reply.is_empty());
    if let Some((part, said)) =
        closing.and_then(|part| Some((part, sayings::closing_sentence_but(part, says_commit)?)))
    {
        let said = said.trim_end_matches('.');
        let says_little = facts.tool_calls > 0 && sayings::telling_weight(said) < 1.0;
        let stopped =
            matches!(part.signals.last(), Some(Signal::Work | Signal::Interrupted | Signal::Error));
        let said = if stopped { format!("it stopped after: {said}") } else { said.to_string() };
        if !says_little {
            outcomes.push(if facts.is_talk() { said } else { at(said, part) });
        }
    }
    if let Some(last) = parts.iter().rev().find(|part| !part.edited.is_empty() && !files.is_empty())
    {
        let names: Vec<&str> = files.iter().take(MOST_FILES).map(String::as_str).collect();
        let more = files.len().saturating_sub(MOST_FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        outcomes.push(at(format!("changed {}{more}", names.join(", ")), last));
    }
    outcomes.extend(tests(&parts));
    let mut commits: Vec<(&EpisodeFacts, &crate::distill::facts::Commit)> = Vec::new();
    for (part, commit) in
        parts.iter().flat_map(|part| part.commits.iter().map(move |commit| (*part, commit)))
    {
        if !commits.iter().any(|(_, known)| known.hash == commit.hash) {
            commits.push((part, commit));
        }
    }
    // The latest tell what it came to.
    let earlier = commits.len().saturating_sub(MOST_COMMITS);
    for (part, commit) in &commits[earlier..] {
        outcomes.push(at(
            format!("committed {} {}", text::cut(&commit.hash, 12), commit.message),
            part,
        ));
    }
    if earlier > 0 {
        outcomes.push(format!("{earlier} earlier commits"));
    }
    let opened =
        parts.iter().flat_map(|part| part.opened.iter().map(move |url| (url, Some(*part))));
    let told = head.pull_requests.iter().map(|url| (url, None));
    let mut known: Vec<&str> = Vec::new();
    for (url, part) in opened.chain(told) {
        let told = outcomes.iter().any(|outcome| outcome.contains(url.as_str()));
        if known.len() < MOST_OPENED && !told && !known.contains(&url.as_str()) {
            known.push(url);
            let opened = format!("opened {}", text::one_line(url, 120));
            outcomes.push(part.map_or(opened.clone(), |part| at(opened, part)));
        }
    }
    let solved =
        parts.iter().flat_map(|part| part.solved.iter().map(move |solved| (*part, solved)));
    for (part, solved) in solved.take(MOST_SOLVED) {
        outcomes
            .push(at(format!("`{}` solved by {}", quotable(&solved.error, 90), solved.by), part));
    }
    if let Some((part, open)) =
        parts.last().and_then(|part| Some((part, sayings::open_end(&part.last_reply)?)))
        && !facts.is_talk()
        && !outcomes.first().is_some_and(|closing| closing.starts_with(open.trim_end_matches('.')))
    {
        outcomes.push(at(format!("open: {}", open.trim_end_matches('.')), part));
    }
    outcomes
}

/// Whether a sentence only says that something was committed: which commit is told by git.
fn says_commit(sentence: &str) -> bool {
    let start = sentence.trim_start_matches(['✅', ' ']);
    ["Committed", "Commit ", "Commit:", "Pushed commit"]
        .iter()
        .any(|beginning| start.starts_with(beginning))
}

/// The last test run, and how many failed before it.
fn tests(parts: &[&EpisodeFacts]) -> Option<String> {
    let runs: Vec<(&EpisodeFacts, &outcome::Verdict)> =
        parts.iter().flat_map(|part| part.tests.iter().map(move |test| (*part, test))).collect();
    let (part, last) = runs.last()?;
    let failed = runs.iter().rev().skip(1).filter(|(_, run)| !run.passed).count();
    let mut told = String::from(if last.passed { "tests passed" } else { "tests failed" });
    if last.passed && failed > 0 {
        told.push_str(&format!(
            " after {failed} failing run{}",
            if failed == 1 { "" } else { "s" }
        ));
    }
    if !last.summary.is_empty() {
        told.push_str(&format!(": {}", last.summary));
    }
    Some(at(told, part))
}

/// A claim with the episode that it comes from.
fn at(claim: String, part: &EpisodeFacts) -> String {
    format!("{claim} ({})", EpisodeId(part.last_episode))
}

/// Text of a tool between backquotes: evidence, whatever it says.
fn quotable(text: &str, most_chars: usize) -> String {
    text::one_line(&text.replace('`', "'"), most_chars)
}

/// A short saying from the session itself: what was learnt, what was decided and why, what was
/// committed last, how it closed; and only then what was wanted.
pub fn motto(facts: &Facts, objective: &str) -> String {
    let short = |sentence: &String| (24..=110).contains(&sentence.chars().count());
    let parts = || facts.parts.iter().filter(|part| !part.rewound && !part.inherited);
    let best = |sentences: Vec<String>| {
        let weighed = sentences
            .into_iter()
            .filter(short)
            .map(|sentence| (sayings::telling_weight(&sentence), sentence));
        weighed
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, sentence)| sentence)
    };
    let stated =
        |kind| parts().flat_map(|part| &part.stated).filter(move |stated| stated.kind == kind);
    let lessons = || {
        best(
            stated(crate::distill::facts::StatedKind::Lesson)
                .map(|stated| stated.text.clone())
                .collect(),
        )
    };
    let decisions = || {
        best(
            stated(crate::distill::facts::StatedKind::Decision)
                .map(|stated| stated.text.clone())
                .collect(),
        )
    };
    let commit =
        || parts().flat_map(|part| &part.commits).last().map(|commit| commit.message.clone());
    let closing = || {
        let last = parts().rev().find(|part| !part.last_reply.is_empty())?;
        let closing = sayings::closing_sentence_but(last, says_commit)?;
        let closing = Some(closing).filter(|closing| !sayings::is_narration(closing))?;
        (!facts.is_talk() && closing.chars().count() >= 16).then_some(closing)
    };
    let long = || parts().flat_map(|part| &part.stated).map(|stated| stated.text.clone()).next();
    let said = lessons().or_else(decisions).or_else(commit).or_else(long).or_else(closing);
    let said = said.unwrap_or_else(|| objective.to_string());
    text::one_line(&plain_words(&said), 110)
}

/// How it went, from its signals: steady, stuck and by what, turned by the person, solved or not.
pub fn arc(facts: &Facts, status: Outcome) -> String {
    if facts.is_talk() {
        return match status {
            _ if facts.spoken == 0 => String::new(),
            Outcome::Abandoned => "left unanswered".into(),
            _ => "steady".into(),
        };
    }
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.inherited).collect();
    let count = |part: &EpisodeFacts, wanted: Signal| {
        part.signals.iter().filter(|signal| **signal == wanted).count()
    };
    let mut phases: Vec<String> = Vec::new();
    let trouble = |part: &EpisodeFacts| {
        count(part, Signal::Test(false)) > 0 || count(part, Signal::Error) >= 3
    };
    let first = parts.iter().position(|part| trouble(part));
    if first != Some(0) {
        phases.push("steady".into());
    }
    if let Some(first) = first {
        let failing: usize = parts.iter().map(|part| count(part, Signal::Test(false))).sum();
        let errors: usize = parts.iter().map(|part| count(part, Signal::Error)).sum();
        let by = match failing {
            0 => format!("{errors} errors"),
            1 => "1 failing test run".into(),
            many => format!("{many} failing test runs"),
        };
        phases.push(format!("stuck ({by}, {})", EpisodeId(parts[first].episode)));
    }
    let turns: Vec<&&EpisodeFacts> =
        parts.iter().filter(|part| part.rewound || count(part, Signal::Interrupted) > 0).collect();
    if let Some(turn) = turns.first() {
        let often = if turns.len() > 1 {
            format!("{} times, first in ", turns.len())
        } else {
            String::new()
        };
        phases.push(format!("turned (the person stepped in, {often}{})", EpisodeId(turn.episode)));
    }
    let last = parts.last().map_or(EpisodeId(0), |part| EpisodeId(part.last_episode));
    match status {
        Outcome::Success if first.is_some() => phases.push("solved".into()),
        Outcome::Success if phases.len() > 1 => phases.push("done".into()),
        Outcome::Success => {
            let failed = facts.failed_calls;
            let calls = if facts.tool_calls == 1 {
                "1 tool call".into()
            } else {
                format!("{} tool calls", facts.tool_calls)
            };
            phases = vec![format!("steady ({calls}, {failed} failed)")];
        }
        Outcome::Fail => phases.push(format!("unsolved ({last})")),
        Outcome::Abandoned => phases.push("left unanswered".into()),
        Outcome::Unknown => phases.push(format!("open end ({last})")),
    }
    phases.join(" → ")
}
