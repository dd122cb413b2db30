//! Two to five devices with one memory, and whatever people, agents and plain git do with it in any
//! order: nothing conflicts for long, nothing is lost, nothing is doubled, and in the end all
//! devices hold the same.
//!
//! `MEMTREE_SYNC_RUNS=2000` makes so many runs, `MEMTREE_SYNC_SECONDS=120` as many as fit into so
//! many seconds, `MEMTREE_SYNC_SEED=7` that one alone; `MEMTREE_SYNC_JOBS=2` makes two at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Desk, exchange, git_command};

/// How long the runs of an ordinary test may take, in seconds; `.ci/run` gives them two minutes.
const A_WHILE: u64 = 10;
/// How much happens in one run.
const STEPS: u64 = 18;

#[test]
fn devices_never_lose_double_or_keep_a_conflict() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    if let Some(seed) = variable("MEMTREE_SYNC_SEED") {
        return Run::of(seed).play();
    }
    let first: u64 = variable("MEMTREE_SYNC_FIRST").unwrap_or(1);
    let (began, most) = (Instant::now(), variable("MEMTREE_SYNC_RUNS"));
    let seconds = variable("MEMTREE_SYNC_SECONDS").unwrap_or(A_WHILE);
    // Each run waits for programs most of the time, so that several go side by side.
    let jobs = variable("MEMTREE_SYNC_JOBS").unwrap_or(1);
    let (made, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..jobs {
            threads.spawn(|| {
                let _stop = StopOthers(&failed);
                loop {
                    let number = made.fetch_add(1, Ordering::SeqCst);
                    let is_over =
                        most.map_or(began.elapsed().as_secs() >= seconds, |most| number >= most);
                    if is_over || failed.load(Ordering::SeqCst) {
                        made.fetch_sub(1, Ordering::SeqCst);
                        break;
                    }
                    eprintln!("seed {}", first + number);
                    Run::of(first + number).play();
                }
            });
        }
    });
    let made = made.into_inner();
    eprintln!("{made} runs in {:?}", began.elapsed());
    assert!(made > 0);
}

/// Lets the others end after their runs where one has failed.
struct StopOthers<'f>(&'f AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn one_of<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        if all.is_empty() { None } else { all.get(self.below(all.len() as u64) as usize) }
    }
}

struct Run {
    seed: u64,
    dice: Dice,
    desks: Vec<Desk>,
    /// How many sessions each device has begun.
    begun: Vec<u32>,
    /// What people wrote, and the session into whose page.
    said: Vec<(String, Option<String>)>,
    forgotten: BTreeSet<String>,
    told: Vec<String>,
}

impl Run {
    fn of(seed: u64) -> Run {
        let mut dice = Dice(seed);
        let names = ["oak", "elm", "fir", "ash", "yew"];
        let count = 2 + dice.below(4) as usize;
        let desks: Vec<Desk> =
            names[..count].iter().map(|name| Desk::in_memory().on_device(name)).collect();
        let run = Run {
            seed,
            dice,
            begun: vec![0; count],
            desks,
            said: Vec::new(),
            forgotten: BTreeSet::new(),
            told: Vec::new(),
        };
        run.connect();
        run
    }

    /// Gives all devices one remote; some of them know how pages are joined, some do not.
    fn connect(&self) {
        let shared = self.desks[0].root().join("shared.git");
        let shared = shared.to_str().unwrap();
        for (at, desk) in self.desks.iter().enumerate() {
            let who = format!("[user]\n\tname = desk\n\temail = desk{at}@example.org\n");
            fs::write(desk.home().join(".gitconfig"), who).unwrap();
            let others: Vec<String> =
                ["oak", "elm", "fir", "ash", "yew"].map(|name| format!("\"{name}\"")).into();
            desk.configure(format!("[devices]\ntrust = [{}]\n", others.join(", ")));
        }
        let first = &self.desks[0];
        first.memtree(["init"]).success();
        first.git(["init", "--quiet", "--initial-branch=main"]);
        first.git(["init", "--quiet", "--bare", "--initial-branch=main", shared]);
        first.git(["remote", "add", "origin", shared]);
        first.memtree(["sync"]).success();
        for desk in &self.desks[1..] {
            first.git(["clone", "--quiet", shared, desk.store().to_str().unwrap()]);
        }
    }

