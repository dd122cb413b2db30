//! The whole way of the data: once, twice, grown, rewritten, interrupted, and on two devices.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use memtree::internals::store::snapshots::parse_manifest_line;
use memtree::model::digest::State;
use serde_json::Value;

use memtree::model::ids::Device;

use crate::harness::{Desk, Tree, assert_same, exchange};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// A desk with one session of one episode.
fn desk_with_one_session() -> Desk {
    Desk::new().with_claude_log(
        ONE,
        exchange(ONE, 0, "Why does the day log lose lines?", "Two writers race for the header."),
    )
}

#[test]
fn a_sample_sweep_leads_to_something_found() {
    let desk = Desk::new();
    let swept = desk.memtree(["sweep", "--sample"]).success();
    let sessions = desk.sessions();
    assert!(sessions.len() >= 9, "{sessions:?}");
    let flavors: BTreeSet<String> =
        sessions.iter().map(|session| desk.digest(session).content.flavor).collect();
    assert_eq!(flavors.into_iter().collect::<Vec<_>>(), ["claude", "codex", "grok"]);
    let (_, next) = swept.stderr.split_once("next: `").expect("the output names the next command");
    let (command, _) = next.split_once('`').unwrap();
    let found = desk.type_in(command).success();
    assert!(sessions.iter().any(|session| found.stdout.contains(session)), "{}", found.told());
}

#[test]
fn a_second_sweep_changes_nothing() {
    let desk = Desk::new().with_logs("claude").with_sample("codex").with_sample("grok");
    let first = desk.memtree(["sweep", "--json"]).code(3);
    let found = first.json()["discovered"].as_u64().unwrap();
    assert!(found >= 20, "{found}");
    desk.git(["init", "--quiet"]);
    desk.git(["add", "--all"]);
    desk.git(["commit", "--quiet", "--message", "swept"]);
    let before = desk.tree();
    let second = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&second["captured"], &second["digested"]], [0, 0]);
    assert_eq!([&second["unchanged"], &second["discovered"]], [found, found]);
    assert_same(&before, &desk.tree(), "after a second sweep");
    assert_eq!(desk.git(["status", "--porcelain"]), "");
}

#[test]
fn every_manifest_passes_and_every_raw_file_is_its_source() {
    let desk = Desk::new().with_logs("claude").with_sample("codex").with_sample("grok");
    let before = Tree::of(&desk.home());
    let swept = desk.memtree(["sweep", "--json"]).code(3).json();
    assert_same(&before, &Tree::of(&desk.home()), "sources are read-only");
    let sources: BTreeSet<&str> = before.files().map(|(_, hash)| hash).collect();
    for session in desk.sessions() {
        desk.check_manifest(&session);
        let raw = Tree::of(&desk.store().join(format!("sessions/{session}/snapshot/raw")));
        assert!(raw.files().count() > 0, "{session} has no raw");
        let kept = raw.files().filter(|(path, _)| *path != Path::new(".gitignore"));
        for (path, hash) in kept {
            assert!(sources.contains(hash), "{session}: raw/{} is no source file", path.display());
        }
        // The digest proves the same, also when raw is gone.
        let manifest = desk.read(format!("sessions/{session}/snapshot/MANIFEST.sha256"));
        let snapshot = desk.digest(&session).snapshot;
        assert_eq!(
            snapshot.manifest_sha256,
            memtree::internals::base::files::sha256_hex(manifest.as_bytes())
        );
        let listed: BTreeSet<String> = snapshot
            .manifest
            .iter()
            .filter_map(|line| Some(parse_manifest_line(line)?.1))
            .collect();
        let kept = raw.files().filter(|(path, _)| *path != Path::new(".gitignore"));
        let there: BTreeSet<String> =
            kept.map(|(path, _)| format!("raw/{}", path.display())).collect();
        assert_eq!(listed, there, "{session}");
    }
    assert_eq!(swept["captured"], desk.sessions().len());
}

