//! Ask: an answer from the pages of knowledge, in quoted sentences with their sources.
//!
//! The pages that have most to do with the question are picked by their index; where they do not
//! answer it, the digests are asked. Nothing is said that no page says, and where nothing answers,
//! that is said.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::search::SearchRequest;
use crate::base::clock::{self, Timestamp};
use crate::base::front_matter::Document;
use crate::base::markdown::plain;
use crate::base::redact::Redactor;
use crate::base::setters::setters;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::distill::knowledge::wording;
use crate::distill::words;
use crate::error::{Context, Error, Result};
use crate::index::{self, Corpus, Index, PageTexts, Source};
use crate::memory::Memory;
use crate::model::core::EVERYWHERE;
use crate::model::digest::{ClaimKind, Digest, Origin};
use crate::model::ids::EpisodeId;
use crate::model::knowledge::{Kind, PageName, Question};
use crate::models::{Alias, Answer, MARK, Models, Prompt};
use crate::query::terms::stem;
use crate::query::{FilterKey, MOST_PHRASINGS, Query};
use crate::store::Store;
use crate::store::knowledge::links::{self, Place, targets, without_links};
use crate::store::knowledge::{self as documents, ReadPage};
use crate::store::layout;

mod days;

use days::AskedDays;

/// How many pages are read for an answer, and how many sentences it has.
const MOST_PAGES: usize = 10;
const FEWEST_PAGES: usize = 3;
const MOST_SENTENCES: usize = 6;
/// A page with less than this share of the best one's score has little to do with the question.
const FAR_FROM_BEST: f32 = 0.25;
/// An answer names at least this share of what the question asks about.
const ANSWERS: f32 = 0.55;
/// How many pages are named to read on.
const FOLLOW_UPS: usize = 4;
const FROM_DIGESTS: usize = 6;

/// What to answer.
#[derive(Debug, Clone, Default)]
pub struct AskRequest {
    pub question: String,
    /// The same question in other words: whichever is answered answers it.
    pub also: Vec<String>,
    /// Whether the answer becomes a page.
    pub file_back: bool,
    pub dry_run: bool,
}

setters!(AskRequest { question: String, also: Vec<String>, file_back: bool, dry_run: bool });

/// An answer, or that there is none.
#[derive(Debug, Serialize)]
pub struct AskReport {
    pub question: String,
    pub answer: Option<String>,
    pub citations: Vec<Citation>,
    /// The pages and digests that were read for it.
    pub consulted: Vec<String>,
    /// The page that it was filed as.
    pub filed: Option<String>,
    pub made_by: String,
}

/// A sentence of the answer, and where it is from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Citation {
    pub text: String,
    /// The page or digest that has it.
    pub page: String,
    /// What `memtree recall` opens, where it is a session's.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    pub origin: Option<String>,
    /// Whether somebody said it in these words; else they are a page's own.
    pub quoted: bool,
    /// What else it answers to, and the project whose it is: by these it is found.
    #[serde(skip)]
    about: String,
    #[serde(skip)]
    project: String,
    /// Whether it is a rule that the person gave, on the page of the core.
    #[serde(skip)]
    standing: bool,
}

impl Memory {
    /// Answers a question from the pages of knowledge, with citations.
    pub fn ask(&self, request: AskRequest) -> Result<AskReport> {
        let (store, redactor, models) = (self.store(), self.redactor()?, self.models()?);
        let question = redactor.redact(&text::one_line(&request.question, 400)).into_owned();
        let asked_days = AskedDays::of(&question);
        let mut terms = QuestionTerms::of(&question);
        if let Some(asked) = &asked_days {
            let when: HashSet<String> = text::words(&question)
                .into_iter()
                .filter(|word| asked.is_said_by(&word.to_lowercase()))
                .map(|word| stem(&word.to_lowercase()).to_string())
                .collect();
            terms.0.retain(|(term, _)| !when.contains(term));
            let dry_run = request.dry_run;
            if let Some(answer) = self.answer_from_days(asked, &terms, &question, dry_run)? {
                return Ok(answer);
            }
        } else if let Some(kind) = days::asked_kind(&question) {
            let found = self.claims(kind, &question, &terms, request.dry_run)?;
            if let Some(answer) = found.filter(|_| !request.file_back) {
                return Ok(answer);
            }
        }
        if terms.0.is_empty() {
            return Err(Error::usage("there is nothing to answer")
                .hint("ask a question: `memtree ask \"why full jitter?\"`"));
        }
        let pages = store.read_pages().context(|| "cannot read the pages of knowledge".into())?;
        // An answer that was filed earlier is not evidence for itself.
        let own = question_name(store, &question);
        let pages: Vec<&ReadPage> = pages.iter().filter(|page| page.name != own).collect();
        let also = phrasings(redactor, &request.also);
        let mut asked = vec![terms];
        asked.extend(also.iter().map(|other| QuestionTerms::of(other)));
        asked.retain(|terms| !terms.0.is_empty());
        let found = self.find(&question, &also, &asked, &pages, request.dry_run)?;
        let Found { citations, consulted, answers } = found;
        let mut answer = AskReport {
            question,
            answer: None,
            citations: Vec::new(),
            consulted,
            filed: None,
            made_by: "extractive/1".into(),
        };
        if answers {
            let quoted: String =
                citations.iter().map(|cited| format!("{}\n", line(cited))).collect();
            let worded = worded(&answer.question, &citations, models);
            answer.citations = citations;
            answer.answer = Some(match worded {
                Some(prose) => {
                    answer.made_by = models.made_by(Alias::High);
                    format!("{prose}\n\n{quoted}")
                }
                None => quoted,
            });
            if request.file_back && !request.dry_run {
                answer.filed = Some(file(store, &own, &answer, self.now())?);
            }
        }
        Ok(answer)
    }
}

