//! The title of a session: what its work is called, by whoever named it best.
//!
//! The first prompt is often "continue", a paste or half of a thought, so other names come first:
//! the agent's own for the session, a plan's, a pull request's, a commit's, a document's. Later
//! prompts may change the subject; the title is for the whole.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::HashMap;

use super::git::{Git, Pull};
use crate::base::static_regex::StaticRegex;
use crate::base::{common_words, text};
use crate::distill::commands::{Commit, PullStep};
use crate::distill::errors::Met;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::{prompts, replies, words};
use crate::model::session::Head;

/// How long a title may be.
const LONGEST: usize = 100;
/// Sessions with more prompts have several subjects, which no single plan, commit or prompt names.
const MANY_PROMPTS: usize = 12;
/// In so many prompts a long session says what it is for.
const BEGINNING: usize = 3;
/// What a title is made of has at least so many words that say something.
const FEWEST_TELLING: usize = 2;

/// The title of a session.
pub fn title(facts: &Facts, head: &Head, git: &Git<'_>, project: Option<&str>) -> String {
    if let Some(name) = of_person(head) {
        return name;
    }
    let parts: Vec<&EpisodeFacts> = facts.own_parts().collect();
    // To count where words stand takes long, and most titles need no count.
    let spoken = LazyCell::new(|| Spoken::of(&parts));
    let title = given(head, &parts)
        .or_else(|| of_plan(&parts))
        .or_else(|| of_pull_requests(git))
        .or_else(|| of_seen_pull_request(git, &spoken))
        .or_else(|| of_commits(git, &spoken, &parts))
        .or_else(|| of_document(&parts, &spoken))
        .or_else(|| of_subjects(&spoken, git, project))
        .or_else(|| of_later_work(&parts, &spoken))
        .or_else(|| of_prompt(&spoken, project, &parts))
        .or_else(|| git.commits.first().map(|(_, commit)| of_subject(&commit.message)))
        .or_else(|| facts.first_command.as_deref().map(of_command))
        .or_else(|| plain_prompt(facts))
        .unwrap_or_default();
    tidy(&title, project)
}

/// What the person said, by prompt.
struct Spoken {
    /// The wishes of each prompt that has any.
    wishes: Vec<Vec<String>>,
    /// Pull requests of which only the address was given: what it is about, not what is wanted.
    pointed: Vec<String>,
    prompts: usize,
    /// In how many places of the session a word stands.
    places: HashMap<String, u32>,
}

impl Spoken {
    fn of(parts: &[&EpisodeFacts]) -> Spoken {
        let asked = parts.iter().filter(|part| !part.prompt.is_empty());
        let wishes = asked.clone().map(|part| prompts::wishes(&part.prompt));
        let wishes: Vec<Vec<String>> =
            wishes.map(|wishes| wishes.into_iter().map(without_lead_in).collect()).collect();
        let mut places: HashMap<String, u32> = HashMap::new();
        let mut place = |text: &str| {
            for word in words::telling(text) {
                *places.entry(word).or_default() += 1;
            }
        };
        wishes.iter().for_each(|wishes| place(&wishes.join(" ")));
        for part in parts {
            place(text::cut(&part.last_reply, 700));
            part.commits.iter().for_each(|commit| place(&commit.message));
            part.pulls.iter().for_each(|pull| place(&pull.title));
            part.edited.iter().for_each(|file| place(text::file_name(&file.path)));
        }
        let pointed = asked.clone().flat_map(|part| pointed_at(&part.prompt)).collect();
        Spoken { prompts: asked.count(), wishes, pointed, places }
    }

    /// How many places of the session carry the words of a text, for each of its words.
    fn salience(&self, text: &str) -> f32 {
        let words = words::telling(text);
        let sum: u32 =
            words.iter().map(|word| self.places.get(word).map_or(0, |n| *n.min(&6))).sum();
        sum as f32 / (words.len() + 3) as f32
    }

    /// The first wish that says much of the work by itself.
    fn whole_wish(&self) -> Option<String> {
        // What is done with git comes before any work or after it.
        static GIT: StaticRegex = StaticRegex::new(
            r"(?i)^(?:switch|check ?out|delete|commit|push|pull|merge|rebase|stash|clean|open|spawn)\b",
        );
        let says = |wish: &&String| {
            words::telling(wish).len() >= 5
                && !prompts::opens_as_chat(wish)
                && !points_below(wish)
                && !GIT.is_match(wish)
        };
        let begins = self.wishes.iter().take(BEGINNING).flatten();
        text::whole_clause(begins.into_iter().find(says)?, 92)
    }

    /// The first wish that says by itself what is wanted.
    fn first(&self) -> Option<&str> {
        let all = || self.wishes.iter().flatten();
        let says = |wish: &&String, fewest: usize| {
            words::telling(wish).len() >= fewest && !points_below(wish) && !needs_context(wish)
        };
        // A prompt's first sentence may be short.
        let first = self.wishes.iter().find_map(|wishes| {
            let opening = wishes.first().filter(|wish| says(wish, FEWEST_TELLING));
            opening.or_else(|| wishes.iter().find(|wish| says(wish, FEWEST_TELLING + 1)))
        });
        first.or_else(|| all().find(|wish| says(wish, 1))).map(String::as_str)
    }
}

