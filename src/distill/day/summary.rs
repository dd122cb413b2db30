//! A day's summary from its lines and its sessions' digests: what was wanted, decided, done and
//! left open.
//!
//! Lines come in one by one; what is kept of them is bounded, however long the day was. The words
//! are those that were said: nothing here is made up, and the same lines give the same summary.

use std::collections::{HashMap, HashSet};

use chrono::NaiveDate;

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::{commands, prompts, replies, words};
use crate::model::day::{DaySummary, Line, LineKind, Point, SessionOfDay, SessionSummary};
use crate::model::digest::{Claim, ClaimKind, Content, Digest, Origin, Outcome, Worth};

use super::sentences::{
    as_said, decides, gist, is_curt, is_drawn, is_low, is_noise, sentences, whole, without_fences,
    without_headings,
};

/// How much of each kind is shown of one session, and of the day.
const MOST_EXCHANGES: usize = 8;
const MOST_OF_A_KIND: usize = 6;
const MOST_POINTS: usize = 16;
/// How many open ends of one session are shown at least, on a day of many.
const FEWEST_OPEN: usize = 3;
/// How much is kept while the lines come.
const MOST_KEPT: usize = 400;
const LONGEST_QUOTE: usize = 160;
/// How long the headline of a session is, and a line of what was done.
const LONGEST_HEADLINE: usize = 200;
const LONGEST_LINE: usize = 300;

/// Takes the lines of a day.
#[derive(Debug, Default)]
pub struct DayReader {
    /// The day, where it is known: what a session left open belongs to the one on which it ended.
    day: Option<NaiveDate>,
    sessions: Vec<SessionLines>,
    at: HashMap<String, usize>,
}

/// What is kept of one session's lines of a day.
#[derive(Debug, Default)]
struct SessionLines {
    session: String,
    first: String,
    last: String,
    turns: Vec<Turn>,
    stated: Vec<(String, ClaimKind, String)>,
    /// What the agent said last, with its time: what is left to do stands there.
    last_reply: (String, String),
    edited: Vec<String>,
    /// Commits and pull requests.
    made: Vec<String>,
    /// The last test run or failing command: what it was, and whether it went well.
    last_run: Option<(String, bool)>,
    /// How many prompts came before it.
    run_at: u64,
    failed_runs: usize,
    /// How many lines are the person's.
    prompts: u64,
    /// Events of workers, tasks and the system, with their times.
    milestones: Vec<(String, String)>,
    /// Those that failed, and of which nothing good was heard since.
    failing: Vec<String>,
    /// What workers and tasks were started for, by their names.
    tasks: HashMap<String, String>,
}

/// A prompt and how the agent answered it in the end.
#[derive(Debug, Default)]
struct Turn {
    time: String,
    asked: String,
    answered: String,
    tool_calls: usize,
}

impl DayReader {
    /// Takes the lines of this day.
    pub fn of(day: NaiveDate) -> DayReader {
        DayReader { day: Some(day), ..DayReader::default() }
    }

    /// Takes the next line.
    pub fn take(&mut self, line: Line<'_>) {
        if line.kind == LineKind::System && is_own_report(line.text) {
            return;
        }
        let at = *self.at.entry(line.session.to_string()).or_insert_with(|| {
            self.sessions.push(SessionLines {
                session: line.session.to_string(),
                first: line.time.to_string(),
                ..SessionLines::default()
            });
            self.sessions.len() - 1
        });
        self.sessions[at].take(line);
    }

    /// All that the lines of one session say, where no lists of the day stand above it.
    pub fn section(mut self) -> SessionSummary {
        let lines = self.sessions.pop();
        lines.map(|lines| lines.section(None, |_| true)).unwrap_or_default()
    }

    /// Says what the day was about. `digest` returns a session's digest; `covered` the stretches of
    /// a session's day that were summarized already, which its section then leaves out.
    pub fn finish(
        mut self,
        raw_sha256: String,
        digest: impl Fn(&str) -> Option<Digest>,
        covered: impl Fn(&str) -> Vec<(String, String)>,
    ) -> DaySummary {
        self.sessions.sort_by(|a, b| (&a.first, &a.session).cmp(&(&b.first, &b.session)));
        let messages = self.sessions.iter().map(|lines| lines.prompts).sum();
        let mut summary = DaySummary { raw_sha256, messages, ..DaySummary::default() };
        // On a day of many sessions each gets fewer points, rather than the last ones none.
        let most = (MOST_POINTS / self.sessions.len().max(1)).clamp(2, MOST_OF_A_KIND + 2);
        for lines in &self.sessions {
            let digest = digest(&lines.session);
            if digest.as_ref().is_some_and(|digest| digest.content.worth == Worth::None) {
                // Another session tells of it, or it was found not to be worth remembering.
                continue;
            }
            let mut whole = lines.section(digest.as_ref(), |_| true);
            let session = lines.session.clone();
            let point = |text: String| Point { text, session: session.clone() };
            let wanted: Vec<String> = lines.wanted(digest.as_ref()).into_iter().collect();
            summary.wanted.extend(wanted.iter().cloned().map(point));
            let point = |text: &String| Point { text: text.clone(), session: session.clone() };
            let shown = most.min(3).min(whole.decisions.len());
            summary.decided.extend(whole.decisions.iter().take(shown).map(point));
            let done = lines.done(digest.as_ref(), most);
            summary.done.extend(done.iter().map(point));
            let ends = lines.ends_on(self.day, digest.as_ref());
            let open = lines.left_open(digest.as_ref(), &whole, ends);
            summary.open.extend(open.iter().take(most.max(FEWEST_OPEN)).map(point));
            let covered = covered(&lines.session);
            let is_new = |time: &str| {
                !covered.iter().any(|(from, until)| (from.as_str()..=until).contains(&time))
            };
            summary.sessions.push(SessionOfDay {
                session: lines.session.clone(),
                first: lines.first.clone(),
                last: lines.last.clone(),
                digested: digest.is_some(),
                title: digest
                    .as_ref()
                    .map(|digest| digest.content.title.clone())
                    .unwrap_or_default(),
                project: digest.as_ref().and_then(|digest| digest.content.project.clone()),
                status: digest.as_ref().map(|digest| digest.content.status.to_string()),
                headline: lines.headline(digest.as_ref()),
                summary: if covered.is_empty() {
                    // What the lists above say of the session is not said again below it.
                    whole.decisions.drain(..shown);
                    whole.context.retain(|line| !done.contains(line) && !wanted.contains(line));
                    whole
                } else {
                    lines.section(digest.as_ref(), is_new)
                },
            });
        }
        for points in
            [&mut summary.wanted, &mut summary.decided, &mut summary.done, &mut summary.open]
        {
            points.truncate(2 * MOST_POINTS);
        }
        summary
    }
}

