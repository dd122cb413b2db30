//! Whether something bears on a prompt: rules of form on the words that both have.
//!
//! A session of the same project bears on it where one part of it, with the session's title, shares
//! at least two words which set it apart, and a good part of what the prompt says: all parts of a
//! long session together share words with anything. Of another project's session that is not enough: it has to
//! share a name that is written nowhere else, such as a file's, a function's or an error's.

use crate::base::stem::stem;
use crate::base::{common_words, text};
use crate::query::languages::{self, Language};
use crate::query::terms;

/// What a word counts at most, one that is common in manuals and comments, and one of those in which
/// any task is put.
const RARE: f32 = 3.0;
const TECHNICAL: f32 = 1.5;
const OF_ANY_TASK: f32 = 0.7;
/// How much the words in common have to weigh, and how much of the prompt they have to be: more
/// than one rare word, and in a long prompt more, since some of its words are in any session. Both
/// are round numbers near the best of those that were tried on prompts of other work and on
/// questions about real sessions, project by project (docs/benchmarks.md).
const SURE: (f32, f32) = (4.0, 0.35);
/// The same for a prompt that asks something: it is likelier that it was answered once.
const SURE_ANSWER: (f32, f32) = (2.0, 0.2);
/// What a word counts at least that a line is given for.
const TELLING: f32 = 1.0;
/// How many words there have to be: one may always be chance.
const FEWEST: usize = 2;
/// How many words of a prompt are weighed.
const MOST_WORDS: usize = 64;
/// The shortest word and the shortest name that say anything.
const SHORTEST_WORD: usize = 3;
const SHORTEST_NAME: usize = 5;
/// How many names of a prompt are looked for.
const MOST_NAMES: usize = 8;

/// The words of a prompt that say what it is about, each with what it counts.
#[derive(Debug, Default)]
pub struct PromptWords {
    words: Vec<(String, f32)>,
    /// Whether it asks something, rather than to do something.
    asks: bool,
    /// The same in other words.
    others: Vec<PromptWords>,
}

/// What a text has of a prompt's words.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Common {
    /// As the prompt's words are kept, in its order.
    pub words: Vec<String>,
    pub weight: f32,
    /// The part of the prompt's weight that they are.
    pub share: f32,
    /// What the one that tells most counts.
    pub most: f32,
    /// Whether the prompt asks something.
    asked: bool,
}

impl PromptWords {
    /// The content words of a prompt; `rarity` says how much each sets a session apart.
    pub fn of(prompt: &str, rarity: impl Fn(&str) -> f32) -> PromptWords {
        let mut words: Vec<(String, f32)> = Vec::new();
        let language = Language::of(prompt);
        let said = languages::without_everyday_phrases(prompt);
        // The smallest words: those that an identifier is made of, not itself.
        for word in terms::of(&said).into_iter().filter(|word| word.unit) {
            let known = words.iter().any(|(known, _)| *known == word.text);
            if !known && words.len() < MOST_WORDS && is_content(&word.typed, language) {
                // Where words are cut into pairs, one word is several of them.
                let technical = common_words::place(&word.typed).is_some() || is_pair(&word.typed);
                let most = match technical {
                    _ if is_of_any_task(&word.typed) => OF_ANY_TASK,
                    true => TECHNICAL,
                    false => RARE,
                };
                let weight = rarity(&word.text).min(most);
                words.push((word.text, weight));
            }
        }
        PromptWords { words, asks: asks(prompt, language), others: Vec::new() }
    }

    /// The same with other phrasings: whichever has most in common with a text counts.
    pub fn or(mut self, others: impl Iterator<Item = PromptWords>) -> PromptWords {
        self.others = others.filter(|other| !other.is_empty()).collect();
        self
    }

