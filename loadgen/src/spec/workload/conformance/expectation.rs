//! An expectation of an object or of a child, in CEL.
//!
//! Guarantees: pure; an absent field fulfils nothing that is not null. A mismatch says what was expected and what is
//! there. Leaves to others: fetching, and waiting.

use serde_json::Value;

use crate::spec::workload::condition::{Expression, OBJECT};
use crate::spec::workload::conformance::format::ExpectationFile;

/// What an expression calls the object that a child belongs to.
const OWNER: &str = "owner";

/// An expectation that is not met, and the value found instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub expected: String,
    pub seen: String,
}

pub type Check = Result<(), Mismatch>;

/// A compiled expectation.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The rule from which a subject may deviate; without one it is required.
    pub rule: Option<String>,
    what: What,
}

#[derive(Clone)]
enum What {
    /// A field has the value of an expression.
    Equals { field: String, value: Expression },
    /// An expression is true.
    Holds {
        condition: Expression,
        says: String,
        /// What a failure shows.
        field: String,
    },
}

impl Expectation {
    /// # Errors
    /// The field that cannot be used, and why.
    pub fn compile(file: &ExpectationFile) -> Result<Self, (&'static str, String)> {
        let compiled = |field: &'static str, source: &str| {
            Expression::compile(source, &[OBJECT, OWNER]).map_err(|why| (field, why))
        };
        let pointer = file.field.clone().unwrap_or_default();
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let why = format!("{pointer:?}: write a JSON pointer, such as /spec/replicas");
            return Err(("field", why));
        }
        let what = match (&file.equals, &file.holds, &file.says) {
            (Some(_), None, None) if pointer.is_empty() => {
                return Err(("equals", "of what? add field, a JSON pointer".into()));
            }
            (Some(equals), None, None) => What::Equals {
                field: pointer,
                value: compiled("equals", equals)?,
            },
            (None, Some(holds), Some(says)) => What::Holds {
                condition: compiled("holds", holds)?,
                says: says.clone(),
                field: pointer,
            },
            (None, Some(_), None) => {
                let why = "add says, which a failure prints as expected";
                return Err(("holds", why.into()));
            }
            _ => {
                let why = "write field with equals, or holds with says";
                return Err(("field", why.into()));
            }
        };
        let rule = file.rule.clone();
        Ok(Expectation { rule, what })
    }

    /// Compares an object, whose owner is given, or itself where it has none.
    pub fn check(&self, object: &Value, owner: &Value) -> Check {
        let Some(rule) = &self.rule else {
            return self.what.check(object, owner);
        };
        self.what.check(object, owner).map_err(|mismatch| Mismatch {
            expected: format!(
                "{} (rule {rule:?}, from which a subject may deviate: `deviates` in its file)",
                mismatch.expected
            ),
            ..mismatch
        })
    }
}

impl What {
    fn check(&self, object: &Value, owner: &Value) -> Check {
        let variables = [(OBJECT, object), (OWNER, owner)];
        match self {
            What::Equals { field, value } => {
                let want = value.value(&variables).ok();
                let want = want.and_then(|value| value.json().ok());
                let seen = object.pointer(field).unwrap_or(&Value::Null);
                match want {
                    Some(want) if *seen == want => Ok(()),
                    want => Err(Mismatch {
                        expected: match want {
                            Some(want) => format!("{field} {want}"),
                            None => format!("{field} with a value that the object does not give"),
                        },
                        seen: seen.to_string(),
                    }),
                }
            }
            What::Holds {
                condition,
                says,
                field,
            } => match condition.value(&variables) {
                Ok(cel::Value::Bool(true)) => Ok(()),
                _ => Err(Mismatch {
                    expected: says.clone(),
                    seen: object.pointer(field).unwrap_or(&Value::Null).to_string(),
                }),
            },
        }
    }
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            What::Equals { field, .. } => write!(f, "Equals({field})"),
            What::Holds { says, .. } => write!(f, "Holds({says})"),
        }
    }
}

/// What somebody else's object keeps whatever a subject does. Status and resourceVersion are left out, because
/// the object's own controller changes them.
pub fn unchanged(object: &Value, before: &Value) -> Check {
    for pointer in [
        "/metadata/uid",
        "/metadata/generation",
        "/metadata/labels",
        "/metadata/ownerReferences",
        "/metadata/finalizers",
        "/metadata/deletionTimestamp",
        "/spec",
    ] {
        let want = before.pointer(pointer).unwrap_or(&Value::Null);
        let seen = object.pointer(pointer).unwrap_or(&Value::Null);
        if seen != want {
            return Err(Mismatch {
                expected: format!("{pointer} {want}"),
                seen: seen.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn expectation(text: &str) -> Result<Expectation, (&'static str, String)> {
        Expectation::compile(&toml::from_str(text).expect("TOML"))
    }

    #[test]
    fn a_mismatch_says_what_was_expected_and_what_is_there() {
        let owner =
            json!({"metadata": {"uid": "u"}, "spec": {"replicas": 2, "env": [{"name": "A"}]}});
        let child = json!({"spec": {"replicas": 1, "env": [{"name": "A"}]}});
        let replicas = "field = \"/spec/replicas\"\nequals = \"owner.spec.replicas\"\n";
        let mismatch = expectation(replicas).expect("valid").check(&child, &owner);
        let want = Mismatch {
            expected: "/spec/replicas 2".into(),
            seen: "1".into(),
        };
        assert_eq!(mismatch, Err(want));
        let env = "field = \"/spec/env\"\nequals = \"owner.spec.env\"\n";
        assert_eq!(
            expectation(env).expect("valid").check(&child, &owner),
            Ok(())
        );
        let held = "field = \"/spec\"\nholds = \"self.spec.absent\"\nsays = \"something\"\n";
        let mismatch = expectation(held).expect("valid").check(&child, &owner);
        assert_eq!(mismatch.expect_err("absent").expected, "something");
    }

    #[test]
    fn an_expectation_that_cannot_be_asked_names_its_field() {
        for (text, want) in [
            ("field = \"spec\"\nequals = \"1\"\n", "field"),
            ("equals = \"1\"\n", "equals"),
            ("field = \"/a\"\nequals = \"other.a\"\n", "equals"),
            ("holds = \"self.a ==\"\nsays = \"a\"\n", "holds"),
            ("holds = \"true\"\n", "holds"),
            ("field = \"/a\"\n", "field"),
        ] {
            let (field, _) = expectation(text).expect_err(text);
            assert_eq!(field, want, "{text}");
        }
    }

    #[test]
    fn a_status_update_of_its_own_controller_leaves_an_object_unchanged() {
        let before = json!({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"a": 1}});
        let mut after = before.clone();
        after["status"] = json!({"readyReplicas": 1});
        after["metadata"]["resourceVersion"] = json!("9");
        assert_eq!(unchanged(&after, &before), Ok(()));
        after["metadata"]["ownerReferences"] = json!([{"uid": "x"}]);
        assert!(unchanged(&after, &before).is_err());
    }
}
