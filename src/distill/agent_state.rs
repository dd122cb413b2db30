//! Feeling: the state values of an agent that keeps them, as one line.
//! `H9-720-S120W800D640C910J500A700CO660GN800OP750` is the resonance index and nine dimensions,
//! each from 0 to 1, in thousandths. `H5` is its short form with the first five; the other four
//! cannot be had back from it.

use serde_json::Value;

use crate::base::static_regex::StaticRegex;

/// The dimensions in their order, each with its mark and the names that it goes by.
const DIMENSIONS: [(&str, &[&str]); 9] = [
    ("S", &["stress", "s"]),
    ("W", &["warmth", "warm", "w"]),
    ("D", &["drive", "d"]),
    ("C", &["clarity", "clear", "c"]),
    ("J", &["joy", "j"]),
    ("A", &["alertness", "alert", "a"]),
    ("CO", &["connection", "connectedness", "co"]),
    ("GN", &["groundedness", "grounding", "grounded", "gn"]),
    ("OP", &["openness", "open", "op"]),
];
const RESONANCE: &[&str] = &["resonanceindex", "resonance", "ri"];
/// How deep values may lie in a file.
const DEEPEST: usize = 12;

/// A whole state: the resonance index and the nine dimensions, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentState {
    pub resonance: u16,
    pub dimensions: [u16; 9],
}

impl AgentState {
    /// The line that stands for the whole state.
    pub fn encode(&self) -> String {
        let marked = DIMENSIONS
            .iter()
            .zip(self.dimensions)
            .map(|((mark, _), value)| format!("{mark}{value}"));
        format!("H9-{}-{}", self.resonance, marked.collect::<String>())
    }

    /// Reads a line back. The short form is refused: it does not hold the whole state.
    pub fn decode(line: &str) -> Result<AgentState, String> {
        static MARKED: StaticRegex = StaticRegex::new(r"([A-Z]{1,2})(\d{1,4})");
        let rest = match (line.strip_prefix("H9-"), line.starts_with("H5-")) {
            (Some(rest), _) => rest,
            (None, true) => {
                return Err(format!("`{line}` holds five of nine dimensions: the others are lost"));
            }
            (None, false) => return Err(format!("`{line}` is no H9 line")),
        };
        let thousandths = |digits: &str| digits.parse::<u16>().ok().filter(|value| *value <= 1000);
        let (resonance, marked) =
            rest.split_once('-').ok_or_else(|| format!("`{line}` has no resonance index"))?;
        let resonance =
            thousandths(resonance).ok_or_else(|| format!("`{resonance}` is no resonance index"))?;
        let mut dimensions = [0; 9];
        let mut read = 0;
        for (at, found) in MARKED.captures_iter(marked).enumerate() {
            let value = thousandths(&found[2]);
            match (DIMENSIONS.get(at), value) {
                (Some((mark, _)), Some(value)) if *mark == &found[1] => dimensions[at] = value,
                _ => {
                    return Err(format!(
                        "`{}` is not what comes {}th in `{line}`",
                        &found[0],
                        at + 1
                    ));
                }
            }
            read += found[0].len();
        }
        let whole = read == marked.len() && marked.contains("OP");
        whole
            .then_some(AgentState { resonance, dimensions })
            .ok_or_else(|| format!("`{line}` is not whole"))
    }
}

/// The state that a file of state values holds, where all nine are there under whatever names; or
/// its own line.
pub fn state_in(text: &str) -> Option<AgentState> {
    static OWN_LINE: StaticRegex = StaticRegex::new(r"\bH9-\d{1,4}-(?:[A-Z]{1,2}\d{1,4}){9}");
    let mut values = Values::default();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => values.of_json(&value, 0),
        // YAML is read line by line: nothing in it is expanded.
        Err(_) => text.lines().for_each(|line| values.of_line(line)),
    }
    values.state().or_else(|| AgentState::decode(OWN_LINE.find(text)?.as_str()).ok())
}