impl SessionLines {
    fn take(&mut self, line: Line<'_>) {
        self.last = line.time.to_string();
        self.prompts += u64::from(line.kind == LineKind::User);
        let said = as_said(line.text);
        match line.kind {
            LineKind::User if is_noise(&said) => {}
            LineKind::User => {
                self.state(line.time, &said);
                let asked = text::one_line(
                    &without_headings(&markdown::strip_marks(&without_fences(&said))),
                    2 * LONGEST_QUOTE,
                );
                // Said again, before there was an answer.
                let again = self
                    .turns
                    .last()
                    .is_some_and(|turn| turn.asked == asked && turn.answered.is_empty());
                if self.turns.len() < MOST_KEPT && !again {
                    self.turns.push(Turn { time: line.time.to_string(), asked, ..Turn::default() });
                }
            }
            LineKind::MainAgent => {
                self.state(line.time, &said);
                if self.turns.is_empty() {
                    self.turns.push(Turn { time: line.time.to_string(), ..Turn::default() });
                }
                if let Some(turn) = self.turns.last_mut().filter(|_| !is_noise(&said)) {
                    let answer = gist(&without_fences(&said));
                    if is_curt(&turn.answered) || !is_curt(&answer) {
                        turn.answered = answer;
                    }
                }
                self.last_reply = (line.time.to_string(), said);
            }
            LineKind::ToolEvent => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.tool_calls += 1;
                }
                self.tool(&said);
            }
            LineKind::WorkerEvent | LineKind::TaskAgentEvent => self.event(line.time, &said, true),
            LineKind::System => self.event(line.time, &said, false),
        }
    }

    /// Takes what a worker, a task or the system says of itself: how something ended, and whatever
    /// failed.
    fn event(&mut self, time: &str, said: &str, is_workers: bool) {
        static ENDED: StaticRegex =
            StaticRegex::new(r"(?i)\b(finished|completed|done|recovered|succeeded)\b");
        static FAILED: StaticRegex =
            StaticRegex::new(r"(?i)\b(failed|blocked|cancelled|crashed|timed out|killed)\b");
        // A call of a worker's that went wrong is a step on its way, and no end of it.
        if is_workers && said.trim_end().ends_with(" ok=false") {
            return;
        }
        let started = said.strip_prefix("started ").and_then(|rest| rest.split_once(": "));
        if let Some((name, task)) = started.filter(|_| self.tasks.len() < MOST_KEPT) {
            self.tasks.insert(name.to_string(), text::first_sentence(task, LONGEST_QUOTE));
        }
        let said = &self.with_task(said);
        let failed = FAILED.is_match(said);
        if is_workers && !failed && !ENDED.is_match(said) {
            return;
        }
        let said = text::one_line(said, LONGEST_QUOTE);
        let about = |said: &str| words_about(said);
        if failed && self.failing.len() < MOST_KEPT {
            if !self.failing.contains(&said) {
                self.failing.push(said.clone());
            }
        } else if ENDED.is_match(&said) {
            let ended = about(&said);
            self.failing.retain(|failing| about(failing).is_disjoint(&ended));
        }
        if self.milestones.len() < MOST_KEPT {
            self.milestones.push((time.to_string(), said));
        }
    }

    /// How a worker ended, with what it was for where its own last word says nothing.
    fn with_task(&self, said: &str) -> String {
        let ended = said.strip_prefix("finished ").and_then(|rest| rest.split_once(": "));
        let task = ended.filter(|(_, answer)| is_curt(answer));
        let task = task.and_then(|(name, _)| Some((name, self.tasks.get(name)?)));
        task.map_or_else(|| said.to_string(), |(name, task)| format!("finished {name}: {task}"))
    }

    fn tool(&mut self, said: &str) {
        // A line that does not say how it went has nothing to say about that.
        let (what, ok) = match said.rsplit_once(" ok=") {
            Some((what, ok)) => (what, ok.split_whitespace().next() == Some("true")),
            None => return,
        };
        if what.starts_with("committed ") || what.starts_with("opened ") {
            // Who commits right after a failing run knows of it.
            let known = what.starts_with("committed ") && ok && self.prompts <= self.run_at + 1;
            self.last_run.take_if(|(_, passed)| !*passed && known);
            if self.made.len() < MOST_KEPT {
                self.made.push(text::one_line(what, LONGEST_QUOTE));
            }
        } else if let Some(files) = what.strip_prefix("edited ") {
            for file in files.split(", ").map(|file| file.trim_matches(['`', ' '])).filter(|_| ok) {
                let name = file.rsplit('/').next().unwrap_or(file).to_string();
                if !name.is_empty() && self.edited.len() < MOST_KEPT && !self.edited.contains(&name)
                {
                    self.edited.push(name);
                }
            }
        } else {
            let command = what.trim_matches(['`', ' ']).trim_start_matches("$ ");
            // How much of its output was looked at says nothing of the run.
            let shown =
                [" 2>&1", " | tail", " | head"].iter().filter_map(|end| command.find(end)).min();
            let shown = &command[..shown.unwrap_or(command.len())];
            // A command that failed on the way, such as a search without a hit, is no news; and one
            // that went through has passed nothing, unless it is a test.
            if commands::is_test_command(command) {
                self.failed_runs += usize::from(!ok);
                self.run_at = self.prompts;
                self.last_run = Some((markdown::code(&text::one_line(shown, 80)), ok));
            }
        }
    }

    /// Keeps the sentences that decide something or say what was learnt.
    fn state(&mut self, time: &str, said: &str) {
        for sentence in sentences(said) {
            let fits =
                (24..300).contains(&sentence.chars().count()) && !sentence.ends_with(['?', ':']);
            if !fits || self.stated.len() >= MOST_KEPT || is_drawn(sentence) {
                continue;
            }
            let kind = replies::claim_kind(sentence, Origin::Assistant);
            if let Some(kind) = kind.filter(|kind| *kind == ClaimKind::Lesson || decides(sentence))
            {
                let sentence = markdown::strip_marks(sentence);
                let sentence =
                    text::one_line(sentence.strip_prefix("Decision: ").unwrap_or(&sentence), 240);
                if !self.stated.iter().any(|(_, _, known)| *known == sentence) {
                    self.stated.push((time.to_string(), kind, sentence));
                }
            }
        }
    }

    /// The section of the session's lines whose time counts.
    fn section(&self, digest: Option<&Digest>, counts: impl Fn(&str) -> bool) -> SessionSummary {
        let turns: Vec<&Turn> = self.turns.iter().filter(|turn| counts(&turn.time)).collect();
        let of = |kind: ClaimKind| {
            let stated =
                self.stated.iter().filter(|(time, known, _)| *known == kind && counts(time));
            stated.map(|(_, _, sentence)| sentence.clone()).take(MOST_OF_A_KIND).collect::<Vec<_>>()
        };
        let chosen = chosen(&turns);
        let mut context = Vec::new();
        if !turns.is_empty() {
            // What the first exchange quotes anyway need not be said before it.
            let is_quoted = |wanted: &String| {
                let start = text::one_line(wanted, 60);
                chosen
                    .first()
                    .is_some_and(|turn| turn.asked.starts_with(start.trim_end_matches('…')))
            };
            context.extend(self.wanted(digest).filter(|wanted| !is_quoted(wanted)));
            context.extend(self.facts_of_work(false).filter(|_| counts(&self.last)));
        }
        let mut exchanges: Vec<String> = chosen.into_iter().map(Turn::shown).collect();
        let milestones = self.milestones.iter().filter(|(time, _)| counts(time));
        exchanges.extend(
            milestones.map(|(time, said)| format!("{} {said}", minute(time))).take(MOST_OF_A_KIND),
        );
        // Lines without a digest have only their own words; with one, what it leaves out was talk.
        let chosen = [ClaimKind::Decision, ClaimKind::Standing];
        let decisions = match digest {
            None => of(ClaimKind::Decision),
            Some(_) if counts(&self.first) && self.whole(digest).is_some() => {
                self.claims(digest, &chosen)
            }
            Some(digest) => said_in(&turns, digest, &chosen),
        };
        let mut lessons = self.claims(digest, &[ClaimKind::Lesson]);
        if lessons.is_empty() || !counts(&self.first) {
            lessons = of(ClaimKind::Lesson);
        }
        SessionSummary {
            context,
            exchanges,
            decisions,
            lessons,
            actions: if counts(&self.last_reply.0) { self.actions() } else { Vec::new() },
        }
    }

    /// What was wanted of the session that day: of one that is of that day alone, what its digest
    /// says beyond the title; of a longer one, the day's first wish that says something.
    fn wanted(&self, digest: Option<&Digest>) -> Option<String> {
        let turns: Vec<&Turn> = self.turns.iter().filter(|turn| !turn.asked.is_empty()).collect();
        let first = turns.iter().find(|turn| !is_low(&turn.asked)).or(turns.first())?;
        let content = self.whole(digest).filter(|content| !content.objective.is_empty());
        if let Some(content) = content {
            return Some(aim(&content.title, &content.objective));
        }
        // The first wish that does not only talk; else what was said first.
        let wish = |turn: &&Turn| {
            let wishes = prompts::wishes(&turn.asked).into_iter();
            wishes.map(|wish| text::phrase(&wish, LONGEST_QUOTE)).find(|wish| is_wish(wish))
        };
        if let Some(wish) = turns.iter().find_map(wish) {
            return Some(wish);
        }
        // A first sentence of a few words, or one that was cut at an odd place, says too little.
        let wanted = text::first_sentence(&first.asked, LONGEST_QUOTE);
        let short = wanted.chars().count() < 40 && first.asked.chars().count() > 40;
        let wanted = if short { text::phrase(&first.asked, LONGEST_QUOTE) } else { wanted };
        Some(wanted).filter(|wanted| !wanted.is_empty())
    }

    /// What was changed and run, in one sentence; a run that failed is nothing done.
    fn facts_of_work(&self, only_done: bool) -> Option<String> {
        let mut facts = Vec::new();
        if !self.edited.is_empty() {
            facts.push(format!("changed {}", markdown::code_list(&self.edited, 5)));
        }
        if let Some((run, ok)) = self.last_run.as_ref().filter(|(_, ok)| *ok || !only_done) {
            let how = match (*ok, self.failed_runs) {
                (true, 0) => "passed".into(),
                (true, failed) => {
                    format!("passed in the end, after {}", text::counted(failed, "failed run"))
                }
                (false, _) => "failed at last".into(),
            };
            facts.push(format!("{run} {how}"));
        }
        (!facts.is_empty()).then(|| facts.join("; "))
    }

    /// The digest of a session all of whose prompts are of that day; it may span more.
    fn whole<'d>(&self, digest: Option<&'d Digest>) -> Option<&'d Content> {
        let content = digest.map(|digest| &digest.content)?;
        (self.prompts >= content.turns && content.turns > 0).then_some(content)
    }

    /// What the digest states of these kinds, where it is about that day.
    fn claims(&self, digest: Option<&Digest>, kinds: &[ClaimKind]) -> Vec<String> {
        let stated = self.whole(digest).map(|content| content.stated.as_slice());
        let of_kind = |claim: &&Claim| kinds.contains(&claim.kind) && claim.origin != Origin::Tool;
        let stated = stated.unwrap_or_default().iter().filter(of_kind);
        stated.map(|claim| claim.text.clone()).take(MOST_OF_A_KIND).collect()
    }

    /// Whether the session ended that day, so that what it left open was open then.
    fn ends_on(&self, day: Option<NaiveDate>, digest: Option<&Digest>) -> bool {
        let ended = digest.and_then(|digest| digest.content.date.parse::<NaiveDate>().ok());
        match (day, ended) {
            (Some(day), Some(ended)) => day == ended,
            _ => self.whole(digest).is_some(),
        }
    }

    /// What came of it, in one line: the digest's first outcome; of a session of several days, what
    /// was committed last that day; or what the agent said in the end.
    fn headline(&self, digest: Option<&Digest>) -> String {
        let content = self.whole(digest).or_else(|| self.unasked(digest));
        if let Some(outcome) = content.and_then(|content| content.key_outcomes.first()) {
            return text::phrase(without_episode(outcome), LONGEST_HEADLINE);
        }
        if let Some(made) = self.made.iter().rev().find(|made| made.starts_with("committed ")) {
            return self.outcome_of(made, digest).unwrap_or_else(|| made.clone());
        }
        let says = |answer: &&str| {
            !is_curt(answer) && !replies::says_it_passed(answer) && !replies::announces(answer)
        };
        let answers = || self.turns.iter().rev().map(|turn| turn.answered.as_str());
        let tells = |answer: &&str| says(answer) && words::telling(answer).len() >= 4;
        let said = answers().find(tells).or_else(|| answers().find(says));
        let said = said.or_else(|| answers().find(|answer| !is_curt(answer)));
        text::phrase(replies::without_cheer(said.unwrap_or_default()), LONGEST_HEADLINE)
    }

    /// The outcome of the digest that a commit of the day came to.
    fn outcome_of(&self, made: &str, digest: Option<&Digest>) -> Option<String> {
        let hash = made.strip_prefix("committed ")?.split(' ').next()?;
        let outcomes = &digest?.content.key_outcomes;
        let short = text::cut(hash, 7);
        let outcome =
            outcomes.iter().find(|outcome| short.len() == 7 && outcome.contains(short))?;
        Some(text::phrase(without_episode(outcome), LONGEST_HEADLINE))
    }

    /// The digest of a session in which nobody asked anything, where it is of one day.
    fn unasked<'d>(&self, digest: Option<&'d Digest>) -> Option<&'d Content> {
        let content = digest.map(|digest| &digest.content)?;
        let days = content.started.zip(content.ended);
        let one_day = days.is_some_and(|(from, to)| from.date_naive() == to.date_naive());
        (content.turns == 0 && one_day).then_some(content)
    }

    /// What was done that day. The digest is about the whole session, which may span more days.
    fn done(&self, digest: Option<&Digest>, most: usize) -> Vec<String> {
        let outcomes = self.whole(digest).map(|content| content.key_outcomes.as_slice());
        if let Some(outcomes) = outcomes.filter(|outcomes| !outcomes.is_empty()) {
            let passed = self.last_run.as_ref().filter(|(_, ok)| *ok);
            let run = passed.and_then(|_| self.facts_of_work(true));
            let short = |outcome: &String| text::phrase(without_episode(outcome), LONGEST_LINE);
            let outcomes = outcomes.iter().map(short);
            return outcomes.chain(run).take(most).collect();
        }
        let mut done: Vec<String> = self.facts_of_work(true).into_iter().collect();
        let shown = most.saturating_sub(done.len() + 1).max(1);
        done.extend(self.made.iter().take(shown).cloned());
        done.extend(more_made(self.made.get(shown..).unwrap_or_default()));
        let answer = || {
            self.turns
                .iter()
                .rev()
                .map(|turn| &turn.answered)
                .find(|answer| !answer.is_empty())
                .cloned()
        };
        if done.is_empty() {
            done.extend(answer());
        }
        done
    }

    /// What the day leaves open; what the digest names as open only where the session ended then.
    fn left_open(
        &self,
        digest: Option<&Digest>,
        whole: &SessionSummary,
        ends: bool,
    ) -> Vec<String> {
        let content = digest.map(|digest| &digest.content).filter(|_| ends);
        let stated = content.map(|content| content.stated.as_slice()).unwrap_or_default();
        let stated = stated.iter().filter(|claim| claim.kind == ClaimKind::Open);
        let mut open: Vec<String> =
            stated.map(|claim| claim.text.clone()).take(MOST_OF_A_KIND).collect();
        if open.is_empty() {
            open.extend(whole.actions.iter().take(3).cloned());
        }
        open.extend(self.failing.iter().take(3).cloned());
        if let Some((run, false)) = &self.last_run {
            let is_said = |known: &String| known.contains(run.trim_matches('`'));
            if !open.iter().any(is_said) {
                open.push(format!("{run} failed at last"));
            }
        }
        let unanswered =
            self.turns.last().filter(|turn| turn.answered.is_empty() && !is_low(&turn.asked));
        open.extend(unanswered.map(|turn| format!("not answered: {}", quoted(&turn.asked))));
        let status = match content.map(|content| content.status) {
            Some(Outcome::Fail) => "it ended without success",
            Some(Outcome::Abandoned) => "it was left before it was done",
            _ => return open,
        };
        if open.is_empty() {
            open.push(status.into());
        }
        open
    }

    /// What the agent's last words leave to be done.
    fn actions(&self) -> Vec<String> {
        static ACTION: StaticRegex = StaticRegex::new(
            r"(?i)\bTO-?DOs?:|^to-?dos?\b|\b(next steps?|(?:in|for|as) (?:a|the) follow[- ]?up|follow[- ]?ups?(?: (?:is|are|needed|remains?)\b|:)|left to do|remains? to|still (needs?|missing|open|fails?|failing|to do)|not yet|you('ll| will)? (need|want) to|remember to)\b",
        );
        static IF: StaticRegex =
            StaticRegex::new(r"(?i)^\W*if\b|\bif (it|this|that|you|there|the)\b");
        sentences(&self.last_reply.1)
            .filter(|sentence| {
                (16..300).contains(&sentence.chars().count()) && !sentence.ends_with(':')
            })
            .filter(|sentence| {
                ACTION.is_match(sentence) && !is_drawn(sentence) && !sentence.contains("do next")
            })
            // "If this still fails, we can …" is what may come, not what is left.
            .filter(|sentence| !IF.is_match(sentence))
            .map(|sentence| text::one_line(whole(&markdown::strip_marks(sentence)), 240))
            .take(MOST_OF_A_KIND)
            .collect()
    }
}

