//! Digests as documents: what we write, read back, and write again around a person's edits.
//!
//! A digest remembers in `written` a short hash of each key and section as we wrote it. When it is
//! written again, only what still has that hash is replaced: everything else is a person's.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use crate::base::clock;
use crate::base::files;
use crate::base::front_matter::{self, Document};
use crate::base::markdown::{inline, plain};
use crate::base::text;
use crate::model::digest::{Claim, Content, Digest, Snapshot, State, Trigger, Worth};
use crate::model::evidence::Evidence;
use crate::model::ids::EpisodeId;
use crate::store::layout;

/// The schema that we write.
pub const SCHEMA: &str = "memtree/digest/1";

const TEMPLATE: &str = include_str!("../../templates/digest.md");

const MOTTO: &str = "> **Motto**: \"";
const EPISODES: &str = "- **Episodes**: ";
const VITALS: &str = "- **Vitals Snapshot**: ";
const SENSORY: &str = "- **Sensory Logs**: ";
const CAPTURED: &str = " entries captured";
const EVICTED: &str = "evicted ";
const CORE_INTENT: &str = "- **Core Intent**: ";
const KEY_OUTCOMES: &str = "- **Key Outcomes**: ";
const ARC: &str = "- **Emotional Arc**: ";
const REFERENCE: &str = " -> Trigger reference: [";
const KEYS: &str = " | keys: ";
const STATED_HEADING: &str = "## 🧭 Decisions and Lessons";
const STATED_REFERENCE: &str = " -> [";
const BETWEEN_OUTCOMES: &str = "; ";

/// The sections that are ours, by the word in their heading, with the name they have in `written`.
const SECTIONS: &[(&str, &str)] = &[
    ("Manifest", "manifest-section"),
    ("Semantic Summary", "summary"),
    ("Decisions and Lessons", "stated"),
    ("Knowledge Triggers", "triggers"),
    ("Synthesis Readiness", READINESS_SECTION),
];

const READINESS_SECTION: &str = "readiness-section";

/// What stands before the first section, as `written` names it.
const HEADER: &str = "header";

/// Keys that are always ours: what was measured or proved is not a matter of opinion.
const ALWAYS_OURS: &[&str] = &[
    "schema", "session", "source_id", "flavor", "state", "started", "ended", "captured",
    "episodes", "turns", "tokens_in", "tokens_out", "tokens_cache", "cost_usd", "evidence",
    "snapshot", "snapshot_bytes", "snapshot_files", "manifest_sha256", "manifest", "readiness",
    "made_by", "written",
];

/// Writes a digest as a new document.
pub fn digest_text(digest: &Digest) -> String {
    let entries = entries(digest);
    let body = body(digest);
    let written = written(&entries, &sections(&body));
    with_front_matter(&entries, &written, &body)
}