impl Memory {
    /// Looks for what answers a question in one of its phrasings: on pages, then in digests.
    fn find(
        &self,
        question: &str,
        also: &[String],
        asked: &[QuestionTerms],
        pages: &[&ReadPage],
        dry_run: bool,
    ) -> Result<Found> {
        let of_core = days::from_core(self)?;
        let mut projects = days::Projects::of_memory(self);
        let asked: Vec<Asked<'_>> = asked
            .iter()
            .map(|terms| Ok(Asked::of(terms, self.named_projects(terms, dry_run)?)))
            .collect::<Result<_>>()?;
        let mut found = Found::default();
        for asked in &asked {
            let picked = pick(asked.terms, pages);
            found.consult(picked.iter().map(|page| page.name.to_string()));
            let mut of_pages: Vec<Citation> =
                picked.iter().flat_map(|page| sentences(page)).collect();
            if !asked.projects.is_empty() {
                projects.name(&mut of_pages);
            }
            let both = of_core.iter().cloned().chain(of_pages).collect();
            found.take(asked, both, Answered::Alone);
        }
        // All phrasings together; then one by one, since one that fits nothing makes guesses of
        // what the others find.
        let together = std::iter::once((question, also));
        let alone = also.iter().map(|other| (other.as_str(), &[] as &[String]));
        for (phrasing, others) in together.chain(alone) {
            if found.answers {
                break;
            }
            let named = asked.iter().flat_map(|asked| &asked.projects).next();
            let search = DigestSearch { question: phrasing, also: others, project: named, dry_run };
            let (more, digests) = from_digests(self, &search, said_by)?;
            found.consult(digests.into_iter());
            for asked in &asked {
                let both = found.citations.iter().chain(&more).cloned();
                found.take(asked, both.collect(), Answered::Together);
            }
        }
        Ok(found)
    }
}

/// What is asked, and of which projects.
struct Asked<'t> {
    terms: &'t QuestionTerms,
    projects: Vec<String>,
    /// The terms that do not name a project.
    subject: QuestionTerms,
}

impl<'t> Asked<'t> {
    fn of(terms: &'t QuestionTerms, projects: Vec<String>) -> Asked<'t> {
        let subject = terms.without_projects(&projects);
        Asked { terms, projects, subject }
    }
}

/// What was found for a question until now.
#[derive(Default)]
struct Found {
    citations: Vec<Citation>,
    /// The pages and digests that were read for it.
    consulted: Vec<String>,
    /// Whether they answer it.
    answers: bool,
}

impl Found {
    /// Takes the best of some sentences, unless there is an answer already.
    fn take(&mut self, asked: &Asked<'_>, candidates: Vec<Citation>, by: Answered) {
        // Whoever names a project asks for what its sessions say; only where they say nothing the
        // name may be a word like any other.
        if !asked.projects.is_empty() && !asked.subject.0.is_empty() && !self.answers {
            let own = best(&asked.subject, of_projects(candidates.clone(), &asked.projects));
            if asked.subject.are_answered_by(&own, by) {
                (self.citations, self.answers) = (own, true);
            }
        }
        let citations = best(asked.terms, candidates);
        let answers = asked.terms.are_answered_by(&citations, by);
        if !self.answers && (answers || self.citations.is_empty()) {
            (self.citations, self.answers) = (citations, answers);
        }
    }

    fn consult(&mut self, names: impl Iterator<Item = String>) {
        for name in names {
            if !self.answers && !self.consulted.contains(&name) {
                self.consulted.push(name);
            }
        }
    }
}

/// Other phrasings as they are asked: without secrets, empty ones and more than anybody needs.
fn phrasings(redactor: &Redactor, also: &[String]) -> Vec<String> {
    let short = also.iter().map(|other| redactor.redact(&text::one_line(other, 400)).into_owned());
    short.filter(|other| !other.trim().is_empty()).take(MOST_PHRASINGS - 1).collect()
}

impl Memory {
    /// Answers a question about days; `None` where they do not answer it.
    fn answer_from_days(
        &self,
        asked: &AskedDays,
        terms: &QuestionTerms,
        question: &str,
        dry_run: bool,
    ) -> Result<Option<AskReport>> {
        let projects = self.project_terms(terms, dry_run)?;
        let is_about = |line: &str, project: Option<&str>| {
            terms.are_met_by(line, project.unwrap_or_default(), &projects)
        };
        // A branch or a file of another project may be called like the project that is meant.
        let is_of_it = |_: &str, project: Option<&str>| {
            terms.ask_only_for(project.unwrap_or_default(), &projects)
        };
        let rest =
            (!terms.0.is_empty()).then_some(&is_about as &dyn Fn(&str, Option<&str>) -> bool);
        let own = rest.map(|_| asked.answer(self, Some(&is_of_it))).transpose()?;
        let (citations, consulted) = match own.filter(|(citations, _)| !citations.is_empty()) {
            Some(own) => own,
            None => asked.answer(self, rest)?,
        };
        Ok(answer_of(question, citations, consulted))
    }

