//! Test runs: what a test runner's output says. "0 failed" is a pass, and a run that was
//! interrupted or never began says nothing.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::commands::{self, is_test_command};
use crate::distill::errors;
use crate::distill::steps::ToolCall;
use crate::model::session::Action;

/// What a test run said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub passed: bool,
    /// The line that says so, such as `12 passed; 0 failed`.
    pub summary: String,
}

/// The verdict of a test run; `None` where the call was not one, or says nothing.
pub fn verdict(call: &ToolCall) -> Option<Verdict> {
    let Action::Shell { command } = &call.action else { return None };
    let answer = call.answer.as_ref()?;
    if answer.exit_code.is_some_and(is_interruption) {
        return None;
    }
    if !is_test_command(command) {
        // The hooks of a commit may run the tests; only their tally says so.
        let hook = command.contains("git commit") || command.contains("git push");
        return hook
            .then(|| summary_of(&answer.text))
            .flatten()
            .filter(|verdict| has_count(&verdict.summary));
    }
    match (summary_of(&answer.text), call.failed()) {
        // A pipe such as `cargo test | tail` hides that a command failed, but never that it passed.
        (Some(verdict), failed) => Some(Verdict { passed: verdict.passed && !failed, ..verdict }),
        (None, true) if never_ran(&answer.text) => None,
        (None, true) => Some(Verdict { passed: false, summary: String::new() }),
        (None, false) if found_no_tests(&answer.text) => None,
        // Behind a pipe nothing but the runner's own words tells how it ended.
        (None, false) if commands::hides_end(command) => errors::in_success(command, &answer.text)
            .map(|_| Verdict { passed: false, summary: String::new() }),
        (None, false) if answer.text.trim().is_empty() || answer.exit_code == Some(0) => {
            Some(Verdict { passed: true, summary: String::new() })
        }
        (None, false) => None,
    }
}

/// Whether a runner says that there was nothing to run: that proves nothing.
fn found_no_tests(output: &str) -> bool {
    static NONE: StaticRegex =
        StaticRegex::new(r"(?i)\bno tests? (?:found|were found|files? found|ran|to run)\b");
    NONE.is_match(output)
}

fn has_count(summary: &str) -> bool {
    summary.bytes().any(|byte| byte.is_ascii_digit()) && summary.contains("pass")
}

/// Whether an exit code says that the command was stopped rather than that it failed.
fn is_interruption(code: i32) -> bool {
    matches!(code, 124 | 130 | 137 | 143)
}

/// Whether a runner says that it could not even start: that is a problem of the machine, not of
/// the code.
fn never_ran(output: &str) -> bool {
    static NO_START: StaticRegex = StaticRegex::new(
        r"(?i)command not found|unsupported[ _](engine|environment)|missing script|no module named .?(pytest|unittest|tox)|is not recognized as|cannot find module 'node:|could not find .?cargo\.toml|no test specified|no such file or directory|permission denied",
    );
    output.lines().count() <= 24 && NO_START.is_match(output)
}

/// What a runner's output says as a whole: by its counts where it has any, else by its words.
fn summary_of(output: &str) -> Option<Verdict> {
    static COUNT: StaticRegex = StaticRegex::new(
        r"(?ix)\b(\d+)\s+(?:tests?\s+|examples?,?\s+|suites?\s+)?(pass(?:ed|ing|es)?|fail(?:ed|ing|ures?|s)?|errors?|broken)\b
              | \b(pass(?:ed)?|fail(?:ed|ures?)?|errors?)\b\s*[:=]?\s+(\d+)\b | \b(failures|errors)=(\d+)",
    );
    let mut counted: Option<Verdict> = None;
    let mut worded: Option<Verdict> = None;
    let mut last_count = 0;
    for (at, line) in output.lines().enumerate() {
        let line = line.trim();
        if line.len() < 200 && line.bytes().any(|byte| byte.is_ascii_digit()) && is_tally(line) {
            let (mut any, mut failures) = (false, 0u64);
            for found in COUNT.captures_iter(line) {
                let group = |at: usize| found.get(at).map(|part| part.as_str());
                let (count, word) = match (group(1), group(4)) {
                    (Some(count), _) => (count, group(2)),
                    (_, Some(count)) => (count, group(3)),
                    _ => (group(6).unwrap_or_default(), group(5)),
                };
                any = true;
                if !word.is_some_and(|word| word.to_ascii_lowercase().starts_with("pass")) {
                    failures += count.parse::<u64>().unwrap_or(0);
                }
            }
            if any {
                let passed = failures == 0;
                counted = Some(match counted {
                    // Runners print one line per file or crate: one failure among them is a
                    // failure.
                    Some(before) if passed && !before.passed && at > last_count + 1 => before,
                    // Some runners count on lines of their own: ` 12 pass` and ` 0 fail`.
                    Some(before)
                        if at == last_count + 1 && before.summary.len() < 60 && line.len() < 24 =>
                    {
                        let summary = format!("{}, {line}", before.summary);
                        Verdict { passed: passed && before.passed, summary }
                    }
                    _ => Verdict { passed, summary: tally(line) },
                });
                last_count = at;
                continue;
            }
        }
        let fail = line == "FAIL"
            || ["FAIL\t", "FAIL ", "--- FAIL", "FAILED"].iter().any(|mark| line.starts_with(mark));
        let pass = line == "PASS"
            || line == "OK"
            || line.starts_with("OK (")
            || line.starts_with("ok  \t");
        let failed_before = worded.as_ref().is_some_and(|before: &Verdict| !before.passed);
        if fail || (pass && !failed_before) {
            worded = Some(Verdict { passed: pass, summary: text::one_line(line, 100) });
        }
    }
    counted.or(worded)
}

