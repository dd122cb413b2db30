//! What a pulled file says is a claim: it takes effect when it was accepted on this device, and not
//! before.

use std::fs;

use memtree::internals::base::files::sha256_hex;
use memtree::model::ids::Device;
use serde_json::json;

use crate::harness::{Desk, assert_same, exchange};

const ONE: &str = "eeeeeeee-0000-4000-8000-000000000001";
const TWO: &str = "eeeeeeee-0000-4000-8000-000000000002";

/// A digest that another device would write, with a prompt of its own.
fn foreign_digest(desk: &Desk, id: &str) {
    let own = desk.read("sessions/SES1_desk_SP1C1/SES1_desk_SP1C1_DIGEST.md");
    let text =
        own.replace("SES1_desk_SP1C1", id).replace("source_id: \"claude:", "source_id: \"claude:f");
    fs::create_dir_all(desk.store().join(format!("sessions/{id}"))).unwrap();
    desk.write(format!("sessions/{id}/{id}_DIGEST.md"), text);
}

#[test]
fn a_new_device_is_named_once_with_the_command_that_trusts_it() {
    let desk = Desk::new().with_log("claude", "one_question");
    let quiet = desk.memtree(["sweep"]).success();
    assert!(!quiet.stderr.contains("config trust"), "{}", quiet.stderr);
    foreign_digest(&desk, "SES1_lap-7f3a_SP1C1");
    let told = "memtree config trust lap-7f3a";
    desk.memtree(["sweep"]).success().stderr_has(told);
    let again = desk.memtree(["sweep"]).success();
    assert!(!again.stderr.contains(told), "{}", again.stderr);
    desk.memtree(["doctor"]).success().stdout_has(told);
    // Only the person's own file may say so, and what else it says stays.
    let own = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "# mine\n[open]\neditor = \"vim\" # always\n").unwrap();
    desk.memtree(["config", "trust", "lap-7f3a"]).success().stdout_has("is trusted");
    let text = fs::read_to_string(&own).unwrap();
    assert!(text.starts_with("# mine\n[open]\neditor = \"vim\" # always\n"), "{text}");
    assert!(!desk.memtree(["doctor"]).success().stdout.contains(told));
    desk.memtree(["config", "distrust", "lap-7f3a"]).success();
    desk.memtree(["doctor"]).success().stdout_has(told);
    desk.write("memtree.toml", "format = 1\n[devices]\ntrust = [\"lap-7f3a\"]\n");
    desk.memtree(["doctor"]).success().stdout_has(told);
    desk.memtree(["config", "trust", "no/name"]).code(2);
}

#[test]
fn another_device_of_the_same_name_is_noticed() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.memtree(["sweep"]).success();
    foreign_digest(&desk, "SES7_desk_SP1C1");
    let noticed = desk.memtree(["sweep", "--json"]).success();
    assert_eq!(noticed.json()["namesakes"], json!(["SES7_desk_SP1C1"]));
    desk.memtree(["sweep"]).success().stderr_has("another device has this one's name, `desk`");
    desk.memtree(["doctor"]).code(1).stdout_has("another device is called `desk`, too");
}

/// A memory with a captured session, a log that is new, and another one that no agent keeps there.
fn desk_with_settings(settings: &str) -> Desk {
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 1, "Which rope is this?", "Hemp."));
    desk.memtree(["sweep"]).success();
    desk.later(60 * 24 * 40);
    desk.memtree(["sweep"]).success();
    let private = desk.root().join("private");
    fs::create_dir_all(&private).unwrap();
    fs::write(private.join("x.jsonl"), exchange(ONE, 9, "My own diary", "Noted.")).unwrap();
    desk.write_log(TWO, exchange(TWO, 3, "Which knot is this?", "A bowline."));
    desk.write("memtree.toml", settings.replace("PRIVATE", private.to_str().unwrap()));
    desk
}

