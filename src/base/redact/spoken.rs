//! A spoken password: one that a sentence tells, in any of the large languages.
//!
//! `the password is …`, `Passwort: …`, `密码是…`. Here nothing but the word before announces the
//! value, so it has to look like one: letters with digits or signs, or in quotes.

use std::ops::Range;

use super::placeholders::{is_placeholder, is_plain, is_test_password, names_a_secret};
use super::shape::is_wordy;
use crate::base::static_regex::StaticRegex;

/// The words for a password.
pub(super) const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "pswd",
    "mdp",
    "pass word",
    "passphrase",
    "pass phrase",
    "passcode",
    "my pass",
    "the pass",
    "your pass",
    "root pass",
    "admin pass",
    "user pass",
    "db pass",
    "wifi pass",
    "wifi key",
    "wi-fi key",
    "wpa key",
    "wpa2 key",
    "wpa3 key",
    "wlan key",
    "network key",
    "wlan-schlüssel",
    "passwort",
    "kennwort",
    "zugangscode",
    "mot de passe",
    "mots de passe",
    "contraseña",
    "contrasena",
    "clave de acceso",
    "palabra clave",
    "senha",
    "palavra-passe",
    "parola d'ordine",
    "wachtwoord",
    "lösenord",
    "losenord",
    "adgangskode",
    "kodeord",
    "passord",
    "salasana",
    "hasło",
    "haslo",
    "hasła",
    "heslo",
    "jelszó",
    "jelszo",
    "parola",
    "parolă",
    "lozinka",
    "lozinku",
    "geslo",
    "slaptažod",
    "parool",
    "şifre",
    "sifre",
    "parolası",
    "mật khẩu",
    "mat khau",
    "kata sandi",
    "katasandi",
    "sandi adalah",
    "neno la siri",
    "wagwoord",
    "pasahitza",
    "contrasenya",
    "лозинка",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "парол",
    "Парол",
    "парола",
    "κωδικός",
    "κωδικο",
    "Κωδικ",
    "συνθηματικ",
    "密码",
    "密碼",
    "口令",
    "暗号",
    "パスワード",
    "暗証番号",
    "パスフレーズ",
    "비밀번호",
    "암호",
    "패스워드",
    "كلمة المرور",
    "كلمة السر",
    "كلمه السر",
    "رمز عبور",
    "گذرواژه",
    "پاس ورڈ",
    "סיסמ",
    "ססמ",
    "पासवर्ड",
    "कूटशब्द",
    "পাসওয়ার্ড",
    "கடவுச்சொல்",
    "రహస్యపదం",
    "పాస్‌వర్డ్",
    "ਪਾਸਵਰਡ",
    "પાસવર્ડ",
    "रहस्यशब्द",
    "รหัสผ่าน",
    "ລະຫັດຜ່ານ",
    "ពាក្យសម្ងាត់",
    "စကားဝှက်",
    "գաղտնաբառ",
    "პაროლი",
    "нууц үг",
    "құпия сөз",
];

/// The words for a key or a token, of which more is asked.
pub(super) const TOKENS: &[&str] = &[
    "token", "api key", "api-key", "secret key", "access key", "secret is", "secret ist",
    "schlüssel", "jeton", "clé d'api", "clé api", "clé secrète", "clave api", "clave secreta",
    "chave de api", "chave secreta", "chiave api", "токен", "Токен", "ключ api", "ключ", "令牌",
    "密钥", "密鑰", "トークン", "シークレット", "キー", "토큰", "시크릿", "مفتاح", "टोकन", "โทเค็น",
    "klucz", "anahtar", "license key", "recovery code", "backup code", "pin code", "one-time code",
];

/// What may stand between the word and the value.
static LINK: StaticRegex = StaticRegex::new(concat!(
    r#"\A(?:[\p{L}\p{M}'’]*)(?:["'”»`*_)]{0,3})"#,
    // `for the staging database`, at most a few words.
    r"(?:[ \t\u{a0}]+[\p{L}\p{M}\p{N}@'’./()-]+){0,6}?",
    r"[ \t\u{a0}]*",
    r"(?:[:=：＝﹕]|->|=>|→|[—–]|-[ \t]|",
    r"(?i:\b(?:is|are|was|will be|set to|to|now|ist|lautet|war|heißt|est|était|es|és|era|será|é|è|sono|yra|ir|da|është|",
    r"jest|brzmi|este|to jest|je|är|er|on|van|is nu|olan|dır|là|adalah|ialah|yaitu|это|це|є|е|есть|будет|είναι|",
    r"هي|هو|است|है|हैं|คือ|ni|ta|zu)\b)|是|为|為|就是|は|が|는|은|이|가|を|:)",
    r#"[ \t\u{a0}]*(?:now |still |currently |jetzt |)["'“„«「『`*_]{0,3}"#,
));

