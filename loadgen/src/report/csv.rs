//! `report.csv`: every figure of every run, one in a line, for a spreadsheet or a notebook.
//!
//! Guarantees: a line has subject, kind, objects, rate, repeat, attempt, validity, the name of the figure,
//! its value as in `summary.json`, and its unit. What was not measured has no line.
//! Leaves to others: medians.

use crate::metric;
use crate::record::summary::{Run, Subject, Summary};

const HEADER: [&str; 10] = [
    "subject", "kind", "objects", "per_s", "repeat", "attempt", "valid", "figure", "value", "unit",
];

/// The whole file.
///
/// # Errors
/// Never for memory; the writer wants to say so itself.
pub fn file(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for subject in &summary.subjects {
        let of_subject = metric::all().iter();
        let of_subject =
            of_subject.filter_map(|metric| Some((None, &metric.id, metric.of_subject(subject)?)));
        let of_runs = subject.runs.iter();
        let of_runs = of_runs.flat_map(|run| {
            run.values
                .iter()
                .map(move |(name, value)| (Some(run), name, *value))
        });
        for (run, name, value) in of_subject.chain(of_runs) {
            writer.write_record(row(subject, run, name, value))?;
        }
    }
    Ok(writer.into_inner()?)
}

/// The columns of a run are empty for a figure of the subject itself.
fn row(subject: &Subject, run: Option<&Run>, name: &str, value: f64) -> [String; 10] {
    let of_run = |column: fn(&Run) -> String| run.map_or_else(String::new, column);
    [
        subject.id(),
        of_run(|run| run.cell.name().to_owned()),
        of_run(|run| run.objects.to_string()),
        of_run(|run| {
            run.per_s
                .map_or_else(String::new, |per_s| per_s.to_string())
        }),
        of_run(|run| run.repeat.to_string()),
        of_run(|run| run.attempt.to_string()),
        of_run(|run| run.valid.to_string()),
        name.to_owned(),
        value.to_string(),
        metric::find(name)
            .map_or("", |metric| metric.unit)
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::Kind;
    use crate::record::summary::sample;

    #[test]
    fn a_figure_has_one_line_with_its_unit() {
        let run = Run::without_figures(Kind::Drain, 500, 2, vec!["late, \"very\"".into()]);
        let run = run.with("cpu.converge_s", 1.25);
        let text = file(&sample(vec![run])).expect("in memory");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text,
            "subject,kind,objects,per_s,repeat,attempt,valid,figure,value,unit\n\
             tare/none,drain,500,,2,1,false,cpu.converge_s,1.25,s\n"
        );
    }
}
