//! Embeddings: a server that makes vectors of what was said, one that answers nonsense, hangs or
//! dies, and none at all. Whatever it does, the answer is that of the words, in another order at
//! most.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Desk, exchange};

const RACE: &str = "eeeeeeee-0000-4000-8000-000000000001";
const KNOT: &str = "eeeeeeee-0000-4000-8000-000000000002";
const SECRET: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
const QUERY: &str = "quayside cable notes";

/// What a server does with the texts that it gets.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Well,
    /// As a model does whose vectors have so many numbers.
    With(usize),
    /// As another model does, whose vectors have as many numbers.
    Differently,
    Says(u16, &'static str),
    /// It takes the question and never answers.
    Hangs,
    /// It ends in the middle of its answer.
    Dies,
}

/// A server on this machine.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Value>>>,
    manner: Arc<Mutex<Manner>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let manner = Arc::new(Mutex::new(Manner::Well));
        let server = Server { address, asked: Arc::default(), manner };
        let (asked, manner) = (server.asked.clone(), server.manner.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, manner) = (asked.clone(), *manner.lock().unwrap());
                thread::spawn(move || serve(stream, &asked, manner));
            }
        });
        server
    }

    fn is(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    /// The texts that it was asked about since it was last looked at.
    fn texts(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let texts = asked.iter().flat_map(|one| one["input"].as_array().unwrap().clone());
        texts.map(|text| text.as_str().unwrap().to_string()).collect()
    }

    fn configure(&self, desk: &Desk, more: &str) {
        let table = format!("[embeddings]\nbase_url = \"{}\"\nmodel = \"small\"", self.address);
        desk.configure(format!("{table}\nsearch_ms = 700\ntimeout_seconds = 2\n{more}\n"));
    }
}

fn serve(mut stream: TcpStream, asked: &Mutex<Vec<Value>>, manner: Manner) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let question: Value = serde_json::from_slice(&body).unwrap();
    let texts = question["input"].as_array().unwrap().clone();
    asked.lock().unwrap().push(question);
    let vectors = |numbers: usize, shift: usize| {
        let item = |(at, text): (usize, &Value)| json!({ "index": at, "embedding": vector(text.as_str().unwrap(), numbers, shift) });
        let data: Vec<Value> = texts.iter().enumerate().map(item).collect();
        json!({ "data": data, "usage": { "prompt_tokens": 10 * texts.len() } }).to_string()
    };
    let (status, body) = match manner {
        Manner::Well | Manner::Dies => (200, vectors(16, 0)),
        Manner::With(numbers) => (200, vectors(numbers, 0)),
        Manner::Differently => (200, vectors(16, 5)),
        Manner::Says(status, body) => (status, body.to_string()),
        Manner::Hangs => {
            thread::sleep(Duration::from_secs(20));
            return;
        }
    };
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", body.len());
    let sent = if manner == Manner::Dies { &body[..body.len() / 2] } else { &body };
    let _ = stream.write_all(format!("{head}{sent}").as_bytes());
}

/// Texts that have to do with ropes point one way, all others elsewhere: what no words say.
fn vector(text: &str, numbers: usize, shift: usize) -> Vec<f32> {
    let lower = text.to_lowercase();
    let rope = ["bowline", "knot", "cable", "moor"].iter().any(|word| lower.contains(word));
    let mut vector = vec![0.1; numbers];
    vector[(usize::from(rope) + shift) % numbers] = 3.0;
    if lower.contains("memtree remembers") {
        vector[(2 + shift) % numbers] = 9.0;
    }
    vector
}

/// Two sessions in which the words of [`QUERY`] stand alike; the one of ropes is found second.
fn desk() -> Desk {
    let race = "Where do the quayside notes lose their lines? Keep the quayside notes whole.";
    let knot = "How do I tie a bowline at the quayside? Keep notes of it.";
    let token = format!("The token is {SECRET}, and the writers of the notes race.");
    Desk::new()
        .with_claude_log(RACE, exchange(RACE, 1, race, &token))
        .with_claude_log(KNOT, exchange(KNOT, 5, knot, "Around the tree and back; moor with it."))
}

