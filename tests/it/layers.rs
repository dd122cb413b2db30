//! Arrows point down: which part of the source may use which, and what nobody below the entry points does.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::harness::checkout;

/// Each part of `src/`, and the parts that it may use besides itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("error", &[]),
    ("settings", &["base", "error"]),
    ("model", &["base", "error"]),
    ("store", &["model", "base", "error", "settings"]),
    ("adapters", &["model", "base", "error"]),
    ("distill", &["model", "base", "error"]),
    ("capture", &["adapters", "distill", "store", "model", "base", "error"]),
    ("index", &["store", "model", "base", "error"]),
    ("models", &["distill", "store", "settings", "model", "base", "error"]),
    ("environment", &["adapters", "model", "base", "error"]),
    (
        "memory",
        &["environment", "models", "distill", "store", "settings", "model", "base", "error"],
    ),
    (
        "ops",
        &[
            "memory", "environment", "capture", "index", "adapters", "distill", "models", "store",
            "model", "base", "error", "settings",
        ],
    ),
    ("hooks", &["memory", "ops", "adapters", "store", "model", "base", "error", "settings"]),
    // The command line puts the pieces together.
    (
        "cli",
        &[
            "memory", "environment", "hooks", "ops", "capture", "adapters", "distill", "models",
            "store", "model", "base", "error", "settings",
        ],
    ),
    ("lib", &[]),
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
    (r"\b(Utc|Local|SystemTime)::now\b", &["base/clock.rs"], "the time is handed in"),
    (r"MEMTREE_NOW", &["base/clock.rs"], "only the clock knows how it is replaced"),
    (
        r"\bsettings::\{?(Settings|Layers)",
        &["cli", "hooks", "memory.rs", "models/configured.rs"],
        "settings are put together at an entry point; ops get the values they need",
    ),
    (
        r#""sessions"|daily/raw|daily/summary|"\.memtree["/]|_DIGEST\.md"#,
        &["store/layout.rs"],
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

#[test]
fn these_tests_would_notice() {
    assert_eq!(used_in("use crate::store::layout;"), ["store"]);
    assert_eq!(used_in("use crate::{base, model::ids};"), ["base", "model"]);
    assert_eq!(used_in("let x = crate::index::refresh(crate::error::y);"), ["index", "error"]);
    let names: Vec<String> = sources().into_iter().map(|source| source.name).collect();
    assert!(names.len() > 40 && names.contains(&"store/layout.rs".to_string()), "{names:?}");
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