    /// Which of the terms name projects of this memory.
    fn project_terms(&self, terms: &QuestionTerms, dry_run: bool) -> Result<BTreeSet<usize>> {
        let named = self.named_projects(terms, dry_run)?;
        Ok(named.iter().flat_map(|project| terms.named_by(&stems(project))).collect())
    }

    /// The projects of this memory that a question names.
    fn named_projects(&self, terms: &QuestionTerms, dry_run: bool) -> Result<Vec<String>> {
        let source = if dry_run { Source::InMemory } else { Source::Refreshed };
        let index = Index::open(self.store(), Corpus::Digests, source)?;
        let known = index.filter_values(FilterKey::Project).into_iter();
        let is_named = |project: &String| {
            let of = QuestionTerms::of(project);
            let is_asked = |one: &(String, f32)| terms.0.iter().any(|(term, _)| *term == one.0);
            !of.0.is_empty() && of.0.iter().all(is_asked)
        };
        Ok(known.map(|project| project.to_string()).filter(is_named).collect())
    }

    /// Answers from the claims of one kind of the sessions that have to do with the question, and
    /// of the core, before any page is asked; `None` where none of them answers it.
    fn claims(
        &self,
        kind: ClaimKind,
        question: &str,
        terms: &QuestionTerms,
        dry_run: bool,
    ) -> Result<Option<AskReport>> {
        let named = self.named_projects(terms, dry_run)?;
        let search = DigestSearch { question, also: &[], project: named.first(), dry_run };
        let (mut found, mut consulted) = from_digests(self, &search, |digest| {
            said_by(digest).into_iter().filter(|said| said.kind == Some(kind)).collect()
        })?;
        if kind == ClaimKind::Standing {
            found.splice(..0, days::from_core(self)?.into_iter().filter(|cited| cited.standing));
            consulted.insert(0, "core/MEMORY".into());
        }
        let asked = terms.without(|term| days::says_kind(kind, term));
        let subject = asked.without_projects(&named);
        // Whoever asks for a project's rules, and for nothing in it, asks for all of them.
        if subject.0.is_empty() && !named.is_empty() {
            let citations = distinct(of_projects(found, &named)).into_iter();
            return Ok(answer_of(question, citations.take(MOST_SENTENCES).collect(), consulted));
        }
        let mut of_kind = Found { consulted, ..Found::default() };
        of_kind.take(&Asked { terms: &asked, projects: named, subject }, found, Answered::Together);
        let Found { citations, consulted, answers } = of_kind;
        Ok(answers.then(|| answer_of(question, citations, consulted)).flatten())
    }
}

/// The answer that citations make; `None` where there are none.
fn answer_of(
    question: &str,
    citations: Vec<Citation>,
    consulted: Vec<String>,
) -> Option<AskReport> {
    let lines: String = citations.iter().map(|cited| format!("{}\n", line(cited))).collect();
    (!citations.is_empty()).then(|| AskReport {
        question: question.to_string(),
        answer: Some(lines),
        citations,
        consulted,
        filed: None,
        made_by: "extractive/1".into(),
    })
}

const ANSWER: Prompt = Prompt {
    task: "answer",
    text: include_str!("../../../templates/prompts/answer.md"),
    reply_tokens: 300,
};

/// The answer in a model's words, each sentence with the citations that it rests on and marked as a
/// model's.
fn worded(question: &str, citations: &[Citation], models: &Models) -> Option<String> {
    if !models.is_enabled() {
        return None;
    }
    let numbered = wording::numbered(citations.iter().map(|cited| cited.text.as_str()));
    let Answer::Text(reply) =
        models.ask(Alias::High, &ANSWER, &[format!("Question: {question}\n\n{numbered}")])
    else {
        return None;
    };
    let quotes: Vec<&str> = citations.iter().map(|cited| cited.text.as_str()).collect();
    let sentences = wording::sentences(&reply, &quotes);
    let cited = sentences.iter().map(|(sentence, numbers)| {
        let links: BTreeSet<String> =
            numbers.iter().map(|at| source_link(&citations[*at])).collect();
        let links: Vec<String> = links.into_iter().collect();
        format!("{} ({})", documents::said(sentence), links.join(", "))
    });
    let sentences: Vec<String> = cited.collect();
    (!sentences.is_empty()).then(|| format!("{} {MARK}", sentences.join(" ")))
}

/// A citation as it stands in an answer.
pub fn line(cited: &Citation) -> String {
    let who = cited.origin.as_ref().map(|origin| format!("{origin}, ")).unwrap_or_default();
    let page = match session_link(cited) {
        Some((digest, link)) if digest == cited.page => link,
        Some((_, link)) => format!("{link}, {}", link_to_page(cited)),
        None => link_to_page(cited),
    };
    // Also what a page says in its own words: agents read this, and anybody may write a page.
    format!("- “{}” ({who}{page})", documents::said(&cited.text))
}

fn source_link(cited: &Citation) -> String {
    session_link(cited).map_or_else(|| link_to_page(cited), |(_, link)| link)
}

/// The page that a citation stands on, as the page of an answer links to it.
fn link_to_page(cited: &Citation) -> String {
    documents::link_to_consulted(&cited.page, Place::Page)
}

/// The digest of the session that a citation is from, and a link to it.
fn session_link(cited: &Citation) -> Option<(String, String)> {
    let reference = cited.reference.as_ref()?;
    let session = reference.split('#').next()?.parse().ok()?;
    Some((layout::link_to_digest(&session), links::to_digest(&session, reference, Place::Page)))
}

// --- What is asked ---

/// The words of a question that say what it is about: each stem once, in the order of the question,
/// with its weight.
struct QuestionTerms(Vec<(String, f32)>, Wants);

/// What kind of thing a question wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Anything,
    PullRequest,
    Commit,
    Reason,
}

