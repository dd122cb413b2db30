//! Days' summaries as documents: written as a whole, read back, and written again around a person's
//! edits.
//!
//! A summary is made of blocks: its title, what was wanted, decided, done and left open, and one
//! block for each session. `written` remembers a short hash of each as we wrote it; only a block
//! that still has it is replaced. Within a session's block, notes are what flushes added. They are
//! read back and kept: a model is not asked twice.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::base::front_matter::Document;
use crate::base::markdown::{code, inline, plain};
use crate::base::static_regex::StaticRegex;
use crate::model::day::{DaySummary, Note, Point, SessionOfDay, SessionSummary};
use crate::model::ids::SessionId;
use crate::store::authored::{self, Order, Page, Part, Rules, Unit};
use crate::store::layout;

/// The schema that we write.
pub const SCHEMA: &str = "memtree/day-summary/2";

/// Stands behind a line that a model wrote.
pub const BY_MODEL: &str = " (model)";
/// Parts what was read from the lines from the notes before it.
const FROM_LINES: &str = "*From the day's lines:*";
const NOTES: &str = "## Notes\n(yours: never touched)\n";

/// The notes of each session, by the name that lines give it.
pub type Notes = BTreeMap<String, Vec<Note>>;

/// The hash of the raw lines that a summary covers.
/// `None` where an earlier version wrote it: such a one is written again.
pub fn covers(text: &str) -> Option<String> {
    let document = Document::parse(text);
    let is_current = document.get_str("schema").as_deref() == Some(SCHEMA);
    document.get_str("raw_sha256").filter(|_| is_current)
}

/// How many messages of a person a summary covers.
pub fn messages(text: &str) -> u64 {
    let said = Document::parse(text).get_str("messages");
    said.and_then(|count| count.parse().ok()).unwrap_or_default()
}

/// The lines of one part of a summary's overview, by the name of the part.
pub fn lines_of(text: &str, part: &str) -> Vec<String> {
    let document = Document::parse(text);
    let blocks = blocks(document.body());
    let block = blocks.iter().find(|block| block.name.as_deref() == Some(part));
    let lines = block.map(|block| block.text.lines()).into_iter().flatten();
    lines.filter_map(|line| line.strip_prefix("- ").map(str::to_string)).collect()
}

/// The notes in a summary.
pub fn notes(text: &str) -> Notes {
    let document = Document::parse(text);
    let mut notes = Notes::new();
    for block in blocks(document.body()) {
        let session = block.name.as_deref().and_then(|name| name.strip_prefix(SESSION));
        let found = notes_in(block.text);
        if let Some(session) = session.filter(|_| !found.is_empty()) {
            notes.insert(session.to_string(), found);
        }
    }
    notes
}

/// Writes a summary; `existing` is the one that is there. Notes are those of [`notes`] and any new
/// ones.
pub fn text(day: NaiveDate, summary: &DaySummary, notes: &Notes, existing: Option<&str>) -> String {
    let page = Page {
        rules: &RULES,
        entries: vec![
            ("schema", SCHEMA.into()),
            ("day", day.to_string()),
            ("raw_sha256", summary.raw_sha256.clone()),
            ("messages", summary.messages.to_string()),
        ],
        body: body(day, summary, notes),
    };
    let Some(existing) = existing else { return page.to_text() };
    // A section that a person wrote still takes what a flush adds.
    page.over_adding(existing, |name, block| {
        let session = name.strip_prefix(SESSION).unwrap_or_default();
        let known = notes_in(block);
        let is_new = |note: &&Note| known.iter().all(|known| known.id != note.id);
        notes.get(session).into_iter().flatten().filter(is_new).map(note_text).collect()
    })
}

/// Two devices' versions of a summary, joined block by block; every flush's note stays.
pub fn joined(base: Option<&str>, sides: [&str; 2]) -> String {
    let joined = authored::join(&RULES, base, sides, |page| {
        let messages = page.get_str("messages").and_then(|count| count.parse::<u64>().ok());
        (messages, page.get_str("raw_sha256"))
    });
    let mut page = joined;
    for (session, noted) in sides.iter().flat_map(|side| notes(side)) {
        let there = notes(&page).remove(&session).unwrap_or_default();
        let is_new = |note: &&Note| there.iter().all(|known| known.id != note.id);
        let missing: String = noted.iter().filter(is_new).map(note_text).collect();
        if !missing.is_empty() {
            page = with_notes(&page, &session, &missing);
        }
    }
    page
}

