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

/// A plan that somebody wrote for the agent: what it is called and what it is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub title: String,
    /// The first sentences of its goal or context.
    pub goal: Vec<String>,
}

/// Whether a prompt is not the person's: a program wrote it for an agent that reviews, approves or
/// summarizes, a hook or a command speaks through it, or it repeats what was said before.
pub fn is_template(prompt: &str) -> bool {
    static TEMPLATE: StaticRegex = StaticRegex::new(
        r"(?xi)^(?:
            the\ following\ is\ the\ (?:\w+\ )?agent\ history
          | (?:please\ )?(?:summari[sz]e|analy[sz]e)\ (?:this\ part\ of\ a|the\ following|this|our)\ (?:conversation|session|transcript)
          | you\ are\ (?:reviewing|performing|judging|deciding|evaluating|assessing|summari[sz]ing)\b
          | you\ are\ (?:a|an|the)\ (?:\w+\ ){0,3}(?:reviewer|judge|classifier|summari[sz]er|approver|guardian|grader|subagent)\b
          | review\ (?:all\ )?(?:the\ )?(?:uncommitted|current|staged)\ (?:code\ )?changes\b
          | this\ session\ is\ being\ continued
          | caveat:\ the\ messages\ below
          | \[request\ interrupted | \[system | \[hook
          | operation\ stopped\ by\ hook
          | (?:stop|pre\w*|post\w*|session\w*)\ hook\ (?:feedback|output|error|blocked)
          | base\ directory\ for\ this\ skill
          | <(?:system|task-|command-|local-command|user_action|user-prompt|hook|teammate|turn_aborted|subagent|bash-|skill)
          | verify\b.{0,80}\bblockers?\ only
          | perform\ a\ (?:final|focused|post)\S*\ (?:\w+\ ){0,3}review\b
          | your\ task\ is\ to\ (?:create\ a\ detailed\ summary|summari[sz]e|analy[sz]e\ (?:this|the)\ (?:conversation|session))
        )",
    );
    TEMPLATE.is_match(own_words(prompt).trim_start())
}

/// The plan that a text is, or that a prompt hands over: a heading near its top, after a few words
/// at most ("Implement the following plan:").
pub fn plan(said: &str) -> Option<Plan> {
    static KIND: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:implementation|design|execution|migration|refactoring|feature|revised|updated|final)\s+)?(?:plan|task|spec|proposal|prd|goal)(?:\s+\d+)?\s*[:–—-]\s*",
    );
    static TAIL: StaticRegex = StaticRegex::new(r"(?i)\s+(?:[-–—]\s+)?(?:implementation\s+)?plan$");
    if !said.contains("# ") {
        return None;
    }
    let words = own_words(said);
    let mut before = 0;
    let mut lines = words.lines();
    let heading = loop {
        let line = lines.next()?.trim();
        if let Some(heading) = line.strip_prefix("# ") {
            break heading;
        }
        before += line.split_whitespace().count();
        if before > 14 || line.starts_with("```") {
            return None;
        }
    };
    let title = markdown::strip_marks(heading).replace('`', "");
    // Only one of the two says that it is a plan; the other is part of what it is called.
    let title = match KIND.find(title.trim()) {
        Some(kind) => title.trim()[kind.end()..].to_string(),
        None => TAIL.replace(&title, "").into_owned(),
    };
    let title = text::clause(&title, 110);
    let rest = &words[words.find(heading)? + heading.len()..];
    (words::telling(&title).len() >= 2).then(|| Plan { title, goal: goal(rest) })
}

