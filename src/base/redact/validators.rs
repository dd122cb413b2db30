//! A validator looks at what a pattern has matched, and at its surroundings, and says whether it is
//! a secret.
//!
//! Patterns match too much, since code is full of names such as `token` and `password`; a validator
//! lets types, placeholders and expressions go.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::entropy::looks_random;
use super::placeholders::{
    is_harmless_name, is_placeholder, is_placeholder_at, is_plain, is_test_password, names_a_secret,
};
use super::shape::{is_wordy, splits};
use super::spoken::is_phrase;
use super::views::base64_decoded;

/// A match before it is judged.
pub(super) struct Candidate<'t> {
    pub(super) text: &'t str,
    /// Where its anchor begins.
    pub(super) start: usize,
    /// The secret.
    pub(super) range: Range<usize>,
}

impl<'t> Candidate<'t> {
    fn value(&self) -> &'t str {
        &self.text[self.range.clone()]
    }
}

pub(super) fn anywhere(_: &Candidate) -> bool {
    true
}

/// Accepts a token that does not begin within a longer word.
pub(super) fn token(candidate: &Candidate) -> bool {
    let before = &candidate.text.as_bytes()[..candidate.start];
    let Some(&last) = before.last() else {
        return true;
    };
    if !last.is_ascii_alphanumeric() && last != b'_' {
        return true;
    }
    // Glued to a name: `backup_ghp_…`, where the rest is clearly a token.
    if last == b'_' && is_mixed(candidate.value()) && candidate.value().len() >= 20 {
        return true;
    }
    // The letter before may belong to an escape: `\n`, `%3D`, `\u003d`, or a colour's `[0m`.
    let ends_with_escape = |lead: &[u8], length: usize| {
        before.len() >= lead.len() + length
            && before[before.len() - length - lead.len()..].starts_with(lead)
            && (length == 1 || before[before.len() - length..].iter().all(u8::is_ascii_hexdigit))
    };
    (b"nrt".contains(&last) && ends_with_escape(b"\\", 1))
        || ends_with_escape(b"%", 2)
        || ends_with_escape(b"\\u", 4)
        || ends_with_escape(b"\\x", 2)
        || (last == b'm' && ends_with_colour(before))
}

fn ends_with_colour(before: &[u8]) -> bool {
    let codes = before[..before.len() - 1].iter().rev();
    let codes = codes.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    before.len() >= codes + 2 && before[before.len() - codes - 2] == b'['
}

/// Accepts a value with letters and digits, and more than short words between its hyphens.
pub(super) fn mixed(candidate: &Candidate) -> bool {
    is_mixed(candidate.value())
}

/// Whether a value has letters and digits, and more than short words between its hyphens.
pub(super) fn is_mixed(value: &str) -> bool {
    let longest = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max();
    longest >= Some(12)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !is_placeholder(value)
}

pub(super) fn mixed_token(candidate: &Candidate) -> bool {
    token(candidate) && mixed(candidate)
}

/// Accepts a token whose beginning names its kind, and one that is no stretch of longer data in
/// Base64.
pub(super) fn named_or_alone(candidate: &Candidate) -> bool {
    match candidate.value().starts_with("sq0") {
        true => token(candidate),
        false => alone(candidate),
    }
}

/// Accepts a token that is no stretch of longer data in Base64.
fn alone(candidate: &Candidate) -> bool {
    let text = candidate.text.as_bytes();
    let neighbour = |byte: Option<&u8>| byte.is_some_and(|byte| b"+/=".contains(byte));
    let before = candidate.start.checked_sub(1).and_then(|at| text.get(at));
    token(candidate) && !neighbour(before) && !neighbour(text.get(candidate.range.end))
}

pub(super) fn after_a_number(candidate: &Candidate) -> bool {
    let before = candidate.text[..candidate.start].bytes().rev();
    (8..=10).contains(&before.take(11).take_while(u8::is_ascii_digit).count())
}

/// Accepts the second half of a token that begins with `pat` and fourteen characters.
pub(super) fn after_pat(candidate: &Candidate) -> bool {
    let before = candidate.text[..candidate.start].strip_suffix('.');
    before.is_some_and(|before| {
        let id = before.bytes().rev().take(17).collect::<Vec<_>>();
        id.len() == 17 && id.ends_with(b"tap") && id.iter().all(u8::is_ascii_alphanumeric)
    })
}

