//! The readiness model: what the deployment controller, a scheduler and nodes would make of a
//! Deployment.
//!
//! Guarantees: a pure function, the same for this server and for an agent that stands in for
//! nodes beside a real one; a condition's `lastTransitionTime` moves with its `status` only.
//! Leaves to others: when it is written, and that it is written only where it differs
//! ([`Observed::differs`]).

use serde_json::{Value, json};

/// What a Deployment's status follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub name: String,
    pub generation: i64,
    pub replicas: i64,
    /// The status as it is; `Null` where there is none.
    pub status: Value,
}

impl Observed {
    /// The status that belongs to the spec; `now` is RFC 3339.
    pub fn wanted(&self, ready: bool, now: &str) -> Value {
        let all = ready || self.replicas == 0;
        let mut status = json!({
            "observedGeneration": self.generation,
            "conditions": [self.available(all, now), self.progressing(all, now)],
        });
        // Zeroes are left out, as Go's omitempty does.
        let mut count = |field: &str, n: i64| {
            if n > 0 {
                status[field] = json!(n);
            }
        };
        count("replicas", self.replicas);
        count("updatedReplicas", self.replicas);
        if all {
            count("readyReplicas", self.replicas);
            count("availableReplicas", self.replicas);
        } else {
            count("unavailableReplicas", self.replicas);
        }
        status
    }

    fn available(&self, all: bool, now: &str) -> Value {
        let (status, reason, message) = if all {
            (
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        self.condition("Available", status, reason, message, now)
    }

    fn progressing(&self, all: bool, now: &str) -> Value {
        let name = &self.name;
        let (reason, message) = if all {
            (
                "NewReplicaSetAvailable",
                format!("ReplicaSet \"{name}\" has successfully progressed."),
            )
        } else {
            (
                "ReplicaSetUpdated",
                format!("ReplicaSet \"{name}\" is progressing."),
            )
        };
        self.condition("Progressing", "True", reason, &message, now)
    }

    fn condition(&self, kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
        let before = self.conditions().find(|it| text(it, "type") == kind);
        let transition = before
            .filter(|it| text(it, "status") == status)
            .and_then(|it| it.get("lastTransitionTime").cloned())
            .unwrap_or(json!(now));
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": transition,
        })
    }

    fn conditions(&self) -> impl Iterator<Item = &Value> {
        let conditions = self.status.get("conditions").and_then(Value::as_array);
        conditions.into_iter().flatten()
    }

    /// Whether the wanted status differs from the one that is there, times aside.
    pub fn differs(&self, wanted: &Value) -> bool {
        let timeless = |status: &Value| {
            let mut status = status.clone();
            let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
            for condition in conditions.into_iter().flatten() {
                if let Some(fields) = condition.as_object_mut() {
                    fields.retain(|field, _| !field.ends_with("Time"));
                }
            }
            status
        };
        timeless(&self.status) != timeless(wanted)
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(generation: i64, replicas: i64, status: Value) -> Observed {
        Observed {
            name: "web".to_owned(),
            generation,
            replicas,
            status,
        }
    }

    #[test]
    fn a_status_is_written_once_for_each_change_of_the_spec() {
        let first = observed(1, 2, Value::Null).wanted(true, "T1");
        let cases = [
            ("no status", observed(1, 2, Value::Null), true),
            ("its own echo", observed(1, 2, first.clone()), false),
            ("a template change", observed(2, 2, first.clone()), true),
            ("scaled", observed(1, 3, first.clone()), true),
            ("scaled to zero", observed(1, 0, first.clone()), true),
        ];
        for (name, now, want) in cases {
            assert_eq!(now.differs(&now.wanted(true, "T2")), want, "{name}");
        }
    }

    #[test]
    fn transitions_keep_their_time() {
        let time = |status: &Value, field: &str| status["conditions"][0][field].clone();
        let unready = observed(1, 2, Value::Null).wanted(false, "T1");
        assert_eq!(unready["unavailableReplicas"], 2);
        let ready = observed(1, 2, unready).wanted(true, "T2");
        assert_eq!(time(&ready, "lastTransitionTime"), "T2");
        assert_eq!(ready.get("unavailableReplicas"), None);
        assert_eq!(ready["readyReplicas"], 2);
        let scaled = observed(2, 3, ready).wanted(true, "T3");
        assert_eq!(time(&scaled, "lastTransitionTime"), "T2");
        assert_eq!(time(&scaled, "lastUpdateTime"), "T3");
    }
}
