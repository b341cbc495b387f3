//! `report.md`: the same report for a repository.
//!
//! Guarantees: the tables and notes of the terminal, and where they come from. Leaves to others:
//! what is in them.

use crate::model::record::Record;
use crate::model::summary::Summary;
use crate::report::table::Table;
use crate::report::{conclusion, failures, provenance, small_node, title, unsettled};

pub fn report(summary: &Summary, record: &Record, tables: &[Table]) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n{}\n\n",
        title::title(summary),
        title::setting(summary),
        title::words(summary)
    );
    for warning in title::warnings(summary, record) {
        text.push_str(&format!("> {warning}\n\n"));
    }
    text.push_str(&format!(
        "{}\n\n{}\n\n{}\n\n",
        small_node::sentences(summary).join(" "),
        conclusion::conclusion(summary),
        conclusion::not_measured(summary, record),
    ));
    for (name, what) in provenance::operators(record) {
        text.push_str(&format!("- {name}: {what}\n"));
    }
    text.push('\n');
    for table in tables {
        text.push_str(&table.markdown());
        text.push('\n');
    }
    let failures = failures(record);
    if !failures.is_empty() {
        text.push_str(&format!(
            "### Failed and invalid runs\n\n```\n{}\n```\n\n",
            failures.join("\n")
        ));
    }
    let unsettled = unsettled(record);
    if !unsettled.is_empty() {
        text.push_str("### Runs that did not settle\n\n");
        let lines = unsettled.iter().map(|line| format!("- {line}\n"));
        text.extend(lines);
        text.push('\n');
    }
    text.push_str("### Notes\n\n");
    summary
        .notes
        .iter()
        .for_each(|note| text.push_str(&format!("- {note}\n")));
    text.push_str("\n### Provenance\n\n");
    for (name, value) in provenance::environment(summary) {
        text.push_str(&format!("- {name}: {value}\n"));
    }
    text.push_str(
        "- MB are 1,000,000 bytes; `loadgen report` rebuilds this page from the raw data\n\n",
    );
    text.push_str(&provenance::subjects(summary).markdown());
    let commands = provenance::commands(summary).join("\n");
    text.push_str(&format!(
        "\n### How to reproduce\n\n```sh\n{commands}\n```\n"
    ));
    text
}
