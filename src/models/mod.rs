//! Models, where a person configured one: asked in one place, which counts what they cost.
//!
//! What memtree writes is complete without a model. A model may add words to it, and every step
//! that asks one has something to say when the answer is [`Answer::Unavailable`]: no model is
//! configured, it is down, or the day's cap is reached. Behind [`Models::ask`] a text is redacted,
//! split where it is too long, sent, booked in the ledger.

pub mod check;
mod command;
mod configured;
pub mod digest;
pub mod embeddings;
mod http;
pub mod ledger;
mod openai;
pub mod presets;
pub mod reply;
mod split;
mod summarizer;

pub use command::hand_over;
pub use summarizer::FailureKind;

use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use chrono::NaiveDate;

use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::zone::Zone;
use crate::base::{files, text};
use crate::model::calls;
use crate::store::digest::fill;
use crate::store::layout::Layout;
use ledger::{DaySpending, Entry};
use summarizer::{Failure, ModelCall, Reply, Summarizer};

/// Which of the two models that the settings name: small jobs are many, large ones few.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alias {
    Low,
    High,
}

impl Alias {
    /// Its name in the settings, the ledger and `made_by`.
    pub fn name(self) -> &'static str {
        match self {
            Alias::Low => "low",
            Alias::High => "high",
        }
    }
}

/// What a model is to do with the parts that it is given.
#[derive(Debug, Clone, Copy)]
pub struct Prompt {
    /// What it is for, in one word: the name of its file in `templates/prompts/`, and of its lines
    /// in the ledger.
    pub task: &'static str,
    /// The built-in words; a memory's own `templates/prompts/<task>.md` may replace them.
    pub text: &'static str,
    /// How long the reply may be.
    pub reply_tokens: u32,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the model said: redacted, not empty, and not yet checked against its source.
    Text(String),
    /// The model has nothing to add: its whole reply was [`NOTHING`].
    Nothing,
    /// There is no answer now, for this reason. It may be asked again another time.
    Unavailable(String),
}

/// A whole reply that says that there is nothing to add; a reply that only mentions it is a reply.
pub const NOTHING: &str = "FLUSH_OK";

/// What follows a line that a model wrote.
pub const MARK: &str = "(model)";

/// What the settings say of models, as an entry point puts it together.
pub struct ModelSettings {
    pub backend: Backend,
    pub low: Model,
    pub high: Model,
    /// How much text goes into one call, in tokens.
    pub input_tokens: usize,
    pub timeout: Duration,
    /// How long to wait before the second try; before the third it is twice as long.
    pub pause: Duration,
    pub daily_tokens: u64,
    pub daily_usd: f64,
    /// Whether a memory's own prompts may instruct a program, which may have tools.
    pub trust_prompts: bool,
    /// The time at which the command began, and where the days are parted.
    pub now: Timestamp,
    pub zone: Zone,
}

/// What is asked: a program or a server.
pub enum Backend {
    /// A program with its arguments.
    Program(Vec<String>),
    /// A server, and the key to it.
    Server { base_url: String, key: Option<String> },
}

/// One model.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub name: String,
    /// US dollars for a million tokens, read and written.
    pub usd: Option<(f64, f64)>,
}

/// The models that a person configured, if any.
pub struct Models {
    client: Option<Client>,
}

/// Everything that only matters where a model is configured.
struct Client {
    summarizer: Box<dyn Summarizer>,
    settings: ModelSettings,
    redactor: Redactor,
    layout: Layout,
    opened: Instant,
    /// Why no model is asked any more in this run.
    given_up: Mutex<Option<String>>,
}

/// The version of what we ask and of how replies are checked; a newer one writes again what an
/// older one wrote.
const VERSION: u32 = 2;
/// How often one question is asked before it counts as unanswered.
const TRIES: u32 = 3;
/// How often replies are merged; each time there are fewer.
const MOST_MERGES: usize = 6;
/// A memory's own prompt that is longer than this is ignored.
const MOST_PROMPT: u64 = 32 << 10;

