//! What a person or a program sees: text without control characters, JSON as one object, errors
//! with their cause and the next step.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::base::text;
use crate::error::Error;

/// Text that a terminal may be given: control characters are shown, not sent.
pub fn safe(value: &str) -> Cow<'_, str> {
    text::for_terminal(value)
}

/// Prints lines of data.
pub fn print(text: &str) {
    write(&safe(text));
}

/// Prints what a program reads, as it is.
pub fn print_raw(text: &str) {
    write(text);
}

/// How a piece of text is shown where colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Strong,
    Dim,
}

/// Prints pieces of data in their styles. Each piece is made safe before its style is added.
pub fn print_styled(pieces: &[(Style, String)]) {
    let colours = colours();
    let mut styled = String::new();
    for (style, piece) in pieces {
        let code = match style {
            Style::Strong if colours => "\x1b[1m",
            Style::Dim if colours => "\x1b[2m",
            _ => "",
        };
        styled.push_str(code);
        styled.push_str(&safe(piece));
        styled.push_str(if code.is_empty() { "" } else { "\x1b[0m" });
    }
    write(&styled);
}

/// Prints an object as JSON.
pub fn json(value: &impl Serialize) {
    let text =
        serde_json::to_string_pretty(value).expect("our own types can always be written as JSON");
    write(&escaped(&text));
    write("\n");
}

/// Prints an object as one line of JSON.
pub fn json_line(value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("our own types can always be written as JSON");
    write(&escaped(&text));
    write("\n");
}

/// JSON in which no letter turns the direction of text or hides: programs read the same from it.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_harmful = |letter: char| {
        let mut buffer = [0; 4];
        let text: &str = letter.encode_utf8(&mut buffer);
        !letter.is_ascii() && (text::is_invisible(letter) || text::printable(text) != text)
    };
    if json.is_ascii() || !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_harmful(letter) {
            let mut units = [0; 2];
            let units = letter.encode_utf16(&mut units);
            units.iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// An error as programs read it.
pub fn error_object(error: &Error) -> serde_json::Value {
    serde_json::json!({
        "error": {
            "what": error.what(),
            "because": error.causes().join("; "),
            "hint": error.next_step().unwrap_or_default(),
        }
    })
}

/// Prints an error: for a person in three parts, for a program as an object.
pub fn error(error: &Error, as_json: bool) {
    if as_json {
        json(&error_object(error));
    } else {
        eprintln!("error: {}", safe(&error.to_string()));
    }
}

/// So many of a thing, in words: `1 session`, `3 sessions`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// So many bytes, as people say it.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Whether colours may be used on stdout.
pub fn colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn write(text: &str) {
    let mut out = io::stdout().lock();
    // A reader that has seen enough (`| head`) is no failure.
    if let Err(err) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && err.kind() == io::ErrorKind::BrokenPipe
    {
        std::process::exit(0);
    }
}

/// A line that says what is being done, on a terminal only.
pub fn progress_line(is_hidden: bool) -> indicatif::ProgressBar {
    let bar = progress_bar(is_hidden);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// A bar that shows how many sessions are done, on a terminal only.
pub fn progress_bar(is_hidden: bool) -> indicatif::ProgressBar {
    use std::io::IsTerminal;
    if is_hidden || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(0);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} sessions") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_letter_that_nobody_sees() {
        for letter in ['\u{180e}', '\u{34f}', '\u{115f}', '\u{3164}', '\u{202e}', '\u{feff}'] {
            let json = format!("\"a{letter}b\"");
            assert_eq!(escaped(&json), format!("\"a\\u{:04x}b\"", u32::from(letter)));
        }
        assert_eq!(escaped("\"für 東京 🦀\""), "\"für 東京 🦀\"");
    }
}
