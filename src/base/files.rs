//! Files: written whole or not at all, appended to under a lock, copied with their hash, walked in order.
//!
//! [`write_atomic`] and [`Batch`] put whole files in place by renaming; [`append_locked`] and [`update_locked`]
//! change a file that other processes change too; [`FileLock`] keeps a job to one process at a time.
//! [`safe_name`] and [`safe_relative`] stand between a name that somebody else chose and a path.
//! Nothing here follows a symbolic link in order to write.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};
use walkdir::WalkDir;

/// Replaces a file as a whole: whoever reads it finds the old or the new content, also after a power loss.
///
/// A missing folder is created, the mode of an existing file is kept, and a symbolic link is replaced, not
/// followed: a caller who means its target resolves it first.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(path, bytes)?;
    temporary.as_file().sync_all()?;
    temporary.into_temp_path().persist(path)?;
    sync_folder(parent_of(path))
}

/// Does the same, unless the file already holds just these bytes; returns whether it wrote.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    // The length is compared first, so that most changed files need not be read.
    let unchanged = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == bytes.len() as u64 && fs::read(path)? == bytes,
        Err(trouble) if trouble.kind() == ErrorKind::NotFound => false,
        Err(trouble) => return Err(trouble),
    };
    if !unchanged {
        write_atomic(path, bytes)?;
    }
    Ok(!unchanged)
}

/// Tells a temporary file of ours, which a killed process may have left behind, from all other files.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY_PREFIX.as_bytes()) && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

const TEMPORARY_PREFIX: &str = ".memtree-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Many whole-file writes and folder renames that share one sync.
///
/// The content waits under temporary names until [`Batch::commit`] has synced all of it; then the renames happen
/// in the order in which they were added. So a kill at any point leaves a prefix of them, each file old or new.
/// The same holds for a power loss on a file system that journals its renames in order (ext4, XFS, Btrfs, APFS);
/// who must not rely on that commits what has to come first in a batch of its own.
/// An uncommitted batch removes its temporary files when dropped, and leaves the folders to be renamed alone.
#[derive(Debug, Default)]
pub struct Batch {
    steps: Vec<Step>,
    /// Folders in which a name has changed and is to be made durable.
    folders: BTreeSet<PathBuf>,
    /// One open folder per file system, for `syncfs`. It is opened before the first write there, because a later
    /// handle might not be told of a write that failed in between.
    #[cfg(target_os = "linux")]
    file_systems: Vec<(u64, File)>,
}

#[derive(Debug)]
enum Step {
    Write { temporary: TempPath, path: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
}

/// Up to this many files or folders, syncing each is cheaper than syncing a file system others write to as well.
const FEW: usize = 4;

impl Batch {
    /// Begins an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Returns whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Writes the new content of a file to a temporary name beside it.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.folders.extend(create_folders(parent_of(path))?);
        self.remember_file_system(parent_of(path))?;
        let temporary = write_temporary(path, bytes)?.into_temp_path();
        self.steps.push(Step::Write { temporary, path: path.to_owned() });
        Ok(())
    }

    /// Notes that a folder, with everything in it, is to be moved to its final name on the same file system.
    ///
    /// A folder that stands there already is replaced, in one step where the system can exchange two names;
    /// the old one is deleted when everything is in place. A kill before that leaves it under the name `from`,
    /// or under a temporary name.
    pub fn rename_dir(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.folders.extend(create_folders(parent_of(to))?);
        self.remember_file_system(from)?;
        self.steps.push(Step::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    /// Syncs all content at once, then puts it in place, in order, and makes that durable too.
    pub fn commit(mut self) -> io::Result<()> {
        self.sync_content()?;
        let mut folders = std::mem::take(&mut self.folders);
        let mut replaced = Vec::new();
        // On an error, the temporary files not yet renamed are removed as the remaining steps are dropped.
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Write { temporary, path } => {
                    temporary.persist(&path)?;
                    folders.insert(parent_of(&path).to_owned());
                }
                Step::Rename { from, to } => {
                    replaced.extend(replace_folder(&from, &to)?);
                    folders.extend([parent_of(&from).to_owned(), parent_of(&to).to_owned()]);
                }
            }
        }
        if folders.len() <= FEW || !self.sync_file_systems()? {
            folders.iter().try_for_each(|folder| sync_folder(folder))?;
        }
        for folder in replaced {
            // All is committed by now; what cannot be deleted is a leftover, as after a kill, and no failure.
            let _ = fs::remove_dir_all(folder);
        }
        Ok(())
    }

