//! A step: one thing that a reader of the session would see, with a tool call and its answer as
//! one.
//!
//! Logs hold calls and results apart, in any order when calls run in parallel. [`Joiner`] puts them
//! together again and keeps the order of the calls. Texts are cleaned before they get here.

use crate::base::clock::Timestamp;
use crate::model::evidence::FileState;
use crate::model::session::{Action, Actor, CallResult, Event, EventKind, Position};

/// One step of a session.
#[derive(Debug, Clone)]
pub struct Step {
    /// When, where the log says it.
    pub at: Option<Timestamp>,
    /// Where in the log.
    pub position: Position,
    /// The subagent that did it; `None` is the main conversation.
    pub agent: Option<String>,
    /// Whether it is a copy of another session's.
    pub inherited: bool,
    /// What it is.
    pub kind: StepKind,
}

/// The kinds of steps.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// The person's prompt.
    Prompt(String),
    /// The conversation went back to after this many prompts.
    Rewind(u32),
    /// The person stepped in.
    Intervention(String),
    /// The agent's words.
    Reply(String),
    /// The agent's thoughts.
    Thinking(String),
    /// A tool call with its answer.
    ToolCall(ToolCall),
    /// The agent's own summary of what came before.
    Compaction(String),
    /// Something about the session.
    Lifecycle(String),
    /// The end of the agent's turn.
    Completion,
}

/// A tool call with its answer.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Joins it to its answer.
    pub id: String,
    /// The tool, as the agent calls it.
    pub tool: String,
    /// What was asked.
    pub action: Action,
    /// Who asked it.
    pub by: Actor,
    /// What came back; `None` where the session broke off before.
    pub answer: Option<Outcome>,
}

/// What came back from a tool.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its text, shortened in the middle where it is long.
    pub text: String,
    /// How long the whole text is, in bytes.
    pub bytes: usize,
    /// Whether the log says that the call failed.
    pub failed: bool,
    /// The exit code, where the log says it.
    pub exit_code: Option<i32>,
    /// Images left out of the text.
    pub images: u32,
    /// What the changed file is like now, where the result says it.
    pub state: FileState,
}

impl ToolCall {
    /// Whether the answer says that it failed.
    pub fn failed(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|answer| answer.failed || answer.exit_code.is_some_and(|code| code != 0))
    }
}

/// Joins calls to their answers.
#[derive(Debug, Default)]
pub struct Joiner {
    waiting: Vec<Step>,
}

/// More calls than this do not wait at the same time; the oldest goes on without its answer.
const MOST_WAITING: usize = 64;

impl Joiner {
    /// Takes an event and hands over the steps that are whole now.
    pub fn take(&mut self, event: Event<'_>, mut hand_over: impl FnMut(Step)) {
        let Event { at, position, agent, inherited, kind } = event;
        let agent = agent.map(str::to_string);
        let step = |kind| Step { at, position, agent: agent.clone(), inherited, kind };
        match kind {
            EventKind::Call(call) => {
                if self.waiting.len() >= MOST_WAITING {
                    hand_over(self.waiting.remove(0));
                }
                self.waiting.push(step(StepKind::ToolCall(ToolCall {
                    id: call.id.into_owned(),
                    tool: call.tool.into_owned(),
                    action: call.action,
                    by: call.by,
                    answer: None,
                })));
            }
            EventKind::Result(answer) => {
                match self.waiting.iter_mut().find(|step| awaits(step, &answer.id)) {
                    Some(waiting) => {
                        if let StepKind::ToolCall(call) = &mut waiting.kind {
                            call.answer = Some(outcome(answer));
                        }
                        while self.waiting.first().is_some_and(is_whole) {
                            hand_over(self.waiting.remove(0));
                        }
                    }
                    // The result of a call that was handed over already, or that is not in the log.
                    None => hand_over(step(StepKind::ToolCall(ToolCall {
                        id: answer.id.clone().into_owned(),
                        tool: String::new(),
                        action: Action::Other { input: String::new() },
                        by: Actor::Agent,
                        answer: Some(outcome(answer)),
                    }))),
                }
            }
            // A subagent speaks while the call that started it still waits: that ends no turn.
            kind if agent.is_some() => {
                if let Some(kind) = said(kind) {
                    hand_over(step(kind));
                }
            }
            kind => {
                // Agents answer between their calls; only a new prompt means that no answer will
                // come.
                if matches!(kind, EventKind::Prompt(_)) {
                    self.waiting.drain(..).for_each(&mut hand_over);
                }
                if let Some(kind) = said(kind) {
                    hand_over(step(kind));
                }
            }
        }
    }

    /// Hands over what still waits.
    pub fn finish(self, hand_over: impl FnMut(Step)) {
        self.waiting.into_iter().for_each(hand_over);
    }
}

fn said(kind: EventKind<'_>) -> Option<StepKind> {
    Some(match kind {
        EventKind::Prompt(text) => StepKind::Prompt(text.into_owned()),
        EventKind::Rewind { kept } => StepKind::Rewind(kept),
        EventKind::Intervention(text) => StepKind::Intervention(text.into_owned()),
        EventKind::Reply(text) => StepKind::Reply(text.into_owned()),
        EventKind::Thinking(text) => StepKind::Thinking(text.into_owned()),
        EventKind::Compaction(text) => StepKind::Compaction(text.into_owned()),
        EventKind::Lifecycle(text) => StepKind::Lifecycle(text.into_owned()),
        EventKind::Completion => StepKind::Completion,
        EventKind::Call(_) | EventKind::Result(_) => return None,
    })
}

fn awaits(step: &Step, id: &str) -> bool {
    matches!(&step.kind, StepKind::ToolCall(call) if call.id == id && call.answer.is_none())
}

fn is_whole(step: &Step) -> bool {
    matches!(&step.kind, StepKind::ToolCall(call) if call.answer.is_some())
}

fn outcome(answer: CallResult<'_>) -> Outcome {
    Outcome {
        bytes: answer.text.len(),
        text: answer.text.into_owned(),
        failed: answer.failed,
        exit_code: answer.exit_code,
        images: answer.images,
        state: answer.state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Call;

    fn event(kind: EventKind<'static>) -> Event<'static> {
        Event {
            at: None,
            position: Position { file: 0, line: 1 },
            agent: None,
            inherited: false,
            kind,
        }
    }

    fn call(id: &'static str) -> Event<'static> {
        event(EventKind::Call(Call {
            id: id.into(),
            tool: "Bash".into(),
            action: Action::Shell { command: id.into() },
            by: Actor::Agent,
        }))
    }

    fn answer(id: &'static str) -> Event<'static> {
        event(EventKind::Result(CallResult {
            id: id.into(),
            text: id.into(),
            failed: false,
            exit_code: None,
            images: 0,
            ..CallResult::default()
        }))
    }

    #[test]
    fn parallel_calls_keep_their_order() {
        let mut joiner = Joiner::default();
        let mut seen = Vec::new();
        let mut note = |step: Step| {
            if let StepKind::ToolCall(call) = step.kind {
                seen.push((call.id, call.answer.map(|answer| answer.text)));
            }
        };
        for event in [call("a"), call("b"), call("c"), answer("b"), answer("a")] {
            joiner.take(event, &mut note);
        }
        joiner.finish(&mut note);
        let some = |text: &str| Some(text.to_string());
        assert_eq!(seen, [("a".into(), some("a")), ("b".into(), some("b")), ("c".into(), None)]);
    }
}
