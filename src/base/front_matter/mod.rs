//! Front matter: the `---` block of YAML at the head of a Markdown file, split from its body and
//! joined again.
//!
//! A [`Document`] keeps the text as it was, byte for byte, and knows where its entries lie: an
//! entry is a top-level key with the lines that belong to it. Reading one entry parses that entry
//! alone; changing one rewrites that entry alone. [`scalar`], [`list`] and [`block_list`] are the
//! forms in which we write values.

mod entries;
mod scalars;
mod values;

use serde_yaml::Value;

pub use scalars::{block_list, list, scalar};

use entries::{Entry, Layout, entry_text};
use scalars::flow;
use values::{Simple, careful_list, parse_entry, simple_list, simple_scalar};

/// A Markdown text with or without front matter. Every text is one, and comes out as it went in.
///
/// Where a key stands twice, the first one counts. A block that is never closed is no front matter.
#[derive(Debug, Clone, Default)]
pub struct Document {
    text: String,
    layout: Layout,
}

impl Document {
    /// Finds the front matter and its entries.
    pub fn parse(text: &str) -> Document {
        Document::from(text.to_owned())
    }

    /// Returns the whole text.
    pub fn to_text(&self) -> String {
        self.text.clone()
    }

    /// Returns the whole text without copying it.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Gives the whole text back.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns whether there is a closed `---` block, however empty.
    pub fn has_front_matter(&self) -> bool {
        self.layout.block.is_some()
    }

    /// Returns the top-level keys in their order, those that stand twice twice.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.layout.entries.iter().filter_map(|entry| entry.key(&self.text))
    }

    /// Returns whether there is such a key, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns a value as it is written: what follows the colon, comments and further lines
    /// included.
    pub fn get_raw(&self, key: &str) -> Option<&str> {
        let entry = self.entry(key)?;
        Some(self.text[entry.value.start..entry.end].trim_start_matches([' ', '\t']).trim_end())
    }

    /// Returns a value of any kind; `None` where it is missing or broken.
    pub fn get(&self, key: &str) -> Option<Value> {
        let entry = self.entry(key)?;
        let value = self.single_line(entry).unwrap_or_default().trim_start_matches(' ');
        match simple_scalar(value) {
            // In quotes it is a text in any case.
            Simple::Text(text) if value.starts_with(['"', '\'']) => Some(Value::from(text)),
            _ => parse_entry(&self.text[entry.span()]),
        }
    }

    /// Returns a single value as text, a number or a date just as it is written.
    pub fn get_str(&self, key: &str) -> Option<String> {
        let entry = self.entry(key)?;
        match simple_scalar(self.single_line(entry).unwrap_or("|")) {
            Simple::Text(text) => Some(text.into_owned()),
            Simple::Nothing => None,
            Simple::Unclear => parse_entry::<Option<String>>(&self.text[entry.span()])?,
        }
    }

    /// Returns a list of texts; a single value is a list of one, and a key without a value an empty
    /// one.
    pub fn get_list(&self, key: &str) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let value = &self.text[entry.value.start..entry.end];
        simple_list(value).or_else(|| careful_list(&self.text[entry.span()]))
    }

    /// Sets a value in our canonical form: in its place where the key exists, else at the end.
    ///
    /// Texts that other programs could take for a date are quoted; a real date is set with
    /// [`Document::set_raw`].
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = match value.into() {
            Value::Null => String::new(),
            Value::String(text) => scalar(&text),
            value => flow(&value),
        };
        self.put(key, &value);
    }

    /// Sets a list, one quoted item per line.
    pub fn set_block_list(&mut self, key: &str, items: &[impl AsRef<str>]) {
        match items {
            [] => self.put(key, "[]"),
            _ => self.put(key, &block_list(items)),
        }
    }

    /// Sets a value as it is to be written; returns false, and changes nothing, where that is no
    /// YAML value or would not stay within its entry.
    pub fn set_raw(&mut self, key: &str, raw: &str) -> bool {
        let alone = Document::parse(&format!("---\n{}---\n", entry_text(key, raw, "\n")));
        let stays = alone.body().is_empty() && alone.layout.entries.len() == 1 && alone.has(key);
        // A value that is parsed only in part, as by a lone carriage return, is not one value
        // either.
        let stays = stays && (alone.get(key).is_some() || alone.get_list(key).is_some());
        if stays {
            self.put(key, raw);
        }
        stays
    }

    /// Removes a key, wherever it stands; returns whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        self.remove_all(&[key])
    }

    /// Removes some keys, wherever they stand; returns whether there was any.
    pub fn remove_all(&mut self, keys: &[&str]) -> bool {
        let is_meant = |entry: &&Entry| keys.iter().any(|key| entry.is_named(key, &self.text));
        let spans: Vec<_> = self.layout.entries.iter().filter(is_meant).map(Entry::span).collect();
        for span in spans.iter().rev() {
            self.text.replace_range(span.clone(), "");
        }
        self.layout = Layout::of(&self.text);
        !spans.is_empty()
    }

    /// Leaves every key once: the first of those that `prefer` likes, by key and value as written,
    /// else the first of all. Returns whether any stood twice.
    pub fn remove_duplicates(&mut self, prefer: impl Fn(&str, &str) -> bool) -> bool {
        let raw = |entry: &Entry| self.text[entry.value.start..entry.end].trim().to_string();
        let mut kept: Vec<(&str, usize)> = Vec::new();
        let mut dropped = Vec::new();
        for (at, entry) in self.layout.entries.iter().enumerate() {
            let Some(key) = entry.key(&self.text) else { continue };
            match kept.iter_mut().find(|(known, _)| *known == key) {
                None => kept.push((key, at)),
                Some((_, before)) => {
                    let liked = |at: usize| prefer(key, &raw(&self.layout.entries[at]));
                    if !liked(*before) && liked(at) {
                        dropped.push(std::mem::replace(before, at));
                    } else {
                        dropped.push(at);
                    }
                }
            }
        }
        dropped.sort_unstable();
        let spans: Vec<_> = dropped.iter().map(|at| self.layout.entries[*at].span()).collect();
        for span in spans.iter().rev() {
            self.text.replace_range(span.clone(), "");
        }
        self.layout = Layout::of(&self.text);
        !spans.is_empty()
    }

    /// Returns what follows the front matter.
    pub fn body(&self) -> &str {
        &self.text[self.layout.body..]
    }

    /// Replaces what follows the front matter.
    pub fn set_body(&mut self, body: &str) {
        self.text.truncate(self.layout.body);
        let closed_by_end = self.has_front_matter() && !self.text.ends_with('\n');
        if closed_by_end && !body.is_empty() {
            self.text.push_str(self.layout.newline);
        }
        let start = self.text.len();
        self.text.push_str(body);
        let layout = Layout::of(&self.text);
        if layout.body == start {
            self.layout = layout;
        } else {
            // The body itself looks like front matter; behind a real one it does not.
            self.text.insert_str(start, "---\n---\n");
            self.layout = Layout::of(&self.text);
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.layout.entries.iter().find(|entry| entry.is_named(key, &self.text))
    }

    /// Returns the value of an entry that has one line.
    fn single_line(&self, entry: &Entry) -> Option<&str> {
        (entry.value.end == entry.end).then(|| &self.text[entry.value.clone()])
    }

    fn put(&mut self, key: &str, raw: &str) {
        let newline = self.layout.newline;
        let text = entry_text(key, raw, newline);
        match (self.entry(key).map(Entry::span), &self.layout.block) {
            (Some(span), _) => self.text.replace_range(span, &text),
            (None, Some(block)) => self.text.insert_str(block.end, &text),
            (None, None) => {
                self.text.insert_str(self.layout.body, &format!("---{newline}{text}---{newline}"));
            }
        }
        self.layout = Layout::of(&self.text);
    }
}

