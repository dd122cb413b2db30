//! Resources: the pages of the memory under `memtree://`, to be read whole.

use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};

use super::{Served, answers, paging};
use crate::error::Result;
use crate::ops::pages::{PageRef, PagesRequest};

const SCHEME: &str = "memtree://";
const MARKDOWN: &str = "text/markdown";
/// How many pages are listed at once.
const AT_ONCE: usize = 50;

/// The kinds of pages that can be read by name.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |path: &str, name: &str, description: &str| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), name)
            .with_description(description)
            .with_mime_type(MARKDOWN)
    };
    vec![
        template("session/{session}", "session", "The digest of a session"),
        template("session/{session}/{episode}", "episode", "One prompt and all that followed it"),
        template("day/{date}", "day", "The summary of a day, or its lines: 2026-11-15"),
        template("core/{core}", "core", "Eight sessions, consolidated: CORE_laptop_SP1C2"),
    ]
}

/// What there is to read, the newest first: `core/MEMORY.md`, then sessions, then days.
pub fn list(served: &Served, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let listed = || -> Result<ListResourcesResult> {
        let from = paging::position(cursor)?;
        let report = served.memory()?.pages(PagesRequest::default().from(from).limit(AT_ONCE))?;
        let resource = |page: &crate::ops::pages::ListedPage| {
            Resource::new(uri(&page.page), page.page.to_string())
                .with_title(answers::shown(&page.title))
                .with_mime_type(MARKDOWN)
        };
        let mut result =
            ListResourcesResult::with_all_items(report.pages.iter().map(resource).collect());
        result.next_cursor = report.next.map(|next| next.to_string());
        Ok(result)
    };
    listed().map_err(|error| answers::protocol_error(&error))
}

/// A page, whole.
pub fn read(served: &Served, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = || -> Result<String> {
        let path = uri.strip_prefix(SCHEME).unwrap_or_default();
        served.memory()?.page(&path.parse()?)
    };
    let text = text().map_err(|error| answers::protocol_error(&error))?;
    let contents = ResourceContents::text(answers::printable_text(&text), uri);
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(MARKDOWN)]))
}

fn uri(page: &PageRef) -> String {
    format!("{SCHEME}{page}")
}