fn with_front_matter(
    entries: &[(&'static str, String)],
    written: &[(String, String)],
    body: &str,
) -> String {
    let written = written_value(written);
    let mut text = String::from("---\n");
    for (key, value) in
        entries.iter().map(|(key, value)| (*key, value)).chain([("written", &written)])
    {
        text.push_str(&entry_line(key, value));
    }
    text.push_str("---\n");
    text.push_str(body);
    text
}

/// A key with its value; a list stands on lines of its own.
fn entry_line(key: &str, value: &str) -> String {
    format!("{key}:{}{value}\n", if value.starts_with('\n') { "" } else { " " })
}

/// Whether a document's front matter holds our keys alone, none of them changed and nothing between
/// them.
fn is_as_written(document: &Document, before: &BTreeMap<String, String>) -> bool {
    let ours = |key: &str| ALWAYS_OURS.contains(&key) || before.contains_key(key);
    let unchanged =
        |key: &str, value: &str| before.get(key).is_none_or(|then| *then == short_hash(value));
    let mut text = String::from("---\n");
    for key in document.keys() {
        let value = document.get_raw(key).unwrap_or_default();
        if !ours(key) || !unchanged(key, value) {
            return false;
        }
        let block = value.starts_with("- ");
        text.push_str(&entry_line(
            key,
            &if block { format!("\n  {value}") } else { value.to_string() },
        ));
    }
    text.push_str("---\n");
    document.as_text() == text + document.body()
}

/// Writes a digest into the document that is there, keeping what a person changed in it.
pub fn digest_text_over(existing: &str, digest: &Digest) -> String {
    let text = merged_text(existing, digest);
    // Its core still holds what nobody changed.
    let related = related_text(&text);
    if related == existing { related } else { text }
}

fn merged_text(existing: &str, digest: &Digest) -> String {
    let mut document = Document::parse(existing);
    if document.keys().next().is_none() {
        // The front matter is gone or damaged: nothing of ours can be told from a person's words,
        // so the old text is kept whole, below the notes.
        let mut text = digest_text(digest);
        if !existing.trim().is_empty() {
            text.push_str("\n(what stood here before its front matter was damaged)\n\n");
            text.push_str(existing);
        }
        return text;
    }
    let before: BTreeMap<String, String> = document
        .get_list("written")
        .unwrap_or_default()
        .iter()
        .filter_map(|line| {
            line.split_once(' ').map(|(name, hash)| (name.to_string(), hash.to_string()))
        })
        .collect();
    let entries = entries(digest);
    let mut all_ours = is_as_written(&document, &before);
    let mut written = BTreeMap::new();
    for (key, value) in &entries {
        let ours = ALWAYS_OURS.contains(key);
        let there = document.get_raw(key).map(short_hash);
        let untouched = match (&there, before.get(*key)) {
            (Some(now), Some(then)) => now == then,
            // Removed by a person, or never written yet.
            (None, then) => then.is_none(),
            // Written by a person before we had anything to say there.
            (Some(_), None) => false,
        };
        if ours || untouched {
            document.set_raw(key, value);
            written.insert(key.to_string(), short_hash(value));
        } else {
            all_ours = false;
        }
        if let (false, Some(then)) = (ours || untouched, before.get(*key)) {
            written.insert(key.to_string(), then.clone());
        }
    }
    // A key that we once wrote and have no more to say about goes, unless a person changed it.
    let known = |key: &str| entries.iter().any(|(name, _)| *name == key);
    for key in ALWAYS_OURS.iter().filter(|key| **key != "written" && !known(key)) {
        document.remove(key);
    }
    for (key, then) in &before {
        if !known(key) && document.get_raw(key).map(short_hash).as_ref() == Some(then) {
            document.remove(key);
        }
    }
    // What a person says of the outcome holds on the whole page.
    let mut agreed = digest.clone();
    if let Some(status) = document.get_str("status").and_then(|word| word.parse().ok()) {
        agreed.content.status = status;
    }
    if let Some(objective) = document.get_str("objective") {
        agreed.content.objective = objective;
    }
    let (merged, section_hashes) = merged_body(document.body(), &body(&agreed), &before);
    written.extend(section_hashes);
    let order: Vec<(String, String)> = ordered(written);
    if all_ours {
        // In our own order, however often the session grew.
        return with_front_matter(&entries, &order, &merged);
    }
    document.set_body(&merged);
    document.set_raw("written", &written_value(&order));
    document.to_text()
}

/// The key that keeps a session from eviction; a person's own, so that it stays whatever we write.
pub const PINNED: &str = "pinned";

/// Whether a digest asks to keep its snapshot.
pub fn is_pinned(text: &str) -> bool {
    Document::parse(text).get_str(PINNED).is_some_and(|value| value == "true")
}

/// A digest that says that the raw behind it was evicted on a day; nothing else of it changes.
pub fn evicted(text: &str, day: &str) -> String {
    let mut document = Document::parse(text);
    document.set_raw("snapshot", &format!("{EVICTED}{day}"));
    let name = "manifest-section";
    let mut written = document.get_list("written").unwrap_or_default();
    let body = document.body();
    let section = sections(body).into_iter().find(|section| section.name == Some(name));
    let entry = section.as_ref().map(|section| format!("{name} {}", short_hash(section.text)));
    // The page says it in words too, unless a person wrote that section anew.
    if let (Some(section), Some(entry)) = (section, entry)
        && let Some(at) = written.iter().position(|line| *line == entry)
    {
        let said = with_eviction(section.text, day);
        written[at] = format!("{name} {}", short_hash(&said));
        let body = body.replacen(section.text, &said, 1);
        document.set_body(&body);
        document.set_raw("written", &front_matter::block_list(&written));
    }
    document.to_text()
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
    let document = Document::parse(text);
    let now = document.get_raw(key).map(short_hash);
    let written = document.get_list("written").unwrap_or_default();
    written.iter().any(|line| {
        line.split_once(' ').is_some_and(|(name, then)| name == key && now.as_deref() == Some(then))
    })
}

/// The headings of sections that we wrote and that are no longer there, in the words by which they
/// are known.
pub fn missing_sections(text: &str) -> Vec<&'static str> {
    let document = Document::parse(text);
    let written = document.get_list("written").unwrap_or_default();
    let wrote = |name: &str| {
        written.iter().any(|line| line.split_once(' ').is_some_and(|(known, _)| known == name))
    };
    let there = sections(document.body());
    let is_there = |name: &str| there.iter().any(|section| section.name == Some(name));
    SECTIONS
        .iter()
        .filter(|(_, name)| wrote(name) && !is_there(name))
        .map(|(word, _)| *word)
        .collect()
}

/// The digest with every key once, where git joined two versions of it line by line; `None` where
/// none stands twice. What a person wrote counts more than what we did.
pub fn without_doubles(text: &str) -> Option<String> {
    let mut document = Document::parse(text);
    let written = document.get_list("written").unwrap_or_default();
    let ours = |key: &str, raw: &str| {
        written.iter().any(|line| *line == format!("{key} {}", short_hash(raw)))
    };
    let is_a_matter_of_opinion =
        |key: &str| written.iter().any(|line| line.split(' ').next() == Some(key));
    let doubled = document.drop_doubles(|key, raw| is_a_matter_of_opinion(key) && !ours(key, raw));
    doubled.then(|| document.into_text())
}

/// The digest without the hashes of what no longer stands in it: whoever guesses a short text could
/// prove it by one.
pub fn without_stale_hashes(text: &str) -> String {
    let mut document = Document::parse(text);
    let Some(written) = document.get_list("written") else { return text.to_string() };
    let now = |name: &str| match sections(document.body())
        .into_iter()
        .find(|section| section.name == Some(name))
    {
        Some(section) => Some(short_hash(section.text)),
        None => document.get_raw(name).map(short_hash),
    };
    let holds = |line: &&String| {
        line.split_once(' ').is_some_and(|(name, then)| now(name).as_deref() == Some(then))
    };
    let kept: Vec<&String> = written.iter().filter(holds).collect();
    document.set_block_list("written", &kept);
    document.into_text()
}

/// What `readiness` says of a digest that its core holds, and the box that is ticked then.
const RELATED: &str = "related";
const RELATED_BOX: &str = "[ ] Relational Map Created";
const RELATED_TICK: &str = "[x] Relational Map Created";

/// The digest as it stands once its core holds it: the fourth box is ticked. A person's own section
/// stays as it is.
pub fn related_text(existing: &str) -> String {
    as_written_and_related(existing).unwrap_or_else(|| related_by_parts(existing))
}

/// The short way, for a page whose boxes are as we wrote them: most are, and a whole memory may
/// have to be ticked.
fn as_written_and_related(existing: &str) -> Option<String> {
    static SECTION: LazyLock<String> =
        LazyLock::new(|| readiness_section(TEMPLATE).expect("the template has it"));
    static ENTRIES: LazyLock<[String; 2]> = LazyLock::new(|| {
        let ticked = SECTION.replacen(RELATED_BOX, RELATED_TICK, 1);
        [SECTION.as_str(), &ticked]
            .map(|section| format!("\n  - \"{READINESS_SECTION} {}\"\n", short_hash(section)))
    });
    const READINESS: &str = "\nreadiness: [cleaned, summarized, indexed]\n";
    let matter = existing.find("\n---\n").filter(|_| existing.starts_with("---\n"))?;
    let (front, body) = existing.split_at(matter + 1);
    let section = body.find(SECTION.as_str())?;
    if !front.contains(READINESS)
        || !front.contains(&ENTRIES[0])
        || body[..section].contains("Synthesis Readiness")
    {
        return None;
    }
    let front =
        front.replacen(READINESS, "\nreadiness: [cleaned, summarized, indexed, related]\n", 1);
    let front = front.replacen(&ENTRIES[0], &ENTRIES[1], 1);
    let (before, after) = body.split_at(section);
    Some(format!("{front}{before}{}", after.replacen(RELATED_BOX, RELATED_TICK, 1)))
}

fn related_by_parts(existing: &str) -> String {
    let mut document = Document::parse(existing);
    let mut readiness = document.get_list("readiness").unwrap_or_default();
    if !document.has_front_matter() || readiness.iter().any(|step| step == RELATED) {
        return existing.to_string();
    }
    readiness.push(RELATED.into());
    document.set_raw("readiness", &front_matter::list(&readiness));
    let written = document.get_list("written").unwrap_or_default();
    let entry = |text: &str| format!("{READINESS_SECTION} {}", short_hash(text));
    if let Some(before) =
        readiness_section(document.body()).filter(|text| written.contains(&entry(text)))
    {
        let after = before.replacen(RELATED_BOX, RELATED_TICK, 1);
        let body = document.body().replacen(&before, &after, 1);
        document.set_body(&body);
        let written: Vec<String> = written
            .into_iter()
            .map(|line| if line == entry(&before) { entry(&after) } else { line })
            .collect();
        document.set_raw("written", &front_matter::block_list(&written));
    }
    document.into_text()
}

/// The section with the boxes, from its heading to the next one.
fn readiness_section(body: &str) -> Option<String> {
    let word = body.find("Synthesis Readiness")?;
    let start = body[..word].rfind("\n## ")? + 1;
    let end = body[word..].find("\n## ").map_or(body.len(), |end| word + end + 1);
    Some(body[start..end].to_string())
}

/// Reads a digest back; fails with the reason where it is not one.
pub fn parse_digest(text: &str) -> Result<Digest, String> {
    let document = Document::parse(text);
    let need =
        |key: &str| document.get_str(key).ok_or_else(|| format!("no `{key}` in its front matter"));
    let optional = |key: &str| document.get_str(key).filter(|value| !value.is_empty());
    let list = |key: &str| document.get_list(key).unwrap_or_default();
    let number = |key: &str| optional(key).and_then(|value| value.parse().ok()).unwrap_or(0);
    let schema = need("schema")?;
    if schema != SCHEMA {
        return Err(format!("schema `{schema}` is not `{SCHEMA}`"));
    }
    let body = document.body();
    let line = |start: &str| {
        body.lines().find_map(|line| line.strip_prefix(start)).map(plain).unwrap_or_default()
    };
    let motto = line(MOTTO);
    let snapshot = optional("snapshot").unwrap_or_else(|| "present".into());
    Ok(Digest {
        session: need("session")?.parse()?,
        source_id: need("source_id")?,
        captured: optional("captured").and_then(|at| clock::parse(&at)).unwrap_or_default(),
        state: optional("state").and_then(|word| word.parse().ok()).unwrap_or(State::Closed),
        content: Content {
            flavor: need("flavor")?,
            title: optional("title").unwrap_or_default(),
            status: optional("status")
                .and_then(|word| word.parse().ok())
                .unwrap_or(crate::model::digest::Outcome::Unknown),
            worth: optional("worth").and_then(|word| word.parse().ok()).unwrap_or(Worth::Full),
            objective: optional("objective").unwrap_or_default(),
            motto: motto.strip_suffix('"').unwrap_or(&motto).to_string(),
            core_intent: line(CORE_INTENT),
            key_outcomes: line(KEY_OUTCOMES)
                .split(BETWEEN_OUTCOMES)
                .filter(|outcome| !outcome.is_empty())
                .map(str::to_string)
                .collect(),
            arc: line(ARC),
            stated: body.lines().filter_map(parse_claim).collect(),
            triggers: body.lines().filter_map(parse_trigger).collect(),
            project: optional("project"),
            domain: optional("domain"),
            cwd: optional("cwd"),
            branch: optional("branch"),
            commits: list("commits"),
            models: list("model"),
            started: optional("started").and_then(|at| clock::parse(&at)),
            ended: optional("ended").and_then(|at| clock::parse(&at)),
            episodes: optional("episodes").and_then(|range| {
                let (first, last) = range.split_once(" - ").unwrap_or((&range, &range));
                Some((first.parse().ok()?, last.parse().ok()?))
            }),
            own_episodes: line(EPISODES)
                .rsplit_once(" (")
                .map(|(own, _)| own.to_string())
                .unwrap_or_default(),
            turns: number("turns"),
            tokens_in: number("tokens_in"),
            tokens_out: number("tokens_out"),
            tokens_cache: number("tokens_cache"),
            cost_usd: optional("cost_usd").and_then(|cost| cost.parse().ok()),
            files: list("files"),
            evidence: list("evidence").iter().filter_map(|line| line.parse().ok()).collect(),
            tags: list("tags"),
            vitals: line(VITALS)
                .strip_prefix("[vitals](")
                .and_then(|rest| rest.strip_suffix(')'))
                .map(link_path)
                .unwrap_or_default(),
            sensory: line(SENSORY)
                .split(' ')
                .next()
                .and_then(|count| count.parse().ok())
                .unwrap_or(0),
            made_by: optional("made_by").unwrap_or_default(),
        },
        snapshot: Snapshot {
            evicted: snapshot.strip_prefix(EVICTED).map(str::to_string),
            bytes: number("snapshot_bytes"),
            files: number("snapshot_files"),
            manifest_sha256: optional("manifest_sha256").unwrap_or_default(),
            manifest: list("manifest"),
        },
    })
}

/// Reads one trigger line.
pub fn parse_trigger(line: &str) -> Option<Trigger> {
    let (topic, rest) = line.strip_prefix("- [")?.split_once("]: ")?;
    let (sentence, reference) = rest.rsplit_once(REFERENCE)?;
    let (episode, rest) = reference.split_once("](")?;
    let (path, rest) = rest.split_once(')')?;
    let (origin, keys) = match rest.split_once(KEYS) {
        Some((origin, keys)) => (origin, keys),
        None => (rest, ""),
    };
    Some(Trigger {
        topic: plain(topic),
        sentence: plain(sentence),
        episode: episode.parse().unwrap_or(EpisodeId(0)),
        path: link_path(path),
        origin: origin
            .trim_start_matches(" | ")
            .parse()
            .unwrap_or(crate::model::digest::Origin::Assistant),
        keys: keys.split(", ").filter(|key| !key.is_empty()).map(plain).collect(),
    })
}

/// Reads one line of decisions and lessons.
pub fn parse_claim(line: &str) -> Option<Claim> {
    let (kind, rest) = line.strip_prefix("- ")?.split_once(": ")?;
    let kind = kind.parse().ok()?;
    let (text, reference) = rest.rsplit_once(STATED_REFERENCE)?;
    let (episode, rest) = reference.split_once("](")?;
    let (_, origin) = rest.split_once(") | ")?;
    Some(Claim {
        kind,
        text: plain(text),
        episode: episode.parse().ok()?,
        origin: origin.trim_end().parse().ok()?,
    })
}

fn claim_line(claim: &Claim) -> String {
    let text = inline(&claim.text.replace("->", "→"));
    let path = layout::from_digest(&layout::episode(claim.episode));
    format!(
        "- {}: {text}{STATED_REFERENCE}{}]({path}) | {}",
        claim.kind, claim.episode, claim.origin
    )
}

/// The section of decisions and lessons; nothing where nothing of the kind was said.
fn stated_section(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = claims.iter().map(claim_line).collect();
    format!("{STATED_HEADING}\n{}\n\n", lines.join("\n"))
}

fn trigger_line(trigger: &Trigger) -> String {
    // Nothing that a log says may look like the marks between a trigger's parts.
    let topic = inline(&trigger.topic.replace(['[', ']'], "'"));
    let sentence = inline(&trigger.sentence.replace("->", "→"));
    let keys: Vec<String> = trigger
        .keys
        .iter()
        .map(|key| inline(&key.replace([',', '|'], " ").replace("->", "→")))
        .collect();
    let path = match trigger.path.as_str() {
        "" => layout::from_digest(&layout::episode(trigger.episode)),
        path => link_target(path),
    };
    let keys = if keys.is_empty() { String::new() } else { format!("{KEYS}{}", keys.join(", ")) };
    format!(
        "- [{topic}]: {sentence}{REFERENCE}{}]({path}) | {}{keys}",
        trigger.episode, trigger.origin
    )
}

/// A path as the target of a link: what would end the link or the line is written as in an address.
fn link_target(path: &str) -> String {
    let mut target = String::with_capacity(path.len());
    for letter in path.chars() {
        let plain = letter.is_alphanumeric() || "/._-+=@,:~'!".contains(letter);
        match plain {
            true => target.push(letter),
            false => {
                letter.to_string().bytes().for_each(|byte| target.push_str(&format!("%{byte:02X}")))
            }
        }
    }
    target
}

/// What [`link_target`] was given.
fn link_path(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The front matter, entry by entry in order; empty values are left out.
fn entries(digest: &Digest) -> Vec<(&'static str, String)> {
    let content = &digest.content;
    let snapshot = &digest.snapshot;
    let mut entries: Vec<(&'static str, String)> = Vec::new();
    let mut put = |key: &'static str, value: String| {
        if !value.is_empty() {
            entries.push((key, value));
        }
    };
    let scalar =
        |value: &str| if value.is_empty() { String::new() } else { front_matter::scalar(value) };
    let some = |value: &Option<String>| value.as_deref().map(scalar).unwrap_or_default();
    let list =
        |items: &[String]| if items.is_empty() { String::new() } else { front_matter::list(items) };
    let count = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    let time = |at: Option<clock::Timestamp>| at.map(clock::stamp).unwrap_or_default();
    put("schema", SCHEMA.into());
    put("session", digest.session.to_string());
    put("source_id", scalar(&digest.source_id));
    put("flavor", scalar(&content.flavor));
    put("title", scalar(&content.title));
    put("state", digest.state.to_string());
    put("status", content.status.to_string());
    put("worth", content.worth.to_string());
    put("objective", scalar(&content.objective));
    put("project", some(&content.project));
    put("domain", some(&content.domain));
    put("cwd", some(&content.cwd));
    put("branch", some(&content.branch));
    put("commits", list(&content.commits));
    put("model", list(&content.models));
    put("started", time(content.started));
    put("ended", time(content.ended));
    put("captured", clock::stamp(digest.captured));
    put("episodes", episodes(content).unwrap_or_default());
    put("turns", content.turns.to_string());
    put("tokens_in", count(content.tokens_in));
    put("tokens_out", count(content.tokens_out));
    put("tokens_cache", count(content.tokens_cache));
    put("cost_usd", content.cost_usd.map(dollars).unwrap_or_default());
    put("files", list(&content.files));
    let evidence: Vec<String> = content.evidence.iter().map(Evidence::to_string).collect();
    put(
        "evidence",
        if evidence.is_empty() { String::new() } else { front_matter::block_list(&evidence) },
    );
    put("tags", list(&content.tags));
    put(
        "snapshot",
        snapshot.evicted.as_ref().map_or_else(|| "present".into(), |day| format!("{EVICTED}{day}")),
    );
    put("snapshot_bytes", snapshot.bytes.to_string());
    put("snapshot_files", snapshot.files.to_string());
    put("manifest_sha256", snapshot.manifest_sha256.clone());
    put("manifest", front_matter::block_list(&snapshot.manifest));
    put("readiness", "[cleaned, summarized, indexed]".into());
    put("made_by", scalar(&content.made_by));
    entries
}

/// Money with as many digits as tell something: cents, and parts of them where it is less than one
/// dollar.
fn dollars(cost: f64) -> String {
    if cost < 1.0 { format!("{cost:.4}") } else { format!("{cost:.2}") }
}

fn episodes(content: &Content) -> Option<String> {
    let (first, last) = content.episodes?;
    Some(format!("{first} - {last}"))
}

fn body(digest: &Digest) -> String {
    let content = &digest.content;
    fill(TEMPLATE, |name| match name {
        "session" => digest.session.to_string(),
        "status" => content.status.to_string(),
        "objective" => or_dash(&content.objective),
        "motto" => inline(&content.motto).replace('"', "'"),
        "episodes" => match (episodes(content), inline(&content.own_episodes)) {
            (None, _) => "none".into(),
            (Some(range), own) if own.is_empty() => range,
            (Some(range), own) => format!("{own} ({range})"),
        },
        "vitals" if content.vitals.is_empty() => "none".into(),
        "vitals" => format!("[vitals]({})", link_target(&content.vitals)),
        "sensory" => content.sensory.to_string(),
        "evicted" => digest.snapshot.evicted.as_deref().map(eviction).unwrap_or_default(),
        "core_intent" => or_dash(&content.core_intent),
        "key_outcomes" => {
            let outcomes: Vec<String> = content
                .key_outcomes
                .iter()
                .map(|outcome| one_line(outcome).replace(BETWEEN_OUTCOMES, ", "))
                .collect();
            or_dash(&outcomes.join(BETWEEN_OUTCOMES))
        }
        "arc" => or_dash(&content.arc),
        "stated" => stated_section(&content.stated),
        "triggers" if content.triggers.is_empty() => "(none: nothing was said)".into(),
        "triggers" => content.triggers.iter().map(trigger_line).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    })
}

fn one_line(value: &str) -> String {
    text::one_line(value, usize::MAX)
}

fn or_dash(value: &str) -> String {
    let line = inline(value);
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

/// The parts of a body: what stands before the first section, then each `##` section with its
/// heading.
fn sections(body: &str) -> Vec<Section<'_>> {
    let mut starts: Vec<usize> = Parser::new_ext(body, Options::empty())
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => Some(range.start),
            _ => None,
        })
        // A heading inside a quote or a list is not a section of ours.
        .filter(|start| *start == 0 || body.as_bytes()[start - 1] == b'\n')
        .collect();
    starts.insert(0, 0);
    starts.dedup();
    starts
        .iter()
        .enumerate()
        .map(|(at, start)| {
            let text = &body[*start..starts.get(at + 1).copied().unwrap_or(body.len())];
            let heading =
                text.lines().next().filter(|line| line.starts_with("##")).unwrap_or_default();
            let name = SECTIONS
                .iter()
                .find(|(word, _)| heading.contains(word))
                .map(|(_, name)| *name)
                .or((at == 0).then_some(HEADER));
            Section { name, text }
        })
        .collect()
}

