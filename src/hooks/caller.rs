//! Who calls: some agents run the hooks of others besides their own, and a session belongs to the
//! agent that it was held in.

use super::wire::HookInput;
use crate::adapters::Places;
use crate::adapters::hooks::{self, HookSpec};

/// Fields that agents send whose hooks are Claude Code's in form, but that are not it.
const CAMEL_CASE: [&str; 2] = ["sessionId", "hookEventName"];

/// The agent that calls, where the hook was written for `named`; `None` if it is one that we do not
/// know.
pub fn of(
    named: &'static HookSpec,
    input: &HookInput,
    places: &Places,
) -> Option<&'static HookSpec> {
    let runs_it = |spec: &&HookSpec| spec.runs_hooks_of.contains(&named.agent);
    let calls = |spec: &&HookSpec| {
        let signs = &spec.signs;
        signs.variable.is_none_or(|name| places.variable(name).is_some())
            && signs.fields.iter().all(|field| input.has(field))
    };
    let other = hooks::ALL.iter().copied().filter(runs_it).find(calls);
    let is_foreign = named.agent == "claude" && CAMEL_CASE.iter().any(|field| input.has(field));
    other.or(Some(named).filter(|_| !is_foreign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(named: &str, payload: &str, variables: &[(&str, &str)]) -> Option<&'static str> {
        let input = HookInput::read(payload.as_bytes()).unwrap();
        let environment =
            variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let places = Places { environment: environment.collect(), ..Places::default() };
        of(hooks::of(named).unwrap(), &input, &places).map(|spec| spec.agent)
    }

    #[test]
    fn a_caller_is_told_by_what_it_sends() {
        let claude = r#"{"session_id":"a","transcript_path":"/t","hook_event_name":"Stop"}"#;
        let grok = r#"{"hookEventName":"stop","sessionId":"a","session_id":"a","cwd":"/w","workspaceRoot":"/w/","hook_event_name":"Stop"}"#;
        let cursor = r#"{"hook_event_name":"stop","conversation_id":"a","workspace_roots":["/w"]}"#;
        let copilot = r#"{"hook_event_name":"Stop","session_id":"a","timestamp":"2026-11-01T10:00:00Z","cwd":"/w"}"#;
        let another =
            r#"{"hookEventName":"Stop","sessionId":"a","timestamp":"2026-11-01T10:00:00Z"}"#;
        assert_eq!(calls("claude", claude, &[]), Some("claude"));
        assert_eq!(calls("claude", grok, &[]), Some("grok"));
        assert_eq!(calls("cursor", grok, &[]), Some("grok"));
        assert_eq!(calls("claude", cursor, &[]), Some("cursor"));
        assert_eq!(calls("claude", copilot, &[("COPILOT_CLI", "1")]), Some("copilot"));
        assert_eq!(calls("claude", another, &[]), None);
        // Claude Code in a shell of Copilot's, and agents whose hooks nobody else runs.
        assert_eq!(calls("claude", claude, &[("COPILOT_CLI", "1")]), Some("claude"));
        assert_eq!(calls("grok", grok, &[]), Some("grok"));
        assert_eq!(calls("copilot", another, &[("COPILOT_CLI", "1")]), Some("copilot"));
    }
}
