//! Search as a person meets it: in any language, with slips, while others write, and when things
//! are broken.

use std::fs;
use std::process::Stdio;

use memtree::internals::query::Query;
use proptest::prelude::*;
use serde_json::Value;

use crate::harness::{Desk, exchange};

fn id(number: usize) -> String {
    format!("cccccccc-0000-4000-8000-{number:012}")
}

/// A desk that has swept one session for each prompt and reply, in their order.
fn desk_with(sessions: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    for (number, (prompt, reply)) in sessions.iter().enumerate() {
        desk.write_log(&id(number), exchange(&id(number), number as u32, prompt, reply));
    }
    desk.memtree(["sweep", "--quiet"]).success();
    desk
}

const ENGLISH: [(&str, &str); 5] = [
    (
        "Why does the day log lose lines?",
        "Two writers raced for the header; flock around the append fixed it.",
    ),
    (
        "Speed up the nightly backup",
        "rsync with --inplace halved the time; see backup.sh and the systemd timer.",
    ),
    (
        "The login page hangs on Safari",
        "The session cookie lacked SameSite=None, so the redirect looped forever.",
    ),
    (
        "Add dark mode to the dashboard",
        "A CSS variable per colour and a toggle in settings.tsx; stored in localStorage.",
    ),
    (
        "Migrate the orders table to Postgres",
        "pgloader moved 4 million rows; the enum became a text column.",
    ),
];

/// The number of the session that is found first.
fn best(desk: &Desk, query: &str) -> Option<usize> {
    let answer = desk.memtree(["search", "--json", "--", query]).success().json();
    let source = answer["hits"][0]["source_id"].as_str()?.to_string();
    (0..40).find(|number| source == format!("claude:{}", id(*number)))
}

