//! Every path of the tree, in one file: nobody else puts paths together.
//!
//! Ids are checked types, so no path here is ever made from text that a log chose.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use crate::base::files::{Fence, Replacing};
use crate::model::digest::SnapshotShape;
use crate::model::hit::Tree;
use crate::model::ids::{CoreId, EpisodeId, Person, SessionId, SphereId};
use crate::model::knowledge::{Kind, PageName};
use crate::model::memory_path::MemoryPath;
use crate::model::pattern::{PatternId, Version};

/// The end of every digest's file name: what RAG tools look for.
pub const DIGEST_SUFFIX: &str = "_DIGEST.md";
/// The end of an event log's file name.
pub const EVENT_LOG_SUFFIX: &str = ".jsonl";
/// The manifest of a snapshot, as `sha256sum -c` reads it.
pub const MANIFEST: &str = "MANIFEST.sha256";
/// Where raw lies within a snapshot.
pub const RAW: &str = "raw";
/// Where the long tool outputs lie within a snapshot.
pub const SENSORY: &str = "sensory";
/// What is known of a session in numbers, within a snapshot.
pub const VITALS: &str = "state/vitals.yaml";
/// The lines that could not be read, within a snapshot.
pub const SKIPPED: &str = "state/skipped.txt";
/// Decisions, facts and lessons stated in the session, within a snapshot.
pub const STATED: &str = "semantic/stated.md";

/// What git has to leave out, as `.gitignore` says it.
pub const IGNORED_BY_GIT: &[&str] = &["/.memtree/", "/sessions/*/snapshot/", "/sessions/*.jsonl"];

/// Whether a file or folder is left out of git by what `.gitignore` says of every memory.
pub fn is_left_out_by_us(relative: &str) -> bool {
    let parts: Vec<&str> = relative.trim_end_matches('/').split('/').collect();
    match parts.as_slice() {
        [".memtree", ..] | ["sessions", _, SNAPSHOT, ..] => true,
        ["sessions", name] => name.ends_with(EVENT_LOG_SUFFIX),
        _ => false,
    }
}

/// What git is asked about: all in which something has to stay on this device.
pub const TO_ASK_GIT_ABOUT: &[&str] = &[".memtree", "sessions/*/snapshot/*"];

/// All raw, as git is told of it.
pub const ALL_RAW: &str = "sessions/*/snapshot/raw/*";

/// What git reads in a folder to know what to leave out.
pub const GITIGNORE: &str = ".gitignore";

/// Whether a file of a snapshot is the guard that keeps raw, or the long outputs, out of git. It is
/// in no manifest.
pub fn is_guard(within_snapshot: &str, shape: SnapshotShape) -> bool {
    let folder = within_snapshot.strip_suffix(GITIGNORE).and_then(|path| path.strip_suffix('/'));
    shape == SnapshotShape::Log && matches!(folder, Some(RAW | SENSORY))
}

/// Whether a file of the memory has to stay on this device: its own, raw, and all of the snapshot
/// of a folder.
pub fn stays_here(relative: &str, is_folder: impl Fn(&str) -> bool) -> bool {
    let mut parts = relative.split('/');
    match [parts.next(), parts.next(), parts.next(), parts.next()] {
        [Some(".memtree"), ..] => true,
        [Some("sessions"), Some(session), Some("snapshot"), Some(part)] => {
            part == RAW || is_folder(session)
        }
        _ => false,
    }
}

/// Whether a file is this device's own and never synced, by its path in the memory.
pub fn is_own_path(relative: &str) -> bool {
    relative.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(".memtree"))
}

/// How git has to join what two devices wrote, as `.gitattributes` says it; the last line that fits
/// counts.
pub const JOINED_BY_GIT: &[&str] = &[
    "/sessions/*/*_DIGEST.md merge=memtree",
    "/daily/summary/*.md merge=memtree",
    "/core/*.md merge=memtree",
    "/knowledge/**/*.md merge=memtree",
    "/patterns/**/*.md merge=memtree",
    "/memtree.toml merge=memtree",
    "/daily/raw/*.md merge=union",
    "/forgotten.md merge=union",
    "/knowledge/log.md merge=union",
    "/memories/** merge=union",
    "/patterns/*.jsonl merge=union",
    "/patterns/active.md merge=union",
    "/sessions/INDEX*.md merge=union",
];

