//! Changes between two folders as text: tables for a terminal, and Markdown for a pull request.
//!
//! Guarantees: pure; every change is in both, in Markdown the ones that are not significant are
//! folded away. Leaves to others: what is significant (`metric::change`).

use crate::metric::KNEE;
use crate::metric::change::{Assessment, Change, Changes, Pairing};
use crate::report::table::{Table, amount, figure, grouped};

/// How the intervals come about, and what the words mean.
pub const METHOD: &str = "Ratios are geometric means of the valid runs of the second folder over those of the first. The intervals \
    are Welch's on the logarithms, because runs of two folders are not paired. Not significant: the \
    interval contains 1, or the ratio is within the larger noise floor (A/A) of both folders. Without a floor the \
    interval alone decides. Undecided: fewer than two valid runs in a folder, or a knee that differs, which has no \
    interval.";

/// One table for each pair of subjects, with every change.
pub fn tables(changes: &[Change]) -> Vec<Table> {
    let mut pairings: Vec<&Pairing> = Vec::new();
    for change in changes {
        if !pairings.contains(&&change.subjects) {
            pairings.push(&change.subjects);
        }
    }
    let tables = pairings.into_iter().map(|pairing| {
        let of_pairing = changes.iter().filter(|change| change.subjects == *pairing);
        table(title(pairing), of_pairing)
    });
    tables.collect()
}

/// The same for a pull request: what is significant or undecided first, the rest folded.
pub fn markdown(names: [&str; 2], changes: &Changes) -> String {
    let mut text = format!(
        "### Benchmark: {} to {}\n\n",
        code(names[0]),
        code(names[1])
    );
    for warning in &changes.warnings {
        text.push_str(&format!("> **Warning:** {warning}\n>\n"));
    }
    if !changes.warnings.is_empty() {
        text.push('\n');
    }
    let (quiet, told): (Vec<&Change>, Vec<&Change>) = changes
        .changes
        .iter()
        .partition(|change| change.assessment == Assessment::NotSignificant);
    let cloned = |of: Vec<&Change>| of.into_iter().cloned().collect::<Vec<Change>>();
    match told.is_empty() {
        true => text.push_str("No significant change.\n\n"),
        false => sections(&tables(&cloned(told)), &mut text),
    }
    if !quiet.is_empty() {
        text.push_str(&format!(
            "<details>\n<summary>Not significant: {}</summary>\n\n",
            quiet.len()
        ));
        sections(&tables(&cloned(quiet)), &mut text);
        text.push_str("</details>\n\n");
    }
    text.push_str(&format!("{METHOD}\n"));
    text
}

fn sections(tables: &[Table], text: &mut String) {
    for table in tables {
        // A heading below that of the comparison.
        text.push_str(&format!("#{}\n", table.markdown()));
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn title(pairing: &Pairing) -> String {
    match pairing.before == pairing.after {
        true => pairing.before.clone(),
        false => format!("{} to {}", pairing.before, pairing.after),
    }
}

fn table<'a>(title: String, changes: impl Iterator<Item = &'a Change>) -> Table {
    let header = [
        "", "before", "after", "ratio", "95 %", "runs", "floor", "result",
    ];
    Table {
        title,
        header: header.map(str::to_owned).to_vec(),
        rows: changes.map(row).collect(),
    }
}

fn row(change: &Change) -> Vec<String> {
    let runs = |valid: usize, invalid: usize| match invalid {
        0 => valid.to_string(),
        _ => format!("{valid} (+{invalid} invalid)"),
    };
    let result = match change.assessment {
        Assessment::Better => "better ↓",
        Assessment::Worse => "worse ↑",
        Assessment::NotSignificant => "not significant",
        Assessment::Undecided => "undecided",
    };
    // The arrow shows where the figure went, which is up where more is better.
    let result = match (change.assessment, change.ratio) {
        (Assessment::Better, Some(ratio)) if ratio > 1.0 => "better ↑",
        (Assessment::Worse, Some(ratio)) if ratio < 1.0 => "worse ↓",
        _ => result,
    };
    let interval = change.ci95.map_or_else(
        || figure(None),
        |[low, high]| format!("{low:.3} to {high:.3}"),
    );
    let floor = change
        .floor
        .map_or("none".to_owned(), |floor| format!("{floor:.3}"));
    let (interval, floor, runs) = match change.cell {
        Some(_) => (
            interval,
            floor,
            format!(
                "{}, {}",
                runs(change.before_runs, change.before_invalid),
                runs(change.after_runs, change.after_invalid)
            ),
        ),
        None if change.metric == KNEE => (interval, floor, "1, 1".into()),
        None => ("exact".into(), "exact".into(), "1, 1".into()),
    };
    vec![
        figure_name(change),
        amount(change.before_median),
        amount(change.after_median),
        change
            .ratio
            .map_or_else(|| figure(None), |ratio| format!("{ratio:.3}")),
        interval,
        runs,
        floor,
        result.to_owned(),
    ]
}

/// The path of a figure with the runs that it is of.
pub fn figure_name(change: &Change) -> String {
    match change.cell {
        Some(cell) => {
            let at_rate = cell.per_s.map(|per_s| format!(" at {per_s}/s"));
            format!(
                "{}, {} {}{}",
                change.metric,
                cell.kind.name(),
                grouped(cell.objects),
                at_rate.unwrap_or_default()
            )
        }
        None => change.metric.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::change::tests::change;

    #[test]
    fn what_is_not_significant_is_folded() {
        let changes = Changes {
            warnings: vec!["CPU differs: a; b".into()],
            changes: vec![
                change("cpu.converge_s", 1.25, Assessment::Worse),
                change("api_server_cpu_s", 1.01, Assessment::NotSignificant),
            ],
        };
        let text = markdown(["a", "b"], &changes);
        let (told, folded) = text.split_once("<details>").expect("a fold");
        assert!(told.starts_with("### Benchmark: `a` to `b`\n\n> **Warning:** CPU differs: a; b"));
        assert!(told.contains("#### tare/none\n"), "{told}");
        assert!(
            told.contains("| 1.250 |") && told.contains("| worse ↑ |"),
            "{told}"
        );
        assert!(!told.contains("api_server_cpu_s"), "{told}");
        assert!(folded.contains("api_server_cpu_s") && folded.contains("not significant"));
    }

    #[test]
    fn an_arrow_shows_where_the_figure_went() {
        let word = |ratio, assessment| row(&change("cpu.converge_s", ratio, assessment)).pop();
        assert_eq!(word(0.5, Assessment::Better).as_deref(), Some("better ↓"));
        assert_eq!(word(2.0, Assessment::Better).as_deref(), Some("better ↑"));
        assert_eq!(word(0.5, Assessment::Worse).as_deref(), Some("worse ↓"));
        assert_eq!(
            word(1.0, Assessment::Undecided).as_deref(),
            Some("undecided")
        );
    }
}
