//! Remarks: what of an episode's words and outputs may be worth carrying on, gathered while it
//! streams by: how the agent took the prompt, what the person answered, what a sentence states,
//! what a hook asked for. `digest/claims` decides which of them stand on the page.

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::steps::{Step, StepKind, ToolCall};
use crate::distill::usage::UsageFinder;
use crate::distill::{commands, errors, replies};
use crate::model::session::Action;

/// What may be worth carrying on of one episode.
#[derive(Debug, Default)]
pub struct Remarks {
    /// How the agent's first words after the prompt begin.
    pub opening: String,
    /// How its last words end: there it offers something.
    pub closing: String,
    /// Questions that the agent put to the person through a tool, and the answers.
    pub answers: Vec<(String, String)>,
    /// What the agent states.
    pub statements: Vec<Statement>,
    /// What the agent chose or left out, and why.
    pub choices: Vec<String>,
    /// What a hook that refused, or a linter, asks for.
    pub demands: Vec<Demand>,
    /// Forms of commands that were refused, and those that worked.
    pub usages: UsageFinder,
    /// Whether the person stopped the agent and it said nothing since.
    pub stopped: bool,
    /// Whether a command failed since the agent last spoke.
    failed: bool,
    /// Where the statements and choices of the last reply begin.
    last: (usize, usize),
}

/// A passage that says how something is, and why it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    /// How many signs there are that it explains a failure, besides what the prompt asks.
    pub signs: u32,
    /// Whether it stands in the last reply of the episode.
    pub is_last: bool,
}

/// What a program asks for in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    Hook(String),
    Linter(String),
}

const LONGEST_OPENING: usize = 300;
const LONGEST_CLOSING: usize = 1600;
const LONGEST_REPLY: usize = 8000;
const MOST_IN_A_LIST: usize = 24;
/// A passage has at most so many words.
const LONGEST_PASSAGE: usize = 50;

impl Remarks {
    /// Takes the next step of the episode.
    pub fn take(&mut self, step: &Step) {
        if step.agent.is_some() {
            return;
        }
        match &step.kind {
            StepKind::Intervention(_) => self.stopped = true,
            StepKind::Reply(said) => self.add_reply(said),
            StepKind::ToolCall(call) => self.add_call(call),
            _ => {}
        }
    }

    /// Takes in the remarks of the part that follows.
    pub fn absorb(&mut self, next: Remarks) {
        self.answers.extend(next.answers);
        self.statements.extend(next.statements);
        self.choices.extend(next.choices);
        self.demands.extend(next.demands);
        self.usages.absorb(next.usages);
        self.statements.truncate(2 * MOST_IN_A_LIST);
        self.choices.truncate(2 * MOST_IN_A_LIST);
        self.answers.truncate(2 * MOST_IN_A_LIST);
        self.demands.truncate(MOST_IN_A_LIST);
        (self.closing, self.stopped) = (next.closing, next.stopped);
    }

    fn add_reply(&mut self, said: &str) {
        if said.trim().is_empty() {
            return;
        }
        let said = straight(said);
        if self.opening.is_empty() {
            self.opening = text::cut(&said, LONGEST_OPENING).to_string();
        }
        self.closing = end_of(&said, LONGEST_CLOSING).to_string();
        if turns_round(&said) {
            // What it said just before was wrong.
            self.statements.truncate(self.last.0);
            self.choices.truncate(self.last.1);
        }
        self.statements.iter_mut().for_each(|statement| statement.is_last = false);
        self.last = (self.statements.len(), self.choices.len());
        let prose = replies::split_code(text::cut(&said, LONGEST_REPLY)).0;
        let mut sentences: Vec<String> = Vec::new();
        for sentence in text::sentences(&prose) {
            // `/api/…` ends no sentence where a small letter follows.
            let goes_on = sentence.starts_with(|first: char| first.is_lowercase());
            match sentences.last_mut().filter(|last| goes_on && last.ends_with('`')) {
                Some(last) => *last = format!("{last} {}", markdown::strip_marks(sentence)),
                None => sentences.push(plain_sentence(sentence)),
            }
        }
        self.add_statements(&sentences, concedes(&said));
        for sentence in &sentences {
            if self.choices.len() < MOST_IN_A_LIST && is_choice(sentence) {
                self.choices.push(without_resolve(sentence));
            }
        }
        (self.failed, self.stopped) = (false, false);
    }

    /// Keeps the passages that state something, each with what stands around it.
    fn add_statements(&mut self, sentences: &[String], conceded: bool) {
        let states: Vec<bool> = sentences
            .iter()
            .enumerate()
            .map(|(at, one)| {
                is_statement(one)
                    || (conceded && at < 2 && is_admission(one))
                    || (self.failed && names_failure(one))
            })
            .collect();
        for (at, sentence) in sentences.iter().enumerate().filter(|(at, _)| states[*at]) {
            if self.statements.len() >= MOST_IN_A_LIST {
                return;
            }
            let next = sentences.get(at + 1);
            let refuted = next.is_some_and(|next| turns_round(next));
            let around = Around {
                conceded,
                failed: self.failed,
                announced: at > 0 && announces_cause(&sentences[at - 1]),
                fixed: next.is_some_and(|next| says_what_fixes(next)),
                named: self.failed && names_failure(sentence),
            };
            let Some(signs) = signs(sentence, around).filter(|_| !refuted) else {
                continue;
            };
            let Some(mut text) = passage(sentences, &states, at) else { continue };
            if let Some(fix) = next.filter(|fix| around.fixed && !text.contains(fix.as_str())) {
                text = format!("{text} {fix}");
            }
            self.statements.push(Statement { text, signs, is_last: true });
        }
    }

