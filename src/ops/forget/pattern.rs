//! The text to forget, found in every form that it takes in a memory: in Markdown, in quotes over
//! several lines, in slugs and file names, and escaped in the agents' JSON.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use regex::bytes::Regex;

use super::spelling::{self, Size};
use crate::base::files;
use crate::error::{Error, Result};

/// What takes the place of a forgotten text.
pub const FORGOTTEN: &str = "[forgotten]";

/// The shortest text that can be forgotten, in letters and digits: a shorter one occurs in every
/// other line.
const SHORTEST: usize = 4;
/// The longest, in characters.
const LONGEST: usize = 2_000;
/// How much of a file is looked at in one piece. Two pieces share [`OVERLAP`], so that no match
/// falls between them.
const PIECE: usize = 1 << 20;
const OVERLAP: usize = 64 << 10;

/// A text to forget, in every form it may take.
#[derive(Debug)]
pub struct TextPattern {
    regex: Regex,
    /// Its longer words, folded: lists of keys hold them one by one.
    words: Vec<[String; 2]>,
    /// The same for `git grep`, as an extended regular expression.
    for_git: String,
}

impl TextPattern {
    /// Understands a text: case does not matter, nor does how much space is between its words.
    pub fn new(text: &str) -> Result<TextPattern> {
        let text = text.trim();
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < SHORTEST {
            return Err(Error::usage("this text is too short to be forgotten")
                .because(format!(
                    "it has {letters} letters and digits, and would take half of the memory with it"
                ))
                .hint(format!("give at least {SHORTEST}, or name a session")));
        }
        if text.chars().count() > LONGEST {
            return Err(Error::usage("this text is too long to be looked for")
                .because(format!("it has more than {LONGEST} characters"))
                .hint("give a sentence of it, or name the session"));
        }
        let regex = regex::bytes::RegexBuilder::new(&any_spelling(text))
            .size_limit(256 << 20)
            // With less, a long pattern is matched state by state, at a hundredth of the speed.
            .dfa_size_limit(64 << 20)
            .build();
        let words = keys_of(text);
        regex
            .map(|regex| TextPattern { regex, words, for_git: for_git(text) })
            .map_err(|err| Error::usage("cannot look for this text").because(err))
    }

    /// The same for `git grep -i -E`.
    pub fn for_git(&self) -> &str {
        &self.for_git
    }

    /// Whether a key of a list is one of its words.
    pub fn has_word(&self, key: &str) -> bool {
        let key = spelling::folded(key);
        let is_key = |word: &[String; 2]| word.iter().any(|spelled| key.contains(spelled));
        self.words.iter().any(is_key)
    }

    /// Whether a text holds it.
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_bytes(text.as_bytes())
    }

    /// Whether bytes of any kind hold it.
    pub fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        self.regex.is_match(bytes)
    }

    /// How often a text holds it.
    pub fn count(&self, text: &str) -> usize {
        self.regex.find_iter(text.as_bytes()).count()
    }

    /// The text without it.
    pub fn removed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.regex.replace_all(text.as_bytes(), FORGOTTEN.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Whole characters were matched and whole characters put in their place.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Whether a file holds it; only a piece of the file is in memory at a time.
    pub fn is_in_file(&self, path: &Path) -> io::Result<bool> {
        let mut file = files::open(path)?;
        let mut piece = Vec::with_capacity(PIECE + OVERLAP);
        loop {
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
            if self.regex.is_match(&piece) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            piece.drain(..piece.len().saturating_sub(OVERLAP));
        }
    }
}

