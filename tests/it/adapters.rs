//! Every log dialect: each case under `tests/fixtures/<flavor>/` is read into the `session.md`
//! beside it.
//!
//! `UPDATE_EXPECT=1 cargo test` writes these files; read them before you commit them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use memtree::Result;
use memtree::internals::adapters::shared::{SharedFiles, SharedSession};
use memtree::internals::adapters::{self, Adapter, Identified, Identity, Places};
use memtree::internals::base::redact::Redactor;
use memtree::internals::base::{clock, files, text};
use memtree::model::session::{Action, Event, EventKind, EventSink, Head, Log, Source};

use crate::harness::{
    Desk, cases, checkout, copy_folder, exchange, expect_file, fixture, fixtures,
};

#[test]
fn every_case_is_read_as_expected() {
    for adapter in adapters::ALL {
        for case in cases(adapter.name()) {
            let folder = fixture(adapter.name(), &case);
            expect_file(&folder.join("session.md"), &read_case(&folder, adapter.name()));
        }
    }
    let without: Vec<String> = adapters::ALL
        .iter()
        .filter(|adapter| cases(adapter.name()).is_empty())
        .map(|adapter| {
            format!(
                "`{0}` has no case: put a log into {1}/<case>/",
                adapter.name(),
                fixtures(adapter.name()).display()
            )
        })
        .collect();
    assert!(without.is_empty(), "{}", without.join("\n"));
}

#[test]
fn agents_are_found_below_the_home_directory() {
    let desk = Desk::new();
    let places = [
        ("vibe", "store", ".vibe"),
        ("vibe", "lines", ".vibe"),
        ("continue", "cli", ".continue"),
        ("kiro", "lines", ".kiro"),
        ("kiro", "database", ".local/share"),
        ("hermes", "database", ".hermes"),
        ("hermes", "quirks", ".hermes"),
        ("dsh", "packed", ".dsh"),
        ("zed", "database", ".local/share/zed"),
        ("vscode", "document", ".config/Code/User"),
        ("crush", "database", "projects"),
        ("cursor", "editor", ".config/Cursor"),
    ];
    for (flavor, case, place) in places {
        copy_folder(&fixture(flavor, case), &desk.home().join(place));
    }
    // Crush keeps a list of its projects.
    let folder = desk.home().join("projects/hive/.crush").display().to_string();
    let list = serde_json::json!({ "projects": [{ "path": "hive", "data_dir": folder }] });
    let data = desk.home().join(".local/share/crush");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("projects.json"), list.to_string()).unwrap();
    let (_, swept) = desk.memtree(["sweep", "--json"]).any();
    let found = swept.json()["by_flavor"].clone();
    let expected = serde_json::json!({
        "continue": 1, "crush": 1, "cursor": 2, "dsh": 1, "hermes": 2, "kiro": 3, "vibe": 2, "vscode": 1,
        "zed": 4
    });
    assert_eq!(found, expected, "{}", swept.told());
    let session = desk.session_of("crush:5e55f001");
    assert!(desk.digest_text(&session).contains("project: hive\n"));
}

#[test]
fn a_session_without_its_main_file_is_named_or_read_without_it() {
    let desk = Desk::new();
    let logs = desk.home().join(".vibe");
    copy_folder(&fixture("vibe", "store"), &logs);
    copy_folder(&fixture("vibe", "lines"), &logs);
    let store = logs.join("logs/session/unified/5e55a001-0000-4000-8000-000000000001");
    fs::remove_file(store.join("CURRENT")).unwrap();
    let lines = logs.join("logs/session/session_20261001_101500_5e55b001");
    fs::remove_file(lines.join("messages.jsonl")).unwrap();
    // Somebody's editor saved another one as UTF-16.
    let wide: Vec<u8> = "\u{feff}{}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(logs.join("logs/session/wide.jsonl"), wide).unwrap();
    let swept = desk.memtree(["sweep"]).code(3);
    assert!(swept.stderr.contains("a session of Vibe without its `messages.jsonl`"));
    assert!(swept.stderr.contains("wide.jsonl:0: a log in UTF-16"), "{}", swept.stderr);
    let session = desk.session_of("vibe:5e55a001-0000-4000-8000-000000000001");
    assert_eq!(desk.digest(&session).content.turns, 2, "what the pointer led to is still there");
}

