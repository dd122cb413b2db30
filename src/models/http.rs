//! A server that speaks OpenAI's protocol: where one kind of question goes, and how it is sent.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::Uri;

use super::summarizer::{Failure, FailureKind};
use crate::base::text;

/// Where one kind of question goes.
pub struct Endpoint {
    agent: Agent,
    address: String,
    key: Option<String>,
    is_this_machine: bool,
}

impl Endpoint {
    /// What is at `path` of a server at an address such as `http://127.0.0.1:11434/v1`. The time is
    /// for all of a call, from the connection to the last byte of the answer.
    pub fn new(base_url: &str, path: &str, key: Option<String>, timeout: Duration) -> Endpoint {
        let mut config =
            Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false);
        let is_this_machine = is_this_machine(base_url);
        if is_this_machine {
            // What is meant for this machine must not leave it through a proxy.
            config = config.proxy(None);
        }
        let address = format!("{}/{path}", base_url.trim_end_matches('/'));
        Endpoint { agent: config.build().into(), address, key, is_this_machine }
    }

    /// Whether it is on this machine.
    pub fn is_this_machine(&self) -> bool {
        self.is_this_machine
    }

    /// Sends a question; the status and at most so many bytes of the answer.
    pub fn send(&self, body: &Value, most: u64) -> Result<(u16, String), Failure> {
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
        let mut answer = request.send_json(body).map_err(failure)?;
        let text = answer.body_mut().with_config().limit(most).lossy_utf8(true).read_to_string();
        Ok((answer.status().as_u16(), text.map_err(failure)?))
    }

    /// What an answer means that is no success.
    pub fn refusal(&self, status: u16, text: &str) -> Failure {
        let kind = match status {
            408 | 429 | 500.. => FailureKind::Down,
            // A wrong key, address or model.
            401..=404 => FailureKind::Hopeless,
            _ => FailureKind::Refused,
        };
        let reason = format!("`{}` answered {status}: {}", self.address, complaint(text));
        Failure { reason, kind, may_cost: false }
    }

    /// What an answer means that is a success and no `thing`.
    pub fn not_understood(&self, thing: &str, why: impl std::fmt::Display) -> Failure {
        let reason = format!("`{}` answered something else than {thing}: {why}", self.address);
        Failure { reason, kind: FailureKind::Poor, may_cost: true }
    }
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
