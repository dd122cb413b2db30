//! Digests as documents: what we write, read back, and write again around a person's edits.
//!
//! The front matter is written and read by one table, [`fields`]; the body is filled from
//! `templates/digest.md`, and its marked lines are read back. What only machines need stands in a
//! comment, [`machine`].

pub mod fields;
mod garbled;
mod lines;
mod machine;

use std::sync::LazyLock;

use fields::{SCHEMA, SCHEMA_1};
pub use garbled::{garbled_sections, repaired};
use lines::{claim_line, error_line, index_line, line, trigger_line};
pub use lines::{parse_claim, parse_error, parse_index_line, parse_trigger};
pub use machine::MACHINE;
use machine::{folded, unfolded};

use crate::base::front_matter::{self, Document};
use crate::base::markdown::{inline, plain};
use crate::model::digest::{Claim, Content, Digest, Snapshot, SnapshotShape, State};
use crate::model::ids::SessionId;
use crate::store::authored::{self, Order, Page, Part, Rules, Unit, Written};
use crate::store::layout::{link_path, link_target};

const TEMPLATE: &str = include_str!("../../../templates/digest.md");

const MOTTO: &str = "> **Motto**: \"";
const EPISODES: &str = "- **Episodes**: ";
const VITALS: &str = "- **Vitals Snapshot**: ";
const SENSORY: &str = "- **Sensory Logs**: ";
const CAPTURED: &str = " entries captured";
const CORE_INTENT: &str = "- **Core Intent**: ";
const KEY_OUTCOMES: &str = "- **Key Outcomes**:";
const OUTCOME: &str = "  - ";
const ARC: &str = "- **Emotional Arc**: ";
/// The last heading of every digest; what follows is a person's.
const NOTES: &str = "## Notes";
const STATED_HEADING: &str = "## 🧭 Decisions and Lessons";
const INDEX_HEADING: &str = "## 🔎 Index";
/// What parts the outcomes of format 1, which stand in one line.
const BETWEEN_OUTCOMES: &str = "; ";

/// The sections that are ours, by the word in their heading, with the name they have in `written`.
const SECTIONS: &[(&str, &str)] = &[
    ("Manifest", MANIFEST_SECTION),
    ("Semantic Summary", "summary"),
    ("Decisions and Lessons", "stated"),
    ("Knowledge Triggers", "triggers"),
    ("Synthesis Readiness", READINESS_SECTION),
    ("🔎 Index", INDEX_SECTION),
];

const MANIFEST_SECTION: &str = "manifest-section";
const INDEX_SECTION: &str = "index";
const READINESS_SECTION: &str = "readiness-section";

/// Those that no page of format 2 lacks, unless somebody took them out.
const IN_EVERY_PAGE: [&str; 3] = [MANIFEST_SECTION, "summary", READINESS_SECTION];

/// What stands before the first section, as `written` names it.
const HEADER: &str = "header";

/// How digests are written.
pub static RULES: Rules = Rules {
    split: sections,
    unit: Unit::Part,
    order: Order::AsFound,
    measured: fields::is_measured,
};

fn sections(body: &str) -> Vec<Part<'_>> {
    let named = authored::sections(body).into_iter().enumerate().map(|(at, text)| {
        let heading = text.lines().next().filter(|line| line.starts_with("##")).unwrap_or_default();
        let known = SECTIONS.iter().find(|(word, _)| heading.contains(word));
        let name = known.map(|(_, name)| *name).or((at == 0).then_some(HEADER));
        Part { name: name.map(Into::into), text }
    });
    named.collect()
}

/// Whether a page, of which the beginning is enough, is a digest of format 1.
pub fn is_of_format_1(page: &str) -> bool {
    let schema = |line: &str| line.strip_prefix("schema:").map(|schema| schema.trim() == SCHEMA_1);
    page.lines().find_map(schema).unwrap_or(false)
}

