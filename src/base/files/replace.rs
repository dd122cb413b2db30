//! Replacing a page that somebody may be editing at this very moment.
//!
//! The new page is put in place by exchange, so that the one that comes out can be looked at: if it
//! is not what was read, somebody saved meanwhile, and the page is made again from what they saved.
//! What came out is kept until the end of the batch and looked at once more, because an editor that
//! writes in place may still hold it. Until then a note in [`Replacing`] says what is under way, so
//! that after a kill the next process finds what came out and takes in what nobody has looked at.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::notes::{Note, Notes};
use super::place::{self, Access};
use super::temporary::{Closed, Temporary};
use super::writers::has_writer;
use super::{exchange, if_exists, symlink_metadata};
use crate::base::text;

/// How a page is made: from what is there now to what is to be there; `None` where that may stay.
pub type Merge<'m> = Box<dyn Fn(Option<&[u8]>) -> io::Result<Option<Vec<u8>>> + 'm>;

/// The same for one of many pages that are made at once.
pub type SharedMerge<'m> =
    Box<dyn Fn(Option<&[u8]>) -> io::Result<Option<Vec<u8>>> + Send + Sync + 'm>;

/// How long somebody who is just writing a page is waited for before it is read.
const BEFORE_READING: Duration = Duration::from_millis(300);
/// How long they are waited for at the end of a batch; what comes later is taken in by the next
/// process.
const AT_THE_END: Duration = Duration::from_millis(1500);
/// How long it is looked after a page that somebody saved meanwhile.
const LINGER: Duration = Duration::from_millis(100);
/// How long a page may be gone while an editor renames another into its place.
const GONE: Duration = Duration::from_millis(40);
/// How often is looked.
const BETWEEN: Duration = Duration::from_millis(2);

/// A page that is about to be replaced.
pub(super) struct Replacement<'m> {
    pub(super) path: PathBuf,
    merge: Merge<'m>,
    read: Option<Vec<u8>>,
    new: Vec<u8>,
    pub(super) temporary: Closed,
}

impl std::fmt::Debug for Replacement<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Replacement").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'m> Replacement<'m> {
    /// Reads a page and writes the one that is to take its place; `None` where it may stay.
    pub(super) fn of(path: &Path, merge: Merge<'m>) -> io::Result<Option<Replacement<'m>>> {
        Ok(Written::of(path, &merge)?.map(|written| Replacement::by(path, written, merge)))
    }

    /// Writes what is to take the place of a page that was read already.
    pub(super) fn with(
        path: &Path,
        read: Option<Vec<u8>>,
        new: Vec<u8>,
        merge: Merge<'m>,
    ) -> io::Result<Replacement<'m>> {
        Ok(Replacement::by(path, Written::with(path, read, new)?, merge))
    }

    /// A page whose successor is written.
    pub(super) fn by(path: &Path, written: Written, merge: Merge<'m>) -> Replacement<'m> {
        let Written { read, new, temporary } = written;
        Replacement { path: path.to_owned(), merge, read, new, temporary }
    }

    /// What is noted of it before it is put in place.
    pub(super) fn note(&self) -> Note {
        Note::of(&self.path, &self.temporary.path(), &self.new, self.read.as_deref())
    }

    /// Puts the page in its place.
    pub(super) fn place(self, notes: &mut Notes) -> io::Result<Placed<'m>> {
        let Replacement { path, merge, mut read, mut new, mut temporary } = self;
        let mut placed = Placed {
            path,
            merge,
            first: Vec::new(),
            new: Vec::new(),
            out: Vec::new(),
            taken: false,
            just_taken: false,
        };
        loop {
            // Who is just writing is waited for. What they saved comes out of the exchange: to make
            // the page from it beforehand would lose what an editor empties before it writes, and
            // the first of two saves.
            read_settled(&placed.path)?;
            let put = exchange::put(temporary, read.is_some(), read.as_deref())?;
            match put {
                exchange::Put::Done(out) => {
                    placed.out.extend(out.map(|path| Out::new(path, read.unwrap_or_default())));
                    (placed.first, placed.new) = (new.clone(), new);
                    break;
                }
                // Somebody made the page, or removed it: then it is made from what is there.
                exchange::Put::Other(back) => {
                    read = placed.read_again()?;
                    let Some(made) = made(&placed.merge, read.as_deref())? else {
                        (placed.first, placed.new) = (Vec::new(), read.unwrap_or_default());
                        return Ok(placed);
                    };
                    drop(back);
                    new = made;
                    temporary = Temporary::with(&placed.path, &new)?.close();
                    notes.add(&Note::of(&placed.path, &temporary.path(), &new, read.as_deref()))?;
                }
            }
        }
        placed.look(notes)?;
        Ok(placed)
    }
}

