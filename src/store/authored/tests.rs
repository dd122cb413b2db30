//! What a person wrote stays, and what we wrote follows.

use super::*;

static RULES: Rules = Rules {
    split: by_heading,
    unit: Unit::Line,
    order: Order::AsFound,
    measured: |key| key == "updated",
};

fn by_heading(body: &str) -> Vec<Part<'_>> {
    let name = |text: &str| Some(text.lines().next()?.replace(' ', "-").into());
    sections(body).into_iter().map(|text| Part { name: name(text), text }).collect()
}

fn page(updated: &str, points: &[&str]) -> Page {
    let points: String = points.iter().map(|point| format!("- {point}\n")).collect();
    Page {
        rules: &RULES,
        entries: vec![("title", "Jitter".into()), ("updated", updated.into())],
        body: format!("# Jitter\n\nCore.\n\n## Key Points\n\n{points}"),
    }
}

#[test]
fn what_we_wrote_follows_and_what_a_person_wrote_stays() {
    let (old, new) = (page("2026-11-01", &["one"]), page("2026-11-02", &["one", "two"]));
    let written = old.to_text();
    assert_eq!(new.over(&written), new.to_text());
    assert_eq!(new.over(&new.to_text()), new.to_text(), "a second time changes nothing");
    let edited =
        written.replace("- one", "- mine").replace("Jitter\nupdated", "My jitter\nupdated")
            + "\n## Notes\n\nme\n";
    let over = new.over(&edited);
    assert!(
        over.contains("- mine")
            && over.contains("title: My jitter")
            && over.contains("## Notes\n\nme"),
        "{over}"
    );
    assert!(over.contains("updated: 2026-11-02") && !over.contains("two"), "{over}");
    assert_eq!(new.over(&over), over);
}

#[test]
fn a_line_that_a_person_took_out_stays_out() {
    let (old, new) =
        (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "two", "three"]));
    let over = new.over(&old.to_text().replace("- two\n", ""));
    assert!(!over.contains("- two") && !over.contains("- three"), "{over}");
}

#[test]
fn what_git_joined_from_two_devices_is_put_in_order() {
    let (here, there) =
        (page("2026-11-01", &["one", "two"]), page("2026-11-02", &["one", "three"]));
    let both = page("2026-11-02", &["one", "three", "two"]);
    // As `merge=union` leaves it: the lines of both sides.
    let (a, b) = (here.to_text(), there.to_text());
    let mut joined: Vec<&str> = a.lines().collect();
    for line in b.lines().filter(|line| !a.lines().any(|known| known == *line)) {
        let at = joined
            .iter()
            .position(|known| known.split([' ', ':']).next() == line.split([' ', ':']).next());
        joined.insert(at.map_or(joined.len(), |at| at + 1), line);
    }
    let joined = joined.join("\n") + "\n";
    assert!(joined.contains("- two") && joined.contains("- three"), "{joined}");
    assert_eq!(both.over(&joined), both.to_text(), "from:\n{joined}");
    // Whole files, one behind the other, and a line of a person's.
    let joined = format!("{a}- mine\n{b}");
    assert_eq!(both.over(&joined), both.to_text() + "\n## Notes\n\n- mine\n");
}

#[test]
fn a_page_of_a_person_is_left_alone() {
    let theirs = "---\ntitle: Mine\n---\n# Mine\n";
    assert_eq!(page("2026-11-01", &["one"]).over(theirs), theirs);
}

/// Joins two versions in both directions, which has to come to the same.
#[track_caller]
fn joined(base: Option<&str>, one: &str, other: &str) -> String {
    let rank = |page: &Document| page.get_str("updated");
    let joined = join(&RULES, base, [one, other], rank);
    assert_eq!(joined, join(&RULES, base, [other, one], rank), "it depends on who is here");
    joined
}

#[test]
fn what_one_side_changed_is_taken_and_ours_gives_way_to_a_person() {
    let old = page("2026-11-01", &["one"]).to_text();
    let grown = page("2026-11-02", &["one", "two"]).to_text();
    let noted = format!("{old}\n## Notes\n\nmine\n");
    let both = joined(Some(&old), &grown, &noted);
    assert_eq!(both, format!("{grown}\n## Notes\n\nmine\n"));
    // A section that a person wrote anew stays, and everything else grows.
    let edited = old.replace("- one", "- my own point");
    let both = joined(Some(&old), &grown, &edited);
    assert!(both.contains("- my own point") && !both.contains("- two"), "{both}");
    assert!(both.contains("updated: 2026-11-02"), "{both}");
    assert_eq!(OtherVersion::all(&both), []);
    // What comes later still knows that it is a person's.
    let later = page("2026-11-03", &["one", "two", "three"]);
    assert!(later.over(&both).contains("- my own point"));
    // A section that a person took out stays away.
    let without = old.replace("## Key Points\n\n- one\n", "");
    let both = joined(Some(&old), &grown, &without);
    assert!(!both.contains("Key Points\n"), "{both}");
    assert!(!later.over(&both).contains("Key Points\n"));
}

#[test]
fn two_people_s_words_in_one_section_are_both_kept() {
    let old = page("2026-11-01", &["one"]).to_text();
    let mine = old.replace("- one", "- as I saw it").replace("Jitter\nupdated", "Mine\nupdated");
    let theirs =
        old.replace("- one", "- as they saw it").replace("Jitter\nupdated", "Theirs\nupdated");
    let both = joined(Some(&old), &mine, &theirs);
    assert!(both.contains("\n- as they saw it") && both.contains("> - as I saw it"), "{both}");
    let others = OtherVersion::all(&both);
    let of: Vec<&str> = others.iter().map(|other| other.of.as_str()).collect();
    assert_eq!(of, ["title", "Key Points"], "{both}");
    assert_eq!(others[1].text, "## Key Points\n\n- as I saw it");
    // Whoever joins late changes nothing, and what was decided is gone.
    assert_eq!(joined(Some(&mine), &both, &mine), both);
    assert_eq!(joined(Some(&old), &both, &theirs), both);
    let decided = OtherVersion::removed(&both, &others[1].id);
    assert_eq!(OtherVersion::all(&decided).len(), 1, "{decided}");
    assert!(!decided.contains("as I saw it"));
    // One of two people's words that holds the other's needs no mark.
    let more = mine.replace("- as I saw it", "- as I saw it\n- and more");
    assert_eq!(OtherVersion::all(&joined(Some(&old), &mine, &more)), []);
}
