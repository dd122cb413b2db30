//! The rows of one session, written out of a database: the canonical form in which they are kept.
//!
//! The first line says whose they are, `{"extract":"goose/1","session":…}`. Each further line is a
//! row, `{"table":…,"key":[…],"row":{…}}`, ordered by key; table and key distinguish a row from
//! the others. Extracts of one session made at different times are read together: of each row the
//! latest form counts, and a row that the database has no more is still read.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{self, Line, Lines};
use super::transcript::{Dialect, Transcript, unexpected_shape};
use super::{Identity, shared};
use crate::error::{Context, Result};
use crate::model::session::{Log, Position, Role};

/// A part of a row's key. The order is that of SQLite.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    None,
    Number(i64),
    Text(String),
}

/// A line of an extract.
#[derive(Deserialize)]
pub struct WireRow<'a> {
    pub table: String,
    pub key: Vec<Key>,
    #[serde(borrow)]
    pub row: &'a RawValue,
}

const BEGINNING: &str = "{\"extract\":\"";

/// Writes the first line of an extract.
pub fn write_header(out: &mut dyn Write, flavor: &str, native_id: &str) -> io::Result<()> {
    writeln!(out, "{BEGINNING}{flavor}/1\",\"session\":{}}}", Value::from(native_id))
}

/// What stands in a column of a row.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Field<'a> {
    Number(i64),
    Real(f64),
    Text(Cow<'a, str>),
}

