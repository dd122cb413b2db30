//! Fingerprints: numbers by which a passage is known again, whatever markup, case or line breaks it
//! has elsewhere.
//!
//! Only letters and digits count. Of the hashes of all runs of [`RUN`] of them, the smallest of
//! each [`WINDOW`] neighbours is taken, so that two texts which share a passage of `RUN + WINDOW -
//! 1` letters always share a number, and a text has only a fraction of the numbers that it has
//! letters.

use std::collections::VecDeque;

/// How many letters and digits one number stands for.
const RUN: usize = 20;
/// One of so many neighbours is taken.
const WINDOW: usize = 8;
const BASE: u64 = 0x9e37_79b9_7f4a_7c15 | 1;

/// Hands over the fingerprints of a text, some of them more than once.
pub fn each_fingerprint(text: &str, mut each: impl FnMut(u64)) {
    let mut neighbours: VecDeque<u64> = VecDeque::with_capacity(WINDOW);
    each_run(text, |run| {
        if neighbours.len() == WINDOW {
            neighbours.pop_front();
        }
        neighbours.push_back(run);
        if neighbours.len() == WINDOW {
            each(*neighbours.iter().min().expect("it is full"));
        }
    });
}

/// Hands over all that a text may have as a fingerprint: which of its neighbours is taken depends
/// on what stands around a passage.
pub fn each_run(text: &str, mut each: impl FnMut(u64)) {
    let leaving = (0..RUN).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut run: VecDeque<u64> = VecDeque::with_capacity(RUN);
    let mut hash = 0u64;
    let letters = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    for letter in letters.map(|c| u64::from(c) + 1) {
        hash = hash.wrapping_mul(BASE).wrapping_add(letter);
        run.push_back(letter);
        if run.len() > RUN {
            let left = run.pop_front().expect("it has just grown");
            hash = hash.wrapping_sub(left.wrapping_mul(leaving));
        }
        if run.len() == RUN {
            // The low bits of such a hash are poor; mixing makes every number as likely to be the
            // smallest.
            each((hash ^ (hash >> 29)).wrapping_mul(BASE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn prints(text: &str) -> HashSet<u64> {
        let mut prints = HashSet::new();
        each_fingerprint(text, |print| {
            prints.insert(print);
        });
        prints
    }

    #[test]
    fn a_passage_is_known_again_in_other_markup() {
        let whole = prints(
            "before it, the deploy key of the staging cluster expired on Friday, and after it more",
        );
        for same in [
            "> *The deploy\\_key* of the\n> **staging cluster** expired on friday",
            "## the-deploy-key-of-the-staging-cluster-expired",
        ] {
            assert!(!prints(same).is_disjoint(&whole), "{same}");
        }
        for other in [
            "the deploy key",
            "a text about something else altogether, of the same length or so",
            "",
        ] {
            assert!(prints(other).is_disjoint(&whole), "{other}");
        }
    }

    #[test]
    fn what_two_texts_share_is_shared_whatever_stands_around_it() {
        let shared = "the linter says that the command must not be called in this way";
        let [one, two] = ["pier: ", "- **habit** "].map(|before| format!("{before}{shared} | 0.7"));
        let mut runs = HashSet::new();
        each_run(shared, |run| {
            runs.insert(run);
        });
        let of_shared = |print: &&u64| runs.contains(print);
        assert!(prints(&one).iter().filter(of_shared).count() > 3);
        // Of neighbours around its ends either text may take another one.
        let (mut all, inner) = (HashSet::new(), prints(shared));
        each_run(&two, |run| {
            all.insert(run);
        });
        assert!(inner.iter().all(|print| all.contains(print)));
        assert!(runs.iter().all(|run| all.contains(run)) && runs.len() > inner.len());
    }

    #[test]
    fn scripts_without_spaces_have_fingerprints() {
        let thai = prints("เราตัดสินใจใช้ล็อกไฟล์ก่อนเขียนหัวเรื่องของวันเพื่อไม่ให้บรรทัดหายไป");
        assert!(!thai.is_empty());
        assert!(!prints("**ตัดสินใจใช้ล็อกไฟล์ก่อนเขียนหัวเรื่องของวัน**").is_disjoint(&thai));
    }

    #[test]
    fn a_text_has_far_fewer_fingerprints_than_letters() {
        let text: String = (0..2000).map(|number| format!("word{number} ")).collect();
        assert!(prints(&text).len() * 3 < text.len());
    }
}
