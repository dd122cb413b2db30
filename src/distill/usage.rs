//! Usage: a command that was refused for how it was called, and the form of it that worked soon
//! after: `npx lintall` has no such program, `npx lint-all` does. It is what an agent gets wrong
//! again in the next session.

use std::collections::HashSet;

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::commands;
use crate::distill::steps::ToolCall;
use crate::model::session::{Action, Actor};

/// A form of a command that is refused, and the one that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub refused: String,
    /// What was printed.
    pub said: String,
    pub works: String,
}

/// Follows commands from a refusal to the form that works.
#[derive(Debug, Default)]
pub struct UsageFinder {
    refused: Vec<Refused>,
    pub found: Vec<Usage>,
}

#[derive(Debug)]
struct Refused {
    command: String,
    said: String,
    /// How many commands may still come before it is forgotten.
    left: u8,
}

/// Longer commands are scripts of the moment.
const LONGEST_COMMAND: usize = 300;
/// How much of a command a line shows.
const LONGEST_SHOWN: usize = 80;
/// Among how many commands behind a refusal the right form is looked for.
const SOON: u8 = 3;
/// Which share of the words of both a form has in common with the other.
const ALIKE: f32 = 0.34;
const MOST: usize = 8;

impl UsageFinder {
    /// Takes the next call of the episode.
    pub fn take(&mut self, call: &ToolCall) {
        let (Action::Shell { command }, Some(answer)) = (&call.action, &call.answer) else {
            return;
        };
        if call.by == Actor::Person || command.len() > LONGEST_COMMAND {
            return;
        }
        let command = core_of(command);
        if call.failed() {
            self.age();
            if let Some(said) = refusal_in(&answer.text).filter(|_| self.refused.len() < MOST) {
                self.refused.push(Refused { command, said, left: SOON });
            }
            return;
        }
        let at = self.refused.iter().rposition(|refused| is_other_form(&refused.command, &command));
        if let Some(at) = at {
            let Refused { command: refused, said, .. } = self.refused.remove(at);
            let usage = Usage { refused, said, works: command };
            if self.found.len() < MOST && !self.found.contains(&usage) {
                self.found.push(usage);
            }
        }
        self.age();
    }

    /// Takes in what the part that follows found.
    pub fn absorb(&mut self, next: UsageFinder) {
        self.found.extend(next.found);
        self.found.truncate(2 * MOST);
        self.refused = next.refused;
    }

    fn age(&mut self) {
        self.refused.iter_mut().for_each(|refused| refused.left -= 1);
        self.refused.retain(|refused| refused.left > 0);
    }
}

impl Usage {
    /// The usage as a lesson.
    pub fn lesson(&self) -> String {
        let shown = |command: &str| text::one_line(command, LONGEST_SHOWN);
        let (refused, said, works) = (shown(&self.refused), &self.said, shown(&self.works));
        format!("`{refused}` fails ({said}) → `{works}` works")
    }
}

/// The line of an output that refuses the form of a command, not what it was asked to do.
fn refusal_in(output: &str) -> Option<String> {
    static REFUSES: StaticRegex = StaticRegex::new(
        r"(?xi-u)command\ not\ found | could\ not\ determine\ executable | no\ matches\ found:
          | \bunknown\ (?:flag|option|command|subcommand|shorthand|argument)
          | \bunrecognized\ (?:arguments?|option|subcommand|command|flag) | \bunexpected\ argument
          | \b(?:invalid|illegal|bad)\ (?:option|flag|switch) | \bmissing\ script | \bno\ such\ command
          | \bis\ not\ a\ \w+\ command | flag\ provided\ but\ not\ defined | script\ not\ found
          | \bis\ not\ recognized\ as\ (?:an?|the) | \baccepts?\ (?:at\ most\ )?\d+\ args?",
    );
    // The shell's own place says nothing: `(eval):1:`, `bash: line 1:`.
    static PLACE: StaticRegex =
        StaticRegex::new(r"^(?:\(eval\):\d+: |/?[\w/]*sh: (?:line )?\d+: |zsh:\d+: |\W+)+");
    // What is refused is said at once; later lines are of another program's output.
    let line = output.lines().map(str::trim).filter(|line| !line.is_empty()).take(4);
    let line = line.into_iter().find(|line| line.len() <= 200 && REFUSES.is_match(line))?;
    Some(text::one_line(&PLACE.replace(line, ""), 90).replace('`', "'"))
}