/// What a pull may bring: each on its own chose what was read or dropped.
const HOSTILE: &[(&str, &str)] = &[
    ("sources.claude.enabled", "[sources.claude]\nenabled = false\n"),
    ("sources.claude.root", "[sources.claude]\nroot = \"PRIVATE\"\n"),
    ("sources.aider.root", "[sources.aider]\nroot = \"PRIVATE\"\n"),
    ("sources.claude.glob", "[sources.claude]\nglob = \"nothing\"\n"),
    ("retention.soft_cap", "[retention]\nsoft_cap = \"1B\"\nhard_cap = \"1B\"\n"),
    ("retention.max_age_days", "[retention]\nmax_age_days = 1\n"),
    ("redact.rules", "[redact]\nrules = [{ name = \"x\", pattern = \"(?s).+\" }]\n"),
    ("redact.rules", "[redact]\nrules = [{ name = \"x\", pattern = \"(a{1,1000}){1,1000}\" }]\n"),
    ("timezone", "timezone = \"Pacific/Auckland\"\n"),
    ("timezone", "timezone = 3\n"),
    ("sessions.open_minutes", "[sessions]\nopen_minutes = 4000000\n"),
    ("sessions.jsonl_log", "[sessions]\njsonl_log = true\n"),
    ("snapshot.sensory_bytes", "[snapshot]\nsensory_bytes = 0\n"),
    ("context.budget", "[context]\nbudget = 0\n"),
    ("max_log_chars", "max_log_chars = 1\n"),
    ("models.low", "[models]\nlow = \"theirs\"\n"),
    ("watch.interval", "[watch]\ninterval = \"9999d\"\n"),
    ("format", "format = 99\n"),
];

#[test]
fn pulled_settings_change_nothing_until_they_are_accepted() {
    let texts = |desk: &Desk| {
        let mut texts = desk.texts();
        texts.remove("memtree.toml");
        texts
    };
    let plain = desk_with_settings("format = 1\n");
    let expected = plain.memtree(["sweep", "--json"]).success().json();
    let expected_texts = texts(&plain);
    assert_eq!(expected["captured"], 1);
    assert_eq!(expected["settings_waiting"], json!([]));
    for (key, settings) in HOSTILE {
        let desk = desk_with_settings(settings);
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        for field in ["discovered", "captured", "excluded", "skipped"] {
            assert_eq!(swept[field], expected[field], "{settings}: {field}");
        }
        assert_eq!(texts(&desk), expected_texts, "{settings}");
        let waiting = swept["settings_waiting"].as_array().unwrap();
        let named = waiting.iter().find(|one| one["key"] == **key);
        let named = named.unwrap_or_else(|| panic!("{settings}: {waiting:?}"));
        let command = named["accept"].as_str().unwrap();
        assert_eq!(command, format!("memtree config accept {key}"));
        // The same by each that tells, and by a sweep that has nothing to do.
        desk.memtree(["sweep"]).success().stderr_has(command);
        let again = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(again["settings_waiting"], swept["settings_waiting"], "{settings}");
        desk.memtree(["config"]).success().stderr_has(command);
        let doctor = desk.memtree(["doctor", "--json"]).success().json();
        let findings = doctor["findings"].to_string();
        assert!(findings.contains(command), "{settings}: {findings}");
    }
}

#[test]
fn a_file_that_cannot_be_read_leaves_what_was_accepted_in_force() {
    for broken in ["<<<<<<< HEAD\n", "a = [", &format!("x = {}", "[".repeat(50_000))] {
        let desk = desk_with_settings(broken);
        desk.memtree(["sweep"]).success().stderr_has("what was accepted here stays in force");
        assert_eq!(desk.sessions().len(), 2);
        desk.memtree(["search", "bowline"]).success();
    }
}

#[test]
fn a_file_of_other_bytes_than_text_stops_no_command() {
    let desk = Desk::new().with_log("claude", "one_question");
    desk.memtree(["sweep"]).success();
    desk.write("memtree.toml", b"# \xff\n");
    let kept = "what was accepted here stays in force";
    desk.memtree(["search", "rope"]).any().1.stderr_has(kept);
    desk.memtree(["sweep"]).done();
}

