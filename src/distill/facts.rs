//! Facts: what is kept of a session while its steps stream by, part by part.
//!
//! A part is an episode. Everything here is bounded, however long the log: texts are cut, lists
//! end, and of an episode's words only those that may set it apart are kept when it ends.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::base::clock::Timestamp;
use crate::base::{markdown, text};
use crate::distill::commands::{self, Commit, PullRequest};
use crate::distill::errors::{self, ErrorLine};
use crate::distill::prompts::Plan;
use crate::distill::remarks::Remarks;
use crate::distill::signals::SignalCounter;
use crate::distill::steps::{Outcome, Step, StepKind, ToolCall};
use crate::distill::test_runs::{self, Verdict};
use crate::distill::work_tree::WorkTree;
use crate::distill::{prompts, remarks, replies, tools, words};
use crate::model::digest::{ClaimKind, Origin};
use crate::model::evidence::FileState;
use crate::model::session::{Action, Actor, FileChange};

/// What is known of a session, part by part.
#[derive(Debug, Default)]
pub struct Facts {
    pub parts: Vec<EpisodeFacts>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Words that were said, by the person and the agent.
    pub spoken: u64,
    /// Prompts of this session's own: a fork's inherited ones are not counted.
    pub prompts: u64,
    pub tool_calls: u64,
    pub failed_calls: u64,
    /// Commands that the person ran beside the agent.
    pub own_commands: u64,
    pub interventions: u64,
    pub compactions: u64,
    pub subagents: Vec<String>,
    /// How often each tool was used.
    pub tools: std::collections::BTreeMap<String, u64>,
    /// How often each kind of event came, by the names that all agents share.
    pub events: std::collections::BTreeMap<&'static str, u64>,
    /// The first command that a person typed (`/review 12`), for sessions that have no prompt.
    pub first_command: Option<String>,
    /// The last command, if it failed: the same one again is a retry.
    pub failed_command: Option<String>,
    /// What the pattern loop counts.
    pub counter: SignalCounter,
    /// How the work stands at the end.
    pub work_tree: WorkTree,
}

/// What is known of one episode.
#[derive(Debug, Default)]
pub struct EpisodeFacts {
    /// The episode's number; merged parts keep the first.
    pub episode: u32,
    /// The last episode that it covers.
    pub last_episode: u32,
    pub prompt: String,
    pub last_reply: String,
    pub replies: u64,
    pub tool_calls: u64,
    pub failed_calls: u64,
    /// About how many words were said and shown in it.
    pub size: u64,
    /// The files that were changed, each as it was left.
    pub edited: Vec<FileChange>,
    pub commands: Vec<String>,
    /// The commands among them that checked the work and passed, each time they did.
    pub checks: Vec<String>,
    pub tests: Vec<Verdict>,
    pub errors: Vec<ErrorLine>,
    pub commits: Vec<Commit>,
    /// Pull requests opened, by address.
    pub opened: Vec<String>,
    /// What happened to pull requests, in order; each step once.
    pub pulls: Vec<PullRequest>,
    /// Tags that were set.
    pub tags: Vec<String>,
    /// Documents that were written, with their headings.
    pub written: Vec<Document>,
    /// The paths of those that were written whole, rather than changed here and there.
    pub begun: Vec<String>,
    /// What the agent understood that the person wants, in its own words.
    pub understood: String,
    /// The plan that the agent made.
    pub plan: Option<Plan>,
    /// Whether the last call has no answer: the log was cut off there.
    pub cut_off: bool,
    /// Whether the last push, publication, merge or deployment failed.
    pub undelivered: bool,
    /// Errors that went away, and by what.
    pub solved: Vec<SolvedError>,
    pub statements: Vec<Statement>,
    /// What may be worth carrying on.
    pub remarks: Remarks,
    pub signals: Vec<Signal>,
    /// Whether it read the web or what an MCP server said: what is said after that may be said in
    /// their words.
    pub read_outside: bool,
    /// Whether it was taken back.
    pub rewound: bool,
    /// Whether it is a copy of another session's.
    pub inherited: bool,
    /// Words that may set it apart, heaviest first once the part has ended.
    pub words: Vec<(String, f32)>,
    counting: HashMap<String, f32, RandomState>,
    /// The commands that failed and were not seen to work since.
    failing: Vec<Failing>,
}

