//! A script decides how a character takes part in words: as a letter, as a sign on one, or not at
//! all.
//!
//! Here too is the table by which a letter loses its case and its accent.

/// How a character takes part in words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Not at all: punctuation, symbols, spaces.
    None,
    /// As a sign on the character before it.
    Mark,
    /// As a letter of a script with spaces between words.
    Spaced,
    Hangul,
    /// Chinese characters and Japanese syllables, which stand without spaces.
    Ideographic,
    /// Thai, Lao, Burmese and Khmer, which also stand without spaces.
    Unspaced,
}

pub(super) fn script(character: char) -> Script {
    match character {
        '\0'..='\x7f' if character.is_ascii_alphanumeric() => Script::Spaced,
        '\0'..='\x7f' => Script::None,
        // Dashes, quotes, arrows, boxes and emoji: frequent in logs, so decided early.
        '\u{200c}' | '\u{200d}' => Script::Mark,
        '\u{2000}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => Script::None,
        '\u{ac00}'..='\u{d7a3}' => Script::Hangul,
        '\u{3005}'
        | '\u{3007}'
        | '\u{3041}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{312f}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}' => Script::Ideographic,
        '\u{e3f}' | '\u{e4f}' | '\u{e5a}' | '\u{e5b}' | '\u{104a}' | '\u{104b}' => Script::None,
        '\u{17d4}'..='\u{17db}' => Script::None,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' => Script::Unspaced,
        _ if character.is_alphanumeric() => Script::Spaced,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{6d6}'..='\u{6ed}'
        | '\u{900}'..='\u{963}'
        | '\u{966}'..='\u{df3}'
        | '\u{f71}'..='\u{f84}'
        | '\u{fe20}'..='\u{fe2f}' => Script::Mark,
        _ => Script::None,
    }
}

/// Adds a character in lower case and without its accent, so that either spelling finds the other.
pub(super) fn fold_into(character: char, stem: &mut String) {
    if character.is_ascii() {
        stem.push(character.to_ascii_lowercase());
        return;
    }
    for lower in character.to_lowercase() {
        let plain = match lower {
            'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | '\u{1ea0}'..='\u{1eb7}' => "a",
            'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
            'ď' | 'đ' | 'ð' => "d",
            'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | '\u{1eb8}'..='\u{1ec7}' => "e",
            'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
            'ĥ' | 'ħ' => "h",
            'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ǐ' | '\u{1ec8}'..='\u{1ecb}' => "i",
            'ĵ' => "j",
            'ķ' | 'ĸ' => "k",
            'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
            'ñ' | 'ń' | 'ņ' | 'ň' | 'ŋ' => "n",
            'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | 'ǒ' | '\u{1ecc}'..='\u{1ee3}' => "o",
            'ŕ' | 'ŗ' | 'ř' => "r",
            'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
            'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
            'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' | 'ǔ' => "u",
            '\u{1ee4}'..='\u{1ef1}' => "u",
            'ŵ' => "w",
            'ý' | 'ÿ' | 'ŷ' | '\u{1ef2}'..='\u{1ef9}' => "y",
            'ź' | 'ż' | 'ž' => "z",
            'ß' => "ss",
            'æ' => "ae",
            'œ' => "oe",
            'þ' => "th",
            'ά' => "α",
            'έ' => "ε",
            'ή' => "η",
            'ί' | 'ϊ' | 'ΐ' => "ι",
            'ό' => "ο",
            'ύ' | 'ϋ' | 'ΰ' => "υ",
            'ώ' => "ω",
            'ς' => "σ",
            'ё' => "е",
            'й' => "и",
            // Signs that stand apart from their letter, as in file names on macOS, and vowel
            // points.
            '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{652}' => "",
            // Full-width Latin, as East Asian keyboards type it.
            '\u{ff10}'..='\u{ff19}' | '\u{ff41}'..='\u{ff5a}' => {
                stem.extend(char::from_u32(u32::from(lower) - 0xfee0));
                continue;
            }
            _ => {
                stem.push(lower);
                continue;
            }
        };
        stem.push_str(plain);
    }
}

pub(super) fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}
