//! The text to forget, found in every form that it takes in a memory: in Markdown, in quotes over
//! several lines, in slugs and file names, and escaped in the agents' JSON.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use regex::bytes::Regex;

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
    words: Vec<String>,
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
        let regex =
            regex::bytes::RegexBuilder::new(&any_spelling(text)).size_limit(256 << 20).build();
        let words = text.split(|c: char| !c.is_alphanumeric()).map(folded);
        let words = words.filter(|word| word.chars().count() >= SHORTEST).collect();
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
        let key = folded(key);
        self.words.contains(&key)
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
    let long = text.chars().count() > 120;
    // Marks of Markdown and what nobody sees may also stand within a word.
    let within = if long { "" } else { r"(?:[*_`~\u{ad}\u{200b}-\u{200f}\u{2060}\u{feff}]{0,3})" };
    // A long text has so many gaps that each has to be small: any number of the usual signs, not
    // twelve copies of all that is no letter. (The Kelvin sign is left out: it folds to `k`.)
    let between = match long {
        true => concat!(
            r"(?:\\+[nrt]|\\+u[0-9a-f]{4}|&[a-z]{2,6};|[\x00-/:-@\[-`{-\u{a9}\u{ab}-\u{b4}",
            r"\u{b6}-\u{b9}\u{bb}-\u{bf}\u{2000}-\u{206f}\u{20a0}-\u{20cf}\u{2190}-\u{23ff}",
            r"\u{2500}-\u{2bff}\u{3000}-\u{3004}\u{3008}-\u{3020}\u{fe00}-\u{fe0f}\u{feff}",
            r"\u{1f000}-\u{1faff}])*"
        ),
        false => r"(?:\\+[nrt]|\\+u[0-9a-f]{4}|&[a-z]{2,6};|[^\p{L}\p{N}]){0,12}",
    };
    let mut pattern = String::from("(?i)");
    let letters: Vec<char> = decomposed(text).collect();
    let (mut at, mut gap) = (0, false);
    while at < letters.len() {
        let letter = letters[at];
        if !letter.is_alphanumeric() {
            gap = !pattern.ends_with("(?i)");
            at += 1;
            continue;
        }
        if gap {
            pattern.push_str(between);
        } else if !pattern.ends_with("(?i)") {
            pattern.push_str(within);
        }
        gap = false;
        let pair: String = letters[at..letters.len().min(at + 2)].iter().collect();
        let (form, length) = forms(letter, &pair.to_lowercase());
        pattern.push_str(&form);
        at += length;
    }
    pattern
}

/// The letters of a text without their accents; what is written with two letters in ASCII is kept
/// as it is.
fn decomposed(text: &str) -> impl Iterator<Item = char> + '_ {
    // A mark that stands behind its letter is dropped, except that the pair may be an umlaut.
    let is_mark = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        let mut letter = characters.next()?;
        while is_mark(letter) {
            letter = characters.next()?;
        }
        let composed = match (letter, characters.peek()) {
            ('a' | 'A', Some('\u{308}')) => 'ä',
            ('o' | 'O', Some('\u{308}')) => 'ö',
            ('u' | 'U', Some('\u{308}')) => 'ü',
            ('a' | 'A', Some('\u{30a}')) => 'å',
            (letter, _) => letter,
        };
        Some(composed)
    })
}

/// The forms of one letter, and of how many letters they are: with any accent, with its marks
/// apart, as it is written in ASCII or in another alphabet, and as JSON escapes it.
fn forms(letter: char, pair: &str) -> (String, usize) {
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    // `ue` may stand for `ü`.
    if let Some(umlaut) = UMLAUTS.iter().find(|(_, ascii)| *ascii == pair) {
        return (format!("(?:{pair}|{})", one(umlaut.0)), 2);
    }
    if let Some((_, ascii)) = UMLAUTS.iter().find(|(umlaut, _)| *umlaut == lower) {
        return (format!("(?:{}|{ascii})", one(lower)), 1);
    }
    (one(lower), 1)
}

