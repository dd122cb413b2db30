//! Prompts: what a person asked for, in their own words, without what programs put around them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::base::static_regex::StaticRegex;
use crate::base::{markdown, text};
use crate::distill::words;

/// A sentence shorter than this says little without the next one.
const SHORT_SENTENCE: usize = 25;

/// The words that the person typed: without the context that an editor puts before them, the
/// markers of a prompt template, and the quotes of a shell around the whole.
pub fn own_words(prompt: &str) -> Cow<'_, str> {
    static MARKER: StaticRegex = StaticRegex::new(
        r"(?m)^[ \t]*(?:\[\[ ## \w+ ## \]\]|@\[\w+\]:|\[\d+ image\(s\)\])[ \t]*$|\s*\[\d+ image\(s\)\]\s*$",
    );
    let mut words = prompt.trim();
    if let Some((_, request)) = words.split_once("## My request for Codex:") {
        words = request.trim();
    }
    while let Some(rest) = after_block(words) {
        words = rest;
    }
    for quote in ['"', '\'', '“'] {
        let closing = if quote == '“' { '”' } else { quote };
        let inner = words.strip_prefix(quote).and_then(|words| words.strip_suffix(closing));
        if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
            words = inner.trim();
        }
    }
    match MARKER.replace_all(words, "") {
        Cow::Borrowed(same) => Cow::Borrowed(same.trim()),
        Cow::Owned(changed) => match changed.trim() {
            "" => Cow::Borrowed(words),
            plain => Cow::Owned(plain.to_string()),
        },
    }
}

/// What a prompt asks for, in one line of at most `most_chars`: its first meaningful sentence, and
/// with `fill` as many more as fit. "Implement the following plan:" gives way to the plan's title,
/// and a role that the agent is given ("You are a reviewer.") to the job.
pub fn request(prompt: &str, most_chars: usize, fill: bool) -> String {
    let words = own_words(prompt);
    let mut sentences =
        text::sentences(&words).map(|sentence| job(&markdown::strip_marks(sentence))).peekable();
    let mut said = String::new();
    while let Some(sentence) = sentences.next() {
        let last = sentences.peek().is_none();
        if said.is_empty()
            && !last
            && (is_role(&sentence) || is_small_talk(&sentence) || is_pleasantry(&sentence))
        {
            continue;
        }
        let open = said.is_empty() || said.ends_with(':') || said.chars().count() < SHORT_SENTENCE;
        // A heading or a label is not part of the wish.
        let whole = last || sentence.ends_with(['.', '!', '?', '。', '！', '？']);
        let fits = fill && whole && said.chars().count() + sentence.chars().count() < most_chars;
        if !open && !fits {
            break;
        }
        if is_lead_in(&said) {
            let title = sentence
                .strip_prefix("Plan")
                .map_or(sentence.as_str(), |rest| rest.trim_start_matches([':', ' ', '-', '–']));
            said = format!("Implement the plan: {title}");
            // A plan's title says it; what follows explains it.
            break;
        } else {
            let gap = match said.chars().last() {
                None => "",
                Some('.' | '!' | '?' | ':' | ',' | '。') => " ",
                Some(_) => ". ",
            };
            said = format!("{said}{gap}{sentence}");
        }
    }
    if said.is_empty() {
        said = words.to_string();
    }
    text::one_line(&said, most_chars)
}

/// What follows a leading `<environment_context>…</environment_context>`, where anything does.
fn after_block(words: &str) -> Option<&str> {
    let rest = words.strip_prefix('<')?;
    let name = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')?];
    let end = format!("</{name}>");
    let after = rest[rest.find(&end)? + end.len()..].trim();
    (!name.is_empty() && !after.is_empty()).then_some(after)
}

/// "Your job is to review code" is "Review code".
fn job(sentence: &str) -> String {
    for start in ["Your job is to ", "Your task is to ", "You will "] {
        if let Some(job) = sentence.strip_prefix(start) {
            let mut letters = job.chars();
            return letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect())
                .unwrap_or_default();
        }
    }
    sentence.to_string()
}

fn is_role(sentence: &str) -> bool {
    sentence.starts_with("You are ") || sentence.starts_with("Act as ")
}

/// Whether a sentence only greets, thanks or cheers: "Hey Ann, good to see you!", "Long time no
/// see!".
fn is_pleasantry(sentence: &str) -> bool {
    static PLEASANTRY: LazyLock<Regex> = LazyLock::new(|| {
        const NAME: &str =
            r"(?:(?-i:[A-Z][\w-]+)|there|again|all|everyone|guys|folks|team|buddy|please)";
        const CLAUSE: &str = r"(?:(?:it['’]?s )?(?:so )?(?:good|great|nice|lovely) to (?:see|hear|talk)\b.{0,30}|how['’]?(?:s|ve|re| is| are| have)? (?:it|you|things|everything|life)\b.{0,20}|what['’]?s (?:up|new|going on)\b.{0,20}|long time no (?:see|talk|chat)|hope (?:you|all|everything)\b.{0,30})";
        const CHEER: &str = r"(?:wow|yay|woo\w*|oh|ah|cool|great|nice|awesome|amazing|perfect|absolutely|definitely|totally|yeah|yep|yes|sure|ok|okay|(?:thanks|thank you|cheers|congrats|congratulations)(?: so much| a lot)?|that['’]?s (?:so |really )?(?:great|awesome|amazing|cool|nice|wonderful|good))";
        const GREETING: &str = "(?:hey|hi|hello|hiya|yo|good (?:morning|afternoon|evening))";
        Regex::new(&format!(
            r"(?i)^(?:\w{{1,20}}: )?(?:{GREETING}(?:,? {NAME})?(?:[,!. ]+{CLAUSE})?|{CLAUSE}|{CHEER}(?:,? {NAME})?)[!.?… ]*$"
        ))
        .expect("a fixed pattern")
    });
    sentence.len() < 100 && PLEASANTRY.is_match(sentence)
}

