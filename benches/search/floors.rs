//! Floors: tantivy as it comes, a walk over the files, a scan of them, and nothing at all.
//!
//! Each is what somebody would write in an afternoon who needs only that: tantivy with its own
//! tokenizer, score and query parser over the texts as they are, opened for one query; two threads
//! and 200 MB to build it.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, STRING, Schema, TEXT, Value};
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument};
use walkdir::WalkDir;

use crate::BoxError;

/// Runs a floor by its name.
pub fn run(name: &str, arguments: &[String]) -> Result<(), BoxError> {
    match (name, arguments) {
        ("none", _) => Ok(()),
        ("stat", [folder]) => {
            stat_walk(Path::new(folder));
            Ok(())
        }
        ("scan", [folder, query]) => {
            scan(Path::new(folder), query);
            Ok(())
        }
        ("build", [digests, index]) => build(Path::new(digests), Path::new(index)),
        ("search", [index, query]) => search(Path::new(index), query),
        _ => Err(format!("no floor `{name}` with {arguments:?}").into()),
    }
}

/// All files below a folder whose names end so, in order.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let all = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let files = all.filter(|entry| {
        entry.file_type().is_file() && entry.file_name().to_string_lossy().ends_with(ending)
    });
    files.map(walkdir::DirEntry::into_path).collect()
}

/// Looks at each file, and reads none.
fn stat_walk(folder: &Path) {
    let files =
        WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    println!("{}", files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>());
}

/// Reads each digest and looks for the words of a query in it.
fn scan(folder: &Path, query: &str) {
    let words: Vec<_> =
        query.split_whitespace().map(|word| memchr::memmem::Finder::new(word.as_bytes())).collect();
    let has = |path: &PathBuf| {
        fs::read(path).is_ok_and(|text| words.iter().any(|word| word.find(&text).is_some()))
    };
    let mut found: Vec<PathBuf> = files(folder, ".md").into_par_iter().filter(has).collect();
    found.sort();
    found.iter().take(10).for_each(|path| println!("{}", path.display()));
}

fn build(digests: &Path, folder: &Path) -> Result<(), BoxError> {
    let mut schema = Schema::builder();
    let (path, text) =
        (schema.add_text_field("path", STRING | STORED), schema.add_text_field("text", TEXT));
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let index = tantivy::Index::create_in_dir(folder, schema.build())?;
    let mut writer: IndexWriter = index.writer_with_num_threads(2, 200_000_000)?;
    for file in files(digests, ".md") {
        let mut document = TantivyDocument::default();
        document.add_text(path, file.to_string_lossy());
        document.add_text(text, fs::read_to_string(file)?);
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn search(folder: &Path, query: &str) -> Result<(), BoxError> {
    let index = tantivy::Index::open_in_dir(folder)?;
    let (path, text) = (index.schema().get_field("path")?, index.schema().get_field("text")?);
    let reader: IndexReader =
        index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let searcher = reader.searcher();
    let query = QueryParser::for_index(&index, vec![text]).parse_query(&query.replace('_', " "))?;
    for (score, place) in searcher.search(&query, &TopDocs::with_limit(10).order_by_score())? {
        let document: TantivyDocument = searcher.doc(place)?;
        println!(
            "{score:.2} {}",
            document.get_first(path).and_then(|path| path.as_str()).unwrap_or_default()
        );
    }
    Ok(())
}
