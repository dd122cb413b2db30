//! Notes: every page of the tree that is no digest (days, core, knowledge, patterns, memories),
//! section by section.
//!
//! They have an index of their own, so that what is written about sessions never outranks the
//! sessions. A section is what lies under one heading; a long one comes in pieces, so that a hit
//! leads to the right lines.

use std::io;

use chrono::{NaiveDate, NaiveTime};

use super::changes::StampedFile;
use super::head::Head;
use crate::base::files::{self, Stamp};
use crate::base::front_matter::Document;
use crate::base::markdown;
use crate::model::hit::Tree;
use crate::store::Store;

/// How long a section is, in bytes, before it comes in pieces.
const LONGEST_SECTION: usize = 1600;
/// How much of a page is read, in bytes.
const LONGEST_PAGE: u64 = 8 << 20;

/// A page that is no digest.
#[derive(Debug, Default)]
pub struct Note {
    pub head: Head,
    pub sections: Vec<Section>,
}

/// A piece of a page.
#[derive(Debug, Default, PartialEq)]
pub struct Section {
    /// The heading above it; empty before the first.
    pub heading: String,
    /// Where it begins in the file, counted from one.
    pub line: usize,
    pub text: String,
}

/// Looks at every page of a memory that is no digest: its path and its stamp, sorted by path.
pub fn files(store: &Store) -> io::Result<Vec<StampedFile>> {
    let layout = store.layout();
    let mut found = Vec::new();
    for tree in Tree::NOTES {
        let Some(folder) = layout.tree(tree) else { continue };
        // A link could lead anywhere, so only what lies here itself is a page.
        if !files::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        for file in files::walk_files(&folder).filter_map(Result::ok) {
            let hidden = file
                .relative
                .components()
                .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
            // Agents call their files what they like.
            let page = tree == Tree::Memories
                || file.path.extension().is_some_and(|extension| extension == "md");
            // What a page said before is no page of its own.
            let former = file.path.starts_with(layout.pattern_history());
            if page && !hidden && !former && file.link.is_none() && file.path.to_str().is_some() {
                found.push((layout.shown(&file.path), Stamp::of(&file.metadata)));
            }
        }
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The tree that a page lies in.
pub fn tree_of(path: &str) -> Option<Tree> {
    let folder = path.split('/').next()?;
    Tree::NOTES.into_iter().find(|tree| tree.folder() == Some(folder))
}

impl Note {
    /// Reads a page, by its path within the memory; `None` where there is none any more.
    pub fn read(store: &Store, path: &str) -> Option<Note> {
        let path_on_disk = store.layout().root().join(files::safe_relative(path.as_ref())?);
        let bytes = files::read_at_most(&path_on_disk, LONGEST_PAGE).ok()?;
        Some(Note::parse(path, &String::from_utf8_lossy(&bytes)))
    }

    fn parse(path: &str, text: &str) -> Note {
        let document = Document::parse(text);
        let body = document.body();
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
        let first_line = 1 + text[..text.len() - body.len()].matches('\n').count();
        let sections = sections(body, first_line);
        let mut head = Head::of(&document, &["updated", "ended", "date", "created"]);
        if let Ok(day) = name.parse::<NaiveDate>() {
            head.ended = Some(day.and_time(NaiveTime::MIN).and_utc());
        }
        head.files.push(path.to_string());
        if head.title.is_empty() {
            let mut headings = sections.iter().map(|section| &section.heading);
            let heading = headings.find(|heading| !heading.is_empty());
            let heading = heading.filter(|_| body.trim_start().starts_with("# "));
            head.title = heading.cloned().unwrap_or(name.into());
        }
        Note { head, sections }
    }
}

/// Cuts a body at its headings, and what is long between lines.
fn sections(body: &str, first_line: usize) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open = Section { line: first_line, ..Section::default() };
    let mut fenced = false;
    for (at, line) in body.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        let heading = heading(line).filter(|_| !fenced);
        if heading.is_some() || open.text.len() + line.len() > LONGEST_SECTION {
            let next = heading.unwrap_or_else(|| open.heading.clone());
            sections.push(std::mem::replace(
                &mut open,
                Section { heading: next, line: first_line + at, text: String::new() },
            ));
        }
        open.text.push_str(line);
        open.text.push('\n');
    }
    sections.push(open);
    sections.retain(|section| !section.text.trim().is_empty());
    sections
}

fn heading(line: &str) -> Option<String> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=4).contains(&level) && rest.starts_with(' ');
    is_heading.then(|| markdown::plain(rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock;

    #[test]
    fn a_page_comes_in_sections() {
        let text = "---\ntitle: Locks\ntags: [flock]\nupdated: 2026-11-15T10:00:00Z\n---\nbefore\n\n## Two writers\nboth saw\n\
            ```\n# no heading\n```\n### Then\nerased\n";
        let note = Note::parse("knowledge/concepts/locks.md", text);
        assert_eq!(
            (note.head.title.as_str(), note.head.tags.as_slice()),
            ("Locks", ["flock".to_string()].as_slice())
        );
        let sections: Vec<(&str, usize)> =
            note.sections.iter().map(|section| (section.heading.as_str(), section.line)).collect();
        assert_eq!(sections, [("", 6), ("Two writers", 8), ("Then", 13)]);
        assert!(note.sections[1].text.contains("# no heading"));
        assert_eq!(clock::stamp(note.head.ended.unwrap()), "2026-11-15T10:00:00Z");
    }

    #[test]
    fn a_day_has_its_name_and_long_sections_come_in_pieces() {
        let line = format!("- [14:03:22] [user] (SES1_desk_SP1C1) {}\n", "word ".repeat(100));
        let note =
            Note::parse("daily/raw/2026-11-15.md", &format!("# 2026-11-15\n{}", line.repeat(10)));
        assert_eq!(
            (note.head.title.as_str(), note.head.ended.map(clock::stamp).as_deref()),
            ("2026-11-15", Some("2026-11-15T00:00:00Z"))
        );
        assert!(
            note.sections.len() >= 4
                && note.sections.iter().all(|section| section.text.len() <= 2 * LONGEST_SECTION)
        );
        assert!(note.sections.windows(2).all(|pair| pair[0].line < pair[1].line));
        assert_eq!((tree_of("daily/raw/x.md"), tree_of("sessions/x.md")), (Some(Tree::Days), None));
    }

    #[test]
    fn whatever_stands_there_is_read() {
        for text in
            ["", "---\n", "---\ntitle: [\n", "# ", "####### x", "```\n# x", "\u{feff}---\na"]
        {
            Note::parse("core/x.md", text);
        }
    }
}
