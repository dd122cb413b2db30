//! A document: a digest as the index stores it, field by field, and how documents get in and out.
//!
//! All words go into one field, those of the title and the keys several times: a word then counts
//! by where it stands, a search reads one list for each word, and phrases run on. The other fields
//! are for filters.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use rayon::prelude::*;
use tantivy::merge_policy::LogMergePolicy;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::{IndexBuilder, IndexSettings, IndexWriter, TantivyDocument, Term};

use super::changes::{self, Stamped};
use super::notes::{self, Note};
use super::page::Page;
use super::sheet::{Laid, Sheet};
use crate::base::files;
use crate::model::ids::SessionId;
use crate::store::Store;
use crate::store::layout::Layout;

/// The name of our tokenizer in the index.
const LAID_WORDS: &str = "memtree";
/// Pieces with fewer documents count as alike.
const FEW: u32 = 64;
/// How many documents are many: worth several threads.
const MANY: usize = 2000;
/// How many threads write at most.
const MOST_THREADS: usize = 4;
/// The working memory that documents need while they are written, each of them, at least, and at
/// most in all. What does not fit becomes a piece of the index of its own, and pieces cost time: to
/// merge, and in every search.
const MEMORY_FOR_EACH: usize = 5 << 10;
const LEAST_MEMORY: usize = 16 << 20;
const MOST_MEMORY: usize = 256 << 20;

/// How much of a digest is read, in bytes: a hundred times what we ever write.
const LONGEST_DIGEST: u64 = 2 << 20;

/// The fields of a document.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// The session's id: the document's name.
    pub session: Field,
    /// Every word.
    pub words: Field,
    /// The paths of the files, for `file:`.
    pub file: Field,
    pub project: Field,
    pub flavor: Field,
    pub status: Field,
    pub tag: Field,
    /// When the session ended, in seconds since 1970.
    pub ended: Field,
    /// Which part of the tree a note lies in.
    pub tree: Field,
    /// The line that a note's section begins at.
    pub line: Field,
    /// Where the parts of the document end among its words.
    pub parts: Field,
}

impl Fields {
    /// The schema of the index.
    pub fn schema() -> Schema {
        Fields::build().0
    }

    /// The fields of the schema.
    pub fn get() -> Fields {
        static FIELDS: LazyLock<Fields> = LazyLock::new(|| Fields::build().1);
        *FIELDS
    }

    /// The name of the field `ended`, by which columns are opened.
    pub const ENDED: &str = "ended";

    fn build() -> (Schema, Fields) {
        let words = |record| {
            let indexing =
                TextFieldIndexing::default().set_tokenizer(LAID_WORDS).set_index_option(record);
            TextOptions::default().set_indexing_options(indexing)
        };
        let mut schema = Schema::builder();
        let fields = Fields {
            session: schema.add_text_field("session", STRING | STORED),
            words: schema.add_text_field("words", words(IndexRecordOption::WithFreqsAndPositions)),
            file: schema.add_text_field("file", words(IndexRecordOption::WithFreqsAndPositions)),
            project: schema.add_text_field("project", STRING),
            flavor: schema.add_text_field("flavor", STRING),
            status: schema.add_text_field("status", STRING),
            tag: schema.add_text_field("tag", STRING),
            ended: schema.add_i64_field(Fields::ENDED, NumericOptions::from(FAST)),
            tree: schema.add_text_field("tree", STRING),
            line: schema.add_u64_field("line", STORED),
            parts: schema.add_bytes_field("parts", STORED),
        };
        (schema.build(), fields)
    }

    /// The sections of a page that is no digest.
    fn sections(&self, path: &str, note: &Note) -> Vec<TantivyDocument> {
        let tree = notes::tree_of(path).map_or("", |tree| tree.name());
        let mut documents = Vec::with_capacity(note.sections.len());
        for section in &note.sections {
            let mut document = TantivyDocument::default();
            document.add_text(self.session, path);
            document.add_text(self.tree, tree);
            document.add_u64(self.line, section.line as u64);
            let mut sheet = Sheet::default();
            sheet.add_part([
                (note.title.as_str(), 1),
                (section.heading.as_str(), 2),
                (section.text.as_str(), 1),
            ]);
            note.tags.iter().for_each(|tag| sheet.add(tag, 1));
            self.add_words(&mut document, sheet, &note.files);
            note.tags.iter().for_each(|tag| document.add_text(self.tag, tag.to_lowercase()));
            for (field, value) in [(self.flavor, &note.flavor), (self.status, &note.status)] {
                document.add_text(field, value.to_lowercase());
            }
            note.project
                .iter()
                .for_each(|project| document.add_text(self.project, project.to_lowercase()));
            if let Some(at) = note.at {
                document.add_i64(self.ended, at.timestamp());
            }
            documents.push(document);
        }
        documents
    }

    fn document(&self, session: &str, page: &Page) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.session, session);
        self.add_words(&mut document, page.lay_out(session), &page.files);
        let mut name = |field, value: &str| document.add_text(field, value.to_lowercase());
        page.project.iter().for_each(|project| name(self.project, project));
        page.tags.iter().for_each(|tag| name(self.tag, tag));
        name(self.flavor, &page.flavor);
        name(self.status, &page.status);
        if let Some(ended) = page.ended {
            document.add_i64(self.ended, ended.timestamp());
        }
        document
    }
}

