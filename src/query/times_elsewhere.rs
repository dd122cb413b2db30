//! Times as other languages name them: “vor zwei Wochen”, “el lunes”, “au printemps”.

use super::languages;

/// A time that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// From and to so many days ago.
    DaysAgo(u64, u64),
    /// So many units of so many days ago.
    UnitsAgo {
        days: u64,
        count: u64,
    },
    /// The last such day of the week, counted from Monday.
    Weekday(u32),
    Month {
        year: Option<i32>,
        month: u32,
    },
    /// The season that begins with a month.
    Season {
        year: Option<i32>,
        month: u32,
    },
}

/// Words that name days, from and to so many days ago. Those without spaces between words stand
/// anywhere in a text.
const DAYS: &[(&str, u64, u64)] = &[
    ("heute", 0, 0),
    ("gestern", 1, 2),
    ("vorgestern", 2, 3),
    ("neulich", 1, 10),
    ("diese woche", 0, 7),
    ("letzte woche", 2, 14),
    ("vorige woche", 2, 14),
    ("diesen monat", 0, 31),
    ("letzten monat", 7, 62),
    ("vorigen monat", 7, 62),
    ("letztes jahr", 180, 730),
    ("hoy", 0, 0),
    ("ayer", 1, 2),
    ("anteayer", 2, 3),
    ("esta semana", 0, 7),
    ("la semana pasada", 2, 14),
    ("el mes pasado", 7, 62),
    ("aujourd hui", 0, 0),
    ("avant-hier", 2, 3),
    ("cette semaine", 0, 7),
    ("la semaine dernière", 2, 14),
    ("le mois dernier", 7, 62),
    ("oggi", 0, 0),
    ("ieri", 1, 2),
    ("questa settimana", 0, 7),
    ("la settimana scorsa", 2, 14),
    ("la scorsa settimana", 2, 14),
    ("il mese scorso", 7, 62),
    ("vandaag", 0, 0),
    ("gisteren", 1, 2),
    ("deze week", 0, 7),
    ("vorige week", 2, 14),
    ("afgelopen week", 2, 14),
    ("vorige maand", 7, 62),
    ("hoje", 0, 0),
    ("ontem", 1, 2),
    ("anteontem", 2, 3),
    ("na semana passada", 2, 14),
    ("a semana passada", 2, 14),
    ("no mês passado", 7, 62),
    ("сегодня", 0, 0),
    ("вчера", 1, 2),
    ("позавчера", 2, 3),
    ("на прошлой неделе", 2, 14),
    ("в прошлом месяце", 7, 62),
    ("今天", 0, 0),
    ("昨天", 1, 2),
    ("前天", 2, 3),
    ("上周", 2, 14),
    ("上个星期", 2, 14),
    ("上星期", 2, 14),
    ("上个月", 7, 62),
    ("今日", 0, 0),
    ("昨日", 1, 2),
    ("先週", 2, 14),
    ("先月", 7, 62),
    ("오늘", 0, 0),
    ("어제", 1, 2),
    ("지난주", 2, 14),
    ("지난달", 7, 62),
    ("วันนี้", 0, 0),
    ("เมื่อวาน", 1, 2),
    ("สัปดาห์ที่แล้ว", 2, 14),
    ("เดือนที่แล้ว", 7, 62),
];

/// A language's way to say that something was so long ago: what stands before the number, and what
/// behind the unit.
struct Ago {
    before: &'static [&'static str],
    after: Option<&'static str>,
    numbers: &'static [(&'static str, u64)],
    units: &'static [(&'static str, u64)],
}

