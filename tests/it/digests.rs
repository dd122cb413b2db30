//! What a digest says of a session, as a person would read it.

use memtree::model::digest::Outcome;
use serde_json::{Value, json};

use crate::harness::Desk;

const ONE: &str = "11111111-1111-4111-8111-111111111111";

/// A session with Claude Code, told step by step.
#[derive(Default)]
pub struct Talk {
    records: Vec<Value>,
}

impl Talk {
    pub fn asks(self, prompt: &str) -> Talk {
        self.user(json!(prompt), Value::Null)
    }

    pub fn says(self, reply: &str) -> Talk {
        self.agent(json!([{ "type": "text", "text": reply }]))
    }

    pub fn runs(self, command: &str, output: &str) -> Talk {
        self.uses("Bash", json!({ "command": command }), output, false, Value::Null)
    }

    pub fn fails(self, command: &str, output: &str) -> Talk {
        self.uses("Bash", json!({ "command": command }), output, true, Value::Null)
    }

    pub fn writes(self, path: &str, content: &str) -> Talk {
        self.uses(
            "Write",
            json!({ "file_path": path, "content": content }),
            "ok",
            false,
            Value::Null,
        )
    }

    pub fn edits(self, path: &str, before: &str, old: &str, new: &str) -> Talk {
        let result =
            json!({ "filePath": path, "originalFile": before, "oldString": old, "newString": new });
        let input = json!({ "file_path": path, "old_string": old, "new_string": new });
        self.uses("Edit", input, "ok", false, result)
    }

    /// A call without an answer: the log stops there.
    pub fn begins(self, command: &str) -> Talk {
        let id = format!("call-{}", self.records.len());
        self.agent(json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]))
    }

    pub fn interrupts(self) -> Talk {
        self.user(json!([{ "type": "text", "text": "[Request interrupted by user]" }]), Value::Null)
    }

    fn uses(self, tool: &str, input: Value, output: &str, failed: bool, result: Value) -> Talk {
        let id = format!("call-{}", self.records.len());
        let answer = json!([{ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed }]);
        self.agent(json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]))
            .user(answer, result)
    }

    fn agent(self, content: Value) -> Talk {
        let id = format!("msg-{}", self.records.len());
        self.record(
            "assistant",
            json!({ "id": id, "role": "assistant", "model": "m", "content": content }),
            Value::Null,
        )
    }

    fn user(self, content: Value, result: Value) -> Talk {
        self.record("user", json!({ "role": "user", "content": content }), result)
    }

    fn record(mut self, kind: &str, message: Value, result: Value) -> Talk {
        let at = self.records.len();
        let mut record = json!({
            "type": kind, "uuid": format!("u-{at}"), "sessionId": ONE, "cwd": "/home/dev/code/demo",
            "timestamp": format!("2026-11-14T09:{:02}:{:02}Z", at / 60, at % 60), "message": message,
        });
        if !result.is_null() {
            record["toolUseResult"] = result;
        }
        self.records.push(record);
        self
    }

    fn log(&self) -> String {
        self.records.iter().map(|record| format!("{record}\n")).collect()
    }

    /// The memory after this session was swept, and the session's name.
    pub fn remembered(self) -> (Desk, String) {
        let desk = Desk::new().with_claude_log(ONE, self.log());
        desk.memtree(["sweep"]).success();
        let session = desk.session_of(&format!("claude:{ONE}"));
        (desk, session)
    }
}

/// The first digits of `printf 'one\nthree\n' | sha256sum`, and of `printf 'two\n' | sha256sum`.
const ONE_THREE: &str = "c9b0fb1f";
const TWO: &str = "27dd8ed4";

#[test]
fn claims_carry_their_evidence() {
    let (desk, session) = Talk::default()
        .asks("Please write the two files that the build needs, and commit them")
        .writes("/home/dev/code/demo/two.txt", "two\n")
        .writes("/home/dev/code/demo/one.txt", "one\ntwo\n")
        .says("Both are written.")
        .asks("The second line of one.txt should say three")
        .edits("/home/dev/code/demo/one.txt", "one\ntwo\n", "two", "three")
        .runs("git commit -am 'Say three'", "[main 1f3c9e2] Say three\n 1 file changed")
        .says("Changed and committed.")
        .remembered();
    let lines: Vec<String> =
        desk.digest(&session).content.evidence.iter().map(ToString::to_string).collect();
    let expect = [
        format!("EP_001 two.txt sha256:{TWO}"),
        format!("EP_002 one.txt sha256:{ONE_THREE}"),
        "EP_002 commit 1f3c9e2".to_string(),
    ];
    assert_eq!(lines, expect);
}

#[track_caller]
fn went(talk: Talk, expect: Outcome) {
    let (desk, session) = talk.remembered();
    assert_eq!(desk.digest(&session).content.status, expect, "{}", desk.digest_text(&session));
}

const FILE: &str = "/home/dev/code/demo/a.rs";
const FAILING: &str = "test result: FAILED. 11 passed; 1 failed";
const PASSING: &str = "test result: ok. 12 passed; 0 failed";

#[test]
fn how_it_went_is_told_by_what_came_last() {
    let begun = || Talk::default().asks("Fix the race in the day log").writes(FILE, "a\n");
    // "0 failed" is a pass, and a later pass outweighs an earlier failure.
    went(
        begun().fails("cargo test", FAILING).runs("cargo test", PASSING).says("All green."),
        Outcome::Success,
    );
    went(begun().fails("cargo test", FAILING).says("I changed the lock."), Outcome::Fail);
    // The words count where a pipe hides the exit code.
    went(begun().runs("cargo test | tail -1", FAILING).says("I changed the lock."), Outcome::Fail);
    // Nobody answered.
    went(Talk::default().asks("Fix the race in the day log"), Outcome::Abandoned);
    // The log stops in the middle: what was done until then is a part of it.
    went(begun().says("Let me run the tests.").begins("cargo test"), Outcome::Partial);
    went(begun().says("Done.").asks("And the same for the weeks?"), Outcome::Partial);
    went(Talk::default().asks("Fix the race").runs("ls", "a.rs"), Outcome::Unknown);
    // A question that nobody answered takes nothing from what was done.
    went(begun().says("Done.").asks("Why is it a race at all?"), Outcome::Success);
    // An interrupted run is no abandonment, and takes nothing back.
    went(
        begun().runs("cargo test", PASSING).says("Done.").asks("commit this").interrupts(),
        Outcome::Success,
    );
    went(begun().interrupts(), Outcome::Partial);
}

#[test]
fn a_question_that_was_answered_is_a_success() {
    let asked = || Talk::default().asks("Does the suite pass on this branch?");
    // The failing test is the answer.
    went(
        asked().fails("cargo test", FAILING).says("No: one of twelve tests fails."),
        Outcome::Success,
    );
    // A runner that cannot start says nothing of the code.
    let missing = "sh: pytest: command not found";
    went(
        asked().fails("pytest", missing).runs("ls", "a.rs").says("There is no runner here."),
        Outcome::Success,
    );
    // Nothing worked, and the agent says so.
    went(
        asked().fails("cat suite.txt", "cat: suite.txt: no").says("I cannot find the suite."),
        Outcome::Fail,
    );
}