struct Section<'b> {
    /// Its name in `written`, if it is ours.
    name: Option<&'static str>,
    text: &'b str,
}

/// The body with our untouched sections replaced, and the hashes to remember.
fn merged_body(
    existing: &str,
    new: &str,
    before: &BTreeMap<String, String>,
) -> (String, Vec<(String, String)>) {
    let ours = sections(new);
    let there = sections(existing);
    // As most of its lines end: one odd line must not turn the others.
    let windows_lines = existing.matches("\r\n").count() * 2 > existing.matches('\n').count();
    let in_style =
        |text: &str| if windows_lines { text.replace('\n', "\r\n") } else { text.to_string() };
    let mut merged = String::new();
    let mut hashes = Vec::new();
    let mut met = Vec::new();
    for section in &there {
        // A second section with our heading is a person's.
        let Some(name) = section.name.filter(|name| !met.contains(name)) else {
            merged.push_str(section.text);
            continue;
        };
        met.push(name);
        let then = before.get(name);
        let untouched = then.is_some_and(|then| *then == short_hash(section.text));
        match ours.iter().find(|our| our.name == Some(name)) {
            Some(our) if untouched => {
                merged.push_str(&in_style(our.text));
                hashes.push((name.to_string(), short_hash(our.text)));
            }
            // There is no more to say there.
            None if untouched => {}
            _ => {
                merged.push_str(section.text);
                hashes.extend(then.map(|then| (name.to_string(), then.clone())));
            }
        }
    }
    // A section that we did not have before goes before the next of ours, else before the notes;
    // one that a person removed stays away.
    for (at, our) in ours.iter().enumerate() {
        let Some(name) = our.name else { continue };
        let is_there = there.iter().any(|section| section.name == Some(name));
        match before.get(name) {
            None if !is_there => {
                let next = ours[at + 1..].iter().find_map(|next| place_of(&merged, next.name?));
                let at = next
                    .or_else(|| merged.find("\n## Notes").map(|at| at + 1))
                    .unwrap_or(merged.len());
                merged.insert_str(at, &in_style(our.text));
                hashes.push((name.to_string(), short_hash(our.text)));
            }
            Some(then) if !is_there => hashes.push((name.to_string(), then.clone())),
            _ => {}
        }
    }
    (merged, hashes)
}

