//! Topics: what a day is about, from that day alone, and what comes up on several.
//!
//! A term is a symbol, a file, an error, a name or a few words that stand together. Each day lists
//! its best terms, none of which only repeats another. The first few, and what two days list, may
//! become pages: the best of each project do, about one for every five of its sessions. All of it
//! follows from the days together, so the order in which they arrive does not matter.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::NaiveDate;

use super::sentences::{Sentence, Transcript};
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::words;
use crate::model::ids::SessionId;
use crate::model::knowledge::{About, Kind, PageName};

/// How many pages a day makes at most, and how many it should make where it has the topics.
const MOST_OF_A_DAY: usize = 7;
const FEWEST_OF_A_DAY: usize = 3;
/// How many terms a day lists.
const LISTED: usize = 24;
/// A page needs something to say: so many sentences that can be quoted.
const FEWEST_QUOTES: usize = 3;
const FEWEST_NAMED: usize = 2;
/// A term whose sentences are those of a better one, up to this share, only repeats it.
const REPEATS: f32 = 0.6;
/// What was said in a project counts as knowledge about it from here on.
const WORTH_OF_A_PROJECT: f32 = 0.8;

/// Something that a page is about.
#[derive(Debug, Clone)]
pub struct Topic {
    pub name: PageName,
    pub class: Class,
    /// How it was written, the commonest first.
    pub forms: Vec<String>,
    /// Where it was transcript, in order.
    pub sentences: Vec<usize>,
}

/// What kind of term it is; the later, the more it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Word,
    File,
    Name,
    Symbol,
    Phrase,
    Error,
    Project,
}

impl Class {
    fn weight(self) -> f32 {
        match self {
            Class::Word => 0.55,
            Class::File => 0.7,
            Class::Name => 0.85,
            Class::Symbol => 1.0,
            Class::Phrase => 1.25,
            Class::Error => 1.3,
            Class::Project => 1.0,
        }
    }
}

struct Term {
    key: String,
    form: String,
    class: Class,
    stressed: bool,
}

/// A term with all its places.
#[derive(Debug, Clone, Default)]
struct TermUse {
    classes: BTreeMap<Class, usize>,
    /// How often it was stressed.
    stressed: usize,
    forms: BTreeMap<String, usize>,
    sentences: Vec<usize>,
}

/// A project has a page for each so many sessions.
const SESSIONS_FOR_A_PAGE: usize = 5;

/// The topics that are worth a page, by name. Those of `there` are, as long as the days have
/// anything to say of them.
pub fn chosen(
    transcript: &Transcript,
    sessions: &BTreeMap<SessionId, About>,
    there: &BTreeSet<PageName>,
) -> Vec<Topic> {
    let mut by_day: BTreeMap<NaiveDate, Vec<usize>> = BTreeMap::new();
    for (at, sentence) in transcript.sentences.iter().enumerate() {
        by_day.entry(sentence.place.day).or_default().push(at);
    }
    let mut found: HashMap<String, TermUse> = HashMap::new();
    let mut pages: BTreeSet<String> = BTreeSet::new();
    let mut listed: HashMap<String, usize> = HashMap::new();
    for sentences in by_day.values() {
        let day = terms_of(transcript, sentences);
        let (first, all) = of_a_day(transcript, &day);
        pages.extend(first);
        for key in all {
            *listed.entry(key).or_default() += 1;
        }
        for (key, term) in day {
            let whole = found.entry(key).or_default();
            for (class, count) in term.classes {
                *whole.classes.entry(class).or_default() += count;
            }
            whole.sentences.extend(term.sentences);
            for (form, count) in term.forms {
                *whole.forms.entry(form).or_default() += count;
            }
        }
    }
    pages.extend(listed.into_iter().filter(|(_, days)| *days >= 2).map(|(key, _)| key));
    pages.retain(|key| found.get(key).is_some_and(|term| names_something(key, term)));
    let mut pages = best_of_projects(transcript, sessions, &found, pages);
    let projects = of_projects(transcript, sessions);
    // `tide-book` beside the project `tidebook` is the project.
    pages.retain(|key| !projects.keys().any(|project| joined(project) == joined(key)));
    pages.extend(
        there.iter().filter(|name| name.kind == Kind::Concept).map(|name| name.slug().to_string()),
    );
    for (key, project) in projects {
        pages.insert(key.clone());
        // `cli` as a word of another project says nothing of the project of that name.
        let is_own = |at: &usize| is_of_project(transcript, sessions, *at, &key);
        let whole = found.entry(key.clone()).or_default();
        whole.sentences.retain(is_own);
        whole.classes = BTreeMap::from([(Class::Project, 1)]);
        whole.forms = project.forms;
        whole.sentences.extend(project.sentences);
        whole.sentences.sort_unstable();
        whole.sentences.dedup();
    }
    let topics = pages.into_iter().filter_map(|key| {
        let term = found.remove(&key)?;
        says_enough(transcript, &term).then(|| Topic {
            name: PageName::new(Kind::Concept, &key),
            class: term.class(),
            forms: by_count(term.forms),
            sentences: term.sentences,
        })
    });
    topics.collect()
}