impl Turn {
    fn shown(&self) -> String {
        let asked = text::one_line(&self.asked, LONGEST_QUOTE);
        match (asked.is_empty(), self.answered.is_empty()) {
            (true, _) => format!("{} {}", minute(&self.time), self.answered),
            (false, true) => format!("{} {}", minute(&self.time), quoted(&asked)),
            (false, false) => {
                format!("{} {} → {}", minute(&self.time), quoted(&asked), self.answered)
            }
        }
    }

    /// How much there is to it.
    fn weight(&self) -> usize {
        self.asked.chars().count().min(200)
            + self.answered.chars().count().min(200)
            + 40 * self.tool_calls.min(5)
    }
}

/// As many sentences of an objective as a line has room for, without one that is the title and
/// those that only talk; the title where no other is left.
fn aim(title: &str, objective: &str) -> String {
    let letters = |said: &str| -> String {
        said.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let named = letters(title);
    let mut said = String::new();
    let is_new = |sentence: &&str| letters(sentence) != named && is_wish(sentence);
    for sentence in text::sentences(objective).filter(is_new) {
        if !said.is_empty() && said.chars().count() + sentence.chars().count() > LONGEST_QUOTE {
            break;
        }
        let gap = if said.is_empty() { "" } else { " " };
        said = format!("{said}{gap}{sentence}");
    }
    if said.is_empty() { title.to_string() } else { text::clause(&said, 2 * LONGEST_QUOTE) }
}

/// Whether a sentence says by itself what is wanted: no talk, nothing that leans on a list or a
/// sentence before it, nothing that a terminal printed.
fn is_wish(sentence: &str) -> bool {
    static LEANS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:one|some|all|both|most|none|any) of\b|^(?:another|findings|the (?:above|following|first|second|last|other))\b|\b\w+@[\w-]+|\s[>%$]\s|&&|\s\|\s",
    );
    !prompts::opens_as_chat(sentence)
        && !LEANS.is_match(sentence)
        && words::telling(sentence).len() >= 4
}

