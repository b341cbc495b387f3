//! What `summary.json` must look like (shared `results-schema.md`, schema 1), and what does not.
//!
//! Guarantees: every field there, none unknown, each of its type; every null named in the notes.
//! Leaves to others: whether the figures are good.

use serde_json::Value;

use crate::report::notes::null_paths;

/// The shape of a value.
enum Shape {
    Text,
    OneOf(&'static [&'static str]),
    Count,
    /// A whole number that may be negative.
    Whole,
    Number,
    Truth,
    /// Any keys, each with a count.
    Counts,
    Interval,
    Nullable(&'static Shape),
    List(&'static Shape),
    Fields(&'static [(&'static str, Shape)]),
}

use Shape::{Count, Counts, Fields, Interval, List, Nullable, Number, OneOf, Text, Truth, Whole};

const COUNT: Shape = Nullable(&Count);
const NUMBER: Shape = Nullable(&Number);
const TEXT: Shape = Nullable(&Text);

const CELLS: &[&str] = &[
    "burst",
    "steady",
    "a-a",
    "request-count",
    "default-flags",
    "rejected",
    "never-ready",
    "update-storm",
];

const MEMORY: Shape = Nullable(&Fields(&[
    ("rss_bytes", Count),
    ("pss_bytes", Count),
    ("anon_bytes", Count),
]));
const PEAKED: Shape = Nullable(&Fields(&[
    ("rss_bytes", Count),
    ("pss_bytes", Count),
    ("anon_bytes", Count),
    ("peak_bytes", COUNT),
]));
const QUANTILES: Shape = Nullable(&Fields(&[
    ("p50_ms", Number),
    ("p90_ms", Number),
    ("p99_ms", Number),
    ("max_ms", Number),
]));

const RUN: Shape = Fields(&[
    ("objects", Count),
    ("repeat", Count),
    ("cell", OneOf(CELLS)),
    ("valid", Truth),
    ("invalid_reason", TEXT),
    ("spawn_to_canary_ms", NUMBER),
    (
        "memory",
        Fields(&[
            ("empty", MEMORY),
            ("burst", PEAKED),
            ("settled", MEMORY),
            ("churn", PEAKED),
            ("deleted", MEMORY),
            ("restart", PEAKED),
            ("cgroup_peak_bytes", COUNT),
        ]),
    ),
    (
        "cpu",
        Fields(&[
            ("converge_s", NUMBER),
            ("restart_s", NUMBER),
            ("idle_ms_per_minute", NUMBER),
            ("idle_context_switches_per_s", NUMBER),
        ]),
    ),
    (
        "convergence",
        Nullable(&Fields(&[
            ("drain_s", NUMBER),
            ("offered_per_s", Number),
            ("saturated", Truth),
            ("censored", Count),
            ("observed", QUANTILES),
            ("ready", QUANTILES),
        ])),
    ),
    (
        "reconcile",
        Nullable(&Fields(&[
            ("count", Count),
            ("p50_ms", NUMBER),
            ("p99_ms", NUMBER),
            ("max_ms", NUMBER),
            ("errors", COUNT),
        ])),
    ),
    (
        "write_span",
        Nullable(&Fields(&[("p50_ms", NUMBER), ("p99_ms", NUMBER)])),
    ),
    (
        "requests",
        Nullable(&Fields(&[
            ("writes_per_object", Number),
            ("reads_per_object", Number),
            ("by_verb", Counts),
            ("idle_writes_per_minute", NUMBER),
            ("idle_reads_per_minute", NUMBER),
            ("wire_bytes_per_object", NUMBER),
        ])),
    ),
    (
        "gc_pause",
        Nullable(&Fields(&[
            ("count", Count),
            ("p99_ms", NUMBER),
            ("max_ms", NUMBER),
            ("total_ms", NUMBER),
        ])),
    ),
    ("api_server_cpu_s", NUMBER),
    (
        "datastore",
        Nullable(&Fields(&[
            ("written_bytes_per_object", NUMBER),
            ("size_bytes", COUNT),
        ])),
    ),
]);

