//! Lint: seven checks of the pages of knowledge, from links that lead nowhere to statements that
//! contradict each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDate;
use regex::Regex;
use serde::Serialize;

use super::compile;
use crate::base::front_matter::Document;
use crate::base::markdown::plain;
use crate::base::setters::setters;
use crate::base::static_regex::StaticRegex;
use crate::base::{files, text};
use crate::distill::words;
use crate::error::{Context, Result};
use crate::memory::Memory;
use crate::model::knowledge::{Kind, PageName, safe_target};
use crate::model::words::words;
use crate::models::{Alias, Answer, MARK, Models, Prompt};
use crate::store::Store;
use crate::store::knowledge::links::{entry_target, targets, without_links};
use crate::store::knowledge::{self as documents, ReadPage};
use crate::store::layout;

/// A page with fewer words says too little.
const FEWEST_WORDS: usize = 200;
/// Where a link back is added.
const SEE_ALSO: &str = "## See Also";

/// What to check.
#[derive(Debug, Clone, Default)]
pub struct LintRequest {
    /// Only what needs no reading: no contradictions.
    pub structural_only: bool,
    /// Whether links back are added where they are missing.
    pub fix: bool,
    pub dry_run: bool,
}

setters!(LintRequest { structural_only: bool, fix: bool, dry_run: bool });

/// What was found.
#[derive(Debug, Serialize)]
pub struct LintReport {
    pub items: Vec<Item>,
    pub errors: usize,
    pub warnings: usize,
    pub suggestions: usize,
    /// The pages that were given a link back.
    pub fixed: Vec<String>,
    pub pages: usize,
    /// The file that has all this, relative to the memory.
    pub report: Option<String>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    pub severity: Severity,
    pub check: Check,
    /// The page or day, relative to `knowledge/` or the memory.
    pub page: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Suggestion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    BrokenLink,
    OrphanPage,
    OrphanSource,
    StaleArticle,
    MissingBacklink,
    SparseArticle,
    Contradiction,
}

words!(Check {
    BrokenLink = "broken_link",
    OrphanPage = "orphan_page",
    OrphanSource = "orphan_source",
    StaleArticle = "stale_article",
    MissingBacklink = "missing_backlink",
    SparseArticle = "sparse_article",
    Contradiction = "contradiction",
});

impl Check {
    fn severity(self) -> Severity {
        match self {
            Check::BrokenLink => Severity::Error,
            Check::MissingBacklink | Check::SparseArticle => Severity::Suggestion,
            _ => Severity::Warning,
        }
    }

    /// What it found on a page.
    fn item(self, page: impl ToString, message: String) -> Item {
        Item { severity: self.severity(), check: self, page: page.to_string(), message }
    }
}

impl Memory {
    /// Checks the pages of knowledge, and fixes what can be fixed if that is wanted.
    pub fn lint(&self, request: LintRequest) -> Result<LintReport> {
        let (store, models) = (self.store(), self.models()?);
        let today = self.now().with_timezone(&self.zone()?).date_naive();
        store.refuse_links(None)?;
        let pages = store.read_pages().context(|| "cannot read the pages of knowledge".into())?;
        let linked: BTreeMap<&PageName, Vec<String>> =
            pages.iter().map(|page| (&page.name, links(page))).collect();
        let mut items = Vec::new();
        broken_links(store, &linked, &mut items);
        orphans(&linked, &mut items);
        sources(store, &pages, &mut items)?;
        let missing = missing_backlinks(&linked, &mut items);
        sparse(&pages, &mut items);
        if !request.structural_only {
            contradictions(&pages, &mut items);
            if models.is_enabled() && !request.dry_run && !pages.is_empty() {
                asked_for_contradictions(&pages, models, &mut items);
            }
        }
        let mut fixed = Vec::new();
        if request.fix && !request.dry_run {
            for (page, back) in &missing {
                add_links(store, page, back)
                    .context(|| format!("cannot add links to the page `{page}`"))?;
                fixed.push(page.to_string());
            }
            items.retain(|item| item.check != Check::MissingBacklink);
        }
        items.sort_by(|a, b| {
            (a.severity, a.check)
                .cmp(&(b.severity, b.check))
                .then_with(|| (&a.page, &a.message).cmp(&(&b.page, &b.message)))
        });
        let count =
            |severity: Severity| items.iter().filter(|item| item.severity == severity).count();
        let mut report = LintReport {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            suggestions: count(Severity::Suggestion),
            items,
            fixed,
            pages: pages.len(),
            report: None,
        };
        if !request.dry_run {
            let path = store.layout().lint_report(today);
            let text = report_text(&report, today);
            let wrote = files::write_if_changed(&path, text.as_bytes());
            wrote.context(|| format!("cannot write the report `{}`", path.display()))?;
            let is_there = files::is_file(&path);
            report.report = is_there.then(|| store.layout().shown(&path));
        }
        Ok(report)
    }
}

