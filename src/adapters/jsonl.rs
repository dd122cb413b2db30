//! The line reader that adapters share: lines of a log, one at a time, whatever is in them.
//!
//! Memory is bounded by one line, and a line by [`LONGEST_LINE`]. A line that does not parse is
//! looked at once more by [`salvage`], which finds the whole records in torn, glued or NUL-filled
//! lines, so that what is named as skipped is only what really cannot be read.

use crate::base::files;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr;
use memchr::memmem;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A line longer than this is skipped by name.
pub const LONGEST_LINE: usize = 32 << 20;
/// Why it is.
pub const TOO_LONG: &str = "a line longer than 32 MB";

const FIRST_BUFFER: usize = 128 << 10;

/// A line of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes without the line end; `last` where no line end followed.
    Bytes { bytes: &'a [u8], last: bool },
    /// It was longer than [`LONGEST_LINE`].
    TooLong,
}

/// Reads lines of bytes, split at `\n` only.
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    longest: usize,
}

impl Lines<File> {
    /// Opens a log.
    pub fn open(path: &Path) -> io::Result<Lines<File>> {
        Ok(Lines::new(files::open(path)?))
    }
}

impl<R: Read> Lines<R> {
    /// Reads lines from anything.
    pub fn new(reader: R) -> Lines<R> {
        Lines::with_longest(reader, LONGEST_LINE)
    }

    fn with_longest(reader: R, longest: usize) -> Lines<R> {
        Lines {
            reader,
            buffer: vec![0; FIRST_BUFFER.min(longest)],
            start: 0,
            end: 0,
            number: 0,
            longest,
        }
    }

    /// Gives the next line and its number (from 1), or `None` at the end.
    #[allow(clippy::should_implement_trait)] // Lines borrow from the buffer, as no Iterator can.
    pub fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = self.start..searched + at;
                self.start = searched + at + 1;
                self.number += 1;
                let bytes = without_carriage_return(&self.buffer[line]);
                let bytes = if self.number == 1 { without_mark(bytes) } else { bytes };
                return Ok(Some((self.number, Line::Bytes { bytes, last: false })));
            }
            searched = self.end;
            if self.start > 0 && self.end == self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                (searched, self.end, self.start) =
                    (self.end - self.start, self.end - self.start, 0);
            }
            if self.end == self.buffer.len() {
                if self.buffer.len() >= self.longest {
                    return self.skip_rest_of_line();
                }
                let grown = (self.buffer.len() * 2).min(self.longest);
                self.buffer.resize(grown, 0);
            }
            let read = self.fill()?;
            if read == 0 {
                if self.start == self.end {
                    return Ok(None);
                }
                let line = self.start..self.end;
                self.start = self.end;
                self.number += 1;
                let bytes = &self.buffer[line];
                let bytes = if self.number == 1 { without_mark(bytes) } else { bytes };
                return Ok(Some((self.number, Line::Bytes { bytes, last: true })));
            }
        }
    }

    /// How many lines were read.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    fn skip_rest_of_line(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.number += 1;
        // Give the memory back: the next lines are ordinary again.
        self.buffer = vec![0; FIRST_BUFFER.min(self.longest)];
        loop {
            (self.start, self.end) = (0, 0);
            let read = self.fill()?;
            if read == 0 {
                return Ok(Some((self.number, Line::TooLong)));
            }
            if let Some(at) = memchr(b'\n', &self.buffer[..self.end]) {
                self.start = at + 1;
                return Ok(Some((self.number, Line::TooLong)));
            }
        }
    }
}

/// The first line without the mark that some editors put before UTF-8.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What [`salvage`] found in a line that did not parse.
#[derive(Debug, PartialEq, Eq)]
pub struct Salvage {
    /// The whole JSON objects in it.
    pub records: Vec<String>,
    /// What is wrong with the line.
    pub reason: String,
}

/// Finds the whole records in a line that is not one JSON object.
pub fn salvage(line: &[u8], last: bool) -> Salvage {
    let lossy = String::from_utf8_lossy(line);
    let mut faults = Vec::new();
    if matches!(lossy, std::borrow::Cow::Owned(_)) {
        faults.push("invalid UTF-8 was replaced".to_string());
    }
    let nul = line.iter().filter(|byte| **byte == 0).count();
    if nul > 0 {
        faults.push(format!("{nul} NUL bytes"));
    }
    let mut records = Vec::new();
    let mut rest = lossy.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let mut torn = false;
    while !rest.is_empty() {
        if let Some(length) = object_length(rest) {
            records.push(rest[..length].to_string());
            rest = rest[length..].trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
            continue;
        }
        torn = true;
        // A record that was cut mid-string may have the next one glued to it: go on at its start.
        let behind = rest.char_indices().nth(1).map_or("", |(second, _)| &rest[second..]);
        match next_start(behind) {
            Some(at) => rest = &behind[at..],
            None => break,
        }
    }
    if torn {
        faults.push(match (records.is_empty(), last) {
            (true, true) => "cut short: the last line is not whole (still being written?)".into(),
            (true, false) => "not a JSON record".into(),
            (false, _) => "a torn record; the whole one glued to it was kept".into(),
        });
    } else if records.len() > 1 {
        faults.push(format!("{} records glued on one line; all were kept", records.len()));
    }
    Salvage { records, reason: faults.join("; ") }
}

