//! Key outcomes: what came of a session, line by line, the headline first, each with its episode.
//!
//! What git and the forge show comes before what the agent says; of its words, the headline of the
//! last message and the points of its lists, spread over the episodes in which something was done.

use std::collections::HashSet;

use super::git::{Git, Pull};
use super::paths::shown_path;
use super::title::without_kind;
use crate::base::markdown;
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::change::{explains, is_change, is_past, names_code, speaks};
use crate::distill::commands::Commit;
use crate::distill::facts::{Document, EpisodeFacts, Facts};
use crate::distill::lists::{self, Point};
use crate::distill::{prompts, replies, words};
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// How many outcomes a page has.
const MOST: usize = 8;
/// How long an outcome may be.
const LONGEST: usize = 300;
/// How many commits are listed one by one.
const MOST_COMMITS: usize = 4;
/// How many points stand on one line with what they are about.
const POINTS_ON_A_LINE: usize = 3;
/// A point beside others may be cut to this, where a clause ends.
const SHORTEST_POINT: usize = 80;
/// Where something was changed in one of so many parts, the session was about changing something
/// rather than about questions.
const MOSTLY_WORK: usize = 4;
/// A page with fewer outcomes takes explanations, too.
const FEW: usize = 3;
/// Two lines that share so much are one; two commits only where they share nearly all.
const SAME_SHARE: f32 = 0.65;
const SAME_COMMITS: f32 = 0.85;

/// A line that stands first for its title shares at least so many words with it.
const TITLE_WORDS: usize = 2;

/// What came of a session.
pub fn key_outcomes(
    facts: &Facts,
    head: &Head,
    git: &Git<'_>,
    files: &[String],
    title: &str,
) -> Vec<String> {
    let parts: Vec<&EpisodeFacts> = facts.own_parts().collect();
    let most = MOST.min(4 + parts.iter().filter(|part| did_work(part)).count());
    let mut found = Outcomes { most, ..Outcomes::default() };
    let is_result = |outcome: &Outcome| is_result(outcome, &parts);
    let (headline, mut explained) = match headline(facts, &parts) {
        Some(outcome) if !is_result(&outcome) => (None, vec![outcome]),
        headline => (headline, Vec::new()),
    };
    found.add(headline);
    for pull in git.pulls.iter().filter(|pull| pull.is_own()) {
        found.add_proved(Outcome::new(of_pull(pull), pull.episode));
    }
    for outcome in of_commits(git) {
        found.add_proved(outcome);
    }
    found.add(answered(git));
    for outcome in tagged(&parts) {
        found.add(Some(outcome));
    }
    for outcome in documents(&parts, head) {
        found.add(Some(outcome));
    }
    let room = found.room();
    let mut points = points_by_part(&parts, head);
    for part in &mut points {
        explained.extend(part.extract_if(.., |outcome| !is_result(outcome)));
    }
    for outcome in spread(points, room) {
        found.add(Some(outcome));
    }
    for outcome in explained {
        if found.lines.len() < FEW {
            found.add(Some(outcome));
        }
    }
    if found.room() > 0 {
        for outcome in answers(&parts) {
            if is_result(&outcome) || found.lines.len() < FEW {
                found.add(Some(outcome));
            }
        }
    }
    if found.lines.is_empty() {
        found.add(closing(facts, &parts));
        found.add(changed(&parts, files));
        found.add(tests(&parts));
    }
    found.put_first(title);
    found.shown(facts)
}

/// Whether an outcome is one. Where something was changed, an explanation is none of what came of
/// it; but in a session of questions their answers are.
fn is_result(outcome: &Outcome, parts: &[&EpisodeFacts]) -> bool {
    let said = tidy(&outcome.text);
    let working = parts.iter().filter(|part| did_work(part)).count();
    if working == 0 || !explains(&said) {
        return true;
    }
    let asks = working * MOSTLY_WORK < parts.len();
    let is_answer = |part: &&EpisodeFacts| {
        part.last_episode == outcome.episode && !did_work(part) && !speaks(&said)
    };
    asks && parts.iter().any(is_answer)
}

/// One thing that came of a session.
#[derive(Debug, Clone)]
struct Outcome {
    text: String,
    episode: u32,
    /// Whether git or the forge shows it.
    proved: bool,
}

impl Outcome {
    fn new(text: String, episode: u32) -> Outcome {
        Outcome { text, episode, proved: false }
    }
}

#[derive(Default)]
struct Outcomes {
    lines: Vec<(Outcome, HashSet<String>)>,
    most: usize,
}

impl Outcomes {
    fn room(&self) -> usize {
        self.most.saturating_sub(self.lines.len())
    }

    /// Adds an outcome, unless it is said already; of two that say the same the fuller one stays.
    fn add(&mut self, outcome: Option<Outcome>) {
        if let Some(outcome) = outcome {
            self.take(outcome, false);
        }
    }

    /// Adds what git or the forge shows: it wins over words that say the same.
    fn add_proved(&mut self, outcome: Outcome) {
        self.take(outcome, true);
    }

