//! Knowledge as documents: its pages, their index, and the log of what was compiled.

pub mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use chrono::NaiveDate;

use links::{Place, entry_target, without_links};

use super::Store;
use super::authored::{self, Order, Page, Rules, Unit};
use super::layout;
use crate::base::files::{self, Merge};
use crate::base::front_matter::{self, Document};
use crate::base::{markdown, text};
use crate::model::ids::SessionId;
use crate::model::knowledge::{
    About, Claim, Concept, Connection, Details, Kind, PageName, Question, Quote, QuoteSource,
    Relation, SourceDay,
};

/// Which summarizer writes pages without a model.
const EXTRACTIVE: &str = "extractive/1";
/// Pages that several devices compile. What they are from and since when is not a matter of
/// opinion.
pub const RULES: Rules = Rules {
    split: authored::headed_parts,
    unit: Unit::Line,
    order: Order::AsFound,
    measured: |key| {
        ["schema", "sources", "created", "updated", "connects", "made_by", "evidence"]
            .contains(&key)
    },
};
static QUESTION_RULES: Rules = Rules {
    measured: |key| ["schema", "question", "consulted", "filed", "made_by"].contains(&key),
    ..RULES
};
/// How many days a row of the index names.
const DAYS_IN_A_ROW: usize = 3;
const SUMMARY_CHARS: usize = 160;

/// What a session is called where it is a source.
type Sessions = BTreeMap<SessionId, About>;

// --- Pages ---

/// The page on a concept, with the summary that a model wrote.
pub fn concept_page(
    concept: &Concept,
    sessions: &Sessions,
    summary: Option<&ModelSummary>,
) -> Page {
    let mut entries = vec![
        ("schema", "memtree/concept/1".to_string()),
        ("title", front_matter::scalar(&concept.title)),
    ];
    entries.push(("aliases", front_matter::list(&concept.aliases)));
    entries.push(("tags", front_matter::list(&concept.tags)));
    entries.extend(source_entries(&concept.sources));
    match summary {
        None => entries.push(("made_by", EXTRACTIVE.into())),
        Some(ModelSummary { made_by, evidence, .. }) => {
            entries.push(("made_by", front_matter::scalar(made_by)));
            entries.push(("evidence", front_matter::scalar(evidence)));
        }
    }
    let related: String = concept.related.iter().map(relation_line).collect();
    let related = if related.is_empty() { "- nothing yet\n".to_string() } else { related };
    Page {
        rules: &RULES,
        entries,
        body: [
            format!("# {}\n\n{}\n\n", markdown::heading(&concept.title), core(concept)),
            summary.map(|summary| summary.section.clone()).unwrap_or_default(),
            format!("## Key Points\n\n{}\n", quote_lines(&concept.key_points)),
            format!("## Details\n\n{}\n", details(concept)),
            format!("## Related Concepts\n\n{related}\n"),
            format!("## Sources\n\n{}", source_lines(&concept.sources, sessions)),
        ]
        .concat(),
    }
}

/// The page on what connects two concepts.
pub fn connection_page(connection: &Connection, sessions: &Sessions) -> Page {
    let mut entries = vec![
        ("schema", "memtree/connection/1".to_string()),
        ("title", front_matter::scalar(&connection.title)),
    ];
    entries.push((
        "connects",
        front_matter::block_list(&connection.connects.each_ref().map(PageName::to_string)),
    ));
    entries.extend(source_entries(&connection.sources));
    entries.push(("made_by", EXTRACTIVE.into()));
    let insight = connection.insight.as_ref().map(cited).unwrap_or_default();
    let related: String =
        connection.related.iter().map(|name| format!("- {}\n", link(name))).collect();
    let [one, other] = connection.connects.each_ref().map(link);
    let connection_text = said(&connection.connection);
    Page {
        rules: &RULES,
        entries,
        body: [
            format!("# {}\n\n", markdown::heading(&connection.title)),
            format!("## The Connection\n\n{connection_text} It connects {one} and {other}.\n\n"),
            format!("## Key Insight\n\n{insight}\n\n"),
            format!("## Evidence\n\n{}\n", quote_lines(&connection.evidence)),
            format!("## Related\n\n{related}\n"),
            format!("## Sources\n\n{}", source_lines(&connection.sources, sessions)),
        ]
        .concat(),
    }
}

