//! Forks (`--fork-session`): a log that begins with copies of another session's records, each under
//! the new session's id. Nothing in them names the origin.
//!
//! That they are copies shows in two ways. Newer versions write what they sent (`api-request`) into
//! the log that sent it, and each answer names its request: an answer whose request is not there is
//! a copy, and so is all before it. Others, without a screen, begin the log by queueing the prompt:
//! records that are older than that are copies.

use std::collections::HashSet;
use std::path::Path;

use memchr::memmem;
use serde_json::{Map, Value};

use crate::adapters::jsonl::{self, Line, Lines};
use crate::adapters::transcript::hash;
use crate::adapters::wire::{Text, wire_types};
use crate::base::clock::{self, Timestamp};

wire_types! {
    #[serde(rename_all = "camelCase")]
    struct WireMark<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        id: Text<'a>,
        uuid: Text<'a>,
        timestamp: Text<'a>,
        request_ref: Text<'a>,
    }
}

/// Records that are older than the first one by more than this are copies.
const MARGIN_SECONDS: i64 = 2;

/// Whether the first records of a log are copies of another session's.
pub fn is_fork(records: &[Map<String, Value>]) -> bool {
    let mut marks = Marks::default();
    for record in records {
        let text = |name: &str| jsonl::string(record, name);
        let at = clock::parse(text("timestamp"));
        if marks.take(text("type"), text("id"), text("uuid"), at, text("requestRef")).is_some() {
            break;
        }
    }
    marks.is_fork()
}

/// How many of the first lines of a log are copies.
pub fn copied_lines(path: &Path) -> u64 {
    let Ok(log) = jsonl::open(path) else { return 0 };
    let (mut lines, mut marks, mut copied) = (Lines::new(log), Marks::default(), 0);
    let finder = |mark: &'static str| memmem::Finder::new(mark.as_bytes());
    let (answer, request) = (finder("\"requestRef\""), finder("\"api-request\""));
    let mut is_settled = false;
    while let Ok(Some((number, line))) = lines.next() {
        let Line::Bytes { bytes, .. } = line else { continue };
        // Once it is clear that the log is a fork, only what names a request is looked at.
        let is_mark = answer.find(bytes).is_some() || request.find(bytes).is_some();
        if is_settled && !is_mark && !marks.by_time {
            continue;
        }
        let Ok(mark) = serde_json::from_slice::<WireMark>(bytes) else { continue };
        let WireMark { kind, id, uuid, timestamp, request_ref } = mark;
        let is_copy = marks.take(&kind, &id, &uuid, timestamp.time(), &request_ref);
        match is_copy {
            Some(true) => (copied, is_settled) = (number, true),
            Some(false) if !is_settled => return 0,
            _ => {}
        }
    }
    copied
}

/// What was seen of a log so far.
#[derive(Default)]
struct Marks {
    requests: HashSet<u64>,
    /// When the log was begun, where it says so before its first message.
    began: Option<Timestamp>,
    has_messages: bool,
    /// Whether times show that it is a fork, or requests.
    by_time: bool,
    by_request: bool,
}

impl Marks {
    fn is_fork(&self) -> bool {
        self.by_time || self.by_request
    }

    /// Takes a record and says whether it shows that all up to it is copied, or is not.
    fn take(
        &mut self,
        kind: &str,
        id: &str,
        uuid: &str,
        at: Option<Timestamp>,
        request: &str,
    ) -> Option<bool> {
        if kind == "api-request" {
            self.requests.insert(hash(id));
        }
        if uuid.is_empty() {
            self.began = self.began.or(at.filter(|_| !self.has_messages));
            return None;
        }
        let age = self.began.zip(at).map(|(began, at)| (began - at).num_milliseconds());
        if !self.has_messages {
            self.by_time = age.is_some_and(|age| age > MARGIN_SECONDS * 1000);
            self.has_messages = true;
        }
        if kind == "assistant" && !request.is_empty() {
            let is_copy = !self.requests.contains(&hash(request));
            self.by_request |= is_copy;
            return Some(is_copy);
        }
        if self.by_time {
            return age.filter(|age| *age > 0).map(|_| true);
        }
        // An answer of a version that does not name requests.
        (kind == "assistant").then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(lines: &[&str]) -> (bool, u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        (is_fork(&jsonl::first_objects(&path, 40).unwrap()), copied_lines(&path))
    }

    #[test]
    fn copies_show_in_times_and_in_requests() {
        let begun = r#"{"type":"queue-operation","timestamp":"2026-11-17T05:47:01Z"}"#;
        let old = r#"{"type":"user","uuid":"a","timestamp":"2026-11-17T05:40:00Z"}"#;
        let answer = r#"{"type":"assistant","uuid":"b","timestamp":"2026-11-17T05:40:01Z"}"#;
        let new = r#"{"type":"user","uuid":"c","timestamp":"2026-11-17T05:47:02Z"}"#;
        assert_eq!(copied(&[begun, old, answer, new]), (true, 3));
        assert_eq!(copied(&[begun, new]), (false, 0));
        assert_eq!(copied(&[old, answer, begun, new]), (false, 0));
        let sent = r#"{"type":"api-request","id":"r1","timestamp":"2026-11-17T05:40:00Z"}"#;
        let first = r#"{"type":"assistant","uuid":"b","requestRef":"r1"}"#;
        let other = r#"{"type":"assistant","uuid":"d","requestRef":"r0"}"#;
        assert_eq!(copied(&[old, sent, first, new]), (false, 0));
        assert_eq!(copied(&[old, other, new, sent, first]), (true, 2));
    }
}