    fn take(&mut self, mut outcome: Outcome, proved: bool) {
        outcome.text = tidy(&outcome.text);
        outcome.proved = proved;
        let telling: HashSet<String> = words::telling(&outcome.text).into_iter().collect();
        if telling.len() < 2 && !outcome.text.contains("PR #") {
            return;
        }
        // Two commits may share most of their words; words about them may not.
        let same = if proved { SAME_COMMITS } else { SAME_SHARE };
        let twin = self.lines.iter().position(|(line, known)| {
            let both = known.intersection(&telling).count() as f32;
            let share = both / known.len().min(telling.len()) as f32;
            let headline = !line.proved && share >= SAME_SHARE;
            share >= same || headline || (share >= 0.5 && shares_hash(&line.text, &outcome.text))
        });
        match twin {
            // The headline gives way to a line that says the same and more, and so do other words.
            Some(at)
                if (at == 0 && proved)
                    || (!self.lines[at].0.proved && telling.len() > self.lines[at].1.len()) =>
            {
                self.lines[at] = (outcome, telling);
            }
            Some(_) => {}
            None if self.room() > 0 => self.lines.push((outcome, telling)),
            None => {}
        }
    }

    /// Moves to the front what git or the forge shows and the session is named for: cores and days
    /// say the first line only.
    fn put_first(&mut self, title: &str) {
        let named = words::telling(title);
        let shared =
            |telling: &HashSet<String>| named.iter().filter(|word| telling.contains(*word)).count();
        let first = self.lines.first().map_or(0, |(_, telling)| shared(telling));
        let proved = self.lines.iter().enumerate().filter(|(_, (line, _))| line.proved);
        let best = proved
            .map(|(at, (_, telling))| (shared(telling), at))
            .max_by_key(|(shared, at)| (*shared, std::cmp::Reverse(*at)));
        if let Some((shared, at)) = best
            && shared >= TITLE_WORDS
            && shared > first
        {
            self.lines[..=at].rotate_right(1);
        }
    }

    fn shown(self, facts: &Facts) -> Vec<String> {
        let lines = self.lines.into_iter().map(|(outcome, _)| outcome);
        lines
            .map(|outcome| match facts.is_talk() {
                true => outcome.text,
                false => format!("{} ({})", outcome.text, EpisodeId(outcome.episode)),
            })
            .collect()
    }
}

/// Whether a sentence only says that something was committed: git says which.
pub fn says_commit(sentence: &str) -> bool {
    let start = sentence.trim_start_matches(['✅', ' ']);
    ["Committed", "Commit ", "Commit:", "Pushed commit", "Created commit", "Created a commit"]
        .iter()
        .any(|beginning| start.starts_with(beginning))
}

/// The headline of the last message of the last episode in which something was done.
fn headline(facts: &Facts, parts: &[&EpisodeFacts]) -> Option<Outcome> {
    let worked = parts.iter().rev().find(|part| did_work(part) && !part.last_reply.is_empty());
    let last = parts.iter().rev().find(|part| !part.last_reply.is_empty());
    let part = worked.or(last.filter(|_| !facts.is_talk()))?;
    headline_of(part, |said| is_change(said) || names_code(said))
}

/// The headline of a part's last message, where it tells something.
fn headline_of(part: &EpisodeFacts, tells: impl Fn(&str) -> bool) -> Option<Outcome> {
    if part.cut_off && !part.last_reply.contains('.') {
        return None;
    }
    let said = replies::headline(&part.last_reply).filter(|said| tells(said))?;
    (said.chars().count() <= LONGEST + 40).then(|| Outcome::new(said, part.last_episode))
}

/// Whether something was changed, committed or opened in a part.
fn did_work(part: &EpisodeFacts) -> bool {
    !part.edited.is_empty()
        || !part.commits.is_empty()
        || !part.pulls.is_empty()
        || !part.tags.is_empty()
}

/// A pull request in one line: how far it came, what it is called, what it holds.
fn of_pull(pull: &Pull) -> String {
    let number = if pull.number > 0 { format!(" #{}", pull.number) } else { String::new() };
    let mut line = format!("PR{number} {}", pull.state());
    if !pull.title.is_empty() {
        line = format!("{line}: {}", text::capitalized(&without_kind(&pull.title)));
    }
    with_points(line, &pull.points)
}

