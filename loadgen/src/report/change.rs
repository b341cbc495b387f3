//! Changes between two folders as text: tables for a terminal, and Markdown for a pull request.
//!
//! Guarantees: pure; every change is in both, in Markdown the ones that are not significant are
//! folded away. Leaves to others: what is significant (`metric::change`).

use crate::metric::KNEE;
use crate::metric::change::{Assessment, CellKey, Change, Changes, Pairing};
use crate::report::table::{Table, amount, figure, grouped};

/// How the intervals come about, and what the words mean.
pub const METHOD: &str = "Ratios are geometric means of the valid runs of the second folder over those of the first. The intervals \
    are Welch's on the logarithms, because runs of two folders are not paired. Not significant: the \
    interval contains 1, or the ratio is within the larger noise floor (A/A) of both folders. Without a floor the \
    interval alone decides. Undecided: fewer than two valid runs in a folder, or a knee that differs, which has no \
    interval.";

/// One table for each pair of subjects, with every change.
pub fn tables<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<Table> {
    let header = [
        "", "before", "after", "ratio", "95 %", "runs", "floor", "result",
    ];
    let mut tables: Vec<(&Pairing, Table)> = Vec::new();
    for change in changes {
        let pairing = &change.subjects;
        match tables.iter_mut().find(|(of, _)| *of == pairing) {
            Some((_, table)) => table.rows.push(row(change)),
            None => {
                let title = match pairing.before == pairing.after {
                    true => pairing.before.clone(),
                    false => format!("{} to {}", pairing.before, pairing.after),
                };
                tables.push((pairing, Table::new(title, &header, vec![row(change)])));
            }
        }
    }
    tables.into_iter().map(|(_, table)| table).collect()
}

/// The same for a pull request: what is significant or undecided first, the rest folded.
pub fn markdown([before, after]: [&str; 2], changes: &Changes) -> String {
    let mut text = format!("### Benchmark: `{before}` to `{after}`\n\n");
    let warnings = changes.warnings.iter();
    text.extend(warnings.map(|warning| format!("> **Warning:** {warning}\n>\n")));
    if !changes.warnings.is_empty() {
        text.push('\n');
    }
    let is_quiet = |change: &&Change| change.assessment == Assessment::NotSignificant;
    let (quiet, told): (Vec<&Change>, Vec<&Change>) = changes.changes.iter().partition(is_quiet);
    // Headings below that of the comparison.
    let sections = |changes: &[&Change]| {
        let tables = tables(changes.iter().copied());
        let sections = tables
            .iter()
            .map(|table| format!("#{}\n", table.markdown()));
        sections.collect::<String>()
    };
    match told.is_empty() {
        true => text.push_str("No significant change.\n\n"),
        false => text.push_str(&sections(&told)),
    }
    if !quiet.is_empty() {
        text.push_str(&format!(
            "<details>\n<summary>Not significant: {}</summary>\n\n{}</details>\n\n",
            quiet.len(),
            sections(&quiet)
        ));
    }
    text + METHOD + "\n"
}

fn row(change: &Change) -> Vec<String> {
    let runs = |valid: usize, invalid: usize| match invalid {
        0 => valid.to_string(),
        _ => format!("{valid} (+{invalid} invalid)"),
    };
    // The arrow shows where the figure went, which is up where more is better.
    let arrow = match change.ratio {
        Some(ratio) if ratio > 1.0 => "↑",
        _ => "↓",
    };
    let result = match change.assessment {
        Assessment::Better => format!("better {arrow}"),
        Assessment::Worse => format!("worse {arrow}"),
        Assessment::NotSignificant => "not significant".to_owned(),
        Assessment::Undecided => "undecided".to_owned(),
    };
    let exact = |known: Option<String>, none: &str| match change.cell {
        None if change.metric != KNEE => "exact".to_owned(),
        _ => known.unwrap_or(none.to_owned()),
    };
    let interval = change
        .ci95
        .map(|[low, high]| format!("{low:.3} to {high:.3}"));
    let floor = change.floor.map(|floor| format!("{floor:.3}"));
    let ratio = change.ratio.map(|ratio| format!("{ratio:.3}"));
    vec![
        figure_name(&change.metric, change.cell),
        amount(change.before_median),
        amount(change.after_median),
        ratio.unwrap_or_else(|| figure(None)),
        exact(interval, &figure(None)),
        format!(
            "{}, {}",
            runs(change.before_runs, change.before_invalid),
            runs(change.after_runs, change.after_invalid)
        ),
        exact(floor, "none"),
        result,
    ]
}

/// The path of a figure with the runs that it is of; without them it is one of the subject itself.
pub fn figure_name(metric: &str, cell: Option<CellKey>) -> String {
    let of = cell.map(|cell| {
        let at_rate = cell.per_s.map(|per_s| format!(" at {per_s}/s"));
        let (kind, objects) = (cell.kind.name(), grouped(cell.objects));
        format!(", {kind} {objects}{}", at_rate.unwrap_or_default())
    });
    format!("{metric}{}", of.unwrap_or_default())
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
