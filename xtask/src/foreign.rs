//! A table of what foreign objects cost several operators: `<!-- loadgen bystanders: begin FOLDER,FOLDER -->`.
//!
//! Guarantees: every figure is one of the folder's table; a start that failed says so. Leaves to others: the figures
//! (`loadgen bystanders`), the marks (`marks`).

use std::path::PathBuf;

use loadgen::metric::foreign_cost::{ForeignCost, ForeignStart};
use loadgen::report::foreign_cost::each;
use loadgen::report::table::{Table, figure, grouped};
use loadgen::report::title;

use crate::marks::Marks;

pub const FOREIGN: Marks = Marks("bystanders");

/// A line for each folder, with the links to their tables.
pub fn block(all: &[(ForeignCost, PathBuf)]) -> String {
    let Some((first, _)) = all.first() else {
        return String::new();
    };
    let kinds = |cost: &ForeignCost| -> Vec<ForeignStart> {
        let starts = cost.starts.iter().filter(|start| start.objects > 0);
        starts.cloned().collect()
    };
    let mut header = vec![
        String::new(),
        "RSS settled without, MB".to_owned(),
        "peak, MB".to_owned(),
    ];
    for start in kinds(first) {
        header.extend(match start.offer.contains(',') {
            false => vec![format!("bytes for each of {}", words(&start.offer))],
            true => vec![
                format!("RSS settled beside {}, MB", grouped(start.objects)),
                "peak, MB".to_owned(),
            ],
        });
    }
    let columns = header.len();
    let rows = all.iter().map(|(cost, link)| {
        let mb = |bytes: Option<f64>| figure(bytes.map(|bytes| bytes / 1e6));
        let memory = |start: &ForeignStart| match start.failures.first() {
            None => vec![mb(start.rss_bytes), mb(start.peak_bytes)],
            Some(why) => vec![format!("failed: {why}"), String::new()],
        };
        let table = link.join("bystanders.md");
        let mut row = vec![format!("[{}]({})", cost.subject, table.display())];
        row.extend(cost.without().map_or(vec!["–".to_owned(); 2], memory));
        for start in kinds(cost) {
            match start.offer.contains(',') {
                false => row.push(each(cost, &start)),
                true => row.extend(memory(&start)),
            }
        }
        // A start that was not measured.
        row.resize(columns, "–".to_owned());
        row
    });
    let table = Table {
        title: String::new(),
        header,
        rows: rows.collect(),
    };
    let runs = first.starts.iter().map(|start| start.runs).max();
    format!(
        "{}\n{} of each start, profile {}; Kubernetes {} on {}, commit {}. MB are 1,000,000 bytes; a negative figure is noise.\n",
        table.markdown_rows(),
        match runs {
            Some(1) => "One run".to_owned(),
            runs => format!("Medians of {} runs", runs.unwrap_or(0)),
        },
        first.profile.name(),
        first
            .kubernetes_version
            .as_deref()
            .unwrap_or("of unknown version"),
        title::control_plane(&first.control_plane),
        first.loadgen_commit
    )
}

/// `1,000 secrets` from `secrets=1000`.
fn words(offer: &str) -> String {
    match offer.split_once('=') {
        Some((kind, objects)) => match objects.parse() {
            Ok(objects) => format!("{} {kind}", grouped(objects)),
            Err(_) => offer.to_owned(),
        },
        None => offer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_stand_side_by_side() {
        let start = |offer: &str, objects: usize, mb: f64| ForeignStart {
            offer: offer.to_owned(),
            objects,
            runs: 1,
            anon_bytes: Some(mb * 1e6),
            rss_bytes: Some(mb * 1e6),
            peak_bytes: Some(2.0 * mb * 1e6),
            in_memory: None,
            failures: Vec::new(),
        };
        let cost = ForeignCost {
            subject: "mine/x".to_owned(),
            command_line: String::new(),
            control_plane: "kube".to_owned(),
            kubernetes_version: Some("1.36.4".to_owned()),
            profile: loadgen::plan::profile::Profile::Standard,
            loadgen_commit: "1a2b3c".to_owned(),
            started_at: None,
            offers: Vec::new(),
            starts: vec![
                start("none", 0, 10.0),
                start("secrets=1000", 1_000, 13.0),
                start("secrets=5,pods=5", 10, 12.0),
            ],
        };
        let block = block(&[(cost, PathBuf::from("../results/mine"))]);
        for want in [
            "|  | RSS settled without, MB | peak, MB | bytes for each of 1,000 secrets | RSS settled beside 10, MB | peak, MB |",
            "| [mine/x](../results/mine/bystanders.md) | 10.0 | 20.0 | 3,000 | 12.0 | 24.0 |",
            "One run of each start, profile standard; Kubernetes 1.36.4 on kube-apiserver with etcd, commit 1a2b3c.",
        ] {
            assert!(block.contains(want), "{want} not in {block}");
        }
    }
}