/// The commits, each in one line with what its message says; many of them joined by what they are
/// about.
fn of_commits(git: &Git<'_>) -> Vec<Outcome> {
    let is_in_pull = |commit: &Commit| {
        git.pulls.iter().any(|pull| {
            pull.is_own()
                && without_kind(&pull.title).eq_ignore_ascii_case(&without_kind(&commit.message))
        })
    };
    let commits: Vec<&(&EpisodeFacts, &Commit)> = git
        .commits
        .iter()
        .filter(|(_, commit)| !is_in_pull(commit) && !is_step(&commit.message))
        .collect();
    if commits.len() > MOST_COMMITS {
        // A pull request with a description says what its many commits come to.
        let is_described = git.pulls.iter().any(|pull| pull.is_own() && !pull.points.is_empty());
        let lines = joined(&commits);
        let from = if is_described { lines.len().saturating_sub(1) } else { 0 };
        return lines.into_iter().skip(from).collect();
    }
    let line = |(part, commit): &&(&EpisodeFacts, &Commit)| {
        let hash = text::cut(&commit.hash, 8);
        let place = match (hash.is_empty(), commit.branch.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(" ({hash})"),
            (false, false) => format!(" ({hash} on {})", text::cut(&commit.branch, 60)),
        };
        let text = with_points(format!("{}{place}", without_kind(&commit.message)), &commit.points);
        Outcome::new(text, part.last_episode)
    };
    commits.iter().map(line).collect()
}

/// Many commits by their scope, the latest hash last.
fn joined(commits: &[&(&EpisodeFacts, &Commit)]) -> Vec<Outcome> {
    static SCOPE: StaticRegex = StaticRegex::new(r"^(\w+)(?:\(([^)]{1,40})\))?!?:\s");
    type Group<'g> = (String, Vec<&'g (&'g EpisodeFacts, &'g Commit)>);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for commit in commits {
        let scope = SCOPE.captures(&commit.1.message);
        let scope =
            scope.and_then(|found| found.get(2).or(found.get(1)).map(|s| s.as_str().to_string()));
        let scope = scope.unwrap_or_default().to_lowercase();
        match groups.iter_mut().find(|(known, _)| *known == scope) {
            Some((_, group)) => group.push(commit),
            None => groups.push((scope, vec![commit])),
        }
    }
    // Where each has its own, none says what belongs together.
    if groups.len() > MOST_COMMITS {
        groups = vec![(String::new(), commits.to_vec())];
    }
    let mut lines = Vec::new();
    for (scope, group) in groups {
        for some in group.chunks(4) {
            let Some((part, last)) = some.last().map(|commit| (commit.0, commit.1)) else {
                continue;
            };
            let named = |commit: &Commit| {
                let subject = without_kind(&commit.message);
                let bare = subject
                    .split_once(": ")
                    .filter(|(known, _)| known.eq_ignore_ascii_case(&scope));
                whole_clause(bare.map_or(subject.as_str(), |(_, rest)| rest), 90)
            };
            let names: Vec<String> = some.iter().map(|c| named(c.1)).collect();
            let about = if scope.is_empty() { String::new() } else { format!("{scope}: ") };
            let hash = text::cut(&last.hash, 8);
            let count = text::counted(some.len(), "commit");
            let place = if hash.is_empty() { count } else { format!("{count}, last {hash}") };
            let text =
                format!("{about}{} ({place})", whole_clause(&names.join("; "), LONGEST - 40));
            lines.push(Outcome::new(text, part.last_episode));
        }
    }
    // The latest say what it came to.
    let from = lines.len().saturating_sub(5);
    lines.split_off(from)
}

/// The beginning of a line without the stump that a cut at a colon leaves: of "lock the log; ui:
/// show who holds it" not "lock the log; ui".
fn whole_clause(line: &str, most: usize) -> String {
    let cut = text::clause(line, most);
    let (before, last) = cut.rsplit_once("; ").unwrap_or(("", cut.as_str()));
    let goes_on = line.strip_prefix(cut.as_str()).is_some_and(|rest| rest.starts_with(':'));
    if !goes_on || last.split_whitespace().count() > 2 {
        return cut;
    }
    if before.is_empty() { text::one_line(line, most) } else { before.to_string() }
}

/// Whether a commit is a step on the way that nobody asks for later.
fn is_step(subject: &str) -> bool {
    let start = subject.to_lowercase();
    ["merge ", "wip", "initial commit", "fixup!", "squash!"].iter().any(|s| start.starts_with(s))
}

/// A line with as many points as fit, each as short as all of them need; a point that says nothing
/// new is left out.
fn with_points(line: String, points: &[String]) -> String {
    let mut line = line;
    let room = LONGEST.saturating_sub(line.chars().count());
    let each = (room / points.len().max(1)).max(SHORTEST_POINT);
    for point in points {
        let point = text::clause(point.trim_end_matches('.'), each);
        let known = words::telling(&line);
        let new = words::telling(&point).iter().filter(|word| !known.contains(word)).count();
        let fits = line.chars().count() + point.chars().count() + 2 <= LONGEST;
        if new >= 2 && fits && !point.ends_with('…') {
            let gap = if line.contains("; ") || line.contains(": ") { "; " } else { ": " };
            line = format!("{line}{gap}{point}");
        }
    }
    line
}

/// Review comments that were answered on a pull request that is not the session's own.
fn answered(git: &Git<'_>) -> Option<Outcome> {
    let pull = git.pulls.iter().rev().find(|pull| pull.answered && pull.number > 0)?;
    let text = format!("Review threads on PR #{} replied to", pull.number);
    Some(Outcome::new(text, pull.episode))
}

