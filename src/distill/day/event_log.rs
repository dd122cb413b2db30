//! A session's event log: two events for each turn, what the person said and what the agent
//! answered in the end.

use serde::Serialize;

use crate::base::clock;
use crate::model::day::{DayLine, LineKind};
use crate::model::ids::SessionId;

#[derive(Serialize)]
struct Event<'e> {
    session_id: &'e str,
    event_type: &'static str,
    timestamp: String,
    payload: Payload<'e>,
    source: &'static str,
}

#[derive(Serialize)]
struct Payload<'e> {
    text: &'e str,
    /// Which agent answered.
    route: &'e str,
}

/// Makes a session's event log from its lines of days, in their order.
pub fn event_log(
    session: &SessionId,
    flavor: &str,
    lines: impl Iterator<Item = DayLine>,
) -> String {
    let session = session.to_string();
    let mut log = String::new();
    let mut add = |line: &DayLine, event_type, source| {
        let payload = Payload { text: &line.text, route: flavor };
        let event = Event {
            session_id: &session,
            event_type,
            timestamp: clock::stamp(line.at),
            payload,
            source,
        };
        log.push_str(
            &serde_json::to_string(&event).expect("our own types can always be written as JSON"),
        );
        log.push('\n');
    };
    let mut answer: Option<DayLine> = None;
    for line in lines {
        match line.kind {
            LineKind::User => {
                answer
                    .take()
                    .iter()
                    .for_each(|answer| add(answer, "assistant_message", "main_agent"));
                add(&line, "user_message", "user");
            }
            LineKind::MainAgent => answer = Some(line),
            _ => {}
        }
    }
    answer.iter().for_each(|answer| add(answer, "assistant_message", "main_agent"));
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_two_events() {
        let line = |second: &str, kind, text: &str| DayLine {
            at: clock::parse(&format!("2026-11-15T10:00:{second}Z")).unwrap(),
            kind,
            text: text.into(),
            cut_from: None,
        };
        let lines = [
            line("00", LineKind::User, "why \"so\"?"),
            line("01", LineKind::MainAgent, "I look."),
            line("02", LineKind::ToolEvent, "`$ cargo test` ok=true"),
            line("03", LineKind::MainAgent, "Because."),
            line("04", LineKind::User, "thanks"),
        ];
        let session = "SES1_desk_SP1C1".parse().unwrap();
        let expect = "{\"session_id\":\"SES1_desk_SP1C1\",\"event_type\":\"user_message\",\"timestamp\":\"2026-11-15T10:00:00Z\",\"payload\":{\"text\":\"why \\\"so\\\"?\",\"route\":\"claude\"},\"source\":\"user\"}\n\
            {\"session_id\":\"SES1_desk_SP1C1\",\"event_type\":\"assistant_message\",\"timestamp\":\"2026-11-15T10:00:03Z\",\"payload\":{\"text\":\"Because.\",\"route\":\"claude\"},\"source\":\"main_agent\"}\n\
            {\"session_id\":\"SES1_desk_SP1C1\",\"event_type\":\"user_message\",\"timestamp\":\"2026-11-15T10:00:04Z\",\"payload\":{\"text\":\"thanks\",\"route\":\"claude\"},\"source\":\"user\"}\n";
        assert_eq!(event_log(&session, "claude", lines.into_iter()), expect);
    }
}
