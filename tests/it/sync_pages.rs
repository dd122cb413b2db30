//! Two devices change one page: git joins it by section through `memtree merge-file`, and where it
//! could not, the next command puts it right.

use std::fs;

use crate::harness::{Desk, exchange};

const ID: &str = "5a5a5a5a-0000-4000-8000-000000000001";
const SESSION: &str = "SES1_left_SP1C1";

/// Whether a device's git knows how pages are joined.
#[derive(Clone, Copy, PartialEq)]
enum Driver {
    Registered,
    Unknown,
}

/// Two devices with one memory in git, and a session of the first on both.
fn two_devices(driver: Driver) -> [Desk; 2] {
    let log = exchange(ID, 1, "Which rope holds the mast?", "Decided: hemp rope holds it.");
    let left = Desk::in_memory().on_device("left").with_claude_log(ID, log);
    let right = Desk::in_memory().on_device("right");
    let shared = left.root().join("shared.git");
    let shared = shared.to_str().unwrap();
    left.memtree(["sweep"]).success();
    left.git(["init", "--quiet", "--initial-branch=main"]);
    left.git(["init", "--quiet", "--bare", "--initial-branch=main", shared]);
    left.git(["remote", "add", "origin", shared]);
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "a memory"]);
    left.git(["push", "--quiet", "--set-upstream", "origin", "HEAD:main"]);
    left.git(["clone", "--quiet", shared, right.store().to_str().unwrap()]);
    for desk in [&left, &right] {
        desk.memtree(["sweep"]).success();
        if driver == Driver::Registered {
            desk.memtree(["init"]).success().stderr_has("`memtree merge-file` is registered");
        }
    }
    [left, right]
}

fn commit(desk: &Desk) {
    desk.git(["add", "--all"]);
    desk.git(["commit", "--quiet", "--allow-empty", "--message", "an hour"]);
}

/// Runs git, which may end in a conflict; says whether it did not.
fn try_git(desk: &Desk, arguments: &[&str]) -> bool {
    desk.try_git(arguments).status.success()
}

/// Both devices change what the session was for, each in its own words, and commit it.
fn edit_on_both(left: &Desk, right: &Desk) {
    for (desk, words) in [(left, "as the left saw it"), (right, "as the right one saw it")] {
        let page = desk.digest_text(SESSION);
        let line = page.lines().find(|line| line.starts_with("- **Core Intent**")).unwrap();
        desk.write(
            desk.digest_path(SESSION),
            page.replace(line, &format!("- **Core Intent**: {words}")),
        );
        commit(desk);
    }
}

/// The session grows on the left, while a person on the right changes its page.
fn grow_and_edit(left: &Desk, right: &Desk, edit: impl Fn(&str) -> String) {
    let log = exchange(ID, 1, "Which rope holds the mast?", "Decided: hemp rope holds it.");
    left.write_log(ID, log + &exchange(ID, 9, "And which knot?", "Decided: a bowline knot."));
    left.memtree(["sweep"]).success();
    commit(left);
    left.git(["push", "--quiet", "origin", "HEAD:main"]);
    let page = right.digest_text(SESSION);
    let edited = edit(&page);
    assert_ne!(page, edited);
    right.write(right.digest_path(SESSION), edited);
    commit(right);
}

fn retitled(page: &str) -> String {
    let line = page.lines().find(|line| line.starts_with("- **Core Intent**")).unwrap();
    page.replace(line, "- **Core Intent**: what I really wanted") + "- a note from the right\n"
}

/// The page has all that both sides wrote, and everything once.
#[track_caller]
fn assert_joined(desk: &Desk) {
    let page = desk.digest_text(SESSION);
    for kept in ["what I really wanted", "- a note from the right", "bowline"] {
        assert!(page.contains(kept), "{kept} is gone:\n{page}");
    }
    for heading in ["Knowledge Triggers", "Semantic Summary", "\n## Notes", "\nwritten:", "turns:"]
    {
        assert_eq!(page.matches(heading).count(), 1, "{heading}:\n{page}");
    }
    assert!(!page.contains("<<<<<<<") && !page.contains(">>>>>>>"), "{page}");
    assert_eq!(desk.digest(SESSION).content.turns, 2, "{page}");
    desk.memtree(["doctor", "--json"]).success();
}

