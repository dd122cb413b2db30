//! Writes vectors: those of new and changed sessions are added, those of sessions that are gone are
//! left behind until half of the file is such.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::quantized::{Quantized, Question};
use super::table::{HEAD, Row, Table};
use super::{TABLE, data_name};
use crate::base::files::{self, Stamp};
use crate::store::layout::Layout;

/// How alike a model's vectors of the same text are, at least.
const SAME_MODEL: f32 = 0.98;
/// From how many records on that nobody needs the file is written again.
const MANY_DEAD: u32 = 256;

/// Changes the vectors of a memory. One at a time: see [`Layout::vectors_lock`].
pub struct VectorWriter {
    folder: PathBuf,
    table: Table,
    /// What is to be added.
    added: Vec<u8>,
    changed: bool,
    /// Whether sessions have gone, of which nothing may be left.
    has_lost: bool,
}

/// A chunk of text with its vector, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(Vec<u8>);

impl Record {
    /// A vector, and the hash of its text.
    pub fn of(hash: u64, vector: &[f32]) -> Record {
        let Quantized { factor, numbers } = Quantized::of(vector);
        let mut bytes = hash.to_le_bytes().to_vec();
        bytes.extend(factor.to_le_bytes());
        bytes.extend(numbers.into_iter().map(|number| number as u8));
        Record(bytes)
    }

    /// The record as it lies in the file.
    #[cfg(test)]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn hash(&self) -> Option<u64> {
        self.0.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

impl Table {
    /// Whether a model still makes the same of a text that never changes.
    pub fn is_of(&self, probe: &[f32]) -> bool {
        probe.len() == self.dimensions && Question::of(probe).cosine(&self.probe) > SAME_MODEL
    }
}

impl VectorWriter {
    /// The vectors as they are; none where another model made them, or where they are damaged.
    pub fn open(layout: &Layout, model: &str) -> VectorWriter {
        let folder = layout.vectors();
        let read = files::read(folder.join(TABLE)).ok().and_then(|bytes| Table::read(&bytes));
        let generation = read.as_ref().map_or(0, |table| table.generation);
        let data = folder.join(data_name(generation));
        let is_whole = |table: &Table| {
            files::metadata(&data).map_or(table.records == 0, |data| data.len() >= table.bytes())
        };
        let table = read.filter(|table| table.model == model && is_whole(table));
        let changed = table.is_none();
        let table = table.unwrap_or_else(|| Table {
            model: model.to_string(),
            generation,
            ..Table::default()
        });
        VectorWriter { folder, table, added: Vec::new(), changed, has_lost: false }
    }

    /// The sessions that have vectors, by name, and how their digests looked.
    pub fn known(&self) -> impl Iterator<Item = (&str, Stamp)> {
        self.table.rows.iter().map(|row| (row.session.as_str(), row.stamp))
    }

    /// The sessions of which at least one chunk has a vector, by name.
    pub fn known_with_vectors(&self) -> impl Iterator<Item = &str> {
        self.table.rows.iter().filter(|row| row.count > 0).map(|row| row.session.as_str())
    }

    /// How many chunks have vectors.
    pub fn chunks(&self) -> usize {
        self.table.living() as usize
    }

    /// What was left out when they were made.
    pub fn excluded(&self) -> u64 {
        self.table.excluded
    }

    /// Notes what is left out.
    pub fn set_excluded(&mut self, excluded: u64) {
        self.changed |= self.table.excluded != excluded;
        self.table.excluded = excluded;
    }

    /// Takes what the model makes of a text that never changes. Where that is not what it made
    /// before, it is another model, and everything it made goes.
    pub fn check_model(&mut self, probe: &[f32]) {
        if self.table.dimensions > 0 && self.table.is_of(probe) {
            return;
        }
        let Table { model, generation, excluded, .. } = std::mem::take(&mut self.table);
        self.added.clear();
        self.changed = true;
        let (dimensions, probe) = (probe.len(), Record::of(0, probe).0);
        // Its records are in no way those of the new one.
        let generation = generation + 1;
        self.table = Table { model, generation, excluded, dimensions, probe, ..Table::default() };
    }

    /// The records that a session has, by the hash of their text.
    pub fn records(&self, session: &str) -> io::Result<HashMap<u64, Record>> {
        let Some(row) = self.table.row(session).filter(|row| row.count > 0) else {
            return Ok(HashMap::new());
        };
        let records = self.bytes_of(row)?;
        let records = records.chunks_exact(self.table.record()).map(|one| Record(one.to_vec()));
        Ok(records.filter_map(|record| Some((record.hash()?, record))).collect())
    }

