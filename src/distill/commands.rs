//! Commands: what a shell command does, read from how it was typed and what it printed: whether it
//! runs tests or checks the work, and which commits and pull requests it made.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::messages;
use crate::distill::steps::ToolCall;
use crate::model::session::Action;

/// A commit made in the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its hash; empty where git's own words were not shown.
    pub hash: String,
    pub message: String,
    /// The branch that it was made on; empty where that is not known.
    pub branch: String,
    /// What the message says below its subject, point by point.
    pub points: Vec<String>,
    /// Whether a later one took its place, or it was taken back.
    pub undone: bool,
}

/// What happened to a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub title: String,
    /// What its text says, point by point.
    pub points: Vec<String>,
    pub step: PullStep,
}

/// How far a pull request has come: looked at, changed, opened, merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullStep {
    Seen,
    /// Looked at, and somebody had merged it.
    SeenMerged,
    Answered,
    Updated,
    Draft,
    Opened,
    Ready,
    Closed,
    Merged,
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
    let typed = without_quoted(command.split("<<").next().unwrap_or(command));
    typed.split(['\n', ';', '&', '|', '(']).any(|part| RUNNER.is_match(part.trim_start()))
}

/// A command without what stands in quotes: text that it works on, unless a shell is to run it.
fn without_quoted(command: &str) -> String {
    static SHELL: StaticRegex = StaticRegex::new(r"\b(?:ba|z|da)?sh\s+-l?c\s*$");
    let mut typed = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(open) = rest.find(['\'', '"']) {
        let quote = &rest[open..=open];
        let inside = &rest[open + 1..];
        let escaped = |at: usize| quote == "\"" && inside[..at].ends_with('\\');
        let close = inside.match_indices(quote).map(|(at, _)| at).find(|at| !escaped(*at));
        let Some(close) = close else { break };
        typed.push_str(&rest[..open]);
        match SHELL.is_match(&rest[..open]) {
            true => typed.push_str(&format!("\n{}\n", &inside[..close])),
            false => typed.push_str("''"),
        }
        rest = &inside[close + 1..];
    }
    typed.push_str(rest);
    typed
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

/// Whether a command line ends well however the check in it ended: `cargo test | tail`.
pub fn hides_end(command: &str) -> bool {
    static HIDES: StaticRegex = StaticRegex::new(
        r"\|&?\s*(?:tail|head|grep|rg|tee|cat|sed|awk|sort|uniq|wc|cut|less|jq)\b|\|\|\s*(?:true|:|echo)|;\s*(?:true|echo)\b",
    );
    static TELLS: StaticRegex = StaticRegex::new(r"(?i)\bpipefail\b|\bPIPESTATUS\b");
    HIDES.is_match(command) && !TELLS.is_match(command)
}

/// Whether a command only looks at something: that it finds nothing is no failure.
pub fn looks_only(command: &str) -> bool {
    static LOOKS: StaticRegex = StaticRegex::new(
        r"^(?:cd \S+ && )?(?:rg|grep|ls|cat|sed|find|head|tail|test|which|echo|pwd|gh (?:run|(?:pr|issue|release|repo) (?:view|list|checks|diff|status))|git (?:log|diff|show|status|grep|branch|fetch))\b",
    );
    // Whoever asks how a program is used changes nothing.
    static ASKS: StaticRegex = StaticRegex::new(
        r#"^[^|;&><\n"']*\s(?:--help|-h|--version|status|list|ls)\s*(?:2>&1)?\s*(?:\|\s*(?:head|tail|less|cat|grep)\b[^|;&><\n]*)?$"#,
    );
    let command = command.trim();
    LOOKS.is_match(command) || ASKS.is_match(command)
}

/// Whether a command may have changed something, rather than looked at it or waited.
pub fn may_change(command: &str) -> bool {
    static IN_PLACE: StaticRegex = StaticRegex::new(r"\b(?:sed|perl)\s+(?:-\S+\s+)*-\w*i");
    static LOOKS: StaticRegex = StaticRegex::new(
        r"(?x)^(?:ps|lsof|netstat|ss|df|du|env|printenv|id|date|pgrep|diff|wc|sleep|file|stat|tree|nl|jq|awk|less|man|curl|ping|type|uname|\[)\b
          | ^command\ -v | ^(?:docker|podman)(?:\s+compose)?\s+(?:ps|logs|images|inspect|info|version|stats|top)\b
          | ^kubectl\s+(?:get|describe|logs)\b | ^gh\s+(?:pr|issue|run|api)\b
          | ^git\s+(?:stash\s+(?:list|show)|remote\s+-v|rev-parse|ls-files|blame|reflog|describe|worktree\s+list)\b
          | \s--(?:version|help)\s*$",
    );
    let command = without_surroundings(command);
    let looks = looks_only(&command) || is_test_command(&command) || LOOKS.is_match(&command);
    IN_PLACE.is_match(&command) || !looks
}

/// A check without what differs from run to run: the names of tests and files, and what only fixes.
pub fn general_check(check: &str) -> String {
    static PARTICULAR: StaticRegex = StaticRegex::new(
        r"\s+(?:-run|-t|-k|--test|--timeout|--testNamePattern|--filter-test|--|--fix\b|--unsafe\b|--max-diag\S*|-o)(?:[\s=].*)?$|\s+(?:\./\S+|\S+/\S*\.\w{1,5}|\S+\.(?:rs|ts|tsx|js|jsx|go|py|rb|java|kt))(?:[\s:].*)?$",
    );
    let general = PARTICULAR.replace(check, "");
    if general.is_empty() { check.to_string() } else { general.into_owned() }
}

/// Whether a check runs one test or a choice of them, by name: that is of the day, and no check of
/// a project. `bun test src/` runs all of a folder.
pub fn is_of_some_tests(check: &str) -> bool {
    static CHOICE: StaticRegex = StaticRegex::new(
        r"(?x)\s(?:--testPathPattern|--testNamePattern|--test-name-pattern|--tests|--grep|--test|-run|-k|-t)(?:[\s=]|$)
            | \b(?:test|nextest|pytest|jest|vitest|rspec|mocha)\b.*\s(?:[\w./-]*::\w+ | \w*[tT]est_\w+ | \w+_test | test_\w+ | [A-Z]\w*Tests?|\S+\.(?:test|spec)\.\w+)(?:\s|$)",
    );
    // What is between the program and its test is a folder or a package.
    CHOICE.is_match(check)
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

/// A command by which it is known again: without the folder that it goes to first and without what
/// is done with its output.
pub fn without_surroundings(command: &str) -> String {
    static BEFORE: StaticRegex = StaticRegex::new(r"^\s*(?:cd\s+[^\s;&|]+\s*(?:&&|;)\s*)+");
    static BEHIND: StaticRegex =
        StaticRegex::new(r"(?:\s*2>&1|\s*\|&?\s*(?:tail|head)(?:\s+-\S+|\s+\d+)*)+\s*$");
    let command = BEFORE.replace(command, "");
    text::one_line(&BEHIND.replace(&command, ""), 400)
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
    let (Some(answer), false) = (&call.answer, call.failed()) else { return None };
    let committed =
        |hash: &str, message: &str| format!("committed {} {message}", text::cut(hash, 12));
    let command = match &call.action {
        Action::Shell { command } => command,
        Action::Commit { hash, message } => return Some(committed(hash, message)),
        _ => return None,
    };
    let commit = makes_commit(command).then(|| reported_commit(command, &answer.text)).flatten();
    let commit = commit.map(|commit| committed(&commit.hash, &commit.message));
    let opened =
        opened_in(command, &answer.text).map(|url| format!("opened {}", text::one_line(&url, 120)));
    let made: Vec<String> = commit.into_iter().chain(opened).collect();
    (!made.is_empty()).then(|| made.join("; "))
}

/// The pull request that a command opened.
pub fn opened_in(command: &str, output: &str) -> Option<String> {
    static OPENED: StaticRegex =
        StaticRegex::new(r"https://[^\s<>()\[\]]{3,}/(?:pull|merge_requests|pulls)/\d{1,9}");
    let opens = ["gh pr create", "glab mr create", "tea pr create"]
        .iter()
        .any(|opening| command.contains(opening));
    opens.then(|| OPENED.find_iter(output).last().map(|url| url.as_str().to_string())).flatten()
}

/// Whether a command makes a commit.
pub fn makes_commit(command: &str) -> bool {
    static COMMIT: StaticRegex = StaticRegex::new(
        r"(?:^|[\s;&|(])git\s+(?:-\S+\s+\S+\s+)*(?:commit|revert|cherry-pick)(?:\s|$)",
    );
    // A repository that the command makes for a try is not the session's.
    COMMIT.is_match(command) && !command.contains("--dry-run") && !command.contains("git init")
}

/// The commit that a command made, as git reports it, or as the command itself asks for it behind a
/// quiet one: `git commit -q … && git log --oneline -1`.
pub fn reported_commit(command: &str, output: &str) -> Option<Commit> {
    commit_in(output).or_else(|| shown_commit(command, output))
}

/// The commit that a command shows after it made it without a word.
fn shown_commit(command: &str, output: &str) -> Option<Commit> {
    static SHOWS: StaticRegex = StaticRegex::new(
        r"(?s)\bgit\s+(?:-\S+\s+\S+\s+)*(?:commit|revert|cherry-pick)\b.*\bgit\s+(?:-\S+\s+\S+\s+)*(?:log|show|rev-parse)\b",
    );
    static SHOWN: StaticRegex = StaticRegex::new(
        r"(?m)^(?:Output: )?(?:commit )?([0-9a-f]{7,40})(?: \([^)\n]*\))?(?:[ \t]+(\S[^\n]*))?$",
    );
    if !SHOWS.is_match(command) {
        return None;
    }
    let subject = messages::of_commit(command).map(|message| message.subject).unwrap_or_default();
    let subject = text::one_line(&subject, 120);
    // What is listed besides has other words than the message that was typed.
    let is_own = |said: &str| subject.is_empty() || said.is_empty() || said.starts_with(&subject);
    SHOWN.captures_iter(output).find_map(|found| {
        let said = found.get(2).map_or("", |said| said.as_str().trim());
        let message = if subject.is_empty() { text::one_line(said, 120) } else { subject.clone() };
        is_own(said).then(|| Commit { hash: found[1].to_string(), message, ..Commit::default() })
    })
}

/// The commit that git reports: `[main 1a2b3c4] the message`.
fn commit_in(output: &str) -> Option<Commit> {
    static COMMIT: StaticRegex =
        StaticRegex::new(r"(?m)^\s*\[([^\]\n]+?) (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$");
    let found = COMMIT.captures(output)?;
    let branch = if found[1].starts_with("detached") { "" } else { &found[1] };
    Some(Commit {
        hash: found[2].to_string(),
        message: text::one_line(&found[3], 120),
        branch: branch.to_string(),
        ..Commit::default()
    })
}

/// The commit that a command made: as git reports it, with what its message says besides. Where a
/// wrapper does not show what git printed, the message alone tells of it.
pub fn commit_of(command: &str, output: &str) -> Option<Commit> {
    if ["/tmp/", "mktemp", "git init"].iter().any(|trial| command.contains(trial)) {
        return reported_commit(command, output);
    }
    let message = messages::of_commit(command);
    let said = message.as_ref().map(|message| Commit {
        message: text::one_line(&message.subject, 160),
        ..Commit::default()
    });
    let nothing = output.contains("nothing to commit") || output.contains("no changes added");
    let commit = reported_commit(command, output).or(said.filter(|_| !nothing))?;
    Some(Commit { points: message.map(|message| message.points()).unwrap_or_default(), ..commit })
}

/// What a command did to a pull request, or saw of it.
pub fn pull_request_of(command: &str, output: &str) -> Option<PullRequest> {
    static ACT: StaticRegex = StaticRegex::new(
        r"\b(?:gh\s+pr|glab\s+mr|tea\s+pr)\s+(create|merge|edit|ready|close|view|checks|diff|checkout|comment|review)(?:\s+#?(\d{1,7})\b)?",
    );
    static ASKED: StaticRegex = StaticRegex::new(r"/(?:pulls|pull|merge_requests)/(\d{1,7})\b");
    static NUMBER: StaticRegex = StaticRegex::new(r#""number":\s*(\d{1,7})\b"#);
    static TITLE: StaticRegex =
        StaticRegex::new(r#""title":\s*"((?:[^"\\]|\\.){3,})"|(?m)^title:\s*(.{3,})$"#);
    if !command.contains("pr ") && !command.contains("pull") && !command.contains("mr ") {
        return None;
    }
    let act = ACT.captures(command);
    let verb = act.as_ref().map_or("", |act| act.get(1).map_or("", |verb| verb.as_str()));
    let replies = ["resolveReviewThread", "/replies", "in_reply_to"];
    let answers = replies.iter().any(|reply| command.contains(reply));
    let step = match verb {
        "merge" if command.contains("--auto") => PullStep::Updated,
        "merge" => PullStep::Merged,
        "create" if command.contains("--draft") => PullStep::Draft,
        "create" => PullStep::Opened,
        "edit" => PullStep::Updated,
        "ready" => PullStep::Ready,
        "close" => PullStep::Closed,
        _ if answers || matches!(verb, "comment" | "review") => PullStep::Answered,
        _ if output.contains(r#""state":"MERGED""#) && NUMBER.find_iter(output).count() == 1 => {
            PullStep::SeenMerged
        }
        _ if act.is_some() || ASKED.is_match(command) => PullStep::Seen,
        _ => return None,
    };
    // A list of several is about none of them.
    if step == PullStep::Seen && NUMBER.find_iter(output).count() > 1 {
        return None;
    }
    let first = |pattern: &StaticRegex, text: &str| {
        pattern.captures_iter(text).last().and_then(|found| found[1].parse().ok())
    };
    let number = act
        .as_ref()
        .and_then(|act| act.get(2))
        .and_then(|number| number.as_str().parse().ok())
        .or_else(|| first(&ASKED, command))
        .or_else(|| first(&NUMBER, output))
        .or_else(|| first(&ASKED, output))
        .unwrap_or(0);
    let message = messages::of_pull_request(command).unwrap_or_default();
    let seen = || {
        let found = TITLE.captures(output)?;
        let title = found.get(1).or(found.get(2))?.as_str();
        Some(text::one_line(&title.replace("\\\"", "\""), 160))
    };
    let title = match message.subject.is_empty() {
        true => seen().unwrap_or_default(),
        false => text::one_line(&message.subject, 160),
    };
    Some(PullRequest { number, title, points: message.points(), step })
}

/// Whether a command hands the work over: it pushes, publishes, merges or deploys.
pub fn delivers(command: &str) -> bool {
    static DELIVERS: StaticRegex = StaticRegex::new(
        r"\bgit\s+push\b|\b(?:npm|pnpm|yarn|cargo|bun|uv|poetry)\s+(?:run\s+)?publish\b|\bgh\s+(?:pr\s+merge|release\s+create)\b|\b(?:deploy|twine upload|docker push)\b",
    );
    let typed = command.split("<<").next().unwrap_or(command);
    DELIVERS.is_match(typed) && !typed.contains("--dry-run")
}

/// The tag that a command sets: `git tag -a v1.2.0`.
pub fn tag_of(command: &str) -> Option<String> {
    static TAG: StaticRegex = StaticRegex::new(
        r#"\bgit\s+tag\s+(?:-[as]\s+|-m\s+(?:"[^"]*"|'[^']*')\s+)*([\w./-]*\d[\w./-]*)"#,
    );
    let tag = TAG.captures(command)?;
    Some(text::one_line(&tag[1], 60))
}

/// How many of the latest commits a command takes back: `git reset --soft HEAD~2`, `git commit
/// --amend`.
pub fn commits_taken_back(command: &str) -> usize {
    static RESET: StaticRegex =
        StaticRegex::new(r"\bgit\s+reset\s+(?:--\w+\s+)*HEAD(?:~(\d{1,2})|\^)(?:\s|$|;|&)");
    if !command.contains("git ") {
        return 0;
    }
    let amended = usize::from(command.contains("--amend") && makes_commit(command));
    let reset = RESET
        .captures(command)
        .map_or(0, |found| found.get(1).and_then(|count| count.as_str().parse().ok()).unwrap_or(1));
    amended + reset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_changes_nothing() {
        for command in [
            "docker stop pg",
            "git clean -fd",
            "sed -i s/a/b/ x.rs",
            "cd x && npm ci 2>&1 | tail -3",
            "docker compose up -d",
        ] {
            assert!(may_change(command), "{command}");
        }
        for command in [
            "docker ps",
            "docker compose logs -f pg",
            "git status",
            "git stash list",
            "sed -n 1,9p x.rs",
            "cd x && ls",
            "cargo --version",
            "lsof -i :5432",
            "bun test src/ 2>&1 | grep fail",
        ] {
            assert!(!may_change(command), "{command}");
        }
        let same = ["cargo build", "cargo build 2>&1", "cd /a/b && cargo build 2>&1 | tail -20"];
        assert!(same.iter().all(|command| without_surroundings(command) == "cargo build"));
    }

    #[test]
    fn a_check_of_one_test_is_told_from_that_of_a_folder() {
        for one in [
            "cargo test test_of_the_lock",
            "npx jest --testPathPattern='tide' --no-coverage",
            "go test -run TestTide",
            "bun test src/tide.test.ts",
            "cargo test tide::lock_is_held",
        ] {
            assert!(is_of_some_tests(one), "{one}");
        }
        for all in [
            "bun test src/",
            "mise run test:ci",
            "pnpm --filter @tide/log test",
            "npm run test",
            "python3 -m unittest -v test_tide",
            "cargo test --all-features",
        ] {
            assert!(!is_of_some_tests(all), "{all}");
        }
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
            "bash -c \"cd tide && cargo test\"",
            "sh -c 'pytest -q'",
            "TIDE='a | b' npx jest tide",
            "echo don't; cargo test",
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
            "rg -n \"lock\\|vitest \\|jest \" src",
            "grep -n 'a|pytest |b' notes.md",
            "echo \"say \\\"a\\\" | pytest \"",
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

    #[test]
    fn a_commit_is_told_with_its_message() {
        let made = commit_of(
            "git commit -m 'fix: lock first' -m 'Two writers saw no file. The header came late.'",
            "pre-commit ran\n[fix/lock 1a2b3c4] fix: lock first\n 2 files changed",
        )
        .unwrap();
        assert_eq!((made.hash.as_str(), made.branch.as_str()), ("1a2b3c4", "fix/lock"));
        assert_eq!(made.points.len(), 2);
        let hidden = commit_of("git commit -qm 'fix: lock first'", "").unwrap();
        assert_eq!((hidden.hash.as_str(), hidden.message.as_str()), ("", "fix: lock first"));
        assert_eq!(commit_of("git commit -m 'x y'", "nothing to commit, working tree clean"), None);
    }

    #[test]
    fn a_pull_request_is_told_as_far_as_it_came() {
        let of = |command: &str, output: &str| pull_request_of(command, output);
        let opened = of(
            "gh pr create --title 'Lock it' --body 'It waits for the lock now.'",
            "https://git.example/a/b/pull/12\n",
        )
        .unwrap();
        assert_eq!(
            (opened.number, opened.step, opened.title.as_str()),
            (12, PullStep::Opened, "Lock it")
        );
        assert_eq!(of("gh pr merge 12 --squash", "").unwrap().step, PullStep::Merged);
        assert_eq!(of("gh pr merge --squash", "").unwrap().number, 0);
        let seen = of("gh pr view 9 --json title", r#"{"number":9,"title":"Say \"who\" waits"}"#);
        assert_eq!(seen.unwrap().title, "Say \"who\" waits");
        let answered = of("gh api repos/a/b/pulls/9/comments/4/replies -f body=x", "{}").unwrap();
        assert_eq!((answered.number, answered.step), (9, PullStep::Answered));
        assert_eq!(of("gh pr list --json number,title", r#"[{"number":1},{"number":2}]"#), None);
        assert_eq!(of("git pull --rebase", ""), None);
    }

    #[test]
    fn what_hands_the_work_over_is_known() {
        for command in ["git push origin main", "npm run publish", "gh pr merge 3 --squash"] {
            assert!(delivers(command), "{command}");
        }
        for command in
            ["git push --dry-run", "npm run build", "git commit -F - <<EOF\ngit push\nEOF"]
        {
            assert!(!delivers(command), "{command}");
        }
    }

    #[test]
    fn tags_and_resets_are_read() {
        assert_eq!(tag_of("git tag -a v1.2.0 -m x").as_deref(), Some("v1.2.0"));
        assert_eq!(tag_of("git tag --list"), None);
        assert_eq!(commits_taken_back("git reset --soft HEAD~3 && git commit -m x"), 3);
        assert_eq!(commits_taken_back("git commit --amend --no-edit"), 1);
        assert_eq!(commits_taken_back("git reset --hard origin/main"), 0);
    }
}
