//! The page that is made of the records of the cases.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;

use crate::overload::machine::Use;
use crate::overload::record::{Figure, Figures, Record, limit_s};

const HEAD: &str = "\
# Overload and hostile networks

Each case is a test of `tests/scenarios/overload`, on kube-apiserver and etcd, with the operator as a process. A value beyond its limit fails the
case. A limit that is not the target says what holds today, and a value beyond its target alone is marked. Made by `just overload`, which
also writes the record of each case, with the samples that its figures are made of: `overload/CASE.json`.

";

/// Writes `FOLDER.md` beside the folder of the records.
pub fn write(folder: &Path) -> Result<(), Failed> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let record: Record = serde_json::from_str(&std::fs::read_to_string(&path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            records.push(record);
        }
    }
    // A case that was repeated has a record of each run.
    records.sort_by(|one, other| (&one.case, &one.date).cmp(&(&other.case, &other.date)));
    std::fs::write(folder.with_extension("md"), page(&records))?;
    Ok(())
}

fn page(records: &[Record]) -> String {
    let machines: BTreeSet<&str> = records.iter().map(|one| &*one.machine).collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let mut page = format!("{HEAD}Machine: {}.\n\n", machines.join("; "));
    page += "## Figures\n\n| case | figure | value | unit | target | limit |\n";
    page += "|---|---|--:|---|--:|--:|\n";
    for record in records {
        for figure in &record.figures {
            page += &row(&record.case, figure);
        }
        if let Some(failed) = &record.failed {
            let failed = failed.lines().next().unwrap_or_default();
            let failed = failed.replace('|', "\\|");
            page += &format!("| {} | **failed**: {failed} | | | | |\n", record.case);
        }
    }
    page += "\n## Runs\n\nCPU in seconds: of the case with its servers, of other programs, and the time in which some task waited for \
             a processor.\n\n";
    page += "| case | date | program | took, s | own CPU | others' CPU | waited | command |\n";
    page += "|---|---|---|--:|--:|--:|--:|---|\n";
    for record in records {
        page += &run(record);
    }
    page
}

fn row(case: &str, figure: &Figure) -> String {
    let or_none = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let (target, limit) = (or_none(figure.target), or_none(figure.limit));
    let Figure {
        name, value, unit, ..
    } = figure;
    let value = match figure.target {
        Some(target) if *value > target => format!("**{value}**, missed"),
        _ => value.to_string(),
    };
    format!("| {case} | {name} | {value} | {unit} | {target} | {limit} |\n")
}

fn run(record: &Record) -> String {
    let Record {
        case,
        date,
        program,
        command,
        ..
    } = record;
    let cpu = record.machine_use.as_ref().map(|one| {
        let waited = one.waited_s.map_or_else(String::new, |it| it.to_string());
        format!(
            "{} | {} | {} | {waited}",
            one.wall_s, one.own_s, one.others_s
        )
    });
    let cpu = cpu.unwrap_or_else(|| " | | | ".to_owned());
    format!("| {case} | {date} | `{program}` | {cpu} | `{command}` |\n")
}

/// Tried as a test of its own.
pub fn a_busy_machine_is_told_and_fails_no_case() -> Result<(), Failed> {
    for (runs_alone, want) in [(true, Some(2.0)), (false, None)] {
        let limit = limit_s(Duration::from_secs(2), runs_alone);
        assert_eq!(limit, want, "it runs alone: {runs_alone}");
    }
    let machine_use = Use {
        wall_s: 40.5,
        own_s: 20.5,
        others_s: 31.5,
        steal_s: 0.0,
        waited_s: Some(12.5),
    };
    let record = Record::of("a case", Figures::default(), Some(machine_use), None)?;
    let page = page(&[record]);
    assert!(page.contains(" | 40.5 | 20.5 | 31.5 | 12.5 | "), "{page}");
    Ok(())
}
