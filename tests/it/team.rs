//! Teams: other people's memories are searched with their names on them, never taken for one's own
//! words, and nothing leaves that was not named.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Desk, copy_folder, exchange, git_in};

const SHARED: &str = "5c5c5c5c-0000-4000-8000-00000000000";
/// A key that a rule knows; it opens nothing.
const KEY: &str = "AKIAQ3EGRXW7LMPDZT5K";

/// A log of a project.
fn log_of(desk: &Desk, number: u32, project: &str, prompt: &str) {
    let id = format!("{SHARED}{number}");
    let log = exchange(&id, number, prompt, "Decided: hemp rope holds it, since it does not slip.");
    desk.write_log(&id, log.replace("/home/dev/code/demo", &format!("/home/dev/code/{project}")));
}

/// A person with a memory, and the address of the team's repository.
fn person(name: &str, share: &str, repository: &Path) -> Desk {
    let desk = Desk::in_memory().on_device(&format!("{name}-pc"));
    let who = format!("[user]\n\tname = {name}\n\temail = {name}@example.org\n");
    fs::write(desk.home().join(".gitconfig"), who).unwrap();
    desk.memtree(["init"]).success();
    desk.configure(format!(
        "[sync]\nepisodes = true\n[team]\nname = \"{name}\"\nrepository = \"{}\"\nshare = [{share}]\n",
        repository.display()
    ));
    desk
}

fn bare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("git")
        .args(["init", "--quiet", "--bare", "--initial-branch=main", "."])
        .current_dir(folder.path())
        .output();
    assert!(made.unwrap().status.success());
    folder
}

/// The files of the team's repository.
fn files_of(repository: &Path) -> String {
    let home = repository.parent().unwrap();
    git_in(repository, home, &["ls-tree", "-r", "--name-only", "main"])
}