/// A file of each kind, and how git has to join it, for whoever asks git what it would do.
pub const JOINED_SAMPLES: &[(&str, &str)] = &[
    ("sessions/SES1_a_SP1C1/SES1_a_SP1C1_DIGEST.md", MERGE_DRIVER),
    ("daily/summary/2026-01-01.md", MERGE_DRIVER),
    ("core/CORE_a_SP1C1.md", MERGE_DRIVER),
    ("knowledge/concepts/a.md", MERGE_DRIVER),
    ("patterns/a/a.md", MERGE_DRIVER),
    ("memtree.toml", MERGE_DRIVER),
    ("daily/raw/2026-01-01.md", "union"),
    ("forgotten.md", "union"),
    ("knowledge/log.md", "union"),
    ("memories/a.md", "union"),
    ("patterns/reviews.jsonl", "union"),
    ("patterns/active.md", "union"),
    ("sessions/INDEX.md", "union"),
];

/// What `.gitattributes` says of snapshots where raw travels: their hashes are known, so no byte of
/// them may change.
pub const KEPT_BY_GIT: &str = "/sessions/*/snapshot/** -text";
/// The same of raw, where it goes through Git LFS.
pub const RAW_IN_LFS: &str = "/sessions/*/snapshot/raw/** filter=lfs diff=lfs merge=lfs -text";

/// What earlier versions wrote there, and what put sections into pages twice.
pub const ONCE_JOINED_BY_GIT: &[&str] = &[
    "/daily/summary/*.md merge=union",
    "/core/*.md merge=union",
    "/knowledge/**/*.md merge=union",
    "/patterns/**/*.md merge=union",
    "/sessions/*/*_DIGEST.md merge=union",
];

/// The name under which git knows our way of joining pages.
pub const MERGE_DRIVER: &str = "memtree";

/// What a synced file is, for whoever joins two versions of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    Digest,
    Day,
    Summary,
    Core,
    Sphere,
    MemoryPage,
    Knowledge,
    Pattern,
    /// Lines that every device adds to.
    Lines,
    /// Lists of pages, which are made anew.
    Generated,
    /// Entries of several lines, each below a heading.
    Entries,
    Settings,
    /// What only the device writes that captured the session.
    Snapshot,
    /// Whatever else lies there.
    Other,
}

/// What a file is, by its path in the memory.
pub fn page_kind(relative: &str) -> PageKind {
    let parts: Vec<&str> = relative.split('/').collect();
    let is_page = relative.ends_with(".md");
    match parts.as_slice() {
        ["sessions", session, name] if *name == format!("{session}{DIGEST_SUFFIX}") => {
            PageKind::Digest
        }
        ["sessions", name] if *name == "INDEX.md" || month_of_session_index(name).is_some() => {
            PageKind::Generated
        }
        ["sessions", _, SNAPSHOT, ..] => PageKind::Snapshot,
        ["daily", "raw", _] if is_page => PageKind::Day,
        ["daily", "summary", _] if is_page => PageKind::Summary,
        ["core", "MEMORY.md"] => PageKind::MemoryPage,
        ["core", name] if core_named(name).is_some() => PageKind::Core,
        ["core", name] if sphere_named(name).is_some() => PageKind::Sphere,
        ["knowledge", "log.md"] => PageKind::Entries,
        ["knowledge", "index.md"] => PageKind::Generated,
        ["knowledge", _, _] if is_page => PageKind::Knowledge,
        ["patterns", "active.md"] => PageKind::Lines,
        ["patterns", name] if name.ends_with(".jsonl") => PageKind::Lines,
        ["patterns", "candidates" | "catalog" | "history", _] if is_page => PageKind::Pattern,
        ["forgotten.md"] => PageKind::Lines,
        ["memtree.toml"] => PageKind::Settings,
        _ => PageKind::Other,
    }
}

/// Whether a file is a page to read that is no session's, by its path in the memory.
pub fn is_readable_page(relative: &str) -> bool {
    !matches!(page_kind(relative), PageKind::Digest | PageKind::Snapshot | PageKind::Settings)
        && !relative.split('/').any(|part| part.starts_with('.'))
}

/// What a file is, by a path in a repository, of which the memory may be a folder.
pub fn page_kind_within(path: &str) -> PageKind {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    let mut kinds = starts.map(|start| page_kind(&path[start..]));
    kinds.find(|kind| *kind != PageKind::Other).unwrap_or(PageKind::Other)
}

/// Whether a file holds patterns or what was decided on them, by its path in the memory.
pub fn is_pattern_file(relative: &str) -> bool {
    let within = relative.strip_prefix("patterns/");
    within.is_some_and(|name| !name.starts_with("proposals/"))
}

/// The session in whose folder a file lies, by its path in the memory.
pub fn session_of(relative: &str) -> Option<SessionId> {
    let mut parts = relative.split('/');
    (parts.next() == Some("sessions")).then(|| parts.next()?.parse().ok()).flatten()
}