/// A wish without the clause that only leads to what stands below it: "Word the section better, can
/// you write something like:" is "Word the section better".
fn without_lead_in(wish: String) -> String {
    static ASKS: StaticRegex =
        StaticRegex::new(r"(?i)^(?:(?:can|could|would) you|please|maybe|something|such as)\b");
    let lead = wish.strip_suffix(':').and_then(|said| said.rsplit_once(", "));
    match lead.filter(|(said, asks)| ASKS.is_match(asks) && words::telling(said).len() >= 4) {
        Some((said, _)) => said.to_string(),
        None => wish,
    }
}

/// Whether a wish has few words and says "this" or "it" for what matters.
fn needs_context(wish: &str) -> bool {
    static DEICTIC: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:this|that|it|these|those|them)\b(?: from\b|[.,!?]|$)");
    words::telling(wish).len() < 4 && DEICTIC.is_match(wish)
}

/// Whether a wish only points at what stands below it: "I got this feedback:".
fn points_below(wish: &str) -> bool {
    static POINTS: StaticRegex = StaticRegex::new(
        r"(?i)(?:\bthis (?:feedback|error|comment|message|review|issue)|\bfeedback|\bthe following|\bsee below|\bbelow)\W{0,3}$|:$",
    );
    POINTS.is_match(wish.trim())
}

/// Whether a wish speaks of an error without saying which.
fn names_no_error(wish: &str) -> bool {
    static ERROR: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:this|an|the following) (?:error|exception|failure)\b");
    ERROR.is_match(wish)
}

/// The name that the person gave the session, as it is: they look for it by that.
fn of_person(head: &Head) -> Option<String> {
    let name = head.title.as_deref().filter(|_| head.titled_by_person)?;
    let plain = name.replace("**", "").replace(" | ", " / ");
    let name = text::one_line(&plain, LONGEST);
    Some(name.trim().to_string()).filter(|name| !name.is_empty())
}

/// The title that the agent or the person gave it, unless it is only a prompt's beginning.
fn given(head: &Head, parts: &[&EpisodeFacts]) -> Option<String> {
    static EMPTY: StaticRegex = StaticRegex::new(
        r"(?i)^(?:implement the (?:following )?plan|new session|untitled|/|session \d|chat \d|conversation)|subagent\)|^\d{4}-\d\d-\d\d|^[0-9a-f-]{20,}$",
    );
    let title = head.title.as_deref()?.trim();
    let same = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        letters.take(24).collect()
    };
    let repeats = |part: &&EpisodeFacts| {
        let said: String = text::cut(&part.prompt, 2000)
            .chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect();
        said.contains(&same(title))
    };
    let good = words::telling(title).len() >= FEWEST_TELLING
        && !EMPTY.is_match(title)
        && !prompts::is_template(title)
        && !parts.iter().any(repeats);
    good.then(|| title.to_string())
}

/// The name of the plan that the person handed over, or that the agent made.
fn of_plan(parts: &[&EpisodeFacts]) -> Option<String> {
    if parts.len() > MANY_PROMPTS {
        return None;
    }
    let handed = parts.iter().find_map(|part| prompts::plan(&part.prompt));
    let made = || parts.iter().rev().find_map(|part| part.plan.clone());
    handed.or_else(made).map(|plan| plan.title)
}

/// The title of the session's own pull request; of several, the latest two.
fn of_pull_requests(git: &Git<'_>) -> Option<String> {
    let own: Vec<&Pull> =
        git.pulls.iter().filter(|pull| pull.is_own() && !pull.title.is_empty()).collect();
    match own.as_slice() {
        [] => None,
        [one] => Some(format!("{}{}", of_subject(&one.title), one.reference())),
        [.., one, two] => {
            let named = |pull: &Pull| {
                format!("{}{}", text::phrase(&without_kind(&pull.title), 52), pull.reference())
            };
            Some(format!("{}; {}", named(one), named(two)))
        }
    }
}

/// The pull requests that a prompt names by nothing but their address.
fn pointed_at(prompt: &str) -> Vec<String> {
    static ADDRESS: StaticRegex =
        StaticRegex::new(r"(?i)(\bprs?|\bpull requests?)?:?\s*<?https?://\S+?/pull/(\d+)");
    let found = ADDRESS.captures_iter(prompt).filter(|found| found.get(1).is_none());
    found.map(|found| format!("PR #{}", &found[2])).collect()
}

