//! JSON that somebody else keeps, changed in one place and left alone in all others: comments,
//! order, indentation, line ends and trailing commas stay as they are.
//!
//! The text is parsed only to know where things stand. What changes is cut out or put in as text.
//!
//! The `cst` feature of jsonc-parser cannot do this byte for byte: it breaks an object that stands
//! on one line into several before it appends (`{"a":1}` comes back as three lines), drops blank
//! lines at both ends of a container, and takes the line end before a bracket with the last item.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// How JSON with comments is read: strictly but for these and for commas at the end.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A list or an object: where it stands, and where its items do.
struct Container {
    whole: Range<usize>,
    items: Vec<Range<usize>>,
}

/// Reads a text; the reason why it is not JSON otherwise.
fn root(text: &str) -> Result<Object<'_>, String> {
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|err| err.to_string())?;
    match parsed.value {
        Some(Value::Object(object)) => Ok(object),
        _ => Err("it is no JSON object".into()),
    }
}

/// Refuses a key that stands twice in its object: readers do not agree which of them counts.
fn stands_once(object: &Object, path: &[&str]) -> Result<(), String> {
    let named = object.properties.iter().filter(|other| Some(&other.name.as_str()) == path.last());
    match named.count() {
        0 | 1 => Ok(()),
        _ => Err(format!("`{}` stands there twice", path.join("."))),
    }
}

/// Adds an item to the end of the list that a path of keys leads to. Keys that are missing are
/// added too, at the ends of their objects; how many is returned.
pub fn append(text: &str, path: &[&str], item: &str) -> Result<(String, usize), String> {
    let object = root(text)?;
    let mut here = &object;
    for (depth, key) in path.iter().enumerate() {
        let is_last = depth + 1 == path.len();
        stands_once(here, &path[..=depth])?;
        match here.get(key).map(|property| &property.value) {
            Some(Value::Array(array)) if is_last => {
                return Ok((with_item(text, &of_array(array), item), 0));
            }
            Some(Value::Object(inner)) if !is_last => here = inner,
            Some(_) => {
                return Err(format!("`{}` is not what it should be", path[..=depth].join(".")));
            }
            None => {
                let list = format!("[\n\t{}\n]", item.replace('\n', "\n\t"));
                return insert(text, path, &list);
            }
        }
    }
    Err("the path is empty".into())
}

/// Adds a member to the end of the object that a path of keys leads to; the last key is the
/// member's own, and must not be there yet. Keys that are missing on the way are added too; how
/// many there are of both is returned.
pub fn insert(text: &str, path: &[&str], value: &str) -> Result<(String, usize), String> {
    let object = root(text)?;
    let mut here = &object;
    for (depth, key) in path.iter().enumerate() {
        stands_once(here, &path[..=depth])?;
        match here.get(key).map(|property| &property.value) {
            Some(Value::Object(inner)) if depth + 1 < path.len() => here = inner,
            Some(_) => {
                return Err(format!("`{}` is not what it should be", path[..=depth].join(".")));
            }
            None => {
                let missing = &path[depth + 1..];
                let value = missing.iter().rev().fold(value.to_string(), |value, key| {
                    format!("{{\n\t{}: {}\n}}", quoted(key), value.replace('\n', "\n\t"))
                });
                let member = format!("{}: {value}", quoted(key));
                return Ok((with_item(text, &of_object(here), &member), path.len() - depth));
            }
        }
    }
    Err("the path is empty".into())
}

/// Takes the member that a path of keys leads to out of its object, with what it holds.
pub fn remove_member(text: &str, path: &[&str]) -> Result<String, String> {
    let object = root(text)?;
    let Some((key, above)) = path.split_last() else { return Ok(text.to_string()) };
    let Some(holder) = object_at(&object, above) else { return Ok(text.to_string()) };
    let at = holder.properties.iter().position(|property| property.name.as_str() == *key);
    Ok(at.map_or_else(|| text.to_string(), |at| without_item(text, &of_object(holder), at)))
}

/// Takes items that a test names by their text out of the list that a path leads to or, with a key,
/// out of the lists under that key of each of its items. Returns how many there were, too.
pub fn remove(
    text: &str,
    path: &[&str],
    key: Option<&str>,
    is_it: &dyn Fn(&str) -> bool,
) -> Result<(String, usize), String> {
    let (mut text, mut removed) = (text.to_string(), 0);
    loop {
        let object = root(&text)?;
        let Some(list) = array_at(&object, path) else { return Ok((text, removed)) };
        let lists: Vec<&Array> = match key {
            None => vec![list],
            Some(key) => {
                let items = list.elements.iter();
                items.filter_map(|item| item.as_object()?.get(key)?.value.as_array()).collect()
            }
        };
        let found = lists.into_iter().map(of_array).find_map(|list| {
            let at = list.items.iter().position(|item| is_it(&text[item.clone()]))?;
            Some((list, at))
        });
        let Some((list, at)) = found else { return Ok((text, removed)) };
        text = without_item(&text, &list, at);
        removed += 1;
    }
}