const AGO: &[Ago] = &[
    Ago {
        before: &["vor"],
        after: None,
        numbers: &[
            ("ein", 1),
            ("einem", 1),
            ("einer", 1),
            ("zwei", 2),
            ("drei", 3),
            ("vier", 4),
            ("fünf", 5),
            ("sechs", 6),
        ],
        units: &[
            ("tag", 1),
            ("tagen", 1),
            ("woche", 7),
            ("wochen", 7),
            ("monat", 30),
            ("monaten", 30),
            ("jahr", 365),
            ("jahren", 365),
        ],
    },
    Ago {
        before: &["hace"],
        after: None,
        numbers: &[("un", 1), ("una", 1), ("dos", 2), ("tres", 3), ("cuatro", 4), ("cinco", 5)],
        units: &[
            ("día", 1),
            ("días", 1),
            ("dias", 1),
            ("semana", 7),
            ("semanas", 7),
            ("mes", 30),
            ("meses", 30),
            ("año", 365),
            ("años", 365),
        ],
    },
    Ago {
        before: &["il", "y", "a"],
        after: None,
        numbers: &[("un", 1), ("une", 1), ("deux", 2), ("trois", 3), ("quatre", 4), ("cinq", 5)],
        units: &[
            ("jour", 1),
            ("jours", 1),
            ("semaine", 7),
            ("semaines", 7),
            ("mois", 30),
            ("an", 365),
            ("ans", 365),
        ],
    },
    Ago {
        before: &[],
        after: Some("fa"),
        numbers: &[("un", 1), ("una", 1), ("due", 2), ("tre", 3), ("quattro", 4), ("cinque", 5)],
        units: &[
            ("giorno", 1),
            ("giorni", 1),
            ("settimana", 7),
            ("settimane", 7),
            ("mese", 30),
            ("mesi", 30),
            ("anno", 365),
            ("anni", 365),
        ],
    },
    Ago {
        before: &[],
        after: Some("geleden"),
        numbers: &[("een", 1), ("twee", 2), ("drie", 3), ("vier", 4), ("vijf", 5)],
        units: &[
            ("dag", 1),
            ("dagen", 1),
            ("week", 7),
            ("weken", 7),
            ("maand", 30),
            ("maanden", 30),
            ("jaar", 365),
        ],
    },
    Ago {
        before: &["há"],
        after: None,
        numbers: &[("um", 1), ("uma", 1), ("dois", 2), ("duas", 2), ("três", 3), ("quatro", 4)],
        units: &[
            ("dia", 1),
            ("dias", 1),
            ("semana", 7),
            ("semanas", 7),
            ("mês", 30),
            ("meses", 30),
            ("ano", 365),
            ("anos", 365),
        ],
    },
    Ago {
        before: &[],
        after: Some("назад"),
        numbers: &[("один", 1), ("одну", 1), ("два", 2), ("две", 2), ("три", 3), ("четыре", 4)],
        units: &[
            ("день", 1),
            ("дня", 1),
            ("дней", 1),
            ("неделю", 7),
            ("недели", 7),
            ("недель", 7),
            ("месяц", 30),
            ("месяца", 30),
            ("месяцев", 30),
            ("год", 365),
            ("года", 365),
        ],
    },
];

/// The days of the week, from Monday on. They are nobody's name for anything else.
const WEEKDAYS: &[[&str; 7]] = &[
    ["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"],
    ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
    ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
    ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
    ["понедельник", "вторник", "среду", "четверг", "пятницу", "субботу", "воскресенье"],
];

/// The seasons by the month in which they begin, where one of these words stands before them.
const SEASONS: &[(&[&str], &[&str], u32)] = &[
    (GERMAN_BEFORE, &["frühling", "frühjahr"], 3),
    (GERMAN_BEFORE, &["sommer"], 6),
    (GERMAN_BEFORE, &["herbst"], 9),
    (GERMAN_BEFORE, &["winter"], 12),
    (ROMANCE_BEFORE, &["primavera", "printemps"], 3),
    (ROMANCE_BEFORE, &["verano", "été", "estate", "verão"], 6),
    (ROMANCE_BEFORE, &["otoño", "automne", "autunno", "outono"], 9),
    (ROMANCE_BEFORE, &["invierno", "hiver", "inverno"], 12),
];
const GERMAN_BEFORE: &[&str] = &["im", "vom", "letzten", "vorigen", "diesen", "seit"];
const ROMANCE_BEFORE: &[&str] = &["en", "au", "in", "nel", "na", "no", "la", "el", "l"];

