//! Raw, read again: what a session's own copy of its log says now.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use super::found::Around;
use super::known::source_id_in_vitals;
use super::recorder::{self, RenderError, RenderedSession};
use super::stage::EARLIER;
use super::{CaptureSettings, PageSettings};
use crate::adapters::{self, Adapter, Identity, children};
use crate::base::files;
use crate::base::git::LfsPointer;
use crate::error::{Context, Result};
use crate::model::day::DayLine;
use crate::model::digest::{Digest, Snapshot, SnapshotShape, State, Worth};
use crate::model::ids::SessionId;
use crate::model::session::{Log, LogFile, Role, Source};
use crate::store::day::DayLines;
use crate::store::snapshots::{self, SnapshotWriter};
use crate::store::{digest, layout};

/// What raw says.
pub struct RawReading {
    pub session: RenderedSession,
    /// The files that were read.
    pub log: Log,
    /// The hashes of the pages that it would be written as, by name.
    pub pages: BTreeMap<String, String>,
}

/// Reads the raw of a session again and writes nothing; `None` where there is none.
pub fn read_again(
    adapter: &dyn Adapter,
    snapshot: &Path,
    native_id: &str,
    pages: &PageSettings<'_>,
    day_line: &mut dyn FnMut(&DayLine) -> io::Result<()>,
) -> Result<Option<RawReading>, RenderError> {
    let log = raw_log(adapter, snapshot, native_id).map_err(RenderError::Page)?;
    if log.files.is_empty() {
        return Ok(None);
    }
    let around = Around::kept(snapshot);
    let (writer, session) =
        recorder::render(adapter, &log, SnapshotWriter::nowhere(), pages, around, day_line)?;
    Ok(Some(RawReading { session, pages: writer.hashes().clone(), log }))
}

/// Writes the digest and the day lines of a session that lost its digest from its snapshot, before
/// that may go; says whether it could.
pub fn restore_digest(settings: &CaptureSettings<'_>, session: &SessionId) -> Result<bool> {
    let store = settings.store;
    let layout = store.layout();
    let cannot = || format!("cannot write the digest of `{session}`");
    let snapshot = layout.snapshot(session);
    let source_id = source_id_in_vitals(store, session).unwrap_or_default();
    let Some((flavor, native_id)) = source_id.split_once(':') else { return Ok(false) };
    let Some(adapter) = adapters::named(flavor) else { return Ok(false) };
    let Some(described) = described(&snapshot) else { return Ok(false) };
    let mut lines = DayLines::default();
    let mut add = |line: &DayLine| {
        lines.add(line, session, settings.zone);
        Ok(())
    };
    let read = read_again(adapter, &snapshot, native_id, &settings.pages, &mut add);
    let Ok(Some(read)) = read else { return Ok(false) };
    let digest = Digest {
        session: session.clone(),
        source_id: source_id.clone(),
        adopted_by: settings.adopter(session),
        captured: settings.now,
        state: State::Closed,
        content: read.session.content,
        snapshot: described,
    };
    store.refuse_links(Some(session))?;
    match store.write_digest(&digest) {
        // A page that is no text is left as it is.
        Err(err) if err.kind() == io::ErrorKind::InvalidData => return Ok(false),
        written => written.context(cannot)?,
    };
    if digest.content.worth == Worth::Full {
        lines.write(layout).context(cannot)?;
    }
    Ok(true)
}

/// What a digest says of the snapshot of a log; `None` where that has no manifest.
fn described(snapshot: &Path) -> Option<Snapshot> {
    let manifest = files::read_to_string(snapshot.join(layout::MANIFEST)).ok()?;
    let is_raw = |name: &str| layout::is_raw_file(name, SnapshotShape::Log);
    Some(snapshots::described(&manifest, snapshots::bytes(snapshot), is_raw))
}

/// A digest as it would be written from the raw that is there, where the page that is there lacks
/// what only machines need; `None` where it does not, or nothing can be made of raw.
pub fn facts_again(settings: &CaptureSettings<'_>, session: &SessionId) -> Option<String> {
    let layout = settings.store.layout();
    let page = files::read_to_string(layout.digest(session)).ok()?;
    if !digest::lacks_machine_facts(&page) {
        return None;
    }
    page_again(settings, session, &page)
}

