//! Documents: digests and other pages as the index stores them, field by field, and how they get
//! in and out.
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
use tantivy::{IndexSettings, IndexWriter, TantivyDocument, Term};

use super::changes::StampedFile;
use super::digests::{self, DigestPage};
use super::head::Head;
use super::notes::{self, Note, Section};
use super::tokens::{BufferTokenizer, PartKind, TokenBuffer};
use crate::model::calls;
use crate::query::FilterKey;
use crate::store::Store;
use crate::store::layout::Layout;

/// The name of our tokenizer in the index.
const TOKENIZER: &str = "memtree";
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
    /// Whether the session was not found worth remembering: 1, or nothing.
    pub aside: Field,
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
    /// The same for `aside`.
    pub const ASIDE: &str = "aside";

    fn build() -> (Schema, Fields) {
        let words = |record| {
            let indexing =
                TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(record);
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
            aside: schema.add_u64_field(Fields::ASIDE, NumericOptions::from(FAST)),
        };
        (schema.build(), fields)
    }

    /// The field that a filter looks at by name.
    pub fn of_filter(&self, key: FilterKey) -> Option<Field> {
        match key {
            FilterKey::Project => Some(self.project),
            FilterKey::Flavor => Some(self.flavor),
            FilterKey::Status => Some(self.status),
            FilterKey::Tag => Some(self.tag),
            FilterKey::File => Some(self.file),
            FilterKey::Since | FilterKey::Before => None,
        }
    }

    fn document(&self, name: &str, head: &Head, tokens: TokenBuffer) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.session, name);
        let (words, parts) = tokens.finish();
        document.add_text(self.words, words);
        document.add_bytes(self.parts, &parts);
        let mut files = TokenBuffer::default();
        head.files.iter().for_each(|file| _ = files.push_text(file, 1));
        document.add_text(self.file, files.finish().0);
        let mut add = |field, value: &str| document.add_text(field, value.to_lowercase());
        head.projects().for_each(|project| add(self.project, project));
        head.tags.iter().for_each(|tag| add(self.tag, tag));
        add(self.flavor, &head.flavor);
        add(self.status, &head.status);
        if let Some(ended) = head.ended {
            document.add_i64(self.ended, ended.timestamp());
        }
        document
    }

    /// A section of a page that is no digest.
    fn section(&self, path: &str, note: &Note, section: &Section) -> TantivyDocument {
        let mut tokens = TokenBuffer::default();
        let texts = [
            (note.head.title.as_str(), 1),
            (section.heading.as_str(), 2),
            (section.text.as_str(), 1),
        ];
        tokens.push_part(PartKind::Trigger, texts);
        note.head.tags.iter().for_each(|tag| _ = tokens.push_text(tag, 1));
        let mut document = self.document(path, &note.head, tokens);
        document.add_text(self.tree, notes::tree_of(path).map_or("", |tree| tree.name()));
        document.add_u64(self.line, section.line as u64);
        document
    }
}

/// What one index is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corpus {
    Digests,
    /// Every other page, section by section.
    Notes,
}

impl Corpus {
    /// The folder of its index.
    pub fn folder(self, layout: &Layout) -> PathBuf {
        match self {
            Corpus::Digests => layout.index(),
            Corpus::Notes => layout.notes_index(),
        }
    }

    /// Every file of it: by name, and how it looks.
    pub fn files(self, store: &Store) -> io::Result<Vec<StampedFile>> {
        match self {
            Corpus::Digests => digests::files(store),
            Corpus::Notes => notes::files(store),
        }
    }

    /// The documents of one file of it. What vanished in between has none, nor has a call of our
    /// own.
    fn documents(self, store: &Store, name: &str) -> Vec<TantivyDocument> {
        let fields = Fields::get();
        match self {
            Corpus::Digests => {
                let document = |page: DigestPage| {
                    let mut document = fields.document(name, &page.head, page.tokens(name));
                    if !page.worth {
                        document.add_u64(fields.aside, 1);
                    }
                    document
                };
                // Our own calls of a model only repeat what other sessions say.
                let page = DigestPage::read(store, name)
                    .filter(|page| page.worth || !calls::are_told_by(&page.head.title));
                page.map(document).into_iter().collect()
            }
            Corpus::Notes => {
                let Some(note) = Note::read(store, name) else { return Vec::new() };
                note.sections.iter().map(|section| fields.section(name, &note, section)).collect()
            }
        }
    }
}

/// Begins an index in an empty folder, or in working memory.
pub fn create(folder: Option<&Path>) -> tantivy::Result<tantivy::Index> {
    // What is stored of a document is little, and a search wants that of some scattered ones.
    let settings = IndexSettings { docstore_blocksize: 2 << 10, ..IndexSettings::default() };
    let builder = tantivy::Index::builder().schema(Fields::schema()).settings(settings);
    let index = match folder {
        Some(folder) => builder.create_in_dir(folder)?,
        None => builder.create_in_ram()?,
    };
    register(&index);
    Ok(index)
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
    index.tokenizers().register(TOKENIZER, BufferTokenizer);
}

/// Takes documents out, puts others in, and commits.
pub fn write(
    index: &tantivy::Index,
    store: &Store,
    corpus: Corpus,
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
        let mut documents = corpus.documents(store, name).into_iter();
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