    fn play(mut self) {
        let steps = STEPS + self.dice.below(STEPS);
        for _ in 0..steps {
            let at = self.dice.below(self.desks.len() as u64) as usize;
            self.step(at);
        }
        self.settle();
        self.check();
    }

    fn tell(&mut self, at: usize, what: impl AsRef<str>) {
        let device = ["oak", "elm", "fir", "ash", "yew"][at];
        self.told.push(format!("{device}: {}", what.as_ref()));
    }

    /// All that happened, for whoever has to understand a failure.
    fn story(&self) -> String {
        format!("seed {}:\n{}", self.seed, self.told.join("\n"))
    }

    fn step(&mut self, at: usize) {
        self.desks[at].later(3);
        match self.dice.below(20) {
            0..=3 => self.work(at, true),
            4 | 5 => self.work(at, false),
            6 => self.log(at),
            7..=9 => self.note(at),
            10 | 11 => self.edit(at),
            12 => self.command(at),
            13 => self.forget(at),
            14 => self.kill(at),
            15 => self.share(at, false),
            16 => self.share(at, true),
            _ => {
                self.tell(at, "sync");
                self.run(at, &["sync"]);
            }
        }
    }

    /// Runs a command that has to end well.
    fn run(&self, at: usize, arguments: &[&str]) {
        let (code, answer) = self.desks[at].memtree(arguments).any();
        assert!(matches!(code, Some(0 | 3)), "{}\n{}", self.story(), answer.told());
    }

    /// An agent works, in a new session or in one that goes on; then it is swept.
    fn work(&mut self, at: usize, is_new: bool) {
        if is_new || self.begun[at] == 0 {
            self.begun[at] += 1;
        }
        let number = 1 + self.dice.below(u64::from(self.begun[at])) as u32;
        let number = if is_new { self.begun[at] } else { number };
        let id = format!("{at:08}-0000-4000-8000-{number:012}");
        let desk = &self.desks[at];
        let before = fs::read_to_string(desk.log_path(&id)).unwrap_or_default();
        let turn = before.lines().count() as u32 / 2 + 1;
        let (prompt, reply) = (
            format!("Which rope for mast {at}-{number}, turn {turn}?"),
            format!("Decided: rope {turn} of mast {number}, because the wind on {at} is strong."),
        );
        desk.write_log(&id, before + &exchange(&id, turn, &prompt, &reply));
        self.tell(at, format!("sweep session {number}, turn {turn}"));
        self.run(at, &["sweep"]);
    }

    fn log(&mut self, at: usize) {
        let words = self.words(at, "said", None);
        self.tell(at, format!("log {words}"));
        self.run(at, &["log", "user", &words]);
    }

    /// Words that nobody has said before.
    fn words(&mut self, at: usize, what: &str, session: Option<String>) -> String {
        let words = format!("{what}-{}-by-{at}", self.said.len());
        self.said.push((words.clone(), session));
        words
    }

    fn sessions_with_digest(&self, at: usize) -> Vec<String> {
        let desk = &self.desks[at];
        let has = |name: &String| desk.store().join(desk.digest_path(name)).exists();
        desk.sessions().into_iter().filter(has).collect()
    }

    /// A person writes a note at the end of a page: a digest, a day's summary, a core or the page
    /// for agents.
    fn note(&mut self, at: usize) {
        let pages = ["core/MEMORY.md".to_string()].into_iter().chain(self.desks[at].summaries());
        let others: Vec<String> =
            pages.filter(|page| self.desks[at].store().join(page).exists()).collect();
        let sessions = self.sessions_with_digest(at);
        let (page, session) = match (self.dice.below(3), self.dice.one_of(&others).cloned()) {
            (0, Some(page)) => (page, None),
            _ => {
                let Some(session) = self.dice.one_of(&sessions).cloned() else { return };
                (self.desks[at].digest_path(&session), Some(session))
            }
        };
        let words = self.words(at, "noted", session);
        self.tell(at, format!("note {words} in {page}"));
        let text = self.desks[at].read(&page);
        self.desks[at].write(&page, format!("{}\n- {words}\n", text.trim_end()));
    }

