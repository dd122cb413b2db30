//! Every kind of file is joined to the same bytes, whichever side is here, and nobody's words go.

use super::*;

/// Joins two versions in both directions, which has to come to the same.
#[track_caller]
fn both_ways(kind: PageKind, base: Option<&str>, one: &str, other: &str) -> String {
    let joined = super::joined(kind, base, [one, other]);
    assert_eq!(joined, super::joined(kind, base, [other, one]), "it depends on who is here");
    // Joined once more, by somebody who was late, it stays as it is.
    assert_eq!(super::joined(kind, Some(one), [&joined, one]), joined);
    joined
}

#[test]
fn lists_hold_what_both_added_once_and_not_what_one_took_out() {
    let join = |base, one, other| both_ways(PageKind::Lines, base, one, other);
    assert_eq!(
        join(Some("# L\n\n- a\n- b\n"), "# L\n\n- a\n- b\n- c\n", "# L\n\n- b\n- d\n"),
        "# L\n\n- b\n- d\n- c\n"
    );
    assert_eq!(join(None, "- a\n- b\n", "- a\n- c\n"), "- a\n- b\n- c\n");
    assert_eq!(
        join(Some("- a\n- a\n"), "- a\n- a\n- b\n", "- a\n- a\n- b\n- c\n"),
        "- a\n- a\n- b\n- c\n"
    );
    let entry = |day: u32| format!("## [{day}] compile\n- Source: {day}\n");
    let log = |days: &[u32]| {
        let entries: Vec<String> = days.iter().map(|day| entry(*day)).collect();
        format!("# Log\n\n{}", entries.join("\n"))
    };
    let joined = both_ways(PageKind::Entries, Some(&log(&[1])), &log(&[1, 2]), &log(&[1, 3]));
    assert_eq!(joined.matches("## [").count(), 3, "{joined}");
    assert!([1, 2, 3].iter().all(|day| joined.contains(&entry(*day))), "{joined}");
}

#[test]
fn a_day_is_in_the_order_of_its_times() {
    let day = |lines: &[&str]| format!("# Daily Raw 2026-11-15\n\n{}\n", lines.join("\n"));
    let (a, b, c) =
        ("- [10:00:00] [user] (S1) a", "- [11:00:00] [user] (S2) b", "- [12:00:00] [user] (S1) c");
    let joined =
        both_ways(PageKind::Day, Some(&day(&[b])), &day(&[a, b, "my own line"]), &day(&[b, c]));
    assert_eq!(joined, day(&[a, b, "my own line", c]));
    assert_eq!(day::in_order(&day(&[c, "below c", a, b])), day(&[a, b, c, "below c"]));
}

#[test]
fn a_landmark_that_two_people_put_in_other_words_keeps_both() {
    let page = |text: &str, own: &str| {
        format!(
            "---\nschema: memtree/core/1\ncore_id: a_SP1C1\nlandmarks: 1\n---\n# Core a_SP1C1\n\n## Landmarks\n{own}\n\
             ### demo\n- **belief** {text} | confirmed 0.86, knowledge | [SES1_a_SP1C1#EP_001](x) user \
             ^lm-0123456789\n\n## Notes\n"
        )
    };
    let base = page("Never push to main", "");
    let [one, other] = [page("Ask before a push", ""), page("Push after noon", "- mine\n")];
    let joined = both_ways(PageKind::Core, Some(&base), &one, &other);
    assert!(joined.contains("Ask before a push") && joined.contains("Push after noon"), "{joined}");
    assert!(joined.contains("\n- mine\n"), "{joined}");
    let others = authored::OtherVersion::all(&joined);
    assert_eq!(others.len(), 1, "{joined}");
    // A yes takes it in the place of the one that stands there.
    let taken = others[0].taken(&joined);
    assert!(taken.contains(&format!("\n{}\n", others[0].text)), "{taken}");
    // Where one alone did, there is nothing to decide; nor where only numbers differ.
    for (one, other) in [(&one, &base), (&base, &other)] {
        let joined = both_ways(PageKind::Core, Some(&base), one, other);
        assert!(authored::OtherVersion::all(&joined).is_empty(), "{joined}");
    }
}

