//! A look at one object that has not converged, so that nobody has to guess what it waits for.
//!
//! Guarantees: reads only, with the deadlines of single requests, and says what could not be read. Leaves to others: when
//! it is taken, and where its lines go.

use serde_json::Value;

use crate::load::timeline::Timeline;
use crate::spec::subject::Convergence;
use crate::spec::workload::condition::Reading;
use crate::spec::workload::{Resource, Scenario};
use crate::target::cluster::Cluster;

/// Of a status, characters.
const STATUS: usize = 800;
/// Events that are told, the newest last.
const EVENTS: usize = 3;

/// The first object that the server has and that is not ready; its name, what is not met, its status and the Events about
/// it, a line each. Empty where there is none.
pub async fn lines(
    cluster: &Cluster,
    scenario: &Scenario,
    convergence: &Convergence,
    index: Option<usize>,
) -> Vec<String> {
    let Some(index) = index else {
        return Vec::new();
    };
    let part = scenario.part_of(index);
    let convergence = part.converged_by(convergence);
    let name = part.resource.object_name(index);
    at(cluster, &part.resource, convergence, &name).await
}

/// The same of the object of this name.
pub async fn at(
    cluster: &Cluster,
    resource: &Resource,
    convergence: &Convergence,
    name: &str,
) -> Vec<String> {
    let path = format!("{}/{name}", resource.path());
    let asked = cluster.get::<Value>(&path);
    let object = match asked.await {
        Ok(object) => object,
        Err(error) => return vec![format!("{name}: {}", error.words())],
    };
    let mut lines = vec![format!("{name}: {}", unmet(convergence, &object))];
    lines.push(match &object["status"] {
        Value::Null => format!("{name} has no status"),
        status => format!("its status: {}", shortened(&status.to_string())),
    });
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default");
    lines.extend(events(cluster, namespace, name).await);
    lines
}

/// The object that is looked at: the first that was made and is not ready.
pub fn first(timeline: &Timeline) -> Option<usize> {
    let mut objects = timeline.objects().iter();
    objects.position(|object| {
        object.acked_ns.is_some() && object.gone_ns.is_none() && object.ready_ns().is_none()
    })
}

/// What of its convergence an object does not meet.
fn unmet(convergence: &Convergence, object: &Value) -> String {
    let reading = match Reading::of(convergence) {
        Ok(reading) => reading,
        Err(error) => return error,
    };
    let mut unmet = Vec::new();
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    match (&reading.observed, &convergence.observed) {
        (Some(observed), Some(source)) if !observed.holds(object) => {
            unmet.push(format!("observed is not true: {source}"));
        }
        (Some(_), _) => {}
        _ => {
            let pointer = &convergence.observed_generation;
            match object.pointer(pointer) {
                None => unmet.push(format!("it has no {pointer}")),
                Some(observed) if observed.as_i64() < Some(generation) => unmet.push(format!(
                    "{pointer} is {observed}, its generation {generation}"
                )),
                Some(_) => {}
            }
        }
    }
    match (&reading.ready, &convergence.ready) {
        (Some(ready), Some(source)) if !ready.holds(object) => {
            unmet.push(format!("ready is not true: {source}"));
        }
        (Some(_), _) => {}
        _ => {
            let type_ = convergence.ready_condition.as_str();
            let conditions = object
                .pointer(&convergence.conditions)
                .and_then(Value::as_array);
            let mut conditions = conditions.into_iter().flatten();
            match conditions.find(|condition| condition["type"] == type_) {
                None => unmet.push(format!("it has no condition {type_}")),
                Some(condition) if condition["status"] != "True" => unmet.push(format!(
                    "condition {type_} is {}: {} {}",
                    text(&condition["status"]),
                    text(&condition["reason"]),
                    text(&condition["message"])
                )),
                Some(_) => {}
            }
        }
    }
    match unmet.is_empty() {
        true => "it is ready now, and was not when the wait ended".to_owned(),
        false => unmet.join("; "),
    }
}

