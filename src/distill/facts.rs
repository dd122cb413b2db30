//! Facts: what is remembered of a session while it streams by, part by part.
//!
//! A part is an episode. Everything here is bounded, however long the log: texts are cut, lists end, and
//! of an episode's words only those that may set it apart are kept when it ends.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::distill::errors::{self, Fault};
use crate::distill::steps::{Deed, Kind, Step};
use crate::distill::triggers;
use crate::distill::{intent, outcome, stated};
use crate::model::digest::Origin;
use crate::model::evidence::FileState;
use crate::model::session::{Action, FileChange};

/// What is known of a session, part by part.
#[derive(Debug, Default)]
pub struct Facts {
    pub parts: Vec<Part>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// Words that were said, by the person and the agent.
    pub spoken: u64,
    /// Prompts of this session's own: a fork's inherited ones are not counted.
    pub prompts: u64,
    pub deeds: u64,
    pub failed_deeds: u64,
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
}

/// What is known of one episode.
#[derive(Debug, Default)]
pub struct Part {
    /// The episode's number; merged parts keep the first.
    pub episode: u32,
    /// The last episode that it covers.
    pub last_episode: u32,
    pub prompt: String,
    pub last_reply: String,
    pub replies: u64,
    pub deeds: u64,
    pub failed_deeds: u64,
    /// The files that were changed, each as it was left.
    pub edited: Vec<FileChange>,
    pub commands: Vec<String>,
    /// The commands among them that checked the work and passed, each time they did.
    pub checks: Vec<String>,
    pub tests: Vec<outcome::Verdict>,
    pub faults: Vec<Fault>,
    pub commits: Vec<Commit>,
    pub stated: Vec<Stated>,
    pub signals: Vec<Signal>,
    /// Whether it was taken back.
    pub rewound: bool,
    /// Whether it is a copy of another session's.
    pub inherited: bool,
    /// Words that may set it apart, heaviest first once the part has ended.
    pub words: Vec<(String, f32)>,
    counting: HashMap<String, f32>,
}

/// A commit made in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    pub message: String,
}

/// Something that was decided or learnt, in the words in which it was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    pub kind: StatedKind,
    pub text: String,
    pub origin: Origin,
}

/// What kind of statement it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedKind {
    Decision,
    Lesson,
}