/// The first sentences of the section of a plan that says what it is for.
fn goal(plan: &str) -> Vec<String> {
    static SECTION: StaticRegex = StaticRegex::new(
        r"(?i)^(?:#{2,4}\s+|\*\*)(?:\d+[.)]\s*)?(?:overview|goals?|context|problem|summary|objective|background|purpose|motivation|what)\b[^\n]{0,40}$",
    );
    static LABEL: StaticRegex = StaticRegex::new(
        r"(?i)^\*\*(?:goal|objective|purpose|context|problem)s?:?\*\*:?\s+(\S.+)$",
    );
    let mut section = String::new();
    let mut inside = false;
    for line in plan.lines().take(120) {
        let start = line.trim();
        if let Some(label) = LABEL.captures(start) {
            section.push_str(&label[1]);
            break;
        }
        if inside && (start.starts_with('#') || start.starts_with("```")) {
            break;
        }
        if inside {
            section.push_str(line);
            section.push('\n');
        }
        inside |= SECTION.is_match(start);
    }
    let sentences = text::sentences(&section).map(markdown::strip_marks);
    sentences.filter(|sentence| sentence.split_whitespace().count() >= 4).take(3).collect()
}

/// What the person said themselves: without pasted output, code, pictures and addresses. Empty
/// where the whole prompt is a paste.
pub fn spoken(prompt: &str) -> String {
    let words = own_words(prompt);
    let mut said = String::new();
    let mut fence = false;
    // What a program printed goes on until the paragraph ends or somebody types in lower case.
    let mut printing = false;
    for line in words.lines().take(400) {
        let start = line.trim();
        if start.starts_with("```") || start.starts_with("~~~") {
            fence = !fence;
            continue;
        }
        if fence {
            continue;
        }
        // A terminal's frame begins where the person's words end.
        let framed = start.find(['┃', '│', '╭', '╰', '║']).unwrap_or(start.len());
        let (lead, frame) = start.split_at(framed);
        let own = if frame.is_empty() { line } else { lead };
        printing &= !start.is_empty() && !start.starts_with(char::is_lowercase);
        let pasted = is_pasted(own.trim_end());
        if !pasted && !printing && (frame.is_empty() || own.split_whitespace().count() >= 3) {
            said.push_str(own.trim());
        }
        printing |= pasted;
        said.push('\n');
    }
    let said = if said.contains("http") || said.contains("[Image") {
        said.lines().map(without_addresses).collect::<Vec<_>>().join("\n")
    } else {
        said
    };
    said.trim().to_string()
}

/// A line without pictures and addresses; within a sentence a pull request, an issue or a
/// repository is given by its name, so that no hole is left.
fn without_addresses(line: &str) -> String {
    static ADDRESS: StaticRegex = StaticRegex::new(r"<?https?://[^\s<>]+>?|\[Image[^\]]{0,40}\]");
    static NUMBERED: StaticRegex = StaticRegex::new(r"/(pull|pulls|merge_requests|issues)/(\d+)");
    static REPOSITORY: StaticRegex = StaticRegex::new(
        r"^<?https?://(?:www\.)?(?:github|gitlab|codeberg|bitbucket)\.\w+/([\w.-]+/[\w.-]*\w)/?>?[).,;:]*$",
    );
    let mut said = String::with_capacity(line.len());
    let mut from = 0;
    for found in ADDRESS.find_iter(line) {
        said.push_str(&line[from..found.start()]);
        from = found.end();
        let alone = !said.contains(char::is_alphabetic)
            && !line[from..].contains(|c: char| c.is_alphabetic());
        if alone {
            continue;
        }
        let before = said.trim_end().to_lowercase();
        let named = |kind: &str, names: &[&str], number: &str| {
            let is_said = names.iter().any(|name| before.ends_with(name));
            if is_said { format!("#{number}") } else { format!("{kind} #{number}") }
        };
        if let Some(parts) = NUMBERED.captures(found.as_str()) {
            said.push_str(&match &parts[1] {
                "issues" => named("issue", &["issue"], &parts[2]),
                _ => named("PR", &["pr", "pull request"], &parts[2]),
            });
        } else if let Some(parts) = REPOSITORY.captures(found.as_str()) {
            said.push_str(parts[1].trim_end_matches(".git"));
        }
    }
    said.push_str(&line[from..]);
    said
}

