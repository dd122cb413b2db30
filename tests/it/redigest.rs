//! Writing digests again: what nobody touched is replaced, what a person wrote stays.

use std::fs;

use memtree::internals::base::files::sha256_hex;

use crate::harness::{Desk, Tree, assert_same, checkout, exchange, fixtures};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// Long enough for a trigger of its own.
const LONG: &str = "In append_locked, before the header is written. The lock is flock on the day file itself, so that \
    another program can take it too; whoever waits for it looks again whether the path still names the file that was \
    locked, because a rewrite renames another file into place. Nothing else in the store needs a lock of its own.";

fn first() -> String {
    let reply = "Two writers race for the header. Both look whether the file is there, both find none, both write one, \
        and the slower rename takes away the line that the faster writer had appended in between. It shows in the \
        nightly run only, where the backup and the agent end within the same second; a retry hides it on most days.";
    exchange(ONE, 0, "Why does the day log lose lines?", reply)
}

#[test]
fn from_raw_every_digest_is_the_same_again() {
    let mut desk = Desk::new();
    for flavor in [
        "claude", "codex", "grok", "gemini", "opencode", "goose", "qwen", "copilot", "pi", "cursor",
    ] {
        desk = desk.with_logs(flavor);
    }
    desk.memtree(["sweep"]).done();
    // They keep all sessions of a project in one file there.
    desk.memtree([
        "sweep",
        "--source",
        &format!("aider={}", checkout().join(fixtures("aider")).display()),
    ])
    .done();
    let before = desk.tree();
    let report = desk.memtree(["digest", "--all", "--json"]).success().json();
    assert_eq!(report["written"].as_array().unwrap().len(), 0, "{report}");
    assert!(report["unchanged"].as_u64().unwrap() > 40, "{report}");
    assert_same(&before, &desk.tree(), "after digesting all again");
    desk.memtree(["digest"])
        .success()
        .stdout_has("wrote 0 digests")
        .stderr_has("every digest is what this program");
}

#[test]
fn three_edits_survive_while_the_session_grows() {
    let desk = Desk::new().with_claude_log(ONE, first());
    desk.memtree(["sweep"]).success();
    let session = desk.sessions().remove(0);
    let page = desk.digest_text(&session);
    // An extra key, a section of ours rewritten, a note.
    let (key, note) = (
        "reviewed_by: \"Ada  &  Bob\"  # in person",
        "\nAsk Bob about *NFS*;   he knows.\n\n- [ ] later\n",
    );
    let ours = section(&page, "Semantic Summary");
    let mine = "## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: two writers,  one header\n\nMy own words.\n\n";
    let edited =
        page.replacen("\nstate: ", &format!("\n{key}\nstate: "), 1).replacen(&ours, mine, 1) + note;
    desk.write(desk.digest_path(&session), &edited);

    desk.write_log(ONE, first() + &exchange(ONE, 1, "Where is the lock taken?", LONG));
    desk.memtree(["sweep"]).success();
    let grown = desk.digest_text(&session);
    let kept = |page: &str| {
        assert!(page.contains(&format!("\n{key}\n")), "{page}");
        assert_eq!(section(page, "Semantic Summary"), mine);
        assert!(page.ends_with(&format!("## Notes\n{note}")), "{page}");
        assert!(
            page.contains("- **Episodes**: EP_001 - EP_002\n") && page.contains("append_locked"),
            "{page}"
        );
        assert!(page.contains("episodes: EP_001 - EP_002\n"), "{page}");
    };
    kept(&grown);
    let before = desk.tree();
    for arguments in [vec!["digest", session.as_str()], vec!["digest", "--all"], vec!["digest"]] {
        desk.memtree(arguments).success();
        assert_same(&before, &desk.tree(), "after digesting again");
    }
    // As an older program would have left it, but for the edits.
    desk.write(desk.digest_path(&session), as_older(&grown));
    desk.memtree(["digest", "--dry-run", "--json"]).success();
    assert_eq!(desk.digest_text(&session), as_older(&grown));
    desk.memtree(["digest"]).success().stdout_has("wrote 1 digest, 0 unchanged");
    kept(&desk.digest_text(&session));
    assert_eq!(desk.digest_text(&session), grown);
    desk.memtree(["search", "append_locked"]).success().stdout_has(&session);
}