#[test]
fn settings_are_accepted_one_by_one_or_all_at_once() {
    let desk = desk_with_settings(
        "timezone = \"Asia/Tokyo\"\n[retention]\nsoft_cap = \"1GiB\"\n[domains]\n\"a.b\" = \"c\"\n",
    );
    let listed = desk.memtree(["config", "accept"]).success();
    assert_eq!(listed.stdout.lines().count(), 6, "{}", listed.stdout);
    desk.memtree(["config", "accept", "timezon"]).code(2).stderr_has("does not wait");
    desk.memtree(["config", "accept", "retention"])
        .success()
        .stdout_has("retention.soft_cap: \"1GiB\" in memtree.toml, \"4GiB\" in force");
    let effective = || desk.memtree(["config", "--effective"]).success().json();
    assert_eq!(
        [&effective()["timezone"], &effective()["retention"]["soft_cap"]],
        [&json!("UTC"), &json!(1 << 30)]
    );
    desk.memtree(["config", "reject", "timezone"]).success().stdout_has("rejected timezone");
    let waiting = || desk.memtree(["sweep", "--json"]).success().json()["settings_waiting"].clone();
    assert_eq!(waiting().as_array().unwrap().len(), 1);
    desk.memtree(["config", "accept", "--all"]).success().stdout_has("domains.\"a.b\"");
    assert_eq!((waiting(), &effective()["domains"]), (json!([]), &json!({ "a.b": "c" })));
    // A line that is taken away is a claim, too; one that the person sets themself is not.
    desk.write("memtree.toml", "timezone = \"Asia/Seoul\"\n");
    assert_eq!(waiting().as_array().unwrap().len(), 3);
    assert_eq!(effective()["retention"]["soft_cap"], 1 << 30);
    desk.configure("timezone = \"Europe/Paris\"\n");
    assert_eq!(
        (waiting().as_array().unwrap().len(), &effective()["timezone"]),
        (2, &json!("Europe/Paris"))
    );
}

#[test]
fn what_stood_there_before_this_version_counts_and_in_a_fresh_clone_nothing_does() {
    let settings = "format = 1\n[exclude]\nprojects = [\"demo\"]\n";
    // As an earlier version left it: it noted nothing of this.
    let old = desk_with_settings(settings);
    for state in ["device.json", "devices.json", "settings.json"] {
        fs::remove_file(old.store().join(".memtree/local").join(state)).unwrap();
    }
    let swept = old.memtree(["sweep", "--json"]).success().json();
    assert_eq!((&swept["excluded"], &swept["settings_waiting"]), (&json!(1), &json!([])));
    // Pulled later, another one waits.
    old.write("memtree.toml", "format = 1\n");
    let swept = old.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["settings_waiting"][0]["key"], "exclude.projects");
    assert_eq!(swept["excluded"], 1);
    // A clone brings no decisions along, whatever git tracks.
    let fresh = Desk::new().with_claude_log(TWO, exchange(TWO, 3, "Which knot?", "A bowline."));
    fresh.write("memtree.toml", "format = 1\n[sources.claude]\nenabled = false\n");
    let local = old.store().join(".memtree/local");
    for state in ["device.json", "settings.json"] {
        let text = fs::read_to_string(local.join(state)).unwrap();
        let text =
            text.replace("\"machine\":\"", "\"machine\":\"0").replace("\"inode\":", "\"inode\":1");
        fresh
            .write(format!(".memtree/local/{state}"), text.replace("exclude.projects", "timezone"));
    }
    fresh.write(".memtree/cache/cursors.json", "{}");
    let swept = fresh.memtree(["sweep", "--json"]).success().json();
    assert_eq!((&swept["captured"], &swept["copied_from"]), (&json!(1), &json!("desk")));
    assert_eq!(swept["settings_waiting"][0]["key"], "sources.claude.enabled");
}

