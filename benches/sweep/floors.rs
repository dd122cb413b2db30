//! What nobody can do without: walking over the files, and reading what is in them.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use walkdir::{DirEntry, WalkDir};

/// Runs a floor on a folder: `none`, `stat` or `parse`.
pub fn run(name: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut sum = 0;
    let files: Vec<DirEntry> = match name {
        "none" => return Ok(()),
        _ => WalkDir::new(folder)
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .collect(),
    };
    for file in files {
        sum += match name {
            "stat" => file.metadata()?.len() as usize,
            "parse" => fs::read(file.path())?.split(|byte| *byte == b'\n').map(parse).sum(),
            _ => return Err(format!("no floor `{name}`").into()),
        };
    }
    // Whoever does not use a result need not compute it.
    println!("{sum}");
    Ok(())
}

#[derive(Deserialize)]
struct Record<'a> {
    timestamp: Option<String>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    output_tokens: usize,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
    content: Option<String>,
}

/// Reads one record: its time, its text and its tokens.
fn parse(line: &[u8]) -> usize {
    let Ok(record) = serde_json::from_slice::<Record>(line) else { return 0 };
    let mut sum = record.timestamp.map_or(0, |time| time.len());
    if let Some(message) = record.message {
        sum += message.usage.map_or(0, |usage| usage.output_tokens);
        let content = message.content.map_or("", RawValue::get);
        sum += match content.as_bytes().first() {
            Some(b'[') => serde_json::from_str::<Vec<Block>>(content)
                .map_or(0, |blocks| blocks.iter().map(length).sum()),
            Some(b'"') => serde_json::from_str::<String>(content).map_or(0, |text| text.len()),
            _ => 0,
        };
    }
    sum
}

fn length(block: &Block) -> usize {
    [&block.text, &block.content].into_iter().flatten().map(String::len).sum()
}