/// A summary with more notes of a session, at the end of its block; ours stays ours.
fn with_notes(page: &str, session: &str, missing: &str) -> String {
    let document = Document::parse(page);
    let name = format!("{SESSION}{session}");
    let Some(block) = authored::find_part(document.body(), &RULES, &name) else {
        return page.to_string();
    };
    let end = block.as_ptr() as usize - document.as_text().as_ptr() as usize + block.len();
    let after = format!("{}\n{missing}{}", &page[..end], &page[end..]);
    authored::still_ours(page, &after, &RULES)
}

/// A summary out of which something was taken: what was ours still is, and it covers the day no
/// longer. Whoever guesses what is gone could prove it by a hash.
pub fn still_ours(before: &str, after: &str) -> String {
    let mut document = Document::from(authored::still_ours(before, after, &RULES));
    if document.has(authored::WRITTEN) {
        document.set_raw("raw_sha256", "\"\"");
    }
    document.into_text()
}

/// Changes what is not as we wrote it; `None` where `edit` changes nothing of it.
pub fn edit_others(text: &str, edit: impl Fn(&str) -> Option<String>) -> Option<String> {
    authored::edit_others(text, &RULES, edit)
}

/// Whether we wrote a summary, whoever has changed it since.
pub fn is_from_us(text: &str) -> bool {
    Document::parse(text).has(authored::WRITTEN)
}

/// Whether nobody has written into a summary.
pub fn is_ours(text: &str) -> bool {
    authored::is_as_written(text, &RULES, |part| part.trim_end() == NOTES.trim_end())
}

/// How summaries are written. Nothing in their front matter is a matter of opinion.
static RULES: Rules = Rules {
    split: blocks,
    unit: Unit::Part,
    order: Order::Ours,
    measured: |key| ["schema", "day", "raw_sha256", "messages"].contains(&key),
};

fn blocks(body: &str) -> Vec<Part<'_>> {
    let mut starts = vec![0];
    let (mut at, mut fenced) = (0, false);
    for line in body.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        if at > 0 && !fenced && (line.starts_with("## ") || line.starts_with("### ")) {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(body.len());
    let texts = starts.windows(2).map(|ends| &body[ends[0]..ends[1]]);
    texts.filter(|text| !text.is_empty()).map(|text| Part { name: name(text), text }).collect()
}

/// The overview's blocks: their names and headings.
pub const SHORT: &str = "short";
const IN_SHORT: (&str, &str) = (SHORT, "## In short");
const OVERVIEW: [(&str, &str); 4] = [
    ("wanted", "## What was wanted"),
    ("decided", "## What was decided"),
    ("done", "## What was done"),
    ("open", "## What was left open"),
];
const SESSIONS: (&str, &str) = ("list", "## Sessions");
/// What the name of a session's block begins with.
const SESSION: &str = "session:";

/// What a block is, where it is one of ours.
fn name(block: &str) -> Option<Cow<'_, str>> {
    let mut lines = block.lines();
    let heading = lines.next()?.trim_end();
    if heading.starts_with("# ") {
        return Some("header".into());
    }
    if let Some((name, _)) =
        OVERVIEW.iter().chain([&IN_SHORT, &SESSIONS]).find(|(_, ours)| *ours == heading)
    {
        return Some((*name).into());
    }
    if !heading.starts_with("### Session (") {
        return None;
    }
    let named = lines.find(|line| !line.trim().is_empty())?;
    let session = match named.strip_prefix('[') {
        Some(link) => link.split_once("](")?.0,
        None => named.strip_prefix('`')?.split_once('`')?.0,
    };
    Some(format!("{SESSION}{session}").into())
}