#[test]
fn only_projects_that_were_named_leave_and_hits_say_whose_they_are() {
    let repository = bare();
    let ana = person("ana", "\"boats\"", repository.path());
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    log_of(&ana, 2, "payroll", "Which rope of salaries holds the mast of marzipan?");
    ana.memtree(["sweep"]).success();
    let notes = ana.root().join("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("rope.md"), "# Rope\n\nA rope that nobody shares.\n").unwrap();
    ana.memtree(["snapshot", notes.to_str().unwrap()]).success();
    ana.memtree(["sync", "--team"]).success().stdout_has("shared: 1 session of this device");
    let there = files_of(repository.path());
    assert!(
        there.contains("ana/sessions/SES1_ana-pc_SP1C1/SES1_ana-pc_SP1C1_DIGEST.md"),
        "{there}"
    );
    assert!(there.contains("/snapshot/episodic/EP_001.md"), "{there}");
    assert!(!there.contains("SES2_") && !there.contains("SES3_"), "{there}");
    for part in ["raw", "sensory", "memtree.toml", "daily", "core", "INDEX"] {
        assert!(!there.contains(part), "{part}: {there}");
    }
    let packed = git_in(repository.path(), ana.root(), &["grep", "-i", "boats", "main"]);
    assert!(packed.contains("boats") && !packed.contains("marzipan"));

    // Somebody who shares nothing finds it, with its author.
    let bo = person("bo", "", repository.path());
    log_of(&bo, 3, "kites", "Which rope holds the kite?");
    bo.memtree(["sweep"]).success();
    bo.memtree(["sync", "--team"])
        .success()
        .stdout_has("here: ana")
        .stdout_has("nothing of yours is shared");
    assert_eq!(files_of(repository.path()), there, "nothing of his got there");
    bo.memtree(["search", "rope", "mast", "--team"]).success().stdout_has("ana on ana-pc");
    let answer = bo.memtree(["search", "rope", "--team", "--json"]).success().json();
    let hits = answer["hits"].as_array().unwrap();
    let whose: Vec<_> = hits.iter().map(|hit| (&hit["author"], &hit["device"])).collect();
    assert_eq!(hits.len(), 2, "{answer}");
    assert!(whose.contains(&(&"ana".into(), &"ana-pc".into())), "{whose:?}");
    assert!(whose.contains(&(&"bo".into(), &"bo-pc".into())), "{whose:?}");
    let anas = hits.iter().find(|hit| hit["author"] == "ana").unwrap();
    let path = anas["path"].as_str().unwrap().replace("[STORE]", bo.store().to_str().unwrap());
    assert!(Path::new(&path).is_file(), "{anas}");
    let rank = anas["rank"].to_string();
    bo.memtree(["recall", &rank]).code(2).stderr_has("read it as it is");
    bo.memtree(["search", "mast", "--team", "--deep"]).success().stdout_has("EP_001");

    // Whoever does not ask for the team's gets nothing of it, and no agent ever does.
    let alone = bo.memtree(["search", "mast", "--json"]).success().json();
    assert!(!alone.to_string().contains("ana"), "{alone}");
    for arguments in [
        vec!["context", "Which rope holds the mast?"],
        vec!["context"],
        vec!["ask", "Which rope holds the mast?"],
        vec!["list"],
    ] {
        let told = bo.memtree(&arguments).any().1.told();
        assert!(!told.contains("mast?") || !told.contains("ana-pc"), "{arguments:?}: {told}");
        assert!(!told.contains("ana-pc"), "{arguments:?}: {told}");
    }
    bo.memtree(["verify"]).success();
    bo.memtree(["doctor"]).success();
}

#[test]
fn what_is_not_shared_any_more_is_taken_back() {
    let repository = bare();
    let ana = person("ana", "\"boats\", \"kites\"", repository.path());
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    log_of(&ana, 2, "kites", "Which line holds the kite?");
    ana.memtree(["sweep"]).success();
    ana.memtree(["sync", "--team"]).success().stdout_has("2 sessions");
    let before = files_of(repository.path());
    ana.memtree(["sync", "--team"]).success();
    assert_eq!(git_in(repository.path(), ana.root(), &["rev-list", "--count", "main"]).trim(), "1");
    // Another device of hers has put something there, too; that stays.
    let clone = ana.root().join("clone");
    git_in(
        ana.root(),
        &ana.home(),
        &["clone", "--quiet", repository.path().to_str().unwrap(), "clone"],
    );
    let other = clone.join("ana/sessions/SES1_lap_SP1C1");
    fs::create_dir_all(&other).unwrap();
    let page = ana.digest_text("SES1_ana-pc_SP1C1").replace("SES1_ana-pc_SP1C1", "SES1_lap_SP1C1");
    fs::write(other.join("SES1_lap_SP1C1_DIGEST.md"), page).unwrap();
    git_in(&clone, &ana.home(), &["add", "--all"]);
    git_in(&clone, &ana.home(), &["commit", "--quiet", "--message", "lap"]);
    git_in(&clone, &ana.home(), &["push", "--quiet"]);
    // A project is taken off the list; a session is forgotten.
    let text = fs::read_to_string(ana.home().join(".config/memtree/config.toml")).unwrap();
    ana.configure(text.replace(", \"kites\"", ""));
    ana.memtree(["sync", "--team"]).success().stdout_has("1 session taken back");
    let there = files_of(repository.path());
    assert!(before.contains("SES2_") && !there.contains("SES2_"), "{there}");
    assert!(there.contains("SES1_lap_SP1C1_DIGEST.md"), "{there}");
    ana.memtree(["forget", "SES1_ana-pc_SP1C1", "--yes"])
        .success()
        .stdout_has("was shared with your team");
    ana.memtree(["sync", "--team"]).success().stdout_has("nothing of yours is shared");
    let there = files_of(repository.path());
    assert!(!there.contains("ana-pc") && there.contains("SES1_lap_SP1C1"), "{there}");
}

#[test]
fn a_secret_in_a_note_stops_it() {
    let repository = bare();
    let ana = person("ana", "\"boats\"", repository.path());
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    ana.memtree(["sweep"]).success();
    let page = ana.digest_path("SES1_ana-pc_SP1C1");
    let clean = ana.read(&page);
    ana.write(&page, format!("{clean}my key is {KEY}\n"));
    let told = ana.memtree(["sync", "--team"]).code(1).stderr_has("nothing was pushed");
    assert!(told.stderr.contains(&page) && !told.stderr.contains(KEY), "{}", told.stderr);
    let refs = git_in(repository.path(), ana.root(), &["for-each-ref"]);
    assert_eq!(refs, "", "nothing was pushed");
    ana.write(&page, clean);
    ana.memtree(["sync", "--team"]).success().stdout_has("1 session");
    // A name is needed, and the memory's own file cannot choose what is shared.
    ana.configure(format!(
        "[team]\nrepository = \"{}\"\nshare = [\"boats\"]\n",
        repository.path().display()
    ));
    ana.memtree(["sync", "--team"]).code(2).stderr_has("team.name");
    ana.configure("");
    ana.settings(format!(
        "format = 2\n[team]\nname = \"ana\"\nshare = [\"payroll\"]\nrepository = \"{}\"\n[team.people]\nbo = \"/\"\n",
        repository.path().display()
    ));
    ana.memtree(["sync", "--team"]).code(2).stderr_has("your settings name no team");
    ana.memtree(["search", "rope", "--team"]).code(2).stderr_has("no other person's memory");
}

#[test]
fn a_person_who_left_is_removed() {
    let repository = bare();
    let (ana, bo) =
        (person("ana", "\"boats\"", repository.path()), person("bo", "", repository.path()));
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    ana.memtree(["sweep"]).success();
    ana.memtree(["sync", "--team"]).success();
    bo.memtree(["sync", "--team"]).success();
    bo.memtree(["search", "mast", "--team"]).success().stdout_has("ana on ana-pc");
    bo.memtree(["forget", "--author", "cleo", "--yes"]).code(1).stderr_has("nobody is called");
    bo.memtree(["forget", "--author", "../ana", "--yes"]).code(2);
    bo.memtree(["forget", "--author", "ana", "--dry-run"]).success().stdout_has("would go");
    // Without the remote it waits; searches find nothing of hers at once.
    let away = repository.path().with_extension("away");
    fs::rename(repository.path(), &away).unwrap();
    bo.memtree(["forget", "--author", "ana", "--yes"]).code(1).stderr_has("cannot reach");
    assert_eq!(bo.memtree(["search", "mast", "--team", "--json"]).any().0, Some(2));
    fs::rename(&away, repository.path()).unwrap();
    bo.memtree(["sync", "--team"]).success().stdout_has("removed: ana");
    assert!(!files_of(repository.path()).contains("ana"));
    assert!(!bo.texts().values().any(|text| text.contains("mast")), "nothing of hers is left");
    // Once more, with the remote there.
    ana.memtree(["sync", "--team"]).success();
    bo.memtree(["forget", "--undo", "ana"]).success().stdout_has("ana is read again");
    bo.memtree(["sync", "--team"]).success().stdout_has("here: ana");
    bo.memtree(["forget", "--author", "ana", "--yes"])
        .success()
        .stdout_has("their folder in the team's repository went")
        .stdout_has("history of the team's repository still has their sessions")
        .stdout_has("filter-branch");
    assert!(!files_of(repository.path()).contains("ana"));
    ana.memtree(["forget", "--author", "ana", "--yes"]).code(2).stderr_has("that is you");
}

#[test]
fn memories_elsewhere_are_read_or_fetched_and_not_changed() {
    let repository = bare();
    let ana = person("ana", "", repository.path());
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    ana.memtree(["sweep"]).success();
    ana.git(["init", "--quiet", "--initial-branch=main"]);
    ana.git(["remote", "add", "origin", repository.path().to_str().unwrap()]);
    ana.memtree(["sync"]).success();
    let bo = person("bo", "", repository.path());
    let folder = bo.root().join("of ana");
    copy_folder(&ana.store(), &folder);
    fs::remove_dir_all(folder.join(".memtree")).unwrap();
    bo.configure(format!(
        "# mine\n[team.people]\nana = \"{}\"\nanna = \"file://{}\" # same\n",
        folder.display(),
        repository.path().display()
    ));
    bo.memtree(["search", "mast", "--team"]).success().stdout_has("ana on ana-pc");
    assert!(!folder.join(".memtree").exists(), "her folder is only read");
    bo.memtree(["sync", "--team"]).success().stdout_has("here: ana, anna");
    bo.memtree(["search", "mast", "--team"]).success().stdout_has("anna on ana-pc");
    // Hooks fetch nothing, and her new session is there after the next sync.
    log_of(&ana, 2, "boats", "Which anchor holds in mud?");
    ana.memtree(["sweep"]).success();
    ana.memtree(["sync"]).success();
    let found = bo.memtree(["search", "anchor", "mud", "--team", "--json"]).success().json();
    assert_eq!(found["total"], 0, "{found}");
    bo.memtree(["sync", "--team"]).success();
    bo.memtree(["search", "anchor", "mud", "--team"]).success().stdout_has("anna on ana-pc");
    for (name, stays) in [("ana", true), ("anna", false)] {
        let told =
            bo.memtree(["forget", "--author", name, "--yes"]).success().stdout_has("their line in");
        assert_eq!(told.stdout.contains("is theirs and stays"), stays, "{}", told.stdout);
    }
    assert!(folder.join("memtree.toml").is_file());
    let left = fs::read_to_string(bo.home().join(".config/memtree/config.toml")).unwrap();
    assert_eq!(left, "# mine\n[team.people]\n");
}

#[cfg(unix)]
#[test]
fn what_a_hostile_colleague_sends_stays_text() {
    let repository = bare();
    let bo = person("bo", "", repository.path());
    fs::write(bo.home().join("secret.md"), "the rope of the secret\n").unwrap();
    let clone = bo.root().join("clone");
    git_in(
        bo.root(),
        &bo.home(),
        &["clone", "--quiet", repository.path().to_str().unwrap(), "clone"],
    );
    let session = clone.join("eve/sessions/SES1_eve_SP1C1");
    fs::create_dir_all(&session).unwrap();
    let page = "---\ntitle: \"rope \\u001b[2J\\u001b]0;x\\u0007\"\nstatus: success\n---\n# Rope\n\n\u{1b}[31mrope\n";
    fs::write(session.join("SES1_eve_SP1C1_DIGEST.md"), page).unwrap();
    let linked = clone.join("eve/sessions/SES2_eve_SP1C1");
    fs::create_dir_all(&linked).unwrap();
    let link = linked.join("SES2_eve_SP1C1_DIGEST.md");
    std::os::unix::fs::symlink(bo.home().join("secret.md"), link).unwrap();
    std::os::unix::fs::symlink(bo.home(), clone.join("mallory")).unwrap();
    fs::create_dir_all(clone.join("bad name/sessions")).unwrap();
    fs::write(clone.join("bad name/sessions/x"), "").unwrap();
    fs::write(clone.join(".gitattributes"), "* filter=evil merge=memtree\n").unwrap();
    git_in(&clone, &bo.home(), &["add", "--all"]);
    git_in(&clone, &bo.home(), &["commit", "--quiet", "--message", "eve"]);
    git_in(&clone, &bo.home(), &["push", "--quiet", "origin", "HEAD:main"]);
    bo.memtree(["sync", "--team"]).success().stdout_has("here: eve\n");
    let told = bo.memtree(["search", "rope", "--team"]).success().stdout_has("eve on eve");
    assert!(!told.stdout.contains('\u{1b}') && !told.stdout.contains("secret"), "{}", told.stdout);
    let paths = bo.memtree(["search", "rope", "--team", "--paths"]).success();
    assert!(!paths.stdout.contains("SES2_eve"), "{}", paths.stdout);
    bo.memtree(["verify"]).success();
}

#[test]
fn who_left_does_not_come_back_with_the_next_sync() {
    let repository = bare();
    let ana = person("ana", "\"boats\"", repository.path());
    log_of(&ana, 1, "boats", "Which rope holds the mast?");
    ana.memtree(["sweep"]).success();
    ana.memtree(["sync", "--team"]).success();
    let bo = person("bo", "", repository.path());
    bo.memtree(["sync", "--team"]).success().stdout_has("here: ana");
    bo.memtree(["forget", "--author", "ana", "--yes"]).success();
    // She still may push, and her next sync puts her folder there again.
    ana.memtree(["sync", "--team"]).success();
    assert!(files_of(repository.path()).contains("ana/"));
    bo.memtree(["sync", "--team"])
        .success()
        .stdout_has("left, and not read although there again: ana");
    bo.memtree(["search", "rope", "--team"]).code(2).stderr_has("no other person's memory");
}

#[test]
fn two_people_of_one_name_are_noticed() {
    let repository = bare();
    let one = person("ana", "\"boats\"", repository.path());
    log_of(&one, 1, "boats", "Which rope holds the mast?");
    one.memtree(["sweep"]).success();
    one.memtree(["sync", "--team"]).success();
    let other = person("bo", "", repository.path());
    let address = repository.path().display();
    other.configure(format!("[team]\nname = \"ana\"\nrepository = \"{address}\"\n"));
    other
        .memtree(["sync", "--team"])
        .success()
        .stdout_has("your folder has sessions of the device ana-pc")
        .stdout_has("memtree config trust ana-pc");
    // Her own second device is hers.
    other.memtree(["config", "trust", "ana-pc"]).success();
    let said = other.memtree(["sync", "--team"]).success();
    assert!(!said.stdout.contains("of the device"), "{}", said.stdout);
}