/// The pull request whose comments the person wants answered.
fn of_seen_pull_request(git: &Git<'_>, spoken: &Spoken) -> Option<String> {
    static REVIEW: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:pr|prs|pull request|coderabbit|copilot|bugbot|review(?:er|ers)?|feedback|comments?)\b",
    );
    static REVIEWER: StaticRegex =
        StaticRegex::new(r"(?i)\b(coderabbit|copilot|bugbot|greptile)\b");
    let asked = spoken.wishes.iter().flatten().take(4).cloned().collect::<Vec<_>>().join(" ");
    let asked = spoken.pointed.iter().fold(asked, |asked, pointed| asked.replace(pointed, ""));
    if !REVIEW.is_match(&asked) {
        return None;
    }
    let seen = git.pulls.iter().filter(|pull| pull.number > 0 && !pull.title.is_empty());
    let pull = seen.max_by_key(|pull| (pull.step >= PullStep::Answered, pull.looks))?;
    let reviewer = REVIEWER.find(&asked).map_or("review", |name| {
        match name.as_str().to_lowercase().as_str() {
            "coderabbit" => "CodeRabbit",
            "copilot" => "Copilot",
            "bugbot" => "Bugbot",
            _ => "Greptile",
        }
    });
    Some(format!(
        "Address {reviewer} comments on PR #{}: {}",
        pull.number,
        without_kind(&pull.title)
    ))
}

/// The subject of the commit that says most of the session, and of a second one where there is
/// room.
fn of_commits(git: &Git<'_>, spoken: &Spoken, parts: &[&EpisodeFacts]) -> Option<String> {
    if parts.len() > MANY_PROMPTS {
        return None;
    }
    let mut subjects: Vec<&Commit> = Vec::new();
    for (_, commit) in &git.commits {
        let telling = words::telling(&without_kind(&commit.message)).len() >= FEWEST_TELLING;
        if telling
            && !is_routine(&commit.message)
            && !subjects.iter().any(|c| c.message == commit.message)
        {
            subjects.push(commit);
        }
    }
    let first = best_commit(&subjects, spoken)?;
    let rest: Vec<&Commit> =
        subjects.iter().copied().filter(|c| c.message != first.message).collect();
    let first = of_subject(&first.message);
    Some(match best_commit(&rest, spoken).filter(|_| first.chars().count() < 50) {
        Some(second) => format!("{first}; {}", without_kind(&second.message)),
        None => first,
    })
}

/// The commit whose subject has the words that stand in most places of the session.
fn best_commit<'c>(commits: &[&'c Commit], spoken: &Spoken) -> Option<&'c Commit> {
    let weighed = commits.iter().map(|commit| (spoken.salience(&commit.message), *commit));
    weighed.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, commit)| commit)
}

/// The document that was written, where hardly anything else was.
fn of_document(parts: &[&EpisodeFacts], spoken: &Spoken) -> Option<String> {
    static DATED: StaticRegex = StaticRegex::new(r"^\d{4}-\d\d-\d\d-(?:\d+-)?");
    const COMMON: &[&str] = &[
        "CHANGELOG", "README", "CLAUDE", "AGENTS", "MEMORY", "STATE", "ROADMAP", "PROJECT", "TODO",
        "SKILL", "GEMINI", "index",
    ];
    let edited = parts.iter().flat_map(|part| &part.edited);
    let others = edited.filter(|file| !file.path.ends_with(".md")).count();
    let mut documents = parts.iter().flat_map(|part| &part.written).filter(|document| {
        let name = text::file_name(&document.path);
        !COMMON.iter().any(|common| name.starts_with(common))
            && !document.path.contains("/.claude/")
            // What another agent is to do is a prompt, however it is handed over.
            && !document.path.contains("prompts/")
    });
    let document = documents.next().filter(|_| others <= 1)?;
    let name = text::file_name(&document.path);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let name = DATED.replace(name, "").replace(['-', '_'], " ");
    let heading = prompts::plan(&format!("# {}", document.heading)).map(|plan| plan.title);
    let called = heading.clone().unwrap_or(name);
    if words::telling(&called).len() < FEWEST_TELLING {
        return None;
    }
    let what = ["todo", "plan", "design", "spec", "adr"]
        .iter()
        .find(|kind| document.path.to_lowercase().contains(*kind))
        .map_or(String::new(), |kind| format!(" {kind}:"));
    let is_new = parts.iter().any(|part| part.begun.contains(&document.path));
    let verb = if is_new || !document.heading.is_empty() { "Write" } else { "Rework" };
    let title = format!("{verb}{what} {called}");
    let wish = spoken.first().filter(|wish| wish.chars().count() + title.chars().count() < LONGEST);
    Some(match wish.filter(|wish| document.heading.is_empty() && !wish.contains(['(', ')'])) {
        Some(wish) => format!("{title} ({})", wish.trim_end_matches(['.', '?', '!'])),
        None => title,
    })
}

/// What a long session keeps coming back to, and the commit that says most of it.
fn of_subjects(spoken: &Spoken, git: &Git<'_>, project: Option<&str>) -> Option<String> {
    if spoken.prompts <= MANY_PROMPTS {
        return None;
    }
    let subjects = recurring(spoken);
    if subjects.len() < 2 {
        return None;
    }
    let listed =
        match project.filter(|project| !subjects.iter().any(|s| s.eq_ignore_ascii_case(project))) {
            Some(project) => format!("{project}: {}", subjects.join(", ")),
            None => subjects.join(", "),
        };
    let release = git.commits.iter().rev().find(|(_, commit)| is_release(&commit.message));
    let salient = || {
        let commits = git.commits.iter().filter(|(_, commit)| !is_routine(&commit.message));
        commits
            .max_by(|a, b| spoken.salience(&a.1.message).total_cmp(&spoken.salience(&b.1.message)))
    };
    Some(match release.or_else(salient) {
        Some((_, commit)) => {
            format!("{listed}; {}", text::phrase(&without_kind(&commit.message), 50))
        }
        // Words alone name no work; a wish that says one does, if it is not the whole.
        None => spoken.whole_wish().unwrap_or(listed),
    })
}

