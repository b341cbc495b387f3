//! Logs of Pods, with the lines that a test gives, served as `pods/NAME/log`.
//!
//! Guarantees: the container is chosen as kube-apiserver does, and a Pod without a node has no log
//! (v1.36.4, `pkg/registry/core/pod/strategy.go:LogLocation`). `follow` sends every later line once and in
//! order, and ends when the container has ended or the Pod is gone.
//! Not implemented (501): earlier runs of a container, times, limits in bytes, single streams. A
//! scheduled container that has not written anything has an empty log, whatever its state.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::api::call::Call;
use crate::model::record::Uid;
use crate::model::status::ApiError;
use crate::schema::field_error::FieldError;
use crate::state::{Inner, Served};

/// The options of a log request that mean something here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogOptions {
    container: String,
    follow: bool,
    tail_lines: Option<String>,
    /// One that is not implemented.
    other: Option<String>,
}

impl LogOptions {
    /// Takes a query parameter, if it is one of these.
    pub(crate) fn read(&mut self, key: &str, value: &str) {
        let is_set = !matches!(value, "" | "false" | "0");
        match key {
            "container" => value.clone_into(&mut self.container),
            "follow" => self.follow = is_set,
            "tailLines" if !value.is_empty() => self.tail_lines = Some(value.to_owned()),
            "stream" if is_set && value != "All" => self.other = Some(key.to_owned()),
            "previous" | "timestamps" | "sinceSeconds" | "sinceTime" | "limitBytes" if is_set => {
                self.other = Some(key.to_owned());
            }
            _ => {}
        }
    }

    fn tail(&self, pod: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = &self.tail_lines else {
            return Ok(None);
        };
        let count: i64 = text.parse().map_err(|_| {
            ApiError::bad_request(format!("tailLines: \"{text}\" is not a whole number"))
        })?;
        let count = u64::try_from(count).map_err(|_| negative_tail(pod, count))?;
        Ok(Some(count))
    }
}

/// As `ValidatePodLogOptions` has it.
fn negative_tail(pod: &str, count: i64) -> ApiError {
    let why = "must be greater than or equal to 0";
    let FieldError {
        kind,
        field,
        message,
    } = FieldError::invalid("tailLines", &json!(count), why);
    let text = format!("PodLogOptions \"{pod}\" is invalid: {field}: {message}");
    let cause = json!({"reason": kind, "message": message, "field": field});
    let mut error = ApiError::new(422, "Invalid", text);
    error.details = Some(json!({"name": pod, "kind": "PodLogOptions", "causes": [cause]}));
    error
}

/// Adds a line to the log of a container.
///
/// # Errors
/// Why the line is refused.
pub(crate) fn append(
    inner: &Inner,
    namespace: &str,
    pod: &str,
    container: &str,
    line: &str,
) -> Result<(), String> {
    let refused = |why: &str| format!("{namespace}/{pod} {container}: {why}");
    let served = inner.served("", "pods").ok_or(refused("no Pods here"))?;
    let key = served.kind.key(namespace, pod);
    let record = inner.store.get(served.table, &key);
    let record = record.ok_or(refused("no such Pod"))?;
    let object = record.object();
    choose_container(&object, pod, container).map_err(|error| refused(&error.message))?;
    if !is_scheduled(&object) {
        return Err(refused("nothing runs before spec.nodeName is set"));
    }
    if line.contains('\n') {
        return Err(refused("one line at a time"));
    }
    let id = (record.uid, container.to_owned());
    let mut logs = inner.logs.lock();
    if !logs.contains_key(&id) {
        // Logs of Pods that are gone are dropped when a new log begins.
        let state = inner.store.lock();
        logs.retain(|(uid, _), _| state.locate(*uid).is_some());
    }
    logs.entry(id).or_default().append(line);
    drop(logs);
    inner.logs.written.send_replace(());
    Ok(())
}

