//! Which files make up a session: resumed parts, subagents and attachments are put together.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde_json::{Map, Value};

use super::jsonl::{self, Line, Lines};
use super::{Identity, children};
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
/// a session of its own, and is named in the second list; so is what belongs to a session of which
/// nothing else is there. A subagent with a log of its own goes to the session that started it,
/// where that one is found or held by the memory; else it stays by itself.
///
/// `owner` gives the id under which a conversation, named by its lineage, was captured before: it
/// keeps that id whatever becomes of its files. `is_held` says whether the memory holds a session
/// of an agent with its raw.
pub fn gather(
    mut found: Vec<Identified>,
    owner: impl Fn(&str, &str) -> Option<String>,
    is_held: impl Fn(&str, &str) -> bool,
) -> (Vec<Source>, Vec<Skipped>) {
    let owner_of = |file: &Identified| owner(file.flavor, file.identity.lineage.as_deref()?);
    // Where an agent copied a conversation into a new file on resume, the shorter file is the older
    // one; it comes first and gives the session its id, unless the session has one already.
    found.sort_by_cached_key(|file| (owner_of(file).is_none(), file.size, file.path.clone()));
    let mut sources = Sources::default();
    let (main, rest): (Vec<&Identified>, Vec<&Identified>) =
        found.iter().partition(|file| file.identity.role == Role::Main);
    for file in main {
        let id = owner_of(file).unwrap_or_else(|| file.identity.native_id.clone());
        sources.add_main(file, id);
    }
    // Attachments last: a subagent's log makes a session, too.
    let (rest, attachments): (Vec<&Identified>, Vec<&Identified>) =
        rest.into_iter().partition(|file| file.identity.role != Role::Attachment);
    for file in rest.into_iter().chain(attachments) {
        sources.add_beside(file);
    }
    sources.skip_lone(&is_held);
    for source in &mut sources.list {
        // The main conversation first (shorter files before longer ones), the rest by name.
        source.files.sort_by(|a, b| match (&a.role, &b.role) {
            (Role::Main, Role::Main) => Ordering::Equal,
            (Role::Main, _) => Ordering::Less,
            (_, Role::Main) => Ordering::Greater,
            _ => a.path.cmp(&b.path),
        });
        name_files(&mut source.files);
        let follows = |file: &LogFile| sources.follows.get(file.path.as_path()).copied();
        put_in_order(&mut source.files, follows);
    }
    sources.name_origins(&found);
    sources.fold(is_held);
    (sources.list, sources.skipped)
}