/// The page on a question.
pub fn question_page(question: &Question) -> Page {
    let consulted = question.consulted.iter().map(|name| link_to_consulted(name, Place::Page));
    let entries = vec![
        ("schema", "memtree/question/1".to_string()),
        ("title", front_matter::scalar(&question.question)),
        ("question", front_matter::scalar(&question.question)),
        ("consulted", front_matter::block_list(&question.consulted)),
        ("filed", question.filed.clone()),
        ("made_by", front_matter::scalar(&question.made_by)),
    ];
    let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let listed = |names: Vec<String>| match names.is_empty() {
        true => "- nothing yet\n".to_string(),
        false => names.iter().map(|name| format!("- {name}\n")).collect(),
    };
    Page {
        rules: &QUESTION_RULES,
        entries,
        body: [
            format!("# {}\n\n", markdown::heading(&question.question)),
            format!("## Answer\n\n{}\n", lines(&question.answer)),
            format!("## Sources Consulted\n\n{}\n", listed(consulted.collect())),
            format!("## Follow-Up\n\n{}", listed(question.follow_up.iter().map(link).collect())),
        ]
        .concat(),
    }
}

fn source_entries(sources: &[SourceDay]) -> Vec<(&'static str, String)> {
    let days: Vec<String> =
        sources.iter().map(|source| format!("{}.md", layout::link_to_day(source.day))).collect();
    let mut entries = vec![("sources", front_matter::block_list(&days))];
    entries.extend(sources.first().map(|first| ("created", first.day.to_string())));
    entries.extend(sources.last().map(|last| ("updated", last.day.to_string())));
    entries
}

fn core(concept: &Concept) -> String {
    let quotes: Vec<String> = concept.core.iter().map(cited).collect();
    format!("{} {}", said(&concept.where_met), quotes.join(" "))
}

pub const MODEL_SUMMARY: &str = "## Summary (model)";

/// What a page quotes, as a hash: a model's summary holds as long as it is the same.
pub fn evidence(concept: &Concept) -> String {
    let quotes: Vec<&str> = concept.quotes().iter().map(|quote| quote.text.as_str()).collect();
    files::sha256_hex(quotes.join("\n").as_bytes())[..12].to_string()
}

/// What a model made of the quotes on a page.
#[derive(Debug)]
pub struct ModelSummary {
    section: String,
    made_by: String,
    evidence: String,
}

impl ModelSummary {
    /// A model's sentences as a section that says whose words they are.
    pub fn new(claimed: &[Claim], made_by: String, evidence: String) -> ModelSummary {
        let note =
            "*Worded by a model from the quotes on this page; each sentence names its sources.*";
        let section = format!("{MODEL_SUMMARY}\n\n{}\n\n{note} `{made_by}`\n\n", claims(claimed));
        ModelSummary { section, made_by, evidence }
    }

    /// The one that a model wrote earlier from the same quotes.
    pub fn earlier(existing: &str, evidence: &str) -> Option<ModelSummary> {
        let document = Document::parse(existing);
        let mut sections = authored::sections(document.body()).into_iter();
        let section = sections.find(|section| section.starts_with(MODEL_SUMMARY))?;
        (document.get_str("evidence").as_deref() == Some(evidence)).then_some(())?;
        Some(ModelSummary {
            section: format!("{}\n\n", section.trim_end()),
            made_by: document.get_str("made_by")?,
            evidence: evidence.to_string(),
        })
    }
}