#[test]
fn raw_is_for_its_owner_only() {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let desk = desk_with_one_session();
        desk.memtree(["sweep"]).success();
        let snapshot = desk.store().join("sessions/SES1_desk_SP1C1/snapshot");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&snapshot), 0o700);
        assert_eq!(mode(&snapshot.join("raw")), 0o700);
        assert_eq!(mode(&snapshot.join(format!("raw/{ONE}.jsonl"))), 0o600);
    }
}

#[test]
fn a_dry_run_creates_nothing() {
    let desk = desk_with_one_session();
    let before = Tree::of(desk.root());
    for arguments in
        [&["sweep", "--dry-run"][..], &["sweep", "--dry-run", "--sample"], &["init", "--dry-run"]]
    {
        desk.memtree(arguments).success();
        assert_same(&before, &Tree::of(desk.root()), &format!("after {arguments:?}"));
    }
    let rehearsed = desk.memtree(["sweep", "--dry-run", "--json"]).success().json();
    assert_eq!([&rehearsed["discovered"], &rehearsed["captured"]], [1, 1]);
    // It tells what a sweep would do, also where there is a memory already.
    desk.memtree(["sweep"]).success();
    let before = Tree::of(desk.root());
    desk.memtree(["sweep", "--dry-run"]).success().stdout_has("0 would be captured, 1 unchanged");
    assert_same(&before, &Tree::of(desk.root()), "after a dry run over a memory");
}

#[test]
fn json_has_the_names_of_the_design() {
    let desk = desk_with_one_session().with_log("claude", "bad_lines");
    let swept = desk.memtree(["sweep", "--json"]).code(3).json();
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    // More may come; these stay.
    for name in [
        "captured", "digested", "discovered", "retention", "sessions", "skipped", "took_ms",
        "unchanged",
    ] {
        assert!(!swept[name].is_null(), "a sweep says no `{name}`");
    }
    assert_eq!(
        [&swept["cores"], &swept["spheres"]],
        [&serde_json::json!([]), &serde_json::json!([])]
    );
    assert_eq!(names(&swept["skipped"][0]), ["line", "path", "reason"]);
    assert_eq!(names(&swept["sessions"][0]), ["path", "session", "source_id", "status"]);
    assert_eq!(names(&swept["retention"]), ["data_loss", "evicted", "freed_bytes", "in_use_bytes"]);
    assert_eq!(names(&swept["retention"]["evicted"]), ["age", "budget", "overflow"]);
    for session in swept["sessions"].as_array().unwrap() {
        assert!(desk.store().join(session["path"].as_str().unwrap()).is_file(), "{session}");
    }
    let status = desk.memtree(["status", "--json"]).success().json();
    for name in [
        "store", "device", "sessions", "episodes", "days", "cores", "spheres", "patterns", "bytes",
        "pending", "at_risk",
    ] {
        assert!(!status[name].is_null(), "status has no `{name}`");
    }
    assert_eq!([&status["sessions"]["total"], &status["sessions"]["by_flavor"]["claude"]], [2, 2]);
    assert_eq!(status["device"], "desk");
    let failed = Desk::new().memtree(["status", "--json"]).code(1).json();
    assert_eq!(names(&failed["error"]), ["because", "hint", "what"]);
}

