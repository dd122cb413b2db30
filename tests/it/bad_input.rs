//! Broken logs, hostile names, memories that are missing, unwritable or from the future: the
//! program says what is wrong, does the rest, and writes nowhere else.

use std::ffi::OsString;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memtree::internals::adapters::{self, shared::SharedFiles};
use memtree::internals::base::redact::Redactor;
use memtree::internals::base::zone::Zone;
use memtree::internals::capture::PageSettings;
use memtree::internals::capture::found::Around;
use memtree::internals::capture::stage::{self, CaptureError};
use memtree::internals::distill::clean::Cleaner;
use memtree::model::session::{LogFile, Role, Source};

use crate::harness::{Answer, Desk, Tree, assert_same, exchange};

const ONE: &str = "bbbbbbbb-0000-4000-8000-000000000001";

#[test]
fn every_good_record_is_kept_and_every_bad_one_named() {
    let desk = Desk::new().with_log("claude", "bad_lines");
    let id = "5e55000e-0000-4000-8000-000000000001";
    let swept = desk.memtree(["sweep"]).code(3);
    let log = format!("[HOME]/.claude/projects/-home-dev-code-demo/{id}.jsonl");
    for (line, reason) in [
        (2, "300 NUL bytes"),
        (4, "a torn record; the whole one glued to it was kept"),
        (5, "invalid UTF-8 was replaced"),
        (7, "not a JSON record"),
        (10, "cut short: the last line is not whole (still being written?)"),
    ] {
        assert!(
            swept.stderr.contains(&format!("{log}:{line}: {reason}\n")),
            "{line}: {reason}\n{}",
            swept.told()
        );
    }
    assert_eq!(swept.stderr.matches(&log).count(), 5, "{}", swept.told());
    assert!(swept.stdout.contains("5 lines skipped"), "{}", swept.told());
    let session = desk.session_of(&format!("claude:{id}"));
    let digest = desk.digest(&session);
    assert_eq!(
        (digest.content.turns, digest.content.tokens_in, digest.content.tokens_out),
        (3, 18, 33)
    );
    // What was skipped is kept with the session, and the bytes are all there.
    assert_eq!(
        desk.read(format!("sessions/{session}/snapshot/state/skipped.txt")).lines().count(),
        5
    );
    desk.check_manifest(&session);
    let raw = desk.store().join(format!("sessions/{session}/snapshot/raw/{id}.jsonl"));
    assert_eq!(fs::read(raw).unwrap(), fs::read(desk.log_path(id)).unwrap());
    // It is no news the next time.
    let before = desk.tree();
    assert_eq!(desk.memtree(["sweep"]).success().stderr.matches(&log).count(), 0);
    assert_same(&before, &desk.tree(), "after a second sweep of a bad log");
}

#[test]
fn a_line_of_100_mb_is_named_and_not_held() {
    let desk =
        Desk::new().with_claude_log(ONE, exchange(ONE, 0, "Before the long line?", "Yes, before."));
    let mut log = fs::File::options().append(true).open(desk.log_path(ONE)).unwrap();
    let end = log.seek(SeekFrom::End(0)).unwrap();
    // A hole in the file reads as NUL bytes and takes no room.
    log.set_len(end + 100_000_000).unwrap();
    log.write_all(
        ("\n".to_string() + &exchange(ONE, 1, "And after it?", "Also after it.")).as_bytes(),
    )
    .unwrap();
    drop(log);
    let mut child = desk.start(["sweep"]);
    let mut peak = None;
    while child.try_wait().unwrap().is_none() {
        peak = peak_memory(child.id()).or(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains(&format!("{ONE}.jsonl:3: a line longer than 32 MB")), "{said}");
    let session = desk.session_of(&format!("claude:{ONE}"));
    assert_eq!(desk.digest(&session).content.turns, 2);
    desk.check_manifest(&session);
    desk.memtree(["sweep"]).success();
    // Where the system tells it: the line was never held whole.
    if let Some(peak) = peak {
        assert!(peak < 100_000, "{peak} kB of memory");
    }
}

/// The most memory that a process has had so far, in kB, where the system tells it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn a_file_that_is_no_log_is_left_alone() {
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 0, "Is this a log?", "It is."));
    let folder = desk.home().join(".claude/projects/-home-dev-code-demo");
    for (name, bytes) in [
        ("empty.jsonl", &b""[..]),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("list.jsonl", b"[1,2,3]\n"),
        ("other.jsonl", b"{\"type\":\"invoice\",\"total\":12}\n"),
        ("deep.jsonl", "[".repeat(100_000).as_bytes()),
        ("notes.md", b"# Notes\n"),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("/nowhere/at/all.jsonl", folder.join("dangling.jsonl")).unwrap();
    for _ in 0..2 {
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(swept["discovered"], 1);
    }
    assert_eq!(desk.sessions().len(), 1);
}