#[test]
fn what_an_unaccepted_exclude_names_is_held_back_until_the_person_decides() {
    let exclude = "format = 1\n[exclude]\nfolders = [\"/home/dev\"]\n";
    let held = |desk: &Desk| {
        let files = walkdir::WalkDir::new(desk.store().join(".memtree/local/held")).into_iter();
        files.flatten().filter(|entry| entry.path().ends_with(format!("{TWO}.jsonl"))).count()
    };
    for (decide, sessions) in [("accept", 1), ("reject", 2), ("gone", 2)] {
        let desk = desk_with_settings(exclude);
        for _ in 0..2 {
            let swept = desk.memtree(["sweep", "--json"]).success().json();
            assert_eq!([&swept["held_back"], &swept["captured"]], [1, 0], "{swept}");
        }
        fs::remove_file(desk.store().join(".memtree/cache/sweep-fingerprint.json")).unwrap();
        desk.memtree(["sweep"]).success().stdout_has("1 held back");
        assert_eq!((held(&desk), desk.sessions().len()), (1, 1), "{decide}");
        assert!(!desk.texts().values().any(|text| text.contains("Which knot")));
        if decide == "gone" {
            // The agent deleted its log meanwhile; the copy is what there is.
            fs::remove_file(desk.log_path(TWO)).unwrap();
            desk.write("memtree.toml", "format = 1\n");
        } else {
            desk.memtree(["config", decide, "exclude.folders"]).success();
        }
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(swept["held_back"], 0, "{decide}: {swept}");
        assert_eq!((held(&desk), desk.sessions().len()), (0, sessions), "{decide}: {swept}");
    }
}

/// A line of forgotten.md as whoever may read the memory can write it.
fn forged(session: &str, source_id: &str) -> String {
    let hash = sha256_hex(format!("memtree/forgotten/{source_id}").as_bytes());
    format!("- {session} source {hash} on 2026-11-16\n")
}

fn two_sessions() -> Desk {
    let desk = Desk::new()
        .with_claude_log(ONE, exchange(ONE, 1, "Which rope is this?", "Hemp."))
        .with_claude_log(TWO, exchange(TWO, 3, "Which knot is this?", "A bowline."));
    desk.memtree(["sweep"]).success();
    desk.later(60);
    desk.memtree(["sweep"]).success();
    desk
}

#[test]
fn a_pulled_tombstone_removes_nothing_by_an_id_alone() {
    let desk = two_sessions();
    let before = desk.tree();
    let line = forged("SES1_desk_SP1C1", "claude:something-else");
    desk.write("forgotten.md", format!("# Forgotten\n\n{line}- SES2_desk_SP1C1 on 2026-11-16\n"));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["quarantined"], json!([]));
    desk.memtree(["verify"]).success();
    let list = desk.store().join("forgotten.md");
    fs::remove_file(&list).unwrap();
    assert_same(&before, &desk.tree(), "after forged tombstones");
}

#[test]
fn what_another_device_forgot_lies_in_quarantine_and_comes_back() {
    let desk = two_sessions();
    let page = desk.digest_path("SES1_desk_SP1C1");
    desk.write(&page, desk.read(&page) + "\nMy own note.\n");
    desk.memtree(["sweep"]).success();
    let before = desk.texts();
    fs::remove_file(desk.log_path(ONE)).unwrap();
    desk.write("forgotten.md", forged("SES1_desk_SP1C1", &format!("claude:{ONE}")));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["quarantined"][0]["session"], "SES1_desk_SP1C1", "{swept}");
    assert_eq!(swept["quarantined"].as_array().unwrap().len(), 1);
    assert_eq!(desk.sessions(), ["SES2_desk_SP1C1"]);
    assert!(!desk.read("daily/raw/2026-11-15.md").contains("Which rope"));
    // Said once, known to the doctor, and nothing is amiss meanwhile.
    assert_eq!(desk.memtree(["sweep", "--json"]).success().json()["quarantined"], json!([]));
    desk.memtree(["doctor"]).success().stdout_has("memtree forget --undo SES1_desk_SP1C1");
    desk.memtree(["verify"]).success();
    desk.memtree(["forget", "--undo", "SES9_desk_SP1C1"]).code(2).stderr_has("SES1_desk_SP1C1");
    desk.memtree(["forget", "--undo", "SES1_desk_SP1C1"]).success().stdout_has("is back");
    let mut after = desk.texts();
    after.remove("forgotten.md");
    assert_eq!(after, before);
    desk.memtree(["verify", "--deep"]).success();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions().len(), 2);
    desk.memtree(["search", "rope"]).success().stdout_has("SES1_desk_SP1C1");
}

