//! Forgetting: gone from every file, kept out by a tombstone, finished after a kill, taken over by
//! another device.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Desk, assert_same, copy_folder, exchange};

const ONE: &str = "bbbbbbbb-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

const PROMPT: &str = "Where did we put the spare key of the northern greenhouse last winter?";
const REPLY: &str =
    "Under the third flower pot, the one with the broken rim, next to the compost heap.";

/// Two sessions: the first is to be forgotten.
fn desk() -> Desk {
    let desk = Desk::new().with_claude_log(ONE, exchange(ONE, 1, PROMPT, REPLY)).with_claude_log(
        TWO,
        exchange(TWO, 3, "How do I prune the old apple tree?", "In late winter, above a bud."),
    );
    desk.memtree(["sweep"]).success();
    desk.memtree(["search", "greenhouse"]).success().stdout_has("greenhouse");
    desk
}

/// The files below a folder, also git's and the cache's, that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file());
    let holds = |entry: &walkdir::DirEntry| {
        let bytes = fs::read(entry.path()).unwrap();
        memchr::memmem::find(&bytes.to_ascii_lowercase(), text.to_lowercase().as_bytes()).is_some()
            || entry.path().to_string_lossy().contains(text)
    };
    files
        .filter(holds)
        .map(|entry| entry.path().strip_prefix(folder).unwrap().display().to_string())
        .collect()
}

#[track_caller]
fn assert_gone(folder: &Path, texts: &[&str]) {
    for text in texts {
        assert_eq!(holding(folder, text), [""; 0], "`{text}` is still there");
    }
}

const ALL_OF_IT: &[&str] = &[PROMPT, REPLY, "greenhouse", "flower pot", "compost", ONE];

#[test]
fn a_forgotten_session_is_gone_from_every_file_and_stays_away() {
    let desk = desk();
    desk.write(
        "daily/summary/2026-11-15.md",
        "# Day\n\n- the spare key of the northern greenhouse was looked for\n- apples\n",
    );
    let dry = desk
        .memtree(["forget", "SES1_desk_SP1C1", "--dry-run"])
        .success()
        .stdout_has("SES1_desk_SP1C1");
    assert!(dry.stdout.contains("daily/raw/2026-11-15.md"), "{}", dry.told());
    assert!(!desk.store().join("forgotten.md").exists());
    desk.memtree(["forget", "SES1_desk_SP1C1"]).code(2).stderr_has("--yes");
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"])
        .success()
        .stdout_has("nothing of it is left");
    assert_gone(&desk.store(), ALL_OF_IT);
    assert_eq!(desk.read("daily/summary/2026-11-15.md"), "# Day\n\n- apples\n");
    assert!(desk.read("daily/raw/2026-11-15.md").contains("apple tree"));
    assert!(desk.read("forgotten.md").contains("SES1_desk_SP1C1"));
    // Neither a sweep nor growth brings it back, and its id is not given to another.
    for _ in 0..2 {
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!([&swept["captured"], &swept["discovered"]], [0, 1]);
        assert_eq!(desk.sessions(), ["SES2_desk_SP1C1"]);
        assert_gone(&desk.store(), ALL_OF_IT);
        let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
        desk.write_log(
            ONE,
            log + &exchange(ONE, 9, "And the greenhouse again?", "The compost again."),
        );
    }
    desk.memtree(["search", "greenhouse"]).success();
    desk.memtree(["search", "apple"]).success().stdout_has("SES2_desk_SP1C1");
    assert_gone(&desk.store(), &["flower pot"]);
}

#[test]
fn a_forgotten_text_takes_its_raw_with_it_and_the_session_stays() {
    let desk = desk();
    let before = desk.digest("SES2_desk_SP1C1");
    let text = "the spare  KEY of the\nnorthern greenhouse";
    desk.memtree(["forget", "--text", text, "--yes"]).success().stdout_has("nothing of it is left");
    assert_gone(&desk.store(), &["spare key of the northern greenhouse"]);
    assert!(!desk.store().join("sessions/SES1_desk_SP1C1/snapshot/raw").exists());
    desk.check_manifest("SES1_desk_SP1C1");
    let digest = desk.digest_text("SES1_desk_SP1C1");
    assert!(
        digest.contains("[forgotten]") && digest.contains("snapshot: evicted 2026-11-"),
        "{digest}"
    );
    assert!(
        desk.read("sessions/SES1_desk_SP1C1/snapshot/episodic/EP_001.md").contains("flower pot")
    );
    assert_eq!(desk.digest("SES2_desk_SP1C1"), before);
    // The summary of the day is told anew from the lines that are left.
    desk.memtree(["sweep"]).success();
    assert_gone(&desk.store(), &["spare key of the northern greenhouse"]);
    let log = fs::read_to_string(desk.log_path(ONE)).unwrap();
    desk.write_log(ONE, log + &exchange(ONE, 9, "Anything else?", "No."));
    let after = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&after, &desk.tree(), "after another sweep");
}