fn search(desk: &Desk, query: &str) -> Value {
    desk.memtree(["search", "--json", query]).success().json()
}

fn found(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["source_id"].as_str().unwrap().to_string()).collect()
}

fn sweep(desk: &Desk) -> Value {
    desk.memtree(["sweep", "--json"]).success().json()["embeddings"].clone()
}

fn has_vectors(desk: &Desk) -> bool {
    desk.store().join(".memtree/cache/vectors").exists()
}

const BY_WORDS: [&str; 2] =
    ["claude:eeeeeeee-0000-4000-8000-000000000001", "claude:eeeeeeee-0000-4000-8000-000000000002"];

#[test]
fn what_is_meant_alike_comes_first_and_nothing_else_changes() {
    let (desk, server) = (desk(), Server::start());
    assert!(sweep(&desk).is_null());
    let words = search(&desk, QUERY);
    assert_eq!(found(&words), BY_WORDS);
    assert!(words["embeddings"].is_null() && !has_vectors(&desk), "off by default");
    server.configure(&desk, "");
    assert_eq!(search(&desk, QUERY)["embeddings"]["used"], false, "there are none yet");
    assert!(server.texts().is_empty());
    let made = sweep(&desk);
    assert_eq!((&made["sessions"], &made["waiting"]), (&json!(2), &json!(0)), "{made}");
    let sent = server.texts().join("\n");
    assert!(sent.contains("bowline") && sent.contains("quayside"), "{sent}");
    assert!(!sent.contains(SECRET) && !sent.contains("ghp_"), "{sent}");
    let meant = search(&desk, QUERY);
    assert_eq!(meant["embeddings"], json!({ "used": true }));
    assert_eq!(found(&meant), [BY_WORDS[1], BY_WORDS[0]]);
    assert_eq!(meant["total"], words["total"]);
    assert_eq!(server.texts()[0], QUERY, "filters and flags are not sent");
    // The same but for order and score, field by field.
    let bare = |answer: &Value, id: &str| {
        let hits = answer["hits"].as_array().unwrap().iter();
        let mut hit = hits.clone().find(|hit| hit["source_id"] == id).unwrap().clone();
        ["rank", "score"].iter().for_each(|key| hit[*key] = Value::Null);
        hit
    };
    for id in BY_WORDS {
        assert_eq!(bare(&meant, id), bare(&words, id));
    }
    // Filters hold, and what no word finds is not found.
    assert_eq!(found(&search(&desk, "notes project:other")), [""; 0]);
    assert_eq!(found(&search(&desk, "hawser")), [""; 0]);
    server.texts();
    assert_eq!(sweep(&desk)["chunks"], 0);
    assert!(server.texts().is_empty(), "what has not changed is not sent again");
    let ledger = desk.read(".memtree/local/ledger.jsonl");
    assert!(ledger.contains("\"task\":\"embeddings\"") && !ledger.contains("bowline"), "{ledger}");
}

#[test]
fn only_what_is_new_of_a_session_is_sent() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "");
    sweep(&desk);
    server.texts();
    let more = exchange(KNOT, 9, "And a sheet bend?", "It joins two ropes.");
    let log = std::fs::read_to_string(desk.log_path(KNOT)).unwrap();
    desk.write_log(KNOT, log + &more);
    assert_eq!(sweep(&desk)["sessions"], 1);
    let sent = server.texts();
    assert!(sent.iter().any(|text| text.contains("sheet bend")), "{sent:?}");
    let old = |text: &&String| text.starts_with("How do I tie") || text.contains("lose their");
    assert_eq!(sent.iter().filter(old).count(), 0, "{sent:?}");
}

