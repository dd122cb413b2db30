//! `cargo bench --bench search`: what searching costs, against floors measured in the same run.
//!
//! Makes so many digests as are asked for, in a memory of their own, and asks fifty queries of one to three words. The
//! floor of a query is tantivy's own, over the same texts with its own tokenizer and its own score; that of a look at
//! the tree is a walk that asks for each file's metadata; that of building is tantivy's own build. All times are CPU
//! time of this process. Fewer than a thousand digests are also read and scored without any index.
//!
//! - `MEMTREE_BENCH_DIGESTS`: how many digests, several numbers with commas between; `1000,10000` if not set

use std::error::Error;
use std::fs;
use std::path::Path;

use memtree::base::clock;
use memtree::index::{self, Index};
use memtree::model::ids::{Device, SessionId};
use memtree::model::query::Query;
use memtree::store::Store;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, STRING, Schema, TEXT};
use tantivy::{IndexWriter, TantivyDocument};
use walkdir::WalkDir;

mod digests;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers = std::env::var("MEMTREE_BENCH_DIGESTS").unwrap_or_else(|_| "1000,10000".into());
    println!("| digests | work | floor, ms | ours, ms | ratio | goal |");
    println!("| ---: | --- | ---: | ---: | ---: | --- |");
    for number in numbers.split(',') {
        measure(number.trim().parse()?)?;
    }
    Ok(())
}

fn measure(number: u32) -> Result<(), Box<dyn Error>> {
    // On the disk that is built on: a temporary folder in memory would flatter everybody.
    let desk = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (store, _) = Store::init(&desk.path().join("memory"))?;
    for ordinal in 0..number {
        let id = SessionId::new(Device::new("bench"), ordinal);
        fs::create_dir_all(store.layout().session(&id))?;
        fs::write(store.layout().digest(&id), digests::digest(&id, u64::from(ordinal)))?;
    }
    // What was just written has to be read again; nobody waits that long before the next search.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let row = |work: &str, floor: f64, ours: f64, goal: &str| {
        println!("| {number} | {work} | {floor:.2} | {ours:.2} | {:.2} | {goal} |", ours / floor);
    };

    let plain = desk.path().join("plain");
    let (floor_build, floor) = timed(|| Floor::build(&plain, &store.layout().sessions()));
    let floor = floor?;
    let (build, built) = timed(|| index::refresh(&store));
    assert!(built?.rebuilt);
    row("build", floor_build, build, "1.5");

    let queries = digests::queries();
    let mut floors: Vec<f64> = queries.iter().map(|query| timed(|| floor.search(query)).0).collect();
    let now = clock::parse("2026-11-16T00:00:00Z").ok_or("no time")?;
    let parsed = queries.iter().map(|query| Query::parse(query)).collect::<Result<Vec<_>, _>>()?;
    let cached = Index::cached(&store).ok_or("no index")?;
    let mut ours: Vec<f64> = parsed.iter().map(|query| timed(|| cached.search(query, now, 10)).0).collect();
    row("search, median", at(&mut floors, 0.5), at(&mut ours, 0.5), "2");
    row("search, 95 of 100", at(&mut floors, 0.95), at(&mut ours, 0.95), "2");

    let mut walks: Vec<f64> = (0..5).map(|_| timed(|| stat_walk(&store.layout().sessions())).0).collect();
    let mut checked: Vec<f64> = parsed
        .iter()
        .take(10)
        .map(|query| timed(|| Index::open(&store).and_then(|index| index.search(query, now, 10))).0)
        .collect();
    let floor = at(&mut walks, 0.5) + at(&mut floors, 0.5);
    row("search with the tree checked", floor, at(&mut checked, 0.5), "1.3");
    if number <= 1000 {
        let mut scans: Vec<f64> =
            (0..5).map(|_| timed(|| scan(&store.layout().sessions(), queries[20].as_str())).0).collect();
        row("the same, against reading every digest", at(&mut scans, 0.5), at(&mut checked, 0.5), "1");
    }
    Ok(())
}

/// The value below which such a share of all values lies.
fn at(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}

/// What something took of this process' CPU time, in milliseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = cpu_ms();
    let done = std::hint::black_box(work());
    (cpu_ms() - before, done)
}

fn cpu_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of our own, which outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Looks at each file, and reads none.
fn stat_walk(folder: &Path) -> u64 {
    WalkDir::new(folder).into_iter().flatten().filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Reads each digest and counts the words of a query in it.
fn scan(folder: &Path, query: &str) -> usize {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let files = WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let texts = files.filter_map(|file| Some(fs::read_to_string(file.path()).ok()?.to_lowercase()));
    texts.map(|text| words.iter().map(|word| text.matches(word.as_str()).count()).sum::<usize>()).sum()
}

/// tantivy as it comes.
struct Floor {
    searcher: tantivy::Searcher,
    parser: QueryParser,
}

impl Floor {
    fn build(folder: &Path, digests: &Path) -> Result<Floor, Box<dyn Error>> {
        let mut schema = Schema::builder();
        let (path, text) = (schema.add_text_field("path", STRING | STORED), schema.add_text_field("text", TEXT));
        fs::create_dir_all(folder)?;
        let index = tantivy::Index::create_in_dir(folder, schema.build())?;
        let mut writer: IndexWriter = index.writer(128 << 20)?;
        for file in WalkDir::new(digests).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
            let mut document = TantivyDocument::default();
            document.add_text(path, file.path().to_string_lossy());
            document.add_text(text, fs::read_to_string(file.path())?);
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        Ok(Floor { searcher, parser: QueryParser::for_index(&index, vec![text]) })
    }

    fn search(&self, query: &str) -> Result<usize, Box<dyn Error>> {
        let query = self.parser.parse_query(query)?;
        let best = self.searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
        for (_, place) in &best {
            self.searcher.doc::<TantivyDocument>(*place)?;
        }
        Ok(best.len())
    }
}
