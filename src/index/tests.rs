//! Finding, in a memory of our own making.

use std::fs;

use super::matcher::PartScore;
use super::*;
use crate::base::clock;
use crate::model::digest::{Digest, Outcome, Worth};
use crate::model::ids::Device;
use crate::store::digest;

/// A memory with thirty sessions about nothing much, and a few that are looked for.
struct Desk {
    _folder: tempfile::TempDir,
    store: Store,
}

fn id(ordinal: u32) -> SessionId {
    SessionId::new(Device::new("desk"), ordinal)
}

fn digest(ordinal: u32) -> Digest {
    let text = format!(
        "---\nschema: memtree/digest/1\nsession: {}\nsource_id: \"claude:{ordinal}\"\nflavor: claude\n\
        title: Tidy up shed number {ordinal}\nstatus: success\nworth: full\nobjective: tidy up\nproject: garden\n\
        ended: 2026-10-{:02}T10:00:00Z\nfiles: [garden/shed_{ordinal}.md]\ntags: [chores]\n---\n\
        - **Core Intent**: a tidy shed\n\
        - [Chore {ordinal}]: looked after it -> Trigger reference: [EP_001](snapshot/episodic/EP_001.md) | user \
        | keys: paint, shelf{ordinal}\n",
        id(ordinal),
        ordinal % 28 + 1
    );
    digest::parse(&text).unwrap()
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let desk = Desk { _folder: folder, store };
        for ordinal in 0..30 {
            let mut digest = digest(ordinal);
            let content = &mut digest.content;
            match ordinal {
                3 => {
                    content.title = "Make appends to the day log safe under two writers".into();
                    content.project = Some("Zubot".into());
                    content.files = vec!["src/day.rs".into(), "tests/day_lock.rs".into()];
                    content.triggers[0].topic = "Lock before header".into();
                    content.triggers[0].sentence =
                        "two writers both saw no file; the header write erased an append".into();
                    content.triggers[0].keys =
                        vec!["flock".into(), "header race".into(), "append_daily".into()];
                    content.ended = clock::parse("2026-11-15T14:52:31Z");
                }
                4 => {
                    content.title = "Retry the upload".into();
                    content.status = Outcome::Fail;
                    content.flavor = "codex".into();
                    content.tags = vec!["Uploads".into()];
                    content.triggers[0].keys =
                        vec!["retry_backoff".into(), "HashMap".into(), "ECONNRESET".into()];
                }
                5 => content.triggers[0].sentence = "修复数据库连接超时的问题".into(),
                6 => content.triggers[0].sentence = "แก้ไขฐานข้อมูลที่เชื่อมต่อไม่ได้".into(),
                7 => content.triggers[0].sentence = "데이터베이스를 고쳤다".into(),
                8 => content.worth = Worth::None,
                _ => {}
            }
            if ordinal == 8 {
                content.title = "Hello zanzibar".into();
            }
            desk.write(&digest.session, &digest::text(&digest));
        }
        desk
    }

    fn write(&self, id: &SessionId, text: &str) {
        fs::create_dir_all(self.store.layout().session(id)).unwrap();
        fs::write(self.store.layout().digest(id), text).unwrap();
    }

    fn found(&self, query: &str) -> SearchResult<Hit> {
        let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
        Index::open(&self.store, Corpus::Digests, Source::Refreshed)
            .unwrap()
            .search(&Query::parse(query).unwrap(), now, 10)
            .unwrap()
    }

    fn hits(&self, query: &str) -> Vec<Hit> {
        self.found(query).hits
    }

    /// The running number of the best hit.
    fn best(&self, query: &str) -> Option<u32> {
        self.hits(query).first().map(|hit| hit.session.ordinal)
    }
}

