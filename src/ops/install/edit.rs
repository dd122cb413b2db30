//! Our hooks in the text of an agent's settings: put in and taken out, everything else left as it
//! is.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::adapters::hooks::{HookEvent, HookSpec};
use crate::base::jsonc;

/// The key of an agent's settings under which its hooks are.
const HOOKS: &str = "hooks";
/// What our part of a TOML file stands between. The second one says that the file had no line end
/// there.
const BEGIN: &str = "# >>> memtree: written by `memtree install`, removed by `memtree uninstall`";
const BEGIN_JOINED: &str = "# >>> memtree: written by `memtree install`, removed by `memtree uninstall` with this line's start";
const END: &str = "# <<< memtree";

/// What is written: which program, for which memory, for which agent.
#[derive(Debug, Clone, Copy)]
pub struct Wiring<'a> {
    pub agent: &'a str,
    pub spec: &'a HookSpec,
    /// The absolute path of this program.
    pub program: &'a str,
    /// The absolute path of the memory.
    pub store: &'a str,
}

/// An agent's hook as its settings have it.
#[derive(Serialize)]
struct Handler {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    timeout: u32,
}

#[derive(Serialize)]
struct Group {
    hooks: [Handler; 1],
}

impl Wiring<'_> {
    fn handler(&self, event: &HookEvent) -> Handler {
        // A line for the shell. Some agents know no `args`, run the bare program instead, and take
        // its complaint for a no to the prompt.
        let words = [self.program, "--store", self.store, "hook", self.agent, event.name];
        let command = words.map(shell_word).join(" ");
        Handler { kind: "command", command, timeout: event.timeout }
    }

    /// Whether a text already has all our hooks, just as we would write them.
    pub fn is_in(&self, text: &str) -> bool {
        let Some(settings) = jsonc::value(text) else { return false };
        self.spec.events.iter().all(|event| {
            let wanted = serde_json::to_value(self.handler(event)).unwrap_or_default();
            ours_at(&settings, event.name, self.agent) == [&wanted]
        }) && self.spec.former.iter().all(|event| ours_at(&settings, event, self.agent).is_empty())
    }
}

/// Our hooks at an event.
fn ours_at<'s>(settings: &'s Value, event: &str, agent: &str) -> Vec<&'s Value> {
    let groups = settings[HOOKS][event].as_array().map(Vec::as_slice).unwrap_or_default();
    let handlers = groups.iter().filter_map(|group| group["hooks"].as_array()).flatten();
    handlers.filter(|handler| is_ours(handler, agent)).collect()
}

/// Whether settings have hooks of ours that do harm: as a program with `args`, which some agents
/// leave out, or at an event for which some drop the whole file.
pub fn has_harmful_hooks(text: &str, agent: &str, spec: &HookSpec) -> bool {
    let Some(settings) = jsonc::value(split_mark(text).1) else { return false };
    let is_program = |hook: &&Value| hook.get("args").is_some();
    spec.events.iter().any(|event| ours_at(&settings, event.name, agent).iter().any(is_program))
        || spec.former.iter().any(|event| !ours_at(&settings, event, agent).is_empty())
}

/// A word as a shell reads it back: in quotes where it needs them.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=\\".contains(c);
    if !word.is_empty() && word.chars().all(plain) && (cfg!(windows) || !word.contains('\\')) {
        word.to_string()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
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
        None => command.contains("memtree") && command.contains(&format!(" hook {agent} ")),
    }
}

