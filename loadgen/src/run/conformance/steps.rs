//! What each step does and what it expects.
//!
//! Guarantees: a step's EdgeApps carry its name, so that a failure can be found in the logs; each
//! begins with an EdgeApp that has converged. Leaves to others: waiting (`stage`), and what planned
//! looks like (`expect`).

use http::Method;
use serde_json::{Value, json};

use crate::model::conformance::Failure;
use crate::run::conformance::expect;
use crate::run::conformance::expect::{Check, Mismatch};
use crate::run::conformance::objects;
use crate::run::conformance::objects::Kind;
use crate::run::conformance::stage::Stage;
use crate::run::conformance::step::Step;
use crate::run::conformance::{Stepped, trouble};

/// What a child has to be, given its EdgeApp.
type Look = fn(&Value, &Value) -> Check;

/// An annotation that no plan has.
const NOTE: &str = "example.com/note";

/// Takes one step.
pub async fn run(step: Step, stage: &mut Stage<'_>) -> Stepped {
    match step {
        // Done when the stage is set.
        Step::Start => Ok(()),
        Step::Create => create(stage).await,
        Step::Scale => scale(stage).await,
        Step::ChangeImage => change_image(stage).await,
        Step::DropEnvVar => drop_env_var(stage).await,
        Step::DeleteChild => delete_child(stage).await,
        Step::EditChild => edit_child(stage).await,
        Step::BadReplicas => bad_replicas(stage).await,
        Step::Collision => collision(stage).await,
        Step::Delete => delete(stage).await,
        Step::Restart => restart(stage).await,
    }
}

/// An EdgeApp that was created and has converged, with its children.
async fn created(stage: &mut Stage<'_>, name: &str) -> Result<Value, Failure> {
    stage.create(Kind::EdgeApp, &objects::app(name)).await?;
    settled(stage, name).await
}

/// Waits until status and children are what the EdgeApp asks for.
async fn settled(stage: &mut Stage<'_>, name: &str) -> Result<Value, Failure> {
    let app = stage.until(Kind::EdgeApp, name, expect::converged).await?;
    // From here on the children have to be right: the status says that they are.
    let looks: [(Kind, Look); 2] = [
        (Kind::Deployment, ready_deployment),
        (Kind::Service, expect::service),
    ];
    for (kind, look) in looks {
        let child = stage.get(kind, name).await?;
        let child = child.ok_or_else(|| {
            trouble(
                &kind.of(name),
                "to be there while the EdgeApp is Ready",
                "no such object",
            )
        })?;
        look(&child, &app).map_err(|mismatch| Failure {
            object: kind.of(name),
            expected: format!("{} while the EdgeApp is Ready", mismatch.expected),
            seen: mismatch.seen,
        })?;
    }
    Ok(app)
}

/// As planned, and ready: an EdgeApp is Ready once its Deployment is.
fn ready_deployment(object: &Value, app: &Value) -> Check {
    expect::deployment(object, app)?;
    expect::field(object, "/status/readyReplicas", &app["spec"]["replicas"])
}

async fn create(stage: &mut Stage<'_>) -> Stepped {
    created(stage, "create").await.map(drop)
}

async fn scale(stage: &mut Stage<'_>) -> Stepped {
    created(stage, "scale").await?;
    let more = json!({"spec": {"replicas": 3}});
    stage.change(Kind::EdgeApp, "scale", &more).await?;
    settled(stage, "scale").await.map(drop)
}

async fn change_image(stage: &mut Stage<'_>) -> Stepped {
    created(stage, "change-image").await?;
    let newer = json!({"spec": {"image": "registry.example/conformance:2"}});
    stage.change(Kind::EdgeApp, "change-image", &newer).await?;
    settled(stage, "change-image").await.map(drop)
}

async fn drop_env_var(stage: &mut Stage<'_>) -> Stepped {
    created(stage, "drop-env-var").await?;
    let fewer = json!({"spec": {"env": [{"name": "STAYS", "value": "1"}]}});
    stage.change(Kind::EdgeApp, "drop-env-var", &fewer).await?;
    settled(stage, "drop-env-var").await.map(drop)
}

async fn delete_child(stage: &mut Stage<'_>) -> Stepped {
    let name = "delete-child";
    let app = created(stage, name).await?;
    let looks: [(Kind, Look); 2] = [
        (Kind::Service, expect::service),
        (Kind::Deployment, expect::deployment),
    ];
    for (kind, look) in looks {
        let old = stage.get(kind, name).await?.unwrap_or_default();
        stage.delete(kind, name).await?;
        let is_new_and_planned = |child: &Value| {
            if child["metadata"]["uid"] == old["metadata"]["uid"] {
                return Err(Mismatch {
                    expected: "a new one in place of the deleted".into(),
                    seen: "the deleted one".into(),
                });
            }
            look(child, &app)
        };
        stage.until(kind, name, is_new_and_planned).await?;
    }
    stage.until(Kind::EdgeApp, name, expect::converged).await?;
    Ok(())
}

