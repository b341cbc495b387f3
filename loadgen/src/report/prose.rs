//! Sentences of a report: each template in `prose/` has one on a line, and says itself when it is left out.
//!
//! Guarantees: a sentence is one line, whatever stands in it; a template that cannot be rendered says why in its place.
//! Leaves to others: what is true of a folder.

use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, Output, State, UndefinedBehavior};
use serde_json::Value;

use crate::report::table::{figure, grouped};

const TEMPLATES: [(&str, &str); 4] = [
    ("answer", include_str!("prose/answer.txt")),
    ("environment", include_str!("prose/environment.txt")),
    ("heading", include_str!("prose/heading.txt")),
    ("notes", include_str!("prose/notes.txt")),
];

/// The sentences of a template.
pub fn sentences(template: &str, context: Value) -> Vec<String> {
    static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(environment);
    let rendered = ENVIRONMENT
        .get_template(template)
        .and_then(|found| found.render(Serde(context)));
    let text = rendered.unwrap_or_else(|error| format!("{template}: {error}"));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_formatter(on_one_line);
    environment.add_filter("figure", |value: Option<f64>| figure(value));
    environment.add_filter("mb", |bytes: Option<f64>| {
        figure(bytes.map(|bytes| bytes / 1e6))
    });
    environment.add_filter("grouped", grouped);
    for (name, text) in TEMPLATES {
        // Part of the program, and rendered by its tests.
        let added = environment.add_template(name, text);
        added.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    environment
}

fn on_one_line(
    out: &mut Output,
    _: &mut State,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    Ok(write!(out, "{}", value.to_string().replace('\n', " "))?)
}