impl From<String> for Document {
    fn from(text: String) -> Document {
        Document { layout: Layout::of(&text), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) const PAGE: &str = "---\n# about\nschema: memtree/digest/1\n\ntitle: Make it safe  # for two\n\"quoted key\": 1\n\
        tags: [a, \"b, c\"]\nitems:\n- one\n- two\n\nnested:\n  deep: [1]\n\n  # within\n  more: x\ntext: |\n  a\n\n  b: c\n\
        broken: [\nversion: 1.0\ntitle: again\nempty:\n# last\n---\n# Body\n";

    /// Texts full of what means something to YAML.
    pub(super) fn yamlish() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-c]{1,3}".prop_map(String::from),
            8 => prop::sample::select(vec![
                "---", "...", "\n", "\r\n", "\r", " ", "  ", "\t", ": ", ":", "- ", "-", "#", " # ", "[", "]", "{", "}", ",", ", ",
                "\"", "'", "\\", "\\n", "&a ", "*a", "!t ", "|", ">", "?", "%", "@", "`", "~", "null", "true", "1.0", "010", "yes",
                "k: ", "k:\n", "k:\n  - ", "\n- ", "\u{feff}", "\u{2028}", "\u{85}", "\u{a0}", "é", "👍", "\0", "=", "<<", "2026-01-01",
            ]).prop_map(String::from),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    #[test]
    fn sets_in_place_or_at_the_end() {
        let check = |before: &str, change: &dyn Fn(&mut Document), after: &str| {
            let mut document = Document::parse(before);
            change(&mut document);
            assert_eq!(document.to_text(), after);
        };
        check(
            "---\na: 1\nb:\n  - x\nc: 3\n---\nB",
            &|page| page.set("b", "new"),
            "---\na: 1\nb: new\nc: 3\n---\nB",
        );
        check(
            "---\na: 1\n# end\n---\nB",
            &|page| page.set("b", "x: y"),
            "---\na: 1\n# end\nb: \"x: y\"\n---\nB",
        );
        check("B", &|page| page.set("a", 1), "---\na: 1\n---\nB");
        check(
            "\u{feff}B\r\n",
            &|page| page.set("a", true),
            "\u{feff}---\r\na: true\r\n---\r\nB\r\n",
        );
        check(
            "---\r\na: 1\r\n---\r\n",
            &|page| page.set_block_list("a", &["x", "y"]),
            "---\r\na:\r\n  - \"x\"\r\n  - \"y\"\r\n---\r\n",
        );
        check("---\n---", &|page| page.set("a", vec!["x", "y, z"]), "---\na: [x, \"y, z\"]\n---");
        check("---\na: 1\n---\n", &|page| page.set("a", Value::Null), "---\na:\n---\n");
        check("---\na: 1\n---\n", &|page| page.set_block_list("a", &[""; 0]), "---\na: []\n---\n");
        check(
            "---\na: 1\nb: 2\na: 3\n---\n",
            &|page| assert!(page.remove("a")),
            "---\nb: 2\n---\n",
        );
        check("---\na: 1\n---\n", &|page| assert!(!page.remove("b")), "---\na: 1\n---\n");
        check("---\na: 1\n---", &|page| page.set_body("B"), "---\na: 1\n---\nB");
        check("---\na: 1\n---\nold", &|page| page.set_body(""), "---\na: 1\n---\n");
        check("old", &|page| page.set_body("---\na: 1\n---\n"), "---\n---\n---\na: 1\n---\n");
        check("B", &|page| page.set("a: b\n", 1), "---\n\"a: b\\n\": 1\n---\nB");
        check(
            "B",
            &|page| assert!(page.set_raw("started", "2026-11-15T13:40:10Z")),
            "---\nstarted: 2026-11-15T13:40:10Z\n---\nB",
        );
        check(
            "---\na: 1\n---\n",
            &|page| assert!(page.set_raw("a", "|\n  x\n")),
            "---\na: |\n  x\n---\n",
        );
        for breaking_out in ["x\nb: 2", "x\n---\n", "[", "\"", "x\rb: 2", "x: y", "# c\nb: 1"] {
            check(
                "---\na: 1\n---\n",
                &|page| assert!(!page.set_raw("a", breaking_out)),
                "---\na: 1\n---\n",
            );
        }
    }