    fn add_call(&mut self, call: &ToolCall) {
        self.usages.take(call);
        let Some(answer) = &call.answer else { return };
        self.stopped = call.failed() && errors::is_refusal(&answer.text);
        match &call.action {
            Action::Ask { question } => self.add_answer(question, &answer.text),
            Action::Shell { command } if !commands::looks_only(command) => {
                let failed = call.failed();
                // A pipe hides that a check failed; what it printed does not.
                let is_check = !failed && commands::check_command(command).is_some();
                self.failed |= failed || is_check && prints_failure(command, &answer.text);
                if failed {
                    self.demands.extend(asked_by_hook(command, &answer.text));
                }
                if failed || is_check {
                    self.demands.extend(forbidden_by_linter(&answer.text));
                }
                self.demands.truncate(MOST_IN_A_LIST);
            }
            _ => {}
        }
    }

    fn add_answer(&mut self, asked: &str, answer: &str) {
        static PAIR: StaticRegex = StaticRegex::new(r#""([^"\n]{5,})"="([^"\n]+)""#);
        static SAID: StaticRegex = StaticRegex::new(
            r"(?i)^\s*(?:the )?user (?:has )?(?:selected|responded|answered|chose):?\s*(.+)",
        );
        let answer = text::cut(answer, 4000);
        let mut pairs: Vec<(String, String)> = PAIR
            .captures_iter(answer)
            .map(|found| (found[1].to_string(), found[2].to_string()))
            .collect();
        if let Some(found) = SAID.captures(answer).filter(|_| pairs.is_empty()) {
            pairs.push((asked.to_string(), found[1].to_string()));
        }
        self.answers.extend(pairs);
        self.answers.truncate(MOST_IN_A_LIST);
    }
}

/// Text with straight apostrophes, so that a pattern needs one spelling.
pub fn straight(said: &str) -> std::borrow::Cow<'_, str> {
    if said.contains('’') { said.replace('’', "'").into() } else { said.into() }
}

/// The last bytes of a text, from a character on.
fn end_of(said: &str, most: usize) -> &str {
    let from = said.len().saturating_sub(most);
    let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
    &said[from..]
}

/// Whether an answer opens by giving the person right.
///
/// "Yes" and "Exactly" mean nothing; "You're right" and "Good catch" do.
pub fn concedes(reply: &str) -> bool {
    static CONCEDES: StaticRegex = StaticRegex::new(
        r#"(?i-u)^[*_ "'(]{0,4}(?:you(?:'|a)?re (?:absolutely |completely |totally |100% )?(?:right|correct)\b|good (?:point|catch|idea|call|thinking)\b|great (?:point|idea|catch)\b|agreed\b|i agree\b|fair (?:point|enough)\b|makes sense\b|absolutely right|love it\b|that(?:'s| is) (?:a )?(?:fair|good|great|better|much|right)\b)"#,
    );
    // "You're right to ask" answers a question.
    static ONLY_POLITE: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:right|correct) to (?:ask|wonder|question|worry|be|check|doubt)\b",
    );
    let opening = text::cut(reply, 80);
    CONCEDES.is_match(opening) && !ONLY_POLITE.is_match(opening)
}

/// Whether words take back what was said before them.
fn turns_round(said: &str) -> bool {
    static TURN: StaticRegex = StaticRegex::new(
        r#"(?i-u)^[*_ "'(]{0,4}(?:wait\b|oh wait|actually,|hmm+\b|scratch that|on second thought|no, )"#,
    );
    TURN.is_match(text::cut(said, 60))
}

/// A sentence without Markdown and without an opener that says nothing.
fn plain_sentence(sentence: &str) -> String {
    static OPENER: StaticRegex = StaticRegex::new(
        r"(?i)^(?:good (?:catch|point|call)|you're (?:absolutely |completely )?right|yep|yes|confirmed|exactly|right|found it|i see(?: the (?:issue|problem))?|got it|interesting|ah|oh|so)(?:\s*[—–,.:!]+\s*|\s+-\s+)",
    );
    let plain = markdown::strip_marks(sentence.trim());
    let rest = OPENER.find(&plain).map_or(plain.as_str(), |opener| &plain[opener.end()..]);
    // "So the lock …" goes on from what nobody reads here.
    let bare = rest.strip_prefix("So ");
    let rest = bare.filter(|rest| rest.starts_with(['`', 't'])).unwrap_or(rest);
    let said = if rest.len() < plain.len() { text::capitalized(rest) } else { plain };
    text::one_line(&said, 500)
}

// --- What states something ---

