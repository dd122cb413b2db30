//! Lists: files that every device adds to. What both have stands once, what one took out goes, and
//! what only one has stays behind what it follows there.

use std::collections::HashMap;

/// The lines of a file, each an item.
pub fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// The entries of a file, each from its heading to the next.
pub fn entries(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(text.match_indices("\n## ").map(|(at, _)| at + 1));
    starts.push(text.len());
    let items = starts.windows(2).map(|ends| text[ends[0]..ends[1]].trim_end());
    items.flat_map(|item| [item, ""]).collect()
}

/// Two versions of a list, joined; `items` cuts it.
pub fn join_lists(base: Option<&str>, sides: [&str; 2], items: fn(&str) -> Vec<&str>) -> String {
    join_attached(base, sides, items, |_| false)
}

/// Does the same where some items belong to the one before them, and stay behind it.
pub fn join_attached(
    base: Option<&str>,
    [one, other]: [&str; 2],
    items: fn(&str) -> Vec<&str>,
    is_attached: fn(&str) -> bool,
) -> String {
    // The longer one is the frame, whoever has it.
    let is_longer = (one.len(), one) >= (other.len(), other);
    let [long, short] = if is_longer { [one, other] } else { [other, one] };
    let (long, short) = (items(long), items(short));
    let mut wanted = wanted(&items(base.unwrap_or_default()), &long, &short);
    let mut joined: Vec<&str> = Vec::with_capacity(long.len() + short.len());
    let mut take = |item: &str| match wanted.get_mut(item) {
        // Empty lines are nobody's.
        _ if item.is_empty() => true,
        Some(0) | None => false,
        Some(count) => {
            *count -= 1;
            true
        }
    };
    joined.extend(long.iter().filter(|item| take(item)));
    let mut at = 0;
    for item in short.iter().filter(|item| !item.is_empty()) {
        match take(item) {
            true => {
                if !is_attached(item) {
                    at += joined[at..].iter().take_while(|next| is_attached(next)).count();
                }
                joined.insert(at, item);
                at += 1;
            }
            false => {
                let found = joined.iter().position(|known| known == item);
                at = found.map_or(at, |found| found + 1);
            }
        }
    }
    joined.join("\n").trim_end().to_string() + "\n"
}

/// How often each item is to stand there.
fn wanted<'t>(base: &[&'t str], one: &[&'t str], other: &[&'t str]) -> HashMap<&'t str, usize> {
    fn counts<'t>(items: &[&'t str]) -> HashMap<&'t str, usize> {
        let mut counts = HashMap::new();
        items.iter().for_each(|item| *counts.entry(*item).or_default() += 1);
        counts
    }
    let (base, one, other) = (counts(base), counts(one), counts(other));
    let mut wanted = HashMap::new();
    for item in one.keys().chain(other.keys()) {
        let of = |side: &HashMap<&str, usize>| side.get(item).copied().unwrap_or_default();
        let (before, one, other) = (of(&base), of(&one), of(&other));
        let count = match one >= before && other >= before {
            true => one.max(other),
            // One of them took it out.
            false => (one + other).saturating_sub(before),
        };
        wanted.insert(*item, count);
    }
    wanted
}