/// Words and pairs of words that stand in several prompts, the most frequent first; a pair says
/// more than its words.
fn recurring(spoken: &Spoken) -> Vec<String> {
    let mut counts: HashMap<Vec<String>, (usize, String)> = HashMap::new();
    for wishes in &spoken.wishes {
        let mut seen: Vec<Vec<String>> = Vec::new();
        for wish in wishes.iter().filter(|wish| wish.split_whitespace().count() <= 40) {
            let mut before: Option<(String, String)> = None;
            for word in wish.split_whitespace() {
                let shown = word.trim_matches(|c: char| !c.is_alphanumeric());
                let is_word = shown.len() <= 24
                    && shown.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
                    && !shown.ends_with("Error");
                let stem = words::telling(shown).into_iter().next();
                let everyday = common_words::place(&shown.to_lowercase())
                    .is_some_and(|place| place < common_words::EVERYDAY);
                let stem = stem.filter(|_| is_word && !everyday && !is_chatter(shown));
                let Some(stem) = stem else {
                    before = None;
                    continue;
                };
                let pair = before.as_ref().map(|(first, text)| {
                    (vec![first.clone(), stem.clone()], format!("{text} {shown}"))
                });
                let single = (vec![stem.clone()], shown.to_string());
                for (key, text) in [Some(single), pair].into_iter().flatten() {
                    if !seen.contains(&key) {
                        counts.entry(key.clone()).or_insert((0, text)).0 += 1;
                        seen.push(key);
                    }
                }
                before = Some((stem, shown.to_string()));
            }
        }
    }
    let mut ranked: Vec<(Vec<String>, (usize, String))> =
        counts.into_iter().filter(|(_, (count, _))| *count >= 2).collect();
    ranked.sort_by_key(|(key, (count, text))| {
        (std::cmp::Reverse(count * if key.len() == 2 { 3 } else { 2 }), text.clone())
    });
    let mut used: Vec<String> = Vec::new();
    let mut chosen = Vec::new();
    for (key, (_, text)) in ranked {
        if chosen.len() < 3 && !key.iter().any(|word| used.contains(word)) {
            used.extend(key);
            chosen.push(text);
        }
    }
    chosen
}

/// Words that people use to speak with an agent about anything.
fn is_chatter(word: &str) -> bool {
    const CHATTER: &str = "again already always another anything bit believe best better currently \
        different does doesn doesnt don dont else everything exactly explain find first full give \
        happen happens idea instead kind last later less line lines list looks maybe mean means \
        message moment much name never nothing okay old once only open possible previous probably \
        put question read really recommend remove right run running same say seems show simple \
        since something somehow start stuff suggest sure tell then there these they time today \
        together too try understand user users using version wait way well why without write wrong \
        yeah yes agent session chat create currently delete move set actually dude fuck fucked fucking shit damn wtf hell crap support build";
    words::is_in(CHATTER, &word.to_lowercase())
}

/// Where a session begins with a question and goes on to work: what was wanted then.
fn of_later_work(parts: &[&EpisodeFacts], spoken: &Spoken) -> Option<String> {
    if spoken.prompts > MANY_PROMPTS || !prompts::is_question(&parts.first()?.prompt) {
        return None;
    }
    let worked = parts.iter().position(|part| !part.edited.is_empty()).filter(|at| *at > 0)?;
    let part = parts[worked];
    let telling = |wish: &String| words::telling(wish).len() > FEWEST_TELLING;
    let wish = Some(part.understood.clone()).filter(telling);
    let wish = wish.or_else(|| prompts::wishes(&part.prompt).into_iter().find(telling))?;
    Some(text::phrase(without_question(&wish), LONGEST))
}

/// What the person asked for first.
fn of_prompt(spoken: &Spoken, project: Option<&str>, parts: &[&EpisodeFacts]) -> Option<String> {
    let first = &*short_paths(spoken.first()?);
    let pasted =
        parts.first().and_then(|part| part.errors.iter().find(|error| error.met == Met::Pasted));
    if let Some(error) = pasted.filter(|_| names_no_error(first)) {
        return Some(error.sample.clone());
    }
    let title = without_question(first);
    let title = text::phrase(title.trim_end_matches(['.', ':', ',', ';', ' ']), 92);
    if words::telling(&title).len() >= 4 {
        let name = named_thing(parts).filter(|name| {
            !names_code(&title) && title.chars().count() + name.chars().count() + 3 <= LONGEST
        });
        return Some(match name {
            Some(name) => format!("{title} ({name})"),
            None => title,
        });
    }
    // A few words may stand over many sessions: the project and the file set them apart.
    let named = project.filter(|project| !title.to_lowercase().contains(&project.to_lowercase()));
    let title = named.map_or(title.clone(), |project| format!("{project}: {title}"));
    let file = parts.iter().find_map(|part| part.edited.first()).map(|f| text::file_name(&f.path));
    Some(match file.filter(|file| !title.contains(*file)) {
        Some(file) => format!("{title} ({file})"),
        None => title,
    })
}