/// A pattern for a text in any spelling: by its letters and digits, whatever the case, the accents,
/// how they are composed or written in ASCII, and the punctuation, marks and escapes between them.
fn any_spelling(text: &str) -> String {
    let letters = spelling::plain(text);
    let count = letters.iter().filter(|letter| letter.is_alphanumeric()).count();
    let size = match letters.len() {
        length if length > 120 => Size::Long,
        _ if (SHORTEST_APART..=LONGEST_APART).contains(&count) => Size::Usual,
        _ => Size::Plain,
    };
    let mut pattern = String::from("(?i)");
    let (mut at, mut gap, mut last) = (0, false, None);
    while at < letters.len() {
        let letter = letters[at];
        if !letter.is_alphanumeric() {
            gap = last.is_some();
            at += 1;
            continue;
        }
        if gap {
            pattern.push_str(size.between());
        } else if let Some(last) = last {
            pattern.push_str(size.within(last, letter));
        }
        gap = false;
        let span = spelling::span(&letters[at..]);
        pattern.push_str(&spelling::of_span(&letters[at..at + span], size));
        at += span;
        last = Some(letters[at - 1]);
    }
    pattern
}

/// From so many letters on, a text may be written apart: `zebra-corp` and `ZebraCorp`.
const SHORTEST_APART: usize = 8;
/// Up to so many, since it takes time: a longer text has words enough that are not.
const LONGEST_APART: usize = 48;

impl Size {
    /// What may stand between two words.
    fn between(self) -> &'static str {
        match self {
            // A long text has so many gaps that each has to be small: any number of the usual
            // signs, not twelve copies of all that is no letter. (The Kelvin sign is left out: it
            // folds to `k`.)
            Size::Long => concat!(
                r"(?:\\+[nrt]|\\+u[0-9a-f]{4}|&[a-z]{2,6};|[\x00-/:-@\[-`{-\u{a9}\u{ab}-\u{b4}",
                r"\u{b6}-\u{b9}\u{bb}-\u{bf}\u{2000}-\u{206f}\u{20a0}-\u{20cf}\u{2190}-\u{23ff}",
                r"\u{2500}-\u{2bff}\u{3000}-\u{3004}\u{3008}-\u{3020}\u{fe00}-\u{fe0f}\u{feff}",
                r"\u{1f000}-\u{1faff}])*"
            ),
            Size::Plain => r"(?:\\+[nrt]|\\+u[0-9a-f]{4}|&[a-z]{2,6};|[^\p{L}\p{N}]){0,12}",
            Size::Usual => concat!(
                r"(?:\\+[nrt]|\\+u[0-9a-f]{4}|\\+u\{[0-9a-f]{1,6}\}|&[a-z]{2,6};|</?[a-z]{1,10}>",
                r"|%(?:2[0-9a-f]|3[a-f]|5[b-f]|7[b-f]|0[9ad]|c2%a0)|[^\p{L}\p{N}]){0,12}"
            ),
        }
    }

    /// What may stand within a word: marks of Markdown, what nobody sees, also as it is shown on
    /// pages, and in a text of some length what takes words apart.
    fn within(self, last: char, next: char) -> &'static str {
        match self {
            Size::Long => "",
            Size::Usual => concat!(
                r"(?:[*_`~ .\-\u{ad}\u{200b}-\u{200f}\u{2060}\u{3000}\u{feff}]|\\+u\{[0-9a-f]{1,6}\}",
                r"|\\+u200[b-f]|</?[a-z]{1,10}>|%20|%2d){0,3}"
            ),
            // Scripts without spaces may have one anywhere.
            Size::Plain if last >= '\u{2e80}' && next >= '\u{2e80}' => {
                r"(?:[*_`~ ・\u{ad}\u{200b}-\u{200f}\u{2060}\u{3000}\u{feff}]{0,3})"
            }
            Size::Plain => r"(?:[*_`~\u{ad}\u{200b}-\u{200f}\u{2060}\u{feff}]{0,3})",
        }
    }
}

/// A text's words as keys of lists have them, each in two spellings: what is written apart, and
/// what two neighbours are together.
fn keys_of(text: &str) -> Vec<[String; 2]> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut keys: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    keys.extend(words.windows(2).map(|pair| pair.concat()));
    for word in words {
        // `ZebraCorp`
        let mut part = String::new();
        let mut before = ' ';
        for letter in word.chars() {
            if before.is_lowercase() && letter.is_uppercase() {
                keys.push(std::mem::take(&mut part));
            }
            part.push(letter);
            before = letter;
        }
        keys.push(part);
    }
    let keys = keys.iter().map(|key| spelling::folded(key));
    let mut keys: Vec<_> = keys.filter(|key| key[0].chars().count() >= SHORTEST).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// A text as an extended regular expression for git, which knows bytes: what is no ASCII may be
