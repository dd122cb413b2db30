//! What is ours in a TOML file: a part of its own at the file's end.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::edit::{HOOKS, Wiring, split_mark};

/// What our part of a TOML file stands between. The second one says that the file had no line end
/// there.
const BEGIN: &str = "# >>> memtree: written by `memtree install`, removed by `memtree uninstall`";
const BEGIN_JOINED: &str = "# >>> memtree: written by `memtree install`, removed by `memtree uninstall` with this line's start";
const END: &str = "# <<< memtree";

#[derive(Serialize)]
struct File<'a> {
    hooks: BTreeMap<&'a str, [Group; 1]>,
}

#[derive(Serialize)]
struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'static str>,
    hooks: [Handler; 1],
}

#[derive(Serialize)]
struct Handler {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    timeout: u32,
}

/// Whether a TOML file holds hooks: then ours belong there too.
pub fn has_hooks(text: &str) -> bool {
    let (_, text) = split_mark(text);
    let table = text.parse::<toml::Table>().ok();
    table
        .and_then(|table| table.get(HOOKS)?.as_table().map(|hooks| !hooks.is_empty()))
        .unwrap_or(false)
}

/// Our hooks, as tables.
pub fn hooks(wiring: &Wiring) -> Result<String, String> {
    let mut tables = String::new();
    for event in wiring.spec.events {
        let handler =
            Handler { kind: "command", command: wiring.command(event), timeout: event.timeout };
        let group = Group { matcher: event.matcher, hooks: [handler] };
        let one = File { hooks: [(event.name, [group])].into() };
        tables.push_str(&toml::to_string(&one).map_err(|err| err.to_string())?);
    }
    Ok(tables)
}

/// A TOML file with tables of ours in a part of their own at its end; an error where they cannot
/// stand there.
pub fn with_part(text: &str, tables: &str) -> Result<String, String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let joined = !text.is_empty() && !text.ends_with('\n');
    let begin = if joined { BEGIN_JOINED } else { BEGIN };
    let part = format!("{}{begin}\n{}\n{END}\n", if joined { "\n" } else { "" }, tables.trim_end());
    let whole = format!("{text}{}", part.replace('\n', newline));
    // A list that is written in one line cannot be added to from elsewhere.
    split_mark(&whole).1.parse::<toml::Table>().map_err(|err| err.message().to_string())?;
    Ok(whole)
}

/// What a TOML file says, as JSON.
pub fn value(text: &str) -> Option<Value> {
    let table: toml::Table = split_mark(text).1.parse().ok()?;
    serde_json::to_value(table).ok()
}

/// A TOML file without one table of a table, wherever it stands; the rest stays as it is.
pub fn without_table(text: &str, table: &str, name: &str) -> Result<String, String> {
    let (mark, text) = split_mark(text);
    let mut document: toml_edit::DocumentMut =
        text.parse().map_err(|err: toml_edit::TomlError| err.message().to_string())?;
    let tables = document.get_mut(table).and_then(toml_edit::Item::as_table_like_mut);
    tables.and_then(|tables| tables.remove(name));
    Ok(format!("{mark}{document}"))
}

/// A TOML file without our part of it.
pub fn without_part(text: &str) -> String {
    let Some(begin) = text.find(BEGIN) else { return text.to_string() };
    let Some(end) = text[begin..].find(END).map(|end| begin + end + END.len()) else {
        return text.to_string();
    };
    let rest =
        text[end..].strip_prefix("\r\n").or(text[end..].strip_prefix('\n')).unwrap_or(&text[end..]);
    let before = &text[..begin];
    let joined = text[begin..].starts_with(BEGIN_JOINED) && rest.is_empty();
    let before = match before.strip_suffix("\r\n").or(before.strip_suffix('\n')) {
        Some(shorter) if joined => shorter,
        _ => before,
    };
    format!("{before}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::hooks::CODEX;

    #[test]
    fn toml_gets_a_part_of_its_own() {
        let wiring =
            Wiring { spec: &CODEX, program: "/opt/my tools/memtree", store: "/home/dev/memory" };
        for text in [
            "model = \"gpt-5.5\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n",
            "[[hooks.Stop]]\r\nhooks = [{ type = \"command\", command = \"x\" }] # mine\r\n",
            "[hooks.state]\na = 1",
            "",
        ] {
            let with = with_part(text, &hooks(&wiring).unwrap()).unwrap();
            let table: toml::Table = with.parse().unwrap();
            let last = table["hooks"]["Stop"].as_array().unwrap().last().unwrap();
            assert!(
                last["hooks"][0]["command"].as_str().unwrap().ends_with("hook codex Stop"),
                "{with}"
            );
            assert_eq!(without_part(&with), text);
            let edited =
                with.replace("model = \"gpt-5.5\"", "model = \"other\"") + "\n[mine]\nx = 1\n";
            assert!(edited.contains("memtree"));
            assert!(!without_part(&edited).contains("memtree"));
        }
        assert!(with_part("hooks = { Stop = [] }\n", &hooks(&wiring).unwrap()).is_err());
        assert!(has_hooks("[hooks.x]\na=1") && !has_hooks("[hooks]\n") && !has_hooks("model = 1"));
    }
}