/// What a value is made of.
static VALUE: StaticRegex = StaticRegex::new(
    r#"\A(?:[!#-&*+\-./0-:=?@A-Z\\^_a-z~]{4,}|[^\s"“”„«»「」『』`，。、；：！？<>|,;()\[\]{}]{4,})"#,
);

/// Finds the password that the word at `start` announces.
pub(super) fn read_password(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    let word =
        PASSWORDS.iter().filter(|word| begins(text, start, word)).map(|word| word.len()).max();
    let Some(word) = word else { return };
    let linked = linked(text, start, word);
    let value = linked.clone().filter(|value| is_password(text, value));
    let value = value.or_else(|| linked.and_then(|value| in_path(text, &value)));
    let value = value.or_else(|| {
        // The value right behind the word has to be clearer.
        adjacent(text, start + word).filter(|value| is_clear(&text[value.clone()]))
    });
    let value = value.or_else(|| over_words(text, start + word));
    value.into_iter().for_each(found);
}

/// Finds the token that the word at `start` announces.
pub(super) fn read_token(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    // The word that code is full of: prose goes on with a space.
    let bytes = &text.as_bytes()[start..];
    if bytes.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"token"))
        && bytes.get(5) != Some(&b' ')
    {
        return;
    }
    let word = TOKENS.iter().filter(|word| begins(text, start, word)).map(|word| word.len()).max();
    let Some(word) = word else { return };
    let is_token = |value: &Range<usize>| {
        let value = &text[value.clone()];
        value.len() >= 10
            && value.bytes().filter(u8::is_ascii_digit).count() >= 2
            && value.bytes().filter(u8::is_ascii_alphabetic).count() >= 2
            && !value.contains(['/', '\\', '(', '$'])
            && !value.contains("::")
            && !is_wordy(value)
            && !is_uuid(value)
            && !is_placeholder(value)
    };
    // In code these words are everywhere; there the rules of assignments know better.
    let is_prose = text[start + word..].starts_with([' ', '\u{a0}'])
        || !text[start..start + word].is_ascii()
        || text[start..].starts_with("secret is");
    let from = if text[start..].starts_with("secret is") { "secret".len() } else { word };
    if is_prose {
        linked(text, start, from).filter(is_token).into_iter().for_each(found);
    }
}

/// Whether a word stands at a place and begins there.
fn begins(text: &str, start: usize, word: &str) -> bool {
    let here = text.as_bytes().get(start..start + word.len());
    let before = text[..start].chars().next_back();
    here.is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
        && text.is_char_boundary(start + word.len())
        // Words of scripts without spaces begin anywhere.
        && (!word.is_ascii() || before.is_none_or(|before| !before.is_ascii_alphanumeric()))
}

/// The value behind a word and what links the two.
fn linked(text: &str, start: usize, word: usize) -> Option<Range<usize>> {
    let rest = super::cut(&text[start + word..], 400);
    // What stands on another line is another matter.
    let rest = rest.split(['\n', '\r']).next().unwrap_or(rest);
    let mut from = 0;
    // The shortest link is not always the right one: `password for the db is now: x`.
    for _ in 0..3 {
        let link = LINK.find(&rest[from..])?;
        from += link.end();
        let begin = start + word + from;
        if let Some(quoted) = quoted(text, begin) {
            return Some(quoted);
        }
        let Some(value) = VALUE.find(&rest[from..]) else { continue };
        let range = trimmed(text, start + word + from..start + word + from + value.end());
        if is_likely(&text[range.clone()]) {
            return Some(range);
        }
        if text[range.clone()].len() > 16 {
            return None;
        }
    }
    None
}

/// The whole text in quotes that begins at a place, if it is several words and no sentence.
fn quoted(text: &str, start: usize) -> Option<Range<usize>> {
    const QUOTES: &[(char, char)] =
        &[('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」')];
    let open = text[..start].chars().next_back()?;
    let (_, close) = QUOTES.iter().find(|(opening, _)| *opening == open)?;
    let rest = super::cut(&text[start..], 120);
    let length = rest.find([*close, '\n', '\r']).filter(|at| rest[*at..].starts_with(*close))?;
    let inner = rest[..length].trim_end_matches('\\');
    let first = inner.split(' ').next().unwrap_or(inner);
    // `"Gr4pe for the tree"`: the first word leaves no doubt.
    let is_begun = || first.len() >= 5 && is_clear(first) && !inner.contains(['=', '(', '{']);
    (inner.contains(' ') && (is_phrase(inner) || is_begun())).then(|| start..start + inner.len())
}