#[test]
fn other_phrasings_help_a_vague_question() {
    let desk = desk_with(&ENGLISH);
    let vague = "what was that thing that got lost when two things ran at once?";
    let also = ["flock append header", "day log loses lines", "", "fix:race of two writers"];
    let also: Vec<&str> = also.iter().flat_map(|text| ["--also", text]).collect();
    let ask = |before: &[&str]| {
        let arguments = [before, &also, &["--", vague]].concat();
        desk.memtree([&["search"][..], &arguments].concat()).success()
    };
    let answer = ask(&["--json"]).json();
    let hit = &answer["hits"][0];
    assert_eq!(hit["source_id"], format!("claude:{}", id(0)));
    assert!(hit["found_by"].as_array().unwrap().len() >= 3, "{hit}");
    assert!(hit["confidence"].as_f64().is_some_and(|sure| (0.0..=1.0).contains(&sure)), "{hit}");
    assert!(hit["lacks"].is_array(), "{hit}");
    ask(&[]).stdout_has("asked as “");
    let recalled = desk.memtree([&["recall", "--json"][..], &also, &["--", vague]].concat());
    assert_eq!(recalled.success().json()["session"], hit["session"]);
    // Far too many, far too long, or nothing: bounded, and never a failure.
    let many: Vec<String> = (0..40).flat_map(|n| ["--also".into(), format!("lock {n}")]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    desk.memtree(
        [&["search"][..], &many, &["--also", &"flock ".repeat(20_000), "--", "flock"]].concat(),
    )
    .success();
}

#[test]
fn every_language_finds_its_own_sessions() {
    let others = [
        // Thai
        ("ทำไมฐานข้อมูลเชื่อมต่อช้า", "ดัชนีของตารางลูกค้าหายไป สร้างใหม่แล้วเร็วขึ้น", "ฐานข้อมูล"),
        ("แก้ไขหน้าเข้าสู่ระบบที่ค้าง", "คุกกี้หมดอายุก่อนเวลา จึงวนกลับมาหน้าเดิม", "คุกกี้หมดอายุ"),
        ("เพิ่มการสำรองข้อมูลทุกคืน", "ตั้งเวลาไว้ตีสองและเก็บไว้เจ็ดวัน", "สำรองข้อมูล"),
        // Chinese
        ("为什么订单接口会超时", "数据库连接池只有五个连接，改成五十个之后就正常了", "连接池"),
        ("修复登录页面的死循环", "会话令牌过期后没有刷新，重定向一直重复", "登录页面"),
        ("给报表加上导出功能", "用流式写入生成表格文件，内存不再暴涨", "导出报表"),
        // Japanese
        (
            "夜間バッチが失敗する原因を調べて",
            "ディスクの空き容量が足りず、一時ファイルを書けませんでした",
            "夜間バッチ",
        ),
        ("検索画面を速くしたい", "全文検索の索引を追加して応答時間を短縮しました", "全文検索"),
        (
            "メール通知が二重に届く",
            "キューの再試行が重複していたので冪等キーを付けました",
            "メール通知",
        ),
        // Korean
        (
            "결제 모듈에서 오류가 나는 이유",
            "환율 캐시가 만료되지 않아 금액이 틀렸습니다",
            "환율 캐시",
        ),
        (
            "배포 스크립트를 고쳐 주세요",
            "환경 변수가 비어 있어서 도커 이미지를 올리지 못했습니다",
            "배포 스크립트",
        ),
        (
            "데이터베이스를 백업하고 싶다",
            "매일 밤 덤프를 만들어 압축해서 보관합니다",
            "데이터베이스",
        ),
    ];
    let mut sessions = ENGLISH.to_vec();
    sessions.extend(others.map(|(prompt, reply, _)| (prompt, reply)));
    let desk = desk_with(&sessions);
    for (at, (prompt, _, words)) in others.iter().enumerate() {
        assert_eq!(best(&desk, words), Some(ENGLISH.len() + at), "{words}");
        assert_eq!(best(&desk, prompt), Some(ENGLISH.len() + at), "{prompt}");
    }
    // English is found among them, in another form, with a wrong letter, and in other words.
    for (query, session) in [
        ("locking around appends", 0),
        ("backpu timer", 1),
        ("Safarii cookie", 2),
        ("colors toggled", 3),
        ("migration of order", 4),
    ] {
        assert_eq!(best(&desk, query), Some(session), "{query}");
    }
}

#[test]
fn a_hit_says_why_and_what_to_do_next() {
    let desk = desk_with(&ENGLISH);
    let said = desk.memtree(["search", "flock append"]).success();
    let said = said
        .stdout_has("found by")
        .stdout_has("flock")
        .stdout_has("EP_001")
        .stderr_has("next: `memtree recall 1`");
    assert!(!said.stdout.contains('\u{1b}'), "colours are for terminals");
    let paths = desk.memtree(["search", "flock", "--paths"]).success();
    assert!(
        paths
            .stdout
            .lines()
            .all(|path| path.starts_with("[STORE]") && path.ends_with("_DIGEST.md"))
    );
    let nothing = desk.memtree(["search", "xylophone"]).success();
    assert_eq!(nothing.stdout, "");
    nothing.stderr_has("nothing found").stderr_has("no session has the word `xylophone`");
    let nowhere = desk.memtree(["search", "flock", "project:nowhere"]).success();
    nowhere
        .stderr_has("without filters")
        .stderr_has("no session has project:nowhere; there are demo");
    desk.memtree(["search", "project:dema"]).success().stderr_has("did you mean project:demo?");
    desk.memtree(["search", "tag:chores"]).success().stderr_has("no session has tag:chores");
    desk.memtree(["search", "flavor:codex flock"])
        .success()
        .stderr_has("no session has flavor:codex");
    // Two letters are wrong: more than a slip, but there is only one word that it can be.
    desk.memtree(["search", "pgloadrr", "--json"]).success().stdout_has("pgloader");
    desk.memtree(["search", "postgrsequel"]).success().stderr_has("nothing found");
    desk.memtree(["search", "localsotrrage"]).success().stderr_has("did you mean `localstorag");
    let weak = desk.memtree(["search", "kubernetes ingress timeout of the day"]).success();
    weak.stdout_has("(weak)").stderr_has("these are guesses");
}

#[test]
fn quotes_in_a_question_do_not_hide_its_answer() {
    let desk = desk_with(&ENGLISH);
    // Word for word in one of them.
    let answer = desk
        .memtree(["search", "--json", "what about \"the header\" of the day log?"])
        .success()
        .json();
    assert_eq!(
        (answer["hits"].as_array().unwrap().len(), &answer["hits"][0]["weak"]),
        (1, &false.into())
    );
    // In none: the words are looked for one by one, and the answer says so.
    let question = "which session fixed the \"append header log\" with flock?";
    let answer = desk.memtree(["search", "--json", question]).success().json();
    assert_eq!(answer["hits"][0]["source_id"], format!("claude:{}", id(0)));
    assert_eq!(answer["hits"][0]["weak"], true, "what was asked for word for word is not there");
    desk.memtree(["search", question])
        .success()
        .stderr_has("no session has “append header log” word for word");
    // A phrase alone means itself.
    let alone = desk.memtree(["search", "\"append header log\""]).success();
    assert_eq!(alone.stdout, "");
    alone.stderr_has("nothing found").stderr_has("without filters, quotes");
    // Filters hold all the same.
    desk.memtree(["search", question, "--project", "nowhere"])
        .success()
        .stderr_has("nothing found");
}

#[test]
fn deep_leads_into_the_episode() {
    let desk = Desk::new();
    let turns = [
        ("Why does the day log lose lines?", "Two writers raced; we put flock around the append."),
        (
            "And the colour of the banner?",
            "It is teal now, as the designer wanted; see banner.css.",
        ),
        ("Thanks, release it", "Tagged v1.4.2 and pushed; the pipeline is green."),
    ];
    let log: String = turns
        .iter()
        .enumerate()
        .map(|(at, (prompt, reply))| exchange(&id(0), at as u32, prompt, reply))
        .collect();
    desk.write_log(&id(0), log);
    desk.write_log(
        &id(1),
        exchange(&id(1), 9, "What is a pipeline?", "Steps that run one after the other."),
    );
    desk.memtree(["sweep", "--quiet"]).success();
    for (query, episode) in
        [("teal banner", "EP_002"), ("which tag was pushed", "EP_003"), ("writers raced", "EP_001")]
    {
        let hit = &desk.memtree(["search", "--deep", "--json", query]).success().json()["hits"][0];
        assert_eq!(hit["episode"], episode, "{query}: {hit}");
        assert_eq!(hit["ref"], format!("{}#{episode}", hit["session"].as_str().unwrap()));
        assert!(
            hit["path"].as_str().unwrap().ends_with(&format!("{episode}.md"))
                && hit["line"].as_u64() > Some(0)
        );
    }
    desk.memtree(["search", "--deep", "teal banner"])
        .success()
        .stdout_has("#EP_002")
        .stdout_has("teal now");
    desk.memtree(["recall", "1"]).success().stdout_has("It is teal now");
    desk.memtree(["search", "--deep", "project:demo"]).code(2).stderr_has("needs words");
    // Evicted episodes are no error.
    let session = desk.session_of(&format!("claude:{}", id(0)));
    fs::remove_dir_all(desk.store().join("sessions").join(session).join("snapshot")).unwrap();
    desk.memtree(["search", "--deep", "teal banner"]).success();
}

#[test]
fn other_pages_are_found_where_one_looks_for_them() {
    let desk = desk_with(&ENGLISH);
    desk.write(
        "knowledge/concepts/locks.md",
        "---\ntitle: File locks\ntags: [flock]\n---\nIn short.\n\n## Zanzibar\nAdvisory locks bind only who asks.\n",
    );
    desk.write(
        "core/CORE_desk_SP1C1.md",
        "# Core\n\n## Landmarks\n- zanzibar: a wheelbarrow of decisions\n",
    );
    desk.write("patterns/catalog/retry.md", "# Retry storms\n\nzanzibar retries without jitter\n");
    let paths = |place: &str, query: &str| -> Vec<String> {
        let answer =
            desk.memtree(["search", "--json", "--in", place, "--", query]).success().json();
        answer["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["path"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(paths("knowledge", "zanzibar locks"), ["knowledge/concepts/locks.md"]);
    assert_eq!(paths("core", "zanzibar"), ["core/CORE_desk_SP1C1.md"]);
    assert_eq!(paths("patterns", "jitter"), ["patterns/catalog/retry.md"]);
    let mut days = paths("days", "flock header");
    days.sort();
    assert_eq!(days, ["daily/raw/2026-11-15.md", "daily/summary/2026-11-15.md"]);
    assert_eq!(paths("all", "zanzibar").len(), 3);
    assert!(
        paths("all", "flock header")[0].ends_with("_DIGEST.md"),
        "what is said of a session does not outrank it"
    );
    assert_eq!(paths("knowledge", "tag:flock"), ["knowledge/concepts/locks.md"]);
    assert!(paths("digests", "zanzibar").is_empty());
    desk.memtree(["search", "zanzibar"]).success().stderr_has("--in all");
    let hit = &desk.memtree(["search", "--json", "--in", "knowledge", "advisory"]).success().json()
        ["hits"][0];
    assert_eq!(
        (&hit["line"], &hit["heading"], &hit["in"]),
        (&Value::from(7), &"Zanzibar".into(), &"knowledge".into())
    );
    desk.memtree(["search", "--in", "knowledge", "advisory"])
        .success()
        .stdout_has("knowledge/concepts/locks.md:7");
    desk.memtree(["recall", "1"]).success().stdout_has("Advisory locks bind");
    // An edit is found at once, and what is gone is gone.
    desk.write("core/CORE_desk_SP1C1.md", "# Core\n\n## Landmarks\n- quagga instead\n");
    assert_eq!(paths("core", "quagga"), ["core/CORE_desk_SP1C1.md"]);
    fs::remove_file(desk.store().join("patterns/catalog/retry.md")).unwrap();
    assert_eq!(paths("all", "zanzibar").len(), 1);
    desk.memtree(["search", "--in", "knowledge", "--deep", "locks"])
        .code(2)
        .stderr_has("only sessions have episodes");
}

#[test]
fn edits_are_found_by_the_very_next_search() {
    let desk = desk_with(&ENGLISH);
    assert_eq!(best(&desk, "flock"), Some(0));
    let path = desk.store().join(desk.digest_path(&desk.session_of(&format!("claude:{}", id(2)))));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("## Notes", "## Notes\nwheelbarrow")).unwrap();
    assert_eq!(best(&desk, "wheelbarrow"), Some(2));
    let aside = path.with_extension("md~");
    fs::write(&aside, text.replace("## Notes", "## Notes\nquagga")).unwrap();
    fs::rename(&aside, &path).unwrap();
    assert_eq!((best(&desk, "quagga"), best(&desk, "wheelbarrow")), (Some(2), None));
    // A digest with broken front matter is found by its text.
    fs::write(&path, "---\ntitle: [broken\nsession: {\n\nokapi\n").unwrap();
    desk.memtree(["search", "okapi", "--json"]).success().stdout_has("_DIGEST.md");
}

#[test]
fn cached_takes_the_index_as_it_was_left() {
    let desk = desk_with(&ENGLISH);
    let hurried =
        |word: &str| desk.memtree(["search", "--cached", "--paths", word]).success().stdout;
    // Where there is none yet, even who is in a hurry waits for it.
    fs::remove_dir_all(desk.store().join(".memtree/cache/index")).unwrap();
    assert!(hurried("flock").contains("_DIGEST.md"));
    let path = desk.store().join(desk.digest_path(&desk.session_of(&format!("claude:{}", id(2)))));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("## Notes", "## Notes\nwheelbarrow")).unwrap();
    assert_eq!(hurried("wheelbarrow"), "");
    assert_eq!(best(&desk, "wheelbarrow"), Some(2));
    assert!(hurried("wheelbarrow").contains("_DIGEST.md"));
    // A digest that is gone since is no hit any more.
    fs::remove_file(&path).unwrap();
    assert_eq!(hurried("wheelbarrow"), "");
}

#[test]
fn a_damaged_index_heals_itself() {
    let desk = desk_with(&ENGLISH);
    assert_eq!(best(&desk, "flock"), Some(0));
    let index = desk.store().join(".memtree/cache/index");
    let files = || -> Vec<std::path::PathBuf> {
        let walk = walkdir::WalkDir::new(&index).into_iter().flatten();
        walk.filter(|entry| entry.file_type().is_file()).map(|entry| entry.into_path()).collect()
    };
    assert!(files().len() > 5);
    for damage in 0..3 {
        for at in 0..files().len() {
            let files = files();
            let Some(path) = files.get(at).filter(|path| !path.ends_with("lock")) else { continue };
            match damage {
                0 => fs::write(path, "garbage").unwrap(),
                1 => fs::remove_file(path).unwrap(),
                _ => fs::write(path, "").unwrap(),
            }
            assert_eq!(best(&desk, "flock"), Some(0), "{}: {}", damage, path.display());
        }
    }
    // A file where the folder should be, and a folder where the file should be.
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "no folder").unwrap();
    assert_eq!(best(&desk, "flock"), Some(0));
    fs::remove_file(&index).unwrap();
    fs::create_dir_all(index.join("CURRENT")).unwrap();
    assert_eq!(best(&desk, "flock"), Some(0));
}

