//! Eight sessions become a core, eight cores a sphere; nothing that was ever remembered is lost on
//! the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use memtree::internals::store::core::{self, memory};
use memtree::internals::store::{Store, digest};
use memtree::model::core::LandmarkId;
use memtree::model::digest::{
    Claim, ClaimKind, Content, Digest, Origin, Outcome, Snapshot, State, Worth,
};
use memtree::model::ids::{CoreId, Device, EpisodeId, SessionId};
use memtree::{ConsolidateReport, ConsolidateRequest};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::harness::{Desk, Tree, assert_same, exchange, open_at};

// --- As a user sees it ---

/// A desk with so many sessions, each with a wish of its own.
fn desk_with(sessions: u32) -> Desk {
    let desk = Desk::new();
    for n in 1..=sessions {
        say(
            &desk,
            n,
            &format!("Fix the number{n} thing. Never push to main without asking me."),
            "It is fixed.",
        );
    }
    desk
}

fn id(n: u32) -> String {
    format!("5e55{n:04}-0000-4000-8000-000000000001")
}

fn say(desk: &Desk, n: u32, prompt: &str, reply: &str) {
    desk.write_log(&id(n), exchange(&id(n), n, prompt, reply));
}

/// A session in which a person decides something: never with the first prompt.
fn decide(desk: &Desk, n: u32, prompt: &str, reply: &str) {
    let first = exchange(&id(n), n, "Fix the queue.", "It is fixed.");
    desk.write_log(&id(n), first + &exchange(&id(n), n + 1, prompt, reply));
}

#[test]
fn eight_sessions_become_a_core_in_the_same_sweep() {
    let desk = desk_with(9);
    let report = desk.memtree(["sweep", "--json"]).success().json();
    assert_eq!(report["cores"], serde_json::json!(["core/CORE_desk_SP1C1.md"]));
    let core = desk.read("core/CORE_desk_SP1C1.md");
    for n in 1..=8 {
        assert!(
            core.contains(&format!("[SES{n}_desk_SP1C1](../sessions/SES{n}_desk_SP1C1/")),
            "{core}"
        );
        let digest = desk.digest_text(&format!("SES{n}_desk_SP1C1"));
        assert!(digest.contains("readiness: [cleaned, summarized, indexed, related]"), "{digest}");
        assert!(digest.contains("- [x] Relational Map Created"), "{digest}");
    }
    assert!(desk.digest_text("SES1_desk_SP1C2").contains("- [ ] Relational Map Created"));
    let memory = desk.read("core/MEMORY.md");
    assert!(
        memory.contains(
            "\n## demo\n- Never push to main without asking me ([belief, 8 sessions, 2026-11-15](CORE_desk_SP1C1.md#^lm-"
        )
    );
    let status = desk.memtree(["status", "--json"]).success().json();
    assert_eq!([&status["cores"], &status["spheres"]], [1, 0]);
    // Again, and the long way.
    let before = desk.tree();
    desk.memtree(["sweep"]).success();
    desk.memtree(["consolidate"]).success().stdout_has("nothing to consolidate");
    fs::remove_dir_all(desk.store().join(".memtree")).unwrap();
    desk.memtree(["consolidate"]).success().stdout_has("nothing to consolidate");
    assert_same(&before, &desk.tree(), "after a second sweep and consolidation");
}

#[test]
fn a_session_that_is_open_keeps_its_core_open() {
    let desk = desk_with(7);
    say(&desk, 58, "Look at the last thing.", "I am at it.");
    desk.memtree(["sweep"]).success();
    assert!(!desk.store().join("core").exists());
    desk.memtree(["consolidate"]).success().stderr_has("SES8_desk_SP1C1 is still open");
    desk.later(60);
    desk.memtree(["sweep"]).success().stdout_has("consolidated 1 core");
}

