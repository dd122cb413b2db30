//! What stands in records, read leniently: agents change the shape of a field from version to
//! version, and a field of another shape must not cost us the record.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::clock::{self, Timestamp};

/// Declares what stands in records: a field that is not there is empty, and texts are borrowed from
/// the log. The first field of a struct with a lifetime has to be a borrowed one.
macro_rules! wire_types {
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> {
        $(#[$first_meta:meta])* $first_vis:vis $first:ident: $type:ty,
        $($fields:tt)*
    } $($rest:tt)*) => {
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        $(#[$meta])*
        $vis struct $name<$life> {
            $(#[$first_meta])*
            #[serde(borrow)]
            $first_vis $first: $type,
            $($fields)*
        }
        $crate::adapters::wire::wire_types! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident $fields:tt $($rest:tt)*) => {
        #[derive(serde::Deserialize, Default)]
        #[serde(default)]
        $(#[$meta])*
        $vis struct $name $fields
        $crate::adapters::wire::wire_types! { $($rest)* }
    };
    () => {};
}
pub(super) use wire_types;

/// A string or a number as text, borrowed where it can be; anything else counts as none.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Text<'_> {
    /// The text; empty where there is none.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, where there is one.
    pub fn some(&self) -> Option<&str> {
        Some(self.0.as_ref()).filter(|text| !text.is_empty())
    }

    /// The text on its own, where there is more than blanks.
    pub fn owned(&self) -> Option<String> {
        Some(self.0.trim()).filter(|text| !text.is_empty()).map(str::to_string)
    }

    /// Puts the text where an earlier one may stand.
    pub fn replace(&self, slot: &mut Option<String>) {
        let text = self.0.trim();
        if !text.is_empty() && slot.as_deref() != Some(text) {
            *slot = Some(text.to_string());
        }
    }

    /// Puts the text where none stands yet.
    pub fn fill(&self, slot: &mut Option<String>) {
        if slot.is_none() {
            *slot = self.owned();
        }
    }

    /// The moment that it names.
    pub fn time(&self) -> Option<Timestamp> {
        self.some().and_then(clock::parse)
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A count of something; whatever is no number counts as none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub u64);

impl Count {
    /// The moment so many seconds after 1970; 0 stands for none.
    pub fn seconds(self) -> Option<Timestamp> {
        (self.0 > 0).then(|| clock::from_seconds(self.0 as f64))?
    }

    /// The moment so many milliseconds after 1970; 0 stands for none.
    pub fn milliseconds(self) -> Option<Timestamp> {
        (self.0 > 0).then(|| clock::from_millis(self.0 as i64))?
    }
}

/// A string, a block, or a list of them: all of its text, and how many images were left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Content<'a> {
    /// The text of its blocks, each on its own line.
    pub text: Cow<'a, str>,
    /// Images and other attachments.
    pub images: u32,
}

impl<'a> Content<'a> {
    fn add(&mut self, part: Content<'a>) {
        self.images += part.images;
        if self.text.is_empty() {
            self.text = part.text;
        } else if !part.text.is_empty() {
            let text = self.text.to_mut();
            text.push('\n');
            text.push_str(&part.text);
        }
    }
}

wire_types! {
    struct WireContentBlock<'a> {
        #[serde(rename = "type")]
        kind: Text<'a>,
        text: Text<'a>,
        content: Content<'a>,
        #[serde(rename = "inlineData")]
        inline_data: Option<IgnoredAny>,
    }
}

/// What is of its usual shape; anything else, such as `null`, counts as none of it.
#[derive(Debug, Default)]
pub struct Lenient<T>(pub T);

impl<T> Deref for Lenient<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?;
        Ok(Lenient(serde_json::from_str(json.get()).unwrap_or_default()))
    }
}

/// Says how many elements a list has.
pub fn length(list: Option<&RawValue>) -> u32 {
    list.and_then(|raw| serde_json::from_str::<Vec<IgnoredAny>>(raw.get()).ok())
        .map_or(0, |list| list.len() as u32)
}

/// The JSON as it stands; empty where there is none.
pub fn raw(json: Option<&RawValue>) -> &str {
    json.map_or("", RawValue::get)
}

/// The text of a JSON string, or the JSON itself where it is something else.
pub fn plain(json: Option<&RawValue>) -> Cow<'_, str> {
    let json = raw(json);
    let text = json.starts_with('"').then(|| serde_json::from_str::<Text>(json).ok()).flatten();
    text.map_or(Cow::Borrowed(json), |text| text.0)
}

