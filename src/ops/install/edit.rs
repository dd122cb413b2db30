//! Our hooks in the text of an agent's settings: put in and taken out, everything else left as it
//! is.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use crate::adapters::hooks::{HookEvent, HookSpec, Shape, before_tools};
use crate::base::jsonc;
use crate::base::shell;

/// The key of most agents' settings under which their hooks are, and within a group.
pub const HOOKS: &str = "hooks";
/// Our own name, where an agent wants hooks to have one.
const OWN_NAME: &str = "memtree";

/// What is written: which program, for which memory, for which agent.
#[derive(Debug, Clone, Copy)]
pub struct Wiring<'a> {
    pub spec: &'a HookSpec,
    /// The absolute path of this program.
    pub program: &'a str,
    /// The absolute path of the memory.
    pub store: &'a str,
}

impl Wiring<'_> {
    /// A line for the shell. Some agents know no `args`, run the bare program instead, and take its
    /// complaint for a no to the prompt. The line is the same in every version of ours: Codex asks
    /// again for trust when it changes.
    pub fn command(&self, event: &HookEvent) -> String {
        let agent = self.spec.agent;
        let words = [self.program, "--store", self.store, "hook", agent, event.name];
        words.map(shell_word).join(" ")
    }

    /// What is added to an event's list, as JSON on one line, as a person would write it.
    fn item(&self, event: &HookEvent) -> String {
        let command = Value::from(self.command(event));
        let timeout = event.timeout;
        match self.spec.shape {
            Shape::Groups { .. } | Shape::BareGroups => {
                let milliseconds = self.spec.shape == Shape::Groups { milliseconds: true };
                let timeout = if milliseconds { timeout * 1000 } else { timeout };
                let matcher = event.matcher.map(|tools| format!(r#""matcher": "{tools}", "#));
                let matcher = matcher.unwrap_or_default();
                format!(
                    r#"{{ {matcher}"hooks": [{{ "type": "command", "command": {command}, "timeout": {timeout} }}] }}"#
                )
            }
            Shape::Handlers { typed: false, timeout: key } => {
                format!(r#"{{ "command": {command}, "{key}": {timeout} }}"#)
            }
            Shape::Handlers { typed: true, timeout: key } => {
                format!(r#"{{ "type": "command", "command": {command}, "{key}": {timeout} }}"#)
            }
            Shape::Named | Shape::Plugin(_) => {
                format!(r#"{{ "type": "command", "command": {command}, "timeout": {timeout} }}"#)
            }
        }
    }

    /// Whether a text already has all our hooks, just as we would write them.
    pub fn is_in(&self, text: &str) -> bool {
        let Some(settings) = jsonc::value(split_mark(text).1) else { return false };
        let wanted = |event: &HookEvent| {
            let item = jsonc::value(&self.item(event)).unwrap_or_default();
            if is_grouped(self.spec) { item[HOOKS][0].clone() } else { item }
        };
        self.spec
            .events
            .iter()
            .all(|event| ours_at(&settings, event.name, self.spec) == [&wanted(event)])
            && self.spec.former.iter().all(|event| ours_at(&settings, event, self.spec).is_empty())
    }
}

/// The key under which an agent has its hooks, where they have one.
fn top_key(spec: &HookSpec) -> Option<&'static str> {
    match spec.shape {
        Shape::Named => Some(OWN_NAME),
        Shape::BareGroups => None,
        _ => Some(HOOKS),
    }
}

/// The keys that lead to the hooks of an event.
fn path<'e>(spec: &HookSpec, event: &'e str) -> Vec<&'e str> {
    top_key(spec).into_iter().chain([event]).collect()
}

fn is_grouped(spec: &HookSpec) -> bool {
    matches!(spec.shape, Shape::Groups { .. } | Shape::BareGroups)
}

/// What a file with hooks has to say where there was none.
pub fn fresh(spec: &HookSpec) -> &'static str {
    match spec.shape {
        Shape::Handlers { .. } => "{\n  \"version\": 1\n}\n",
        _ => "{}\n",
    }
}

