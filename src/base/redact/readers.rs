//! A reader is a kind of secret that takes more than a pattern: it is called where one of its
//! anchors stands, and says where the secrets are.

use std::ops::Range;
use std::sync::LazyLock;

use super::views::percent_decoded;
use super::{Redactor, command_lines, numbers, phrases, spoken};

/// One kind of secret that is read rather than matched.
pub struct Reader {
    /// The name that stands in place of the secret.
    pub name: &'static str,
    /// Where it is called, in any case.
    pub anchors: &'static [&'static str],
    /// A text with a secret of this kind, in parts.
    pub example: &'static [&'static str],
    pub(super) read: Read,
}

/// Is given a text, where the anchor stands, and what takes the places of secrets.
type Read = fn(&str, usize, &mut dyn FnMut(Range<usize>));

/// The readers, after all rules.
pub const READERS: &[Reader] = &[
    Reader {
        name: "command-password",
        anchors: command_lines::ANCHORS,
        example: &["sshpass -p ", "Blau7Wal!kran", " ssh host"],
        read: command_lines::read,
    },
    Reader {
        name: "piped-password",
        anchors: command_lines::PIPE_ANCHORS,
        example: &["echo ", "Blau7Wal!kran", " | sudo -S ls"],
        read: command_lines::read_piped,
    },
    Reader {
        name: "spoken-password",
        anchors: spoken::PASSWORDS,
        example: &["the password is ", "Blau7Wal!kran"],
        read: spoken::read_password,
    },
    Reader {
        name: "spoken-token",
        anchors: spoken::TOKENS,
        example: &["the api key is ", "q8w3e5r7t1y9u2"],
        read: spoken::read_token,
    },
    Reader {
        name: "seed-phrase",
        anchors: phrases::ANCHORS,
        example: &[
            "seed: lamp orbit velvet canyon brisk melody ",
            "harbor cactus fossil jungle mirror tunnel",
        ],
        read: phrases::read,
    },
    Reader {
        name: "iban",
        anchors: &["iban"],
        example: &["IBAN DE89 3704 0044 ", "0532 0130 00"],
        read: numbers::read_iban,
    },
    Reader {
        name: "percent-encoded",
        anchors: PERCENT,
        example: &["next=ghp%5F", "16C7e42F292c6912E7710c838347Ae178B4a"],
        read: read_percent,
    },
];

/// The signs of which a token or an assignment has some.
const PERCENT: &[&str] = &["%5f", "%2d", "%3d", "%3a", "%2e", "%22"];

/// Finds a secret in a run that has percent signs, and takes the whole run for it.
fn read_percent(text: &str, start: usize, found: &mut dyn FnMut(Range<usize>)) {
    let is_run = |byte: &u8| byte.is_ascii_alphanumeric() || b"%._~+-*!".contains(byte);
    let bytes = text.as_bytes();
    let before = bytes[..start].iter().rev().take(400).take_while(|byte| is_run(byte)).count();
    let after = bytes[start..].iter().take(800).take_while(|byte| is_run(byte)).count();
    let run = start - before..start + after;
    // The first of its signs stands for them all.
    let earlier = text.get(run.start..start).map(str::to_ascii_lowercase).unwrap_or_default();
    if PERCENT.iter().any(|sign| earlier.contains(sign)) || !text.is_char_boundary(run.end) {
        return;
    }
    static DECODED: LazyLock<Redactor> = LazyLock::new(Redactor::new);
    let run_text = &text[run.clone()];
    let Some(decoded) = percent_decoded(run_text) else { return };
    let has_secret = DECODED.has_token(&decoded) && !DECODED.has_token(run_text);
    if has_secret {
        found(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_finds_its_example() {
        let redactor = Redactor::new();
        for reader in READERS {
            let example = reader.example.concat();
            for text in
                [example.clone(), format!("first\n{example}\nlast"), format!("日本語 {example}")]
            {
                let found = redactor.find(&text);
                let names: Vec<_> = found.iter().map(|(.., name)| *name).collect();
                assert_eq!(names, [reader.name], "in {text:?}: {found:?}");
                let clean = redactor.redact(&text).into_owned();
                assert_eq!(redactor.redact(&clean), clean, "twice");
            }
            assert!(reader.anchors.iter().all(|anchor| anchor.len() >= 3), "{}", reader.name);
        }
    }
}