#[test]
fn a_killed_rebuild_is_made_good() {
    let desk = desk_with(&ENGLISH);
    for pause in [0, 2, 5, 10, 20, 40] {
        fs::remove_dir_all(desk.store().join(".memtree/cache")).unwrap();
        let mut child = desk.start(["search", "flock"]);
        std::thread::sleep(std::time::Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(best(&desk, "flock"), Some(0), "killed after {pause} ms");
    }
}

#[test]
fn searches_and_a_sweep_at_the_same_time_disturb_nobody() {
    let desk = desk_with(&ENGLISH);
    for round in 0..3 {
        for number in 5..15 {
            let number = 10 * round + number;
            desk.write_log(
                &id(number),
                exchange(
                    &id(number),
                    number as u32,
                    "Tidy the shed",
                    "It is tidy, with a new shelf.",
                ),
            );
        }
        if round == 1 {
            // Also while there is no index at all.
            fs::remove_dir_all(desk.store().join(".memtree/cache/index")).unwrap();
        }
        let mut sweep = desk.start(["sweep", "--quiet"]);
        let searches: Vec<_> = (0..4)
            .map(|_| {
                let arguments = ["search", "--json", "flock append"].map(Into::into);
                desk.command(&arguments)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for search in searches {
            let output = search.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["hits"][0]["source_id"], format!("claude:{}", id(0)), "{answer}");
        }
        assert!(sweep.wait().unwrap().success());
    }
    let found = desk.memtree(["search", "--json", "--limit", "100", "shed shelf"]).success().json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 30);
}

#[cfg(unix)]
#[test]
fn a_search_waits_for_nobody() {
    let desk = desk_with(&ENGLISH);
    let lock = desk.store().join(".memtree/cache/index/lock");
    let held = memtree::internals::base::files::lock_exclusive(&lock).unwrap();
    assert_eq!(best(&desk, "flock"), Some(0));
    for entry in fs::read_dir(lock.parent().unwrap()).unwrap().flatten() {
        if entry.path() != lock {
            fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path())).unwrap();
        }
    }
    assert_eq!(
        best(&desk, "flock"),
        Some(0),
        "there is no index, and somebody else is about to make it"
    );
    drop(held);
}

