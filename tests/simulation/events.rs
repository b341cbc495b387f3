//! The events of a watch on their way: late, twice, merged, lost with their stream, or broken.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::client::Body;
use tokio::time::{sleep, timeout};

use crate::faults::Faults;
use crate::step::EventFault;
use crate::transport::{Answer, Error};

/// The longest that an event is on its way without a fault, ms, and that some are: watches overtake each other.
const LATENCY_MS: u64 = 30;
const LONG_LATENCY_MS: u64 = 400;

/// A watch that is carried on.
struct Events {
    body: Option<Body>,
    buffer: Vec<u8>,
    /// Whole lines that have arrived.
    lines: VecDeque<Vec<u8>>,
    resource: String,
    faults: Faults,
}

/// Carries the answer to a watch.
pub fn carry(body: Body, resource: String, faults: Faults) -> Answer {
    let events = Events {
        body: Some(body),
        buffer: Vec::new(),
        lines: VecDeque::new(),
        resource,
        faults,
    };
    let frames = futures::stream::unfold(events, |mut events| async move {
        let bytes = events.next().await?;
        let frame: Result<_, Error> = Ok(Frame::data(Bytes::from(bytes)));
        Some((frame, events))
    });
    StreamBody::new(frames).boxed_unsync()
}

impl Events {
    /// What arrives next; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut line = self.line().await?;
            if is_added(&line)
                && let Some((name, uid)) = identity(&line)
                && self.faults.lock().is_unshown(&self.resource, &name, &uid)
            {
                continue;
            }
            let is_bookmark = line.starts_with(b"{\"object\"") || find(&line, b"\"BOOKMARK\"");
            let (fault, latency_ms) = {
                let mut state = self.faults.lock();
                let longest_ms = match state.rng.one_in(6) {
                    true => LONG_LATENCY_MS,
                    false => LATENCY_MS,
                };
                let latency_ms = state.rng.below(longest_ms);
                let fault = match is_bookmark {
                    true => None,
                    false => state.of_event(&self.resource),
                };
                if let Some(fault) = fault {
                    state.note(format_args!("   event of {} {fault:?}", self.resource));
                }
                (fault, latency_ms)
            };
            sleep(Duration::from_millis(latency_ms)).await;
            match fault {
                None => return Some(line),
                Some(EventFault::Delay { ms }) => {
                    sleep(Duration::from_millis(ms)).await;
                    return Some(line);
                }
                Some(EventFault::Duplicate) => {
                    let again = line.clone();
                    line.extend_from_slice(&again);
                    return Some(line);
                }
                Some(EventFault::Close) => {
                    self.end();
                    return None;
                }
                Some(EventFault::Truncate) => {
                    self.end();
                    line.truncate(line.len() / 2);
                    return Some(line);
                }
                Some(EventFault::Garbage) => return Some(garbage(&line)),
                Some(EventFault::Stall) => std::future::pending().await,
                Some(EventFault::Error410) => {
                    self.end();
                    let status = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\
                        \"metadata\":{},\"status\":\"Failure\",\"message\":\"too old\",\"reason\":\"Expired\",\
                        \"code\":410}}\n";
                    return Some(status.as_bytes().to_vec());
                }
                Some(EventFault::Coalesce) => {
                    if let Some(line) = self.coalesced(line).await {
                        return Some(line);
                    }
                }
            }
        }
    }

    fn end(&mut self) {
        self.body = None;
        self.buffer.clear();
        self.lines.clear();
    }

    /// The next whole line with its end.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            let Some(Ok(frame)) = self.body.as_mut()?.frame().await else {
                self.body = None;
                return None;
            };
            self.buffer.extend_from_slice(frame.data_ref()?);
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.lines.push_back(line);
            }
        }
    }

    /// Waits for a change of the same object, which then takes the place of this one.
    async fn coalesced(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        let Ok(Some(next)) = timeout(Duration::from_millis(500), self.line()).await else {
            return Some(line);
        };
        let is_same = is_change(&line) && is_change(&next) && identity(&line) == identity(&next);
        self.lines.push_front(next);
        match is_same {
            true => None,
            false => Some(line),
        }
    }
}

fn is_added(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":\"ADDED\"")
}

fn is_change(line: &[u8]) -> bool {
    is_added(line) || line.starts_with(b"{\"type\":\"MODIFIED\"")
}

fn find(line: &[u8], what: &[u8]) -> bool {
    line.windows(what.len()).take(40).any(|part| part == what)
}

/// Name and uid.
fn identity(line: &[u8]) -> Option<(String, String)> {
    let event: serde_json::Value = serde_json::from_slice(line).ok()?;
    let metadata = &event["object"]["metadata"];
    let text = |field: &str| Some(metadata[field].as_str()?.to_owned());
    Some((text("name")?, text("uid")?))
}

/// Makes an object one that decodes as no type.
pub fn garble(object: &mut serde_json::Value) {
    object["metadata"]["ownerReferences"] = "none".into();
    object["metadata"]["finalizers"] = "none".into();
}

/// The event with an object that decodes as no type.
fn garbage(line: &[u8]) -> Vec<u8> {
    let Ok(mut event) = serde_json::from_slice::<serde_json::Value>(line) else {
        return line.to_vec();
    };
    garble(&mut event["object"]);
    let mut line = event.to_string().into_bytes();
    line.push(b'\n');
    line
}