impl Fields {
    /// Adds the words of a document, and those of the files it is about.
    fn add_words(&self, document: &mut TantivyDocument, sheet: Sheet, files: &[String]) {
        let (words, parts) = sheet.finish();
        document.add_text(self.words, words);
        document.add_bytes(self.parts, &parts);
        let mut sheet = Sheet::default();
        files.iter().for_each(|file| sheet.add(file, 1));
        document.add_text(self.file, sheet.finish().0);
    }
}

/// What one index is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    Digests,
    /// Every other page, section by section.
    Notes,
}

impl Shelf {
    /// The folder of its index.
    pub fn folder(self, layout: &Layout) -> PathBuf {
        match self {
            Shelf::Digests => layout.index(),
            Shelf::Notes => layout.notes_index(),
        }
    }

    /// Everything that stands on it: by name, and how it looks.
    pub fn found(self, store: &Store) -> io::Result<Vec<Stamped>> {
        match self {
            Shelf::Digests => changes::found(store),
            Shelf::Notes => notes::found(store),
        }
    }

    /// The documents of one thing on it. What vanished in between has none, nor has a session that
    /// is not worth remembering.
    fn documents(self, store: &Store, name: &str) -> Vec<TantivyDocument> {
        let fields = Fields::get();
        match self {
            Shelf::Digests => {
                let page = read_page(store, name).filter(|page| page.worth);
                page.map(|page| fields.document(name, &page)).into_iter().collect()
            }
            Shelf::Notes => notes::read(store, name)
                .map(|note| fields.sections(name, &note))
                .unwrap_or_default(),
        }
    }
}

/// Begins an index in an empty folder.
pub fn create(folder: &Path) -> tantivy::Result<tantivy::Index> {
    let index = builder().create_in_dir(folder)?;
    register(&index);
    Ok(index)
}

/// Begins an index in working memory.
pub fn create_in_memory() -> tantivy::Result<tantivy::Index> {
    let index = builder().create_in_ram()?;
    register(&index);
    Ok(index)
}

fn builder() -> IndexBuilder {
    // What is stored of a document is little, and a search wants that of some scattered ones.
    let settings = IndexSettings { docstore_blocksize: 2 << 10, ..IndexSettings::default() };
    tantivy::Index::builder().schema(Fields::schema()).settings(settings)
}

/// Opens the index in a folder.
pub fn open(folder: &Path) -> Result<tantivy::Index, Box<dyn std::error::Error + Send + Sync>> {
    let index = tantivy::Index::open_in_dir(folder)?;
    if index.schema() != Fields::schema() {
        return Err("the index has other fields".into());
    }
    register(&index);
    Ok(index)
}

/// Makes our tokenizer known to an index.
fn register(index: &tantivy::Index) {
    index.tokenizers().register(LAID_WORDS, Laid);
}

/// Takes documents out, puts others in, and commits.
pub fn write(
    index: &tantivy::Index,
    store: &Store,
    shelf: Shelf,
    gone: &[&str],
    new: &[&str],
) -> tantivy::Result<()> {
    let fields = Fields::get();
    let threads = match new.len() < MANY {
        true => 1,
        false => thread::available_parallelism().map_or(2, |cores| cores.get().min(MOST_THREADS)),
    };
    let memory = (new.len() * MEMORY_FOR_EACH).clamp(threads * LEAST_MEMORY, MOST_MEMORY);
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, memory)?;
    writer.set_merge_policy(Box::new(little_by_little()));
    for session in gone {
        writer.delete_term(Term::from_field_text(fields.session, session));
    }
    new.par_iter().try_for_each(|name| {
        let mut documents = shelf.documents(store, name).into_iter();
        documents.try_for_each(|document| writer.add_document(document).map(drop))
    })?;
    writer.commit()?;
    writer.wait_merging_threads()
}

/// Merges few pieces of like size, so that a new session costs what it holds and not what the whole
/// index does: each document is written again only as often as the index grows to four times its
/// size.
fn little_by_little() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(4);
    policy.set_min_layer_size(FEW);
    policy
}

/// Reads a digest as search sees it; `None` where there is none any more.
pub fn read_page(store: &Store, session: &str) -> Option<Page> {
    let id: SessionId = session.parse().ok()?;
    let bytes = files::read_at_most(&store.layout().digest(&id), LONGEST_DIGEST).ok()?;
    Some(Page::read(session, &String::from_utf8_lossy(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_document_does_not_write_all_others_again() {
        let index = tantivy::Index::create_in_ram(Fields::schema());
        register(&index);
        let add = |count: usize| {
            let mut writer: IndexWriter = index.writer_with_num_threads(1, LEAST_MEMORY).unwrap();
            writer.set_merge_policy(Box::new(little_by_little()));
            for _ in 0..count {
                writer.add_document(TantivyDocument::default()).unwrap();
            }
            writer.commit().unwrap();
            writer.wait_merging_threads().unwrap();
        };
        add(300);
        (0..30).for_each(|_| add(1));
        let mut sizes: Vec<u32> = index
            .searchable_segment_metas()
            .unwrap()
            .iter()
            .map(|segment| segment.num_docs())
            .collect();
        sizes.sort_unstable();
        assert_eq!((sizes.last(), sizes.iter().sum()), (Some(&300), 330), "{sizes:?}");
        assert!(sizes.len() <= 4, "{sizes:?}");
    }
}
