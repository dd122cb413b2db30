//! Commands: what a shell command does, read from how it was typed and what it printed: whether it
//! runs tests or checks the work, and which commits and pull requests it made.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::steps::ToolCall;
use crate::model::session::Action;

/// A commit made in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    pub message: String,
}

/// Whether a command runs tests: one of its parts does, whatever stands before it (`cd x && CI=1
/// npx jest`).
pub fn is_test_command(command: &str) -> bool {
    static RUNNER: StaticRegex = StaticRegex::new(
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

/// The part of a command line that checks the work: tests, linters, type checks; without what
/// surrounds it.
pub fn check_command(command: &str) -> Option<String> {
    static CHECK: StaticRegex = StaticRegex::new(
        r"(?x)^(
                (npm|pnpm|yarn|bun|deno)\s+(run\s+)?(--\S+\s+)*(test|lint|typecheck|type-check|check|build|ci|verify|fmt|format)\S*
              | (npm|pnpm|yarn|bun)\s+(--filter|-F|--prefix|-C|--cwd)\s*\S+\s+(run\s+)?(test|lint|typecheck|build|check)\S*
              | (npx|bunx|pnpm\s+exec|pnpm\s+dlx)\s+(vitest|jest|tsc|eslint|biome|prettier|playwright|nx)\b
              | nx\s+(test|lint|build|run-many)\b | tsc\b | eslint\b | biome\s+(check|lint|ci)
              | (python3?\s+-m\s+)?(pytest|unittest|mypy|ruff|tox|nox)\b | uv\s+run\s+(pytest|ruff|mypy)\b
              | go\s+(test|vet|build)\b | gotestsum\b | golangci-lint\b
              | cargo\s+(\+\S+\s+)?(test|nextest|clippy|check|fmt)\b
              | (make|just|task)\s+\S*(test|lint|check|ci|verify|fmt)\S* | mise\s+(run|r)\s+\S*(test|lint|check|ci|fmt)\S*
              | mix\s+test | dotnet\s+(test|build) | (\./)?gradlew?\s+\S*(test|check) | mvnw?\s+\S*(test|verify) | swift\s+test
              | bundle\s+exec\s+(rspec|rubocop) | rspec\b | phpunit\b | ctest\b | bats\b
            )",
    );
    static TAIL: StaticRegex = StaticRegex::new(r"\s*(\d?>&?\s*\S+|\||;|&&|\|\|)");
    let line = command.lines().next().unwrap_or_default();
    let found = line
        .split("&&")
        .flat_map(|piece| piece.split(';'))
        .map(str::trim)
        .find(|piece| CHECK.is_match(piece))?;
    let end = TAIL.find(found).map_or(found.len(), |tail| tail.start());
    let plain = text::one_line(found[..end].trim(), 400);
    // A long list of files or names is that day's, not the project's.
    (!plain.contains('`') && plain.len() <= 90).then_some(plain)
}

/// Whether a command only looks at something: that it finds nothing is no failure.
pub fn looks_only(command: &str) -> bool {
    static LOOKS: StaticRegex = StaticRegex::new(
        r"^(?:cd \S+ && )?(?:rg|grep|ls|cat|sed|find|head|tail|test|which|echo|pwd|gh run|gh pr view|git (?:log|diff|show|status|grep|branch|fetch))\b",
    );
    LOOKS.is_match(command.trim_start())
}

/// A check without what differs from run to run: the names of tests and files, and what only fixes.
pub fn general_check(check: &str) -> String {
    static PARTICULAR: StaticRegex = StaticRegex::new(
        r"\s+(?:-run|-t|-k|--testNamePattern|--filter-test|--|--fix\b|--unsafe\b|--max-diag\S*|-o)(?:[\s=].*)?$|\s+(?:\./\S+|\S+/\S*\.\w{1,5}|\S+\.(?:rs|ts|tsx|js|jsx|go|py|rb|java|kt))(?:[\s:].*)?$",
    );
    let general = PARTICULAR.replace(check, "");
    if general.is_empty() { check.to_string() } else { general.into_owned() }
}

/// Whether a command checks what was changed: it builds, compiles or lints.
pub fn is_build(command: &str) -> bool {
    static CHECK: StaticRegex = StaticRegex::new(
        r"\b(build|check|clippy|lint|typecheck|tsc|compile|vet|mypy|ruff|eslint|biome|golangci-lint|pre-commit|make)\b",
    );
    let typed = command.split("<<").next().unwrap_or(command);
    CHECK.is_match(typed)
        && !typed.contains("git ")
        && !typed.starts_with("grep")
        && !typed.starts_with("rg ")
}

/// What kind of command it is: the same tests run with another filter are still the same.
pub fn command_kind(command: &str) -> String {
    let typed = command.split("<<").next().unwrap_or(command);
    let typed = typed.rsplit("&& ").next().unwrap_or(typed);
    let words =
        typed.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('='));
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// What a call made that lasts, in words: a commit, a pull request.
pub fn created(call: &ToolCall) -> Option<String> {
    let (Action::Shell { command }, Some(answer), false) =
        (&call.action, &call.answer, call.failed())
    else {
        return None;
    };
    let commit = makes_commit(command).then(|| commit_in(&answer.text)).flatten();
    let commit = commit
        .map(|commit| format!("committed {} {}", text::cut(&commit.hash, 12), commit.message));
    let opened =
        opened_in(command, &answer.text).map(|url| format!("opened {}", text::one_line(&url, 120)));
    let made: Vec<String> = commit.into_iter().chain(opened).collect();
    (!made.is_empty()).then(|| made.join("; "))
}

/// The pull request that a command opened.
pub fn opened_in(command: &str, output: &str) -> Option<String> {
    static OPENED: StaticRegex =
        StaticRegex::new(r"https://[^\s<>()\[\]]{3,100}/(?:pull|merge_requests|pulls)/\d{1,9}");
    let opens = ["gh pr create", "glab mr create", "tea pr create"]
        .iter()
        .any(|opening| command.contains(opening));
    opens.then(|| OPENED.find_iter(output).last().map(|url| url.as_str().to_string())).flatten()
}

/// Whether a command makes a commit.
pub fn makes_commit(command: &str) -> bool {
    static COMMIT: StaticRegex =
        StaticRegex::new(r"(?:^|[\s;&|(])git\s+(?:-\S+\s+\S+\s+)*commit(?:\s|$)");
    // A repository that the command makes for a try is not the session's.
    COMMIT.is_match(command) && !command.contains("--dry-run") && !command.contains("git init")
}

/// The commit that git reports: `[main 1a2b3c4] the message`.
pub fn commit_in(output: &str) -> Option<Commit> {
    static COMMIT: StaticRegex =
        StaticRegex::new(r"(?m)^\[[^\]\n]{1,200}? (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$");
    let found = COMMIT.captures(output)?;
    Some(Commit { hash: found[1].to_string(), message: text::one_line(&found[2], 120) })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_check_is_the_command_without_its_surroundings() {
        for (line, check) in [
            ("cd web && bun run test 2>&1 | tail -5", Some("bun run test")),
            ("cargo test --test it sweep", Some("cargo test --test it sweep")),
            ("mise run lint", Some("mise run lint")),
            ("git commit -m 'cargo test passes'", None),
            ("ls; echo done", None),
        ] {
            assert_eq!(check_command(line).as_deref(), check, "{line}");
        }
    }
}