#[test]
fn settings_stay_readable_and_say_what_the_other_had() {
    let base = "format = 2\n#timezone = \"UTC\"\n";
    let one = "format = 2\ntimezone = \"Asia/Tokyo\"\n";
    let other = "format = 2\ntimezone = \"Europe/Paris\"\n";
    let joined = both_ways(PageKind::Settings, Some(base), one, other);
    assert!(joined.parse::<toml::Table>().is_ok(), "{joined}");
    assert!(joined.contains("Asia/Tokyo") && joined.contains("Europe/Paris"), "{joined}");
    let joined =
        both_ways(PageKind::Settings, Some(base), one, &format!("{base}max_log_chars = 5\n"));
    assert!(joined.contains("Tokyo") && joined.contains("\nmax_log_chars = 5"), "{joined}");
}

#[test]
fn what_git_made_of_two_pages_is_known() {
    let (one, other) = ("a\nb\nc\n", "a\nx\nc\n");
    let conflict = "a\n<<<<<<< HEAD\nb\n||||||| base\n0\n=======\nx\n>>>>>>> theirs\nc\n";
    assert!(has_markers(conflict) && is_mixed(conflict, [one, other]));
    assert_eq!(without_markers(conflict), "a\nb\nx\nc\n");
    assert!(is_mixed("a\nb\nx\nc\n", [one, other]));
    assert!(!is_mixed(one, [one, other]));
    assert!(!is_mixed("a\nmy own words\nc\n", [one, other]), "a person decided");
    let prose = "A line of =======\nis no mark\n=======\n";
    assert!(!has_markers(prose));
    assert_eq!(without_markers(prose), prose);
}

#[test]
fn the_page_for_agents_keeps_what_people_wrote_and_pinned() {
    let page = |before: &str, line: &str, after: &str| {
        format!(
            "{before}<!-- memtree: begin -->\n\n## boats\n{line}<!-- memtree: end -->\n\n## Notes\n{after}"
        )
    };
    let base = page("# Memory\n", "- ours\n", "");
    let one = page("# Memory\nmy rule\n", "- ours\n- knots 📌\n", "");
    let other = page("# Memory\n", "- theirs\n", "my note\n");
    let joined = both_ways(PageKind::MemoryPage, Some(&base), &one, &other);
    for kept in ["my rule", "- knots 📌", "my note"] {
        assert_eq!(joined.matches(kept).count(), 1, "{kept}: {joined}");
    }
}

#[test]
fn a_core_loses_no_landmark() {
    let line = |text: &str, id: &str, pin: &str| {
        format!(
            "- **decision** {text} | confirmed 0.86, knowledge, 2026-11-15 | [SES1_a_SP1C1#EP_001](x) user ^lm-{id}{pin}"
        )
    };
    let page = |landmarks: &[String], notes: &str| {
        format!(
            "---\nschema: memtree/core/1\ncore_id: a_SP1C1\nlandmarks: {}\n---\n# Core a_SP1C1\n\n## Landmarks\n\n### boats\n{}\n\n## Notes\n{notes}",
            landmarks.len(),
            landmarks.join("\n")
        )
    };
    let (a, b, c) = (
        line("rope", "0123456789", ""),
        line("knot", "1123456789", ""),
        line("sail", "2123456789", ""),
    );
    let base = page(std::slice::from_ref(&a), "");
    let one = page(&[a.clone(), b.clone()], "mine\n");
    let other = page(&[line("rope", "0123456789", " 📌"), c.clone()], "theirs\n");
    let joined = both_ways(PageKind::Core, Some(&base), &one, &other);
    for kept in ["lm-0123456789 📌", b.as_str(), c.as_str(), "mine", "theirs"] {
        assert_eq!(joined.matches(kept).count(), 1, "{kept}: {joined}");
    }
    assert_eq!(core::parse_core(&joined).landmarks.len(), 3, "{joined}");
}
