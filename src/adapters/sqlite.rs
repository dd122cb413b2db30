//! Databases that agents keep their sessions in, read without touching them.
//!
//! A source is never written, locked or given new neighbours. A database that lies still is opened
//! as immutable, which takes no lock and makes no file, and is looked at again afterwards. One with
//! a write-ahead log or a journal beside it is copied together with these, and the copy is read:
//! the main file alone would be an older state, or half of one.
//!
//! Which tables and columns are read is a list ([`Schema`]); what is not in it (credentials,
//! accounts, settings) is never asked for.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::shared::{self, Beside, Scratch, Shared, SharedFile, SharedSession};
use super::{ALL, Adapter, jsonl, rows};
use crate::base::files::{self, Stamp};
use crate::model::session::Role;

/// What an agent keeps in its database, as far as we read it.
pub struct Schema {
    /// Which agent's it is.
    pub flavor: &'static str,
    /// Whether a file is called as the agent calls its database: then it has to be one.
    pub is_named: fn(&str) -> bool,
    /// The tables, the one with a row for each session first. Its `session` is the session's id.
    pub tables: &'static [Table],
    /// An SQL expression on the first table that is the same for all copies of one session.
    pub lineage: &'static str,
    /// The column of the first table that names the session whose subagent a session is, and an SQL
    /// condition under which it does.
    pub parent: Option<(&'static str, &'static str)>,
}

/// A table of which rows are read.
pub struct Table {
    name: &'static str,
    /// The session that a row belongs to, as an SQL expression.
    session: &'static str,
    key: &'static [&'static str],
    required: &'static [&'static str],
    optional: &'static [&'static str],
    touched: Option<&'static str>,
    /// The project's folder, where the database's own path is all that tells it.
    place: Option<fn(&Path) -> Option<PathBuf>>,
    /// A column that is packed with zstd, and the one for which it stands.
    packed: Option<(&'static str, &'static str)>,
}

impl Table {
    /// A table by its name, with the session that a row belongs to, as an SQL expression, and the
    /// key: what distinguishes a row of a session from the others, and where it stands among the
    /// rows of all tables.
    pub const fn new(
        name: &'static str,
        session: &'static str,
        key: &'static [&'static str],
    ) -> Table {
        Table {
            name,
            session,
            key,
            required: &[],
            optional: &[],
            touched: None,
            place: None,
            packed: None,
        }
    }

    /// The columns that have to be there; a table without any need not be there itself.
    pub const fn required(self, columns: &'static [&'static str]) -> Table {
        Table { required: columns, ..self }
    }

    /// The columns that are there in some versions.
    pub const fn optional(self, columns: &'static [&'static str]) -> Table {
        Table { optional: columns, ..self }
    }

    /// Tells the project's folder by the database's path. Each session keeps it as a row of its own.
    pub const fn place(self, place: fn(&Path) -> Option<PathBuf>) -> Table {
        Table { place: Some(place), ..self }
    }

    /// A column that is packed with zstd: what is in it is kept as that of another column.
    pub const fn packed(self, column: &'static str, stands_for: &'static str) -> Table {
        Table { packed: Some((column, stands_for)), ..self }
    }

    /// The column that is set anew when a row changes.
    pub const fn touched(self, column: &'static str) -> Table {
        Table { touched: Some(column), ..self }
    }
}

/// The row that tells a session's folder, as if it stood in a table of this name.
pub const PLACE: &str = "place";

type DatabaseState = (Stamp, Beside);

const MAGIC: &[u8] = b"SQLite format 3\0";
/// How often a copy is tried while the agent writes.
const TRIES: u32 = 5;

