//! A core from eight digests: what recurs across them, what the person stated, what was decided and
//! kept or reversed.
//!
//! Four steps: clean (what is not worth remembering, and what is said twice, goes), summarize
//! (claims become landmarks), index (each gets its name, its project, its state) and relate (which
//! session follows which, and what they share). A pure function of the eight, so any device that
//! holds them writes the same page.

mod gist;
mod history;
mod recurring;
mod relations;
pub mod sphere;

use std::sync::LazyLock;

use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::cured;
use crate::model::core::{
    Core, Domain, EVERYWHERE, Kind, Landmark, LandmarkId, LandmarkState, Member, Membership,
    OpenEnd, Superseded, Support,
};
use crate::model::digest::{Claim, ClaimKind, Digest, Origin, Outcome, Worth};
use crate::model::ids::{CoreId, SessionId};

pub use gist::Gist;
pub use history::with_history;

/// Which version of the rules made a core.
pub const MADE_BY: &str = "extractive/2";

const LONGEST_SENTENCE: usize = 400;
/// How many open ends a core lists for each project.
const MOST_OPEN: usize = 6;

/// Two sessions that begin with so many words in common were begun by one template.
const TEMPLATE_WORDS: usize = 6;

/// What is there of a session when its core is made.
#[derive(Debug, Clone)]
pub enum Source {
    Digest(Box<Digest>),
    Forgotten,
}

impl Source {
    fn digest(&self) -> Option<&Digest> {
        match self {
            Source::Digest(digest) => Some(digest),
            Source::Forgotten => None,
        }
    }
}

/// Consolidates the eight sessions of a core.
pub fn core(id: &CoreId, mut sources: Vec<(SessionId, Source)>) -> Core {
    for (_, source) in &mut sources {
        if let Source::Digest(digest) = source {
            digest.content.project = digest.content.project.as_deref().and_then(heading);
        }
    }
    let projects = sources.iter_mut().filter_map(|(_, source)| match source {
        Source::Digest(digest) => digest.content.project.as_mut(),
        Source::Forgotten => None,
    });
    spell_alike(projects);
    let members = sources.iter().map(|(session, source)| member(session, source)).collect();
    let is_worth = |digest: &&Digest| digest.content.worth == Worth::Full;
    let mut digests: Vec<&Digest> =
        sources.iter().filter_map(|(_, source)| source.digest()).filter(is_worth).collect();
    // What was said later counts as later, whenever it was captured.
    digests.sort_by_key(|digest| (digest.content.ended, digest.session.clone()));
    let mut drafts = stated(&digests);
    drafts.iter_mut().for_each(|draft| mark_cured(draft, &digests));
    for draft in &mut drafts {
        meet_again(draft, &digests);
    }
    drafts.extend(recurring::drafts(&digests));
    drafts.extend(recurring::checks(&digests));
    let (landmarks, superseded) = settle(drafts, &digests);
    let relations = relations::relations(&digests, &landmarks, &superseded);
    let open = left_open(&digests);
    Core { id: id.clone(), members, landmarks, superseded, relations, open }
}

/// What the sessions left to do: the latest of each project.
fn left_open(digests: &[&Digest]) -> Vec<OpenEnd> {
    let mut open: Vec<OpenEnd> = Vec::new();
    for digest in digests.iter().rev() {
        for claim in digest.content.stated.iter().filter(|claim| claim.kind == ClaimKind::Open) {
            let project = project(digest);
            if is_overtaken(&claim.text, digest, digests) {
                continue;
            }
            if open.iter().filter(|end| end.project == project).count() < MOST_OPEN {
                open.push(OpenEnd {
                    project,
                    text: sentence(&claim.text, LONGEST_SENTENCE),
                    session: digest.session.clone(),
                    episode: claim.episode,
                    on: digest.content.ended.map(|at| at.date_naive()),
                });
            }
        }
    }
    open.sort_by(|a, b| {
        (a.project.is_none(), &a.project, std::cmp::Reverse(a.on)).cmp(&(
            b.project.is_none(),
            &b.project,
            std::cmp::Reverse(b.on),
        ))
    });
    open
}

