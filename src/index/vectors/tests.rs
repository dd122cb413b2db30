//! Vectors on disk: what is put comes back, what goes leaves nothing, damage costs a rebuild.

use std::fs;
use std::path::Path;

use super::*;
use crate::base::files::Stamp;

fn layout(folder: &Path) -> Layout {
    Layout::new(folder)
}

fn stamp(size: u64) -> Stamp {
    Stamp { size, mtime_ns: 0, inode: 0, ctime_ns: 0 }
}

/// A vector of unit length in one of eight directions.
fn towards(direction: usize) -> Vec<f32> {
    (0..8).map(|at| if at == direction { 1.0 } else { 0.0 }).collect()
}

fn records(directions: &[usize]) -> Vec<Record> {
    directions.iter().map(|one| Record::of(*one as u64 + 100, &towards(*one))).collect()
}

fn writer(layout: &Layout) -> VectorWriter {
    let mut writer = VectorWriter::open(layout, "small");
    writer.check_model(&towards(7));
    writer
}

fn nearest(layout: &Layout, direction: usize) -> Vec<(String, i32)> {
    let vectors = Vectors::open(layout, "small").unwrap();
    let near = vectors.nearness(&[towards(5), towards(direction)]).unwrap();
    let found = near[1].nearest(2).into_iter();
    found.map(|(name, cosine)| (name.to_string(), (cosine * 100.0).round() as i32)).collect()
}

fn data(layout: &Layout) -> Vec<u8> {
    let files = fs::read_dir(layout.vectors()).unwrap().map(|entry| entry.unwrap().path());
    let mut data: Vec<_> = files.filter(|path| !path.ends_with(TABLE)).collect();
    assert_eq!(data.len(), 1, "{data:?}");
    fs::read(data.remove(0)).unwrap()
}

#[test]
fn the_nearest_chunk_counts_and_changes_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    assert!(Vectors::open(&layout, "small").is_none());
    let mut first = writer(&layout);
    first.put("SES1_a_SP1C1", stamp(1), &records(&[0, 1]));
    first.put("SES2_a_SP1C1", stamp(2), &records(&[2]));
    first.put("SES3_a_SP1C1", stamp(3), &[]);
    first.commit().unwrap();
    assert_eq!(nearest(&layout, 1)[0], ("SES1_a_SP1C1".to_string(), 100));
    assert_eq!(nearest(&layout, 2)[0], ("SES2_a_SP1C1".to_string(), 100));
    assert_eq!(nearest(&layout, 2).len(), 2, "one without vectors is near to nothing");
    let mut second = writer(&layout);
    assert_eq!(second.known().count(), 3);
    assert_eq!(second.records("SES1_a_SP1C1").unwrap().len(), 2);
    assert!(second.records("SES1_a_SP1C1").unwrap().contains_key(&101));
    second.put("SES2_a_SP1C1", stamp(9), &records(&[2]));
    second.commit().unwrap();
    assert_eq!(data(&layout).len(), 3 * (8 + 12), "what is as it was is not written twice");
    second.put("SES2_a_SP1C1", stamp(10), &records(&[2, 3]));
    second.commit().unwrap();
    assert_eq!(nearest(&layout, 3)[0], ("SES2_a_SP1C1".to_string(), 100));
    assert!(Vectors::open(&layout, "another").is_none());
}

#[test]
fn nothing_is_left_of_what_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    forget(&layout, |_| true).unwrap();
    let mut all = writer(&layout);
    all.put("SES1_a_SP1C1", stamp(1), &records(&[0, 1]));
    all.put("SES2_a_SP1C1", stamp(2), &records(&[2]));
    all.commit().unwrap();
    // Changed since: the old record is still in the file.
    all.put("SES1_a_SP1C1", stamp(2), &records(&[3]));
    all.commit().unwrap();
    forget(&layout, |session| session == "SES1_a_SP1C1").unwrap();
    assert_eq!(nearest(&layout, 2), [("SES2_a_SP1C1".to_string(), 100)]);
    assert_eq!(data(&layout).len(), 8 + 12);
    let table = fs::read(layout.vectors().join(TABLE)).unwrap();
    assert!(!String::from_utf8_lossy(&table).contains("SES1_"));
    remove(&layout).unwrap();
    assert!(!layout.vectors().exists());
}

