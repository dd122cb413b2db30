//! Links in a memory, as a `git pull` can bring them: at every place that is read, written, listed
//! or deleted, and with every command. Nothing outside changes, and nothing of it gets in or out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::harness::{Desk, copy_folder, exchange};

const ID: &str = "0d0d0d0d-0000-4000-8000-000000000041";
/// Stands in every file outside, and nowhere else.
const WORD: &str = "quokkaword";

/// Places that would hide others from a command: each is tried alone. A folder ends in `/`.
const ALONE: &[&str] = &[
    ".memtree/",
    ".memtree/cache/",
    ".memtree/cache/index/",
    ".memtree/local/",
    ".memtree/local/locks/",
    ".memtree/local/locks/sweep",
    ".memtree/local/staging/",
    "sessions/",
    "sessions/SES1_desk_SP1C1/",
    "sessions/SES1_desk_SP1C1/snapshot/",
    "sessions/SES1_desk_SP1C1/SES1_desk_SP1C1_DIGEST.md",
    "daily/",
    "daily/raw/",
    "core/",
    "knowledge/",
    "memories/",
    "forgotten.md",
    "memtree.toml",
];

/// Places that are tried together.
const TOGETHER: &[&[&str]] = &[
    &[
        ".memtree/.gitignore",
        ".memtree/cache/notes/",
        ".memtree/cache/cursors.json",
        ".memtree/cache/days.json",
        ".memtree/cache/last-search.json",
        ".memtree/cache/folders/",
        ".memtree/local/log",
        ".memtree/local/turns/",
        ".memtree/local/inbox/",
        ".memtree/local/locks/flush",
        ".memtree/local/reports/",
        ".memtree/local/evicted/",
        ".memtree/local/queue/",
        ".memtree/local/git.json",
        "sessions/SES1_desk_SP1C1/snapshot/raw/",
        "sessions/SES1_desk_SP1C1/snapshot/episodic/",
        "sessions/SES1_desk_SP1C1/snapshot/state/",
        "daily/raw/2026-11-15.md",
        "daily/summary/",
        "core/MEMORY.md",
        "knowledge/concepts/",
        "templates/",
        ".gitignore",
    ],
    &[
        ".memtree/cache/index/CURRENT",
        ".memtree/cache/index/clock",
        ".memtree/cache/sweep-fingerprint.json",
        ".memtree/cache/consolidated.json",
        ".memtree/cache/clean-days.json",
        ".memtree/cache/sample/",
        ".memtree/local/told/",
        ".memtree/local/flush.json",
        ".memtree/local/locks/knowledge",
        ".memtree/local/installed/",
        ".memtree/local/ledger.jsonl",
        ".memtree/local/proposals.jsonl",
        ".memtree/local/committing.json",
        ".memtree/local/evicting.json",
        "sessions/SES1_desk_SP1C1/snapshot/MANIFEST.sha256",
        "sessions/SES1_desk_SP1C1/snapshot/episodic/EP_001.md",
        "sessions/SES1_desk_SP1C1/snapshot/sensory/",
        "sessions/SES1_desk_SP1C1/snapshot/semantic/",
        "sessions/SES1_desk_SP1C1/snapshot/state/vitals.yaml",
        "sessions/SES9_evil_SP1C1/",
        "sessions/evil.jsonl",
        "daily/summary/2026-11-15.md",
        "daily/2026-11-14.md",
        "knowledge/index.md",
        "knowledge/log.md",
        "patterns/",
        "templates/prompts/digest.md",
        "README.md",
        ".gitattributes",
        "sessions/SES2_desk_SP1C1/snapshot/notes.md",
        "sessions/SES2_desk_SP1C1/.gitignore",
    ],
];

