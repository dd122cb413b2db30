//! What is written is read back as it was meant, whatever was said in the log.

use memtree::internals::base::clock;
use memtree::internals::base::markdown::tight_code;
use memtree::internals::base::text::one_line;
use memtree::internals::store::digest::{self, text_over};
use memtree::model::digest::{
    Claim, ClaimKind, Content, Digest, ErrorFact, IndexLine, Origin, Outcome, Snapshot, State,
    Trigger, Worth,
};
use memtree::model::ids::{Device, EpisodeId, SessionId};
use memtree::model::signals::Signals;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_digest_is_read_back(digest in digests()) {
        let text = digest::text(&digest);
        let back = digest::parse(&text).map_err(|reason| TestCaseError::fail(format!("{reason}\n{text}")))?;
        let expected = normalised(&digest);
        prop_assert_eq!(&back.content.triggers, &expected.content.triggers, "{}", text);
        prop_assert_eq!(&back, &expected, "{}", text);
        // What was read back is written the same way.
        prop_assert_eq!(digest::text(&back), text);
    }

    #[test]
    fn writing_again_changes_nothing(digest in digests()) {
        let text = digest::text(&digest);
        prop_assert_eq!(text_over(&text, &digest), text);
    }

    #[test]
    fn a_new_state_replaces_all_that_nobody_touched(before in digests(), after in digests()) {
        let after = Digest { session: before.session.clone(), ..after };
        let over = text_over(&digest::text(&before), &after);
        let back = digest::parse(&over).map_err(|reason| TestCaseError::fail(format!("{reason}\n{over}")))?;
        prop_assert_eq!(&back, &normalised(&after), "{}", over);
        prop_assert_eq!(text_over(&over, &after), over);
    }

    #[test]
    fn notes_are_never_touched(before in digests(), after in digests(), notes in hostile()) {
        let notes = format!("\n{notes}\n");
        let edited = digest::text(&before) + &notes;
        let over = text_over(&edited, &Digest { session: before.session.clone(), ..after });
        prop_assert!(over.ends_with(&format!("## Notes\n{notes}")), "{}", over);
    }
}

