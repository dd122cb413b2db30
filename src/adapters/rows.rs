//! The rows of one session, written out of a database: the canonical form in which they are kept.
//!
//! The first line says whose they are, `{"extract":"goose/1","session":…}`. Each further line is a
//! row, `{"table":…,"key":[…],"row":{…}}`, ordered by key; table and key are what tells a row from
//! the others. Extracts of one session made at different times are read together: of each row the
//! latest form counts, and a row that the database has no more is still told.

use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::jsonl::{self, Dialect, Line, Lines};
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

/// The line of one row. Written by hand, because its bytes have to be the same for ever.
pub fn line(table: &str, key: &[Key], fields: &[(&str, Value)]) -> Vec<u8> {
    let key: Vec<String> = key
        .iter()
        .map(|part| match part {
            Key::None => Value::Null.to_string(),
            Key::Number(number) => number.to_string(),
            Key::Text(text) => Value::from(text.as_str()).to_string(),
        })
        .collect();
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!(
        "{{\"table\":\"{table}\",\"key\":[{}],\"row\":{{{}}}}}\n",
        key.join(","),
        fields.join(",")
    )
    .into_bytes()
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
    Ok(id.map(|native_id| Identity { native_id, role: Role::Main, lineage: None }))
}

/// The files of a session that are extracts.
pub fn extracts(log: &Log) -> Vec<usize> {
    let main = log.files.iter().enumerate().filter(|(_, file)| file.role == Role::Main);
    main.filter(|(_, file)| is_extract(&file.path)).map(|(at, _)| at).collect()
}

/// Reads extracts of one session together, row by row.
pub fn read(dialect: &mut impl Dialect, log: &Log, files: &[usize]) -> Result<()> {
    let mut streams = Vec::new();
    for at in files {
        let path = &log.files[*at].path;
        let cannot_read = || format!("cannot read the log `{}`", path.display());
        let lines = Lines::new(jsonl::open(path).context(cannot_read)?);
        let mut stream = Stream { path, file: *at, lines, next: None };
        stream
            .advance(|line, reason| jsonl::skip(dialect.head(), path, line, reason))
            .context(cannot_read)?;
        streams.push(stream);
    }
    while let Some(least) = streams.iter().filter_map(Stream::key).min().cloned() {
        let mut latest = None;
        for stream in streams.iter_mut().filter(|stream| stream.key() == Some(&least)) {
            if latest.is_some() {
                jsonl::ignore(dialect.head(), "row of which a later form was read");
            }
            let (path, file) = (stream.path, stream.file as u32);
            latest = stream
                .next
                .take()
                .map(|next| (next.line, Position { file, line: next.number }, path));
            let skip = |line, reason| jsonl::skip(dialect.head(), path, line, reason);
            stream.advance(skip).context(|| format!("cannot read the log `{}`", path.display()))?;
        }
        if let Some((line, position, path)) = latest
            && let Err(err) = dialect.record(&line, position)?
        {
            jsonl::skip(dialect.head(), path, position.line, format!("an unexpected shape: {err}"));
        }
    }
    Ok(())
}

/// Whether an extract has every row, in whatever form, that an earlier one had.
pub fn holds_all(earlier: &Path, later: &Path) -> io::Result<bool> {
    if !is_extract(earlier) || !is_extract(later) {
        return Ok(false);
    }
    let open = |path| {
        Ok::<_, io::Error>(Stream {
            path,
            file: 0,
            lines: Lines::new(jsonl::open(path)?),
            next: None,
        })
    };
    let (mut old, mut new) = (open(earlier)?, open(later)?);
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
struct Stream<'p> {
    path: &'p Path,
    file: usize,
    lines: Lines<Box<dyn Read>>,
    next: Option<Next>,
}

/// The row that a stream comes to next.
struct Next {
    key: (Vec<Key>, String),
    line: Vec<u8>,
    number: u64,
}

impl Stream<'_> {
    fn key(&self) -> Option<&(Vec<Key>, String)> {
        self.next.as_ref().map(|next| &next.key)
    }

    /// Goes on to the next row; names what is none.
    fn advance(&mut self, mut skip: impl FnMut(u64, String)) -> io::Result<()> {
        self.next = None;
        while let Some((number, line)) = self.lines.next()? {
            let Line::Bytes { bytes, .. } = line else {
                skip(number, "a line longer than 32 MB".into());
                continue;
            };
            if bytes.is_empty() || bytes.starts_with(BEGINNING.as_bytes()) {
                continue;
            }
            match serde_json::from_slice::<WireRow>(bytes) {
                Ok(row) => {
                    self.next =
                        Some(Next { key: (row.key, row.table), line: bytes.to_vec(), number });
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
    use crate::model::session::{Head, LogFile};

    struct Told(Head, Vec<String>);

    impl Dialect for Told {
        fn head(&mut self) -> &mut Head {
            &mut self.0
        }
        fn record(&mut self, json: &[u8], position: Position) -> Result<serde_json::Result<()>> {
            self.1.push(format!("{} {}", position.file, String::from_utf8_lossy(json)));
            Ok(Ok(()))
        }
    }

    fn row(id: &str, text: &str) -> Vec<u8> {
        line("message", &[Key::Number(1), Key::Text(id.into())], &[("text", text.into())])
    }

    #[test]
    fn of_each_row_the_latest_form_is_told_and_none_is_lost() {
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
        let file = |path| LogFile { path, name: "a.jsonl".into(), role: Role::Main, within: None };
        let log = Log { native_id: "a".into(), files: vec![file(earlier), file(later)] };
        let mut told = Told(Head::default(), Vec::new());
        read(&mut told, &log, &extracts(&log)).unwrap();
        let lines: Vec<&str> = told.1.iter().map(String::as_str).collect();
        let line = |file: u32, bytes: Vec<u8>| {
            format!("{file} {}", String::from_utf8(bytes).unwrap().trim_end())
        };
        assert_eq!(
            lines,
            [line(1, row("a", "new")), line(0, row("b", "gone")), line(1, row("c", "more"))]
        );
        assert_eq!(told.0.ignored.values().sum::<u64>(), 1);
    }
}