impl Wants {
    fn of(question: &str) -> Wants {
        static PULL_REQUEST: StaticRegex =
            StaticRegex::new(r"(?i)\b(?:which|what) (?:prs?|pull requests?)\b");
        static COMMIT: StaticRegex = StaticRegex::new(r"(?i)\b(?:which|what) commits?\b");
        static REASON: StaticRegex = StaticRegex::new(r"(?i)^\W*why\b|\band why\b|\bthe reason\b");
        match () {
            () if PULL_REQUEST.is_match(question) => Wants::PullRequest,
            () if COMMIT.is_match(question) => Wants::Commit,
            () if REASON.is_match(question) => Wants::Reason,
            () => Wants::Anything,
        }
    }

    /// Whether a sentence names such a thing.
    fn is_met_by(self, said: &str) -> bool {
        static PULL_REQUEST: StaticRegex = StaticRegex::new(r"\bPR #\d|/pull/\d");
        static COMMIT: StaticRegex = StaticRegex::new(r"\b[0-9a-f]{7,12}\b");
        static REASON: StaticRegex = StaticRegex::new(
            r"(?i)\b(?:because|since|so that|root cause|due to|caused by|the reason|no longer needed)\b|^cause:| → ",
        );
        match self {
            Wants::Anything => false,
            Wants::PullRequest => PULL_REQUEST.is_match(said),
            Wants::Commit => COMMIT.is_match(said),
            Wants::Reason => REASON.is_match(said),
        }
    }
}

impl QuestionTerms {
    fn of(question: &str) -> QuestionTerms {
        let mut terms: Vec<(String, f32)> = Vec::new();
        text::each_word(question, |word| {
            // A number or a short name may be just what is meant.
            let weight = match words::weight(&word.text) {
                0.0 if word.text.bytes().any(|byte| byte.is_ascii_digit()) => 0.6,
                weight => weight,
            };
            if word.whole && weight > 0.0 && !ASKING.contains(&word.text.as_ref()) {
                let stem = stem(&word.text);
                terms.retain(|(known, _)| known != stem);
                terms.push((stem.to_string(), weight));
            }
        });
        QuestionTerms(terms, Wants::of(question))
    }

    /// Those that are not of a kind.
    fn without(&self, is_so: impl Fn(&str) -> bool) -> QuestionTerms {
        let kept = self.0.iter().filter(|(term, _)| !is_so(term)).cloned();
        QuestionTerms(kept.collect(), self.1)
    }

    /// Those that do not name one of some projects.
    fn without_projects(&self, projects: &[String]) -> QuestionTerms {
        let names: HashSet<String> = projects.iter().flat_map(|name| stems(name)).collect();
        self.without(|term| names.contains(term))
    }

    /// Which of them some words name.
    fn named_by(&self, words: &HashSet<String>) -> BTreeSet<usize> {
        (0..self.0.len()).filter(|at| words.contains(&self.0[*at].0)).collect()
    }

    /// Which of them a citation names: by its words, and then also by its project.
    fn named_in(&self, cited: &Citation) -> BTreeSet<usize> {
        let mut named = self.named_by(&stems(&format!("{} {}", cited.text, cited.about)));
        if !named.is_empty() {
            named.extend(self.named_by(&stems(&cited.project)));
        }
        named
    }

    /// Whether a line of a project's session has to do with them, of which some name projects:
    /// whoever asks for a project wants all of it, unless they ask for something in it.
    fn are_met_by(&self, line: &str, project: &str, projects: &BTreeSet<usize>) -> bool {
        let of_line = self.named_by(&stems(line));
        let of_both: BTreeSet<usize> =
            self.named_by(&stems(project)).union(&of_line).copied().collect();
        let is_there = projects.is_empty() || !of_both.is_disjoint(projects);
        is_there && (projects.len() == self.0.len() || !of_line.is_subset(projects))
    }

    /// Whether nothing but a project is asked for, and it is this one.
    fn ask_only_for(&self, project: &str, projects: &BTreeSet<usize>) -> bool {
        projects.len() == self.0.len() && !self.named_by(&stems(project)).is_disjoint(projects)
    }

    /// Those with digits: what is meant itself, rather than a word for it.
    fn numbers(&self) -> BTreeSet<usize> {
        let has_digit = |at: &usize| self.0[*at].0.bytes().any(|byte| byte.is_ascii_digit());
        (0..self.0.len()).filter(has_digit).collect()
    }

    fn weight(&self, named: &BTreeSet<usize>) -> f32 {
        named.iter().map(|at| self.0[*at].1).sum()
    }

    /// Whether citations answer it, the first few together or one of them alone. A number or a
    /// version is what is meant itself, so it has to be named.
    fn are_answered_by(&self, citations: &[Citation], by: Answered) -> bool {
        let named = |cited: &Citation| {
            let page = stems(&cited.page.replace(['-', '/'], " "));
            &self.named_in(cited) | &self.named_by(&page)
        };
        let first = || citations.iter().take(3).map(named);
        let numbers = self.numbers();
        let least = ANSWERS * self.0.iter().map(|(_, weight)| weight).sum::<f32>();
        let is_enough =
            |named: &BTreeSet<usize>| self.weight(named) >= least && numbers.is_subset(named);
        match by {
            Answered::Together => !citations.is_empty() && is_enough(&first().flatten().collect()),
            // A page that names no such thing as is asked for leaves the digests to be asked.
            Answered::Alone => citations.iter().take(3).any(|cited| {
                let is_wanted = self.1 == Wants::Anything || self.1.is_met_by(&cited.text);
                is_wanted && is_enough(&named(cited))
            }),
        }
    }
}

