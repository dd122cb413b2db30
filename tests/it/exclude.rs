//! Projects and folders that a person wants left out are captured by nothing.

use std::fs;

use crate::harness::{Desk, Tree, exchange};

const ONE: &str = "dddddddd-0000-4000-8000-000000000001";
const TWO: &str = "dddddddd-0000-4000-8000-000000000002";

fn desk(settings: &str) -> Desk {
    let secret =
        exchange(TWO, 2, "What does the payroll of the directors look like?", "Rather generous.");
    let desk = Desk::new()
        .with_claude_log(
            ONE,
            exchange(ONE, 1, "How do I tie a bowline?", "Around the tree and back."),
        )
        .with_claude_log(
            TWO,
            secret.replace("/home/dev/code/demo", "/home/dev/clients/payroll/src"),
        );
    desk.memtree(["init"]).success();
    desk.settings(format!("format = 1\n[exclude]\n{settings}\n"));
    desk
}

fn assert_left_out(desk: &Desk) {
    assert_eq!(desk.sessions(), ["SES1_desk_SP1C1"]);
    for path in Tree::of(&desk.store())
        .0
        .keys()
        .map(|path| desk.store().join(path))
        .filter(|path| path.is_file())
    {
        let bytes = fs::read(&path).unwrap();
        assert!(memchr::memmem::find(&bytes, b"directors").is_none(), "{}", path.display());
    }
}

#[test]
fn a_project_or_a_folder_is_left_out_and_not_read_again() {
    for settings in ["projects = [\"SRC\"]", "folders = [\"/home/dev/clients\"]"] {
        let desk = desk(settings);
        let dry = desk.memtree(["sweep", "--dry-run", "--json"]).success().json();
        assert_eq!([&dry["captured"], &dry["excluded"]], [1, 1], "{settings}");
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        assert_eq!([&swept["captured"], &swept["excluded"]], [1, 1], "{settings}");
        assert_left_out(&desk);
        desk.memtree(["sweep"]).success();
        // Also when it grows.
        let log = fs::read_to_string(desk.log_path(TWO)).unwrap();
        desk.write_log(TWO, log.clone() + &log.replace("-a\"", "-c\"").replace("-b\"", "-d\""));
        desk.memtree(["sweep"]).success().stdout_has("1 left out");
        assert_left_out(&desk);
        // A changed mind is honoured, too.
        desk.settings("format = 1\n");
        desk.memtree(["sweep"]).success();
        assert_eq!(desk.sessions(), ["SES1_desk_SP1C1", "SES2_desk_SP1C1"]);
    }
}

#[test]
fn every_sweep_says_the_same_of_what_is_left_out() {
    let desk = desk("projects = [\"SRC\"]");
    let long_ago = desk.now() - chrono::Duration::days(29);
    for id in [ONE, TWO] {
        let log = fs::File::options().append(true).open(desk.log_path(id)).unwrap();
        log.set_modified(long_ago.into()).unwrap();
    }
    let fingerprint = desk.store().join(".memtree/cache/sweep-fingerprint.json");
    for round in 0..4 {
        if round == 3 {
            fs::remove_file(&fingerprint).unwrap();
        }
        let dry = desk.memtree(["sweep", "--dry-run", "--json"]).success().json();
        let swept = desk.memtree(["sweep", "--json"]).success().json();
        for report in [dry, swept] {
            assert_eq!([&report["discovered"], &report["excluded"]], [1, 1], "{round}: {report}");
            assert_eq!(report["by_flavor"], serde_json::json!({ "claude": 1 }), "{round}");
        }
        assert!(fingerprint.is_file(), "{round}");
    }
    desk.memtree(["sweep"]).success().stdout_has("1 session discovered: ").stdout_has("1 left out");
    // Nobody complains of what is not to be there.
    let verified = desk.memtree(["verify", "--json"]).success().json();
    assert_eq!(verified["notes"], serde_json::json!([]));
    let doctor = desk.memtree(["doctor", "--json"]).success().json();
    assert_eq!([&doctor["clocks"][0]["sessions"], &doctor["clocks"][0]["not_swept"]], [1, 0]);
    let status = desk.memtree(["status", "--json"]).success().json();
    assert_eq!(status["at_risk"].as_array().unwrap().len(), 1, "{status}");
    // Nor is it said that there are no logs where all of them are left out.
    fs::remove_file(desk.log_path(ONE)).unwrap();
    for _ in 0..2 {
        let swept = desk.memtree(["sweep"]).success().stdout_has("0 sessions discovered: ");
        assert!(swept.stdout.contains("1 left out"), "{}", swept.stdout);
        assert!(!swept.stderr.contains("no agent's logs"), "{}", swept.stderr);
    }
    desk.memtree(["doctor"]).success();
    let status = desk.memtree(["status", "--json"]).success().json();
    assert_eq!(status["at_risk"], serde_json::json!([]));
}

#[test]
fn logs_and_folders_in_an_excluded_folder_are_not_even_opened() {
    let desk = desk("folders = [\"~/.claude/projects\"]");
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["discovered"], 0);
    let folder = desk.home().join(".claude/projects");
    desk.memtree(["snapshot", folder.to_str().unwrap()])
        .code(1)
        .stderr_has("left out by the setting");
}

#[test]
fn a_folder_is_kept_without_what_is_left_out_of_it() {
    let desk = desk("projects = [\"Payroll\"]");
    let folder = desk.project().join("work");
    for name in ["payroll/directors.md", "clients/directors.md", "notes.md"] {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(
            folder.join(name),
            if name == "notes.md" { "# Knots\n" } else { "what the directors earn\n" },
        )
        .unwrap();
    }
    let below = folder.join("payroll");
    desk.memtree(["snapshot", below.to_str().unwrap()])
        .code(1)
        .stderr_has("left out by the setting `exclude.projects`");
    let settings =
        format!("format = 1\n[exclude]\nfolders = [{below:?}, {:?}]\n", folder.join("clients"));
    desk.settings(settings);
    desk.memtree(["snapshot", folder.to_str().unwrap()]).success().stdout_has("kept 1 file");
    assert_left_out(&desk);
}
