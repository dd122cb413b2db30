//! An anchor is the literal that a secret begins with.
//!
//! All anchors of all rules are looked for in one pass over the text, which is most of the work of
//! redacting.

/// The literals that rules begin with, each known by its rarest three bytes.
///
/// An automaton for them all takes one dependent step for each byte; three bytes and a table of
/// bits take none, and come to two or three times the speed.
#[derive(Default)]
pub(super) struct Anchors {
    /// The literal, where its rare bytes stand in it, and its rule.
    literals: Vec<(&'static [u8], usize, usize)>,
    /// One bit for each hash of three bytes that some literal has.
    bits: Vec<u64>,
    /// The literals by the lower bits of that hash.
    buckets: Vec<Vec<usize>>,
}

impl Anchors {
    const BUCKETS: usize = 8192;

    pub(super) fn add(&mut self, literal: &'static str, rule: usize) {
        self.bits.resize(1 << 10, 0);
        self.buckets.resize(Self::BUCKETS, Vec::new());
        let literal = literal.as_bytes();
        let offset = rarest(literal);
        let hash = hash([literal[offset], literal[offset + 1], literal[offset + 2], 0]);
        self.bits[hash >> 6] |= 1 << (hash & 63);
        self.buckets[hash % Self::BUCKETS].push(self.literals.len());
        self.literals.push((literal, offset, rule));
    }

    /// Calls `each` with the place and the rule of every anchor in a text, in any case.
    pub(super) fn each(&self, text: &str, mut each: impl FnMut(usize, usize)) {
        let bytes = text.as_bytes();
        let Ok(bits) = <&[u64; 1 << 10]>::try_from(self.bits.as_slice()) else {
            return;
        };
        for (at, window) in bytes.windows(4).enumerate() {
            let hash = hash([window[0], window[1], window[2], window[3]]);
            if bits[hash >> 6] >> (hash & 63) & 1 != 0 {
                self.look(bytes, at, hash, &mut each);
            }
        }
        if let [.., first, second, third] = *bytes {
            let hash = hash([first, second, third, 0]);
            self.look(bytes, bytes.len() - 3, hash, &mut each);
        }
    }

    // Kept apart from the loop above, which then runs in a few registers.
    #[inline(never)]
    fn look(&self, bytes: &[u8], at: usize, hash: usize, each: &mut dyn FnMut(usize, usize)) {
        for &index in &self.buckets[hash % Self::BUCKETS] {
            let (literal, offset, rule) = self.literals[index];
            let Some(start) = at.checked_sub(offset) else {
                continue;
            };
            let here = bytes.get(start..start + literal.len());
            if here.is_some_and(|here| here.eq_ignore_ascii_case(literal)) {
                each(start, rule);
            }
        }
    }
}

/// Returns a number of 16 bits for the first three of four bytes, the same for either case of a
/// letter.
fn hash(window: [u8; 4]) -> usize {
    let stem = (u32::from_le_bytes(window) | 0x2020_2020) & 0x00ff_ffff;
    (stem.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Returns where the three bytes begin that are rarest in ordinary text.
fn rarest(literal: &[u8]) -> usize {
    const FREQUENT_FIRST: &[u8] = b" etaoinsrlcdumphfgybvwk./-_:xjqz";
    let rarity = |byte: &u8| {
        let lower = byte.to_ascii_lowercase();
        let place = FREQUENT_FIRST.iter().position(|&known| known == lower);
        place.unwrap_or(FREQUENT_FIRST.len())
    };
    let grams = literal.windows(3).enumerate();
    let rarest = grams.max_by_key(|(_, gram)| gram.iter().map(rarity).sum::<usize>());
    rarest.map_or(0, |(offset, _)| offset)
}