#[test]
fn words_of_every_kind_find_their_session() {
    let desk = Desk::new();
    for (query, expect) in [
        ("flock", 3),
        ("header race", 3),
        ("what did we do about two writers appending to the day log?", 3),
        ("append_daily", 3),
        ("daily append", 3),
        ("src/day.rs", 3),
        ("day.rs", 3),
        ("day_lock", 3),
        ("erasing headers", 3),
        ("retry backoff", 4),
        ("hashmap", 4),
        ("econnreset", 4),
        ("数据库", 5),
        ("连接超时", 5),
        ("ฐานข้อมูล", 6),
        ("데이터베이스", 7),
        ("flokc", 3),
        ("uplaod", 4),
        ("shed_17", 17),
        ("claude:21", 21),
        ("SES4_desk_SP1C1", 3),
    ] {
        let query = query.replace("claude:21", "\"claude:21\"");
        assert_eq!(desk.best(&query), Some(expect), "{query}");
    }
}

#[test]
fn a_hit_explains_itself() {
    let desk = Desk::new();
    let hit = &desk.hits("header race flock")[0];
    assert_eq!(hit.path, "sessions/SES4_desk_SP1C1/SES4_desk_SP1C1_DIGEST.md");
    assert_eq!(hit.triggers[0].path, "sessions/SES4_desk_SP1C1/snapshot/episodic/EP_001.md");
    assert_eq!(hit.reason, "trigger “Lock before header”: header, flock, race");
    assert!(hit.excerpt.contains("header write erased"), "{hit:?}");
    assert!(!hit.weak && hit.rank == 1);
    let json = serde_json::to_value(hit).unwrap();
    assert_eq!(
        (json["triggers"][0]["episode"].as_str(), json["ended"].as_str()),
        (Some("EP_001"), Some("2026-11-15T14:52:31Z"))
    );
}

/// The best part of a page by its text, word by word, and what its best parts give.
fn best_part_by_text(matcher: &Matcher, page: &DigestPage) -> (PartScore, f32) {
    let texts = |trigger: &crate::model::digest::Trigger| {
        [vec![trigger.topic.clone(), trigger.sentence.clone()], trigger.keys.clone()].concat()
    };
    let mut parts: Vec<Vec<String>> = page.triggers.iter().map(texts).collect();
    let passages: Vec<String> = page.passages.iter().map(|passage| passage.text.clone()).collect();
    parts.push(vec![page.head.title.clone()]);
    parts.extend(passages.iter().map(|passage| vec![passage.clone()]));
    parts.push(page.head.files.clone());
    let count = parts.len();
    parts.push([vec![page.head.title.clone()], passages, page.head.files.clone()].concat());
    let scores = parts.iter().map(|part| {
        let mut counts = matcher.no_counts();
        part.iter().for_each(|text| matcher.count(text, &mut counts));
        matcher.part_score(&counts)
    });
    rescore::best_of(scores, count)
}