#[test]
fn what_is_no_session_although_it_looks_like_one_is_named() {
    let desk = Desk::new()
        .with_log("droid", "newer")
        .with_log("kimi", "code")
        .with_log("cline", "session")
        .with_log("antigravity", "steps");
    let put = |path: &str, bytes: Vec<u8>| {
        let path = desk.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let log = r#"{"type":"session_start","id":"u16","cwd":"/tmp"}"#;
    let wide: Vec<u8> = log.encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(".factory/sessions/wide.jsonl", [vec![0xff, 0xfe], wide].concat());
    put(".factory/sessions/nul.jsonl", vec![0; 5000]);
    // Folders of sessions without the logs themselves.
    let manifest = r#"{"session_id":"lone","cwd":"/tmp","workspace_root":"/tmp"}"#;
    put(".cline/data/sessions/lone/lone.json", manifest.into());
    put(".kimi-code/sessions/wd/lone/state.json", r#"{"agents":{},"cwd":"/tmp"}"#.into());
    put(
        ".cline/data/sessions/cut/cut.messages.json",
        br#"{"version":1,"sessionId":"cut","messages":[{"role":"us"#.to_vec(),
    );
    let swept = desk.memtree(["sweep", "--json"]).code(3).json();
    let reasons = |swept: &serde_json::Value| -> Vec<String> {
        let skipped = swept["skipped"].as_array().unwrap().iter();
        let said = |one: &serde_json::Value| {
            let path = one["path"].as_str().unwrap().rsplit('/').next().unwrap().to_string();
            format!("{path}: {}", one["reason"].as_str().unwrap())
        };
        let mut reasons: Vec<String> = skipped.map(said).collect();
        reasons.sort();
        reasons
    };
    let cline = "belongs to a session of cline whose own log is not there";
    let kimi = "belongs to a session of kimi whose own log is not there";
    let wide = "a log in UTF-16: save it as UTF-8 to have it read";
    let nul = "nothing but NUL bytes, at least where it begins: what was written there is lost";
    let found = reasons(&swept);
    let named = [
        "cut.messages.json: not a whole document".to_string(),
        format!("lone.json: {cline}"),
        format!("state.json: {kimi}"),
        format!("nul.jsonl: {nul}"),
        format!("wide.jsonl: {wide}"),
    ];
    for one in &named {
        assert!(found.iter().any(|found| found.starts_with(one)), "{one}: {found:#?}");
    }
    assert_eq!(swept["captured"], 6, "the rest is captured: {swept}");
    // What cannot come right by itself is named again, the rest once.
    let found = reasons(&desk.memtree(["sweep", "--json"]).code(3).json());
    assert_eq!(found, [named[3].as_str(), named[4].as_str()]);
}

#[test]
fn a_newer_format_is_named_and_read_as_far_as_it_goes() {
    let desk = Desk::new();
    let put = |path: &str, text: &str| {
        let path = desk.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let at = "2026-11-03T09:00:00.000Z";
    let id = |agent: u32| format!("01a19f00-{agent:04}-7000-8000-000000000009");
    let (pi, copilot, grok, kiro) = (id(1), id(2), id(3), id(4));
    put(
        &format!(".pi/agent/sessions/--home-dev--/x_{pi}.jsonl"),
        &format!(
            r#"{{"type":"session","version":9,"id":"{pi}","timestamp":"{at}","cwd":"/home/dev"}}
{{"type":"message","id":"a","parentId":null,"timestamp":"{at}","message":{{"role":"user","content":[{{"type":"text","text":"Count the herons."}}]}}}}
"#
        ),
    );
    put(
        &format!(".copilot/session-state/{copilot}/events.jsonl"),
        &format!(
            r#"{{"type":"session.start","id":"a","timestamp":"{at}","data":{{"sessionId":"{copilot}","version":9,"producer":"copilot-agent","copilotVersion":"9.9.9","startTime":"{at}","context":{{"cwd":"/home/dev"}}}}}}
{{"type":"user.message","id":"b","parentId":"a","timestamp":"{at}","data":{{"content":"Count the herons."}}}}
"#
        ),
    );
    let folder = format!(".grok/sessions/%2Fhome%2Fdev/{grok}");
    put(
        &format!("{folder}/summary.json"),
        &format!(
            r#"{{"info":{{"id":"{grok}","cwd":"/home/dev"}},"created_at":"{at}","chat_format_version":9}}"#
        ),
    );
    put(
        &format!("{folder}/chat_history.jsonl"),
        r#"{"type":"user","content":[{"type":"text","text":"<user_query>\nCount the herons.\n</user_query>"}]}
{"type":"assistant","content":"There are four.","model_id":"grok-code-fast-1"}
"#,
    );
    put(
        &format!(".kiro/sessions/cli/{kiro}.jsonl"),
        r#"{"version":"v9","kind":"Prompt","data":{"message_id":"m1","content":[{"kind":"text","data":"Count the herons."}],"meta":{"timestamp":1793696401}}}
{"version":"v9","kind":"AssistantMessage","data":{"message_id":"m2","content":[{"kind":"text","data":"There are four."}]}}
"#,
    );
    let swept = desk.memtree(["sweep", "--json"]).code(3).json();
    assert_eq!(swept["captured"], 4, "{swept:#}");
    let skipped = swept["skipped"].as_array().unwrap();
    for (flavor, known) in [("pi", 4), ("copilot", 1), ("grok", 1), ("kiro", 1)] {
        let named = format!("written in format 9, which is newer than {known}");
        let of_agent = |one: &&serde_json::Value| {
            let is_its = one["path"].as_str().unwrap().contains(&format!("/.{flavor}/"));
            is_its && one["reason"] == named.as_str()
        };
        assert_eq!(skipped.iter().filter(of_agent).count(), 1, "{flavor}: {skipped:#?}");
    }
    for session in desk.sessions() {
        assert_eq!(desk.digest(&session).content.turns, 1, "{session}");
    }
}

#[test]
fn a_mark_before_a_log_is_no_fault_of_it() {
    let marked = format!("\u{feff}{}", exchange(ONE, 0, "Is this a log?", "It is."));
    let desk = Desk::new().with_claude_log(ONE, marked);
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.digest(&desk.sessions()[0]).content.turns, 1);
}

#[test]
fn a_deeply_nested_record_is_named_and_the_rest_goes_on() {
    let deep = format!("{{\"type\":\"user\",\"message\":{}\n", "[".repeat(200_000));
    let log = exchange(ONE, 0, "Before it?", "Yes, before.")
        + &deep
        + &exchange(ONE, 1, "And after it?", "After, too.");
    let desk = Desk::new().with_claude_log(ONE, log);
    desk.memtree(["sweep"]).code(3).stderr_has(".jsonl:3: ");
    assert_eq!(desk.digest("SES1_desk_SP1C1").content.turns, 2);
}

#[test]
fn a_source_that_vanishes_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.jsonl");
    let file = LogFile {
        path: gone.clone(),
        name: "gone.jsonl".into(),
        role: Role::Main,
        within: None,
        child: None,
    };
    let (flavor, native_id) = ("claude", "gone".to_string());
    let source = Source { flavor, native_id, files: vec![file], origin: None };
    let cleaner = Cleaner::new(Redactor::with_rules(&[]).unwrap(), 1000);
    let (exclude, domains) = (Default::default(), &Default::default());
    let (held_back, zone) = (Default::default(), Zone::UTC);
    let pages =
        PageSettings { cleaner: &cleaner, inline_lines: 12, exclude, held_back, domains, zone };
    let adapter = adapters::named("claude").unwrap();
    let shared = SharedFiles::with_temporary_copies();
    let (to, around) = (folder.path().join("staged"), Around::of(None, &source));
    let staged = stage::stage(adapter, &source, &shared, None, &to, &pages, around);
    match staged {
        Err(CaptureError::Source(skipped)) => {
            assert_eq!((skipped.path, skipped.line), (gone, 0));
            assert!(skipped.reason.contains("No such file"), "{}", skipped.reason);
        }
        Err(CaptureError::Store(error)) => panic!("the memory is blamed: {error}"),
        Err(CaptureError::Excluded | CaptureError::Held(..)) => panic!("nothing is left out"),
        Ok(_) => panic!("nothing was captured"),
    }
}

#[test]
fn a_memory_that_cannot_be_written_is_a_clear_error() {
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 0, "Where to?", "Nowhere."));
    fs::write(desk.project().join("file"), "in the way").unwrap();
    let before = Tree::of(desk.root());
    for store in ["file/memory", "/proc/memory"] {
        for command in ["sweep", "init"] {
            let failed = desk.memtree(["--store", store, command]).code(1);
            let (first, rest) = failed.stderr.split_once('\n').unwrap();
            assert!(first.starts_with("error: cannot make a memory in `"), "{}", failed.told());
            assert!(rest.contains("because: ") && rest.contains("hint: "), "{}", failed.told());
        }
    }
    assert_same(&before, &Tree::of(desk.root()), "after it failed");
    // Something else stands where the sessions go.
    desk.memtree(["init"]).success();
    desk.write("sessions", "a file");
    let failed = desk.memtree(["sweep"]).code(1).stderr_has("error: cannot");
    assert!(failed.stderr.contains("because: "), "{}", failed.told());
}

