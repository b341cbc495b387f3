//! Comparisons of the server's answers with expectations.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use kube::core::Status;
use serde_json::Value;

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What was compared.
    pub what: String,
    pub expected: String,
    pub got: String,
}

impl Failure {
    pub(crate) fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Failure {
        Failure {
            what: what.into(),
            expected: expected.into(),
            got: got.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure {
            what,
            expected,
            got,
        } = self;
        write!(f, "{what}: expected {expected}, got {got}")
    }
}

pub(crate) type Check = Result<(), Failure>;

/// The expected answers to a request.
pub(crate) trait Expect<T> {
    fn succeeds(self, what: &str) -> Result<T, Failure>;

    /// The request is refused with this code and reason; returns the Status.
    fn refused(self, code: u16, reason: &str, what: &str) -> Result<Status, Failure>;
}

impl<T> Expect<T> for Result<T, kube::Error> {
    fn succeeds(self, what: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(what, "success", describe(&error)))
    }

    fn refused(self, code: u16, reason: &str, what: &str) -> Result<Status, Failure> {
        let expected = format!("{code} {reason}");
        match self {
            Err(kube::Error::Api(status)) if status.code == code && status.reason == reason => {
                Ok(*status)
            }
            Err(error) => Err(Failure::new(what, expected, describe(&error))),
            Ok(_) => Err(Failure::new(what, expected, "success")),
        }
    }
}

fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => {
            format!("{} {}: {}", status.code, status.reason, status.message)
        }
        other => other.to_string(),
    }
}

/// The field at a JSON pointer has a value; `null` stands for an absent field.
pub(crate) fn field(object: &Value, pointer: &str, want: impl Into<Value>) -> Check {
    equal(pointer, at(object, pointer), &want.into())
}

pub(crate) fn equal<T: PartialEq + fmt::Debug + ?Sized>(what: &str, got: &T, want: &T) -> Check {
    if got == want {
        return Ok(());
    }
    Err(Failure::new(what, format!("{want:?}"), format!("{got:?}")))
}

pub(crate) fn different<T: PartialEq + fmt::Debug>(what: &str, got: &T, other: &T) -> Check {
    if got != other {
        return Ok(());
    }
    Err(Failure::new(
        what,
        format!("other than {other:?}"),
        "the same",
    ))
}

pub(crate) fn holds(truth: bool, what: &str, got: impl fmt::Debug) -> Check {
    if truth {
        return Ok(());
    }
    Err(Failure::new(what, "it to hold", format!("{got:?}")))
}

/// A text contains another.
pub(crate) fn mentions(what: &str, text: &str, part: &str) -> Check {
    if text.contains(part) {
        return Ok(());
    }
    Err(Failure::new(what, format!("to mention {part:?}"), text))
}

/// The causes of a Status name a field.
pub(crate) fn blames(status: &Status, field: &str) -> Check {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<&str> = causes.map(|cause| cause.field.as_str()).collect();
    if fields.contains(&field) {
        return mentions("the message", &status.message, field);
    }
    Err(Failure::new(
        format!("the causes of {:?}", status.message),
        format!("one of field {field}"),
        format!("{fields:?}"),
    ))
}

pub(crate) fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

/// The text at a pointer; empty if there is none.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    at(object, pointer).as_str().unwrap_or_default().to_owned()
}

pub(crate) fn resource_version(object: &Value) -> String {
    text(object, "/metadata/resourceVersion")
}

pub(crate) fn uid(object: &Value) -> String {
    text(object, "/metadata/uid")
}

/// The resourceVersion as a number; since Kubernetes 1.35 resourceVersions are comparable (KEP-5504).
pub(crate) fn version_number(object: &Value) -> Result<u64, Failure> {
    let version = resource_version(object);
    version
        .parse()
        .map_err(|_| Failure::new("/metadata/resourceVersion", "a number", version))
}

/// The names of a list's items in their order.
pub(crate) fn names(list: &Value) -> Vec<String> {
    let items = at(list, "/items").as_array();
    items
        .into_iter()
        .flatten()
        .map(|item| text(item, "/metadata/name"))
        .collect()
}

/// Polls until the answer is true; for effects of controllers, which come later.
pub(crate) async fn eventually<F>(what: &str, mut poll: impl FnMut() -> F) -> Check
where
    F: Future<Output = Result<bool, Failure>>,
{
    const TIMEOUT: Duration = Duration::from_secs(60);
    let polling = async {
        while !poll().await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    match tokio::time::timeout(TIMEOUT, polling).await {
        Ok(end) => end,
        Err(_) => Err(Failure::new(what, format!("within {TIMEOUT:?}"), "not")),
    }
}