#[test]
fn what_cannot_be_made_again_is_left_and_named() {
    let desk = Desk::new().with_claude_log(ONE, first());
    desk.memtree(["sweep"]).success();
    let session = desk.sessions().remove(0);
    let before = as_older(&desk.digest_text(&session));
    desk.write(desk.digest_path(&session), &before);
    let elsewhere = desk.on_device("other");
    elsewhere.memtree(["digest", &session]).code(3).stderr_has("belongs to the device `desk`");
    elsewhere.memtree(["digest", "--all", "--json"]).success().stdout_has("\"unchanged\": 0");
    let desk = elsewhere.on_device("desk");
    fs::remove_dir_all(desk.store().join(format!("sessions/{session}/snapshot/raw"))).unwrap();
    desk.memtree(["digest", "claude:aaaaaaaa-0000-4000-8000-000000000001"])
        .code(3)
        .stderr_has("its raw is not here");
    assert_eq!(desk.digest_text(&session), before);
    desk.memtree(["digest", "SES9_desk_SP1C1"]).code(1).stderr_has("there is no session");
}

#[test]
fn memtree_does_not_remember_itself() {
    let mark = memtree::model::calls::MARK;
    let block = memtree::model::context::marked(
        &[("project", "demo")],
        "- [EP_004] the zanzibar lock is stale",
    );
    let own = "cccccccc-0000-4000-8000-000000000001";
    let given = "cccccccc-0000-4000-8000-000000000002";
    let only_given = "cccccccc-0000-4000-8000-000000000003";
    let desk = Desk::new()
        .with_claude_log(
            own,
            exchange(
                own,
                0,
                &format!("{mark}\n\nSum up the zanzibar session."),
                "INTENT [EP_001]: …",
            ),
        )
        .with_claude_log(
            given,
            exchange(
                given,
                1,
                &format!("{block}Rename the gauge."),
                "Renamed the gauge in src/gauge.rs.",
            ),
        )
        .with_claude_log(
            only_given,
            exchange(only_given, 2, &block, "Noted.")
                + &exchange(
                    only_given,
                    3,
                    "Count the buoys.",
                    &format!("`memtree context` says:\n{block}\nSeven buoys."),
                ),
        );
    desk.memtree(["sweep"]).success();
    let digest = |id: &str| desk.digest(&desk.session_of(&format!("claude:{id}")));
    assert_eq!(digest(own).content.worth.to_string(), "none");
    assert_eq!(digest(given).content.worth.to_string(), "full");
    assert_eq!(digest(given).content.objective, "Rename the gauge.");
    assert_eq!(digest(only_given).content.objective, "Count the buoys.");
    // Raw has it, byte for byte; nothing that is made from it has.
    for (path, _) in desk
        .tree()
        .files()
        .filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "raw"))
    {
        let text = fs::read_to_string(desk.store().join(path)).unwrap_or_default();
        let is_own = path.to_string_lossy().contains(&desk.session_of(&format!("claude:{own}")));
        assert!(is_own || !text.contains("zanzibar"), "{}:\n{text}", path.display());
    }
    desk.memtree(["search", "zanzibar"]).success().stderr_has("nothing found");
    assert!(Tree::of(&desk.store().join("daily")).files().count() > 0);
}

/// One `##` section of a page, heading and all.
fn section(page: &str, heading: &str) -> String {
    let start =
        page.lines().find(|line| line.starts_with("## ") && line.contains(heading)).unwrap();
    let from = page.find(start).unwrap();
    let to = page[from + 2..].find("\n## ").map_or(page.len(), |at| from + 2 + at + 1);
    page[from..to].to_string()
}

/// A digest as an older program would have written it: another version, and other words in its
/// triggers.
fn as_older(page: &str) -> String {
    let triggers = section(page, "Knowledge Triggers");
    let older =
        triggers.replace(" -> Trigger reference", ", said the older program -> Trigger reference");
    let hash = |text: &str| sha256_hex(text.trim().as_bytes())[..12].to_string();
    let made_by = page.lines().find(|line| line.starts_with("made_by: ")).unwrap();
    assert_ne!(triggers, older);
    page.replace(made_by, "made_by: extractive/0")
        .replace(&triggers, &older)
        .replace(&hash(&triggers), &hash(&older))
}
