//! The device's own log, `.memtree/local/log`: trouble of whoever cannot speak up, such as a hook.

use std::fs;

use super::layout::Layout;
use crate::base::clock::{self, Timestamp};
use crate::base::files;
use crate::base::redact::Redactor;
use crate::base::text;

/// How long the log may become; then it is put aside, and the one before it goes.
const LONGEST: u64 = 1 << 20;
/// How long one line may be, in characters.
const LONGEST_LINE: usize = 500;

/// Adds a line to the log, redacted. It never waits, and where it cannot be written nothing comes
/// of it: there is nobody left to tell.
pub fn note(layout: &Layout, now: Timestamp, what: &str) {
    let path = layout.journal();
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LONGEST) {
        let _ = files::rename(&path, &path.with_extension("old"));
    }
    let what = text::one_line(&Redactor::new().redact(what), LONGEST_LINE);
    let line = format!("{} {what}\n", clock::stamp(now));
    // One write at the end of the file: lines of several processes stay whole.
    let _ = files::append_plain(&path, line.as_bytes());
}