/// A digest as it would be written from the raw that is there; `None` where nothing can be made of
/// it.
pub fn page_again(
    settings: &CaptureSettings<'_>,
    session: &SessionId,
    page: &str,
) -> Option<String> {
    let layout = settings.store.layout();
    let before = digest::parse(page).ok()?;
    let (flavor, native_id) = before.source_id.split_once(':')?;
    let snapshot = layout.snapshot(session);
    let described = described(&snapshot)?;
    let mut none = |_: &DayLine| Ok(());
    let (adapter, pages) = (adapters::named(flavor)?, &settings.pages);
    let read = read_again(adapter, &snapshot, native_id, pages, &mut none).ok()??;
    let content = read.session.content;
    Some(digest::text(&Digest { content, snapshot: described, ..before }))
}

/// The log of a session that was captured, as it lies in its snapshot, in the order in which it was
/// read then.
pub fn raw_log(adapter: &dyn Adapter, snapshot: &Path, native_id: &str) -> io::Result<Log> {
    // Where two conversations claimed the same id, the second got a mark.
    let claimed = native_id.split('~').next().unwrap_or(native_id);
    let mut files = Vec::new();
    let mut claims_id = false;
    // The id in a digest is not the agent's own where that holds a secret.
    let mut own_id = native_id.to_string();
    for found in files::walk_files(&snapshot.join(layout::RAW)) {
        let found = found.map_err(io::Error::other)?;
        if found.relative == Path::new(layout::GITIGNORE) {
            continue;
        }
        if LfsPointer::at(&found.path).is_some() {
            return Err(io::Error::other("raw is with Git LFS, and not here: `git lfs pull`"));
        }
        let identity = adapter.identify_kept(&found.path)?;
        if let Some(identity) = &identity
            && children::of_name(&found.relative).is_none()
            && Source::shown_id(&identity.native_id) == claimed
        {
            claims_id = true;
            if identity.native_id != claimed {
                own_id = identity.native_id.clone();
            }
        }
        files.push((found, identity));
    }
    let own_name = files::safe_name(&own_id, 100);
    let role = |found: &files::FoundFile, identity: Option<Identity>| match identity {
        // A subagent's own session, which says of itself what its files are.
        identity if children::of_name(&found.relative).is_some() => {
            identity.map_or(Role::Attachment, |identity| identity.role)
        }
        // A subagent whose main log was gone, known by a folder that is not kept.
        Some(Identity { native_id, role: Role::Main, .. })
            // An id that is the name of our own folder stood in for none.
            if !claims_id && native_id != layout::RAW =>
        {
            Role::Subagent(native_id)
        }
        Some(identity) => identity.role,
        // Taken out of a shared file, and called after the session.
        None if found.relative.file_stem() == Some(own_name.as_ref()) => Role::Main,
        None => Role::Attachment,
    };
    let mut ranked = Vec::new();
    let mut follows = HashMap::new();
    for (found, identity) in files {
        if let Some(record) = identity.as_ref().and_then(|identity| identity.follows.clone()) {
            follows.insert(found.path.clone(), record);
        }
        let named = identity.as_ref().map(|identity| identity.native_id.as_str());
        let child = children::own_id(&found.relative, named);
        let role = role(&found, identity);
        // The main conversation first: what was carried over from earlier captures, then shorter
        // files before longer.
        let rank = match &role {
            Role::Main if found.relative.to_string_lossy().starts_with(EARLIER) => (0, 0),
            Role::Main => (1, found.metadata.len()),
            _ => (2, 0),
        };
        let (path, name) = (found.path, found.relative);
        ranked.push((rank, LogFile { path, name, role, within: None, child }));
    }
    // The children's files come last, so that the main conversation stands together.
    ranked.sort_by_key(|(rank, file)| (file.child.is_some(), *rank));
    let mut files: Vec<LogFile> = ranked.into_iter().map(|(_, file)| file).collect();
    adapters::put_in_order(&mut files, |file| follows.get(&file.path).map(String::as_str));
    Ok(Log { native_id: own_id, files })
}
