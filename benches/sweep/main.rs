//! `cargo bench --bench sweep`: what sweeps and snapshots cost, against floors measured in the same
//! run.
//!
//! In every round each floor and each of ours runs once, in turn, as a process of its own. The
//! table shows the medians of their CPU times, user and system together, and the most memory that
//! any of them took. On a busy machine times vary and ratios less so.
//!
//! - `MEMTREE_BENCH_MB`: how much is made up to be swept, in megabytes; 100 if not set
//! - `MEMTREE_BENCH_DATA`: a folder with logs to be swept instead
//! - `MEMTREE_BENCH_ROUNDS`: how many rounds; 5 if not set
//! - `MEMTREE_BENCH_SESSIONS`: how many sessions a database has; 5,000 if not set
//! - `MEMTREE_BENCH_PRINTED`: how many bytes each of its commands printed; 800 if not set. With
//!   70,000 it is 2 GB long

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

mod database;
mod floors;
mod logs;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    if let [_, floor, name, folder] = arguments.as_slice()
        && floor == "--floor"
    {
        return floors::run(name, Path::new(folder));
    }
    let number =
        |name: &str, default: u64| env::var(name).ok().map_or(Ok(default), |text| text.parse());
    let rounds = number("MEMTREE_BENCH_ROUNDS", 5)?.max(1);
    // On the disk that is built on: a temporary folder in memory would flatter everybody.
    let desk = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let data = match env::var_os("MEMTREE_BENCH_DATA") {
        Some(folder) => fs::canonicalize(folder)?,
        None => {
            let folder = desk.path().join("data");
            logs::write(&folder, number("MEMTREE_BENCH_MB", 100)? * 1_000_000)?;
            folder
        }
    };
    let sessions = number("MEMTREE_BENCH_SESSIONS", 5_000)?;
    let printed = number("MEMTREE_BENCH_PRINTED", 800)? as usize;
    let database = database::write(&desk.path().join("database"), sessions, printed)?;
    let mut bench = Bench { desk: desk.path(), data, database, rows: Vec::new() };
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        bench.round(round)?;
    }
    bench.print();
    Ok(())
}

struct Bench<'a> {
    desk: &'a Path,
    data: PathBuf,
    database: PathBuf,
    rows: Vec<Row>,
}

/// One kind of work.
struct Row {
    work: &'static str,
    floor: &'static str,
    goal: &'static str,
    floors: Vec<f64>,
    ours: Vec<Cost>,
}

/// What a process took.
#[derive(Clone, Copy)]
struct Cost {
    cpu_ms: f64,
    memory_mb: f64,
}