#[test]
fn parts_are_scored_from_the_index_as_from_the_page() {
    let desk = Desk::new();
    let path = desk.store.layout().digest(&id(11));
    let text = fs::read_to_string(&path).unwrap();
    // A form of a word that is also its first part; the same word in keys of every weight and in
    // other parts.
    let more = "- [LockIng]: lock the locks -> Trigger reference: [EP_002](snapshot/episodic/EP_002.md) | user | keys: \
        lock, day.rs, src/lock.rs, Locked, 数据库锁, lock lock, 锁\nlocks of the shed\n";
    fs::write(&path, text + more).unwrap();
    let index = Index::open(&desk.store, Corpus::Digests, Source::Refreshed).unwrap();
    let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
    for query in [
        "lock",
        "locks in day.rs",
        "数据库锁 shed",
        "src/day.rs header race",
        "erased uplaod",
        "chore paint",
    ] {
        let query = Query::parse(query).unwrap();
        let search = index.plan(std::slice::from_ref(&query), now).unwrap();
        let plan = &search.phrasings[0].plan;
        let matcher = Matcher::new(&plan.terms);
        let (candidates, total) = index.rescore(&search.phrasings[0], now, &[], 100).unwrap();
        assert!(total > 0 && total == candidates.len());
        let whole = matches::matches(&index.searcher, &query, plan, now, &[]).unwrap();
        for candidate in candidates {
            let page = DigestPage::read(&desk.store, &candidate.name).unwrap();
            let (best_part, by_parts) = best_part_by_text(&matcher, &page);
            let mut all = matcher.no_counts();
            page.texts(&candidate.name).for_each(|text| matcher.count(text, &mut all));
            let present: Vec<bool> = all.counts.iter().map(|count| *count > 0).collect();
            let expected = (best_part.weight, matcher.covered(&present), plan.query_weight);
            let Evidence { part, page: all, asked, .. } = candidate.evidence;
            assert_eq!((part, all, asked), expected, "{query:?} {}", candidate.name);
            let recency = bm25::recency(page.head.ended.map(|at| at.timestamp()));
            let title = matcher.match_texts([&page.head.title]).counts;
            let share =
                matcher.part_score(&title).weight.min(plan.query_weight) / plan.query_weight;
            let by_title = bm25::by_title(share, matcher.is_all_of(&title));
            let without_pairs = |whole: f32| {
                bm25::whole_and_part(whole, by_parts * recency) * by_title * bm25::boost(0.0, 0.0)
            };
            // Words that stand together add up to as much again.
            let most = bm25::by_pairs(1.0);
            let fits = |one: f32| (1.0..=most).contains(&(candidate.score / without_pairs(one)));
            assert!(whole.iter().any(|one| fits(one.score)), "{query:?} {}", candidate.name);
        }
    }
}

#[test]
fn several_phrasings_are_joined() {
    let desk = Desk::new();
    let index = Index::open(&desk.store, Corpus::Digests, Source::Refreshed).unwrap();
    let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
    let ask = |text: &str, also: &[&str]| -> Vec<Hit> {
        let also: Vec<String> = also.iter().map(|text| text.to_string()).collect();
        let phrasings = Query::parse(text).unwrap().phrasings(&also);
        index.search_phrasings(&phrasings, now, 10).unwrap().hits
    };
    let vague = "the chore where something important got lost";
    assert_ne!(ask(vague, &[]).first().map(|hit| hit.session.ordinal), Some(3));
    let hits = ask(vague, &["header race", "append_daily flock"]);
    assert_eq!(hits[0].session.ordinal, 3);
    assert_eq!(hits[0].found_by, ["header race", "append_daily flock"]);
    assert_eq!(hits[0].triggers[0].topic, "Lock before header");
    // What was asked for is what is lacking, not what it was also called.
    let hits = ask("flock on Kubernetes", &["header race"]);
    assert_eq!(hits[0].lacks, ["Kubernetes"]);
    let sure = ask("header race", &[])[0].confidence;
    assert!(sure > 0.9 && hits[0].confidence < sure - 0.3 && hits[0].weak, "{:?}", hits[0]);
    // The same words twice change nothing.
    let scores = |also: &[&str]| -> Vec<f64> {
        ask("header race", also).iter().map(|hit| hit.score).collect()
    };
    assert_eq!(scores(&[]), scores(&["header race", ""]));
}

#[test]
fn filters_phrases_and_exclusions_narrow() {
    let desk = Desk::new();
    let count = |query: &str| desk.found(query).total;
    assert_eq!(
        (count("project:zubot"), count("-project:garden"), count("project:zubot project:garden")),
        (1, 1, 30)
    );
    assert_eq!((count("flavor:codex"), count("status:fail"), count("tag:uploads")), (1, 1, 1));
    assert_eq!(
        (count("file:src/day.rs"), count("file:day.rs"), count("file:day"), count("file:src/shed")),
        (1, 1, 1, 0)
    );
    assert_eq!(
        (count("since:2026-11-15"), count("since:2d"), count("before:2026-11-15")),
        (1, 1, 29)
    );
    assert_eq!(
        (count("\"two writers\""), count("\"writers two\""), count("\"数据库\"")),
        (1, 0, 1)
    );
    assert_eq!(
        (count("shed"), count("shed -paint"), count("paint -\"retry backoff\"")),
        (30, 2, 28)
    );
    assert_eq!(desk.best("shed project:zubot"), Some(3));
}

