//! The operator against an API server in process, on paused time.

use kube::Api;
use notes::{Note, NoteSpec, Notes};
use tare_runtime::prelude::*;
use tare_runtime::testing;

#[tokio::test(start_paused = true)]
async fn a_note_has_a_config_map_that_follows_its_text() {
    let server = kubesim::Server::new(kubesim::Options::default());
    server.install(&Program::of::<Note>("", "").crd()).expect("the CRD is installed");
    let _operator = testing::start(Notes, server.client("notes"));

    let notes = Api::<Note>::namespaced(server.client("user"), "default");
    let note = Note::new("hello", NoteSpec { text: "one".to_owned() });
    notes.create(&Default::default(), &note).await.expect("it is created");
    let has = |text: &str| {
        let maps = server.object("configmaps", "default", "hello");
        maps.is_some_and(|map| map["data"]["text"] == text)
    };
    testing::until("the ConfigMap has the text", async || has("one")).await;

    let patch = kube::api::Patch::Merge(json!({"spec": {"text": "two"}}));
    notes.patch("hello", &Default::default(), &patch).await.expect("it is patched");
    testing::until("the ConfigMap follows", async || has("two")).await;
}