fn body(day: NaiveDate, summary: &DaySummary, notes: &Notes) -> String {
    let mut body = format!("# Daily Summary {day}\n");
    if summary.has_raw {
        let link = layout::from_summary_to_day(day);
        body.push_str(&format!("\nEvery line: [raw log]({link})\n"));
    }
    if summary.has_older_page {
        let link = layout::from_summary_to_old_day(day);
        body.push_str(&format!("\nKept by another tool: [older page]({link})\n"));
    }
    body.push('\n');
    let short: String = summary.sessions.iter().filter_map(in_short).collect();
    if !short.is_empty() {
        body.push_str(&format!("{}\n{short}\n", IN_SHORT.1));
    }
    let lists = [&summary.wanted, &summary.decided, &summary.done, &summary.open];
    for ((_, heading), points) in OVERVIEW.iter().zip(lists) {
        if !points.is_empty() {
            let lines: String = points.iter().map(point).collect();
            body.push_str(&format!("{heading}\n{lines}\n"));
        }
    }
    // A session of which nothing but a note is there has no lines: its note came from somebody
    // else.
    let alone = notes
        .iter()
        .filter(|(name, _)| summary.sessions.iter().all(|session| session.session != **name));
    let alone = alone.map(|(name, notes)| SessionOfDay {
        session: name.clone(),
        first: notes.first().map(|note| note.from.clone()).unwrap_or_default(),
        last: notes.last().map(|note| note.until.clone()).unwrap_or_default(),
        ..SessionOfDay::default()
    });
    let mut sessions: Vec<SessionOfDay> = summary.sessions.iter().cloned().chain(alone).collect();
    sessions.sort_by(|a, b| (&a.first, &a.session).cmp(&(&b.first, &b.session)));
    let blocks: String = sessions
        .iter()
        .filter_map(|session| {
            let notes = notes.get(&session.session).map(Vec::as_slice).unwrap_or_default();
            session_block(session, notes)
        })
        .collect();
    if !blocks.is_empty() {
        body.push_str(&format!("{}\n\n{blocks}", SESSIONS.1));
    }
    body + NOTES
}

/// A session in one line: when, what, where, how it ended, and what came of it.
fn in_short(session: &SessionOfDay) -> Option<String> {
    let title = Some(inline(&session.title)).filter(|title| !title.is_empty())?;
    let title = match session.session.parse::<SessionId>() {
        Ok(id) if session.digested => {
            format!("[{title}]({})", layout::from_summary_to_digest(&id))
        }
        _ => title,
    };
    let minute = session.first.get(..5).unwrap_or(&session.first);
    let mut line = format!("- {minute} {title}");
    for about in [session.project.clone(), session.status.clone()].into_iter().flatten() {
        if about != "unknown" {
            line.push_str(&format!(" · {}", inline(&about)));
        }
    }
    if !session.headline.is_empty() {
        line.push_str(&format!(": {}", inline(&session.headline)));
    }
    Some(line + "\n")
}

fn point(point: &Point) -> String {
    // Its section below links to the digest.
    format!("- {} ({})\n", inline(&point.text), point.session)
}

fn session_block(session: &SessionOfDay, notes: &[Note]) -> Option<String> {
    if session.summary.is_empty() && notes.is_empty() {
        return None;
    }
    let minute = |time: &str| time.get(..5).unwrap_or(time).to_string();
    let mut text = format!("### Session ({})\n", minute(&session.first));
    let mut about = Vec::new();
    about.push(match session.session.parse::<SessionId>() {
        Ok(id) if session.digested => format!("[{id}]({})", layout::from_summary_to_digest(&id)),
        _ => code(&session.session),
    });
    about.extend(Some(inline(&session.title)).filter(|title| !title.is_empty()));
    about.extend(session.project.as_deref().map(inline));
    about.extend(session.status.clone().filter(|status| status != "unknown"));
    about.push(format!("{} to {}", minute(&session.first), minute(&session.last)));
    text.push_str(&format!("{}\n\n", about.join(" · ")));
    for note in notes {
        text.push_str(&note_text(note));
    }
    if !session.summary.is_empty() {
        if !notes.is_empty() {
            text.push_str(&format!("{FROM_LINES}\n\n"));
        }
        text.push_str(&lists(&session.summary, ""));
    }
    Some(text)
}

fn lists(summary: &SessionSummary, mark: &str) -> String {
    let mut text = String::new();
    for (heading, items) in SessionSummary::HEADINGS.iter().zip(summary.parts()) {
        if items.is_empty() {
            continue;
        }
        text.push_str(&format!("**{heading}**\n"));
        for item in items {
            text.push_str(&format!("- {}{mark}\n", inline(item)));
        }
        text.push('\n');
    }
    text
}

fn note_text(note: &Note) -> String {
    let (whose, mark) = match note.by_model {
        true => ("A model's words", BY_MODEL),
        false => ("From a context handed in", ""),
    };
    format!(
        "*{whose}, {} to {}* ^{}\n\n{}",
        note.from,
        note.until,
        note.id,
        lists(&note.summary, mark)
    )
}

