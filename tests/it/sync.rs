//! `memtree sync`: the memory travels by git, and nothing that has to stay here leaves.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Desk, exchange, git_in};

const ID: &str = "5c5c5c5c-0000-4000-8000-000000000001";
/// A key that a rule knows; it opens nothing.
const KEY: &str = "AKIAQ3EGRXW7LMPDZT5K";

/// Devices with one remote.
pub struct Net {
    pub desks: Vec<Desk>,
    pub remote: PathBuf,
}

impl Net {
    /// The first device has a memory and has pushed it; the others have cloned it.
    pub fn of(names: &[&str]) -> Net {
        let desks: Vec<Desk> = names.iter().map(|name| Desk::in_memory().on_device(name)).collect();
        let remote = desks[0].root().join("shared.git");
        let shared = remote.to_str().unwrap().to_string();
        desks.iter().for_each(introduce);
        desks[0].memtree(["init"]).success();
        desks[0].git(["init", "--quiet", "--initial-branch=main"]);
        desks[0].git(["init", "--quiet", "--bare", "--initial-branch=main", &shared]);
        desks[0].git(["remote", "add", "origin", &shared]);
        desks[0].memtree(["sync"]).success().stdout_has("pushed to origin/main");
        for desk in &desks[1..] {
            desks[0].git(["clone", "--quiet", &shared, desk.store().to_str().unwrap()]);
            desk.memtree(["sync"]).success();
        }
        Net { desks, remote }
    }

    /// What the remote has of a file.
    pub fn remote_text(&self, path: &str) -> Option<String> {
        let shown = Command::new("git")
            .args(["show", &format!("main:{path}")])
            .current_dir(&self.remote)
            .output()
            .unwrap();
        shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
    }

    pub fn remote_commit(&self) -> String {
        let said =
            Command::new("git").args(["rev-parse", "main"]).current_dir(&self.remote).output();
        String::from_utf8(said.unwrap().stdout).unwrap()
    }
}

/// Tells git who works here.
fn introduce(desk: &Desk) {
    let who = "[user]\n\tname = desk\n\temail = desk@example.org\n[init]\n\tdefaultBranch = main\n";
    fs::write(desk.home().join(".gitconfig"), who).unwrap();
}

fn swept(desk: &Desk, prompt: &str) {
    desk.write_log(ID, exchange(ID, 1, prompt, "Decided: hemp rope holds it."));
    desk.memtree(["sweep"]).success();
}

#[test]
fn what_one_device_writes_the_other_has() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    swept(left, "Which rope holds the mast?");
    let report = left.memtree(["sync", "--json"]).success().json();
    assert_eq!((&report["pushed"], &report["remote"]), (&true.into(), &"origin".into()));
    assert_eq!(report["message"], "memory: 1 session, 1 day of left");
    right.memtree(["sync"]).success().stdout_has("received").stdout_has("`origin` has everything");
    right.memtree(["search", "rope"]).success().stdout_has("SES1_left_SP1C1");
    let synced = |desk: &Desk| desk.git(["ls-files", "--stage"]);
    assert_eq!(synced(left), synced(right));
    right.memtree(["sync"]).success().stdout_has("`origin` has everything");
    // Both write at once; whoever comes second joins.
    left.memtree(["log", "user", "tide from the left"]).success();
    right.memtree(["log", "user", "tide from the right"]).success();
    left.memtree(["sync", "--message", "an hour"]).success().stdout_has("an hour");
    right.memtree(["sync"]).success().stdout_has("received");
    left.memtree(["sync"]).success();
    for desk in [left, right] {
        let day = desk.read("daily/raw/2026-11-15.md");
        assert!(day.contains("from the left") && day.contains("from the right"), "{day}");
        assert_eq!(desk.git(["status", "--porcelain"]), "");
        desk.memtree(["verify"]).success();
    }
    assert_eq!(left.git(["rev-parse", "HEAD"]), right.git(["rev-parse", "HEAD"]));
    let subjects = left.git(["log", "--format=%s", "-3"]);
    assert!(subjects.contains("memory: join what origin has"), "{subjects}");
}