#[test]
fn guesses_are_weak_and_unknown_words_named() {
    let desk = Desk::new();
    let found = desk.found("shed kubernetes ingress timeout");
    assert!(found.hits.iter().all(|hit| hit.weak), "{found:?}");
    assert_eq!(found.unknown.len(), 3);
    assert_eq!(desk.found("xylophone").total, 0);
    assert!(!desk.hits("flock")[0].weak && !desk.hits("flokc")[0].weak);
}

#[test]
fn what_lacks_a_name_is_a_guess_and_counts_less() {
    let desk = Desk::new();
    // The same words, one of them asked for by name.
    assert!(!desk.hits("which header write erased an append, of two writers")[0].weak);
    let hits = desk.hits("which header write erased an append of two Kafka writers");
    assert!(hits[0].session.ordinal == 3 && hits.iter().all(|hit| hit.weak), "{hits:?}");
    assert!(!desk.hits("the ECONNRESET and the HashMap when we retry")[0].weak);
    let score = |query: &str| desk.hits(query)[0].score;
    assert!(score("tidy up of Mombasa") < score("tidy up of mombasa"));
    // A slip in a name is no other name.
    assert!(desk.hits("the Shelff12 chore in the garden")[0].lacks.is_empty());
    assert!(!desk.hits("the Shelff12 chore")[0].weak);
}

#[test]
fn sessions_of_the_time_that_is_named_come_first() {
    let desk = Desk::new();
    assert_eq!(desk.best("tidy shed on 3 October 2026"), Some(2));
    assert_eq!(desk.best("what did we append yesterday?"), Some(3));
    assert!(
        !desk.hits("two writers on 15 November")[0].weak,
        "the date is no word that has to be there"
    );
}

#[test]
fn everyday_words_count_little() {
    let desk = Desk::new();
    let path = desk.store.layout().digest(&id(12));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "who made which way first, as people like it\n").unwrap();
    assert_eq!(desk.best("which people made the first retry"), Some(4));
}

#[test]
fn the_latest_sessions_of_a_project_come_first() {
    let desk = Desk::new();
    assert!(
        Index::open(&desk.store, Corpus::Digests, Source::Cached).is_err(),
        "there is no index yet"
    );
    desk.hits("shed");
    let index = Index::open(&desk.store, Corpus::Digests, Source::Cached).unwrap();
    let latest = |project: &str, limit| -> Vec<u32> {
        index.latest(project, limit).unwrap().iter().map(|session| session.ordinal).collect()
    };
    assert_eq!(latest("zubot", 5), [3]);
    assert_eq!(latest("GARDEN", 3), [27, 26, 25]);
    assert_eq!(latest("nowhere", 3), [0u32; 0]);
}

#[test]
fn what_is_not_worth_remembering_is_a_guess_at_best() {
    let desk = Desk::new();
    let hits = desk.hits("zanzibar");
    assert_eq!(
        hits.iter().map(|hit| (hit.session.ordinal, hit.weak)).collect::<Vec<_>>(),
        [(8, true)]
    );
    assert!(desk.hits("flock").iter().all(|hit| !hit.weak));
}

