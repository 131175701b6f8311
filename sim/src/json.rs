//! JSON that people hand in: what is wrong with it is said with line, column and field.

use serde::de::DeserializeOwned;

/// Why a text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}, field {field:?}: {what}")]
pub struct SyntaxError {
    /// Where, counted from one.
    pub line: usize,
    /// Where in the line, counted from one.
    pub column: usize,
    /// The field, as a path from the text's root.
    pub field: String,
    /// What is wrong.
    pub what: String,
}

/// Reads one value, and nothing after it.
///
/// # Errors
/// If the text is not JSON, or not such a value.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, SyntaxError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| at(error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| at(".".to_owned(), &error))?;
    Ok(value)
}

fn at(field: String, error: &serde_json::Error) -> SyntaxError {
    let text = error.to_string();
    // The library says where once more at the end of its message.
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what).to_owned();
    SyntaxError { line: error.line(), column: error.column(), field, what }
}
