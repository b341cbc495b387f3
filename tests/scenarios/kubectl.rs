//! EdgeApps through kubectl: commands that a user types, and their output.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::plane::PERSON;

const WEB: &str = "
apiVersion: tare.dev/v1alpha1
kind: EdgeApp
metadata: {name: web}
spec:
  image: registry.local/web:1.4
  port: 8080
  env:
  - {name: MODE, value: fast}
  resources:
    limits: {memory: 64Mi}
";

const TAKEN: &str = "
apiVersion: tare.dev/v1alpha1
kind: EdgeApp
metadata: {name: taken}
spec: {image: \"registry.local/web:1.4\"}
";

pub async fn in_the_hands_of_kubectl(cluster: Cluster) {
    let operator = cluster.operate().await;
    let person = Person::at(&cluster).await;
    person.writes("web.yaml", WEB);
    person
        .types("apply -f web.yaml")
        .says("edgeapp.tare.dev/web created");
    person
        .types("wait ea/web --for=condition=Ready --timeout=60s")
        .says("edgeapp.tare.dev/web condition met");
    // The operator has added a finalizer and a status; applying again must not report a change.
    person
        .types("apply -f web.yaml")
        .says("edgeapp.tare.dev/web unchanged");
    person.types("diff -f web.yaml").says_nothing();
    person.looks_around(&cluster);
    person
        .types("scale ea/web --replicas=3")
        .says("edgeapp.tare.dev/web scaled");
    person
        .types("wait ea/web --for=jsonpath={.status.readyReplicas}=3 --timeout=60s")
        .says("edgeapp.tare.dev/web condition met");

    // A Deployment of that name exists and belongs to somebody else.
    person
        .types("create deployment taken --image=registry.local/other:1")
        .says("deployment.apps/taken created");
    person.writes("taken.yaml", TAKEN);
    person.types("apply -f taken.yaml").says("created");
    person
        .types("wait ea/taken --for=condition=Degraded --timeout=60s")
        .says("edgeapp.tare.dev/taken condition met");
    let told = |events: &Value| {
        events["items"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    };
    cluster.until("there is an Event", "events", "", told).await;
    let why = "Deployment \"taken\" was not made by this operator; \
               rename the EdgeApp or remove that Deployment";
    let described = person.types("describe ea taken");
    described.has_row("Reason: Collision");
    described.has_row(&format!("Message: {why}"));
    described.has_row(&format!("Warning Collision * tare {why}"));

    let deleted = person.types("delete ea --all --timeout=60s");
    deleted.says("edgeapp.tare.dev \"web\" deleted");
    deleted.says("edgeapp.tare.dev \"taken\" deleted");
    person.types("get ea").says("No resources found");
    let left = person.types("get deployment,service -o name");
    assert_eq!(left.said, "deployment.apps/taken\n", "ours are gone");
    operator.terminate().await;
    cluster.end().await;
}

/// A user at a terminal, with a folder of their own.
pub struct Person {
    kubectl: PathBuf,
    dir: PathBuf,
    environment: Vec<(String, String)>,
    /// The namespace of every command, if one is set.
    namespace: Option<String>,
}

/// A command and its output.
pub struct Answer {
    line: String,
    pub said: String,
}

impl Person {
    async fn at(cluster: &Cluster) -> Person {
        Person {
            namespace: Some(cluster.namespace.clone()),
            ..Person::administrator(cluster).await
        }
    }

    /// A person who gives the namespace in each command.
    pub async fn administrator(cluster: &Cluster) -> Person {
        Person {
            kubectl: cluster.as_real().plane.kubectl.clone().expect("kubectl"),
            dir: cluster.as_real().plane.folder(&cluster.namespace),
            environment: cluster.as_real().plane.environment(PERSON).await,
            namespace: None,
        }
    }

    pub fn writes(&self, file: &str, text: &str) {
        std::fs::write(self.dir.join(file), text).expect("write a file");
    }

    /// Runs a kubectl command, which has to succeed.
    pub fn types(&self, line: &str) -> Answer {
        let mut command = Command::new(&self.kubectl);
        if let Some(namespace) = &self.namespace {
            command.args(["--namespace", namespace]);
        }
        command.args(line.split_whitespace());
        self.does(command, &format!("kubectl {line}"))
    }

    /// Runs lines of shell, which have to succeed.
    pub fn runs(&self, lines: &str) -> Answer {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", lines]);
        self.does(command, lines)
    }

    fn does(&self, mut command: Command, line: &str) -> Answer {
        // kubectl needs `diff` on the path, and the shell needs kubectl.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let ours = self.kubectl.parent().map(PathBuf::from);
        let path = std::env::join_paths(ours.into_iter().chain(std::env::split_paths(&path)));
        let output = command
            .current_dir(&self.dir)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .env("PATH", path.expect("folders without colons"))
            .output()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        Answer {
            line: line.to_owned(),
            said,
        }
    }

    /// Tables and explanations of an EdgeApp `web` that is Running.
    fn looks_around(&self, cluster: &Cluster) {
        let table = self.types("get ea");
        table.has_row("NAME PHASE READY REPLICAS AGE");
        table.has_row("web Running 1 1 *");
        let wide = self.types("get ea -o wide");
        wide.has_row("NAME PHASE READY REPLICAS IMAGE ENDPOINT AGE");
        let endpoint = format!("web.{}.svc:80", cluster.namespace);
        wide.has_row(&format!(
            "web Running 1 1 registry.local/web:1.4 {endpoint} *"
        ));
        let explained = self.types("explain ea.spec");
        explained.has_row("What the application should be.");
        explained.has_row("image <string> -required-");
        explained.has_row("How many pods run. 0 keeps the Deployment and stops its pods.");
        self.types("explain ea.spec.env.value")
            .has_row("Its value; `$(OTHER)` refers to an earlier variable.");
        let children = self.types("get deployment,service -l tare.dev/owner=web -o name");
        assert_eq!(children.said, "deployment.apps/web\nservice/web\n");
    }
}

impl Answer {
    pub fn says(&self, wanted: &str) {
        assert!(self.said.contains(wanted), "{}: {}", self.line, self.said);
    }

    fn says_nothing(&self) {
        assert_eq!(self.said, "", "{}", self.line);
    }

    /// Some line of the output consists of these words in this order; `*` stands for any one word.
    fn has_row(&self, wanted: &str) {
        let wanted: Vec<&str> = wanted.split(' ').collect();
        let is_wanted = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let same = |(word, want): (&&str, &&str)| *want == "*" || word == want;
            words.len() == wanted.len() && words.iter().zip(&wanted).all(same)
        };
        let found = self.said.lines().any(is_wanted);
        assert!(found, "{}: no {wanted:?} in\n{}", self.line, self.said);
    }
}