#[test]
fn secrets_and_raw_stop_it_and_nothing_is_pushed() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    let before = net.remote_commit();
    let stopped = |what: &str, rule: &str| {
        left.memtree(["sync"])
            .code(1)
            .stderr_has("nothing was pushed")
            .stderr_has(what)
            .stderr_has(rule);
        left.memtree(["sync", "--dry-run"]).code(1).stderr_has(what);
        left.memtree(["sync", "--check"]).code(1).stderr_has(what);
        assert_eq!(net.remote_commit(), before);
    };
    // In a note by hand.
    let page = left.digest_path("SES1_left_SP1C1");
    let clean = left.read(&page);
    left.write(&page, format!("{clean}my key is {KEY}\n"));
    let line = clean.lines().count() + 1;
    stopped(&format!("{page}:{line}: "), "aws");
    assert!(!left.memtree(["sync"]).code(1).stderr.contains(KEY), "its value is not repeated");
    left.write(&page, &clean);
    left.memtree(["sync"]).success();
    // In an older commit that was not pushed.
    left.write("notes.md", format!("my key is {KEY}\n"));
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "oops"]);
    left.write("notes.md", "nothing\n");
    left.git(["commit", "--quiet", "--all", "--message", "took it out"]);
    stopped("notes.md:1: ", "(commit ");
    left.git(["reset", "--quiet", "--soft", "origin/main"]);
    left.memtree(["sync"]).success().stdout_has("pushed");
    let before = net.remote_commit();
    // Raw that was forced into the index, and raw in a commit.
    let raw = format!("sessions/SES1_left_SP1C1/snapshot/raw/{ID}.jsonl");
    left.git(["add", "--force", &raw]);
    left.memtree(["sync"]).code(1).stderr_has(&raw).stderr_has("git -C [STORE] rm -r -q --cached");
    left.git(["commit", "--quiet", "--message", "raw"]);
    left.memtree(["sync"]).code(1).stderr_has(&raw);
    left.git(["rm", "-r", "-q", "--cached", "sessions/SES1_left_SP1C1/snapshot/raw"]);
    left.git(["commit", "--quiet", "--message", "no raw"]);
    // What came to the remote meanwhile is not to be taken back.
    let base = format!("reset --soft {}", &before[..10]);
    left.memtree(["sync"]).code(1).stderr_has(&raw).stderr_has(&base);
    assert_eq!(net.remote_commit(), before, "nothing was pushed");
    left.git(["reset", "--quiet", "--soft", "origin/main"]);
    left.memtree(["sync"]).success();
    assert_eq!(net.remote_text(&raw), None);
}