/// The months that English names otherwise, with those words before them.
const MONTHS: &[(&str, u32)] = &[
    ("januar", 1),
    ("februar", 2),
    ("märz", 3),
    ("mai", 5),
    ("juni", 6),
    ("juli", 7),
    ("oktober", 10),
    ("dezember", 12),
    ("enero", 1),
    ("febrero", 2),
    ("marzo", 3),
    ("abril", 4),
    ("mayo", 5),
    ("junio", 6),
    ("julio", 7),
    ("agosto", 8),
    ("septiembre", 9),
    ("octubre", 10),
    ("noviembre", 11),
    ("diciembre", 12),
    ("janvier", 1),
    ("février", 2),
    ("mars", 3),
    ("avril", 4),
    ("juin", 6),
    ("juillet", 7),
    ("août", 8),
    ("septembre", 9),
    ("octobre", 10),
    ("novembre", 11),
    ("décembre", 12),
];

/// The time that words in lower case begin with, and how many of them name it.
pub fn at(words: &[&str]) -> Option<(Elsewhere, usize)> {
    let days = DAYS.iter().find_map(|(name, from, to)| {
        let count = name.split(' ').count();
        let said = name.split(' ').eq(words.iter().take(count).copied());
        said.then_some((Elsewhere::DaysAgo(*from, *to), count))
    });
    let ago = || AGO.iter().find_map(|ago| ago.at(words));
    days.or_else(ago).or_else(|| weekday(words)).or_else(|| month_or_season(words))
}

/// The days that a text without spaces between its words names.
pub fn within(text: &str) -> Option<(&'static str, Elsewhere)> {
    let mut unspaced = DAYS.iter().filter(|(name, ..)| languages::is_unspaced(name));
    let (name, from, to) = unspaced.find(|(name, ..)| text.contains(name))?;
    Some((name, Elsewhere::DaysAgo(*from, *to)))
}

impl Ago {
    fn at(&self, words: &[&str]) -> Option<(Elsewhere, usize)> {
        let rest = words.strip_prefix(self.before)?;
        let [count, unit, ..] = rest else { return None };
        let after = rest.get(2).copied();
        if self.after.is_some() && after != self.after {
            return None;
        }
        let of = |list: &[(&str, u64)], word: &str| {
            list.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
        };
        let digits = || count.parse().ok().filter(|count| *count < 1000);
        let count = of(self.numbers, count).or_else(digits)?;
        let days = of(self.units, unit)?;
        let said = self.before.len() + 2 + usize::from(self.after.is_some());
        Some((Elsewhere::UnitsAgo { days, count }, said))
    }
}

/// A day of the week, with the small word before it.
fn weekday(words: &[&str]) -> Option<(Elsewhere, usize)> {
    const BEFORE: &[&str] = &["am", "letzten", "vorigen", "el", "le", "op", "vorige", "во", "в"];
    let skipped = usize::from(words.first().is_some_and(|first| BEFORE.contains(first)));
    let word = words.get(skipped)?;
    let place = WEEKDAYS.iter().find_map(|days| days.iter().position(|day| day == word))?;
    Some((Elsewhere::Weekday(place as u32), skipped + 1))
}

/// A month or a season, with the small word before it.
fn month_or_season(words: &[&str]) -> Option<(Elsewhere, usize)> {
    let [before, word, rest @ ..] = words else { return None };
    let year = rest.first().and_then(|word| word.parse().ok());
    let year = year.filter(|year| (1990..2100).contains(year));
    let said = 2 + usize::from(year.is_some());
    let is_before = |small: &[&str]| small.contains(before);
    if let Some((_, month)) = MONTHS.iter().find(|(name, _)| name == word)
        && (is_before(GERMAN_BEFORE) || is_before(ROMANCE_BEFORE) || *before == "de")
    {
        return Some((Elsewhere::Month { year, month: *month }, said));
    }
    let season =
        |(small, names, _): &&(&[&str], &[&str], u32)| is_before(small) && names.contains(word);
    let (.., month) = SEASONS.iter().find(season)?;
    Some((Elsewhere::Season { year, month: *month }, said))
}
