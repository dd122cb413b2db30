//! Models: a server and a program that answer, fail, hang or lie; what is kept of it, and what it
//! costs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Desk, assert_same, exchange};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// Two sessions that ended long ago.
fn desk() -> Desk {
    Desk::new()
        .with_claude_log(
            ONE,
            exchange(
                ONE,
                0,
                "Why does the day log lose lines?",
                "Two writers race for the header.",
            ),
        )
        .with_claude_log(
            TWO,
            exchange(TWO, 5, "Rename the gauge to tide_gauge.", "Renamed it in src/gauge.rs."),
        )
}

const NOTE: &str = r#"{"kind":"title","episode":"EP_001","text":"The day log loses lines","quote":"does the day log lose lines"}
{"kind":"outcome","episode":"EP_001","by":"assistant","text":"Two writers race for the header","quote":"Two writers race for the header"}
{"kind":"outcome","episode":"EP_007","by":"assistant","text":"Everything was rewritten in another language","quote":"Everything was rewritten"}"#;

/// Says what a person would write into their own settings.
pub fn configure(desk: &Desk, summarizer: &str, models: &str) {
    let folder = desk.home().join(".config/memtree");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "summarizer = \"{summarizer}\"\n[models]\nlow = \"small\"\nretry_seconds = 0\n{models}\n"
    );
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// Whether the first session's page says what the model said.
fn has_models_words(desk: &Desk) -> bool {
    let page = desk.digest(&desk.session_of(&format!("claude:{ONE}"))).content;
    page.title == "The day log loses lines" && page.made_by.contains(" + ")
}

