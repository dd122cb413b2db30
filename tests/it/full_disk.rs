//! A disk that is really full: a small one in memory, of which nothing but the memory is on it.
//! Whatever was being done is told to have failed, what was there stays, and the rest is done once
//! there is room.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Desk, Tree, assert_same, exchange};

/// The size of the disk.
const SIZE: &str = "6m";

/// A file system of its own, gone with this value.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one over a folder, which takes root.
    fn at(path: &Path) -> Disk {
        fs::create_dir_all(path).unwrap();
        let size = format!("size={SIZE}");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
        let output = mount.expect("there is a program `mount`");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "no disk can be mounted: {error}");
        Disk(path.to_path_buf())
    }

    fn filler(&self) -> PathBuf {
        self.0.join(".filler.tmp")
    }

    /// Leaves no more room than this.
    fn fill_but(&self, room: u64) {
        let mut filler = File::create(self.filler()).unwrap();
        let piece = [0; 4096];
        let mut written = 0;
        while filler.write_all(&piece).is_ok() {
            written += piece.len() as u64;
        }
        filler.set_len(written.saturating_sub(room)).unwrap();
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn id(number: u32) -> String {
    format!("abababab-0000-4000-8000-{number:012}")
}

fn write_logs(desk: &Desk, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let reply = format!(
            "Around the tree number {number}. {}",
            "And back again through the bight. ".repeat(40)
        );
        desk.write_log(
            &id(number),
            exchange(&id(number), number, "How do I tie a bowline?", &reply),
        );
    }
}

/// A desk whose memory lies on a small disk, with some sessions in it and work that waits.
fn desk() -> (Desk, Disk) {
    let desk = Desk::new().with_stopped_clock();
    let disk = Disk::at(&desk.store());
    write_logs(&desk, 1..=8);
    desk.later(120);
    desk.memtree(["sweep"]).success();
    desk.memtree(["search", "bowline"]).success();
    write_logs(&desk, 9..=16);
    let grown = fs::read_to_string(desk.log_path(&id(1))).unwrap();
    desk.write_log(&id(1), grown + &exchange(&id(1), 40, "And a sheet bend?", "For two ropes."));
    (desk, disk)
}

/// The tree without what fills the disk.
fn tree(desk: &Desk) -> Tree {
    let mut tree = desk.tree();
    tree.0.retain(|path, _| path != Path::new(".filler.tmp"));
    tree
}

/// As root: `cargo test --test it full_disk -- --ignored`
#[test]
#[ignore = "mounts a small disk, which takes root"]
fn a_full_disk_is_told_and_the_rest_is_done_when_there_is_room() {
    let prepared = |command: &[&str], desk: &Desk| {
        if command[0] == "consolidate" {
            desk.memtree(["sweep"]).success();
            let _ = fs::remove_dir_all(desk.store().join("core"));
        }
        if command[0] == "search" {
            let _ = fs::remove_dir_all(desk.store().join(".memtree/cache"));
        }
    };
    let mut failures = 0;
    for command in [
        &["sweep"][..],
        &["flush"],
        &["consolidate"],
        &["search", "bowline"],
        &["log", "user", "the tide is in"],
        &["retain", "--soft-cap", "4kB"],
        &["forget", "SES2_desk_SP1C1", "--yes"],
    ] {
        let whole = {
            let (desk, _disk) = desk();
            prepared(command, &desk);
            desk.memtree(command).success();
            desk.memtree(["sweep"]).success();
            tree(&desk)
        };
        for room in [0, 8 << 10, 48 << 10] {
            let (desk, disk) = desk();
            prepared(command, &desk);
            let before = desk.texts();
            disk.fill_but(room);
            let when = format!("{}, {room} bytes free", command.join(" "));
            let (code, told) = desk.memtree(command).any();
            let told = told.told();
            assert!(matches!(code, Some(0 | 1)), "{when}: {told}");
            if code == Some(1) {
                failures += 1;
                assert!(told.contains("error: cannot"), "{when}: {told}");
                assert!(
                    told.to_lowercase().contains("no space left") || told.contains("storage space"),
                    "{when}: {told}"
                );
            }
            // What can be read still is, with no room at all.
            desk.memtree(["search", "bowline", "--limit", "3"]).success().stdout_has("SES");
            let recalled = desk.memtree(["recall", "SES4_desk_SP1C1#EP_001"]).success();
            assert!(
                command[0] == "retain" || recalled.stdout.contains("number 4"),
                "{when}: {}",
                recalled.told()
            );
            let now = desk.texts();
            for (name, text) in before.iter().filter(|(name, _)| name.contains("/snapshot/raw/")) {
                let asked_to_go = command[0] == "forget" || command[0] == "retain";
                let there = now.get(name).is_some_and(|now| now.starts_with(text));
                assert!(there || asked_to_go, "{when}: {name} is gone");
            }
            disk.make_room();
            desk.memtree(command).done();
            desk.memtree(["sweep"]).success();
            desk.memtree(["verify", "--deep"]).success();
            if command[0] != "log" {
                assert_same(&whole, &tree(&desk), &when);
            }
        }
    }
    assert!(failures >= 6, "only {failures} commands found the disk full");
}

