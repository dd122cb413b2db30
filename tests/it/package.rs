//! The project's own pages: every link leads somewhere, also for a person who has only the package,
//! and the limits that the format names are those of the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::harness::checkout;

#[test]
fn every_link_of_a_page_leads_to_a_file_in_the_package() {
    let excluded = excluded();
    assert!(excluded.contains(&PathBuf::from("tests")), "{excluded:?}");
    let is_packed = |path: &Path| !excluded.iter().any(|folder| path.starts_with(folder));
    let pages = pages();
    assert!(pages.contains(&"README.md".into()) && pages.contains(&"docs/guide.md".into()));
    let mut wrong = Vec::new();
    let mut links = 0;
    for page in pages.iter().filter(|page| is_packed(page)) {
        let text = fs::read_to_string(checkout().join(page)).unwrap();
        for link in links_in(&text) {
            links += 1;
            if let Err(reason) = follow(page, &link, is_packed) {
                wrong.push(format!("{}: `{link}` {reason}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(links > 10, "only {links} links were found");
}

#[test]
fn a_dead_link_would_be_noticed() {
    let text =
        "[a](b.md), ![c](d.png \"title\")\n```text\n[e](f.md)\n```\n`[g](h.md)` <https://x.y>";
    assert_eq!(links_in(text), ["b.md", "d.png"]);
    let all = |_: &Path| true;
    let readme = Path::new("README.md");
    assert_eq!(follow(readme, "docs/guide.md", all), Ok(()));
    assert_eq!(follow(readme, "https://example.org/x", all), Ok(()));
    assert_eq!(follow(readme, "docs/guide.md#models-and-what-they-cost", all), Ok(()));
    assert_eq!(follow(Path::new("docs/guide.md"), "../README.md#why", all), Ok(()));
    assert_eq!(follow(readme, "docs/gone.md", all), Err("is not there"));
    assert_eq!(follow(readme, "docs/guide.md#no-such-heading", all), Err("has no such heading"));
    let no_docs = |path: &Path| !path.starts_with("docs");
    assert_eq!(follow(readme, "docs/guide.md", no_docs), Err("is not in the package"));
}

#[test]
fn limits_are_those_of_the_code() {
    let page = fs::read_to_string(checkout().join("docs/format.md")).unwrap();
    let (_, table) = page.split_once("\n## Limits\n").expect("a section on limits");
    let limits = limits_in(table.split("\n## ").next().unwrap());
    assert!(limits.len() > 20, "{limits:?}");
    let sources: Vec<String> = walkdir::WalkDir::new(checkout().join("src"))
        .into_iter()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "rs"))
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .collect();
    let constants: BTreeSet<(String, u64)> =
        sources.iter().flat_map(|text| constants_in(text)).collect();
    let wrong: Vec<_> = limits.into_iter().filter(|limit| !constants.contains(limit)).collect();
    assert!(wrong.is_empty(), "the code has no such constant: {wrong:?}");
}

#[test]
fn every_state_file_is_in_the_format() {
    static FILE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"[/"]([\w-]+\.jsonl?)""#).unwrap());
    let layout = fs::read_to_string(checkout().join("src/store/layout.rs")).unwrap();
    let page = fs::read_to_string(checkout().join("docs/format.md")).unwrap();
    let (_, table) = page.split_once("\n## `.memtree/`\n").expect("a section on .memtree");
    let table = table.split("\n## ").next().unwrap();
    let files: Vec<&str> =
        FILE.captures_iter(&layout).map(|found| found.extract::<1>().1[0]).collect();
    assert!(files.len() > 8, "{files:?}");
    let missing: Vec<_> = files.iter().filter(|file| !table.contains(*file)).collect();
    assert!(missing.is_empty(), "not in docs/format.md: {missing:?}");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() > 15, "{rows:?}");
    let gone: Vec<_> = rows
        .iter()
        .filter(|path| {
            let path = path.split('<').next().unwrap().trim_end_matches('/');
            !layout.contains(path.rsplit('/').next().unwrap())
        })
        .collect();
    assert!(gone.is_empty(), "not in src/store/layout.rs: {gone:?}");
}

#[test]
fn every_promise_names_tests_that_are_there() {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^*]\*([^*]+)\*\n").unwrap());
    let page = fs::read_to_string(checkout().join("docs/security.md")).unwrap();
    let (_, promises) = page.split_once("\n## Promises\n").expect("a section on promises");
    let names: Vec<&str> = NAMES
        .captures_iter(promises)
        .flat_map(|found| found.get(1).unwrap().as_str().split(','))
        .map(str::trim)
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let wrong: Vec<_> = names.into_iter().filter(|name| !is_tested(name)).collect();
    assert!(wrong.is_empty(), "neither test modules nor modules with tests: {wrong:?}");
}

