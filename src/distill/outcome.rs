//! How things went, told by evidence: the verdict of a test run, the outcome of a session.
//!
//! "0 failed" is a pass, a later passing run outweighs an earlier failure, an interrupted run is
//! not an abandonment, and a question that was answered is a success.

use crate::base::pattern::Pattern;
use crate::base::text;
use crate::distill::facts::{EpisodeFacts, Facts, Signal};
use crate::distill::steps::ToolCall;
use crate::distill::worth;
use crate::model::digest::Outcome;
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
        (None, false) if answer.text.trim().is_empty() || answer.exit_code == Some(0) => {
            Some(Verdict { passed: true, summary: String::new() })
        }
        (None, false) => None,
    }
}

/// Whether a command runs tests: one of its parts does, whatever stands before it (`cd x && CI=1
/// npx jest`).
pub fn is_test_command(command: &str) -> bool {
    static RUNNER: Pattern = Pattern::new(
        r"(?x)^(?:\w+=\S*\s+ | (?:npx|bunx|pnpx|rtk|time|sudo|env|xvfb-run)\s+ | timeout\s+\S+\s+
                | (?:uv|poetry|pipenv|pdm|hatch|rye)\s+run\s+ | (?:pnpm|yarn|npm)\s+(?:exec|dlx)\s+(?:--\s+)?
                | bundle\s+exec\s+ | python[\d.]*\s+-m\s+ | mise\s+(?:x|exec)\s+(?:\S+\s+)?--\s+ | \S*/ )*
              (?: (?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|gotestsum|prove|bats|ava|pest)(?:\s|$)
                | (?:npm|pnpm|yarn|bun|deno)\s+(?:(?:--?\S+|@\S+|workspace|\S+/\S*)\s+)*(?:run\s+)?(?:test|t)(?::\S+)?(?:\s|$)
                | (?:go|swift|mix|dotnet|rails|bazel|flutter|dart|sbt|lein|stack|cabal|nx|just|zig\s+build|turbo(?:\s+run)?|mise\s+run|moon\s+run|task|meson)\s+test
                | cargo\s+(?:\+\S+\s+)?(?:(?:-\S+)\s+)*(?:test|nextest|t)(?:\s|$)
                | make\s+(?:-C\s+\S+\s+|-\S+\s+)*(?:test|check)
                | gradlew?\s+(?:\S+\s+)*?\S*[tT]est | mvnw?\s+(?:\S+\s+)*?(?:test|verify)
                | playwright\s+test | cypress\s+run | node\s+(?:\S+\s+)*?--test
                | \S*run[-_]?tests?(?:\.\w+)?(?:\s|$) )",
    );
    // A heredoc or a commit message may mention a test runner without running it.
    let typed = command.split("<<").next().unwrap_or(command);
    typed.split(['\n', ';', '&', '|', '(']).any(|part| RUNNER.is_match(part.trim_start()))
}

fn has_count(summary: &str) -> bool {
    summary.bytes().any(|byte| byte.is_ascii_digit()) && summary.contains("pass")
}

/// Whether an exit code says that the command was stopped rather than that it failed.
fn is_interruption(code: i32) -> bool {
    matches!(code, 124 | 130 | 137 | 143)
}

/// Whether a runner says that it could not even start: that is trouble with the machine, not with
/// the code.
fn never_ran(output: &str) -> bool {
    static NO_START: Pattern = Pattern::new(
        r"(?i)command not found|unsupported[ _](engine|environment)|missing script|no module named .?(pytest|unittest|tox)|is not recognized as|cannot find module 'node:|could not find .?cargo\.toml|no test specified|no such file or directory|permission denied",
    );
    output.lines().count() <= 24 && NO_START.is_match(output)
}

/// What a runner's output says as a whole: by its counts where it has any, else by its words.
fn summary_of(output: &str) -> Option<Verdict> {
    static COUNT: Pattern = Pattern::new(
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
    // Who counts both kinds may name what was tested.
    let both = lower.contains("pass") && lower.contains("fail");
    foreign <= if both { 3 } else { 0 }
}

/// How a session went.
pub fn outcome(facts: &Facts) -> Outcome {
    let parts: Vec<&EpisodeFacts> = facts.parts.iter().filter(|part| !part.rewound).collect();
    let replies = parts.iter().map(|part| part.replies).sum::<u64>();
    if facts.prompts == 0 && replies == 0 {
        return Outcome::Unknown;
    }
    if replies == 0 && facts.tool_calls == 0 {
        return Outcome::Abandoned;
    }
    // A prompt that was stopped before anything came of it, and a word of thanks, take nothing
    // back.
    let counts = |part: &&&EpisodeFacts| {
        part.signals.iter().any(|signal| *signal != Signal::Interrupted) || asks(part)
    };
    let Some(last) = parts.iter().rev().find(counts) else { return Outcome::Unknown };
    // What the latest part that changed or tested something came to; talk after it changes nothing.
    let worked =
        parts.iter().rev().find(|part| !part.edited.is_empty() || part.last_test().is_some());
    let tests_fail = worked.is_some_and(|part| part.last_test() == Some(false));
    // Where nothing was changed, a failing test is a finding, not a failure.
    let changed = parts.iter().any(|part| !part.edited.is_empty() || !part.commits.is_empty());
    match last.signals.last() {
        Some(Signal::Broken | Signal::GaveUp | Signal::Test(false)) => Outcome::Fail,
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) if tests_fail && changed => {
            Outcome::Fail
        }
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) => Outcome::Success,
        // Nothing worked, and nobody said a word about it.
        Some(Signal::Error) if tests_fail || last.failed_calls == last.tool_calls => Outcome::Fail,
        _ if last.last_test() == Some(false) => Outcome::Fail,
        // The log stops in the middle, but what was wanted had been done by then.
        Some(Signal::Interrupted | Signal::Work) if last.is_proved() => Outcome::Success,
        // The log stops in the middle, or at a question that nobody took up.
        _ => Outcome::Unknown,
    }
}