#[test]
fn a_gap_waits_and_a_tombstone_fills_it() {
    let desk = desk_with(9);
    desk.memtree(["sweep"]).success();
    fs::remove_dir_all(desk.store().join("core")).unwrap();
    fs::remove_dir_all(desk.store().join("sessions/SES3_desk_SP1C1")).unwrap();
    desk.memtree(["consolidate"]).success().stderr_has("there is no digest of SES3_desk_SP1C1");
    assert!(!desk.store().join("core/CORE_desk_SP1C1.md").exists());
    desk.write("forgotten.md", "- SES3_desk_SP1C1\n");
    desk.memtree(["consolidate"]).success().stdout_has("core/CORE_desk_SP1C1.md");
    let core = desk.read("core/CORE_desk_SP1C1.md");
    assert!(core.contains("\n- SES3_desk_SP1C1 · forgotten\n"), "{core}");
}

#[test]
fn an_edited_digest_opens_its_core_again_and_nothing_is_lost() {
    let desk = desk_with(8);
    desk.memtree(["sweep"]).success();
    let path = desk.digest_path("SES2_desk_SP1C1");
    let line = "- decision: use sqlite instead of postgres for the queue -> [EP_001](snapshot/episodic/EP_001.md) | user\n";
    let digest = desk.read(&path);
    desk.write(&path, digest.clone() + "\n" + line);
    desk.memtree(["sweep"]).success().stdout_has("consolidated 1 core");
    let core = desk.read("core/CORE_desk_SP1C1.md");
    assert!(
        core.contains("**decision** use sqlite instead of postgres for the queue | confirmed"),
        "{core}"
    );
    desk.write(&path, digest + "\n" + &line.replace("queue", "job queue"));
    desk.memtree(["consolidate"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    let (live, gone) = core.split_once("## Superseded").expect("what was said is still there");
    assert!(live.contains("for the job queue | confirmed"), "{core}");
    let new = LandmarkId::new(
        memtree::model::core::Kind::Decision,
        Some("demo"),
        "use sqlite instead of postgres for the job queue",
    );
    assert!(gone.contains("use sqlite instead of postgres for the queue | deprecated"), "{core}");
    assert!(
        gone.contains(&format!("replaced by [{new}](#^{new}): its sessions say it otherwise now")),
        "{core}"
    );
}

#[test]
fn a_reversed_decision_is_superseded_by_the_later_one() {
    let desk = desk_with(6);
    decide(&desk, 20, "Let's use postgres instead of sqlite.", "Done, it is in place.");
    decide(&desk, 25, "Let's use sqlite instead of postgres.", "Done, it is back.");
    desk.memtree(["sweep"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    let (live, gone) = core.split_once("## Superseded").expect("the earlier one is superseded");
    assert!(live.contains("Let's use sqlite instead of postgres | confirmed"), "{core}");
    assert!(
        live.contains("SES8_desk_SP1C1/SES8_desk_SP1C1_DIGEST.md) contradicts [SES7_desk_SP1C1]"),
        "{core}"
    );
    assert!(gone.contains("Let's use postgres instead of sqlite | deprecated"), "{core}");
    assert!(gone.contains("SES8_desk_SP1C1 chose otherwise later"), "{core}");
    let memory = desk.read("core/MEMORY.md");
    assert!(
        memory.contains("sqlite instead of postgres")
            && !memory.contains("postgres instead of sqlite"),
        "{memory}"
    );
}

#[test]
fn rules_that_contradict_each_other_are_contested_and_kept() {
    let desk = desk_with(6);
    say(&desk, 20, "Always squash the commits of a branch.", "I will remember it.");
    say(&desk, 25, "Never squash the commits of a branch.", "I will remember that.");
    desk.memtree(["sweep"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    assert!(core.contains("Always squash the commits of a branch | contested"), "{core}");
    assert!(core.contains("Never squash the commits of a branch | contested"), "{core}");
    assert!(!desk.read("core/MEMORY.md").contains("squash"), "only what is confirmed");
}

#[test]
fn a_persons_words_and_pins_stay() {
    let desk = desk_with(8);
    desk.memtree(["sweep"]).success();
    let memory = desk.read("core/MEMORY.md");
    let pinned =
        "- Ask before every release ([belief, 1 session](CORE_desk_SP1C1.md#^lm-0123456789)) 📌";
    let edited =
        memory.replace("\n## demo\n", &format!("\n## demo\n{pinned}\n")) + "\nMy own line.\n";
    desk.write("core/MEMORY.md", format!("Mine, above all.\n\n{edited}"));
    let core = desk.read("core/CORE_desk_SP1C1.md");
    desk.write(
        "core/CORE_desk_SP1C1.md",
        core.replace("Never push to main without asking me |", "Ask me before you push |")
            + "a note\n",
    );
    desk.memtree(["consolidate"]).success();
    let memory = desk.read("core/MEMORY.md");
    assert!(
        memory.starts_with("Mine, above all.\n\n# Memory\n")
            && memory.ends_with("\nMy own line.\n"),
        "{memory}"
    );
    assert!(memory.contains(pinned), "{memory}");
    assert!(memory.contains("- Ask me before you push ([belief, 8 sessions, "), "{memory}");
    let core = desk.read("core/CORE_desk_SP1C1.md");
    assert!(
        core.contains("**belief** Ask me before you push |")
            && core.ends_with("## Notes\na note\n"),
        "{core}"
    );
    let before = desk.tree();
    desk.memtree(["consolidate"]).success();
    assert_same(&before, &desk.tree(), "after consolidating again");
}

#[test]
fn a_persons_own_lines_between_ours_move_into_the_notes() {
    let desk = desk_with(8);
    desk.memtree(["sweep"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    let pushed = core.lines().find(|line| line.contains("Never push to main")).unwrap();
    let edited = core
        .replace("## Landmarks\n", "## Landmarks\n- **belief** own line\n")
        .replace(pushed, &format!("{pushed} but ask Ann first"));
    desk.write("core/CORE_desk_SP1C1.md", edited);
    desk.memtree(["sweep"]).success();
    desk.memtree(["consolidate"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    let (ours, notes) = core.split_once("## Notes\n").unwrap();
    assert!(notes.contains("- **belief** own line\n"), "{core}");
    assert!(notes.contains("- but ask Ann first (beside “Never push to main"), "{core}");
    assert!(ours.contains(&format!("{pushed}\n")) && !ours.contains("own line"), "{core}");
    let before = desk.tree();
    desk.memtree(["consolidate"]).success();
    assert_same(&before, &desk.tree(), "after consolidating again");
}

#[test]
fn what_a_person_says_of_themselves_holds_everywhere() {
    let desk = desk_with(7);
    say(&desk, 20, "Fix the door. I prefer small commits with one change each.", "It is fixed.");
    desk.memtree(["sweep"]).success();
    let memory = desk.read("core/MEMORY.md");
    let (everywhere, demo) = memory.split_once("\n## demo\n").unwrap();
    assert!(
        everywhere.contains("\n## Everywhere\n- I prefer small commits with one change each (["),
        "{memory}"
    );
    assert!(!demo.contains("small commits"), "{memory}");
}

#[test]
fn a_review_decides_and_the_decision_stays() {
    let desk = desk_with(6);
    decide(&desk, 20, "i think the queue reads better as a list", "Done, it is in place.");
    decide(&desk, 25, "we should call it a line, it makes more sense", "Done, it is one.");
    desk.memtree(["sweep"]).success();
    let page = desk.read("core/CORE_desk_SP1C1.md");
    let (list, line) = ("the queue reads better as a list", "we should call it a line");
    assert!(page.contains(&format!("i think {list} | hypothesis ")), "{page}");
    assert!(!desk.read("core/MEMORY.md").contains(list), "one sentence is not confirmed");
    // As the review inbox writes it.
    let mark = |page: String, said: &str, state: &str| {
        let lines = page.lines().map(|one| match one.contains(said) && one.contains(" ^lm-") {
            true => one.replacen("| hypothesis ", &format!("| {state} (reviewed) "), 1),
            false => one.to_string(),
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    let page = mark(mark(page, list, "confirmed"), line, "rejected");
    desk.write("core/CORE_desk_SP1C1.md", page);
    for _ in 0..2 {
        desk.memtree(["consolidate"]).success();
        let page = desk.read("core/CORE_desk_SP1C1.md");
        let (live, gone) = page.split_once("## Superseded").expect("it is kept");
        assert!(live.contains(&format!("{list} | confirmed (reviewed) ")), "{page}");
        assert!(gone.contains(line) && gone.contains("| rejected in a review ^lm-"), "{page}");
        let memory = desk.read("core/MEMORY.md");
        assert!(memory.contains(list) && !memory.contains(line), "{memory}");
    }
}

#[test]
fn a_core_says_what_came_of_its_sessions_and_what_was_left_open() {
    let memory = Memory::new();
    for ordinal in 0..8 {
        let mut digest = digest(ordinal, "a", &[], Worth::Full, 0);
        digest.content.key_outcomes =
            vec![format!("The lock number{ordinal} is taken first (EP_001)")];
        let claim = |kind, text: &str, origin| Claim {
            kind,
            text: text.into(),
            episode: EpisodeId(1),
            origin,
        };
        digest.content.stated = vec![
            claim(
                ClaimKind::Standing,
                "Checks that passed here: `just lint`, `just test`",
                Origin::Tool,
            ),
            claim(ClaimKind::Open, &format!("PR #{ordinal} is not merged yet"), Origin::Tool),
        ];
        memory.write(&digest);
    }
    memory.consolidate();
    let core = memory.store.layout().core(&"a_SP1C1".parse::<CoreId>().unwrap());
    let page = fs::read_to_string(&core).unwrap();
    assert!(
        page.contains(" · Session 7\n  - The lock number7 is taken first (EP_001)\n"),
        "{page}"
    );
    assert!(
        page.contains(
            "\n## Left open\n\n### demo\n- PR #7 is not merged yet ([SES8_a_SP1C1#EP_001]("
        ),
        "{page}"
    );
    assert!(!page.contains("**knowledge** PR #"), "an open end is no landmark: {page}");
    let page = fs::read_to_string(memory.store.layout().memory_page()).unwrap();
    assert!(
        page.contains("\n- Checks that pass here: `just lint`, `just test` ([habit, 8 sessions, "),
        "{page}"
    );
}

#[test]
fn a_core_of_nothing_worth_remembering_says_so_in_one_line() {
    let memory = Memory::new();
    for ordinal in 0..8 {
        memory.write(&digest(ordinal, "a", &[], Worth::None, 0));
    }
    memory.consolidate();
    let core = memory.store.layout().core(&"a_SP1C1".parse::<CoreId>().unwrap());
    let page = fs::read_to_string(&core).unwrap();
    assert!(page.contains("(none: not one of these sessions was worth remembering)"), "{page}");
}

#[test]
fn a_core_of_an_earlier_version_is_read() {
    let line = "- **decision** use sqlite | confirmed 0.86, knowledge | [SES1_a_SP1C1#EP_003](x) user ^lm-0123456789";
    let page = format!(
        "---\nextraction_date: 2026-11-01\n---\n# Core\n\n## Landmarks\n\n### demo\n{line}\n"
    );
    let core = core::parse_core(&page);
    assert_eq!(core.landmarks.len(), 1);
    assert_eq!((core.landmarks[0].on, core.landmarks[0].reviewed), (None, false));
}

#[test]
fn a_dry_run_writes_nothing_and_a_grown_session_is_ticked_again() {
    let desk = desk_with(8);
    desk.memtree(["sweep"]).success();
    let more = exchange(&id(3), 40, "From now on use tabs in the Makefile.", "Noted.");
    desk.write_log(&id(3), exchange(&id(3), 3, "Fix the number3 thing.", "It is fixed.") + &more);
    desk.later(120);
    desk.memtree(["sweep"]).success().stdout_has("consolidated 1 core");
    let digest = desk.digest_text("SES3_desk_SP1C1");
    assert!(digest.contains("- [x] Relational Map Created"), "{digest}");
    assert!(desk.read("core/CORE_desk_SP1C1.md").contains("From now on use tabs in the Makefile"));
    desk.write("core/CORE_desk_SP1C1.md", "");
    let before = desk.tree();
    desk.memtree(["consolidate", "--dry-run"]).success().stdout_has("would write 1 core");
    assert_same(&before, &desk.tree(), "after a dry run");
}

#[test]
fn git_merges_two_devices_without_conflict() {
    let desk = desk_with(8);
    desk.memtree(["sweep"]).success();
    desk.git(["init", "-q", "-b", "main"]);
    // Git is told how pages are joined.
    desk.memtree(["init"]).success();
    desk.git(["add", "-A"]);
    desk.git(["commit", "-qm", "base"]);
    let note = |session: &str, said: &str| {
        let path = desk.digest_path(session);
        let line =
            format!("- preference: {said} -> [EP_001](snapshot/episodic/EP_001.md) | user\n");
        desk.write(&path, desk.read(&path) + &line);
        desk.memtree(["consolidate"]).success();
        desk.git(["commit", "-qam", said]);
    };
    desk.git(["checkout", "-qb", "there"]);
    note("SES1_desk_SP1C1", "always answer in English");
    note("SES1_desk_SP1C1", "always name the files");
    desk.git(["checkout", "-q", "main"]);
    note("SES5_desk_SP1C1", "never rebase a shared branch");
    desk.git(["merge", "-q", "there"]);
    desk.memtree(["consolidate"]).success();
    let core = desk.read("core/CORE_desk_SP1C1.md");
    for said in
        ["always answer in English", "always name the files", "never rebase a shared branch"]
    {
        assert_eq!(core.matches(&format!("**belief** {said} |")).count(), 1, "{core}");
    }
    assert_eq!(core.matches("core_id:").count(), 1, "{core}");
    let memory = desk.read("core/MEMORY.md");
    assert_eq!(memory.matches("<!-- memtree: begin").count(), 1, "{memory}");
    assert_eq!(memory.matches("- never rebase a shared branch (").count(), 1, "{memory}");
}

// --- Whatever happens ---

/// A memory without a program around it.
struct Memory {
    _folder: TempDir,
    store: Store,
}

impl Memory {
    fn new() -> Memory {
        // Where syncing costs nothing: many memories come and go here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        Memory { _folder: folder, store }
    }

    fn write(&self, digest: &Digest) {
        let path = self.store.layout().digest(&digest.session);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match fs::read_to_string(&path) {
            Ok(existing) => digest::text_over(&existing, digest),
            Err(_) => digest::text(digest),
        };
        fs::write(path, text).unwrap();
    }

    fn consolidate(&self) -> ConsolidateReport {
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let memory = open_at(self.store.layout().root(), "a", now);
        memory.consolidate(ConsolidateRequest::default()).unwrap()
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::of(self.store.layout().root());
        tree.0.retain(|path, _| !path.starts_with(".memtree"));
        tree
    }

    /// Every landmark that the cores hold, with its words, live or superseded.
    fn landmarks(&self) -> BTreeMap<LandmarkId, (String, bool)> {
        let mut found = BTreeMap::new();
        for id in core::core_ids(&self.store.layout().cores()) {
            let page =
                core::parse_core(&fs::read_to_string(self.store.layout().core(&id)).unwrap());
            for old in &page.superseded {
                assert!(!old.why.is_empty(), "{old:?}");
                found.insert(old.landmark.id.clone(), (old.landmark.text.clone(), false));
            }
            for landmark in page.landmarks {
                found.insert(landmark.id, (landmark.text, true));
            }
        }
        found
    }

    /// Takes over what another device has, as git does with `merge=union`.
    fn pull(&self, other: &Memory) {
        let (from, to) = (other.store.layout().cores(), self.store.layout().cores());
        fs::create_dir_all(&to).unwrap();
        let base = self.store.layout().root().join("base");
        fs::write(&base, "").unwrap();
        for entry in fs::read_dir(from).into_iter().flatten().flatten() {
            let path = to.join(entry.file_name());
            let theirs = fs::read_to_string(entry.path()).unwrap();
            match fs::read_to_string(&path) {
                Ok(ours) if ours == theirs => {}
                Ok(_) => {
                    let files = [path.as_path(), &base, &entry.path()];
                    let merge =
                        Command::new("git").args(["merge-file", "--union"]).args(files).status();
                    assert!(merge.unwrap().success());
                }
                Err(_) => fs::write(path, theirs).unwrap(),
            }
        }
        fs::remove_file(base).unwrap();
    }
}

fn digest(ordinal: u32, device: &str, claims: &[(u8, u8)], worth: Worth, version: i64) -> Digest {
    const SUBJECTS: &[&str] =
        &["the cache", "postgres", "the release notes", "tabs in makefiles", "`cargo fmt`"];
    const WORDS: &[&str] = &[
        "always use {}",
        "never use {}",
        "{} fails when offline",
        "use {} instead of sqlite",
        "use sqlite instead of {}",
    ];
    let stated = claims
        .iter()
        .map(|(what, subject)| {
            let (what, subject) = (
                usize::from(*what) % WORDS.len(),
                SUBJECTS[usize::from(*subject) % SUBJECTS.len()],
            );
            let (kind, origin) = match what {
                0 | 1 => (ClaimKind::Standing, Origin::User),
                2 => (ClaimKind::Lesson, Origin::Assistant),
                _ => (ClaimKind::Decision, Origin::User),
            };
            Claim { kind, text: WORDS[what].replace("{}", subject), episode: EpisodeId(1), origin }
        })
        .collect();
    let at = |seconds: i64| {
        memtree::internals::base::clock::from_millis((1_760_000_000 + seconds) * 1000)
    };
    let session = SessionId::new(Device::new(device), ordinal);
    Digest {
        source_id: format!("claude:{session}"),
        adopted_by: None,
        captured: at(i64::from(ordinal) * 600 + version).unwrap(),
        state: State::Closed,
        content: Content {
            flavor: "claude".into(),
            title: format!("Session {ordinal}"),
            status: Outcome::Success,
            worth,
            stated,
            project: Some("demo".into()),
            started: at(i64::from(ordinal) * 600),
            ended: at(i64::from(ordinal) * 600 + 60),
            episodes: Some((EpisodeId(1), EpisodeId(1))),
            turns: 1,
            made_by: "extractive/1".into(),
            ..Content::default()
        },
        snapshot: Snapshot {
            evicted: None,
            bytes: 0,
            files: 0,
            manifest_sha256: String::new(),
            manifest: Vec::new(),
        },
        session,
    }
}

/// Something that happens to a memory.
#[derive(Debug, Clone)]
enum Happening {
    /// A digest arrives, or is written anew.
    Digest {
        ordinal: u32,
        claims: Vec<(u8, u8)>,
        worth: bool,
    },
    Consolidate,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let claims = vec((any::<u8>(), any::<u8>()), 0..3);
    let digest = (0..20u32, claims, proptest::bool::weighted(0.85))
        .prop_map(|(ordinal, claims, worth)| Happening::Digest { ordinal, claims, worth });
    vec(prop_oneof![5 => digest, 1 => Just(Happening::Consolidate)], 0..40)
}

/// The sixteen digests that make two cores, in an order of their own.
fn all_of_them() -> impl Strategy<Value = Vec<(u32, Vec<(u8, u8)>)>> {
    vec(vec((any::<u8>(), any::<u8>()), 0..3), 16)
        .prop_map(|claims| (0..16u32).zip(claims).collect::<Vec<_>>())
        .prop_shuffle()
}

fn happen(
    memory: &Memory,
    happening: &Happening,
    at: usize,
    ever: &mut BTreeMap<LandmarkId, String>,
) {
    match happening {
        Happening::Digest { ordinal, claims, worth } => {
            let worth = if *worth { Worth::Full } else { Worth::None };
            memory.write(&digest(*ordinal, "a", claims, worth, at as i64));
        }
        Happening::Consolidate => {
            memory.consolidate();
        }
    }
    ever.extend(memory.landmarks().into_iter().map(|(id, (text, _))| (id, text)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_landmark_ever_written_is_still_there(happenings in happenings(), last in all_of_them()) {
        let memory = Memory::new();
        let mut ever = BTreeMap::new();
        for (ordinal, claims) in &last {
            memory.write(&digest(*ordinal, "a", claims, Worth::Full, 0));
        }
        for (at, happening) in happenings.iter().chain([&Happening::Consolidate]).enumerate() {
            happen(&memory, happening, at, &mut ever);
        }
        let now = memory.landmarks();
        for (id, text) in &ever {
            prop_assert_eq!(now.get(id).map(|(words, _)| words), Some(text), "{} is gone", id);
        }
        let before = memory.tree();
        fs::remove_dir_all(memory.store.layout().own()).unwrap();
        memory.consolidate();
        prop_assert!(before.difference(&memory.tree()).is_empty(), "{:?}", before.difference(&memory.tree()));
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(
        here in all_of_them(), there in all_of_them(), then in happenings(), pauses in vec(0..16usize, 0..4),
    ) {
        let (one, other) = (Memory::new(), Memory::new());
        let mut ever = BTreeMap::new();
        // Each device meets versions and orders of its own, and consolidates whenever it likes.
        for (at, (ordinal, claims)) in here.iter().enumerate() {
            one.write(&digest(*ordinal, "b", claims, Worth::Full, 0));
            if pauses.contains(&at) { one.consolidate(); }
        }
        for (at, happening) in then.iter().enumerate() {
            happen(&one, happening, at, &mut ever);
        }
        one.consolidate();
        for (ordinal, claims) in &there {
            other.write(&digest(*ordinal, "b", claims, Worth::Full, 0));
        }
        other.consolidate();
        ever.extend([&one, &other].iter().flat_map(|memory| memory.landmarks()).map(|(id, (text, _))| (id, text)));
        // Then both have the same digests, and each takes over what the other made of earlier ones.
        let mut last = there.clone();
        last.sort();
        for (ordinal, claims) in &last {
            for memory in [&one, &other] {
                for device in ["a", "b"] {
                    memory.write(&digest(*ordinal, device, claims, Worth::Full, 99));
                }
            }
        }
        one.pull(&other);
        one.consolidate();
        other.pull(&one);
        other.consolidate();
        one.consolidate();
        let core = |memory: &Memory| Tree::of(&memory.store.layout().cores());
        prop_assert!(core(&one).difference(&core(&other)).is_empty(), "{:?}", core(&one).difference(&core(&other)));
        let now = one.landmarks();
        let lost: BTreeSet<_> = ever.keys().filter(|id| !now.contains_key(*id)).collect();
        prop_assert!(lost.is_empty(), "{:?}", lost);
    }
}

#[test]
fn sixty_four_sessions_make_a_sphere_and_the_page_keeps_its_limits() {
    let memory = Memory::new();
    for ordinal in 0..64 {
        let mut digest = digest(ordinal, "a", &[(0, (ordinal % 3) as u8)], Worth::Full, 0);
        for n in 0..6 {
            // Six rules in each session that nobody else states: many more than the page has room
            // for.
            let words: String =
                (0..4).map(|at| format!(" word{}", ordinal * 100 + n * 10 + at)).collect();
            let claim = &digest.content.stated[0];
            digest
                .content
                .stated
                .push(Claim { text: format!("always keep{words}"), ..claim.clone() });
        }
        memory.write(&digest);
    }
    let report = memory.consolidate();
    assert_eq!((report.cores.len(), report.spheres.len()), (8, 1));
    let sphere =
        fs::read_to_string(memory.store.layout().sphere(&"a_SP1".parse().unwrap())).unwrap();
    assert!(
        sphere.contains(
            "**belief** always use the cache | confirmed 0.98, safety | 22 sessions, last "
        ),
        "{sphere}"
    );
    for core in "a_SP1".parse::<memtree::model::ids::SphereId>().unwrap().cores() {
        assert!(sphere.contains(&format!("- [{core}](CORE_{core}.md)")), "{sphere}");
    }
    let page = fs::read_to_string(memory.store.layout().memory_page()).unwrap();
    assert!(page.lines().count() <= memory::MOST_LINES, "{}", page.lines().count());
    assert!(page.len() <= memory::MOST_BYTES, "{}", page.len());
    assert!(report.left_out > 100, "{report:?}");
    let first = page.lines().find(|line| line.starts_with("- ")).unwrap();
    assert!(first.contains("22 sessions"), "the best supported come first: {first}");
    let landmarks = page.lines().filter(|line| line.starts_with("- "));
    assert!(landmarks.clone().count() > 150);
    for line in landmarks {
        assert_eq!(memory::leads_to(line).len(), 1, "{line}");
    }
}

#[test]
fn what_rested_on_a_forgotten_session_is_gone_in_words() {
    let memory = Memory::new();
    for ordinal in 0..8 {
        memory.write(&digest(ordinal, "a", &[(0, (ordinal == 3) as u8)], Worth::Full, 0));
    }
    memory.consolidate();
    let core = memory.store.layout().core(&"a_SP1C1".parse::<CoreId>().unwrap());
    assert!(fs::read_to_string(&core).unwrap().contains("always use postgres"));
    fs::remove_dir_all(memory.store.layout().session(&"SES4_a_SP1C1".parse().unwrap())).unwrap();
    fs::write(memory.store.layout().forgotten(), "- SES4_a_SP1C1\n").unwrap();
    memory.consolidate();
    for page in [
        fs::read_to_string(&core).unwrap(),
        fs::read_to_string(memory.store.layout().memory_page()).unwrap(),
    ] {
        assert!(!page.contains("postgres"), "{page}");
    }
    let page = fs::read_to_string(&core).unwrap();
    assert!(
        page.contains("(forgotten) |") && page.contains("it rested on a forgotten session"),
        "{page}"
    );
    assert!(page.contains("\n- SES4_a_SP1C1 · forgotten\n"), "{page}");
}

/// `cargo test --release --test it eight_hundred -- --ignored --nocapture`
#[test]
#[ignore = "measures; run it in release and alone"]
fn consolidating_eight_hundred_sessions_against_reading_their_digests() {
    let memory = Memory::new();
    for ordinal in 0..800 {
        let mut digest = digest(
            ordinal,
            "a",
            &[(0, (ordinal % 3) as u8), (2, (ordinal % 5) as u8)],
            Worth::Full,
            0,
        );
        // As long as an ordinary page.
        digest.content.triggers = (1..=10)
            .map(|n| memtree::model::digest::Trigger {
                topic: format!("Topic {n} of {ordinal}, what was asked for in a few words"),
                sentence: format!("Sentence {n} of {ordinal}, which says what came of it in the words of the agent"),
                episode: EpisodeId(n),
                path: String::new(),
                origin: Origin::Assistant,
                keys: (0..20).map(|key| format!("key_{ordinal}_{n}_{key}")).collect(),
            })
            .collect();
        memory.write(&digest);
    }
    let ids = memory.store.session_ids().unwrap();
    let began = std::time::Instant::now();
    assert!(ids.iter().all(|id| memory.store.digest(id).unwrap().is_some()));
    let reading = began.elapsed();
    let began = std::time::Instant::now();
    assert_eq!(memory.consolidate().cores.len(), 100);
    let consolidating = began.elapsed();
    let began = std::time::Instant::now();
    assert!(memory.consolidate().cores.is_empty());
    let again = began.elapsed();
    let ratio = consolidating.as_secs_f64() / reading.as_secs_f64();
    println!(
        "reading {reading:?}, consolidating {consolidating:?} ({ratio:.2} times), again {again:?}"
    );
    assert!(ratio < 2.0, "{ratio}");
}

#[test]
fn a_command_that_passed_counts_where_its_session_is_worth_remembering() {
    let memory = Memory::new();
    let passed = |command: &str| Claim {
        kind: ClaimKind::Standing,
        text: format!("Checks that passed here: `{command}`"),
        episode: EpisodeId(1),
        origin: Origin::Tool,
    };
    for ordinal in 0..8 {
        let worth = if ordinal < 2 { Worth::None } else { Worth::Full };
        let mut digest = digest(ordinal, "a", &[], worth, 0);
        match ordinal {
            0 | 1 => digest.content.stated = vec![passed("just test")],
            // It ended well and with a commit, so one session is enough.
            2 => {
                digest.content.stated = vec![passed("just lint")];
                digest.content.commits = vec!["0a1b2c3".into()];
                digest.content.status = memtree::model::digest::Outcome::Success;
            }
            3 => {
                digest.content.stated = vec![passed("just guess")];
                digest.content.commits = Vec::new();
            }
            _ => {}
        }
        memory.write(&digest);
    }
    memory.consolidate();
    let page = fs::read_to_string(memory.store.layout().memory_page()).unwrap();
    assert!(page.contains("- Checks that pass here: `just lint` ("), "{page}");
    assert!(!page.contains("just guess") && !page.contains("just test"), "{page}");
}
