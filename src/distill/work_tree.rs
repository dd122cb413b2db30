//! The work tree: what git and the tools show of it, followed call by call, so that the page can
//! say what was left unfinished.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::steps::{Step, StepKind, ToolCall};
use crate::distill::todo_list::TodoList;
use crate::distill::{commands, errors};
use crate::model::session::Action;

/// How the work stands at the end of a session.
#[derive(Debug, Default)]
pub struct WorkTree {
    /// The branch that git named last.
    pub branch: String,
    /// The last commit.
    pub commit: Option<LastCommit>,
    /// The files that were changed since, each once.
    pub changed: Vec<String>,
    /// Pull requests that were opened and not merged, by number.
    pub pulls: Vec<String>,
    /// How many commits were made past the hooks.
    pub unverified: u32,
    /// The last call, where it has no answer and nothing followed it.
    pub cut_off: Option<String>,
    /// Whether git was used for more than looking.
    pub uses_git: bool,
    /// Whether a pull request was merged.
    pub merged: bool,
    /// The last command that does something, where it failed, with its error.
    pub failing: Option<(String, String)>,
    /// The agent's own list of things to do.
    pub todo: TodoList,
}

/// A commit, and whether it went anywhere.
#[derive(Debug)]
pub struct LastCommit {
    pub hash: String,
    pub subject: String,
    pub pushed: bool,
}

const MOST_CHANGED: usize = 64;

