//! What an agent waits for when it calls a hook.

use std::fmt::Write;
use std::time::Duration;
use std::{fs, thread};

use chrono::NaiveDate;
use memtree::internals::store::layout::Layout;

use crate::process::{cost, cost_with_input, floor, memtree};
use crate::{BoxError, Desk, Table, cpu, digests, wall};

const EVENTS: &[&str] =
    &["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SessionEnd"];
const ROUNDS: u32 = 25;

/// Measures `--help` and every event, against a process that does nothing.
pub fn measure(desk: &Desk, table: &mut Table) -> Result<(), BoxError> {
    write_pages(desk.store.layout())?;
    let folder = desk.folder.join(digests::PROJECT);
    fs::create_dir_all(&folder)?;
    let mut nothing = Vec::new();
    let mut help = Vec::new();
    for _ in 0..ROUNDS {
        nothing.push(cost(&mut floor("none", [])?)?);
        help.push(cost(memtree(desk.root()).arg("--help"))?);
    }
    let mut add = |work: &str, goal: &str, costs: &[crate::Cost]| {
        table.add(desk.number, &format!("{work}: CPU"), "", cpu(&nothing, 0.5), cpu(costs, 0.5));
        table.add(desk.number, &format!("{work}: waiting"), goal, wall(&nothing), wall(costs));
    };
    add("`--help`", "5 ms", &help);
    for event in EVENTS {
        let mut costs = Vec::new();
        for round in 0..ROUNDS {
            // A session of its own each time: nothing was injected before.
            let input = serde_json::json!({
                "session_id": format!("{event}-{round}"), "cwd": folder, "hook_event_name": event,
                "transcript_path": desk.folder.join("none.jsonl"), "source": "startup", "reason": "other",
                "prompt": format!("why did {} fail after the change?", desk.queries[round as usize % desk.queries.len()]),
            });
            let mut hook = memtree(desk.root());
            hook.args(["hook", "claude", event]).env("MEMTREE_NOW", "2026-11-16T12:00:00Z");
            costs.push(cost_with_input(&mut hook, &input.to_string())?);
            // Two of them leave a sweep of nothing behind, which is not to be in the way of the
            // next.
            if matches!(*event, "PreCompact" | "SessionEnd") {
                thread::sleep(Duration::from_millis(150));
            }
        }
        add(&format!("hook {event}"), "25 ms", &costs);
    }
    Ok(())
}

/// The pages that a session begins with: what is known, and the days.
fn write_pages(layout: &Layout) -> Result<(), BoxError> {
    let mut page = String::from("# Memory\n\n## Decisions\n");
    for number in 0..180 {
        let _ = writeln!(page, "- {}", digests::sentence(number));
    }
    let today = NaiveDate::from_ymd_opt(2026, 11, 16).ok_or("no day")?;
    let yesterday = today.pred_opt().ok_or("no day")?;
    for path in [layout.memory_page(), layout.summary(today), layout.summary(yesterday)] {
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(path, &page)?;
    }
    Ok(())
}