/// Whether a later session of the project did what was left to do: it changed and committed the
/// same files, or merged the pull request.
fn is_overtaken(text: &str, by: &Digest, digests: &[&Digest]) -> bool {
    static NOT_COMMITTED: StaticRegex =
        StaticRegex::new(r"^Changes(?: on branch \S+)? are not committed: ");
    static NOT_MERGED: StaticRegex = StaticRegex::new(r"^PR (#\d+)\b.* is not merged yet$");
    let later = || {
        digests.iter().filter(|other| {
            other.content.project == by.content.project && other.content.ended > by.content.ended
        })
    };
    if let Some(number) = NOT_MERGED.captures(text).map(|found| found[1].to_string()) {
        let merged = format!("PR {number} merged");
        return later()
            .any(|other| other.content.key_outcomes.iter().any(|line| line.starts_with(&merged)));
    }
    if !NOT_COMMITTED.is_match(text) {
        return false;
    }
    let mut files = text.split('`').skip(1).step_by(2).peekable();
    files.peek().is_some()
        && files.all(|file| {
            later().any(|other| {
                let content = &other.content;
                !content.commits.is_empty() && content.files.iter().any(|known| known == file)
            })
        })
}

fn member(session: &SessionId, source: &Source) -> Member {
    let what = match source {
        Source::Forgotten => Membership::Forgotten,
        Source::Digest(digest) if digest.content.worth == Worth::None => Membership::NotWorth,
        Source::Digest(digest) => Membership::Remembered {
            title: sentence(&digest.content.title, 100),
            project: project(digest),
            status: digest.content.status.to_string(),
            ended: digest.content.ended,
            outcome: digest
                .content
                .key_outcomes
                .first()
                .map(|outcome| sentence(outcome, LONGEST_SENTENCE))
                .unwrap_or_default(),
        },
    };
    Member { session: session.clone(), what }
}

/// A landmark in the making.
#[derive(Debug, Clone)]
struct Draft {
    kind: Kind,
    domain: Domain,
    project: Option<String>,
    text: String,
    gist: Gist,
    supports: Vec<Support>,
    /// When it was last said.
    last: Option<Timestamp>,
    /// Whether one session is enough to believe it.
    proved: bool,
}

/// A sentence as it stands on a page: one line, redacted, and without the mark that parts a line's
/// fields.
fn sentence(said: &str, longest: usize) -> String {
    // The digest was redacted when it was written; a person may have added to it.
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
    text::one_line(&REDACTOR.redact(said), longest).replace('|', "¦")
}

/// The name of a project as it stands in a heading.
fn heading(project: &str) -> Option<String> {
    let name = crate::base::markdown::heading(&sentence(project, 80));
    (!name.is_empty()).then_some(name)
}

/// Gives names that only case tells apart one spelling: the one with most capitals, since whoever
/// writes them means them.
pub fn spell_alike<'n>(names: impl Iterator<Item = &'n mut String>) {
    let names: Vec<&mut String> = names.collect();
    let mut spelled: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    let capitals = |name: &str| name.chars().filter(|letter| letter.is_uppercase()).count();
    for name in &names {
        let known = spelled.entry(name.to_lowercase()).or_insert_with(|| name.to_string());
        if (capitals(name), name.as_str()) > (capitals(known), known.as_str()) {
            *known = name.to_string();
        }
    }
    for name in names {
        if let Some(one) = spelled.get(&name.to_lowercase()) {
            name.clone_from(one);
        }
    }
}

fn project(digest: &Digest) -> Option<String> {
    digest.content.project.clone()
}

// --- What was stated ---

/// The claims of all sessions, those that say the same as one.
fn stated(digests: &[&Digest]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for digest in digests {
        for claim in digest.content.stated.iter().filter(|claim| is_landmark(claim)) {
            let draft = draft(digest, claim);
            let same = drafts.iter_mut().find(|known| {
                known.kind == draft.kind
                    && known.project == draft.project
                    && known.gist.says_the_same(&draft.gist)
            });
            match same {
                // The same prompt sent again says no more than the first time.
                Some(known) if is_of_one_prompt(known, digest, claim, digests) => {}
                Some(known) => {
                    known.supports.extend(draft.supports);
                    known.last = known.last.max(draft.last);
                    known.proved |= draft.proved;
                    // The person's own rule, whoever said it first.
                    known.domain = known.domain.min(draft.domain);
                }
                None => drafts.push(draft),
            }
        }
    }
    drafts
}

/// Whether a claim stands word for word in an earlier session that was begun with the same words: a
/// template, or a prompt that was sent twice.
fn is_of_one_prompt(known: &Draft, digest: &Digest, claim: &Claim, digests: &[&Digest]) -> bool {
    claim.origin == Origin::User
        && known.supports.iter().any(|support| {
            let earlier = digests.iter().find(|earlier| earlier.session == support.session);
            support.evidence == claim.text
                && earlier.is_some_and(|earlier| is_begun_alike(earlier, digest))
        })
}