/// The value behind what a password is for: `пароль от сервера X9…`. In languages that need no
/// verb here, and only what can be no word.
fn over_words(text: &str, end: usize) -> Option<Range<usize>> {
    const FOR: &[&str] = &["от", "для", "к", "на", "у", "від", "до", "за"];
    const NAMED: &[&str] = &["пользователя", "юзера", "пользователь", "користувача", "версии"];
    let line = super::cut(&text[end..], 160).split(['\n', '\r']).next()?;
    let (mut at, mut last) = (end, "");
    for (number, word) in line.split(' ').take(7).enumerate() {
        let range = at..at + word.len();
        at = range.end + 1;
        match number {
            // The ending of the word itself: `пароля`.
            0 if word.chars().all(char::is_alphabetic) => {}
            1 if FOR.contains(&word) => {}
            0 | 1 => return None,
            _ => {
                let value = trimmed(text, range);
                if !NAMED.contains(&last) && number > 2 && is_no_word(&text[value.clone()]) {
                    return Some(value);
                }
            }
        }
        last = word;
    }
    None
}

/// Whether a value has capitals, small letters and digits, and more than one number behind a word.
fn is_no_word(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= 8
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && value.bytes().filter(u8::is_ascii_digit).count() >= 2
        && is_clear(value)
}

/// The value that stands right behind a word.
fn adjacent(text: &str, end: usize) -> Option<Range<usize>> {
    // The word may have an ending: `şifrem`, `parolası`.
    let ending = text[end..].find(|c: char| !c.is_lowercase()).filter(|length| *length <= 8)?;
    let rest = text[end + ending..].strip_prefix([' ', '\u{a0}'])?;
    let from = text.len() - rest.len();
    let open = rest.bytes().take_while(|byte| b"\"'`*\\".contains(byte)).count();
    let value = VALUE.find(super::cut(&rest[open..], 200))?;
    Some(trimmed(text, from + open..from + open + value.end()))
}

/// A value without what ends its sentence.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    let short = value.trim_end_matches(['.', '\'', '’', '*', '?', ':', '"', '\\']);
    let short = match short.strip_suffix('!') {
        // A sign of its own counts as part of a password only behind a digit.
        Some(rest) if !rest.ends_with(|c: char| c.is_ascii_digit()) => rest,
        _ => short,
    };
    range.start..range.start + short.len()
}

/// Whether a text in quotes is a password of several words, rather than a label or a message.
pub(super) fn is_phrase(value: &str) -> bool {
    /// Words of labels and messages about passwords; those of languages are [`PASSWORDS`].
    const OF_MESSAGES: &[&str] = &[
        "the", "a", "an", "is", "are", "was", "be", "must", "has", "have", "should", "can",
        "cannot", "not", "no", "to", "of", "at", "in", "on", "for", "with", "and", "or", "your",
        "you", "it", "this", "that", "from", "by", "as", "if", "when", "least", "most", "minimum",
        "maximum", "min", "max", "characters", "chars", "letters", "digits", "long", "length",
        "field", "required", "optional", "invalid", "valid", "wrong", "incorrect", "enter",
        "forgot", "forgotten", "reset", "show", "hide", "change", "confirm", "new", "old",
        "current", "login", "log", "sign", "set", "use", "see", "get", "account", "user", "email",
        "please", "contains", "contain", "failed", "error", "missing", "empty", "hash", "hashed",
        "hidden", "string", "text", "value", "env", "der", "die", "das", "ist", "el", "la", "le",
        "les", "de", "del", "des", "du", "und", "mit", "pour", "para", "con",
    ];
    let words: Vec<&str> = value.split([' ', '\t', '\u{a0}']).collect();
    let lower = value.to_lowercase();
    let is_message = |word: &&str| OF_MESSAGES.contains(&word.trim_matches([',', '.', ':']));
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |word: &str| word.len() >= 3 && word.chars().all(char::is_lowercase);
    // `Gr4pe`: a digit before a letter.
    let is_mixed = |word: &str| {
        let digit = word.find(|c: char| c.is_ascii_digit());
        digit.is_some_and(|at| word[at..].contains(char::is_alphabetic))
    };
    if words.len() < 2
        || words.len() > 12
        || value.chars().count() > 100
        || words.iter().any(|word| word.is_empty() || word.chars().count() > 24)
        || value.contains(['=', '(', ')', '{', '}', '<', '>', '$', '/', '\\', '|', ':'])
        || value.ends_with(['.', '?', '…'])
        || value.ends_with(',')
        || lower.split([' ', '\t']).any(|word| is_message(&word))
        || names_a_secret(&lower)
        || PASSWORDS.iter().any(|word| lower.contains(word))
    {
        return false;
    }
    let is_plain = |word: &&str| is_word(word) || is_number(word);
    words.iter().any(|word| is_mixed(word)) || (words.len() >= 4 && words.iter().all(is_plain))
}