/// The sessions so far, and where each stands by its flavor and lineage, or its flavor and id.
#[derive(Default)]
struct Sources<'f> {
    list: Vec<Source>,
    skipped: Vec<Skipped>,
    by_lineage: BTreeMap<(&'f str, &'f str), usize>,
    by_id: BTreeMap<(&'f str, String), usize>,
    /// By file: the record of another file that it goes on from.
    follows: HashMap<&'f Path, &'f str>,
    /// The sessions that others started, and by which.
    parents: BTreeMap<usize, &'f str>,
    /// Of each session that has only attachments, one.
    lone: BTreeMap<(&'f str, String), &'f Path>,
}

impl<'f> Sources<'f> {
    /// Adds a file of a conversation, which goes by this id.
    fn add_main(&mut self, file: &'f Identified, id: String) {
        let (flavor, identity) = (file.flavor, &file.identity);
        let lineage = identity.lineage.as_deref().map(|lineage| (flavor, lineage));
        let same = lineage.and_then(|lineage| self.by_lineage.get(&lineage).copied());
        let taken = self.by_id.get(&(flavor, id.clone())).copied();
        let at = match (same, taken) {
            (Some(at), _) => at,
            (None, None) => self.begin(flavor, id.clone()),
            (None, Some(at)) if self.goes_on(file, at) => at,
            (None, Some(at)) => {
                self.skip_claim(file, at);
                let own = format!("{}~{}", identity.native_id, short_hash(&own_mark(file)));
                self.begin(flavor, own)
            }
        };
        if let Some(lineage) = lineage {
            self.by_lineage.entry(lineage).or_insert(at);
        }
        if let Some(parent) = &identity.parent {
            self.parents.entry(at).or_insert(parent);
        }
        self.by_id.entry((flavor, id)).or_insert(at);
        self.by_id.entry((flavor, identity.native_id.clone())).or_insert(at);
        self.list[at].files.push(log_file(file));
        if let Some(follows) = &identity.follows {
            self.follows.insert(&file.path, follows);
        }
    }

    /// Whether a file is a part of a conversation that was found: the one's first record goes on
    /// from a record of the other.
    fn goes_on(&self, file: &Identified, at: usize) -> bool {
        self.list[at].files.iter().any(|other| {
            let before = file.identity.follows.as_deref();
            let after = self.follows.get(other.path.as_path()).copied();
            before.is_some_and(|record| has_record(&other.path, record))
                || after.is_some_and(|record| has_record(&file.path, record))
        })
    }

    /// Adds a file that belongs to a conversation.
    fn add_beside(&mut self, file: &'f Identified) {
        let key = (file.flavor, file.identity.native_id.clone());
        let at = match self.by_id.get(&key).copied() {
            Some(at) => at,
            // A subagent whose main log is gone is still a conversation worth keeping; a lone
            // attachment is not.
            None if file.identity.role == Role::Attachment => {
                // A list of many sessions may well name some that are gone.
                if !file.shared {
                    self.lone.entry(key).or_insert(&file.path);
                }
                return;
            }
            None => {
                let at = self.begin(file.flavor, key.1.clone());
                self.by_id.insert(key, at);
                at
            }
        };
        self.list[at].files.push(log_file(file));
    }

    /// Says of forks which session they come from.
    fn name_origins(&mut self, found: &'f [Identified]) {
        for file in found {
            let Some(record) = file.identity.forked.as_deref() else { continue };
            let origin = self.by_lineage.get(&(file.flavor, record)).copied();
            let fork = self.by_id.get(&(file.flavor, file.identity.native_id.clone())).copied();
            if let (Some(origin), Some(fork)) = (origin, fork)
                && origin != fork
            {
                self.list[fork].origin = Some(self.list[origin].native_id.clone());
            }
        }
    }

    fn begin(&mut self, flavor: &'static str, native_id: String) -> usize {
        self.list.push(Source { flavor, native_id, files: Vec::new(), origin: None });
        self.list.len() - 1
    }

    /// Puts the files of subagents with logs of their own into the sessions that started them.
    fn fold(&mut self, is_held: impl Fn(&str, &str) -> bool) {
        let children: Vec<usize> = self.parents.keys().copied().collect();
        // First where each goes, then all at once: a child's child goes to the same place.
        let targets: Vec<_> =
            children.iter().map(|child| (*child, self.root(*child, &is_held))).collect();
        for (child, target) in targets {
            let Some(target) = target else { continue };
            let flavor = self.list[child].flavor;
            let target = match target {
                Root::Found(at) => at,
                Root::Held(id) => match self.by_id.get(&(flavor, id.to_string())).copied() {
                    Some(at) => at,
                    None => {
                        let at = self.begin(flavor, id.to_string());
                        self.by_id.insert((flavor, id.to_string()), at);
                        at
                    }
                },
            };
            let id = self.list[child].native_id.clone();
            let files = std::mem::take(&mut self.list[child].files);
            self.list[target].files.extend(files.into_iter().map(|file| LogFile {
                name: children::folder(&id).join(&file.name),
                child: Some(id.clone()),
                ..file
            }));
        }
        self.list.retain(|source| !source.files.is_empty());
    }

    /// The session to which a child belongs, through however many others; `None` where it is not
    /// there, or where sessions name each other in a circle.
    fn root(&self, child: usize, is_held: impl Fn(&str, &str) -> bool) -> Option<Root<'f>> {
        let flavor = self.list[child].flavor;
        let mut way = vec![child];
        loop {
            let at = *way.last()?;
            let Some(parent) = self.parents.get(&at).copied() else {
                return (at != child).then_some(Root::Found(at));
            };
            match self.by_id.get(&(flavor, parent.to_string())) {
                Some(next) if way.contains(next) => return None,
                Some(next) => way.push(*next),
                None if is_held(flavor, parent) => return Some(Root::Held(parent)),
                None => return (at != child).then_some(Root::Found(at)),
            }
        }
    }

    /// Names what belongs to sessions whose own logs are neither here nor in the memory, one file
    /// of each.
    fn skip_lone(&mut self, is_held: impl Fn(&str, &str) -> bool) {
        for ((flavor, id), path) in std::mem::take(&mut self.lone) {
            if !is_held(flavor, &id) {
                let reason = format!("belongs to a session of {flavor} whose own log is not there");
                self.skipped.push(Skipped { path: path.to_path_buf(), line: 0, reason });
            }
        }
    }

    /// Names a file that claims the id of another conversation.
    fn skip_claim(&mut self, file: &Identified, at: usize) {
        let first = self.list[at].files[0].path.display();
        let reason = format!(
            "claims the session id of `{first}` but is another conversation; \
             kept as a session of its own"
        );
        self.skipped.push(Skipped { path: file.path.clone(), line: 0, reason });
    }
}

/// Puts the parts of a conversation that goes on in further files in their order: none before the
/// one that it goes on from.
pub fn put_in_order<'f>(files: &mut [LogFile], follows: impl Fn(&LogFile) -> Option<&'f str>) {
    let main = files.iter().take_while(|file| file.role == Role::Main).count();
    if main < 2 || !files[..main].iter().any(|file| follows(file).is_some()) {
        return;
    }
    // They are few, and each goes behind its predecessor at most once.
    for _ in 0..main {
        for at in 0..main {
            let Some(record) = follows(&files[at]) else { continue };
            let later = (at + 1..main).find(|later| has_record(&files[*later].path, record));
            if let Some(later) = later {
                files[at..=later].rotate_left(1);
            }
        }
    }
}

/// Whether a log has a record of this id.
fn has_record(path: &Path, uuid: &str) -> bool {
    let Ok(log) = jsonl::open(path) else { return false };
    let mut lines = Lines::new(log);
    let finder = memmem::Finder::new(uuid.as_bytes());
    while let Ok(Some((_, line))) = lines.next() {
        let Line::Bytes { bytes, .. } = line else { continue };
        if finder.find(bytes).is_some() {
            let record = serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
            if jsonl::string(&record, "uuid") == uuid {
                return true;
            }
        }
    }
    false
}

/// Where a child goes.
enum Root<'f> {
    /// To a session that was found.
    Found(usize),
    /// To one that the memory holds, and whose own log is gone.
    Held(&'f str),
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
        child: None,
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