#[test]
fn whatever_is_asked_gets_a_clear_answer() {
    let desk = desk_with(&ENGLISH);
    for empty in ["", "   ", "\"\"", "-", "?!"] {
        desk.memtree(["search", "--", empty]).code(2).stderr_has("nothing to search for");
    }
    desk.memtree(["search", "flock projet:demo"]).code(2).stderr_has("`project:`");
    desk.memtree(["search", "since:whenever"]).code(2).stderr_has("is no time");
    desk.memtree(["search", "flock", "--in", "nowhere"]).code(2);
    for broken in [
        "flock \"never ends",
        "flock -",
        "flock (AND OR",
        "flock project:",
        "flock ^~*:\\",
        "\u{0}\u{1b}[31mflock",
    ] {
        if !broken.contains('\0') {
            desk.memtree(["search", "--", broken]).success().stdout_has("flock");
        }
    }
    // The kernel lets no argument be longer than 128 KiB; a longer query comes in many.
    let many: Vec<String> = ["search".into(), "--".into()]
        .into_iter()
        .chain((0..10).map(|_| "flock ".repeat(20_000)))
        .collect();
    desk.memtree(many).success().stdout_has("flock");
    desk.memtree(["search", "--", &"é\"-:".repeat(20_000)]).done();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// No text makes the parser panic or forget its limits, and what it read it reads again.
    #[test]
    fn any_text_is_a_query(text in "(\\PC|[-:\"' ]|project:|since:|-tag:|\"a b\"|数据|ฐาน){0,80}") {
        if let Ok(query) = Query::parse(&text) {
            prop_assert!(query.words.len() + query.phrases.len() + query.excluded.len() + query.filters.len() <= 64);
            prop_assert!(query.words.iter().all(|word| word.chars().any(char::is_alphanumeric)));
            prop_assert_eq!(Query::parse(&query.text).unwrap(), query);
        }
    }
}

