//! Signals: what one session shows of what may be a pattern. Each reader is a pure function of a
//! session and of what is usual in all of them.

use std::collections::BTreeMap;

use crate::base::static_regex::StaticRegex;
use crate::distill::patterns::similar::Groups;
use crate::distill::patterns::{Observed, loci};
use crate::distill::{commands, errors};
use crate::model::digest::Outcome;
use crate::model::ids::EpisodeId;
use crate::model::pattern::{PatternKey, Polarity, Sighting, SignalKind, Thresholds};
use crate::model::signals::{Correction, CorrectionKind};

/// A signal: a key, where it shows, and what it cost.
#[derive(Debug, Clone)]
pub struct Signal {
    pub key: PatternKey,
    /// The session, by its place among the observed.
    pub at: usize,
    pub sighting: Sighting,
    /// About how many tokens went into it.
    pub cost: u64,
}

/// What is usual in all sessions.
#[derive(Debug, Default)]
struct Usual {
    /// Nine of ten sessions of an agent take no more tokens; agents count them differently.
    tokens_p90: BTreeMap<String, u64>,
}

impl Usual {
    fn of(sessions: &[&Observed]) -> Usual {
        let mut tokens: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for session in sessions.iter().filter(|session| session.tokens > 0) {
            tokens.entry(session.flavor.clone()).or_default().push(session.tokens);
        }
        let p90 = |mut tokens: Vec<u64>| {
            tokens.sort_unstable();
            super::measure::percentile(&tokens, 0.9).unwrap_or(u64::MAX)
        };
        let tokens_p90 = tokens.into_iter().map(|(flavor, tokens)| (flavor, p90(tokens)));
        Usual { tokens_p90: tokens_p90.collect() }
    }
}

/// The signals of all sessions, in their order.
pub fn of_all(sessions: &[&Observed], thresholds: &Thresholds) -> Vec<Signal> {
    let usual = Usual::of(sessions);
    let mut groups = Groups::default();
    let mut all = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let mut reader = Reader { session, at, thresholds, usual: &usual, found: &mut all };
        reader.errors();
        reader.corrections(&mut groups);
        reader.failures_and_retries();
        reader.overhead();
        reader.outcome();
        reader.checks();
    }
    all
}

struct Reader<'s> {
    session: &'s Observed,
    at: usize,
    thresholds: &'s Thresholds,
    usual: &'s Usual,
    found: &'s mut Vec<Signal>,
}

