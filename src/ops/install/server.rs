//! Our MCP server in the files of agents: one entry by our name, which starts this program with
//! this memory.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::adapters::servers::{SERVER, ServerShape, ServerSpec};
use crate::base::jsonc;

use super::edit::split_mark;
use super::{toml_file, yaml_file};

/// What is written: which program, for which memory, for which agent.
#[derive(Debug, Clone, Copy)]
pub struct Server<'a> {
    pub spec: &'static ServerSpec,
    /// The absolute path of this program.
    pub program: &'a str,
    /// The absolute path of the memory.
    pub store: &'a str,
}

/// Whose entry stands under our name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    /// We wrote it, for whichever program and memory.
    Memtree,
    /// A person wrote it, and it starts memtree.
    Person,
    /// It starts something else.
    Another,
}

#[derive(Serialize)]
struct Command<'a> {
    command: &'a str,
    args: [&'a str; 3],
}

impl Server<'_> {
    fn arguments(&self) -> [&str; 3] {
        ["--store", self.store, "mcp"]
    }

    /// The entry as JSON on one line, as a person would write it.
    fn entry(&self, form: &str) -> String {
        let arguments = self.arguments().map(|word| Value::from(word).to_string()).join(", ");
        let program = Value::from(self.program).to_string();
        // Whatever a path is called, it is put in last and looked at by nobody.
        let pieces = form.split_inclusive(|c: char| !c.is_ascii_uppercase());
        let words = pieces.map(|piece| {
            let word = piece.trim_end_matches(|c: char| !c.is_ascii_uppercase());
            let rest = &piece[word.len()..];
            match word {
                "COMMAND" => format!("{program}{rest}"),
                "ARGS" => format!("[{arguments}]{rest}"),
                "LINE" => format!("[{program}, {arguments}]{rest}"),
                _ => piece.to_string(),
            }
        });
        words.collect()
    }

    /// The entry as a table of TOML.
    pub fn table(&self, table: &str) -> Result<String, String> {
        let command = Command { command: self.program, args: self.arguments() };
        let entry = toml::to_string(&command).map_err(|err| err.to_string())?;
        Ok(format!("[{table}.{SERVER}]\n{entry}"))
    }

    /// Whether a file has the entry just as we would write it.
    pub fn is_in(&self, text: &str) -> bool {
        let wanted = match self.spec.shape {
            ServerShape::Json { entry, .. } | ServerShape::Yaml { entry, .. } => {
                jsonc::value(&self.entry(entry))
            }
            ServerShape::Toml { table } => self
                .table(table)
                .ok()
                .and_then(|text| Some(toml_file::value(&text)?[table][SERVER].clone())),
        };
        wanted.is_some() && found(text, self.spec) == wanted
    }

    /// A file of JSON or YAML with the entry, and the keys that had to be made for it, the outer
    /// before the inner.
    pub fn put_into(&self, text: &str) -> Result<(String, Vec<String>), String> {
        let (mark, body) = split_mark(text);
        match self.spec.shape {
            ServerShape::Json { path, entry } => {
                let body = if body.trim().is_empty() { "{}\n" } else { body };
                let keys: Vec<&str> = path.iter().copied().chain([SERVER]).collect();
                let (with, made) = jsonc::insert(body, &keys, &self.entry(entry))?;
                let created = (path.len() + 1 - made..path.len()).map(|at| path[..=at].join("."));
                Ok((format!("{mark}{with}"), created.collect()))
            }
            ServerShape::Yaml { key, entry } => {
                let (with, made) = yaml_file::with_entry(text, key, SERVER, &self.entry(entry))?;
                Ok((with, made.then(|| key.to_string()).into_iter().collect()))
            }
            ServerShape::Toml { table } => {
                Ok((toml_file::with_part(text, &self.table(table)?)?, Vec::new()))
            }
        }
    }
}

/// Whose entry a file has under our name.
pub fn owner(text: &str, spec: &ServerSpec) -> Owner {
    let Some(entry) = found(text, spec) else { return Owner::Nobody };
    let strings = |value: &Value| -> Vec<String> {
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(|word| Some(word.as_str()?.to_string())).collect()
    };
    let program = ["command", "cmd"].iter().find_map(|key| entry[key].as_str());
    let mut words: Vec<String> = program.map(str::to_string).into_iter().collect();
    words.extend(strings(&entry["command"]));
    words.extend(strings(&entry["args"]));
    let is_memtree = words
        .first()
        .is_some_and(|program| Path::new(program).file_stem().is_some_and(|stem| stem == SERVER));
    match words.as_slice() {
        [_, store, _, verb] if store == "--store" && verb == "mcp" => Owner::Memtree,
        words if is_memtree && words.iter().any(|word| word == "mcp") => Owner::Person,
        _ => Owner::Another,
    }
}

