//! Any folder as a session: all of it is kept, checked, and told in the specification's words.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::harness::{Desk, Tree, assert_same};

/// A folder in the shape of an agent's own memory.
fn consciousness(desk: &Desk) -> std::path::PathBuf {
    let folder = desk.project().join("eva");
    for (name, text) in [
        (
            "agent/consciousness/episodic/EVA_EP01.json",
            r#"{"id":"EVA_EP01","event":"first light in the observatory"}"#,
        ),
        (
            "agent/consciousness/episodic/EVA_EP02.md",
            "---\ntitle: The lock\n---\nTwo writers saw no header: EWOULDBLOCK.\n",
        ),
        (
            "agent/consciousness/semantic/facts.md",
            "# Facts\nThe telescope turns at 15 degrees an hour.\n",
        ),
        ("agent/consciousness/sensory/log.txt", "temperature 21\n"),
        ("agent/consciousness/state/vitals.yaml", "mood: calm\n"),
        (
            "agent/consciousness/state/state_memory/eva_matrix_state.json",
            r#"{"resonance_index":0.72,"state":{"stress":0.12,"warmth":0.8,"drive":0.64,"clarity":0.91,"joy":0.5,"alertness":0.7,"connection":0.66,"groundedness":0.8,"openness":0.75}}"#,
        ),
        ("agent/identity/soul.md", "# Soul\n"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_folder_keeps_its_shape_and_gets_a_page() {
    let desk = Desk::new();
    let folder = consciousness(&desk);
    let source = Tree::of(&folder);
    let kept = desk.memtree([
        "snapshot",
        "eva",
        "--objective",
        "Keep EVA as she was",
        "--motto",
        "Light first",
        "--status",
        "success",
    ]);
    kept.success().stdout_has("kept 7 files").stdout_has("SES1_desk_SP1C1");
    let mut snapshot = Tree::of(&desk.store().join("sessions/SES1_desk_SP1C1/snapshot"));
    snapshot.0.remove(Path::new("MANIFEST.sha256")).expect("it has a manifest");
    assert_same(&source, &snapshot, "every byte, in its own shape");
    assert_same(&source, &Tree::of(&folder), "the source is untouched");
    desk.check_manifest("SES1_desk_SP1C1");
    let page = desk.digest_text("SES1_desk_SP1C1");
    for part in [
        "# Session Digest: SES1_desk_SP1C1\n",
        "> **Status**: success | **Objective**: Keep EVA as she was\n",
        "> **Motto**: \"Light first\"\n",
        "## 📦 Manifest (Index of Snapshot)\n- **Episodes**: EVA_EP01 – EVA_EP02 (EP_001 - EP_002)\n",
        "- **Vitals Snapshot**: `snapshot/agent/consciousness/state/vitals.yaml` on desk\n",
        "- **Sensory Logs**: 1 entries captured\n",
        "## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: Keep EVA as she was\n- **Key Outcomes**:",
        "- **Emotional Arc**: H9-720-S120W800D640C910J500A700CO660GN800OP750\n",
        "## ⚡ Knowledge Triggers\n- [",
        "-> Trigger reference: EP_001, `snapshot/agent/consciousness/episodic/EVA_EP01.json` on desk",
        "## 🔄 8-8-8 Synthesis Readiness\n- [x] Cleaned\n- [x] Summarized\n- [x] Indexed\n- [ ] Relational Map Created\n",
        "## Notes\n",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert_eq!(desk.digest("SES1_desk_SP1C1").content.flavor, "folder");
    let hits =
        desk.memtree(["search", "EWOULDBLOCK header", "--json"]).success().json()["hits"].clone();
    assert_eq!(hits[0]["session"], "SES1_desk_SP1C1", "{hits}");
}

#[test]
fn only_what_was_done_to_a_folder_is_ticked() {
    let desk = Desk::new();
    let folder = desk.project().join("pictures");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tide.png"), b"\x89PNG\r\n\x1a\n\0\0\0\0").unwrap();
    desk.memtree(["snapshot", "pictures"]).success();
    let page = desk.digest_text("SES1_desk_SP1C1");
    // By its name it can be found.
    assert!(page.contains("- [x] Cleaned\n- [ ] Summarized\n- [x] Indexed\n"), "{page}");
    assert!(page.contains("\nreadiness: [cleaned, indexed]\n"), "{page}");
    assert!(page.contains("  - 1 file kept byte for byte\n"), "{page}");
    desk.memtree(["verify"]).success();
}

#[test]
fn a_file_for_each_turn_is_read_as_a_conversation() {
    let desk = Desk::new();
    let folder = desk.project().join("talk/episodic");
    fs::create_dir_all(&folder).unwrap();
    let say = |name: &str, role: &str, said: &str| {
        let turn = serde_json::json!({ "role": role, "content": said });
        fs::write(folder.join(name), turn.to_string()).unwrap();
    };
    say("EP_01.json", "user", "Please let the tide table accept negative heights.");
    say("EP_02.json", "assistant", "Done: `parse_height` accepts a minus sign. All 14 tests pass.");
    desk.memtree(["snapshot", "talk"]).success();
    let page = desk.digest_text("SES1_desk_SP1C1");
    assert!(page.contains("negative heights") && !page.contains("{\"role\""), "{page}");
    assert!(page.contains("- [x] Summarized\n- [x] Indexed\n"), "{page}");
}

#[test]
#[cfg(unix)]
fn ten_thousand_files_are_kept_once() {
    let desk = Desk::new();
    let folder = desk.project().join("many");
    for number in 0..10_000 {
        let below = folder.join(format!("part-{}", number / 500));
        if number % 500 == 0 {
            fs::create_dir_all(&below).unwrap();
        }
        fs::write(below.join(format!("note-{number}.txt")), format!("note {number}\n")).unwrap();
    }
    let source = Tree::of(&folder);
    let first = desk.memtree(["snapshot", "many", "--json"]).success().json();
    assert_eq!((&first["files"], &first["unchanged"]), (&10_000.into(), &false.into()));
    let mut snapshot = Tree::of(&desk.store().join("sessions/SES1_desk_SP1C1/snapshot"));
    snapshot.0.remove(Path::new("MANIFEST.sha256")).unwrap();
    assert_same(&source, &snapshot, "every byte");
    desk.check_manifest("SES1_desk_SP1C1");
    let page = desk.digest_text("SES1_desk_SP1C1");
    // The Index has a line for every part; nobody reads it.
    let (page, _) = page.split_once("\n## 🔎 Index\n").expect("a digest has an Index");
    assert!(page.len() < 16_000, "a page stays a page: {} bytes", page.len());
    let before = Tree::stamps_of(&desk.store());
    let second = desk.memtree(["snapshot", "many", "--json"]).success().json();
    assert_eq!(
        (&second["session"], &second["unchanged"]),
        (&"SES1_desk_SP1C1".into(), &true.into())
    );
    assert_same(&before, &Tree::stamps_of(&desk.store()), "a second run writes nothing at all");
}

#[test]
fn content_decides_whether_a_folder_changed() {
    let desk = Desk::new();
    let folder = consciousness(&desk);
    desk.memtree(["snapshot", "eva"]).success();
    let first = desk.tree();
    let state = folder.join("agent/consciousness/state/vitals.yaml");
    let file = fs::File::options().write(true).open(&state).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    desk.memtree(["snapshot", "eva"]).success().stdout_has("unchanged: SES1_desk_SP1C1");
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.memtree(["snapshot", "eva"]).success().stdout_has("unchanged: SES1_desk_SP1C1");
    assert_same(&first, &desk.tree(), "only dates and the cache were different");
    // Other content is another session; what was kept before stays.
    fs::write(&state, "mood: wild\n").unwrap();
    desk.memtree(["snapshot", "eva"]).success().stdout_has("SES2_desk_SP1C1");
    let first_session = |mut tree: Tree| {
        tree.0.retain(|path, _| path.starts_with("sessions/SES1_desk_SP1C1"));
        tree
    };
    assert_same(&first_session(first), &first_session(desk.tree()), "the first one is untouched");
    desk.check_manifest("SES2_desk_SP1C1");
    // And when it is as it was before, it is the first one again.
    fs::write(&state, "mood: calm\n").unwrap();
    desk.memtree(["snapshot", "eva"]).success().stdout_has("unchanged: SES1_desk_SP1C1");
    // A sweep knows nothing of it, and leaves it alone.
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    assert_same(&before, &desk.tree(), "after a sweep");
}

#[test]
#[cfg(unix)]
fn a_link_is_named_and_not_followed() {
    let desk = Desk::new();
    let folder = consciousness(&desk);
    fs::write(desk.home().join("secret.txt"), "not yours").unwrap();
    std::os::unix::fs::symlink(desk.home().join("secret.txt"), folder.join("out.txt")).unwrap();
    std::os::unix::fs::symlink(desk.home(), folder.join("home")).unwrap();
    std::os::unix::fs::symlink("..", folder.join("agent/loop")).unwrap();
    let kept = desk.memtree(["snapshot", "eva"]).code(3).stdout_has("kept 7 files");
    for link in ["out.txt", "home", "agent/loop"] {
        assert!(kept.stderr.contains(&format!("eva/{link}: a link to `")), "{}", kept.told());
    }
    let tree = desk.tree();
    assert!(tree.0.values().all(|holds| !holds.starts_with("a link")), "{tree:?}");
    assert!(tree.files().all(|(path, _)| !path.ends_with("secret.txt")), "{tree:?}");
    desk.memtree(["snapshot", "eva"]).success();
}

#[test]
#[cfg(unix)]
fn odd_names_survive() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let folder = desk.project().join("odd");
    fs::create_dir_all(folder.join("with (brackets) and spaces")).unwrap();
    let names: [&[u8]; 9] = [
        b"new\nline.md",
        b"back\\slash.md",
        b"latin-\xe9.md",
        b"latin-\xe8.md",
        "emoji-🦀.md".as_bytes(),
        b"MANIFEST.sha256",
        b"  spaces  ",
        b"with (brackets) and spaces/a [link](x).md",
        b"-> Trigger reference: [EP_009](x) | keys: y.md",
    ];
    for (number, name) in names.iter().enumerate() {
        fs::write(
            folder.join(std::ffi::OsStr::from_bytes(name)),
            format!("this is number {number}\n"),
        )
        .unwrap();
    }
    let source = Tree::of(&folder);
    desk.memtree(["snapshot", "odd"]).success().stdout_has("kept 9 files");
    desk.check_manifest("SES1_desk_SP1C1");
    let snapshot = Tree::of(&desk.store().join("sessions/SES1_desk_SP1C1/snapshot"));
    for (path, hash) in source.files() {
        assert!(snapshot.files().any(|(_, kept)| kept == hash), "{} is lost", path.display());
    }
    // Each trigger leads to the file that it speaks of.
    let digest = desk.digest("SES1_desk_SP1C1");
    assert!(!digest.content.triggers.is_empty());
    for trigger in &digest.content.triggers {
        let target = desk.store().join("sessions/SES1_desk_SP1C1").join(&trigger.path);
        assert!(
            target.is_file(),
            "{} is nowhere:\n{}",
            target.display(),
            desk.digest_text("SES1_desk_SP1C1")
        );
    }
    desk.memtree(["snapshot", "odd"]).success().stdout_has("unchanged");
    assert_eq!(desk.sessions().len(), 1);
}

#[test]
fn secrets_in_a_folder_stay_out_of_its_page() {
    let desk = Desk::new();
    let folder = desk.project().join("vault");
    fs::create_dir(&folder).unwrap();
    let secret = ["ghp_", "EXAMPLE0example1EXAMPLE2example3EXAM"].concat();
    fs::write(
        folder.join("notes.md"),
        format!("# Token {secret}\nuse {secret} for the observatory\n"),
    )
    .unwrap();
    desk.memtree(["snapshot", "vault"]).success();
    assert!(
        !desk.digest_text("SES1_desk_SP1C1").contains(&secret[4..]),
        "{}",
        desk.digest_text("SES1_desk_SP1C1")
    );
    assert!(
        desk.read("sessions/SES1_desk_SP1C1/snapshot/notes.md").contains(&secret),
        "the copy is byte for byte"
    );
}

#[test]
fn what_is_no_folder_is_a_clear_error() {
    let desk = Desk::new();
    fs::write(desk.project().join("file"), "x").unwrap();
    desk.memtree(["init"]).success();
    let before = desk.tree();
    desk.memtree(["snapshot", "nowhere"]).code(1).stderr_has("cannot read the folder `nowhere`");
    desk.memtree(["snapshot", "file"]).code(2).stderr_has("is not a folder");
    desk.memtree(["snapshot", ".", "--status", "great"])
        .code(2)
        .stderr_has("success, partial, fail, abandoned, unknown");
    desk.memtree(["snapshot", ".", "--dry-run"]).success().stdout_has("would keep 1 file ");
    assert_same(&before, &desk.tree(), "nothing was kept");
    fs::create_dir(desk.project().join("empty")).unwrap();
    desk.memtree(["snapshot", "empty"]).code(2).stderr_has("there is nothing to keep in `");
    let store = desk.store().to_str().unwrap().to_string();
    desk.memtree(["snapshot", &store]).code(2).stderr_has("there is nothing to keep in `");
    assert_same(&before, &desk.tree(), "nothing was kept");
    // A folder that holds the memory is kept without it.
    let whole = desk.root().to_str().unwrap().to_string();
    desk.memtree(["snapshot", &whole]).success();
    let snapshots = desk.tree().files().filter(|(path, _)| path.ends_with("memtree.toml")).count();
    assert_eq!(snapshots, 1, "the memory is not kept in itself");
}

/// One of eight evenings with an agent that keeps its own memory: three episodes of turns, what it
/// knows, what it sensed, and how it was.
fn evening(desk: &Desk, number: usize) -> std::path::PathBuf {
    let folder = desk.project().join(format!("evening-{number}"));
    let topics = [
        (
            "the watering plan",
            "From now on water the basil only in the morning.",
            "`relay_open` failed because the valve was dry",
        ),
        (
            "the reading list",
            "Please never suggest books that I have rated already.",
            "`rated.json` is missing the second page because the export stops at 50",
        ),
        (
            "the star chart",
            "Let's draw the chart north up instead of zenith up.",
            "`zenith_up` is wrong on phones because the compass is read before it settles",
        ),
        (
            "the greenhouse sensor",
            "We should average five readings rather than trust a single one.",
            "`sht31` reports 0 % because the first reading after a reset is void",
        ),
        (
            "the bread schedule",
            "Next time start the dough on Friday evening.",
            "`proof_timer` stopped because the phone slept",
        ),
        (
            "the choir rehearsal",
            "I no longer use the old hall, plan for the new one.",
            "`calendar_sync` fails because the shared calendar is read-only",
        ),
        (
            "the bicycle repair",
            "Don't forget to order the brake pads before the wheel.",
            "`torque_table` has no entry because the hub is a 2019 model",
        ),
        (
            "the winter trip",
            "Make sure all tickets are refundable.",
            "`fare_api` returned nothing because the date was local time",
        ),
    ];
    let (topic, wish, lesson) = topics[number - 1];
    let below = folder.join("agent/consciousness");
    let episode = |at: u32, user: &str, llm: &str| {
        format!(
            r#"{{"episode_id":"EVA_EP{at:02}","timestamp":"2026-11-{:02}T19:{at:02}:00Z","turn_user":{{"text":"{user}"}},"turn_llm":{{"text":"{llm}","salience_anchor":{{"phrase":"{topic}","impact":0.8}}}},"state_snapshot":{{"Resonance_index":0.7}}}}"#,
            number + 1
        )
    };
    for (name, text) in [
        ("episodic/EVA_EP01.json", episode(1, &format!("Help me with {topic}, it did not work yesterday."), &format!("The cause is clear: {lesson}. I changed the check so that it waits."))),
        ("episodic/EVA_EP02.json", episode(2, wish, "You're right, I will keep to that.")),
        ("episodic/EVA_EP03.md", format!("# EVA_EP03\n\n**User:** Is {topic} done now?\n\n**Assistant:** {topic} is done and tried twice; it works.\n")),
        ("semantic/semantic_concepts.json", format!(r#"{{"concepts":[{{"name":"{topic}","note":"belongs to the evenings at home"}}]}}"#)),
        ("sensory/sensory_log.jsonl", "{\"kind\":\"light\",\"value\":0.4}\n{\"kind\":\"sound\",\"text\":\"rain on the roof\"}\n{\"kind\":\"light\",\"value\":0.2}\n".into()),
        ("state/vitals.yaml", "mood: calm\n".into()),
    ] {
        let path = below.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn episodes_that_are_turns_are_read_as_turns() {
    let desk = Desk::new();
    evening(&desk, 4);
    desk.memtree(["snapshot", "evening-4"]).success();
    let content = desk.digest("SES1_desk_SP1C1").content;
    let page = desk.digest_text("SES1_desk_SP1C1");
    assert_eq!((content.turns, content.sensory), (3, 3), "{page}");
    assert!(content.title.contains("greenhouse sensor"), "{page}");
    assert!(content.objective.contains("greenhouse sensor"), "{page}");
    assert!(content.ended.unwrap().to_rfc3339().starts_with("2026-11-05T19:"), "{page}");
    let leads_to = |part: &str| content.triggers.iter().any(|one| one.path.contains(part));
    for part in ["episodic/EVA_EP01.json", "semantic/", "sensory/"] {
        assert!(leads_to(part), "{part}: {page}");
    }
    desk.memtree(["recall", "SES1_desk_SP1C1#EP_004"]).success().stdout_has("evenings at home");
    desk.memtree(["verify"]).success();
}

#[test]
fn eight_folders_make_a_core_with_something_in_it() {
    let desk = Desk::new();
    for number in 1..=8 {
        evening(&desk, number);
        desk.memtree(["snapshot", &format!("evening-{number}")]).success();
    }
    desk.memtree(["consolidate"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    let said = [
        "basil", "rated already", "north up", "five readings", "Friday", "new one", "brake pads",
        "refundable",
    ];
    let there = said.iter().filter(|words| core.contains(**words)).count();
    assert!(there >= 2, "{there} of eight evenings taught something:\n{core}");
}