/// The line of one row. Its bytes have to be the same for ever. A row may be long: it is put
/// together in one piece, and not from pieces that are held as well.
pub fn line(table: &str, key: &[Key], fields: &[(&str, Field<'_>)]) -> Vec<u8> {
    let texts = fields.iter().map(|(name, field)| match field {
        Field::Text(text) => name.len() + text.len(),
        _ => name.len(),
    });
    // Quotation marks and line ends take two bytes instead of one.
    let length = texts.sum::<usize>();
    let mut line = Vec::with_capacity(length + length / 8 + 100);
    line.extend(format!("{{\"table\":\"{table}\",\"key\":").bytes());
    write_json(&mut line, &key);
    line.extend(b",\"row\":{");
    for (at, (name, field)) in fields.iter().enumerate() {
        line.extend(format!("{}\"{name}\":", if at > 0 { "," } else { "" }).bytes());
        write_json(&mut line, field);
    }
    line.extend(b"}}\n");
    line
}

fn write_json(line: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(line, value)
        .expect("texts and numbers can be written, and memory takes them");
}

/// Whether a file is an extract.
pub fn is_extract(file: &Path) -> bool {
    shared::first_bytes(file, BEGINNING.len() as u64)
        .is_ok_and(|bytes| bytes == BEGINNING.as_bytes())
}

/// The session whose extract a file is; `None` where it is none of this agent's.
pub fn identify(file: &Path, flavor: &str) -> io::Result<Option<Identity>> {
    if file.extension().is_none_or(|extension| extension != "jsonl") || !is_extract(file) {
        return Ok(None);
    }
    let records = jsonl::first_objects(file, 1)?;
    let field = |name: &str| records.first().and_then(|record| record.get(name)?.as_str());
    let own = field("extract").is_some_and(|extract| extract.split('/').next() == Some(flavor));
    let id = field("session").filter(|_| own).map(str::to_string);
    Ok(id.map(|native_id| Identity::main(native_id, None)))
}

/// The files of a session that are extracts.
pub fn extracts(log: &Log) -> Vec<usize> {
    let main = log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Main);
    main.filter(|(_, file)| is_extract(&file.path)).map(|(at, _)| at).collect()
}

/// Reads extracts of one session together, row by row.
pub fn read(dialect: &mut impl Dialect, out: &mut Transcript, files: &[usize]) -> Result<()> {
    let log = out.log;
    let cannot_read =
        |file: usize| format!("cannot read the log `{}`", log.files[file].path.display());
    let mut extracts = Vec::new();
    for file in files.iter().copied() {
        let mut rows = ExtractRows::open(&log.files[file].path).context(|| cannot_read(file))?;
        let skip = |line, reason| out.skip(file, line, reason);
        rows.advance(skip).context(|| cannot_read(file))?;
        extracts.push((file, rows));
    }
    while let Some(least) = extracts.iter().filter_map(|(_, rows)| rows.key()).min().cloned() {
        let mut latest = None;
        for (file, rows) in extracts.iter_mut().filter(|(_, rows)| rows.key() == Some(&least)) {
            if latest.is_some() {
                out.ignore("row of which a later form was read")?;
            }
            let position = |row: &ExtractRow| Position { file: *file as u32, line: row.number };
            latest = rows.next.take().map(|row| (position(&row), row.line));
            let skip = |line, reason| out.skip(*file, line, reason);
            rows.advance(skip).context(|| cannot_read(*file))?;
        }
        if let Some((position, line)) = latest
            && let Err(err) = out.read_record(dialect, &line, position)?
        {
            out.skip(position.file as usize, position.line, unexpected_shape(&err));
        }
    }
    Ok(())
}

/// Whether an extract has every row, in whatever form, that an earlier one had.
pub fn holds_all(earlier: &Path, later: &Path) -> io::Result<bool> {
    if !is_extract(earlier) || !is_extract(later) {
        return Ok(false);
    }
    let (mut old, mut new) = (ExtractRows::open(earlier)?, ExtractRows::open(later)?);
    let mut unreadable = false;
    old.advance(|_, _| unreadable = true)?;
    new.advance(|_, _| {})?;
    while let Some(key) = old.key() {
        match new.key() {
            Some(there) if there < key => new.advance(|_, _| {})?,
            Some(there) if there == key => old.advance(|_, _| unreadable = true)?,
            _ => return Ok(false),
        }
    }
    Ok(!unreadable)
}

/// The rows of one extract.
struct ExtractRows {
    lines: Lines<Box<dyn Read>>,
    next: Option<ExtractRow>,
}

/// The row that comes next.
struct ExtractRow {
    key: (Vec<Key>, String),
    line: Vec<u8>,
    number: u64,
}

impl ExtractRows {
    fn open(path: &Path) -> io::Result<ExtractRows> {
        Ok(ExtractRows { lines: Lines::new(jsonl::open(path)?), next: None })
    }

    fn key(&self) -> Option<&(Vec<Key>, String)> {
        self.next.as_ref().map(|row| &row.key)
    }

    /// Goes on to the next row; names what is none.
    fn advance(&mut self, mut skip: impl FnMut(u64, String)) -> io::Result<()> {
        self.next = None;
        while let Some((number, line)) = self.lines.next()? {
            let Line::Bytes { bytes, .. } = line else {
                skip(number, jsonl::TOO_LONG.into());
                continue;
            };
            if bytes.is_empty() || bytes.starts_with(BEGINNING.as_bytes()) {
                continue;
            }
            match serde_json::from_slice::<WireRow>(bytes) {
                Ok(row) => {
                    let (key, line) = ((row.key, row.table), bytes.to_vec());
                    self.next = Some(ExtractRow { key, line, number });
                    return Ok(());
                }
                Err(err) => skip(number, format!("not a row: {err}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::transcript::NoEvents;
    use crate::model::session::LogFile;

    struct RowLines(Vec<String>);

    impl Dialect for RowLines {
        type Record<'a> = WireRow<'a>;

        fn json(&mut self, json: &[u8], out: &mut Transcript) -> Result<serde_json::Result<()>> {
            self.0.push(format!("{} {}", out.context.position.file, String::from_utf8_lossy(json)));
            Ok(Ok(()))
        }
        fn record(&mut self, _: WireRow, _: &mut Transcript) -> Result<()> {
            Ok(())
        }
    }

    fn row(id: &str, text: &str) -> Vec<u8> {
        line(
            "message",
            &[Key::Number(1), Key::Text(id.into())],
            &[("text", Field::Text(text.into()))],
        )
    }

    #[test]
    fn of_each_row_the_latest_form_is_read_and_none_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let extract = |name: &str, rows: &[Vec<u8>]| {
            let path = folder.path().join(name);
            let mut bytes = Vec::new();
            write_header(&mut bytes, "goose", "a\"b").unwrap();
            bytes.extend(rows.concat());
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let earlier = extract("1.jsonl", &[row("a", "old"), row("b", "gone")]);
        let later = extract("2.jsonl", &[row("a", "new"), row("c", "more")]);
        assert_eq!(identify(&earlier, "goose").unwrap().unwrap().native_id, "a\"b");
        assert_eq!(identify(&earlier, "opencode").unwrap(), None);
        assert!(!holds_all(&earlier, &later).unwrap());
        assert!(holds_all(&extract("3.jsonl", &[row("c", "less")]), &later).unwrap());
        let file = |path| LogFile {
            path,
            name: "a.jsonl".into(),
            role: Role::Main,
            within: None,
            child: None,
        };
        let log = Log { native_id: "a".into(), files: vec![file(earlier), file(later)] };
        let (mut no_events, mut lines) = (NoEvents, RowLines(Vec::new()));
        let mut out = Transcript::new(&log, &mut no_events);
        read(&mut lines, &mut out, &extracts(&log)).unwrap();
        let line = |file: u32, bytes: Vec<u8>| {
            format!("{file} {}", String::from_utf8(bytes).unwrap().trim_end())
        };
        assert_eq!(
            lines.0,
            [line(1, row("a", "new")), line(0, row("b", "gone")), line(1, row("c", "more"))]
        );
        assert_eq!(out.head.ignored.values().sum::<u64>(), 1);
    }
}
