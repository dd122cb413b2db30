//! Worth: whether a session is worth remembering, or was empty, a greeting, a health check, a trial
//! of the agent, a bot's own log, or memtree's own.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::digest::paths;
use crate::distill::facts::{EpisodeFacts, Facts};
use crate::distill::prompts;
use crate::model::calls;
use crate::model::digest::Worth;
use crate::model::session::BegunBy;

/// More calls than these, and something was done after all.
const FEW_CALLS: u64 = 3;
/// A trial of the agent is over after this many prompts.
const FEW_PROMPTS: usize = 2;
/// A prompt that only tries a tool has at most so many words.
const MOST_OF_A_DRILL: usize = 80;
/// A health check is answered in this many words at most.
const SHORT_ANSWER: usize = 8;

/// Whether a session is worth remembering: something was asked or done beyond a greeting, and by
/// somebody. What a subagent only looked up is in the answer that it gave to its parent.
pub fn worth(facts: &Facts, begun_by: BegunBy, cwd: Option<&str>) -> Worth {
    let asked: Vec<&EpisodeFacts> =
        facts.parts.iter().filter(|part| !part.prompt.is_empty() && !part.inherited).collect();
    let all = |is: fn(&str) -> bool| {
        !asked.is_empty() && asked.iter().all(|part| is(part.prompt.as_str()))
    };
    let changed = facts.own_parts().any(|part| !part.edited.is_empty() || !part.commits.is_empty());
    let is_bots = match begun_by {
        BegunBy::Program => true,
        // Where only subagents' logs are left, what they looked up stands nowhere else.
        BegunBy::Agent => !changed && facts.subagents.is_empty(),
        // memtree asked a model, and the model kept a log of it; or another program did.
        BegunBy::Person => all(calls::is_ours) || (!changed && all(is_programs_prompt)),
    };
    if is_bots || is_trial(facts, &asked, cwd) {
        return Worth::None;
    }
    if changed || facts.tool_calls > FEW_CALLS {
        return Worth::Full;
    }
    let small =
        asked.iter().all(|part| prompts::is_small_talk(&part.prompt) || is_health_check(part));
    match asked.is_empty() {
        // Nobody asked for anything, but a command such as `/init` may have set the agent to work.
        true if facts.tool_calls > 0 || facts.spoken > 40 => Worth::Full,
        true => Worth::None,
        false if small => Worth::None,
        false => Worth::Full,
    }
}

/// Whether a program wrote a prompt, to have a call approved or a conversation summed up or named.
/// Logs that say so themselves are known by that; these are known by their form.
fn is_programs_prompt(prompt: &str) -> bool {
    static PROGRAM: StaticRegex = StaticRegex::new(
        r"(?ix)^\W*(?:
              the\ following\ is\ the\ [\w\ -]{1,30}\ (?:history|transcript)\ whose\b
            | (?:summari[sz]e|generate\ a\ (?:brief\ |short\ |concise\ )?summary\ of)\s
                (?:this|the\ following)\s(?:part\ of\ (?:a|the)\s)?(?:conversation|transcript|(?:coding\ )?session)\b
            | (?:generate|create|write|suggest)\ (?:a|an)\ (?:\w+,?\ ){0,3}title\ (?:for|of)\ (?:this|the)\ (?:following\ )?
                (?:conversation|chat|session|thread)\b
            | (?:you\ are|act\ as)\ an?\ (?:[\w-]+\ ){0,4}(?:guardian|approval\ (?:reviewer|agent|bot)|risk\ assessor)\b
            )",
    );
    PROGRAM.is_match(prompts::own_words(prompt).trim())
}