/// Whether a term names something by itself: `decision`, `ready` and `phase` do not, however often
/// they are said.
fn names_something(key: &str, term: &TermUse) -> bool {
    match term.class() {
        Class::Word => false,
        Class::Phrase => {
            let parts: Vec<&str> = key.split('-').collect();
            let head = parts.last().copied().unwrap_or_default();
            let is_process = parts.iter().all(|part| words::is_in(PROCESS, part));
            !words::is_in(EVERYDAY, head) && !is_quality(parts[0]) && !is_process
        }
        Class::Name | Class::Symbol if !key.contains('-') => words::weight(key) >= 1.0,
        _ => true,
    }
}

/// What work of every kind is made of: with whatever stands before it, it names no thing.
const EVERYDAY: &str = "decision choice change issue problem approach question option step reason result detail example \
    improvement idea point link line page part thing way work task item";

/// What every project's work goes through: of these words alone no thing is named, as in "pending
/// todos", "dry run" or "pre-commit hook".
const PROCESS: &str = "pre post commit commits hook hooks dry run runs pending todo todos soft hard deprecation \
    full interactive mode review reviews feedback branch branches worktree worktrees session sessions push pull \
    merge request requests test tests testing build builds lint check checks ci phase phases milestone status \
    report release version main latest code file files plan plans next new old fix fixes summary";

/// Whether a word tells what a thing is like, rather than what it is.
fn is_quality(word: &str) -> bool {
    let ends = ["able", "ible", "ful", "less"];
    let is_thing = words::is_in("table cable variable executable", word);
    !is_thing && ends.iter().any(|end| word.ends_with(end))
}

/// The best terms of each project, as many as its sessions call for. A term belongs to the project
/// in which most of its sessions were; what comes up everywhere belongs to none.
fn best_of_projects(
    transcript: &Transcript,
    sessions: &BTreeMap<SessionId, About>,
    found: &HashMap<String, TermUse>,
    candidates: BTreeSet<String>,
) -> BTreeSet<String> {
    let project = |session: &SessionId| sessions.get(session).and_then(|one| one.project.clone());
    let all: BTreeSet<&SessionId> =
        transcript.sentences.iter().filter_map(|one| one.place.session.as_ref()).collect();
    let mut places: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for session in all {
        *places.entry(project(session)).or_default() += 1;
    }
    let mut by_project: BTreeMap<Option<String>, Vec<(f32, String)>> = BTreeMap::new();
    for key in candidates {
        let term = &found[&key];
        let of: BTreeSet<&SessionId> =
            term.sentences.iter().filter_map(|at| transcript[*at].place.session.as_ref()).collect();
        let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for session in &of {
            *counts.entry(project(session)).or_default() += 1;
        }
        // Words that nobody said in a session are a person's own: they have no project either.
        let home = counts.into_iter().max_by_key(|(_, count)| *count).unwrap_or((None, 0));
        if 3 * home.1 < 2 * of.len() {
            continue;
        }
        // A single name (`UTC`, `Postgres`) is known elsewhere; what stands together is this
        // project's own.
        let own = if term.class() == Class::Name && !key.contains('-') { 0.25 } else { 1.0 };
        let score = own * score(transcript, &key, term) * (of.len().max(1) as f32).sqrt();
        by_project.entry(home.0).or_default().push((score, key));
    }
    let mut best = BTreeSet::new();
    for (project, mut terms) in by_project {
        let sessions = places.get(&project).copied().unwrap_or_default();
        let most = sessions.div_ceil(SESSIONS_FOR_A_PAGE).max(1);
        terms.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut kept: Vec<String> = Vec::new();
        for (_, key) in terms {
            let is_same = |other: &String| repeats(&key, &found[&key], other, &found[other]);
            if kept.len() < most && !kept.iter().any(is_same) {
                kept.push(key);
            }
        }
        best.extend(kept);
    }
    best
}

