//! Errors: the line of a failure that means something, and a fingerprint that sets two apart.
//!
//! They stand in three places: in what a person pastes, in what calls print that did not fail (a
//! pipe hides the exit code, a hook speaks up), and in failed calls. The fingerprint forgets what
//! differs from run to run (paths, numbers, ids, addresses), so the same error met twice, or by two
//! agents, is one error.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::steps::ToolCall;
use crate::model::session::Action;

/// An error as it was printed, and what is the same each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLine {
    pub sample: String,
    pub fingerprint: String,
    pub met: Met,
}

/// Where an error was met, what matters most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Met {
    /// The person pasted it.
    Pasted,
    /// A call failed with it.
    Failed,
    /// A call printed it and did not fail.
    Printed,
}

/// How long a line may be that is an error rather than a dump.
const LONGEST_LINE: usize = 600;
/// How many errors one call or one prompt may name.
const MOST_OF_A_CALL: usize = 2;
/// How many lines of a prompt are looked at.
const MOST_LINES: usize = 400;

/// Finds the error in a failed call's output.
pub fn find(output: &str) -> Option<ErrorLine> {
    in_failure(output).into_iter().next()
}

/// The errors that a failed call names: those that say why first, or else its first line.
pub fn in_failure(output: &str) -> Vec<ErrorLine> {
    let lines = || output.lines().map(str::trim_end).filter(|line| is_worth(line));
    if let Some(npm) = of_npm(output) {
        return vec![error_line(&npm, Met::Failed)];
    }
    // Python names its exception last, everyone else first.
    if output.contains("Traceback (most recent call last)")
        && let Some(last) =
            lines().rev().find(|line| !line.starts_with(' ') && (is_strong(line) || says_why(line)))
    {
        return vec![error_line(last, Met::Failed)];
    }
    let mut strong: Vec<&str> =
        lines().filter(|line| is_strong(line) || is_failed_hook(line)).take(12).collect();
    strong.retain(|line| !is_provoked(output, line));
    // What only says that something failed comes last; what an error is, before where it was.
    strong.sort_by_key(|line| (is_general(line), !begins_with_error(line)));
    let chosen = if strong.is_empty() {
        let few = output.lines().count() <= 3;
        let first = || lines().next().filter(|line| few && line.split_whitespace().count() >= 3);
        let mut why = lines().filter(|line| says_why(line)).take(12);
        why.find(|line| !is_provoked(output, line)).or_else(first).into_iter().collect()
    } else {
        strong
    };
    let mut found: Vec<ErrorLine> = Vec::new();
    for line in chosen {
        let error = error_line(line, Met::Failed);
        let more = found.is_empty() || (found.len() < MOST_OF_A_CALL && !is_general(line));
        if more && !found.iter().any(|known| known.fingerprint == error.fingerprint) {
            found.push(error);
        }
    }
    found
}

/// The error that a call printed although it did not fail: `cargo build | tail` hides the exit
/// code. What a file or a log says is no error of this session.
pub fn in_success(command: &str, output: &str) -> Option<ErrorLine> {
    static SHOWS: StaticRegex = StaticRegex::new(
        r"^(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:rtk\s+)?(?:cat|sed|rg|grep|git\s+(?:log|show|diff|grep|status|branch|blame|ls-files)|head|tail|ls|find|nl|jq|wc|awk|echo|printf|tree|less|gh\s+(?:pr\s+(?:view|diff|list)|api|issue|run\s+list)|man)\b",
    );
    if !has_error_word(output) || SHOWS.is_match(command.trim_start()) {
        return None;
    }
    if let Some(npm) = of_npm(output) {
        return Some(error_line(&npm, Met::Printed));
    }
    let lines = output.lines().rev().take(200).map(str::trim_end);
    let line = lines
        .filter(|line| is_worth(line) && begins_with_error(line) && !is_general(line))
        .filter(|line| !line.contains("passed"))
        .last()?;
    Some(error_line(line, Met::Printed))
}