/// An error that went away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SolvedError {
    /// The error as it was printed.
    pub error: String,
    /// What was done before the same command worked: `changing src/lock.rs`.
    pub by: String,
}

/// A document that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub path: String,
    /// Its first heading, where it was written whole.
    pub heading: String,
}

/// A command that failed, and what was done since.
#[derive(Debug)]
struct Failing {
    /// What kind of command it is, where another one like it shows as well that it works: the same
    /// tests run with another filter are still the same.
    kind: Option<String>,
    command: String,
    error: String,
    changed_since: Vec<String>,
    /// The commands that worked, the latest last.
    ran_since: Vec<String>,
}

impl Failing {
    /// What was done before the command worked; `None` where that is not known: another command of
    /// its kind worked, which need not have failed.
    fn solved_by(&self, command: &str) -> Option<String> {
        let mut changed: Vec<&str> =
            self.changed_since.iter().map(|path| text::file_name(path)).collect();
        changed.dedup();
        if !changed.is_empty() {
            return Some(format!("changing {}", changed.join(", ")));
        }
        if self.command != command {
            return None;
        }
        Some(match self.ran_since.is_empty() {
            true => "trying again".to_string(),
            false => {
                let ran = self.ran_since.iter().map(|command| format!("`{command}`"));
                format!("running {}", ran.collect::<Vec<_>>().join(", "))
            }
        })
    }
}

/// Something that was decided or learnt, in the words in which it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub kind: ClaimKind,
    pub text: String,
    pub origin: Origin,
}

/// Signs of how it goes, in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Test(bool),
    Error,
    Commit,
    Reply,
    GaveUp,
    Interrupted,
    /// A tool was used, and nothing was said about it yet.
    Work,
    /// The model itself failed and nothing followed.
    Broken,
}

const LONGEST_PROMPT: usize = 4000;
const LONGEST_REPLY: usize = 4000;
const MOST_IN_A_LIST: usize = 24;
const MOST_WORDS_COUNTED: usize = 6000;
const MOST_WORDS_KEPT: usize = 200;
/// How many parts a session keeps apart while it streams by.
const MOST_PARTS: usize = 1024;

impl Facts {
    /// Takes the next step.
    pub fn take(&mut self, step: &Step) {
        if let Some(at) = step.at {
            if !step.inherited {
                self.started = Some(self.started.map_or(at, |before| before.min(at)));
            }
            self.ended = Some(self.ended.map_or(at, |before| before.max(at)));
        }
        if let Some(agent) = &step.agent
            && !self.subagents.contains(agent)
            && self.subagents.len() < 200
        {
            self.subagents.push(agent.clone());
        }
        self.count_events(step);
        match &step.kind {
            StepKind::Prompt(said) if step.agent.is_none() => {
                self.begin_episode(said, step.inherited);
                if !step.inherited {
                    self.prompts += 1;
                }
            }
            StepKind::Prompt(_) | StepKind::Completion => {}
            StepKind::Rewind(kept) => {
                for part in self.parts.iter_mut().filter(|part| part.episode > *kept) {
                    part.rewound = true;
                }
            }
            StepKind::Intervention(_) => {
                self.interventions += 1;
                self.current().add_signal(Signal::Interrupted);
            }
            StepKind::Reply(said) => self.add_reply(said, step.agent.is_some()),
            StepKind::Thinking(said) if step.agent.is_none() => {
                let part = self.current();
                if part.understood.is_empty() {
                    part.understood = replies::understood(said).unwrap_or_default();
                }
            }
            StepKind::Thinking(_) => {}
            StepKind::Compaction(said) => {
                self.compactions += 1;
                self.current().count_words(text::cut(said, LONGEST_REPLY), 0.3);
            }
            StepKind::Lifecycle(said) => {
                if said.starts_with('/')
                    && self.first_command.is_none()
                    && !prompts::is_housekeeping(said)
                {
                    self.first_command = Some(text::one_line(said, 300));
                } else if said.starts_with("API Error") {
                    self.current().add_signal(Signal::Broken);
                }
            }
            StepKind::ToolCall(call) => self.add_call(call, step.inherited),
        }
        let part = self.parts.last_mut();
        let episode = part.as_ref().map_or(0, |part| part.last_episode);
        if let Some(part) = part {
            part.size += words_in(step);
            part.remarks.take(step);
        }
        self.counter.take(step, episode);
        self.work_tree.take(step);
    }

