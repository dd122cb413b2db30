//! A reply, read: one JSON object a line, each a line that the model would like to have on a page.

use serde_json::Value;

use super::check::{Material, Proposal, Refusal};
use crate::base::text;
use crate::model::digest::Origin;

/// How many lines of one reply are looked at; a model that says more says nothing.
const MOST_LINES: usize = 200;

/// What became of a reply's lines.
#[derive(Debug, Default)]
pub struct Checked {
    /// The lines that the material bears out, and whose words they rest on.
    pub kept: Vec<(Proposal, Origin)>,
    pub refused: Vec<RefusedLine>,
}

/// A line that was not taken, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RefusedLine {
    pub line: String,
    pub reason: String,
}

/// Reads a reply and keeps the lines that the material bears out.
pub fn checked(reply: &str, material: &Material) -> Checked {
    let mut checked = Checked::default();
    for line in lines(reply).into_iter().take(MOST_LINES) {
        let (shown, reason) = match line {
            Err((shown, wrong)) => (shown, Refusal::Form(wrong)),
            Ok(proposal) => match material.check(&proposal) {
                Ok(origin) => {
                    let is_known = |(kept, _): &(Proposal, Origin)| {
                        kept.kind == proposal.kind && kept.text == proposal.text
                    };
                    if !checked.kept.iter().any(is_known) {
                        checked.kept.push((proposal, origin));
                    }
                    continue;
                }
                Err(refusal) => (shown(&proposal), refusal),
            },
        };
        let reason = reason.to_string();
        checked.refused.push(RefusedLine { line: text::one_line(&shown, 400), reason });
    }
    checked
}

fn shown(proposal: &Proposal) -> String {
    let Proposal { kind, episode, text, quote, .. } = proposal;
    format!("{kind} [{episode}]: {text} (quoting \"{quote}\")")
}

/// The lines of a reply: objects one below the other, in a list, or in a fence.
fn lines(reply: &str) -> Vec<Result<Proposal, (String, &'static str)>> {
    let read = |row: &Value| proposal(row).map_err(|wrong| (row.to_string(), wrong));
    if let Ok(Value::Array(rows)) = serde_json::from_str(without_fence(reply)) {
        return rows.iter().map(read).collect();
    }
    let said = reply.lines().map(|line| line.trim().trim_start_matches("- "));
    let objects = said.filter(|line| !line.is_empty() && !is_frame(line));
    objects
        .map(|line| {
            let row = serde_json::from_str::<Value>(line.trim_end_matches(','));
            let row = row.ok().filter(Value::is_object);
            row.map_or_else(|| Err((line.to_string(), NO_OBJECT)), |row| read(&row))
        })
        .collect()
}

/// What stands around the objects and is none.
fn is_frame(line: &str) -> bool {
    line.starts_with("```") || line == "[" || line == "]"
}

fn without_fence(reply: &str) -> &str {
    let reply = reply.trim();
    let inner = reply.strip_prefix("```json").or_else(|| reply.strip_prefix("```"));
    inner.and_then(|inner| inner.trim_end().strip_suffix("```")).unwrap_or(reply)
}

const NO_OBJECT: &str = "it is not a JSON object of the form asked for";

/// What an object proposes, or which of its fields is wrong.
fn proposal(row: &Value) -> Result<Proposal, &'static str> {
    if !row.is_object() {
        return Err(NO_OBJECT);
    }
    let field = |name: &str| row.get(name).and_then(Value::as_str).map(str::trim);
    let by = field("by").map(str::to_lowercase);
    let by = by.as_deref().and_then(|by| match by {
        "user" | "person" | "human" => Some(Origin::User),
        "assistant" | "agent" | "model" => Some(Origin::Assistant),
        "tool" | "output" => Some(Origin::Tool),
        _ => None,
    });
    let episode = field("episode").map(|name| name.trim_matches(['[', ']']));
    let kind = field("kind").and_then(|kind| kind.to_lowercase().parse().ok());
    let quote = field("quote").ok_or("it has no `quote`: words of the episode that bear it out")?;
    Ok(Proposal {
        kind: kind.ok_or(
            "its `kind` is none of title, objective, outcome, decision, standing, lesson, open",
        )?,
        episode: episode
            .and_then(|episode| episode.parse().ok())
            .ok_or("its `episode` is not written like EP_004")?,
        by,
        text: field("text").ok_or("it has no `text`")?.trim_end_matches('.').to_string(),
        quote: quote.trim_matches(['"', '“', '”', '…']).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"outcome","episode":"EP_001","by":"agent","text":"The header is written first.","quote":"the header is written first"}"#;

    fn material() -> Material {
        Material::of_turns(&[
            "**User:** why?\n\n**Assistant:** Now the header is written first.".into()
        ])
    }

    #[test]
    fn objects_are_read_from_lines_lists_and_fences() {
        for reply in [
            LINE.to_string(),
            format!("Sure, here it is:\n{LINE}\n"),
            format!("```json\n{LINE}\n```"),
            format!("[{LINE},\n{LINE}]"),
            format!("[\n{LINE},\n]"),
        ] {
            let checked = checked(&reply, &material());
            assert_eq!(checked.kept.len(), 1, "{reply}");
            assert_eq!(checked.kept[0].0.text, "The header is written first");
            assert_eq!(checked.kept[0].1, Origin::Assistant);
        }
    }

    #[test]
    fn nonsense_is_counted_and_kept_out() {
        let nonsense = "I cannot do that.\n{\"kind\":\"poem\"}\n{}\n[1, 2]\n\u{0}\n";
        let read = checked(nonsense, &material());
        assert!(read.kept.is_empty());
        assert_eq!(read.refused.len(), 5, "{:?}", read.refused);
        assert!(checked("", &material()).refused.is_empty());
        let endless = "{\"kind\":\n".repeat(1_000_000);
        assert_eq!(checked(&endless, &material()).refused.len(), MOST_LINES);
    }
}