impl TermUse {
    /// What it is as a rule: a word that begins a heading once is no name.
    fn class(&self) -> Class {
        let all: usize = self.classes.values().sum();
        let mut at_least = 0;
        for (class, count) in self.classes.iter().rev() {
            at_least += count;
            if at_least * 2 >= all {
                return *class;
            }
        }
        Class::Word
    }
}

fn by_count(forms: BTreeMap<String, usize>) -> Vec<String> {
    let mut forms: Vec<(String, usize)> = forms.into_iter().collect();
    forms.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    forms.into_iter().map(|(form, _)| form).collect()
}

/// Whether there is enough to quote: two sentences that name it, and one more that does or goes on
/// from there.
fn says_enough(transcript: &Transcript, term: &TermUse) -> bool {
    let quotable = |at: &usize| transcript[*at].worth > 0.0;
    let text = |at: usize| transcript[at].text.as_str();
    let named: HashSet<&str> =
        term.sentences.iter().filter(|at| quotable(at)).map(|at| text(*at)).collect();
    let more: HashSet<&str> =
        term.sentences.iter().filter_map(|at| transcript.next(*at)).map(text).collect();
    named.len() >= FEWEST_NAMED && named.union(&more).count() >= FEWEST_QUOTES
}

fn terms_of(transcript: &Transcript, sentences: &[usize]) -> HashMap<String, TermUse> {
    let mut found: HashMap<String, TermUse> = HashMap::new();
    for at in sentences {
        for term in terms(&transcript[*at]) {
            let whole = found.entry(term.key).or_default();
            *whole.classes.entry(term.class).or_default() += 1;
            whole.stressed += usize::from(term.stressed);
            *whole.forms.entry(term.form).or_default() += 1;
            if whole.sentences.last() != Some(at) {
                whole.sentences.push(*at);
            }
        }
    }
    found
}

/// The terms that a day makes pages of, and all that it lists.
fn of_a_day(
    transcript: &Transcript,
    terms: &HashMap<String, TermUse>,
) -> (Vec<String>, Vec<String>) {
    let mut ranked: Vec<(f32, &str, &TermUse)> = terms
        .iter()
        // A common word needs more than one mention.
        .filter(|(_, term)| term.sentences.len() >= if term.class() == Class::Word { 3 } else { 2 })
        .map(|(key, term)| (score(transcript, key, term), key.as_str(), term))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut kept: Vec<(&str, &TermUse)> = Vec::new();
    for (_, key, term) in ranked {
        if kept.len() >= LISTED {
            break;
        }
        if !kept.iter().any(|(other, better)| repeats(key, term, other, better)) {
            kept.push((key, term));
        }
    }
    let comes_back = |term: &TermUse| {
        let exchanges: HashSet<usize> =
            term.sentences.iter().map(|at| transcript[*at].exchange).collect();
        exchanges.len() >= 2
    };
    let is_name = |term: &TermUse| term.class() != Class::Word || term.stressed > 0;
    let mut pages: Vec<String> = kept
        .iter()
        .filter(|(_, term)| is_name(term) && comes_back(term) && says_enough(transcript, term))
        .map(|(key, _)| key.to_string())
        .take(MOST_OF_A_DAY)
        .collect();
    for (key, term) in &kept {
        if pages.len() < FEWEST_OF_A_DAY
            && is_name(term)
            && says_enough(transcript, term)
            && !pages.iter().any(|page| page == key)
        {
            pages.push(key.to_string());
        }
    }
    let listed = kept.into_iter().filter(|(_, term)| is_name(term)).map(|(key, _)| key.to_string());
    (pages, listed.collect())
}