/// Settings with our hooks, and the keys that had to be made for them, the outer before the inner.
pub fn with_hooks(text: &str, wiring: &Wiring) -> Result<(String, Vec<String>), String> {
    let (mark, text) = split_mark(text);
    let mut text: Cow<str> = if text.trim().is_empty() { "{}\n".into() } else { text.into() };
    let mut created = Vec::new();
    for event in wiring.spec.events {
        let group = Group { hooks: [wiring.handler(event)] };
        let (next, made) = jsonc::append(&text, &[HOOKS, event.name], &on_one_line(&group))?;
        if made == 2 {
            created.push(HOOKS.to_string());
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
    agent: &str,
    spec: &HookSpec,
    created: Option<&[String]>,
) -> Result<String, String> {
    let (mark, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let is_ours = |item: &str| jsonc::value(item).is_some_and(|handler| is_ours(&handler, agent));
    let only_ours = |item: &str| {
        let group = jsonc::value(item).unwrap_or_default();
        let handlers = group["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        !handlers.is_empty() && handlers.iter().all(|handler| self::is_ours(handler, agent))
    };
    let made = |key: &str| created.is_none_or(|created| created.iter().any(|made| made == key));
    let (mut text, mut any) = (text.to_string(), false);
    for event in spec.events.iter().map(|event| event.name).chain(spec.former.iter().copied()) {
        let path = [HOOKS, event];
        let (next, removed) = jsonc::remove(&text, &path, None, &only_ours)?;
        let (next, _) = jsonc::remove(&next, &path, Some(HOOKS), &is_ours)?;
        any |= removed > 0;
        text =
            if removed > 0 && made(event) { jsonc::remove_if_empty(&next, &path)? } else { next };
    }
    if any && made(HOOKS) {
        text = jsonc::remove_if_empty(&text, &[HOOKS])?;
    }
    Ok(format!("{mark}{text}"))
}

/// The mark that some editors put before a text, and the text.
fn split_mark(text: &str) -> (&str, &str) {
    const MARK: &str = "\u{feff}";
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}

/// A hook on one line, as a person would write it: the settings stay short.
fn on_one_line(group: &Group) -> String {
    let members = group.hooks.iter().map(|handler| {
        let command = Value::from(handler.command.as_str());
        format!(
            "{{ \"type\": \"{}\", \"command\": {command}, \"timeout\": {} }}",
            handler.kind, handler.timeout
        )
    });
    format!("{{ \"hooks\": [{}] }}", members.collect::<Vec<_>>().join(", "))
}

// --- TOML ---

/// Whether a TOML file holds hooks: then ours belong there too.
pub fn toml_has_hooks(text: &str) -> bool {
    let (_, text) = split_mark(text);
    let table = text.parse::<toml::Table>().ok();
    table
        .and_then(|table| table.get(HOOKS)?.as_table().map(|hooks| !hooks.is_empty()))
        .unwrap_or(false)
}

/// A TOML file with our hooks in a part of their own at its end; an error where they cannot stand
/// there.
pub fn toml_with_hooks(text: &str, wiring: &Wiring) -> Result<String, String> {
    #[derive(Serialize)]
    struct File<'a> {
        hooks: std::collections::BTreeMap<&'a str, [Group; 1]>,
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut part = String::new();
    for event in wiring.spec.events {
        let one = File { hooks: [(event.name, [Group { hooks: [wiring.handler(event)] }])].into() };
        part.push_str(&toml::to_string(&one).map_err(|err| err.to_string())?);
    }
    let joined = !text.is_empty() && !text.ends_with('\n');
    let begin = if joined { BEGIN_JOINED } else { BEGIN };
    let part = format!("{}{begin}\n{}\n{END}\n", if joined { "\n" } else { "" }, part.trim_end());
    let whole = format!("{text}{}", part.replace('\n', newline));
    // A list that is written in one line cannot be added to from elsewhere.
    split_mark(&whole).1.parse::<toml::Table>().map_err(|err| err.message().to_string())?;
    Ok(whole)
}

/// A TOML file without our part of it.
pub fn toml_without_hooks(text: &str) -> String {
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
    use crate::adapters::hooks::{CLAUDE, CODEX};
    use proptest::prelude::*;

    fn wiring<'a>(spec: &'a HookSpec, agent: &'a str) -> Wiring<'a> {
        Wiring { agent, spec, program: "/opt/my tools/memtree", store: "/home/dev/it's memory" }
    }

    #[test]
    fn a_hook_is_one_line_for_the_shell() {
        let (text, created) = with_hooks("", &wiring(&CLAUDE, "claude")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let handler = &value["hooks"]["SessionStart"][0]["hooks"][0];
        let line =
            "'/opt/my tools/memtree' --store '/home/dev/it'\\''s memory' hook claude SessionStart";
        assert_eq!(handler["command"], line);
        assert!(handler.get("args").is_none() && value["hooks"].get("PostCompact").is_none());
        assert_eq!((created.len(), created[0].as_str()), (6, "hooks"));
        assert!(wiring(&CLAUDE, "claude").is_in(&text));
        let (text, _) = with_hooks("{}", &wiring(&CODEX, "codex")).unwrap();
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
        let wiring = wiring(&CLAUDE, "claude");
        let hook = |event: &str| {
            format!(
                r#""{event}": [{{ "hooks": [{{ "type": "command", "command": "/usr/bin/memtree", "args": ["--store", "/m", "hook", "claude", "{event}"], "timeout": 10 }}] }}]"#
            )
        };
        let first = format!("{{ \"hooks\": {{ {}, {} }} }}\n", hook("Stop"), hook("PostCompact"));
        assert!(has_harmful_hooks(&first, "claude", &CLAUDE) && !wiring.is_in(&first));
        let base = without_hooks(&first, "claude", &CLAUDE, None).unwrap();
        assert!(!base.contains("memtree"), "{base}");
        let (with, _) = with_hooks(&base, &wiring).unwrap();
        assert!(!has_harmful_hooks(&with, "claude", &CLAUDE) && wiring.is_in(&with), "{with}");
        // The same events as they should be, and one too many.
        let (ours, _) =
            with_hooks(&format!("{{ \"hooks\": {{ {} }} }}", hook("PostCompact")), &wiring)
                .unwrap();
        assert!(!wiring.is_in(&ours), "{ours}");
    }

    #[test]
    fn a_handler_that_a_person_put_beside_ours_stays() {
        let wiring = wiring(&CLAUDE, "claude");
        let (text, created) = with_hooks("{\n  \"model\": \"opus\"\n}\n", &wiring).unwrap();
        let mine = "{ \"type\": \"command\", \"command\": \"say done\" }";
        let at = text.find("\"Stop\"").unwrap()
            + text[text.find("\"Stop\"").unwrap()..].find("\"hooks\": [").unwrap()
            + 10;
        let edited = format!("{}{mine}, {}", &text[..at], &text[at..]);
        let back = without_hooks(&edited, "claude", &CLAUDE, Some(&created)).unwrap();
        let value: Value =
            serde_json::from_str(&back).unwrap_or_else(|err| panic!("{err}: {back}"));
        assert_eq!(value["hooks"].as_object().unwrap().len(), 1, "{back}");
        assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
        assert!(!back.contains("memtree") && back.contains("\"model\": \"opus\""), "{back}");
    }

    #[test]
    fn toml_gets_a_part_of_its_own() {
        let wiring = wiring(&CODEX, "codex");
        for text in [
            "model = \"gpt-5.5\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n",
            "[[hooks.Stop]]\r\nhooks = [{ type = \"command\", command = \"x\" }] # mine\r\n",
            "[hooks.state]\na = 1",
            "",
        ] {
            let with = toml_with_hooks(text, &wiring).unwrap();
            let table: toml::Table = with.parse().unwrap();
            let last = table["hooks"]["Stop"].as_array().unwrap().last().unwrap();
            assert!(
                last["hooks"][0]["command"].as_str().unwrap().ends_with("hook codex Stop"),
                "{with}"
            );
            assert_eq!(toml_without_hooks(&with), text);
            let edited =
                with.replace("model = \"gpt-5.5\"", "model = \"other\"") + "\n[mine]\nx = 1\n";
            assert!(edited.contains("memtree"));
            assert!(!toml_without_hooks(&edited).contains("memtree"));
        }
        assert!(toml_with_hooks("hooks = { Stop = [] }\n", &wiring).is_err());
        assert!(
            toml_has_hooks("[hooks.x]\na=1")
                && !toml_has_hooks("[hooks]\n")
                && !toml_has_hooks("model = 1")
        );
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
            let wiring = wiring(&CLAUDE, "claude");
            let (with, created) = with_hooks(&text, &wiring).unwrap();
            prop_assert!(wiring.is_in(split_mark(&with).1), "{with}");
            let back = without_hooks(&with, "claude", &CLAUDE, Some(&created)).unwrap();
            prop_assert_eq!(&back, &text, "{}", with);
            // Nothing of anybody else's is touched, even if nobody remembers what we made.
            let other = without_hooks(&text, "claude", &CLAUDE, None).unwrap();
            prop_assert_eq!(&other, &text);
        }
    }
}