/// What a text of JSON with comments says.
pub fn value(text: &str) -> Option<serde_json::Value> {
    parse_to_ast(text, &CollectOptions::default(), &STRICT).ok()?.value.map(Into::into)
}

/// Takes a key out of an object, with what it holds, if that is an empty list or object.
pub fn remove_if_empty(text: &str, path: &[&str]) -> Result<String, String> {
    let object = root(text)?;
    let Some((key, above)) = path.split_last() else { return Ok(text.to_string()) };
    let Some(holder) = object_at(&object, above) else { return Ok(text.to_string()) };
    let is_empty = match holder.get(key).map(|property| &property.value) {
        Some(Value::Array(array)) => array.elements.is_empty() && bare(text, array.range()),
        Some(Value::Object(object)) => object.properties.is_empty() && bare(text, object.range()),
        _ => false,
    };
    if is_empty { remove_member(text, path) } else { Ok(text.to_string()) }
}

/// Whether an object says nothing at all.
pub fn is_empty(text: &str) -> bool {
    root(text).is_ok_and(|object| object.properties.is_empty() && bare(text, object.range()))
}

fn object_at<'o, 'a>(object: &'o Object<'a>, path: &[&str]) -> Option<&'o Object<'a>> {
    path.iter().try_fold(object, |here, key| here.get(key)?.value.as_object())
}

fn array_at<'o, 'a>(object: &'o Object<'a>, path: &[&str]) -> Option<&'o Array<'a>> {
    let (key, above) = path.split_last()?;
    object_at(object, above)?.get(key)?.value.as_array()
}

fn of_array(array: &Array) -> Container {
    Container {
        whole: span(array.range()),
        items: array.elements.iter().map(|item| span(item.range())).collect(),
    }
}

fn of_object(object: &Object) -> Container {
    Container {
        whole: span(object.range()),
        items: object.properties.iter().map(|item| span(item.range())).collect(),
    }
}

fn span(range: jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}

/// Whether there is nothing but white space between two brackets.
fn bare(text: &str, range: jsonc_parser::common::Range) -> bool {
    text[range.start + 1..range.end - 1].trim().is_empty()
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

// --- Putting in ---

/// The text with an item at the end of a container. The item is given with tabs and line feeds, and
/// takes on the indentation and the line ends of the text.
fn with_item(text: &str, container: &Container, item: &str) -> String {
    let close = container.whole.end - 1;
    let inside = &text[container.whole.start + 1..close];
    // Behind the last item, its comma, and whatever comment follows it.
    let end = container.whole.start + 1 + inside.trim_end().len();
    let many_lines =
        inside.contains('\n') || container.items.is_empty() && text.trim().contains('\n');
    let one_line = !many_lines;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let base = indentation(text, container.whole.start);
    let indent = match container.items.first().filter(|first| is_first_on_line(text, first.start)) {
        Some(first) => indentation(text, first.start).to_string(),
        None => format!("{base}{}", unit(text)),
    };
    let fresh = text.trim() == "{}";
    let (gap, item) = if one_line && !fresh {
        let compact = item.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let tight = container.items.is_empty() && inside.is_empty();
        (if tight { String::new() } else { " ".to_string() }, compact)
    } else {
        let shifted = item.replace('\t', &unit(text)).replace('\n', &format!("{newline}{indent}"));
        (format!("{newline}{indent}"), shifted)
    };
    let mut after = text[end..].to_string();
    if container.items.is_empty() && (!one_line || fresh) && !text[end..close].contains('\n') {
        after = format!("{newline}{base}{}", text[end..].trim_start_matches([' ', '\t']));
    }
    match container.items.last() {
        None => format!("{}{gap}{item}{after}", &text[..end]),
        Some(last) if has_comma(&text[last.end..close]) => {
            format!("{}{gap}{item},{after}", &text[..end])
        }
        Some(last) => format!("{},{}{gap}{item}{after}", &text[..last.end], &text[last.end..end]),
    }
}

/// One step of indentation, as the text has it.
fn unit(text: &str) -> String {
    let indented =
        text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let unit = indented.map(|line| &line[..line.len() - line.trim_start().len()]);
    unit.filter(|unit| unit.len() <= 8).unwrap_or("  ").to_string()
}

/// The white space at the beginning of the line on which a place is.
fn indentation(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map(|newline| newline + 1);
    start.is_some_and(|start| text[start..at].trim().is_empty())
}

/// Whether a comma stands in a gap between items, outside of comments.
fn has_comma(gap: &str) -> bool {
    comma(gap).is_some()
}

fn comma(gap: &str) -> Option<usize> {
    let bytes = gap.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b',', ..] => return Some(at),
            [b'/', b'/', ..] => at += gap[at..].find('\n').unwrap_or(gap.len() - at),
            [b'/', b'*', ..] => at += gap[at..].find("*/").map_or(gap.len() - at, |end| end + 2),
            _ => at += 1,
        }
    }
    None
}

// --- Taking out ---

