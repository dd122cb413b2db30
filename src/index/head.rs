//! The head of a page: what search reads of its front matter, be it a digest or another page.

use crate::base::clock::{self, Timestamp};
use crate::base::front_matter::Document;
use crate::base::text;

/// What the front matter of a page says.
#[derive(Debug, Default)]
pub struct Head {
    /// Empty where it has none.
    pub title: String,
    pub project: Option<String>,
    /// What the project's folder is called: before its remote was known it went by that.
    pub folder: Option<String>,
    pub flavor: String,
    pub status: String,
    pub tags: Vec<String>,
    pub files: Vec<String>,
    /// When the session ended, or the day that a page is about, or when it was last written.
    pub ended: Option<Timestamp>,
}

impl Head {
    /// Reads the front matter; the first of some keys that has a date says when it ended.
    pub fn of(document: &Document, dates: &[&str]) -> Head {
        let value = |key: &str| value(document, key);
        Head {
            title: value("title").unwrap_or_default(),
            project: value("project"),
            folder: value("cwd").map(|cwd| text::file_name(cwd.trim_end_matches('/')).to_string()),
            flavor: value("flavor").unwrap_or_default(),
            status: value("status").unwrap_or_default(),
            tags: document.get_list("tags").unwrap_or_default(),
            files: document.get_list("files").unwrap_or_default(),
            ended: dates.iter().find_map(|key| clock::parse(&value(key)?)),
        }
    }

    /// The names by which its project is found.
    pub fn projects(&self) -> impl Iterator<Item = &str> {
        let folder = self.folder.iter().filter(|folder| self.project.as_ref() != Some(folder));
        self.project.iter().chain(folder).map(String::as_str)
    }
}

/// The value of a key that says something.
pub fn value(document: &Document, key: &str) -> Option<String> {
    document.get_str(key).filter(|value| !value.trim().is_empty())
}
