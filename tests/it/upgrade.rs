//! A memory of format 1 is written anew by the first sweep: once, around edits, and also after a
//! kill.

use std::fs;

use crate::harness::{Desk, assert_same, checkout, copy_folder};

/// A desk whose memory was made by a program that wrote format 1.
fn old_desk() -> Desk {
    let desk = Desk::new().with_stopped_clock();
    copy_folder(&checkout().join("tests/fixtures/format-1/memory"), &desk.store());
    desk
}

/// Edits every digest in another way; returns what has to be there afterwards, by session.
fn edit(desk: &Desk) -> Vec<(String, Vec<&'static str>)> {
    let mut kept = Vec::new();
    for (at, session) in desk.sessions().into_iter().enumerate() {
        let page = desk.digest_text(&session);
        let (edited, lines): (String, Vec<&str>) = match at {
            0 => (page + "my own note\n", vec!["## Notes\nmy own note\n"]),
            1 => (
                page.replacen("\ntitle: ", "\nmood: good\ntitle: My own title, not ", 1),
                vec!["\nmood: good\n", "\ntitle: My own title, not "],
            ),
            2 => (
                page.replacen("- **Core Intent**: ", "- **Core Intent**: what I meant: ", 1),
                vec!["- **Core Intent**: what I meant: "],
            ),
            _ => (
                page.replacen("## Notes\n", "## Mine\n- a section\n\n## Notes\nlast\n", 1),
                vec!["## Mine\n- a section\n", "## Notes\nlast\n"],
            ),
        };
        desk.write(desk.digest_path(&session), edited);
        kept.push((session, lines));
    }
    kept
}

#[test]
fn every_page_is_written_anew_around_edits() {
    let desk = old_desk();
    let kept = edit(&desk);
    assert_eq!(kept.len(), 4);
    let swept = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(swept["upgraded"], 4, "{swept}");
    for (session, lines) in &kept {
        let page = desk.digest_text(session);
        assert!(page.contains("schema: memtree/digest/2\n"), "{page}");
        for line in lines {
            assert!(page.contains(line), "no `{line}` in\n{page}");
        }
        // A line for every part, and no trigger with more than twelve keys; where raw was evicted,
        // from what the page said.
        let content = desk.digest(session).content;
        assert!(!content.index.is_empty(), "{page}");
        assert!(content.triggers.iter().all(|trigger| trigger.keys.len() <= 12), "{page}");
        assert!(page.contains("\n<!-- memtree:\n"), "{page}");
        let front = page.split("\n---\n").next().unwrap();
        assert!(!front.contains("written:") && front.contains("\ndate: 2026-"), "{page}");
    }
    assert!(desk.read("memtree.toml").contains("\nformat = 2\n"));
    desk.memtree(["verify"]).success();
    // Nothing is left to do.
    let before = desk.tree();
    let again = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(again["upgraded"], serde_json::Value::Null, "{again}");
    assert_same(&before, &desk.tree(), "a second sweep");
    // Nor after the caches were deleted.
    fs::remove_dir_all(desk.store().join(".memtree/cache")).unwrap();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "a sweep without caches");
}

#[test]
fn pages_of_another_device_are_read_as_they_are() {
    let desk = old_desk().on_device("laptop");
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    let after = desk.tree();
    let changed = before.difference(&after);
    assert!(!changed.iter().any(|name| name.contains("_DIGEST.md")), "{changed:?}");
    let hits = desk.memtree(["search", "EWOULDBLOCK lock", "--json"]).success().json();
    assert!(!hits["hits"].as_array().unwrap().is_empty(), "{hits}");
}

#[test]
fn a_kill_in_the_middle_heals() {
    let whole = old_desk();
    edit(&whole);
    whole.memtree(["sweep"]).success();
    for point in [1, 4, 9, 16, 25, 40] {
        let desk = old_desk();
        edit(&desk);
        let mut command = desk.command(&["sweep".into()]);
        command.env("MEMTREE_FAULT", format!("kill:{point}"));
        command.output().unwrap();
        desk.memtree(["sweep"]).success();
        assert_same(&whole.tree(), &desk.tree(), &format!("killed at {point}"));
        desk.memtree(["verify"]).success();
    }
}

#[test]
fn sessions_are_listed_by_month_and_by_the_list_command() {
    let desk = old_desk();
    desk.memtree(["sweep"]).success();
    let index = desk.read("sessions/INDEX.md");
    assert!(index.starts_with("# Sessions\n\n- [2026-"), "{index}");
    let listed = desk.memtree(["list", "--json"]).success().json();
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 4, "{listed}");
    for one in sessions {
        let month = &one["date"].as_str().unwrap()[..7];
        let page = desk.read(format!("sessions/INDEX-{month}.md"));
        let session = one["session"].as_str().unwrap();
        let link = format!("[{session}]({session}/{session}_DIGEST.md)");
        assert!(page.contains(&link) && index.contains(&link), "{page}");
    }
    let newest = sessions[0]["date"].as_str().unwrap();
    let since = desk.memtree(["list", "--since", newest, "--json"]).success().json();
    let since = since["sessions"].as_array().unwrap().len();
    assert!((1..4).contains(&since), "{listed}");
    let none = desk.memtree(["list", "--project", "nowhere"]).success();
    none.stderr_has("no session fits");
    desk.memtree(["list", "--status", "great"]).code(2).stderr_has("partial");
    // What git joined is put in order by the next command, and nothing else is written.
    let month = &newest[..7];
    let page = desk.read(format!("sessions/INDEX-{month}.md"));
    let line = page.lines().find(|line| line.starts_with("- ")).unwrap();
    desk.write(format!("sessions/INDEX-{month}.md"), format!("{page}{line}\n"));
    desk.memtree(["consolidate"]).success();
    assert_eq!(desk.read(format!("sessions/INDEX-{month}.md")), page);
}
