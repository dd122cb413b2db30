//! The tools: what each takes, which op it asks, and what it answers.
//!
//! How they are described to agents stands in `templates/mcp/tools.json`: short, because every
//! client puts it before its model.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::{CallToolResponse, CallToolResult, Tool};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answers::{self, NOTE};
use super::{Served, paging};
use crate::base::{files, text};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::model::hit::{Hit, NoteHit, Tree};
use crate::ops::annotate::{AnnotateRequest, ProposedLine};
use crate::ops::ask::AskRequest;
use crate::ops::blame::{BlameReport, BlameRequest, FileBlame, LineBlame};
use crate::ops::context::ContextRequest;
use crate::ops::recall::RecallRequest;
use crate::ops::remember::{NoteKind, RememberRequest};
use crate::ops::search::SearchRequest;
use crate::query::{FilterKey, Query};

/// How the tools are described.
const DESCRIBED: &str = include_str!("../../templates/mcp/tools.json");
/// How many hits and sessions are given at once, and how many tokens of a page.
const HITS: usize = 5;
const MOST_HITS: usize = 20;
const MOST_NOTES: usize = 2;
const PAGE: usize = 2_000;
const LARGEST_PAGE: usize = 20_000;
/// The longest text that an argument may have; nobody asks a question of a megabyte.
const LONGEST_ARGUMENT: usize = 64 << 10;
/// How much of a hit's words is shown, and of its title.
const LONGEST_EXCERPT: usize = 240;
const LONGEST_TITLE: usize = 100;

/// Whom a call comes from, and which memory it is about.
#[derive(Clone)]
pub struct Asked {
    pub served: Arc<Served>,
    /// The program through which the agent speaks, as it calls itself.
    pub client: String,
}

impl Asked {
    /// The memory as it is now.
    pub fn memory(&self) -> Result<Memory> {
        self.served.memory()
    }
}

type Call = fn(&Asked, Value) -> Result<Value>;

/// The tool that may ask the person, and so is answered elsewhere.
pub const REVIEW: &str = "review";

/// Every other tool by its name.
const TOOLS: &[(&str, Call)] = &[
    ("search", search),
    ("recall", recall),
    ("context", context),
    ("blame", blame),
    ("ask", ask),
    ("status", status),
    ("remember", remember),
    ("annotate", annotate),
];

/// The tools as clients list them.
pub fn all() -> Vec<Tool> {
    serde_json::from_str(DESCRIBED).expect("a test reads the template")
}

pub fn names() -> Vec<&'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain([REVIEW]).collect()
}

pub fn is_known(name: &str) -> bool {
    names().contains(&name)
}

/// An answer as data, and as text for clients that know no better; or what went wrong.
pub fn response(answer: Result<Value>) -> CallToolResponse {
    match answer {
        Ok(answer) => CallToolResult::structured(answers::printable(answer)).into(),
        Err(error) => answers::failure(&error).into(),
    }
}

/// Calls a tool that [is known](is_known).
pub fn call(asked: &Asked, name: &str, arguments: Value) -> Result<Value> {
    let known = TOOLS.iter().find(|(known, _)| *known == name);
    let (_, call) = known.ok_or_else(|| Error::not_found(format!("there is no tool `{name}`")))?;
    refuse_endless(&arguments)?;
    call(asked, arguments)
}

/// Refuses arguments that are longer than anybody means.
pub fn refuse_endless(arguments: &Value) -> Result<()> {
    let too_long = match arguments {
        Value::String(said) => said.len() > LONGEST_ARGUMENT,
        Value::Array(values) => return values.iter().try_for_each(refuse_endless),
        Value::Object(fields) => return fields.values().try_for_each(refuse_endless),
        _ => false,
    };
    match too_long {
        true => Err(Error::usage(format!("a text has more than {LONGEST_ARGUMENT} bytes"))
            .hint("say it in a few sentences")),
        false => Ok(()),
    }
}

