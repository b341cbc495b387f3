//! API servers that answer from memory, so that nothing but the operator's own work is measured.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// A server on which every watch shows the same event over and over.
pub fn endless_watch(event: &Value) -> Client {
    let line = Bytes::from(format!("{event}\n"));
    let service = tower::service_fn(move |_: Request<Body>| {
        let line = line.clone();
        let frames =
            futures::stream::repeat_with(move || Ok::<_, Infallible>(Frame::data(line.clone())));
        async move { Ok::<_, Infallible>(Response::new(StreamBody::new(frames))) }
    });
    Client::new(service, "default")
}

/// A server that asks `behind` once for each page, and then answers from memory.
pub fn remembering(behind: Client) -> Client {
    let answers: Arc<Mutex<HashMap<String, Bytes>>> = Arc::default();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answers, behind) = (Arc::clone(&answers), behind.clone());
        async move {
            let uri = request.uri().to_string();
            let known = answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&uri)
                .cloned();
            let answer = match known {
                Some(answer) => answer,
                None => {
                    let answer = behind
                        .send(request)
                        .await?
                        .into_body()
                        .collect()
                        .await?
                        .to_bytes();
                    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                    answers.insert(uri, answer.clone());
                    answer
                }
            };
            Ok::<_, kube::Error>(Response::new(Full::new(answer)))
        }
    });
    Client::new(service, "default")
}