impl Reader<'_> {
    fn add(&mut self, polarity: Polarity, kind: SignalKind, locus: &str, shown: Shown<'_>) {
        let session = self.session;
        let calls = session.calls().max(1);
        let cost = session.tokens / calls * shown.times.min(calls);
        self.found.push(Signal {
            key: PatternKey { polarity, kind, locus: locus.to_string() },
            at: self.at,
            sighting: Sighting {
                session: session.session.clone(),
                episode: shown.episode,
                flavor: session.flavor.clone(),
                project: session.project.clone(),
                times: shown.times,
                detail: shown.detail.to_string(),
            },
            cost,
        });
    }

    fn problem(&mut self, kind: SignalKind, locus: &str, shown: Shown<'_>) {
        self.add(Polarity::Problem, kind, locus, shown);
    }

    /// Errors, each by its locus.
    fn errors(&mut self) {
        for error in &self.session.signals.errors {
            let Some(locus) = loci::of_error(&error.fingerprint) else { continue };
            let detail = errors::without_wrapper(&error.fingerprint);
            let shown = Shown { episode: Some(error.episode), times: error.times, detail };
            self.problem(SignalKind::RecurringError, &locus, shown);
        }
    }

    /// Where the person stepped in, and what they wish from now on.
    fn corrections(&mut self, groups: &mut Groups) {
        let session = self.session;
        let corrections = &session.signals.corrections;
        for (at, one) in corrections.iter().enumerate() {
            // A no is followed by the stop that it is, and only there by the reason.
            let stop = corrections.get(at + 1).filter(|next| {
                one.said.is_empty() && next.episode == one.episode && next.call == one.call
            });
            let detail = &stop.unwrap_or(one).said;
            let shown = Shown { episode: Some(one.episode), times: 1, detail };
            match one.kind {
                CorrectionKind::Refused | CorrectionKind::Interrupted => {
                    // An interruption stops whatever runs; it is about the call only where the
                    // person says so, or where the call cannot be taken back.
                    let is_about = one.kind == CorrectionKind::Refused || names(one);
                    if let Some(locus) = call_locus(&one.call).filter(|_| is_about) {
                        let locus = format!("stopped {locus}");
                        self.problem(SignalKind::Correction, &locus, shown);
                    }
                }
                CorrectionKind::Repeated => {}
                CorrectionKind::Reverted if one.said.is_empty() => {}
                CorrectionKind::Objected | CorrectionKind::Reverted => {
                    if let Some(group) = groups.place(&one.said) {
                        self.problem(SignalKind::SaidAgain, &groups.locus(group), shown);
                    }
                }
            }
        }
        for (episode, wish) in &session.wishes {
            if let Some(group) = groups.place(wish) {
                let shown = Shown { episode: Some(*episode), times: 1, detail: wish };
                self.problem(SignalKind::SaidAgain, &groups.locus(group), shown);
            }
        }
    }

    /// Tools that fail often, and calls that are tried again as they were.
    fn failures_and_retries(&mut self) {
        let signals = &self.session.signals;
        for bucket in Bucket::NAMED {
            let of = |counts: &crate::model::signals::Histogram| -> u64 {
                let those = counts.iter().filter(|(tool, _)| Bucket::of(tool) == *bucket);
                those.map(|(_, count)| count).sum()
            };
            let (calls, failed) = (of(&signals.tools), of(&signals.failed));
            if failed >= self.thresholds.failures && failed * 3 >= calls {
                let detail = format!("{failed} of {calls} calls failed");
                let shown = Shown { episode: None, times: failed, detail: &detail };
                self.problem(SignalKind::RepeatedErrors, bucket.name(), shown);
            }
            let retries = of(&signals.retries);
            if retries >= self.thresholds.retries {
                let shown = Shown { episode: None, times: retries, detail: "" };
                self.problem(SignalKind::RetryStorm, bucket.name(), shown);
            }
        }
    }

    /// Calls that keep house instead of doing the work.
    fn overhead(&mut self) {
        let (tools, total) = (&self.session.signals.tools, self.session.calls());
        let of = |wanted: &[Bucket]| -> u64 {
            let those = tools.iter().filter(|(tool, _)| wanted.contains(&Bucket::of(tool)));
            those.map(|(_, count)| count).sum()
        };
        let infra = of(&[Bucket::Memory, Bucket::Tasks, Bucket::Schema]);
        let Thresholds { infra_calls, infra_share, schema_loads, .. } = *self.thresholds;
        if infra >= infra_calls && infra as f64 >= infra_share * total as f64 {
            let shown = Shown { episode: None, times: infra, detail: "" };
            self.problem(SignalKind::InfraOverhead, "house-keeping calls", shown);
        }
        let loads = of(&[Bucket::Schema]);
        if loads >= schema_loads {
            let shown = Shown { episode: None, times: loads, detail: "" };
            self.problem(SignalKind::SchemaThrash, "loads of tool descriptions", shown);
        }
        // Editing, reading and commands are the work itself.
        let most = tools.iter().filter(|(tool, _)| Bucket::of(tool) == Bucket::Other);
        let most = most.max_by_key(|(tool, count)| (**count, std::cmp::Reverse(*tool)));
        let Thresholds { thrash_calls, thrash_share, .. } = *self.thresholds;
        if let Some((tool, count)) = most
            && *count >= thrash_calls
            && *count as f64 >= thrash_share * total as f64
        {
            let shown = Shown { episode: None, times: *count, detail: "" };
            self.problem(SignalKind::ToolThrash, tool, shown);
        }
    }

    /// What came of it, and at what price.
    fn outcome(&mut self) {
        let Some(project) = &self.session.project else { return };
        let shown = || Shown { episode: None, times: 1, detail: "" };
        if self.session.status == Outcome::Abandoned {
            self.problem(SignalKind::Abandoned, project, shown());
        }
        let usual = self.usual.tokens_p90.get(&self.session.flavor);
        if usual.is_some_and(|usual| self.session.tokens > *usual) {
            self.problem(SignalKind::BudgetOverrun, project, shown());
        }
        let solved = self.session.signals.errors.iter();
        let solved: Vec<_> =
            solved.filter_map(|error| Some((error, error.solved.as_ref()?))).collect();
        for (error, by) in solved {
            let Some(locus) = loci::of_error(&error.fingerprint) else { continue };
            let shown = Shown { episode: Some(by.episode), times: 1, detail: &by.by };
            self.add(Polarity::Success, SignalKind::ErrorThenRecovery, &locus, shown);
        }
    }

    /// Checks that passed. What only formats passes always.
    fn checks(&mut self) {
        static FORMATS: StaticRegex =
            StaticRegex::new(r"(?:^|[\s:])(?:fmt|format|gofmt|rustfmt|prettier)(?:$|[\s:])");
        let session = self.session;
        let Some(project) = &session.project else { return };
        let mut checks: Vec<String> =
            session.checks.iter().map(|check| commands::general_check(check)).collect();
        checks.sort();
        checks.dedup();
        for check in checks.iter().filter(|check| !FORMATS.is_match(check)) {
            let locus = format!("{project}: {check}");
            let shown = Shown { episode: None, times: 1, detail: "" };
            self.add(Polarity::Success, SignalKind::CleanPass, &locus, shown);
        }
    }
}

/// What a signal shows, and where.
struct Shown<'t> {
    episode: Option<EpisodeId>,
    times: u64,
    detail: &'t str,
}