impl Bench<'_> {
    fn round(&mut self, round: u64) -> Result<(), Box<dyn Error>> {
        // Fresh folders: some file systems are slow to take a name again that was just deleted.
        let place = |name: &str| self.desk.join(format!("{name}-{round}"));
        let (data, more, copy, memory) =
            (self.data.clone(), place("more"), place("copy"), place("memory"));
        fs::create_dir(&more)?;
        let sweep = || {
            let sources = [&data, &more]
                .map(|folder| [OsString::from("--source"), joined("claude=", folder)]);
            memtree(&memory).arg("sweep").args(sources.as_flattened()).cost()
        };
        let snapshot = || memtree(&memory).arg("snapshot").arg(&data).cost();

        let parse = floor("parse", &data)?.cpu_ms;
        let keep = Command::new("cp").arg("-a").args([&data, &copy]).cost()?.cpu_ms
            + Command::new("find")
                .arg(&data)
                .args(["-type", "f", "-exec", "sha256sum", "{}", "+"])
                .cost()?
                .cpu_ms;
        let cold = sweep()?;
        self.add("cold sweep", "parse + `cp -a` + `sha256sum`", "4 times", parse + keep, cold);
        self.add(
            "sweep, nothing changed",
            "stat walk",
            "3 times",
            floor("stat", &data)?.cpu_ms,
            sweep()?,
        );
        logs::write_one(&more, u64::MAX - round, 200_000)?;
        self.add(
            "sweep, one session more",
            "parse it",
            "50 ms more",
            floor("parse", &more)?.cpu_ms,
            sweep()?,
        );
        let many = memtree(&place("many"))
            .args(["sweep", "--source"])
            .arg(joined("opencode=", &self.database))
            .cost()?;
        let read = Command::new("sha256sum").arg(&self.database).cost()?.cpu_ms;
        self.add("cold sweep of one database", "`sha256sum`", "16 s of two cores", read, many);
        self.add("snapshot, first", "`cp -a` + `sha256sum`", "1.5 times", keep, snapshot()?);
        self.add(
            "snapshot, nothing changed",
            "stat walk",
            "3 times",
            floor("stat", &data)?.cpu_ms,
            snapshot()?,
        );
        self.add(
            "`--help`",
            "empty process",
            "5 ms",
            floor("none", &data)?.cpu_ms,
            memtree(&memory).arg("--help").cost()?,
        );
        Ok(())
    }

    fn add(
        &mut self,
        work: &'static str,
        floor: &'static str,
        goal: &'static str,
        floor_ms: f64,
        ours: Cost,
    ) {
        let at = self.rows.iter().position(|row| row.work == work).unwrap_or_else(|| {
            self.rows.push(Row { work, floor, goal, floors: Vec::new(), ours: Vec::new() });
            self.rows.len() - 1
        });
        self.rows[at].floors.push(floor_ms);
        self.rows[at].ours.push(ours);
    }

    fn print(&self) {
        println!("| work | floor | floor, ms | ours, ms | ratio | goal | memory, MB |");
        println!("| --- | --- | ---: | ---: | ---: | --- | ---: |");
        for row in &self.rows {
            let (floor, ours) = (
                median(&row.floors),
                median(&row.ours.iter().map(|cost| cost.cpu_ms).collect::<Vec<_>>()),
            );
            let memory = row.ours.iter().map(|cost| cost.memory_mb).fold(0.0, f64::max);
            let (work, from, goal, ratio) = (row.work, row.floor, row.goal, ours / floor);
            println!(
                "| {work} | {from} | {floor:.1} | {ours:.1} | {ratio:.2} | {goal} | {memory:.0} |"
            );
        }
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The program, with a memory and nothing of this machine's.
fn memtree(memory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memtree"));
    command.env_clear().env("HOME", memory.with_extension("home")).env("MEMTREE_DEVICE", "bench");
    command.arg("--store").arg(memory);
    command
}

/// Runs a floor: this same program, as a process of its own.
fn floor(name: &str, folder: &Path) -> Result<Cost, Box<dyn Error>> {
    Command::new(env::current_exe()?).args(["--floor", name]).arg(folder).cost()
}

fn joined(before: &str, path: &Path) -> OsString {
    let mut whole = OsString::from(before);
    whole.push(OsStr::new(path));
    whole
}

trait Measured {
    /// Runs to the end, and returns what it took with all that it started.
    fn cost(&mut self) -> Result<Cost, Box<dyn Error>>;
}

#[cfg(not(unix))]
impl Measured for Command {
    fn cost(&mut self) -> Result<Cost, Box<dyn Error>> {
        Err("CPU time is measured with `wait4`, which only Unix has".into())
    }
}

#[cfg(unix)]
impl Measured for Command {
    fn cost(&mut self) -> Result<Cost, Box<dyn Error>> {
        use std::process::Stdio;

        let child =
            self.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut status = 0;
        // SAFETY: all zeroes is a valid value of this plain struct, and both pointers are to living
        // values.
        let (ended, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage), usage)
        };
        if ended < 0 || !libc::WIFEXITED(status) || !matches!(libc::WEXITSTATUS(status), 0 | 3) {
            return Err(format!("{self:?} failed").into());
        }
        let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
        let unit = if cfg!(target_os = "macos") { 1e6 } else { 1e3 };
        Ok(Cost {
            cpu_ms: ms(usage.ru_utime) + ms(usage.ru_stime),
            memory_mb: usage.ru_maxrss as f64 / unit,
        })
    }
}