/// Whether two sessions were begun with the same words.
fn is_begun_alike(one: &Digest, other: &Digest) -> bool {
    let (one, other) = (&one.content.objective, &other.content.objective);
    !one.is_empty() && one == other
}

/// Says of what the code lacked that a session mended it, the same or a later one of the project.
fn mark_cured(draft: &mut Draft, digests: &[&Digest]) {
    let is_lesson = draft.kind == Kind::Knowledge && draft.domain == Domain::Knowledge;
    if !is_lesson || draft.text.ends_with(cured::FIXED) {
        return;
    }
    let is_cured = digests.iter().any(|digest| {
        let outcomes = &digest.content.key_outcomes;
        let said_in = draft.supports.iter().find(|support| support.session == digest.session);
        let is_later = Some(digest.content.ended) > Some(draft.last);
        digest.content.project == draft.project
            && match said_in {
                Some(support) => cured::is_cured(&draft.text, support.episode, outcomes),
                None => is_later && cured::is_cured_later(&draft.text, outcomes),
            }
    });
    if is_cured {
        draft.text = format!("{}{}", draft.text.trim_end_matches('.'), cured::FIXED);
    }
}

/// Whether a claim is remembered for itself: not what was left open, not a line of commands, and no
/// guess at a rule.
fn is_landmark(claim: &Claim) -> bool {
    let guessed = claim.kind == ClaimKind::Standing && is_guess(&claim.text);
    claim.kind != ClaimKind::Open && claim.checks().is_empty() && !guessed
}

/// Whether a person guesses; whoever does lays nothing down.
fn is_guess(said: &str) -> bool {
    static GUESSES: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:(?:ok(?:ay)?|so|well|and|but|hm+),? )*(?:i (?:thought|think|guess|wonder)|might|maybe|perhaps|you'll want|not sure|could)\b",
    );
    // "All of this" was before the person's eyes, and is not before a later reader's.
    static POINTS: StaticRegex = StaticRegex::new(r"(?i-u)\ball of (?:this|that|it|them)\b");
    GUESSES.is_match(said) || POINTS.is_match(said)
}

fn draft(digest: &Digest, claim: &Claim) -> Draft {
    let (kind, domain) = match (claim.kind, claim.origin) {
        (ClaimKind::Standing, Origin::User) => (Kind::Belief, Domain::Safety),
        (ClaimKind::Decision, _) => (Kind::Decision, Domain::Knowledge),
        (ClaimKind::Standing | ClaimKind::Lesson | ClaimKind::Open, _) => {
            (Kind::Knowledge, Domain::Knowledge)
        }
    };
    let text = sentence(&claim.text, LONGEST_SENTENCE);
    let everywhere = kind == Kind::Belief && is_of_the_person(&text);
    Draft {
        kind,
        domain,
        project: if everywhere { Some(EVERYWHERE.into()) } else { project(digest) },
        proved: is_proved(digest, claim),
        gist: Gist::of(&text),
        supports: vec![Support {
            session: digest.session.clone(),
            episode: claim.episode,
            said_by: Some(claim.origin),
            evidence: claim.text.clone(),
        }],
        last: digest.content.ended,
        text,
    }
}

/// Whether a person says how they work, rather than how a project does.
fn is_of_the_person(said: &str) -> bool {
    static SELF: StaticRegex = StaticRegex::new(
        r"(?i)^(?:also,? |and |please |ok,? |btw,? )*i (?:always|never|prefer|value|greatly value|no longer use|hate|don['’]?t like)\b",
    );
    SELF.is_match(said)
}

/// Whether one session is enough to believe a claim: a program asked for it itself; or it explains
/// what went wrong, and the session ended well and with a commit, so its fix held.
fn is_proved(digest: &Digest, claim: &Claim) -> bool {
    match claim.kind {
        ClaimKind::Standing => claim.origin == Origin::Tool,
        // What a program refused once may be of that day; what it refuses again is how it is.
        ClaimKind::Lesson if claim.origin == Origin::Tool => false,
        ClaimKind::Lesson => {
            has_held(digest)
                && !narrates(&claim.text)
                && !shows_by_itself(claim.text.trim_end_matches(cured::FIXED))
                && names_a_thing(&claim.text)
        }
        // A choice of one thing over another, with which the session went well.
        ClaimKind::Decision => {
            let went_well = digest.content.status == Outcome::Success;
            claim.origin == Origin::User && went_well && lasts(&claim.text)
        }
        ClaimKind::Open => false,
    }
}

