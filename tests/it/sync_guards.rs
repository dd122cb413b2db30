//! What `memtree sync` and its hook keep from leaving, from coming back, and from stopping others.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::harness::{Desk, exchange, git_in};
use crate::sync::Net;

const ID: &str = "5d5d5d5d-0000-4000-8000-000000000001";
/// Secrets that rules know; they open nothing.
const KEY: &str = "AKIAQ3EGRXW7LMPDZT5K";
const TOKEN: &str = "ghp_Zk3vQ9xW1rT7yB5nM2cD8fG4hJ6kL0pS1aV3";

fn swept(desk: &Desk, id: &str, prompt: &str) {
    desk.write_log(id, exchange(id, 1, prompt, "Decided: hemp rope holds it."));
    desk.memtree(["sweep"]).success();
}

/// Plain git as a person runs it, so that its hooks can call memtree.
fn plain_git(desk: &Desk, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(arguments)
        .env("MEMTREE_NOW", "2026-11-15T12:30:00Z")
        .env("HOME", desk.home())
        .current_dir(desk.store())
        .output()
        .unwrap()
}

fn has_ref(net: &Net, name: &str) -> bool {
    let asked = Command::new("git")
        .args(["show-ref", "--verify", "--quiet", name])
        .current_dir(&net.remote)
        .status();
    asked.unwrap().success()
}

#[test]
fn the_hook_looks_at_what_is_pushed_rather_than_at_what_is_checked_out() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    left.memtree(["sync", "--install-hook"]).success();
    left.git(["checkout", "--quiet", "-b", "side"]);
    left.write("notes.md", format!("the token is {TOKEN}\n"));
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "oops"]);
    left.git(["tag", "mark"]);
    left.git(["checkout", "--quiet", "main"]);
    for (what, name) in [("side", "refs/heads/side"), ("mark", "refs/tags/mark")] {
        let refused = plain_git(left, &["push", "--quiet", "origin", what]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("notes.md:1: "), "{what}: {said}");
        assert!(!said.contains("nothing that has to stay"), "{said}");
        assert!(!has_ref(&net, name), "{what} was pushed");
    }
    // What is clean goes, from whichever branch; so does the end of a branch.
    left.git(["checkout", "--quiet", "-b", "clean", "main"]);
    left.write("notes.md", "nothing\n");
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "fine"]);
    left.git(["checkout", "--quiet", "side"]);
    for arguments in [["push", "origin", "clean"], ["push", "origin", ":clean"]] {
        let pushed = plain_git(left, &arguments);
        assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    }
    left.git(["checkout", "--quiet", "main"]);
    // A name alone still means what is checked out.
    left.memtree(["sync", "--check"]).success();
}

#[test]
fn a_hook_of_an_earlier_version_is_brought_up_to_date() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    left.memtree(["sync", "--install-hook"]).success();
    let path = left.store().join(".git/hooks/pre-push");
    let new = fs::read_to_string(&path).unwrap();
    assert!(new.contains("--pre-push \"$1\""), "{new}");
    let old = new.replace(" --pre-push \"$1\"", "");
    for command in [&["sync"][..], &["doctor", "--fix"]] {
        fs::write(&path, &old).unwrap();
        left.memtree(command).any();
        assert_eq!(fs::read_to_string(&path).unwrap(), new, "{command:?}");
    }
    fs::write(&path, &old).unwrap();
    left.memtree(["doctor"]).any().1.stdout_has("the hook `pre-push` is that of an older memtree");
    // One of the person's own stays as it is, and a memory without one gets none.
    fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
    left.memtree(["sync"]).success();
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 0\n");
    fs::remove_file(&path).unwrap();
    left.memtree(["sync"]).success();
    assert!(!path.exists());
}

