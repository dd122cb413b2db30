//! Digests as search sees them, whatever state they are in.
//!
//! A digest with broken front matter still has its text; then the file's name is its title. What
//! every digest says alike (headings, the manifest, the readiness list) is left out, what a person
//! noted is in.

use std::io;

use rayon::prelude::*;

use super::changes::StampedFile;
use super::head::{self, Head};
use super::tokens::{PartKind, TokenBuffer};
use crate::base::files::{self, DirHandle};
use crate::base::front_matter::Document;
use crate::base::markdown::plain;
use crate::model::digest::{ErrorFact, FOLDER, IndexLine, Origin, Trigger, Worth};
use crate::model::ids::{EpisodeId, SessionId};
use crate::store::Store;
use crate::store::digest::{MACHINE, parse_claim, parse_error, parse_index_line, parse_trigger};
use crate::store::layout::{self, Layout};

/// How much of a digest is read, in bytes: a hundred times what we ever write.
const LONGEST_DIGEST: u64 = 2 << 20;
/// Below so many digests, one thread looks at all of them.
const FEW: usize = 4096;
/// Sections that say nothing of the session itself.
const FORMALITIES: &[&str] = &["Manifest (Index of Snapshot)", "8-8-8 Synthesis Readiness"];

/// What search reads of a digest.
#[derive(Debug, Default)]
pub struct DigestPage {
    /// What the front matter says; without a title, that is the session.
    pub head: Head,
    pub source_id: String,
    /// Names that a person gave it, the branch, the commits.
    pub names: Vec<String>,
    pub triggers: Vec<Trigger>,
    /// Everything else in words: objective, summary, notes.
    pub passages: Vec<Passage>,
    /// Whether it was found worth remembering.
    pub worth: bool,
}

/// A line of a digest that is no trigger, and the part of the session that it tells of.
#[derive(Debug, Default)]
pub struct Passage {
    pub text: String,
    pub episode: Option<EpisodeId>,
    pub origin: Option<Origin>,
}

impl Passage {
    fn of(text: String) -> Passage {
        // Outcomes name their part at their end: `… (EP_006)`.
        let named = text.rsplit_once("(EP_").and_then(|(_, rest)| {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            format!("EP_{digits}").parse().ok()
        });
        Passage { text, episode: named, origin: None }
    }
}

/// Looks at every digest of a memory: its session and its stamp, sorted by session.
pub fn files(store: &Store) -> io::Result<Vec<StampedFile>> {
    let sessions = store.layout().sessions();
    let Some(folder) = files::if_exists(DirHandle::open(&sessions))? else {
        return Ok(Vec::new());
    };
    let mut names: Vec<String> = Vec::new();
    for entry in files::read_dir(&sessions)? {
        let entry = entry?;
        // The system says so without being asked again. A link could lead anywhere.
        if !entry.file_type()?.is_symlink() {
            let name = entry.file_name().into_string().ok();
            names.extend(name.filter(|name| name.parse::<SessionId>().is_ok()));
        }
    }
    names.sort_unstable();
    // A link could lead anywhere, so only a plain file is a digest.
    let look =
        |name: String| folder.stamp(&Layout::digest_within(&name)).map(|stamp| (name, stamp));
    // To start threads costs more than to look at a few files.
    Ok(match names.len() < FEW {
        true => names.into_iter().filter_map(look).collect(),
        false => names.into_par_iter().with_min_len(FEW / 8).filter_map(look).collect(),
    })
}

impl DigestPage {
    /// Reads the digest of a session; `None` where there is none any more.
    pub fn read(store: &Store, session: &str) -> Option<DigestPage> {
        let path = store.layout().digest(&session.parse().ok()?);
        let bytes = files::read_at_most(&path, LONGEST_DIGEST).ok()?;
        Some(DigestPage::parse(session, &String::from_utf8_lossy(&bytes)))
    }