/// `GET pods/NAME/log`.
pub(crate) fn run(call: &Call<'_>) -> Result<Answer, ApiError> {
    let options = &call.query.log;
    if let Some(other) = &options.other {
        return Err(ApiError::not_implemented(&format!("{other} of pods/log")));
    }
    let tail = options.tail(call.name)?;
    let record = call.stored()?;
    let pod = record.object();
    let container = choose_container(&pod, call.name, &options.container)?;
    if !is_scheduled(&pod) {
        return Ok(Answer::Whole(204, Bytes::new()));
    }
    let id = (record.uid, container);
    let begin = match (tail, call.inner.logs.lock().get(&id)) {
        (Some(count), Some(log)) => log.end().saturating_sub(count),
        _ => 0,
    };
    let reader = Reader {
        inner: Arc::clone(call.inner),
        served: call.served.clone(),
        key: call.key(),
        id,
        position: begin,
        follow: options.follow,
    };
    Ok(Answer::Text(reader.chunks().boxed()))
}

fn is_scheduled(pod: &Value) -> bool {
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
    node.is_some_and(|node| !node.is_empty())
}

/// The container that is named, or the only one (`validateContainer`).
fn choose_container(pod: &Value, name: &str, wanted: &str) -> Result<String, ApiError> {
    let named = |list: &str| -> Vec<&str> {
        let containers = pod.pointer(list).and_then(Value::as_array);
        let names = containers.into_iter().flatten();
        names.filter_map(|one| one["name"].as_str()).collect()
    };
    let main = named("/spec/containers");
    let all = [
        named("/spec/initContainers"),
        main.clone(),
        named("/spec/ephemeralContainers"),
    ]
    .concat();
    match (wanted, main.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", _) => Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (wanted, _) if all.contains(&wanted) => Ok(wanted.to_owned()),
        (wanted, _) => Err(ApiError::bad_request(format!(
            "container {wanted} is not valid for pod {name}"
        ))),
    }
}

/// A log being read.
struct Reader {
    inner: Arc<Inner>,
    served: Served,
    key: String,
    id: (Uid, String),
    /// Lines before this have been read.
    position: u64,
    follow: bool,
}

impl Reader {
    fn chunks(self) -> impl futures::Stream<Item = Bytes> + Send {
        let pods = self.inner.store.subscribe(self.served.table);
        let signals = pods.map(|pods| {
            let written = self.inner.logs.written.subscribe();
            (written, pods, self.inner.cut.subscribe())
        });
        futures::stream::unfold((self, signals), |(mut reader, mut signals)| async move {
            let (written, pods, cut) = signals.as_mut()?;
            loop {
                // Read before the lines: what is written last is still sent.
                let at_end = !reader.follow || reader.has_ended();
                written.mark_unchanged();
                if let Some(text) = reader.read() {
                    return Some((text, (reader, signals)));
                }
                if at_end {
                    return None;
                }
                tokio::select! {
                    _ = written.changed() => {}
                    changed = pods.changed() => changed.ok()?,
                    _ = cut.changed() => return None,
                }
            }
        })
    }

    fn read(&mut self) -> Option<Bytes> {
        let logs = self.inner.logs.lock();
        let log = logs.get(&self.id).filter(|log| log.end() > self.position)?;
        let text = log.text_from(self.position);
        self.position = log.end();
        Some(Bytes::from(text))
    }

    /// Has the container ended, or the Pod gone?
    fn has_ended(&self) -> bool {
        let record = self.inner.store.get(self.served.table, &self.key);
        let Some(record) = record.filter(|record| record.uid == self.id.0) else {
            return true;
        };
        let pod = record.object();
        if matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        ) {
            return true;
        }
        let lists = ["initContainerStatuses", "containerStatuses"];
        let mut statuses = lists
            .iter()
            .filter_map(|list| pod["status"][*list].as_array())
            .flatten();
        statuses
            .any(|one| one["name"] == self.id.1.as_str() && !one["state"]["terminated"].is_null())
    }
}