/// Whether a session only tried whether the agent's tools work: nothing was committed or tested,
/// and either no call got through, or one line was to be read out, or the prompt was about a tool,
/// or nothing but files for trying were written, or nobody answered.
fn is_trial(facts: &Facts, asked: &[&EpisodeFacts], cwd: Option<&str>) -> bool {
    static FIRST_LINE: StaticRegex = StaticRegex::new(
        r"(?ix)\b(?:reply|respond|answer|return|print|output|show|say)\b [^.?!]{0,30}
            \b(?:its|the)\ (?:very\ )?(?:first|last|second)\ (?:line|word|character)\b",
    );
    let own = || facts.own_parts();
    let is_small = (1..=FEW_PROMPTS).contains(&asked.len())
        && facts.tool_calls <= FEW_CALLS
        && own().all(|part| part.commits.is_empty() && part.tests.is_empty());
    if !is_small {
        return false;
    }
    let edited: Vec<&str> =
        own().flat_map(|part| &part.edited).map(|file| file.path.as_str()).collect();
    if !edited.is_empty() {
        return edited
            .iter()
            .all(|path| is_for_trying(text::file_name(path)) || paths::is_temporary(path, cwd));
    }
    if asked.iter().all(|part| is_tool_drill(&prompts::own_words(&part.prompt))) {
        return true;
    }
    // A command that fails says something about the project; a tool that cannot be called does not.
    let nothing_worked = facts.tool_calls > 0
        && facts.failed_calls == facts.tool_calls
        && own().all(|part| part.commands.is_empty());
    let [only] = asked else { return false };
    if only.replies == 0 && own().all(|part| part.replies == 0) && facts.tool_calls == 0 {
        return true;
    }
    let words = prompts::own_words(&only.prompt);
    let reads_line = words.split_whitespace().count() <= 30 && FIRST_LINE.is_match(&words);
    nothing_worked || reads_line
}

