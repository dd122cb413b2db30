//! Chunks: what was said in a session, in pieces of which a model makes one vector each.
//!
//! What a person and an agent said to each other is taken, not what tools printed, and of a folder
//! only its digest: the rest of it is raw. Pages are redacted before they are written.

use super::digests::DigestPage;
use crate::base::files;
use crate::model::digest::FOLDER;
use crate::model::ids::SessionId;
use crate::store::Store;

/// How many words a chunk has, and how many bytes at most.
const WORDS: usize = 150;
const LONGEST: usize = 2000;
/// How many chunks of one session are made.
const MOST: usize = 400;
/// How many of them are of the digest itself.
const MOST_OF_DIGEST: usize = 6;
/// How much is read of an episode, in bytes.
const LONGEST_EPISODE: u64 = 1 << 20;

/// The chunks of a session, in order; none where there is no digest, or one of a session that was
/// not found worth remembering.
pub fn of_session(store: &Store, session: &SessionId) -> Vec<String> {
    let Some(page) = DigestPage::read(store, &session.to_string()).filter(|page| page.worth) else {
        return Vec::new();
    };
    let mut chunks = Chunks::default();
    chunks.add(&page.head.title);
    page.passages.iter().for_each(|passage| chunks.add(&passage.text));
    page.triggers.iter().filter(|one| !one.sentence.is_empty()).for_each(|trigger| {
        chunks.add(&trigger.topic);
        chunks.add(&trigger.sentence);
    });
    chunks.end();
    chunks.done.truncate(MOST_OF_DIGEST);
    if page.head.flavor != FOLDER {
        for path in episodes(store, session) {
            let bytes = files::read_at_most(&path, LONGEST_EPISODE).unwrap_or_default();
            said(&String::from_utf8_lossy(&bytes)).for_each(|line| chunks.add(line));
            chunks.end();
        }
    }
    chunks.done.truncate(MOST);
    chunks.done
}

/// A text's hash, by which it is known again.
pub fn text_hash(text: &str) -> u64 {
    let hash = files::sha256_hex(text.as_bytes());
    u64::from_str_radix(&hash[..16], 16).unwrap_or_default()
}

/// The pages of a session's episodes, in order.
fn episodes(store: &Store, session: &SessionId) -> Vec<std::path::PathBuf> {
    let entries = files::read_dir(store.layout().episodes(session)).into_iter().flatten().flatten();
    let pages = entries.map(|entry| entry.path());
    let mut pages: Vec<_> =
        pages.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    pages.sort();
    pages
}

/// What was said in an episode: its quoted lines.
fn said(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix('>'))
}

/// Chunks in the making.
#[derive(Default)]
struct Chunks {
    done: Vec<String>,
    open: String,
    words: usize,
}

impl Chunks {
    fn add(&mut self, text: &str) {
        for word in text.split_whitespace() {
            let word = crate::base::text::cut(word, LONGEST / 2);
            if self.words == WORDS || self.open.len() + word.len() >= LONGEST {
                self.end();
            }
            if !self.open.is_empty() {
                self.open.push(' ');
            }
            self.open.push_str(word);
            self.words += 1;
        }
    }

    fn end(&mut self) {
        if self.done.len() <= MOST && !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
        self.open.clear();
        self.words = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_bounded_in_words_bytes_and_number() {
        let mut chunks = Chunks::default();
        chunks.add(&"lock ".repeat(WORDS + 1));
        chunks.end();
        assert_eq!(chunks.done.len(), 2);
        let mut long = Chunks::default();
        long.add(&"x".repeat(1 << 20));
        long.add(&"é".repeat(3000));
        long.end();
        assert!(long.done.iter().all(|chunk| chunk.len() <= LONGEST), "{}", long.done.len());
        let mut many = Chunks::default();
        many.add(&"word ".repeat(WORDS * (MOST + 50)));
        many.end();
        assert!(many.done.len() <= MOST + 1);
    }

    #[test]
    fn what_tools_printed_is_not_what_was_said() {
        let page = "# EP_001 · t\n\n**Prompt**\n> fix the lock\n>\n\n- `$ ls` → ok\n  ```text\n  > file\n  ```\n\n**Agent**\n> Done.\n";
        assert_eq!(said(page).collect::<Vec<_>>(), [" fix the lock", "", " Done."]);
    }
}
