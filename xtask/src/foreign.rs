//! A table of what foreign objects cost several operators: `<!-- loadgen bystanders: begin FOLDER,FOLDER -->`.
//!
//! Guarantees: every figure is one of the folder's table; a start that failed says so. Leaves to others: the figures
//! (`loadgen bystanders`), the marks (`marks`).

use std::path::PathBuf;

use loadgen::metric::foreign_cost::{ForeignCost, ForeignStart};
use loadgen::report::foreign_cost::{each, words};
use loadgen::report::table::{Table, figure, grouped};
use loadgen::report::title;

use crate::marks::Marks;

pub const FOREIGN: Marks = Marks("bystanders");

/// A line for each folder, with the links to their tables; a column for each offer of the first.
pub fn block(all: &[(ForeignCost, PathBuf)]) -> String {
    let Some((first, _)) = all.first() else {
        return String::new();
    };
    let is_of_one = |start: &ForeignStart| start.objects > 0 && !start.offer.contains(',');
    let mut header = vec![String::new()];
    for start in &first.starts {
        header.extend(match is_of_one(start) {
            true => vec![format!("bytes for each of {}", words(start))],
            false => vec![
                format!("RSS settled {}, MB", beside(start)),
                "peak, MB".to_owned(),
            ],
        });
    }
    let rows = all.iter().map(|(cost, link)| {
        let mb = |bytes: Option<f64>| figure(bytes.map(|bytes| bytes / 1e6));
        let table = link.join("bystanders.md");
        let mut row = vec![format!("[{}]({})", cost.subject, table.display())];
        for column in &first.starts {
            let start = cost.starts.iter().find(|it| it.offer == column.offer);
            let failed = start.and_then(|start| start.failures.first());
            row.extend(match (is_of_one(column), start, failed) {
                (true, Some(start), _) => vec![each(cost, start)],
                (true, None, _) => vec!["–".to_owned()],
                (false, _, Some(why)) => vec![format!("failed: {why}"), String::new()],
                (false, start, None) => vec![
                    mb(start.and_then(|start| start.rss_bytes)),
                    mb(start.and_then(|start| start.peak_bytes)),
                ],
            });
        }
        row
    });
    let table = Table {
        title: String::new(),
        header,
        rows: rows.collect(),
    };
    let runs = first.starts.iter().map(|start| start.runs).max();
    format!(
        "{}\n{} of each start, profile {}; Kubernetes {} on {}, {}. MB are 1,000,000 bytes; a negative figure is noise.\n",
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
        commits(all)
    )
}

/// The commits that measured, each once.
fn commits(all: &[(ForeignCost, PathBuf)]) -> String {
    let mut commits: Vec<&str> = Vec::new();
    for (cost, _) in all {
        if !commits.contains(&cost.loadgen_commit.as_str()) {
            commits.push(&cost.loadgen_commit);
        }
    }
    match commits[..] {
        [one] => format!("commit {one}"),
        _ => format!("commits {}", commits.join(", ")),
    }
}

/// How many foreign objects there are beside an operator.
fn beside(start: &ForeignStart) -> String {
    match start.objects {
        0 => "without".to_owned(),
        objects => format!("beside {}", grouped(objects)),
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
        let mine = || PathBuf::from("../results/mine");
        let later = ForeignCost {
            loadgen_commit: "4d5e6f".to_owned(),
            ..cost.clone()
        };
        let two = block(&[
            (cost.clone(), mine()),
            (cost.clone(), mine()),
            (later, mine()),
        ]);
        assert!(two.contains(", commits 1a2b3c, 4d5e6f. "), "{two}");
        let block = block(&[(cost, mine())]);
        for want in [
            "|  | RSS settled without, MB | peak, MB | bytes for each of 1,000 secrets | RSS settled beside 10, MB | peak, MB |",
            "| [mine/x](../results/mine/bystanders.md) | 10.0 | 20.0 | 3,000 | 12.0 | 24.0 |",
            "One run of each start, profile standard; Kubernetes 1.36.4 on kube-apiserver with etcd, commit 1a2b3c.",
        ] {
            assert!(block.contains(want), "{want} not in {block}");
        }
    }
}