/// Writes a digest as a new document.
pub fn text(digest: &Digest) -> String {
    folded(&page(digest).to_text())
}

/// Writes a digest into what is there, if there is anything.
pub fn text_now(existing: Option<&str>, digest: &Digest) -> String {
    existing.map_or_else(|| text(digest), |existing| text_over(existing, digest))
}

/// Writes a digest into the document that is there, keeping what a person changed in it.
pub fn text_over(existing: &str, digest: &Digest) -> String {
    // What a person says of the outcome holds on the whole page.
    let mut agreed = digest.clone();
    let whole = unfolded(existing);
    let document = Document::parse(&whole);
    let written = Written::of(&document, &RULES);
    for field in fields::FIELDS.iter().filter(|field| ["status", "objective"].contains(&field.key))
    {
        let raw = document.get_raw(field.key).unwrap_or_default();
        if !written.matches(&RULES, field.key, raw) {
            (field.read)(&mut agreed, &document);
        }
    }
    let text = folded(&page(&agreed).over(&whole));
    // Its core still holds what nobody changed.
    let related = related_text(&text);
    if related == existing { related } else { text }
}

fn page(digest: &Digest) -> Page {
    Page { rules: &RULES, entries: fields::entries(digest), body: body(digest) }
}

/// The key that keeps a session from eviction; a person's own, so that it stays whatever we write.
pub const PINNED: &str = "pinned";

/// Whether a digest asks to keep its snapshot.
pub fn is_pinned(text: &str) -> bool {
    Document::parse(text).get_str(PINNED).is_some_and(|value| value == "true")
}

/// A digest that says that the raw behind it was evicted on a day; nothing else of it changes.
pub fn evicted(text: &str, day: &str) -> String {
    let mut document = Document::parse(&unfolded(text));
    document.set_raw("snapshot", &fields::evicted(day));
    // The page says it in words too, unless a person wrote that section anew.
    let said = |section: &str| with_eviction(section, day);
    authored::edit_part(&mut document, &RULES, MANIFEST_SECTION, said);
    folded(document.as_text())
}

/// The manifest section with the words about an eviction in the place of earlier ones.
fn with_eviction(section: &str, day: &str) -> String {
    let line = |line: &str| match (line.starts_with(SENSORY), line.split_once(CAPTURED)) {
        (true, Some((before, rest))) => {
            let end = if rest.ends_with('\r') { "\r" } else { "" };
            format!("{before}{CAPTURED}{}{end}", eviction(day))
        }
        _ => line.to_string(),
    };
    section.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn eviction(day: &str) -> String {
    format!(", evicted with the raw on {day}")
}

/// Whether a key of a digest's front matter still has the value that we gave it.
pub fn is_as_we_wrote(text: &str, key: &str) -> bool {
    let document = Document::parse(&unfolded(text));
    let value = document.get_raw(key);
    value.is_some_and(|value| Written::of(&document, &RULES).matches(&RULES, key, value))
}

/// Whether a digest has lost what only machines need, by which all else is proved.
pub fn lacks_machine_facts(text: &str) -> bool {
    let is_of_format_2 = Document::parse(text).get_str("schema").is_some_and(|it| it == SCHEMA);
    is_of_format_2 && text.split_once(machine::START).is_none_or(|(_, end)| !end.contains("\n-->"))
}

/// The digest with the facts for machines of another one, where it lacks its own: whoever takes out
/// the last section takes them along.
pub fn with_machine_facts(text: &str, other: &str) -> String {
    match lacks_machine_facts(text) {
        true => machine::with_comment_of(text, other),
        false => text.to_string(),
    }
}

/// Whether a digest's end is missing, as after a write that was broken off: a person who takes
/// something out leaves the rest.
pub fn is_cut(text: &str) -> bool {
    let document = Document::parse(text);
    let body = document.body();
    let has_notes = body.lines().any(|line| line.trim_end() == NOTES);
    if lacks_machine_facts(text) {
        return !has_notes;
    }
    if !document.has_front_matter() {
        return text.starts_with("---\n");
    }
    let written = Written::of(&document, &RULES);
    let last = sections(body).into_iter().rfind(|part| part.name.is_some());
    let is_whole = |part: &Part<'_>| {
        part.name.as_ref().is_some_and(|name| written.matches(&RULES, name, part.text))
    };
    !written.is_empty()
        && !has_notes
        && (!missing_sections(text).is_empty()
            || !last.as_ref().is_some_and(is_whole)
            || !text.ends_with('\n')
            || text.ends_with("\n\n"))
}