#[test]
fn a_missing_memory_is_a_clear_error() {
    let desk = Desk::new();
    let before = Tree::of(desk.root());
    for command in [&["search", "lock"][..], &["recall", "SES1_desk_SP1C1"], &["status"]] {
        let failed = desk.memtree(command).code(1);
        let wanted = "error: there is no memory in `[STORE]`\n  because: the folder does not exist\n\nhint: make one with `memtree --store [STORE] init`";
        assert!(failed.stderr.starts_with(wanted), "{}", failed.told());
        assert_eq!(failed.stdout, "");
    }
    assert_same(&before, &Tree::of(desk.root()), "after a command without a memory");
    // A folder that is there, but is no memory.
    fs::create_dir(desk.store()).unwrap();
    desk.memtree(["status"]).code(1).stderr_has("because: it has no `memtree.toml`");
}

#[test]
fn a_memory_from_the_future_is_left_alone() {
    let desk =
        Desk::new().with_claude_log(ONE, exchange(ONE, 0, "Which year is it?", "I cannot tell."));
    desk.write("memtree.toml", "format = 99\n");
    desk.write(
        "sessions/SES1_desk_SP1C1/SES1_desk_SP1C1_DIGEST.md",
        "in a form that nobody knows yet",
    );
    let before = Tree::of(desk.root());
    for command in [
        &["sweep"][..],
        &["sweep", "--dry-run"],
        &["sweep", "--sample"],
        &["snapshot", "."],
        &["search", "x"],
        &["recall", "SES1_desk_SP1C1"],
        &["status"],
        &["init"],
        &["config", "--effective"],
    ] {
        let failed = desk.memtree(command).code(1).stderr_has("error: this memory has format 99");
        assert!(
            failed.stderr.contains("hint: install a newer memtree; nothing was changed"),
            "{}",
            failed.told()
        );
        assert_same(&before, &Tree::of(desk.root()), &format!("after {command:?}"));
    }
}

