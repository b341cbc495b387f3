//! The answer of a verb, before it becomes an HTTP response.

use bytes::Bytes;
use serde_json::Value;

use crate::model::status::ApiError;

/// The answer of a verb.
pub(crate) enum Answer {
    Whole(u16, Bytes),
    Rejected(ApiError),
    Stream(futures::stream::BoxStream<'static, Bytes>),
    /// Plain text, not JSON.
    Text(futures::stream::BoxStream<'static, Bytes>),
}

impl Answer {
    pub(crate) fn json(code: u16, value: &Value) -> Answer {
        let mut text = value.to_string();
        text.push('\n');
        Answer::Whole(code, Bytes::from(text))
    }
}
