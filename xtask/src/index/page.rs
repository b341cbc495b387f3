//! `index.html` of a folder of results: for people, what was asked of each folder, the answer, a picture, a link.
//!
//! Guarantees: one file that loads nothing; every word, figure and picture is taken from the pages of the folders, whichever
//! version wrote them. A bench of at least [`COMPARED`] subjects has a table of them, which a script of the page sorts; without
//! scripts it is in the order of the report. Leaves to others: which folders there are and what each answers (`index`).

use std::path::Path;

use anyhow::Context;
use loadgen::record::evidence::EXPERIMENT;
use loadgen::report::page::{CHART_CSS, PAGE_CSS, environment, escaped};
use loadgen::report::rows::sizes;
use loadgen::report::table::grouped;
use minijinja::value::Serde;
use serde_json::{Value, json};

use crate::excerpt::Excerpt;
use crate::tables::summary_of;

/// Charts of a report that say most, by the begin of their name, the best first.
const BEST: [&str; 3] = ["memory-by-objects", "rate-sweep", "bars-subject-cpu"];
/// Answers of a report that say nothing about what was asked.
const NO_ANSWER: [&str; 2] = [
    "This bench measured no memory",
    "The operators do different work",
];

/// Fewer subjects are told apart by the picture.
const COMPARED: usize = 3;
/// Figures of the table, those of them that the bench has.
const COLUMNS: &str = "rows=memory.empty.rss_bytes,memory.settled.rss_bytes,memory.settled.peak_bytes,memory.restart.peak_bytes,\
    spawn_to_canary_ms,cpu.converge_s,api_server_cpu_s,until_quiet.writes_per_object,until_quiet.reads_per_object,image_bytes_compressed";

/// One folder.
pub struct Entry {
    /// Its name, with `/` between two levels.
    pub name: String,
    pub question: String,
    /// Commit, date, machine.
    pub setting: String,
    /// The page that a reader is sent to, within the folder.
    pub page: Option<String>,
}

/// The whole page.
///
/// # Errors
/// A page of a folder cannot be read.
pub fn page(results: &Path, entries: &[Entry]) -> anyhow::Result<String> {
    let folders = (0..)
        .zip(entries)
        .map(|(n, entry)| section(results, n, entry));
    let folders: Vec<Value> = folders.collect::<anyhow::Result<_>>()?;
    let css = format!("{CHART_CSS}{PAGE_CSS}");
    let environment = environment(&[("page.html", include_str!("page.html"))]);
    let page = environment.get_template("page.html")?;
    Ok(page.render(Serde(json!({ "css": css, "folders": folders })))? + "\n")
}

fn section(results: &Path, n: usize, entry: &Entry) -> anyhow::Result<Value> {
    let folder = results.join(&entry.name);
    let report = folder.join("report.html");
    let text = match report.is_file() {
        true => std::fs::read_to_string(&report).with_context(|| report.display().to_string())?,
        false => String::new(),
    };
    let answer = match answer(&text) {
        Some(answer) => Some(answer),
        None => conclusion(&folder, entry.page.as_deref())?,
    };
    let link = match text.is_empty() {
        true => entry.page.clone(),
        false => Some("report.html".to_owned()),
    };
    let own = |chart| with_own_ids(chart, n);
    let (chart, phone) = chart(&text).unzip();
    Ok(json!({
        "name": entry.name, "setting": entry.setting, "link": link, "question": sentence(&entry.question),
        "answer": answer, "chart": chart.map(own), "phone": phone.flatten().map(own), "caption": chart.map(title),
        "is_panel": chart.is_some_and(is_panel), "drawn": drawn(&folder)?, "table": table(&folder)?,
    }))
}