    /// Whether the prompt says nothing that could be looked for: “continue”, “yes, do it”.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.others.is_empty()
    }

    /// What texts have of it, all of them together.
    pub fn common<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Common {
        let texts: Vec<&str> = texts.into_iter().collect();
        self.common_in_a_part(&texts, &[])
    }

    /// What one part of a session has of it, together with what is said of the whole session: the
    /// part that has most.
    pub fn common_in_a_part(&self, whole: &[&str], parts: &[Vec<&str>]) -> Common {
        // Of equals the prompt itself.
        let phrasings = [self].into_iter().chain(&self.others);
        let of_each = phrasings.map(|phrasing| phrasing.own_common(whole, parts));
        of_each.reduce(Common::better).unwrap_or_default()
    }

    fn own_common(&self, whole: &[&str], parts: &[Vec<&str>]) -> Common {
        let whole = self.present_in(whole);
        let of_parts = parts.iter().map(|part| self.of_present(whole | self.present_in(part)));
        of_parts.fold(self.of_present(whole), Common::better)
    }

    /// Which of its words stand in texts, a bit for each.
    fn present_in(&self, texts: &[&str]) -> u64 {
        let mut present = 0;
        for value in texts {
            text::each_word(value, |word| {
                let kept = stem(&word.text);
                if let Some(at) = self.words.iter().position(|(known, _)| known == kept) {
                    present |= 1 << at;
                }
            });
        }
        present
    }

    fn of_present(&self, present: u64) -> Common {
        let all: f32 = self.words.iter().map(|(_, weight)| weight).sum();
        let present = self.words.iter().enumerate().filter(|(at, _)| present & (1 << at) != 0);
        let mut common = Common { asked: self.asks, ..Common::default() };
        for (_, (word, weight)) in present {
            common.words.push(word.clone());
            common.weight += weight;
            common.most = common.most.max(*weight);
        }
        common.share = common.weight / all.max(f32::MIN_POSITIVE);
        common
    }
}

impl Common {
    /// Whichever says more; of equals the first.
    fn better(self, other: Common) -> Common {
        let better = (other.is_sure(), other.weight) > (self.is_sure(), self.weight);
        if better { other } else { self }
    }

    /// Whether one of the words says what a line is about.
    pub fn is_telling(&self) -> bool {
        self.most >= TELLING
    }

    /// Whether a session of the same project surely bears on the prompt.
    pub fn is_sure(&self) -> bool {
        let (weight, share) = self.needed();
        let telling = self.words.len() >= FEWEST && self.is_telling();
        telling && self.weight >= weight && self.share >= share
    }

    fn needed(&self) -> (f32, f32) {
        if self.asked { SURE_ANSWER } else { SURE }
    }

    /// Why it is not.
    pub fn doubt(&self) -> String {
        match self.words.len() {
            0 => "it has none of the prompt's words".into(),
            count if count < FEWEST => "it has only one of the prompt's words".into(),
            _ if !self.is_telling() || self.weight < self.needed().0 => {
                "the words in common are common ones".into()
            }
            _ => "it has too little of what the prompt says".into(),
        }
    }
}

/// Whether a prompt asks something. “Can you …?” is a way to say: do it.
fn asks(prompt: &str, language: Language) -> bool {
    const QUESTIONS: &[&str] = &[
        "are", "did", "do", "does", "had", "has", "have", "how", "is", "should", "was", "were",
        "what", "when", "where", "which", "who", "why",
    ];
    const REQUESTS: &[&str] = &["can", "could", "please", "will", "would"];
    let prompt = prompt.trim();
    let first = prompt.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let first = first.to_lowercase();
    QUESTIONS.contains(&first.as_str())
        || language.asks(&first)
        || (prompt.ends_with(['?', '？']) && !REQUESTS.contains(&first.as_str()))
        || languages::has_asking_phrase(prompt)
}

/// A word that says what a text is about.
fn is_content(word: &str, language: Language) -> bool {
    (word.chars().count() >= SHORTEST_WORD || is_pair(word))
        && !word.bytes().all(|byte| byte.is_ascii_digit())
        && common_words::everyday_place(word).is_none()
        && !language.is_everyday(word)
}

/// A word in which tasks are put to agents, whatever they are about: "run it, and report the number
/// of lines of the file".
fn is_of_any_task(word: &str) -> bool {
    OF_ANY_TASK_WORDS.binary_search(&stem(word)).is_ok()
}

/// Two characters of a script whose words are cut into pairs; two of the Japanese syllables that
/// join words say nothing.
fn is_pair(word: &str) -> bool {
    let joins = |letter: char| ('\u{3041}'..='\u{309f}').contains(&letter);
    languages::is_unspaced(word) && word.chars().count() == 2 && !word.chars().all(joins)
}

/// The names in a prompt that are nobody's everyday words, in lower case: files, identifiers, error
/// codes.
pub fn names(prompt: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let ends = |letter: char| letter.is_whitespace() || "\"'`()[]<>{},;|=".contains(letter);
    for written in prompt.split(ends) {
        if names.len() == MOST_NAMES {
            break;
        }
        // Where a page lies on the web says nothing of what is worked on here.
        if written.contains("://") {
            continue;
        }
        let written = written.trim_matches(|letter: char| !letter.is_alphanumeric());
        let name = written.rsplit(['/', '\\']).next().unwrap_or(written);
        let name = name.split(':').next().unwrap_or(name);
        let lower = name.to_lowercase();
        if is_name(name) && !names.contains(&lower) {
            names.push(lower);
        }
    }
    names
}