    #[test]
    fn escaped_keys_are_found_again() {
        let mut page = Document::default();
        for key in
            ["tab\there", "tab\t", "tab\there too", "quote\"d", "back\\slash", "", "plain", "- x"]
        {
            page.set(key, 1);
            page.set(key, 2);
            assert_eq!(page.get_str(key).as_deref(), Some("2"), "{key:?} in {}", page.as_text());
        }
        assert_eq!(page.keys().count(), 8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn edits_touch_nothing_else(inner in yamlish(), value in yamlish(), body in yamlish()) {
            let mut page = Document::parse(&format!("---\nfirst: 1\n{inner}\nlast: 2\n---\nbody"));
            let others = |page: &Document| -> Vec<String> {
                let text = |entry: &Entry| page.text[entry.span()].to_owned();
                page.layout.entries.iter().filter(|entry| entry.key(&page.text) != Some("new")).map(text).collect()
            };
            let (before, rest) = (others(&page), page.body().to_owned());
            page.set("new", value.as_str());
            prop_assert_eq!(page.get_str("new"), Some(value.clone()));
            prop_assert_eq!(others(&page), before.clone());
            page.set("new", vec![value.as_str(), "x"]);
            prop_assert_eq!(page.get_list("new"), Some(vec![value.clone(), "x".to_owned()]));
            page.set_block_list("new", &[value.as_str(), "x"]);
            prop_assert_eq!(page.get_list("new"), Some(vec![value.clone(), "x".to_owned()]));
            prop_assert_eq!(others(&page), before.clone());
            page.set_raw("new", &value);
            prop_assert_eq!(others(&page), before.clone());
            prop_assert_eq!(page.body(), rest);
            page.set_body(&body);
            prop_assert_eq!(page.body(), body);
            prop_assert!(page.remove("new"));
            prop_assert_eq!(others(&page), before);
        }

        #[test]
        fn a_body_is_kept_by_any_document(text in yamlish(), body in yamlish()) {
            let mut page = Document::parse(&text);
            page.set_body(&body);
            prop_assert_eq!(page.body(), body);
            prop_assert_eq!(Document::parse(page.as_text()).layout.body, page.layout.body);
        }
    }
}