const SUMMARY: Shape = Fields(&[
    ("schema", Count),
    (
        "environment",
        Fields(&[
            (
                "control_plane",
                OneOf(&["kubesim", "kube", "kine", "existing"]),
            ),
            ("control_plane_flags", Text),
            ("kubernetes_version", TEXT),
            ("kernel", TEXT),
            ("cpu_model", TEXT),
            ("cores", COUNT),
            ("memory_bytes", COUNT),
            ("page_size_bytes", COUNT),
            ("transparent_huge_pages", TEXT),
            ("filesystem", TEXT),
            ("cgroup", Nullable(&OneOf(&["v1", "v2", "hybrid"]))),
            ("swap", Nullable(&Truth)),
            ("tare_revision", Text),
            ("started_at", Text),
            ("command_line", Text),
            ("host_label", Text),
        ]),
    ),
    (
        "scenario",
        Fields(&[
            ("name", Text),
            ("object_bytes", Count),
            ("service", OneOf(&["headless", "cluster-ip"])),
            ("seed", Count),
            ("ready_delay_ms", Count),
            ("profile", OneOf(&["quick", "standard", "full"])),
        ]),
    ),
    (
        "noise_floor",
        Nullable(&Fields(&[
            ("metric", Text),
            ("ratio", Number),
            ("ci95", Nullable(&Interval)),
            ("pairs", Count),
        ])),
    ),
    (
        "subjects",
        List(&Fields(&[
            ("name", Text),
            ("variant", Text),
            ("language", OneOf(&["rust", "go", "other"])),
            ("target", Text),
            ("profile", TEXT),
            ("allocator", TEXT),
            ("binary_bytes", COUNT),
            ("image_bytes_compressed", COUNT),
            ("image_bytes_unpacked", COUNT),
            ("runs", List(&RUN)),
            (
                "bytes_per_object",
                Nullable(&Fields(&[
                    ("slope", Number),
                    ("ci95", Nullable(&Interval)),
                    ("intercept_bytes", Whole),
                    ("sizes", List(&Count)),
                ])),
            ),
        ])),
    ),
    (
        "comparisons",
        List(&Fields(&[
            ("metric", Text),
            ("cell", OneOf(CELLS)),
            ("objects", Count),
            ("subject", Text),
            ("against", Text),
            ("ratio", Number),
            ("ci95", Nullable(&Interval)),
            ("pairs", Count),
            ("beyond_noise", Nullable(&Truth)),
        ])),
    ),
    (
        "claims",
        List(&Fields(&[
            ("claim", Text),
            ("source", Text),
            ("claimed", Number),
            ("unit", Text),
            ("measured", NUMBER),
            ("holds", Nullable(&Truth)),
        ])),
    ),
    ("notes", List(&Text)),
]);

/// One line per thing that is wrong; none for a summary that keeps to the schema.
pub fn problems(summary: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(&SUMMARY, summary, "", &mut found);
    if summary["schema"] != 1 {
        found.push(format!(
            "schema: {} is not 1, the only one known",
            summary["schema"]
        ));
    }
    let notes: Vec<&str> = summary["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for path in null_paths(summary).into_keys() {
        let named = format!("`{path}`");
        if !notes.iter().any(|note| note.contains(&named)) {
            found.push(format!("{path}: null, and no note names it"));
        }
    }
    found
}

/// What a path within a summary's subject names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// One for each run, such as `memory.settled.rss_bytes`.
    OfRun,
    /// One for the subject, such as `binary_bytes`.
    OfSubject,
}

/// Which figure a path names; `None` where it names none.
pub fn figure(path: &str) -> Option<Figure> {
    let names_a_number = |shape: Option<&Shape>| matches!(shape, Some(Count | Whole | Number));
    if names_a_number(at(&RUN, path)) {
        Some(Figure::OfRun)
    } else if names_a_number(at(&SUMMARY, "subjects").and_then(|subject| at(subject, path))) {
        Some(Figure::OfSubject)
    } else {
        None
    }
}

