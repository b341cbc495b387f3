//! Lines of a TOML file, for messages about it.

/// The line, from 1 on, that holds a byte offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|b| *b == b'\n').count()
}

/// The line of an error; the first where it has none.
pub fn line_of_error(text: &str, error: &toml::de::Error) -> usize {
    line_of(text, error.span().map_or(0, |span| span.start))
}
