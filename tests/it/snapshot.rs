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
        "- **Vitals Snapshot**: [vitals](snapshot/agent/consciousness/state/vitals.yaml)\n",
        "- **Sensory Logs**: 1 entries captured\n",
        "## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: Keep EVA as she was\n- **Key Outcomes**:",
        "- **Emotional Arc**: H9-720-S120W800D640C910J500A700CO660GN800OP750\n",
        "## ⚡ Knowledge Triggers\n- [",
        "-> Trigger reference: [EP_001](snapshot/agent/consciousness/episodic/EVA_EP01.json)",
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
    let mut both = desk.tree();
    both.0.retain(|path, _| !path.starts_with("sessions/SES2_desk_SP1C1"));
    assert_same(&first, &both, "the first one is untouched");
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
