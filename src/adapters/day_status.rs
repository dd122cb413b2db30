//! Day status: what another tool that kept the same days noted of them in a database of its own.
//!
//! Its table `day_memory_status` has a row for each day: how many messages came since the last
//! summary, how many summaries there were, and whether the day was closed.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use chrono::NaiveDate;

use super::shared::Scratch;
use super::sqlite::Database;

const TABLE: &str = "day_memory_status";
const COLUMNS: [&str; 4] =
    ["day", "messages_since_last_summary", "summaries_count", "is_finalized"];

/// What was noted of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayStatus {
    pub day: NaiveDate,
    pub messages_since_last_summary: u64,
    pub summaries: u64,
    pub is_final: bool,
}

/// Reads the rows of a database; none where it is no database or has no such table. A row that
/// names no day is left out.
pub fn read(path: &Path) -> io::Result<Vec<DayStatus>> {
    let scratch = Scratch::Temporary(OnceLock::new());
    let Some(database) = Database::open(path, &scratch)? else { return Ok(Vec::new()) };
    let rows = database.texts(TABLE, &COLUMNS)?;
    let status = |row: &[String]| {
        let number = |at: usize| row[at].trim().parse::<u64>().unwrap_or(0);
        Some(DayStatus {
            day: row[0].trim().parse().ok()?,
            messages_since_last_summary: number(1),
            summaries: number(2),
            is_final: number(3) > 0,
        })
    };
    Ok(rows.iter().filter_map(|row| status(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_other_databases_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sqlite3");
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute_batch("CREATE TABLE other (day TEXT)").unwrap();
        assert_eq!(read(&path).unwrap(), []);
        database
            .execute_batch(
                "CREATE TABLE day_memory_status (day TEXT, messages_since_last_summary INTEGER, is_finalized INTEGER);
                 INSERT INTO day_memory_status VALUES ('2026-11-14', 3, 0), ('no day', 9, 1), ('2026-11-13', -2, 1);",
            )
            .unwrap();
        drop(database);
        let day = |day: u32, waiting, is_final| DayStatus {
            day: NaiveDate::from_ymd_opt(2026, 11, day).unwrap(),
            messages_since_last_summary: waiting,
            summaries: 0,
            is_final,
        };
        assert_eq!(read(&path).unwrap(), [day(14, 3, false), day(13, 0, true)]);
        std::fs::write(&path, "no database").unwrap();
        assert_eq!(read(&path).unwrap(), []);
    }
}