#[test]
fn another_model_makes_everything_anew() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    let mut first = writer(&layout);
    first.put("SES1_a_SP1C1", stamp(1), &records(&[0]));
    first.commit().unwrap();
    assert!(Vectors::open(&layout, "small").unwrap().is_of(&towards(7)));
    for other in [towards(6), vec![1.0; 3]] {
        assert!(!Vectors::open(&layout, "small").unwrap().is_of(&other));
        let mut changed = VectorWriter::open(&layout, "small");
        changed.check_model(&other);
        assert_eq!(changed.known().count(), 0);
    }
    let mut changed = VectorWriter::open(&layout, "small");
    changed.check_model(&[0.0, 1.0]);
    changed.put("SES1_a_SP1C1", stamp(1), &[Record::of(1, &[1.0, 0.0])]);
    // A record of another length is none.
    changed.put("SES2_a_SP1C1", stamp(1), &records(&[1]));
    changed.commit().unwrap();
    assert!(Vectors::open(&layout, "small").unwrap().is_of(&[0.0, 1.0]));
    assert_eq!(data(&layout).len(), 2 + 12);
    assert_eq!(VectorWriter::open(&layout, "renamed").known().count(), 0);
}

#[test]
fn damage_and_kills_cost_a_rebuild_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let layout = layout(folder.path());
    let mut first = writer(&layout);
    first.put("SES1_a_SP1C1", stamp(1), &records(&[0, 1, 2]));
    first.commit().unwrap();
    let name = fs::read_dir(layout.vectors()).unwrap().map(|entry| entry.unwrap().path());
    let name = name.into_iter().find(|path| !path.ends_with(TABLE)).unwrap();
    // A sweep that was killed after it added records.
    let whole = fs::read(&name).unwrap();
    fs::write(&name, [whole.as_slice(), &[9; 33]].concat()).unwrap();
    let mut second = writer(&layout);
    second.put("SES2_a_SP1C1", stamp(1), &records(&[4]));
    second.commit().unwrap();
    assert_eq!(nearest(&layout, 4)[0], ("SES2_a_SP1C1".to_string(), 100));
    assert_eq!(nearest(&layout, 1)[0], ("SES1_a_SP1C1".to_string(), 100));
    assert_eq!(data(&layout).len(), 4 * (8 + 12));
    let (table, data) = (fs::read(layout.vectors().join(TABLE)).unwrap(), data(&layout));
    for cut in [0, 5, 20, 40, table.len() - 1] {
        fs::write(layout.vectors().join(TABLE), &table[..cut]).unwrap();
        let opened = Vectors::open(&layout, "small");
        assert!(opened.is_none_or(|opened| opened.nearness(&[towards(1)]).is_ok()), "{cut}");
        assert!(VectorWriter::open(&layout, "small").known().count() < 2, "{cut}");
    }
    fs::write(layout.vectors().join(TABLE), &table).unwrap();
    for entry in fs::read_dir(layout.vectors()).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with(TABLE) {
            fs::write(path, &data[..30]).unwrap();
        }
    }
    assert!(Vectors::open(&layout, "small").unwrap().nearness(&[towards(1)]).is_err());
    assert_eq!(VectorWriter::open(&layout, "small").known().count(), 0, "made anew");
}

#[test]
fn the_nearest_counts_twice_and_the_average_once() {
    let sessions = [("SES1_a_SP1C1", 0.2), ("SES2_a_SP1C1", 0.2), ("SES3_a_SP1C1", 0.8)];
    let near = Nearness::of_sessions(sessions.map(|(name, of)| (name.to_string(), of)).into());
    assert_eq!((near.factor("SES3_a_SP1C1"), near.factor("SES1_a_SP1C1")), (2.0, 1.0));
    assert_eq!(near.factor("SES9_a_SP1C1"), 1.0 + NOT_KNOWN);
    let only = Nearness::of_sessions(vec![("SES1_a_SP1C1".to_string(), 0.7)]);
    assert!(only.factor("SES1_a_SP1C1").is_finite());
    assert!(Nearness::default().factor("x").is_finite());
}
