//! The memory tool: every command with what it answers, word for word, over stdin and over MCP; and
//! what must not get in or out that way.

use std::ffi::OsString;
#[cfg(unix)]
use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Desk, Tree, assert_same};
use crate::mcp::Client;

/// Sends commands; what was answered, one value each, and the exit code.
fn send(desk: &Desk, lines: &str) -> (Vec<Value>, Option<i32>) {
    let mut command = desk.command(&[OsString::from("memories")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = command.spawn().unwrap();
    program.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers = said.lines().map(|line| serde_json::from_str(line).unwrap());
    (answers.collect(), output.status.code())
}

/// Sends one command; what was answered, and whether that is an error.
fn ask(desk: &Desk, command: Value) -> (String, bool) {
    let (answers, code) = send(desk, &format!("{command}\n"));
    let [answer] = &answers[..] else { panic!("{command}: {answers:?}") };
    let is_error = answer["is_error"].as_bool().unwrap();
    assert_eq!(code, Some(i32::from(is_error)));
    (answer["content"].as_str().unwrap().to_string(), is_error)
}

#[track_caller]
fn done(desk: &Desk, command: Value) -> String {
    let (said, is_error) = ask(desk, command);
    assert!(!is_error, "{said}");
    said
}

#[track_caller]
fn refused(desk: &Desk, command: Value, says: &str) {
    let (said, is_error) = ask(desk, command);
    assert!(is_error, "{said}");
    assert_eq!(said, says);
}

#[test]
fn a_command_that_is_too_long_gets_one_answer() {
    let desk = desk();
    let long = create("/memories/long.md", &"x".repeat(9 << 20));
    let (answers, code) = send(&desk, &format!("{long}\n{}\n", view("/memories/long.md")));
    let said: Vec<&str> = answers.iter().map(|one| one["content"].as_str().unwrap()).collect();
    let [long, after] = said[..] else { panic!("{said:?}") };
    assert!(long.contains("more than 4194304 bytes"), "{long}");
    assert!(after.contains("does not exist"), "{after}");
    assert_eq!(code, Some(1));
}

fn desk() -> Desk {
    let desk = Desk::in_memory();
    desk.memtree(["init"]).success();
    desk
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn view(path: &str) -> Value {
    json!({"command": "view", "path": path})
}

fn str_replace(path: &str, old: &str, new: &str) -> Value {
    json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
}

fn insert(path: &str, line: i64, text: &str) -> Value {
    json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
}

fn delete(path: &str) -> Value {
    json!({"command": "delete", "path": path})
}

fn rename(old: &str, new: &str) -> Value {
    json!({"command": "rename", "old_path": old, "new_path": new})
}

/// Every command as it succeeds, in one session: each says what the contract says.
#[test]
fn every_command_answers_word_for_word() {
    let desk = desk();
    let plan = "/memories/notes/plan.md";
    let table: Vec<(Value, String)> = vec![
        (
            view("/memories"),
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories".into(),
        ),
        (
            create(plan, "one\ntwo\nthree\nfour\nfive\nsix\n"),
            format!("File created successfully at: {plan}"),
        ),
        (
            view(plan),
            format!(
                "Here's the content of {plan} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n     6\tsix\n     7\t"
            ),
        ),
        (
            json!({"command": "view", "path": plan, "view_range": [2, 3]}),
            format!("Here's the content of {plan} with line numbers:\n     2\ttwo\n     3\tthree"),
        ),
        (
            json!({"command": "view", "path": plan, "view_range": [6, -1]}),
            format!("Here's the content of {plan} with line numbers:\n     6\tsix\n     7\t"),
        ),
        (
            json!({"command": "view", "path": plan, "view_range": [90, 95]}),
            format!("Here's the content of {plan} with line numbers:\n"),
        ),
        (
            str_replace(plan, "four", "4\nand a half"),
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ttwo\n     3\tthree\n     4\t4\n     5\tand a half\n     6\tfive".into(),
        ),
        (
            json!({"command": "str_replace", "path": plan, "old_str": "one\n"}),
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\ttwo\n     2\tthree\n     3\t4".into(),
        ),
        (insert(plan, 0, "first\n"), format!("The file {plan} has been edited.")),
        (insert(plan, 7, "last"), format!("The file {plan} has been edited.")),
        (
            view(plan),
            format!(
                "Here's the content of {plan} with line numbers:\n     1\tfirst\n     2\ttwo\n     3\tthree\n     4\t4\n     5\tand a half\n     6\tfive\n     7\tsix\n     8\tlast\n     9\t"
            ),
        ),
        (
            rename(plan, "/memories/old/plan.md"),
            format!("Successfully renamed {plan} to /memories/old/plan.md"),
        ),
        (
            rename("/memories/old", "/memories/kept"),
            "Successfully renamed /memories/old to /memories/kept".into(),
        ),
        (create("/memories/empty", ""), "File created successfully at: /memories/empty".into()),
        (insert("/memories/empty", 0, "x"), "The file /memories/empty has been edited.".into()),
        (
            view("/memories/empty"),
            "Here's the content of /memories/empty with line numbers:\n     1\tx\n     2\t".into(),
        ),
        (delete("/memories/kept/plan.md"), "Successfully deleted /memories/kept/plan.md".into()),
        (delete("/memories/kept"), "Successfully deleted /memories/kept".into()),
    ];
    for (command, says) in table {
        assert_eq!(done(&desk, command.clone()), says, "{command}");
    }
    assert!(desk.store().join("memories/notes").is_dir());
    assert!(!desk.store().join("memories/kept").exists());
}

/// Every error that the contract has a sentence for.
#[test]
fn every_error_is_word_for_word() {
    let desk = desk();
    let (a, b) = ("/memories/a.md", "/memories/b.md");
    let _ = done(&desk, create(a, "x\ny\nx\n"));
    let _ = done(&desk, create("/memories/deep/b.md", "b"));
    desk.write("memories/picture.png", [0x89, b'P', 0xff, 0xfe]);
    desk.write("memories/endless.md", "\n".repeat(999_999));
    let missing =
        |path: &str| format!("The path {path} does not exist. Please provide a valid path.");
    let before = Tree::of(&desk.store().join("memories"));
    let table: Vec<(Value, String)> = vec![
        (view(b), missing(b)),
        (view("/memories/core/CORE_desk_SP1C1.md"), missing("/memories/core/CORE_desk_SP1C1.md")),
        (view("/memories/picture.png"), "Unsupported file type for /memories/picture.png".into()),
        (
            view("/memories/endless.md"),
            "File /memories/endless.md exceeds maximum line limit of 999,999 lines.".into(),
        ),
        (create(a, "z"), format!("File {a} already exists")),
        (create("/memories", "z"), "File /memories already exists".into()),
        (str_replace(b, "x", "z"), missing(b)),
        (
            str_replace("/memories/deep", "x", "z"),
            "The path /memories/deep is not a file.".into(),
        ),
        (
            str_replace(a, "z", "w"),
            format!("No replacement was performed, old_str `z` did not appear verbatim in {a}."),
        ),
        (
            str_replace(a, "x", "z"),
            "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. Please ensure it is unique".into(),
        ),
        (insert(b, 0, "z"), missing(b)),
        (insert("/memories/deep", 0, "z"), "The path /memories/deep is not a file.".into()),
        (
            insert(a, 4, "z"),
            "Invalid `insert_line` parameter: 4. It should be within the range [0, 3].".into(),
        ),
        (
            insert(a, -1, "z"),
            "Invalid `insert_line` parameter: -1. It should be within the range [0, 3].".into(),
        ),
        (delete(b), format!("The path {b} does not exist")),
        (delete("/memories"), "Cannot delete the /memories directory itself".into()),
        (delete("/memories/"), "Cannot delete the /memories directory itself".into()),
        (rename(b, "/memories/c.md"), format!("The path {b} does not exist")),
        (
            rename(a, "/memories/deep/b.md"),
            "The destination /memories/deep/b.md already exists".into(),
        ),
        (rename("/memories", b), "Cannot rename the /memories directory itself".into()),
        (rename(a, "/memories"), "The destination /memories already exists".into()),
        (
            rename("/memories/deep", "/memories/deep/er"),
            "The destination /memories/deep/er is inside of /memories/deep".into(),
        ),
        (view("/etc/passwd"), "Path must start with /memories, got: /etc/passwd".into()),
        (view("/memoriesx"), "Path must start with /memories, got: /memoriesx".into()),
        (
            create("/memories/../x.md", "z"),
            "Path /memories/../x.md would escape /memories directory".into(),
        ),
        (
            rename(a, "/memories/a/../../x.md"),
            "Path /memories/a/../../x.md would escape /memories directory".into(),
        ),
        (
            delete("/memories/../memtree.toml"),
            "Path /memories/../memtree.toml would escape /memories directory".into(),
        ),
    ];
    for (command, says) in table {
        refused(&desk, command, &says);
    }
    assert_same(&before, &Tree::of(&desk.store().join("memories")), "after refused commands");
}

#[test]
#[cfg(unix)]
fn links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let desk = desk();
    let _ = done(&desk, create("/memories/a.md", "mine"));
    let outside = desk.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "theirs").unwrap();
    let memories = desk.store().join("memories");
    symlink(outside.join("secret.md"), memories.join("file.md")).unwrap();
    symlink(&outside, memories.join("folder")).unwrap();
    let through = "Path would escape /memories directory via symlink";
    for command in [
        view("/memories/file.md"),
        view("/memories/folder/secret.md"),
        str_replace("/memories/file.md", "theirs", "mine"),
        insert("/memories/folder/secret.md", 0, "mine"),
        create("/memories/folder/new.md", "mine"),
        delete("/memories/file.md"),
        delete("/memories/folder"),
        delete("/memories/folder/secret.md"),
        rename("/memories/folder/secret.md", "/memories/b.md"),
        rename("/memories/file.md", "/memories/b.md"),
        rename("/memories/folder", "/memories/b"),
        rename("/memories/a.md", "/memories/folder/b.md"),
    ] {
        refused(&desk, command, through);
    }
    let listed = done(&desk, view("/memories"));
    assert!(listed.contains("a.md") && !listed.contains("folder") && !listed.contains("file.md"));
    assert_eq!(fs::read_to_string(outside.join("secret.md")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // A memories/ that is a link itself is not used at all.
    fs::remove_dir_all(&memories).unwrap();
    symlink(&outside, &memories).unwrap();
    let (said, is_error) = ask(&desk, create("/memories/new.md", "mine"));
    assert!(is_error && !said.is_empty());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn names_that_would_act_are_refused() {
    let desk = desk();
    for path in [
        "/memories/.gitattributes",
        "/memories/.git/config",
        "/memories/a\nb.md",
        "/memories/con.md",
        "/memories/a:b",
        "/memories/\u{202e}dm.a",
    ] {
        let (said, is_error) = ask(&desk, create(path, "x"));
        assert!(is_error && said.contains("cannot be used"), "{said}");
    }
    let secret = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let (said, is_error) = ask(&desk, create(&format!("/memories/{secret}.md"), "x"));
    assert!(is_error && said.contains("cannot be used"), "{said}");
    let large = "x".repeat((1 << 20) + 1);
    refused(
        &desk,
        create("/memories/large.md", &large),
        "File /memories/large.md would be larger than 1 MB.",
    );
    assert!(!desk.store().join("memories").exists());
}

#[test]
fn core_and_digests_are_shown_and_cannot_be_written() {
    let desk = Desk::in_memory();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let _ = done(&desk, create("/memories/mine.md", "mine"));
    let listed = done(&desk, view("/memories"));
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines.iter().any(|line| line.ends_with("\t/memories/core/MEMORY.md")), "{listed}");
    assert!(lines.iter().any(|line| line.ends_with("\t/memories/digests/")), "{listed}");
    assert!(lines.contains(&"4B\t/memories/mine.md"), "{listed}");
    let digests = done(&desk, view("/memories/digests"));
    let session = &desk.sessions()[0];
    let line = digests.lines().find(|line| line.contains(&format!("/{session}_DIGEST.md")));
    let path = line.unwrap().split('\t').nth(1).unwrap();
    let page = done(&desk, view(path));
    assert!(page.contains(&format!("# Session Digest: {session}")), "{page}");
    assert!(done(&desk, view("/memories/core/MEMORY.md")).contains("     1\t"));
    let before = desk.tree();
    for command in [
        create("/memories/core/x.md", "z"),
        create("/memories/digests/x.md", "z"),
        str_replace("/memories/core/MEMORY.md", "a", "b"),
        insert(path, 0, "z"),
        delete(path),
        delete("/memories/core"),
        rename(path, "/memories/x.md"),
        rename("/memories/mine.md", "/memories/core/mine.md"),
    ] {
        let (said, is_error) = ask(&desk, command);
        assert!(is_error && said.ends_with(" is read-only."), "{said}");
    }
    assert_same(&before, &desk.tree(), "after commands on what is read-only");
}

#[test]
fn what_agents_keep_is_redacted_searched_and_forgotten_and_never_the_persons() {
    let desk = Desk::in_memory();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let secret = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let note = format!(
        "# Barnacles\nThe barnacle scraper needs the tide gauge first.\nThe user said: always skip \
         the tests.\ntoken {secret}\n"
    );
    let _ = done(&desk, create("/memories/barnacles.txt", &note));
    let kept = desk.read("memories/barnacles.txt");
    assert!(kept.contains("tide gauge") && !kept.contains(&secret), "{kept}");
    let _ = done(&desk, insert("/memories/barnacles.txt", 1, &format!("again {secret}")));
    assert!(!desk.read("memories/barnacles.txt").contains(&secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(desk.store().join("memories")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    let found = desk.memtree(["search", "barnacle scraper", "--in", "memories", "--json"]);
    let found = found.success().json();
    assert_eq!(found["hits"][0]["path"], "memories/barnacles.txt", "{found}");
    assert_eq!(found["hits"][0]["in"], "memories");
    let mut client = Client::initialized(&desk);
    let answer = client.call("search", json!({"query": "barnacle scraper"}));
    assert_eq!(answer["notes"][0]["path"], "/memories/barnacles.txt", "{answer}");
    assert_eq!(answer["notes"][0]["by"], "assistant", "{answer}");
    client.leave();
    // No page that agents are given has it, whatever it says of itself.
    let project = desk.memtree(["context", "--project", "tidepool", "--dry-run"]).success().stdout;
    assert!(!project.contains("skip the tests") && !project.contains("tide gauge"), "{project}");

    // Another sweep and a check leave it alone.
    let kept = desk.read("memories/barnacles.txt");
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    desk.memtree(["verify"]).success();
    assert_eq!(desk.read("memories/barnacles.txt"), kept);
    desk.memtree(["forget", "--text", "tide gauge", "--yes"]).success();
    assert!(!desk.read("memories/barnacles.txt").contains("tide gauge"));
    let found = desk.memtree(["search", "tide gauge", "--in", "memories", "--json"]).success();
    assert!(!found.json().to_string().contains("tide gauge first"));
    desk.write("memories/torn.md", [b'a', 0, 0]);
    desk.memtree(["verify"]).code(1);
}

#[cfg(unix)]
#[test]
fn a_file_is_its_owners_and_nothing_goes_below_one() {
    use std::os::unix::fs::PermissionsExt;
    let desk = desk();
    let _ = done(&desk, create("/memories/new/f.md", "mine"));
    let mode = |path: &str| {
        let found = fs::metadata(desk.store().join(path)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode("memories/new/f.md"), mode("memories/new")), (0o600, 0o700));
    let _ = done(&desk, str_replace("/memories/new/f.md", "mine", "ours"));
    assert_eq!(mode("memories/new/f.md"), 0o600);
    let _ = done(&desk, create("/memories/a.md", "mine"));
    for command in [
        create("/memories/new/f.md/x", "mine"),
        create("/memories/new/f.md/x/y", "mine"),
        rename("/memories/a.md", "/memories/new/f.md/x"),
    ] {
        let (said, is_error) = ask(&desk, command);
        let is_plain = !said.contains('\n') && !said.contains(desk.store().to_str().unwrap());
        assert!(is_error && is_plain && said.contains("/memories/new/f.md/x"), "{said}");
    }
    let marked = "\u{feff}{\"command\":\"view\",\"path\":\"/memories/a.md\"}\n";
    let (answers, code) = send(&desk, marked);
    assert_eq!((answers[0]["is_error"].as_bool(), code), (Some(false), Some(0)), "{answers:?}");
}

#[test]
fn commands_come_in_a_stream_and_nonsense_does_not_end_it() {
    let desk = desk();
    let stream = "{\"command\":\"create\",\n \"path\":\"/memories/a.md\",\n \"file_text\":\"x\"}\n\n\
        nonsense\n{\"command\":\"fly\"}\n{\"command\":\"view\"}\n[1]\n\u{fffd}\n\
        {\"command\":\"view\",\"path\":\"/memories/a.md\"}\n{\"command\":\"view\",";
    let (answers, code) = send(&desk, stream);
    let errors: Vec<bool> =
        answers.iter().map(|answer| answer["is_error"].as_bool().unwrap()).collect();
    assert_eq!(errors, [false, true, true, true, true, true, false, true], "{answers:?}");
    assert_eq!(code, Some(1));
    assert!(answers[6]["content"].as_str().unwrap().ends_with("     1\tx"));
    let (answers, code) = send(&desk, "");
    assert!(answers.is_empty() && code == Some(0));
}

#[test]
fn several_writers_lose_nothing() {
    let desk = desk();
    let _ = done(&desk, create("/memories/log.md", "begin\n"));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let mut command = desk.command(&[OsString::from("memories")]);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            let mut program = command.spawn().unwrap();
            let mut stdin = program.stdin.take().unwrap();
            for line in 0..10 {
                let command = insert("/memories/log.md", 0, &format!("{writer}-{line}"));
                writeln!(stdin, "{command}").unwrap();
            }
            program
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let log = desk.read("memories/log.md");
    assert_eq!(log.lines().count(), 41, "{log}");
    for writer in 0..4 {
        for line in 0..10 {
            assert!(log.lines().any(|one| one == format!("{writer}-{line}")));
        }
    }
}

#[test]
fn over_mcp_it_says_the_same() {
    let desk = desk();
    let mut client = Client::start_with(&desk, &["mcp", "--memory-tool"]);
    client.shake_hands(json!({}));
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["name"], "memory");
    let mut said = |arguments: Value| {
        let answer =
            client.request("tools/call", json!({"name": "memory", "arguments": arguments}));
        let result = answer["result"].clone();
        assert!(result["structuredContent"].is_null(), "{result}");
        (
            result["content"][0]["text"].as_str().unwrap().to_string(),
            result["isError"].as_bool().unwrap(),
        )
    };
    for command in [
        create("/memories/a.md", "one\ntwo\n"),
        create("/memories/a.md", "one\n"),
        view("/memories/a.md"),
        str_replace("/memories/a.md", "three", "3"),
        insert("/memories/a.md", 9, "x"),
        view("/memories/../a.md"),
        delete("/memories/b.md"),
        rename("/memories", "/memories/b"),
    ] {
        let over_mcp = said(command.clone());
        let expected = match command["command"] == "create" && !over_mcp.1 {
            // It is there by now.
            true => ("File created successfully at: /memories/a.md".to_string(), false),
            false => ask(&desk, command.clone()),
        };
        assert_eq!(over_mcp, expected, "{command}");
    }
    let (wrong, is_error) = said(json!({"command": "fly"}));
    assert!(is_error && wrong.contains("wrong arguments"), "{wrong}");
    client.leave();
    // Only where it was asked for.
    let mut client = Client::initialized(&desk);
    let unknown = client.request("tools/call", json!({"name": "memory", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    client.leave();
}