/// Accepts the second half of an application's token: its number and a bar stand before it.
pub(super) fn after_an_app_id(candidate: &Candidate) -> bool {
    let before = &candidate.text[..candidate.start];
    let Some(before) = before.strip_suffix('|').or_else(|| before.strip_suffix("%7C")) else {
        return false;
    };
    let digits = before.bytes().rev().take(17).take_while(u8::is_ascii_digit).count();
    (15..=16).contains(&digits) && mixed(candidate)
}

/// Accepts a value that mixes letters and digits all over.
pub(super) fn random_value(candidate: &Candidate) -> bool {
    let value = candidate.value();
    is_random(value.rsplit(['/', '%']).next().unwrap_or(value)) || is_random(value)
}

/// Accepts what stands behind a service's name, if it looks like a key and the words between do not
/// say that it is something else.
pub(super) fn service_key(candidate: &Candidate) -> bool {
    const OTHERS: &[&str] = &[
        "id", "ids", "sha", "sha1", "sha256", "hash", "commit", "ref", "rev", "revision",
        "version", "digest", "url", "uri", "image", "file", "path", "checksum", "etag", "trace",
        "span", "uuid", "fingerprint", "public", "project", "account", "build", "tag", "branch",
        "host", "name", "user", "integrity", "cache", "anonymous", "client_id",
    ];
    let value = candidate.value();
    let name = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    if is_placeholder(value) || words.clone().any(|word| OTHERS.contains(&word)) {
        return false;
    }
    let uuid = value.len() == 36 && value.bytes().filter(|byte| *byte == b'-').count() == 4;
    match uuid {
        true => words.any(|word| ["key", "token", "secret", "api", "apikey"].contains(&word)),
        false => is_random(value) && !value.starts_with("sha"),
    }
}

/// Accepts what a script types where a password is asked for.
pub(super) fn typed(candidate: &Candidate) -> bool {
    let before = &candidate.text[..candidate.start];
    let near = before.char_indices().rev().nth(300).map_or(before, |(at, _)| &before[at..]);
    let value = candidate.value();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    // What follows the question for a password at once, and ends with the Enter key, is the answer.
    let asked = near.rfind("expect").is_some_and(|at| near[at..].contains("assword"));
    let entered = candidate.text[candidate.range.end..].trim_start_matches('\\').starts_with('r');
    (near.contains("assword") || near.contains("spawn"))
        && has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_digit)
            || value.contains(|c| "!@#$%^&*+~?".contains(c))
            || (asked && entered))
        && !value.starts_with(['$', '/', '.', '-'])
        && !is_placeholder(value)
        && !is_test_password(value)
}

/// Accepts the password of a dialogue: `USER` stands just before it.
pub(super) fn after_user(candidate: &Candidate) -> bool {
    let mut from = candidate.start.saturating_sub(80);
    while !candidate.text.is_char_boundary(from) {
        from += 1;
    }
    candidate.text[from..candidate.start].contains("USER ") && password_line(candidate)
}

/// Accepts the second half of a token of Asana: a digit, a number and a colon stand before it.
pub(super) fn after_an_asana_id(candidate: &Candidate) -> bool {
    let Some(before) = candidate.text[..candidate.start].strip_suffix(':') else { return false };
    let digits = before.bytes().rev().take(18).take_while(u8::is_ascii_digit).count();
    let before = &before[..before.len() - digits];
    let version = before.strip_suffix('/').and_then(|before| before.bytes().next_back());
    (15..=17).contains(&digits) && version.is_some_and(|byte| byte.is_ascii_digit())
}