/// The keys that we change later without remembering how.
const LATER_KEYS: [&str; 3] = ["state", "readiness", "snapshot"];

/// Whether what is left of a digest whose end is missing is all ours, so that it can be made again.
pub fn is_ours_as_far_as_it_goes(text: &str) -> bool {
    let last = sections(Document::parse(text).body()).pop().map_or(0, |part| part.text.len());
    let whole = &text[..text.len() - last];
    text.starts_with("---\n")
        && (!Document::parse(text).has_front_matter()
            || authored::is_as_written_but_for(whole, &RULES, &LATER_KEYS, |_| false))
}

/// The headings of sections that we wrote and that are no longer there, in the words by which they
/// are known.
pub fn missing_sections(text: &str) -> Vec<&'static str> {
    let document = Document::parse(&unfolded(text));
    let written = Written::of(&document, &RULES);
    let is_expected = |name| match written.is_empty() {
        true => IN_EVERY_PAGE.contains(&name),
        false => written.has(name),
    };
    let is_missing =
        |name| is_expected(name) && authored::find_part(document.body(), &RULES, name).is_none();
    let missing = SECTIONS.iter().filter(|(_, name)| is_missing(name));
    missing.map(|(word, _)| *word).collect()
}

/// The keys that say what raw gives, and nothing else does.
const FACTS: [&str; 7] = ["flavor", "source_id", "date", "started", "ended", "turns", "episodes"];

/// Whether a digest's sections are not all as we wrote them, so that raw has to say what they lack.
pub fn is_changed(text: &str) -> bool {
    let document = Document::parse(&unfolded(text));
    let written = Written::of(&document, &RULES);
    let is_ours = |name: &str| {
        let part = authored::find_part(document.body(), &RULES, name);
        part.is_none_or(|part| written.matches(&RULES, name, part))
    };
    lacks_machine_facts(text) || !SECTIONS.iter().all(|(_, name)| is_ours(name))
}

/// The sections out of which lines were taken and into which nobody wrote: their names, as they are
/// and as raw gives them.
fn shortened<'t>(text: &'t str, again: &'t str) -> Vec<(&'static str, &'t str, &'t str)> {
    let said = |part: &'t str| part.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut found = Vec::new();
    let (bodies, wholes) = (authored::body_of(text), authored::body_of(again));
    for (_, name) in SECTIONS {
        let part = |body: &'t str| authored::find_part(body, &RULES, name);
        let (Some(now), Some(whole)) = (part(bodies), part(wholes)) else { continue };
        let all: Vec<&str> = said(whole).collect();
        let is_ours = said(now).all(|line| all.contains(&line));
        if is_ours && said(now).count() < all.len() {
            found.push((*name, now, whole));
        }
    }
    found
}

/// The lines that a digest lacks and raw gives, where somebody took them out.
pub fn lines_lacking(text: &str, again: &str) -> Vec<String> {
    let (text, again) = (unfolded(text), unfolded(again));
    let mut lacking = Vec::new();
    for (_, now, whole) in shortened(&text, &again) {
        let there: Vec<&str> = now.lines().map(str::trim_end).collect();
        let lines = whole.lines().map(str::trim_end).filter(|line| !there.contains(line));
        lacking.extend(lines.map(str::to_string));
    }
    lacking
}

