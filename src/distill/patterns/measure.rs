//! Measures: numbers of many sessions, and what a pattern changed, with how sure that is.

use serde::Serialize;

/// The value below which a share of the sorted values lies: `sorted[⌊q·(n−1)⌋]`.
pub fn percentile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64) as usize).copied()
}

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub hits: u64,
    pub of: u64,
}

impl Share {
    /// The share of what a test is true for.
    pub fn of<T>(all: impl Iterator<Item = T>, is_so: impl Fn(&T) -> bool) -> Share {
        all.fold(Share::default(), |share, one| Share {
            hits: share.hits + u64::from(is_so(&one)),
            of: share.of + 1,
        })
    }

    /// As a number from 0 to 1; none where there is nothing.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }
}

/// 95 of 100 such intervals hold the true value.
const Z: f64 = 1.959_964;

/// Wilson's interval of a share.
pub fn interval(share: Share) -> Option<(f64, f64)> {
    let (p, n) = (share.rate()?, share.of as f64);
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * ((p * (1.0 - p) + Z * Z / (4.0 * n)) / n).sqrt();
    let all = 1.0 + Z * Z / n;
    Some((((middle - half) / all).max(0.0), ((middle + half) / all).min(1.0)))
}

/// The difference of two shares with Newcombe's interval: negative where `with` is smaller.
pub fn difference(with: Share, without: Share) -> Option<(f64, f64, f64)> {
    let (p, q) = (with.rate()?, without.rate()?);
    let ((p_low, p_high), (q_low, q_high)) = (interval(with)?, interval(without)?);
    let low = ((p - p_low).powi(2) + (q_high - q).powi(2)).sqrt();
    let high = ((p_high - p).powi(2) + (q - q_low).powi(2)).sqrt();
    Some((p - q, p - q - low, p - q + high))
}

/// What can be said of a pattern's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Improved,
    NoChange,
    Worse,
    TooLittleData,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Improved => "improved",
            Verdict::NoChange => "no change",
            Verdict::Worse => "worse",
            Verdict::TooLittleData => "too little data",
        }
    }
}

/// What a pattern changed: how often what it warns of came with it, and without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    pub with: Share,
    pub without: Share,
    /// The difference of the two rates, and its interval.
    pub difference: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Verdict,
}

/// Compares sessions with a pattern to sessions without it. A problem should come less often, a
/// success more often. Fewer than `fewest` sessions on either side say nothing.
pub fn effect(with: Share, without: Share, fewest: u64, less_is_better: bool) -> Effect {
    let found = difference(with, without);
    let enough = with.of >= fewest && without.of >= fewest;
    let verdict = match found {
        Some((_, low, high)) if enough => {
            let (better, worse) = match less_is_better {
                true => (high < 0.0, low > 0.0),
                false => (low > 0.0, high < 0.0),
            };
            match (better, worse) {
                (true, _) => Verdict::Improved,
                (_, true) => Verdict::Worse,
                _ => Verdict::NoChange,
            }
        }
        _ => Verdict::TooLittleData,
    };
    Effect {
        with,
        without,
        difference: found.map(|(middle, ..)| rounded(middle)),
        low: found.map(|(_, low, _)| rounded(low)),
        high: found.map(|(.., high)| rounded(high)),
        verdict,
    }
}

/// A number with three digits.
pub fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_books() {
        // Newcombe 1998, table II: 56/70 against 48/80.
        let (middle, low, high) =
            difference(Share { hits: 56, of: 70 }, Share { hits: 48, of: 80 }).unwrap();
        assert!((middle - 0.2).abs() < 1e-9);
        assert!((low - 0.0524).abs() < 5e-4 && (high - 0.3339).abs() < 5e-4, "{low} {high}");
        let (low, high) = interval(Share { hits: 0, of: 10 }).unwrap();
        assert!(low == 0.0 && (high - 0.2775).abs() < 5e-4, "{high}");
        assert_eq!(interval(Share::default()), None);
    }

    #[test]
    fn a_verdict_needs_enough_on_both_sides() {
        let share = |hits, of| Share { hits, of };
        let verdict = |with, without| effect(with, without, 8, true).verdict;
        assert_eq!(verdict(share(0, 12), share(10, 12)), Verdict::Improved);
        assert_eq!(verdict(share(10, 12), share(0, 12)), Verdict::Worse);
        assert_eq!(verdict(share(5, 12), share(6, 12)), Verdict::NoChange);
        assert_eq!(verdict(share(0, 3), share(10, 12)), Verdict::TooLittleData);
        assert_eq!(verdict(share(0, 0), share(0, 0)), Verdict::TooLittleData);
        assert_eq!(effect(share(12, 12), share(1, 12), 8, false).verdict, Verdict::Improved);
    }

    #[test]
    fn percentiles_are_values_that_are_there() {
        assert_eq!(percentile::<u64>(&[], 0.5), None);
        assert_eq!(percentile(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9), Some(9));
        assert_eq!(percentile(&[7], 0.9), Some(7));
    }
}
