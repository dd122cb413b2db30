//! A person edits pages while memtree writes them, in every way in which editors save: no edit is
//! ever lost. With `MEMTREE_EDITS=1000`, as `just long` has it, a thousand of each way, also beside
//! a watch.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::{Desk, exchange};

/// How an editor saves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Saving {
    /// It writes another file and renames it, as vim and VS Code do.
    Rename,
    /// It empties the file and writes it, as nano does.
    InPlace,
    /// It adds to the end, as `>>` does.
    Append,
}

fn edits() -> usize {
    std::env::var("MEMTREE_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(45)
}

fn is_long() -> bool {
    std::env::var_os("MEMTREE_EDITS").is_some()
}

/// What the n-th edit adds to a page.
fn line(page: &Path, number: usize) -> String {
    match page.parent().is_some_and(|folder| folder.ends_with("daily/raw")) {
        true => format!("- [09:00:00] [user] (person) edit {number}.\n"),
        false => format!("edit {number}.\n"),
    }
}

/// Edits a page once, as an editor does that opens, changes and saves it.
fn edit(page: &Path, saving: Saving, number: usize) -> bool {
    let line = line(page, number);
    if saving == Saving::Append {
        let Ok(mut file) = fs::File::options().append(true).open(page) else { return false };
        file.write_all(line.as_bytes()).unwrap();
        return true;
    }
    let Ok(mut text) = fs::read_to_string(page) else { return false };
    let in_front = number.is_multiple_of(3) && text.starts_with("---\n");
    match in_front {
        true => {
            text = text.replacen("\n---\n", &format!("\nmine-{number}: edit {number}.\n---\n"), 1)
        }
        false => text.push_str(&line),
    }
    if saving == Saving::Rename {
        let other = page.with_extension("swp");
        fs::write(&other, text).unwrap();
        fs::rename(other, page).unwrap();
    } else {
        // In two pieces, as a long page is written.
        let mut file = fs::File::create(page).unwrap();
        let (one, two) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(one).unwrap();
        file.write_all(two).unwrap();
    }
    true
}

const ONE: &str = "5e55ee01-0000-4000-8000-000000000001";

fn grow(desk: &Desk, minute: usize) {
    let more = exchange(
        ONE,
        minute as u32 % 600,
        &format!("And what about part {minute}?"),
        &format!("Decided: part {minute} is done the same way."),
    );
    let log = fs::File::options().append(true).create(true).open(desk.log_path(ONE));
    log.unwrap().write_all(more.as_bytes()).unwrap();
}

/// Edits pages in turn while `meanwhile` goes on, until all edits are made; then none of them may
/// be missing.
fn check(desk: &Desk, pages: &[PathBuf], saving: Saving, meanwhile: impl Fn(usize)) {
    let done = AtomicBool::new(false);
    let made = std::thread::scope(|scope| {
        let person = scope.spawn(|| {
            let mut made: Vec<(usize, &PathBuf)> = Vec::new();
            for number in 0.. {
                if made.len() == edits() {
                    break;
                }
                let page = &pages[number % pages.len()];
                if edit(page, saving, number) {
                    made.push((number, page));
                }
                std::thread::sleep(Duration::from_millis(4 + (number % 7) as u64 * 3));
            }
            done.store(true, Ordering::SeqCst);
            made
        });
        for round in 1.. {
            meanwhile(round);
            if done.load(Ordering::SeqCst) {
                break;
            }
        }
        person.join().unwrap()
    });
    desk.memtree(["sweep"]).done();
    let is_lost = |(number, page): &(usize, &PathBuf)| {
        let text = fs::read_to_string(page).unwrap();
        !text.lines().any(|line| line.ends_with(&format!("edit {number}.")))
    };
    let lost: Vec<_> = made.iter().filter(|one| is_lost(one)).collect();
    println!("{saving:?}: {} edits, {} lost", made.len(), lost.len());
    assert!(lost.is_empty(), "{saving:?}: {lost:?} of {}", made.len());
    for page in pages {
        let left = fs::read_dir(page.parent().unwrap()).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        let is_left = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(".memtree-");
        assert!(!left.iter().any(is_left), "{left:?}");
    }
}

/// A desk with a memory, and the pages of its first session.
fn desk() -> (Desk, Vec<PathBuf>) {
    let desk = Desk::in_memory();
    fs::create_dir_all(desk.log_path(ONE).parent().unwrap()).unwrap();
    grow(&desk, 1);
    desk.memtree(["sweep"]).done();
    let day = fs::read_dir(desk.store().join("daily/raw")).unwrap().next().unwrap().unwrap();
    let summary = desk.store().join("daily/summary").join(day.file_name());
    assert!(summary.exists());
    let digest = desk.store().join(desk.digest_path(&desk.sessions()[0]));
    let pages = vec![digest.clone(), day.path(), digest, summary];
    (desk, pages)
}

fn beside_sweeps(saving: Saving) {
    let (desk, pages) = desk();
    check(&desk, &pages, saving, |round| {
        grow(&desk, round + 1);
        desk.memtree(["sweep"]).done();
    });
    let turns = desk.digest(&desk.sessions()[0]).content.turns;
    assert!(turns > 1, "{turns} turns");
}

#[test]
fn edits_by_renaming_beside_sweeps_are_kept() {
    beside_sweeps(Saving::Rename);
}

#[test]
fn edits_in_place_beside_sweeps_are_kept() {
    beside_sweeps(Saving::InPlace);
}

#[test]
fn edits_by_appending_beside_sweeps_are_kept() {
    beside_sweeps(Saving::Append);
}

#[test]
fn edits_beside_a_watch_are_kept() {
    if !is_long() {
        return beside_a_watch(Saving::Rename, 20);
    }
    for saving in [Saving::Rename, Saving::InPlace, Saving::Append] {
        beside_a_watch(saving, usize::MAX);
    }
}

/// The watch sweeps whenever the log grows; a few rounds are enough where time is short.
fn beside_a_watch(saving: Saving, most: usize) {
    let (desk, pages) = desk();
    let settings = desk.home().join(".config/memtree/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, "[watch]\ndebounce_seconds = 1\n").unwrap();
    let mut watch = desk.start(["watch", "--quiet"]);
    check(&desk, &pages, saving, |round| {
        if round < most {
            grow(&desk, round + 1);
        }
        std::thread::sleep(Duration::from_millis(150));
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&watch),
        rustix::process::Signal::INT,
    )
    .unwrap();
    watch.wait().unwrap();
}

#[test]
fn edits_of_a_day_beside_log_are_kept() {
    for saving in [Saving::Rename, Saving::InPlace, Saving::Append] {
        let (desk, _) = desk();
        desk.memtree(["log", "user", "the first line"]).success();
        let days = fs::read_dir(desk.store().join("daily/raw")).unwrap().flatten();
        let day = days.map(|entry| entry.path()).max().unwrap();
        check(&desk, std::slice::from_ref(&day), saving, |round| {
            desk.memtree(["log", "user", &format!("line {round} of the log")]).success();
        });
    }
}

#[test]
fn edits_of_memory_and_cores_beside_consolidation_are_kept() {
    for saving in [Saving::Rename, Saving::InPlace, Saving::Append] {
        let desk = Desk::in_memory();
        for number in 1..=8 {
            let id = format!("5e55ee01-0000-4000-8000-{number:012}");
            let words = exchange(&id, number, "Which knot?", "Decided: always the bowline.");
            desk.write_log(&id, words);
        }
        desk.later(600);
        desk.memtree(["sweep"]).done();
        let pages: Vec<PathBuf> = ["MEMORY.md", "CORE_desk_SP1C1.md"]
            .map(|name| desk.store().join("core").join(name))
            .into_iter()
            .filter(|page| page.exists())
            .collect();
        assert!(!pages.is_empty());
        let digest = desk.store().join(desk.digest_path(&desk.sessions()[0]));
        check(&desk, &pages, saving, |round| {
            // A digest that looks different makes the core anew.
            edit(&digest, Saving::Append, 100_000 + round);
            desk.memtree(["consolidate"]).done();
        });
    }
}

#[test]
fn a_page_that_a_person_removes_comes_back_without_what_it_held() {
    let (desk, pages) = desk();
    edit(&pages[0], Saving::Append, 7);
    fs::remove_file(&pages[0]).unwrap();
    grow(&desk, 2);
    desk.memtree(["sweep"]).done();
    assert!(!fs::read_to_string(&pages[0]).unwrap().contains("edit 7."));
}

#[test]
fn a_page_that_an_editor_has_just_emptied_is_not_taken_for_an_edit() {
    let (desk, pages) = desk();
    edit(&pages[0], Saving::Append, 7);
    let text = fs::read_to_string(&pages[0]).unwrap();
    // The editor holds the page, empty, until after the sweep.
    let mut held = fs::File::create(&pages[0]).unwrap();
    grow(&desk, 2);
    desk.memtree(["sweep"]).done();
    held.write_all(text.as_bytes()).unwrap();
    drop(held);
    desk.memtree(["sweep"]).done();
    let now = fs::read_to_string(&pages[0]).unwrap();
    assert!(now.contains("edit 7.") && now.contains("turns: 2"), "{now}");
}

#[test]
fn pages_with_other_line_ends_and_marks_stay_so() {
    for (name, change) in [
        ("windows", (|text| text.replace('\n', "\r\n")) as fn(String) -> String),
        ("mark", |text| format!("\u{feff}{text}")),
    ] {
        let (desk, pages) = desk();
        for page in &pages[1..] {
            edit(page, Saving::Append, 7);
            let text = fs::read_to_string(page).unwrap();
            if !text.contains('\r') && !text.starts_with('\u{feff}') {
                fs::write(page, change(text)).unwrap();
            }
        }
        grow(&desk, 2);
        desk.memtree(["sweep"]).done();
        for page in &pages[1..] {
            let now = fs::read_to_string(page).unwrap();
            assert!(now.contains("edit 7."), "{name}: {now}");
            assert_eq!(now.starts_with('\u{feff}'), name == "mark", "{name}: {now}");
        }
        let digest = fs::read_to_string(&pages[0]).unwrap();
        assert!(digest.contains("turns: 2"), "{name}: {digest}");
        assert_eq!(desk.digest(&desk.sessions()[0]).content.turns, 2, "{name}: {digest}");
    }
}
