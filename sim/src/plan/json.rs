//! JSON written by users: errors have the line, the column and the field.

use serde::de::DeserializeOwned;

/// An error in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}, field {field:?}: {what}")]
pub struct SyntaxError {
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
    /// The field, as a path from the text's root.
    pub field: String,
    /// A description.
    pub what: String,
}

/// Reads one value, and nothing after it.
///
/// # Errors
/// If the text is not JSON, or not such a value.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SyntaxError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| at(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| at(".", &error))?;
    Ok(value)
}

pub(crate) fn at(field: &str, error: &serde_json::Error) -> SyntaxError {
    let text = error.to_string();
    // The library repeats the position at the end of its message, and quotes the text that it
    // found.
    let what = plain(text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what));
    SyntaxError { line: error.line(), column: error.column(), field: plain(field), what }
}

/// The longest text from a file that is shown, in characters.
const SHOWN: usize = 400;

/// A text from a file as one line that can't change a terminal: control characters, and characters
/// that change the direction of writing, are escaped, and a long text is cut.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == SHOWN {
            plain.push_str("[..]");
            break;
        }
        if is_plain(letter) {
            plain.push(letter);
        } else {
            plain.extend(letter.escape_default());
        }
    }
    plain
}

fn is_plain(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// True if a text is a name that a file may repeat in a command for users, such as an engine's
/// name.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    (1..=64).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_is_one_plain_line() {
        let worst = "\u{1b}[2Jcleared\r\nHELD\u{9b}31m\u{202e}\u{7}";
        assert_eq!(plain(worst), "\\u{1b}[2Jcleared\\r\\nHELD\\u{9b}31m\\u{202e}\\u{7}");
        assert_eq!(plain("Größe: 7 µs"), "Größe: 7 µs");
        assert_eq!(plain(&"x".repeat(500)).len(), SHOWN + "[..]".len());
        let error = parse::<u64>("\"\\u001b[2J\"").expect_err("no number").to_string();
        assert!(error.contains("\\u{1b}[2J") && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn depth_is_limited() {
        let deep = "[".repeat(1_000_000);
        let error = parse::<serde_json::Value>(&deep).expect_err("too deep").to_string();
        assert!(error.contains("recursion limit"), "{error}");
    }

    #[test]
    fn names_fit_into_a_command() {
        assert!(["model", "0.1.0", "fenced-reads"].into_iter().all(is_name));
        let no_names = ["", "a b", "model;ls", "-x", "a\nb", "$x"].into_iter();
        assert!(!no_names.map(str::to_owned).chain(["x".repeat(65)]).any(|name| is_name(&name)));
    }
}
