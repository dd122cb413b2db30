//! How things went, told by evidence: the verdict of a test run, the outcome of a session.
//!
//! "0 failed" is a pass, a later passing run outweighs an earlier failure, an interrupted run is not an
//! abandonment, and a question that was answered is a success.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::text;
use crate::distill::facts::{Facts, Signal};
use crate::distill::steps::Deed;
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
pub fn verdict(deed: &Deed) -> Option<Verdict> {
    let Action::Shell { command } = &deed.action else { return None };
    let answer = deed.answer.as_ref()?;
    if !is_test_command(command) {
        return None;
    }
    let found = last_verdict(&answer.text);
    let failed = deed.failed();
    match (found, failed) {
        // A pipe such as `cargo test | tail` hides the exit code, so the words count more than it.
        (Some(verdict), _) => Some(verdict),
        (None, true) => Some(Verdict { passed: false, summary: String::new() }),
        (None, false) if answer.text.trim().is_empty() || answer.exit_code == Some(0) => {
            Some(Verdict { passed: true, summary: String::new() })
        }
        (None, false) => None,
    }
}

/// Whether a command runs tests.
pub fn is_test_command(command: &str) -> bool {
    static TESTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?x)(^|[\s;&|(/])(
                pytest | py\.test | unittest | tox | nox | jest | vitest | mocha | rspec | phpunit | ctest
              | (npm|pnpm|yarn|bun|deno)\s+(run\s+)?test | go\s+test | gotestsum
              | cargo\s+(\+\S+\s+)?(test|nextest|t)\b | make\s+(test|check)\b | just\s+test | mise\s+run\s+test
              | mix\s+test | dotnet\s+test | (\./)?gradlew?\s+\S*test | mvnw?\s+\S*test | swift\s+test
              | bundle\s+exec\s+rspec | rails\s+test | prove\b | bats\b | playwright\s+test
            )",
        )
        .expect("a fixed pattern")
    });
    // A heredoc or a commit message may mention a test runner without running it.
    let first = command.split("<<").next().unwrap_or(command);
    !first.trim_start().starts_with("git commit") && !first.trim_start().starts_with("grep") && TESTS.is_match(first)
}

/// The last line of an output that counts passes and failures.
fn last_verdict(output: &str) -> Option<Verdict> {
    static COUNT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(\d+)\s+(?:tests?\s+|examples?,?\s+)?(passed|passing|failed|failing|failures?|errors?|broken)\b",
        )
        .expect("a fixed pattern")
    });
    static LABELLED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\b(passed|failed|failures|errors):\s*(\d+)\b").expect("a fixed pattern"));
    let mut verdict = None;
    for line in output.lines() {
        let (mut passes, mut failures, mut counted) = (0u64, 0u64, false);
        let counts = COUNT
            .captures_iter(line)
            .map(|found| (found[2].to_ascii_lowercase(), found[1].parse::<u64>().unwrap_or(0)))
            .chain(
                LABELLED
                    .captures_iter(line)
                    .map(|found| (found[1].to_ascii_lowercase(), found[2].parse::<u64>().unwrap_or(0))),
            );
        for (word, count) in counts {
            counted = true;
            if word.starts_with("pass") { passes += count } else { failures += count }
        }
        let trimmed = line.trim();
        let said = if counted && (passes > 0 || failures > 0 || trimmed.len() < 120) {
            Some(failures == 0)
        } else if trimmed.starts_with("FAIL") || trimmed.starts_with("--- FAIL") || trimmed.starts_with("FAILED") {
            Some(false)
        } else if trimmed == "PASS" || trimmed == "OK" || trimmed.starts_with("OK (") || trimmed.starts_with("ok  \t") {
            Some(true)
        } else {
            None
        };
        let Some(passed) = said else { continue };
        // Runners print one line per file or crate: one failure among them is a failure.
        let still_failed = verdict.as_ref().is_some_and(|before: &Verdict| !before.passed);
        if passed && still_failed {
            continue;
        }
        verdict = Some(Verdict { passed, summary: text::one_line(trimmed, 100) });
    }
    verdict
}