#[test]
fn a_forgotten_text_leaves_no_tag_and_no_row_behind() {
    let desk = Desk::new();
    for (number, id) in [ONE, TWO].into_iter().enumerate() {
        let asked = "Where do the Zebrafish Müller papers lie, in the greenhouse?";
        let told = "We decided that Zebrafish Müller needs a drawer because of the contract.";
        desk.write_log(id, exchange(id, 1 + 4 * number as u32, asked, told));
    }
    desk.memtree(["sweep"]).success();
    desk.memtree(["compile", "--all"]).success();
    desk.memtree(["ask", "what about Zebrafish Müller?", "--file-back"]).any();
    assert!(desk.digest_text("SES1_desk_SP1C1").to_lowercase().contains("zebrafish"));
    desk.memtree(["forget", "--text", "Zebrafish Müller", "--yes"]).success();
    for (name, text) in desk.texts() {
        let text = text.to_lowercase();
        let is_known = name == "forgotten.md" || name.starts_with(".memtree/");
        for word in ["zebrafish", "muller", "müller"] {
            assert!(is_known || !text.contains(word), "{name}: {word}: {text}");
        }
    }
    desk.memtree(["sweep"]).success();
    desk.memtree(["verify", "--deep"]).success();
}

#[test]
fn a_note_of_a_person_is_forgotten_without_the_log() {
    let desk = desk();
    let path = desk.digest_path("SES2_desk_SP1C1");
    desk.write(&path, desk.read(&path) + "\nmy bank account is 12-34-56\n");
    desk.memtree(["forget", "--text", "account is 12-34-56", "--yes"]).success();
    assert_gone(&desk.store(), &["12-34-56"]);
    assert!(desk.store().join("sessions/SES2_desk_SP1C1/snapshot/raw").exists());
    let log = fs::read_to_string(desk.log_path(TWO)).unwrap();
    desk.write_log(TWO, log + &exchange(TWO, 9, "And the pear?", "The same."));
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["captured"], 1);
}

#[test]
fn sessions_are_forgotten_by_project_and_by_day() {
    let desk = desk();
    desk.memtree(["forget", "--before", "2026-11-15", "--yes"])
        .code(1)
        .stderr_has("nothing in this memory");
    desk.memtree(["forget", "--project", "nowhere", "--yes"])
        .code(1)
        .stderr_has("nothing in this memory");
    let plan =
        desk.memtree(["forget", "--before", "2026-11-16", "--dry-run", "--json"]).success().json();
    assert_eq!(plan["sessions"].as_array().unwrap().len(), 2);
    desk.memtree(["forget", "--project", "demo", "--yes"]).success();
    assert_eq!(desk.sessions(), [""; 0]);
    assert_gone(&desk.store(), ALL_OF_IT);
    for wrong in
        [vec!["forget"], vec!["forget", "SES1_desk_SP1C1#EP_001"], vec!["forget", "--text", "a"]]
    {
        desk.memtree(wrong).code(2);
    }
    desk.memtree(["forget", "SES9_x"]).code(1).stderr_has("there is no session");
    desk.memtree(["forget", "--text", "nowhere to be found", "--yes"])
        .code(1)
        .stderr_has("nothing was forgotten");
}

#[test]
fn tombstones_of_another_device_take_effect_here() {
    let desk = desk();
    let other = Desk::new().on_device("other");
    copy_folder(&desk.store(), &other.store());
    let merged = desk.read("daily/raw/2026-11-15.md");
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    // All that the sync brings is the list; the union of two day logs even brings the lines back.
    fs::copy(desk.store().join("forgotten.md"), other.store().join("forgotten.md")).unwrap();
    other.configure("[devices]\ntrust = [\"desk\"]\n");
    other.memtree(["sweep"]).success();
    assert_eq!(other.sessions(), ["SES2_desk_SP1C1"]);
    assert_gone(&other.store(), ALL_OF_IT);
    fs::write(other.store().join("daily/raw/2026-11-15.md"), merged).unwrap();
    other.memtree(["sweep"]).success();
    assert_gone(&other.store(), ALL_OF_IT);
    assert!(other.read("daily/raw/2026-11-15.md").contains("apple tree"));
}