#[test]
fn a_quarantine_ends_after_thirty_days_or_when_the_person_says_so() {
    for purge in [true, false] {
        let desk = two_sessions();
        desk.write("forgotten.md", forged("SES1_desk_SP1C1", &format!("claude:{ONE}")));
        desk.memtree(["sweep"]).success().stderr_has("is in quarantine until");
        let place = desk.store().join(".memtree/local/quarantine/SES1_desk_SP1C1");
        assert!(place.join("snapshot/raw").is_dir());
        if purge {
            desk.memtree(["forget", "--purge", "--yes"]).success().stdout_has("deleted 1 session");
        } else {
            desk.later(31 * 24 * 60);
            desk.memtree(["sweep"]).success().stderr_has("SES1_desk_SP1C1 was in quarantine");
        }
        assert!(!place.exists());
        // Its log stays out from then on, as what was forgotten here does.
        desk.memtree(["sweep"]).success();
        assert_eq!(desk.sessions(), ["SES2_desk_SP1C1"]);
        desk.memtree(["forget", "--undo", "SES1_desk_SP1C1"]).code(2);
    }
}

#[test]
fn a_trusted_device_forgets_here_too_and_so_does_this_one() {
    let desk = two_sessions();
    desk.memtree(["config", "trust", "lap-7f3a"]).success();
    let line = forged("SES1_desk_SP1C1", &format!("claude:{ONE}"));
    desk.write("forgotten.md", line.replace("16\n", "16 by lap-7f3a\n"));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!((&swept["quarantined"], desk.sessions().len()), (&json!([]), 1));
    assert!(!desk.store().join(".memtree/local/quarantine").exists());
    desk.memtree(["forget", "SES2_desk_SP1C1", "--yes"]).success();
    assert_eq!(desk.sessions(), Vec::<String>::new());
    assert!(desk.read("forgotten.md").contains(" by desk\n"));
}

#[test]
fn a_session_goes_on_after_its_device_was_renamed() {
    let mut log = exchange(ONE, 1, "Which rope is this?", "Hemp.");
    let desk = Desk::new().with_claude_log(ONE, &log);
    desk.memtree(["sweep"]).success();
    let grow = |desk: &Desk, log: &mut String, minute: u32, words: &str| {
        log.push_str(&exchange(ONE, minute, words, "Noted."));
        desk.write_log(ONE, &*log);
        desk.memtree(["sweep", "--json"]).success().json()
    };
    let desk = desk.on_device("laptop-2");
    let swept = grow(&desk, &mut log, 2, "And the second one?");
    assert_eq!([&swept["captured"], &swept["left_to_others"]], [1, 0]);
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C1"]);
    let digest = desk.digest("SES1_desk_SP1C1");
    assert_eq!((digest.adopted_by, digest.content.turns), (Some(Device::new("laptop-2")), 2));
    // Who adopted it last writes it for a day; a third one leaves it, and says so each time.
    let desk = desk.on_device("third");
    let swept = grow(&desk, &mut log, 3, "And the third one?");
    assert_eq!([&swept["captured"], &swept["left_to_others"]], [0, 1]);
    desk.memtree(["sweep"]).success().stdout_has("1 left to other devices");
    assert_eq!(desk.digest("SES1_desk_SP1C1").content.turns, 2);
    desk.later(24 * 60);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["left_to_others"]], [1, 0]);
    let digest = desk.digest("SES1_desk_SP1C1");
    assert_eq!((digest.adopted_by, digest.content.turns), (Some(Device::new("third")), 3));
    desk.memtree(["verify", "--deep"]).success();
}