/// All subjects of a bench with the largest number of objects.
fn table(folder: &Path) -> anyhow::Result<Option<Value>> {
    if !folder.join(EXPERIMENT).is_file() {
        return Ok(None);
    }
    // Its figures are read by the version that wrote them.
    let Ok(summary) = summary_of(folder)? else {
        return Ok(None);
    };
    if summary.subjects.len() < COMPARED {
        return Ok(None);
    }
    let excerpt = Excerpt::of(&summary, &["lines=subjects", COLUMNS])?;
    let (header, rows) = excerpt.table(&summary);
    let is_measured =
        |column: &usize| *column == 0 || rows.iter().any(|row| is_figure(row, *column));
    let columns: Vec<usize> = (0..header.len()).filter(is_measured).collect();
    let of = |row: &Vec<String>| -> Vec<String> {
        let cells = columns.iter().filter_map(|column| row.get(*column));
        cells.cloned().collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(of).collect();
    Ok(Some(json!({
        "objects": grouped(sizes(&summary).last().copied().unwrap_or(0)), "header": of(&header), "rows": rows,
    })))
}

fn is_figure(row: &[String], column: usize) -> bool {
    let cell = row.get(column).map(|cell| cell.trim_start_matches('-'));
    cell.is_some_and(|cell| cell.starts_with(|first: char| first.is_ascii_digit()))
}

/// A question begins like a sentence.
fn sentence(question: &str) -> String {
    let mut letters = question.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// The first sentence of the answer that opens a report, as HTML.
fn answer(report: &str) -> Option<String> {
    let (_, section) = report.split_once("<section id=\"answer\"")?;
    let (_, paragraph) = section.split_once("<p>")?;
    let (answer, _) = paragraph.split_once("</p>")?;
    let says_nothing = NO_ANSWER.iter().any(|begin| answer.starts_with(begin));
    (!says_nothing).then(|| answer.to_owned())
}

/// The sentence with which a page says what was measured of so many objects, as HTML.
fn conclusion(folder: &Path, page: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(page) = page else {
        return Ok(None);
    };
    let path = folder.join(page);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(said(&text).map(escaped))
}

fn said(page: &str) -> Option<&str> {
    page.lines()
        .find(|line| line.starts_with("At ") && line.contains(" objects "))
}

/// The chart that says most, and the same for a phone where there is one.
fn chart(report: &str) -> Option<(&str, Option<&str>)> {
    let charts: Vec<&str> = report
        .match_indices("<svg class=\"chart\"")
        .filter_map(|(at, _)| report[at..].split_inclusive("</svg>").next())
        .collect();
    let named = |begin: &str| {
        let id = format!("aria-labelledby=\"{begin}");
        charts.iter().find(|chart| chart.contains(&id)).copied()
    };
    let best = BEST.iter().find_map(|begin| named(begin));
    let chart = best.or(charts.first().copied())?;
    let (_, ids) = chart.split_once("aria-labelledby=\"")?;
    let (name, _) = ids.split_once("-t ")?;
    Some((chart, named(&format!("{name}-phone-t"))))
}

/// Several reports have charts of the same name.
fn with_own_ids(chart: &str, n: usize) -> String {
    let renamed = chart
        .replace("id=\"", &format!("id=\"f{n}-"))
        .replace("url(#", &format!("url(#f{n}-"));
    let Some((head, rest)) = renamed.split_once("aria-labelledby=\"") else {
        return renamed;
    };
    let Some((ids, tail)) = rest.split_once('"') else {
        return renamed;
    };
    let ids: Vec<String> = ids.split(' ').map(|id| format!("f{n}-{id}")).collect();
    format!("{head}aria-labelledby=\"{}\"{tail}", ids.join(" "))
}

/// Whether a chart is made for a column beside others.
fn is_panel(chart: &str) -> bool {
    chart.contains("viewBox=\"0 0 350 ")
}

/// What a chart shows, as HTML.
fn title(chart: &str) -> &str {
    let title = chart
        .split_once("<title")
        .and_then(|(_, rest)| rest.split_once('>'));
    title
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .map_or("", |(title, _)| title)
}

/// The first drawing of a folder without a report.
fn drawn(folder: &Path) -> anyhow::Result<Option<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        files.extend(name.ends_with(".svg").then_some(name));
    }
    files.sort();
    Ok(files.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "<section id=\"answer\"><h2>q</h2><div><p>a/x takes &lt; 4 MB.</p><p>More.</p></div></section>\
        <svg class=\"chart\" aria-labelledby=\"over-time-t over-time-d\"><title id=\"over-time-t\">a</title></svg>\
        <svg class=\"chart\" aria-labelledby=\"memory-by-objects-t memory-by-objects-d\"><title id=\"memory-by-objects-t\">b</title></svg>";

    #[test]
    fn the_first_sentence_and_the_best_chart_are_shown() {
        assert_eq!(answer(REPORT).as_deref(), Some("a/x takes &lt; 4 MB."));
        let (best, phone) = chart(REPORT).expect("two");
        assert_eq!(phone, None);
        let chart = with_own_ids(best, 3);
        assert_eq!(
            chart,
            "<svg class=\"chart\" aria-labelledby=\"f3-memory-by-objects-t f3-memory-by-objects-d\">\
             <title id=\"f3-memory-by-objects-t\">b</title></svg>"
        );
    }

    #[test]
    fn the_subjects_of_a_bench_are_in_a_table_of_what_was_measured() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
        let found = table(&results.join("league")).expect("readable");
        let found = found.expect("a bench of twelve");
        let header = found["header"].as_array().expect("cells");
        assert!(
            header.iter().any(|cell| cell == "image, packed, MB"),
            "{header:?}"
        );
        let rows = found["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 12);
        for row in rows {
            let cells = row.as_array().expect("cells");
            assert_eq!(cells.len(), header.len(), "{row}");
            assert!(cells[1].as_str() > Some("0"), "{row}");
        }
        // Its figures are read by the version that wrote them.
        let published = table(&results.join("kube/memory")).expect("readable");
        assert_eq!(published, None);
    }

    #[test]
    fn an_answer_that_says_nothing_is_left_for_the_conclusion() {
        let none = REPORT.replace("a/x takes", "This bench measured no memory, so it takes");
        assert_eq!(answer(&none), None);
        assert_eq!(title(chart(REPORT).expect("two").0), "b");
        assert_eq!(
            said("# a\n\nAt 500 objects a/x drains in 4 s.\n"),
            Some("At 500 objects a/x drains in 4 s.")
        );
        assert_eq!(sentence("what a start takes"), "What a start takes");
    }
}
