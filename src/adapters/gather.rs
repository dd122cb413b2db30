//! Which files make up a session: resumed parts, subagents and attachments are put together.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::Identity;
use crate::base::files;
use crate::model::session::{LogFile, Role, Skipped, Source};

/// A file with what it is, as [`gather`] takes it.
#[derive(Debug, Clone)]
pub struct Identified {
    /// Where the file is.
    pub path: PathBuf,
    /// Which agent's it is.
    pub flavor: &'static str,
    /// How long it is.
    pub size: u64,
    /// What it is to its session.
    pub identity: Identity,
    /// Whether other sessions lie in it too.
    pub shared: bool,
}

/// Puts the files of one session together: resumed parts by their lineage, subagents and
/// attachments by their session's id. What claims an id without being the same conversation becomes
/// a session of its own, and is named in the second list.
///
/// `owner` gives the id under which a conversation, named by its lineage, was captured before: it
/// keeps that id whatever becomes of its files.
pub fn gather(
    mut found: Vec<Identified>,
    owner: impl Fn(&str, &str) -> Option<String>,
) -> (Vec<Source>, Vec<Skipped>) {
    let owner_of = |file: &Identified| owner(file.flavor, file.identity.lineage.as_deref()?);
    // Where an agent copied a conversation into a new file on resume, the shorter file is the older
    // one; it comes first and gives the session its id, unless the session has one already.
    found.sort_by_cached_key(|file| (owner_of(file).is_none(), file.size, file.path.clone()));
    let mut sessions = Sessions::default();
    let (main, rest): (Vec<&Identified>, Vec<&Identified>) =
        found.iter().partition(|file| file.identity.role == Role::Main);
    for file in main {
        let id = owner_of(file).unwrap_or_else(|| file.identity.native_id.clone());
        sessions.add_main(file, id);
    }
    for file in rest {
        sessions.add_beside(file);
    }
    for source in &mut sessions.sources {
        // The main conversation first (shorter files before longer ones), the rest by name.
        source.files.sort_by(|a, b| match (&a.role, &b.role) {
            (Role::Main, Role::Main) => Ordering::Equal,
            (Role::Main, _) => Ordering::Less,
            (_, Role::Main) => Ordering::Greater,
            _ => a.path.cmp(&b.path),
        });
        name_files(&mut source.files);
    }
    (sessions.sources, sessions.skipped)
}

/// The sessions so far, and where each stands by its flavor and lineage, or its flavor and id.
#[derive(Default)]
struct Sessions<'f> {
    sources: Vec<Source>,
    skipped: Vec<Skipped>,
    by_lineage: BTreeMap<(&'f str, &'f str), usize>,
    by_id: BTreeMap<(&'f str, String), usize>,
}

impl<'f> Sessions<'f> {
    /// Adds a file of a conversation, which goes by this id.
    fn add_main(&mut self, file: &'f Identified, id: String) {
        let (flavor, identity) = (file.flavor, &file.identity);
        let lineage = identity.lineage.as_deref().map(|lineage| (flavor, lineage));
        let same = lineage.and_then(|lineage| self.by_lineage.get(&lineage).copied());
        let taken = self.by_id.get(&(flavor, id.clone())).copied();
        let at = match (same, taken) {
            (Some(at), _) => at,
            (None, None) => self.begin(flavor, id.clone()),
            (None, Some(at)) => {
                self.skip_claim(file, at);
                let own = format!("{}~{}", identity.native_id, short_hash(&own_mark(file)));
                self.begin(flavor, own)
            }
        };
        if let Some(lineage) = lineage {
            self.by_lineage.entry(lineage).or_insert(at);
        }
        self.by_id.entry((flavor, id)).or_insert(at);
        self.by_id.entry((flavor, identity.native_id.clone())).or_insert(at);
        self.sources[at].files.push(log_file(file));
    }

    /// Adds a file that belongs to a conversation.
    fn add_beside(&mut self, file: &'f Identified) {
        let key = (file.flavor, file.identity.native_id.clone());
        let at = match self.by_id.get(&key).copied() {
            Some(at) => at,
            // A subagent whose main log is gone is still a conversation worth keeping; a lone
            // attachment is not.
            None if file.identity.role == Role::Attachment => return,
            None => {
                let at = self.begin(file.flavor, key.1.clone());
                self.by_id.insert(key, at);
                at
            }
        };
        self.sources[at].files.push(log_file(file));
    }

    fn begin(&mut self, flavor: &'static str, native_id: String) -> usize {
        self.sources.push(Source { flavor, native_id, files: Vec::new() });
        self.sources.len() - 1
    }

    /// Names a file that claims the id of another conversation.
    fn skip_claim(&mut self, file: &Identified, at: usize) {
        let first = self.sources[at].files[0].path.display();
        let reason = format!(
            "claims the session id of `{first}` but is another conversation; \
             kept as a session of its own"
        );
        self.skipped.push(Skipped { path: file.path.clone(), line: 0, reason });
    }
}

/// Names the files as they will be called in the snapshot: as they lie around the main one, with
/// safe names.
fn name_files(files: &mut [LogFile]) {
    let base = files
        .first()
        .and_then(|file| file.path.parent())
        .map(Path::to_path_buf)
        .unwrap_or_default();
    let mut taken = HashSet::new();
    for file in files {
        let mut name = match (&file.within, &file.role) {
            // What is taken out of a shared file is called after the session.
            (Some(id), Role::Main) => {
                let lines = file.path.extension().is_some_and(|extension| extension == "md");
                let end = if lines { "md" } else { "rows.jsonl" };
                PathBuf::from(format!("{}.{end}", files::safe_name(id, 100)))
            }
            _ => {
                let below =
                    file.path.strip_prefix(&base).ok().or(file.path.file_name().map(Path::new));
                let parts = below.unwrap_or(Path::new("log")).components();
                parts
                    .map(|part| files::safe_name(&part.as_os_str().to_string_lossy(), 120))
                    .collect()
            }
        };
        if !taken.insert(name.clone()) {
            name = Path::new(&taken.len().to_string()).join(name);
            taken.insert(name.clone());
        }
        file.name = name;
    }
}

fn log_file(file: &Identified) -> LogFile {
    LogFile {
        path: file.path.clone(),
        name: PathBuf::new(),
        role: file.identity.role.clone(),
        within: file.shared.then(|| file.identity.native_id.clone()),
    }
}

/// What distinguishes a file from another that claims the same id, on whatever device it lies: how
/// its conversation begins, else its name.
fn own_mark(file: &Identified) -> Cow<'_, str> {
    let name = || file.path.file_name().unwrap_or_default().to_string_lossy();
    file.identity.lineage.as_deref().map_or_else(name, Cow::Borrowed)
}

fn short_hash(mark: &str) -> String {
    files::sha256_hex(mark.as_bytes())[..8].to_string()
}
