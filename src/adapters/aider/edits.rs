//! The edits that an answer of the model's asks for, in blocks of its text.

/// The changes that an answer asks for: the file named before each block, and what is taken out and
/// put in.
pub fn requested_edits(answer: &str) -> Vec<(String, String)> {
    let mut edits: Vec<(String, String)> = Vec::new();
    let (mut named, mut change, mut mark) = (String::new(), None::<String>, "- ");
    for line in answer.lines() {
        match (&mut change, line.trim_end()) {
            (None, "<<<<<<< SEARCH") => (change, mark) = (Some(String::new()), "- "),
            (None, line) if !line.trim().is_empty() && !line.starts_with("```") => {
                named = line.trim().to_string()
            }
            (None, _) => {}
            (Some(_), "=======") => mark = "+ ",
            (Some(text), ">>>>>>> REPLACE") => {
                match edits.iter_mut().find(|(file, _)| *file == named) {
                    Some((_, before)) => before.push_str(text),
                    None => edits.push((named.clone(), std::mem::take(text))),
                }
                change = None;
            }
            (Some(text), line) => {
                text.push_str(mark);
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_the_files_that_it_changes() {
        let answer = "Here:\n\nsrc/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n\nDone.";
        assert_eq!(
            requested_edits(answer),
            [("src/a.py".to_string(), "- x = 1\n+ x = 2\n".to_string())]
        );
        assert_eq!(requested_edits("No change.\n<<<<<<< SEARCH\ntorn"), []);
    }
}
