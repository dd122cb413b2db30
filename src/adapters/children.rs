//! Subagents that keep logs of their own: they are read in the midst of the session that started
//! them, where their first record belongs by its time.
//!
//! Which sessions are subagents is said by their logs ([`super::Identity::parent`]) and decided
//! when files are put together ([`super::gather`]); after that each of their files carries the
//! child's id ([`LogFile::child`]). What a child inherited from its parent is not said twice, and
//! what no task began (an approval check, say) is kept and counted, but not told.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use super::Adapter;
use super::transcript::NoEvents;
use crate::base::clock::Timestamp;
use crate::base::files;
use crate::error::Result;
use crate::model::session::{BegunBy, Event, EventKind, EventSink, Head, Log, LogFile, Skipped};

/// How the folder within raw begins that holds the log of a child.
const FOLDER: &str = "subagent-";

/// The folder within raw that holds the log of a child.
pub fn folder(child: &str) -> PathBuf {
    PathBuf::from(format!("{FOLDER}{}", files::safe_name(child, 100)))
}

/// The child whose file lies under a name within raw, as far as the name says it.
pub fn of_name(name: &Path) -> Option<&str> {
    // What was carried over from an earlier capture lies one folder deeper.
    name.components().take(2).find_map(|part| match part {
        Component::Normal(part) => part.to_str()?.strip_prefix(FOLDER),
        _ => None,
    })
}

/// The child's own id: what its log says, unless that took it from the folder within raw.
pub fn own_id(name: &Path, native_id: Option<&str>) -> Option<String> {
    let of_folder = of_name(name)?;
    let said = native_id.filter(|id| of_name(Path::new(id)) != Some(of_folder));
    Some(said.unwrap_or(of_folder).to_string())
}

/// Reads a session with all its children.
pub fn read(adapter: &dyn Adapter, log: &Log, events: &mut dyn EventSink) -> Result<Head> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut own = Vec::new();
    for (at, file) in log.files.iter().enumerate() {
        match &file.child {
            Some(child) => groups.entry(child).or_default().push(at),
            None => own.push(at),
        }
    }
    if groups.is_empty() {
        return adapter.read(log, events);
    }
    let mut children = Vec::new();
    for (id, files) in groups {
        children.push(Child::look_at(adapter, log, id, files)?);
    }
    children.sort_by(|a, b| (a.began, &a.log.native_id).cmp(&(b.began, &b.log.native_id)));
    let main = part(log, &log.native_id, &own);
    let mut splice =
        Splice { adapter, files: own, children: children.into(), events, read: vec![] };
    let mut head = match main.files.is_empty() {
        true => Head::default(),
        false => adapter.read(&main, &mut splice)?,
    };
    while let Some(child) = splice.children.pop_front() {
        splice.tell(child)?;
    }
    for child in splice.read {
        absorb(&mut head, child);
    }
    Ok(head)
}

/// The files of one session within a log, called as they are where they lie by themselves.
fn part(log: &Log, native_id: &str, files: &[usize]) -> Log {
    let files = files.iter().map(|at| {
        let file = log.files[*at].clone();
        let own = |part: &Component<'_>| of_name(Path::new(part)).is_none();
        let name = match file.child {
            Some(_) => file.name.components().filter(own).collect(),
            None => file.name,
        };
        LogFile { child: None, name, ..file }
    });
    Log { native_id: native_id.to_string(), files: files.collect() }
}

/// A child that was looked through once.
struct Child {
    log: Log,
    /// Where its files stand in the whole log.
    files: Vec<usize>,
    head: Head,
    /// When its own work began.
    began: Option<Timestamp>,
}

impl Child {
    fn look_at(adapter: &dyn Adapter, log: &Log, id: &str, files: Vec<usize>) -> Result<Child> {
        let log = part(log, id, &files);
        let mut first = FirstTime(None);
        let head = adapter.read(&log, &mut first)?;
        Ok(Child { log, files, head, began: first.0 })
    }
}

/// Finds out when a child's own work began.
struct FirstTime(Option<Timestamp>);

impl EventSink for FirstTime {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        if !event.inherited && self.0.is_none() {
            self.0 = event.at;
        }
        NoEvents.event(event)
    }
}