#[test]
fn nothing_outside_of_the_memory_is_touched() {
    let desk = Desk::in_memory().on_device("left");
    introduce(&desk);
    let git = |arguments: &[&str]| git_in(desk.root(), &desk.home(), arguments);
    let bare = desk.root().join("tmp/shared.git");
    git(&["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    git(&["init", "--quiet"]);
    fs::write(desk.root().join(".gitignore"), "/home\n/tmp\n/project\n").unwrap();
    fs::write(desk.root().join("work.rs"), "fn main() {}\n").unwrap();
    git(&["add", "work.rs", ".gitignore"]);
    git(&["commit", "--quiet", "--message", "work"]);
    git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    desk.memtree(["sweep", "--sample"]).done();
    fs::write(desk.root().join("work.rs"), "fn main() { todo!() }\n").unwrap();
    fs::write(desk.root().join("staged.rs"), "\n").unwrap();
    fs::write(desk.root().join("untracked.rs"), format!("{KEY}\n")).unwrap();
    git(&["add", "staged.rs"]);
    desk.memtree(["sync"]).success().stdout_has("pushed");
    let status = git(&["status", "--porcelain"]);
    assert_eq!(
        status,
        " M work.rs\nA  staged.rs\n?? untracked.rs\n"
            .replace(" M work.rs\nA  staged.rs", "A  staged.rs\n M work.rs"),
        "{status}"
    );
    let pushed = git(&["ls-tree", "-r", "--name-only", "origin/main"]);
    assert!(pushed.contains("memory/memtree.toml") && !pushed.contains("staged.rs"), "{pushed}");
    // In a worktree of it, too.
    let second = desk.root().join("tmp/second");
    git(&["worktree", "add", "--quiet", second.to_str().unwrap(), "-b", "other"]);
    let store = second.join("memory");
    desk.memtree(["--store", store.to_str().unwrap(), "log", "user", "from the worktree"])
        .success();
    let said =
        desk.memtree(["--store", store.to_str().unwrap(), "sync", "--json"]).success().json();
    assert_eq!((&said["branch"], &said["pushed"]), (&"other".into(), &true.into()));
}

#[test]
fn what_keeps_it_from_syncing_is_said_and_nothing_is_lost() {
    let desk = Desk::in_memory().on_device("left");
    introduce(&desk);
    desk.memtree(["init"]).success();
    desk.memtree(["sync"]).code(1).stderr_has("is in no git repository").stderr_has("git init");
    desk.git(["init", "--quiet", "--initial-branch=main"]);
    desk.memtree(["sync"]).success().stdout_has("no remote is known");
    assert_eq!(desk.git(["status", "--porcelain"]), "");
    desk.memtree(["sync", "--remote", "nowhere"])
        .code(2)
        .stderr_has("there is no remote `nowhere`");
    desk.memtree(["sync", "--remote", "--upload-pack=touch x"]).code(2);
    // A remote that is not there is an error; one that is out of reach is none.
    desk.git(["remote", "add", "origin", "/nowhere/at/all.git"]);
    desk.memtree(["log", "user", "high water"]).success();
    desk.memtree(["sync"]).code(1).stderr_has("cannot fetch from `origin`");
    assert_eq!(desk.git(["status", "--porcelain"]), "", "it is committed all the same");
    desk.git(["remote", "set-url", "origin", "git://127.0.0.1:1/x.git"]);
    desk.memtree(["log", "user", "low water"]).success();
    let offline = desk.memtree(["sync", "--json"]).success().json();
    assert!(offline["offline"].is_string() && offline["pushed"] == false, "{offline}");
    // A detached head.
    let head = desk.git(["rev-parse", "HEAD"]);
    desk.git(["checkout", "--quiet", "--detach"]);
    desk.memtree(["sync"]).code(1).stderr_has("HEAD is detached").stderr_has("git switch main");
    assert_eq!(desk.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_rewritten_remote_is_not_brought_back() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    left.memtree(["log", "user", "to be taken out"]).success();
    left.memtree(["sync"]).success();
    right.memtree(["sync"]).success();
    left.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    left.git(["commit", "--quiet", "--allow-empty", "--message", "another story"]);
    left.git(["push", "--quiet", "--force", "origin", "HEAD:main"]);
    let there = net.remote_commit();
    right.memtree(["log", "user", "written meanwhile"]).success();
    for _ in ["told", "told again"] {
        right
            .memtree(["sync"])
            .code(1)
            .stderr_has("`origin` was rewritten")
            .stderr_has("git rebase --onto");
        assert_eq!(net.remote_commit(), there);
    }
    assert!(right.read("daily/raw/2026-11-15.md").contains("written meanwhile"));
    // The person decides, and it goes on.
    right.git(["merge", "--quiet", "--no-edit", "origin/main"]);
    right.memtree(["sync"]).success().stdout_has("pushed");
}

#[test]
fn a_merge_that_was_left_in_the_middle_is_ended() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    for (desk, words) in [(left, "left"), (right, "right")] {
        let readme = desk.read("README.md");
        desk.write("README.md", readme.replacen('#', &format!("# {words}"), 1));
        desk.git(["commit", "--quiet", "--all", "--message", words]);
    }
    left.git(["push", "--quiet", "origin", "HEAD:main"]);
    let pulled = right.try_git(&["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    assert!(!pulled.status.success(), "there is a conflict");
    right.memtree(["sync"]).success().stdout_has("pushed");
    let readme = right.read("README.md");
    assert!(
        readme.contains("# left") && readme.contains("# right") && !readme.contains("<<<<"),
        "{readme}"
    );
    left.memtree(["sync"]).success();
    assert_eq!(left.read("README.md"), readme);
}

#[test]
fn a_hook_looks_before_plain_git_pushes() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    left.memtree(["sync", "--install-hook"]).success().stdout_has("hooks/pre-push");
    let push = || {
        Command::new("git")
            .args(["push", "--quiet", "origin", "main"])
            .env("MEMTREE_NOW", "2026-11-15T12:30:00Z")
            .env("HOME", left.home())
            .current_dir(left.store())
            .output()
            .unwrap()
    };
    left.write("notes.md", format!("{KEY}\n"));
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "oops"]);
    let before = net.remote_commit();
    let refused = push();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("notes.md:1: "), "{said}");
    assert_eq!(net.remote_commit(), before);
    left.git(["reset", "--quiet", "--soft", "origin/main"]);
    left.write("notes.md", "nothing\n");
    left.git(["add", "--all"]);
    left.git(["commit", "--quiet", "--message", "fine"]);
    let pushed = push();
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    // One of the person's own stays.
    let hook = left.store().join(".git/hooks/pre-push");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    left.memtree(["sync", "--install-hook"]).code(3).stdout_has("sync --check");
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_changed_gitattributes_or_gitignore_lets_nothing_slip() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    swept(left, "Which rope holds the mast?");
    left.write(".gitattributes", "* merge=ours\n");
    left.write(".gitignore", "!*\n");
    left.memtree(["sync"]).success();
    right.git(["config", "core.autocrlf", "true"]);
    right.memtree(["sync"]).success();
    let tracked = net.remote_text(".gitattributes").unwrap();
    assert!(tracked.contains("/sessions/*/*_DIGEST.md merge=memtree"), "{tracked}");
    let all = left.git(["ls-files"]);
    assert!(!all.contains("/snapshot/raw/") && !all.contains(".memtree"), "{all}");
    right.memtree(["log", "user", "written with other line ends"]).success();
    right.memtree(["sync"]).success();
    left.memtree(["sync"]).success();
    assert!(left.read("daily/raw/2026-11-15.md").contains("other line ends"));
    assert_eq!(left.git(["status", "--porcelain"]), "");
}