    fn parse(session: &str, text: &str) -> DigestPage {
        let document = Document::parse(text);
        let value = |key: &str| head::value(&document, key);
        let mut head = Head::of(&document, &["ended"]);
        if head.title.is_empty() {
            head.title = session.to_string();
        }
        if head.status.is_empty() {
            head.status = "unknown".into();
        }
        let lists = ["aliases", "commits"].into_iter().filter_map(|key| document.get_list(key));
        let mut names: Vec<String> = lists.flatten().collect();
        names.extend(["branch", "domain"].into_iter().filter_map(value));
        // People remember when: "in March", "2026-03-14".
        names.extend(head.ended.map(|at| at.format("%Y-%m-%d %-d %B %Y").to_string()));
        let mut page = DigestPage {
            head,
            source_id: value("source_id").unwrap_or_default(),
            names,
            triggers: Vec::new(),
            passages: value("objective").into_iter().map(Passage::of).collect(),
            worth: value("worth").is_none_or(|worth| worth != Worth::None.to_string()),
        };
        page.add_body(document.body());
        page
    }

    /// What the index keeps, part by part: each trigger with its keys, the title, each line of the
    /// summary, the files, and then what is part of none.
    pub fn tokens(&self, session: &str) -> TokenBuffer {
        let mut tokens = TokenBuffer::default();
        for trigger in &self.triggers {
            // Keys stand heaviest first, as they are written.
            let count = trigger.keys.len().max(1);
            let keys = trigger.keys.iter().enumerate();
            let keys = keys.map(|(at, key)| (key.as_str(), 1 + 3 * (count - at) / count));
            let said = [(trigger.topic.as_str(), 1), (trigger.sentence.as_str(), 1)];
            tokens.push_part(PartKind::Trigger, said.into_iter().chain(keys));
        }
        tokens.push_part(PartKind::Title, [(self.head.title.as_str(), 1)]);
        for passage in &self.passages {
            tokens.push_part(PartKind::Summary, [(passage.text.as_str(), 1)]);
        }
        let files = self.head.files.iter().map(|file| (file.as_str(), 1));
        tokens.push_part(PartKind::Summary, files);
        let mut push = |text: &str, times| _ = tokens.push_text(text, times);
        push(session, 1);
        push(&self.source_id, 1);
        self.head.project.iter().for_each(|project| push(project, 1));
        self.head.tags.iter().for_each(|tag| push(tag, 2));
        self.names.iter().for_each(|name| push(name, 1));
        tokens
    }

    /// All that the index keeps of it.
    pub fn texts<'p>(&'p self, session: &'p str) -> impl Iterator<Item = &'p str> {
        let head = &self.head;
        let triggers = self.triggers.iter().flat_map(trigger_texts);
        let lists = [&head.files, &head.tags, &self.names].into_iter().flatten();
        let passages = self.passages.iter().map(|passage| &passage.text);
        let others = [&head.title, &self.source_id].into_iter().chain(passages);
        let others = others.chain(lists).chain(&head.project);
        triggers.chain(others.map(String::as_str)).chain([session])
    }