fn is_lead_in(said: &str) -> bool {
    static LEAD_IN: StaticRegex = StaticRegex::new(
        r"(?i)^(?:please )?(?:implement|execute|follow|carry out) (?:the|this) (?:following )?plan\b.{0,20}:$",
    );
    LEAD_IN.is_match(said)
}

/// Whether a prompt says by itself what it is about.
pub fn is_specific(prompt: &str) -> bool {
    const EMPTY: &[&str] = &[
        "continue", "proceed", "ahead", "yes", "yeah", "yep", "sure", "okay", "please", "next",
        "step", "steps", "both", "left", "commit", "push", "draft", "changes", "again", "retry",
        "sounds", "good", "great", "thanks", "option", "options", "lets", "let's", "done",
        "finish", "start", "exit", "quit", "back", "main", "where", "can", "off", "mode", "clear",
        "model", "resume", "compact", "create",
    ];
    let words = own_words(prompt);
    let mut weighty = 0;
    text::each_word(text::cut(&words, 400), |word| {
        weighty += u32::from(
            word.whole && words::weight(&word.text) > 0.0 && !EMPTY.contains(&word.text.as_ref()),
        );
    });
    let enough = weighty >= 2 || (weighty == 1 && words.split_whitespace().count() >= 4);
    enough && !text::sentences(text::cut(&words, 400)).all(is_pleasantry)
}

/// Whether a prompt is a greeting, a thank-you or a farewell and nothing else.
pub fn is_small_talk(prompt: &str) -> bool {
    const WORDS: &[&str] = &[
        "hi", "hello", "hey", "yo", "hiya", "howdy", "there", "again", "good", "morning",
        "afternoon", "evening", "day", "night", "ok", "okay", "thanks", "thank", "you", "thx",
        "ty", "cheers", "great", "nice", "cool", "perfect", "bye", "goodbye", "exit", "quit",
        "ping", "pong", "test", "testing", "say", "are", "claude", "codex", "gemini", "copilot",
        "so", "much", "very", "well", "done", "how", "what's", "up", "hallo", "hola", "bonjour",
        "moin", "servus", "danke", "ciao", "salut", "merci", "gracias", "你好", "谢谢", "привет",
        "спасибо",
    ];
    let words = prompt.to_lowercase();
    let mut words = words
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .peekable();
    let any = words.peek().is_some();
    any && prompt.chars().count() <= 40 && words.all(|word| WORDS.contains(&word))
}

/// Whether a command is about the program rather than about the work.
pub fn is_housekeeping(command: &str) -> bool {
    const COMMANDS: &str = "/clear /compact /exit /quit /model /mode /help /resume /login \
        /logout /config /cost /status /memory /permissions /theme /vim /doctor /usage /context \
        /rename /export /plugin /hooks /mcp /agents /ide /terminal-setup /rate-limit-options";
    command.split_whitespace().next().is_some_and(|word| words::is_in(COMMANDS, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prompt: &str, expect: &str) {
        assert_eq!(request(prompt, 120, false), expect);
    }

    #[test]
    fn a_wish_is_in_the_persons_own_words() {
        check(
            "Make appends safe. Two writers lose lines.",
            "Make appends safe. Two writers lose lines.",
        );
        check("Make appends to the day log safe. Then go on.", "Make appends to the day log safe.");
        check(
            "Implement the following plan:\n\n# Plan: Add a confirmation\n\n## Context\nUsers click.",
            "Implement the plan: Add a confirmation",
        );
        check(
            "You are a code reviewer. Your job is to review code changes and provide feedback.\n---\nInput: x",
            "Review code changes and provide feedback.",
        );
        check(
            "Hi!\n\nwhy does the cache never expire in production?",
            "why does the cache never expire in production?",
        );
        check(
            "I just got this during a rebase:\n\nfatal: bad object",
            "I just got this during a rebase: fatal: bad object",
        );
        check(
            "<environment_context>\ncwd\n</environment_context>\nfix the flaky login test please",
            "fix the flaky login test please",
        );
        check(
            "[[ ## user_query ## ]]\nWhat is the longest river of Europe?",
            "What is the longest river of Europe?",
        );
        check(
            "\"In src/orders.py return 0 for an empty cart\"",
            "In src/orders.py return 0 for an empty cart",
        );
        check("what is this an image of? [1 image(s)]", "what is this an image of?");
        check("Hello", "Hello");
        check(
            "Hey Ann! Good to see you! How have you been? The tide tables are off by an hour.",
            "The tide tables are off by an hour.",
        );
        check("Ann: Hey Bo, what's up?", "Ann: Hey Bo, what's up?");
        check("Yes please go deeper. And add a test.", "Yes please go deeper. And add a test.");
        check("hey fix the lock. It never opens.", "hey fix the lock. It never opens.");
        check(
            "Great to have a lock. Where is it taken?",
            "Great to have a lock. Where is it taken?",
        );
        check("", "");
    }

    #[test]
    fn some_prompts_need_the_others_to_be_understood() {
        for prompt in [
            "continue",
            "yes",
            "commit",
            "q",
            "do both please",
            "ok lets get back to main",
            "/clear",
            "Thanks!",
            "Ann: Hey Bartholomew, how have you been since June?",
        ] {
            assert!(!is_specific(prompt), "{prompt}");
        }
        for prompt in [
            "fix the flaky login test",
            "was there any work on AES-CTR encryption?",
            "update go to 1.25.6",
        ] {
            assert!(is_specific(prompt), "{prompt}");
        }
    }
}
