//! The tool `review`: what waits for the person, and what an agent would say to it. Where the
//! client can ask the person, it is asked, and what the person answers is a decision; an agent's
//! word never is.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorData, InputRequest, InputRequests, InputRequiredResult,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tools::{self, Asked};
use super::{answers, paging, run_blocking};
use crate::base::text;
use crate::error::{Error, Result};
use crate::ops::review::{Action, InboxItem, ProposeRequest, Reply};

/// How long the person may think about it; then it waits in the inbox.
const PATIENCE: Duration = Duration::from_secs(600);
/// The name under which a stateless client gives the person's answer back.
const ANSWER: &str = "decision";
/// How many tokens a list has at most, and how many lines of evidence an item.
const LIST: usize = 2_000;
const MOST_EVIDENCE: usize = 4;
const LONGEST_LINE: usize = 240;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewArguments {
    item: Option<String>,
    decision: Option<YesOrNo>,
    reason: Option<String>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum YesOrNo {
    Yes,
    No,
}

impl YesOrNo {
    fn word(self) -> &'static str {
        match self {
            YesOrNo::Yes => "yes",
            YesOrNo::No => "no",
        }
    }
}

/// Answers a call: a list, or a proposal, on which the person is asked where that is possible.
pub async fn call(
    asked: Asked,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    if let Some(answer) = request.input_responses.and_then(|mut given| given.remove(ANSWER)) {
        let state = request.request_state.unwrap_or_default();
        return answered(asked, arguments, state, answer).await;
    }
    let of_call = asked.clone();
    let proposed = run_blocking(move || review(&of_call, arguments)).await?;
    let question = match proposed {
        Ok(Answer::Listed(list)) => return Ok(tools::response(Ok(list))),
        Ok(Answer::Proposed(question)) => question,
        Err(error) => return Ok(tools::response(Err(error))),
    };
    if !asks_the_person(&context) {
        return Ok(tools::response(Ok(question.undecided())));
    }
    let is_stateless =
        context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let form = ElicitRequest::new(question.form());
    if is_stateless {
        let requests = InputRequests::from([(ANSWER.into(), InputRequest::Elicitation(form))]);
        return Ok(InputRequiredResult::new(Some(requests), Some(question.state())).into());
    }
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let asking =
        context.peer.send_request_with_option(ServerRequest::ElicitRequest(form), options).await;
    let said = match asking {
        Ok(handle) => handle.await_response().await,
        Err(err) => Err(err),
    };
    match said {
        Ok(ClientResult::ElicitResult(said)) => {
            Ok(tools::response(run_blocking(move || decide(&asked, &question, &said)).await?))
        }
        // Nobody answered: it waits in the inbox, as it would without this client.
        _ => Ok(tools::response(Ok(question.undecided()))),
    }
}

/// A stateless client brings the person's answer: what they saw has to be what still waits.
async fn answered(
    asked: Asked,
    arguments: Value,
    state: String,
    answer: Value,
) -> Result<CallToolResponse, ErrorData> {
    let work = move || -> Result<Value> {
        let said: ElicitResult = tools::read(answer)?;
        let (item, seen) = state.rsplit_once(' ').unwrap_or_default();
        let ReviewArguments { item: named, decision, .. } = tools::read(arguments)?;
        let known = asked.memory()?.inbox()?;
        let found = known.items.into_iter().find(|one| one.id == item);
        let is_meant = |one: &InboxItem| {
            one.evidence_fingerprint == seen && named.is_some_and(|name| item.starts_with(&name))
        };
        let (Some(found), Some(decision)) = (found.filter(is_meant), decision) else {
            return Err(Error::usage("what was asked about does not wait any more")
                .hint("call `review` without arguments to see what waits"));
        };
        decide(&asked, &Question { item: found, decision }, &said)
    };
    Ok(tools::response(run_blocking(work).await?))
}