/// The turns that say the most, in their order; the first and the last always do.
fn chosen<'t>(turns: &[&'t Turn]) -> Vec<&'t Turn> {
    let kept: Vec<&Turn> = turns.iter().copied().filter(|turn| !is_low(&turn.asked)).collect();
    // A day of nothing but acknowledgements keeps them.
    let mut kept = if kept.is_empty() { turns.to_vec() } else { kept };
    // What got no answer was said again, or is the last word of the day.
    let last = kept.last().map(|turn| turn.time.clone());
    if kept.iter().any(|turn| !turn.answered.is_empty()) {
        kept.retain(|turn| !turn.answered.is_empty() || Some(&turn.time) == last.as_ref());
    }
    if kept.len() <= MOST_EXCHANGES {
        return kept;
    }
    let mut between: Vec<usize> = (1..kept.len() - 1).collect();
    between.sort_by_key(|at| (std::cmp::Reverse(kept[*at].weight()), *at));
    between.truncate(MOST_EXCHANGES - 2);
    between.extend([0, kept.len() - 1]);
    between.sort_unstable();
    between.into_iter().map(|at| kept[at]).collect()
}

/// What the digest of a longer session states of these kinds, as far as the person said it in these
/// turns.
fn said_in(turns: &[&Turn], digest: &Digest, kinds: &[ClaimKind]) -> Vec<String> {
    let stated = digest.content.stated.iter();
    let of_person = stated.filter(|one| kinds.contains(&one.kind) && one.origin == Origin::User);
    let is_said = |claim: &&Claim| {
        let start = text::one_line(&claim.text, 60).to_lowercase();
        let start = start.trim_end_matches(['…', '.', ' ']);
        !start.is_empty() && turns.iter().any(|turn| turn.asked.to_lowercase().contains(start))
    };
    of_person.filter(is_said).map(|claim| claim.text.clone()).take(MOST_OF_A_KIND).collect()
}