/// Whether a session ended well and with a commit, so that what it found held.
fn has_held(digest: &Digest) -> bool {
    digest.content.status == Outcome::Success && !digest.content.commits.is_empty()
}

/// Whether a sentence tells what somebody did at some moment, rather than how a thing is: nobody
/// who comes later does better for it.
fn narrates(said: &str) -> bool {
    static MOMENT: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:i|i['’]m|i['’]ve|i['’]ll|we|we['’]ve|we['’]re|let['’]s)\b|\b(?:now|today|currently|just|already|yet|still|in progress|need to)\b|\b(?:added|moved|renamed|updated|removed|replaced|switched|created|implemented)\b|\btried to\b|\bturned out\b|\bso the (?:problem|issue|bug) is\b|\bthis (?:change|branch|commit|pr|fix|session|time)\b|\bthe (?:deletion|change|current implementation)\b|\b(?:pr|pull request) #?\d+|^(?:since|points|problem \d|so|but|also|which|that|it|this|these|they|the fix)\b",
    );
    // How a formatter would have one line is no knowledge of a project.
    static FORMAT: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:lint(?:er)?|biome|prettier|eslint|formatter|\w+fmt)\b.{0,20}\b(?:wants?|expects?|prefers?)\b.*\b(?:lines?|wrap\w*|indent\w*|spac\w+|quotes?|format\w*)\b",
    );
    // What else stands in code is a name: `now()` is no moment.
    let words: Vec<&str> = said.split('`').step_by(2).collect();
    is_numbered(said) || FORMAT.is_match(said) || MOMENT.is_match(&words.join("_"))
}

/// Whether a sentence tells only what a checkout, or one name of the code, was like at the time, or
/// what was made of it: whoever comes later reads it there, or finds it changed.
fn shows_by_itself(said: &str) -> bool {
    static STATE: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:stale|missing|unused|out of (?:date|sync)|outdated|untracked)\b|\b(?:is|are) (?:actually |already |indeed )?correct\b|\bas-is\b|\bas (?:intended|expected)\b|\b\d+ (?:\S+ ){0,2}(?:warnings?|errors?|tests?|todos?|findings?|failures?|args?|arguments?)\b",
    );
    static DONE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:preserved|verified|verifies|confirmed|ensured|dropped|kept|fixed|changed)\b|\b(?:resolved|succeeded)\b|\bmade [a-z]+(?: in\b| —|[,;.]|$)",
    );
    // "`NAME` takes …", "The `NAME` variable is only …", "In `NAME`, …".
    static USE: StaticRegex = StaticRegex::new(
        r"(?i)^(?:the |in |both )?`([a-z_]\w*)(?:\(\))?`(?:,| (?:variable|function|method|parameter|argument|field|callback|hook|component|class|struct|type|constant)\b| (?:is|are|takes?|creates?|has|have|only|checks?|does|doesn['’]?t|calls?|returns?|uses?|reads?|sets?|keeps?|gets?)\b)",
    );
    // Why it is so stands in no code.
    static WHY: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:because|which is (?:what|why|how|where)|so that|requires?|must|needs?)\b|→",
    );
    let name = USE.captures(said).map(|found| found[1].to_string());
    let is_symbol =
        |name: &String| name.contains(char::is_lowercase) && (name.contains('_') || has_hump(name));
    let words: Vec<&str> = said.split('`').step_by(2).collect();
    let words = words.join("_");
    let is_use = name.as_ref().is_some_and(is_symbol) && !WHY.is_match(&words);
    is_use || DONE.is_match(&words) || (STATE.is_match(&words) && !words.contains('→'))
}

/// Whether a name has a capital behind a small letter.
fn has_hump(name: &str) -> bool {
    name.as_bytes().windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
}

/// Whether a sentence names an issue, a line or a commit by number: that is of its day, also in
/// code.
fn is_numbered(said: &str) -> bool {
    static NUMBERED: StaticRegex = StaticRegex::new(r"(?i)#\d{2,}\b|\blines? \d+");
    static HASH: StaticRegex = StaticRegex::new(r"\b[0-9a-f]{7,40}\b");
    let has_digit = |hash: regex::Match<'_>| {
        let hash = hash.as_str();
        hash.contains(|c: char| c.is_ascii_digit()) && hash.contains(|c: char| c.is_alphabetic())
    };
    NUMBERED.is_match(said) || HASH.find_iter(said).any(has_digit)
}