#[test]
fn a_session_that_grows_keeps_its_id() {
    let desk = desk_with_one_session();
    desk.memtree(["sweep"]).success();
    let session = "SES1_desk_SP1C1";
    assert_eq!(desk.sessions(), [session]);
    let day = "daily/raw/2026-11-15.md";
    let day_before = desk.read(day);
    let grown =
        exchange(ONE, 0, "Why does the day log lose lines?", "Two writers race for the header.")
            + &exchange(
                ONE,
                9,
                "Then take a lock before the header is written.",
                "Done: `flock` is taken first.",
            );
    desk.write_log(ONE, &grown);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [1, 0]);
    assert_eq!(swept["sessions"][0]["session"], session);
    assert_eq!(desk.sessions(), [session]);
    assert_eq!(desk.digest(session).content.turns, 2);
    for told in ["- **Episodes**: EP_001 - EP_002\n", "flock"] {
        assert!(
            desk.digest_text(session).contains(told),
            "no {told}:\n{}",
            desk.digest_text(session)
        );
    }
    assert!(
        desk.read(format!("sessions/{session}/snapshot/episodic/EP_002.md"))
            .contains("take a lock before")
    );
    assert_eq!(desk.read(format!("sessions/{session}/snapshot/raw/{ONE}.jsonl")), grown);
    desk.check_manifest(session);
    // The day got the new lines, behind the old ones, and nothing twice.
    let day_after = desk.read(day);
    let new = day_after.strip_prefix(&day_before).expect("what was there stays");
    let new: Vec<&str> = new.lines().collect();
    assert_eq!(new.len(), 2, "{new:?}");
    assert_eq!(
        new[0],
        format!("- [11:09:07] [user] ({session}) Then take a lock before the header is written.")
    );
    assert!(new[1].starts_with(&format!("- [11:09:14] [main_agent] ({session}) ")), "{new:?}");
}

#[test]
fn content_decides_whether_a_file_changed() {
    let desk = desk_with_one_session();
    desk.memtree(["sweep"]).success();
    let path = desk.log_path(ONE);
    let before = desk.tree();
    // Touched, and replaced by a copy of itself: nothing is new.
    set_time(&path, SystemTime::now() + Duration::from_secs(60));
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["unchanged"], 1);
    let copy = path.with_extension("copy");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["unchanged"], 1);
    assert_same(&before, &desk.tree(), "after a touch and a copy");
    // Other words of the same length, with the old date or an older one: new.
    let stamp = fs::metadata(&path).unwrap().modified().unwrap();
    for (words, date) in [
        ("Three writers fought over it....", stamp),
        ("Ten writers fought over it......", stamp - Duration::from_secs(86_400)),
    ] {
        desk.write_log(ONE, exchange(ONE, 0, "Why does the day log lose lines?", words));
        set_time(&path, date);
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(swept["captured"], 1, "{words}");
        assert_eq!(fs::read(&path).unwrap(), fs::read(raw_of(&desk, ONE)).unwrap());
    }
}

#[test]
fn a_log_that_is_cut_or_rewritten_takes_no_memory_with_it() {
    let first =
        exchange(ONE, 0, "Why does the day log lose lines?", "Two writers race for the header.");
    let second = exchange(ONE, 9, "Then take a lock before that.", "Done: `flock` is taken first.");
    let other = exchange(ONE, 20, "And what about Windows?", "LockFileEx does the same there.");
    for (after, told) in [(first.clone(), 2), (first.clone() + &other, 3), (other.clone(), 3)] {
        let desk = Desk::new().with_claude_log(ONE, first.clone() + &second);
        desk.memtree(["sweep"]).success();
        let earlier = fs::read(raw_of(&desk, ONE)).unwrap();
        desk.write_log(ONE, &after);
        assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["captured"], 1);
        let session = desk.session_of(&format!("claude:{ONE}"));
        desk.check_manifest(&session);
        let raw = Tree::of(&desk.store().join(format!("sessions/{session}/snapshot/raw")));
        let hash = memtree::internals::base::files::sha256_hex(&earlier);
        let kept: Vec<&Path> =
            raw.files().filter(|(_, of)| *of == hash).map(|(path, _)| path).collect();
        assert_eq!(kept, [Path::new(&format!("earlier-{}/{ONE}.jsonl", &hash[..8]))]);
        assert_eq!(fs::read_to_string(raw_of(&desk, ONE)).unwrap(), after);
        assert_eq!(desk.digest(&session).content.turns, told, "both are told, nothing twice");
        let before = desk.tree();
        assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["unchanged"], 1);
        assert_same(&before, &desk.tree(), "after a sweep of the rewritten log");
    }
}