/// The function or type that the agent names where it says what it understood.
fn named_thing(parts: &[&EpisodeFacts]) -> Option<String> {
    static NAME: StaticRegex = StaticRegex::new(
        r"`((?:\w+\.)?(?:[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|[a-z]+_\w+)(?:\(\))?)`",
    );
    let understood = &parts.first()?.understood;
    NAME.captures(understood).map(|found| found[1].to_string())
}

/// Whether a title names something of code already.
fn names_code(title: &str) -> bool {
    static CODE: StaticRegex =
        StaticRegex::new(r"`|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+|\w_\w|\w\.\w{1,4}\b|\w/\w");
    CODE.is_match(title)
}

/// The beginning of the longest prompt, as it is; for scripts and languages that we do not know.
fn plain_prompt(facts: &Facts) -> Option<String> {
    let prompts = || facts.parts.iter().filter(|part| !part.prompt.is_empty() && !part.rewound);
    let own = prompts().filter(|part| !prompts::is_template(&part.prompt)).max_by_key(|part| {
        (prompts::spoken(&part.prompt).chars().count(), std::cmp::Reverse(part.episode))
    });
    let Some(part) = own else { return prompts().next().map(of_template) };
    let spoken = prompts::spoken(&part.prompt);
    Some(match spoken.is_empty() {
        true => prompts::request(&part.prompt, 80, false),
        false => text::clause(text::sentences(&spoken).next().unwrap_or(&spoken), 80),
    })
}

/// What a program asked for, and what came of it: the same words stand over many sessions.
fn of_template(part: &EpisodeFacts) -> String {
    let asked = text::phrase(prompts::request(&part.prompt, 200, false).trim_end_matches('.'), 60);
    match replies::closing_sentence(&part.last_reply) {
        Some(found) => {
            format!("{asked}: {}", text::phrase(&found, LONGEST - 2 - asked.chars().count()))
        }
        None => asked,
    }
}

fn of_command(command: &str) -> String {
    text::clause(command, 80)
}

/// A question's subject: "is there a way to lock it" is "lock it".
pub fn without_question(sentence: &str) -> &str {
    static ASKING: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:is|are) there (?:a|any|some) way to\s+|do you (?:think|believe|know)(?: that| if)?\s+|what(?:'s| is) the (?:right|best) way to\s+|how (?:do|can|should|would) (?:i|we|you)\s+|i (?:just )?(?:got|get) this(?: error| feedback)?[:,]?\s+)",
    );
    let end = ASKING.find(sentence).map_or(0, |found| found.end());
    let rest = prompts::without_courtesy(&sentence[end..]);
    if rest.split_whitespace().count() >= 3 { rest } else { sentence }
}

/// A commit's subject as a title: `fix(day): lock first` is "Fix day: lock first".
fn of_subject(subject: &str) -> String {
    let Some((kind, scope, rest)) = conventional(subject) else { return subject.to_string() };
    let scope = scope.filter(|scope| !rest.to_lowercase().contains(&scope.to_lowercase()));
    match (kind, scope) {
        ("fix", Some(scope)) => format!("Fix {scope}: {rest}"),
        ("fix", None) if !rest.to_lowercase().starts_with("fix") => format!("Fix: {rest}"),
        (_, Some(scope)) => format!("{scope}: {rest}"),
        _ => rest.to_string(),
    }
}

/// A commit's subject without its kind and scope.
pub fn without_kind(subject: &str) -> String {
    conventional(subject).map_or(subject, |(_, _, rest)| rest).to_string()
}

fn conventional(subject: &str) -> Option<(&str, Option<&str>, &str)> {
    static KIND: StaticRegex = StaticRegex::new(
        r"^(feat|fix|chore|docs|refactor|test|perf|ci|build|style|wip|revert)(?:\(([^)]{1,40})\))?!?:\s*(\S.*)$",
    );
    let found = KIND.captures(subject)?;
    let group = |at: usize| found.get(at).map(|group| group.as_str());
    Some((
        group(1)?,
        group(2).filter(|scope| !scope.bytes().all(|b| b.is_ascii_digit())),
        group(3)?,
    ))
}

/// Whether a commit's subject says nothing of the work: a merge, a step on the way.
fn is_routine(subject: &str) -> bool {
    static ROUTINE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:merge|wip|initial commit|bump|format(?:ting)?\b|lint|typo|fixup!|squash!|update changelog|checkpoint)|^(?:chore|style)(?:\([^)]*\))?: (?:format|lint|bump|release)",
    );
    ROUTINE.is_match(subject)
}