/// Whether a sentence names something of code: one that does not says nothing of this project.
fn names_a_thing(said: &str) -> bool {
    static THING: StaticRegex = StaticRegex::new(
        r"`[^`]{2,}`|(?-u)\b\w+\.\w{1,4}\b|\b\w+\(\)|\b[a-z]+[A-Z]\w+|--\w+|\b\w+_\w+|\b[A-Z]{3,}\b",
    );
    THING.is_match(said)
}

/// Whether a decision says what it chooses over what, or why: without, it is of the moment.
fn lasts(said: &str) -> bool {
    static WHY: StaticRegex = StaticRegex::new(
        r"(?i)\b(?:instead of|rather than|because|since|so that|due to|regardless)\b|, not ",
    );
    static REPLY: StaticRegex = StaticRegex::new(
        r"(?i)^(?:but|wait|no|ah|oh|hmm+|i mean|so|ok|and)\b|\b(?:perhaps|maybe|i guess)\b|\bright$",
    );
    // "Get this in early" names nothing that a later reader could look for.
    static POINTS: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:get|do|make|keep|put) (?:this|that|it)\b");
    // How one label reads is seen where it stands.
    static WORDING: StaticRegex = StaticRegex::new(
        r#"(?i)\b(?:appears?|reads?|says?|shown|called|labell?ed|named)\b.{0,12}["“]"#,
    );
    if settles(said) {
        return true;
    }
    WHY.is_match(said)
        && !WORDING.is_match(said)
        && !is_numbered(said)
        && !said.contains('?')
        && !REPLY.is_match(said)
        && (!POINTS.is_match(said) || names_a_thing(said))
}

/// Whether a decision is a person's answer to how a thing should be: an agent asked, so it was a
/// choice among others.
fn settles(said: &str) -> bool {
    static SHOULD: StaticRegex = StaticRegex::new(r"(?i)\bshould (?:the|we|users?|it|happen)\b");
    said.split_once("? → ").is_some_and(|(asked, answer)| {
        SHOULD.is_match(asked) && answer.split_whitespace().count() >= 2 && !is_numbered(answer)
    })
}

/// Adds the episodes of the same project that met the same things again: at least two of them by
/// name.
fn meet_again(draft: &mut Draft, digests: &[&Digest]) {
    let things: Vec<&String> = draft.gist.words().iter().filter(|word| is_a_name(word)).collect();
    if things.len() < 2 {
        return;
    }
    let said_in: Vec<SessionId> =
        draft.supports.iter().map(|support| support.session.clone()).collect();
    // A template that is sent again meets its own words again.
    let is_same_template = |digest: &Digest| {
        digest.content.objective.split_whitespace().count() >= TEMPLATE_WORDS
            && digests.iter().any(|other| {
                other.session != digest.session
                    && said_in.contains(&other.session)
                    && is_begun_alike(other, digest)
            })
    };
    for digest in digests.iter().filter(|digest| digest.content.project == draft.project) {
        if is_same_template(digest) {
            continue;
        }
        for trigger in &digest.content.triggers {
            let known = (&digest.session, trigger.episode);
            let met: Vec<&&String> =
                things.iter().filter(|thing| trigger.keys.contains(thing)).collect();
            if met.len() >= 2
                && draft.supports.iter().all(|support| (&support.session, support.episode) != known)
            {
                draft.supports.push(Support {
                    session: digest.session.clone(),
                    episode: trigger.episode,
                    said_by: None,
                    evidence: met[0].to_string(),
                });
            }
        }
    }
}

/// Whether a word is the name of a thing in code, which nobody uses by chance.
fn is_a_name(word: &str) -> bool {
    word.contains(['_', '.', '-', ':']) || word.chars().count() >= 12
}

// --- What holds ---