    /// A person writes a section anew.
    fn edit(&mut self, at: usize) {
        let sessions = self.sessions_with_digest(at);
        let Some(session) = self.dice.one_of(&sessions).cloned() else { return };
        let page = self.desks[at].digest_path(&session);
        let text = self.desks[at].read(&page);
        let found = text.lines().find(|line| line.starts_with("- **Core Intent**: "));
        let Some(line) = found.map(str::to_string) else { return };
        // What stood there was somebody's words, who sees them go.
        let gone = line.trim_start_matches("- **Core Intent**: ").to_string();
        self.said.retain(|(words, _)| *words != gone);
        let words = self.words(at, "edited", Some(session));
        self.tell(at, format!("edit {words} in {page}, in the place of {gone}"));
        self.desks[at].write(&page, text.replace(&line, &format!("- **Core Intent**: {words}")));
    }

    fn command(&mut self, at: usize) {
        let commands: [&[&str]; 5] = [
            &["consolidate"],
            &["compile"],
            &["summarize", "--pending"],
            &["review", "--auto-approve"],
            &["flush"],
        ];
        let command = commands[self.dice.below(5) as usize];
        self.tell(at, command.join(" "));
        self.run(at, command);
    }

    fn forget(&mut self, at: usize) {
        let device = ["oak", "elm", "fir", "ash", "yew"][at];
        let mut own = self.sessions_with_digest(at);
        own.retain(|session| session.contains(&format!("_{device}_")));
        if own.len() < 3 {
            return;
        }
        let session = own[self.dice.below(own.len() as u64) as usize].clone();
        self.tell(at, format!("forget {session}"));
        let (_, answer) = self.desks[at].memtree(["forget", &session, "--yes"]).any();
        assert!(!answer.stderr.contains("error:"), "{}\n{}", self.story(), answer.told());
        self.forgotten.insert(session);
    }