/// A command without what surrounds it: where it runs, where its output goes.
fn core_of(command: &str) -> String {
    static AROUND: StaticRegex = StaticRegex::new(
        r"^(?:cd \S+ (?:&&|;) )+|\s+2>(?:&1|/dev/null)|\s*\| (?:head|tail)\b[^|]*$",
    );
    AROUND.replace_all(command.trim(), "").trim().to_string()
}

/// Whether one command is another way to ask for the other.
fn is_other_form(refused: &str, works: &str) -> bool {
    let (one, other) = (words(refused), words(works));
    let common = one.intersection(&other).count() as f32;
    let all = one.union(&other).count() as f32;
    refused != works
        && common >= ALIKE * all
        && !commands::looks_only(works)
        && !works.contains(['\n', '`'])
        && !refused.contains(['\n', '`'])
}

fn words(command: &str) -> HashSet<&str> {
    let is_part = |c: char| c.is_alphanumeric() || "._/@-".contains(c);
    command.split(|c: char| !is_part(c)).filter(|word| word.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distill::steps::Outcome;
    use crate::model::evidence::FileState;

    fn lessons(calls: &[(&str, &str, bool)]) -> Vec<String> {
        let mut finder = UsageFinder::default();
        for (command, printed, failed) in calls {
            let answer = Outcome {
                text: printed.to_string(),
                bytes: printed.len(),
                failed: *failed,
                exit_code: None,
                images: 0,
                state: FileState::Unknown,
            };
            finder.take(&ToolCall {
                id: String::new(),
                tool: "Bash".into(),
                action: Action::Shell { command: command.to_string() },
                by: Actor::Agent,
                answer: Some(answer),
            });
        }
        finder.found.iter().map(Usage::lesson).collect()
    }

    #[test]
    fn the_form_that_works_is_named_behind_the_one_that_is_refused() {
        let calls = [
            (
                "cd /srv/app && npx lintall ci.yml 2>&1",
                "npm error could not determine executable to run",
                true,
            ),
            ("ls", "ci.yml", false),
            ("cd /srv/app && npx lint-all ci.yml", "ok", false),
        ];
        assert_eq!(
            lessons(&calls),
            [
                "`npx lintall ci.yml` fails (npm error could not determine executable to run) → `npx lint-all ci.yml` works"
            ]
        );
        let quoted = [
            ("curl example.org/a?b=1", "(eval):1: no matches found: example.org/a?b=1", true),
            ("curl 'example.org/a?b=1'", "ok", false),
        ];
        assert_eq!(
            lessons(&quoted),
            [
                "`curl example.org/a?b=1` fails (no matches found: example.org/a?b=1) → `curl 'example.org/a?b=1'` works"
            ]
        );
    }

    #[test]
    fn other_failures_and_other_commands_teach_no_form() {
        let fails = ("bun test", "2 tests failed: unknown option was given", true);
        assert!(
            lessons(&[
                ("bun test", "1 failed\n2\n3\n4\nunknown option", true),
                ("bun test a", "ok", false)
            ])
            .is_empty()
        );
        assert!(
            lessons(&[
                ("rtk bun test", "error: unrecognized subcommand 'bun'", true),
                ("git push origin main", "ok", false)
            ])
            .is_empty()
        );
        // The same again is a retry; too late is another matter.
        assert!(lessons(&[fails, ("bun test", "ok", false)]).is_empty());
        let between = ("make tidy", "ok", false);
        assert!(
            lessons(&[
                ("rtk bun test", "error: unrecognized subcommand 'bun'", true),
                between,
                between,
                between,
                ("bun test", "ok", false)
            ])
            .is_empty()
        );
    }
}
