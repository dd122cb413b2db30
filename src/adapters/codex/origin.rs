//! Who began a rollout: `source` and `parent_thread_id` of its first line say so.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::session::BegunBy;

/// Who began a rollout, and which thread started it, where another one did.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    pub by: BegunBy,
    pub parent: Option<String>,
}

/// The threads that Codex starts for its own ends.
const MACHINERY: &[&str] = &["guardian", "compact", "memory_consolidation"];

impl Origin {
    /// Reads the fields of a header as they stand in the log.
    pub fn of(source: Option<&RawValue>, parent: &str) -> Origin {
        let source = source.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Origin::of_value(source.as_ref(), parent)
    }

    /// The same, parsed.
    pub fn of_value(source: Option<&Value>, parent: &str) -> Origin {
        let at = |path: &str| source.and_then(|source| source.pointer(path));
        let named = ["/subagent", "/subagent/other", "/internal"]
            .into_iter()
            .find_map(|path| at(path)?.as_str());
        let spawned = at("/subagent/thread_spawn/parent_thread_id").and_then(Value::as_str);
        let by = match named {
            Some(name) if MACHINERY.contains(&name) => BegunBy::Program,
            None if at("/internal").is_some() => BegunBy::Program,
            None if at("/subagent").is_none() && parent.is_empty() => BegunBy::Person,
            _ => BegunBy::Agent,
        };
        let parent = Some(parent).filter(|parent| !parent.is_empty()).or(spawned);
        Origin { by, parent: parent.map(str::to_string) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_who_began_a_rollout() {
        let check = |source: &str, parent: &str, by, started_by: Option<&str>| {
            let value: Value = serde_json::from_str(source).expect("JSON");
            let origin = Origin::of_value(Some(&value), parent);
            assert_eq!((origin.by, origin.parent.as_deref()), (by, started_by), "{source}");
        };
        check(r#""cli""#, "", BegunBy::Person, None);
        check(r#"{"custom":"mine"}"#, "", BegunBy::Person, None);
        check(r#"{"subagent":"review"}"#, "p", BegunBy::Agent, Some("p"));
        check(r#"{"subagent":{"other":"guardian"}}"#, "p", BegunBy::Program, Some("p"));
        check(r#"{"internal":"guardian"}"#, "", BegunBy::Program, None);
        check(r#"{"subagent":"compact"}"#, "", BegunBy::Program, None);
        let spawned = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}"#;
        check(spawned, "", BegunBy::Agent, Some("p"));
        assert_eq!(Origin::of_value(None, "").by, BegunBy::Person);
    }
}