/// The kinds of cell that a run may be.
pub fn cells() -> &'static [&'static str] {
    match at(&RUN, "cell") {
        Some(OneOf(cells)) => cells,
        _ => &[],
    }
}

/// The shape at a path, through what may be null; the items of a list have its path.
fn at(shape: &'static Shape, path: &str) -> Option<&'static Shape> {
    let found = path.split('.').try_fold(shape, |shape, key| match shape {
        Fields(fields) => {
            let (_, field) = fields.iter().find(|(name, _)| *name == key)?;
            match field {
                Nullable(inner) | List(inner) => Some(*inner),
                other => Some(other),
            }
        }
        Counts => Some(&Count),
        _ => None,
    });
    // Nullable constants may be within one another.
    match found {
        Some(Nullable(inner)) => Some(inner),
        other => other,
    }
}

fn check(shape: &Shape, value: &Value, path: &str, found: &mut Vec<String>) {
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            found.push(format!("{path}: {value} is not {what}"));
        }
    };
    match shape {
        Text => expect(value.is_string(), "text"),
        OneOf(known) => {
            expect(
                value.as_str().is_some_and(|text| known.contains(&text)),
                &format!("one of {}", known.join(", ")),
            );
        }
        Count => expect(value.is_u64(), "a whole number from 0 on"),
        Whole => expect(value.is_i64() || value.is_u64(), "a whole number"),
        Number => expect(value.is_number(), "a number"),
        Truth => expect(value.is_boolean(), "true or false"),
        Counts => {
            let counts = value
                .as_object()
                .is_some_and(|fields| fields.values().all(Value::is_u64));
            expect(counts, "an object of counts");
        }
        Interval => {
            let ends = value
                .as_array()
                .map(|ends| ends.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
            let ordered = ends.is_some_and(|ends| ends.len() == 2 && ends[0] <= ends[1]);
            expect(ordered, "an interval [low, high]");
        }
        Nullable(inner) => {
            if !value.is_null() {
                check(inner, value, path, found);
            }
        }
        List(inner) => match value.as_array() {
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    check(inner, item, &format!("{path}[{index}]"), found);
                }
            }
            None => expect(false, "a list"),
        },
        Fields(fields) => match value.as_object() {
            Some(object) => check_fields(fields, object, path, found),
            None => expect(false, "an object"),
        },
    }
}

fn check_fields(
    fields: &[(&str, Shape)],
    object: &serde_json::Map<String, Value>,
    path: &str,
    found: &mut Vec<String>,
) {
    let dot = if path.is_empty() { "" } else { "." };
    for (name, shape) in fields {
        match object.get(*name) {
            Some(value) => check(shape, value, &format!("{path}{dot}{name}"), found),
            None => found.push(format!("{path}{dot}{name}: missing")),
        }
    }
    for name in object
        .keys()
        .filter(|name| !fields.iter().any(|(known, _)| known == name))
    {
        found.push(format!("{path}{dot}{name}: not in the schema"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_known_by_their_path() {
        for (path, want) in [
            ("memory.settled.rss_bytes", Some(Figure::OfRun)),
            ("memory.burst.peak_bytes", Some(Figure::OfRun)),
            ("memory.cgroup_peak_bytes", Some(Figure::OfRun)),
            ("convergence.observed.p99_ms", Some(Figure::OfRun)),
            ("requests.by_verb.patch deployments", Some(Figure::OfRun)),
            ("objects", Some(Figure::OfRun)),
            ("binary_bytes", Some(Figure::OfSubject)),
            ("bytes_per_object.slope", Some(Figure::OfSubject)),
            ("memory.settled", None),
            ("memory.setled.rss_bytes", None),
            ("valid", None),
            ("name", None),
            ("", None),
        ] {
            assert_eq!(figure(path), want, "{path}");
        }
        assert!(cells().contains(&"burst"));
    }
}
