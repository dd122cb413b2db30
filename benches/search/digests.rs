//! Digests that nobody wrote: words by Zipf's law, in the shape of real ones, the same in every
//! run.

use std::fmt::Write;

use memtree::model::ids::SessionId;

const WORDS: u64 = 60_000;
/// One of the twelve projects that digests are of.
pub const PROJECT: &str = "ke";

/// Numbers that look like chance (xorshift).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            chance.next();
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// The number of a word: the first ones far more often than the last.
    fn zipf(&mut self) -> u64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((WORDS as f64).powf(share) as u64 - 1).min(WORDS - 1)
    }
}

/// A word by its number: syllables, so that it looks like one.
fn word(mut number: u64) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "dar", "fen", "gil", "hop",
        "jus", "pan", "quel", "ros", "tam", "wick",
    ];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[(number % 20) as usize]);
        number /= 20;
        if number == 0 {
            return word;
        }
    }
}

fn words(chance: &mut Chance, count: u64) -> String {
    (0..count).map(|_| word(chance.zipf())).collect::<Vec<_>>().join(" ")
}

/// A sentence, the same for the same number.
pub fn sentence(number: u64) -> String {
    words(&mut Chance::new(number + 1), 14)
}

/// A digest of some 2 kB.
pub fn digest(id: &SessionId, seed: u64) -> String {
    let chance = &mut Chance::new(seed + 1);
    let title = words(chance, 7);
    let (project, day) = (word(chance.below(12)), 1 + chance.below(28));
    let mut text = format!(
        "---\nschema: memtree/digest/1\nsession: {id}\nsource_id: \"claude:{seed:08x}\"\nflavor: claude\ntitle: {title}\n\
        state: closed\nstatus: success\nworth: full\nobjective: {title}\nproject: {project}\n\
        ended: 2026-{:02}-{day:02}T10:00:00Z\nfiles: [src/{}.rs, tests/{}.rs]\ntags: [{}]\n---\n\
        # Session Digest: {id}\n\n## 🧠 Semantic Summary (The RAG Trigger)\n- **Core Intent**: {}\n- **Key Outcomes**: {}\n\n\
        ## ⚡ Knowledge Triggers\n",
        1 + chance.below(12),
        word(chance.zipf()),
        word(chance.zipf()),
        word(chance.zipf()),
        words(chance, 30),
        words(chance, 40),
    );
    for episode in 1..=5 {
        let keys: Vec<String> = (0..20).map(|_| word(chance.below(WORDS))).collect();
        let (topic, sentence) = (words(chance, 6), words(chance, 16));
        let _ = writeln!(
            text,
            "- [{topic}]: {sentence} -> Trigger reference: [EP_{episode:03}](snapshot/episodic/EP_{episode:03}.md) | user | keys: {}",
            keys.join(", ")
        );
    }
    text.push_str("\n## Notes\n");
    text
}

/// Fifty queries of one to three words, from common to rare.
pub fn queries() -> Vec<String> {
    let chance = &mut Chance::new(u64::MAX);
    let mut pick = |from: u64, to: u64| word(from + chance.below(to - from));
    (0..50)
        .map(|number| match number {
            0..15 => pick(2000, 20_000),
            15..35 => [pick(150, 2000), pick(500, 8000)].join(" "),
            _ => [pick(80, 3000), pick(80, 3000), pick(80, 3000)].join(" "),
        })
        .collect()
}