/// Where a section of ours begins in a body.
fn place_of(body: &str, name: &str) -> Option<usize> {
    let section = sections(body).into_iter().find(|section| section.name == Some(name))?;
    Some(section.text.as_ptr() as usize - body.as_ptr() as usize)
}

fn written(entries: &[(&'static str, String)], sections: &[Section<'_>]) -> Vec<(String, String)> {
    let keys = entries
        .iter()
        .filter(|(key, _)| !ALWAYS_OURS.contains(key))
        .map(|(key, value)| (key.to_string(), short_hash(value)));
    let parts = sections
        .iter()
        .filter_map(|section| Some((section.name?.to_string(), short_hash(section.text))));
    ordered(keys.chain(parts).collect())
}

fn ordered(written: BTreeMap<String, String>) -> Vec<(String, String)> {
    written.into_iter().filter(|(name, _)| !ALWAYS_OURS.contains(&name.as_str())).collect()
}

fn written_value(written: &[(String, String)]) -> String {
    let lines: Vec<String> = written.iter().map(|(name, hash)| format!("{name} {hash}")).collect();
    front_matter::block_list(&lines)
}

/// A hash that tells an edit; white space at the ends and line ends do not count.
pub(super) fn short_hash(text: &str) -> String {
    files::sha256_hex(text.replace('\r', "").trim().as_bytes())[..12].to_string()
}