fn tagged(parts: &[&EpisodeFacts]) -> Vec<Outcome> {
    let tags = parts.iter().flat_map(|part| part.tags.iter().map(move |tag| (part, tag)));
    let outcome = |(part, tag): (&&EpisodeFacts, &String)| {
        Outcome::new(format!("Release tagged as {tag}"), part.last_episode)
    };
    tags.map(outcome).collect()
}

/// Documents that were written, where they have a heading.
fn documents(parts: &[&EpisodeFacts], head: &Head) -> Vec<Outcome> {
    let written = parts.iter().flat_map(|part| part.written.iter().map(move |one| (part, one)));
    let titled = written.filter(|(_, document)| {
        words::telling(&document.heading).len() >= 2 && !document.path.contains("/.claude/")
    });
    let outcome = |(part, document): (&&EpisodeFacts, &Document)| {
        Outcome::new(
            format!(
                "Wrote {}: {}",
                shown_path(&document.path, head.cwd.as_deref()),
                document.heading
            ),
            part.last_episode,
        )
    };
    titled.map(outcome).take(3).collect()
}

/// What each part's last message tells: its headline where files were changed, then its points, one
/// line for what belongs together.
fn points_by_part(parts: &[&EpisodeFacts], head: &Head) -> Vec<Vec<Outcome>> {
    let used = parts.iter().filter(|part| did_work(part) || part.tool_calls > 0);
    used.map(|part| {
        let worked = Some(part).filter(|part| did_work(part));
        let headline = worked.and_then(|part| {
            headline_of(part, |said| is_past(said) || (says_now(said) && names_code(said)))
        });
        headline.into_iter().chain(points_of(part, head)).collect()
    })
    .collect()
}

/// Whether a sentence says how something is from now on.
fn says_now(sentence: &str) -> bool {
    static NOW: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:now|no longer|instead|the (?:fix|change) \w+s)\b");
    NOW.is_match(sentence)
}

fn points_of(part: &EpisodeFacts, head: &Head) -> Vec<Outcome> {
    let worked = did_work(part);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for Point { heading, text } in lists::points(&part.last_reply) {
        let heading = heading
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')', ' ']);
        let heading = replies::without_cheer(heading).to_string();
        let tells = match worked {
            true => is_outcome(&heading, &text),
            // Where no file was changed, only what the agent says that it did.
            false => is_past(&text) && is_outcome(&heading, &text),
        };
        if !tells {
            continue;
        }
        let only = only_file(part, head).filter(|_| !names_file(&text) && !names_file(&heading));
        let headed = says_what(&heading);
        let most = if headed { usize::MAX } else { POINTS_ON_A_LINE };
        let about = if headed { Some(heading) } else { only };
        let Some(about) = about else {
            groups.push((String::new(), vec![text]));
            continue;
        };
        let known = groups.iter_mut().rev().find(|(known, _)| *known == about);
        match known.filter(|(_, items)| items.len() < most) {
            Some((_, items)) => items.push(text),
            None => groups.push((about, vec![text])),
        }
    }
    let line = |(about, items): (String, Vec<String>)| {
        let items: Vec<&str> = items.iter().map(|item| item.trim_end_matches(['.', ';'])).collect();
        let text = match about.is_empty() {
            true => items.join("; "),
            false => under(&about, &items),
        };
        Outcome::new(text, part.last_episode)
    };
    groups.into_iter().map(line).collect()
}

/// What stands under one heading, in one line: as many points as fit, where they are many each cut
/// where a clause ends.
fn under(about: &str, points: &[&str]) -> String {
    let mut line = format!("{about}: {}", points[0]);
    for point in &points[1..] {
        let room = LONGEST.saturating_sub(line.chars().count() + 2);
        let whole = point.chars().count() <= room;
        let point = if whole { point.to_string() } else { text::clause(point, SHORTEST_POINT) };
        if point.chars().count() <= room && !point.ends_with('…') {
            line = format!("{line}; {point}");
        }
    }
    line
}

/// The one file that a part changed, tests and change logs aside.
fn only_file(part: &EpisodeFacts, head: &Head) -> Option<String> {
    let aside = |path: &str| {
        let name = text::file_name(path).to_lowercase();
        name.contains("test") || name.starts_with("changelog") || path.contains("/plans/")
    };
    let mut files = part.edited.iter().filter(|file| !aside(&file.path));
    match (files.next(), files.next()) {
        (Some(file), None) => Some(shown_path(&file.path, head.cwd.as_deref())),
        _ => None,
    }
}

/// Takes lines from all parts in turn, the latest part first, so that no part fills the page; they
/// stand in the order of the session.
fn spread(mut parts: Vec<Vec<Outcome>>, most: usize) -> Vec<Outcome> {
    let mut taken = vec![0; parts.len()];
    let mut left = most;
    let mut round = 0;
    while left > 0 && parts.iter().any(|lines| lines.len() > round) {
        for at in (0..parts.len()).rev() {
            if left > 0 && parts[at].len() > round {
                taken[at] += 1;
                left -= 1;
            }
        }
        round += 1;
    }
    parts.iter_mut().zip(taken).flat_map(|(lines, count)| lines.drain(..count)).collect()
}

