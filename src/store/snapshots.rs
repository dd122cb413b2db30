//! A snapshot: what is kept of a session in full, with a manifest that `sha256sum -c` checks.
//!
//! It is built under a temporary name and hashed while it is written; a batch then puts it in its
//! place by one rename (an exchange, where an older one is there), so a session never is without
//! its raw.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::guards::LEAVE_ALL_OUT;
use super::layout::{self, MANIFEST};
use crate::base::files::{self, HashingWriter, NewFile};
use crate::model::digest::{Snapshot, SnapshotShape};

/// How many raw files a digest lists.
const MOST_LISTED: usize = 12;

/// Writes a new snapshot into a folder that did not exist before; or only hashes what would be
/// written.
pub struct SnapshotWriter {
    /// Where it is being built; none where it is only hashed.
    root: Option<PathBuf>,
    bytes: u64,
    /// Hash by path, both as the manifest has them.
    hashes: BTreeMap<String, String>,
    folders: std::collections::HashSet<PathBuf>,
}

/// A file of a snapshot in the making.
pub struct SnapshotFile {
    name: String,
    writer: HashingWriter<Target>,
}

/// Where a file's bytes go.
enum Target {
    File(BufWriter<NewFile>),
    Nowhere,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(file) => file.write(bytes),
            Target::Nowhere => Ok(bytes.len()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File(file) => file.flush(),
            Target::Nowhere => Ok(()),
        }
    }
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
        Ok(SnapshotWriter { root: Some(root.to_path_buf()), ..SnapshotWriter::nowhere() })
    }

    /// Writes nothing, but hashes what is written to it: to compare with what was written once.
    pub fn nowhere() -> SnapshotWriter {
        SnapshotWriter {
            root: None,
            bytes: 0,
            hashes: BTreeMap::new(),
            folders: std::collections::HashSet::new(),
        }
    }

    /// Copies a file into the snapshot, byte for byte; returns where the copy is.
    pub fn copy(&mut self, from: &Path, name: &str) -> io::Result<PathBuf> {
        let Some(to) = self.place(name)? else {
            let (bytes, sha256) = files::hash_file(from)?;
            self.bytes += bytes;
            self.hashes.insert(name.to_string(), sha256);
            return Ok(from.to_path_buf());
        };
        let copied = files::copy_hashed(from, &to)?;
        self.bytes += copied.bytes;
        self.hashes.insert(name.to_string(), copied.sha256);
        Ok(to)
    }

    /// Begins a file of the snapshot.
    pub fn file(&mut self, name: &str) -> io::Result<SnapshotFile> {
        let target = match self.place(name)? {
            Some(path) => {
                Target::File(BufWriter::with_capacity(64 << 10, files::create_new_private(&path)?))
            }
            None => Target::Nowhere,
        };
        Ok(SnapshotFile { name: name.to_string(), writer: HashingWriter::new(target) })
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

    /// What was written so far: hash by path, as the manifest will have them.
    pub fn hashes(&self) -> &BTreeMap<String, String> {
        &self.hashes
    }

    /// Writes what keeps raw and the long outputs out of git, where they are here. It is in no
    /// manifest.
    pub fn write_guards(&self) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        for folder in [layout::RAW, layout::SENSORY] {
            let path = root.join(folder).join(layout::GITIGNORE);
            let named = format!("{folder}/{}", layout::GITIGNORE);
            if self.folders.contains(&root.join(folder)) && !self.hashes.contains_key(&named) {
                files::create_new_private(&path)?.write_all(LEAVE_ALL_OUT.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Writes the manifest and says what the digest has to say of the snapshot; it lists the raw
    /// files.
    pub fn finish_listing(self, is_raw: impl Fn(&str) -> bool) -> io::Result<Snapshot> {
        let mut manifest = String::new();
        for (name, sha256) in &self.hashes {
            manifest.push_str(&manifest_line(sha256, name));
            manifest.push('\n');
        }
        if let Some(root) = &self.root {
            files::create_new_private(&root.join(MANIFEST))?.write_all(manifest.as_bytes())?;
        }
        Ok(described(&manifest, self.bytes, is_raw))
    }

    /// Where a file belongs, its folder made; none where nothing is written.
    fn place(&mut self, name: &str) -> io::Result<Option<PathBuf>> {
        let Some(root) = &self.root else { return Ok(None) };
        let path = root.join(name);
        let folder = path.parent().unwrap_or(root).to_path_buf();
        if !self.folders.contains(&folder) {
            files::create_private_dir(&folder)?;
            self.folders.insert(folder);
        }
        Ok(Some(path))
    }
}

/// The manifest of the files that are in a snapshot, where its own is lost; as it was, if no file
/// has changed since.
pub fn manifest_again(snapshot: &Path, shape: SnapshotShape) -> io::Result<String> {
    let mut hashes = BTreeMap::new();
    for file in files::walk_files(snapshot) {
        let file = file.map_err(io::Error::other)?;
        let name = layout::shown_relative(&file.relative);
        if name != MANIFEST && !layout::is_guard(&name, shape) {
            hashes.insert(name, files::hash_file(&file.path)?.1);
        }
    }
    Ok(hashes.iter().map(|(name, sha256)| manifest_line(sha256, name) + "\n").collect())
}

/// What a digest says of a snapshot with this manifest and so many bytes.
pub fn described(manifest: &str, bytes: u64, is_raw: impl Fn(&str) -> bool) -> Snapshot {
    let manifest_sha256 = files::sha256_hex(manifest.as_bytes());
    let named = |line: &&str| parse_manifest_line(line).is_some_and(|(_, name)| is_raw(&name));
    let mut raw: Vec<String> = manifest.lines().filter(named).map(str::to_string).collect();
    // A page has no room for hundreds of hashes; the manifest's own stands for them.
    if raw.len() > MOST_LISTED {
        raw = vec![manifest_line(&manifest_sha256, MANIFEST)];
    }
    Snapshot {
        evicted: None,
        bytes,
        files: manifest.lines().count() as u64,
        manifest_sha256,
        manifest: raw,
    }
}

/// The same without the names of files, where one of them may not be shown: the manifest's own hash
/// stands for them.
pub fn without_names(snapshot: Snapshot) -> Snapshot {
    let manifest = vec![manifest_line(&snapshot.manifest_sha256, MANIFEST)];
    Snapshot { manifest, ..snapshot }
}

/// How much room a snapshot takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Raw and long outputs, which are evicted first.
    pub heavy: u64,
    /// The readable pages.
    pub light: u64,
}

impl Measured {
    /// All of it.
    pub fn all(&self) -> u64 {
        self.heavy + self.light
    }
}

/// Measures the snapshot in a folder; one that is not there takes none. The manifest does not
/// count: it always stays.
pub fn measure(snapshot: &Path, shape: SnapshotShape) -> Measured {
    let mut measured = Measured::default();
    if !files::exists(snapshot) {
        return measured;
    }
    for file in files::walk_files(snapshot).flatten() {
        match layout::shown_relative(&file.relative) {
            name if name == MANIFEST || layout::is_guard(&name, shape) => {}
            name if layout::is_heavy(&name, shape) => measured.heavy += file.metadata.len(),
            _ => measured.light += file.metadata.len(),
        }
    }
    measured
}

/// How much a snapshot takes in all.
pub fn bytes(snapshot: &Path) -> u64 {
    // Every file counts, whichever shape it is of.
    measure(snapshot, SnapshotShape::Log).all()
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
