//! Subagents with logs of their own: parts of the session that started them, whatever comes first.

use std::fs;
use std::path::PathBuf;

use memtree::model::digest::Worth;

use crate::harness::{Desk, Tree, assert_same, copy_folder, fixture};

const PARENT: &str = "0f0e0d0c-0000-7000-8000-000000000001";
const CHILD: &str = "0f0e0d0c-0000-7000-8000-000000000002";
const GUARDIAN: &str = "0f0e0d0c-0000-7000-8000-000000000003";

/// The rollouts of a parent, its subagent and its approval check, where Codex keeps them.
struct Rollouts(PathBuf);

impl Rollouts {
    fn on(desk: &Desk) -> Rollouts {
        let folder = desk.home().join(".codex");
        copy_folder(&fixture("codex", "subagent"), &folder);
        Rollouts(folder.join("sessions/2026/11/15"))
    }

    fn path(&self, id: &str) -> PathBuf {
        let mut names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        names.find(|path| path.to_string_lossy().contains(id)).expect("the rollout")
    }

    /// Takes a rollout away; gives what puts it back.
    fn take(&self, id: &str) -> impl Fn() + use<> {
        let path = self.path(id);
        let text = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        move || fs::write(&path, &text).unwrap()
    }
}

#[test]
fn a_subagent_is_a_part_of_the_session_that_started_it() {
    for agent in ["codex", "qwen", "grok", "opencode", "goose"] {
        let desk = Desk::new();
        let folder = desk.project().join("logs");
        copy_folder(&fixture(agent, "subagent"), &folder);
        let source = format!("{agent}={}", folder.display());
        desk.memtree(["sweep", "--source", &source]).success();
        let sessions = desk.sessions();
        assert_eq!(sessions.len(), 1, "{agent}: {sessions:?}");
        let content = desk.digest(&sessions[0]).content;
        assert_eq!((content.worth, &content.part_of), (Worth::Full, &None), "{agent}");
        let page = desk.read(format!("sessions/{}/snapshot/episodic/EP_001.md", sessions[0]));
        assert!(page.contains("wc -l") || page.contains("rg -n merge_lanes"), "{agent}: {page}");
        assert!(!page.contains("risk"), "an approval check is not told: {page}");
        desk.memtree(["verify", "--source", &source]).success();
        let before = desk.tree();
        desk.memtree(["sweep", "--source", &source]).success().stdout_has("1 unchanged");
        assert_same(&before, &desk.tree(), agent);
        let days = desk.texts();
        let of_days = days.iter().filter(|(name, _)| name.starts_with("daily/raw/"));
        let day: String = of_days.map(|(_, text)| text.as_str()).collect();
        assert!(day.contains("[task_agent_event]") && day.contains(") started "), "{agent}: {day}");
        assert!(day.contains(") finished "), "{agent}: {day}");
    }
}

#[test]
fn what_subagents_did_is_a_session_also_where_its_own_log_is_gone() {
    let desk = Desk::new().with_log("claude", "subagents_folder");
    let id = "5e550005-0000-4000-8000-000000000001";
    fs::remove_file(desk.log_path(id)).unwrap();
    let swept = desk.memtree(["sweep", "--json"]).code(3).json();
    let skipped = swept["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 1, "{swept:#}");
    let reason = skipped[0]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("`{id}.jsonl` is missing")), "{reason}");
    let session = desk.session_of(&format!("claude:{id}"));
    let content = desk.digest(&session).content;
    let task = "List all callers of Store::open with file and line";
    assert!(content.title.contains("callers of Store::open"), "{}", content.title);
    assert!(content.objective.contains(task), "{}", content.objective);
    assert_eq!(content.worth, Worth::Full);
    assert_eq!(content.project.as_deref(), Some("demo"));
    assert_eq!(content.branch.as_deref(), Some("main"));
}

#[test]
fn what_was_captured_apart_is_left_to_its_parent() {
    let desk = Desk::new();
    let rollouts = Rollouts::on(&desk);
    let back = rollouts.take(PARENT);
    desk.memtree(["sweep"]).success();
    let child = desk.session_of(&format!("codex:{CHILD}"));
    let guardian = desk.session_of(&format!("codex:{GUARDIAN}"));
    let parent_id = format!("codex:{PARENT}");
    for session in [&child, &guardian] {
        let content = desk.digest(session).content;
        assert_eq!(content.worth, Worth::None, "it changed nothing and its parent is not here");
        assert_eq!(content.part_of.as_deref(), Some(parent_id.as_str()), "and says so");
    }
    let raw = Tree::of(&desk.store().join(format!("sessions/{child}/snapshot")));
    back();
    desk.memtree(["sweep"]).success();
    let parent = desk.session_of(&parent_id);
    assert_eq!(desk.sessions().len(), 3, "the earlier ids stay");
    assert_same(
        &raw,
        &Tree::of(&desk.store().join(format!("sessions/{child}/snapshot"))),
        "its raw stays",
    );
    let page = desk.read(format!("sessions/{parent}/snapshot/episodic/EP_001.md"));
    assert!(page.contains("rg -n merge_lanes"), "the parent tells of it: {page}");
    desk.memtree(["verify"]).success();
    desk.memtree(["digest", "--all"]).success();
    assert_eq!(desk.digest(&child).content.worth, Worth::None);
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "nothing is left to do");
}

