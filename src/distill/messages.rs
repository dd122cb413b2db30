//! Messages: what a command says about the work that it records: the message of a commit, the title
//! and the text of a pull request.

use crate::base::static_regex::StaticRegex;
use crate::base::text;
use crate::distill::lists;

/// A message, taken out of the command that wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    pub subject: String,
    /// What stands below the subject, as it was written.
    pub body: String,
}

/// How much of a message is read.
const LONGEST: usize = 16 << 10;
/// How many of its points are kept, and how long each may be.
const MOST_POINTS: usize = 8;
const LONGEST_POINT: usize = 300;

/// The message of a commit, where the command has it.
pub fn of_commit(command: &str) -> Option<Message> {
    static COMMIT: StaticRegex = StaticRegex::new(r"\bgit\s+(?:-\S+\s+\S+\s+)*commit\b");
    let from = COMMIT.find(command)?.end();
    let mut said: Vec<String> = Vec::new();
    let mut words = Words { rest: &command[from..] };
    while let Some(word) = words.next() {
        let flag = word.as_str();
        if let Some(message) = flag.strip_prefix("--message=") {
            said.push(message.to_string());
        } else if flag == "--message" || is_short_flag(flag, 'm') {
            said.extend(words.next());
        } else if matches!(flag, "&&" | "||" | ";" | "|") {
            break;
        }
    }
    let whole = if said.is_empty() { heredoc(&command[from..])? } else { said.join("\n\n") };
    split(&whole)
}

/// The title and the text of a pull request that a command opens or changes.
pub fn of_pull_request(command: &str) -> Option<Message> {
    static OPENS: StaticRegex =
        StaticRegex::new(r"\b(?:gh\s+pr|glab\s+mr|tea\s+pr)\s+(?:create|edit|new|update)\b");
    let from = OPENS.find(command)?.end();
    let (mut subject, mut body) = (String::new(), String::new());
    let mut words = Words { rest: &command[from..] };
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_string(), Some(value)),
            _ => (word.clone(), None),
        };
        let mut value = || value.map(str::to_string).or_else(|| words.next()).unwrap_or_default();
        match flag.as_str() {
            "--title" | "-t" => subject = value(),
            "--body" | "-b" | "--description" | "-d" => body = value(),
            "--body-file" | "-F" => {
                // The text was written into that file by the same command, or comes from it.
                if let Some(written) = heredoc(command) {
                    body = written;
                }
            }
            "&&" | "||" | ";" => break,
            _ => {}
        }
    }
    let body = text::cut(body.trim(), LONGEST).to_string();
    let subject = text::one_line(&subject, 200);
    (!subject.is_empty() || !body.is_empty()).then_some(Message { subject, body })
}

impl Message {
    /// The whole message, as it was written.
    pub fn whole(&self) -> String {
        match (self.subject.is_empty(), self.body.is_empty()) {
            (_, true) => self.subject.clone(),
            (true, _) => self.body.clone(),
            _ => format!("{}\n\n{}", self.subject, self.body),
        }
    }

    /// What it says below its subject, point by point; where it has no list, its sentences.
    pub fn points(&self) -> Vec<String> {
        static ASIDE: StaticRegex = StaticRegex::new(
            r"(?i)^(?:test|how to test|verif|check|screenshot|todo|next|remaining|note|related|issue|closes|reviewer)",
        );
        let body = without_trailers(&self.body);
        let points: Vec<String> = lists::points(&body)
            .into_iter()
            .filter(|point| !ASIDE.is_match(&point.heading))
            .map(|point| point.text)
            .collect();
        let listed = if points.is_empty() {
            let prose = body.lines().filter(|line| !line.starts_with('#') && !lists::is_item(line));
            let prose = prose.collect::<Vec<_>>().join("\n");
            text::sentences(&prose).map(str::to_string).collect()
        } else {
            points
        };
        listed
            .into_iter()
            .map(|point| text::clause(point.trim_end_matches(['.', ';', ',']), LONGEST_POINT))
            .filter(|point| point.split_whitespace().count() >= 3)
            .take(MOST_POINTS)
            .collect()
    }
}

fn split(whole: &str) -> Option<Message> {
    let whole = text::cut(whole.trim(), LONGEST);
    let (subject, body) = whole.split_once('\n').unwrap_or((whole, ""));
    let subject = text::one_line(subject, 200);
    (!subject.is_empty()).then(|| Message { subject, body: body.trim().to_string() })
}

/// A body without what programs put below it: `Co-Authored-By: …`, `Change-Id: …`.
fn without_trailers(body: &str) -> String {
    static TRAILER: StaticRegex =
        StaticRegex::new(r"^[A-Z][A-Za-z]+(?:-[A-Za-z]+)+: |^🤖|^Closes #|^Fixes #");
    let kept = body.lines().filter(|line| !TRAILER.is_match(line.trim()));
    kept.collect::<Vec<_>>().join("\n")
}

/// Whether a word is a bundle of short options that ends in one that takes a value: `-am`.
fn is_short_flag(word: &str, last: char) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.len() <= 4
        && letters.ends_with(last)
        && letters.chars().all(|letter| letter.is_ascii_lowercase())
}