/// The errors that a person pasted: the last exception of a traceback, lines that begin with one.
pub fn in_prompt(prompt: &str) -> Vec<ErrorLine> {
    static PASTED: StaticRegex = StaticRegex::new(
        r"(?x)^\W{0,6}(?:E\s{2,})?(?:npm\s(?:error|ERR!)|(?i:error|fatal)(?:\[\w+\])?:|[\w.]*(?:Error|Exception)(?:\s\[\w+\])?:\s|FAIL(?:ED)?\b|Denied\b|CONFLICT\b|panic:)
              | \[[A-Z\ ]*ERROR\] | \berror\ TS\d | :\ (?:error|command\ not\ found) | \bis\ not\ valid\ JSON | \bhook\ errored\b | \b(?:ERR|E)_[A-Z]{3,}",
    );
    static CODE: StaticRegex = StaticRegex::new(
        r"[;{]\s*$|^\s*(?:throw|raise|if|return|const|let|except|catch|//|#)\b|^\s*\w+ = ",
    );
    if !has_error_word(prompt) {
        return Vec::new();
    }
    let mut found: Vec<ErrorLine> = Vec::new();
    for line in prompt.lines().take(MOST_LINES).flat_map(|line| line.split(['┃', '│'])) {
        let line = line.trim_matches([' ', '\t', '-', '•', '└', '├', '>', '╰', '─', '❯']);
        let is_error = (12..=LONGEST_LINE).contains(&line.len())
            && PASTED.is_match(line)
            && !CODE.is_match(line)
            && !is_general(line);
        if is_error {
            let error = error_line(line, Met::Pasted);
            found.retain(|known| known.fingerprint != error.fingerprint);
            found.push(error);
        }
    }
    // Where many are pasted, how it begins and how it ends.
    if found.len() > MOST_OF_A_CALL {
        let last = found.pop();
        found.truncate(MOST_OF_A_CALL - 1);
        found.extend(last);
    }
    found
}

/// Whether a failed call is an error of the work, rather than a search that found nothing or an
/// edit that missed its place.
pub fn matters(call: &ToolCall) -> bool {
    static LOOKS: StaticRegex = StaticRegex::new(
        r"^(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:rtk\s+)?(?:rg|grep|test|which|ls|\[|find|diff|command\s+-v|pgrep|cat|sed|head|tail)\s",
    );
    match &call.action {
        Action::Shell { command } => !LOOKS.is_match(command.trim_start()),
        Action::Read { .. } | Action::Search { .. } | Action::Edit { .. } | Action::Plan { .. } => {
            false
        }
        Action::Delegate { .. } | Action::Ask { .. } | Action::Commit { .. } => false,
        Action::Other { .. } => true,
    }
}

fn error_line(line: &str, met: Met) -> ErrorLine {
    static PYTEST: StaticRegex = StaticRegex::new(r"^E\s{2,}");
    let line = without_colours(line);
    let line = PYTEST.replace(&line, "");
    let line = without_wrapper(&line);
    ErrorLine { fingerprint: fingerprint(line), sample: text::one_line(line, 200), met }
}

/// What a program said, without what Codex says of every command that fails in its sandbox.
pub fn without_wrapper(line: &str) -> &str {
    static WRAPPER: StaticRegex = StaticRegex::new(
        r"(?i)^failed in sandbox \w+ with execution error: (?:sandbox denied exec error, exit code: \S+, stdout: .*?, stderr: )?(?:bash: (?:line \S+ )?)?",
    );
    let end = WRAPPER.find(line).map_or(0, |found| found.end());
    // Where nothing but the wrapper stands in the line, that is what there is.
    if line[end..].trim().is_empty() { line } else { &line[end..] }
}

/// A line without the colours of a terminal.
fn without_colours(line: &str) -> String {
    static COLOUR: StaticRegex = StaticRegex::new(
        r"(?:\x1b|␛)(?:\[[0-9;?]*[a-zA-Z]|\]8;;[^\x07\x1b␛\\]*(?:\x07|\x1b\\|␛\\)?)|</?tool_use_error>|[━─═]{3,}",
    );
    COLOUR.replace_all(line, "").trim().to_string()
}

