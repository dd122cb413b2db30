//! Databases of agents, read without touching them.
//!
//! A source is never written, locked or given new neighbours. A database that lies still is opened
//! as immutable, which takes no lock and makes no file, and is looked at again afterwards. One with
//! a write-ahead log or a journal beside it is copied together with these, and the copy is read:
//! the main file alone would be an older state, or half of one.
//!
//! Which tables and columns are read is a list ([`super::schema`]); what is not in it (credentials,
//! accounts, settings) is never asked for.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::jsonl;
use super::shared::{self, Beside, Scratch};
use crate::base::files::{self, Stamp};

type DatabaseState = (Stamp, Beside);

const MAGIC: &[u8] = b"SQLite format 3\0";
/// How often a copy is tried while the agent writes.
const TRIES: u32 = 5;

/// A database, open for reading.
pub struct Database {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    /// The state of the files when the database was opened as it lies; `None` where a copy is read.
    opened: Option<DatabaseState>,
}

impl Database {
    /// Opens a file if it is a database.
    pub fn open(path: &Path, scratch: &Scratch) -> io::Result<Option<Database>> {
        if shared::first_bytes(path, MAGIC.len() as u64)? != MAGIC {
            return Ok(None);
        }
        let state = database_state(path)?;
        let written = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| stamp.size > 0);
        let (connection, opened) = if written(state.1.wal) || written(state.1.journal) {
            let copy = copy(path, scratch)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            (Connection::open_with_flags(copy, flags), None)
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            (Connection::open_with_flags(immutable(path), flags), Some(state))
        };
        Ok(Some(Database {
            connection: connection.map_err(unreadable)?,
            path: path.to_path_buf(),
            opened,
        }))
    }

    /// Whether what was read still holds: nobody has written meanwhile.
    pub fn check(&self) -> io::Result<()> {
        match self.opened {
            Some(state) if database_state(&self.path)? != state => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the database was written to while it was read; the next sweep will take it",
            )),
            _ => Ok(()),
        }
    }

    /// The columns of a table; none where there is no such table.
    pub fn columns(&self, table: &str) -> io::Result<Vec<String>> {
        let mut statement = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .map_err(unreadable)?;
        let names = statement.query_map([table], |row| row.get(0)).map_err(unreadable)?;
        names.collect::<Result<_, _>>().map_err(unreadable)
    }

    /// The rows of a table as texts, a column that is not there as an empty one; none where there
    /// is no such table or it has not the first column.
    pub fn texts<const N: usize>(
        &self,
        table: &'static str,
        columns: &[&'static str; N],
    ) -> io::Result<Vec<[String; N]>> {
        const MOST_ROWS: usize = 100_000;
        let there = self.columns(table)?;
        let has = |column: &str| there.iter().any(|name| name == column);
        if !has(columns[0]) {
            return Ok(Vec::new());
        }
        let named = columns.map(|name| match has(name) {
            true => format!("\"{name}\""),
            false => "''".into(),
        });
        let query = format!("SELECT {} FROM \"{table}\" LIMIT {MOST_ROWS}", named.join(", "));
        let mut statement = self.connection.prepare(&query).map_err(unreadable)?;
        let mut rows = statement.query([]).map_err(unreadable)?;
        let mut texts = Vec::new();
        while let Some(row) = rows.next().map_err(unreadable)? {
            let mut values = [const { String::new() }; N];
            for (at, value) in values.iter_mut().enumerate() {
                *value = text(row.get_ref(at).map_err(unreadable)?).into_owned();
            }
            texts.push(values);
        }
        drop(rows);
        drop(statement);
        self.check()?;
        Ok(texts)
    }
}

/// A value as text; a packed one is unpacked.
pub fn text(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => "".into(),
        ValueRef::Integer(number) => number.to_string().into(),
        ValueRef::Real(number) => number.to_string().into(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Blob(bytes) => match jsonl::unpacked(bytes) {
            Some(whole) => String::from_utf8_lossy(&whole).into_owned().into(),
            None => String::from_utf8_lossy(bytes),
        },
    }
}

/// Says that a database cannot be read.
pub fn unreadable(err: rusqlite::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("cannot read the database: {err}"))
}

/// The state of a database and of the files beside it.
fn database_state(path: &Path) -> io::Result<DatabaseState> {
    Ok((Stamp::of(&files::metadata(path)?), Beside::of(path)))
}

/// The name by which a database is opened without locks and without new files beside it.
fn immutable(path: &Path) -> String {
    let mut name = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                name.push(char::from(*byte))
            }
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name + "?immutable=1&mode=ro"
}

/// Copies a database with what lies beside it, at a moment at which they fit together.
fn copy(path: &Path, scratch: &Scratch) -> io::Result<PathBuf> {
    for tried in 0..TRIES {
        if tried > 0 {
            std::thread::sleep(Duration::from_millis(50));
        }
        let folder = scratch.folder_for(path)?;
        let to = folder.join("copy.db");
        let before = (database_state(path)?, wal_header(path)?);
        fs::copy(path, &to)?;
        for end in [shared::WAL, shared::JOURNAL] {
            match fs::copy(shared::beside(path, end), shared::beside(&to, end)) {
                Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
                _ => {}
            }
        }
        let after = (database_state(path)?, wal_header(path)?);
        // The write-ahead log may have grown: its frames carry checksums, and what is not whole
        // does not count. Begun anew, which shows in its header, it would not fit the database that
        // was copied.
        let ((stamp, beside), header) = before;
        if after.0.0 == stamp && after.0.1.journal == beside.journal && after.1 == header {
            return Ok(to);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        "the agent is writing to its database just now; the next sweep will take it",
    ))
}

/// The beginning of a write-ahead log, which changes whenever it is begun anew.
fn wal_header(path: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    match files::open(shared::beside(path, shared::WAL)) {
        Ok(file) => file.take(32).read_to_end(&mut header).map(|_| header),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(header),
        Err(err) => Err(err),
    }
}
