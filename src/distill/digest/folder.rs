//! The digest of a folder that is kept as a session: what was said in its episodes, where these are
//! turns, and otherwise about its files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{SnapshotParts, content};
use crate::base::clock::{self, Timestamp};
use crate::base::text;
use crate::distill::agent_state::AgentState;
use crate::distill::facts::Facts;
use crate::distill::words;
use crate::model::digest::{Content, Origin, Outcome, Trigger, Worth};
use crate::model::ids::EpisodeId;
use crate::model::session::Head;

/// What is known of a folder besides the words of its files. Every text is clean.
#[derive(Debug)]
pub struct FolderFacts {
    pub name: String,
    /// The folder's path.
    pub path: String,
    /// What it is about, in the person's words.
    pub objective: Option<String>,
    /// The objective is the motto of a folder that has none.
    pub motto: Option<String>,
    pub status: Option<Outcome>,
    /// When the newest file was changed.
    pub modified: Option<Timestamp>,
    /// How many files were kept.
    pub files: usize,
    /// The link to the file of each part.
    pub links: BTreeMap<u32, String>,
    /// The range of episodes in the folder's own names.
    pub own_episodes: String,
    /// The state that the agent left in one of the files.
    pub state: Option<AgentState>,
    /// What the files beside the episodes hold: what is known, what was sensed, how it was.
    pub beside: Vec<FileFacts>,
}

/// A file that is no episode.
#[derive(Debug)]
pub struct FileFacts {
    /// Its number among the parts of the folder.
    pub number: u32,
    /// Its name within the folder.
    pub name: String,
    /// The beginning of its text, clean.
    pub text: String,
}

/// What the digest of a folder says.
pub fn folder_content(
    flavor: &str,
    facts: &Facts,
    folder: FolderFacts,
    parts: SnapshotParts,
) -> Content {
    let has_turns = facts.prompts > 0;
    let title = (!has_turns).then(|| format!("Snapshot of {}", folder.name));
    let head = Head { title, cwd: Some(folder.path), ..Head::default() };
    let content = content(flavor, facts, &head, parts);
    let kept = format!("{} kept byte for byte", text::counted(folder.files, "file"));
    let content = match has_turns {
        true => Content {
            started: content.started.or(folder.modified),
            ended: content.ended.or(folder.modified),
            key_outcomes: content.key_outcomes.into_iter().chain([kept]).collect(),
            ..content
        },
        false => {
            let objective = format!("{}{} as it is", Content::ONLY_KEPT, folder.name);
            Content {
                started: folder.modified,
                ended: folder.modified,
                status: Outcome::Unknown,
                motto: objective.clone(),
                core_intent: objective.clone(),
                arc: String::new(),
                objective,
                key_outcomes: vec![kept],
                turns: 0,
                ..content
            }
        }
    };
    let of_episodes = content.triggers.into_iter().map(|trigger| Trigger {
        path: folder.links.get(&trigger.episode.0).cloned().unwrap_or_default(),
        // Where nobody said it in a conversation, it is what a file holds.
        origin: if has_turns { trigger.origin } else { Origin::Tool },
        ..trigger
    });
    let of_files = folder.beside.iter().filter_map(|file| trigger(file, &folder.links));
    let triggers = of_episodes.chain(of_files).collect();
    let objective = folder.objective.unwrap_or(content.objective);
    Content {
        triggers,
        status: folder.status.unwrap_or(content.status),
        worth: Worth::Full,
        motto: folder.motto.unwrap_or(if has_turns { content.motto } else { objective.clone() }),
        core_intent: if has_turns { content.core_intent } else { objective.clone() },
        objective,
        arc: folder.state.map(|state| state.encode()).unwrap_or(content.arc),
        own_episodes: folder.own_episodes,
        ..content
    }
}

/// The trigger of a file beside the episodes: what it holds, and the words to find it by.
fn trigger(file: &FileFacts, links: &BTreeMap<u32, String>) -> Option<Trigger> {
    let stem = text::file_name(&file.name).split('.').next().unwrap_or_default();
    let topic = text::one_line(&stem.replace(['_', '-'], " "), 60);
    let strings = strings_of(&file.text);
    let mut sentence = String::new();
    for said in &strings {
        if sentence.chars().count() > 120 {
            break;
        }
        let gap = if sentence.is_empty() { "" } else { "; " };
        sentence.push_str(&format!("{gap}{}", text::one_line(said, 120)));
    }
    if topic.is_empty() || sentence.is_empty() {
        return None;
    }
    let mut keys: Vec<String> = Vec::new();
    for word in text::words(&strings.join(" ")) {
        let word = word.to_lowercase();
        if keys.len() < MOST_KEYS && words::weight(&word) >= 0.8 && !keys.contains(&word) {
            keys.push(word);
        }
    }
    Some(Trigger {
        topic,
        sentence: text::one_line(&sentence, 300),
        episode: EpisodeId(file.number),
        path: links.get(&file.number).cloned().unwrap_or_default(),
        origin: Origin::Tool,
        keys,
    })
}

/// A trigger has at most so many keys.
const MOST_KEYS: usize = 12;

/// The texts in a file that say something: the strings of a document, the lines of a page.
fn strings_of(file: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut documents = file.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    match serde_json::from_str::<Value>(file) {
        Ok(value) => collect(&value, 0, &mut strings),
        Err(_) if file.trim_start().starts_with('{') => {
            documents.by_ref().take(100).for_each(|value| collect(&value, 0, &mut strings));
        }
        Err(_) => {
            let lines =
                file.lines().map(|line| line.trim().trim_start_matches(['-', '#', '*', ' ']));
            let lines = lines.filter(|line| line.chars().count() >= 8);
            strings.extend(lines.map(str::to_string).take(100));
        }
    }
    strings
}

fn collect(value: &Value, depth: usize, strings: &mut Vec<String>) {
    match value {
        _ if depth > 8 || strings.len() >= 100 => {}
        Value::String(said) if said.chars().count() >= 3 && !is_id(said) => {
            strings.push(said.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, strings)),
        Value::Object(fields) => {
            // Names of concepts are often keys.
            for (key, value) in fields {
                if let Some(number) = value.as_f64() {
                    strings.push(format!("{key} {number}"));
                }
                collect(value, depth + 1, strings);
            }
        }
        _ => {}
    }
}

/// Whether a text only names a record or a moment.
fn is_id(said: &str) -> bool {
    let has_space = said.contains(char::is_whitespace);
    let digits = said.chars().filter(char::is_ascii_digit).count();
    !has_space && (clock::parse(said).is_some() || 3 * digits >= said.len())
}