/// What npm says went wrong: its code and its reason, which stand on lines of their own.
fn of_npm(output: &str) -> Option<String> {
    if !output.contains("npm err") && !output.contains("npm ERR!") {
        return None;
    }
    let mut reasons: Vec<&str> = Vec::new();
    for line in output.lines() {
        let line = line.trim();
        let Some(said) =
            line.strip_prefix("npm error").or_else(|| line.strip_prefix("npm ERR!")).map(str::trim)
        else {
            continue;
        };
        let aside = said.is_empty()
            || ["A complete log", "/", "path ", "workspace ", "location ", "in workspace", "at "]
                .iter()
                .any(|aside| said.starts_with(aside))
            || said.contains("_logs");
        if !aside && !reasons.contains(&said) {
            reasons.push(said);
        }
        if reasons.len() == 3 {
            break;
        }
    }
    // A script that failed says that it did; why stands above.
    let says_nothing = |said: &&str| {
        ["Lifecycle script", "ELIFECYCLE", "command failed"]
            .iter()
            .any(|empty| said.contains(empty))
    };
    (!reasons.is_empty() && !reasons.iter().any(says_nothing))
        .then(|| format!("npm error {}", reasons.join(" ")))
}

/// A quick look, before lines are read one by one.
fn has_error_word(value: &str) -> bool {
    [
        "rror", "RROR", "fatal", "FAIL", "xception", "CONFLICT", "panic", "Denied", "ERR_",
        "not found", "not valid",
    ]
    .iter()
    .any(|word| value.contains(word))
}

/// Whether a line may be an error at all, rather than where it was or that something ran.
fn is_worth(line: &str) -> bool {
    static ASIDE: StaticRegex = StaticRegex::new(
        r"(?ix)^\s*(?: exit\ code | traceback | at\ | \$\ | >\  | usage: | for\ more\ information | hint: | \d+\ (?:pass|errors?\b|warnings?\b|problems?\b) | \(pass\) | [✓✔√] | [-+]\s | ok\b | warning:\ lf | note: | current\ command: | output: | --- | === )
          | \b0\ (?:fail|errors?\b) | husky\ - ",
    );
    // Code that may fail, a line of a list of commits, the head of a table.
    static SHOWN: StaticRegex = StaticRegex::new(
        r"\w\.Errorf?\(|^\s*\d+\s*[|│┃]|^\*\s@\w|^[0-9a-f]{7,40} |^PID\b|^(?i:error|errors|\(none\))$",
    );
    let start = line.trim();
    start.len() > 3
        && line.len() <= LONGEST_LINE
        && start != "FAIL"
        && !ASIDE.is_match(line)
        && !SHOWN.is_match(start)
        && !start.starts_with(['{', '[', '"'])
        && (!start.ends_with(':') || start.contains("panicked at"))
        && !start.contains("Warning")
        && !is_stamped(start)
        && !is_numbered(start)
}

/// Whether a line begins as errors do: `error[E0599]: …`, `KeyError: …`, `src/a.ts(3,5): error …`.
fn begins_with_error(line: &str) -> bool {
    static BEGINS: StaticRegex = StaticRegex::new(
        r"(?x)^\s*(?:\W{1,4})?(?: (?i:error|fatal|panic)(?:\[\w+\])?[:\s(] | E\s{2,} | [\w.]*(?:Error|Exception|Panic)\b\s*[:(\[]
              | CONFLICT\b | \w*ERR_[A-Z_]+ | \S+\.\w{1,5}[:(]\d+[^\s]*\s+(?:-\s+)?(?i:error|fatal)\b | \w[\w.-]{1,30}:\ (?:error|fatal|cannot|command\ not\ found)\b )",
    );
    BEGINS.is_match(line)
}

