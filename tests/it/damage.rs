//! Every kind of file in the tree, cut, emptied, zeroed, deleted, or swapped with another of its
//! kind: `verify` sees it, and a sweep or `doctor --fix` makes it again. What a person wrote
//! elsewhere stays.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::{Desk, copy_folder, exchange};

const DAMAGES: [&str; 5] = ["cut", "emptied", "zeroed", "deleted", "swapped"];

fn id(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

/// A memory with a page of every kind, and a word of a person's in some of them.
fn whole() -> Desk {
    let desk = Desk::in_memory().with_sample("claude").with_stopped_clock();
    for number in 1..=9 {
        let mut log = exchange(
            &id(number),
            number,
            "How do I tie a bowline knot?",
            &format!(
                "We decided: the bowline goes around tree number {number}, because the sheet bend slips."
            ),
        );
        log.push_str(&exchange(
            &id(number),
            30 + number,
            "And the sheet bend, on the second day?",
            "It goes the same way.",
        ));
        log.push_str(&call(&id(number), number));
        desk.write_log(&id(number), log);
    }
    desk.later(3 * 24 * 60);
    desk.memtree(["sweep"]).done();
    desk.memtree(["log", "user", "a line by hand"]).success();
    desk.memtree(["compile"]).done();
    let last = desk.sessions().pop().unwrap();
    desk.memtree(["forget", &last, "--yes"]).done();
    let digest = desk.digest_path("SES2_desk_SP1C1");
    desk.write(&digest, desk.read(&digest) + "by hand\n");
    desk.memtree(["sweep"]).done();
    desk.memtree(["compile"]).done();
    desk.memtree(["sweep"]).done();
    desk.memtree(["verify"]).success();
    desk
}

/// A call of a tool that prints much.
fn call(id: &str, number: u32) -> String {
    let record = |kind: &str, at: &str, content: serde_json::Value| {
        let record = serde_json::json!({
            "parentUuid": null, "isSidechain": false, "cwd": "/home/dev/code/demo",
            "sessionId": id, "version": "2.1.204", "gitBranch": "main", "type": kind,
            "message": { "role": kind, "id": format!("msg_{number}{at}"), "content": content },
            "uuid": format!("{id}-{number}-{at}"),
            "timestamp": format!("2026-11-15T11:50:{number:02}.000Z"),
        });
        format!("{record}\n")
    };
    let tool = format!("toolu_{number}");
    let asked = serde_json::json!([
        { "type": "tool_use", "id": tool, "name": "Bash", "input": { "command": "ls -R" } }
    ]);
    let printed: String = (0..2000).map(|line| format!("file {line} of {number}\n")).collect();
    let answered = serde_json::json!([
        { "type": "tool_result", "tool_use_id": tool, "content": printed, "is_error": false }
    ]);
    record("assistant", "c", asked) + &record("user", "d", answered)
}

/// The files of each kind, by the beginning and the end of their names.
const KINDS: &[(&str, &str, &str)] = &[
    ("digest", "sessions/", "_DIGEST.md"),
    ("episode", "sessions/", "/snapshot/episodic/EP_001.md"),
    ("semantic", "sessions/", "/snapshot/semantic/stated.md"),
    ("vitals", "sessions/", "/snapshot/state/vitals.yaml"),
    ("manifest", "sessions/", "/snapshot/MANIFEST.sha256"),
    ("raw", "sessions/", ".jsonl"),
    ("sensory", "sessions/", "/snapshot/sensory/EP_001.md"),
    ("day", "daily/raw/", ".md"),
    ("summary", "daily/summary/", ".md"),
    ("core", "core/CORE_", ".md"),
    ("MEMORY.md", "core/MEMORY", ".md"),
    ("concept", "knowledge/concepts/", ".md"),
    ("index", "knowledge/index", ".md"),
    ("log", "knowledge/log", ".md"),
    ("list of sessions", "sessions/INDEX.md", ""),
    ("month of sessions", "sessions/INDEX-", ".md"),
    ("forgotten", "forgotten", ".md"),
    ("settings", "memtree", ".toml"),
    ("README", "README", ".md"),
    (".gitignore", ".gitignore", ""),
];

/// Where the files of a kind are that are damaged: the first, and another to swap it with.
fn files_of(desk: &Desk, (_, start, end): (&str, &str, &str)) -> Vec<String> {
    let all = desk.texts().into_keys().filter(|name| !name.contains("SES2_desk"));
    let is_one = |name: &String| name.starts_with(start) && name.ends_with(end);
    all.filter(is_one).collect()
}

/// Damages a file; returns whether that can be done.
fn harm(desk: &Desk, files: &[String], damage: &str) -> bool {
    let path = |name: &String| desk.store().join(name);
    let first = path(&files[0]);
    let bytes = fs::read(&first).unwrap();
    match damage {
        "cut" => fs::write(&first, &bytes[..bytes.len() / 2 + 1]).unwrap(),
        "emptied" => fs::write(&first, "").unwrap(),
        "zeroed" => fs::write(&first, vec![0; bytes.len()]).unwrap(),
        "deleted" => fs::remove_file(&first).unwrap(),
        _ => {
            let other = files[1..].iter().find(|other| fs::read(path(other)).unwrap() != bytes);
            let Some(other) = other else { return false };
            let theirs = fs::read(path(other)).unwrap();
            fs::write(path(other), &bytes).unwrap();
            fs::write(&first, theirs).unwrap();
        }
    }
    true
}

fn copy_of(folder: &Path) -> Desk {
    let desk = Desk::in_memory().with_stopped_clock();
    desk.later(3 * 24 * 60);
    for name in ["home", "memory", "project"] {
        copy_folder(&folder.join(name), &desk.root().join(name));
    }
    // Everything was looked at.
    desk.memtree(["sweep"]).done();
    desk
}

/// One case; what went wrong, if anything did.
fn try_one(whole: &Path, kind: (&str, &str, &str), damage: &str) -> Result<&'static str, String> {
    let desk = copy_of(whole);
    let files = files_of(&desk, kind);
    if files.is_empty() {
        return Err(format!("there is no {}", kind.0));
    }
    if !harm(&desk, &files, damage) {
        return Ok("alone");
    }
    let (seen, _) = desk.memtree(["verify"]).any();
    if seen == Some(0) {
        return Err(format!("{} {damage} ({}): verify sees nothing", kind.0, files[0]));
    }
    let _ = desk.memtree(["sweep"]).any();
    let (swept, _) = desk.memtree(["verify"]).any();
    let by = if swept == Some(0) { "sweep" } else { "doctor" };
    if swept != Some(0) {
        let _ = desk.memtree(["doctor", "--fix", "--yes"]).any();
        let (proof, told) = desk.memtree(["verify"]).any();
        if proof != Some(0) {
            return Err(format!("{} {damage} ({}): {}", kind.0, files[0], told.told()));
        }
    }
    if !desk.digest_text("SES2_desk_SP1C1").ends_with("by hand\n") {
        return Err(format!("{} {damage}: a person's words are gone", kind.0));
    }
    Ok(by)
}