impl WorkTree {
    /// Takes the next step of the session.
    pub fn take(&mut self, step: &Step) {
        if step.inherited {
            return;
        }
        match &step.kind {
            StepKind::ToolCall(call) => {
                if step.agent.is_none() {
                    self.todo.take(call);
                }
                self.add_call(call, step.agent.is_some());
            }
            StepKind::Reply(_) | StepKind::Prompt(_) | StepKind::Intervention(_)
                if step.agent.is_none() =>
            {
                self.cut_off = None;
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &ToolCall, by_subagent: bool) {
        if call.answer.is_none() {
            let looks = match &call.action {
                Action::Shell { command } => commands::looks_only(command),
                Action::Read { .. } | Action::Search { .. } | Action::Plan { .. } => true,
                _ => false,
            };
            if !by_subagent && !call.tool.is_empty() && !looks {
                self.cut_off = Some(shown(call));
            }
            return;
        }
        self.cut_off = None;
        if let Action::Shell { command } = &call.action
            && !commands::looks_only(command)
        {
            let output = call.answer.as_ref().map_or("", |answer| answer.text.as_str());
            let error = match call.failed() {
                true => errors::find(output),
                // A pipe hides that a build failed; what it printed does not.
                false if commands::is_build(command) => errors::in_success(command, output),
                false => None,
            };
            self.failing = error.filter(|_| !errors::is_refusal(output)).map(|error| {
                (text::one_line(command.lines().next().unwrap_or_default(), 80), error.sample)
            });
        }
        match &call.action {
            Action::Edit { files, .. } if !call.failed() => {
                for file in files {
                    self.add_change(&file.path);
                }
            }
            Action::Shell { command } => self.add_command(command, call),
            Action::Commit { hash, message } => {
                self.uses_git = true;
                self.note_commit(hash, message);
            }
            _ => {}
        }
    }

    fn add_change(&mut self, path: &str) {
        const ASIDE: &[&str] = &["/tmp/", "/.claude/", "/plans/", "/scratch"];
        let aside = path.starts_with("/tmp") || ASIDE.iter().any(|aside| path.contains(aside));
        if !aside && self.changed.len() < MOST_CHANGED && !self.changed.iter().any(|p| p == path) {
            self.changed.push(path.to_string());
        }
    }

    fn add_command(&mut self, command: &str, call: &ToolCall) {
        static BRANCH: StaticRegex = StaticRegex::new(
            r"(?m)^(?:On branch |Switched to (?:a new )?branch '|\[)([\w./-]{1,100})(?:'| (?:\(root-commit\) )?[0-9a-f]{7,40}\]|$)|^## ([\w/-]+(?:\.[\w/-]+)*)\.\.\.",
        );
        static SENT: StaticRegex = StaticRegex::new(
            r"(?m)^\s+[+ ]?[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}\s|\* \[new branch\]",
        );
        // A repository that was made for a try is not the session's.
        if !command.contains("git ") && !command.contains("gh ") && !command.contains("glab ")
            || command.contains("/tmp/")
            || command.contains("mktemp")
        {
            return;
        }
        let output = call.answer.as_ref().map_or("", |answer| answer.text.as_str());
        let failed = call.failed();
        if let Some(found) = BRANCH.captures_iter(text::cut(output, 20_000)).last() {
            let named = found.get(1).or(found.get(2));
            self.branch = named.map_or("", |branch| branch.as_str()).to_string();
        }
        if commands::makes_commit(command) && !failed {
            self.add_commit(command, output);
        }
        let sent = SENT.is_match(output) || (command.contains("git push") && !failed);
        let merged = command.contains("gh pr merge") && !failed;
        if let Some(commit) = self.commit.as_mut().filter(|_| sent || merged) {
            commit.pushed = true;
        }
        // These leave nothing uncommitted behind.
        let settles = ["rebase --continue", "git stash", "git merge ", "git reset --hard"];
        if !failed && settles.iter().any(|verb| command.contains(verb)) {
            self.changed.clear();
        }
        self.merged |= merged;
        self.uses_git |= ["git add", "git commit", "git push", "git checkout", "git switch"]
            .iter()
            .any(|verb| command.contains(verb));
        let opened = commands::opened_in(command, output).filter(|_| !failed);
        let opened = opened.map(|url| url.rsplit('/').next().unwrap_or_default().to_string());
        if let Some(number) = opened.or_else(|| self.waiting_pull(command, output))
            && !self.pulls.contains(&number)
        {
            self.pulls.push(number);
        }
        if merged {
            let named = self.pulls.iter().position(|number| {
                command.split_whitespace().any(|word| word.trim_start_matches('#') == *number)
            });
            match named {
                Some(at) => drop(self.pulls.remove(at)),
                None => drop(self.pulls.pop()),
            }
        }
    }

    /// The pull request that the session's commit was pushed to and that the forge shows as open.
    fn waiting_pull(&self, command: &str, output: &str) -> Option<String> {
        static OPEN: StaticRegex = StaticRegex::new(r#"(?m)"state":\s*"OPEN"|^state:\s+OPEN"#);
        static NUMBER: StaticRegex =
            StaticRegex::new(r#"\bgh pr view #?(\d+)|/pull/(\d+)|"number":\s*(\d+)"#);
        let commit =
            self.commit.as_ref().filter(|commit| commit.pushed && !commit.hash.is_empty())?;
        let holds = command.contains("gh pr view")
            && OPEN.is_match(output)
            && output.contains(text::cut(&commit.hash, 7));
        let found = [command, output].into_iter().filter(|_| holds).find_map(|place| {
            let found = NUMBER.captures(place)?;
            (1..=3).find_map(|group| found.get(group)).map(|number| number.as_str().to_string())
        });
        found.filter(|_| !self.merged)
    }

    fn add_commit(&mut self, command: &str, output: &str) {
        static SUBJECT: StaticRegex = StaticRegex::new(r#"-m\s+["']([^"'$\n]{3,})"#);
        let commit = commands::reported_commit(command, output);
        let commit = commit.map(|commit| (commit.hash, commit.message));
        let typed = || SUBJECT.captures(command).map(|found| found[1].to_string());
        let (hash, subject) =
            commit.unwrap_or_else(|| (String::new(), typed().unwrap_or_default()));
        self.unverified += u32::from(command.contains("--no-verify"));
        self.note_commit(&hash, &subject);
    }

    fn note_commit(&mut self, hash: &str, subject: &str) {
        self.commit = Some(LastCommit {
            hash: text::cut(hash, 12).to_string(),
            subject: text::one_line(subject.lines().next().unwrap_or_default(), 120),
            pushed: false,
        });
        self.changed.clear();
    }
}

/// A call in a few words.
fn shown(call: &ToolCall) -> String {
    let command = match &call.action {
        Action::Shell { command } => command.lines().next().unwrap_or_default(),
        Action::Edit { files, .. } => files.first().map_or("", |file| file.path.as_str()),
        Action::Ask { question } => question,
        Action::Delegate { task } => task,
        _ => return call.tool.clone(),
    };
    text::one_line(command, 120)
}

#[cfg(test)]
mod tests {
    use crate::model::session::Actor;

    use super::*;
    use crate::distill::steps::Outcome;
    use crate::model::evidence::FileState;
    use crate::model::session::{FileChange, Position};

    fn step(kind: StepKind) -> Step {
        let position = Position { file: 0, line: 1 };
        Step { at: None, position, agent: None, inherited: false, kind }
    }

    fn call(action: Action, output: Option<&str>) -> Step {
        let answer = output.map(|text| Outcome {
            text: text.into(),
            bytes: text.len(),
            failed: false,
            exit_code: None,
            images: 0,
            state: FileState::Unknown,
        });
        let (id, tool) = ("1".to_string(), "Tool".to_string());
        step(StepKind::ToolCall(ToolCall { id, tool, action, by: Actor::Agent, answer }))
    }

    fn run(command: &str, output: &str) -> Step {
        call(Action::Shell { command: command.into() }, Some(output))
    }

    fn edit(path: &str) -> Step {
        let files = vec![FileChange::of(path.into())];
        call(Action::Edit { files, text: String::new() }, Some("ok"))
    }

    fn tree(steps: &[Step]) -> WorkTree {
        let mut tree = WorkTree::default();
        steps.iter().for_each(|step| tree.take(step));
        tree
    }

    #[test]
    fn what_was_changed_after_the_commit_is_open() {
        let tree = tree(&[
            edit("src/a.rs"),
            run("git commit -am 'a'", "[fix/a 1a2b3c4] lock first"),
            edit("src/b.rs"),
            edit("/tmp/scratch.py"),
        ]);
        assert_eq!(tree.changed, ["src/b.rs"]);
        assert_eq!(tree.branch, "fix/a");
        let commit = tree.commit.unwrap();
        assert_eq!((commit.hash.as_str(), commit.subject.as_str()), ("1a2b3c4", "lock first"));
        assert!(!commit.pushed);
    }

    #[test]
    fn a_push_and_a_merge_finish_it() {
        let pushed = tree(&[
            run("git commit -am 'a'", "[main 1a2b3c4] lock first"),
            run("git push", "   0000000..1a2b3c4  main -> main"),
        ]);
        assert!(pushed.commit.unwrap().pushed);
        let opened = run("gh pr create --fill", "https://git.example/a/b/pull/12\n");
        assert_eq!(tree(std::slice::from_ref(&opened)).pulls, ["12"]);
        assert!(tree(&[opened, run("gh pr merge 12 --squash", "Merged")]).pulls.is_empty());
    }

    #[test]
    fn the_branch_is_what_git_names() {
        let branch = |output: &str| tree(&[run("git status -sb", output)]).branch;
        assert_eq!(branch("## fix/v1.2...origin/fix/v1.2 [ahead 1]\n M a.rs"), "fix/v1.2");
        assert_eq!(branch("On branch main\nnothing to commit"), "main");
        assert_eq!(branch("## Summary\n\nIt is done."), "");
    }

    #[test]
    fn the_last_call_without_an_answer_is_where_the_log_ends() {
        let cut = call(Action::Shell { command: "git commit -m x".into() }, None);
        assert_eq!(tree(std::slice::from_ref(&cut)).cut_off.as_deref(), Some("git commit -m x"));
        for command in ["tide lock --help", "git status", "tide list | head -3", "gh pr checks 3"] {
            let looked = call(Action::Shell { command: command.into() }, None);
            assert_eq!(tree(&[looked]).cut_off, None, "{command}");
        }
        let read = call(Action::Read { path: "src/day.rs".into() }, None);
        assert_eq!(tree(&[read]).cut_off, None);
        let said = step(StepKind::Reply("Done.".into()));
        assert_eq!(tree(&[cut, said]).cut_off, None);
    }
}