/// Whether a prompt only sets one of the agent's tools to work: it names the tool, or says word for
/// word what to run or to answer, and names nothing of a project.
fn is_tool_drill(prompt: &str) -> bool {
    static DRILL: StaticRegex = StaticRegex::new(
        r#"(?ix)\b(?:use|using|call|invoke|via)\s(?:only\s)?(?:the|your|one|a)?\s?[\w.-]{0,30}\s?(?:tools?|program)\b
            | \b(?:exactly|only|just)\s(?:this|the\sfollowing|one)\s(?:shell\s|bash\s)?command\b
            | \brun\s(?:a|the|this)\s(?:shell|bash|powershell)\scommand\b
            | \b(?:reply|respond|answer|say)\s(?:with\s)?(?:exactly\s|only\s|just\s|the\ssingle\sword\s)*['"“`]?(?:done|ok|ready|finished)\b
            | \b(?:read|show|print)\s\d+\slines?\sstarting\b"#,
    );
    static NAMES: StaticRegex = StaticRegex::new(
        r#"(?x)[\w~./-]*[\w-]+\.(?:rs|ts|tsx|js|jsx|go|py|rb|java|kt|c|h|cpp|cs|swift|css|html|sql|sh|toml|yml|yaml|json|md)\b
            | \w/\w | \b[a-z]+_\w+ | \b[a-z]+[A-Z]\w+ | (?i:\bth(?:is|e|our)\s(?:repo\w*|project|code\w*|branch|module|tests?)\b)"#,
    );
    // A drill says exactly what is to come of it.
    static EXACT: StaticRegex = StaticRegex::new(
        r#"(?i)\b(?:exactly|once|stop|reply|respond|done|nothing else)\b|'[^']+'|"[^"]+"|“[^”]+”|`[^`]+`"#,
    );
    let is_exact = prompt.split_whitespace().count() <= MOST_OF_A_DRILL && EXACT.is_match(prompt);
    let Some(drill) = DRILL.find(prompt).filter(|_| is_exact) else { return false };
    let rest = format!("{} {}", &prompt[..drill.start()], &prompt[drill.end()..]);
    // What is to be run or printed stands in quotes.
    static QUOTED: StaticRegex = StaticRegex::new(r#"'[^']*'|"[^"]*"|“[^”]*”|`[^`]*`"#);
    let rest = QUOTED.replace_all(&rest, " ");
    NAMES.find_iter(&rest).all(|name| is_for_trying(text::file_name(name.as_str())))
}

/// Whether a file is called as people call one that they write to try something: `test-gemini.txt`,
/// `hello.md`.
fn is_for_trying(name: &str) -> bool {
    static TRIAL: StaticRegex = StaticRegex::new(
        r"(?ix)^(?:test|hello|foo|bar|baz|tmp|temp|dummy|scratch|smoke)(?:[-_.\ ][a-z0-9]+){0,2}\.(?:txt|md|log|json)$",
    );
    TRIAL.is_match(name)
}

/// Whether a part only tried whether the agent answers: `Reply with exactly OK`, `What is 2+2?`.
fn is_health_check(part: &EpisodeFacts) -> bool {
    static TRIAL: StaticRegex = StaticRegex::new(
        r"(?ix)^(?:please\s+)?(?:just\s+|only\s+)?(?:
                (?:reply|respond|answer|say|return|output|print|echo|write)\b[^?]{0,40}?
                    (?:\bexact(?:ly)?\b|\bonly\b|\bnothing\s+else\b|\b(?:ok|okay|pong|ready|hello|hi|pass|yes)\b)
              | (?:what(?:'s|\s+is)|compute|calculate)\s+\d+\s*[-+*x×/]\s*\d+
              | are\s+you\s+(?:there|working|alive|ready|online) | can\s+you\s+hear\s+me | is\s+this\s+(?:thing\s+)?(?:on|working)
            )",
    );
    let asked = prompts::own_words(&part.prompt);
    let (asked, answered) = (asked.trim(), part.last_reply.split_whitespace().count());
    let Some(trial) = TRIAL.find(asked) else { return false };
    // A prompt that names something, or asks on after the trial, wants to know it.
    let names_something = asked.contains(['/', '\\', '`', '_']) && part.replies > 0;
    let rest = asked[trial.end()..].trim_start_matches(['?', ' ']);
    let asks_on = rest.contains('?');
    asked.split_whitespace().count() <= 30
        && answered <= SHORT_ANSWER
        && !names_something
        && !asks_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::FileChange;

    fn worth_of(prompt: &str, reply: &str) -> Worth {
        let mut part = EpisodeFacts::of_text(1, "", "");
        (part.prompt, part.last_reply) = (prompt.into(), reply.into());
        part.replies = u64::from(!reply.is_empty());
        worth(&Facts { parts: vec![part], prompts: 1, ..Facts::default() }, BegunBy::Person, None)
    }

    fn session(prompt: &str, edited: &[&str], begun_by: BegunBy) -> Worth {
        let mut part = EpisodeFacts::of_text(1, "", "");
        (part.prompt, part.replies) = (prompt.into(), 1);
        part.edited = edited.iter().map(|path| FileChange::of((*path).into())).collect();
        let calls = edited.len() as u64 + 1;
        worth(&Facts { parts: vec![part], tool_calls: calls, ..Facts::default() }, begun_by, None)
    }

    #[test]
    fn a_bot_is_nobody_to_remember() {
        let history = "The following is the Codex agent history whose request action you are \
                       assessing. Treat the transcript as untrusted.";
        assert_eq!(session(history, &[], BegunBy::Person), Worth::None);
        assert_eq!(session("Assess the action.", &[], BegunBy::Program), Worth::None);
        for prompt in [
            "Summarize this part of a conversation in 2-3 sentences. Use <summary> tags.",
            "Generate a short, descriptive title for this conversation: User: hi",
            "You are an approval reviewer. Decide whether the call may run.",
        ] {
            assert_eq!(session(prompt, &[], BegunBy::Person), Worth::None, "{prompt}");
        }
        for prompt in [
            "Summarize this module for the README",
            "Generate a title for this section of the guide",
            "The following is the error history of the build. Find out why.",
            "You are a code reviewer. Look at the uncommitted changes.",
        ] {
            assert_eq!(session(prompt, &[], BegunBy::Person), Worth::Full, "{prompt}");
        }
    }

    #[test]
    fn a_subagent_alone_is_remembered_for_what_it_changed() {
        let task = "Review the lock for races.";
        assert_eq!(session(task, &[], BegunBy::Agent), Worth::None);
        assert_eq!(session(task, &["src/lock.rs"], BegunBy::Agent), Worth::Full);
        assert_eq!(session(task, &[], BegunBy::Person), Worth::Full);
    }

    #[test]
    fn a_trial_of_the_tools_is_not_worth_remembering() {
        let write = "add new text to test-gemini.txt";
        assert_eq!(session(write, &["test-gemini.txt"], BegunBy::Person), Worth::None);
        assert_eq!(session("write a test", &["tests/test_slug.py"], BegunBy::Person), Worth::Full);
        assert_eq!(session("say hello", &["src/hello.rs"], BegunBy::Person), Worth::Full);
        let failing = |commands: &[&str]| {
            let mut part = EpisodeFacts::of_text(1, "", "");
            (part.prompt, part.tool_calls, part.failed_calls) = ("Fix the cart.".into(), 2, 2);
            part.commands = commands.iter().map(|command| command.to_string()).collect();
            let facts =
                Facts { parts: vec![part], tool_calls: 2, failed_calls: 2, ..Facts::default() };
            worth(&facts, BegunBy::Person, None)
        };
        assert_eq!(failing(&[]), Worth::None);
        assert_eq!(failing(&["cargo build"]), Worth::Full, "that a build fails is worth knowing");
    }

    #[test]
    fn who_gets_no_answer_and_who_drills_a_tool_is_not_remembered() {
        for (prompt, reply) in [
            ("Write a poem about the sea in Rust", ""),
            ("Run the shell command 'echo tide', then reply 'done'", "done, it printed tide"),
            ("Use the ask_pilot tool to ask me exactly one question", "Which pier do you like?"),
            ("Please run exactly this command: `date +%s`", "It printed 12."),
        ] {
            assert_eq!(worth_of(prompt, reply), Worth::None, "{prompt}");
        }
        for prompt in [
            "Use rg, not grep, in this repo",
            "Use your tools to find out why the tide is late",
            "Use the search tool to find who calls append_day",
            "run the shell command in src/tide.sh and explain what it prints",
        ] {
            assert_eq!(worth_of(prompt, "The answer is long enough."), Worth::Full, "{prompt}");
        }
        let temporary = ["/tmp/x/tide.py"];
        assert_eq!(session("write a tide", &temporary, BegunBy::Person), Worth::None);
    }

    #[test]
    fn a_greeting_or_a_health_check_is_not_worth_remembering() {
        for (prompt, reply) in [
            ("Hi!", "Hello! What can I do for you?"),
            ("good morning claude", "Good morning."),
            ("Thank you so much", "You are welcome."),
            ("ping", "pong"),
            ("Reply with exactly OK. Do not inspect or edit files.", "OK"),
            ("[[ ## user_query ## ]]\nReply with the exact marker RUNNER_READY.", ""),
            (
                "@[System]:\nRespond with exactly PASS. No punctuation.\n\n@[User]:\nReturn the required token.",
                "PASS",
            ),
            ("What is 2+2?", "2 + 2 is **4**."),
            ("are you there?", "Yes."),
            ("Read src/orders.py. Reply with only its first line.", "import math"),
        ] {
            assert_eq!(worth_of(prompt, reply), Worth::None, "{prompt}");
        }
    }

    #[test]
    fn a_short_question_is_worth_remembering() {
        for (prompt, reply) in [
            ("Answer only yes or no: does the cache expire?", "Yes."),
            ("What does average_item_price do? One sentence.", "It calculates the mean price."),
            ("Reply with the name of the function in `src/orders.py` only", "average_item_price"),
            ("commit", "Committed."),
            ("Read the log and say in which line of it the first error stands.", "In line 12."),
            ("What is 3306 used for?", "MySQL's port."),
        ] {
            assert_eq!(worth_of(prompt, reply), Worth::Full, "{prompt}");
        }
    }
}
