//! JSON patch (RFC 6902) through the `json-patch` crate, with the real server's refusals.

use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use crate::model::status::ApiError;

/// As `--max-json-patch-operations`' constant in apiserver v0.36.4, `handlers/patch.go`.
const MAX_OPERATIONS: usize = 10_000;

pub(crate) fn parse(body: &[u8]) -> Result<Patch, ApiError> {
    let patch: Patch = serde_json::from_slice(body)
        .map_err(|cause| ApiError::bad_request(format!("error decoding patch: {cause}")))?;
    if patch.0.len() > MAX_OPERATIONS {
        return Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                patch.0.len()
            ),
        ));
    }
    Ok(patch)
}

/// All operations or none; a failing `test` is 422, as every operation that cannot be done.
pub(crate) fn apply(patch: &Patch, object: &Value) -> Result<Value, ApiError> {
    let mut new = object.clone();
    for operation in &patch.0 {
        if tests_for_absence(operation, &new) {
            continue;
        }
        json_patch::patch(&mut new, std::slice::from_ref(operation)).map_err(|cause| {
            tracing::debug!(%cause, "JSON patch refused");
            // The real server tells no more than this.
            ApiError::new(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )
        })?;
    }
    Ok(new)
}

/// A `test` for null holds where a field is missing from an object that is there (evanphx
/// json-patch v4, which kube-rs's finalizer relies on; RFC 6902 would have it fail).
fn tests_for_absence(operation: &PatchOperation, object: &Value) -> bool {
    let PatchOperation::Test(test) = operation else {
        return false;
    };
    let path = test.path.as_str();
    let Some((parent, _)) = path.rsplit_once('/') else {
        return false;
    };
    test.value.is_null()
        && object.pointer(path).is_none()
        && object.pointer(parent).is_some_and(Value::is_object)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::{apply, parse};

    #[test]
    fn a_failing_test_leaves_everything_and_says_422() {
        let object = json!({"metadata": {"finalizers": ["a", "b"]}});
        let patch = |value: &str| {
            let text = json!([
                {"op": "test", "path": "/metadata/finalizers/1", "value": value},
                {"op": "remove", "path": "/metadata/finalizers/1"},
            ]);
            parse(text.to_string().as_bytes()).unwrap()
        };
        assert_eq!(
            apply(&patch("b"), &object).unwrap(),
            json!({"metadata": {"finalizers": ["a"]}})
        );
        let refusal = apply(&patch("c"), &object).unwrap_err();
        assert_eq!((refusal.code, refusal.reason.as_str()), (422, "Invalid"));
    }
}