#[test]
fn broken_settings_are_a_clear_error() {
    let desk = Desk::new();
    for (settings, told) in [
        ("format = 1\ntimezone = [\n", "because: line 2: "),
        ("format = 1\ntimezone = \"Europe/Pariss\"\n", "hint: did you mean `Europe/Paris`?"),
        ("format = 1\n[redact]\nrules = [{ name = \"x\", pattern = \"(\" }]\n", "redact.rules"),
    ] {
        desk.configure(settings);
        desk.memtree(["sweep"]).code(1).stderr_has(told);
    }
    desk.configure("");
    desk.write("memtree.toml", "format = 1\ntimezon = \"UTC\"\n[open]\neditor = \"evil\"\n");
    desk.memtree(["sweep"])
        .success()
        .stderr_has("did you mean `timezone`?")
        .stderr_has("`open.editor` runs a program");
    let wrong =
        desk.command(&["status".into()]).env("MEMTREE_NOW", "half past nine").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    desk.memtree(["sweeep"]).code(2).stderr_has("sweep");
}

#[test]
fn hostile_names_stay_names() {
    let desk = Desk::new().with_log("claude", "odd_names");
    let outside = |desk: &Desk| {
        let mut tree = Tree::of(desk.root());
        tree.0.retain(|path, _| !path.starts_with("memory"));
        tree
    };
    let before = outside(&desk);
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C1"]);
    assert_eq!(desk.digest("SES1_desk_SP1C1").session.to_string(), "SES1_desk_SP1C1");
    desk.check_manifest("SES1_desk_SP1C1");
    for command in [
        &["status"][..],
        &["status", "--json"],
        &["search", "forged"],
        &["search", "forged", "--json"],
        &["search", "owned title"],
        &["recall", "SES1_desk_SP1C1/EP_001"],
        &["recall", "SES1_desk_SP1C1/EP_001", "--json"],
        &["sweep", "--json"],
    ] {
        let answer = desk.memtree(command).success();
        assert!(!answer.stdout.is_empty(), "{}", answer.told());
        assert_shown_safely(&answer);
    }
    assert_same(&before, &outside(&desk), "nothing outside the memory is touched");
    for path in Tree::of(&desk.store()).0.keys() {
        let name = path.to_str().expect("names are UTF-8");
        assert!(!name.contains(is_unsafe) && !name.contains("passwd"), "{name:?}");
    }
    for path in derived_files(&desk) {
        if let Ok(text) = fs::read_to_string(&path) {
            assert!(!text.contains(is_unsafe), "{}: {text:?}", path.display());
        }
    }
}