fn report_text(report: &LintReport, today: NaiveDate) -> String {
    let mut text = format!(
        "# Lint report {today}\n\n{} pages: {} errors, {} warnings, {} suggestions\n",
        report.pages, report.errors, report.warnings, report.suggestions
    );
    let titles = [
        (Severity::Error, "Errors"),
        (Severity::Warning, "Warnings"),
        (Severity::Suggestion, "Suggestions"),
    ];
    for (severity, title) in titles {
        let items: Vec<&Item> =
            report.items.iter().filter(|item| item.severity == severity).collect();
        if !items.is_empty() {
            text.push_str(&format!("\n## {title}\n\n"));
            for item in items {
                text.push_str(&format!(
                    "- {} · {}: {}\n",
                    item.check,
                    item.page,
                    documents::said(&item.message)
                ));
            }
        }
    }
    if !report.fixed.is_empty() {
        text.push_str(&format!("\n## Fixed\n\nlinks back added to {}\n", report.fixed.join(", ")));
    }
    text
}

// --- Links ---

/// Every link of a page, those of its front matter too.
fn links(page: &ReadPage) -> Vec<String> {
    let document = Document::parse(&page.text);
    let mut links = targets(document.body(), page.name.kind);
    for key in ["sources", "connects", "consulted"] {
        let values = document.get_list(key).unwrap_or_default();
        links.extend(values.iter().map(|value| entry_target(value).to_string()));
    }
    links
}

fn broken_links(store: &Store, linked: &BTreeMap<&PageName, Vec<String>>, items: &mut Vec<Item>) {
    for (page, links) in linked {
        let targets: BTreeSet<&String> = links.iter().collect();
        for target in targets {
            let message = match safe_target(target) {
                Err(reason) => {
                    format!("the link to `{}` is refused: {reason}", text::one_line(target, 80))
                }
                Ok(()) if is_there(store, target) => continue,
                Ok(()) => format!("there is no `{}`", text::one_line(target, 80)),
            };
            items.push(Check::BrokenLink.item(page, message));
        }
    }
}

