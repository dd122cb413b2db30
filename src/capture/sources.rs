//! Sources: which files there are, whose they are, which of them make up a session, and which of
//! these are left out or forgotten.
//!
//! A sweep, its dry run, `verify` and the rescue clock all ask here, so that they agree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CaptureSettings;
use super::cursors::{Cursors, KnownFile, SharedCursor};
use super::known::Known;
use crate::adapters::shared::{Beside, SharedFiles};
use crate::adapters::{self, Identified};
use crate::base::files::{self, Stamp};
use crate::error::{Context, Error, Result};
use crate::model::exclude::Exclude;
use crate::model::session::{LogFile, Skipped, Source};
use crate::store::tombstones::Tombstones;
use crate::store::{Store, layout};

/// Which logs to look at.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Where to look.
    pub roots: Vec<Root>,
    /// Only sessions of these agents, where any are named.
    pub only: Vec<String>,
    /// No sessions of these agents.
    pub except: Vec<String>,
}

/// A place to look for logs.
#[derive(Debug, Clone)]
pub struct Root {
    pub path: PathBuf,
    /// Which files below it count, as a pattern on their path below the root.
    pub glob: Option<glob::Pattern>,
    /// Whether the person named it: then it has to be there.
    pub named: bool,
}

impl Root {
    /// A place that the person named.
    pub fn named(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), glob: None, named: true }
    }

    /// A place that need not be there.
    pub fn usual(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), glob: None, named: false }
    }
}

impl Selection {
    /// Whether sessions of an agent are meant.
    pub fn has(&self, flavor: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == flavor);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.except)
    }
}

/// The files below the roots as they are now.
#[derive(Default)]
pub struct Walk {
    pub files: Vec<(PathBuf, Stamp)>,
    /// What could not be looked at.
    pub skipped: Vec<Skipped>,
}

impl Walk {
    /// Lists the files. What `own` holds is what we wrote ourselves.
    pub fn of(selection: &Selection, own: &Path, exclude: &Exclude) -> Result<Walk> {
        let mut walk = Walk::default();
        let own = &fs::canonicalize(own).unwrap_or_else(|_| own.to_path_buf());
        for root in &selection.roots {
            if files::exists(&root.path) {
                walk.add(root, own, exclude);
            } else if root.named {
                return Err(Error::new(format!("cannot find the logs `{}`", root.path.display()))
                    .because("there is no such file or folder")
                    .hint("check the path after `--source`"));
            }
        }
        Ok(walk)
    }

    fn add(&mut self, root: &Root, own: &Path, exclude: &Exclude) {
        // One place has one name here, however it was spelled: a file must not be met twice.
        let folder = fs::canonicalize(&root.path).unwrap_or_else(|_| root.path.clone());
        let holds_own = own.starts_with(&folder);
        for found in files::walk_files(&folder) {
            let found = match found {
                Ok(found) => found,
                Err(trouble) => {
                    self.skipped.push(unreadable(trouble.path, trouble.reason));
                    continue;
                }
            };
            // A link may lead anywhere; the file it leads to is found where it is.
            let is_log = found.link.is_none()
                && root.glob.as_ref().is_none_or(|glob| glob.matches_path(&found.relative));
            let is_ours = holds_own && found.path.starts_with(own);
            if is_log && !is_ours && !exclude.has_path(&found.path) {
                self.files.push((found.path, Stamp::of(&found.metadata)));
            }
        }
    }
}

/// The sessions that were found below the roots.
pub struct Sources {
    /// Those to be captured, or captured already.
    pub sources: Vec<Source>,
    /// Those that a sweep under the same settings found to be left out.
    pub excluded: Vec<Source>,
    /// Those that it held back.
    pub held: Vec<Source>,
    /// What could not be looked into.
    pub skipped: Vec<Skipped>,
    /// Whether any file is shared among sessions.
    pub has_shared: bool,
    /// Takes sessions out of such files.
    pub shared: SharedFiles,
    files: HashMap<OsString, ScannedFile>,
}

/// A file as it is now.
struct ScannedFile {
    stamp: Stamp,
    /// Whether it looks as it did when it was last captured, or found to be no log.
    same: bool,
    known: Option<KnownFile>,
}

/// What a sweep makes of the sources.
pub struct SweepPlan {
    pub unchanged: Vec<Source>,
    pub changed: Vec<Source>,
    /// Left out before, and not changed since: they need not be read again.
    pub excluded: Vec<Source>,
    /// The same of those that are held back.
    pub held: Vec<Source>,
}