/// What has to answer a question: one citation by itself, or the first few together. Until the
/// digests were asked, words that stand here and there on pages are no answer.
#[derive(Clone, Copy)]
enum Answered {
    Alone,
    Together,
}

/// Words that ask rather than say.
const ASKING: &[&str] = &[
    "handle", "handled", "happen", "happened", "happens", "explain", "describe", "tell", "decide",
    "decided", "work", "works", "worked", "reason", "difference", "using", "used", "deal", "best",
];

fn stems(said: &str) -> HashSet<String> {
    let mut stems = HashSet::new();
    text::each_word(said, |word| _ = stems.insert(stem(&word.text).to_string()));
    stems
}

// --- Which pages ---

/// The pages that have most to do with the question, the best first.
fn pick<'p>(terms: &QuestionTerms, pages: &[&'p ReadPage]) -> Vec<&'p ReadPage> {
    let texts: Vec<PageTexts> = pages.iter().map(|page| page_texts(page)).collect();
    let mut scored: Vec<(f32, &ReadPage)> =
        index::score_pages(&terms.0, &texts).into_iter().zip(pages.iter().copied()).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let least = scored.first().map_or(0.0, |(best, _)| FAR_FROM_BEST * best);
    let near = scored.iter().enumerate().filter(|(at, one)| *at < FEWEST_PAGES || one.0 >= least);
    near.take(MOST_PAGES).map(|(_, (_, page))| *page).collect()
}

/// The words of a page, what it is called counting more than what it says.
fn page_texts(page: &ReadPage) -> PageTexts<'_> {
    let mut texts: PageTexts = vec![(page.title.as_str().into(), 4.0)];
    texts.extend(page.aliases.iter().map(|alias| (alias.into(), 3.0)));
    texts.extend(page.tags.iter().map(|tag| (tag.into(), 1.0)));
    texts.push((page.summary.as_str().into(), 2.0));
    texts.push((without_links(Document::parse(&page.text).body()).into(), 1.0));
    texts
}

// --- Which sentences ---

/// What a page says, sentence by sentence: what is quoted on it, and what a person or a model
/// wrote.
fn sentences(page: &ReadPage) -> Vec<Citation> {
    static QUOTED: StaticRegex = StaticRegex::new(concat!(
        r"“([^”]+)” \((user|assistant|tool), ",
        r"(?:\[\[[^\]|]+(?:\|([^\]]+))?\]\]|\[([^\]]+)\]\([^)]*\))\)"
    ));
    // What every page of ours says around its quotes answers nothing.
    static OUR_WORDS: StaticRegex = StaticRegex::new(
        r"(?i)\bcame up in \d+ (sessions?|exchanges?)\b|\bwere named together in \d+ sentences?\b|\bwhen asked\b|^In that exchange\b|\bexchanges? in common\b|\bis a project on which\b",
    );
    static LEAD: StaticRegex = StaticRegex::new(
        r"(?m)^\d{4}-\d\d-\d\d(?:, [^,“\n]{1,80})?(?:, when asked “[^\n]*?”(?:[:.]|$)|:)|In that exchange: [^\n]*$",
    );
    let document = Document::parse(&page.text);
    let name = page.name.to_string();
    let mut cited = Vec::new();
    let body = document.body();
    // What is listed as related or as a source answers nothing.
    let parts = crate::store::authored::sections(body);
    let lists = ["## Related", "## Sources", "## Follow-Up", "## See Also"];
    for part in parts.iter().filter(|part| !lists.iter().any(|list| part.starts_with(list))) {
        for found in QUOTED.captures_iter(part) {
            cited.push(Citation {
                text: plain(&found[1]),
                page: name.clone(),
                reference: found.get(3).or(found.get(4)).map(|shown| shown.as_str().to_string()),
                origin: Some(found[2].to_string()),
                quoted: true,
                ..Citation::default()
            });
        }
        let rest = QUOTED.replace_all(part, " ");
        // The lead of a paragraph quotes a prompt, which may have several sentences.
        let rest = LEAD.replace_all(&rest, " ");
        let says_something = |sentence: &&str| {
            let is_ours = OUR_WORDS.is_match(sentence);
            sentence.chars().count() >= 24 && !is_ours && !text::is_standing_order(sentence)
        };
        for sentence in text::sentences(&without_links(&rest)).filter(says_something) {
            let (text, page) = (text::one_line(sentence, 400), name.clone());
            cited.push(Citation { text, page, ..Citation::default() });
        }
    }
    cited
}

