//! A page: a digest as search sees it, whatever state it is in.
//!
//! A digest with broken front matter still has its text; then the file's name is its title. What
//! every digest says alike (headings, the manifest, the readiness list) is left out, what a person
//! noted is in.

use super::sheet::Sheet;
use crate::base::clock::{self, Timestamp};
use crate::base::front_matter::Document;
use crate::base::markdown::plain;
use crate::model::digest::{Trigger, Worth};
use crate::store::documents::parse_trigger;

/// Sections that say nothing of the session itself.
const FORMALITIES: &[&str] = &["Manifest (Index of Snapshot)", "8-8-8 Synthesis Readiness"];

/// What search reads of a digest.
#[derive(Debug, Default)]
pub struct Page {
    pub source_id: String,
    pub title: String,
    pub flavor: String,
    pub status: String,
    pub project: Option<String>,
    pub ended: Option<Timestamp>,
    pub files: Vec<String>,
    pub tags: Vec<String>,
    /// Names that a person gave it, the branch, the commits.
    pub names: Vec<String>,
    pub triggers: Vec<Trigger>,
    /// Everything else in words: objective, summary, notes.
    pub passages: Vec<String>,
    /// Whether it was found worth remembering.
    pub worth: bool,
}

impl Page {
    /// Reads the digest of a session.
    pub fn read(session: &str, text: &str) -> Page {
        let document = Document::parse(text);
        let value = |key: &str| document.get_str(key).filter(|value| !value.trim().is_empty());
        let list = |key: &str| document.get_list(key).unwrap_or_default();
        let mut page = Page {
            source_id: value("source_id").unwrap_or_default(),
            title: value("title").unwrap_or_else(|| session.to_string()),
            flavor: value("flavor").unwrap_or_default(),
            status: value("status").unwrap_or_else(|| "unknown".into()),
            project: value("project"),
            ended: value("ended").and_then(|at| clock::parse(&at)),
            files: list("files"),
            tags: list("tags"),
            names: list("aliases"),
            triggers: Vec::new(),
            passages: Vec::new(),
            worth: value("worth").is_none_or(|worth| worth != Worth::None.to_string()),
        };
        page.names.extend(list("commits"));
        page.names.extend(value("branch"));
        page.names.extend(value("domain"));
        // People remember when: "in March", "2026-03-14".
        page.names.extend(page.ended.map(|at| at.format("%Y-%m-%d %-d %B %Y").to_string()));
        page.passages.extend(value("objective"));
        page.body(document.body());
        page
    }

    /// What the index keeps, part by part: each trigger with its keys, the summary, and then what
    /// is part of neither.
    pub fn lay_out(&self, session: &str) -> Sheet {
        let mut sheet = Sheet::default();
        for trigger in &self.triggers {
            // Keys stand heaviest first, as they are written.
            let count = trigger.keys.len().max(1);
            let keys = trigger
                .keys
                .iter()
                .enumerate()
                .map(|(at, key)| (key.as_str(), 1 + 3 * (count - at) / count));
            sheet.add_part(
                [(trigger.topic.as_str(), 1), (trigger.sentence.as_str(), 1)]
                    .into_iter()
                    .chain(keys),
            );
        }
        let summary = [&self.title].into_iter().chain(&self.passages).chain(&self.files);
        sheet.add_part(summary.map(|text| (text.as_str(), 1)));
        for name in [session, &self.source_id] {
            sheet.add(name, 1);
        }
        self.project.iter().for_each(|project| sheet.add(project, 1));
        self.tags.iter().for_each(|tag| sheet.add(tag, 2));
        self.names.iter().for_each(|name| sheet.add(name, 1));
        sheet
    }

    /// All that the index keeps of it.
    pub fn texts<'p>(&'p self, session: &'p str) -> impl Iterator<Item = &'p str> {
        let triggers = self
            .triggers
            .iter()
            .flat_map(|one| [&one.topic, &one.sentence].into_iter().chain(&one.keys));
        let lists = [&self.passages, &self.files, &self.tags, &self.names].into_iter().flatten();
        let others = [&self.title, &self.source_id].into_iter().chain(lists).chain(&self.project);
        triggers.chain(others).map(String::as_str).chain([session])
    }

    fn body(&mut self, body: &str) {
        let mut formality = false;
        for line in body.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                formality = FORMALITIES.iter().any(|name| heading.ends_with(name));
            }
            let is_heading = line.starts_with("# Session Digest:") || line.starts_with("## ");
            if formality
                || is_heading
                || line.trim().is_empty()
                || line.starts_with("> **Status**: ")
            {
                continue;
            }
            match parse_trigger(line) {
                Some(trigger) => self.triggers.push(trigger),
                None => self.passages.push(plain(unlabelled(line))),
            }
        }
    }
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
            let page = Page::read("SES1_laptop_SP1C1", text);
            assert_eq!(page.title, "SES1_laptop_SP1C1");
            assert!(page.worth);
        }
        let page = Page::read(
            "SES1_laptop_SP1C1",
            "---\ntitle: x\nno end of it\n- **Core Intent**: flock\n",
        );
        assert!(page.passages.iter().any(|passage| passage.contains("flock")), "{page:?}");
    }

    #[test]
    fn labels_and_formalities_are_left_out() {
        let text = "---\nworth: none\n---\n# Session Digest: X\n> **Status**: success | **Objective**: o\n> **Motto**: \"m\"\n\
            ## 📦 Manifest (Index of Snapshot)\n- **Episodes**: EP_001\n## 🧠 Semantic Summary (The RAG Trigger)\n\
            - **Core Intent**: lock it\n## 🔄 8-8-8 Synthesis Readiness\n- [x] Cleaned\n## Notes\nmine\n";
        let page = Page::read("X", text);
        assert_eq!(page.passages, ["\"m\"", "lock it", "mine"]);
        assert!(!page.worth);
    }
}