/// anything short.
fn for_git(text: &str) -> String {
    let letters = spelling::plain(text);
    let apart = letters.iter().filter(|letter| letter.is_alphanumeric()).count() >= SHORTEST_APART;
    let mut pattern = String::new();
    let (mut at, mut gap) = (0, false);
    while at < letters.len() {
        let letter = letters[at];
        if !letter.is_alphanumeric() {
            (gap, at) = (true, at + 1);
            continue;
        }
        if !pattern.is_empty() {
            pattern.push_str(match (gap, apart) {
                (true, _) => "([^[:alnum:]]|%20|</?[a-z]+>){0,12}",
                (false, true) => "[-_. *`]?",
                (false, false) => "",
            });
        }
        gap = false;
        let span = spelling::span(&letters[at..]);
        pattern.push_str(&spelling::for_git(&letters[at..at + span]));
        at += span;
    }
    pattern
}

/// A page without the lines that stand in it a second time with a text forgotten: a merge with a
/// device that had not forgotten it brings them back. `None` where there are none.
pub fn without_originals(page: &str) -> Option<String> {
    let forgotten: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.contains(FORGOTTEN))
        .map(|line| line.split(FORGOTTEN).collect())
        .collect();
    if forgotten.is_empty() {
        return None;
    }
    let is_original =
        |line: &str| !line.contains(FORGOTTEN) && forgotten.iter().any(|parts| fits(line, parts));
    let kept: String =
        page.split_inclusive('\n').filter(|line| !is_original(line.trim_end())).collect();
    (kept.len() < page.len()).then_some(kept)
}

