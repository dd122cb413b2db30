//! Capturing again: a session from its own raw, when the rules have changed.

use super::found::Around;
use super::known::Known;
use super::raw::raw_log;
use super::stage::{self, CaptureError};
use super::{CaptureSettings, commit};
use crate::adapters;
use crate::adapters::shared::SharedFiles;
use crate::base::files;
use crate::error::{Context, Result};
use crate::model::ids::SessionId;
use crate::model::session::{Log, Source};

/// Captures a session again from its own raw, and puts it in the place of what is there, around a
/// person's edits; says whether it could. For pages that were written with earlier rules.
pub fn capture_again(
    settings: &CaptureSettings<'_>,
    known: &mut Known,
    session: &SessionId,
) -> Result<bool> {
    let store = settings.store;
    let snapshot = store.layout().snapshot(session);
    let Ok(Some(digest)) = store.digest(session) else { return Ok(false) };
    let Some((flavor, native_id)) = digest.source_id.split_once(':') else { return Ok(false) };
    let Some(adapter) = adapters::named(flavor) else { return Ok(false) };
    let cannot = || format!("cannot read `{}`", store.layout().shown(&snapshot));
    let Log { native_id, files } = raw_log(adapter, &snapshot, native_id).context(cannot)?;
    if files.is_empty() || known.session(&digest.source_id).is_none() {
        return Ok(false);
    }
    let source = Source { flavor: adapter.name(), native_id, files, origin: None };
    let around = Around::of(Some(&snapshot), &source);
    let shared = SharedFiles::with_temporary_copies();
    let folder = store.layout().staging().join(format!("again-{session}"));
    files::remove_folder(&folder).context(cannot)?;
    match stage::stage(adapter, &source, &shared, None, &folder, &settings.pages, around) {
        Ok(staged) => {
            commit::commit_all(settings, known, vec![staged], |_, _| {})?;
            Ok(true)
        }
        Err(CaptureError::Store(err)) => Err(err),
        Err(_) => Ok(false),
    }
}