/// Phrasings that nobody would write: too many, far too long, empty.
#[test]
fn odd_phrasings_are_bounded_in_every_command_that_takes_them() {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let long = "jitter ".repeat(15_000);
    let mut also = vec!["--also", "", "--also", "   ", "--also", "\u{1}\u{2}", "--also", &long];
    let numbered: Vec<String> = (0..20).map(|at| format!("full jitter {at}")).collect();
    also.extend(numbered.iter().flat_map(|one| ["--also", one.as_str()]));
    for command in [
        &["search", "why full jitter"][..],
        &["recall", "why full jitter"],
        &["ask", "why full jitter"],
        &["context", "--prompt", "why full jitter"],
    ] {
        let words = [command, &also].concat();
        let answer = desk.memtree(words).success();
        assert!(answer.stdout.len() < 100_000, "{command:?}: {}", answer.stdout.len());
        let answer = answer.stderr_has("only the first 7 phrasings are asked");
        assert!(answer.stdout.contains("jitter"), "{command:?}: {}", answer.told());
        desk.memtree([command, &["--also", ""]].concat()).success();
    }
}

#[test]
fn another_phrasing_answers_a_question_that_its_own_words_do_not() {
    let desk = Desk::new();
    let _ = desk.memtree(["sweep", "--sample", "--quiet"]).done();
    let question = "who spreads the thundering crowd?";
    let answer = |also: &[&str]| {
        let words = [&["ask", "--json", question][..], also].concat();
        desk.memtree(words).success().json()["answer"].clone()
    };
    assert!(answer(&[]).is_null());
    let said = answer(&["--also", "full jitter backoff retry"]);
    assert!(said.as_str().is_some_and(|said| said.contains("jitter")), "{said}");
}