/// A tally without what says nothing: `test result: ok. 5 passed; 0 failed; 0 ignored; …` is `5
/// passed; 0 failed`.
fn tally(line: &str) -> String {
    let counts = line
        .strip_prefix("test result: ")
        .and_then(|rest| Some(rest.split_once(". ")?.1))
        .unwrap_or(line);
    let end = counts.match_indices("; ").nth(1).map_or(counts.len(), |(at, _)| at);
    text::one_line(counts[..end].trim_matches(['=', ' ']), 100)
}

/// Whether a line is a runner's tally rather than a program's own output that happens to count
/// something: next to its numbers it has hardly a word that runners do not use.
fn is_tally(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "test", "tests", "passed", "passing", "pass", "passes", "failed", "failing", "fail",
        "fails", "failure", "failures", "error", "errors", "broken", "skipped", "skip", "ignored",
        "pending", "todo", "total", "result", "ok", "in", "files", "file", "suites", "suite",
        "measured", "filtered", "out", "finished", "run", "ran", "summary", "examples", "example",
        "all", "warnings", "warning", "xfailed", "xpassed", "deselected", "of", "assertions",
        "time", "elapsed", "duration", "snapshots", "flaky", "slow", "and", "s", "ms", "m",
    ];
    let letters = |c: char| !c.is_alphabetic();
    let lower = line.to_ascii_lowercase();
    let foreign =
        lower.split(letters).filter(|word| !word.is_empty() && !WORDS.contains(word)).count();
    // A line that counts both kinds may name what was tested.
    let both = lower.contains("pass") && lower.contains("fail");
    foreign <= if both { 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::steps;
    use crate::model::evidence::FileState;
    use crate::model::session::Actor;

    fn run(command: &str, output: &str, exit_code: Option<i32>) -> Option<bool> {
        verdict(&ToolCall {
            id: String::new(),
            tool: "Bash".into(),
            action: Action::Shell { command: command.into() },
            by: Actor::Agent,
            answer: Some(steps::Outcome {
                text: output.into(),
                bytes: output.len(),
                failed: exit_code.is_some_and(|code| code != 0),
                exit_code,
                images: 0,
                state: FileState::Unknown,
            }),
        })
        .map(|verdict| verdict.passed)
    }

    #[test]
    fn verdicts_are_read_from_what_runners_print() {
        assert_eq!(
            run("cargo test", "test result: ok. 12 passed; 0 failed; 0 ignored", None),
            Some(true)
        );
        assert_eq!(
            run("cargo test 2>&1 | tail", "test result: FAILED. 11 passed; 1 failed", Some(0)),
            Some(false)
        );
        assert_eq!(run("pytest -q", "3 failed, 12 passed in 2.1s", Some(1)), Some(false));
        assert_eq!(run("pytest -q", "12 passed in 2.1s", None), Some(true));
        assert_eq!(run("npm test", " Tests  1 failed | 4 passed (5)", Some(1)), Some(false));
        assert_eq!(
            run("npx vitest run", " Test Files  2 passed (2)\n      Tests  9 passed (9)", None),
            Some(true)
        );
        assert_eq!(
            run("go test ./...", "ok  \tpkg/a\t0.2s\nFAIL\tpkg/b\t0.1s\nFAIL", Some(1)),
            Some(false)
        );
        assert_eq!(run("go test ./...", "ok  \tpkg/a\t0.2s", None), Some(true));
        assert_eq!(run("cargo test", "error: could not compile", Some(101)), Some(false));
        assert_eq!(run("cargo test -q", "", Some(0)), Some(true));
        assert_eq!(run("git commit -m 'make cargo test pass'", "[main 1a2b3c4] x", None), None);
        assert_eq!(run("ls tests", "a\nb", None), None);
        assert_eq!(
            run(
                "bun run test",
                "Task 2 failed: 101 | });\n 1216 pass\n 0 fail\nRan 1216 tests",
                None
            ),
            Some(true)
        );
        assert_eq!(
            run("bun test src/ | tail -5", " 1365 pass\n 228 fail\n 228 errors", None),
            Some(false)
        );
        assert_eq!(run("pnpm -C packages/cli test", "# pass 4\n# fail 0", Some(0)), Some(true));
        assert_eq!(
            run("mvn -q test", "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", Some(1)),
            Some(false)
        );
        assert_eq!(
            run("python -m unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1)", Some(1)),
            Some(false)
        );
        assert_eq!(run("python3 -m unittest", "Ran 3 tests in 0.1s\n\nOK", None), Some(true));
        // The first crate passes, the second does not compile.
        assert_eq!(
            run(
                "cargo test",
                "test result: ok. 5 passed; 0 failed\nerror: could not compile",
                Some(101)
            ),
            Some(false)
        );
        // A pipe, and no tally: what was printed may say that it failed, and else nothing does.
        let hidden = "cargo test 2>&1 | tail -3";
        assert_eq!(run(hidden, "error[E0425]: cannot find value `tide`", Some(0)), Some(false));
        assert_eq!(run(hidden, "    Finished in 2 s", Some(0)), None);
        assert_eq!(run("set -o pipefail; cargo test | tail -3", "ok", Some(0)), Some(true));
        // Nothing to run, stopped, or never begun: no verdict.
        assert_eq!(run("npx jest day", "No tests found, exiting with code 0", Some(0)), None);
        assert_eq!(run("cargo test", "running 3 tests", Some(124)), None);
        assert_eq!(
            run("npm test", "ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment", Some(1)),
            None
        );
        assert_eq!(run("pytest", "bash: pytest: command not found", Some(127)), None);
    }
}