const FRAME: &str = include_str!("../../templates/prompts/frame.md");
const PIECE: &str = include_str!("../../templates/prompts/piece.md");
const MERGE: &str = include_str!("../../templates/prompts/merge.md");
/// The form of the lines that are checked; stands for `{lines}` in a prompt.
const LINES: &str = include_str!("../../templates/prompts/lines.md");
const MATERIAL: &str = "memtree-material";

impl Models {
    /// No model: every question is unavailable, and nothing is ever sent or run.
    pub fn none() -> Models {
        Models { client: None }
    }

    /// The models of the settings, for one memory.
    pub fn new(settings: ModelSettings, redactor: Redactor, layout: &Layout) -> Models {
        let summarizer: Box<dyn Summarizer> = match &settings.backend {
            Backend::Program(words) => {
                let folder = layout.local();
                Box::new(command::Program {
                    words: words.clone(),
                    folder,
                    timeout: settings.timeout,
                })
            }
            Backend::Server { base_url, key } => {
                Box::new(openai::Server::new(base_url, key.clone(), settings.timeout))
            }
        };
        Models::asking(summarizer, settings, redactor, layout)
    }

    fn asking(
        summarizer: Box<dyn Summarizer>,
        settings: ModelSettings,
        redactor: Redactor,
        layout: &Layout,
    ) -> Models {
        let (layout, opened, given_up) = (layout.clone(), Instant::now(), Mutex::new(None));
        let client = Client { summarizer, settings, redactor, layout, opened, given_up };
        Models { client: Some(client) }
    }

    /// Whether a model is configured at all; where none is, there is nothing to wait for or to try
    /// again.
    pub fn is_enabled(&self) -> bool {
        self.client.is_some()
    }

    /// What `made_by` says of a text by this model: `openai:low/1`.
    pub fn made_by(&self, alias: Alias) -> String {
        let by =
            self.client.as_ref().map_or_else(|| "extractive".into(), |client| client.by(alias));
        format!("{by}/{VERSION}")
    }

    /// Why no model is asked any more in this run, if so: it is down, or the day's cap is reached.
    pub fn given_up(&self) -> Option<String> {
        self.client.as_ref()?.given_up()
    }

    /// Asks no model any more, for this reason.
    pub fn give_up(&self, reason: &str) {
        if let Some(client) = &self.client {
            client.give_up(reason);
        }
    }

    /// Asks a model. The parts are what the reply is to be made of, in order: one for each episode,
    /// day or section; they are redacted here. Where they are too long for one call they are split
    /// between parts, each piece is asked about, and the replies are merged by the same prompt.
    pub fn ask(&self, alias: Alias, prompt: &Prompt, parts: &[String]) -> Answer {
        let Some(client) = &self.client else {
            return Answer::Unavailable("no model is configured".into());
        };
        let parts: Vec<String> =
            parts.iter().map(|part| client.redactor.redact(part).into_owned()).collect();
        let question = Question { client, alias, prompt, words: client.words(prompt) };
        match question.answer(split::pieces(&parts, client.settings.input_tokens)) {
            Ok(Some(text)) => Answer::Text(text),
            Ok(None) => Answer::Nothing,
            Err(reason) => Answer::Unavailable(reason),
        }
    }
}

impl Client {
    fn by(&self, alias: Alias) -> String {
        format!("{}:{}", self.summarizer.name(), alias.name())
    }

    fn given_up(&self) -> Option<String> {
        self.given_up.lock().ok()?.clone()
    }

    fn model(&self, alias: Alias) -> &Model {
        let ModelSettings { low, high, .. } = &self.settings;
        if alias == Alias::Low || high.name.is_empty() { low } else { high }
    }