/// Whether a word is written as only a name is: `day_lock.rs`, `parse_config`, `EvidenceChecker`,
/// `EWOULDBLOCK`, `TS2322`. What is written so in every project is none: `package.json`.
fn is_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    word.len() >= SHORTEST_NAME
        && common_words::place(&lower).is_none()
        && !EVERYWHERE.contains(&lower.as_str())
        && (is_file(word) || is_identifier(word) || is_code(word))
}

fn is_file(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    stem.len() >= SHORTEST_WORD
        && stem.chars().all(|letter| letter.is_alphanumeric() || "._-".contains(letter))
        && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// Several words written as one: `parse_config`, `parseConfig`, `ParseConfig`.
fn is_identifier(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let is_plain = letters.iter().all(|letter| letter.is_ascii_alphanumeric() || *letter == '_');
    if !is_plain || !letters.iter().any(char::is_ascii_alphabetic) {
        return false;
    }
    let joined = letters
        .windows(3)
        .any(|three| three[1] == '_' && three[0].is_alphanumeric() && three[2].is_alphanumeric());
    let humps = letters
        .windows(3)
        .filter(|three| {
            three[0].is_lowercase() && three[1].is_uppercase() && three[2].is_lowercase()
        })
        .count();
    // `GitHub` and `JavaScript` are brands; with two humps hardly any is.
    joined || humps >= 2 || (humps == 1 && letters[0].is_lowercase())
}

/// An error's code: `EWOULDBLOCK`, `TS2322`, `E0308`.
fn is_code(word: &str) -> bool {
    let capitals = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = word.len() - capitals;
    let errno = digits == 0 && word.starts_with('E') && word.len() > 5;
    errno
        || ((1..=4).contains(&capitals)
            && (3..=5).contains(&digits)
            && word.bytes().skip(capitals).all(|byte| byte.is_ascii_digit()))
}

/// The words in which tasks are put, as the index keeps them.
const OF_ANY_TASK_WORDS: &[&str] = &[
    "add", "agent", "append", "bash", "cal", "chang", "check", "command", "contain", "content",
    "count", "creat", "current", "delet", "director", "display", "don", "echo", "edit", "exact",
    "fil", "final", "finish", "first", "folder", "hello", "last", "lin", "list", "mak", "messag",
    "nam", "number", "one", "order", "output", "path", "print", "prompt", "read", "remov",
    "repeat", "repl", "report", "result", "run", "shel", "show", "step", "task", "test", "text",
    "thre", "tmp", "tool", "two", "txt", "updat", "use", "used", "user", "using", "valu", "verif",
    "wait", "word", "world", "writ",
];

/// How the names of files end that people write about.
const EXTENSIONS: &[&str] = &[
    "rs", "go", "py", "ts", "tsx", "js", "jsx", "mjs", "cjs", "json", "jsonl", "toml", "yaml",
    "yml", "md", "mdx", "sh", "sql", "c", "h", "cpp", "hpp", "cs", "java", "kt", "rb", "php",
    "swift", "css", "scss", "html", "vue", "svelte", "proto", "xml", "gradle", "ini", "cfg",
];

/// Files and names that many a project has.
const EVERYWHERE: &[&str] = &[
    "__init__.py",
    "agents.md",
    "app.py",
    "app.tsx",
    "build.gradle",
    "build.rs",
    "cargo.toml",
    "changelog.md",
    "claude.md",
    "config.json",
    "config.toml",
    "config.yaml",
    "config.yml",
    "contributing.md",
    "docker-compose.yml",
    "favicon.ico",
    "gemini.md",
    "index.html",
    "index.js",
    "index.ts",
    "index.tsx",
    "layout.tsx",
    "lib.rs",
    "license.md",
    "main.go",
    "main.py",
    "main.rs",
    "main.ts",
    "memory.md",
    "mod.rs",
    "node_modules",
    "package-lock.json",
    "package.json",
    "page.tsx",
    "plan.md",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "pom.xml",
    "pyproject.toml",
    "readme.md",
    "roadmap.md",
    "security.md",
    "session_id",
    "settings.json",
    "settings.local.json",
    "setup.py",
    "skill.md",
    "styles.css",
    "test.py",
    "test.ts",
    "todo.md",
    "tool_use",
    "tsconfig.json",
    "utils.py",
    "utils.ts",
    "vite.config.ts",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_how_they_are_written() {
        assert_eq!(
            names("why does `src/store/day_lock.rs:40` fail in parse_config with EWOULDBLOCK?"),
            ["day_lock.rs", "parse_config", "ewouldblock"]
        );
        assert_eq!(
            names("TS2322 in EvidenceCheckerTests, see parseConfig()"),
            ["ts2322", "evidencecheckertests", "parseconfig"]
        );
        for everyday in [
            "go ahead, including the rename",
            "push README.md and package.json to GitHub",
            "see https://example.org/a/parse_config.rs and CLAUDE.md",
            "PLEASE FIX THIS NOW e.g. today, v2.1, 10_000",
            "",
            "\0\0\0",
        ] {
            assert_eq!(names(everyday), [""; 0], "{everyday}");
        }
    }

    #[test]
    fn everyday_words_of_other_languages_say_nothing() {
        let empty = |prompt: &str| PromptWords::of(prompt, |_| 4.0).is_empty();
        for prompt in [
            "mach bitte weiter",
            "ja, genau so, und danach bitte aufräumen",
            "continúa por favor",
            "继续",
            "再运行一次测试",
            "もう一度テストを実行して",
            "รันการทดสอบอีกครั้ง",
        ] {
            assert!(empty(prompt), "{prompt}");
        }
        let sure =
            |prompt: &str, text: &str| PromptWords::of(prompt, |_| 4.0).common([text]).is_sure();
        assert!(sure("Warum bricht der Export bei Umlauten ab?", "Export mit Umlauten bricht ab"));
        assert!(sure("优惠券为什么会被重复使用", "优惠券被重复使用,请修复"));
        assert!(!sure("优惠券为什么会被重复使用", "邮件服务器的优惠"));
    }

    #[test]
    fn the_words_of_any_task_are_sure_of_nothing() {
        assert!(OF_ANY_TASK_WORDS.is_sorted());
        let prompt = "Append one line reading 'pass done' to /tmp/marker.txt using a bash command, then \
                      report the file's line count";
        let words = PromptWords::of(prompt, |_| 4.0);
        let texts = ["using the tmp folder", "a txt file", "report the count", "a bash command"];
        assert!(!words.common(texts).is_sure(), "{:?}", words.common(texts));
    }

    #[test]
    fn words_of_one_part_count_and_those_of_several_do_not() {
        let words =
            PromptWords::of("why does the quagga import drop the zanzibar column?", |_| 4.0);
        let sure = |parts: &[Vec<&str>]| words.common_in_a_part(&["tides"], parts).is_sure();
        assert!(sure(&[vec!["a quagga in zanzibar"], vec!["the harbour"]]));
        assert!(!sure(&[vec!["a quagga"], vec!["in zanzibar"], vec!["a column"]]));
        // What the session is about is said in all of its parts.
        assert!(words.common_in_a_part(&["quagga"], &[vec!["in zanzibar"]]).is_sure());
        assert!(words.common(["zanzibar"]).is_telling() && !words.common(["harbour"]).is_telling());
    }

    #[test]
    fn two_telling_words_are_sure_and_one_is_not() {
        let rare = |_: &str| 4.0;
        let prompt = "why does the quagga import drop the zanzibar column?";
        let words = PromptWords::of(prompt, rare);
        let common = words.common(["the zanzibar table", "of a quagga"]);
        assert_eq!(common.words, ["quagga", "zanzibar"]);
        assert!(common.is_sure(), "{common:?}");
        let one = words.common(["a quagga, again and again quagga"]);
        assert!(!one.is_sure() && one.doubt().contains("only one"), "{one:?}");
        assert!(PromptWords::of("yes, go on and do it again", rare).is_empty());
        // Who asks gets an answer sooner than who wants something done.
        let some = |prompt: &str| {
            PromptWords::of(prompt, |_| 1.1).common(["zanzibar column quagga"]).is_sure()
        };
        assert!(some(prompt) && some("das quagga, zanzibar column?"));
        assert!(!some("import the quagga into the zanzibar column"));
        assert!(!some("can you import the quagga into the zanzibar column?"));
        // Five words that most sessions have weigh less than two rare ones.
        let common = PromptWords::of(prompt, |_| 0.4).common([prompt]);
        assert!(!common.is_sure(), "{common:?}");
        // In a long prompt two words may be chance.
        let long =
            format!("{prompt} {}", (0..40).map(|n| format!("word{n}x ")).collect::<String>());
        assert!(!PromptWords::of(&long, rare).common(["zanzibar quagga"]).is_sure());
    }
}
