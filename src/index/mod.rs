//! The index: finds sessions by what their digests say, from a cache that can be thrown away.
//!
//! Every search first compares the tree with the cache and reads again what changed, so an edit made with any
//! editor is found by the next search. A cache that is missing, older or damaged is made anew without a word;
//! one that cannot be written is made in working memory.

use std::collections::HashSet;

use tantivy::schema::Value;
use tantivy::{ReloadPolicy, Searcher, TantivyDocument};

use crate::base::clock::{self, Timestamp};
use crate::error::{Error, Result};
use crate::model::ids::SessionId;
use crate::model::query::{FilterKey, Hit, NoteHit, Passage, Query, Tree};
use crate::store::Store;

mod cache;
mod changes;
mod closer;
mod deep;
mod document;
mod hits;
mod latest;
mod matches;
mod names;
mod notes;
mod page;
mod rank;
mod related;
mod sheet;
mod words;

pub use cache::Refreshed;

use cache::Cache;
use closer::CloserLook;
use document::{Fields, Shelf};
use hits::Finder;
use matches::Plan;
use names::Names;
use page::Page;

/// An index that is open for searching.
pub struct Index<'s> {
    store: &'s Store,
    searcher: Searcher,
}

/// What a search found.
#[derive(Debug)]
pub struct Found<Hit> {
    /// The best hits, best first.
    pub hits: Vec<Hit>,
    /// How many sessions, or pages, have to do with the query at all.
    pub total: usize,
    /// Words of the query that nothing has, with those that were taken instead.
    pub unknown: Vec<(String, Vec<String>)>,
    /// The weight of all that was asked for: scores of different indexes compare by their share of it.
    pub asked: f64,
}

/// A document that was looked at closely.
struct Close {
    score: f32,
    /// Whether it is only a guess.
    weak: bool,
    /// The session, or the path of the page.
    name: String,
    /// The line that a section begins at.
    line: usize,
}

/// A session that is a hit.
struct Ranked {
    score: f32,
    weak: bool,
    session: SessionId,
    page: Page,
}

/// Brings the cache of a memory up to date, waiting for whoever else is at it.
pub fn refresh(store: &Store) -> Result<Refreshed> {
    let cache = Cache::of(store, Shelf::Digests);
    let refreshed = cache.lock().map_err(Into::into).and_then(|lock| cache.refresh(&lock));
    refreshed.map(|(_, refreshed)| refreshed).map_err(|reason| {
        Error::new("cannot write the search cache")
            .because(reason)
            .hint("search works without it, only slower; check that `.memtree/cache` can be written")
    })
}

