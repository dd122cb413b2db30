//! Retro: what to do better next, the three weightiest problems of each project in the last days.

use std::collections::BTreeMap;

use chrono::Duration;
use serde::Serialize;

use crate::base::setters::setters;
use crate::base::{clock, files, markdown, text};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::pattern::{Candidate, PatternId, Polarity};
use crate::models;
use crate::ops::detect::DetectRequest;
use crate::ops::measure::{Fleet, MeasureRequest};

/// How many problems a project gets.
const MOST: usize = 3;
const UNDECIDED: &str = "Look at its evidence and decide in `memtree review`.";

/// What to look back on.
#[derive(Debug, Clone)]
pub struct RetroRequest {
    pub window_days: u32,
    /// Whether the person's own program gets it.
    pub publish: bool,
}

impl Default for RetroRequest {
    fn default() -> RetroRequest {
        RetroRequest { window_days: 7, publish: false }
    }
}

setters!(RetroRequest { window_days: u32, publish: bool });

/// What to do better.
#[derive(Debug, Serialize)]
pub struct RetroReport {
    pub event: &'static str,
    pub since: String,
    pub fleet: Fleet,
    pub projects: BTreeMap<String, Vec<Lesson>>,
    /// Whether RETRO.md changed.
    pub written: bool,
    /// Why it could not be handed over, where that was asked for.
    pub not_published: Option<String>,
}

/// One problem of a project.
#[derive(Debug, Clone, Serialize)]
pub struct Lesson {
    pub pattern: PatternId,
    pub title: String,
    pub cross_flavor: bool,
    /// How many sessions of the project met it.
    pub sessions: usize,
    pub recommendation: String,
    pub evidence: Vec<String>,
}

impl Memory {
    /// Looks back, and writes `patterns/RETRO.md`.
    pub fn retro(&self, request: RetroRequest) -> Result<RetroReport> {
        let since = self.now() - Duration::days(request.window_days.into());
        let found = self.detect(DetectRequest::default().since(since).dry_run(true))?;
        let measured = self.measure(MeasureRequest { since: Some(since), no_save: true })?;
        let approved: BTreeMap<PatternId, String> = self
            .approved_patterns()?
            .into_iter()
            .filter_map(|pattern| Some((pattern.id, pattern.resolutions.into_iter().next()?)))
            .collect();
        let mut projects: BTreeMap<String, Vec<Lesson>> = BTreeMap::new();
        // They come cross-flavor and weightiest first.
        for one in found.candidates.iter().map(|found| &found.candidate) {
            if one.key.polarity != Polarity::Problem {
                continue;
            }
            for project in &one.projects {
                let lessons = projects.entry(project.clone()).or_default();
                if lessons.len() < MOST {
                    lessons.push(lesson(one, project, approved.get(&one.id)));
                }
            }
        }
        let mut report = RetroReport {
            event: "coding_retro",
            since: clock::stamp(since)[..10].to_string(),
            fleet: measured.fleet,
            projects,
            written: false,
            not_published: None,
        };
        let path = self.layout().retro();
        report.written = files::write_if_changed(&path, page(&report).as_bytes())
            .context(|| self.store().cannot_write())?;
        if request.publish {
            report.not_published = self.publish(&report)?;
        }
        Ok(report)
    }

    fn publish(&self, report: &RetroReport) -> Result<Option<String>> {
        let words = &self.settings().retro.publish;
        if words.is_empty() {
            return Err(Error::usage("no program is named to publish to")
                .hint("set `retro.publish` in ~/.config/memtree/config.toml"));
        }
        let json = serde_json::to_string(report)
            .map_err(|err| Error::new("cannot publish").because(err))?;
        Ok(models::hand_over(words, &self.environment().places.home, &json).err())
    }
}

fn lesson(one: &Candidate, project: &str, resolution: Option<&String>) -> Lesson {
    let known = Some(&one.advice).filter(|advice| !advice.is_empty());
    let of_project = one.evidence.iter().filter(|seen| seen.project.as_deref() == Some(project));
    Lesson {
        pattern: one.id.clone(),
        title: one.title.clone(),
        cross_flavor: one.cross_flavor,
        sessions: of_project.clone().count(),
        recommendation: resolution.or(known).map_or_else(|| UNDECIDED.to_string(), String::clone),
        evidence: of_project.take(3).map(|seen| seen.place()).collect(),
    }
}

fn page(report: &RetroReport) -> String {
    let Fleet { sessions, success_rate, error_rate, tokens_median, .. } = &report.fleet;
    if *sessions == 0 {
        let since = &report.since;
        return format!(
            "# Retrospective\n\nThere was no session since {since}. Made by `memtree retro`.\n"
        );
    }
    let mut page = format!(
        "# Retrospective\n\nSessions since {}: {sessions}, {:.0} % of them with success, {:.0} % met errors, \
         {tokens_median} tokens in the middle. Made by `memtree retro`.\n",
        report.since,
        success_rate * 100.0,
        error_rate * 100.0,
    );
    for (project, lessons) in &report.projects {
        page.push_str(&format!("\n## {}\n\n", markdown::heading(project)));
        for one in lessons {
            let cross = if one.cross_flavor { "[CROSS-FLAVOR] " } else { "" };
            let places: Vec<String> = one.evidence.iter().map(|place| linked(place)).collect();
            page.push_str(&format!(
                "- {}**{}** ({})\n  {}\n",
                cross.replace('[', "\\["),
                markdown::inline(&one.title),
                places.join(", "),
                markdown::inline(&text::one_line(&one.recommendation, 300)),
            ));
        }
    }
    if report.projects.is_empty() {
        page.push_str("\nNothing went wrong again and again.\n");
    }
    page
}

fn linked(place: &str) -> String {
    let session = place.split('#').next().and_then(|name| name.parse().ok());
    session.map_or_else(
        || markdown::code(place),
        |session| format!("[{place}]({})", crate::store::layout::from_retro_to_digest(&session)),
    )
}