#[test]
fn a_remote_that_was_set_back_is_not_pushed_forward_again() {
    let net = Net::of(&["ann", "bob"]);
    let [ann, bob] = net.desks.as_slice() else { unreachable!() };
    ann.memtree(["log", "user", "to be taken out"]).success();
    ann.memtree(["sync"]).success();
    bob.memtree(["sync"]).success();
    ann.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    ann.git(["push", "--quiet", "--force", "origin", "HEAD:main"]);
    let there = net.remote_commit();
    // Who did it goes on.
    ann.memtree(["sync"]).success();
    for _ in 0..2 {
        let refused = bob.memtree(["sync"]).code(1);
        refused
            .stderr_has("`origin` was rewritten")
            .stderr_has("git rebase --onto origin/main")
            .stderr_has("git push origin main");
        assert_eq!(net.remote_commit(), there);
    }
    // Bob agrees: his own work goes on top of what is there.
    bob.write("mine.md", "written meanwhile\n");
    bob.memtree(["sync"]).code(1);
    let seen = bob.git(["rev-parse", "HEAD~1"]);
    bob.git(["rebase", "--quiet", "--onto", "origin/main", seen.trim()]);
    bob.memtree(["sync"]).success();
    assert_eq!(net.remote_text("mine.md").as_deref(), Some("written meanwhile\n"));
    let day = net.remote_text("daily/raw/2026-11-15.md").unwrap_or_default();
    assert!(!day.contains("to be taken out"), "{day}");
    ann.memtree(["sync"]).success().stdout_has("received");
}

#[cfg(unix)]
#[test]
fn links_and_other_repositories_do_not_leave() {
    let net = Net::of(&["ann", "bob"]);
    let [ann, bob] = net.desks.as_slice() else { unreachable!() };
    let before = net.remote_commit();
    std::os::unix::fs::symlink("README.md", ann.store().join("AGENTS.md")).unwrap();
    for arguments in [&["sync"][..], &["sync", "--dry-run"], &["sync", "--check"]] {
        ann.memtree(arguments)
            .code(1)
            .stderr_has("`AGENTS.md` is a link")
            .stderr_has("which no memtree takes in");
        assert_eq!(net.remote_commit(), before);
    }
    assert!(!ann.git(["ls-files"]).contains("AGENTS.md"), "it is not left in git's index");
    fs::remove_file(ann.store().join("AGENTS.md")).unwrap();
    let inner = ann.store().join("plugin");
    fs::create_dir(&inner).unwrap();
    let git = |arguments: &[&str]| git_in(&inner, &ann.home(), arguments);
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "inner"]);
    for arguments in [&["sync"][..], &["sync", "--dry-run"]] {
        ann.memtree(arguments).code(1).stderr_has("`plugin` is a repository of its own");
    }
    assert!(!ann.git(["ls-files"]).contains("plugin"));
    fs::remove_dir_all(&inner).unwrap();
    // Committed by plain git.
    std::os::unix::fs::symlink("README.md", ann.store().join("AGENTS.md")).unwrap();
    ann.git(["add", "--all"]);
    ann.git(["commit", "--quiet", "--message", "a link"]);
    for arguments in [&["sync"][..], &["sync", "--check"]] {
        ann.memtree(arguments).code(1).stderr_has("`AGENTS.md` is a link").stderr_has("git -C");
    }
    assert_eq!(net.remote_commit(), before);
    ann.git(["rm", "--quiet", "--cached", "AGENTS.md"]);
    fs::remove_file(ann.store().join("AGENTS.md")).unwrap();
    ann.memtree(["log", "user", "on we go"]).success();
    ann.memtree(["sync"]).success().stdout_has("pushed");
    bob.memtree(["sync"]).success().stdout_has("received");
}

#[test]
fn episodes_of_a_session_that_plain_git_committed_travel_too() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left, ID, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    let second = ID.replace("0001", "0002");
    swept(left, &second, "Where is the anchor?");
    left.git(["add", "."]);
    left.git(["commit", "--quiet", "--message", "by hand"]);
    left.memtree(["sync"]).success().stdout_has("pushed");
    for session in ["SES1_left_SP1C1", "SES2_left_SP1C1"] {
        let tracked = left.git(["ls-files", &format!("sessions/{session}/snapshot/episodic")]);
        assert!(!tracked.is_empty(), "no episode of {session}");
    }
}