/// The facts of a digest that are not those that raw gives: each with what it gives.
pub fn facts_differing(text: &str, again: &str) -> Vec<(&'static str, String)> {
    let (unfolded_text, unfolded_again) = (unfolded(text), unfolded(again));
    let (now, then) = (Document::parse(&unfolded_text), Document::parse(&unfolded_again));
    let given = |key: &&str| then.get_raw(key).map(|raw| raw.trim().to_string());
    let differs = |key: &&str| given(key) != now.get_raw(key).map(|raw| raw.trim().to_string());
    let differing = FACTS.iter().filter(|key| given(key).is_some() && differs(key));
    differing.filter_map(|key| Some((*key, given(key)?))).collect()
}

/// The digest with the lines and facts that raw gives and that it lacks.
pub fn with_what_raw_gives(text: &str, again: &str) -> String {
    let (whole, given) = (unfolded(text).into_owned(), unfolded(again).into_owned());
    let mut document = Document::parse(&whole);
    for (key, value) in facts_differing(&whole, &given) {
        document.set_raw(key, &value);
    }
    let mut written = Written::of(&document, &RULES);
    let mut body = document.body().to_string();
    for (name, now, ours) in shortened(&whole, &given) {
        body = body.replacen(now, ours, 1);
        written.put(&RULES, name, ours);
    }
    if body != document.body() {
        document.set_body(&body);
        document.set_raw(authored::WRITTEN, &written.value());
    }
    folded(document.as_text())
}

/// The digest with every key once, where git joined two versions of it line by line; `None` where
/// none stands twice. What a person wrote counts more than what we did.
pub fn without_doubles(text: &str) -> Option<String> {
    let mut document = Document::parse(&unfolded(text));
    let written = Written::of(&document, &RULES);
    let is_edited = |key: &str, raw: &str| written.has(key) && !written.wrote(&RULES, key, raw);
    document.remove_duplicates(is_edited).then(|| folded(document.as_text()))
}

/// Two devices' versions of a digest, joined by key and section.
pub fn joined(base: Option<&str>, sides: [&str; 2]) -> String {
    let base = base.map(unfolded);
    let [one, other] = sides.map(unfolded);
    folded(&authored::join(&RULES, base.as_deref(), [&one, &other], |page| {
        // The one that saw more of the session.
        let turns: u64 = page.get_str("turns").and_then(|it| it.parse().ok()).unwrap_or_default();
        (turns, page.get_str("ended"), page.get_str("captured"))
    }))
}

/// Whether two versions of a digest are of one session: two devices with one name give the same id
/// to different ones, and what these say is not to be joined.
pub fn is_one_session(sides: [&str; 2]) -> bool {
    let [one, other] = sides.map(|text| {
        let page = Document::parse(text);
        page.get_str("source_id").map(|source| source.to_string())
    });
    one.is_none() || other.is_none() || one == other
}

/// The digest without the hashes of what no longer stands in it.
pub fn without_stale_hashes(text: &str) -> String {
    folded(&authored::without_stale_hashes(&unfolded(text), &RULES))
}

/// A digest with one more line in its Notes, which stand last. A line that is there already is not
/// added again.
pub fn with_note(text: &str, line: &str) -> String {
    if text.lines().any(|known| known == line) {
        return text.to_string();
    }
    let has_notes = text.lines().any(|line| line.trim_end() == NOTES);
    let heading = if has_notes { String::new() } else { format!("\n{NOTES}\n") };
    format!("{}\n{heading}{line}\n", text.trim_end())
}