/// Whether a sentence says how a thing is, in the present: not what the agent does, not what might
/// be, not the state of the moment.
fn is_statement(sentence: &str) -> bool {
    static NARRATES: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:i\b|we\b|let\b|now\b|here\b|next\b|first\b|then\b|good\b|great\b|perfect|excellent|done\b|added|updated|fixed|created|removed|changed|implemented|all (?:tests|checks|done)|both\b|no response|you\b|your\b|want\b|would\b|should\b|looking|wait|hmm|actually|ok\b|okay|sure|yes\b|run\b|use\b|add\b|remove\b|fix\b|update\b|change\b|drop\b|accept\b|check\b|verified|committed|pushed|current(?:ly)?\b|to\b|after\b|summary|note:|option|phase\b|step \d|what\b|why\b|how\b|tests?\b|if\b|even\b|expected\b|purpose\b|low\b|medium\b|high\b|critical\b|blocking\b|nit\b|suggested\b|suggestion|severity|p\d\b|files?:|consider\b|offer\b|integrate\b|alternative|available\b|draft\b|no need\b|two (?:small )?\w+:|please\b|warns?\b|my\b|info\b|allows?\b|ensures?\b|maps?\b|emits?\b|prints?\b|returns?\b|adds\b|keeps?\b|handles?\b|detects?\b|skips?\b|verify\b|verifies\b|delete\b|merge conflict|this (?:pr|checkout|branch)\b|need\b|pass\b|require\b|edit \d|instead,|right now\b|\d+\.\s|(?:tighten|re-?enable|enable|disable|keep|make sure|switch|replace|move|create|avoid|prefer|install|configure|ensure|pin|bump)\b|(?:load|inject|show|fall|include|use|read|write|create|send|get|take|make|remove|provide|validate|generate|expose|wrap|store|convert|extract|preserve|avoid|prevent|replace|set)s\b|its\b|only (?:when|if)\b|(?:hard-)?deprecated\b|documented\b|identified\b|push succeeded|(?:biome|lint|(?:the )?(?:linter|formatter)|prettier|eslint) wants\b|(?:[\w'-]+ ){1,4}confirm(?:s|ed)\b|\w+ status: |(?:points|refers|preserved|reserved|verified) |[a-z]+(?:[a-rt-z0-9]s|ed) (?:to|via|the|an?|all|both|each|every) |still existing\b|not\b|none\b|the (?:diagnostics? (?:is|are)\b|key guardrail\b|prompt (?:explicitly|asks|says|requires)\b))",
    );
    static PRESENT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:is|are|(?:was|were) (?:caused by|due to)|does|do|doesn't|don't|isn't|aren't|requires?|needs?|uses?|reads?|writes?|returns?|runs?|means|has|have|only|can|cannot|can't|must|picks?|expects?|treats?|passes|validates?|falls?|fails?|breaks?|masks?|ignores?|drops?|keeps?|sends?|calls?|gets?|stays?|skips?|creates?|checks?|won't|shows?|displays?|triggers?|lists?|includes?|contains?|loads?|handles?|happens?|quotes?|matches|sees|looks|starts?|throws?|wraps?|points?|prints?|wants?|provides?|supports?|allows?|applies|makes?|tries|takes?|sets?|gives?|comes?|goes|exists?|belongs?|depends?|stores?|holds?|saves?|serves?|resolves?|respects?|implements?)\b",
    );
    static MOMENT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:untracked|unstaged|up to date|\d+ commits? (?:behind|ahead)|no local changes|working tree|clean(?:ly)? on|tests? (?:pass(?:ed|es|ing)?|failed)|mergeable|ready (?:for|to)|current (?:state|branch)|left (?:untouched|alone|unchanged)|not (?:touching|related)|unrelated|pre-?existing|no (?:blocking|issues|findings|changes)|i'(?:m|ll|ve)|already (?:exists|handled|has|have|in|correct|fixed|done|uses?|includes?)|successfully|production-ready|expected behavior|(?:page|check|log|output|run) shows|please|need to fix|straightforward|the one you|tracked diff|final diff|dispatched agent|fair challenge|unpushed|appeared|push failed|(?:is|are) (?:now|next|adding|running|waiting|working|actively)|currently|tasked|needs? fix|want me to|let me|changes are in|with \d+ errors?|says the (?:branch|pr|build|run)|is (?:actually |indeed )correct|correct as-is|reports? (?:that )?the current)\b",
    );
    static HEDGED: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:probably|likely|maybe|perhaps|might|seems?|looks like|somehow|i think|suspect|appears?|needs adding|could|may be|would|should|wondering|suggests?|what if|if we|you can|let's|we (?:can|need|have))\b",
    );
    // What somebody is to do; not `… if the clock needs to be set`.
    static INSTRUCTS: StaticRegex = StaticRegex::new(r"(?i-u)^(?u:[^,]{0,60})\bneeds to\b");
    // What a worker or a run did is told of the day.
    static DID: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:worker|agent|subagent|reviewer|run|job|bot|user)s? (?:has|have|is|are) (?:now |already )?(?:not )?(?:\w+ed|\w+ing|done|run|begun|made|written)\b",
    );
    // A place in a file is a finding on a change of the day.
    static LINE_NUMBER: StaticRegex = StaticRegex::new(r"(?-u)\w\.\w{1,5}:\d");
    let words = sentence.split_whitespace().count();
    (4..=45).contains(&words)
        && !sentence.ends_with(['?', ':'])
        && !sentence.contains(['✅', '🚀', '🎉', '✓', '|'])
        && !sentence.starts_with(|first: char| first.is_lowercase() || first == '(')
        && !LINE_NUMBER.is_match(sentence)
        && !NARRATES.is_match(sentence)
        && PRESENT.is_match(sentence)
        && !MOMENT.is_match(sentence)
        && !HEDGED.is_match(sentence)
        && !DID.is_match(sentence)
        && !INSTRUCTS.is_match(sentence)
}

