//! A TOML file as a type, and lines of it for messages.

use serde::de::DeserializeOwned;

use crate::spec::workload::Error;

/// # Errors
/// The file and the line that is wrong.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let line = line_of_error(text, &error);
        Error::of_file(file, Some(line), error.message().replace('\n', " "))
    })
}

/// The line, from 1 on, that holds a byte offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

/// The line of an error; the first where it has none.
pub fn line_of_error(text: &str, error: &toml::de::Error) -> usize {
    line_of(text, error.span().map_or(0, |span| span.start))
}