#[test]
fn a_log_that_is_gone_is_still_remembered() {
    let desk = desk_with_one_session();
    desk.memtree(["sweep"]).success();
    let before = desk.tree();
    fs::remove_file(desk.log_path(ONE)).unwrap();
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["discovered"], &swept["captured"]], [0, 0]);
    assert_same(&before, &desk.tree(), "after the agent deleted its log");
}

#[test]
fn without_its_cache_the_memory_is_the_same() {
    let desk = Desk::new().with_logs("claude").with_sample("codex").with_sample("grok");
    let found = desk.memtree(["sweep", "--json"]).code(3).json()["discovered"].clone();
    let before = desk.tree();
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let again = desk.memtree(["sweep", "--json"]).success();
    assert_eq!(again.json()["unchanged"], found, "{}", again.told());
    assert_same(&before, &desk.tree(), "after the cache was deleted");
    // A damaged cache is no better than none, and no worse.
    for file in ["cache/cursors.json", "local/committing.json"] {
        desk.write(format!(".memtree/{file}"), "{\"version\":");
    }
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["unchanged"], found);
    assert_same(&before, &desk.tree(), "after the cache was damaged");
}

#[test]
fn without_its_cache_a_search_finds_the_same() {
    let desk = Desk::new();
    desk.memtree(["sweep", "--sample"]).success();
    let hits = |desk: &Desk| {
        desk.memtree(["search", "EWOULDBLOCK lock", "--json"]).success().json()["hits"].clone()
    };
    let before = hits(&desk);
    assert!(!before.as_array().unwrap().is_empty());
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    assert_eq!(hits(&desk), before);
}

#[test]
fn a_killed_sweep_ends_like_one_that_was_not() {
    let desk = || {
        Desk::new()
            .with_logs("claude")
            .with_sample("codex")
            .with_sample("grok")
            .with_stopped_clock()
    };
    let whole = desk();
    let began = Instant::now();
    whole.memtree(["sweep"]).code(3);
    let took = began.elapsed();
    // Moments from the beginning to the end of a sweep on this machine, whatever its speed.
    for part in [1, 4, 6, 7, 8, 9, 10, 11] {
        let killed = desk();
        kill_sweep(&killed, took * part / 12);
        killed.memtree(["sweep"]).done();
        assert_same(&whole.tree(), &killed.tree(), &format!("killed after {part}/12 of {took:?}"));
    }
    // Killed again and again, and when sessions have grown.
    let often = desk();
    for part in [2, 5, 7, 9, 10] {
        kill_sweep(&often, took * part / 12);
    }
    often.memtree(["sweep"]).done();
    assert_same(&whole.tree(), &often.tree(), "killed five times");
    for desk in [&whole, &often] {
        for id in ["5e550001-0000-4000-8000-000000000001", "5e55000c-0000-4000-8000-000000000001"] {
            let log = fs::read_to_string(desk.log_path(id)).unwrap();
            desk.write_log(id, log + &exchange(id, 30, "And one thing more?", "That was all."));
        }
    }
    whole.memtree(["sweep"]).success();
    for part in [2, 4, 6] {
        kill_sweep(&often, took * part / 12);
    }
    often.memtree(["sweep"]).done();
    assert_same(&whole.tree(), &often.tree(), "killed while sessions grew");
}