/// The session to whose snapshot a file belongs, by its path in the memory.
pub fn session_of_snapshot(relative: &str) -> Option<SessionId> {
    let mut parts = relative.split('/');
    match [parts.next(), parts.next(), parts.next()] {
        [Some("sessions"), Some(session), Some("snapshot")] => session.parse().ok(),
        _ => None,
    }
}

/// Whether a file of the memory, by its path in it, is an agent's own, byte for byte.
pub fn is_raw(relative: &Path) -> bool {
    let mut parts = relative.iter().skip(2);
    relative.starts_with("sessions")
        && parts.next().is_some_and(|part| part == "snapshot")
        && parts.next().is_some_and(|part| part == RAW)
}
/// What of a snapshot that was made from a log may travel: it is readable and redacted.
pub const TRAVELS: [&str; 3] = [EPISODIC, "semantic", "state"];
/// The same, as git is told of it.
pub const EPISODES_FOR_GIT: &[&str] = &[
    ":(glob)sessions/*/snapshot/episodic/**",
    ":(glob)sessions/*/snapshot/semantic/**",
    ":(glob)sessions/*/snapshot/state/**",
];
/// All of the snapshots, as git is told of them.
pub const SNAPSHOTS_FOR_GIT: &str = ":(glob)sessions/*/snapshot/**";

/// Whether a file of a snapshot that was made from a log may travel where raw does.
pub fn travels_with_raw(relative: &str) -> bool {
    let Some(within) = relative.splitn(4, '/').nth(3) else { return false };
    let folder = within.split_once('/').map(|(folder, _)| folder);
    let is_part = |folder: &str| TRAVELS.contains(&folder) || matches!(folder, RAW | SENSORY);
    (within == MANIFEST || folder.is_some_and(is_part)) && !is_guard(within, SnapshotShape::Log)
}

/// Where the readable episodes lie within a snapshot.
pub const EPISODIC: &str = "episodic";

/// The episode's readable file, within a snapshot.
pub fn episode(id: EpisodeId) -> String {
    format!("{EPISODIC}/{id}.md")
}

/// The episode's long tool outputs, within a snapshot.
pub fn sensory(id: EpisodeId) -> String {
    format!("{SENSORY}/{id}.md")
}

/// Whether a file of a snapshot is raw: not redacted, and as the agent or the person kept it. A
/// folder's snapshot is raw throughout.
pub fn is_raw_file(within_snapshot: &str, shape: SnapshotShape) -> bool {
    shape == SnapshotShape::Folder || within_snapshot.split('/').next() == Some(RAW)
}

/// Whether a file of a snapshot is among those that are evicted first: raw, and the long tool
/// outputs.
pub fn is_heavy(within_snapshot: &str, shape: SnapshotShape) -> bool {
    is_raw_file(within_snapshot, shape) || within_snapshot.split('/').next() == Some(SENSORY)
}

/// A file of a snapshot, as a digest links to it.
pub fn from_digest(within_snapshot: &str) -> String {
    format!("snapshot/{within_snapshot}")
}

/// An episode's long outputs, as the episode links to them.
pub fn from_episode_to_sensory(id: EpisodeId) -> String {
    format!("../{}", sensory(id))
}

/// An episode, as a day links to it.
pub fn from_day_to_episode(session: &SessionId, id: EpisodeId) -> String {
    format!("../../sessions/{session}/snapshot/{}", episode(id))
}

/// A session's digest, as a wikilink names it: the file's name is enough, since there is no second
/// one.
pub fn link_to_digest(session: &SessionId) -> String {
    format!("{session}{}", DIGEST_SUFFIX.trim_end_matches(".md"))
}

/// The session that a wikilink to a digest means.
pub fn linked_digest(target: &str) -> Option<SessionId> {
    let name = target.strip_suffix(".md").unwrap_or(target);
    name.rsplit('/').next()?.strip_suffix(DIGEST_SUFFIX.trim_end_matches(".md"))?.parse().ok()
}

/// One day's raw log, as a wikilink names it.
pub fn link_to_day(day: NaiveDate) -> String {
    format!("daily/raw/{day}")
}

/// The day that a wikilink to its raw log means.
pub fn linked_day(target: &str) -> Option<NaiveDate> {
    let name = target.strip_suffix(".md").unwrap_or(target);
    name.strip_prefix("daily/raw/").or_else(|| name.strip_prefix("daily/"))?.parse().ok()
}

/// A path as the target of a link: what would end the link or the line is written as in an address.
pub fn link_target(path: &str) -> String {
    let mut target = String::with_capacity(path.len());
    for letter in path.chars() {
        let plain = letter.is_alphanumeric() || "/._-+=@,:~'!".contains(letter);
        match plain {
            true => target.push(letter),
            false => {
                letter.to_string().bytes().for_each(|byte| target.push_str(&format!("%{byte:02X}")))
            }
        }
    }
    target
}

