//! A history of Aider's: one file with all the runs in a repository.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{ORIGIN, ORIGIN_END, STARTED, started};
use crate::adapters::shared::{Shared, SharedSession};
use crate::base::files::{self, HashingWriter};
use crate::model::session::Role;

/// A history with all its runs.
pub struct History {
    path: PathBuf,
    runs: Vec<Run>,
}

/// One run, and where its lines are.
struct Run {
    native_id: String,
    start: u64,
    end: u64,
}

fn runs(path: &Path) -> io::Result<Vec<Run>> {
    let place = &files::sha256_hex(path.to_string_lossy().as_bytes())[..8];
    let mut runs: Vec<Run> = Vec::new();
    let mut taken: HashMap<String, u32> = HashMap::new();
    let mut lines =
        LineStarts { reader: io::BufReader::with_capacity(64 << 10, files::open(path)?), end: 0 };
    while let Some((start, beginning)) = lines.next(STARTED.len() + 30)? {
        if let Some(began) = started(&beginning) {
            let mut native_id = format!("{place}-{}", began.format("%Y%m%dT%H%M%S"));
            let count = taken.entry(native_id.clone()).or_default();
            *count += 1;
            if *count > 1 {
                native_id = format!("{native_id}-{count}");
            }
            runs.push(Run { native_id, start, end: start });
        }
        if let Some(run) = runs.last_mut() {
            run.end = lines.end;
        }
    }
    Ok(runs)
}

impl History {
    /// Finds the runs of a history.
    pub fn open(path: &Path) -> io::Result<History> {
        Ok(History { path: path.to_path_buf(), runs: runs(path)? })
    }

    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut file = files::open(&self.path)?;
        file.seek(SeekFrom::Start(run.start))?;
        writeln!(
            out,
            "{ORIGIN}{}{ORIGIN_END}",
            self.path.to_string_lossy().replace(['\n', '\r'], " ")
        )?;
        io::copy(&mut file.take(run.end - run.start), out).map(|_| ())
    }
}

impl Shared for History {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let mut sessions = Vec::new();
        for run in &self.runs {
            let mut hasher = HashingWriter::new(io::sink());
            self.write(run, &mut hasher)?;
            let revision = hasher.finish().1.sha256[..16].to_string();
            let native_id = run.native_id.clone();
            sessions.push(SharedSession {
                native_id,
                revision,
                role: Role::Main,
                lineage: None,
                parent: None,
            });
        }
        Ok(sessions)
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        let run = self.runs.iter().find(|run| run.native_id == native_id);
        let run = run.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "the run is not in the history any more")
        })?;
        self.write(run, out)
    }
}

/// Finds where lines begin, without holding more than their beginnings.
struct LineStarts {
    reader: io::BufReader<File>,
    end: u64,
}

impl LineStarts {
    /// Where the next line begins, and at most so many bytes of it.
    fn next(&mut self, most: usize) -> io::Result<Option<(u64, Vec<u8>)>> {
        use io::BufRead;
        let (start, mut beginning) = (self.end, Vec::new());
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok((self.end > start).then_some((start, beginning)));
            }
            let (line, ends) = match memchr::memchr(b'\n', bytes) {
                Some(at) => (&bytes[..at], true),
                None => (bytes, false),
            };
            let rest = most.saturating_sub(beginning.len());
            beginning.extend_from_slice(&line[..line.len().min(rest)]);
            let used = line.len() + usize::from(ends);
            self.reader.consume(used);
            self.end += used as u64;
            if ends {
                return Ok(Some((start, beginning)));
            }
        }
    }
}