/// Whether a line is these parts with something between each two of them. A line of which nothing
/// else is known is any.
fn fits(line: &str, parts: &[&str]) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let letters: usize =
        parts.iter().map(|part| part.chars().filter(|c| c.is_alphanumeric()).count()).sum();
    let Some(mut rest) = line.strip_prefix(first).and_then(|rest| rest.strip_suffix(*last)) else {
        return false;
    };
    for part in middle {
        match rest.find(*part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    letters >= SHORTEST_FRAME && !rest.is_empty()
}

/// How many letters and digits around a forgotten text identify its line: those of a time and a
/// session are more.
const SHORTEST_FRAME: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_text_is_found_in_all_its_forms() {
        let pattern = TextPattern::new("  Project \"Blue_Bird\" für   Ann ").unwrap();
        for form in [
            "about project \"blue_bird\" für Ann today",
            "> Project \"Blue_Bird\"\n> für Ann",
            r#"{"text":"Project \"Blue_Bird\"\nf\u00fcr Ann"}"#,
            "project \\\"blue\\_bird\\\"\u{a0}für-ann",
        ] {
            assert!(pattern.is_in(form), "{form}");
            assert!(!pattern.is_in(&pattern.removed(form)), "{form}");
        }
        assert!(!pattern.is_in("project bluejay für Ann"));
        assert_eq!(pattern.removed("nothing here"), "nothing here");
        assert!(
            TextPattern::new("<b>bold</b> text").unwrap().is_in("&lt;b&gt;bold&lt;/b&gt; text")
        );
        assert!(TextPattern::new("an emoji 🦀 too").unwrap().is_in(r"an emoji \ud83e\udd80 too"));
        assert_eq!(
            TextPattern::new("a.b.c.d (x)").unwrap().removed("A.B.C.D (x) and aXbXc"),
            "[forgotten]) and aXbXc"
        );
    }

    #[test]
    fn each_of_two_spellings_is_found_by_the_other() {
        let tag = "zebra<b>corp</b> one";
        for (one, other) in [
            ("Zoë Brontë", "ZOE BRONTE"),
            ("Łódź Øresund Ægir", "Lodz Oresund Aegir"),
            ("Æther Þorgrim", "Aether Thorgrim"),
            ("İstanbul Çağrı", "Istanbul Cagri"),
            ("ＬＵＫＡＳＺ", "Łukasz"),
            ("ﬁnance Oﬃce", "finance Office"),
            ("ｶﾞﾝﾀﾞﾑ", "ガンダム"),
            ("カ\u{3099}ンタ\u{3099}ム", "ガンダム"),
            ("東京 タワー", "東京タワー"),
            ("zebra-corp-project", "ZebraCorp Project"),
            ("Krüger Werke", "Krueger Werke"),
            ("Łukasz Größmann", "Lukasz Grossmann"),
            ("Łukasz Größmann", "Lukasz Groessmann"),
            (
                "한강 다리",
                "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1161}\u{11bc} \u{1103}\u{1161}\u{1105}\u{1175}",
            ),
        ] {
            for (known, form) in [(one, other), (other, one)] {
                let pattern = TextPattern::new(known).unwrap();
                let form = form.to_string();
                for form in [form.clone(), form.to_uppercase(), form.to_lowercase()] {
                    assert!(pattern.is_in(&form), "{known} does not find {form}");
                    assert!(!pattern.is_in(&pattern.removed(&form)), "{known}: {form}");
                }
            }
        }
        for (known, form) in [
            ("zebra corp one", tag),
            ("Krüger Werke", "Kr%C3%BCger%20Werke"),
            ("Krueger Werke", "kr%c3%bcger%20werke"),
            ("Kruger Werke", "Kr%C3%BCger%20Werke"),
            ("Krüger Werke", "Kr&uuml;ger Werke"),
            ("Kruger Werke", "Kr&#252;ger Werke"),
            ("Größmann Werft", "Gr&ouml;&szlig;mann Werft"),
            ("zebra corp", r"zebra\u{200b}corp"),
            ("zebracorp", r"zebra\u{200b}corp"),
        ] {
            let pattern = TextPattern::new(known).unwrap();
            assert!(pattern.is_in(form), "{known} does not find {form}");
        }
        for (known, other) in [
            ("Krüger Werke", "the work of Krager Werke"),
            ("finance Office", "financed officers"),
            ("ガンダム", "カンタム"),
            ("Anna Bo", "Ann about"),
        ] {
            assert!(!TextPattern::new(known).unwrap().is_in(other), "{known}: {other}");
        }
    }

    #[test]
    fn keys_are_known_in_any_spelling() {
        for (text, key) in [
            ("Krüger Werke", "krueger"),
            ("Krueger Werke", "krüger"),
            ("Łukasz Größmann", "grossmann"),
            ("Lukasz Grossmann", "größmann"),
            ("ZebraCorp Project", "zebra"),
            ("Zebra Corp Project", "zebracorp"),
            ("Zoë Brontë", "bronte"),
        ] {
            assert!(TextPattern::new(text).unwrap().has_word(key), "{text}: {key}");
        }
        assert!(!TextPattern::new("Krüger Werke").unwrap().has_word("kreuzer"));
    }

    #[test]
    fn git_looks_for_the_usual_spellings() {
        let git = |text: &str| {
            let pattern = TextPattern::new(text).unwrap().for_git().replace("[:alnum:]", r"\w");
            regex::Regex::new(&format!("(?i){}", pattern.replace("[^[", "[^").replace("w]]", "w]")))
                .unwrap()
        };
        for (text, form) in [
            ("ZOE BRONTE", "Zoë Brontë"),
            ("Zoë Brontë", "ZOE BRONTE"),
            ("Krueger Werke", "Krüger Werke"),
            ("Krüger Werke", "Kr%C3%BCger%20Werke"),
            ("Lukasz Grossmann", "Łukasz Größmann"),
            ("finance Office", "finance office"),
            ("ZebraCorp Project", "zebra-corp-project"),
            ("Aether Thorgrim", "Æther Þorgrim"),
        ] {
            assert!(git(text).is_match(form), "{text}: {form}: {}", git(text));
        }
        assert!(!git("Krueger Werke").is_match("Krager Werke"));
        assert!(!git("Anna Bo").is_match("Ann about"));
    }

    #[test]
    fn a_text_is_found_in_any_spelling() {
        let composed = TextPattern::new("Zebrafish Müller").unwrap();
        let apart = TextPattern::new("Zebrafish Mu\u{308}ller").unwrap();
        let ascii = TextPattern::new("zebrafish mueller").unwrap();
        for form in [
            "Zebrafish Müller",
            "zebrafish muller",
            "ZEBRAFISH MU\u{308}LLER",
            "Zebrafish Mueller",
            "what-about-zebrafish-muller.md",
            "zebrafish_mueller",
            "Zebrafish **Müller**",
            "Zebra*fish* Müller",
            r"Zebrafish M\u00fcller",
            "Zebrafish,\n> Müller",
            "ZebrafishMüller",
            "Zеbrafish Müller",
        ] {
            for pattern in [&composed, &apart, &ascii] {
                assert!(pattern.is_in(form), "{form}");
                assert!(!pattern.is_in(&pattern.removed(form)), "{form}");
            }
        }
        assert!(!composed.is_in("Zebrafish Miller") && !composed.is_in("the fish of Muller"));
        assert!(composed.has_word("muller") && composed.has_word("Zebrafish"));
        assert!(!composed.has_word("fish"));
        assert!(TextPattern::new("Straße 12a").unwrap().is_in("strasse-12a"));
        let long = TextPattern::new(&"a käse word ".repeat(100)).unwrap();
        for gap in [" ", "\n> ", " — **", "\u{a0}", r"\n", "🦀", "-"] {
            let form = ["a", "käse", "word"].repeat(100).join(gap);
            assert!(long.is_in(&form) && long.removed(&form) == FORGOTTEN, "{gap}");
        }
        assert!(!long.is_in(&"a kase k word ".repeat(100)));
    }

    #[test]
    fn a_line_that_came_back_goes_where_it_stands_forgotten_too() {
        let forgotten =
            "- [10:00:00] [user] (SES1_a_SP1C1) the code is [forgotten], and [forgotten] too\n";
        let original = "- [10:00:00] [user] (SES1_a_SP1C1) the code is 1234-5678, and 99 too\n";
        let other = "- [10:00:01] [user] (SES1_a_SP1C1) the code is 1234-5678, and 99 too\n";
        let check = |page: &str, expect: Option<&str>| {
            assert_eq!(without_originals(page).as_deref(), expect)
        };
        check(&format!("{original}{forgotten}{other}"), Some(&format!("{forgotten}{other}")));
        check(&format!("{original}{other}"), None);
        check(&format!("{forgotten}{other}"), None);
        // Too little is known of such a line.
        check("- [forgotten]\n- my notes\n", None);
    }

    #[test]
    fn too_short_and_too_long_are_said() {
        assert!(TextPattern::new(" a-b ").is_err());
        assert!(TextPattern::new(&"x".repeat(3_000)).is_err());
        assert!(TextPattern::new(&"a ".repeat(900)).is_ok());
    }

    #[test]
    fn a_match_across_two_pieces_is_found() {
        let pattern = TextPattern::new("needle in the haystack").unwrap();
        for before in [PIECE - 5, PIECE + OVERLAP - 5, 2 * PIECE - 3, 10] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&vec![b'x'; before]).unwrap();
            file.write_all(b" needle in the haystack ").unwrap();
            file.write_all(&vec![b'y'; PIECE]).unwrap();
            assert!(pattern.is_in_file(file.path()).unwrap(), "{before}");
        }
        let mut none = tempfile::NamedTempFile::new().unwrap();
        none.write_all(&vec![b'x'; 3 * PIECE]).unwrap();
        assert!(!pattern.is_in_file(none.path()).unwrap());
    }
}