/// A repository of somebody's with a memory in it, whose code is pushed to the same place.
fn in_a_bigger_repository() -> (Desk, std::path::PathBuf) {
    let desk = Desk::in_memory().on_device("left");
    let who = "[user]\n\tname = desk\n\temail = desk@example.org\n[init]\n\tdefaultBranch = main\n";
    fs::write(desk.home().join(".gitconfig"), who).unwrap();
    let bare = desk.root().join("tmp/shared.git");
    let git = |arguments: &[&str]| git_in(desk.root(), &desk.home(), arguments);
    git(&["init", "--quiet", "--bare", "--initial-branch=main", bare.to_str().unwrap()]);
    git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(desk.root().join(".gitignore"), "/home\n/tmp\n/project\n").unwrap();
    git(&["add", ".gitignore"]);
    git(&["commit", "--quiet", "--message", "work"]);
    git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    desk.memtree(["init"]).success();
    desk.memtree(["sync"]).success().stdout_has("pushed");
    (desk, bare)
}

fn tip(bare: &Path) -> String {
    let said = Command::new("git").args(["rev-parse", "main"]).current_dir(bare).output();
    String::from_utf8(said.unwrap().stdout).unwrap()
}

#[test]
fn a_person_s_own_commits_are_named_and_looked_through_before_they_are_pushed() {
    let (desk, bare) = in_a_bigger_repository();
    let git = |arguments: &[&str]| git_in(desk.root(), &desk.home(), arguments);
    fs::write(desk.root().join("work.rs"), format!("fn main() {{}}\n// {KEY}\n")).unwrap();
    git(&["add", "work.rs"]);
    git(&["commit", "--quiet", "--message", "half done"]);
    desk.memtree(["log", "user", "high water"]).success();
    let before = tip(&bare);
    for arguments in [&["sync"][..], &["sync", "--dry-run"]] {
        desk.memtree(arguments)
            .code(1)
            .stderr_has("work.rs:2: aws")
            .stderr_has("outside of the memory")
            .stderr_has("git push");
        assert_eq!(tip(&bare), before);
    }
    fs::write(desk.root().join("work.rs"), "fn main() {}\n").unwrap();
    git(&["commit", "--quiet", "--all", "--message", "took it out"]);
    desk.memtree(["sync"]).code(1).stderr_has("work.rs:2: aws");
    git(&["reset", "--quiet", "--soft", "origin/main"]);
    git(&["commit", "--quiet", "--message", "done", "--", "work.rs"]);
    desk.memtree(["sync", "--dry-run"]).success().stdout_has("1 commit outside of the memory");
    let said = desk.memtree(["sync"]).success();
    said.stdout_has("1 commit outside of the memory went with it: ").stdout_has(" done");
    desk.memtree(["log", "user", "low water"]).success();
    assert!(!desk.memtree(["sync"]).success().stdout.contains("outside"));
}

#[test]
fn other_line_ends_do_not_make_a_commit_each_time() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    swept(left, ID, "Which rope holds the mast?");
    left.later(60 * 24);
    left.memtree(["sweep"]).success();
    let attributes = left.read(".gitattributes");
    left.write(".gitattributes", format!("{attributes}*.md text eol=crlf\n"));
    left.memtree(["sync"]).success();
    right.later(60 * 24);
    right.memtree(["sync"]).success();
    // As a new checkout has them.
    for desk in [left, right] {
        desk.git(["rm", "-r", "--quiet", "--cached", "."]);
        desk.git(["reset", "--quiet", "--hard"]);
    }
    assert!(right.read("daily/summary/2026-11-15.md").contains("\r\n"));
    for desk in [left, right, left, right] {
        desk.memtree(["sync"]).success();
    }
    let there = net.remote_commit();
    for desk in [left, right, left, right] {
        desk.memtree(["sync"]).success().stdout_has("`origin` has everything");
        assert_eq!(net.remote_commit(), there);
    }
    left.memtree(["doctor"]).any().1.stdout_has("other line ends than memtree writes");
}

