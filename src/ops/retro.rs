//! Retro: what to do better next, the three weightiest problems of each project in the last days.

use std::collections::BTreeMap;

use chrono::Duration;
use serde::Serialize;

use crate::base::setters::setters;
use crate::base::{clock, files, markdown, text};
use crate::error::{Context, Error, Result};
use crate::memory::Memory;
use crate::model::pattern::{Candidate, OfProject, PatternId, Polarity};
use crate::models;
use crate::ops::detect::DetectRequest;
use crate::ops::distribute;
use crate::ops::measure::{Fleet, MeasureRequest};

/// How many problems a project gets.
const MOST: usize = 3;
/// What comes up in more projects than this is said once, and not for each of them.
const MOST_PROJECTS: usize = 3;
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
    /// What came up in many projects: said once.
    pub in_many: Vec<Lesson>,
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
    /// How many sessions met it: of the project, or of all.
    pub sessions: usize,
    /// The projects, where it stands among what came up in many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
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
            .filter_map(|pattern| {
                let advice = match distribute::refusal(&pattern) {
                    None => pattern.resolutions.into_iter().next()?,
                    Some(_) if pattern.resolutions.is_empty() => return None,
                    Some(reason) => format!("What its page says is not passed on: {reason}."),
                };
                Some((pattern.id, advice))
            })
            .collect();
        let problems = found.candidates.iter().map(|found| &found.candidate);
        let problems: Vec<&Candidate> =
            problems.filter(|one| one.key.polarity == Polarity::Problem).collect();
        // They come cross-flavor and weightiest first.
        let is_general = |one: &&&Candidate| one.by_project.len() > MOST_PROJECTS;
        let general = problems.iter().filter(is_general).take(MOST);
        let mut report = RetroReport {
            event: "coding_retro",
            since: clock::stamp(since)[..10].to_string(),
            fleet: measured.fleet,
            in_many: general.map(|one| Lesson::of_all(one, approved.get(&one.id))).collect(),
            projects: by_project(&problems, &approved),
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

/// What each project should look at: what its own sessions met, the most frequent first.
fn by_project(
    problems: &[&Candidate],
    approved: &BTreeMap<PatternId, String>,
) -> BTreeMap<String, Vec<Lesson>> {
    let mut projects: BTreeMap<String, Vec<(u64, Lesson)>> = BTreeMap::new();
    for one in problems.iter().filter(|one| one.by_project.len() <= MOST_PROJECTS) {
        for (project, own) in &one.by_project {
            let lesson = Lesson::of_project(one, own, approved.get(&one.id));
            projects.entry(project.clone()).or_default().push((own.frequency, lesson));
        }
    }
    let best = |mut lessons: Vec<(u64, Lesson)>| -> Vec<Lesson> {
        // What only one session of the project met is hardly its own.
        lessons.sort_by_key(|(times, it)| {
            (it.sessions < 2, !it.cross_flavor, std::cmp::Reverse(*times))
        });
        lessons.into_iter().map(|(_, lesson)| lesson).take(MOST).collect()
    };
    projects.into_iter().map(|(project, lessons)| (project, best(lessons))).collect()
}

impl Lesson {
    fn of_project(one: &Candidate, own: &OfProject, resolution: Option<&String>) -> Lesson {
        let known = Some(&one.advice).filter(|advice| !advice.is_empty());
        Lesson {
            pattern: one.id.clone(),
            title: one.title.clone(),
            cross_flavor: one.cross_flavor,
            sessions: own.sessions,
            projects: Vec::new(),
            recommendation: resolution
                .or(known)
                .map_or_else(|| UNDECIDED.to_string(), String::clone),
            evidence: own.evidence.iter().map(|seen| seen.place()).collect(),
        }
    }

    /// What came up in many projects, with the latest places of all.
    fn of_all(one: &Candidate, resolution: Option<&String>) -> Lesson {
        let evidence = one.evidence.iter().take(MOST).cloned().collect();
        let sessions = one.sessions.len();
        let all = OfProject { frequency: one.frequency, sessions, evidence };
        Lesson { projects: one.projects.clone(), ..Lesson::of_project(one, &all, resolution) }
    }
}

/// The weightiest problems, as lines.
fn lines(lessons: &[Lesson]) -> String {
    let line = |one: &Lesson| {
        let cross = if one.cross_flavor { "[CROSS-FLAVOR] " } else { "" };
        let places: Vec<String> = one.evidence.iter().map(|place| linked(place)).collect();
        let projects = match one.projects.as_slice() {
            [] => String::new(),
            some => format!("; {}", text::counted(some.len(), "project")),
        };
        format!(
            "- {}**{}** ({}{projects}: {})\n  {}\n",
            cross.replace('[', "\\["),
            markdown::inline(&one.title),
            text::counted(one.sessions, "session"),
            places.join(", "),
            markdown::inline(&text::one_line(&one.recommendation, 300)),
        )
    };
    lessons.iter().map(line).collect()
}

fn page(report: &RetroReport) -> String {
    let Fleet { sessions, success_rate, error_rate, tokens_median, .. } = &report.fleet;
    let since = &report.since;
    if *sessions == 0 {
        return format!(
            "# Retrospective\n\nNo session of real work has ended since {since}: there is nothing to look \
             back on. Made by `memtree retro`.\n"
        );
    }
    let mut page = format!(
        "# Retrospective\n\nSessions since {since}: {sessions}, {:.0} % of them with success, {:.0} % met errors, \
         {tokens_median} tokens in the middle. Made by `memtree retro`.\n",
        success_rate * 100.0,
        error_rate * 100.0,
    );
    if !report.in_many.is_empty() {
        page.push_str(&format!("\n## In many projects\n\n{}", lines(&report.in_many)));
    }
    for (project, lessons) in &report.projects {
        page.push_str(&format!("\n## {}\n\n{}", markdown::heading(project), lines(lessons)));
    }
    if report.projects.is_empty() && report.in_many.is_empty() {
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
