//! Sweeping when logs change, until told to stop.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Desk, Running, assert_same, exchange};

const ONE: &str = "5e55ee01-0000-4000-8000-000000000001";
const TWO: &str = "5e55ee02-0000-4000-8000-000000000002";

/// A log that is quiet for a moment is captured at once.
const QUICK: &str = "[watch]\ndebounce_seconds = 0\n";

#[test]
fn a_watch_sweeps_what_changes() {
    let desk = desk();
    // Not even the agent's folder is there.
    let watch = desk.start(["watch", "--json"]);
    until("the memory is there", || desk.store().join("memtree.toml").is_file());
    desk.write_log(ONE, exchange(ONE, 1, "Which shell is this?", "It is dash."));
    until("a log that appears is captured", || digest_has(&desk, "dash"));
    let more = exchange(ONE, 2, "And on the other machine?", "There it is fish.");
    fs::File::options()
        .append(true)
        .open(desk.log_path(ONE))
        .unwrap()
        .write_all(more.as_bytes())
        .unwrap();
    until("a log that grows is captured again", || digest_has(&desk, "fish"));
    desk.write_log(TWO, exchange(TWO, 3, "Which editor is this?", "It is ed."));
    until("a second log is captured", || desk.sessions().len() == 2);

    desk.memtree(["watch"])
        .code(1)
        .stderr_has("another `memtree watch` runs for the memory `[STORE]`");

    let said = stop(watch);
    assert!(said.starts_with("made a memory in") && said.ends_with("stopped\n"), "{said}");
    assert!(said.contains("watching 0 places ("), "{said}");
    let plain = self::desk();
    plain.write_log(ONE, fs::read(desk.log_path(ONE)).unwrap());
    plain.write_log(TWO, fs::read(desk.log_path(TWO)).unwrap());
    plain.memtree(["sweep"]).success();
    let (plain, mut watched) = (plain.tree(), desk.tree());
    // What was there when it began is compiled by then or not.
    watched.retain(|path| !path.starts_with("knowledge"));
    assert_same(&plain, &watched, "after a plain sweep and after a watch");
}

#[test]
fn a_watch_survives_a_sweep_that_fails() {
    let desk = desk().with_claude_log(ONE, exchange(ONE, 1, "Which shell is this?", "It is dash."));
    let heard = desk.root().join("heard");
    let mut command = desk.command(&["watch".into(), "-q".into()]);
    command.stdout(Stdio::null()).stderr(fs::File::create(&heard).unwrap());
    let watch = Running::of(&mut command);
    until("the first sweep is done", || digest_has(&desk, "dash"));
    desk.configure("timezone = 3");
    desk.write_log(TWO, exchange(TWO, 3, "Which editor is this?", "It is ed."));
    until("it says what is wrong", || {
        fs::read_to_string(&heard).unwrap().contains("error: cannot use the setting `timezone = 3`")
    });
    desk.configure(QUICK);
    // Any change makes it try again; but while a log changes all the time, it is waited for.
    let mut written = None::<Instant>;
    until("the next sweep does what is left", || {
        if written.is_none_or(|written| written.elapsed() > Duration::from_secs(3)) {
            desk.write_log(TWO, exchange(TWO, 3, "Which editor is this?", "It is ed."));
            written = Some(Instant::now());
        }
        digest_has(&desk, "editor")
    });
    stop(watch);
    assert!(!fs::read_to_string(&heard).unwrap().contains("watching"), "quiet is quiet");
}

#[test]
fn a_rehearsal_says_what_would_be_watched() {
    let desk =
        Desk::new().with_claude_log(ONE, exchange(ONE, 1, "Which shell is this?", "It is dash."));
    desk.memtree(["watch", "--dry-run"])
        .success()
        .stdout_has("would watch `[HOME]/.claude/projects`\n")
        .stdout_has("would watch `[HOME]/.codex/sessions` once it is there\n")
        .stdout_has("would sweep 5 s after the last change, and every 12h\n");
    let notes = desk.home().join("notes");
    fs::create_dir_all(&notes).unwrap();
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "[[folders]]\npath = \"~/notes\"\n").unwrap();
    desk.memtree(["watch", "--dry-run"]).success().stdout_has("would watch `[HOME]/notes`\n");
    let plan = desk
        .memtree(["watch", "--dry-run", "--json", "--source", "codex=nowhere"])
        .success()
        .json();
    assert_eq!(plan["awaited"][0], desk.project().join("nowhere").to_str().unwrap());
    assert_eq!(
        [&plan["interval_seconds"], &plan["debounce_seconds"], &plan["finalize_seconds"]],
        [43_200, 5, 300]
    );
    assert!(!desk.store().exists());
    desk.memtree(["watch", "--only", "cloude"]).code(2).stderr_has("did you mean `claude`?");
}