/// Everything that git holds in a repository, also what no branch leads to.
fn all_objects(desk: &Desk) -> String {
    let output = Command::new("git")
        .args(["-C", desk.store().to_str().unwrap(), "cat-file", "--batch", "--batch-all-objects"])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).to_lowercase()
}

/// Runs the printed commands but for the last, which pushes: there is nobody to push to.
fn run_printed(desk: &Desk, told: &serde_json::Value) {
    let commands: Vec<&str> =
        told["git"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let (push, local) = commands.split_last().unwrap();
    assert!(push.contains("push --force"), "{push}");
    let output = Command::new("bash")
        .args(["-e", "-c", &local.join("\n").replace("[STORE]", desk.store().to_str().unwrap())])
        .env("HOME", desk.home())
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .env("GIT_AUTHOR_NAME", "desk")
        .env("GIT_AUTHOR_EMAIL", "desk@example.org")
        .env("GIT_COMMITTER_NAME", "desk")
        .env("GIT_COMMITTER_EMAIL", "desk@example.org")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_printed_commands_take_it_out_of_gits_history() {
    let desk = desk();
    desk.git(["init", "-q", "-b", "main"]);
    // A page that once told of it, and by now says nothing any more; a branch, a tag and a merge.
    desk.write("core/MEMORY.md", "# Memory\n\n- the spare key of the northern greenhouse\n");
    desk.write("knowledge/concepts/greenhouse.md", "# Greenhouse\n");
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "one"]);
    desk.git(["tag", "-a", "-m", "first", "first"]);
    desk.write("core/MEMORY.md", "# Memory\n");
    fs::remove_dir_all(desk.store().join("knowledge")).unwrap();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "two"]);
    desk.git(["branch", "aside", "HEAD~1"]);
    desk.git(["merge", "-q", "--no-ff", "--no-edit", "aside"]);
    assert!(all_objects(&desk).contains("greenhouse"));
    let told = desk.memtree(["forget", "SES1_desk_SP1C1", "--yes", "--json"]).success().json();
    assert!(told["git_objects"]["holding"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(told["git_objects"]["incomplete"], serde_json::Value::Null);
    run_printed(&desk, &told);
    let all = all_objects(&desk);
    for text in ALL_OF_IT {
        assert!(!all.contains(&text.to_lowercase()), "`{text}` is still in git");
    }
    assert!(desk.git(["log", "-p", "--all"]).contains("apple tree"));
    let clone = desk.root().join("clone");
    desk.git(["clone", "-q", ".", clone.to_str().unwrap()]);
    assert_gone(&clone, ALL_OF_IT);
    assert!(clone.join("daily/raw/2026-11-15.md").exists());
    assert_eq!(desk.git(["status", "--porcelain"]), "");
}

#[test]
fn a_text_is_taken_out_of_gits_history_too() {
    let desk = desk();
    desk.git(["init", "-q", "-b", "main"]);
    desk.write("a page.md", "it's the flower pot\n");
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "one"]);
    fs::remove_file(desk.store().join("a page.md")).unwrap();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "two"]);
    let told = desk.memtree(["forget", "--text", "flower pot", "--yes", "--json"]).success().json();
    assert!(told["git_objects"]["holding"].as_u64().unwrap() > 0, "{told}");
    run_printed(&desk, &told);
    assert!(!all_objects(&desk).contains("flower pot"));
    let again = desk.memtree(["forget", "--text", "flower pot", "--yes", "--json"]).code(1).json();
    assert_eq!(again["git_objects"]["holding"], 0, "{again}");
    assert!(again["git_objects"]["searched"].as_u64().unwrap() > 5, "{again}");
    assert_eq!(again["git"], serde_json::json!([]));
    assert!(desk.git(["show", "HEAD:daily/raw/2026-11-15.md"]).contains("apple tree"));
}

#[test]
fn what_only_the_history_holds_is_found_there() {
    let desk = desk();
    desk.git(["init", "-q", "-b", "main"]);
    desk.write("a page.md", "the Crème brûlée of yesterday\n");
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "one"]);
    fs::remove_file(desk.store().join("a page.md")).unwrap();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "two"]);
    let before = desk.tree();
    desk.memtree(["forget", "--text", "creme brulee", "--yes"])
        .code(1)
        .stdout_has("1 of them holds it")
        .stdout_has("filter-branch");
    crate::harness::assert_same(&before, &desk.tree(), "nothing of it is in the tree");
}