    fn sync_content(&self) -> io::Result<()> {
        let few = self.steps.len() <= FEW && self.steps.iter().all(|step| matches!(step, Step::Write { .. }));
        if !few && self.sync_file_systems()? {
            return Ok(());
        }
        for step in &self.steps {
            match step {
                Step::Write { temporary, .. } => sync_file(temporary)?,
                Step::Rename { from, .. } => sync_tree(from)?,
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn remember_file_system(&mut self, folder: &Path) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let device = fs::metadata(folder)?.dev();
        if self.file_systems.iter().all(|(known, _)| *known != device) {
            self.file_systems.push((device, File::open(folder)?));
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn remember_file_system(&mut self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Syncs every file system written to; returns false where the system has no such call.
    #[cfg(target_os = "linux")]
    fn sync_file_systems(&self) -> io::Result<bool> {
        for (_, folder) in &self.file_systems {
            match rustix::fs::syncfs(folder) {
                Ok(()) => {}
                Err(rustix::io::Errno::NOSYS) => return Ok(false),
                Err(trouble) => return Err(trouble.into()),
            }
        }
        Ok(true)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_file_systems(&self) -> io::Result<bool> {
        Ok(false)
    }
}

/// Appends one line to a file that other processes append to or rewrite, and syncs it.
///
/// The first line of all comes after the header. A line that an earlier writer could not finish is ended first,
/// so that it spoils no other.
pub fn append_locked(path: &Path, header: impl FnOnce() -> String, line: &str) -> io::Result<()> {
    let mut locked = lock_data(path)?;
    let line = line.trim_end_matches(['\r', '\n']);
    let length = locked.file.metadata()?.len();
    if length == 0 {
        let mut text = header();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
        // By renaming, so that half a header can never be; whoever waits for the lock sees the new file.
        return locked.or_remove(write_atomic(path, text.as_bytes()));
    }
    let healing = if ends_with_newline(&mut locked.file)? { "" } else { "\n" };
    let text = format!("{healing}{line}\n");
    let written = locked.file.write_all(text.as_bytes()).and_then(|()| locked.file.sync_data());
    if written.is_err() {
        // A full disk may have taken part of the line; this much of it can be taken back. The error that counts
        // is the first.
        let _ = locked.file.set_len(length);
    }
    written
}

/// Rewrites a file under the lock that [`append_locked`] honours; returns whether it changed.
///
/// `change` is given the content, or `None` where there is no file or an empty one, and returns the new content,
/// or `None` to leave it as it is.
pub fn update_locked(path: &Path, change: impl FnOnce(Option<Vec<u8>>) -> Option<Vec<u8>>) -> io::Result<bool> {
    let mut locked = lock_data(path)?;
    let mut before = Vec::new();
    let read = locked.file.read_to_end(&mut before);
    locked.or_remove(read)?;
    let after = change((!before.is_empty()).then(|| before.clone()));
    match after.filter(|after| *after != before) {
        Some(after) => locked.or_remove(write_atomic(path, &after).map(|()| true)),
        None => {
            locked.remove_if_created();
            Ok(false)
        }
    }
}

/// A data file whose lock we hold, and whether it was us who created it, empty, to have something to lock.
struct Locked<'path> {
    file: File,
    path: &'path Path,
    created: bool,
}

impl Locked<'_> {
    fn or_remove<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| self.remove_if_created())
    }

    /// Removes the file again if nothing came of it. Nobody else can have written to it while we hold its lock,
    /// and whoever waits for that lock will see that the file is gone.
    fn remove_if_created(&self) {
        if self.created {
            // An empty file counts as none, so it does no harm if it has to stay.
            let _ = fs::remove_file(self.path);
        }
    }
}

/// Opens a data file, creating it if need be, and waits for its lock.
///
/// The lock is on the data file itself. A lock file beside it would need a place of its own in a tree that people
/// read and git syncs, and a writer that is not ours could not guess its name, whereas `flock DAY.md` just works.
/// The price is that a rewrite renames another file into place while others wait for the lock of the old one. So
/// whoever gets a lock looks whether the path still names the file it locked, and otherwise begins again. The
/// open handle keeps the old file's number from being given to another file meanwhile.
fn lock_data(path: &Path) -> io::Result<Locked<'_>> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A synced tree may bring along a link to a file outside of it.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    loop {
        let (file, created) = match options.open(path) {
            Ok(file) => (file, false),
            Err(trouble) if trouble.kind() == ErrorKind::NotFound => {
                create_folders_synced(parent_of(path))?;
                match options.clone().create_new(true).open(path) {
                    Ok(file) => (file, true),
                    Err(trouble) if trouble.kind() == ErrorKind::AlreadyExists => continue,
                    Err(trouble) => return Err(trouble),
                }
            }
            Err(trouble) => return Err(trouble),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR));
        }
        wait_for(&file)?;
        if is_current(&file, path)? {
            return Ok(Locked { file, path, created });
        }
    }
}

