//! Writing a page while its person may be editing it: every writer of such pages comes by here.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::base::files::{self, Merge, SharedMerge};
use crate::store::layout::Layout;

/// Makes a page from what is there, and again from whatever somebody saves meanwhile; returns
/// whether it changed. `merge` says what is to be there, or `None` where nothing needs to change.
pub fn replace(
    layout: &Layout,
    path: &Path,
    merge: impl Fn(Option<&str>) -> Option<String>,
) -> io::Result<bool> {
    files::replace(&layout.replacing(), path, merging(merge))
}

/// The same for a batch: how a page is made from the text that is there.
pub fn merging<'m>(merge: impl Fn(Option<&str>) -> Option<String> + 'm) -> Merge<'m> {
    Box::new(move |now| merged(&merge, now))
}

/// The same for one of many pages that are made at once.
pub fn merging_shared<'m>(
    merge: impl Fn(Option<&str>) -> Option<String> + Send + Sync + 'm,
) -> SharedMerge<'m> {
    Box::new(move |now| merged(&merge, now))
}

fn merged(
    merge: impl Fn(Option<&str>) -> Option<String>,
    now: Option<&[u8]>,
) -> io::Result<Option<Vec<u8>>> {
    let text = now.map(std::str::from_utf8).transpose();
    let text = text.map_err(|err| io::Error::new(ErrorKind::InvalidData, err))?;
    Ok(merge(text).map(String::into_bytes))
}