#[test]
fn what_lies_in_quarantine_is_named() {
    let desk = desk();
    let other = Desk::new().on_device("other");
    copy_folder(&desk.store(), &other.store());
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    fs::copy(desk.store().join("forgotten.md"), other.store().join("forgotten.md")).unwrap();
    other.memtree(["sweep"]).success().stderr_has("quarantine");
    other.write("knowledge/mine.md", "the spare key is gone\n");
    let told = other.memtree(["forget", "--text", "spare key", "--yes", "--json"]).code(1).json();
    assert_eq!(told["quarantine"], serde_json::json!(["SES1_desk_SP1C1"]), "{told}");
    assert_eq!(told["left"], serde_json::json!([]));
    other.memtree(["forget", "--purge", "SES1_desk_SP1C1", "--yes"]).success();
    let told = other.memtree(["forget", "--text", "spare key", "--yes", "--json"]).any().1.json();
    assert_eq!(told["quarantine"], serde_json::json!([]), "{told}");
    assert_gone(&other.store(), &["spare key"]);
}

#[test]
fn a_text_at_the_beginning_of_a_title_leaves_a_page_that_can_be_read() {
    let desk = desk();
    desk.memtree(["forget", "--text", "Where did we put", "--yes"]).success();
    let digest = desk.digest("SES1_desk_SP1C1");
    let text = desk.digest_text("SES1_desk_SP1C1");
    assert!(digest.content.objective.starts_with("[forgotten] the spare key"), "{text}");
    desk.memtree(["verify", "--deep"]).success();
    desk.memtree(["doctor"]).success();
    // A hash of it, or of what held it, would prove a guess.
    assert_eq!(digest.snapshot.manifest, [""; 0]);
    let hash = |text: &str| memtree::internals::base::files::sha256_hex(text.as_bytes());
    for text in [PROMPT, &format!("\"{PROMPT}\""), &format!("title: {PROMPT}")] {
        assert_gone(&desk.store(), &[&hash(text)[..8]]);
    }
    assert_gone(&desk.store(), &["where did we put"]);
}

/// A folder's files may be short: no hash of one of them is kept, only one of all of them with
/// their names, so that the folder does not come back.
#[test]
fn no_hash_of_a_forgotten_file_is_kept() {
    let desk = desk();
    let folder = desk.project().join("safe");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pin.txt"), "open sesame 4711").unwrap();
    desk.memtree(["snapshot", folder.to_str().unwrap()]).success();
    let id = "SES3_desk_SP1C1";
    let hash = memtree::internals::base::files::sha256_hex(b"open sesame 4711");
    assert!(desk.digest_text(id).contains(&hash));
    desk.memtree(["forget", "--text", "sesame 4711", "--yes"]).success();
    assert_gone(&desk.store(), &[&hash, "sesame 4711"]);
    desk.memtree(["verify"]).success();
    desk.memtree(["forget", id, "--yes"]).success();
    let line = desk.read("forgotten.md").lines().last().unwrap().to_string();
    assert!(line.starts_with(&format!("- {id} source ")) && !line.contains(&hash), "{line}");
}

/// What a model has not seen yet, and what a killed sweep left to be done for others.
#[test]
fn contexts_and_queues_of_other_sessions_stay() {
    let desk = desk();
    let context = |session: &str, said: &str| {
        format!(
            "---\nsession: {session}\nday: 2026-11-15\nfrom: \"11:01:00\"\nuntil: \"11:01:10\"\n\
             at: 2026-11-15T11:01:10Z\nreason: x\n---\n**User:** {said}\n\n**Assistant:** pot\n"
        )
    };
    desk.write(".memtree/local/inbox/aa.md", context("SES1_desk_SP1C1", "rim"));
    desk.write(".memtree/local/inbox/bb.md", context("SES2_desk_SP1C1", "bud"));
    desk.write(
        ".memtree/local/queue/digests.json",
        r#"{"sessions":{"SES1_desk_SP1C1":0,"SES2_desk_SP1C1":1}}"#,
    );
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    assert!(!desk.store().join(".memtree/local/inbox/aa.md").exists());
    assert!(desk.read(".memtree/local/inbox/bb.md").contains("bud"));
    assert_eq!(
        desk.read(".memtree/local/queue/digests.json"),
        r#"{"sessions":{"SES2_desk_SP1C1":1}}"#
    );
}