fn is_release(subject: &str) -> bool {
    static RELEASE: StaticRegex = StaticRegex::new(r"(?i)\brelease\b.{0,12}\d|^v?\d+\.\d+\.\d+");
    RELEASE.is_match(subject)
}

/// `/review the lock of the quay` as "Review: the lock of the quay"; a command alone stays.
fn of_slash_command(title: &str) -> Cow<'_, str> {
    static COMMAND: StaticRegex = StaticRegex::new(r"^/(?:[\w-]+:)?([a-z][\w-]*)\s+(\S.*)$");
    match COMMAND.captures(title).filter(|found| words::telling(&found[2]).len() >= 2) {
        Some(found) => format!("{}: {}", text::capitalized(&found[1]), &found[2]).into(),
        None => title.into(),
    }
}

/// A title in which a long path is its last name.
fn short_paths(title: &str) -> Cow<'_, str> {
    static LONG: StaticRegex = StaticRegex::new(r"(?:/[\w.@~+-]+){4,}/([\w.@~+-]+)");
    LONG.replace_all(title, "$1")
}

/// The title of a session that changed something and whose title is a prompt that asks or that one
/// says in passing ("We have a bug somewhere …"): what the agent understood, or what came of it.
pub fn of_work(title: String, facts: &Facts, outcomes: &[String], project: Option<&str>) -> String {
    let said = project.and_then(|project| title.strip_prefix(&format!("{project}: ")));
    let said = said.unwrap_or(&title);
    if !speaks(said) || !is_prompt(said, facts) {
        return title;
    }
    let is_work = |part: &&EpisodeFacts| !part.edited.is_empty() || !part.commits.is_empty();
    let worked: Vec<&EpisodeFacts> = facts.own_parts().filter(is_work).collect();
    let Some(first) = worked.first() else { return title };
    let clause = |said: &str| {
        let said = without_commit(said);
        let label = text::whole_clause(replies::without_cheer(&said), 92)?;
        let names = words::telling(&label).len() >= 3;
        (names && !speaks(&label) && !is_part(&label)).then_some(label)
    };
    // What the agent understood may go on about how: its first clause says what.
    let until = facts.own_parts().take_while(|part| part.episode <= first.episode);
    let said = until.map(|part| part.understood.as_str()).find(|said| !said.is_empty());
    let what = || said.and_then(|said| said.split(", ").next()).and_then(clause);
    let understood = said.and_then(clause).or_else(what);
    let came = || outcomes.iter().find_map(|line| clause(line));
    understood.or_else(came).map_or(title, |label| tidy(&label, project))
}

/// Whether a title asks, speaks of somebody, or is only a command: "Is it …?", "We have …", `/init`.
fn speaks(title: &str) -> bool {
    static SPEAKS: StaticRegex = StaticRegex::new(
        r"(?i)[?？]|…|^(?:i|i['’]\w+|we|we['’]\w+|you|my|our|it|its|it['’]s|this|that|there|here|they|is|are|was|does|do|did|can|could|should|would|will|what|why|how|which|where|who|when|if|based on|since|because|for the|the \w+ (?:had|has|was|were|is|are)|lately|maybe|seems?|looks?|right now|in \w+ mode|now|the (?:fix|function|change|issue|problem))\b|^/\w+$",
    );
    SPEAKS.is_match(title)
}

/// Whether a title is the beginning of something that the person typed.
fn is_prompt(title: &str, facts: &Facts) -> bool {
    let letters = |said: &str, most: usize| -> String {
        let letters = said.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        letters.take(most).collect()
    };
    let beginning = letters(title, 24);
    let mut prompts = facts.parts.iter().map(|part| part.prompt.as_str());
    let command = facts.first_command.as_deref();
    command.is_some_and(|said| letters(said, 24).contains(&beginning))
        || prompts.any(|said| letters(said, 4000).contains(&beginning))
}

/// An outcome without its episode, and without the commit and its points.
fn without_commit(outcome: &str) -> String {
    static COMMIT: StaticRegex = StaticRegex::new(r"\s*\([0-9a-f]{7,12}(?: on [^)]*)?\).*$");
    let said = outcome.rsplit_once(" (EP_").map_or(outcome, |(said, _)| said);
    COMMIT.replace(said, "").into_owned()
}

/// Whether a line is one of a list of files ("`quay.rs`: …"), or tells of the tests of some work.
fn is_part(line: &str) -> bool {
    static PART: StaticRegex = StaticRegex::new(
        r"(?i)^\W*\S+\.\w{1,5}\W*(?:[:—–-]|changes?\b)|^(?:added|wrote|ran|created) (?:\d+ )?(?:\w+ )?tests?\b|\btests? (?:cover|pass)",
    );
    PART.is_match(line)
}