/// What tells how it goes, in the order in which it came.
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
            Kind::Prompt(said) if step.agent.is_none() => {
                self.begin_part(said, step.inherited);
                if !step.inherited {
                    self.prompts += 1;
                }
            }
            Kind::Prompt(_) | Kind::Completion => {}
            Kind::Rewind(kept) => {
                for part in self.parts.iter_mut().filter(|part| part.episode > *kept) {
                    part.rewound = true;
                }
            }
            Kind::Intervention(_) => {
                self.interventions += 1;
                self.part().signal(Signal::Interrupted);
            }
            Kind::Reply(said) => self.reply(said, step.agent.is_some()),
            Kind::Thinking(_) => {}
            Kind::Compaction(said) => {
                self.compactions += 1;
                self.part().count(text::cut(said, LONGEST_REPLY), 0.3);
            }
            Kind::Lifecycle(said) => {
                if said.starts_with('/') && self.first_command.is_none() && !intent::is_housekeeping(said) {
                    self.first_command = Some(text::one_line(said, 300));
                } else if said.starts_with("API Error") {
                    self.part().signal(Signal::Broken);
                }
            }
            Kind::Deed(deed) => self.deed(deed),
        }
    }

    /// Counts a step among the kinds of events: a call that edits or tests is told as such, and an answer that
    /// failed as an error.
    fn count_events(&mut self, step: &Step) {
        let mut count = |kind: &'static str| *self.events.entry(kind).or_default() += 1;
        match &step.kind {
            Kind::Prompt(_) => count("user_msg"),
            Kind::Reply(_) => count("assistant_msg"),
            Kind::Thinking(_) => count("thinking"),
            Kind::Intervention(_) | Kind::Rewind(_) => count("human_intervention"),
            Kind::Compaction(_) | Kind::Lifecycle(_) => count("lifecycle"),
            Kind::Completion => count("completion"),
            Kind::Deed(deed) => {
                if !deed.tool.is_empty() {
                    count(match &deed.action {
                        Action::Edit { .. } => "edit",
                        Action::Shell { command } if outcome::is_test_command(command) => "test_run",
                        _ => "tool_call",
                    });
                }
                if deed.answer.is_some() {
                    count(if deed.failed() { "error" } else { "tool_result" });
                }
                let again =
                    matches!(&deed.action, Action::Shell { command } if self.failed_command.as_ref() == Some(command));
                if again {
                    count("retry");
                }
                if let Action::Shell { command } = &deed.action {
                    self.failed_command = deed.failed().then(|| command.clone());
                }
            }
        }
    }

    /// Ends the last part; after this the facts are whole.
    pub fn finish(&mut self) {
        if let Some(last) = self.parts.last_mut() {
            last.end();
        }
    }

    /// How many decisions were stated.
    pub fn decisions(&self) -> u64 {
        let stated = self.parts.iter().flat_map(|part| &part.stated);
        stated.filter(|stated| stated.kind == StatedKind::Decision).count() as u64
    }

    /// The commits of the session, oldest first.
    pub fn commits(&self) -> impl Iterator<Item = &Commit> {
        self.parts.iter().filter(|part| !part.inherited).flat_map(|part| &part.commits)
    }

    fn begin_part(&mut self, prompt: &str, inherited: bool) {
        let episode = self.parts.last().map_or(1, |part| part.last_episode + 1);
        self.finish();
        self.spoken += prompt.split_whitespace().count() as u64;
        triggers::merge_when_many(&mut self.parts);
        let mut part = Part {
            episode,
            last_episode: episode,
            inherited,
            prompt: text::cut(prompt, LONGEST_PROMPT).to_string(),
            ..Part::default()
        };
        part.count(text::cut(prompt, 2 * LONGEST_PROMPT), 1.0);
        part.state(prompt, Origin::User);
        self.parts.push(part);
    }

    /// The part that is going on; what comes before the first prompt is `EP_000`.
    fn part(&mut self) -> &mut Part {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        self.parts.last_mut().expect("a part was just put there")
    }

    fn reply(&mut self, said: &str, by_subagent: bool) {
        self.spoken += said.split_whitespace().count() as u64;
        let part = self.part();
        part.count(text::cut(said, 2 * LONGEST_REPLY), if by_subagent { 0.3 } else { 1.0 });
        if by_subagent {
            return;
        }
        part.replies += 1;
        part.last_reply = text::cut(said, LONGEST_REPLY).to_string();
        part.state(said, Origin::Assistant);
        let nothing_worked = part.deeds > 0 && part.deeds == part.failed_deeds;
        part.signal(if outcome::gives_up(said, nothing_worked) { Signal::GaveUp } else { Signal::Reply });
    }

    fn deed(&mut self, deed: &Deed) {
        if deed.tool.is_empty() {
            // The late answer of a call that was counted when it was made.
            return self.part().deed(deed);
        }
        self.deeds += 1;
        let tool = text::one_line(&deed.tool, 60);
        if self.tools.len() < 300 || self.tools.contains_key(&tool) {
            *self.tools.entry(tool).or_default() += 1;
        }
        if deed.failed() {
            self.failed_deeds += 1;
        }
        self.part().deed(deed);
    }
}

impl Part {
    /// Makes a part of a text that nobody said: a file of a folder.
    pub fn of_text(episode: u32, title: &str, value: &str) -> Part {
        let mut part = Part { episode, last_episode: episode, prompt: text::one_line(title, 200), ..Part::default() };
        part.count(title, 2.0);
        part.count(value, 1.0);
        part.last_reply = text::first_sentence(value, 300);
        part.end();
        part
    }

    /// Adds the words of a text, each with a weight.
    fn count(&mut self, value: &str, weight: f32) {
        text::each_word(value, |word| {
            // Parts of identifiers and pairs of characters find, but nobody would read them as keys; and a path is
            // remembered by its last name.
            if !word.whole || triggers::is_folder_name(value, word.start, word.end) {
                return;
            }
            if self.counting.len() < MOST_WORDS_COUNTED || self.counting.contains_key(word.text.as_ref()) {
                match self.counting.get_mut(word.text.as_ref()) {
                    Some(sum) => *sum += weight,
                    None => drop(self.counting.insert(word.text.into_owned(), weight)),
                }
            }
        });
    }

    fn end(&mut self) {
        let mut words: Vec<(String, f32)> = std::mem::take(&mut self.counting)
            .into_iter()
            .filter_map(|(word, sum)| {
                let weight = triggers::telling(&word);
                (weight > 0.0).then(|| (word, (1.0 + sum).ln() * weight))
            })
            .collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        words.truncate(MOST_WORDS_KEPT);
        self.words.extend(words);
    }

    fn signal(&mut self, signal: Signal) {
        // Only the order of the latest matters, and how many of a kind there were.
        if self.signals.len() >= 64 {
            self.signals.remove(0);
        }
        self.signals.push(signal);
    }