async fn edit_child(stage: &mut Stage<'_>) -> Stepped {
    let name = "edit-child";
    let app = created(stage, name).await?;
    let noted = json!({"annotations": {NOTE: "theirs"}});
    let theirs =
        json!({"name": container(stage, name).await?, "image": "registry.example/theirs:1"});
    let deployment = json!({
        "metadata": noted,
        "spec": {"replicas": 7, "template": {"spec": {"containers": [theirs]}}},
    });
    let service = json!({
        "metadata": noted,
        "spec": {"ports": [{"port": 80, "targetPort": 9999}]},
    });
    stage.change(Kind::Deployment, name, &deployment).await?;
    stage.change(Kind::Service, name, &service).await?;
    let note = format!("/metadata/annotations/{}", NOTE.replace('/', "~1"));
    for kind in [Kind::Deployment, Kind::Service] {
        let put_back = |child: &Value| match kind {
            Kind::Deployment => expect::deployment(child, &app),
            _ => expect::service(child, &app),
        };
        let child = stage.until(kind, name, put_back).await?;
        expect::field(&child, &note, &json!("theirs")).map_err(|mismatch| Failure {
            object: kind.of(name),
            expected: format!("{} of another field manager to be left", mismatch.expected),
            seen: mismatch.seen,
        })?;
    }
    stage.until(Kind::EdgeApp, name, expect::converged).await?;
    Ok(())
}

/// The name that the subject gave the container: a strategic merge goes by it.
async fn container(stage: &Stage<'_>, name: &str) -> Result<Value, Failure> {
    let deployment = stage.get(Kind::Deployment, name).await?.unwrap_or_default();
    Ok(deployment["spec"]["template"]["spec"]["containers"][0]["name"].clone())
}

async fn bad_replicas(stage: &mut Stage<'_>) -> Stepped {
    let name = "bad-replicas";
    let app = created(stage, name).await?;
    let deployment = stage.get(Kind::Deployment, name).await?.unwrap_or_default();
    let (collection, edge_app) = (Kind::EdgeApp.path(), Kind::EdgeApp.of(name));
    for replicas in [-1, 1001] {
        let change = json!({"spec": {"replicas": replicas}});
        let one = format!("{collection}/{name}");
        stage
            .refused(Method::PATCH, &one, &edge_app, &change)
            .await?;
        let mut bad = objects::app("bad-replicas-new");
        bad["spec"]["replicas"] = json!(replicas);
        let new = Kind::EdgeApp.of("bad-replicas-new");
        stage.refused(Method::POST, &collection, &new, &bad).await?;
    }
    for (kind, before) in [(Kind::EdgeApp, &app), (Kind::Deployment, &deployment)] {
        let unchanged = |object: &Value| expect::untouched(object, before);
        stage.until(kind, name, unchanged).await?;
    }
    Ok(())
}

async fn collision(stage: &mut Stage<'_>) -> Stepped {
    let name = "collision";
    let theirs = objects::foreign_deployment(name);
    let theirs = stage.create(Kind::Deployment, &theirs).await?;
    let same = |child: &Value| expect::untouched(child, &theirs);
    stage.create(Kind::EdgeApp, &objects::app(name)).await?;
    stage.until(Kind::EdgeApp, name, expect::degraded).await?;
    stage.until(Kind::Deployment, name, same).await?;
    stage.delete(Kind::EdgeApp, name).await?;
    stage.until_gone(Kind::EdgeApp, name).await?;
    stage.until_gone(Kind::Service, name).await?;
    stage.until(Kind::Deployment, name, same).await?;
    Ok(())
}

async fn delete(stage: &mut Stage<'_>) -> Stepped {
    let name = "delete";
    let app = created(stage, name).await?;
    let since = app["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    stage.delete(Kind::EdgeApp, name).await?;
    // Revisions order the two deletions, however late they are looked at.
    let service = stage.deletion(Kind::Service, name, &since);
    let deployment = stage.deletion(Kind::Deployment, name, &since);
    let (service, deployment) = futures::try_join!(service, deployment)?;
    if service > deployment {
        return Err(trouble(
            &Kind::Service.of(name),
            "to be deleted before the Deployment, so that traffic drains",
            format!("revision {service}, the Deployment's was {deployment}"),
        ));
    }
    for kind in [Kind::EdgeApp, Kind::Service, Kind::Deployment] {
        stage.until_gone(kind, name).await?;
    }
    Ok(())
}

async fn restart(stage: &mut Stage<'_>) -> Stepped {
    const CHANGED: &str = "restart-changed";
    const LOST: &str = "restart-lost-child";
    const DELETED: &str = "restart-deleted";
    const NEW: &str = "restart-new";
    for name in [CHANGED, LOST, DELETED] {
        created(stage, name).await?;
    }
    stage.stop_subject().await?;
    let newer = json!({"spec": {"image": "registry.example/conformance:2"}});
    stage.change(Kind::EdgeApp, CHANGED, &newer).await?;
    stage.delete(Kind::Deployment, LOST).await?;
    stage.delete(Kind::EdgeApp, DELETED).await?;
    stage.create(Kind::EdgeApp, &objects::app(NEW)).await?;
    stage.start_subject().await?;
    settled(stage, CHANGED).await?;
    settled(stage, NEW).await?;
    for kind in [Kind::EdgeApp, Kind::Service, Kind::Deployment] {
        stage.until_gone(kind, DELETED).await?;
    }
    let app = stage.get(Kind::EdgeApp, LOST).await?.unwrap_or_default();
    let is_planned = |child: &Value| expect::deployment(child, &app);
    stage.until(Kind::Deployment, LOST, is_planned).await?;
    settled(stage, LOST).await.map(drop)
}