/// What is to take a page's place, under its temporary name.
pub(super) struct Written {
    read: Option<Vec<u8>>,
    new: Vec<u8>,
    temporary: Closed,
}

impl Written {
    /// Reads a page and writes the one that is to take its place; `None` where it may stay.
    pub(super) fn of(path: &Path, merge: &MergeFn<'_>) -> io::Result<Option<Written>> {
        let read = read_settled(path)?;
        let new = made(merge, read.as_deref())?;
        new.map(|new| Written::with(path, read, new)).transpose()
    }

    fn with(path: &Path, read: Option<Vec<u8>>, new: Vec<u8>) -> io::Result<Written> {
        let temporary = Temporary::with(path, &new)?.close();
        Ok(Written { read, new, temporary })
    }
}

type MergeFn<'m> = dyn Fn(Option<&[u8]>) -> io::Result<Option<Vec<u8>>> + 'm;

/// The page as it is to be. One without a letter says nothing: it is as if there were none.
fn made(merge: &MergeFn<'_>, now: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
    let new = merge(now.filter(|now| now.iter().any(|byte| *byte != 0)))?;
    Ok(new.filter(|new| Some(new.as_slice()) != now))
}

/// A page that was put in place.
pub(super) struct Placed<'m> {
    path: PathBuf,
    merge: Merge<'m>,
    /// What we put there first, and last.
    first: Vec<u8>,
    new: Vec<u8>,
    out: Vec<Out>,
    /// Whether something of somebody else was taken in already, and whether since the last look.
    taken: bool,
    just_taken: bool,
}

/// A file that came out of a page's place.
struct Out {
    path: PathBuf,
    /// What it held as far as it was taken in.
    seen: Vec<u8>,
}

impl Out {
    fn new(path: PathBuf, seen: Vec<u8>) -> Out {
        Out { path, seen }
    }
}