/// Whether the agent says what it did wrong.
fn is_admission(sentence: &str) -> bool {
    static WRONG: StaticRegex = StaticRegex::new(
        r"(?i-u)^i (?:was|missed|forgot|had|used|branched|assumed|overlooked|misread|confused|mixed|broke|removed|put|left|wrote|tested|only)\b",
    );
    sentence.split_whitespace().count() > 5 && WRONG.is_match(sentence)
}

/// What stands around a statement.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    /// The answer opens by giving the person right.
    conceded: bool,
    /// A command failed since the agent last spoke.
    failed: bool,
    /// The sentence before says that the cause is found.
    announced: bool,
    /// The sentence behind says what mends it.
    fixed: bool,
    /// It names what the failed command failed of.
    named: bool,
}

/// Whether a sentence names what failed and of what, or what has to be done first: "Lint failure —
/// the block has no language", "We need to build the library first".
fn names_failure(sentence: &str) -> bool {
    static NAMES: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:the |just a |a |another |this is (?:just )?(?:a |an |the )?)?[a-z][\w'/ -]{2,40} (?:issue|error|failure|problem|violation|conflict|mismatch|warning)s?(?u:\s*[—–:]\s*|\s-\s)[a-z`]|\bneeds? to (?:be )?(?:\w+ ){1,8}first\b",
    );
    static GUESSES: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:might|maybe|probably|perhaps|likely|let me|i need|need to fix|unrelated)\b|^(?:two|three|several|some|a few)\b",
    );
    (5..=40).contains(&sentence.split_whitespace().count())
        && NAMES.is_match(sentence)
        && !GUESSES.is_match(sentence)
        && !sentence.ends_with('?')
}

/// Whether a sentence says that what follows is the cause: "Now I understand the issue."
fn announces_cause(sentence: &str) -> bool {
    static ANNOUNCES: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:ah[,!]? |ok(?:ay)?[,!]? |so )?(?:now )?i (?:see|understand|found|know)\b[\w' ]{0,14}\b(?:issue|problem|bug|cause|happening|going on|why|wrong)\b",
    );
    sentence.split_whitespace().count() <= 9 && ANNOUNCES.is_match(sentence)
}

/// Whether a sentence says what mends the thing before it: "Switching to one lock fixes it."
fn says_what_fixes(sentence: &str) -> bool {
    static FIXES: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:fixes|solves|resolves|avoids) (?:it|this|that|the (?:issue|problem|error|leak|bug))\b",
    );
    (4..=30).contains(&sentence.split_whitespace().count())
        && FIXES.is_match(sentence)
        && !sentence.ends_with('?')
}

/// The signs that a statement explains a failure; `None` where it does not speak of one, or of
/// nothing in particular.
fn signs(sentence: &str, around: Around) -> Option<u32> {
    let Around { conceded, failed, announced, fixed, named } = around;
    static FAILS: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:not|no|never|doesn't|don't|didn't|isn't|aren't|wasn't|can't|cannot|won't|without|fail(?:s|ed|ing|ure)?|errors?|miss(?:ing|es)|wrong|broken?|breaks?|stale|empty|crash\w*|lost|drops?|conflicts?|bypass\w*|leak\w*|leftover|twice|hardcoded|ignores?|only|reject\w*|refus\w*|corrupt\w*|brittle|instead|silently|masks?|early|directly)\b",
    );
    static CAUSE: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:root cause|because|since|turns out|caused by|that's why|which means|due to|instead of|not through|rather than|only (?:sees|reads|means|looks|checks|works)|picks? up|picking up|masks?|requires?|expects?|needs?|so (?:it|the|they|that)|before|when|if|must|unless)\b",
    );
    static FOUND: StaticRegex = StaticRegex::new(
        r"(?i-u)root cause|\bthe (?:real |actual |main )?(?:issue|problem|cause|reason|culprit|bug) (?:is|was)\b|^(?:found (?:it|the)|the (?:root )?(?:cause|issue|problem|bug|reason)\b|this (?:is|was) because)",
    );
    static DEMANDS: StaticRegex =
        StaticRegex::new(r"(?i-u)\b(?:requires?|must|expects?|needs?|wants?)\b");
    // How one thing differs says nothing without the other.
    static DIFFERS: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:is|are) (?:slightly |quite |a bit )?different(?: here)?\b(?:[.,;:]| -|(?u:\s*[—–]))",
    );
    // Where a sentence begins with these, it leans on another that is not there.
    static LEANS: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:this (?:means|is)|it\b|one\b|these\b|they\b|that(?: (?:is|was|means|would|\w+s)\b|'s\b))",
    );
    let things = things(sentence);
    let found = FOUND.is_match(sentence);
    let explains = FAILS.is_match(sentence) && (things > 0 || found || conceded || announced);
    let explains = explains || ((announced || fixed) && things > 0) || named;
    let demands = failed && things > 0 && DEMANDS.is_match(sentence);
    let leans = LEANS.is_match(sentence) || DIFFERS.is_match(sentence);
    if !(explains || demands) || leans || sentence.split_whitespace().count() < 6 {
        return None;
    }
    let signs =
        [failed, conceded, CAUSE.is_match(sentence), found, things > 1, announced, fixed, named];
    Some(signs.into_iter().map(u32::from).sum())
}