/// As root: `cargo test --test it full_disk -- --ignored`
#[test]
#[ignore = "mounts a small disk, which takes root"]
fn a_disk_that_fills_during_a_merge_loses_nothing() {
    let mut failures = 0;
    for room in [0, 16 << 10, 64 << 10, 160 << 10] {
        let [left, right] = ["left", "right"].map(|name| Desk::new().on_device(name));
        let shared = left.root().join("shared.git");
        let shared = shared.to_str().unwrap();
        for desk in [&left, &right] {
            let who = "[user]\n\tname = desk\n\temail = desk@example.org\n";
            fs::write(desk.home().join(".gitconfig"), who).unwrap();
        }
        left.memtree(["init"]).success();
        left.git(["init", "--quiet", "--initial-branch=main"]);
        left.git(["init", "--quiet", "--bare", "--initial-branch=main", shared]);
        left.git(["remote", "add", "origin", shared]);
        left.memtree(["log", "user", "before"]).success();
        left.memtree(["sync"]).success();
        let disk = Disk::at(&right.store());
        right.git(["init", "--quiet", "--initial-branch=main"]);
        right.git(["remote", "add", "origin", shared]);
        right.git(["pull", "--quiet", "origin", "main"]);
        right.memtree(["sync"]).success();
        write_logs(&left, 1..=8);
        left.memtree(["sweep"]).success();
        left.memtree(["log", "user", "from the left"]).success();
        left.memtree(["sync"]).success();
        let there = left.git(["rev-parse", "HEAD"]);
        right.memtree(["log", "user", "from the right"]).success();
        disk.fill_but(room);
        let (code, told) = right.memtree(["sync"]).any();
        let told = told.told();
        assert!(matches!(code, Some(0 | 1)), "{room}: {told}");
        if code == Some(1) {
            failures += 1;
            assert!(told.contains("error: cannot"), "{room}: {told}");
            let said = left.git(["ls-remote", shared, "main"]);
            assert!(said.starts_with(there.trim()), "{room}: something was pushed: {said}");
        }
        let day = right.read("daily/raw/2026-11-15.md");
        assert!(day.contains("from the right"), "{room}: {day}");
        disk.make_room();
        let _ = fs::remove_file(right.store().join(".git/index.lock"));
        right.memtree(["sync"]).success();
        left.memtree(["sync"]).success();
        for desk in [&left, &right] {
            let day = desk.read("daily/raw/2026-11-15.md");
            assert!(
                day.contains("from the right") && day.contains("from the left"),
                "{room}: {day}"
            );
            assert_eq!(desk.sessions().len(), 8, "{room}");
            desk.memtree(["verify"]).success();
        }
    }
    assert!(failures >= 2, "only {failures} syncs found the disk full");
}