const NOT_REGULAR: &str = "not a regular file";

/// Returns whether a path still names an open file.
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    let named = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(trouble) if trouble.kind() == ErrorKind::NotFound => return Ok(false),
        Err(trouble) => return Err(trouble),
    };
    let open = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
    }
    // Elsewhere the standard library does not tell a file's number. Nobody writes to the file whose lock we hold,
    // so it is the same if it has the same size and time; a file that replaced it was written later.
    #[cfg(not(unix))]
    Ok(Stamp::of(&open) == Stamp::of(&named))
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// A lock that one process holds until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    /// Closing it gives the lock back. The file is never deleted: two processes could then each hold the lock of
    /// a different file of that name.
    _file: File,
}

/// Waits for a lock file, creating it and its folder if need be.
pub fn lock_exclusive(path: &Path) -> io::Result<FileLock> {
    let file = open_lock(path)?;
    wait_for(&file)?;
    Ok(FileLock { _file: file })
}

/// Takes a lock file if nobody has it.
pub fn try_lock_exclusive(path: &Path) -> io::Result<Option<FileLock>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(trouble)) => Err(trouble),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    fs::create_dir_all(parent_of(path))?;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn wait_for(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(trouble) if trouble.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Makes a single path component out of text that somebody else chose.
///
/// Letters, digits, `.`, `_` and `-` stay, all else becomes `-`; no hidden, empty or reserved name comes out. A
/// name that had to be changed or cut ends in a hash of the original, so that different texts get different names.
/// `max_bytes` counts as at least 16.
pub fn safe_name(untrusted: &str, max_bytes: usize) -> String {
    const HASH_BYTES: usize = 8;
    let mut name = String::with_capacity(untrusted.len().min(256));
    for character in untrusted.chars() {
        if character.is_alphanumeric() || matches!(character, '.' | '_' | '-') {
            name.push(character);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let mut name = name.trim_start_matches(['.', '-']).trim_end_matches('.').to_owned();
    if is_reserved(&name) {
        name.insert(0, '_');
    }
    let max_bytes = max_bytes.max(16);
    if !name.is_empty() && name == untrusted && name.len() <= max_bytes {
        return name;
    }
    let mut end = name.len().min(max_bytes - HASH_BYTES - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let stem = match name[..end].trim_end_matches(['.', '-']) {
        "" => "unnamed",
        stem => stem,
    };
    format!("{stem}-{}", &sha256_hex(untrusted.as_bytes())[..HASH_BYTES])
}

/// Returns whether Windows takes a name for a device, with or without an extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let mut number = numbered.unwrap_or_default().chars();
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || matches!((number.next(), number.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
}

/// Returns a relative path that stays where it is put: plain names only, without control characters.
pub fn safe_relative(path: &Path) -> Option<PathBuf> {
    let mut safe = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if !name.to_string_lossy().contains(char::is_control) => safe.push(name),
            _ => return None,
        }
    }
    (!safe.as_os_str().is_empty()).then_some(safe)
}

/// What was copied: how many bytes, and their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The number of bytes.
    pub bytes: u64,
    /// Their SHA-256 in lower-case hex digits.
    pub sha256: String,
}

/// Copies a file's content to a new file that only its owner can read, hashing it on the way.
///
/// The target must not exist, and is not synced: that is the batch's work.
pub fn copy_hashed(from: &Path, to: &Path) -> io::Result<Copied> {
    let mut source = open_regular(from)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = HashingWriter::new(options.open(to)?);
    match pump(&mut source, &mut target) {
        Ok(()) => Ok(target.finish().1),
        Err(trouble) => {
            let _ = fs::remove_file(to);
            Err(trouble)
        }
    }
}

/// Returns a file's length and the SHA-256 of its content.
pub fn hash_file(path: &Path) -> io::Result<(u64, String)> {
    let mut target = HashingWriter::new(io::sink());
    pump(&mut open_regular(path)?, &mut target)?;
    let (_, Copied { bytes, sha256 }) = target.finish();
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
    pub fn finish(self) -> (W, Copied) {
        (self.inner, Copied { bytes: self.bytes, sha256: hex(&self.hasher.finalize()) })
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

/// Opens a file for reading; a pipe or a device in its place is an error rather than a long wait.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR)),
    }
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
                Err(trouble) if trouble.kind() == ErrorKind::Interrupted => {}
                Err(trouble) => return Err(trouble),
            }
        }
    })
}

