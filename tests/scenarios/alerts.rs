//! The alerts and the dashboard against a live `/metrics`.
//!
//! Guarantees: every expression is PromQL; every metric and label that it names is on a line that an
//! operator at work has written, or is a label that Prometheus itself adds when it scrapes.
//! Leaves to others: whether the limits are wise; the names in documents (`tests/repository/deploy.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use promql_parser::label::Labels;
use promql_parser::parser::{self, Expr, VectorSelector};
use promql_parser::util::{ExprVisitor, walk_expr};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::objects::{foreign_deployment, web};

const RULES: &str = include_str!("../../deploy/components/alerts/rules.yaml");
const DASHBOARD: &str = include_str!("../../deploy/components/dashboard/tare.json");

/// What Prometheus adds to every line of a target.
const SCRAPED: [&str; 2] = ["instance", "job"];

pub async fn alerts_and_dashboard_speak_of_what_is_there(cluster: Cluster) {
    // A failure, so that there is a line for one: its name is taken.
    cluster
        .make("deployments", foreign_deployment("web", Value::Null))
        .await;
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_degraded("web", "Collision").await;
    let live = lines(&operator.metrics().await);

    let rules: Value = serde_saphyr::from_str(RULES).expect("rules.yaml is YAML");
    let rules = rules["spec"]["groups"][0]["rules"]
        .as_array()
        .expect("rules");
    assert_eq!(rules.len(), 5);
    for rule in rules {
        let (name, expression) = (&rule["alert"], &rule["expr"]);
        let labels = check(expression, &live).unwrap_or_else(|why| panic!("{name}: {why}"));
        for label in labels_in_texts(&rule["annotations"]) {
            assert!(labels.contains(&label), "{name}: no label {label} to tell");
        }
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("the dashboard is JSON");
    let expressions = expressions(&dashboard);
    assert!(expressions.len() > 5, "{expressions:?}");
    for expression in expressions {
        check(expression, &live).unwrap_or_else(|why| panic!("dashboard: {why}"));
    }
    operator.terminate().await;
    cluster.end().await;
}

/// The labels of each metric.
type Live = BTreeMap<String, BTreeSet<String>>;

fn lines(metrics: &str) -> Live {
    let mut live = Live::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let (series, _value) = line.rsplit_once(' ').expect("a line has a value");
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.trim_end_matches('}').split(',');
        let names = labels.filter_map(|label| label.split_once('='));
        let names = names.map(|(name, _)| name.to_owned());
        live.entry(name.to_owned()).or_default().extend(names);
    }
    live
}

/// What an expression names.
#[derive(Default)]
struct Named {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Named {
    fn select(&mut self, selector: &VectorSelector) {
        self.metrics.extend(selector.name.clone());
        let matchers = selector.matchers.matchers.iter();
        let matchers = matchers.chain(selector.matchers.or_matchers.iter().flatten());
        self.labels.extend(matchers.map(|one| one.name.clone()));
    }

    fn name(&mut self, labels: &Labels) {
        self.labels.extend(labels.labels.iter().cloned());
    }
}

impl ExprVisitor for Named {
    type Error = Infallible;

    fn pre_visit(&mut self, expression: &Expr) -> Result<bool, Infallible> {
        match expression {
            Expr::VectorSelector(selector) => self.select(selector),
            Expr::MatrixSelector(range) => self.select(&range.vs),
            Expr::Aggregate(aggregate) => {
                if let Some(by) = &aggregate.modifier {
                    self.name(by.labels());
                }
            }
            Expr::Binary(binary) => {
                if let Some(modifier) = &binary.modifier {
                    if let Some(on) = &modifier.matching {
                        self.name(on.labels());
                    }
                    if let Some(group) = modifier.card.labels() {
                        self.name(group);
                    }
                }
            }
            _ => {}
        }
        Ok(true)
    }
}

/// The labels that are there for an expression, if all that it names is.
fn check(expression: &Value, live: &Live) -> Result<BTreeSet<String>, String> {
    let text = expression.as_str().ok_or("the expression is no text")?;
    let parsed = parser::parse(text).map_err(|why| format!("{text}: {why}"))?;
    let mut named = Named::default();
    let Ok(_) = walk_expr(&mut named, &parsed);
    let mut labels: BTreeSet<String> = SCRAPED.map(str::to_owned).into();
    for metric in &named.metrics {
        let there = live.get(metric);
        labels.extend(
            there
                .ok_or(format!("{text}: there is no {metric}"))?
                .clone(),
        );
    }
    match named.labels.difference(&labels).next() {
        Some(label) => Err(format!("{text}: no metric in it has a label {label}")),
        None => Ok(labels),
    }
}

/// The names in `{{ $labels.NAME }}`.
fn labels_in_texts(annotations: &Value) -> Vec<String> {
    let texts = annotations.as_object().into_iter().flatten();
    let texts = texts.filter_map(|(_, text)| text.as_str());
    let parts = texts.flat_map(|text| text.split("$labels.").skip(1));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    parts
        .map(|part| {
            part.split(|c| !is_name(c))
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// All that is under a key `expr`, however deep.
fn expressions(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => {
            let deeper = fields.iter().flat_map(|(key, value)| match key.as_str() {
                "expr" => vec![value],
                _ => expressions(value),
            });
            deeper.collect()
        }
        Value::Array(items) => items.iter().flat_map(expressions).collect(),
        _ => Vec::new(),
    }
}