/// Our hooks at an event.
fn ours_at<'s>(settings: &'s Value, event: &str, spec: &HookSpec) -> Vec<&'s Value> {
    let list = |value: &'s Value| value.as_array().map(Vec::as_slice).unwrap_or_default();
    let hooks = path(spec, event).into_iter().fold(settings, |value, key| &value[key]);
    let items = list(hooks).iter();
    let handlers: Vec<&Value> = match is_grouped(spec) {
        true => items.flat_map(|group| list(&group[HOOKS])).collect(),
        false => items.collect(),
    };
    handlers.into_iter().filter(|handler| is_ours(handler, spec.agent)).collect()
}

/// Whether settings have any hook of ours.
pub fn has_hooks(text: &str, spec: &HookSpec) -> bool {
    let Some(settings) = jsonc::value(split_mark(text).1) else { return false };
    let names = spec.events.iter().map(|event| event.name).chain(spec.former.iter().copied());
    names.into_iter().any(|event| !ours_at(&settings, event, spec).is_empty())
}

/// Where each of our hooks stands: its event, the number of its group, and of itself in that.
pub fn places_of_ours(
    settings: &Value,
    spec: &HookSpec,
) -> Vec<(&'static str, usize, usize, Value)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut places = Vec::new();
    let mut all: Vec<&'static str> = spec.events.iter().map(|event| event.name).collect();
    all.extend(before_tools::names(spec.agent));
    all.dedup();
    for event in all {
        for (group, item) in list(&settings[HOOKS][event]).iter().enumerate() {
            for (at, handler) in list(&item[HOOKS]).into_iter().enumerate() {
                if is_ours(&handler, spec.agent) {
                    places.push((event, group, at, handler));
                }
            }
        }
    }
    places
}

/// Whether settings have hooks of ours that do harm: as a program with `args`, which some agents
/// leave out, or at an event for which some drop the whole file.
pub fn has_harmful_hooks(text: &str, spec: &HookSpec) -> bool {
    let Some(settings) = jsonc::value(split_mark(text).1) else { return false };
    let is_program = |hook: &&Value| hook.get("args").is_some();
    spec.events.iter().any(|event| ours_at(&settings, event.name, spec).iter().any(is_program))
        || spec.former.iter().any(|event| !ours_at(&settings, event, spec).is_empty())
}

/// A word as a shell reads it back: in quotes where it needs them.
fn shell_word(word: &str) -> String {
    if !cfg!(windows) {
        return shell::word(word, shell::WORDS);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=\\".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("\"{word}\""),
    }
}

/// Tells a hook of ours, whichever memory and copy of the program it is for.
fn is_ours(handler: &Value, agent: &str) -> bool {
    let Some(command) = handler["command"].as_str() else { return false };
    match handler["args"].as_array() {
        Some(arguments) => {
            let is_memtree = Path::new(command).file_stem().is_some_and(|stem| stem == "memtree");
            let call = |words: &[Value]| words[0] == "hook" && words[1] == agent;
            is_memtree && arguments.windows(2).any(call)
        }
        None => {
            let names_memory = command.contains("memtree") || command.contains(" --store ");
            names_memory && command.contains(&format!(" hook {agent} "))
        }
    }
}

/// Settings with our hooks, and the keys that had to be made for them, the outer before the inner.
pub fn with_hooks(text: &str, wiring: &Wiring) -> Result<(String, Vec<String>), String> {
    let (mark, text) = split_mark(text);
    let top = top_key(wiring.spec);
    let mut text: Cow<str> =
        if text.trim().is_empty() { fresh(wiring.spec).into() } else { text.into() };
    let mut created = Vec::new();
    for event in wiring.spec.events {
        let path = path(wiring.spec, event.name);
        let (next, made) = jsonc::append(&text, &path, &wiring.item(event))?;
        if made == 2 {
            created.extend(top.map(str::to_string));
        }
        if made > 0 {
            created.push(event.name.to_string());
        }
        text = next.into();
    }
    Ok((format!("{mark}{text}"), created))
}