fn ledger(desk: &Desk) -> Vec<Value> {
    let text =
        fs::read_to_string(desk.store().join(".memtree/local/ledger.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A server on this machine that gives the answers it was told to give, then the last one for ever.
pub struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Value>>>,
    answers: Arc<Mutex<Vec<(u16, String)>>>,
}

impl Server {
    pub fn start(answers: &[(u16, &str)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers = answers.iter().map(|(status, text)| (*status, text.to_string())).collect();
        let server =
            Server { address, asked: Arc::default(), answers: Arc::new(Mutex::new(answers)) };
        let (asked, answers) = (server.asked.clone(), server.answers.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let question = read_question(&stream);
                asked.lock().unwrap().push(question);
                let mut answers = answers.lock().unwrap();
                let (status, text) =
                    if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
                drop(answers);
                answer(stream, status, &text);
            }
        });
        server
    }

    pub fn says(&self, text: &str) {
        *self.answers.lock().unwrap() = vec![(200, text.to_string())];
    }

    fn down(&self) {
        *self.answers.lock().unwrap() = vec![(503, "down".into())];
    }

    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub fn settings(&self) -> String {
        format!("base_url = \"{}\"", self.address)
    }
}

fn read_question(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut authorized) = (String::new(), 0, Value::Null);
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if lower.starts_with("authorization:") {
            authorized = line.trim().into();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut question: Value = serde_json::from_slice(&body).unwrap_or_default();
    question["authorization"] = authorized;
    question
}

fn answer(mut stream: TcpStream, status: u16, text: &str) {
    let body = match status {
        200 => json!({
            "choices": [{ "message": { "role": "assistant", "content": text } }],
            "usage": { "prompt_tokens": 300, "completion_tokens": 20 },
        }),
        _ => json!({ "error": { "message": text } }),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

#[test]
fn a_server_writes_what_the_session_bears_out() {
    let server = Server::start(&[(200, NOTE)]);
    let desk = desk();
    configure(&desk, "openai", &format!("{}\nlow_usd = [1.0, 2.0]", server.settings()));
    let plain = Desk::new().with_claude_log(ONE, fs::read(desk.log_path(ONE)).unwrap());
    plain.memtree(["sweep"]).success();
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(
        (&swept["model"]["improved"], &swept["model"]["waiting"]),
        (&json!(1), &json!(0)),
        "{swept}"
    );

    let page = desk.digest_text(&desk.session_of(&format!("claude:{ONE}")));
    let with = desk.digest(&desk.session_of(&format!("claude:{ONE}"))).content;
    assert!(with.made_by.ends_with(" + openai:low/2"), "{page}");
    assert_eq!(with.title, "The day log loses lines");
    assert_eq!(with.key_outcomes, ["Two writers race for the header (EP_001)"]);
    assert!(!page.contains("another language"), "{page}");
    // What finds the session, and whatever the model had nothing for, is still ours.
    let without = plain.digest(&plain.sessions()[0]).content;
    assert_eq!((&with.triggers, &with.objective), (&without.triggers, &without.objective));
    assert_eq!((&with.index, &with.errors), (&without.index, &without.errors));
    // The other session's words are not in that note, so nothing of it is kept there.
    let other = desk.digest(&desk.session_of(&format!("claude:{TWO}"))).content;
    assert!(other.made_by.ends_with(" + openai:low/2"), "{other:?}");
    assert!(other.key_outcomes.iter().all(|line| !line.contains("race")), "{other:?}");
    assert_eq!(swept["model"]["refused"], 4, "{swept}");

    let lines = ledger(&desk);
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["tokens_in"], &lines[0]["tokens_out"]), (&json!(300), &json!(20)));
    assert_eq!((&lines[0]["by"], &lines[0]["task"]), (&json!("openai:low"), &json!("digest")));
    assert!((lines[0]["usd"].as_f64().unwrap() - 0.00034).abs() < 1e-9, "{}", lines[0]);
    desk.memtree(["status"]).success().stdout_has("2 calls, 640 tokens, $0.0007");

    let question = &server.asked()[0];
    assert_eq!(question["model"], "small");
    assert!(
        question["messages"][0]["content"].as_str().unwrap().starts_with("[memtree asks:"),
        "{question}"
    );
    // Once asked, never again: not by a sweep, nor by digesting again.
    let before = desk.tree();
    for arguments in [vec!["sweep"], vec!["digest"], vec!["digest", "--all"]] {
        desk.memtree(arguments).success();
    }
    assert_same(&before, &desk.tree(), "after more sweeps");
    assert_eq!(server.asked().len(), 2);
    // Without the cache and the device's own files it is no other.
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "without its own files");
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_server_that_is_down_holds_nothing_up_and_is_asked_later() {
    let server = Server::start(&[(503, "loading")]);
    let desk = desk();
    configure(&desk, "openai", &server.settings());
    let swept = desk.memtree(["sweep", "--json"]).success();
    assert!(swept.stderr.contains("503: loading"), "{}", swept.told());
    assert_eq!(swept.json()["model"]["waiting"], 2);
    // Three tries, and nobody else is kept waiting for the same.
    assert_eq!((server.asked().len(), ledger(&desk).len()), (3, 3));
    let plain = Desk::new().with_claude_log(ONE, fs::read(desk.log_path(ONE)).unwrap());
    let plain = plain.with_claude_log(TWO, fs::read(desk.log_path(TWO)).unwrap());
    plain.memtree(["sweep"]).success();
    assert_same(&plain.tree(), &desk.tree(), "without a model, but for the answer");

    server.says(NOTE);
    desk.memtree(["sweep"]).success().stdout_has("a model added to 1");
    assert!(has_models_words(&desk));
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["model"]["waiting"], 0);
}

#[test]
fn a_session_that_grows_is_asked_about_again_once_it_is_over() {
    let server = Server::start(&[(200, NOTE)]);
    let desk = desk();
    configure(&desk, "openai", &server.settings());
    desk.memtree(["sweep"]).success();
    let session = desk.session_of(&format!("claude:{ONE}"));
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    // 11:50, ten minutes ago: it is still open.
    desk.write_log(ONE, log + &exchange(ONE, 50, "Where is the lock?", "In append_locked."));
    desk.memtree(["sweep"]).success();
    let page = desk.digest_text(&session);
    assert!(
        page.contains("state: open") && !has_models_words(&desk) && page.contains("EP_002"),
        "{page}"
    );
    assert_eq!(server.asked().len(), 2);
    desk.later(60);
    desk.memtree(["sweep"]).success().stdout_has("closed 1, a model added to 1");
    let page = desk.digest_text(&session);
    assert!(
        page.contains("state: closed") && has_models_words(&desk) && page.contains("EP_002"),
        "{page}"
    );
}

