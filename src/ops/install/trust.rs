//! Trust: Codex runs a hook only once a person has agreed to it, and asks again when it changes.
//!
//! `config.toml` then holds a hash of the hook's definition, under the file's path, the event, and
//! the numbers of its group and of itself.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{edit, toml_file};
use crate::adapters::Places;
use crate::adapters::hooks::HookSpec;
use crate::base::{files, jsonc};

/// The events of our hooks that an agent does not run, because nobody has agreed to them as they
/// are now.
pub fn untrusted(spec: &HookSpec, places: &Places) -> Vec<&'static str> {
    let Some(toml) = spec.toml.map(|name| (spec.home)(places).join(name)) else {
        return Vec::new();
    };
    let json = (spec.file)(places);
    let config = toml_value(&toml).unwrap_or_default();
    let in_json = files::read_to_string(&json).ok();
    let in_json = in_json.and_then(|text| jsonc::value(edit::split_mark(&text).1));
    let mut untrusted = Vec::new();
    for (file, settings) in [(&json, in_json.unwrap_or_default()), (&toml, config.clone())] {
        for (event, group, at, handler) in edit::places_of_ours(&settings, spec) {
            let label = snake_case(event);
            let key = format!("{}:{label}:{group}:{at}", file.display());
            let state = &config["hooks"]["state"][&key];
            let matcher = settings["hooks"][event][group]["matcher"].as_str();
            let is_trusted = state["trusted_hash"] == hash(&label, matcher, &handler).as_str();
            if (!is_trusted || state["enabled"] == false) && !untrusted.contains(&event) {
                untrusted.push(event);
            }
        }
    }
    untrusted
}

fn toml_value(file: &Path) -> Option<Value> {
    toml_file::value(&files::read_to_string(file).ok()?)
}

/// A hook's definition; the keys of both have to stay in the order of the alphabet.
#[derive(Serialize)]
struct Definition<'a> {
    event_name: &'a str,
    hooks: [Hook<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'a str>,
}

#[derive(Serialize)]
struct Hook<'a> {
    r#async: bool,
    command: &'a str,
    timeout: u64,
    r#type: &'static str,
}

/// The hash of a definition, as JSON without white space.
fn hash(event_name: &str, matcher: Option<&str>, handler: &Value) -> String {
    let hook = Hook {
        r#async: handler["async"] == true,
        command: handler["command"].as_str().unwrap_or_default(),
        timeout: handler["timeout"].as_u64().unwrap_or(600).max(1),
        r#type: "command",
    };
    let definition = Definition { event_name, hooks: [hook], matcher };
    let text = serde_json::to_string(&definition).expect("our own types can be written as JSON");
    format!("sha256:{}", files::sha256_hex(text.as_bytes()))
}

fn snake_case(event: &str) -> String {
    let mut label = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What Codex 0.166 itself says of these hooks (`hooks/list` of its app server).
    #[test]
    fn the_hash_is_codexs_own() {
        let start =
            json!({"command": "/opt/memtree --store /m hook codex SessionStart", "timeout": 10});
        assert_eq!(
            hash(&snake_case("SessionStart"), None, &start),
            "sha256:6a0b28b80d0325e706188876b0836106d493e03fac47711cdb3f7784d8ba6831"
        );
        let end = json!({"command": "/opt/memtree --store '/my \"m\"' hook codex SessionEnd", "timeout": 3});
        assert_eq!(
            hash(&snake_case("SessionEnd"), None, &end),
            "sha256:3d9754aaba656f7c5e2b7949e8626036bccc409a51f15d0500fd554ed9e1e9ab"
        );
    }
}
