//! What a plan has to say that is no fault.

/// An Event of type Normal on an owner ([`Operator::event`](crate::api::Operator::event)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// One word in CamelCase, such as `Issued`.
    pub reason: &'static str,
    /// The same for a person to read, cut off after 1,024 characters. What tells one Event from an earlier one of the same
    /// reason is here.
    pub message: String,
}

impl Event {
    /// An Event with this reason and message.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}
