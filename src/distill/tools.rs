//! Tools by what they bring in: the web and MCP servers say what strangers wrote.

use crate::model::session::Action;

/// Whether a call reads what neither the person nor the project wrote: a page of the web, or what
/// an MCP server answers.
pub fn reads_outside(tool: &str, action: &Action) -> bool {
    let name: String =
        tool.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    const NAMES: &[&str] = &[
        "webfetch", "websearch", "fetch", "fetchurl", "fetchwebpage", "googlewebsearch", "browse",
        "browser", "readurl", "urlfetch", "httprequest", "webview", "openurl", "navigate", "crawl",
        "scrape", "puppeteer", "playwright", "xsearch", "webbrowser",
    ];
    if tool.starts_with("mcp__") || tool.starts_with("mcp_") || tool.contains("__") {
        return true;
    }
    if NAMES.iter().any(|known| name.starts_with(known) || name.ends_with(known)) {
        return true;
    }
    match action {
        Action::Shell { command } => {
            let mut words = command.split(|c: char| c.is_whitespace() || "|;&()`$".contains(c));
            let fetches = |word: &str| {
                ["curl", "wget", "http", "lynx", "w3m", "links", "httpie", "xh"].contains(&word)
            };
            command.contains("://") && words.any(fetches)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside() {
        let other = || Action::Other { input: String::new() };
        let shell = |command: &str| Action::Shell { command: command.into() };
        for tool in ["WebFetch", "web_search", "mcp__hub__get", "browser_navigate", "fetch"] {
            assert!(reads_outside(tool, &other()), "{tool}");
        }
        assert!(reads_outside("Bash", &shell("curl -s https://example.org | head")));
        for tool in ["Bash", "Read", "Edit", "Grep", "Task"] {
            assert!(!reads_outside(tool, &other()), "{tool}");
        }
        assert!(!reads_outside("Bash", &shell("git clone https://example.org/x")));
    }
}