impl<'s> Index<'s> {
    /// Opens the index of a memory's digests as the tree is now. While another process brings it up to date, as it
    /// was: a search waits for nobody.
    pub fn open(store: &'s Store) -> Result<Index<'s>> {
        Index::of_shelf(store, Shelf::Digests)
    }

    /// Opens the index of all other pages.
    pub fn notes(store: &'s Store) -> Result<Index<'s>> {
        Index::of_shelf(store, Shelf::Notes)
    }

    fn of_shelf(store: &'s Store, shelf: Shelf) -> Result<Index<'s>> {
        let cache = Cache::of(store, shelf);
        let index = match cache.try_lock() {
            Ok(Some(lock)) => cache.refresh(&lock).map(|(index, _)| index),
            Ok(None) => cache.open(),
            Err(err) => Err(err.into()),
        };
        match index.ok().and_then(|index| Index::over(store, &index).ok()) {
            Some(index) => Ok(index),
            // A memory that cannot be written, a full disk, or another process that is just making the first index.
            None => Index::made_in_memory(store, shelf),
        }
    }

    /// Opens the index as it was left, without a look at the tree and without waiting: for whoever has only
    /// milliseconds. `None` where there is none, or where it is damaged.
    pub fn cached(store: &'s Store) -> Option<Index<'s>> {
        Index::as_left(store, Shelf::Digests)
    }

    /// The same for all other pages.
    pub fn notes_cached(store: &'s Store) -> Option<Index<'s>> {
        Index::as_left(store, Shelf::Notes)
    }

    fn as_left(store: &'s Store, shelf: Shelf) -> Option<Index<'s>> {
        Index::over(store, &Cache::of(store, shelf).open_as_left().ok()?).ok()
    }

    /// Makes an index of the digests in working memory and leaves the disk alone.
    pub fn in_memory(store: &'s Store) -> Result<Index<'s>> {
        Index::made_in_memory(store, Shelf::Digests)
    }

    /// Makes an index of all other pages in working memory.
    pub fn notes_in_memory(store: &'s Store) -> Result<Index<'s>> {
        Index::made_in_memory(store, Shelf::Notes)
    }

    fn made_in_memory(store: &'s Store, shelf: Shelf) -> Result<Index<'s>> {
        let index = cache::in_memory(store, shelf);
        let index = index.map_err(|reason| Error::new("cannot read the memory's pages").because(reason))?;
        Index::over(store, &index)
    }

    fn over(store: &'s Store, index: &tantivy::Index) -> Result<Index<'s>> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let reader: tantivy::IndexReader = reader.map_err(unusable)?;
        Ok(Index { store, searcher: reader.searcher() })
    }

    /// Finds the sessions that have most to do with a query; `now` is what `since:2w` counts from.
    pub fn search(&self, query: &Query, now: Timestamp, limit: usize) -> Result<Found<Hit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let (ranked, total) = self.ranked(query, &plan, now, limit)?;
        let finder = Finder::new(&plan.wanted);
        let hits = ranked.into_iter().enumerate().map(|(at, ranked)| Hit {
            rank: at + 1,
            score: rounded(ranked.score),
            weak: ranked.weak,
            ..finder.hit(self.store.layout(), ranked.session, ranked.page)
        });
        Ok(Found { hits: hits.collect(), total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// Goes on into the episodes of the best sessions: each hit is an episode, with the passage that fits best.
    pub fn deep(&self, query: &Query, now: Timestamp, limit: usize) -> Result<Found<Hit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let (ranked, total) = self.ranked(query, &plan, now, deep::SESSIONS)?;
        let finder = Finder::new(&plan.wanted);
        let wanted = plan.for_episodes();
        let layout = self.store.layout();
        let weak: Vec<bool> = ranked.iter().map(|ranked| ranked.weak).collect();
        let sessions: Vec<(f32, SessionId, Page)> =
            ranked.into_iter().map(|ranked| (ranked.score, ranked.session, ranked.page)).collect();
        let episodes = deep::episodes(layout, &Finder::new(&wanted), &sessions, limit);
        let sessions: Vec<Hit> =
            sessions.into_iter().map(|(_, session, page)| finder.hit(layout, session, page)).collect();
        let hits = episodes.into_iter().enumerate().map(|(at, found)| {
            let mut hit = sessions[found.session].clone();
            hit.triggers.retain(|trigger| trigger.episode == found.episode);
            let words: Vec<&str> = found.words.iter().take(hits::MOST_WORDS).map(String::as_str).collect();
            Hit {
                rank: at + 1,
                score: rounded(found.score),
                weak: weak[found.session],
                path: layout.shown(&found.path),
                excerpt: found.excerpt,
                reason: format!("{}: {}", found.episode, words.join(", ")),
                passage: Some(Passage {
                    episode: found.episode,
                    reference: format!("{}#{}", hit.session, found.episode),
                    line: found.line,
                }),
                words: found.words,
                ..hit
            }
        });
        Ok(Found { hits: hits.collect(), total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// The sessions that fit best, best first, and how many fit at all.
    fn ranked(&self, query: &Query, plan: &Plan, now: Timestamp, limit: usize) -> Result<(Vec<Ranked>, usize)> {
        let finder = Finder::new(&plan.wanted);
        let names = Names::of(query, plan);
        let looked_at = if limit == 0 { 0 } else { limit.max(rank::CLOSER_LOOK) };
        let (close, total) = self.closely(query, plan, &finder, &names, now, &[], looked_at)?;
        let session = |close: Close| Some((close.score, close.weak, close.name.parse::<SessionId>().ok()?));
        let mut sessions: Vec<(f32, bool, SessionId)> = close.into_iter().filter_map(session).collect();
        sessions.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let read = |(score, weak, session): (f32, bool, SessionId)| {
            // Gone since the index was made: the next search will know.
            let page = document::read_page(self.store, &session.to_string())?;
            let weak = weak || names.misread_in(&page, &session.to_string());
            Some(Ranked { score, weak, session, page })
        };
        Ok((sessions.into_iter().filter_map(read).take(limit).collect(), total))
    }

    /// The documents that fit best, each scored once more by its best part, in any order; and how many fit at all.
    fn closely(
        &self,
        query: &Query,
        plan: &Plan,
        finder: &Finder,
        names: &Names,
        now: Timestamp,
        trees: &[Tree],
        most: usize,
    ) -> Result<(Vec<Close>, usize)> {
        let scored = matches::matches(&self.searcher, query, plan, now, trees).map_err(unusable)?;
        let total = scored.len();
        let mut best = rank::best(scored, most);
        best.sort_unstable_by_key(|scored| scored.place);
        let mut close = Vec::with_capacity(best.len());
        for of_segment in best.chunk_by(|a, b| a.place.segment_ord == b.place.segment_ord) {
            let segment = self.searcher.segment_reader(of_segment[0].place.segment_ord);
            let mut look = CloserLook::at(segment, finder).map_err(unusable)?;
            let ended = segment.fast_fields().i64(Fields::ENDED).map_err(unusable)?;
            for scored in of_segment {
                let document: TantivyDocument = self.searcher.doc(scored.place).map_err(unusable)?;
                let fields = Fields::get();
                let Some(name) = document.get_first(fields.session).and_then(|value| value.as_str()) else { continue };
                let parts = document.get_first(fields.parts).and_then(|value| value.as_bytes());
                let looked = look.look(scored.place.doc_id, parts.unwrap_or_default());
                let ended = ended.first(scored.place.doc_id);
                let lacked = names.lacked(&self.searcher, scored.place).map_err(unusable)?;
                let at = ended.and_then(|seconds| clock::from_millis(seconds.saturating_mul(1000)));
                let nearness = at.map_or(0.0, |at| plan.times.nearness(at, now));
                let score = rank::together(scored.score, looked.part.score * rank::recency(ended));
                close.push(Close {
                    score: score * rank::as_asked(lacked, nearness),
                    weak: plan.is_weak(looked.part.weight, looked.covered, lacked),
                    name: name.to_string(),
                    line: document.get_first(fields.line).and_then(|value| value.as_u64()).unwrap_or(0) as usize,
                });
            }
        }
        Ok((close, total))
    }

    /// Finds the sections of pages that have most to do with a query, the best one of each page.
    pub fn search_notes(&self, query: &Query, trees: &[Tree], now: Timestamp, limit: usize) -> Result<Found<NoteHit>> {
        let plan = matches::plan(&self.searcher, query).map_err(unusable)?;
        let finder = Finder::new(&plan.wanted);
        let names = Names::of(query, &plan);
        let looked_at = if limit == 0 { 0 } else { (4 * limit).max(rank::CLOSER_LOOK) };
        let (mut sections, total) = self.closely(query, &plan, &finder, &names, now, trees, looked_at)?;
        sections.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.name, a.line).cmp(&(&b.name, b.line))));
        let mut seen = HashSet::new();
        sections.retain(|section| seen.insert(section.name.clone()));
        let total = if limit == 0 { total } else { sections.len() };
        let read = |found: Close| {
            // Gone since the index was made: the next search will know.
            let note = notes::read(self.store, &found.name)?;
            let section = note.sections.iter().find(|section| section.line == found.line)?;
            finder.note_hit(&found.name, &note, section, rounded(found.score), found.weak)
        };
        let hits = sections.into_iter().filter_map(read).take(limit).enumerate();
        let hits = hits.map(|(at, hit)| NoteHit { rank: at + 1, ..hit }).collect();
        Ok(Found { hits, total, asked: plan.asked.into(), unknown: plan.unknown })
    }

    /// A known word that looks like one that nothing has.
    pub fn alike(&self, word: &str) -> Option<String> {
        matches::alike(&self.searcher, word).ok().flatten()
    }

    /// The values that a filter can have in this memory, in order; none for one that is no list of names.
    pub fn filter_values(&self, key: FilterKey) -> Vec<String> {
        matches::filter_values(&self.searcher, key).unwrap_or_default()
    }

    /// The sessions of a project that ended last, the last first.
    pub fn latest(&self, project: &str, limit: usize) -> Result<Vec<SessionId>> {
        let places = latest::of_project(&self.searcher, project, limit).map_err(unusable)?;
        places.into_iter().filter_map(|place| self.session(place).transpose()).collect()
    }

    fn session(&self, place: tantivy::DocAddress) -> Result<Option<SessionId>> {
        let document: TantivyDocument = self.searcher.doc(place).map_err(unusable)?;
        let name = document.get_first(Fields::get().session).and_then(|value| value.as_str());
        Ok(name.and_then(|name| name.parse().ok()))
    }
}

/// A score as it is shown: more digits would only differ from machine to machine.
fn rounded(score: f32) -> f64 {
    f64::from((score * 1e4).round()) / 1e4
}

fn unusable(err: tantivy::TantivyError) -> Error {
    Error::new("cannot search").because(err).hint("delete `.memtree/cache`: the next search makes it anew")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::base::clock;
    use crate::model::digest::{Digest, Outcome, Worth};
    use crate::model::ids::Device;
    use crate::store::documents::{digest_text, parse_digest};

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
        parse_digest(&text).unwrap()
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
                        content.triggers[0].keys = vec!["flock".into(), "header race".into(), "append_daily".into()];
                        content.ended = clock::parse("2026-11-15T14:52:31Z");
                    }
                    4 => {
                        content.title = "Retry the upload".into();
                        content.status = Outcome::Fail;
                        content.flavor = "codex".into();
                        content.tags = vec!["Uploads".into()];
                        content.triggers[0].keys = vec!["retry_backoff".into(), "HashMap".into(), "ECONNRESET".into()];
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
                desk.write(&digest.session, &digest_text(&digest));
            }
            desk
        }

        fn write(&self, id: &SessionId, text: &str) {
            fs::create_dir_all(self.store.layout().session(id)).unwrap();
            fs::write(self.store.layout().digest(id), text).unwrap();
        }

        fn found(&self, query: &str) -> Found<Hit> {
            let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
            Index::open(&self.store).unwrap().search(&Query::parse(query).unwrap(), now, 10).unwrap()
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

    /// The best part of a page by its text, word by word.
    fn closest_by_text(finder: &Finder, page: &Page) -> hits::Closest {
        let texts = |trigger: &crate::model::digest::Trigger| {
            [vec![trigger.topic.clone(), trigger.sentence.clone()], trigger.keys.clone()].concat()
        };
        let mut parts: Vec<Vec<String>> = page.triggers.iter().map(texts).collect();
        parts.push([vec![page.title.clone()], page.passages.clone(), page.files.clone()].concat());
        let scores = parts.iter().map(|part| {
            let mut counted = finder.nothing();
            part.iter().for_each(|text| finder.count(text, &mut counted));
            finder.part_score(&counted)
        });
        scores.fold(hits::Closest::default(), |best, part| if part.score > best.score { part } else { best })
    }

    #[test]
    fn parts_are_scored_from_the_index_as_from_the_page() {
        let desk = Desk::new();
        let path = desk.store.layout().digest(&id(11));
        let text = fs::read_to_string(&path).unwrap();
        // A form of a word that is also its first part; the same word in keys of every weight and in other parts.
        let more = "- [LockIng]: lock the locks -> Trigger reference: [EP_002](snapshot/episodic/EP_002.md) | user | keys: \
            lock, day.rs, src/lock.rs, Locked, 数据库锁, lock lock, 锁\nlocks of the shed\n";
        fs::write(&path, text + more).unwrap();
        let index = Index::open(&desk.store).unwrap();
        let now = clock::parse("2026-11-16T00:00:00Z").unwrap();
        for query in
            ["lock", "locks in day.rs", "数据库锁 shed", "src/day.rs header race", "erased uplaod", "chore paint"]
        {
            let query = Query::parse(query).unwrap();
            let plan = matches::plan(&index.searcher, &query).unwrap();
            let finder = Finder::new(&plan.wanted);
            let names = Names::of(&query, &plan);
            let (close, total) = index.closely(&query, &plan, &finder, &names, now, &[], 100).unwrap();
            assert!(total > 0 && total == close.len());
            let whole = matches::matches(&index.searcher, &query, &plan, now, &[]).unwrap();
            for close in close {
                let page = document::read_page(&desk.store, &close.name).unwrap();
                let closest = closest_by_text(&finder, &page);
                let mut all = finder.nothing();
                page.texts(&close.name).for_each(|text| finder.count(text, &mut all));
                let present: Vec<bool> = all.times.iter().map(|times| *times > 0).collect();
                let weak = plan.is_weak(closest.weight, finder.covered(&present), 0.0);
                assert_eq!(close.weak, weak, "{query:?} {}", close.name);
                let recency = rank::recency(page.ended.map(|at| at.timestamp()));
                let expected = |whole: f32| rank::together(whole, closest.score * recency);
                assert!(whole.iter().any(|one| expected(one.score) == close.score), "{query:?} {}", close.name);
            }
        }
    }

    #[test]
    fn filters_phrases_and_exclusions_narrow() {
        let desk = Desk::new();
        let count = |query: &str| desk.found(query).total;
        assert_eq!(
            (count("project:zubot"), count("-project:garden"), count("project:zubot project:garden")),
            (1, 1, 29)
        );
        assert_eq!((count("flavor:codex"), count("status:fail"), count("tag:uploads")), (1, 1, 1));
        assert_eq!(
            (count("file:src/day.rs"), count("file:day.rs"), count("file:day"), count("file:src/shed")),
            (1, 1, 1, 0)
        );
        assert_eq!((count("since:2026-11-15"), count("since:2d"), count("before:2026-11-15")), (1, 1, 28));
        assert_eq!((count("\"two writers\""), count("\"writers two\""), count("\"数据库\"")), (1, 0, 1));
        assert_eq!((count("shed"), count("shed -paint"), count("paint -\"retry backoff\"")), (29, 2, 27));
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
        assert!(score("tidy up of Zanzibar") < score("tidy up of zanzibar"));
        // A slip in a name is no other name.
        assert!(!desk.hits("the Shelff12 chore in the garden")[0].weak);
    }

    #[test]
    fn sessions_of_the_time_that_is_named_come_first() {
        let desk = Desk::new();
        assert_eq!(desk.best("tidy shed on 3 October 2026"), Some(2));
        assert_eq!(desk.best("what did we append yesterday?"), Some(3));
        assert!(!desk.hits("two writers on 15 November")[0].weak, "the date is no word that has to be there");
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
        assert!(Index::cached(&desk.store).is_none(), "there is no index yet");
        desk.hits("shed");
        let index = Index::cached(&desk.store).unwrap();
        let latest = |project: &str, limit| -> Vec<u32> {
            index.latest(project, limit).unwrap().iter().map(|session| session.ordinal).collect()
        };
        assert_eq!(latest("zubot", 5), [3]);
        assert_eq!(latest("GARDEN", 3), [27, 26, 25]);
        assert_eq!(latest("nowhere", 3), [0u32; 0]);
    }

    #[test]
    fn what_is_not_worth_remembering_stays_hidden() {
        let desk = Desk::new();
        assert_eq!(desk.found("zanzibar").total, 0);
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
        let (text, before) = (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
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
        let index = Index::in_memory(&desk.store).unwrap();
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
            for damage in [|_: Vec<u8>| Vec::new(), |bytes: Vec<u8>| bytes.iter().map(|byte| !byte).collect()] {
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
        let _refreshing = Cache::of(&desk.store, Shelf::Digests).lock().unwrap();
        assert_eq!(desk.best("flock"), Some(3));
    }
}