/// What `link_target` was given.
pub fn link_path(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A session's digest, as a core links to it.
pub fn from_core_to_digest(session: &SessionId) -> String {
    format!("../sessions/{session}/{session}{DIGEST_SUFFIX}")
}

/// The name of a core's page, which lies beside those that link to it.
pub fn core_name(id: &CoreId) -> String {
    format!("CORE_{id}.md")
}

/// The name of a sphere's page.
pub fn sphere_name(id: &SphereId) -> String {
    format!("SPHERE_{id}.md")
}

/// The core whose page has this name.
pub fn core_named(name: &str) -> Option<CoreId> {
    name.strip_prefix("CORE_")?.strip_suffix(".md")?.parse().ok()
}

/// The sphere whose page has this name.
pub fn sphere_named(name: &str) -> Option<SphereId> {
    name.strip_prefix("SPHERE_")?.strip_suffix(".md")?.parse().ok()
}

/// A session's digest, as a day's summary links to it.
pub fn from_summary_to_digest(session: &SessionId) -> String {
    format!("../../sessions/{session}/{session}{DIGEST_SUFFIX}")
}

/// A session's digest, as a pattern links to it.
pub fn from_pattern_to_digest(session: &SessionId) -> String {
    from_summary_to_digest(session)
}

/// A session's digest, as the retrospective links to it.
pub fn from_retro_to_digest(session: &SessionId) -> String {
    from_core_to_digest(session)
}

/// A day's raw log, as its summary links to it.
pub fn from_summary_to_day(day: NaiveDate) -> String {
    format!("../raw/{day}.md")
}

/// A day as an older tool kept it, as its summary links to it.
pub fn from_summary_to_old_day(day: NaiveDate) -> String {
    format!("../{day}.md")
}

/// Where a session has its snapshot, also while it is staged.
pub const SNAPSHOT: &str = "snapshot";

/// How the names begin of what is this device's own.
pub const OWN: &str = ".memtree/";

/// A session's digest, as the index of sessions links to it.
pub fn from_index_to_digest(session: &SessionId) -> String {
    format!("{session}/{session}{DIGEST_SUFFIX}")
}

/// The name of a month's page of the index of sessions.
pub fn session_index_name(month: &str) -> String {
    format!("INDEX-{month}.md")
}

/// The month whose page has this name.
pub fn month_of_session_index(name: &str) -> Option<&str> {
    let month = name.strip_prefix("INDEX-")?.strip_suffix(".md")?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_month = month.split_once('-').is_some_and(|(year, month)| {
        (year.len(), month.len()) == (4, 2) && digits(year) && digits(month)
    });
    (is_month || month == UNDATED).then_some(month)
}

/// The month of sessions without a date.
pub const UNDATED: &str = "undated";

/// The paths of one memory.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
    /// Where this device's own lies, where it is not below the root: somebody else's memory is only
    /// read.
    own: Option<PathBuf>,
    /// No path below the root leads out of it, whatever came by `git pull`.
    _fence: Fence,
}