#[test]
fn a_time_is_no_word_and_alone_lists_what_was_done_then() {
    let desk = desk_with(&ENGLISH);
    let hits = |query: &str| -> Vec<Value> {
        let answer = desk.memtree(["search", query, "--json"]).success().json();
        answer["hits"].as_array().unwrap().clone()
    };
    // A day after them all.
    desk.later(24 * 60);
    assert_eq!(hits("what did we do yesterday").len(), ENGLISH.len());
    assert!(hits("what did we do yesterday").iter().all(|hit| hit["weak"] == false));
    let hit = &hits("what was wrong with Safari yesterday?")[0];
    assert!(hit["title"].as_str().unwrap().contains("Safari"), "{hit}");
    assert!(!hit["lacks"].to_string().contains("yesterday"), "{hit}");
    // Nothing was done at that time.
    desk.later(60 * 24 * 60);
    assert!(hits("what did we do yesterday").is_empty());
    let said = desk.memtree(["search", "what did we do last Tuesday"]).success();
    said.stderr_has("no session is of that time; the last one ended on");
}

#[test]
fn who_asks_in_another_language_is_asked_by_its_telling_words() {
    let desk = desk_with(&[
        ("Warum bricht der Export bei Umlauten ab?", "Die Datei war in Latin-1 geschrieben."),
        ("Nimm Redis wieder raus", "Redis ist entfernt, die Warteschlange liegt in Postgres."),
        ("优惠券被重复使用,请修复", "已改为在数据库事务中原子扣减。"),
    ]);
    let first = |query: &str| desk.memtree(["search", query, "--json"]).success().json();
    let hit = &first("warum haben wir Redis entfernt")["hits"][0];
    assert!(hit["title"].as_str().unwrap().contains("Redis"), "{hit}");
    assert_eq!((&hit["weak"], &hit["lacks"]), (&false.into(), &serde_json::json!([])), "{hit}");
    let hit = &first("优惠券为什么会被重复使用?")["hits"][0];
    assert_eq!((&hit["weak"], &hit["lacks"]), (&false.into(), &serde_json::json!([])), "{hit}");
}

#[test]
fn a_short_word_that_is_only_spelled_alike_is_a_guess() {
    let desk = desk_with(&[
        ("Which western harbour is closed?", "The western one, for the winter."),
        ("Take the old paint off the sail", "A scraper strips it; stripping took an hour."),
    ]);
    for word in ["gestern", "Stripe"] {
        let answer = desk.memtree(["search", word, "--json"]).success().json();
        let sure = answer["hits"].as_array().unwrap().iter().any(|hit| hit["weak"] == false);
        assert!(!sure, "{word}: {answer}");
    }
}

#[test]
fn words_that_stand_together_are_found_before_those_that_are_scattered() {
    let desk = desk_with(&[
        ("The key is under the mat, and nobody can wrap it", "Paper lies beside the paper key."),
        ("Which function can wrap key and box?", "`seal` does: it takes the key and the box."),
        ("Wrap the boat, then look for the key", "Both done; the key was in the boat."),
    ]);
    let answer = desk.memtree(["search", "wrap key", "--json"]).success().json();
    let first = answer["hits"][0]["title"].as_str().unwrap();
    assert!(first.contains("wrap key"), "{answer}");
}