#[test]
fn raw_that_git_would_take_is_not_left_in_its_index() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    let raw = format!("sessions/SES1_left_SP1C1/snapshot/raw/{ID}.jsonl");
    // Both that keep it out are gone: somebody's clean-up, and a changed list.
    let guard = left.store().join("sessions/SES1_left_SP1C1/snapshot/raw/.gitignore");
    fs::remove_file(guard).unwrap();
    left.write(".gitignore", "/.memtree/\n");
    left.memtree(["sync"]).code(1).stderr_has(&raw).stderr_has("must stay on this device");
    // Who goes on with plain git sends nothing of it.
    assert!(!left.git(["ls-files"]).contains("/snapshot/raw/"));
    left.git(["commit", "--quiet", "--message", "by hand"]);
    assert!(!left.git(["ls-tree", "-r", "--name-only", "HEAD"]).contains("/snapshot/raw/"));
    left.memtree(["doctor", "--fix"]).any();
    left.git(["checkout", "--quiet", "HEAD~1", "--", ".gitignore"]);
    left.memtree(["sync"]).success();
}

#[test]
fn names_that_only_case_tells_apart_are_noticed() {
    let net = Net::of(&["left", "Left"]);
    let [left, other] = net.desks.as_slice() else { unreachable!() };
    swept(left, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    other.write_log(
        "6c6c6c6c-0000-4000-8000-000000000001",
        exchange("6c6c6c6c-0000-4000-8000-000000000001", 2, "Which knot?", "A bowline."),
    );
    other.memtree(["sweep"]).success();
    other.memtree(["sync"]).success();
    left.memtree(["sync"]).success();
    // Where names have case, both are there, each with its own page.
    for (session, words) in [("SES1_left_SP1C1", "rope"), ("SES1_Left_SP1C1", "knot")] {
        assert!(left.digest_text(session).contains(words), "{session}");
    }
    left.memtree(["verify"]).success();
    left.memtree(["doctor"])
        .any()
        .1
        .stdout_has("only case tells the device Left and the device left apart");
    left.write("knowledge/concepts/Rope.md", "# Rope\n");
    left.write("knowledge/concepts/rope.md", "# rope\n");
    left.memtree(["doctor"])
        .any()
        .1
        .stdout_has("`knowledge/concepts/Rope.md` and `knowledge/concepts/rope.md`");
}

#[test]
fn a_branch_without_an_upstream_gets_one() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    left.git(["switch", "--quiet", "--create", "aside"]);
    left.memtree(["log", "user", "on another branch"]).success();
    left.memtree(["sync"]).success().stdout_has("pushed to origin/aside");
    assert_eq!(left.git(["rev-parse", "--abbrev-ref", "aside@{upstream}"]).trim(), "origin/aside");
    left.git(["branch", "--unset-upstream"]);
    left.memtree(["log", "user", "once more"]).success();
    left.memtree(["sync"]).success().stdout_has("pushed to origin/aside");
}