/// Whether a line was printed by a program rather than typed.
fn is_pasted(line: &str) -> bool {
    static PRINTED: StaticRegex = StaticRegex::new(
        r#"(?x)^\s*(?: [➜❯»⏺⎿●✓✗✖✔⚠] | \$\ | %\ | >>> | \.\.\.\ | at\ \S+\ \( | at\ \S+:\d | File\ " | Traceback | (?i:error|fatal|warning|hint|note|debug|info)(?:\[\w+\])?: | npm\ (?i:err|warn)
              | \d+[:|]\s | \d+→ | \+\s | @@ | diff\ -- | \w+Error: | \{ | \} | </?\w | \[?\d{4}-\d\d-\d\d | \[\d\d:\d\d | \|.*\| | \w[\w.-]*@[\w-]+: | Run\ \w+/ | \#\#\[ | On\ branch\  )"#,
    );
    let start = line.trim_start();
    if start.is_empty() {
        return false;
    }
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let drawn = line.contains("───") || line.contains("━━━") || start.contains("      ");
    let letters = start.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let symbols = start.chars().count() > 12 && letters * 10 < start.chars().count() * 6;
    indented || drawn || symbols || PRINTED.is_match(line)
}

/// The wishes of a prompt, sentence by sentence, in the person's words but without the courtesies
/// around them. Empty where it says nothing by itself: an acknowledgement, a paste, a template.
pub fn wishes(prompt: &str) -> Vec<String> {
    if is_template(prompt) {
        return Vec::new();
    }
    let said = spoken(prompt);
    let sentences = text::sentences(&said).map(|sentence| {
        let sentence = text::one_line(&job(&markdown::strip_marks(sentence)), 600);
        without_courtesy(&sentence).to_string()
    });
    let wishes = sentences.filter(|sentence| {
        !is_small_talk(sentence)
            && !is_pleasantry(sentence)
            && !is_void(sentence)
            && !is_role(sentence)
    });
    wishes.take(24).collect()
}

/// Whether a prompt asks something rather than for something.
pub fn is_question(prompt: &str) -> bool {
    static ASKS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:so|ok|and|also)[, ]+)?(?:in \w+ )?(?:what|why|how|which|where|who|when|is|are|does|do|did|was|were|can|could|should|has|have)\b",
    );
    let said = spoken(prompt);
    said.trim_end().ends_with(['?', '？']) || ASKS.is_match(&said)
}

/// Whether a prompt wants to know something, rather than have something done ("Could you …?").
pub fn asks_to_know(prompt: &str) -> bool {
    static ASKS: StaticRegex = StaticRegex::new(
        r"(?i)^(?:(?:so|ok|and|also|but)[, ]+)?(?:what|why|how|which|where|who|when|is|are|does|do|did|was|were)\b",
    );
    ASKS.is_match(&spoken(prompt))
}

/// Whether a wish begins as one speaks to somebody, or points at what stands elsewhere: "are they
/// still …", "i think we …"; no wish that says what to do: "update the lock in all places".
pub fn opens_as_chat(wish: &str) -> bool {
    static CHAT: StaticRegex = StaticRegex::new(
        r"(?i)^(?:i\b|i['’]|we\b|you\b|he\b|she\b|it\b|its\b|it['’]|that\b|this\b|these\b|those\b|they\b|there\b|here\b|is\b|are\b|was\b|were\b|do\b|does\b|did\b|has\b|have\b|had\b|can\b|could\b|would\b|will\b|should\b|shall\b|may\b|if\b|or\b|and\b|but\b|so\b|then\b|also\b|because\b|since\b|as\b|for\b|in\b|on\b|at\b|by\b|with\b|from\b|to\b|what|why\b|how\b|where|which\b|who|when|ok\b|okay\b|yes\b|no\b|not\b|now\b|hey\b|hi\b|hmm|please\b|let\b|lets\b|let['’]|maybe\b|perhaps\b|actually\b|wait\b|sure\b|thanks?\b|great\b|nice\b|good\b|sorry\b|look\b|basically\b|just\b|my\b|your\b|our\b|the (?:issue|problem|thing)\b|right\b|oh\b|well\b|seems?\b|looks?\b|eval this\b|reply\b|respond\b|/)",
    );
    CHAT.is_match(wish)
}

