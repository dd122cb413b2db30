//! The spellings of a letter: with any accent, with its marks apart, in ASCII, in wide and narrow
//! forms, as a ligature, in another alphabet, and as JSON, HTML and addresses escape it.

/// How long the text is that is looked for: the longer, the fewer forms of each letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// So few letters that each has to stand beside the next, or so many that they may.
    Plain,
    /// Its words may be written apart or together.
    Usual,
    /// So many that the pattern has to be small for each.
    Long,
}

/// Letters that ASCII writes as several, and ligatures; with the name that HTML has for them.
const SPELLED: &[(char, &str, &str)] = &[
    ('ä', "ae", "auml"),
    ('ö', "oe", "ouml"),
    ('ü', "ue", "uuml"),
    ('ß', "ss", "szlig"),
    ('æ', "ae", "aelig"),
    ('ø', "oe", "oslash"),
    ('å', "aa", "aring"),
    ('œ', "oe", "oelig"),
    ('þ', "th", "thorn"),
    ('ĳ', "ij", "ijlig"),
    ('ﬀ', "ff", "fflig"),
    ('ﬁ', "fi", "filig"),
    ('ﬂ', "fl", "fllig"),
    ('ﬃ', "ffi", "ffilig"),
    ('ﬄ', "ffl", "ffllig"),
    ('ﬅ', "st", "stlig"),
    ('ﬆ', "st", "stlig"),
];

/// Letters that look or are written alike, the plain one first.
const ALIKE: &[&str] = &[
    "aàáâãäåāăąǎạảấầẩẫậắằẳẵặаα",
    "bвβь",
    "cçćĉċčсϲ",
    "dďđðԁ",
    "eèéêëēĕėęěẹẻẽếềểễệеёεέ",
    "fƒ",
    "gĝğġģ",
    "hĥħнһ",
    "iìíîïĩīĭįıİịỉіїιί",
    "jĵј",
    "kķкκ",
    "lĺļľŀł",
    "mмμ",
    "nñńņňŉηή",
    "oòóôõöøōŏőơọỏốồổỗộớờởỡợоοό",
    "pрρ",
    "rŕŗřг",
    "sśŝşșšѕ",
    "tţťŧțтτ",
    "uùúûüũūŭůűųưụủứừửữựυύ",
    "vνѵ",
    "wŵѡω",
    "xхχ",
    "yýÿŷỳỷỹỵуγ",
    "zźżžζ",
];

/// The narrow letters of katakana from U+FF66 on, as they are usually written.
const KATAKANA: &str = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";
const FIRST_NARROW: u32 = 0xff66;

/// The letters of a text in their plainest form: wide ones, narrow ones and ligatures as the usual
/// letters, without accents, except for umlauts and their kin.
pub fn plain(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // A mark that stands behind its letter is dropped, except that the pair may be an
            // umlaut or a voiced syllable.
            '\u{300}'..='\u{36f}' => {
                let composed = match (letters.last(), letter) {
                    (Some('a'), '\u{308}') => Some('ä'),
                    (Some('o'), '\u{308}') => Some('ö'),
                    (Some('u'), '\u{308}') => Some('ü'),
                    (Some('a'), '\u{30a}') => Some('å'),
                    _ => None,
                };
                if let Some(composed) = composed {
                    letters.pop();
                    letters.push(composed);
                }
            }
            '\u{3099}' | '\u{ff9e}' | '\u{309a}' | '\u{ff9f}' => {
                let step = if matches!(letter, '\u{3099}' | '\u{ff9e}') { 1 } else { 2 };
                if let Some(voiced) = letters.last().and_then(|last| voiced(*last, step)) {
                    letters.pop();
                    letters.push(voiced);
                }
            }
            '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}' => {
                match letters.last().and_then(|last| joined_hangul(*last, letter)) {
                    Some(joined) => {
                        letters.pop();
                        letters.push(joined);
                    }
                    None => letters.push(letter),
                }
            }
            _ => plain_letter(letter, &mut letters),
        }
    }
    letters
}

fn plain_letter(letter: char, letters: &mut Vec<char>) {
    let code = u32::from(letter);
    let narrow = code.checked_sub(FIRST_NARROW).and_then(|at| KATAKANA.chars().nth(at as usize));
    // The wide forms of ASCII.
    let wide = matches!(code, 0xff01..=0xff5e).then(|| char::from_u32(code - 0xfee0)).flatten();
    let letter = wide.or(narrow).unwrap_or(letter);
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    let ligature = SPELLED.iter().find(|(one, ..)| *one == lower && lower >= '\u{fb00}');
    match ligature {
        Some((_, spelled, _)) => letters.extend(spelled.chars()),
        None => letters.push(lower),
    }
}