/// How much a day has to say of a term.
fn score(transcript: &Transcript, key: &str, term: &TermUse) -> f32 {
    let sentences = || term.sentences.iter().map(|at| &transcript[*at]);
    let exchanges =
        sentences().map(|sentence| sentence.exchange).collect::<HashSet<_>>().len() as f32;
    let sessions =
        sentences().map(|sentence| &sentence.place.session).collect::<HashSet<_>>().len() as f32;
    let mut worths: Vec<f32> =
        sentences().map(|sentence| sentence.worth).filter(|worth| *worth > 0.0).collect();
    worths.sort_by(|a, b| b.total_cmp(a));
    let best = worths.iter().take(4).sum::<f32>() / 4.0;
    let words: Vec<f32> = key.split('-').map(words::weight).collect();
    let rare = words.iter().sum::<f32>() / words.len().max(1) as f32;
    let class = term.class().weight() * if term.stressed > 0 { 1.4 } else { 1.0 };
    class
        * rare
        * best
        * (1.0 + term.sentences.len() as f32).ln()
        * exchanges.sqrt()
        * (1.0 + 0.5 * (sessions - 1.0).min(3.0))
}

/// A key without what parts its words: `tide-book` and `tidebook` are one.
fn joined(key: &str) -> String {
    key.replace('-', "")
}

/// Whether a sentence was said in a session of a project.
fn is_of_project(
    transcript: &Transcript,
    sessions: &BTreeMap<SessionId, About>,
    at: usize,
    key: &str,
) -> bool {
    let about = transcript[at].place.session.as_ref().and_then(|session| sessions.get(session));
    let project = about.and_then(|about| about.project.as_deref());
    project.is_some_and(|project| text::slug(project, 72) == key)
}

/// Whether a term says nothing that a better one does not: it is part of it, is the same in one
/// word, or is said in the same sentences.
fn repeats(key: &str, term: &TermUse, other: &str, better: &TermUse) -> bool {
    if joined(key) == joined(other) {
        return true;
    }
    let shared =
        term.sentences.iter().filter(|at| better.sentences.binary_search(at).is_ok()).count()
            as f32;
    let parts = |key: &str| key.split('-').map(str::to_string).collect::<HashSet<_>>();
    let related = !parts(key).is_disjoint(&parts(other));
    let share = shared / term.sentences.len().max(1) as f32;
    share > if related { REPEATS - 0.2 } else { REPEATS + 0.15 }
}

/// The projects in which more than one session worked, with what was said in them.
fn of_projects(
    transcript: &Transcript,
    sessions: &BTreeMap<SessionId, About>,
) -> BTreeMap<String, TermUse> {
    let mut projects: BTreeMap<String, (TermUse, BTreeSet<&SessionId>)> = BTreeMap::new();
    for (at, sentence) in transcript.sentences.iter().enumerate() {
        let Some(session) = &sentence.place.session else { continue };
        let Some(project) = sessions.get(session).and_then(|about| about.project.as_deref()) else {
            continue;
        };
        let (found, of) = projects.entry(text::slug(project, 72)).or_default();
        of.insert(session);
        *found.forms.entry(project.to_string()).or_default() += 1;
        if sentence.worth >= WORTH_OF_A_PROJECT {
            found.sentences.push(at);
        }
    }
    projects
        .into_iter()
        .filter(|(_, (_, of))| of.len() >= 2)
        .map(|(key, (found, _))| (key, found))
        .collect()
}

// --- Terms of a sentence ---

static PIECE: StaticRegex = StaticRegex::new(
    r"`([^`]+)`|(\p{L}[\p{L}\p{N}_'’]*(?:[-.][\p{L}\p{N}_]+)*)|([^\s`\p{L}]+)|(\s+)",
);
static HASH: StaticRegex = StaticRegex::new(r"^[0-9a-f]{7,64}$");
static SYMBOL: StaticRegex = StaticRegex::new(r"^[\p{L}_@][\p{L}\p{N}_.:@+-]*[\p{L}\p{N}_]$");
static FILE: StaticRegex = StaticRegex::new(r"^[\p{L}\p{N}_.-]*[\p{L}\p{N}_-]\.[a-z]{1,5}$");
static ERROR: StaticRegex =
    StaticRegex::new(r"^(E[A-Z]{4,}|E\d{4}|[A-Z][A-Za-z]+(Error|Exception)|[A-Z]{2,4}\d{3,5})$");
