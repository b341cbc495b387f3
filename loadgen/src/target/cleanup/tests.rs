//! What is found, and what is said of it.

use crate::target::cleanup::*;

fn found(deleting: bool, finalizers: &[&str]) -> Found {
    Found {
        deletion_timestamp: deleting.then(|| "2026-11-21T00:00:00Z".into()),
        finalizers: finalizers.iter().map(|f| (*f).to_owned()).collect(),
        ..Found::default()
    }
}

#[test]
fn what_holds_objects_up_is_named() {
    let held = [
        found(false, &["a/b"]),
        found(true, &["tare.dev/cleanup"]),
        found(true, &[]),
    ];
    let said = held_up(&held).expect("one is held");
    assert!(
        said.starts_with("1 wait for their finalizer tare.dev/cleanup:"),
        "{said}"
    );
    assert_eq!(held_up(&[found(true, &[])]), None);
}

#[test]
fn bystanders_of_a_run_go_with_their_namespace() {
    let metadata = |labels: &str| {
        let text = format!(r#"{{"name": "shop", "labels": {{{labels}}}}}"#);
        serde_json::from_str::<Found>(&text).expect("metadata")
    };
    let run = r#""loadgen.tare.dev/run": "3f9c1b", "app": "shop""#;
    assert_eq!(metadata("").run(), "");
    assert_eq!(metadata(run).run(), "3f9c1b");
    assert_eq!(metadata(run).others(), "");
    let want = "labelSelector=loadgen.tare.dev%2Frun%21%3D3f9c1b&";
    let beside = format!(r#"{run}, "loadgen.tare.dev/bystanders": "true""#);
    assert_eq!(metadata(&beside).others(), want);
}

#[test]
fn a_scope_is_a_path_and_a_selector() {
    let resource = crate::spec::workload::default()
        .expect("valid")
        .scenario
        .resource;
    let all = Scope {
        resource: &resource,
        made: Made::Offered,
        stall: Duration::ZERO,
        namespace: None,
        run: None,
    };
    let one = Scope {
        namespace: Some("shop"),
        run: Some("3f9c1b"),
        ..all
    };
    assert_eq!(all.collection(), resource.path_everywhere());
    let offered = "labelSelector=loadgen.tare.dev%2Frun%2C%21loadgen.tare.dev%2Ffixture&";
    assert_eq!(all.selector(), offered);
    assert_eq!(
        one.collection(),
        resource.path().replace("/edge/", "/shop/")
    );
    let of_run = "labelSelector=loadgen.tare.dev%2Frun%3D3f9c1b%2C%21loadgen.tare.dev%2Ffixture&";
    assert_eq!(one.selector(), of_run);
    let fixtures = one.of_fixture(&resource);
    assert_eq!(fixtures.selector(), of_run.replace("%21", ""));
    assert_eq!(fixtures.namespace, Some("edge"));
}