/// The sentences that answer best, each of which adds something.
fn best(terms: &QuestionTerms, candidates: Vec<Citation>) -> Vec<Citation> {
    let mut scored: Vec<(f32, BTreeSet<usize>, Citation)> = candidates
        .into_iter()
        .map(|cited| (terms.named_in(&cited), cited))
        .filter(|(named, _)| !named.is_empty())
        .map(|(named, cited)| (terms.weight(&named) + preference(terms, &cited), named, cited))
        .collect();
    scored.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then_with(|| a.2.page.cmp(&b.2.page))
            .then_with(|| a.2.text.cmp(&b.2.text))
    });
    // What names the number that is asked for answers; what does not speaks of something else.
    let numbers = terms.numbers();
    if !numbers.is_empty() && scored.iter().any(|(_, named, _)| numbers.is_subset(named)) {
        scored.retain(|(_, named, _)| numbers.is_subset(named));
    }
    let most = scored.first().map_or(0.0, |(score, ..)| *score);
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    let mut chosen: Vec<Citation> = Vec::new();
    for (score, named, cited) in scored {
        let adds = !named.is_subset(&covered);
        if chosen.len() < MOST_SENTENCES
            && (score >= 0.6 * most || (adds && score >= 0.4 * most))
            && !chosen.iter().any(|known| says_again(&cited, known))
        {
            covered.extend(named);
            chosen.push(cited);
        }
    }
    chosen
}

/// Whether a citation says nothing but what another one of the same page says.
fn says_again(cited: &Citation, known: &Citation) -> bool {
    let is_same = || stems(&cited.text).is_subset(&stems(&known.text));
    cited.text == known.text || (cited.page == known.page && is_same())
}

/// Citations without those that say again what one before them says.
fn distinct(cited: Vec<Citation>) -> Vec<Citation> {
    let mut kept: Vec<Citation> = Vec::with_capacity(cited.len());
    for cited in cited {
        let same = |known: &Citation| {
            says_again(&Citation { page: known.page.clone(), ..cited.clone() }, known)
        };
        if !kept.iter().any(same) {
            kept.push(cited);
        }
    }
    kept
}

/// Those of some projects.
fn of_projects(mut cited: Vec<Citation>, projects: &[String]) -> Vec<Citation> {
    let is_one = |project: &str| projects.iter().any(|one| one.eq_ignore_ascii_case(project));
    cited.retain(|cited| is_one(&cited.project) || cited.project == EVERYWHERE);
    cited
}

/// Of two sentences that name the same, the one that is quoted comes first, and then the one that
/// explains.
fn preference(terms: &QuestionTerms, cited: &Citation) -> f32 {
    let quoted = if cited.reference.is_some() { 0.15 } else { 0.0 };
    // A page on just what is asked about says it best.
    let subject = cited.page.rsplit('/').next().unwrap_or_default().replace('-', " ");
    let asked = |stem: &String| terms.0.iter().any(|(term, _)| term == stem);
    let on_subject = if stems(&subject).iter().all(asked) { 0.3 } else { 0.0 };
    // What the page of a session says itself was weighed before it was written there.
    let outcome = if cited.reference.is_some() && !cited.quoted { 0.1 } else { 0.0 };
    let explains = ["because", "so that", "instead", "rather", "is ", "must"]
        .iter()
        .any(|word| cited.text.contains(word));
    let wanted = if terms.1.is_met_by(&cited.text) { 0.4 } else { 0.0 };
    quoted + on_subject + outcome + wanted + if explains { 0.2 } else { 0.0 }
}

/// A sentence of a digest.
struct Said {
    text: String,
    /// Where it was said, and by whom; what nobody said is the page's own.
    episode: Option<EpisodeId>,
    origin: Option<Origin>,
    /// What it claims, where it is a claim.
    kind: Option<ClaimKind>,
}

/// What a digest says of its session: what it is called, what came of it, what was decided and
/// learnt, and when to open it.
fn said_by(digest: &Digest) -> Vec<Said> {
    let content = &digest.content;
    let own = |text: &str, episode| Said { text: text.into(), episode, origin: None, kind: None };
    let mut said = vec![own(&content.title, None)];
    said.extend(content.key_outcomes.iter().map(|outcome| {
        let place = outcome.strip_suffix(')').and_then(|line| line.rsplit_once(" (EP_"));
        match place.and_then(|(text, number)| Some((text, number.parse().ok()?))) {
            Some((text, number)) => own(text, Some(EpisodeId(number))),
            None => own(outcome, None),
        }
    }));
    said.extend(content.stated.iter().map(|claim| Said {
        text: claim.text.clone(),
        episode: Some(claim.episode),
        origin: Some(claim.origin),
        kind: Some(claim.kind),
    }));
    // The sentence of the person's is their prompt, which asks rather than answers.
    let triggers = content.triggers.iter().filter(|trigger| trigger.origin != Origin::User);
    said.extend(triggers.map(|trigger| Said {
        text: trigger.sentence.clone(),
        episode: Some(trigger.episode),
        origin: Some(trigger.origin),
        kind: None,
    }));
    said.retain(|said| !said.text.is_empty());
    said
}

/// What to look for in digests.
struct DigestSearch<'q> {
    question: &'q str,
    also: &'q [String],
    /// The project whose sessions are asked first.
    project: Option<&'q String>,
    dry_run: bool,
}

