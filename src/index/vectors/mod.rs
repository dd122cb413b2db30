//! Vectors of what was said in sessions, where a person has a server make them: which sessions mean
//! about the same as a question, whatever words they use.
//!
//! A cache like the index of words: `.memtree/cache/vectors` can be thrown away. All of it is read
//! in every search, piece by piece, so the answer is exact and nothing has to be built or tuned.

mod quantized;
mod table;
mod writer;

pub use writer::{Record, VectorWriter, forget, remove};

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use rayon::prelude::*;

use crate::base::files;
use crate::store::layout::Layout;
use quantized::Question;
use table::Table;

/// How many bytes are read at once.
const PIECE: usize = 256 << 10;
/// How many bytes are worth a second thread.
const FOR_ONE_THREAD: u64 = 4 << 20;

/// How near a session counts that has no vectors yet: neither far nor near.
const NOT_KNOWN: f32 = 0.5;

/// The vectors of a memory, open for searching.
pub struct Vectors {
    folder: PathBuf,
    table: Table,
}

/// How near the sessions of a memory are to one question.
#[derive(Debug, Default)]
pub struct Nearness {
    /// Each session with the cosine of its nearest chunk, by name.
    sessions: Vec<(String, f32)>,
    /// The cosine of the nearest session, and that of sessions on the average.
    best: f32,
    mean: f32,
}

impl Vectors {
    /// Opens the vectors that a model made; `None` where there are none.
    pub fn open(layout: &Layout, model: &str) -> Option<Vectors> {
        let folder = layout.vectors();
        let table = Table::read(&files::read(folder.join(TABLE)).ok()?)?;
        let usable = table.model == model && table.living() > 0;
        usable.then_some(Vectors { folder, table })
    }

    /// Whether the model still makes the same of a text that never changes.
    pub fn is_of(&self, probe: &[f32]) -> bool {
        self.table.is_of(probe)
    }

    /// How near each session is to each of some questions, given as vectors of unit length.
    pub fn nearness(&self, questions: &[Vec<f32>]) -> io::Result<Vec<Nearness>> {
        let questions: Vec<Question> = questions.iter().map(|one| Question::of(one)).collect();
        let cosines = self.cosines(&questions)?;
        let near = |number: usize| {
            let of_rows = self.table.rows.iter().filter(|row| row.count > 0).map(|row| {
                let records = row.first as usize..(row.first + row.count) as usize;
                let cosines = records.map(|record| cosines[record * questions.len() + number]);
                (row.session.clone(), cosines.fold(f32::MIN, f32::max))
            });
            Nearness::of_sessions(of_rows.collect())
        };
        Ok((0..questions.len()).map(near).collect())
    }

    /// The cosine of every record with every question, record by record.
    fn cosines(&self, questions: &[Question]) -> io::Result<Vec<f32>> {
        let data = self.folder.join(data_name(self.table.generation));
        let records = self.table.records as usize;
        let mut cosines = vec![0.0; records * questions.len()];
        let threads = match self.table.bytes() <= FOR_ONE_THREAD {
            true => 1,
            false => rayon::current_num_threads().max(1),
        };
        let each = records.div_ceil(threads).max(1);
        let ranges = cosines.chunks_mut(each * questions.len().max(1)).enumerate();
        let ranges: Vec<(usize, &mut [f32])> = ranges.collect();
        let work = |(number, found): (usize, &mut [f32])| {
            self.cosines_from(&data, number * each, questions, found)
        };
        match threads {
            1 => ranges.into_iter().try_for_each(work)?,
            _ => ranges.into_par_iter().try_for_each(work)?,
        }
        Ok(cosines)
    }

    /// The same for as many records from one on as there is room for.
    fn cosines_from(
        &self,
        data: &std::path::Path,
        first: usize,
        questions: &[Question],
        found: &mut [f32],
    ) -> io::Result<()> {
        let record = self.table.record();
        let mut file = files::open(data)?;
        file.seek(SeekFrom::Start((first * record) as u64))?;
        let at_once = (PIECE / record).max(1);
        let mut piece = vec![0; at_once * record];
        for places in found.chunks_mut(at_once * questions.len().max(1)) {
            let bytes = &mut piece[..places.len() / questions.len().max(1) * record];
            file.read_exact(bytes)?;
            let records = bytes.chunks_exact(record);
            for (places, bytes) in places.chunks_mut(questions.len().max(1)).zip(records) {
                for (place, question) in places.iter_mut().zip(questions) {
                    *place = question.cosine(bytes);
                }
            }
        }
        Ok(())
    }
}

impl Nearness {
    fn of_sessions(sessions: Vec<(String, f32)>) -> Nearness {
        let cosines = || sessions.iter().map(|(_, cosine)| *cosine);
        let best = cosines().fold(0.0, f32::max);
        let mean = cosines().sum::<f32>() / sessions.len().max(1) as f32;
        Nearness { sessions, best, mean }
    }

    /// The cosine of a session's nearest chunk; `None` where it has no vectors.
    pub fn of(&self, session: &str) -> Option<f32> {
        let place = self.sessions.binary_search_by(|(name, _)| name.as_str().cmp(session)).ok()?;
        Some(self.sessions[place].1)
    }

    /// The factor by which a session's score counts more for being near: from one for an average
    /// session to two for the nearest. What a cosine means differs from model to model, so it is
    /// weighed against the others'.
    pub fn factor(&self, session: &str) -> f32 {
        let span = (self.best - self.mean).max(f32::EPSILON);
        let share = |cosine: f32| ((cosine - self.mean) / span).clamp(0.0, 1.0);
        1.0 + self.of(session).map_or(NOT_KNOWN, share)
    }

    /// The nearest sessions, nearest first.
    pub fn nearest(&self, most: usize) -> Vec<(&str, f32)> {
        let mut nearest: Vec<(&str, f32)> =
            self.sessions.iter().map(|(name, cosine)| (name.as_str(), *cosine)).collect();
        let order =
            |a: &(&str, f32), b: &(&str, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0));
        if nearest.len() > most && most > 0 {
            nearest.select_nth_unstable_by(most - 1, order);
        }
        nearest.truncate(most);
        nearest.sort_unstable_by(order);
        nearest
    }
}

/// The file with the table.
const TABLE: &str = "table";

/// The file with the records of a generation.
fn data_name(generation: u64) -> String {
    format!("data-{generation}")
}

#[cfg(test)]
mod tests;