/// How many things of code a sentence names.
fn things(sentence: &str) -> usize {
    static THING: StaticRegex = StaticRegex::new(
        r"`[^`]{2,}`|(?-u)\b\w+\.\w{1,4}\b|\b\w+\(\)|\b[a-z]+[A-Z]\w+|--\w+|\b\w+_\w+|\b[A-Z]{3,}\b",
    );
    THING.find_iter(sentence).take(2).count()
}

/// A statement with the one after it and the one before it, where these state something too. One
/// that leans on the sentence before it brings that along; `None` where that says nothing.
fn passage(sentences: &[String], states: &[bool], at: usize) -> Option<String> {
    static LEANS: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:(?:it|they|these|both|he|she)\b|this (?:breaks|happens|causes?|matters|can|could|silently|lets|keeps|makes|allows|works|fails|leads|leaves|never|doesn't|isn't|was)\b)",
    );
    static ASIDE: StaticRegex =
        StaticRegex::new(r"(?i-u)^(?:i\b|we\b|let\b|now\b|you\b|it\b|they\b|these\b|both\b|ok)");
    let words = |at: usize| sentences[at].split_whitespace().count();
    let (mut from, mut to, mut length) = (at, at, words(at));
    if states.get(to + 1) == Some(&true) && length + words(to + 1) <= LONGEST_PASSAGE {
        to += 1;
        length += words(to);
    }
    if from > 0 && states[from - 1] && length + words(from - 1) <= LONGEST_PASSAGE {
        from -= 1;
    }
    if LEANS.is_match(&sentences[from]) {
        let before = from.checked_sub(1).map(|before| sentences[before].as_str());
        let says = |said: &&str| {
            (4..=LONGEST_PASSAGE).contains(&said.split_whitespace().count())
                && !said.ends_with([':', '?'])
                && !ASIDE.is_match(said)
        };
        match before.filter(says) {
            Some(_) => from -= 1,
            None if from < at => from += 1,
            None => return None,
        }
    }
    let whole = |sentence: &String| {
        let said = without_label(sentence);
        if said.ends_with(['.', '!', '。']) { said } else { format!("{said}.") }
    };
    Some(sentences[from..=to].iter().map(whole).collect::<Vec<_>>().join(" "))
}

/// A statement without the label that says what it is to what stands around it ("Impact: the header
/// is lost"), without the word that joins it to another, and without the line of the day.
fn without_label(sentence: &str) -> String {
    static LABEL: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:the |another )?(?:impact|result|catch|key (?:insight|point)|lesson|takeaway|caveat|bug|cause|reason|(?:issue|problem)(?: \d+)?|(?:simplest |real )?fix(?: is (?:simple|easy|small|trivial))?|(?:failure )?scenario(?: where (?:this|it) (?:breaks|matters))?|(?:when|where) (?:this|it) (?:breaks|matters|fails)): +",
    );
    static JOINS: StaticRegex =
        StaticRegex::new(r"^(?:But|And|Also|However|Still|Plus|Though)\b,? ");
    static LINE: StaticRegex =
        StaticRegex::new(r"(?i) \((?:(?:on|at|see) )?lines? \d+(?:\s?[-–,&]\s?\d+)*\)");
    // "That branch holds the log" points at what was said before; "that is" and "that all" do not.
    static POINTS: StaticRegex = StaticRegex::new(
        r"^That ((?:[a-z-]+ )?[a-z-]+ (?:is|are|has|contains|holds|does|can|needs|reads|writes|sets)\b)",
    );
    let mut said = LABEL.replace(sentence, "").into_owned();
    said = JOINS.replace(&said, "").into_owned();
    said = POINTS.replace(&said, "The $1").into_owned();
    said = LINE.replace_all(&said, "").into_owned();
    if said.len() < sentence.len() { text::capitalized(&said) } else { said }
}

// --- What chooses something ---

/// Whether the agent says that it leaves something out, or takes one thing rather than another, and
/// why.
fn is_choice(sentence: &str) -> bool {
    static LEAVES_OUT: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:out of scope|beyond the (?:current )?scope|i'll skip|i'm skipping|not (?:be )?worth|no longer needed|deliberately|intentionally|on purpose|left out)\b",
    );
    static WHY: StaticRegex = StaticRegex::new(
        r"(?i-u)\b(?:because|since|so that|so the|as it|which would|would (?:break|produce|not)|to avoid|to keep|adds? complexity|otherwise)\b",
    );
    static BUSY: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:let me|now\b|i'll (?:check|look|now|add)|next\b|here\b|good\b|great\b|perfect|done\b|wait\b|if you\b)",
    );
    let words = sentence.split_whitespace().count();
    (7..=55).contains(&words)
        && !sentence.ends_with(['?', ':'])
        && LEAVES_OUT.is_match(sentence)
        && WHY.is_match(sentence)
        && !BUSY.is_match(sentence)
}

