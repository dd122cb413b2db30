//! What a model may write in a digest: title, objective, outcomes, decisions, standing lines,
//! lessons and open ends.
//!
//! Each line has to be borne out by the words that it quotes ([`check`](super::check)). Where a
//! model has such lines of a kind they take the place of ours; where it has none, ours stay.
//! Triggers, the Index, errors, ids and evidence are always ours, so that a session is found as
//! well as before.

use super::Prompt;
use super::check::{Episode, Kind, Material, Proposal};
use super::reply::{self, RefusedLine};
use crate::base::text;
use crate::model::digest::{Claim, ClaimKind, Content, Origin};

/// What a model is asked about a session.
pub const PROMPT: Prompt = Prompt {
    task: "digest",
    text: include_str!("../../templates/prompts/digest.md"),
    reply_tokens: 2_000,
};

/// How much of a session is shown to a model, in tokens: of a longer one, the beginning and end of
/// each episode.
const MOST_SHOWN: usize = 40_000;
/// How many outcomes a page has, and how many claims of each kind.
const MOST_OUTCOMES: usize = 8;
const MOST_CLAIMS: usize = 4;

/// The episodes as a model is shown them, one part each.
pub fn parts(episodes: &[Episode]) -> Vec<String> {
    let share = MOST_SHOWN / episodes.len().max(1);
    let shown = |episode: &Episode| {
        if text::tokens(&episode.text) <= share {
            return episode.text.clone();
        }
        // A token has about three bytes in what is mostly code; the end says what came of it.
        let half = share * 3 / 2;
        let from = (episode.text.len().saturating_sub(half)..)
            .find(|at| episode.text.is_char_boundary(*at));
        let end = &episode.text[from.unwrap_or(episode.text.len())..];
        format!("{}\n\n[… left out …]\n\n{end}", text::cut(&episode.text, half))
    };
    episodes.iter().map(shown).collect()
}

/// What a model's reply did to a digest.
#[derive(Debug, Default)]
pub struct Written {
    /// How many of its lines stand on the page now.
    pub lines: usize,
    pub refused: Vec<RefusedLine>,
}

/// Writes into a digest what a model said and the session bears out.
pub fn write(content: &mut Content, reply: &str, episodes: &[Episode]) -> Written {
    let checked = reply::checked(reply, &Material::of_episodes(episodes));
    let of = |kind: Kind, most: usize| {
        let lines = checked.kept.iter().filter(move |(line, _)| line.kind == kind);
        lines.take(most).collect::<Vec<_>>()
    };
    let mut lines = 0;
    if let [(title, _)] = of(Kind::Title, 1)[..] {
        content.title = text::one_line(&title.text, 100);
        lines += 1;
    }
    if let [(objective, _)] = of(Kind::Objective, 1)[..] {
        content.objective = objective.text.clone();
        lines += 1;
    }
    let outcomes = of(Kind::Outcome, MOST_OUTCOMES);
    if !outcomes.is_empty() {
        lines += outcomes.len();
        let shown = |(line, _): &&(Proposal, Origin)| format!("{} ({})", line.text, line.episode);
        content.key_outcomes = outcomes.iter().map(shown).collect();
    }
    for (kind, claims) in [
        (Kind::Decision, ClaimKind::Decision),
        (Kind::Standing, ClaimKind::Standing),
        (Kind::Lesson, ClaimKind::Lesson),
        (Kind::Open, ClaimKind::Open),
    ] {
        let said = of(kind, MOST_CLAIMS);
        lines += said.len();
        replace_claims(&mut content.stated, claims, &said);
    }
    Written { lines, refused: checked.refused }
}