#[test]
fn a_server_that_fails_costs_a_note_and_no_time() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "");
    sweep(&desk);
    for manner in [
        Manner::With(15),
        Manner::Says(200, r#"{"data":[{"index":0,"embedding":[NaN,1]}]}"#),
        Manner::Says(200, r#"{"data":[{"index":0,"embedding":[null,1]}]}"#),
        Manner::Says(200, "<html><body>Sign in</body></html>"),
        Manner::Says(200, ""),
        Manner::Says(200, r#"{"data":[]}"#),
        Manner::Says(500, r#"{"error":{"message":"out of memory"}}"#),
        Manner::Says(401, "no"),
        Manner::Hangs,
        Manner::Dies,
    ] {
        server.is(manner);
        let began = Instant::now();
        let answer = search(&desk, QUERY);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        assert_eq!(found(&answer), BY_WORDS);
        assert_eq!(answer["embeddings"]["used"], false);
        assert!(answer["embeddings"]["because"].as_str().is_some_and(|why| why.len() > 10));
    }
    desk.memtree(["search", QUERY]).success().stderr_has("ranked by words alone: cannot ask");
    // Nobody listens there.
    desk.configure("[embeddings]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"small\"\n");
    assert_eq!(found(&search(&desk, QUERY)), BY_WORDS);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["embeddings"]["sessions"], 0);
}

#[test]
fn another_model_has_everything_made_anew() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "");
    let first = sweep(&desk);
    for manner in [Manner::Differently, Manner::With(24)] {
        server.is(manner);
        let because = search(&desk, QUERY)["embeddings"]["because"].clone();
        assert!(because.as_str().unwrap().contains("has changed"), "{because}");
        assert_eq!(sweep(&desk)["chunks"], first["chunks"]);
        assert_eq!(search(&desk, QUERY)["embeddings"]["used"], true);
        assert_eq!(found(&search(&desk, QUERY))[0], BY_WORDS[1]);
    }
    // By name.
    server.configure(&desk, "");
    let text = std::fs::read_to_string(desk.home().join(".config/memtree/config.toml")).unwrap();
    desk.configure(text.replace("\"small\"", "\"large\""));
    assert_eq!(search(&desk, QUERY)["embeddings"]["used"], false);
    assert_eq!(sweep(&desk)["chunks"], first["chunks"]);
}

#[test]
fn what_is_forgotten_or_left_out_has_no_vectors() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "");
    sweep(&desk);
    server.texts();
    let knot = desk.session_of(BY_WORDS[1]);
    desk.memtree(["forget", &knot, "--yes"]).success();
    let table = std::fs::read(desk.store().join(".memtree/cache/vectors/table")).unwrap();
    let (table, race) = (String::from_utf8_lossy(&table), desk.session_of(BY_WORDS[0]));
    assert!(!table.contains(&knot) && table.contains(&race), "{table}");
    assert_eq!(sweep(&desk)["chunks"], 0, "those of the other session are kept");
    assert!(server.texts().is_empty());
    // Left out later: its vectors go, and nothing of it is sent.
    server.configure(&desk, "[exclude]\nprojects = [\"demo\"]");
    desk.memtree(["sweep"]).success();
    let table = std::fs::read(desk.store().join(".memtree/cache/vectors/table")).unwrap();
    assert!(!server.texts().iter().any(|text| text.contains("quayside")));
    let answer = search(&desk, QUERY);
    assert_eq!(found(&answer).len(), 1, "the page itself is still there");
    assert!(table.len() < 400, "{}", String::from_utf8_lossy(&table));
    let data = std::fs::read_dir(desk.store().join(".memtree/cache/vectors")).unwrap();
    let sizes: u64 = data
        .flatten()
        .filter(|one| one.file_name() != "table")
        .map(|one| one.metadata().unwrap().len())
        .sum();
    assert_eq!(sizes, 0);
}

#[test]
fn a_sweep_keeps_to_its_caps() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "sweep_seconds = 0");
    assert_eq!(sweep(&desk)["waiting"], 2);
    assert_eq!(search(&desk, QUERY)["embeddings"]["used"], false);
    server.configure(&desk, "daily_tokens = 5");
    sweep(&desk);
    let capped = sweep(&desk);
    assert!(capped["unavailable"].as_str().is_some_and(|why| why.contains("cap")), "{capped}");
    server.configure(&desk, "most_chunks = 1");
    assert_eq!(sweep(&desk)["waiting"], 0);
    let told = desk.memtree(["sweep"]).success().stderr;
    assert!(!told.contains("vector"), "nothing new, nothing said: {told}");
}

