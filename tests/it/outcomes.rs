//! The outcome that memtree tells, against 60 sessions that were labelled by hand.
//!
//! The sessions are not part of the repository: `MEMTREE_CORPUS=<folder> cargo test --test it
//! outcomes -- --ignored --nocapture` reads them from a folder with one folder of logs for each
//! agent, and prints how often the two agree.

use std::collections::BTreeMap;
use std::fs;

use memtree::model::digest::Outcome;

use crate::harness::{Desk, checkout};

/// So many of a hundred must be told as a person would.
const LEAST_AGREEMENT: usize = 85;

#[test]
fn sixty_sessions_are_labelled() {
    assert_eq!(labels().len(), 60);
}

#[test]
#[ignore = "needs a folder of real logs in MEMTREE_CORPUS"]
fn outcomes_are_told_as_a_person_would() {
    let labels = labels();
    let corpus = std::env::var_os("MEMTREE_CORPUS").expect("MEMTREE_CORPUS names the logs");
    let desk = Desk::new();
    let mut sweep = vec!["sweep".to_string()];
    for folder in fs::read_dir(&corpus).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let flavor = folder.file_name().into_string().unwrap();
        if !flavor.starts_with('_') {
            sweep.extend(["--source".into(), format!("{flavor}={}", folder.path().display())]);
        }
    }
    desk.memtree(&sweep).done();
    let told: BTreeMap<String, Outcome> = desk
        .sessions()
        .iter()
        .map(|session| desk.digest(session))
        .map(|digest| (digest.source_id, digest.content.status))
        .collect();
    let mut table: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut agreed = [0, 0];
    for (at, (source, label)) in labels.iter().enumerate() {
        let told = told.get(source).unwrap_or_else(|| panic!("{source} was not captured"));
        agreed[at % 2] += usize::from(agree(*label, *told));
        *table.entry((label.to_string(), told.to_string())).or_default() += 1;
        if !agree(*label, *told) {
            println!("{source}: a person says {label}, memtree {told}");
        }
    }
    println!("\n{:<12}{:<12}sessions", "a person", "memtree");
    for ((label, told), count) in &table {
        println!("{label:<12}{told:<12}{count}");
    }
    let [tuned, kept_back] = agreed;
    println!(
        "agreement: {tuned} of 30 on which the rules were tuned, {kept_back} of 30 that were kept back"
    );
    assert!((tuned + kept_back) * 100 >= LEAST_AGREEMENT * labels.len());
}

/// Whether the two say the same. The labels are older than `partial`: what was done in part was
/// labelled by how the log ended, as unknown or as a failure.
fn agree(label: Outcome, told: Outcome) -> bool {
    label == told || told == Outcome::Partial && matches!(label, Outcome::Unknown | Outcome::Fail)
}

/// The sessions that were labelled, by the id of their source.
fn labels() -> Vec<(String, Outcome)> {
    let labels = fs::read_to_string(checkout().join("tests/labels/outcomes.tsv")).unwrap();
    labels
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once('\t').expect("an id and an outcome"))
        .map(|(source, outcome)| (source.to_string(), outcome.parse().unwrap()))
        .collect()
}