    /// Counts a step among the kinds of events: a call that edits or tests counts as such, and
    /// a result that failed as an error.
    fn count_events(&mut self, step: &Step) {
        let mut count = |kind: &'static str| *self.events.entry(kind).or_default() += 1;
        match &step.kind {
            StepKind::Prompt(_) => count("user_msg"),
            StepKind::Reply(_) => count("assistant_msg"),
            StepKind::Thinking(_) => count("thinking"),
            StepKind::Intervention(_) | StepKind::Rewind(_) => count("human_intervention"),
            StepKind::Compaction(_) | StepKind::Lifecycle(_) => count("lifecycle"),
            StepKind::Completion => count("completion"),
            // What the person ran is neither a call of the agent's nor its error.
            StepKind::ToolCall(call) if call.by == Actor::Person => count("own_command"),
            StepKind::ToolCall(call) => {
                if !call.tool.is_empty() {
                    count(match &call.action {
                        Action::Edit { .. } => "edit",
                        Action::Shell { command } if commands::is_test_command(command) => {
                            "test_run"
                        }
                        _ => "tool_call",
                    });
                }
                if call.answer.is_some() {
                    count(if call.failed() { "error" } else { "tool_result" });
                }
                let again = matches!(&call.action, Action::Shell { command } if self.failed_command.as_ref() == Some(command));
                if again {
                    count("retry");
                }
                if let Action::Shell { command } = &call.action {
                    self.failed_command = call.failed().then(|| command.clone());
                }
            }
        }
    }

    /// Ends the last part; after this the facts are whole.
    pub fn finish(&mut self) {
        if let Some(last) = self.parts.last_mut() {
            last.finish();
        }
    }

    /// How many decisions were stated.
    pub fn decisions(&self) -> u64 {
        let stated = self.parts.iter().flat_map(|part| &part.statements);
        stated.filter(|stated| stated.kind == ClaimKind::Decision).count() as u64
    }

    /// Whether it was only talk: no tool was used, and nothing was changed.
    pub fn is_talk(&self) -> bool {
        self.tool_calls == 0 && self.parts.iter().all(|part| part.edited.is_empty())
    }

    /// The parts that are this session's own and were not taken back.
    pub fn own_parts(&self) -> impl DoubleEndedIterator<Item = &EpisodeFacts> {
        self.parts.iter().filter(|part| !part.inherited && !part.rewound)
    }

    /// The commits of the session that have a hash, oldest first.
    pub fn commits(&self) -> impl Iterator<Item = &Commit> {
        let commits = self.parts.iter().filter(|part| !part.inherited).flat_map(|p| &p.commits);
        commits.filter(|commit| !commit.hash.is_empty())
    }

    /// Marks the latest commits that a command takes back or replaces.
    fn take_commits_back(&mut self, command: &str) {
        let standing = self.parts.iter_mut().rev().filter(|part| !part.inherited);
        let standing = standing.flat_map(|part| part.commits.iter_mut().rev());
        let latest = standing.filter(|commit| !commit.undone);
        latest.take(commands::commits_taken_back(command)).for_each(|c| c.undone = true);
    }

    /// Merges neighbouring parts where a session has too many to keep apart.
    pub fn merge_when_many(&mut self) {
        if self.parts.len() < MOST_PARTS {
            return;
        }
        let mut merged: Vec<EpisodeFacts> = Vec::with_capacity(self.parts.len() / 2 + 1);
        for (at, part) in self.parts.drain(..).enumerate() {
            match merged.last_mut() {
                Some(before) if at % 2 == 1 => before.absorb(part),
                _ => merged.push(part),
            }
        }
        self.parts = merged;
    }

