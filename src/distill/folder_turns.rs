//! Turns in a file of a folder: what a person and an agent said, where the file has that shape.
//!
//! JSON: an episode with `turn_user` and `turn_llm`, a list of messages with a role each, or lines
//! of either. Markdown: `**User:** …`, `User: …` or a heading `## User`, and the same for the
//! agent. Whatever else a file holds is not a conversation, and is read for its words alone.

use serde_json::{Map, Value};

use crate::base::clock::{self, Timestamp};
use crate::base::static_regex::StaticRegex;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub by_person: bool,
    pub text: String,
    /// When, where the file says so.
    pub at: Option<Timestamp>,
}

/// How deep turns may lie in a document, and how many are read of one file.
const DEEPEST: usize = 6;
const MOST_TURNS: usize = 400;

/// The turns of a file; none where it has not that shape.
pub fn turns(text: &str) -> Vec<Turn> {
    let mut turns = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => of_json(&value, None, 0, &mut turns),
        Err(_) => {
            let lines: Vec<Value> =
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            match lines.iter().any(Value::is_object) {
                true => lines.iter().for_each(|line| of_json(line, None, 0, &mut turns)),
                false => turns = of_markdown(text),
            }
        }
    }
    turns.truncate(MOST_TURNS);
    turns
}

/// How many entries a file of a log has: its records, items or lines with a time, or one where it
/// has none of these.
pub fn entries(text: &str) -> u64 {
    let count = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(items)) => items.len(),
        Ok(Value::Object(fields)) => {
            let lists = fields.values().filter_map(Value::as_array).map(Vec::len);
            lists.max().unwrap_or(1)
        }
        Ok(_) => 1,
        Err(_) => {
            let is_record = |line: &&str| line.trim_start().starts_with('{');
            let is_item = |line: &&str| line.starts_with("- ") || line.starts_with("* ");
            let is_timed = |line: &&str| {
                line.trim_start_matches(['[', '('])
                    .starts_with(|first: char| first.is_ascii_digit())
                    && line.contains(':')
            };
            let counts = [
                text.lines().filter(is_record).count(),
                text.lines().filter(is_item).count(),
                text.lines().filter(is_timed).count(),
            ];
            counts.into_iter().find(|count| *count > 0).unwrap_or_default()
        }
    };
    (count as u64).max(u64::from(!text.trim().is_empty()))
}

fn of_json(value: &Value, at: Option<Timestamp>, depth: usize, turns: &mut Vec<Turn>) {
    if depth > DEEPEST || turns.len() > MOST_TURNS {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| of_json(item, at, depth + 1, turns)),
        Value::Object(fields) => of_object(fields, at, depth, turns),
        _ => {}
    }
}

fn of_object(
    fields: &Map<String, Value>,
    before: Option<Timestamp>,
    depth: usize,
    turns: &mut Vec<Turn>,
) {
    let time = ["timestamp", "time", "created_at", "ts"].iter().find_map(|key| fields.get(*key));
    let at = time.and_then(Value::as_str).and_then(clock::parse).or(before);
    let mut add = |by_person: bool, value: &Value| {
        let text = said(value, 0);
        if !text.trim().is_empty() {
            turns.push(Turn { by_person, text, at });
        }
    };
    let person =
        ["turn_user", "user", "prompt", "question"].iter().find_map(|key| fields.get(*key));
    let agent = ["turn_llm", "turn_ai", "turn_assistant", "assistant", "reply", "answer"]
        .iter()
        .find_map(|key| fields.get(*key));
    if let (Some(person), Some(agent)) = (person, agent) {
        add(true, person);
        return add(false, agent);
    }
    let role =
        ["role", "speaker", "author", "from"].iter().find_map(|key| fields.get(*key)?.as_str());
    let text = ["content", "text", "message"].iter().find_map(|key| fields.get(*key));
    if let (Some(role), Some(text)) = (role, text)
        && let Some(by_person) = whose(role)
    {
        return add(by_person, text);
    }
    for key in ["turns", "messages", "episodes", "events", "log", "conversation", "dialogue"] {
        if let Some(list) = fields.get(key) {
            of_json(list, at, depth + 1, turns);
        }
    }
}

/// Whether a role is the person's; `None` where it is neither's.
fn whose(role: &str) -> Option<bool> {
    match role.to_lowercase().as_str() {
        "user" | "human" | "person" | "turn_user" => Some(true),
        "assistant" | "ai" | "agent" | "llm" | "model" | "bot" => Some(false),
        _ => None,
    }
}

