//! `report.csv`: every figure of every run, one in a line, for a spreadsheet or a notebook.
//!
//! Guarantees: a line has subject, kind, objects, rate, repeat, attempt, validity, the name of the figure,
//! its value as in `summary.json`, and its unit. What was not measured has no line.
//! Leaves to others: medians.

use crate::metric;
use crate::model::summary::{Run, Subject, Summary};

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
        for metric in metric::all() {
            let Some(value) = metric.of_subject(subject) else {
                continue;
            };
            let (id, value) = (subject.id(), value.to_string());
            let row = [&id, "", "", "", "", "", "", &metric.id, &value, metric.unit];
            writer.write_record(row)?;
        }
        for run in &subject.runs {
            for (name, value) in &run.values {
                writer.write_record(row(subject, run, name, *value))?;
            }
        }
    }
    Ok(writer.into_inner()?)
}

fn row(subject: &Subject, run: &Run, name: &str, value: f64) -> [String; 10] {
    [
        subject.id(),
        run.cell.name().to_owned(),
        run.objects.to_string(),
        run.per_s
            .map_or_else(String::new, |per_s| per_s.to_string()),
        run.repeat.to_string(),
        run.attempt.to_string(),
        run.valid.to_string(),
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
    use crate::model::cell::Kind;
    use crate::model::summary::sample;

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