#[test]
fn the_cap_of_a_day_stops_calls_until_the_next() {
    let server = Server::start(&[(200, NOTE)]);
    let desk = desk();
    // Room for one call: each is thought to take about 3,000 tokens, and takes 320.
    configure(&desk, "openai", &format!("{}\ndaily_tokens = 3150", server.settings()));
    let swept = desk.memtree(["sweep", "--json"]).success();
    assert!(swept.stderr.contains("the day's cap of 3150 tokens is reached"), "{}", swept.told());
    assert_eq!((server.asked().len(), &swept.json()["model"]["waiting"]), (1, &json!(1)));
    desk.memtree(["sweep"]).success();
    desk.memtree(["digest", "--all"]).code(3);
    assert_eq!(server.asked().len(), 1);
    desk.later(24 * 60);
    desk.memtree(["sweep"]).success();
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_memory_that_was_pulled_can_neither_send_nor_run_nor_spend() {
    let server = Server::start(&[(200, NOTE)]);
    let desk = desk();
    desk.memtree(["init"]).success();
    desk.write(
        "memtree.toml",
        format!(
            "format = 1\nsummarizer = \"openai\"\n[models]\nlow = \"theirs\"\n{}\ndaily_usd = 1000.0\n",
            server.settings()
        ),
    );
    let swept = desk.memtree(["sweep"]).success();
    for key in ["summarizer", "models.base_url", "models.daily_usd"] {
        assert!(
            swept.stderr.contains(&format!("`{key}` runs a program, sends text or spends money")),
            "{}",
            swept.told()
        );
    }
    assert!(server.asked().is_empty() && ledger(&desk).is_empty());
    // What a model is called is no secret and may be agreed upon.
    desk.memtree(["config", "accept", "models.low"]).success();
    let effective = desk.memtree(["config", "--effective"]).success();
    assert!(effective.stdout.contains("\"theirs\""), "{}", effective.told());
}

#[test]
fn a_key_comes_from_the_variable_that_is_named() {
    let server = Server::start(&[(200, NOTE)]);
    let desk = desk();
    configure(&desk, "openai", &format!("{}\nkey_variable = \"DESK_KEY\"", server.settings()));
    desk.memtree(["sweep"])
        .success()
        .stderr_has("the variable `DESK_KEY`, which should hold the model's key, is not set");
    assert!(server.asked().is_empty());
    let output =
        desk.command(&["sweep".into()]).env("DESK_KEY", "sk-desk-0123456789").output().unwrap();
    assert!(output.status.success());
    assert_eq!(server.asked()[0]["authorization"], "authorization: Bearer sk-desk-0123456789");
    assert!(
        !fs::read_to_string(desk.store().join(".memtree/local/ledger.jsonl"))
            .unwrap()
            .contains("sk-desk")
    );
}

#[cfg(unix)]
#[test]
fn a_program_adds_its_words_and_is_told_who_asks() {
    let desk = desk();
    let script = desk.root().join("model.sh");
    let asked = desk.root().join("asked");
    let text = format!(
        "#!/bin/sh\necho \"$1 $MEMTREE_INVOKED_BY $CLAUDE_INVOKED_BY\" >> {0}\ncat >> {0}\ncat <<'END'\n{NOTE}\nEND\n",
        asked.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    configure(&desk, "command", &format!("command = [\"{}\", \"{{model}}\"]", script.display()));
    desk.memtree(["sweep"]).success().stdout_has("a model added to 1");
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.starts_with("small memtree memtree\n[memtree asks:"), "{asked}");
    assert!(asked.contains("> Why does the day log lose lines?"), "{asked}");
    let page = desk.digest_text(&desk.session_of(&format!("claude:{ONE}")));
    assert!(page.contains(" + command:low/2") && has_models_words(&desk), "{page}");
    assert!(
        ledger(&desk)
            .iter()
            .all(|line| line["estimated"] == true && line["tokens_in"].as_u64().unwrap() > 100)
    );
    // Below such a call nobody is asked; below a hook somebody is.
    for (caller, calls) in [("memtree", 2), ("hook", 4)] {
        let again = ["digest", "--all", "--again"].map(Into::into);
        let output = desk.command(&again).env("MEMTREE_INVOKED_BY", caller).output().unwrap();
        assert!(output.status.success());
        assert_eq!(ledger(&desk).len(), calls, "below a {caller}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_is_asked_about_a_folder_in_which_somebody_speaks() {
    let desk = Desk::new();
    desk.memtree(["init", "--quiet"]).success();
    let folder = desk.project().join("evening/agent/consciousness/episodic");
    fs::create_dir_all(&folder).unwrap();
    let episode = r#"{"turn_user":{"text":"Why does the day log lose lines? The key is AKIAIOSFODNN7EXAMPL3"},"turn_llm":{"text":"Two writers race for the header."}}"#;
    fs::write(folder.join("EP_01.json"), episode).unwrap();
    let (script, asked) = (desk.root().join("model.sh"), desk.root().join("asked"));
    let text = format!("#!/bin/sh\ncat >> {}\ncat <<'END'\n{NOTE}\nEND\n", asked.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    configure(&desk, "command", &format!("command = [\"{}\"]", script.display()));
    let of_folder = desk.project().join("evening");
    desk.memtree(["snapshot".as_ref(), of_folder.as_os_str()]).success();
    let content = desk.digest("SES1_desk_SP1C1").content;
    assert_eq!(content.title, "The day log loses lines");
    assert!(content.made_by.contains(" + ") && content.turns == 1);
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.contains("**User:** Why does the day log lose lines?"), "{asked}");
    assert!(!asked.contains("AKIAIOSFODNN7EXAMPL3"), "{asked}");
    // It was asked once, and nobody waits.
    desk.memtree(["sweep"]).success();
    let before = desk.tree();
    desk.memtree(["digest", "--all"]).success();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after another sweep");
}

#[test]
fn a_program_that_fails_or_hangs_leaves_the_digest_as_it_was() {
    let desk = desk();
    for (command, why) in [
        ("[\"/no/such/program\"]", "cannot start `/no/such/program`"),
        ("[\"sh\", \"-c\", \"echo out of luck >&2; exit 7\"]", "exit status: 7: out of luck"),
        ("[\"sh\", \"-c\", \"sleep 60\"]\ntimeout_seconds = 1", "took longer than 1 s"),
        ("[\"sh\", \"-c\", \"true\"]", "the reply is empty"),
    ] {
        configure(&desk, "command", &format!("command = {command}"));
        let output = desk
            .command(&["sweep".into()])
            .env("PATH", std::env::var_os("PATH").unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains(why), "{said}");
        for session in desk.sessions() {
            assert_eq!(
                desk.digest(&session).content.made_by,
                memtree::internals::distill::digest::MADE_BY
            );
        }
    }
    configure(&desk, "command", "");
    desk.memtree(["sweep"]).success().stderr_has("names no program");
}

#[test]
fn a_model_is_chosen_by_name_and_tried_after_a_yes() {
    let desk = desk();
    desk.memtree(["sweep", "--quiet"]).success();
    let config = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "# mine\n[models]\nretry_seconds = 0 # at once\n").unwrap();
    let chosen = desk.memtree(["config", "model", "claude"]).success();
    chosen.stdout_has("`claude -p --tools").stderr_has("it was not tried");
    let text = fs::read_to_string(&config).unwrap();
    assert!(
        text.contains("# mine\n[models]\n") && text.contains("retry_seconds = 0 # at once"),
        "{text}"
    );
    assert!(text.contains("summarizer = \"command\"") && ledger(&desk).is_empty(), "{text}");
    // A server that answers, and one that does not.
    let server = Server::start(&[(200, "ready")]);
    let address = server.settings().split('"').nth(1).unwrap().to_string();
    let arguments = ["config", "model", &address, "--model", "small", "--yes"];
    desk.memtree(arguments).success().stdout_has("it answers");
    assert_eq!((server.asked().len(), ledger(&desk)[0]["task"].as_str()), (1, Some("trial")));
    server.down();
    desk.memtree(arguments).code(1).stderr_has("the model does not answer");
    desk.memtree(["config", "model", "gemni"])
        .code(2)
        .stderr_has("known: claude, codex, gemini, ollama");
    desk.memtree(["config", "model", "ollama"]).code(2).stderr_has("--model NAME");
}

/// `tests/real_model/run` starts a server and names it.
#[test]
#[ignore = "takes minutes; `tests/real_model/run real_server` has a model server for it"]
fn a_real_server_answers() {
    let address = std::env::var("MEMTREE_TEST_SERVER").expect("MEMTREE_TEST_SERVER names a server");
    let desk = desk();
    let settings = "timeout_seconds = 600\ninput_tokens = 1500\ndaily_tokens = 1000000";
    configure(&desk, "openai", &format!("base_url = \"{address}\"\n{settings}"));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["model"]["waiting"], 0, "{swept}");
    let lines = ledger(&desk);
    assert!(lines.len() >= desk.sessions().len(), "{lines:?}");
    for line in &lines {
        assert!(line["estimated"] == false && line["tokens_in"].as_u64().unwrap() > 0, "{line}");
    }
    for session in desk.sessions() {
        assert!(desk.digest(&session).content.made_by.ends_with(" + openai:low/2"));
    }
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after a second sweep");
}
