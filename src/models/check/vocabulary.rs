//! The words on which the truth of a line hangs, and those on which it does not.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::base::stem::stem;

/// Words that say the same of a piece of work; the first names the group.
const SYNONYMS: &[&str] = &[
    "fix solve resolve repair mend correct cure address",
    "remove delete drop erase strip purge eliminate",
    "add create introduce insert implement",
    "change update modify edit alter adjust rewrite",
    "pass succeed green success successful successfully",
    "fail break crash error failure broken",
    "merge land",
    "revert undo rollback",
    "deploy ship release publish",
    "enable activate allow permit",
    "deny block reject",
    "choose pick select prefer opt decide",
    "keep retain preserve stay remain",
    "replace swap substitute",
    "show display print",
    "check verify test validate confirm",
    "increase raise grow bigger",
    "decrease reduce lower shrink smaller",
    "start begin launch",
    "finish complete done",
    "upgrade bump",
    "find discover detect spot",
    "lack miss missing absent",
    "document docs doc documentation",
    "quick fast speed",
    "error exception",
    "folder directory",
    "repository repo",
    "config configuration",
    "function method",
    "argument parameter",
];

/// Past forms that no ending shows.
const IRREGULAR: &[(&str, &str)] = &[
    ("wrote", "write"),
    ("written", "write"),
    ("broke", "break"),
    ("broken", "break"),
    ("ran", "run"),
    ("built", "build"),
    ("kept", "keep"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("found", "find"),
    ("sent", "send"),
    ("took", "take"),
    ("taken", "take"),
    ("gave", "give"),
    ("given", "give"),
    ("left", "leave"),
    ("lost", "lose"),
    ("held", "hold"),
    ("began", "begin"),
    ("begun", "begin"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("drew", "draw"),
    ("fell", "fall"),
    ("grew", "grow"),
    ("meant", "mean"),
    ("slept", "sleep"),
    ("spent", "spend"),
    ("dealt", "deal"),
    ("caught", "catch"),
    ("bought", "buy"),
    ("brought", "bring"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("overrode", "override"),
    ("overridden", "override"),
    ("rewrote", "rewrite"),
    ("rewritten", "rewrite"),
    ("reran", "rerun"),
    ("rebuilt", "rebuild"),
];

/// What is done to things: a line may only say it where its quote does.
const ACTIONS: &str = "fix remove add change pass fail merge revert deploy enable deny replace increase \
    decrease upgrade push commit open close disable rename move install uninstall downgrade approve \
    accept cancel ignore support call load save send receive read write split join cache retry lock \
    unlock encrypt decrypt encode decode copy import export convert migrate refactor pin unpin skip \
    skips lose leak hang wait sleep race overwrite truncate append hide expose log mock stub sort \
    filter parse render compile link build throw catch return reset restart resume pause enforce \
    require forbid guarantee prevent cause break";

/// Words that a line may have of its own: they say how it is put, not what happened.
const LIGHT: &str = "found shows says said noted reported request about above according across actual actually again agent aim all already also always \
    another any anything anyway apart approach area around ask asked asks aspect assistant available \
    back based basic because become before behavior behaviour behind being below besides better between \
    both bring call case cause certain choose clear code come complete concern current currently \
    decide decided decision describe detail different due each earlier effect either else end enough \
    ensure entire even every everything exact exactly example exist existing extra far feature few file \
    final finally find first follow following full fully further general get give go goal good happen \
    have help here how idea important include including inside instead into issue itself job just kind \
    know large last lastly late later least leave lesson less let like line little local long look made \
    main make many matter mean mention more most much must name namely near necessary need new next \
    none note now number often old once one only open option order original other otherwise our out \
    outside over own part particular people per person person's place plan plus point possible \
    present previous prior problem project propose purpose put question quite rather real really \
    reason recent related relevant result right root rule run said same say second section see seem \
    self session set several should side simple simply since single small so some something soon source \
    specific state step still such suggest sure symptom take task tell than that them then there \
    therefore these they thing think this those through time together too total toward truth try turn \
    type under unless until up upon use used user uses using usual value various version very via want \
    wanted wants way well what when where whether which while who whole whose why will wish with within \
    without word work worked working would yet you your";

/// Words that carry no meaning of their own.
const STOP: &str = "a an the of to in on for and or nor but is was were are be been being am it its it's this that \
    these those with at by from as if so than then do does did done has have had having can could may might \
    shall i we you he she they them their his her our your my me us der die das ein eine einen und oder ist \
    war le la les un une et ou est el los las y o es que de du des en im am zu";

/// Words that deny what follows them.
const NEGATORS: &str = "not no never none nothing nobody neither nor cannot without dont doesnt didnt isnt wasnt \
    arent werent cant wont shouldnt couldnt wouldnt hasnt havent hadnt mustnt neednt aint avoid avoids \
    avoided avoiding forbid forbids refuse refuses refused prevent prevents prevented skip skips skipped \
    skipping stop stops stopped stopping nicht kein keine keinen keiner nie niemals ohne ne pas jamais sans \
    aucun nunca sin jamas nao sem non mai senza не нет ни никогда без";

/// Those among them that are verbs.
const SOFT: &str = "avoid avoids avoided avoiding forbid forbids refuse refuses refused prevent prevents \
    prevented skip skips skipped skipping stop stops stopped stopping";

/// What turns a thing that was tried into one that was not done.
const REVERSALS: &str = "fail deny abort cancel revert";

/// What denies what stands before it: `pushing to main is forbidden`.
const FORBIDDEN: &str = "forbidden banned refused avoided disallowed prohibited prevented skipped";

/// Words after which a new thought begins.
const BREAKS: &str =
    "but while because so then however although though whereas sondern aber mais pero";

/// Numbers in words; `one` is mostly no number.
const NUMBERS: &[(&str, &str)] = &[
    ("zero", "0"),
    ("two", "2"),
    ("twice", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
];

/// A list of words as a set that is made once.
macro_rules! words {
    ($list:ident) => {{
        static SET: LazyLock<HashSet<&'static str>> =
            LazyLock::new(|| $list.split_whitespace().collect());
        &*SET
    }};
}

/// What a word comes to: its stem, or the name of the group of words that say the same.
pub fn canonical(word: &str) -> String {
    static GROUPS: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
        let groups = SYNONYMS.iter().filter_map(|group| {
            let name = group.split_whitespace().next()?;
            Some(group.split_whitespace().map(move |word| (stem(word).to_string(), name)))
        });
        groups.flatten().collect()
    });
    let word = IRREGULAR.iter().find(|(past, _)| *past == word).map_or(word, |(_, base)| *base);
    let bare = stem(word);
    GROUPS.get(bare).map_or(bare, |name| stem(name)).to_string()
}

/// Whether a canonical word is something that is done.
pub fn is_action(canonical: &str) -> bool {
    static SET: LazyLock<HashSet<String>> =
        LazyLock::new(|| ACTIONS.split_whitespace().map(self::canonical).collect());
    SET.contains(canonical)
}

/// Whether a canonical word says that something was not done after all.
pub fn is_reversal(canonical: &str) -> bool {
    static SET: LazyLock<HashSet<String>> =
        LazyLock::new(|| REVERSALS.split_whitespace().map(self::canonical).collect());
    SET.contains(canonical)
}

/// Whether a word shows its past tense.
pub fn is_past(word: &str) -> bool {
    let regular = word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed");
    regular || IRREGULAR.iter().any(|(past, _)| *past == word)
}

/// Whether a line may have this word although its source has not.
pub fn is_light(word: &str) -> bool {
    words!(LIGHT).contains(word)
}

pub fn is_stop(word: &str) -> bool {
    words!(STOP).contains(word)
}

pub fn is_negator(word: &str) -> bool {
    words!(NEGATORS).contains(word)
}

pub fn is_soft(word: &str) -> bool {
    words!(SOFT).contains(word)
}

pub fn is_forbidden(word: &str) -> bool {
    words!(FORBIDDEN).contains(word)
}

pub fn is_break(word: &str) -> bool {
    words!(BREAKS).contains(word)
}

/// The digits of a number in words.
pub fn digits(word: &str) -> Option<&'static str> {
    NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, digits)| *digits)
}