static HUMP: StaticRegex = StaticRegex::new(r"([\p{Ll}\d])(\p{Lu})");
static CAMEL: StaticRegex = StaticRegex::new(r"[\p{Ll}\d]\p{Lu}|_|::");

/// What a sentence speaks of, each once.
fn terms(sentence: &Sentence) -> Vec<Term> {
    let mut terms: Vec<Term> =
        sentence.stressed.iter().filter_map(|words| stressed_term(words)).collect();
    // Words that stand side by side without anything between them.
    let mut run: Vec<&str> = Vec::new();
    for piece in PIECE.captures_iter(&sentence.text) {
        if let Some(code) = piece.get(1) {
            phrases(&run, &mut terms);
            run.clear();
            terms.extend(code_term(code.as_str()));
        } else if let Some(word) = piece.get(2) {
            let word = word.as_str().trim_end_matches("'s").trim_end_matches("’s");
            if word.contains(['\'', '’']) {
                // `don't`, `I'm`: names nothing, and parts what does.
                phrases(&run, &mut terms);
                run.clear();
                continue;
            }
            terms.extend(word_term(word, run.is_empty()));
            run.push(word);
        } else if piece.get(3).is_some() {
            phrases(&run, &mut terms);
            run.clear();
        }
    }
    phrases(&run, &mut terms);
    let mut seen = HashSet::new();
    terms.retain(|term| seen.insert(term.key.clone()));
    terms
}

fn term(form: &str, class: Class) -> Option<Term> {
    let key = match class {
        Class::Word | Class::Phrase => singular(&text::slug(form, 72)),
        // `passRate`, `pass_rate` and `pass rate` are one thing.
        Class::Symbol => text::slug(&HUMP.replace_all(form, "$1 $2"), 72),
        _ => text::slug(form, 72),
    };
    // A name that a machine made up.
    let made_up =
        |part: &str| part.len() >= 8 && part.bytes().filter(u8::is_ascii_digit).count() >= 3;
    let known = !key.split('-').any(made_up)
        && key.len() >= 3
        && key != "untitled"
        && !words::is_in(NO_TOPIC, &key);
    known.then(|| Term { key, form: form.to_string(), class, stressed: false })
}

/// What stands in every program, and in every session about one.
const NO_TOPIC: &str = "nil null true false none self this json yaml html css http https url api readme readme-md \
    todo changelog changelog-md string number boolean object undefined github-com date edge-case pull-request \
    code-review next-step error-message unit-test note yes fyi nit monday tuesday wednesday thursday friday saturday \
    sunday january february march april june july august september october november december";

/// Names that are written with a capital in the middle.
const NAMES: &str =
    "github gitlab typescript javascript macos ios openai postgresql youtube nodejs";

/// A few stressed words, if they name something.
fn stressed_term(words: &str) -> Option<Term> {
    let lower = words.to_lowercase();
    let parts: Vec<&str> = lower.split_whitespace().collect();
    let plain = lower.chars().all(|letter| letter.is_alphabetic() || matches!(letter, ' ' | '-'));
    let says_enough = parts.iter().all(|part| words::weight(part) >= 0.3)
        && parts.iter().any(|part| words::weight(part) >= 0.8);
    if !plain || !says_enough || parts.len() > 3 || parts.iter().any(|part| is_action(part)) {
        return None;
    }
    let class = if parts.len() == 1 && !lower.contains('-') { Class::Word } else { Class::Phrase };
    term(&lower, class).map(|term| Term { stressed: true, ..term })
}

/// The name of a thing, whether one or many are spoken of.
fn singular(key: &str) -> String {
    let last = key.rsplit('-').next().unwrap_or(key);
    let plural = last.len() > 4
        && last.ends_with('s')
        && !["ss", "us", "is", "as", "os"].iter().any(|end| last.ends_with(end));
    // `branches` are many a `branch`, but `caches` many a `cache`.
    let hissing = ["ches", "shes", "xes", "sses", "zes"].iter().any(|end| last.ends_with(end))
        && !["caches", "axes", "aches", "sizes", "niches"].iter().any(|end| last.ends_with(end));
    match plural {
        true if last.ends_with("ies") => format!("{}y", &key[..key.len() - 3]),
        true if hissing => key[..key.len() - 2].to_string(),
        true => key[..key.len() - 1].to_string(),
        false => key.to_string(),
    }
}