/// The first document that a command holds: `<<'EOF' … EOF`.
fn heredoc(command: &str) -> Option<String> {
    static OPENS: StaticRegex = StaticRegex::new(r#"<<-?\s*\\?['"]?(\w+)['"]?[^\n]*\n"#);
    let opens = OPENS.captures(command)?;
    let end = &opens[1];
    let text = &command[opens.get(0)?.end()..];
    let lines = text.lines().take_while(|line| line.trim().trim_end_matches([')', '"']) != end);
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The words of a shell command, without their quotes.
struct Words<'c> {
    rest: &'c str,
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\\']);
        if self.rest.is_empty() {
            return None;
        }
        let mut word = String::new();
        loop {
            match self.rest.chars().next() {
                None => break,
                Some(end) if end.is_whitespace() => break,
                Some('"') => word.push_str(&self.in_double_quotes()),
                Some('\'') => word.push_str(&self.until('\'', 1)),
                Some('$') if self.rest.starts_with("$'") => {
                    word.push_str(&self.until('\'', 2).replace("\\n", "\n"));
                }
                // PowerShell's own kind of document.
                Some('@') if self.rest.starts_with("@'\n") || self.rest.starts_with("@\"\n") => {
                    let end = if self.rest.starts_with("@'") { "\n'@" } else { "\n\"@" };
                    let text = &self.rest[3..];
                    let at = text.find(end).unwrap_or(text.len());
                    word.push_str(&text[..at]);
                    self.rest = text.get(at + end.len()..).unwrap_or_default();
                }
                Some('\\') => {
                    let mut letters = self.rest.chars();
                    letters.next();
                    word.extend(letters.next());
                    self.rest = letters.as_str();
                }
                Some(letter) => {
                    word.push(letter);
                    self.rest = &self.rest[letter.len_utf8()..];
                }
            }
        }
        Some(word)
    }
}

impl Words<'_> {
    fn until(&mut self, end: char, from: usize) -> String {
        let text = &self.rest[from..];
        let at = text.find(end).unwrap_or(text.len());
        self.rest = text.get(at + end.len_utf8()..).unwrap_or_default();
        text[..at].to_string()
    }

    fn in_double_quotes(&mut self) -> String {
        // `"$(cat <<'EOF' … EOF )"`: the document is the word.
        let after = self.rest[1..].trim_start();
        if after.starts_with("$(cat <<")
            && let Some(text) = heredoc(after)
        {
            let end = after.find(text.as_str()).map_or(after.len(), |at| at + text.len());
            let close = after[end..].find(")\"").map_or(after.len(), |at| end + at + 2);
            self.rest = &after[close..];
            return text;
        }
        let mut word = String::new();
        let mut letters = self.rest[1..].chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => break,
                '\\' => match letters.next() {
                    Some(escaped) if "\"\\$`".contains(escaped) => word.push(escaped),
                    Some('\n') => {}
                    Some(other) => word.extend(['\\', other]),
                    None => {}
                },
                letter => word.push(letter),
            }
        }
        self.rest = letters.as_str();
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn commit(command: &str) -> (String, Vec<String>) {
        let message = of_commit(command).expect("the command has a message");
        (message.subject.clone(), message.points())
    }

    #[test]
    fn a_commits_message_is_taken_whole() {
        let (subject, points) = commit(
            "cd x && git add -A && git commit -m \"$(cat <<'EOF'\nfix(day): lock before the header\n\nTwo writers both saw no file.\n- take the lock first, even\n  where the file is new\n- `append` waits for it\n\nCo-Authored-By: A Robot <robot@example.org>\nEOF\n)\" && git push",
        );
        assert_eq!(subject, "fix(day): lock before the header");
        assert_eq!(
            points,
            ["take the lock first, even where the file is new", "`append` waits for it"]
        );
        assert_eq!(
            commit(
                "git commit -am 'drop the \"old\" cache' -m 'It was never read. Nobody misses it.'"
            ),
            (
                "drop the \"old\" cache".into(),
                vec!["It was never read".into(), "Nobody misses it".into()]
            )
        );
        assert_eq!(commit("git commit --amend -m \"say \\\"yes\\\"\"").0, "say \"yes\"");
        assert_eq!(commit("git commit -F - <<EOF\none line\nEOF").0, "one line");
        assert_eq!(
            commit("git commit -m @'\nfrom a shell of windows\n'@").0,
            "from a shell of windows"
        );
    }

    #[test]
    fn commands_without_a_message_have_none() {
        assert_eq!(of_commit("git commit --amend --no-edit"), None);
        assert_eq!(of_commit("git log -m main"), None);
        assert_eq!(of_pull_request("gh pr view 12 --json title"), None);
    }

    #[test]
    fn a_pull_request_has_a_title_and_a_text() {
        let command = "gh pr create --draft --title \"Lock the day log\" --body \"$(cat <<'EOF'\n## Summary\n- takes the lock first\n- says who holds it\n\n## Test plan\n- [ ] two writers at once\nEOF\n)\"";
        let message = of_pull_request(command).unwrap();
        assert_eq!(message.subject, "Lock the day log");
        assert_eq!(message.points(), ["takes the lock first", "says who holds it"]);
        assert!(message.whole().ends_with("- [ ] two writers at once"));
        let edited = of_pull_request("gh pr edit 7 --title='Lock it'").unwrap();
        assert_eq!((edited.subject.as_str(), edited.body.as_str()), ("Lock it", ""));
    }

    #[test]
    fn half_a_command_is_read_without_harm() {
        for command in [
            "git commit -m \"never closed",
            "git commit -m",
            "git commit -m \"$(cat <<'EOF'\nhalf",
            "git commit -m 'ü\\",
            "gh pr create --title",
        ] {
            let _ = (of_commit(command), of_pull_request(command));
        }
    }
}