/// The words of a turn: a text, or an object or list that holds one.
fn said(value: &Value, depth: usize) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) if depth < DEEPEST => {
            let text =
                ["text", "content", "message", "raw"].iter().find_map(|key| fields.get(*key));
            text.map(|text| said(text, depth + 1)).unwrap_or_default()
        }
        Value::Array(items) if depth < DEEPEST => {
            let texts: Vec<String> = items.iter().map(|item| said(item, depth + 1)).collect();
            texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn of_markdown(text: &str) -> Vec<Turn> {
    static SPEAKER: StaticRegex = StaticRegex::new(
        r"(?i)^(?:#{1,4}\s+|\*\*|__)?(user|human|person|assistant|agent|ai|llm)(?:\*\*|__)?\s*(?::\s*(?:\*\*|__)?|$)",
    );
    let mut turns: Vec<Turn> = Vec::new();
    for line in text.lines() {
        match SPEAKER.captures(line.trim_end()) {
            Some(found) => {
                let by_person = whose(&found[1]).unwrap_or_default();
                let rest = line[found[0].len().min(line.len())..].trim();
                turns.push(Turn { by_person, text: rest.to_string(), at: None });
            }
            None => {
                if let Some(turn) = turns.last_mut() {
                    turn.text.push('\n');
                    turn.text.push_str(line);
                }
            }
        }
    }
    for turn in &mut turns {
        turn.text = turn.text.trim().to_string();
    }
    turns.retain(|turn| !turn.text.is_empty());
    // A page with one speaker is a page that begins a line with that word. A document that names a
    // role means it: some keep one turn in each file.
    let has_both =
        turns.iter().any(|turn| turn.by_person) && turns.iter().any(|turn| !turn.by_person);
    if has_both { turns } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let who = |turn: &Turn| if turn.by_person { "user" } else { "agent" };
        turns(text).iter().map(|turn| format!("{}: {}", who(turn), turn.text)).collect()
    }

    #[test]
    fn an_episode_is_read_as_its_turns() {
        let episode = r#"{"episode_id":"EVA_EP01","timestamp":"2026-11-15T09:00:00Z",
            "turn_user":{"text":"Where were we?"},
            "turn_llm":{"text":"At the lock.","salience_anchor":{"phrase":"lock","impact":0.9}},
            "state_snapshot":{"Resonance_index":0.7}}"#;
        assert_eq!(shown(episode), ["user: Where were we?", "agent: At the lock."]);
        assert!(turns(episode)[0].at.is_some());
        let list = r#"{"messages":[{"role":"user","content":"a?"},{"role":"assistant","content":[{"type":"text","text":"b."}]}]}"#;
        assert_eq!(shown(list), ["user: a?", "agent: b."]);
        let lines = "{\"role\":\"user\",\"text\":\"a?\"}\n{\"role\":\"system\",\"text\":\"x\"}\n{\"role\":\"ai\",\"text\":\"b.\"}\n";
        assert_eq!(shown(lines), ["user: a?", "agent: b."]);
        let markdown =
            "# Episode 2\n\n**User:** Where were we?\nAnd why?\n\n**Assistant:** At the lock.\n";
        assert_eq!(shown(markdown), ["user: Where were we?\nAnd why?", "agent: At the lock."]);
        assert_eq!(
            shown("## User\n\nWhere?\n\n## Assistant\n\nThere.\n"),
            ["user: Where?", "agent: There."]
        );
    }

    #[test]
    fn a_file_may_hold_one_turn() {
        assert_eq!(
            shown(r#"{"role":"user","content":"Where were we?"}"#),
            ["user: Where were we?"]
        );
        assert_eq!(shown(r#"{"speaker":"ai","text":"At the lock."}"#), ["agent: At the lock."]);
    }

    #[test]
    fn what_is_no_conversation_has_no_turns() {
        for text in
            ["", "User: alone", "{\"user\":\"ada\"}", "[1,2]", "# Notes\n\nThe user: says x"]
        {
            assert_eq!(turns(text), [], "{text}");
        }
    }

    #[test]
    fn the_entries_of_a_log_are_counted() {
        assert_eq!(entries("{\"a\":1}\n{\"a\":2}\n\n{\"a\":3}\n"), 3);
        assert_eq!(entries("[1,2]"), 2);
        assert_eq!(entries("{\"log\":[1,2,3,4],\"n\":1}"), 4);
        assert_eq!(entries("- one\n- two\n"), 2);
        assert_eq!(entries("09:14 rain\n[2026-11-18 09:20] wind\n\n"), 2);
        assert_eq!((entries("a smell of rain"), entries("")), (1, 0));
    }
}