/// Whether a line says what went wrong by its form.
fn is_strong(line: &str) -> bool {
    static STRONG: StaticRegex = StaticRegex::new(
        r"(?x)^\s*(?:✖|✗|✘|❌|⚠|FAIL(?:ED|URE)?\b|npm\ ERR!|AssertionError|panicked|thread\ .{1,60}\ panicked)
              | ^\s*\S+\.\w{1,5}[:(]\d+\S*\s.*(?:\b(?i:error|undefined|cannot|unused|expected|undeclared|missing)\b|\(\w+\)\s*$)
              | \blint/\w+/\w+ | \bERR_[A-Z]",
    );
    begins_with_error(line) || STRONG.is_match(line)
}

/// Whether a test makes an error on purpose: the source that its runner shows with it builds the
/// error as a value, and throws nothing.
fn is_provoked(output: &str, line: &str) -> bool {
    // `186 |     submitJobError: new Error("Job queue is full"),`
    static SOURCE: StaticRegex = StaticRegex::new(r"^\s*>?\s*\d+\s*[|│┃]");
    static THROWS: StaticRegex = StaticRegex::new(r"\b(?:throw|raise|panic|bail|abort|exit)\b");
    let said = line.split_once(": ").map_or(line, |(_, said)| said).trim();
    said.len() >= 8
        && output.contains(said)
        && output.lines().any(|source| {
            let quotes = |at: usize| source[..at].ends_with(['"', '\'', '`']);
            source.find(said).is_some_and(quotes)
                && SOURCE.is_match(source)
                && !THROWS.is_match(source)
        })
}

/// Whether a line is a hook's verdict: `Lint.............Failed`.
fn is_failed_hook(line: &str) -> bool {
    line.contains("....") && line.trim_end().ends_with("Failed")
}

/// Whether a line says only that something failed.
pub fn is_general(line: &str) -> bool {
    static GENERAL: StaticRegex = StaticRegex::new(
        r"(?i)task failed|lifecycle script|\[setup failed\]|RECURSIVE_RUN_FIRST_FAIL|^\W*FAIL(?:ED)?\W*$|command aborted|exited with (?:code|status)|exit(?:ed)? code \d|failed to push some refs|sibling tool call|has not been read|string to replace|found \d+ matches|^\W*(?:error:? )?command failed|process completed|aborted by user|non-zero|^error: (?:recipe|task)|make(?:\[\d\])?: \*\*\*|ELIFECYCLE|script .{1,40} exited|could not compile|aborting due to|build failed$|due to \d+ previous|some checks were not successful|sibling tool|unknown skill|^\W*\d+ fail|^error: (?:all|item|test|this) \w* ?fail|already stopped|^error: test failed, to rerun",
    );
    GENERAL.is_match(line)
}

/// Whether a line has a word of failure somewhere.
fn says_why(line: &str) -> bool {
    static REASON: StaticRegex = StaticRegex::new(
        r"(?i)\b(error|panicked at|cannot|can't|could not|not found|no such file|permission denied|refused|denied|timed out|undefined|unexpected|failed|invalid|missing|conflict|unknown|already exists|unable to|not staged)\b",
    );
    REASON.is_match(line)
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

/// A line without the mark that pytest puts before the lines of an error.
pub fn without_mark(line: &str) -> &str {
    let line = line.trim();
    let rest = line.strip_prefix("E ").or_else(|| line.strip_prefix("e "));
    rest.map_or(line, str::trim_start)
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
    use crate::model::session::Actor;

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
            "File has not been read yet",
        );
        assert_eq!(find(""), None);
        check(
            "    def test_tide():\nE       KeyError: 'moon'\n\ntide.py:3: KeyError",
            "KeyError: 'moon'",
        );
        check(
            "error: expect(received).toBe(expected)\nExpected: 3",
            "error: expect(received).toBe(expected)",
        );
        for none in [
            "log.Error(\"the tide is not known here\")",
            "  21 │ * @throws Error where no tide is known",
            "1a2b3c4d Fix the missing tide of the error page",
            "PID PPID ELAPSED CMD of what failed",
            "Error",
            "(none)",
        ] {
            assert_eq!(find(none), None, "{none}");
        }
    }

    #[test]
    fn an_error_that_a_test_makes_on_purpose_is_none() {
        let shown = |source: &str| {
            format!(
                "{source}\n          ^\nerror: The berth queue is full\n      at <anonymous> (pier.test.ts:186:25)\n"
            )
        };
        let built = shown("186 |     berthError: new Error(\"The berth queue is full\"),");
        assert_eq!(find(&built), None);
        let other = format!("{built}error: no berth is left\n");
        check(&other, "error: no berth is left");
        check(
            &shown("12 |     throw new Error(\"The berth queue is full\");"),
            "error: The berth queue is full",
        );
    }

    #[test]
    fn what_codex_says_of_every_command_is_left_out() {
        let wrapped = "failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 127, stdout: , stderr: bash: line 1: tide: command not found";
        check(wrapped, "tide: command not found");
        check(
            "failed in sandbox None with execution error: command timed out",
            "command timed out",
        );
        let stored = "failed in sandbox linuxseccomp with execution error: sandbox denied exec error, exit code: _, stdout: , stderr: bash: line _: tide: command not found";
        assert_eq!(without_wrapper(stored), "tide: command not found");
    }

    #[test]
    fn a_failure_is_told_by_what_it_is_not_by_that_it_was() {
        check(
            "src/a.ts(3,5): error TS2305: no exported member 'Day'\nnpm error Lifecycle script `check` failed with error:",
            "src/a.ts(3,5): error TS2305: no exported member 'Day'",
        );
        check(
            "npm error code E404\nnpm error 404 No match found for version 9.9.9\nnpm error A complete log of this run",
            "npm error code E404 404 No match found for version 9.9.9",
        );
        check(
            "Format...........Passed\nLint.............Failed\n- hook id: lint",
            "Lint.............Failed",
        );
        check("\u{1b}[31merror\u{1b}[0m: no lock", "error: no lock");
        check(
            "make: *** [all] Error 2\ncc: fatal error: no input files",
            "cc: fatal error: no input files",
        );
    }

    #[test]
    fn pasted_errors_are_found_and_prose_about_errors_is_not() {
        let of = |prompt: &str| -> Vec<String> {
            in_prompt(prompt).into_iter().map(|error| error.sample).collect()
        };
        assert_eq!(
            of(
                "i get this:\n$ git push\nerror: No `hook.toml` found in the current directory\nwhat is it?"
            ),
            ["error: No `hook.toml` found in the current directory"]
        );
        assert_eq!(
            of(
                "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'day is missing'"
            ),
            ["KeyError: 'day is missing'"]
        );
        for prose in [
            "why does the error page look so odd? it is an error to show it",
            "add error handling to the parser, please",
            "throw new Error('no lock here at all');",
            "Error handling: should we retry?",
        ] {
            assert_eq!(of(prose), Vec::<String>::new(), "{prose}");
        }
    }

    #[test]
    fn a_call_that_worked_may_print_an_error() {
        let of = |command, output| in_success(command, output).map(|error| error.sample);
        assert_eq!(
            of("pnpm typecheck | tail -3", "ERR_PNPM_NO_SCRIPT  None of the packages has it"),
            Some("ERR_PNPM_NO_SCRIPT None of the packages has it".into())
        );
        assert_eq!(of("cat build.log", "error: no lock"), None);
        assert_eq!(of("git log --oneline", "1a2b3c4 error: say so"), None);
        assert_eq!(of("cargo build", "   Compiling error_page v0.1.0\n    Finished"), None);
    }

    #[test]
    fn what_finds_nothing_or_misses_its_place_is_no_error() {
        let call = |action: Action| ToolCall {
            id: String::new(),
            tool: "x".into(),
            action,
            by: Actor::Agent,
            answer: None,
        };
        let shell = |command: &str| call(Action::Shell { command: command.into() });
        assert!(!matters(&shell("rg -n lock src")));
        assert!(!matters(&shell("cd a && grep lock b.rs")));
        assert!(!matters(&call(Action::Read { path: "a.rs".into() })));
        assert!(matters(&shell("cargo test")));
        assert!(matters(&shell("git push")));
    }

    #[test]
    fn the_same_error_has_the_same_fingerprint() {
        let one = find("error: /home/a/x.rs:12: lock held by pid 4211 at 0x7ffe12").unwrap();
        let two = find("error: /tmp/b/y/x.rs:99: lock held by pid 17 at 0x11aa").unwrap();
        assert_eq!(one.fingerprint, two.fingerprint);
    }
}
