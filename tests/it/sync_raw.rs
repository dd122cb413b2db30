//! Raw travels where the person themself wants it, after they agreed: through Git LFS, or as
//! ordinary files. A pulled setting never does it, and folders never travel.

#[cfg(unix)]
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use crate::harness::{Desk, exchange, git_in};
use crate::sync::Net;

const ID: &str = "7a7a7a7a-0000-4000-8000-000000000001";
const RAW: &str =
    "sessions/SES1_left_SP1C1/snapshot/raw/7a7a7a7a-0000-4000-8000-000000000001.jsonl";
/// A key that a rule knows; it opens nothing.
const KEY: &str = "AKIAQ3EGRXW7LMPDZT5K";

/// A session whose raw holds a secret; its pages do not.
fn swept(desk: &Desk) {
    let prompt = format!("Which rope holds the mast? The key is {KEY}.");
    desk.write_log(ID, exchange(ID, 1, &prompt, "Decided: hemp rope holds it."));
    desk.memtree(["sweep"]).success();
}

fn own_setting(desk: &Desk, value: &str) {
    desk.memtree(["config", "sync.raw", value]).success();
}

#[test]
fn raw_leaves_once_the_person_set_it_and_agreed() {
    let net = Net::of(&["left", "right"]);
    let [left, right] = net.desks.as_slice() else { unreachable!() };
    swept(left);
    left.memtree(["sync"]).success();
    assert_eq!(net.remote_text(RAW), None);
    own_setting(left, "plain");
    // Nobody was there to agree.
    left.memtree(["sync", "--dry-run"]).success().stderr_has("1 file of raw (");
    left.memtree(["sync"])
        .success()
        .stderr_has("not redacted")
        .stderr_has("secrets included")
        .stderr_has("memtree sync --yes");
    assert_eq!(net.remote_text(RAW), None);
    let said = left.memtree(["sync", "--yes"]).success();
    let said = said.stdout_has("raw is among it, not redacted: 1 file, ").stdout_has("pushed");
    assert!(!said.stderr.contains(KEY));
    let there = net.remote_text(RAW).unwrap();
    assert_eq!(there, left.read(RAW));
    assert!(there.contains(KEY));
    // It was asked once, and what comes later goes by itself.
    let more = exchange(ID, 3, "And how old is it?", "Old.");
    left.write_log(ID, left.read(RAW) + &more);
    left.memtree(["sweep"]).success();
    left.memtree(["sync"]).success().stdout_has("raw is among it");
    assert_eq!(net.remote_text(RAW).unwrap(), left.read(RAW));
    for desk in [left, right] {
        desk.memtree(["sync"]).success();
        desk.memtree(["verify", "--deep"]).success();
        desk.memtree(["doctor"]).success();
        desk.memtree(["sweep"]).success();
        desk.memtree(["sync", "--check"]).success();
        assert_eq!(desk.git(["status", "--porcelain"]), "");
    }
    // The other device has all of it, closed to others and to plain git, and sends nothing of its
    // own.
    assert_eq!(right.read(RAW), left.read(RAW));
    right.memtree(["recall", "SES1_left_SP1C1#EP_001", "--raw"]).success().stdout_has("rope");
    let guard = "sessions/SES1_left_SP1C1/snapshot/raw/.gitignore";
    assert!(right.read(guard).contains("\n*\n") && net.remote_text(guard).is_none());
    let other = "7b7b7b7b-0000-4000-8000-000000000002";
    right.write_log(other, exchange(other, 1, "Which sail?", "The jib."));
    right.memtree(["sweep"]).success();
    right.memtree(["sync"]).success();
    let its_own = format!("sessions/SES1_right_SP1C1/snapshot/raw/{other}.jsonl");
    assert!(right.store().join(&its_own).is_file());
    assert_eq!(net.remote_text(&its_own), None);
    right.git(["add", "--force", &its_own]);
    right.memtree(["sync"]).code(1).stderr_has(&its_own);
    right.memtree(["sweep"]).code(1).stderr_has(&its_own);
}

#[test]
fn a_pulled_setting_sends_no_raw() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left);
    let settings = left.read("memtree.toml");
    left.write("memtree.toml", settings.replace("#raw = false", "raw = \"plain\""));
    left.memtree(["config", "accept", "--all"]).any();
    left.memtree(["sync", "--yes"])
        .success()
        .stderr_has("`sync.raw` sends away what is not redacted");
    assert_eq!(net.remote_text(RAW), None);
}

#[test]
fn folders_and_other_places_get_none() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    let notes = left.project().join("notes/raw");
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("mine.md"), "# Mine alone\n").unwrap();
    left.memtree(["snapshot", "notes"]).success();
    own_setting(left, "plain");
    left.memtree(["sync", "--yes"]).success();
    let listed = left.git(["ls-files"]);
    assert!(!listed.contains("/snapshot/"), "{listed}");
    left.git(["add", "--force", "sessions/SES1_left_SP1C1/snapshot/raw/mine.md"]);
    left.memtree(["sync"]).code(1).stderr_has("SES1_left_SP1C1/snapshot/raw/mine.md");
    left.git(["rm", "-r", "-q", "--cached", "sessions/SES1_left_SP1C1/snapshot"]);
    left.memtree(["sync"]).success();
    // What was agreed to is one place; another one is asked about again.
    let elsewhere = left.root().join("elsewhere.git");
    let elsewhere = elsewhere.to_str().unwrap();
    left.git(["init", "--quiet", "--bare", "--initial-branch=main", elsewhere]);
    left.git(["remote", "set-url", "origin", elsewhere]);
    left.memtree(["sync"]).code(1).stderr_has("raw would go to `origin` for the first time");
    left.memtree(["sync", "--check"]).code(1).stderr_has("for the first time");
    left.memtree(["sync", "--yes"]).success();
}