#[test]
fn a_page_that_only_a_forgotten_session_bore_out_goes_with_its_links() {
    let desk = Desk::new();
    let talk = |id: &str, minute: u32, words: &str| {
        let reply = format!(
            "The {words} must be set first. Decided: the {words} stays. The {words} is checked at night."
        );
        let mut log = exchange(
            id,
            minute,
            &format!("Why does the {words} fail when the gate opens?"),
            &reply,
        );
        log += &exchange(id, minute + 1, &format!("And is the {words} part of the gate?"), &reply);
        log
    };
    desk.write_log(ONE, talk(ONE, 1, "kraken-valve") + &talk(ONE, 5, "gate-sensor"));
    desk.write_log(TWO, talk(TWO, 10, "gate-sensor"));
    // Six sessions of a project are worth two pages.
    for minute in [20, 30, 40, 50] {
        let id = format!("f0a90000-0000-4000-8000-0000000000{minute}");
        desk.write_log(&id, talk(&id, minute, "gate-sensor"));
    }
    desk.later(120);
    desk.memtree(["sweep"]).success();
    desk.memtree(["compile"]).done();
    let pages = holding(&desk.store().join("knowledge"), "kraken");
    assert!(pages.iter().any(|path| path.contains("kraken-valve")), "{pages:?}");
    desk.memtree(["forget", "SES1_desk_SP1C1", "--yes"]).success();
    assert_gone(&desk.store(), &["kraken"]);
    assert!(desk.store().join("knowledge/concepts/gate-sensor.md").exists());
    desk.memtree(["lint"]).done();
    // A person's page stays, without what the session said.
    let mine = "knowledge/concepts/my-page.md";
    desk.write(mine, "---\ntitle: Mine\n---\n# Mine\n\nThe gate is mine.\n");
    for session in desk.sessions() {
        desk.memtree(["forget", &session, "--yes"]).success();
    }
    assert!(desk.read(mine).contains("The gate is mine."));
    assert_gone(&desk.store(), &["gate-sensor"]);
}

/// Only the list and the cleaned pages arrive; what was said stands in raw, and in a line that a
/// merge brings back.
#[test]
fn a_text_forgotten_on_another_device_leaves_this_ones_raw() {
    let desk = desk();
    let other = Desk::new().on_device("other");
    copy_folder(&desk.store(), &other.store());
    fs::remove_dir_all(other.store().join("sessions/SES1_desk_SP1C1/snapshot")).unwrap();
    other.memtree(["forget", "--text", "flower pot", "--yes"]).success();
    let day = "daily/raw/2026-11-15.md";
    // As a union of both sides leaves it, where both had changed the end of the day.
    let (here, there) = (desk.read(day), other.read(day));
    let theirs: String = there.split_inclusive('\n').filter(|line| !here.contains(line)).collect();
    assert!(theirs.contains("[forgotten]"), "{there}");
    let merged = here + &theirs;
    let digest = other.digest_text("SES1_desk_SP1C1");
    desk.configure("[devices]\ntrust = [\"other\"]\n");
    desk.write("forgotten.md", other.read("forgotten.md"));
    desk.write(desk.digest_path("SES1_desk_SP1C1"), digest);
    desk.write(day, merged);
    desk.memtree(["sweep"]).success();
    assert_gone(&desk.store(), &["flower pot"]);
    assert!(desk.digest("SES1_desk_SP1C1").snapshot.evicted.is_some());
    desk.memtree(["verify", "--deep"]).success();
    // Once is enough.
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after another sweep");
}

/// A whole memory with a core, summaries of days and pages of knowledge: what one session said is
/// in none of them.
#[test]
fn a_session_is_forgotten_by_cores_days_and_knowledge_too() {
    let desk = Desk::new();
    desk.memtree(["sweep", "--sample"]).success();
    desk.memtree(["compile", "--all"]).done();
    desk.memtree(["search", "lock"]).success();
    let before = desk.digest("SES7_desk_SP1C1");
    assert!(desk.store().join("core/CORE_desk_SP1C1.md").exists());
    desk.memtree(["forget", "SES7_desk_SP1C1", "--yes"])
        .success()
        .stdout_has("nothing of it is left");
    let said = before.content.triggers.iter().map(|trigger| trigger.sentence.as_str());
    for said in said.chain([before.content.title.as_str()]).filter(|said| said.len() > 30) {
        // As it stands on the page, up to where it may have been cut.
        let start: String = said.chars().take(40).collect();
        assert_eq!(holding(&desk.store(), &start), [""; 0], "{said}");
    }
    let core = desk.read("core/CORE_desk_SP1C1.md");
    assert!(core.contains("SES7_desk_SP1C1") && core.contains("forgotten"), "{core}");
    // The next sweep finds nothing to do but what belongs to the clock.
    let tree = desk.tree();
    desk.memtree(["sweep"]).success();
    desk.memtree(["sweep"]).success();
    assert_gone(&desk.store(), &[&before.content.title]);
    assert_eq!(
        tree.difference(&desk.tree()).iter().filter(|line| line.contains("core/")).count(),
        0
    );
}