/// What stands between backticks, if it names something.
fn code_term(code: &str) -> Option<Term> {
    let code = code.trim();
    let code = code
        .split_once('(')
        .map_or(code, |(name, _)| name)
        .trim_end_matches([':', ',', ';', '!', '?']);
    if code.contains(char::is_whitespace) || code.len() > 64 || HASH.is_match(code) {
        return None;
    }
    let name = code.rsplit('/').next().unwrap_or(code);
    if FILE.is_match(name) && name.len() >= 4 {
        return term(name, Class::File);
    }
    if code.contains('/') || !SYMBOL.is_match(code) || code.chars().count() < 3 {
        return None;
    }
    if ERROR.is_match(code) {
        return term(code, Class::Error);
    }
    let plain = code.chars().all(|letter| letter.is_ascii_lowercase());
    match plain {
        // `main`, `test`: a word like any other.
        true if words::weight(code) < 1.0 => None,
        true => term(code, Class::Word),
        false => term(code, Class::Symbol),
    }
}

/// A word that is a topic by itself: an error, a symbol, a name, or one that is rare in prose.
fn word_term(word: &str, begins: bool) -> Option<Term> {
    let letters = word.chars().count();
    let lower = word.to_lowercase();
    if letters < 3 || HASH.is_match(word) || words::weight(&lower) == 0.0 {
        return None;
    }
    if FILE.is_match(word) {
        return term(word, Class::File);
    }
    if ERROR.is_match(word) {
        return term(word, Class::Error);
    }
    if words::is_in(NAMES, &lower) {
        return term(word, Class::Name);
    }
    if CAMEL.is_match(word) {
        return term(word, Class::Symbol);
    }
    let upper =
        word.chars().all(|letter| letter.is_uppercase() || letter.is_numeric() || letter == '-');
    let capital = !begins && word.starts_with(|first: char| first.is_uppercase());
    if (upper || capital) && words::weight(&lower) >= 0.75 {
        return term(word, Class::Name);
    }
    if word.contains('-') {
        let parts = lower.split('-').map(words::weight);
        let names = !lower.split('-').any(is_action)
            && !["pre", "per", "non", "re", "un"]
                .iter()
                .any(|part| lower.starts_with(&format!("{part}-")));
        return if names && parts.fold(f32::MAX, f32::min) >= 0.4 {
            term(&lower, Class::Phrase)
        } else {
            None
        };
    }
    let quality = ["able", "ible", "ful", "less", "est"].iter().any(|end| lower.ends_with(end));
    (words::weight(&lower) >= 1.0
        && letters >= 5
        && !is_action(&lower)
        && !quality
        && !lower.ends_with("ing"))
    .then(|| term(&lower, Class::Word))
    .flatten()
}

/// Two or three words that stand together, each of which says something.
fn phrases(run: &[&str], terms: &mut Vec<Term>) {
    for length in [2, 3] {
        for words in run.windows(length) {
            let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
            let weights: Vec<f32> = lower.iter().map(|word| words::weight(word)).collect();
            let none_common = weights.iter().all(|weight| *weight >= 0.5);
            let some_rare = weights.iter().any(|weight| *weight >= 0.8);
            let says_what = !lower.iter().any(|word| is_action(word));
            if none_common
                && some_rare
                && says_what
                && words.iter().all(|word| !word.contains(['.', '_']))
            {
                terms.extend(term(&lower.join(" "), Class::Phrase));
            }
        }
    }
}