/// Accepts a key of a wallet by itself: its last four bytes are a check of the others.
pub(super) fn checked_wallet_key(candidate: &Candidate) -> bool {
    const DIGITS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    // A number with base 58, the most significant byte first.
    let mut number: Vec<u8> = Vec::new();
    for byte in candidate.value().bytes() {
        let Some(digit) = DIGITS.iter().position(|digit| *digit == byte) else { return false };
        let mut carry = digit;
        for place in number.iter_mut().rev() {
            carry += usize::from(*place) * 58;
            *place = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            number.insert(0, carry as u8);
        }
    }
    let Some((key, check)) = number.split_last_chunk::<4>() else { return false };
    (33..=34).contains(&key.len()) && Sha256::digest(Sha256::digest(key)).starts_with(check)
}

/// Accepts a seed in Base32: all its letters are of one case, and it has a digit.
pub(super) fn seed(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase) != has(u8::is_ascii_lowercase)
        && token(candidate)
}

/// Accepts the value of a directive such as `IdentityPassphrase`, where that can be no word.
pub(super) fn directive(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let name = name_before(candidate);
    let in_capitals = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.ends_with(|c: char| c.is_ascii_lowercase())
        && candidate.text[candidate.start..].starts_with('P');
    in_capitals
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_uppercase) || value.contains(|c| "!@#$%^&*+~?".contains(c)))
        && has(u8::is_ascii_lowercase)
        && !is_expression(candidate)
        && argument(candidate)
}

pub(super) fn url_password(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let before = &candidate.text[candidate.start..candidate.range.start];
    let user = before.trim_start_matches("://").trim_end_matches(':');
    !value.starts_with(['$', '{', '[', '*', '#'])
        && !is_placeholder(value)
        && !is_test_password(value)
        && (value != user || user.len() > 12)
}

/// Accepts a token in the place of an address's user.
pub(super) fn url_token(candidate: &Candidate) -> bool {
    let value = candidate.value();
    is_mixed(value) && !is_wordy(value)
}

/// Accepts a value of a JSON Web Key that is secret: the key says of which type it is.
pub(super) fn beside_kty(candidate: &Candidate) -> bool {
    let mut from = candidate.start.saturating_sub(3000);
    while !candidate.text.is_char_boundary(from) {
        from += 1;
    }
    candidate.text[from..candidate.start].contains("kty")
        || super::cut(&candidate.text[candidate.range.end..], 3000).contains("kty")
}

/// Accepts a header of cookies of which one has a value that nobody would type.
pub(super) fn cookie(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let is_secret = |pair: &str| {
        let Some((_, value)) = pair.split_once('=') else { return false };
        let value = value.trim();
        value.len() >= 10
            && value.bytes().any(|byte| byte.is_ascii_digit())
            && value.bytes().any(|byte| byte.is_ascii_alphabetic())
            && !is_wordy(value)
            && !is_placeholder(value)
    };
    value.split(';').any(is_secret) && !value.contains("::")
}

/// Accepts the value of a cookie that carries a session.
pub(super) fn session_id(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let name = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    let general =
        name.starts_with("session") || name.starts_with("_session") || name.starts_with("sid");
    let uuid = value.len() == 36 && value.bytes().filter(|byte| *byte == b'-').count() == 4;
    token(candidate)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !is_wordy(value)
        && !is_placeholder(value)
        && !(general && (uuid || value.len() < 20 || is_path(value) || name.contains(':')))
}

/// Whether a value is a path, rather than random and in one.
fn is_path(value: &str) -> bool {
    value.split_once('/').is_some_and(|(first, _)| !is_random(first))
}

/// Accepts a password that its statement leaves no doubt about.
pub(super) fn password_line(candidate: &Candidate) -> bool {
    token(candidate) && argument(candidate)
}

/// Accepts a password among the arguments of a call that takes one.
pub(super) fn argument(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let is_short_word = value.len() < 8 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    !is_placeholder(value)
        && !is_test_password(value)
        && !is_plain(value)
        && !value.contains(char::is_whitespace)
        && !is_short_word
        && !value.starts_with(['$', '%', ':', '?', '@'])
}

/// Accepts the last field of a line of `.pgpass`.
pub(super) fn pgpass(candidate: &Candidate) -> bool {
    let whole = &candidate.text[candidate.start..];
    let fields: Vec<&str> = super::cut(whole, 300).splitn(5, ':').collect();
    let [_, _, database, _, rest] = fields.as_slice() else { return false };
    let value =
        rest.split(|c: char| c.is_whitespace() || "\"'`\\".contains(c)).next().unwrap_or("");
    !database.bytes().all(|byte| byte.is_ascii_digit())
        && value.len() >= 4
        && !is_placeholder(value)
        && !is_test_password(value)
}