/// Settings without our hooks. Keys that hold nothing any more go too, if they are ours: those in
/// `created`, or all where it is not known.
pub fn without_hooks(
    text: &str,
    spec: &HookSpec,
    created: Option<&[String]>,
) -> Result<String, String> {
    let (mark, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let is_ours = |item: &str| is_ours(&jsonc::value(item).unwrap_or_default(), spec.agent);
    let only_ours = |item: &str| {
        let group = jsonc::value(item).unwrap_or_default();
        let handlers = group[HOOKS].as_array().map(Vec::as_slice).unwrap_or_default();
        !handlers.is_empty() && handlers.iter().all(|handler| self::is_ours(handler, spec.agent))
    };
    let made = |key: &str| created.is_none_or(|created| created.iter().any(|made| made == key));
    let top = top_key(spec);
    let (mut text, mut any) = (text.to_string(), false);
    let mut events: Vec<&str> = spec.events.iter().map(|event| event.name).collect();
    events.extend(spec.former.iter().copied().chain(before_tools::names(spec.agent)));
    for event in events {
        let path = path(spec, event);
        let (next, removed) = match is_grouped(spec) {
            true => {
                let (next, removed) = jsonc::remove(&text, &path, None, &only_ours)?;
                (jsonc::remove(&next, &path, Some(HOOKS), &is_ours)?.0, removed)
            }
            false => jsonc::remove(&text, &path, None, &is_ours)?,
        };
        any |= removed > 0;
        text =
            if removed > 0 && made(event) { jsonc::remove_if_empty(&next, &path)? } else { next };
    }
    if let Some(top) = top.filter(|top| any && made(top)) {
        text = jsonc::remove_if_empty(&text, &[top])?;
    }
    Ok(format!("{mark}{text}"))
}

/// Whether a file says nothing but what a new one says before our hooks are in it.
pub fn is_fresh(text: &str, spec: &HookSpec) -> bool {
    jsonc::is_empty(text) || split_mark(text).1.trim() == fresh(spec).trim()
}

/// The mark that some editors put before a text, and the text.
pub fn split_mark(text: &str) -> (&str, &str) {
    const MARK: &str = "\u{feff}";
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::hooks::{CLAUDE, CODEX};
    use proptest::prelude::*;

    fn wiring(spec: &HookSpec) -> Wiring<'_> {
        Wiring { spec, program: "/opt/my tools/memtree", store: "/home/dev/it's memory" }
    }

    #[test]
    fn a_hook_is_one_line_for_the_shell() {
        let (text, created) = with_hooks("", &wiring(&CLAUDE)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let handler = &value["hooks"]["SessionStart"][0]["hooks"][0];
        let line =
            "'/opt/my tools/memtree' --store '/home/dev/it'\\''s memory' hook claude SessionStart";
        assert_eq!(handler["command"], line);
        assert!(handler.get("args").is_none() && value["hooks"].get("PostCompact").is_none());
        assert_eq!((created.len(), created[0].as_str()), (6, "hooks"));
        assert!(wiring(&CLAUDE).is_in(&text));
        let (text, _) = with_hooks("{}", &wiring(&CODEX)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let handler = &value["hooks"]["SessionEnd"][0]["hooks"][0];
        let line =
            "'/opt/my tools/memtree' --store '/home/dev/it'\\''s memory' hook codex SessionEnd";
        assert_eq!(
            (handler["command"].as_str(), handler["timeout"].as_u64()),
            (Some(line), Some(3))
        );
        assert!(handler.get("args").is_none());
    }

    #[test]
    fn what_the_first_version_wrote_is_replaced() {
        let wiring = wiring(&CLAUDE);
        let hook = |event: &str| {
            format!(
                r#""{event}": [{{ "hooks": [{{ "type": "command", "command": "/usr/bin/memtree", "args": ["--store", "/m", "hook", "claude", "{event}"], "timeout": 10 }}] }}]"#
            )
        };
        let first = format!("{{ \"hooks\": {{ {}, {} }} }}\n", hook("Stop"), hook("PostCompact"));
        assert!(has_harmful_hooks(&first, &CLAUDE) && !wiring.is_in(&first));
        let base = without_hooks(&first, &CLAUDE, None).unwrap();
        assert!(!base.contains("memtree"), "{base}");
        let (with, _) = with_hooks(&base, &wiring).unwrap();
        assert!(!has_harmful_hooks(&with, &CLAUDE) && wiring.is_in(&with), "{with}");
        // The same events as they should be, and one too many.
        let (ours, _) =
            with_hooks(&format!("{{ \"hooks\": {{ {} }} }}", hook("PostCompact")), &wiring)
                .unwrap();
        assert!(!wiring.is_in(&ours), "{ours}");
    }

    #[test]
    fn a_handler_that_a_person_put_beside_ours_stays() {
        let wiring = wiring(&CLAUDE);
        let (text, created) = with_hooks("{\n  \"model\": \"opus\"\n}\n", &wiring).unwrap();
        let mine = "{ \"type\": \"command\", \"command\": \"say done\" }";
        let at = text.find("\"Stop\"").unwrap()
            + text[text.find("\"Stop\"").unwrap()..].find("\"hooks\": [").unwrap()
            + 10;
        let edited = format!("{}{mine}, {}", &text[..at], &text[at..]);
        let back = without_hooks(&edited, &CLAUDE, Some(&created)).unwrap();
        let value: Value =
            serde_json::from_str(&back).unwrap_or_else(|err| panic!("{err}: {back}"));
        assert_eq!(value["hooks"].as_object().unwrap().len(), 1, "{back}");
        assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
        assert!(!back.contains("memtree") && back.contains("\"model\": \"opus\""), "{back}");
    }

    /// Settings as people write them: any values, any indentation, comments, commas, line ends.
    fn settings() -> impl Strategy<Value = String> {
        let key = "[a-z]{1,6}";
        let leaf = prop_oneof![
            Just("true".to_string()),
            Just("null".to_string()),
            "[0-9]{1,3}".prop_filter("no leading zero", |n| n == "0" || !n.starts_with('0')),
            "\"[a-z ,{}\\[\\]/]{0,12}\"",
            Just("[]".to_string()),
            Just("{}".to_string()),
            Just("{ \"hooks\": [1, 2] }".to_string()),
        ];
        let events = proptest::collection::vec(
            (
                proptest::sample::select(vec!["SessionStart", "Stop", "PreToolUse", "SessionEnd"]),
                proptest::collection::vec(
                    Just(
                        "{ \"matcher\": \"x\", \"hooks\": [{ \"command\": \"mine\" }] }"
                            .to_string(),
                    ),
                    0..3,
                ),
            ),
            0..4,
        );
        let members = proptest::collection::vec((key, leaf), 0..4);
        let style = (
            proptest::sample::select(vec!["", "  ", "    ", "\t"]),
            proptest::sample::select(vec!["\n", "\r\n"]),
            any::<bool>(),
            proptest::sample::select(vec!["", " // c", " /* , */"]),
            proptest::sample::select(vec!["", "\n", "\r\n"]),
            any::<bool>(),
            any::<bool>(),
        );
        (members, proptest::option::of(events), style).prop_map(|(members, events, style)| {
            let (unit, newline, trailing, comment, end, mark, flat) = style;
            let (unit, newline, comment) =
                if flat { ("", " ", "") } else { (unit, newline, comment) };
            let list = |items: Vec<String>, depth: usize, open: char, close: char| {
                if items.is_empty() {
                    return format!("{open}{close}");
                }
                let lead = format!("{newline}{}", unit.repeat(depth + 1));
                let count = items.len();
                let mut text = String::from(open);
                for (at, item) in items.into_iter().enumerate() {
                    let comma = if at + 1 < count || trailing { "," } else { "" };
                    text.push_str(&format!("{lead}{item}{comma}{comment}"));
                }
                format!("{text}{newline}{}{close}", unit.repeat(depth))
            };
            let mut all: Vec<String> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            for (key, value) in members {
                if seen.insert(key.clone()) {
                    all.push(format!("\"{key}\": {value}"));
                }
            }
            if let Some(events) = events {
                let mut seen = std::collections::HashSet::new();
                let events = events.into_iter().filter(|(name, _)| seen.insert(*name));
                let events = events
                    .map(|(name, groups)| format!("\"{name}\": {}", list(groups, 2, '[', ']')))
                    .collect();
                let at = all.len() / 2;
                all.insert(at, format!("\"hooks\": {}", list(events, 1, '{', '}')));
            }
            format!("{}{}{end}", if mark { "\u{feff}" } else { "" }, list(all, 0, '{', '}'))
        })
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out_again(text in settings()) {
            let wiring = wiring(&CLAUDE);
            let (with, created) = with_hooks(&text, &wiring).unwrap();
            prop_assert!(wiring.is_in(split_mark(&with).1), "{with}");
            let back = without_hooks(&with, &CLAUDE, Some(&created)).unwrap();
            prop_assert_eq!(&back, &text, "{}", with);
            // Nothing of anybody else's is touched, even if nobody remembers what we made.
            let other = without_hooks(&text, &CLAUDE, None).unwrap();
            prop_assert_eq!(&other, &text);
        }
    }
}
