//! Clusters: signals with the same key become one candidate, in words that a person can judge.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{markdown, text};
use crate::distill::patterns::signals::Signal;
use crate::distill::patterns::{Observed, fixes, loci};
use crate::model::ids::SessionId;
use crate::model::pattern::{
    Candidate, OfProject, PatternId, PatternKey, Sighting, SignalKind, Thresholds,
};

/// A pattern shows in at least so many sessions.
const FEWEST_SESSIONS: usize = 2;
/// What holds for a project as a whole shows in at least so many, and in this share of its
/// sessions.
const FEWEST_OF_PROJECT: usize = 3;
const SHARE_OF_PROJECT: f64 = 0.3;
/// How many places a candidate names.
const MOST_EVIDENCE: usize = 8;
/// How many of them a project has.
const MOST_OF_PROJECT: usize = 3;
/// How many checks a project has.
const MOST_CHECKS: usize = 2;

/// The candidates that signals come to: cross-flavor first, then by what they cost and how often
/// they came.
pub fn candidates(
    sessions: &[&Observed],
    signals: Vec<Signal>,
    thresholds: &Thresholds,
) -> Vec<Candidate> {
    let mut clusters: BTreeMap<PatternKey, Vec<Signal>> = BTreeMap::new();
    for signal in signals {
        clusters.entry(signal.key.clone()).or_default().push(signal);
    }
    let projects = projects(sessions);
    let is_enough = |key: &PatternKey, signals: &[Signal]| {
        let in_sessions = signals.iter().map(|signal| signal.at).collect::<BTreeSet<_>>().len();
        let of_project = || {
            let project = key.locus.split_once(": ").map_or(key.locus.as_str(), |(name, _)| name);
            let all = projects.get(project).copied().unwrap_or(0);
            in_sessions >= FEWEST_OF_PROJECT && in_sessions as f64 >= SHARE_OF_PROJECT * all as f64
        };
        signals.len() as u64 >= thresholds.min_frequency
            && in_sessions >= FEWEST_SESSIONS
            && match key.kind {
                SignalKind::Abandoned | SignalKind::BudgetOverrun | SignalKind::CleanPass => {
                    of_project()
                }
                // What went away is listed with the error itself: one thing to judge, not two.
                SignalKind::ErrorThenRecovery => false,
                _ => true,
            }
    };
    clusters.retain(|key, signals| is_enough(key, signals));
    let mut found: Vec<Candidate> =
        clusters.into_iter().map(|(key, signals)| candidate(key, &signals, sessions)).collect();
    found.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let mut checks: BTreeMap<String, usize> = BTreeMap::new();
    found.retain(|one| {
        let of = (one.key.kind == SignalKind::CleanPass).then(|| one.projects.join(" "));
        of.is_none_or(|project| {
            let seen = checks.entry(project).or_default();
            *seen += 1;
            *seen <= MOST_CHECKS
        })
    });
    found
}

/// How many sessions each project has.
fn projects<'s>(sessions: &[&'s Observed]) -> BTreeMap<&'s str, usize> {
    let mut projects = BTreeMap::new();
    for project in sessions.iter().filter_map(|session| session.project.as_deref()) {
        *projects.entry(project).or_default() += 1;
    }
    projects
}

type Rank<'c> = (bool, std::cmp::Reverse<u64>, std::cmp::Reverse<usize>, &'c PatternKey);

fn rank(candidate: &Candidate) -> Rank<'_> {
    use std::cmp::Reverse;
    let weight = candidate.cost_impact.max(1).saturating_mul(candidate.frequency);
    (!candidate.cross_flavor, Reverse(weight), Reverse(candidate.sessions.len()), &candidate.key)
}

fn candidate(key: PatternKey, signals: &[Signal], sessions: &[&Observed]) -> Candidate {
    let distinct = |of: &dyn Fn(&Sighting) -> Option<String>| -> Vec<String> {
        let set: BTreeSet<String> =
            signals.iter().filter_map(|signal| of(&signal.sighting)).collect();
        set.into_iter().collect()
    };
    let flavors = distinct(&|sighting| Some(sighting.flavor.clone()));
    let projects = distinct(&|sighting| sighting.project.clone());
    let ids: BTreeSet<SessionId> =
        signals.iter().map(|signal| signal.sighting.session.clone()).collect();
    let evidence = evidence(signals);
    let resolved_by = match key.kind {
        SignalKind::RecurringError => fixes::of(&key.locus, signals, sessions),
        _ => Vec::new(),
    };
    let (title, advice) = words(&key, &evidence, ids.len(), &resolved_by);
    Candidate {
        id: PatternId::of_key(&key),
        title,
        advice,
        frequency: signals.len() as u64,
        sessions: ids.into_iter().collect(),
        cross_flavor: flavors.len() > 1,
        flavors,
        cost_impact: signals.iter().map(|signal| signal.cost).sum(),
        by_project: by_project(&projects, signals),
        last_seen: signals.iter().filter_map(|signal| sessions[signal.at].ended).max(),
        projects,
        evidence,
        resolved_by,
        key,
    }
}