#[test]
fn a_later_rule_that_undoes_ours_is_named_and_mended() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    let attributes = left.read(".gitattributes");
    left.write(".gitattributes", format!("{attributes}*.md merge=union\n"));
    left.memtree(["doctor"])
        .any()
        .1
        .stdout_has("`.gitattributes` does not say how each kind of page is joined")
        .stdout_has("merge=union");
    left.memtree(["doctor", "--fix"]).any();
    let said = left.git(["check-attr", "merge", "--", "core/CORE_a_SP1C1.md"]);
    assert!(said.contains("merge: memtree"), "{said}");
    let mended = left.read(".gitattributes");
    assert!(mended.contains("*.md merge=union\n"), "what a person added stays: {mended}");
    left.memtree(["doctor", "--fix"]).any();
    assert_eq!(left.read(".gitattributes"), mended);
    // What stands elsewhere cannot be mended there, and is named.
    left.write("core/.gitattributes", "*.md merge=ours\n");
    left.memtree(["doctor", "--fix"]).any().1.stdout_has("core/");
    assert_eq!(left.read(".gitattributes"), mended);
}

#[test]
fn pages_that_an_ignore_rule_from_elsewhere_leaves_out_travel_all_the_same() {
    let (desk, _bare) = in_a_bigger_repository();
    let git = |arguments: &[&str]| git_in(desk.root(), &desk.home(), arguments);
    // A list of a language's template, and the person's own for all repositories.
    fs::write(desk.root().join(".gitignore"), "/home\n/tmp\n/project\ndaily\n").unwrap();
    fs::write(desk.home().join("ignore"), "*_DIGEST.md\n*.swp\n").unwrap();
    let config = fs::read_to_string(desk.home().join(".gitconfig")).unwrap();
    let excludes = desk.home().join("ignore");
    let more = format!("[core]\n\texcludesFile = {}\n", excludes.display());
    fs::write(desk.home().join(".gitconfig"), config + &more).unwrap();
    swept(&desk, ID, "Which rope holds the mast?");
    desk.write("core/notes.swp", "x");
    desk.memtree(["doctor"])
        .any()
        .1
        .stdout_has("git leaves out pages of this memory")
        .stdout_has("daily/raw/2026-11-15.md")
        .stdout_has("`daily` in ");
    desk.memtree(["sync", "--dry-run"]).success().stdout_has("ignore rule");
    desk.memtree(["sync"]).success().stdout_has("added although an ignore rule leaves it out");
    let tracked = git(&["ls-tree", "-r", "--name-only", "origin/main"]);
    assert!(tracked.contains("_DIGEST.md") && tracked.contains("daily/raw/2026"), "{tracked}");
    assert!(!tracked.contains(".swp") && !tracked.contains("/snapshot/raw/"), "{tracked}");
    assert!(!desk.memtree(["sync"]).success().stdout.contains("ignore rule"));
    // What the memory's own list names is meant.
    let own = desk.read(".gitignore");
    desk.write(".gitignore", format!("{own}/knowledge/\n"));
    desk.write("knowledge/concepts/rope.md", "# Rope\n");
    desk.memtree(["sync"]).success();
    assert!(!git(&["ls-tree", "-r", "--name-only", "origin/main"]).contains("rope.md"));
}