/// Whether the prompt of a part wants an answer.
fn asks(part: &EpisodeFacts) -> bool {
    part.signals.is_empty() && !part.prompt.is_empty() && !worth::is_small_talk(&part.prompt)
}

impl EpisodeFacts {
    /// Whether the last test run of the part passed; a commit after a failing one means that it was
    /// known and accepted.
    fn last_test(&self) -> Option<bool> {
        self.signals.iter().rev().find_map(|signal| match signal {
            Signal::Test(passed) => Some(*passed),
            Signal::Commit => Some(true),
            _ => None,
        })
    }

    /// Whether the part's last telling signal is a passing test or a commit.
    fn is_proved(&self) -> bool {
        let telling = self
            .signals
            .iter()
            .rev()
            .find(|signal| !matches!(signal, Signal::Work | Signal::Interrupted));
        matches!(telling, Some(Signal::Test(true) | Signal::Commit))
    }
}

/// Whether a reply says that the work could not be done. Where nothing that the agent tried has
/// worked, less is enough.
pub fn gives_up(reply: &str, nothing_worked: bool) -> bool {
    static GIVING_UP: Pattern = Pattern::new(
        r"(?ix)\b( still\ (fails|failing|broken|not\ working) | giving\ up | gave\ up
              | (i|we)\ (could\ ?n[o']t|can(no|')t|were\ unable\ to|was\ unable\ to|am\ unable\ to|['a]?m\ unable\ to)\ (fix|solve|resolve|complete|finish|make\ .{0,40}\ work|get\ .{0,40}\ to\ work)
              | unable\ to\ (fix|resolve|complete|finish) | remains?\ (unsolved|broken|unresolved) )\b",
    );
    static NOT_DONE: Pattern = Pattern::new(
        r"(?i)\b(not available|not found|unavailable|cannot|can['’]t|could ?n[o'’]t|could not|unable|no access)\b",
    );
    let from = reply.len().saturating_sub(600);
    let from = (from..reply.len()).find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    GIVING_UP.is_match(&reply[from..]) || (nothing_worked && NOT_DONE.is_match(&reply[from..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::steps;
    use crate::model::evidence::FileState;

    fn run(command: &str, output: &str, exit_code: Option<i32>) -> Option<bool> {
        verdict(&ToolCall {
            id: String::new(),
            tool: "Bash".into(),
            action: Action::Shell { command: command.into() },
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
        // Stopped, or never begun: no verdict.
        assert_eq!(run("cargo test", "running 3 tests", Some(124)), None);
        assert_eq!(
            run("npm test", "ERR_PNPM_UNSUPPORTED_ENGINE  Unsupported environment", Some(1)),
            None
        );
        assert_eq!(run("pytest", "bash: pytest: command not found", Some(127)), None);
    }

    #[test]
    fn only_what_runs_tests_is_a_test_run() {
        for command in [
            "cargo test",
            "cd a && CI=1 npx jest --coverage 2>&1 | tail -40",
            "PYTHONPATH=. pytest -q",
            "rtk bun run test",
            "pnpm --filter @a/b test",
            "mise run test && mise run lint",
            "./gradlew :app:test",
            "/usr/bin/pytest x",
            "uv run pytest",
            "timeout 60 go test ./...",
            "cargo +nightly test",
            "make -C core check",
            "npm run test:unit",
        ] {
            assert!(is_test_command(command), "{command}");
        }
        for command in [
            "pip install pytest",
            "cat tests/pytest.ini",
            "git commit -m 'cargo test passes'",
            "grep -rn 'npm test' .",
            "ls test",
            "npm install",
            "cat <<'EOF' > x\ncargo test\nEOF",
            "bun run typecheck",
            "echo pytest",
        ] {
            assert!(!is_test_command(command), "{command}");
        }
    }
}
