//! The steps of the scenario: the requests that each sends and the outcome that it expects.
//!
//! Guarantees: a step's EdgeApps carry its name, so that a failure can be found in the logs; each
//! begins with an EdgeApp that has converged. Leaves to others: waiting (`session`), and the fields that
//! are compared (`expect`).

use http::Method;
use serde_json::{Value, json};

use crate::model::conformance::Failure;
use crate::model::conformance::Stepped;
use crate::model::conformance::step::Step;
use crate::run::conformance::expect;
use crate::run::conformance::expect::{Check, Mismatch};
use crate::run::conformance::failure;
use crate::run::conformance::objects;
use crate::run::conformance::objects::Kind;
use crate::run::conformance::session::Session;

/// Checks a child against its EdgeApp.
type Comparison = fn(&Value, &Value) -> Check;

/// An annotation that no subject writes.
const NOTE: &str = "example.com/note";

/// Takes one step.
pub async fn run(step: Step, session: &mut Session<'_>) -> Stepped {
    match step {
        // `Session::start` has done this step.
        Step::Start => Ok(()),
        Step::Create => create(session).await,
        Step::Scale => scale(session).await,
        Step::ChangeImage => change_image(session).await,
        Step::DropEnvVar => drop_env_var(session).await,
        Step::DeleteChild => delete_child(session).await,
        Step::EditChild => edit_child(session).await,
        Step::BadReplicas => bad_replicas(session).await,
        Step::Collision => collision(session).await,
        Step::Delete => delete(session).await,
        Step::Restart => restart(session).await,
    }
}

/// Creates an EdgeApp and waits until it has converged.
async fn created(session: &mut Session<'_>, name: &str) -> Result<Value, Failure> {
    session.create(Kind::EdgeApp, &objects::app(name)).await?;
    settled(session, name).await
}

/// Waits until status and children match the EdgeApp's spec.
async fn settled(session: &mut Session<'_>, name: &str) -> Result<Value, Failure> {
    let app = session
        .until(Kind::EdgeApp, name, expect::converged)
        .await?;
    // The status says Ready, so the children have to match at once.
    let comparisons: [(Kind, Comparison); 2] = [
        (Kind::Deployment, ready_deployment),
        (Kind::Service, expect::service),
    ];
    for (kind, compare) in comparisons {
        let child = session.get(kind, name).await?;
        let child = child.ok_or_else(|| {
            failure(
                &kind.of(name),
                "to be there while the EdgeApp is Ready",
                "no such object",
            )
        })?;
        compare(&child, &app).map_err(|mismatch| Failure {
            object: kind.of(name),
            expected: format!("{} while the EdgeApp is Ready", mismatch.expected),
            seen: mismatch.seen,
        })?;
    }
    Ok(app)
}

/// Checks that the Deployment matches and is ready: only then may the EdgeApp be Ready.
fn ready_deployment(object: &Value, app: &Value) -> Check {
    expect::deployment(object, app)?;
    expect::field(object, "/status/readyReplicas", &app["spec"]["replicas"])
}

async fn create(session: &mut Session<'_>) -> Stepped {
    created(session, "create").await.map(drop)
}

async fn scale(session: &mut Session<'_>) -> Stepped {
    created(session, "scale").await?;
    let more = json!({"spec": {"replicas": 3}});
    session.change(Kind::EdgeApp, "scale", &more).await?;
    settled(session, "scale").await.map(drop)
}

async fn change_image(session: &mut Session<'_>) -> Stepped {
    created(session, "change-image").await?;
    let newer = json!({"spec": {"image": "registry.example/conformance:2"}});
    session
        .change(Kind::EdgeApp, "change-image", &newer)
        .await?;
    settled(session, "change-image").await.map(drop)
}

async fn drop_env_var(session: &mut Session<'_>) -> Stepped {
    created(session, "drop-env-var").await?;
    let fewer = json!({"spec": {"env": [{"name": "STAYS", "value": "1"}]}});
    session
        .change(Kind::EdgeApp, "drop-env-var", &fewer)
        .await?;
    settled(session, "drop-env-var").await.map(drop)
}

async fn delete_child(session: &mut Session<'_>) -> Stepped {
    let name = "delete-child";
    let app = created(session, name).await?;
    let comparisons: [(Kind, Comparison); 2] = [
        (Kind::Service, expect::service),
        (Kind::Deployment, expect::deployment),
    ];
    for (kind, compare) in comparisons {
        let old = session.get(kind, name).await?.unwrap_or_default();
        session.delete(kind, name).await?;
        let is_new_and_planned = |child: &Value| {
            if child["metadata"]["uid"] == old["metadata"]["uid"] {
                return Err(Mismatch {
                    expected: "a new one in place of the deleted".into(),
                    seen: "the deleted one".into(),
                });
            }
            compare(child, &app)
        };
        session.until(kind, name, is_new_and_planned).await?;
    }
    session
        .until(Kind::EdgeApp, name, expect::converged)
        .await?;
    Ok(())
}