#[test]
fn a_log_cannot_forge_what_we_write() {
    let desk = Desk::new().with_log("claude", "odd_names");
    desk.memtree(["sweep"]).success();
    let text = desk.digest_text("SES1_desk_SP1C1");
    let digest = desk.digest("SES1_desk_SP1C1");
    assert_eq!(
        digest.source_id.strip_prefix("claude:").map(|id| id.contains(['/', '\n'])),
        Some(false),
        "{}",
        digest.source_id
    );
    assert!(
        digest.content.triggers.iter().all(|trigger| trigger.episode.0 == 1),
        "{:?}",
        digest.content.triggers
    );
    assert!(
        digest.content.triggers.iter().all(|trigger| trigger.path == "snapshot/episodic/EP_001.md"),
        "{text}"
    );
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    for (start, count) in [
        ("---", 2),
        ("## ⚡", 1),
        ("## Notes", 1),
        ("## 🔎 Index", 1),
        ("## ", 6),
        ("# ", 1),
        ("session:", 1),
        ("status:", 1),
        ("title:", 1),
    ] {
        assert_eq!(lines(start), count, "{start}\n{text}");
    }
    assert!(!text.contains("<script") || text.contains("\\<script"), "{text}");
    assert!(!text.contains("SES1_evil_SP1C1_DIGEST"), "{text}");
    assert!(text.ends_with("## Notes\n"), "the notes are the reader's:\n{text}");
    // The day has one line for each thing that was said, whatever was in it.
    let day = desk.read("daily/raw/2026-10-17.md");
    for line in day.lines().skip(2) {
        assert!(line.starts_with("- [09:00:") && line.contains("] (SES1_desk_SP1C1) "), "{line}");
    }
    assert!(day.lines().count() >= 4, "{day}");
}