/// The text without one item, the comma that it needed, and the white space before it.
fn without_item(text: &str, container: &Container, at: usize) -> String {
    let item = &container.items[at];
    let close = container.whole.end - 1;
    let before = at.checked_sub(1).map_or(container.whole.start + 1, |at| container.items[at].end);
    let after = container.items.get(at + 1).map_or(close, |next| next.start);
    // Comments of others stay; so does what stands on the line before it.
    let start = before + text[before..item.start].trim_end().len();
    let own_comma = comma(&text[item.end..after]).map(|at| item.end + at);
    let comma_before =
        if at > 0 { comma(&text[before..item.start]).map(|at| before + at) } else { None };
    let is_last = at + 1 == container.items.len();
    match (own_comma, comma_before) {
        // Its own comma goes with it.
        (Some(own), _) => {
            let between = &text[item.end..own];
            let rest = &text[own + 1..];
            let alone = container.items.len() == 1 && text[before..start].trim().is_empty();
            let rest =
                if alone && text[own + 1..close].trim().is_empty() { &text[close..] } else { rest };
            format!("{}{between}{rest}", &text[..start])
        }
        // The last of several: the one before it needs its comma no more.
        (None, Some(comma)) if is_last => {
            format!(
                "{}{}{}",
                &text[..comma],
                &text[comma + 1..start.max(comma + 1)],
                &text[item.end..]
            )
        }
        _ => {
            let alone = text[before..item.start].trim().is_empty()
                && text[item.end..close].trim().is_empty();
            let rest = if alone { &text[close..] } else { &text[item.end..] };
            format!("{}{rest}", &text[..start])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: &str = "{\n\t\"run\": \"x\"\n}";

    fn ours(item: &str) -> bool {
        item.contains("\"run\"")
    }

    fn items(text: &str) -> Vec<String> {
        let items = value(text).unwrap()["hooks"]["Stop"].as_array().unwrap().clone();
        items.iter().map(ToString::to_string).collect()
    }

    /// Adds an item, takes it out again, and returns what both did.
    fn there_and_back(text: &str) -> (String, String) {
        let (with, created) = append(text, &["hooks", "Stop"], ITEM).unwrap();
        assert_eq!(items(&with).iter().filter(|item| ours(item)).count(), 1, "{with}");
        let (mut back, removed) = remove(&with, &["hooks", "Stop"], None, &ours).unwrap();
        assert_eq!(removed, 1);
        if created >= 1 {
            back = remove_if_empty(&back, &["hooks", "Stop"]).unwrap();
        }
        if created >= 2 {
            back = remove_if_empty(&back, &["hooks"]).unwrap();
        }
        (with, back)
    }

    #[test]
    fn an_item_takes_on_the_style_of_the_text() {
        let (with, back) = there_and_back("{\n    \"model\": \"opus\" // mine\n}");
        assert_eq!(
            with,
            "{\n    \"model\": \"opus\", // mine\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \
             \"run\": \"x\"\n            }\n        ]\n    }\n}"
        );
        assert_eq!(back, "{\n    \"model\": \"opus\" // mine\n}");
        let (with, _) = there_and_back("{\"a\":1}");
        assert_eq!(with, "{\"a\":1, \"hooks\": { \"Stop\": [ { \"run\": \"x\" } ] }}");
    }

    #[test]
    fn what_was_put_in_comes_out_without_a_trace() {
        for text in [
            "{\n  \"a\": 1\n}\n",
            "{\r\n\t\"a\": 1,\r\n\t\"b\": [1, 2]\r\n}\r\n",
            "{\"a\":1}",
            "{ \"a\": 1 }\n",
            "{\n  \"a\": 1, // the last comma stays\n}\n",
            "{\n  // nothing but this\n  \"hooks\": {\n    \"Stop\": [\n      { \"mine\": true } // and this\n    ]\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"Stop\": [{ \"mine\": 1 }, { \"mine\": 2 }],\n    \"Start\": []\n  },\n  \"z\": null\n}",
            "{\n  \"hooks\": { \"Start\": [] }\n}\n",
            "// head\n{\n  \"a\": \"// no comment, {\",\n  /* block */\n  \"b\": {}\n} // tail\n",
        ] {
            let (with, back) = there_and_back(text);
            assert_eq!(back, text, "{with}");
        }
    }

    #[test]
    fn others_stay_whatever_their_place() {
        let text = "{ \"hooks\": { \"Stop\": [ {\"run\": 1}, {\"mine\": 1}, {\"run\": 2} /* c */, {\"mine\": 2}, {\"run\": 3}, ] } }";
        let (left, removed) = remove(text, &["hooks", "Stop"], None, &ours).unwrap();
        assert_eq!((removed, items(&left).len()), (3, 2), "{left}");
        assert!(left.contains("/* c */"), "{left}");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            "[]",
            "{\"a\": }",
            "{\"hooks\": 3}",
            "{\"hooks\": {\"Stop\": {}}}",
            "{'a': 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"hooks\": {}, \"hooks\": {\"Stop\": []}}",
        ] {
            assert!(append(text, &["hooks", "Stop"], ITEM).is_err(), "{text}");
        }
    }
}