#[test]
fn every_damage_is_seen_and_made_again() {
    let whole = whole();
    let cases: Vec<_> =
        KINDS.iter().flat_map(|kind| DAMAGES.iter().map(move |damage| (*kind, *damage))).collect();
    let (next, root) = (AtomicUsize::new(0), whole.root());
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((kind, damage)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    match try_one(root, *kind, damage) {
                        Ok(by) => println!("{} {damage}: {by}", kind.0),
                        Err(reason) => failed.lock().unwrap().push(reason),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn a_line_that_a_person_takes_out_of_a_day_comes_back_only_if_they_ask() {
    let desk = whole();
    let days = files_of(&desk, KINDS[7]);
    let day = days.into_iter().find(|day| desk.read(day).contains("bowline")).unwrap();
    let before = desk.read(&day);
    let line = before.lines().find(|line| line.contains("bowline")).unwrap().to_string();
    desk.write(&day, before.replace(&format!("{line}\n"), ""));
    desk.memtree(["sweep"]).done();
    let _ = desk.memtree(["doctor", "--fix"]).any();
    assert!(!desk.read(&day).contains(&line));
    desk.memtree(["verify"]).code(1).stdout_has(&day);
    let _ = desk.memtree(["doctor", "--fix", "--yes"]).any();
    assert_eq!(desk.read(&day), before);
    desk.memtree(["verify"]).success();
}

#[test]
fn raw_that_is_not_what_was_captured_is_not_evicted() {
    let desk = whole();
    let raw = files_of(&desk, KINDS[5]).remove(0);
    desk.write(&raw, "garbage\n");
    fs::remove_dir_all(desk.home().join(".claude")).unwrap();
    let session = raw.split('/').nth(1).unwrap().to_string();
    let _ = desk.memtree(["digest", "--all"]).any();
    let _ = desk.memtree(["retain", "--soft-cap", "1kB", "--hard-cap", "2kB"]).any();
    let episode = format!("sessions/{session}/snapshot/episodic/EP_001.md");
    assert!(desk.store().join(&episode).exists(), "{session}");
    assert!(!desk.digest_text(&session).contains("snapshot: evicted"));
}

#[test]
fn facts_that_are_not_those_of_raw_are_named_and_mended() {
    let desk = whole();
    let page = desk.digest_path("SES1_desk_SP1C1");
    let before = desk.read(&page);
    for (key, other) in [
        ("turns", "99"),
        ("started", "2020-01-01T00:00:00Z"),
        ("flavor", "codex"),
        ("episodes", "EP_001 - EP_900"),
    ] {
        let line = before.lines().find(|line| line.starts_with(&format!("{key}: "))).unwrap();
        desk.write(&page, before.replacen(line, &format!("{key}: {other}"), 1));
        desk.memtree(["verify", "--deep"]).code(1).stdout_has(&page);
        let _ = desk.memtree(["doctor", "--fix", "--yes"]).any();
        assert_eq!(desk.read(&page), before, "{key}");
        desk.memtree(["verify", "--deep"]).success();
    }
}

#[test]
fn one_other_letter_in_a_list_and_another_file_in_place_of_one_are_seen_and_made_good() {
    let desk = whole();
    desk.write("patterns/RETRO.md", "# Retro\n\n- looked back on the harbour\n");
    desk.write("patterns/measure.jsonl", "{\"measured\":1}\n");
    desk.memtree(["sweep"]).done();
    desk.memtree(["verify"]).success();
    let digest = desk.digest_text("SES1_desk_SP1C1");
    let index = desk.read("sessions/INDEX.md");
    for (name, other) in [
        ("sessions/INDEX.md", Some(index.replacen("SES1", "SES8", 1))),
        ("patterns/RETRO.md", None),
        ("patterns/measure.jsonl", None),
        (".gitignore", Some(digest)),
    ] {
        let before = desk.read(name);
        match &other {
            Some(other) => desk.write(name, other),
            None => fs::remove_file(desk.store().join(name)).unwrap(),
        }
        desk.memtree(["verify"]).code(1).stdout_has(name);
        let _ = desk.memtree(["sweep"]).any();
        let _ = desk.memtree(["doctor", "--fix", "--yes"]).any();
        assert_eq!(desk.read(name), before, "{name}");
        desk.memtree(["verify"]).success();
    }
}

#[test]
fn what_was_taken_out_of_a_digest_is_named_and_comes_back_only_if_they_ask() {
    let desk = whole();
    let page = desk.digest_path("SES1_desk_SP1C1");
    let before = desk.read(&page);
    let trigger = before.lines().find(|line| line.contains("| keys: ")).unwrap().to_string();
    let from = before.find("## ⚡").unwrap();
    let to = from + 1 + before[from + 1..].find("\n## ").unwrap() + 1;
    let block = before.find("<!-- memtree").unwrap();
    let block_end = block + before[block..].find("-->").unwrap() + 4;
    for (what, damaged) in [
        ("a section", format!("{}{}", &before[..from], &before[to..])),
        ("a line", before.replace(&format!("{trigger}\n"), "")),
        ("the block", format!("{}{}", &before[..block], &before[block_end..])),
    ] {
        desk.write(&page, &damaged);
        desk.memtree(["verify"]).success().stdout_has(&page);
        desk.memtree(["sweep"]).done();
        let (_, listed) = desk.memtree(["doctor", "--fix"]).any();
        assert!(listed.stdout.contains(&page), "{what}: {}", listed.stdout);
        let _ = desk.memtree(["doctor", "--fix", "--yes"]).any();
        assert_eq!(without_ticks(&desk.read(&page)), without_ticks(&before), "{what}");
        let proof = desk.memtree(["verify"]).success();
        assert!(!proof.stdout.contains(&page), "{what}: {}", proof.stdout);
    }
}

/// A digest without what only tells whether its last box is ours to tick, and without empty lines.
fn without_ticks(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.is_empty() && !line.contains("readiness-section"));
    lines.collect::<Vec<_>>().join("\n")
}
