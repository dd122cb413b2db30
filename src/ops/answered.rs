//! Answered: an event that reaches us twice, by the hook of our plugin and by the one that
//! `install` wrote, is answered once.
//!
//! Each call adds a line to a file of its session and then reads what stands before it: that needs
//! no lock, and two calls at the same moment agree on who came first.

use chrono::Duration;

use crate::base::clock::Timestamp;
use crate::base::files;
use crate::ops::turns;
use crate::store::Store;

/// How far apart the two calls of one event are at most.
const WITHIN: Duration = Duration::seconds(2);
/// How much of the end of the file is looked at.
const LOOKED_AT: usize = 4 << 10;

/// One call of a hook.
#[derive(Debug, Clone, Copy)]
pub struct EventCall<'a> {
    /// The agent's own id of the session; where it names none, every call is answered.
    pub session: &'a str,
    /// What makes two calls the same event: the moment, the prompt, the tool's call.
    pub event: &'a str,
    /// Whether the hook is our plugin's.
    pub is_plugins: bool,
}

/// Notes a call, and says whether it is to be answered. Where that is not known, it is.
pub fn is_first(store: &Store, call: EventCall, now: Timestamp) -> bool {
    if call.session.is_empty() {
        return true;
    }
    let event = &files::sha256_hex(call.event.as_bytes())[..16];
    let from = if call.is_plugins { "plugin" } else { "install" };
    let own = format!("{} {event} {from} {}\n", now.timestamp_millis(), std::process::id());
    let path = store.layout().answered(&turns::key(call.session));
    if files::append_plain(&path, own.as_bytes()).is_err() {
        return true;
    }
    let text = files::read_to_string(&path).unwrap_or_default();
    let from_here = text.len().saturating_sub(LOOKED_AT);
    let tail = text.get(from_here..).unwrap_or(&text);
    let before = tail.rfind(own.as_str()).map_or("", |at| &tail[..at]);
    !before.lines().any(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, other, other_from, _] = words.as_slice() else { return false };
        let age = at.parse().map_or(i64::MAX, |at: i64| now.timestamp_millis().abs_diff(at) as i64);
        *other == event && *other_from != from && age <= WITHIN.num_milliseconds()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ways_one_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::init(folder.path()).unwrap();
        let now = crate::base::clock::parse("2026-11-15T12:00:00Z").unwrap();
        let ask = |event: &str, is_plugins: bool, ms: i64| {
            let call = EventCall { session: "../s", event, is_plugins };
            is_first(&store, call, now + Duration::milliseconds(ms))
        };
        assert!(ask("Prompt a", false, 0));
        assert!(!ask("Prompt a", true, 300), "the plugin comes second");
        assert!(ask("Prompt b", true, 400), "another prompt");
        assert!(!ask("Prompt b", false, 500));
        assert!(ask("Stop", false, 600) && ask("Stop", false, 700), "a turn may be short");
        assert!(ask("Prompt a", true, 2_400), "the same again, later");
        let call = EventCall { session: "", event: "Stop", is_plugins: true };
        assert!(is_first(&store, call, now) && is_first(&store, call, now));
    }
}