impl Placed<'_> {
    /// Takes in what is in the files that came out and in the page by now; returns whether all of
    /// it is as we know it and nobody writes to it.
    fn look(&mut self, notes: &mut Notes) -> io::Result<bool> {
        let mut quiet = true;
        let mut at = 0;
        while at < self.out.len() {
            match look_at(&self.out[at].path)? {
                // Who has emptied a file is about to write it.
                Seen::Writing => quiet = false,
                Seen::Text(text) if !text.is_empty() && text != self.out[at].seen => {
                    let before = std::mem::replace(&mut self.out[at].seen, text.clone());
                    self.take_in(&before, text, notes)?;
                    quiet = false;
                }
                Seen::Text(_) | Seen::Nothing => {}
            }
            at += 1;
        }
        match look_at(&self.path)? {
            Seen::Writing => quiet = false,
            Seen::Text(text) if text.is_empty() && !self.new.is_empty() => quiet = false,
            Seen::Text(text) if text != self.new => {
                let (first, ours) = (self.first.clone(), std::mem::take(&mut self.new));
                self.new = text.clone();
                let text = if self.taken { join(&first, &ours, &text) } else { text };
                (self.taken, self.just_taken) = (true, true);
                self.put(text, notes)?;
                quiet = false;
            }
            // Whoever removed it meanwhile meant that.
            Seen::Text(_) | Seen::Nothing => {}
        }
        Ok(quiet)
    }

    /// Makes the page again from what somebody saved.
    fn take_in(&mut self, before: &[u8], theirs: Vec<u8>, notes: &mut Notes) -> io::Result<()> {
        let text = if self.taken { join(before, &self.new, &theirs) } else { theirs };
        (self.taken, self.just_taken) = (true, true);
        self.put(text, notes)
    }

    /// Puts what becomes of a text in the place of what we know to be there.
    fn put(&mut self, text: Vec<u8>, notes: &mut Notes) -> io::Result<()> {
        let text = (self.merge)(Some(&text))?.unwrap_or(text);
        if text == self.new {
            return Ok(());
        }
        let mut there = true;
        // Once more where the page comes or goes between the two.
        for _ in 0..3 {
            let temporary = Temporary::with(&self.path, &text)?.close();
            notes.add(&Note::of(&self.path, &temporary.path(), &text, Some(&self.new)))?;
            match exchange::put(temporary, there, None)? {
                exchange::Put::Done(out) => {
                    let seen = std::mem::replace(&mut self.new, text);
                    self.out.extend(out.map(|path| Out::new(path, seen)));
                    return Ok(());
                }
                exchange::Put::Other(_) => there = !there,
            }
        }
        Err(io::Error::other("somebody else writes the file again and again"))
    }

    /// What is there after all, once an editor has had the time to put its file in place.
    fn read_again(&self) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + GONE;
        loop {
            let read = read_settled(&self.path)?;
            if read.is_some() || Instant::now() > until {
                return Ok(read);
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// Removes what came out; what somebody still writes to is left to the next process.
    fn finish(self) -> Vec<Note> {
        let mut kept = Vec::new();
        for out in self.out {
            let is_done = match look_at(&out.path) {
                Ok(Seen::Text(text)) => text == out.seen || text.is_empty(),
                Ok(Seen::Nothing) => true,
                _ => false,
            };
            if !is_done || super::remove_file(&out.path).is_err() {
                kept.push(Note::of(&self.path, &out.path, b"", Some(&out.seen)));
            }
        }
        kept
    }
}

/// Looks at what was replaced until nobody writes to it any more, and clears it away.
pub(super) fn finish(mut placed: Vec<Placed<'_>>, mut notes: Notes) -> io::Result<()> {
    let until = Instant::now() + AT_THE_END;
    // Who saves at this very moment may do so again, and may have read what stood there for a
    // moment only.
    let mut linger = Instant::now();
    loop {
        let mut quiet = true;
        for page in &mut placed {
            let taken = std::mem::take(&mut page.just_taken);
            quiet &= page.look(&mut notes)?;
            if taken || page.just_taken {
                linger = Instant::now() + LINGER;
            }
        }
        let now = Instant::now();
        if (quiet && now >= linger) || now > until {
            break;
        }
        std::thread::sleep(BETWEEN);
    }
    notes.finish(placed.into_iter().flat_map(Placed::finish).collect())
}

/// Takes in what a killed process, or one that could not wait, left in the files that came out.
/// Returns those that somebody still writes to.
pub fn recover(replacing: &super::Replacing) -> io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for left in replacing.left()? {
        let mut still = Vec::new();
        // What came out last is the newest.
        for note in left.notes() {
            let theirs = match look_at(&note.temporary)? {
                Seen::Writing => {
                    still.push(note);
                    continue;
                }
                Seen::Text(text) if !text.is_empty() && !note.is_known(&text) => text,
                Seen::Text(_) | Seen::Nothing => {
                    super::remove_file(&note.temporary)?;
                    continue;
                }
            };
            let merge = |now: Option<&[u8]>| {
                let Some(now) = now else { return Ok(Some(theirs.clone())) };
                Ok(Some(match &note.read {
                    Some(read) => join(read.as_bytes(), now, &theirs),
                    None => joined(now, &theirs, text::union),
                }))
            };
            replace(replacing, &note.page, Box::new(merge))?;
            super::remove_file(&note.temporary)?;
        }
        kept.extend(still.iter().map(|note| note.temporary.clone()));
        left.finish(still)?;
    }
    Ok(kept)
}