/// Puts a model's claims of a kind in the place of ours; the commands that checked the work stay.
fn replace_claims(stated: &mut Vec<Claim>, kind: ClaimKind, said: &[&(Proposal, Origin)]) {
    if said.is_empty() {
        return;
    }
    stated.retain(|claim| claim.kind != kind || claim.is_check());
    let at = stated.iter().position(|claim| claim.kind >= kind).unwrap_or(stated.len());
    let claims = said.iter().map(|(line, origin)| Claim {
        kind,
        text: line.text.clone(),
        episode: line.episode,
        origin: *origin,
    });
    stated.splice(at..at, claims);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::digest::Trigger;
    use crate::model::ids::EpisodeId;

    fn episodes() -> Vec<Episode> {
        let page = |number: u32, text: &str| Episode { id: EpisodeId(number), text: text.into() };
        vec![
            page(
                1,
                "# EP_001 · Fix the lock\n\n**Prompt** · line 1\n> The day log loses lines with two writers, fix the lock.",
            ),
            page(
                2,
                "# EP_002 · why\n\n**Agent** · line 2\n> Both saw no header in src/day.rs.\n> The second write erased the first.",
            ),
            page(
                3,
                "# EP_003 · go\n\n- `$ cargo test` → ok · line 3\n  ```text\n  7 passed\n  ```",
            ),
        ]
    }

    fn claim(kind: ClaimKind, text: &str, origin: Origin) -> Claim {
        Claim { kind, text: text.into(), episode: EpisodeId(1), origin }
    }

    fn content() -> Content {
        let trigger = Trigger {
            topic: "topic".into(),
            sentence: "ours".into(),
            episode: EpisodeId(1),
            path: String::new(),
            origin: Origin::Assistant,
            keys: vec!["flock".into()],
        };
        Content {
            title: "our title".into(),
            objective: "our objective".into(),
            key_outcomes: vec!["our outcome (EP_001)".into()],
            stated: vec![
                claim(ClaimKind::Standing, "`cargo test` passed", Origin::Tool),
                claim(ClaimKind::Standing, "our rule", Origin::User),
                claim(ClaimKind::Decision, "our decision", Origin::User),
                claim(ClaimKind::Lesson, "our lesson", Origin::Assistant),
            ],
            triggers: vec![trigger],
            ..Content::default()
        }
    }

    #[test]
    fn a_model_writes_what_it_can_prove_and_ours_stays_elsewhere() {
        let reply = r#"{"kind":"title","episode":"EP_001","text":"Day log loses lines with two writers","quote":"The day log loses lines with two writers"}
{"kind":"outcome","episode":"EP_003","by":"tool","text":"7 passed with `cargo test`","quote":"cargo test ok line 3 text 7 passed"}
{"kind":"lesson","episode":"EP_002","by":"assistant","text":"The second write erased the first","quote":"The second write erased the first."}
{"kind":"decision","episode":"EP_002","by":"user","text":"Both saw no header in src/day.rs","quote":"Both saw no header in src/day.rs"}"#;
        let mut page = content();
        let written = write(&mut page, reply, &episodes());
        assert_eq!((written.lines, written.refused.len()), (3, 1), "{written:?}");
        assert_eq!(page.title, "Day log loses lines with two writers");
        assert_eq!(page.objective, "our objective");
        assert_eq!(page.key_outcomes, ["7 passed with `cargo test` (EP_003)"]);
        let stated: Vec<&str> = page.stated.iter().map(|claim| claim.text.as_str()).collect();
        assert_eq!(
            stated,
            [
                "`cargo test` passed",
                "our rule",
                "our decision",
                "The second write erased the first"
            ]
        );
        assert_eq!(page.triggers, content().triggers);
    }

    #[test]
    fn a_reply_about_something_else_changes_nothing() {
        for reply in [
            "The weather is fine today.",
            r#"{"kind":"outcome","episode":"EP_003","text":"The customer database was migrated","quote":"customer database was migrated"}"#,
            r#"{"kind":"title","episode":"EP_009","text":"Fix the lock","quote":"fix the lock please"}"#,
        ] {
            let mut page = content();
            assert_eq!(write(&mut page, reply, &episodes()).lines, 0);
            assert_eq!(page, content());
        }
    }

    #[test]
    fn a_long_session_is_shown_in_part_and_no_episode_is_dropped() {
        let long = format!("# EP_001 begins\n{}\nends here", "many words of it\n".repeat(40_000));
        let shown = parts(&[
            Episode { id: EpisodeId(1), text: long },
            Episode { id: EpisodeId(2), text: "# EP_002".into() },
        ]);
        assert!(shown[0].starts_with("# EP_001 begins") && shown[0].ends_with("ends here"));
        assert!(
            shown[0].contains("left out")
                && text::tokens(&shown[0]) < MOST_SHOWN
                && shown[1] == "# EP_002"
        );
    }
}