impl Sources {
    /// Finds the sources and what is known of them, for whoever only looks: nothing is remembered.
    pub fn scan(settings: &CaptureSettings<'_>, selection: &Selection) -> Result<(Sources, Known)> {
        let store = settings.store;
        let exclude = &settings.pages.exclude;
        let keys = [exclude.key(), settings.pages.held_key()];
        let mut known = Known::load(settings, store.digest_stamps()?);
        let walk = Walk::of(selection, store.layout().root(), exclude)?;
        let tombstones =
            Tombstones::load(store.layout()).context(|| "cannot read what was forgotten".into())?;
        let shared = SharedFiles::with_temporary_copies();
        let cursors = &mut known.cursors;
        let sources = Sources::find(walk, selection, cursors, &keys, &tombstones, shared);
        Ok((sources, known))
    }

    /// Tells whose the files are, puts those of each session together, and sorts out what is
    /// forgotten or left out.
    pub fn find(
        walk: Walk,
        selection: &Selection,
        cursors: &mut Cursors,
        [left_out, held_back]: &[String; 2],
        tombstones: &Tombstones,
        shared: SharedFiles,
    ) -> Sources {
        let mut found = Sources {
            sources: Vec::new(),
            excluded: Vec::new(),
            held: Vec::new(),
            skipped: walk.skipped,
            has_shared: false,
            shared,
            files: HashMap::with_capacity(walk.files.len()),
        };
        let mut identified = Vec::with_capacity(walk.files.len());
        for (path, stamp) in walk.files {
            // Roots may overlap.
            if !found.files.contains_key(path.as_os_str()) {
                found.look_at(path, stamp, selection, cursors, &mut identified);
            }
        }
        let held = cursors.sources_with_raw();
        let (sources, clashes) = adapters::gather(
            identified,
            |flavor, lineage| cursors.owner(flavor, lineage).cloned(),
            |flavor, id| held.contains(Source::id(flavor, id).as_str()),
        );
        // Once they are captured, a clash is known and no news.
        let is_news =
            |clash: &Skipped| found.files.get(clash.path.as_os_str()).is_none_or(|file| !file.same);
        let news: Vec<Skipped> = clashes.into_iter().filter(is_news).collect();
        let read: HashSet<&Path> = sources
            .iter()
            .flat_map(|source| &source.files)
            .map(|file| file.path.as_path())
            .collect();
        for lone in news.iter().filter(|clash| !read.contains(clash.path.as_path())) {
            // What no session takes is named once.
            if let Some(file) = found.files.get(lone.path.as_os_str()) {
                cursors.remember(lone.path.clone(), file.stamp, file.known.clone());
            }
        }
        found.skipped.extend(news);
        for mut source in sources {
            let source_id = source.source_id();
            // A subagent that was forgotten by itself does not come back with its parent.
            source.files.retain(|file| {
                let child = file.child.as_deref().map(|child| Source::id(source.flavor, child));
                child.is_none_or(|child| !tombstones.has_source(&child))
            });
            if source.files.is_empty() {
                continue;
            }
            if tombstones.has_source(&source_id) {
                // It is not remembered in the cursors either, which would keep its name.
            } else if cursors.is_excluded(&source_id, left_out) {
                found.excluded.push(source);
            } else if cursors.is_excluded(&source_id, held_back) {
                found.held.push(source);
            } else {
                found.sources.push(source);
            }
        }
        found
    }

    /// Tells whose a file is.
    fn look_at(
        &mut self,
        path: PathBuf,
        stamp: Stamp,
        selection: &Selection,
        cursors: &mut Cursors,
        identified: &mut Vec<Identified>,
    ) {
        let cursor = cursors.unchanged(&path, &stamp);
        let same = cursor.is_some();
        let is_as_it_was = |shared: &SharedCursor| shared.beside == Beside::of(&path);
        let looked = match cursor {
            Some(cursor) if cursor.shared.as_ref().is_none_or(is_as_it_was) => {
                Ok((cursor.known.clone(), cursor.shared.clone()))
            }
            _ => look_into(&path, &self.shared, cursors.shared(&path)),
        };
        let (known, sessions) = match looked {
            Ok(looked) => looked,
            Err(err) => return self.skipped.push(unreadable(path, err.to_string())),
        };
        let mut add = |flavor: &str, identities: Vec<adapters::Identity>, shared: bool| {
            let Some(flavor) = adapters::named(flavor).map(|adapter| adapter.name()) else {
                return;
            };
            if selection.has(flavor) {
                identified.extend(identities.into_iter().map(|identity| Identified {
                    path: path.clone(),
                    flavor,
                    size: stamp.size,
                    identity,
                    shared,
                }));
            }
        };
        match (&known, sessions) {
            (Some(known), _) => add(&known.flavor, vec![known.identity.clone()], false),
            (None, Some(sessions)) => {
                self.has_shared = true;
                add(&sessions.flavor, sessions.identities().collect(), true);
                let before = cursors.unchanged(&path, &stamp);
                if before.and_then(|cursor| cursor.shared.as_ref()) != Some(&sessions) {
                    cursors.remember_shared(path.clone(), stamp, sessions);
                }
            }
            (None, None) if !same => cursors.remember(path.clone(), stamp, None),
            (None, None) => {}
        }
        self.files.insert(path.into_os_string(), ScannedFile { stamp, same, known });
    }