#[test]
fn days_that_are_over_wait_until_a_session_has_ended() {
    let desk = desk();
    let yesterday = exchange(ONE, 1, "Which shell is this?", "It is dash.")
        .replace("2026-11-15T11:", "2026-11-14T11:");
    let heard = desk.root().join("heard");
    let mut command = desk.command(&["watch".into(), "--json".into()]);
    command.stdout(fs::File::create(&heard).unwrap()).stderr(Stdio::piped());
    let watch = Running::of(&mut command);
    until("the memory is there", || desk.store().join(".memtree/local/locks/flush").is_file());
    // The start has just finalized what there was, so this waits, though its raw log does not.
    desk.write_log(ONE, yesterday);
    until("it is captured", || {
        digest_has(&desk, "dash") && !fs::read_to_string(&heard).unwrap().is_empty()
    });
    assert!(desk.read("daily/raw/2026-11-14.md").contains("It is dash."));
    assert!(!desk.store().join("daily/summary/2026-11-14.md").exists());
    let said: serde_json::Value =
        serde_json::from_str(fs::read_to_string(&heard).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(said["finalize"]["skipped"], "completion_debounce", "{said}");
    assert_eq!(
        desk.memtree(["status", "--json"]).success().json()["pending"]["days"][0],
        "2026-11-14"
    );
    stop(watch);
    // Whoever comes next does it, at once.
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::write(&settings, "[watch]\ndebounce_seconds = 0\nfinalize_seconds = 0\n").unwrap();
    let watch = desk.start(["watch"]);
    until("the day is final", || desk.store().join("daily/summary/2026-11-14.md").exists());
    let said = stop(watch);
    assert!(said.contains("finalized 1 day"), "{said}");
}

#[test]
fn a_folder_is_kept_while_watching() {
    let desk = desk();
    let notes = desk.home().join("notes");
    fs::create_dir_all(&notes).unwrap();
    let long_ago = |path: &std::path::Path| {
        let at = desk.now() - chrono::Duration::hours(2);
        fs::File::open(path).unwrap().set_modified(at.into()).unwrap();
    };
    let put = |text: &str| {
        fs::write(notes.join("note.md"), text).unwrap();
        long_ago(&notes.join("note.md"));
        long_ago(&notes);
    };
    put("The wherry is of larch.");
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::write(&settings, "[watch]\ndebounce_seconds = 0\n[[folders]]\npath = \"~/notes\"\n")
        .unwrap();
    let watch = desk.start(["watch"]);
    until("the folder is kept", || digest_has(&desk, "larch"));
    put("The wherry is of elm.");
    until("what is new in it is kept", || digest_has(&desk, "elm"));
    let said = stop(watch);
    assert!(said.contains("kept 1 folder") && desk.sessions().len() == 2, "{said}");
}

/// A desk whose watch does not wait, and at which the clock stands still.
fn desk() -> Desk {
    let desk = Desk::new().with_stopped_clock();
    desk.configure(QUICK);
    desk
}

/// Whether a session's digest can be read and has a word.
fn digest_has(desk: &Desk, word: &str) -> bool {
    desk.sessions().iter().any(|session| {
        fs::read_to_string(desk.store().join(desk.digest_path(session)))
            .is_ok_and(|text| text.contains(word))
    })
}

/// Asks again and again, because nothing else tells that another process is done.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(180), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks a watch to stop, and returns what it said.
#[track_caller]
fn stop(watch: Running) -> String {
    kill_process(Pid::from_child(&watch), Signal::TERM).unwrap();
    let output = watch.wait_with_output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}