/// What a call that was stopped is called, whichever agent made it; none where it only looked.
fn call_locus(call: &str) -> Option<String> {
    let (tool, command) = call.split_once(' ').unwrap_or((call, ""));
    match Bucket::of(tool) {
        Bucket::Shell => {
            let looks = command.is_empty() || commands::looks_only(command);
            (!looks).then(|| command.to_string())
        }
        Bucket::Edit => Some("an edit".to_string()),
        Bucket::Read | Bucket::Tasks | Bucket::Schema | Bucket::Memory => None,
        Bucket::Other => {
            // Turning down a plan or a question is how plans are made.
            let name = tool.to_ascii_lowercase();
            let is_talk = ["plan", "ask", "question"].iter().any(|talk| name.contains(talk));
            (!tool.is_empty() && !is_talk).then(|| tool.to_string())
        }
    }
}

/// Whether what a person said when they stopped a command is about it, or it was to deliver
/// something.
fn names(one: &Correction) -> bool {
    let Some((tool, command)) = one.call.split_once(' ') else { return false };
    let said = one.said.to_lowercase();
    let last = command.rsplit(' ').next().unwrap_or_default().to_lowercase();
    Bucket::of(tool) == Bucket::Shell
        && (commands::delivers(command) || (last.len() > 2 && said.contains(&last)))
}

/// What a tool is for, by its name in whatever agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    Memory,
    Tasks,
    Schema,
    Shell,
    Edit,
    Read,
    Other,
}

impl Bucket {
    /// The buckets that have a word of their own.
    const NAMED: &[Bucket] = &[Bucket::Shell, Bucket::Edit, Bucket::Read];

    /// The bucket of a tool.
    pub fn of(tool: &str) -> Bucket {
        let name: String = tool.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let is = |names: &[&str]| names.contains(&name.as_str());
        if name.starts_with("mcpmemtree") || name.starts_with("mcpstatehub") {
            Bucket::Memory
        } else if is(&[
            "taskcreate", "taskupdate", "taskget", "tasklist", "taskoutput", "taskstop",
            "todowrite", "todoread", "updateplan", "updatetaskstatus", "updatetodo", "writetodos",
        ]) {
            Bucket::Tasks
        } else if is(&["toolsearch"]) {
            Bucket::Schema
        } else if is(&[
            "bash", "shell", "shellcommand", "localshell", "execcommand", "exec",
            "runshellcommand", "runterminalcommand", "runterminalcmd", "runinterminal",
            "powershell", "developershell", "terminal", "runcommand",
        ]) {
            Bucket::Shell
        } else if is(&[
            "edit",
            "multiedit",
            "write",
            "notebookedit",
            "applypatch",
            "searchreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "writefile",
            "replace",
            "create",
            "createfile",
            "insertedit",
            "developertexteditor",
            "texteditor",
            "patch",
            "editfile",
        ]) {
            Bucket::Edit
        } else if is(&[
            "read", "readfile", "grep", "glob", "ls", "list", "listdir", "listdirectory", "view",
            "rg", "find", "findfiles", "grepsearch", "filesearch", "searchfilecontent",
            "readmanyfiles", "codebasesearch", "semanticsearch", "readfiles",
        ]) {
            Bucket::Read
        } else {
            Bucket::Other
        }
    }

    /// Whether its calls are work.
    pub fn is_substantive(self) -> bool {
        matches!(self, Bucket::Shell | Bucket::Edit | Bucket::Read)
    }

    /// Its calls, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Bucket::Shell => "commands",
            Bucket::Edit => "edits",
            Bucket::Read => "reads and searches",
            Bucket::Memory => "memory",
            Bucket::Tasks => "task lists",
            Bucket::Schema => "tool descriptions",
            Bucket::Other => "other tools",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_every_agent_have_a_bucket() {
        for (tool, bucket) in [
            ("Bash", Bucket::Shell),
            ("run_shell_command", Bucket::Shell),
            ("exec_command", Bucket::Shell),
            ("apply_patch", Bucket::Edit),
            ("MultiEdit", Bucket::Edit),
            ("read_file", Bucket::Read),
            ("TodoWrite", Bucket::Tasks),
            ("ToolSearch", Bucket::Schema),
            ("mcp__memtree__recall", Bucket::Memory),
            ("mcp__other__x", Bucket::Other),
        ] {
            assert_eq!(Bucket::of(tool), bucket, "{tool}");
        }
    }

    #[test]
    fn a_stopped_call_is_named_after_what_it_does() {
        assert_eq!(call_locus("Bash git push").as_deref(), Some("git push"));
        assert_eq!(call_locus("exec_command git push").as_deref(), Some("git push"));
        assert_eq!(call_locus("Edit").as_deref(), Some("an edit"));
        assert_eq!(call_locus("Bash ls src"), None);
        assert_eq!(call_locus("Read"), None);
        assert_eq!(call_locus(""), None);
    }
}
