//! A lock lets one process at a time change a file or do a job.
//!
//! Data files are locked themselves while a line is appended or the whole is rewritten, so that
//! `flock DAY.md` works for anybody; a rewrite puts another file in their place, so our own
//! processes have a lock file too. A job is kept to one process by a lock file of its own. The
//! system gives a lock back when its holder ends, however it ends.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::faults::{self, Point};
use super::folders::{create_folders, create_folders_synced, parent_of};
use super::notes::Replacing;
use super::place::{self, Access};
use super::replace::replace;
#[cfg(unix)]
use super::temporary::Temporary;
use super::writers::{is_current, wait_for_writer};
use super::{NOT_REGULAR, read, remove_file};

/// Appends one line to a file that other processes append to, and syncs it. A line that an earlier
/// writer could not finish is ended first, so that it spoils no other.
pub fn append_locked(path: &Path, line: &str) -> io::Result<()> {
    let locked = lock_data(path)?;
    let appended = append(&locked, line);
    if appended.is_err() {
        locked.remove_if_created();
    }
    appended.map(drop)
}

/// Appends one line to a page that others append to, rewrite or edit, and syncs it; returns whether
/// it was written.
///
/// The first line of all comes after the header. `fits` judges under the lock whether the line may
/// stand at the end of what is there.
pub fn append_page_if(
    replacing: &Replacing,
    path: &Path,
    header: impl Fn() -> String,
    line: &str,
    fits: impl Fn(&mut File) -> io::Result<bool>,
) -> io::Result<bool> {
    let line = line.trim_end_matches(['\r', '\n']);
    let _one_of_us = lock_exclusive(replacing.lock_path())?;
    // Who edits the page just now may write over the line; then it is written once more.
    for _ in 0..TRIES {
        let mut locked = lock_data(path)?;
        wait_for_writer(&locked.file)?;
        if !is_current(&locked.file, path)? {
            continue;
        }
        if locked.file.metadata()?.len() == 0 {
            // By a rename, so that half a header can never be; whoever waits for the lock sees the
            // new file.
            let merge = |now: Option<&[u8]>| {
                let now = now.map(|now| String::from_utf8_lossy(now).into_owned());
                let before = ended(now.unwrap_or_else(&header));
                // Asked again, it is there.
                let is_there = format!("\n{before}").contains(&format!("\n{line}\n"));
                Ok((!is_there).then(|| format!("{before}{line}\n").into_bytes()))
            };
            let made = replace(replacing, path, Box::new(merge));
            return locked.or_remove(made).map(|_| true);
        }
        if !fits(&mut locked.file)? {
            return Ok(false);
        }
        let length = append(&locked, line)?;
        wait_for_writer(&locked.file)?;
        if is_current(&locked.file, path)? && locked.file.metadata()?.len() == length {
            return Ok(true);
        }
        let has = |now: Vec<u8>| memchr::memmem::find(&now, line.as_bytes()).is_some();
        if read(path).is_ok_and(has) {
            return Ok(true);
        }
    }
    Err(io::Error::other("somebody else writes the file again and again"))
}

const TRIES: usize = 20;

/// Appends a line to a file whose lock is held; returns how long it should be then.
fn append(locked: &Locked<'_>, line: &str) -> io::Result<u64> {
    let line = line.trim_end_matches(['\r', '\n']);
    let length = locked.file.metadata()?.len();
    let healing = if length == 0 || ends_with_newline(&locked.file)? { "" } else { "\n" };
    let text = format!("{healing}{line}\n");
    let mut out = place::open(locked.path, Access::Append)?;
    let torn = |mut file: &File| drop(file.write_all(&text.as_bytes()[..text.len() / 2]));
    let written = faults::write_point(|| torn(&out))
        .and_then(|()| out.write_all(text.as_bytes()))
        .and_then(|()| faults::point(Point::Sync))
        .and_then(|()| out.sync_data());
    if written.is_err() {
        // A full disk may have taken part of the line; this much of it can be taken back. The error
        // that counts is the first.
        let _ = out.set_len(length);
    }
    written.map(|()| length + text.len() as u64)
}

fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Rewrites a page under the lock that [`append_page_if`] honours; returns whether it changed.
///
/// `change` makes of the content, which is empty where there is no file, what is to take its place;
/// `None` where it may stay. It is asked again where somebody saves the page meanwhile.
pub fn update_locked(
    replacing: &Replacing,
    path: &Path,
    change: impl Fn(&[u8]) -> io::Result<Option<Vec<u8>>>,
) -> io::Result<bool> {
    let _one_of_us = lock_exclusive(replacing.lock_path())?;
    let locked = lock_data(path)?;
    let merge = |now: Option<&[u8]>| change(now.unwrap_or_default());
    let rewritten = replace(replacing, path, Box::new(merge));
    if !matches!(rewritten, Ok(true)) {
        locked.remove_if_created();
    }
    rewritten
}

/// A data file whose lock we hold, and whether it was us who created it, empty, to have something
/// to lock. It is open for reading alone, so that other writers can be told from us.
struct Locked<'path> {
    file: File,
    path: &'path Path,
    created: bool,
}