/// Whether the client says that it can ask the person.
fn asks_the_person(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// What a call comes to without the person.
enum Answer {
    Listed(Value),
    Proposed(Box<Question>),
}

fn review(asked: &Asked, arguments: Value) -> Result<Answer> {
    tools::refuse_endless(&arguments)?;
    let ReviewArguments { item, decision, reason, cursor } = tools::read(arguments)?;
    let memory = asked.memory()?;
    match (item, decision) {
        (None, None) => Ok(Answer::Listed(list(&memory.inbox()?.items, cursor.as_deref())?)),
        (Some(item), Some(decision)) => {
            let action = match decision {
                YesOrNo::Yes => Action::Approve,
                YesOrNo::No => Action::Reject,
            };
            let (why, by) = (reason.unwrap_or_default(), asked.client.clone());
            let item = memory.propose(ProposeRequest { item, action, why, by })?;
            Ok(Answer::Proposed(Box::new(Question { item, decision })))
        }
        _ => Err(Error::usage("a proposal needs `item`, `decision` and `reason`")
            .hint("without arguments the inbox is listed")),
    }
}

/// The items from a place on, as many as the budget allows.
fn list(items: &[InboxItem], cursor: Option<&str>) -> Result<Value> {
    let from = paging::position(cursor)?;
    let (mut shown, mut left) = (Vec::new(), LIST);
    for item in items.iter().skip(from) {
        let one = listed(item);
        let cost = text::tokens(&one.to_string());
        if cost > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(cost);
        shown.push(one);
    }
    let next = from + shown.len();
    let mut answer = json!({"waiting": items.len(), "items": shown});
    if next < items.len() {
        answer["cursor"] = next.to_string().into();
    }
    Ok(answer)
}

fn listed(item: &InboxItem) -> Value {
    let lines = |lines: &[String]| -> Vec<String> {
        lines.iter().take(MOST_EVIDENCE).map(|line| text::one_line(line, LONGEST_LINE)).collect()
    };
    let proposed = item
        .proposed
        .as_ref()
        .map(|view| format!("{} by {}: {}", word(view.action), view.by, view.why));
    tools::without_nulls(json!({
        "item": item.id,
        "kind": item.kind,
        "title": text::one_line(&item.title, LONGEST_LINE),
        "because": text::one_line(&item.because, LONGEST_LINE),
        "advice": item.advice.first().map(|advice| text::one_line(advice, LONGEST_LINE)),
        "evidence": lines(&item.evidence),
        "adds": lines(&item.adds),
        "warnings": (!item.warnings.is_empty()).then(|| lines(&item.warnings)),
        "proposed": proposed,
    }))
}

fn word(action: Action) -> &'static str {
    if action == Action::Approve { "yes" } else { "no" }
}

/// What the person is asked.
struct Question {
    item: InboxItem,
    decision: YesOrNo,
}

impl Question {
    /// The answer as long as nobody has decided.
    fn undecided(&self) -> Value {
        json!({"item": self.item.id, "proposed": self.decision.word(), "decided": false})
    }

    /// What a stateless client has to bring back, so that an answer is about what was seen.
    fn state(&self) -> String {
        format!("{} {}", self.item.id, self.item.evidence_fingerprint)
    }

    /// A form with one question, to which there is no answer before the person gives one.
    fn form(&self) -> ElicitRequestParams {
        let requested_schema = serde_json::from_value(json!({
            "type": "object",
            "properties": {ANSWER: {
                "type": "string",
                "title": "Your decision",
                "description": "yes, no, or later: then it waits in `memtree review`",
                "enum": ["yes", "no", "later"],
            }},
            "required": [ANSWER],
        }));
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message(),
            requested_schema: requested_schema.expect("a test asks"),
        }
    }

    fn message(&self) -> String {
        let InboxItem { kind, title, because, advice, evidence, adds, warnings, proposed, .. } =
            &self.item;
        let line = |said: &str| text::one_line(said, LONGEST_LINE);
        let mut said = format!("memtree: {} · {}\n{}\n", kind.word(), line(because), line(title));
        let mut add = |before: &str, lines: &[String]| {
            for one in lines.iter().take(MOST_EVIDENCE) {
                said.push_str(&format!("{before}{}\n", line(one)));
            }
        };
        add("→ ", advice);
        add("evidence: ", evidence);
        add("a yes adds: ", adds);
        add("! ", warnings);
        if let Some(view) = proposed {
            let (decision, why) = (self.decision.word(), line(&view.why));
            said.push_str(&format!("{} proposes {decision}: “{why}”\n", view.by));
        }
        answers::printable_text(&said)
    }
}

/// Records what the person said, if they said yes or no.
fn decide(asked: &Asked, question: &Question, said: &ElicitResult) -> Result<Value> {
    let content = said.content.as_ref().and_then(|content| content[ANSWER].as_str());
    let chosen = content.filter(|_| said.action == ElicitationAction::Accept);
    let why = || {
        let proposed = question.item.proposed.as_ref();
        let why = proposed.map(|view| format!(": “{}”", view.why)).unwrap_or_default();
        format!("asked through {}{why}", asked.client)
    };
    let reply = match chosen {
        Some("yes") => Reply::Approve(why()),
        Some("no") => Reply::Reject(why()),
        _ => return Ok(question.undecided()),
    };
    let report = asked.memory()?.decide(&[(question.item.id.clone(), reply)])?;
    let decided = report.decided.iter().any(|one| one.item == question.item.id);
    let mut answer = question.undecided();
    answer["decided"] = decided.into();
    if let Some(chosen) = chosen.filter(|_| decided) {
        answer["decision"] = chosen.into();
    }
    answer["left"] = report.left.into();
    Ok(answer)
}