/// Accepts the second half of `user / password`.
pub(super) fn login(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    token(candidate)
        && has(u8::is_ascii_alphabetic)
        && (has(u8::is_ascii_digit) || value.contains(|c| "!@#$%^&*+~?".contains(c)))
        && !value.contains(['/', '\\', '('])
        && !value.contains("::")
        && !is_placeholder(value)
        && !is_test_password(value)
        && !is_expression(candidate)
}

/// Accepts a number that `PIN` announces, where that is the word.
pub(super) fn pin(candidate: &Candidate) -> bool {
    let value = candidate.value();
    candidate.text[candidate.start..].starts_with("PIN")
        && token(candidate)
        && !is_test_password(value)
        && !value.starts_with("20")
}

/// Accepts a value that stands apart from its name: in a tag, or as `name` and `value`.
pub(super) fn value_of_name(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let name = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    let is_password =
        ["password", "passwd", "pwd", "passphrase"].iter().any(|key| name.contains(key));
    if is_placeholder(value) || is_plain(value) || is_test_password(value) || value.starts_with('$')
    {
        return false;
    }
    // A tag that ends, rather than begins.
    let tag = &candidate.text[..candidate.start - name_before(candidate).len()];
    if tag.ends_with("</") {
        return false;
    }
    if name.starts_with("env ") && !candidate.text[candidate.start..].starts_with("ENV ") {
        return false;
    }
    if name.contains("',") || name.contains("\",") {
        // Two arguments of anything, unless the first is a constant's name or the second no word.
        let first = &candidate.text[candidate.start..candidate.start + 3];
        let constant = first.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let sign = |c: char| c.is_ascii_digit() || "!@#$%^*+~?".contains(c);
        return (constant && is_password) || (value.contains(sign) && is_strong(value));
    }
    match is_password {
        true => !value.contains("()") && !value.starts_with(['/', '.']),
        false => value.len() >= 8 && is_strong(value) && !is_harmless_name(name_before(candidate)),
    }
}

/// Accepts a key of a wallet: what announces it, or what stands on its line, says so.
pub(super) fn wallet_key(candidate: &Candidate) -> bool {
    let before = &candidate.text[..candidate.range.start];
    let line = before.rsplit('\n').next().unwrap_or(before).to_ascii_lowercase();
    let announced = ["private", "wif", "wallet", "signer", "deployer", "secret", "mnemonic"];
    announced.iter().any(|word| line.contains(word))
}

/// Accepts what stands behind `Bearer` and its like when it is a value rather than a name for one.
pub(super) fn credential(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let is_scheme = value.starts_with("AWS4-");
    if is_scheme || is_placeholder(value) || is_expression(candidate) {
        return false;
    }
    // A header, perhaps of a proxy or as a variable, but no `EndpointAuthorization`.
    if !token(candidate) && !candidate.text[..candidate.start].ends_with('_') {
        return false;
    }
    let before = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    if before.trim_end().ends_with("basic") {
        // In a path more may follow.
        let bare = value.split('=').next().unwrap_or(value);
        if base64_decoded(bare).is_some_and(|inner| inner.contains(':')) {
            return true;
        }
        let upper = value.bytes().any(|byte| byte.is_ascii_uppercase());
        let lower = value.bytes().any(|byte| byte.is_ascii_lowercase());
        return value.len().is_multiple_of(4) && upper && lower;
    }
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.len() >= 12 && digit && letter && !is_wordy(value)
}

/// Accepts the value of a password, unless it is a placeholder, a type, a path or an expression.
pub(super) fn password(candidate: &Candidate) -> bool {
    let value = candidate.value();
    if is_placeholder_at(candidate.text, &candidate.range)
        || is_plain(value)
        || is_test_password(value)
        || value.starts_with(['/', '~', '.'])
        || !is_password_name(candidate)
    {
        return false;
    }
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => !value.contains(char::is_whitespace) || is_phrase(value),
        Notation::Environment => !is_expression(candidate),
        Notation::Flag => !is_prose(value) && !value.starts_with(['-', '$']),
        Notation::Bare => {
            let unusual = |c: char| c.is_ascii_digit() || "!@#$%^*+~?".contains(c);
            (value.len() >= 6
                && value.contains(unusual)
                && !names_a_secret(value)
                && !is_expression(candidate))
                || is_padded_base64(value)
        }
    }
}