/// Whether there is a test module of this name, or a module of the source with its own tests; the
/// last part may be a function in it.
fn is_tested(name: &str) -> bool {
    let path = name.replace("::", "/");
    let (folder, function) = path.rsplit_once('/').unwrap_or((&path, ""));
    let read = |path: String| fs::read_to_string(checkout().join(path)).ok();
    let module = |path: &str| {
        read(format!("tests/it/{path}.rs"))
            .or_else(|| read(format!("src/{path}.rs")))
            .or_else(|| read(format!("src/{path}/mod.rs")))
    };
    let has_function = |text: &str| text.contains(&format!("fn {function}("));
    let is_module =
        module(&path).is_some_and(|text| text.contains("#[test]") || text.contains("mod tests"));
    is_module
        || !function.is_empty()
            && module(folder).is_some_and(|text| has_function(&text) || text.contains(function))
}

#[test]
fn a_wrong_limit_would_be_noticed() {
    let row = "| bytes, and lines | 25,000, 200 | `MOST_BYTES`, `MOST_LINES` |\n";
    let limit = |name: &str, value| (name.to_string(), value);
    assert_eq!(limits_in(row), [limit("MOST_BYTES", 25_000), limit("MOST_LINES", 200)]);
    let code = "pub const A: usize = 25_000;\n    const B: u64 = 2 << 20;\nconst C: &str = \"1\";";
    assert_eq!(constants_in(code), [limit("A", 25_000), limit("B", 2 << 20)]);
}

/// The limits of a table, as the names of constants and their values.
fn limits_in(table: &str) -> Vec<(String, u64)> {
    let rows = table.lines().filter(|line| line.starts_with("| ") && line.contains("| `"));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, values, names] = cells[..] else { panic!("a row has three cells: {row}") };
        let number = |value: &str| value.replace(',', "").parse().expect(row);
        let names = names.split(", ").map(|name| name.trim_matches('`').to_string());
        names.zip(values.split(", ").map(number)).collect::<Vec<_>>()
    })
    .collect()
}

/// The constants of a source file that are whole numbers.
fn constants_in(text: &str) -> Vec<(String, u64)> {
    static CONSTANT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"const ([A-Z_]+): (?:usize|u32|u64) = ([\d_]+)(?: << (\d+))?;").unwrap()
    });
    let constants = CONSTANT.captures_iter(text).map(|found| {
        let number: u64 = found[2].replace('_', "").parse().unwrap();
        let shift = found.get(3).map_or(0, |shift| shift.as_str().parse().unwrap());
        (found[1].to_string(), number << shift)
    });
    constants.collect()
}

/// Looks where a link of a page leads.
fn follow(page: &Path, link: &str, is_packed: impl Fn(&Path) -> bool) -> Result<(), &'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = if path.is_empty() {
        page.to_path_buf()
    } else {
        without_dots(&page.parent().unwrap().join(path))
    };
    let file = checkout().join(&path);
    if !file.exists() {
        return Err("is not there");
    }
    if !is_packed(&path) {
        return Err("is not in the package");
    }
    if anchor.is_empty() || anchors(&fs::read_to_string(file).unwrap()).any(|one| one == anchor) {
        Ok(())
    } else {
        Err("has no such heading")
    }
}

/// The path that `docs/../README.md` means.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The links of a Markdown text, outside of code.
fn links_in(text: &str) -> Vec<String> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`\n]*`").unwrap());
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)[^)]*\)").unwrap());
    let text = prose(text).collect::<Vec<_>>().join("\n");
    let text = CODE.replace_all(&text, "code");
    LINK.captures_iter(&text).map(|link| link[1].to_string()).collect()
}

/// The lines of a Markdown text that are not fenced.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<String> = None;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        let ticks: String = line.chars().take_while(|letter| *letter == '`').collect();
        match &fence {
            Some(open) if line.trim_end() == open => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => return true,
            Some(_) => {}
        }
        false
    })
}

/// What links to the headings of a page end in, as the usual renderers make it.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    })
}

/// What `Cargo.toml` keeps out of the package: folders and files at the top, each named from there.
fn excluded() -> Vec<PathBuf> {
    let manifest = fs::read_to_string(checkout().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let list = manifest["package"]["exclude"].as_array().expect("a list");
    let one = |name: &toml::Value| {
        let name = name.as_str().expect("a path");
        let path = name.strip_prefix('/').filter(|path| !path.contains('*'));
        PathBuf::from(path.unwrap_or_else(|| panic!("`{name}`: write it as `/folder`")))
    };
    list.iter().map(one).collect()
}

/// The Markdown pages of the project itself, from the top.
fn pages() -> Vec<PathBuf> {
    let top = checkout();
    let folders = [(top.to_path_buf(), 1), (top.join("docs"), 9)];
    let files = folders.into_iter().flat_map(|(folder, depth)| {
        walkdir::WalkDir::new(folder).max_depth(depth).sort_by_file_name().into_iter().flatten()
    });
    let paths = files.map(|entry| entry.path().strip_prefix(top).unwrap().to_path_buf());
    paths.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}
