//! Judged limits as text: a table, and one sentence for each.
//!
//! Guarantees: pure; a sentence names the line of the limits file, the figure, the bound and the
//! measurement that the bound comes from. Leaves to others: judging (`metric::judge`).

use crate::metric::judge::{Judgement, Outcome};
use crate::metric::limits::{Basis, Bound, Limit};
use crate::report::change::figure_name;
use crate::report::table::{Table, amount, figure};

/// The whole judgement in one line.
pub fn sentence(judgement: &Judgement) -> String {
    let limit = &judgement.limit;
    let Limit {
        place,
        subject,
        bound,
        basis,
        ..
    } = limit;
    let Basis {
        mean, runs, margin, ..
    } = *basis;
    let (bound, sign) = match bound {
        Bound::AtMost(max) => (amount(*max), '+'),
        Bound::AtLeast(min) => (amount(*min), '-'),
    };
    let origin = format!(
        "mean {} of {runs} runs {sign} margin {}",
        amount(mean),
        amount(margin)
    );
    let says =
        |measured: &f64, verb: &str| format!("{} {verb} {bound} ({origin})", amount(*measured));
    let what = match &judgement.outcome {
        Outcome::Holds { measured } => says(measured, "is within"),
        Outcome::Above { measured } => says(measured, "is above"),
        Outcome::Below { measured } => says(measured, "is below"),
        Outcome::NotMeasured { why } => format!("not measured: {why}"),
    };
    format!(
        "{place}: {subject} {}: {what}",
        figure_name(&limit.metric, limit.cell)
    )
}

/// What was judged, a row for each limit.
pub fn table<'a>(title: &str, judgements: impl Iterator<Item = &'a Judgement>) -> Table {
    let header = [
        "",
        "measured",
        "limit",
        "expected",
        "of expected",
        "outcome",
    ];
    Table::new(title, &header, judgements.map(row).collect())
}

/// `2 of 3 limits hold`.
pub fn how_many_hold(judgements: &[Judgement]) -> String {
    let hold = judgements.iter().filter(|j| !j.falls_short()).count();
    format!("{hold} of {} limits hold", judgements.len())
}

/// The table for a pull request: limits that do not hold come first, and why stands below it.
pub fn markdown(judgements: &[Judgement]) -> String {
    let (failed, hold): (Vec<&Judgement>, Vec<&Judgement>) =
        judgements.iter().partition(|j| j.falls_short());
    let all = failed.iter().chain(&hold).copied();
    let mut text = table(&how_many_hold(judgements), all).markdown();
    if !failed.is_empty() {
        text.push('\n');
    }
    for judgement in failed {
        text.push_str(&format!("- {}\n", sentence(judgement)));
    }
    text
}

fn row(judgement: &Judgement) -> Vec<String> {
    let limit = &judgement.limit;
    let bound = match limit.bound {
        Bound::AtMost(max) => format!("<= {}", amount(max)),
        Bound::AtLeast(min) => format!(">= {}", amount(min)),
    };
    let (measured, word) = match &judgement.outcome {
        Outcome::Holds { measured } => (Some(*measured), "ok"),
        Outcome::Above { measured } => (Some(*measured), "ABOVE"),
        Outcome::Below { measured } => (Some(*measured), "BELOW"),
        Outcome::NotMeasured { .. } if limit.optional => (None, "not measured, optional"),
        Outcome::NotMeasured { .. } => (None, "NOT MEASURED"),
    };
    let of_mean = measured.filter(|_| limit.basis.mean != 0.0);
    vec![
        format!(
            "{} {}",
            limit.subject,
            figure_name(&limit.metric, limit.cell)
        ),
        measured.map_or_else(|| figure(None), amount),
        bound,
        amount(limit.basis.mean),
        figure(of_mean.map(|measured| measured / limit.basis.mean)),
        word.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::judge::tests::breach;

    #[test]
    fn a_breach_says_what_where_and_where_the_bound_comes_from() {
        let judgement = breach();
        assert_eq!(
            sentence(&judgement),
            "l.toml:4: tare/none memory.settled.anon_bytes, memory 300: 2,000 is above 130 (mean 100 of 3 runs + margin 30.0)"
        );
        assert_eq!(
            table("Limits", [&judgement].into_iter())
                .plain()
                .lines()
                .last(),
            Some(
                "tare/none memory.settled.anon_bytes, memory 300     2,000  <= 130       100         20.0  ABOVE"
            )
        );
    }
}