/// What the agent answered to questions, in sessions that were about them.
fn answers(parts: &[&EpisodeFacts]) -> Vec<Outcome> {
    let asked = |part: &&&EpisodeFacts| {
        !did_work(part)
            && prompts::is_question(&part.prompt)
            && part.last_reply.split_whitespace().count() > 25
    };
    let answers = parts.iter().filter(asked).filter_map(|part| {
        let said = replies::headline(&part.last_reply)?;
        let tells = names_code(&said)
            || said.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit());
        (tells && said.chars().count() <= LONGEST).then(|| Outcome::new(said, part.last_episode))
    });
    answers.take(2).collect()
}

/// The files that were changed, where nothing else is said of it.
fn changed(parts: &[&EpisodeFacts], files: &[String]) -> Option<Outcome> {
    let last = parts.iter().rev().find(|part| !part.edited.is_empty() && !files.is_empty())?;
    let (shown, more) = files.split_at(files.len().min(4));
    let text = format!("changed {}", text::and_more(&shown.join(", "), more.len()));
    Some(Outcome::new(text, last.last_episode))
}

/// The last test run, and how many failed before it.
fn tests(parts: &[&EpisodeFacts]) -> Option<Outcome> {
    let mut runs =
        parts.iter().flat_map(|part| part.tests.iter().map(move |run| (part, run))).rev();
    let (part, last) = runs.next()?;
    let failed = runs.filter(|(_, run)| !run.passed).count();
    let mut line = String::from(if last.passed { "tests passed" } else { "tests failed" });
    if last.passed && failed > 0 {
        line.push_str(&format!(" after {}", text::counted(failed, "failing run")));
    }
    if !last.summary.is_empty() {
        line.push_str(&format!(": {}", last.summary));
    }
    Some(Outcome::new(line, part.last_episode))
}

/// How the agent closed, where nothing else came of it.
fn closing(facts: &Facts, parts: &[&EpisodeFacts]) -> Option<Outcome> {
    let part = parts.iter().rev().find(|part| !part.last_reply.is_empty())?;
    let aside = |said: &str| says_commit(said) || replies::announces(said);
    let said = replies::headline(&part.last_reply)
        .or_else(|| replies::closing_sentence_except(&part.last_reply, aside))?;
    let weak = facts.tool_calls > 0 && words::sentence_weight(&said) < 1.0;
    (!weak).then(|| Outcome::new(said, part.last_episode))
}

/// Whether a point tells what was done: it names code or a change, and stands under no heading that
/// is about something else.
fn is_outcome(heading: &str, text: &str) -> bool {
    static ASIDE: StaticRegex = StaticRegex::new(
        r"(?i)verif|\bchecks?\b|test(?:s|ing)?\b.*(?:run|pass|result)|^tests?$|test plan|\bnext\b|\boptions?\b|optional|remaining|\bwant\b|recommend|how (?:to|it)|usage|^why\b|^notes?\b|pre-?existing|\btests?\b|changelog|\bresults?\b|\btry\b|question|deferred|not (?:done|fixed|changed)|\bstill\b|untracked|\bplan\b|suggest|alternative|trade-?off|pros|cons|example|limitation|\bbefore\b|current(?:ly)?\b|problem|issue|would|could|should|\bif\b|\bwe['’]d\b|need to|to do\b|todo|risks?\b|review|^step \d|tension",
    );
    static COUNTED: StaticRegex = StaticRegex::new(
        r"(?i)^\W*\d+ (?:\w+ )?(?:tests?|files?|lines?)\b|^(?:critical|high|medium|low|p[0-4])\b\W|^(?:https?:|run\b|see\b|\$ |would\b|should\b|could\b|consider\b|you\b|if\b|when\b|unless\b|once\b|try\b|please\b|step \d|updated (?:to|with)\b|verified\b|(?:branch|worktree|base|head|path|status|columns|scope)(?:/\w+)?: |(?:open (?:challenges?|questions?)|core tension|the (?:problem|issue|catch|reason)|key insight)\b[^:]{0,20}:|why\b|it\b|(?:that|this|they|these) (?:is|was|are|were|also|now|fixed|means|makes|breaks|keeps|gives|lets|will|would|can)\b|[^:`]{2,40}: (?:run|try|see|open|visit|go to)\b|\()|(?i) - verified\b|\b(?:(?:is|are) fine\b|(?:couldn[\x27’]t|could not|unable to) (?:run|test|verify)|not in the diff)",
    );
    // "Added six tests" is what was done, "Tests" is not.
    let tells = heading
        .split_whitespace()
        .next()
        .is_some_and(|first| is_past(first) && !first.eq_ignore_ascii_case("verified"));
    (tells || !ASIDE.is_match(heading))
        && !COUNTED.is_match(text)
        && !says_commit(text)
        && !replies::says_it_passed(text)
        && !text.ends_with(['?', ':'])
        && text.chars().count() <= 420
        // "Updated `day.rs`" says no more than the list of files.
        && (text.split_whitespace().count() > 2 || names_code(heading))
        && words::telling(text).len() >= 3
        && !is_advice(text)
        && (is_change(text) || (is_change(heading) && names_code(text)))
}