#[test]
fn a_session_of_another_device_is_counted_and_adopted_only_when_there_is_more() {
    let log = exchange(ONE, 1, "Which rope is this?", "Hemp.");
    let there = Desk::new().on_device("lap").with_claude_log(ONE, &log);
    there.memtree(["sweep"]).success();
    let here = Desk::new().with_claude_log(ONE, &log);
    here.memtree(["init"]).success();
    let page = there.digest_path("SES1_lap_SP1C1");
    here.write(&page, there.read(&page));
    for (day, text) in there.texts().iter().filter(|(name, _)| name.starts_with("daily/")) {
        here.write(day, text);
    }
    for _ in 0..2 {
        let swept = here.memtree(["sweep", "--json"]).success().json();
        assert_eq!([&swept["captured"], &swept["left_to_others"]], [0, 1], "{swept}");
    }
    assert_eq!(here.memtree(["verify", "--json"]).success().json()["left_to_others"], 1);
    here.write_log(ONE, log + &exchange(ONE, 2, "And this one?", "Manila."));
    let swept = here.memtree(["sweep", "--json"]).success().json();
    assert_eq!([&swept["captured"], &swept["left_to_others"]], [1, 0]);
    assert_eq!(here.digest("SES1_lap_SP1C1").adopted_by, Some(Device::new("desk")));
    // From now on it is this device's.
    fs::remove_file(here.store().join(".memtree/cache/sweep-fingerprint.json")).unwrap();
    assert_eq!(here.memtree(["sweep", "--json"]).success().json()["left_to_others"], 0);
    assert_eq!(here.memtree(["verify", "--json"]).success().json()["left_to_others"], 0);
}

#[test]
fn a_forged_digest_keeps_no_log_from_being_captured() {
    for (what, with) in [("", ""), ("episodes: EP_001 - EP_001", "episodes: EP_001 - EP_900")] {
        let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 1, "Which rope?", "Hemp."));
        desk.memtree(["sweep"]).success();
        let own = desk.read(desk.digest_path("SES1_desk_SP1C1")).replace(what, with);
        for id in ["SES1_evil_SP1C1", "SES5_desk_SP1C1"] {
            // Nor does it help to say that somebody goes on with it just now.
            let captured = own.lines().find(|line| line.starts_with("captured: ")).unwrap();
            let own = own.replace(captured, &format!("{captured}\nadopted_by: evil"));
            let forged = own.replace("SES1_desk_SP1C1", id).replace(ONE, TWO);
            desk.write(format!("sessions/{id}/{id}_DIGEST.md"), forged);
        }
        desk.write_log(TWO, exchange(TWO, 3, "Which knot is this?", "A bowline."));
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!(swept["captured"], 1, "{swept}");
        desk.memtree(["search", "bowline"]).success().stdout_has("bowline");
        let raw = desk.texts().into_keys().filter(|name| name.ends_with(&format!("{TWO}.jsonl")));
        assert_eq!(raw.count(), 1);
    }
}

#[test]
fn a_setting_that_cannot_be_used_is_not_written() {
    let desk = Desk::new().with_log("codex", "one_question");
    desk.memtree(["sweep"]).success();
    for (key, value) in [
        ("sync.episodes", "maybe"),
        ("retention.soft_cap", "lots"),
        ("watch.debounce_seconds", "-3"),
        ("timezone", "Mars/Olympus"),
    ] {
        desk.memtree(["config", key, value]).code(2).stderr_has("nothing was changed");
        desk.memtree(["status"]).success();
    }
    // One word is a list of one, where a list is meant.
    desk.memtree(["config", "team.share", "tidepool"]).success();
    let effective = desk.memtree(["config", "--effective"]).success().json();
    assert_eq!(effective["team"]["share"], serde_json::json!(["tidepool"]));
    // What somebody wrote by hand is named with its file.
    desk.configure("[team]\nshare = \"tidepool\"\n");
    desk.memtree(["status"]).code(1).stderr_has("team.share").stderr_has("config.toml");
}
