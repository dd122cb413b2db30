//! The catalog: one page for each pattern, with every approved version in the history.

use std::io;

use super::candidate::wording;
use super::{EVIDENCE, NOTHING, PROBLEM, RULES, WHAT_TO_DO, evidence_lines, link, section};
use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::model::ids::{EpisodeId, SessionId};
use crate::model::pattern::{Hint, Pattern, PatternId, PatternStatus, Provenance, Scope, Sighting};
use crate::store::authored::{self, Page};
use crate::store::layout::Layout;
use crate::store::pattern::said;

const SCHEMA: &str = "memtree/pattern/1";
/// How many sessions a page of the catalog names at most.
const MOST_SESSIONS: usize = 64;

/// The page of a pattern.
pub fn page(pattern: &Pattern, evidence: &[Sighting]) -> Page {
    let Pattern { id, key, name, scope, provenance, .. } = pattern;
    let hints: Vec<String> = pattern.hints.iter().map(Hint::to_string).collect();
    let ids = |sessions: &[SessionId]| -> Vec<String> {
        sessions.iter().take(MOST_SESSIONS).map(SessionId::to_string).collect()
    };
    let entries = vec![
        ("schema", SCHEMA.to_string()),
        ("id", id.to_string()),
        ("title", front_matter::scalar(name)),
        ("key", front_matter::scalar(&key.to_string())),
        ("status", pattern.status.to_string()),
        ("ready", pattern.ready.to_string()),
        ("version", front_matter::scalar(&pattern.version.to_string())),
        ("flavors", front_matter::list(&scope.flavors)),
        ("projects", front_matter::list(&scope.projects)),
        ("domains", front_matter::list(&scope.domains)),
        ("hints", front_matter::block_list(&hints)),
        ("frequency", provenance.frequency.to_string()),
        ("sessions", front_matter::block_list(&ids(&provenance.sessions))),
        ("evidence", front_matter::scalar(&provenance.evidence)),
        ("not_in", front_matter::block_list(&ids(&pattern.not_in))),
    ];
    let resolutions: String = match pattern.resolutions.is_empty() {
        true => format!("- {NOTHING}\n"),
        false => pattern.resolutions.iter().map(|one| format!("- {one}\n")).collect(),
    };
    let mut shown = evidence_lines(evidence);
    if shown.is_empty() {
        let sessions = provenance.sessions.iter().rev().take(8);
        shown = sessions.map(|id| format!("- {}\n", link(id, &id.to_string()))).collect();
    }
    Page {
        rules: &RULES,
        entries,
        body: [
            format!("# {}\n\n", said(name)),
            format!("{PROBLEM}\n\n{}\n\n", pattern.problem),
            format!("{WHAT_TO_DO}\n\n{resolutions}\n"),
            format!("{EVIDENCE}\n\n{shown}"),
        ]
        .concat(),
    }
}

/// Reads a page of the catalog; says what is wrong with it.
pub fn parse(text: &str) -> Result<Pattern, String> {
    let mut document = Document::parse(text);
    // Git may have joined what two devices wrote.
    document.remove_duplicates(|_, _| false);
    match document.get_str("schema").as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("`schema` is `{other}`, not `{SCHEMA}`")),
        None => return Err(format!("it has no `schema: {SCHEMA}`")),
    }
    let text_of = |key: &str| document.get_str(key).ok_or_else(|| format!("it has no `{key}`"));
    let list = |key: &str| document.get_list(key).unwrap_or_default();
    let sessions = |key: &str| -> Vec<SessionId> {
        list(key).iter().filter_map(|id| id.parse().ok()).collect()
    };
    let words = wording(&document);
    if words.title.is_empty() || words.problem.is_empty() {
        return Err("it has no `title`, or nothing under `## Problem`".into());
    }
    Ok(Pattern {
        id: text_of("id")?.parse()?,
        key: text_of("key")?.parse()?,
        name: words.title,
        status: text_of("status")?.parse()?,
        ready: document.get_str("ready").as_deref() == Some("true")
            || document.get_raw("ready").is_some_and(|raw| raw.trim() == "true"),
        version: text_of("version")?.parse()?,
        problem: words.problem,
        resolutions: words.resolutions,
        scope: Scope {
            flavors: list("flavors"),
            projects: list("projects"),
            domains: list("domains"),
        },
        provenance: Provenance {
            frequency: document
                .get_raw("frequency")
                .and_then(|raw| raw.trim().parse().ok())
                .unwrap_or(0),
            sessions: sessions("sessions"),
            evidence: document.get_str("evidence").unwrap_or_default(),
            place: first_place(&document),
            promoted: None,
        },
        hints: list("hints").iter().filter_map(|line| line.parse().ok()).collect(),
        not_in: sessions("not_in"),
    })
}

