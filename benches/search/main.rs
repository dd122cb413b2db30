//! `cargo bench --bench search`: what searching and hooks' answers cost, against floors measured in
//! the same run.
//!
//! Whatever is measured is a process of its own, floors too, since that is what a person and an
//! agent wait for. Ours and the floor take turns. Costs are CPU time, user and system together,
//! unless a row says `waiting`: that is the time by the clock, which only means something on an
//! idle machine.
//!
//! - `MEMTREE_BENCH_DIGESTS`: how many digests, several numbers with commas between;
//!   `1000,10000,100000` if not set
//! - `MEMTREE_BENCH_NOTES`: a folder with `*_DIGEST.md` to take instead of making them up, as many
//!   as are asked for
//! - `MEMTREE_BENCH_QUERIES`: a file with one query a line, instead of fifty made up

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};

use memtree::internals::store::Store;
use memtree::model::ids::{Device, SessionId};

mod digests;
mod floors;
mod hooks;
mod process;

use process::{Cost, cost, floor, memtree};

type BoxError = Box<dyn Error>;

/// For so many digests hooks are measured, and up to so many a scan is.
const FOR_HOOKS: u32 = 10_000;
const FOR_SCANS: u32 = 1_000;
/// From so many digests on, what takes seconds is measured once or twice only.
const MANY: u32 = 50_000;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [mark, name, rest @ ..] = arguments.as_slice()
        && mark == "--floor"
    {
        return floors::run(name, rest);
    }
    let numbers = env::var("MEMTREE_BENCH_DIGESTS").unwrap_or_else(|_| "1000,10000,100000".into());
    let numbers =
        numbers.split(',').map(|number| number.trim().parse()).collect::<Result<Vec<u32>, _>>()?;
    let mut table = Table::default();
    for number in numbers {
        eprintln!("{number} digests");
        // On the disk that is built on: a temporary folder in memory would flatter everybody.
        let desk =
            tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let desk = Desk::new(desk.path(), number)?;
        desk.build(&mut table)?;
        desk.search(&mut table)?;
        if number == FOR_HOOKS {
            hooks::measure(&desk, &mut table)?;
        }
    }
    table.print();
    Ok(())
}

/// A memory of so many digests, and tantivy's own index over the same texts.
struct Desk<'d> {
    folder: &'d Path,
    store: Store,
    number: u32,
    queries: Vec<String>,
}

impl Desk<'_> {
    fn new(folder: &Path, number: u32) -> Result<Desk<'_>, BoxError> {
        let (store, _) = Store::init(&folder.join("memory"))?;
        let notes =
            env::var_os("MEMTREE_BENCH_NOTES").map(|notes| floors::files(Path::new(&notes), ".md"));
        let count =
            notes.as_ref().map_or(number as usize, |notes| notes.len().min(number as usize));
        for ordinal in 0..count as u32 {
            let id = SessionId::new(Device::new("bench"), ordinal);
            let text = match &notes {
                Some(notes) => fs::read_to_string(&notes[ordinal as usize])?,
                None => digests::digest(&id, u64::from(ordinal)),
            };
            fs::create_dir_all(store.layout().session(&id))?;
            fs::write(store.layout().digest(&id), text)?;
        }
        let queries = match env::var_os("MEMTREE_BENCH_QUERIES") {
            Some(file) => fs::read_to_string(file)?.lines().map(str::to_string).collect(),
            None => digests::queries(),
        };
        // What was just written has to be read again; nobody waits that long before the next
        // search.
        thread::sleep(Duration::from_millis(50));
        Ok(Desk { folder, store, number, queries })
    }

    fn root(&self) -> &Path {
        self.store.layout().root()
    }

    /// tantivy's own index.
    fn plain(&self) -> PathBuf {
        self.folder.join("plain")
    }

    fn build(&self, table: &mut Table) -> Result<(), BoxError> {
        let sessions = self.store.layout().sessions();
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..if self.number < MANY { 3 } else { 1 } {
            floors.push(cost(&mut floor("build", [&sessions, &self.plain()])?)?);
            let _ = fs::remove_dir_all(self.store.layout().cache());
            ours.push(cost(
                memtree(self.root()).args(["search", "--limit", "1", "nothing at all"]),
            )?);
        }
        table.add(self.number, "building the cache", "1.5", cpu(&floors, 0.5), cpu(&ours, 0.5));
        Ok(())
    }

    fn search(&self, table: &mut Table) -> Result<(), BoxError> {
        let sessions = self.store.layout().sessions();
        let search = |query: &String, flags: &[&str]| {
            cost(
                memtree(self.root())
                    .arg("search")
                    .args(flags)
                    .arg("--")
                    .args(query.split_whitespace()),
            )
        };
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for query in self.queries.iter().chain(&self.queries) {
            floors.push(cost(floor("search", [&self.plain()])?.arg(query))?);
            ours.push(search(query, &["--cached"])?);
        }
        table.add(self.number, "search, cached: median", "2", cpu(&floors, 0.5), cpu(&ours, 0.5));
        table.add(
            self.number,
            "search, cached: 95 of 100",
            "2",
            cpu(&floors, 0.95),
            cpu(&ours, 0.95),
        );
        table.add(self.number, "search, cached: median, waiting", "2", wall(&floors), wall(&ours));

        let (mut walks, mut checked, mut scans) = (Vec::new(), Vec::new(), Vec::new());
        for query in self.queries.iter().step_by(if self.number < MANY { 2 } else { 5 }) {
            walks.push(cost(&mut floor("stat", [&sessions])?)?);
            checked.push(search(query, &[])?);
            if self.number <= FOR_SCANS {
                scans.push(cost(floor("scan", [&sessions])?.arg(query))?);
            }
        }
        let one_after_the_other = cpu(&walks, 0.5) + cpu(&floors, 0.5);
        table.add(
            self.number,
            "search with the tree checked",
            "1.3",
            one_after_the_other,
            cpu(&checked, 0.5),
        );
        if self.number <= FOR_SCANS {
            table.add(
                self.number,
                "the same against a scan",
                "1",
                cpu(&scans, 0.5),
                cpu(&checked, 0.5),
            );
        }
        Ok(())
    }
}

/// What was measured, row by row.
#[derive(Default)]
struct Table(Vec<String>);

impl Table {
    fn add(&mut self, digests: u32, work: &str, goal: &str, floor: f64, ours: f64) {
        let ratio = ours / floor;
        self.0.push(format!(
            "| {digests} | {work} | {floor:.2} ms | {ours:.2} ms | {ratio:.2} | {goal} |"
        ));
    }

    fn print(&self) {
        println!("| digests | work | floor | memtree | ratio | goal |");
        println!("| ---: | --- | ---: | ---: | ---: | --- |");
        self.0.iter().for_each(|row| println!("{row}"));
    }
}

/// The CPU time below which such a share of all lies.
fn cpu(costs: &[Cost], share: f64) -> f64 {
    at(costs.iter().map(|cost| cost.cpu_ms).collect(), share)
}

/// The median of the times by the clock.
fn wall(costs: &[Cost]) -> f64 {
    at(costs.iter().map(|cost| cost.wall_ms).collect(), 0.5)
}

fn at(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}