/// The newest Events about an object.
async fn events(cluster: &Cluster, namespace: &str, name: &str) -> Vec<String> {
    let path = format!("/api/v1/namespaces/{namespace}/events?limit=500");
    let selected = format!("{path}&fieldSelector=involvedObject.name%3D{name}");
    let ask = async |path: &str| cluster.get::<Value>(path).await;
    let asked = match ask(&selected).await {
        // The simulated server selects by the name of the Event only.
        Err(error) if matches!(error.code(), Some(400 | 501)) => ask(&path).await,
        asked => asked,
    };
    let list = match asked {
        Ok(list) => list,
        Err(error) => return vec![format!("Events about it: {}", error.words())],
    };
    let all = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    told(all, name)
}

fn told(all: &[Value], name: &str) -> Vec<String> {
    let about = all
        .iter()
        .filter(|event| event["involvedObject"]["name"] == name);
    let mut about: Vec<&Value> = about.collect();
    let at = |event: &Value| {
        let times = ["lastTimestamp", "eventTime"].map(|field| text(&event[field]).to_owned());
        times.into_iter().max()
    };
    about.sort_by_key(|event| at(event));
    if about.is_empty() {
        return vec!["there is no Event about it".to_owned()];
    }
    let newest = about.into_iter().rev().take(EVENTS).rev();
    newest
        .map(|event| {
            let [type_, reason, message] =
                ["type", "reason", "message"].map(|field| text(&event[field]));
            format!("Event about it: {type_} {reason}: {}", shortened(message))
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(STATUS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_met_is_named() {
        let by_status = Convergence::default();
        let by_cel = Convergence {
            observed: Some("has(self.status)".to_owned()),
            ready: Some("self.status.phase == 'Bound'".to_owned()),
            ..Convergence::default()
        };
        let of =
            |status: Value| json!({"metadata": {"name": "a", "generation": 2}, "status": status});
        let ready = |status: &str| json!([{"type": "Ready", "status": status, "reason": "Why", "message": "so"}]);
        for (convergence, object, want) in [
            (
                &by_status,
                json!({"metadata": {}}),
                "it has no /status/observedGeneration; it has no condition Ready",
            ),
            (
                &by_status,
                of(json!({"observedGeneration": 1, "conditions": ready("False")})),
                "/status/observedGeneration is 1, its generation 2; condition Ready is False: Why so",
            ),
            (
                &by_status,
                of(json!({"conditions": ready("True")})),
                "it has no /status/observedGeneration",
            ),
            (
                &by_status,
                of(json!({"observedGeneration": 2, "conditions": ready("True")})),
                "it is ready now, and was not when the wait ended",
            ),
            (
                &by_cel,
                of(json!({"phase": "Pending"})),
                "ready is not true: self.status.phase == 'Bound'",
            ),
            (
                &by_cel,
                json!({"metadata": {}}),
                "observed is not true: has(self.status); ready is not true: self.status.phase == 'Bound'",
            ),
        ] {
            assert_eq!(unmet(convergence, &object), want, "{object}");
        }
    }

    #[test]
    fn the_newest_events_about_the_object_are_told() {
        let event = |name: &str, at: &str, reason: &str| {
            json!({"involvedObject": {"name": name}, "lastTimestamp": at, "type": "Warning",
                "reason": reason, "message": "m"})
        };
        let all = [
            event("a", "2026-01-01T00:00:09Z", "Last"),
            event("b", "2026-01-01T00:00:10Z", "Other"),
            event("a", "2026-01-01T00:00:01Z", "First"),
            event("a", "2026-01-01T00:00:02Z", "Second"),
            event("a", "2026-01-01T00:00:03Z", "Third"),
        ];
        let want = ["Second", "Third", "Last"];
        let want = want.map(|reason| format!("Event about it: Warning {reason}: m"));
        assert_eq!(told(&all, "a"), want);
        assert_eq!(told(&all, "c"), ["there is no Event about it"]);
        assert_eq!(
            shortened(&"é".repeat(STATUS + 1)),
            format!("{} …", "é".repeat(STATUS))
        );
    }
}
