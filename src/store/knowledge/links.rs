//! Links of the pages of knowledge: plain Markdown links, which editors, git hosts and people
//! follow. Pages that an earlier version or a person wrote may have wikilinks; they are understood,
//! too.
//!
//! Wherever a link stands, what it leads to has one name: `concepts/full-jitter`,
//! `daily/raw/2026-11-15`, `SES3_laptop_SP1C2_DIGEST`.

use std::borrow::Cow;

use chrono::NaiveDate;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use crate::base::static_regex::StaticRegex;
use crate::model::ids::SessionId;
use crate::model::knowledge::{Kind, PageName};
use crate::store::layout;

/// Where the page lies on which a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In `knowledge/` itself: the index and the log.
    Top,
    /// In the folder of a kind of pages.
    Page,
}

impl Place {
    /// The way from there to `knowledge/`.
    fn way_up(self) -> &'static str {
        match self {
            Place::Top => "",
            Place::Page => "../",
        }
    }
}

/// A link to a page.
pub fn to_page(name: &PageName, from: Place) -> String {
    format!(
        "[{}]({}{}.md)",
        shown(&name.to_string()),
        from.way_up(),
        layout::link_target(&name.to_string())
    )
}

/// A link to a day's log.
pub fn to_day(day: NaiveDate, from: Place) -> String {
    format!("[{day}]({}../{}.md)", from.way_up(), layout::link_to_day(day))
}

/// A link to a session's digest, under a name.
pub fn to_digest(session: &SessionId, shown: &str, from: Place) -> String {
    format!("[{shown}]({}{})", from.way_up(), layout::from_core_to_digest(session))
}

/// The name of a page that a person gave it, so that it ends no link.
fn shown(name: &str) -> Cow<'_, str> {
    match name.contains(['[', ']']) {
        true => name.replace('[', "\\[").replace(']', "\\]").into(),
        false => name.into(),
    }
}

/// What all links of a page lead to, but for those out into the world. What stands in code is no
/// link.
pub fn targets(body: &str, kind: Kind) -> Vec<String> {
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES;
    let target = |event| match event {
        Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
            let name = dest_url.split(['#', '^']).next().unwrap_or_default();
            Some(name.trim_end_matches('\\').to_string())
        }
        Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. }) => {
            named_by(&dest_url, kind)
        }
        _ => None,
    };
    Parser::new_ext(body, options).filter_map(target).collect()
}

/// What an entry of a list in the front matter leads to; earlier versions wrote wikilinks there.
pub fn entry_target(value: &str) -> &str {
    let inner = value.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).unwrap_or(value);
    let target = inner.split('|').next().unwrap_or(inner);
    target.strip_suffix(".md").unwrap_or(target)
}

/// The name of what a Markdown link on a page of a kind leads to; `None` for an address in the
/// world or a part of the same page. One that leads out of the memory stays as it is.
fn named_by(address: &str, kind: Kind) -> Option<String> {
    let path = layout::link_path(address.split(['#', '?']).next().unwrap_or_default());
    if path.is_empty() || address.contains("://") || address.starts_with("mailto:") {
        return None;
    }
    let mut folders = vec!["knowledge", kind.folder()];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if folders.pop().is_none() => return Some(path),
            ".." => {}
            part => folders.push(part),
        }
    }
    let whole = folders.join("/");
    if let Some(session) = layout::linked_digest(&whole) {
        return Some(layout::link_to_digest(&session));
    }
    let name = whole.strip_prefix("knowledge/").unwrap_or(&whole);
    Some(name.strip_suffix(".md").unwrap_or(name).to_string())
}

/// Prose with what its links show in their place.
pub fn without_links(text: &str) -> String {
    static LINK: StaticRegex = StaticRegex::new(
        r"\[\[(?:[^\]|\n]*\|)?([^\]|\n]*)\]\]|\[((?:\\.|[^\]\\\n])*)\]\([^)\s]*\)",
    );
    LINK.replace_all(text, "$1$2").into_owned()
}

/// Whether a line leads to a page.
pub fn leads_to(line: &str, page: &PageName) -> bool {
    let (wikilink, address) = (format!("[[{page}"), layout::link_target(&page.to_string()));
    let is_wikilink =
        |(at, found): (usize, &str)| line[at + found.len()..].starts_with([']', '|', '#', '.']);
    line.match_indices(&wikilink).any(is_wikilink)
        || line.match_indices(&format!("{address}.md")).any(|(at, found)| {
            line[..at].ends_with(['(', '/']) && line[at + found.len()..].starts_with([')', '#'])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_either_language_leads_to_the_same() {
        let page: PageName = "concepts/full-jitter".parse().unwrap();
        let session: SessionId = "SES3_laptop_SP1C2".parse().unwrap();
        let day = NaiveDate::from_ymd_opt(2026, 11, 15).unwrap();
        let body = [
            to_page(&page, Place::Page),
            to_day(day, Place::Page),
            to_digest(&session, "SES3_laptop_SP1C2#EP_004", Place::Page),
            "[beside](other.md#part) [[concepts/old|shown]] [out](https://example.org/a.md)".into(),
            "`[code](x.md)` [up](../../../../etc/passwd) ![picture](p.png)".into(),
        ]
        .join(" ");
        assert_eq!(
            targets(&body, Kind::Concept),
            [
                "concepts/full-jitter",
                "daily/raw/2026-11-15",
                "SES3_laptop_SP1C2_DIGEST",
                "concepts/other",
                "concepts/old",
                "../../../../etc/passwd",
            ]
        );
        assert_eq!(
            without_links("see [[a|the b]], [[c]] and [SES1#EP_1](../x.md), not \\[this]"),
            "see the b, c and SES1#EP_1, not \\[this]"
        );
        let line = to_page(&page, Place::Top);
        assert_eq!(line, "[concepts/full-jitter](concepts/full-jitter.md)");
        assert!(leads_to(&line, &page) && leads_to("- [[concepts/full-jitter|x]]", &page));
        assert!(!leads_to(&line, &"concepts/jitter".parse().unwrap()));
        assert!(!leads_to("[x](concepts/full-jitter-more.md)", &page));
        for entry in ["[[daily/raw/2026-11-15]]", "daily/raw/2026-11-15.md", "daily/raw/2026-11-15"]
        {
            assert_eq!(entry_target(entry), "daily/raw/2026-11-15");
        }
    }
}
