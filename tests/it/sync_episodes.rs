//! Episodes travel where the person wants it, so that every link works in a clone; folders never
//! do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memtree::internals::store::layout::link_path;

use crate::harness::{Desk, exchange};
use crate::sync::Net;

const ID: &str = "5e5e5e5e-0000-4000-8000-000000000001";
const KEY: &str = "AKIAQ3EGRXW7LMPDZT5K";

fn swept(desk: &Desk) {
    let reply = "Decided: hemp rope holds it, because it is strong.";
    desk.write_log(ID, exchange(ID, 1, "Which rope holds the mast?", reply));
    desk.memtree(["sweep"]).success();
}

fn clone(net: &Net, name: &str) -> PathBuf {
    let to = net.desks[0].root().join(name);
    net.desks[0].git(["clone", "--quiet", net.remote.to_str().unwrap(), to.to_str().unwrap()]);
    to
}

/// The links of a page that lead to nothing.
fn dead_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let mut dead = Vec::new();
    for (at, _) in text.match_indices("](") {
        let target = text[at + 2..].split(')').next().unwrap_or_default();
        let path = link_path(target.split('#').next().unwrap_or_default());
        let is_elsewhere = target.contains("://") || path.is_empty() || target.contains(' ');
        if !is_elsewhere && !page.parent().unwrap().join(&path).exists() {
            dead.push(format!("{} -> {target}", page.display()));
        }
    }
    dead
}

#[test]
fn every_link_of_a_clone_leads_somewhere() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    left.memtree(["sweep", "--sample"]).done();
    left.later(60 * 24);
    left.memtree(["sweep", "--sample"]).done();
    left.memtree(["compile"]).done();
    left.memtree(["sync"]).success();
    // Somebody who has no memtree.
    let clone = clone(&net, "clone");
    let (mut pages, mut dead) = (0, Vec::new());
    for entry in walkdir::WalkDir::new(&clone).into_iter().flatten() {
        let path = entry.path().strip_prefix(&clone).unwrap().to_string_lossy().into_owned();
        if path.ends_with(".md") && !path.contains("/snapshot/") && !path.starts_with(".git") {
            pages += 1;
            dead.extend(dead_links(entry.path()));
        }
        assert!(!path.contains("/raw/") || path.starts_with("daily/"), "{path}");
        assert!(!path.contains("/sensory/") && !path.starts_with(".memtree"), "{path}");
    }
    assert!(pages > 20, "only {pages} pages");
    assert_eq!(dead, Vec::<String>::new());
    // Deep recall works there, and proof goes on.
    right.memtree(["sync"]).success();
    let hit = right.memtree(["search", "lock", "--json"]).success().json();
    let session = hit["hits"][0]["session"].as_str().unwrap().to_string();
    right.memtree(["recall", &format!("{session}#EP_001")]).success();
    right.memtree(["verify"]).success();
    right.memtree(["doctor"]).success();
    right.memtree(["sweep"]).success();
    assert_eq!(right.git(["status", "--porcelain"]), "");
}

#[test]
fn folders_never_travel_whatever_they_hold() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    let notes = left.project().join("notes");
    for folder in ["episodic", "semantic", "state", "raw"] {
        fs::create_dir_all(notes.join(folder)).unwrap();
        fs::write(notes.join(folder).join("EP_001.md"), "# Mine alone\n").unwrap();
    }
    left.memtree(["snapshot", "notes"]).success();
    swept(left);
    left.memtree(["sync"]).success();
    let listed = Command::new("git")
        .args(["ls-tree", "-r", "--name-only", "main"])
        .current_dir(&net.remote)
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("SES2_left_SP1C1/snapshot/episodic/EP_001.md"), "{listed}");
    assert!(!listed.contains("SES1_left_SP1C1/snapshot/"), "{listed}");
    // Its triggers say where the files are, and no link leads nowhere.
    let clone = clone(&net, "clone");
    let page = clone.join("sessions/SES1_left_SP1C1/SES1_left_SP1C1_DIGEST.md");
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("-> Trigger reference: EP_001, `snapshot/episodic/EP_001.md` on left"),
        "{text}"
    );
    assert_eq!(dead_links(&page), Vec::<String>::new());
}