    fn begin_episode(&mut self, prompt: &str, inherited: bool) {
        let episode = self.parts.last().map_or(1, |part| part.last_episode + 1);
        self.finish();
        // What failed may work only after the person has said something.
        let failing = self.parts.last_mut().map(|part| std::mem::take(&mut part.failing));
        self.spoken += prompt.split_whitespace().count() as u64;
        self.merge_when_many();
        let mut part = EpisodeFacts {
            episode,
            last_episode: episode,
            inherited,
            prompt: text::cut(prompt, LONGEST_PROMPT).to_string(),
            failing: failing.unwrap_or_default(),
            ..EpisodeFacts::default()
        };
        part.count_words(text::cut(prompt, 2 * LONGEST_PROMPT), 1.0);
        part.add_statements(prompt, Origin::User);
        part.errors.extend(errors::in_prompt(prompt));
        self.parts.push(part);
    }

    /// What the agent says next, without the sentences that order, permit or promise in the
    /// person's name; behind what was read outside, also in an earlier episode, without any order.
    /// The page of the episode has it all.
    pub fn without_orders<'t>(&self, said: &'t str) -> Cow<'t, str> {
        match self.parts.iter().any(|part| part.read_outside) {
            true => text::without_sentences(said, text::is_order),
            false => text::without_sentences(said, text::speaks_for_person),
        }
    }

    /// The part that is going on; what comes before the first prompt is `EP_000`.
    fn current(&mut self) -> &mut EpisodeFacts {
        if self.parts.is_empty() {
            self.parts.push(EpisodeFacts::default());
        }
        self.parts.last_mut().expect("a part was just put there")
    }

    fn add_reply(&mut self, said: &str, by_subagent: bool) {
        // A placeholder that the agent's program writes when no answer was wanted.
        if said.trim() == "No response requested." {
            return;
        }
        self.spoken += said.split_whitespace().count() as u64;
        let part = self.current();
        part.count_words(text::cut(said, 2 * LONGEST_REPLY), if by_subagent { 0.3 } else { 1.0 });
        if by_subagent {
            return;
        }
        part.replies += 1;
        part.cut_off = false;
        part.last_reply = text::cut(said, LONGEST_REPLY).to_string();
        part.add_statements(said, Origin::Assistant);
        let nothing_worked = part.tool_calls > 0 && part.tool_calls == part.failed_calls;
        let gives_up = replies::gives_up(said, nothing_worked);
        part.add_signal(if gives_up { Signal::GaveUp } else { Signal::Reply });
    }

    fn add_call(&mut self, call: &ToolCall, inherited: bool) {
        if call.tool.is_empty() {
            // The late answer of a call that was counted when it was made.
            return self.current().add_call(call);
        }
        match call.by {
            // What a fork began with is its origin's work.
            _ if inherited => {}
            Actor::Agent => self.count_call(call),
            Actor::Person => self.own_commands += 1,
            Actor::Program => {}
        }
        if !call.failed()
            && let Action::Shell { command } = &call.action
            && call.answer.is_some()
        {
            self.take_commits_back(command);
        }
        self.current().add_call(call);
    }

    /// Counts what the agent did by a tool.
    fn count_call(&mut self, call: &ToolCall) {
        self.tool_calls += 1;
        self.failed_calls += u64::from(call.failed());
        let tool = text::one_line(&call.tool, 60);
        if self.tools.len() < 300 || self.tools.contains_key(&tool) {
            *self.tools.entry(tool).or_default() += 1;
        }
    }
}

impl EpisodeFacts {
    /// A part of which only the prompt is known.
    #[cfg(test)]
    pub fn of_prompt(episode: u32, prompt: &str) -> EpisodeFacts {
        let prompt = prompt.to_string();
        EpisodeFacts { episode, last_episode: episode, prompt, ..EpisodeFacts::default() }
    }

    /// Makes a part of a text that nobody said: a file of a folder.
    pub fn of_text(episode: u32, title: &str, value: &str) -> EpisodeFacts {
        let mut part = EpisodeFacts {
            episode,
            last_episode: episode,
            prompt: text::one_line(title, 200),
            ..EpisodeFacts::default()
        };
        part.count_words(title, 2.0);
        part.count_words(value, 1.0);
        part.last_reply = text::first_sentence(value, 300);
        part.finish();
        part
    }