/// The length of the JSON object that stands at the beginning of a text.
fn object_length(text: &str) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Where the next record may begin: agents start their records with one of few keys.
fn next_start(text: &str) -> Option<usize> {
    [
        "{\"parentUuid\"", "{\"type\"", "{\"timestamp\"", "{\"uuid\"", "{\"sessionId\"", "{\"id\"",
        "{\"role\"",
    ]
    .iter()
    .filter_map(|start| memmem::find(text.as_bytes(), start.as_bytes()))
    .min()
}

/// Opens a log, packed (`.zst`) or not.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = files::open(path)?;
    if !is_packed(path) {
        return Ok(Box::new(file));
    }
    Ok(Box::new(Unpacking::new(io::BufReader::new(file))?))
}

/// Reads a packed log, all its frames one after the other.
struct Unpacking {
    frame: Option<StreamingDecoder<io::BufReader<File>, FrameDecoder>>,
}

impl Unpacking {
    fn new(packed: io::BufReader<File>) -> io::Result<Unpacking> {
        let frame = StreamingDecoder::new(packed).map_err(damaged)?;
        Ok(Unpacking { frame: Some(frame) })
    }
}

impl Read for Unpacking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut frame) = self.frame.take() {
            let read = frame.read(buffer).map_err(damaged)?;
            if read > 0 || buffer.is_empty() {
                self.frame = Some(frame);
                return Ok(read);
            }
            let mut rest = frame.into_inner();
            if !io::BufRead::fill_buf(&mut rest)?.is_empty() {
                *self = Unpacking::new(rest)?;
            }
        }
        Ok(0)
    }
}

/// What is packed in these bytes, as far as a document may be long; `None` where nothing is.
pub fn unpacked(bytes: &[u8]) -> Option<Cow<'static, [u8]>> {
    const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let frame = StreamingDecoder::new(bytes).ok().filter(|_| bytes.starts_with(MAGIC))?;
    let mut whole = Vec::new();
    frame.take(LONGEST_DOCUMENT).read_to_end(&mut whole).ok()?;
    Some(whole.into())
}

/// What the unpacker says in detail differs from version to version and helps nobody.
fn damaged<E>(_: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the packed log cannot be unpacked any further")
}

/// Whether a log is packed.
pub fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst" || extension == "zstd")
}

/// Reads the first records of a log, which show whose it is: at most `most` whole objects.
pub fn first_objects(path: &Path, most: usize) -> io::Result<Vec<Map<String, Value>>> {
    // Enough for the first records of any agent; a longer first line is no log that we know.
    let mut lines = Lines::new(open(path)?.take(4 << 20));
    let mut objects = Vec::new();
    while objects.len() < most {
        let (number, line) = match lines.next() {
            Ok(Some(next)) => next,
            // A packed log that is cut short still shows whose it is.
            Err(_) if !objects.is_empty() => break,
            Ok(None) => break,
            Err(err) => return Err(err),
        };
        if number > 200 {
            break;
        }
        let Line::Bytes { bytes, .. } = line else { continue };
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => objects.push(object),
            Ok(_) => {}
            Err(_) => {
                let records = salvage(bytes, false).records;
                objects.extend(
                    records
                        .iter()
                        .take(most)
                        .filter_map(|record| serde_json::from_str(record).ok()),
                );
            }
        }
    }
    objects.truncate(most);
    Ok(objects)
}

/// The name of a file without its `.jsonl`; `None` where it has another ending.
pub fn stem(file: &Path) -> Option<String> {
    file.file_name()?.to_string_lossy().strip_suffix(".jsonl").map(str::to_string)
}

/// A field of a record as text; empty where there is none.
pub fn string<'r>(record: &'r Map<String, Value>, name: &str) -> &'r str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The longest log that is one JSON document; these have to be held whole.
pub const LONGEST_DOCUMENT: u64 = 64 << 20;