    /// A command is killed in the middle.
    fn kill(&mut self, at: usize) {
        let what = if self.dice.below(2) == 0 { "sync" } else { "sweep" };
        let after = self.dice.below(250);
        self.tell(at, format!("{what}, killed after {after} ms"));
        let mut child = self.desks[at]
            .command(&[what.into()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let _ = child.kill();
        let _ = child.wait();
        // What git was doing goes on for a moment.
        std::thread::sleep(Duration::from_millis(150));
        let lock = self.desks[at].store().join(".git/index.lock");
        let until = Instant::now() + Duration::from_secs(5);
        while lock.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Shares by plain git, as a person would.
    fn share(&mut self, at: usize, rebase: bool) {
        let how = if rebase { "--rebase" } else { "--no-rebase" };
        self.tell(at, format!("git pull {how}, push"));
        self.git(at, &["add", "--all"]);
        self.git(at, &["commit", "--quiet", "--message", "by hand"]);
        let mut ended = self.git(at, &["pull", "--quiet", how, "--no-edit", "origin", "main"]);
        for _ in 0..30 {
            let own = self.desks[at].store().join(".git");
            let is_rebase = own.join("rebase-merge").exists() || own.join("rebase-apply").exists();
            if !is_rebase && !own.join("MERGE_HEAD").exists() {
                break;
            }
            // The next command puts the pages right, and says what is left to do.
            self.run(at, &["consolidate"]);
            self.assert_no_marks(at);
            self.git(at, &["add", "--all"]);
            let next: &[&str] = if is_rebase {
                &["rebase", "--continue"]
            } else {
                &["commit", "--quiet", "--no-edit"]
            };
            ended = self.git(at, next);
            if !ended.status.success() && is_rebase {
                // A commit of which nothing is left.
                let said = String::from_utf8_lossy(&ended.stdout).into_owned()
                    + &String::from_utf8_lossy(&ended.stderr);
                if said.contains("nothing to commit") || said.contains("--skip") {
                    ended = self.git(at, &["rebase", "--skip"]);
                }
            }
        }
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!self.is_in_between(at), "{}\n{said}", self.story());
        self.run(at, &["consolidate"]);
        self.assert_no_marks(at);
        self.git(at, &["push", "--quiet", "origin", "HEAD:main"]);
    }

    fn is_in_between(&self, at: usize) -> bool {
        let own = self.desks[at].store().join(".git");
        ["rebase-merge", "rebase-apply", "MERGE_HEAD"].iter().any(|name| own.join(name).exists())
    }

    fn git(&self, at: usize, arguments: &[&str]) -> Output {
        let desk = &self.desks[at];
        git_command(&desk.store(), &desk.home()).args(arguments).output().unwrap()
    }

    fn assert_no_marks(&self, at: usize) {
        for (path, text) in self.desks[at].texts() {
            let has = |mark: &str| text.lines().any(|line| line.starts_with(mark));
            assert!(
                !has("<<<<<<< ") && !has(">>>>>>> "),
                "{}\n{path} holds both sides of a merge:\n{text}",
                self.story()
            );
        }
    }

    /// Everybody syncs until nothing is new.
    fn settle(&mut self) {
        for _ in 0..2 {
            for at in 0..self.desks.len() {
                self.desks[at].later(60);
                self.run(at, &["sweep"]);
                self.run(at, &["sync"]);
            }
        }
        for _ in 0..2 {
            let head = |at: usize| self.git(at, &["rev-parse", "HEAD"]).stdout;
            if (1..self.desks.len()).all(|at| head(at) == head(0)) {
                break;
            }
            for at in 0..self.desks.len() {
                self.run(at, &["sync"]);
            }
        }
    }

    fn check(&self) {
        let story = self.story();
        let first = tracked(&self.desks[0], &self.git(0, &["ls-files", "-z"]));
        for at in 0..self.desks.len() {
            let status = self.git(at, &["status", "--porcelain"]);
            assert_eq!(String::from_utf8_lossy(&status.stdout), "", "{story}\nof device {at}");
            let texts = tracked(&self.desks[at], &self.git(at, &["ls-files", "-z"]));
            for (path, text) in &first {
                assert_eq!(texts.get(path), Some(text), "{story}\n{path} differs on device {at}");
            }
            assert_eq!(texts.len(), first.len(), "{story}");
            self.assert_no_marks(at);
            let (code, answer) = self.desks[at].memtree(["verify"]).any();
            assert_eq!(code, Some(0), "{story}\n{}", answer.told());
        }
        self.check_words(&first, &story);
        self.check_digests(&story);
    }

    /// Everything that people wrote is there, once.
    fn check_words(&self, texts: &BTreeMap<String, String>, story: &str) {
        for (words, session) in &self.said {
            if session.as_ref().is_some_and(|session| self.forgotten.contains(session)) {
                continue;
            }
            let is_word = |text: &str| -> usize {
                text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
                    .filter(|word| word == words)
                    .count()
            };
            let places: Vec<(&String, usize)> = texts
                .iter()
                .map(|(path, text)| (path, is_word(text)))
                .filter(|(_, count)| *count > 0)
                .collect();
            assert!(!places.is_empty(), "{story}\n`{words}` is gone");
            // What was written into a page stands in that page, once.
            let digests: Vec<_> =
                places.iter().filter(|(path, _)| path.ends_with("_DIGEST.md")).collect();
            if session.is_some() {
                let counts: usize = digests.iter().map(|(_, count)| count).sum();
                assert_eq!(counts, 1, "{story}\n`{words}` stands in {places:?}");
            }
        }
    }

    fn check_digests(&self, story: &str) {
        let desk = &self.desks[0];
        let mut sources = BTreeSet::new();
        for session in self.sessions_with_digest(0) {
            assert!(!self.forgotten.contains(&session), "{story}\n{session} came back");
            let digest = desk.digest(&session);
            assert!(
                sources.insert(digest.source_id.clone()),
                "{story}\n{} is there twice",
                digest.source_id
            );
            let page = desk.digest_text(&session);
            for heading in ["Semantic Summary", "Knowledge Triggers", "Synthesis Readiness"] {
                let count = page
                    .lines()
                    .filter(|line| line.starts_with("## ") && line.contains(heading))
                    .count();
                assert_eq!(count, 1, "{story}\n{heading} of {session}:\n{page}");
            }
        }
        let begun: u32 = self.begun.iter().sum();
        assert_eq!(sources.len() + self.forgotten.len(), begun as usize, "{story}");
    }
}

/// What every file that git tracks holds.
fn tracked(desk: &Desk, listed: &Output) -> BTreeMap<String, String> {
    let names = String::from_utf8(listed.stdout.clone()).unwrap();
    let names = names.split('\0').filter(|name| !name.is_empty());
    names.map(|name| (name.to_string(), desk.read(name))).collect()
}