#[test]
fn a_name_that_a_person_gave_is_found_by_it() {
    let id = "5e550001-0000-4000-8000-00000000beef";
    let log = exchange(id, 1, "Make appends to the day log safe under two writers", "Done.")
        + &format!(
            "{{\"type\":\"custom-title\",\"customTitle\":\"Moonshot\",\"sessionId\":\"{id}\"}}\n"
        );
    let desk = Desk::new().with_claude_log(id, log);
    let _ = desk.memtree(["sweep", "--quiet"]).done();
    assert_eq!(desk.digest(&desk.sessions()[0]).content.title, "Moonshot");
    desk.memtree(["search", "Moonshot"]).success().stdout_has("Moonshot");
}

#[test]
fn openclaws_older_logs_are_its_own() {
    let desk = Desk::new();
    let log = |id: &str| {
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-02-03T09:00:00.000Z\",\"cwd\":\"/home/dev\"}}\n\
             {{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-02-03T09:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"Count the herons.\"}}]}}}}\n"
        )
    };
    for (folder, id) in
        [(".openclaw/agents/main/sessions", "c1"), (".pi/agent/sessions/--x--", "p1")]
    {
        let folder = desk.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{id}.jsonl")), log(id)).unwrap();
    }
    desk.memtree(["sweep"]).success();
    for (source, flavor) in [("openclaw:c1", "openclaw"), ("pi:p1", "pi")] {
        let content = desk.digest(&desk.session_of(source)).content;
        assert_eq!((content.flavor.as_str(), content.turns), (flavor, 1));
    }
    desk.memtree(["verify"]).success();
}

/// Reads the logs of a folder and says what is in them.
fn read_case(folder: &Path, flavor: &str) -> String {
    let shared_files = SharedFiles::with_temporary_copies();
    let mut identified = Vec::new();
    for found in files::walk_files(folder) {
        let found = found.unwrap();
        if ["README.md", "session.md"].iter().any(|name| found.relative == Path::new(name)) {
            continue;
        }
        let (adapter, identities, shared) = match adapters::recognize(&found.path).unwrap() {
            Some((adapter, identity)) => (adapter, vec![identity], false),
            None => match shared_files.list(&found.path).unwrap() {
                Some((adapter, sessions)) => {
                    (adapter, sessions.into_iter().map(identity_of).collect(), true)
                }
                None => continue,
            },
        };
        assert_eq!(adapter.name(), flavor, "{} is taken for another agent's", found.path.display());
        identified.extend(identities.into_iter().map(|identity| Identified {
            path: found.path.clone(),
            flavor: adapter.name(),
            size: found.metadata.len(),
            identity,
            shared,
        }));
    }
    let (mut sources, clashes) = adapters::gather(identified, |_, _| None, |_, _| false);
    sources.sort_by_key(Source::source_id);
    assert!(!sources.is_empty(), "no session was recognized in {}", folder.display());
    let mut page = String::new();
    for clash in clashes {
        writeln!(page, "clash: {}: {}", below(folder, &clash.path), clash.reason).unwrap();
    }
    for source in sources {
        page.push_str(&session(folder, source, &shared_files));
    }
    page
}

fn identity_of(session: SharedSession) -> Identity {
    Identity {
        lineage: session.lineage,
        parent: session.parent,
        ..Identity::beside(session.native_id, session.role)
    }
}