/// Parts of the secrets in the fixture, enough to know them by.
const SECRETS: &[&str] = &[
    "IOSFODNN7EXAMPLE",
    "K7MDENG/bPxRfi",
    "not-a-real-password",
    "abcdefEXAMPLE0123",
    "EXAMPLE2example3EXAM",
    "EXAMPLE-not-a-key-x1x1",
    "EXAMPLEnotatoken0",
    "bm90LWEtcmVhbC1zaWduYXR1cmU",
    "EXAMPLEnotakeyEXAMPLE",
];

#[test]
fn secrets_stay_in_raw() {
    let desk = Desk::new().with_log("claude", "secrets");
    let id = "5e550013-0000-4000-8000-000000000001";
    let log = fs::read_to_string(desk.log_path(id)).unwrap();
    let decoded: String = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string())
        .collect();
    for secret in SECRETS {
        assert!(decoded.contains(secret), "the fixture has no {secret}");
    }
    let mut told = vec![desk.memtree(["sweep"]).success()];
    for command in [
        &["search", "deploy postgres database"][..],
        &["search", "rotate", "--json"],
        &["search", "AKIAIOSFODNN7EXAMPLE", "--json"],
        &["recall", "SES1_desk_SP1C1/EP_001"],
        &["recall", "SES1_desk_SP1C1/EP_001", "--json"],
        &["status"],
    ] {
        told.push(desk.memtree(command).success());
    }
    for answer in &told {
        // A query is repeated as it was typed.
        let said = answer.told().replace("AKIAIOSFODNN7EXAMPLE", "");
        for secret in SECRETS {
            assert!(!said.contains(secret), "{secret}\n{said}");
        }
    }
    let mut whole = String::new();
    for path in derived_files(&desk) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
        whole.push_str(&text);
    }
    assert!(
        whole.contains("4f5e6d7") && whole.contains("9f86d081884c"),
        "a commit and a hash are no secrets"
    );
    assert!(whole.contains("localhost:5432/demo"), "of the address only the password is a secret");
}

#[test]
fn a_bad_line_is_named_without_its_secrets() {
    let token = ["ghp_", "EXAMPLE0example1EXAMPLE2example3EXAM"].concat();
    let odd = exchange(ONE, 1, "Next?", "Done.")
        .replace(r#"{"input_tokens":10,"output_tokens":20}"#, &format!("\"{token}\""));
    assert!(odd.contains(&token));
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 0, "First?", "Done.") + &odd);
    let swept = desk.memtree(["sweep"]).code(3).stderr_has(".jsonl:4: ");
    assert!(!swept.stderr.contains(&token), "{}", swept.stderr);
    for path in derived_files(&desk) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(&token), "{}: {text}", path.display());
    }
}

#[test]
fn a_rule_of_ones_own_is_honoured() {
    let log = exchange(
        ONE,
        0,
        "Close TICKET-123456 please.",
        "TICKET-123456 is closed, TICKET-7 is not one.",
    );
    let desk = Desk::new().with_claude_log(ONE, log);
    desk.settings(
        "format = 1\n[redact]\nrules = [{ name = \"ticket\", pattern = \"TICKET-[0-9]{6}\" }]\n",
    );
    desk.memtree(["sweep"]).success();
    for path in derived_files(&desk) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("TICKET-123456"), "{}", path.display());
    }
    let episode = desk.read("sessions/SES1_desk_SP1C1/snapshot/episodic/EP_001.md");
    assert!(episode.contains("ticket") && episode.contains("TICKET-7"), "{episode}");
}

/// Every file of the memory but raw itself.
fn derived_files(desk: &Desk) -> Vec<PathBuf> {
    let tree = Tree::of(&desk.store());
    let raw = |path: &Path| path.to_string_lossy().contains("/snapshot/raw/");
    let derived: Vec<PathBuf> = tree
        .files()
        .filter(|(path, _)| !raw(path))
        .map(|(path, _)| desk.store().join(path))
        .collect();
    assert!(derived.len() > 5, "{derived:?}");
    derived
}

fn assert_shown_safely(answer: &Answer) {
    for said in [&answer.stdout, &answer.stderr] {
        assert!(!said.contains(is_unsafe), "{said:?}");
    }
}