/// Whether the name is one of a password: `pass` alone, or behind a mark, but not `bypass`.
fn is_password_name(candidate: &Candidate) -> bool {
    let here = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    let short =
        ["pass=", "pass:", "pass\"", "pass'", "pass ", "pw=", "pw:", "psk", "pass\\", "pass]"];
    if !short.iter().any(|short| here.starts_with(short)) {
        return true;
    }
    let name = name_before(candidate);
    name.is_empty()
        || name.ends_with(['_', '-', '.'])
        || ["user", "db", "root", "admin", "ftp", "smtp", "mail", "wpa", "host", "http"]
            .iter()
            .any(|word| name.to_ascii_lowercase().ends_with(word))
        || name.ends_with(|c: char| c.is_ascii_lowercase())
            && candidate.text[candidate.start..].starts_with('P')
}

/// Whether a word behind a flag goes on with a sentence rather than being the flag's value.
fn is_prose(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "flag", "flags", "option", "options", "argument", "parameter", "switch", "with", "from",
        "when", "then", "instead", "because", "which", "that", "this", "into", "must", "should",
        "will", "does", "takes", "means", "here", "also", "only", "requires", "works", "reads",
        "authentication", "prompt", "stdin", "store", "manager", "login", "support", "value",
    ];
    let word = value.trim_end_matches(['.', ',', ':', ')']).to_ascii_lowercase();
    WORDS.contains(&word.as_str())
}

/// Whether a value ends like Base64 and is text in it, as in a manifest of secrets.
fn is_padded_base64(value: &str) -> bool {
    let bare = value.trim_end_matches('=');
    value.len() >= 8
        && bare.len() < value.len()
        && value.len().is_multiple_of(4)
        && base64_decoded(bare).is_some()
}

/// Accepts the value of a key or token; such names are common in code, so the value has to look it.
pub(super) fn secret(candidate: &Candidate) -> bool {
    let value = candidate.value();
    if is_placeholder(value)
        || is_plain(value)
        || is_test_password(value)
        || is_harmless_name(name_before(candidate))
        || !is_secret_name(candidate)
    {
        return false;
    }
    let strong = is_strong(value);
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => strong && value.len() >= 8,
        Notation::Environment if is_long_phrase(candidate) => true,
        Notation::Environment => strong && value.len() >= 8 && !is_expression(candidate),
        Notation::Flag | Notation::Bare => {
            (strong && value.len() >= 12 && !is_expression(candidate)) || is_padded_base64(value)
        }
    }
}

/// `hazel-crane-over-9-hills`: words that somebody made a secret of.
fn is_long_phrase(candidate: &Candidate) -> bool {
    let value = candidate.value().to_ascii_lowercase();
    let value = value.split('/').next().unwrap_or(&value);
    let here = candidate.text[candidate.start..].get(..6);
    let tells =
        ["test", "secret", "key", "token", "demo", "local", "dev", "fake", "mock", "sample"];
    here.is_some_and(|here| here.eq_ignore_ascii_case("secret"))
        && value.len() >= 16
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        && !tells.iter().any(|word| value.contains(word))
}

/// Whether a name is one of a secret: `auth` and `_key` are asked for more than `token`.
fn is_secret_name(candidate: &Candidate) -> bool {
    let here = candidate.text[candidate.start..candidate.range.start].to_ascii_lowercase();
    let value = candidate.value();
    if here.starts_with("auth") || here.starts_with("_auth") {
        let bare = value.trim_end_matches('=');
        return base64_decoded(bare).is_some_and(|inner| inner.contains(':')) || is_random(value);
    }
    if here.starts_with("_key") || here.starts_with("jwt") || here.starts_with("hmac") {
        return value.len() >= 16 && is_random(value);
    }
    if here.starts_with("_salt") || here.starts_with("pepper") {
        return value.len() >= 8;
    }
    true
}