/// Whether a link leads to something: a page, a digest, any other file of the memory. Days are
/// taken on trust, since they may be on another device.
fn is_there(store: &Store, target: &str) -> bool {
    let root = store.layout().root();
    if layout::linked_day(target).is_some() || target.starts_with("daily/") {
        return true;
    }
    if let Some(session) = layout::linked_digest(target) {
        return files::is_file(store.layout().digest(&session));
    }
    let Some(relative) = files::safe_relative(target.as_ref()) else { return false };
    let named = |folder: &std::path::Path| {
        let plain = folder.join(&relative);
        let mut with_end = plain.clone().into_os_string();
        with_end.push(".md");
        // A link of the file system could lead out, so it counts as nothing.
        [plain, with_end.into()]
            .iter()
            .any(|path| files::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    };
    named(&store.layout().knowledge()) || named(root)
}

fn orphans(linked: &BTreeMap<&PageName, Vec<String>>, items: &mut Vec<Item>) {
    let mut reached: BTreeSet<PageName> = BTreeSet::new();
    for (page, links) in linked {
        let others = links.iter().filter_map(|link| link.parse::<PageName>().ok());
        reached.extend(others.filter(|other| other != *page));
    }
    // An answer is found by the index; nothing needs to lead to it.
    for page in
        linked.keys().filter(|page| page.kind != Kind::Question && !reached.contains(**page))
    {
        items.push(Check::OrphanPage.item(page, "no other page links to it".into()));
    }
}

/// The links back that are missing, by the page that lacks them.
fn missing_backlinks(
    linked: &BTreeMap<&PageName, Vec<String>>,
    items: &mut Vec<Item>,
) -> BTreeMap<PageName, BTreeSet<PageName>> {
    let names: HashMap<&PageName, BTreeSet<PageName>> = linked
        .iter()
        .map(|(page, links)| {
            (*page, links.iter().filter_map(|link| link.parse::<PageName>().ok()).collect())
        })
        .collect();
    let mut missing: BTreeMap<PageName, BTreeSet<PageName>> = BTreeMap::new();
    // A question leads to the concepts that answer it; they need not lead to every question.
    for page in linked.keys().filter(|page| page.kind != Kind::Question) {
        for target in &names[*page] {
            let lacks = names.get(target).is_some_and(|back| !back.contains(*page));
            if lacks && target != *page && target.kind != Kind::Question {
                missing.entry(target.clone()).or_default().insert((*page).clone());
            }
        }
    }
    for (page, back) in &missing {
        for from in back {
            let message = format!("{from} links here, but not the other way; `--fix` adds it");
            items.push(Check::MissingBacklink.item(page, message));
        }
    }
    missing
}

/// Adds links to the end of a page, in a section of their own: nothing that is there changes.
fn add_links(store: &Store, page: &PageName, back: &BTreeSet<PageName>) -> std::io::Result<()> {
    let link = |name: &PageName| format!("- {}\n", documents::link(name));
    let with_links = |text: &str| {
        // Asked again, some of them are there.
        let new = back.iter().map(link).filter(|line| !text.contains(line.as_str()));
        let lines: String = new.collect();
        match text.find(&format!("\n{SEE_ALSO}\n")) {
            _ if lines.is_empty() => text.to_string(),
            Some(at) => {
                let start = at + SEE_ALSO.len() + 2;
                let blank =
                    text[start..].len() - text[start..].trim_start_matches(['\n', '\r']).len();
                format!("{}{lines}{}", &text[..start + blank], &text[start + blank..])
            }
            None => format!("{}\n\n{SEE_ALSO}\n\n{lines}", text.trim_end()),
        }
    };
    let path = store.layout().page(page);
    documents::replace_lossy(store, &path, |now| now.map(with_links)).map(drop)
}

// --- Days ---

fn sources(store: &Store, pages: &[ReadPage], items: &mut Vec<Item>) -> Result<()> {
    let compiled = store.compiled().context(|| "cannot read the log of the knowledge".into())?;
    let days = compile::days(store).context(|| "cannot list the days".into())?;
    let mut changed: BTreeSet<NaiveDate> = BTreeSet::new();
    for day in &days {
        let Some(hashes) = compiled.get(day) else {
            let message = "this day was never compiled; `memtree compile` does it".to_string();
            items.push(Check::OrphanSource.item(layout::link_to_day(*day), message));
            continue;
        };
        let now =
            compile::day_hash(store, *day).context(|| format!("cannot read the day {day}"))?;
        if !hashes.contains(&now) {
            changed.insert(*day);
        }
    }
    for page in pages {
        let stale: Vec<String> = page
            .days
            .iter()
            .filter(|day| changed.contains(day))
            .map(NaiveDate::to_string)
            .collect();
        if !stale.is_empty() {
            let message = format!(
                "{} changed since; `memtree compile` brings it up to date",
                stale.join(", ")
            );
            items.push(Check::StaleArticle.item(&page.name, message));
        }
    }
    Ok(())
}

fn sparse(pages: &[ReadPage], items: &mut Vec<Item>) {
    for page in pages {
        let words = Document::parse(&page.text).body().split_whitespace().count();
        if words < FEWEST_WORDS {
            let message = format!("{words} words; fewer than {FEWEST_WORDS} say little");
            items.push(Check::SparseArticle.item(&page.name, message));
        }
    }
}

// --- Contradictions ---

/// A statement for or against something.
struct Stance {
    page: PageName,
    sentence: String,
}

/// Finds statements for and against the same thing: `use X` here, `don't use X` there.
fn contradictions(pages: &[ReadPage], items: &mut Vec<Item>) {
    let mut stances: BTreeMap<String, [Vec<Stance>; 2]> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for page in pages {
        let body = without_links(Document::parse(&page.text).body());
        for sentence in text::sentences(&body) {
            let sentence = text::one_line(&plain(sentence), 300);
            // What was asked takes no side.
            if sentence.contains('?') || sentence.contains("when asked “") {
                continue;
            }
            let Some((subject, is_for)) = stance(&sentence) else { continue };
            // The same sentence stands on several pages.
            if seen.insert((subject.clone(), sentence.clone())) {
                let side = &mut stances.entry(subject).or_default()[usize::from(is_for)];
                side.push(Stance { page: page.name.clone(), sentence });
            }
        }
    }
    for (subject, [against, in_favour]) in &stances {
        if let (Some(no), Some(yes)) = (against.first(), in_favour.first()) {
            let elsewhere =
                if no.page == yes.page { String::new() } else { format!(" ({})", no.page) };
            let message = format!(
                "on {subject}: “{}” and “{}”{elsewhere}",
                text::one_line(&yes.sentence, 140),
                text::one_line(&no.sentence, 140)
            );
            items.push(Check::Contradiction.item(&yes.page, message));
        }
    }
}

const LINT: Prompt = Prompt {
    task: "lint",
    text: include_str!("../../templates/prompts/lint.md"),
    reply_tokens: 400,
};
/// How much of a page is read for contradictions, in characters.
const READ_OF_A_PAGE: usize = 1200;

/// Has a model read the pages; where it cannot, or replies in another form, that is an error of its
/// own.
fn asked_for_contradictions(pages: &[ReadPage], models: &Models, items: &mut Vec<Item>) {
    let parts: Vec<String> = pages
        .iter()
        .map(|page| {
            let body = without_links(Document::parse(&page.text).body());
            format!("{}: {}", page.name, text::one_line(&body, READ_OF_A_PAGE))
        })
        .collect();
    let failed = |reason: &str| {
        let message = format!("the model did not check: {}", text::one_line(reason, 200));
        Item { severity: Severity::Error, ..Check::Contradiction.item("knowledge", message) }
    };
    match models.ask(Alias::High, &LINT, &parts) {
        Answer::Unavailable(reason) => items.push(failed(&reason)),
        Answer::Nothing => {}
        Answer::Text(reply) => {
            let found: Vec<String> = reply
                .lines()
                .map(|line| line.trim().trim_start_matches(['-', '*', ' ']))
                .filter_map(|line| {
                    line.strip_prefix("CONTRADICTION:")
                        .or_else(|| line.strip_prefix("INCONSISTENCY:"))
                })
                .map(|line| format!("{} {MARK}", text::one_line(line, 300)))
                .collect();
            if found.is_empty() && !reply.contains("NO_ISSUES") {
                items.push(failed(
                    "its reply has no line that says CONTRADICTION, INCONSISTENCY or NO_ISSUES",
                ));
            }
            let item = |message| Check::Contradiction.item("knowledge", message);
            items.extend(found.into_iter().map(item));
        }
    }
}

/// What a sentence is for or against, and which.
fn stance(sentence: &str) -> Option<(String, bool)> {
    static AGAINST: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:(?:don't|do not|never|must not|mustn't|should not|shouldn't|no longer|stop(?:ped)?|not) (?:to )?us(?:e|ing)|avoid(?:ed)?|decided against|dropped|rejected|instead of|rather than) (?:the |an? )?(`[^`]+`|[\p{L}][\p{L}\p{N}_.-]*)",
    );
    static FOR: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:(?:always|must|should|we|let's|we'll|will|to) use|prefer|decided (?:on|for)|chose|going with|switch(?:ed)? to|^use) (?:the |an? )?(`[^`]+`|[\p{L}][\p{L}\p{N}_.-]*)",
    );
    let subject = |pattern: &Regex| {
        let found = pattern.captures(sentence)?;
        let name = found[1].trim_matches('`').trim_end_matches(['.', ',']).to_lowercase();
        (words::weight(&name) >= 0.75 && name.chars().count() >= 3).then_some(name)
    };
    subject(&AGAINST).map(|name| (name, false)).or_else(|| subject(&FOR).map(|name| (name, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_take_sides() {
        for (sentence, side) in [
            ("We use tokio for the server.", Some(("tokio", true))),
            ("Never use tokio in the library.", Some(("tokio", false))),
            ("We decided against `reqwest` because of its size.", Some(("reqwest", false))),
            ("The tests use it.", None),
            ("Use the same one.", None),
        ] {
            assert_eq!(
                stance(sentence),
                side.map(|(name, is_for)| (name.to_string(), is_for)),
                "{sentence}"
            );
        }
    }
}