/// A choice without the words by which an agent sets out to make it: "Actually, let me just delete
/// the lock" is "Delete the lock".
fn without_resolve(choice: &str) -> String {
    static RESOLVE: StaticRegex = StaticRegex::new(
        r"(?i-u)^(?:actually,? )?(?:(?:let me|i'll|i will) (?:just |simply )?|i'm going to )",
    );
    match RESOLVE.find(choice) {
        Some(found) => text::capitalized(&choice[found.end()..]),
        None => choice.to_string(),
    }
}

// --- What programs ask for ---

/// What a hook that refused a commit or a push asks for in its own words.
fn asked_by_hook(command: &str, output: &str) -> Option<Demand> {
    static ASKS: StaticRegex = StaticRegex::new(
        r#"(?i)\b(?:please run|run:? [`'"]?(?:pnpm|npm|bun|yarn|make|mise|cargo|go|just)\b|not staged|out of date|regenerate|changed but)"#,
    );
    if !commands::makes_commit(command) && !command.contains("git push") {
        return None;
    }
    let mut asks: Vec<&str> = Vec::new();
    for line in lines_of(output).filter(|line| ASKS.is_match(line)) {
        if !asks.contains(&line) && asks.len() < 3 {
            asks.push(line);
        }
    }
    (!asks.is_empty()).then(|| Demand::Hook(asks.join(" ")))
}

/// What a linter rules out in its own words.
fn forbidden_by_linter(output: &str) -> Option<Demand> {
    static FORBIDS: StaticRegex = StaticRegex::new(
        r"(?i)\bmust not be (?:called|used)\b|\bis forbidden because\b|\bdisallowed (?:method|type|import)\b|\brestricted import\b",
    );
    static PLACE: StaticRegex = StaticRegex::new(r"^\S+:\d+(?::\d+)?:?\s*");
    let line = lines_of(output).find(|line| FORBIDS.is_match(line))?;
    Some(Demand::Linter(PLACE.replace(line, "").into_owned()))
}