#[test]
fn own_digests_that_somebody_tidied_away_come_back() {
    let net = Net::of(&["ann", "bob"]);
    let [ann, bob] = net.desks.as_slice() else { unreachable!() };
    swept(ann, ID, "Which rope holds the mast?");
    let page = ann.digest_path("SES1_ann_SP1C1");
    let noted = ann.read(&page) + "my own note\n";
    ann.write(&page, &noted);
    ann.memtree(["sync"]).success();
    bob.memtree(["sync"]).success();
    bob.git(["rm", "-r", "--quiet", "sessions/SES1_ann_SP1C1", "daily"]);
    bob.git(["commit", "--quiet", "--message", "tidy up"]);
    bob.git(["push", "--quiet", "origin", "HEAD:main"]);
    let said = ann.memtree(["sync"]).success();
    let said = said.stdout_has("removed ").stdout_has("restored ").stdout_has("memtree forget");
    assert!(!said.stdout.contains("received "), "{}", said.stdout);
    assert!(ann.read(&page).ends_with("my own note\n"));
    bob.memtree(["sync"]).success();
    assert!(bob.read(&page).ends_with("my own note\n"));
    // What was forgotten stays forgotten.
    ann.memtree(["forget", "SES1_ann_SP1C1", "--yes"]).success();
    ann.memtree(["sync"]).success();
    bob.memtree(["sync"]).success();
    ann.memtree(["sync"]).success();
    assert!(!ann.store().join(&page).exists());
}

#[test]
fn a_page_of_others_that_cannot_be_read_has_a_way_back() {
    let net = Net::of(&["ann", "bob"]);
    let [ann, bob] = net.desks.as_slice() else { unreachable!() };
    swept(ann, ID, "Which rope holds the mast?");
    ann.memtree(["sync"]).success();
    bob.memtree(["sync"]).success();
    let page = ann.digest_path("SES1_ann_SP1C1");
    ann.write(&page, "no page at all\n");
    ann.git(["commit", "--quiet", "--all", "--message", "oops"]);
    ann.git(["push", "--quiet", "origin", "HEAD:main"]);
    bob.memtree(["log", "user", "high water"]).success();
    let refused = bob.memtree(["sync"]).code(1);
    let refused = refused.stderr_has("the memory is not whole").stderr_has(&page);
    let command = refused.stderr.split('`').find(|part| part.contains(" checkout ")).unwrap();
    let words: Vec<&str> = command.split(' ').skip_while(|word| *word != "checkout").collect();
    assert!(bob.try_git(&words).status.success(), "{command}");
    bob.memtree(["sync"]).success().stdout_has("pushed");
    assert!(bob.read(&page).contains("rope"));
}

#[test]
fn where_and_how_much_is_said_before_it_is_pushed() {
    let desk = Desk::in_memory().on_device("left");
    let who = "[user]\n\tname = desk\n\temail = desk@example.org\n";
    fs::write(desk.home().join(".gitconfig"), who).unwrap();
    desk.memtree(["init"]).success();
    desk.memtree(["sync", "--check"]).code(1).stderr_has("is in no git repository");
    let bare = desk.root().join("shared.git");
    let shared = bare.to_str().unwrap();
    desk.git(["init", "--quiet", "--initial-branch=main"]);
    desk.git(["init", "--quiet", "--bare", "--initial-branch=main", shared]);
    desk.git(["remote", "add", "origin", shared]);
    desk.memtree(["sync", "--dry-run"]).success().stdout_has("the first push: ");
    desk.memtree(["sync"]).success().stderr_has("the first push: ");
    desk.memtree(["log", "user", "high water"]).success();
    assert!(!desk.memtree(["sync", "--dry-run"]).success().stdout.contains("first push"));
    // A branch that follows another one goes there.
    desk.git(["checkout", "--quiet", "-b", "lap", "--track", "origin/main"]);
    desk.memtree(["sync"]).success().stdout_has("pushed to origin/main");
    // What the person says with it is looked through, and so is what an editor wrote in UTF-16.
    desk.memtree(["log", "user", "low water"]).success();
    desk.memtree(["sync", "--message", &format!("with {KEY}")]).code(1).stderr_has("--message:1: ");
    let mut note = vec![0xff, 0xfe];
    note.extend(format!("the token is\n{TOKEN}\n").encode_utf16().flat_map(u16::to_le_bytes));
    desk.write("notes.md", &note);
    desk.memtree(["sync"]).code(1).stderr_has("notes.md:2: ");
    fs::remove_file(desk.store().join("notes.md")).unwrap();
    desk.git(["commit", "--quiet", "--all", "--message", &format!("see {TOKEN}")]);
    desk.memtree(["sync"]).code(1).stderr_has("the commit's message:1: ");
}
