//! A validator looks at what a pattern has matched, and at its surroundings, and says whether it is
//! a secret.
//!
//! Patterns match too much, since code is full of names such as `token` and `password`; a validator
//! lets types, placeholders and expressions go.

use std::ops::Range;

use super::entropy::{looks_random, splits};
use super::placeholders::{is_harmless_name, is_placeholder, is_plain, names_a_secret};

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
    let value = candidate.value();
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

pub(super) fn url_password(candidate: &Candidate) -> bool {
    let value = candidate.value();
    !value.starts_with(['$', '{', '[', '*', '%', '#']) && !is_placeholder(value)
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
    if is_placeholder(value) || is_plain(value) || value.starts_with(['/', '~', '.']) {
        return false;
    }
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => !value.contains(char::is_whitespace),
        Notation::Environment => !is_expression(candidate),
        Notation::Bare => {
            let unusual = |c: char| c.is_ascii_digit() || "!@#$%^*+~?".contains(c);
            value.len() >= 6
                && value.contains(unusual)
                && !names_a_secret(value)
                && !is_expression(candidate)
        }
    }
}

/// Accepts the value of a key or token; such names are common in code, so the value has to look it.
pub(super) fn secret(candidate: &Candidate) -> bool {
    let value = candidate.value();
    if is_placeholder(value) || is_plain(value) || is_harmless_name(name_before(candidate)) {
        return false;
    }
    let strong = !is_wordy(value)
        && !value.contains("://")
        && !value.starts_with(['/', '~', '.'])
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    match notation(candidate) {
        Notation::None => false,
        Notation::Quoted => strong && value.len() >= 8,
        Notation::Environment => strong && value.len() >= 8 && !is_expression(candidate),
        Notation::Bare => strong && value.len() >= 12 && !is_expression(candidate),
    }
}

/// How an assignment is written.
enum Notation {
    /// It is none.
    None,
    Quoted,
    /// `NAME=value`, or a part of a query or connection string.
    Environment,
    /// `name: value`, `name=value`, `--name value`.
    Bare,
}

fn notation(candidate: &Candidate) -> Notation {
    let between = &candidate.text[candidate.start..candidate.range.start];
    let name = name_before(candidate);
    let name_start = candidate.start - name.len();
    let assigns = between.contains([':', '=']);
    if !assigns && !name.starts_with("--") {
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

/// Whether a value is made of words and small numbers, such as `e2e-user-token`, `access-123` or
/// `tokenV2`.
fn is_wordy(value: &str) -> bool {
    let mut scattered = 0;
    let mut is_word = |segment: &str| {
        let digits = segment.bytes().filter(u8::is_ascii_digit).count();
        if digits == segment.len() {
            return digits <= 3;
        }
        scattered += digits;
        digits <= 1 && splits(segment) * 4 <= segment.len() + 8
    };
    value.split(|c: char| !c.is_ascii_alphanumeric()).all(&mut is_word) && scattered < 3
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