/// A model's sentences, each with its sources.
pub fn claims(claims: &[Claim]) -> String {
    let sentences: Vec<String> = claims
        .iter()
        .map(|claim| {
            let places: Vec<String> = claim.sources.iter().map(place_link).collect();
            format!("{} ({})", said(&claim.text), places.join(", "))
        })
        .collect();
    sentences.join(" ")
}

fn details(concept: &Concept) -> String {
    let paragraphs = concept.details.iter().map(detail);
    paragraphs
        .map(|paragraph| format!("{paragraph}\n\n"))
        .collect::<String>()
        .trim_end()
        .to_string()
        + "\n"
}

fn detail(details: &Details) -> String {
    let mut paragraph = said(&details.lead);
    if !details.quotes.is_empty() {
        let quotes: Vec<String> = details.quotes.iter().map(cited).collect();
        paragraph.push_str(&format!(": {}", quotes.join(" ")));
    }
    if !details.actions.is_empty() {
        let end = if details.quotes.is_empty() { "." } else { "" };
        paragraph.push_str(&format!("{end} In that exchange: {}", details.actions.join("; ")));
    }
    if paragraph.ends_with(['.', ')']) { paragraph } else { paragraph + "." }
}

fn quote_lines(quotes: &[Quote]) -> String {
    quotes.iter().map(|quote| format!("- {}\n", cited(quote))).collect()
}

/// Somebody's words, who said them, and where to open the rest.
fn cited(quote: &Quote) -> String {
    format!("“{}” ({}, {})", said(&quote.text), quote.origin, place_link(&quote.place))
}

fn place_link(place: &QuoteSource) -> String {
    match (&place.session, place.episode) {
        (Some(session), Some(episode)) => {
            links::to_digest(session, &format!("{session}#{episode}"), Place::Page)
        }
        (Some(session), None) => links::to_digest(session, &session.to_string(), Place::Page),
        (None, _) => links::to_day(place.day, Place::Page),
    }
}

fn relation_line(relation: &Relation) -> String {
    format!("- {}: {}\n", link(&relation.name), said(&relation.why))
}

/// A page as another one links to it.
pub fn link(name: &PageName) -> String {
    links::to_page(name, Place::Page)
}

/// What was read for an answer: pages, digests or days, by the names that links have for them.
pub fn link_to_consulted(name: &str, from: Place) -> String {
    if let Some(session) = layout::linked_digest(name) {
        return links::to_digest(&session, &session.to_string(), from);
    }
    match (name.parse::<PageName>(), layout::linked_day(name)) {
        (Ok(page), _) => links::to_page(&page, from),
        (_, Some(day)) => links::to_day(day, from),
        _ => markdown::inline(name),
    }
}

fn source_lines(sources: &[SourceDay], sessions: &Sessions) -> String {
    let line = |source: &SourceDay| {
        let named: Vec<String> = source
            .sessions
            .iter()
            .map(|session| {
                let title = sessions
                    .get(session)
                    .map(|about| text::one_line(&about.title, 70))
                    .unwrap_or_default();
                let link = links::to_digest(session, &session.to_string(), Place::Page);
                if title.is_empty() { link } else { format!("{link} {}", said(&title)) }
            })
            .collect();
        let named =
            if named.is_empty() { String::new() } else { format!(": {}", named.join("; ")) };
        format!("- {}{named}\n", links::to_day(source.day, Place::Page))
    };
    sources.iter().map(line).collect()
}

/// Words from a log as part of a page: no markup of theirs, and nothing that an editor takes for a
/// tag or a comment.
pub fn said(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    let mut before = ' ';
    let line = markdown::inline(words).replace("%%", "% %").replace("==", "= =");
    let mut letters = line.chars().peekable();
    let mut in_code = false;
    while let Some(letter) = letters.next() {
        in_code ^= letter == '`';
        let tag = letter == '#'
            && before.is_whitespace()
            && letters.peek().is_some_and(|next| next.is_alphabetic());
        if tag && !in_code {
            safe.push('\\');
        }
        safe.push(letter);
        before = letter;
    }
    safe
}

