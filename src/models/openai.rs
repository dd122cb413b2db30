//! `openai`: any server that speaks that protocol, on this machine or hosted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::http::Endpoint;
use super::summarizer::{Failure, ModelCall, Reply, Summarizer};

/// A server that answers.
pub struct Server {
    endpoint: Endpoint,
    /// Some hosted models call the length of a reply by a new name and choose their own
    /// temperature. Learned from the first refusal.
    newer: AtomicBool,
}

/// More than this is no reply.
const MOST_REPLY: u64 = 4 << 20;

impl Server {
    /// A server at an address such as `http://127.0.0.1:11434/v1`.
    pub fn new(base_url: &str, key: Option<String>, timeout: Duration) -> Server {
        let endpoint = Endpoint::new(base_url, "chat/completions", key, timeout);
        Server { endpoint, newer: AtomicBool::new(false) }
    }

    fn send(&self, call: &ModelCall<'_>) -> Result<(u16, String), Failure> {
        let mut body = json!({
            "model": call.model,
            "messages": [
                { "role": "system", "content": call.instructions },
                { "role": "user", "content": call.material },
            ],
            "stream": false,
        });
        if self.newer.load(Ordering::Relaxed) {
            body["max_completion_tokens"] = call.reply_tokens.into();
        } else {
            body["max_tokens"] = call.reply_tokens.into();
            body["temperature"] = 0.into();
        }
        self.endpoint.send(&body, MOST_REPLY)
    }
}

impl Summarizer for Server {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn reply(&self, call: &ModelCall<'_>) -> Result<Reply, Failure> {
        let (mut status, mut text) = self.send(call)?;
        if status == 400
            && text.contains("max_completion_tokens")
            && !self.newer.swap(true, Ordering::Relaxed)
        {
            (status, text) = self.send(call)?;
        }
        if status != 200 {
            return Err(self.endpoint.refusal(status, &text));
        }
        let completion: Completion = serde_json::from_str(&text)
            .map_err(|err| self.endpoint.not_understood("a completion", err))?;
        let said = completion
            .choices
            .into_iter()
            .next()
            .and_then(|choice| choice.message.content)
            .unwrap_or_default();
        let tokens = completion.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
        Ok(Reply { text: said, tokens })
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}
