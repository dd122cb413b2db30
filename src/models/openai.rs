//! `openai`: any server that speaks that protocol, on this machine or hosted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Uri;

use super::summarizer::{Failure, FailureKind, ModelCall, Reply, Summarizer};
use crate::base::text;

/// A server that answers.
pub struct Server {
    agent: Agent,
    /// Where questions go.
    address: String,
    key: Option<String>,
    /// Some hosted models call the length of a reply by a new name and choose their own
    /// temperature. Learned from the first refusal.
    newer: AtomicBool,
}

/// More than this is no reply.
const MOST_REPLY: u64 = 4 << 20;

impl Server {
    /// A server at an address such as `http://127.0.0.1:11434/v1`.
    pub fn new(base_url: &str, key: Option<String>, timeout: Duration) -> Server {
        let mut config =
            Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false);
        if is_this_machine(base_url) {
            // What is meant for this machine must not leave it through a proxy.
            config = config.proxy(None);
        }
        Server {
            agent: config.build().into(),
            address: format!("{}/chat/completions", base_url.trim_end_matches('/')),
            key,
            newer: AtomicBool::new(false),
        }
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
        let mut request = self.agent.post(&self.address);
        if let Some(key) = &self.key {
            request = request.header("authorization", &format!("Bearer {key}"));
        }
        let failure = |err: ureq::Error| Failure {
            may_cost: !is_refused(&err),
            kind: match err {
                ureq::Error::BadUri(_) | ureq::Error::Http(_) => FailureKind::Hopeless,
                _ => FailureKind::Down,
            },
            reason: format!("cannot ask `{}`: {err}", self.address),
        };
        let mut answer = request.send_json(&body).map_err(failure)?;
        let text =
            answer.body_mut().with_config().limit(MOST_REPLY).lossy_utf8(true).read_to_string();
        Ok((answer.status().as_u16(), text.map_err(failure)?))
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
            let kind = match status {
                408 | 429 | 500.. => FailureKind::Down,
                // A wrong key, address or model.
                401..=404 => FailureKind::Hopeless,
                _ => FailureKind::Refused,
            };
            let reason = format!("`{}` answered {status}: {}", self.address, complaint(&text));
            return Err(Failure { reason, kind, may_cost: false });
        }
        let completion: Completion = serde_json::from_str(&text).map_err(|err| Failure {
            reason: format!("`{}` answered something else than a completion: {err}", self.address),
            kind: FailureKind::Poor,
            may_cost: true,
        })?;
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

/// Whether the request never arrived.
fn is_refused(err: &ureq::Error) -> bool {
    match err {
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => true,
        ureq::Error::Io(err) => err.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

/// Whether an address is this machine's own.
fn is_this_machine(base_url: &str) -> bool {
    let address: Option<Uri> = base_url.parse().ok();
    let host = address.as_ref().and_then(|address| address.host()).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What a refusal says, on one line.
fn complaint(body: &str) -> String {
    let object: Option<Value> = serde_json::from_str(body).ok();
    let message = object.as_ref().and_then(|object| {
        let error = object.get("error")?;
        error.get("message").unwrap_or(error).as_str()
    });
    text::one_line(message.unwrap_or(body), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_by_its_address() {
        for address in ["http://127.0.0.1:11434/v1", "http://localhost/v1", "http://[::1]:80/v1"] {
            assert!(is_this_machine(address), "{address}");
        }
        for address in [
            "https://api.example.org/v1",
            "http://127.0.0.1.example.org/v1",
            "http://10.0.0.1/v1",
            "?",
        ] {
            assert!(!is_this_machine(address), "{address}");
        }
    }

    #[test]
    fn a_refusal_is_told_by_its_message() {
        assert_eq!(complaint(r#"{"error":{"message":"no such\nmodel"}}"#), "no such model");
        assert_eq!(complaint(r#"{"error":"busy"}"#), "busy");
        assert_eq!(complaint("<html>"), "<html>");
    }
}