/// What may change how a terminal or an editor shows the rest.
fn is_unsafe(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn of_many_bad_lines_the_first_are_shown_and_all_are_named() {
    let id = "0bad0000-0000-4000-8000-000000000001";
    let good = crate::harness::exchange(id, 1, "Which lamp is lit?", "The one by the door is lit.");
    let mut log = good.clone();
    for number in 0..3_000 {
        log.push_str(&format!("{{\"broken\": {number}\n"));
    }
    let desk = Desk::new().with_claude_log(id, log);
    let answer = desk.memtree(["sweep", "--json"]).code(3);
    let report = answer.json();
    assert_eq!(report["skipped_total"], 3_000, "{report}");
    assert_eq!(report["skipped"].as_array().map(Vec::len), Some(20), "{report}");
    let named = desk.read("sessions/SES1_desk_SP1C1/snapshot/state/skipped.txt");
    assert_eq!(named.lines().count(), 3_000);
    assert!(answer.stderr.lines().count() < 40, "{}", answer.stderr);
}

#[test]
fn a_message_without_a_time_has_the_day_of_the_nearest() {
    let id = "0bad0000-0000-4000-8000-000000000002";
    let log: String = ["The first question about lamps?", "The second question about lamps?"]
        .iter()
        .enumerate()
        .map(|(at, prompt)| crate::harness::exchange(id, at as u32, prompt, "It is lit, I looked."))
        .collect();
    // The first prompt has no time at all, and the third record one that is none.
    let lines = log.lines().enumerate().map(|(at, line)| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        match at {
            0 => drop(record.as_object_mut().unwrap().remove("timestamp")),
            2 => record["timestamp"] = "half past nine".into(),
            _ => {}
        }
        format!("{record}\n")
    });
    let desk = Desk::new().with_claude_log(id, lines.collect::<String>());
    desk.memtree(["sweep"]).done();
    let days = desk.texts();
    let days = days.iter().filter(|(name, _)| name.starts_with("daily/raw/"));
    let text: String = days.map(|(_, text)| text.as_str()).collect();
    assert!(text.contains("first question") && text.contains("second question"), "{text}");
}

// --- Files that never end, or never begin ---

/// Whether a command ends by itself, within a time that only one that waits for ever exceeds.
fn ends(desk: &Desk, arguments: &[&str]) -> bool {
    let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
    let mut command = desk.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn no_path_argument_waits_for_a_pipe_or_reads_a_device_to_its_end() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.memtree(["sweep"]).success();
    let pipe = desk.root().join("pipe");
    make_fifo(&pipe);
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        let source = format!("claude={path}");
        let line = format!("{path}:1");
        for arguments in [
            &["status", "--store", path][..],
            &["status", "--config", path],
            &["snapshot", path],
            &["flush", path, "SES1_desk_SP1C1"],
            &["sweep", "--source", &source],
            &["verify", "--source", &source],
            &["doctor", "--source", &source],
            &["blame", &line],
            &["recall", path],
            &["summarize", path],
            &["digest", path],
            &["pin", path],
            &["forget", path, "--yes"],
        ] {
            assert!(ends(&desk, arguments), "{arguments:?}");
        }
    }
}

#[test]
fn no_file_of_the_memory_is_waited_for() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.memtree(["sweep"]).success();
    desk.memtree(["compile"]).any();
    let digest = desk.digest_path("SES1_desk_SP1C1");
    let names = [
        "memtree.toml",
        "forgotten.md",
        "core/MEMORY.md",
        "daily/raw/2026-11-15.md",
        "daily/summary/2026-11-15.md",
        "knowledge/log.md",
        ".memtree/cache/cursors.json",
        &digest,
    ];
    for name in names {
        let path = desk.store().join(name);
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make_fifo(&path);
        for command in [
            &["sweep"][..],
            &["status"],
            &["search", "question"],
            &["context"],
            &["verify"],
            &["doctor"],
            &["flush"],
            &["log", "user", "a thought"],
            &["list"],
            &["hook", "claude", "SessionStart"],
        ] {
            assert!(ends(&desk, command), "{command:?} with a pipe for `{name}`");
        }
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
    }
}