/// Makes one page from what is there; returns whether that changed it.
pub fn replace(replacing: &super::Replacing, path: &Path, merge: Merge<'_>) -> io::Result<bool> {
    let mut batch = super::Batch::of_pages(replacing);
    let changes = batch.merge(path, merge)?;
    batch.commit()?;
    Ok(changes)
}

fn join(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    let base = String::from_utf8_lossy(base);
    joined(ours, theirs, |ours, theirs| text::merge3(&base, ours, theirs))
}

fn joined(ours: &[u8], theirs: &[u8], join: impl Fn(&str, &str) -> String) -> Vec<u8> {
    join(&String::from_utf8_lossy(ours), &String::from_utf8_lossy(theirs)).into_bytes()
}

/// What there is to see of a page.
enum Seen {
    Nothing,
    /// Somebody has it open to write to it.
    Writing,
    Text(Vec<u8>),
}

fn look_at(path: &Path) -> io::Result<Seen> {
    let Some(mut file) = open_plain(path)? else { return Ok(Seen::Nothing) };
    let Some(file) = &mut file else { return Ok(Seen::Text(Vec::new())) };
    if has_writer(file)? {
        return Ok(Seen::Writing);
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // Somebody may have begun in between.
    Ok(if has_writer(file)? { Seen::Writing } else { Seen::Text(text) })
}

/// Reads a page once nobody writes to it, or after a while; `None` where there is none.
pub(super) fn read_settled(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let until = Instant::now() + BEFORE_READING;
    loop {
        match look_at(path)? {
            Seen::Nothing => return Ok(None),
            Seen::Text(text) => return Ok(Some(text)),
            Seen::Writing if Instant::now() > until => {
                // What is written later comes out of the exchange, or is found there.
                return if_exists(super::read(path));
            }
            Seen::Writing => std::thread::sleep(BETWEEN),
        }
    }
}

/// Opens a page without following a link; the inner `None` is for what is no plain file, which says
/// nothing.
fn open_plain(path: &Path) -> io::Result<Option<Option<File>>> {
    let Some(metadata) = if_exists(symlink_metadata(path))? else { return Ok(None) };
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Ok(Some(None));
    }
    Ok(if_exists(place::open(path, Access::Plain))?.map(Some))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;

    #[cfg(target_os = "linux")]
    use super::super::replace;
    use super::super::tests::{names, replacing};
    use super::super::{Batch, recover};
    use super::*;

    /// A page whose first line is ours and whose other lines are a person's.
    fn ours(now: Option<&[u8]>) -> Option<Vec<u8>> {
        let text = String::from_utf8_lossy(now.unwrap_or_default()).into_owned();
        let theirs = text.split_once('\n').map_or("", |(_, theirs)| theirs);
        Some(format!("ours\n{theirs}").into_bytes())
    }

    /// Replaces a page of `old`, while somebody does something to it just before it is put in
    /// place; returns what it is then.
    fn while_somebody(acts: impl Fn(&Path)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, "old\nmine\n").unwrap();
        let mut batch = Batch::of_pages(&replacing(&path));
        assert!(batch.merge(&path, Box::new(|now| Ok(ours(now)))).unwrap());
        acts(&path);
        batch.commit().unwrap();
        assert_eq!(names(folder.path()), ["page.md"]);
        assert!(!replacing(&path).has_left());
        fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn what_somebody_saves_meanwhile_is_taken_in() {
        assert_eq!(while_somebody(|_| ()), "ours\nmine\n");
        let in_place = |path: &Path| fs::write(path, "old\nmine\nsaved\n").unwrap();
        assert_eq!(while_somebody(in_place), "ours\nmine\nsaved\n");
        let by_rename = |path: &Path| {
            fs::write(path.with_extension("swp"), "old\nsaved\n").unwrap();
            fs::rename(path.with_extension("swp"), path).unwrap();
        };
        assert_eq!(while_somebody(by_rename), "ours\nsaved\n");
        let appended = |path: &Path| {
            let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(b"added\n").unwrap();
        };
        assert_eq!(while_somebody(appended), "ours\nmine\nadded\n");
        let removed = |path: &Path| fs::remove_file(path).unwrap();
        assert_eq!(while_somebody(removed), "ours\n");
        let emptied = |path: &Path| fs::write(path, "").unwrap();
        assert_eq!(while_somebody(emptied), "ours\nmine\n");
    }

    #[test]
    fn what_somebody_makes_meanwhile_is_taken_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        let mut batch = Batch::of_pages(&replacing(&path));
        assert!(batch.merge(&path, Box::new(|now| Ok(ours(now)))).unwrap());
        fs::write(&path, "new\nmine\n").unwrap();
        batch.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\nmine\n");
        assert_eq!(names(folder.path()), ["page.md"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_written_late_into_the_old_file_is_taken_in() {
        let late = |path: &Path, after: Duration| {
            // As an editor does that writes in place: it has emptied the file by now.
            let mut file = fs::File::create(path).unwrap();
            std::thread::spawn(move || {
                std::thread::sleep(after);
                file.write_all(b"old\nmine\n").unwrap();
                std::thread::sleep(after);
                file.write_all(b"late\n").unwrap();
            });
        };
        let late = |path: &Path| late(path, Duration::from_millis(50));
        assert_eq!(while_somebody(late), "ours\nmine\nlate\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_comes_too_late_is_taken_in_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, "old\nmine\n").unwrap();
        let mut held = fs::OpenOptions::new().append(true).open(&path).unwrap();
        assert!(replace(&replacing(&path), &path, Box::new(|now| Ok(ours(now)))).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\nmine\n");
        assert_eq!(recover(&replacing(&path)).unwrap().len(), 1);
        held.write_all(b"late\n").unwrap();
        drop(held);
        fs::write(&path, "ours\nmine\nearlier\n").unwrap();
        assert_eq!(recover(&replacing(&path)).unwrap().len(), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\nmine\nearlier\nlate\n");
        assert_eq!(names(folder.path()), ["page.md"]);
        assert!(!replacing(&path).has_left());
    }

    #[test]
    fn two_saves_at_once_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, "old\nmine\n").unwrap();
        let asked = Cell::new(0);
        // The second save comes while the page is made from the first.
        let merge = |now: Option<&[u8]>| {
            asked.set(asked.get() + 1);
            if asked.get() == 2 {
                fs::write(&path, "ours\nmine\nsecond\n").unwrap();
            }
            Ok(ours(now))
        };
        let mut batch = Batch::of_pages(&replacing(&path));
        assert!(batch.merge(&path, Box::new(merge)).unwrap());
        fs::write(&path, "old\nmine\nfirst\n").unwrap();
        batch.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\nmine\nfirst\nsecond\n");
    }

    #[test]
    fn notes_that_lead_elsewhere_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let (path, outside) = (folder.path().join("in/page.md"), folder.path().join("out.md"));
        let notes = folder.path().join("in/.own/replacing");
        fs::create_dir_all(&notes).unwrap();
        fs::write(&path, "page").unwrap();
        fs::write(&outside, "precious").unwrap();
        for (page, temporary) in
            [("../out.md", "../.memtree-a.tmp"), ("page.md", "../out.md"), ("page.md", "page.md")]
        {
            let note =
                format!(r#"{{"page":"{page}","temporary":"{temporary}","read":null,"known":[]}}"#);
            fs::write(notes.join("a.jsonl"), note).unwrap();
            fs::write(folder.path().join(".memtree-a.tmp"), "planted").unwrap();
            assert!(recover(&replacing(&path)).unwrap().is_empty());
            assert_eq!(fs::read_to_string(&path).unwrap(), "page");
            assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
            assert!(folder.path().join(".memtree-a.tmp").exists());
        }
    }
}