/// A database, open for reading.
pub struct Database {
    connection: Connection,
    path: PathBuf,
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
    fn check(&self) -> io::Result<()> {
        match self.opened {
            Some(state) if database_state(&self.path)? != state => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the database was written to while it was read; the next sweep will take it",
            )),
            _ => Ok(()),
        }
    }

    /// The columns of a table; none where there is no such table.
    fn columns(&self, table: &str) -> io::Result<Vec<String>> {
        let mut statement = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .map_err(unreadable)?;
        let names = statement.query_map([table], |row| row.get(0)).map_err(unreadable)?;
        names.collect::<Result<_, _>>().map_err(unreadable)
    }

    /// How many tables of a schema the database has.
    fn tables_of(&self, schema: &Schema) -> io::Result<usize> {
        let mut count = 0;
        for table in schema.tables {
            count += usize::from(!self.columns(table.name)?.is_empty());
        }
        Ok(count)
    }

    /// The rows of a table as texts, a column that is not there as an empty one; none where there is
    /// no such table or it has not the first column.
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
                *value = text(row.get_ref(at).map_err(unreadable)?);
            }
            texts.push(values);
        }
        drop(rows);
        drop(statement);
        self.check()?;
        Ok(texts)
    }

    /// What a schema asks for and the database does not have.
    fn lacks(&self, schema: &Schema) -> io::Result<Option<String>> {
        for table in schema.tables {
            let there = self.columns(table.name)?;
            if let Some(column) =
                table.required.iter().find(|column| !there.iter().any(|name| name == *column))
            {
                return Ok(Some(match there.is_empty() {
                    true => format!("there is no table `{}`", table.name),
                    false => format!("the table `{}` has no column `{column}`", table.name),
                }));
            }
        }
        Ok(None)
    }
}

/// Says whose database it is. One that is called as an agent's own but is none is an error.
///
/// Agents that are built on others have their tables, too: then the name tells, or the tables that
/// only one of them has.
pub fn recognize(database: Database) -> io::Result<Option<SharedFile>> {
    let name = database.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut unknown = None;
    let mut best: Option<((bool, usize), &'static dyn Adapter, &'static Schema)> = None;
    for adapter in ALL {
        let Some(schema) = adapter.schema() else { continue };
        let is_named = (schema.is_named)(&name);
        match database.lacks(schema)? {
            None => {
                let fit = (is_named, database.tables_of(schema)?);
                if best.as_ref().is_none_or(|(known, ..)| fit > *known) {
                    best = Some((fit, *adapter, schema));
                }
            }
            Some(lack) if is_named => {
                unknown =
                    Some(format!("a database of {} with an unknown schema: {lack}", schema.flavor));
            }
            Some(_) => {}
        }
    }
    if let Some((_, adapter, schema)) = best {
        return Ok(Some((adapter, Box::new(Sessions::new(database, schema)?))));
    }
    database.check()?;
    unknown.map_or(Ok(None), |reason| Err(io::Error::new(io::ErrorKind::InvalidData, reason)))
}

/// Whether a file that is no database is called as an agent's. An empty one is only about to be.
pub fn is_called_as_one(path: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named =
        ALL.iter().filter_map(|adapter| adapter.schema()).any(|schema| (schema.is_named)(&name));
    Ok(is_named && files::metadata(path)?.len() > 0)
}

/// The sessions of a database with a known schema.
struct Sessions {
    database: Database,
    schema: &'static Schema,
    /// The columns that are read of each table, in order; none of a table that is not there.
    columns: Vec<Vec<&'static str>>,
    /// How many sessions were written out.
    written: usize,
    /// The tables whose rows are found through a list of their sessions' ([`Sessions::list_rows`]).
    listed: Vec<&'static str>,
}

/// From so many sessions on that are written out, tables without an index get a list.
const MANY: usize = 10;

impl Sessions {
    fn new(database: Database, schema: &'static Schema) -> io::Result<Sessions> {
        let mut columns = Vec::new();
        for table in schema.tables {
            let there = database.columns(table.name)?;
            let wanted = table.required.iter().chain(table.optional);
            columns.push(
                wanted.copied().filter(|column| there.iter().any(|name| name == column)).collect(),
            );
        }
        Ok(Sessions { database, schema, columns, written: 0, listed: Vec::new() })
    }

    /// Makes a list of which rows are whose for each table that would be looked through whole for
    /// every session. SQLite keeps such lists apart from the database, and not in memory.
    fn list_rows(&mut self) {
        let connection = &self.database.connection;
        for table in self.schema.tables {
            let (name, session) = (table.name, table.session);
            let plan = format!("EXPLAIN QUERY PLAN SELECT 1 FROM \"{name}\" WHERE {session} = ?1");
            let plan = connection.query_row(&plan, [""], |row| row.get::<_, String>(3));
            if !plan.is_ok_and(|plan| plan.starts_with("SCAN")) {
                continue;
            }
            let list = format!(
                "CREATE TEMP TABLE \"whose_{name}\" AS
                 SELECT {session} AS session, rowid AS place FROM \"{name}\";
                 CREATE INDEX temp.\"whose_{name}_by\" ON \"whose_{name}\" (session, place)"
            );
            // A table without row numbers is looked through as before.
            if connection.execute_batch(&list).is_ok() {
                self.listed.push(name);
            }
        }
    }