#[test]
fn a_snapshot_without_its_digest_is_not_lost_when_the_log_is_gone() {
    let desk = desk_with_one_session().with_stopped_clock();
    desk.memtree(["sweep"]).success();
    let whole = desk.tree();
    let session = desk.sessions().remove(0);
    let digest = desk.digest(&session);
    // As a kill between the two renames leaves it, with the log deleted before the next sweep.
    let staged = desk.store().join(".memtree/local/staging/0");
    fs::create_dir_all(&staged).unwrap();
    fs::rename(desk.store().join(desk.digest_path(&session)), staged.join("digest.md")).unwrap();
    fs::write(staged.join("day.jsonl"), "").unwrap();
    let note = serde_json::json!([{
        "staged": staged, "session": session, "manifest_sha256": digest.snapshot.manifest_sha256, "has_days": true,
    }]);
    fs::write(desk.store().join(".memtree/local/committing.json"), note.to_string()).unwrap();
    fs::remove_file(desk.log_path(ONE)).unwrap();
    desk.memtree(["sweep"]).success();
    assert_same(&whole, &desk.tree(), "after the sweep was finished");
}

#[test]
fn two_sweeps_at_once_do_the_work_of_one() {
    let desk = || Desk::new().with_logs("claude").with_sample("grok").with_stopped_clock();
    let alone = desk();
    alone.memtree(["sweep"]).code(3);
    let both = desk();
    let children: Vec<_> = (0..3).map(|_| both.start(["sweep"])).collect();
    for child in children {
        let output = child.wait_with_output();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
        assert!(!said.contains("error:"), "{said}");
    }
    assert_same(&alone.tree(), &both.tree(), "after three sweeps at once");
}

#[test]
fn a_session_of_another_device_is_not_captured_again() {
    let desk = desk_with_one_session().on_device("laptop");
    desk.memtree(["sweep"]).success();
    let desk = desk
        .on_device("desk")
        .with_claude_log(TWO, exchange(TWO, 1, "Which shell is this?", "It is dash."));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["unchanged"]], [1, 1]);
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C1", "SES1_laptop_SP1C1"]);
    // When it grows, whoever has the log goes on with it, under the same id.
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    desk.write_log(ONE, log + &exchange(ONE, 2, "And here?", "Here too."));
    assert_eq!(
        desk.memtree(["sweep", "--json"]).success().json()["sessions"][0]["session"],
        "SES1_laptop_SP1C1"
    );
    let digest = desk.digest("SES1_laptop_SP1C1");
    assert_eq!((digest.content.turns, digest.adopted_by), (2, Some(Device::new("desk"))));
}

#[test]
fn a_session_of_another_device_is_not_closed_here() {
    let open = exchange(ONE, 55, "Is anybody there?", "Yes, what shall we do?");
    let desk = Desk::new().with_claude_log(ONE, open).on_device("laptop");
    desk.memtree(["sweep"]).success();
    let before = desk.tree();
    // Another folder on another machine, which the tree was synced to.
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let desk = desk.on_device("desk");
    desk.later(60);
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["digested"], 0);
    assert_same(&before, &desk.tree(), "after a sweep on another device");
}

#[test]
fn an_id_is_never_issued_twice() {
    let desk = desk_with_one_session();
    desk.memtree(["init"]).success();
    desk.write(
        "forgotten.md",
        "- SES7_desk_SP1C1 9f86d081884c\n- SES8_laptop_SP9C9 and SES3_desk_SP1C1\n",
    );
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions(), ["SES8_desk_SP1C1"]);
    let desk = desk.with_claude_log(TWO, exchange(TWO, 1, "Which shell is this?", "It is dash."));
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C2", "SES8_desk_SP1C1"]);
}

#[test]
fn ids_follow_the_order_in_which_sessions_ended() {
    let late = exchange(ONE, 50, "Which came last?", "This one did.");
    let early = exchange(TWO, 10, "Which came first?", "This one did.");
    let desk = Desk::new().with_claude_log(ONE, late).with_claude_log(TWO, early);
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.session_of(&format!("claude:{TWO}")), "SES1_desk_SP1C1");
    assert_eq!(desk.session_of(&format!("claude:{ONE}")), "SES2_desk_SP1C1");
}

