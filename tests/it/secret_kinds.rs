//! More than 200 kinds of secrets, in every place where a log can have one: none of their values is in any
//! derived file. And as many harmless lines, which stay as they are.
//!
//! Both lists are ours: `secret_kinds/kinds.txt` and `secret_kinds/harmless.txt`.

use std::fs;

use memtree::internals::base::redact::Redactor;
use serde_json::{Value, json};

use crate::harness::Desk;

const KINDS: &str = include_str!("secret_kinds/kinds.txt");
const HARMLESS: &str = include_str!("secret_kinds/harmless.txt");

/// How many kinds may come through somewhere; the test names those that do.
const MOST_THROUGH: usize = 10;
/// How many harmless lines may be redacted.
const MOST_REDACTED: usize = 2;

/// One kind of secret.
struct Kind {
    name: &'static str,
    text: String,
    /// What may not be seen anywhere.
    values: Vec<String>,
}

fn kinds() -> Vec<Kind> {
    let lines = KINDS.lines().filter(|line| !line.starts_with('#'));
    let kinds = lines.map(|line| {
        let (name, text) = line.split_once(" | ").expect("a name and a text");
        let text = text.replace('¦', "").replace('⏎', "\n");
        let values = text.split('⟦').skip(1).map(|rest| rest.split('⟧').next().unwrap_or(rest));
        let values = values.map(str::to_string).collect();
        Kind { name, text: text.replace(['⟦', '⟧'], ""), values }
    });
    kinds.collect()
}

/// The longest pieces of a value by which it would be known again.
fn marks(value: &str) -> Vec<String> {
    let pieces = value.split(|c: char| c.is_whitespace() || "\"'".contains(c));
    let words: Vec<&str> = value.split(' ').collect();
    if words.len() >= 12 {
        return words.windows(3).map(|three| three.join(" ").to_lowercase()).collect();
    }
    let marks = pieces.filter(|piece| piece.len() >= 8).map(str::to_lowercase);
    let marks: Vec<String> = marks.collect();
    if marks.is_empty() { vec![value.to_lowercase()] } else { marks }
}

/// A log that has a secret in a prompt, a command, an output, a reply, a path, the title, the
/// branch and a commit.
fn log(number: usize, kind: &Kind) -> (String, String) {
    let id = format!("5ec3e700-0000-4000-8000-{number:012}");
    let (text, line) = (&kind.text, kind.text.replace('\n', " "));
    let mut records = Vec::new();
    let mut add = |role: &str, content: Value| {
        let at = records.len();
        records.push(json!({
            "parentUuid": null, "isSidechain": false, "sessionId": id, "version": "2.1.204",
            "cwd": "/home/dev/code/demo", "gitBranch": format!("fix/{line}"), "type": role,
            "message": { "role": role, "id": format!("m{at}"), "model": "claude-opus-4-8",
                "content": content, "usage": { "input_tokens": 1, "output_tokens": 1 } },
            "uuid": format!("{id}-{at}"), "requestId": format!("r{at}"),
            "timestamp": format!("2026-11-15T10:{:02}:{at:02}.000Z", number % 60),
        }));
    };
    let call = |id: &str, name: &str, input: Value| json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
    let result = |id: &str, text: &str| json!([{ "type": "tool_result", "tool_use_id": id, "content": text }]);
    add(
        "user",
        json!(format!("Please set this up for number {number}:\n{text}\nand say when it works")),
    );
    add("assistant", call("t1", "Bash", json!({ "command": text })));
    add("user", result("t1", &format!("config of number {number}\n{text}\nend")));
    add(
        "assistant",
        call(
            "t2",
            "Edit",
            json!({ "file_path": format!("/srv/{line}/app.conf"), "old_string": "a", "new_string": "b" }),
        ),
    );
    add("user", result("t2", "done"));
    let commit = format!("git commit -m \"fix: number {number}: {line}\"");
    add("assistant", call("t3", "Bash", json!({ "command": commit })));
    add(
        "user",
        result("t3", &format!("[main 1a2b3c4] fix: number {number}: {line}\n 1 file changed")),
    );
    add(
        "assistant",
        json!([{ "type": "text", "text": format!("We decided to keep number {number} as it is:\n{text}\nIt works now.") }]),
    );
    let title = json!({ "type": "summary", "summary": line, "leafUuid": format!("{id}-7"), "sessionId": id });
    let log: String = records.iter().chain([&title]).map(|record| format!("{record}\n")).collect();
    (id, log)
}