/// What the digests of sessions say, as far as `sentences` takes it from each.
fn from_digests(
    memory: &Memory,
    asked: &DigestSearch<'_>,
    sentences: impl Fn(&Digest) -> Vec<Said>,
) -> Result<(Vec<Citation>, Vec<String>)> {
    let words = text::words(asked.question).join(" ");
    let also: Vec<String> = asked.also.iter().map(|other| text::words(other).join(" ")).collect();
    let mut hits = Vec::new();
    for project in [asked.project, None].into_iter().skip(usize::from(asked.project.is_none())) {
        let mut query = Query::parse(&words)?;
        if let Some(project) = project {
            query.filter(FilterKey::Project, project)?;
        }
        let search = SearchRequest::default().query(query).also(also.clone());
        let search = search.limit(FROM_DIGESTS).dry_run(asked.dry_run);
        let strong = memory.search(search)?.hits.into_iter().filter(|hit| !hit.weak);
        hits.extend(strong.map(|hit| hit.session));
    }
    let store = memory.store();
    let (mut cited, mut consulted) = (Vec::new(), Vec::new());
    for session in hits {
        let page = layout::link_to_digest(&session);
        let Some(digest) = store.digest(&session).ok().flatten() else { continue };
        if consulted.contains(&page) {
            continue;
        }
        cited.extend(sentences(&digest).into_iter().map(|said| Citation {
            text: text::one_line(&plain(&said.text), 400),
            page: page.clone(),
            reference: Some(match said.episode {
                Some(episode) => format!("{session}#{episode}"),
                None => session.to_string(),
            }),
            origin: said.origin.map(|origin| origin.to_string()),
            quoted: said.origin.is_some(),
            project: digest.content.project.clone().unwrap_or_default(),
            ..Citation::default()
        }));
        consulted.push(page);
    }
    Ok((cited, consulted))
}

// --- Filing ---

/// The page of a question: that of its words, unless another question has it.
fn question_name(store: &Store, question: &str) -> PageName {
    let name = PageName::new(Kind::Question, question);
    let same = |name: &PageName| match store.page_text(name) {
        Ok(Some(text)) => {
            Document::parse(&text).get_str("question").is_none_or(|there| there == question)
        }
        _ => true,
    };
    if same(&name) {
        return name;
    }
    PageName::new(
        Kind::Question,
        &format!("{} {}", text::cut(name.slug(), 60), &files::sha256_hex(question.as_bytes())[..6]),
    )
}

fn file(store: &Store, name: &PageName, answer: &AskReport, now: Timestamp) -> Result<String> {
    store.refuse_links(None)?;
    let _lock = files::lock_exclusive(&store.layout().knowledge_lock())
        .context(|| "cannot lock the knowledge".into())?;
    let cannot = || format!("cannot file the answer as `{name}`");
    let existing = store.page_text(name).context(cannot)?;
    // Filed once: asking the same again does not make it younger.
    let filed = existing.and_then(|text| Document::parse(&text).get_str("filed"));
    let question = Question {
        question: answer.question.clone(),
        consulted: answer.consulted.clone(),
        filed: filed.unwrap_or_else(|| clock::stamp(now)),
        answer: answer.answer.iter().flat_map(|text| text.lines()).map(str::to_string).collect(),
        follow_up: follow_up(store, &answer.consulted).context(cannot)?,
        made_by: answer.made_by.clone(),
    };
    if store.write_page(name, &documents::question_page(&question)).context(cannot)? {
        store.log_knowledge(&documents::ask_entry(name, &question)).context(cannot)?;
    }
    store.write_index().context(cannot)?;
    Ok(store.layout().shown(&store.layout().page(name)))
}