/// Every command; `STDIN` behind a bar is what it is given.
const COMMANDS: &[&[&str]] = &[
    &["status"],
    &["status", "--json"],
    &["search", "lighthouse"],
    &["search", WORD, "--in", "all"],
    &["search", WORD, "--deep", "--json"],
    &["recall", "SES1_desk_SP1C1"],
    &["recall", "SES1_desk_SP1C1#EP_001"],
    &["recall", "SES1_desk_SP1C1#EP_001", "--raw"],
    &["recall", "SES2_desk_SP1C1#EP_001"],
    &["context"],
    &["context", "--prompt", WORD],
    &["hook", "claude", "SessionStart"],
    &["hook", "claude", "UserPromptSubmit"],
    &["hook", "claude", "Stop"],
    &["blame", "core/MEMORY.md"],
    &["blame", "sessions/SES1_desk_SP1C1/SES1_desk_SP1C1_DIGEST.md:10"],
    &["ask", "what is a lighthouse?"],
    &["lint"],
    &["detect"],
    &["review", "--list"],
    &["distribute"],
    &["measure"],
    &["retro"],
    &["handoff"],
    &["handoff", "--to", "codex"],
    &["resume", "SES1_desk_SP1C1"],
    &["fix", "error: the lighthouse is not a number"],
    &["why", "src/lighthouse.rs:1"],
    &["mcp"],
    &["memories"],
    &["list"],
    &["verify", "--deep"],
    &["doctor"],
    &["config"],
    &["config", "embeddings", "off"],
    &["log", "decision", "we keep lighthouses"],
    &["sweep"],
    &["watch", "--dry-run"],
    &["flush"],
    &["summarize", "2026-11-15"],
    &["compile", "--all"],
    &["consolidate"],
    &["digest", "--all"],
    &["snapshot", "notes"],
    &["pin", "SES1_desk_SP1C1"],
    &["pin", "SES1_desk_SP1C1", "--remove"],
    &["install", "claude", "--dry-run"],
    &["uninstall", "claude", "--dry-run"],
    &["init"],
    &["sync", "--dry-run"],
    &["sync"],
    &["merge-file", "base", "ours", "theirs", "core/MEMORY.md"],
    &["completions", "bash"],
    &["man"],
    &["doctor", "--fix"],
    &["doctor", "--secrets"],
    &["forget", "--text", "how tall is the lighthouse", "--yes"],
    &["retain", "--soft-cap", "1B", "--hard-cap", "1B"],
    &["retain", "--max-age-days", "0"],
    &["forget", "SES1_desk_SP1C1", "--yes"],
    &["sweep"],
];

/// A memory with a bit of everything.
fn template() -> Desk {
    let first = exchange(ID, 1, "how tall is the lighthouse?", "The lighthouse is 40 m tall.");
    let second = exchange(ID, 3, "always paint it white", "Done: the lighthouse is white now.");
    let desk = Desk::new().with_claude_log(ID, first + &second);
    fs::create_dir(desk.project().join("notes")).unwrap();
    fs::write(desk.project().join("notes/notes.md"), "# Notes\nOn lamps.\n").unwrap();
    for command in [
        &["sweep"][..],
        &["snapshot", "notes"],
        &["summarize", "2026-11-15"],
        &["compile", "--all"],
        &["consolidate"],
        &["search", "lighthouse"],
    ] {
        desk.memtree(command).done();
    }
    desk
}

/// What a link leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    /// A copy of what stood there, outside, in whose files the word stands.
    Outside,
    /// A name outside that is free.
    Nowhere,
    /// The folder above.
    Up,
}

/// A desk with links in its memory.
struct Planted {
    desk: Desk,
    places: Vec<String>,
    target: Target,
}

impl Planted {
    fn new(template: &Path, places: &[&str], target: Target) -> Planted {
        let desk = Desk::new();
        for name in ["home", "project", "memory"] {
            copy_folder(&template.join(name), &desk.root().join(name));
        }
        let places: Vec<String> = places.iter().map(|place| (*place).to_string()).collect();
        let planted = Planted { desk, places, target };
        fs::create_dir(planted.outside()).unwrap();
        planted.places.iter().for_each(|place| planted.lay_out(place));
        planted.plant();
        planted
    }

    fn outside(&self) -> PathBuf {
        self.desk.root().join("outside")
    }

    /// Where the link at a place leads to.
    fn outside_of(&self, place: &str) -> PathBuf {
        self.outside().join(place.trim_end_matches('/').replace('/', "-"))
    }