/// Hands the parent's events on, and those of each child when its time has come.
struct Splice<'e> {
    adapter: &'e dyn Adapter,
    /// Where the parent's own files stand in the whole log.
    files: Vec<usize>,
    children: VecDeque<Child>,
    events: &'e mut dyn EventSink,
    /// What is known of the children that were read.
    read: Vec<Head>,
}

impl EventSink for Splice<'_> {
    fn event(&mut self, mut event: Event<'_>) -> Result<()> {
        let has_begun = |child: &Child| child.began.zip(event.at).is_some_and(|(a, b)| a <= b);
        while self.children.front().is_some_and(has_begun) {
            if let Some(child) = self.children.pop_front() {
                self.tell(child)?;
            }
        }
        event.position.file = self.files[event.position.file as usize] as u32;
        self.events.event(event)
    }

    fn skipped(&mut self, skipped: &Skipped) {
        self.events.skipped(skipped);
    }
}

impl Splice<'_> {
    /// Hands over what a child did.
    fn tell(&mut self, child: Child) -> Result<()> {
        let Child { log, files, mut head, .. } = child;
        let is_read = head.begun_by != BegunBy::Program;
        if !is_read {
            let records = std::mem::take(&mut head.ignored).into_values().sum::<u64>();
            head.ignored.insert("record of a bot".into(), head.records.max(records));
        }
        let label = label(&log.native_id);
        let (label, files, events) = (label.as_str(), files.as_slice(), &mut *self.events);
        let mut sink = ChildSink { label, files, events, is_read, last: None };
        self.adapter.read(&log, &mut sink)?;
        sink.end()?;
        self.read.push(head);
        Ok(())
    }
}

/// Hands on what a child did as a subagent's doing.
struct ChildSink<'e> {
    label: &'e str,
    files: &'e [usize],
    events: &'e mut dyn EventSink,
    /// Whether what it did is handed on, or only what could not be read.
    is_read: bool,
    /// When and where it last did something of its own.
    last: Option<(Option<Timestamp>, crate::model::session::Position)>,
}

impl EventSink for ChildSink<'_> {
    fn event(&mut self, mut event: Event<'_>) -> Result<()> {
        if event.inherited || !self.is_read {
            return Ok(());
        }
        event.position.file = self.files[event.position.file as usize] as u32;
        // Not every record has a time.
        let at = event.at.or_else(|| self.last.and_then(|(at, _)| at));
        self.last = Some((at, event.position));
        event.kind = match event.kind {
            // The task that it was handed.
            EventKind::Prompt(task) => EventKind::Lifecycle(task),
            EventKind::Rewind { .. } | EventKind::Intervention(_) | EventKind::Completion => {
                return Ok(());
            }
            kind => kind,
        };
        let label = self.label;
        self.events.event(Event { agent: Some(label), ..event })
    }

    fn skipped(&mut self, skipped: &Skipped) {
        self.events.skipped(skipped);
    }
}

impl ChildSink<'_> {
    /// Says that the child is done.
    fn end(self) -> Result<()> {
        let Some((at, position)) = self.last else { return Ok(()) };
        let agent = Some(self.label);
        let kind = EventKind::Completion;
        self.events.event(Event { at, position, agent, inherited: false, kind })
    }
}

/// What a child is called in its parent's pages: ids that begin with a time differ at their end.
fn label(id: &str) -> String {
    let is_uuid = id.len() == 36 && id.bytes().filter(|byte| *byte == b'-').count() == 4;
    if is_uuid { id[28..].to_string() } else { id.to_string() }
}

/// Adds to a parent what is known of its child.
fn absorb(head: &mut Head, child: Head) {
    for used in child.usage {
        match head.usage.iter_mut().find(|known| known.model == used.model) {
            Some(known) => {
                known.input += used.input;
                known.output += used.output;
                known.cache_read += used.cache_read;
                known.cache_write += used.cache_write;
                if let Some(cost) = used.cost_usd {
                    *known.cost_usd.get_or_insert(0.0) += cost;
                }
            }
            None => head.usage.push(used),
        }
    }
    head.records += child.records;
    head.inherited += child.inherited;
    for (kind, count) in child.ignored {
        *head.ignored.entry(kind).or_default() += count;
    }
    head.skipped.extend(child.skipped);
    head.skipped_total += child.skipped_total;
    for request in child.pull_requests {
        if !head.pull_requests.contains(&request) {
            head.pull_requests.push(request);
        }
    }
}