    /// The tables that are there, with the columns that are read of them.
    fn tables(&self) -> impl Iterator<Item = (&'static Table, &[&'static str])> {
        let tables = self.schema.tables.iter().zip(&self.columns);
        tables
            .map(|(table, columns)| (table, columns.as_slice()))
            .filter(|(_, columns)| !columns.is_empty())
    }

    /// For each session, how many rows of it a table has, how long they are and when one was last
    /// touched.
    fn weigh(&self, table: &Table, columns: &[&str]) -> rusqlite::Result<HashMap<String, String>> {
        let lengths: Vec<String> =
            columns.iter().map(|column| format!("ifnull(octet_length(\"{column}\"), 0)")).collect();
        let touched = table.touched.filter(|touched| columns.contains(touched)).unwrap_or("0");
        let last = table.key.last().copied().unwrap_or("0");
        let query = format!(
            "SELECT {}, count(*), sum({}), ifnull(max({touched}), ''), ifnull(max({last}), '') FROM \"{}\" GROUP BY 1",
            table.session,
            lengths.join(" + "),
            table.name
        );
        let mut statement = self.database.connection.prepare(&query)?;
        let mut weights = HashMap::new();
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let session = text(row.get_ref(0)?);
            let weight = (1..5)
                .map(|at| Ok(text(row.get_ref(at)?)))
                .collect::<rusqlite::Result<Vec<_>>>()?;
            weights.insert(session, weight.join(" "));
        }
        Ok(weights)
    }

    fn list(&self) -> rusqlite::Result<Vec<SharedSession>> {
        let mut revisions: BTreeMap<String, ([String; 2], String)> = BTreeMap::new();
        let first = &self.schema.tables[0];
        let has = |column: &str| self.columns[0].contains(&column);
        let parent = self.schema.parent.filter(|(column, _)| has(column));
        let parent = parent.map_or("NULL".to_string(), |(column, condition)| {
            format!("CASE WHEN {condition} THEN \"{column}\" END")
        });
        let query = format!(
            "SELECT {}, {}, {parent} FROM \"{}\"",
            first.session, self.schema.lineage, first.name
        );
        let mut statement = self.database.connection.prepare(&query)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let names = [text(row.get_ref(1)?), text(row.get_ref(2)?)];
            revisions.insert(text(row.get_ref(0)?), (names, String::new()));
        }
        for (table, columns) in self.tables() {
            for (session, weight) in self.weigh(table, columns)? {
                if let Some((_, revision)) = revisions.get_mut(&session) {
                    revision.push_str(&format!("{} {weight}\n", table.name));
                }
            }
        }
        let sessions = revisions.into_iter().filter(|(native_id, _)| !native_id.is_empty());
        Ok(sessions
            .map(|(native_id, ([lineage, parent], weights))| SharedSession {
                native_id,
                revision: files::sha256_hex(weights.as_bytes())[..16].to_string(),
                role: Role::Main,
                lineage: Some(lineage).filter(|lineage| !lineage.is_empty()),
                parent: Some(parent).filter(|parent| !parent.is_empty()),
            })
            .collect())
    }

    /// Writes a session's rows, those of all tables in the order of their keys.
    fn write(&self, native_id: &str, out: &mut dyn Write) -> Result<(), Fault> {
        let mut statements = Vec::new();
        for (table, columns) in self.tables() {
            let keys: Vec<String> =
                table.key.iter().enumerate().map(|(at, key)| format!("{key} AS key{at}")).collect();
            let order: Vec<String> = (0..keys.len()).map(|at| format!("key{at}")).collect();
            let columns_quoted: Vec<String> =
                columns.iter().map(|column| format!("\"{column}\"")).collect();
            let whose = match self.listed.contains(&table.name) {
                true => format!(
                    "rowid IN (SELECT place FROM temp.\"whose_{}\" WHERE session = ?1)",
                    table.name
                ),
                false => format!("{} = ?1", table.session),
            };
            let query = format!(
                "SELECT {}, {} FROM \"{}\" WHERE {whose} ORDER BY {}",
                keys.join(", "),
                columns_quoted.join(", "),
                table.name,
                order.join(", ")
            );
            statements.push((table, columns, self.database.connection.prepare_cached(&query)?));
        }
        let mut streams = Vec::new();
        for (table, columns, statement) in &mut statements {
            let mut stream =
                TableRows { table, columns, found: statement.query([native_id])?, next: None };
            stream.advance()?;
            streams.push(stream);
        }
        rows::write_header(out, self.schema.flavor, native_id)?;
        let place = self.schema.tables.iter().find_map(|table| table.place);
        if let Some(folder) = place.and_then(|place| place(&self.database.path)) {
            let folder = folder.to_string_lossy().into_owned();
            out.write_all(&rows::line(PLACE, &[rows::Key::None], &[("folder", folder.into())]))?;
        }
        loop {
            let waiting = streams.iter_mut().filter(|stream| stream.next.is_some());
            let Some(stream) = waiting.min_by(|a, b| a.key().cmp(&b.key())) else { return Ok(()) };
            if let Some((_, line)) = stream.next.take() {
                out.write_all(&line)?;
            }
            stream.advance()?;
        }
    }
}