    fn add_body(&mut self, body: &str) {
        let mut section = Section::Said;
        let (mut index, mut errors) = (Vec::new(), Vec::new());
        for line in body.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                section = match heading {
                    _ if FORMALITIES.iter().any(|name| heading.ends_with(name)) => Section::Formal,
                    _ if heading.ends_with("🔎 Index") => Section::Index,
                    _ => Section::Said,
                };
                continue;
            }
            section = match (section, line) {
                (_, MACHINE) => Section::Formal,
                (Section::Formal, "-->") => Section::Said,
                (section, _) => section,
            };
            match section {
                Section::Formal => {}
                Section::Index => match parse_index_line(line) {
                    Some(line) => index.push(line),
                    None => errors.extend(parse_error(line)),
                },
                Section::Said => self.add_line(line),
            }
        }
        self.add_parts(index, errors);
    }

    fn add_line(&mut self, line: &str) {
        let is_formal = ["# Session Digest:", "> **Status**: ", "-->"];
        if line.trim().is_empty() || is_formal.iter().any(|start| line.starts_with(start)) {
            return;
        }
        match (parse_trigger(line), parse_claim(line)) {
            (Some(trigger), _) => self.triggers.push(trigger),
            (None, Some(claim)) => self.passages.push(Passage {
                text: claim.text,
                episode: Some(claim.episode),
                origin: Some(claim.origin),
            }),
            _ => self.passages.push(Passage::of(plain(unlabelled(line)))),
        }
    }

    /// Adds what the Index says: to the trigger of the same part, or as a part of its own.
    fn add_parts(&mut self, index: Vec<IndexLine>, errors: Vec<ErrorFact>) {
        for IndexLine { episode, terms } in index {
            let known = self.triggers.iter_mut().find(|one| one.episode == episode);
            match known {
                Some(trigger) => trigger.keys.extend(terms),
                None => {
                    let topic = terms[..terms.len().min(3)].join(", ");
                    let part = self.part(topic, episode, terms);
                    self.triggers.push(part);
                }
            }
        }
        for error in errors {
            let part = self.part(error.text, error.episode, Vec::new());
            self.triggers.push(part);
        }
    }

    /// A part that has no trigger of its own.
    fn part(&self, topic: String, episode: EpisodeId, keys: Vec<String>) -> Trigger {
        // The parts of a folder are its files, and only triggers know them.
        let path = match self.head.flavor.as_str() {
            FOLDER => {
                let before = self.triggers.iter().filter(|one| one.episode <= episode);
                before.max_by_key(|one| one.episode).map(|one| one.path.clone())
            }
            _ => Some(layout::from_digest(&layout::episode(episode))),
        };
        Trigger {
            topic,
            sentence: String::new(),
            episode,
            path: path.unwrap_or_default(),
            origin: Origin::Tool,
            keys,
        }
    }
}

/// What a line of a body belongs to.
#[derive(Clone, Copy)]
enum Section {
    /// What was said of the session.
    Said,
    Index,
    /// What every digest has, and what only machines need.
    Formal,
}

/// All that a trigger says.
pub fn trigger_texts(trigger: &Trigger) -> impl Iterator<Item = &str> {
    [&trigger.topic, &trigger.sentence].into_iter().chain(&trigger.keys).map(String::as_str)
}

/// A line without the label that every digest has there: `- **Core Intent**: …`.
fn unlabelled(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '>', ' ']);
    match line.strip_prefix("**").and_then(|rest| rest.split_once("**: ")) {
        Some((_, rest)) => rest,
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_front_matter_leaves_the_text() {
        for text in [
            "---\ntitle: [\nno end",
            "no front matter\n\n- flock is broken",
            "",
            "---\n---\n",
            "\u{feff}---\nfoo",
        ] {
            let page = DigestPage::parse("SES1_laptop_SP1C1", text);
            assert_eq!(page.head.title, "SES1_laptop_SP1C1");
            assert!(page.worth);
        }
        let page = DigestPage::parse(
            "SES1_laptop_SP1C1",
            "---\ntitle: x\nno end of it\n- **Core Intent**: flock\n",
        );
        let has = |passage: &Passage| passage.text.contains("flock");
        assert!(page.passages.iter().any(has), "{page:?}");
    }

    #[test]
    fn labels_and_formalities_are_left_out() {
        let text = "---\nworth: none\n---\n# Session Digest: X\n> **Status**: success | **Objective**: o\n> **Motto**: \"m\"\n\
            ## 📦 Manifest (Index of Snapshot)\n- **Episodes**: EP_001\n## 🧠 Semantic Summary (The RAG Trigger)\n\
            - **Core Intent**: lock it\n## 🔄 8-8-8 Synthesis Readiness\n- [x] Cleaned\n## Notes\nmine\n";
        let page = DigestPage::parse("X", text);
        let texts: Vec<&str> = page.passages.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["\"m\"", "lock it", "mine"]);
        assert!(!page.worth);
    }
}