/// A word for what is done or how, which names nothing: `prints`, `checking`, `quickly`.
fn is_action(word: &str) -> bool {
    const VERBS: &str = "adds allows alongside appears both breaks builds calls causes changes checks comes compare \
        compares contains covers creates depends differ differs does exists expects fails finds fixes follows gets gives \
        goes handles happens includes keeps leads leave leaves lets lists lives makes matches means needs only opens \
        passes prints produces provides puts reads receives removes requires returns runs says sends sets shows started \
        starts stays stops supports survive survives takes tells three throws tries turns updates uses wants works write \
        writes";
    words::is_in(VERBS, word) || (word.len() > 5 && (word.ends_with("ly") || word.ends_with("ed")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest::Origin;
    use crate::model::knowledge::QuoteSource;

    fn keys(text: &str) -> Vec<String> {
        let place = QuoteSource { day: NaiveDate::MIN, session: None, episode: None };
        let sentence = Sentence {
            text: text.into(),
            origin: Origin::Assistant,
            place,
            exchange: 0,
            worth: 1.0,
            stressed: vec![],
            goes_on: false,
        };
        terms(&sentence).into_iter().map(|term| term.key).collect()
    }

    #[test]
    fn symbols_files_errors_and_phrases_are_terms() {
        let found = keys(
            "Keyset pagination reads `sent_at` in `src/archive/list.ts` and met EWOULDBLOCK at 7c41e9a.",
        );
        for key in ["keyset-pagination", "sent-at", "list-ts", "ewouldblock"] {
            assert!(found.contains(&key.to_string()), "{key} in {found:?}");
        }
        assert!(
            !found.iter().any(|key| key.contains("7c41e9a") || key == "and" || key == "reads"),
            "{found:?}"
        );
    }

    fn said(text: &str, session: &str, exchange: usize) -> Sentence {
        let session = Some(session.parse().unwrap());
        let place = QuoteSource { day: NaiveDate::MIN, session, episode: None };
        Sentence {
            text: text.into(),
            origin: Origin::Assistant,
            place,
            exchange,
            worth: 1.0,
            stressed: vec![],
            goes_on: false,
        }
    }

    #[test]
    fn a_project_is_told_by_its_own_sessions_and_has_one_page() {
        let own = ["SES1_desk_SP1C1", "SES2_desk_SP1C1"];
        let mut sentences = Vec::new();
        for (at, session) in own.into_iter().enumerate() {
            sentences.push(said("The Tide-Book keeps its tables in a folder", session, at));
            sentences.push(said("A table of the Tide-Book has one line for an hour", session, at));
            sentences.push(said("Each hour of a table is told in minutes", session, at));
        }
        sentences.push(said(
            "The `tidebook` is called from the reef's own menu",
            "SES3_desk_SP1C1",
            2,
        ));
        let transcript = Transcript { sentences, exchanges: Vec::new() };
        let about = |project: &str| About { project: Some(project.into()), ..About::default() };
        let mut sessions: BTreeMap<SessionId, About> =
            own.into_iter().map(|id| (id.parse().unwrap(), about("tidebook"))).collect();
        sessions.insert("SES3_desk_SP1C1".parse().unwrap(), about("reef"));
        let topics = chosen(&transcript, &sessions, &BTreeSet::new());
        let names: Vec<&str> = topics.iter().map(|topic| topic.name.slug()).collect();
        assert!(names.contains(&"tidebook") && !names.contains(&"tide-book"), "{names:?}");
        let topic = topics.iter().find(|topic| topic.name.slug() == "tidebook").unwrap();
        assert!(topic.sentences.iter().all(|at| *at < 6), "{:?}", topic.sentences);
    }

    #[test]
    fn everyday_nouns_name_nothing_whatever_stands_before_them() {
        let phrase =
            TermUse { classes: BTreeMap::from([(Class::Phrase, 1)]), ..Default::default() };
        for key in ["structural-decision", "printable-link", "next-step"] {
            assert!(!names_something(key, &phrase), "{key}");
        }
        for key in ["pending-todo", "dry-run", "pre-commit-hook", "full-report"] {
            assert!(!names_something(key, &phrase), "{key}");
        }
        for key in ["tide-table", "manual-commit", "lantern-hook"] {
            assert!(names_something(key, &phrase), "{key}");
        }
    }

    #[test]
    fn one_and_many_are_the_same_topic() {
        assert_eq!(keys("backoff jitters"), keys("backoff jitter"));
        assert_eq!(keys("`passRate`"), keys("`pass_rate`"));
        assert_eq!(singular("status"), "status");
        assert_eq!(singular("shadow-branches"), "shadow-branch");
        assert_eq!(singular("index-caches"), "index-cache");
    }
}