#[test]
fn git_itself_joins_by_section_where_the_driver_is_registered() {
    let [left, right] = two_devices(Driver::Registered);
    grow_and_edit(&left, &right, retitled);
    right.git(["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    assert_joined(&right);
    let merged = right.digest_text(SESSION);
    right.memtree(["sweep"]).success();
    assert_eq!(right.digest_text(SESSION), merged, "there is nothing left to put right");
    right.git(["push", "--quiet", "origin", "HEAD:main"]);
    left.git(["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    left.memtree(["sweep"]).success();
    assert_eq!(left.digest_text(SESSION), merged);
}

#[test]
fn what_git_merged_line_by_line_is_joined_by_the_next_command() {
    for rebase in [false, true] {
        let [left, right] = two_devices(Driver::Unknown);
        grow_and_edit(&left, &right, retitled);
        let how = if rebase { "--rebase" } else { "--no-rebase" };
        let went_well = try_git(&right, &["pull", "--quiet", how, "--no-edit", "origin", "main"]);
        let told = right.memtree(["log", "user", "high water"]).success();
        let page = right.digest_text(SESSION);
        assert!(!page.contains("<<<<<<<"), "rebase {rebase}, conflict {}:\n{page}", !went_well);
        if !went_well {
            assert!(told.stderr.contains("git -C [STORE] add -- sessions/"), "{}", told.stderr);
            right.git(["add", "--all"]);
            let next: &[&str] = if rebase {
                &["rebase", "--continue"]
            } else {
                &["commit", "--quiet", "--no-edit"]
            };
            assert!(try_git(&right, next));
        }
        right.memtree(["sweep"]).success();
        assert_joined(&right);
        // Whoever gets it from there has nothing to put right.
        commit(&right);
        right.git(["push", "--quiet", "origin", "HEAD:main"]);
        left.git(["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
        left.memtree(["sweep"]).success();
        assert_eq!(left.digest_text(SESSION), right.digest_text(SESSION));
    }
}

#[test]
fn a_person_who_resolved_a_conflict_keeps_what_they_wrote() {
    let [left, right] = two_devices(Driver::Unknown);
    let intent = |words: &str| {
        let words = words.to_string();
        move |page: &str| {
            let line = page.lines().find(|line| line.starts_with("- **Core Intent**")).unwrap();
            page.replace(line, &format!("- **Core Intent**: {words}"))
        }
    };
    for (desk, words) in [(&left, "left's words"), (&right, "right's words")] {
        desk.write(desk.digest_path(SESSION), intent(words)(&desk.digest_text(SESSION)));
        commit(desk);
    }
    left.git(["push", "--quiet", "origin", "HEAD:main"]);
    assert!(!try_git(&right, &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]));
    let mine = intent("what both of us meant")(
        &right.git(["show", ":2:./sessions/SES1_left_SP1C1/SES1_left_SP1C1_DIGEST.md"]),
    );
    right.write(right.digest_path(SESSION), &mine);
    right.memtree(["log", "user", "high water"]).success();
    assert_eq!(right.digest_text(SESSION), mine);
    right.git(["add", "--all"]);
    right.git(["commit", "--quiet", "--no-edit"]);
    right.memtree(["sweep"]).success();
    assert_eq!(right.digest_text(SESSION), mine);
}

#[test]
fn edits_of_one_section_on_two_devices_are_both_kept_and_shown() {
    for driver in [Driver::Registered, Driver::Unknown] {
        let [left, right] = two_devices(driver);
        edit_on_both(&left, &right);
        left.git(["push", "--quiet", "origin", "HEAD:main"]);
        try_git(&right, &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
        right.memtree(["log", "user", "high water"]).success();
        let page = right.digest_text(SESSION);
        assert!(page.contains("\n- **Core Intent**: as the right one saw it"), "{page}");
        assert!(page.contains("\n> - **Core Intent**: as the left saw it"), "{page}");
        assert_eq!(page.matches("Other version of").count(), 1, "{page}");
        assert_eq!(right.digest(SESSION).content.core_intent, "as the right one saw it");
    }
}

#[test]
fn days_that_two_devices_wrote_are_in_order_and_hold_each_line_once() {
    for driver in [Driver::Registered, Driver::Unknown] {
        let [left, right] = two_devices(driver);
        for hour in 0..3 {
            for (desk, name) in [(&left, "left"), (&right, "right")] {
                desk.later(7);
                desk.memtree(["log", "user", &format!("tide {hour} seen on the {name}")]).success();
            }
        }
        for desk in [&left, &right] {
            commit(desk);
        }
        left.git(["push", "--quiet", "origin", "HEAD:main"]);
        assert!(try_git(
            &right,
            &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]
        ));
        right.memtree(["sweep"]).success();
        let day = right.read("daily/raw/2026-11-15.md");
        let lines = day.lines().filter(|line| line.starts_with("- ["));
        let times: Vec<&str> = lines.filter_map(|line| line.get(3..11)).collect();
        let mut sorted = times.clone();
        sorted.sort();
        assert_eq!(times, sorted, "{day}");
        for hour in 0..3 {
            for name in ["left", "right"] {
                let line = format!("tide {hour} seen on the {name}");
                assert_eq!(day.matches(&line).count(), 1, "{line}\n{day}");
            }
        }
        right.memtree(["verify"]).success();
    }
}

#[test]
fn merge_file_reads_three_files_and_needs_no_memory() {
    let desk = Desk::new();
    let file = |name: &str, text: &str| {
        let path = desk.root().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let base = file("base", "- a\n");
    let (ours, theirs) = (file("ours", "- a\n- b\n"), file("theirs", "- a\n- c\n"));
    desk.memtree(["merge-file", &base, &ours, &theirs, "deep/memory/forgotten.md"]).success();
    assert_eq!(fs::read_to_string(&ours).unwrap(), "- a\n- b\n- c\n");
    assert!(!desk.store().exists());
    let report = desk.memtree(["--json", "merge-file", &base, &ours, &theirs, "forgotten.md"]);
    assert_eq!(report.success().json()["other_versions"], 0);
    fs::write(&ours, b"\xff\xfe").unwrap();
    desk.memtree(["merge-file", &base, &ours, &theirs, "x.bin"]).code(1).stderr_has("is no text");
    assert_eq!(fs::read(&ours).unwrap(), b"\xff\xfe", "what is here stays");
    desk.memtree(["merge-file", "/nowhere", &ours, &theirs, "x"]).code(1);
}

#[test]
fn a_person_decides_between_two_versions() {
    for (flag, kept, gone) in [
        ("--approve", "as the left saw it", "as the right one saw it"),
        ("--reject", "as the right one saw it", "as the left saw it"),
    ] {
        let [left, right] = two_devices(Driver::Registered);
        edit_on_both(&left, &right);
        left.git(["push", "--quiet", "origin", "HEAD:main"]);
        right.git(["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
        right.memtree(["status"]).success().stdout_has("was edited on two devices");
        let status = right.memtree(["status", "--json"]).success().json();
        let id = format!("other-{}", status["other_versions"][0]["id"].as_str().unwrap());
        right.memtree(["doctor"]).success().stdout_has(&id);
        right.memtree(["review", "--list"]).success().stdout_has(&id);
        right.memtree(["review", flag, &id]).success();
        let page = right.digest_text(SESSION);
        assert!(page.contains(&format!("\n- **Core Intent**: {kept}\n")), "{page}");
        assert!(!page.contains(gone) && !page.contains("Other version of"), "{page}");
        assert!(page.contains("\n<!-- memtree:\n"), "{page}");
        assert_eq!(right.digest(SESSION).content.core_intent, kept);
        right.memtree(["verify"]).success();
        assert_eq!(
            right.memtree(["status", "--json"]).success().json()["other_versions"],
            serde_json::json!([])
        );
    }
}

#[test]
fn a_page_that_was_garbled_earlier_is_written_again_from_raw() {
    let [left, _right] = two_devices(Driver::Unknown);
    let page = left.digest_text(SESSION);
    // As `merge=union` left it: a section twice, a line in the wrong one, and somebody's words.
    let section = |heading: &str| {
        let start = page.find(heading).unwrap();
        let start = page[..start].rfind("## ").unwrap();
        let end = page[start + 3..].find("\n## ").map_or(page.len(), |end| start + 3 + end + 1);
        page[start..end].to_string()
    };
    let summary = section("Semantic Summary");
    let trigger = page.lines().find(|line| line.contains("Trigger reference")).unwrap();
    let twice = summary.replace("- **Core Intent**: ", "- **Core Intent**: my own view of ");
    let garbled = page.replace(&summary, &format!("{summary}{trigger}\n\n{twice}"));
    left.write(left.digest_path(SESSION), &garbled);
    left.memtree(["doctor"]).success().stdout_has("has sections twice, or lines in the wrong one");
    left.memtree(["doctor", "--fix"]).success().stdout_has("written again from its raw");
    let fixed = left.digest_text(SESSION);
    assert_eq!(fixed.matches("\n## 🧠 Semantic Summary").count(), 1, "{fixed}");
    assert_eq!(
        fixed.matches("\n- [").filter(|_| true).count(),
        page.matches("\n- [").count(),
        "{fixed}"
    );
    assert!(fixed.contains("> - **Core Intent**: my own view of "), "nobody's words go:\n{fixed}");
    left.memtree(["verify"]).success();
}

#[test]
fn copies_that_other_sync_tools_left_are_joined_on_request() {
    let [left, _right] = two_devices(Driver::Unknown);
    left.memtree(["log", "user", "high water"]).success();
    let day = left.read("daily/raw/2026-11-15.md");
    let copy = "daily/raw/2026-11-15.sync-conflict-20261115-120301-ABCDEFG.md";
    left.write(copy, format!("{day}- [23:00:00] [user] (-) low water\n"));
    let digest =
        format!("sessions/{SESSION}/{SESSION}_DIGEST (Ada's conflicted copy 2026-11-15).md");
    left.write(&digest, left.digest_text(SESSION) + "- noted by Ada\n");
    left.memtree(["doctor"]).success().stdout_has(copy).stdout_has("conflicted copy");
    left.memtree(["doctor", "--fix", "--yes"]).success().stdout_has("joined by section");
    let joined = left.read("daily/raw/2026-11-15.md");
    assert!(joined.contains("low water") && joined.matches("high water").count() == 1, "{joined}");
    assert!(left.digest_text(SESSION).contains("- noted by Ada"));
    assert!(!left.store().join(copy).exists() && !left.store().join(&digest).exists());
    assert!(!left.memtree(["doctor"]).success().stdout.contains("sync-conflict"));
}

#[test]
fn pages_whose_names_begin_alike_are_no_copies_of_each_other() {
    let [left, _right] = two_devices(Driver::Unknown);
    let page = |title: &str| format!("---\ntitle: {title}\n---\n# {title}\n\n- what is known\n");
    for (name, title) in [("tide", "Tide"), ("tide-table", "Tide table"), ("pier", "Pier")] {
        left.write(format!("knowledge/concepts/{name}.md"), page(title));
    }
    left.write("sessions/INDEX-undated.md", "# Sessions of undated days\n");
    // A real one has the heading of its page.
    left.write("knowledge/concepts/pier-DESKTOP-7F3A.md", page("Pier") + "- what Ada knows\n");
    let found = left.memtree(["doctor"]).any().1.stdout;
    assert!(found.contains("pier-DESKTOP-7F3A.md` is another version"), "{found}");
    assert_eq!(found.matches("is another version of").count(), 1, "{found}");
    left.memtree(["doctor", "--fix", "--yes"]).any();
    assert_eq!(left.read("knowledge/concepts/tide-table.md"), page("Tide table"));
    assert!(left.read("knowledge/concepts/pier.md").contains("what Ada knows"));
}