#[test]
fn a_watch_syncs_after_its_sweeps() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    left.write_log(ID, exchange(ID, 1, "Which rope holds the mast?", "Hemp."));
    let mut watch = left.start(["watch", "--sync"]);
    let page = left.digest_path("SES1_left_SP1C1");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while net.remote_text(&page).is_none() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(net.remote_text(&page).is_some_and(|page| page.contains("rope")), "it was not pushed");
}

#[test]
fn a_shallow_or_partial_clone_syncs_too() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    let url = format!("file://{}", net.remote.display());
    for (name, how) in [("shallow", "--depth=1"), ("partial", "--filter=blob:none")] {
        let right = Desk::in_memory().on_device(name);
        introduce(&right);
        let partial = Command::new("git")
            .args(["config", "uploadpack.allowFilter", "true"])
            .current_dir(&net.remote)
            .status();
        assert!(partial.unwrap().success());
        left.git(["clone", "--quiet", how, &url, right.store().to_str().unwrap()]);
        right.memtree(["log", "user", &format!("from the {name} one")]).success();
        left.memtree(["log", "user", &format!("beside the {name} one")]).success();
        left.memtree(["sync"]).success();
        right.memtree(["sync"]).success().stdout_has("pushed");
        left.memtree(["sync"]).success();
        let day = left.read("daily/raw/2026-11-15.md");
        assert!(day.contains(&format!("from the {name} one")), "{day}");
        assert_eq!(left.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn nothing_is_merged_over_what_somebody_has_staged() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    // The memory is a folder of a bigger repository.
    let work = right.root().join("work");
    let git =
        |folder: &std::path::Path, arguments: &[&str]| git_in(folder, &right.home(), arguments);
    git(right.root(), &["clone", "--quiet", net.remote.to_str().unwrap(), "work"]);
    fs::create_dir(work.join("memory")).unwrap();
    let store = work.join("memory");
    let store = store.to_str().unwrap();
    right.memtree(["--store", store, "init"]).success();
    right.memtree(["--store", store, "sync"]).success();
    left.memtree(["log", "user", "from the left"]).success();
    left.memtree(["sync"]).success();
    right.memtree(["--store", store, "log", "user", "from the right"]).success();
    fs::write(work.join("mine.rs"), "fn mine() {}\n").unwrap();
    git(&work, &["add", "mine.rs"]);
    let there = net.remote_commit();
    let told = right.memtree(["--store", store, "sync"]).code(1);
    assert!(told.stderr.contains("files outside of the memory are staged"), "{}", told.stderr);
    assert_eq!(net.remote_commit(), there);
    assert_eq!(git(&work, &["status", "--porcelain"]), "A  mine.rs\n", "it is still staged");
    git(&work, &["commit", "--quiet", "--message", "mine"]);
    right.memtree(["--store", store, "sync"]).success().stdout_has("pushed");
    // Nor over what is only changed, where there is nothing to merge but to go on.
    left.memtree(["sync"]).success();
    fs::write(left.store().join("mine.rs"), "fn theirs() {}\n").unwrap();
    left.memtree(["sync"]).success();
    fs::write(work.join("mine.rs"), "fn mine() { todo!() }\n").unwrap();
    let told = right.memtree(["--store", store, "sync"]).code(1);
    assert!(told.stderr.contains("commit or stash them"), "{}", told.stderr);
    assert_eq!(git(&work, &["status", "--porcelain"]), " M mine.rs\n");
}

#[test]
fn a_memory_that_is_a_submodule_syncs_too() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    left.memtree(["log", "user", "from the left"]).success();
    left.memtree(["sync"]).success();
    let work = right.root().join("work");
    fs::create_dir(&work).unwrap();
    let git = |arguments: &[&str]| git_in(&work, &right.home(), arguments);
    git(&["init", "--quiet"]);
    let (remote, allow) = (net.remote.to_str().unwrap(), "protocol.file.allow=always");
    git(&["-c", allow, "submodule", "--quiet", "add", remote, "memory"]);
    let store = work.join("memory");
    let store = store.to_str().unwrap();
    right.memtree(["--store", store, "log", "user", "from the right"]).success();
    right.memtree(["--store", store, "sync"]).success().stdout_has("committed 1 file");
    // Both have written since: there is something to merge.
    left.memtree(["log", "user", "more from the left"]).success();
    left.memtree(["sync"]).success();
    left.memtree(["log", "user", "even more from the left"]).success();
    left.memtree(["sync"]).success();
    right.memtree(["--store", store, "log", "user", "more from the right"]).success();
    right.memtree(["--store", store, "sync"]).success().stdout_has("pushed");
    left.memtree(["sync"]).success();
    let day = left.read("daily/raw/2026-11-15.md");
    assert_eq!(day.matches("from the").count(), 5, "{day}");
}