/// A syllable with the mark that voices it, or half.
fn voiced(letter: char, step: u32) -> Option<char> {
    match letter {
        'ウ' if step == 1 => Some('ヴ'),
        'カ'..='ヂ' | 'ツ'..='ド' | 'ハ'..='ポ' | 'か'..='ぢ' | 'つ'..='ど' | 'は'..='ぽ' => {
            char::from_u32(u32::from(letter) + step)
        }
        _ => None,
    }
}

/// Korean syllables are put together of two or three letters.
fn joined_hangul(first: char, second: char) -> Option<char> {
    let (first, second) = (u32::from(first), u32::from(second));
    match (first, second) {
        (0x1100..=0x1112, 0x1161..=0x1175) => {
            char::from_u32(0xac00 + ((first - 0x1100) * 21 + second - 0x1161) * 28)
        }
        (0xac00..=0xd7a3, 0x11a8..=0x11c2) if (first - 0xac00).is_multiple_of(28) => {
            char::from_u32(first + second - 0x11a7)
        }
        _ => None,
    }
}

/// How many letters have to be read together, because some of them may be written as one.
pub fn span(letters: &[char]) -> usize {
    let mut end = 1;
    let mut at = 0;
    while at < end {
        end =
            starting(&letters[at..]).map(|(.., spelled)| at + spelled.len()).fold(end, usize::max);
        at += 1;
    }
    end
}

/// What the first letters may be written as, and how many of them it stands for.
fn starting(letters: &[char]) -> impl Iterator<Item = (char, &'static str, &'static str)> {
    let begins = |spelled: &str| {
        spelled.chars().enumerate().all(|(at, letter)| letters.get(at) == Some(&letter))
    };
    let found: Vec<_> = SPELLED
        .iter()
        .filter(|(_, spelled, _)| begins(spelled))
        .map(|(one, spelled, name)| (*one, *name, *spelled))
        .collect();
    found.into_iter()
}

/// The pattern of letters that are read together, in all their spellings.
pub fn of_span(letters: &[char], size: Size) -> String {
    let Some(first) = letters.first() else { return String::new() };
    let mut spellings = Vec::new();
    for (one, _, spelled) in starting(letters) {
        spellings.push(format!(
            "{}{}",
            of_letter(one, size),
            of_span(&letters[spelled.len()..], size)
        ));
    }
    let marks = match size {
        Size::Long => "",
        _ if letters.len() > 1 => r"(?:[*_`~\u{ad}\u{200b}-\u{200f}\u{2060}\u{feff}]{0,3})",
        _ => "",
    };
    spellings.push(format!("{}{marks}{}", of_letter(*first, size), of_span(&letters[1..], size)));
    match spellings.as_slice() {
        [only] => only.clone(),
        _ => format!("(?:{})", spellings.join("|")),
    }
}

/// Any letter of Latin with an accent, as JSON, addresses and HTML escape it.
const ESCAPED: &str = r"\\+u0[01][0-9a-f]{2}|%c[345]%[89ab][0-9a-f]|&#(?:x[0-9a-f]{2,3}|[0-9]{3});";

/// One letter in its forms.
fn of_letter(letter: char, size: Size) -> String {
    let alike = ALIKE.iter().find(|alike| alike.contains(letter));
    let mut forms = vec![match alike {
        Some(alike) => format!("[{alike}{}]", wide(letter, alike)),
        None if letter.is_ascii_alphanumeric() => format!("[{letter}{}]", wide(letter, "")),
        None => regex::escape(&letter.to_string()),
    }];
    if let Some((_, spelled, name)) = SPELLED.iter().find(|(one, ..)| *one == letter) {
        forms.insert(0, (*spelled).to_string());
        forms.push(format!("&{name};"));
    }
    forms.extend(of_katakana(letter));
    forms.extend(of_hangul(letter));
    if letter.is_ascii_digit() {
        return forms.concat();
    }
    if !letter.is_ascii() {
        forms.extend(escapes(letter, size));
    }
    if let Some(plain) = alike.and_then(|alike| alike.chars().next())
        && size == Size::Usual
    {
        // Any accented letter of its kind, as HTML, JSON and addresses write it.
        forms.push(format!("&{plain}[a-z]{{3,6}};"));
        forms.push(ESCAPED.into());
    }
    format!("(?:(?:{})[\\u{{300}}-\\u{{36f}}]{{0,2}})", forms.join("|"))
}

/// The wide form of an ASCII letter or digit.
fn wide(letter: char, alike: &str) -> String {
    let plain = alike.chars().next().unwrap_or(letter);
    let wide = plain.is_ascii().then(|| char::from_u32(u32::from(plain) + 0xfee0)).flatten();
    wide.map(String::from).unwrap_or_default()
}