/// Whether a value is a long number in hexadecimal, or mixes letters and digits all over.
fn is_random(value: &str) -> bool {
    let hex = value.len() >= 24 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex || looks_random(value)
        || (value.len() >= 16 && is_mixed(value) && splits(value) * 4 >= value.len())
}

/// Whether a value is more than words, a path or an address.
fn is_strong(value: &str) -> bool {
    !is_wordy(value)
        && !value.contains("://")
        && !value.starts_with(['/', '~', '.'])
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// How an assignment is written.
enum Notation {
    /// It is none.
    None,
    Quoted,
    /// `NAME=value`, or a part of a query or connection string.
    Environment,
    /// `--name value`, `--name=value`.
    Flag,
    /// `name: value`, `name=value`.
    Bare,
}

fn notation(candidate: &Candidate) -> Notation {
    let between = &candidate.text[candidate.start..candidate.range.start];
    let name = name_before(candidate);
    let name_start = candidate.start - name.len();
    let assigns = between.contains([':', '=']);
    let is_flag = name.starts_with('-')
        && candidate.text[..name_start].ends_with([' ', '\'', '"', '`', '\n', '[', '(']);
    if !assigns && !is_flag {
        return Notation::None;
    }
    // `AWS::IAM::AccessKey` is a kind of resource.
    if candidate.text[..name_start].ends_with("::") {
        return Notation::None;
    }
    if between.ends_with(['"', '\'', '`']) {
        return Notation::Quoted;
    }
    let before = candidate.text[..name_start].bytes().last();
    let key = between.trim_start_matches('_');
    let upper = key.bytes().take(3).all(|byte| byte.is_ascii_uppercase());
    if between.ends_with('=') && (upper || matches!(before, Some(b'?' | b'&' | b';'))) {
        return Notation::Environment;
    }
    if is_flag && between.ends_with(['=', ' ']) && !between.contains(':') {
        return Notation::Flag;
    }
    Notation::Bare
}

/// Returns what stands before the key within its name: `client_` of `client_secret`, `--db-` of
/// `--db-password`.
fn name_before<'t>(candidate: &Candidate<'t>) -> &'t str {
    let before = &candidate.text.as_bytes()[..candidate.start];
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte == b'-';
    let length = before.iter().rev().take(48).take_while(is_name).count();
    &candidate.text[candidate.start - length..candidate.start]
}

/// Whether it is code rather than a value: a call, an index, a member, a path of a module.
fn is_expression(candidate: &Candidate) -> bool {
    let value = candidate.value();
    let after = &candidate.text[candidate.range.end..];
    if after.starts_with(['(', '[', '{']) || (after.starts_with('<') && !after.starts_with("</")) {
        return true;
    }
    if value.contains("::") || value.contains("->") || value.starts_with(['!', '-', '@', '+', '#'])
    {
        return true;
    }
    let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if value.contains('_') && value.chars().all(is_constant) {
        return true;
    }
    let mut members =
        value.trim_end_matches(['?', '!', '.', ':']).split(['.', '?']).filter(|m| !m.is_empty());
    let is_identifier = |member: &str| {
        !member.starts_with(|c: char| c.is_ascii_digit())
            && member.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !looks_random(member)
    };
    value.contains('.') && members.all(is_identifier)
}

#[cfg(test)]
mod tests {
    use super::super::RULES;
    use super::super::tests::{check, untouched};

