//! Vitals: what is known of a session in numbers, as its snapshot keeps it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::found::Found;
use crate::base::{clock, text};
use crate::distill::facts::Facts;
use crate::model::digest::Content;
use crate::model::ids::EpisodeId;
use crate::model::session::{Head, ModelUsage};

/// The page of a session's vitals.
pub fn vitals(
    source_id: &String,
    facts: &Facts,
    head: &Head,
    content: &Content,
    found: Option<&Found>,
) -> String {
    let runs = facts.parts.iter().flat_map(|part| {
        part.tests.iter().map(|test| {
            let verdict = if test.passed { "passed" } else { "failed" };
            format!("{} {verdict} {}", EpisodeId(part.episode), test.summary).trim_end().to_string()
        })
    });
    // Names come from the log, and whoever opens the page may do so in a terminal.
    let line = |name: &String| text::one_line(name, 300);
    let models =
        head.usage.iter().map(|used| ModelUsage { model: line(&used.model), ..used.clone() });
    let vitals = Vitals {
        source_id: line(source_id),
        agent_version: head.version.as_ref().map(line),
        models: models.collect(),
        cwd: content.cwd.clone(),
        branch: head.branch.as_ref().map(line),
        remote: head.remote.as_ref().map(line),
        head_commit: head.head_commit.as_ref().map(line),
        forked_from: head.parent.as_ref().map(line),
        found,
        pull_requests: head.pull_requests.iter().map(line).collect(),
        started: facts.started.map(clock::stamp),
        ended: facts.ended.map(clock::stamp),
        seconds: facts
            .started
            .zip(facts.ended)
            .map_or(0, |(started, ended)| (ended - started).num_seconds()),
        outcome: content.status.to_string(),
        cost_usd: content.cost_usd,
        prompts: facts.prompts,
        replies: facts.parts.iter().filter(|part| !part.inherited).map(|part| part.replies).sum(),
        tool_calls: facts.tool_calls,
        failed_calls: facts.failed_calls,
        own_commands: facts.own_commands,
        interventions: facts.interventions,
        compactions: facts.compactions,
        subagents: facts.subagents.iter().map(line).collect(),
        tools: facts.tools.iter().map(|(tool, count)| (line(tool), *count)).collect(),
        events: facts
            .events
            .iter()
            .map(|(kind, count)| (*kind, *count))
            .chain([("decision", facts.decisions())])
            .collect(),
        test_runs: runs.take(100).collect(),
        records: head.records,
        inherited: head.inherited,
        ignored: &head.ignored,
        skipped: head.skipped_total,
    };
    serde_yaml::to_string(&vitals).unwrap_or_default()
}

/// What is known of the session in numbers.
#[derive(Serialize)]
struct Vitals<'a> {
    source_id: String,
    agent_version: Option<String>,
    models: Vec<ModelUsage>,
    cwd: Option<String>,
    branch: Option<String>,
    remote: Option<String>,
    head_commit: Option<String>,
    forked_from: Option<String>,
    /// What the log does not say and was found around it, the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a Found>,
    pull_requests: Vec<String>,
    started: Option<String>,
    ended: Option<String>,
    seconds: i64,
    outcome: String,
    cost_usd: Option<f64>,
    prompts: u64,
    replies: u64,
    tool_calls: u64,
    failed_calls: u64,
    own_commands: u64,
    interventions: u64,
    compactions: u64,
    subagents: Vec<String>,
    tools: BTreeMap<String, u64>,
    events: BTreeMap<&'static str, u64>,
    test_runs: Vec<String>,
    records: u64,
    inherited: u64,
    ignored: &'a BTreeMap<String, u64>,
    skipped: u64,
}