/// Letters that ASCII writes as two.
const UMLAUTS: &[(char, &str)] = &[
    ('ä', "ae"),
    ('ö', "oe"),
    ('ü', "ue"),
    ('ß', "ss"),
    ('æ', "ae"),
    ('ø', "oe"),
    ('å', "aa"),
    ('œ', "oe"),
    ('þ', "th"),
];

/// Letters that look or are written alike, the plain one first.
const ALIKE: &[&str] = &[
    "aàáâãäåāăąǎạảấầẩẫậắằẳẵặаα",
    "bвβь",
    "cçćĉċčсϲ",
    "dďđԁ",
    "eèéêëēĕėęěẹẻẽếềểễệеёεέ",
    "fƒ",
    "gĝğġģ",
    "hĥħнһ",
    "iìíîïĩīĭįıịỉіїιί",
    "jĵј",
    "kķкκ",
    "lĺļľŀł",
    "mмμ",
    "nñńņňŉηή",
    "oòóôõöøōŏőơọỏốồổỗộớờởỡợоοό",
    "pрρ",
    "rŕŗřг",
    "sśŝşšșѕ",
    "tţťŧțтτ",
    "uùúûüũūŭůűųưụủứừửữựυύ",
    "vνѵ",
    "wŵѡω",
    "xхχ",
    "yýÿŷỳỷỹỵуγ",
    "zźżžζ",
];

/// One letter in its forms.
fn one(letter: char) -> String {
    let alike = ALIKE.iter().find(|alike| alike.contains(letter));
    let class = match alike {
        Some(alike) => format!("[{alike}]"),
        None => regex::escape(&letter.to_string()),
    };
    let mut escaped = Vec::new();
    for form in alike.map_or_else(|| letter.to_string(), |alike| alike.to_string()).chars() {
        if form.is_ascii() {
            continue;
        }
        // As JSON writes it, in either case.
        for form in form.to_lowercase().chain(form.to_uppercase()) {
            let mut units = [0u16; 2];
            let units = form.encode_utf16(&mut units).iter();
            escaped.push(units.map(|unit| format!(r"\\+u{unit:04x}")).collect::<String>());
        }
    }
    // Only the letter's own escape: those of all its kin would make the pattern too long.
    let own: Vec<String> = escaped
        .into_iter()
        .filter(|_| !letter.is_ascii())
        .filter(|escape| {
            letter.to_lowercase().chain(letter.to_uppercase()).any(|form| {
                let mut units = [0u16; 2];
                let units = form.encode_utf16(&mut units).iter();
                units.map(|unit| format!(r"\\+u{unit:04x}")).collect::<String>() == *escape
            })
        })
        .collect();
    let escapes: String = own.iter().map(|escape| format!("|{escape}")).collect();
    match letter.is_ascii_digit() {
        true => class,
        false => format!(r"(?:{class}[\u{{300}}-\u{{36f}}]{{0,2}}{escapes})"),
    }
}

/// A word in lower case without accents: `Müller` and `muller` are the same key.
fn folded(word: &str) -> String {
    let plain = |letter: char| {
        let alike = ALIKE.iter().find(|alike| alike.contains(letter));
        alike.and_then(|alike| alike.chars().next()).unwrap_or(letter)
    };
    decomposed(&word.to_lowercase()).filter(|c| c.is_alphanumeric()).map(plain).collect()
}

/// A text as an extended regular expression for git, which knows bytes: what is no ASCII may be
/// anything short.
fn for_git(text: &str) -> String {
    let mut pattern = String::new();
    let mut gap = false;
    for letter in decomposed(text) {
        match letter {
            letter if letter.is_ascii_alphanumeric() => {
                if gap && !pattern.is_empty() {
                    pattern.push_str("[^[:alnum:]]{0,12}");
                }
                gap = false;
                pattern.push(letter.to_ascii_lowercase());
            }
            letter if letter.is_alphanumeric() => {
                pattern.push_str(".{1,7}");
                gap = false;
            }
            _ => gap = true,
        }
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
