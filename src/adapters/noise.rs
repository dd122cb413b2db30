//! Noise: the kinds of records that are known and say nothing for a memory. Whatever else an
//! agent's reader leaves out is of a kind that this version does not know.

/// Whether a kind of record that a reader left out is known. Of agents without a list all are.
pub fn is_known(flavor: &str, kind: &str) -> bool {
    let Some((_, kinds)) = KINDS.iter().find(|(name, _)| *name == flavor) else { return true };
    let is_one = |known: &&str| match known.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => kind == *known,
    };
    OWN_WORDS.iter().chain(*kinds).any(is_one)
}

/// What readers themselves call records that they know well.
const OWN_WORDS: &[&str] = &[
    "repeated record",
    "message told again",
    "row of which a later form was read",
    "record of a bot",
    "other",
];

/// By agent: the kinds that it writes and nobody needs. `*` stands for any end.
const KINDS: &[(&str, &[&str])] = &[
    (
        "claude",
        &[
            "user record that no person wrote",
            "queued prompt that was already told",
            "record of a compaction worker",
            "queue-operation",
            "attachment queued_command*",
            "attachment agent_listing_delta",
            "attachment auto_mode*",
            "attachment command_permissions",
            "attachment compact_file_reference",
            "attachment date",
            "attachment date_change",
            "attachment deferred_tools_delta",
            "attachment edited_text_file",
            "attachment environment",
            "attachment file",
            "attachment hook_*",
            "attachment mcp_instructions_delta",
            "attachment model",
            "attachment nested_memory",
            "attachment plan_mode*",
            "attachment prompt_snapshot",
            "attachment remote_session_change",
            "attachment session_context",
            "attachment skill_listing",
            "attachment task_*",
            "attachment todo*",
            "attachment total_tokens_reminder",
            "attachment diagnostics",
            "progress *",
            "system local_command",
            "system stop_hook_summary",
            "system turn_duration",
            "system away_summary",
            "system bridge_status",
            "system informational",
            "system microcompact_boundary",
            "agent-color",
            "agent-setting",
            "api-request",
            "api-request-blob",
            "api-request-shape",
            "artifact-*",
            "atis-latch",
            "bridge-session",
            "content-replacement",
            "continued-in",
            "file-history-delta",
            "file-history-snapshot",
            "fork-context-ref",
            "frame-link",
            "history-suppression",
            "last-prompt",
            "marble-origami-*",
            "mode",
            "permission-mode",
            "relocated",
            "tag",
            "task-summary",
            "tools-used",
            "worktree-state",
            "block redacted_thinking",
            "block advisor_tool_result",
        ],
    ),
    (
        "codex",
        &[
            "message developer",
            "message system",
            "message user",
            "message assistant",
            "message user that no person wrote",
            "script whose calls were told",
            "state",
            "record without a kind",
            "additional_tools",
            "agent_message",
            "world_state",
            "token_usage_record",
            "inter_agent_communication*",
            "ghost_snapshot",
            "compaction",
            "image_generation_call",
            "tool_search_output",
            "item *",
            "event agent_message",
            "event agent_reasoning*",
            "event context_compacted",
            "event image_generation_end",
            "event item_completed",
            "event sub_agent_activity",
            "event task_started",
            "event thread_goal_updated",
            "event thread_settings_applied",
            "event user_message",
            "event web_search_end",
            "event view_image_tool_call",
            "event background_event",
            "event collab_*",
            "event guardian_*",
            "event hook_*",
            "event plan_update",
            "event turn_diff",
            "event undo_*",
            "event warning",
            "event dynamic_tool_call_*",
            "event request_user_input",
            "event stream_error",
        ],
    ),
    (
        "copilot",
        &[
            "user.message that no person wrote",
            "assistant.*",
            "hook.*",
            "permission.*",
            "session.*",
            "skill.*",
            "subagent.*",
            "system.*",
            "tool.*",
            "command.*",
            "model.*",
        ],
    ),
    (
        "opencode",
        &[
            "text that no person wrote",
            "part agent",
            "part compaction",
            "part file",
            "part patch",
            "part retry",
            "part snapshot",
            "part step-finish",
            "part step-start",
            "part subtask",
            "row of *",
        ],
    ),
    (
        "qwen",
        &[
            "user record that no person wrote",
            "system attribution_snapshot",
            "system at_command",
            "system chat_compression",
            "system rewind",
            "system slash_command",
            "system ui_telemetry",
        ],
    ),
    (
        "pi",
        &["message system", "model_change", "thinking_level_change", "custom*", "label", "leaf"],
    ),
    (
        "openclaw",
        &["message system", "model_change", "thinking_level_change", "custom*", "label", "leaf"],
    ),
    (
        "gemini",
        &[
            "earlier copy of a message",
            "info",
            "user message that no person wrote",
            "warning",
            "record without a type",
        ],
    ),
    ("goose", &["turn context", "answer without a result", "session of the kind *", "row of *"]),
    ("grok", &["system", "user", "user *"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_list_is_unknown() {
        assert!(is_known("claude", "progress bash_progress"));
        assert!(is_known("claude", "repeated record"));
        assert!(!is_known("claude", "progress"));
        assert!(!is_known("claude", "hologram"));
        assert!(is_known("nobody", "hologram"));
    }
}