// --- What is there ---

/// A page as it stands in the tree, whoever wrote it.
#[derive(Debug, Clone)]
pub struct ReadPage {
    pub name: PageName,
    pub title: String,
    pub aliases: Vec<String>,
    pub tags: Vec<String>,
    /// The days that it is compiled from.
    pub days: Vec<NaiveDate>,
    pub updated: String,
    /// What it says in a line.
    pub summary: String,
    /// The whole document.
    pub text: String,
}

impl Store {
    /// The names of all pages of knowledge, in order.
    pub fn page_names(&self) -> io::Result<BTreeSet<PageName>> {
        let mut names = BTreeSet::new();
        for kind in Kind::ALL {
            let entries = files::if_exists(files::read_dir(self.layout().knowledge_of(kind)))?;
            for entry in entries.into_iter().flatten() {
                let entry = entry?;
                // A link could lead anywhere.
                let Some(name) = entry.file_name().to_str().map(str::to_string) else { continue };
                if entry.file_type()?.is_file() && name.ends_with(".md") {
                    names.extend(format!("{}/{name}", kind.folder()).parse::<PageName>());
                }
            }
        }
        Ok(names)
    }

    /// Reads a page; `None` where there is none.
    pub fn page_text(&self, name: &PageName) -> io::Result<Option<String>> {
        read_lossy(&self.layout().page(name))
    }

    /// All pages of knowledge, in the order of the index.
    pub fn read_pages(&self) -> io::Result<Vec<ReadPage>> {
        let mut pages = Vec::new();
        for name in self.page_names()? {
            if let Some(text) = self.page_text(&name)? {
                pages.push(read_page(name, text));
            }
        }
        Ok(pages)
    }

    /// The text of a page, written around what a person changed in it; `None` where that changes
    /// nothing.
    pub fn changed_page(&self, name: &PageName, page: &Page) -> io::Result<Option<String>> {
        let existing = self.page_text(name)?;
        Ok(Some(page_over(page, existing.as_deref()))
            .filter(|text| existing.as_ref() != Some(text)))
    }

    /// Writes a page around what a person changed in it; says whether anything changed.
    pub fn write_page(&self, name: &PageName, page: &Page) -> io::Result<bool> {
        replace_lossy(self, &self.layout().page(name), |now| Some(page_over(page, now)))
    }

    /// How a page is written by a batch.
    pub fn merging_page<'p>(&self, page: &'p Page) -> Merge<'p> {
        merging_lossy(move |now| Some(page_over(page, now)))
    }

    /// Writes the table of all pages, in the place of the old one; what a person wrote around it
    /// stays.
    pub fn write_index(&self) -> io::Result<bool> {
        let path = self.layout().knowledge_index();
        let pages = self.read_pages()?;
        replace_lossy(self, &path, |now| Some(index_over(now.unwrap_or_default(), &pages)))
    }

    /// Whether the table of all pages is as it would be written now.
    pub fn is_index_current(&self) -> io::Result<bool> {
        let existing = read_lossy(&self.layout().knowledge_index())?.unwrap_or_default();
        Ok(index_over(&existing, &self.read_pages()?) == existing)
    }

    /// What was compiled: the hashes of each day as it was then.
    pub fn compiled(&self) -> io::Result<BTreeMap<NaiveDate, BTreeSet<String>>> {
        let log = read_lossy(&self.layout().knowledge_log())?.unwrap_or_default();
        let mut compiled: BTreeMap<NaiveDate, BTreeSet<String>> = BTreeMap::new();
        for line in log.lines().filter_map(|line| line.trim().strip_prefix(SOURCE)) {
            let Some((link, hash)) = line.split_once(" (sha256 ") else { continue };
            // `[2026-11-15](…)`; earlier versions wrote `[[daily/raw/2026-11-15]]`.
            let day = without_links(link);
            let day = day.parse().ok().or_else(|| layout::linked_day(&day));
            if let (Some(day), Some(hash)) = (day, hash.strip_suffix(')')) {
                compiled.entry(day).or_default().insert(hash.to_string());
            }
        }
        Ok(compiled)
    }

    /// Adds an entry to the log.
    pub fn log_knowledge(&self, entry: &str) -> io::Result<()> {
        let header = || {
            "# Knowledge log\n\nWhat was compiled and filed, and from what. Entries are only ever added.\n".into()
        };
        files::append_page_if(
            &self.layout().replacing(),
            &self.layout().knowledge_log(),
            header,
            &format!("\n{}", entry.trim_end()),
            |_| Ok(true),
        )
        .map(drop)
    }
}