    /// Whether nothing was said in it.
    pub fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.words.is_empty() && self.last_reply.is_empty()
    }

    /// Adds the words of a text, each with a weight.
    fn count_words(&mut self, value: &str, weight: f32) {
        text::each_word(value, |word| {
            // Parts of identifiers and pairs of characters find, but nobody would read them as
            // keys; and a path is remembered by its last name.
            if !word.whole || words::is_folder_name(value, word.start, word.end) {
                return;
            }
            if self.counting.len() < MOST_WORDS_COUNTED
                || self.counting.contains_key(word.text.as_ref())
            {
                match self.counting.get_mut(word.text.as_ref()) {
                    Some(sum) => *sum += weight,
                    None => drop(self.counting.insert(word.text.into_owned(), weight)),
                }
            }
        });
    }

    fn finish(&mut self) {
        let mut words: Vec<(String, f32)> = std::mem::take(&mut self.counting)
            .into_iter()
            .filter_map(|(word, sum)| {
                let weight = words::weight(&word);
                (weight > 0.0).then(|| (word, (1.0 + sum).ln() * weight))
            })
            .collect();
        sort_by_weight(&mut words);
        words.truncate(MOST_WORDS_KEPT);
        self.words.extend(words);
    }

    fn add_signal(&mut self, signal: Signal) {
        // Only the order of the latest matters, and how many of a kind there were.
        if self.signals.len() >= 64 {
            self.signals.remove(0);
        }
        self.signals.push(signal);
    }

    fn add_call(&mut self, call: &ToolCall) {
        self.tool_calls += 1;
        self.read_outside |= tools::reads_outside(&call.tool, &call.action);
        self.failed_calls += u64::from(call.failed());
        if call.by != Actor::Person && self.signals.last() != Some(&Signal::Work) {
            self.add_signal(Signal::Work);
        }
        if !call.tool.is_empty() {
            self.cut_off = call.answer.is_none();
        }
        match &call.action {
            Action::Edit { files, text } if !call.failed() => {
                self.add_document(files, text);
                for file in files {
                    self.count_words(&file.path, 1.0);
                    // A result reports the state of one file.
                    let state = match &call.answer {
                        Some(result) if files.len() == 1 && result.state != FileState::Unknown => {
                            &result.state
                        }
                        _ => &file.state,
                    };
                    self.add_change(FileChange { path: file.path.clone(), state: state.clone() });
                }
            }
            Action::Read { path } => self.count_words(path, 0.2),
            Action::Shell { command } => {
                self.count_words(text::cut(command, 400), 0.4);
                keep(&mut self.commands, text::one_line(command, 160));
            }
            Action::Delegate { task } | Action::Ask { question: task } => {
                self.count_words(text::cut(task, 1000), 0.4)
            }
            Action::Search { query } => self.count_words(query, 0.3),
            Action::Commit { hash, message } if !call.failed() => {
                let (hash, message) = (hash.clone(), text::one_line(message, 120));
                self.count_words(&message, 1.0);
                keep(&mut self.commits, Commit { hash, message, ..Commit::default() });
                self.add_signal(Signal::Commit);
            }
            Action::Plan { text } => {
                if let Some(plan) = prompts::plan(text) {
                    self.plan = Some(plan);
                }
            }
            _ => {}
        }
        if let Some(result) = &call.answer {
            self.add_result(call, result);
        }
    }

    fn add_result(&mut self, call: &ToolCall, result: &Outcome) {
        let verdict = test_runs::verdict(call);
        match &call.action {
            Action::Shell { command } => {
                self.add_shell_result(call, command, result, verdict.as_ref())
            }
            Action::Ask { .. } => self.count_words(text::cut(&result.text, 1000), 0.5),
            _ => {}
        }
        if let Some(verdict) = &verdict {
            self.add_signal(Signal::Test(verdict.passed));
            keep(&mut self.tests, verdict.clone());
        }
        if call.failed() && errors::is_refusal(&result.text) {
            self.add_signal(Signal::Interrupted);
        } else if call.failed() || verdict.as_ref().is_some_and(|verdict| !verdict.passed) {
            let found = errors::in_failure(&result.text);
            if !found.is_empty() {
                self.add_signal(Signal::Error);
            }
            for error in found.into_iter().filter(|_| errors::matters(call)) {
                self.add_error(error);
            }
        } else if let Action::Shell { command } = &call.action
            && verdict.is_none_or(|verdict| !verdict.passed)
            && let Some(error) = errors::in_success(command, &result.text)
        {
            self.add_error(error);
        }
    }

    fn add_error(&mut self, error: ErrorLine) {
        self.count_words(&error.sample, 0.8);
        if !self.errors.iter().any(|known| known.fingerprint == error.fingerprint) {
            keep(&mut self.errors, error);
        }
    }

    /// Keeps the documents among the files of an edit: their headings say what was written.
    fn add_document(&mut self, files: &[FileChange], change: &str) {
        let [file] = files else { return };
        let is_document = [".md", ".mdx", ".rst", ".adoc"].iter().any(|e| file.path.ends_with(e));
        if !is_document {
            return;
        }
        let begins = text::cut(change, LONGEST_REPLY);
        let whole = begins.lines().filter(|line| !line.is_empty()).all(|l| l.starts_with('+'));
        let added = begins.lines().filter(|_| whole).filter_map(|line| line.strip_prefix('+'));
        let heading = added.filter_map(|line| line.trim_start().strip_prefix("# ")).next();
        let heading = text::one_line(heading.unwrap_or_default(), 120);
        match self.written.iter_mut().find(|known| known.path == file.path) {
            Some(known) if !heading.is_empty() => known.heading = heading,
            Some(_) => {}
            None => {
                if whole {
                    keep(&mut self.begun, file.path.clone());
                }
                keep(&mut self.written, Document { path: file.path.clone(), heading });
            }
        }
    }

    fn add_shell_result(
        &mut self,
        call: &ToolCall,
        command: &str,
        result: &Outcome,
        verdict: Option<&Verdict>,
    ) {
        let failed = call.failed();
        if !failed && commands::makes_commit(command) {
            // Some wrappers do not show what git printed; that it did not fail is enough.
            if let Some(commit) = commands::commit_of(command, &result.text) {
                self.count_words(&commit.message, 1.0);
                let known =
                    |known: &Commit| known.hash == commit.hash && known.message == commit.message;
                if !self.commits.iter().any(known) {
                    keep(&mut self.commits, commit);
                }
            }
            self.add_signal(Signal::Commit);
        }
        if commands::delivers(command) {
            self.undelivered = failed;
        }
        if !failed {
            if let Some(pull) = commands::pull_request_of(command, &result.text) {
                keep(&mut self.pulls, pull);
            }
            if let Some(tag) = commands::tag_of(command) {
                keep(&mut self.tags, tag);
            }
        }
        let works = verdict.map_or(!failed, |verdict| verdict.passed);
        if works && !failed && self.checks.len() < MOST_IN_A_LIST {
            let has_tally = verdict.is_some_and(|verdict| !verdict.summary.is_empty());
            let is_proof = || {
                has_tally
                    || !commands::hides_end(command)
                    || !remarks::prints_failure(command, &result.text)
            };
            self.checks.extend(commands::check_command(command).filter(|_| is_proof()));
        }
        if let Some(url) = commands::opened_in(command, &result.text).filter(|_| !failed) {
            keep(&mut self.opened, url);
        }
        let is_check = verdict.is_some() || commands::is_build(command);
        if is_check || (errors::matters(call) && !errors::is_refusal(&result.text)) {
            self.track_failure(command, is_check, works, &result.text);
        }
        if works && !is_check && commands::may_change(command) {
            self.note_command(command);
        }
    }

    /// Follows a command from its failure to the run that works, to learn what solved it.
    fn track_failure(&mut self, command: &str, is_check: bool, works: bool, output: &str) {
        let kind = is_check.then(|| commands::command_kind(command));
        let command = commands::without_surroundings(command);
        let is_it = |failing: &Failing| {
            failing.command == command || (kind.is_some() && failing.kind == kind)
        };
        let at = self.failing.iter().position(is_it);
        match (works, at) {
            (true, Some(at)) => {
                let failing = self.failing.remove(at);
                if let Some(by) = failing.solved_by(&command) {
                    keep(&mut self.solved, SolvedError { error: failing.error, by });
                }
            }
            (false, None) if self.failing.len() < MOST_IN_A_LIST => {
                if let Some(error) = errors::find(output) {
                    let (error, changed_since) = (error.sample, Vec::new());
                    let ran_since = Vec::new();
                    let failed = Failing { kind, command, error, changed_since, ran_since };
                    self.failing.push(failed);
                }
            }
            _ => {}
        }
    }

    /// Notes that a command worked that may have solved what fails.
    fn note_command(&mut self, command: &str) {
        let shown = commands::without_surroundings(command).replace('`', "'");
        let shown = text::one_line(&shown, 70);
        if text::is_injection(&shown) {
            return;
        }
        for failing in &mut self.failing {
            failing.ran_since.retain(|known| *known != shown);
            if failing.ran_since.len() >= 2 {
                failing.ran_since.remove(0);
            }
            failing.ran_since.push(shown.clone());
        }
    }

    /// Keeps a file as it was left last.
    fn add_change(&mut self, file: FileChange) {
        for failing in &mut self.failing {
            if failing.changed_since.len() < 3 && !failing.changed_since.contains(&file.path) {
                failing.changed_since.push(file.path.clone());
            }
        }
        match self.edited.iter_mut().find(|known| known.path == file.path) {
            Some(known) => known.state = file.state,
            None => keep(&mut self.edited, file),
        }
    }

    /// Keeps the sentences that decide something or say what was learnt.
    fn add_statements(&mut self, said: &str, origin: Origin) {
        for sentence in text::sentences(&replies::split_code(text::cut(said, 2 * LONGEST_REPLY)).0)
        {
            if self.statements.len() >= MOST_IN_A_LIST {
                return;
            }
            let sentence = markdown::strip_marks(sentence.trim());
            let Some(kind) = replies::claim_kind(&sentence, origin) else { continue };
            let text = text::one_line(&sentence, 300);
            if !self.statements.iter().any(|known| known.text == text) {
                self.statements.push(Statement { kind, text, origin });
            }
        }
    }

    /// Takes in the part that follows.
    fn absorb(&mut self, next: EpisodeFacts) {
        self.last_episode = next.last_episode;
        self.read_outside |= next.read_outside;
        self.replies += next.replies;
        self.tool_calls += next.tool_calls;
        self.failed_calls += next.failed_calls;
        self.size += next.size;
        if !next.last_reply.is_empty() {
            self.last_reply = next.last_reply;
        }
        self.edited.retain(|file| !next.edited.iter().any(|later| later.path == file.path));
        self.edited.extend(next.edited);
        self.tests.extend(next.tests);
        self.checks.extend(next.checks);
        self.errors.extend(next.errors);
        self.commits.extend(next.commits);
        self.opened.extend(next.opened);
        self.pulls.extend(next.pulls);
        self.tags.extend(next.tags);
        self.written.extend(next.written);
        self.begun.extend(next.begun);
        self.plan = self.plan.take().or(next.plan);
        self.cut_off = next.cut_off;
        self.undelivered = next.undelivered;
        self.solved.extend(next.solved);
        self.statements.extend(next.statements);
        self.remarks.absorb(next.remarks);
        self.signals.extend(next.signals);
        let excess = self.signals.len().saturating_sub(64);
        self.signals.drain(..excess);
        self.words.extend(next.words);
        sort_by_weight(&mut self.words);
        self.words.dedup_by(|a, b| a.0 == b.0);
        self.words.truncate(96);
    }
}

/// About how many words a step has.
fn words_in(step: &Step) -> u64 {
    /// The bytes of a word and the space behind it.
    const WORD: usize = 6;
    let bytes = match &step.kind {
        StepKind::Prompt(said) | StepKind::Reply(said) => said.len(),
        StepKind::ToolCall(call) => call.answer.as_ref().map_or(0, |answer| answer.text.len()),
        _ => 0,
    };
    (bytes / WORD) as u64
}

/// The heaviest first.
fn sort_by_weight(words: &mut [(String, f32)]) {
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
}

fn keep<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_IN_A_LIST && !list.contains(&item) {
        list.push(item);
    }
}