#[test]
fn a_session_closes_when_nothing_happens() {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 55, "Is anybody there?", "Yes, what shall we do?"));
    desk.memtree(["sweep"]).success();
    let session = "SES1_desk_SP1C1";
    assert_eq!(desk.digest(session).state, State::Open);
    assert_eq!(desk.memtree(["status", "--json"]).success().json()["sessions"]["open"], 1);
    let open = desk.digest_text(session);
    desk.later(20);
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["digested"], 0);
    assert_eq!(desk.digest_text(session), open);
    desk.later(11);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["digested"], &swept["unchanged"]], [0, 1, 1]);
    assert_eq!(desk.digest_text(session), open.replace("state: open", "state: closed"));
    let before = desk.tree();
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["digested"], 0);
    assert_same(&before, &desk.tree(), "after it was closed");
    // It opens again when it goes on, whatever was forgotten in between.
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    desk.write_log(
        ONE,
        log + &exchange(ONE, 20, "Let us go on.", "Gladly.").replace("T11:", "T12:"),
    );
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.digest(session).state, State::Open);
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.later(90);
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.digest(session).state, State::Closed);
}

#[test]
fn without_its_cache_an_open_session_stays_open_while_it_is() {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 55, "Is anybody there?", "Yes, what shall we do?"));
    desk.memtree(["sweep"]).success();
    let before = desk.tree();
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after the cache of an open session was deleted");
    desk.later(31);
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.digest("SES1_desk_SP1C1").state, State::Closed);
}

#[test]
fn a_persons_edits_win() {
    // Each edit, and what has to be on the page after the session has grown.
    type Edit = fn(&str) -> String;
    let edits: &[(&str, Edit, &str)] = &[
        (
            "a section",
            |page| page.replace("- **Core Intent**: ", "- **Core Intent**: my own words: "),
            "my own words: ",
        ),
        (
            "notes",
            |page| format!("{page}Ask Ann about the lock.\n\n## More of mine\nkept\n"),
            "## Notes\nAsk Ann about the lock.\n\n## More of mine\nkept\n",
        ),
        (
            "a key of theirs",
            |page| page.replacen("flavor: ", "mood: [good, tired]\nflavor: ", 1),
            "\nmood: [good, tired]\nflavor: ",
        ),
        (
            "a title",
            |page| replace_line(page, "title:", "title: The race for the header"),
            "\ntitle: The race for the header\n",
        ),
        (
            "tags",
            |page| page.replacen("state: ", "tags: [locking]\nstate: ", 1),
            "\ntags: [locking]\nstate: ",
        ),
        ("line ends", |page| page.replace('\n', "\r\n"), "\r\n## Notes\r\n"),
        ("a byte order mark", |page| format!("\u{feff}{page}"), "\u{feff}---\n"),
        ("a section taken out", |page| without_section(page, "## 🔄"), "## Notes"),
        (
            "a section moved in",
            |page| page.replace("## ⚡", "## Before the triggers\nmine\n\n## ⚡"),
            "## Before the triggers\nmine\n\n## ⚡",
        ),
    ];
    let session = "SES1_desk_SP1C1";
    let grown =
        exchange(ONE, 0, "Why does the day log lose lines?", "Two writers race for the header.")
            + &exchange(
                ONE,
                9,
                "Then take a lock before the header is written.",
                "Done: `flock` is taken first.",
            );
    for (what, edit, kept) in edits {
        let desk = desk_with_one_session();
        desk.memtree(["sweep"]).success();
        let page = edit(&desk.digest_text(session));
        assert_ne!(page, desk.digest_text(session), "{what}: the edit does something");
        desk.write(desk.digest_path(session), &page);
        // An edit alone is no reason to write.
        assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["digested"], 0);
        assert_eq!(desk.digest_text(session), page, "{what}");
        desk.write_log(ONE, &grown);
        desk.memtree(["sweep"]).success();
        let after = desk.digest_text(session);
        assert!(after.contains(kept), "{what} is lost:\n{after}");
        assert!(
            after.contains("- **Episodes**: EP_001 - EP_002"),
            "{what}: the new episode is missing:\n{after}"
        );
        assert!(after.contains("turns: 2"), "{what}: the front matter is not up to date:\n{after}");
        for heading in ["📦 Manifest", "🧠 Semantic", "⚡ Knowledge", "## Notes"] {
            assert_eq!(after.matches(heading).count(), 1, "{what}: {heading}\n{after}");
        }
        let removed = *what == "a section taken out";
        assert_eq!(after.matches("🔄 8-8-8").count(), usize::from(!removed), "{what}\n{after}");
        if *what == "line ends" {
            assert_eq!(
                after.matches('\n').count(),
                after.matches("\r\n").count(),
                "line ends are mixed:\n{after:?}"
            );
        }
        // And again, when it grows once more.
        let log = grown.clone()
            + &exchange(ONE, 20, "And on Windows?", "LockFileEx does the same there.");
        desk.write_log(ONE, log);
        desk.memtree(["sweep"]).success();
        let after = desk.digest_text(session);
        assert!(
            after.contains(kept) && after.contains("EP_001 - EP_003"),
            "{what}, the second time:\n{after}"
        );
    }
}