/// A letter as JSON, HTML and addresses escape it, in either case.
fn escapes(letter: char, size: Size) -> Vec<String> {
    let mut escapes = Vec::new();
    for form in letter.to_lowercase().chain(letter.to_uppercase()) {
        let (mut units, mut bytes) = ([0u16; 2], [0u8; 4]);
        let units = form.encode_utf16(&mut units).iter();
        escapes.push(units.map(|unit| format!(r"\\+u{unit:04x}")).collect());
        if size == Size::Long {
            continue;
        }
        let bytes = form.encode_utf8(&mut bytes).bytes();
        escapes.push(bytes.map(|byte| format!("%{byte:02x}")).collect());
        let code = u32::from(form);
        escapes.push(format!("&#(?:{code}|x0?{code:x});"));
    }
    escapes.dedup();
    escapes
}

/// A syllable of katakana in narrow letters, and with its mark apart.
fn of_katakana(letter: char) -> Vec<String> {
    let narrow = |letter: char| {
        let at = KATAKANA.chars().position(|known| known == letter)?;
        char::from_u32(FIRST_NARROW + at as u32)
    };
    if let Some(narrow) = narrow(letter) {
        return vec![narrow.to_string()];
    }
    for (step, apart, mark) in [(1, '\u{3099}', 'ﾞ'), (2, '\u{309a}', 'ﾟ')] {
        let plain = match letter {
            'ヴ' => Some('ウ'),
            _ => char::from_u32(u32::from(letter) - step.min(u32::from(letter))),
        };
        if let Some(plain) = plain.filter(|plain| voiced(*plain, step) == Some(letter)) {
            let narrow = narrow(plain).map(|narrow| format!("{narrow}{mark}"));
            return [Some(format!("{plain}{apart}")), narrow].into_iter().flatten().collect();
        }
    }
    Vec::new()
}

/// A Korean syllable by its letters.
fn of_hangul(letter: char) -> Option<String> {
    let at = u32::from(letter).checked_sub(0xac00).filter(|at| *at < 11_172)?;
    let last = (at % 28 > 0).then_some(0x11a7 + at % 28);
    let letters = [Some(0x1100 + at / 588), Some(0x1161 + at % 588 / 28), last];
    Some(letters.into_iter().flatten().filter_map(char::from_u32).collect())
}

/// Letters that are read together, for git: the usual accents in either case.
pub fn for_git(letters: &[char]) -> String {
    let Some(first) = letters.first() else { return String::new() };
    let mut spellings = Vec::new();
    for (one, _, spelled) in starting(letters) {
        let upper: String = one.to_uppercase().collect();
        let rest = for_git(&letters[spelled.len()..]);
        spellings.push(format!("({one}|{upper}){rest}"));
    }
    let one = match first {
        letter if letter.is_ascii_digit() => letter.to_string(),
        letter if letter.is_ascii() => {
            let alike = ALIKE.iter().find(|alike| alike.starts_with(*letter));
            let accents = alike.iter().flat_map(|alike| alike.chars().skip(1));
            let accents = accents.filter(|accent| *accent < '\u{180}');
            let accents: Vec<String> = accents
                .flat_map(|accent| [accent.to_string(), accent.to_uppercase().collect()])
                .collect();
            match accents.is_empty() {
                true => letter.to_string(),
                false => format!("({letter}|{})", accents.join("|")),
            }
        }
        _ => ".{1,7}".to_string(),
    };
    spellings.push(format!("{one}{}", for_git(&letters[1..])));
    match spellings.as_slice() {
        [only] => only.clone(),
        _ => format!("({})", spellings.join("|")),
    }
}

/// A word in lower case without accents, in two spellings: `Müller` is `muller` and `mueller`.
pub fn folded(word: &str) -> [String; 2] {
    let (mut short, mut long) = (String::new(), String::new());
    for letter in plain(word).into_iter().filter(|letter| letter.is_alphanumeric()) {
        let alike = ALIKE.iter().find(|alike| alike.contains(letter));
        let spelled =
            SPELLED.iter().find(|(one, ..)| *one == letter).map(|(_, spelled, _)| spelled);
        let plain = alike.and_then(|alike| alike.chars().next());
        match (plain, spelled) {
            (None, None) => {
                short.push(letter);
                long.push(letter);
            }
            (plain, spelled) => {
                let plain = plain.map(String::from);
                let spelled = spelled.map(|spelled| spelled.to_string());
                short.push_str(plain.as_ref().or(spelled.as_ref()).map_or("", String::as_str));
                long.push_str(spelled.as_ref().or(plain.as_ref()).map_or("", String::as_str));
            }
        }
    }
    [short, long]
}