/// A digest with what a person wrote into another one of the same session: keys that they changed
/// there and not here, and, below the notes, the sections that are theirs. What is here already is
/// not added again.
pub fn with_words_of(text: &str, other: &str, from: &SessionId) -> String {
    let (text, other) = (unfolded(text), unfolded(other));
    let (mut document, theirs) = (Document::parse(&text), Document::parse(&other));
    let (ours, written) = (Written::of(&document, &RULES), Written::of(&theirs, &RULES));
    for key in theirs.keys() {
        let (here, there) = (document.get_raw(key), theirs.get_raw(key).unwrap_or_default());
        let is_theirs = !written.matches(&RULES, key, there);
        let is_free = here.is_none_or(|here| ours.matches(&RULES, key, here));
        if key == PINNED || (written.has(key) && !fields::is_measured(key) && is_theirs && is_free)
        {
            document.set_raw(key, there);
        }
    }
    let is_theirs = |part: &Part<'_>| {
        part.name.as_deref().is_none_or(|name| !written.matches(&RULES, name, part.text))
    };
    let mut body = document.body().to_string();
    for part in sections(theirs.body()).iter().filter(|part| is_theirs(part)) {
        let words = part.text.trim().strip_prefix(NOTES).unwrap_or(part.text).trim();
        if !words.is_empty() && !body.contains(words) {
            body = format!("{}\n\n(from {from})\n{words}\n", body.trim_end());
        }
    }
    document.set_body(&body);
    folded(document.as_text())
}

/// What `readiness` says of a digest that its core holds, and the box that is ticked then.
const RELATED: &str = "related";
const RELATED_BOX: &str = "[ ] Relational Map Created";
const RELATED_TICK: &str = "[x] Relational Map Created";

/// The digest as it stands once its core holds it: the fourth box is ticked. A person's own section
/// stays as it is, and so does a page that lost what says which sections are ours.
pub fn related_text(existing: &str) -> String {
    if lacks_machine_facts(existing) {
        return existing.to_string();
    }
    as_written_and_related(existing).unwrap_or_else(|| related_by_parts(existing))
}

/// The template with all boxes ticked that we tick ourselves.
fn template_with(index: &str) -> String {
    let ticked = TEMPLATE.replace("{summarized}", "x").replace("{indexed}", "x");
    ticked.replace("{index}", index)
}

/// The short way, for a page whose boxes are as we wrote them: most are, and a whole memory may
/// have to be ticked.
fn as_written_and_related(existing: &str) -> Option<String> {
    static SECTION: LazyLock<String> =
        LazyLock::new(|| readiness_section(&template_with("")).expect("the template has it"));
    static ENTRIES: LazyLock<[String; 2]> = LazyLock::new(|| {
        let ticked = SECTION.replacen(RELATED_BOX, RELATED_TICK, 1);
        [SECTION.as_str(), &ticked].map(|section| {
            format!("\n  - \"{READINESS_SECTION} {}\"\n", authored::part_hash(section))
        })
    });
    static READINESS: LazyLock<[String; 2]> = LazyLock::new(|| {
        let related = fields::ALL_DONE.replace(']', &format!(", {RELATED}]"));
        [fields::ALL_DONE, &related].map(|steps| format!("\nreadiness: {steps}\n"))
    });
    let section = existing.find(SECTION.as_str()).filter(|_| existing.starts_with("---\n"))?;
    let (before, after) = existing.split_at(section);
    let (section, comment) = after.split_at(after.find(machine::START)?);
    if before.contains("Synthesis Readiness")
        || !comment.contains(&READINESS[0])
        || !comment.contains(&ENTRIES[0])
    {
        return None;
    }
    let section = section.replacen(RELATED_BOX, RELATED_TICK, 1);
    let comment = comment.replacen(&READINESS[0], &READINESS[1], 1);
    Some(format!("{before}{section}{}", comment.replacen(&ENTRIES[0], &ENTRIES[1], 1)))
}

