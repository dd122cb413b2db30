//! A copy is the content of a file in a new one that only its owner can read, hashed on the way.
//!
//! The hash is always SHA-256 in lower-case hex digits; [`HashingWriter`] makes it of whatever else
//! is written.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{create_new_private, open, remove_file};

/// How many bytes there are, and their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentHash {
    /// The number of bytes.
    pub bytes: u64,
    /// Their SHA-256 in lower-case hex digits.
    pub sha256: String,
}

/// Copies a file's content to a new file that only its owner can read, hashing it on the way.
///
/// The target must not exist, and is not synced: that is the batch's work.
pub fn copy_hashed(from: &Path, to: &Path) -> io::Result<ContentHash> {
    let mut source = open(from)?;
    let mut target = HashingWriter::new(create_new_private(to)?);
    match pump(&mut source, &mut target) {
        Ok(()) => Ok(target.finish().1),
        Err(err) => {
            let _ = remove_file(to);
            Err(err)
        }
    }
}

/// Returns a file's length and the SHA-256 of its content.
pub fn hash_file(path: &Path) -> io::Result<(u64, String)> {
    let mut target = HashingWriter::new(io::sink());
    pump(&mut open(path)?, &mut target)?;
    let (_, ContentHash { bytes, sha256 }) = target.finish();
    Ok((bytes, sha256))
}

/// Returns the SHA-256 of some bytes in lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A writer that hashes and counts what passes through it.
#[derive(Debug)]
pub struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    /// Wraps a writer.
    pub fn new(inner: W) -> HashingWriter<W> {
        HashingWriter { inner, hasher: Sha256::new(), bytes: 0 }
    }

    /// Returns the wrapped writer, not flushed, and what passed through to it.
    pub fn finish(self) -> (W, ContentHash) {
        (self.inner, ContentHash { bytes: self.bytes, sha256: hex(&self.hasher.finalize()) })
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string can always be written to");
    }
    text
}

/// Moves everything from a reader to a writer through one large buffer per thread.
fn pump(source: &mut impl Read, target: &mut impl Write) -> io::Result<()> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(1 << 20, 0);
        loop {
            match source.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => target.write_all(&buffer[..count])?,
                Err(err) if err.kind() == ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::super::tests::mode;
    use super::super::tests::names;
    use super::*;
    use std::fs;

    #[test]
    fn copies_and_hashes_agree() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for size in [0, 1, 1 << 20, (3 << 20) + 7] {
            let content: Vec<u8> = (0..size).map(|number| (number % 251) as u8).collect();
            fs::write(&from, &content).unwrap();
            let copied = copy_hashed(&from, &to).unwrap();
            assert_eq!(copied, ContentHash { bytes: size, sha256: sha256_hex(&content) });
            assert_eq!(hash_file(&to).unwrap(), (size, copied.sha256));
            assert!(fs::read(&to).unwrap() == content);
            #[cfg(unix)]
            assert_eq!(mode(&to), 0o600);
            assert_eq!(copy_hashed(&from, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
            fs::remove_file(&to).unwrap();
        }
        assert!(copy_hashed(folder.path(), &to).is_err());
        assert_eq!(names(folder.path()), ["from"]);
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn the_hashing_writer_counts_what_was_taken() {
        let mut small = [0; 3];
        let mut writer = HashingWriter::new(&mut small[..]);
        assert_eq!(writer.write(b"abcd").unwrap(), 3);
        assert_eq!(writer.finish().1, ContentHash { bytes: 3, sha256: sha256_hex(b"abc") });
    }
}