    fn deed(&mut self, deed: &Deed) {
        self.deeds += 1;
        self.failed_deeds += u64::from(deed.failed());
        if !deed.by_person() && self.signals.last() != Some(&Signal::Work) {
            self.signal(Signal::Work);
        }
        match &deed.action {
            Action::Edit { files, .. } if !deed.failed() => {
                for file in files {
                    self.count(&file.path, 1.0);
                    // The answer tells of one file.
                    let told = deed.answer.as_ref().map(|answer| &answer.state).filter(|_| files.len() == 1);
                    let state = told.filter(|state| **state != FileState::Unknown).unwrap_or(&file.state);
                    self.change(FileChange { path: file.path.clone(), state: state.clone() });
                }
            }
            Action::Read { path } => self.count(path, 0.2),
            Action::Shell { command } => {
                self.count(text::cut(command, 400), 0.4);
                keep(&mut self.commands, text::one_line(command, 160));
            }
            Action::Delegate { task } | Action::Ask { question: task } => self.count(text::cut(task, 1000), 0.4),
            Action::Search { query } => self.count(query, 0.3),
            _ => {}
        }
        let Some(answer) = &deed.answer else { return };
        if let Action::Shell { command } = &deed.action
            && !deed.failed()
            && commits(command)
        {
            // Some wrappers keep git's words to themselves; that it did not fail is enough.
            if let Some(commit) = commit_in(&answer.text) {
                self.count(&commit.message, 1.0);
                if !self.commits.contains(&commit) {
                    keep(&mut self.commits, commit);
                }
            }
            self.signal(Signal::Commit);
        }
        if let Action::Ask { .. } = deed.action {
            self.count(text::cut(&answer.text, 1000), 0.5);
        }
        let verdict = outcome::verdict(deed);
        if let Action::Shell { command } = &deed.action
            && !deed.failed()
            && verdict.as_ref().is_none_or(|verdict| verdict.passed)
            && self.checks.len() < MOST_IN_A_LIST
        {
            self.checks.extend(stated::check_command(command));
        }
        if let Some(verdict) = &verdict {
            self.signal(Signal::Test(verdict.passed));
            keep(&mut self.tests, verdict.clone());
        }
        if deed.failed() && errors::is_refusal(&answer.text) {
            self.signal(Signal::Interrupted);
        } else if (deed.failed() || verdict.is_some_and(|verdict| !verdict.passed))
            && let Some(fault) = errors::fault(&answer.text)
        {
            self.count(&fault.sample, 0.8);
            self.signal(Signal::Error);
            if !self.faults.contains(&fault) {
                keep(&mut self.faults, fault);
            }
        }
    }

    /// Keeps a file as it was left last.
    fn change(&mut self, file: FileChange) {
        match self.edited.iter_mut().find(|known| known.path == file.path) {
            Some(known) => known.state = file.state,
            None => keep(&mut self.edited, file),
        }
    }

    /// Keeps the sentences that decide something or say what was learnt.
    fn state(&mut self, said: &str, origin: Origin) {
        for sentence in text::sentences(text::cut(said, 2 * LONGEST_REPLY)) {
            if self.stated.len() >= MOST_IN_A_LIST {
                return;
            }
            let sentence = sentence.trim();
            if !(20..400).contains(&sentence.len()) {
                continue;
            }
            let Some(kind) = statement(sentence) else { continue };
            let text = text::one_line(&triggers::plain_words(sentence), 300);
            if !self.stated.iter().any(|known| known.text == text) {
                self.stated.push(Stated { kind, text, origin });
            }
        }
    }
}

/// What kind of statement a sentence makes, if it decides something or says what was learnt.
pub fn statement(sentence: &str) -> Option<StatedKind> {
    static DECISION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(decided|decision|we chose|i chose|going with|go with|opt(ed)? for|let's use|we'll use|i'll use|rather than|instead of|prefer)\b")
            .expect("a fixed pattern")
    });
    static LESSON: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(root cause|turns? out|the (problem|issue|bug|cause|culprit|fix|reason) (is|was)|lesson|learn(ed|t)|because of|was caused by|the trick)\b")
            .expect("a fixed pattern")
    });
    if LESSON.is_match(sentence) {
        return Some(StatedKind::Lesson);
    }
    DECISION.is_match(sentence).then_some(StatedKind::Decision)
}

fn keep<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_IN_A_LIST && !list.contains(&item) {
        list.push(item);
    }
}

/// Whether a command makes a commit.
fn commits(command: &str) -> bool {
    static COMMIT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^|[\s;&|(])git\s+(?:-\S+\s+\S+\s+)*commit(?:\s|$)").expect("a fixed pattern"));
    COMMIT.is_match(command) && !command.contains("--dry-run")
}

/// The commit that git tells of: `[main 1a2b3c4] the message`.
fn commit_in(output: &str) -> Option<Commit> {
    static COMMIT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^\[[^\]\n]{1,200}? (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$").expect("a fixed pattern")
    });
    let found = COMMIT.captures(output)?;
    Some(Commit { hash: found[1].to_string(), message: text::one_line(&found[2], 120) })
}