/// Creates a folder that only its owner can enter, with the folders above it; closes one that stood open.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_dir() && metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// What the file system says of a file, to tell cheaply whether it may have changed.
///
/// The times are nanoseconds since 1970. `ctime_ns`, which nobody can set, also gives away a file that was
/// restored with its old date. Where the system knows no inode and no ctime, they are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub size: u64,
    pub mtime_ns: i64,
    pub inode: u64,
    pub ctime_ns: i64,
}

impl Stamp {
    /// Returns the stamp of a file with this metadata.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Stamp {
        use std::os::unix::fs::MetadataExt;
        // Wrapping, because an absurd date need only compare equal to itself.
        let nanoseconds = |seconds: i64, rest: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(rest);
        Stamp {
            size: metadata.size(),
            mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
            ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns the stamp of a file with this metadata.
    #[cfg(not(unix))]
    pub fn of(metadata: &Metadata) -> Stamp {
        let modified = metadata.modified().ok();
        let since_1970 = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let mtime_ns = since_1970.map_or(0, |duration| duration.as_nanos() as i64);
        Stamp { size: metadata.len(), mtime_ns, inode: 0, ctime_ns: 0 }
    }
}

/// A file found by [`walk_files`].
#[derive(Debug)]
pub struct Found {
    /// Its path, beginning with the root as it was given.
    pub path: PathBuf,
    /// Its path within the root; its name, where the root itself is a file.
    pub relative: PathBuf,
    /// Its metadata; those of the link itself where it is one.
    pub metadata: Metadata,
    /// Where it points to, where it is a symbolic link.
    pub link: Option<PathBuf>,
}

/// A place that [`walk_files`] could not look at, or a thing that is neither file, folder nor link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkTrouble {
    /// The place.
    pub path: PathBuf,
    /// What was wrong with it.
    pub reason: String,
}

impl fmt::Display for WalkTrouble {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for WalkTrouble {}

/// Walks over all files and links under a folder, ordered by name, following no link but the root.
///
/// Trouble with one place is an item like any other, and the walk goes on.
pub fn walk_files(root: &Path) -> impl Iterator<Item = Result<Found, WalkTrouble>> + use<> {
    let root = root.to_owned();
    WalkDir::new(&root).sort_by_file_name().into_iter().filter_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(&root).to_owned();
                let reason = match error.io_error() {
                    Some(error) => error.to_string(),
                    None => error.to_string(),
                };
                return Some(Err(WalkTrouble { path, reason }));
            }
        };
        let kind = entry.file_type();
        if kind.is_dir() {
            return None;
        }
        let path = entry.path().to_owned();
        let trouble = |path: PathBuf, reason: String| Some(Err(WalkTrouble { path, reason }));
        if !kind.is_file() && !kind.is_symlink() {
            return trouble(path, NOT_REGULAR.to_owned());
        }
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return trouble(path, io::Error::from(error).to_string()),
        };
        let link = match kind.is_symlink().then(|| fs::read_link(&path)).transpose() {
            Ok(link) => link,
            Err(error) => return trouble(path, error.to_string()),
        };
        let relative = match path.strip_prefix(&root) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.to_owned(),
            _ => PathBuf::from(entry.file_name()),
        };
        Some(Ok(Found { path, relative, metadata, link }))
    })
}

/// Writes bytes to a temporary file beside a path, with the mode the file is to have, without syncing.
fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = parent_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    let mut temporary = match builder.tempfile_in(folder) {
        Err(trouble) if trouble.kind() == ErrorKind::NotFound => {
            create_folders_synced(folder)?;
            builder.tempfile_in(folder)?
        }
        made => made?,
    };
    temporary.write_all(bytes)?;
    #[cfg(unix)]
    if let Ok(metadata) = fs::symlink_metadata(path)
        && metadata.is_file()
    {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    Ok(temporary)
}