/// What a reader makes of one session.
fn session(folder: &Path, source: Source, shared: &SharedFiles) -> String {
    let mut page = format!("# {}\n\n", source.source_id());
    let places: Vec<String> = source.files.iter().map(|file| below(folder, &file.path)).collect();
    let adapter = adapters::named(source.flavor).unwrap();
    let extracts = tempfile::tempdir().unwrap();
    let mut log = Log { native_id: source.native_id, files: source.files };
    for (number, file) in log.files.iter_mut().enumerate() {
        // Of a file that many sessions share, a session's own part is read.
        if let Some(id) = file.within.take() {
            let path = extracts.path().join(number.to_string());
            shared.extract(&file.path, &id, &mut fs::File::create(&path).unwrap()).unwrap();
            file.path = path;
        }
    }
    let mut story = Story::default();
    let head = adapters::children::read(adapter, &log, &mut story).unwrap();
    for (file, position) in log.files.iter().zip(&places) {
        writeln!(page, "- file: {position} ({:?}), kept as {}", file.role, file.name.display())
            .unwrap();
    }
    page.push_str(&known(&head));
    writeln!(
        page,
        "- prompts: {}, replies: {}, calls: {}, joined: {}",
        story.prompts,
        story.replies,
        story.calls.len(),
        story.joined
    )
    .unwrap();
    writeln!(page, "- records: {}, inherited: {}", head.records, head.inherited).unwrap();
    for (kind, count) in &head.ignored {
        writeln!(page, "- ignored: {count} {}", text::printable(kind)).unwrap();
    }
    for skipped in &head.skipped {
        let file = log.files.iter().position(|file| file.path == skipped.path);
        let position = file.map_or_else(|| below(folder, &skipped.path), |at| places[at].clone());
        writeln!(
            page,
            "- skipped: {position}:{}: {}",
            skipped.line,
            text::printable(&skipped.reason)
        )
        .unwrap();
    }
    format!("{page}\n{}\n", story.lines)
}

/// What is known of the session as a whole.
fn known(head: &Head) -> String {
    let mut page = String::new();
    let mut add =
        |name: &str, value: &str| writeln!(page, "- {name}: {}", text::printable(value)).unwrap();
    let facts = [
        ("title", &head.title),
        ("cwd", &head.cwd),
        ("branch", &head.branch),
        ("remote", &head.remote),
        ("commit", &head.head_commit),
        ("version", &head.version),
        ("parent", &head.parent),
    ];
    for (name, fact) in facts {
        add(name, fact.as_deref().unwrap_or("none").replace('\n', "⏎").as_str());
    }
    for url in &head.pull_requests {
        add("pull request", url);
    }
    for used in &head.usage {
        let cost = used.cost_usd.map(|cost| format!(", {cost} USD")).unwrap_or_default();
        let (read, written) = (used.cache_read, used.cache_write);
        let tokens = format!(
            "in {}, out {}, cache read {read}, cache creation {written}",
            used.input, used.output
        );
        add("model", &format!("{}: {tokens}{cost}", used.model));
    }
    if head.titled_by_person {
        add("titled by", "the person");
    }
    if head.ended {
        add("ended", "the log says so");
    }
    page
}

/// The events, one line each.
#[derive(Default)]
struct Story {
    redactor: Redactor,
    lines: String,
    prompts: usize,
    replies: usize,
    calls: HashSet<String>,
    joined: usize,
}