#[test]
fn what_waits_in_a_rebase_is_joined_and_said() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    swept(left, "Which rope holds the mast?");
    left.memtree(["sync"]).success();
    right.memtree(["sync"]).success();
    let page = left.digest_path("SES1_left_SP1C1");
    for (desk, note) in [(left, "- a note of the left\n"), (right, "- a note of the right\n")] {
        desk.write(&page, desk.read(&page) + note);
    }
    left.memtree(["sync"]).success();
    // Plain git, in a clone that does not know how pages are joined.
    right.git(["config", "--remove-section", "merge.memtree"]);
    right.git(["commit", "--quiet", "--all", "--message", "mine"]);
    assert!(!right.try_git(&["pull", "--quiet", "--rebase"]).status.success());
    right.memtree(["sync", "--dry-run"]).code(1).stderr_has("in the middle of a rebase");
    assert!(right.read(&page).contains("<<<<<<<"));
    right.memtree(["sync"]).code(1).stderr_has("git rebase --continue");
    let joined = right.read(&page);
    assert!(joined.contains("of the left") && joined.contains("of the right"), "{joined}");
    right.git(["add", "--all"]);
    right.git(["-c", "core.editor=true", "rebase", "--continue"]);
    right.memtree(["sync"]).success().stdout_has("pushed");
    left.memtree(["sync"]).success();
    assert_eq!(left.read(&page), joined);
}