#[test]
fn a_digest_that_was_deleted_comes_back_under_its_id() {
    let desk = desk_with_one_session().with_stopped_clock();
    desk.memtree(["sweep"]).success();
    let before = desk.tree();
    fs::remove_file(desk.store().join(desk.digest_path("SES1_desk_SP1C1"))).unwrap();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after a digest was deleted");
}

#[test]
fn settings_and_flags_say_where_to_look() {
    let desk = desk_with_one_session().with_sample("codex");
    let found = |arguments: &[&str]| {
        let mut all = vec!["sweep", "--dry-run", "--json"];
        all.extend(arguments);
        desk.memtree(all).success().json()["discovered"].as_u64().unwrap()
    };
    let all = found(&[]);
    assert!(all >= 2);
    assert_eq!(found(&["--only", "claude"]), 1);
    assert_eq!(found(&["--except", "claude"]), all - 1);
    let claude = format!("claude={}", desk.home().join(".claude").display());
    assert_eq!(found(&["--source", &claude]), 1);
    desk.memtree(["sweep", "--only", "cluade"]).code(2).stderr_has("did you mean `claude`?");
    desk.memtree(["sweep", "--source", "claude=/nowhere/at/all"])
        .code(1)
        .stderr_has("cannot find the logs");
    desk.memtree(["sweep", "--source", "nowhere"]).code(2).stderr_has("--source claude=PATH");
    desk.settings("format = 1\n[sources.claude]\nenabled = false\n");
    assert_eq!(found(&[]), all - 1);
    let nothing = Desk::new();
    nothing
        .memtree(["sweep"])
        .success()
        .stdout_has("0 sessions discovered")
        .stderr_has("memtree sweep --sample");
}

/// Starts a sweep and kills it.
fn kill_sweep(desk: &Desk, after: Duration) {
    let mut child = desk.start(["sweep"]);
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn raw_of(desk: &Desk, id: &str) -> PathBuf {
    let session = desk.session_of(&format!("claude:{id}"));
    desk.store().join(format!("sessions/{session}/snapshot/raw/{id}.jsonl"))
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn replace_line(page: &str, start: &str, line: &str) -> String {
    let line_of = page.lines().find(|line| line.starts_with(start)).unwrap();
    page.replacen(line_of, line, 1)
}

fn without_section(page: &str, heading: &str) -> String {
    let (before, rest) = page.split_once(heading).unwrap();
    let (_, after) = rest.split_once("\n## ").unwrap();
    format!("{before}## {after}")
}