/// How many commits and pull requests are not named.
fn more_made(made: &[String]) -> Option<String> {
    let commits = made.iter().filter(|made| made.starts_with("committed ")).count();
    let counts = [(commits, "more commit"), (made.len() - commits, "more pull request")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counts.map(|(count, what)| text::counted(count, what)).collect();
    (!counted.is_empty()).then(|| format!("and {}", counted.join(" and ")))
}

/// An outcome without the episode behind it: on the day's page the session's link leads there.
fn without_episode(outcome: &str) -> &str {
    static EPISODE: StaticRegex = StaticRegex::new(r"\s*\((?:EP_\d+[,;\s]*)+\)\s*$");
    EPISODE.find(outcome).map_or(outcome, |found| &outcome[..found.start()])
}

/// The words of an event by which the same worker or task is known again.
fn words_about(said: &str) -> HashSet<String> {
    let words = said.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    let words = words.filter(|word| word.len() >= 4).map(str::to_lowercase);
    words.filter(|word| !words_of_state(word)).collect()
}

fn words_of_state(word: &str) -> bool {
    const STATE: &[&str] = &[
        "failed", "finished", "completed", "blocked", "cancelled", "crashed", "killed", "worker",
        "task", "background", "false", "true", "without", "answer", "started", "done", "recovered",
    ];
    STATE.contains(&word)
}

/// Whether a line of the system is memtree's own report, which says nothing of the day's work.
fn is_own_report(said: &str) -> bool {
    static REPORT: StaticRegex = StaticRegex::new(
        r"(?i)^(context compacted$|[\w-]+ finalized \d+ days?:|flush(ed)?\b|nothing worth saving)",
    );
    REPORT.is_match(said.trim())
}

fn minute(time: &str) -> &str {
    time.get(..5).unwrap_or(time)
}

fn quoted(said: &str) -> String {
    format!("“{}”", said.replace(['“', '”'], "\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::EpisodeId;

    fn summary(lines: &str) -> DaySummary {
        let mut reader = DayReader::default();
        lines
            .lines()
            .filter_map(|line| Line::parse(line.trim()))
            .for_each(|line| reader.take(line));
        reader.finish(String::new(), |_| None, |_| Vec::new())
    }

    #[test]
    fn it_says_what_was_wanted_decided_done_and_left_open() {
        let day = summary(
            "- [09:00:00] [user] (S1) The day log loses lines when two writers meet. Find out why.
             - [09:01:00] [tool_event] (S1) `$ cargo test day` ok=false
             - [09:02:00] [main_agent] (S1) The root cause is the header: it is written after the lock is given back.
             - [09:03:00] [user] (S1) ok
             - [09:04:00] [tool_event] (S1) edited `src/day.rs`, `src/lock.rs` ok=true
             - [09:05:00] [tool_event] (S1) `$ cargo test day 2>&1 | tail -20` ok=true
             - [09:05:30] [tool_event] (S1) committed 1f3c9e2 hold the lock ok=true
             - [09:06:00] [main_agent] (S1) We decided to hold the lock until the header is there. The Windows path still needs a test.
             - [09:07:00] [system] (S1) context compacted",
        );
        let texts =
            |points: &[Point]| points.iter().map(|point| point.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&day.wanted), ["The day log loses lines when two writers meet."]);
        assert_eq!(texts(&day.decided), ["We decided to hold the lock until the header is there."]);
        assert_eq!(
            texts(&day.done),
            [
                "changed `day.rs`, `lock.rs`; `cargo test day` passed in the end, after 1 failed run",
                "committed 1f3c9e2 hold the lock"
            ]
        );
        assert_eq!(texts(&day.open), ["The Windows path still needs a test."]);
        let section = &day.sessions[0].summary;
        assert_eq!(section.exchanges.len(), 1, "an acknowledgement is no exchange: {section:?}");
        assert!(section.exchanges[0].starts_with("09:00 “The day log loses lines"), "{section:?}");
        assert_eq!(
            section.lessons,
            ["The root cause is the header: it is written after the lock is given back."]
        );
        assert_eq!(section.actions, ["The Windows path still needs a test."]);
        assert_eq!(
            (day.sessions[0].first.as_str(), day.sessions[0].last.as_str()),
            ("09:00:00", "09:06:00")
        );
    }

    #[test]
    fn a_commit_after_a_failing_run_leaves_nothing_open() {
        let failed = "- [09:01:00] [tool_event] (S1) `$ cargo test tide` ok=false";
        let open = |lines: &str| summary(lines).open.len();
        assert_eq!(open(failed), 1);
        let committed = "- [09:02:00] [tool_event] (S1) committed 1f3c9e2 hold the lock ok=true";
        assert_eq!(open(&format!("{failed}\n{committed}")), 0);
        assert_eq!(open(&format!("{committed}\n{failed}")), 1);
        let asked = "- [09:01:30] [user] (S1) now paint the boats of the pilot in blue, please";
        let answered = "- [09:01:40] [main_agent] (S1) Painted the boats of the pilot in blue.";
        let later = format!("{failed}\n{asked}\n{answered}\n{asked}\n{answered}\n{committed}");
        assert_eq!(open(&later), 1);
    }

    #[test]
    fn workers_tasks_and_the_system_have_their_say() {
        let day = summary(
            "- [09:00:00] [worker_event] (W1) started indexer: the archive of October
             - [09:10:00] [worker_event] (W1) failed indexer: no space left on the device
             - [09:20:00] [task_agent_event] (W1) failed 7c1d: the summary of the archive
             - [09:30:00] [task_agent_event] (W1) finished 7c1d: the archive has 12 parts
             - [09:31:00] [system] (W1) restarted after an update
             - [09:32:00] [system] (W1) sweep finalized 2 days: 2026-11-01 to 2026-11-02
             - [09:33:00] [tool_event] (W1) `$ cargo test`",
        );
        let section = day.sessions[0].summary.exchanges.join("\n");
        for said in ["failed indexer", "finished 7c1d", "restarted after an update"] {
            assert!(section.contains(said), "{said}: {section}");
        }
        assert!(!section.contains("finalized") && !section.contains("started indexer: the"));
        let open: Vec<&str> = day.open.iter().map(|point| point.text.as_str()).collect();
        assert_eq!(
            open,
            ["failed indexer: no space left on the device"],
            "the task went well at last"
        );
        assert!(day.done.is_empty(), "a run that does not say how it went has not passed: {day:?}");
    }

    fn open_of(lines: &str, day: &str, digest: Digest) -> Vec<String> {
        let mut reader = DayReader::of(day.parse().unwrap());
        lines.lines().filter_map(|l| Line::parse(l.trim())).for_each(|line| reader.take(line));
        let day = reader.finish(String::new(), |_| Some(digest.clone()), |_| Vec::new());
        day.open.into_iter().map(|point| point.text).collect()
    }

    fn digest_with_open(text: &str) -> Digest {
        let open = Claim {
            kind: ClaimKind::Open,
            origin: Origin::Tool,
            text: text.into(),
            episode: EpisodeId(1),
        };
        let content = Content {
            date: "2026-11-15".into(),
            turns: 9,
            stated: vec![open],
            ..Content::default()
        };
        Digest::of_content("SES1_laptop_SP1C1", content)
    }

    #[test]
    fn what_a_session_left_open_stands_on_the_day_on_which_it_ended() {
        let lines = "- [09:00:00] [user] (S1) Please write the page about locks\n\
                     - [09:01:00] [main_agent] (S1) The page about locks is written and checked.";
        let digest = digest_with_open("Commit 1f3c9e2 on branch locks is not pushed: the page");
        assert_eq!(
            open_of(lines, "2026-11-15", digest.clone()),
            ["Commit 1f3c9e2 on branch locks is not pushed: the page"]
        );
        assert!(open_of(lines, "2026-11-14", digest).is_empty(), "it went on after that day");
    }

    #[test]
    fn a_failing_run_is_never_done() {
        let lines = "- [09:00:00] [user] (S1) Please commit the page about locks
             - [09:01:00] [tool_event] (S1) `$ cargo test day` ok=false
             - [09:02:00] [main_agent] (S1) The one failing test is known, I commit the page.";
        let day = summary(lines);
        assert_eq!(day.open[0].text, "`cargo test day` failed at last");
        assert!(day.done.iter().all(|point| !point.text.contains("failed")), "{:?}", day.done);
        let day = summary(&format!(
            "{lines}\n- [09:03:00] [tool_event] (S1) committed 1f3c9e2 the page ok=true"
        ));
        assert!(day.open.is_empty(), "{:?}", day.open);
    }

    #[test]
    fn a_day_of_a_longer_session_is_named_by_what_was_committed() {
        let lines = "- [09:00:00] [user] (S1) Please write the page about locks
             - [09:01:00] [main_agent] (S1) The page about locks says who holds one.
             - [09:02:00] [user] (S1) and commit it, if all is well
             - [09:03:00] [main_agent] (S1) Pre-commit hooks passed (tests, lint, typecheck).";
        let headline = |lines: &str| summary(lines).sessions[0].headline.clone();
        assert_eq!(headline(lines), "The page about locks says who holds one.");
        let commit = "- [09:02:30] [tool_event] (S1) committed 1f3c9e2 docs: locks ok=true";
        assert_eq!(headline(&format!("{lines}\n{commit}")), "committed 1f3c9e2 docs: locks");
    }

    #[test]
    fn what_a_worker_tried_on_its_way_is_not_open() {
        let day = summary(
            "- [09:00:00] [user] (S1) Please sort the archive by month
             - [09:01:00] [task_agent_event] (S1) started 7c1d: Sort the archive. Then stop.
             - [09:02:00] [task_agent_event] (S1) 7c1d: edited `src/sort.rs` ok=false
             - [09:03:00] [task_agent_event] (S1) finished 7c1d: Great!
             - [09:04:00] [worker_event] (S1) background task killed: the server was stopped
             - [09:04:01] [worker_event] (S1) background task killed: the server was stopped
             - [09:05:00] [main_agent] (S1) A todo list with a page for each month is there. \
             I did send a follow-up to the worker. If the upload fails, remember to check the key.",
        );
        let open: Vec<&str> = day.open.iter().map(|point| point.text.as_str()).collect();
        assert_eq!(open, ["background task killed: the server was stopped"]);
        let exchanges = day.sessions[0].summary.exchanges.join("\n");
        assert!(exchanges.contains("finished 7c1d: Sort the archive."), "{exchanges}");
    }

    #[test]
    fn what_is_not_named_is_counted_in_plain_words() {
        let made = ["committed a1 one".to_string(), "opened #2".into(), "opened #3".into()];
        assert_eq!(more_made(&made).unwrap(), "and 1 more commit and 2 more pull requests");
        assert_eq!(more_made(&made[..1]).unwrap(), "and 1 more commit");
        assert_eq!(more_made(&[]), None);
    }

    #[test]
    fn what_was_summarized_already_is_left_out_of_the_section_alone() {
        let mut reader = DayReader::default();
        for line in [
            "- [09:00:00] [user] (S1) Please explain the first question of the day",
            "- [10:00:00] [user] (S1) Please explain the second question of the day",
        ] {
            reader.take(Line::parse(line).unwrap());
        }
        let day = reader.finish(
            String::new(),
            |_| None,
            |_| vec![("09:00:00".into(), "09:30:00".into())],
        );
        assert_eq!(
            day.sessions[0].summary.exchanges,
            ["10:00 “Please explain the second question of the day”"]
        );
        assert!(day.wanted[0].text.contains("first question"));
    }

    #[test]
    fn of_many_turns_the_weightiest_are_shown_in_order() {
        let mut lines = String::new();
        for minute in 10..50 {
            lines.push_str(&format!(
                "- [09:{minute}:00] [user] (S1) A question about part {minute} of the program\n"
            ));
        }
        lines.push_str("- [09:50:00] [user] (S1) 7\n");
        let exchanges = &summary(&lines).sessions[0].summary.exchanges;
        assert_eq!(exchanges.len(), MOST_EXCHANGES);
        assert!(
            exchanges[0].starts_with("09:10")
                && exchanges[7].starts_with("09:49")
                && exchanges.is_sorted()
        );
    }

    #[test]
    fn an_acknowledgement_is_told_as_a_whole() {
        for low in ["ok", "OK!", "Yes, please", "no", "7", "thanks."] {
            assert!(is_low(low), "{low}");
        }
        for said in ["I know", "ok, but why?", "notes", "goes wrong"] {
            assert!(!is_low(said), "{said}");
        }
    }

    fn of_digest(lines: &str, content: Content) -> DaySummary {
        let mut reader = DayReader::default();
        lines.lines().filter_map(|l| Line::parse(l.trim())).for_each(|line| reader.take(line));
        let digest = Digest::of_content("SES1_laptop_SP1C1", content);
        reader.finish(String::new(), |_| Some(digest.clone()), |_| Vec::new())
    }

    #[test]
    fn what_was_wanted_is_the_aim_and_no_title_with_a_prompt_behind_it() {
        let lines = "- [09:00:00] [user] (S1) ok lets paint the boats of the pilot in harbour blue
             - [09:01:00] [main_agent] (S1) The harbour log takes its lock first.";
        let content = |turns| Content {
            title: "Lock the harbour log".into(),
            objective: "Lock the harbour log. Two writers lose tides of the morning.".into(),
            turns,
            ..Content::default()
        };
        let wanted = |turns| of_digest(lines, content(turns)).wanted[0].text.clone();
        assert_eq!(wanted(1), "Two writers lose tides of the morning.");
        assert_eq!(wanted(9), "paint the boats of the pilot in harbour blue");
    }

    #[test]
    fn the_lists_of_a_day_and_its_sections_say_nothing_twice() {
        let lines = "- [09:00:00] [user] (S1) Please write the page about locks
             - [09:01:00] [tool_event] (S1) edited `src/lock.rs` ok=true
             - [09:02:00] [main_agent] (S1) We decided to hold the lock until the header is there.";
        let day = summary(lines);
        assert_eq!(day.decided.len(), 1);
        let section = &day.sessions[0].summary;
        assert!(section.decisions.is_empty(), "{section:?}");
        assert!(section.context.iter().all(|line| !line.starts_with("changed")), "{section:?}");
    }

    #[test]
    fn a_commit_of_the_day_is_shown_as_the_digest_has_it() {
        let lines = "- [09:00:00] [user] (S1) Please write the page about locks
             - [09:02:30] [tool_event] (S1) committed 1f3c9e2 docs: locks ok=true";
        let outcome = "The page about locks is there (1f3c9e2 on main) (EP_002)";
        let content =
            Content { turns: 9, key_outcomes: vec![outcome.into()], ..Content::default() };
        let headline = &of_digest(lines, content).sessions[0].headline;
        assert_eq!(headline, "The page about locks is there (1f3c9e2 on main)");
    }
}