    /// Decides what is captured.
    pub fn plan(&mut self, store: &Store, known: &Known) -> SweepPlan {
        let sources = std::mem::take(&mut self.sources).into_iter();
        let (unchanged, mut changed): (Vec<_>, Vec<_>) =
            sources.partition(|source| self.is_unchanged(store, known, source));
        let excluded = std::mem::take(&mut self.excluded).into_iter();
        let (excluded, grown): (Vec<_>, Vec<_>) =
            excluded.partition(|source| self.looks_the_same(&known.cursors, source));
        changed.extend(grown);
        let held = std::mem::take(&mut self.held).into_iter();
        let (held, grown): (Vec<_>, Vec<_>) =
            held.partition(|source| self.looks_the_same(&known.cursors, source));
        changed.extend(grown);
        SweepPlan { unchanged, changed, excluded, held }
    }

    /// Whether the tree already holds a source as it is now.
    pub fn is_unchanged(&self, store: &Store, known: &Known, source: &Source) -> bool {
        let session = known.session(&source.source_id()).filter(|session| session.digested);
        let Some(session) = session else { return false };
        if self.looks_the_same(&known.cursors, source) {
            return true;
        }
        // Dates and inodes change for many reasons; the content decides.
        let Ok(Some(digest)) = store.digest(&session.id) else { return false };
        let captured = store.captured_hashes(&digest);
        source.files.iter().all(|file| {
            let name = format!("{}/{}", layout::RAW, file.name.display());
            let then = captured.get(&name);
            then.is_some_and(|then| self.hash(file).is_ok_and(|(_, now)| now == *then))
        })
    }

    /// Whether all files of a source look as they did when they were last read.
    pub fn looks_the_same(&self, cursors: &Cursors, source: &Source) -> bool {
        source.files.iter().all(|file| match &file.within {
            Some(id) => cursors.holds(&file.path, id),
            None => self.is_same(&file.path),
        })
    }

    /// Whether a file looks as it did when it was last read.
    pub fn is_same(&self, path: &Path) -> bool {
        self.files.get(path.as_os_str()).is_some_and(|now| now.same)
    }

    /// When a file of the source was last written to, in nanoseconds since 1970.
    pub fn modified_ns(&self, source: &Source) -> Option<i64> {
        let files = source.files.iter().filter_map(|file| self.files.get(file.path.as_os_str()));
        files.map(|file| file.stamp.mtime_ns).max()
    }

    /// The length and hash of what a session has in a file.
    pub fn hash(&self, file: &LogFile) -> io::Result<(u64, String)> {
        let Some(id) = &file.within else { return files::hash_file(&file.path) };
        let mut hasher = files::HashingWriter::new(io::sink());
        self.shared.extract(&file.path, id, &mut hasher)?;
        let (_, hashed) = hasher.finish();
        Ok((hashed.bytes, hashed.sha256))
    }

    /// Remembers that a source was read as it is now.
    pub fn remember(&self, cursors: &mut Cursors, source: &Source) {
        for file in &source.files {
            if let Some(id) = &file.within {
                cursors.remember_part(&file.path, id);
            } else if let Some(now) = self.files.get(file.path.as_os_str()) {
                if !now.same {
                    cursors.remember(file.path.clone(), now.stamp, now.known.clone());
                }
                if let Some(lineage) =
                    now.known.as_ref().and_then(|known| known.identity.lineage.as_deref())
                {
                    let owner = file.child.as_ref().unwrap_or(&source.native_id);
                    cursors.remember_owner(source.flavor, lineage, owner);
                }
            }
        }
    }
}

/// Says what a file is: one session's, or shared among many. `before` is what was known of it as a
/// shared one.
fn look_into(
    path: &Path,
    shared: &SharedFiles,
    before: Option<&SharedCursor>,
) -> io::Result<(Option<KnownFile>, Option<SharedCursor>)> {
    if let Some((adapter, identity)) = adapters::recognize(path)? {
        let flavor = adapter.name().to_string();
        return Ok((Some(KnownFile { flavor, identity }), None));
    }
    let beside = Beside::of(path);
    let sessions = shared
        .list(path)?
        .map(|(adapter, found)| SharedCursor::new(adapter.name(), beside, found, before));
    Ok((None, sessions))
}

/// A file, or what a session has in it, that could not be read as a whole.
pub fn unreadable(path: impl Into<PathBuf>, reason: impl Into<String>) -> Skipped {
    Skipped { path: path.into(), line: 0, reason: reason.into() }
}