#[test]
fn an_edit_is_found_by_the_next_search() {
    let desk = Desk::new();
    assert_eq!(desk.best("wheelbarrow"), None);
    let path = desk.store.layout().digest(&id(9));
    let text = fs::read_to_string(&path).unwrap();
    // In place, and of the same length.
    fs::write(&path, text.replace("tidy shed", "wheelbarr")).unwrap();
    assert_eq!(desk.best("wheelbarr"), Some(9));
    // By rename, as editors do.
    let aside = path.with_extension("new");
    fs::write(&aside, text + "my wheelbarrow\n").unwrap();
    fs::rename(&aside, &path).unwrap();
    assert_eq!((desk.best("wheelbarrow"), desk.found("wheelbarr").unknown.len()), (Some(9), 1));
    // With an older date, and of the same length.
    let (text, before) =
        (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    fs::write(&path, text.replace("wheelbarrow", "wateringcan")).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before - std::time::Duration::from_secs(9)).unwrap();
    assert_eq!((desk.best("wateringcan"), desk.best("wheelbarrow")), (Some(9), None));
    fs::write(&path, text).unwrap();
    assert_eq!(desk.best("wheelbarrow"), Some(9));
    fs::remove_file(&path).unwrap();
    assert_eq!(desk.best("wheelbarrow"), None);
    desk.write(&id(40), "---\ntitle: [broken\nwheelbarrow\n");
    let hit = &desk.hits("wheelbarrow")[0];
    assert_eq!((hit.session.ordinal, hit.title.as_str()), (40, "SES1_desk_SP1C6"));
}

#[test]
fn the_cache_can_be_thrown_away() {
    let desk = Desk::new();
    let queries = ["shed", "header race", "tidy uplaod", "garden shelf7 数据库", "project:garden"];
    desk.hits("shed");
    // A history of changes, which a fresh index does not have.
    for ordinal in 10..20 {
        let path = desk.store.layout().digest(&id(ordinal));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}a note on header paint number {ordinal}\n")).unwrap();
        desk.hits("shed");
    }
    fs::remove_file(desk.store.layout().digest(&id(20))).unwrap();
    let before: Vec<Vec<Hit>> = queries.iter().map(|query| desk.hits(query)).collect();
    fs::remove_dir_all(desk.store.layout().cache()).unwrap();
    let after: Vec<Vec<Hit>> = queries.iter().map(|query| desk.hits(query)).collect();
    assert_eq!(before, after);
    let index = Index::open(&desk.store, Corpus::Digests, Source::InMemory).unwrap();
    let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
    assert_eq!(index.search(&Query::parse("shed").unwrap(), now, 10).unwrap().hits, before[0]);
}

#[test]
fn a_damaged_cache_heals() {
    let desk = Desk::new();
    let hits = desk.hits("header race shed");
    let cache = desk.store.layout().index();
    let files = || -> Vec<_> {
        let walked = crate::base::files::walk_files(&cache).flatten();
        walked
            .map(|found| found.path)
            .filter(|path| path.extension().is_none_or(|ending| ending != "lock"))
            .collect()
    };
    for number in 0..files().len() {
        for damage in
            [|_: Vec<u8>| Vec::new(), |bytes: Vec<u8>| bytes.iter().map(|byte| !byte).collect()]
        {
            let Some(path) = files().into_iter().nth(number) else { continue };
            fs::write(&path, damage(fs::read(&path).unwrap())).unwrap();
            assert_eq!(desk.hits("header race shed"), hits, "{}", path.display());
        }
    }
    for path in files() {
        fs::remove_file(&path).ok();
        assert_eq!(desk.hits("header race shed"), hits, "{}", path.display());
    }
    fs::write(cache.join("CURRENT"), "memtree/index/0 g1\n").unwrap();
    assert_eq!(desk.hits("header race shed"), hits);
}

#[test]
fn a_search_does_not_wait_for_another_refresh() {
    let desk = Desk::new();
    assert_eq!(desk.best("flock"), Some(3));
    let _refreshing = Cache::of(&desk.store, Corpus::Digests).lock().unwrap();
    assert_eq!(desk.best("flock"), Some(3));
}