#[test]
fn no_value_of_200_kinds_is_in_any_derived_file() {
    let kinds = kinds();
    assert_eq!(kinds.len(), 264);
    let desk = Desk::in_memory();
    for (number, kind) in kinds.iter().enumerate() {
        let (id, log) = log(number, kind);
        desk.write_log(&id, log);
    }
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["captured"], 264, "{swept}");
    desk.memtree(["compile", "--all"]).success();
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(desk.store()).into_iter().flatten() {
        let name = entry.path().strip_prefix(desk.store()).unwrap().display().to_string();
        if entry.file_type().is_file() && !name.contains("/snapshot/raw/") {
            let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).to_lowercase();
            files.push((name, text));
        }
    }
    let mut through = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        // Some values stand for several kinds, so each is looked for where its own session is.
        let session = desk.session_of(&format!("claude:5ec3e700-0000-4000-8000-{number:012}"));
        let marks: Vec<String> = kind.values.iter().flat_map(|value| marks(value)).collect();
        let seen = |text: &str| marks.iter().any(|mark| text.contains(mark.as_str()));
        let own = session.to_lowercase();
        let places: Vec<&str> = files
            .iter()
            .filter(|(name, text)| match name.contains(&session) {
                true => seen(text) || seen(&name.to_lowercase()),
                false => text.lines().any(|line| line.contains(&own) && seen(line)),
            })
            .map(|(name, _)| name.as_str())
            .collect();
        if !places.is_empty() {
            through.push(format!("{}: {places:?}", kind.name));
        }
    }
    let all: Vec<String> =
        kinds.iter().flat_map(|kind| &kind.values).flat_map(|value| marks(value)).collect();
    for (name, text) in files.iter().filter(|(name, _)| !name.starts_with("sessions/")) {
        let left: Vec<_> = all.iter().filter(|mark| text.contains(mark.as_str())).collect();
        assert!(left.len() <= MOST_THROUGH, "{name} holds {left:?}");
    }
    eprintln!("{} of {} kinds come through: {through:#?}", through.len(), kinds.len());
    assert!(through.len() <= MOST_THROUGH, "{} come through: {through:#?}", through.len());
}

#[test]
fn of_200_harmless_lines_nearly_none_is_redacted() {
    let redactor = Redactor::new();
    let lines: Vec<&str> = HARMLESS.lines().collect();
    assert_eq!(lines.len(), 236);
    let redacted: Vec<_> = lines
        .iter()
        .filter_map(|line| {
            let found = redactor.find(line);
            (!found.is_empty()).then(|| format!("{line}: {found:?}"))
        })
        .collect();
    assert!(redacted.len() <= MOST_REDACTED, "{redacted:#?}");
}

#[test]
fn a_sweep_says_how_many_secrets_it_redacted() {
    let desk = Desk::new();
    let kinds = kinds();
    let github = kinds.iter().find(|kind| kind.name == "GitHub").unwrap();
    let (id, log) = log(1, github);
    desk.write_log(&id, log);
    let report = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(report["redactions"]["sessions"], 1, "{report}");
    assert!(report["redactions"]["count"].as_u64() >= Some(5), "{report}");
    assert!(report.get("older_rules").is_none(), "{report}");
    let nothing = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(nothing["redactions"]["count"], 0, "{nothing}");
}

#[test]
fn pages_of_earlier_rules_are_written_again_around_edits() {
    let desk = Desk::new();
    let kinds = kinds();
    let github = kinds.iter().find(|kind| kind.name == "GitHub").unwrap();
    let (id, log) = log(1, github);
    desk.write_log(&id, log);
    desk.memtree(["sweep"]).success();
    // As an earlier program would have left it: the value in pages, and other rules noted.
    let session = desk.session_of(&format!("claude:{id}"));
    let path = desk.digest_path(&session);
    let value = &github.values[0];
    let page = desk.read(&path).replacen("[redacted:github-token]", value, 1) + "\nMy own note.\n";
    assert!(page.contains(value.as_str()), "{page}");
    desk.write(&path, page);
    desk.write(".memtree/local/redaction.json", r#"{"rules":"1-0","older":false}"#);
    let said = desk.memtree(["sweep"]).success();
    assert!(said.told().contains("doctor --secrets --fix"), "{}", said.told());
    assert!(!desk.memtree(["sweep"]).success().told().contains("doctor --secrets --fix"));
    desk.memtree(["doctor", "--secrets"]).code(1).stdout_has("github-token");
    desk.memtree(["doctor", "--secrets", "--fix"]).done();
    let page = desk.read(&path);
    assert!(!page.contains(value.as_str()) && page.contains("My own note."), "{page}");
    desk.memtree(["doctor", "--secrets"]).done();
    desk.memtree(["verify"]).success();
}

#[test]
fn an_id_and_a_tool_that_hold_a_secret_are_known_by_their_hash() {
    let desk = Desk::new();
    let value = ["ghp", "_R7x2Kq9Wm4Zt8Yc1Vd5Lp3Bs6Hf0Jg9Ea2UQ"].concat();
    let record = |kind: &str, content: Value| {
        json!({ "parentUuid": null, "isSidechain": false, "sessionId": value, "version": "2.1.204",
            "cwd": "/home/dev/code/demo", "gitBranch": "main", "type": kind,
            "message": { "role": kind, "id": "m", "model": "claude-opus-4-8", "content": content },
            "uuid": kind, "requestId": "r", "timestamp": "2026-11-15T10:00:00.000Z" })
    };
    let calls = json!([{ "type": "tool_use", "id": "t", "name": format!("mcp__{value}__get"), "input": {} }]);
    let log = format!(
        "{}\n{}\n",
        record("user", json!("Which lamp is lit?")),
        record("assistant", calls)
    );
    desk.write_log(&value, log);
    desk.memtree(["sweep"]).success();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C1"]);
    for (name, text) in desk.texts() {
        let is_derived = !name.contains("/snapshot/raw/") && !name.starts_with(".memtree/");
        assert!(!is_derived || !text.contains(&value), "{name}: {text}");
    }
    desk.memtree(["verify", "--deep"]).success();
}
