//! The `console` blocks of the README, the guide and `tests/it/transcripts/` are run, each page in
//! a folder of its own. `TRYCMD=overwrite cargo test transcripts` writes what the commands say now.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{START, checkout, copy_folder};

#[test]
fn what_the_pages_show_is_what_happens() {
    // Every page is run, also after one of them has failed.
    let failed: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|page| std::panic::catch_unwind(|| run(page)).is_err())
        .collect();
    assert!(
        failed.is_empty(),
        "not as shown: {failed:?}; `TRYCMD=overwrite cargo test transcripts` writes what is said now"
    );
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "docs/guide.md"].iter().map(|name| checkout().join(name)).collect();
    let transcripts =
        fs::read_dir(checkout().join("tests/it/transcripts")).into_iter().flatten().flatten();
    let mut transcripts: Vec<PathBuf> = transcripts.map(|entry| entry.path()).collect();
    transcripts.sort();
    pages.extend(transcripts);
    pages.retain(|page| page.is_file() && page.extension().is_some_and(|end| end == "md"));
    pages
}

/// Where git is.
fn git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("git")).find(|it| it.is_file());
    found.expect("`git` is there")
}

/// Runs the commands of one page, one after the other, and compares what they say.
fn run(page: &Path) {
    let desk = tempfile::Builder::new().prefix("page-").tempdir().unwrap();
    let root = fs::canonicalize(desk.path()).unwrap();
    let home = root.join("home");
    fs::create_dir(&home).unwrap();
    let name = page.file_name().unwrap();
    let copy = root.join(name);
    fs::copy(page, &copy).unwrap();
    // `x.in/` is the tree before and `x.out/` the tree after; both being there makes it a tree of
    // its own.
    for end in ["in", "out"] {
        let (from, to) = (page.with_extension(end), copy.with_extension(end));
        fs::create_dir(&to).unwrap();
        if from.is_dir() {
            copy_folder(&from, &to);
        } else if end == "in" && name == "README.md" {
            // The README speaks to somebody in a fresh checkout.
            let memory = to.join("memory");
            fs::create_dir(&memory).unwrap();
            for file in ["README.md", "memtree.toml"] {
                let _ = fs::copy(checkout().join("memory").join(file), memory.join(file));
            }
        }
    }
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("memtree", Path::new(env!("CARGO_BIN_EXE_memtree")))
        .register_bin("git", git().as_path())
        .env("HOME", home.to_str().unwrap())
        .env("MEMTREE_DEVICE", "desk")
        .env("MEMTREE_NOW", START);
    // What the person who runs the tests has set means nothing here.
    for name in [
        "MEMTREE_STORE", "XDG_CONFIG_HOME", "CARGO", "VISUAL", "EDITOR", "CLAUDE_CONFIG_DIR",
        "CODEX_HOME", "GROK_HOME",
    ] {
        cases.env(name, "");
    }
    cases.insert_var("[HOME]", home.to_str().unwrap().to_string()).unwrap();
    cases.case(&copy);
    cases.run();
    if std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite") {
        fs::copy(&copy, page).unwrap();
    }
}
