//! One entry under a key of a YAML file that somebody else keeps: one line of ours, everything else
//! left as it is.
//!
//! The file is parsed only to see that nothing but our entry has changed. The entry is JSON, which
//! is YAML too, so it needs one line only.

use serde_json::Value;

use super::edit::split_mark;

/// What stands under a name below a key, where something does.
pub fn entry(text: &str, key: &str, name: &str) -> Option<Value> {
    Some(parsed(text).ok()?.get(key)?.get(name)?.clone()).filter(|entry| !entry.is_null())
}

/// A file with an entry under a key, which is made where it is missing, and whether it was made.
pub fn with_entry(
    text: &str,
    key: &str,
    name: &str,
    entry: &str,
) -> Result<(String, bool), String> {
    let before = parsed(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (mark, body) = split_mark(text);
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| is_key(line, key));
    let (after, made) = match at {
        None => {
            let gap = if body.is_empty() || body.ends_with('\n') { "" } else { newline };
            (format!("{body}{gap}{key}:{newline}  {name}: {entry}{newline}"), true)
        }
        Some(at) => {
            let (head, rest) = (lines[..at].concat(), lines[at + 1..].concat());
            let indent =
                lines[at + 1..].iter().find(|line| is_content(line)).map(|line| indent(line));
            let indent = indent.filter(|indent| !indent.is_empty()).unwrap_or("  ");
            let own = lines[at].trim_end().strip_suffix("{}").map(str::trim_end);
            let own = own.unwrap_or(lines[at].trim_end());
            (format!("{head}{own}{newline}{indent}{name}: {entry}{newline}{rest}"), false)
        }
    };
    let after = format!("{mark}{after}");
    let mut now = parsed(&after)?;
    let ours = now.get_mut(key).and_then(Value::as_object_mut).and_then(|all| all.remove(name));
    let same =
        |value: &Value| value.as_object().is_none_or(|all| all.is_empty()) || value.is_null();
    let rest_is_same = match (before.get(key), now.get(key)) {
        (Some(before), Some(now)) => before == now || same(before) && same(now),
        (None, Some(now)) => same(now),
        _ => false,
    };
    let others = |value: &Value| {
        let mut all = value.as_object().cloned().unwrap_or_default();
        all.remove(key);
        all
    };
    if ours != serde_json::from_str(entry).ok() || !rest_is_same || others(&before) != others(&now)
    {
        return Err(format!("what stands under `{key}` is written so that nothing can be added"));
    }
    Ok((after, made))
}

/// A file without an entry; the key goes too where it holds nothing more and `key_is_ours`.
pub fn without_entry(
    text: &str,
    key: &str,
    name: &str,
    key_is_ours: bool,
) -> Result<String, String> {
    if entry(text, key, name).is_none() {
        return Ok(text.to_string());
    }
    let (mark, body) = split_mark(text);
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let by_hand = || format!("`{name}` under `{key}` cannot be taken out");
    let top = lines.iter().position(|line| is_key(line, key)).ok_or_else(by_hand)?;
    let below =
        lines[top + 1..].iter().take_while(|line| !is_content(line) || !indent(line).is_empty());
    let end = top + 1 + below.count();
    let at = (top + 1..end).find(|at| is_key(lines[*at].trim_start(), name)).ok_or_else(by_hand)?;
    let depth = indent(lines[at]).len();
    let own = lines[at + 1..end].iter();
    let own = own.take_while(|line| is_content(line) && indent(line).len() > depth).count();
    let mut kept: Vec<&str> = lines.clone();
    kept.drain(at..=at + own);
    let rest = kept[top + 1..end - own - 1].iter();
    if key_is_ours && !rest.clone().any(|line| is_content(line)) {
        kept.remove(top);
    }
    let after = format!("{mark}{}", kept.concat());
    match entry(&after, key, name) {
        None if parsed(&after).is_ok() => Ok(after),
        _ => Err(by_hand()),
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    let (_, body) = split_mark(text);
    let value: Value = serde_yaml::from_str(body).map_err(|err| err.to_string())?;
    match value {
        Value::Null => Ok(Value::Object(Default::default())),
        Value::Object(_) => Ok(value),
        _ => Err("it is no YAML mapping".into()),
    }
}

/// Whether a line opens a key at its very beginning.
fn is_key(line: &str, key: &str) -> bool {
    let quoted = [key.to_string(), format!("\"{key}\""), format!("'{key}'")];
    quoted
        .iter()
        .any(|key| line.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with(':')))
}

fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str =
        r#"{ "cmd": "/opt/my \"tools\"/memtree", "args": ["--store", "/m", "mcp"] }"#;

    #[test]
    fn an_entry_is_one_line_and_leaves_no_trace() {
        for text in [
            "",
            "model: gpt # mine\n",
            "model: gpt",
            "extensions:\n  developer:\n    enabled: true # mine\n    args: []\n\n# the rest\nmodel: gpt\n",
            "extensions:\r\n    developer: { enabled: true }\r\nmodel: gpt\r\n",
            "\u{feff}# head\nextensions:\nmodel: gpt\n",
            "\"extensions\":\n- not: here\n",
        ] {
            let Ok((with, made)) = with_entry(text, "extensions", "memtree", ENTRY) else {
                assert!(text.contains("not: here"), "{text}");
                continue;
            };
            assert_eq!(entry(&with, "extensions", "memtree").unwrap()["args"][2], "mcp", "{with}");
            let back = without_entry(&with, "extensions", "memtree", made).unwrap();
            let joined = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
            assert_eq!(back, format!("{text}{joined}"), "{with}");
        }
        let (with, _) =
            with_entry("extensions: {}\nmodel: x\n", "extensions", "memtree", ENTRY).unwrap();
        assert!(with.starts_with("extensions:\n  memtree: {"), "{with}");
        for text in ["extensions: { a: 1 }\n", "[]\n", "a: [\n", "extensions: text\n"] {
            assert!(with_entry(text, "extensions", "memtree", ENTRY).is_err(), "{text}");
        }
    }

    #[test]
    fn an_entry_that_its_agent_wrote_anew_is_taken_out_whole() {
        let text = "extensions:\n  memtree:\n    cmd: memtree\n    args:\n    - mcp\n  other:\n    enabled: true\nmodel: x\n";
        let back = without_entry(text, "extensions", "memtree", true).unwrap();
        assert_eq!(back, "extensions:\n  other:\n    enabled: true\nmodel: x\n");
    }
}