#[test]
fn a_clone_says_which_device_has_what_did_not_travel() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    let notes = left.project().join("notes");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("rope.md"), "# Rope\n\nThe hemp rope from Halden holds the mast.\n")
        .unwrap();
    left.memtree(["snapshot", "notes"]).success();
    left.memtree(["sweep", "--sample"]).done();
    left.memtree(["sync"]).success();
    right.memtree(["sync"]).success();
    let away = "not on this device: snapshots stay where they were made, on `left`";
    right.memtree(["recall", "SES1_left_SP1C1#EP_001"]).success().stdout_has(away);
    let file = "sessions/SES1_left_SP1C1/snapshot/rope.md";
    right.memtree(["recall", file]).code(1).stderr_has(away);
    left.memtree(["recall", file]).success().stdout_has("Halden");
    left.memtree(["recall", "sessions/SES1_left_SP1C1/snapshot/no.md"]).code(1);
    // Long outputs of an episode, and raw.
    let with_long = walkdir::WalkDir::new(left.store().join("sessions")).into_iter().flatten();
    let with_long = with_long.map(|entry| entry.into_path()).find(|path| {
        path.components().any(|part| part.as_os_str() == "sensory")
            && path.extension().is_some_and(|end| end == "md")
    });
    let long = with_long.expect("a sample has long outputs");
    let long = long.strip_prefix(left.store()).unwrap().to_str().unwrap().to_string();
    left.memtree(["recall", &long]).success();
    right.memtree(["recall", &long]).code(1).stderr_has(away);
    let session = long.split('/').nth(1).unwrap();
    let episode = long.rsplit('/').next().unwrap().trim_end_matches(".md");
    let episode = format!("{session}#{episode}");
    right.memtree(["recall", &episode]).success().stdout_has("The long outputs").stdout_has(away);
    assert!(!left.memtree(["recall", &episode]).success().stdout.contains("The long outputs"));
}

#[test]
fn in_a_memory_that_was_there_nothing_changes_until_the_person_says_yes() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    fs::remove_file(left.store().join(".memtree/local/sync.json")).unwrap();
    swept(left);
    let page = "sessions/SES1_left_SP1C1/snapshot/episodic/EP_001.md";
    left.memtree(["sync"]).success().stderr_has("memtree config sync.episodes true");
    assert_eq!(net.remote_text(page), None);
    left.memtree(["config", "sync.episodes", "true"]).success().stdout_has("sync.episodes is true");
    left.memtree(["config", "sync.episode", "true"]).code(2).stderr_has("there is no setting");
    left.memtree(["sync"]).success();
    assert!(net.remote_text(page).is_some_and(|page| page.contains("Which rope")));
    left.memtree(["config", "sync.episodes", "false"]).success();
    left.memtree(["sync"]).success();
}

#[test]
fn episodes_of_earlier_rules_are_redacted_before_they_leave() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left);
    // As rules that did not know it yet would have left it.
    let state = left.read(".memtree/local/sync.json");
    let (before, after) = state.split_once("\"episodes_rules\":\"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    left.write(".memtree/local/sync.json", format!("{before}\"episodes_rules\":\"older\"{after}"));
    let page = "sessions/SES1_left_SP1C1/snapshot/episodic/EP_001.md";
    left.write(page, left.read(page) + &format!("\nkey {KEY}\n"));
    left.memtree(["sync"]).success();
    let there = net.remote_text(page).unwrap();
    assert!(there.contains("Which rope") && !there.contains(KEY), "{there}");
    left.memtree(["verify"]).success();
    // What is put there afterwards stops it.
    left.write(page, left.read(page) + &format!("\nkey {KEY}\n"));
    left.memtree(["sync"]).code(1).stderr_has("nothing was pushed").stderr_has(page);
}
