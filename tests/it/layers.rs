//! Arrows point down: which part of the source may use which, and what nobody below the entry
//! points does. No files use each other in a circle, and the code map names what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::harness::checkout;

/// Each part of `src/`, and the parts that it may use besides itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("error", &[]),
    ("settings", &["model", "base", "error"]),
    ("model", &["base", "error"]),
    ("store", &["model", "base", "error", "settings"]),
    ("adapters", &["model", "base", "error"]),
    ("distill", &["model", "base", "error"]),
    ("capture", &["adapters", "distill", "store", "model", "base", "error"]),
    ("query", &["model", "base", "error"]),
    ("index", &["query", "store", "model", "base", "error"]),
    ("models", &["distill", "store", "settings", "model", "base", "error"]),
    ("environment", &["adapters", "model", "base", "error"]),
    (
        "memory",
        &["environment", "models", "distill", "store", "settings", "model", "base", "error"],
    ),
    (
        "ops",
        &[
            "memory", "environment", "capture", "index", "query", "adapters", "distill", "models",
            "store", "model", "base", "error", "settings",
        ],
    ),
    ("hooks", &["memory", "ops", "adapters", "store", "model", "base", "error", "settings"]),
    ("mcp", &["memory", "environment", "ops", "query", "model", "base", "error"]),
    // The command line puts the pieces together.
    (
        "cli",
        &[
            "memory", "environment", "hooks", "mcp", "ops", "capture", "query", "adapters",
            "distill", "models", "store", "model", "base", "error", "settings",
        ],
    ),
    // The library shows what is public of them all.
    (
        "lib",
        &[
            "memory", "environment", "capture", "index", "query", "adapters", "distill", "models",
            "ops", "store", "model", "base", "error", "settings",
        ],
    ),
    ("main", &["memtree"]),
];