#[derive(Default)]
struct Values {
    resonance: Option<u16>,
    dimensions: [Option<u16>; 9],
}

impl Values {
    fn state(&self) -> Option<AgentState> {
        let mut dimensions = [0; 9];
        for (value, known) in dimensions.iter_mut().zip(self.dimensions) {
            *value = known?;
        }
        Some(AgentState { resonance: self.resonance.unwrap_or(0), dimensions })
    }

    fn take(&mut self, name: &str, value: f64) {
        if !(0.0..=1.0).contains(&value) {
            return;
        }
        let name: String =
            name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        let thousandths = (value * 1000.0).round() as u16;
        if RESONANCE.contains(&name.as_str()) {
            self.resonance.get_or_insert(thousandths);
        } else if let Some(at) =
            DIMENSIONS.iter().position(|(_, names)| names.contains(&name.as_str()))
        {
            self.dimensions[at].get_or_insert(thousandths);
        }
    }

    fn of_json(&mut self, value: &Value, depth: usize) {
        match value {
            _ if depth > DEEPEST => {}
            Value::Object(fields) => {
                // `{"name": "stress", "value": 0.1}`
                let named =
                    fields.get("name").or_else(|| fields.get("dimension")).and_then(Value::as_str);
                if let Some((name, value)) = named.zip(fields.get("value").and_then(Value::as_f64))
                {
                    self.take(name, value);
                }
                for (name, value) in fields {
                    match value.as_f64().or_else(|| value.as_str()?.parse().ok()) {
                        Some(number) => self.take(name, number),
                        None => self.of_json(value, depth + 1),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.of_json(item, depth + 1)),
            _ => {}
        }
    }

    fn of_line(&mut self, line: &str) {
        let line = line.split(" #").next().unwrap_or(line);
        if let Some((name, value)) = line.split_once(':')
            && let Ok(number) = value.trim().trim_matches(['"', '\'']).parse()
        {
            self.take(name, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = "H9-720-S120W800D640C910J500A700CO660GN800OP750";

    proptest! {
        #[test]
        fn every_state_is_read_back(resonance in 0u16..=1000, dimensions in prop::array::uniform9(0u16..=1000)) {
            let state = AgentState { resonance, dimensions };
            prop_assert_eq!(AgentState::decode(&state.encode()), Ok(state));
        }

        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,80}") {
            let _ = (AgentState::decode(&text), AgentState::decode(&format!("H9-{text}")), state_in(&text));
        }
    }

    #[test]
    fn a_line_is_divided_by_a_thousand() {
        let state = AgentState::decode(LINE).unwrap();
        let value = |dimension: usize| f64::from(state.dimensions[dimension]) / 1000.0;
        assert_eq!((value(0), value(8), state.resonance), (0.12, 0.75, 720));
        assert_eq!(state.encode(), LINE);
        for bad in [
            "H5-720-S120W800D640C910J500",
            "H9-720-S120W800D640C910J500",
            "H9-720-W1S1",
            "H9-1001-S1",
            "x",
            "",
        ] {
            assert!(AgentState::decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_found_under_whatever_names() {
        let json = r#"{"matrix":{"resonance_index":0.72,"state":{"Stress":0.12,"warmth":"0.8","drive":0.64,"Clarity":0.91,
            "joy":0.5,"alertness":0.7,"connection":0.66,"groundedness":0.8,"openness":0.75}}}"#;
        let yaml = "ri: 0.72\nvalues:\n  S: 0.12\n  W: 0.8\n  D: 0.64\n  C: 0.91 # clear\n  J: 0.5\n  A: 0.7\n  CO: 0.66\n  GN: 0.8\n  OP: 0.75\n";
        let own = format!("emotive_hash: {LINE}\n");
        for text in [json, yaml, own.as_str()] {
            assert_eq!(state_in(text).map(|state| state.encode()).as_deref(), Some(LINE), "{text}");
        }
        assert_eq!(state_in("mood: calm\nstress: 0.1\n"), None);
    }
}