/// Gives every draft its state; of two that contradict each other the later one wins, or both are
/// contested.
fn settle(mut drafts: Vec<Draft>, digests: &[&Digest]) -> (Vec<Landmark>, Vec<Superseded>) {
    drafts.sort_by(|a, b| (&a.last, &a.text).cmp(&(&b.last, &b.text)));
    // Two lines of one episode ("where it is set", "where it is not set") are parts of one thought.
    let against = |a: &Draft, b: &Draft| {
        a.project == b.project
            && a.gist.contradicts(&b.gist)
            && !Support::meet(&a.supports, &b.supports)
    };
    let mut landmarks: Vec<Landmark> = Vec::new();
    let mut superseded: Vec<Superseded> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let mut landmark = landmark(draft, digests);
        let contested =
            drafts.iter().enumerate().any(|(other, rival)| other != at && against(draft, rival));
        let later = drafts[at + 1..].iter().find(|later| against(draft, later));
        if let Some(later) = later.filter(|_| draft.domain.latest_wins()) {
            landmark.state = LandmarkState::Deprecated;
            let said = later
                .supports
                .last()
                .map(|support| support.session.to_string())
                .unwrap_or_default();
            let by = Some(LandmarkId::new(later.kind, later.project.as_deref(), &later.text));
            superseded.push(Superseded {
                landmark,
                by,
                why: format!("{said} chose otherwise later"),
            });
            continue;
        }
        if contested && !draft.domain.latest_wins() {
            landmark.state = LandmarkState::Contested;
            landmark.confidence = landmark.confidence.min(40);
        }
        landmarks.push(landmark);
    }
    // Two wordings that became one are one.
    landmarks.sort_by(|a, b| order(a).cmp(&order(b)));
    landmarks.dedup_by(|a, b| a.id == b.id);
    superseded.retain(|old| landmarks.iter().all(|landmark| landmark.id != old.landmark.id));
    superseded.sort_by(|a, b| order(&a.landmark).cmp(&order(&b.landmark)));
    superseded.dedup_by(|a, b| a.landmark.id == b.landmark.id);
    (landmarks, superseded)
}

/// By project, then what is surest and best supported first.
pub fn order(landmark: &Landmark) -> impl Ord + '_ {
    let rank = match landmark.state {
        LandmarkState::Confirmed => 0,
        LandmarkState::Contested => 1,
        LandmarkState::Hypothesis => 2,
        LandmarkState::Deprecated | LandmarkState::Rejected => 3,
    };
    let support = std::cmp::Reverse((landmark.sessions(), landmark.confidence));
    (landmark.project.is_none(), &landmark.project, rank, support, landmark.kind, &landmark.text)
}

fn landmark(draft: &Draft, digests: &[&Digest]) -> Landmark {
    let mut landmark = Landmark {
        id: LandmarkId::new(draft.kind, draft.project.as_deref(), &draft.text),
        kind: draft.kind,
        domain: draft.domain,
        state: LandmarkState::Hypothesis,
        confidence: 0,
        project: draft.project.clone(),
        text: draft.text.clone(),
        supports: draft.supports.clone(),
        on: draft.last.map(|at| at.date_naive()),
        pinned: false,
        reviewed: false,
    };
    let when = |session: &SessionId| {
        digests
            .iter()
            .find(|digest| digest.session == *session)
            .and_then(|digest| digest.content.ended)
    };
    landmark
        .supports
        .sort_by_key(|support| (when(&support.session), support.session.clone(), support.episode));
    landmark.supports.dedup_by(|a, b| (&a.session, a.episode) == (&b.session, b.episode));
    let by_person = landmark.supports.iter().any(|support| support.said_by == Some(Origin::User));
    let succeeded = landmark.supports.iter().any(|support| {
        digests.iter().any(|d| d.session == support.session && d.content.status == Outcome::Success)
    });
    let said = landmark.sessions();
    let enough = draft.domain.sessions_to_confirm().is_some_and(|needed| said >= needed);
    // What is mended is no fact of the project any more, however often it was met.
    if (draft.proved || enough) && cured::is_lasting(&draft.text) {
        landmark.state = LandmarkState::Confirmed;
    }
    landmark.confidence = confidence(&landmark, by_person, succeeded);
    landmark
}