/// What stands only in some places: a pattern, where it may stand, and why.
const ONLY_THERE: &[(&str, &[&str], &str)] = &[
    (r"\be?print(ln)?!|\bdbg!", &["cli"], "below the entry points nothing prints"),
    (
        r"\bstd::env\b|\benv::(var|vars|args|current_dir|temp_dir|home_dir)",
        &["cli", "main.rs", "environment.rs", "base/clock.rs", "base/files/faults.rs"],
        "below the entry points nothing asks for the environment; it is handed in",
    ),
    (
        r"\bfs::(write|rename|remove_\w+|create_dir\w*|copy|hard_link|set_permissions)\b|\bFile::(create|options)\b|\bOpenOptions::new\b|\.persist\(|tempfile_in\(|NamedTempFile::new_in\(",
        &["base/files", "adapters/sqlite.rs", "models/tests.rs", "cli"],
        "the disk is changed by base/files alone, where every change can be made to fail",
    ),
    (
        r"\bfs::(read|read_to_string|read_dir|read_link|metadata|symlink_metadata)\b|\bFile::open\b|\bWalkDir\b|\.exists\(\)|\w\(\)\.is_(file|dir)\(\)",
        &["base/files", "base/git", "models/tests.rs", "models/command.rs"],
        "paths are looked at and read by base/files alone, which follows no link below a memory",
    ),
    (r"\b(Utc|Local|SystemTime)::now\b", &["base/clock.rs"], "the time is handed in"),
    (r"MEMTREE_NOW", &["base/clock.rs"], "only the clock knows how it is replaced"),
    (
        r"\bsettings::\{?(Settings|Layers)",
        &["cli", "hooks", "lib.rs", "memory.rs", "models/configured.rs"],
        "settings are put together at an entry point; ops get the values they need",
    ),
    (
        r#""sessions"|daily/raw|daily/summary|"\.memtree["/]|_DIGEST\.md"#,
        // A pattern's page has a key of that name.
        &["store/layout.rs", "store/pattern"],
        "every path of the tree is put together in one file",
    ),
];

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    for source in sources() {
        let part = source.part();
        let (_, below) = LAYERS
            .iter()
            .find(|(name, _)| *name == part)
            .unwrap_or_else(|| panic!("src/{part} is new: say in LAYERS what it may use"));
        for (number, line) in source.code() {
            for used in used_in(line) {
                if used != part && !below.contains(&used.as_str()) {
                    wrong.push(format!(
                        "src/{}:{number}: {part} uses {used}: {}",
                        source.name,
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_belongs_in_one_place_is_only_there() {
    let mut wrong = Vec::new();
    for (pattern, places, why) in ONLY_THERE {
        let pattern = Regex::new(pattern).unwrap();
        for source in sources() {
            // Agents have folders called `sessions` too.
            let theirs = source.part() == "adapters" && why.contains("path of the tree");
            if theirs || places.iter().any(|place| Path::new(&source.name).starts_with(place)) {
                continue;
            }
            let found = source.code().filter(|(_, line)| pattern.is_match(line));
            wrong.extend(found.map(|(number, line)| {
                format!("src/{}:{number}: {why}: {}", source.name, line.trim())
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In no folder do the entries use each other in a circle. An entry is a file or a whole folder.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let sources = sources();
    let modules: BTreeSet<String> = sources.iter().map(Source::module).collect();
    let mut uses = Vec::new();
    for source in &sources {
        let from = source.module();
        for (number, path) in paths_in(&source.plain_code()) {
            let to = file_of(&absolute(&from, &path), &modules);
            uses.push((from.clone(), to, format!("src/{}:{number}: {path}", source.name)));
        }
    }
    assert!(uses.len() > 500, "only {} uses were found", uses.len());
    let found: Vec<String> = circles(&uses)
        .iter()
        .map(|(circle, lines)| format!("{circle}\n{}", lines.join("\n")))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[test]
fn the_code_map_names_what_is_there() {
    let page = fs::read_to_string(checkout().join("docs/architecture.md")).unwrap();
    let folders: BTreeSet<String> = sources()
        .iter()
        .flat_map(|source| Path::new(&source.name).ancestors().skip(1).map(Path::to_owned))
        .map(|folder| format!("src/{}", folder.display()).trim_end_matches('/').to_string())
        .collect();
    let wrong = errors_of_map(&page, &folders, |path| checkout().join(path).exists());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_security_promises_has_the_tests_it_names() {
    let page = fs::read_to_string(checkout().join("docs/security.md")).unwrap();
    let promises = page.split("## Promises").nth(1).unwrap();
    let promises = promises.split("### What is not promised").next().unwrap();
    let italic =
        Regex::new(r"(?s)(?:^|[^*])\*([a-z_]+(?:::[a-z_0-9]+)*(?:,\s+[a-z_0-9:]+)*)\*").unwrap();
    let mut named = 0;
    let mut missing = Vec::new();
    for found in italic.captures_iter(promises) {
        for name in found[1].split(',').map(str::trim) {
            named += 1;
            if !is_tested(name) {
                missing.push(name.to_string());
            }
        }
    }
    assert!(named > 40, "only {named} names were found");
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:?}");
    assert!(!is_tested("claims::nobody_wrote_this") && !is_tested("base::nothing_here"));
}

/// Whether a name is that of a test, of a test module or of a module of ours with tests.
fn is_tested(name: &str) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let file = |below: &str, parts: &[&str]| {
        let path = checkout().join(below).join(parts.join("/"));
        [path.with_extension("rs"), path.join("mod.rs")].into_iter().find(|path| path.is_file())
    };
    let holds = |path: PathBuf, test: &str| {
        let declared = format!("fn {test}(");
        fs::read_to_string(path).is_ok_and(|text| text.contains(&declared))
    };
    let (last, module) = parts.split_last().expect("a name has a part");
    file("tests/it", &parts).is_some()
        || file("src", &parts).is_some()
        || file("tests/it", module).is_some_and(|path| holds(path, last))
}

#[test]
fn these_tests_would_notice() {
    assert_eq!(used_in("use crate::store::layout;"), ["store"]);
    assert_eq!(used_in("use crate::{base, model::ids};"), ["base", "model"]);
    assert_eq!(used_in("let x = crate::index::refresh(crate::error::y);"), ["index", "error"]);
    let names: Vec<String> = sources().into_iter().map(|source| source.name).collect();
    assert!(names.len() > 40 && names.contains(&"store/layout.rs".to_string()), "{names:?}");
}

#[test]
fn a_circle_would_be_noticed() {
    let paths =
        |text: &str| -> Vec<String> { paths_in(text).into_iter().map(|(_, path)| path).collect() };
    assert_eq!(
        paths("pub use crate::a::{self, b::{C, D as E},\n f};"),
        ["crate::a", "crate::a::b::C", "crate::a::b::D", "crate::a::f"]
    );
    assert_eq!(
        paths("let x = super::y::z(crate::w::V::new());"),
        ["super::y::z", "crate::w::V::new"]
    );
    assert_eq!(paths_in("\n\nuse super::x;"), [(3, "super::x".to_string())]);
    assert_eq!(absolute("ops/forget/traces", "super::super::sweep::Run"), "ops/sweep/Run");
    assert_eq!(absolute("ops/forget", "self::traces"), "ops/forget/traces");
    let modules = ["ops", "ops/sweep", "ops/forget"].map(String::from).into();
    assert_eq!(file_of("ops/sweep/Run/new", &modules), "ops/sweep");
    assert_eq!(file_of("ops/Verb", &modules), "ops");

    let found = |uses: &[(&str, &str)]| -> Vec<String> {
        let one = |(from, to): &(&str, &str)| (from.to_string(), to.to_string(), String::new());
        circles(&uses.iter().map(one).collect::<Vec<_>>()).into_keys().collect()
    };
    assert_eq!(found(&[("ops/a", "ops/b"), ("ops/b", "ops/c"), ("ops/c", "store")]), [""; 0]);
    assert_eq!(
        found(&[("ops/a", "ops/b"), ("ops/b", "ops/c"), ("ops/c", "ops/a")]),
        ["ops: a b c"]
    );
    assert_eq!(found(&[("ops/a/x", "ops/b"), ("ops/b", "ops/a/y")]), ["ops: a b"]);
    assert_eq!(found(&[("ops/a/x", "store"), ("store", "ops/b")]), ["src: ops store"]);
    assert_eq!(found(&[("ops", "ops/a"), ("ops/a", "ops"), ("ops/a/x", "ops")]), [""; 0]);
    assert_eq!(found(&[("a/b/x", "a/b/y"), ("a/b/y", "a/b/x")]), ["a/b: x y"]);
}

#[test]
fn a_wrong_map_would_be_noticed() {
    let there = |path: &str| ["src", "src/ops", "src/ops/sweep.rs"].contains(&path);
    let folders = ["src", "src/ops"].map(String::from).into();
    let errors = |rows: &str| errors_of_map(rows, &folders, there);
    let whole = "| `src/` | All. | |\n| `src/ops/` | The verbs. | `sweep.rs` |\n";
    assert_eq!(errors(whole), [""; 0]);
    assert_eq!(errors("| `src/` | All. | |\n"), ["src/ops has no row"]);
    assert_eq!(errors(&format!("{whole}| `src/x/` | X. | |\n")), ["src/x is not there"]);
    assert_eq!(errors(&whole.replace("sweep", "swept")), ["src/ops/swept.rs is not there"]);
    assert_eq!(errors(&whole.replace("The verbs.", "")), ["src/ops: no sentence says what it is"]);
    assert_eq!(errors(&format!("{whole}{whole}")), ["src has two rows", "src/ops has two rows"]);
}

/// The parts of the crate that a line names.
fn used_in(line: &str) -> Vec<String> {
    static USES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bcrate::(?:\{([^}]*)\}|(\w+))").unwrap());
    let mut used = Vec::new();
    for found in USES.captures_iter(line) {
        match (found.get(1), found.get(2)) {
            (Some(list), _) => used.extend(list.as_str().split(',').filter_map(|one| {
                let name = one.trim().split("::").next()?;
                (!name.is_empty()).then(|| name.to_string())
            })),
            (_, Some(name)) => used.push(name.as_str().to_string()),
            _ => {}
        }
    }
    used
}

/// The paths that begin with `crate`, `super` or `self` in a text, one by one, with their lines.
fn paths_in(text: &str) -> Vec<(usize, String)> {
    static USES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\buse\s+((?:crate|super|self)\b[^;]*);").unwrap());
    static INLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap());
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let mut paths = Vec::new();
    for found in USES.captures_iter(text) {
        let tree = found.get(1).unwrap();
        let leaves = leaves(&tree.as_str().split_whitespace().collect::<Vec<_>>().join(" "));
        paths.extend(leaves.into_iter().map(|leaf| (line(tree.start()), leaf)));
    }
    let rest =
        USES.replace_all(text, |found: &regex::Captures<'_>| "\n".repeat(line_breaks(found)));
    let line = |at: usize| rest[..at].matches('\n').count() + 1;
    paths.extend(INLINE.find_iter(&rest).map(|found| (line(found.start()), found.as_str().into())));
    paths
}

fn line_breaks(found: &regex::Captures<'_>) -> usize {
    found[0].matches('\n').count()
}

/// The paths of a `use` tree: `a::{b, c as d}` is `a::b` and `a::c`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((before, list)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return vec![path.trim_end_matches("::self").to_string()];
    };
    let list = &list[..list.rfind('}').expect("what is opened is closed")];
    let mut depth = 0;
    let entries = list.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    entries
        .filter(|entry| !entry.trim().is_empty())
        .flat_map(|entry| leaves(&format!("{}{}", before.trim(), entry.trim())))
        .collect()
}

/// A path from the root of the crate, with slashes, as a module writes it.
fn absolute(module: &str, path: &str) -> String {
    let mut at: Vec<&str> = module.split('/').collect();
    for part in path.split("::") {
        match part {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            part => at.push(part),
        }
    }
    at.join("/")
}

/// The file in which the thing at a path stands; the root of the crate is `lib`.
fn file_of(path: &str, modules: &BTreeSet<String>) -> String {
    let ancestors = Path::new(path).ancestors().map(|path| path.to_str().unwrap());
    ancestors.into_iter().find(|path| modules.contains(*path)).unwrap_or("lib").to_string()
}

/// In each folder, the entries that use each other in a circle, with the lines that do. An entry is
/// a file or a whole folder with its `mod.rs`, so an entry and the `mod.rs` beside it are one.
fn circles(uses: &[(String, String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut folders: BTreeMap<String, BTreeMap<(&str, &str), &str>> = BTreeMap::new();
    for (from, to, line) in uses {
        let shared = from.split('/').zip(to.split('/')).take_while(|(one, other)| one == other);
        let depth = shared.count();
        let (Some(one), Some(other)) = (from.split('/').nth(depth), to.split('/').nth(depth))
        else {
            continue;
        };
        let folder: Vec<&str> = from.split('/').take(depth).collect();
        folders.entry(folder.join("/")).or_default().entry((one, other)).or_insert(line);
    }
    let mut circles = BTreeMap::new();
    for (folder, uses) in &folders {
        let reached = |from: &str| reached(from, uses);
        let entries: BTreeSet<&str> = uses.keys().map(|(from, _)| *from).collect();
        for entry in &entries {
            let circle: Vec<&str> =
                reached(entry).into_iter().filter(|other| reached(other).contains(entry)).collect();
            if circle.first() == Some(entry) {
                let inside = uses
                    .iter()
                    .filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
                let name = if folder.is_empty() { "src" } else { folder };
                circles.insert(
                    format!("{name}: {}", circle.join(" ")),
                    inside.map(|(_, line)| line.to_string()).collect(),
                );
            }
        }
    }
    circles
}

/// What an entry uses, itself or through others.
fn reached<'a>(from: &str, uses: &BTreeMap<(&'a str, &'a str), &str>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut ahead = vec![from];
    while let Some(entry) = ahead.pop() {
        for (_, to) in uses.keys().filter(|(from, _)| *from == entry) {
            if reached.insert(*to) {
                ahead.push(to);
            }
        }
    }
    reached
}

/// What is wrong with the table of folders on a page, whose rows begin with a folder of `src/`.
fn errors_of_map(
    page: &str,
    folders: &BTreeSet<String>,
    is_there: impl Fn(&str) -> bool,
) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`([^`]+\.rs)`").unwrap());
    let mut wrong = Vec::new();
    let mut rows = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| `src/")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, sentence, files] = cells[..] else {
            wrong.push(format!("a row has three cells: {row}"));
            continue;
        };
        let folder = folder.trim_matches(['`', '/']);
        if !is_there(folder) {
            wrong.push(format!("{folder} is not there"));
        }
        if !rows.insert(folder.to_string()) {
            wrong.push(format!("{folder} has two rows"));
        }
        if !sentence.ends_with('.') {
            wrong.push(format!("{folder}: no sentence says what it is"));
        }
        let files = NAMES.captures_iter(files).map(|name| format!("{folder}/{}", &name[1]));
        wrong.extend(
            files.filter(|file| !is_there(file)).map(|file| format!("{file} is not there")),
        );
    }
    wrong.extend(folders.difference(&rows).map(|folder| format!("{folder} has no row")));
    wrong
}

struct Source {
    /// Its path below `src/`.
    name: String,
    text: String,
}

impl Source {
    /// The part of the program that it belongs to: its folder, or its own name.
    fn part(&self) -> &str {
        self.name.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// Its path as a module: `ops/forget` for `ops/forget.rs` and `ops/forget/mod.rs`.
    fn module(&self) -> String {
        let path = self.name.trim_end_matches(".rs");
        path.strip_suffix("/mod").unwrap_or(path).to_string()
    }

    /// What [`Source::code`] gives, with every line at its place.
    fn plain_code(&self) -> String {
        self.code().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }

    /// Its lines with their numbers, without comments and without the tests at its end or in a file
    /// of their own.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let text = if self.name.ends_with("/tests.rs") { "" } else { &self.text };
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let code = lines.take_while(|(_, line)| *line != "#[cfg(test)]");
        code.map(|(number, line)| (number, line.split("//").next().unwrap_or_default()))
    }
}

fn sources() -> Vec<Source> {
    let folder = checkout().join("src");
    let files = walkdir::WalkDir::new(&folder).sort_by_file_name().into_iter().flatten();
    let paths: Vec<PathBuf> =
        files.map(|entry| entry.path().to_owned()).filter(|path| path.is_file()).collect();
    let name =
        |path: &Path| path.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
    paths
        .iter()
        .map(|path| Source { name: name(path), text: fs::read_to_string(path).unwrap() })
        .collect()
}