impl Locked<'_> {
    fn or_remove<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| self.remove_if_created())
    }

    /// Removes the file again if nothing came of it. None of us can have written to it while we
    /// hold its lock, and whoever waits for that lock will see that the file is gone.
    fn remove_if_created(&self) {
        if self.created && self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // An empty file counts as none, so it does no harm if it has to stay.
            let _ = remove_file(self.path);
        }
    }
}

/// Opens a data file, creating it if need be, and waits for its lock.
///
/// The lock is on the data file itself. A lock file beside it would need a place of its own in a
/// tree that people read and git syncs, and a writer that is not ours could not guess its name,
/// whereas `flock DAY.md` just works. The price is that a rewrite renames another file into place
/// while others wait for the lock of the old one. So whoever gets a lock looks whether the path
/// still names the file it locked, and otherwise begins again. The open handle keeps the old file's
/// number from being given to another file meanwhile.
fn lock_data(path: &Path) -> io::Result<Locked<'_>> {
    let mut created = false;
    loop {
        // For reading alone: then the system can say whether somebody else writes to it.
        let mut file = match place::open(path, Access::Plain) {
            Ok(file) => file,
            Err(err) if err.kind() == ErrorKind::NotFound => {
                create_folders_synced(parent_of(path))?;
                faults::point(Point::Write)?;
                match place::open(path, Access::New { private: false }) {
                    Ok(_) => created = true,
                    Err(err) if err.kind() == ErrorKind::AlreadyExists => {}
                    Err(err) => return Err(err),
                }
                continue;
            }
            Err(err) => return Err(err),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR));
        }
        wait_for(&file)?;
        if is_current(&file, path)? && !detach(&mut file, path)? {
            return Ok(Locked { file, path, created });
        }
    }
}

/// Puts a copy in the place of a file that has a second name, so that what is added to it does not
/// appear there too; returns whether it had to.
pub(super) fn detach(file: &mut File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if file.metadata()?.nlink() <= 1 {
            return Ok(false);
        }
        let mut temporary = Temporary::beside(path)?;
        faults::point(Point::Write)?;
        file.rewind()?;
        io::copy(file, temporary.file())?;
        temporary.put_in_place()?;
        Ok(true)
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(false)
    }
}

fn ends_with_newline(mut file: &File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// A lock that one process holds until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    /// Closing it gives the lock back. The file is never deleted: two processes could then each
    /// hold the lock of a different file of that name.
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
        Err(TryLockError::Error(err)) => Err(err),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    create_folders(parent_of(path))?;
    faults::point(Point::Lock)?;
    let file = place::open(path, Access::Lock)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

fn wait_for(file: &File) -> io::Result<()> {
    faults::point(Point::Lock)?;
    loop {
        match file.lock() {
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{names, replacing, start};
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn append_writes_one_header_and_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daily/raw/day.md");
        let append = |line| super::super::tests::append(&path, line);
        append("one");
        append("two\n");
        append("three\r\n\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Day\none\ntwo\nthree\n");
        fs::write(&path, "# Day\nto").unwrap();
        append("rn");
        assert_eq!(fs::read_to_string(&path).unwrap(), "# Day\nto\nrn\n");
        fs::write(&path, "").unwrap();
        append_locked(&path, "no header").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "no header\n");
        assert_eq!(names(path.parent().unwrap()), ["day.md"]);
    }

    #[test]
    fn update_changes_or_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        let given = |expect: &str, after: &str, keep: io::Result<bool>| {
            update_locked(&replacing(&path), &path, |before| {
                // Once it is in place, it is asked for again where it may not be.
                assert!([expect, after].map(str::as_bytes).contains(&before));
                let keep = keep.as_ref().map_err(|err| io::Error::from(err.kind()))?;
                Ok(keep.then(|| after.as_bytes().to_vec()))
            })
        };
        assert!(!given("", "half", Ok(false)).unwrap());
        assert!(given("", "half", Err(ErrorKind::StorageFull.into())).is_err());
        assert_eq!(names(folder.path()), [""; 0]);
        assert!(given("", "one", Ok(true)).unwrap());
        assert!(!given("one", "half", Ok(false)).unwrap());
        assert!(given("one", "half", Err(ErrorKind::StorageFull.into())).is_err());
        assert!(given("one", "two", Ok(true)).unwrap());
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
            assert!(append_locked(&link, "line").is_err());
            let all = |_: &[u8]| Ok(Some(b"all".to_vec()));
            assert!(update_locked(&replacing(&link), &link, all).is_err());
            fs::write(&outside, "precious").unwrap();
        }
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
        let error = append_locked(Path::new("/dev/null"), "line").unwrap_err();
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
        let expect: BTreeSet<_> = jobs
            .iter()
            .flat_map(|job| (0..50).map(move |number| format!("{job} {number}")))
            .collect();
        assert_eq!(header, "# Day");
        assert_eq!(lines.lines().count(), expect.len());
        assert_eq!(lines.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expect);
        assert_eq!(names(folder.path()), ["day.md"]);
    }
}