impl Store {
    /// Takes the names of pages that are gone out of the lists of the log; says whether there were
    /// any.
    pub fn without_pages_in_log(&self, gone: &BTreeSet<PageName>) -> io::Result<bool> {
        let is_gone = |link: &str| gone.iter().any(|page| links::leads_to(link, page));
        rewritten(self, &self.layout().knowledge_log(), |line| match line.split_once(": ") {
            Some((what, list)) if line.starts_with("- ") && is_gone(list) => {
                let kept: Vec<&str> =
                    list.trim_end().split(", ").filter(|link| !is_gone(link)).collect();
                let kept = if kept.is_empty() { "none".to_string() } else { kept.join(", ") };
                Some(format!("{what}: {kept}\n"))
            }
            _ => Some(line.to_string()),
        })
    }

    /// Takes the lines of a page that lead to pages which are gone out of it; says whether there
    /// were any.
    pub fn without_links_to(&self, name: &PageName, gone: &BTreeSet<PageName>) -> io::Result<bool> {
        let leads_there = |line: &str| gone.iter().any(|page| links::leads_to(line, page));
        let kept = |line: &str| (!leads_there(line)).then(|| line.to_string());
        rewritten(self, &self.layout().page(name), kept)
    }
}

/// Changes a file line by line; a line that becomes nothing goes. Says whether anything changed.
fn rewritten(
    store: &Store,
    path: &Path,
    change: impl Fn(&str) -> Option<String>,
) -> io::Result<bool> {
    replace_lossy(store, path, |now| Some(now?.split_inclusive('\n').filter_map(&change).collect()))
}

/// A page around what is there, if there is anything.
fn page_over(page: &Page, existing: Option<&str>) -> String {
    existing.map_or_else(|| page.to_text(), |existing| page.over(existing))
}

/// Makes a page from what is there, which a person may have written in whatever way; says whether
/// anything changed.
pub fn replace_lossy(
    store: &Store,
    path: &Path,
    merge: impl Fn(Option<&str>) -> Option<String>,
) -> io::Result<bool> {
    files::replace(&store.layout().replacing(), path, merging_lossy(merge))
}

fn merging_lossy<'m>(merge: impl Fn(Option<&str>) -> Option<String> + 'm) -> Merge<'m> {
    Box::new(move |now| {
        let text = now.map(String::from_utf8_lossy);
        Ok(merge(text.as_deref())
            .filter(|new| text.as_deref() != Some(new))
            .map(String::into_bytes))
    })
}