impl EventSink for Story {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        let own = event.agent.is_none() && !event.inherited;
        let (kind, said) = match &event.kind {
            EventKind::Prompt(said) => {
                self.prompts += usize::from(own);
                ("prompt", said.to_string())
            }
            EventKind::Reply(said) => {
                self.replies += usize::from(own);
                ("reply", said.to_string())
            }
            EventKind::Call(call) => {
                self.calls.insert(call.id.to_string());
                ("call", format!("{} {}: {}", call.id, call.tool, action(&call.action)))
            }
            EventKind::Result(answer) => {
                self.joined += usize::from(self.calls.contains(answer.id.as_ref()));
                let failed = if answer.failed { " failed" } else { "" };
                let code = answer.exit_code.map(|code| format!(" ({code})")).unwrap_or_default();
                let images = if answer.images > 0 {
                    format!(" {} images", answer.images)
                } else {
                    String::new()
                };
                ("result", format!("{}{failed}{code}{images}: {}", answer.id, answer.text))
            }
            EventKind::Rewind { kept } => ("rewind", format!("{kept} prompts stand")),
            EventKind::Intervention(said) => ("intervention", said.to_string()),
            EventKind::Thinking(said) => ("thinking", said.to_string()),
            EventKind::Compaction(said) => ("compaction", said.to_string()),
            EventKind::Lifecycle(said) => ("lifecycle", said.to_string()),
            EventKind::Completion => ("completion", String::new()),
        };
        let at = event.at.map_or("--------".into(), |at| clock::stamp(at)[11..19].to_string());
        let position = format!("{}:{}", event.position.file, event.position.line);
        let agent = event.agent.map(|agent| format!(" [{agent}]")).unwrap_or_default();
        let inherited = if event.inherited { " (inherited)" } else { "" };
        // As it would be written: nothing that looks like a secret belongs into this repository
        // either.
        let said = self.redactor.redact(&said).replace('\n', "⏎");
        let line = format!("{at} {position}{agent}{inherited} {kind} {}", text::printable(&said));
        writeln!(self.lines, "    {}", text::cut(line.trim_end(), 110)).unwrap();
        Ok(())
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Shell { command } => format!("run {command}"),
        Action::Edit { files, text } => {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            format!("edit {} {text}", paths.join(", "))
        }
        Action::Read { path } => format!("read {path}"),
        Action::Commit { hash, message } => format!("commit {hash} {message}"),
        Action::Search { query } => format!("search {query}"),
        Action::Delegate { task } => format!("delegate {task}"),
        Action::Plan { text } => format!("plan {text}"),
        Action::Ask { question } => format!("ask {question}"),
        Action::Other { input } => format!("other {input}"),
    }
}

fn below(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

#[test]
fn every_agents_logs_are_found_where_it_keeps_them() {
    // Some agents keep their logs wherever people work; these are found only where somebody names
    // them.
    let keeps_them = |adapter: &&&dyn Adapter| !adapter.roots(&Places::default()).is_empty();
    for adapter in adapters::ALL.iter().filter(keeps_them) {
        for case in cases(adapter.name()) {
            let desk = Desk::new().with_log(adapter.name(), &case);
            let found = desk
                .memtree(["sweep", "--dry-run", "--json", "--only", adapter.name()])
                .done()
                .json();
            assert!(found["discovered"].as_u64() > Some(0), "{} {case}: {found}", adapter.name());
        }
    }
}

#[test]
fn what_is_kept_of_a_log_is_read_as_the_log_was() {
    let keeps_them = |adapter: &&&dyn Adapter| !adapter.roots(&Places::default()).is_empty();
    for adapter in adapters::ALL.iter().filter(keeps_them) {
        for case in cases(adapter.name()) {
            let desk = Desk::new().with_log(adapter.name(), &case);
            desk.memtree(["sweep", "--only", adapter.name()]).any();
            let name = format!("{} {case}", adapter.name());
            let (_, again) = desk.memtree(["digest", "--all", "--dry-run"]).any();
            assert!(again.stdout.starts_with("would write 0 digests"), "{name}: {}", again.stdout);
            let (_, deep) = desk.memtree(["verify", "--deep"]).any();
            assert!(!deep.stdout.contains("other words"), "{name}: {}", deep.stdout);
        }
    }
}

#[test]
fn the_page_on_adapters_shows_the_source() {
    let page = fs::read_to_string(checkout().join("docs/adapters.md")).unwrap();
    let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let sources: Vec<String> = files::walk_files(&checkout().join("src/adapters"))
        .map(|found| flat(&fs::read_to_string(found.unwrap().path).unwrap()))
        .collect();
    let blocks: Vec<&str> = page
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("a block has an end").0)
        .collect();
    for block in &blocks {
        let is_there = sources.iter().any(|source| source.contains(flat(block).trim()));
        assert!(is_there, "docs/adapters.md shows what the source does not have:\n{block}");
    }
    // The trait is shown whole, and nothing is shown unchecked.
    let adapters = fs::read_to_string(checkout().join("src/adapters/mod.rs")).unwrap();
    let start = adapters.find("/// What we know of one agent.\npub trait Adapter").unwrap();
    let end = start + adapters[start..].find("\n}\n").unwrap() + 3;
    assert!(blocks.contains(&&adapters[start..end]), "the trait has changed");
    assert_eq!(page.matches("```rust").count(), blocks.len());
}
