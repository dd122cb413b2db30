//! Recall as a person meets it: by a reference, by a trigger, by a hit, by a question, and when it
//! cannot.

use crate::harness::{Desk, exchange};

const SESSIONS: [(&str, &str); 3] = [
    ("Why does the day log lose lines?", "Two writers raced; we put flock around the append."),
    (
        "fix(banner): note:teal -- the colour?",
        "It is teal now, as the designer wanted; see banner.css.",
    ),
    ("What is a pipeline?", "Steps that run one after the other."),
];

fn desk() -> Desk {
    let desk = Desk::new();
    for (number, (prompt, reply)) in SESSIONS.iter().enumerate() {
        let id = format!("dddddddd-0000-4000-8000-{number:012}");
        desk.write_log(&id, exchange(&id, number as u32, prompt, reply));
    }
    desk.memtree(["sweep", "--quiet"]).success();
    desk
}

#[test]
fn a_trigger_leads_to_its_episode() {
    let desk = desk();
    for session in desk.sessions() {
        let digest = desk.read(desk.digest_path(&session));
        let line = digest.lines().find(|line| line.contains("-> Trigger reference:")).unwrap();
        let trigger = memtree::internals::store::digest::parse_trigger(line).unwrap();
        let expect = format!("{session}#{}", trigger.episode);
        for what in [line.to_string(), format!("[{}]", trigger.topic)] {
            let answer = desk.memtree(["recall", "--json", "--", &what]).success().json();
            assert_eq!(
                (answer["ref"].as_str(), &answer["weak"]),
                (Some(expect.as_str()), &false.into()),
                "{what}"
            );
        }
    }
}

#[test]
fn a_name_that_is_no_session_is_not_searched_for() {
    let desk = desk();
    for name in
        ["SES99_laptop_SP1C4", "SES1_nobody_SP1C0", "ses1_desk_sp1c1", "SES2_desk_SP1C1x#EP_001"]
    {
        let said = desk.memtree(["recall", name]).code(1);
        assert_eq!(said.stdout, "", "{name}");
        said.stderr_has("there is no session");
    }
    desk.memtree(["recall", "SES1_desk_SP1C1/EP_001"]).success().stdout_has("# EP_001");
    desk.memtree(["recall", "SES8_desk_SP9C8"]).code(1).stderr_has("there is no session");
}

#[test]
fn a_shortened_name_lists_what_it_may_mean() {
    let desk = desk();
    desk.memtree(["recall", "SES1"]).success().stdout_has("SES1_desk_SP1C1");
    desk.memtree(["recall", "SES1_desk#EP_001"]).success().stdout_has("# EP_001");
    // Another one that begins alike, as a second device or the next core has it.
    let (from, to) = ("sessions/SES1_desk_SP1C1", "sessions/SES1_desk_SP1C2");
    std::fs::create_dir_all(desk.store().join(to)).unwrap();
    let page = desk.read(format!("{from}/SES1_desk_SP1C1_DIGEST.md"));
    std::fs::write(
        desk.store().join(to).join("SES1_desk_SP1C2_DIGEST.md"),
        page.replace("SES1_desk_SP1C1", "SES1_desk_SP1C2"),
    )
    .unwrap();
    let said = desk.memtree(["recall", "SES1"]).code(2);
    said.stderr_has("may mean 2 sessions")
        .stderr_has("SES1_desk_SP1C1: ")
        .stderr_has("SES1_desk_SP1C2: ");
    desk.memtree(["recall", "EP_001"]).code(2).stderr_has("a part of which session?");
    desk.memtree(["recall", "SES2_desk_SP1C1#EP_099"]).code(1).stderr_has("has no episode EP_099");
}

#[test]
fn a_guess_is_called_one() {
    let desk = desk();
    desk.memtree(["recall", "kubernetes ingress of the pipeline in Terraform"])
        .success()
        .stderr_has("a guess");
    let sure = desk.memtree(["recall", "what is a pipeline"]).success();
    assert!(!sure.stderr.contains("a guess"), "{}", sure.stderr);
    desk.memtree(["recall", "xylophone"]).code(1).stderr_has("nothing in this memory answers");
    desk.memtree(["recall", ""]).code(2).stderr_has("nothing to recall");
}

#[test]
fn what_a_page_for_an_agent_names_can_be_opened() {
    let desk = Desk::new().with_sample("claude").with_sample("codex").with_sample("grok");
    desk.memtree(["sweep"]).success();
    let page = desk.read("core/MEMORY.md");
    let line = page.lines().position(|line| line.starts_with("- ")).expect("it says something") + 1;
    let opened = desk.memtree(["recall", &format!("core/MEMORY.md:{line}"), "--json"]).success();
    let opened = opened.json();
    assert_eq!(opened["ref"], format!("core/MEMORY.md:{line}"));
    let text = opened["text"].as_str().unwrap();
    assert!(text.contains(page.lines().nth(line - 1).unwrap()) && text.contains("## "), "{text}");
    assert_eq!(desk.memtree(["recall", "core/MEMORY.md", "--json"]).success().json()["text"], page);
    // What looks like a page and is none leads nowhere, rather than to something like it.
    for missing in ["core/MEMORIES.md", "daily/summary/2020-01-01.md"] {
        desk.memtree(["recall", missing]).code(1).stderr_has("there is no page");
    }
    desk.memtree(["recall", "core/MEMORY.md:9999"]).code(1).stderr_has("has no line 9999");
    desk.memtree(["recall", "../secret.md"]).any();
}

#[test]
fn an_agents_own_id_names_its_session_and_a_query_renumbers_nothing() {
    let desk = Desk::new().with_sample("claude").with_sample("codex");
    desk.memtree(["sweep"]).success();
    let session = desk.sessions().remove(0);
    let own = desk.digest(&session).source_id;
    assert_eq!(desk.memtree(["recall", &own, "--json"]).success().json()["session"], session);
    let hits = desk.memtree(["search", "lock", "--json"]).success().json();
    let first = hits["hits"][0]["session"].clone();
    desk.memtree(["recall", "jitter"]).success();
    assert_eq!(desk.memtree(["recall", "1", "--json"]).success().json()["session"], first);
}

#[test]
fn raw_is_given_only_where_it_is_asked_for() {
    let desk = desk();
    let raw = desk.texts().into_keys().find(|name| name.contains("/snapshot/raw/")).unwrap();
    desk.memtree(["recall", &raw]).code(2).stderr_has("it is not redacted").stderr_has("--raw");
    desk.memtree(["recall", &raw, "--raw"]).success();
}
