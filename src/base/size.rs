//! Sizes as people write them: `4GiB`, `500 MB`, `1024`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes that can be set as a number or as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KIB", 1 << 10),
    ("KB", 1_000),
    ("M", 1 << 20),
    ("MIB", 1 << 20),
    ("MB", 1_000_000),
    ("G", 1 << 30),
    ("GIB", 1 << 30),
    ("GB", 1_000_000_000),
    ("T", 1 << 40),
    ("TIB", 1 << 40),
    ("TB", 1_000_000_000_000),
];

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim().to_ascii_uppercase());
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let bytes = match (number.parse::<u64>(), number.parse::<f64>(), factor) {
            (Ok(whole), _, Some(factor)) => whole.checked_mul(factor),
            (Err(_), Ok(part), Some(factor)) if number.contains('.') => {
                Some((part * factor as f64) as u64)
            }
            _ => None,
        };
        bytes.map(Size).ok_or_else(|| {
            format!("`{text}` is no size; write it as `4GiB`, `500MB` or a number of bytes")
        })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(from)? {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(text.parse::<Size>().ok().map(|size| size.0), expect, "{text:?}");
        };
        check("0", Some(0));
        check("1024", Some(1024));
        check("4GiB", Some(4 << 30));
        check(" 4 gib ", Some(4 << 30));
        check("500MB", Some(500_000_000));
        check("1.5kB", Some(1500));
        check("10M", Some(10 << 20));
        check("1TB", Some(1_000_000_000_000));
        check("", None);
        check("GiB", None);
        check("-1", None);
        check("4 gigs", None);
        check("99999999999999999999", None);
        check("99999999TiB", None);
    }
}