/// A title as it stands on a page: one line, without marks around it, cut where a clause ends.
fn tidy(title: &str, project: Option<&str>) -> String {
    let plain = title.replace("**", "").replace(" -> ", " → ").replace(" | ", " / ");
    let line = text::one_line(&plain, 400);
    let mut title = line.trim_matches([' ', '.', ':', ';', ',', '-', '–', '—', '*']);
    let quoted = title.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
    title = quoted.filter(|inner| !inner.contains('"')).unwrap_or(title);
    let title = text::phrase(&of_slash_command(&short_paths(title)), LONGEST);
    // A project's name stands as it is written.
    let is_named = project.is_some_and(|project| title.starts_with(&format!("{project}: ")));
    if is_named { title } else { text::capitalized(&title) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::commands::PullRequest;
    use crate::distill::facts::Document;
    use crate::model::session::FileChange;

    /// A session of prompts, each with its reply.
    fn session(prompts: &[&str]) -> Facts {
        let part = |(at, prompt): (usize, &&str)| {
            let mut part = EpisodeFacts::of_text(at as u32 + 1, "", "");
            part.prompt = prompt.to_string();
            part
        };
        let parts: Vec<EpisodeFacts> = prompts.iter().enumerate().map(part).collect();
        Facts { prompts: parts.len() as u64, parts, ..Facts::default() }
    }

    fn of(facts: &Facts) -> String {
        title(facts, &Head::default(), &Git::of(facts), Some("tide"))
    }

    #[test]
    fn what_the_agent_names_stands_behind_a_wish_that_names_nothing() {
        let mut facts = session(&["two writers lose lines of the same day when both append"]);
        assert_eq!(of(&facts), "Two writers lose lines of the same day when both append");
        facts.parts[0].understood = "`appendLine()` has to take the lock first".into();
        assert_eq!(
            of(&facts),
            "Two writers lose lines of the same day when both append (appendLine())"
        );
        facts.parts[0].prompt = "two writers lose lines of day.rs when both append".into();
        assert!(!of(&facts).contains("appendLine"), "{}", of(&facts));
    }

    fn commit(message: &str) -> Commit {
        Commit { hash: "1a2b3c4".into(), message: message.into(), ..Commit::default() }
    }

    #[test]
    fn the_first_prompt_that_says_something_is_the_title() {
        for (prompts, expected) in [
            (
                vec!["continue", "could you please make appends to the day log safe?"],
                "tide: make appends to the day log safe?",
            ),
            (vec!["yes", "ok"], "Yes"),
            (
                vec![
                    "➜ app git push\nerror: no `hook.toml` found\n\ni no longer use that hook manager, remove it",
                ],
                "I no longer use that hook manager, remove it",
            ),
            (
                vec![
                    "look at this branch, i got this feedback:\n\nThe parser keeps the carriage return in quoted values.",
                ],
                "The parser keeps the carriage return in quoted values",
            ),
            (
                vec![
                    "The following is the Robot agent history whose action you assess.",
                    "lock the day log before its header",
                ],
                "Lock the day log before its header",
            ),
            (vec!["fix the lock"], "tide: fix the lock"),
        ] {
            assert_eq!(of(&session(&prompts)), expected);
        }
    }

    #[test]
    fn what_leads_to_an_example_is_no_part_of_a_title() {
        let prompts = [
            "I'd like to word the tide section of the README a bit better, can you write something in the line of:\n- it comes twice a day\n- it can be used beside the log",
        ];
        assert_eq!(of(&session(&prompts)), "Word the tide section of the README a bit better");
        let pasted = ["the lock of the day log is never freed, and this is what it prints:\n- a"];
        assert!(!of(&session(&pasted)).ends_with("freed"), "{}", of(&session(&pasted)));
    }

    #[test]
    fn other_languages_have_titles_too() {
        assert_eq!(
            of(&session(&[
                "ok",
                "Bitte mach das Anhängen an das Tagesprotokoll sicher, auch bei zwei Schreibern"
            ])),
            "Bitte mach das Anhängen an das Tagesprotokoll sicher, auch bei zwei Schreibern"
        );
        assert_eq!(
            of(&session(&["让日志的写入在两个进程同时写的时候也是安全的，先取锁再写标题"])),
            "让日志的写入在两个进程同时写的时候也是安全的，先取锁再写标题"
        );
        assert!(
            of(&session(&["ทำให้การเขียนบันทึกประจำวันปลอดภัยเมื่อมีผู้เขียนสองคนพร้อมกัน"]))
                .starts_with("ทำให้การเขียน")
        );
    }

    #[test]
    fn a_plan_or_a_pull_request_names_the_session_better() {
        let plan = session(&[
            "Implement the following plan:\n\n# Plan: Lock the day log\n\n## Context\nTwo writers.",
        ]);
        assert_eq!(of(&plan), "Lock the day log");
        let mut opened = session(&["push it as a pr please"]);
        let pull = |number, title: &str| PullRequest {
            number,
            title: title.into(),
            points: Vec::new(),
            step: PullStep::Opened,
        };
        opened.parts[0].pulls.push(pull(12, "feat(day): lock before the header"));
        assert_eq!(of(&opened), "Day: lock before the header (PR #12)");
        opened.parts[0].pulls.push(pull(13, "fix: free the lock at the end"));
        assert_eq!(
            of(&opened),
            "Lock before the header (PR #12); free the lock at the end (PR #13)"
        );
    }

    #[test]
    fn the_agents_own_title_counts_unless_it_repeats_the_prompt() {
        let facts = session(&["make appends to the day log safe under two writers"]);
        let named = |title: &str| {
            let head = Head { title: Some(title.into()), ..Head::default() };
            super::title(&facts, &head, &Git::of(&facts), None)
        };
        assert_eq!(
            named("Day log locking for concurrent writers"),
            "Day log locking for concurrent writers"
        );
        for none in
            ["make appends to the day log safe un", "New session - 2026-11-15", "/review", "Chat 3"]
        {
            assert_eq!(named(none), "Make appends to the day log safe under two writers");
        }
    }

    #[test]
    fn a_name_that_the_person_gave_stands_as_it_is() {
        let facts = session(&["make appends to the day log safe under two writers"]);
        let named = |title: &str, titled_by_person: bool| {
            let head = Head { title: Some(title.into()), titled_by_person, ..Head::default() };
            super::title(&facts, &head, &Git::of(&facts), Some("tide"))
        };
        for name in ["Moonshot", "login-flake", "Sprint 14", "make appends to the day log safe"] {
            assert_eq!(named(name, true), name);
        }
        assert_eq!(named("a | b **c**", true), "a / b c");
        let derived = "Make appends to the day log safe under two writers";
        assert_eq!((named(" ", true), named("Moonshot", false)), (derived.into(), derived.into()));
    }

    #[test]
    fn commits_and_documents_name_what_was_done() {
        let mut facts = session(&["ok do it"]);
        facts.parts[0].commits = vec![commit("fix(day): take the lock first"), commit("wip")];
        assert_eq!(of(&facts), "Fix day: take the lock first");
        facts.parts[0].commits.clear();
        let path = "docs/plans/2026-11-15-tide-table-cache.md".to_string();
        facts.parts[0].edited.push(FileChange::of(path.clone()));
        facts.parts[0]
            .written
            .push(Document { path, heading: "Tide Table Cache Implementation Plan".into() });
        assert_eq!(of(&facts), "Write plan: Tide Table Cache");
    }

    #[test]
    fn comments_that_are_answered_name_their_pull_request() {
        let mut facts = session(&["there are a few coderabbit comments on that pr"]);
        facts.parts[0].pulls.push(PullRequest {
            number: 9,
            title: "feat: lock before the header".into(),
            points: Vec::new(),
            step: PullStep::Seen,
        });
        assert_eq!(of(&facts), "Address CodeRabbit comments on PR #9: lock before the header");
    }

    #[test]
    fn a_question_that_leads_to_work_is_named_by_the_work() {
        let mut facts = session(&[
            "was there ever any work on locking the day log?",
            "yes, add file locking to the append path",
        ]);
        facts.parts[1].edited.push(FileChange::of("src/day.rs".into()));
        assert_eq!(of(&facts), "Add file locking to the append path");
    }

    #[test]
    fn what_was_said_in_passing_gives_way_to_the_work() {
        let outcomes =
            ["Locked the harbour log before its header (1a2b3c4 on main): a point (EP_001)"];
        let outcomes = outcomes.map(String::from);
        let said = |prompt: &str, is_work: bool| {
            let mut facts = session(&[prompt]);
            if is_work {
                facts.parts[0].edited.push(FileChange::of("src/day.rs".into()));
            }
            of_work(of(&facts), &facts, &outcomes, Some("tide"))
        };
        let work = "Locked the harbour log before its header";
        assert_eq!(said("we have a bug somewhere in the lock of the harbour log", true), work);
        assert_eq!(said("is the harbour log ever locked before its header?", true), work);
        let asked = "Is the harbour log ever locked before its header?";
        assert_eq!(said("is the harbour log ever locked before its header?", false), asked);
        let wish = "Lock the day log before the header of the harbour";
        assert_eq!(said("lock the day log before the header of the harbour", true), wish);
    }

    #[test]
    fn commands_and_long_paths_are_short_in_titles() {
        let titled = |title: &str| tidy(title, None);
        assert_eq!(titled("/review the lock of the quay"), "Review: the lock of the quay");
        assert_eq!(titled("/tide:debug the lock of the quay"), "Debug: the lock of the quay");
        assert_eq!(titled("/init"), "/init");
        assert_eq!(titled("Edit /a/b/c/d/quay.rs now"), "Edit quay.rs now");
        assert_eq!(titled("Edit /work/src/quay.rs"), "Edit /work/src/quay.rs");
    }

    #[test]
    fn a_new_document_is_written_and_an_old_one_reworked() {
        let named = |is_new: bool| {
            let mut facts = session(&["ok do it"]);
            let path = "docs/tide-table-cache.md".to_string();
            facts.parts[0].edited.push(FileChange::of(path.clone()));
            facts.parts[0].begun.extend(is_new.then(|| path.clone()));
            facts.parts[0].written.push(Document { path, heading: String::new() });
            of(&facts)
        };
        assert!(named(true).starts_with("Write tide table cache"), "{}", named(true));
        assert!(named(false).starts_with("Rework tide table cache"), "{}", named(false));
    }
}