#[test]
fn two_devices_of_one_name_are_not_merged_into_each_others_sessions() {
    let net = Net::of(&["desk", "desk"]);
    let [one, other] = net.desks.as_slice() else { unreachable!() };
    swept(one, "Which rope holds the mast?");
    let id = ID.replace("0001", "0002");
    other.write_log(&id, exchange(&id, 2, "Where is the anchor?", "Decided: it is at the bow."));
    other.memtree(["sweep"]).success();
    one.memtree(["sync"]).success();
    let before = other.digest_text("SES1_desk_SP1C1");
    let pushed = net.remote_commit();
    let refused = other.memtree(["sync"]).code(1);
    refused
        .stderr_has("`SES1_desk_SP1C1`, are others there")
        .stderr_has("MEMTREE_DEVICE")
        .stderr_has("nothing was merged");
    assert_eq!(other.digest_text("SES1_desk_SP1C1"), before);
    assert_eq!(net.remote_commit(), pushed, "nothing was pushed");
    assert!(other.git(["status", "--porcelain"]).is_empty());
    other.memtree(["verify"]).success();
    // Git itself, with our driver: a conflict that nobody hides.
    other.memtree(["init"]).success();
    let merged = other.try_git(&["merge", "--no-edit", "origin/main"]);
    assert!(!merged.status.success());
    other.memtree(["log", "user", "high water"]).any();
    let page = other.digest_text("SES1_desk_SP1C1");
    assert!(
        !(page.contains("rope") && page.contains("anchor")) || page.contains("<<<<<<<"),
        "{page}"
    );
    other.memtree(["sync"]).code(1).stderr_has("cannot be joined");
    let _ = other.try_git(&["merge", "--abort"]);
    assert_eq!(other.digest_text("SES1_desk_SP1C1"), before);
}

#[test]
fn a_key_of_several_lines_and_one_on_a_merged_branch_stay_here() {
    let net = Net::of(&["desk"]);
    let desk = &net.desks[0];
    swept(desk, "Which rope holds the mast?");
    desk.memtree(["sync"]).success();
    let pushed = net.remote_commit();
    let body = "MIIEpAIBAAKCAQEAx7Vb3kQ9\n".repeat(6);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n");
    let page = desk.digest_path("SES1_desk_SP1C1");
    let before = desk.read(&page);
    desk.write(&page, format!("{before}{key}"));
    desk.memtree(["sync"]).code(1).stderr_has("nothing was pushed").stderr_has(&page);
    desk.memtree(["doctor", "--secrets"]).any().1.stdout_has(&page);
    desk.write(&page, &before);
    // On a branch that came to nothing, and was merged.
    desk.git(["checkout", "--quiet", "-b", "side"]);
    desk.write(&page, format!("{before}the key is {KEY}\n"));
    desk.git(["commit", "--quiet", "--all", "--message", "a slip"]);
    desk.write(&page, &before);
    desk.git(["commit", "--quiet", "--all", "--message", "taken out again"]);
    desk.git(["checkout", "--quiet", "main"]);
    desk.git(["merge", "--quiet", "--no-ff", "--no-edit", "side"]);
    desk.memtree(["sync"]).code(1).stderr_has("nothing was pushed").stderr_has(&page);
    assert_eq!(net.remote_commit(), pushed);
}

#[test]
fn what_no_memtree_sends_is_not_taken_in() {
    for planted in ["own", "raw", "link"] {
        let net = Net::of(&["left", "right"]);
        let [left, right] = net.desks.as_slice() else { unreachable!() };
        swept(left, "Which rope holds the mast?");
        left.memtree(["sync"]).success();
        right.memtree(["sync"]).success();
        let raw = left.texts().into_keys().find(|name| name.ends_with(".jsonl")).unwrap();
        let before = left.read(&raw);
        let name = match planted {
            "own" => ".memtree/local/tombstones.json".to_string(),
            "raw" => raw.clone(),
            _ => "core/CORE_evil_SP1C1.md".to_string(),
        };
        let path = right.store().join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match planted {
            #[cfg(unix)]
            "link" => std::os::unix::fs::symlink("/etc/hostname", &path).unwrap(),
            _ => fs::write(&path, "{}\n").unwrap(),
        }
        right.git(["add", "--force", "--", &name]);
        right.git(["commit", "--quiet", "--message", "for you"]);
        right.git(["push", "--quiet", "origin", "HEAD:main"]);
        left.memtree(["sync"]).code(1).stderr_has("which no memtree sends").stderr_has(&name);
        assert_eq!(left.read(&raw), before, "{planted}");
        assert!(left.sessions().contains(&"SES1_left_SP1C1".to_string()));
    }
}
