//! `report.md`: the same report for a repository.
//!
//! Guarantees: the tables and notes of the terminal, and where they come from. Leaves to others:
//! what is in them.

use crate::model::record::Record;
use crate::model::summary::Summary;
use crate::report::table::Table;
use crate::report::{conclusion, failures};

/// `benches` is a section of its own, or empty.
pub fn report(summary: &Summary, record: &Record, tables: &[Table], benches: &str) -> String {
    let environment = &summary.environment;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let memory = environment
        .machine
        .memory_bytes
        .map_or("unknown".into(), |bytes| {
            format!("{} MB", bytes / 1_000_000)
        });
    let cores = environment
        .machine
        .cores
        .map_or("unknown".into(), |cores| cores.to_string());
    let mut text = format!(
        "# {} on {}, {}\n\n{}\n\n{}\n\n",
        summary.scenario.name,
        environment.host_label,
        environment.started_at,
        conclusion::conclusion(summary),
        conclusion::not_measured(summary, record),
    );
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
    text.push_str(benches);
    text.push_str("### Notes\n\n");
    summary
        .notes
        .iter()
        .for_each(|note| text.push_str(&format!("- {note}\n")));
    text.push_str(&format!(
        "\n### Provenance\n\n\
         - command: `{}`\n- revision: {}\n- control plane: {}, {}\n- kernel: {}\n- CPU: {}, {cores} cores\n\
         - memory: {memory}\n- MB are 1,000,000 bytes; `loadgen report` rebuilds this page from the raw data\n",
        environment.command_line,
        environment.tare_revision,
        environment.control_plane,
        known(&environment.kubernetes_version),
        known(&environment.machine.kernel),
        known(&environment.machine.cpu_model),
    ));
    text
}
