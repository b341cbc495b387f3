//! Sentences of a report: each template in `prose/` has one on a line, and says itself when it is left out.
//!
//! Guarantees: a sentence is one line, whatever stands in it; a template that cannot be rendered says why in its place.
//! Leaves to others: what is true of a folder.

use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, Output, State};
use serde_json::Value;

use crate::report::page;
use crate::report::table::{figure, grouped, mb};

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
    let mut environment = page::environment(&TEMPLATES);
    environment.set_formatter(on_one_line);
    environment.add_filter("figure", |value: Option<f64>| figure(value));
    environment.add_filter("mb", |bytes: Option<f64>| mb(bytes));
    environment.add_filter("grouped", grouped);
    environment
}

fn on_one_line(
    out: &mut Output,
    _: &mut State,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    Ok(write!(out, "{}", value.to_string().replace('\n', " "))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_note_is_a_line() {
        let run = json!({
            "cell": "a/x drain 5",
            "of": {
                "cell": { "kind": "drain" }, "failure": { "reason": "one\ntwo" }, "warnings": ["late"],
                "convergence": { "offer_s": 9.0, "drain_s": 10.0 },
            },
        });
        let part = |kinds: &str| json!({ "share": 1, "kinds": kinds, "bytes": 700 });
        let said = sentences(
            "notes",
            json!({
                "conformance": ["not checked"], "not_run": ["a/x drain 9"], "runs": [run, run], "profile": "quick",
                "parts": [part("Widgets"), part("Gadgets"), part("Nuts")], "kinds": "Widgets", "foreign": "secrets=3",
                "own_objects": [{ "subject": "b/y", "resource": "pods of v1", "bytes": 9, "child": null }],
                "bounds": "256.0 MB", "has_images": true, "overlap": 2, "resumed_at": ["noon"], "control_plane": "existing",
                "run_kinds": ["request-count", "default-flags", "memory-aa"], "idle_s": "60", "all_kinds": "Widgets",
                "restarts": 3, "not_measured": ["`a`: why"], "nulls": ["`b`: why"],
            }),
        );
        for want in [
            "not run: a/x drain 9",
            "failed: a/x drain 5: one two",
            "1 of 3 Widgets of 700 bytes, 1 of 3 Gadgets of 700 bytes and 1 of 3 Nuts of 700 bytes;",
            "b/y manages pods of v1 of about 9 bytes in place of Widgets,",
            "converged when their status says so",
            "foreign objects (secrets=3) are there",
            "each subject had at most 256.0 MB",
            "limited the time to drain, too: a/x drain 5, a/x drain 5",
            "a/x drain 5: late",
            "not measured: `a`: why",
            "null: `b`: why",
        ] {
            assert!(
                said.iter().any(|line| line.contains(want)),
                "{want}: {said:#?}"
            );
        }
        assert_eq!(said.len(), 28, "{said:#?}");
    }

    #[test]
    fn a_template_that_lacks_a_name_says_so_in_its_place() {
        let said = sentences("notes", json!({}));
        assert!(
            said.len() == 1 && said[0].starts_with("notes: "),
            "{said:?}"
        );
    }
}
