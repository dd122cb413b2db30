//! The digest of a session that lost it, told from its raw, before that raw may go.

use std::fs;

use super::Request;
use crate::adapters;
use crate::base::files;
use crate::base::front_matter::Document;
use crate::error::{Context, Result};
use crate::model::digest::{Digest, State, Worth};
use crate::model::ids::SessionId;
use crate::ops::capture;
use crate::store::days::DayLines;
use crate::store::snapshots::{self, SnapshotWriter};
use crate::store::{Store, documents, layout};

/// Writes the digest and the day lines of a session from its snapshot; says whether it could.
pub fn digest_now(store: &Store, request: &Request<'_>, session: &SessionId) -> Result<bool> {
    let layout = store.layout();
    let cannot = || format!("cannot write the digest of `{session}`");
    let snapshot = layout.snapshot(session);
    let vitals = fs::read_to_string(snapshot.join(layout::VITALS)).unwrap_or_default();
    let source_id =
        Document::parse(&format!("---\n{vitals}---\n")).get_str("source_id").unwrap_or_default();
    let Some((flavor, native_id)) = source_id.split_once(':') else { return Ok(false) };
    let Some(adapter) = adapters::named(flavor) else { return Ok(false) };
    let Ok(manifest) = fs::read_to_string(snapshot.join(layout::MANIFEST)) else {
        return Ok(false);
    };
    let log = match capture::raw_log(adapter, &snapshot, native_id) {
        Ok(log) if !log.files.is_empty() => log,
        _ => return Ok(false),
    };
    let mut lines = DayLines::default();
    let mut add = |line: &crate::model::day::DayLine| {
        lines.add(line, session, request.zone);
        Ok(())
    };
    let told = capture::tell(
        adapter,
        &log,
        adapter.name(),
        SnapshotWriter::nowhere(),
        request.pages,
        &mut add,
    );
    let Ok((_, told)) = told else { return Ok(false) };
    let measured = snapshots::measure(&snapshot, false);
    let digest = Digest {
        session: session.clone(),
        source_id: source_id.clone(),
        captured: request.now,
        state: State::Closed,
        content: told.content,
        snapshot: snapshots::described(&manifest, measured.all(), |name| {
            layout::is_raw_file(name, false)
        }),
    };
    let path = layout.digest(session);
    store.refuse_links(Some(session))?;
    let text = match fs::read_to_string(&path) {
        Ok(damaged) => documents::digest_text_over(&damaged, &digest),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => documents::digest_text(&digest),
        Err(_) => return Ok(false),
    };
    files::write_atomic(&path, text.as_bytes()).context(cannot)?;
    if digest.content.worth == Worth::Full {
        lines.write(layout).context(cannot)?;
    }
    Ok(true)
}