    fn bytes_of(&self, row: &Row) -> io::Result<Vec<u8>> {
        let record = self.table.record();
        let written = (self.table.records as usize * record).saturating_sub(self.added.len());
        let (from, length) = (row.first as usize * record, row.count as usize * record);
        if length == 0 {
            return Ok(Vec::new());
        }
        if from >= written {
            return Ok(self.added[from - written..from - written + length].to_vec());
        }
        let mut file = files::open(self.folder.join(data_name(self.table.generation)))?;
        file.seek(SeekFrom::Start(from as u64))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sets the records of a session whose digest looks like this.
    pub fn put(&mut self, session: &str, stamp: Stamp, records: &[Record]) {
        self.changed = true;
        let length = self.table.record();
        let fitting = records.iter().filter(|record| record.0.len() == length);
        let bytes: Vec<u8> = fitting.flat_map(|record| &record.0).copied().collect();
        let place = self.table.place(session);
        if let Ok(place) = place
            && self.bytes_of(&self.table.rows[place]).is_ok_and(|known| known == bytes)
        {
            self.table.rows[place].stamp = stamp;
            return;
        }
        let (first, count) = (self.table.records, (bytes.len() / length) as u32);
        self.added.extend(bytes);
        self.table.records += count;
        let row = Row { session: session.to_string(), stamp, first, count };
        match place {
            Ok(place) => self.table.rows[place] = row,
            Err(place) => self.table.rows.insert(place, row),
        }
    }

    /// Takes the records of a session away; it still counts as looked at.
    pub fn empty(&mut self, session: &str) {
        if let Ok(place) = self.table.place(session) {
            self.table.rows[place].count = 0;
            self.changed = true;
        }
    }

    /// Keeps the sessions that a question says yes to.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let before = self.table.rows.len();
        self.table.rows.retain(|row| keep(&row.session));
        self.has_lost |= self.table.rows.len() != before;
        self.changed |= self.has_lost;
    }

    /// Writes what has changed: first the records, then the table that names them.
    pub fn commit(&mut self) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let data = self.folder.join(data_name(self.table.generation));
        let dead = self.table.records - self.table.living();
        let written = self.table.bytes() - self.added.len() as u64;
        let found = files::if_exists(files::metadata(&data))?.map_or(0, |data| data.len());
        let many = dead > MANY_DEAD && dead > self.table.living();
        // What a kill left at the end of the file belongs to nobody.
        if found != written || many || (self.has_lost && dead > 0) {
            self.rewrite()?;
        } else if !self.added.is_empty() {
            files::append_plain(&data, &self.added)?;
        }
        files::write_atomic(&self.folder.join(TABLE), &self.table.write())?;
        self.added.clear();
        (self.changed, self.has_lost) = (false, false);
        self.remove_other_generations()
    }

    /// Writes the records that are needed into a new file.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut table = Table { generation: self.table.generation + 1, ..self.table.clone() };
        let data = self.folder.join(data_name(table.generation));
        files::create_folder(&self.folder)?;
        files::remove_file(&data)?;
        table.records = 0;
        let mut buffer = Vec::new();
        for (place, row) in self.table.rows.iter().enumerate() {
            buffer.extend(self.bytes_of(row)?);
            table.rows[place].first = table.records;
            table.records += row.count;
            if buffer.len() > 1 << 20 {
                files::append_plain(&data, &buffer)?;
                buffer.clear();
            }
        }
        files::append_plain(&data, &buffer)?;
        self.table = table;
        Ok(())
    }

    /// Removes the files of records that no table names any more.
    fn remove_other_generations(&self) -> io::Result<()> {
        let own = data_name(self.table.generation);
        for entry in files::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("data-") && name != own {
                // Whoever still reads it keeps it open; the next one tries again.
                let _ = files::remove_file(&entry.path());
            }
        }
        Ok(())
    }
}

/// Removes the vectors of some sessions, and leaves none of their bytes behind. Where that cannot
/// be done one by one, all of them go.
pub fn forget(layout: &Layout, is_gone: impl Fn(&str) -> bool) -> io::Result<()> {
    let folder = layout.vectors();
    let Some(bytes) = files::if_exists(files::read(folder.join(TABLE)))? else {
        return remove(layout);
    };
    let Some(model) = Table::read(&bytes).map(|table| table.model) else { return remove(layout) };
    let _lock = files::lock_exclusive(&layout.vectors_lock())?;
    let mut writer = VectorWriter::open(layout, &model);
    writer.retain(|session| !is_gone(session));
    (writer.changed, writer.has_lost) = (true, true);
    writer.commit().or_else(|_| remove(layout))
}

/// Removes all vectors.
pub fn remove(layout: &Layout) -> io::Result<()> {
    files::remove_folder(&layout.vectors())
}

/// The length of what stands before a vector's numbers is part of the form of a record.
const _: () = assert!(HEAD == size_of::<u64>() + size_of::<f32>());