/// Whether a sentence only says yes, go on or commit.
pub fn is_void(sentence: &str) -> bool {
    static VOID: StaticRegex = StaticRegex::new(
        r"(?i)^(?:/\w*|y|n|yes|yep|yeah|no|nope|ok(?:ay)?|sure|k|\d|continue|go(?: on| ahead)?|do it|do so|sleep|commit(?: a| it| this| now| and push(?: it)?)?|push(?: it| this)?|proceed|merge(?: it| this)?|remove it|done|retry|try again|again|next|exit|quit|stop|wait|perfect|great|nice|cool|good|thanks?|thank you|sorry.*wrong chat|.{0,2})(?:,? (?:please|now|then|thanks))*[.!?]*$",
    );
    VOID.is_match(sentence.trim())
}

/// A wish without "could you please", "I want you to" and the like before it.
pub fn without_courtesy(sentence: &str) -> &str {
    static COURTESY: StaticRegex = StaticRegex::new(
        r"(?xi)^(?:
            (?:ok(?:ay)?|alright|right|so|hey|hi|hello|hmm+|well|great|good|perfect|yes|yeah|no|thanks|cool|nice|also|actually|q)(?:[,.:!;]+\s*|\s*[-–—]+\s+)
          | (?:ok(?:ay)?|alright|so|hey|hi|hello|hmm+|well|yes|yeah|now|also|and|but|actually|then)\s+
          | (?:please|pls|kindly|just)\s+
          | (?:can|could|would|will)\ (?:you|we)(?:\ please)?(?:\ also)?(?:\ just)?\s+
          | i(?:'d|’d|\ would)\ like\ (?:you\ |us\ )?to\s+ | i\ (?:want|need)\ (?:you\ )?to\s+
          | (?:basically|i\ (?:think|believe|guess))(?:,|\ that)?\s+ | we\ (?:should|need\ to|have\ to)\s+ | you\ (?:should|need\ to)\s+
          | let['’]?s\s+ | help\ me\ (?:to\ )? | go\ ahead\ and\s+ | try\ to\s+ | task:\s*
        )",
    );
    let mut rest = sentence.trim();
    while let Some(found) = COURTESY.find(rest).map(|found| found.end()) {
        let shorter = rest[found..].trim_start();
        if shorter.split_whitespace().count() < 2 {
            break;
        }
        rest = shorter;
    }
    rest
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
    if is_template(prompt) {
        return false;
    }
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

    #[test]
    fn what_programs_wrote_is_no_wish_of_a_person() {
        for template in [
            "The following is the Robot agent history whose request action you are assessing.",
            "Summarize this part of a conversation between a user and an agent.",
            "You are a strict code reviewer. Find blockers.",
            "You are judging one planned coding-agent action.",
            "Review uncommitted changes for the deploy provider.",
            "This session is being continued from a previous conversation that ran out of context.",
            "Stop hook feedback:\n- run the tests",
            "Operation stopped by hook: another tide is running",
            "<task-notification>done</task-notification>",
            "[Request interrupted by user]",
        ] {
            assert!(is_template(template), "{template}");
            assert!(!is_specific(template) && wishes(template).is_empty(), "{template}");
        }
        for own in [
            "You are right, the lock is never freed. Free it.",
            "review the lock and tell me whether two writers can hold it",
            "the following is what i see when it starts: nothing",
            "summarize the changes of this branch for the release notes",
            "verify that the header is written under the lock",
        ] {
            assert!(!is_template(own), "{own}");
        }
    }

    #[test]
    fn a_plan_has_a_title_and_a_goal() {
        let plan = |said: &str| plan(said).unwrap_or_default();
        let found = plan(
            "Implement the following plan:\n\n# Plan: Lock the day log\n\n## Context\n\nTwo writers lose lines. The header comes late.\n\n## Steps\n1. lock",
        );
        assert_eq!(found.title, "Lock the day log");
        assert_eq!(found.goal, ["Two writers lose lines.", "The header comes late."]);
        assert_eq!(
            plan("# Day Log Locking Implementation Plan\n\n**Goal:** No line is lost.").goal,
            ["No line is lost."]
        );
        assert_eq!(plan("# Plan: Shorten the Harbour Plan").title, "Shorten the Harbour Plan");
        assert_eq!(
            plan("# Task 3: `append` waits for the lock").title,
            "append waits for the lock"
        );
        for none in [
            "fix the lock, see below\n```\n# a comment of a script\n```",
            "Here is a long story of how the lock was never taken and what came of it in the end\n# Title of it",
            "#12 is the issue",
            "no heading at all",
        ] {
            assert_eq!(plan(none), Plan::default(), "{none}");
        }
    }

    #[test]
    fn pastes_are_not_spoken() {
        let said = |prompt: &str| spoken(prompt);
        assert_eq!(
            said(
                "why do i get this?\n➜ app git:(main) git push\nerror: no hook found\n    at run (a.js:3)\nfix it"
            ),
            "why do i get this?\n\n\n\nfix it"
        );
        assert_eq!(
            said("look at why i get Check the hook ┃ │ cd /home/x && git status"),
            "look at why i get Check the hook"
        );
        assert_eq!(
            said("➜ app git push\nfatal: no remote\n- To silence this, run x\nYou can also"),
            ""
        );
        assert_eq!(said("error: no hook\n\nWhy is that?"), "Why is that?");
        assert_eq!(said("see https://git.example/a/b/pull/12 please"), "see PR #12 please");
        assert_eq!(
            said(
                "In PR https://git.example/a/b/pull/12 we lost it, as in https://github.com/a/tide"
            ),
            "In PR #12 we lost it, as in a/tide"
        );
        assert_eq!(said("close https://git.example/a/b/issues/3"), "close issue #3");
        assert_eq!(said("fix it\nhttps://git.example/a/b/pull/12\n"), "fix it");
        assert_eq!(said("why? https://git.example/runs/12"), "why?");
        assert_eq!(
            said("- keep the lock\n- free it at the end"),
            "- keep the lock\n- free it at the end"
        );
    }

    #[test]
    fn wishes_come_without_courtesies() {
        let first = |prompt: &str| wishes(prompt).into_iter().next().unwrap_or_default();
        assert_eq!(first("Hi! ok, could you please lock the day log?"), "lock the day log?");
        assert_eq!(first("I want you to lock the day log."), "lock the day log.");
        assert_eq!(first("yes. Now lock the day log"), "lock the day log");
        assert_eq!(first("no padding around the table"), "no padding around the table");
        assert_eq!(first("yes"), "");
        assert_eq!(first("บันทึกไฟล์ให้ปลอดภัยเมื่อมีผู้เขียนสองคน"), "บันทึกไฟล์ให้ปลอดภัยเมื่อมีผู้เขียนสองคน");
    }

    #[test]
    fn questions_want_to_know_or_to_have() {
        for (prompt, asks, knows) in [
            ("why is the header written twice?", true, true),
            ("so, is it safe now?", true, true),
            ("could you lock the header?", true, false),
            ("and the same for the weeks?", true, false),
            ("lock the header", false, false),
        ] {
            assert_eq!((is_question(prompt), asks_to_know(prompt)), (asks, knows), "{prompt}");
        }
    }
}
