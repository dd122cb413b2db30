//! Seeds, bent in many ways: whatever comes in, nothing panics, and what is parsed and written
//! again is the same.
//!
//! The seeds are the fixtures of every adapter and `tests/fuzz/`. Each run bends a seed by a few
//! blows that logs really suffer (cut, torn, doubled, glued, filled with NULs, a byte flipped) or
//! that an attacker would try (numbers and brackets put in). The same numbers always make the same
//! blows, so a failure can be repeated. `MEMTREE_FUZZ_RUNS` says how many runs each seed gets; the
//! default keeps CI short.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use memtree::Result;
use memtree::internals::adapters::shared::SharedFiles;
use memtree::internals::adapters::{self};
use memtree::internals::base::front_matter::Document;
use memtree::internals::base::redact::Redactor;
use memtree::internals::base::{markdown, text};
use memtree::internals::query::Query;
use memtree::internals::settings::{Layers, Settings};
use memtree::internals::store::digest;
use memtree::internals::store::layout::Layout;
use memtree::internals::store::snapshots::parse_manifest_line;
use memtree::internals::store::tombstones::{self, Tombstone, Tombstones};
use memtree::model::day::Line as DayLine;
use memtree::model::ids::{Device, SessionId};
use memtree::model::session::{Event, EventSink, Log, LogFile, Role};

use crate::harness::checkout;

fn runs() -> u64 {
    std::env::var("MEMTREE_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(12)
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit.max(1) as u64) as usize
    }
}

/// What an attacker, or a bug of an agent, puts in.
const INSERTS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\n",
    b"\r\n",
    b"\0",
    b"null",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"---\n",
    b"## ",
    b"```",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xe2\x80\xae",
    b"../../",
    b"<script>",
    b"EP_999",
    b"SES9_x_SP1C1",
    b"&a *a",
    b"2026-13-45T99:99:99Z",
    b"0000-00-00T00:00:00Z",
    b"{\"type\":[]}",
    b": ",
    b"- ",
];

fn bent(seed: &[u8], number: u64) -> Vec<u8> {
    let mut dice = Dice(number);
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.below(4) {
        let (from, length) = (dice.below(bytes.len() + 1), dice.below(64));
        let to = (from + length).min(bytes.len());
        match dice.below(8) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => bytes[from..to].fill(0),
            3 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(to..to, part);
            }
            4 | 5 => {
                drop(bytes.splice(from..from, INSERTS[dice.below(INSERTS.len())].iter().copied()))
            }
            6 => {
                // Two lines are glued together.
                if let Some(at) = bytes[from..].iter().position(|byte| *byte == b'\n') {
                    bytes.remove(from + at);
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte ^= 1 << dice.below(8);
                }
            }
        }
    }
    bytes
}

/// Tries a seed in many forms; a failure names the seed and the number.
fn each_bent(path: &Path, each: impl Fn(&[u8])) -> u64 {
    let seed = fs::read(path).unwrap();
    let name = path.strip_prefix(checkout()).unwrap_or(path).display().to_string();
    for number in 0..runs() {
        let bytes = if number == 0 { seed.clone() } else { bent(&seed, number) };
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| each(&bytes)));
        assert!(
            tried.is_ok(),
            "{name}, number {number}, bent as {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    runs()
}

fn seeds(folder: &str) -> Vec<PathBuf> {
    let entries =
        walkdir::WalkDir::new(checkout().join(folder)).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file()).map(|entry| entry.into_path());
    let seeds: Vec<PathBuf> = files.collect();
    assert!(!seeds.is_empty(), "{folder} has no seeds");
    seeds
}

/// Takes events and remembers what they were, as one number.
#[derive(Default)]
struct Told(DefaultHasher, u64);

impl EventSink for Told {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        format!("{event:?}").hash(&mut self.0);
        self.1 += 1;
        Ok(())
    }
}