/// A file without the entry, if it is ours. Keys that hold nothing any more go too, if they are
/// ours: those in `created`, or all where it is not known.
pub fn without(
    text: &str,
    spec: &ServerSpec,
    created: Option<&[String]>,
) -> Result<String, String> {
    if owner(text, spec) != Owner::Memtree {
        return Ok(text.to_string());
    }
    let made = |key: &str| created.is_none_or(|created| created.iter().any(|made| made == key));
    let (mark, body) = split_mark(text);
    match spec.shape {
        ServerShape::Json { path, .. } => {
            let keys: Vec<&str> = path.iter().copied().chain([SERVER]).collect();
            let mut body = jsonc::remove_member(body, &keys)?;
            for depth in (1..=path.len()).rev() {
                if made(&path[..depth].join(".")) {
                    body = jsonc::remove_if_empty(&body, &path[..depth])?;
                }
            }
            Ok(format!("{mark}{body}"))
        }
        ServerShape::Yaml { key, .. } => yaml_file::without_entry(text, key, SERVER, made(key)),
        ServerShape::Toml { table } => toml_file::without_table(text, table, SERVER),
    }
}

/// What a file has under our name.
fn found(text: &str, spec: &ServerSpec) -> Option<Value> {
    match spec.shape {
        ServerShape::Json { path, .. } => {
            let settings = jsonc::value(split_mark(text).1)?;
            let servers = path.iter().try_fold(&settings, |value, key| value.get(key))?;
            servers.get(SERVER).cloned()
        }
        ServerShape::Toml { table } => toml_file::value(text)?.get(table)?.get(SERVER).cloned(),
        ServerShape::Yaml { key, .. } => yaml_file::entry(text, key, SERVER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::servers;

    fn server(agent: &str) -> Server<'static> {
        let spec = servers::of(agent).unwrap();
        Server { spec, program: "/opt/ARGS \"x\"/memtree", store: "/home/dev/it's LINE" }
    }

    #[test]
    fn an_entry_starts_this_program_with_this_memory() {
        for spec in servers::ALL {
            let server = server(spec.agent);
            let (text, _) = server.put_into("").unwrap();
            assert!(server.is_in(&text), "{}: {text}", spec.agent);
            assert_eq!(owner(&text, spec), Owner::Memtree, "{}: {text}", spec.agent);
            assert!(!Server { store: "/other", ..server }.is_in(&text), "{}", spec.agent);
        }
        let (text, created) = server("openclaw").put_into("{ \"mcp\": {} }").unwrap();
        assert_eq!(
            text,
            r#"{ "mcp": {"servers": { "memtree": { "command": "/opt/ARGS \"x\"/memtree", "args": ["--store", "/home/dev/it's LINE", "mcp"] } }} }"#
        );
        assert_eq!(created, ["mcp.servers"]);
    }

    #[test]
    fn what_is_put_in_comes_out_again() {
        for spec in servers::ALL {
            let texts: &[&str] = match spec.shape {
                ServerShape::Json { .. } => &[
                    "{\n  \"a\": 1 // mine\n}\n",
                    "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": { \"command\": \"x\" },\r\n\t},\r\n}",
                    "{ \"mcp\": { \"x\": 1 }, \"context_servers\": {} }",
                ],
                ServerShape::Toml { .. } => {
                    &["a = 1 # mine\n", "[mcp_servers.other]\ncommand = \"x\"\n"]
                }
                ServerShape::Yaml { .. } => &["a: 1 # mine\n"],
            };
            for text in texts {
                let (with, created) = server(spec.agent).put_into(text).unwrap();
                let back = match spec.shape {
                    ServerShape::Toml { .. } => toml_file::without_part(&with),
                    _ => without(&with, spec, Some(&created)).unwrap(),
                };
                assert_eq!(&back, text, "{}: {with}", spec.agent);
                assert_eq!(without(text, spec, None).unwrap(), *text, "{}", spec.agent);
            }
        }
    }

    #[test]
    fn an_entry_of_somebody_else_is_known_as_such() {
        let spec = servers::of("cursor").unwrap();
        for (entry, whose) in [
            (r#"{ "command": "memtree", "args": ["mcp"] }"#, Owner::Person),
            (r#"{ "command": "npx", "args": ["memtree", "mcp"] }"#, Owner::Another),
            (r#"{ "url": "http://localhost:1" }"#, Owner::Another),
            ("3", Owner::Another),
        ] {
            let text = format!("{{ \"mcpServers\": {{ \"memtree\": {entry} }} }}");
            assert_eq!(owner(&text, spec), whose, "{text}");
            assert_eq!(without(&text, spec, None).unwrap(), text);
        }
        assert_eq!(owner("{ \"mcpServers\": [] }", spec), Owner::Nobody);
        let codex = servers::of("codex").unwrap();
        let moved = "[mcp_servers.memtree]\ncommand = \"/x\"\nargs = [\"--store\", \"/m\", \"mcp\"]\n# mine\n[mine]\na = 1\n";
        assert_eq!(without(moved, codex, None).unwrap(), "# mine\n[mine]\na = 1\n");
    }
}