/// Paths that never change, by name.
macro_rules! paths {
    ($($(#[$doc:meta])+ $name:ident = $path:literal;)+) => {
        impl Layout {
            $($(#[$doc])+ pub fn $name(&self) -> PathBuf {
                self.place($path)
            })+
        }
    };
}

paths! {
    /// The settings; their presence makes a folder a memory.
    settings = "memtree.toml";
    /// What the tree is, for whoever opens it.
    readme = "README.md";
    /// What git leaves out.
    gitignore = ".gitignore";
    /// How git merges.
    gitattributes = ".gitattributes";
    /// All sessions.
    sessions = "sessions";
    /// The index of sessions: the last ones, and every month.
    session_index = "sessions/INDEX.md";
    /// In which format this device's digests are.
    digest_format = ".memtree/cache/digest-format";
    /// All days' summaries.
    summaries = "daily/summary";
    /// How days and their summaries looked when each summary covered its day.
    settled_days = ".memtree/cache/days.json";
    /// What another tool had noted of the days.
    day_status = ".memtree/local/day-status.json";
    /// The lock of the one writer of summaries at a time.
    days_lock = ".memtree/local/locks/days";
    /// The lock of whoever appends to a page or rewrites one that is appended to.
    pages_lock = ".memtree/local/locks/pages";
    /// Contexts that wait for a model.
    inbox = ".memtree/local/inbox";
    /// The lock of the one flush at a time.
    flush_lock = ".memtree/local/locks/flush";
    /// What was flushed.
    flush_state = ".memtree/local/flush.json";
    /// The page that an agent always loads.
    memory_page = "core/MEMORY.md";
    /// What belongs to days.
    daily = "daily";
    /// What was consolidated.
    cores = "core";
    /// How digests and cores looked when they were last consolidated.
    consolidated = ".memtree/cache/consolidated.json";
    /// This device's own, never synced.
    own = ".memtree";
    /// All days' raw logs.
    days = "daily/raw";
    /// Pages on what days taught.
    knowledge = "knowledge";
    /// The table of all pages of knowledge.
    knowledge_index = "knowledge/index.md";
    /// What was compiled and filed, and from what.
    knowledge_log = "knowledge/log.md";
    /// What agents keep through the memory tool.
    memories = "memories";
    /// The lock of whoever changes that.
    memories_lock = ".memtree/local/locks/memories";
    /// What the pattern loop knows.
    patterns = "patterns";
    /// Patterns that wait for a person's yes or no.
    candidates = "patterns/candidates";
    /// Patterns that a person, or the gate, took in.
    catalog = "patterns/catalog";
    /// Every version of a pattern that was approved.
    pattern_history = "patterns/history";
    /// What `distribute` would write, as differences.
    proposals = "patterns/proposals";
    /// Every decision, one line each.
    reviews = "patterns/reviews.jsonl";
    /// Which pattern is live for which agent and project, and since when.
    active = "patterns/active.md";
    /// What was measured, one line each time.
    measurements = "patterns/measure.jsonl";
    /// What to do better next week.
    retro = "patterns/RETRO.md";
    /// The decisions that were made on this device, by hash.
    own_reviews = ".memtree/local/reviews.json";
    /// What agents proposed to the person, one line each.
    agents_proposals = ".memtree/local/proposals.jsonl";
    /// The files outside of the memory that hold patterns.
    distributed = ".memtree/local/distributed.json";
    /// Decisions that the person's own program has not taken yet.
    decisions_queue = ".memtree/local/queue/decisions.jsonl";
    /// The lock of whoever changes patterns.
    patterns_lock = ".memtree/local/locks/patterns";
    /// What checks of the knowledge found.
    reports = ".memtree/local/reports";
    /// The lock of whoever writes knowledge.
    knowledge_lock = ".memtree/local/locks/knowledge";
    /// Tombstones: ids and hashes of what was forgotten.
    forgotten = "forgotten.md";
    /// What can be rebuilt at any time.
    cache = ".memtree/cache";
    /// The search index.
    index = ".memtree/cache/index";
    /// What was last counted of each session.
    tally = ".memtree/cache/tally.json";
    /// Is written before sessions are counted, to tell the file system's time.
    tally_clock = ".memtree/cache/tally-clock";
    /// The search index of all pages that are no digests.
    notes_index = ".memtree/cache/notes";
    /// The vectors of what was said, where a server makes them.
    vectors = ".memtree/cache/vectors";
    /// Is there once a search found that the server makes other vectors than it did.
    vectors_stale = ".memtree/cache/vectors-stale";
    /// The lock of whoever changes vectors.
    vectors_lock = ".memtree/local/locks/vectors";
    /// What is known of the sources: which file belongs to which session, and how it looked last.
    cursors = ".memtree/cache/cursors.json";
    /// How sources and tree looked when a sweep had left nothing to do.
    sweep_fingerprint = ".memtree/cache/sweep-fingerprint.json";
    /// How pages looked when they were last known to be whole.
    seals = ".memtree/cache/seals.json";
    /// Its date says when a sweep last looked at everything.
    looked = ".memtree/cache/looked";
    /// How the days looked when they held nothing forgotten.
    clean_days = ".memtree/cache/clean-days.json";
    /// The hits of the last search, so that `recall 2` knows what is meant.
    last_search = ".memtree/cache/last-search.json";
    /// Where the bundled sample sessions are unpacked.
    samples = ".memtree/cache/sample";
    /// What concerns only this device now.
    local = ".memtree/local";
    /// Who this device is, and by what it knows that it is still the same.
    device = ".memtree/local/device.json";
    /// What of the memory's settings was accepted here.
    accepted = ".memtree/local/settings.json";
    /// Which tombstones count here: what was forgotten here, and what was decided about others.
    own_tombstones = ".memtree/local/tombstones.json";
    /// The sessions that are held back until the person decides.
    held_list = ".memtree/local/held.json";
    /// What was copied of them.
    held = ".memtree/local/held";
    /// What lies in quarantine, why, and since when.
    quarantine_list = ".memtree/local/quarantine.json";
    /// The sessions that another device's tombstones took out of the tree.
    quarantine = ".memtree/local/quarantine";
    /// What it captured itself, and which other devices it has seen.
    acquaintance = ".memtree/local/devices.json";
    /// What was asked of models, and what it cost.
    ledger = ".memtree/local/ledger.jsonl";
    /// The lock of the one call of a model at a time.
    models_lock = ".memtree/local/locks/models";
    /// The lock of whoever asks models about digests.
    digests_lock = ".memtree/local/locks/digests";
    /// The sessions that wait for a model.
    waiting = ".memtree/local/queue/digests.json";
    /// Snapshots in the making.
    staging = ".memtree/local/staging";
    /// Which of them are being put in place right now, under which ids.
    committing = ".memtree/local/committing.json";
    /// Notes of pages that are being replaced right now.
    replacements = ".memtree/local/replacing";
    /// All locks; they hold nothing.
    locks = ".memtree/local/locks";
    /// What is known of git and this memory.
    git_state = ".memtree/local/git.json";
    /// What git keeps of the memory, where it is a repository of its own.
    git = ".git";
    /// The list of what git tracks.
    git_index = ".git/index";
    /// Trouble of whoever cannot speak up.
    journal = ".memtree/local/log";
    /// With which rules the pages were redacted.
    redaction = ".memtree/local/redaction.json";
    /// Which snapshots are being evicted right now, and how much of them.
    evicting = ".memtree/local/evicting.json";
    /// What was evicted and is just being deleted.
    evicted = ".memtree/local/evicted";
    /// The lock of the one sweep at a time.
    sweep_lock = ".memtree/local/locks/sweep";
    /// The lock of the one sync at a time.
    sync_lock = ".memtree/local/locks/sync";
    /// How far this device and its remotes were the same.
    sync_state = ".memtree/local/sync.json";
    /// Other people's memories, as they were fetched.
    team = ".memtree/local/team";
    /// The team's repository: a folder for each person.
    team_repository = ".memtree/local/team/repository";
    /// Who is still to be removed from there.
    team_state = ".memtree/local/team.json";
    /// The lock of whoever fetches them.
    team_lock = ".memtree/local/locks/team";
    /// What was made of them to find something in them.
    team_caches = ".memtree/cache/team";
    /// The lock of the one watch at a time.
    watch_lock = ".memtree/local/locks/watch";
}

impl Layout {
    /// One session in quarantine.
    pub fn quarantined(&self, id: &SessionId) -> PathBuf {
        self.quarantine().join(id.to_string())
    }

    /// A page as it was before it lost what it said of a session in quarantine.
    pub fn quarantined_page(&self, id: &SessionId, number: usize) -> PathBuf {
        self.quarantine().join(format!("{id}.pages/{number}"))
    }

    /// Where a damaged page is kept that may hold somebody's words.
    pub fn damaged(&self, name: &str) -> PathBuf {
        self.local().join("damaged").join(name)
    }

    /// The paths below a root.
    pub fn new(root: impl Into<PathBuf>) -> Layout {
        let root = root.into();
        Layout { _fence: Fence::around(&root), root, own: None }
    }

    /// The paths of somebody else's memory: what this device keeps for itself of it lies elsewhere.
    pub fn of_other(root: impl Into<PathBuf>, own: PathBuf) -> Layout {
        Layout { own: Some(own), ..Layout::new(root) }
    }

    fn place(&self, path: &str) -> PathBuf {
        match (&self.own, path.strip_prefix(".memtree")) {
            (Some(own), Some("")) => own.clone(),
            (Some(own), Some(rest)) => own.join(rest.trim_start_matches('/')),
            _ => self.root.join(path),
        }
    }

    /// The memory of a person whose address is known, as it was fetched.
    pub fn fetched(&self, person: &Person) -> PathBuf {
        self.team().join("people").join(person.as_str())
    }

    /// A person's folder in the team's repository.
    pub fn team_folder(&self, person: &Person) -> PathBuf {
        self.team_repository().join(person.as_str())
    }

    /// What this device keeps for itself of another memory: of its own place, or of a folder of the
    /// team's repository.
    pub fn team_cache(&self, person: &Person, in_repository: bool) -> PathBuf {
        let place = if in_repository { "repository" } else { "people" };
        self.team_caches().join(place).join(person.as_str())
    }

    /// The memory's own folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A month's page of the index of sessions.
    pub fn session_index_of(&self, month: &str) -> PathBuf {
        self.sessions().join(session_index_name(month))
    }

    /// Its pages, for whoever replaces some of them while a person may be editing them.
    pub fn replacing(&self) -> Replacing {
        Replacing::new(&self.root, self.replacements(), self.pages_lock())
    }

    /// One session's folder.
    pub fn session(&self, id: &SessionId) -> PathBuf {
        self.sessions().join(id.to_string())
    }

    /// What git leaves out of one session's folder, where that is the snapshot of a folder.
    pub fn session_gitignore(&self, id: &SessionId) -> PathBuf {
        self.session(id).join(GITIGNORE)
    }

    /// One session's event log, where the settings ask for it.
    pub fn event_log(&self, id: &SessionId) -> PathBuf {
        self.sessions().join(format!("{id}{EVENT_LOG_SUFFIX}"))
    }

    /// Whether a file is an event log: ours, or one that an older tool left.
    pub fn is_event_log(&self, path: &Path) -> bool {
        path.parent() == Some(&self.sessions())
            && path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.ends_with(EVENT_LOG_SUFFIX))
    }

    /// Whether a file is a page of the index of sessions.
    pub fn is_session_index(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        path == self.session_index()
            || (path.parent() == Some(&self.sessions())
                && name.and_then(month_of_session_index).is_some())
    }

    /// One session's digest.
    pub fn digest(&self, id: &SessionId) -> PathBuf {
        self.session(id).join(format!("{id}{DIGEST_SUFFIX}"))
    }

    /// A digest, by the name of its session, as a path below [`Layout::sessions`].
    pub fn digest_within(session: &str) -> PathBuf {
        let mut path = String::with_capacity(2 * session.len() + DIGEST_SUFFIX.len() + 1);
        path.extend([session, "/", session, DIGEST_SUFFIX]);
        path.into()
    }

    /// One session's snapshot.
    pub fn snapshot(&self, id: &SessionId) -> PathBuf {
        self.session(id).join("snapshot")
    }

    /// The readable pages of one session's episodes.
    pub fn episodes(&self, id: &SessionId) -> PathBuf {
        self.snapshot(id).join("episodic")
    }

    /// The folders of one session that may travel, as git is told of them.
    pub fn travelling(&self, id: &SessionId) -> [String; 3] {
        TRAVELS.map(|part| format!(":(literal){}", self.shown(&self.snapshot(id).join(part))))
    }

    /// One session's snapshot, as git is told of it.
    pub fn snapshot_for_git(&self, id: &SessionId) -> String {
        format!(":(literal){}", self.shown(&self.snapshot(id)))
    }

    /// The session whose digest lies at a path in the memory.
    pub fn session_of_digest(relative: &str) -> Option<SessionId> {
        let session = relative.split('/').nth(1)?;
        (page_kind(relative) == PageKind::Digest).then(|| session.parse().ok()).flatten()
    }

    /// The folder of a part of the tree that holds pages about sessions.
    pub fn tree(&self, tree: Tree) -> Option<PathBuf> {
        tree.folder().map(|folder| self.root.join(folder))
    }

    /// One day's raw log.
    pub fn day(&self, day: NaiveDate) -> PathBuf {
        self.days().join(format!("{day}.md"))
    }

    /// One day's summary.
    pub fn summary(&self, day: NaiveDate) -> PathBuf {
        self.root.join(format!("daily/summary/{day}.md"))
    }

    /// A day as older tools kept it, in one file.
    pub fn old_day(&self, day: NaiveDate) -> PathBuf {
        self.daily().join(format!("{day}.md"))
    }

    /// One of them.
    pub fn inbox_item(&self, id: &str) -> PathBuf {
        self.inbox().join(format!("{id}.md"))
    }

    /// All folders with what was made of sessions, or noted in them.
    pub fn distilled(&self) -> [PathBuf; 5] {
        ["daily", "core", "knowledge", "patterns", "memories"].map(|name| self.root.join(name))
    }

    /// One core.
    pub fn core(&self, id: &CoreId) -> PathBuf {
        self.cores().join(core_name(id))
    }

    /// One sphere.
    pub fn sphere(&self, id: &SphereId) -> PathBuf {
        self.cores().join(sphere_name(id))
    }

    /// All pages of a kind.
    pub fn knowledge_of(&self, kind: Kind) -> PathBuf {
        self.knowledge().join(kind.folder())
    }

    /// One page of knowledge.
    pub fn page(&self, name: &PageName) -> PathBuf {
        self.knowledge_of(name.kind).join(format!("{}.md", name.slug()))
    }

    /// A file or folder of an agent's.
    pub fn memories_file(&self, at: &MemoryPath) -> PathBuf {
        at.names().iter().fold(self.memories(), |path, name| path.join(name))
    }

    /// The folders in which patterns are kept.
    pub fn pattern_folders(&self) -> [PathBuf; 4] {
        [self.patterns(), self.candidates(), self.catalog(), self.pattern_history()]
    }

    /// A pattern that waits.
    pub fn candidate(&self, id: &PatternId) -> PathBuf {
        self.candidates().join(format!("{id}.md"))
    }

    /// A pattern of the catalog.
    pub fn pattern(&self, id: &PatternId) -> PathBuf {
        self.catalog().join(format!("{id}.md"))
    }

    /// A version of a pattern that was approved.
    pub fn pattern_version(&self, id: &PatternId, version: Version) -> PathBuf {
        self.pattern_history().join(format!("{id}-{version}.md"))
    }

    /// What would be written into a project's file for agents.
    pub fn proposal(&self, name: &str) -> PathBuf {
        self.proposals().join(format!("{name}.md"))
    }

    /// What a check of the knowledge found on a day; this device's own, since it depends on when it
    /// was run.
    pub fn lint_report(&self, day: NaiveDate) -> PathBuf {
        self.reports().join(format!("lint-{day}.md"))
    }

    /// How a folder looked when it was last kept.
    pub fn folder_memo(&self, folder: &str) -> PathBuf {
        self.cache().join(format!("folders/{folder}.json"))
    }

    /// A person's own words for what a model is asked to do.
    pub fn prompt(&self, task: &str) -> PathBuf {
        self.root.join("templates/prompts").join(task).with_extension("md")
    }

    /// The page with which another agent goes on with a session.
    pub fn handoff_page(&self, session: &SessionId) -> PathBuf {
        self.root.join(format!(".memtree/local/handoff/{session}.md"))
    }

    /// Copies of what an agent remembers by itself.
    pub fn native_notes(&self, agent: &'static str) -> PathBuf {
        self.root.join("memories/native").join(agent)
    }

    /// Where an agent could keep its notes instead.
    pub fn notes_of(&self, agent: &'static str) -> PathBuf {
        self.root.join("memories").join(agent)
    }

    /// Whose notes are read, and how the copies were written.
    pub fn native_state(&self) -> PathBuf {
        self.root.join(".memtree/local/native.json")
    }

    /// The notes on what was written into agents' files.
    pub fn installed_folder(&self) -> PathBuf {
        self.root.join(".memtree/local/installed")
    }

    /// What was written into a file of an agent's: the name is the agent's for the file with its
    /// hooks, and longer for others.
    pub fn installed(&self, name: &str) -> PathBuf {
        self.installed_folder().join(format!("{name}.json"))
    }

    /// What such a file was before that.
    pub fn before_install(&self, name: &str) -> PathBuf {
        self.installed_folder().join(format!("{name}.before"))
    }

    /// The mark that an agent has run hooks which are in the settings of another.
    pub fn caller(&self, named: &'static str, caller: &'static str) -> PathBuf {
        self.root.join(format!(".memtree/local/callers/{named}-{caller}"))
    }

    /// How many turns a session of an agent has had.
    pub fn turns(&self, session: &str) -> PathBuf {
        self.root.join(format!(".memtree/local/turns/{session}"))
    }

    /// Which events of an agent's session were reported when, and by which hooks.
    pub fn answered(&self, session: &str) -> PathBuf {
        self.root.join(format!(".memtree/local/answered/{session}"))
    }

    /// Which lines a session of an agent was already given.
    pub fn injected(&self, session: &str) -> PathBuf {
        self.root.join(format!(".memtree/local/told/{session}.json"))
    }

    /// What agents were given on a day, and what was recalled of it.
    pub fn given(&self, day: NaiveDate) -> PathBuf {
        self.given_folder().join(format!("{day}.jsonl"))
    }

    /// Where that is kept for every day.
    pub fn given_folder(&self) -> PathBuf {
        self.local().join("given")
    }

    /// Where hooks keep what they remember of sessions.
    pub fn hooks_memory(&self) -> [PathBuf; 3] {
        ["turns", "told", "answered"].map(|name| self.local().join(name))
    }

    /// Databases in which another tool kept how far it had summarized the days.
    pub fn day_status_databases(&self) -> [PathBuf; 2] {
        ["memory_index.sqlite3", "central/zubot_core.db"].map(|name| self.root().join(name))
    }

    /// A synced file by its path in the memory, as git names it; `None` where that leads elsewhere,
    /// or to what is this device's own.
    pub fn of_page(&self, relative: &str) -> Option<PathBuf> {
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        let path = Path::new(relative);
        let first = relative.split('/').next().unwrap_or_default();
        let is_apart = first.eq_ignore_ascii_case(".git") || first.eq_ignore_ascii_case(".memtree");
        (path.components().all(is_plain) && !is_apart && !relative.is_empty())
            .then(|| self.root.join(path))
    }

    /// A path as it is shown: relative to the memory, with `/`.
    pub fn shown(&self, path: &Path) -> String {
        shown_relative(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

/// A relative path with `/`, on every system.
pub fn shown_relative(relative: &Path) -> String {
    relative
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