#[test]
fn every_adapter_reads_whatever_a_log_has_become() {
    let mut tried = 0;
    let folder = tempfile::tempdir().unwrap();
    for adapter in adapters::ALL {
        let home = format!("tests/fixtures/{}", adapter.name());
        let logs = seeds(&home);
        let is_log =
            |path: &&PathBuf| !path.ends_with("README.md") && !path.ends_with("session.md");
        for seed in logs.iter().filter(is_log) {
            // Some agents are told by where their logs lie.
            let path = folder.path().join(seed.strip_prefix(checkout()).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            tried += each_bent(seed, |bytes| {
                fs::write(&path, bytes).unwrap();
                read_all(&path);
            });
            fs::remove_file(&path).unwrap();
        }
    }
    eprintln!("{tried} bent logs were read");
}

fn read_all(path: &Path) {
    let read = |adapter: &dyn adapters::Adapter, native_id: String, path: PathBuf| {
        let file =
            LogFile { path, name: "log".into(), role: Role::Main, within: None, child: None };
        let log = Log { native_id, files: vec![file] };
        let read = || {
            let mut told = Told::default();
            let head = adapter.read(&log, &mut told);
            (head, told.0.finish(), told.1)
        };
        let (first, second) = (read(), read());
        assert_eq!((first.1, first.2), (second.1, second.2), "the same log tells the same");
        // An unusable log is an error, and that is an answer.
        let Ok(head) = first.0 else { return };
        let lines =
            fs::read(&log.files[0].path).unwrap().split(|byte| *byte == b'\n').count() as u64;
        for skipped in &head.skipped {
            assert_eq!(skipped.path, log.files[0].path, "what could not be read is named");
            // What is packed, or is no log of lines, counts in its own way.
            let is_plain =
                log.files[0].path.extension().is_some_and(|extension| extension == "jsonl");
            assert!(
                !is_plain || skipped.line <= lines,
                "line {} of {lines}: {}",
                skipped.line,
                skipped.reason
            );
            assert!(!skipped.reason.is_empty());
        }
    };
    match adapters::recognize(path) {
        Ok(Some((adapter, identity))) => read(adapter, identity.native_id, path.to_path_buf()),
        Ok(None) => {
            let shared = SharedFiles::with_temporary_copies();
            let Ok(Some((adapter, sessions))) = shared.list(path) else { return };
            for session in sessions.into_iter().take(3) {
                let mut extract = tempfile::NamedTempFile::new().unwrap();
                if shared.extract(path, &session.native_id, &mut extract).is_ok() {
                    read(adapter, session.native_id, extract.path().to_path_buf());
                }
            }
        }
        Err(_) => {}
    }
}

#[test]
fn front_matter_is_written_back_as_it_was() {
    for seed in seeds("tests/fuzz/front_matter").iter().chain(&seeds("tests/fuzz/digest")) {
        each_bent(seed, |bytes| {
            let page = String::from_utf8_lossy(bytes);
            let mut document = Document::parse(&page);
            assert_eq!(document.to_text(), page);
            for key in ["title", "tags", "list", "manifest", "a"] {
                let _ =
                    (document.get_str(key), document.get_list(key), document.get(key).is_some());
            }
            let body = document.body().to_string();
            document.set("memtree", "set");
            assert_eq!(document.get_str("memtree").as_deref(), Some("set"), "{page:?}");
            assert_eq!(
                Document::parse(&document.to_text()).get_str("memtree").as_deref(),
                Some("set"),
                "{page:?}"
            );
            assert!(document.to_text().ends_with(&body), "{page:?}");
        });
    }
}

#[test]
fn a_digest_is_parsed_or_refused() {
    for seed in seeds("tests/fuzz/digest") {
        each_bent(&seed, |bytes| {
            let page = String::from_utf8_lossy(bytes);
            page.lines().for_each(|line| drop(digest::parse_trigger(line)));
            if let Ok(digest) = digest::parse(&page) {
                // What was parsed can be written and parsed again, over the page that it came from.
                let text = digest::text_over(&page, &digest);
                assert_eq!(
                    digest::text_over(&text, &digest),
                    text,
                    "writing twice changes nothing: {page:?}"
                );
                // In our own form it is read back as the same, and written as the same.
                let ours = digest::parse(&digest::text(&digest)).expect("our own page");
                let again = digest::parse(&digest::text(&ours)).expect("our own page");
                assert_eq!(again, ours, "{page:?}");
                assert_eq!(ours.session, digest.session);
                assert_eq!(
                    ours.snapshot.manifest_sha256, digest.snapshot.manifest_sha256,
                    "{page:?}"
                );
            }
        });
    }
}

#[test]
fn a_query_is_understood_or_refused() {
    for seed in seeds("tests/fuzz/query") {
        each_bent(&seed, |bytes| {
            let typed = String::from_utf8_lossy(bytes);
            if let Ok(query) = Query::parse(&typed) {
                assert_eq!(
                    Query::parse(&typed).as_ref().ok(),
                    Some(&query),
                    "the same words mean the same"
                );
                assert!(Query::parse(&query.text).is_ok(), "{typed:?}");
                // Nothing is looked for that was not typed.
                let asked = query.words.iter().chain(&query.phrases).chain(&query.excluded);
                for word in asked.chain(query.filters.iter().map(|filter| &filter.value)) {
                    assert!(
                        squeezed(&typed).contains(&squeezed(word)),
                        "{word:?} is not in {typed:?}"
                    );
                }
            }
            let mut words = 0;
            text::each_word(&typed, |_| words += 1);
        });
    }
}

/// A text without white space, in small letters.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Tombstones that were there are there still, whatever was done to the list around them.
#[test]
fn the_list_of_what_was_forgotten_only_grows() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
    let seeds = seeds("tests/fuzz/lines");
    let day = chrono::NaiveDate::from_ymd_opt(2026, 11, 17).unwrap();
    for seed in seeds.iter().filter(|seed| seed.ends_with("forgotten.md")) {
        each_bent(seed, |bytes| {
            fs::write(layout.forgotten(), bytes).unwrap();
            let Ok(before) = Tombstones::load(&layout) else { return };
            let session: SessionId = "SES7_bent_SP3C2".parse().unwrap();
            let stone = Tombstone {
                session: Some(session.clone()),
                source_id: Some("claude:bent".into()),
                on: day,
            };
            tombstones::add(&layout, &[stone], &Device::new("bent")).unwrap();
            let after = Tombstones::load(&layout).unwrap();
            assert!(after.has_session(&session) && after.has_source("claude:bent"));
            assert!(before.sessions().all(|session| after.has_session(session)));
        });
    }
}

