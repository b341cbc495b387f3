//! `report.csv`: every figure of every run, one in a line, for a spreadsheet or a notebook.
//!
//! Guarantees: a line has subject, kind, objects, rate, repeat, attempt, validity, the path of the figure
//! in `summary.json`, its value as it stands there, and its unit. What was not measured has no line.
//! Leaves to others: medians.

use crate::model::metric;
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
        for (path, value) in metric::all_of_subject(subject) {
            let row = [
                &subject.id(),
                "",
                "",
                "",
                "",
                "",
                "",
                path,
                &value.to_string(),
                unit(path),
            ];
            writer.write_record(row)?;
        }
        for run in &subject.runs {
            for (path, value) in metric::all_of_run(run) {
                writer.write_record(row(subject, run, &path, value))?;
            }
        }
    }
    Ok(writer.into_inner()?)
}

fn row(subject: &Subject, run: &Run, path: &str, value: f64) -> [String; 10] {
    [
        subject.id(),
        run.cell.name().to_owned(),
        run.objects.to_string(),
        run.per_s
            .map_or_else(String::new, |per_s| per_s.to_string()),
        run.repeat.to_string(),
        run.attempt.to_string(),
        run.valid.to_string(),
        path.to_owned(),
        value.to_string(),
        unit(path).to_owned(),
    ]
}

/// The unit that the name of a figure ends with.
fn unit(path: &str) -> &'static str {
    let name = path.rsplit('.').next().unwrap_or(path);
    let units = [
        ("bytes_per_object", "bytes/object"),
        ("slope", "bytes/object"),
        ("_per_object", "1/object"),
        ("ms_per_minute", "ms/min"),
        ("_per_minute", "1/min"),
        ("_per_s", "1/s"),
        ("_bytes", "bytes"),
        ("_bytes_compressed", "bytes"),
        ("_bytes_unpacked", "bytes"),
        ("_ms", "ms"),
        ("_share", "share"),
        ("_s", "s"),
    ];
    let found = units.iter().find(|(end, _)| name.ends_with(end));
    found.map_or("count", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cell::Kind;
    use crate::model::summary::sample;

    #[test]
    fn a_figure_has_one_line_with_its_unit() {
        let mut run = Run::without_figures(Kind::Drain, 500, 2, vec!["late, \"very\"".into()]);
        run.cpu.converge_s = Some(1.25);
        let text = file(&sample(vec![run])).expect("in memory");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text,
            "subject,kind,objects,per_s,repeat,attempt,valid,figure,value,unit\n\
             tare/none,drain,500,,2,1,false,cpu.converge_s,1.25,s\n"
        );
    }

    #[test]
    fn units_follow_from_names() {
        for (path, want) in [
            ("memory.settled.rss_bytes", "bytes"),
            ("bytes_per_object.slope", "bytes/object"),
            ("requests.wire_bytes_per_object", "bytes/object"),
            ("requests.writes_per_object", "1/object"),
            ("cpu.idle_ms_per_minute", "ms/min"),
            ("convergence.offered_per_s", "1/s"),
            ("convergence.observed.p99_ms", "ms"),
            ("gc_pause.count", "count"),
        ] {
            assert_eq!(unit(path), want, "{path}");
        }
    }
}
