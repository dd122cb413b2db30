//! The words of an enum: as they stand on a page, written and read back.

/// Writes the words that stand on a page and reads them back, from one list.
macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("`{word}` is none of: {}", [$($word),+].join(", "))),
                }
            }
        }
    };
}

pub(crate) use words;
