//! Putting a file into a place that may be taken, in such a way that what stood there is not lost.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::faults::{self, Point};
use super::place::Place;
use super::temporary::{Closed, temporary_name};

/// What came of it.
pub(super) enum Put {
    /// It is in place; what stood there is under this name now.
    Done(Option<PathBuf>),
    /// Nothing stands there although something should, or the other way round, or something else
    /// than was read; nothing was done.
    Other(Closed),
}

/// Puts a temporary file in its place. Where `replaces` says so, it takes the place of what stands
/// there, which gets a temporary name; otherwise it takes the place only if it is free. What cannot
/// get a name is replaced only if it is still `read`, where that is given.
pub(super) fn put(temporary: Closed, replaces: bool, read: Option<&[u8]>) -> io::Result<Put> {
    faults::point(Point::Rename)?;
    let place = Place::of(temporary.target())?;
    let ours = place.beside(temporary.name());
    if !replaces {
        return match ours.rename_if_free(&place) {
            Ok(()) => {
                temporary.keep();
                Ok(Put::Done(None))
            }
            Err(err) if err.kind() == ErrorKind::AlreadyExists => Ok(Put::Other(temporary)),
            Err(err) => Err(err),
        };
    }
    match ours.exchange(&place) {
        Ok(true) => return Ok(Put::Done(Some(temporary.keep()))),
        Ok(false) => {}
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Put::Other(temporary)),
        Err(err) => return Err(err),
    }
    move_over(temporary, &place, read)
}

/// Does what an exchange does in two steps: what stands there gets a second name first. Who saves
/// by renaming just between the two is not seen.
fn move_over(temporary: Closed, place: &Place, read: Option<&[u8]>) -> io::Result<Put> {
    let name = temporary_name();
    let aside = match place.link(&place.beside(&name)) {
        Ok(()) => Some(temporary.target().with_file_name(name)),
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Put::Other(temporary)),
        // Without second names, what stood there cannot be looked at any more, so it is before.
        Err(_) if read.is_some_and(|read| is_other(temporary.target(), read)) => {
            return Ok(Put::Other(temporary));
        }
        Err(_) => None,
    };
    place.beside(temporary.name()).rename(place)?;
    temporary.keep();
    Ok(Put::Done(aside))
}

/// Whether a file that is there holds something else.
fn is_other(path: &Path, read: &[u8]) -> bool {
    super::read(path).is_ok_and(|now| now != read)
}