/// The path that an address like `file:///home/ada/a%20b` names; what is none is left as it is.
pub fn local_path(address: &str) -> String {
    let Some(path) = address.strip_prefix("file://") else { return address.to_string() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let decoded = decoded.filter(|_| first == b'%');
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyShape::<Text>(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Numbers come as text here and there, and fractions are cut off.
        let text = Text::deserialize(deserializer)?;
        Ok(Count(
            text.parse().unwrap_or_else(|_| text.parse::<f64>().map_or(0, |number| number as u64)),
        ))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyShape::<Content>(PhantomData))
    }
}

/// What can be made of JSON of any shape; what is not known to be something is nothing.
trait FromAnyShape<'de>: Default {
    fn from_text(text: Cow<'de, str>) -> Self;

    fn from_number(_: impl fmt::Display) -> Self {
        Self::default()
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'de> FromAnyShape<'de> for Text<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Text(text)
    }

    fn from_number(number: impl fmt::Display) -> Self {
        Text(number.to_string().into())
    }
}

impl<'de> FromAnyShape<'de> for Content<'de> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Content { text, images: 0 }
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut whole = Content::default();
        while let Some(part) = list.next_element()? {
            whole.add(part);
        }
        Ok(whole)
    }

    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let block = WireContentBlock::deserialize(MapAccessDeserializer::new(map))?;
        let image = ["image", "document", "audio"].iter().any(|kind| block.kind.contains(kind))
            || block.inline_data.is_some();
        let mut whole = Content { text: block.text.0, images: image.into() };
        whole.add(block.content);
        Ok(whole)
    }
}

struct AnyShape<T>(PhantomData<T>);

impl<'de, T: FromAnyShape<'de>> Visitor<'de> for AnyShape<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_string())))
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_text_whatever_its_shape() {
        let check = |json: &str, text: &str, images: u32| {
            let content: Content = serde_json::from_str(json).unwrap();
            assert_eq!((content.text.as_ref(), content.images), (text, images), "{json}");
        };
        check(r#""a\nb""#, "a\nb", 0);
        check(
            r#"["a",{"type":"input_text","text":"b"},{"type":"input_image","image_url":"data:"}]"#,
            "a\nb",
            1,
        );
        check(r#"{"type":"text","text":"a"}"#, "a", 0);
        check(
            r#"[{"content":{"text":"a"}},{"inlineData":{"data":""}},{"functionCall":{}}]"#,
            "a",
            1,
        );
        check("null", "", 0);
        check("7", "", 0);
    }

    #[test]
    fn a_field_of_another_shape_counts_as_none() {
        wire_types! {
            struct WireInner<'a> {
                name: Text<'a>,
            }

            struct WireOuter<'a> {
                inner: Lenient<WireInner<'a>>,
                list: Lenient<Vec<Count>>,
            }
        }
        let check = |json: &str, name: &str, length: usize| {
            let outer: WireOuter = serde_json::from_str(json).unwrap();
            assert_eq!((outer.inner.name.as_str(), outer.list.len()), (name, length), "{json}");
        };
        check(r#"{"inner":{"name":"a"},"list":[1,2]}"#, "a", 2);
        check(r#"{"inner":null,"list":{}}"#, "", 0);
        check(r#"{"inner":"text"}"#, "", 0);
    }

    #[test]
    fn an_address_names_a_path() {
        assert_eq!(local_path("file:///home/ada/a%20b%C3%A9"), "/home/ada/a bé");
        assert_eq!(local_path("/home/ada/100%25"), "/home/ada/100%25");
        assert_eq!(local_path("file:///a%2"), "/a%2");
    }

    #[test]
    fn counts_and_texts_of_other_shapes_cost_nothing() {
        let count = |json: &str| serde_json::from_str::<Count>(json).unwrap().0;
        assert_eq!(
            [count("7"), count("7.9"), count("-1"), count("null"), count("{}"), count("\"12\"")],
            [7, 7, 0, 0, 0, 12]
        );
        let text = |json: &str| serde_json::from_str::<Text>(json).unwrap().0.into_owned();
        assert_eq!([text("\"a\""), text("3"), text("[1]"), text("true")], ["a", "3", "", ""]);
    }
}
