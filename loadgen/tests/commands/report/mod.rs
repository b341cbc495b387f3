//! `loadgen report` on a folder: what a reader sees is what `summary.json` says, on a phone too.
//!
//! The folder is that of a small bench of mock subjects, with its figures replaced by others that are
//! easy to tell apart. The page is drawn by headless Chromium where it is installed; where it is not, that
//! test is listed as ignored with the reason.

mod browser;
mod folder;

use std::collections::BTreeMap;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::{tests, trial};
use folder::Folder;

pub fn trials() -> Vec<Trial> {
    let no_chromium = browser::find().is_none();
    if no_chromium {
        eprintln!(
            "ignored: pages in a browser: chromium is not installed (apt-get install chromium)"
        );
    }
    let [figures, phone] = tests![report:
        every_figure_of_the_page_is_that_of_the_summary,
        the_page_fits_a_phone_and_is_not_blank,
    ];
    vec![
        trial(figures.0, figures.1, false),
        trial(phone.0, phone.1, no_chromium),
    ]
}

fn the_page_fits_a_phone_and_is_not_blank() {
    browser::fits_a_phone(browser::find().as_deref(), &Folder::new("phone"));
}

fn every_figure_of_the_page_is_that_of_the_summary() {
    let folder = &Folder::new("figures");
    folder.report(&[]);
    let first = folder.read("report.html");
    let svg = folder.path("memory.svg");
    folder.report(&["--svg", &svg.display().to_string()]);
    assert_eq!(
        first,
        folder.read("report.html"),
        "the same folder, the same bytes"
    );
    assert!(first.len() < 1_000_000, "{} bytes", first.len());
    assert!(
        !first.contains("<script") && !first.contains("src="),
        "it stands alone"
    );
    for template in ["answer", "environment", "heading", "notes"] {
        let failed = format!("(in {template}:");
        assert!(!first.contains(&failed), "every sentence is rendered");
    }
    for id in [
        "answer",
        "memory",
        "over-time",
        "rate-sweep",
        "latency",
        "work",
        "foreign",
        "runs",
        "not-measured",
    ] {
        assert!(
            first.contains(&format!("<section id=\"{id}\"")),
            "no section {id}"
        );
    }

    let summary: Value = serde_json::from_str(&folder.read("summary.json")).expect("JSON");
    let tables = tables(&first);
    let checks = [
        (
            "Memory at 2,000 objects",
            "RSS settled, MB",
            "memory",
            "memory.settled.rss_bytes",
            1e6,
        ),
        (
            "Memory at 2,000 objects",
            "anonymous settled, MB",
            "memory",
            "memory.settled.anon_bytes",
            1e6,
        ),
        (
            "Memory at 2,000 objects",
            "RSS peak until settled, MB",
            "memory",
            "memory.settled.peak_bytes",
            1e6,
        ),
        (
            "Work at 2,000 objects",
            "time to drain, s",
            "drain",
            "convergence.drain_s",
            1.0,
        ),
        (
            "Work at 2,000 objects",
            "API server CPU, s",
            "drain",
            "api_server_cpu_s",
            1.0,
        ),
        (
            "Work at 2,000 objects",
            "CPU to converge, s",
            "drain",
            "cpu.converge_s",
            1.0,
        ),
    ];
    for (title, row, kind, name, divisor) in checks {
        let cells = &tables[title][row];
        let subjects = summary["subjects"].as_array().expect("subjects");
        for (cell, subject) in cells.iter().zip(subjects) {
            let want = median(subject, kind, 2_000, name) / divisor;
            let shown: f64 = cell
                .split(' ')
                .next()
                .unwrap_or_default()
                .parse()
                .expect(cell);
            assert!(
                (shown - want).abs() <= want.abs() * 0.005,
                "{title}, {row}: {cell}, not {want}"
            );
        }
    }
    let unsettled = &tables["Memory at 2,000 objects"]["RSS settled, MB"][1];
    assert!(unsettled.contains("did not settle: 2 of 2"), "{unsettled}");
    for subject in summary["subjects"].as_array().expect("subjects") {
        let id = format!(
            "{}/{}",
            subject["name"].as_str().unwrap_or(""),
            subject["variant"].as_str().unwrap_or("")
        );
        let knee = &tables["Knee: the highest rate that was kept up"][&id];
        assert_eq!(knee[0], subject["rate_sweep"]["knee"]["per_s"].to_string());
        let slope = &tables["Slope: anonymous memory that each further object adds, settled"][&id];
        let want = subject["bytes_per_object"]["slope"]
            .as_f64()
            .expect("two sizes");
        assert_eq!(slope[0], format!("{want:.0}"));
        assert!(slope[3].contains("from 4 runs at 500 / 2,000"), "{slope:?}");
    }

    let picture = std::fs::read_to_string(svg).expect("written");
    assert!(
        picture.starts_with("<svg") && picture.contains("prefers-color-scheme"),
        "{picture}"
    );
    let csv = folder.read("report.csv");
    assert!(
        csv.starts_with("subject,kind,objects,per_s,repeat,"),
        "{csv}"
    );
    assert!(
        csv.contains("mock/first,drain,2000,,2,1,true,convergence.drain_s,"),
        "{csv}"
    );
}

/// The median over the valid runs of a kind and size.
fn median(subject: &Value, kind: &str, objects: u64, name: &str) -> f64 {
    let runs = subject["runs"].as_array().expect("runs");
    let meant = runs
        .iter()
        .filter(|run| run["cell"] == kind && run["objects"] == objects && run["valid"] == true);
    let mut values: Vec<f64> = meant
        .filter_map(|run| run["values"][name].as_f64())
        .collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// Cells by title of the table and name of the row.
fn tables(page: &str) -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    let tables = page
        .split("<table>")
        .skip(1)
        .filter_map(|table| table.split("</table>").next());
    let named = tables.map(|table| {
        let title = text(&between(table, "<caption>", "</caption>")[0]);
        let body = &between(table, "<tbody>", "</tbody>")[0];
        let rows = between(body, "<tr>", "</tr>").into_iter().map(|row| {
            let name = text(&between(&row, "<th scope=\"row\">", "</th>")[0]);
            let cells = row
                .split("<td")
                .skip(1)
                .filter_map(|cell| Some(text(cell.split_once('>')?.1)));
            (name, cells.collect())
        });
        (title, rows.collect())
    });
    named.collect()
}

fn between(text: &str, from: &str, to: &str) -> Vec<String> {
    let parts = text.split(from).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(to)?.0.to_owned()))
        .collect()
}

/// Without markup.
fn text(markup: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in markup.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(letter),
            _ => {}
        }
    }
    text.replace("&amp;", "&")
        .replace("&lt;", "<")
        .trim()
        .to_owned()
}
