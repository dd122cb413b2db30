//! Errors: the one line of a failure that means something, and a fingerprint that sets two apart.
//!
//! The fingerprint forgets what differs from run to run (paths, numbers, ids, addresses), so the
//! same error met twice, or by two agents, is one error.

use crate::base::static_regex::StaticRegex;
use crate::base::text;

/// An error as it was printed, and what is the same each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLine {
    pub sample: String,
    pub fingerprint: String,
}

/// Finds the error in a failed call's output.
pub fn find(output: &str) -> Option<ErrorLine> {
    let line = meaningful_line(output)?;
    Some(ErrorLine { fingerprint: fingerprint(line), sample: text::one_line(line, 200) })
}

/// Whether a failed call is no failure, but the person's no.
pub fn is_refusal(output: &str) -> bool {
    const REFUSALS: &[&str] = &[
        "The user doesn't want to proceed",
        "The user doesn't want to take this action",
        "The user rejected",
        "User rejected",
        "User declined",
        "[Request interrupted by user",
    ];
    REFUSALS.iter().any(|refusal| output.trim_start().starts_with(refusal))
}

/// The line that says what went wrong, rather than where or that something did.
fn meaningful_line(output: &str) -> Option<&str> {
    static REASON: StaticRegex = StaticRegex::new(
        r"(?x)
            ^\s*(error(\[[A-Z]\d+\])?|fatal|panic|FAIL(ED|URE)?|E\s{2,}|npm\ ERR!|Exception|AssertionError)\b
          | ^\s*[A-Za-z_.]*(Error|Exception|Panic|Warning)\b\s*[:(\[]
          | \b(error|panicked\ at|cannot|not\ found|no\ such\ file|permission\ denied|refused|denied|timed\ out|undefined|unexpected|failed)\b
        ",
    );
    let worth = |line: &&str| {
        let line = line.trim();
        line.len() > 3
            && !line.starts_with("Traceback")
            && !line.starts_with("Exit code")
            && !line.starts_with("at ")
            && !line.starts_with("$ ")
            && !line.starts_with("> ")
            && line != "FAIL"
            && !is_stamped(line)
            && !is_numbered(line)
    };
    let says_why = |line: &&str| REASON.is_match(line);
    // Python names its exception last, everyone else first.
    if output.contains("Traceback (most recent call last)") {
        let last = output
            .lines()
            .rev()
            .filter(worth)
            .find(|line| says_why(line) && !line.starts_with(' '));
        if last.is_some() {
            return last;
        }
    }
    output.lines().filter(worth).find(says_why).or_else(|| output.lines().find(worth))
}

/// Whether a line comes from a numbered dump of a file (`  12→…`), which is no error.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len()
        && (rest.starts_with('→') || rest.starts_with('\t') || rest.starts_with(": "))
}

/// Whether a line is a program's own log line (`[10:28:56.838] …`), which runs that pass print as
/// well.
fn is_stamped(line: &str) -> bool {
    let mut letters = line.bytes();
    letters.next() == Some(b'[')
        && letters.next().is_some_and(|b| b.is_ascii_digit())
        && line.contains(':')
}

/// What is the same each time that an error is printed.
pub fn fingerprint(line: &str) -> String {
    static VARIES: StaticRegex = StaticRegex::new(
        r#"(?x)
            [0-9a-fA-F]{8}-[0-9a-fA-F-]{27} | 0x[0-9a-fA-F]+ | \b[0-9a-f]{7,64}\b
          | (?:[A-Za-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]+ (?: :\d+)* | \d+
        "#,
    );
    let flat = VARIES.replace_all(line.trim(), "_").to_lowercase();
    text::one_line(&flat, 160)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, sample: &str) {
        assert_eq!(find(output).map(|error| error.sample).as_deref(), Some(sample));
    }

    #[test]
    fn the_meaningful_line_is_found() {
        check(
            "   Compiling a v0.1.0\nerror[E0599]: no method named `lock` found\n --> src/a.rs:3",
            "error[E0599]: no method named `lock` found",
        );
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 3\n    x()\nKeyError: 'day'\n",
            "KeyError: 'day'",
        );
        check(
            "Exit code 1\ncat: x: No such file or directory",
            "cat: x: No such file or directory",
        );
        check(
            "<tool_use_error>File has not been read yet</tool_use_error>",
            "<tool_use_error>File has not been read yet</tool_use_error>",
        );
        assert_eq!(find(""), None);
    }

    #[test]
    fn the_same_error_has_the_same_fingerprint() {
        let one = find("error: /home/a/x.rs:12: lock held by pid 4211 at 0x7ffe12").unwrap();
        let two = find("error: /tmp/b/y/x.rs:99: lock held by pid 17 at 0x11aa").unwrap();
        assert_eq!(one.fingerprint, two.fingerprint);
    }
}
