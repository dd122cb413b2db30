//! Forgetting a text: the session stays, without it.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::NaiveDate;

use super::pattern::{FORGOTTEN, TextPattern, without_originals};
use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::capture::{commit, stage};
use crate::error::{Context, Result};
use crate::model::digest::{FOLDER, SnapshotShape};
use crate::model::ids::SessionId;
use crate::store::snapshots::{SnapshotWriter, parse_manifest_line};
use crate::store::{Store, authored, day::summary, digest, knowledge, layout};

/// Makes a session's snapshot and digest again without a text: raw files that hold it go as a
/// whole, pages lose it.
pub fn without_text(
    store: &Store,
    session: &SessionId,
    pattern: &TextPattern,
    day: NaiveDate,
) -> Result<()> {
    let layout = store.layout();
    let cannot = || format!("cannot take the text out of {session}");
    store.refuse_links(Some(session))?;
    let text = files::read_to_string(layout.digest(session)).unwrap_or_default();
    let staged = layout.staging().join(format!("forget-{session}"));
    files::remove_folder(&staged).context(cannot)?;
    let folder = layout.snapshot(session);
    let all_raw = Document::parse(&text).get_str("flavor").as_deref() == Some(FOLDER);
    let is_raw = |name: &str| name.starts_with(layout::RAW) || all_raw;
    let mut removed = BTreeSet::new();
    let mut kept = None;
    if files::is_dir(&folder) {
        let mut writer = SnapshotWriter::create(&staged.join(stage::SNAPSHOT)).context(cannot)?;
        for found in files::walk_files(&folder).flatten().filter(|found| found.link.is_none()) {
            let name = layout::shown_relative(&found.relative);
            let shape = if all_raw { SnapshotShape::Folder } else { SnapshotShape::Log };
            if name == layout::MANIFEST || layout::is_guard(&name, shape) {
                continue;
            }
            let holds = pattern.is_in(&name) || pattern.is_in_file(&found.path).context(cannot)?;
            match holds {
                false => writer.copy(&found.path, &name).map(drop).context(cannot)?,
                true if is_raw(&name) || pattern.is_in(&name) => drop(removed.insert(name)),
                true => match files::read_to_string(&found.path) {
                    Ok(page) => writer.write(&name, &pattern.removed(&page)).context(cannot)?,
                    // What is not text cannot lose a part of it.
                    Err(_) => drop(removed.insert(name)),
                },
            }
        }
        if !all_raw {
            writer.write_guards().context(cannot)?;
        }
        kept = Some(writer.finish_listing(is_raw).context(cannot)?);
    }
    let loses_raw = removed.iter().any(|name| is_raw(name));
    // Where the files are not here, it is not known which of them held it.
    let unknown = all_raw && !files::is_dir(&folder);
    let page = |text: &str| {
        let mut digest = without(text, pattern);
        if let Some(kept) = &kept {
            digest.set("snapshot_bytes", kept.bytes as i64);
            digest.set("snapshot_files", kept.files as i64);
            digest.set("manifest_sha256", kept.manifest_sha256.as_str());
        }
        // A hash of what is forgotten goes as well: a guess at a short text could be proved by it.
        // So does a name.
        if let Some(listed) = digest.get_list("manifest") {
            let names_it = |line: &String| {
                let name = parse_manifest_line(line).map(|(_, name)| name);
                unknown || name.is_some_and(|name| removed.contains(&name) || pattern.is_in(&name))
            };
            let kept: Vec<String> = listed.into_iter().filter(|line| !names_it(line)).collect();
            digest.set_block_list("manifest", &kept);
        }
        if loses_raw {
            digest.set_raw("snapshot", &format!("evicted {day}"));
        }
        digest.into_text()
    };
    let manifest_sha256 = kept.as_ref().map_or("", |kept| &kept.manifest_sha256);
    commit::replace(store, session, &staged, page, manifest_sha256)
}

/// A page without a text. Values of the front matter lose it one by one, so that they are still
/// what they were: a list stays a list, and a title that now begins with a bracket does not become
/// one.
fn without(page: &str, pattern: &TextPattern) -> Document {
    let mut document = Document::parse(page);
    let holds = |key: &&str| document.get_raw(key).is_some_and(|raw| pattern.is_in(raw));
    let keys: Vec<String> = document.keys().filter(holds).map(str::to_string).collect();
    for key in &keys {
        if let Some(value) = document.get_str(key) {
            document.set(key, pattern.removed(&value).as_ref());
        } else if let Some(listed) = document.get_list(key) {
            let kept: Vec<String> =
                listed.iter().map(|item| pattern.removed(item).into_owned()).collect();
            document.set_block_list(key, &kept);
        }
    }
    // Tags are made of what was said, word by word.
    if let Some(tags) = document.get_list("tags")
        && pattern.is_in(page)
    {
        let kept: Vec<String> = tags.into_iter().filter(|tag| !names_word(tag, pattern)).collect();
        document.set_raw("tags", &front_matter::list(&kept));
    }
    let body = pattern.removed(document.body());
    let body =
        if body == document.body() { body.into_owned() } else { without_keys(&body, pattern) };
    document.set_body(&body);
    let page = match pattern.is_in(document.as_text()) {
        // It spans several values, or is in what is no YAML.
        true => pattern.removed(document.as_text()).into_owned(),
        false => document.into_text(),
    };
    Document::parse(&digest::without_stale_hashes(&page))
}

/// A page whose lists of keys and terms have none of a forgotten text's words.
fn without_keys(page: &str, pattern: &TextPattern) -> String {
    let mut kept = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        let list = match line.find("| keys: ") {
            Some(at) => Some(at + "| keys: ".len()),
            None if line.starts_with("- EP_") => line.find(": ").map(|at| at + 2),
            None => None,
        };
        let Some(at) = list else {
            kept.push_str(line);
            continue;
        };
        let end = line.trim_end().len().max(at);
        let keys = line[at..end].split(", ");
        let keys: Vec<&str> = keys.filter(|key| !names_word(key, pattern)).collect();
        kept.push_str(&line[..at]);
        kept.push_str(&keys.join(", "));
        kept.push_str(&line[end..]);
    }
    kept
}

/// Whether a key is, or is made of, words of the text.
fn names_word(key: &str, pattern: &TextPattern) -> bool {
    let mut words = key.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    key.contains(FORGOTTEN) || words.any(|word| pattern.has_word(word))
}

/// Another page of the memory without a text, and without hashes of it.
pub fn page_without(
    store: &Store,
    path: &Path,
    page: &str,
    pattern: &TextPattern,
) -> Option<String> {
    if !pattern.is_in(page) {
        return None;
    }
    let layout = store.layout();
    // A sweep after one that was killed has brought the line back beside the one without the text.
    let once = without_originals(page);
    let before = page;
    let page = pattern.removed(once.as_deref().unwrap_or(page));
    Some(match path {
        path if path.starts_with(layout.knowledge()) => {
            authored::without_stale_hashes(&page, &knowledge::RULES)
        }
        path if path.starts_with(layout.summaries()) => summary::still_ours(before, &page),
        _ => page.into_owned(),
    })
}
