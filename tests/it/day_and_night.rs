//! A day and a night of use, in minutes: two devices with one memory in git, agents at work on
//! both, a person who edits, logs, searches and flushes. After every hour `verify` passes on both,
//! and in the end they hold the same.

use std::fs;

use crate::harness::{Desk, exchange};

const HOURS: u32 = 24;

/// What an agent said at an hour of the simulated day, which begins at noon.
fn said(id: &str, hour: u32, minute: u32, prompt: &str) -> String {
    let (day, hour) = (15 + (12 + hour) / 24, (12 + hour) % 24);
    let reply = format!("Decided: knot {hour} it is, because the rope of {prompt} is wet.");
    exchange(id, minute, prompt, &reply)
        .replace("2026-11-15T11:", &format!("2026-11-{day}T{hour:02}:"))
}

fn id(device: u32, number: u32) -> String {
    format!("{device:08}-0000-4000-8000-{number:012}")
}

fn one_hour(desk: &Desk, device: u32, hour: u32) {
    // A new session every other hour; the others go on.
    let session = id(device, hour / 2);
    let before = fs::read_to_string(desk.log_path(&session)).unwrap_or_default();
    desk.write_log(
        &session,
        before + &said(&session, hour, 5, &format!("the mooring {device}-{hour}")),
    );
    desk.later(20);
    desk.memtree(["sweep"]).success();
    match hour % 6 {
        0 => drop(desk.memtree(["log", "user", &format!("tide table read at {hour}")]).success()),
        1 => drop(desk.memtree(["flush"]).success()),
        2 => {
            // Both people write into the same digests, one of them into those of the other.
            for name in desk
                .sessions()
                .into_iter()
                .filter(|name| desk.store().join(desk.digest_path(name)).exists())
            {
                let text = desk.digest_text(&name);
                desk.write(
                    desk.digest_path(&name),
                    text + &format!("- note of hour {hour} on desk {device}\n"),
                );
            }
        }
        3 => drop(desk.memtree(["retain", "--max-age-days", "1", "--soft-cap", "20kB"]).success()),
        4 => {
            desk.memtree(["summarize", "--pending"]).success();
            // Both people write into the summary of the same day, before either has seen the
            // other's words.
            for summary in desk.summaries() {
                desk.write(
                    &summary,
                    desk.read(&summary)
                        + &format!("\n- hour {hour} on desk {device}: mind the tide\n"),
                );
            }
            desk.memtree(["compile"]).done();
        }
        _ => drop(desk.memtree(["search", "mooring rope"]).success().stdout_has("mooring")),
    }
    desk.later(40);
}

fn share(desk: &Desk) {
    desk.git(["add", "--all"]);
    desk.git(["commit", "--quiet", "--allow-empty", "--message", "an hour"]);
    // Plain git, which knows how pages are joined: what two devices write must never conflict.
    desk.git(["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    desk.git(["push", "--quiet", "origin", "HEAD:main"]);
}

#[test]
fn every_hour_of_a_day_on_two_devices_is_proved() {
    let left = Desk::in_memory().on_device("left");
    let right = Desk::in_memory().on_device("right");
    let shared = left.root().join("shared.git");
    left.memtree(["init"]).success();
    left.git(["init", "--quiet", "--initial-branch=main"]);
    left.git(["init", "--quiet", "--bare", "--initial-branch=main", shared.to_str().unwrap()]);
    left.git(["remote", "add", "origin", shared.to_str().unwrap()]);
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "a memory"]);
    left.git(["push", "--quiet", "origin", "HEAD:main"]);
    left.git(["clone", "--quiet", shared.to_str().unwrap(), right.store().to_str().unwrap()]);
    for desk in [&left, &right] {
        desk.memtree(["init"]).success().stderr_has("`memtree merge-file` is registered");
    }
    for hour in 0..HOURS {
        // Both work at the same time; then one after the other shares what it has.
        one_hour(&left, 1, hour);
        one_hour(&right, 2, hour);
        for desk in [&left, &right, &left] {
            share(desk);
            let proof = desk.memtree(["verify", "--deep", "--json"]);
            let proof = proof.success().json();
            assert_eq!(proof["gaps"], serde_json::json!([]), "hour {hour}: {proof}");
        }
    }
    share(&left);
    share(&right);
    for desk in [&left, &right] {
        desk.later(60);
        desk.memtree(["sweep"]).success();
        desk.memtree(["verify", "--deep"]).success().stdout_has("nothing is missing");
        desk.memtree(["search", "mooring 1-0"]).success().stdout_has("left");
        desk.memtree(["search", "mooring 2-0"]).success().stdout_has("right");
    }
    for note in (0..HOURS).filter(|hour| hour % 6 == 4).flat_map(|hour| [(hour, 1), (hour, 2)]) {
        let words = format!("hour {} on desk {}: mind the tide", note.0, note.1);
        for desk in [&left, &right] {
            let holding =
                desk.summaries().iter().filter(|path| desk.read(path).contains(&words)).count();
            assert!(holding > 0, "a person's words are gone: {words}");
        }
    }
    for desk in [&left, &right] {
        desk.memtree(["doctor", "--secrets"]).success();
        for hour in (0..HOURS).filter(|hour| hour % 6 == 2) {
            for number in [1, 2] {
                let note = format!("- note of hour {hour} on desk {number}");
                let noted = desk
                    .sessions()
                    .iter()
                    .filter(|name| desk.digest_text(name).contains(&note))
                    .count();
                assert!(noted > 0, "{note} is gone");
            }
        }
    }
    let sessions: Vec<_> = left.sessions();
    assert_eq!(sessions, right.sessions());
    assert_eq!(sessions.len(), HOURS as usize);
}