    /// Puts a copy of what stands at a place outside.
    fn lay_out(&self, place: &str) {
        let (from, to) =
            (self.desk.store().join(place.trim_end_matches('/')), self.outside_of(place));
        if self.target != Target::Outside {
            return;
        }
        if place.ends_with('/') {
            fs::create_dir_all(to.join("sub")).unwrap();
            for name in ["old.txt", "sub/EP_001.md", "EP_001.md", "2026-11-15.md", "page.md"] {
                fs::write(to.join(name), format!("# {WORD}\n")).unwrap();
            }
            if from.is_dir() {
                copy_folder(&from, &to);
            }
        } else if from.is_file() {
            fs::copy(&from, &to).unwrap();
        } else {
            fs::write(&to, "").unwrap();
        }
        for entry in walkdir::WalkDir::new(&to).into_iter().flatten() {
            if entry.file_type().is_file() {
                let mut text = fs::read(entry.path()).unwrap();
                text.extend(format!("\n{WORD}\n").bytes());
                let file = fs::File::create(entry.path()).unwrap();
                (&file).write_all(&text).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
        }
    }

    /// Puts the links in their places, where a command has put something else.
    fn plant(&self) {
        for place in &self.places {
            let path = self.desk.store().join(place.trim_end_matches('/'));
            if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
                continue;
            }
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match self.target {
                Target::Up => symlink("..", &path).unwrap(),
                _ => symlink(self.outside_of(place), &path).unwrap(),
            }
        }
    }

    /// Everything outside of the memory that could have been changed.
    fn around(&self) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
        let places =
            [self.outside(), self.desk.home().join(".claude/projects"), self.desk.project()];
        let mut found = BTreeMap::new();
        for entry in places.iter().flat_map(walkdir::WalkDir::new).flatten() {
            let metadata = entry.metadata().unwrap();
            let content = if metadata.is_file() { fs::read(entry.path()).unwrap() } else { vec![] };
            let modified = if metadata.is_file() { metadata.mtime() } else { 0 };
            found.insert(entry.path().to_owned(), (metadata.mode(), modified, content));
        }
        found
    }

    fn run(&self, arguments: &[&str]) -> String {
        let words: Vec<_> = arguments.iter().map(Into::into).collect();
        let mut command = self.desk.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = self.desk.log_path(ID);
        let input = serde_json::json!({
            "session_id": ID, "transcript_path": log, "cwd": self.desk.project(),
            "prompt": format!("what about the {WORD} lighthouse?"),
            "hook_event_name": arguments.last(),
        });
        // Most commands do not listen.
        let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code().is_some(), "{arguments:?} was killed");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn check(&self, commands: &[&[&str]]) {
        let before = self.around();
        for (number, arguments) in commands.iter().enumerate() {
            let what = format!("{arguments:?} with links ({:?}) at {:?}", self.target, self.places);
            if arguments == &["sweep"] {
                let minute = 10 + number as u32 % 50;
                let more = exchange(ID, minute, "and how old is it?", "It is old.");
                let text = fs::read_to_string(self.desk.log_path(ID)).unwrap() + &more;
                self.desk.write_log(ID, text);
            }
            let now = self.around();
            let said = self.run(arguments);
            let after = self.around();
            if now != after {
                let changed: Vec<_> = after
                    .keys()
                    .chain(now.keys())
                    .filter(|path| after.get(*path) != now.get(*path))
                    .collect();
                panic!("{what} changed {changed:?}\n{said}");
            }
            // Who asks for the word is told it.
            let said = said.replace(&format!("\"{WORD}\""), "").replace(&format!("`{WORD}`"), "");
            assert!(arguments.contains(&WORD) || !said.contains(WORD), "{what} said\n{said}");
            assert!(!said.contains(&format!("# {WORD}")), "{what} said\n{said}");
            self.assert_clean(&what);
            self.plant();
        }
        let outside = |tree: BTreeMap<PathBuf, _>| -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
            tree.into_iter().filter(|(path, _)| path.starts_with(self.outside())).collect()
        };
        assert!(outside(before) == outside(self.around()));
    }

    /// No file of the memory has a word from outside. What a hook was asked is no such word.
    fn assert_clean(&self, what: &str) {
        for entry in walkdir::WalkDir::new(self.desk.store()).into_iter().flatten() {
            let asked = ["last-search.json", "local/told/", "local/turns/"];
            let name = entry.path().to_string_lossy().into_owned();
            if entry.file_type().is_file() && !asked.iter().any(|part| name.contains(part)) {
                let text = fs::read(entry.path()).unwrap().to_ascii_lowercase();
                let holds = text.windows(WORD.len()).any(|part| part == WORD.as_bytes());
                assert!(!holds, "{what}: `{name}` holds a word from outside");
            }
        }
    }
}