/// The notes in a session's block.
fn notes_in(block: &str) -> Vec<Note> {
    static INTRODUCTION: StaticRegex = StaticRegex::new(
        r"^\*(A model's words|From a context handed in), ([\d:]{8}) to ([\d:]{8})\* \^([0-9a-f]{12})$",
    );
    let mut notes: Vec<Note> = Vec::new();
    let mut part = None;
    let mut within = false;
    for line in block.lines().map(str::trim_end) {
        if let Some(found) = INTRODUCTION.captures(line) {
            let (from, until, id) =
                (found[2].to_string(), found[3].to_string(), found[4].to_string());
            let by_model = &found[1] == "A model's words";
            notes.push(Note { id, from, until, by_model, summary: SessionSummary::default() });
            (part, within) = (None, true);
        } else if line == FROM_LINES {
            within = false;
        } else if let Some(note) = notes.last_mut().filter(|_| within) {
            let heading = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
            if let Some(heading) = heading {
                part = SessionSummary::HEADINGS.iter().position(|known| *known == heading);
            } else if let (Some(part), Some(item)) = (part, line.strip_prefix("- ")) {
                note.summary.parts_mut()[part]
                    .push(plain(item.strip_suffix(BY_MODEL).unwrap_or(item)));
            }
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::authored::part_hash;

    fn day() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, 15).unwrap()
    }

    fn summary(exchange: &str) -> DaySummary {
        let summary =
            SessionSummary { exchanges: vec![exchange.into()], ..SessionSummary::default() };
        let session = "SES3_laptop_SP1C2".to_string();
        DaySummary {
            raw_sha256: "ab".repeat(32),
            wanted: vec![Point { text: "a lock".into(), session: session.clone() }],
            sessions: vec![SessionOfDay {
                session,
                first: "13:40:10".into(),
                last: "14:52:31".into(),
                digested: true,
                summary,
                ..SessionOfDay::default()
            }],
            ..DaySummary::default()
        }
    }

    fn note(by_model: bool) -> Note {
        let summary = SessionSummary {
            context: vec!["why [x](y)".into()],
            actions: vec!["do it".into()],
            ..SessionSummary::default()
        };
        Note {
            id: "0123456789ab".into(),
            from: "13:40:10".into(),
            until: "13:50:00".into(),
            by_model,
            summary,
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_stays_the_same() {
        let notes = Notes::from([
            ("SES3_laptop_SP1C2".into(), vec![note(true)]),
            ("other".into(), vec![note(false)]),
        ]);
        let text = super::text(day(), &summary("one"), &notes, None);
        assert_eq!(super::notes(&text), notes, "{text}");
        assert_eq!(covers(&text), Some("ab".repeat(32)));
        assert_eq!(super::text(day(), &summary("one"), &notes, Some(&text)), text);
        let session = |exchange: &str| {
            let body = body(day(), &summary(exchange), &notes);
            blocks(&body)[3].text.to_string()
        };
        assert_eq!(
            super::text(day(), &summary("two"), &notes, Some(&text)),
            text.replace("one", "two")
                .replace(&part_hash(&session("one")), &part_hash(&session("two")),)
        );
    }

    #[test]
    fn a_person_s_words_stay() {
        let text = super::text(day(), &summary("one"), &Notes::new(), None);
        let edited = text
            .replace("a lock", "a better lock")
            .replace("## Sessions\n", "## Mine\nmy words\n\n## Sessions\n");
        let edited = edited.replace("(yours: never touched)", "remember the milk");
        let again = super::text(day(), &summary("two"), &Notes::new(), Some(&edited));
        for kept in
            ["a better lock", "## Mine\nmy words\n\n## Sessions", "remember the milk", "- two"]
        {
            assert!(again.contains(kept), "{kept}\n{again}");
        }
        assert!(!again.contains("- one"));
        let without = edited
            .replace("## What was wanted\n- a better lock", "")
            .replace("schema: ", "mine: yes\nschema: ");
        let again = super::text(day(), &summary("two"), &Notes::new(), Some(&without));
        assert!(!again.contains("What was wanted") && again.contains("mine: yes"), "{again}");
        // A session that a person wrote about takes what a flush adds.
        let edited = text.replace("- one", "- one, as I saw it");
        let notes = Notes::from([("SES3_laptop_SP1C2".into(), vec![note(true)])]);
        let again = super::text(day(), &summary("two"), &notes, Some(&edited));
        assert!(
            again.contains("- one, as I saw it") && again.contains("- do it (model)"),
            "{again}"
        );
        assert_eq!(super::text(day(), &summary("two"), &notes, Some(&again)), again);
    }
}
