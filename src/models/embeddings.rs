//! Embeddings, where a person configured a server that makes them: texts in, vectors out.
//!
//! Behind [`Embeddings::embed`] a text is redacted and sent, and what comes back is looked at: as
//! many vectors as there were texts, all of one length, of finite numbers. Whoever asks has an
//! answer without them, so every failure is a reason in words and nothing more.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use serde::Deserialize;
use serde_json::json;

use super::http::Endpoint;
use super::ledger::{self, Entry};
use super::summarizer::{Failure, FailureKind};
use crate::base::clock::Timestamp;
use crate::base::redact::Redactor;
use crate::base::text;
use crate::base::zone::Zone;
use crate::error::Result;
use crate::settings::{EmbeddingsSettings, Settings};
use crate::store::layout::Layout;

/// The longest answer that is read.
const MOST_REPLY: u64 = 32 << 20;
/// The most numbers that a vector may have.
const MOST_DIMENSIONS: usize = 4096;
/// What its lines in the ledger are for.
pub const TASK: &str = "embeddings";
/// How much of a text is sent, in bytes.
const LONGEST_TEXT: usize = 8 << 10;
/// For how long searches are spared a server that did not answer one.
const SPARED: Duration = Duration::from_secs(10);

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Somebody waits for an answer to their search.
    Search,
    /// Nobody waits.
    Sweep,
}

/// What a server made of some texts.
#[derive(Debug, Default)]
pub struct Embedded {
    /// One of unit length for each text, in their order.
    pub vectors: Vec<Vec<f32>>,
    pub tokens: u64,
    /// Whether the tokens are our estimate.
    pub estimated: bool,
}

/// The server that a person configured, if any.
pub struct Embeddings {
    client: Option<Client>,
}

struct Client {
    search: Endpoint,
    sweep: Endpoint,
    settings: EmbeddingsSettings,
    redactor: Redactor,
    layout: Layout,
    now: Timestamp,
    zone: Zone,
    opened: Instant,
    /// When it last kept a search waiting for nothing, and why.
    failed: Mutex<Option<(Instant, String)>>,
}

impl Embeddings {
    /// No server: nothing is ever sent.
    pub fn none() -> Embeddings {
        Embeddings { client: None }
    }

    /// The server of the settings, if any. `now` is when the run began.
    pub fn configured(
        settings: &Settings,
        variables: &BTreeMap<String, String>,
        now: Timestamp,
        layout: &Layout,
    ) -> Result<Embeddings> {
        let set = settings.embeddings.clone();
        if set.base_url.is_empty() || set.model.is_empty() {
            return Ok(Embeddings::none());
        }
        let key = variables.get(&set.key_variable).map(|key| key.trim().to_string());
        let key = key.filter(|key| !key.is_empty());
        let endpoint = |timeout| Endpoint::new(&set.base_url, "embeddings", key.clone(), timeout);
        let client = Client {
            search: endpoint(Duration::from_millis(set.search_ms.max(1))),
            sweep: endpoint(Duration::from_secs(set.timeout_seconds.max(1))),
            redactor: settings.redactor()?,
            layout: layout.clone(),
            now,
            zone: settings.zone()?,
            opened: Instant::now(),
            failed: Mutex::new(None),
            settings: set,
        };
        Ok(Embeddings { client: Some(client) })
    }

    /// Whether a server is configured at all.
    pub fn is_enabled(&self) -> bool {
        self.client.is_some()
    }

    /// The model's name in the settings; empty where none is configured.
    pub fn model(&self) -> &str {
        self.client.as_ref().map_or("", |client| &client.settings.model)
    }

    /// Asks for the vectors of some texts, which are redacted here.
    pub fn embed(&self, texts: &[String], patience: Patience) -> Result<Embedded, Failure> {
        let Some(client) = &self.client else {
            let reason = "no server of embeddings is configured".into();
            return Err(Failure { reason, kind: FailureKind::Hopeless, may_cost: false });
        };
        let began = Instant::now();
        let is_search = patience == Patience::Search;
        if let Some(reason) = client.failed_lately().filter(|_| is_search) {
            return Err(Failure { reason, kind: FailureKind::Down, may_cost: false });
        }
        let texts: Vec<String> = texts.iter().map(|text| client.redacted(text)).collect();
        let embedded = client.ask(&texts, patience);
        if let (Err(failure), true, Ok(mut failed)) = (&embedded, is_search, client.failed.lock()) {
            *failed = Some((Instant::now(), failure.reason.clone()));
        }
        // What a search asks a server on this machine costs nothing, and there are many searches.
        if is_search && !client.search.is_this_machine() {
            client.book(embedded.as_ref().map(|one| (one.tokens, one.estimated)), began.elapsed());
        }
        embedded
    }

    /// How many tokens more the day's cap allows; an error says that none are left.
    pub fn tokens_left(&self) -> Result<u64, String> {
        let Some(client) = &self.client else { return Ok(0) };
        let EmbeddingsSettings { daily_tokens, daily_usd, usd, .. } = client.settings;
        let spent = ledger::spent(&client.layout.ledger(), client.day(), |task| task == TASK)
            .map_err(|err| format!("the ledger cannot be read: {err}"))?;
        let by_price = match usd > 0.0 {
            true => ((daily_usd - spent.usd).max(0.0) / usd * 1e6) as u64,
            false => u64::MAX,
        };
        match daily_tokens.saturating_sub(spent.tokens).min(by_price) {
            0 => Err("the day's cap is reached (the settings `embeddings.daily_…`)".into()),
            left => Ok(left),
        }
    }