#[test]
fn what_was_forgotten_stays_so_without_the_list() {
    for damage in ["emptied", "gone", "a line out"] {
        let desk = Desk::new().with_log("codex", "one_question");
        desk.memtree(["sweep"]).success();
        let session = desk.sessions().remove(0);
        desk.memtree(["forget", &session, "--yes"]).success();
        desk.memtree(["sweep"]).success();
        assert!(desk.sessions().is_empty());
        let list = desk.store().join("forgotten.md");
        let text = std::fs::read_to_string(&list).unwrap();
        match damage {
            "emptied" => std::fs::write(&list, "").unwrap(),
            "gone" => std::fs::remove_file(&list).unwrap(),
            _ => {
                let rest = text.lines().filter(|line| !line.contains(&session));
                std::fs::write(&list, rest.map(|line| format!("{line}\n")).collect::<String>())
                    .unwrap();
            }
        }
        for _ in 0..2 {
            desk.memtree(["sweep"]).any();
        }
        assert!(desk.sessions().is_empty(), "{damage}: {:?}", desk.sessions());
    }
}

#[test]
fn a_name_in_another_spelling_goes_from_titles_keys_and_indexes() {
    for (said, forgotten, marks) in [
        ("Ask Zoë Brontë about the wick", "ZOE BRONTE", &["bront", "zoë"][..]),
        ("Ask Łukasz Größmann about the wick", "Lukasz Grossmann", &["größmann", "grossmann"]),
        ("Ask the Krueger Werke about the wick", "Krüger Werke", &["krueger"]),
        ("Ask the zebra-corp-project about the wick", "ZebraCorp Project", &["zebra"]),
    ] {
        let desk =
            Desk::new().with_claude_log(ONE, exchange(ONE, 1, said, &format!("{said}: done.")));
        desk.memtree(["sweep"]).success();
        desk.memtree(["compile", "--all"]).success();
        desk.memtree(["forget", "--text", forgotten, "--yes"]).done();
        for (name, text) in desk.texts() {
            let text = text.to_lowercase();
            let is_left = |mark: &&&str| text.contains(**mark) || name.contains(**mark);
            let left: Vec<_> = marks.iter().filter(is_left).collect();
            assert!(left.is_empty(), "{forgotten}: {name} has {left:?}: {text}");
        }
    }
}

#[test]
fn messages_of_commits_and_tags_are_counted_and_taken_out() {
    let desk = desk();
    desk.git(["init", "-q", "-b", "main"]);
    desk.write("a page.md", "it's the flower pot\n");
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "hide the Flower-Pot well"]);
    desk.git(["tag", "-a", "-m", "the flower pot of spring", "spring"]);
    desk.git(["tag", "-a", "-m", "summer", "summer"]);
    desk.git(["branch", "flower-pot"]);
    fs::remove_file(desk.store().join("a page.md")).unwrap();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-q", "-m", "two"]);
    let report =
        desk.memtree(["forget", "--text", "flower pot", "--yes", "--json"]).success().json();
    assert_eq!(report["git_objects"]["messages"], 2, "{report}");
    assert_eq!(report["git_objects"]["refs"], serde_json::json!(["refs/heads/flower-pot"]));
    run_printed(&desk, &report);
    assert!(!all_objects(&desk).contains("flower"), "{}", desk.git(["log", "--all"]));
    assert!(desk.git(["log"]).contains("hide the [forgotten] well"));
    assert_eq!(desk.git(["tag"]).trim(), "spring\nsummer");
    desk.git(["branch", "-m", "flower-pot", "pot"]);
    let again = desk.memtree(["forget", "--text", "flower pot", "--yes", "--json"]).code(1).json();
    assert_eq!(again["git_objects"]["holding"], 0, "{again}");
    assert_eq!(again["git"], serde_json::json!([]));
}
