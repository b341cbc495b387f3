//! Commands in a container, over a WebSocket with the frames a kubelet sends: no container is run here
//! (that is [`super::node`]'s).

use std::sync::{Arc, Mutex};

use futures::{SinkExt, StreamExt};
use http::Uri;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::terminal::{Said, Terminal};

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;

/// Sends these frames to whoever executes something, then hangs up; keeps what was asked for.
async fn kubelet(frames: Vec<(u8, String)>) -> (Terminal, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server: Uri = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let asked = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&asked);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        #[allow(clippy::result_large_err)] // the type that the library asks for
        let greet = move |request: &Request, mut response: Response| {
            *heard.lock().unwrap() = request.uri().to_string();
            let protocol = "v5.channel.k8s.io".parse().unwrap();
            response
                .headers_mut()
                .insert("sec-websocket-protocol", protocol);
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(stream, greet).await;
        let (mut send, mut receive) = socket.unwrap().split();
        for (channel, text) in frames {
            let frame = [&[channel], text.as_bytes()].concat();
            send.send(Message::binary(frame)).await.unwrap();
        }
        send.close().await.unwrap();
        while let Some(Ok(_)) = receive.next().await {}
    });
    let client = Client::try_from(Config::new(server)).unwrap();
    (Terminal { client }, asked)
}

fn status(status: Value) -> (u8, String) {
    (STATUS, status.to_string())
}

fn failed(reason: &str, message: &str, causes: Value) -> (u8, String) {
    status(json!({
        "status": "Failure", "reason": reason, "message": message, "details": { "causes": causes },
    }))
}

#[tokio::test]
async fn both_outputs_are_printed_apart_and_as_they_come() {
    let long = "x".repeat(100_000);
    let (terminal, asked) = kubelet(vec![
        (STDOUT, "one\ntw".to_owned()),
        (STDERR, "careful\n".to_owned()),
        (STDOUT, "o\n".to_owned()),
        // More than any buffer on the way.
        (STDERR, long.clone()),
        status(json!({ "status": "Success", "metadata": {} })),
    ])
    .await;
    let said = terminal.tries("exec web -c app -- ls -l /").await;
    let want = Said {
        out: "one\ntwo\n".to_owned(),
        errors: format!("careful\n{long}"),
        end: Ok(0),
    };
    assert_eq!(said, want);
    let asked = asked.lock().unwrap();
    let (path, query) = asked.split_once('?').unwrap();
    assert_eq!(path, "/api/v1/namespaces/default/pods/web/exec");
    for part in ["stdout=true", "stderr=true", "container=app"] {
        assert!(query.split('&').any(|one| one == part), "{query}");
    }
    assert!(
        query.ends_with("command=ls&command=-l&command=%2F"),
        "{query}"
    );
}

#[tokio::test]
async fn its_exit_code_is_given_back() {
    let message = "command terminated with non-zero exit code: exit status 3";
    let causes = json!([{ "reason": "ExitCode", "message": "3" }]);
    let (terminal, _) = kubelet(vec![failed("NonZeroExitCode", message, causes)]).await;
    assert_eq!(terminal.tries("exec web -- false").await.end, Ok(3));
}

#[tokio::test]
async fn a_command_that_never_ran_is_an_error() {
    let message = "Internal error occurred: exec: \"nothing\": executable file not found in $PATH";
    let causes = json!([{ "message": "executable file not found" }]);
    let (terminal, _) = kubelet(vec![failed("InternalError", message, causes)]).await;
    assert_eq!(terminal.fails("exec web -- nothing").await, message);
}

#[tokio::test]
async fn a_lost_connection_is_no_success() {
    let (terminal, _) = kubelet(vec![(STDOUT, "half a li".to_owned())]).await;
    let said = terminal.tries("exec web -- cat /a").await;
    assert_eq!(said.out, "half a li");
    assert_eq!(said.end, Err("the connection was lost".to_owned()));
}