fn related_by_parts(existing: &str) -> String {
    let mut document = Document::parse(&unfolded(existing));
    let mut readiness = document.get_list("readiness").unwrap_or_default();
    if !document.has_front_matter() || readiness.iter().any(|step| step == RELATED) {
        return existing.to_string();
    }
    readiness.push(RELATED.into());
    document.set_raw("readiness", &front_matter::list(&readiness));
    let tick = |section: &str| section.replacen(RELATED_BOX, RELATED_TICK, 1);
    authored::edit_part(&mut document, &RULES, READINESS_SECTION, tick);
    folded(document.as_text())
}

/// The section with the boxes, from its heading to the next one.
fn readiness_section(body: &str) -> Option<String> {
    let word = body.find("Synthesis Readiness")?;
    let start = body[..word].rfind("\n## ")? + 1;
    let end = body[word..].find("\n## ").map_or(body.len(), |end| word + end + 1);
    Some(body[start..end].to_string())
}

/// Reads a digest back; fails with the reason where it is not one.
pub fn parse(text: &str) -> Result<Digest, String> {
    let document = Document::parse(&unfolded(text));
    let need =
        |key: &str| document.get_str(key).ok_or_else(|| format!("no `{key}` in its front matter"));
    let schema = need("schema")?;
    if schema != SCHEMA && schema != SCHEMA_1 {
        return Err(format!("schema `{schema}` is not `{SCHEMA}`"));
    }
    let mut digest = Digest {
        session: need("session")?.parse()?,
        source_id: need("source_id")?,
        adopted_by: None,
        captured: Default::default(),
        state: State::Closed,
        content: Content { flavor: need("flavor")?, ..body_content(document.body()) },
        snapshot: Snapshot::default(),
    };
    fields::FIELDS.iter().for_each(|field| (field.read)(&mut digest, &document));
    Ok(digest)
}

/// What the body says that the front matter does not.
fn body_content(body: &str) -> Content {
    let line = |start: &str| {
        body.lines().find_map(|line| line.strip_prefix(start)).map(plain).unwrap_or_default()
    };
    let motto = line(MOTTO);
    let index = authored::find_part(body, &RULES, INDEX_SECTION).unwrap_or_default();
    let vitals = line(VITALS);
    // Of a folder they are named, since only one device has them.
    let named = || Some(vitals.strip_prefix('`')?.split_once("` on ")?.0);
    let vitals =
        vitals.strip_prefix("[vitals](").and_then(|rest| rest.strip_suffix(')')).or_else(named);
    Content {
        motto: motto.strip_suffix('"').unwrap_or(&motto).to_string(),
        core_intent: line(CORE_INTENT),
        key_outcomes: outcomes(body),
        arc: line(ARC),
        stated: body.lines().filter_map(parse_claim).collect(),
        triggers: body.lines().filter_map(parse_trigger).collect(),
        index: index.lines().filter_map(parse_index_line).collect(),
        errors: index.lines().filter_map(parse_error).collect(),
        own_episodes: line(EPISODES)
            .rsplit_once(" (")
            .map(|(own, _)| own.to_string())
            .unwrap_or_default(),
        vitals: vitals.map(link_path).unwrap_or_default(),
        sensory: line(SENSORY).split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0),
        ..Content::default()
    }
}

/// The outcomes: a line each, or as format 1 had them, all in one.
fn outcomes(body: &str) -> Vec<String> {
    let mut lines = body.lines().skip_while(|line| !line.starts_with(KEY_OUTCOMES));
    let first = lines.next().unwrap_or_default().strip_prefix(KEY_OUTCOMES).unwrap_or_default();
    let first = plain(first.trim_start());
    let in_one = first.split(BETWEEN_OUTCOMES).filter(|outcome| !["", "–"].contains(outcome));
    let listed = lines.map_while(|line| line.strip_prefix(OUTCOME)).map(plain);
    in_one.map(str::to_string).chain(listed).collect()
}

/// The Index; nothing where there is nothing to find.
fn index_section(content: &Content) -> String {
    let lines = content.index.iter().map(index_line);
    let lines: Vec<String> = lines.chain(content.errors.iter().map(error_line)).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("{INDEX_HEADING}\n{}\n\n", lines.join("\n")),
    }
}

