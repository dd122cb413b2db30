//! A placeholder is what stands where a secret could: an example, a type, a word, the name of
//! another thing.
//!
//! These are the lists of words by which the validators recognize them.

use std::ops::Range;

use super::shape::is_wordy;

/// Whether a name of a token or key is no secret: of pages, caches, language models.
pub(super) fn is_harmless_name(name: &str) -> bool {
    const HARMLESS: &[&str] = &[
        "page", "next", "cursor", "continuation", "continue", "sync", "cancel", "cancellation",
        "cache", "public", "eos", "bos", "pad", "mask", "unk", "special", "stop", "max", "min",
        "num", "count", "total", "usage", "prompt", "completion", "input", "output", "idempotency",
        "primary", "foreign", "partition", "sort", "object", "resume", "delta", "design",
        "pagination", "publishable",
    ];
    let mut word = String::new();
    let mut last = ' ';
    // The name's words, however they are put together: `next_page`, `nextPage`, `NEXT-PAGE`.
    for character in name.chars().chain([' ']) {
        let begins = !character.is_ascii_alphanumeric()
            || (character.is_ascii_uppercase() && last.is_ascii_lowercase());
        if begins {
            if HARMLESS.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if character.is_ascii_alphanumeric() {
            word.push(character.to_ascii_lowercase());
        }
        last = character;
    }
    false
}

/// Whether the value at a place stands for a secret; in single quotes a dollar sign is one as any.
pub(super) fn is_placeholder_at(text: &str, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    let literal = value.strip_prefix('$').filter(|rest| {
        let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let in_quotes = text[..range.start].ends_with('\'');
        in_quotes && !rest.chars().all(is_constant) && !rest.starts_with(['{', '(', '$'])
    });
    match literal {
        // `'$db_password'` is a variable of a template.
        Some(rest) => is_wordy(rest) || is_placeholder(rest),
        None => is_placeholder(value),
    }
}

/// Whether a value stands for a secret in examples and templates.
pub(super) fn is_placeholder(value: &str) -> bool {
    const SIGNS: &[&str] = &[
        "${", "{{", "$(", "#{", "<%", "%(", "...", "…", "***", "•••", "xxxxx", "process.env",
        "environ", "getenv", "env.", "env[", "secrets.",
    ];
    // Words: `sample_password`, but not `samplePea7x`.
    const WORDS: &[&str] = &[
        "%s", "xxx", "redacted", "your", "example", "placeholder", "changeme", "change_me",
        "change-me", "dummy", "replace", "insert", "todo", "sample",
    ];
    let Some(first) = value.chars().next() else {
        return true;
    };
    if "$<{[".contains(first) || value.chars().all(|c| c == first) {
        return true;
    }
    // `%PASSWORD%`, `*args`, but not a password that begins so.
    if "%*".contains(first) && (value.ends_with(first) || is_wordy(value)) {
        return true;
    }
    if value.contains('{') && value.contains('}') {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    let sign = SIGNS.iter().find(|sign| lower.contains(**sign));
    let word = || WORDS.iter().find(|word| has_word(&lower, word));
    let Some(part) = sign.or_else(word) else { return false };
    // A word such as `example` inside of a value that is otherwise as random as a secret excuses
    // nothing.
    let rest = lower.replace(part, "");
    let has = |text: &str, kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
    let long_run = rest.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        run.len() >= 16 && has(run, u8::is_ascii_digit) && has(run, u8::is_ascii_alphabetic)
    });
    let base64 = rest.len() >= 20
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'='))
        && [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase]
            .iter()
            .all(|kind| has(value, *kind));
    !long_run && !base64
}

/// Whether a word of an example stands in a value: by itself, or glued to the name of a secret as
/// in `yourpassword`.
fn has_word(value: &str, word: &str) -> bool {
    value.match_indices(word).any(|(at, _)| {
        let is_letter = |c: &char| c.is_alphanumeric();
        let before: String = value[..at].chars().rev().take_while(is_letter).collect();
        let after: String = value[at + word.len()..].chars().take_while(is_letter).collect();
        let glued = format!("{}{after}", before.chars().rev().collect::<String>());
        glued.is_empty() || is_plain(&glued) || is_test_password(&glued)
    })
}

/// Whether a word only stands where a value could: types, constants, words of forms and messages.
pub(super) fn is_plain(value: &str) -> bool {
    const PLAIN: &[&str] = &[
        "null", "none", "nil", "undefined", "true", "false", "string", "text", "number", "integer",
        "boolean", "bytes", "char", "varchar", "option", "optional", "required", "invalid",
        "missing", "hidden", "empty", "unknown", "default", "input", "field", "value", "type",
        "test", "testing", "object", "array", "self", "this", "any", "void", "never", "unset",
        "disabled", "enabled", "incorrect", "wrong", "correct", "encrypted", "hashed", "masked",
        "plain", "plaintext", "bearer", "basic", "label", "name", "email", "username", "user",
        "login", "expired", "argon2", "bcrypt", "oauth2", "argon2id", "str | none", "prompt",
        "stdin", "file", "keychain", "vault",
    ];
    let trimmed = value.trim_end_matches(['.', '!', '?', ':', '*', ')']);
    let lower = trimmed.to_ascii_lowercase();
    if PLAIN.contains(&lower.as_str()) {
        return true;
    }
    // `uint32`, `base64`, `sha256`
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let width = &lower[stem.len()..];
    let has_width = ["8", "16", "32", "64", "128", "256", "512"].contains(&width);
    if has_width && stem.len() <= 6 && stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return true;
    }
    let is_word = |c: char| c.is_alphabetic() || "_-. :/".contains(c);
    lower.chars().all(is_word) && names_a_secret(&lower)
}

/// Whether a password is one of those that stand in every example and local set-up, and guard
/// nothing.
pub(super) fn is_test_password(value: &str) -> bool {
    const KNOWN: &[&str] = &[
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "test",
        "testing",
        "test123",
        "test1234",
        "testpass",
        "testpassword",
        "test-password",
        "test_password",
        "tests",
        "admin",
        "admin123",
        "administrator",
        "root",
        "toor",
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "mongo",
        "mongodb",
        "redis",
        "rabbitmq",
        "minio",
        "minioadmin",
        "elastic",
        "guest",
        "user",
        "users",
        "username",
        "demo",
        "dev",
        "development",
        "devpass",
        "devpassword",
        "local",
        "localhost",
        "foo",
        "bar",
        "baz",
        "foobar",
        "foobarbaz",
        "qwerty",
        "letmein1",
        "abc",
        "abcd",
        "abc123",
        "1234",
        "12345",
        "123456",
        "1234567",
        "12345678",
        "123456789",
        "password1",
        "password123",
        "passw0rd",
        "p@ssw0rd",
        "mypassword",
        "mypass",
        "mysecret",
        "mysecretpassword",
        "secret123",
        "supersecretpassword",
        "not-a-secret",
        "notasecret",
        "not-secret",
        "fake",
        "fakepassword",
        "fake-password",
        "fake-token",
        "mock",
        "none",
        "null",
        "empty",
        "anonymous",
        "wrong",
        "wrongpassword",
        "wrong-password",
        "newpassword",
        "oldpassword",
        "invalid",
        "app",
        "db",
    ];
    let lower = value.trim_matches(['"', '\'', '`', '.', ',']).to_ascii_lowercase();
    KNOWN.contains(&lower.as_str())
}

pub(super) fn names_a_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let names = [
        "passw", "passwd", "pwd", "secret", "token", "apikey", "api_key", "api-key", "key",
        "credential",
    ];
    names.iter().any(|name| lower.contains(name))
}