#[test]
fn only_the_person_turns_it_on_and_one_command_turns_it_off() {
    let (desk, server) = (desk(), Server::start());
    desk.memtree(["init", "--quiet"]).success();
    let pulled =
        format!("format = 2\n[embeddings]\nbase_url = \"{}\"\nmodel = \"small\"\n", server.address);
    desk.settings(&pulled);
    desk.memtree(["sweep"]).success().stderr_has("embeddings.base_url");
    search(&desk, QUERY);
    assert!(server.texts().is_empty() && !has_vectors(&desk));
    desk.configure("[open]\neditor = \"vim\"\n");
    let said = desk.memtree(["config", "embeddings", &server.address, "--model", "small", "--yes"]);
    said.success().stdout_has("it answers, with vectors of 16 numbers");
    assert_eq!(sweep(&desk)["sessions"], 2);
    assert!(has_vectors(&desk));
    desk.memtree(["config", "embeddings", "off"]).success();
    assert!(!has_vectors(&desk));
    let own = std::fs::read_to_string(desk.home().join(".config/memtree/config.toml")).unwrap();
    assert_eq!(own, "[open]\neditor = \"vim\"\n");
    server.texts();
    assert!(search(&desk, QUERY)["embeddings"].is_null() && sweep(&desk).is_null());
    assert!(server.texts().is_empty());
    for wrong in [&["nowhere"][..], &["http://127.0.0.1:1/v1"]] {
        let words = [&["config", "embeddings"][..], wrong].concat();
        desk.memtree(words).code(2);
    }
}

#[test]
fn hooks_and_pages_for_agents_never_ask_it() {
    let (desk, server) = (desk(), Server::start());
    server.configure(&desk, "");
    sweep(&desk);
    server.texts();
    desk.memtree(["context", "--prompt", QUERY]).success();
    desk.memtree(["verify"]).success();
    assert!(server.texts().is_empty());
}

/// A real model: `tests/real_embeddings/run` serves one on this machine and names it.
#[test]
#[ignore = "needs a server of embeddings; `tests/real_embeddings/run` starts one"]
fn real_embeddings_find_what_is_meant() {
    let address = std::env::var("MEMTREE_EMBEDDINGS_SERVER").expect("run sets it");
    let told = [
        (
            "How do I tie a boat to the pier so that it holds in a storm?",
            "Use a bowline on the bollard.",
        ),
        (
            "The login page rejects every password after the upgrade.",
            "The hash function had changed.",
        ),
        ("Why is the bill of the cloud so high this month?", "Snapshots were never deleted."),
        ("Make the tests run on two machines at once.", "They are split by their names now."),
    ];
    let id = |at: usize| format!("eeeeeeee-0000-4000-8000-00000000010{at}");
    let desk = told.iter().enumerate().fold(Desk::new(), |desk, (at, (asked, said))| {
        desk.with_claude_log(&id(at), exchange(&id(at), 10 + at as u32, asked, said))
    });
    let table = format!("[embeddings]\nbase_url = \"{address}\"\nmodel = \"all-MiniLM-L6-v2\"\n");
    desk.configure(format!("{table}search_ms = 20000\n"));
    assert_eq!(sweep(&desk)["sessions"], told.len());
    for (question, at) in [
        ("mooring a vessel, the page says this", 0),
        ("authentication fails for the users of this page", 1),
        ("our costs of this hosting", 2),
        ("parallel checks this month", 3),
    ] {
        let answer = search(&desk, question);
        assert_eq!(answer["embeddings"]["used"], true, "{answer}");
        let source = format!("claude:{}", id(at));
        let hits = found(&answer);
        eprintln!("{question}: {hits:?}");
        assert!(hits.is_empty() || hits[0] == source || !hits.contains(&source), "{question}");
    }
}