/// The section of decisions and lessons; nothing where nothing of the kind was said.
fn stated_section(claims: &[Claim], of_folder: bool) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = claims.iter().map(|claim| claim_line(claim, of_folder)).collect();
    format!("{STATED_HEADING}\n{}\n\n", lines.join("\n"))
}

fn body(digest: &Digest) -> String {
    let content = &digest.content;
    let of_folder = content.shape() == SnapshotShape::Folder;
    let device = Some(&digest.session.device).filter(|_| of_folder);
    fill(TEMPLATE, |name| match name {
        "session" => digest.session.to_string(),
        "status" => content.status.to_string(),
        "objective" => or_dash(&content.objective),
        "motto" => line(&content.motto).replace('"', "'"),
        "episodes" => match (content.episodes, inline(&content.own_episodes)) {
            (None, _) => "none".into(),
            (Some((first, last)), own) if own.is_empty() => format!("{first} - {last}"),
            (Some((first, last)), own) => format!("{own} ({first} - {last})"),
        },
        "vitals" if content.vitals.is_empty() => "none".into(),
        "vitals" => match device {
            Some(device) => format!("`{}` on {device}", link_target(&content.vitals)),
            None => format!("[vitals]({})", link_target(&content.vitals)),
        },
        "sensory" => content.sensory.to_string(),
        "evicted" => digest.snapshot.evicted.as_deref().map(eviction).unwrap_or_default(),
        "core_intent" => or_dash(&content.core_intent),
        "key_outcomes" if content.key_outcomes.is_empty() => " –".into(),
        "key_outcomes" => {
            let outcomes = content.key_outcomes.iter();
            outcomes.map(|outcome| format!("\n{OUTCOME}{}", line(outcome))).collect()
        }
        "arc" => or_dash(&content.arc),
        "stated" => stated_section(&content.stated, of_folder),
        "triggers" if content.triggers.is_empty() => "(none: nothing was said)".into(),
        "triggers" => {
            let lines = content.triggers.iter().map(|trigger| trigger_line(trigger, device));
            lines.collect::<Vec<_>>().join("\n")
        }
        "summarized" => tick(content.is_summarized()),
        "indexed" => tick(content.is_indexed()),
        "index" => index_section(content),
        _ => String::new(),
    })
}

/// What stands in a box.
fn tick(is_done: bool) -> String {
    if is_done { "x" } else { " " }.into()
}

fn or_dash(value: &str) -> String {
    let line = line(value);
    if line.is_empty() { "–".into() } else { line }
}

/// Replaces each `{name}` of a template once; what is put in is not looked at again.
pub fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut text = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let name_end = rest[1..]
            .find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .map_or(rest.len(), |at| at + 1);
        if rest[name_end..].starts_with('}') && name_end > 1 {
            text.push_str(&value(&rest[1..name_end]));
            rest = &rest[name_end + 1..];
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_to_a_ticked_box_is_taken_and_ends_where_the_long_one_does() {
        let index = "## 🔎 Index\n- EP_001: tide, harbour\n\n";
        for index in ["", index] {
            let body = template_with(index);
            let boxes = readiness_section(&body).unwrap();
            let page = format!(
                "---\ntitle: T\n---\n{}<!-- memtree:\nreadiness: {}\nwritten:\n  - \"{} {}\"\n-->\n\n## Notes\n",
                body.trim_end_matches("## Notes\n"),
                fields::ALL_DONE,
                READINESS_SECTION,
                authored::part_hash(&boxes),
            );
            let short = as_written_and_related(&page).expect("the boxes are as we wrote them");
            assert_eq!(short, related_by_parts(&page));
            assert!(short.contains(RELATED_TICK) && !short.contains(RELATED_BOX));
            assert_eq!(related_text(&short), short, "once is enough");
        }
    }
}
