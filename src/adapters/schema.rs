//! Schemas: what agents keep in their databases, as far as it is read, and the sessions in them.
//!
//! Which tables and columns are read is a list; what is not in it is never asked for.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::rows::Field;
use super::shared::{Shared, SharedFile, SharedSession};
use super::sqlite::{Database, text, unreadable};
use super::{ALL, Adapter, jsonl, rows};
use crate::base::files;
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
    /// The session whose subagent a session is, as an SQL expression on the first table, and the
    /// column without which it cannot be asked for.
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

    /// Tells the project's folder by the database's path. Each session keeps it as a row of its
    /// own.
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

impl Schema {
    /// How many of its tables a database has.
    fn tables_in(&self, database: &Database) -> io::Result<usize> {
        let mut count = 0;
        for table in self.tables {
            count += usize::from(!database.columns(table.name)?.is_empty());
        }
        Ok(count)
    }

    /// What it asks for and a database does not have.
    fn lacking_in(&self, database: &Database) -> io::Result<Option<String>> {
        for table in self.tables {
            let there = database.columns(table.name)?;
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
        match schema.lacking_in(&database)? {
            None => {
                let fit = (is_named, schema.tables_in(&database)?);
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
            let session = text(row.get_ref(0)?).into_owned();
            let weight = (1..5)
                .map(|at| Ok(text(row.get_ref(at)?).into_owned()))
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
        let parent = parent.map_or("NULL", |(_, expression)| expression);
        let query = format!(
            "SELECT {}, {}, {parent} FROM \"{}\"",
            first.session, self.schema.lineage, first.name
        );
        let mut statement = self.database.connection.prepare(&query)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let names = [text(row.get_ref(1)?).into_owned(), text(row.get_ref(2)?).into_owned()];
            revisions.insert(text(row.get_ref(0)?).into_owned(), (names, String::new()));
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
            let folder = Field::Text(folder.to_string_lossy());
            out.write_all(&rows::line(PLACE, &[rows::Key::None], &[("folder", folder)]))?;
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
            other => rows::Key::Text(text(other).into_owned()),
        });
    }
    let mut fields = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let value = match row.get_ref(table.key.len() + at)? {
            ValueRef::Null => continue,
            ValueRef::Blob(bytes) if table.packed.is_some_and(|(packed, _)| packed == *column) => {
                let stands_for = table.packed.map_or(*column, |(_, stands_for)| stands_for);
                // One that is damaged is kept as an empty text, and named when it is read.
                let text = unpacked(bytes).unwrap_or_default();
                fields.push((stands_for, Field::Text(text.into())));
                continue;
            }
            ValueRef::Integer(number) => Field::Number(number),
            ValueRef::Real(number) => Field::Real(number),
            other => Field::Text(text(other)),
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