/// Whether a point says what somebody should do, rather than what was done.
fn is_advice(text: &str) -> bool {
    // What was so already was not done either.
    static ADVICE: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:should|would|could|must|can be|needs? to|may want|recommend|already (?:\w+s|use|fixed|done|there|handled|covered|in place))\b",
    );
    ADVICE.is_match(text)
}

/// Whether a heading says by itself what its points are about: a file, or a change.
fn says_what(heading: &str) -> bool {
    static GENERAL: StaticRegex = StaticRegex::new(
        r"(?i)^(?:summary|changes?|what|key changes|done|completed|all|here|now|so\b|overview|files? (?:changed|modified))\b",
    );
    !GENERAL.is_match(heading)
        && heading.split_whitespace().count() <= 22
        && (names_code(heading) || (is_change(heading) && words::telling(heading).len() >= 2))
}

/// Whether two lines name the same commit.
fn shares_hash(one: &str, other: &str) -> bool {
    static HASH: StaticRegex = StaticRegex::new(r"\b[0-9a-f]{7,12}\b");
    let hashes = |text: &str| -> Vec<String> {
        let found = HASH.find_iter(text).map(|hash| hash.as_str()[..7].to_string());
        found.filter(|hash| hash.bytes().any(|b| b.is_ascii_digit())).collect()
    };
    let known = hashes(one);
    !known.is_empty() && hashes(other).iter().any(|hash| known.contains(hash))
}

fn names_file(text: &str) -> bool {
    static FILE: StaticRegex = StaticRegex::new(r"[\w-]+\.[a-z]{1,5}\b|\w+/\w+");
    FILE.is_match(text)
}

