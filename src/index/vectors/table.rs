//! The table of vectors: which model made them, and which records are which session's.
//!
//! `table` is written whole or not at all; `data-N` holds records of one length, to which more are
//! added. Records that no row names are left over from a session that changed.

use crate::base::files::Stamp;
use crate::index::changes;

/// The version of both files, and of how texts are cut into chunks.
const SCHEMA: &[u8] = b"memtree/vectors/1\n";
/// What stands before the numbers of a record: the hash of its text, and the factor.
pub const HEAD: usize = 12;
/// The most numbers of a vector that a table may claim.
const MOST_DIMENSIONS: usize = 1 << 16;

/// What there is of vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The name of the model that made them.
    pub model: String,
    /// How many numbers each has; 0 while there is none.
    pub dimensions: usize,
    /// The number of the file with the records.
    pub generation: u64,
    /// How many records that file has.
    pub records: u32,
    /// What was left out when they were made.
    pub excluded: u64,
    /// What the model made of a text that never changes.
    pub probe: Vec<u8>,
    /// By name.
    pub rows: Vec<Row>,
}

/// The vectors of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub session: String,
    /// How its digest looked.
    pub stamp: Stamp,
    pub first: u32,
    pub count: u32,
}

impl Table {
    /// How long a record is.
    pub fn record(&self) -> usize {
        HEAD + self.dimensions
    }

    /// How many bytes the records take.
    pub fn bytes(&self) -> u64 {
        u64::from(self.records) * self.record() as u64
    }

    /// How many records belong to a session.
    pub fn living(&self) -> u32 {
        self.rows.iter().map(|row| row.count).sum()
    }

    /// The row of a session.
    pub fn row(&self, session: &str) -> Option<&Row> {
        let place = self.place(session).ok()?;
        self.rows.get(place)
    }

    pub fn place(&self, session: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.session.as_str().cmp(session))
    }

    pub fn write(&self) -> Vec<u8> {
        let mut bytes = SCHEMA.to_vec();
        bytes.extend((self.model.len() as u16).to_le_bytes());
        bytes.extend(self.model.as_bytes());
        bytes.extend((self.dimensions as u32).to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.records.to_le_bytes());
        bytes.extend(self.excluded.to_le_bytes());
        bytes.extend((self.probe.len() as u32).to_le_bytes());
        bytes.extend(&self.probe);
        for row in &self.rows {
            bytes.extend(row.first.to_le_bytes());
            bytes.extend(row.count.to_le_bytes());
            changes::write_stamps(&[(&row.session, row.stamp)], &mut bytes);
        }
        bytes
    }

    /// Reads a table; `None` where it is damaged, or of another version.
    pub fn read(bytes: &[u8]) -> Option<Table> {
        let mut rest = bytes.strip_prefix(SCHEMA)?;
        let length = usize::from(u16::from_le_bytes(number(&mut rest)?));
        let model = std::str::from_utf8(take(&mut rest, length)?).ok()?.to_string();
        let dimensions = u32::from_le_bytes(number(&mut rest)?) as usize;
        let generation = u64::from_le_bytes(number(&mut rest)?);
        let records = u32::from_le_bytes(number(&mut rest)?);
        let excluded = u64::from_le_bytes(number(&mut rest)?);
        let length = u32::from_le_bytes(number(&mut rest)?) as usize;
        let probe = take(&mut rest, length)?.to_vec();
        let mut rows: Vec<Row> = Vec::new();
        while !rest.is_empty() {
            let first = u32::from_le_bytes(number(&mut rest)?);
            let count = u32::from_le_bytes(number(&mut rest)?);
            let (session, stamp) = changes::read_stamp(&mut rest)?;
            let row = Row { session: session.to_string(), stamp, first, count };
            let in_order = rows.last().is_none_or(|last| last.session < row.session);
            if !in_order || first.checked_add(count)? > records {
                return None;
            }
            rows.push(row);
        }
        let table = Table { model, dimensions, generation, records, excluded, probe, rows };
        let sound = table.dimensions <= MOST_DIMENSIONS
            && (table.dimensions > 0 || table.records == 0)
            && (table.probe.is_empty() || table.probe.len() == table.record());
        sound.then_some(table)
    }
}

fn number<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*number)
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_and_damage_is_seen() {
        let stamp = Stamp { size: 1, mtime_ns: 2, inode: 3, ctime_ns: 4 };
        let row = |session: &str, first, count| {
            let session = session.to_string();
            Row { session, stamp, first, count }
        };
        let table = Table {
            model: "small".into(),
            dimensions: 4,
            generation: 7,
            records: 9,
            excluded: 1,
            probe: vec![5; HEAD + 4],
            rows: vec![row("SES1_a_SP1C1", 4, 5), row("SES2_a_SP1C1", 0, 2)],
        };
        let bytes = table.write();
        assert_eq!(Table::read(&bytes).unwrap(), table);
        assert_eq!(Table::read(&Table::default().write()).unwrap(), Table::default());
        assert_eq!((table.row("SES2_a_SP1C1").unwrap().count, table.living()), (2, 7));
        for cut in 0..bytes.len() {
            let whole_rows = Table::read(&bytes[..cut]).is_none_or(|read| read.rows.len() < 2);
            assert!(whole_rows, "{cut}");
        }
        let beyond = Table { rows: vec![row("SES1_a_SP1C1", 4, 6)], ..table.clone() };
        assert_eq!(Table::read(&beyond.write()), None);
        let swapped = Table { rows: table.rows.iter().rev().cloned().collect(), ..table };
        assert_eq!(Table::read(&swapped.write()), None);
        assert_eq!(Table::read(&[255; 400]), None);
    }
}
