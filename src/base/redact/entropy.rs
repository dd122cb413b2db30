//! A run is a long stretch of letters and digits without a space, which may be a secret of no known
//! kind.
//!
//! It is taken for one if it looks random and the words before it announce a secret.

use std::ops::Range;

use super::placeholders::is_harmless_name;
use super::shape::splits;

/// The shortest run that is looked at, in bytes.
const SHORTEST_RUN: usize = 24;
/// The longest; what is longer is data, such as an image.
pub(super) const LONGEST_RUN: usize = 200;

static IN_RUN: [bool; 256] = {
    let mut in_run = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        in_run[byte] =
            (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'+' | b'/' | b'_' | b'-');
        byte += 1;
    }
    in_run
};

/// Calls `each` with every run of token characters that is long enough, looking at one byte in each
/// stride.
pub(super) fn each_long_run(text: &str, mut each: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let in_run = |at: usize| IN_RUN[bytes[at] as usize];
    let mut at = SHORTEST_RUN - 1;
    let mut floor = 0;
    while at < bytes.len() {
        if !in_run(at) {
            floor = at + 1;
            at += SHORTEST_RUN;
            continue;
        }
        let mut start = at;
        while start > floor && in_run(start - 1) {
            start -= 1;
        }
        let mut end = at + 1;
        while end < bytes.len() && in_run(end) {
            end += 1;
        }
        if end - start >= SHORTEST_RUN {
            each(start..end);
        }
        floor = end;
        at = end + SHORTEST_RUN;
    }
}

/// Where the run begins that has a byte at a place.
pub(super) fn run_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes()[..at].iter().rev();
    at - before.take(LONGEST_RUN).take_while(|byte| IN_RUN[**byte as usize]).count()
}

/// Whether characters are random, rather than a name, path, hash or id.
pub(super) fn looks_random(run: &str) -> bool {
    const IDS: &[&str] = &[
        "toolu_", "srvtoolu_", "msg_", "req_", "call_", "chatcmpl-", "resp_", "run_", "thread_",
        "asst_", "file-", "fc_", "rs_", "ses_", "prt_", "evt_", "sha1-", "sha256-", "sha384-",
        "sha512-", "AAAA", "session_", "cse_", "container_", "agent_", "gen-",
    ];
    if run.len() > LONGEST_RUN || IDS.iter().any(|id| run.starts_with(id)) {
        return false;
    }
    let longest = run.split(['/', '_', '-', '+']).max_by_key(|segment| segment.len());
    let Some(segment) = longest.filter(|segment| segment.len() >= 16) else {
        return false;
    };
    let count = |is: fn(&u8) -> bool| segment.bytes().filter(is).count();
    // Names have a digit here and there; in random text every fourth place has one on one side
    // only.
    let digit_edges = segment
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count();
    count(u8::is_ascii_uppercase) >= 2
        && count(u8::is_ascii_lowercase) >= 2
        && digit_edges >= 3
        && digit_edges * 8 >= segment.len()
        && splits(segment) * 4 >= segment.len()
        && entropy(segment) >= 3.5
}

/// Returns the Shannon entropy in bits for each byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[byte as usize] += 1;
    }
    let total = text.len() as f64;
    let present = counts.iter().filter(|&&count| count > 0);
    present
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Whether the words before a run, on its line, announce a secret.
pub(super) fn is_announced(text: &str, run: &Range<usize>) -> bool {
    const WORDS: &[&str] =
        &["token", "secret", "passw", "pwd", "auth", "credential", "bearer", "key"];
    const HARMLESS: &[&str] = &[
        "public", "author", "hash", "sha", "commit", "signature", "fingerprint", "checksum",
        "integrity", "digest", "uuid", "_id", "id\"", "ssh-", "etag", "h1:",
    ];
    let before = last(&text[..run.start], 48);
    let before = before.rsplit('\n').next().unwrap_or(before);
    let before = before.rsplit("\\n").next().unwrap_or(before).to_ascii_lowercase();
    let Some((word_at, word)) =
        WORDS.iter().filter_map(|word| before.rfind(word).map(|at| (at, *word))).max()
    else {
        return is_constant(last(&text[..run.start], 48));
    };
    let gap = &before[word_at + word.len()..];
    let nearby = last(&before, before.len() - word_at + 12);
    let is_gap = |c: char| c.is_ascii_alphanumeric() || " \t\"'`:=>_-\\([{,".contains(c);
    let name = before[..word_at].rsplit([' ', '"', '\'', ',', '{', '(']).next().unwrap_or("");
    gap.len() <= 24
        && gap.contains([':', '=', ' '])
        && gap.chars().all(is_gap)
        && !(word == "key" && gap.starts_with(|c: char| c.is_ascii_alphabetic()))
        && !is_harmless_name(name)
        && !HARMLESS.iter().any(|harmless| nearby.contains(harmless))
}

/// Returns the end of a text in at most `max_bytes` bytes.
fn last(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Whether a text ends in `NAME=`, as in an environment file, unless it names an id or a hash.
fn is_constant(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'']);
    let Some(before) = before.strip_suffix('=') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = before.rsplit(|c| !is_name(c)).next().unwrap_or(before);
    let harmless =
        ["ID", "HASH", "SHA", "UUID", "PATH", "FILE", "DIR", "URL", "COMMIT", "REF", "INTEGRITY"];
    name.len() >= 3
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !harmless.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, random, untouched};

    #[test]
    fn random_runs_that_words_announce() {
        let value = random();
        check(
            &format!("my token, {value} ok"),
            "my token, {value} ok".replace("{value}", "[redacted:high-entropy]").as_str(),
        );
        check(&format!("the key: {value}"), "the key: [redacted:high-entropy]");
        check(&format!("SETTING={value}=="), "SETTING=[redacted:high-entropy]");
        untouched(&format!("the file {value} is here"));
        untouched(&format!("\"id\": \"{value}\""));
        untouched(&format!("public_key: {value}"));
        untouched(&format!("BUILD_ID={value}"));
        untouched(&format!("token data {}", value.repeat(10)));
    }
}