#[test]
fn lines_settings_and_markdown_of_any_kind_are_taken() {
    let redactor = Redactor::new();
    for seed in seeds("tests/fuzz") {
        each_bent(&seed, |bytes| {
            let page = String::from_utf8_lossy(bytes);
            page.lines().for_each(|line| drop(parse_manifest_line(line)));
            for (line, told) in page.lines().filter_map(|line| Some((line, DayLine::parse(line)?)))
            {
                assert!(
                    line.contains(told.time)
                        && line.contains(told.session)
                        && line.contains(told.text),
                    "{line:?}"
                );
            }
            let memory = Some((Path::new("memtree.toml"), page.as_ref()));
            let _ = Settings::load(&Layers { memory, ..Layers::default() });
            let redacted = redactor.redact(&page);
            assert_eq!(
                redactor.redact(&redacted),
                redacted,
                "redacting twice changes nothing: {page:?}"
            );
            let line = markdown::inline(&page);
            assert!(!line.contains('\n'), "{line:?}");
            let quote = markdown::quoted(&page, 1 << 20);
            assert!(quote.lines().all(|line| line.starts_with('>')), "{quote:?}");
            let is_html = |event| {
                matches!(
                    event,
                    pulldown_cmark::Event::Html(_) | pulldown_cmark::Event::InlineHtml(_)
                )
            };
            assert!(!pulldown_cmark::Parser::new(&quote).any(is_html), "{quote:?}");
        });
    }
}