/// Whether a value has what passwords have.
fn is_likely(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    has(|c| c.is_ascii_digit()) || has(|c| "!@#$%^&*+~?".contains(c)) || is_passphrase(value)
}

/// `correct-horse-battery-staple`.
fn is_passphrase(value: &str) -> bool {
    let words: Vec<&str> = value.split(['-', '_', '.']).collect();
    words.len() >= 4
        && words.iter().all(|word| word.len() >= 4 && word.bytes().all(|b| b.is_ascii_alphabetic()))
}

fn is_password(text: &str, range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    is_likely(value)
        && value.chars().count() >= 5
        && !value.starts_with(['/', '~', '.', '$', '<', '{', '%', '#', '-', '@', '*'])
        && !value.contains("://")
        && !value.contains("::")
        && !value.contains("()")
        && !value.contains(['=', '\\'])
        && !is_number(value)
        && !is_placeholder(value)
        && !is_plain(value)
        && !is_test_password(value)
        && !names_a_secret(value)
        && !is_code(value)
}

/// The first name of a path, where that is a password.
fn in_path(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let (first, _) = text[range.clone()].split_once('/')?;
    let has = |is: fn(&u8) -> bool| first.bytes().any(|byte| is(&byte));
    let mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let first = range.start..range.start + first.len();
    (mixed && first.len() >= 8 && is_password(text, &first)).then_some(first)
}

/// Whether a value that only a word announces is a password all the same.
fn is_clear(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let (digit, letter) = (has(|c| c.is_ascii_digit()), has(|c| c.is_alphabetic()));
    let sign = has(|c| "!@#$%^&*+~".contains(c));
    let range = 0..value.len();
    value.len() >= 6
        && digit
        && letter
        && (sign || value.chars().all(|c| c.is_alphanumeric()))
        && !value.contains(['(', '/', '.', '_', ':'])
        && is_password(value, &range)
}

/// A date, a time, a version, a count, a length.
fn is_number(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let rest = value.len() - digits;
    (rest == 0 && digits < 6)
        || value.chars().all(|c| c.is_ascii_digit() || "-:.,/TZ%+x*~vV".contains(c)) && rest > 0
        || (digits <= 3
            && value
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .bytes()
                .all(|b| b.is_ascii_lowercase()))
}

/// A name from code: `user_id2`, `v2.password.md`, `src/a.rs:12`.
fn is_code(value: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && part.bytes().filter(u8::is_ascii_digit).count() <= 1
    };
    let parts = || value.split(['_', '.', '/', ':', '#']);
    parts().count() > 1 && parts().all(is_name) && !value.contains('#')
}

fn is_uuid(value: &str) -> bool {
    value.len() == 36 && value.bytes().filter(|byte| *byte == b'-').count() == 4
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, untouched};

    #[test]
    fn sentences_that_tell_a_password() {
        for (before, after) in [
            ("the password is ", ""),
            ("The password for the staging database is ", ", ok?"),
            ("Passwort: ", ""),
            ("Das Passwort lautet ", "."),
            ("пароль от базы: ", ""),
            ("密码是", "，别忘了"),
            ("パスワードは", "です"),
            ("비밀번호는 ", " 입니다"),
            ("la contraseña es ", ""),
            ("mot de passe : ", ""),
            ("a senha é ", ""),
            ("كلمة المرور: ", ""),
            ("पासवर्ड ", " है"),
            ("รหัสผ่าน ", ""),
            ("hasło to ", ""),
            ("şifre: ", ""),
            ("mật khẩu là ", ""),
            ("use password ", " for root"),
        ] {
            let text = format!("{before}Blau7Wal!kran{after}");
            let found = super::super::Redactor::new();
            let clean = found.redact(&text);
            assert!(!clean.contains("Wal!kran"), "{text}: {clean}");
            assert!(clean.ends_with(after), "{text}: {clean}");
        }
    }

    #[test]
    fn sentences_about_passwords() {
        for text in [
            "the password is required",
            "the password is at least 12 characters long",
            "password reset was deployed 2026-11-02",
            "The password field is in src/forms/login2.rs:12",
            "Passwort: erforderlich",
            "the token is accessToken2",
            "your password must be 8-64 characters",
            "password hashing is argon2id",
            "Das Passwort ist falsch.",
            "密码错误",
            "the api key is read from config.api_key2",
        ] {
            untouched(text);
        }
        check("the api key is q8w3e5r7t1y9u2", "the api key is [redacted:spoken-token]");
    }
}