    /// What a prompt says: the memory's own words, where it has some and they may be used, else
    /// ours.
    ///
    /// A memory arrives by `git pull`, so its prompts are somebody else's words. A server can only
    /// answer, and its answer is checked; a program may have tools, so there the person has to
    /// allow it.
    fn words(&self, prompt: &Prompt) -> String {
        let path = self.layout.prompt(prompt.task);
        let usable = |metadata: fs::Metadata| metadata.is_file() && metadata.len() <= MOST_PROMPT;
        let allowed =
            self.settings.trust_prompts || matches!(self.settings.backend, Backend::Server { .. });
        if !allowed || !files::symlink_metadata(&path).is_ok_and(usable) {
            return prompt.text.to_string();
        }
        files::read_to_string(&path)
            .ok()
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| prompt.text.to_string())
    }

    fn now(&self) -> Timestamp {
        self.settings.now + self.opened.elapsed()
    }

    fn day(&self) -> NaiveDate {
        self.now().with_timezone(&self.settings.zone).date_naive()
    }

    fn spent(&self) -> Result<DaySpending, String> {
        ledger::spent(&self.layout.ledger(), self.day(), |task| task != embeddings::TASK)
            .map_err(|err| format!("the ledger cannot be read: {err}"))
    }

    /// Whether so many tokens more are within the day's cap.
    fn fits(&self, model: &Model, tokens_in: u64, tokens_out: u64) -> Result<(), String> {
        let spent = self.spent()?;
        let ModelSettings { daily_tokens, daily_usd, .. } = self.settings;
        let reached = |what: String| {
            let reason =
                format!("the day's cap of {what} is reached (the settings `models.daily_…`)");
            self.give_up(&reason);
            reason
        };
        if spent.tokens + tokens_in + tokens_out > daily_tokens {
            return Err(reached(format!("{daily_tokens} tokens")));
        }
        match cost(model, tokens_in, tokens_out) {
            usd if usd > 0.0 && spent.usd + usd > daily_usd => {
                Err(reached(format!("{daily_usd} USD")))
            }
            _ => Ok(()),
        }
    }

    fn give_up(&self, reason: &str) {
        if let Ok(mut given_up) = self.given_up.lock() {
            given_up.get_or_insert_with(|| reason.to_string());
        }
    }
}

/// One question to one model, which may take many calls.
struct Question<'q> {
    client: &'q Client,
    alias: Alias,
    prompt: &'q Prompt,
    /// What the prompt says in this memory.
    words: String,
}