/// Reads a file that a person may have written in whatever way; `None` where there is none.
fn read_lossy(path: &std::path::Path) -> io::Result<Option<String>> {
    let bytes = files::if_exists(files::read(path))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn read_page(name: PageName, text: String) -> ReadPage {
    let document = Document::parse(&text);
    let list = |key: &str| document.get_list(key).unwrap_or_default();
    let day = |source: &String| layout::linked_day(entry_target(source));
    ReadPage {
        title: document.get_str("title").unwrap_or_else(|| name.slug().to_string()),
        aliases: list("aliases"),
        tags: list("tags"),
        days: list("sources").iter().filter_map(day).collect(),
        updated: ["updated", "filed"]
            .iter()
            .find_map(|key| document.get_str(key))
            .unwrap_or_default(),
        summary: summary(document.body()),
        name,
        text,
    }
}

/// What a page says in a line: the first thing quoted on it, else its first sentence.
fn summary(body: &str) -> String {
    let tells = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['#', '|', '*'])
            && (!line.starts_with("- ") || line.contains('“'))
    };
    let first = body.lines().map(str::trim).find(tells);
    let first = first.unwrap_or_default();
    let quoted =
        first.split_once('“').and_then(|(_, rest)| rest.split_once('”')).map(|(quote, _)| quote);
    let line = match quoted {
        Some(quote) => quote.to_string(),
        None => text::first_sentence(&without_links(first), SUMMARY_CHARS),
    };
    text::one_line(&line, SUMMARY_CHARS)
}

const INDEX_HEAD: &str = "| Article | Summary | Compiled From | Updated |";

fn index_over(existing: &str, pages: &[ReadPage]) -> String {
    let mut table = format!("{INDEX_HEAD}\n| --- | --- | --- | --- |\n");
    pages.iter().for_each(|page| table.push_str(&index_row(page)));
    let lines: Vec<&str> = existing.lines().collect();
    let Some(start) = lines.iter().position(|line| line.trim() == INDEX_HEAD) else {
        let before = if existing.trim().is_empty() {
            "# Knowledge index".to_string()
        } else {
            existing.trim_end().to_string()
        };
        return format!("{before}\n\n{table}");
    };
    let rows = lines[start..].iter().take_while(|line| line.trim_start().starts_with('|')).count();
    let whole = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    whole(&lines[..start]) + &table + &whole(&lines[start + rows..])
}

fn index_row(page: &ReadPage) -> String {
    let days: Vec<String> = page
        .days
        .iter()
        .rev()
        .take(DAYS_IN_A_ROW)
        .map(|day| links::to_day(*day, Place::Top))
        .collect();
    let more = page.days.len().saturating_sub(DAYS_IN_A_ROW);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let summary = page.summary.replace('|', "\\|");
    format!(
        "| {} | {summary} | {}{more} | {} |\n",
        links::to_page(&page.name, Place::Top),
        days.join(", "),
        page.updated
    )
}

// --- The log ---

const SOURCE: &str = "- Source: ";

/// The entry for a compiled day. Its time is that of the last line that was compiled, not of the
/// run, so that two devices which compile the same day write the same entry.
pub fn compile_entry(
    day: NaiveDate,
    last: &str,
    hash: &str,
    created: &BTreeSet<PageName>,
    updated: &BTreeSet<PageName>,
) -> String {
    let at = if last.is_empty() { day.to_string() } else { format!("{day} {last}") };
    let mut entry = format!(
        "## [{at}] compile | {day}.md\n{SOURCE}{} (sha256 {hash})\n",
        links::to_day(day, Place::Top)
    );
    for (what, pages) in [("Created", created), ("Updated", updated)] {
        let links: Vec<String> =
            pages.iter().map(|page| links::to_page(page, Place::Top)).collect();
        entry.push_str(&format!(
            "- {what}: {}\n",
            if links.is_empty() { "none".into() } else { links.join(", ") }
        ));
    }
    entry
}

/// The entry for an answer that was filed.
pub fn ask_entry(name: &PageName, question: &Question) -> String {
    let consulted: Vec<String> =
        question.consulted.iter().map(|page| link_to_consulted(page, Place::Top)).collect();
    format!(
        "## [{}] ask | {}\n- Filed: {}\n- Consulted: {}\n",
        question.filed,
        said(&markdown::heading(&question.question)),
        links::to_page(name, Place::Top),
        if consulted.is_empty() { "none".into() } else { consulted.join(", ") }
    )
}