/// Tries cases on all cores.
fn try_all(cases: &[(&[&str], Target)], commands: &[&[&str]]) {
    let template = template();
    let next = std::sync::atomic::AtomicUsize::new(0);
    // A desk has a clock of its own and so stays on its thread; the first one is only copied from.
    let root = template.root().to_owned();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((places, target)) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    Planted::new(&root, places, *target).check(commands);
                }
            });
        }
    });
}

#[test]
fn planted_links_lead_nowhere_with_any_command() {
    let alone = ALONE.iter().map(|place| (std::slice::from_ref(place), Target::Outside));
    let together = TOGETHER.iter().map(|places| (*places, Target::Outside));
    let cases: Vec<(&[&str], Target)> = alone.chain(together).collect();
    assert!(cases.iter().map(|(places, _)| places.len()).sum::<usize>() >= 40);
    try_all(&cases, COMMANDS);
}

#[test]
fn links_to_nowhere_and_upwards_are_not_followed_either() {
    let mut cases: Vec<(&[&str], Target)> = Vec::new();
    for target in [Target::Nowhere, Target::Up] {
        cases.extend(ALONE.iter().map(|place| (std::slice::from_ref(place), target)));
        cases.extend(TOGETHER.iter().map(|places| (*places, target)));
    }
    let writers: Vec<&[&str]> = COMMANDS
        .iter()
        .copied()
        .filter(|words| {
            let first = words[0];
            ["sweep", "flush", "compile", "consolidate", "retain", "forget"].contains(&first)
                || words == &["doctor", "--fix"]
                || words == &["log", "decision", "we keep lighthouses"]
        })
        .collect();
    try_all(&cases, &writers);
}

#[test]
fn every_command_is_tried() {
    let help = Desk::new().memtree(["--help"]).success().stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let named: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .collect();
    let tried: BTreeSet<&str> = COMMANDS.iter().map(|words| words[0]).collect();
    assert!(named.len() > 20, "{help}");
    assert_eq!(named.difference(&tried).collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn a_memory_whose_own_folder_is_a_link_is_refused() {
    let desk = Desk::new();
    desk.memtree(["init"]).success();
    let outside = desk.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let _ = fs::remove_dir_all(desk.store().join(".memtree"));
    symlink(&outside, desk.store().join(".memtree")).unwrap();
    for command in [&["sweep"][..], &["search", "x"], &["status"], &["sweep", "--dry-run"]] {
        desk.memtree(command).code(1).stderr_has(".memtree` is a link");
    }
    // The memory itself may be reached through one: the person chose it.
    fs::remove_file(desk.store().join(".memtree")).unwrap();
    fs::rename(desk.store(), desk.root().join("elsewhere")).unwrap();
    symlink(desk.root().join("elsewhere"), desk.store()).unwrap();
    desk.memtree(["sweep"]).success();
    desk.memtree(["doctor"]).success();
}

/// Kernels before 5.6, and some containers, have no `openat2`.
#[test]
fn without_openat2_it_is_the_same() {
    let template = template();
    for place in ["sessions/SES1_desk_SP1C1/snapshot/", "daily/raw/", ".memtree/local/turns/"] {
        let planted = Planted::new(template.root(), &[place], Target::Outside);
        let before = planted.around();
        for arguments in [&["sweep"][..], &["retain", "--soft-cap", "1B", "--hard-cap", "1B"]] {
            let words: Vec<_> = arguments.iter().map(Into::into).collect();
            let output =
                planted.desk.command(&words).env("MEMTREE_FAULT", "old-kernel").output().unwrap();
            assert!(output.status.code().is_some());
        }
        assert!(before == planted.around(), "{place}");
        planted.assert_clean(place);
    }
    template.memtree(["status"]).success();
}
