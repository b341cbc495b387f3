//! Create, read, update, delete, YAML and a CRD, on the simulated server.

use kubesim::{Options, RequestFault, Server};
use serde_json::{Value, json};

use super::terminal::Terminal;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pods/pods.yaml");
const NOTE: &str = include_str!("../../../examples/pods/note.yaml");

fn world() -> (Server, Terminal) {
    let server = Server::new(Options::default());
    let client = server.client("person");
    (server, Terminal { client })
}

#[tokio::test(start_paused = true)]
async fn pods_are_created_read_updated_and_deleted() {
    let (server, terminal) = world();
    let said = terminal.tries("get").await;
    assert_eq!(
        (said.out.as_str(), said.errors.as_str()),
        ("", "No resources found\n")
    );
    let created = terminal.types(&format!("create {MANIFEST}")).await;
    assert_eq!(created, "pod/hello created\npod/later created\n");
    let again = terminal.fails(&format!("create {MANIFEST}")).await;
    assert_eq!(again, "pods \"hello\" already exists");
    // How old they are depends on the machine; the columns have a test of their own (`table`).
    let table = terminal.types("get").await;
    let lines = table.lines().map(|line| {
        let words = line.split_whitespace().enumerate();
        let words = words.filter(|(column, _)| *column != 4);
        words.map(|(_, word)| word).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "NAME READY STATUS RESTARTS IP NODE NOMINATED NODE READINESS GATES",
            "hello 0/1 Pending 0 <none> <none> <none> <none>",
            "later 0/1 Pending 0 <none> <none> <none> <none>",
        ]
    );
    assert!(
        terminal
            .types("get later -o wide")
            .await
            .contains("\nlater   0/1 ")
    );
    assert!(
        terminal
            .types("get -A")
            .await
            .contains("\ndefault     hello   0/1 ")
    );
    assert_eq!(
        terminal.types("label hello tier=front").await,
        "pod/hello labeled\n"
    );
    let labels =
        |name: &str| server.object("pods", "default", name).unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels("hello"), json!({ "app": "hello", "tier": "front" }));
    terminal.types("label hello app-").await;
    assert_eq!(labels("hello"), json!({ "tier": "front" }));
    assert_eq!(
        terminal.types("delete hello").await,
        "pod \"hello\" deleted\n"
    );
    assert!(server.object("pods", "default", "hello").is_none());
    assert_eq!(
        terminal.fails("get hello").await,
        "pods \"hello\" not found"
    );
    assert_eq!(
        terminal.fails("delete hello").await,
        "pods \"hello\" not found"
    );
    assert_eq!(
        terminal.fails("get later -n nowhere").await,
        "pods \"later\" not found"
    );
}

#[tokio::test(start_paused = true)]
async fn an_update_that_meets_another_reads_again() {
    let (server, terminal) = world();
    terminal.types(&format!("create {MANIFEST}")).await;
    let conflict = |first: u64| {
        move |asked: &kubesim::RequestFacts<'_>| match (asked.verb, asked.nth) {
            ("update", nth) if nth < first => RequestFault::Status {
                code: 409,
                reason: "Conflict".to_owned(),
                message: "the object has been modified".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        }
    };
    server.faults().on_request(conflict(2));
    terminal.types("label hello tier=front").await;
    assert_eq!(server.requests().count("person", "update", "pods"), 3);
    assert_eq!(server.requests().count("person", "get", "pods"), 3);
    server.faults().on_request(conflict(u64::MAX));
    let error = terminal.fails("label hello tier=back").await;
    assert_eq!(
        error,
        "Pod \"hello\": changed by others 5 times in a row; try again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_finalizers_hold_is_not_called_deleted() {
    let (_server, terminal) = world();
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> =
        kube::Api::default_namespaced(terminal.client.clone());
    let held = json!({
        "metadata": { "name": "held", "finalizers": ["example.com/hold"] },
        "spec": { "containers": [{ "name": "a", "image": "a:1" }] },
    });
    let held = serde_json::from_value(held).unwrap();
    pods.create(&Default::default(), &held).await.unwrap();
    let error = terminal.fails("delete held").await;
    assert!(
        error.starts_with("Pod \"held\" is still there after 90 s"),
        "{error}"
    );
    assert!(terminal.types("get held").await.contains("Terminating"));
}

#[tokio::test(start_paused = true)]
async fn yaml_is_the_object_without_its_managed_fields() {
    let (server, terminal) = world();
    terminal.types(&format!("create {MANIFEST}")).await;
    let yaml = terminal.types("get hello -o yaml").await;
    assert!(
        yaml.starts_with("apiVersion: v1\nkind: Pod\nmetadata:\n"),
        "{yaml}"
    );
    let shown: Value = serde_saphyr::from_str(&yaml).unwrap();
    let mut stored = server.object("pods", "default", "hello").unwrap();
    let fields = stored["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    assert!(fields.is_some_and(|fields| fields[0]["operation"] == "Update"));
    assert_eq!(shown["metadata"]["uid"], stored["metadata"]["uid"]);
    assert_eq!(shown["metadata"].get("managedFields"), None);
    assert_eq!(shown["spec"], stored["spec"]);
    let both: Vec<Value> =
        serde_saphyr::from_multiple(&terminal.types("get -o yaml").await).unwrap();
    assert_eq!(both.len(), 2);
    // Selection was printed can be created again.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pods-again.yaml");
    std::fs::write(
        &file,
        yaml.replace("name: hello", "name: again")
            .replace("resourceVersion", "# "),
    )
    .unwrap();
    let created = terminal.types(&format!("create {}", file.display())).await;
    assert_eq!(created, "pod/again created\n");
}

#[tokio::test(start_paused = true)]
async fn a_crd_is_installed_from_its_type() {
    let (server, terminal) = world();
    for _ in 0..2 {
        assert_eq!(
            terminal.types("install").await,
            "notes.example.com is Established\n"
        );
    }
    let crd = server
        .object("customresourcedefinitions", "", "notes.example.com")
        .unwrap();
    let version = &crd["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!(schema["description"], "A note in the cluster.");
    let text = &schema["properties"]["spec"]["properties"]["text"];
    assert_eq!(text["description"], "Selection there is to remember.");
    assert_eq!(
        version["additionalPrinterColumns"][0]["jsonPath"],
        ".spec.text"
    );
    let note: super::example::install::Note = serde_saphyr::from_str(NOTE).unwrap();
    let notes: kube::Api<super::example::install::Note> =
        kube::Api::default_namespaced(terminal.client.clone());
    notes.create(&Default::default(), &note).await.unwrap();
    let empty = super::example::install::Note::new(
        "empty",
        super::example::install::NoteSpec {
            text: String::new(),
        },
    );
    let refused = notes.create(&Default::default(), &empty).await.unwrap_err();
    assert!(refused.to_string().contains("spec.text"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_none_is_named() {
    let (_server, terminal) = world();
    let error = terminal.fails("create /nowhere/pods.yaml").await;
    assert!(
        error.starts_with("/nowhere/pods.yaml: No such file"),
        "{error}"
    );
    let error = terminal
        .fails(&format!("create {}/Cargo.toml", env!("CARGO_MANIFEST_DIR")))
        .await;
    assert!(
        error.contains("Cargo.toml: not Pods in YAML") && !error.contains('\n'),
        "{error}"
    );
}