/// The first fields of a JSON document, which show whose it is: the `wanted` ones, and whether it
/// has the `list`.
///
/// Parses no further than it has to, and never reads more than a megabyte.
pub fn document_head(path: &Path, wanted: &[&str], list: &str) -> io::Result<Map<String, Value>> {
    struct Fields<'w> {
        wanted: &'w [&'w str],
        list: &'w str,
        found: &'w mut Map<String, Value>,
    }
    impl<'de> Visitor<'de> for Fields<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                if name == self.list {
                    // Noted before it is read: a long list may well end beyond the first megabyte.
                    self.found.insert(name, Value::Array(Vec::new()));
                } else if self.wanted.contains(&name.as_str()) {
                    self.found.insert(name, map.next_value()?);
                    continue;
                }
                if self.found.len() == self.wanted.len() + 1 {
                    return Err(serde::de::Error::custom("enough"));
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut found = Map::new();
    let mut file = files::open(path)?;
    let mut start = [0; 64];
    let length = file.read(&mut start)?;
    if start[..length].trim_ascii_start().first() != Some(&b'{') {
        return Ok(found);
    }
    let mut text = start[..length].to_vec();
    file.take((1 << 20) - length as u64).read_to_end(&mut text)?;
    let mut document = serde_json::Deserializer::from_slice(&text);
    // However it ends: what was found is found.
    let _ = document.deserialize_map(Fields { wanted, list, found: &mut found });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], longest: usize) -> Vec<(u64, Option<String>, bool)> {
        let mut lines = Lines::with_longest(text, longest);
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            all.push(match line {
                Line::Bytes { bytes, last } => {
                    (number, Some(String::from_utf8_lossy(bytes).into_owned()), last)
                }
                Line::TooLong => (number, None, false),
            });
        }
        all
    }

    #[test]
    fn lines_end_at_newlines_only() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            lines("a\r\nb\u{2028}c\n\nd".as_bytes(), 1024),
            [
                (1, some("a"), false),
                (2, some("b\u{2028}c"), false),
                (3, some(""), false),
                (4, some("d"), true)
            ]
        );
        assert_eq!(lines(b"", 1024), []);
    }

    #[test]
    fn a_line_too_long_is_named_and_the_rest_goes_on() {
        let text = format!("one\n{}\nthree\n", "x".repeat(5000));
        assert_eq!(
            lines(text.as_bytes(), 64),
            [(1, Some("one".into()), false), (2, None, false), (3, Some("three".into()), false)]
        );
        let unended = format!("one\n{}", "x".repeat(5000));
        assert_eq!(lines(unended.as_bytes(), 64).last(), Some(&(2, None, false)));
    }

    #[test]
    fn lines_longer_than_the_buffer_are_whole() {
        let long = "y".repeat(3 * FIRST_BUFFER);
        let text = format!("{long}\nz\n{long}");
        let got = lines(text.as_bytes(), LONGEST_LINE);
        assert_eq!(got.len(), 3);
        assert_eq!(got[0].1.as_deref(), Some(long.as_str()));
        assert_eq!(got[2], (3, Some(long), true));
    }

    #[track_caller]
    fn check(line: &[u8], records: &[&str], reason: &str) {
        let salvage = salvage(line, false);
        assert_eq!(salvage.records, records);
        assert!(salvage.reason.contains(reason), "{}", salvage.reason);
    }

    #[test]
    fn whole_records_are_found_in_bad_lines() {
        check(b"\0\0\0\0", &[], "4 NUL bytes");
        check(b"\0\0{\"type\":\"a\"}", &["{\"type\":\"a\"}"], "2 NUL bytes");
        check(
            b"{\"type\":\"pr-link\",\"prNu{\"parentUuid\":null,\"type\":\"user\"}",
            &["{\"parentUuid\":null,\"type\":\"user\"}"],
            "torn record",
        );
        check(b"{\"type\":1}{\"type\":2}", &["{\"type\":1}", "{\"type\":2}"], "2 records glued");
        check(b"{\"type\":\"us", &[], "not a JSON record");
        check(b"// a comment", &[], "not a JSON record");
        check(b"{\"type\":\"\xff\"}", &["{\"type\":\"\u{fffd}\"}"], "invalid UTF-8");
        // What begins with a letter of several bytes is no record either.
        assert_eq!(super::salvage("\u{fffd}".as_bytes(), false).records, [""; 0]);
        assert_eq!(super::salvage("é{\"type\":1}".as_bytes(), false).records, ["{\"type\":1}"]);
        let cut = super::salvage(b"{\"type\":\"us", true);
        assert!(cut.reason.contains("cut short"));
    }

    #[test]
    fn the_head_of_a_document_is_found_wherever_its_fields_stand() {
        let check = |document: &str, expect: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), document).unwrap();
            let head = document_head(file.path(), &["id", "kind"], "messages").unwrap();
            assert_eq!(Value::Object(head).to_string(), expect, "{document}");
        };
        check(
            r#"{"id":"a","kind":"b","messages":[{"torn"#,
            r#"{"id":"a","kind":"b","messages":[]}"#,
        );
        check(
            r#"{"messages":[1,[2]],"other":{},"kind":{"x":1},"id":"a"}"#,
            r#"{"id":"a","kind":{"x":1},"messages":[]}"#,
        );
        check(r#" [{"id":"a"}]"#, "{}");
        check("", "{}");
    }

    #[test]
    fn a_packed_log_or_a_plain_one_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("a.jsonl"), folder.path().join("a.jsonl.zst"));
        std::fs::write(&plain, "{\"a\":1}\n").unwrap();
        std::fs::write(&packed, "not packed at all").unwrap();
        assert_eq!(first_objects(&plain, 5).unwrap().len(), 1);
        assert!(first_objects(&packed, 5).is_err());
    }
}