/// What each project has of a cluster.
fn by_project(projects: &[String], signals: &[Signal]) -> BTreeMap<String, OfProject> {
    let of = |project: &String| {
        let own = signals.iter().filter(|it| it.sighting.project.as_ref() == Some(project));
        let own: Vec<Signal> = own.cloned().collect();
        let sessions: BTreeSet<usize> = own.iter().map(|signal| signal.at).collect();
        let mut evidence = evidence(&own);
        evidence.truncate(MOST_OF_PROJECT);
        OfProject { frequency: own.len() as u64, sessions: sessions.len(), evidence }
    };
    projects.iter().map(|project| (project.clone(), of(project))).collect()
}

/// The latest places, one for each session: where it came most often. The latest of every agent
/// comes first, since a person is shown only the first few.
fn evidence(signals: &[Signal]) -> Vec<Sighting> {
    let mut of_session: BTreeMap<usize, &Signal> = BTreeMap::new();
    for signal in signals {
        let best = of_session.entry(signal.at).or_insert(signal);
        // Of equals, the one that says something.
        let weight = |signal: &Signal| (signal.sighting.times, !signal.sighting.detail.is_empty());
        if weight(signal) > weight(best) {
            *best = signal;
        }
    }
    let latest: Vec<&Signal> = of_session.into_values().rev().collect();
    let mut flavors = BTreeSet::new();
    let (first, more): (Vec<&Signal>, Vec<&Signal>) =
        latest.into_iter().partition(|signal| flavors.insert(signal.sighting.flavor.as_str()));
    let chosen = first.into_iter().chain(more).take(MOST_EVIDENCE);
    chosen.map(|signal| signal.sighting.clone()).collect()
}

/// What a candidate is called, and what to do about it.
fn words(
    key: &PatternKey,
    evidence: &[Sighting],
    sessions: usize,
    fixes: &[crate::model::pattern::Fix],
) -> (String, String) {
    let locus = key.locus.as_str();
    let said = || evidence.iter().map(|one| one.detail.as_str()).find(|said| !said.is_empty());
    let project = || locus.split_once(": ").map_or(locus, |(project, _)| project);
    let both = |title: String, advice: &str| (title, advice.to_string());
    match key.kind {
        SignalKind::RecurringError => match loci::class(locus) {
            Some(class) => both(class.title.into(), class.advice),
            None => {
                let title = format!("The error {} comes back", markdown::code(&shown(locus)));
                (title, fixes::advice(fixes))
            }
        },
        SignalKind::Correction => {
            let what = locus.strip_prefix("stopped ").unwrap_or(locus);
            let call = match what {
                "an edit" => "edits".to_string(),
                call => markdown::code(call),
            };
            let title = format!("The person stops or refuses {call}");
            let last = what.rsplit(' ').next().unwrap_or(what).to_lowercase();
            let is_edit = what == "an edit";
            let is_why = |said: &&str| match is_edit {
                true => !said.is_empty(),
                false => said.to_lowercase().contains(&last),
            };
            let why = evidence.iter().map(|one| one.detail.as_str()).find(is_why);
            let why = why.map(|said| format!(", last with “{}”", text::one_line(said, 120)));
            let why = why.unwrap_or_default();
            let first = match is_edit {
                true => "Say what is going to change before it is edited",
                false => "Ask first",
            };
            (title, format!("{first}: the person stopped {call} in {sessions} sessions{why}."))
        }
        SignalKind::SaidAgain => {
            let words = text::one_line(said().unwrap_or(locus), 160);
            let title = format!("The person had to say it again: “{words}”");
            (title, format!("“{words}” (said in {sessions} sessions)."))
        }
        SignalKind::RepeatedErrors => both(
            format!("A third or more of the {locus} of a session fail"),
            "After two failures of the same kind, look at the state of things before the next try.",
        ),
        SignalKind::RetryStorm => both(
            format!("Failed {locus} are repeated as they were"),
            "After a failure, find the cause or change something before the same call is made again.",
        ),
        SignalKind::BudgetOverrun => both(
            format!("Sessions in {} take far more tokens than others", markdown::code(project())),
            "Split long work into sessions with one goal each, and read parts of files instead of whole ones.",
        ),
        SignalKind::Abandoned => {
            both(format!("Sessions in {} are left without a result", markdown::code(project())), "")
        }
        SignalKind::InfraOverhead => both(
            "A third of the calls only keep lists, tasks and memory".into(),
            "Keep one short list for a task, and change it when a step is done rather than after every call.",
        ),
        SignalKind::SchemaThrash => both(
            "The descriptions of tools are loaded again and again".into(),
            "Load the descriptions that a task needs once, in one call.",
        ),
        SignalKind::ToolThrash => {
            both(format!("{} makes up most of a session's calls", markdown::code(locus)), "")
        }
        // Sessions do not show these: agents note them.
        SignalKind::Instruction => both(locus.to_string(), ""),
        SignalKind::CleanPass | SignalKind::ErrorThenRecovery => {
            let check = locus.split_once(": ").map_or(locus, |(_, check)| check);
            let (project, check) = (markdown::code(project()), markdown::code(check));
            let title = format!("In {project}, {check} is the check that passes");
            let advice = format!("The work in {project} counts as checked when {check} passes.");
            (title, advice)
        }
    }
}

/// A fingerprint as people read it.
fn shown(fingerprint: &str) -> String {
    text::one_line(&fingerprint.replace('_', "…"), 120)
}