/// Texts with all that could be taken for a mark of ours.
fn hostile() -> impl Strategy<Value = String> {
    const MARKS: &[&str] = &[
        "\n",
        "\r\n",
        "\n---\n",
        "---",
        "|",
        " | ",
        " | keys: ",
        "]: ",
        "- [",
        " -> Trigger reference: [",
        " -> Trigger reference: EP_001, `x` on y",
        "` on ",
        "[EP_009](x)",
        "](",
        ")",
        "[[",
        "->",
        "\"",
        "'",
        "`",
        "```",
        "# ",
        "\n## Notes\n",
        "\n## ⚡ Knowledge Triggers\n",
        "; ",
        ", ",
        ": ",
        "{",
        "}",
        "{status}",
        "<script>",
        "</b>",
        "\\",
        "\\<",
        "\\]",
        "\u{7}",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{feff}",
        "\0",
        "🦀",
        "日本語",
        "é",
        "%20",
        "%",
        "#",
        "&",
        "*",
        "!",
        "null",
        "true",
        "2026-11-15",
        "1e3",
        "0x1f",
        "~",
        "–",
        "  ",
        "\t",
        "lock",
        "schema: x",
        "\u{2028}",
        "\u{85}",
        "(none: nothing was said)",
    ];
    let piece = prop_oneof![
        6 => proptest::sample::select(MARKS).prop_map(str::to_string),
        3 => "[a-z]{1,6}( [a-z]{1,6})?",
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn filled() -> impl Strategy<Value = String> {
    (hostile(), "[a-z]{1,4}").prop_map(|(text, word)| text + &word)
}

fn triggers() -> impl Strategy<Value = Vec<Trigger>> {
    let origins = proptest::sample::select(vec![Origin::User, Origin::Assistant, Origin::Tool]);
    let paths =
        prop_oneof![Just(String::new()), filled().prop_map(|name| format!("snapshot/{name}"))];
    let one = (filled(), filled(), 0u32..2000, paths, origins, vec(filled(), 0..4));
    vec(
        one.prop_map(|(topic, sentence, episode, path, origin, keys)| Trigger {
            topic,
            sentence,
            episode: EpisodeId(episode),
            path,
            origin,
            keys,
        }),
        0..4,
    )
}

fn claims() -> impl Strategy<Value = Vec<Claim>> {
    let kinds = proptest::sample::select(vec![
        ClaimKind::Standing,
        ClaimKind::Decision,
        ClaimKind::Lesson,
        ClaimKind::Open,
    ]);
    let origins = proptest::sample::select(vec![Origin::User, Origin::Assistant, Origin::Tool]);
    let one = (kinds, filled(), 0u32..2000, origins);
    vec(
        one.prop_map(|(kind, text, episode, origin)| Claim {
            kind,
            text,
            episode: EpisodeId(episode),
            origin,
        }),
        0..3,
    )
}

fn index() -> impl Strategy<Value = (Vec<IndexLine>, Vec<ErrorFact>)> {
    let lines = (0u32..2000, vec(filled(), 1..4))
        .prop_map(|(episode, terms)| IndexLine { episode: EpisodeId(episode), terms });
    let errors =
        (filled(), 0u32..2000, option::of(0u32..2000)).prop_map(|(text, episode, solved)| {
            let solved_in = solved.map(EpisodeId);
            ErrorFact { text, episode: EpisodeId(episode), solved_in }
        });
    (vec(lines, 0..3), vec(errors, 0..3))
}

fn contents() -> impl Strategy<Value = Content> {
    let outcomes = proptest::sample::select(vec![
        Outcome::Success,
        Outcome::Partial,
        Outcome::Fail,
        Outcome::Abandoned,
        Outcome::Unknown,
    ]);
    let worths = proptest::sample::select(vec![Worth::Full, Worth::None]);
    let words = (
        filled(),
        hostile(),
        hostile(),
        hostile(),
        hostile(),
        hostile(),
        vec(filled(), 0..4),
        outcomes,
        worths,
    );
    let places =
        (option::of(filled()), option::of(filled()), option::of(filled()), option::of(filled()));
    let lists =
        (vec(filled(), 0..3), vec(filled(), 0..3), vec(filled(), 0..3), vec(filled(), 0..3));
    let times = (option::of(0i64..4_000_000_000), option::of(0i64..4_000_000_000));
    let counts = (
        option::of((0u32..5, 5u32..2000)),
        0u64..9,
        0u64..9,
        0u64..9,
        0u64..9,
        option::of(0u32..9999),
        0u64..9,
    );
    (words, places, lists, times, counts, triggers(), claims(), hostile(), index()).prop_map(
        |(words, places, lists, times, counts, triggers, stated, vitals, (index, errors))| {
            let (flavor, title, objective, motto, core_intent, arc, key_outcomes, status, worth) =
                words;
            let (project, domain, cwd, branch) = places;
            let (commits, models, files, tags) = lists;
            let time = |seconds: Option<i64>| {
                seconds.and_then(|seconds| clock::from_millis(seconds * 1000))
            };
            let (episodes, turns, tokens_in, tokens_out, tokens_cache, cents, sensory) = counts;
            Content {
                flavor,
                title,
                status,
                worth,
                objective,
                motto,
                core_intent,
                key_outcomes,
                arc,
                stated,
                triggers,
                index,
                errors,
                part_of: None,
                continues: None,
                signals: Signals::default(),
                project,
                domain,
                cwd,
                branch,
                commits,
                models,
                started: time(times.0),
                ended: time(times.1),
                episodes: episodes.map(|(first, last)| (EpisodeId(first), EpisodeId(last))),
                own_episodes: if cents.is_some() && episodes.is_some() {
                    "EVA_EP01 – EVA_EP09".into()
                } else {
                    String::new()
                },
                turns,
                tokens_in,
                tokens_out,
                tokens_cache,
                cost_usd: cents.map(|cents| f64::from(cents) / 100.0),
                // Any line that names an episode is evidence of something.
                evidence: files
                    .iter()
                    .map(|path| format!("EP_004 {path}").parse().unwrap())
                    .collect(),
                files,
                tags,
                date: "2026-11-15".into(),
                vitals: if vitals.trim().is_empty() {
                    String::new()
                } else {
                    format!("snapshot/{vitals}")
                },
                sensory,
                made_by: "extractive/1".into(),
            }
        },
    )
}

fn digests() -> impl Strategy<Value = Digest> {
    let snapshots = (vec(filled(), 0..3), 0u64..1_000_000, proptest::bool::ANY).prop_map(
        |(names, bytes, evicted)| Snapshot {
            evicted: evicted.then(|| "2026-12-30".into()),
            bytes,
            files: names.len() as u64,
            manifest_sha256: "9f86d081".repeat(8),
            manifest: names.iter().map(|name| format!("{}  raw/{name}", "0".repeat(64))).collect(),
        },
    );
    let states = proptest::sample::select(vec![State::Open, State::Closed]);
    (contents(), snapshots, states, 0u32..100_000, filled(), 0i64..4_000_000_000).prop_map(
        |(content, snapshot, state, ordinal, source_id, captured)| Digest {
            session: SessionId::new(Device::new("laptop-7f3a"), ordinal),
            source_id,
            adopted_by: (ordinal % 3 == 0).then(|| Device::new("desk")),
            captured: clock::from_millis(captured * 1000).unwrap(),
            state,
            content,
            snapshot,
        },
    )
}

/// What may become of a text on its way: the front matter keeps it as it is; in the body it is one
/// line, and the few characters that part a line's fields give way.
fn normalised(digest: &Digest) -> Digest {
    let mut digest = digest.clone();
    let line = |text: &str| one_line(text, usize::MAX);
    let or_dash =
        |text: &str| if line(text).is_empty() { "–".to_string() } else { unmarked(text) };
    let content = &mut digest.content;
    content.motto = unmarked(&content.motto).replace('"', "'");
    content.core_intent = or_dash(&content.core_intent);
    content.arc = or_dash(&content.arc);
    content.key_outcomes = content.key_outcomes.iter().map(|outcome| unmarked(outcome)).collect();
    for claim in &mut content.stated {
        claim.text = unmarked(&claim.text);
    }
    for error in &mut content.errors {
        error.text = line(&error.text);
    }
    for part in &mut content.index {
        part.terms = part.terms.iter().map(|term| line(&term.replace(',', " "))).collect();
    }
    for trigger in &mut content.triggers {
        trigger.topic = unmarked(&trigger.topic.replace(['[', ']'], "'"));
        trigger.sentence = unmarked(&trigger.sentence);
        trigger.keys =
            trigger.keys.iter().map(|key| unmarked(&key.replace([',', '|'], " "))).collect();
        if trigger.path.is_empty() {
            trigger.path = format!("snapshot/episodic/{}.md", trigger.episode);
        }
    }
    digest
}

/// One line without the marks that part a line's fields.
fn unmarked(text: &str) -> String {
    let line = one_line(text, usize::MAX);
    // Code keeps its signs, without the spaces around them.
    let line = tight_code(&line);
    let words = line.split(' ').map(|word| match word {
        "->" => "→",
        "|" => "¦",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}