/// Moves a folder to a name that may be taken; returns where the folder that had it is now.
fn replace_folder(from: &Path, to: &Path) -> io::Result<Option<PathBuf>> {
    match fs::symlink_metadata(to) {
        Ok(_) => {}
        Err(trouble) if trouble.kind() == ErrorKind::NotFound => {
            return fs::rename(from, to).map(|()| None);
        }
        Err(trouble) => return Err(trouble),
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(Some(from.to_owned())),
            // Not every file system can do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    let builder = &mut tempfile::Builder::new();
    let aside = builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX).tempdir_in(parent_of(to))?.keep();
    fs::remove_dir(&aside)?;
    fs::rename(to, &aside)?;
    fs::rename(from, to)?;
    Ok(Some(aside))
}

/// Creates a folder and those above it; returns the folders to sync, so that the new ones outlast a power loss.
fn create_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.is_dir() {
        return Ok(Vec::new());
    }
    let parent = parent_of(folder);
    let mut changed = create_folders(parent)?;
    match fs::create_dir(folder) {
        // Whoever else is just creating it may not have synced it yet.
        Err(trouble) if trouble.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => return Err(trouble),
        _ => changed.push(parent.to_owned()),
    }
    Ok(changed)
}

fn create_folders_synced(folder: &Path) -> io::Result<()> {
    create_folders(folder)?.iter().try_for_each(|changed| sync_folder(changed))
}

/// Returns the folder a path lies in, which for a bare name is the current one.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder durable, where the system lets us.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some network file systems cannot sync a folder and need not.
        Err(trouble) if trouble.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

fn sync_file(path: &Path) -> io::Result<()> {
    // Windows only syncs what is open for writing; elsewhere the file may be read-only.
    OpenOptions::new().read(true).write(cfg!(windows)).open(path)?.sync_all()
}