/// Pages next to those that were read, to go on with.
fn follow_up(store: &Store, consulted: &[String]) -> std::io::Result<Vec<PageName>> {
    let mut near: BTreeSet<PageName> = BTreeSet::new();
    let there = store.page_names()?;
    for name in consulted.iter().take(FEWEST_PAGES).filter_map(|name| name.parse::<PageName>().ok())
    {
        let text = store.page_text(&name)?.unwrap_or_default();
        let linked = targets(Document::parse(&text).body(), name.kind)
            .into_iter()
            .filter_map(|link| link.parse().ok());
        near.extend(linked.filter(|name: &PageName| {
            there.contains(name) && !consulted.contains(&name.to_string())
        }));
    }
    Ok(near.into_iter().take(FOLLOW_UPS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_that_leads_a_paragraph_answers_nothing() {
        let text = "---\nschema: memtree/knowledge/1\n---\n# Tide\n\n## Details\n\n\
            2026-02-21, harbour, when asked “ok. But we will lock the tide log. Paint it…”: \
            “The tide log takes its lock first.” (assistant, [SES1_a_SP1C1#EP_001](x.md)) \
            In that exchange: changed `tide.rs`; failed `$ tide lock the log`.\n\n\
            The tide log was written anew by hand.\n";
        let page = ReadPage {
            name: "concepts/tide".parse().unwrap(),
            title: "Tide".into(),
            aliases: Vec::new(),
            tags: Vec::new(),
            days: Vec::new(),
            updated: String::new(),
            summary: String::new(),
            text: text.into(),
        };
        let said: Vec<String> = sentences(&page).into_iter().map(|cited| cited.text).collect();
        assert_eq!(
            said,
            ["The tide log takes its lock first.", "The tide log was written anew by hand."]
        );
    }

    #[test]
    fn whoever_names_a_project_asks_for_its_lines() {
        let met = |question: &str, line: &str, project: Option<&str>| {
            let terms = QuestionTerms::of(question);
            let projects = terms.named_by(&stems("tide-book"));
            terms.are_met_by(line, project.unwrap_or_default(), &projects)
        };
        let line = "Commit 1f3c9e2 on branch locks is not pushed";
        assert!(met("tide-book", line, Some("tide-book")));
        assert!(!met("tide-book", line, Some("reef")));
        assert!(!met("tide-book", line, None));
        assert!(met("locks in tide-book", line, Some("tide-book")));
        assert!(!met("anchors in tide-book", line, Some("tide-book")), "something in it is asked");
        assert!(met("tide-book", "The tide-book has a new page", Some("reef")));
        assert!(!met("anchors in tide-book", "No window for tide-book", Some("reef")));
        assert!(met("locks", line, None), "no project is named");
        let terms = QuestionTerms::of("tide-book");
        let projects = terms.named_by(&stems("tide-book"));
        assert!(terms.ask_only_for("tide-book", &projects));
        assert!(!terms.ask_only_for("reef", &projects));
        let terms = QuestionTerms::of("anchors in tide-book");
        assert!(!terms.ask_only_for("tide-book", &projects));
    }

    #[test]
    fn the_line_of_commands_answers_how_to_run_the_tests() {
        let checks = Citation {
            text: "Checks that pass here: `just all`".into(),
            about: "test tests run".into(),
            project: "tide".into(),
            ..Citation::default()
        };
        let other = Citation { project: "reef".into(), ..checks.clone() };
        let rule = Citation { text: "Never stash".into(), project: "tide".into(), ..other.clone() };
        let rule = Citation { about: String::new(), ..rule };
        let terms = QuestionTerms::of("how do I run the tests in tide?");
        let found = best(&terms, vec![rule, other, checks.clone()]);
        assert_eq!(found[0], checks);
        assert!(found.iter().all(|cited| cited.text != "Never stash"), "{found:?}");
    }

    fn cited(text: &str, project: &str) -> Citation {
        Citation { text: text.into(), project: project.into(), ..Citation::default() }
    }

    fn asked<'t>(terms: &'t QuestionTerms, projects: &[&str]) -> Asked<'t> {
        Asked::of(terms, projects.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn a_number_that_is_asked_for_has_to_be_named() {
        let terms = QuestionTerms::of("is PR 1510 merged?");
        let general = cited("Squashed branches are merged by the harbour watch", "");
        let answer = cited("PR #1510 merged: lock the harbour log", "");
        for (citation, answers) in [(general, false), (answer, true)] {
            let mut found = Found::default();
            found.take(&asked(&terms, &[]), vec![citation], Answered::Together);
            assert_eq!(found.answers, answers, "{:?}", found.citations);
        }
    }

    #[test]
    fn a_project_that_is_named_is_asked_before_all() {
        let terms = QuestionTerms::of("how is the lantern painted in tide?");
        let own = cited("The lantern is painted blue", "tide");
        let other = cited("The lantern is painted red, as the tide of the morning is", "reef");
        let mut found = Found::default();
        found.take(&asked(&terms, &["tide"]), vec![other.clone(), own.clone()], Answered::Alone);
        assert_eq!(found.citations, [own]);
        let mut found = Found::default();
        found.take(&asked(&terms, &["tide"]), vec![other.clone()], Answered::Alone);
        assert_eq!(found.citations, [other], "the name may be a word like any other");
    }

    #[test]
    fn words_here_and_there_answer_only_once_all_was_read() {
        let terms = QuestionTerms::of("why did the lantern publish fail?");
        let two = || vec![cited("The lantern is blue", ""), cited("Publish fails at noon", "")];
        let mut found = Found::default();
        found.take(&asked(&terms, &[]), two()[..1].to_vec(), Answered::Alone);
        assert!(!found.answers, "{:?}", found.citations);
        found.take(&asked(&terms, &[]), two(), Answered::Together);
        assert!(found.answers);
    }

    #[test]
    fn a_digest_answers_with_all_that_it_says() {
        use crate::model::digest::{Claim, Content};
        let content = Content {
            title: "Lock the harbour log".into(),
            key_outcomes: vec!["PR #12 is merged (EP_003)".into(), "Boats wait".into()],
            stated: vec![Claim {
                kind: ClaimKind::Decision,
                text: "Lanterns are blue".into(),
                episode: EpisodeId(2),
                origin: Origin::User,
            }],
            ..Content::default()
        };
        let said = said_by(&Digest::of_content("SES1_a_SP1C1", content));
        let said: Vec<(&str, Option<EpisodeId>, Option<ClaimKind>)> =
            said.iter().map(|said| (said.text.as_str(), said.episode, said.kind)).collect();
        assert_eq!(
            said,
            [
                ("Lock the harbour log", None, None),
                ("PR #12 is merged", Some(EpisodeId(3)), None),
                ("Boats wait", None, None),
                ("Lanterns are blue", Some(EpisodeId(2)), Some(ClaimKind::Decision)),
            ]
        );
    }

    #[test]
    fn the_kind_of_thing_that_is_asked_for_comes_first() {
        let first = |question: &str| {
            let lines = [
                "The lantern was dropped at the quay",
                "PR #7 drops the lantern of the quay",
                "The lantern was dropped because of the tide",
                "Commit 1f3c9e2 dropped the lantern",
            ];
            let cited = lines.map(|line| cited(line, "")).to_vec();
            best(&QuestionTerms::of(question), cited)[0].text.clone()
        };
        assert_eq!(first("which PR dropped the lantern?"), "PR #7 drops the lantern of the quay");
        assert_eq!(
            first("why was the lantern dropped?"),
            "The lantern was dropped because of the tide"
        );
        assert_eq!(
            first("which commit dropped the lantern?"),
            "Commit 1f3c9e2 dropped the lantern"
        );
    }
}