#[test]
fn turned_off_again_it_says_how_raw_gets_out_of_git() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left);
    own_setting(left, "plain");
    left.memtree(["sync", "--yes"]).success();
    left.memtree(["sweep"]).success();
    own_setting(left, "false");
    let mend = "rm -r -q --cached --ignore-unmatch -- sessions/SES1_left_SP1C1/snapshot/raw";
    left.memtree(["sync"]).code(1).stderr_has(RAW).stderr_has(mend).stderr_has("history");
    left.memtree(["sweep"]).code(1).stderr_has(mend);
    left.memtree(["doctor"]).code(1).stdout_has(mend);
    let words: Vec<&str> = mend.split(' ').collect();
    left.git::<7>(words.try_into().unwrap());
    left.git(["commit", "--quiet", "--message", "memory: raw stays here"]);
    left.memtree(["sync"]).success().stdout_has("pushed");
    assert_eq!(net.remote_text(RAW), None);
    assert!(left.store().join(RAW).is_file());
    left.memtree(["doctor"]).success();
    left.memtree(["sweep"]).success();
    left.memtree(["verify"]).success();
}

/// The program where nothing but git is to be found.
#[cfg(unix)]
fn without_lfs(desk: &Desk, arguments: &[&str]) -> std::process::Output {
    let bin = desk.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|it| it.is_file());
    let _ = std::os::unix::fs::symlink(git.unwrap(), bin.join("git"));
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    desk.command(&arguments).env("PATH", &bin).output().unwrap()
}

#[cfg(unix)]
#[test]
fn without_git_lfs_raw_stays_and_the_remedy_is_named() {
    let net = Net::of(&["left"]);
    let left = &net.desks[0];
    swept(left);
    own_setting(left, "true");
    let before = net.remote_commit();
    let ran = without_lfs(left, &["sync", "--yes"]);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for words in ["Git LFS", "git lfs install", "sync.raw plain"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(net.remote_commit(), before);
    own_setting(left, "false");
    assert!(without_lfs(left, &["sync"]).status.success());
    assert_eq!(net.remote_text(RAW), None);
}

/// Tells git of Git LFS, as a person does once.
fn install_lfs(desk: &Desk) {
    let ended = Command::new("git")
        .args(["lfs", "install", "--skip-repo"])
        .env("HOME", desk.home())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// What git finds changed, with the person's own settings, where the filter stands.
fn status(desk: &Desk) -> String {
    git_in(&desk.store(), &desk.home(), &["status", "--porcelain"])
}

#[test]
#[ignore = "needs git-lfs"]
fn git_lfs_carries_raw_to_a_clone() {
    let net = Net::of(&["left", "right", "bare"]);
    let [left, right, bare] = net.desks.as_slice() else { unreachable!() };
    swept(left);
    own_setting(left, "true");
    // Git LFS is there, but git does not know of it; unless the machine tells it to everybody.
    if !left.try_git(&["config", "--system", "--get", "filter.lfs.clean"]).status.success() {
        left.memtree(["sync", "--yes"]).code(1).stderr_has("`git lfs install` once");
    }
    install_lfs(left);
    install_lfs(right);
    // A hook of the person's own does not keep Git LFS from sending first.
    left.memtree(["sync", "--install-hook"]).success();
    left.memtree(["sync", "--yes"]).success().stdout_has("raw is among it, not redacted: 1 file");
    let pointer = net.remote_text(RAW).unwrap();
    assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1\n"), "{pointer}");
    assert!(net.remote_text(".gitattributes").unwrap().contains("/raw/** filter=lfs"));
    left.memtree(["sync"]).success().stdout_has("`origin` has everything");
    assert_eq!(status(left), "");
    left.memtree(["doctor"]).success();
    // The second machine has the log itself, byte for byte.
    right.memtree(["sync"]).success();
    assert_eq!(right.read(RAW), left.read(RAW));
    right.memtree(["verify", "--deep"]).success();
    right.memtree(["doctor"]).success();
    right.memtree(["sweep"]).success();
    assert_eq!(status(right), "");
    // One without Git LFS has a pointer, which is no damage and is never read as a log.
    bare.memtree(["sync"]).success();
    assert_eq!(bare.read(RAW), pointer);
    bare.memtree(["verify"]).success().stdout_has("git lfs pull");
    bare.memtree(["verify", "--deep"]).any();
    bare.memtree(["recall", "SES1_left_SP1C1#EP_001", "--raw"]).code(1).stderr_has("git lfs pull");
    bare.memtree(["recall", "SES1_left_SP1C1#EP_001"]).success().stdout_has("rope");
    let digest = bare.read(bare.digest_path("SES1_left_SP1C1"));
    bare.memtree(["doctor", "--fix"]).any();
    bare.memtree(["sweep"]).success();
    assert_eq!(bare.read(bare.digest_path("SES1_left_SP1C1")), digest);
    // Where it is sent is not for a file that is pulled.
    right.write(".lfsconfig", "[lfs]\n\turl = https://example.org/elsewhere\n");
    right.memtree(["sync"]).success();
    left.write_log(ID, left.read(RAW) + &exchange(ID, 3, "And how old is it?", "Old."));
    left.memtree(["sweep"]).success();
    left.memtree(["sync"]).code(1).stderr_has("`.lfsconfig`");
    assert_eq!(net.remote_text(RAW).unwrap(), pointer);
}