    /// Books what a stretch of a sweep came to.
    pub fn book(&self, tokens: u64, estimated: bool, took: Duration) {
        if let Some(client) = &self.client {
            client.book(Ok((tokens, estimated)), took);
        }
    }
}

impl Client {
    /// Why it did not answer a search of a few seconds ago: a command that searches many times
    /// waits for it once.
    fn failed_lately(&self) -> Option<String> {
        let failed = self.failed.lock().ok()?;
        failed.as_ref().filter(|(at, _)| at.elapsed() < SPARED).map(|(_, reason)| reason.clone())
    }

    fn redacted(&self, value: &str) -> String {
        self.redactor.redact(text::cut(value, LONGEST_TEXT)).into_owned()
    }

    fn ask(&self, texts: &[String], patience: Patience) -> Result<Embedded, Failure> {
        let endpoint = match patience {
            Patience::Search => &self.search,
            Patience::Sweep => &self.sweep,
        };
        let body = json!({ "model": self.settings.model, "input": texts });
        let (status, answer) = endpoint.send(&body, MOST_REPLY)?;
        if status != 200 {
            return Err(endpoint.refusal(status, &answer));
        }
        let odd = |why: String| endpoint.not_understood("embeddings", why);
        let list: List = serde_json::from_str(&answer).map_err(|err| odd(err.to_string()))?;
        let counted = list.usage.as_ref().map(|usage| usage.prompt_tokens).filter(|n| *n > 0);
        let estimate = || texts.iter().map(|text| text::tokens(text) as u64).sum();
        Ok(Embedded {
            vectors: list.vectors(texts.len()).map_err(odd)?,
            tokens: counted.unwrap_or_else(estimate),
            estimated: counted.is_none(),
        })
    }

    fn day(&self) -> NaiveDate {
        (self.now + self.opened.elapsed()).with_timezone(&self.zone).date_naive()
    }

    fn book(&self, came_to: Result<(u64, bool), &Failure>, took: Duration) {
        let (tokens, estimated) = came_to.unwrap_or_default();
        let entry = Entry {
            at: self.now + self.opened.elapsed(),
            day: self.day(),
            task: TASK.into(),
            by: "openai".into(),
            model: self.settings.model.clone(),
            tokens_in: tokens,
            tokens_out: 0,
            usd: tokens as f64 * self.settings.usd.max(0.0) / 1e6,
            estimated,
            ms: took.as_millis() as u64,
            result: match came_to {
                Ok(_) => "vectors".into(),
                Err(failure) => {
                    let reason = self.redactor.redact(&failure.reason);
                    format!("failed: {}", text::one_line(&reason, 300))
                }
            },
        };
        // A ledger that cannot be written stops the next sweep's calls: it cannot be read either.
        let _ = ledger::book(&self.layout.ledger(), &entry);
    }
}

#[derive(Deserialize)]
struct List {
    data: Vec<Item>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
}

impl List {
    /// The vectors in the order of the texts, or what is wrong with them.
    fn vectors(self, texts: usize) -> Result<Vec<Vec<f32>>, String> {
        if self.data.len() != texts {
            return Err(format!("{} vectors for {texts} texts", self.data.len()));
        }
        let length = self.data.first().map_or(0, |item| item.embedding.len());
        if length == 0 || length > MOST_DIMENSIONS {
            return Err(format!("vectors of {length} numbers"));
        }
        let mut vectors = vec![Vec::new(); texts];
        for (place, item) in self.data.into_iter().enumerate() {
            if item.embedding.len() != length {
                return Err("vectors of different lengths".into());
            }
            let place = item.index.unwrap_or(place);
            let Some(free) = vectors.get_mut(place).filter(|vector| vector.is_empty()) else {
                return Err(format!("two vectors for one text, or one for none ({place})"));
            };
            *free = unit(item.embedding).ok_or("a vector that points nowhere")?;
        }
        Ok(vectors)
    }
}

/// A vector of length one; `None` where it has none, or an infinite one.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if !length.is_finite() || length < 1e-12 {
        return None;
    }
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(answer: &str, texts: usize) -> Result<Vec<Vec<f32>>, String> {
        serde_json::from_str::<List>(answer).map_err(|err| err.to_string())?.vectors(texts)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts_and_of_unit_length() {
        let answer = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}"#;
        assert_eq!(vectors(answer, 2).unwrap(), [[0.6, 0.8], [0.0, 1.0]]);
        assert_eq!(vectors(r#"{"data":[{"embedding":[5]}]}"#, 1).unwrap(), [[1.0]]);
    }

    #[test]
    fn what_is_no_list_of_vectors_is_named() {
        for (answer, texts) in [
            ("<html>busy</html>", 1),
            (r#"{"data":[]}"#, 1),
            (r#"{"data":[{"embedding":[]}]}"#, 1),
            (r#"{"data":[{"embedding":[NaN]}]}"#, 1),
            (r#"{"data":[{"embedding":[null,1]}]}"#, 1),
            (r#"{"data":[{"embedding":[0,0]}]}"#, 1),
            (r#"{"data":[{"embedding":[1e39,1]}]}"#, 1),
            (r#"{"data":[{"embedding":"AAAA"}]}"#, 1),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2),
            (r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2),
            (r#"{"data":[{"index":7,"embedding":[1]}]}"#, 1),
        ] {
            assert!(vectors(answer, texts).is_err(), "{answer}");
        }
        let long = format!(r#"{{"data":[{{"embedding":[{}1]}}]}}"#, "1,".repeat(MOST_DIMENSIONS));
        assert!(vectors(&long, 1).is_err());
    }
}
