//! A snapshot: what is kept of a session in full, with a manifest that `sha256sum -c` checks.
//!
//! It is built under a temporary name and hashed while it is written; a batch then puts it in its place
//! by one rename (an exchange, where an older one is there), so a session never is without its raw.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::layout::{MANIFEST, RAW};
use crate::base::files::{self, HashingWriter};
use crate::model::digest::Snapshot;

/// How many raw files a digest lists.
const MOST_LISTED: usize = 12;

/// Writes a new snapshot into a folder that did not exist before.
pub struct SnapshotWriter {
    root: PathBuf,
    bytes: u64,
    /// Hash by path, both as the manifest has them.
    hashes: BTreeMap<String, String>,
    folders: std::collections::HashSet<PathBuf>,
}

/// A file of a snapshot in the making.
pub struct SnapshotFile {
    name: String,
    writer: HashingWriter<BufWriter<File>>,
}

impl Write for SnapshotFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl SnapshotWriter {
    /// Begins a snapshot; its folder is private from the first moment.
    pub fn create(root: &Path) -> io::Result<SnapshotWriter> {
        files::create_private_dir(root)?;
        Ok(SnapshotWriter {
            root: root.to_path_buf(),
            bytes: 0,
            hashes: BTreeMap::new(),
            folders: std::collections::HashSet::new(),
        })
    }

    /// Where the snapshot is being built.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Copies a file into the snapshot, byte for byte.
    pub fn copy(&mut self, from: &Path, name: &str) -> io::Result<PathBuf> {
        let to = self.place(name)?;
        let copied = files::copy_hashed(from, &to)?;
        self.bytes += copied.bytes;
        self.hashes.insert(name.to_string(), copied.sha256);
        Ok(to)
    }

    /// Begins a file of the snapshot.
    pub fn file(&mut self, name: &str) -> io::Result<SnapshotFile> {
        let file = File::options().write(true).create_new(true).open(self.place(name)?)?;
        Ok(SnapshotFile {
            name: name.to_string(),
            writer: HashingWriter::new(BufWriter::with_capacity(64 << 10, file)),
        })
    }

    /// Ends a file of the snapshot.
    pub fn close(&mut self, file: SnapshotFile) -> io::Result<()> {
        let (mut writer, written) = file.writer.finish();
        writer.flush()?;
        self.bytes += written.bytes;
        self.hashes.insert(file.name, written.sha256);
        Ok(())
    }

    /// Writes a whole file of the snapshot.
    pub fn write(&mut self, name: &str, text: &str) -> io::Result<()> {
        let mut file = self.file(name)?;
        file.write_all(text.as_bytes())?;
        self.close(file)
    }

    /// Writes the manifest and says what the digest has to say of the snapshot.
    pub fn finish(self) -> io::Result<Snapshot> {
        self.finish_listing(|name| name.starts_with(RAW))
    }

    /// Does the same where other files than those under `raw/` count as raw.
    pub fn finish_listing(self, is_raw: impl Fn(&str) -> bool) -> io::Result<Snapshot> {
        let mut manifest = String::new();
        let mut raw = Vec::new();
        for (name, sha256) in &self.hashes {
            let line = manifest_line(sha256, name);
            manifest.push_str(&line);
            manifest.push('\n');
            if is_raw(name) {
                raw.push(line);
            }
        }
        fs::write(self.root.join(MANIFEST), &manifest)?;
        let manifest_sha256 = files::sha256_hex(manifest.as_bytes());
        // A page has no room for hundreds of hashes; the manifest's own stands for them.
        if raw.len() > MOST_LISTED {
            raw = vec![manifest_line(&manifest_sha256, MANIFEST)];
        }
        Ok(Snapshot {
            evicted: None,
            bytes: self.bytes,
            files: self.hashes.len() as u64,
            manifest_sha256,
            manifest: raw,
        })
    }

    fn place(&mut self, name: &str) -> io::Result<PathBuf> {
        let path = self.root.join(name);
        let folder = path.parent().unwrap_or(&self.root).to_path_buf();
        if !self.folders.contains(&folder) {
            files::create_private_dir(&folder)?;
            self.folders.insert(folder);
        }
        Ok(path)
    }
}

/// A line of a manifest. `sha256sum` marks names with odd characters by a leading backslash.
fn manifest_line(sha256: &str, name: &str) -> String {
    if name.contains(['\\', '\n', '\r']) {
        let escaped = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
        format!("\\{sha256}  {escaped}")
    } else {
        format!("{sha256}  {name}")
    }
}

/// Reads a line of a manifest back: the hash and the path.
pub fn parse_manifest_line(line: &str) -> Option<(&str, String)> {
    let (escaped, line) = match line.strip_prefix('\\') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (sha256, name) = line.split_once("  ")?;
    if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    if !escaped {
        return Some((sha256, name.to_string()));
    }
    let mut plain = String::new();
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.push(match letters.next()? {
                'n' => '\n',
                'r' => '\r',
                other => other,
            }),
            letter => plain.push(letter),
        }
    }
    Some((sha256, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_lines_are_read_back() {
        let hash = "0".repeat(64);
        for name in ["raw/a.jsonl", "raw/with  two spaces", "raw/back\\slash", "raw/new\nline"] {
            let line = manifest_line(&hash, name);
            assert!(!line.contains('\n'));
            assert_eq!(parse_manifest_line(&line), Some((hash.as_str(), name.to_string())));
        }
        assert_eq!(parse_manifest_line("not a hash  raw/x"), None);
    }
}