async fn edit_child(session: &mut Session<'_>) -> Stepped {
    let name = "edit-child";
    let app = created(session, name).await?;
    let noted = json!({"annotations": {NOTE: "theirs"}});
    let theirs =
        json!({"name": container(session, name).await?, "image": "registry.example/theirs:1"});
    let deployment = json!({
        "metadata": noted,
        "spec": {"replicas": 7, "template": {"spec": {"containers": [theirs]}}},
    });
    let service = json!({
        "metadata": noted,
        "spec": {"ports": [{"port": 80, "targetPort": 9999}]},
    });
    session.change(Kind::Deployment, name, &deployment).await?;
    session.change(Kind::Service, name, &service).await?;
    let note = format!("/metadata/annotations/{}", NOTE.replace('/', "~1"));
    for kind in [Kind::Deployment, Kind::Service] {
        let put_back = |child: &Value| match kind {
            Kind::Deployment => expect::deployment(child, &app),
            _ => expect::service(child, &app),
        };
        let child = session.until(kind, name, put_back).await?;
        expect::field(&child, &note, &json!("theirs")).map_err(|mismatch| Failure {
            object: kind.of(name),
            expected: format!("{} of another field manager to be left", mismatch.expected),
            seen: mismatch.seen,
        })?;
    }
    session
        .until(Kind::EdgeApp, name, expect::converged)
        .await?;
    Ok(())
}

/// The name that the subject gave the container: a strategic merge goes by it.
async fn container(session: &Session<'_>, name: &str) -> Result<Value, Failure> {
    let deployment = session
        .get(Kind::Deployment, name)
        .await?
        .unwrap_or_default();
    Ok(deployment["spec"]["template"]["spec"]["containers"][0]["name"].clone())
}

async fn bad_replicas(session: &mut Session<'_>) -> Stepped {
    let name = "bad-replicas";
    let app = created(session, name).await?;
    let deployment = session
        .get(Kind::Deployment, name)
        .await?
        .unwrap_or_default();
    let (collection, edge_app) = (Kind::EdgeApp.path(), Kind::EdgeApp.of(name));
    for replicas in [-1, 1001] {
        let change = json!({"spec": {"replicas": replicas}});
        let one = format!("{collection}/{name}");
        session
            .expect_rejection(Method::PATCH, &one, &edge_app, &change)
            .await?;
        let mut bad = objects::app("bad-replicas-new");
        bad["spec"]["replicas"] = json!(replicas);
        let new = Kind::EdgeApp.of("bad-replicas-new");
        session
            .expect_rejection(Method::POST, &collection, &new, &bad)
            .await?;
    }
    for (kind, before) in [(Kind::EdgeApp, &app), (Kind::Deployment, &deployment)] {
        let unchanged = |object: &Value| expect::untouched(object, before);
        session.until(kind, name, unchanged).await?;
    }
    Ok(())
}

async fn collision(session: &mut Session<'_>) -> Stepped {
    let name = "collision";
    let theirs = objects::foreign_deployment(name);
    let theirs = session.create(Kind::Deployment, &theirs).await?;
    let same = |child: &Value| expect::untouched(child, &theirs);
    session.create(Kind::EdgeApp, &objects::app(name)).await?;
    session.until(Kind::EdgeApp, name, expect::degraded).await?;
    session.until(Kind::Deployment, name, same).await?;
    session.delete(Kind::EdgeApp, name).await?;
    session.until_gone(Kind::EdgeApp, name).await?;
    session.until_gone(Kind::Service, name).await?;
    session.until(Kind::Deployment, name, same).await?;
    Ok(())
}

async fn delete(session: &mut Session<'_>) -> Stepped {
    let name = "delete";
    created(session, name).await?;
    session.delete(Kind::EdgeApp, name).await?;
    session.expect_gone(Kind::EdgeApp, name).await?;
    // By the garbage collector, which goes by their owner references.
    for kind in [Kind::Service, Kind::Deployment] {
        session.until_gone(kind, name).await?;
    }
    Ok(())
}

async fn restart(session: &mut Session<'_>) -> Stepped {
    const CHANGED: &str = "restart-changed";
    const LOST: &str = "restart-lost-child";
    const DELETED: &str = "restart-deleted";
    const NEW: &str = "restart-new";
    for name in [CHANGED, LOST, DELETED] {
        created(session, name).await?;
    }
    session.stop_subject().await?;
    let newer = json!({"spec": {"image": "registry.example/conformance:2"}});
    session.change(Kind::EdgeApp, CHANGED, &newer).await?;
    session.delete(Kind::Deployment, LOST).await?;
    session.delete(Kind::EdgeApp, DELETED).await?;
    session.expect_gone(Kind::EdgeApp, DELETED).await?;
    session.create(Kind::EdgeApp, &objects::app(NEW)).await?;
    session.start_subject().await?;
    settled(session, CHANGED).await?;
    settled(session, NEW).await?;
    for kind in [Kind::Service, Kind::Deployment] {
        session.until_gone(kind, DELETED).await?;
    }
    let app = session.get(Kind::EdgeApp, LOST).await?.unwrap_or_default();
    let is_planned = |child: &Value| expect::deployment(child, &app);
    session.until(Kind::Deployment, LOST, is_planned).await?;
    settled(session, LOST).await.map(drop)
}