/// The lines of an output that may say something, without what programs draw before them.
fn lines_of(output: &str) -> impl Iterator<Item = &str> {
    let plain = |line: &'_ str| -> usize {
        line.len() - line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`').len()
    };
    let lines = output.lines().map(move |line| line[plain(line)..].trim_end());
    lines.filter(|line| (12..200).contains(&line.len()))
}

/// Whether a check that did not end in failure printed one: `just lint | tail`.
pub fn prints_failure(command: &str, output: &str) -> bool {
    // `day.go:3:4: missing cases in switch (exhaustive)`
    static FINDING: StaticRegex =
        StaticRegex::new(r"(?m)^\s*(?:\S+ )?\S+\.\w{1,5}:\d+:\d+:?\s.{5,200}\([\w/-]+\)\s*$");
    errors::in_success(command, output).is_some()
        || forbidden_by_linter(output).is_some()
        || FINDING.is_match(text::cut(output, 20_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(remarks: &mut Remarks, said: &str) {
        remarks.add_reply(said);
    }

    fn stated(said: &str) -> Vec<String> {
        let mut remarks = Remarks::default();
        reply(&mut remarks, said);
        remarks.statements.into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn a_statement_says_how_a_thing_is() {
        for said in [
            "The `flush()` call returns before the header is written, so the day is empty.",
            "`npm ci` fails when the lock file was written by another version of npm.",
            "Root cause: the worker never reads `LOCALE`, so every page is cached under one key.",
            "The failure was caused by stale `tmp/copies/` folders, whose tests were not ours.",
        ] {
            assert_eq!(stated(said).len(), 1, "{said}");
        }
    }

    #[test]
    fn after_a_failure_what_failed_of_what_is_stated() {
        for said in [
            "Lint failure — the fenced block has no language",
            "The library needs to be built with its types first",
        ] {
            assert!(names_failure(said), "{said}");
            assert!(stated(said).is_empty(), "nothing failed: {said}");
            let mut remarks = Remarks { failed: true, ..Remarks::default() };
            reply(&mut remarks, said);
            assert_eq!(remarks.statements.len(), 1, "{said}");
        }
        for said in [
            "Probably a lint failure — the fenced block has no language",
            "Is it a lint failure — the block has no language?",
            "The header is written behind the lock",
        ] {
            assert!(!names_failure(said), "{said}");
        }
    }

    #[test]
    fn narration_guesses_and_the_state_of_the_moment_state_nothing() {
        for said in [
            "I'll check whether `flush()` fails when the header is missing.",
            "Now the `day.rs` test does not fail any more.",
            "The `lock` call might not be reached when the file is missing.",
            "If `lock` is not taken, the header would be lost.",
            "`notes.txt` is untracked and not related to this.",
            "Should `flush()` not return an error here?",
            "The cache is empty.",
            "`lock.rs` is now in `base/`, so the old path does not work.",
            "endpoint”, the worker does not fail fast on `x`, so it waits.",
            "Consider a `lock` that does not fail when the file is missing.",
            "Tests in `day.rs` fail because the clock is not set.",
            "`src/day.rs:12` never closes the file when `lock` is missing.",
            "Warn if `lock` is set but the header is missing.",
            "Returns early when `lock` is not there, because nothing is held.",
        ] {
            assert!(stated(said).is_empty(), "{said}: {:?}", stated(said));
        }
    }

    #[test]
    fn orders_and_what_has_no_subject_state_nothing() {
        for said in [
            "Need to use a number for `lock_id`, which is not a word.",
            "Tighten `ci.yml` to one version, so that it does not fail on the other.",
            "Edit 2: Change only the first `lock` in `day.rs`.",
            "Loads the header from `day.rs` and never from `quay.rs`.",
            "Its `lock()` is only held when `append()` runs.",
            "Biome wants the `find` call on one line, not two.",
            "The prompt explicitly requires `append()` without a lock.",
            "The forge says the branch has no conflict, but `ci.yml` has not run.",
            "The harbour run confirmed `lock: true` only on the pier, not on the quay.",
            "Right now `watch()` does not see that the file is gone.",
            "Since `tide` is not available, please look at your list of tools.",
            "Worker status: all three are active, and none of them fails on `day.rs`.",
            "From `day.rs`, it looks like nobody ever calls `append()`.",
            "NOT part of `day.rs`, which is only read by the pilot.",
            "Points to `day.rs`, which does not take the lock of the tide.",
            "Preserved recovery by `channel=quay`, so that it does not fail again.",
            "Groups the tides by `day_key` and does not look at the pier.",
            "The placement worker has consumed `order.md`, which does not name the pier.",
            "The diagnostic is stale, since `lock` is used in `append()`.",
            "Only when `lock` is missing does it fall back to `quay.rs`.",
        ] {
            assert!(stated(said).is_empty(), "{said}: {:?}", stated(said));
        }
        for said in [
            "Needles in `compass.rs` never point north when the lid is closed.",
            "Loading `day.rs` fails when the lock is not held.",
        ] {
            assert_eq!(stated(said), [said]);
        }
    }

    #[test]
    fn a_label_before_a_statement_is_left_out() {
        let said = "`append()` loses the header when the lock is not held.";
        let labels = [
            "Result: ",
            "Impact: ",
            "The catch: ",
            "When this breaks: ",
            "So ",
            "The bug: ",
            "Problem 2: ",
            "The fix is simple: ",
            "But ",
        ];
        for label in labels {
            assert_eq!(stated(&format!("{label}{said}")), [said], "{label}");
        }
        let with_line = "`append()` (line 39-41) loses the header when the lock is not held.";
        assert_eq!(stated(with_line), [said]);
        let points = "That public log has `tide.txt` in it, which is not what the pilot wants.";
        assert!(stated(points)[0].starts_with("The public log has"), "{:?}", stated(points));
        let since =
            "Since the harbour only lets one pilot in, `tide.yml` and `quay.yml` do not fit.";
        assert_eq!(stated(since), [since]);
        // The label says that it fails.
        let said = "When this breaks: opening `day.rs` on a machine where the path exists.";
        assert_eq!(stated(said), ["Opening `day.rs` on a machine where the path exists."]);
        // What the cause is, is said by its label.
        let cause = "Root cause: the worker never reads `LOCALE`.";
        assert_eq!(stated(cause), [cause]);
    }

    #[test]
    fn how_one_thing_differs_says_nothing_without_the_other() {
        let said = "On the quay the order is different — `append()` fails when nobody holds it.";
        assert!(stated(said).is_empty());
        let said =
            "The order of `append()` is different from that of `flush()`, which never fails.";
        assert_eq!(stated(said), [said]);
    }

    #[test]
    fn a_choice_is_told_without_the_resolve() {
        let choice =
            "Actually, let me just leave the lock of the quay out of scope, since it never held.";
        let mut remarks = Remarks::default();
        reply(&mut remarks, choice);
        assert_eq!(
            remarks.choices,
            ["Leave the lock of the quay out of scope, since it never held."]
        );
    }

    #[test]
    fn this_brings_what_it_speaks_of() {
        let leans = "This breaks `append()` when the lock is missing.";
        assert!(stated(&format!("I looked. {leans}")).is_empty());
        let subject = "The header is only written by the first writer of the day.";
        assert_eq!(stated(&format!("{subject} {leans}")), [format!("{subject} {leans}")]);
    }

    #[test]
    fn what_is_taken_back_is_not_kept() {
        let mut remarks = Remarks::default();
        reply(
            &mut remarks,
            "The `parse()` function drops the last line because it has no newline.",
        );
        assert_eq!(remarks.statements.len(), 1);
        reply(&mut remarks, "Wait, that is the other reader.");
        assert!(remarks.statements.is_empty());
        assert!(
            stated("The `parse()` function drops the last line without a newline. Actually, it keeps it.")
                .is_empty()
        );
    }

    #[test]
    fn a_passage_has_what_states_something_around_it() {
        assert_eq!(
            stated(
                "Let me look.\n\n`branch_ref()` makes `refs/heads/x`, the local name. The lookup itself never tries `refs/remotes/x`. Shall I fix it?"
            ),
            [
                "`branch_ref()` makes `refs/heads/x`, the local name. The lookup itself never tries `refs/remotes/x`."
            ]
        );
    }

    #[test]
    fn what_leans_on_a_sentence_brings_it_along() {
        let fails = "So after a start `tide.rs` fails, because no `quay` is there.";
        let leans = "It doesn't fall back to `pier.rs` of the harbour.";
        let subject = "The tide of the morning is read from `quay.rs`.";
        assert_eq!(
            stated(&format!("{subject} {leans} {fails}")),
            [format!("{subject} {leans} {fails}")]
        );
        assert_eq!(stated(&format!("I looked. {leans} {fails}")), [fails]);
        for said in [
            "`tide.rs` tests needs adding, which never run without a lock.",
            "Delete `tide.rs`, so that it does not lock the log.",
            "The `tide.rs` caller needs to fall back to `quay.rs` when nothing is there.",
            "This PR does not change `tide.rs`, only the log.",
        ] {
            assert!(stated(said).is_empty(), "{said}");
        }
    }

    #[test]
    fn three_dots_in_code_end_no_sentence() {
        assert_eq!(
            stated(
                "The page is sent to `/api/reviews/...` of the wrong host, which never answers with JSON."
            ),
            [
                "The page is sent to `/api/reviews/...` of the wrong host, which never answers with JSON."
            ]
        );
    }

    #[test]
    fn what_follows_the_word_that_the_cause_is_found_explains() {
        let said =
            "Now I understand the issue. `append` calls the hook for each line being replayed.";
        assert_eq!(stated(said), ["`append` calls the hook for each line being replayed."]);
        assert!(stated("I looked at it. `append` calls the hook for each line again.").is_empty());
        assert!(!announces_cause("I see."));
        assert!(!announces_cause("I understand that you want another issue to be looked at today"));
    }

    #[test]
    fn what_the_next_sentence_mends_is_a_cause() {
        assert_eq!(
            stated(
                "Confirmed — the pattern uses `$&`, the whole match. Switching to `$1` fixes it."
            ),
            ["The pattern uses `$&`, the whole match. Switching to `$1` fixes it."]
        );
        assert!(stated("The pattern uses `$&`, the whole match. Let me look at it.").is_empty());
    }

    #[test]
    fn that_error_is_a_subject_and_that_alone_is_none() {
        assert_eq!(
            stated("That error means `api.ts` asks the wrong host, which returns no JSON.").len(),
            1
        );
        assert!(stated("That means `api.ts` does not ask the host of `worker.ts`.").is_empty());
    }

    #[test]
    fn an_admission_counts_after_the_person_was_given_right() {
        assert_eq!(
            stated("Good catch — I branched off `fix/day` instead of `main`."),
            ["I branched off `fix/day` instead of `main`."]
        );
        assert!(stated("I branched off `fix/day` instead of `main`.").is_empty());
    }

    #[test]
    fn the_person_is_given_right_in_so_many_words() {
        for said in ["You're right, the lock is enough.", "Good catch!", "**Agreed** — one lock."]
        {
            assert!(concedes(&straight(said)), "{said}");
        }
        for said in ["Yes, done.", "Exactly.", "Good news: it passes.", "Great question!"] {
            assert!(!concedes(said), "{said}");
        }
    }

    #[test]
    fn a_choice_says_what_is_left_out_and_why() {
        assert!(is_choice("Adding a viewer is out of scope since nobody reads these files."));
        assert!(!is_choice("I'll skip ahead to the tests."));
        assert!(!is_choice("Is the viewer out of scope because nobody reads it?"));
    }

    #[test]
    fn answers_to_questions_are_read() {
        let mut remarks = Remarks::default();
        remarks.add_answer(
            "Which store?",
            "User has answered your questions: \"Which store?\"=\"Plain files, no database\". You can now continue.",
        );
        remarks.add_answer("How far?", "User selected: Only the day log");
        remarks.add_answer("And now?", "The user did not answer.");
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(
            remarks.answers,
            [
                pair("Which store?", "Plain files, no database"),
                pair("How far?", "Only the day log")
            ]
        );
    }

    #[test]
    fn hooks_and_linters_say_what_they_want() {
        assert_eq!(
            asked_by_hook(
                "git commit -m x",
                "running hooks\nThe client is out of date: regenerate it with `make client`.\n"
            ),
            Some(Demand::Hook(
                "The client is out of date: regenerate it with `make client`.".into()
            ))
        );
        assert_eq!(
            forbidden_by_linter("src/a.go:3:4: open.Raw must not be called, use open.Safe (noraw)"),
            Some(Demand::Linter("open.Raw must not be called, use open.Safe (noraw)".into()))
        );
        assert_eq!(asked_by_hook("git commit -m x", "error: pathspec 'y' did not match"), None);
        assert_eq!(asked_by_hook("just test", "please run it again"), None);
        assert_eq!(forbidden_by_linter("src/a.go:3:4: all is well here, nothing to say"), None);
    }

    #[test]
    fn a_check_that_prints_its_failure_through_a_pipe_has_failed() {
        assert!(prints_failure("just lint | tail -5", "error: unused variable `x` in day.rs"));
        assert!(prints_failure("just lint | tail -5", "a.go:3:4: open.Raw must not be called"));
        assert!(prints_failure(
            "just lint | tail",
            "day.go:3:4: missing cases in switch (exhaustive)"
        ));
        assert!(!prints_failure("just lint | tail -5", "0 errors, 3 files were looked at"));
        assert!(!prints_failure("just lint | tail -5", "looked at day.go:3:4 and went on"));
    }
}