/// How sure a landmark is: by who said it, how often it was met, and whether it went well.
fn confidence(landmark: &Landmark, by_person: bool, succeeded: bool) -> u8 {
    let by_tool = landmark.supports.iter().any(|support| support.said_by == Some(Origin::Tool));
    let base = if by_person {
        70
    } else if by_tool {
        60
    } else {
        45
    };
    // A sentence that says why is worth more than one that says what.
    static CAUSE: StaticRegex =
        StaticRegex::new(r"(?i)\b(?:root cause|because|since|caused by|due to|requires?|must)\b");
    let explains = landmark.kind == Kind::Knowledge && CAUSE.is_match(&landmark.text);
    let again = (landmark.sessions().saturating_sub(1) * 8).min(28) as u8;
    (base + again + u8::from(succeeded) * 5 + u8::from(explains) * 5).min(98)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_at_a_rule_is_no_landmark() {
        for guess in [
            "ok, i think every line that is drawn must not be wider than the screen",
            "i thought we no longer use tabs",
            "might be in the other repository, this is a public repo",
            "always put all of this into the notes",
        ] {
            assert!(is_guess(guess), "{guess}");
        }
        for rule in ["Never push to main", "I always want a test first", "so always run the linter"]
        {
            assert!(!is_guess(rule), "{rule}");
        }
    }

    #[test]
    fn how_a_thing_is_outlasts_what_somebody_did() {
        for sentence in [
            "The stale cache was the cause, so I rebuilt it",
            "Since the field was only merged today, the migration is left out",
            "The branch is still a draft",
            "`src/plan.rs` — added the second table",
            "`#950` is no candidate for the next release",
            "Line 404 checks `is_open` and line 390 does not",
            "`1a2b3c4d` is the commit that breaks the `lock`",
            "Lint wants the `find` call on one line",
            "When the hook ran, `sort` tried to ask a question and found no terminal",
        ] {
            assert!(narrates(sentence), "{sentence}");
        }
        for lasting in [
            "The API requires `tool_result` to follow `tool_use` at once",
            "In Postgres `now()` is the time at which the transaction began",
            "A tag that is pushed with the default token triggers no other workflow",
        ] {
            assert!(!narrates(lasting), "{lasting}");
        }
    }

    #[test]
    fn what_names_nothing_of_code_is_said_of_no_project() {
        assert!(names_a_thing("Biome wraps a `className` of more than one line"));
        assert!(!names_a_thing("The warnings are in the tests, not in the client"));
    }

    #[test]
    fn what_the_code_itself_shows_is_no_lesson() {
        for shown in [
            "The `lastPage` variable is only read inside the `turnPage` callback",
            "`open_page` takes 2 arguments but is called with one",
            "In `sort_pages`, the order of the index is dropped",
            "The built page is stale relative to `src/page.rs`",
            "`~/.config/book.toml` is missing",
            "`cargo doc` prints 12 more warnings",
            "The `day_key` check is actually correct as-is",
            "`wrap()` failure made fatal in the printer",
            "Merge conflict resolved — both `a_page` and `b_page` are there",
        ] {
            assert!(shows_by_itself(shown), "{shown}");
        }
        for lasting in [
            "The API requires `tool_result` to follow `tool_use` at once",
            "`BOOK_HOME` is read before the settings are",
            "The `print_page` function only sets `note` (which is what the reader sees)",
            "`cargo publish` sends files that git does not know",
            "error: missing header → the index must be written before the pages",
        ] {
            assert!(!shows_by_itself(lasting), "{lasting}");
        }
    }

    #[test]
    fn an_answer_to_how_it_should_be_lasts_and_a_label_does_not() {
        assert!(lasts("How should users choose the paper? → Only by the settings"));
        assert!(!lasts("Can you see it? → no, not on this screen"));
        assert!(!lasts("The tab should appear as \"My pages\", not \"Pages\""));
    }

    fn claimed(session: &str, claims: &[(u32, &str)]) -> (SessionId, Source) {
        let claim = |(episode, text): &(u32, &str)| Claim {
            kind: ClaimKind::Lesson,
            text: text.to_string(),
            episode: crate::model::ids::EpisodeId(*episode),
            origin: Origin::Assistant,
        };
        let content = crate::model::digest::Content {
            project: Some("book".into()),
            stated: claims.iter().map(claim).collect(),
            ..Default::default()
        };
        let digest = Digest::of_content(session, content);
        (digest.session.clone(), Source::Digest(Box::new(digest)))
    }

    #[test]
    fn lines_of_one_episode_do_not_supersede_each_other() {
        let set = "The printer falls back to grey when `BOOK_INK` is set";
        let unset = "The printer falls back to grey when `BOOK_INK` is not set";
        let id: CoreId = "laptop_SP1C1".parse().unwrap();
        let superseded = |claims: &[(u32, &str)]| {
            core(&id, vec![claimed("SES1_laptop_SP1C1", claims)]).superseded.len()
        };
        assert_eq!(superseded(&[(1, set), (1, unset)]), 0);
        assert_eq!(superseded(&[(1, set), (2, unset)]), 1);
    }

    #[test]
    fn what_a_later_session_mended_is_never_confirmed() {
        let said = "`append_day` does not take the lock when `day_log` is empty";
        let id: CoreId = "laptop_SP1C1".parse().unwrap();
        let first = claimed("SES1_laptop_SP1C1", &[(1, said)]);
        let mut second = claimed("SES2_laptop_SP1C2", &[(1, said)]);
        let of = |second: &(SessionId, Source)| core(&id, vec![first.clone(), second.clone()]);
        assert_eq!(of(&second).landmarks[0].state, LandmarkState::Confirmed);
        let Source::Digest(digest) = &mut second.1 else { unreachable!() };
        digest.content.key_outcomes = vec!["`append_day` now takes the lock (EP_002)".into()];
        let landmark = of(&second).landmarks.remove(0);
        assert_eq!(landmark.state, LandmarkState::Hypothesis);
        assert_eq!(landmark.text, format!("{said} → fixed"));
    }

    #[test]
    fn a_prompt_that_was_sent_twice_counts_once() {
        let said = "do not feed the harbour seals any fish";
        let id: CoreId = "laptop_SP1C1".parse().unwrap();
        let of = |name: &str, objective: &str| {
            let (session, source) = claimed(name, &[(1, said)]);
            let Source::Digest(mut digest) = source else { unreachable!() };
            digest.content.objective = objective.into();
            digest.content.stated[0].kind = ClaimKind::Standing;
            digest.content.stated[0].origin = Origin::User;
            (session, Source::Digest(digest))
        };
        let sessions = |objective: &str| {
            let first = of("SES1_laptop_SP1C1", "Count the seals");
            let second = of("SES2_laptop_SP1C2", objective);
            core(&id, vec![first, second]).landmarks[0].sessions()
        };
        assert_eq!(sessions("Count the seals"), 1);
        assert_eq!(sessions("Paint the pier"), 2);
    }

    #[test]
    fn what_a_later_session_did_is_not_left_open() {
        let id: CoreId = "laptop_SP1C1".parse().unwrap();
        let of = |name: &str, day: u32, open: &[&str], commits: &[&str], outcome: &str| {
            let (session, source) = claimed(name, &[]);
            let Source::Digest(mut digest) = source else { unreachable!() };
            let content = &mut digest.content;
            let at = format!("2026-11-{day:02}T10:00:00Z");
            content.ended = Some(crate::base::clock::parse(&at).unwrap());
            content.commits = commits.iter().map(|hash| hash.to_string()).collect();
            content.files = vec!["src/tide.rs".into()];
            content.key_outcomes = vec![outcome.into()];
            let claim = |text: &&str| Claim {
                kind: ClaimKind::Open,
                text: text.to_string(),
                episode: crate::model::ids::EpisodeId(1),
                origin: Origin::Tool,
            };
            content.stated = open.iter().map(claim).collect();
            (session, Source::Digest(digest))
        };
        let left = [
            "Changes on branch main are not committed: `src/tide.rs`",
            "Changes on branch main are not committed: `src/quay.rs`",
            "PR #12 is not merged yet",
            "PR #1 is not merged yet",
        ];
        let open = |second: (SessionId, Source)| {
            let first = of("SES1_laptop_SP1C1", 1, &left, &[], "");
            let core = core(&id, vec![first, second]);
            core.open.into_iter().map(|end| end.text).collect::<Vec<_>>()
        };
        let merged = "PR #12 merged: the tide";
        let second = |day| of("SES2_laptop_SP1C2", day, &[], &["1a2b3c4"], merged);
        assert_eq!(open(second(2)), [left[1], left[3]]);
        assert_eq!(open(second(1)).len(), 4, "it was not later");
    }

    #[test]
    fn names_that_only_case_tells_apart_are_one_project() {
        let mut names = ["tide", "Tide", "quay", "tide"].map(str::to_string);
        spell_alike(names.iter_mut());
        assert_eq!(names, ["Tide", "Tide", "quay", "Tide"]);
    }

    #[test]
    fn what_is_not_worth_remembering_gives_a_core_nothing() {
        let (session, source) = claimed("SES1_laptop_SP1C1", &[]);
        let Source::Digest(mut digest) = source else { unreachable!() };
        digest.content.worth = Worth::None;
        digest.content.stated.push(Claim {
            kind: ClaimKind::Standing,
            text: "`make pages` passed".into(),
            episode: crate::model::ids::EpisodeId(1),
            origin: Origin::Tool,
        });
        let id: CoreId = "laptop_SP1C1".parse().unwrap();
        let core_of = |digest: &Digest| {
            core(&id, vec![(session.clone(), Source::Digest(Box::new(digest.clone())))]).landmarks
        };
        assert!(core_of(&digest).is_empty());
        digest.content.worth = Worth::Full;
        assert_eq!(core_of(&digest).len(), 1);
    }

    #[test]
    fn a_decision_that_only_points_does_not_last() {
        assert!(lasts("use one lock instead of two, because both are held anyway"));
        assert!(!lasts("let's get this in early, since the keys are not stable"));
        assert!(lasts("let's make this a `Mutex`, since two threads append"));
    }
}
