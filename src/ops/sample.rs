//! The bundled sample sessions: ten invented ones, in three agents' formats, for a first look.

use std::io;
use std::path::Path;

use crate::base::files;

/// Unpacks the samples below a folder, as the agents would keep them.
pub fn unpack(folder: &Path) -> io::Result<()> {
    for (name, text) in SAMPLES {
        files::write_if_changed(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// Whether a session, by its agent's own id, is one of the samples.
pub fn has_session(source_id: &str) -> bool {
    let own = source_id.split_once(':').map_or("", |(_, own)| own);
    !own.is_empty() && SAMPLES.iter().any(|(name, _)| name.contains(own))
}

/// Lists files of `templates/sample/` with their text.
macro_rules! samples {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../templates/sample/", $name)))),+]
    };
}

const SAMPLES: &[(&str, &str)] = samples![
    "claude/projects/-home-dev-code-larkmail--claude-worktrees-dedupe/5ccec58f-0e70-4378-a129-7842bc337b8d.jsonl",
    "claude/projects/-home-dev-code-tidepool/a6336d8f-65be-4d74-a9fa-98df34b9f2c6.jsonl",
    "claude/projects/-home-dev-code-tidepool/bd8ec9a1-f803-45ed-bd7c-9ec7081ab44d.jsonl",
    "claude/projects/-home-dev-code-tidepool/bd8ec9a1-f803-45ed-bd7c-9ec7081ab44d/subagents/agent-a7f31c9e2b40d85c1.jsonl",
    "claude/projects/-home-dev-code-tidepool/d29b8652-db47-479a-9a9e-7f65abc703cc.jsonl",
    "claude/projects/-home-dev-code-tidepool/e88b7591-31db-4e32-98dc-b35f94c662cd.jsonl",
    "codex/sessions/2026/10/28/rollout-2026-10-28T13-40-22-01a182bd-89e6-7c38-a944-167e62b2bbd1.jsonl",
    "codex/sessions/2026/11/02/rollout-2026-11-02T15-02-10-01a19cc8-3c53-7264-b609-2d1241c156cf.jsonl",
    "codex/sessions/2026/11/05/rollout-2026-11-05T19-11-48-01a1ad1f-db7a-7048-a87e-5dbb9b1bf481.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a18ba0-798a-7166-99f9-48f2ee7335a0/chat_history.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a18ba0-798a-7166-99f9-48f2ee7335a0/events.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a18ba0-798a-7166-99f9-48f2ee7335a0/summary.json",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a18ba0-798a-7166-99f9-48f2ee7335a0/updates.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a1b05b-5d37-75d4-a998-fe5973e9e84e/chat_history.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a1b05b-5d37-75d4-a998-fe5973e9e84e/events.jsonl",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a1b05b-5d37-75d4-a998-fe5973e9e84e/summary.json",
    "grok/sessions/%2Fhome%2Fdev%2Fcode%2Flarkmail/01a1b05b-5d37-75d4-a998-fe5973e9e84e/updates.jsonl",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_file_is_bundled() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/sample");
        let there = files::walk_files(&folder)
            .map(|found| found.unwrap().relative)
            .filter(|name| name != Path::new("README.md"))
            .count();
        assert_eq!(SAMPLES.len(), there);
    }
}