/// How a session went.
pub fn outcome(facts: &Facts) -> Outcome {
    let replies = facts.parts.iter().map(|part| part.replies).sum::<u64>();
    if facts.prompts == 0 && replies == 0 {
        return Outcome::Unknown;
    }
    if replies == 0 && facts.deeds == 0 {
        return Outcome::Abandoned;
    }
    // The latest signal decides: what came before was overtaken by it.
    let signals: Vec<&Signal> =
        facts.parts.iter().filter(|part| !part.rewound).flat_map(|part| &part.signals).collect();
    let last_test = signals.iter().rev().find_map(|signal| match signal {
        Signal::Test(passed) => Some(*passed),
        _ => None,
    });
    match signals.last() {
        Some(Signal::Broken) => Outcome::Fail,
        Some(Signal::Interrupted) => match last_test {
            Some(false) => Outcome::Fail,
            _ if facts.commits().next().is_some() => Outcome::Success,
            _ => Outcome::Unknown,
        },
        Some(Signal::Test(false)) => Outcome::Fail,
        Some(Signal::Error) => match last_test {
            Some(false) => Outcome::Fail,
            _ => Outcome::Unknown,
        },
        Some(Signal::GaveUp) => Outcome::Fail,
        Some(Signal::Reply | Signal::Test(true) | Signal::Commit) => match last_test {
            Some(false)
                if !signals
                    .iter()
                    .rev()
                    .take_while(|s| !matches!(s, Signal::Test(_)))
                    .any(|s| matches!(s, Signal::Commit)) =>
            {
                Outcome::Fail
            }
            _ => Outcome::Success,
        },
        None if replies > 0 => Outcome::Success,
        None => Outcome::Unknown,
    }
}

/// Whether a reply says that the work could not be done.
pub fn gives_up(reply: &str) -> bool {
    static GIVING_UP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(still (fails|failing|broken)|could ?n[o']t (fix|solve|get .{0,40} to work)|unable to (fix|resolve|complete)|giving up|gave up|rolled? (it )?back|did not work|doesn't work)\b")
            .expect("a fixed pattern")
    });
    let end = reply.len().saturating_sub(600);
    let end = (end..reply.len()).find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    GIVING_UP.is_match(&reply[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::steps;

    fn run(command: &str, output: &str, exit_code: Option<i32>) -> Option<bool> {
        verdict(&Deed {
            id: String::new(),
            tool: "Bash".into(),
            action: Action::Shell { command: command.into() },
            answer: Some(steps::Outcome {
                text: output.into(),
                bytes: output.len(),
                failed: exit_code.is_some_and(|code| code != 0),
                exit_code,
                images: 0,
            }),
        })
        .map(|verdict| verdict.passed)
    }

    #[test]
    fn verdicts_are_read_from_what_runners_print() {
        assert_eq!(run("cargo test", "test result: ok. 12 passed; 0 failed; 0 ignored", None), Some(true));
        assert_eq!(run("cargo test 2>&1 | tail", "test result: FAILED. 11 passed; 1 failed", Some(0)), Some(false));
        assert_eq!(run("pytest -q", "3 failed, 12 passed in 2.1s", Some(1)), Some(false));
        assert_eq!(run("pytest -q", "12 passed in 2.1s", None), Some(true));
        assert_eq!(run("npm test", " Tests  1 failed | 4 passed (5)", Some(1)), Some(false));
        assert_eq!(run("npx vitest run", " Test Files  2 passed (2)\n      Tests  9 passed (9)", None), Some(true));
        assert_eq!(run("go test ./...", "ok  \tpkg/a\t0.2s\nFAIL\tpkg/b\t0.1s\nFAIL", Some(1)), Some(false));
        assert_eq!(run("go test ./...", "ok  \tpkg/a\t0.2s", None), Some(true));
        assert_eq!(run("cargo test", "error: could not compile", Some(101)), Some(false));
        assert_eq!(run("cargo test -q", "", Some(0)), Some(true));
        assert_eq!(run("git commit -m 'make cargo test pass'", "[main 1a2b3c4] x", None), None);
        assert_eq!(run("ls tests", "a\nb", None), None);
    }
}