/// The arguments of a tool; what is wrong with them is said so that a model can mend it.
pub fn read<T: DeserializeOwned>(arguments: Value) -> Result<T> {
    serde_json::from_value(arguments).map_err(|err| {
        Error::usage("wrong arguments")
            .because(text::one_line(&err.to_string(), 200))
            .hint("the tool's inputSchema has the names and types")
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    #[serde(default)]
    queries: Vec<String>,
    project: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

fn search(asked: &Asked, arguments: Value) -> Result<Value> {
    let SearchArguments { query, queries, project, limit, cursor } = read(arguments)?;
    let from = paging::position(cursor.as_deref())?;
    let limit = limit.unwrap_or(HITS).clamp(1, MOST_HITS);
    let mut wanted = Query::parse(&query)?;
    if let Some(project) = &project {
        wanted.filter(FilterKey::Project, project)?;
    }
    let memory = asked.memory()?;
    let notes = match from {
        0 => agents_notes(&memory, &wanted, &queries)?,
        _ => Vec::new(),
    };
    let request =
        SearchRequest::default().query(wanted).also(queries).limit(from.saturating_add(limit));
    let report = memory.search(request)?;
    let hits: Vec<Value> = report.hits.iter().skip(from).map(hit).collect();
    let next = from + hits.len();
    let mut answer = json!({"note": NOTE, "hits": hits});
    if next < report.total && !hits.is_empty() {
        answer["cursor"] = next.to_string().into();
    }
    if let Some(reason) = report.embeddings.as_ref().and_then(|used| used.because.as_ref()) {
        answer["ranked_by_words_alone"] = json!(text::one_line(reason, 200));
    }
    if !notes.is_empty() {
        answer["notes"] = json!(notes);
    }
    // What only the command line can do helps nobody here.
    let is_typed = |one: &&String| one.contains("`--") || one.contains("`memtree");
    let hints: Vec<&String> = report.suggestions.iter().filter(|one| !is_typed(one)).collect();
    if !hints.is_empty() {
        answer["try"] = json!(hints);
    }
    Ok(answer)
}

/// What agents have noted of it through the memory tool, where that is more than a guess.
fn agents_notes(memory: &Memory, query: &Query, also: &[String]) -> Result<Vec<Value>> {
    if !files::is_dir(memory.layout().memories()) {
        return Ok(Vec::new());
    }
    let request = SearchRequest::default().query(query.clone()).also(also.to_vec());
    let request = request.trees(vec![Tree::Memories]).limit(MOST_NOTES);
    let found = memory.search(request)?.notes.into_iter().filter(|note| !note.weak);
    let note = |note: NoteHit| {
        json!({
            "path": format!("/{}", note.path),
            "by": "assistant",
            "text": text::one_line(&note.excerpt, LONGEST_EXCERPT),
        })
    };
    Ok(found.map(note).collect())
}

/// A hit in the fewest words that let a reader choose.
fn hit(hit: &Hit) -> Value {
    let RecallRequest { what, .. } = RecallRequest::from(hit);
    let day = hit.ended.as_deref().and_then(|ended| ended.split('T').next());
    let mut shown = json!({
        "ref": what,
        "title": text::one_line(&hit.title, LONGEST_TITLE),
        "project": hit.project,
        "date": day,
        "agent": hit.flavor,
        "status": hit.status,
        "text": text::one_line(&hit.excerpt, LONGEST_EXCERPT),
    });
    shown["confidence"] = json!((hit.confidence * 100.0).round() / 100.0);
    if hit.weak {
        shown["weak"] = true.into();
    }
    without_nulls(shown)
}

/// An object without the fields that say nothing.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
        }
        other => other,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    around: u32,
    budget: Option<usize>,
    cursor: Option<String>,
}

fn recall(asked: &Asked, arguments: Value) -> Result<Value> {
    let RecallArguments { reference, around, budget, cursor } = read(arguments)?;
    let from = paging::position(cursor.as_deref())?;
    if reference.trim().parse::<usize>().is_ok() {
        return Err(Error::usage("a number is no reference here: several clients search at once")
            .hint("give the `ref` of a hit, such as SES3_laptop_SP1C2#EP_004"));
    }
    let request = RecallRequest::of(reference).around(around.min(20));
    let report = asked.memory()?.recall(request)?;
    let budget = budget.unwrap_or(PAGE).min(LARGEST_PAGE);
    let whole = text::without_speaker_marks(&report.text);
    let (text, next) = match from {
        0 => paging::first_part(&whole, budget)?,
        from => {
            let (text, next) = paging::part(&whole, from, budget)?;
            (text.into(), next)
        }
    };
    Ok(without_nulls(json!({
        "note": NOTE,
        "ref": report.reference,
        "path": report.path,
        "text": text,
        "evicted": report.evicted.then_some(true),
        "weak": report.weak.then_some(true),
        "cursor": next.map(|next| next.to_string()),
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextArguments {
    project: Option<String>,
    folder: Option<PathBuf>,
    prompt: Option<String>,
    #[serde(default)]
    queries: Vec<String>,
    budget: Option<usize>,
}

fn context(asked: &Asked, arguments: Value) -> Result<Value> {
    let ContextArguments { project, folder, prompt, queries, budget } = read(arguments)?;
    if folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
        return Err(Error::usage("the folder is not absolute").hint("give its whole path"));
    }
    let memory = asked.memory()?;
    // Clients start their servers in a folder of their own; some say where the person works.
    let said = memory.environment().variable("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let budget = budget.unwrap_or(memory.settings().context.budget).min(LARGEST_PAGE);
    let report = memory.context(ContextRequest {
        project,
        folder: folder.or(said),
        prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
        also: queries,
        budget: Some(budget),
        ..ContextRequest::default()
    })?;
    let text = match report.text.is_empty() {
        true => "The memory has nothing on this.".to_string(),
        false => report.text,
    };
    Ok(without_nulls(json!({"text": text, "project": report.project, "tokens": report.tokens})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlameArguments {
    file: PathBuf,
    line: Option<usize>,
    limit: Option<usize>,
}

fn blame(asked: &Asked, arguments: Value) -> Result<Value> {
    let BlameArguments { file, line, limit } = read(arguments)?;
    let limit = limit.unwrap_or(HITS * 2).clamp(1, MOST_HITS * 5);
    let mut answer = BlameAnswer { note: NOTE, sessions: None, lines: None };
    let request = match line {
        Some(_) => BlameRequest { file, line },
        None => BlameRequest::of(&file),
    };
    match asked.memory()?.blame(request)? {
        BlameReport::Source(file) => answer.sessions = Some(changes(&file, limit)),
        BlameReport::Memory { lines } => {
            answer.lines = Some(lines.iter().take(limit).map(line_sources).collect());
        }
    }
    Ok(without_nulls(json!(answer)))
}

#[derive(Serialize)]
struct BlameAnswer {
    note: &'static str,
    sessions: Option<Vec<Value>>,
    lines: Option<Vec<Value>>,
}

fn changes(file: &FileBlame, limit: usize) -> Vec<Value> {
    let shown = file.sessions.iter().take(limit).map(|session| {
        let reference = match session.triggers.first() {
            Some(trigger) => format!("{}#{}", session.session, trigger.episode),
            None => session.session.to_string(),
        };
        let day = session.ended.map(|at| at.format("%Y-%m-%d").to_string());
        without_nulls(json!({
            "ref": reference,
            "title": text::one_line(&session.title, LONGEST_TITLE),
            "date": day,
            "status": session.status,
        }))
    });
    shown.collect()
}

fn line_sources(line: &LineBlame) -> Value {
    let refs = line.sources.iter().map(|source| source.place());
    let refs: Vec<String> = refs.collect();
    json!({"line": line.line, "text": text::one_line(&line.text, LONGEST_EXCERPT), "refs": refs})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    question: String,
    #[serde(default)]
    queries: Vec<String>,
}

fn ask(asked: &Asked, arguments: Value) -> Result<Value> {
    let AskArguments { question, queries } = read(arguments)?;
    let report = asked.memory()?.ask(AskRequest::default().question(question).also(queries))?;
    let citation = |cited: &crate::ops::ask::Citation| {
        without_nulls(json!({
            "text": text::one_line(&cited.text, 400),
            "ref": cited.reference,
            "page": cited.page,
        }))
    };
    let citations: Vec<Value> = report.citations.iter().map(citation).collect();
    let answer = report.answer.unwrap_or_else(|| "Nothing in this memory answers that.".into());
    Ok(json!({"note": NOTE, "answer": answer, "citations": citations}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusArguments {}

fn status(asked: &Asked, arguments: Value) -> Result<Value> {
    let StatusArguments {} = read(arguments)?;
    let memory = asked.memory()?;
    let status = memory.status_in_short()?;
    let mut concerns: Vec<String> = memory.warnings().to_vec();
    let deleted = status.at_risk.iter();
    concerns.extend(deleted.map(|risk| {
        let sessions = text::counted(risk.sessions, "session");
        format!("{} deletes {sessions} in {} days: run `memtree sweep`", risk.flavor, risk.in_days)
    }));
    concerns.extend(status.damaged.iter().map(|damaged| format!("damaged: {damaged}")));
    Ok(json!(StatusAnswer {
        sessions: status.sessions.total,
        open: status.sessions.open,
        agents: &status.sessions.by_flavor,
        days: status.days,
        cores: status.cores,
        concerns,
    }))
}

#[derive(Serialize)]
struct StatusAnswer<'a, Agents> {
    sessions: usize,
    open: usize,
    agents: &'a Agents,
    days: usize,
    cores: usize,
    concerns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    text: String,
    #[serde(default)]
    kind: NoteKind,
    session: Option<String>,
    project: Option<String>,
}

fn remember(asked: &Asked, arguments: Value) -> Result<Value> {
    let RememberArguments { text, kind, session, project } = read(arguments)?;
    let by = asked.client.clone();
    let request = RememberRequest { text, session, kind, project, by };
    let report = asked.memory()?.remember(request)?;
    let waits = report.waits.map(|item| format!("{item}: for the person's yes, in the inbox"));
    Ok(without_nulls(json!({"kept": report.line, "paths": report.paths, "waits": waits})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnnotateArguments {
    session: String,
    lines: Vec<ProposedLine>,
}

fn annotate(asked: &Asked, arguments: Value) -> Result<Value> {
    let AnnotateArguments { session, lines } = read(arguments)?;
    let report = asked.memory()?.annotate(AnnotateRequest { session, lines })?;
    Ok(json!({"session": report.session, "kept": report.kept, "refused": report.refused}))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// About how many tokens a value costs a client's model.
    fn tokens(value: &Value) -> usize {
        value.to_string().chars().count() / 4
    }

    #[test]
    fn every_tool_is_described_within_the_budget() {
        let described: Vec<Value> = serde_json::from_str(DESCRIBED).unwrap();
        let listed: Vec<String> = all().iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(listed, names());
        let (mut input, mut output) = (0, 0);
        for tool in &described {
            let hints = tool["annotations"].as_object().unwrap();
            let named: BTreeSet<&str> = hints.keys().map(String::as_str).collect();
            assert_eq!(
                named,
                ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint", "title"]
                    .into()
            );
            let described = ["name", "description", "inputSchema"];
            input += described.iter().map(|key| tokens(&tool[*key])).sum::<usize>();
            output += tokens(&tool["outputSchema"]);
        }
        assert!(input <= 1_200, "{input} tokens before every conversation");
        assert!(output <= 1_300, "{output} tokens of output schemas");
    }

    #[test]
    fn arguments_are_those_of_the_schema() {
        for tool in all() {
            let mut arguments = serde_json::Map::new();
            let properties = tool.input_schema["properties"].as_object().unwrap().clone();
            for (name, schema) in properties {
                let value = match schema["type"].as_str() {
                    _ if schema["enum"].is_array() => schema["enum"][0].clone(),
                    Some("integer") => json!(1),
                    Some("array") => json!([]),
                    _ => json!("x"),
                };
                arguments.insert(name, value);
            }
            let arguments = Value::Object(arguments);
            let read = match tool.name.as_ref() {
                "search" => read::<SearchArguments>(arguments).map(drop),
                "recall" => read::<RecallArguments>(arguments).map(drop),
                "context" => read::<ContextArguments>(arguments).map(drop),
                "blame" => read::<BlameArguments>(arguments).map(drop),
                "ask" => read::<AskArguments>(arguments).map(drop),
                "status" => read::<StatusArguments>(arguments).map(drop),
                "remember" => read::<RememberArguments>(arguments).map(drop),
                "annotate" => read::<AnnotateArguments>(arguments).map(drop),
                REVIEW => read::<crate::mcp::inbox::ReviewArguments>(arguments).map(drop),
                other => panic!("{other} has no arguments here"),
            };
            read.unwrap_or_else(|error| panic!("{}: {error}", tool.name));
        }
    }
}