impl Question<'_> {
    /// Asks about each piece, and merges the replies until there is one.
    fn answer(&self, mut pieces: Vec<String>) -> Result<Option<String>, String> {
        self.check_cap(&pieces)?;
        let mut merging = false;
        for _ in 0..=MOST_MERGES {
            let of = pieces.len();
            let mut replies = Vec::new();
            for (at, piece) in pieces.iter().enumerate() {
                replies.extend(self.ask(&self.instructions(at + 1, of, merging), piece)?);
            }
            pieces = split::pieces(&replies, self.client.settings.input_tokens);
            if of <= 1 || replies.len() <= 1 || pieces.len() >= of {
                return Ok((!replies.is_empty()).then(|| replies.join("\n")));
            }
            merging = true;
        }
        Ok(Some(pieces.join("\n")))
    }

    /// Refuses at once what would be stopped by the cap halfway, when half of it was paid for.
    fn check_cap(&self, pieces: &[String]) -> Result<(), String> {
        let reply = u64::from(self.prompt.reply_tokens);
        let instructions = self.instructions(1, pieces.len(), false);
        let calls = pieces.len() as u64;
        let read: usize =
            pieces.iter().map(|piece| text::tokens(piece) + text::tokens(&instructions)).sum();
        // Replies that have to be merged are read once more, for one more reply.
        let merged = if calls > 1 { calls * reply } else { 0 };
        let (tokens_in, tokens_out) =
            (read as u64 + merged, (calls + u64::from(calls > 1)) * reply);
        if tokens_in + tokens_out > self.client.settings.daily_tokens {
            let needed = tokens_in + tokens_out;
            return Err(format!(
                "it needs about {needed} tokens, more than `models.daily_tokens` allows for a day"
            ));
        }
        self.client.fits(self.client.model(self.alias), tokens_in, tokens_out)
    }

    fn instructions(&self, piece: usize, of: usize, merging: bool) -> String {
        let words = self.words.trim().replace("{lines}", LINES.trim());
        let mut text = format!("{}\n\n{}\n{words}", calls::MARK, FRAME);
        if merging {
            text.push_str(&format!("\n\n{}", MERGE.trim()));
        }
        if of > 1 {
            let number =
                |name: &str| if name == "piece" { piece.to_string() } else { of.to_string() };
            text.push_str(&format!("\n\n{}", fill(PIECE, number).trim()));
        }
        text
    }

    /// Asks once, and again where it may help. `None` means that there is nothing to add.
    fn ask(&self, instructions: &str, piece: &str) -> Result<Option<String>, String> {
        // Nothing in the material can end it.
        let quoted = piece.replace(MATERIAL, "memtree material");
        let material = format!("<{MATERIAL}>\n{quoted}\n</{MATERIAL}>");
        let mut pause = self.client.settings.pause;
        for attempt in 1.. {
            if let Some(reason) = self.client.given_up() {
                return Err(reason);
            }
            let failure = match self.call(instructions, &material)? {
                Ok(text) => return Ok((text != NOTHING).then_some(text)),
                Err(failure) => failure,
            };
            let again = matches!(failure.kind, FailureKind::Down | FailureKind::Poor);
            if again && attempt < TRIES {
                thread::sleep(pause);
                pause *= 2;
                continue;
            }
            if matches!(failure.kind, FailureKind::Down | FailureKind::Hopeless) {
                self.client.give_up(&failure.reason);
            }
            return Err(failure.reason);
        }
        unreachable!("the loop returns after its last try")
    }

    /// One call, within the cap and on the books. The outer error means that no call may be made.
    fn call(&self, instructions: &str, material: &str) -> Result<Result<String, Failure>, String> {
        let Client { layout, redactor, .. } = self.client;
        let model = self.client.model(self.alias);
        let reply_tokens = self.prompt.reply_tokens;
        let cannot = |err: std::io::Error| format!("the ledger cannot be written: {err}");
        // One at a time on this device: the cap may allow one call but not two.
        let _lock = files::lock_exclusive(&layout.models_lock()).map_err(cannot)?;
        let estimate = (text::tokens(instructions) + text::tokens(material)) as u64;
        self.client.fits(model, estimate, reply_tokens.into())?;
        let began = Instant::now();
        let reply = self.client.summarizer.reply(&ModelCall {
            model: &model.name,
            instructions,
            material,
            reply_tokens,
        });
        let counted = reply.as_ref().ok().and_then(|reply| reply.tokens);
        let answer = reply.and_then(useful).map(|text| redactor.redact(&text).into_owned());
        let (tokens_in, tokens_out) = counted.unwrap_or_else(|| match &answer {
            Ok(text) => (estimate, text::tokens(text) as u64),
            Err(failure) if failure.may_cost => (estimate, 0),
            Err(_) => (0, 0),
        });
        let result = match &answer {
            Ok(text) if text == NOTHING => "nothing".into(),
            Ok(_) => "text".into(),
            Err(failure) => {
                format!("failed: {}", text::one_line(&redactor.redact(&failure.reason), 300))
            }
        };
        let entry = Entry {
            at: self.client.now(),
            day: self.client.day(),
            task: self.prompt.task.into(),
            by: self.client.by(self.alias),
            model: model.name.clone(),
            tokens_in,
            tokens_out,
            usd: cost(model, tokens_in, tokens_out),
            estimated: counted.is_none() && tokens_in + tokens_out > 0,
            ms: began.elapsed().as_millis() as u64,
            result,
        };
        if let Err(err) = ledger::book(&layout.ledger(), &entry) {
            // What is not on the books is not under the cap.
            let reason = cannot(err);
            self.client.give_up(&reason);
            return Err(reason);
        }
        Ok(answer)
    }
}

/// A reply without the thoughts that some models show before it; one that says nothing is a
/// failure.
fn useful(reply: Reply) -> Result<String, Failure> {
    let text = reply.text.trim();
    let text = match text.strip_prefix("<think>") {
        Some(thoughts) => thoughts.split_once("</think>").map_or("", |(_, rest)| rest.trim()),
        None => text,
    };
    if text.is_empty() {
        return Err(Failure {
            reason: "the reply is empty".into(),
            kind: FailureKind::Poor,
            may_cost: true,
        });
    }
    Ok(text.to_string())
}

fn cost(model: &Model, tokens_in: u64, tokens_out: u64) -> f64 {
    let (read, written) = model.usd.unwrap_or_default();
    (tokens_in as f64 * read + tokens_out as f64 * written) / 1e6
}

#[cfg(test)]
mod tests;