#[test]
fn a_subagent_that_changed_something_is_remembered_until_its_parent_comes() {
    let desk = Desk::new();
    let rollouts = Rollouts::on(&desk);
    let path = rollouts.path(CHILD);
    let edit = "*** Begin Patch\\n*** Update File: src/cli.py\\n@@\\n-a\\n+b\\n*** End Patch";
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(&format!(
        "{{\"timestamp\":\"2026-11-15T09:00:13.000Z\",\"type\":\"response_item\",\"payload\":\
         {{\"type\":\"custom_tool_call\",\"name\":\"apply_patch\",\"input\":\"{edit}\",\"call_id\":\
         \"k2\"}}}}\n{{\"timestamp\":\"2026-11-15T09:00:14.000Z\",\"type\":\"response_item\",\
         \"payload\":{{\"type\":\"custom_tool_call_output\",\"call_id\":\"k2\",\"output\":\
         \"Success. Updated the following files\"}}}}\n"
    ));
    fs::write(&path, &text).unwrap();
    let back = rollouts.take(PARENT);
    desk.memtree(["sweep"]).success();
    let child = desk.session_of(&format!("codex:{CHILD}"));
    assert_eq!(desk.digest(&child).content.worth, Worth::Full);
    let of_day = || desk.read("daily/summary/2026-11-15.md");
    assert!(of_day().contains(&child));
    back();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.digest(&child).content.worth, Worth::None);
    assert!(!of_day().contains(&child), "{}", of_day());
    // It goes on: that is its parent's news.
    let parent = desk.session_of(&format!("codex:{PARENT}"));
    let before = desk.digest(&parent).snapshot.manifest_sha256;
    text.push_str(
        "{\"timestamp\":\"2026-11-15T09:00:15.000Z\",\"type\":\"response_item\",\"payload\":{\
         \"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\
         \"text\":\"Both callers are listed.\"}]}}\n",
    );
    fs::write(&path, &text).unwrap();
    desk.memtree(["sweep"]).success();
    assert_ne!(desk.digest(&parent).snapshot.manifest_sha256, before);
    desk.memtree(["verify"]).success();
    // The parent's own log goes away: what it had is kept, and its subagent is still its part.
    fs::remove_file(rollouts.path(PARENT)).unwrap();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions().len(), 3);
    desk.memtree(["verify"]).success();
}

#[test]
fn what_was_forgotten_does_not_come_back_with_its_relatives() {
    let desk = Desk::new();
    let rollouts = Rollouts::on(&desk);
    desk.memtree(["sweep"]).success();
    let parent = desk.session_of(&format!("codex:{PARENT}"));
    desk.memtree(["forget", &parent, "--yes"]).success();
    desk.memtree(["sweep"]).success();
    assert_eq!(desk.sessions().len(), 0, "a subagent of what is forgotten is forgotten with it");
    let desk = Desk::new();
    let rollouts = {
        drop(rollouts);
        Rollouts::on(&desk)
    };
    let back = rollouts.take(PARENT);
    desk.memtree(["sweep"]).success();
    let child = desk.session_of(&format!("codex:{CHILD}"));
    desk.memtree(["forget", &child, "--yes"]).success();
    back();
    desk.memtree(["sweep"]).success();
    let parent = desk.session_of(&format!("codex:{PARENT}"));
    let page = desk.read(format!("sessions/{parent}/snapshot/episodic/EP_001.md"));
    assert!(!page.contains("rg -n merge_lanes"), "{page}");
}

#[test]
fn a_fork_names_what_it_continues() {
    let desk = Desk::new().with_log("codex", "fork");
    desk.memtree(["sweep"]).success();
    let continues: Vec<String> = desk
        .sessions()
        .iter()
        .filter_map(|session| desk.digest(session).content.continues)
        .collect();
    assert!(continues.iter().any(|source| source.starts_with("codex:")), "{continues:?}");
}

#[test]
fn a_conversation_that_goes_on_in_a_second_file_is_one_session() {
    let record = |uuid: &str, parent: &str, role: &str, minute: u32, text: &str| {
        let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\
             \"/home/ada/code/lanes\",\"sessionId\":\"5e550000-0000-4000-8000-0000000000c1\",\
             \"version\":\"2.1.0\",\"gitBranch\":\"main\",\"type\":\"{role}\",\"message\":{{\
             \"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}},\
             \"uuid\":\"{uuid}\",\"timestamp\":\"2026-11-15T10:{minute:02}:00.000Z\"}}\n"
        )
    };
    let first = record("a1", "", "user", 0, "Why does the lane merge lose a car? Look into it.")
        + &record("a2", "a1", "assistant", 1, "The merge reads the lane twice.")
        + &record("a3", "a2", "user", 2, "Then read it once, and tell me what else you see there.")
        + &record("a4", "a3", "assistant", 3, "Nothing else; it reads the lane once now.");
    let second = record("a5", "a4", "user", 30, "And what of the exit lanes?")
        + &record("a6", "a5", "assistant", 31, "They are merged in the same way.");
    let desk = Desk::new();
    desk.write_log("5e550000-0000-4000-8000-0000000000c1", &first);
    desk.write_log("continued-5e55", &second);
    desk.memtree(["sweep"]).success();
    let sessions = desk.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(desk.digest(&sessions[0]).content.turns, 3);
    let last = desk.read(format!("sessions/{}/snapshot/episodic/EP_003.md", sessions[0]));
    assert!(last.contains("exit lanes"), "the shorter file comes second: {last}");
    desk.memtree(["verify"]).success();
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "once more");
}