/// Syncs every file and folder under a folder, one by one.
fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in WalkDir::new(folder).contents_first(true) {
        let entry = entry?;
        match entry.file_type() {
            kind if kind.is_dir() => sync_folder(entry.path())?,
            kind if kind.is_file() => sync_file(entry.path())?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn write_atomic_creates_replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/page.md");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["page.md"]);

        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("full")).unwrap();
        assert!(write_atomic(&taken, b"three").is_err());
        assert!(write_atomic(&path.join("below a file"), b"four").is_err());
        assert_eq!(names(folder.path()), ["a", "taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn write_atomic_keeps_the_mode_and_replaces_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, fresh) = (folder.path().join("page.md"), folder.path().join("fresh.md"));
        for kept in [0o600, 0o444, 0o755] {
            fs::write(&path, "old").unwrap();
            set_mode(&path, kept);
            write_atomic(&path, b"new").unwrap();
            assert_eq!(mode(&path), kept);
            fs::remove_file(&path).unwrap();
        }
        write_atomic(&fresh, b"new").unwrap();
        assert_eq!(mode(&fresh) & !0o644, 0);
        assert_eq!(mode(&fresh) & 0o600, 0o600);

        let (link, outside) = (folder.path().join("link.md"), folder.path().join("outside"));
        fs::write(&outside, "precious").unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        assert!(write_if_changed(&link, b"precious").unwrap());
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
    }

    #[test]
    fn write_if_changed_leaves_an_equal_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        assert!(write_if_changed(&path, b"one").unwrap());
        let before = Stamp::of(&fs::metadata(&path).unwrap());
        assert!(!write_if_changed(&path, b"one").unwrap());
        assert_eq!(Stamp::of(&fs::metadata(&path).unwrap()), before);
        assert!(write_if_changed(&path, b"two").unwrap());
        assert_ne!(Stamp::of(&fs::metadata(&path).unwrap()), before);
    }

    #[test]
    fn a_batch_commits_all_or_when_dropped_nothing() {
        for count in [1, FEW + 3] {
            let folder = tempfile::tempdir().unwrap();
            let path = |number: usize| folder.path().join(format!("{number}/page.md"));
            let mut batch = Batch::new();
            assert!(batch.is_empty());
            (0..count).for_each(|number| batch.write(&path(number), b"new").unwrap());
            assert!(!path(0).exists());
            assert!(names(path(0).parent().unwrap()).iter().all(|name| is_temporary(name.as_ref())));
            drop(batch);
            assert_eq!(names(path(0).parent().unwrap()), [""; 0]);

            let mut batch = Batch::new();
            (0..count).for_each(|number| batch.write(&path(number), b"new").unwrap());
            batch.commit().unwrap();
            (0..count).for_each(|number| assert_eq!(names(path(number).parent().unwrap()), ["page.md"]));
        }
    }

    #[test]
    fn a_batch_renames_in_order_and_stops_at_the_first_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("staged/raw")).unwrap();
        fs::write(at("staged/raw/log"), "all").unwrap();
        let mut batch = Batch::new();
        batch.write(&at("before.md"), b"1").unwrap();
        batch.rename_dir(&at("staged"), &at("session/snapshot")).unwrap();
        batch.write(&at("session/digest.md"), b"2").unwrap();
        batch.rename_dir(&at("session"), &at("session/into itself")).unwrap();
        batch.write(&at("after.md"), b"3").unwrap();
        assert!(batch.commit().is_err());
        assert_eq!(names(folder.path()), ["before.md", "session"]);
        assert_eq!(names(&at("session")), ["digest.md", "snapshot"]);
        assert_eq!(fs::read(at("session/snapshot/raw/log")).unwrap(), b"all");
    }

    #[test]
    fn a_batch_replaces_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for content in ["first", "second"] {
            fs::create_dir(at("staged")).unwrap();
            fs::write(at("staged/log"), content).unwrap();
            let mut batch = Batch::new();
            batch.rename_dir(&at("staged"), &at("snapshot")).unwrap();
            batch.commit().unwrap();
            assert_eq!(names(folder.path()), ["snapshot"]);
            assert_eq!(fs::read_to_string(at("snapshot/log")).unwrap(), content);
        }
        sync_tree(folder.path()).unwrap();
    }

    #[test]
    fn append_writes_one_header_and_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daily/raw/day.md");
        let append = |line| append_locked(&path, || "# Day".to_owned(), line).unwrap();
        append("one");
        append("two\n");
        append("three\r\n\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Day\none\ntwo\nthree\n");
        fs::write(&path, "# Day\nto").unwrap();
        append("rn");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Day\nto\nrn\n");
        fs::write(&path, "").unwrap();
        append_locked(&path, String::new, "no header").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "no header\n");
        assert_eq!(names(path.parent().unwrap()), ["day.md"]);
    }

    #[test]
    fn update_changes_or_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        let given = |expect: Option<&str>, after: Option<&str>| {
            update_locked(&path, |before| {
                assert_eq!(before.as_deref(), expect.map(str::as_bytes));
                after.map(|after| after.as_bytes().to_owned())
            })
            .unwrap()
        };
        assert!(!given(None, None));
        assert_eq!(names(folder.path()), [""; 0]);
        assert!(given(None, Some("one")));
        assert!(!given(Some("one"), Some("one")));
        assert!(!given(Some("one"), None));
        assert!(given(Some("one"), Some("two")));
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(folder.path()), ["page.md"]);
    }

    #[cfg(unix)]
    #[test]
    fn locked_writers_refuse_links_and_devices() {
        let folder = tempfile::tempdir().unwrap();
        let (link, outside) = (folder.path().join("link"), folder.path().join("outside"));
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        for _ in ["dangling", "pointing"] {
            assert!(append_locked(&link, String::new, "line").is_err());
            assert!(update_locked(&link, |_| Some(b"all".to_vec())).is_err());
            fs::write(&outside, "precious").unwrap();
        }
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
        let error = append_locked(Path::new("/dev/null"), String::new, "line").unwrap_err();
        assert_eq!(error.to_string(), NOT_REGULAR);
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("local/locks/sweep");
        let held = lock_exclusive(&path).unwrap();
        assert!(try_lock_exclusive(&path).unwrap().is_none());
        drop(held);
        assert!(try_lock_exclusive(&path).unwrap().is_some());
        assert!(path.exists());
    }

    /// Starts this test binary again to do one job of [`as_another_process`].
    fn start(job: &str, path: &Path) -> Child {
        let (_, module) = module_path!().split_once("::").unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::as_another_process"), "--nocapture"])
            .env("MEMTREE_TEST_JOB", job)
            .env("MEMTREE_TEST_PATH", path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn as_another_process() {
        let (Ok(job), Some(path)) = (std::env::var("MEMTREE_TEST_JOB"), std::env::var_os("MEMTREE_TEST_PATH")) else {
            return;
        };
        let path = Path::new(&path);
        match job.as_str() {
            "rewrite" => (0..50).for_each(|number| {
                let change = |before: Option<Vec<u8>>| {
                    let mut text = before.unwrap_or_else(|| b"# Day\n".to_vec());
                    text.extend(format!("rewrite {number}\n").bytes());
                    Some(text)
                };
                assert!(update_locked(path, change).unwrap());
            }),
            "batches" => {
                for number in 0_u64.. {
                    let content = vec![b'0' + (number % 10) as u8; 100_000];
                    let mut batch = Batch::new();
                    for name in ["a", "b", "c", "d", "e"] {
                        batch.write(&path.join(name), &content).unwrap();
                    }
                    batch.commit().unwrap();
                    println!("\ncommitted {number}");
                }
            }
            name => (0..50).for_each(|number| {
                append_locked(path, || "# Day".to_owned(), &format!("{name} {number}")).unwrap();
            }),
        }
    }

    #[test]
    fn processes_lose_nothing_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.md");
        let jobs = ["one", "two", "three", "four", "rewrite"];
        let children = jobs.map(|job| start(job, &path));
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        let text = fs::read_to_string(&path).unwrap();
        let (header, lines) = text.split_once('\n').unwrap();
        let expect: BTreeSet<_> =
            jobs.iter().flat_map(|job| (0..50).map(move |number| format!("{job} {number}"))).collect();
        assert_eq!(header, "# Day");
        assert_eq!(lines.lines().count(), expect.len());
        assert_eq!(lines.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expect);
        assert_eq!(names(folder.path()), ["day.md"]);
    }

    #[test]
    fn a_killed_batch_leaves_whole_files_and_a_prefix() {
        for kill_after in 1..4 {
            let folder = tempfile::tempdir().unwrap();
            let mut child = start("batches", folder.path());
            let output = BufReader::new(child.stdout.take().unwrap());
            let committed = |line: &io::Result<String>| line.as_ref().unwrap().starts_with("committed");
            output.lines().filter(committed).nth(kill_after).unwrap().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let contents = ["a", "b", "c", "d", "e"].map(|name| fs::read(folder.path().join(name)).unwrap());
            for content in &contents {
                assert!(content.len() == 100_000 && content.iter().all(|byte| *byte == content[0]));
            }
            let marks = contents.map(|content| content[0]);
            // A prefix has the new mark, the rest the one before.
            assert!(marks.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 1, "{marks:?}");
            let left = names(folder.path()).into_iter().filter(|name| name.len() > 1);
            assert!(left.into_iter().all(|name| is_temporary(name.as_ref())));
        }
    }

    #[test]
    fn safe_names() {
        let check = |untrusted: &str, expect: &str| {
            let name = safe_name(untrusted, 40);
            match expect.strip_suffix('#') {
                Some(stem) => assert_eq!(name, format!("{stem}{}", &sha256_hex(untrusted.as_bytes())[..8])),
                None => assert_eq!(name, expect),
            }
        };
        check("rollout-2026_11.jsonl", "rollout-2026_11.jsonl");
        check("日記-é1", "日記-é1");
        check("a--b", "a--b");
        check("", "unnamed-#");
        check(".", "unnamed-#");
        check("..", "unnamed-#");
        check("/", "unnamed-#");
        check("../../etc/passwd", "etc-passwd-#");
        check("..\\..\\boot.ini", "boot.ini-#");
        check("/home/me/code", "home-me-code-#");
        check("-home-me-code", "home-me-code-#");
        check(".hidden", "hidden-#");
        check("a b\n\u{7}\0c", "a-b-c-#");
        check("c:d", "c-d-#");
        check("trailing...", "trailing-#");
        check("trailing ", "trailing-#");
        check("\u{202e}gpj.exe", "gpj.exe-#");
        check("👍", "unnamed-#");
        check("con", "_con-#");
        check("NUL.txt", "_NUL.txt-#");
        check("com1", "_com1-#");
        check("LPT¹", "_LPT¹-#");
        check("com10", "com10");
        check("console", "console");
        check(&"x".repeat(40), &"x".repeat(40));
        check(&"x".repeat(41), &format!("{}-#", "x".repeat(31)));
        check(&"é".repeat(21), &format!("{}-#", "é".repeat(15)));
        assert_ne!(safe_name("a/b", 40), safe_name("a:b", 40));
        assert_eq!(safe_name("a long name indeed", 0).len(), 15);
    }

    #[test]
    fn safe_relatives() {
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(safe_relative(Path::new(path)).as_deref(), expect.map(Path::new), "{path:?}");
        };
        check("a", Some("a"));
        check("a/b c/é.md", Some("a/b c/é.md"));
        check("a//b/./c/", Some("a/b/c"));
        check("", None);
        check(".", None);
        check("./a", None);
        check("/a", None);
        check("..", None);
        check("a/../b", None);
        check("a/b\n", None);
        check("a\u{1b}[2J/b", None);
    }

    #[test]
    fn copies_and_hashes_agree() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for size in [0, 1, 1 << 20, (3 << 20) + 7] {
            let content: Vec<u8> = (0..size).map(|number| (number % 251) as u8).collect();
            fs::write(&from, &content).unwrap();
            let copied = copy_hashed(&from, &to).unwrap();
            assert_eq!(copied, Copied { bytes: size, sha256: sha256_hex(&content) });
            assert_eq!(hash_file(&to).unwrap(), (size, copied.sha256));
            assert!(fs::read(&to).unwrap() == content);
            #[cfg(unix)]
            assert_eq!(mode(&to), 0o600);
            assert_eq!(copy_hashed(&from, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
            fs::remove_file(&to).unwrap();
        }
        assert!(copy_hashed(folder.path(), &to).is_err());
        assert_eq!(names(folder.path()), ["from"]);
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_hashing_writer_counts_what_was_taken() {
        let mut small = [0; 3];
        let mut writer = HashingWriter::new(&mut small[..]);
        assert_eq!(writer.write(b"abcd").unwrap(), 3);
        assert_eq!(writer.finish().1, Copied { bytes: 3, sha256: sha256_hex(b"abc") });
    }

    #[cfg(unix)]
    #[test]
    fn private_folders_are_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/raw");
        create_private_dir(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
        set_mode(&path, 0o755);
        create_private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[cfg(unix)]
    #[test]
    fn a_stamp_tells_a_restored_date() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let before = Stamp::of(&metadata);
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
        let after = Stamp::of(&fs::metadata(&path).unwrap());
        assert_eq!((before.size, before.mtime_ns, before.inode), (after.size, after.mtime_ns, after.inode));
        assert_ne!(before, after);
        let value = serde_yaml::to_string(&after).unwrap();
        assert_eq!(serde_yaml::from_str::<Stamp>(&value).unwrap(), after);
    }

    #[cfg(unix)]
    #[test]
    fn the_walk_is_ordered_and_goes_on_after_trouble() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/deep")).unwrap();
        fs::create_dir_all(at("empty")).unwrap();
        for name in ["c", "b/deep/z", "b/a", "B"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("..", at("b/loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("a socket")).unwrap();
        let shown: Vec<_> = walk_files(folder.path())
            .map(|item| match item {
                Ok(Found { relative, link: None, metadata, .. }) => {
                    format!("{} {}", relative.display(), metadata.len())
                }
                Ok(Found { relative, link: Some(link), .. }) => format!("{} -> {}", relative.display(), link.display()),
                Err(WalkTrouble { path, reason }) => {
                    format!("{}! {reason}", path.strip_prefix(folder.path()).unwrap().display())
                }
            })
            .collect();
        assert_eq!(shown, ["B 1", "a socket! not a regular file", "b/a 3", "b/deep/z 8", "b/loop -> ..", "c 1"]);

        let alone: Vec<_> = walk_files(&at("c")).map(|item| item.unwrap().relative).collect();
        assert_eq!(alone, [Path::new("c")]);
        let missing: Vec<_> = walk_files(&at("missing")).map(|item| item.unwrap_err()).collect();
        assert_eq!(missing.len(), 1);
        assert!(missing[0].to_string().starts_with(at("missing").to_str().unwrap()));
    }

    proptest! {
        #[test]
        fn a_safe_name_is_one_harmless_component(text in "\\PC{0,60}|[./\\\\ \u{0}-\u{1f}a-c-]{0,30}", max in 0_usize..80) {
            let name = safe_name(&text, max);
            prop_assert!(name.len() <= max.max(16));
            prop_assert_eq!(safe_relative(Path::new(&name)), Some(PathBuf::from(&name)));
            prop_assert!(!name.starts_with(['.', '-']) && !name.ends_with('.') && !name.contains(['/', '\\', ':', ' ']));
            prop_assert_eq!(safe_name(&name, max), name);
        }
    }
}