    #[test]
    fn tokens_behind_escapes_and_between_quotes() {
        let token = RULES.iter().find(|rule| rule.name == "github-token");
        let token = token.expect("the rule exists").example.concat();
        for (before, after) in [
            ("", ""),
            ("\\n", "\\n"),
            ("'", "'"),
            ("\"", "\\\""),
            ("https://", "@github.com/x"),
            ("%3D", "%26"),
            ("\\u003d", "\\u0026"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("password=", ""),
            ("TOKEN=\"", "\""),
            ("Authorization: Bearer ", ""),
        ] {
            check(
                &format!("{before}{token}{after}"),
                &format!("{before}[redacted:github-token]{after}"),
            );
        }
        untouched(&format!("x{token}"));
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "password: string",
            "password: String,",
            "password: &str,",
            "password: Option<String>,",
            "password: str | None = None",
            "def f(password=None, token=None):",
            "login(user=user, password=password)",
            "password=password1, x",
            "password = self.password",
            "password = get_password()",
            "password=os.environ[\"PASSWORD\"]",
            "password: process.env.DB_PASSWORD,",
            "password = \"<your-password>\"",
            "PASSWORD=$PASSWORD",
            "PASSWORD=${PASSWORD:-x}",
            "password: '${{ secrets.PASSWORD }}'",
            "password = \"xxxxxxxx\"",
            "password=********",
            "API_KEY=your-api-key-here-123",
            "\"password\": null, \"token\": true",
            "<input type=\"password\" name=\"password\">",
            "\"password\": \"Passwort\"",
            "password: \"Enter the password\"",
            "Password: required",
            "PWD=/home/me/project",
            "pwd = ~/x",
            "token = parser.next()",
            "token = tokens[index2]",
            "let token: Token = lexer.next_token2();",
            "token: u32, secret: U256",
            "max_tokens: 4096, tokens: 123456",
            "\"input_tokens\": 18234, \"cache_token\": \"ephemeral_5m\"",
            "nextPageToken: 'abcd1234efgh5678'",
            "eos_token = \"<|endoftext|>\"",
            "tokenizer: cl100k_base",
            "secret: SECRET_KEY_BASE2",
            "secretName: my-app-tls-v2",
            "the secret is to keep calm",
            "api_key: test-key-1",
            "Authorization: Bearer <token>",
            "Authorization: Bearer $TOKEN",
            "headers.authorization = `Bearer ${token}`",
            "Authorization: Bearer YOUR_TOKEN",
            "authorization: req.headers.authorization",
            "https://example.com:8080/a@b",
            "postgres://user:$PASSWORD@host/db",
            "postgres://user:<password>@host/db",
            "http://localhost:3000/@scope/package",
            "task-abcdefghijklmnopqrstuvwxyz",
            "sk-loading-spinner-with-a-long-name",
            "class=\"risk-assessment-form-container\"",
            "commit 3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e7",
            "sha256:3f9a1c7e5b2d80649e1f3a7c5d2b8064f1a3c5e73f9a1c7e5b2d80649e1f3a7c",
            "token 0b9c8d1e-5b2d-4064-9e1f-3a7c5d2b8064",
            "key 01J8XKAVT5ZQ9M4N7P2R3S6T8V",
            "\"tool_use_id\": \"toolu_01A09q90qw90lq917835lq9K\"",
            "auth key: msg_01XFDUDYJgAACzvnptvVoYEL",
            "token req_011CSHoEeqs5C35K2UUqR7Fy call_x7Kq2Wm9Zr4Tn8Yc1Vd5",
            "key chatcmpl-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf",
            "\"integrity\": \"sha512-x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N==\"",
            "key h1:x7Kq2Wm9Zr4Tn8Yc1Vd5Lp3Bs6Hf0Jg9Ea2Ub4N8Lw=",
            "/nix/store/x7kq2wm9zr4tn8yc1vd5lp3bs6hf0jg9-secret-tool-1.2.3",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
            "key: getUserByIdAndUpdateTokenV2Handler1",
            "token /Users/Me/Projects/App2/Sources/Token/Key3/File.swift",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIx7Kq2Wm9Zr4Tn8Yc1 me",
            "pub const SYS_memfd_secret: c_long = __X32_SYSCALL_BIT + 447;",
            "\"AWS::IAM::AccessKey\": \"62d91b17309e76c8\"",
            "\"AWS::Redshift::EndpointAuthorization\": \"e72be424d109da1d\"",
            "Authorization: AWS4-HMAC-SHA256 Credential=x",
            "see credentials: `tests/e2e/.env`",
            "TEST_SECRET=e2e-test-secret-do-not-use",
            "accessToken: 'access-123'",
            "[redacted:password] password=[redacted:password]",
        ] {
            untouched(text);
        }
    }
}