impl Shared for Sessions {
    fn sessions(&mut self) -> io::Result<Vec<SharedSession>> {
        let sessions = self.list().map_err(unreadable)?;
        self.database.check()?;
        Ok(sessions)
    }

    fn extract(&mut self, native_id: &str, out: &mut dyn Write) -> io::Result<()> {
        self.written += 1;
        if self.written == MANY {
            self.list_rows();
        }
        self.write(native_id, out).map_err(|fault| match fault {
            Fault::Database(err) => unreadable(err),
            Fault::Output(err) => err,
        })?;
        self.database.check()
    }
}

/// The rows that one table has of a session.
struct TableRows<'s> {
    table: &'s Table,
    columns: &'s [&'static str],
    found: rusqlite::Rows<'s>,
    /// The next row: its key, and the line that is written of it.
    next: Option<(Vec<rows::Key>, Vec<u8>)>,
}

impl TableRows<'_> {
    fn key(&self) -> Option<&[rows::Key]> {
        self.next.as_ref().map(|(key, _)| key.as_slice())
    }

    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = match self.found.next()? {
            Some(row) => Some(line(row, self.table, self.columns)?),
            None => None,
        };
        Ok(())
    }
}

/// The canonical line of a row; columns without a value are left out.
fn line(
    row: &Row<'_>,
    table: &Table,
    columns: &[&str],
) -> rusqlite::Result<(Vec<rows::Key>, Vec<u8>)> {
    let mut key = Vec::new();
    for at in 0..table.key.len() {
        key.push(match row.get_ref(at)? {
            ValueRef::Null => rows::Key::None,
            ValueRef::Integer(number) => rows::Key::Number(number),
            other => rows::Key::Text(text(other)),
        });
    }
    let mut fields = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let value = match row.get_ref(table.key.len() + at)? {
            ValueRef::Null => continue,
            ValueRef::Blob(bytes) if table.packed.is_some_and(|(packed, _)| packed == *column) => {
                let stands_for = table.packed.map_or(*column, |(_, stands_for)| stands_for);
                // One that is damaged is kept as an empty text, and named when it is read.
                fields.push((stands_for, unpacked(bytes).unwrap_or_default().into()));
                continue;
            }
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => {
                serde_json::Number::from_f64(number).map_or(serde_json::Value::Null, Into::into)
            }
            other => text(other).into(),
        };
        fields.push((*column, value));
    }
    let line = rows::line(table.name, &key, &fields);
    Ok((key, line))
}

/// The text in a packed value.
fn unpacked(bytes: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    let packed = ruzstd::decoding::StreamingDecoder::new(bytes).ok()?;
    packed.take(jsonl::LONGEST_LINE as u64).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(&jsonl::unpacked(bytes).unwrap_or(bytes.into())).into_owned()
        }
    }
}

enum Fault {
    Database(rusqlite::Error),
    Output(io::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(err: rusqlite::Error) -> Fault {
        Fault::Database(err)
    }
}

impl From<io::Error> for Fault {
    fn from(err: io::Error) -> Fault {
        Fault::Output(err)
    }
}

fn unreadable(err: rusqlite::Error) -> io::Error {
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