/// The first place of the evidence, where it is an episode's.
fn first_place(document: &Document) -> Option<String> {
    let evidence = section(document.body(), EVIDENCE)?;
    let (_, rest) = evidence.split_once("- [")?;
    let (place, _) = rest.split_once(']')?;
    let (session, episode) = place.split_once('#')?;
    let (session, episode) = (session.parse::<SessionId>().ok()?, episode.parse::<EpisodeId>());
    Some(format!("{session}#{}", episode.ok()?))
}

/// The patterns of the catalog, by name, and the pages that are none, with the reason.
#[derive(Debug, Default)]
pub struct Catalog {
    pub patterns: Vec<Pattern>,
    /// `path: reason`.
    pub damaged: Vec<String>,
}

impl Catalog {
    /// Reads the catalog.
    pub fn load(layout: &Layout) -> io::Result<Catalog> {
        let mut catalog = Catalog::default();
        for (path, name) in pages(&layout.catalog())? {
            let parsed = files::read_to_string(&path)
                .map_err(|err| err.to_string())
                .and_then(|text| parse(&text))
                .and_then(|pattern| match pattern.id.as_str() == name {
                    true => Ok(pattern),
                    false => Err(format!("its `id` is `{}`, which is another page's", pattern.id)),
                });
            match parsed {
                Ok(pattern) => catalog.patterns.push(pattern),
                Err(reason) => catalog.damaged.push(format!("{}: {reason}", layout.shown(&path))),
            }
        }
        catalog.patterns.sort_by(|a, b| a.id.cmp(&b.id));
        catalog.damaged.sort();
        Ok(catalog)
    }

    /// The pattern with a name.
    pub fn get(&self, id: &PatternId) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.id == *id)
    }
}

/// The Markdown files of a folder, with their names.
pub fn pages(folder: &std::path::Path) -> io::Result<Vec<(std::path::PathBuf, String)>> {
    let mut pages = Vec::new();
    for entry in files::if_exists(files::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(".md").filter(|_| !name.starts_with('.')) {
            pages.push((entry.path(), stem.to_string()));
        }
    }
    pages.sort();
    Ok(pages)
}

/// What writing a pattern did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Upserted {
    Added,
    Unchanged,
    /// Its status or its evidence.
    Updated,
    /// Its words: it has a new version.
    Versioned,
}

/// Writes a pattern into the catalog around a person's words; a change of ours to its words makes a
/// new version. Every approved version is kept in the history.
pub fn upsert(
    layout: &Layout,
    pattern: &mut Pattern,
    evidence: &[Sighting],
) -> io::Result<Upserted> {
    let path = layout.pattern(&pattern.id);
    let existing = files::if_exists(files::read_to_string(&path))?;
    // What somebody made of the page is theirs, also where it is no pattern any more.
    let before = existing.as_deref().map(parse).transpose();
    let before = before.map_err(|reason| {
        let reason = format!("the page is no pattern any more ({reason}); mend or remove it");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })?;
    let mut upserted = Upserted::Added;
    if let Some(before) = &before {
        let approved = approved_version(layout, before);
        let same_words = approved.as_ref().is_none_or(|old| old.text_hash() == pattern.text_hash());
        pattern.version = match same_words {
            true => before.version.max(pattern.version),
            false => before.version.next(),
        };
        upserted = if same_words { Upserted::Updated } else { Upserted::Versioned };
    }
    let page = page(pattern, evidence);
    let wrote = authored::replace(layout, &path, |now| {
        Some(now.map_or_else(|| page.to_text(), |now| page.over(now)))
    })?;
    if pattern.status == PatternStatus::Approved {
        let text = page.to_text();
        let kept = layout.pattern_version(&pattern.id, pattern.version);
        files::write_if_changed(&kept, text.as_bytes())?;
    }
    Ok(if wrote { upserted } else { Upserted::Unchanged })
}

/// A version as it was approved.
fn approved_version(layout: &Layout, pattern: &Pattern) -> Option<Pattern> {
    let path = layout.pattern_version(&pattern.id, pattern.version);
    parse(&files::read_to_string(path).ok()?).ok()
}
