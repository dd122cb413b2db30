//! Made-up conversations with lines that are true of them, and lines that nearly are.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/model_replies");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// A conversation as the pages of its episodes.
fn pages(talk: &str) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = Vec::new();
    let mut in_quote = false;
    for line in talk.lines() {
        if let Some(said) = line.strip_prefix("user: ") {
            let id = EpisodeId(episodes.len() as u32 + 1);
            let text = format!("# {id}\n\n**Prompt** · line 1\n> {said}\n");
            episodes.push(Episode { id, text });
            in_quote = true;
            continue;
        }
        let page = &mut episodes.last_mut().unwrap().text;
        if let Some(said) = line.strip_prefix("agent: ") {
            page.push_str(&format!("\n**Agent** · line 2\n> {said}\n"));
            in_quote = true;
        } else if let Some(command) = line.strip_prefix("$ ") {
            page.push_str(&format!("\n- `$ {command}` → ok · line 3\n  ```text\n"));
            in_quote = false;
        } else if in_quote {
            page.push_str(&format!("> {line}\n"));
        } else {
            let line = line.trim_start_matches("ok: ").trim_start_matches("fail: ");
            page.push_str(&format!("  {line}\n"));
        }
    }
    episodes
}

fn proposals(case: &Path, file: &str) -> Vec<(Proposal, String)> {
    let text = fs::read_to_string(case.join(file)).unwrap();
    let read = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap_or_default().to_string();
        let proposal = Proposal {
            kind: field("kind").parse().unwrap(),
            episode: field("episode").parse().unwrap(),
            by: field("by").parse().ok(),
            text: field("text"),
            quote: field("quote"),
        };
        (proposal, field("untrue"))
    };
    text.lines().map(read).collect()
}

#[test]
fn true_lines_are_kept_and_untrue_ones_refused() {
    let (mut kept, mut refused) = (0, 0);
    for case in cases() {
        let talk = fs::read_to_string(case.join("talk.md")).unwrap();
        let material = Material::of_episodes(&pages(&talk));
        for (proposal, _) in proposals(&case, "reply.jsonl") {
            if let Err(refusal) = material.check(&proposal) {
                panic!("{}: {refusal}: {proposal:?}", case.display());
            }
            kept += 1;
        }
        for (proposal, untrue) in proposals(&case, "untrue.jsonl") {
            let verdict = material.check(&proposal);
            assert!(verdict.is_err(), "{}: wrong {untrue}: {proposal:?}", case.display());
            refused += 1;
        }
    }
    assert!(kept >= 30 && refused >= 30, "{kept} kept, {refused} refused");
}