/// A line as it stands on a page: whole clauses, no marks of lists and tables.
fn tidy(line: &str) -> String {
    let line = markdown::strip_marks(line);
    let line = markdown::tight_code(&line).replace(" -> ", " → ").replace(" | ", " / ");
    // How many lines it took says nothing of what they do.
    static COUNTED: StaticRegex = StaticRegex::new(r"(?i)\s*[—–(,-]+\s*\d+ files? changed.*$");
    // What joins it to a sentence that is not here, and its number in a list.
    static JOINS: StaticRegex = StaticRegex::new(
        r"^(?:\d+[.)]|[Aa]nd|[Bb]ut[:,]?|Also,?|So,?|(?:The )?(?:[Ss]hort answer|[Pp]roblem|[Ii]ssue|[Kk]ey insight|[Cc]ore tension|[Rr]esult|[Ii]mpact):)\s+",
    );
    let line = COUNTED.replace(&line, "").replace(" ✅ ", "; ");
    let line = text::clause(&JOINS.replace(&line, ""), LONGEST);
    let line = ["I have ", "I've ", "I’ve ", "I "]
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .map(|rest| rest.strip_prefix("successfully ").unwrap_or(rest))
        .filter(|rest| rest.split_whitespace().next().is_some_and(is_past))
        .unwrap_or(&line);
    text::capitalized(line.trim_end_matches(['.', ':', ';', ',', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::commands::{PullRequest, PullStep};
    use crate::model::session::FileChange;

    fn worked(reply: &str) -> Facts {
        let mut part = EpisodeFacts::of_text(1, "lock the day log", "");
        part.last_reply = reply.into();
        part.edited.push(FileChange::of("/x/src/day.rs".into()));
        part.edited.push(FileChange::of("/x/src/lock.rs".into()));
        Facts { parts: vec![part], tool_calls: 3, prompts: 1, ..Facts::default() }
    }

    fn of(facts: &Facts) -> Vec<String> {
        let head = Head { cwd: Some("/x".into()), ..Head::default() };
        key_outcomes(facts, &head, &Git::of(facts), &["src/day.rs".into()], "Lock the day log")
    }

    #[test]
    fn no_line_of_commits_ends_in_a_stump() {
        let line = "lock the log of the day; ui: show who holds the lock of the log";
        assert_eq!(whole_clause(line, 30), "lock the log of the day");
        assert_eq!(whole_clause("lock the log; count the tides", 20), "lock the log");
        assert_eq!(whole_clause("lock of the log: the one of the day", 24), "lock of the log");
        assert_eq!(whole_clause("slicers: all of them", 13), "slicers: all…");
        let pull = |title: &str| {
            let (title, step) = (title.to_string(), PullStep::Merged);
            let (points, looks, answered) = (Vec::new(), 0, false);
            of_pull(&Pull { number: 12, title, points, step, looks, episode: 1, answered })
        };
        assert!(pull("fix(14): lock the log").ends_with(": Lock the log"), "{}", pull("fix: a"));
    }

    #[test]
    fn where_something_was_changed_an_explanation_is_no_outcome() {
        let told = "Done. The tide cache now waits for its lock.\n\n### `src/day.rs`\n- Added a wait of five seconds\n\n### `src/lock.rs`\n- Removed the second lock of the header\n\n### Details\n- The `flock` call keeps its order of locks\n- We use `day.rs` for the header";
        let lines = of(&worked(told));
        assert_eq!(lines.len(), 3, "{lines:?}");
        let told = "Done.\n\n### Details\n- The `flock` call keeps its order of locks";
        assert_eq!(of(&worked(told)).len(), 1, "where nothing else is said");
    }

    #[test]
    fn what_git_shows_of_the_title_comes_first() {
        let mut facts = worked("Renamed the folder of `tide.rs` to `water`.");
        facts.parts[0].commits.push(Commit {
            hash: "1a2b3c4d5e".into(),
            message: "feat: lock for the day log".into(),
            ..Commit::default()
        });
        let first = "Lock for the day log (1a2b3c4d) (EP_001)";
        assert_eq!(of(&facts)[0], first);
        facts.parts[0].commits.clear();
        let said =
            "Renamed the folder of `tide.rs` to `water`.\n\n- Added a lock for the log to `a.rs`";
        facts.parts[0].last_reply = said.into();
        assert!(of(&facts)[0].starts_with("Renamed"), "{:?}", of(&facts));
    }

    #[test]
    fn advice_and_conditions_are_no_outcomes() {
        for said in [
            "If the lock is held again, we can copy the header by hand.",
            "Once the tide is known, the header is written again in `day.rs`.",
            "Try running `tide append` again, it is fixed now.",
            "Please verify the name of the lock file in `day.rs`.",
            "You may want to run `tide lock` to create the new header.",
            "It specifically asks for the lock of the header.",
            "Step 2: the locks are formatted in another way now.",
            "Because the header and its lock have other owners here.",
            "I couldn't run the tests of the lock, since cargo is missing.",
            "This breaks the documented order of the header and its lock.",
            "Ready when you are: run `tide lock` to begin with the header.",
            "No, the lock is not written to the header of the file.",
        ] {
            assert_eq!(replies::headline(said), None, "{said}");
        }
        assert!(!is_outcome("If it is held again", "Added a wait to the lock of `day.rs`"));
        assert!(!is_outcome("For that we'd need to", "Remove the lock of the day log"));
        let said = "Since the lock was merged only today, I opened a fix of its header.";
        assert_eq!(replies::headline(said).as_deref(), Some(said));
        assert_eq!(tidy("I've successfully moved the lock of `a`"), "Moved the lock of `a`");
        assert_eq!(tidy("Takes `Lock | None` or a | b"), "Takes `Lock|None` or a / b");
        let joined = ["1. Moved the lock", "And moved the lock", "But: moved the lock"];
        for joined in joined.into_iter().chain(["The problem: moved the lock"]) {
            assert_eq!(tidy(joined), "Moved the lock");
        }
        assert_eq!(tidy("Moved the lock ✅ Kept the header"), "Moved the lock; Kept the header");
    }

    #[test]
    fn the_headline_comes_first_and_points_under_their_file() {
        let facts = worked(
            "Done. The tide cache now waits for its lock before a header is written.\n\n### `src/day.rs`\n- Added a wait of five seconds\n- Removed the second write of the header\n\n### Verification\n- Added nothing here, all tests pass\n\n### Next steps\n- Added later: Windows",
        );
        assert_eq!(
            of(&facts),
            [
                "The tide cache now waits for its lock before a header is written (EP_001)",
                "`src/day.rs`: Added a wait of five seconds; Removed the second write of the header (EP_001)",
            ]
        );
    }

    #[test]
    fn explanations_and_checks_are_no_outcomes() {
        for (heading, text) in [
            ("", "The header should be removed from the lock file"),
            ("Tests", "Added three cases for two writers"),
            ("Next steps", "Removed locks should be looked at"),
            ("", "12 tests were added to the suite"),
            ("", "The header already includes the name of the lock that is removed"),
            ("", "Committed as 1a2b3c4 with both files"),
            ("", "Should the lock be removed from the header?"),
            ("", "Updated `src/store/day_log/header.rs`"),
            ("", "If the lock was removed by another process, the header is created anew"),
            ("", "Step 3: resolved conflicts in the header of the lock file"),
            ("", "Updated with the entry of the last version"),
            ("", "High: removed header is never written back to the lock file"),
            ("", "It removed the lock of `day.rs`, as asked"),
            ("", "That fixed the header, and the lock of `day.rs` is gone"),
            ("", "Why locks keep the header of `day.rs` from being removed"),
            ("", "Fastest way: run `tide lock` and use the header it returns"),
            ("", "Base/head: changed `day.rs`, merged into `main`"),
            ("", "(The lock of `day.rs` is only used by the tests)"),
            ("", "Verified that `append` returns the header"),
            ("", "The removed locks in `day.rs` are fine, since nobody uses them"),
            ("", "I couldn't run the tests, because the lock of `day.rs` was removed"),
        ] {
            assert!(!is_outcome(heading, text), "{text}");
        }
        assert!(is_outcome("Added three tests covering", "`append` returns early"));
        assert!(!is_outcome("Verified", "`append` returns early"));
        for text in [
            "Added a lock file beside the day log",
            "The header is now written under the lock",
            "`append` no longer writes the header twice",
        ] {
            assert!(is_outcome("", text), "{text}");
        }
    }

    #[test]
    fn what_stands_under_one_heading_is_one_line() {
        let facts = worked(
            "Done. Added four tests covering:\n\n- **Empty** - returns nothing for a day without lines\n- **Held** - detects a lock of `append`\n- **Stale** - removes the lock of a process that is gone\n- **Moved** - keeps the lock of a day that was renamed",
        );
        assert_eq!(
            of(&facts),
            [
                "Added four tests covering: Empty - returns nothing for a day without lines; Held - detects a lock of `append`; Stale - removes the lock of a process that is gone; Moved - keeps the lock of a day that was renamed (EP_001)"
            ]
        );
    }

    #[test]
    fn every_part_that_changed_files_tells_its_headline() {
        let mut facts = worked("The tide cache now waits for its lock in `day.rs`.");
        let mut later = EpisodeFacts::of_text(2, "and the tests", "");
        later.last_reply = "Added a test of two writers that append at once.".into();
        later.edited.push(FileChange::of("/x/tests/day.rs".into()));
        facts.parts.push(later);
        let mut asked = EpisodeFacts::of_text(3, "why is that so slow?", "");
        asked.last_reply = "The lock is now held for the whole of `append`.".into();
        asked.tool_calls = 1;
        facts.parts.push(asked);
        assert_eq!(
            of(&facts)[..2],
            [
                "Added a test of two writers that append at once (EP_002)",
                "The tide cache now waits for its lock in `day.rs` (EP_001)",
            ]
        );
    }

    #[test]
    fn git_is_told_in_one_line_each_and_wins_over_words() {
        let mut facts = worked("The lock is taken first now in the day log.");
        let part = &mut facts.parts[0];
        part.commits.push(Commit {
            hash: "1a2b3c4d5e".into(),
            message: "fix: take the lock first in the day log".into(),
            branch: "fix/lock".into(),
            points: vec!["two writers both saw no file".into()],
            undone: false,
        });
        part.commits.push(Commit { message: "oops".into(), undone: true, ..Commit::default() });
        part.pulls.push(PullRequest {
            number: 12,
            title: "Lock before the header".into(),
            points: vec!["says who holds it".into()],
            step: PullStep::Merged,
        });
        let lines = of(&facts);
        assert!(
            lines.contains(
                &"PR #12 merged: Lock before the header; says who holds it (EP_001)".into()
            ),
            "{lines:?}"
        );
        assert!(
            lines.contains(
                &"Take the lock first in the day log (1a2b3c4d on fix/lock): two writers both saw no file (EP_001)".into()
            ),
            "{lines:?}"
        );
        assert!(!lines.iter().any(|line| line.contains("oops")), "{lines:?}");
    }

    #[test]
    fn a_line_says_what_and_not_how_many_lines_it_took() {
        assert_eq!(
            tidy("Take the lock first in the day log — 1 file changed, 14 insertions."),
            "Take the lock first in the day log"
        );
        for said in [
            "Pre-commit hooks passed (tests, lint, typecheck).",
            "The two files of the lock are committed and the other one is not.",
            "All pre-push checks passed (build, typecheck, lint, test, validate examples).",
            "The change is scoped to `day.rs`, and the other modified files were left untouched.",
        ] {
            assert_eq!(replies::headline(said), None, "{said}");
        }
    }

    #[test]
    fn where_nothing_is_said_the_files_are() {
        let facts = worked("Done.");
        assert_eq!(of(&facts), ["Changed src/day.rs (EP_001)"]);
    }

    #[test]
    fn how_an_agent_asks_for_more_is_no_outcome() {
        let mut facts = worked("");
        facts.parts[0].edited.clear();
        facts.parts[0].last_reply = "Please verify the name of the lock file.".into();
        assert!(of(&facts).iter().all(|line| !line.contains("verify")), "{:?}", of(&facts));
    }

    #[test]
    fn no_part_fills_the_page() {
        let line = |episode, n: u32| Outcome::new(format!("line {n}"), episode);
        let parts = vec![
            vec![line(1, 1), line(1, 2), line(1, 3)],
            vec![line(2, 4)],
            vec![line(3, 5), line(3, 6)],
        ];
        let episodes: Vec<u32> = spread(parts, 4).iter().map(|one| one.episode).collect();
        assert_eq!(episodes, [1, 2, 3, 3]);
    }
}
