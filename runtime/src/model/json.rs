//! JSON from the server.
//!
//! Guarantees: bytes are looked at once to see that they are a text, and not for each part that stays JSON; there is one
//! reader of JSON in the program.

use serde::Deserialize;
use serde::de::Error;

/// Decodes what was received.
///
/// # Errors
/// It is no text, or not JSON of a `T`.
pub(crate) fn decoded<'a, T: Deserialize<'a>>(received: &'a [u8]) -> Result<T, serde_json::Error> {
    let text = std::str::from_utf8(received).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}
